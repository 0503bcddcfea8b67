//! A walk over schedules: one current schedule, moves that change the order or the bank of a
//! task, and their evaluation.
//!
//! A schedule is a list of tasks in the order of their starts with a bank each (or none: then the bank on which
//! finish time plus tail is least). Decoding takes the list in order and starts each task as early as its data
//! and a core of its bank allow. Every schedule without needless idle time is the decoding of some list. A
//! change at a position leaves the tasks before it unchanged; after it only tasks are placed again whose
//! parents or bank have changed; and a decoding that cannot stay below the limit is stopped at once: O(v + e)
//! for the worst move, far less for most.

use super::before::Before;
use crate::flat_problem::{FlatProblem, take_cores};
use rand::RngExt;
use slackline_model::Payload;
use slackline_model::rng::Stream;

/// No task, or no bank chosen.
pub(crate) const NONE: u32 = u32::MAX;

/// Positions between two remembered states of the cores.
const STRIDE: usize = 16;

/// Core and dates of a task in the current decoding.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Placed {
    start: f64,
    finish: f64,
    core: u32,
    bank: u32,
    /// The task that keeps it from starting earlier.
    cause: u32,
    /// When everything can end at the earliest after it.
    due: f64,
}

const UNPLACED: Placed =
    Placed { start: 0.0, finish: 0.0, core: 0, bank: 0, cause: NONE, due: 0.0 };

/// A list with banks: what decodes to a schedule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    /// Tasks in order.
    pub(crate) order: Vec<u32>,
    /// Bank of each task, or [`NONE`].
    pub(crate) choice: Vec<u32>,
}

/// One current schedule, and the moves that change it.
pub(crate) struct Walk<'c> {
    compact: &'c FlatProblem,
    /// Least time from the end of a task at a bank to the end of the schedule (`task * banks + bank`).
    tail: &'c [f64],
    plan: Draft,
    position: Vec<u32>,
    placed: Vec<Placed>,
    makespan: f64,
    critical: Vec<u32>,
    critical_known: bool,
    marks: Vec<(f64, u32)>,
    cores: Vec<(f64, u32)>,
    log: Vec<(u32, Placed)>,
    ready: Vec<(f64, u32)>,
    before: Before,
}

/// A change of the list: a task moved from one position to another, and its bank.
#[derive(Clone, Copy, Debug)]
struct Move {
    from: usize,
    to: usize,
    choice: u32,
    before: u32,
}

impl<'c> Walk<'c> {
    /// Starts at a plan.
    pub(crate) fn new(compact: &'c FlatProblem, tail: &'c [f64], plan: Draft) -> Walk<'c> {
        let n = compact.len();
        let cores = compact.procs.len();
        let mut walk = Walk {
            compact,
            tail,
            position: vec![0; n],
            placed: vec![UNPLACED; n],
            makespan: f64::INFINITY,
            critical: Vec::new(),
            critical_known: false,
            marks: vec![(0.0, NONE); (n / STRIDE + 1) * cores],
            cores: vec![(0.0, NONE); cores],
            log: Vec::with_capacity(n),
            ready: vec![(0.0, NONE); compact.banks()],
            before: Before::new(compact),
            plan,
        };
        walk.restart();
        walk
    }

    /// Continues from another plan.
    pub(crate) fn set(&mut self, plan: &Draft) {
        self.plan.clone_from(plan);
        self.restart();
    }

    fn restart(&mut self) {
        for (position, &task) in self.plan.order.iter().enumerate() {
            self.position[task as usize] = position as u32;
        }
        for (core, &avail) in self.compact.avail.iter().enumerate() {
            self.marks[core] = (avail, NONE);
        }
        self.log.clear();
        let all = self.compact.len();
        self.makespan = self.decode((0, all), f64::INFINITY).unwrap_or(f64::INFINITY);
        self.mark(0);
    }

    /// End of the current schedule.
    pub(crate) fn makespan(&self) -> f64 {
        self.makespan.max(self.compact.past)
    }

    /// The list as it is.
    #[cfg(test)]
    pub(super) fn plan(&self) -> &Draft {
        &self.plan
    }

    /// The current schedule with every bank decided, in the order of starts.
    pub(crate) fn decided(&self) -> Draft {
        let mut order = self.plan.order.clone();
        let key = |t: u32| self.placed[t as usize].start;
        order.sort_by(|&a, &b| {
            let by_position = || self.position[a as usize].cmp(&self.position[b as usize]);
            key(a).total_cmp(&key(b)).then_with(by_position)
        });
        Draft { order, choice: self.placed.iter().map(|p| p.bank).collect() }
    }

    /// Sorts the list by the starts it decodes to, which opens the windows of moves.
    pub(crate) fn tidy(&mut self) {
        let sorted = self.decided().order;
        self.plan.order = sorted;
        self.restart();
    }

    /// Tries one random move; keeps it if the new end is not after `limit`.
    pub(crate) fn step(&mut self, random: &mut Stream, limit: f64) -> bool {
        let Some(change) = self.propose(random) else { return false };
        let from = change.from.min(change.to);
        let end = if self.makespan.is_finite() {
            change.from.max(change.to) + 1
        } else {
            // Not all of it was decoded.
            self.compact.len()
        };
        let mut cores = std::mem::take(&mut self.before.cores);
        self.cores_at(end, &mut cores);
        self.before.cores = cores;
        self.apply(change);
        match self.decode((from, end), limit) {
            Some(makespan) => {
                self.makespan = makespan;
                self.mark(from);
                self.critical_known = false;
                true
            }
            None => {
                while let Some((task, placed)) = self.log.pop() {
                    self.placed[task as usize] = placed;
                }
                let back =
                    Move { from: change.to, to: change.from, choice: change.before, ..change };
                self.apply(back);
                false
            }
        }
    }

    fn apply(&mut self, change: Move) {
        let task = self.plan.order[change.from];
        self.plan.choice[task as usize] = change.choice;
        let (from, to) = (change.from, change.to);
        if from < to {
            self.plan.order[from..=to].rotate_left(1);
        } else {
            self.plan.order[to..=from].rotate_right(1);
        }
        for position in from.min(to)..=from.max(to) {
            self.position[self.plan.order[position] as usize] = position as u32;
        }
    }

    /// A random move of a task that matters.
    fn propose(&mut self, random: &mut Stream) -> Option<Move> {
        let n = self.compact.len();
        let banks = self.compact.banks();
        let task = if random.random_range(0..4) < 3 {
            self.find_critical();
            self.critical[random.random_range(0..self.critical.len())] as usize
        } else {
            random.random_range(0..n)
        };
        let from = self.position[task] as usize;
        let before = self.plan.choice[task];
        let (low, high) = self.window(task);
        let stay = Move { from, to: from, choice: before, before };
        let kind = if banks == 1 { random.random_range(0..5) } else { random.random_range(0..10) };
        let change = match kind {
            // In front of the task that blocks its core, or of another one nearby.
            0..2 => {
                let cause = self.placed[task].cause;
                let to = if cause == NONE { low } else { self.position[cause as usize] as usize };
                Move { to: to.clamp(low, high), ..stay }
            }
            2 => Move { to: random.random_range(low..=high), ..stay },
            3..5 => {
                let reach = 8;
                let low = low.max(from.saturating_sub(reach));
                let high = high.min(from + reach);
                Move { to: random.random_range(low..=high), ..stay }
            }
            5..7 => Move { choice: self.any_bank(task, random), ..stay },
            7 => {
                let to = random.random_range(low..=high);
                Move { to, choice: self.any_bank(task, random), ..stay }
            }
            8 => Move { choice: NONE, ..stay },
            // To where a relative is.
            _ => {
                let (parents, children) =
                    (self.compact.parents.of(task), self.compact.children.of(task));
                let count = parents.len() + children.len();
                if count == 0 {
                    return None;
                }
                let pick = random.random_range(0..count);
                let relative = match parents.get(pick) {
                    Some(parent) => parent.0,
                    None => children[pick - parents.len()].0,
                };
                let bank = self.placed[relative as usize].bank;
                if !self.compact.seconds(task, bank as usize).is_finite() {
                    return None;
                }
                Move { choice: bank, ..stay }
            }
        };
        let same_bank =
            change.choice == before || (before == NONE && change.choice == self.placed[task].bank);
        (change.to != from || !same_bank).then_some(change)
    }

    fn any_bank(&self, task: usize, random: &mut Stream) -> u32 {
        let banks = self.compact.banks();
        for _ in 0..4 {
            let bank = random.random_range(0..banks);
            if self.compact.seconds(task, bank).is_finite()
                && bank != self.placed[task].bank as usize
            {
                return bank as u32;
            }
        }
        self.plan.choice[task]
    }

    /// The positions a task may take between its parents and its children.
    fn window(&self, task: usize) -> (usize, usize) {
        let at = |&(t, _): &(u32, Payload)| self.position[t as usize] as usize;
        let low = self.compact.parents.of(task).iter().map(at).max().map_or(0, |p| p + 1);
        let last = self.compact.len() - 1;
        let high = self.compact.children.of(task).iter().map(at).min().map_or(last, |p| p - 1);
        (low, high)
    }

    /// One chain of tasks that wait for each other and fix the end.
    fn find_critical(&mut self) {
        if self.critical_known {
            return;
        }
        self.critical.clear();
        let finish = |t: &u32| self.placed[*t as usize].finish;
        let tasks = 0..self.compact.len() as u32;
        let mut task = tasks.reduce(|a, b| if finish(&b) > finish(&a) { b } else { a });
        while let Some(t) = task {
            self.critical.push(t);
            let cause = self.placed[t as usize].cause;
            task = (cause != NONE).then_some(cause);
        }
        self.critical_known = true;
    }

    /// Remembers the cores' state at every mark from a position on.
    fn mark(&mut self, from: usize) {
        let cores = self.compact.procs.len();
        let first = from / STRIDE;
        let last = self.compact.len() / STRIDE;
        self.cores.copy_from_slice(&self.marks[first * cores..(first + 1) * cores]);
        for mark in first..last {
            let begin = mark * STRIDE;
            for position in begin..begin + STRIDE {
                let task = self.plan.order[position];
                occupy(self.compact, &mut self.cores, task, &self.placed[task as usize]);
            }
            self.marks[(mark + 1) * cores..(mark + 2) * cores].copy_from_slice(&self.cores);
        }
    }

    /// The state of the cores before the task at a position, in the current schedule.
    fn cores_at(&self, position: usize, cores: &mut [(f64, u32)]) {
        let mark = position / STRIDE;
        cores.copy_from_slice(&self.marks[mark * cores.len()..(mark + 1) * cores.len()]);
        for &task in &self.plan.order[mark * STRIDE..position] {
            occupy(self.compact, cores, task, &self.placed[task as usize]);
        }
    }

    /// Decodes the list from a position on; `None` as soon as the end cannot stay within the limit.
    /// From `end` on the list is the one that was decoded last, and `before` has the cores there.
    fn decode(&mut self, (from, end): (usize, usize), limit: f64) -> Option<f64> {
        let compact = self.compact;
        let mut cores = std::mem::take(&mut self.cores);
        self.cores_at(from, &mut cores);
        self.cores = cores;
        self.log.clear();
        self.before.forget();
        let rest_stands = end < compact.len();
        for position in from..end {
            let task = self.plan.order[position];
            let placed = self.place(task);
            self.renew(task, placed, rest_stands);
            // Also refuses what is infinite.
            if !(placed.due <= limit && placed.finish < f64::INFINITY) {
                return None;
            }
            occupy(compact, &mut self.cores, task, &placed);
        }
        if rest_stands {
            for bank in 0..compact.banks() {
                self.before.compare(compact, bank, &self.cores);
            }
        }
        for position in end..compact.len() {
            let task = self.plan.order[position];
            let old = self.placed[task as usize];
            let elsewhere = match self.plan.choice[task as usize] {
                NONE => self.before.any_differs(),
                bank => self.before.differs(bank),
            };
            if !elsewhere && !self.before.is_touched(task) {
                if old.due > limit {
                    return None;
                }
                occupy(compact, &mut self.cores, task, &old);
                occupy(compact, &mut self.before.cores, task, &old);
                continue;
            }
            let placed = self.place(task);
            if placed != old {
                self.renew(task, placed, true);
            }
            if !(placed.due <= limit && placed.finish < f64::INFINITY) {
                return None;
            }
            occupy(compact, &mut self.cores, task, &placed);
            occupy(compact, &mut self.before.cores, task, &old);
            self.before.compare(compact, placed.bank as usize, &self.cores);
            if old.bank != placed.bank {
                self.before.compare(compact, old.bank as usize, &self.cores);
            }
        }
        let end = self.placed.iter().map(|p| p.finish).fold(0.0, f64::max);
        (end <= limit).then_some(end)
    }

    /// Places a task after all tasks before it in the list, and returns its core and dates.
    #[inline]
    fn place(&mut self, task: u32) -> Placed {
        let t = task as usize;
        let placed = match self.plan.choice[t] {
            NONE => self.place_anywhere(t),
            bank => {
                let ready = self.arrival(t, bank as usize);
                self.place_at(t, bank as usize, ready)
            }
        };
        let tail = self.tail[t * self.compact.banks() + placed.bank as usize];
        Placed { due: placed.finish + tail, ..placed }
    }

    /// Changes the place of a task and records the old one for undoing. With `tell`, its children are marked
    /// for re-placement if its end or bank has changed.
    #[inline]
    fn renew(&mut self, task: u32, placed: Placed, tell: bool) {
        let old = std::mem::replace(&mut self.placed[task as usize], placed);
        self.log.push((task, old));
        if tell && (old.finish, old.bank) != (placed.finish, placed.bank) {
            for &(child, _) in self.compact.children.of(task as usize) {
                self.before.touch(child);
            }
        }
    }

    /// When the data of a task is at a bank, and which parent comes last.
    #[inline]
    fn arrival(&self, task: usize, bank: usize) -> (f64, u32) {
        let mut ready = (self.compact.base(task, bank), NONE);
        for &(parent, data) in self.compact.parents.of(task) {
            let source = &self.placed[parent as usize];
            let arrival = source.finish + self.compact.transfer(data, source.bank as usize, bank);
            if arrival > ready.0 {
                ready = (arrival, parent);
            }
        }
        ready
    }

    /// The earliest start at a bank once the data is there.
    #[inline]
    fn place_at(&self, task: usize, bank: usize, (ready, parent): (f64, u32)) -> Placed {
        let seconds = self.compact.seconds(task, bank);
        let range = self.compact.cores(bank);
        let width = self.compact.width[task] as usize;
        if width > 1 {
            return self.place_wide(task, bank, (ready, parent));
        }
        if seconds == 0.0 {
            // No length: beside whatever runs there.
            let start = ready.max(self.compact.open[bank]);
            let core = range.start as u32;
            let (bank, cause) = (bank as u32, parent);
            return Placed { start, finish: start, core, bank, cause, ..UNPLACED };
        }
        // Of the cores that are free the one that became free last, else the first to be free.
        let mut core = range.start;
        let mut best = self.cores[core].0;
        for other in range.start + 1..range.end {
            let at = self.cores[other].0;
            let better = if best <= ready { at <= ready && at > best } else { at < best };
            if better {
                (core, best) = (other, at);
            }
        }
        let (start, cause) =
            if best > ready { (best, self.cores[core].1) } else { (ready, parent) };
        let (core, bank) = (core as u32, bank as u32);
        Placed { start, finish: start + seconds, core, bank, cause, ..UNPLACED }
    }

    fn place_wide(&self, task: usize, bank: usize, (ready, parent): (f64, u32)) -> Placed {
        let range = self.compact.cores(bank);
        let width = self.compact.width[task] as usize;
        let seconds = self.compact.seconds(task, bank);
        let mut placed = Placed {
            start: ready,
            finish: ready + seconds,
            core: range.start as u32,
            bank: bank as u32,
            cause: parent,
            ..UNPLACED
        };
        if seconds.is_finite() {
            let avail: Vec<f64> = range.clone().map(|c| self.cores[c].0).collect();
            let (start, chosen) = take_cores(&avail, width, ready);
            if let Some(&last) = chosen.last()
                && start > ready
            {
                placed.cause = self.cores[range.start + last].1;
            }
            (placed.start, placed.finish) = (start, start + seconds);
        }
        placed
    }

    /// The bank on which finish time plus tail is least; of equal ones the first.
    fn place_anywhere(&mut self, task: usize) -> Placed {
        let banks = self.compact.banks();
        if self.compact.uniform() && banks > 1 {
            self.arrivals_uniform(task);
        } else {
            for bank in 0..banks {
                self.ready[bank] = self.arrival(task, bank);
            }
        }
        let mut best: Option<(f64, Placed)> = None;
        for bank in 0..banks {
            let placed = self.place_at(task, bank, self.ready[bank]);
            let value = placed.finish + self.tail[task * banks + bank];
            if best.is_none_or(|(least, _)| value < least) {
                best = Some((value, placed));
            }
        }
        best.map_or(UNPLACED, |(_, placed)| placed)
    }

    /// Computes arrivals on a network where they are equal at all banks except those of parents.
    fn arrivals_uniform(&mut self, task: usize) {
        let compact = self.compact;
        let parents = compact.parents.of(task);
        let mut common = (0.0f64, NONE);
        for &(parent, data) in parents {
            let arrival = self.placed[parent as usize].finish + compact.transfer(data, 0, 1);
            if arrival > common.0 {
                common = (arrival, parent);
            }
        }
        for bank in 0..compact.banks() {
            let base = compact.base(task, bank);
            self.ready[bank] = if base > common.0 { (base, NONE) } else { common };
        }
        for &(parent, _) in parents {
            let bank = self.placed[parent as usize].bank as usize;
            self.ready[bank] = self.arrival(task, bank);
        }
    }
}

/// Takes the cores of a placed task until its end.
#[inline]
fn occupy(compact: &FlatProblem, cores: &mut [(f64, u32)], task: u32, placed: &Placed) {
    let width = compact.width[task as usize] as usize;
    if width == 1 {
        if placed.finish > placed.start {
            cores[placed.core as usize] = (placed.finish, task);
        }
        return;
    }
    let range = compact.cores(placed.bank as usize);
    let avail: Vec<f64> = range.clone().map(|c| cores[c].0).collect();
    let (_, chosen) = take_cores(&avail, width, placed.start);
    for core in chosen {
        cores[range.start + core] = (placed.finish, task);
    }
}
