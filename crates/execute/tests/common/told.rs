//! A backend that tells some things besides, at their dates.

use slackline_execute::{
    Abilities, Accepted, Backend, BackendError, Computation, Movement, OpError, OpId, Open,
    Outlook, Reached, Signal,
};
use slackline_model::platform::Charges;
use slackline_model::problem::View;
use slackline_model::{FileId, HostId};
use std::collections::VecDeque;

pub struct Told<'b> {
    inner: &'b mut dyn Backend,
    /// In the order of their dates.
    news: VecDeque<Signal>,
}

impl<'b> Told<'b> {
    pub fn new(inner: &'b mut dyn Backend, news: Vec<Signal>) -> Told<'b> {
        Told { inner, news: news.into() }
    }
}

impl Backend for Told<'_> {
    fn abilities(&self) -> Abilities {
        self.inner.abilities()
    }

    fn charges(&self) -> Charges {
        self.inner.charges()
    }

    fn now(&self) -> f64 {
        self.inner.now()
    }

    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<Accepted, OpError> {
        self.inner.compute(op, work)
    }

    fn transfer(&mut self, op: OpId, movement: Movement<'_>) -> Result<Accepted, OpError> {
        self.inner.transfer(op, movement)
    }

    fn cancel(&mut self, op: OpId) -> Result<(), BackendError> {
        self.inner.cancel(op)
    }

    fn delete(&mut self, file: FileId, host: HostId) -> Result<(), BackendError> {
        self.inner.delete(file, host)
    }

    fn reattach(&mut self, open: &[Open], heard: u64) -> Result<(), BackendError> {
        self.inner.reattach(open, heard)
    }

    fn measure(&mut self, ops: &[OpId]) -> Vec<f64> {
        self.inner.measure(ops)
    }

    fn observe(&mut self, view: &mut View) {
        self.inner.observe(view);
    }

    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        let due = self.news.front().map_or(f64::INFINITY, |signal| signal.at);
        let reached = self.inner.next(until.min(due), signals)?;
        if self.inner.now() < due {
            return Ok(reached);
        }
        signals.extend(self.news.pop_front());
        Ok(Reached::Instant)
    }

    fn outlook(&mut self, quiet_since: f64) -> Outlook {
        self.inner.outlook(quiet_since)
    }
}
