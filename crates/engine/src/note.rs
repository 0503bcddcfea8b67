//! Notes: records of a journal that no question to a backend has as its answer, such as the process of an attempt.

use serde::{Deserialize, Serialize};
use slackline_model::{HostId, TaskId};

/// A process: its number is used again one day, the two together are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it was started, in ticks since the machine was.
    pub started: u64,
}

/// What is worth keeping besides what was asked, answered and decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// Somebody drives the run from here on.
    Driven {
        /// Which start of the machine it was.
        boot: String,
        /// When, seconds since 1970.
        since: f64,
    },
    /// An attempt at a task has become a process.
    Process {
        /// The task.
        task: TaskId,
        /// Its name.
        name: String,
        /// Where.
        host: HostId,
        /// Which attempt at the task.
        attempt: u32,
        /// The process.
        #[serde(flatten)]
        process: Process,
    },
    /// An attempt failed.
    Failure(Failure),
    /// The run was stopped by its user.
    Stopped,
    /// The run is over.
    Over {
        /// Whether all tasks are done.
        finished: bool,
        /// Seconds it took.
        makespan: f64,
    },
}

/// An attempt of which nothing came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The task.
    pub task: TaskId,
    /// Its name.
    pub name: String,
    /// Which attempt.
    pub attempt: u32,
    /// Where.
    pub host: HostId,
    /// What the process said in the end.
    pub exit: Option<i32>,
    /// Why, in words.
    pub reason: String,
    /// What it wrote last.
    pub last_lines: Vec<String>,
}

/// How a decision of a workflow with choices and loops fell in a real run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chose {
    /// Its name: `outer#2/quality`, `polish#1`.
    pub decision: String,
    /// What was read, as JSON; none where it was certain, or nothing could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<serde_json::Value>,
    /// The name of the outcome; none where the value stands for nothing, which ends the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// What is wrong, or worth a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
