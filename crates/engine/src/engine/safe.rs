//! Safe starts under one bounded storage: a task begins only if the rest can still be done after it.
//!
//! A *way* is an order in which what is left fits, one task at a time; one is kept. A task is let in if the way
//! still fits when everything let in, that task included, is over. When nothing runs, the first of the way
//! continues, whatever the queues say: so no run is stuck that has a way.
//!
//! Ways are searched greedily: each time the ready task that needs least (what is live and what it writes), of
//! equal ones the one that leaves least, then the lower task; the same with what is left first; and, where few
//! tasks are left, in all orders, as far as the effort allows. A task that fits and leaves no more than there
//! was goes first in any case: no order loses by that.

use super::Engine;
use crate::backend::BackendError;
use slackline_model::{FileId, HostId, ProcId, Procs, TaskId, approx};
use slackline_react::Holders;
use std::collections::{BTreeSet, HashSet};

/// Open tasks up to which the rest is tried at every start.
const MOST: usize = 3000;
/// Open tasks up to which another way is searched where the one that is kept would not fit any more.
const FEW: usize = 200;
/// Sets of finished tasks that a search in all orders may visit.
const VISITS: usize = 20_000;

/// A task that is over, begun or given up.
const GONE: u32 = u32::MAX;

/// Remaining work that uses one storage.
#[derive(Clone)]
struct Rest {
    capacity: f64,
    live: f64,
    /// By file: readers that are left.
    readers: Vec<u32>,
    /// By task: parents that are left, or [`GONE`].
    missing: Vec<u32>,
    /// Tasks that are left.
    left: usize,
    /// Those of them without parents that are, in no order.
    ready: Vec<TaskId>,
}

/// Storage that a task takes while it runs, and what is live when it is over.
#[derive(Clone, Copy)]
struct Step {
    task: TaskId,
    needs: f64,
    leaves: f64,
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
        let mut missing = vec![GONE; workflow.len()];
        let mut readers = vec![0; workflow.files().len()];
        let (mut left, mut ready) = (0, Vec::new());
        for task in workflow.tasks().filter(|t| now.is_to_run(*t) && !over.contains(t)) {
            missing[task.index()] = 0;
            left += 1;
            for file in workflow.inputs(task).filter(|&f| workflow.producer(f).is_some()) {
                readers[file.index()] += 1;
            }
        }
        for task in workflow.tasks().filter(|t| now.is_to_run(*t) && !over.contains(t)) {
            let parents = workflow.predecessors(task);
            let count = parents.filter(|(p, _)| missing[p.index()] != GONE).count();
            missing[task.index()] = count as u32;
            if count == 0 {
                ready.push(task);
            }
        }
        let holders = Holders::Host(place);
        let made = |task: &TaskId| now.task(*task).is_done() || over.contains(task);
        let mut live = 0.0;
        for file in workflow.files() {
            let Some(producer) = workflow.producer(file) else {
                // An input that is nowhere else stays.
                let copies = &now.copies[file.index()];
                let here = copies.iter().any(|c| c.holders == holders);
                if here && !copies.iter().any(|c| c.holders != holders) {
                    live += workflow.file_bytes(file);
                }
                continue;
            };
            if made(&producer) && (workflow.is_result(file) || readers[file.index()] > 0) {
                live += workflow.file_bytes(file);
            }
        }
        let capacity = self.stores.of[&place].capacity;
        Rest { capacity, live, readers, missing, left, ready }
    }

    /// A task of the rest as the next to run.
    fn step_of(&self, rest: &Rest, task: TaskId) -> Step {
        let workflow = &self.situation.workflow;
        let bytes = |file: FileId| workflow.file_bytes(file);
        let outputs: f64 = workflow.outputs(task).map(bytes).sum();
        let everywhere = self.situation.inputs_everywhere();
        let brought = |f: &FileId| workflow.producer(*f).is_none() && !everywhere;
        let brought: f64 = workflow.inputs(task).filter(brought).map(bytes).sum();
        let last = |f: &FileId| rest.readers[f.index()] == 1 && !workflow.is_result(*f);
        let freed: f64 = workflow.inputs(task).filter(last).map(bytes).sum();
        // What is brought for it is elsewhere, too.
        let needs = rest.live + outputs + brought;
        Step { task, needs, leaves: rest.live + outputs - freed }
    }

    /// A task of the rest is over.
    fn take_from(&self, rest: &mut Rest, step: Step) {
        let workflow = &self.situation.workflow;
        rest.live = step.leaves;
        rest.missing[step.task.index()] = GONE;
        rest.ready.retain(|t| *t != step.task);
        rest.left -= 1;
        for file in workflow.inputs(step.task) {
            let readers = &mut rest.readers[file.index()];
            *readers = readers.saturating_sub(1);
        }
        for (child, _) in workflow.successors(step.task) {
            let missing = &mut rest.missing[child.index()];
            if *missing != GONE {
                *missing -= 1;
                if *missing == 0 {
                    rest.ready.push(child);
                }
            }
        }
    }

    /// Whether a way fits; tasks of it that are over are passed over.
    fn fits_along(&self, rest: &Rest, way: &[TaskId]) -> bool {
        let mut rest = rest.clone();
        for &task in way {
            match rest.missing[task.index()] {
                GONE => continue,
                0 => {}
                _ => return false,
            }
            let step = self.step_of(&rest, task);
            if approx::gt(step.needs, rest.capacity) {
                return false;
            }
            self.take_from(&mut rest, step);
        }
        rest.left == 0
    }

    /// The ready tasks of the rest, the most promising first.
    fn steps(&self, rest: &Rest, key: fn(&Step) -> (f64, f64)) -> Vec<Step> {
        let mut steps: Vec<Step> = rest.ready.iter().map(|&t| self.step_of(rest, t)).collect();
        steps.sort_by(|a, b| {
            let ((a1, a2), (b1, b2)) = (key(a), key(b));
            a1.total_cmp(&b1).then(a2.total_cmp(&b2)).then(a.task.cmp(&b.task))
        });
        steps
    }

    /// An order in which the rest fits, if one is found.
    fn way(&self, rest: &Rest) -> Option<Vec<TaskId>> {
        type Key = fn(&Step) -> (f64, f64);
        let keys: [Key; 2] = [|step| (step.needs, step.leaves), |step| (step.leaves, step.needs)];
        let greedy = keys.into_iter().find_map(|key| {
            let (mut rest, mut way) = (rest.clone(), Vec::with_capacity(rest.left));
            while rest.left > 0 {
                let rated = rest.ready.iter().map(|&t| self.step_of(&rest, t));
                let fits = rated.filter(|step| approx::le(step.needs, rest.capacity));
                let step = fits.reduce(|a, b| {
                    let ((a1, a2), (b1, b2)) = (key(&a), key(&b));
                    let order = b1.total_cmp(&a1).then(b2.total_cmp(&a2)).then(b.task.cmp(&a.task));
                    if order.is_lt() { b } else { a }
                })?;
                way.push(step.task);
                self.take_from(&mut rest, step);
            }
            Some(way)
        });
        greedy.or_else(|| if rest.left <= FEW { self.any_way(rest) } else { None })
    }

    /// The same by a search in all orders, depth first; no set of finished tasks is visited twice.
    fn any_way(&self, rest: &Rest) -> Option<Vec<TaskId>> {
        let mut visited: HashSet<Vec<u32>> = HashSet::new();
        let mut way: Vec<TaskId> = Vec::new();
        // By open node: what is left there, the steps that are still to be tried, the length of the way to it.
        let mut nodes: Vec<(Rest, Vec<Step>, usize)> = Vec::new();
        let mut rest = rest.clone();
        loop {
            // A task that fits and does not increase what is held goes first.
            let mut steps = self.steps(&rest, |step| (step.needs, step.leaves));
            steps.retain(|step| approx::le(step.needs, rest.capacity));
            if let Some(&free) = steps.iter().find(|step| step.leaves <= rest.live) {
                way.push(free.task);
                self.take_from(&mut rest, free);
                continue;
            }
            if rest.left == 0 {
                return Some(way);
            }
            let left = |(at, missing): (usize, &u32)| (*missing != GONE).then_some(at as u32);
            let key: Vec<u32> = rest.missing.iter().enumerate().filter_map(left).collect();
            if visited.insert(key) {
                if visited.len() > VISITS {
                    return None;
                }
                // The last is tried first.
                steps.reverse();
                nodes.push((rest, steps, way.len()));
            }
            loop {
                let (at, steps, length) = nodes.last_mut()?;
                way.truncate(*length);
                let Some(step) = steps.pop() else {
                    nodes.pop();
                    continue;
                };
                rest = at.clone();
                way.push(step.task);
                self.take_from(&mut rest, step);
                break;
            }
        }
    }

    /// Whether the others can still be done, one at a time, when a task and those let in are over.
    pub(super) fn leaves_a_way(
        &mut self,
        place: HostId,
        let_in: &BTreeSet<TaskId>,
        task: TaskId,
    ) -> bool {
        if self.instant.open > MOST || self.only_store() != Some(place) {
            return true;
        }
        let done = self.situation.tasks.done();
        if self.stores.passed == Some((task, done)) {
            return true;
        }
        let mut over = let_in.clone();
        over.insert(task);
        let rest = self.rest_after(place, &over);
        if self.fits_along(&rest, &self.stores.way) {
            return true;
        }
        // One of many tasks waits for its turn in the way that there is; without one it is not searched twice.
        if rest.left > FEW && (!self.stores.way.is_empty() || self.stores.searched == Some(done)) {
            return false;
        }
        self.stores.searched = Some(done);
        let Some(way) = self.way(&rest) else { return false };
        self.stores.way = way;
        true
    }

    /// When nothing runs and no task is admitted, the first task of the order continues, without one the task that
    /// needs least; whether there is one.
    pub(super) fn let_one_pass(&mut self) -> Result<bool, BackendError> {
        let Some(place) = self.only_store() else { return Ok(false) };
        let done = self.situation.tasks.done();
        if !self.operations.ops.is_empty()
            || self.stores.passed.is_some_and(|(_, then)| then == done)
        {
            return Ok(false);
        }
        let rest = self.rest_after(place, &BTreeSet::new());
        if !self.fits_along(&rest, &self.stores.way) {
            self.stores.way = self.way(&rest).unwrap_or_default();
        }
        let of_way = self.stores.way.iter().copied().find(|t| rest.missing[t.index()] == 0);
        let least = || {
            let steps = self.steps(&rest, |step| (step.needs, step.leaves));
            steps.first().map(|step| step.task)
        };
        let Some(task) = of_way.or_else(least) else { return Ok(false) };
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
        // Another task has to yield.
        self.queues.queue.iter().find(|queue| !queue.is_empty())?;
        let mut hosts = now.platform.host_ids().filter(|&h| now.computes(h) && now.fits(task, h));
        let host = hosts.next()?;
        let all =
            (0..now.host_of.len()).map(ProcId::new).filter(|p| now.host_of[p.index()] == host);
        let procs: Vec<ProcId> = all.take(width).collect();
        (procs.len() == width).then(|| procs.into())
    }
}
