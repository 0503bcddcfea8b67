//! Min-min, Max-min and Sufferage (Maheswaran, Ali, Siegel, Hensgen, Freund, JPDC 59(2), 1999).
//!
//! Every ready task has its least completion time over the processors, without insertion. Next
//! goes the task whose least completion time is smallest (min-min), largest (max-min), or whose
//! second least is furthest above its least (sufferage: it would suffer most elsewhere). The
//! ready set is renewed after every placement; with `batch` it is emptied first, as the methods
//! do for independent tasks. Where a task fits on one processor only it suffers beyond measure.
//! O(v w p) for graphs of width w. Ties: lower task, lower processor.

use super::offers::FirstOffer;
use super::pool::{Pool, TwoBest};
use super::{Readiness, Slot};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::{Problem, Schedule, approx};

/// Registry entry.
pub const MIN_MIN: Algorithm = Algorithm {
    name: "minmin",
    family: Family::List,
    basis: Basis::Published,
    about: "ready task of smallest (or largest) least completion time first, or sufferage",
    source: "Maheswaran et al., JPDC 59(2), 1999",
    complexity: "O(v^2 p)",
    parameters: &[CHOOSE, BATCH],
    needs: &[],
    plan: |problem, request| {
        let values = MIN_MIN.values(request)?;
        let batch = values.switch(BATCH.name);
        match values.word(CHOOSE.name) {
            "max" => plan(problem, largest, batch),
            "sufferage" => plan(problem, sufferage, batch),
            _ => min_min(problem, batch),
        }
    },
};

const CHOOSE: Parameter = Parameter::new(
    "choose",
    Kind::Choice(&["min", "max", "sufferage"]),
    "min",
    "which ready task goes first: of smallest or largest least completion time, or the one that \
     would lose most on its second best processor",
);

const BATCH: Parameter = Parameter::new(
    "batch",
    Kind::Switch,
    "no",
    "each ready set is emptied before the next is let in",
);

fn min_min(problem: &Problem<'_>, batch: bool) -> Result<Schedule, PlanError> {
    let best = |slot: &Slot| slot.finish;
    FirstOffer { best, key: |_, slot: &Slot| (slot.finish, 0.0), batch }.plan(problem)
}

/// Max-min's key.
pub(super) fn largest(times: &TwoBest) -> f64 {
    times.least.finish
}

/// Sufferage's key.
fn sufferage(times: &TwoBest) -> f64 {
    let (least, second) = (times.least.finish, times.second.finish);
    // Equal on paper must not suffer from rounding.
    if approx::eq(least, second) { 0.0 } else { second - least }
}

fn plan(
    problem: &Problem<'_>,
    key: fn(&TwoBest) -> f64,
    batch: bool,
) -> Result<Schedule, PlanError> {
    let mut pool = Pool::new(problem, key);
    let (mut readiness, mut newly) = Readiness::new(problem);
    loop {
        if !batch || pool.is_empty() {
            for task in newly.drain(..) {
                pool.enter(task)?;
            }
        }
        let Some(task) = pool.place_first()? else { break };
        readiness.placed(task, |child| newly.push(child));
    }
    Ok(pool.into_schedule())
}
