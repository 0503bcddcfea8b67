//! Simple baselines: every task is placed in topological order, without ranks, after the last task of its processor (Maheswaran et al., JPDC 59(2), 1999;
//! Braun et al., JPDC 61(6), 2001 for MCT, MET and OLB).
//!
//! - `mct`: where it finishes first. O(e p).
//! - `met`: where it runs fastest, however long it waits. O(e p).
//! - `olb`: on the processor that is idle first, however slow. O(e p).
//! - `round-robin`: on the processors in turn. O(e).
//! - `random`: on a random processor. O(e).
//!
//! Ties: lower processor. Processors that cannot run a task are skipped. A wide task is on one host; its processor
//! stands for the host.

use super::{Partial, Slot};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use rand::RngExt;
use slackline_model::rng::stream;
use slackline_model::{Problem, ProcId, Schedule, TaskId, approx};

/// Registry entry: minimum completion time.
pub const MCT: Algorithm = Algorithm {
    name: "mct",
    family: Family::List,
    basis: Basis::Published,
    about: "tasks as they come, each where it finishes first",
    source: "Maheswaran et al., JPDC 59(2), 1999",
    complexity: "O(e p)",
    parameters: &[],
    needs: &[],
    plan: |problem, _| place_each(problem, |partial, task| partial.earliest_finish(task)),
};

/// Registry entry: minimum execution time.
pub const MET: Algorithm = Algorithm {
    name: "met",
    about: "tasks as they come, each where it runs fastest",
    plan: |problem, _| {
        place_each(problem, |partial, task| {
            partial.best_slot(task, |slot| problem.exec_on(task, slot.proc))
        })
    },
    ..MCT
};

/// Registry entry: opportunistic load balancing.
pub const OLB: Algorithm = Algorithm {
    name: "olb",
    about: "tasks as they come, each on the processor that is idle first",
    plan: |problem, _| {
        let mut idle: Vec<f64> = Vec::new();
        place_each(problem, |partial, task| {
            idle.clear();
            idle.extend(problem.proc_ids().map(|p| partial.timeline(p).tail()));
            let wide = problem.workflow().width(task).0 > 1;
            let idle_at = |proc: ProcId| {
                if wide {
                    let procs = problem.procs_of(problem.host_of(proc));
                    procs.map(|p| idle[p as usize]).fold(f64::INFINITY, f64::min)
                } else {
                    idle[proc.index()]
                }
            };
            let (mut first, mut least) = (None, f64::INFINITY);
            partial.slots(task, |slot, _| {
                let idle = idle_at(slot.proc);
                if approx::lt(idle, least) {
                    (first, least) = (Some(slot), idle);
                }
            });
            first.ok_or_else(|| partial.nowhere(task))
        })
    },
    ..MCT
};

/// Registry entry: one processor after the other.
pub const ROUND_ROBIN: Algorithm = Algorithm {
    name: "round-robin",
    about: "tasks as they come, on one processor after the other",
    source: "folklore",
    complexity: "O(e)",
    parameters: &[],
    needs: &[],
    plan: |problem, _| {
        let procs: Vec<ProcId> = problem.proc_ids().collect();
        let mut next = 0;
        place_each(problem, |partial, task| {
            let from = next;
            let turns = (0..procs.len()).map(|k| (from + k) % procs.len());
            first_possible(partial, task, turns.map(|k| procs[k]), || {
                next = (next + 1) % procs.len()
            })
        })
    },
    ..MCT
};

/// Registry entry: a random processor.
pub const RANDOM: Algorithm = Algorithm {
    name: "random",
    about: "tasks as they come, on random processors",
    source: "folklore",
    complexity: "O(e)",
    parameters: &[],
    needs: &[],
    plan: |problem, request| {
        let mut rng = stream(request.seed, "random planner", 0);
        let mut procs: Vec<ProcId> = problem.proc_ids().collect();
        place_each(problem, |partial, task| {
            // Draws without replacement, so that every processor that can run the task is equally likely.
            for k in 0..procs.len() {
                let drawn = rng.random_range(k..procs.len());
                procs.swap(k, drawn);
                let slot = partial.slot_on(task, procs[k]);
                if slot.possible() {
                    return Ok(slot);
                }
            }
            Err(partial.nowhere(task))
        })
    },
    ..MCT
};

/// Places the unfinished tasks in topological order at the slots returned by `choose`.
fn place_each<'a, 'p>(
    problem: &'a Problem<'p>,
    mut choose: impl FnMut(&mut Partial<'a, 'p>, TaskId) -> Result<Slot, PlanError>,
) -> Result<Schedule, PlanError> {
    let mut partial = Partial::appending(problem);
    for &task in problem.workflow().topological_order() {
        if problem.state().fixed(task).is_none() {
            let slot = choose(&mut partial, task)?;
            partial.place(task, slot);
        }
    }
    Ok(partial.into_schedule())
}

/// The first processor that can run a task; `tried` runs for each candidate up to it.
fn first_possible(
    partial: &Partial<'_, '_>,
    task: TaskId,
    procs: impl Iterator<Item = ProcId>,
    mut tried: impl FnMut(),
) -> Result<Slot, PlanError> {
    for proc in procs {
        tried();
        let slot = partial.slot_on(task, proc);
        if slot.possible() {
            return Ok(slot);
        }
    }
    Err(partial.nowhere(task))
}
