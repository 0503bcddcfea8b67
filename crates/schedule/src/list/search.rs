//! The best slot of a task over all processors.
//!
//! A few numbers per host give a lower bound of the start on any of its processors. The most promising host is
//! searched first. If its slot reaches the bound, it is the best; else the slot sets the mark for all others,
//! and those with a bound that is no better are passed over.

use super::partial::beside;
use super::timeline::{Room, later};
use super::{Partial, Score, Slot, Timeline};
use crate::pools::{Alone, Takes};
use crate::registry::PlanError;
use slackline_model::{HostId, Problem, ProcId, TaskId, approx};

impl Partial<'_, '_> {
    /// The slot of least finish time over all processors; of equal ones the lowest processor.
    pub fn earliest_finish(&mut self, task: TaskId) -> Result<Slot, PlanError> {
        self.best_slot(task, |slot| slot.finish)
    }

    /// The slot of earliest finish that does not begin before a date.
    pub fn earliest_finish_from(&mut self, task: TaskId, date: f64) -> Result<Slot, PlanError> {
        self.search(task, |slot| slot.finish, &NotBefore(date)).ok_or_else(|| self.nowhere(task))
    }

    /// The slot that makes `score` least over all processors; of equal ones the lowest processor. `score` must
    /// not fall when a slot moves to a later date, and must be equal for processors of one host.
    pub fn best_slot<S: Score>(
        &mut self,
        task: TaskId,
        score: impl Fn(&Slot) -> S,
    ) -> Result<Slot, PlanError> {
        self.search(task, score, &Insertion).ok_or_else(|| self.nowhere(task))
    }

    /// Every slot that a task could take, by rising processor (a wide task: by host), with the
    /// seconds it runs there.
    pub(crate) fn slots(&mut self, task: TaskId, mut each: impl FnMut(Slot, f64)) {
        self.data_ready(task);
        let problem = self.problem;
        let mut row = std::mem::take(&mut self.row);
        let times = problem.exec_row(task, &mut row);
        let width = problem.workflow().width(task).0;
        let mut offer = |proc, start: f64, seconds: f64| {
            let slot = Slot { proc, start, finish: start + seconds };
            if slot.possible() {
                each(slot, seconds);
            }
        };
        if width == 1
            && let Some(pools) = &self.pools
        {
            let mut takes = Takes::default();
            for host in problem.platform().host_ids() {
                let ready = self.ready[host.index()];
                pools.takes(problem, task, (host, 1, 1), &mut takes);
                for proc in problem.procs_of(host).map(ProcId) {
                    let seconds = times[problem.class_of(proc)];
                    let line = &self.timelines[proc.index()];
                    if ready.is_finite() && seconds.is_finite() {
                        let at = |from| line.earliest(from, seconds);
                        offer(proc, beside(pools, &takes, (ready, seconds), at), seconds);
                    }
                }
            }
        } else if width == 1 {
            for (line, proc) in self.timelines.iter().zip(problem.proc_ids()) {
                let seconds = times[problem.class_of(proc)];
                let ready = self.ready[problem.host_of(proc).index()];
                if ready.is_finite() && seconds.is_finite() {
                    offer(proc, line.earliest(ready, seconds), seconds);
                }
            }
        } else {
            let earliest =
                |line: &Timeline, _: ProcId, ready, seconds| line.earliest(ready, seconds);
            for host in self.anchors(task) {
                let proc = ProcId(problem.procs_of(host).start);
                let (ready, seconds) = (self.ready_at(task, host), times[problem.class_of(proc)]);
                if ready.is_finite() && seconds.is_finite() {
                    let start = self.earliest_wide(task, host, (ready, seconds), &earliest);
                    offer(proc, start, seconds);
                }
            }
        }
        self.row = row;
    }

    /// When a wide task whose data-ready times were looked up last is ready at a host, or at the
    /// earliest over several, where data may come sooner than to one.
    fn ready_at(&self, task: TaskId, host: HostId) -> f64 {
        match self.cluster(task, host) {
            Some(_) => self.problem.release(task),
            None => self.ready[host.index()],
        }
    }

    /// Returns the error for a task that no processor can take.
    pub(crate) fn nowhere(&self, task: TaskId) -> PlanError {
        PlanError::Nowhere { task: self.problem.workflow().task_name(task).to_string() }
    }

    /// The best slot, with starts computed by `fit`.
    pub(super) fn search<S: Score>(
        &mut self,
        task: TaskId,
        score: impl Fn(&Slot) -> S,
        fit: &impl Fit,
    ) -> Option<Slot> {
        self.data_ready(task);
        let mut row = std::mem::take(&mut self.row);
        let times = self.problem.exec_row(task, &mut row);
        let best = Best { slot: None, least: S::WORST, score };
        let mut promises = std::mem::take(&mut self.promises);
        let slot = match self.problem.workflow().width(task).0 {
            1 => self.search_narrow(task, times, best, fit, &mut promises),
            _ => self.search_wide(task, times, best, fit),
        };
        (self.row, self.promises) = (row, promises);
        slot
    }

    fn search_narrow<S: Score, F: Fn(&Slot) -> S>(
        &self,
        task: TaskId,
        times: &[f64],
        mut best: Best<S, F>,
        fit: &impl Fit,
        promises: &mut Vec<f64>,
    ) -> Option<Slot> {
        let hosts = || self.ready.iter().zip(&self.idle).enumerate();
        let alone = self.memory_alone(task);
        promises.clear();
        let mut first = None;
        for (host, (&ready, idle)) in hosts() {
            let seconds = times[idle.class as usize];
            let mut start = idle.not_before(ready, seconds);
            if let Some(alone) = &alone {
                start = alone.not_before(HostId::new(host), seconds, start);
                promises.push(start);
            }
            if best.take(idle.proc, start, seconds) {
                first = Some((host, start));
            }
        }
        let mut takes = Takes::default();
        let ((first, start), promised) = (first?, best.least);
        (best.slot, best.least) = (None, S::WORST);
        let seconds = times[self.idle[first].class as usize];
        let of = |host, seconds| Searched { task, host, seconds, alone };
        self.search_host(of(first, seconds), start, &mut best, fit, &mut takes);
        let known = best.slot.take();
        if let Some(slot) = known {
            if !promised.better_than(best.least) {
                return Some(self.settled(of(first, seconds), slot, fit));
            }
            best.least = best.least.just_above();
        }
        for (host, (&ready, idle)) in hosts() {
            let seconds = times[idle.class as usize];
            if host == first {
                known.map(|slot| best.take(slot.proc, slot.start, seconds));
                continue;
            }
            let start = match promises.get(host) {
                Some(&start) => start,
                None => idle.not_before(ready, seconds),
            };
            if best.hopes(idle.proc, start, seconds) {
                self.search_host(of(host, seconds), start, &mut best, fit, &mut takes);
            }
        }
        let slot = best.slot?;
        let host = self.problem.host_of(slot.proc).index();
        Some(self.settled(of(host, times[self.idle[host].class as usize]), slot, fit))
    }

    /// Takes the best slot on the processors of a host, if it is better; none begins before `start`.
    fn search_host<S: Score, F: Fn(&Slot) -> S>(
        &self,
        of: Searched<'_>,
        start: f64,
        best: &mut Best<S, F>,
        fit: &impl Fit,
        takes: &mut Takes,
    ) {
        let Searched { host, seconds, .. } = of;
        if self.pools.is_some() {
            return self.search_host_beside(of, start, best, fit, takes);
        }
        let ready = self.ready[host];
        for proc in self.problem.procs_of(HostId::new(host)).map(ProcId) {
            let line = &self.timelines[proc.index()];
            if best.hopes(proc, line.not_before(ready, seconds), seconds) {
                let worth = |start| best.hopes(proc, start, seconds);
                let start = fit.earliest(line, proc, (ready, seconds), worth);
                best.take(proc, start, seconds);
            }
        }
    }

    /// Searches a host where tasks share more than processors.
    #[inline(never)]
    fn search_host_beside<S: Score, F: Fn(&Slot) -> S>(
        &self,
        of: Searched<'_>,
        start: f64,
        best: &mut Best<S, F>,
        fit: &impl Fit,
        takes: &mut Takes,
    ) {
        let Some(pools) = &self.pools else { return };
        let Searched { task, seconds, .. } = of;
        let host = HostId::new(of.host);
        let first = ProcId(self.problem.procs_of(host).start);
        // All processors of a host are alike to the score.
        let worth = |start| best.hopes(first, start, seconds);
        if !worth(start) {
            return;
        }
        let refusals = self.refusals.as_deref();
        let own = refusals.and_then(|refusals| refusals.pool(host));
        let mut from = start;
        let ready = self.ready[of.host];
        match of.alone {
            Some(alone) => pools.takes_memory(alone.bytes, host, takes),
            None => {
                pools.takes(self.problem, task, (host, 1, 1), takes);
                if let (Some(refusals), Some((amount, _))) = (refusals, pools.demand(takes, own))
                    && let Some(amount) = refusals.at_most(amount)
                    && let Some(class) = refusals.class(host, amount, seconds)
                {
                    from = refusals.not_before(class, from);
                }
            }
        }
        // What was refused until a date that is this one but for rounding may fit here; and where nothing is kept, no slot
        // is settled afterwards.
        if refusals.is_none() || approx::eq(from, ready) {
            from = ready;
        }
        if worth(from) {
            from = pools.earliest(takes, from, seconds, worth);
        }
        let reached = loop {
            if !worth(from) {
                break from;
            }
            let mut slot: Option<(ProcId, f64)> = None;
            let mut next = f64::INFINITY;
            for proc in self.problem.procs_of(host).map(ProcId) {
                let line = &self.timelines[proc.index()];
                let earlier = |date| slot.is_none_or(|(_, least)| approx::lt(date, least));
                let worth = |start| worth(start) && earlier(start);
                let mut start = line.not_before(from, seconds);
                if worth(start) {
                    start = fit.earliest(line, proc, (from, seconds), worth);
                    if worth(start) {
                        slot = Some((proc, start));
                    }
                }
                if start <= from {
                    break;
                }
                next = next.min(start);
            }
            let Some((proc, start)) = slot else { break next };
            let room =
                if start <= from { start } else { pools.earliest(takes, start, seconds, worth) };
            if room <= start {
                best.take(proc, start, seconds);
                break start;
            }
            from = room;
        };
        if let (Some(refusals), Some((amount, true))) = (refusals, pools.demand(takes, own))
            && fit.is_plain()
            && pools.is_final()
        {
            refusals.add(host, (amount, seconds), ready, reached);
        }
    }

    /// The demand of a task of one core, where tasks demand nothing but memory.
    #[inline]
    fn memory_alone(&self, task: TaskId) -> Option<Alone<'_>> {
        let bytes = self.pools.as_ref()?.memory_alone(self.problem, task)?;
        Some(Alone::new(self.refusals.as_ref()?, bytes))
    }

    /// A slot that was found, as a search that begins when the task is ready finds it: to the last digit, where dates
    /// of its host differ by rounding alone.
    #[inline]
    fn settled(&self, of: Searched<'_>, slot: Slot, fit: &impl Fit) -> Slot {
        match (&self.refusals, &self.pools) {
            (Some(refusals), Some(pools))
                if of.alone.is_none() || refusals.is_noisy(pools, HostId::new(of.host)) =>
            {
                self.searched_through(of, slot, fit)
            }
            _ => slot,
        }
    }

    #[inline(never)]
    fn searched_through(&self, of: Searched<'_>, slot: Slot, fit: &impl Fit) -> Slot {
        let Some(pools) = &self.pools else { return slot };
        let host = HostId::new(of.host);
        let mut takes = Takes::default();
        pools.takes(self.problem, of.task, (host, 1, 1), &mut takes);
        let mut from = pools.earliest(&takes, self.ready[of.host], of.seconds, |_| true);
        while from.is_finite() {
            let mut found: Option<(ProcId, f64)> = None;
            for proc in self.problem.procs_of(host).map(ProcId) {
                let line = &self.timelines[proc.index()];
                let start = fit.earliest(line, proc, (from, of.seconds), |_| true);
                if found.is_none_or(|(_, least)| approx::lt(start, least)) {
                    found = Some((proc, start));
                }
                if start <= from {
                    break;
                }
            }
            let Some((proc, start)) = found else { break };
            let room = if start <= from {
                start
            } else {
                pools.earliest(&takes, start, of.seconds, |_| true)
            };
            if room <= start {
                return Slot { proc, start, finish: start + of.seconds };
            }
            from = room;
        }
        slot
    }

    /// Slots of a ready task on every host before any was searched, where they may be kept: a task of one core, whose
    /// inputs leave no lane to others.
    pub(super) fn host_slots(&mut self, task: TaskId) -> Option<Box<[HostSlot]>> {
        if self.problem.workflow().width(task).0 != 1 || self.has_staging() {
            return None;
        }
        self.data_ready(task);
        let mut row = std::mem::take(&mut self.row);
        let times = self.problem.exec_row(task, &mut row);
        let one = |(&ready, idle): (&f64, &Idle)| {
            let seconds = times[idle.class as usize];
            let start = idle.not_before(ready, seconds);
            let slot = Slot { proc: idle.proc, start, finish: start + seconds };
            HostSlot { slot, ready, seconds, stamp: None }
        };
        let slots = self.ready.iter().zip(&self.idle).map(one).collect();
        self.row = row;
        Some(slots)
    }

    /// The best slot of a ready task, of which slots were found before: one that has an old stamp is no later than
    /// the slot there now, and is only searched again where it would be the best.
    pub(super) fn best_of_hosts<S: Score>(
        &mut self,
        task: TaskId,
        slots: &mut [HostSlot],
        score: impl Fn(&Slot) -> S,
        stamp: impl Fn(&Self, HostId) -> u32,
    ) -> Option<Slot> {
        let mut takes = Takes::default();
        loop {
            let mut least: Option<(usize, S)> = None;
            for (host, known) in slots.iter().enumerate().filter(|(_, known)| known.slot.possible())
            {
                let value = score(&known.slot);
                if least.is_none_or(|(_, least)| value.better_than(least)) {
                    least = Some((host, value));
                }
            }
            let host = least?.0;
            let (known, now) = (&mut slots[host], stamp(self, HostId::new(host)));
            self.ready[host] = known.ready;
            let alone = self.memory_alone(task);
            let of = Searched { task, host, seconds: known.seconds, alone };
            if known.stamp == Some(now) {
                return Some(self.settled(of, known.slot, &Insertion));
            }
            let mut best = Best { slot: None, least: S::WORST, score: &score };
            let mut start = known.slot.start;
            if let Some(alone) = &alone {
                start = alone.not_before(HostId::new(host), known.seconds, start);
            }
            self.search_host(of, start, &mut best, &Insertion, &mut takes);
            let never = Slot { finish: f64::INFINITY, ..known.slot };
            (known.slot, known.stamp) = (best.slot.unwrap_or(never), Some(now));
        }
    }

    fn search_wide<S: Score, F: Fn(&Slot) -> S>(
        &self,
        task: TaskId,
        times: &[f64],
        mut best: Best<S, F>,
        fit: &impl Fit,
    ) -> Option<Slot> {
        let problem = self.problem;
        let earliest = |line: &Timeline, proc, ready, seconds| {
            fit.earliest(line, proc, (ready, seconds), |_| true)
        };
        for host in self.anchors(task) {
            let proc = ProcId(problem.procs_of(host).start);
            let (ready, seconds) = (self.ready_at(task, host), times[problem.class_of(proc)]);
            if best.hopes(proc, ready, seconds) {
                let start = self.earliest_wide(task, host, (ready, seconds), &earliest);
                best.take(proc, start, seconds);
            }
        }
        best.slot
    }
}

/// A task of one core, and a host that is searched for it.
#[derive(Clone, Copy)]
struct Searched<'a> {
    task: TaskId,
    host: usize,
    seconds: f64,
    /// Its demand where it is memory alone.
    alone: Option<Alone<'a>>,
}

/// The slot of a ready task on one host.
#[derive(Clone, Copy)]
pub(super) struct HostSlot {
    slot: Slot,
    /// When its data is there, and how long it runs.
    ready: f64,
    seconds: f64,
    /// Stamp of the host when the slot was found; none before any was.
    stamp: Option<u32>,
}

/// When the processors of a host can take something.
#[derive(Clone, Copy)]
pub(super) struct Idle {
    /// In their gaps, if one is large enough; else from when the first is idle for good.
    room: Room,
    tail: f64,
    /// The first of them, and their cost class.
    proc: ProcId,
    class: u32,
}

impl Idle {
    /// Not known yet; never where a host has no processors.
    pub(super) fn of(problem: &Problem<'_>, host: HostId) -> Idle {
        let procs = problem.procs_of(host);
        let proc = ProcId(procs.start);
        let class = if procs.is_empty() { 0 } else { problem.class_of(proc) as u32 };
        Idle { room: Room::NONE, tail: f64::INFINITY, proc, class }
    }

    /// As the processors are now.
    pub(super) fn renew(&mut self, lines: &[Timeline]) {
        let tails = lines.iter().map(Timeline::tail);
        self.tail = tails.fold(f64::INFINITY, f64::min);
        self.room = lines.iter().map(Timeline::room).fold(Room::NONE, Room::and);
        self.room.from = self.room.from.min(self.tail);
    }

    /// No processor can start a task before that is `ready` then and takes `seconds`.
    #[inline]
    fn not_before(&self, ready: f64, seconds: f64) -> f64 {
        if self.room.may_hold(ready, seconds) {
            later(ready, self.room.from)
        } else {
            later(ready, self.tail)
        }
    }
}

/// The best slot so far.
struct Best<S, F> {
    slot: Option<Slot>,
    least: S,
    score: F,
}

impl<S: Score, F: Fn(&Slot) -> S> Best<S, F> {
    /// Whether a slot there would be better.
    #[inline]
    fn hopes(&self, proc: ProcId, start: f64, seconds: f64) -> bool {
        let slot = Slot { proc, start, finish: start + seconds };
        slot.possible() && (self.score)(&slot).better_than(self.least)
    }

    /// Takes a slot if it is better.
    #[inline]
    fn take(&mut self, proc: ProcId, start: f64, seconds: f64) -> bool {
        let slot = Slot { proc, start, finish: start + seconds };
        if !slot.possible() {
            return false;
        }
        let value = (self.score)(&slot);
        let better = value.better_than(self.least);
        if better {
            (self.slot, self.least) = (Some(slot), value);
        }
        better
    }
}

/// When a task can start on a processor.
pub(super) trait Fit {
    /// The earliest start of a task that is `(ready, seconds)`, or some later date where no start
    /// is `worth` it.
    fn earliest(
        &self,
        line: &Timeline,
        proc: ProcId,
        task: (f64, f64),
        worth: impl Fn(f64) -> bool,
    ) -> f64;

    /// Whether it knows no more than the timeline: where it is refused, every other is.
    fn is_plain(&self) -> bool {
        false
    }
}

/// In the gaps of its timeline, or after its tasks.
struct Insertion;

impl Fit for Insertion {
    #[inline]
    fn earliest(
        &self,
        line: &Timeline,
        _: ProcId,
        (ready, seconds): (f64, f64),
        worth: impl Fn(f64) -> bool,
    ) -> f64 {
        line.earliest_worth(ready, seconds, worth)
    }

    fn is_plain(&self) -> bool {
        true
    }
}

/// Fit with a least start date.
struct NotBefore(f64);

impl Fit for NotBefore {
    #[inline]
    fn earliest(
        &self,
        line: &Timeline,
        proc: ProcId,
        (ready, seconds): (f64, f64),
        worth: impl Fn(f64) -> bool,
    ) -> f64 {
        Insertion.earliest(line, proc, (ready.max(self.0), seconds), worth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
    use slackline_model::{Task, WorkflowBuilder};

    proptest! {
        /// Tenths of seconds, so that dates that are equal on paper differ in the last digits.
        #[test]
        fn what_was_refused_before_changes_no_slot(
            tasks in prop::collection::vec((1u32..90, 0u32..9, 0usize..9, 0u32..30), 1..250),
            hosts in prop::collection::vec((1u32..4, 8u32..24, 1u32..4), 1..5),
            gaps in any::<bool>(),
            clean in any::<bool>(),
        ) {
            let mut b = WorkflowBuilder::new("random");
            for (index, &(tenths, memory, back, bytes)) in tasks.iter().enumerate() {
                let odd = if clean { f64::from(index as u32) * 1.37e-4 } else { 0.0 };
                let memory = f64::from(memory + u32::from(clean));
                let task = Task::new(format!("t{index}"), f64::from(tenths) / 10.0 + odd);
                b.add_task(Task { memory, ..task }).unwrap();
                if back > 0 && back <= index {
                    let parent = TaskId::new(index - back);
                    b.add_edge(parent, TaskId::new(index), f64::from(bytes) / 10.0 + odd).unwrap();
                }
            }
            let workflow = b.build().unwrap();
            let mut b = PlatformBuilder::new("few hosts");
            b.set_matrix(Matrix::uniform(Some(1.0), 0.0));
            let root = b.root().unwrap();
            for (index, &(cores, memory, speed)) in hosts.iter().enumerate() {
                let spec = HostSpec::new(format!("h{index}"), f64::from(speed));
                let memory = Some(f64::from(memory + 1));
                b.add_host(root, HostSpec { cores, memory, ..spec }).unwrap();
            }
            let platform = b.build().unwrap();
            let problem = Problem::new(&workflow, &platform).unwrap();
            let new = if gaps { Partial::new } else { Partial::appending };
            let (mut learning, mut plain) = (new(&problem), new(&problem));
            plain.refusals = None;
            for task in workflow.tasks() {
                let wanted = plain.earliest_finish(task).unwrap();
                prop_assert_eq!(learning.earliest_finish(task).unwrap(), wanted);
                learning.place(task, wanted);
                plain.place(task, wanted);
            }
        }
    }
}
