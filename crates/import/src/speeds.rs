//! Relative speeds of hosts, derived from kinds of tasks that ran on several of them, and the run times of each kind.

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

/// Speed of the hosts of one run beside those of another, by the kinds of tasks that ran on both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedRatio {
    /// Speed beside the mean host of the other run.
    pub factor: f64,
    /// Standard error of its logarithm.
    pub error: f64,
    /// Standard deviation between kinds of the logarithm, beyond what the spread of their tasks explains.
    pub between_kinds: f64,
    /// Number of kinds that ran on both.
    pub kinds: usize,
}

/// Run times by kind, in seconds on the mean host of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KindTimes {
    /// By task: its kind, and its seconds where it has any.
    pub tasks: Vec<(usize, Option<f64>)>,
    /// By kind: its name.
    pub names: Vec<String>,
}

impl KindTimes {
    /// The logarithms of the seconds of each kind.
    pub fn logarithms(&self) -> Vec<Vec<f64>> {
        let mut of_kind = vec![Vec::new(); self.names.len()];
        for &(kind, seconds) in &self.tasks {
            of_kind[kind].extend(seconds.map(f64::ln));
        }
        of_kind
    }
}

impl RecordedRun {
    /// The run times of every task that succeeded, on the mean host.
    pub fn kind_times(&self) -> KindTimes {
        let speeds = self.relative_speeds();
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut times = KindTimes::default();
        for task in &self.tasks {
            let next = numbers.len();
            let kind = *numbers.entry(&task.kind).or_insert(next);
            if kind == next {
                times.names.push(task.kind.to_string());
            }
            let last = task.last().filter(|a| a.outcome.is_success());
            let seconds =
                last.and_then(|a| Some(a.seconds()? * self.speed_of(speeds.as_deref(), a)));
            times.tasks.push((kind, seconds.filter(|s| *s > 0.0 && s.is_finite())));
        }
        times
    }

    /// Speed of the hosts of this run beside those of another, from the kinds of tasks that ran on both; none where
    /// either has fewer than five tasks of such kinds. A mean over the kinds with random effects (DerSimonian and
    /// Laird): each kind may move from one machine to the other at a ratio of its own.
    pub fn speed_beside(&self, other: &RecordedRun) -> Option<SpeedRatio> {
        let (here, there) = (self.kind_times(), other.kind_times());
        let (ours, theirs) = (here.logarithms(), there.logarithms());
        let shared: Vec<(&[f64], &[f64])> = (here.names.iter().zip(&ours))
            .filter_map(|(name, ours)| {
                let at = there.names.iter().position(|n| n == name)?;
                Some((ours.as_slice(), theirs[at].as_slice()))
            })
            .filter(|(ours, theirs)| !ours.is_empty() && !theirs.is_empty())
            .collect();
        let count = |side: fn(&(&[f64], &[f64])) -> usize| shared.iter().map(side).sum::<usize>();
        if count(|s| s.0.len()) < FEWEST || count(|s| s.1.len()) < FEWEST {
            return None;
        }
        let sides = || shared.iter().flat_map(|(ours, theirs)| [*ours, *theirs]);
        // Kinds with few tasks have the spread of all.
        let squares: f64 = sides().map(|logs| variance(logs) * (logs.len() - 1) as f64).sum();
        let freedom = sides().map(|logs| logs.len() - 1).sum::<usize>();
        let pooled = if freedom > 0 { squares / freedom as f64 } else { 0.0 };
        let spread = |logs: &[f64]| if logs.len() < FEWEST { pooled } else { variance(logs) };
        // A spread of a thousandth: run times are never known better.
        let least = 1e-6;
        let effects: Vec<(f64, f64)> = shared
            .iter()
            .map(|(ours, theirs)| {
                let error = |logs: &[f64]| spread(logs) / logs.len() as f64;
                (mean(theirs) - mean(ours), (error(ours) + error(theirs)).max(least))
            })
            .collect();
        let weighted = |between: f64| {
            let weights = effects.iter().map(|(_, variance)| 1.0 / (variance + between));
            let sum: f64 = weights.clone().sum();
            let mean = effects.iter().zip(weights).map(|(e, w)| e.0 * w).sum::<f64>() / sum;
            (mean, sum)
        };
        let (fixed, sum) = weighted(0.0);
        let squared: f64 = effects.iter().map(|(_, v)| 1.0 / (v * v)).sum();
        let q: f64 = effects.iter().map(|(e, v)| (e - fixed).powi(2) / v).sum();
        let room = sum - squared / sum;
        let more = q - (effects.len() - 1) as f64;
        let between = if room > 0.0 { (more / room).max(0.0) } else { 0.0 };
        let (logarithm, sum) = weighted(between);
        Some(SpeedRatio {
            factor: logarithm.exp(),
            error: (1.0 / sum).sqrt(),
            between_kinds: between.sqrt(),
            kinds: effects.len(),
        })
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Variance of a sample; 0 of a single value.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    squares / values.len().saturating_sub(1).max(1) as f64
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
