//! Pictures of simulated and real runs.

use super::{several, text};
use crate::picture;
use slackline_analysis::load_series::LoadSeries;
use slackline_core::Failure;
use slackline_core::simulation::Ran;
use slackline_io::FileAccess;
use slackline_model::{Problem, Schedule};
use slackline_view::gantt::SvgOptions;
use slackline_view::{self as view, Chart, MarkKind, gantt};
use std::collections::BTreeSet;
use std::path::Path;

/// Adds what is held over time of the pools of some names.
pub fn add_pools(
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
pub fn draw(
    files: &FileAccess,
    problem: &Problem<'_>,
    ran: &Ran,
    path: &Path,
    pools: &[String],
) -> Result<(), Failure> {
    let mut chart = Chart::of_trace(problem, &ran.outcome.trace)
        .with_traced_transfers(problem, &ran.outcome.trace)
        .without_idle_hosts();
    chart.title = text::title(problem, &ran.name, ran.real);
    chart.facts = text::facts(problem, ran);
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
