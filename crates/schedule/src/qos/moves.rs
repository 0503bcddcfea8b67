//! Changing a plan by moving tasks between kinds of machines, as LOSS and GAIN do.

use super::Course;
use crate::list::Partial;
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use slackline_model::approx::sort_key;
use slackline_model::schedule::{Detail, Schedule, affordable};
use slackline_model::{Problem, TaskId, approx};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Time by which a move is weighed, and the moment of weighing.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Version {
    /// The task's own time, once.
    Task,
    /// The makespan, once.
    Makespan,
    /// The task's own time, recomputed after every move.
    Renewed,
}

/// Registry entry of a version of LOSS or GAIN.
pub(super) const fn entry(
    name: &'static str,
    about: &'static str,
    version: Version,
    plan: fn(&Problem<'_>, &Request) -> Result<Schedule, PlanError>,
) -> Algorithm {
    Algorithm {
        name,
        family: Family::Qos,
        basis: Basis::Published,
        about,
        source: "Sakellariou, Zhao, Tsiakkouri, Dikaiakos, 2007",
        complexity: match version {
            Version::Makespan => "O(v k e p)",
            Version::Task | Version::Renewed => "O(v k log(v k) + e p)",
        },
        parameters: &[],
        needs: &[Need::Budget],
        plan,
    }
}

/// Direction of the moves.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Aim {
    /// Losing as little time as possible per money.
    Save,
    /// Gaining as much time as possible per money.
    Spend,
}

impl Aim {
    fn wants(self, more: f64) -> bool {
        match self {
            Aim::Save => more < 0.0,
            Aim::Spend => more > 0.0,
        }
    }

    /// The weight of a move that gains seconds for more money.
    fn weigh(self, gained: f64, more: f64) -> Option<f64> {
        match self {
            Aim::Save => self.wants(more).then(|| gained / more),
            // The sign is turned: the largest gain comes first.
            Aim::Spend => (self.wants(more) && gained > 0.0).then(|| -gained / more),
        }
    }
}

/// A task could go to another kind of machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) task: TaskId,
    pub(super) to: usize,
    /// Small is good.
    pub(super) weight: f64,
    /// Kind of the task when the weight was computed.
    from: usize,
}

impl Move {
    fn key(&self) -> (f64, TaskId, usize) {
        (sort_key(self.weight + 0.0), self.task, self.to)
    }
}

impl Ord for Move {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.key(), other.key());
        a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2))
    }
}

impl PartialOrd for Move {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Move {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Move {}

/// The kind of machine of every task, and what that costs.
pub(super) struct Moves<'c, 'a, 'p> {
    course: &'c Course<'a, 'p>,
    aim: Aim,
    first: Schedule,
    kind: Vec<usize>,
    pub(super) total: f64,
    /// Moves made, with the cost after each.
    pub(super) made: Vec<(Move, f64)>,
}

impl<'c, 'a, 'p> Moves<'c, 'a, 'p> {
    pub(super) fn new(course: &'c Course<'a, 'p>, aim: Aim, first: Schedule) -> Self {
        let mut kind = vec![0; course.problem.tasks()];
        for &task in &course.order {
            if let Some(placement) = first.placement(task) {
                kind[task.index()] = course.prices.kind_of(placement.proc());
            }
        }
        let total = course.price_of(&first);
        Moves { course, aim, first, kind, total, made: Vec::new() }
    }

    /// Seconds and cost of a task where it is now.
    pub(super) fn now(&self, task: TaskId) -> (f64, f64) {
        self.at(task, self.kind[task.index()])
    }

    /// Seconds and cost of a task on a kind of machine.
    pub(super) fn at(&self, task: TaskId, kind: usize) -> (f64, f64) {
        (self.course.prices.seconds(task, kind), self.course.prices.cost(task, kind))
    }

    /// The moves to be had, weighed by the version's time.
    pub(super) fn candidates(
        &mut self,
        version: Version,
    ) -> Result<BinaryHeap<Reverse<Move>>, PlanError> {
        let mut heap = BinaryHeap::new();
        let before = match version {
            Version::Makespan => self.rebuilt()?.makespan(),
            _ => 0.0,
        };
        for at in 0..self.course.order.len() {
            let task = self.course.order[at];
            if version != Version::Makespan {
                self.renew(task, &mut heap);
                continue;
            }
            let from = self.kind[task.index()];
            for (to, _, more) in self.elsewhere(task) {
                self.kind[task.index()] = to;
                let after = self.rebuilt();
                self.kind[task.index()] = from;
                if let Some(weight) = self.aim.weigh(difference(before, after?.makespan()), more) {
                    heap.push(Reverse(Move { task, to, weight, from }));
                }
            }
        }
        Ok(heap)
    }

    /// Adds the moves of one task from where it is now, weighed by its own time.
    pub(super) fn renew(&self, task: TaskId, heap: &mut BinaryHeap<Reverse<Move>>) {
        let from = self.kind[task.index()];
        for (to, gained, more) in self.elsewhere(task) {
            if let Some(weight) = self.aim.weigh(gained, more) {
                heap.push(Reverse(Move { task, to, weight, from }));
            }
        }
    }

    /// Moves of a task in the wanted direction: kind, seconds gained, additional money.
    pub(super) fn elsewhere(&self, task: TaskId) -> Vec<(usize, f64, f64)> {
        let (now, paid) = self.now(task);
        let there = |to| {
            let (seconds, cost) = self.at(task, to);
            (to, difference(now, seconds), difference(cost, paid))
        };
        let all = (0..self.course.prices.kinds()).map(there);
        all.filter(|&(_, _, more)| more.is_finite() && self.aim.wants(more)).collect()
    }

    /// Present kind of machine of a task.
    pub(super) fn kind_of(&self, task: TaskId) -> usize {
        self.kind[task.index()]
    }

    /// From now on money goes that way.
    pub(super) fn aim(&mut self, aim: Aim) {
        self.aim = aim;
    }

    /// A move from where a task is now.
    pub(super) fn step(&self, task: TaskId, to: usize, weight: f64) -> Move {
        Move { task, to, weight, from: self.kind[task.index()] }
    }

    /// Whether a move was weighed from where its task is now.
    pub(super) fn is_current(&self, step: &Move) -> bool {
        self.kind[step.task.index()] == step.from
    }

    /// Money more that a move takes.
    pub(super) fn surcharge(&self, step: &Move) -> f64 {
        self.at(step.task, step.to).1 - self.now(step.task).1
    }

    pub(super) fn make(&mut self, step: Move) {
        self.total += self.surcharge(&step);
        self.kind[step.task.index()] = step.to;
        self.made.push((step, self.total));
    }

    /// Takes back moves, or all but the first ones, until the bill of the plan is within the budget: moves are
    /// chosen at exact seconds, which machines that are paid as a whole do not cost. Saving moves are made
    /// until it is, spending ones as long as it is; by halving, as if bills grew with the moves.
    pub(super) fn settle(&mut self) -> Result<(), PlanError> {
        if self.course.prices.is_exact() {
            return Ok(());
        }
        let made = std::mem::take(&mut self.made);
        let start: Vec<usize> = made.iter().rev().fold(self.kind.clone(), |mut kind, (step, _)| {
            kind[step.task.index()] = step.from;
            kind
        });
        let (mut low, mut high) = (0, made.len());
        while low < high {
            // Saving: the fewest moves that fit. Spending: the most.
            let middle = match self.aim {
                Aim::Save => (low + high) / 2,
                Aim::Spend => (low + high).div_ceil(2),
            };
            self.redo(&start, &made[..middle]);
            let fits = affordable(self.course.bill_of(&self.rebuilt()?), self.course.money);
            match (self.aim, fits) {
                (Aim::Save, true) => high = middle,
                (Aim::Save, false) => low = middle + 1,
                (Aim::Spend, true) => low = middle,
                (Aim::Spend, false) => high = middle - 1,
            }
        }
        self.redo(&start, &made[..low]);
        self.total = match low {
            0 => self.course.bill_of(&self.first),
            _ => self.course.bill_of(&self.rebuilt()?),
        };
        self.made = made;
        self.made.truncate(low);
        Ok(())
    }

    /// The kinds of machines after some of the moves.
    fn redo(&mut self, start: &[usize], made: &[(Move, f64)]) {
        self.kind.copy_from_slice(start);
        for (step, _) in made {
            self.kind[step.task.index()] = step.to;
        }
    }

    /// The plan after the moves; the one given at first where there was none.
    pub(super) fn finish(self) -> Result<Schedule, PlanError> {
        let mut schedule = if self.made.is_empty() { self.first.clone() } else { self.rebuilt()? };
        schedule.details.push(("moves", Detail::Count(self.made.len() as u64)));
        Ok(schedule)
    }

    /// Every task, by falling upward rank, where it finishes first on its kind of machine.
    fn rebuilt(&self) -> Result<Schedule, PlanError> {
        let mut partial = Partial::new(self.course.problem);
        for &task in &self.course.order {
            let kind = self.kind[task.index()];
            let slot = partial.best_slot(task, |slot| {
                match self.course.prices.kind_of(slot.proc) == kind {
                    true => slot.finish,
                    false => f64::INFINITY,
                }
            })?;
            partial.place(task, slot);
        }
        Ok(partial.into_schedule())
    }
}

/// `a - b`, where values that are equal up to rounding differ by nothing.
fn difference(a: f64, b: f64) -> f64 {
    if approx::eq(a, b) { 0.0 } else { a - b }
}
