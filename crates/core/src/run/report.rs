//! The report of a real run: the JSON document `slackline/execution/1`.

use super::run_session::FinishedRun;
use crate::simulation::SimulationReport;
use schemars::JsonSchema;
use serde::Serialize;
use slackline_machines::folder::Failure;
use slackline_machines::up_to_date::Redo;
use slackline_model::{HostId, KindId, Problem, TaskId, Workflow};
use slackline_react::{Figure, LearnedFigures};
use std::path::{Path, PathBuf};

/// The JSON document of a real run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunReport {
    /// Members shared with simulated runs.
    #[serde(flatten)]
    pub run: SimulationReport,
    /// The folder of the run.
    pub folder: String,
    /// Attempts made at tasks.
    pub attempts: usize,
    /// Those that failed.
    pub failures: Vec<FailedAttempt>,
    /// Tasks that were begun in a folder that was used before, and why; left out of the first run in a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redo: Option<Vec<RedoneTask>>,
    /// Number of tasks that were up to date.
    pub up_to_date: usize,
    /// Factors, levels and bandwidths learned from the run.
    pub learnt: Learnt,
}

/// A task that is done again, or for the first time in a folder that was used before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RedoneTask {
    /// The task.
    pub task: String,
    /// The reason: `command changed`, `env changed`, `input NAME changed`, `output NAME missing`, `forced`, …
    pub why: String,
}

impl From<&Redo> for RedoneTask {
    fn from(redo: &Redo) -> RedoneTask {
        RedoneTask { task: redo.task.clone(), why: redo.why.clone() }
    }
}

/// The report of a rehearsal: the members of a simulated run, and what would be done.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RehearsalReport {
    /// Members shared with simulated runs.
    #[serde(flatten)]
    pub run: SimulationReport,
    /// Tasks that would be done, and why.
    pub redo: Vec<RedoneTask>,
    /// Tasks that would be done if the files they read come out otherwise than they were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub if_inputs_change: Vec<String>,
    /// The older name of `if_inputs_change`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub perhaps: Vec<String>,
    /// Number of tasks that are up to date.
    pub up_to_date: usize,
}

/// The report of a run that has nothing to do: the JSON document `slackline/up-to-date/1`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UpToDateReport {
    /// `slackline/up-to-date/1`.
    pub schema: &'static str,
    /// Whether all tasks that are wanted are done: they are.
    pub finished: bool,
    /// The folder of the run.
    pub folder: String,
    /// Attempts made at tasks: none.
    pub attempts: usize,
    /// Tasks that were done again: none.
    pub redo: Vec<RedoneTask>,
    /// Number of tasks that are up to date.
    pub up_to_date: usize,
}

/// Factors, levels and bandwidths learned from a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Learnt {
    /// Real over estimated seconds of each kind of task.
    pub kinds: Vec<KindFactor>,
    /// Levels of hosts.
    pub hosts: Vec<HostLevel>,
    /// Bandwidths of connections.
    pub connections: Vec<ConnectionBandwidth>,
}

/// Real over estimated seconds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KindFactor {
    /// The kind.
    pub kind: String,
    /// The factor.
    #[serde(flatten)]
    pub factor: Figure,
}

/// Speed as a share of the stated one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostLevel {
    /// The host.
    pub host: String,
    /// The level.
    #[serde(flatten)]
    pub level: Figure,
}

/// Bytes per second between two places.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ConnectionBandwidth {
    /// Host that transfers leave.
    pub from: String,
    /// Host that transfers reach.
    pub to: String,
    /// The bandwidth.
    #[serde(flatten)]
    pub bandwidth: Figure,
}

impl Learnt {
    fn of(problem: &Problem<'_>, taught: &LearnedFigures) -> Learnt {
        let host = |id: HostId| problem.platform().host(id).name.to_string();
        let kind = |id: KindId| problem.workflow().kind_name(id).to_string();
        let (kinds, hosts, ways) = (&taught.kinds, &taught.hosts, &taught.connections);
        Learnt {
            kinds: kinds.iter().map(|(&k, &factor)| KindFactor { kind: kind(k), factor }).collect(),
            hosts: hosts.iter().map(|(&h, &level)| HostLevel { host: host(h), level }).collect(),
            connections: ways
                .iter()
                .map(|(&(a, b), &bandwidth)| ConnectionBandwidth {
                    from: host(a),
                    to: host(b),
                    bandwidth,
                })
                .collect(),
        }
    }
}

/// An attempt of which nothing came.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FailedAttempt {
    /// The task.
    pub task: String,
    /// Number of the attempt at the task.
    pub attempt: u32,
    /// The host.
    pub host: String,
    /// The exit code of its process, where there is one.
    pub exit: Option<i32>,
    /// Reason of the failure.
    pub reason: String,
    /// Last lines that it wrote.
    pub last_lines: Vec<String>,
    /// Number of tasks that depend on this one.
    pub blocks: usize,
    /// Path of what it wrote to its standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
}

impl RunReport {
    pub(crate) fn new(
        problem: &Problem<'_>,
        run: SimulationReport,
        path: &Path,
        finished: &FinishedRun,
    ) -> RunReport {
        let is_again = !finished.redo.is_empty() || finished.up_to_date > 0;
        let failed = |failure: &Failure| FailedAttempt {
            task: failure.name.clone(),
            attempt: failure.attempt,
            host: problem.platform().host(failure.host).name.to_string(),
            exit: failure.exit,
            reason: failure.reason.clone(),
            last_lines: failure.last_lines.clone(),
            blocks: blocked(problem.workflow(), failure.task),
            stderr: stderr(finished, failure).map(|path| path.display().to_string()),
        };
        RunReport {
            run: run.of_execution(),
            folder: path.display().to_string(),
            attempts: finished.attempts,
            failures: finished.failures.iter().map(failed).collect(),
            redo: is_again.then(|| finished.redo.iter().map(RedoneTask::from).collect()),
            up_to_date: finished.up_to_date,
            learnt: Learnt::of(problem, &finished.ran.outcome.taught),
        }
    }
}

/// Counts the direct and indirect successors of a task.
pub fn blocked(workflow: &Workflow, by: TaskId) -> usize {
    workflow.descendants(&[by], |_| true).into_iter().filter(|after| *after).count()
}

/// Path of what an attempt wrote to its standard error, where it wrote anything.
pub fn stderr(finished: &FinishedRun, failure: &Failure) -> Option<PathBuf> {
    let path = finished.folder.captured(&failure.name, failure.attempt).join("stderr");
    path.is_file().then_some(path)
}
