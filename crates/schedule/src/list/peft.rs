//! PEFT: Predict Earliest Finish Time (Arabnejad, Barbosa, IEEE TPDS 25(3), 2014).
//!
//! A ready list by mean optimistic cost; each task goes where its finish time plus the
//! optimistic cost of what follows is least, with insertion. O(e p) for the table and the
//! placement, e edges and p processors. The rank may rise along an edge, so a ready list is needed. Optimal on chains.
//! Ties: lower task index, lower processor.

use super::ranks::{TRANSFER, Weights};
use super::{OptimisticCosts, Partial, ReadyList};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::{Problem, Schedule};

/// Registry entry.
pub const PEFT: Algorithm = Algorithm {
    name: "peft",
    family: Family::List,
    basis: Basis::Published,
    about: "least finish time plus optimistic cost of what follows",
    source: "Arabnejad, Barbosa, IEEE TPDS 25(3), 2014",
    complexity: "O(e p)",
    parameters: &[TRANSFER],
    needs: &[],
    plan: |problem, request| plan(problem, Weights::of(&PEFT.values(request)?)),
};

fn plan(problem: &Problem<'_>, weights: Weights) -> Result<Schedule, PlanError> {
    let costs = OptimisticCosts::new(problem, weights);
    let rank = costs.rank(problem);
    let mut ready = ReadyList::new(problem, &rank);
    let mut partial = Partial::new(problem);
    while let Some(task) = ready.pop() {
        let cost = costs.row(task);
        let slot =
            partial.best_slot(task, |slot| slot.finish + cost[problem.class_of(slot.proc)])?;
        partial.place(task, slot);
    }
    Ok(partial.into_schedule())
}
