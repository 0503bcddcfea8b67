//! The short form of a workflow whose tasks were expanded from samples and parameters.

use crate::Printer;
use crate::table::{Table, count, cut};
use serde::Serialize;
use slackline_formats::document::{Definition, Parameter, Template};

/// The text for people: a line for each task as it is written.
pub fn tell(definition: &Definition, output: &dyn Printer) -> String {
    let mut head = format!("written as {}", count(definition.templates.len(), "task"));
    if let Some(sheet) = &definition.sheet {
        head.push_str(&format!(", samples of {sheet}"));
    }
    if definition.rows > 1 {
        head.push_str(&format!(", {}", count(definition.rows, "row")));
    }
    let mut text = format!("{head}\n");
    let mut table = Table::new(&["<task", "<for each", ">tasks", "<first"]);
    for template in &definition.templates {
        table.row([
            cut(&template.name, 30),
            if template.foreach.is_empty() { "-".into() } else { template.foreach.join(", ") },
            template.tasks.to_string(),
            cut(&template.first, 30),
        ]);
    }
    text.push_str(&table.render(output.style().table_width));
    for parameter in &definition.parameters {
        let given = if parameter.is_set { " (given)" } else { "" };
        text.push_str(&format!("{} = {}{given}\n", parameter.name, parameter.value));
    }
    text
}

/// The document for machines.
#[derive(Serialize)]
pub struct DefinitionDocument<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    sheet: Option<&'a str>,
    rows: usize,
    params: Vec<ParameterEntry<'a>>,
    tasks: Vec<TemplateEntry<'a>>,
}

#[derive(Serialize)]
struct ParameterEntry<'a> {
    name: &'a str,
    value: &'a str,
    given: bool,
}

#[derive(Serialize)]
struct TemplateEntry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    foreach: &'a [String],
    tasks: usize,
    first: &'a str,
}

impl<'a> DefinitionDocument<'a> {
    /// Makes the document of a definition.
    pub fn of(definition: &'a Definition) -> DefinitionDocument<'a> {
        let parameter =
            |p: &'a Parameter| ParameterEntry { name: &p.name, value: &p.value, given: p.is_set };
        let template = |t: &'a Template| TemplateEntry {
            name: &t.name,
            foreach: &t.foreach,
            tasks: t.tasks,
            first: &t.first,
        };
        DefinitionDocument {
            sheet: definition.sheet.as_deref(),
            rows: definition.rows,
            params: definition.parameters.iter().map(parameter).collect(),
            tasks: definition.templates.iter().map(template).collect(),
        }
    }
}
