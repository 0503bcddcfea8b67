//! Whether to adopt a batch policy or a machine: both sides on replicas of a workload, no loss on any metric
//! and a gain on one. The verdict of the metrics is that of [`no_regression`].

use crate::compare::{Family, Limits, Regression, Verdict, no_regression};
use rand::RngExt;
use rayon::prelude::*;
use slackline_centre::batch::metrics::{self, Metrics};
use slackline_centre::batch::{Policy, Replay, Site};
use slackline_formats::batch_log::{BatchLog, LoggedJob};
use slackline_formats::csv::Csv;
use slackline_formats::{FormatError, Result};
use slackline_generate::Seed;
use slackline_generate::workload::Lublin;
use slackline_model::rng::stream;
use std::collections::HashMap;

/// One side of the comparison.
#[derive(Clone, Debug)]
pub struct Side {
    /// The batch policy.
    pub policy: Policy,
    /// Machine and rules.
    pub site: Site,
    /// Speed of its cores relative to those of the log: run times are divided by it.
    pub speed: f64,
}

/// Source of the replicas of the workload.
#[derive(Clone, Copy, Debug)]
pub enum Workload<'a> {
    /// Drawn from a generator, each with a member number of its own.
    Generated(Lublin),
    /// Blocks of a log, drawn with replacement and put one after the other, as many seconds long each. Weeks of
    /// one log share their backlog and are not independent; drawn blocks begin with whatever the block before
    /// them has left.
    Log {
        /// The log.
        log: &'a BatchLog,
        /// Length of a block, in seconds; the log has [`MOST_BLOCKS`] at most.
        block: f64,
    },
}

/// Two sides, a workload and the limits of a comparison.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The present configuration.
    pub baseline: Side,
    /// The proposed configuration.
    pub candidate: Side,
    /// The workload.
    pub workload: Workload<'a>,
    /// Number of replicas.
    pub replicas: usize,
    /// Seed of the replicas.
    pub seed: u64,
    /// The sides see workloads drawn independently of each other, instead of the same ones.
    pub independent: bool,
    /// Tolerated loss and demanded gain per metric.
    pub limits: HashMap<String, Limits>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Adoption {
    /// Names of the metrics, in order.
    pub metrics: Vec<String>,
    /// Values of each replica: baseline and candidate by metric.
    pub replicas: Vec<[Vec<f64>; 2]>,
    /// Verdicts by metric.
    pub regression: Regression,
    /// Metrics with a gain that counts: beyond what is demanded at the level of all metrics together.
    pub gains: Vec<String>,
    /// No loss, and a gain.
    pub is_adopted: bool,
}

/// Results of repetitions of a comparison with other seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trials {
    /// Repetitions.
    pub trials: usize,
    /// Those that find a gain and no loss.
    pub adopted: usize,
    /// Those that find a loss.
    pub losses: usize,
}

/// Largest chance that a comparison of equals finds a gain: half of the level of the two-sided intervals, which
/// all metrics share.
pub const FALSE_GAIN_RATE: f64 = 0.025;

fn log_of(lublin: &Lublin, seed: Seed) -> Result<BatchLog> {
    let jobs = lublin.jobs(seed).map_err(|error| FormatError::new(error.to_string()))?;
    let names = |count: u64| (1..=count).map(|name| name.to_string()).collect();
    let job = |(k, job): (usize, slackline_generate::workload::GeneratedJob)| LoggedJob {
        number: k as u64 + 1,
        submit: job.submit as f64,
        start: None,
        cores: job.cores,
        limit: job.limit as f64,
        run: job.run as f64,
        user: job.user as u32 - 1,
        group: job.group as u32 - 1,
        queue: job.queue as u32 - 1,
    };
    Ok(BatchLog {
        jobs: jobs.into_iter().enumerate().map(job).collect(),
        users: names(lublin.users),
        groups: names(lublin.groups),
        queues: names(lublin.queues),
        ..BatchLog::default()
    })
}

/// Most blocks of a log: each is drawn for every replica, the empty ones too.
pub const MOST_BLOCKS: usize = 1_000_000;

/// Number of blocks of so many seconds that a log has, from its first submission to its last.
pub fn block_count(log: &BatchLog, block: f64) -> usize {
    let first = log.jobs.first().map_or(0.0, |job| job.submit);
    let last = log.jobs.last().map_or(0.0, |job| job.submit);
    (((last - first) / block).floor() as usize).saturating_add(1)
}

/// Blocks of a log drawn with replacement.
fn resampled(log: &BatchLog, block: f64, seed: u64, replica: u64) -> BatchLog {
    let first = log.jobs.first().map_or(0.0, |job| job.submit);
    let blocks = block_count(log, block);
    let bound = |k: usize| log.jobs.partition_point(|job| job.submit < first + k as f64 * block);
    let mut random = stream(seed, "adopt/blocks", replica);
    let mut jobs = Vec::with_capacity(log.jobs.len());
    for place in 0..blocks {
        let drawn = random.random_range(0..blocks);
        let shift = (place as f64 - drawn as f64) * block;
        for job in &log.jobs[bound(drawn)..bound(drawn + 1)] {
            let number = jobs.len() as u64 + 1;
            jobs.push(LoggedJob { number, submit: job.submit + shift, start: None, ..*job });
        }
    }
    BatchLog {
        jobs,
        users: log.users.clone(),
        groups: log.groups.clone(),
        queues: log.queues.clone(),
        ..BatchLog::default()
    }
}

impl Question<'_> {
    fn workload(&self, replica: u64) -> Result<BatchLog> {
        match &self.workload {
            Workload::Generated(lublin) => {
                log_of(lublin, Seed { seed: self.seed, member: replica })
            }
            Workload::Log { log, block } => Ok(resampled(log, *block, self.seed, replica)),
        }
    }

    /// Whether shares of the machine are shares of the same thing on both sides.
    fn is_one_machine(&self) -> bool {
        self.baseline.site.machine == self.candidate.site.machine
            && self.baseline.speed == self.candidate.speed
    }

    fn has_energy(&self) -> bool {
        self.baseline.site.power.is_some() && self.candidate.site.power.is_some()
    }

    fn has_pledges(&self) -> bool {
        !self.baseline.site.pledges.is_empty() && !self.candidate.site.pledges.is_empty()
    }

    /// Names of the metrics that both sides have.
    pub fn metrics(&self) -> Vec<String> {
        let always = ["waiting_time", "waiting_p95", "bounded_slowdown", "turnaround", "refused"];
        let utilisation = self.is_one_machine().then_some("utilisation");
        let energy = self.has_energy().then_some("energy");
        let pledges = self.has_pledges().then_some("pledge_deviation");
        always
            .into_iter()
            .chain(utilisation)
            .chain(energy)
            .chain(pledges)
            .map(str::to_string)
            .collect()
    }

    fn values(&self, side: &Side, log: &BatchLog) -> Vec<f64> {
        let faster;
        let log = if side.speed == 1.0 {
            log
        } else {
            let mut scaled = log.clone();
            scaled.jobs.iter_mut().for_each(|job| job.run /= side.speed);
            faster = scaled;
            &faster
        };
        let replay = Replay { log, site: &side.site };
        let outcome = replay.run(side.policy);
        let found: Metrics = metrics::measure(&replay, &outcome);
        let mut values = vec![
            found.wait.mean.unwrap_or(0.0),
            found.wait.p95.unwrap_or(0.0),
            found.bounded_slowdown.mean.unwrap_or(1.0),
            found.turnaround.mean.unwrap_or(0.0),
            outcome.refused.len() as f64,
        ];
        if self.is_one_machine() {
            values.push(found.utilisation.unwrap_or(0.0));
        }
        if self.has_energy() {
            values.push(found.energy.unwrap_or(0.0));
        }
        if self.has_pledges() {
            values.push(found.pledge_deviation.and_then(|d| d.mean.or(d.whole)).unwrap_or(0.0));
        }
        values
    }

    /// Compares the sides.
    pub fn answer(&self) -> Result<Adoption> {
        let one = |replica: usize| {
            let replica = replica as u64;
            let mine = self.workload(if self.independent { 2 * replica } else { replica })?;
            let before = self.values(&self.baseline, &mine);
            let after = if self.independent {
                self.values(&self.candidate, &self.workload(2 * replica + 1)?)
            } else {
                self.values(&self.candidate, &mine)
            };
            Ok([before, after])
        };
        let replicas: Vec<[Vec<f64>; 2]> =
            (0..self.replicas).into_par_iter().map(one).collect::<Result<_>>()?;
        let metrics = self.metrics();
        let table = |side: usize| {
            let keys = ["repetition", "method"].map(str::to_string).into_iter();
            let mut csv = Csv::with_head(keys.chain(metrics.iter().cloned()).collect())?;
            for (k, values) in replicas.iter().enumerate() {
                let cells = values[side].iter().map(|value| format!("{value:?}"));
                let keys = [k.to_string(), "batch".to_string()].into_iter();
                let row: Vec<String> = keys.chain(cells).collect();
                csv.push(k + 2, &row)?;
            }
            Ok::<Csv, FormatError>(csv)
        };
        let family =
            Family { metrics: metrics.clone(), limits: self.limits.clone(), ..Family::default() };
        let regression = no_regression(&table(0)?, &table(1)?, &family)?;
        let gains: Vec<String> = regression
            .metrics
            .iter()
            .filter(|change| is_sure_gain(change, &self.limits))
            .map(|change| change.metric.clone())
            .collect();
        let is_adopted = regression.verdict != Verdict::Loss
            && regression.verdict != Verdict::Open
            && !gains.is_empty();
        Ok(Adoption { metrics, replicas, regression, gains, is_adopted })
    }

    /// Repeats the comparison with other seeds. An open metric does not count against a gain here: what is asked is how often
    /// a gain is found.
    pub fn trials(&self, trials: usize) -> Result<Trials> {
        let mut found = Trials { trials, ..Trials::default() };
        for trial in 0..trials {
            let seed = self.seed.wrapping_add(1 + trial as u64);
            let answer = Question { seed, ..self.clone() }.answer()?;
            found.adopted += usize::from(!answer.gains.is_empty());
            found.losses += usize::from(answer.regression.verdict == Verdict::Loss);
        }
        Ok(found)
    }
}

/// Whether a gain remains significant at the level of all metrics together.
fn is_sure_gain(change: &crate::compare::Change, limits: &HashMap<String, Limits>) -> bool {
    use slackline_analysis::statistics::Sense;
    let demanded = limits.get(&change.metric).map_or(0.0, |limits| limits.gain);
    let (Some(low), Some(high)) = (change.low_all, change.high_all) else { return false };
    let slack = 1e-12;
    match (change.kind, change.better) {
        ("ratio", Sense::Lower) => high - 1.0 < -demanded - slack,
        ("ratio", Sense::Higher) => 1.0 / low - 1.0 < -demanded - slack,
        (_, Sense::Lower) => high < -demanded * change.old.unwrap_or(0.0).abs() - slack,
        (_, Sense::Higher) => -low < -demanded * change.old.unwrap_or(0.0).abs() - slack,
    }
}
