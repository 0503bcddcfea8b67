//! A CWL workflow as one JSON document: a command-line tool for each task, inputs staged under their names.

use super::{named_files, shell, silent_parents};
use crate::error::{FormatError, Result};
use serde_json::{Map, Value, json};
use slackline_model::{TaskId, Workflow};
use std::collections::BTreeMap;

/// Output that represents the end of a task.
const DONE: &str = "done";

pub(super) fn write(workflow: &Workflow) -> Result<String> {
    let step = |task: TaskId| format!("t{}", task.0);
    // Which output of which step, or which input of the workflow, a file is.
    let mut source: BTreeMap<&str, String> = BTreeMap::new();
    let mut inputs = Map::new();
    for task in workflow.tasks() {
        for (number, name) in named_files(workflow, workflow.outputs(task)).enumerate() {
            source.insert(name, format!("{}/o{number}", step(task)));
        }
    }
    for file in workflow.files().filter(|&file| workflow.producer(file).is_none()) {
        let name = workflow.file_name(file);
        if !name.is_empty() {
            let id = format!("in{}", file.0);
            inputs.insert(
                id.clone(),
                json!({"type": "File", "default": {"class": "File", "location": name}}),
            );
            source.insert(name, id);
        }
    }
    let mut steps = Map::new();
    let mut results = Map::new();
    for task in workflow.tasks() {
        let mut tool_inputs = Map::new();
        let mut staged = Vec::new();
        let mut links = Map::new();
        for (number, name) in named_files(workflow, workflow.inputs(task)).enumerate() {
            let Some(from) = source.get(name) else {
                return Err(FormatError::new(format!("no task writes the file '{name}'")));
            };
            let id = format!("i{number}");
            staged.push(json!({"entryname": name, "entry": format!("$(inputs.{id})")}));
            links.insert(id.clone(), Value::from(from.as_str()));
            tool_inputs.insert(id, Value::from("File"));
        }
        for (number, parent) in silent_parents(workflow, task).into_iter().enumerate() {
            let id = format!("after{number}");
            links.insert(id.clone(), Value::from(format!("{}/{DONE}", step(parent))));
            tool_inputs.insert(id, Value::from("File"));
        }
        let mut tool_outputs = Map::new();
        let mut names = Vec::new();
        for (number, name) in named_files(workflow, workflow.outputs(task)).enumerate() {
            let id = format!("o{number}");
            tool_outputs.insert(
                id.clone(),
                json!({"type": "File", "outputBinding": {"glob": escaped(name)}}),
            );
            if workflow.out_degree(task) == 0 {
                results.insert(
                    format!("{}_{id}", step(task)),
                    json!({"type": "File", "outputSource": format!("{}/{id}", step(task))}),
                );
            }
            names.push(id);
        }
        tool_outputs.insert(DONE.to_string(), Value::from("stdout"));
        if workflow.out_degree(task) == 0 && names.is_empty() {
            results.insert(
                step(task),
                json!({"type": "File", "outputSource": format!("{}/{DONE}", step(task))}),
            );
        }
        names.push(DONE.to_string());
        let width = workflow.width(task).0;
        let mut needs = json!({"coresMin": width});
        let bytes = workflow.memory_at(task, width);
        if bytes > 0.0 {
            needs["ramMin"] = Value::from((bytes / (1024.0 * 1024.0)).ceil());
        }
        let tool = json!({
            "class": "CommandLineTool",
            "label": workflow.kind_name(workflow.kind(task)),
            "requirements": {
                "InitialWorkDirRequirement": {"listing": staged},
                "ResourceRequirement": needs,
            },
            "baseCommand": ["/bin/sh", "-c"],
            "arguments": [shell(workflow, task)?.replace("$(", "\\$(").replace("${", "\\${")],
            "stdout": format!(".slackline-{}", task.0),
            "inputs": tool_inputs,
            "outputs": tool_outputs,
        });
        steps.insert(
            step(task),
            json!({"label": workflow.task_name(task), "run": tool, "in": links, "out": names}),
        );
    }
    let document = json!({
        "cwlVersion": "v1.2",
        "class": "Workflow",
        "label": workflow.name(),
        "inputs": inputs,
        "steps": steps,
        "outputs": results,
    });
    let mut text = serde_json::to_string_pretty(&document).map_err(FormatError::new)?;
    text.push('\n');
    Ok(text)
}

/// A name that a pattern of files matches as it is.
fn escaped(name: &str) -> String {
    name.chars()
        .flat_map(|c| ("*?[\\".contains(c)).then_some('\\').into_iter().chain([c]))
        .collect()
}
