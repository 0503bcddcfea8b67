//! The dates of a run: seconds during which a process drove it. They come from a monotonic clock,
//! so that no change of the machine's date changes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A running clock; copies show the same time.
#[derive(Clone, Debug)]
pub struct Clock {
    since: Instant,
    /// The date at that moment, by its bits.
    base: Arc<AtomicU64>,
}

impl Clock {
    /// A clock that shows a date now.
    pub fn from(date: f64) -> Clock {
        Clock { since: Instant::now(), base: Arc::new(AtomicU64::new(date.to_bits())) }
    }

    /// Lets it go on from a date: what passed meanwhile does not count.
    pub(super) fn go_on_from(&self, date: f64) {
        let base = date - self.since.elapsed().as_secs_f64();
        self.base.store(base.to_bits(), Ordering::Relaxed);
    }

    /// The present date.
    pub fn now(&self) -> f64 {
        f64::from_bits(self.base.load(Ordering::Relaxed)) + self.since.elapsed().as_secs_f64()
    }
}
