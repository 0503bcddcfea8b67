//! Reports of workflows with choices and loops: the JSON documents `slackline/choices-plan/1`,
//! `slackline/choices-run/1` and `slackline/forecast/1`.

use super::PlannedChoices;
use crate::details_json::Set;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize as Derive;
use serde::ser::{Serialize, SerializeMap, Serializer};
use slackline_analysis::forecast::{Chance, Distribution, Explained, Forecast, PartRuns};
use slackline_model::control::{Control, Count, Decision, SubWorkflow};
use slackline_schedule::nondet::{Options, Run, Share};
use std::borrow::Cow;

/// Entries of a JSON object in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Named{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let each = generator.subschema_for::<T>();
        json_schema!({ "type": "object", "additionalProperties": each })
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

/// Number of executions of a sub-workflow in a run.
#[derive(Clone, Debug, PartialEq, Derive, JsonSchema)]
pub struct Executions {
    /// Mean.
    pub mean: f64,
    /// Variance.
    pub variance: f64,
    /// Fewest possible.
    pub least: f64,
    /// Most possible; none where there is no limit.
    pub most: Option<f64>,
}

impl Executions {
    fn of(count: &Count) -> Executions {
        let Count { mean, variance, least, most } = *count;
        Executions { mean, variance, least, most: limited(most) }
    }
}

/// A sub-workflow and its executions.
#[derive(Clone, Debug, PartialEq, Derive, JsonSchema)]
pub struct PartFacts {
    /// Its tasks, in file order.
    pub tasks: Vec<String>,
    /// Dependencies between its tasks: pairs of predecessor and successor.
    pub edges: Vec<[String; 2]>,
    /// Number of its executions in a run.
    pub executions: Executions,
}

fn facts_of(control: &Control, part: &SubWorkflow, count: &Count) -> PartFacts {
    let name = |task: u32| control.task_name(task).to_string();
    let tasks: Vec<String> = part.tasks.iter().map(|&t| name(t)).collect();
    let edge = |&(from, to): &(u32, u32)| [from, to].map(|at| name(part.tasks[at as usize]));
    let edges = part.edges.iter().map(edge).collect();
    PartFacts { tasks, edges, executions: Executions::of(count) }
}

/// All sub-workflows.
pub fn part_facts(control: &Control) -> Named<PartFacts> {
    let parts = control.split();
    let counts = control.executions(&parts);
    let facts = parts.iter().zip(&counts);
    Named(facts.map(|(p, c)| (p.name.clone(), facts_of(control, p, c))).collect())
}

/// The plan of a sub-workflow.
#[derive(Clone, Debug, PartialEq, Derive, JsonSchema)]
pub struct PartPlanReport {
    /// Its tasks, edges and executions.
    #[serde(flatten)]
    pub facts: PartFacts,
    /// Seconds of all its tasks on one machine, the mean over the kinds of machines.
    pub work: f64,
    /// Least cost of running its tasks one after the other on one machine.
    pub floor: f64,
    /// Executions that are paid for; none where there is no limit.
    pub planned: Option<f64>,
    /// Money for one execution.
    pub money: f64,
    /// Machines for each task.
    pub alloc: Named<u32>,
    /// Most machines at once.
    pub machines: u32,
    /// The kind of machine.
    pub cluster: Option<String>,
    /// Seconds from begin to end on newly leased machines.
    pub makespan: f64,
    /// Cost of running it there.
    pub cost: f64,
    /// Whether the cost keeps to the money.
    pub feasible: bool,
}

/// The report of a plan.
#[derive(Clone, Debug, PartialEq, Derive, JsonSchema)]
pub struct ChoicesPlanReport {
    /// `slackline/choices-plan/1`.
    pub schema: &'static str,
    /// The method.
    pub algorithm: &'static str,
    /// Its parameters that were given.
    #[serde(skip_serializing_if = "Set::is_empty")]
    pub set: Set,
    /// The workflow.
    pub workflow: String,
    /// The platform.
    pub platform: String,
    /// The budget.
    pub budget: f64,
    /// Quantile of the number of executions that is paid for.
    pub confidence: f64,
    /// Rule by which the budget is shared among sub-workflows.
    pub share: &'static str,
    /// Whether every part keeps to its money.
    pub feasible: bool,
    /// Cost of the executions paid for; none where there is no limit.
    pub planned_cost: Option<f64>,
    /// Most that the mean number of executions costs.
    pub expected_cost: f64,
    /// The sub-workflows by name.
    pub subworkflows: Named<PartPlanReport>,
}

fn share_name(share: Share) -> &'static str {
    match share {
        Share::Work => "work",
        Share::Floor => "floor",
    }
}

impl ChoicesPlanReport {
    pub(super) fn new(planned: &PlannedChoices<'_>) -> ChoicesPlanReport {
        let PlannedChoices { template, platform, kinds, plan, options, given, .. } = planned;
        let control = &template.control;
        let part = |at: usize| {
            let part = &plan.parts[at];
            let candidate = plan.plans[at].candidate.as_ref();
            let widths = candidate.map_or(&[][..], |c| &c.widths);
            let alloc = part.tasks.iter().zip(widths);
            let alloc = alloc.map(|(&t, &w)| (control.task_name(t).to_string(), w)).collect();
            let report = PartPlanReport {
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
            (part.name.clone(), report)
        };
        ChoicesPlanReport {
            schema: "slackline/choices-plan/1",
            algorithm: options.method.name(),
            set: Set::of(*given),
            workflow: template.tasks.name().to_string(),
            platform: platform.name().to_string(),
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
#[derive(Clone, Debug, PartialEq, Derive, JsonSchema)]
pub struct PlacedInstanceReport {
    /// The instance.
    pub task: String,
    /// Its machines.
    pub processors: Vec<String>,
    /// Number of its machines.
    pub width: usize,
    /// Seconds.
    pub start: f64,
    /// Seconds.
    pub finish: f64,
}

/// A sub-workflow that was released.
#[derive(Clone, Debug, PartialEq, Derive, JsonSchema)]
pub struct ReleaseReport {
    /// The sub-workflow.
    pub sub: String,
    /// When.
    pub at: f64,
    /// Its money, in adaptive runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<f64>,
}

/// Method, inputs and limits of a run or forecast.
#[derive(Clone, Debug, PartialEq, Derive, JsonSchema)]
pub struct Head {
    /// The method.
    pub policy: &'static str,
    /// Its parameters that were given.
    #[serde(skip_serializing_if = "Set::is_empty")]
    pub set: Set,
    /// The workflow.
    pub workflow: String,
    /// The platform.
    pub platform: String,
    /// The budget.
    pub budget: f64,
    /// The deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<f64>,
    /// Quantile of the number of executions that is paid for.
    pub confidence: f64,
    /// Rule by which the budget is shared among sub-workflows.
    pub share: &'static str,
    /// Whether every release is planned again with the remaining money.
    pub adaptive: bool,
    /// Seed of the draws.
    pub seed: u64,
}

impl Head {
    pub(super) fn new(planned: &PlannedChoices<'_>, deadline: Option<f64>, seed: u64) -> Head {
        let PlannedChoices { template, platform, options, given, .. } = planned;
        Head {
            policy: options.method.name(),
            set: Set::of(*given),
            workflow: template.tasks.name().to_string(),
            platform: platform.name().to_string(),
            budget: options.budget,
            deadline,
            confidence: options.confidence,
            share: share_name(options.share),
            adaptive: options.adaptive,
            seed,
        }
    }
}

/// The report of one run.
#[derive(Clone, Debug, PartialEq, Derive, JsonSchema)]
pub struct ChoicesRunReport {
    /// `slackline/choices-run/1`.
    pub schema: &'static str,
    /// Method, inputs and limits.
    #[serde(flatten)]
    pub head: Head,
    /// The number of the run.
    pub run: u64,
    /// Whether all tasks are done: always.
    pub finished: bool,
    /// Number of task instances that ran.
    pub tasks: usize,
    /// Seconds.
    pub makespan: f64,
    /// The bill.
    pub cost: f64,
    /// Whether it keeps the budget.
    pub within_budget: bool,
    /// Whether it meets the deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_deadline: Option<bool>,
    /// Machine seconds that were paid.
    pub paid_seconds: f64,
    /// Machine seconds that tasks used.
    pub used_seconds: f64,
    /// `DECISION=OUTCOME`, sorted.
    pub outcomes: Vec<String>,
    /// Sub-workflows in the order of their release.
    pub released: Vec<ReleaseReport>,
    /// Leases: kind, begin, end; none where time is billed exactly.
    pub leases: Vec<(String, f64, f64)>,
    /// Machines and dates of every task instance.
    pub schedule: Vec<PlacedInstanceReport>,
}

/// Decisions and how they fell, by name: `DECISION=OUTCOME`, sorted.
pub fn outcomes(control: &Control, taken: &[(Decision, u32)]) -> Vec<String> {
    let mut all: Vec<(&str, &str)> = (taken.iter())
        .map(|(decision, outcome)| {
            (decision.name.as_str(), control.outcome_name(decision, *outcome))
        })
        .collect();
    all.sort_unstable();
    all.into_iter().map(|(decision, outcome)| format!("{decision}={outcome}")).collect()
}

impl ChoicesRunReport {
    pub(super) fn new(
        head: Head,
        number: u64,
        planned: &PlannedChoices<'_>,
        run: &Run,
    ) -> ChoicesRunReport {
        let PlannedChoices { template, platform, kinds, plan, .. } = planned;
        let host = |kind: usize, machine: u32| {
            platform.host(kinds.all()[kind].hosts[machine as usize]).name.to_string()
        };
        let used =
            run.instances.iter().map(|i| (i.end - i.start) * i.machines.len() as f64).sum::<f64>()
                + 0.0;
        // Where time is billed exactly a lease is no more than the tasks on it.
        let rounded = |kind: &usize| kinds.all()[*kind].billing.quantum > 0.0;
        let mut leases: Vec<(String, f64, f64)> = (run.leases.iter())
            .filter(|(kind, ..)| rounded(kind))
            .map(|(kind, _, lease)| (kinds.all()[*kind].name.to_string(), lease.from, lease.to))
            .collect();
        leases.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2)).then(a.0.cmp(&b.0)));
        let deadline = head.deadline;
        ChoicesRunReport {
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
            outcomes: outcomes(&template.control, &run.outcomes),
            released: (run.released.iter())
                .map(|r| ReleaseReport {
                    sub: plan.parts[r.part].name.clone(),
                    at: r.at,
                    money: r.money,
                })
                .collect(),
            leases,
            schedule: (run.instances.iter())
                .map(|i| PlacedInstanceReport {
                    task: i.name.clone(),
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

/// The report of a forecast.
#[derive(Clone, Debug, PartialEq, Derive, JsonSchema)]
pub struct ForecastReport {
    /// `slackline/forecast/1`.
    pub schema: &'static str,
    /// Method, inputs and limits.
    #[serde(flatten)]
    pub head: Head,
    /// Number of runs.
    pub runs: usize,
    /// Seconds.
    pub makespan: Distribution,
    /// The bill.
    pub cost: Distribution,
    /// Share of runs that keep the budget.
    pub within_budget: f64,
    /// Share that meets the deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_deadline: Option<f64>,
    /// Share that does both.
    pub within_both: f64,
    /// Wilson intervals of 95 % around these shares.
    pub intervals: Intervals,
    /// Choices and loops that explain the spread.
    pub explained: Vec<Explained>,
    /// Sub-workflows.
    pub subworkflows: Vec<PartRuns>,
    /// Assumptions of the forecast, in words.
    pub assumes: &'static str,
}

/// Lower and upper ends of intervals.
#[derive(Clone, Debug, PartialEq, Derive, JsonSchema)]
pub struct Intervals {
    /// Of the share of runs that keep the budget.
    pub within_budget: [f64; 2],
    /// Of the share that meets the deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_deadline: Option<[f64; 2]>,
    /// Of the share that does both.
    pub within_both: [f64; 2],
}

/// Assumptions of every forecast.
pub const ASSUMES: &str =
    "decisions are independent of each other and of run times; times are those estimated";

impl ForecastReport {
    pub(super) fn new(head: Head, forecast: &Forecast) -> ForecastReport {
        let ends = |chance: &Chance| [chance.low, chance.high];
        ForecastReport {
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
            explained: forecast.explained.clone(),
            subworkflows: forecast.parts.clone(),
            assumes: ASSUMES,
        }
    }
}
