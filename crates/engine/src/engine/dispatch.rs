//! From a plan to operations: which inputs travel when, which task starts when.

use super::{Engine, Op};
use crate::backend::{Accepted, BackendError, Computation};
use crate::execution::Dispatch;
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, ProcId, Procs, TaskId};
use slackline_react::{Event, Holders, TaskState, Transfers};

/// A file and its bytes, as estimated.
type SizedFile = (FileId, f64);

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
            // What is there from the start leaves in turn.
            Transfers::Push => 0,
        };
        let (mut position, mut requested) = (0, 0);
        while requested < window {
            // What is met on the way may take tasks out of the queue.
            let Some(&task) = self.queues.queue[proc.index()].get(position) else { break };
            position += 1;
            let held = self.attempts.holds(task);
            requested += usize::from(!held);
            if !held || self.attempts.rests(task) {
                self.request_inputs(task)?;
            }
        }
        if self.queues.busy[proc.index()] {
            return Ok(());
        }
        let candidate = match self.settings.dispatch {
            Dispatch::InOrder => self.first_in_line(proc).filter(|&t| self.may_start(t)),
            Dispatch::FirstReady => {
                let queue = &self.queues.queue[proc.index()];
                queue.iter().copied().find(|&t| self.may_start(t))
            }
        };
        let candidate = candidate.filter(|&task| {
            let procs = self.queues.assigned(task).map(Procs::from);
            procs.is_some_and(|procs| self.may_take_of_pools(task, &procs))
        });
        match candidate {
            Some(task) => self.start_task(task),
            None => Ok(()),
        }
    }

    /// The first task of a queue that does not wait for a pause after a failure to be over.
    fn first_in_line(&self, proc: ProcId) -> Option<TaskId> {
        self.queues.queue[proc.index()].iter().copied().find(|&t| !self.attempts.holds(t))
    }

    /// Something a task waits for is there: its processors are checked if it is where that could
    /// matter.
    pub(super) fn touch_reader(&mut self, task: TaskId) {
        if self.attempts.holds_any() {
            if let Some(procs) = self.queues.assigned(task).map(Procs::from) {
                self.queues.touch(&procs);
            }
        } else {
            self.queues.touch_reader(task, self.settings.dispatch);
        }
    }

    /// All its processors are free, it is first where order counts, its inputs are there. What was running
    /// when a copy of the run began needs none, though a parent may have been rewound for others.
    fn may_start(&self, task: TaskId) -> bool {
        let Some(procs) = self.queues.assigned(task) else { return false };
        if self.are_lost(procs) || !self.are_there(procs) || self.attempts.rests(task) {
            return false;
        }
        let holders = self.situation.holders_of(procs);
        let first = |proc: &ProcId| {
            self.settings.dispatch == Dispatch::FirstReady
                || self.first_in_line(*proc) == Some(task)
        };
        procs.iter().all(|p| !self.queues.busy[p.index()] && first(p))
            && (self.operations.headstart.tasks.contains_key(&task)
                || self.situation.parents_done(task)
                // From a store a task reads when it has its processors.
                && (self.situation.central || self.has_inputs(task, &holders)))
    }

    fn has_inputs(&self, task: TaskId, holders: &Holders) -> bool {
        // What was asked for last comes last.
        self.situation.workflow.inputs(task).rev().all(|f| self.situation.has_at(f, holders))
    }

    fn start_task(&mut self, task: TaskId) -> Result<(), BackendError> {
        let Some(procs) = self.queues.assigned(task).map(Procs::from) else {
            return Ok(());
        };
        if self.lacks_what_it_should_have(task, &procs) {
            return Ok(());
        }
        let holders = self.situation.holders_of(&procs);
        if !self.lets_in(task, &holders)? {
            return Ok(());
        }
        self.take_of_pools(task, &procs);
        for proc in &procs {
            self.queues.busy[proc.index()] = true;
            self.queues.take_out(task, *proc);
        }
        if !self.movements.left_behind.is_empty() {
            let (workflow, holders) =
                (self.situation.workflow.clone(), self.situation.holders_of(&procs));
            workflow.inputs(task).for_each(|file| self.count_if_left_behind(file, &holders));
        }
        let id = self.new_op(Op::Task(task));
        self.situation.progress[task.index()] = 0.0;
        self.situation.set_task(task, TaskState::Placed { procs: procs.clone() });
        let (reads, writes) = self.traffic_with_store(task);
        let memory = self.grant_of_memory(task, procs.len() as u32);
        let devices = self.take_devices(id, task, &procs);
        let (reads, writes) = (&reads[..], &writes[..]);
        let work = Computation { task, procs: &procs, memory, devices: &devices, reads, writes };
        match self.backend.compute(id, work) {
            Ok(accepted) => {
                self.operations.task_op[task.index()] = Some(id);
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
                self.operations.task_op[task.index()] = Some(id);
                self.op_failed(id, &error, self.situation.now)
            }
        }
    }

    /// Files a task reads from the central storage and writes to it, where there is one.
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
    pub(super) fn task_started(&mut self, task: TaskId, procs: Procs) {
        self.instant.started.push(Event::TaskStarted(task));
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
                under_way |= self.movements.arriving.contains_key(&(file, holders.clone()));
                continue;
            }
            let comes = self.fetch(file, None, &holders)?.is_some();
            under_way |= comes;
            all &= comes;
        }
        self.queues.asked[task.index()] = all;
        // In the pause after a failure it leaves its processors to others.
        let waiting =
            matches!(self.situation.task(task), TaskState::Waiting) && !self.attempts.rests(task);
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
