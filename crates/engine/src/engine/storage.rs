//! Storage that does not hold everything: a cluster whose storage is bounded never holds more, is
//! brought more or writes more than that, whatever the policy.
//!
//! A task is let in as a whole: there must be room for all that it reads and writes beside what the
//! tasks let in before read and write, and what is nowhere else. Then its inputs may come and it may
//! start. Where there is none, it takes the room of those that have not started and come after it: those
//! first in a queue come before all others, then the order of the plan, then the lower task. So some
//! task can always continue. Room is made by dropping files that are also elsewhere, or that no task will read
//! any more and that are no results, and that no admitted task reads, the least recently used first.
//! A request without room waits and is repeated after every event.
//!
//! On one bounded storage that all hosts share, a task is let in only if the others can still be done one at a time
//! after it (`safe`): files held for later readers could otherwise fill it for good.

use super::Engine;
use crate::backend::BackendError;
use slackline_model::units::fmt_bytes;
use slackline_model::{FileId, HostId, Platform, TaskId, approx};
use slackline_react::Holders;
use std::collections::{BTreeMap, BTreeSet};

/// The bounded storages, by the first of the hosts that share them.
#[derive(Default)]
pub(super) struct Stores {
    pub(super) of: BTreeMap<HostId, Store>,
    /// Some task found no room since the last check.
    refused: bool,
    /// The task that was let pass last when nothing else could go on, and how many were done then.
    pub(super) passed: Option<(TaskId, usize)>,
    /// An order in which what is left fits under the only storage, one task at a time; empty where none is known.
    pub(super) way: Vec<TaskId>,
    /// Tasks done when one was last searched.
    pub(super) searched: Option<usize>,
}

pub(super) struct Store {
    pub(super) capacity: f64,
    /// Tasks that have all the room they need.
    admitted: BTreeSet<TaskId>,
    /// Files that may be there or come there, and when they were last brought, written or read.
    pub(super) used_at: BTreeMap<FileId, f64>,
}

impl Stores {
    pub(super) fn new(platform: &Platform) -> Stores {
        let bounded = |host: HostId| {
            let capacity = platform.storage_of(host)?;
            let (admitted, used_at) = (BTreeSet::new(), BTreeMap::new());
            Some((platform.place_of(host), Store { capacity, admitted, used_at }))
        };
        let of = platform.host_ids().filter_map(bounded).collect();
        Stores { of, ..Stores::default() }
    }

    /// Whether those who found no room should ask again.
    pub(super) fn ask_again(&mut self) -> bool {
        std::mem::take(&mut self.refused)
    }

    /// A file is there from the start, is brought, written or read.
    pub(super) fn touch(&mut self, file: FileId, place: HostId, now: f64) {
        if let Some(store) = self.of.get_mut(&place) {
            store.used_at.insert(file, now);
        }
    }
}

fn admitted_without(store: &Store, some: &[TaskId]) -> BTreeSet<TaskId> {
    store.admitted.iter().copied().filter(|t| !some.contains(t)).collect()
}

impl Engine<'_, '_> {
    /// The bounded storage where these holders keep their data.
    fn store_of(&self, holders: &Holders) -> Option<HostId> {
        let bounded = |place: &HostId| self.stores.of.contains_key(place);
        holders.host().filter(bounded).filter(|_| !self.situation.central)
    }

    /// Whether a file may be brought somewhere; makes room for it if need be.
    pub(super) fn makes_room(&mut self, file: FileId, to: &Holders) -> Result<bool, BackendError> {
        let Some(place) = self.store_of(to) else { return Ok(true) };
        let workflow = self.situation.workflow.clone();
        let reads_there = |task: &TaskId| {
            let procs = self.queues.assigned(*task);
            procs.is_some_and(|p| self.situation.holders_of(p) == *to)
                && !self.situation.task(*task).is_done()
        };
        let mut readers: Vec<TaskId> = workflow.consumers(file).filter(reads_there).collect();
        readers.sort_by_key(|&task| self.queues.turn(task));
        if readers.is_empty() {
            return self.reserve(place, &[file], None);
        }
        for task in readers {
            if self.lets_in(task, to)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a task has the room that it needs there; makes it if need be.
    pub(super) fn lets_in(&mut self, task: TaskId, at: &Holders) -> Result<bool, BackendError> {
        let Some(place) = self.store_of(at) else { return Ok(true) };
        let files = self.files_of(task);
        if self.stores.of[&place].admitted.contains(&task) {
            let now = self.situation.now;
            files.iter().for_each(|&file| self.stores.touch(file, place, now));
            return Ok(true);
        }
        self.reserve(place, &files, Some(task))
    }

    /// Files a task has to have brought, and files it writes.
    fn files_of(&self, task: TaskId) -> Vec<FileId> {
        let workflow = &self.situation.workflow;
        let everywhere = self.situation.inputs_everywhere();
        let brought = |f: &FileId| workflow.producer(*f).is_some() || !everywhere;
        workflow.inputs(task).filter(brought).chain(workflow.outputs(task)).collect()
    }

    /// Makes room for files, of a task that is let in with them; false where that cannot be.
    fn reserve(
        &mut self,
        place: HostId,
        files: &[FileId],
        task: Option<TaskId>,
    ) -> Result<bool, BackendError> {
        self.forget_past(place);
        let begun = |t: TaskId| self.operations.task_op[t.index()].is_some();
        let passes = task
            .is_some_and(|task| self.stores.passed == Some((task, self.situation.tasks.done())));
        let after = |t: TaskId| {
            passes || task.is_some_and(|task| self.queues.turn(t) > self.queues.turn(task))
        };
        let admitted = &self.stores.of[&place].admitted;
        let later: Vec<TaskId> =
            admitted.iter().copied().filter(|&t| !begun(t) && after(t)).collect();
        for stays in [true, false] {
            let let_in =
                admitted_without(&self.stores.of[&place], if stays { &[] } else { &later });
            if task.is_some_and(|task| !self.leaves_a_way(place, &let_in, task)) {
                continue;
            }
            if let Some(dropped) = self.spare_for(place, files, &let_in) {
                for file in dropped {
                    self.forget_copy(file, place)?;
                }
                // Who lost room or inputs has to ask again.
                self.stores.refused |= !stays && !later.is_empty();
                let now = self.situation.now;
                if let Some(store) = self.stores.of.get_mut(&place) {
                    store.admitted = let_in;
                    store.admitted.extend(task);
                    files.iter().for_each(|&file| {
                        store.used_at.insert(file, now);
                    });
                }
                return Ok(true);
            }
        }
        self.stores.refused = true;
        Ok(false)
    }

    /// Copies to drop for files beyond the needs of admitted tasks; none where dropping all would not suffice.
    fn spare_for(
        &self,
        place: HostId,
        files: &[FileId],
        let_in: &BTreeSet<TaskId>,
    ) -> Option<Vec<FileId>> {
        let (store, holders) = (&self.stores.of[&place], Holders::Host(place));
        let mut kept: BTreeSet<FileId> = files.iter().copied().collect();
        kept.extend(let_in.iter().flat_map(|&t| self.files_of(t)));
        let (mut spare, mut fixed): (Vec<(f64, FileId)>, Vec<FileId>) = (Vec::new(), Vec::new());
        // What was only promised to those who lose their room takes none.
        let is_there = |file: FileId| {
            self.situation.copies[file.index()].iter().any(|copy| copy.holders == holders)
        };
        let others = store.used_at.iter().filter(|(file, _)| !kept.contains(file));
        for (&file, &used) in others.filter(|(file, _)| is_there(**file)) {
            if self.may_drop(file, &holders) { spare.push((used, file)) } else { fixed.push(file) }
        }
        kept.extend(fixed);
        let bytes = |file: FileId| self.situation.workflow.file_bytes(file);
        let needed: f64 = kept.iter().map(|&f| bytes(f)).sum();
        if approx::gt(needed, store.capacity) {
            return None;
        }
        spare.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut taken = needed + spare.iter().map(|&(_, f)| bytes(f)).sum::<f64>();
        let mut dropped = Vec::new();
        for (_, file) in spare {
            if approx::le(taken, store.capacity) {
                break;
            }
            taken -= bytes(file);
            dropped.push(file);
        }
        Some(dropped)
    }

    /// Forgets tasks that are over or elsewhere, and files that have gone.
    fn forget_past(&mut self, place: HostId) {
        let Some(mut store) = self.stores.of.remove(&place) else { return };
        let holders = Holders::Host(place);
        store.admitted.retain(|&task| {
            let state = self.situation.task(task);
            let procs = state.procs().or_else(|| self.queues.assigned(task));
            !state.is_done()
                && !self.is_abandoned(task)
                && procs.is_some_and(|p| self.situation.holders_of(p) == holders)
        });
        let promised: BTreeSet<FileId> =
            store.admitted.iter().flat_map(|&t| self.files_of(t)).collect();
        store.used_at.retain(|file, _| {
            let copies = &self.situation.copies[file.index()];
            promised.contains(file) || copies.iter().any(|c| c.holders == holders)
        });
        self.stores.of.insert(place, store);
    }

    /// Whether a file that is there also is elsewhere, and no transfer reads it here.
    fn may_drop(&self, file: FileId, holders: &Holders) -> bool {
        let copies = &self.situation.copies[file.index()];
        let complete = copies.iter().any(|c| c.holders == *holders && c.is_complete());
        let elsewhere = self.situation.sources(file).any(|s| s != holders && !self.is_lost(s));
        let leaves =
            || self.movements.transfers.values().any(|t| t.file == file && t.from == *holders);
        let workflow = &self.situation.workflow;
        let dead = workflow.producer(file).is_some()
            && !workflow.is_result(file)
            && !self.situation.is_needed(file);
        complete && (elsewhere || dead) && !leaves()
    }

    fn forget_copy(&mut self, file: FileId, place: HostId) -> Result<(), BackendError> {
        let copies = &mut self.situation.copies[file.index()];
        copies.retain(|c| !(c.holders.is(place) && c.is_complete()));
        if let Some(store) = self.stores.of.get_mut(&place) {
            store.used_at.remove(&file);
        }
        // Who was to read it there has to ask for it again.
        for task in self.situation.workflow.clone().consumers(file) {
            self.queues.asked[task.index()] = false;
        }
        self.backend.delete(file, place)
    }

    /// The storage in which a task finds no room, in words.
    pub(super) fn lacks_room(&self, task: TaskId, at: &Holders) -> Option<String> {
        let place = self.store_of(at)?;
        let store = &self.stores.of[&place];
        if store.admitted.contains(&task) {
            return None;
        }
        let files = self.files_of(task);
        let needs: f64 = files.iter().map(|&f| self.situation.workflow.file_bytes(f)).sum();
        let (needs, holds) = (fmt_bytes(needs), fmt_bytes(store.capacity));
        let host = &self.situation.platform.host(place).name;
        Some(format!("the storage of '{host}' holds {holds} and has no room for its {needs}"))
    }
}
