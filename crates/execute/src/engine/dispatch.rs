//! From a plan to operations: which inputs travel when, which task starts when.

use super::{Engine, Op};
use crate::backend::{Accepted, BackendError, Computation};
use crate::execution::Dispatch;
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, ProcId, TaskId};
use slackline_react::{Event, Holders, Plan, TaskState, Transfers};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A file and its bytes, as estimated.
type SizedFile = (FileId, f64);

/// The adopted plan: who runs where, in which order.
pub(super) struct Queues {
    assigned: Vec<Option<Box<[ProcId]>>>,
    /// Position of a task in the plan: pushes leave in this order.
    rank: Vec<u32>,
    queue: Vec<VecDeque<TaskId>>,
    /// The task that computes on a processor.
    pub(super) busy: Vec<Option<TaskId>>,
    sources: BTreeMap<(FileId, HostId), HostId>,
    /// Tasks that have all their inputs, or on their way: nothing to ask for until something
    /// unforeseen happens.
    asked: Vec<bool>,
    /// Per task: the round of pushes in which it last asked for what exists, and the last round.
    asked_in: Vec<u32>,
    round: u32,
    pub(super) transfers: Transfers,
    /// Processors whose queue has to be looked at.
    touched: BTreeSet<u32>,
    /// Tasks whose results have to be pushed.
    pub(super) to_push: Vec<TaskId>,
    /// Results of any task may have to be pushed again.
    push_all: bool,
}

impl Queues {
    pub(super) fn new(tasks: usize, procs: usize) -> Queues {
        Queues {
            assigned: vec![None; tasks],
            rank: vec![u32::MAX; tasks],
            queue: vec![VecDeque::new(); procs],
            busy: vec![None; procs],
            sources: BTreeMap::new(),
            asked: vec![false; tasks],
            asked_in: vec![0; tasks],
            round: 0,
            transfers: Transfers::default(),
            touched: BTreeSet::new(),
            to_push: Vec::new(),
            push_all: false,
        }
    }

    /// Makes room for tasks that were not known before.
    pub(super) fn resize(&mut self, tasks: usize) {
        self.assigned.resize(tasks, None);
        self.rank.resize(tasks, u32::MAX);
        self.asked.resize(tasks, false);
        self.asked_in.resize(tasks, 0);
    }

    /// From where the plan wants a host to fetch a file.
    pub(super) fn source(&self, file: FileId, to: HostId) -> Option<HostId> {
        self.sources.get(&(file, to)).copied()
    }

    /// Whether the inputs of a task that lie there from the start are brought in the order of the
    /// plan, without its asking.
    pub(super) fn stages(&self, task: TaskId) -> bool {
        self.transfers == Transfers::Push && self.rank[task.index()] != u32::MAX
    }

    /// The planned tasks, in the order of the plan.
    pub(super) fn planned(&self) -> Vec<TaskId> {
        let ranked = |t: &TaskId| self.rank[t.index()] != u32::MAX;
        let mut tasks: Vec<TaskId> = (0..self.rank.len()).map(TaskId::new).filter(ranked).collect();
        tasks.sort_by_key(|t| self.rank[t.index()]);
        tasks
    }

    /// Who comes first where tasks want the same: those that stand first in a queue, then as planned.
    pub(super) fn turn(&self, task: TaskId) -> (bool, u32, TaskId) {
        let first = |p: &ProcId| self.queue[p.index()].front() == Some(&task);
        let behind = !self.assigned(task).is_some_and(|procs| procs.iter().any(first));
        (behind, self.rank[task.index()], task)
    }

    /// How many tasks run or wait on a processor.
    pub(super) fn length(&self, proc: ProcId) -> usize {
        self.queue[proc.index()].len() + usize::from(self.busy[proc.index()].is_some())
    }

    pub(super) fn assigned(&self, task: TaskId) -> Option<&[ProcId]> {
        self.assigned[task.index()].as_deref()
    }

    /// Replaces the plan. Tasks that compute keep their processors until they are cancelled.
    pub(super) fn adopt(&mut self, plan: &Plan, is_open: impl Fn(TaskId) -> bool) {
        self.queue.iter_mut().for_each(VecDeque::clear);
        self.rank.fill(u32::MAX);
        for (rank, assignment) in plan.assignments.iter().enumerate() {
            let task = assignment.task;
            self.rank[task.index()] = rank as u32;
            if is_open(task) {
                // Many stay where they were.
                let assigned = &mut self.assigned[task.index()];
                if assigned.as_ref() != Some(&assignment.procs) {
                    *assigned = Some(assignment.procs.clone());
                }
                for proc in &assignment.procs {
                    self.queue[proc.index()].push_back(task);
                }
            }
        }
        for (task, assigned) in self.assigned.iter_mut().enumerate() {
            if self.rank[task] == u32::MAX && is_open(TaskId::new(task)) {
                *assigned = None;
            }
        }
        self.sources = plan.sources.iter().map(|s| ((s.file, s.to), s.from)).collect();
        self.transfers = plan.transfers;
        self.look_again();
    }

    /// What could not be asked for before may be now.
    pub(super) fn look_again(&mut self) {
        self.touch_all();
        self.push_all = self.transfers == Transfers::Push;
    }

    /// Puts a task in front of the queues of some processors.
    pub(super) fn jump(&mut self, task: TaskId, procs: &[ProcId]) {
        self.remove(task);
        self.assigned[task.index()] = Some(procs.into());
        self.asked[task.index()] = false;
        for proc in procs {
            self.queue[proc.index()].push_front(task);
            self.touched.insert(proc.0);
        }
    }

    /// Puts a task that may still wait for its parents where the plan has it in the order: in front it
    /// could keep them from starting.
    pub(super) fn put(&mut self, task: TaskId, procs: &[ProcId]) {
        let rank = self.rank[task.index()];
        if rank == u32::MAX {
            return self.jump(task, procs);
        }
        self.remove(task);
        self.assigned[task.index()] = Some(procs.into());
        self.asked[task.index()] = false;
        for proc in procs {
            let queue = &mut self.queue[proc.index()];
            let later = queue.iter().position(|t| self.rank[t.index()] > rank);
            queue.insert(later.unwrap_or(queue.len()), task);
            self.touched.insert(proc.0);
        }
    }

    /// Takes a task out of its queues.
    pub(super) fn remove(&mut self, task: TaskId) {
        if let Some(procs) = self.assigned[task.index()].take() {
            for proc in &procs {
                self.take_out(task, *proc);
                self.touched.insert(proc.0);
            }
        }
    }

    /// Takes a task out of one queue; it mostly is the first.
    fn take_out(&mut self, task: TaskId, proc: ProcId) {
        let queue = &mut self.queue[proc.index()];
        if let Some(at) = queue.iter().position(|&t| t == task) {
            queue.remove(at);
        }
    }

    pub(super) fn touch(&mut self, procs: &[ProcId]) {
        self.touched.extend(procs.iter().map(|p| p.0));
    }

    /// Something a task waits for is there: its processors are looked at if it stands where that
    /// could matter.
    pub(super) fn touch_reader(&mut self, task: TaskId, dispatch: Dispatch) {
        let Some(procs) = &self.assigned[task.index()] else { return };
        let ahead = match self.transfers {
            Transfers::Pull { window } if dispatch == Dispatch::InOrder => window.max(1) as usize,
            Transfers::Push if dispatch == Dispatch::InOrder => 1,
            _ => usize::MAX,
        };
        for proc in procs {
            if self.queue[proc.index()].iter().take(ahead).any(|&t| t == task) {
                self.touched.insert(proc.0);
            }
        }
    }

    /// Everything is looked at as if for the first time.
    fn touch_all(&mut self) {
        self.asked.fill(false);
        self.touched.extend(0..self.queue.len() as u32);
    }
}

impl Engine<'_, '_> {
    /// Starts everything that the plan and the state allow, until nothing more can start.
    pub(super) fn dispatch(&mut self) -> Result<(), BackendError> {
        if self.stores.ask_again() {
            self.queues.look_again();
        }
        let mut pushes = std::mem::take(&mut self.queues.to_push);
        if std::mem::take(&mut self.queues.push_all) {
            self.staging.look_again();
            let done = self.situation.tasks.iter().enumerate().filter(|(_, s)| s.is_done());
            pushes = done.map(|(t, _)| TaskId::new(t)).collect();
        }
        self.push_results(&pushes)?;
        self.stage_inputs()?;
        self.order_machines()?;
        while let Some(proc) = self.queues.touched.pop_first() {
            self.look_at(ProcId(proc))?;
        }
        self.give_machines_back()
    }

    /// Requests inputs for the tasks in the window of a processor and starts what may start.
    fn look_at(&mut self, proc: ProcId) -> Result<(), BackendError> {
        let window = match self.queues.transfers {
            Transfers::Pull { window } => window.max(1) as usize,
            // What lies there from the start leaves in turn.
            Transfers::Push => 0,
        };
        for position in 0..window.min(self.queues.queue[proc.index()].len()) {
            // What is met on the way may take tasks out of the queue.
            let Some(&task) = self.queues.queue[proc.index()].get(position) else { break };
            self.request_inputs(task)?;
        }
        if self.queues.busy[proc.index()].is_some() {
            return Ok(());
        }
        let candidate = match self.settings.dispatch {
            Dispatch::InOrder => {
                self.queues.queue[proc.index()].front().copied().filter(|&t| self.may_start(t))
            }
            Dispatch::FirstReady => {
                let queue = &self.queues.queue[proc.index()];
                queue.iter().copied().find(|&t| self.may_start(t))
            }
        };
        match candidate {
            Some(task) => self.start_task(task),
            None => Ok(()),
        }
    }

    /// All its processors are free, it is first where order counts, its inputs are there.
    fn may_start(&self, task: TaskId) -> bool {
        let Some(procs) = self.queues.assigned(task) else { return false };
        if self.are_lost(procs) || !self.are_there(procs) || self.attempts.rests(task) {
            return false;
        }
        let holders = self.situation.holders_of(procs);
        let first = |proc: &ProcId| {
            self.settings.dispatch == Dispatch::FirstReady
                || self.queues.queue[proc.index()].front() == Some(&task)
        };
        procs.iter().all(|p| self.queues.busy[p.index()].is_none() && first(p))
            && self.situation.parents_done(task)
            // From a store a task reads when it has its processors.
            && (self.situation.central || self.has_inputs(task, &holders))
    }

    fn has_inputs(&self, task: TaskId, holders: &Holders) -> bool {
        // What was asked for last comes last.
        self.situation.workflow.inputs(task).rev().all(|f| self.situation.has_at(f, holders))
    }

    fn start_task(&mut self, task: TaskId) -> Result<(), BackendError> {
        let Some(procs) = self.queues.assigned(task).map(Box::<[ProcId]>::from) else {
            return Ok(());
        };
        if self.lacks_what_it_should_have(task, &procs) {
            return Ok(());
        }
        let holders = self.situation.holders_of(&procs);
        if !self.lets_in(task, &holders)? {
            return Ok(());
        }
        for proc in &procs {
            self.queues.busy[proc.index()] = Some(task);
            self.queues.take_out(task, *proc);
        }
        if !self.left_behind.is_empty() {
            let (workflow, holders) =
                (self.situation.workflow.clone(), self.situation.holders_of(&procs));
            workflow.inputs(task).for_each(|file| self.count_if_left_behind(file, &holders));
        }
        let id = self.new_op(Op::Task(task));
        self.situation.progress[task.index()] = 0.0;
        self.situation.set_task(task, TaskState::Placed { procs: procs.clone() });
        let (reads, writes) = self.traffic_with_store(task);
        let work = Computation { task, procs: &procs, reads: &reads, writes: &writes };
        match self.backend.compute(id, work) {
            Ok(accepted) => {
                self.task_op[task.index()] = Some(id);
                if accepted == Accepted::Running {
                    let hosts = procs.iter().map(|p| self.situation.host_of[p.index()]);
                    let hosts: Vec<HostId> = hosts.collect();
                    hosts.into_iter().for_each(|host| self.found_there(host, self.situation.now));
                    self.task_started(task, procs.clone());
                }
                self.queues.touch(&procs); // the window moves on
                Ok(())
            }
            Err(error) => {
                self.task_op[task.index()] = Some(id);
                self.op_failed(id, &error, self.situation.now)
            }
        }
    }

    /// What a task reads from the store and writes to it, where there is one.
    fn traffic_with_store(&self, task: TaskId) -> (Vec<SizedFile>, Vec<SizedFile>) {
        if !self.situation.central {
            return (Vec::new(), Vec::new());
        }
        let workflow = &self.situation.workflow;
        let sized = |file: FileId| (file, workflow.file_bytes(file));
        let read = |file: &FileId| workflow.consumers(*file).len() > 0;
        let reads = workflow.inputs(task).map(sized).collect();
        (reads, workflow.outputs(task).filter(read).map(sized).collect())
    }

    /// A task computes from now on.
    pub(super) fn task_started(&mut self, task: TaskId, procs: Box<[ProcId]>) {
        self.events_started.push(Event::TaskStarted(task));
        if self.records() {
            self.log(Happening::TaskStarted { task, procs: procs.to_vec() });
        }
        let since = self.situation.now;
        self.situation.set_task(task, TaskState::Running { procs, since });
    }

    /// Whether an input has gone away unnoticed, which is noticed now.
    fn lacks_what_it_should_have(&mut self, task: TaskId, procs: &[ProcId]) -> bool {
        if !self.anything_gone() {
            return false;
        }
        let (workflow, holders) =
            (self.situation.workflow.clone(), self.situation.holders_of(procs));
        let mut lacks = false;
        for file in workflow.inputs(task) {
            for &host in holders.hosts() {
                lacks |= self.notice_gone(file, host);
            }
        }
        if lacks {
            self.queues.look_again();
        }
        lacks
    }

    /// Asks for the inputs of a task that exist and are not on their way yet.
    pub(super) fn request_inputs(&mut self, task: TaskId) -> Result<(), BackendError> {
        let Some(procs) = self.queues.assigned(task) else { return Ok(()) };
        if self.queues.asked[task.index()] || self.situation.central {
            return Ok(());
        }
        if self.are_lost(procs) {
            return Ok(());
        }
        let holders = self.situation.holders_of(procs);
        // A planned task has its inputs staged, and only asks for results.
        let staged = self.queues.stages(task) && !self.situation.inputs_everywhere();
        let workflow = self.situation.workflow.clone();
        let (mut under_way, mut all) = (false, true);
        for file in workflow.inputs(task) {
            if self.situation.has_at(file, &holders) {
                continue;
            }
            if staged && workflow.producer(file).is_none() {
                under_way |= self.arriving.contains_key(&(file, holders.clone()));
                continue;
            }
            let comes = self.fetch(file, None, &holders)?.is_some();
            under_way |= comes;
            all &= comes;
        }
        self.queues.asked[task.index()] = all;
        let waiting = matches!(self.situation.task(task), TaskState::Waiting);
        if let Some(procs) = self.queues.assigned(task).filter(|_| under_way && waiting) {
            self.situation.set_task(task, TaskState::Placed { procs: procs.into() });
        }
        Ok(())
    }

    /// Sends the results of finished tasks to the hosts of their consumers, task by task, to the
    /// consumers in the order of the plan.
    fn push_results(&mut self, tasks: &[TaskId]) -> Result<(), BackendError> {
        let workflow = self.situation.workflow.clone();
        // A consumer asks for all that exists; nothing more exists when its next parent's turn
        // comes.
        self.queues.round += 1;
        let round = self.queues.round;
        let mut consumers: Vec<TaskId> = Vec::new();
        for &task in tasks {
            consumers.clear();
            let asks = &mut self.queues.asked_in;
            consumers.extend(workflow.successors(task).map(|(child, _)| child).filter(|&c| {
                !self.situation.task(c).is_done()
                    && std::mem::replace(&mut asks[c.index()], round) != round
            }));
            consumers.sort_by_key(|c| (self.queues.rank[c.index()], *c));
            for &consumer in &consumers {
                self.request_inputs(consumer)?;
            }
        }
        Ok(())
    }
}
