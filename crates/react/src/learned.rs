//! Estimates learnt during a run, and their samples. Estimates, levels and the network of the situation follow once
//! there are enough.

use schemars::JsonSchema;
use serde::Serialize;
use slackline_model::median::upper_median;
use slackline_model::{HostId, KindId};
use std::collections::BTreeMap;

/// A figure that was seen several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// The middle one.
    pub value: f64,
    /// Number of samples.
    pub samples: usize,
    /// Its standard error, as a share of the value.
    pub error: f64,
}

impl Figure {
    /// Least number of samples before an estimate is used.
    pub const SURE: usize = 3;

    /// The median of some values; nothing of none.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Figure> {
        let mut values: Vec<f64> = values.collect();
        let value = upper_median(&mut values)?;
        let mut distances: Vec<f64> = values.iter().map(|x| (x - value).abs()).collect();
        let samples = values.len();
        let error = error_of_median(deviation(&mut distances)?, samples) / value.abs();
        Some(Figure { value, samples, error: if error.is_finite() { error } else { 0.0 } })
    }

    /// Whether it was seen often enough to be believed.
    pub fn is_sure(&self) -> bool {
        self.samples >= Figure::SURE
    }
}

/// The standard deviation of values that lie so far from their middle one, as if the law were a normal
/// one.
pub fn deviation(distances: &mut [f64]) -> Option<f64> {
    Some(1.4826 * upper_median(distances)?)
}

/// The standard error of the middle one of so many values of a deviation, under the same law.
pub fn error_of_median(deviation: f64, samples: usize) -> f64 {
    1.2533 * deviation / (samples as f64).sqrt()
}

/// Estimates learned during a run, with their samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearnedFigures {
    /// Real over estimated seconds.
    pub kinds: BTreeMap<KindId, Figure>,
    /// Speed as a share of what the platform states.
    pub hosts: BTreeMap<HostId, Figure>,
    /// Bytes per second between two places, from and to.
    pub connections: BTreeMap<(HostId, HostId), Figure>,
}
