//! What programs read of plans.

use super::Planned;
use super::report::staging;
use super::scale::Scale;
use crate::check::Difference;
use crate::told::{Details, Set};
use crate::verbs::placed::{Leased, Moved, Placed, Stored, leased, moved, placed, stored};
use serde::Serialize;
use slackline_model::Problem;
use slackline_model::parameter::{self, Given};
use slackline_model::schedule::{Limits, Violation, leases};

/// The JSON document of several plans.
#[derive(Serialize)]
pub(super) struct Documents<'a> {
    pub(super) schema: &'static str,
    pub(super) plans: Vec<Document<'a>>,
}

/// The JSON document of a plan.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    algorithm: &'static str,
    #[serde(skip_serializing_if = "Set::is_empty")]
    set: Set<'a>,
    workflow: &'a str,
    platform: &'a str,
    tasks: usize,
    processors: usize,
    makespan: f64,
    /// The end when the simulator follows the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulated: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Difference>,
    staging_seconds: f64,
    lower_bound: f64,
    speedup: f64,
    utilisation: f64,
    used_processors: usize,
    cost: f64,
    bytes_moved: f64,
    /// What the run took that the workflow was recorded from.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_makespan: Option<f64>,
    #[serde(flatten)]
    limited: Option<Limited>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    leases: Vec<Leased<'a>>,
    wall_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    robustness: Option<Spread>,
    #[serde(flatten)]
    details: Details<'a>,
    schedule: Vec<Placed<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    storage: Vec<Stored>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transfers: Vec<Moved<'a>>,
}

/// How a plan stands to the limits that were given.
#[derive(Serialize)]
struct Limited {
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<f64>,
    feasible: bool,
    missed: Vec<String>,
    #[serde(flatten)]
    scale: Scale,
}

/// The makespan when run times are off.
#[derive(Serialize)]
struct Spread {
    mean: f64,
    p95: f64,
    worst: f64,
    slack: f64,
}

impl<'a> Document<'a> {
    pub(super) fn new(
        problem: &Problem<'a>,
        plan: &'a Planned,
        lower_bound: f64,
        (limits, scale): (&Limits, Option<Scale>),
        given: &'a Given,
        recorded_makespan: Option<f64>,
    ) -> Document<'a> {
        let workflow = problem.workflow();
        Document {
            schema: "slackline/plan/1",
            algorithm: plan.algorithm.name,
            set: Set::of(parameter::own(given, plan.algorithm.parameters)),
            workflow: workflow.name(),
            platform: problem.platform().name(),
            tasks: problem.tasks(),
            processors: problem.procs(),
            makespan: plan.summary.makespan,
            simulated: plan.check.map(|check| check.simulated),
            difference: plan.check.as_ref().map(Difference::of),
            staging_seconds: staging(problem, &plan.schedule),
            lower_bound,
            speedup: plan.summary.speedup,
            utilisation: plan.summary.utilisation,
            used_processors: plan.summary.used_procs,
            cost: plan.summary.cost,
            bytes_moved: plan.summary.bytes_moved,
            recorded_makespan,
            limited: scale.map(|scale| Limited {
                budget: limits.budget,
                deadline: limits.deadline,
                feasible: plan.missed.is_empty(),
                missed: plan.missed.iter().map(Violation::to_string).collect(),
                scale,
            }),
            leases: leased(problem.platform(), &leases(problem, &plan.schedule)),
            wall_seconds: plan.wall_seconds,
            robustness: plan.robustness.map(|r| Spread {
                mean: r.mean,
                p95: r.p95,
                worst: r.worst,
                slack: r.slack,
            }),
            details: Details(&plan.schedule.details),
            schedule: placed(problem, &plan.schedule),
            storage: stored(problem, &plan.schedule),
            transfers: moved(problem, &plan.schedule),
        }
    }
}
