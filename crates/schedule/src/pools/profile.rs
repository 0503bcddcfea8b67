//! Use of one pool over time: sorted steps, in chunks, as the gaps of a processor are.
//!
//! The least and the largest use of every chunk are stored side by side, so that a search skips stretches in
//! which a demand cannot fit, and those in which it fits throughout, without touching the steps.

use slackline_model::approx;
use std::ops::Range;

const CHUNK: usize = 64;

/// Start, least and largest use of a chunk, for searches.
#[derive(Clone, Copy, Debug)]
struct Digest {
    start: f64,
    least: u64,
    most: u64,
}

impl Digest {
    fn of(chunk: &Chunk) -> Digest {
        let used = || chunk.used.iter().copied();
        Digest {
            start: chunk.dates.first().copied().unwrap_or(f64::INFINITY),
            least: used().min().unwrap_or(0),
            most: used().max().unwrap_or(0),
        }
    }
}

/// Steps: so much is held from each date to the next. Dates and amounts apart, because searches read one of
/// them at a time.
#[derive(Clone, Debug)]
struct Chunk {
    dates: Vec<f64>,
    used: Vec<u64>,
}

/// Use of one pool over time.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    digests: Vec<Digest>,
    chunks: Vec<Chunk>,
    /// Two dates were taken for one though they differ.
    is_noisy: bool,
}

impl Profile {
    /// Nothing is held.
    pub(crate) fn new() -> Profile {
        let first = Chunk { dates: vec![0.0], used: vec![0] };
        Profile { digests: vec![Digest::of(&first)], chunks: vec![first], is_noisy: false }
    }

    /// Whether two dates were taken for one though they differ by rounding.
    #[inline]
    pub(crate) fn is_noisy(&self) -> bool {
        self.is_noisy
    }

    /// The last step that begins at or before a date, within rounding.
    fn at(&self, date: f64) -> (usize, usize) {
        // The last date that equals it but for rounding.
        let limit = date / (1.0 - approx::EPSILON);
        let chunk = self.digests.partition_point(|d| d.start <= limit).saturating_sub(1);
        let step = self.chunks[chunk].dates.partition_point(|&d| d <= limit).saturating_sub(1);
        (chunk, step)
    }

    /// The earliest date, not before `from`, from which on no more than `room` is held for so many seconds; or
    /// some later date where no start is `worth` it.
    #[inline]
    pub(crate) fn earliest(
        &self,
        room: u64,
        from: f64,
        seconds: f64,
        worth: impl Fn(f64) -> bool,
    ) -> f64 {
        // Clearly before the end of what starts then.
        let before_end = |start: f64| (start + seconds) * (1.0 - approx::EPSILON);
        let (first, mut at) = self.at(from);
        let (mut start, mut end, mut full) = (from, before_end(from), false);
        for (digest, chunk) in self.digests[first..].iter().zip(&self.chunks[first..]) {
            let skipped = std::mem::take(&mut at);
            if !full && skipped == 0 && digest.start >= end {
                return start;
            }
            if digest.least > room {
                full = true;
                continue;
            }
            if digest.most <= room && !full {
                continue;
            }
            for (&date, &used) in chunk.dates[skipped..].iter().zip(&chunk.used[skipped..]) {
                if full {
                    if used <= room {
                        full = false;
                        start = if date > start { date } else { start };
                        if !worth(start) {
                            return start;
                        }
                        end = before_end(start);
                    }
                } else if date >= end {
                    return start;
                } else {
                    full = used > room;
                }
            }
        }
        if full { f64::INFINITY } else { start }
    }

    /// The first date after this one at which less is held than before it.
    pub(crate) fn next_fall(&self, after: f64) -> f64 {
        let (mut chunk, mut at) = self.at(after);
        let mut used = self.chunks[chunk].used[at];
        loop {
            at += 1;
            if at == self.chunks[chunk].used.len() {
                (chunk, at) = (chunk + 1, 0);
            }
            let Some(steps) = self.chunks.get(chunk) else { return f64::INFINITY };
            if steps.used[at] < used && steps.dates[at] > after {
                return steps.dates[at];
            }
            used = steps.used[at];
        }
    }

    /// The step that begins at a date, within rounding; made where there is none.
    fn cut(&mut self, date: f64) -> (usize, usize) {
        let (chunk, at) = self.at(date);
        let steps = &mut self.chunks[chunk];
        let (known, used) = (steps.dates[at], steps.used[at]);
        if approx::eq(known, date) || known >= date {
            self.is_noisy |= known != date;
            return (chunk, at);
        }
        steps.dates.insert(at + 1, date);
        steps.used.insert(at + 1, used);
        if steps.dates.len() <= CHUNK {
            return (chunk, at + 1);
        }
        let (dates, used) = (steps.dates.split_off(CHUNK / 2), steps.used.split_off(CHUNK / 2));
        let rest = Chunk { dates, used };
        self.digests[chunk] = Digest::of(&self.chunks[chunk]);
        self.digests.insert(chunk + 1, Digest::of(&rest));
        self.chunks.insert(chunk + 1, rest);
        if at + 1 < CHUNK / 2 { (chunk, at + 1) } else { (chunk + 1, at + 1 - CHUNK / 2) }
    }

    /// Passes on the steps in `[start, finish)`, chunk by chunk.
    #[inline]
    fn change(
        &mut self,
        start: f64,
        finish: f64,
        each: impl Fn(&mut Digest, &mut Chunk, Range<usize>),
    ) {
        if !approx::lt(start, finish) {
            return;
        }
        let chunks = self.chunks.len();
        let (mut first, mut begin) = self.cut(start);
        let (last, end) = self.cut(finish);
        if self.chunks.len() != chunks {
            (first, begin) = self.at(start);
        }
        for chunk in first..=last {
            let from = if chunk == first { begin } else { 0 };
            let to = if chunk == last { end } else { self.chunks[chunk].used.len() };
            each(&mut self.digests[chunk], &mut self.chunks[chunk], from..to);
        }
    }

    /// Holds so much in `[start, finish)`.
    pub(crate) fn hold(&mut self, amount: u64, start: f64, finish: f64) {
        self.change(start, finish, |digest, chunk, steps| {
            let (mut least, mut most) = (u64::MAX, digest.most);
            for used in &mut chunk.used[steps] {
                least = least.min(*used);
                *used += amount;
                most = most.max(*used);
            }
            digest.most = most;
            if least == digest.least {
                digest.least = chunk.used.iter().copied().min().unwrap_or(0);
            }
        });
    }

    /// Takes back what was held so.
    pub(crate) fn release(&mut self, amount: u64, start: f64, finish: f64) {
        self.change(start, finish, |digest, chunk, steps| {
            chunk.used[steps].iter_mut().for_each(|used| *used = used.saturating_sub(amount));
            *digest = Digest::of(chunk);
        });
        if approx::lt(start, finish) {
            self.join(finish);
            self.join(start);
        }
    }

    /// Drops the step at a date where it changes nothing.
    fn join(&mut self, date: f64) {
        let (chunk, at) = self.at(date);
        let before = match (chunk, at) {
            (0, 0) => return,
            (chunk, 0) => self.chunks[chunk - 1].used.last().copied(),
            (chunk, at) => Some(self.chunks[chunk].used[at - 1]),
        };
        if before != Some(self.chunks[chunk].used[at]) {
            return;
        }
        self.chunks[chunk].dates.remove(at);
        self.chunks[chunk].used.remove(at);
        if self.chunks[chunk].used.is_empty() {
            self.chunks.remove(chunk);
            self.digests.remove(chunk);
        } else {
            self.digests[chunk] = Digest::of(&self.chunks[chunk]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_examples_of_the_text() {
        // A holds 20 of 32 in [0, 10), B 10 in [4, 6).
        let mut memory = Profile::new();
        memory.hold(20, 0.0, 10.0);
        memory.hold(10, 4.0, 6.0);
        // C (5 s, 12) would meet both before 6; D (3 s, 13) meets A until 10.
        assert_eq!(memory.earliest(32 - 12, 0.0, 5.0, |_| true), 6.0);
        assert_eq!(memory.earliest(32 - 13, 0.0, 3.0, |_| true), 10.0);
        assert_eq!(memory.earliest(32 - 12, 0.0, 4.0, |_| true), 0.0);
        assert_eq!(memory.next_fall(4.0), 6.0);
        memory.release(10, 4.0, 6.0);
        assert_eq!(memory.earliest(32 - 12, 0.0, 5.0, |_| true), 0.0);
    }

    proptest! {
        #[test]
        fn finds_what_a_look_at_every_date_finds(
            jobs in prop::collection::vec((0u32..600, 1u32..40, 1u64..9), 1..250)
        ) {
            const CAPACITY: u64 = 16;
            let mut profile = Profile::new();
            let mut used = vec![0u64; 40_000];
            let mut held = Vec::new();
            for (index, (ready, seconds, amount)) in jobs.into_iter().enumerate() {
                let fits = |from: usize| {
                    used[from..from + seconds as usize].iter().all(|u| u + amount <= CAPACITY)
                };
                let wanted = (ready as usize..).find(|&from| fits(from)).unwrap();
                let start = profile.earliest(
                    CAPACITY - amount,
                    f64::from(ready),
                    f64::from(seconds),
                    |_| true,
                );
                prop_assert_eq!(start, wanted as f64);
                let finish = start + f64::from(seconds);
                profile.hold(amount, start, finish);
                (wanted..wanted + seconds as usize).for_each(|at| used[at] += amount);
                held.push((amount, start, finish));
                if index % 5 == 4 {
                    let (amount, start, finish) = held.swap_remove(index / 5 % held.len());
                    profile.release(amount, start, finish);
                    (start as usize..finish as usize).for_each(|at| used[at] -= amount);
                }
            }
        }
    }
}
