//! Means and ratios with their uncertainty.

use schemars::JsonSchema;
use serde::Serialize;

/// A figure and the half-width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Half the width of the interval; none where the figure is no mean of samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// How many samples it comes from.
    pub samples: usize,
}

impl Estimate {
    /// A figure without uncertainty, such as a count or an extreme.
    pub fn exact(value: f64) -> Estimate {
        Estimate { value, margin: None, samples: 1 }
    }

    /// The mean of independent samples, with Student's interval.
    pub fn mean(samples: &[f64]) -> Estimate {
        let n = samples.len();
        let mean = samples.iter().sum::<f64>() / n as f64;
        let squares: f64 = samples.iter().map(|x| (x - mean).powi(2)).sum();
        Estimate { value: mean, margin: margin(squares, n), samples: n }
    }

    /// Mean of `above` over mean of `below`, sample by sample from the same worlds. The interval
    /// is the one of the residuals `above - ratio * below` (delta method), so what both have in
    /// common does not widen it.
    pub fn ratio(above: &[f64], below: &[f64]) -> Estimate {
        let n = above.len().min(below.len());
        let total: f64 = below.iter().take(n).sum();
        let ratio = above.iter().take(n).sum::<f64>() / total;
        let squares: f64 = above.iter().zip(below).map(|(a, b)| (a - ratio * b).powi(2)).sum();
        let mean = (total / n as f64).abs();
        Estimate { value: ratio, margin: margin(squares, n).map(|m| m / mean), samples: n }
    }

    /// By how much the mean of `above` exceeds the mean of `below`, as a share of the latter.
    pub fn excess(above: &[f64], below: &[f64]) -> Estimate {
        let ratio = Estimate::ratio(above, below);
        Estimate { value: ratio.value - 1.0, ..ratio }
    }

    /// Lower end of the interval.
    pub fn low(&self) -> f64 {
        self.value - self.margin.unwrap_or(0.0)
    }

    /// Upper end of the interval.
    pub fn high(&self) -> f64 {
        self.value + self.margin.unwrap_or(0.0)
    }
}

/// Half-width of a mean's interval from its sum of squared residuals; none for one sample.
fn margin(squares: f64, samples: usize) -> Option<f64> {
    let freedom = samples.checked_sub(1).filter(|&f| f > 0)?;
    let deviation = (squares / freedom as f64).sqrt();
    Some(student(freedom) * deviation / (samples as f64).sqrt())
}

/// The 97.5 % quantile of Student's t: a table for few degrees of freedom, the expansion of
/// Cornish and Fisher (error below 1e-4) beyond.
fn student(freedom: usize) -> f64 {
    const FEW: [f64; 10] =
        [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281];
    if let Some(&quantile) = freedom.checked_sub(1).and_then(|k| FEW.get(k)) {
        return quantile;
    }
    let (z, v) = (1.959_963_984_540_054_f64, freedom as f64);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / v + second / v.powi(2) + third / v.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_mean() {
        // 1, 2, 3: deviation 1, t(2) = 4.3027, so 2 ± 4.3027 / sqrt 3.
        let e = Estimate::mean(&[1.0, 2.0, 3.0]);
        assert!((e.value - 2.0).abs() < 1e-12);
        assert!((e.margin.unwrap_or(0.0) - 4.3027 / 3f64.sqrt()).abs() < 1e-9);
        assert_eq!(Estimate::mean(&[5.0]).margin, None);
    }

    #[test]
    fn quantiles_of_student() {
        for (freedom, quantile) in [(1, 12.7062), (11, 2.2010), (29, 2.0452), (99, 1.9842)] {
            assert!((student(freedom) - quantile).abs() < 2e-4, "{freedom}");
        }
    }

    #[test]
    fn a_common_factor_does_not_widen_a_ratio() {
        let e = Estimate::ratio(&[2.0, 20.0, 200.0], &[1.0, 10.0, 100.0]);
        assert!((e.value - 2.0).abs() < 1e-12 && e.margin.unwrap_or(1.0) < 1e-9);
        // Residuals of 1.5 = 6/4: 2 - 1.5 = 0.5 and 4 - 4.5 = -0.5.
        let e = Estimate::ratio(&[2.0, 4.0], &[1.0, 3.0]);
        let expected = 12.7062 * 0.5f64.sqrt() / 2f64.sqrt() / 2.0;
        assert!((e.value - 1.5).abs() < 1e-12);
        assert!((e.margin.unwrap_or(0.0) - expected).abs() < 1e-9);
    }
}
