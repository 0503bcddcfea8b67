//! The longest paths through a workflow whose tasks have a kind of machine but no processor yet.

use super::Course;
use super::moves::Moves;
use slackline_model::{TaskId, approx};

/// Path lengths with the times of the present kinds and mean transfers.
pub(super) struct Paths {
    /// Seconds by which each task may take longer before the longest path does.
    slack: Vec<f64>,
    length: f64,
}

impl Paths {
    pub(super) fn of(course: &Course<'_, '_>, moves: &Moves<'_, '_, '_>) -> Paths {
        let problem = course.problem;
        let workflow = problem.workflow();
        let open = |task: TaskId| problem.state().fixed(task).is_none();
        let seconds: Vec<f64> =
            workflow.tasks().map(|t| if open(t) { moves.now(t).0 } else { 0.0 }).collect();
        let exec = |task: TaskId| seconds[task.index()];
        let transfer = |edge| problem.mean_edge_transfer(edge);
        let (above, below) =
            (workflow.top_levels(exec, transfer), workflow.bottom_levels(exec, transfer));
        let through = |task: TaskId| above[task.index()] + below[task.index()];
        let length = workflow.tasks().map(through).fold(0.0, f64::max);
        Paths { slack: workflow.tasks().map(|t| length - through(t)).collect(), length }
    }

    /// By how much the longest path grows at least if a task takes so much longer.
    pub(super) fn lengthening(&self, task: TaskId, seconds: f64) -> f64 {
        let slack = self.slack[task.index()];
        if approx::le(seconds, slack) { 0.0 } else { seconds - slack }
    }

    /// Whether a task is on a longest path.
    pub(super) fn is_critical(&self, task: TaskId) -> bool {
        self.slack[task.index()] <= approx::EPSILON * self.length
    }
}
