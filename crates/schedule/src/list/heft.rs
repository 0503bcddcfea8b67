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

use super::ranks::{self, ExecWeight, TRANSFER, Weights};
use super::{Partial, ReadyList, Slot};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::parameter::{self, Kind, Parameter, Values};
use slackline_model::{HostId, Problem, Schedule, TaskId};

/// Registry entry.
pub const HEFT: Algorithm = Algorithm {
    name: "heft",
    family: Family::List,
    basis: Basis::Published,
    about: "falling upward rank, least finish time, insertion",
    source: "Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002",
    complexity: "O(e p)",
    parameters: &[RANK, TRANSFER],
    needs: &[],
    plan: |problem, request| by_rank(problem, &rank(problem, &HEFT.values(request)?)?),
};

/// The variants of Zhao and Sakellariou, by name.
pub(crate) const RANK_VARIANT: Algorithm = Algorithm {
    basis: Basis::Recalled,
    source: "Zhao, Sakellariou, Euro-Par 2003 (LNCS 2790)",
    ..HEFT
};

const RANK: Parameter = Parameter::new(
    "rank",
    Kind::Choice(&["mean", "median", "worst", "best", "simple-worst", "simple-best"]),
    "mean",
    "what stands for times in ranks: means, medians, each task's slowest or fastest processor and \
     the link between those, or slowest or fastest processors and links each on their own",
);

/// Ranks as the parameters have them.
fn rank(problem: &Problem<'_>, values: &Values) -> Result<Vec<f64>, PlanError> {
    let weights = Weights::of(values);
    let word = values.word(RANK.name);
    if weights == Weights::MEAN_TIME && !matches!(word, "mean" | "median") {
        let why = format!("ranks of {word} processors take no mean of transfers");
        return Err(parameter::bad(TRANSFER.name, "time", why).into());
    }
    let (least, most): (Links, Links) = ((f64::INFINITY, f64::min), (0.0, f64::max));
    Ok(match word {
        "median" => ranks::upward_by(problem, Weights { exec: ExecWeight::Median, ..weights }),
        "worst" => extreme_rank(problem, |a, b| a > b),
        "best" => extreme_rank(problem, |a, b| a < b),
        "simple-worst" => simple_rank(problem, |t| problem.worst_exec(t), most),
        "simple-best" => simple_rank(problem, |t| problem.best_exec(t), least),
        _ => ranks::upward_by(problem, weights),
    })
}

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
    // The first processor of each class represents it.
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
                (Some(from), Some(to)) if !workflow.is_control(edge) => {
                    let seconds = problem.payload_transfer(workflow.edge_payload(edge), from, to);
                    if seconds.is_finite() { seconds } else { 0.0 }
                }
                _ => 0.0,
            }
        },
    )
}

/// Start value of a fold over links, and its function.
type Links = (f64, fn(f64, f64) -> f64);

/// Upward rank from one extreme of execution times and `pick`ed links between different hosts.
fn simple_rank(
    problem: &Problem<'_>,
    exec: impl Fn(TaskId) -> f64,
    (neutral, pick): Links,
) -> Vec<f64> {
    let network = problem.network();
    let mut members = vec![0u32; network.groups];
    for &group in &network.group_of {
        members[group as usize] += 1;
    }
    let pairs: Vec<(f64, f64, f64)> = (0..network.groups * network.groups)
        .filter(|&at| {
            at / network.groups != at % network.groups || members[at / network.groups] > 1
        })
        .map(|at| {
            let streams = network.streams.get(at).copied().unwrap_or(1.0);
            (network.latency[at], network.bandwidth[at], streams)
        })
        .filter(|(latency, ..)| latency.is_finite())
        .collect();
    let workflow = problem.workflow();
    workflow.bottom_levels(exec, |edge| {
        if workflow.is_control(edge) {
            return 0.0;
        }
        let payload = workflow.edge_payload(edge);
        let times = pairs.iter().map(|(latency, bandwidth, streams)| {
            latency + payload.serial_bytes(*streams) / bandwidth
        });
        let extreme = times.fold(neutral, pick);
        if extreme.is_finite() { extreme } else { 0.0 }
    })
}
