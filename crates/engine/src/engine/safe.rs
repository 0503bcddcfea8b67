//! Safe starts under one bounded storage: nobody is let in after whom the rest could not be done any more.
//!
//! The rest is tried one task at a time, each time the ready one that needs least (what is live and what it
//! writes), of equal ones the one that leaves least, then the lower task: an order that keeps few samples
//! begun. Where even that order does not fit, the task waits. When nothing runs, the first of that order goes
//! on, whatever the queues say.

use super::Engine;
use crate::backend::BackendError;
use slackline_model::{FileId, HostId, ProcId, Procs, TaskId, approx};
use slackline_react::Holders;
use std::collections::{BTreeMap, BTreeSet};

/// Open tasks up to which the rest is tried at every start.
const MOST: usize = 600;

/// Remaining work that uses one storage.
struct Rest {
    capacity: f64,
    live: f64,
    /// Per file: readers that are left.
    readers: BTreeMap<FileId, usize>,
    /// Tasks that are left, with parents that are.
    missing: BTreeMap<TaskId, usize>,
}

impl Engine<'_, '_> {
    /// The place, if all hosts that compute share one storage, which is bounded.
    fn only_store(&self) -> Option<HostId> {
        let mut stores = self.stores.of.keys();
        let (place, None) = (*stores.next()?, stores.next()) else { return None };
        let platform = &self.situation.platform;
        let mut hosts = platform.host_ids().filter(|&h| platform.host(h).cores > 0);
        let all = hosts.all(|host| platform.place_of(host) == place);
        (all && !self.situation.central).then_some(place)
    }

    /// Remaining work once some tasks are over.
    fn rest_after(&self, place: HostId, over: &BTreeSet<TaskId>) -> Rest {
        let workflow = &self.situation.workflow;
        let now = &self.situation;
        let open = |t: &TaskId| now.is_to_run(*t) && !over.contains(t);
        let left: BTreeSet<TaskId> = workflow.tasks().filter(open).collect();
        let mut readers: BTreeMap<FileId, usize> = BTreeMap::new();
        for &task in &left {
            for file in workflow.inputs(task).filter(|&f| workflow.producer(f).is_some()) {
                *readers.entry(file).or_default() += 1;
            }
        }
        let holders = Holders::Host(place);
        let made = |task: &TaskId| now.task(*task).is_done() || over.contains(task);
        let mut live = 0.0;
        for file in workflow.files() {
            let Some(producer) = workflow.producer(file) else {
                // An input that lies nowhere else stays.
                let copies = &now.copies[file.index()];
                let here = copies.iter().any(|c| c.holders == holders);
                if here && !copies.iter().any(|c| c.holders != holders) {
                    live += workflow.file_bytes(file);
                }
                continue;
            };
            if made(&producer) && (workflow.is_result(file) || readers.contains_key(&file)) {
                live += workflow.file_bytes(file);
            }
        }
        let parents = |task: TaskId| {
            workflow.predecessors(task).filter(|(parent, _)| left.contains(parent)).count()
        };
        let missing = left.iter().map(|&task| (task, parents(task))).collect();
        Rest { capacity: self.stores.of[&place].capacity, live, readers, missing }
    }

    /// Bytes a task writes and needs brought, and bytes freed when it is over.
    fn bytes_of(&self, rest: &Rest, task: TaskId) -> (f64, f64) {
        let workflow = &self.situation.workflow;
        let bytes = |file: FileId| workflow.file_bytes(file);
        let outputs: f64 = workflow.outputs(task).map(bytes).sum();
        let everywhere = self.situation.inputs_everywhere();
        let brought = |f: &FileId| workflow.producer(*f).is_none() && !everywhere;
        let brought: f64 = workflow.inputs(task).filter(brought).map(bytes).sum();
        let last = |f: &FileId| rest.readers.get(f) == Some(&1) && !workflow.is_result(*f);
        let freed: f64 = workflow.inputs(task).filter(last).map(bytes).sum();
        (outputs + brought, freed + brought)
    }

    /// The ready task of the rest that needs least, and how much there is then; none when nothing is left.
    fn next_of(&self, rest: &Rest) -> Option<(TaskId, f64)> {
        let ready = rest.missing.iter().filter(|(_, missing)| **missing == 0);
        let rated = ready.map(|(&task, _)| {
            let (adds, frees) = self.bytes_of(rest, task);
            (task, rest.live + adds, rest.live + adds - frees)
        });
        let best = rated.reduce(|a, b| {
            let first = b.1.total_cmp(&a.1).then(b.2.total_cmp(&a.2));
            if first.is_lt() { b } else { a }
        });
        best.map(|(task, needs, _)| (task, needs))
    }

    /// A task of the rest is over.
    fn take_from(&self, rest: &mut Rest, task: TaskId) {
        let workflow = &self.situation.workflow;
        let (adds, frees) = self.bytes_of(rest, task);
        rest.live += adds - frees;
        rest.missing.remove(&task);
        for file in workflow.inputs(task) {
            if let Some(readers) = rest.readers.get_mut(&file) {
                *readers -= 1;
            }
        }
        for (child, _) in workflow.successors(task) {
            if let Some(missing) = rest.missing.get_mut(&child) {
                *missing -= 1;
            }
        }
    }

    /// Whether the others can still be done, one at a time, when a task and those let in are over.
    pub(super) fn leaves_a_way(
        &self,
        place: HostId,
        let_in: &BTreeSet<TaskId>,
        task: TaskId,
    ) -> bool {
        if self.open > MOST || self.only_store() != Some(place) {
            return true;
        }
        if self.stores.passed == Some((task, self.situation.tasks.done())) {
            return true;
        }
        let mut over = let_in.clone();
        over.insert(task);
        let mut rest = self.rest_after(place, &over);
        while let Some((next, needs)) = self.next_of(&rest) {
            if approx::gt(needs, rest.capacity) {
                return false;
            }
            self.take_from(&mut rest, next);
        }
        true
    }

    /// When nothing runs and nobody is let in, the task that needs least goes on; whether there is one.
    pub(super) fn let_one_pass(&mut self) -> Result<bool, BackendError> {
        let Some(place) = self.only_store() else { return Ok(false) };
        let done = self.situation.tasks.done();
        if !self.ops.is_empty() || self.stores.passed.is_some_and(|(_, then)| then == done) {
            return Ok(false);
        }
        let rest = self.rest_after(place, &BTreeSet::new());
        let Some((task, _)) = self.next_of(&rest) else { return Ok(false) };
        let Some(procs) = self.procs_for(task) else { return Ok(false) };
        self.stores.passed = Some((task, done));
        self.queues.jump(task, &procs, &self.situation);
        self.queues.look_again();
        Ok(true)
    }

    /// Processors for a task that is to go on: its own, else some of a host where it fits.
    fn procs_for(&self, task: TaskId) -> Option<Procs> {
        if let Some(procs) = self.queues.assigned(task) {
            return Some(procs.into());
        }
        let (now, width) = (&self.situation, self.situation.workflow.width(task).0 as usize);
        if !now.is_ready(task) {
            return None;
        }
        // Somebody else has to stand back.
        self.queues.queue.iter().find(|queue| !queue.is_empty())?;
        let mut hosts = now.platform.host_ids().filter(|&h| now.computes(h) && now.fits(task, h));
        let host = hosts.next()?;
        let all =
            (0..now.host_of.len()).map(ProcId::new).filter(|p| now.host_of[p.index()] == host);
        let procs: Vec<ProcId> = all.take(width).collect();
        (procs.len() == width).then(|| procs.into())
    }
}
