//! The [`Executor`], which makes attempts on this machine or on nodes of a cluster, and its events.

use super::Clock;
use crate::attempt::Process;
use crate::attempt_pool::{Job, JobListener, JobResult, Label};
use crate::folder::{Note, RunLog};
use slackline_engine::Record;
use slackline_engine::{Accepted, BackendError, Backlog, Liveness, OpError, OpId};
use slackline_model::{HostId, TaskId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// A change in the state of a host or of a lease.
#[derive(Clone, Debug, PartialEq)]
pub enum HostEvent {
    /// A host can work.
    Up(HostId),
    /// A host can work no more.
    Down {
        /// The host.
        host: HostId,
        /// Whether its data will be there again when it is back.
        keeps_data: bool,
        /// In words.
        why: String,
    },
    /// A host is served for a limited time.
    Stays {
        /// The host.
        host: HostId,
        /// When tasks there have to be over.
        ends: Instant,
        /// Expected seconds from then until tasks can begin again.
        gap: f64,
        /// Seconds that later ones have for tasks.
        whole: f64,
        /// Ratio of the time that a task has to find to its estimate.
        safety: f64,
    },
    /// A machine that was ordered is there.
    LeaseReady(OpId),
    /// A lease is over, or will never begin; without a request if a reason is given.
    LeaseEnded {
        /// The lease.
        lease: OpId,
        /// Of which machine, where jobs of it may be under way.
        host: Option<HostId>,
        /// Cause of its end, where it was not returned.
        error: Option<OpError>,
    },
    /// Running jobs were lost with their executor, though their host can work.
    JobsLost {
        /// Operations that are lost.
        ops: Vec<OpId>,
        /// In words.
        why: String,
    },
}

/// Time left for work on a host, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// From now on.
    pub left: f64,
    /// At the best of times.
    pub whole: f64,
    /// Seconds before the end by which work has to be over.
    pub grace: f64,
    /// Ratio of the time that a task has to find to its estimate.
    pub safety: f64,
}

impl Room {
    /// Unlimited: the executor does not end by itself.
    pub const ENDLESS: Room =
        Room { left: f64::INFINITY, whole: f64::INFINITY, grace: 0.0, safety: 1.0 };
}

/// A place where attempts are made. It reports their ends through the [`EventSender`] it was made with, and
/// all else when it is queried.
pub trait Executor {
    /// Makes ready for a run that begins.
    fn open(&mut self) -> Result<(), BackendError>;

    /// Takes up a run that was left: gives those of the jobs that were under way which still are.
    /// The others are not needed any more.
    fn take_up(&mut self, under_way: &[Label]) -> Result<Vec<Label>, BackendError>;

    /// Begins a job on a host that can work.
    fn begin(&mut self, job: Job) -> Accepted;

    /// Time left for work on a host.
    fn room(&self, _host: HostId) -> Room {
        Room::ENDLESS
    }

    /// A task is not begun on a host because it has too little time left.
    fn outgrown(&mut self, _host: HostId) {}

    /// Work that is left for a host that is there for a limited time.
    fn expect(&mut self, _host: HostId, _backlog: Backlog) {}

    /// What an engine before this one has learnt of tasks for which batch jobs were too short: the seconds that the
    /// next has to ask for at least.
    fn remember(&mut self, _too_short: &BTreeMap<TaskId, f64>) {}

    /// Asks a job to end; what is to be done `at_once` is not asked.
    fn stop(&mut self, op: OpId, at_once: bool);

    /// Orders a machine.
    fn lease(&mut self, lease: OpId, host: HostId) -> Result<Accepted, OpError>;

    /// Gives a machine back.
    fn release(&mut self, lease: OpId);

    /// Looks what has become of hosts and leases.
    fn look(&mut self, host_events: &mut Vec<HostEvent>) -> Result<(), BackendError>;

    /// Everything told so far is in the log.
    fn heard(&mut self) {}

    /// Liveness of lost hosts.
    fn outlook(&self) -> Liveness {
        Liveness::Unknown
    }

    /// There will be no further requests: the run is over, or was stopped.
    fn close(&mut self) {}
}

/// An event that an executor sends while the engine waits.
pub(crate) enum ExecutorEvent {
    /// A job is a process now.
    JobStarted(OpId),
    /// A job has ended, at a date.
    JobEnded(JobResult, f64),
    /// A copy was made, at a date, or not.
    CopyEnded(OpId, f64, Result<super::CompletedCopy, super::CopyError>),
    /// The state of hosts and leases may have changed.
    Wake,
}

/// The sending end of the events of an executor: processes go into the log at once, the rest waits for the engine.
#[derive(Clone)]
pub struct EventSender {
    pub(crate) log: Arc<RunLog>,
    pub(crate) clock: Clock,
    pub(crate) tell: Sender<ExecutorEvent>,
}

/// The receiving end of the events of an executor, for the engine.
pub struct EventReceiver(pub(super) Receiver<ExecutorEvent>);

impl EventSender {
    /// Both ends, for a run that continues from a date.
    pub fn new(log: Arc<RunLog>, date: f64) -> (EventSender, EventReceiver) {
        let (tell, told) = channel();
        (EventSender { log, clock: Clock::from(date), tell }, EventReceiver(told))
    }

    /// Keeps a note. A run whose log cannot be kept is ended by its engine.
    pub(crate) fn note(&self, note: Note) {
        let _ = self.log.append(self.clock.now(), &Record::Note(note));
    }

    pub(crate) fn tell(&self, event: ExecutorEvent) {
        let _ = self.tell.send(event); // the receiver may have been dropped
    }
}

impl JobListener for EventSender {
    fn begun(&self, label: &Label, process: Process) {
        let Label { task, host, number: attempt, .. } = *label;
        let note = Note::Process { task, name: label.name.clone(), host, attempt, process };
        // A run whose log cannot be kept is ended by its engine.
        let _ = self.log.append(self.clock.now(), &Record::Note(note));
    }

    fn ended(&self, made: JobResult) {
        self.tell(ExecutorEvent::JobEnded(made, self.clock.now()));
    }
}
