//! HEFT: Heterogeneous Earliest Finish Time (Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002).
//!
//! Tasks by falling upward rank; each goes to the processor on which it finishes first, into the
//! earliest gap that holds it. O(e p) for the placement. Ties: lower task index; of processors the one
//! on which the task costs less, where machines have prices, then the lower one.
//! Fails only where a task can run on no processor.
//!
//! The rank needs one number per task and per transfer where processors and links give many.
//! Zhao and Sakellariou (Euro-Par 2003) compare the choices: the mean (the original), the median,
//! the worst and the best processor of each task with the link between those two processors, and
//! the plain worst and best of tasks and of links, each on its own ("simple").

use super::ranks::{self, Weights};
use super::{Partial, ReadyList, Slot};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::{HostId, Problem, Schedule, TaskId};

/// Registry entry: ranks of mean times.
pub const HEFT: Algorithm = Algorithm {
    name: "heft",
    family: Family::List,
    basis: Basis::Published,
    about: "falling upward rank, least finish time, insertion",
    source: "Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002",
    complexity: "O(e p)",
    parameters: &[],
    needs: &[],
    plan: |problem, _| by_rank(problem, &ranks::upward(problem)),
};

/// Registry entry: the mean of transfer times instead of the time at mean bandwidth.
pub const MEAN_TIME: Algorithm = Algorithm {
    name: "heft-meantime",
    about: "HEFT, ranks from mean transfer times instead of mean bandwidth",
    plan: |problem, _| by_rank(problem, &ranks::upward_by(problem, Weights::MEAN_TIME)),
    ..HEFT
};

const RANK_VARIANT: Algorithm = Algorithm {
    basis: Basis::Recalled,
    source: "Zhao, Sakellariou, Euro-Par 2003 (LNCS 2790)",
    ..HEFT
};

/// Registry entry: median execution times.
pub const MEDIAN: Algorithm = Algorithm {
    name: "heft-median",
    about: "HEFT, ranks from median execution times",
    plan: |problem, _| by_rank(problem, &ranks::upward_by(problem, Weights::MEDIAN)),
    ..RANK_VARIANT
};

/// Registry entry: every task on its slowest processor.
pub const WORST: Algorithm = Algorithm {
    name: "heft-worst",
    about: "HEFT, ranks as if every task ran on its slowest processor",
    plan: |problem, _| by_rank(problem, &extreme_rank(problem, |a, b| a > b)),
    ..RANK_VARIANT
};

/// Registry entry: every task on its fastest processor.
pub const BEST: Algorithm = Algorithm {
    name: "heft-best",
    about: "HEFT, ranks as if every task ran on its fastest processor",
    plan: |problem, _| by_rank(problem, &extreme_rank(problem, |a, b| a < b)),
    ..RANK_VARIANT
};

/// Registry entry: slowest processors and slowest links.
pub const SIMPLE_WORST: Algorithm = Algorithm {
    name: "heft-simple-worst",
    about: "HEFT, ranks from slowest processors and slowest links",
    plan: |problem, _| {
        let rank = simple_rank(problem, |t| problem.worst_exec(t), (0.0, f64::max));
        by_rank(problem, &rank)
    },
    ..RANK_VARIANT
};

/// Registry entry: fastest processors and fastest links.
pub const SIMPLE_BEST: Algorithm = Algorithm {
    name: "heft-simple-best",
    about: "HEFT, ranks from fastest processors and fastest links",
    plan: |problem, _| {
        let rank = simple_rank(problem, |t| problem.best_exec(t), (f64::INFINITY, f64::min));
        by_rank(problem, &rank)
    },
    ..RANK_VARIANT
};

/// The placement of HEFT for any rank.
pub fn by_rank(problem: &Problem<'_>, rank: &[f64]) -> Result<Schedule, PlanError> {
    let mut ready = ReadyList::new(problem, rank);
    let mut partial = Partial::new(problem);
    let priced = problem.platform().is_priced();
    while let Some(task) = ready.pop() {
        let slot = match priced {
            false => partial.earliest_finish(task)?,
            true => {
                let cost =
                    |slot: &Slot| problem.exec_on(task, slot.proc) * problem.price(slot.proc);
                partial.best_slot(task, |slot| (slot.finish, cost(slot)))?
            }
        };
        partial.place(task, slot);
    }
    Ok(partial.into_schedule())
}

/// Upward rank when every task sits on the processor whose time is first by `before`.
fn extreme_rank(problem: &Problem<'_>, before: fn(f64, f64) -> bool) -> Vec<f64> {
    // The first processor of each class stands for it.
    let mut seat: Vec<Option<HostId>> = vec![None; problem.classes()];
    for proc in problem.proc_ids() {
        seat[problem.class_of(proc)].get_or_insert(problem.host_of(proc));
    }
    let choose = |task: TaskId| {
        let times = (0..problem.classes()).map(|c| (problem.exec(task, c), c));
        let first = times
            .filter(|(seconds, _)| seconds.is_finite())
            .reduce(|best, next| if before(next.0, best.0) { next } else { best });
        first.unwrap_or((0.0, 0))
    };
    let workflow = problem.workflow();
    let chosen: Vec<(f64, usize)> = workflow.tasks().map(choose).collect();
    workflow.bottom_levels(
        |task| chosen[task.index()].0,
        |edge| {
            let (from, to) = workflow.edge_ends(edge);
            let host = |task: TaskId| seat[chosen[task.index()].1];
            match (host(from), host(to)) {
                (Some(from), Some(to)) => {
                    let seconds = problem.transfer(workflow.edge_bytes(edge), from, to);
                    if seconds.is_finite() { seconds } else { 0.0 }
                }
                _ => 0.0,
            }
        },
    )
}

/// Upward rank from one extreme of execution times and `pick`ed links between different hosts.
fn simple_rank(
    problem: &Problem<'_>,
    exec: impl Fn(TaskId) -> f64,
    (neutral, pick): (f64, fn(f64, f64) -> f64),
) -> Vec<f64> {
    let network = problem.network();
    let mut members = vec![0u32; network.groups];
    for &group in &network.group_of {
        members[group as usize] += 1;
    }
    let pairs: Vec<(f64, f64)> = (0..network.groups * network.groups)
        .filter(|&at| {
            at / network.groups != at % network.groups || members[at / network.groups] > 1
        })
        .map(|at| (network.latency[at], network.bandwidth[at]))
        .filter(|(latency, _)| latency.is_finite())
        .collect();
    let workflow = problem.workflow();
    workflow.bottom_levels(exec, |edge| {
        let bytes = workflow.edge_bytes(edge);
        let times = pairs.iter().map(|(latency, bandwidth)| latency + bytes / bandwidth);
        let extreme = times.fold(neutral, pick);
        if extreme.is_finite() { extreme } else { 0.0 }
    })
}
