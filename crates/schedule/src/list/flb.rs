//! FLB: Fast Load Balancing (Radulescu, van Gemund, HCW 2000).
//!
//! Each step compares two pairs. Of the tasks that start earliest on the processor their last
//! message comes from (enabled tasks: the message arrives after that processor is idle), the one
//! that finishes first there; of the others, the one whose last message arrives first, on the
//! processor that is idle first. The pair that finishes earlier is placed, without insertion;
//! of equal ones the second, whose messages are already paid for. An enabled task whose
//! processor is taken beyond the arrival of its message becomes one of the others.
//! O(v (log v + log p) + e) after the ranks. Ties: larger upward rank, lower index. The paper's
//! machines are equal and compare start times; finish times are the reading for unequal ones. A
//! task that cannot run where it should goes where it finishes first.

use super::idle::{IdleQueue, last_message};
use super::offers::Stamps;
use super::ranks::{self, Weights};
use super::{Partial, Readiness, Slot};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::approx::{self, sort_key};
use slackline_model::{Problem, ProcId, Schedule, TaskId};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Registry entry.
pub const FLB: Algorithm = Algorithm {
    name: "flb",
    family: Family::List,
    basis: Basis::Recalled,
    about: "earliest finish on the enabling or the first idle processor",
    source: "Radulescu, van Gemund, HCW 2000",
    complexity: "O(v (log v + log p) + e)",
    parameters: &[],
    needs: &[],
    plan: |problem, _| plan(problem),
};

fn plan(problem: &Problem<'_>) -> Result<Schedule, PlanError> {
    let rank = ranks::upward(problem);
    let mut lists = Lists::new(problem, &rank);
    let (mut readiness, first) = Readiness::new(problem);
    for task in first {
        lists.enter(task);
    }
    while let Some((task, slot)) = lists.choose()? {
        lists.place(task, slot);
        readiness.placed(task, |child| lists.enter(child));
    }
    Ok(lists.partial.into_schedule())
}

/// Least date first, then larger rank, then lower index.
#[derive(Clone, Copy, PartialEq)]
struct Key {
    date: f64,
    rank: f64,
    task: TaskId,
}

impl Eq for Key {}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let date = self.date.total_cmp(&other.date);
        date.then(other.rank.total_cmp(&self.rank)).then(self.task.cmp(&other.task))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Enabled { by: ProcId, arrival: f64 },
    Other,
    Placed,
}

struct Lists<'a, 'p> {
    partial: Partial<'a, 'p>,
    idle: IdleQueue,
    stamps: Stamps,
    rank: &'a [f64],
    kind: Vec<Kind>,
    /// Enabled tasks by finish on their processor, with the stamp of its host.
    enabled: BinaryHeap<Reverse<(Key, u32)>>,
    /// Enabled tasks of each processor by the arrival of their last message.
    enabled_by: Vec<BinaryHeap<Reverse<Key>>>,
    /// The other tasks by the arrival of their last message.
    others: BinaryHeap<Reverse<Key>>,
}

impl<'a, 'p> Lists<'a, 'p> {
    fn new(problem: &'a Problem<'p>, rank: &'a [f64]) -> Self {
        let partial = Partial::appending(problem);
        Lists {
            idle: IdleQueue::new(&partial),
            stamps: Stamps::new(problem),
            rank,
            kind: vec![Kind::Other; problem.tasks()],
            enabled: BinaryHeap::new(),
            enabled_by: vec![BinaryHeap::new(); problem.procs()],
            others: BinaryHeap::new(),
            partial,
        }
    }

    fn key(&self, task: TaskId, date: f64) -> Key {
        Key { date: sort_key(date), rank: sort_key(self.rank[task.index()]), task }
    }

    /// A task becomes ready.
    fn enter(&mut self, task: TaskId) {
        let message = last_message(&self.partial, Weights::MEAN, task);
        let arrival = message.as_ref().map_or(0.0, |m| m.arrival);
        if let Some(message) = message
            && arrival >= self.partial.timeline(message.from).tail()
            && self.partial.slot_on(task, message.from).possible()
        {
            self.kind[task.index()] = Kind::Enabled { by: message.from, arrival };
            let by_arrival = self.key(task, arrival);
            self.enabled_by[message.from.index()].push(Reverse(by_arrival));
            return self.offer(task, message.from);
        }
        self.others.push(Reverse(self.key(task, arrival)));
    }

    /// Enters an enabled task by its finish on its processor.
    fn offer(&mut self, task: TaskId, by: ProcId) {
        let finish = self.partial.slot_on(task, by).finish;
        let stamp = self.stamps.of(&self.partial, task, self.partial.problem().host_of(by));
        self.enabled.push(Reverse((self.key(task, finish), stamp)));
    }

    /// The first enabled task with its slot.
    fn first_enabled(&mut self) -> Option<(TaskId, Slot)> {
        loop {
            let &Reverse((Key { task, .. }, stamp)) = self.enabled.peek()?;
            let Kind::Enabled { by, .. } = self.kind[task.index()] else {
                self.enabled.pop();
                continue;
            };
            if stamp == self.stamps.of(&self.partial, task, self.partial.problem().host_of(by)) {
                return Some((task, self.partial.slot_on(task, by)));
            }
            self.enabled.pop();
            self.offer(task, by);
        }
    }

    /// The first of the other tasks.
    fn first_other(&mut self) -> Option<TaskId> {
        while let Some(&Reverse(key)) = self.others.peek() {
            if self.kind[key.task.index()] == Kind::Other {
                return Some(key.task);
            }
            self.others.pop();
        }
        None
    }

    /// Chooses the next task and its slot.
    fn choose(&mut self) -> Result<Option<(TaskId, Slot)>, PlanError> {
        let enabled = self.first_enabled();
        let Some(other) = self.first_other() else { return Ok(enabled) };
        let idle = self.idle.first(&self.partial).map(|p| self.partial.slot_on(other, p));
        match (enabled, idle.filter(Slot::possible)) {
            (Some((task, first)), Some(slot)) if approx::lt(first.finish, slot.finish) => {
                Ok(Some((task, first)))
            }
            (_, Some(slot)) => Ok(Some((other, slot))),
            (Some(enabled), None) => Ok(Some(enabled)),
            (None, None) => Ok(Some((other, self.partial.earliest_finish(other)?))),
        }
    }

    fn place(&mut self, task: TaskId, slot: Slot) {
        self.partial.place(task, slot);
        self.kind[task.index()] = Kind::Placed;
        self.stamps.renew(&self.partial, task, self.partial.problem().host_of(slot.proc));
        let procs = self.partial.placement(task).map_or(Vec::new(), |p| p.procs().to_vec());
        for proc in procs {
            self.demote(proc);
        }
    }

    /// Enabled tasks whose message now arrives before their processor is idle.
    fn demote(&mut self, proc: ProcId) {
        let tail = self.partial.timeline(proc).tail();
        while let Some(&Reverse(Key { task, .. })) = self.enabled_by[proc.index()].peek() {
            match self.kind[task.index()] {
                Kind::Enabled { arrival, .. } if arrival >= tail => break,
                Kind::Enabled { arrival, .. } => {
                    self.kind[task.index()] = Kind::Other;
                    self.others.push(Reverse(self.key(task, arrival)));
                }
                Kind::Other | Kind::Placed => {}
            }
            self.enabled_by[proc.index()].pop();
        }
    }
}
