//! `slackline simulate WORKFLOW`: a schedule or a policy executed on a simulated platform.

use super::Outputs;
use crate::output::Output;
use slackline_core::request::SimulationSetup;
use slackline_core::simulation::{compare_decisions, own_name};
use slackline_core::{Failure, simulation};
use slackline_report::past::told;
use slackline_report::picture;
use slackline_report::simulation::picture::draw;
use slackline_report::simulation::{curve, text as report, why};

pub(super) fn simulate(
    setup: SimulationSetup,
    policies: Vec<String>,
    outputs: &Outputs,
    output: &mut Output,
) -> Result<(), Failure> {
    let (has_scenario, explains) = (setup.scenario.is_some(), setup.explain);
    // Several are compared by their figures.
    let is_shown = !output.quiet && !outputs.json && policies.len() < 2;
    let kept = simulation::Outputs {
        trace: outputs.trace.clone(),
        decisions: outputs.decisions.is_some() || outputs.same_decisions.is_some(),
        work: is_shown || outputs.gantt.is_some() || outputs.progress.is_some(),
        report: outputs.json,
    };
    let brief = output.quiet && !outputs.json;
    let mut context = output.context(brief);
    let input = setup.read(policies, &mut context)?;
    let problem = input.problem()?;
    let mut simulated = input.simulate(&problem, &kept, &mut context)?;
    let mut written = Vec::new();
    let only = simulated.runs.len() == 1;
    for ran in &mut simulated.runs {
        let names = [&outputs.gantt, &outputs.trace, &outputs.decisions]
            .map(|p| p.as_ref().map(|p| own_name(p, &ran.name, only)));
        let [gantt, _, decisions] = &names;
        if let Some(file) = ran.trace.take() {
            file.commit()?;
        }
        if let Some(path) = gantt {
            draw(&output.files, &problem, ran, path, &outputs.pools)?;
        }
        if let Some(path) = decisions {
            output.files.write(path, |out| ran.log.write(out))?;
        }
        written.extend(names.into_iter().flatten());
    }
    simulated.delay(&input);
    let runs = simulated.runs.as_slice();
    if let Some(path) = &outputs.progress {
        let svg = curve::svg(&problem, runs);
        picture::write(&output.files, path, &svg)?;
        written.push(path.clone());
    }
    if let Some(path) = &outputs.same_decisions {
        compare_decisions(&output.files, path, runs)?;
    }
    if outputs.json {
        output.json(&simulated.report()?)?;
    } else if !output.quiet {
        match runs {
            [one] => report::one(&problem, one, output)?,
            several => report::compare(&problem, several, output)?,
        }
        for ran in runs.iter().filter(|_| explains) {
            output.say(&why::told(ran, output.width))?;
        }
        output.say(&told(input.loaded.past.as_ref(), output.width))?;
        if has_scenario {
            output.note("one scenario proves little: --scenario FOLDER or --runs N simulate many");
        }
        for path in written {
            output.say(&format!("\nWritten: {}", path.display()))?;
        }
        let named = [&outputs.gantt, &outputs.trace, &outputs.decisions, &outputs.progress];
        output.say(if named.iter().any(|n| n.is_some()) { "\n" } else { "" })?;
    }
    simulated.verdict()
}
