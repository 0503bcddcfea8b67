//! Pools (memory, devices, licences) in a forecast, by the rules of the engine. Each pool serves planned tasks first come,
//! first served, in the order of the plan: a task acquires its amount only after all tasks of the pool that precede it in
//! the plan have begun.

use crate::policy::Plan;
use crate::situation::Situation;
use slackline_model::problem::{PoolId, Pools};
use slackline_model::{ProcId, TaskId};
use std::ops::Range;
use std::sync::Arc;

/// Amounts held of the pools that can run short, and their queues.
pub(super) struct Turns {
    pools: Arc<Pools>,
    /// Per pool.
    held: Vec<u64>,
    /// Per task: its extent of `uses`.
    takes: Vec<Range<u32>>,
    /// Pools and amounts, task after task.
    uses: Vec<(PoolId, u64)>,
    /// The queues of all pools one after the other, each in planned order.
    order: Vec<TaskId>,
    /// Per pool: the rest of its queue, an extent of `order`. Its first may have begun already.
    waits: Vec<Range<u32>>,
    /// Per task: it has begun or cannot run, so that it does not hold up its queues.
    passed: Vec<bool>,
    /// Tasks to try again: they may have room now, or be first.
    pub(super) waking: Vec<TaskId>,
}

impl Turns {
    /// Queues of a plan, with nothing held yet; none where no pool can run short. `procs_of` has the processors on which
    /// a task is planned or runs, and no processors for finished tasks.
    pub(super) fn new<'a>(
        now: &Situation,
        plan: &Plan,
        procs_of: impl Fn(TaskId) -> &'a [ProcId],
    ) -> Option<Turns> {
        if !now.pools.bind() {
            return None;
        }
        let (tasks, pools) = (now.workflow.len(), now.pools.all());
        let mut turns = Turns {
            pools: now.pools.clone(),
            held: vec![0; pools.len()],
            takes: Vec::with_capacity(tasks),
            uses: Vec::new(),
            order: Vec::new(),
            waits: vec![0..0; pools.len()],
            passed: vec![false; tasks],
            waking: Vec::new(),
        };
        for task in now.workflow.tasks() {
            let start = turns.uses.len() as u32;
            let uses = &mut turns.uses;
            let mut add = |pool: PoolId, amount| {
                if pools[pool as usize].binds {
                    uses.push((pool, amount));
                }
            };
            match procs_of(task) {
                [] => {}
                [proc] => {
                    let at = (now.host_of[proc.index()], 1, 1);
                    now.pools.each_use(&now.workflow, task, at, add);
                }
                procs => now.uses(task, procs).into_iter().for_each(|(p, amount)| add(p, amount)),
            }
            turns.takes.push(start..turns.uses.len() as u32);
            let is_gone = |proc: &ProcId| !now.is_alive(now.host_of[proc.index()]);
            turns.passed[task.index()] =
                now.tasks.cannot_run(task) || procs_of(task).iter().any(is_gone);
        }
        turns.line_up(plan);
        Some(turns)
    }

    fn line_up(&mut self, plan: &Plan) {
        let planned = || plan.assignments.iter().map(|a| a.task);
        let mut lengths = vec![0u32; self.waits.len()];
        for task in planned() {
            for (pool, _) in self.uses_of(task) {
                lengths[*pool as usize] += 1;
            }
        }
        let mut start = 0;
        for (waits, length) in self.waits.iter_mut().zip(lengths) {
            *waits = start..start;
            start += length;
        }
        self.order = vec![TaskId(0); start as usize];
        for task in planned() {
            let Range { start, end } = self.takes[task.index()];
            for at in start..end {
                let end = &mut self.waits[self.uses[at as usize].0 as usize].end;
                self.order[*end as usize] = task;
                *end += 1;
            }
        }
    }

    fn uses_of(&self, task: TaskId) -> &[(PoolId, u64)] {
        let Range { start, end } = self.takes[task.index()];
        &self.uses[start as usize..end as usize]
    }

    /// The next task of a pool that has not begun.
    fn first(&mut self, pool: PoolId) -> Option<TaskId> {
        let waits = &mut self.waits[pool as usize];
        while waits.start < waits.end {
            let task = self.order[waits.start as usize];
            if !self.passed[task.index()] {
                return Some(task);
            }
            waits.start += 1;
        }
        None
    }

    /// Whether a task is first in the queues of all its pools and all have room.
    pub(super) fn may_take(&mut self, task: TaskId) -> bool {
        let Range { start, end } = self.takes[task.index()];
        (start..end).all(|at| {
            let (pool, amount) = self.uses[at as usize];
            let capacity = self.pools.all()[pool as usize].capacity;
            self.held[pool as usize] + amount <= capacity
                && self.first(pool).is_none_or(|first| first == task)
        })
    }

    /// The earliest date from `from` on at which the windows of all these processors leave `seconds`; infinite where there
    /// is none. Moving to the window of one processor may leave that of another, so it repeats until nothing moves.
    pub(super) fn opens(&self, now: &Situation, procs: &[ProcId], from: f64, seconds: f64) -> f64 {
        if !self.pools.has_windows() {
            return from;
        }
        let mut date = from;
        loop {
            let before = date;
            for proc in procs {
                date = self.pools.in_window(now.host_of[proc.index()], date, seconds);
            }
            if date <= before || date.is_infinite() {
                return date;
            }
        }
    }

    /// A task begins, and holds what it takes.
    pub(super) fn take(&mut self, task: TaskId) {
        let Range { start, end } = self.takes[task.index()];
        for at in start..end {
            let (pool, amount) = self.uses[at as usize];
            self.held[pool as usize] += amount;
        }
        self.passed[task.index()] = true;
        self.wake(task);
    }

    /// A task is done: what it held is free.
    pub(super) fn give_back(&mut self, task: TaskId) {
        let Range { start, end } = self.takes[task.index()];
        for at in start..end {
            let (pool, amount) = self.uses[at as usize];
            self.held[pool as usize] = self.held[pool as usize].saturating_sub(amount);
        }
        self.wake(task);
    }

    /// Marks the first tasks in the queues of a task's pools to be tried again.
    fn wake(&mut self, task: TaskId) {
        let Range { start, end } = self.takes[task.index()];
        for at in start..end {
            if let Some(first) = self.first(self.uses[at as usize].0) {
                self.waking.push(first);
            }
        }
    }
}
