//! Placements by name, as the JSON documents of plans and of runs list them.

use serde::Serialize;
use slackline_model::{Problem, Schedule, TaskId};

/// Where and when a task runs.
#[derive(Serialize)]
pub(crate) struct Placed<'a> {
    task: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    processor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    processors: Vec<String>,
    start: f64,
    finish: f64,
}

/// Every task that has a place.
pub(crate) fn placed<'a>(problem: &Problem<'a>, schedule: &Schedule) -> Vec<Placed<'a>> {
    let workflow = problem.workflow();
    let row = |task: TaskId| {
        let placement = schedule.placement(task)?;
        let names = || placement.procs().iter().map(|&p| problem.proc_name(p));
        let wide = placement.procs().len() > 1;
        Some(Placed {
            task: workflow.task_name(task),
            processor: if wide { None } else { names().next() },
            processors: if wide { names().collect() } else { Vec::new() },
            start: placement.start,
            finish: placement.finish,
        })
    };
    workflow.tasks().filter_map(row).collect()
}
