//! DCA: the Dynamic Constraint Algorithm for two criteria (Prodan, Wieczorek, IEEE TASE 7(2), 2010),
//! as far as it is known: reconstructed.
//!
//! Money is the criterion that slides within the budget, time the one to improve. By falling upward
//! rank all processors are tried on all partial plans that were kept, without insertion. What a partial
//! plan costs above the cheapest one puts it into one of 100 cells; a cell keeps the ten plans whose
//! least possible end is soonest. From the complete plans the shortest is taken, of equal ones the
//! cheapest. Plans that differ only in which of several equal processors a task took count once. O(v p)
//! partial plans of up to v tasks for each that is kept; on large workflows fewer are kept.
//! With less money than the cheapest plan costs it gives the cheapest plan.

use super::{Course, Offer, cheapest};
use crate::list::Partial;
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Settings};
use slackline_model::schedule::affordable;
use slackline_model::{Problem, Schedule, approx};

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
/// Copies of partial plans may take this many steps in all.
const EFFORT: usize = 2_000_000_000;

/// A partial plan that is kept.
struct Kept<'a, 'p> {
    partial: Partial<'a, 'p>,
    /// Cost above the cheapest.
    excess: f64,
    /// No completion ends before.
    end: f64,
}

/// A kept plan with one task more.
struct Next {
    cell: usize,
    end: f64,
    excess: f64,
    from: usize,
    offer: Offer,
}

fn plan(problem: &Problem<'_>, settings: &Settings) -> Result<Schedule, PlanError> {
    let course = Course::new(problem, settings);
    if course.too_poor() {
        return cheapest::plan(problem);
    }
    let n = course.order.len().max(1);
    let kept_in_all = (EFFORT / (n * (n + problem.procs()))).max(1);
    let cells = CELLS.min(kept_in_all);
    let per_cell = (kept_in_all / cells).clamp(1, PER_CELL);
    let spare = (course.money - course.least_from[0]).max(0.0);
    let below = problem.workflow().bottom_levels(|t| problem.best_exec(t), |_| 0.0);
    let first = Kept { partial: Partial::appending(problem), excess: 0.0, end: 0.0 };
    let mut kept = vec![first];
    let mut offers = Vec::new();
    for &task in &course.order {
        let (least, tail) =
            (course.prices.least(task), below[task.index()] - problem.best_exec(task));
        let mut next = Vec::new();
        for (from, plan) in kept.iter_mut().enumerate() {
            course.prices.offers(&mut plan.partial, task, &mut offers)?;
            for (at, offer) in offers.iter().enumerate() {
                let excess = plan.excess + (offer.cost - least);
                if !affordable(excess, spare) || offers[..at].iter().any(|o| same(o, offer)) {
                    continue;
                }
                let share = if spare > 0.0 { excess / spare } else { 0.0 };
                let cell = ((share * cells as f64) as usize).min(cells - 1);
                let end = plan.end.max(offer.slot.finish + tail);
                next.push(Next { cell, end, excess, from, offer: *offer });
            }
        }
        if next.is_empty() {
            // The cheapest processors are cut off from the task's data.
            return cheapest::plan(problem);
        }
        // Stable: of equal ones the earlier plan and the lower processor.
        next.sort_by(|a, b| {
            a.cell.cmp(&b.cell).then(a.end.total_cmp(&b.end)).then(a.excess.total_cmp(&b.excess))
        });
        let mut taken = vec![0; cells];
        next.retain(|one| {
            taken[one.cell] += 1;
            taken[one.cell] <= per_cell
        });
        kept = next
            .into_iter()
            .map(|one| {
                let mut partial = kept[one.from].partial.clone();
                partial.place(task, one.offer.slot);
                Kept { partial, excess: one.excess, end: one.end }
            })
            .collect();
    }
    let shorter = |a: &Kept<'_, '_>, b: &Kept<'_, '_>| {
        approx::lt(a.end, b.end) || approx::eq(a.end, b.end) && approx::lt(a.excess, b.excess)
    };
    let best = kept.into_iter().reduce(|best, one| if shorter(&one, &best) { one } else { best });
    best.map_or_else(|| cheapest::plan(problem), |best| Ok(best.partial.into_schedule()))
}

fn same(a: &Offer, b: &Offer) -> bool {
    approx::eq(a.slot.finish, b.slot.finish) && approx::eq(a.cost, b.cost)
}
