//! The processor that is idle first, and the source of a task's last message: the two candidates of the low-cost
//! methods (FCP, FLB).

use super::Partial;
use super::ranks::Weights;
use slackline_model::approx::{self, sort_key};
use slackline_model::{ProcId, TaskId};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Processors by the end of their last task, in logarithmic time. Entries are corrected when they come up: ends only
/// become later.
pub(super) struct IdleQueue(BinaryHeap<Reverse<Idle>>);

struct Idle {
    /// End of the last task when the entry was made; it may have become later since.
    from: f64,
    proc: ProcId,
}

impl Ord for Idle {
    fn cmp(&self, other: &Self) -> Ordering {
        let from = sort_key(self.from).total_cmp(&sort_key(other.from));
        from.then(self.proc.cmp(&other.proc))
    }
}

impl PartialOrd for Idle {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Idle {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Idle {}

impl IdleQueue {
    /// A queue of the processors that are not gone.
    pub(super) fn new(partial: &Partial<'_, '_>) -> IdleQueue {
        let idle = |proc| Idle { from: partial.timeline(proc).tail(), proc };
        let procs = partial.problem().proc_ids().map(idle);
        IdleQueue(procs.filter(|i| i.from.is_finite()).map(Reverse).collect())
    }

    /// The processor that is idle first; of equal ones the lowest.
    pub(super) fn first(&mut self, partial: &Partial<'_, '_>) -> Option<ProcId> {
        loop {
            let mut top = self.0.peek_mut()?;
            let proc = top.0.proc;
            let from = partial.timeline(proc).tail();
            if top.0.from == from {
                return Some(proc);
            }
            top.0.from = from;
        }
    }
}

/// The parent whose message would arrive last over a mean link.
pub(super) struct LastMessage {
    /// When it would arrive.
    pub(super) arrival: f64,
    /// The processor it comes from: the enabling processor.
    pub(super) from: ProcId,
}

/// The last message of a task whose parents are placed; of equal ones that of the lowest parent.
pub(super) fn last_message(
    partial: &Partial<'_, '_>,
    weights: Weights,
    task: TaskId,
) -> Option<LastMessage> {
    let problem = partial.problem();
    let mut last: Option<LastMessage> = None;
    for (parent, edge) in problem.workflow().predecessors(task) {
        let Some(placement) = partial.placement(parent) else { continue };
        let arrival = placement.finish + weights.transfer(problem, edge);
        if last.as_ref().is_none_or(|known| approx::gt(arrival, known.arrival)) {
            last = Some(LastMessage { arrival, from: placement.proc() });
        }
    }
    last
}
