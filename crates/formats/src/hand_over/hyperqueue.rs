//! A job file of HyperQueue (`hq job submit-file`): dependencies, priorities in the order of the plan, cores,
//! memory and the time a worker must have left.

use super::{planned_order, shell};
use crate::error::Result;
use slackline_model::{Problem, Schedule};
use std::fmt::Write as _;

pub(super) fn write(problem: &Problem<'_>, schedule: &Schedule) -> Result<String> {
    let workflow = problem.workflow();
    let quoted = |text: &str| toml::Value::String(text.to_string()).to_string();
    let mut text = format!("name = {}\n", quoted(workflow.name()));
    let order = planned_order(problem, schedule);
    let count = order.len();
    for (place, &task) in order.iter().enumerate() {
        let Some(placement) = schedule.placement(task) else { continue };
        let width = placement.procs().len() as u32;
        let line = shell(workflow, task)?;
        let mut parents: Vec<u32> = workflow.predecessors(task).map(|(p, _)| p.0).collect();
        parents.sort_unstable();
        let parents: Vec<String> = parents.iter().map(u32::to_string).collect();
        let seconds = (placement.finish - placement.start).ceil().max(1.0);
        let _ = write!(
            text,
            "\n# {}\n[[task]]\nid = {}\ncommand = [\"/bin/sh\", \"-c\", {}]\npriority = {}\n",
            workflow.task_name(task).replace(char::is_control, "_"),
            task.0,
            quoted(&line),
            count - place
        );
        if !parents.is_empty() {
            let _ = writeln!(text, "deps = [{}]", parents.join(", "));
        }
        let mut resources = format!("\"cpus\" = \"{width}\"");
        if let Some(mebibytes) = super::mebibytes(workflow, task, width) {
            let _ = write!(resources, ", \"mem\" = \"{mebibytes}\"");
        }
        let _ = write!(
            text,
            "[[task.request]]\nresources = {{ {resources} }}\ntime_request = \"{seconds}s\"\n"
        );
    }
    Ok(text)
}
