//! Ranks: how far a task is from the ends of the workflow, in mean times.

use slackline_model::Problem;

/// Upward rank (`rank_u`, b-level): longest path to an exit in mean execution and mean transfer
/// times, the task itself included.
pub fn upward(problem: &Problem<'_>) -> Vec<f64> {
    let workflow = problem.workflow();
    workflow.bottom_levels(
        |task| problem.mean_exec(task),
        |edge| problem.mean_transfer(workflow.edge_bytes(edge)),
    )
}

/// Downward rank (`rank_d`, t-level): longest path from an entry, the task itself excluded.
pub fn downward(problem: &Problem<'_>) -> Vec<f64> {
    let workflow = problem.workflow();
    workflow.top_levels(
        |task| problem.mean_exec(task),
        |edge| problem.mean_transfer(workflow.edge_bytes(edge)),
    )
}
