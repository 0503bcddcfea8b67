//! Interval bounds: the work that must be done inside a stretch of time has to fit into it
//! (Fernandez, Bussell, IEEE Trans. Computers 22(8), 1973, with heads and tails).
//!
//! A task whose window is `[head, T - tail]` overlaps `[a, b]` by at least
//! `min(what is left of it after a when it starts first, b - max(a, latest start))`. If the overlaps
//! exceed the capacity of the m processors by x, no schedule ends before `T + x / m`: moving all
//! deadlines by d moves each overlap into `[a, b + d]`. O(v log v) for each left end `a`.

/// A task as the interval bound sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Earliest start anywhere.
    pub(crate) head: f64,
    /// Least seconds anywhere.
    pub(crate) seconds: f64,
    /// Least time after it.
    pub(crate) tail: f64,
    /// Processors it needs.
    pub(crate) width: f64,
}

/// The largest `T + x / m` over intervals, never below `horizon`, which must be a bound already. `open` has the
/// date at which each processor is free; at most `left_ends` left ends are tried.
pub(crate) fn bound(windows: &[Window], open: &[f64], horizon: f64, left_ends: usize) -> f64 {
    let mut ends: Vec<f64> =
        windows.iter().flat_map(|w| [w.head, horizon - w.tail - w.seconds]).collect();
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    let step = ends.len().div_ceil(left_ends.max(1)).max(1);
    let capacity = Capacity::new(open);
    let mut ramps: Vec<(f64, f64)> = Vec::new();
    let mut worst = 0.0f64;
    for &a in ends.iter().step_by(step) {
        ramps.clear();
        for w in windows {
            let left = (w.head + w.seconds - a).min(w.seconds);
            if left > 0.0 {
                // Starts to matter at `from`, fully at `from + left`.
                let from = a.max(horizon - w.tail - w.seconds);
                ramps.push((from, w.width));
                ramps.push((from + left, -w.width));
            }
        }
        ramps.sort_by(|x, y| x.0.total_cmp(&y.0));
        let (mut demand, mut slope, mut at) = (0.0f64, 0.0f64, a);
        for &(b, change) in &ramps {
            demand += slope * (b - at);
            at = b;
            slope += change;
            if change < 0.0 {
                worst = worst.max(demand - capacity.between(a, b));
            }
        }
    }
    horizon + worst / open.len() as f64
}

/// Computing time in an interval of processors that open at different dates.
struct Capacity {
    /// The dates that differ, in order, with how many processors open up to each and the sum of their dates.
    dates: Vec<(f64, f64, f64)>,
}

impl Capacity {
    fn new(open: &[f64]) -> Capacity {
        let mut sorted = open.to_vec();
        if !sorted.is_sorted() {
            sorted.sort_by(f64::total_cmp);
        }
        let mut dates: Vec<(f64, f64, f64)> = Vec::new();
        let (mut count, mut sum) = (0.0, 0.0);
        for same in sorted.chunk_by(|x, y| x == y) {
            count += same.len() as f64;
            sum += same.len() as f64 * same[0];
            dates.push((same[0], count, sum));
        }
        Capacity { dates }
    }

    /// Processor-seconds between two dates.
    fn between(&self, a: f64, b: f64) -> f64 {
        // How many open by a date, and the sum of their dates.
        let by = |date: f64| match self.dates.partition_point(|d| d.0 <= date) {
            0 => (0.0, 0.0),
            n => (self.dates[n - 1].1, self.dates[n - 1].2),
        };
        let ((before, past), (all, sum)) = (by(a), by(b.max(a)));
        let late = if all > before { (all - before) * b - (sum - past) } else { 0.0 };
        before * (b - a).max(0.0) + late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_long_tasks_on_two_processors() {
        // Three tasks of 2 s between a head of 1 and a tail of 1: horizon 4, but 6 s of work in
        // [1, 3] on two processors: 2 s too much, one more second each: 5.
        let w = Window { head: 1.0, seconds: 2.0, tail: 1.0, width: 1.0 };
        assert_eq!(bound(&[w, w, w], &[0.0, 0.0], 4.0, 100), 5.0);
        // A processor that opens at 3 has nothing to give in [1, 3].
        assert_eq!(bound(&[w, w], &[0.0, 3.0], 4.0, 100), 5.0);
        assert_eq!(bound(&[w, w], &[0.0, 0.0], 4.0, 100), 4.0);
    }

    #[test]
    fn capacity_is_the_sum_over_processors() {
        let open = [3.0, 0.0, 0.0, 7.5, 3.0, 1.0, f64::INFINITY];
        let capacity = Capacity::new(&open);
        let dates = [-1.0f64, 0.0, 0.5, 1.0, 3.0, 5.0, 7.5, 20.0];
        for a in dates {
            for b in dates {
                let sum: f64 = open.iter().map(|&o| (b - a.max(o)).max(0.0)).sum();
                assert!((capacity.between(a, b) - sum).abs() < 1e-12, "{a} to {b}");
            }
        }
    }
}
