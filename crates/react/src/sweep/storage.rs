//! Storage that does not hold everything: which files make room for others.
//!
//! Inputs of running tasks are never evicted, nor those of one waiting task per cluster, the *leader*: all of its inputs
//! arrive before others get room, so that some task can always begin. Files that no queued task needs are evicted first,
//! the least recently used of them before others; for the leader also files that others need, which are then fetched
//! again. Outputs are dropped once they have been delivered. Copies that the engine dropped are found by
//! [`Queues::forget_dropped_copies`] and fetched again where they are needed.

use super::queues::{Item, Phase, Queues};
use crate::policy::Decision;
use crate::situation::Situation;
use slackline_model::{FileId, ProcId, TaskId, approx};
use std::collections::{HashMap, HashSet};

/// Room that is wanted in the storage of a cluster.
#[derive(Clone, Copy)]
struct Demand {
    cluster: usize,
    bytes: f64,
    /// Whether files that queued tasks need may be dropped too.
    leads: bool,
}

/// The storage of a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Storage {
    /// Its size in bytes; none: unbounded.
    pub(super) capacity: Option<f64>,
    /// Date at which each file last arrived or was read.
    used_at: HashMap<FileId, f64>,
    /// The waiting task whose inputs come first.
    leader: Option<TaskId>,
    /// Outputs that have been delivered and can be dropped here.
    pub(super) delivered: Vec<FileId>,
}

impl Storage {
    /// An empty storage of this size in bytes.
    pub(super) fn new(capacity: Option<f64>) -> Storage {
        Storage { capacity, ..Storage::default() }
    }

    /// Notes that a file arrived or is read.
    pub(super) fn touch(&mut self, file: FileId, now: f64) {
        if self.capacity.is_some() {
            self.used_at.insert(file, now);
        }
    }
}

impl Queues {
    /// Whether some storage does not hold everything.
    pub(super) fn is_bounded(&self) -> bool {
        self.stores.iter().any(|store| store.capacity.is_some())
    }

    /// Removes the copies that the engine dropped to keep within the capacities.
    pub(super) fn forget_dropped_copies(&mut self, now: &Situation) {
        for (index, cluster) in self.clusters.iter().enumerate() {
            // Files in a storage outlast its absence.
            if self.stores[index].capacity.is_some() && now.living_host(cluster.gate).is_some() {
                self.lanes[index].there.retain(|&file| now.has(file, cluster.gate));
            }
        }
    }

    fn procs_of(&self, cluster: usize) -> impl Iterator<Item = ProcId> + '_ {
        self.clusters[cluster].procs.iter().copied()
    }

    /// Bytes that are in the storage of a cluster, on their way there, or will be written there by running tasks.
    fn taken(&self, now: &Situation, cluster: usize) -> f64 {
        let bytes = |file: FileId| now.workflow.file_bytes(file);
        let kept: f64 = self.lanes[cluster].there.iter().map(|&f| bytes(f)).sum();
        let moving = self.lanes.iter().filter_map(|lane| lane.moving);
        let comes = moving.filter(|(item, _)| !item.is_output && item.cluster == cluster);
        let waits = self.unsent.iter().filter(|(_, (_, c))| *c == cluster).map(|(&f, _)| f);
        let running = self.procs_of(cluster).filter_map(|p| self.columns[p.index()].running);
        let writes = running.flat_map(|(task, _)| now.workflow.outputs(task));
        kept + comes.map(|(item, _)| bytes(item.file)).sum::<f64>()
            + waits.chain(writes).map(bytes).sum::<f64>()
    }

    /// The task of a cluster whose inputs come first.
    pub(super) fn leader(&mut self, now: &Situation, cluster: usize) -> Option<TaskId> {
        let heads = || {
            let alive = |p: &ProcId| now.is_alive(now.host_of[p.index()]);
            let head = |p: ProcId| {
                let column = &self.columns[p.index()];
                Some((column.running.is_some(), *column.queue.front()?))
            };
            self.procs_of(cluster).filter(alive).filter_map(head)
        };
        let old = self.stores[cluster].leader;
        let leader = match old.filter(|&task| heads().any(|(_, head)| head == task)) {
            Some(task) => Some(task),
            // The head of an idle processor's queue before that of a busy one; ties: lower processor.
            None => heads().min_by_key(|&(busy, _)| busy).map(|(_, task)| task),
        };
        self.stores[cluster].leader = leader;
        leader
    }

    /// Makes room for an input, if possible; adds the decisions to drop files.
    pub(super) fn make_room(
        &mut self,
        now: &Situation,
        item: &Item,
        decisions: &mut Vec<Decision>,
    ) -> bool {
        if self.stores[item.cluster].capacity.is_none() {
            return true;
        }
        let leader = self.leader(now, item.cluster);
        let leads = leader.is_some_and(|task| now.workflow.inputs(task).any(|f| f == item.file));
        // The leader writes too.
        let writes = leader.into_iter().flat_map(|task| now.workflow.outputs(task));
        let more: f64 = writes.chain([item.file]).map(|file| now.workflow.file_bytes(file)).sum();
        let demand = Demand { cluster: item.cluster, bytes: more, leads };
        self.free_up(now, demand, leader, decisions)
    }

    /// Makes room for the outputs of a task whose inputs have all arrived. It comes before the leader, which cannot begin
    /// yet: where it needs that, the inputs of the leader are dropped too.
    pub(super) fn make_room_to_start(
        &mut self,
        now: &Situation,
        task: TaskId,
        cluster: usize,
        decisions: &mut Vec<Decision>,
    ) -> bool {
        if self.stores[cluster].capacity.is_none() {
            return true;
        }
        let more = now.workflow.outputs(task).map(|file| now.workflow.file_bytes(file)).sum();
        let both = self.leader(now, cluster).into_iter().chain([task]);
        let demand = Demand { cluster, bytes: more, leads: false };
        self.free_up(now, demand, both, decisions)
            || self.free_up(now, Demand { leads: true, ..demand }, [task], decisions)
    }

    /// Drops files until a demand is met, but none that a running or spared task reads. Drops nothing and returns false
    /// where that is not enough.
    fn free_up(
        &mut self,
        now: &Situation,
        Demand { cluster, bytes: more, leads }: Demand,
        spared: impl IntoIterator<Item = TaskId>,
        decisions: &mut Vec<Decision>,
    ) -> bool {
        let Some(capacity) = self.stores[cluster].capacity else { return true };
        let mut taken = self.taken(now, cluster) + more;
        if approx::le(taken, capacity) {
            return true;
        }
        let reads = |task: TaskId| now.workflow.inputs(task);
        let columns = || self.procs_of(cluster).map(|p| &self.columns[p.index()]);
        let running = columns().filter_map(|c| c.running).map(|(task, _)| task);
        let pinned: HashSet<FileId> = running.chain(spared).flat_map(reads).collect();
        let needed: HashSet<FileId> =
            columns().flat_map(|c| c.queue.iter().copied()).flat_map(reads).collect();
        let mut spare: Vec<(bool, f64, FileId)> = self.lanes[cluster]
            .there
            .iter()
            .filter(|&&f| now.workflow.producer(f).is_none() && !pinned.contains(&f))
            .map(|f| {
                let used = self.stores[cluster].used_at.get(f).copied().unwrap_or(0.0);
                (needed.contains(f), used, *f)
            })
            .filter(|&(needed, ..)| leads || !needed)
            .collect();
        spare.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        let mut dropped = Vec::new();
        for &(needed, _, file) in &spare {
            if approx::le(taken, capacity) {
                break;
            }
            taken -= now.workflow.file_bytes(file);
            dropped.push((needed, file));
        }
        if !approx::le(taken, capacity) {
            return false;
        }
        for (needed, file) in dropped {
            self.drop_file(cluster, file, decisions);
            if needed {
                self.fetch_again(now, cluster, file);
            }
        }
        true
    }

    fn drop_file(&mut self, cluster: usize, file: FileId, decisions: &mut Vec<Decision>) {
        self.lanes[cluster].there.remove(&file);
        self.stores[cluster].used_at.remove(&file);
        decisions.push(Decision::Drop { file, host: self.clusters[cluster].gate });
    }

    /// Queues a transfer of a file that was dropped and is still needed, unless one is queued already.
    fn fetch_again(&mut self, now: &Situation, cluster: usize, file: FileId) {
        let reads = |t: &TaskId| now.workflow.inputs(*t).any(|f| f == file);
        let reader = self
            .procs_of(cluster)
            .flat_map(|p| self.columns[p.index()].queue.iter().copied())
            .find(reads);
        let waits = |item: &Item| !item.is_output && item.cluster == cluster && item.file == file;
        let comes = self.lanes.iter().any(|lane| lane.queue.iter().any(waits));
        if let Some(task) = reader.filter(|_| !comes) {
            let planned = now.now;
            let item = Item { file, task, cluster, from: None, is_output: false, planned };
            // At the end: positions of others are in use, and a leader's inputs go first anyway.
            self.lanes[cluster].queue.push(item);
        }
    }

    /// Outputs that have arrived leave the storage where they were made.
    pub(super) fn clear_out(&mut self, now: &Situation, decisions: &mut Vec<Decision>) {
        for cluster in 0..self.clusters.len() {
            for file in std::mem::take(&mut self.stores[cluster].delivered) {
                let gate = self.clusters[cluster].gate;
                let made_again = now.workflow.producer(file);
                let done = |t: TaskId| self.phase[t.index()] == Phase::Done;
                if now.has(file, gate) && made_again.is_some_and(done) {
                    decisions.push(Decision::Drop { file, host: gate });
                }
            }
        }
    }
}
