//! Overheads of workflow systems: a start-up time per task and a wait before the first; for
//! forecasts, and fitted to recorded runs.
//!
//! A recorded run ends later than any plan of its tasks: jobs are submitted, matched and started.
//! One run determines one figure, so all of the gap is put down to the start-up of tasks: the
//! overhead is the one with which the usual planner's plan on the recorded machines ends when the
//! run did. Only a part of the recorded processors counts: recordings count hardware threads, of
//! which workflow systems never keep all busy, and an overhead that is fitted to all of them
//! predicts other runs worse (docs/plans.md).

use slackline_model::scenario::Measured;
use slackline_model::workflow::CostTable;
use slackline_model::{Platform, Problem, ProblemError, Schedule, TaskId, Workflow};
use slackline_schedule::{PlanError, Request, registry};
use thiserror::Error;

/// Recorded processors of a machine that count as one slot for tasks when overheads are fitted.
const PROCESSORS_PER_SLOT: u32 = 4;

/// Slots of a machine that recorded so many processors.
pub fn slots(processors: u32) -> u32 {
    processors.div_ceil(PROCESSORS_PER_SLOT).max(1)
}

/// The reason why no overhead can be fitted.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages of the causes say it
pub enum FitError {
    #[error(transparent)]
    Problem(#[from] ProblemError),
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// A workflow whose tasks take some seconds more on every machine of a platform. A task on several processors
/// takes them once.
pub fn with_overhead(workflow: &Workflow, platform: &Platform, seconds: f64) -> Workflow {
    // Times stand for one processor: of the seconds a wide task gets what its speed-up makes of them.
    let own = |task: TaskId| {
        let factor = workflow.speedup(task).factor(workflow.width(task).0);
        if factor > 0.0 { seconds / factor } else { seconds }
    };
    if let Some(table) = workflow.cost_table() {
        let table = longer(table, |task| own(TaskId::new(task)));
        return workflow.clone().with_cost_table(table);
    }
    let computing = || platform.classes().iter().filter(|class| class.cores > 0);
    let speed = computing().next().map_or(1.0, |class| class.speed);
    if computing().all(|class| class.speed == speed) {
        let reference = workflow.reference_speed();
        return workflow.clone().with_work(reference, |w, task| w.work(task) + own(task) * speed);
    }
    let columns = platform.classes().iter().map(|class| class.name.to_string()).collect();
    let time = |task: TaskId| {
        platform.classes().iter().map(move |class| match class.cores {
            0 => 0.0,
            _ => workflow.work(task) / class.speed + own(task),
        })
    };
    let table = CostTable { columns, seconds: workflow.tasks().flat_map(time).collect() };
    workflow.clone().with_cost_table(table)
}

/// Run times that a file states beside its estimates, with the same seconds more.
pub fn measured_with_overhead(measured: &Measured, seconds: f64) -> Measured {
    Measured { seconds: longer(&measured.seconds, |_| seconds), bytes: measured.bytes.clone() }
}

fn longer(table: &CostTable, more: impl Fn(usize) -> f64) -> CostTable {
    let columns = table.columns.len().max(1);
    let seconds = table.seconds.iter().enumerate();
    let seconds = seconds.map(|(at, seconds)| seconds + more(at / columns)).collect();
    CostTable { columns: table.columns.clone(), seconds }
}

/// Returns the makespan of the usual planner's plan.
pub fn planned(workflow: &Workflow, platform: &Platform) -> Result<f64, FitError> {
    let problem = Problem::new(workflow, platform)?;
    let schedule = registry::usual(&problem).plan(&problem, &Request::default())?;
    Ok(schedule.makespan())
}

/// The overhead per task with which a plan of a recorded run ends when the run did; 0 where it ends later
/// without any.
pub fn fitted(workflow: &Workflow, platform: &Platform, makespan: f64) -> Result<f64, FitError> {
    /// Rounds of halving: to a thousandth of a part per million of the makespan.
    const ROUNDS: usize = 30;
    let end = |seconds: f64| planned(&with_overhead(workflow, platform, seconds), platform);
    if planned(workflow, platform)? >= makespan {
        return Ok(0.0);
    }
    let (mut low, mut high) = (0.0, makespan);
    for _ in 0..ROUNDS {
        let middle = 0.5 * (low + high);
        if end(middle)? < makespan {
            low = middle
        } else {
            high = middle
        }
        if high - low <= 1e-4 * high {
            break;
        }
    }
    Ok(0.5 * (low + high))
}

/// Seconds that the tasks of a run waited though their processor was free and their data there: what
/// starting them took. Tasks that did not succeed at the first attempt, and those that could begin before one of the dates of
/// `interruptions` and began after it, tell nothing of that.
pub fn gaps(
    problem: &Problem<'_>,
    schedule: &Schedule,
    is_repeated: impl Fn(TaskId) -> bool,
    interruptions: &[f64],
) -> Vec<f64> {
    let workflow = problem.workflow();
    let mut tasks: Vec<TaskId> =
        workflow.tasks().filter(|&t| schedule.placement(t).is_some()).collect();
    let start = |t: TaskId| schedule.placement(t).map_or(0.0, |p| p.start);
    tasks.sort_by(|&a, &b| start(a).total_cmp(&start(b)).then(a.cmp(&b)));
    let mut free = vec![0.0f64; problem.procs()];
    let mut gaps = Vec::with_capacity(tasks.len());
    for task in tasks {
        let Some(placement) = schedule.placement(task) else { continue };
        let procs = placement.procs().iter();
        let mut ready = procs.map(|p| free[p.index()]).fold(0.0, f64::max);
        for (parent, edge) in workflow.predecessors(task) {
            if let Some(made) = schedule.placement(parent) {
                let way = problem.edge_transfer(edge, made.procs(), placement.procs());
                ready = ready.max(made.finish + way);
            }
        }
        let interrupted = interruptions.iter().any(|&date| ready < date && date <= placement.start);
        if !interrupted && !is_repeated(task) {
            gaps.push((placement.start - ready).max(0.0));
        }
        for proc in placement.procs() {
            free[proc.index()] = free[proc.index()].max(placement.finish);
        }
    }
    gaps
}

/// Returns the start of the first task of a run.
pub fn first_start(schedule: &Schedule) -> Option<f64> {
    schedule.placements.iter().flatten().map(|p| p.start).reduce(f64::min)
}

/// A plan as it is after a wait: all its dates are later.
pub fn delayed(mut schedule: Schedule, wait: f64) -> Schedule {
    if wait == 0.0 {
        return schedule;
    }
    for placement in schedule.placements.iter_mut().flatten() {
        placement.start += wait;
        placement.finish += wait;
    }
    for transfer in &mut schedule.transfers {
        transfer.start += wait;
        transfer.finish += wait;
    }
    for lease in &mut schedule.leases {
        lease.from += wait;
        lease.to += wait;
    }
    schedule
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a panic is how a test fails

    use super::*;
    use slackline_model::platform::{HostSpec, PlatformBuilder};
    use slackline_model::{Task, WorkflowBuilder};

    fn chain_and_star() -> Workflow {
        let mut w = WorkflowBuilder::new("w");
        for (name, seconds) in [("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 4.0)] {
            w.add_task(Task::new(name, seconds * 1e9)).unwrap();
        }
        for (from, to) in [(0, 1), (0, 2), (1, 3), (2, 3)] {
            w.add_control(TaskId(from), TaskId(to)).unwrap();
        }
        w.build().unwrap()
    }

    fn platform(speeds: &[f64]) -> Platform {
        let mut p = PlatformBuilder::new("p");
        let root = p.root().unwrap();
        for (at, &speed) in speeds.iter().enumerate() {
            p.add_host(root, HostSpec::new(format!("h{at}"), speed)).unwrap();
        }
        p.build().unwrap()
    }

    #[test]
    fn every_task_takes_longer_by_the_same_on_every_machine() {
        let workflow = chain_and_star();
        for speeds in [&[1e9][..], &[1e9, 1e9], &[1e9, 4e9, 2e9]] {
            let platform = platform(speeds);
            let plain = Problem::new(&workflow, &platform).unwrap();
            let longer = with_overhead(&workflow, &platform, 5.0);
            let problem = Problem::new(&longer, &platform).unwrap();
            for task in workflow.tasks() {
                for proc in plain.proc_ids() {
                    let more = problem.exec_on(task, proc) - plain.exec_on(task, proc);
                    assert!((more - 5.0).abs() < 1e-9, "{more} on {speeds:?}");
                }
            }
        }
    }

    #[test]
    fn the_overhead_of_a_run_is_found_again() {
        let (workflow, platform) = (chain_and_star(), platform(&[1e9, 1e9]));
        // Three levels: 1 + 3 + 4 s and three times the overhead.
        let found = fitted(&workflow, &platform, 8.0 + 3.0 * 7.0).unwrap();
        assert!((found - 7.0).abs() < 1e-2, "{found}");
        assert_eq!(fitted(&workflow, &platform, 3.0).unwrap(), 0.0);
        assert_eq!([1, 4, 5, 48].map(slots), [1, 1, 2, 12]);
    }
}
