//! Outcome of a run.

use slackline_model::schedule::Lease;
use slackline_model::{Schedule, Trace, Workflow};
use slackline_react::{Arrived, LearnedFigures};
use std::sync::Arc;

/// Ending of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// All tasks are done.
    Finished,
    /// The run stalled or the policy gave up; the reason as text for people.
    CannotFinish(String),
}

/// Counts and sums of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Plans adopted after the first.
    pub replannings: usize,
    /// Of these, plans that moved at least one placed task.
    pub remappings: usize,
    /// Placed or running tasks that were moved.
    pub migrations: usize,
    /// Seconds of computation thrown away by migrations, failures and rewinding.
    pub lost_seconds: f64,
    /// Bytes received and thrown away.
    pub lost_bytes: f64,
    /// Finished tasks that were rewound.
    pub rewound: usize,
    /// Rewound tasks whose results came back before they were done again.
    pub restored: usize,
    /// Tasks that failed for the last time.
    pub abandoned: usize,
    /// Transfers completed.
    pub transfers: usize,
    /// Bytes that crossed the network, also those of transfers that were broken off.
    pub bytes_moved: f64,
    /// Complete inputs left behind by migrating consumers.
    pub copies_left: usize,
    /// Of these, those that a task read after all, there or fetched from there.
    pub copies_used: usize,
    /// Hosts that were lost.
    pub hosts_lost: usize,
    /// Tasks that failed and were done again.
    pub failures: usize,
    /// Decisions that broke a rule.
    pub rejected: usize,
}

/// Everything about a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its ending.
    pub ending: Ending,
    /// Date at which the last task ended (or the run stalled), in seconds from the start.
    pub makespan: f64,
    /// Actual processors and dates of all tasks.
    pub schedule: Schedule,
    /// Events of the run, as far as they were recorded.
    pub trace: Trace,
    /// Numbers of re-plannings, failures, transfers and so on.
    pub counters: Counters,
    /// All work that was known in the end.
    pub workflow: Arc<Workflow>,
    /// The workflows that arrived.
    pub arrived: Vec<Arrived>,
    /// Per task: the workflow it belongs to, an index of `arrived`.
    pub part_of: Vec<u32>,
    /// The machines that were leased, in order of their orders.
    pub leases: Vec<Lease>,
    /// Estimates learned during the run.
    pub taught: LearnedFigures,
}

impl Outcome {
    /// Per workflow that arrived: end of its last task in seconds; infinite for unfinished ones.
    pub fn finishes(&self) -> Vec<f64> {
        let mut last = vec![0.0f64; self.arrived.len()];
        for (placement, &part) in self.schedule.placements.iter().zip(&self.part_of) {
            let finish = placement.as_ref().map_or(f64::INFINITY, |p| p.finish);
            let last = &mut last[part as usize];
            *last = last.max(finish);
        }
        last
    }
}
