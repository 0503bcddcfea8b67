//! A backend with the faults of real machines, around another one: signals are delayed, reordered and duplicated,
//! operations wait before they run or fail, and from time to time the backend does not respond.
//!
//! It keeps two invariants: signals of one operation, and of one host, arrive in their order; and each signal carries the
//! date at which it happened.

use crate::forward;
use slackline_engine::{
    Accepted, Backend, BackendError, Computation, Liveness, Movement, OpError, OpId, Reached,
    Signal, SignalKind,
};
use slackline_model::{FileId, HostId, ProcId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Parameters of the faults; seconds, and percentages of 0 to 100.
#[derive(Clone, Copy, Debug)]
pub struct Disorder {
    pub seed: u64,
    /// Greatest delay of a signal, in seconds.
    pub late: f64,
    /// Per cent of operations that fail, and of requests that are refused.
    pub failing: u32,
    /// Per cent of computations that wait before they run.
    pub waiting: u32,
    /// Per cent of ends that are signalled twice.
    pub twice: u32,
    /// Period and duration of outages of the backend, in seconds.
    pub silence: Option<(f64, f64)>,
    /// Copies are never lost: a repeated transfer of a file is an error of the engine.
    pub keeps_all: bool,
}

#[derive(Clone, Debug)]
enum Doing {
    Computes { procs: Vec<ProcId>, stopping: bool },
    Moves { file: FileId, to: Vec<HostId> },
}

/// Subject of a signal; signals of one subject keep their order.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum About {
    Op(OpId),
    Host(HostId),
    Network,
}

pub struct DelayedBackend<'b> {
    inner: &'b mut dyn Backend,
    disorder: Disorder,
    state: u64,
    /// Signals by date of delivery (as bits) and number.
    coming: BTreeMap<(u64, u64), Signal>,
    /// Number of scheduled signals.
    scheduled: u64,
    last: HashMap<About, f64>,
    /// Operations under way in the inner backend.
    doing: BTreeMap<OpId, Doing>,
    used: BTreeSet<OpId>,
    /// Operations that have ended without a signal so far.
    ended: BTreeSet<OpId>,
    pub failures: usize,
}

impl<'b> DelayedBackend<'b> {
    pub fn new(inner: &'b mut dyn Backend, disorder: Disorder) -> DelayedBackend<'b> {
        let state = disorder.seed;
        let (coming, last, doing) = (BTreeMap::new(), HashMap::new(), BTreeMap::new());
        let (used, ended) = (BTreeSet::new(), BTreeSet::new());
        DelayedBackend {
            inner,
            disorder,
            state,
            coming,
            scheduled: 0,
            last,
            doing,
            used,
            ended,
            failures: 0,
        }
    }

    fn draw(&mut self, below: u32) -> u32 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % u64::from(below)) as u32
    }

    fn happens(&mut self, percent: u32) -> bool {
        self.draw(100) < percent
    }

    /// The end of the present outage, if there is one.
    fn silent_until(&self) -> Option<f64> {
        let (every, lasts) = self.disorder.silence?;
        let begin = (self.inner.now() / every).floor() * every;
        let silent = begin > 0.0 && self.inner.now() < begin + lasts;
        silent.then_some(begin + lasts)
    }

    /// The error of a request that is refused, by chance or in an outage.
    fn refuses(&mut self) -> Option<OpError> {
        if self.silent_until().is_some() {
            return Some(OpError::Transient("nobody answers".to_string()));
        }
        let failing = self.disorder.failing;
        self.happens(failing).then(|| {
            self.failures += 1;
            OpError::Transient("it was not to begin".to_string())
        })
    }

    fn deliver_later(&mut self, signal: Signal, about: About) {
        let steps = 8;
        let mut due = self.inner.now();
        if self.disorder.late > 0.0 && self.happens(60) {
            due += self.disorder.late * f64::from(self.draw(steps)) / f64::from(steps);
        }
        if let Some(heard) = self.silent_until() {
            due = due.max(heard);
        }
        let last = self.last.entry(about).or_insert(due);
        due = due.max(*last);
        *last = due;
        self.coming.insert((due.to_bits(), self.scheduled), signal);
        self.scheduled += 1;
    }

    /// Takes a signal of the inner backend, adds faults, and schedules its delivery.
    fn receive(&mut self, signal: Signal) {
        let about = match &signal.what {
            SignalKind::Running(op)
            | SignalKind::Done(op, _)
            | SignalKind::Failed(op, _)
            | SignalKind::Cancelled(op) => About::Op(*op),
            SignalKind::HostChanged { host, .. }
            | SignalKind::HostLost { host, .. }
            | SignalKind::HostBack(host) => About::Host(*host),
            _ => About::Network,
        };
        let Some(op) = signal.what.ends() else { return self.deliver_later(signal, about) };
        self.doing.remove(&op);
        self.ended.insert(op);
        let failing = self.disorder.failing;
        if matches!(signal.what, SignalKind::Done(..)) && self.happens(failing) {
            self.failures += 1;
            let what =
                SignalKind::Failed(op, OpError::Transient("it failed by itself".to_string()));
            return self.deliver_later(Signal { what, ..signal }, about);
        }
        let twice = self.disorder.twice;
        if self.happens(twice) {
            self.deliver_later(signal.clone(), about);
        }
        self.deliver_later(signal, about);
    }
}

impl Backend for DelayedBackend<'_> {
    forward!(abilities charges now delete lease release reattach observe);

    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<Accepted, OpError> {
        assert!(self.used.insert(op), "{op:?} is used twice");
        if let Some(error) = self.refuses() {
            return Err(error);
        }
        // The engine must not use a processor that an operation still holds.
        for doing in self.doing.values() {
            if let Doing::Computes { procs, .. } = doing {
                let shared = work.procs.iter().find(|p| procs.contains(p));
                assert!(shared.is_none(), "two tasks on {shared:?} at {}", self.inner.now());
            }
        }
        self.inner.compute(op, work)?;
        self.doing.insert(op, Doing::Computes { procs: work.procs.to_vec(), stopping: false });
        let waiting = self.disorder.waiting;
        if self.happens(waiting) {
            let signal = Signal { at: self.inner.now(), what: SignalKind::Running(op) };
            self.deliver_later(signal, About::Op(op));
            return Ok(Accepted::Waiting);
        }
        Ok(Accepted::Running)
    }

    fn transfer(&mut self, op: OpId, movement: Movement<'_>) -> Result<Accepted, OpError> {
        assert!(self.used.insert(op), "{op:?} is used twice");
        if let Some(error) = self.refuses() {
            return Err(error);
        }
        let to: Vec<HostId> = movement.blocks.iter().map(|b| b.to).collect();
        for doing in self.doing.values() {
            if let Doing::Moves { file, to: there } = doing
                && self.disorder.keeps_all
            {
                let again = *file == movement.file && *there == to;
                assert!(!again, "{file:?} travels twice at {}", self.inner.now());
            }
        }
        self.inner.transfer(op, movement)?;
        self.doing.insert(op, Doing::Moves { file: movement.file, to });
        Ok(Accepted::Running)
    }

    fn cancel(&mut self, op: OpId) -> Result<(), BackendError> {
        if let Some(Doing::Computes { stopping, .. }) = self.doing.get_mut(&op) {
            assert!(!std::mem::replace(stopping, true), "{op:?} is stopped twice");
        } else {
            self.doing.remove(&op);
        }
        self.inner.cancel(op)
    }

    fn measure(&mut self, ops: &[OpId]) -> Vec<f64> {
        let mut shares = self.inner.measure(ops);
        for (share, op) in shares.iter_mut().zip(ops) {
            if self.ended.contains(op) {
                *share = 1.0;
            }
        }
        shares
    }

    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        let mut heard = Vec::new();
        loop {
            let first =
                self.coming.keys().next().map_or(f64::INFINITY, |(due, _)| f64::from_bits(*due));
            if first <= self.inner.now() {
                while let Some(entry) = self.coming.first_entry() {
                    if f64::from_bits(entry.key().0) > self.inner.now() {
                        break;
                    }
                    let signal = entry.remove();
                    if let Some(op) = signal.what.ends() {
                        self.ended.remove(&op);
                    }
                    signals.push(signal);
                }
                return Ok(Reached::Instant);
            }
            let reached = self.inner.next(until.min(first), &mut heard)?;
            for signal in heard.drain(..) {
                self.receive(signal);
            }
            match reached {
                Reached::Instant => {}
                Reached::Limit if self.inner.now() >= until && first > self.inner.now() => {
                    return Ok(Reached::Limit);
                }
                Reached::Idle if self.coming.is_empty() => return Ok(Reached::Idle),
                _ => {}
            }
        }
    }

    fn outlook(&mut self, quiet_since: f64) -> Liveness {
        if self.coming.is_empty() && self.silent_until().is_none() {
            self.inner.outlook(quiet_since)
        } else {
            Liveness::Busy
        }
    }
}
