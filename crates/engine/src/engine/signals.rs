//! Effects of the backend's signals on the situation, and the events they emit to the policy.

use super::{Engine, Op};
use crate::backend::{BackendError, OpError, OpId, Report};
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, Placement, ProcId, Procs, TaskId};
use slackline_react::{Event, FileCopy, TaskState, Transfers};

impl Engine<'_, '_> {
    /// The backend has completed an operation at the date `at`.
    pub(super) fn op_done(
        &mut self,
        op: OpId,
        at: f64,
        report: &Report,
    ) -> Result<(), BackendError> {
        self.stir();
        self.drained_from_pools(op);
        match self.operations.ops.remove(&op) {
            Some(Op::Task(task)) => self.task_done(task, at, report),
            Some(Op::Transfer(id)) => {
                self.file_arrived(id, at, report);
                Ok(())
            }
            Some(Op::Stopping { task, procs }) => {
                self.free(&procs);
                self.done_after_all(task, &procs, at, report)
            }
            Some(Op::Draining(procs)) => {
                self.free(&procs);
                Ok(())
            }
            Some(Op::Ending) | None => Ok(()),
        }
    }

    /// The backend has given up an operation. A failure that names a lost host is also the news of its loss.
    pub(super) fn op_failed(
        &mut self,
        op: OpId,
        error: &OpError,
        at: f64,
    ) -> Result<(), BackendError> {
        self.stir();
        if let OpError::Lost { host: Some(host), .. } = *error
            && self.situation.is_alive(host)
            && self.operations.ops.contains_key(&op)
            && !self.known_since(host, at)
        {
            self.found_gone(host, at)?;
        }
        self.drained_from_pools(op);
        match self.operations.ops.remove(&op) {
            Some(Op::Task(task)) => {
                let procs: Procs = self.situation.task(task).procs().unwrap_or_default().into();
                self.free(&procs);
                self.task_failed(task, &procs, error)
            }
            Some(Op::Transfer(id)) => self.transfer_failed(id, error),
            Some(Op::Stopping { procs, .. } | Op::Draining(procs)) => {
                self.free(&procs);
                Ok(())
            }
            Some(Op::Ending) | None => Ok(()),
        }
    }

    /// The backend has stopped an operation as requested.
    pub(super) fn op_cancelled(&mut self, op: OpId) {
        self.stir();
        self.drained_from_pools(op);
        if let Some(Op::Stopping { procs, .. } | Op::Draining(procs)) =
            self.operations.ops.remove(&op)
        {
            self.free(&procs);
        }
    }

    /// A task that was only accepted runs now.
    pub(super) fn task_runs(&mut self, op: OpId) {
        let Some(&Op::Task(task)) = self.operations.ops.get(&op) else { return };
        if let TaskState::Placed { procs } = self.situation.task(task).clone() {
            self.task_started(task, procs);
        }
    }

    fn task_done(&mut self, task: TaskId, at: f64, report: &Report) -> Result<(), BackendError> {
        self.operations.task_op[task.index()] = None;
        self.give_back_to_pools(task);
        let (procs, since) = match self.situation.task(task).clone() {
            TaskState::Running { procs, since } => (procs, since),
            // The backend reported its end without its start.
            TaskState::Placed { procs } => {
                self.log(Happening::TaskStarted { task, procs: procs.to_vec() });
                let seconds = report.seconds.unwrap_or(0.0);
                (procs, (at - seconds).max(0.0))
            }
            TaskState::Waiting | TaskState::Done(_) => return Ok(()),
        };
        self.free(&procs);
        self.learn(task, &procs, report);
        self.notify_supply(task, &procs, report);
        self.complete(task, &procs, since, at)
    }

    /// A task that was to be stopped had ended before that. Its result counts unless it has begun again, its files are
    /// lost, or its workflow was abandoned.
    fn done_after_all(
        &mut self,
        task: TaskId,
        procs: &[ProcId],
        at: f64,
        report: &Report,
    ) -> Result<(), BackendError> {
        let idle =
            matches!(self.situation.task(task), TaskState::Waiting | TaskState::Placed { .. });
        let holders = self.situation.holders_of(procs);
        let again = self.operations.task_op[task.index()].is_some();
        if !idle || again || self.is_lost(&holders) || self.is_abandoned(task) {
            return Ok(());
        }
        self.queues.remove(task);
        let since = (at - report.seconds.unwrap_or(0.0)).max(0.0);
        self.log(Happening::TaskStarted { task, procs: procs.to_vec() });
        self.notify_supply(task, procs, report);
        self.complete(task, procs, since, at)?;
        self.break_off_orphans()
    }

    fn complete(
        &mut self,
        task: TaskId,
        procs: &[ProcId],
        since: f64,
        at: f64,
    ) -> Result<(), BackendError> {
        let holders = self.situation.holders_of(procs);
        let after_all = self.runs_after_all(task);
        self.instant.open -= 1;
        self.instant.ended.push(task);
        let placement = Placement::wide(procs, since, at.max(since));
        self.situation.set_task(task, TaskState::Done(placement));
        self.situation.progress[task.index()] = 1.0;
        self.situation.earlier.remove(&task);
        if self.situation.tasks.done() > self.stall.most_done {
            (self.stall.most_done, self.stall.begun_since) = (self.situation.tasks.done(), 0);
        }
        self.attempt_succeeded(task);
        self.teach_kind_memory(task);
        if after_all {
            self.update_blocked();
        }
        holders.hosts().iter().for_each(|&host| self.found_there(host, at));
        let workflow = self.situation.workflow.clone();
        for file in workflow.outputs(task) {
            // An earlier result may still be on its way to where there is a new one now.
            if let Some(&stale) = self.movements.arriving.get(&(file, holders.clone())) {
                self.break_off(stale, "made again where it was going")?;
            }
            holders.hosts().iter().for_each(|&host| self.monitor.is_there(file, host));
            let copies = &mut self.situation.copies[file.index()];
            copies.retain(|c| c.holders != holders);
            copies.reserve_exact(1); // there are as many lists as files, and most stay this short
            copies.push(FileCopy::original(holders.clone()));
        }
        self.after_end(task)?;
        self.instant.events.push(Event::TaskFinished(task));
        self.log(Happening::TaskFinished { task });
        Ok(())
    }

    /// Carries out the consequences of a finished task.
    fn after_end(&mut self, task: TaskId) -> Result<(), BackendError> {
        let workflow = self.situation.workflow.clone();
        for file in workflow.inputs(task) {
            self.forget_unneeded(file)?;
        }
        for (child, _) in workflow.successors(task) {
            self.touch_reader(child);
        }
        if self.queues.transfers == Transfers::Push {
            self.queues.to_push.push(task);
        }
        Ok(())
    }

    /// Copies that no task will read again are dropped; the producer keeps its own.
    fn forget_unneeded(&mut self, file: FileId) -> Result<(), BackendError> {
        let workflow = &self.situation.workflow;
        if workflow.producer(file).is_none() || self.situation.is_needed(file) {
            return Ok(());
        }
        let unneeded = |c: &FileCopy| c.from.is_some() && c.is_complete();
        let copies = &mut self.situation.copies[file.index()];
        let kept = copies.iter().filter(|c| !unneeded(c)).count();
        // A new list of the exact length: shrinking many lists in place fragments the heap.
        let kept = Vec::with_capacity(kept);
        for copy in std::mem::replace(copies, kept) {
            if !unneeded(&copy) {
                self.situation.copies[file.index()].push(copy);
                continue;
            }
            for &host in copy.holders.hosts() {
                self.backend.delete(file, host)?;
            }
        }
        Ok(())
    }

    /// An attempt at a task failed.
    fn task_failed(
        &mut self,
        task: TaskId,
        procs: &[ProcId],
        error: &OpError,
    ) -> Result<(), BackendError> {
        self.recorder.counters.failures += 1;
        self.operations.task_op[task.index()] = None;
        self.give_back_to_pools(task);
        self.lose_computation(task);
        // It has to begin again, wherever the plan puts it.
        if !procs.is_empty() {
            self.queues.jump(task, procs, &self.situation);
        }
        self.situation.set_task(task, TaskState::Waiting);
        self.situation.progress[task.index()] = 0.0;
        self.log(Happening::TaskFailed { task, reason: error.to_string() });
        self.instant.events.push(Event::TaskFailed(task));
        if self.is_abandoned(task) {
            self.queues.remove(task);
            self.instant.open -= 1;
            return Ok(());
        }
        self.update_blocked();
        if self.situation.tasks.cannot_run(task) {
            return Ok(());
        }
        match error {
            OpError::Lost { .. } => Ok(()),
            OpError::Memory { grant, peak } => self.ran_out_of_memory(task, procs, (*grant, *peak)),
            OpError::NotNow(_) => {
                // The backend refused it for now: a delay, not a failure.
                self.recorder.counters.failures -= 1;
                self.put_off(task, procs);
                Ok(())
            }
            _ => self.attempt_failed(task, procs, error),
        }
    }

    /// Whether an operation under way uses a host.
    pub(super) fn uses(&self, host: HostId) -> bool {
        let on = |procs: &[ProcId]| procs.iter().any(|p| self.situation.host_of[p.index()] == host);
        self.operations.ops.values().any(|op| match op {
            Op::Task(task) => self.situation.task(*task).procs().is_some_and(on),
            Op::Transfer(id) => self.movements.transfers.get(id).is_some_and(|t| t.uses(host)),
            Op::Stopping { procs, .. } => on(procs),
            Op::Draining(_) | Op::Ending => false,
        })
    }

    /// Takes a host away: its tasks and transfers fail, and its copies are lost, or kept aside until it is back if it
    /// keeps its data.
    pub(super) fn host_lost(&mut self, host: HostId, keeps_data: bool) -> Result<(), BackendError> {
        if !keeps_data {
            let place = self.situation.place_of(host);
            self.movements.shelved.retain(|(at, ..)| *at != place);
        }
        if std::mem::replace(&mut self.situation.lost[host.index()], true) {
            return Ok(());
        }
        self.recorder.counters.hosts_lost += 1;
        self.situation.view.availability[host.index()] = 0.0;
        self.log(Happening::HostLost { host });
        self.instant.events.push(Event::HostLost(host));
        let touches =
            |procs: &[ProcId]| procs.iter().any(|p| self.situation.host_of[p.index()] == host);
        let gone = |(_, op): &(&OpId, &Op)| match op {
            Op::Task(task) => self.situation.task(*task).procs().is_some_and(touches),
            Op::Stopping { procs, .. } => touches(procs),
            _ => false,
        };
        let gone: Vec<(OpId, Op)> =
            self.operations.ops.iter().filter(gone).map(|(id, op)| (*id, op.clone())).collect();
        for (id, op) in gone {
            let procs = match op {
                Op::Task(task) => {
                    let procs: Procs = self.situation.task(task).procs().unwrap_or_default().into();
                    let why = "its host is gone".to_string();
                    self.task_failed(task, &procs, &OpError::Lost { host: Some(host), why })?;
                    self.backend.cancel(id)?;
                    procs
                }
                Op::Stopping { procs, .. } => procs,
                _ => continue,
            };
            self.operations.ops.insert(id, Op::Draining(procs));
        }
        let gathers = |t: &TaskId| match self.situation.task(*t) {
            TaskState::Placed { procs } => {
                procs.iter().any(|p| self.situation.host_of[p.index()] == host)
            }
            _ => false,
        };
        for task in self.situation.tasks.begun().filter(gathers).collect::<Vec<_>>() {
            self.give_back_to_pools(task);
            self.situation.set_task(task, TaskState::Waiting);
        }
        for transfer in self.transfers_of(host) {
            self.transfer_lost(transfer)?;
        }
        self.rescue_moved();
        // Shared storage outlives each of its hosts; a central store outlives all.
        let place = self.situation.place_of(host);
        let files = match self.situation.living_host(place) {
            None if !self.situation.central => self.situation.copies.len(),
            _ => 0,
        };
        for index in 0..files {
            let file = FileId::new(index);
            let copies = &mut self.situation.copies[index];
            for copy in copies.extract_if(.., |c| c.holders.touches(place)) {
                self.instant.events.push(Event::CopyLost { file, holders: copy.holders.clone() });
                if keeps_data && copy.is_complete() {
                    self.movements.shelved.push((place, file, copy));
                } else {
                    self.monitor.reset_stall();
                }
            }
        }
        Ok(())
    }

    pub(super) fn host_back(&mut self, host: HostId) -> Result<(), BackendError> {
        if !std::mem::replace(&mut self.situation.lost[host.index()], false) {
            return Ok(());
        }
        let availability = self.level_now(host);
        self.situation.view.availability[host.index()] = availability;
        self.attempts.end_pauses(self.situation.now);
        self.instant.events.push(Event::HostBack(host));
        self.log(Happening::HostBack { host });
        self.log(Happening::HostChanged { host, availability });
        let mut writers: Vec<TaskId> = Vec::new();
        let place = self.situation.place_of(host);
        for (_, file, copy) in self.movements.shelved.extract_if(.., |(at, ..)| *at == place) {
            let copies = &mut self.situation.copies[file.index()];
            if copies.iter().all(|c| c.holders != copy.holders) {
                copies.push(copy);
                self.stores.touch(file, place, self.situation.now);
                writers.extend(self.situation.workflow.producer(file));
            }
        }
        self.restore_what_waits(writers)?;
        self.rescue_moved();
        self.queues.look_again();
        Ok(())
    }

    /// Restores those of the tasks that were rewound, have not begun again, and whose results are back.
    fn restore_what_waits(&mut self, mut writers: Vec<TaskId>) -> Result<(), BackendError> {
        writers.sort_unstable();
        writers.dedup();
        for task in writers {
            let state = self.situation.task(task);
            let waits = matches!(state, TaskState::Waiting | TaskState::Placed { .. });
            if waits
                && self.operations.task_op[task.index()].is_none()
                && self.situation.restorable(task).is_some()
            {
                self.restore(task)?;
            }
        }
        Ok(())
    }

    /// Counts a rewound task as done again: its results are back.
    pub(super) fn restore(&mut self, task: TaskId) -> Result<(), BackendError> {
        let Some(placement) = self.situation.earlier.remove(&task) else { return Ok(()) };
        self.queues.remove(task);
        self.runs_after_all(task);
        self.instant.open -= usize::from(!self.is_abandoned(task));
        self.recorder.counters.restored += 1;
        self.recorder.counters.lost_seconds -= placement.seconds();
        self.situation.set_task(task, TaskState::Done(placement));
        self.situation.progress[task.index()] = 1.0;
        self.update_blocked();
        self.after_end(task)?;
        self.instant.events.push(Event::TaskRestored(task));
        self.log(Happening::TaskRestored { task });
        self.break_off_orphans()
    }

    /// Counts the time a task has computed as lost.
    pub(super) fn lose_computation(&mut self, task: TaskId) {
        if let TaskState::Running { since, .. } = self.situation.task(task) {
            self.recorder.counters.lost_seconds += self.situation.now - since;
        }
    }

    pub(super) fn free(&mut self, procs: &[ProcId]) {
        for proc in procs {
            self.queues.busy[proc.index()] = false;
        }
        self.queues.touch(procs);
    }
}
