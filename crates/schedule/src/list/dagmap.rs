//! DAGMap (Cao, Jin, Wu, Qi, J. Supercomputing 2010; first PDCAT 2008).
//!
//! Tasks by falling upward rank are cut into groups of independent ones. In each group the
//! critical tasks (`rank_u + rank_d` is the length of the critical path) go first, each where it
//! finishes first; the others follow by max-min where their mean times differ much (a standard
//! deviation above half the mean: long tasks must not come last), else by min-min. Without
//! insertion. O(v w p) for graphs of width w. Ties: lower task, lower processor.

use super::groups::independent;
use super::minmin::largest;
use super::pool::{Pool, TwoBest};
use super::ranks::{self, Weights};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::{Problem, Schedule, TaskId, approx};

/// Registry entry.
pub const DAGMAP: Algorithm = Algorithm {
    name: "dagmap",
    family: Family::List,
    basis: Basis::Recalled,
    about: "independent groups; critical tasks, then max-min or min-min",
    source: "Cao, Jin, Wu, Qi, J. Supercomputing 2010",
    complexity: "O(v^2 p)",
    parameters: &[],
    needs: &[],
    plan: |problem, _| plan(problem),
};

/// Above this ratio of standard deviation to mean, long tasks go first.
const SPREAD: f64 = 0.5;

fn plan(problem: &Problem<'_>) -> Result<Schedule, PlanError> {
    let mean = Weights::MEAN.exec_of_all(problem);
    let up = ranks::upward(problem);
    let down = ranks::downward(problem);
    let length = up.iter().copied().fold(0.0, f64::max);
    let critical = |t: &TaskId| approx::eq(up[t.index()] + down[t.index()], length);

    let mut pool = Pool::new(problem, largest);
    for group in independent(problem, &up) {
        let (first, others): (Vec<TaskId>, Vec<TaskId>) = group.into_iter().partition(critical);
        for task in first {
            let slot = pool.partial().earliest_finish(task)?;
            pool.partial().place(task, slot);
        }
        pool.set_key(if spread(&others, &mean) > SPREAD { largest } else { smallest });
        for task in others {
            pool.enter(task)?;
        }
        while pool.place_first()?.is_some() {}
    }
    Ok(pool.into_schedule())
}

/// Min-min's key for a pool that takes the largest.
fn smallest(times: &TwoBest) -> f64 {
    -times.least.finish
}

/// The heterogeneity of a group: standard deviation over mean of the mean times.
fn spread(group: &[TaskId], mean: &[f64]) -> f64 {
    let count = group.len() as f64;
    let average = group.iter().map(|t| mean[t.index()]).sum::<f64>() / count;
    let square = |t: &TaskId| (mean[t.index()] - average).powi(2);
    let deviation = (group.iter().map(square).sum::<f64>() / count).sqrt();
    if average > 0.0 { deviation / average } else { 0.0 }
}
