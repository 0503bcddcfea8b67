//! Load of a batch system, from its log, as a scenario for a workflow beside it.

use super::{Machine, Policy, Replay, Site, SiteError};
use slackline_formats::batch_log::BatchLog;
use slackline_model::Platform;
use std::fmt::Write;

/// Start, end and cores of each job; where the log has no starts, as a policy gives them on a machine of so many cores.
pub fn held(log: &BatchLog, cores: u64, policy: Policy) -> Result<Vec<(f64, f64, u64)>, SiteError> {
    let jobs = || log.jobs.iter().filter(|job| job.cores <= cores);
    if jobs().all(|job| job.start.is_some()) {
        let recorded = jobs().filter_map(|job| Some((job.start?, job.start? + job.run, job.cores)));
        return Ok(recorded.collect());
    }
    let site = Site::new(Machine::Cores(cores))?;
    let outcome = Replay { log, site: &site }.run(policy);
    let dates = outcome.starts.iter().zip(&outcome.ends);
    let held = log.jobs.iter().zip(dates);
    Ok(held.filter_map(|(job, (start, end))| Some(((*start)?, (*end)?, job.cores))).collect())
}

/// The scenario as TOML: from `from` seconds of the log on, hosts have at least the part `least` of their cores.
pub fn scenario(
    platform: &Platform,
    cores: u64,
    held: &[(f64, f64, u64)],
    (from, least): (f64, f64),
) -> String {
    let begin = held.iter().map(|job| job.0).fold(f64::INFINITY, f64::min);
    let begin = if begin.is_finite() { begin + from } else { 0.0 };
    let total: u64 = platform.hosts().iter().map(|host| u64::from(host.cores)).sum();
    let scale = total as f64 / cores as f64;
    let mut changes: Vec<(f64, f64)> = Vec::with_capacity(2 * held.len());
    for &(start, end, cores) in held.iter().filter(|job| job.1 > begin) {
        let share = cores as f64 * scale;
        changes.push(((start - begin).max(0.0), share));
        changes.push((end - begin, -share));
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    // The course of what is held, in cores of the platform.
    let mut course: Vec<(f64, f64)> = Vec::new();
    let mut now = 0.0;
    for (date, change) in changes {
        now += change;
        match course.last_mut() {
            Some(last) if last.0 == date => last.1 = now,
            _ => course.push((date, now)),
        }
    }
    let mut text = "# Recorded load of a batch system beside a workflow.\n".to_string();
    let mut before = 0.0;
    for host in platform.hosts().iter().filter(|host| host.cores > 0) {
        let own = f64::from(host.cores);
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for &(date, held) in &course {
            let taken = (held - before).clamp(0.0, own);
            // Sums of shares carry rounding errors that are no load.
            let part = (((own - taken) / own).max(least) * 1e6).round() / 1e6;
            if steps.last().map_or(1.0, |last| last.1) != part {
                steps.push((date, part));
            }
        }
        before += own;
        if steps.is_empty() {
            continue;
        }
        let list: Vec<String> =
            steps.iter().map(|(date, part)| format!("[{date}, {part}]")).collect();
        let _ = write!(
            text,
            "\n[[host]]\nname = {}\navailability = [{}]\n",
            serde_json::to_string(&*host.name).unwrap_or_default(),
            list.join(", ")
        );
    }
    text
}
