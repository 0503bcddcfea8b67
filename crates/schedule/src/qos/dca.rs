//! DCA: the Dynamic Constraint Algorithm for two criteria (Prodan, Wieczorek, IEEE TASE 7(2), 2010),
//! as far as it is known: reconstructed.
//!
//! Money is the criterion that slides within the budget, time the one to improve. By falling upward
//! rank all processors are tried on all partial plans that were kept, without insertion. What a partial
//! plan costs above the cheapest one puts it into one of 100 cells; a cell keeps the ten plans whose
//! least possible end is soonest. From the complete plans the shortest is taken, of equal ones the
//! cheapest. O(1000 v p) partial plans of up to v tasks each; on large workflows fewer are kept.
//! With less money than the cheapest plan costs it gives the cheapest plan.

use super::pareto::{self, Point};
use super::{QosContext, beam, cheapest};
use crate::list::Partial;
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use slackline_model::schedule::{Limits, affordable};
use slackline_model::{Problem, Schedule};

/// Registry entry.
pub const DCA: Algorithm = Algorithm {
    name: "dca",
    family: Family::Qos,
    basis: Basis::Recalled,
    about: "dynamic programming over cells of excess cost, shortest plan within the budget",
    source: "Prodan, Wieczorek, IEEE TASE 7(2), 2010",
    complexity: "O(1000 v p)",
    parameters: &[],
    needs: &[Need::Budget, Need::Deadline],
    plan,
};

const CELLS: usize = 100;
const PER_CELL: usize = 10;

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let course = QosContext::new(problem, request);
    if course.too_poor() {
        return cheapest::plan(problem);
    }
    let width = beam::width(&course, CELLS * PER_CELL);
    let cells = CELLS.min(width);
    let per_cell = width / cells;
    let spare = (course.money - course.least_from[0]).max(0.0);
    let below = problem.workflow().bottom_levels(|t| problem.best_exec(t), |_| 0.0);
    // Least cost of the tasks up to a position, that position included.
    let least_until = |at: usize| course.least_from[0] - course.least_from[at + 1];
    let mut done = beam::search(&course, Partial::appending(problem), |at, task, longer| {
        let tail = below[task.index()] - problem.best_exec(task);
        let excess = |cost: f64| cost - least_until(at);
        longer.retain(|plan| affordable(excess(plan.cost), spare));
        for plan in longer.iter_mut() {
            plan.outlook = plan.outlook.max(plan.finish + tail);
        }
        let cell = |cost: f64| {
            if spare > 0.0 {
                ((excess(cost) / spare * cells as f64) as usize).min(cells - 1)
            } else {
                0
            }
        };
        // Stable: of equal ones the earlier plan and the lower processor.
        longer.sort_by(|a, b| {
            let (left, right) = (cell(a.cost), cell(b.cost));
            left.cmp(&right).then(a.outlook.total_cmp(&b.outlook)).then(a.cost.total_cmp(&b.cost))
        });
        let mut taken = vec![0; cells];
        longer.retain(|plan| {
            taken[cell(plan.cost)] += 1;
            taken[cell(plan.cost)] <= per_cell
        });
    })?;
    if done.is_empty() {
        // The cheapest processors are cut off from some task's data.
        return cheapest::plan(problem);
    }
    let points: Vec<Point> =
        done.iter().map(|plan| Point { makespan: plan.end, cost: plan.cost }).collect();
    Ok(done.swap_remove(pareto::best(&points, &Limits::default())).schedule)
}
