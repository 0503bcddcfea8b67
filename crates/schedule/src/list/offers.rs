//! Ready tasks and the slot each would take now, kept current as processors fill up.
//!
//! The data of a ready task do not move any more; what changes is when processors are free, and without
//! insertion that only becomes later. So the best slot of a task stays its best until a task is
//! placed on the same host, and only then is it searched again.

use super::search::HostSlot;
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
    /// Per host: index into `count`, the same for hosts of one cluster where tasks span hosts.
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

    /// The stamp of the slots of a task on a host.
    #[inline]
    pub(super) fn of(&self, partial: &Partial<'_, '_>, task: TaskId, host: HostId) -> u32 {
        let mut stamp = self.count[self.counted_at[host.index()] as usize];
        if let Some(pools) = &partial.pools {
            // Counts only rise: an unchanged sum means that each is unchanged.
            pools.each_shared(partial.problem(), task, host, |pool| {
                stamp += self.shared[pool as usize];
            });
        }
        stamp
    }

    /// Counts the placement of a task on a host.
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

/// The best slot of a ready task; ordered by key, then by task.
struct SlotOffer {
    key: (f64, f64),
    task: TaskId,
    slot: Slot,
    /// Stamp of the host at which the slot was found; the offer is out of date where the host has another.
    stamp: u32,
}

impl Ord for SlotOffer {
    fn cmp(&self, other: &Self) -> Ordering {
        let first = self.key.0.total_cmp(&other.key.0);
        first.then(self.key.1.total_cmp(&other.key.1)).then(self.task.cmp(&other.task))
    }
}

impl PartialOrd for SlotOffer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SlotOffer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for SlotOffer {}

/// Most slots that are kept of all ready tasks together (tens of MiB); beyond, hosts are searched each time.
const KEPT: usize = 1 << 20;

/// Slots of ready tasks, host by host, where pools are shared: to search a host then takes much longer than to
/// look its slot up.
#[derive(Default)]
struct KnownSlots {
    /// Per task; empty without pools.
    of: Vec<Option<Box<[HostSlot]>>>,
    /// Number of slots kept.
    kept: usize,
}

impl KnownSlots {
    fn new(partial: &Partial<'_, '_>) -> KnownSlots {
        let tasks = if partial.pools.is_some() { partial.problem().tasks() } else { 0 };
        KnownSlots { of: vec![None; tasks], kept: 0 }
    }

    /// Slots of a task that is ready, where there is room to keep them.
    fn of(&mut self, partial: &mut Partial<'_, '_>, task: TaskId) -> Option<&mut [HostSlot]> {
        let known = self.of.get_mut(task.index())?;
        if known.is_none() && self.kept < KEPT {
            *known = partial.host_slots(task);
            self.kept += known.as_ref().map_or(0, |slots| slots.len());
        }
        known.as_deref_mut()
    }

    /// Drops the slots of a task that was placed.
    fn forget(&mut self, task: TaskId) {
        if let Some(slots) = self.of.get_mut(task.index()).and_then(Option::take) {
            self.kept -= slots.len();
        }
    }
}

/// Selection of the next ready task and its slot, for methods whose keys never improve with time.
pub(super) struct FirstOffer<Best, Key> {
    /// Score that the best slot of a task minimises.
    pub(super) best: Best,
    /// Key of a task with its best slot: the least goes next, then the lower index.
    pub(super) key: Key,
    /// Whether tasks that become ready wait until all that are ready now are placed.
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
        let mut known = KnownSlots::new(&partial);
        loop {
            if !self.batch || offers.is_empty() {
                for task in newly.drain(..) {
                    offers.push(Reverse(self.offer(&mut partial, &stamps, &mut known, task)?));
                }
            }
            let Some(Reverse(offer)) = offers.pop() else { break };
            let host = problem.host_of(offer.slot.proc);
            if offer.stamp != stamps.of(&partial, offer.task, host) {
                let again = self.offer(&mut partial, &stamps, &mut known, offer.task)?;
                offers.push(Reverse(again));
                continue;
            }
            partial.place(offer.task, offer.slot);
            stamps.renew(&partial, offer.task, host);
            known.forget(offer.task);
            readiness.placed(offer.task, |child| newly.push(child));
        }
        Ok(partial.into_schedule())
    }

    fn offer(
        &self,
        partial: &mut Partial<'_, '_>,
        stamps: &Stamps,
        known: &mut KnownSlots,
        task: TaskId,
    ) -> Result<SlotOffer, PlanError> {
        let slot = match known.of(partial, task) {
            Some(slots) => {
                let stamp = |partial: &Partial<'_, '_>, host| stamps.of(partial, task, host);
                let found = partial.best_of_hosts(task, slots, &self.best, stamp);
                found.ok_or_else(|| partial.nowhere(task))?
            }
            None => partial.best_slot(task, &self.best)?,
        };
        let stamp = stamps.of(partial, task, partial.problem().host_of(slot.proc));
        let (first, second) = (self.key)(task, &slot);
        Ok(SlotOffer { key: (sort_key(first), sort_key(second)), task, slot, stamp })
    }
}
