//! The service stack of a production centre: a workflow engine, a central queue from which pilots
//! pull jobs, a catalogue of replicas, transfer queues of storages, and the network below them.
//!
//! A [`Case`] describes the stack and a workflow, [`run`] simulates it. With the record of a run, each component can be
//! injected from the record or left free ([`Switches`]); [`attribute`] measures the error of each model that way.

mod attribute;
mod case;
mod engine;
mod plan;
mod recorded;
mod sites;
mod switches;
mod transport;
mod validity;
mod work;

pub use attribute::{Attributed, Attribution, attribute, attribute_one};
pub use case::{
    BatchSite, Case, CaseError, FileSpec, LinkSpec, Model, Pilot, PlatformModel, SiteSpec,
    StorageSpec, Task, Work,
};
pub use engine::{Outcome, StackError, Variation, is_robust, run, run_varied};
pub use plan::RunRecord;
pub use recorded::{RecordedHost, RecordedTask, case_of_run};
pub use switches::{Component, Switches, UnknownSwitch};
pub use validity::{Origin, Validity};
pub use work::work_of;

use serde::{Deserialize, Serialize};

/// The end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttemptResult {
    /// All its steps have ended.
    Done,
    /// Its pilot died, reached its walltime, or a storage was full.
    Lost,
}

/// The end of a pilot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PilotEnd {
    /// It had no job for the idle timeout.
    Idle,
    /// Killed by a failure.
    Died,
    /// Killed by the batch system at its limit.
    Walltime,
    /// Larger than the machine of its site; it never started.
    Refused,
}

/// One attempt at a task: dates in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attempt {
    /// Entry into the queue.
    pub queued: f64,
    /// The pilot that took it, by position in the case.
    pub pilot: Option<usize>,
    /// Date at which a pilot took it.
    pub start: f64,
    /// Date of its end.
    pub end: f64,
    /// Its end; none for an attempt without a pilot, or one that still ran when the run stalled.
    pub result: Option<AttemptResult>,
    /// Seconds of each finished step: inputs, computation, outputs.
    pub steps: Vec<f64>,
}

/// The life of a pilot: dates in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PilotLife {
    /// Submission.
    pub submit: f64,
    /// Start; none if it never started.
    pub start: Option<f64>,
    /// End; none if it still ran at the end of the simulation.
    pub exit: Option<f64>,
    /// Reason for its end.
    pub why: Option<PilotEnd>,
}
