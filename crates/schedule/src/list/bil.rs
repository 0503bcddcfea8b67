//! BIL: Best Imaginary Level (Oh, Ha, Euro-Par 1996).
//!
//! `BIL(i, j)` is the time from the start of task i on processor j to the end when every
//! descendant gets its best processor; the best imaginary makespan `BIM(i, j)` adds the earliest
//! start. With k ready tasks, a task's priority is its k-th smallest BIM (it may have to go to
//! its k-th choice), largest first; it goes where `BIM(i, j) + exec(i, j) max(k / p - 1, 0)` is
//! least, without insertion. Each ready task keeps its BIMs sorted; placing a task moves one of
//! them. O(v w p) for graphs of width w. Optimal on chains. Ties: lower task, lower processor.

use super::ranks::{TRANSFER, Weights};
use super::{OptimisticCosts, Partial, Readiness, Slot};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::{HostId, Problem, ProcId, Schedule, TaskId, approx};

/// Registry entry.
pub const BIL: Algorithm = Algorithm {
    name: "bil",
    family: Family::List,
    basis: Basis::Published,
    about: "ready task of largest k-th best imaginary makespan",
    source: "Oh, Ha, Euro-Par 1996",
    complexity: "O(v^2 p)",
    parameters: &[TRANSFER],
    needs: &[],
    plan: |problem, request| plan(problem, Weights::of(&BIL.values(request)?)),
};

fn plan(problem: &Problem<'_>, weights: Weights) -> Result<Schedule, PlanError> {
    let costs = OptimisticCosts::new(problem, weights);
    let mut partial = Partial::appending(problem);
    let (mut readiness, mut newly) = Readiness::new(problem);
    let mut ready: Vec<Imagined> = Vec::new();
    loop {
        for task in newly.drain(..) {
            ready.push(Imagined::new(&mut partial, &costs, task)?);
        }
        let choices = ready.len();
        let Some(next) = first(&ready) else { break };
        let Imagined { task, makespans, .. } = ready.swap_remove(next);
        let crowding = (choices as f64 / problem.procs() as f64 - 1.0).max(0.0);
        let slot = choose(&mut partial, task, &makespans, crowding)?;
        partial.place(task, slot);
        readiness.placed(task, |child| newly.push(child));
        let host = problem.host_of(slot.proc);
        for other in &mut ready {
            other.renew(&partial, host);
        }
    }
    Ok(partial.into_schedule())
}

/// A ready task with its best imaginary makespans.
struct Imagined {
    task: TaskId,
    /// When its data is on each host.
    ready: Vec<f64>,
    /// Makespan per processor; infinite where the task cannot run.
    makespans: Vec<f64>,
    /// Basic imaginary level after the start, per processor.
    levels: Vec<f64>,
    /// The finite makespans, sorted.
    sorted: Vec<f64>,
}

impl Imagined {
    fn new(
        partial: &mut Partial<'_, '_>,
        costs: &OptimisticCosts,
        task: TaskId,
    ) -> Result<Self, PlanError> {
        let problem = partial.problem();
        let ready = partial.data_ready(task).to_vec();
        let row = costs.row(task);
        let level = |p: ProcId| problem.exec_on(task, p) + row[problem.class_of(p)];
        let levels: Vec<f64> = problem.proc_ids().map(level).collect();
        let mut imagined =
            Imagined { task, ready, makespans: Vec::new(), levels, sorted: Vec::new() };
        imagined.makespans = problem.proc_ids().map(|p| imagined.makespan(partial, p)).collect();
        imagined.sorted = imagined.makespans.iter().copied().filter(|m| m.is_finite()).collect();
        imagined.sorted.sort_by(f64::total_cmp);
        if imagined.sorted.is_empty() { Err(partial.nowhere(task)) } else { Ok(imagined) }
    }

    fn makespan(&self, partial: &Partial<'_, '_>, proc: ProcId) -> f64 {
        let host = partial.problem().host_of(proc);
        let slot = partial.slot_after(self.task, proc, self.ready[host.index()]);
        if slot.possible() { slot.start + self.levels[proc.index()] } else { f64::INFINITY }
    }

    /// Something was placed on a host: its processors are free later.
    fn renew(&mut self, partial: &Partial<'_, '_>, host: HostId) {
        for proc in partial.problem().procs_of(host).map(ProcId) {
            let old = self.makespans[proc.index()];
            if old.is_infinite() {
                continue;
            }
            let new = self.makespan(partial, proc);
            if new == old {
                continue;
            }
            self.makespans[proc.index()] = new;
            let from = self.sorted.partition_point(|&m| m < old);
            let to = self.sorted.partition_point(|&m| m < new);
            // Of a task over several hosts other processors, nearer to its data, may come first now.
            if new < old {
                self.sorted[to..=from].rotate_right(1);
                self.sorted[to] = new;
            } else {
                self.sorted[from..to].rotate_left(1);
                self.sorted[to - 1] = new;
            }
        }
    }

    /// The k-th smallest makespan, or the largest.
    fn priority(&self, k: usize) -> f64 {
        self.sorted[k.min(self.sorted.len()) - 1]
    }
}

/// The ready task that goes next.
fn first(ready: &[Imagined]) -> Option<usize> {
    let key = |i: usize| approx::sort_key(ready[i].priority(ready.len()));
    let before = |a: usize, b: usize| {
        key(a).total_cmp(&key(b)).reverse().then(ready[a].task.cmp(&ready[b].task)).is_lt()
    };
    (0..ready.len()).reduce(|best, next| if before(next, best) { next } else { best })
}

/// The processor of least makespan, fast ones preferred when tasks crowd.
fn choose(
    partial: &mut Partial<'_, '_>,
    task: TaskId,
    makespans: &[f64],
    crowding: f64,
) -> Result<Slot, PlanError> {
    let problem = partial.problem();
    let score = |p: ProcId| makespans[p.index()] + problem.exec_on(task, p) * crowding;
    let possible = problem.proc_ids().filter(|p| makespans[p.index()].is_finite());
    let best = possible.reduce(|a, b| if approx::lt(score(b), score(a)) { b } else { a });
    best.map(|proc| partial.slot_on(task, proc)).ok_or_else(|| partial.nowhere(task))
}
