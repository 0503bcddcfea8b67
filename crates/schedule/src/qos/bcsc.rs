//! BCSC: budget-constrained scheduling in clouds (Fard, Fahringer, Prodan, CloudCom 2013), from general
//! knowledge.
//!
//! From HEFT's plan money is saved where that costs no time: tasks move to cheaper kinds of machines within
//! their slack on the paths of present kinds and mean transfers, the largest saving first. While the budget is
//! exceeded, the move that saves most money per second of a longer path follows. Then the schedule is rebuilt,
//! each task where it finishes first on its kind. O(v + e + v k) per move. Ties: lower task, kind in the order
//! of the platform. A budget that no moves can meet gives the cheapest plan.

use super::moves::{Aim, Move, Moves};
use super::paths::Paths;
use super::{Course, cheapest};
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use slackline_model::schedule::affordable;
use slackline_model::{Problem, Schedule, approx};

/// Registry entry.
pub const BCSC: Algorithm = Algorithm {
    name: "bcsc",
    family: Family::Qos,
    basis: Basis::Recalled,
    about: "HEFT, savings within the slack, then the most money per second until the budget holds",
    source: "Fard, Fahringer, Prodan, CloudCom 2013",
    complexity: "O(v k (v k + e))",
    parameters: &[],
    needs: &[Need::Budget],
    plan,
};

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let course = Course::new(problem, request);
    let (heft, paid) = course.heft()?;
    let mut moves = Moves::new(&course, Aim::Save, heft.clone());
    while let Some(step) = next(&course, &moves, true) {
        moves.make(step);
    }
    save(&course, &mut moves);
    if !affordable(moves.total, course.money) {
        return cheapest::plan(problem);
    }
    let plan = moves.finish()?;
    // Slack is that of paths: processors may still be short.
    Ok(if paid && approx::gt(plan.makespan(), heft.makespan()) { heft } else { plan })
}

/// Moves tasks to cheaper kinds until the budget holds or nothing can be saved.
pub(super) fn save(course: &Course<'_, '_>, moves: &mut Moves<'_, '_, '_>) {
    while !affordable(moves.total, course.money)
        && let Some(step) = next(course, moves, false)
    {
        moves.make(step);
    }
}

/// The best saving: the largest without lengthening any path, else the largest per second.
fn next(course: &Course<'_, '_>, moves: &Moves<'_, '_, '_>, free: bool) -> Option<Move> {
    let paths = Paths::of(course, moves);
    let mut best: Option<((f64, f64), Move)> = None;
    for &task in &course.order {
        for (to, gained, more) in moves.elsewhere(task) {
            let longer = paths.lengthening(task, -gained);
            if free && longer > 0.0 {
                continue;
            }
            let per_second = if longer > 0.0 { -more / longer } else { f64::INFINITY };
            let key = (per_second, -more);
            let better = best.as_ref().is_none_or(|(most, _)| {
                approx::gt(key.0, most.0) || approx::eq(key.0, most.0) && approx::gt(key.1, most.1)
            });
            if better {
                best = Some((key, moves.step(task, to, -per_second)));
            }
        }
    }
    best.map(|(_, step)| step)
}
