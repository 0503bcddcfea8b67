//! Delta-CTS: Delta-Critical Task Scheduling on several clusters (Suter, Grid 2007).
//!
//! Tasks by falling bottom level of mean times. Those whose level is within `delta` mean times of
//! the first one's form a critical set that is scheduled together: widths on a cluster are bounded so that
//! all of them would find room, left-over tasks counting on the clusters with most power per
//! task. Each task takes the earliest end within these bounds. A task joins a set only when its
//! parents are placed. O(v p) slots. Ties: fewer processors, lower cluster.

use super::cpa::CPA;
use super::machines::Machines;
use super::mapping::Mapper;
use super::mheft::earliest;
use super::report::told;
use super::{BACKFILL, MAX_WIDTH, Steps};
use crate::list::unfinished;
use crate::registry::{Algorithm, PlanError, Request};
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::schedule::Detail;
use slackline_model::{Problem, Schedule, TaskId, approx};

const DELTA: Parameter = Parameter::new(
    "delta",
    Kind::Number(0.0, 1.0),
    "0.5",
    "how far below the first task a task may lie to join it, in mean times of the first",
)
.published("0.5");

/// Registry entry.
pub const DELTA_CTS: Algorithm = Algorithm {
    name: "delta-cts",
    about: "sets of about equally critical tasks share the clusters",
    source: "Suter, Grid 2007",
    complexity: "O(v p + e p)",
    parameters: &[DELTA, BACKFILL, MAX_WIDTH],
    plan: delta_cts,
    ..CPA
};

fn delta_cts(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let values = DELTA_CTS.values(request)?;
    let delta = values.number("delta")?;
    let machines = Machines::new(problem, values.maybe_count("max-width"))?;
    let workflow = problem.workflow();
    let level = workflow.bottom_levels(|t| problem.mean_exec(t), |_| 0.0);
    let mut waiting: Vec<TaskId> = unfinished(problem).collect();
    let key = |t: TaskId| approx::sort_key(level[t.index()]);
    waiting.sort_by(|&a, &b| key(b).total_cmp(&key(a)).then(a.cmp(&b)));
    let mut mapper = Mapper::new(&machines);
    let (mut sets, mut all_caps) = (Vec::new(), Vec::new());
    while !waiting.is_empty() {
        let placed = |t: TaskId| mapper.schedule.placement(t).is_some();
        let free = |t: TaskId| workflow.predecessors(t).all(|(parent, _)| placed(parent));
        // With tasks of no length a child may come before its parent.
        let Some(&first) = waiting.iter().find(|&&t| free(t)) else { break };
        let bound = level[first.index()] - delta * problem.mean_exec(first);
        let critical = |t: TaskId| approx::le(bound, level[t.index()]) && free(t);
        let (set, rest): (Vec<TaskId>, Vec<TaskId>) = waiting.iter().partition(|&&t| critical(t));
        waiting = rest;
        let caps = caps(&machines, set.len());
        for &task in &set {
            let slot = earliest(&mapper, task, |cluster| {
                let (least, most) = machines.widths(task, cluster)?;
                Some((least, most.min(caps[cluster]).max(least)))
            });
            let Some(slot) = slot else {
                let task = workflow.task_name(task).to_string();
                return Err(PlanError::Nowhere { task });
            };
            mapper.place(task, slot);
        }
        let count = |n: u64| Detail::Count(n);
        sets.push(Detail::List(set.iter().map(|t| count(u64::from(t.0))).collect()));
        all_caps.push(Detail::List(caps.iter().map(|&c| count(u64::from(c))).collect()));
    }
    let steps = Steps { packing: false, backfill: values.switch("backfill") };
    let facts = vec![
        ("constraint", Detail::Number(delta)),
        ("sets", Detail::List(sets)),
        ("caps", Detail::List(all_caps)),
    ];
    Ok(told(&machines, steps.finished(&machines, mapper).schedule, facts))
}

/// The widest a task of a set of `tasks` may be on each cluster.
fn caps(machines: &Machines<'_, '_>, tasks: usize) -> Vec<u32> {
    let sizes: Vec<f64> = machines.clusters.iter().map(|c| c.size() as f64).collect();
    let power: Vec<f64> = (0..sizes.len()).map(|c| sizes[c] / machines.pace(c)).collect();
    let divisors = divisors(&power, tasks);
    sizes.iter().zip(divisors).map(|(&size, d)| ((size / d as f64) as u32).max(1)).collect()
}

/// Tasks per cluster when a set is spread evenly and the rest goes where there is most power per
/// task; at least 1.
fn divisors(power: &[f64], tasks: usize) -> Vec<usize> {
    let clusters = power.len();
    let mut share = vec![tasks / clusters; clusters];
    for _ in 0..tasks % clusters {
        let worth = |c: usize| power[c] / (share[c] + 1) as f64;
        let mut best = 0;
        for c in 1..clusters {
            if approx::gt(worth(c), worth(best)) {
                best = c;
            }
        }
        share[best] += 1;
    }
    share.into_iter().map(|d| d.max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::divisors;

    #[test]
    fn left_over_tasks_count_where_most_power_is() {
        // Eight tasks on three clusters, as in the source.
        assert_eq!(divisors(&[1.01, 1.0, 0.99], 8), [3, 3, 2]);
        assert_eq!(divisors(&[2.0, 1.0, 1.0], 8), [4, 2, 2]);
        assert_eq!(divisors(&[1.0, 1.0, 1.0], 2), [1, 1, 1]);
    }
}
