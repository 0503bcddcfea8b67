//! Occupation of a processor over time: the idle gaps between its tasks.
//!
//! Insertion searches the earliest gap that is long enough. Gaps are kept sorted, in chunks; the end and the
//! longest gap of every chunk are stored side by side, so that a search finds its chunk and skips stretches in
//! which nothing fits without touching the gaps. Gaps shorter than the shortest task are forgotten at once.

use slackline_model::approx;

const CHUNK: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Gap {
    start: f64,
    end: f64,
    /// The longest of this gap and those after it in its chunk.
    longest: f64,
}

impl Gap {
    fn new(start: f64, end: f64) -> Gap {
        Gap { start, end, longest: end - start }
    }
}

/// Bounds and longest gap of a chunk, for searches.
#[derive(Clone, Copy, Debug)]
struct Digest {
    start: f64,
    end: f64,
    longest: f64,
}

impl Digest {
    /// Of a chunk whose gaps were changed.
    fn of(gaps: &mut [Gap]) -> Digest {
        let mut longest = 0.0f64;
        for gap in gaps.iter_mut().rev() {
            longest = longest.max(gap.end - gap.start);
            gap.longest = longest;
        }
        Digest {
            start: gaps.first().map_or(f64::INFINITY, |g| g.start),
            end: gaps.last().map_or(f64::NEG_INFINITY, |g| g.end),
            longest,
        }
    }
}

/// Bounds of what fits into any of many gaps, for quick rejection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// None begins before.
    pub(super) from: f64,
    /// Nothing that ends later, or takes longer, fits into one.
    until: f64,
    longest: f64,
}

impl Room {
    pub(super) const NONE: Room =
        Room { from: f64::INFINITY, until: f64::NEG_INFINITY, longest: f64::NEG_INFINITY };

    fn of(gaps: &Digest) -> Room {
        // A gap at a late date is only known to the precision of the date.
        let tolerance = 2.0 * approx::tolerance(gaps.end, 0.0);
        Room { from: gaps.start, until: gaps.end + tolerance, longest: gaps.longest + tolerance }
    }

    /// Of these gaps and others.
    pub(super) fn and(self, other: Room) -> Room {
        Room {
            from: self.from.min(other.from),
            until: self.until.max(other.until),
            longest: self.longest.max(other.longest),
        }
    }

    /// Whether a task of the given length could fit from `ready` on.
    #[inline]
    pub(super) fn may_hold(&self, ready: f64, seconds: f64) -> bool {
        self.longest >= seconds && ready + seconds <= self.until
    }
}

/// The later of two dates; unlike `f64::max` one instruction.
#[inline]
pub(super) fn later(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The idle time of one processor.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// From here on the processor is idle for good.
    tail: f64,
    /// Shorter gaps can hold no task.
    least: f64,
    /// Of all gaps.
    room: Room,
    digests: Vec<Digest>,
    chunks: Vec<Vec<Gap>>,
}

impl Timeline {
    /// Idle from `from` on; no task is shorter than `least`.
    pub fn new(from: f64, least: f64) -> Timeline {
        Timeline { tail: from, least, room: Room::NONE, digests: Vec::new(), chunks: Vec::new() }
    }

    /// When the last task ends: the start without insertion.
    #[inline]
    pub fn tail(&self) -> f64 {
        self.tail
    }

    /// Bounds of what fits into its gaps.
    #[inline]
    pub(super) fn room(&self) -> Room {
        self.room
    }

    /// A date before which a task cannot start that is `ready` then and takes `seconds`.
    #[inline]
    pub(super) fn not_before(&self, ready: f64, seconds: f64) -> f64 {
        if self.room.may_hold(ready, seconds) {
            later(ready, self.room.from)
        } else {
            later(ready, self.tail)
        }
    }

    /// Earliest start, not before `ready`, of a task of the given length. A gap that fits exactly
    /// counts.
    #[inline]
    pub fn earliest(&self, ready: f64, seconds: f64) -> f64 {
        self.earliest_worth(ready, seconds, |_| true)
    }

    /// The earliest start, or some later date where no start is `worth` it: the search ends with the first gap
    /// that begins too late, and later ones begin later.
    #[inline]
    pub fn earliest_worth(&self, ready: f64, seconds: f64, worth: impl Fn(f64) -> bool) -> f64 {
        if ready < self.tail
            && self.room.may_hold(ready, seconds)
            && let Some(start) = self.earliest_gap(ready, seconds, worth)
        {
            return start;
        }
        self.tail.max(ready)
    }

    /// The first date after this one at which it becomes idle.
    pub(super) fn next_idle(&self, after: f64) -> f64 {
        let gaps = self.chunks.iter().flatten().map(|gap| gap.start);
        let mut starts = gaps.chain(std::iter::once(self.tail));
        starts.find(|&start| start > after).unwrap_or(f64::INFINITY)
    }

    fn earliest_gap(&self, ready: f64, seconds: f64, worth: impl Fn(f64) -> bool) -> Option<f64> {
        let first = self.digests.partition_point(|d| d.end < ready);
        for (digest, gaps) in self.digests[first..].iter().zip(&self.chunks[first..]) {
            // A gap at a late date is only known to the precision of the date.
            let tolerance = approx::tolerance(digest.end, 0.0);
            if digest.longest + tolerance < seconds {
                continue;
            }
            let from = gaps.partition_point(|g| g.end < ready);
            for gap in &gaps[from..] {
                if gap.longest + tolerance < seconds {
                    break;
                }
                let start = gap.start.max(ready);
                if approx::le(start + seconds, gap.end) {
                    return Some(start);
                }
                if !worth(start) {
                    return Some(start);
                }
            }
        }
        None
    }

    /// Takes `[start, finish)`, which must be in one gap or after the tail.
    pub fn occupy(&mut self, start: f64, finish: f64) {
        if start >= self.tail || self.chunks.is_empty() {
            let gap = Gap::new(self.tail, start);
            self.tail = self.tail.max(finish);
            if self.keeps(gap) {
                self.append(gap);
            }
            return;
        }
        // The last gap that starts at or before `start` (within rounding).
        let chunk = self.digests.partition_point(|d| approx::le(d.start, start)).saturating_sub(1);
        let gaps = &mut self.chunks[chunk];
        let position = gaps.partition_point(|g| approx::le(g.start, start)).saturating_sub(1);
        let gap = gaps[position];
        let before = Gap::new(gap.start, start);
        let after = Gap::new(finish, gap.end);
        let least = self.least;
        match (keeps(before, least), keeps(after, least)) {
            (true, true) => {
                gaps[position] = before;
                gaps.insert(position + 1, after);
            }
            (true, false) => gaps[position] = before,
            (false, true) => gaps[position] = after,
            (false, false) => {
                gaps.remove(position);
            }
        }
        self.repair(chunk);
    }

    fn keeps(&self, gap: Gap) -> bool {
        keeps(gap, self.least)
    }

    fn append(&mut self, gap: Gap) {
        match (self.chunks.last_mut(), self.digests.last_mut()) {
            (Some(gaps), Some(digest)) if gaps.len() < CHUNK => {
                digest.longest = digest.longest.max(gap.longest);
                digest.end = gap.end;
                let shorter = |g: &&mut Gap| g.longest < gap.longest;
                gaps.iter_mut().rev().take_while(shorter).for_each(|g| g.longest = gap.longest);
                gaps.push(gap);
                self.room = self.room.and(Room::of(digest));
            }
            _ => {
                let digest = Digest::of(&mut [gap]);
                self.room = self.room.and(Room::of(&digest));
                self.digests.push(digest);
                self.chunks.push(vec![gap]);
            }
        }
    }

    /// Splits an overfull chunk, removes an empty one, renews its digest.
    fn repair(&mut self, index: usize) {
        let before = self.digests[index];
        if self.chunks[index].is_empty() {
            self.chunks.remove(index);
            self.digests.remove(index);
        } else {
            if self.chunks[index].len() > CHUNK {
                let mut rest = self.chunks[index].split_off(CHUNK / 2);
                self.digests.insert(index + 1, Digest::of(&mut rest));
                self.chunks.insert(index + 1, rest);
            }
            self.digests[index] = Digest::of(&mut self.chunks[index]);
        }
        // Gaps only shrink: the room of the others remains valid.
        let mut ends = Room::NONE;
        for digest in self.digests.first().into_iter().chain(self.digests.last()) {
            ends = ends.and(Room::of(digest));
        }
        let longest = if Room::of(&before).longest < self.room.longest {
            self.room.longest
        } else {
            self.digests.iter().map(Room::of).fold(Room::NONE, Room::and).longest
        };
        self.room = Room { longest, ..ends };
    }
}

/// Whether a gap can hold a task of the least length.
fn keeps(gap: Gap, least: f64) -> bool {
    let length = gap.end - gap.start;
    length >= 0.0 && length >= least - approx::tolerance(gap.end, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_gap_that_fits_exactly_counts() {
        let mut line = Timeline::new(0.0, 1.0);
        line.occupy(10.0, 20.0);
        line.occupy(25.0, 30.0);
        assert_eq!(line.earliest(0.0, 10.0), 0.0);
        assert_eq!(line.earliest(0.0, 10.5), 30.0);
        assert_eq!(line.earliest(12.0, 5.0), 20.0);
        assert_eq!(line.earliest(21.0, 5.0), 30.0);
        line.occupy(20.0, 25.0);
        assert_eq!(line.earliest(12.0, 5.0), 30.0);
        assert_eq!(line.earliest(3.0, 7.0), 3.0);
    }

    /// The scan as the papers write it.
    fn scan(busy: &[(f64, f64)], ready: f64, seconds: f64) -> f64 {
        let mut sorted = busy.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut current = 0.0f64;
        for (a, b) in sorted {
            let start = current.max(ready);
            if start + seconds <= a {
                return start;
            }
            current = current.max(b);
        }
        current.max(ready)
    }

    proptest! {
        #[test]
        fn finds_what_the_plain_scan_finds(
            jobs in prop::collection::vec((0u32..2000, 1u32..40), 1..300)
        ) {
            let mut line = Timeline::new(0.0, 1.0);
            let mut busy = Vec::new();
            for (ready, seconds) in jobs {
                let (ready, seconds) = (f64::from(ready), f64::from(seconds));
                let start = line.earliest(ready, seconds);
                prop_assert_eq!(start, scan(&busy, ready, seconds));
                line.occupy(start, start + seconds);
                busy.push((start, start + seconds));
            }
        }
    }
}
