//! List scheduling: rank the tasks, take them by rank, give each the processor that is best for it by the
//! method's rule. The shared steps are private modules; every published method is a module of its own.

mod groups;
mod idle;
mod oct;
mod offers;
mod partial;
mod pool;
pub mod ranks;
mod ready;
mod score;
mod search;
mod timeline;
pub(crate) mod trial;
mod wide;

pub mod bil;
pub mod ceft;
pub mod contended;
pub mod cpop;
pub mod dagmap;
pub mod dls;
pub mod etf;
pub mod fcp;
pub mod flb;
pub mod hcpt;
pub mod heft;
pub mod hps;
pub mod hybrid_bmct;
pub mod immediate;
pub mod ldcp;
pub mod lmt;
pub mod lookahead;
pub mod mh;
pub mod minmin;
pub mod peft;
pub mod pets;

pub use oct::OptimisticCosts;
pub use partial::{Partial, Slot};
pub use ready::{Readiness, ReadyList};
pub use score::Score;
pub use timeline::Timeline;

use crate::registry::PlanError;
use slackline_model::approx::sort_key;
use slackline_model::workflow::Shape;
use slackline_model::{Problem, Schedule, TaskId};

/// Places tasks in the given order, in which parents come before children, each where it finishes first, with
/// insertion. Ties: lower processor.
pub fn place_in_order(
    problem: &Problem<'_>,
    order: impl IntoIterator<Item = TaskId>,
) -> Result<Schedule, PlanError> {
    let mut partial = Partial::new(problem);
    for task in order {
        let slot = partial.earliest_finish(task)?;
        partial.place(task, slot);
    }
    Ok(partial.into_schedule())
}

/// The tasks that are still to be placed, in index order.
pub fn unfinished<'a>(problem: &'a Problem<'_>) -> impl Iterator<Item = TaskId> + 'a {
    problem.workflow().tasks().filter(|&t| problem.state().fixed(t).is_none())
}

/// The unfinished tasks level by level (0 for entries), inside a level by falling key, then by index. Keys equal up
/// to rounding are equal.
pub fn by_level(problem: &Problem<'_>, key: impl Fn(TaskId) -> (f64, f64)) -> Vec<TaskId> {
    let level = Shape::of(problem.workflow()).level;
    let mut order: Vec<(u32, (f64, f64), TaskId)> = unfinished(problem)
        .map(|t| {
            let (first, second) = key(t);
            (level[t.index()], (sort_key(first), sort_key(second)), t)
        })
        .collect();
    order.sort_by(|a, b| {
        let falling = b.1.0.total_cmp(&a.1.0).then(b.1.1.total_cmp(&a.1.1));
        a.0.cmp(&b.0).then(falling).then(a.2.cmp(&b.2))
    });
    order.into_iter().map(|(_, _, task)| task).collect()
}
