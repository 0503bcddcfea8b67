//! `WorkDescription`: tasks with files, mostly independent ones, and what both really cost; read
//! and written.
//!
//! ```text
//! WorkDescription 1 3 1
//! File: <0> <genome> <1000> <1200>
//! File: <1> <query> <10> <10>
//! File: <2> <hits> <5> <6>
//! Work: <0> <2 : 0 1> <1 : 2> <2 : 60 30> <2 : 66 33>
//! ```
//!
//! A file has a number, a name, its real and its estimated size in bytes; a task its number, the
//! files it reads and writes, its real and its estimated seconds on each architecture. The
//! workflow holds the estimates, run times as a table with the columns `arch0`, `arch1` ...; what
//! is real goes with the document. Tasks are named by their numbers.
//!
//! Lost in writing: names of tasks, kinds, widths, memory and commands. A workflow without a table
//! of run times is written for one architecture of the reference speed.

use super::{Line, amount, begins_with, lines};
use crate::detect::Codec;
use crate::document::Document;
use crate::error::{FormatError, Result};
use crate::text;
use slackline_model::scenario::Measured;
use slackline_model::workflow::{CostTable, REFERENCE_SPEED};
use slackline_model::{FileId, Task, TaskId, Workflow, WorkflowBuilder};
use std::collections::HashMap;
use std::io::Write;

/// The word a file begins with.
const HEAD: &str = "WorkDescription";

pub(crate) const CODEC: Codec = Codec {
    name: "work",
    about: "WorkDescription of parameter sweeps (Berman et al. 1999)",
    extensions: &["work"],
    comments: Some(crate::note::Comments::Hash),
    recognise: |text| begins_with(text, HEAD),
    read: |text, _| read(text),
    write: Some(write),
};

/// The column of an architecture.
pub(super) fn column(arch: &str) -> String {
    format!("arch{arch}")
}

/// Reads an application.
pub fn read(text: &str) -> Result<Document> {
    let mut all = lines(text);
    let (number, first) = all.next().unwrap_or((1, ""));
    let mut head = Line::new(number, first, first);
    if head.group("the header")? != HEAD {
        return Err(head.error(format!("the file does not begin with '{HEAD}'")));
    }
    let _version: f64 = head.number("the version")?;
    let files: usize = head.number("the number of files")?;
    let tasks: usize = head.number("the number of tasks")?;
    head.end()?;
    let mut reading = Reading::default();
    for (number, line) in all {
        let Some((what, rest)) = line.split_once(':') else {
            return Err(FormatError::at(number, 1, "expected 'File: <...>' or 'Work: <...>'"));
        };
        let mut line = Line::new(number, line, rest);
        match what.trim() {
            "File" => reading.file(&mut line)?,
            "Work" => reading.task(&mut line)?,
            other => {
                return Err(FormatError::at(number, 1, format!("'{other}:' is not known"))
                    .with_help("a line begins with 'File:' or 'Work:'"));
            }
        }
        line.end()?;
    }
    for (what, announced, found) in
        [("files", files, reading.files.len()), ("tasks", tasks, reading.tasks)]
    {
        if announced != found {
            let message = format!("{announced} {what} are announced, there are {found}");
            return Err(FormatError::at(number, 1, message));
        }
    }
    reading.document()
}

#[derive(Default)]
struct Reading {
    builder: WorkflowBuilder,
    files: HashMap<usize, FileId>,
    bytes: Vec<f64>,
    tasks: usize,
    numbers: HashMap<usize, usize>,
    archs: usize,
    real: Vec<f64>,
    estimated: Vec<f64>,
    differs: bool,
}

impl Reading {
    fn file(&mut self, line: &mut Line<'_>) -> Result<()> {
        let start = Line { ..*line };
        let id: usize = line.number("the number of the file")?;
        let name = line.group("the name")?;
        let (real, estimated) = (line.amount("the size")?, line.amount("the estimated size")?);
        let file = self.builder.add_file(name, estimated).map_err(|e| start.error(e))?;
        if self.files.insert(id, file).is_some() {
            return Err(start.error(format!("file {id} is declared twice")));
        }
        self.differs |= real != estimated;
        self.bytes.push(real);
        Ok(())
    }

    fn task(&mut self, line: &mut Line<'_>) -> Result<()> {
        let start = Line { ..*line };
        let id: usize = line.number("the number of the task")?;
        if self.numbers.insert(id, line.number).is_some() {
            return Err(start.error(format!("task {id} is declared twice")));
        }
        let inputs = self.listed(line, "the inputs")?;
        let outputs = self.listed(line, "the outputs")?;
        let real = times(line, "the run times")?;
        let estimated = times(line, "the estimated run times")?;
        if real.len() != estimated.len() || (self.tasks > 0 && real.len() != self.archs) {
            let message = format!(
                "run times for {} architectures and estimates for {}; every task needs both for \
                 the same ones",
                real.len(),
                estimated.len()
            );
            return Err(start.error(message));
        }
        self.archs = real.len();
        let work = estimated[0] * REFERENCE_SPEED;
        let task = self.builder.add_task(Task::new(id.to_string(), work));
        let task = task.map_err(|e| start.error(e))?;
        for file in inputs {
            self.builder.reads(task, file);
        }
        for file in outputs {
            self.builder.writes(task, file).map_err(|e| start.error(e))?;
        }
        self.differs |= real != estimated;
        self.real.extend(real);
        self.estimated.extend(estimated);
        self.tasks += 1;
        Ok(())
    }

    /// The files of `<n : id id ...>`, each once.
    fn listed(&self, line: &mut Line<'_>, what: &str) -> Result<Vec<FileId>> {
        let before = Line { ..*line };
        let mut files = Vec::new();
        for word in counted(line, what)? {
            let id = word.parse::<usize>().ok();
            let file = id.and_then(|id| self.files.get(&id)).copied().ok_or_else(|| {
                before.error(format!("{what}: file '{word}' has not been declared"))
            })?;
            if !files.contains(&file) {
                files.push(file);
            }
        }
        Ok(files)
    }

    fn document(mut self) -> Result<Document> {
        let columns: Vec<String> = (0..self.archs).map(|a| column(&a.to_string())).collect();
        let table = |seconds: Vec<f64>| CostTable { columns: columns.clone(), seconds };
        if self.tasks > 0 {
            self.builder.set_cost_table(table(self.estimated));
        }
        let measured = Measured { seconds: table(self.real), bytes: self.bytes };
        Ok(Document {
            measured: self.differs.then_some(measured),
            ..Document::new(self.builder.build()?)
        })
    }
}

/// The words of `<n : word word ...>`, which must be n.
fn counted<'a>(line: &mut Line<'a>, what: &str) -> Result<Vec<&'a str>> {
    let before = Line { ..*line };
    let group = line.group(what)?;
    let (count, list) = group.split_once(':').ok_or_else(|| {
        before.error(format!("{what} are written <how many : which>, not <{group}>"))
    })?;
    let list: Vec<&str> = list.split_whitespace().collect();
    match count.trim().parse::<usize>() {
        Ok(count) if count == list.len() => Ok(list),
        _ => Err(before.error(format!(
            "{what}: {} are announced, there are {}",
            count.trim(),
            list.len()
        ))),
    }
}

fn times(line: &mut Line<'_>, what: &str) -> Result<Vec<f64>> {
    let before = Line { ..*line };
    let one = |word: &&str| {
        amount(word).ok_or_else(|| before.error(format!("{what}: '{word}' is no number >= 0")))
    };
    let times = counted(line, what)?.iter().map(one).collect::<Result<Vec<f64>>>()?;
    if times.is_empty() { Err(before.error(format!("{what} are missing"))) } else { Ok(times) }
}

/// Writes an application; a dependency without a file has no place in it.
fn write(document: &Document, out: &mut dyn Write) -> Result<()> {
    let workflow = &document.workflow;
    if let Some(edge) = workflow.edges().find(|&e| workflow.edge_files(e).len() == 0) {
        let (from, to) = workflow.edge_ends(edge);
        let (from, to) = (workflow.task_name(from), workflow.task_name(to));
        let message = format!("a WorkDescription cannot say that '{to}' only waits for '{from}'");
        return Err(FormatError::new(message));
    }
    let measured = document.measured.as_ref();
    writeln!(out, "{HEAD} 1 {} {}", workflow.file_count(), workflow.len())?;
    // What a task reads is declared first, whoever writes it.
    for (file, name) in workflow.files().zip(text::file_names(workflow)) {
        // The delimiters cannot be part of a name.
        let name = name.replace(['<', '>', '\n', '\r'], "_");
        let stated = workflow.file_bytes(file);
        let real = measured.map_or(stated, |m| m.bytes[file.index()]);
        writeln!(out, "File: <{}> <{}> <{real}> <{stated}>", file.0, name.trim())?;
    }
    for task in workflow.tasks() {
        let ids = |files: Vec<FileId>| {
            let list: Vec<String> = files.iter().map(|f| f.0.to_string()).collect();
            format!("<{} : {}>", list.len(), list.join(" "))
        };
        let numbers = |seconds: &[f64]| {
            let list: Vec<String> = seconds.iter().map(f64::to_string).collect();
            format!("<{} : {}>", list.len(), list.join(" "))
        };
        let stated = stated(workflow, task);
        let real = measured.map_or(&stated[..], |m| m.seconds.row(task));
        writeln!(
            out,
            "Work: <{}> {} {} {} {}",
            task.0,
            ids(workflow.inputs(task).collect()),
            ids(workflow.outputs(task).collect()),
            numbers(real),
            numbers(&stated)
        )?;
    }
    Ok(())
}

fn stated(workflow: &Workflow, task: TaskId) -> Vec<f64> {
    match workflow.cost_table() {
        Some(table) => table.row(task).to_vec(),
        None => vec![text::seconds(workflow.work(task), workflow.reference_speed())],
    }
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
