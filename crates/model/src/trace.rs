//! What happened, one record per event, in the same form for real and simulated runs.

use crate::ids::{FileId, HostId, LinkId, ProcId, TaskId};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// A task began to compute on some processors.
    TaskStarted {
        /// Which.
        task: TaskId,
        /// Where.
        procs: Vec<ProcId>,
    },
    /// A task ended.
    TaskFinished {
        /// Which.
        task: TaskId,
    },
    /// A task ended without result.
    TaskFailed {
        /// Which.
        task: TaskId,
        /// Why.
        reason: String,
    },
    /// A running task was stopped to run elsewhere.
    TaskCancelled {
        /// Which.
        task: TaskId,
    },
    /// A finished task has to be done again.
    TaskRewound {
        /// Which.
        task: TaskId,
    },
    /// A file, or a block of one that is spread over hosts, began to move.
    TransferStarted {
        /// Which.
        file: FileId,
        /// From where.
        from: HostId,
        /// To where.
        to: HostId,
        /// How much.
        bytes: f64,
    },
    /// It arrived.
    TransferFinished {
        /// Which.
        file: FileId,
        /// From where.
        from: HostId,
        /// To where.
        to: HostId,
    },
    /// A transfer broke off.
    TransferFailed {
        /// Which file.
        file: FileId,
        /// From where.
        from: HostId,
        /// To where.
        to: HostId,
        /// Why.
        reason: String,
    },
    /// The speed of a host changed to this share of its peak; 0 when it is gone.
    HostChanged {
        /// Which.
        host: HostId,
        /// Share of the peak.
        availability: f64,
    },
    /// The bandwidth of a link changed (bytes/s); 0 when it is gone.
    LinkChanged {
        /// Which.
        link: LinkId,
        /// Bytes per second.
        bandwidth: f64,
    },
    /// The policy made a new plan.
    Replanned {
        /// How many placed or running tasks it moves.
        moved: usize,
    },
}

/// A happening and its date.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Seconds since the start.
    pub at: f64,
    /// What.
    pub what: Happening,
}

/// The whole course of a run, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    records: Vec<Record>,
}

impl Trace {
    /// Appends what happened at a date; dates never go backwards.
    pub fn push(&mut self, at: f64, what: Happening) {
        debug_assert!(self.records.last().is_none_or(|last| last.at <= at));
        self.records.push(Record { at, what });
    }

    /// All records.
    pub fn records(&self) -> &[Record] {
        &self.records
    }
}
