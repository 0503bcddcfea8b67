//! Random draws. Every one comes from a named stream of (seed, purpose, member of the
//! population), so that a draw added in one place shifts no other. The elementary laws are our
//! own few lines: the bytes of a generated file must not depend on the version of a library.

use rand::Rng;
use rand_distr::{Distribution, Exp1, Gamma, LogNormal, StandardNormal};
use slackline_model::rng::{Stream, stream};

/// The source of the draws of one generated object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Chosen by the user.
    pub seed: u64,
    /// Number of the generated object in its population, from 0.
    pub member: u64,
}

impl Seed {
    /// The first member of the population of a seed.
    pub fn new(seed: u64) -> Seed {
        Seed { seed, member: 0 }
    }

    /// The stream for one purpose.
    pub fn draws(self, purpose: &str) -> Draws {
        Draws(stream(self.seed, purpose, self.member))
    }
}

/// A stream of draws.
#[derive(Clone, Debug)]
pub struct Draws(Stream);

impl Draws {
    /// Uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [low, high).
    #[inline]
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform among 0 .. n - 1; 0 when `n` is 0.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }

    /// Uniform among low ..= high.
    #[inline]
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True with that probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// One of the entries; `None` of an empty list.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }

    /// Puts the entries in random order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.below(i + 1));
        }
    }

    /// `count` different numbers below `n`, sorted (Floyd's method).
    pub fn distinct(&mut self, count: usize, n: usize) -> Vec<usize> {
        let count = count.min(n);
        let mut chosen = std::collections::BTreeSet::new();
        for j in n - count..n {
            let t = self.below(j + 1);
            if !chosen.insert(t) {
                chosen.insert(j);
            }
        }
        chosen.into_iter().collect()
    }

    /// Exponential of that mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        let unit: f64 = Exp1.sample(&mut self.0);
        mean * unit
    }

    /// Normal of mean 0 and deviation 1.
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    /// Gamma of that mean and coefficient of variation; the mean itself when `variation` is 0.
    pub fn gamma(&mut self, mean: f64, variation: f64) -> f64 {
        let shape = 1.0 / (variation * variation);
        match Gamma::new(shape, mean / shape) {
            Ok(law) => law.sample(&mut self.0),
            Err(_) => mean,
        }
    }

    /// Weibull of that shape and scale.
    pub fn weibull(&mut self, shape: f64, scale: f64) -> f64 {
        scale * (-(1.0 - self.unit()).ln()).powf(1.0 / shape)
    }

    /// Log-normal of that mean and standard deviation; the mean itself when it has none.
    pub fn log_normal(&mut self, mean: f64, deviation: f64) -> f64 {
        if mean <= 0.0 || deviation <= 0.0 {
            return mean.max(0.0);
        }
        let variance = (1.0 + (deviation / mean).powi(2)).ln();
        match LogNormal::new(mean.ln() - variance / 2.0, variance.sqrt()) {
            Ok(law) => law.sample(&mut self.0),
            Err(_) => mean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(n: usize, mut draw: impl FnMut() -> f64) -> f64 {
        (0..n).map(|_| draw()).sum::<f64>() / n as f64
    }

    #[test]
    fn laws_have_their_means() {
        let mut d = Seed::new(1).draws("test");
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 0.03, "{a} is not near {b}");
        near(mean(20_000, || d.uniform(2.0, 4.0)), 3.0);
        near(mean(20_000, || d.below(11) as f64), 5.0);
        near(mean(20_000, || d.exponential(7.0)), 7.0);
        near(mean(20_000, || d.gamma(5.0, 0.8)), 5.0);
        near(mean(20_000, || d.log_normal(5.0, 2.0)), 5.0);
        // Weibull of shape 1 is exponential.
        near(mean(20_000, || d.weibull(1.0, 3.0)), 3.0);
    }

    #[test]
    fn distinct_draws_are_distinct_and_all_can_be_drawn() {
        let mut d = Seed::new(2).draws("test");
        assert_eq!(d.distinct(5, 5), [0, 1, 2, 3, 4]);
        let some = d.distinct(3, 100);
        assert_eq!(some.len(), 3);
        assert!(some.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(d.distinct(9, 2).len(), 2);
    }

    #[test]
    fn streams_do_not_disturb_each_other() {
        let seed = Seed::new(3);
        let mut edges = seed.draws("edges");
        let alone: Vec<f64> = (0..5).map(|_| edges.unit()).collect();
        let (mut edges, mut costs) = (seed.draws("edges"), seed.draws("costs"));
        let mixed: Vec<f64> = (0..5)
            .map(|_| {
                costs.unit();
                edges.unit()
            })
            .collect();
        assert_eq!(alone, mixed);
    }
}
