//! Metrics of a schedule for users, groups and operators.

use super::replay::{Outcome, Replay};
use serde::Serialize;
use slackline_formats::batch_log::LoggedJob;
use std::collections::BTreeMap;

/// Jobs shorter than this count as if they took so long in the bounded slowdown, in seconds.
pub const SLOWDOWN_BOUND: f64 = 10.0;

/// A distribution in a few numbers; none where there are no jobs. Quantiles are nearest-rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    /// The smallest value with at least 95 % of the values at or below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

impl Spread {
    /// Measures some values.
    pub fn of(mut values: Vec<f64>) -> Spread {
        values.sort_unstable_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Spread {
            mean: (!values.is_empty()).then_some(mean),
            median: nearest_rank(&values, 1, 2),
            p95: nearest_rank(&values, 19, 20),
            max: values.last().copied(),
        }
    }
}

/// The smallest of sorted values with at least `part / whole` of them at or below it.
pub fn nearest_rank(sorted: &[f64], part: usize, whole: usize) -> Option<f64> {
    let rank = (sorted.len() * part).div_ceil(whole);
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The jobs of one user or group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AccountMetrics {
    /// Jobs that ran.
    pub jobs: usize,
    /// Core-seconds asked for and run.
    pub core_seconds: f64,
    /// Their part of all.
    pub share: Option<f64>,
    /// Mean wait, in seconds.
    pub wait_mean: f64,
    /// Mean bounded slowdown.
    pub bounded_slowdown_mean: f64,
}

/// Shares of use held against shares of pledges: half the sum of the differences, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PledgeDeviation {
    /// Over all the time.
    pub whole: Option<f64>,
    /// Windows with use and pledges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<usize>,
    /// Mean over the windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Largest of a window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

/// The measures of a schedule, over the jobs that ran. Seconds, core-seconds, joules.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Jobs that ran.
    pub jobs: usize,
    /// Jobs killed at their limit.
    pub killed: usize,
    /// Last end less first submission.
    pub span: Option<f64>,
    /// Start less submission.
    pub wait: Spread,
    /// End less submission over the time it ran (at least [`SLOWDOWN_BOUND`]), at least 1.
    pub bounded_slowdown: Spread,
    /// End less submission.
    pub turnaround: Spread,
    /// Core-seconds asked for and run.
    pub core_seconds: f64,
    /// Their part of what the machine offered.
    pub utilisation: Option<f64>,
    /// Utilisation with the cores of whole nodes.
    pub held: Option<f64>,
    /// Energy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<f64>,
    /// Times that a unit was switched on, where idle ones are switched off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boots: Option<u64>,
    /// By user.
    pub user: BTreeMap<String, AccountMetrics>,
    /// By group.
    pub group: BTreeMap<String, AccountMetrics>,
    /// Deviation of use from the pledges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pledge_deviation: Option<PledgeDeviation>,
}

/// A job that ran.
#[derive(Clone, Copy, Debug)]
struct CompletedJob<'a> {
    job: &'a LoggedJob,
    start: f64,
    end: f64,
    /// Cores held, whole nodes included.
    held: f64,
}

impl CompletedJob<'_> {
    fn wait(&self) -> f64 {
        self.start - self.job.submit
    }

    fn turnaround(&self) -> f64 {
        self.end - self.job.submit
    }

    fn slowdown(&self) -> f64 {
        (self.turnaround() / (self.end - self.start).max(SLOWDOWN_BOUND)).max(1.0)
    }

    fn core_seconds(&self) -> f64 {
        self.job.cores as f64 * (self.end - self.start)
    }
}

fn ran<'a>(replay: &Replay<'a>, outcome: &Outcome) -> Vec<CompletedJob<'a>> {
    let machine = replay.site.machine;
    let jobs = replay.log.jobs.iter().zip(outcome.starts.iter().zip(&outcome.ends));
    let ran = jobs.filter_map(|(job, (start, end))| {
        let held = (machine.units_of(job.cores) * machine.cores_per_unit()) as f64;
        Some(CompletedJob { job, start: (*start)?, end: (*end)?, held })
    });
    ran.collect()
}

/// Measures an outcome; pledges and power are those of the site.
pub fn measure(replay: &Replay<'_>, outcome: &Outcome) -> Metrics {
    let all = ran(replay, outcome);
    let mut metrics = measure_some(replay, &all, outcome.sleep.is_none());
    if let (Some(sleep), Some(power), Some(span)) = (outcome.sleep, replay.site.power, metrics.span)
    {
        let per_unit = replay.site.machine.cores_per_unit() as f64;
        let cores = replay.site.machine.cores() as f64;
        let held = all.iter().map(|ran| ran.held * (ran.end - ran.start)).sum::<f64>()
            + per_unit * sleep.booting;
        // Units are idle from date 0 of the log on; the time before the first submission is no part of the
        // span.
        let first = all.iter().map(|ran| ran.job.submit).fold(f64::INFINITY, f64::min);
        let lead = (first - power.off_after.unwrap_or(0.0) - power.shutdown).max(0.0);
        let off = (per_unit * sleep.off - cores * lead).max(0.0);
        let idle = (cores * span - held - off).max(0.0);
        metrics.energy = Some(power.loaded * held + power.off * off + power.idle * idle);
        metrics.boots = Some(sleep.boots);
    }
    metrics
}

fn measure_some(replay: &Replay<'_>, all: &[CompletedJob<'_>], is_always_on: bool) -> Metrics {
    let site = replay.site;
    let (first, last) = bounds(all);
    let span = (!all.is_empty()).then_some(last - first);
    // The sum of nothing is -0.
    let core_seconds = all.iter().map(CompletedJob::core_seconds).sum::<f64>() + 0.0;
    let held: f64 = all.iter().map(|ran| ran.held * (ran.end - ran.start)).sum();
    let cores = site.machine.cores() as f64;
    let part = |amount: f64| span.filter(|span| *span > 0.0).map(|span| amount / (cores * span));
    let by = |names: &[String], of: fn(&LoggedJob) -> u32| by_account(all, names, of, core_seconds);
    Metrics {
        jobs: all.len(),
        killed: all.iter().filter(|ran| ran.job.run > ran.job.limit).count(),
        span,
        wait: Spread::of(all.iter().map(CompletedJob::wait).collect()),
        bounded_slowdown: Spread {
            p95: None,
            ..Spread::of(all.iter().map(CompletedJob::slowdown).collect())
        },
        turnaround: Spread {
            median: None,
            p95: None,
            ..Spread::of(all.iter().map(CompletedJob::turnaround).collect())
        },
        core_seconds,
        utilisation: part(core_seconds),
        held: part(held),
        energy: site
            .power
            .filter(|_| is_always_on)
            .zip(span)
            .map(|(power, span)| cores * power.idle * span + (power.loaded - power.idle) * held),
        boots: None,
        user: by(&replay.log.users, |job| job.user),
        group: by(&replay.log.groups, |job| job.group),
        pledge_deviation: (!site.pledges.is_empty()).then(|| deviation(replay, all)),
    }
}

/// First submission and last end.
fn bounds(all: &[CompletedJob<'_>]) -> (f64, f64) {
    let first = all.iter().map(|ran| ran.job.submit).fold(f64::INFINITY, f64::min);
    (first, all.iter().map(|ran| ran.end).fold(f64::NEG_INFINITY, f64::max))
}

fn by_account(
    all: &[CompletedJob<'_>],
    names: &[String],
    of: fn(&LoggedJob) -> u32,
    core_seconds: f64,
) -> BTreeMap<String, AccountMetrics> {
    let mut accounts = vec![AccountMetrics::default(); names.len()];
    for ran in all {
        let account = &mut accounts[of(ran.job) as usize];
        account.jobs += 1;
        account.core_seconds += ran.core_seconds();
        account.wait_mean += ran.wait();
        account.bounded_slowdown_mean += ran.slowdown();
    }
    let named = names.iter().zip(accounts).filter(|(_, account)| account.jobs > 0);
    let named = named.map(|(name, mut account)| {
        account.wait_mean /= account.jobs as f64;
        account.bounded_slowdown_mean /= account.jobs as f64;
        account.share = (core_seconds > 0.0).then(|| account.core_seconds / core_seconds);
        (name.clone(), account)
    });
    named.collect()
}

/// Use of groups, and which have demand, in one window.
#[derive(Clone, Debug)]
struct Window {
    used: Vec<f64>,
    demand: Vec<bool>,
}

impl Window {
    fn new(groups: usize) -> Window {
        Window { used: vec![0.0; groups], demand: vec![false; groups] }
    }

    fn deviation(&self, pledges: &[f64]) -> Option<f64> {
        let demanding = || (0..self.used.len()).filter(|&g| self.demand[g]);
        let used: f64 = demanding().map(|g| self.used[g]).sum();
        let pledged: f64 = demanding().map(|g| pledges[g]).sum();
        let apart = |g: usize| (self.used[g] / used - pledges[g] / pledged).abs();
        (used > 0.0 && pledged > 0.0).then(|| demanding().map(apart).sum::<f64>() / 2.0)
    }
}

/// Most windows that are evaluated.
const MOST_WINDOWS: f64 = 1e7;

fn deviation(replay: &Replay<'_>, all: &[CompletedJob<'_>]) -> PledgeDeviation {
    let groups = replay.log.groups.len();
    let pledge = |name: &String| replay.site.pledges.get(name).copied().unwrap_or(0.0);
    let pledges: Vec<f64> = replay.log.groups.iter().map(pledge).collect();
    let mut whole = Window::new(groups);
    for ran in all {
        whole.used[ran.job.group as usize] += ran.core_seconds();
        whole.demand[ran.job.group as usize] = true;
    }
    let mut found =
        PledgeDeviation { whole: whole.deviation(&pledges), windows: None, mean: None, max: None };
    let Some(length) = replay.site.deviation_window else { return found };
    let (first, last) = bounds(all);
    let count = ((last - first) / length).ceil();
    if all.is_empty() || count > MOST_WINDOWS / groups.max(1) as f64 {
        return found;
    }
    let mut windows = vec![Window::new(groups); (count as usize).max(1)];
    for ran in all {
        let group = ran.job.group as usize;
        let from = ((ran.job.submit - first) / length).floor() as usize;
        for (k, window) in windows.iter_mut().enumerate().skip(from) {
            let (begin, end) = (first + k as f64 * length, first + (k + 1) as f64 * length);
            // A job that ends as the window begins makes no demand in it.
            if begin >= ran.end {
                break;
            }
            if ran.job.submit < end {
                window.demand[group] = true;
                let shared = ran.end.min(end) - ran.start.max(begin);
                window.used[group] += ran.job.cores as f64 * shared.max(0.0);
            }
        }
    }
    let deviations: Vec<f64> = windows.iter().filter_map(|w| w.deviation(&pledges)).collect();
    let spread = Spread::of(deviations.clone());
    found.windows = Some(deviations.len());
    (found.mean, found.max) = (spread.mean, spread.max);
    found
}

/// The jobs submitted in one period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Period {
    /// Its beginning, seconds of the log.
    pub begin: f64,
    /// The measures of its jobs; utilisation is over their own span.
    pub metrics: Metrics,
}

/// Metrics per period of submission, from the first submission on; periods without jobs are left out.
pub fn by_period(replay: &Replay<'_>, outcome: &Outcome, length: f64) -> Vec<Period> {
    let all = ran(replay, outcome);
    let (first, _) = bounds(&all);
    let mut periods: BTreeMap<u64, Vec<CompletedJob<'_>>> = BTreeMap::new();
    for ran in all {
        let k = ((ran.job.submit - first) / length).floor() as u64;
        periods.entry(k).or_default().push(ran);
    }
    let measured = periods.into_iter().map(|(k, jobs)| Period {
        begin: first + k as f64 * length,
        metrics: measure_some(replay, &jobs, outcome.sleep.is_none()),
    });
    measured.collect()
}

/// Cores held and cores asked for by waiting jobs over time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Load {
    /// Date.
    pub date: f64,
    /// Cores held from that date on.
    pub held: f64,
    /// Cores asked for by the jobs that wait.
    pub waiting: f64,
}

/// The load after every change.
pub fn load(replay: &Replay<'_>, outcome: &Outcome) -> Vec<Load> {
    let mut changes: Vec<(f64, f64, f64)> = Vec::new();
    for CompletedJob { job, start, end, held } in ran(replay, outcome) {
        changes.push((job.submit, 0.0, held));
        changes.push((start, held, -held));
        changes.push((end, -held, 0.0));
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut course: Vec<Load> = Vec::new();
    let (mut held, mut waiting) = (0.0, 0.0);
    for (date, more_held, more_waiting) in changes {
        held += more_held;
        waiting += more_waiting;
        match course.last_mut() {
            Some(last) if last.date == date => (last.held, last.waiting) = (held, waiting),
            _ => course.push(Load { date, held, waiting }),
        }
    }
    course
}
