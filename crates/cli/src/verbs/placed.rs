//! Placements by name, as the JSON documents of plans and of runs list them.

use serde::Serialize;
use slackline_model::{Problem, Schedule, TaskId};

/// Where and when a task runs.
#[derive(Serialize)]
pub(crate) struct Placed<'a> {
    task: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    processor: Option<String>,
    /// All of them, and how many, where tasks may be wide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    processors: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<usize>,
    start: f64,
    finish: f64,
}

/// Every task that has a place.
pub(crate) fn placed<'a>(problem: &Problem<'a>, schedule: &Schedule) -> Vec<Placed<'a>> {
    let workflow = problem.workflow();
    let may_be_wide = workflow.tasks().any(|t| workflow.width(t).1 > 1);
    let row = |task: TaskId| {
        let placement = schedule.placement(task)?;
        let names = || placement.procs().iter().map(|&p| problem.proc_name(p));
        let width = placement.procs().len();
        Some(Placed {
            task: workflow.task_name(task),
            processor: names().next().filter(|_| width == 1),
            processors: if may_be_wide { names().collect() } else { Vec::new() },
            width: may_be_wide.then_some(width),
            start: placement.start,
            finish: placement.finish,
        })
    };
    workflow.tasks().filter_map(row).collect()
}
