//! `within-limits`: the best plan under a budget, a deadline or both that many methods find.
//!
//! Candidates are the fast methods with the given limits, all plans of the front ([`super::portfolio`]),
//! methods for deadlines, and k machines of one kind, for every k; starting from the best of these, machines
//! are added, removed and exchanged, kind by kind. Plans are judged by their bill, with quanta, minima and
//! set-up times. Given is the shortest plan that keeps the limits, with a deadline alone the cheapest (unless
//! `aim` is set); where none keeps them, the one that breaks them least. Ties: the shorter, the cheaper, then
//! the first plan in the order above. The plans that are not dominated are reported as `alternatives`, the
//! method of the chosen one as `found_by`.

use super::pareto::{Aim, Point};
use super::portfolio::{self, Candidate, Front, PlanJob, Scale};
use super::{FAST, deadline_mdp, pcp};
use crate::registry::{self, Algorithm, Basis, Family, PlanError, Request};
use slackline_model::Problem;
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::schedule::{Detail, Limits, Schedule};

/// Registry entry.
pub const WITHIN_LIMITS: Algorithm = Algorithm {
    name: "within-limits",
    family: Family::Qos,
    basis: Basis::Own,
    about: "the best of the fast methods at many budgets and of k machines of one kind, by the bill",
    source: "our own, over the methods for limits",
    complexity: "O(100 e p)",
    parameters: &[AIM],
    needs: &[],
    plan,
};

const AIM: Parameter = Parameter::new(
    "aim",
    Kind::Choice(&["auto", "fastest", "cheapest"]),
    "auto",
    "which plan within the limits: the fastest, the cheapest, or auto: the cheapest under a deadline alone",
);

/// Tasks up to which the methods for deadlines are tried.
const DEADLINE_TASKS: usize = 500;

/// Criterion that a value of [`AIM`] selects under some limits.
fn aim(word: &str, limits: &Limits) -> Aim {
    match word {
        "fastest" => Aim::Fastest,
        "cheapest" => Aim::Cheapest,
        _ => Aim::usual(limits),
    }
}

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let values = WITHIN_LIMITS.values(request)?;
    let limits = request.limits;
    let better = portfolio::chooser(limits, aim(values.word(AIM.name), &limits));
    // What was set was meant for this method.
    let request = request.without_parameters();
    let mut best: Option<Candidate> = None;
    let mut front = Front::default();
    let mut visit = |candidate: Candidate| {
        front.add(candidate.point, || name(problem, &candidate));
        if best.as_ref().is_none_or(|b| better(candidate.point, b.point)) {
            best = Some(candidate);
        }
    };
    let usual = registry::usual(problem);
    // Without this plan there is none: its error is the answer.
    let first = usual.plan(problem, &request)?;
    let point = portfolio::point(problem, &first);
    visit(Candidate { algorithm: usual, told: limits, rented: None, point, schedule: first });
    portfolio::each(problem, &jobs(problem, &limits), &request, &mut visit)?;
    let Some(mut best) = best else { return usual.plan(problem, &request) };
    if problem.platform().is_priced()
        && !problem.workflow().is_moldable()
        && let Some(climbed) = portfolio::climb(problem, &best, &better, &request)
    {
        front.add(climbed.point, || name(problem, &climbed));
        best = climbed;
    }
    let found_by = name(problem, &best);
    let mut schedule = best.schedule;
    schedule.details.push(("found_by", Detail::Text(found_by)));
    let record = |(point, name): (Point, String)| {
        Detail::Record(vec![
            ("found_by", Detail::Text(name)),
            ("makespan", Detail::Number(point.makespan)),
            ("cost", Detail::Number(point.cost)),
        ])
    };
    let alternatives = front.into_plans().into_iter().map(record).collect();
    schedule.details.push(("alternatives", Detail::List(alternatives)));
    Ok(schedule)
}

/// The plans to make, in order.
fn jobs(problem: &Problem<'_>, limits: &Limits) -> Vec<PlanJob> {
    let able = |a: &&'static Algorithm| a.lacks(problem, limits).is_none();
    let mut jobs: Vec<PlanJob> =
        FAST.iter().filter(able).map(|a| PlanJob::of(a, *limits)).collect();
    if limits.deadline.is_some() && problem.tasks() <= DEADLINE_TASKS {
        let methods = [&pcp::PCP, &pcp::IC_PCP, &pcp::IC_PCPD2, &deadline_mdp::DEADLINE_MDP];
        jobs.extend(methods.into_iter().filter(able).map(|a| PlanJob::of(a, *limits)));
    }
    // Without it no budget makes sense.
    if problem.platform().is_priced()
        && let Ok(scale) = Scale::of(problem)
    {
        let contenders = portfolio::contenders(problem);
        let mut seen = vec![Limits::default()];
        seen.extend((*limits != Limits::default()).then_some(*limits));
        for limits in seen {
            let told = |&a: &&'static Algorithm| {
                portfolio::sweep(a, &scale, &limits)
                    .into_iter()
                    .map(move |told| PlanJob::of(a, told))
            };
            jobs.extend(contenders.iter().flat_map(told));
        }
    }
    jobs.extend(portfolio::rentals(problem, limits));
    jobs
}

/// Name of the method and machines of a plan: `hbcs`, or `heft on 2 x c5xlarge`.
pub fn name(problem: &Problem<'_>, candidate: &Candidate) -> String {
    let algorithm = candidate.algorithm.name;
    match candidate.rented {
        None => algorithm.to_string(),
        Some(rented) => {
            let kind = &problem.platform().class(rented.class).name;
            format!("{algorithm} on {} x {kind}", rented.count)
        }
    }
}
