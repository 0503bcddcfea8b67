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
    /// A process drives the run from here on.
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
    /// A task was done: its outputs have their names in a store.
    Made(Made),
    /// A task is done again, or for the first time in a folder that was used before.
    Redo {
        /// Its name.
        name: String,
        /// The reason, in words.
        why: String,
    },
    /// A task was not done again: what an earlier attempt made is what it would make.
    Reused {
        /// The task.
        task: TaskId,
        /// Its name.
        name: String,
    },
    /// Files that are about to be taken from the folder of results: they are not up to date, or no results.
    Withdrawn(Vec<String>),
    /// Files that were put into the folder of results.
    Shown(Vec<String>),
    /// Files that the run is about to delete from all its stores: they are not needed any more.
    Deleted(Vec<String>),
    /// The time of the batch job that made an attempt was over before the attempt.
    TooShort {
        /// The task.
        task: TaskId,
        /// Seconds that the attempt had run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ran: Option<f64>,
        /// Seconds that the next batch job for the task asks for at least.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asks: Option<f64>,
    },
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

/// A task that was done: what it was done with, and what it wrote.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// Its name.
    pub name: String,
    /// Name of the host in whose store its outputs lie.
    pub host: String,
    /// Digest of its command.
    pub command: String,
    /// Digest of its declared environment; empty where it declares none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub env: String,
    /// Names and contents of the files it read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<(String, String)>,
    /// Files that it wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<MadeFile>,
    /// Exit code of its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Its kind.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Seconds it would have taken at the reference speed of its workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Most memory that it had, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<u64>,
}

/// A file that a task wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeFile {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Its checksum; where it has none, a word that no other version of it has.
    pub content: String,
    /// Its time of modification: seconds since 1970, and nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<(i64, i64)>,
    /// Whether it was put into the folder of results.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shown: bool,
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
