//! Ready tasks and the slot each would take now, kept current as processors fill up.
//!
//! A ready task's data is where it is; what changes is when processors are free, and without
//! insertion that only gets later. So a task's best slot stays its best until something is
//! placed on that very host, and only then is it looked for again.

use super::wide::neighbourhoods;
use super::{Partial, Readiness, Score, Slot};
use crate::registry::PlanError;
use slackline_model::approx::sort_key;
use slackline_model::problem::PoolId;
use slackline_model::{HostId, Problem, Schedule, TaskId};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Number of placements on each host, or in each cluster where tasks span hosts; unchanged numbers mean
/// unchanged slots.
#[derive(Clone)]
pub(super) struct Stamps {
    count: Vec<u32>,
    counted_at: Vec<u32>,
    /// Number of placements that take of each pool which several hosts share.
    shared: Vec<u32>,
}

impl Stamps {
    pub(super) fn new(problem: &Problem<'_>) -> Stamps {
        let counted_at = neighbourhoods(problem);
        let shared = if problem.has_pools() { problem.pools().all().len() } else { 0 };
        Stamps { count: vec![0; counted_at.len()], counted_at, shared: vec![0; shared] }
    }
    #[inline]
    pub(super) fn of(&self, partial: &Partial<'_, '_>, task: TaskId, host: HostId) -> u32 {
        let mut stamp = self.count[self.counted_at[host.index()] as usize];
        if let Some(pools) = &partial.pools {
            // Counts only rise: the sum is the same while each is.
            pools.each_shared(partial.problem(), task, host, |pool| {
                stamp += self.shared[pool as usize];
            });
        }
        stamp
    }
    #[inline]
    pub(super) fn renew(&mut self, partial: &Partial<'_, '_>, task: TaskId, host: HostId) {
        self.count[self.counted_at[host.index()] as usize] += 1;
        if let Some(pools) = &partial.pools {
            let shared = &mut self.shared;
            let count = |pool: PoolId| shared[pool as usize] += 1;
            pools.each_shared(partial.problem(), task, host, count);
        }
    }
}

struct Offer {
    key: (f64, f64),
    task: TaskId,
    slot: Slot,
    stamp: u32,
}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        let first = self.key.0.total_cmp(&other.key.0);
        first.then(self.key.1.total_cmp(&other.key.1)).then(self.task.cmp(&other.task))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Offer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Offer {}

/// Selection of the next ready task and its slot, for methods whose keys never improve with time.
pub(super) struct FirstOffer<Best, Key> {
    /// Score that the best slot of a task minimises.
    pub(super) best: Best,
    /// Key of a task with its best slot: the least goes next, then the lower index.
    pub(super) key: Key,
    /// Let tasks that become ready wait until all ready ones are placed.
    pub(super) batch: bool,
}

impl<Best, Key, S> FirstOffer<Best, Key>
where
    S: Score,
    Best: Fn(&Slot) -> S,
    Key: Fn(TaskId, &Slot) -> (f64, f64),
{
    /// Places all tasks without insertion.
    pub(super) fn plan(&self, problem: &Problem<'_>) -> Result<Schedule, PlanError> {
        let mut partial = Partial::appending(problem);
        let mut stamps = Stamps::new(problem);
        let (mut readiness, mut newly) = Readiness::new(problem);
        let mut offers = BinaryHeap::new();
        loop {
            if !self.batch || offers.is_empty() {
                for task in newly.drain(..) {
                    offers.push(Reverse(self.offer(&mut partial, &stamps, task)?));
                }
            }
            let Some(Reverse(offer)) = offers.pop() else { break };
            let host = problem.host_of(offer.slot.proc);
            if offer.stamp != stamps.of(&partial, offer.task, host) {
                offers.push(Reverse(self.offer(&mut partial, &stamps, offer.task)?));
                continue;
            }
            partial.place(offer.task, offer.slot);
            stamps.renew(&partial, offer.task, host);
            readiness.placed(offer.task, |child| newly.push(child));
        }
        Ok(partial.into_schedule())
    }

    fn offer(
        &self,
        partial: &mut Partial<'_, '_>,
        stamps: &Stamps,
        task: TaskId,
    ) -> Result<Offer, PlanError> {
        let slot = partial.best_slot(task, &self.best)?;
        let stamp = stamps.of(partial, task, partial.problem().host_of(slot.proc));
        let (first, second) = (self.key)(task, &slot);
        Ok(Offer { key: (sort_key(first), sort_key(second)), task, slot, stamp })
    }
}
