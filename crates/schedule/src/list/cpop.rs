//! CPOP: Critical Path On a Processor (Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002).
//!
//! The tasks of one critical path go to the processor that runs all of them fastest, the others
//! where they finish first; a ready list by `rank_u + rank_d` decides the order. O(v^2 p) for
//! dense graphs. Ties: lower task index, lower processor. Of a partly executed workflow only the
//! unfinished tasks of the path count; a critical task that does not fit on the path's
//! processor goes where it finishes first.

use super::ranks::{self, TRANSFER, Weights};
use super::{Partial, ReadyList};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::{Problem, ProcId, Schedule, TaskId, approx};

/// Registry entry.
pub const CPOP: Algorithm = Algorithm {
    name: "cpop",
    family: Family::List,
    basis: Basis::Published,
    about: "the critical path on one processor, the rest by least finish time",
    source: "Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002",
    complexity: "O(e p)",
    parameters: &[TRANSFER],
    needs: &[],
    plan: |problem, request| plan(problem, Weights::of(&CPOP.values(request)?)),
};

fn plan(problem: &Problem<'_>, weights: Weights) -> Result<Schedule, PlanError> {
    let up = ranks::upward_by(problem, weights);
    let down = ranks::downward_by(problem, weights);
    let priority: Vec<f64> = up.iter().zip(&down).map(|(u, d)| u + d).collect();
    let path = critical_path(problem, &priority);
    let path_processor = fastest_for(problem, &path);
    let mut critical = vec![false; problem.tasks()];
    for task in path {
        critical[task.index()] = true;
    }

    let mut ready = ReadyList::new(problem, &priority);
    let mut partial = Partial::new(problem);
    while let Some(task) = ready.pop() {
        let pinned = path_processor
            .filter(|_| critical[task.index()])
            .map(|proc| partial.slot_on(task, proc))
            .filter(|slot| slot.possible());
        let slot = match pinned {
            Some(slot) => slot,
            None => partial.earliest_finish(task)?,
        };
        partial.place(task, slot);
    }
    Ok(partial.into_schedule())
}

/// From the entry of highest priority, each time on to the child of the same priority.
pub fn critical_path(problem: &Problem<'_>, priority: &[f64]) -> Vec<TaskId> {
    let workflow = problem.workflow();
    let of = |task: TaskId| priority[task.index()];
    let higher = |a: TaskId, b: TaskId| if approx::gt(of(b), of(a)) { b } else { a };
    let mut path = Vec::new();
    let mut next = workflow.entries().reduce(higher);
    let length = next.map_or(0.0, of);
    while let Some(task) = next {
        path.push(task);
        let children = || workflow.successors(task).map(|(child, _)| child);
        // Rounding may hide the exact continuation: then the most critical child.
        next = children()
            .find(|&child| approx::eq(of(child), length))
            .or_else(|| children().reduce(higher));
    }
    path
}

/// The processor on which the unfinished tasks of the path take least time together.
fn fastest_for(problem: &Problem<'_>, path: &[TaskId]) -> Option<ProcId> {
    let mut total = vec![0.0f64; problem.classes()];
    let mut row = Vec::new();
    for &task in path.iter().filter(|t| problem.state().fixed(**t).is_none()) {
        for (total, seconds) in total.iter_mut().zip(problem.exec_row(task, &mut row)) {
            *total += seconds;
        }
    }
    let total = |proc: ProcId| total[problem.class_of(proc)];
    problem
        .proc_ids()
        .filter(|&proc| problem.available_from(proc).is_finite() && total(proc).is_finite())
        .reduce(|best, next| if approx::lt(total(next), total(best)) { next } else { best })
}
