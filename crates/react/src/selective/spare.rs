//! Spare time and slack of a schedule, with communication and machine order.

use slackline_model::{Problem, Schedule, TaskId};

/// Spare time of each task, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Spare {
    /// Per task: greatest delay that moves no dependent's start (MinSpare).
    pub min_spare: Vec<f64>,
    /// Per task: greatest delay that leaves the makespan as it is.
    pub slack: Vec<f64>,
}

impl Spare {
    /// Spare times over data edges and the order on each processor. Tasks without a placement
    /// are left at zero. O(v log v + e).
    pub fn of(problem: &Problem<'_>, schedule: &Schedule) -> Spare {
        let workflow = problem.workflow();
        let tasks = workflow.len();
        // Pairs of neighbours on a processor: (task, its successor there), sorted by task.
        let mut next: Vec<(TaskId, TaskId)> = Vec::with_capacity(tasks);
        for order in schedule.orders(problem.procs()) {
            next.extend(order.windows(2).map(|pair| (pair[0], pair[1])));
        }
        next.sort_unstable();
        // Every dependent starts after its task ends, so falling start (then falling
        // topological position, for tasks of no length) sees dependents first.
        let mut position = vec![0usize; tasks];
        for (at, task) in workflow.topological_order().iter().enumerate() {
            position[task.index()] = at;
        }
        let mut order: Vec<TaskId> =
            workflow.tasks().filter(|&t| schedule.placement(t).is_some()).collect();
        let start = |t: TaskId| schedule.placement(t).map_or(0.0, |p| p.start);
        order.sort_by(|&a, &b| {
            start(b).total_cmp(&start(a)).then(position[b.index()].cmp(&position[a.index()]))
        });
        let makespan = schedule.makespan();
        let mut spare = Spare { min_spare: vec![0.0; tasks], slack: vec![0.0; tasks] };
        for task in order {
            let Some(placement) = schedule.placement(task) else { continue };
            let by_data = workflow.successors(task).filter_map(|(child, edge)| {
                let to = schedule.placement(child)?;
                let arrival =
                    placement.finish + problem.edge_transfer(edge, placement.procs(), to.procs());
                Some((child, to.start - arrival))
            });
            let first = next.partition_point(|&(before, _)| before < task);
            let after = next[first..].iter().take_while(|(before, _)| *before == task);
            let by_machine = after.filter_map(|&(_, after)| {
                let to = schedule.placement(after)?;
                Some((after, to.start - placement.finish))
            });
            let (mut least, mut slack) = (f64::INFINITY, f64::INFINITY);
            for (dependent, spare_time) in by_data.chain(by_machine) {
                least = least.min(spare_time);
                slack = slack.min(spare_time + spare.slack[dependent.index()]);
            }
            // An exit task that ends before the makespan may be later by the difference. The papers have a single
            // exit, for which this is zero.
            let to_the_end = makespan - placement.finish;
            spare.min_spare[task.index()] = if least.is_finite() { least } else { to_the_end };
            spare.slack[task.index()] = slack.min(to_the_end.max(0.0)).max(0.0);
        }
        spare
    }
}
