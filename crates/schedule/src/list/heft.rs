//! HEFT: Heterogeneous Earliest Finish Time (Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002).
//!
//! Tasks by falling upward rank; each goes to the processor on which it finishes first, into the
//! earliest gap that holds it. O(e p) for the placement. Ties: lower task index, lower processor.

use super::{Partial, ReadyList, ranks};
use crate::registry::{Algorithm, Family, PlanError, Settings};
use slackline_model::{Problem, Schedule};

/// Registry entry.
pub const HEFT: Algorithm = Algorithm {
    name: "heft",
    family: Family::List,
    about: "falling upward rank, least finish time, insertion",
    source: "Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002",
    complexity: "O(e p)",
    plan,
};

fn plan(problem: &Problem<'_>, _: &Settings) -> Result<Schedule, PlanError> {
    let rank = ranks::upward(problem);
    let mut ready = ReadyList::new(problem, &rank);
    let mut partial = Partial::new(problem);
    while let Some(task) = ready.pop() {
        let slot = partial.earliest_finish(task)?;
        partial.place(task, slot);
    }
    Ok(partial.into_schedule())
}
