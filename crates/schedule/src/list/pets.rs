//! PETS: Performance Effective Task Scheduling (Ilavarasan, Thambidurai, J. Computer Science
//! 3(2), 2007).
//!
//! Level by level; inside a level by falling rank, the rounded sum of the mean execution time,
//! all outgoing transfers and the largest rank of a parent. Placement by least finish time with
//! insertion. O(e p) for e edges and p processors. Ties: smaller mean execution time, lower task index, lower processor.

use super::ranks::{TRANSFER, Weights};
use super::{by_level, place_in_order};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::{Problem, Schedule, approx};

/// Registry entry.
pub const PETS: Algorithm = Algorithm {
    name: "pets",
    family: Family::List,
    basis: Basis::Published,
    about: "level by level by rounded rank, least finish time, insertion",
    source: "Ilavarasan, Thambidurai, J. Computer Science 3(2), 2007",
    complexity: "O(e p)",
    parameters: &[TRANSFER],
    needs: &[],
    plan: |problem, request| plan(problem, Weights::of(&PETS.values(request)?)),
};

fn plan(problem: &Problem<'_>, weights: Weights) -> Result<Schedule, PlanError> {
    let mean = weights.exec_of_all(problem);
    let rank = rank(problem, &mean, weights);
    place_in_order(problem, by_level(problem, |t| (rank[t.index()], -mean[t.index()])))
}

/// The rank of each task by index: `round(mean time + sum of outgoing transfers + largest rank of a parent)`, with the
/// mean times `mean`, in seconds.
pub fn rank(problem: &Problem<'_>, mean: &[f64], weights: Weights) -> Vec<f64> {
    let workflow = problem.workflow();
    let mut rank = vec![0.0f64; workflow.len()];
    for &task in workflow.topological_order() {
        let sent: f64 = workflow.successors(task).map(|(_, e)| weights.transfer(problem, e)).sum();
        let above = workflow.predecessors(task).map(|(p, _)| rank[p.index()]).fold(0.0, f64::max);
        rank[task.index()] = round_half_up(mean[task.index()] + sent + above);
    }
    rank
}

/// Rounds to the nearest whole number, halves up. A sum that is a half in exact arithmetic may be a little less in
/// `f64`, so values within rounding of a half go up as well.
fn round_half_up(value: f64) -> f64 {
    (value + 0.5 + approx::tolerance(value, 0.0)).floor()
}
