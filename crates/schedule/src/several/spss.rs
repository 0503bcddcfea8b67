//! SPSS: static provisioning, static scheduling of an ensemble (Malawski, Juve, Deelman, Nabrzyski, 2015;
//! recalled).
//!
//! Workflows are taken in the order in which they are named, those that matter most first. The deadline of all
//! is shared out over the tasks of each in proportion to the longest paths before and behind them, in mean
//! times. By falling upward rank, a task goes to the cheapest processor that ends it by its date, of equal ones
//! where it ends first; where none does, to the one that ends it first. A workflow that ends after the
//! deadline, or costs more than the rest of the budget, is not admitted, and its tasks take no processor. Since
//! a plan has a place for every task, one is made only if all are admitted; otherwise the error names those
//! that are. Costs are those of computation. O(e p). Ties: lower processor.

use super::fairness::FINISH;
use super::{Batch, Pivot};
use crate::list::{Partial, Slot, ranks};
use crate::registry::{Algorithm, Need, PlanError, Request};
use slackline_model::approx;
use slackline_model::schedule::affordable;
use slackline_model::{Problem, Schedule, TaskId};

/// Registry entry.
pub const SPSS: Algorithm = Algorithm {
    name: "spss",
    about: "an ensemble under one budget and deadline, those named first before others",
    source: "Malawski, Juve, Deelman, Nabrzyski, FGCS 48, 2015",
    complexity: "O(e p)",
    parameters: &[],
    needs: &[Need::Several, Need::Prices, Need::Budget, Need::Deadline],
    plan,
    ..FINISH
};

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let batch = Batch::new(problem, Pivot::Heft, SPSS.name)?;
    let deadline = request.limits.deadline.unwrap_or(f64::INFINITY);
    let mut left = request.limits.budget.unwrap_or(f64::INFINITY);
    let before = ranks::downward(problem);
    let mut partial = Partial::new(problem);
    let (mut admitted, mut refused) = (Vec::new(), Vec::new());
    for (graph, member) in batch.graphs.iter().zip(problem.workflow().members()) {
        let path = graph.tasks.iter().map(|t| batch.rank[t.index()]).fold(0.0, f64::max);
        let mut tried = partial.clone();
        let (mut cost, mut end) = (0.0, 0.0f64);
        for &task in &graph.tasks {
            let part = before[task.index()] + problem.mean_exec(task);
            let due = if path > 0.0 { deadline * (part / path) } else { deadline };
            let (slot, money) = cheapest(&mut tried, task, due)?;
            tried.place(task, slot);
            cost += money;
            end = end.max(tried.finish_of(task));
        }
        if affordable(cost, left) && approx::le(end, deadline) {
            partial = tried;
            left -= cost;
            admitted.push(member.name.as_str());
        } else {
            refused.push(format!("'{}' (cost {cost:.4}, ends at {end:.1} s)", member.name));
        }
    }
    if !refused.is_empty() {
        let fits = if admitted.is_empty() { "none".to_string() } else { admitted.join(", ") };
        let why = format!("of the workflows fit: {fits}; not {}", refused.join(", "));
        return Err(PlanError::Infeasible { why });
    }
    Ok(batch.told(partial, Vec::new()))
}

/// The cheapest slot that ends by a date, else the one that ends first; with its cost.
fn cheapest(
    partial: &mut Partial<'_, '_>,
    task: TaskId,
    due: f64,
) -> Result<(Slot, f64), PlanError> {
    let problem = partial.problem();
    let width = f64::from(problem.workflow().width(task).0);
    let mut best: Option<(Slot, f64)> = None;
    partial.slots(task, |slot, seconds| {
        let cost = seconds * problem.price(slot.proc) * width;
        let late = |s: &Slot| approx::gt(s.finish, due);
        let better = best.is_none_or(|(b, least)| match (late(&slot), late(&b)) {
            (false, true) => true,
            (true, false) => false,
            (true, true) => approx::lt(slot.finish, b.finish),
            (false, false) => {
                approx::lt(cost, least)
                    || (approx::eq(cost, least) && approx::lt(slot.finish, b.finish))
            }
        });
        if better {
            best = Some((slot, cost));
        }
    });
    best.ok_or_else(|| partial.nowhere(task))
}
