//! State kept between calls: ready tasks, free processors, and the remaining work and budget of every workflow. Events
//! update it; after anything out of the ordinary it is read from the situation again.

use super::times::Times;
use crate::policy::Event;
use crate::room::Room;
use crate::situation::{Situation, TaskState};
use slackline_model::{HostId, ProcId, TaskId, approx};
use slackline_schedule::list::ranks;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A ready task among those of its workflow: the highest upward rank first, then the lower task.
type ReadyEntry = (Reverse<u64>, TaskId);

/// One of the workflows.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// Number of its tasks.
    pub(super) tasks: usize,
    /// Those that have no processor yet.
    pub(super) unplaced: usize,
    /// Mean times of these, summed up.
    pub(super) work: f64,
    /// Length of its critical path in mean times: the largest upward rank.
    pub(super) critical_path: f64,
    /// Money left; infinite without a budget.
    pub(super) money: f64,
    /// Least cost of the tasks without processor.
    pub(super) cheapest: f64,
    /// Least cost of all tasks.
    pub(super) cheapest_of_all: f64,
    /// When it arrived.
    pub(super) arrived: f64,
    /// Most money; infinite when not given.
    pub(super) budget: f64,
    /// Seconds from the arrival; infinite when not given.
    pub(super) deadline: f64,
    /// Nothing more of it will start.
    pub(super) closed: bool,
    ready: BTreeSet<ReadyEntry>,
    /// Its tasks, those of the longest tails first, and how many of these have processors.
    by_tail: Vec<TaskId>,
    begun: usize,
}

impl Account {
    /// Its ready tasks, the highest rank first.
    pub(super) fn ready(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.ready.iter().map(|&(_, task)| task)
    }

    /// Share of its tasks that have no processor yet (PRT, TP).
    pub(super) fn unplaced_share(&self) -> f64 {
        self.unplaced as f64 / self.tasks as f64
    }

    /// Slowdown of the workflow if a task of this upward rank starts now: the time since its arrival and the rest of
    /// its longest path, over that path.
    pub(super) fn slowdown(&self, now: f64, rank: f64) -> f64 {
        (now - self.arrived + rank) / self.critical_path
    }

    /// Cheapest cost of the rest over the money left (BP).
    pub(super) fn budget_pressure(&self) -> f64 {
        if self.cheapest == 0.0 { 0.0 } else { self.cheapest / self.money.max(0.0) }
    }
}

/// State of all workflows that a policy keeps between calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Bookkeeping {
    /// Upward rank of every task.
    pub(super) rank: Vec<f64>,
    /// Times and costs of tasks.
    pub(super) times: Times,
    /// Per workflow.
    pub(super) accounts: Vec<Account>,
    /// The workflows that have ready tasks.
    pub(super) offering: BTreeSet<u32>,
    /// Per task: when it should be done, counted from the arrival of its workflow.
    pub(super) sub_deadline: Vec<f64>,
    /// Per task: the longest chain from it to an end, in least times.
    pub(super) tail: Vec<f64>,
    /// Per task: parents that are not done.
    missing: Vec<u32>,
    /// Per task: the first of its processors.
    placed_on: Vec<u32>,
    /// Per processor: nothing runs or gathers inputs there.
    free: Vec<bool>,
    free_count: usize,
    /// Per processor: when what is there is expected to end.
    until: Vec<f64>,
    /// First processor of every host, and their number at the end.
    first_proc: Vec<u32>,
    /// Pools in use; none where cores alone decide.
    room: Option<Room>,
    /// Something happened that events do not tell in full.
    stale: bool,
}

impl Bookkeeping {
    /// Notes what makes it necessary to read everything again.
    pub(super) fn note(&mut self, events: &[Event], now: &Situation) {
        let ordinary = |event: &Event| match event {
            // Decisions that took their time may have crossed each other.
            Event::TaskStarted(task) | Event::TaskFinished(task) => {
                let first = now.task(*task).procs().and_then(<[ProcId]>::first);
                first.is_none_or(|p| self.placed_on.get(task.index()) == Some(&p.0))
            }
            Event::Start
            | Event::WorkflowArrived { .. }
            | Event::TransferFinished { .. }
            | Event::WakeUp => true,
            _ => false,
        };
        self.stale |= !events.iter().all(ordinary);
        if events.iter().any(|e| matches!(e, Event::TasksAdded { .. })) {
            self.rank.clear(); // tasks that were known may have more behind them now
        }
    }

    /// Takes in what happened.
    pub(super) fn update(&mut self, events: &[Event], now: &Situation) -> Result<(), String> {
        self.note(events, now);
        self.room = Room::of(now);
        if self.stale || self.rank.len() != now.tasks.len() {
            self.learn(now)?;
        }
        if self.stale || self.missing.is_empty() {
            self.stale = false;
            self.read_off(now);
            return Ok(());
        }
        self.admit_new(now);
        for event in events {
            match *event {
                Event::TaskStarted(task) => self.started(task, now),
                Event::TaskFinished(task) => {
                    self.started(task, now);
                    self.finished(task, now);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A task may begin by a decision that was made before everything was read again.
    fn started(&mut self, task: TaskId, now: &Situation) {
        let account = &self.accounts[now.part_of[task.index()] as usize];
        if account.ready.contains(&offer(&self.rank, task))
            && let Some(procs) = now.task(task).procs()
        {
            let until = now.now + self.times.seconds(task, now.host(procs));
            self.place(now, task, procs, until);
        }
    }

    fn learn(&mut self, now: &Situation) -> Result<(), String> {
        let nominal = now.nominal_problem().map_err(|e| e.to_string())?;
        ranks::more_upward(&nominal, &mut self.rank);
        let seen = now.seen_problem().map_err(|e| e.to_string())?;
        self.times.learn(&seen, now, self.stale);
        if self.first_proc.is_empty() {
            self.first_proc = now.platform.host_ids().map(|h| seen.procs_of(h).start).collect();
            self.first_proc.push(seen.procs() as u32);
        }
        Ok(())
    }

    /// Everything from the situation.
    fn read_off(&mut self, now: &Situation) {
        self.accounts.clear();
        self.offering.clear();
        self.missing.clear();
        self.placed_on.clear();
        self.sub_deadline.clear();
        self.tail.clear();
        self.free = now.host_of.iter().map(|&h| now.computes(h)).collect();
        self.until = vec![now.now; self.free.len()];
        self.admit_new(now);
        self.free_count = self.free.iter().filter(|f| **f).count();
    }

    /// Opens accounts for workflows that have none and takes in their tasks.
    fn admit_new(&mut self, now: &Situation) {
        let known = self.missing.len();
        for arrived in &now.arrived[self.accounts.len()..] {
            let limits = &arrived.terms.limits;
            let budget = limits.budget.unwrap_or(f64::INFINITY);
            self.accounts.push(Account {
                money: budget,
                budget,
                arrived: arrived.at,
                deadline: limits.deadline.unwrap_or(f64::INFINITY),
                closed: arrived.abandoned.is_some(),
                ..Account::default()
            });
        }
        let workflow = &now.workflow;
        for task in (known..now.tasks.len()).map(TaskId::new) {
            let parents = workflow.predecessors(task);
            let missing = parents.filter(|&(p, _)| !now.task(p).is_done()).count();
            self.missing.push(missing as u32);
            let first = now.task(task).procs().and_then(<[ProcId]>::first);
            self.placed_on.push(first.map_or(u32::MAX, |p| p.0));
            let cheapest = self.times.cheapest[task.index()];
            let account = &mut self.accounts[now.part_of[task.index()] as usize];
            account.tasks += 1;
            account.cheapest_of_all += cheapest;
            account.critical_path = account.critical_path.max(self.rank[task.index()]);
            match now.task(task) {
                TaskState::Waiting if now.tasks.cannot_run(task) => {}
                TaskState::Waiting => {
                    account.unplaced += 1;
                    account.work += self.times.mean[task.index()];
                    account.cheapest += cheapest;
                    if now.is_ready(task) {
                        account.ready.insert(offer(&self.rank, task));
                        self.offering.insert(now.part_of[task.index()]);
                    }
                }
                TaskState::Done(placement) => {
                    let host = now.host(placement.procs());
                    let width = placement.procs().len() as f64;
                    account.money -= placement.seconds() * width * self.times.price(host);
                }
                TaskState::Placed { procs } | TaskState::Running { procs, .. } => {
                    let host = now.host(procs);
                    let seconds = self.times.seconds(task, host);
                    account.money -= seconds * procs.len() as f64 * self.times.price(host);
                    // A task that waits for a parent to be done again leaves its processor to
                    // others, until then.
                    if missing > 0 {
                        self.stale = true;
                        continue;
                    }
                    let ends = now.now + seconds * (1.0 - now.progress[task.index()]);
                    for proc in procs {
                        self.free[proc.index()] = false;
                        self.until[proc.index()] = ends;
                    }
                }
            }
        }
        if known < now.tasks.len() {
            self.set_sub_deadlines(known, now);
        }
    }

    /// Backwards from the deadlines, in mean times; and the tails, in least ones.
    fn set_sub_deadlines(&mut self, from: usize, now: &Situation) {
        self.sub_deadline.resize(now.tasks.len(), f64::INFINITY);
        self.tail.resize(now.tasks.len(), 0.0);
        for &task in now.workflow.topological_order()[from..].iter().rev() {
            let account = &self.accounts[now.part_of[task.index()] as usize];
            let mut due = account.deadline;
            let mut after = 0.0f64;
            for (child, _) in now.workflow.successors(task) {
                due = due.min(self.sub_deadline[child.index()] - self.times.mean[child.index()]);
                after = after.max(self.tail[child.index()]);
            }
            self.sub_deadline[task.index()] = due;
            self.tail[task.index()] = after + self.times.least[task.index()];
        }
        let mut grown = BTreeSet::new();
        for task in (from..now.tasks.len()).map(TaskId::new) {
            let part = now.part_of[task.index()] as usize;
            self.accounts[part].by_tail.push(task);
            grown.insert(part);
        }
        for part in grown {
            let tail = |t: &TaskId| self.tail[t.index()];
            self.accounts[part].by_tail.sort_by(|a, b| tail(b).total_cmp(&tail(a)));
        }
    }

    /// The workflows with ready tasks whose money does not pay for the cheapest run of the rest.
    pub(super) fn poor(&self) -> impl Iterator<Item = u32> + '_ {
        self.offering.iter().copied().filter(|&part| {
            let account = &self.accounts[part as usize];
            !account.closed && approx::gt(account.cheapest, account.money)
        })
    }

    /// The longest chain of tasks of a workflow that have no processor yet, in least times.
    pub(super) fn longest_rest(&mut self, part: usize, now: &Situation) -> f64 {
        let account = &mut self.accounts[part];
        while let Some(&task) = account.by_tail.get(account.begun) {
            if now.task(task).procs().is_none() && !now.tasks.cannot_run(task) {
                return self.tail[task.index()];
            }
            account.begun += 1;
        }
        0.0
    }

    fn finished(&mut self, task: TaskId, now: &Situation) {
        let TaskState::Done(placement) = now.task(task) else { return };
        for proc in placement.procs() {
            if !std::mem::replace(&mut self.free[proc.index()], true) {
                self.free_count += 1;
            }
        }
        for (child, _) in now.workflow.successors(task) {
            let missing = &mut self.missing[child.index()];
            *missing -= 1;
            if *missing == 0 && now.is_ready(child) {
                let part = now.part_of[child.index()];
                self.accounts[part as usize].ready.insert(offer(&self.rank, child));
                self.offering.insert(part);
            }
        }
    }

    /// A task gets its processors, until a date.
    pub(super) fn place(&mut self, now: &Situation, task: TaskId, procs: &[ProcId], until: f64) {
        if let Some(room) = &mut self.room {
            room.take(now, task, procs);
        }
        for proc in procs {
            if std::mem::replace(&mut self.free[proc.index()], false) {
                self.free_count -= 1;
            }
            self.until[proc.index()] = until;
        }
        self.placed_on[task.index()] = procs.first().map_or(u32::MAX, |p| p.0);
        let host = now.host(procs);
        let cost = self.cost(task, host, procs.len());
        let part = now.part_of[task.index()];
        let account = &mut self.accounts[part as usize];
        account.ready.remove(&offer(&self.rank, task));
        if account.ready.is_empty() {
            self.offering.remove(&part);
        }
        account.unplaced -= 1;
        account.work -= self.times.mean[task.index()];
        account.cheapest -= self.times.cheapest[task.index()];
        if account.unplaced == 0 {
            account.cheapest = 0.0; // what is left is rounding
        }
        account.money -= cost;
    }

    /// Whether a task has room beside what is held, on free processors of a host that is there.
    pub(super) fn has_room(&self, now: &Situation, task: TaskId, host: HostId) -> bool {
        let Some(room) = &self.room else { return true };
        let width = now.workflow.width(task).0 as usize;
        let procs: Vec<ProcId> = self.free_of(host).take(width).collect();
        now.is_open(host) && room.has(now, task, &procs)
    }

    /// Money for a task on some processors of a host.
    pub(super) fn cost(&self, task: TaskId, host: HostId, width: usize) -> f64 {
        self.times.seconds(task, host) * self.times.price(host) * width as f64
    }

    /// Number of processors on which nothing runs or waits.
    pub(super) fn free_count(&self) -> usize {
        self.free_count
    }

    /// Whether everything has to be read again at the next call.
    pub(super) fn is_stale(&self) -> bool {
        self.stale
    }

    /// A processor on which others are queued is not free.
    pub(super) fn occupy(&mut self, proc: ProcId) {
        if std::mem::replace(&mut self.free[proc.index()], false) {
            self.free_count -= 1;
        }
    }

    /// Whether a processor is free.
    pub(super) fn is_free(&self, proc: ProcId) -> bool {
        self.free[proc.index()]
    }

    /// The free processors of a host.
    pub(super) fn free_of(&self, host: HostId) -> impl Iterator<Item = ProcId> + '_ {
        self.procs_of(host).filter(|&p| self.is_free(p))
    }

    /// When a processor is expected to be free.
    pub(super) fn until(&self, proc: ProcId) -> f64 {
        self.until[proc.index()]
    }

    /// The processors of a host.
    pub(super) fn procs_of(&self, host: HostId) -> impl Iterator<Item = ProcId> + use<> {
        (self.first_proc[host.index()]..self.first_proc[host.index() + 1]).map(ProcId)
    }
}

fn offer(rank: &[f64], task: TaskId) -> ReadyEntry {
    // Ranks are not negative: their bits sort as they do.
    (Reverse(approx::sort_key(rank[task.index()]).to_bits()), task)
}
