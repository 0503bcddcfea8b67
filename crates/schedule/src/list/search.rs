//! The best slot of a task over all processors.
//!
//! A few numbers per host give a lower bound of the start on any of its processors. The most promising host is
//! searched first. If its slot reaches the bound, it is the best; else the slot sets the mark for all others,
//! and those with a bound that is no better are passed over.

use super::partial::beside;
use super::timeline::{Room, later};
use super::{Partial, Score, Slot, Timeline};
use crate::pools::Takes;
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
        let slot = match self.problem.workflow().width(task).0 {
            1 => self.search_narrow(task, times, best, fit),
            _ => self.search_wide(task, times, best, fit),
        };
        self.row = row;
        slot
    }

    fn search_narrow<S: Score, F: Fn(&Slot) -> S>(
        &self,
        task: TaskId,
        times: &[f64],
        mut best: Best<S, F>,
        fit: &impl Fit,
    ) -> Option<Slot> {
        let hosts = || self.ready.iter().zip(&self.idle).enumerate();
        let mut first = None;
        for (host, (&ready, idle)) in hosts() {
            let seconds = times[idle.class as usize];
            if best.take(idle.proc, idle.not_before(ready, seconds), seconds) {
                first = Some(host);
            }
        }
        let mut takes = Takes::default();
        let (first, promised) = (first?, best.least);
        (best.slot, best.least) = (None, S::WORST);
        let seconds = times[self.idle[first].class as usize];
        self.search_host((task, first, seconds), &mut best, fit, &mut takes);
        let known = best.slot.take();
        if known.is_some() {
            if !promised.better_than(best.least) {
                return known;
            }
            best.least = best.least.just_above();
        }
        for (host, (&ready, idle)) in hosts() {
            let seconds = times[idle.class as usize];
            if host == first {
                known.map(|slot| best.take(slot.proc, slot.start, seconds));
            } else if best.hopes(idle.proc, idle.not_before(ready, seconds), seconds) {
                self.search_host((task, host, seconds), &mut best, fit, &mut takes);
            }
        }
        best.slot
    }

    /// Takes the best slot on the processors of a host, if it is better.
    fn search_host<S: Score, F: Fn(&Slot) -> S>(
        &self,
        (task, host, seconds): (TaskId, usize, f64),
        best: &mut Best<S, F>,
        fit: &impl Fit,
        takes: &mut Takes,
    ) {
        let ready = self.ready[host];
        if self.pools.is_some() {
            return self.search_host_beside(task, (host, seconds), best, fit, takes);
        }
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
        task: TaskId,
        (host, seconds): (usize, f64),
        best: &mut Best<S, F>,
        fit: &impl Fit,
        takes: &mut Takes,
    ) {
        let Some(pools) = &self.pools else { return };
        let host = HostId::new(host);
        pools.takes(self.problem, task, (host, 1, 1), takes);
        let first = ProcId(self.problem.procs_of(host).start);
        // All processors of a host are alike to the score.
        let worth = |start| best.hopes(first, start, seconds);
        let mut from = self.ready[host.index()];
        if worth(from) {
            from = pools.earliest(takes, from, seconds, worth);
        }
        while worth(from) {
            let mut slot: Option<(ProcId, f64)> = None;
            for proc in self.problem.procs_of(host).map(ProcId) {
                let line = &self.timelines[proc.index()];
                let earlier = |date| slot.is_none_or(|(_, least)| approx::lt(date, least));
                let worth = |start| worth(start) && earlier(start);
                if worth(line.not_before(from, seconds)) {
                    let start = fit.earliest(line, proc, (from, seconds), worth);
                    if worth(start) {
                        slot = Some((proc, start));
                    }
                    if start <= from {
                        break;
                    }
                }
            }
            let Some((proc, start)) = slot else { return };
            let room =
                if start <= from { start } else { pools.earliest(takes, start, seconds, worth) };
            if room <= start {
                best.take(proc, start, seconds);
                return;
            }
            from = room;
        }
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
            if known.stamp == Some(now) {
                return Some(known.slot);
            }
            self.ready[host] = known.ready;
            let mut best = Best { slot: None, least: S::WORST, score: &score };
            self.search_host((task, host, known.seconds), &mut best, &Insertion, &mut takes);
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
