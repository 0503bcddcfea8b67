//! What programs and people read of a real run beyond what a simulated one tells.

use super::steering::Finished;
use crate::table::{Table, wrap};
use crate::verbs::simulate::document::Document;
use serde::Serialize;
use slackline_execute::folder::Failure;
use slackline_model::names::printable;
use slackline_model::{Problem, TaskId, Workflow};
use std::path::Path;

/// Failures that people are shown.
const SHOWN: usize = 10;

/// The JSON document of a real run.
#[derive(Serialize)]
pub(super) struct Execution<'a> {
    #[serde(flatten)]
    run: Document<'a>,
    folder: String,
    attempts: usize,
    failures: Vec<Broken<'a>>,
}

/// An attempt of which nothing came.
#[derive(Serialize)]
struct Broken<'a> {
    task: &'a str,
    attempt: u32,
    host: &'a str,
    exit: Option<i32>,
    reason: &'a str,
    last_lines: &'a [String],
    /// How many tasks wait for this one.
    blocks: usize,
}

impl<'a> Execution<'a> {
    pub(super) fn new(
        problem: &'a Problem<'_>,
        run: Document<'a>,
        path: &Path,
        finished: &'a Finished,
    ) -> Execution<'a> {
        let broken = |failure: &'a Failure| Broken {
            task: &failure.name,
            attempt: failure.attempt,
            host: &problem.platform().host(failure.host).name,
            exit: failure.exit,
            reason: &failure.reason,
            last_lines: &failure.last_lines,
            blocks: descendants(problem.workflow(), failure.task),
        };
        Execution {
            run: run.of_execution(),
            folder: path.display().to_string(),
            attempts: finished.attempts,
            failures: finished.failures.iter().map(broken).collect(),
        }
    }
}

/// How many tasks depend on one.
fn descendants(workflow: &Workflow, task: TaskId) -> usize {
    let mut seen = vec![false; workflow.len()];
    let mut open = vec![task];
    let mut count = 0;
    while let Some(next) = open.pop() {
        for (child, _) in workflow.successors(next) {
            if !std::mem::replace(&mut seen[child.index()], true) {
                count += 1;
                open.push(child);
            }
        }
    }
    count
}

/// The failures of a run, for people; empty where there were none.
pub(super) fn failures(problem: &Problem<'_>, finished: &Finished, width: usize) -> String {
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
            descendants(problem.workflow(), failure.task).to_string(),
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
