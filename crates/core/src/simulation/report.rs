//! The report of a simulated run: the JSON document `slackline/simulation/1`.

use super::Ran;
use super::sweep::{self, Sweep};
use crate::details_json::Set;
use crate::interval::MakespanInterval;
use crate::plan_check::Difference;
use crate::schedule_json::{LeaseEntry, StorageEntry, TaskPlacement, leased, placed, stored};
use schemars::JsonSchema;
use serde::Serialize;
use slackline_analysis::workflow_metrics::{Beside, Served, Totals};
use slackline_model::Problem;
use slackline_react::Arrived;

/// The JSON document of several runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SimulationReports {
    /// `slackline/simulations/1`.
    pub schema: &'static str,
    /// One for each policy.
    pub runs: Vec<SimulationReport>,
}

/// The JSON document of one run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SimulationReport {
    /// `slackline/simulation/1`.
    pub schema: &'static str,
    /// The policy.
    pub policy: String,
    /// Parameters that policy and planner were given.
    #[serde(skip_serializing_if = "Set::is_empty")]
    pub set: Set,
    /// The workflow.
    pub workflow: String,
    /// The platform.
    pub platform: String,
    /// Whether all tasks are done.
    pub finished: bool,
    /// Why it cannot finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Number of tasks.
    pub tasks: usize,
    /// Number of tasks that are done.
    pub tasks_done: usize,
    /// End of the run in seconds.
    pub makespan: f64,
    /// End of the first plan in seconds.
    pub planned_makespan: f64,
    /// Makespan of the run that the workflow was recorded from, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_makespan: Option<f64>,
    /// Bounds of the makespan, where the workflow is a recorded run and no scenario is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<MakespanInterval>,
    /// Causes of the difference between plan and run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// No run ends before this date.
    pub lower_bound: f64,
    /// Makespan over the time of the critical path.
    pub nsl: Option<f64>,
    /// Makespan over the least time of the critical path.
    pub slr: Option<f64>,
    /// Number of new plans adopted.
    pub replannings: usize,
    /// Tasks that a new plan placed elsewhere.
    pub remappings: usize,
    /// Tasks that moved after data had been sent for them.
    pub migrations: usize,
    /// Finished tasks that were done again.
    pub rewound: usize,
    /// Hosts that went off.
    pub hosts_lost: usize,
    /// Attempts and transfers that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<usize>,
    /// Seconds of work that was lost.
    pub lost_seconds: f64,
    /// Seconds of transfers that were repeated elsewhere.
    pub resent_seconds: f64,
    /// Bytes of transfers that were repeated elsewhere.
    pub resent_bytes: f64,
    /// Seconds of all lost and repeated work and transfers.
    pub overhead_seconds: f64,
    /// Number of transfers that arrived.
    pub transfers: usize,
    /// Bytes that they moved.
    pub bytes_moved: f64,
    /// Copies that were there already and saved a transfer.
    pub copies_used: usize,
    /// Traffic on the links of a grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    /// Cost of the run.
    pub cost: f64,
    /// Machines that were leased.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<LeaseEntry>,
    /// The budget that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// The deadline that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<f64>,
    /// Whether the run kept them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feasible: Option<bool>,
    /// Each of several workflows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workflows: Vec<WorkflowReport>,
    /// The workflows of each owner.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<OwnerReport>,
    /// All workflows together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
    /// Beside the other policies of a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<Beside>,
    /// Outcomes of decisions of choices and loops: `DECISION=OUTCOME`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<String>,
    /// Processors and dates of every task.
    pub schedule: Vec<TaskPlacement>,
    /// The room that files took, by place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<StorageEntry>,
    /// Seconds that the simulation took.
    pub wall_seconds: f64,
}

/// One of several workflows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WorkflowReport {
    /// The workflow.
    pub name: String,
    /// Its owner.
    pub owner: String,
    /// Its priority.
    pub priority: f64,
    /// When it arrived.
    pub arrived: f64,
    /// Metrics of its run.
    #[serde(flatten)]
    pub served: Served,
    /// The budget that was given.
    pub budget: Option<f64>,
    /// The deadline that was given.
    pub deadline: Option<f64>,
    /// Why it was given up.
    pub abandoned: Option<String>,
}

/// The workflows of one owner.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OwnerReport {
    /// The owner.
    pub owner: String,
    /// Number of their workflows.
    pub workflows: usize,
    /// All workflows together.
    #[serde(flatten)]
    pub totals: Totals,
}

impl SimulationReport {
    /// The report as one of a real run, which lists each failure.
    pub fn of_execution(self) -> SimulationReport {
        SimulationReport { schema: "slackline/execution/1", failures: None, ..self }
    }

    /// The report of a run.
    pub fn new(problem: &Problem<'_>, ran: &Ran, lower_bound: f64) -> SimulationReport {
        let (outcome, metrics) = (&ran.outcome, &ran.metrics);
        let part = |(a, served): (&Arrived, &Served)| WorkflowReport {
            name: a.name.clone(),
            owner: a.terms.owner.clone(),
            priority: a.terms.priority,
            arrived: a.at,
            served: served.clone(),
            budget: a.terms.limits.budget,
            deadline: a.terms.limits.deadline,
            abandoned: a.abandoned.clone(),
        };
        let workflows = outcome.arrived.iter().zip(&ran.served).map(part).collect();
        let owner = |(owner, served): (&str, Vec<&Served>)| OwnerReport {
            owner: owner.to_string(),
            workflows: served.len(),
            totals: Totals::of(served.iter().copied()),
        };
        let owners = ran.by_owner().into_iter().map(owner).collect();
        let totals = (!ran.served.is_empty()).then(|| Totals::of(ran.served.iter()));
        let why = ran.unfinished();
        let c = &outcome.counters;
        let schedule = placed(problem, &outcome.schedule);
        SimulationReport {
            schema: "slackline/simulation/1",
            policy: ran.name.clone(),
            set: Set::of(&ran.set),
            workflow: problem.workflow().name().to_string(),
            platform: problem.platform().name().to_string(),
            finished: why.is_none(),
            why: why.map(str::to_string),
            tasks: problem.tasks(),
            tasks_done: schedule.len(),
            makespan: outcome.makespan,
            planned_makespan: ran.planned.makespan(),
            recorded_makespan: ran.recorded,
            interval: ran.interval,
            difference: ran.check.as_ref().map(Difference::of),
            lower_bound,
            nsl: why.is_none().then_some(metrics.nsl),
            slr: why.is_none().then_some(metrics.slr),
            replannings: c.replannings,
            remappings: c.remappings,
            migrations: c.migrations,
            rewound: c.rewound,
            hosts_lost: c.hosts_lost,
            failures: Some(c.failures),
            lost_seconds: c.lost_seconds,
            resent_seconds: metrics.waste.moved_seconds,
            resent_bytes: metrics.waste.moved_bytes,
            overhead_seconds: metrics.waste.overhead(),
            transfers: c.transfers,
            bytes_moved: c.bytes_moved,
            copies_used: c.copies_used,
            sweep: sweep::facts(problem, ran),
            cost: ran.money.total,
            leases: leased(problem.platform(), &ran.money.leases),
            budget: ran.limits.budget,
            deadline: ran.limits.deadline,
            feasible: ran.keeps_limits(),
            workflows,
            owners,
            totals,
            compared: ran.beside.clone(),
            outcomes: ran.outcomes.clone(),
            schedule,
            storage: stored(problem, &outcome.schedule),
            wall_seconds: ran.wall_seconds,
        }
    }
}
