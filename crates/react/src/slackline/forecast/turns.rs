//! Pools in a forecast, by the rules of the engine: what running tasks hold, and whose turn it is. A planned
//! task takes of a pool when all that are planned to begin before it and take of it have begun.

use crate::policy::Plan;
use crate::situation::Situation;
use slackline_model::problem::{PoolId, Pools};
use slackline_model::{ProcId, TaskId};
use std::ops::Range;
use std::sync::Arc;

/// Amounts held of the pools that can run short, and the order of their tasks.
pub(super) struct Turns {
    pools: Arc<Pools>,
    held: Vec<u64>,
    /// Per task: what it takes, an extent of `uses`.
    takes: Vec<Range<u32>>,
    uses: Vec<(PoolId, u64)>,
    /// Planned tasks in planned order, pool behind pool.
    order: Vec<TaskId>,
    /// Per pool: those that may not have begun yet, an extent of `order`.
    waits: Vec<Range<u32>>,
    /// Per task: it has begun, or never can.
    passed: Vec<bool>,
    /// Tasks that may find room or their turn now.
    pub(super) waking: Vec<TaskId>,
}

impl Turns {
    /// Nothing held yet; none where processors alone decide. `procs_of` tells where a task is planned
    /// or runs; none of what is done.
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

    /// Whether it is a task's turn in all its pools, and all have room.
    pub(super) fn let_in(&mut self, task: TaskId) -> bool {
        let Range { start, end } = self.takes[task.index()];
        (start..end).all(|at| {
            let (pool, amount) = self.uses[at as usize];
            let capacity = self.pools.all()[pool as usize].capacity;
            self.held[pool as usize] + amount <= capacity
                && self.first(pool).is_none_or(|first| first == task)
        })
    }

    /// The earliest date, not before `from`, at which windows hold so many seconds on all of some
    /// processors; infinite where none do.
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

    /// Lets the next tasks in the pools of a task ask again.
    fn wake(&mut self, task: TaskId) {
        let Range { start, end } = self.takes[task.index()];
        for at in start..end {
            if let Some(first) = self.first(self.uses[at as usize].0) {
                self.waking.push(first);
            }
        }
    }
}
