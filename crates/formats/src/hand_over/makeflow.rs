//! A makeflow: a rule for each task, kinds as categories with their resources.

use super::{marker, mebibytes, named_files, shell, silent_parents};
use crate::error::{FormatError, Result};
use slackline_model::Workflow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

pub(super) fn write(workflow: &Workflow) -> Result<String> {
    let mut text = format!("# {}\n", workflow.name().replace(char::is_control, "_"));
    let waited_for: BTreeSet<_> =
        workflow.tasks().flat_map(|task| silent_parents(workflow, task)).collect();
    let mut head = String::new();
    for &task in workflow.topological_order() {
        let mut outputs: Vec<String> =
            named_files(workflow, workflow.outputs(task)).map(str::to_string).collect();
        let mut line = shell(workflow, task)?;
        if line.contains('\n') {
            let name = workflow.task_name(task);
            let message = format!("the command of task '{name}' has several lines");
            return Err(FormatError::new(message).with_help("a rule of a makeflow has one"));
        }
        if line.contains('\\') {
            let name = workflow.task_name(task);
            let message = format!("the command of task '{name}' holds a backslash");
            return Err(FormatError::new(message).with_help("makeflows take it for their own"));
        }
        if outputs.is_empty() || waited_for.contains(&task) {
            let done = marker(task);
            line = format!("{line} && mkdir -p .slackline-done && touch {done}");
            outputs.push(done);
        }
        let mut inputs: Vec<String> =
            named_files(workflow, workflow.inputs(task)).map(str::to_string).collect();
        inputs.extend(silent_parents(workflow, task).into_iter().map(marker));
        let bad = outputs.iter().chain(&inputs).find(|name| {
            name.contains(|c: char| c.is_whitespace() || c.is_control() || "$:#\\\"'".contains(c))
                || name.contains("->")
        });
        if let Some(name) = bad {
            return Err(FormatError::new(format!("a makeflow cannot name the file '{name}'")));
        }
        let width = workflow.width(task).0;
        let kind = workflow.kind_name(workflow.kind(task));
        let kind = if kind.is_empty() { "default" } else { kind };
        let kind = kind.replace(|c: char| c.is_control() || c == '"', "_");
        let mut own = format!("\nCATEGORY=\"{kind}\"\nCORES={width}\n");
        // Makeflow counts megabytes; 0 requests none, and a value holds until another is set.
        let _ = writeln!(own, "MEMORY={}", mebibytes(workflow, task, width).unwrap_or(0));
        if own != head {
            text.push_str(&own);
            head = own;
        }
        // Makeflow would take the value of a variable of its own.
        let escaped = line.replace('$', "\\$");
        let _ = write!(text, "\n{}: {}\n\t{escaped}\n", outputs.join(" "), inputs.join(" "));
    }
    Ok(text)
}
