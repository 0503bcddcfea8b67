//! State and log of a real run, also while it is under way: the JSON documents `slackline/status/1` and `slackline/log/1`.

use super::history::{AttemptHistory, AttemptState, RunHistory};
use crate::failure::Failure;
use crate::forecast::{Band, Pending, PendingTask};
use schemars::JsonSchema;
use serde::Serialize;
use slackline_model::nearest::did_you_mean;
use slackline_model::{HostId, TaskId};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Most lines of standard error in the log of one task.
const LINES: usize = 20;

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// A process drives it.
    Running,
    /// All its tasks are done.
    Finished,
    /// It is over, and some tasks are not done.
    Failed,
    /// No process drives it, and it is not over: it can be resumed.
    Stopped,
}

impl RunState {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Finished => "finished",
            RunState::Failed => "failed",
            RunState::Stopped => "stopped",
        }
    }
}

/// State of a run: the JSON document `slackline/status/1`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StatusReport {
    /// `slackline/status/1`.
    pub schema: &'static str,
    /// The folder of the run.
    pub folder: String,
    /// Name of the workflow.
    pub workflow: String,
    /// Name of the platform.
    pub platform: String,
    /// The policy that steers it.
    pub policy: String,
    /// The state.
    pub state: RunState,
    /// Why it is stalled, or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Tasks of the workflow, as far as they are known.
    pub tasks: usize,
    /// Tasks that are done.
    pub tasks_done: usize,
    /// Tasks with an attempt under way.
    pub tasks_running: usize,
    /// Tasks whose last attempt failed.
    pub tasks_failed: usize,
    /// Attempts that failed.
    pub attempts_failed: usize,
    /// When it began, seconds since 1970.
    pub began: f64,
    /// Seconds during which a process drove it.
    pub elapsed: f64,
    /// Seconds of the run at which it is expected to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_end: Option<Band>,
    /// The median of that, seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_end_at: Option<f64>,
    /// Attempts under way, those that are expected to run longest first.
    pub running: Vec<RunningTask>,
    /// Failed tasks.
    pub failures: Vec<FailedTask>,
    /// Hosts.
    pub hosts: Vec<HostStatus>,
    /// The process that drives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<DriverStatus>,
}

/// An attempt under way.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunningTask {
    /// The task.
    pub task: String,
    /// Number of the attempt.
    pub attempt: u32,
    /// Its host.
    pub host: String,
    /// Seconds that it has run.
    pub seconds: f64,
    /// Seconds that it is expected to take in all, by its estimate and its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<f64>,
    /// Whether it still waits, for example in a queue.
    pub is_waiting: bool,
}

/// A task whose last attempt failed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FailedTask {
    /// The task.
    pub task: String,
    /// Number of the attempt.
    pub attempt: u32,
    /// Its host.
    pub host: String,
    /// The exit code of its process, where there is one.
    pub exit: Option<i32>,
    /// Why it failed.
    pub reason: String,
    /// The last line that it wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_line: Option<String>,
}

/// A host of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostStatus {
    /// Its name.
    pub host: String,
    /// Its cores.
    pub cores: u32,
    /// Cores that attempts hold.
    pub busy: u32,
    /// Attempts that ended with their outputs.
    pub done: usize,
}

/// The process that drives a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DriverStatus {
    /// Its machine.
    pub host: String,
    /// Its number there.
    pub pid: u32,
}

impl RunHistory {
    /// The state of the run.
    pub fn state(&self) -> RunState {
        match self.over {
            Some((true, _)) => RunState::Finished,
            Some((false, _)) => RunState::Failed,
            None if self.is_driven() => RunState::Running,
            None => RunState::Stopped,
        }
    }

    /// The name of the workflow, else that of its file.
    fn name(&self) -> String {
        let source = self.header.source.as_deref().and_then(Path::file_stem);
        match (self.workflow.name(), source) {
            ("", Some(source)) => source.to_string_lossy().into_owned(),
            (name, _) => name.to_string(),
        }
    }

    /// The status at a moment, in seconds since 1970.
    pub fn status(&self, seconds_since_1970: f64) -> StatusReport {
        let now = self.now(seconds_since_1970);
        let state = self.state();
        let is_live = state == RunState::Running;
        let name = |host: HostId| self.platform.host(host).name.to_string();
        let expected = self.expected_seconds();
        let mut running = Vec::new();
        let mut failures = Vec::new();
        let mut hosts: Vec<HostStatus> = self
            .platform
            .hosts()
            .iter()
            .filter(|host| host.cores > 0)
            .map(|h| HostStatus { host: h.name.to_string(), cores: h.cores, busy: 0, done: 0 })
            .collect();
        let mut places = BTreeMap::new();
        hosts.iter().enumerate().for_each(|(at, host)| {
            places.insert(host.host.clone(), at);
        });
        let mut attempts_failed = 0;
        for (index, task) in self.tasks.iter().enumerate() {
            for attempt in &task.attempts {
                let host = name(attempt.host);
                if let Some(&at) = places.get(&host) {
                    hosts[at].busy +=
                        if attempt.is_open() { attempt.procs.len() as u32 } else { 0 };
                    hosts[at].done += usize::from(attempt.state == AttemptState::Done);
                }
                attempts_failed += usize::from(attempt.state == AttemptState::Failed);
            }
            let Some(last) = task.attempts.last() else { continue };
            if last.is_open() && is_live {
                running.push(RunningTask {
                    task: task.name.clone(),
                    attempt: last.number,
                    host: name(last.host),
                    seconds: last.seconds(now),
                    expected: expected.get(index).copied().filter(|s| *s > 0.0),
                    is_waiting: last.state == AttemptState::Waiting,
                });
            } else if last.state == AttemptState::Failed {
                failures.push(FailedTask {
                    task: task.name.clone(),
                    attempt: last.number,
                    host: name(last.host),
                    exit: last.exit,
                    reason: last.reason.clone().unwrap_or_default(),
                    last_line: last.last_lines.last().cloned(),
                });
            }
        }
        let left = |task: &RunningTask| task.expected.unwrap_or(0.0) - task.seconds;
        running.sort_by(|a, b| left(b).total_cmp(&left(a)).then_with(|| a.task.cmp(&b.task)));
        let end = if is_live { self.band(now) } else { None };
        let end = end.map(|b| Band { p10: now + b.p10, p50: now + b.p50, p90: now + b.p90 });
        let why = match state {
            RunState::Failed => Some(failed_because(&failures)),
            RunState::Stopped if self.stopped => Some("its user stopped it".to_string()),
            RunState::Stopped => Some("its engine is gone without ending it".to_string()),
            _ => None,
        };
        StatusReport {
            schema: "slackline/status/1",
            folder: self.path.display().to_string(),
            workflow: self.name(),
            platform: self.platform.name().to_string(),
            policy: self.header.policy.clone(),
            state,
            why,
            tasks: self.tasks.len() + self.up_to_date(),
            tasks_done: self.done() + self.up_to_date(),
            tasks_running: running.len(),
            tasks_failed: failures.len(),
            attempts_failed,
            began: self.header.began,
            elapsed: self.over.map_or(now, |(_, end)| end),
            expected_end_at: end.map(|end| self.clock(end.p50)),
            expected_end: end,
            running,
            failures,
            hosts,
            process: self
                .driver
                .as_ref()
                .map(|driver| DriverStatus { host: driver.host.clone(), pid: driver.pid }),
        }
    }

    /// Estimates of the seconds of tasks on the hosts of the platform, on average.
    fn estimates(&self) -> Vec<f64> {
        let speeds: Vec<f64> =
            self.platform.hosts().iter().filter(|h| h.cores > 0).map(|h| h.speed).collect();
        let slowness = speeds.iter().map(|s| 1.0 / s).sum::<f64>() / speeds.len().max(1) as f64;
        let table = self.workflow.cost_table();
        let seconds = |task: TaskId| match table {
            Some(table) => {
                let row = table.row(task);
                row.iter().sum::<f64>() / row.len().max(1) as f64
            }
            None => {
                let width = self.workflow.width(task).0;
                self.workflow.work(task) * slowness * self.workflow.speedup(task).factor(width)
            }
        };
        self.workflow.tasks().map(seconds).collect()
    }

    /// Ratios of real to estimated seconds by kind.
    fn ratios(&self, estimates: &[f64]) -> Vec<Vec<f64>> {
        let mut ratios = vec![Vec::new(); self.workflow.kinds()];
        if self.workflow.control().is_some() {
            return ratios;
        }
        for task in self.workflow.tasks() {
            // Where everything was up to date no task was one of the run.
            let done = self.tasks.get(task.index()).and_then(|task| task.attempts.last());
            let done = done.filter(|attempt| attempt.state == AttemptState::Done);
            if let Some(attempt) = done.filter(|_| estimates[task.index()] > 0.0) {
                let ratio = attempt.seconds(self.last) / estimates[task.index()];
                ratios[self.workflow.kind(task).index()].push(ratio);
            }
        }
        ratios
    }

    /// Seconds that each task is expected to take: its estimate, times the median ratio of its kind.
    fn expected_seconds(&self) -> Vec<f64> {
        let estimates = self.estimates();
        let mut ratios = self.ratios(&estimates);
        let median = |ratios: &mut Vec<f64>| {
            ratios.sort_by(f64::total_cmp);
            ratios.get(ratios.len() / 2).copied().unwrap_or(1.0)
        };
        let medians: Vec<f64> = ratios.iter_mut().map(median).collect();
        let of = |task: TaskId| estimates[task.index()] * medians[self.workflow.kind(task).index()];
        self.workflow.tasks().map(of).collect()
    }

    /// The band of the seconds that are left; none for workflows with choices and loops, whose rest is not known.
    pub fn band(&self, now: f64) -> Option<Band> {
        if self.workflow.control().is_some() {
            return None;
        }
        let estimates = self.estimates();
        let mut places = vec![usize::MAX; self.tasks.len()];
        let is_left = |task: &TaskId| self.tasks.get(task.index()).is_some_and(|t| !t.is_done());
        let left: Vec<TaskId> = self.workflow.tasks().filter(is_left).collect();
        left.iter().enumerate().for_each(|(at, task)| places[task.index()] = at);
        let pending = |&task: &TaskId| {
            let before = self.workflow.predecessors(task).map(|(t, _)| places[t.index()]);
            let last = self.tasks[task.index()].attempts.last().filter(|a| a.is_open());
            PendingTask {
                parents: before.filter(|&at| at != usize::MAX).collect(),
                seconds: estimates[task.index()],
                kind: self.workflow.kind(task).index(),
                cores: self.workflow.width(task).0,
                running: last.map(|attempt| (attempt.host.index(), attempt.seconds(now))),
            }
        };
        Pending {
            tasks: left.iter().map(pending).collect(),
            cores: self.cores(),
            ratios: self.ratios(&estimates),
        }
        .band(self.header.seed)
    }
}

/// The reason of a run that failed.
fn failed_because(failures: &[FailedTask]) -> String {
    match failures {
        [] => "not all of its tasks could be done".to_string(),
        [one] => format!("'{}' was given up: {}", one.task, one.reason),
        [first, rest @ ..] => {
            let tasks = if rest.len() == 1 { "task" } else { "tasks" };
            let (name, reason) = (&first.task, &first.reason);
            format!("'{name}' ({reason}) and {} other {tasks} were given up", rest.len())
        }
    }
}

/// The attempts of a run: the JSON document `slackline/log/1`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LogReport {
    /// `slackline/log/1`.
    pub schema: &'static str,
    /// The folder of the run.
    pub folder: String,
    /// State of the run.
    pub state: RunState,
    /// Attempts in the order in which they were asked for.
    pub attempts: Vec<AttemptReport>,
}

/// One attempt at a task.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AttemptReport {
    /// The task.
    pub task: String,
    /// Its kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Number of the attempt.
    pub attempt: u32,
    /// Its host.
    pub host: String,
    /// `waiting`, `running`, `done`, `failed`, `cancelled` or `interrupted`.
    pub state: &'static str,
    /// Exit code of its process.
    pub exit: Option<i32>,
    /// Why it failed, or was broken off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Date at which it was asked for, seconds of the run.
    pub begun: f64,
    /// Date at which its process began.
    pub started: Option<f64>,
    /// Date at which it ended.
    pub ended: Option<f64>,
    /// Seconds that it took, or has taken so far.
    pub seconds: f64,
    /// Cores that it held.
    pub cores: u32,
    /// Processor seconds.
    pub cpu_seconds: Option<f64>,
    /// Bytes of memory that it was granted.
    pub memory: Option<u64>,
    /// Most memory that it had, bytes.
    pub peak_memory: Option<u64>,
    /// Number of devices that it was granted.
    #[serde(skip_serializing_if = "is_zero")]
    pub devices: usize,
    /// Last lines of its standard error: of failed attempts, and of a task that was asked for by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub last_lines: Vec<String>,
    /// Path of its standard error, where it wrote anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<PathBuf>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A state in a word.
pub fn state_name(state: AttemptState) -> &'static str {
    match state {
        AttemptState::Waiting => "waiting",
        AttemptState::Running => "running",
        AttemptState::Done => "done",
        AttemptState::Failed => "failed",
        AttemptState::Cancelled => "cancelled",
        AttemptState::Interrupted => "interrupted",
    }
}

impl RunHistory {
    /// The attempts of all tasks, or of one.
    pub fn log(&self, task: Option<&str>, seconds_since_1970: f64) -> Result<LogReport, Failure> {
        let now = self.now(seconds_since_1970);
        if let Some(name) = task
            && !self.tasks.iter().any(|task| task.name == name)
        {
            let names = self.tasks.iter().map(|task| task.name.as_str());
            let near = did_you_mean(name, names);
            let message = format!("{}: there is no task '{name}'{near}", self.path.display());
            return Err(Failure::input(message));
        }
        let mut attempts: Vec<AttemptReport> = Vec::new();
        for one in self.tasks.iter().filter(|one| task.is_none_or(|name| one.name == name)) {
            for attempt in &one.attempts {
                let is_told = task.is_some() || attempt.state == AttemptState::Failed;
                attempts.push(AttemptReport {
                    kind: one.kind.clone(),
                    last_lines: if is_told {
                        self.last_lines(&one.name, attempt, LINES)
                    } else {
                        Vec::new()
                    },
                    stderr: is_told.then(|| self.stderr(&one.name, attempt.number)).flatten(),
                    ..self.attempt_report(&one.name, attempt, now)
                });
            }
        }
        attempts.sort_by(|a, b| a.begun.total_cmp(&b.begun));
        Ok(LogReport {
            schema: "slackline/log/1",
            folder: self.path.display().to_string(),
            state: self.state(),
            attempts,
        })
    }

    fn attempt_report(&self, task: &str, attempt: &AttemptHistory, now: f64) -> AttemptReport {
        AttemptReport {
            task: task.to_string(),
            kind: String::new(),
            attempt: attempt.number,
            host: self.platform.host(attempt.host).name.to_string(),
            state: state_name(attempt.state),
            exit: attempt.exit,
            reason: attempt.reason.clone(),
            begun: attempt.begun,
            started: attempt.started,
            ended: attempt.ended,
            seconds: attempt.seconds(now),
            cores: attempt.procs.len() as u32,
            cpu_seconds: attempt.cpu_seconds,
            memory: attempt.memory,
            peak_memory: attempt.peak_memory,
            devices: attempt.devices,
            last_lines: Vec::new(),
            stderr: None,
        }
    }
}
