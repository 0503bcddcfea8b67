//! The dates of a run: seconds that somebody drove it. They come from a clock that cannot be set,
//! so that no change of the machine's date changes them.

use std::time::Instant;

/// A running clock; copies show the same time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    base: f64,
    since: Instant,
}

impl Clock {
    /// A clock that shows a date now.
    pub fn from(date: f64) -> Clock {
        Clock { base: date, since: Instant::now() }
    }

    /// The present date.
    pub fn now(&self) -> f64 {
        self.base + self.since.elapsed().as_secs_f64()
    }
}
