//! GAIN1, GAIN2, GAIN3 (Sakellariou, Zhao, Tsiakkouri, Dikaiakos, Integrated Research in Grid
//! Computing, 2007).
//!
//! The mirror image of LOSS: from the cheapest plan tasks move to dearer kinds of machines, the move that gains
//! most time per money first, as long as the budget holds; then the schedule is rebuilt, each task where it
//! finishes first on its kind. Time is the task's own (1), the makespan (2), or the task's own with weights
//! recomputed after every move (3). Ties: lower task, kind in the order of the platform. Complexity as for
//! LOSS. A budget below the least cost gives the cheapest plan.

use super::moves::{Aim, Moves, Version, entry};
use super::{QosContext, cheapest};
use crate::registry::{Algorithm, PlanError, Request};
use slackline_model::schedule::affordable;
use slackline_model::{Problem, Schedule, approx};
use std::cmp::Reverse;

/// Registry entry: weights by the task's own time.
pub const GAIN1: Algorithm = entry(
    "gain1",
    "cheapest plan, then moves to faster machines while the budget holds",
    Version::Task,
    |problem, request| plan(problem, request, Version::Task),
);

/// Registry entry: weights by the makespan.
pub const GAIN2: Algorithm = entry(
    "gain2",
    "GAIN1 with moves weighed by the makespan",
    Version::Makespan,
    |problem, request| plan(problem, request, Version::Makespan),
);

/// Registry entry: weights recomputed after every move.
pub const GAIN3: Algorithm = entry(
    "gain3",
    "GAIN1 with moves weighed again after each",
    Version::Renewed,
    |problem, request| plan(problem, request, Version::Renewed),
);

fn plan(problem: &Problem<'_>, request: &Request, version: Version) -> Result<Schedule, PlanError> {
    let course = QosContext::new(problem, request);
    let cheapest = cheapest::plan(problem)?;
    let mut moves = Moves::new(&course, Aim::Spend, cheapest);
    let mut candidates = moves.candidates(version)?;
    while let Some(Reverse(step)) = candidates.pop() {
        let fits = affordable(moves.total + moves.surcharge(&step), course.money);
        if version == Version::Renewed {
            // What does not fit now never will: the money left only shrinks.
            if fits && moves.is_current(&step) {
                moves.make(step);
                moves.renew(step.task, &mut candidates);
            }
        } else if fits && approx::lt(moves.at(step.task, step.to).0, moves.now(step.task).0) {
            moves.make(step);
        }
    }
    moves.settle()?;
    moves.finish()
}
