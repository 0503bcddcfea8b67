//! MOHEFT: multi-objective HEFT (Durillo, Fard, Prodan, CloudCom 2012), from general knowledge.
//!
//! HEFT that keeps `plans` partial plans instead of one: each is extended by every processor, with insertion;
//! of the longer ones those are kept that are not dominated in time and money, thinned by crowding distance. Of
//! the complete plans the shortest within the limits is given (else the one that breaks them least); all of
//! them are reported as `front`. O(plans e p), and copies of partial plans; on large workflows fewer are kept.

use super::pareto::{self, Point};
use super::{Course, beam};
use crate::list::Partial;
use crate::registry::{Algorithm, Basis, Family, PlanError, Request};
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::schedule::{Detail, Limits};
use slackline_model::{Problem, Schedule};

/// Registry entry.
pub const MOHEFT: Algorithm = Algorithm {
    name: "moheft",
    family: Family::Qos,
    basis: Basis::Recalled,
    about: "HEFT with several plans at once, spread over time and cost",
    source: "Durillo, Fard, Prodan, CloudCom 2012",
    complexity: "O(k e p) for k plans",
    parameters: &[PLANS],
    needs: &[],
    plan,
};

const PLANS: Parameter =
    Parameter::new("plans", Kind::Count(1, 1000), "10", "partial plans carried along")
        .published("10");

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let wanted = MOHEFT.values(request)?.count("plans")?;
    let course = Course::new(problem, request);
    let width = beam::width(&course, wanted);
    let done = beam::search(&course, Partial::new(problem), |_, _, longer| {
        let points: Vec<Point> =
            longer.iter().map(|plan| Point { makespan: plan.end, cost: plan.cost }).collect();
        let mut kept = pareto::spread(&points, width).into_iter().peekable();
        let mut at = 0;
        longer.retain(|_| {
            let keep = kept.next_if_eq(&at).is_some();
            at += 1;
            keep
        });
    })?;
    let plans = done.into_iter().map(|plan| {
        (Point { makespan: plan.end, cost: plan.cost + course.prices.spent() }, plan.schedule)
    });
    Ok(give(plans.collect(), &request.limits))
}

/// Returns the plan to give of several, and reports those that are not dominated, by makespan.
pub(super) fn give(mut plans: Vec<(Point, Schedule)>, limits: &Limits) -> Schedule {
    let points: Vec<Point> = plans.iter().map(|(point, _)| *point).collect();
    let dominated = pareto::dominated(&points);
    let mut front: Vec<Point> =
        points.iter().zip(dominated).filter(|(_, beaten)| !beaten).map(|(p, _)| *p).collect();
    front.sort_by(|a, b| a.makespan.total_cmp(&b.makespan).then(a.cost.total_cmp(&b.cost)));
    front.dedup();
    let record = |p: &Point| {
        let parts = [("makespan", p.makespan), ("cost", p.cost)];
        Detail::Record(parts.map(|(name, value)| (name, Detail::Number(value))).into())
    };
    let mut schedule = plans.swap_remove(pareto::best(&points, limits)).1;
    schedule.details.push(("front", Detail::List(front.iter().map(record).collect())));
    schedule
}
