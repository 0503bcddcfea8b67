//! `slackline simulate WORKFLOW`: a schedule or a policy executed on a simulated platform.

use super::{Outputs, curve, report, several, why};
use crate::input::told;
use crate::output::Output;
use crate::picture;
use slackline_analysis::load_series::LoadSeries;
use slackline_core::Failure;
use slackline_core::request::SimulationSetup;
use slackline_core::simulation::{self, Ran, own_name};
use slackline_engine::DecisionLog;
use slackline_io::FileAccess;
use slackline_model::{Problem, Schedule};
use slackline_view::gantt::{self, SvgOptions};
use slackline_view::{self as view, Chart, MarkKind};
use std::collections::BTreeSet;
use std::path::Path;

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

/// Fails where a run decided otherwise than a log says.
fn compare_decisions(files: &FileAccess, path: &Path, runs: &[Ran]) -> Result<(), Failure> {
    let [ran] = runs else {
        return Err(Failure::input("--same-decisions compares one run; several were asked for"));
    };
    let text = files.read_text(path)?;
    let log = DecisionLog::read(&mut text.as_bytes())
        .map_err(|why| Failure::input(format!("{}: {why}", path.display())))?;
    match ran.log.first_difference(&log) {
        None => Ok(()),
        Some((call, why)) => {
            let message =
                format!("decides otherwise than {} at call {call}: {why}", path.display());
            Err(Failure::work(message))
        }
    }
}

/// Adds what is held over time of the pools of some names.
pub(in crate::verbs) fn add_pools(
    chart: &mut Chart,
    problem: &Problem<'_>,
    schedule: &Schedule,
    names: &[String],
) -> Result<(), Failure> {
    for name in names {
        if !chart.add_pools(problem, schedule, name) {
            let pools = problem.pools().all();
            let known: BTreeSet<&str> = pools.iter().map(|pool| &*pool.name).collect();
            let known: Vec<&str> = known.into_iter().collect();
            let help = match known.as_slice() {
                [] => "no task demands anything that is limited here".to_string(),
                known => format!("there is {}", known.join(", ")),
            };
            let message = format!("--pool: tasks share no '{name}' here");
            return Err(Failure::input(message).with_help(help));
        }
    }
    Ok(())
}

/// Draws a run.
pub(in crate::verbs) fn draw(
    files: &FileAccess,
    problem: &Problem<'_>,
    ran: &Ran,
    path: &Path,
    pools: &[String],
) -> Result<(), Failure> {
    let mut chart = Chart::of_trace(problem, &ran.outcome.trace)
        .with_traced_transfers(problem, &ran.outcome.trace)
        .without_idle_hosts();
    chart.title = report::title(problem, &ran.name, ran.real);
    chart.facts = report::facts(problem, ran);
    if !ran.served.is_empty() {
        let course = |(name, course): (&str, _)| {
            let LoadSeries(steps) = course;
            view::StepSeries { name: name.to_string(), steps, ..view::StepSeries::default() }
        };
        chart.courses = several::courses(problem, ran).into_iter().map(course).collect();
    }
    add_pools(&mut chart, problem, &ran.outcome.schedule, pools)?;
    if ran.unfinished().is_some() {
        let ends = chart.marks.iter_mut().filter(|m| m.kind == MarkKind::End);
        ends.for_each(|mark| mark.label = "nothing moves any more".to_string());
    }
    let svg = gantt::svg(&chart, &SvgOptions::default());
    picture::write(files, path, &svg)
}
