//! Use of one pool over time: sorted steps, in chunks, as the gaps of a processor are.
//!
//! The least and the largest use of every chunk are stored side by side, so that a search skips stretches in
//! which a demand cannot fit, and those in which it fits throughout, without touching the steps.

use slackline_model::approx;

const CHUNK: usize = 64;

/// So much is held from a date to that of the next step.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    at: f64,
    used: u64,
}

/// Start, least and largest use of a chunk, for searches.
#[derive(Clone, Copy, Debug)]
struct Digest {
    start: f64,
    least: u64,
    most: u64,
}

impl Digest {
    fn of(steps: &[Step]) -> Digest {
        let used = || steps.iter().map(|step| step.used);
        Digest {
            start: steps.first().map_or(f64::INFINITY, |step| step.at),
            least: used().min().unwrap_or(0),
            most: used().max().unwrap_or(0),
        }
    }
}

/// Use of one pool over time.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    digests: Vec<Digest>,
    chunks: Vec<Vec<Step>>,
}

impl Profile {
    /// Nothing is held.
    pub(crate) fn new() -> Profile {
        let first = Step { at: 0.0, used: 0 };
        Profile { digests: vec![Digest::of(&[first])], chunks: vec![vec![first]] }
    }

    /// The last step that begins at or before a date, within rounding.
    fn at(&self, date: f64) -> (usize, usize) {
        // The last date that equals it but for rounding.
        let limit = date / (1.0 - approx::EPSILON);
        let chunk = self.digests.partition_point(|d| d.start <= limit).saturating_sub(1);
        let step = self.chunks[chunk].partition_point(|s| s.at <= limit).saturating_sub(1);
        (chunk, step)
    }

    /// The earliest date, not before `from`, from which on no more than `room` is held for so many
    /// seconds.
    pub(crate) fn earliest(&self, room: u64, from: f64, seconds: f64) -> f64 {
        let mut start = from;
        let (mut chunk, mut at) = self.at(from);
        loop {
            if self.digests[chunk].most <= room {
                (chunk, at) = (chunk + 1, 0);
            } else {
                if self.chunks[chunk][at].used > room {
                    match self.next_free(chunk, at + 1, room) {
                        Some(next) => (chunk, at) = next,
                        None => return f64::INFINITY,
                    }
                    start = start.max(self.chunks[chunk][at].at);
                }
                at += 1;
                if at == self.chunks[chunk].len() {
                    (chunk, at) = (chunk + 1, 0);
                }
            }
            let next = self.chunks.get(chunk).map(|steps| steps[at].at);
            // Clearly before the end.
            let end = (start + seconds) * (1.0 - approx::EPSILON);
            if next.is_none_or(|date| date >= end) {
                return start;
            }
        }
    }

    /// The first step from here on at which no more than `room` is held.
    fn next_free(&self, chunk: usize, at: usize, room: u64) -> Option<(usize, usize)> {
        let free = |step: &Step| step.used <= room;
        if let Some(found) = self.chunks[chunk][at..].iter().position(free) {
            return Some((chunk, at + found));
        }
        let later = self.digests[chunk + 1..].iter().position(|d| d.least <= room)?;
        let chunk = chunk + 1 + later;
        self.chunks[chunk].iter().position(free).map(|at| (chunk, at))
    }

    /// The first date after this one at which less is held than before it.
    pub(crate) fn next_fall(&self, after: f64) -> f64 {
        let (mut chunk, mut at) = self.at(after);
        let mut used = self.chunks[chunk][at].used;
        loop {
            at += 1;
            if at == self.chunks[chunk].len() {
                (chunk, at) = (chunk + 1, 0);
            }
            let Some(step) = self.chunks.get(chunk).map(|steps| steps[at]) else {
                return f64::INFINITY;
            };
            if step.used < used && step.at > after {
                return step.at;
            }
            used = step.used;
        }
    }

    /// The step that begins at a date, within rounding; made where there is none.
    fn cut(&mut self, date: f64) -> (usize, usize) {
        let (chunk, at) = self.at(date);
        let step = self.chunks[chunk][at];
        if approx::eq(step.at, date) || step.at >= date {
            return (chunk, at);
        }
        let steps = &mut self.chunks[chunk];
        steps.insert(at + 1, Step { at: date, used: step.used });
        if steps.len() <= CHUNK {
            return (chunk, at + 1);
        }
        let rest = steps.split_off(CHUNK / 2);
        self.digests[chunk] = Digest::of(&self.chunks[chunk]);
        self.digests.insert(chunk + 1, Digest::of(&rest));
        self.chunks.insert(chunk + 1, rest);
        match at + 1 < CHUNK / 2 {
            true => (chunk, at + 1),
            false => (chunk + 1, at + 1 - CHUNK / 2),
        }
    }

    /// Changes what is held in `[start, finish)`.
    fn change(&mut self, start: f64, finish: f64, by: impl Fn(u64) -> u64) {
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
            let to = if chunk == last { end } else { self.chunks[chunk].len() };
            for step in &mut self.chunks[chunk][from..to] {
                step.used = by(step.used);
            }
            self.digests[chunk] = Digest::of(&self.chunks[chunk]);
        }
    }

    /// Holds so much in `[start, finish)`.
    pub(crate) fn hold(&mut self, amount: u64, start: f64, finish: f64) {
        self.change(start, finish, |used| used + amount);
    }

    /// Takes back what was held so.
    pub(crate) fn release(&mut self, amount: u64, start: f64, finish: f64) {
        self.change(start, finish, |used| used.saturating_sub(amount));
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
            (chunk, 0) => self.chunks[chunk - 1].last().map(|step| step.used),
            (chunk, at) => Some(self.chunks[chunk][at - 1].used),
        };
        if before != Some(self.chunks[chunk][at].used) {
            return;
        }
        self.chunks[chunk].remove(at);
        if self.chunks[chunk].is_empty() {
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
        assert_eq!(memory.earliest(32 - 12, 0.0, 5.0), 6.0);
        assert_eq!(memory.earliest(32 - 13, 0.0, 3.0), 10.0);
        assert_eq!(memory.earliest(32 - 12, 0.0, 4.0), 0.0);
        assert_eq!(memory.next_fall(4.0), 6.0);
        memory.release(10, 4.0, 6.0);
        assert_eq!(memory.earliest(32 - 12, 0.0, 5.0), 0.0);
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
                let start = profile.earliest(CAPACITY - amount, f64::from(ready), f64::from(seconds));
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
