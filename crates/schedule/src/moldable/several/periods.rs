//! The periods of MAGS: by when every graph can end if all are stretched alike, and how the
//! processors are shared until then.

use slackline_model::approx;

/// Direction in which the ends of periods are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the last end down, as the published figure does.
    Backward,
    /// From the first end up, as the published formula does.
    Forward,
}

/// Periods and what each graph gets in them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Periods {
    /// The stretch that all graphs could have alike.
    pub(super) stretch: f64,
    /// Ends of the periods; the first begins at 0.
    pub(super) ends: Vec<f64>,
    /// Per graph: the period in which it has to end, from 0.
    pub(super) last: Vec<usize>,
    /// Period by period the processors of each graph, not whole.
    pub(super) share: Vec<Vec<f64>>,
}

/// The least stretch that all graphs could have: those that are no longer alone have to fit before.
/// `alone` in rising order.
pub(super) fn fair_stretch(alone: &[f64]) -> f64 {
    let mut sum = 0.0;
    let mut most = 1.0f64;
    for &time in alone.iter().filter(|&&t| t > 0.0) {
        sum += time;
        most = most.max(sum / time);
    }
    most
}

impl Periods {
    /// Periods for graphs that take `alone` (rising) when alone on so many processors. Each period
    /// is `1 + lambda` times as long as all before it together; the first lasts at least `least`. `slack`
    /// stretches everything.
    pub(super) fn new(
        alone: &[f64],
        processors: usize,
        direction: Direction,
        (lambda, least): (f64, f64),
        slack: f64,
    ) -> Periods {
        let stretch = fair_stretch(alone);
        let wanted = |time: f64| slack * stretch * time;
        let first = wanted(alone.iter().copied().find(|&t| t > 0.0).unwrap_or(0.0));
        let last = wanted(alone.iter().copied().fold(0.0, f64::max));
        let (ends, _) = ends(first, last, direction, lambda, least);
        let period = |time: f64| {
            ends.iter().position(|&end| approx::le(wanted(time), end)).unwrap_or(ends.len() - 1)
        };
        let last: Vec<usize> = alone.iter().map(|&t| period(t)).collect();
        let share = shares(alone, processors as f64, &ends, &last);
        Periods { stretch, ends, last, share }
    }

    /// Begin and end of a period.
    pub(super) fn span(&self, period: usize) -> (f64, f64) {
        (if period == 0 { 0.0 } else { self.ends[period - 1] }, self.ends[period])
    }
}

/// The ends of the periods, and the factor between them.
fn ends(first: f64, last: f64, direction: Direction, lambda: f64, least: f64) -> (Vec<f64>, f64) {
    if first <= 0.0 || last <= 0.0 {
        return (vec![last.max(0.0)], lambda);
    }
    // A first period that would be too short takes the second with it.
    let short = least > first;
    let wanted = if short { least / first - 1.0 } else { least / first };
    let lambda = lambda.max(wanted);
    let mut ends = Vec::new();
    match direction {
        Direction::Forward => {
            let mut end = if short { first * (1.0 + lambda) } else { first };
            ends.push(end);
            while approx::lt(end, last) {
                end *= 1.0 + lambda;
                ends.push(end);
            }
        }
        Direction::Backward => {
            let floor = first.max(least);
            let mut end = last;
            while approx::le(floor, end) || ends.is_empty() {
                ends.push(end);
                end /= 1.0 + lambda;
            }
            ends.reverse();
        }
    }
    (ends, lambda)
}

/// In every period the graphs that have to end there share the processors evenly, none more than
/// it needs; what is then missing is taken from the earliest processors left, shorter graphs
/// first.
fn shares(alone: &[f64], processors: f64, ends: &[f64], last: &[usize]) -> Vec<Vec<f64>> {
    let length = |k: usize| ends[k] - if k == 0 { 0.0 } else { ends[k - 1] };
    let mut need: Vec<f64> = alone.iter().map(|time| time * processors).collect();
    let mut share = vec![vec![0.0; alone.len()]; ends.len()];
    let mut left = vec![processors; ends.len()];
    for period in 0..ends.len() {
        let mut open: Vec<usize> = (0..alone.len()).filter(|&j| last[j] == period).collect();
        // Those that need least are served first, so that the others share the rest.
        open.sort_by(|&a, &b| need[a].total_cmp(&need[b]).then(a.cmp(&b)));
        let count = open.len();
        for (done, job) in open.into_iter().enumerate() {
            let even = left[period] / (count - done) as f64;
            let part = even.min(need[job] / length(period));
            share[period][job] += part;
            left[period] -= part;
            need[job] -= part * length(period);
        }
    }
    for job in 0..alone.len() {
        for period in 0..=last[job] {
            let part = left[period].min(need[job] / length(period)).max(0.0);
            share[period][job] += part;
            left[period] -= part;
            need[job] -= part * length(period);
        }
    }
    share
}

/// Whole processors: the whole parts, then one more each for the largest remainders while there
/// are any left.
pub(super) fn whole(share: &[f64], processors: usize) -> Vec<usize> {
    let mut given: Vec<usize> =
        share.iter().map(|s| (s + approx::EPSILON).floor() as usize).collect();
    let mut left = processors.saturating_sub(given.iter().sum());
    let rest = |j: usize| (share[j] - given[j] as f64).max(0.0);
    let mut order: Vec<usize> = (0..share.len()).filter(|&j| rest(j) > approx::EPSILON).collect();
    order.sort_by(|&a, &b| rest(b).total_cmp(&rest(a)).then(a.cmp(&b)));
    for job in order {
        if left == 0 {
            break;
        }
        given[job] += 1;
        left -= 1;
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIX: [f64; 6] = [45.0, 76.0, 93.0, 102.0, 221.0, 232.0];

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 0.0051
    }

    /// The six graphs of the published figure, on 47 processors.
    #[test]
    fn published_periods() {
        let p = Periods::new(&SIX, 47, Direction::Backward, (1.0, 0.0), 1.0);
        assert!((p.stretch - 769.0 / 232.0).abs() < 1e-12);
        assert_eq!(p.ends, [192.25, 384.5, 769.0]);
        assert_eq!(p.last, [0, 1, 1, 1, 2, 2]);
        let rows = [
            [11.00, 2.91, 7.07, 9.27, 7.03, 9.72],
            [0.0, 15.67, 15.67, 15.67, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 23.5, 23.5],
        ];
        for (row, wanted) in p.share.iter().zip(rows) {
            assert!(row.iter().zip(wanted).all(|(&a, b)| close(a, b)), "{row:?}");
        }
        let stretches: Vec<f64> = SIX.iter().zip(&p.last).map(|(t, &k)| p.ends[k] / t).collect();
        let wanted = [4.272, 5.059, 4.134, 3.770, 3.480, 3.315];
        assert!(stretches.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 6e-4), "{stretches:?}");

        let p = Periods::new(&SIX, 47, Direction::Forward, (1.0, 0.0), 1.0);
        let wanted = [149.16, 298.32, 596.64, 1193.28];
        assert!(p.ends.iter().zip(wanted).all(|(&a, b)| close(a, b)), "{:?}", p.ends);
        assert_eq!(p.last, [0, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn remainders_make_whole_processors() {
        assert_eq!(whole(&[11.0, 2.91, 7.07, 9.27, 7.03, 9.72], 47), [11, 3, 7, 9, 7, 10]);
        assert_eq!(whole(&[0.4, 0.4, 0.4], 2), [1, 1, 0]);
    }
}
