//! Number of finished tasks over time.

use super::text;
use slackline_core::simulation::Ran;
use slackline_model::Problem;
use slackline_model::trace::Happening;
use slackline_model::units::fmt_seconds;
use slackline_view::progress::{self, Curve, Progress};

/// Fewer tasks need no course.
const FEW: usize = 8;

/// Dates and how many tasks were done then; fewer again where results were lost.
fn steps(ran: &Ran) -> Vec<(f64, usize)> {
    let mut steps: Vec<(f64, usize)> = Vec::new();
    let mut done = 0usize;
    for record in ran.outcome.trace.records() {
        match record.what {
            Happening::TaskFinished { .. } | Happening::TaskRestored { .. } => done += 1,
            Happening::TaskRewound { .. } => done = done.saturating_sub(1),
            _ => continue,
        }
        match steps.last_mut() {
            Some(last) if last.0 == record.at => last.1 = done,
            _ => steps.push((record.at, done)),
        }
    }
    steps
}

/// One curve per run.
pub fn svg(problem: &Problem<'_>, runs: &[Ran]) -> String {
    let curve =
        |ran: &Ran| Curve { name: ran.name.clone(), steps: steps(ran), end: ran.outcome.makespan };
    let title = match runs {
        [one] => text::title(problem, &one.name, false),
        _ => text::title(problem, "several policies", false),
    };
    let facts = match runs {
        [one] => text::facts(problem, one),
        _ => Vec::new(),
    };
    let (curves, tasks) = (runs.iter().map(curve).collect(), problem.tasks());
    progress::svg(&Progress { title, facts, curves, tasks })
}

/// When a quarter, half and three quarters of many tasks were done.
pub fn quarters(problem: &Problem<'_>, ran: &Ran) -> Option<String> {
    let tasks = problem.tasks();
    if tasks < FEW {
        return None;
    }
    let steps = steps(ran);
    let when = |quarters: usize| {
        let wanted = (tasks * quarters).div_ceil(4);
        let at = steps.iter().find(|(_, done)| *done >= wanted)?.0;
        Some(format!("{} % at {}", 25 * quarters, fmt_seconds(at)))
    };
    let parts: Vec<String> = (1..=3).filter_map(when).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
