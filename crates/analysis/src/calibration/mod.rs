//! Calibration from real runs: run times of kinds of tasks, levels of hosts, bandwidths of
//! connections.
//!
//! A task takes `(start-up + factor * estimate) / level` seconds, with start-up and factor of its kind and the level of its
//! host (`tasks` explains the fit). Levels are relative to the fastest host; what all hosts have in common is part of the
//! factors.

mod connections;
mod tasks;

pub use connections::{Connection, MeasuredTransfer, moved};

use serde::Serialize;
use slackline_model::median::median;
use slackline_model::platform::{Charges, PlatformError};
use slackline_model::problem::Problem;
use slackline_model::workflow::Workflow;
use slackline_model::{KindId, Platform, Schedule, TaskId};
use std::collections::BTreeMap;
use tasks::{Fit, Law};

/// One task, as it ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its kind.
    pub kind: String,
    /// Name of the host.
    pub host: String,
    /// Seconds it took.
    pub seconds: f64,
    /// Seconds it was expected to take there.
    pub expected: f64,
    /// Expected seconds over the expected seconds at the reference speed of its workflow.
    pub slowness: f64,
}

/// Distribution of several values of one quantity; all zero without values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Number of values.
    pub samples: usize,
    /// Their median.
    pub median: f64,
    /// Their mean.
    pub mean: f64,
    /// Their sample standard deviation (divisor n - 1); 0 for a single value.
    pub deviation: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Spread {
    /// Returns the spread of these values.
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
pub struct KindFit {
    /// Its name.
    pub kind: String,
    /// Measured run times in seconds.
    pub seconds: Spread,
    /// Constant part of every run time: seconds at the reference speed.
    pub startup: f64,
    /// Run time without start-up over expected time, at the level of the fastest host. Its median is the fitted factor.
    pub factor: Spread,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Host {
    /// Its name.
    pub host: String,
    /// Actual over stated speed, relative to the fastest host. Its median is the fitted level.
    pub level: Spread,
}

/// Estimates fitted to runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Learnt {
    /// Kinds of tasks, by name.
    pub kinds: Vec<KindFit>,
    /// Hosts, by name.
    pub hosts: Vec<Host>,
    /// Connections, by names of places.
    pub connections: Vec<Connection>,
    /// Law of all kinds together, for kinds that were not observed.
    #[serde(skip)]
    any: Option<Law>,
}

/// Returns the samples of the tasks that a run finished.
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
            slowness: match workflow.cost_table() {
                Some(_) => 1.0,
                None => workflow.reference_speed() / platform.host(problem.host_of(proc)).speed,
            },
        })
    };
    workflow.tasks().filter_map(task).collect()
}

impl Learnt {
    /// Learns from samples.
    pub fn of(tasks: &[Sample], moves: &[MeasuredTransfer]) -> Learnt {
        let known: Vec<&Sample> =
            tasks.iter().filter(|s| s.expected > 0.0 && s.seconds > 0.0).collect();
        let fit = Fit::of(&known);
        let seconds = group(&tasks.iter().collect::<Vec<_>>(), |s| s.kind.as_str(), |s| s.seconds);
        let ratio = |s: &Sample| {
            let left = s.seconds * fit.level(&s.host) - fit.law(&s.kind).startup * s.slowness;
            left.max(0.0) / s.expected
        };
        let ratios = group(&known, |s| s.kind.as_str(), ratio);
        let kinds = seconds.into_iter().map(|(kind, seconds)| {
            let law = fit.law(kind);
            let seen = Spread::of(ratios.get(kind).map_or(&[][..], Vec::as_slice));
            KindFit {
                kind: kind.to_string(),
                seconds: Spread::of(&seconds),
                startup: law.startup,
                factor: Spread { median: law.factor, ..seen },
            }
        });
        let level =
            |s: &Sample| fit.law(&s.kind).seconds(s.expected / s.slowness) * s.slowness / s.seconds;
        let hosts = group(&known, |s| s.host.as_str(), level).into_iter().map(|(host, values)| {
            let level = Spread { median: fit.level(host), ..Spread::of(&values) };
            Host { host: host.to_string(), level }
        });
        Learnt {
            kinds: kinds.collect(),
            hosts: hosts.collect(),
            connections: connections::connections(moves),
            any: fit.any,
        }
    }

    /// Returns the platform with fitted connections, under a network model with these charges.
    pub fn connect(
        &self,
        platform: &Platform,
        charges: &Charges,
    ) -> Result<Platform, PlatformError> {
        connections::applied(&self.connections, platform, charges)
    }

    /// Seconds that a task takes at the reference speed: by the law of its kind, or that of all kinds where its own was
    /// not observed. `estimate` in seconds.
    pub fn seconds(&self, kind: &str, estimate: f64) -> f64 {
        let seen = self.kinds.iter().find(|k| k.kind == kind && k.factor.samples > 0);
        let own = seen.map(|k| Law { startup: k.startup, factor: k.factor.median });
        own.or(self.any).map_or(estimate, |law| law.seconds(estimate))
    }

    /// The level of a host; 1 where it was never seen.
    pub fn level(&self, host: &str) -> f64 {
        self.hosts.iter().find(|h| h.host == host).map_or(1.0, |h| h.level.median)
    }

    /// Returns the workflow with fitted estimates. Tasks without an estimate get the median run time of their kind, at the
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
                work => self.seconds(kind, work / speed) * speed,
            }
        })
    }
}

/// Estimates for a first run. Tasks without one get the median estimate of their kind, else of all tasks, else 1 s.
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

/// Groups a value of each sample by name.
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
