//! What a run cost, by the same rules as a plan: every stretch of computation counts, also those that
//! were stopped, failed or had to be done again.

use slackline_execute::Outcome;
use slackline_model::schedule::{Lease, Stretch, bills};
use slackline_model::trace::{Span, Work};
use slackline_model::{Problem, TaskId};

/// Money of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Money {
    /// In all.
    pub total: f64,
    /// Per workflow that arrived: machines that are billed as a whole by the share of their use.
    pub per_workflow: Vec<f64>,
    /// Machines that exist only while leased.
    pub leases: Vec<Lease>,
}

impl Money {
    /// The money of a run.
    pub fn of(problem: &Problem<'_>, outcome: &Outcome) -> Money {
        let done = computed(outcome);
        let stretches = done.iter().map(|(_, stretch)| *stretch);
        let bills = bills(problem, stretches.clone(), &outcome.leases);
        let mut used = vec![0.0; bills.len()];
        for (procs, start, finish) in stretches.clone() {
            procs.iter().for_each(|&p| used[problem.host_of(p).index()] += finish - start);
        }
        let mut per_workflow = vec![0.0; outcome.arrived.len()];
        for (task, (procs, start, finish)) in &done {
            let Some(&part) = outcome.part_of.get(task.index()) else { continue };
            for &proc in *procs {
                let host = problem.host_of(proc).index();
                if used[host] > 0.0 {
                    per_workflow[part as usize] += bills[host] * ((finish - start) / used[host]);
                }
            }
        }
        // What was leased and never used is everybody's.
        let idle = bills.iter().zip(&used).filter(|(_, used)| **used <= 0.0).map(|(bill, _)| bill);
        let share = idle.sum::<f64>() / per_workflow.len().max(1) as f64;
        per_workflow.iter_mut().for_each(|cost| *cost += share);
        Money { total: bills.iter().sum(), per_workflow, leases: outcome.leases.clone() }
    }
}

/// Every stretch of computation of a run.
fn computed(outcome: &Outcome) -> Vec<(TaskId, Stretch<'_>)> {
    outcome.trace.spans().into_iter().filter_map(stretch).collect()
}

fn stretch(span: Span<'_>) -> Option<(TaskId, Stretch<'_>)> {
    match span.work {
        Work::Task { task, procs } => Some((task, (procs, span.start, span.finish))),
        Work::Transfer { .. } => None,
    }
}
