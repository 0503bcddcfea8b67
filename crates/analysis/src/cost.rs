//! Costs of a run, by the same rules as for a plan: every stretch of computation counts, also those
//! that were stopped, failed or had to be repeated.

use slackline_engine::Outcome;
use slackline_model::schedule::{Lease, Stretch, bills};
use slackline_model::trace::{Happening, Span, Work};
use slackline_model::{FileId, Problem, TaskId};

/// Money of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Money {
    /// Sum of all costs.
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
        let mut moved = 0.0;
        for (file, money) in transfers(problem, outcome) {
            moved += money;
            let of = |task: TaskId| outcome.part_of.get(task.index());
            let reader = outcome.workflow.consumers(file).next();
            if let Some(&part) = outcome.workflow.producer(file).or(reader).and_then(of) {
                per_workflow[part as usize] += money;
            }
        }
        // Unused leases are shared by all workflows.
        let idle = bills.iter().zip(&used).filter(|(_, used)| **used <= 0.0).map(|(bill, _)| bill);
        let share = idle.sum::<f64>() / per_workflow.len().max(1) as f64;
        per_workflow.iter_mut().for_each(|cost| *cost += share);
        let total = bills.iter().sum::<f64>() + moved;
        Money { total, per_workflow, leases: outcome.leases.clone() }
    }
}

/// Returns the cost of every transfer that left a priced site or cluster; one that broke off is
/// charged for the bytes that arrived.
fn transfers(problem: &Problem<'_>, outcome: &Outcome) -> Vec<(FileId, f64)> {
    let (platform, records) = (problem.platform(), outcome.trace.records());
    if !platform.prices_transfers() {
        return Vec::new();
    }
    let priced = |span: Span<'_>| match span.work {
        Work::Transfer { file, from, to, bytes } => {
            let arrived = match records[span.record].what {
                Happening::TransferFailed { bytes, .. } => bytes,
                _ => bytes,
            };
            Some((file, arrived * platform.transfer_price(from, to)))
        }
        Work::Task { .. } => None,
    };
    outcome.trace.spans().into_iter().filter_map(priced).collect()
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
