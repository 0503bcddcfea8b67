//! Tables of a real run, and of its rehearsal, beyond those of a simulated one.

use crate::table::{Table, wrap};
use slackline_core::run::{FinishedRun, UpToDateReport, blocked, stderr};
use slackline_core::run::{RecordedFailure as Failure, RunDefinition as Definition};
use slackline_core::simulation::Ran;
use slackline_model::names::printable;
use slackline_model::trace::Work;
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_model::{Placement, Problem, TaskId};
use std::collections::BTreeMap;

/// Tasks that were done after failures that people are shown.
const SHOWN: usize = 10;

/// Exit code of shells that find no such program.
const NOT_FOUND: i32 = 127;

/// The work in a used folder: a line for each task, with the reason.
pub fn agenda(part: &Definition, most: usize, width: usize) -> String {
    let mut text = String::new();
    for change in &part.changes {
        text += &wrap(&printable(change), 0, width);
    }
    let longest = part.redo.iter().take(most).map(|redo| redo.task.chars().count()).max();
    let longest = longest.unwrap_or(0).min(40);
    for redo in part.redo.iter().take(most) {
        let (task, why) = (printable(&redo.task), printable(&redo.why));
        text += &format!("  {task:longest$}  {why}\n");
    }
    if part.redo.len() > most {
        text += &format!("  and {} more (--dry-run shows all)\n", part.redo.len() - most);
    }
    let count = |n: usize| if n == 1 { "1 task".to_string() } else { format!("{n} tasks") };
    let mut parts = vec![format!("{} to do", count(part.redo.len()))];
    if !part.perhaps.is_empty() {
        parts.push(format!("{} if their inputs change", part.perhaps.len()));
    }
    parts.push(format!("{} up to date", part.up_to_date));
    if !part.left_out.is_empty() {
        parts.push(format!("{} left out", part.left_out.len()));
    }
    if part.is_open {
        parts.push("more as decisions fall".to_string());
    }
    text + &wrap(&parts.join(", "), 0, width) + "\n"
}

/// The results that were kept in a used folder.
pub fn redone(finished: &FinishedRun) -> String {
    if finished.redo.is_empty() && finished.up_to_date == 0 {
        return String::new();
    }
    format!("\nDone again: {}, up to date: {}\n", finished.redo.len(), finished.up_to_date)
}

/// All that a rehearsal did, for people: which task ran where and when, what was moved.
pub fn whole_plan(problem: &Problem<'_>, ran: &Ran, width: usize) -> String {
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

/// The tasks of a run that failed, for people; empty where none did. Those that were not done in the end
/// are all named.
pub fn failures(problem: &Problem<'_>, finished: &FinishedRun, width: usize) -> String {
    let mut attempts: BTreeMap<TaskId, Vec<&Failure>> = BTreeMap::new();
    for failure in &finished.failures {
        attempts.entry(failure.task).or_default().push(failure);
    }
    let is_done = |task: TaskId| finished.ran.outcome.schedule.placement(task).is_some();
    let (later, failed): (Vec<_>, Vec<_>) =
        attempts.into_values().partition(|attempts| is_done(attempts[0].task));
    let mut text = String::new();
    let mut tell = |head: &str, tasks: &[Vec<&Failure>]| {
        if tasks.is_empty() {
            return;
        }
        let heads = [head, ">attempts", "<host", "<why", ">blocks"];
        let mut table = Table::new(&heads);
        for attempts in tasks {
            let Some(last) = attempts.last() else { continue };
            table.row([
                last.name.clone(),
                attempts.len().to_string(),
                problem.platform().host(last.host).name.to_string(),
                last.reason.clone(),
                blocked(problem.workflow(), last.task).to_string(),
            ]);
        }
        text += &format!("\n{}", table.render(width));
        for last in tasks.iter().filter_map(|attempts| attempts.last()).take(SHOWN) {
            let name = printable(&last.name);
            text += &match stderr(finished, last) {
                Some(path) => format!("  stderr of {name}: {}\n", path.display()),
                None => format!("  {name} wrote nothing to stderr\n"),
            };
        }
        if tasks.len() > SHOWN {
            text += "  'slackline log RUN --failed' shows what all of them said\n";
        }
    };
    tell("<failed task", &failed);
    tell("<done after failures", &later[..later.len().min(SHOWN)]);
    if later.len() > SHOWN {
        text += &format!("  and {} more\n", later.len() - SHOWN);
    }
    if failed.iter().filter_map(|attempts| attempts.last()).any(|last| last.exit == Some(NOT_FOUND))
    {
        let hint = "exit code 127: no such program. A task has a folder of its own; a script beside the workflow has to be \
                    among its inputs or workdir-files";
        text += &wrap(hint, 2, width);
    }
    let said = finished.failures.iter().rev();
    let mut said = said.filter(|failure| !is_done(failure.task) || failed.is_empty());
    if let Some(last) = said.find(|failure| !failure.last_lines.is_empty()) {
        let (name, attempt) = (printable(&last.name), last.attempt);
        text += &format!("\n  {name}, attempt {attempt}, said last:\n");
        for line in &last.last_lines {
            text += &wrap(&printable(line), 4, width);
        }
    }
    text
}

/// The line where there is nothing to do.
pub fn up_to_date(report: &UpToDateReport) -> String {
    let tasks = match report.up_to_date {
        1 => "the task is".to_string(),
        n => format!("all {n} tasks are"),
    };
    format!("Nothing to do: {tasks} up to date ({}).\n", report.folder)
}
