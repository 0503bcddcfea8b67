//! What the engine needs of a place where work is done.

use slackline_model::platform::Charges;
use slackline_model::problem::View;
use slackline_model::{FileId, HostId, ProcId, TaskId};
use thiserror::Error;

/// An operation; the engine chooses the numbers and never uses one twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u64);

/// A task to compute.
#[derive(Clone, Copy, Debug)]
pub struct Computation<'a> {
    /// Which.
    pub task: TaskId,
    /// On which processors.
    pub procs: &'a [ProcId],
    /// What it reads from the store before it computes, one after the other, with the bytes as
    /// estimated; empty where files travel between hosts.
    pub reads: &'a [(FileId, f64)],
    /// What it writes there when it has computed, while its processors go on.
    pub writes: &'a [(FileId, f64)],
}

/// A file, or a block of it, to move.
#[derive(Clone, Copy, Debug)]
pub struct Movement {
    /// Which.
    pub file: FileId,
    /// How much of it, as estimated.
    pub bytes: f64,
    /// From where.
    pub from: HostId,
    /// To where.
    pub to: HostId,
    /// Since when it counts as under way: now, or earlier where transfers are anticipated.
    pub since: f64,
}

/// Something a backend noticed.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// An operation is complete.
    Done(OpId),
    /// An operation broke off.
    Failed {
        /// Which.
        op: OpId,
        /// Why.
        why: String,
    },
    /// A host has another speed now.
    HostChanged(HostId),
    /// Some link has another bandwidth or latency now.
    NetworkChanged,
    /// A host went off, and what computed there is gone.
    HostLost {
        /// Which.
        host: HostId,
        /// What lies there will be there again when it is back.
        keeps_data: bool,
    },
    /// A host is on again.
    HostBack(HostId),
}

/// What a backend can do beyond the ordinary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// A parallel task may use processors of several hosts.
    pub spans_hosts: bool,
    /// A transfer may count as begun before it was asked for: none disturbs another.
    pub anticipates: bool,
    /// Files may live on a store that all hosts read from and write to.
    pub has_store: bool,
}

/// How far [`Backend::next`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// A moment at which something happened.
    Instant,
    /// The date that was given.
    Limit,
    /// Nothing is under way and nothing will happen.
    Idle,
}

/// A backend that can no longer work.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{0}")]
pub struct BackendError(pub String);

/// A place where tasks compute and files move.
pub trait Backend {
    /// What it can do.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// What it charges for a lone transfer beyond what the platform states.
    fn charges(&self) -> Charges {
        Charges::default()
    }

    /// The present date, seconds since the start.
    fn now(&self) -> f64;

    /// Begins to compute a task.
    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<(), BackendError>;

    /// Begins to move a file.
    fn transfer(&mut self, op: OpId, movement: Movement) -> Result<(), BackendError>;

    /// Stops an operation; no signal follows.
    fn cancel(&mut self, op: OpId) -> Result<(), BackendError>;

    /// Done share of an operation under way, between 0 and 1.
    fn progress(&self, op: OpId) -> f64;

    /// Brings a view of the platform up to date.
    fn observe(&mut self, view: &mut View);

    /// Goes on to the next moment at which something happens, at most to `until`.
    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError>;

    /// Whether anything under way advances, or the platform will change by itself.
    fn moves(&mut self) -> bool;
}
