//! Hosts that are served for a limited time: a pilot, until its batch job ends and the next comes.

use serde::{Deserialize, Serialize};

/// Part of the time of a fresh stay that a task can count on for sure.
const FRESH: f64 = 0.95;

/// The time for which a host is served: until a date, and, after a gap, again and again for the same length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stay {
    /// Date by which tasks have to be over.
    pub ends: f64,
    /// Expected seconds from that date until tasks can begin again.
    pub gap: f64,
    /// Seconds that each later stay has for tasks.
    pub whole: f64,
    /// Ratio of the time that a task has to find to its estimate; at least 1.
    pub safety: f64,
}

impl Stay {
    /// The same stay on a clock that began so many seconds later.
    pub(crate) fn earlier(self, seconds: f64) -> Stay {
        Stay { ends: self.ends - seconds, ..self }
    }

    /// The earliest date, not before `from`, at which a task of so many seconds may begin. One that fits into no
    /// stay is not held back: whoever serves the host answers for it.
    pub fn earliest(&self, from: f64, seconds: f64) -> f64 {
        // What fits without anything to spare has at least all the time of a fresh stay.
        let needed = (self.safety * seconds).min(seconds.max(FRESH * self.whole));
        if needed > self.whole || from + needed <= self.ends {
            return from;
        }
        let first = self.ends + self.gap;
        if from <= first || self.whole <= 0.0 {
            return from.max(first);
        }
        let period = self.whole + self.gap;
        let begin = first + ((from - first) / period).floor() * period;
        // Rounding may have put it a little behind the date.
        let begin = begin.min(from);
        if from + needed <= begin + self.whole || from == begin { from } else { begin + period }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_wait_for_the_next_stay_that_holds_them() {
        // Of 600 s each 60 s are kept free; the next comes 30 s after the end of the one before.
        let stay = Stay { ends: 540.0, gap: 90.0, whole: 540.0, safety: 1.25 };
        for (from, seconds, begins) in [
            (0.0, 400.0, 0.0),
            (0.0, 450.0, 0.0), // 513 s are enough for what would want 562
            (10.0, 100.0, 10.0),
            (440.0, 80.0, 440.0),
            (440.0, 81.0, 630.0),
            (600.0, 1.0, 630.0),
            (700.0, 100.0, 700.0),
            (1100.0, 100.0, 1260.0),
            (1260.0, 432.0, 1260.0),
            (100.0, 541.0, 100.0), // fits nowhere
        ] {
            assert_eq!(stay.earliest(from, seconds), begins, "{seconds} s from {from}");
        }
        assert_eq!(stay.earliest(30.0, 450.0), 630.0);
        assert_eq!(stay.earlier(40.0).earliest(0.0, 450.0), 590.0);
    }
}
