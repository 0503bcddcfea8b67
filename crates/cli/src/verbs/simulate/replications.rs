//! `slackline simulate` in many replications: their table.

use super::Outputs;
use crate::output::Output;
use slackline_core::Failure;
use slackline_core::request::SimulationSetup;
use slackline_report::simulation::replications::tell;

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
