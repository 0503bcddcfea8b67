//! ETF: Earliest Task First (Hwang, Chow, Anger, Lee, SIAM J. Computing 18(2), 1989).
//!
//! At each step the ready task and processor that allow the earliest start are joined, without
//! insertion; of equal tasks the one of highest static level. The paper's machines are equal; on
//! unequal ones a task takes, of the processors that let it start equally early, the one where
//! it finishes first. O(v w p) for graphs of width w. Further ties: lower task, lower processor.

use super::Slot;
use super::offers::FirstOffer;
use super::ranks::{self, Weights};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::{Problem, Schedule, TaskId};

/// Registry entry.
pub const ETF: Algorithm = Algorithm {
    name: "etf",
    family: Family::List,
    basis: Basis::Recalled,
    about: "ready task and processor of earliest start",
    source: "Hwang, Chow, Anger, Lee, SIAM J. Computing 18(2), 1989",
    complexity: "O(v^2 p)",
    parameters: &[],
    needs: &[],
    plan: |problem, _| plan(problem),
};

fn plan(problem: &Problem<'_>) -> Result<Schedule, PlanError> {
    let level = ranks::static_level(problem, Weights::MEAN);
    let offers = FirstOffer {
        best: |slot: &Slot| (slot.start, slot.finish),
        key: |task: TaskId, slot: &Slot| (slot.start, -level[task.index()]),
        batch: false,
    };
    offers.plan(problem)
}
