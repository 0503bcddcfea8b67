//! Ready tasks whose keys may rise and fall: only tasks that have their best or second best slot on a host are
//! re-evaluated when something is placed there. Without insertion.

use super::wide::neighbourhoods;
use super::{Partial, Slot};
use crate::registry::PlanError;
use slackline_model::approx::sort_key;
use slackline_model::{Problem, ProcId, Schedule, TaskId};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A task's two least completion times.
pub(super) struct TwoBest {
    pub(super) least: Slot,
    pub(super) second: Slot,
}

/// Ready tasks by a key of their best slots; largest first, then lower index.
pub(super) struct Pool<'a, 'p> {
    partial: Partial<'a, 'p>,
    key: fn(&TwoBest) -> f64,
    queue: BinaryHeap<PoolEntry>,
    /// By host: whose watchers its own are.
    watched_at: Vec<u32>,
    /// Per host, or cluster where tasks span hosts: the entries to renew when it is used.
    watchers: Vec<Vec<(TaskId, u32)>>,
    /// Per pool that several hosts share: the same.
    pool_watchers: Vec<Vec<(TaskId, u32)>>,
    /// Per task: how often it was evaluated; entries with a smaller number are out of date.
    version: Vec<u32>,
    waiting: usize,
}

struct PoolEntry {
    key: f64,
    task: Reverse<TaskId>,
    slot: Slot,
    version: u32,
}

impl Ord for PoolEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.total_cmp(&other.key).then(self.task.cmp(&other.task))
    }
}

impl PartialOrd for PoolEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PoolEntry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PoolEntry {}

impl<'a, 'p> Pool<'a, 'p> {
    pub(super) fn new(problem: &'a Problem<'p>, key: fn(&TwoBest) -> f64) -> Self {
        Pool {
            partial: Partial::appending(problem),
            key,
            queue: BinaryHeap::new(),
            watched_at: neighbourhoods(problem),
            watchers: vec![Vec::new(); problem.platform().hosts().len()],
            pool_watchers: vec![Vec::new(); problem.pools().all().len()],
            version: vec![0; problem.tasks()],
            waiting: 0,
        }
    }

    /// A task becomes ready.
    pub(super) fn enter(&mut self, task: TaskId) -> Result<(), PlanError> {
        self.waiting += 1;
        self.look(task)
    }

    /// Whether no task waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Another key for the tasks that enter from now on.
    pub(super) fn set_key(&mut self, key: fn(&TwoBest) -> f64) {
        self.key = key;
    }

    /// The schedule in the making.
    pub(super) fn partial(&mut self) -> &mut Partial<'a, 'p> {
        &mut self.partial
    }

    /// The finished schedule.
    pub(super) fn into_schedule(self) -> Schedule {
        self.partial.into_schedule()
    }

    /// Recomputes a task's key.
    fn look(&mut self, task: TaskId) -> Result<(), PlanError> {
        let times = two_best(&mut self.partial, task)?;
        self.version[task.index()] += 1;
        let version = self.version[task.index()];
        let problem = self.partial.problem();
        for slot in [times.least, times.second] {
            if slot.possible() {
                let at = self.watched_at[problem.host_of(slot.proc).index()];
                self.watchers[at as usize].push((task, version));
                if let Some(pools) = &self.partial.pools {
                    let watchers = &mut self.pool_watchers;
                    pools.each_shared(problem, task, problem.host_of(slot.proc), |pool| {
                        watchers[pool as usize].push((task, version));
                    });
                }
            }
        }
        let key = sort_key((self.key)(&times));
        self.queue.push(PoolEntry { key, task: Reverse(task), slot: times.least, version });
        Ok(())
    }

    /// Places the task of largest key.
    pub(super) fn place_first(&mut self) -> Result<Option<TaskId>, PlanError> {
        let entry = loop {
            let Some(entry) = self.queue.pop() else { return Ok(None) };
            if entry.version == self.version[entry.task.0.index()] {
                break entry;
            }
        };
        let task = entry.task.0;
        self.waiting -= 1;
        self.version[task.index()] += 1;
        self.partial.place(task, entry.slot);
        let host = self.partial.problem().host_of(entry.slot.proc);
        let at = self.watched_at[host.index()] as usize;
        let mut woken = std::mem::take(&mut self.watchers[at]);
        if let Some(pools) = &self.partial.pools {
            let watchers = &mut self.pool_watchers;
            pools.each_shared(self.partial.problem(), task, host, |pool| {
                woken.append(&mut watchers[pool as usize]);
            });
        }
        for (watcher, version) in woken {
            if version == self.version[watcher.index()] {
                self.look(watcher)?;
            }
        }
        Ok(Some(task))
    }
}

/// The two least completion times of a task; the second is impossible where there is one only.
fn two_best(partial: &mut Partial<'_, '_>, task: TaskId) -> Result<TwoBest, PlanError> {
    let least = partial.earliest_finish(task)?;
    let problem = partial.problem();
    let wide = problem.workflow().width(task).0 > 1;
    let never = Slot { proc: ProcId(0), start: f64::INFINITY, finish: f64::INFINITY };
    let mut second = never;
    for proc in problem.proc_ids() {
        let host = problem.host_of(proc);
        if proc == least.proc || wide && problem.procs_of(host).start != proc.0 {
            continue;
        }
        let slot = partial.known_slot(task, proc);
        if slot.finish < second.finish {
            second = slot;
        }
    }
    Ok(TwoBest { least, second })
}
