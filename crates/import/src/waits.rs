//! Waits of tasks of a recorded run that parents and processors do not explain: start-up times, queues and
//! failed attempts.

use crate::record::{RecordedRun, value};
use serde::Serialize;
use slackline_model::ProcId;
use slackline_model::scenario::{Actual, Scenario};
use std::collections::HashMap;

/// Overheads of the engine, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StartUp {
    /// From the start of the run to that of its first task.
    pub before: f64,
    /// Median of the time between the moment at which a task had its parents' results and its processors, and its
    /// start, over the tasks with parents; of an even number the upper one.
    pub per_task: f64,
}

/// Times of one task between readiness and end.
#[derive(Clone, Copy, Debug)]
struct Wait {
    /// Seconds from the moment it could start to its first attempt.
    idle: f64,
    /// Seconds from the moment it could start to its end.
    total: f64,
    /// Whether it has dates.
    is_timed: bool,
}

impl RecordedRun {
    /// The waits of all tasks under the recorded placements; transfers take their time at the measured bandwidth.
    fn waits(&self) -> Vec<Wait> {
        let untimed = Wait { idle: 0.0, total: 0.0, is_timed: false };
        let mut waits = vec![untimed; self.tasks.len()];
        let schedule = self.schedule();
        let zero = self.first_date().unwrap_or(0.0);
        let parents = self.parents();
        let producers = self.producers();
        let rate = self.bandwidth().filter(|_| !self.shares_storage());
        // Bytes of the outputs of one task that another reads.
        let bytes = |task: usize, parent: usize| {
            let inputs = self.tasks[task].inputs.iter();
            let from_there = inputs.filter(|&&file| producers[file] == Some(parent));
            from_there.filter_map(|&file| value(self.files[file].bytes)).sum::<f64>()
        };
        let host = |task: usize| {
            let attempt = self.planned_attempt(task)?;
            self.tasks[task].attempts[attempt].host
        };
        let mut order: Vec<usize> = (0..self.tasks.len()).collect();
        let placement = |task: usize| schedule.placements[task].as_ref();
        let start = |task: usize| placement(task).map_or(0.0, |p| p.start);
        order.sort_by(|&a, &b| start(a).total_cmp(&start(b)).then(a.cmp(&b)));
        let mut free: HashMap<ProcId, f64> = HashMap::new();
        for task in order {
            let Some(placed) = placement(task) else { continue };
            let held = placed.procs();
            let mut ready = held.iter().filter_map(|p| free.get(p)).copied().fold(0.0, f64::max);
            for &parent in &parents[task] {
                let Some(made) = placement(parent) else { continue };
                let rate = rate.filter(|_| host(parent) != host(task));
                ready =
                    ready.max(made.finish + rate.map_or(0.0, |rate| bytes(task, parent) / rate));
            }
            for &proc in held {
                let until = free.entry(proc).or_insert(0.0);
                *until = until.max(placed.finish);
            }
            let attempts = &self.tasks[task].attempts;
            let first = attempts.iter().filter_map(|a| value(a.start)).min_by(f64::total_cmp);
            let first = first.map_or(placed.start, |at| at - zero);
            waits[task] = Wait {
                idle: (first - ready).max(0.0),
                total: (placed.finish - ready).max(0.0),
                is_timed: self.planned_attempt(task).is_some(),
            };
        }
        waits
    }

    /// The conditions of the run: every task takes as long as it did, on any host, including its waits and failed
    /// attempts, so that the recorded plan under this scenario ends when the run did.
    pub fn scenario(&self) -> Scenario {
        let seconds = self.waits();
        let actual = |(task, wait): (&crate::record::TaskRecord, Wait)| Actual {
            task: task.name.clone(),
            host: None,
            seconds: wait.total,
        };
        Scenario {
            name: format!("{} as recorded", self.name),
            note: "waits and failed attempts are part of the seconds of each task".to_string(),
            actuals: self.tasks.iter().zip(seconds).map(actual).collect(),
            ..Scenario::default()
        }
    }

    /// Returns the overheads of the engine; none if no task has dates.
    pub fn start_up(&self) -> Option<StartUp> {
        let first = |index: usize| {
            let attempts = &self.tasks[index].attempts;
            attempts.iter().filter_map(|a| value(a.start)).min_by(f64::total_cmp)
        };
        let earliest = (0..self.tasks.len()).filter_map(first).min_by(f64::total_cmp)?;
        let before = earliest - self.first_date()?;
        let before = before.max(0.0);
        if !self.has_edges() {
            return Some(StartUp { before, per_task: 0.0 });
        }
        let parents = self.parents();
        // Tasks that could run from the start waited for that too: the rest is computed from those with
        // parents.
        if parents.iter().all(Vec::is_empty) {
            return Some(StartUp { before, per_task: 0.0 });
        }
        let waits = self.waits().into_iter().zip(&parents);
        let later = waits.filter(|(wait, parents)| wait.is_timed && !parents.is_empty());
        let mut idle: Vec<f64> = later.map(|(wait, _)| wait.idle).collect();
        idle.sort_by(f64::total_cmp);
        let per_task = idle.get(idle.len() / 2).copied().unwrap_or(0.0);
        Some(StartUp { before, per_task })
    }
}
