//! The same simulated run on changed platforms: whether more cores, faster links or more hosts would help.

use crate::context::Context;
use crate::failure::Failure;
use crate::interval::MakespanInterval;
use crate::request::SimulationSetup;
use crate::simulation::{Outputs, SimulationInput};
use schemars::JsonSchema;
use serde::Serialize;
use slackline_model::platform::Change;
use slackline_model::schedule::Summary;
use slackline_model::{Platform, approx};
use std::sync::Arc;

/// The changes that are tried where none is named.
const USUAL: [&str; 5] = ["cores x2", "hosts x2", "speed x2", "bandwidth x2", "latency x0.5"];

/// The JSON document of a run and the same run on changed platforms.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WhatIfReport {
    /// `slackline/what-if/1`.
    pub schema: &'static str,
    /// The workflow.
    pub workflow: String,
    /// The platform.
    pub platform: String,
    /// The policy that decides the runs.
    pub policy: String,
    /// The run on the platform as it is.
    pub base: WhatIfRun,
    /// The runs on changed platforms, in the order asked for.
    pub changes: Vec<WhatIfChange>,
}

/// The figures of one run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WhatIfRun {
    /// Hosts of the platform.
    pub hosts: usize,
    /// Cores of all hosts.
    pub cores: u64,
    /// Whether all tasks are done.
    pub finished: bool,
    /// Why the run cannot finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// End of the run in seconds; `null` where it cannot finish.
    pub makespan: Option<f64>,
    /// Bounds of the makespan, where the workflow is a recorded run and no scenario is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<MakespanInterval>,
    /// End of the first plan in seconds.
    pub planned_makespan: f64,
    /// Of several workflows: mean seconds from arrival to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_turnaround: Option<f64>,
    /// Busy share of the processors that are used, over the makespan.
    pub utilisation: f64,
    /// Processors that ran a task.
    pub used_processors: usize,
    /// Money of the run; left out where nothing costs anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// A changed platform, its run, and the difference to the run on the platform as it is.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WhatIfChange {
    /// The change; several that are made together are separated by commas.
    pub change: String,
    /// The run.
    #[serde(flatten)]
    pub run: WhatIfRun,
    /// Makespan over that on the platform as it is; below 1 is faster.
    pub ratio: Option<f64>,
    /// Seconds by which the makespan is shorter.
    pub saved_seconds: Option<f64>,
    /// Money by which the run costs more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_cost: Option<f64>,
    /// Saved seconds per unit of money that the run costs more; left out where it does not cost more or is not faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved_per_money: Option<f64>,
}

/// Changes that are made together, from text such as `cores x2, bandwidth x10`.
pub fn parse_changes(text: &str) -> Result<Vec<Change>, String> {
    text.split(',').map(str::parse).collect()
}

/// Simulates a run on a platform as it is and after each group of changes. Workflow, arrivals, scenario and random draws
/// stay the same. Dates that a scenario gives as fractions of a makespan refer to that on the unchanged platform.
pub fn what_if(
    setup: SimulationSetup,
    policy: &str,
    groups: &[Vec<Change>],
    context: &mut Context<'_>,
) -> Result<WhatIfReport, Failure> {
    if setup.is_replicated() {
        return Err(Failure::input("a what-if compares single runs").with_help(
            "a campaign (slackline compare CAMPAIGN.toml) compares platforms over many draws",
        ));
    }
    if setup.schedule.is_some() {
        return Err(Failure::input(
            "a given schedule belongs to one platform: it is not followed on others",
        ));
    }
    let mut input = setup.read(vec![policy.to_string()], context)?;
    let before = input.loaded.platform.clone();
    let (mut base, scenario) = run(&input, context)?;
    // Costs are reported for all runs or for none: a change may bring the first prices.
    let priced = base.cost.take();
    input.scenario = scenario;
    let mut changes = Vec::new();
    let mut is_priced = before.is_priced();
    let mut costs = Vec::new();
    for group in groups {
        let name = group.iter().map(Change::to_string).collect::<Vec<_>>().join(", ");
        let changed = before.changed(group).map_err(Failure::input)?;
        is_priced |= changed.is_priced();
        input.loaded.platform = Arc::new(changed);
        let (mut ran, _) =
            run(&input, context).map_err(|failure| failure.named_by(&format!("after '{name}'")))?;
        costs.push(ran.cost.take());
        let both = base.makespan.zip(ran.makespan);
        let ratio = both.filter(|(was, _)| *was > 0.0).map(|(was, is)| is / was);
        changes.push(WhatIfChange {
            change: name,
            run: ran,
            ratio,
            saved_seconds: both.map(|(was, is)| was - is),
            extra_cost: None,
            saved_per_money: None,
        });
    }
    if is_priced {
        base.cost = priced;
        for (change, cost) in changes.iter_mut().zip(costs) {
            change.run.cost = cost;
            let finished = base.finished && change.run.finished;
            let pair = base.cost.zip(cost).filter(|_| finished);
            change.extra_cost =
                pair.map(|(was, is)| if approx::eq(was, is) { 0.0 } else { is - was });
            let gain = change.saved_seconds.zip(change.extra_cost);
            change.saved_per_money =
                gain.filter(|(saved, extra)| *saved > 0.0 && *extra > 0.0).map(|(s, e)| s / e);
        }
    }
    let problem = input.problem()?;
    Ok(WhatIfReport {
        schema: "slackline/what-if/1",
        workflow: problem.workflow().name().to_string(),
        platform: before.name().to_string(),
        policy: policy.to_string(),
        base,
        changes,
    })
}

/// One run, and its scenario with all relative dates converted to seconds.
fn run(
    input: &SimulationInput,
    context: &mut Context<'_>,
) -> Result<(WhatIfRun, slackline_model::scenario::Scenario), Failure> {
    let problem = input.problem()?;
    let brief = std::mem::replace(&mut context.brief, true);
    let outputs = Outputs { work: true, ..Outputs::default() };
    let simulated = input.simulate(&problem, &outputs, context);
    context.brief = brief;
    let mut simulated = simulated?;
    simulated.delay(input);
    let scenario = simulated.scenario().clone();
    let [ran] = simulated.runs.as_slice() else {
        return Err(Failure::input("one policy is named, not several"));
    };
    let why = ran.unfinished().map(str::to_string);
    let platform: &Platform = problem.platform();
    let summary = Summary::of(&problem, &ran.outcome.schedule);
    let done = ran.served.iter().filter_map(|served| served.turnaround);
    let (count, sum) = done.fold((0, 0.0), |(count, sum), t| (count + 1, sum + t));
    let run = WhatIfRun {
        hosts: platform.hosts().len(),
        cores: platform.total_cores(),
        finished: why.is_none(),
        makespan: why.is_none().then_some(ran.outcome.makespan),
        why,
        interval: ran.interval,
        planned_makespan: ran.planned.makespan(),
        mean_turnaround: (count > 0).then(|| sum / f64::from(count)),
        utilisation: summary.utilisation,
        used_processors: summary.used_procs,
        cost: Some(ran.money.total),
    };
    Ok((run, scenario))
}

/// Those of the usual changes that the platform can undergo.
pub fn usual(
    setup: &SimulationSetup,
    context: &mut Context<'_>,
) -> Result<Vec<Vec<Change>>, Failure> {
    let loaded = setup.clone().read(vec!["static".to_string()], context)?.loaded;
    let changes = USUAL.iter().filter_map(|text| parse_changes(text).ok());
    Ok(changes.filter(|group| loaded.platform.changed(group).is_ok()).collect())
}
