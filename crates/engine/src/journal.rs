//! A run as its backend was asked and answered, to be kept while it is under way: a line is written
//! before anything is asked for, so that whatever was begun is known. [`Resumed`] plays a journal
//! to the end and continues with the backend that it came from: the same policy comes to the
//! same decisions, and what was begun is not begun again. Without a backend it just repeats the run.

use crate::backend::{
    Abilities, Accepted, Backend, BackendError, Backlog, Computation, Liveness, Movement, OpError,
    OpId, Open, Order, Reached, RecordError, Signal, Work,
};
use crate::note::{Chose, Note};
use serde::{Deserialize, Serialize};
use slackline_model::platform::{Charges, PlanningNetwork};
use slackline_model::problem::View;
use slackline_model::{FileId, HostId, Workflow};
use slackline_react::Decision;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{BufRead, Write};
use std::rc::Rc;
use std::sync::Arc;
use thiserror::Error;

const SCHEMA: &str = "slackline/journal/1";

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Record {
    /// The beginning: what the backend can do.
    Backend {
        /// Of which form the records are.
        schema: String,
        /// Abilities of the backend.
        abilities: Abilities,
    },
    /// An operation is about to be asked for. Unless an answer follows, it was taken on and runs.
    Begin {
        /// Its number.
        op: OpId,
        /// Work of the operation.
        work: Work,
    },
    /// The operation was taken on, to run later.
    Accepted,
    /// The operation was not taken on.
    Refused(OpError),
    /// An operation is about to be asked to stop.
    Cancel(OpId),
    /// A machine is about to be given back.
    Release(OpId),
    /// A file is about to be deleted.
    Delete {
        /// Lost or dropped file.
        file: FileId,
        /// Host of the copy.
        host: HostId,
    },
    /// Progress of operations, where the policy asked for it.
    Measured(Vec<f64>),
    /// Observation of the platform.
    Saw(Sight),
    /// Answer to a request for the next signals.
    Next {
        /// The date then.
        now: f64,
        /// Date the backend reached.
        reached: Reached,
        /// Signals it reported.
        signals: Vec<Signal>,
    },
    /// Liveness, where nothing advanced.
    #[serde(rename = "outlook")]
    Liveness(Liveness),
    /// Decisions of the policy.
    Decided(Vec<Decision>),
    /// Decision of a workflow with choices and loops; kept before anything follows from it.
    Chose(Chose),
    /// Further note.
    Note(Note),
}

/// A view of the platform; infinite numbers are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sight {
    availability: Vec<f64>,
    groups: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    thresholds: Vec<f64>,
    bandwidth: Vec<Option<f64>>,
    latency: Vec<Option<f64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    streams: Vec<Option<f64>>,
}

impl Sight {
    fn of(view: &View) -> Sight {
        let known = |list: &[f64]| list.iter().map(|x| x.is_finite().then_some(*x)).collect();
        Sight {
            availability: view.availability.clone(),
            groups: view.network.group_of.clone(),
            thresholds: view.network.thresholds.clone(),
            bandwidth: known(&view.network.bandwidth),
            latency: known(&view.network.latency),
            streams: known(&view.network.streams),
        }
    }

    fn show(&self, view: &mut View) {
        let all = |list: &[Option<f64>]| list.iter().map(|x| x.unwrap_or(f64::INFINITY)).collect();
        view.availability.clone_from(&self.availability);
        view.network = PlanningNetwork {
            group_of: self.groups.clone(),
            groups: (self.bandwidth.len() / (self.thresholds.len() + 1)).isqrt(),
            thresholds: self.thresholds.clone(),
            latency: all(&self.latency),
            bandwidth: all(&self.bandwidth),
            streams: all(&self.streams),
            inlets: std::mem::take(&mut view.network.inlets),
            local: std::mem::take(&mut view.network.local),
        };
    }
}

/// The records of a run, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal {
    /// The first says what the backend can do.
    pub records: Vec<Record>,
}

impl Journal {
    /// Reads one JSON object a line; an error names the line. A last line that was not written
    /// whole counts as never written.
    pub fn read(input: &mut dyn BufRead) -> Result<Journal, JournalError> {
        let mut journal = Journal::default();
        let lines: Vec<String> =
            input.lines().collect::<Result<_, _>>().map_err(JournalError::of)?;
        for (number, line) in lines.iter().enumerate() {
            match serde_json::from_str(line) {
                Ok(record) => journal.records.push(record),
                Err(_) if number + 1 == lines.len() && number > 0 => {}
                Err(error) => return Err(JournalError::at(number, &error)),
            }
        }
        match journal.records.first() {
            Some(Record::Backend { schema, .. }) if schema == SCHEMA => Ok(journal),
            Some(Record::Backend { schema, .. }) => {
                Err(JournalError::at(0, &format!("schema '{schema}', not '{SCHEMA}'")))
            }
            _ => Err(JournalError::at(0, &"this is no journal of a run")),
        }
    }

    /// Writes one record as a line.
    pub fn write_record(out: &mut dyn Write, record: &Record) -> std::io::Result<()> {
        writeln!(out, "{}", serde_json::to_string(record)?)
    }
}

/// Reason why a text is no journal or no log of decisions.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum JournalError {
    /// A line is none of it.
    #[error("line {line}: {why}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The defect.
        why: String,
    },
    /// It cannot be read, or is empty.
    #[error("{0}")]
    Unreadable(String),
}

impl JournalError {
    /// An error in a line, counted from 0.
    pub(crate) fn at(line: usize, why: &dyn Display) -> JournalError {
        JournalError::Line { line: line + 1, why: why.to_string() }
    }

    pub(crate) fn of(error: impl Display) -> JournalError {
        JournalError::Unreadable(error.to_string())
    }
}

/// Receiver of records; once it fails, the backend is asked nothing more.
pub type Sink<'b> = Box<dyn FnMut(&Record) -> Result<(), RecordError> + 'b>;

/// A backend that keeps a journal.
pub struct Journaled<'b> {
    backend: &'b mut dyn Backend,
    sink: Sink<'b>,
    broken: Option<RecordError>,
}

impl<'b> Journaled<'b> {
    /// Keeps a journal from the beginning.
    pub fn new(backend: &'b mut dyn Backend, sink: Sink<'b>) -> Journaled<'b> {
        let abilities = backend.abilities();
        let mut journaled = Journaled::continuing(backend, sink);
        journaled.note(Record::Backend { schema: SCHEMA.to_string(), abilities });
        journaled
    }

    /// Continues with a journal that has a beginning.
    pub fn continuing(backend: &'b mut dyn Backend, sink: Sink<'b>) -> Journaled<'b> {
        Journaled { backend, sink, broken: None }
    }

    /// Writes a record; false where that is no longer possible.
    fn note(&mut self, record: Record) -> bool {
        if self.broken.is_none() {
            self.broken = (self.sink)(&record).err();
        }
        self.broken.is_none()
    }

    fn check(&self) -> Result<(), BackendError> {
        match &self.broken {
            Some(why) => Err(BackendError::Journal(why.clone())),
            None => Ok(()),
        }
    }

    fn answered(&mut self, answer: Result<Accepted, OpError>) -> Result<Accepted, OpError> {
        match &answer {
            Ok(Accepted::Running) => {}
            Ok(Accepted::Waiting) => {
                self.note(Record::Accepted);
            }
            Err(error) => {
                self.note(Record::Refused(error.clone()));
            }
        }
        answer
    }
}

impl Backend for Journaled<'_> {
    fn abilities(&self) -> Abilities {
        self.backend.abilities()
    }

    fn charges(&self) -> Charges {
        self.backend.charges()
    }

    fn now(&self) -> f64 {
        self.backend.now()
    }

    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<Accepted, OpError> {
        if !self.note(Record::Begin { op, work: work.into() }) {
            return Ok(Accepted::Waiting);
        }
        let answer = self.backend.compute(op, work);
        self.answered(answer)
    }

    fn transfer(&mut self, op: OpId, movement: Movement<'_>) -> Result<Accepted, OpError> {
        if !self.note(Record::Begin { op, work: movement.into() }) {
            return Ok(Accepted::Waiting);
        }
        let answer = self.backend.transfer(op, movement);
        self.answered(answer)
    }

    fn cancel(&mut self, op: OpId) -> Result<(), BackendError> {
        self.note(Record::Cancel(op));
        self.check()?;
        self.backend.cancel(op)
    }

    fn delete(&mut self, file: FileId, host: HostId) -> Result<(), BackendError> {
        self.note(Record::Delete { file, host });
        self.check()?;
        self.backend.delete(file, host)
    }

    fn lease(&mut self, op: OpId, order: Order) -> Result<Accepted, OpError> {
        if !self.note(Record::Begin { op, work: order.into() }) {
            return Ok(Accepted::Waiting);
        }
        let answer = self.backend.lease(op, order);
        self.answered(answer)
    }

    fn release(&mut self, lease: OpId) -> Result<(), BackendError> {
        self.note(Record::Release(lease));
        self.check()?;
        self.backend.release(lease)
    }

    fn grown(&mut self, workflow: &Arc<Workflow>) {
        self.backend.grown(workflow);
    }

    fn reattach(&mut self, open: &[Open], heard: u64) -> Result<(), BackendError> {
        self.backend.reattach(open, heard)
    }

    fn expect(&mut self, host: HostId, backlog: Backlog) {
        self.backend.expect(host, backlog);
    }

    fn measure(&mut self, ops: &[OpId]) -> Vec<f64> {
        let shares = self.backend.measure(ops);
        self.note(Record::Measured(shares.clone()));
        shares
    }

    fn observe(&mut self, view: &mut View) {
        self.backend.observe(view);
        self.note(Record::Saw(Sight::of(view)));
    }

    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        self.check()?;
        let before = signals.len();
        let reached = self.backend.next(until, signals)?;
        let (now, told) = (self.backend.now(), signals[before..].to_vec());
        self.note(Record::Next { now, reached, signals: told });
        self.check()?;
        Ok(reached)
    }

    fn outlook(&mut self, quiet_since: f64) -> Liveness {
        let outlook = self.backend.outlook(quiet_since);
        if outlook != Liveness::Busy {
            self.note(Record::Liveness(outlook));
        }
        // Where the journal is broken the next call says so.
        if self.broken.is_none() { outlook } else { Liveness::Busy }
    }
}

/// A backend that plays a journal, then continues with the one it came from.
pub struct Resumed<'b> {
    journal: Journal,
    charges: Charges,
    next: usize,
    /// The same, for observers of a replay.
    played: Rc<Cell<usize>>,
    now: f64,
    /// Backend that continues where the journal ends.
    live: Option<&'b mut dyn Backend>,
    attached: bool,
    open: BTreeMap<OpId, Open>,
    heard: u64,
    /// Difference between the run and the journal.
    departed: Option<BackendError>,
}

impl<'b> Resumed<'b> {
    /// Repeats a run on a backend with such charges; it cannot go on where the journal ends.
    pub fn repeat(journal: Journal, charges: Charges) -> Resumed<'b> {
        Resumed {
            journal,
            charges,
            next: 1,
            played: Rc::new(Cell::new(1)),
            now: 0.0,
            live: None,
            attached: false,
            open: BTreeMap::new(),
            heard: 0,
            departed: None,
        }
    }

    /// Repeats a run and continues with it.
    pub fn new(journal: Journal, live: &'b mut dyn Backend) -> Resumed<'b> {
        let charges = live.charges();
        Resumed { live: Some(live), ..Resumed::repeat(journal, charges) }
    }

    /// Number of records played.
    pub fn played(&self) -> Rc<Cell<usize>> {
        Rc::clone(&self.played)
    }

    /// Whether everything asked so far was asked in the recorded run too.
    pub fn is_faithful(&self) -> bool {
        self.departed.is_none()
    }

    /// The backend, once the journal is played.
    fn live(&mut self) -> Option<&mut dyn Backend> {
        if self.next < self.journal.records.len() || self.departed.is_some() {
            return None;
        }
        let live = self.live.as_deref_mut()?;
        if !std::mem::replace(&mut self.attached, true) {
            let open: Vec<Open> = std::mem::take(&mut self.open).into_values().collect();
            if let Err(error) = live.reattach(&open, self.heard) {
                self.departed = Some(error);
                return None;
            }
        }
        Some(live)
    }

    /// The next record, if it is what was to come.
    fn take<T>(&mut self, pick: impl FnOnce(&Record) -> Option<T>) -> Option<T> {
        if self.departed.is_some() {
            return None;
        }
        let found = self.journal.records.get(self.next).and_then(pick);
        match found {
            Some(_) => self.go_on(),
            None => {
                self.departed = Some(BackendError::Departed { record: self.next });
            }
        }
        found
    }

    /// The same where it may just as well be missing.
    fn take_if<T>(&mut self, pick: impl FnOnce(&Record) -> Option<T>) -> Option<T> {
        let found = self.journal.records.get(self.next).and_then(pick)?;
        self.go_on();
        Some(found)
    }

    fn go_on(&mut self) {
        self.next += 1;
        self.played.set(self.next);
    }

    fn check(&self) -> Result<(), BackendError> {
        match &self.departed {
            Some(why) => Err(why.clone()),
            None => Ok(()),
        }
    }

    fn begin(&mut self, op: OpId, work: Work) -> Result<Accepted, OpError> {
        let same = |r: &Record| match r {
            Record::Begin { op: o, work: w } => (*o == op && work.is_recorded_as(w)).then_some(()),
            _ => None,
        };
        if self.take(same).is_none() {
            return Ok(Accepted::Waiting);
        }
        let answer = self.take_if(|r| match r {
            Record::Accepted => Some(Ok(Accepted::Waiting)),
            Record::Refused(error) => Some(Err(error.clone())),
            _ => None,
        });
        let unknown = answer.is_none() && self.next == self.journal.records.len();
        let answer = answer.unwrap_or(Ok(Accepted::Running));
        if answer.is_ok() {
            self.open.insert(op, Open { op, work: work.clone(), cancelling: false });
        }
        // The outcome of the last request is unknown; repeating a request does not start its operation twice.
        match self.live().filter(|_| unknown) {
            Some(live) => work.begin(op, live),
            None => answer,
        }
    }
}

impl Resumed<'_> {
    /// An operation was asked to stop; where the journal ends, the backend hears of it.
    fn stop(&mut self, op: OpId, record: &Record) -> Result<(), BackendError> {
        self.take(|r| (r == record).then_some(()));
        if let Some(open) = self.open.get_mut(&op) {
            open.cancelling = true;
        }
        self.check()
    }
}

impl Backend for Resumed<'_> {
    fn abilities(&self) -> Abilities {
        match self.journal.records.first() {
            Some(Record::Backend { abilities, .. }) => *abilities,
            _ => Abilities::default(),
        }
    }

    fn charges(&self) -> Charges {
        self.charges.clone()
    }

    fn now(&self) -> f64 {
        match &self.live {
            Some(live) if self.attached => live.now(),
            _ => self.now,
        }
    }

    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<Accepted, OpError> {
        match self.live() {
            Some(live) => live.compute(op, work),
            None => self.begin(op, work.into()),
        }
    }

    fn transfer(&mut self, op: OpId, movement: Movement<'_>) -> Result<Accepted, OpError> {
        match self.live() {
            Some(live) => live.transfer(op, movement),
            None => self.begin(op, movement.into()),
        }
    }

    fn cancel(&mut self, op: OpId) -> Result<(), BackendError> {
        if let Some(live) = self.live() {
            return live.cancel(op);
        }
        self.stop(op, &Record::Cancel(op))
    }

    fn delete(&mut self, file: FileId, host: HostId) -> Result<(), BackendError> {
        if let Some(live) = self.live() {
            return live.delete(file, host);
        }
        self.take(|r| (*r == Record::Delete { file, host }).then_some(()));
        if self.next == self.journal.records.len()
            && let Some(live) = self.live()
        {
            return live.delete(file, host); // whether it was done is unknown
        }
        self.check()
    }

    fn lease(&mut self, op: OpId, order: Order) -> Result<Accepted, OpError> {
        match self.live() {
            Some(live) => live.lease(op, order),
            None => self.begin(op, order.into()),
        }
    }

    fn release(&mut self, lease: OpId) -> Result<(), BackendError> {
        if let Some(live) = self.live() {
            return live.release(lease);
        }
        self.stop(lease, &Record::Release(lease))
    }

    fn grown(&mut self, workflow: &Arc<Workflow>) {
        // Also while the journal is played: what continues with the run has to know all of it.
        if let Some(live) = &mut self.live {
            live.grown(workflow);
        }
    }

    fn reattach(&mut self, _: &[Open], _: u64) -> Result<(), BackendError> {
        Ok(()) // it does so by itself where the journal ends
    }

    fn expect(&mut self, host: HostId, backlog: Backlog) {
        if let Some(live) = self.live.as_deref_mut().filter(|_| self.attached) {
            live.expect(host, backlog);
        }
    }

    fn measure(&mut self, ops: &[OpId]) -> Vec<f64> {
        if let Some(live) = self.live() {
            return live.measure(ops);
        }
        let known = |r: &Record| match r {
            Record::Measured(shares) if shares.len() == ops.len() => Some(shares.clone()),
            _ => None,
        };
        self.take(known).unwrap_or_else(|| vec![0.0; ops.len()])
    }

    fn observe(&mut self, view: &mut View) {
        if let Some(live) = self.live() {
            return live.observe(view);
        }
        let seen = self.take(|r| match r {
            Record::Saw(sight) => Some(sight.clone()),
            _ => None,
        });
        if let Some(sight) = seen {
            sight.show(view);
        }
    }

    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        self.check()?;
        if let Some(live) = self.live() {
            return live.next(until, signals);
        }
        let step = self.take(|r| match r {
            Record::Next { now, reached, signals } => Some((*now, *reached, signals.clone())),
            _ => None,
        });
        self.check()?;
        let Some((now, reached, told)) = step else {
            return Err(BackendError::JournalEnds);
        };
        self.now = now;
        self.heard += 1;
        for signal in &told {
            if let Some(op) = signal.what.ends() {
                self.open.remove(&op);
            }
        }
        signals.extend(told);
        Ok(reached)
    }

    fn outlook(&mut self, quiet_since: f64) -> Liveness {
        if let Some(live) = self.live() {
            return live.outlook(quiet_since);
        }
        let noted = self.take_if(|r| match r {
            Record::Liveness(outlook) => Some(*outlook),
            _ => None,
        });
        noted.unwrap_or(Liveness::Busy)
    }
}
