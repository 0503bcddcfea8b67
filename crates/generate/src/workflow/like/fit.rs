//! Laws fitted to samples.
//!
//! Uniform, exponential, normal, log-normal and Weibull are fitted by maximum likelihood (normal
//! cut below at 0); the one nearest to the samples by Kolmogorov and Smirnov's distance is taken
//! if the test at 5 % does not reject it (1.36 / sqrt(n)). Otherwise, and for few samples, the
//! samples themselves are the law: quantiles interpolated between them.

use crate::draw::Draws;

/// A law of non-negative values.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// One value.
    Constant(f64),
    /// Between two values.
    Uniform(f64, f64),
    /// By mean.
    Exponential(f64),
    /// By mean and deviation; below 0 counts as 0.
    Normal(f64, f64),
    /// By mean and deviation of the logarithm.
    LogNormal(f64, f64),
    /// By shape and scale.
    Weibull(f64, f64),
    /// The samples, sorted: quantiles between them are interpolated.
    Empirical(Vec<f64>),
}

/// Fewer samples than this are not enough to judge a parametric law.
const ENOUGH: usize = 20;

impl Law {
    /// The best law for samples; `parametric` allows the formulas in addition to the samples.
    pub(crate) fn fit(mut samples: Vec<f64>, parametric: bool) -> Law {
        samples.sort_by(f64::total_cmp);
        let (Some(&least), Some(&most)) = (samples.first(), samples.last()) else {
            return Law::Constant(0.0);
        };
        if least == most {
            return Law::Constant(least);
        }
        let n = samples.len();
        if parametric && n >= ENOUGH {
            let laws = candidates(&samples);
            let distance = |law: &Law| law.distance(&samples);
            let best = laws.into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
            if let Some(law) = best.filter(|law| distance(law) <= 1.36 / (n as f64).sqrt()) {
                return law;
            }
        }
        Law::Empirical(samples)
    }

    /// Draws a value.
    pub(crate) fn draw(&self, draws: &mut Draws) -> f64 {
        match *self {
            Law::Constant(value) => value,
            Law::Uniform(low, high) => draws.uniform(low, high),
            Law::Exponential(mean) => draws.exponential(mean),
            Law::Normal(mean, deviation) => (mean + deviation * draws.normal()).max(0.0),
            Law::LogNormal(mu, sigma) => (mu + sigma * draws.normal()).exp(),
            Law::Weibull(shape, scale) => draws.weibull(shape, scale),
            Law::Empirical(ref samples) => quantile(samples, draws.unit()),
        }
    }

    /// For a report.
    pub fn name(&self) -> &'static str {
        match self {
            Law::Constant(_) => "constant",
            Law::Uniform(..) => "uniform",
            Law::Exponential(_) => "exponential",
            Law::Normal(..) => "normal",
            Law::LogNormal(..) => "log-normal",
            Law::Weibull(..) => "Weibull",
            Law::Empirical(_) => "samples",
        }
    }

    /// Probability of a value up to `x`.
    fn cumulative(&self, x: f64) -> f64 {
        match *self {
            Law::Constant(value) => f64::from(x >= value),
            Law::Uniform(low, high) => ((x - low) / (high - low)).clamp(0.0, 1.0),
            Law::Exponential(mean) => 1.0 - (-x / mean).exp(),
            Law::Normal(mean, deviation) => normal_cumulative((x - mean) / deviation),
            Law::LogNormal(mu, sigma) if x > 0.0 => normal_cumulative((x.ln() - mu) / sigma),
            Law::LogNormal(..) => 0.0,
            Law::Weibull(shape, scale) => 1.0 - (-(x / scale).powf(shape)).exp(),
            Law::Empirical(ref samples) => {
                samples.partition_point(|s| *s <= x) as f64 / samples.len().max(1) as f64
            }
        }
    }

    /// Kolmogorov and Smirnov's distance to sorted samples.
    pub(crate) fn distance(&self, sorted: &[f64]) -> f64 {
        let n = sorted.len() as f64;
        let at = |(i, &x): (usize, &f64)| {
            let here = self.cumulative(x);
            (here - i as f64 / n).abs().max((here - (i + 1) as f64 / n).abs())
        };
        sorted.iter().enumerate().map(at).fold(0.0, f64::max)
    }
}

/// The value below which a share of sorted samples is, interpolated.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

fn candidates(sorted: &[f64]) -> Vec<Law> {
    let n = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / n;
    let deviation = (sorted.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
    let mut laws = vec![Law::Uniform(sorted[0], sorted[sorted.len() - 1])];
    laws.push(Law::Normal(mean, deviation));
    if mean > 0.0 {
        laws.push(Law::Exponential(mean));
    }
    if sorted[0] > 0.0 {
        let mu = sorted.iter().map(|x| x.ln()).sum::<f64>() / n;
        let sigma = (sorted.iter().map(|x| (x.ln() - mu).powi(2)).sum::<f64>() / n).sqrt();
        laws.push(Law::LogNormal(mu, sigma));
        laws.extend(weibull(sorted, mu));
    }
    laws
}

/// Maximum likelihood: the shape solves a monotone equation, here by bisection.
fn weibull(sorted: &[f64], mean_log: f64) -> Option<Law> {
    let n = sorted.len() as f64;
    let most = sorted.last().copied()?;
    // Values relative to the largest: powers cannot overflow.
    let gap = |shape: f64| {
        let (mut sum, mut weighted) = (0.0, 0.0);
        for &x in sorted {
            let power = (x / most).powf(shape);
            sum += power;
            weighted += power * x.ln();
        }
        weighted / sum - 1.0 / shape - mean_log
    };
    let (mut low, mut high) = (0.01, 200.0);
    if gap(low) > 0.0 || gap(high) < 0.0 {
        return None;
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if gap(middle) < 0.0 { low = middle } else { high = middle }
    }
    let scale =
        most * (sorted.iter().map(|x| (x / most).powf(low)).sum::<f64>() / n).powf(1.0 / low);
    (scale.is_finite() && scale > 0.0).then_some(Law::Weibull(low, scale))
}

/// Cumulative normal law, to 1e-7 (Abramowitz and Stegun 7.1.26).
fn normal_cumulative(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let tail = series.iter().rev().fold(0.0, |sum, c| (sum + c) * t) * (-x * x).exp() / 2.0;
    if z > 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Seed;

    #[test]
    fn laws_are_found_again() {
        let laws = [
            Law::Uniform(2.0, 5.0),
            Law::Normal(50.0, 4.0),
            Law::LogNormal(1.0, 0.8),
            Law::Weibull(0.7, 30.0),
        ];
        for law in laws {
            let mut draws = Seed::new(8).draws(law.name());
            let samples: Vec<f64> = (0..2000).map(|_| law.draw(&mut draws)).collect();
            let found = Law::fit(samples, true);
            assert_eq!(found.name(), law.name(), "{found:?} for {law:?}");
        }
    }

    #[test]
    fn what_no_formula_fits_stays_as_it_is() {
        let samples: Vec<f64> =
            (0..100).map(|i| f64::from(i % 2) * 1000.0 + f64::from(i)).collect();
        let law = Law::fit(samples.clone(), true);
        assert_eq!(law.name(), "samples");
        assert_eq!(Law::fit(vec![3.0, 3.0], true), Law::Constant(3.0));
        assert_eq!(Law::fit(vec![], true), Law::Constant(0.0));
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), 3.0);
    }

    #[test]
    fn the_normal_law_is_exact_enough() {
        assert!((normal_cumulative(1.96) - 0.975_002).abs() < 1e-6);
        assert!((normal_cumulative(-1.0) - 0.158_655).abs() < 1e-6);
    }
}
