//! Figures of one sample: mean, median, quartiles, geometric mean, shares, with intervals.

use super::distributions::{Z_95, binomial_half, student_quantile};
use serde::Serialize;

/// The ends of a 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Everything that is reported of one sample. What a sample of this size or sign does not have is
/// `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation with n - 1; none for one value.
    pub sd: Option<f64>,
    /// Half-width of Student's 95 % interval of the mean.
    pub margin: Option<f64>,
    /// Smallest value.
    pub least: f64,
    /// First quartile (Hyndman and Fan's type 7, as the other two).
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub q3: f64,
    /// Largest value.
    pub most: f64,
    /// Interval of the median from order statistics; none below six values.
    pub median_interval: Option<Interval>,
    /// Geometric mean; none where a value is not positive.
    pub geometric: Option<f64>,
    /// Its interval, from Student's interval of the logarithms.
    pub geometric_interval: Option<Interval>,
    /// Wilson's interval of a share; none unless all values are 0 or 1.
    pub wilson: Option<Interval>,
}

impl Summary {
    /// Summarises a sample; none if it is empty. The order of the values does not matter.
    pub fn of(values: &[f64]) -> Option<Summary> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Summary::of_sorted(&sorted)
    }

    /// Summarises a sample in rising order.
    pub fn of_sorted(sorted: &[f64]) -> Option<Summary> {
        let (&least, &most) = (sorted.first()?, sorted.last()?);
        let n = sorted.len();
        let moments = Moments::of(sorted);
        let median_interval = median_ranks(n)
            .map(|(low, high)| Interval { low: sorted[low - 1], high: sorted[high - 1] });
        let logarithms: Option<Vec<f64>> =
            (least > 0.0).then(|| sorted.iter().map(|x| x.ln()).collect());
        let logs = logarithms.map(|logs| Moments::of(&logs));
        let geometric_interval = logs.and_then(|l| {
            let margin = l.margin(0.05)?;
            Some(Interval { low: (l.mean - margin).exp(), high: (l.mean + margin).exp() })
        });
        let wilson = sorted
            .iter()
            .all(|&x| x == 0.0 || x == 1.0)
            .then(|| wilson(sorted.iter().filter(|&&x| x == 1.0).count(), n));
        Some(Summary {
            n,
            mean: moments.mean,
            sd: moments.sd,
            margin: moments.margin(0.05),
            least,
            q1: quantile(sorted, 0.25),
            median: quantile(sorted, 0.5),
            q3: quantile(sorted, 0.75),
            most,
            median_interval,
            geometric: logs.map(|l| l.mean.exp()),
            geometric_interval,
            wilson,
        })
    }

    /// Student's 95 % interval of the mean.
    pub fn interval(&self) -> Option<Interval> {
        self.margin.map(|m| Interval { low: self.mean - m, high: self.mean + m })
    }

    /// Number of samples for a half-width of `share` of the mean; none where the spread is unknown
    /// or the mean is 0.
    pub fn repetitions(&self, share: f64) -> Option<u64> {
        let sd = self.sd.filter(|_| self.mean != 0.0)?;
        let root = Z_95 * (sd / self.mean.abs()) / share;
        Some(((root * root).ceil() as u64).max(1))
    }
}

/// Mean and spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Number of values.
    pub n: usize,
    /// Arithmetic mean; NaN of none.
    pub mean: f64,
    /// Standard deviation with n - 1; none below two values.
    pub sd: Option<f64>,
}

impl Moments {
    /// Computes them: divided by a power of two first, so that squares neither overflow nor vanish,
    /// and around the mean, so that a large offset does not blur the spread.
    pub fn of(values: &[f64]) -> Moments {
        let n = values.len();
        let largest = values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let scale = power_of_two(largest);
        let count = n as f64;
        let mean = sum(values.iter().map(|x| x / scale)) / count;
        let sd = (n > 1).then(|| {
            let deviations = || values.iter().map(|x| x / scale - mean);
            // The second sum takes out what rounding left in the mean.
            let (squares, rest) = (sum(deviations().map(|d| d * d)), sum(deviations()));
            ((squares - rest * rest / count).max(0.0) / (count - 1.0)).sqrt() * scale
        });
        Moments { n, mean: mean * scale, sd }
    }

    /// Half-width of Student's interval at level `1 - alpha`; none below two values.
    pub fn margin(&self, alpha: f64) -> Option<f64> {
        let freedom = self.n.checked_sub(1).filter(|&f| f > 0)? as f64;
        Some(student_quantile(freedom, 0.5 * alpha) * self.sd? / (self.n as f64).sqrt())
    }
}

/// The power of two just below a magnitude, within what can be divided by; 1 for 0.
pub(super) fn power_of_two(magnitude: f64) -> f64 {
    if magnitude == 0.0 || !magnitude.is_finite() {
        return 1.0;
    }
    2f64.powi((magnitude.log2().floor() as i32).clamp(-1020, 1020))
}

/// A sum whose rounding errors are kept and added in the end (Neumaier).
pub fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut total, mut rest) = (0.0_f64, 0.0_f64);
    for value in values {
        let next = total + value;
        rest += if total.abs() >= value.abs() {
            (total - next) + value
        } else {
            (value - next) + total
        };
        total = next;
    }
    total + rest
}

/// Quantile of a sample in rising order (Hyndman and Fan's type 7); NaN of none.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = last as f64 * share;
    let below = (place.floor() as usize).min(last);
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    let part = place - below as f64;
    // Weights instead of a difference, which could overflow.
    if low == high { low } else { low * (1.0 - part) + high * part }
}

/// The ranks (from 1) of the order statistics around the median: the largest j with
/// P(Bin(n, 1/2) <= j - 1) <= 0.025, and n + 1 - j.
fn median_ranks(n: usize) -> Option<(usize, usize)> {
    let small = |j: usize| binomial_half(n as u64, j as u64 - 1) <= 0.025;
    if n == 0 || !small(1) {
        return None;
    }
    let (mut low, mut high) = (1, n / 2 + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if small(middle) { low = middle } else { high = middle }
    }
    Some((low, n + 1 - low))
}

/// Wilson's 95 % interval of a share.
pub fn wilson(successes: usize, n: usize) -> Interval {
    let (n, share) = (n as f64, successes as f64 / n as f64);
    let square = Z_95 * Z_95;
    let divisor = 1.0 + square / n;
    let centre = (share + square / (2.0 * n)) / divisor;
    let margin = Z_95 * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt() / divisor;
    let (low, high) = (centre - margin, centre + margin);
    Interval {
        low: if successes == 0 { 0.0 } else { low },
        high: if share == 1.0 { 1.0 } else { high },
    }
}
