//! Numbers of waiting and running workflows and of idle processors over time, where several
//! workflows share a platform.

use crate::workflow_metrics::Served;
use slackline_engine::Outcome;
use slackline_model::trace::{Happening, Work};
use slackline_model::{HostId, Problem};

/// A number that changes over time: dates in order, and the level from then on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadSeries(pub Vec<(f64, f64)>);

impl LoadSeries {
    /// Accumulates changes; those of one date make one step.
    fn of(mut changes: Vec<(f64, f64)>) -> LoadSeries {
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut steps: Vec<(f64, f64)> = Vec::with_capacity(changes.len());
        let mut level = 0.0;
        for (date, change) in changes {
            level += change;
            match steps.last_mut() {
                Some(last) if last.0 == date => last.1 = level,
                _ => steps.push((date, level)),
            }
        }
        LoadSeries(steps)
    }

    /// The highest level before `end`.
    pub fn most(&self, end: f64) -> f64 {
        self.0.iter().filter(|(date, _)| *date < end).map(|s| s.1).fold(0.0, f64::max)
    }

    /// Mean levels of `count` equal parts of the time from 0 to `end`.
    pub fn means(&self, end: f64, count: usize) -> Vec<f64> {
        let part = end / count as f64;
        let mut means = vec![0.0; count];
        let ends = self.0.iter().skip(1).map(|s| s.0).chain([end]);
        for (&(from, level), to) in self.0.iter().zip(ends) {
            let (from, to) = (from.max(0.0), to.min(end));
            if from >= to {
                continue;
            }
            let last = ((to / part).ceil() as usize).min(count);
            for (index, mean) in
                means.iter_mut().enumerate().take(last).skip((from / part) as usize)
            {
                let begin = index as f64 * part;
                *mean += level * (to.min(begin + part) - from.max(begin)).max(0.0) / part;
            }
        }
        means
    }
}

/// The three series of a run; dates in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loads {
    /// Workflows that had arrived and of which no task had begun.
    pub waiting: LoadSeries,
    /// Workflows that had begun and not ended; an abandoned one ends with its last task.
    pub running: LoadSeries,
    /// Processors that were up (for leasable machines: leased) and idle.
    pub idle: LoadSeries,
}

impl Loads {
    /// The series of a run. `served` are its workflows as [`crate::workflow_metrics::served`] returns them.
    pub fn of(problem: &Problem<'_>, outcome: &Outcome, served: &[Served]) -> Loads {
        let end = outcome.makespan;
        let mut busy_until = vec![0.0f64; outcome.arrived.len()];
        let mut idle = presence(problem, outcome);
        for span in outcome.trace.spans() {
            let Work::Task { task, procs } = span.work else { continue };
            let count = procs.len() as f64;
            idle.extend([(span.start, -count), (span.finish, count)]);
            if let Some(&part) = outcome.part_of.get(task.index()) {
                let last = &mut busy_until[part as usize];
                *last = last.max(span.finish);
            }
        }
        let (mut waiting, mut running) = (Vec::new(), Vec::new());
        for ((arrived, served), last) in outcome.arrived.iter().zip(served).zip(busy_until) {
            let begun = served.start.unwrap_or(end);
            let over = match arrived.abandoned {
                Some(_) => last,
                None => end,
            };
            waiting.extend([(arrived.at, 1.0), (begun, -1.0)]);
            running.extend([(begun, 1.0), (served.finish.unwrap_or(over).max(begun), -1.0)]);
        }
        Loads {
            waiting: LoadSeries::of(waiting),
            running: LoadSeries::of(running),
            idle: LoadSeries::of(idle),
        }
    }
}

/// Returns the changes of the number of processors, with their dates.
fn presence(problem: &Problem<'_>, outcome: &Outcome) -> Vec<(f64, f64)> {
    let platform = problem.platform();
    let count = |host: HostId| problem.procs_of(host).len() as f64;
    let leasable = |host: HostId| platform.class(platform.host(host).class).leasable;
    let hosts = (0..platform.hosts().len()).map(HostId::new);
    let mut changes = vec![(0.0, hosts.filter(|&h| !leasable(h)).map(count).sum())];
    for lease in &outcome.leases {
        changes.extend([(lease.from, count(lease.host)), (lease.to, -count(lease.host))]);
    }
    for record in outcome.trace.records() {
        match record.what {
            Happening::HostLost { host } if !leasable(host) => {
                changes.push((record.at, -count(host)));
            }
            Happening::HostBack { host } if !leasable(host) => {
                changes.push((record.at, count(host)));
            }
            _ => {}
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_add_up_and_means_are_those_of_parts() {
        let course = LoadSeries::of(vec![(2.0, 1.0), (0.0, 1.0), (6.0, -2.0), (2.0, 1.0)]);
        assert_eq!(course.0, [(0.0, 1.0), (2.0, 3.0), (6.0, 1.0)]);
        assert_eq!(course.most(8.0), 3.0);
        assert_eq!(course.means(8.0, 2), [2.0, 2.0]);
        assert_eq!(course.means(8.0, 4), [1.0, 3.0, 3.0, 1.0]);
        assert_eq!(LoadSeries::default().means(8.0, 2), [0.0, 0.0]);
        // A change at the end itself does not count.
        assert_eq!(course.most(2.0), 1.0);
    }
}
