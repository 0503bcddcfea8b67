//! Relative speeds of hosts, derived from kinds of tasks that ran on several of them.

use crate::record::{Attempt, RecordedRun};
use std::collections::{BTreeMap, BTreeSet};

/// Fewest tasks from which the speed of a host is estimated.
const FEWEST: usize = 5;
/// Standard errors by which a host has to differ from the others.
const SURE: f64 = 3.0;
/// Least difference of the logarithms, about 5 %: smaller ones are not worth a platform of unequal hosts.
const LEAST: f64 = 0.05;
/// Rounds of fitting kinds and hosts in turn, enough to converge: each round is a linear step.
const ROUNDS: usize = 50;

impl RecordedRun {
    /// The speed of each host relative to the geometric mean of all: the run time of a task is that of its kind over
    /// the speed of its host, fitted to the logarithms by least squares. None where no host differs significantly; 1
    /// for hosts that share no kind with others or ran too few tasks.
    pub fn relative_speeds(&self) -> Option<Vec<f64>> {
        let mut kinds: BTreeMap<&str, (usize, BTreeSet<usize>)> = BTreeMap::new();
        let mut samples: Vec<(usize, usize, f64)> = Vec::new();
        for task in &self.tasks {
            let Some(last) = task.last().filter(|a| a.outcome.is_success()) else { continue };
            let Some(seconds) = last.seconds().filter(|s| *s > 0.0) else { continue };
            let Some(host) = last.host else { continue };
            let number = kinds.len();
            let (kind, hosts) =
                kinds.entry(&task.kind).or_insert_with(|| (number, BTreeSet::new()));
            hosts.insert(host);
            samples.push((*kind, host, seconds.ln()));
        }
        // Kinds that ran on one host say nothing about speeds.
        let mut shared = vec![false; kinds.len()];
        kinds.values().for_each(|(kind, hosts)| shared[*kind] = hosts.len() > 1);
        samples.retain(|(kind, ..)| shared[*kind]);
        let mut counts = vec![0usize; self.hosts.len()];
        samples.iter().for_each(|(_, host, _)| counts[*host] += 1);
        let is_fitted = |host: usize| counts[host] >= FEWEST;
        samples.retain(|(_, host, _)| is_fitted(*host));
        if (0..self.hosts.len()).filter(|&host| is_fitted(host)).count() < 2 {
            return None;
        }
        let mut of_kind = vec![0.0; kinds.len()];
        let mut of_host = vec![0.0; self.hosts.len()];
        for _ in 0..ROUNDS {
            let kind_means = means(kinds.len(), samples.iter().map(|s| (s.0, s.2 - of_host[s.1])));
            of_kind = kind_means;
            let host_means =
                means(self.hosts.len(), samples.iter().map(|s| (s.1, s.2 - of_kind[s.0])));
            of_host = host_means;
            let fitted: Vec<f64> =
                (0..of_host.len()).filter(|&h| is_fitted(h)).map(|h| of_host[h]).collect();
            let mean = fitted.iter().sum::<f64>() / fitted.len() as f64;
            (0..of_host.len()).filter(|&h| is_fitted(h)).for_each(|h| of_host[h] -= mean);
        }
        let squares: f64 =
            samples.iter().map(|s| (s.2 - of_kind[s.0] - of_host[s.1]).powi(2)).sum();
        let used: BTreeSet<usize> = samples.iter().map(|s| s.0).collect();
        let freedom = samples.len().saturating_sub(used.len() + counts.len()).max(1);
        let deviation = (squares / freedom as f64).sqrt();
        let differs = |host: usize| {
            let error = deviation / (counts[host] as f64).sqrt();
            is_fitted(host) && of_host[host].abs() > (SURE * error).max(LEAST)
        };
        if !(0..self.hosts.len()).any(differs) {
            return None;
        }
        let speed = |host: usize| if is_fitted(host) { (-of_host[host]).exp() } else { 1.0 };
        Some((0..self.hosts.len()).map(speed).collect())
    }

    /// The factor that turns an attempt's seconds into seconds at the reference speed.
    pub(crate) fn speed_of(&self, speeds: Option<&[f64]>, attempt: &Attempt) -> f64 {
        attempt.host.and_then(|host| speeds?.get(host).copied()).unwrap_or(1.0)
    }
}

/// Means by group; 0 for groups without a value.
fn means(groups: usize, values: impl Iterator<Item = (usize, f64)>) -> Vec<f64> {
    let mut sums = vec![(0.0, 0usize); groups];
    for (group, value) in values {
        sums[group].0 += value;
        sums[group].1 += 1;
    }
    sums.into_iter().map(|(sum, count)| if count > 0 { sum / count as f64 } else { 0.0 }).collect()
}
