//! A backend that emits additional signals at given dates, around another one.

use crate::forward;
use slackline_engine::{Backend, BackendError, Reached, Signal};
use std::collections::VecDeque;

pub struct ExtraSignals<'b> {
    inner: &'b mut dyn Backend,
    /// In the order of their dates.
    extra: VecDeque<Signal>,
}

impl<'b> ExtraSignals<'b> {
    pub fn new(inner: &'b mut dyn Backend, extra: Vec<Signal>) -> ExtraSignals<'b> {
        ExtraSignals { inner, extra: extra.into() }
    }
}

impl Backend for ExtraSignals<'_> {
    forward!(abilities charges now compute transfer cancel delete lease release reattach);
    forward!(measure observe outlook);

    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        let due = self.extra.front().map_or(f64::INFINITY, |signal| signal.at);
        let reached = self.inner.next(until.min(due), signals)?;
        if self.inner.now() < due {
            return Ok(reached);
        }
        signals.extend(self.extra.pop_front());
        Ok(Reached::Instant)
    }
}
