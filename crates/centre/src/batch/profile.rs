//! Free units over time, given the limits of running jobs and the promises to waiting ones.

/// From a date on, so many units are free.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Segment {
    from: f64,
    free: u64,
}

/// A step function of time; the last step lasts for ever.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    segments: Vec<Segment>,
    /// The first segment that still counts.
    first: usize,
}

impl Profile {
    pub(super) fn new(units: u64) -> Profile {
        Profile { segments: vec![Segment { from: f64::NEG_INFINITY, free: units }], first: 0 }
    }

    /// Forgets everything before a date.
    pub(super) fn forget_before(&mut self, now: f64) {
        while self.segments.get(self.first + 1).is_some_and(|next| next.from <= now) {
            self.first += 1;
        }
        if self.first > 64 && self.first > self.segments.len() / 2 {
            self.segments.drain(..self.first);
            self.first = 0;
        }
    }

    /// Index of the segment that holds a date not before the first one.
    fn index(&self, date: f64) -> usize {
        let segments = &self.segments[self.first..];
        self.first + segments.partition_point(|segment| segment.from <= date).saturating_sub(1)
    }

    /// The earliest date from `now` on, and before `until`, at which so many units are free for
    /// `length` seconds, where the time from `own` on is free in any case.
    pub(super) fn earliest(
        &self,
        units: u64,
        length: f64,
        now: f64,
        until: f64,
        own: f64,
    ) -> Option<f64> {
        let mut start = now;
        let mut k = self.index(now);
        loop {
            if start >= until {
                return None;
            }
            let end = (start + length).min(own);
            // An instant without length needs its units all the same.
            match self.blocked(k, units, start, end) {
                None => return Some(start),
                Some(blocked) => {
                    let mut next = blocked + 1;
                    while self.segments.get(next).is_some_and(|segment| segment.free < units) {
                        next += 1;
                    }
                    start = self.segments.get(next)?.from;
                    k = next;
                }
            }
        }
    }

    /// The first segment from `k` on, up to a date, with fewer units.
    fn blocked(&self, k: usize, units: u64, start: f64, end: f64) -> Option<usize> {
        let after = &self.segments[k..];
        let reached = after.iter().take_while(|s| s.from <= start || s.from < end);
        reached.enumerate().find(|(_, segment)| segment.free < units).map(|(offset, _)| k + offset)
    }

    /// Makes a date a boundary; the index of the segment that begins there.
    fn split(&mut self, date: f64) -> usize {
        let k = self.index(date);
        if self.segments[k].from == date {
            return k;
        }
        let free = self.segments[k].free;
        self.segments.insert(k + 1, Segment { from: date, free });
        k + 1
    }

    /// Makes a boundary no boundary where nothing changes at it.
    fn join(&mut self, k: usize) {
        if k > self.first
            && k < self.segments.len()
            && self.segments[k - 1].free == self.segments[k].free
        {
            self.segments.remove(k);
        }
    }

    /// Takes units for a time.
    pub(super) fn take(&mut self, units: u64, start: f64, end: f64) {
        self.change(start, end, |free| {
            debug_assert!(*free >= units, "more units promised than there are");
            *free = free.saturating_sub(units);
        });
    }

    /// Gives units back for a time.
    pub(super) fn release(&mut self, units: u64, start: f64, end: f64) {
        self.change(start, end, |free| *free += units);
    }

    fn change(&mut self, start: f64, end: f64, change: impl Fn(&mut u64)) {
        if end <= start {
            return;
        }
        let from = self.split(start);
        let to = self.split(end);
        self.segments[from..to].iter_mut().for_each(|segment| change(&mut segment.free));
        self.join(to);
        self.join(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: f64 = f64::INFINITY;

    #[test]
    fn finds_the_first_gap_that_is_long_enough() {
        let mut profile = Profile::new(4);
        profile.take(3, 0.0, 10.0);
        profile.take(2, 15.0, 20.0);
        assert_eq!(profile.earliest(1, 100.0, 0.0, NEVER, NEVER), Some(0.0));
        assert_eq!(profile.earliest(3, 5.0, 0.0, NEVER, NEVER), Some(10.0));
        assert_eq!(profile.earliest(3, 6.0, 0.0, NEVER, NEVER), Some(20.0));
        assert_eq!(profile.earliest(3, 0.0, 0.0, NEVER, NEVER), Some(10.0));
        assert_eq!(profile.earliest(3, 6.0, 0.0, 20.0, NEVER), None);
        assert_eq!(profile.earliest(3, 6.0, 0.0, NEVER, 15.0), Some(10.0));
    }

    #[test]
    fn what_is_taken_and_given_back_leaves_no_trace() {
        let mut profile = Profile::new(4);
        profile.take(3, 0.0, 10.0);
        profile.take(1, 5.0, 20.0);
        profile.release(1, 5.0, 20.0);
        profile.release(3, 0.0, 10.0);
        assert_eq!(profile.segments.len(), 1);
    }
}
