//! Carries out decisions of a policy. One that breaks a rule has no effect and is returned with the name of the rule.

use super::{Engine, Op};
use crate::backend::BackendError;
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, ProcId, Procs, TaskId};
use slackline_react::{Arrived, Decision, Event, Holders, Plan, TaskState};

/// Least seconds until a wake-up on real machines, which only extrapolate the progress of tasks from their run times: an
/// earlier evaluation would observe nothing new.
const LEAST_WAIT: f64 = 0.05;

/// Success, or the rule that a decision breaks as text for people.
type Verdict = Result<(), String>;

impl Engine<'_, '_> {
    pub(super) fn apply(&mut self, decision: &Decision) -> Result<Verdict, BackendError> {
        match decision {
            Decision::Adopt(plan) => self.adopt(plan),
            Decision::Start { task, procs } => self.start_now(*task, procs),
            Decision::Cancel(task) => self.cancel(*task),
            Decision::Rewind(tasks) => Ok(self.rewind(tasks)),
            Decision::Copy { file, from, to } => self.copy(*file, *from, *to),
            Decision::Restore(tasks) => self.restore_now(tasks),
            Decision::Drop { file, host } => self.drop_copy(*file, *host),
            Decision::WakeAt(date) => Ok(self.wake(*date)),
            Decision::Abandon { workflow, why } => self.abandon(*workflow, why),
            Decision::GiveUp(why) => {
                self.steering.gave_up = Some(why.clone());
                Ok(Ok(()))
            }
            Decision::Lease(class) => self.lease_one(*class),
            Decision::Release(host) => self.release(*host),
        }
    }

    fn wake(&mut self, date: f64) -> Verdict {
        if date.is_nan() || date <= self.situation.now {
            return Err(format!("cannot wake at {date}: it is {} already", self.situation.now));
        }
        let least = if self.abilities.guesses { self.situation.now + LEAST_WAIT } else { date };
        let date = date.max(least);
        self.steering.wake_at = self.steering.wake_at.min(date);
        self.steering.asked_to_wake = self.steering.asked_to_wake.min(date);
        Ok(())
    }

    /// The part of a decision that still applies. It was made `decision_seconds` ago; tasks may have ended or begun since.
    pub(super) fn still_applicable(&mut self, decision: Decision) -> Option<Decision> {
        match decision {
            Decision::Adopt(mut plan) => {
                let done = |task: TaskId| {
                    self.situation.tasks.get(task.index()).is_some_and(TaskState::is_done)
                };
                plan.assignments.retain(|a| !done(a.task));
                Some(Decision::Adopt(plan))
            }
            Decision::Start { task, .. } => {
                let started =
                    |s: &TaskState| matches!(s, TaskState::Done(_) | TaskState::Running { .. });
                let overtaken = self.situation.tasks.get(task.index()).is_some_and(started)
                    || self.situation.tasks.cannot_run(task);
                (!overtaken).then_some(decision)
            }
            Decision::Rewind(mut tasks) => {
                tasks.retain(|t| {
                    self.situation.tasks.get(t.index()).is_some_and(TaskState::is_done)
                });
                (!tasks.is_empty()).then_some(Decision::Rewind(tasks))
            }
            Decision::Drop { file, host } => {
                let place = self.situation.place_of(host);
                let copies = self.situation.copies.get(file.index());
                let there = copies?.iter().any(|c| c.holders.is(place) && c.is_complete());
                there.then_some(decision)
            }
            Decision::Restore(mut tasks) => {
                tasks.retain(|&t| self.situation.restorable(t).is_some());
                (!tasks.is_empty()).then_some(Decision::Restore(tasks))
            }
            Decision::Cancel(task) => {
                let ended = |s: &TaskState| matches!(s, TaskState::Done(_) | TaskState::Waiting);
                let overtaken = self.situation.tasks.get(task.index()).is_some_and(ended);
                (!overtaken).then_some(decision)
            }
            Decision::WakeAt(date) if date <= self.situation.now => {
                self.steering.wake_at = self.situation.now; // as soon as possible
                None
            }
            other => Some(other),
        }
    }

    /// Reports the rule that an assignment breaks.
    fn check_place(&self, task: TaskId, procs: &[ProcId]) -> Verdict {
        let workflow = &self.situation.workflow;
        if task.index() >= workflow.len() {
            return Err(format!("there is no task {}", task.0));
        }
        let name = workflow.task_name(task);
        if let Some(bad) = procs.iter().find(|p| p.index() >= self.situation.host_of.len()) {
            return Err(format!("'{name}' is put on processor {}, which does not exist", bad.0));
        }
        let (min, max) = workflow.width(task);
        if procs.len() < min as usize || procs.len() > max as usize {
            let given = procs.len();
            return Err(format!("'{name}' is given {given} processors, it takes {min} to {max}"));
        }
        let host = |p: &ProcId| self.situation.host_of[p.index()];
        let spread = procs.iter().any(|p| host(p) != host(&procs[0]));
        if spread && !self.abilities.spans_hosts {
            return Err(format!(
                "'{name}' is spread over several hosts, which cannot be done here"
            ));
        }
        if procs.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(format!("the processors of '{name}' are not in ascending order"));
        }
        self.check_pools(task, procs)
    }

    fn check_plan(&self, plan: &Plan) -> Verdict {
        let mut seen = vec![false; self.situation.tasks.len()];
        for assignment in &plan.assignments {
            let task = assignment.task;
            self.check_place(task, &assignment.procs)?;
            let name = self.situation.workflow.task_name(task);
            if std::mem::replace(&mut seen[task.index()], true) {
                return Err(format!("'{name}' is assigned twice"));
            }
            if self.situation.task(task).is_done() {
                return Err(format!("'{name}' is done already; rewind it first"));
            }
        }
        let hosts = self.situation.platform.hosts().len();
        match plan.leases.iter().find(|l| l.host.index() >= hosts || l.from.is_nan()) {
            Some(lease) => Err(format!("machine {} cannot be leased", lease.host.0)),
            None => Ok(()),
        }
    }

    fn adopt(&mut self, plan: &Plan) -> Result<Verdict, BackendError> {
        if let Err(why) = self.check_plan(plan) {
            return Ok(Err(why));
        }
        let mut moved = 0;
        for assignment in &plan.assignments {
            let (task, procs) = (assignment.task, &assignment.procs[..]);
            let migrates = match self.situation.task(task) {
                TaskState::Running { procs: now, .. } => now[..] != *procs,
                TaskState::Placed { procs: now } => {
                    self.situation.holders_of(now) != self.situation.holders_of(procs)
                }
                _ => false,
            };
            if migrates {
                moved += 1;
                self.evict(task)?;
            }
        }
        if self.steering.plans > 0 {
            self.recorder.counters.replannings += 1;
            self.recorder.counters.remappings += usize::from(moved > 0);
            self.recorder.counters.migrations += moved;
            self.log(Happening::Replanned { moved });
        }
        self.steering.plans += 1;
        let tasks = &self.situation.tasks;
        let (attempts, ops) = (&self.attempts, &self.operations.task_op);
        let is_open = |t: TaskId| {
            let waits = matches!(tasks[t.index()], TaskState::Waiting | TaskState::Placed { .. });
            waits && ops[t.index()].is_none() && !tasks.cannot_run(t)
        };
        // A task that failed after the plan was computed was running then and is not in the plan: it keeps the
        // processors on which it is retried.
        let retried = attempts.moved_since(self.steering.known_failures).filter(|&t| is_open(t));
        let retried: Vec<(TaskId, Procs)> =
            retried.filter_map(|t| Some((t, self.queues.assigned(t)?.into()))).collect();
        self.queues.adopt(plan, is_open);
        self.line_up();
        self.steering.followed = self.watch.is_some().then(|| plan.clone());
        plan.assignments.iter().for_each(|a| self.attempts.placed_by_policy(a.task));
        for (task, procs) in retried {
            if self.queues.assigned(task).is_none() {
                self.queues.jump(task, &procs, &self.situation);
            }
        }
        self.follow_leases(plan);
        self.staging.follow(plan);
        self.break_off_orphans()?;
        Ok(Ok(()))
    }

    /// A placed or running task leaves its processors; complete inputs stay behind as copies.
    fn evict(&mut self, task: TaskId) -> Result<(), BackendError> {
        let procs: Procs = self.situation.task(task).procs().unwrap_or_default().into();
        if let Some(id) = self.operations.task_op[task.index()].take() {
            self.lose_computation(task);
            // The processors drain until the backend reports that it has stopped.
            self.operations.ops.insert(id, Op::Stopping { task, procs: procs.clone() });
            self.drain_from_pools(task, id);
            self.backend.cancel(id)?;
            if matches!(self.situation.task(task), TaskState::Running { .. }) {
                self.log(Happening::TaskCancelled { task });
            }
        }
        let holders = self.situation.holders_of(&procs);
        let workflow = self.situation.workflow.clone();
        for file in workflow.inputs(task) {
            let mut copies = self.situation.copies[file.index()].iter();
            if copies.any(|c| c.holders == holders && c.from.is_some() && c.is_complete())
                && !self.movements.left_behind.contains_key(&(file, holders.clone()))
            {
                self.movements.left_behind.insert((file, holders.clone()), false);
                self.recorder.counters.copies_left += 1;
            }
        }
        self.give_back_to_pools(task);
        self.situation.set_task(task, TaskState::Waiting);
        self.situation.progress[task.index()] = 0.0;
        self.operations.headstart.tasks.remove(&task);
        self.update_blocked();
        Ok(())
    }

    fn start_now(&mut self, task: TaskId, procs: &[ProcId]) -> Result<Verdict, BackendError> {
        if let Err(why) = self.check_place(task, procs) {
            return Ok(Err(why));
        }
        match self.situation.task(task) {
            TaskState::Done(_) | TaskState::Running { .. } => {
                let name = self.situation.workflow.task_name(task);
                return Ok(Err(format!("'{name}' has started already")));
            }
            TaskState::Placed { procs: now } => {
                let accepted = self.operations.task_op[task.index()].is_some();
                if accepted && now[..] == *procs {
                    return Ok(Ok(())); // it is about to run there
                }
                let elsewhere = self.situation.holders_of(now) != self.situation.holders_of(procs);
                if accepted || elsewhere {
                    self.evict(task)?;
                }
            }
            TaskState::Waiting => {}
        }
        if self.situation.tasks.cannot_run(task) {
            let name = self.situation.workflow.task_name(task);
            let why = if self.attempts.abandoned.contains_key(&task) {
                format!("'{name}' was abandoned after its last failure")
            } else {
                format!("'{name}' depends on a task that was abandoned after its last failure")
            };
            return Ok(Err(why));
        }
        if let Err(why) = self.check_room(task, procs) {
            return Ok(Err(why));
        }
        self.attempts.placed_by_policy(task);
        self.queues.jump(task, procs, &self.situation);
        self.take_of_pools(task, procs);
        self.hold(procs);
        self.staging.look_again();
        self.request_inputs(task)?;
        if !self.are_there(procs) {
            self.situation.set_task(task, TaskState::Placed { procs: procs.into() });
        }
        Ok(Ok(()))
    }

    fn cancel(&mut self, task: TaskId) -> Result<Verdict, BackendError> {
        let name = if self.situation.workflow.len() > task.index() {
            self.situation.workflow.task_name(task).to_string()
        } else {
            return Ok(Err(format!("there is no task {}", task.0)));
        };
        match self.situation.task(task) {
            TaskState::Done(_) => Ok(Err(format!("'{name}' is done already; rewind it"))),
            TaskState::Waiting => Ok(Err(format!("'{name}' has not begun"))),
            _ => {
                self.evict(task)?;
                self.queues.remove(task);
                self.break_off_orphans()?;
                Ok(Ok(()))
            }
        }
    }

    /// Abandons a workflow: none of its tasks starts from now on; running ones end normally.
    fn abandon(&mut self, workflow: u32, why: &str) -> Result<Verdict, BackendError> {
        match self.situation.arrived.get_mut(workflow as usize) {
            None => return Ok(Err(format!("there is no workflow {workflow}"))),
            Some(Arrived { abandoned: Some(_), name, .. }) => {
                return Ok(Err(format!("'{name}' was abandoned already")));
            }
            Some(arrived) => arrived.abandoned = Some(why.to_string()),
        }
        for index in 0..self.situation.tasks.len() {
            let task = TaskId::new(index);
            let begun =
                matches!(self.situation.task(task), TaskState::Running { .. } | TaskState::Done(_));
            if self.situation.part_of[index] != workflow || begun {
                continue;
            }
            let counts = !self.situation.tasks.cannot_run(task);
            if self.situation.task(task).procs().is_some() {
                self.evict(task)?;
            }
            self.queues.remove(task);
            self.instant.open -= usize::from(counts);
        }
        self.break_off_orphans()?;
        Ok(Ok(()))
    }

    /// Whether a task belongs to a workflow that was given up.
    pub(super) fn is_abandoned(&self, task: TaskId) -> bool {
        let part = self.situation.part_of[task.index()] as usize;
        self.situation.arrived[part].abandoned.is_some()
    }

    fn rewind(&mut self, tasks: &[TaskId]) -> Verdict {
        for &task in tasks {
            if task.index() >= self.situation.tasks.len() || !self.situation.task(task).is_done() {
                return Err("only tasks that are done can be rewound".to_string());
            }
        }
        for &task in tasks {
            if let TaskState::Done(placement) = self.situation.task(task).clone() {
                self.recorder.counters.lost_seconds += placement.seconds();
                self.situation.earlier.insert(task, placement);
            }
            self.recorder.counters.rewound += 1;
            self.instant.open += usize::from(!self.is_abandoned(task));
            self.situation.set_task(task, TaskState::Waiting);
            self.situation.progress[task.index()] = 0.0;
            self.log(Happening::TaskRewound { task });
        }
        self.update_blocked();
        self.hold_resting();
        self.queues.let_others_pass(tasks, &self.situation);
        // The policy may have decided this while a producer still was to run again. If that counts as done now
        // although its output is gone, the policy has to be notified.
        for &task in tasks {
            for file in self.situation.workflow.clone().inputs(task) {
                let producer = self.situation.workflow.producer(file);
                if let Some(TaskState::Done(placement)) = producer.map(|p| self.situation.task(p))
                    && self.situation.sources(file).next().is_none()
                {
                    let holders = self.situation.holders_of(placement.procs());
                    self.instant.events.push(Event::CopyLost { file, holders });
                }
            }
        }
        self.reset_stall();
        self.queues.look_again(); // readers may have to request their inputs again
        Ok(())
    }

    fn copy(
        &mut self,
        file: FileId,
        from: Option<HostId>,
        to: HostId,
    ) -> Result<Verdict, BackendError> {
        let hosts = self.situation.platform.hosts().len();
        if file.index() >= self.situation.copies.len() || to.index() >= hosts {
            return Ok(Err("there is no such file or host".to_string()));
        }
        if self.situation.has(file, to) {
            return Ok(Err("the file is there already".to_string()));
        }
        if from.is_some_and(|h| !self.situation.holders(file).any(|x| x == h)) {
            return Ok(Err("the source does not have the file".to_string()));
        }
        let (from, to) = (from.map(|h| self.situation.place_of(h)), self.situation.place_of(to));
        if !self.makes_room(file, &Holders::Host(to))? {
            let host = &self.situation.platform.host(to).name;
            return Ok(Err(format!("the storage of '{host}' has no room for the file")));
        }
        match self.fetch(file, from, &Holders::Host(to))? {
            Some(transfer) => {
                self.movements.asked.insert(transfer);
                Ok(Ok(()))
            }
            None => Ok(Err("no host has the file".to_string())),
        }
    }

    fn restore_now(&mut self, tasks: &[TaskId]) -> Result<Verdict, BackendError> {
        for &task in tasks {
            let known = task.index() < self.situation.tasks.len();
            if !known || self.situation.restorable(task).is_none() {
                let why = "only rewound tasks whose results are there again can be restored";
                return Ok(Err(why.to_string()));
            }
        }
        for &task in tasks {
            self.evict(task)?;
            self.restore(task)?;
        }
        Ok(Ok(()))
    }

    fn drop_copy(&mut self, file: FileId, host: HostId) -> Result<Verdict, BackendError> {
        if file.index() >= self.situation.copies.len() {
            return Ok(Err("there is no such file".to_string()));
        }
        let place = self.situation.place_of(host);
        let copies = &mut self.situation.copies[file.index()];
        let Some(at) = copies.iter().position(|c| c.holders.is(place) && c.is_complete()) else {
            return Ok(Err("there is no complete copy to drop".to_string()));
        };
        copies.remove(at);
        self.backend.delete(file, host)?;
        self.queues.look_again(); // a reader may have to request it again
        Ok(Ok(()))
    }
}
