//! Where attempts are made: on this machine, or on nodes of a cluster; and how news come from there.

use super::Clock;
use crate::attempt::Process;
use crate::folder::{Note, RunLog};
use crate::jobs::{Ear, Job, Label, Made};
use slackline_engine::Record;
use slackline_engine::{Accepted, BackendError, OpError, OpId, Outlook};
use slackline_model::HostId;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What has become of a host or of a lease.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// A host can work.
    Came(HostId),
    /// A host can work no more.
    Went {
        /// Which.
        host: HostId,
        /// What lies there will be there again when it is back.
        keeps_data: bool,
        /// In words.
        why: String,
    },
    /// A machine that was ordered is there.
    Leased(OpId),
    /// A lease is over, or will never begin; of itself for the reason given.
    Over {
        /// Which.
        lease: OpId,
        /// Of which machine, where jobs of it may be under way.
        host: Option<HostId>,
        /// Why, where nobody had given it back.
        error: Option<OpError>,
    },
    /// Jobs that were under way are lost with whoever made them, though their host can work.
    Dropped {
        /// Which.
        ops: Vec<OpId>,
        /// In words.
        why: String,
    },
}

/// How long work on a host may take, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// From now on.
    pub left: f64,
    /// At the best of times.
    pub whole: f64,
}

/// A place where attempts are made. It tells how they end through the [`Desk`] it was made with, and
/// the rest when it is looked at.
pub trait Workshop {
    /// Makes ready for a run that begins.
    fn open(&mut self) -> Result<(), BackendError>;

    /// Takes up a run that was left: gives those of the jobs that were under way which still are.
    /// Nobody wants the others any more.
    fn take_up(&mut self, under_way: &[Label]) -> Result<Vec<Label>, BackendError>;

    /// Begins a job on a host that can work.
    fn begin(&mut self, job: Job) -> Accepted;

    /// How long work on a host may take.
    fn room(&self, _host: HostId) -> Room {
        Room { left: f64::INFINITY, whole: f64::INFINITY }
    }

    /// A task is not begun on a host because it has too little time left.
    fn outgrown(&mut self, _host: HostId) {}

    /// Asks a job to end; what is to be done `at_once` is not asked.
    fn stop(&mut self, op: OpId, at_once: bool);

    /// Orders a machine.
    fn lease(&mut self, lease: OpId, host: HostId) -> Result<Accepted, OpError>;

    /// Gives a machine back.
    fn release(&mut self, lease: OpId);

    /// Looks what has become of hosts and leases.
    fn look(&mut self, turns: &mut Vec<Turn>) -> Result<(), BackendError>;

    /// Everything told so far is in the log.
    fn heard(&mut self) {}

    /// What may be hoped for of hosts that are lost.
    fn outlook(&self) -> Outlook {
        Outlook::Unknown
    }

    /// Nobody will ask for anything any more: the run is over, or was stopped.
    fn close(&mut self) {}
}

/// What a workshop tells while it goes on.
pub(crate) enum News {
    /// A job is a process now.
    Begun(OpId),
    /// A job has ended, at a date.
    Made(Made, f64),
    /// A copy was made, at a date, or not.
    Moved(OpId, f64, Result<super::Moved, super::Trouble>),
    /// It is worth a look.
    Look,
}

/// Where news arrive: processes go into the log at once, the rest waits for the engine.
#[derive(Clone)]
pub struct Desk {
    pub(crate) log: Arc<RunLog>,
    pub(crate) clock: Clock,
    pub(crate) tell: Sender<News>,
}

/// What has arrived at a desk, for the engine.
pub struct Mail(pub(super) Receiver<News>);

impl Desk {
    /// A desk for a run that goes on from a date.
    pub fn new(log: Arc<RunLog>, date: f64) -> (Desk, Mail) {
        let (tell, told) = channel();
        (Desk { log, clock: Clock::from(date), tell }, Mail(told))
    }

    pub(crate) fn tell(&self, news: News) {
        let _ = self.tell.send(news); // nobody may listen any more
    }
}

impl Ear for Desk {
    fn begun(&self, label: &Label, process: Process) {
        let Label { task, host, number: attempt, .. } = *label;
        let note = Note::Process { task, name: label.name.clone(), host, attempt, process };
        // A run whose log cannot be kept is ended by its engine.
        let _ = self.log.append(self.clock.now(), &Record::Note(note));
    }

    fn ended(&self, made: Made) {
        self.tell(News::Made(made, self.clock.now()));
    }
}
