//! What programs read of simulated runs; docs/formats.md describes it.

use super::sweep;
use super::workflow::Ran;
use crate::check::Difference;
use crate::told::Set;
use crate::verbs::placed::{Leased, Placed, leased, placed};
use serde::Serialize;
use slackline_analysis::workflow_metrics::{Beside, Served, Totals};
use slackline_model::Problem;
use slackline_react::Arrived;

/// The JSON document of several runs.
#[derive(Serialize)]
pub(super) struct Documents<'a> {
    pub(super) schema: &'static str,
    pub(super) runs: &'a [Document<'a>],
}

/// The JSON document of one run.
#[derive(Serialize)]
pub(in crate::verbs) struct Document<'a> {
    schema: &'static str,
    policy: &'a str,
    #[serde(skip_serializing_if = "Set::is_empty")]
    set: Set<'a>,
    workflow: &'a str,
    platform: &'a str,
    finished: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    tasks: usize,
    tasks_done: usize,
    makespan: f64,
    planned_makespan: f64,
    /// What the run took that the workflow was recorded from.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_makespan: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Difference>,
    lower_bound: f64,
    nsl: Option<f64>,
    slr: Option<f64>,
    replannings: usize,
    remappings: usize,
    migrations: usize,
    rewound: usize,
    hosts_lost: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    failures: Option<usize>,
    lost_seconds: f64,
    resent_seconds: f64,
    resent_bytes: f64,
    overhead_seconds: f64,
    transfers: usize,
    bytes_moved: f64,
    copies_used: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    sweep: Option<sweep::Facts<'a>>,
    cost: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    leases: Vec<Leased<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    feasible: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    workflows: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    owners: Vec<Owner<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    totals: Option<Totals>,
    /// Beside the other policies of a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<&'a Beside>,
    schedule: Vec<Placed<'a>>,
    wall_seconds: f64,
}

/// One of several workflows.
#[derive(Serialize)]
struct Part<'a> {
    name: &'a str,
    owner: &'a str,
    priority: f64,
    arrived: f64,
    #[serde(flatten)]
    served: &'a Served,
    budget: Option<f64>,
    deadline: Option<f64>,
    /// Why it was given up.
    abandoned: Option<&'a str>,
}

/// The workflows of one owner.
#[derive(Serialize)]
struct Owner<'a> {
    owner: &'a str,
    workflows: usize,
    #[serde(flatten)]
    totals: Totals,
}

impl<'a> Document<'a> {
    /// The same for a real run, which tells of each failure.
    pub(in crate::verbs) fn of_execution(self) -> Document<'a> {
        Document { schema: "slackline/execution/1", failures: None, ..self }
    }

    pub(in crate::verbs) fn new(
        problem: &'a Problem<'_>,
        ran: &'a Ran,
        lower_bound: f64,
    ) -> Document<'a> {
        let (outcome, metrics) = (&ran.outcome, &ran.metrics);
        let part = |(a, served): (&'a Arrived, &'a Served)| Part {
            name: &a.name,
            owner: &a.terms.owner,
            priority: a.terms.priority,
            arrived: a.at,
            served,
            budget: a.terms.limits.budget,
            deadline: a.terms.limits.deadline,
            abandoned: a.abandoned.as_deref(),
        };
        let workflows = outcome.arrived.iter().zip(&ran.served).map(part).collect();
        let owner = |(owner, served): (&'a str, Vec<&'a Served>)| Owner {
            owner,
            workflows: served.len(),
            totals: Totals::of(served.iter().copied()),
        };
        let owners = ran.by_owner().into_iter().map(owner).collect();
        let totals = (!ran.served.is_empty()).then(|| Totals::of(ran.served.iter()));
        let why = ran.unfinished();
        let c = &outcome.counters;
        let schedule = placed(problem, &outcome.schedule);
        Document {
            schema: "slackline/simulation/1",
            policy: &ran.name,
            set: Set::of(&ran.set),
            workflow: problem.workflow().name(),
            platform: problem.platform().name(),
            finished: why.is_none(),
            why,
            tasks: problem.tasks(),
            tasks_done: schedule.len(),
            makespan: outcome.makespan,
            planned_makespan: ran.planned.makespan(),
            recorded_makespan: ran.recorded,
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
            compared: ran.beside.as_ref(),
            schedule,
            wall_seconds: ran.wall_seconds,
        }
    }
}
