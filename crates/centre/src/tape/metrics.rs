//! Metrics of a library for users and operators.

use super::case::Case;
use super::library::Outcome;
use crate::batch::metrics::nearest_rank;
use serde::Serialize;

/// A distribution in a few numbers; none where there is nothing. Seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: Option<f64>,
    /// The smallest value with at least 95 % of the values at or below it.
    pub p95: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Spread {
        values.sort_unstable_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Spread {
            mean: (!values.is_empty()).then_some(mean),
            p95: nearest_rank(&values, 19, 20),
            max: values.last().copied(),
        }
    }
}

/// The measures of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Requests.
    pub requests: usize,
    /// Served by the cache.
    pub hits: usize,
    /// Joined another request.
    pub joined: usize,
    /// Files read from tape.
    pub files_read: usize,
    /// Mounts.
    pub mounts: usize,
    /// Mounts per file read.
    pub mounts_per_file: Option<f64>,
    /// From the arrival until the drive begins to wind to the file.
    pub wait: Spread,
    /// From the arrival until the file is there.
    pub response: Spread,
    /// Part of the drives' time, from the first arrival until the last drive is empty, in which
    /// they were busy.
    pub drive_use: Option<f64>,
}

/// Measures an outcome.
pub fn measure(case: &Case, outcome: &Outcome) -> Metrics {
    let since_arrival = |dates: &[f64]| {
        let pairs = dates.iter().zip(&case.requests);
        Spread::of(pairs.map(|(date, request)| date - request.arrival).collect())
    };
    let requests = case.requests.len();
    let files_read = requests - outcome.hits.len() - outcome.joined.len();
    let first = case.requests.first().map_or(0.0, |request| request.arrival);
    let busy: f64 = outcome.busy.iter().map(|busy| busy.end - busy.start).sum();
    let offered = case.library.drives as f64 * (outcome.end - first);
    Metrics {
        requests,
        hits: outcome.hits.len(),
        joined: outcome.joined.len(),
        files_read,
        mounts: outcome.mounts.len(),
        mounts_per_file: (files_read > 0).then(|| outcome.mounts.len() as f64 / files_read as f64),
        wait: since_arrival(&outcome.starts),
        response: since_arrival(&outcome.done),
        drive_use: (offered > 0.0).then(|| busy / offered),
    }
}
