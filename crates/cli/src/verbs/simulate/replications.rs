//! `slackline simulate` in many replications: their table.

use super::Outputs;
use crate::output::Output;
use crate::table::{Table, count, wrap};
use slackline_analysis::statistics::Estimate;
use slackline_core::Failure;
use slackline_core::request::SimulationSetup;
use slackline_core::simulation::ReplicationsReport;
use slackline_model::units::fmt_seconds;

pub(super) fn simulate(
    setup: &SimulationSetup,
    policies: &[String],
    outputs: &Outputs,
    output: &mut Output,
) -> Result<(), Failure> {
    let one_run = [
        ("--gantt", outputs.gantt.is_some()),
        ("--progress", outputs.progress.is_some()),
        ("--trace", outputs.trace.is_some()),
        ("--decisions", outputs.decisions.is_some()),
        ("--same-decisions", outputs.same_decisions.is_some()),
    ];
    if let Some((option, _)) = one_run.iter().find(|(_, given)| *given) {
        return Err(Failure::input(format!("{option} needs a single run"))
            .with_help("name one scenario, without --runs"));
    }
    let report = setup.replicate(policies, &mut output.context(false))?;
    if outputs.json {
        output.json(&report)?;
    } else {
        tell(&report, output)?;
    }
    report.verdict()
}

fn tell(report: &ReplicationsReport, output: &mut Output) -> Result<(), Failure> {
    let drawn = count(report.worlds.len(), "replication");
    let headline = format!("{} on {}, {drawn}", report.workflow, report.platform);
    output.say(&format!("{}\n\n", output.bold(&headline)))?;
    let first = report.policies.first().map_or("", |policy| policy.policy.as_str());
    let against = format!(">to {first}");
    let mut table =
        Table::new(&["<policy", ">finished", ">makespan", "=", ">least", ">most", &against]);
    for policy in &report.policies {
        let time = |t: Option<f64>| t.map_or("-".to_string(), fmt_seconds);
        let margin = |e: Estimate| e.margin.map(|m| format!("± {}", fmt_seconds(m)));
        let ratio = |e: Estimate| match e.margin {
            Some(margin) => format!("{:.2} ± {margin:.2}", e.value),
            None => format!("{:.2}", e.value),
        };
        table.row([
            policy.policy.to_string(),
            format!("{} of {}", policy.finished, report.worlds.len()),
            time(policy.makespan.map(|e| e.value)),
            policy.makespan.and_then(margin).unwrap_or_default(),
            time(policy.least),
            time(policy.most),
            policy.to_first.map_or("-".to_string(), ratio),
        ]);
    }
    output.say(&table.render(output.width))?;
    output.say(&format!("\n{}", wrap(EXPLANATION, 2, output.width)))?;
    let stuck = report.worlds.iter().flat_map(|w| w.runs.iter().map(move |run| (w, run)));
    if let Some((world, run)) = stuck.into_iter().find(|(_, run)| run.why.is_some()) {
        let why = run.why.as_deref().unwrap_or_default();
        let text = format!("{} cannot finish in {}: {why}", run.policy, world.scenario);
        output.say(&format!("\n{}", wrap(&text, 2, output.width)))?;
    }
    Ok(())
}

const EXPLANATION: &str = "Means over the worlds in which a policy finished, with 95 % intervals; \
the last column is its mean over that of the first policy, in worlds in which both finished.";
