//! Critical-Greedy (Wu, Lin, Yu, Hou, IEEE Transactions on Cloud Computing 3(2), 2015), from general
//! knowledge.
//!
//! From the cheapest plan, as long as the budget allows: the task of a longest path that gains most seconds on
//! a dearer kind of machine moves there; paths are taken with the times of the present kinds and mean
//! transfers. Then the schedule is rebuilt, each task where it finishes first on its kind. O(v + e + v k) per
//! move. Ties: less money, lower task, kind in the order of the platform. A budget below the least cost gives
//! the cheapest plan.

use super::moves::{Aim, Move, Moves};
use super::paths::Paths;
use super::{Course, cheapest};
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use slackline_model::schedule::affordable;
use slackline_model::{Problem, Schedule, approx};

/// Registry entry.
pub const CRITICAL_GREEDY: Algorithm = Algorithm {
    name: "critical-greedy",
    family: Family::Qos,
    basis: Basis::Recalled,
    about: "cheapest plan, then critical tasks to faster machines while the budget holds",
    source: "Wu et al., IEEE Transactions on Cloud Computing 3(2), 2015",
    complexity: "O(v k (v k + e))",
    parameters: &[],
    needs: &[Need::Budget],
    plan,
};

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let course = Course::new(problem, request);
    let mut moves = Moves::new(&course, Aim::Spend, cheapest::plan(problem)?);
    spend(&course, &mut moves);
    moves.finish()
}

/// Moves critical tasks to faster kinds while the budget holds.
pub(super) fn spend(course: &Course<'_, '_>, moves: &mut Moves<'_, '_, '_>) {
    while let Some(step) = next(course, moves) {
        moves.make(step);
    }
}

fn next(course: &Course<'_, '_>, moves: &Moves<'_, '_, '_>) -> Option<Move> {
    let paths = Paths::of(course, moves);
    let mut best: Option<(f64, f64, Move)> = None;
    for &task in &course.order {
        if !paths.is_critical(task) {
            continue;
        }
        for (to, gained, more) in moves.elsewhere(task) {
            if gained <= 0.0 || !affordable(moves.total + more, course.money) {
                continue;
            }
            let better = best.as_ref().is_none_or(|(most, least, _)| {
                approx::gt(gained, *most) || approx::eq(gained, *most) && approx::lt(more, *least)
            });
            if better {
                best = Some((gained, more, moves.step(task, to, -gained)));
            }
        }
    }
    best.map(|(.., step)| step)
}
