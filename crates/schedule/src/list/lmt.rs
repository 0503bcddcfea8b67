//! LMT: Levelized Min-Time (Iverson, Ozguner, Follen, HCW 1995).
//!
//! Level by level, the tasks of a level by falling mean time, without insertion.
//! - simple form: each task goes where it finishes first. O(e p).
//! - `merge` (published form): a level of more tasks than processors is merged into p groups,
//!   the two lightest first; heavy groups choose first, each a processor of its own, the one of
//!   least execution plus incoming transfer time. O(v^2 p^2) as published, O(e p + v p^2) here.
//!
//! Ties: lower task index, lower processor. A group that no free processor can run as a whole is
//! placed task by task.

use super::ranks::Weights;
use super::{Partial, Slot, by_level};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::approx::{self, sort_key};
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::workflow::Shape;
use slackline_model::{HostId, Problem, ProcId, Schedule, TaskId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Registry entry.
pub const LMT: Algorithm = Algorithm {
    name: "lmt",
    family: Family::List,
    basis: Basis::Published,
    about: "level by level, long tasks first, least finish time",
    source: "Iverson, Ozguner, Follen, HCW 1995",
    complexity: "O(e p)",
    parameters: &[MERGE],
    needs: &[],
    plan: |problem, request| {
        if LMT.values(request)?.switch(MERGE.name) { merging(problem) } else { simple(problem) }
    },
};

const MERGE: Parameter = Parameter::new(
    "merge",
    Kind::Switch,
    "no",
    "a level is merged into one group per processor first, as published: O(e p + v p^2)",
);

fn simple(problem: &Problem<'_>) -> Result<Schedule, PlanError> {
    let mean = Weights::MEAN.exec_of_all(problem);
    let mut partial = Partial::appending(problem);
    for task in by_level(problem, |t| (mean[t.index()], 0.0)) {
        let slot = partial.earliest_finish(task)?;
        partial.place(task, slot);
    }
    Ok(partial.into_schedule())
}

fn merging(problem: &Problem<'_>) -> Result<Schedule, PlanError> {
    let mean = Weights::MEAN.exec_of_all(problem);
    let level = Shape::of(problem.workflow()).level;
    let order = by_level(problem, |t| (mean[t.index()], 0.0));
    let procs: Vec<ProcId> =
        problem.proc_ids().filter(|&p| problem.available_from(p).is_finite()).collect();
    let mut partial = Partial::appending(problem);
    for tasks in order.chunk_by(|a, b| level[a.index()] == level[b.index()]) {
        let mut free = procs.clone();
        for group in merge(tasks, &mean, procs.len()) {
            place_group(&mut partial, &group, &mut free)?;
        }
    }
    Ok(partial.into_schedule())
}

/// Joins the two lightest groups until there are `limit`; heavy groups first. Inside a group
/// tasks keep the order of the level.
fn merge(tasks: &[TaskId], mean: &[f64], limit: usize) -> Vec<Vec<TaskId>> {
    // Times are not negative: the bits of their keys sort like they do.
    let key = |seconds: f64| sort_key(seconds).to_bits();
    let mut groups: Vec<(f64, Vec<TaskId>)> =
        tasks.iter().map(|&t| (mean[t.index()], vec![t])).collect();
    let lightest = |groups: &[(f64, Vec<TaskId>)], g: usize| {
        (Reverse(key(groups[g].0)), Reverse(groups[g].1.iter().min().copied()), g)
    };
    let mut heap: BinaryHeap<_> = (0..groups.len()).map(|g| lightest(&groups, g)).collect();
    while heap.len() > limit.max(1) {
        let (Some((_, _, a)), Some((_, _, b))) = (heap.pop(), heap.pop()) else { break };
        let (seconds, members) = std::mem::take(&mut groups[b]);
        groups[a].0 += seconds;
        groups[a].1.extend(members);
        heap.push(lightest(&groups, a));
    }
    let order = |t: &TaskId| (Reverse(key(mean[t.index()])), *t);
    groups.retain(|(_, members)| !members.is_empty());
    for (_, members) in &mut groups {
        members.sort_by_key(order);
    }
    groups
        .sort_by_key(|(seconds, members)| (Reverse(key(*seconds)), members.iter().min().copied()));
    groups.into_iter().map(|(_, members)| members).collect()
}

/// Puts a group on the free processor of least execution and incoming transfer time.
fn place_group(
    partial: &mut Partial<'_, '_>,
    group: &[TaskId],
    free: &mut Vec<ProcId>,
) -> Result<(), PlanError> {
    let costs: Vec<f64> = free.iter().map(|&p| group_cost(partial, group, p)).collect();
    let cheapest = (0..free.len())
        .filter(|&i| costs[i].is_finite())
        .reduce(|a, b| if approx::lt(costs[b], costs[a]) { b } else { a });
    let seat = cheapest.map(|i| free.remove(i));
    for &task in group {
        let slot = seat.map(|proc| partial.slot_on(task, proc)).filter(Slot::possible);
        let slot = match slot {
            Some(slot) => slot,
            None => partial.earliest_finish(task)?,
        };
        partial.place(task, slot);
    }
    Ok(())
}

/// Execution times of a group on a processor plus all its incoming transfers.
fn group_cost(partial: &Partial<'_, '_>, group: &[TaskId], proc: ProcId) -> f64 {
    let problem = partial.problem();
    let host: HostId = problem.host_of(proc);
    let incoming = |task: TaskId| -> f64 {
        let parents = problem.workflow().predecessors(task);
        let results: f64 =
            parents.map(|(p, e)| partial.edge_arrival(p, e, host) - partial.finish_of(p)).sum();
        let inputs = problem.staged_inputs(task).iter();
        results + inputs.map(|&f| problem.arrival(f, host) - problem.state().now).sum::<f64>()
    };
    group.iter().map(|&t| problem.exec_on(t, proc) + incoming(t).max(0.0)).sum()
}
