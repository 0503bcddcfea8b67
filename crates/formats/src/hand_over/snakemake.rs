//! A Snakefile: a rule for each task.

use super::{marker, named_files, shell, silent_parents};
use crate::error::Result;
use slackline_model::{TaskId, Workflow};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

pub(super) fn write(workflow: &Workflow) -> Result<String> {
    let waited_for: BTreeSet<TaskId> =
        workflow.tasks().flat_map(|task| silent_parents(workflow, task)).collect();
    let names = rule_names(workflow);
    let mut results: Vec<String> = Vec::new();
    let mut rules = String::new();
    for task in workflow.tasks() {
        let mut outputs: Vec<String> = named_files(workflow, workflow.outputs(task))
            .map(|name| quoted(&braces(name)))
            .collect();
        if outputs.is_empty() || waited_for.contains(&task) {
            outputs.push(format!("touch({})", quoted(&marker(task))));
        }
        let mut inputs: Vec<String> = named_files(workflow, workflow.inputs(task))
            .map(|name| quoted(&braces(name)))
            .collect();
        inputs.extend(silent_parents(workflow, task).into_iter().map(|t| quoted(&marker(t))));
        if workflow.out_degree(task) == 0 {
            let own =
                named_files(workflow, workflow.outputs(task)).map(|n| quoted(&braces(n))).next();
            results.push(own.unwrap_or_else(|| quoted(&marker(task))));
        }
        let name = &names[task.index()];
        let _ = writeln!(rules, "\n\nrule {name}:");
        for (member, values) in [("input", inputs), ("output", outputs)] {
            if !values.is_empty() {
                let _ = writeln!(rules, "    {member}:\n        {},", values.join(",\n        "));
            }
        }
        let width = workflow.width(task).0;
        let _ = writeln!(rules, "    threads: {width}");
        let bytes = workflow.memory_at(task, width);
        if bytes > 0.0 {
            // Megabytes, as Snakemake counts them.
            let _ = writeln!(rules, "    resources:\n        mem_mb={},", (bytes / 1e6).ceil());
        }
        let line = quoted(&braces(&shell(workflow, task)?));
        let _ = writeln!(rules, "    shell:\n        {line}");
    }
    let name = workflow.name().replace(char::is_control, "_");
    let results = results.join(",\n        ");
    let all = match names.iter().any(|name| name == "all") {
        true => "all_results",
        false => "all",
    };
    Ok(format!("# {name}\n\nrule {all}:\n    input:\n        {results},{rules}"))
}

/// A text as Python reads it.
fn quoted(text: &str) -> String {
    // What JSON escapes, Python escapes in the same way.
    serde_json::Value::from(text).to_string()
}

/// Escapes braces: single ones name wildcards.
fn braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// Names of Python, all different.
fn rule_names(workflow: &Workflow) -> Vec<String> {
    const WORDS: [&str; 12] =
        ["and", "as", "class", "def", "for", "if", "import", "in", "is", "not", "or", "with"];
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let mut name_of = |task: TaskId| {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut name: String = workflow.task_name(task).chars().map(plain).collect();
        if name.starts_with(|c: char| c.is_ascii_digit()) || WORDS.contains(&name.as_str()) {
            name.insert_str(0, "t_");
        }
        if name.is_empty() {
            name.push('t');
        }
        loop {
            let count = taken.entry(name.clone()).or_default();
            *count += 1;
            match *count {
                1 => return name,
                count => name = format!("{name}_{count}"),
            }
        }
    };
    workflow.tasks().map(&mut name_of).collect()
}
