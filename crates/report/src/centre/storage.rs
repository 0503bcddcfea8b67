//! Storages: operations, and the answers of a file system.

use super::Number;
use crate::Printer;
use crate::table::{Table, count};
use serde::{Serialize, Serializer};
use slackline_centre::storage::{Answer, Dates, Operation, Refused, Script, Space};
use slackline_core::Failure;
use slackline_core::schema::names;
use slackline_model::units::fmt_seconds;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct OperationsDocument<'a> {
    schema: &'static str,
    operations: Vec<OperationLine<'a>>,
}

#[derive(Serialize)]
struct OperationLine<'a> {
    id: &'a str,
    start: Number,
    finish: Number,
}

#[derive(Serialize)]
struct ScriptDocument {
    schema: &'static str,
    answers: Vec<Line>,
    files: BTreeMap<String, BTreeMap<String, u64>>,
    space: BTreeMap<String, Space>,
}

/// An answer as it is written.
struct Line(Result<Answer, Refused>);

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Ok(Answer::Done) => serializer.serialize_str("ok"),
            Ok(Answer::Bytes(bytes)) => serializer.serialize_u64(*bytes),
            Ok(Answer::Space(space)) => space.serialize(serializer),
            Ok(Answer::Paths(paths)) => paths.serialize(serializer),
            Err(why) => serializer.serialize_str(&format!("error: {why}")),
        }
    }
}

/// Performs a script, and prints the answers and what is stored.
pub fn script(json: bool, script: Script, output: &mut dyn Printer) -> Result<(), Failure> {
    let Script { mut files, operations } = script;
    let answers: Vec<Line> = operations.iter().map(|op| Line(files.perform(op))).collect();
    if json {
        return output.json(&ScriptDocument {
            schema: names::CENTRE_STORAGE,
            answers,
            files: files.all_files(),
            space: files.spaces(),
        });
    }
    for (k, answer) in answers.iter().enumerate() {
        let text = serde_json::to_string(answer)?;
        output.text(&format!("{:>4}  {text}\n", k + 1))?;
    }
    let mut table = Table::new(&["<storage", ">files", ">used", ">available"]);
    let all = files.all_files();
    for (name, Space { used, available }) in files.spaces() {
        let number = all.get(&name).map_or(0, BTreeMap::len);
        let available = available.map_or_else(|| "-".to_string(), |bytes| bytes.to_string());
        table.row([name, count(number, "file"), used.to_string(), available]);
    }
    let text = table.render(output.style().width);
    output.text(&text)
}

/// Prints dates of operations.
pub fn operations(
    json: bool,
    operations: &[Operation],
    dates: &[Dates],
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    let both = || operations.iter().zip(dates);
    if json {
        let lines = both().map(|(operation, dates)| OperationLine {
            id: &operation.id,
            start: Number(dates.start),
            finish: Number(dates.finish),
        });
        let operations = lines.collect();
        return output.json(&OperationsDocument { schema: names::CENTRE_STORAGE, operations });
    }
    let mut table = Table::new(&["<operation", ">bytes", ">start", ">finish", ">took"]);
    for (operation, Dates { start, finish }) in both() {
        table.row([
            operation.id.clone(),
            format!("{}", operation.bytes),
            fmt_seconds(*start),
            fmt_seconds(*finish),
            fmt_seconds(finish - start),
        ]);
    }
    let text = table.render(output.style().width);
    output.text(&text)
}
