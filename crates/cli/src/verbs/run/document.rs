//! Tables of a real run, and of its rehearsal, beyond those of a simulated one.

use crate::table::{Table, wrap};
use slackline_core::run::{FinishedRun, blocked};
use slackline_core::simulation::Ran;
use slackline_model::names::printable;
use slackline_model::trace::Work;
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_model::{Placement, Problem, TaskId};

/// Failures that people are shown.
const SHOWN: usize = 10;

/// All that a rehearsal did, for people: which task ran where and when, what was moved.
pub(super) fn whole_plan(problem: &Problem<'_>, ran: &Ran, width: usize) -> String {
    let (workflow, platform) = (problem.workflow(), problem.platform());
    let mut placed: Vec<(&Placement, TaskId)> = workflow
        .tasks()
        .filter_map(|task| Some((ran.outcome.schedule.placement(task)?, task)))
        .collect();
    placed.sort_by(|a, b| a.0.start.total_cmp(&b.0.start).then(a.1.cmp(&b.1)));
    let mut table = Table::new(&["<task", "<runs on", ">from", ">to"]);
    for (placement, task) in placed {
        let procs: Vec<String> = placement.procs().iter().map(|p| problem.proc_name(*p)).collect();
        table.row([
            workflow.task_name(task).to_string(),
            procs.join(" "),
            fmt_seconds(placement.start),
            fmt_seconds(placement.finish),
        ]);
    }
    let mut text = format!("\n{}", table.render(width));
    let spans = ran.outcome.trace.spans();
    let mut table = Table::new(&["<file", ">size", "<moves from", "<to", ">from", ">to"]);
    let mut any = false;
    for span in &spans {
        let Work::Transfer { file, from, to, bytes } = span.work else { continue };
        any = true;
        table.row([
            workflow.file_label(file),
            fmt_bytes(bytes),
            platform.host(from).name.to_string(),
            platform.host(to).name.to_string(),
            fmt_seconds(span.start),
            fmt_seconds(span.finish),
        ]);
    }
    if any {
        text.push_str(&format!("\n{}", table.render(width)));
    }
    text
}

/// The failures of a run, for people; empty where there were none.
pub(super) fn failures(problem: &Problem<'_>, finished: &FinishedRun, width: usize) -> String {
    let failures = &finished.failures;
    if failures.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["<failed task", ">attempt", "<host", "<why", ">blocks"]);
    for failure in failures.iter().take(SHOWN) {
        table.row([
            failure.name.clone(),
            failure.attempt.to_string(),
            problem.platform().host(failure.host).name.to_string(),
            failure.reason.clone(),
            blocked(problem.workflow(), failure.task).to_string(),
        ]);
    }
    let mut text = format!("\n{}", table.render(width));
    if let Some(last) = failures.last().filter(|f| !f.last_lines.is_empty()) {
        let (name, attempt) = (printable(&last.name), last.attempt);
        text += &format!("\n  {name}, attempt {attempt}, said last:\n");
        for line in &last.last_lines {
            text += &wrap(&printable(line), 4, width);
        }
    }
    text
}
