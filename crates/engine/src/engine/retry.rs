//! Retries of failed operations: elsewhere first, after a pause, and a limited number of times.

use super::Engine;
use crate::backend::{BackendError, OpError};
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, ProcId, Procs, TaskId};
use slackline_react::{Event, Holders, TaskState};
use std::collections::{BTreeMap, BTreeSet};

/// Seconds of rest after a first failure; each further one doubles them.
const REST: f64 = 1.0;

/// Longest rest, on average.
const LONG_REST: f64 = 300.0;

/// Longest rest of a task that has not failed.
const LONG_PAUSE: f64 = 30.0;

/// Failures from which on rests differ.
const AGAIN: u32 = 3;

/// Multiples of the golden ratio spread most evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// Operation that pauses before it is retried.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Resting {
    Task(TaskId),
    Move(FileId, Holders),
}

/// Counts of failures, and operations that are paused.
#[derive(Default)]
pub(super) struct Attempts {
    failed: BTreeMap<Resting, u32>,
    resting: BTreeSet<Resting>,
    /// By date (its bits order as it does: none is negative).
    until: BTreeSet<(u64, Resting)>,
    /// From where to where nothing gets through until the network changes.
    cut_off: BTreeSet<(Holders, Holders)>,
    /// From where a file did not get through to a place.
    tried: BTreeMap<(FileId, Holders), BTreeSet<Holders>>,
    /// Tasks that were put where no plan and no policy had put them, and after which failure.
    moved: BTreeMap<TaskId, u64>,
    /// Failures of tasks so far.
    failures: u64,
    /// Tasks that are not tried again, and why.
    pub(super) abandoned: BTreeMap<TaskId, String>,
    /// Number of times tasks were postponed because they could not have ended in time.
    postponed: BTreeMap<TaskId, u32>,
    /// Tasks that rest and all that depend on them: others in their queues go first.
    held: BTreeSet<TaskId>,
    /// Memory granted to tasks that ran out of it, in bytes.
    pub(super) grown: BTreeMap<TaskId, u64>,
    /// Some tasks were abandoned that the supply has not been asked about.
    pub(super) newly_abandoned: bool,
}

impl Attempts {
    pub(super) fn next_date(&self) -> f64 {
        self.until.first().map_or(f64::INFINITY, |(bits, _)| f64::from_bits(*bits))
    }

    pub(super) fn rests(&self, task: TaskId) -> bool {
        !self.resting.is_empty() && self.resting.contains(&Resting::Task(task))
    }

    /// Whether others in the queues of a task go first because it, or one that it depends on, rests.
    pub(super) fn holds(&self, task: TaskId) -> bool {
        !self.held.is_empty() && self.held.contains(&task)
    }

    /// Whether others go first in some queue.
    pub(super) fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether a file is not to be moved to a place now.
    pub(super) fn rests_moving(&self, file: FileId, to: &Holders) -> bool {
        !self.resting.is_empty() && self.resting.contains(&Resting::Move(file, to.clone()))
    }

    /// Whether a file may be fetched from a place.
    pub(super) fn may_come(&self, from: &Holders, to: &Holders) -> bool {
        self.cut_off.is_empty() || !self.cut_off.contains(&(from.clone(), to.clone()))
    }

    /// Whether fetching a file from a place has not failed yet.
    pub(super) fn is_fresh(&self, file: FileId, from: &Holders, to: &Holders) -> bool {
        self.tried.is_empty()
            || self.tried.get(&(file, to.clone())).is_none_or(|tried| !tried.contains(from))
    }

    /// Counts a failure and lets rest what failed; gives how often it did.
    fn rest(&mut self, what: Resting, now: f64) -> u32 {
        let times = self.failed.entry(what.clone()).or_insert(0);
        *times += 1;
        let mut seconds = (REST * f64::from(1u32 << (*times - 1).min(20))).min(LONG_REST);
        if *times >= AGAIN {
            // Of different length: nothing that happens at fixed times meets them all, and those who
            // failed because they were together part.
            let number = match what {
                Resting::Task(task) => task.0,
                Resting::Move(file, _) => file.0,
            };
            let turn = f64::from(*times) + f64::from(number);
            seconds *= 0.75 + 0.5 * (turn * GOLDEN).fract();
        }
        self.resting.insert(what.clone());
        self.until.insert(((now + seconds).to_bits(), what));
        *times
    }

    /// Counts a failure of a task that need not rest; gives how often it did.
    pub(super) fn count(&mut self, task: TaskId) -> u32 {
        let times = self.failed.entry(Resting::Task(task)).or_insert(0);
        *times += 1;
        *times
    }

    /// A task goes where no plan and no policy had put it.
    pub(super) fn moves(&mut self, task: TaskId) {
        self.failures += 1;
        self.moved.insert(task, self.failures);
    }

    /// Lets a task rest that has not failed.
    fn postpone(&mut self, task: TaskId, now: f64) {
        let times = self.postponed.entry(task).or_insert(0);
        let seconds = (REST * f64::from(1u32 << (*times).min(20))).min(LONG_PAUSE);
        *times += 1;
        self.resting.insert(Resting::Task(task));
        self.until.insert(((now + seconds).to_bits(), Resting::Task(task)));
    }

    /// Lets a task rest until a date that has not failed.
    fn postpone_until(&mut self, task: TaskId, date: f64) {
        self.postponed.entry(task).or_insert(0);
        if self.resting.insert(Resting::Task(task)) {
            self.until.insert((date.to_bits(), Resting::Task(task)));
        }
    }

    /// Tasks that were put off, and have not failed, rest no longer: a host has come back.
    pub(super) fn end_pauses(&mut self, now: f64) {
        let paused = |(_, what): &(u64, Resting)| match what {
            Resting::Task(task) => {
                self.postponed.contains_key(task) && !self.failed.contains_key(what)
            }
            Resting::Move(..) => false,
        };
        let paused: Vec<_> = self.until.iter().filter(|rest| paused(rest)).cloned().collect();
        for rest in paused {
            self.until.remove(&rest);
            self.until.insert((now.to_bits(), rest.1));
        }
    }

    /// A policy has said where a task is to be.
    pub(super) fn placed_by_policy(&mut self, task: TaskId) {
        if !self.moved.is_empty() {
            self.moved.remove(&task);
        }
    }

    /// Failures of tasks so far.
    pub(super) fn failures(&self) -> u64 {
        self.failures
    }

    /// Tasks that have failed after so many failures, and that no plan and no policy has placed since.
    pub(super) fn moved_since(&self, failures: u64) -> impl Iterator<Item = TaskId> + '_ {
        self.moved.iter().filter(move |(_, of)| **of > failures).map(|(task, _)| *task)
    }

    fn forget(&mut self, what: &Resting) {
        if !self.failed.is_empty() && self.failed.remove(what).is_some() {
            self.resting.remove(what);
            self.until.retain(|(_, resting)| resting != what);
        }
    }
}

impl Engine<'_, '_> {
    /// Retries operations whose pause is over.
    pub(super) fn retry_what_is_due(&mut self) {
        let mut any = false;
        while self.attempts.next_date() <= self.situation.now {
            let Some((_, what)) = self.attempts.until.pop_first() else { break };
            self.attempts.resting.remove(&what);
            if let Resting::Task(task) = what {
                self.situation.tasks.set_awaits_retry(task, false);
                self.instant.events.push(Event::RetryDue(task));
            }
            any = true;
        }
        if any {
            self.hold_resting();
            self.queues.look_again();
        }
    }

    /// Lets others go first in the queues of tasks that rest, and of those that depend on them: a pause
    /// holds no processor.
    pub(super) fn hold_resting(&mut self) {
        let task = |what: &Resting| match what {
            Resting::Task(task) => Some(*task),
            Resting::Move(..) => None,
        };
        let resting: Vec<TaskId> = self.attempts.resting.iter().filter_map(task).collect();
        if resting.is_empty() && self.attempts.held.is_empty() {
            return;
        }
        let now = &self.situation;
        let behind = now.workflow.descendants(&resting, |t| !now.task(t).is_done());
        let tasks = now.workflow.tasks().filter(|t| behind[t.index()]);
        let held: BTreeSet<TaskId> = tasks.chain(resting).collect();
        for task in held.difference(&self.attempts.held) {
            if let Some(procs) = self.queues.assigned(*task).map(Procs::from) {
                self.queues.touch(&procs);
            }
        }
        self.attempts.held = held;
    }

    /// Whether something did not get through and waits for the network to change.
    pub(super) fn waits_for_network(&self) -> bool {
        !self.attempts.cut_off.is_empty()
    }

    /// The network has changed: what did not get through may now.
    pub(super) fn network_may_serve(&mut self) {
        if self.waits_for_network() {
            self.attempts.cut_off.clear();
            self.queues.look_again();
        }
    }

    /// A task failed by itself on some processors.
    pub(super) fn attempt_failed(
        &mut self,
        task: TaskId,
        procs: &[ProcId],
        error: &OpError,
    ) -> Result<(), BackendError> {
        let times = self.attempts.rest(Resting::Task(task), self.situation.now);
        self.situation.tasks.set_awaits_retry(task, true);
        let holders = self.situation.holders_of(procs);
        let failed_on = self.situation.avoid.entry(task).or_default();
        for host in holders.hosts() {
            if !failed_on.contains(host) {
                failed_on.push(*host);
            }
        }
        let elsewhere = self.elsewhere(task);
        let refused = matches!(error, OpError::Refused(_)) && elsewhere.is_none();
        let command = self.situation.workflow.command(task);
        let own = command.and_then(|command| command.surroundings.as_ref()?.retries);
        if times > own.unwrap_or(self.settings.retries) || refused {
            return self.abandon_task(task, times, error);
        }
        self.attempts.moves(task);
        match elsewhere {
            Some(procs) => self.queues.jump(task, &procs, &self.situation),
            // Everywhere once: the next round may begin anywhere.
            None => {
                self.situation.avoid.remove(&task);
                self.queues.jump(task, procs, &self.situation);
            }
        }
        self.hold_resting();
        Ok(())
    }

    /// A task would not be done before what it uses goes away: it goes elsewhere, or waits for more time while
    /// others in its queue go ahead. That is no failure, and is not counted as one.
    pub(super) fn put_off(&mut self, task: TaskId, procs: &[ProcId]) {
        self.attempts.postpone(task, self.situation.now);
        self.situation.tasks.set_awaits_retry(task, true);
        let holders = self.situation.holders_of(procs);
        let avoid = self.situation.avoid.entry(task).or_default();
        for host in holders.hosts() {
            if !avoid.contains(host) {
                avoid.push(*host);
            }
        }
        self.attempts.moves(task);
        match self.elsewhere(task) {
            Some(procs) => self.queues.jump(task, &procs, &self.situation),
            None => {
                self.situation.avoid.remove(&task);
                self.queues.jump(task, procs, &self.situation);
            }
        }
        self.hold_resting();
    }

    /// A task waits where it is until whoever serves its hosts next is there; others in its queue go ahead.
    pub(super) fn await_stay(&mut self, task: TaskId, date: f64) {
        self.attempts.postpone_until(task, date);
        self.situation.tasks.set_awaits_retry(task, true);
        self.hold_resting();
    }

    /// Moves elsewhere what no policy has put on a host that is gone, since the policy would not learn of it.
    pub(super) fn rescue_moved(&mut self) {
        let stranded = |task: &TaskId| {
            let state = self.situation.task(*task);
            let waits = matches!(state, TaskState::Waiting | TaskState::Placed { .. });
            let idle = waits && self.operations.task_op[task.index()].is_none();
            idle && self.queues.assigned(*task).is_some_and(|procs| self.are_lost(procs))
        };
        let stranded: Vec<TaskId> = self.attempts.moved.keys().copied().filter(stranded).collect();
        for task in stranded {
            if self.elsewhere(task).is_none() {
                self.situation.avoid.remove(&task);
            }
            if let Some(procs) = self.elsewhere(task) {
                self.queues.jump(task, &procs, &self.situation);
            }
        }
    }

    /// A task succeeded: its failures are forgotten.
    pub(super) fn attempt_succeeded(&mut self, task: TaskId) {
        self.forget_failures(task);
        self.attempts.placed_by_policy(task);
        if !self.situation.avoid.is_empty() {
            self.situation.avoid.remove(&task);
        }
    }

    /// A transfer broke off though its hosts are there.
    pub(super) fn move_failed(
        &mut self,
        file: FileId,
        from: Holders,
        to: &Holders,
        error: &OpError,
    ) -> Result<(), BackendError> {
        if matches!(error, OpError::Lost { .. }) {
            self.attempts.cut_off.insert((from, to.clone()));
            return Ok(());
        }
        let tried = self.attempts.tried.entry((file, to.clone())).or_default();
        tried.insert(from);
        let now = self.situation.now;
        let times = self.attempts.rest(Resting::Move(file, to.clone()), now);
        if times <= self.settings.retries {
            return Ok(());
        }
        // Who waits for it there had better go elsewhere.
        self.move_succeeded(file, to);
        let workflow = self.situation.workflow.clone();
        for task in workflow.consumers(file) {
            let there = |procs: &&[ProcId]| self.situation.holders_of(procs) == *to;
            let waits =
                matches!(self.situation.task(task), TaskState::Waiting | TaskState::Placed { .. });
            let procs = self.queues.assigned(task).filter(there).map(<[ProcId]>::to_vec);
            if let Some(procs) = procs.filter(|_| waits) {
                let label = workflow.file_label(file);
                let why = OpError::Transient(format!("'{label}' cannot be brought there: {error}"));
                self.situation.set_task(task, TaskState::Waiting);
                self.recorder.counters.failures += 1;
                self.attempt_failed(task, &procs, &why)?;
                self.instant.events.push(Event::TaskFailed(task));
            }
        }
        Ok(())
    }

    /// A file has arrived: the failures on its way are forgotten.
    pub(super) fn move_succeeded(&mut self, file: FileId, to: &Holders) {
        self.attempts.forget(&Resting::Move(file, to.clone()));
        if !self.attempts.tried.is_empty() {
            self.attempts.tried.remove(&(file, to.clone()));
        }
    }

    /// Processors of a host on which the task has not failed: the least queue, then the lowest.
    pub(super) fn elsewhere(&self, task: TaskId) -> Option<Procs> {
        let now = &self.situation;
        let width = now.workflow.width(task).0 as usize;
        let failed_on = now.avoid.get(&task).map_or(&[][..], Vec::as_slice);
        let mut best: Option<(usize, Procs)> = None;
        for procs in now.host_of.chunk_by(|a, b| a == b).scan(0u32, |first, chunk| {
            let start = *first;
            *first += chunk.len() as u32;
            Some((chunk[0], start..*first))
        }) {
            let (host, range): (HostId, std::ops::Range<u32>) = procs;
            if failed_on.contains(&host) || !now.computes(host) || !now.fits(task, host) {
                continue;
            }
            let mut all: Vec<(usize, ProcId)> =
                range.map(ProcId).map(|p| (self.queues.length(p), p)).collect();
            all.sort_unstable();
            all.truncate(width);
            let length = all.iter().map(|(length, _)| length).sum();
            if best.as_ref().is_none_or(|(least, _)| length < *least) {
                let mut procs: Vec<ProcId> = all.into_iter().map(|(_, p)| p).collect();
                procs.sort_unstable();
                best = Some((length, procs.into()));
            }
        }
        best.map(|(_, procs)| procs)
    }

    fn forget_failures(&mut self, task: TaskId) {
        self.attempts.forget(&Resting::Task(task));
        if self.situation.tasks.awaits_retry(task) {
            self.situation.tasks.set_awaits_retry(task, false);
            self.hold_resting();
        }
    }

    /// The task is not tried again; what depends on it never runs.
    pub(super) fn abandon_task(
        &mut self,
        task: TaskId,
        times: u32,
        error: &OpError,
    ) -> Result<(), BackendError> {
        let now = &self.situation;
        let behind = now.workflow.descendants(&[task], |t| !now.task(t).is_done());
        let blocked = now.workflow.tasks().filter(|&t| t != task && behind[t.index()]).count();
        let times = if times == 1 { "once".to_string() } else { format!("{times} times") };
        let depend = match blocked {
            0 => "no task depends on it".to_string(),
            1 => "1 task depends on it".to_string(),
            n => format!("{n} tasks depend on it"),
        };
        let reason = format!("failed {times}, last because {error}; {depend}");
        self.attempts.abandoned.insert(task, reason.clone());
        self.attempts.newly_abandoned = true;
        self.forget_failures(task);
        self.attempts.placed_by_policy(task);
        self.update_blocked();
        self.recorder.counters.abandoned += 1;
        self.instant.events.push(Event::TaskAbandoned(task));
        self.log(Happening::TaskAbandoned { task, reason });
        self.break_off_orphans()
    }

    /// A task is about to be done that was to run never again: an attempt ended late, or its earlier results
    /// are back. It counts as open until then. Returns whether that is so.
    pub(super) fn runs_after_all(&mut self, task: TaskId) -> bool {
        let after_all = self.situation.tasks.set_cannot_run(task, false);
        if after_all {
            self.instant.open += usize::from(!self.is_abandoned(task));
            if self.attempts.abandoned.remove(&task).is_some() {
                self.recorder.counters.abandoned -= 1;
            }
        }
        after_all
    }

    /// Determines which tasks will never run: those that were abandoned, and what has not begun and depends on
    /// them. They leave their queues and do not count as open.
    pub(super) fn update_blocked(&mut self) {
        let known: BTreeSet<TaskId> = self.situation.tasks.that_cannot_run().collect();
        if self.attempts.abandoned.is_empty() && known.is_empty() {
            return;
        }
        let workflow = self.situation.workflow.clone();
        let undone = |t: &TaskId| !self.situation.task(*t).is_done();
        let mut open: Vec<TaskId> =
            self.attempts.abandoned.keys().copied().filter(undone).collect();
        let mut found: BTreeSet<TaskId> = open.iter().copied().collect();
        while let Some(task) = open.pop() {
            for (child, _) in workflow.successors(task) {
                // What computes has its inputs.
                let begun = self.operations.task_op[child.index()].is_some();
                if !begun && undone(&child) && found.insert(child) {
                    open.push(child);
                }
            }
        }
        for &task in found.difference(&known) {
            self.situation.tasks.set_cannot_run(task, true);
            self.instant.open -= usize::from(!self.is_abandoned(task));
            self.queues.remove(task);
            if matches!(self.situation.task(task), TaskState::Placed { .. }) {
                self.situation.set_task(task, TaskState::Waiting);
            }
        }
        for &task in known.difference(&found) {
            self.situation.tasks.set_cannot_run(task, false);
            self.instant.open += usize::from(!self.is_abandoned(task));
        }
    }
}
