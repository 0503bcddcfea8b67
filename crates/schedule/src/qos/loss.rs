//! LOSS1, LOSS2, LOSS3 (Sakellariou, Zhao, Tsiakkouri, Dikaiakos, Integrated Research in Grid
//! Computing, 2007).
//!
//! HEFT's plan where it can be paid. Else tasks move to cheaper kinds of machines, the move that loses least
//! time per money saved first, until the budget holds; then the schedule is rebuilt, each task where it
//! finishes first on its kind. Time is the task's own (1), the makespan (2), or the task's own with weights
//! recomputed after every move (3). A kind is a cluster of equal machines, as in Arabnejad's comparison:
//! pinning tasks to single processors gives far longer plans. Ties: lower task, kind in the order of the
//! platform. A budget that no moves can meet gives the cheapest plan. O(v k log v k + e p) for v tasks and k
//! kinds; version 2 builds a schedule per move, O(v k e p).

use super::moves::{Aim, Move, Moves, Version, entry};
use super::{QosContext, cheapest};
use crate::registry::{Algorithm, PlanError, Request};
use slackline_model::schedule::affordable;
use slackline_model::{Problem, Schedule, approx};
use std::cmp::Reverse;

/// Registry entry: weights by the task's own time.
pub const LOSS1: Algorithm = entry(
    "loss1",
    "HEFT, then moves to cheaper machines until the budget holds",
    Version::Task,
    |problem, request| plan(problem, request, Version::Task),
);

/// Registry entry: weights by the makespan.
pub const LOSS2: Algorithm = entry(
    "loss2",
    "LOSS1 with moves weighed by the makespan",
    Version::Makespan,
    |problem, request| plan(problem, request, Version::Makespan),
);

/// Registry entry: weights recomputed after every move.
pub const LOSS3: Algorithm = entry(
    "loss3",
    "LOSS1 with moves weighed again after each",
    Version::Renewed,
    |problem, request| plan(problem, request, Version::Renewed),
);

fn plan(problem: &Problem<'_>, request: &Request, version: Version) -> Result<Schedule, PlanError> {
    let course = QosContext::new(problem, request);
    let (heft, paid) = course.heft()?;
    if paid {
        return Ok(heft);
    }
    let mut moves = moves(&course, heft, version)?;
    moves.settle()?;
    if affordable(moves.total, course.money) { moves.finish() } else { cheapest::plan(problem) }
}

/// Moves tasks until the budget holds or nothing can be saved.
pub(super) fn moves<'c, 'a, 'p>(
    course: &'c QosContext<'a, 'p>,
    heft: Schedule,
    version: Version,
) -> Result<Moves<'c, 'a, 'p>, PlanError> {
    let mut moves = Moves::new(course, Aim::Save, heft);
    let mut candidates = moves.candidates(version)?;
    while let Some(Reverse(step)) = candidates.pop() {
        // Where machines are paid as a whole, how many moves are enough shows in the end.
        if course.prices.is_exact() && affordable(moves.total, course.money) {
            break;
        }
        let saves =
            |step: &Move| approx::lt(moves.at(step.task, step.to).1, moves.now(step.task).1);
        if version == Version::Renewed {
            if moves.is_current(&step) {
                moves.make(step);
                moves.renew(step.task, &mut candidates);
            }
        } else if saves(&step) {
            moves.make(step);
        }
    }
    Ok(moves)
}
