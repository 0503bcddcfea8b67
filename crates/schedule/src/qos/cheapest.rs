//! Cheapest scheduling: by falling upward rank, every task on the processor that costs least for it.
//! O(e p). Ties: the one where it ends first, then the lower processor.
//!
//! Under exact billing no plan costs less; its makespan is the upper end of what is worth a wait. Where machines
//! are paid as a whole a task costs what it adds to the bill, and other plans may cost less.

use crate::list::{Partial, ReadyList, ranks};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::{Problem, Schedule};

use super::Prices;

/// Registry entry.
pub const CHEAPEST: Algorithm = Algorithm {
    name: "cheapest",
    family: Family::Qos,
    basis: Basis::Published,
    about: "every task where it costs least, there the least finish time, insertion",
    source: "Arabnejad, PhD thesis, University of Porto (chapter 6)",
    complexity: "O(e p)",
    parameters: &[],
    needs: &[],
    plan: |problem, _| plan(problem),
};

pub(super) fn plan(problem: &Problem<'_>) -> Result<Schedule, PlanError> {
    let prices = Prices::new(problem);
    let rank = ranks::upward(problem);
    let mut ready = ReadyList::new(problem, &rank);
    let (mut partial, mut usage) = (Partial::new(problem), prices.usage());
    while let Some(task) = ready.pop() {
        let cost: Vec<f64> = (0..prices.kinds()).map(|kind| prices.cost(task, kind)).collect();
        let slot = partial.best_slot(task, |slot| {
            let cost = if prices.is_exact() {
                cost[prices.kind_of(slot.proc)]
            } else {
                prices.offered(&usage, task, slot.proc, (slot.start, slot.finish))
            };
            (cost, slot.finish)
        })?;
        partial.place(task, slot);
        usage.add(&partial, task);
    }
    Ok(partial.into_schedule())
}
