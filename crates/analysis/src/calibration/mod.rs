//! What real runs teach: how long kinds of tasks really take, how fast hosts and connections are.
//!
//! A task takes `estimate * factor of its kind / level of its host`. Factors and levels are medians,
//! found in turn; levels are counted from the fastest host, whatever all have in common is a factor of
//! the kinds. Medians because a few disturbed runs say nothing about the others.

mod connections;

pub use connections::{Connection, Moved, moved};

use serde::Serialize;
use slackline_model::median::median;
use slackline_model::platform::PlatformError;
use slackline_model::problem::Problem;
use slackline_model::workflow::Workflow;
use slackline_model::{KindId, Platform, Schedule, TaskId};
use std::collections::BTreeMap;

/// Rounds in which factors and levels settle.
const ROUNDS: usize = 5;

/// Level below which nobody believes what was seen.
const LEAST_LEVEL: f64 = 0.01;

/// One task, as it ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its kind.
    pub kind: String,
    /// Where.
    pub host: String,
    /// Seconds it took.
    pub seconds: f64,
    /// Seconds it was expected to take there.
    pub expected: f64,
}

/// A number that was seen several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// How often.
    pub samples: usize,
    /// Half of them are below.
    pub median: f64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Spread {
    /// Of these values.
    pub fn of(values: &[f64]) -> Spread {
        if values.is_empty() {
            return Spread::default();
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len() as f64;
        let mean = sorted.iter().sum::<f64>() / count;
        let squares: f64 = sorted.iter().map(|x| (x - mean) * (x - mean)).sum();
        Spread {
            samples: sorted.len(),
            median: median(&mut sorted).unwrap_or(1.0),
            mean,
            deviation: if sorted.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 },
            least: sorted[0],
            most: sorted[sorted.len() - 1],
        }
    }
}

/// A kind of task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kind {
    /// Its name.
    pub kind: String,
    /// Real seconds.
    pub seconds: Spread,
    /// Real seconds over those expected, on the fastest host.
    pub factor: Spread,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Host {
    /// Its name.
    pub host: String,
    /// Its speed as a share of what the platform states, counted from the fastest.
    pub level: Spread,
}

/// What some runs teach.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Learnt {
    /// By name.
    pub kinds: Vec<Kind>,
    /// By name.
    pub hosts: Vec<Host>,
    /// By names.
    pub connections: Vec<Connection>,
}

/// What a run shows of tasks that came to their end.
pub fn samples(problem: &Problem<'_>, schedule: &Schedule) -> Vec<Sample> {
    let (workflow, platform) = (problem.workflow(), problem.platform());
    let task = |task: TaskId| {
        let placement = schedule.placement(task)?;
        let (proc, width) = (placement.proc(), placement.procs().len() as u32);
        Some(Sample {
            kind: workflow.kind_name(workflow.kind(task)).to_string(),
            host: platform.host(problem.host_of(proc)).name.to_string(),
            seconds: placement.seconds(),
            expected: problem.exec_wide(task, problem.class_of(proc), width),
        })
    };
    workflow.tasks().filter_map(task).collect()
}

impl Learnt {
    /// Learns from samples.
    pub fn of(tasks: &[Sample], moves: &[Moved]) -> Learnt {
        let known: Vec<&Sample> =
            tasks.iter().filter(|s| s.expected > 0.0 && s.seconds > 0.0).collect();
        let mut factors: BTreeMap<&str, f64> = BTreeMap::new();
        let mut levels: BTreeMap<&str, f64> = BTreeMap::new();
        for _ in 0..ROUNDS {
            let level = |s: &Sample| levels.get(s.host.as_str()).copied().unwrap_or(1.0);
            let by_kind = group(&known, |s| s.kind.as_str(), |s| s.seconds / s.expected * level(s));
            factors = medians(by_kind);
            let factor = |s: &Sample| factors.get(s.kind.as_str()).copied().unwrap_or(1.0);
            let by_host =
                group(&known, |s| s.host.as_str(), |s| factor(s) * s.expected / s.seconds);
            levels = medians(by_host);
            let fastest = levels.values().copied().fold(0.0, f64::max);
            if fastest > 0.0 {
                levels.values_mut().for_each(|l| *l = (*l / fastest).max(LEAST_LEVEL));
            }
        }
        let level = |s: &Sample| levels.get(s.host.as_str()).copied().unwrap_or(1.0);
        let seconds = group(&tasks.iter().collect::<Vec<_>>(), |s| s.kind.as_str(), |s| s.seconds);
        let ratios = group(&known, |s| s.kind.as_str(), |s| s.seconds / s.expected * level(s));
        let kinds = seconds.into_iter().map(|(kind, seconds)| Kind {
            kind: kind.to_string(),
            seconds: Spread::of(&seconds),
            factor: Spread::of(ratios.get(kind).map_or(&[][..], Vec::as_slice)),
        });
        let factor = |s: &Sample| factors.get(s.kind.as_str()).copied().unwrap_or(1.0);
        let seen = group(&known, |s| s.host.as_str(), |s| factor(s) * s.expected / s.seconds);
        let hosts = seen.into_iter().map(|(host, values)| {
            let level = levels.get(host).copied().unwrap_or(1.0);
            Host { host: host.to_string(), level: Spread { median: level, ..Spread::of(&values) } }
        });
        Learnt {
            kinds: kinds.collect(),
            hosts: hosts.collect(),
            connections: connections::connections(moves),
        }
    }

    /// A platform with the connections as they were learnt to be.
    pub fn connect(&self, platform: &Platform) -> Result<Platform, PlatformError> {
        connections::applied(&self.connections, platform)
    }

    /// The factor of a kind; that of all together where it was never seen.
    pub fn factor(&self, kind: &str) -> f64 {
        let seen = self.kinds.iter().filter(|k| k.factor.samples > 0);
        match seen.clone().find(|k| k.kind == kind) {
            Some(found) => found.factor.median,
            None => {
                let mut all: Vec<f64> = seen.map(|k| k.factor.median).collect();
                median(&mut all).unwrap_or(1.0)
            }
        }
    }

    /// The level of a host; 1 where it was never seen.
    pub fn level(&self, host: &str) -> f64 {
        self.hosts.iter().find(|h| h.host == host).map_or(1.0, |h| h.level.median)
    }

    /// A workflow with learnt times. Tasks without an estimate get the median of their kind, at the
    /// reference speed.
    pub fn teach(&self, workflow: &Workflow) -> Workflow {
        let speed = workflow.reference_speed();
        workflow.clone().with_work(speed, |w, task| {
            let kind = w.kind_name(w.kind(task));
            match w.work(task) {
                0.0 => {
                    let seen = self.kinds.iter().find(|k| k.kind == kind);
                    seen.map_or(0.0, |k| k.seconds.median * speed)
                }
                work => work * self.factor(kind),
            }
        })
    }
}

/// A workflow for a first run: tasks without an estimate are taken for as long as is usual of their kind,
/// else of all others, else for a second.
pub fn first_estimates(workflow: Workflow) -> Workflow {
    let unknown = |w: &Workflow, task: TaskId| w.work(task) <= 0.0;
    if workflow.cost_table().is_some() || !workflow.tasks().any(|t| unknown(&workflow, t)) {
        return workflow;
    }
    let mut kinds: BTreeMap<KindId, Vec<f64>> = BTreeMap::new();
    for task in workflow.tasks().filter(|&t| !unknown(&workflow, t)) {
        kinds.entry(workflow.kind(task)).or_default().push(workflow.work(task));
    }
    let speed = workflow.reference_speed();
    let usual = |values: &[f64]| Spread::of(values).median;
    let known: Vec<f64> = kinds.values().flatten().copied().collect();
    let of_all = if known.is_empty() { speed } else { usual(&known) };
    let of_kind: BTreeMap<KindId, f64> = kinds.iter().map(|(k, v)| (*k, usual(v))).collect();
    workflow.with_work(speed, |w, task| match w.work(task) {
        work if work > 0.0 => work,
        _ => of_kind.get(&w.kind(task)).copied().unwrap_or(of_all),
    })
}

/// Values of samples by a name of theirs.
fn group<'s>(
    samples: &[&'s Sample],
    name: impl Fn(&'s Sample) -> &'s str,
    value: impl Fn(&'s Sample) -> f64,
) -> BTreeMap<&'s str, Vec<f64>> {
    let mut groups: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for &sample in samples {
        groups.entry(name(sample)).or_default().push(value(sample));
    }
    groups
}

fn medians(groups: BTreeMap<&str, Vec<f64>>) -> BTreeMap<&str, f64> {
    let middle = |mut values: Vec<f64>| median(&mut values).unwrap_or(1.0);
    groups.into_iter().map(|(name, values)| (name, middle(values))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_of_kinds_and_levels_of_hosts_are_told_apart() {
        let mut tasks = Vec::new();
        for (kind, factor) in [("short", 2.0), ("long", 3.0)] {
            for (host, level) in [("fast", 1.0), ("slow", 0.25), ("fast", 1.0)] {
                for expected in [1.0, 5.0, 10.0] {
                    let seconds = expected * factor / level;
                    let (kind, host) = (kind.to_string(), host.to_string());
                    tasks.push(Sample { kind, host, seconds, expected });
                }
            }
        }
        // One that was disturbed says nothing.
        tasks[0].seconds *= 40.0;
        let learnt = Learnt::of(&tasks, &[]);
        assert!((learnt.factor("short") - 2.0).abs() < 1e-9);
        assert!((learnt.factor("long") - 3.0).abs() < 1e-9);
        assert!((learnt.level("slow") - 0.25).abs() < 1e-9);
        assert_eq!(learnt.level("fast"), 1.0);
        assert_eq!(learnt.factor("never seen"), 2.5);
    }
}
