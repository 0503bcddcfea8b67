//! DLS: Dynamic Level Scheduling (Sih, Lee, IEEE TPDS 4(2), 1993).
//!
//! At each step the ready task and processor of largest dynamic level
//! `DL(i, j) = SL(i) - max(data ready, processor free) + (E(i) - exec(i, j))` are joined, without
//! insertion; `SL` is the longest path of `E` to an exit without transfers. `E` is the mean
//! execution time or the median (`exec`). For one task `DL` is a constant minus its
//! finish time, so its best processor is the one of least finish time and stays so until that
//! processor is used. O(v w p) for graphs of width w. Ties: lower task, lower processor.

use super::Slot;
use super::offers::FirstOffer;
use super::ranks::{self, Weights};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::{Problem, Schedule, TaskId};

/// Registry entry.
pub const DLS: Algorithm = Algorithm {
    name: "dls",
    family: Family::List,
    basis: Basis::Published,
    about: "ready task and processor of largest dynamic level",
    source: "Sih, Lee, IEEE TPDS 4(2), 1993",
    complexity: "O(v^2 p)",
    parameters: &[EXEC],
    needs: &[],
    plan: |problem, request| match DLS.values(request)?.word(EXEC.name) {
        "median" => plan(problem, Weights::MEDIAN),
        _ => plan(problem, Weights::MEAN),
    },
};

const EXEC: Parameter = Parameter::new(
    "exec",
    Kind::Choice(&["mean", "median"]),
    "mean",
    "what stands for the time of a task on all processors",
);

fn plan(problem: &Problem<'_>, weights: Weights) -> Result<Schedule, PlanError> {
    let level = ranks::static_level(problem, weights);
    // Keeps keys positive, so that they are compared to the precision of the dates in them.
    let above_all = 2.0 * level.iter().copied().fold(0.0, f64::max);
    let offers = FirstOffer {
        best: |slot: &Slot| slot.finish,
        key: |task: TaskId, slot: &Slot| {
            let dynamic_level = level[task.index()] - slot.finish + weights.exec(problem, task);
            (above_all - dynamic_level, 0.0)
        },
        batch: false,
    };
    offers.plan(problem)
}
