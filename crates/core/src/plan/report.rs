//! The report of a plan: the JSON documents `slackline/plan/1` and `slackline/plans/1`.

use super::Planned;
use super::scale::Scale;
use crate::details_json::{Details, Set};
use crate::interval::MakespanInterval;
use crate::plan_check::Difference;
use crate::schedule_json::{
    LeaseEntry, StorageEntry, TaskPlacement, TransferEntry, leased, moved, placed, stored,
};
use schemars::JsonSchema;
use serde::Serialize;
use slackline_model::parameter::{self, Given};
use slackline_model::schedule::{Limits, Violation, leases};
use slackline_model::{Problem, Schedule};
use slackline_schedule::retime;

/// The JSON document of several plans.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlanReports {
    /// `slackline/plans/1`.
    pub schema: &'static str,
    /// One for each planner.
    pub plans: Vec<PlanReport>,
}

/// The JSON document of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlanReport {
    /// `slackline/plan/1`.
    pub schema: &'static str,
    /// The planner.
    pub algorithm: &'static str,
    /// Parameters that the planner was given.
    #[serde(skip_serializing_if = "Set::is_empty")]
    pub set: Set,
    /// The workflow.
    pub workflow: String,
    /// The platform.
    pub platform: String,
    /// Number of tasks.
    pub tasks: usize,
    /// Number of processors.
    pub processors: usize,
    /// End of the plan in seconds.
    pub makespan: f64,
    /// The end when the simulator follows the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<f64>,
    /// Causes of the difference between the plan and its simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// Seconds by which the plan ends later because inputs have to come from somewhere.
    pub staging_seconds: f64,
    /// No plan ends before this date.
    pub lower_bound: f64,
    /// Seconds on the fastest processor over the makespan.
    pub speedup: f64,
    /// Share of the time of the used processors in which they compute.
    pub utilisation: f64,
    /// Processors with tasks.
    pub used_processors: usize,
    /// Cost of the plan.
    pub cost: f64,
    /// Bytes that cross between hosts.
    pub bytes_moved: f64,
    /// Makespan of the run that the workflow was recorded from, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_makespan: Option<f64>,
    /// Bounds of the makespan, where the workflow is a recorded run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<MakespanInterval>,
    /// Limits that were given, and whether the plan keeps them.
    #[serde(flatten)]
    pub limited: Option<Limited>,
    /// Machines that are leased.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<LeaseEntry>,
    /// Seconds that planning took.
    pub wall_seconds: f64,
    /// The makespan when run times are off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robustness: Option<Spread>,
    /// Further members by planner.
    #[serde(flatten)]
    pub details: Details,
    /// Processors and dates of every task.
    pub schedule: Vec<TaskPlacement>,
    /// The room that files take, by place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<StorageEntry>,
    /// Transfers, where the method plans them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<TransferEntry>,
}

/// Limits that were given, and whether a plan keeps them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Limited {
    /// The budget that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// The deadline that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<f64>,
    /// Whether the plan keeps them.
    pub feasible: bool,
    /// The limits that it misses, in words.
    pub missed: Vec<String>,
    /// Between which ends limits make sense.
    #[serde(flatten)]
    pub scale: Scale,
}

/// The makespan when run times are off.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// Mean of the samples.
    pub mean: f64,
    /// 95th percentile.
    pub p95: f64,
    /// The latest.
    pub worst: f64,
    /// Mean slack of the tasks in seconds.
    pub slack: f64,
}

impl PlanReport {
    pub(super) fn new(
        problem: &Problem<'_>,
        plan: &Planned,
        lower_bound: f64,
        (limits, scale): (&Limits, Option<Scale>),
        given: &Given,
        recorded_makespan: Option<f64>,
    ) -> PlanReport {
        let workflow = problem.workflow();
        PlanReport {
            schema: "slackline/plan/1",
            algorithm: plan.algorithm.name,
            set: Set::of(parameter::own(given, plan.algorithm.parameters)),
            workflow: workflow.name().to_string(),
            platform: problem.platform().name().to_string(),
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
            interval: plan.interval,
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
            details: Details(plan.schedule.details.clone()),
            schedule: placed(problem, &plan.schedule),
            storage: stored(problem, &plan.schedule),
            transfers: moved(problem, &plan.schedule),
        }
    }
}

/// Seconds by which a plan ends later because of input staging: its makespan less that with all inputs everywhere.
pub fn staging(problem: &Problem<'_>, schedule: &Schedule) -> f64 {
    if !problem.has_staging() {
        return 0.0;
    }
    let without = retime::makespan(&problem.without_staging(), schedule);
    (schedule.makespan() - without).max(0.0)
}
