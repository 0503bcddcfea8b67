//! Path clustering of several workflows, four ways (Bittencourt, Madeira, 2010).
//!
//! A path begins with the ready task of highest upward rank and continues with the child of largest transfer
//! and rank among those that wait for nothing else. A path goes to the processor on which its last task ends
//! first; where none takes all of it, its tasks go each where it ends first. The workflows take turns in four
//! ways: one after the other behind what is placed (`sequential`), one after the other into gaps
//! (`gap-search`), a path of each in turn (`interleave`), or all as one workflow (`group`). O(e p). Ties: the
//! workflow named first, lower task, lower processor. Recalled: the source cuts paths where all children are
//! taken, here a path also ends at a task that waits for others.

use super::fairness::FINISH;
use super::{Batch, Pivot, parts};
use crate::list::trial::{Trial, place_path};
use crate::list::{Partial, Readiness};
use crate::registry::{Algorithm, PlanError};
use slackline_model::approx::{self, sort_key};
use slackline_model::{Problem, Schedule, TaskId};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Order in which workflows take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turns {
    Sequential,
    GapSearch,
    Interleave,
    Group,
}

/// Registry entry: one workflow behind the other.
pub const SEQUENTIAL: Algorithm = Algorithm {
    name: "sequential",
    about: "several workflows in paths, one after the other",
    source: "Bittencourt, Madeira, 2010",
    complexity: "O(e p)",
    parameters: &[],
    plan: |problem, _| plan(problem, "sequential", Turns::Sequential),
    ..FINISH
};

/// Registry entry: one workflow after the other, into gaps.
pub const GAP_SEARCH: Algorithm = Algorithm {
    name: "gap-search",
    about: "several workflows in paths, one after the other into the gaps that are left",
    plan: |problem, _| plan(problem, "gap-search", Turns::GapSearch),
    ..SEQUENTIAL
};

/// Registry entry: a path of each in turn.
pub const INTERLEAVE: Algorithm = Algorithm {
    name: "interleave",
    about: "several workflows in paths, a path of each in turn",
    plan: |problem, _| plan(problem, "interleave", Turns::Interleave),
    ..SEQUENTIAL
};

/// Registry entry: all as one.
pub const GROUP: Algorithm = Algorithm {
    name: "group",
    about: "several workflows in paths, joined into one workflow",
    plan: |problem, _| plan(problem, "group", Turns::Group),
    ..SEQUENTIAL
};

fn plan(problem: &Problem<'_>, name: &'static str, turns: Turns) -> Result<Schedule, PlanError> {
    let batch = Batch::new(problem, Pivot::Heft, name)?;
    let mut partial = match turns {
        Turns::Sequential => Partial::appending(problem),
        _ => Partial::new(problem),
    };
    let mut paths = Paths::new(&batch, turns == Turns::Group);
    let mut trial = Trial::new(problem.procs());
    let pools = paths.ready.len();
    match turns {
        Turns::Sequential | Turns::GapSearch | Turns::Group => {
            for pool in 0..pools {
                while let Some(path) = paths.next(pool) {
                    place_path(&mut partial, &mut trial, &path)?;
                }
            }
        }
        Turns::Interleave => loop {
            let mut any = false;
            for pool in 0..pools {
                if let Some(path) = paths.next(pool) {
                    place_path(&mut partial, &mut trial, &path)?;
                    any = true;
                }
            }
            if !any {
                break;
            }
        },
    }
    Ok(batch.told(partial, Vec::new()))
}

/// Cuts workflows into paths.
struct Paths<'b, 'a, 'p> {
    batch: &'b Batch<'a, 'p>,
    readiness: Readiness<'p>,
    /// Per task: the pool it belongs to.
    pool_of: Vec<usize>,
    /// Per pool: tasks that wait for nothing, by falling rank.
    ready: Vec<BTreeSet<(Reverse<u64>, TaskId)>>,
}

impl<'b, 'a, 'p> Paths<'b, 'a, 'p> {
    fn new(batch: &'b Batch<'a, 'p>, joined: bool) -> Self {
        let problem = batch.problem;
        let (readiness, first) = Readiness::new(problem);
        let (pool_of, pools) = match joined {
            true => (vec![0; problem.tasks()], 1),
            false => (parts(problem), batch.graphs.len()),
        };
        let ready = vec![BTreeSet::new(); pools];
        let mut paths = Paths { batch, readiness, pool_of, ready };
        for task in first {
            paths.let_in(task);
        }
        paths
    }

    fn let_in(&mut self, task: TaskId) {
        // Ranks are not negative: their bits sort as they do.
        let rank = sort_key(self.batch.rank[task.index()]).to_bits();
        self.ready[self.pool_of[task.index()]].insert((Reverse(rank), task));
    }

    /// The next path of a pool. Its tasks count as placed.
    fn next(&mut self, pool: usize) -> Option<Vec<TaskId>> {
        let (_, first) = self.ready[pool].pop_first()?;
        let mut path = vec![first];
        let mut last = first;
        loop {
            let mut free: Vec<TaskId> = Vec::new();
            self.readiness.placed(last, |child| free.push(child));
            let heaviest = self.heaviest(last, &free);
            for task in free.into_iter().filter(|&t| Some(t) != heaviest) {
                self.let_in(task);
            }
            match heaviest {
                Some(task) => path.push(task),
                None => return Some(path),
            }
            last = path[path.len() - 1];
        }
    }

    /// Of some children the one of largest transfer and rank.
    fn heaviest(&self, parent: TaskId, children: &[TaskId]) -> Option<TaskId> {
        let problem = self.batch.problem;
        let mut best: Option<(f64, TaskId)> = None;
        let successors = problem.workflow().successors(parent);
        for (child, edge) in successors.filter(|(c, _)| children.contains(c)) {
            let weight = problem.mean_edge_transfer(edge) + self.batch.rank[child.index()];
            if best.is_none_or(|(most, _)| approx::gt(weight, most)) {
                best = Some((weight, child));
            }
        }
        best.map(|(_, child)| child)
    }
}
