//! Pools in a run: the amounts that tasks hold, and their queues.
//!
//! A task holds its demands from its start to its end. A task that a policy starts directly holds them from that decision
//! on; a task that is being stopped, until the backend reports its end. Each pool serves planned tasks in planned order:
//! a task may take of it once all earlier tasks of the pool have begun. Tasks that rest after a failure, or whose host
//! is gone, do not hold up others.

use super::{Engine, Op};
use crate::backend::OpId;
use slackline_model::problem::{PoolId, Pools};
use slackline_model::schedule::DevicesInUse;
use slackline_model::{HostId, ProcId, TaskId, approx};
use slackline_react::{Event, TaskState};
use std::collections::{BTreeMap, BTreeSet};

type Uses = Vec<(PoolId, u64)>;

/// Holders and waiting tasks of pools.
#[derive(Default)]
pub(super) struct Holdings {
    /// By task: pools and amounts held.
    tasks: BTreeMap<TaskId, Uses>,
    /// Of tasks that are being stopped.
    stopping: BTreeMap<OpId, Uses>,
    /// Devices that tasks have on hosts, by their operations.
    devices: BTreeMap<OpId, Vec<(HostId, Vec<u32>)>>,
    /// By host: the devices in use.
    in_use: BTreeMap<HostId, DevicesInUse>,
    /// Per pool: planned tasks that take of it and have not begun, by their place in the plan.
    turns: Vec<BTreeSet<(u32, TaskId)>>,
    /// Processors whose next task found no room or is not first in a queue.
    refused: BTreeSet<u32>,
    /// Earliest opening of a window that a refused task waits for; infinite if there is none.
    opens: f64,
}

impl Holdings {
    pub(super) fn new(pools: &Pools) -> Holdings {
        let turns = vec![BTreeSet::new(); pools.all().len()];
        Holdings { turns, opens: f64::INFINITY, ..Holdings::default() }
    }

    /// Date at which the next window opens that a task waits for.
    pub(super) fn next_date(&self) -> f64 {
        self.opens
    }
}

impl Engine<'_, '_> {
    /// Whether concurrent tasks share more than processors here.
    fn shares(&self) -> bool {
        self.situation.pools.bind()
    }

    /// Rebuilds holdings and queues after new work or changed demands: pools have new numbers, and others may bind.
    pub(super) fn rebuild_pools(&mut self) {
        let mut holding: BTreeSet<TaskId> = self.holdings.tasks.keys().copied().collect();
        let begun = self.operations.task_op.iter().enumerate().filter(|(_, op)| op.is_some());
        holding.extend(begun.map(|(task, _)| TaskId::new(task)));
        let before = std::mem::take(&mut self.holdings);
        self.holdings = Holdings::new(&self.situation.pools);
        (self.holdings.devices, self.holdings.in_use) = (before.devices, before.in_use);
        self.situation.held.fill(0);
        if !self.shares() {
            return;
        }
        for task in holding {
            let procs = self.situation.task(task).procs().unwrap_or_default().to_vec();
            let uses = self.situation.uses(task, &procs);
            self.add_to_held(&uses);
            self.holdings.tasks.insert(task, uses);
        }
        for op in before.stopping.into_keys() {
            let Some(Op::Stopping { task, procs }) = self.operations.ops.get(&op).cloned() else {
                continue;
            };
            let uses = self.situation.uses(task, &procs);
            self.add_to_held(&uses);
            self.holdings.stopping.insert(op, uses);
        }
        self.line_up();
        self.queues.look_again();
    }

    fn add_to_held(&mut self, uses: &[(PoolId, u64)]) {
        for &(pool, amount) in uses {
            self.situation.held[pool as usize] += amount;
        }
    }

    /// The devices that a task gets on its hosts for an operation: the lowest ids that are free, host after
    /// host.
    pub(super) fn take_devices(&mut self, op: OpId, task: TaskId, procs: &[ProcId]) -> Vec<u32> {
        let workflow = &self.situation.workflow;
        if workflow.demand(task).is_none_or(|demand| demand.gpus.is_none()) {
            return Vec::new();
        }
        let mut taken = Vec::new();
        for host in self.distinct_hosts(procs) {
            let in_use = self.holdings.in_use.entry(host).or_default();
            taken.push((host, in_use.take(workflow, task, self.situation.platform.host(host))));
        }
        let ids = taken.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
        self.holdings.devices.insert(op, taken);
        ids
    }

    fn give_devices_back(&mut self, op: OpId) {
        for (host, ids) in self.holdings.devices.remove(&op).into_iter().flatten() {
            if let Some(in_use) = self.holdings.in_use.get_mut(&host) {
                in_use.give_back(&ids);
            }
        }
    }

    /// Rebuilds the queues of pools from the plan.
    pub(super) fn line_up(&mut self) {
        if !self.shares() {
            return;
        }
        self.holdings.turns.iter_mut().for_each(BTreeSet::clear);
        for task in self.queues.planned() {
            let begun =
                self.situation.task(task).is_done() || self.holdings.tasks.contains_key(&task);
            let Some(procs) = self.queues.assigned(task).filter(|_| !begun) else { continue };
            let rank = self.queues.rank[task.index()];
            // A pool that always has room needs no queue.
            let pools = self.situation.pools.all();
            for (pool, _) in self.situation.uses(task, procs) {
                if pools[pool as usize].binds {
                    self.holdings.turns[pool as usize].insert((rank, task));
                }
            }
        }
    }

    /// Whether all pools have room for a task, it is first in their queues, and a window is long enough for it. A refused
    /// task is tried again when a pool changes or the window opens.
    pub(super) fn may_take_of_pools(&mut self, task: TaskId, procs: &[ProcId]) -> bool {
        if !self.shares() || self.operations.headstart.tasks.contains_key(&task) {
            return true;
        }
        // One task may go out of turn where storage is full and all others are blocked.
        let passes = self.stores.passed == Some((task, self.situation.tasks.done()));
        let uses = self.situation.uses(task, procs);
        let holds = self.holdings.tasks.contains_key(&task);
        let is_next = || passes || uses.iter().all(|&(pool, _)| self.is_its_turn(pool, task));
        let has_room = holds || self.lacks_in_pools(&uses).is_none() && is_next();
        // A task that holds already may start later than decided, as its inputs were late: the window is checked again.
        let lets = has_room && self.is_in_window(task, procs);
        if !lets {
            self.holdings.refused.extend(procs.iter().map(|p| p.0));
        }
        lets
    }

    /// The pool that has no room.
    fn lacks_in_pools(&self, uses: &[(PoolId, u64)]) -> Option<PoolId> {
        let pools = self.situation.pools.all();
        let short = |(pool, amount): &&(PoolId, u64)| {
            self.situation.held[*pool as usize] + amount > pools[*pool as usize].capacity
        };
        uses.iter().find(short).map(|(pool, _)| *pool)
    }

    fn is_its_turn(&self, pool: PoolId, task: TaskId) -> bool {
        if self.queues.rank[task.index()] == u32::MAX {
            // It is not in the plan, so in no queue.
            return true;
        }
        let passes = |&(_, other): &(u32, TaskId)| {
            other == task
                || !self.attempts.holds(other)
                    && !self.situation.tasks.cannot_run(other)
                    && self.queues.assigned(other).is_some_and(|procs| !self.are_lost(procs))
        };
        let first = self.holdings.turns[pool as usize].iter().find(|turn| passes(turn));
        first.is_none_or(|(_, first)| *first == task)
    }

    /// Whether the windows of its hosts hold a task that starts now; else notes when they open.
    fn is_in_window(&mut self, task: TaskId, procs: &[ProcId]) -> bool {
        if !self.situation.pools.has_windows() {
            return true;
        }
        let now = self.situation.now;
        let mut from = now;
        let Ok(problem) = self.situation.seen_problem() else { return true };
        let hosts = problem.hosts_of(procs);
        let first = procs.first().copied().unwrap_or(ProcId(0));
        let seconds = problem.exec_wide(task, problem.class_of(first), procs.len() as u32);
        let mut is_served = false;
        for host in hosts {
            from = self.situation.pools.in_window(host, from, seconds);
            is_served |= self.situation.pools.stay(host).is_some();
        }
        if approx::le(from, now) {
            return true;
        }
        if is_served && from.is_finite() {
            self.await_stay(task, from);
        }
        self.holdings.opens = self.holdings.opens.min(from);
        false
    }

    /// Takes the demands of a task, and the task out of all queues.
    pub(super) fn take_of_pools(&mut self, task: TaskId, procs: &[ProcId]) {
        if !self.shares() || self.holdings.tasks.contains_key(&task) {
            return;
        }
        let uses = self.situation.uses(task, procs);
        self.add_to_held(&uses);
        let rank = self.queues.rank[task.index()];
        for turns in self.holdings.turns.iter_mut().filter(|_| rank != u32::MAX) {
            turns.remove(&(rank, task));
        }
        self.holdings.tasks.insert(task, uses);
        self.ask_pools_again();
    }

    /// Releases what a task holds: it has ended or is displaced.
    pub(super) fn give_back_to_pools(&mut self, task: TaskId) {
        if let Some(uses) = self.holdings.tasks.remove(&task) {
            self.free_pools(&uses);
        }
    }

    /// Moves the holdings of a task to its operation, which is being stopped and releases them at its end.
    pub(super) fn drain_from_pools(&mut self, task: TaskId, op: OpId) {
        if let Some(uses) = self.holdings.tasks.remove(&task) {
            self.holdings.stopping.insert(op, uses);
        }
    }

    /// Releases the devices of an operation that has ended, and its holdings if it was being stopped.
    pub(super) fn drained_from_pools(&mut self, op: OpId) {
        self.give_devices_back(op);
        if let Some(uses) = self.holdings.stopping.remove(&op) {
            self.free_pools(&uses);
        }
    }

    fn free_pools(&mut self, uses: &[(PoolId, u64)]) {
        for &(pool, amount) in uses {
            let held = &mut self.situation.held[pool as usize];
            *held = held.saturating_sub(amount);
        }
        self.ask_pools_again();
    }

    /// Has refused tasks tried again.
    fn ask_pools_again(&mut self) {
        let refused = std::mem::take(&mut self.holdings.refused);
        self.queues.touched.extend(refused);
    }

    /// Emits an event for every host whose window opens now, and lets refused tasks be tried again.
    pub(super) fn see_windows_open(&mut self) {
        if self.situation.pools.has_windows() && approx::le(self.holdings.opens, self.situation.now)
        {
            self.holdings.opens = f64::INFINITY;
            self.ask_pools_again();
        }
        if !self.situation.pools.has_windows() {
            return;
        }
        self.see_stays_open();
        let now = self.situation.now;
        let hosts: Vec<HostId> = self.situation.platform.host_ids().collect();
        for host in hosts {
            let opens = |&(from, _): &(f64, f64)| from > 0.0 && approx::eq(from, now);
            if self.situation.pools.windows(host).iter().any(opens) {
                self.instant.events.push(Event::HostChanged(host));
            }
        }
    }

    /// Date at which the next window of any host opens; infinite once all tasks are done.
    pub(super) fn next_window(&self) -> f64 {
        if !self.situation.pools.has_windows() || self.instant.open == 0 {
            return f64::INFINITY;
        }
        let now = self.situation.now;
        let hosts = self.situation.platform.host_ids();
        let opens = hosts.flat_map(|h| self.situation.pools.windows(h)).map(|(from, _)| *from);
        let next = opens.filter(|&from| approx::gt(from, now)).fold(f64::INFINITY, f64::min);
        next.min(self.holdings.next_date()).min(self.next_stay())
    }

    /// Checks that the capacities of hosts suffice for a task; the error names the pool that is too small.
    pub(super) fn check_pools(&self, task: TaskId, procs: &[ProcId]) -> Result<(), String> {
        let (workflow, pools) = (&self.situation.workflow, &self.situation.pools);
        let name = workflow.task_name(task);
        let width = procs.len() as u32;
        for host in self.distinct_hosts(procs) {
            let own = procs.iter().filter(|p| self.situation.host_of[p.index()] == host).count();
            if let Some(unmet) = pools.first_unmet(workflow, task, (host, own as u32, width)) {
                let host = &self.situation.platform.host(host).name;
                let shown = pools.describe(workflow, task, width);
                let unmet = unmet.to_string();
                let needs = shown.iter().find(|(known, _)| *known == unmet);
                let needs = needs.map_or(String::new(), |(_, text)| format!("{text} of "));
                return Err(format!("'{name}' needs {needs}{unmet}, more than '{host}' has"));
            }
        }
        Ok(())
    }

    /// Checks that pools have room for a task now; the error names the first that has none.
    pub(super) fn check_room(&self, task: TaskId, procs: &[ProcId]) -> Result<(), String> {
        if !self.shares() || self.holdings.tasks.contains_key(&task) {
            return Ok(());
        }
        let uses = self.situation.uses(task, procs);
        let Some(pool) = self.lacks_in_pools(&uses) else { return Ok(()) };
        let of = &self.situation.pools.all()[pool as usize];
        let amount = uses.iter().find(|(id, _)| *id == pool).map_or(0, |(_, amount)| *amount);
        let (amount, held) =
            (of.unit.show_short(amount), of.unit.show_short(self.situation.held[pool as usize]));
        let (name, capacity) =
            (self.situation.workflow.task_name(task), of.unit.show_short(of.capacity));
        let place = self.situation.pools.place(pool, &self.situation.platform);
        Err(format!(
            "pool: '{name}' needs {amount} of {} of {place}, where {held} of {capacity} is held",
            of.name
        ))
    }

    /// The first pool that has no room for a waiting task, as text for people.
    pub(super) fn describe_lack(&self, task: TaskId, procs: &[ProcId]) -> Option<String> {
        if !self.shares() || !matches!(self.situation.task(task), TaskState::Waiting) {
            return None;
        }
        self.check_room(task, procs).err()
    }

    fn distinct_hosts(&self, procs: &[ProcId]) -> Vec<HostId> {
        let mut hosts: Vec<HostId> =
            procs.iter().map(|p| self.situation.host_of[p.index()]).collect();
        hosts.dedup();
        hosts
    }
}
