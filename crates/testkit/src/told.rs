//! A backend with additional signals, at their dates.

use crate::forward;
use slackline_engine::{Backend, BackendError, Reached, Signal};
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
    forward!(abilities charges now compute transfer cancel delete lease release reattach);
    forward!(measure observe outlook);

    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        let due = self.news.front().map_or(f64::INFINITY, |signal| signal.at);
        let reached = self.inner.next(until.min(due), signals)?;
        if self.inner.now() < due {
            return Ok(reached);
        }
        signals.extend(self.news.pop_front());
        Ok(Reached::Instant)
    }
}
