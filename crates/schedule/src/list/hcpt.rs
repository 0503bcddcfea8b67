//! HCPT: Heterogeneous Critical Parent Trees (Hagras, Janecek, ICPP workshops 2003).
//!
//! The tasks whose earliest and latest mean start times agree are critical; the list holds each
//! of them after its not yet listed ancestors, those of earliest latest-start first. Placement
//! by least finish time with insertion. Several exits hang under one that costs nothing.
//! O(e p). Ties: lower task index, lower processor.

use super::ranks::{self, TRANSFER, Weights};
use super::{place_in_order, unfinished};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::{Problem, Schedule, TaskId, approx};

/// Registry entry.
pub const HCPT: Algorithm = Algorithm {
    name: "hcpt",
    family: Family::List,
    basis: Basis::Published,
    about: "critical tasks after their ancestors, least finish time, insertion",
    source: "Hagras, Janecek, ICPP workshops 2003",
    complexity: "O(e p)",
    parameters: &[TRANSFER],
    needs: &[],
    plan: |problem, request| plan(problem, Weights::of(&HCPT.values(request)?)),
};

fn plan(problem: &Problem<'_>, weights: Weights) -> Result<Schedule, PlanError> {
    let earliest = ranks::downward_by(problem, weights);
    let up = ranks::upward_by(problem, weights);
    let length = earliest.iter().zip(&up).map(|(e, u)| e + u).fold(0.0, f64::max);
    // ALST: what the critical path leaves after the longest way to an exit.
    let latest: Vec<f64> = up.iter().map(|u| length - u).collect();
    place_in_order(problem, parents_first(problem, &earliest, &latest))
}

/// The list: critical tasks by latest start, each after its unlisted ancestors.
pub fn parents_first(problem: &Problem<'_>, earliest: &[f64], latest: &[f64]) -> Vec<TaskId> {
    let workflow = problem.workflow();
    // Dates carry the rounding of the whole path, whatever their own size.
    let length = latest.iter().copied().fold(0.0, f64::max);
    let key = |t: &TaskId| approx::sort_key(length + latest[t.index()]);
    let by_latest = |a: &TaskId, b: &TaskId| key(a).total_cmp(&key(b)).then(a.cmp(b));
    let critical = |t: &TaskId| {
        (latest[t.index()] - earliest[t.index()]).abs() <= approx::tolerance(length, 0.0)
    };
    let mut roots: Vec<TaskId> = unfinished(problem).filter(critical).collect();
    roots.sort_by(by_latest);
    // The exits come as the parents of the one exit that is last of all.
    let mut exits: Vec<TaskId> = workflow.exits().collect();
    exits.sort_by(by_latest);
    roots.extend(exits);

    let mut listed: Vec<bool> =
        workflow.tasks().map(|t| problem.state().fixed(t).is_some()).collect();
    let mut list = Vec::new();
    // Each open task with its remaining parents, the earliest last.
    let mut open: Vec<(TaskId, Vec<TaskId>)> = Vec::new();
    let parents = |task: TaskId| {
        let mut parents: Vec<TaskId> = workflow.predecessors(task).map(|(p, _)| p).collect();
        parents.sort_by(|a, b| by_latest(b, a));
        (task, parents)
    };
    for root in roots {
        if listed[root.index()] {
            continue;
        }
        open.push(parents(root));
        while let Some((task, waiting)) = open.last_mut() {
            match waiting.pop() {
                Some(parent) if listed[parent.index()] => {}
                Some(parent) => open.push(parents(parent)),
                None => {
                    listed[task.index()] = true;
                    list.push(*task);
                    open.pop();
                }
            }
        }
    }
    list
}
