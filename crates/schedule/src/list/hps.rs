//! HPS: High Performance task Scheduling (Ilavarasan, Thambidurai, Mahilmannan, ISPDC 2005).
//!
//! Level by level; inside a level by falling link cost, the sum of the largest incoming and
//! outgoing transfers and the largest link cost of a parent. Placement by least finish time
//! with insertion. O(e p). Ties: lower task index, lower processor.

use super::ranks::{TRANSFER, Weights};
use super::{by_level, place_in_order};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::{Problem, Schedule};

/// Registry entry.
pub const HPS: Algorithm = Algorithm {
    name: "hps",
    family: Family::List,
    basis: Basis::Published,
    about: "level by level by link cost, least finish time, insertion",
    source: "Ilavarasan, Thambidurai, Mahilmannan, ISPDC 2005",
    complexity: "O(e p)",
    parameters: &[TRANSFER],
    needs: &[],
    plan: |problem, request| plan(problem, Weights::of(&HPS.values(request)?)),
};

fn plan(problem: &Problem<'_>, weights: Weights) -> Result<Schedule, PlanError> {
    let cost = link_cost(problem, weights);
    place_in_order(problem, by_level(problem, |t| (cost[t.index()], 0.0)))
}

/// `LC(i)`: largest incoming + largest outgoing transfer + largest `LC` of a parent.
pub fn link_cost(problem: &Problem<'_>, weights: Weights) -> Vec<f64> {
    let workflow = problem.workflow();
    let mut cost = vec![0.0f64; workflow.len()];
    for &task in workflow.topological_order() {
        let transfer = |edge| weights.transfer(problem, edge);
        let down = workflow.predecessors(task).map(|(_, e)| transfer(e)).fold(0.0, f64::max);
        let up = workflow.successors(task).map(|(_, e)| transfer(e)).fold(0.0, f64::max);
        let above = workflow.predecessors(task).map(|(p, _)| cost[p.index()]).fold(0.0, f64::max);
        cost[task.index()] = down + up + above;
    }
    cost
}
