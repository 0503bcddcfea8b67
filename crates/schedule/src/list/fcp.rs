//! FCP: Fast Critical Path (Radulescu, van Gemund, ICS 1999; heterogeneous form HCW 2000).
//!
//! Ready tasks wait in a queue of p places by falling upward rank, the rest behind it first come first served.
//! For a task two processors are considered only: the one that is idle first and the one its last message comes
//! from; it goes where it finishes earlier, without insertion. The first task therefore goes to the first
//! processor, however slow. O(v log p + e) after the ranks. Ties: lower task index, lower processor, lower
//! parent. A task that neither of the two can run goes where it finishes first.

use super::idle::{IdleQueue, last_message};
use super::ranks::{self, TRANSFER, Weights};
use super::{Partial, Readiness, Slot};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::approx::{self, sort_key};
use slackline_model::{Problem, Schedule, TaskId};
use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

/// Registry entry.
pub const FCP: Algorithm = Algorithm {
    name: "fcp",
    family: Family::List,
    basis: Basis::Published,
    about: "upward rank; only the first idle and the enabling processor are looked at",
    source: "Radulescu, van Gemund, ICS 1999 and HCW 2000",
    complexity: "O(v log p + e)",
    parameters: &[TRANSFER],
    needs: &[],
    plan: |problem, request| plan(problem, Weights::of(&FCP.values(request)?)),
};

fn plan(problem: &Problem<'_>, weights: Weights) -> Result<Schedule, PlanError> {
    let rank = ranks::upward_by(problem, weights);
    let mut partial = Partial::appending(problem);
    let mut idle = IdleQueue::new(&partial);
    let (mut readiness, first) = Readiness::new(problem);
    let mut queue = BoundedQueue { places: problem.procs(), rank: &rank, ..Default::default() };
    for task in first {
        queue.push(task);
    }
    while let Some(task) = queue.pop() {
        let enabling = last_message(&partial, weights, task).map(|message| message.from);
        let mut candidates: Vec<_> = idle.first(&partial).into_iter().chain(enabling).collect();
        candidates.sort_unstable();
        let slots = candidates.into_iter().map(|proc| partial.slot_on(task, proc));
        let better = |a: Slot, b: Slot| if approx::lt(b.finish, a.finish) { b } else { a };
        let slot = match slots.filter(Slot::possible).reduce(better) {
            Some(slot) => slot,
            None => partial.earliest_finish(task)?,
        };
        partial.place(task, slot);
        readiness.placed(task, |child| queue.push(child));
    }
    Ok(partial.into_schedule())
}

/// A priority queue of few places with the others waiting in line.
#[derive(Default)]
struct BoundedQueue<'r> {
    places: usize,
    rank: &'r [f64],
    /// Seated tasks: key of the falling rank, index.
    seated: BTreeSet<(Reverse<u64>, TaskId)>,
    line: VecDeque<TaskId>,
}

impl BoundedQueue<'_> {
    fn push(&mut self, task: TaskId) {
        if self.seated.len() < self.places {
            // Ranks are not negative: their bits sort like they do.
            let key = sort_key(self.rank[task.index()]).to_bits();
            self.seated.insert((Reverse(key), task));
        } else {
            self.line.push_back(task);
        }
    }

    fn pop(&mut self) -> Option<TaskId> {
        let (_, task) = self.seated.pop_first()?;
        if let Some(next) = self.line.pop_front() {
            self.push(next);
        }
        Some(task)
    }
}
