//! The origin of the work of tasks, and the run it was recorded in.

use crate::table::{count, wrap};
use slackline_core::input::Past;
use slackline_formats::Times;
use slackline_formats::document::Run;
use slackline_model::units::fmt_seconds;

/// A sentence or two for people; empty where there is nothing to say.
fn tell(past: &Past, width: usize) -> String {
    if past.times == Times::Work {
        return String::new();
    }
    let hint = match past.times {
        Times::Assumed { .. } => " (--reference-speed sets it)",
        _ => "",
    };
    wrap(&format!("Work: {}{hint}.{}", past.times, tell_run(past)), 0, width)
}

/// The same of a world that may have none.
pub fn told(past: Option<&Past>, width: usize) -> String {
    past.map_or(String::new(), |past| tell(past, width))
}

fn tell_run(past: &Past) -> String {
    let Some(run) = &past.run else { return String::new() };
    let Some(seconds) = run.makespan_seconds else { return String::new() };
    format!(" The recorded run took {}{}.", fmt_seconds(seconds), machines(run))
}

/// On what a run was recorded, as the end of a sentence.
pub fn machines(run: &Run) -> String {
    let cores: f64 = run.machines.iter().filter_map(|m| m.cores).sum();
    match run.machines.len() {
        0 => String::new(),
        n if cores > 0.0 => {
            format!(" on {} with {}", count(n, "machine"), count(cores as usize, "core"))
        }
        n => format!(" on {}", count(n, "machine")),
    }
}
