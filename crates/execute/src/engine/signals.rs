//! What signals of the backend do to the situation, and which events they are to the policy.

use super::{Engine, Monitoring, Op};
use crate::backend::{BackendError, OpId};
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, Placement, ProcId, TaskId};
use slackline_react::{Event, FileCopy, TaskState, Transfers};

impl Engine<'_> {
    pub(super) fn task_done(&mut self, task: TaskId) {
        let TaskState::Running { procs, since } = self.situation.task(task).clone() else { return };
        let now = self.situation.now;
        let host = self.host(&procs);
        self.situation.tasks[task.index()] = TaskState::Done(Placement::wide(&procs, since, now));
        self.situation.progress[task.index()] = 1.0;
        self.task_op[task.index()] = None;
        self.free(&procs);
        let workflow = self.situation.workflow.clone();
        for file in workflow.outputs(task) {
            let copies = &mut self.situation.copies[file.index()];
            copies.retain(|c| c.host != host);
            copies.push(FileCopy { host, from: None, fraction: 1.0 });
        }
        for file in workflow.inputs(task) {
            self.forget_unneeded(file);
        }
        for (child, _) in workflow.successors(task) {
            if let Some(procs) = self.queues.assigned(child).map(Box::<[ProcId]>::from) {
                self.queues.touch(&procs);
            }
        }
        if self.queues.transfers == Transfers::Push {
            self.queues.to_push.push(task);
        }
        self.events.push(Event::TaskFinished(task));
        self.log(Happening::TaskFinished { task });
    }

    /// Copies that no task will read again are dropped; the producer keeps its own.
    fn forget_unneeded(&mut self, file: FileId) {
        let workflow = &self.situation.workflow;
        if workflow.producer(file).is_some()
            && workflow.consumers(file).all(|c| self.situation.task(c).is_done())
        {
            self.situation.copies[file.index()].retain(|c| c.from.is_none() || !c.is_complete());
        }
    }

    pub(super) fn task_failed(&mut self, task: TaskId, why: String) {
        self.counters.failures += 1;
        self.task_op[task.index()] = None;
        self.lose_computation(task);
        self.back_to_waiting(task);
        self.events.push(Event::TaskFailed(task));
        self.log(Happening::TaskFailed { task, reason: why });
    }

    pub(super) fn file_arrived(&mut self, file: FileId, from: HostId, to: HostId) {
        self.arriving.remove(&(file, to));
        self.counters.transfers += 1;
        self.counters.bytes_moved += self.situation.workflow.file_bytes(file);
        if let Some(copy) = self.situation.copies[file.index()].iter_mut().find(|c| c.host == to) {
            copy.fraction = 1.0;
        }
        let workflow = self.situation.workflow.clone();
        for consumer in workflow.consumers(file) {
            if let Some(procs) = self.queues.assigned(consumer).map(Box::<[ProcId]>::from)
                && self.host(&procs) == to
            {
                self.queues.touch(&procs);
            }
        }
        self.events.push(Event::TransferFinished { file, to });
        self.log(Happening::TransferFinished { file, from, to });
    }

    pub(super) fn transfer_failed(&mut self, file: FileId, from: HostId, to: HostId, why: String) {
        self.arriving.remove(&(file, to));
        self.situation.copies[file.index()].retain(|c| c.host != to || c.is_complete());
        self.queues.touch_all(); // somebody may have to ask again
        self.events.push(Event::TransferFailed { file, to });
        self.log(Happening::TransferFailed { file, from, to, reason: why });
    }

    pub(super) fn host_changed(&mut self, host: HostId) -> Result<(), BackendError> {
        if self.settings.monitoring != Monitoring::Continuous {
            return Ok(());
        }
        self.observe();
        let availability = self.situation.view.availability[host.index()];
        self.log(Happening::HostChanged { host, availability });
        if availability <= 0.0 {
            return self.host_lost(host);
        }
        if self.lost[host.index()] {
            self.host_back(host);
        }
        self.events.push(Event::HostChanged(host));
        Ok(())
    }

    /// Compares the world with what is known of it: hosts without any speed are lost.
    pub(super) fn notice_losses(&mut self) -> Result<(), BackendError> {
        let mut view = self.situation.view.clone();
        self.backend.observe(&mut view);
        for host in self.situation.platform.clone().host_ids() {
            let alive = view.availability[host.index()] > 0.0;
            if !alive && !self.lost[host.index()] {
                self.host_lost(host)?;
            } else if alive && self.lost[host.index()] {
                self.host_back(host);
            }
        }
        self.situation.view.network = view.network;
        Ok(())
    }

    /// Everything on the host is gone: what computes, what arrives, what lies there.
    pub(super) fn host_lost(&mut self, host: HostId) -> Result<(), BackendError> {
        if std::mem::replace(&mut self.lost[host.index()], true) {
            return Ok(());
        }
        self.counters.hosts_lost += 1;
        self.situation.view.availability[host.index()] = 0.0;
        self.log(Happening::HostChanged { host, availability: 0.0 });
        self.events.push(Event::HostLost(host));
        let broken: Vec<(OpId, Op)> = self
            .ops
            .iter()
            .map(|(&id, &op)| (id, op))
            .filter(|&(_, op)| match op {
                Op::Task(task) => {
                    self.situation.task(task).procs().is_some_and(|p| self.host(p) == host)
                }
                Op::File { from, to, .. } => from == host || to == host,
            })
            .collect();
        for (id, op) in broken {
            match op {
                Op::Task(task) => {
                    self.measure_task(task, id);
                    self.backend.cancel(id)?;
                    self.ops.remove(&id);
                    self.task_failed(task, "its host is gone".to_string());
                }
                Op::File { file, from, to } => {
                    self.break_off(id, file, to)?;
                    self.transfer_failed(file, from, to, "a host is gone".to_string());
                }
            }
        }
        for index in 0..self.situation.tasks.len() {
            let task = TaskId::new(index);
            if let TaskState::Placed { procs } = self.situation.task(task)
                && self.host(procs) == host
            {
                self.situation.tasks[index] = TaskState::Waiting;
            }
        }
        for index in 0..self.situation.copies.len() {
            let copies = &mut self.situation.copies[index];
            let before = copies.len();
            copies.retain(|c| c.host != host);
            if copies.len() < before {
                self.events.push(Event::CopyLost { file: FileId::new(index), host });
            }
        }
        Ok(())
    }

    pub(super) fn host_back(&mut self, host: HostId) {
        if !std::mem::replace(&mut self.lost[host.index()], false) {
            return;
        }
        self.observe();
        let availability = self.situation.view.availability[host.index()];
        self.events.push(Event::HostBack(host));
        self.log(Happening::HostChanged { host, availability });
        self.queues.touch_all();
    }

    /// Stops a transfer and forgets what had arrived of it.
    pub(super) fn break_off(
        &mut self,
        id: OpId,
        file: FileId,
        to: HostId,
    ) -> Result<(), BackendError> {
        let bytes = self.backend.progress(id) * self.situation.workflow.file_bytes(file);
        self.counters.lost_bytes += bytes;
        self.counters.bytes_moved += bytes;
        self.backend.cancel(id)?;
        self.ops.remove(&id);
        self.arriving.remove(&(file, to));
        self.situation.copies[file.index()].retain(|c| c.host != to || c.is_complete());
        Ok(())
    }

    pub(super) fn measure_task(&mut self, task: TaskId, id: OpId) {
        self.situation.progress[task.index()] = self.backend.progress(id);
    }

    /// Counts what a task had computed as lost, in seconds at the peak of its processors.
    pub(super) fn lose_computation(&mut self, task: TaskId) {
        if let TaskState::Running { since, .. } = self.situation.task(task) {
            self.counters.lost_seconds += self.situation.now - since;
        }
    }

    pub(super) fn free(&mut self, procs: &[ProcId]) {
        for proc in procs {
            self.queues.busy[proc.index()] = None;
        }
        self.queues.touch(procs);
    }

    /// The task has to begin again, wherever the plan puts it.
    pub(super) fn back_to_waiting(&mut self, task: TaskId) {
        if let TaskState::Running { procs, .. } = self.situation.task(task).clone() {
            self.free(&procs);
            self.queues.jump(task, &procs);
        }
        self.situation.tasks[task.index()] = TaskState::Waiting;
        self.situation.progress[task.index()] = 0.0;
    }
}
