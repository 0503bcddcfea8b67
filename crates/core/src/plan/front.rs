//! Time against cost over many planners and budgets.

use super::scale::Scale;
use super::{PlanInput, planners_named};
use crate::context::Context;
use crate::failure::Failure;
use schemars::JsonSchema;
use serde::Serialize;
use slackline_model::schedule::{Limits, Summary, validate};
use slackline_model::{Problem, approx};
use slackline_schedule::qos::pareto::{self, Point};
use slackline_schedule::{Algorithm, Family, Need, PlanError, bounds, qos, registry};

/// Budgets from the cheapest plan's cost to the fastest's at exact seconds, both included.
const STEPS: usize = 11;

/// The JSON document `slackline/front/1`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FrontReport {
    /// `slackline/front/1`.
    pub schema: &'static str,
    /// The workflow.
    pub workflow: String,
    /// The platform.
    pub platform: String,
    /// The ends of the front.
    #[serde(flatten)]
    pub scale: Scale,
    /// No plan ends before this date.
    pub lower_bound: f64,
    /// The budget that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// The deadline that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<f64>,
    /// The plans, by makespan.
    pub points: Vec<FrontPlan>,
}

/// A plan of the front.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FrontPlan {
    /// Its planner.
    pub algorithm: &'static str,
    /// Seconds.
    pub makespan: f64,
    /// What it costs.
    pub cost: f64,
    /// Whether another plan is as good in one and better in the other.
    pub dominated: bool,
    /// The budget that the planner was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// The deadline that the planner was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<f64>,
}

impl PlanInput {
    /// Plans with many planners under many limits.
    pub fn front(
        &self,
        problem: &Problem<'_>,
        context: &mut Context<'_>,
    ) -> Result<FrontReport, Failure> {
        if !problem.platform().is_priced() {
            let help = "the platform says what a host costs with `price`";
            return Err(Failure::input("--front needs machines with prices").with_help(help));
        }
        let limits = self.request.limits.limits();
        let scale = Scale::of(problem)?;
        let mut points: Vec<FrontPlan> = Vec::new();
        let contenders = self.contenders(problem)?;
        self.check_options(&contenders)?;
        for algorithm in contenders {
            for told in sweep(algorithm, &scale, &limits) {
                let settings = self.search_request(told, context);
                let schedule = match (algorithm.plan)(problem, &settings) {
                    Ok(schedule) => schedule,
                    Err(error @ PlanError::Unsupported { .. }) => {
                        context.warning(&format!("{}: {error}", algorithm.name));
                        break;
                    }
                    Err(error) => return Err(error.into()),
                };
                if let Some(broken) = validate(problem, &schedule, &Limits::default()).first() {
                    let name = algorithm.name;
                    return Err(Failure::work(format!("{name} made an invalid plan: {broken}")));
                }
                let Summary { makespan, cost, .. } = Summary::of(problem, &schedule);
                let same = |p: &FrontPlan| {
                    p.algorithm == algorithm.name
                        && approx::eq(p.makespan, makespan)
                        && approx::eq(p.cost, cost)
                };
                if !points.iter().any(same) {
                    let (budget, deadline) = (told.budget, told.deadline);
                    let algorithm = algorithm.name;
                    let dominated = false;
                    points.push(FrontPlan {
                        algorithm,
                        makespan,
                        cost,
                        dominated,
                        budget,
                        deadline,
                    });
                }
            }
        }
        mark(&mut points);
        Ok(FrontReport {
            schema: "slackline/front/1",
            workflow: problem.workflow().name().to_string(),
            platform: problem.platform().name().to_string(),
            scale,
            lower_bound: bounds::lower_bound(problem),
            budget: limits.budget,
            deadline: limits.deadline,
            points,
        })
    }

    /// The planners asked for, else all that do not search.
    fn contenders(&self, problem: &Problem<'_>) -> Result<Vec<&'static Algorithm>, Failure> {
        let whole = Limits { budget: Some(0.0), deadline: Some(0.0) };
        if !self.request.planners.is_empty() {
            return planners_named(&self.request.planners, problem, &whole);
        }
        let fast = |a: &&Algorithm| match a.family {
            Family::List => true,
            Family::Qos => qos::FAST.iter().any(|f| f.name == a.name) || a.name == "moheft",
            _ => false,
        };
        let able = |a: &&Algorithm| a.lacks(problem, &whole).is_none();
        Ok(registry::ALL.iter().filter(fast).filter(able).collect())
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
fn mark(points: &mut [FrontPlan]) {
    let order = |p: &FrontPlan| (approx::sort_key(p.makespan), approx::sort_key(p.cost));
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
