//! ScaleStar (Zeng, Veeravalli, Li, AINA 2012), from general knowledge.
//!
//! Every task first takes the kind of machine of largest comparative advantage: the share of its range of times
//! that it gains less the share of its range of costs that it pays. While the budget is exceeded the move
//! follows that saves most money per second of a longer path (see BCSC); money that is left goes to critical
//! tasks (see Critical-Greedy). Then the schedule is rebuilt, each task where it finishes first on its kind.
//! O(v + e + v k) per move. Ties: kind in the order of the platform. A budget that no moves can meet gives the
//! cheapest plan.

use super::moves::{Aim, Moves};
use super::{Course, bcsc, cheapest, critical_greedy};
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use slackline_model::schedule::affordable;
use slackline_model::{Problem, Schedule, TaskId, approx};

/// Registry entry.
pub const SCALESTAR: Algorithm = Algorithm {
    name: "scalestar",
    family: Family::Qos,
    basis: Basis::Recalled,
    about: "machines by comparative advantage, then moves until the budget holds",
    source: "Zeng, Veeravalli, Li, AINA 2012",
    complexity: "O(v k (v k + e))",
    parameters: &[],
    needs: &[Need::Budget],
    plan,
};

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let course = Course::new(problem, request);
    let mut moves = Moves::new(&course, Aim::Save, cheapest::plan(problem)?);
    for &task in &course.order {
        if let Some(kind) = advantage(&course, task)
            && kind != moves.kind_of(task)
        {
            moves.make(moves.step(task, kind, 0.0));
        }
    }
    bcsc::save(&course, &mut moves);
    if !affordable(moves.total, course.money) {
        return cheapest::plan(problem);
    }
    moves.aim(Aim::Spend);
    critical_greedy::spend(&course, &mut moves);
    moves.finish()
}

/// The kind of largest comparative advantage.
fn advantage(course: &Course<'_, '_>, task: TaskId) -> Option<usize> {
    let prices = &course.prices;
    let kinds: Vec<(usize, f64, f64)> = (0..prices.kinds())
        .map(|kind| (kind, prices.seconds(task, kind), prices.cost(task, kind)))
        .filter(|(_, _, cost)| cost.is_finite())
        .collect();
    let span = |figure: fn(&(usize, f64, f64)) -> f64| {
        let all = kinds.iter().map(figure);
        (all.clone().fold(f64::INFINITY, f64::min), all.fold(0.0, f64::max))
    };
    let (times, costs) = (span(|k| k.1), span(|k| k.2));
    let share = |value: f64, (low, high): (f64, f64)| {
        if approx::eq(low, high) { 0.0 } else { (value - low) / (high - low) }
    };
    let value = |k: &(usize, f64, f64)| -share(k.1, times) - share(k.2, costs);
    let better = |a: f64, b: f64| a > b + approx::EPSILON;
    let best = kinds.iter().reduce(|a, b| if better(value(b), value(a)) { b } else { a });
    best.map(|(kind, ..)| *kind)
}
