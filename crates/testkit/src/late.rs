//! A backend as machines are: what it tells comes late and in another order, some things twice;
//! operations wait before they run, fail by themselves, and now and then nobody answers at all.
//!
//! Its promises: signals of one operation, and of one host, come in their order, and
//! everything carries the date at which it happened.

use crate::forward;
use slackline_engine::{
    Accepted, Backend, BackendError, Computation, Liveness, Movement, OpError, OpId, Reached,
    Signal, SignalKind,
};
use slackline_model::{FileId, HostId, ProcId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Parameters of the disorder.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    pub seed: u64,
    /// Most seconds by which something is told late.
    pub late: f64,
    /// Of a hundred operations, how many fail by themselves, and as many before they begin.
    pub failing: u32,
    /// Of a hundred computations, how many wait before they run.
    pub waiting: u32,
    /// Of a hundred ends, how many are told twice.
    pub twice: u32,
    /// Seconds between two times at which nobody answers, and how long these last.
    pub silence: Option<(f64, f64)>,
    /// Nothing that is on a host is ever lost: what is asked for must really be there.
    pub keeps_all: bool,
}

#[derive(Clone, Debug)]
enum Doing {
    Computes { procs: Vec<ProcId>, stopping: bool },
    Moves { file: FileId, to: Vec<HostId> },
}

/// Of what the order is kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum About {
    Op(OpId),
    Host(HostId),
    Network,
}

pub struct Late<'b> {
    inner: &'b mut dyn Backend,
    manners: Manners,
    state: u64,
    /// By date of telling and number.
    coming: BTreeMap<(u64, u64), Signal>,
    told: u64,
    last: HashMap<About, f64>,
    /// Operations under way inside.
    doing: BTreeMap<OpId, Doing>,
    used: BTreeSet<OpId>,
    /// Really done or broken off, but not told.
    ended: BTreeSet<OpId>,
    pub failures: usize,
}

impl<'b> Late<'b> {
    pub fn new(inner: &'b mut dyn Backend, manners: Manners) -> Late<'b> {
        let state = manners.seed;
        let (coming, last, doing) = (BTreeMap::new(), HashMap::new(), BTreeMap::new());
        let (used, ended) = (BTreeSet::new(), BTreeSet::new());
        Late { inner, manners, state, coming, told: 0, last, doing, used, ended, failures: 0 }
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

    /// When nobody answers: until when.
    fn silent_until(&self) -> Option<f64> {
        let (every, lasts) = self.manners.silence?;
        let begin = (self.inner.now() / every).floor() * every;
        let silent = begin > 0.0 && self.inner.now() < begin + lasts;
        silent.then_some(begin + lasts)
    }

    /// A request fails on its way, or nobody answers.
    fn refuses(&mut self) -> Option<OpError> {
        if self.silent_until().is_some() {
            return Some(OpError::Transient("nobody answers".to_string()));
        }
        let failing = self.manners.failing;
        self.happens(failing).then(|| {
            self.failures += 1;
            OpError::Transient("it was not to begin".to_string())
        })
    }

    fn tell_later(&mut self, signal: Signal, about: About) {
        let steps = 8;
        let mut due = self.inner.now();
        if self.manners.late > 0.0 && self.happens(60) {
            due += self.manners.late * f64::from(self.draw(steps)) / f64::from(steps);
        }
        if let Some(heard) = self.silent_until() {
            due = due.max(heard);
        }
        let last = self.last.entry(about).or_insert(due);
        due = due.max(*last);
        *last = due;
        self.coming.insert((due.to_bits(), self.told), signal);
        self.told += 1;
    }

    fn really(&mut self, signal: Signal) {
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
        let Some(op) = signal.what.ends() else { return self.tell_later(signal, about) };
        self.doing.remove(&op);
        self.ended.insert(op);
        let failing = self.manners.failing;
        if matches!(signal.what, SignalKind::Done(..)) && self.happens(failing) {
            self.failures += 1;
            let what =
                SignalKind::Failed(op, OpError::Transient("it failed by itself".to_string()));
            return self.tell_later(Signal { what, ..signal }, about);
        }
        let twice = self.manners.twice;
        if self.happens(twice) {
            self.tell_later(signal.clone(), about);
        }
        self.tell_later(signal, about);
    }
}

impl Backend for Late<'_> {
    forward!(abilities charges now delete lease release reattach observe);

    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<Accepted, OpError> {
        assert!(self.used.insert(op), "{op:?} is used twice");
        if let Some(error) = self.refuses() {
            return Err(error);
        }
        // Nobody is sent to a processor that has not been given up.
        for doing in self.doing.values() {
            if let Doing::Computes { procs, .. } = doing {
                let shared = work.procs.iter().find(|p| procs.contains(p));
                assert!(shared.is_none(), "two tasks on {shared:?} at {}", self.inner.now());
            }
        }
        self.inner.compute(op, work)?;
        self.doing.insert(op, Doing::Computes { procs: work.procs.to_vec(), stopping: false });
        let waiting = self.manners.waiting;
        if self.happens(waiting) {
            let signal = Signal { at: self.inner.now(), what: SignalKind::Running(op) };
            self.tell_later(signal, About::Op(op));
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
                && self.manners.keeps_all
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
                self.really(signal);
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
