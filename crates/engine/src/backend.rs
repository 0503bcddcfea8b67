//! Interface between the engine and a place where work is done.
//!
//! A backend may be slow to answer and may lose what it was given: an operation that was accepted
//! may run only later, a cancellation is a request, and everything it tells carries the date at
//! which it happened. What it is asked again after a restart it must not do twice.

use crate::load::Load;
use serde::{Deserialize, Serialize};
use slackline_model::platform::Charges;
use slackline_model::problem::{Block, Stay, View};
use slackline_model::units::fmt_bytes;
use slackline_model::{FileId, HostId, LinkId, ProcId, Procs, TaskId, Workflow};
use std::sync::Arc;
use thiserror::Error;

/// An operation; the engine chooses the numbers and never uses one twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OpId(pub u64);

/// A task to compute.
#[derive(Clone, Copy, Debug)]
pub struct Computation<'a> {
    /// Task to compute.
    pub task: TaskId,
    /// On which processors.
    pub procs: &'a [ProcId],
    /// Bytes of memory that it is granted; none where it demands none.
    pub memory: Option<u64>,
    /// Ids of the devices that it is granted on its host.
    pub devices: &'a [u32],
    /// Files read from the central storage before the computation, one after the other, with estimated bytes; empty
    /// where files travel between hosts.
    pub reads: &'a [(FileId, f64)],
    /// Files written to the central storage after the computation, while the processors already serve others.
    pub writes: &'a [(FileId, f64)],
}

/// A file to move: all the blocks that have to cross the network, together.
#[derive(Clone, Copy, Debug)]
pub struct Movement<'a> {
    /// File to transfer.
    pub file: FileId,
    /// From where to where, and how much, as estimated.
    pub blocks: &'a [Block],
    /// Since when it counts as under way: now, or earlier where transfers are anticipated.
    pub since: f64,
}

/// A machine to order: one that exists only while leased.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// Host to start.
    pub host: HostId,
    /// Until when it is expected to be needed, where known. It is kept beyond until it is
    /// given back.
    pub until: Option<f64>,
}

/// The work of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// A task computes.
    Compute {
        /// Task to compute.
        task: TaskId,
        /// Processors it uses.
        procs: Procs,
        /// Bytes of memory that it is granted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory: Option<u64>,
        /// Devices that it is granted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        devices: Vec<u32>,
        /// Files read from the central storage.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reads: Vec<(FileId, f64)>,
        /// Files written to the central storage.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        writes: Vec<(FileId, f64)>,
    },
    /// A file moves.
    Move {
        /// File to transfer.
        file: FileId,
        /// Its blocks.
        blocks: Vec<Block>,
        /// Since when.
        since: f64,
    },
    /// A machine is rented.
    Lease {
        /// Host to start.
        host: HostId,
        /// Until when it is expected to be needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<f64>,
    },
}

impl Work {
    /// Whether a recorded work is this one; logs from before grants were recorded have none.
    pub(crate) fn is_recorded_as(&self, recorded: &Work) -> bool {
        match (self, recorded) {
            (
                Work::Compute { task, procs, reads, writes, .. },
                Work::Compute { task: t, procs: p, memory: None, devices, reads: r, writes: w },
            ) if devices.is_empty() => (task, procs, reads, writes) == (t, p, r, w),
            _ => self == recorded,
        }
    }

    /// Asks a backend for it.
    pub fn begin(&self, op: OpId, backend: &mut dyn Backend) -> Result<Accepted, OpError> {
        match self {
            Work::Compute { task, procs, memory, devices, reads, writes } => {
                let (task, memory) = (*task, *memory);
                backend.compute(op, Computation { task, procs, memory, devices, reads, writes })
            }
            Work::Move { file, blocks, since } => {
                backend.transfer(op, Movement { file: *file, blocks, since: *since })
            }
            Work::Lease { host, until } => backend.lease(op, Order { host: *host, until: *until }),
        }
    }
}

impl From<Computation<'_>> for Work {
    fn from(work: Computation<'_>) -> Work {
        let Computation { task, procs, memory, devices, reads, writes } = work;
        let (procs, devices) = (procs.into(), devices.into());
        Work::Compute { task, procs, memory, devices, reads: reads.into(), writes: writes.into() }
    }
}

impl From<Movement<'_>> for Work {
    fn from(movement: Movement<'_>) -> Work {
        let Movement { file, blocks, since } = movement;
        Work::Move { file, blocks: blocks.into(), since }
    }
}

impl From<Order> for Work {
    fn from(order: Order) -> Work {
        Work::Lease { host: order.host, until: order.until }
    }
}

/// An operation that has not ended, as far as is known. A lease is one from its order to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    /// Identifier of the operation.
    pub op: OpId,
    /// Its work.
    pub work: Work,
    /// It was asked to stop, or the machine given back.
    pub cancelling: bool,
}

/// Answer of a backend that takes an operation on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accepted {
    /// It runs.
    Running,
    /// It waits where the engine cannot see; [`SignalKind::Running`] follows.
    Waiting,
}

/// Reason why an operation does not take place, or broke off.
#[derive(Clone, Debug, Error, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpError {
    /// It cannot be done there, however often it is tried.
    #[error("{0}")]
    Refused(String),
    /// It may succeed when it is tried again.
    #[error("{0}")]
    Transient(String),
    /// A task ran out of memory: it may succeed with more.
    #[error("{}", out_of_memory(*grant, *peak))]
    Memory {
        /// Bytes it was granted.
        grant: u64,
        /// Most that it was seen to use, where that was measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peak: Option<u64>,
    },
    /// It would not be over before what it uses goes away; nothing is wrong with the operation.
    #[error("{0}")]
    NotNow(String),
    /// A resource it used disappeared; nothing is wrong with the operation itself.
    #[error("{why}")]
    Lost {
        /// The host that is gone; none where it was the network.
        host: Option<HostId>,
        /// In words.
        why: String,
    },
}

fn out_of_memory(grant: u64, peak: Option<u64>) -> String {
    let size = |bytes: u64| fmt_bytes(bytes as f64);
    match peak.filter(|peak| *peak > grant) {
        Some(peak) => {
            format!("it ran out of memory: it used {} of {}", size(peak), size(grant))
        }
        None => format!("it ran out of memory: {} were not enough", size(grant)),
    }
}

/// Measurements of a complete operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Seconds it really took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Exit code of its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Sizes of the files it wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<(FileId, f64)>,
    /// Checksums of the files it wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checksums: Vec<(FileId, String)>,
    /// Seconds it computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// Most memory it had, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory: Option<u64>,
    /// Load of its machine at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
}

/// Something a backend noticed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    /// When it happened; it may be told later.
    pub at: f64,
    /// The observation.
    pub what: SignalKind,
}

/// Observations a backend may report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignalKind {
    /// An operation that was only accepted runs now.
    Running(OpId),
    /// An operation is complete.
    Done(OpId, Report),
    /// An operation broke off by itself.
    Failed(OpId, OpError),
    /// An operation has stopped, as was asked; what it used is free.
    Cancelled(OpId),
    /// A host has another speed now.
    HostChanged {
        /// Host that came up.
        host: HostId,
        /// Share of its peak; at 0 work is stopped.
        availability: f64,
    },
    /// Bandwidth or latency of the network changed.
    NetworkChanged {
        /// The link and its bandwidth now (bytes/s; 0 when it is off), where that is what changed.
        link: Option<(LinkId, f64)>,
    },
    /// A host went off. That the operations which used it have failed is told as well, now or
    /// later.
    HostLost {
        /// Host that went down.
        host: HostId,
        /// Whether its data will be there again when it is back.
        keeps_data: bool,
    },
    /// A host is on again.
    HostBack(HostId),
    /// A machine that was ordered can be used, and is paid from now on.
    LeaseReady(OpId),
    /// A machine is not there any more, or will never come: it was given back, or went by itself for the
    /// reason given. Operations that computed there have failed ([`OpError::Lost`] without a host: what
    /// is there can still be read), which is told before.
    LeaseEnded(OpId, Option<OpError>),
    /// A host is served until a date, or, without one, for as long as it takes.
    HostStays {
        /// The host.
        host: HostId,
        /// For which time.
        stay: Option<Stay>,
    },
    /// A file is not where it was, though its host is there.
    CopyLost {
        /// Lost file.
        file: FileId,
        /// Host that held it.
        host: HostId,
    },
}

impl SignalKind {
    /// The operation that this is the end of.
    pub fn ends(&self) -> Option<OpId> {
        match self {
            SignalKind::Done(op, _)
            | SignalKind::Failed(op, _)
            | SignalKind::Cancelled(op)
            | SignalKind::LeaseEnded(op, _) => Some(*op),
            _ => None,
        }
    }
}

/// Work that is left for a host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Backlog {
    /// Seconds until it could be over, as estimated.
    pub seconds: f64,
    /// Some task that could begin waits because whoever serves the host goes before it would be over.
    pub waits: bool,
}

/// Optional abilities of a backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abilities {
    /// A parallel task may use processors of several hosts.
    pub spans_hosts: bool,
    /// A transfer may count as begun before it was asked for: none disturbs another.
    #[serde(default)]
    pub anticipates: bool,
    /// Files may live on a store that all hosts read from and write to.
    #[serde(default)]
    pub has_store: bool,
    /// Progress of operations is only guessed, from the time that has passed.
    #[serde(default)]
    pub guesses: bool,
}

/// Progress of time in [`Backend::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reached {
    /// A moment at which something happened.
    Instant,
    /// The date that was given.
    Limit,
    /// Nothing is under way and nothing will happen.
    Idle,
}

/// Liveness of a backend whose operations do not advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Liveness {
    /// Some operation advances.
    Busy,
    /// Nothing advances, but something that is off or is stopped will go on.
    Revives,
    /// Whether what is off will ever be back is unknown.
    Unknown,
    /// Nothing advances, and nothing that could help will happen.
    Hopeless,
}

/// Reason why a backend can no longer work.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BackendError {
    /// The user wants the run to end.
    #[error("stopped")]
    Stopped,
    /// A setting of the run that the backend cannot keep.
    #[error("{0}")]
    Unsupported(&'static str),
    /// A record of the journal could not be written.
    #[error("the journal cannot be kept: {0}")]
    Journal(RecordError),
    /// The request differs from the next one of the journal.
    #[error("the run departs from the journal at record {record}")]
    Departed {
        /// The number of the record.
        record: usize,
    },
    /// The journal that is repeated ends before the run.
    #[error("the journal ends before the run")]
    JournalEnds,
    /// The simulation failed.
    #[error("{0}")]
    Simulation(String),
    /// The machines failed: why, in words.
    #[error("{0}")]
    Machines(String),
}

/// Reason why a record or a decision could not be kept.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct RecordError(pub String);

impl From<String> for RecordError {
    fn from(why: String) -> RecordError {
        RecordError(why)
    }
}

/// A place where tasks compute and files move.
pub trait Backend {
    /// Optional abilities.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// Cost of a lone transfer beyond what the platform states.
    fn charges(&self) -> Charges {
        Charges::default()
    }

    /// The present date, seconds since the start.
    fn now(&self) -> f64;

    /// Takes a task on. An operation it knows already is not begun again.
    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<Accepted, OpError>;

    /// Begins to move a file; done when all its blocks are there.
    fn transfer(&mut self, op: OpId, movement: Movement<'_>) -> Result<Accepted, OpError>;

    /// Asks an operation to stop; [`SignalKind::Cancelled`] follows, or how it ended before.
    fn cancel(&mut self, op: OpId) -> Result<(), BackendError>;

    /// Deletes a file from a host, where it is; it is not needed there any more.
    fn delete(&mut self, file: FileId, host: HostId) -> Result<(), BackendError>;

    /// Orders a machine. [`Accepted::Running`]: it is there; else [`SignalKind::LeaseReady`] follows.
    /// [`SignalKind::LeaseEnded`] comes in the end, whatever becomes of it. Refused: it cannot be had.
    fn lease(&mut self, _: OpId, _: Order) -> Result<Accepted, OpError> {
        Err(OpError::Refused("no machines can be leased here".to_string()))
    }

    /// Gives a machine back, or takes its order back; nothing computes there any more.
    /// [`SignalKind::LeaseEnded`] follows.
    fn release(&mut self, _lease: OpId) -> Result<(), BackendError> {
        Ok(())
    }

    /// More tasks of the work became known: those known before keep their numbers, and so do files.
    fn grown(&mut self, _: &Arc<Workflow>) {}

    /// After the engine was away: these operations have not ended as far as it knows, and it heard
    /// the answers to so many calls of [`next`](Backend::next). The backend begins those it never
    /// saw, stops the others it has, and repeats signals that were not received.
    fn reattach(&mut self, open: &[Open], heard: u64) -> Result<(), BackendError>;

    /// Work that is left for a host that is served for a limited time; nothing follows that the engine would have to
    /// know.
    fn expect(&mut self, _: HostId, _: Backlog) {}

    /// Done shares of operations under way, between 0 and 1.
    fn measure(&mut self, ops: &[OpId]) -> Vec<f64>;

    /// Brings a view of the platform up to date; hosts that are off have the level they will have
    /// when they are back.
    fn observe(&mut self, view: &mut View);

    /// Advances to the next moment at which something happens, at most to `until`.
    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError>;

    /// Liveness, where nothing has begun or ended since a date.
    fn outlook(&mut self, quiet_since: f64) -> Liveness;
}
