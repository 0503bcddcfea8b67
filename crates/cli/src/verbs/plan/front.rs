//! `slackline plan --front`: time against cost over many planners and budgets.

use super::Plan;
use super::report::{place, three_digits};
use super::scale::Scale;
use crate::failure::Failure;
use crate::output::Output;
use crate::table::Table;
use serde::Serialize;
use slackline_model::schedule::{Limits, Summary, validate};
use slackline_model::units::fmt_seconds;
use slackline_model::{Problem, approx};
use slackline_schedule::qos::pareto::{self, Point};
use slackline_schedule::{Algorithm, Family, Need, PlanError, qos, registry};
use slackline_view::front::{Front, FrontPoint, svg};

/// Budgets from the cheapest plan's cost to the fastest's at exact seconds, both included.
const STEPS: usize = 11;

/// The JSON document of a front.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    workflow: &'a str,
    platform: &'a str,
    #[serde(flatten)]
    scale: Scale,
    lower_bound: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<f64>,
    points: Vec<Found>,
}

/// A plan of the front.
#[derive(Serialize)]
struct Found {
    algorithm: &'static str,
    makespan: f64,
    cost: f64,
    dominated: bool,
    /// What the planner was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<f64>,
}

impl Plan {
    pub(super) fn front(&self, problem: &Problem<'_>, output: &mut Output) -> Result<(), Failure> {
        if !problem.platform().is_priced() {
            let help = "the platform says what a host costs with `price`";
            return Err(Failure::input("--front needs machines with prices").with_help(help));
        }
        let limits = self.limits.limits();
        let scale = Scale::of(problem)?;
        let mut points: Vec<Found> = Vec::new();
        let contenders = self.contenders(problem)?;
        self.check_options(&contenders)?;
        for algorithm in contenders {
            for told in sweep(algorithm, &scale, &limits) {
                let settings = self.search.settings(told, &self.parameters.set);
                let schedule = match algorithm.plan(problem, &settings) {
                    Ok(schedule) => schedule,
                    Err(error @ PlanError::Unsupported { .. }) => {
                        output.warning(&format!("{}: {error}", algorithm.name));
                        break;
                    }
                    Err(error) => return Err(error.into()),
                };
                if let Some(broken) = validate(problem, &schedule, &Limits::default()).first() {
                    let name = algorithm.name;
                    return Err(Failure::work(format!("{name} made an invalid plan: {broken}")));
                }
                let Summary { makespan, cost, .. } = Summary::of(problem, &schedule);
                let same = |p: &Found| {
                    p.algorithm == algorithm.name
                        && approx::eq(p.makespan, makespan)
                        && approx::eq(p.cost, cost)
                };
                if !points.iter().any(same) {
                    let (budget, deadline) = (told.budget, told.deadline);
                    let algorithm = algorithm.name;
                    let dominated = false;
                    points.push(Found { algorithm, makespan, cost, dominated, budget, deadline });
                }
            }
        }
        mark(&mut points);
        if let Some(Some(path)) = &self.front {
            crate::picture::write(&output.files, path, &svg(&picture(problem, &points, &limits)))?;
        }
        if self.json {
            output.json(&Document {
                schema: "slackline/front/1",
                workflow: problem.workflow().name(),
                platform: problem.platform().name(),
                scale,
                lower_bound: slackline_schedule::bounds::lower_bound(problem),
                budget: limits.budget,
                deadline: limits.deadline,
                points,
            })
        } else {
            self.tell_front(problem, &points, &limits, output)
        }
    }

    /// The planners asked for, else all that do not search.
    fn contenders(&self, problem: &Problem<'_>) -> Result<Vec<&'static Algorithm>, Failure> {
        let whole = Limits { budget: Some(0.0), deadline: Some(0.0) };
        if !self.algorithm.is_empty() {
            return self.named(problem, &whole);
        }
        let fast = |a: &&Algorithm| match a.family {
            Family::List => true,
            Family::Qos => qos::FAST.iter().any(|f| f.name == a.name) || a.name == "moheft",
            _ => false,
        };
        let able = |a: &&Algorithm| a.lacks(problem, &whole).is_none();
        Ok(registry::ALL.iter().filter(fast).filter(able).collect())
    }

    fn tell_front(
        &self,
        problem: &Problem<'_>,
        points: &[Found],
        limits: &Limits,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let best: Vec<&Found> = points.iter().filter(|p| !p.dominated).collect();
        let headline = format!("{} plans of {}", points.len(), place(problem));
        output.say(&format!("{}\n\n", output.bold(&headline)))?;
        output.say(&format!("{} that no other beats in time and cost:\n\n", best.len()))?;
        let mut table = Table::new(&[">makespan", ">cost", "<found by", "<"]);
        let limited = limits.budget.is_some() || limits.deadline.is_some();
        // Several planners may have found the same.
        let same = |a: &&Found, b: &&Found| {
            approx::eq(a.makespan, b.makespan) && approx::eq(a.cost, b.cost)
        };
        for plans in best.chunk_by(same) {
            let point = Point { makespan: plans[0].makespan, cost: plans[0].cost };
            let kept = if limited && point.excess(limits) == 0.0 { "keeps the limits" } else { "" };
            table.row([
                fmt_seconds(point.makespan),
                three_digits(point.cost),
                finders(plans),
                kept.to_string(),
            ]);
        }
        output.say(&table.render(output.width))?;
        if let Some(Some(path)) = &self.front {
            output.say(&format!("\nPicture written to {}\n", path.display()))?;
        }
        Ok(())
    }
}

/// Who found a plan, by name.
fn finders(plans: &[&Found]) -> String {
    const SHOWN: usize = 3;
    let mut names: Vec<&str> = plans.iter().map(|p| p.algorithm).collect();
    names.dedup();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    match more {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// What a planner is told in turn: nothing, or budgets, and with them deadlines that grow tighter as
/// money becomes plenty, unless the user has one.
fn sweep(algorithm: &Algorithm, scale: &Scale, limits: &Limits) -> Vec<Limits> {
    let needs = |need| algorithm.needs.contains(&need);
    if !needs(Need::Budget) && !needs(Need::Deadline) {
        return vec![*limits];
    }
    let between = |from: f64, to: f64, share: f64| from + share * (to - from);
    let step = |k: usize| {
        let share = k as f64 / (STEPS - 1) as f64;
        let dearest = scale.exact.1.max(scale.exact.0);
        let slow = scale.cheapest.makespan.max(scale.fastest.makespan);
        let deadline = || between(slow, scale.fastest.makespan, share);
        let budget = between(scale.exact.0, dearest, share);
        let deadline = needs(Need::Deadline).then(|| limits.deadline.unwrap_or_else(deadline));
        Limits { budget: Some(budget), deadline }
    };
    (0..STEPS).map(step).collect()
}

/// Sorts by makespan and says which plans are beaten.
fn mark(points: &mut [Found]) {
    let order = |p: &Found| (approx::sort_key(p.makespan), approx::sort_key(p.cost));
    points.sort_by(|a, b| {
        let (a, b) = (order(a), order(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let plain: Vec<Point> =
        points.iter().map(|p| Point { makespan: p.makespan, cost: p.cost }).collect();
    for (point, dominated) in points.iter_mut().zip(pareto::dominated(&plain)) {
        point.dominated = dominated;
    }
}

fn picture(problem: &Problem<'_>, points: &[Found], limits: &Limits) -> Front {
    let best = points.iter().filter(|p| !p.dominated).count();
    let point = |p: &Found| FrontPoint {
        name: p.algorithm.to_string(),
        makespan: p.makespan,
        cost: p.cost,
        dominated: p.dominated,
    };
    Front {
        title: place(problem),
        facts: vec![
            format!("{} plans", points.len()),
            format!("{best} that no other beats in time and cost"),
        ],
        points: points.iter().map(point).collect(),
        deadline: limits.deadline,
        budget: limits.budget,
    }
}
