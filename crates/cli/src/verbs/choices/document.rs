//! What programs read of workflows with choices and loops.

use super::Template;
use serde::Serialize as Derive;
use serde::ser::{Serialize, SerializeMap, Serializer};
use slackline_analysis::forecast::{Chance, Distribution, Explained, Forecast, PartRuns};
use slackline_model::control::{Control, Count, SubWorkflow};
use slackline_model::parameter::Given;
use slackline_model::{Platform, Workflow};
use slackline_schedule::nondet::{Kinds, Options, Plan, Run, Share};

/// Entries of a JSON object in their order.
pub(in crate::verbs) struct Named<T>(pub(in crate::verbs) Vec<(String, T)>);

impl<T> Named<T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// A limit; none where there is no greatest value.
fn limited(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// How often a sub-workflow is executed.
#[derive(Derive)]
struct ExecutionsOf {
    mean: f64,
    variance: f64,
    least: f64,
    most: Option<f64>,
}

impl ExecutionsOf {
    fn new(count: &Count) -> ExecutionsOf {
        let Count { mean, variance, least, most } = *count;
        ExecutionsOf { mean, variance, least, most: limited(most) }
    }
}

/// A sub-workflow and its executions.
#[derive(Derive)]
pub(in crate::verbs) struct PartFacts {
    tasks: Vec<String>,
    edges: Vec<[String; 2]>,
    executions: ExecutionsOf,
}

fn facts_of(control: &Control, part: &SubWorkflow, count: &Count) -> PartFacts {
    let name = |task: u32| control.task_name(task).to_string();
    let tasks: Vec<String> = part.tasks.iter().map(|&t| name(t)).collect();
    let edge = |&(from, to): &(u32, u32)| [from, to].map(|at| name(part.tasks[at as usize]));
    let edges = part.edges.iter().map(edge).collect();
    PartFacts { tasks, edges, executions: ExecutionsOf::new(count) }
}

/// All sub-workflows.
pub(in crate::verbs) fn part_facts(control: &Control) -> Named<PartFacts> {
    let parts = control.split();
    let counts = control.executions(&parts);
    let facts = parts.iter().zip(&counts);
    Named(facts.map(|(p, c)| (p.name.clone(), facts_of(control, p, c))).collect())
}

/// The plan of a sub-workflow.
#[derive(Derive)]
struct PartDocument {
    #[serde(flatten)]
    facts: PartFacts,
    work: f64,
    floor: f64,
    planned: Option<f64>,
    money: f64,
    alloc: Named<u32>,
    machines: u32,
    cluster: Option<String>,
    makespan: f64,
    cost: f64,
    feasible: bool,
}

/// The JSON document of a plan.
#[derive(Derive)]
pub(super) struct PlanDocument<'a> {
    schema: &'static str,
    algorithm: &'static str,
    #[serde(skip_serializing_if = "Named::is_empty")]
    set: Named<String>,
    workflow: &'a str,
    platform: &'a str,
    budget: f64,
    confidence: f64,
    share: &'static str,
    feasible: bool,
    planned_cost: Option<f64>,
    expected_cost: f64,
    subworkflows: Named<PartDocument>,
}

fn share_name(share: Share) -> &'static str {
    match share {
        Share::Work => "work",
        Share::Floor => "floor",
    }
}

impl<'a> PlanDocument<'a> {
    pub(super) fn new(
        template: &'a Template,
        platform: &'a Platform,
        kinds: &Kinds<'_>,
        plan: &Plan,
        options: &Options,
        given: &'a Given,
    ) -> PlanDocument<'a> {
        let control = &template.control;
        let part = |at: usize| {
            let part = &plan.parts[at];
            let candidate = plan.plans[at].candidate.as_ref();
            let widths = candidate.map_or(&[][..], |c| &c.widths);
            let alloc = part.tasks.iter().zip(widths);
            let alloc = alloc.map(|(&t, &w)| (control.task_name(t).to_string(), w)).collect();
            let document = PartDocument {
                facts: facts_of(control, part, &plan.executions[at]),
                work: plan.work[at],
                floor: plan.floor[at],
                planned: limited(plan.shared.planned[at]),
                money: plan.shared.money[at],
                alloc: Named(alloc),
                machines: candidate.map_or(0, |c| c.machines),
                cluster: candidate.map(|c| kinds.all()[c.kind].name.to_string()),
                makespan: candidate.map_or(0.0, |c| c.makespan),
                cost: candidate.map_or(0.0, |c| c.cost),
                feasible: plan.plans[at].feasible,
            };
            (part.name.clone(), document)
        };
        PlanDocument {
            schema: "slackline/choices-plan/1",
            algorithm: options.method.name(),
            set: Named(given.clone()),
            workflow: template.tasks.name(),
            platform: platform.name(),
            budget: options.budget,
            confidence: options.confidence,
            share: share_name(options.share),
            feasible: plan.is_feasible(),
            planned_cost: limited(plan.planned_cost()),
            expected_cost: plan.expected_cost(),
            subworkflows: Named((0..plan.parts.len()).map(part).collect()),
        }
    }
}

/// A task instance and where it runs.
#[derive(Derive)]
struct PlacedDocument<'a> {
    task: &'a str,
    processors: Vec<&'a str>,
    width: usize,
    start: f64,
    finish: f64,
}

/// A sub-workflow that was released.
#[derive(Derive)]
struct ReleaseDocument<'a> {
    sub: &'a str,
    at: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    money: Option<f64>,
}

/// What is the same for runs and forecasts.
#[derive(Derive)]
pub(super) struct Head<'a> {
    pub(super) policy: &'static str,
    #[serde(skip_serializing_if = "Named::is_empty")]
    pub(super) set: Named<String>,
    pub(super) workflow: &'a str,
    pub(super) platform: &'a str,
    pub(super) budget: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deadline: Option<f64>,
    pub(super) confidence: f64,
    pub(super) share: &'static str,
    pub(super) adaptive: bool,
    pub(super) seed: u64,
}

impl<'a> Head<'a> {
    pub(super) fn new(
        workflow: &'a Workflow,
        platform: &'a Platform,
        options: &Options,
        given: &'a Given,
        deadline: Option<f64>,
        seed: u64,
    ) -> Head<'a> {
        Head {
            policy: options.method.name(),
            set: Named(given.clone()),
            workflow: workflow.name(),
            platform: platform.name(),
            budget: options.budget,
            deadline,
            confidence: options.confidence,
            share: share_name(options.share),
            adaptive: options.adaptive,
            seed,
        }
    }
}

/// The JSON document of one run.
#[derive(Derive)]
pub(super) struct RunDocument<'a> {
    schema: &'static str,
    #[serde(flatten)]
    head: Head<'a>,
    run: u64,
    finished: bool,
    tasks: usize,
    makespan: f64,
    cost: f64,
    within_budget: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    within_deadline: Option<bool>,
    paid_seconds: f64,
    used_seconds: f64,
    outcomes: Vec<String>,
    released: Vec<ReleaseDocument<'a>>,
    leases: Vec<(&'a str, f64, f64)>,
    schedule: Vec<PlacedDocument<'a>>,
}

/// Decisions and how they fell, by name.
pub(super) fn outcomes(control: &Control, run: &Run) -> Vec<String> {
    let mut all: Vec<(&str, &str)> = (run.outcomes.iter())
        .map(|(decision, outcome)| {
            (decision.name.as_str(), control.outcome_name(decision, *outcome))
        })
        .collect();
    all.sort_unstable();
    all.into_iter().map(|(decision, outcome)| format!("{decision}={outcome}")).collect()
}

impl<'a> RunDocument<'a> {
    pub(super) fn new(
        head: Head<'a>,
        number: u64,
        control: &Control,
        kinds: &'a Kinds<'_>,
        plan: &'a Plan,
        run: &'a Run,
    ) -> RunDocument<'a> {
        let platform = kinds.problem().platform();
        let host = |kind: usize, machine: u32| {
            &*platform.host(kinds.all()[kind].hosts[machine as usize]).name
        };
        let used =
            run.instances.iter().map(|i| (i.end - i.start) * i.machines.len() as f64).sum::<f64>()
                + 0.0;
        // Where time is billed exactly a lease is no more than the tasks on it.
        let rounded = |kind: &usize| kinds.all()[*kind].billing.quantum > 0.0;
        let mut leases: Vec<(&str, f64, f64)> = (run.leases.iter())
            .filter(|(kind, ..)| rounded(kind))
            .map(|(kind, _, lease)| (&*kinds.all()[*kind].name, lease.from, lease.to))
            .collect();
        leases.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2)).then(a.0.cmp(b.0)));
        let deadline = head.deadline;
        RunDocument {
            schema: "slackline/choices-run/1",
            run: number,
            finished: true,
            tasks: run.instances.len(),
            makespan: run.makespan,
            cost: run.cost,
            within_budget: Options::affords(run.cost, head.budget),
            within_deadline: deadline.map(|d| slackline_model::approx::le(run.makespan, d)),
            paid_seconds: run.paid_seconds,
            used_seconds: used,
            outcomes: outcomes(control, run),
            released: (run.released.iter())
                .map(|r| ReleaseDocument {
                    sub: &plan.parts[r.part].name,
                    at: r.at,
                    money: r.money,
                })
                .collect(),
            leases,
            schedule: (run.instances.iter())
                .map(|i| PlacedDocument {
                    task: &i.name,
                    processors: i.machines.iter().map(|&m| host(i.kind, m)).collect(),
                    width: i.machines.len(),
                    start: i.start,
                    finish: i.end,
                })
                .collect(),
            head,
        }
    }
}

/// The JSON document of a forecast.
#[derive(Derive)]
pub(super) struct ForecastDocument<'a> {
    schema: &'static str,
    #[serde(flatten)]
    head: Head<'a>,
    runs: usize,
    makespan: Distribution,
    cost: Distribution,
    within_budget: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    within_deadline: Option<f64>,
    within_both: f64,
    /// Wilson intervals of 95 % around these shares.
    intervals: Intervals,
    explained: &'a [Explained],
    subworkflows: &'a [PartRuns],
    /// Decisions are taken to be independent of each other and of run times.
    assumes: &'static str,
}

#[derive(Derive)]
struct Intervals {
    within_budget: [f64; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    within_deadline: Option<[f64; 2]>,
    within_both: [f64; 2],
}

/// What a forecast rests on.
pub(super) const ASSUMES: &str =
    "decisions are independent of each other and of run times; times are those estimated";

impl<'a> ForecastDocument<'a> {
    pub(super) fn new(head: Head<'a>, forecast: &'a Forecast) -> ForecastDocument<'a> {
        let ends = |chance: &Chance| [chance.low, chance.high];
        ForecastDocument {
            schema: "slackline/forecast/1",
            head,
            runs: forecast.runs.len(),
            makespan: forecast.makespan,
            cost: forecast.cost,
            within_budget: forecast.budget.share,
            within_deadline: forecast.deadline.map(|c| c.share),
            within_both: forecast.both.share,
            intervals: Intervals {
                within_budget: ends(&forecast.budget),
                within_deadline: forecast.deadline.as_ref().map(ends),
                within_both: ends(&forecast.both),
            },
            explained: &forecast.explained,
            subworkflows: &forecast.parts,
            assumes: ASSUMES,
        }
    }
}
