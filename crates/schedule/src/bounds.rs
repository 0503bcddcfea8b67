//! Lower bounds: no schedule of the problem ends earlier.

use slackline_model::Problem;

/// The best of the bounds below.
pub fn lower_bound(problem: &Problem<'_>) -> f64 {
    critical_path(problem).max(area(problem))
}

/// Longest path with every task on its fastest processor and free transfers. What is done or
/// running counts with its actual end.
pub fn critical_path(problem: &Problem<'_>) -> f64 {
    let workflow = problem.workflow();
    let mut end = vec![0.0f64; workflow.len()];
    let mut latest = 0.0f64;
    for &task in workflow.topological_order() {
        end[task.index()] = match problem.state().fixed(task) {
            Some(placement) => placement.finish,
            None => {
                let parents = workflow.predecessors(task).map(|(p, _)| end[p.index()]);
                parents.fold(problem.release(task), f64::max) + problem.best_exec(task)
            }
        };
        latest = latest.max(end[task.index()]);
    }
    latest
}

/// All unfinished work at its fastest, spread evenly over all processors from now on.
pub fn area(problem: &Problem<'_>) -> f64 {
    let workflow = problem.workflow();
    let work: f64 = workflow
        .tasks()
        .filter(|&t| problem.state().fixed(t).is_none())
        .map(|t| problem.best_exec(t) * f64::from(workflow.width(t).0))
        .sum();
    if work == 0.0 {
        return 0.0;
    }
    problem.state().now + work / problem.procs() as f64
}
