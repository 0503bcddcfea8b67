//! Beam search over partial plans: each is extended by every offer, and the method selects the longer ones to
//! keep.

use super::prices::Usage;
use super::{Course, Offer};
use crate::list::Partial;
use crate::registry::PlanError;
use slackline_model::approx;
use slackline_model::{Schedule, TaskId};

/// Copies of partial plans may take this many steps in all.
const EFFORT: usize = 2_000_000_000;

struct Kept<'a, 'p> {
    partial: Partial<'a, 'p>,
    usage: Usage,
    cost: f64,
    end: f64,
    outlook: f64,
}

/// A kept plan with one task more.
pub(super) struct Longer {
    from: usize,
    offer: Offer,
    /// Of all tasks placed so far.
    pub(super) cost: f64,
    pub(super) end: f64,
    /// When the new task ends.
    pub(super) finish: f64,
    /// The method's estimate of the end; inherited by longer plans.
    pub(super) outlook: f64,
}

/// A complete plan.
pub(super) struct Done {
    pub(super) schedule: Schedule,
    pub(super) cost: f64,
    pub(super) end: f64,
}

/// Number of partial plans to keep: the wanted one, fewer on large workflows.
pub(super) fn width(course: &Course<'_, '_>, wanted: usize) -> usize {
    let n = course.order.len().max(1);
    (EFFORT / (n * (n + course.problem.procs()))).clamp(1, wanted)
}

/// Places the tasks in order. `keep` gets the position of a task, the task, and all plans that are one
/// task longer; those it leaves are extended next. Plans that differ only in which of several equal
/// processors the task took come once. Nothing left: no plans.
pub(super) fn search<'a, 'p>(
    course: &Course<'a, 'p>,
    start: Partial<'a, 'p>,
    mut keep: impl FnMut(usize, TaskId, &mut Vec<Longer>),
) -> Result<Vec<Done>, PlanError> {
    let usage = course.prices.usage();
    let mut kept = vec![Some(Kept { partial: start, usage, cost: 0.0, end: 0.0, outlook: 0.0 })];
    let mut offers = Vec::new();
    for (at, &task) in course.order.iter().enumerate() {
        let mut longer = Vec::new();
        for (from, plan) in kept.iter_mut().enumerate() {
            let Some(plan) = plan else { continue };
            course.prices.offers(&mut plan.partial, task, &plan.usage, &mut offers)?;
            for (index, offer) in offers.iter().enumerate() {
                if offers[..index].iter().any(|other| same(other, offer)) {
                    continue;
                }
                let finish = offer.slot.finish;
                let (cost, end) = (plan.cost + offer.cost, plan.end.max(finish));
                let outlook = plan.outlook;
                longer.push(Longer { from, offer: *offer, cost, end, finish, outlook });
            }
        }
        keep(at, task, &mut longer);
        kept = grown(kept, task, longer);
    }
    let done = |plan: Kept<'_, '_>| Done {
        schedule: plan.partial.into_schedule(),
        cost: plan.cost,
        end: plan.end,
    };
    Ok(kept.into_iter().flatten().map(done).collect())
}

/// Places the task; a plan is copied unless this is its last use.
fn grown<'a, 'p>(
    mut kept: Vec<Option<Kept<'a, 'p>>>,
    task: TaskId,
    longer: Vec<Longer>,
) -> Vec<Option<Kept<'a, 'p>>> {
    let mut uses = vec![0u32; kept.len()];
    longer.iter().for_each(|one| uses[one.from] += 1);
    let grow = |one: Longer| {
        uses[one.from] -= 1;
        let last = uses[one.from] == 0;
        let (mut partial, mut usage) = match last {
            true => kept[one.from].take().map(|plan| (plan.partial, plan.usage))?,
            false => {
                kept[one.from].as_ref().map(|plan| (plan.partial.clone(), plan.usage.clone()))?
            }
        };
        partial.place(task, one.offer.slot);
        usage.add(&partial, task);
        Some(Kept { partial, usage, cost: one.cost, end: one.end, outlook: one.outlook })
    };
    longer.into_iter().map(grow).collect()
}

fn same(a: &Offer, b: &Offer) -> bool {
    approx::eq(a.slot.finish, b.slot.finish) && approx::eq(a.cost, b.cost)
}
