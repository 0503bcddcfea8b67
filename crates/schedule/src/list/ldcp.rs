//! LDCP: Longest Dynamic Critical Path (Daoud, Kharma, JPDC 68(4), 2008).
//!
//! The paper keeps one copy of the graph per processor with that processor's times, fixes the
//! placed tasks in all copies, and at each step takes the first unplaced task of the longest
//! path over all copies, or the unplaced ancestor of it that is ready and of highest rank.
//!
//! Nothing an unplaced task's rank depends on ever changes, and with placed tasks fixed the
//! longest path to one is the date it ends. So the longest path through an unplaced task u
//! with a placed parent i is `end(i) + c(i, u) + rank_j(u)` in the copy of processor j, and the
//! copies need no updating: O(e p) for ranks and placement, plus the walks to ready ancestors.
//! Placement by least finish time with insertion. Ties: lower task, lower processor. In the copy
//! of a processor that cannot run a task, the task counts with its mean time.

use super::Partial;
use super::ranks::Weights;
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::approx::{self, sort_key};
use slackline_model::{Problem, Schedule, TaskId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Registry entry.
pub const LDCP: Algorithm = Algorithm {
    name: "ldcp",
    family: Family::List,
    basis: Basis::Recalled,
    about: "next task of the longest dynamic critical path, least finish time, insertion",
    source: "Daoud, Kharma, JPDC 68(4), 2008",
    complexity: "O(e p + v^2)",
    parameters: &[],
    needs: &[],
    plan: |problem, _| plan(problem),
};

fn plan(problem: &Problem<'_>) -> Result<Schedule, PlanError> {
    let workflow = problem.workflow();
    let ranks = CopyRanks::new(problem);
    let mut paths = Paths::new(problem, &ranks);
    let mut partial = Partial::new(problem);
    for task in workflow.tasks().filter(|&t| problem.state().fixed(t).is_some()) {
        paths.placed(task, partial.finish_of(task));
    }
    while let Some(task) = paths.next() {
        let slot = partial.earliest_finish(task)?;
        partial.place(task, slot);
        paths.placed(task, slot.finish);
    }
    Ok(partial.into_schedule())
}

/// Upward ranks in the copy of every cost class.
struct CopyRanks {
    classes: usize,
    table: Vec<f64>,
    /// Per task the copy of its largest rank.
    key_copy: Vec<usize>,
}

impl CopyRanks {
    fn new(problem: &Problem<'_>) -> Self {
        let workflow = problem.workflow();
        let classes = problem.classes();
        let mut table = vec![0.0f64; workflow.len() * classes];
        let mut key_copy = vec![0; workflow.len()];
        let mut row = Vec::new();
        for &task in workflow.topological_order().iter().rev() {
            let at = task.index() * classes;
            let mean = problem.mean_exec(task);
            let times = problem.exec_row(task, &mut row);
            for (rank, &seconds) in table[at..at + classes].iter_mut().zip(times) {
                // Until here the entry holds what follows the task.
                *rank += if seconds.is_finite() { seconds } else { mean };
            }
            let of = |class: &usize| table[at + class];
            let larger = |a, b| if approx::gt(of(&b), of(&a)) { b } else { a };
            key_copy[task.index()] = (0..classes).reduce(larger).unwrap_or(0);
            for (parent, edge) in workflow.predecessors(task) {
                let transfer = Weights::MEAN.transfer(problem, edge);
                let above = parent.index() * classes;
                for class in 0..classes {
                    let through = transfer + table[at + class];
                    table[above + class] = table[above + class].max(through);
                }
            }
        }
        CopyRanks { classes, table, key_copy }
    }

    fn of(&self, task: TaskId, copy: usize) -> f64 {
        self.table[task.index() * self.classes + copy]
    }

    fn largest(&self, task: TaskId) -> f64 {
        self.of(task, self.key_copy[task.index()])
    }
}

/// The paths that lead from placed tasks into the unplaced part.
struct Paths<'a, 'p> {
    problem: &'a Problem<'p>,
    ranks: &'a CopyRanks,
    placed: Vec<bool>,
    /// Longest way to each unplaced task through its placed parents.
    reach: Vec<f64>,
    /// Length of the path through a task, as sortable bits.
    longest: BinaryHeap<(u64, Reverse<TaskId>)>,
}

impl<'a, 'p> Paths<'a, 'p> {
    fn new(problem: &'a Problem<'p>, ranks: &'a CopyRanks) -> Self {
        let reach = problem.workflow().tasks().map(|t| problem.release(t)).collect();
        let placed = vec![false; problem.tasks()];
        let mut paths = Paths { problem, ranks, placed, reach, longest: BinaryHeap::new() };
        for entry in problem.workflow().entries() {
            paths.push(entry);
        }
        paths
    }

    fn push(&mut self, task: TaskId) {
        // Lengths are not negative: the bits of their keys sort like they do.
        let length = self.reach[task.index()] + self.ranks.largest(task);
        self.longest.push((sort_key(length).to_bits(), Reverse(task)));
    }

    /// A task is placed and ends at a date.
    fn placed(&mut self, task: TaskId, finish: f64) {
        self.placed[task.index()] = true;
        for (child, edge) in self.problem.workflow().successors(task) {
            let reach = finish + Weights::MEAN.transfer(self.problem, edge);
            self.reach[child.index()] = self.reach[child.index()].max(reach);
            self.push(child);
        }
    }

    /// The task to place next: the key task, or its ready ancestor of highest rank.
    fn next(&mut self) -> Option<TaskId> {
        while let Some(&(_, Reverse(key))) = self.longest.peek() {
            if !self.placed[key.index()] {
                return Some(self.ready_ancestor(key));
            }
            self.longest.pop();
        }
        None
    }

    fn ready_ancestor(&self, key: TaskId) -> TaskId {
        let copy = self.ranks.key_copy[key.index()];
        let rank = |task: TaskId| self.ranks.of(task, copy);
        let mut task = key;
        loop {
            let parents = self.problem.workflow().predecessors(task).map(|(parent, _)| parent);
            let unplaced = parents.filter(|p| !self.placed[p.index()]);
            match unplaced.reduce(|a, b| if approx::gt(rank(b), rank(a)) { b } else { a }) {
                Some(parent) => task = parent,
                None => return task,
            }
        }
    }
}
