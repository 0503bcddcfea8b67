//! What a processor does when: the idle gaps between its tasks.
//!
//! Insertion looks for the earliest gap that is long enough. Gaps are kept sorted, in chunks that
//! know their longest gap, so that a search skips stretches in which nothing fits; gaps shorter
//! than the shortest task are forgotten at once.

use slackline_model::approx;

const CHUNK: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Gap {
    start: f64,
    end: f64,
}

#[derive(Clone, Debug)]
struct Chunk {
    gaps: Vec<Gap>,
    longest: f64,
}

impl Chunk {
    fn new(gaps: Vec<Gap>) -> Chunk {
        let longest = gaps.iter().map(|g| g.end - g.start).fold(0.0, f64::max);
        Chunk { gaps, longest }
    }

    fn end(&self) -> f64 {
        self.gaps.last().map_or(f64::NEG_INFINITY, |g| g.end)
    }
}

/// The idle time of one processor.
#[derive(Clone, Debug)]
pub struct Timeline {
    chunks: Vec<Chunk>,
    /// From here on the processor is idle for good.
    tail: f64,
    /// Shorter gaps can hold no task.
    least: f64,
}

impl Timeline {
    /// Idle from `from` on; no task is shorter than `least`.
    pub fn new(from: f64, least: f64) -> Timeline {
        Timeline { chunks: Vec::new(), tail: from, least }
    }

    /// When the last task ends: the start without insertion.
    #[inline]
    pub fn tail(&self) -> f64 {
        self.tail
    }

    /// Earliest start, not before `ready`, of a task of the given length. A gap that fits exactly
    /// counts.
    #[inline]
    pub fn earliest(&self, ready: f64, seconds: f64) -> f64 {
        if ready < self.tail
            && let Some(start) = self.earliest_gap(ready, seconds)
        {
            return start;
        }
        self.tail.max(ready)
    }

    fn earliest_gap(&self, ready: f64, seconds: f64) -> Option<f64> {
        let first = self.chunks.partition_point(|c| c.end() < ready);
        for chunk in &self.chunks[first..] {
            // A gap at a late date is only known to the precision of the date.
            if chunk.longest + approx::tolerance(chunk.end(), 0.0) < seconds {
                continue;
            }
            let from = chunk.gaps.partition_point(|g| g.end < ready);
            for gap in &chunk.gaps[from..] {
                let start = gap.start.max(ready);
                if approx::le(start + seconds, gap.end) {
                    return Some(start);
                }
            }
        }
        None
    }

    /// Takes `[start, finish)`, which must lie in one gap or after the tail.
    pub fn occupy(&mut self, start: f64, finish: f64) {
        if start >= self.tail || self.chunks.is_empty() {
            let gap = Gap { start: self.tail, end: start };
            self.tail = self.tail.max(finish);
            if self.keeps(gap) {
                self.append(gap);
            }
            return;
        }
        // The last gap that starts at or before `start` (within rounding).
        let at_or_before = |g: &Gap| approx::le(g.start, start);
        let starts = |c: &Chunk| c.gaps.first().is_some_and(at_or_before);
        let chunk = self.chunks.partition_point(starts).saturating_sub(1);
        let gaps = &mut self.chunks[chunk].gaps;
        let position = gaps.partition_point(at_or_before).saturating_sub(1);
        let gap = gaps[position];
        let before = Gap { start: gap.start, end: start };
        let after = Gap { start: finish, end: gap.end };
        let least = self.least;
        let keep = |g: &Gap| g.end - g.start >= least - approx::tolerance(g.end, 0.0);
        let kept = [before, after].into_iter().filter(|g| g.end >= g.start && keep(g));
        gaps.splice(position..=position, kept);
        self.repair(chunk);
    }

    fn keeps(&self, gap: Gap) -> bool {
        let length = gap.end - gap.start;
        length >= 0.0 && length >= self.least - approx::tolerance(gap.end, 0.0)
    }

    fn append(&mut self, gap: Gap) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.gaps.len() < CHUNK => {
                chunk.longest = chunk.longest.max(gap.end - gap.start);
                chunk.gaps.push(gap);
            }
            _ => self.chunks.push(Chunk::new(vec![gap])),
        }
    }

    /// Splits an overfull chunk, removes an empty one, renews its longest gap.
    fn repair(&mut self, index: usize) {
        let mut gaps = std::mem::take(&mut self.chunks[index].gaps);
        if gaps.is_empty() {
            self.chunks.remove(index);
            return;
        }
        if gaps.len() > CHUNK {
            let rest = gaps.split_off(gaps.len() / 2);
            self.chunks.insert(index + 1, Chunk::new(rest));
        }
        self.chunks[index] = Chunk::new(gaps);
    }
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
