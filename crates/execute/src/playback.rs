//! A run as its backend saw it, and a backend that plays it back: the same policy must come to
//! the same decisions without any machine, however the recorded run was made.

use crate::backend::{
    Abilities, Backend, BackendError, Computation, Movement, OpId, Reached, Signal,
};
use slackline_model::platform::Charges;
use slackline_model::problem::View;
use std::cell::{Cell, RefCell};

/// An answer of a backend.
#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Began(Operation),
    Cancelled(OpId),
    Progress(f64),
    Saw { availability: Vec<f64>, bandwidth: Vec<f64>, latency: Vec<f64> },
    Next { now: f64, reached: Reached, signals: Vec<Signal> },
    Moves(bool),
}

/// An operation that was asked for.
#[derive(Clone, Debug, PartialEq)]
struct Operation {
    op: OpId,
    task: Option<slackline_model::TaskId>,
    file: Option<slackline_model::FileId>,
}

/// Everything a backend was asked and answered, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tape {
    abilities: Abilities,
    charges: Charges,
    answers: Vec<Answer>,
}

/// A backend that writes down what it does.
pub struct Recorder<'b> {
    backend: &'b mut dyn Backend,
    tape: RefCell<Tape>,
}

impl<'b> Recorder<'b> {
    /// Listens to a backend.
    pub fn new(backend: &'b mut dyn Backend) -> Recorder<'b> {
        let (abilities, charges) = (backend.abilities(), backend.charges());
        let tape = Tape { abilities, charges, answers: Vec::new() };
        Recorder { backend, tape: RefCell::new(tape) }
    }

    /// What was recorded.
    pub fn into_tape(self) -> Tape {
        self.tape.into_inner()
    }

    fn add(&self, answer: Answer) {
        self.tape.borrow_mut().answers.push(answer);
    }
}

fn began_task(op: OpId, work: &Computation<'_>) -> Answer {
    Answer::Began(Operation { op, task: Some(work.task), file: None })
}

fn began_transfer(op: OpId, movement: &Movement) -> Answer {
    Answer::Began(Operation { op, task: None, file: Some(movement.file) })
}

impl Backend for Recorder<'_> {
    fn abilities(&self) -> Abilities {
        self.backend.abilities()
    }

    fn charges(&self) -> Charges {
        self.backend.charges()
    }

    fn now(&self) -> f64 {
        self.backend.now()
    }

    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<(), BackendError> {
        self.add(began_task(op, &work));
        self.backend.compute(op, work)
    }

    fn transfer(&mut self, op: OpId, movement: Movement) -> Result<(), BackendError> {
        self.add(began_transfer(op, &movement));
        self.backend.transfer(op, movement)
    }

    fn cancel(&mut self, op: OpId) -> Result<(), BackendError> {
        self.add(Answer::Cancelled(op));
        self.backend.cancel(op)
    }

    fn progress(&self, op: OpId) -> f64 {
        let progress = self.backend.progress(op);
        self.add(Answer::Progress(progress));
        progress
    }

    fn observe(&mut self, view: &mut View) {
        self.backend.observe(view);
        self.add(Answer::Saw {
            availability: view.availability.clone(),
            bandwidth: view.network.bandwidth.clone(),
            latency: view.network.latency.clone(),
        });
    }

    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        let before = signals.len();
        let reached = self.backend.next(until, signals)?;
        let (now, signals) = (self.backend.now(), signals[before..].to_vec());
        self.add(Answer::Next { now, reached, signals });
        Ok(reached)
    }

    fn moves(&mut self) -> bool {
        let moves = self.backend.moves();
        self.add(Answer::Moves(moves));
        moves
    }
}

/// A backend that gives the answers of a tape.
pub struct Playback {
    tape: Tape,
    next: Cell<usize>,
    now: f64,
    /// Where it was asked something that is not on the tape.
    departed: Cell<Option<usize>>,
}

impl Playback {
    /// From the beginning of a tape.
    pub fn new(tape: Tape) -> Playback {
        Playback { tape, next: Cell::new(0), now: 0.0, departed: Cell::new(None) }
    }

    /// Whether everything asked so far was asked in the recorded run too.
    pub fn is_faithful(&self) -> bool {
        self.departed.get().is_none()
    }

    /// The next answer, if it is of the kind that is asked for.
    fn take<T>(&self, pick: impl FnOnce(&Answer) -> Option<T>) -> Option<T> {
        let at = self.next.get();
        let found = match self.departed.get() {
            None => self.tape.answers.get(at).and_then(pick),
            Some(_) => None,
        };
        match found {
            Some(_) => self.next.set(at + 1),
            None if self.departed.get().is_none() => self.departed.set(Some(at)),
            None => {}
        }
        found
    }

    fn demand(&self, asked: Answer) -> Result<(), BackendError> {
        let same = self.take(|answer| (*answer == asked).then_some(()));
        same.ok_or_else(|| self.departure())
    }

    fn departure(&self) -> BackendError {
        let at = self.departed.get().unwrap_or_default();
        BackendError(format!("the run departs from the recording at answer {at}"))
    }
}

impl Backend for Playback {
    fn abilities(&self) -> Abilities {
        self.tape.abilities
    }

    fn charges(&self) -> Charges {
        self.tape.charges.clone()
    }

    fn now(&self) -> f64 {
        self.now
    }

    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<(), BackendError> {
        self.demand(began_task(op, &work))
    }

    fn transfer(&mut self, op: OpId, movement: Movement) -> Result<(), BackendError> {
        self.demand(began_transfer(op, &movement))
    }

    fn cancel(&mut self, op: OpId) -> Result<(), BackendError> {
        self.demand(Answer::Cancelled(op))
    }

    fn progress(&self, _: OpId) -> f64 {
        let known = |answer: &Answer| match answer {
            Answer::Progress(progress) => Some(*progress),
            _ => None,
        };
        self.take(known).unwrap_or(0.0)
    }

    fn observe(&mut self, view: &mut View) {
        let seen = self.take(|answer| match answer {
            Answer::Saw { availability, bandwidth, latency } => {
                Some((availability.clone(), bandwidth.clone(), latency.clone()))
            }
            _ => None,
        });
        if let Some((availability, bandwidth, latency)) = seen {
            view.availability = availability;
            view.network.bandwidth = bandwidth;
            view.network.latency = latency;
        }
    }

    fn next(&mut self, _: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        let step = self.take(|answer| match answer {
            Answer::Next { now, reached, signals } => Some((*now, *reached, signals.clone())),
            _ => None,
        });
        let (now, reached, told) = step.ok_or_else(|| self.departure())?;
        self.now = now;
        signals.extend(told);
        Ok(reached)
    }

    fn moves(&mut self) -> bool {
        let known = |answer: &Answer| match answer {
            Answer::Moves(moves) => Some(*moves),
            _ => None,
        };
        self.take(known).unwrap_or(false)
    }
}
