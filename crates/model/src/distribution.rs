//! Distributions of durations by name.

use crate::rng::Stream;
use rand::RngExt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A distribution of values that are not negative, in files `{distribution = "uniform", low = 1,
/// high = 2}`, or a plain number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Constant(f64),
    /// Evenly distributed.
    Uniform {
        /// Least.
        low: f64,
        /// Most.
        high: f64,
    },
    /// Exponentially distributed.
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// Normally distributed, cut off at 0.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        deviation: f64,
    },
    /// Log-normally distributed.
    LogNormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Written {
    Constant(f64),
    Drawn(Drawn),
}

#[derive(Deserialize, Serialize)]
#[serde(tag = "distribution", rename_all = "lowercase", deny_unknown_fields)]
enum Drawn {
    Constant { value: f64 },
    Uniform { low: f64, high: f64 },
    Exponential { mean: f64 },
    Normal { mean: f64, deviation: f64 },
    Lognormal { mu: f64, sigma: f64 },
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Distribution, D::Error> {
        Ok(match Written::deserialize(deserializer)? {
            Written::Constant(value) | Written::Drawn(Drawn::Constant { value }) => {
                Distribution::Constant(value)
            }
            Written::Drawn(Drawn::Uniform { low, high }) => Distribution::Uniform { low, high },
            Written::Drawn(Drawn::Exponential { mean }) => Distribution::Exponential { mean },
            Written::Drawn(Drawn::Normal { mean, deviation }) => {
                Distribution::Normal { mean, deviation }
            }
            Written::Drawn(Drawn::Lognormal { mu, sigma }) => Distribution::LogNormal { mu, sigma },
        })
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Distribution::Constant(value) => Written::Constant(value),
            Distribution::Uniform { low, high } => Written::Drawn(Drawn::Uniform { low, high }),
            Distribution::Exponential { mean } => Written::Drawn(Drawn::Exponential { mean }),
            Distribution::Normal { mean, deviation } => {
                Written::Drawn(Drawn::Normal { mean, deviation })
            }
            Distribution::LogNormal { mu, sigma } => Written::Drawn(Drawn::Lognormal { mu, sigma }),
        }
        .serialize(serializer)
    }
}

impl Distribution {
    /// Draws a value.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        let mut unit = || stream.random::<f64>();
        match *self {
            Distribution::Constant(value) => value,
            Distribution::Uniform { low, high } => low + (high - low) * unit(),
            // 1 - u is never 0.
            Distribution::Exponential { mean } => -mean * (1.0 - unit()).ln(),
            Distribution::Normal { mean, deviation } => {
                (mean + deviation * normal(unit(), unit())).max(0.0)
            }
            Distribution::LogNormal { mu, sigma } => (mu + sigma * normal(unit(), unit())).exp(),
        }
    }

    /// Whether all parameters make sense for a duration.
    pub fn is_valid(&self) -> bool {
        let fine = |value: f64| (0.0..1e12).contains(&value);
        match *self {
            Distribution::Constant(value) | Distribution::Exponential { mean: value } => {
                fine(value)
            }
            Distribution::Uniform { low, high } => fine(low) && fine(high) && low <= high,
            Distribution::Normal { mean, deviation } => fine(mean) && fine(deviation),
            Distribution::LogNormal { mu, sigma } => {
                mu.abs() <= 27.0 && (0.0..10.0).contains(&sigma)
            }
        }
    }
}

/// A standard normal value from two uniform ones (Box & Muller).
fn normal(first: f64, second: f64) -> f64 {
    (-2.0 * (1.0 - first).ln()).sqrt() * (std::f64::consts::TAU * second).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    #[test]
    fn means_are_those_of_the_parameters() {
        for (distribution, mean) in [
            (Distribution::Constant(3.0), 3.0),
            (Distribution::Uniform { low: 2.0, high: 4.0 }, 3.0),
            (Distribution::Exponential { mean: 3.0 }, 3.0),
            (Distribution::Normal { mean: 3.0, deviation: 0.5 }, 3.0),
            (Distribution::LogNormal { mu: 1.0, sigma: 0.5 }, 1.125f64.exp()),
        ] {
            let mut stream = stream(1, "test", 0);
            let sum: f64 = (0..20_000).map(|_| distribution.draw(&mut stream)).sum();
            assert!((sum / 20_000.0 / mean - 1.0).abs() < 0.03, "{distribution:?}: {sum}");
        }
    }
}
