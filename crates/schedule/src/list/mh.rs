//! MH: Mapping Heuristic (El-Rewini, Lewis, JPDC 9(2), 1990), without link contention.
//!
//! A ready list by falling upward rank; each task goes where it finishes first after the last
//! task of the processor. The method with contention is in [`contended`](super::contended). O(e p). Ties: lower task index, lower processor.

use super::{Partial, ReadyList, ranks};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::{Problem, Schedule};

/// Registry entry.
pub const MH: Algorithm = Algorithm {
    name: "mh",
    family: Family::List,
    basis: Basis::Recalled,
    about: "falling upward rank, least finish time, no insertion",
    source: "El-Rewini, Lewis, JPDC 9(2), 1990",
    complexity: "O(e p)",
    parameters: &[],
    needs: &[],
    plan: |problem, _| plan(problem),
};

fn plan(problem: &Problem<'_>) -> Result<Schedule, PlanError> {
    let rank = ranks::upward(problem);
    let mut ready = ReadyList::new(problem, &rank);
    let mut partial = Partial::appending(problem);
    while let Some(task) = ready.pop() {
        let slot = partial.earliest_finish(task)?;
        partial.place(task, slot);
    }
    Ok(partial.into_schedule())
}
