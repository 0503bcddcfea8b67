//! What signals of the backend do to the situation, and which events they are to the policy.

use super::Engine;
use crate::backend::{BackendError, OpId};
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, Placement, ProcId, TaskId};
use slackline_react::{Event, FileCopy, TaskState, Transfers};

impl Engine<'_, '_> {
    pub(super) fn task_done(&mut self, task: TaskId) -> Result<(), BackendError> {
        let TaskState::Running { procs, since } = self.situation.task(task).clone() else {
            return Ok(());
        };
        let now = self.situation.now;
        let site = self.situation.site(&procs);
        self.open -= 1;
        self.ended.push(task);
        self.situation.tasks[task.index()] = TaskState::Done(Placement::wide(&procs, since, now));
        self.situation.progress[task.index()] = 1.0;
        self.task_op[task.index()] = None;
        self.free(&procs);
        let workflow = self.situation.workflow.clone();
        for file in workflow.outputs(task) {
            // An earlier result may still be on its way to where there is a new one now.
            if let Some(&stale) = self.arriving.get(&(file, site.clone())) {
                self.break_off(stale, "made anew where it was going")?;
            }
            let copies = &mut self.situation.copies[file.index()];
            copies.retain(|c| c.site != site);
            copies.push(FileCopy::original(site.clone()));
        }
        for file in workflow.inputs(task) {
            self.forget_unneeded(file);
        }
        for (child, _) in workflow.successors(task) {
            self.queues.touch_reader(child, self.settings.dispatch);
        }
        if self.queues.transfers == Transfers::Push {
            self.queues.to_push.push(task);
        }
        self.events.push(Event::TaskFinished(task));
        self.log(Happening::TaskFinished { task });
        Ok(())
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
        if self.is_abandoned(task) {
            self.queues.remove(task);
            self.open -= 1;
        }
        self.events.push(Event::TaskFailed(task));
        self.log(Happening::TaskFailed { task, reason: why });
    }

    /// Everything on the host is gone: what computes, what arrives, and what lies there unless
    /// the host keeps its data until it is back.
    pub(super) fn host_lost(&mut self, host: HostId, keeps_data: bool) -> Result<(), BackendError> {
        if std::mem::replace(&mut self.lost[host.index()], true) {
            return Ok(());
        }
        self.counters.hosts_lost += 1;
        self.situation.view.availability[host.index()] = 0.0;
        self.log(Happening::HostChanged { host, availability: 0.0 });
        self.events.push(Event::HostLost(host));
        for index in 0..self.situation.tasks.len() {
            let task = TaskId::new(index);
            let there =
                |procs: &[ProcId]| procs.iter().any(|p| self.situation.host_of[p.index()] == host);
            match self.situation.task(task) {
                TaskState::Running { procs, .. } if there(procs) => {
                    if let Some(id) = self.task_op[index] {
                        self.measure_task(task, id);
                        self.backend.cancel(id)?;
                        self.ops.remove(&id);
                    }
                    self.task_failed(task, "its host is gone".to_string());
                }
                TaskState::Placed { procs } if there(procs) => {
                    self.situation.tasks[index] = TaskState::Waiting;
                }
                _ => {}
            }
        }
        for transfer in self.transfers_of(host) {
            self.transfer_failed(transfer, "a host is gone")?;
        }
        // What several hosts share outlives each of them, what lies on a store all.
        let place = self.situation.place_of(host);
        let files = match self.living_host(place) {
            None if !self.situation.central => self.situation.copies.len(),
            _ => 0,
        };
        for index in 0..files {
            let file = FileId::new(index);
            let copies = &mut self.situation.copies[index];
            for copy in copies.extract_if(.., |c| c.site.touches(place)) {
                self.events.push(Event::CopyLost { file, site: copy.site.clone() });
                if keeps_data {
                    self.shelved.push((place, file, copy));
                }
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
        let place = self.situation.place_of(host);
        for (_, file, copy) in self.shelved.extract_if(.., |(at, ..)| *at == place) {
            let copies = &mut self.situation.copies[file.index()];
            if copies.iter().all(|c| c.site != copy.site) {
                copies.push(copy);
            }
        }
        self.queues.look_again();
    }

    pub(super) fn measure_task(&mut self, task: TaskId, id: OpId) {
        self.situation.progress[task.index()] = self.backend.progress(id);
    }

    /// Counts the time a task has computed as lost.
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
