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

/// Notes kept beside requests, answers and decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// Somebody drives the run from here on.
    Driven {
        /// Boot identifier of the machine.
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
        /// Host of the attempt.
        host: HostId,
        /// Number of the attempt at the task.
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
    /// Number of the attempt.
    pub attempt: u32,
    /// Host of the attempt.
    pub host: HostId,
    /// Exit code of the process.
    pub exit: Option<i32>,
    /// Reason of the failure.
    pub reason: String,
    /// Last lines of its output.
    pub last_lines: Vec<String>,
}

/// A decision of a workflow with choices and loops in a real run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chose {
    /// Its name: `outer#2/quality`, `polish#1`.
    pub decision: String,
    /// Value read, as JSON; none where the decision was certain, or nothing could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<serde_json::Value>,
    /// The name of the outcome; none where the value stands for nothing, which ends the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Error or warning about the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
