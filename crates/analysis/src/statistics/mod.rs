//! Statistics of the lab: intervals, tests, effect sizes.
//!
//! Values that differ by less than [`NOISE`] (relative) are treated as equal. Where a statistic is undefined for a sample
//! (the standard deviation of one value, the geometric mean of a negative one), the result is `None`, never a substitute.

mod blocks;
pub mod distributions;
mod pairs;
mod sample;

pub use blocks::{Blocks, Friedman, MethodSummary, ecdf, holm};
pub use pairs::{Counts, EXACT_PAIRS, GeometricRatio, Pairs, Scale, Wilcoxon};
pub use sample::{Interval, Moments, Summary, quantile, sum, wilson};

use schemars::JsonSchema;
use serde::Serialize;

/// Relative difference below which two values are the same number.
pub const NOISE: f64 = 1e-9;

/// Whether less or more is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sense {
    /// Less is better.
    #[default]
    Lower,
    /// More is better.
    Higher,
}

/// Result of comparing a value with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Better, beyond the tolerance.
    Better,
    /// Equal within the tolerance.
    Equal,
    /// Worse, beyond the tolerance.
    Worse,
}

/// Whether two values are equal within a relative tolerance, inclusive.
pub fn equal(a: f64, b: f64, tolerance: f64) -> bool {
    // Inclusive also after rounding of decimals to doubles: 1.1 and 1.0 are equal within 0.1.
    let bound = tolerance * a.abs().max(b.abs());
    a == b || (a - b).abs() <= bound * (1.0 + 1e-12) + 4.0 * f64::EPSILON * a.abs().max(b.abs())
}

/// Compares two values with a relative tolerance.
pub fn compare(a: f64, b: f64, sense: Sense, tolerance: f64) -> Comparison {
    if equal(a, b, tolerance.max(NOISE)) {
        Comparison::Equal
    } else if (a < b) == (sense == Sense::Lower) {
        Comparison::Better
    } else {
        Comparison::Worse
    }
}

/// A figure and the half-width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Half the width of the interval; none where the figure is no mean of samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// The interval itself, where it is not symmetric around the figure (shares).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Number of samples it comes from.
    pub samples: usize,
    /// The figure has no uncertainty: a count, an extreme, a worked example. A mean of one sample
    /// has no margin either, and is not exact.
    #[serde(skip)]
    pub exact: bool,
}

impl Estimate {
    /// A figure without uncertainty, such as a count or an extreme.
    pub fn exact(value: f64) -> Estimate {
        Estimate { value, margin: None, interval: None, samples: 1, exact: true }
    }

    /// The share of samples that are true, with Wilson's interval.
    pub fn share(samples: &[bool]) -> Estimate {
        let (yes, n) = (samples.iter().filter(|&&is_so| is_so).count(), samples.len());
        if n == 0 {
            return Estimate { exact: false, ..Estimate::exact(f64::NAN) };
        }
        let interval = wilson(yes, n);
        let margin = (n > 1).then_some((interval.high - interval.low) / 2.0);
        let interval = (n > 1).then_some(interval);
        Estimate { value: yes as f64 / n as f64, margin, interval, samples: n, exact: false }
    }

    /// The ratio of two sums over strata (cells of a fixed grid): `above` and `below` have the same
    /// samples, stratum by stratum, and strata count alike whatever their size. Only what varies within strata is
    /// uncertain. Strata of a single sample are taken together, which can only widen the interval.
    pub fn stratified_ratio(above: &[&[f64]], below: &[&[f64]]) -> Estimate {
        blocks::stratified_ratio(above, below)
    }

    /// The mean of independent samples, with Student's interval.
    pub fn mean(samples: &[f64]) -> Estimate {
        let moments = Moments::of(samples);
        let margin = moments.margin(0.05);
        let (value, samples) = (moments.mean, moments.n);
        Estimate { value, margin, interval: None, samples, exact: false }
    }

    /// Mean of `above` over mean of `below`, sample by sample from the same scenarios. The interval
    /// is the one of the residuals `above - ratio * below` (delta method), so that
    /// variation common to both does not widen it.
    pub fn ratio(above: &[f64], below: &[f64]) -> Estimate {
        pairs::ratio_of_sums(above, below)
    }

    /// By how much the mean of `above` exceeds the mean of `below`, as a share of the latter.
    pub fn excess(above: &[f64], below: &[f64]) -> Estimate {
        let ratio = Estimate::ratio(above, below);
        Estimate { value: ratio.value - 1.0, ..ratio }
    }

    /// Lower end of the interval.
    pub fn low(&self) -> f64 {
        self.interval.map_or(self.value - self.margin.unwrap_or(0.0), |i| i.low)
    }

    /// Upper end of the interval.
    pub fn high(&self) -> f64 {
        self.interval.map_or(self.value + self.margin.unwrap_or(0.0), |i| i.high)
    }
}

#[cfg(test)]
mod tests;
