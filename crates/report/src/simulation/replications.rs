//! Simulated runs in many replications.

use crate::Printer;
use crate::table::{Table, count, wrap};
use slackline_analysis::statistics::Estimate;
use slackline_core::Failure;
use slackline_core::simulation::ReplicationsReport;
use slackline_model::units::fmt_seconds;

/// Prints a table of policies over replications.
pub fn tell(report: &ReplicationsReport, output: &mut dyn Printer) -> Result<(), Failure> {
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
    output.say(&table.render(output.style().width))?;
    output.say(&format!("\n{}", wrap(EXPLANATION, 2, output.style().width)))?;
    let stuck = report.worlds.iter().flat_map(|w| w.runs.iter().map(move |run| (w, run)));
    if let Some((world, run)) = stuck.into_iter().find(|(_, run)| run.why.is_some()) {
        let why = run.why.as_deref().unwrap_or_default();
        let text = format!("{} cannot finish in {}: {why}", run.policy, world.scenario);
        output.say(&format!("\n{}", wrap(&text, 2, output.style().width)))?;
    }
    Ok(())
}

const EXPLANATION: &str = "Means over the replications in which a policy finished, with 95 % intervals; \
the last column is its mean over that of the first policy, where both finished.";
