//! What programs and people read of a real run beyond what a simulated one tells.

use super::steering::Finished;
use crate::table::{Table, wrap};
use crate::verbs::simulate::document::Document;
use crate::verbs::simulate::workflow::Ran;
use serde::Serialize;
use slackline_machines::folder::Failure;
use slackline_model::names::printable;
use slackline_model::trace::Work;
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_model::{HostId, KindId, Placement, Problem, TaskId, Workflow};
use slackline_react::{Figure, Taught};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Tasks that were done after failures that people are shown.
const SHOWN: usize = 10;

/// The JSON document of a real run.
#[derive(Serialize)]
pub(super) struct Execution<'a> {
    #[serde(flatten)]
    run: Document<'a>,
    folder: String,
    attempts: usize,
    failures: Vec<Broken<'a>>,
    learnt: Learnt<'a>,
}

/// What the run taught while it went on.
#[derive(Serialize)]
struct Learnt<'a> {
    kinds: Vec<OfKind<'a>>,
    hosts: Vec<OfHost<'a>>,
    connections: Vec<OfWay<'a>>,
}

/// Real over estimated seconds.
#[derive(Serialize)]
struct OfKind<'a> {
    kind: &'a str,
    #[serde(flatten)]
    factor: Figure,
}

/// Speed as a share of the stated one.
#[derive(Serialize)]
struct OfHost<'a> {
    host: &'a str,
    #[serde(flatten)]
    level: Figure,
}

/// Bytes per second between two places.
#[derive(Serialize)]
struct OfWay<'a> {
    from: &'a str,
    to: &'a str,
    #[serde(flatten)]
    bandwidth: Figure,
}

impl<'a> Learnt<'a> {
    fn of(problem: &'a Problem<'_>, taught: &Taught) -> Learnt<'a> {
        let host = |id: HostId| problem.platform().host(id).name.as_ref();
        let kind = |id: KindId| problem.workflow().kind_name(id);
        let (kinds, hosts, ways) = (&taught.kinds, &taught.hosts, &taught.connections);
        Learnt {
            kinds: kinds.iter().map(|(&k, &factor)| OfKind { kind: kind(k), factor }).collect(),
            hosts: hosts.iter().map(|(&h, &level)| OfHost { host: host(h), level }).collect(),
            connections: ways
                .iter()
                .map(|(&(a, b), &bandwidth)| OfWay { from: host(a), to: host(b), bandwidth })
                .collect(),
        }
    }
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
    /// Path of what it wrote to its standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<String>,
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
            blocks: blocked(problem.workflow(), failure.task),
            stderr: stderr(finished, failure).map(|path| path.display().to_string()),
        };
        Execution {
            run: run.of_execution(),
            folder: path.display().to_string(),
            attempts: finished.attempts,
            failures: finished.failures.iter().map(broken).collect(),
            learnt: Learnt::of(problem, &finished.ran.outcome.taught),
        }
    }
}

/// How many tasks depend on one.
fn blocked(workflow: &Workflow, by: TaskId) -> usize {
    workflow.descendants(&[by], |_| true).into_iter().filter(|after| *after).count()
}

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

/// The tasks of a run that failed, for people; empty where none did. Those that were not done in the end
/// are all named.
pub(super) fn failures(problem: &Problem<'_>, finished: &Finished, width: usize) -> String {
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
        for last in tasks.iter().filter_map(|attempts| attempts.last()) {
            let name = printable(&last.name);
            text += &match stderr(finished, last) {
                Some(path) => format!("  stderr of {name}: {}\n", path.display()),
                None => format!("  {name} wrote nothing to stderr\n"),
            };
        }
    };
    tell("<failed task", &failed);
    tell("<done after failures", &later[..later.len().min(SHOWN)]);
    if later.len() > SHOWN {
        text += &format!("  and {} more\n", later.len() - SHOWN);
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

/// Path of what an attempt wrote to its standard error, where it wrote anything.
fn stderr(finished: &Finished, failure: &Failure) -> Option<PathBuf> {
    let path = finished.folder.captured(&failure.name, failure.attempt).join("stderr");
    path.is_file().then_some(path)
}
