//! What an existing plan would come to from now on: mapping and order kept, times computed anew
//! from what is known now.

use slackline_model::{Problem, Schedule, TaskId};

/// End of the last task if the unfinished tasks keep the processors and the order of `schedule`;
/// infinite when some of it can no longer run.
pub(crate) fn retimed_makespan(problem: &Problem<'_>, schedule: &Schedule) -> f64 {
    let workflow = problem.workflow();
    let state = problem.state();
    let mut free: Vec<f64> = problem.proc_ids().map(|p| problem.available_from(p)).collect();
    let mut finish = vec![0.0f64; workflow.len()];
    let mut open: Vec<(f64, usize, TaskId)> = Vec::new();
    let mut position = vec![0usize; workflow.len()];
    for (at, t) in workflow.topological_order().iter().enumerate() {
        position[t.index()] = at;
    }
    for task in workflow.tasks() {
        match state.fixed(task) {
            Some(placement) => {
                finish[task.index()] = placement.finish.max(state.now);
                for proc in placement.procs() {
                    free[proc.index()] = free[proc.index()].max(placement.finish);
                }
            }
            None => {
                let start = schedule.placement(task).map_or(0.0, |p| p.start);
                open.push((start, position[task.index()], task));
            }
        }
    }
    open.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut latest = finish.iter().copied().fold(0.0, f64::max);
    for (_, _, task) in open {
        let Some(planned) = schedule.placement(task) else { return f64::INFINITY };
        let host = problem.host_of(planned.proc());
        let mut start = planned.procs().iter().map(|p| free[p.index()]).fold(0.0, f64::max);
        for (parent, edge) in workflow.predecessors(task) {
            let source = state.fixed(parent).or_else(|| schedule.placement(parent));
            let Some(source) = source else { return f64::INFINITY };
            let bytes = workflow.edge_bytes(edge);
            let direct = finish[parent.index()]
                + problem.transfer_between(bytes, source.procs(), planned.procs());
            let copies = state.copies_of(edge).iter();
            let arrival = copies
                .map(|c| c.at.max(state.now) + problem.transfer(bytes, c.host, host))
                .fold(direct, f64::min);
            start = start.max(arrival);
        }
        let width = planned.procs().len() as u32;
        let end = start + problem.exec_wide(task, problem.class_of(planned.proc()), width);
        for proc in planned.procs() {
            free[proc.index()] = end;
        }
        finish[task.index()] = end;
        latest = latest.max(end);
    }
    latest
}
