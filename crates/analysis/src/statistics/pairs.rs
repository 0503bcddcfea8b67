//! Two methods on the same blocks: counts, Wilcoxon's signed-rank test, effect sizes, ratios.

use super::distributions::normal_tail;
use super::sample::{Interval, Moments, power_of_two, sum};
use super::{Comparison, Estimate, NOISE, Sense, compare, equal};

/// Number of pairs up to which Wilcoxon's test is exact.
pub const EXACT_PAIRS: usize = 25;

/// On which scale differences are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// `a - b`.
    #[default]
    Linear,
    /// `ln a - ln b`, for sizes that differ by orders of magnitude.
    Log,
}

/// The outcome of Wilcoxon's signed-rank test, two-sided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wilcoxon {
    /// Pairs that differ.
    pub nonzero: usize,
    /// Pairs that are equal, and dropped.
    pub zeros: usize,
    /// Sum of the ranks of pairs with a above b.
    pub plus: f64,
    /// Sum of the ranks of pairs with a below b.
    pub minus: f64,
    /// Sum of t^3 - t over groups of t tied differences.
    pub tied: f64,
    /// Whether `p` counts all signs rather than coming from the normal distribution.
    pub exact: bool,
    /// Two-sided p-value.
    pub p: f64,
}

/// Two methods on the same blocks.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// Values of both where both have one.
    both: Vec<(f64, f64)>,
    /// All values of a, all of b.
    a: Vec<f64>,
    b: Vec<f64>,
}

/// Numbers of blocks in which the first is better, equal, worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Blocks in which a is better.
    pub better: usize,
    /// Blocks in which they are equal within the tolerance.
    pub equal: usize,
    /// Blocks in which a is worse.
    pub worse: usize,
}

/// A geometric mean of ratios with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeometricRatio {
    /// Geometric mean of a / b.
    pub ratio: f64,
    /// Student's interval of the logarithms; none for one pair.
    pub interval: Option<Interval>,
}

impl Pairs {
    /// Pairs values block by block; `None` is a run without a result.
    pub fn new(blocks: impl IntoIterator<Item = (Option<f64>, Option<f64>)>) -> Pairs {
        let mut pairs = Pairs::default();
        for (a, b) in blocks {
            pairs.a.extend(a);
            pairs.b.extend(b);
            pairs.both.extend(a.zip(b));
        }
        pairs
    }

    /// Number of blocks in which both have a value.
    pub fn n(&self) -> usize {
        self.both.len()
    }

    /// Number of blocks in which only the first has a value.
    pub fn only_a(&self) -> usize {
        self.a.len() - self.both.len()
    }

    /// Number of blocks in which only the second has a value.
    pub fn only_b(&self) -> usize {
        self.b.len() - self.both.len()
    }

    /// The pairs in which both have a value.
    pub fn both(&self) -> &[(f64, f64)] {
        &self.both
    }

    /// All values of the first and of the second.
    pub fn sides(&self) -> (&[f64], &[f64]) {
        (&self.a, &self.b)
    }

    /// Counts with a tolerance.
    pub fn counts(&self, sense: Sense, tolerance: f64) -> Counts {
        let mut counts = Counts::default();
        for &(a, b) in &self.both {
            match compare(a, b, sense, tolerance) {
                Comparison::Better => counts.better += 1,
                Comparison::Equal => counts.equal += 1,
                Comparison::Worse => counts.worse += 1,
            }
        }
        counts
    }

    /// Wilcoxon's signed-rank test; none without a pair, or on the logarithmic scale with a value
    /// that is not positive.
    pub fn wilcoxon(&self, scale: Scale) -> Option<Wilcoxon> {
        if self.both.is_empty() {
            return None;
        }
        if scale == Scale::Log && self.both.iter().any(|&(a, b)| a <= 0.0 || b <= 0.0) {
            return None;
        }
        let mut differences: Vec<f64> = self
            .both
            .iter()
            .filter(|&&(a, b)| !equal(a, b, NOISE))
            .map(|&(a, b)| match scale {
                Scale::Linear => (a - b).clamp(-f64::MAX, f64::MAX),
                Scale::Log => ln_ratio(a, b),
            })
            .collect();
        differences.sort_by(|x, y| x.abs().total_cmp(&y.abs()));
        let n = differences.len();
        // Twice the ranks are whole numbers, also for ties.
        let mut ranks = vec![0_u64; n];
        let (mut first, mut tied) = (0, 0.0);
        while first < n {
            let bound = differences[first].abs();
            let same = |x: &f64| equal(x.abs(), bound, NOISE);
            let size = differences[first..].iter().take_while(|x| same(x)).count();
            ranks[first..first + size].fill((2 * first + size + 1) as u64);
            let t = size as f64;
            tied += t * t * t - t;
            first += size;
        }
        let plus: u64 =
            ranks.iter().zip(&differences).filter(|(_, d)| **d > 0.0).map(|p| p.0).sum();
        let total = (n * (n + 1)) as u64;
        let exact = n <= EXACT_PAIRS;
        let p = match n {
            0 => 1.0,
            _ if exact => exact_p(&ranks, plus),
            _ => normal_p(n as f64, 0.5 * plus as f64, tied),
        };
        Some(Wilcoxon {
            nonzero: n,
            zeros: self.both.len() - n,
            plus: 0.5 * plus as f64,
            minus: 0.5 * (total - plus) as f64,
            tied,
            exact,
            p,
        })
    }

    /// Cliff's delta over all comparisons of values, positive where a is better; none if a side is
    /// empty.
    pub fn cliff(&self, sense: Sense) -> Option<f64> {
        if self.a.is_empty() || self.b.is_empty() {
            return None;
        }
        let mut sorted = self.b.clone();
        sorted.sort_by(f64::total_cmp);
        let (mut below, mut above) = (0_u128, 0_u128);
        for &a in &self.a {
            below += sorted.partition_point(|&b| b < a && !equal(a, b, NOISE)) as u128;
            let upto = sorted.partition_point(|&b| b <= a || equal(a, b, NOISE));
            above += (sorted.len() - upto) as u128;
        }
        let all = self.a.len() as f64 * self.b.len() as f64;
        let delta = (above as f64 - below as f64) / all;
        Some(if sense == Sense::Lower { delta } else { 0.0 - delta })
    }

    /// Geometric mean of a / b over the pairs; none without a pair or where a value is not positive.
    pub fn ratio(&self) -> Option<GeometricRatio> {
        self.ratio_at(0.05)
    }

    /// Geometric mean of a / b over the pairs, with an interval at level `1 - alpha`.
    pub fn ratio_at(&self, alpha: f64) -> Option<GeometricRatio> {
        if self.both.is_empty() || self.both.iter().any(|&(a, b)| a <= 0.0 || b <= 0.0) {
            return None;
        }
        let logs: Vec<f64> = self.both.iter().map(|&(a, b)| ln_ratio(a, b)).collect();
        let moments = Moments::of(&logs);
        let interval = moments.margin(alpha).map(|margin| Interval {
            low: (moments.mean - margin).exp(),
            high: (moments.mean + margin).exp(),
        });
        Some(GeometricRatio { ratio: moments.mean.exp(), interval })
    }

    /// Ratio of the means with the interval of its residuals (delta method); none without a pair
    /// or over a mean of 0.
    pub fn ratio_of_means(&self) -> Option<Estimate> {
        let (above, below): (Vec<f64>, Vec<f64>) = self.both.iter().copied().unzip();
        let ratio = Estimate::ratio(&above, &below);
        ratio.value.is_finite().then_some(ratio)
    }
}

impl Wilcoxon {
    /// Matched rank-biserial correlation, positive where a is better; 0 if all are equal.
    pub fn effect(&self, sense: Sense) -> f64 {
        let all = self.plus + self.minus;
        if all == 0.0 {
            return 0.0;
        }
        let lower_is_better = (self.minus - self.plus) / all;
        if sense == Sense::Lower { lower_is_better } else { 0.0 - lower_is_better }
    }
}

/// `ln(a / b)` of positive numbers, accurate also where they are close.
fn ln_ratio(a: f64, b: f64) -> f64 {
    let over = (a - b) / b;
    if over.abs() < 0.5 {
        return over.ln_1p();
    }
    let ratio = a / b;
    if ratio.is_normal() { ratio.ln() } else { a.ln() - b.ln() }
}

/// Share of all signs of doubled ranks with a sum as far out as `plus`, both sides.
fn exact_p(ranks: &[u64], plus: u64) -> f64 {
    let total: u64 = ranks.iter().sum();
    let mut ways = vec![0_u64; total as usize + 1];
    ways[0] = 1;
    let mut reached = 0;
    for &rank in ranks {
        let rank = rank as usize;
        for at in (0..=reached).rev() {
            ways[at + rank] += ways[at];
        }
        reached += rank;
    }
    let below: u64 = ways[..=plus as usize].iter().sum();
    let above: u64 = ways[plus as usize..].iter().sum();
    let all = 2f64.powi(ranks.len() as i32);
    (2.0 * below.min(above) as f64 / all).min(1.0)
}

fn normal_p(n: f64, plus: f64, tied: f64) -> f64 {
    let centre = n * (n + 1.0) / 4.0;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - tied / 48.0;
    let distance = ((plus - centre).abs() - 0.5).max(0.0);
    (2.0 * normal_tail(distance / variance.sqrt())).min(1.0)
}

/// Ratio of the sums of two samples, with the half-width of its interval; see
/// [`Estimate::ratio`].
pub(super) fn ratio_of_sums(above: &[f64], below: &[f64]) -> Estimate {
    let n = above.len().min(below.len());
    let (above, below) = (&above[..n], &below[..n]);
    let scale = |values: &[f64]| power_of_two(values.iter().fold(0.0_f64, |m, x| m.max(x.abs())));
    let (up, down) = (scale(above), scale(below));
    let total = sum(below.iter().map(|x| x / down));
    let ratio = sum(above.iter().map(|x| x / up)) / total;
    let residuals: Vec<f64> =
        above.iter().zip(below).map(|(a, b)| a / up - ratio * (b / down)).collect();
    // The residuals have mean 0 by construction: their squares are not taken around it.
    let squares = sum(residuals.iter().map(|r| r * r));
    let margin = Moments { n, mean: 0.0, sd: (n > 1).then(|| (squares / (n - 1) as f64).sqrt()) }
        .margin(0.05)
        .map(|margin| margin / (total / n as f64).abs() * (up / down));
    Estimate { value: ratio * (up / down), margin, interval: None, samples: n, exact: false }
}
