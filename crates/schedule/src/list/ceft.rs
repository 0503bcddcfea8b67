//! CEFT: Constrained Earliest Finish Time (Khan, Parallel Computing 38, 2012).
//!
//! The graph is taken apart into paths: each starts at the unused task of highest upward rank and continues
//! with the unused child of heaviest way to the exit. In turn every path gives up its next tasks whose parents
//! are placed or among them (a constrained critical path), and these go together to the processor on which the
//! last of them ends first, with insertion. O(e p). Ties: lower task, lower processor. Tasks that no processor
//! can run together are placed one by one where each finishes first.

use super::ranks::{self, Weights};
use super::trial::{Trial, place_path};
use super::{Partial, unfinished};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::approx::sort_key;
use slackline_model::{Problem, Schedule, TaskId, approx};
use std::collections::VecDeque;

/// Registry entry.
pub const CEFT: Algorithm = Algorithm {
    name: "ceft",
    family: Family::List,
    basis: Basis::Recalled,
    about: "constrained critical paths, each on one processor",
    source: "Khan, Parallel Computing 38(4-5), 2012",
    complexity: "O(e p)",
    parameters: &[],
    needs: &[],
    plan: |problem, _| plan(problem),
};

fn plan(problem: &Problem<'_>) -> Result<Schedule, PlanError> {
    let mut partial = Partial::new(problem);
    let mut trial = Trial::new(problem.procs());
    let mut turns: VecDeque<VecDeque<TaskId>> =
        critical_paths(problem).into_iter().map(VecDeque::from).collect();
    let mut placed: Vec<bool> =
        problem.workflow().tasks().map(|t| problem.state().fixed(t).is_some()).collect();
    // The topologically first unplaced task has its parents placed and, since the tasks before it on its path
    // are ancestors, heads its path: every round places something.
    while let Some(mut path) = turns.pop_front() {
        let next = constrained(problem, &mut path, &mut placed);
        if !next.is_empty() {
            place_path(&mut partial, &mut trial, &next)?;
        }
        if !path.is_empty() {
            turns.push_back(path);
        }
    }
    Ok(partial.into_schedule())
}

/// Takes the graph of unfinished tasks apart into paths.
fn critical_paths(problem: &Problem<'_>) -> Vec<Vec<TaskId>> {
    let workflow = problem.workflow();
    let rank = ranks::upward(problem);
    let key = |t: &TaskId| sort_key(rank[t.index()]);
    // A parent never ranks below its child; of equal ranks the parent must come first.
    let mut order: Vec<TaskId> = workflow.topological_order().to_vec();
    order.sort_by(|a, b| key(b).total_cmp(&key(a)));
    let mut used: Vec<bool> = vec![true; problem.tasks()];
    for task in unfinished(problem) {
        used[task.index()] = false;
    }
    let mut paths = Vec::new();
    for head in order {
        let mut path = Vec::new();
        let mut next = (!used[head.index()]).then_some(head);
        while let Some(task) = next {
            used[task.index()] = true;
            path.push(task);
            let way = |(child, edge): (TaskId, _)| {
                (child, Weights::MEAN.transfer(problem, edge) + rank[child.index()])
            };
            let unused = workflow.successors(task).filter(|(child, _)| !used[child.index()]);
            let heaviest = unused.map(way).reduce(|a, b| if approx::gt(b.1, a.1) { b } else { a });
            next = heaviest.map(|(child, _)| child);
        }
        if !path.is_empty() {
            paths.push(path);
        }
    }
    paths
}

/// Takes from a path what can be placed now, each task after its parents.
fn constrained(
    problem: &Problem<'_>,
    path: &mut VecDeque<TaskId>,
    placed: &mut [bool],
) -> Vec<TaskId> {
    let mut taken = Vec::new();
    while let Some(&task) = path.front() {
        if problem.workflow().predecessors(task).any(|(parent, _)| !placed[parent.index()]) {
            break;
        }
        placed[task.index()] = true;
        taken.push(task);
        path.pop_front();
    }
    taken
}
