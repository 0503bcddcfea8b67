//! `slackline centre storage`: operations on storages and on files.

use super::Number;
use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use serde::{Serialize, Serializer};
use slackline_centre::storage::{self, Answer, Case, Dates, Operation, Refused, Script, Space};
use slackline_core::schema::names;
use slackline_model::units::fmt_seconds;
use slackline_report::table::{Table, count};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Simulate operations on storages: when they begin and end, or what a script answers
#[derive(Args)]
#[command(after_help = "\
CASE (JSON or TOML) has `storages` {name: {model, host, ...}}, `links`, `routes` and `operations` \
(read, write, copy, transfer), or `storages` {name: {capacity, files}}, `mounts` {host: {path: \
storage}} and a `script` of operations on files, which take no time.

Models: linear, affine, piecewise, concurrency, stochastic; bytes and bytes/s, seconds.

Examples:
  slackline centre storage ops.json
  slackline centre storage ops.json --json")]
pub(crate) struct Storage {
    /// The case
    case: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

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

impl Storage {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default().reads(Some(&self.case)).json(self.json).check(output)?;
        let text = output.files.read_text(&self.case)?;
        let case = Case::parse(&text)
            .map_err(|error| Failure::input(format!("{}: {error}", self.case.display())))?;
        match case {
            Case::Operations { platform, operations } => {
                let dates = storage::run(&platform, storage::plain_models(), &operations)
                    .map_err(Failure::work)?;
                self.operations(&operations, &dates, output)
            }
            Case::Script(script) => self.script(*script, output),
        }
    }

    fn operations(
        &self,
        operations: &[Operation],
        dates: &[Dates],
        output: &mut Output,
    ) -> Result<(), Failure> {
        let both = || operations.iter().zip(dates);
        if self.json {
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
        let text = table.render(output.width);
        output.text(&text)
    }

    fn script(&self, script: Script, output: &mut Output) -> Result<(), Failure> {
        let Script { mut files, operations } = script;
        let answers: Vec<Line> = operations.iter().map(|op| Line(files.perform(op))).collect();
        if self.json {
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
        let text = table.render(output.width);
        output.text(&text)
    }
}
