//! Writing WfFormat 1.6, task by task.

use super::NO_RUN;
use crate::document::{Author, Document, Recorded, RecordedMachine, RecordedTask, Run};
use crate::error::{FormatError, Result};
use crate::text::{file_names, kind_of_name, seconds};
use serde::ser::{Serialize, Serializer};
use slackline_model::workflow::Shape;
use slackline_model::{TaskId, Workflow};
use std::collections::HashSet;
use std::io::Write;

/// Writes a document as WfFormat 1.6. Sizes are rounded to whole bytes; moldable widths,
/// speed-up models and cost tables are not part of the format.
pub fn write(document: &Document, out: &mut dyn Write) -> Result<()> {
    let workflow = &document.workflow;
    let empty = Recorded::default();
    let recorded = document.recorded.as_ref().unwrap_or(&empty);
    let source = Source {
        workflow,
        recorded,
        speeds: recorded.speeds().collect(),
        task_ids: valid_ids(workflow.tasks().map(|t| workflow.task_name(t).to_string())),
        file_ids: valid_ids(file_names(workflow).into_iter()),
    };
    let mut serializer = serde_json::Serializer::pretty(&mut *out);
    source.serialize(&mut serializer).map_err(|e| {
        if e.is_io() { FormatError::from(std::io::Error::from(e)) } else { FormatError::new(e) }
    })?;
    writeln!(out)?;
    Ok(())
}

/// Every name with the characters the schema allows, still all different.
fn valid_ids(names: impl Iterator<Item = String>) -> Vec<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_.#:/-".contains(c);
    let mut ids: Vec<String> = names.collect();
    let is_fine = |id: &String| !id.is_empty() && id.chars().all(allowed);
    if ids.iter().all(is_fine) {
        return ids;
    }
    let mut taken: HashSet<String> = ids.iter().filter(|id| is_fine(id)).cloned().collect();
    for id in ids.iter_mut().filter(|id| !is_fine(id)) {
        let mut valid: String = id.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
        if valid.is_empty() {
            valid.push('_');
        }
        let stem = valid.clone();
        let mut number = 1;
        while !taken.insert(valid.clone()) {
            number += 1;
            valid = format!("{stem}#{number}");
        }
        *id = valid;
    }
    ids
}

/// A number as JSON would like it: whole numbers without a point.
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 9e15 {
            return serializer.serialize_i64(self.0 as i64);
        }
        serializer.serialize_f64(self.0)
    }
}

fn number(value: Option<f64>) -> Option<Number> {
    value.filter(|v| v.is_finite()).map(Number)
}

/// A text that is worth writing.
fn text(value: &Option<String>) -> Option<&str> {
    value.as_deref().filter(|t| !t.is_empty())
}

/// The workflow and its record, with ids that the schema allows.
struct Source<'a> {
    workflow: &'a Workflow,
    recorded: &'a Recorded,
    /// At which the seconds of every task count.
    speeds: Vec<Option<f64>>,
    task_ids: Vec<String>,
    file_ids: Vec<String>,
}

impl Source<'_> {
    fn record(&self, task: TaskId) -> Option<&RecordedTask> {
        self.recorded.tasks.get(task.index())
    }

    fn seconds(&self, task: TaskId) -> f64 {
        let speed = self.speeds.get(task.index()).copied().flatten();
        seconds(self.workflow.work(task), speed.unwrap_or_else(|| self.workflow.reference_speed()))
    }

    /// Whether there are data of an execution.
    fn has_execution(&self) -> bool {
        let w = self.workflow;
        self.recorded.run.is_some()
            || self.recorded.tasks.iter().any(|t| t.timed)
            || w.tasks().any(|t| {
                w.work(t) > 0.0 || w.memory(t) > 0.0 || w.width(t).0 > 1 || w.command(t).is_some()
            })
    }

    fn id(&self, task: TaskId) -> &str {
        &self.task_ids[task.index()]
    }
}

mod layout {
    //! The schema as data to serialise.
    use super::Number;
    use serde::Serialize;

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Instance<'a, S, E> {
        pub(super) name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) description: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) created_at: Option<&'a str>,
        pub(super) schema_version: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) author: Option<Author<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) runtime_system: Option<System<'a>>,
        pub(super) workflow: Body<S, E>,
    }

    #[derive(Serialize)]
    pub(super) struct Author<'a> {
        pub(super) name: &'a str,
        pub(super) email: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) institution: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) country: Option<&'a str>,
    }

    #[derive(Serialize)]
    pub(super) struct System<'a> {
        pub(super) name: &'a str,
        pub(super) version: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) url: Option<&'a str>,
    }

    #[derive(Serialize)]
    pub(super) struct Body<S, E> {
        pub(super) specification: S,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) execution: Option<E>,
    }

    #[derive(Serialize)]
    pub(super) struct Specification<T, F> {
        pub(super) tasks: T,
        pub(super) files: F,
        pub(super) metrics: Metrics,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Metrics {
        pub(super) number_of_tasks: usize,
        pub(super) number_of_files: usize,
        pub(super) sum_of_file_sizes_in_bytes: Number,
        pub(super) number_of_levels: usize,
        pub(super) minimum_width: u32,
        pub(super) maximum_width: u32,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Task<'a> {
        pub(super) name: &'a str,
        pub(super) id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) category: Option<&'a str>,
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        pub(super) role: Option<&'a str>,
        pub(super) parents: Vec<&'a str>,
        pub(super) children: Vec<&'a str>,
        pub(super) input_files: Vec<&'a str>,
        pub(super) output_files: Vec<&'a str>,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct File<'a> {
        pub(super) id: &'a str,
        pub(super) size_in_bytes: Number,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Execution<'a, T, M> {
        pub(super) makespan_in_seconds: Number,
        pub(super) executed_at: &'a str,
        pub(super) tasks: T,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) machines: Option<M>,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Executed<'a> {
        pub(super) id: &'a str,
        pub(super) runtime_in_seconds: Number,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) executed_at: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) command: Option<Command<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) core_count: Option<Number>,
        #[serde(rename = "avgCPU", skip_serializing_if = "Option::is_none")]
        pub(super) average_cpu: Option<Number>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) read_bytes: Option<Number>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) written_bytes: Option<Number>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) memory_in_bytes: Option<Number>,
        #[serde(rename = "energyInKWh", skip_serializing_if = "Option::is_none")]
        pub(super) energy: Option<Number>,
        #[serde(rename = "avgPowerInW", skip_serializing_if = "Option::is_none")]
        pub(super) average_power: Option<Number>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) priority: Option<Number>,
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        pub(super) machines: &'a [String],
    }

    #[derive(Serialize)]
    pub(super) struct Command<'a> {
        #[serde(skip_serializing_if = "str::is_empty")]
        pub(super) program: &'a str,
        pub(super) arguments: &'a [String],
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Machine<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) system: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) architecture: Option<&'a str>,
        pub(super) node_name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) release: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) memory_in_bytes: Option<Number>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) cpu: Option<Cpu<'a>>,
    }

    #[derive(Serialize)]
    pub(super) struct Cpu<'a> {
        #[serde(rename = "coreCount", skip_serializing_if = "Option::is_none")]
        pub(super) core_count: Option<Number>,
        #[serde(rename = "speedInMHz", skip_serializing_if = "Option::is_none")]
        pub(super) speed: Option<Number>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) vendor: Option<&'a str>,
    }
}

/// A list that is made while it is written, so that no second copy of the workflow exists.
struct List<F>(F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for List<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

impl Serialize for Source<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let (w, recorded) = (self.workflow, self.recorded);
        let specification = layout::Specification {
            tasks: List(|| w.tasks().map(|t| self.task(t))),
            files: List(|| {
                w.files().map(|f| layout::File {
                    id: &self.file_ids[f.index()],
                    size_in_bytes: Number(w.file_bytes(f).round()),
                })
            }),
            metrics: metrics(w),
        };
        let no_run = Run::default();
        let run = recorded.run.as_ref().unwrap_or(&no_run);
        let execution = self.has_execution().then(|| layout::Execution {
            makespan_in_seconds: Number(run.makespan_seconds.unwrap_or(0.0)),
            executed_at: text(&run.executed_at).unwrap_or(NO_RUN),
            tasks: List(|| w.tasks().map(|t| self.executed(t))),
            machines: (!run.machines.is_empty())
                .then_some(List(|| run.machines.iter().map(machine))),
        });
        layout::Instance {
            name: if w.name().is_empty() { "workflow" } else { w.name() },
            description: text(&recorded.description),
            created_at: text(&recorded.created_at),
            schema_version: "1.6",
            author: recorded.author.as_ref().map(author),
            runtime_system: recorded.runtime_system.as_ref().map(|s| layout::System {
                name: text(&s.name).unwrap_or("unknown"),
                version: text(&s.version).unwrap_or("unknown"),
                url: text(&s.url),
            }),
            workflow: layout::Body { specification, execution },
        }
        .serialize(serializer)
    }
}

impl Source<'_> {
    fn task(&self, task: TaskId) -> layout::Task<'_> {
        let w = self.workflow;
        let record = self.record(task);
        let id = self.id(task);
        let kind = w.kind_name(w.kind(task));
        let name = match record.and_then(|r| text(&r.name)) {
            Some(name) => name,
            None if kind.is_empty() => id,
            None => kind,
        };
        let derived = if name == id { kind_of_name(name) } else { name };
        let file = |f: slackline_model::FileId| self.file_ids[f.index()].as_str();
        layout::Task {
            name,
            id,
            category: (kind != derived && !kind.is_empty()).then_some(kind),
            role: record.and_then(|r| text(&r.role)),
            parents: w.predecessors(task).map(|(p, _)| self.id(p)).collect(),
            children: w.successors(task).map(|(c, _)| self.id(c)).collect(),
            input_files: w.inputs(task).map(file).collect(),
            output_files: w.outputs(task).map(file).collect(),
        }
    }

    fn executed(&self, task: TaskId) -> layout::Executed<'_> {
        let w = self.workflow;
        let nothing = RecordedTask::default();
        // Borrowed for as long as the record, which outlives the entry.
        let record = self.record(task);
        let value = |get: fn(&RecordedTask) -> Option<f64>| number(get(record.unwrap_or(&nothing)));
        let (narrowest, widest) = w.width(task);
        let cores = match record.and_then(|r| r.cores) {
            Some(cores) if cores.ceil() == f64::from(widest) => Some(Number(cores)),
            _ if widest > 1 && narrowest == widest => Some(Number(f64::from(widest))),
            _ => None,
        };
        layout::Executed {
            id: self.id(task),
            runtime_in_seconds: Number(self.seconds(task)),
            executed_at: record.and_then(|r| text(&r.executed_at)),
            command: w
                .command(task)
                .map(|c| layout::Command { program: &c.program, arguments: &c.arguments }),
            core_count: cores,
            average_cpu: value(|r| r.average_cpu),
            read_bytes: value(|r| r.read_bytes),
            written_bytes: value(|r| r.written_bytes),
            memory_in_bytes: (w.memory(task) > 0.0).then(|| Number(w.memory(task))),
            energy: value(|r| r.energy_kwh),
            average_power: value(|r| r.average_power_watts),
            priority: value(|r| r.priority),
            machines: record.map_or(&[], |r| &r.machines),
        }
    }
}

fn metrics(workflow: &Workflow) -> layout::Metrics {
    let shape = Shape::of(workflow);
    let bytes = workflow.files().map(|f| workflow.file_bytes(f).round()).sum();
    layout::Metrics {
        number_of_tasks: workflow.len(),
        number_of_files: workflow.file_count(),
        sum_of_file_sizes_in_bytes: Number(f64::min(bytes, f64::MAX)),
        number_of_levels: shape.depth(),
        minimum_width: shape.widths.iter().copied().min().unwrap_or(0),
        maximum_width: shape.width(),
    }
}

fn author(author: &Author) -> layout::Author<'_> {
    layout::Author {
        name: text(&author.name).unwrap_or("unknown"),
        email: text(&author.email).unwrap_or("unknown@example.org"),
        institution: text(&author.institution),
        country: text(&author.country),
    }
}

fn machine(machine: &RecordedMachine) -> layout::Machine<'_> {
    let (cores, speed, vendor) = (machine.cores, machine.speed_mhz, text(&machine.vendor));
    let has_cpu = cores.is_some() || speed.is_some() || vendor.is_some();
    layout::Machine {
        system: text(&machine.system),
        architecture: text(&machine.architecture),
        node_name: &machine.name,
        release: text(&machine.release),
        memory_in_bytes: number(machine.memory_bytes),
        cpu: has_cpu.then(|| layout::Cpu {
            core_count: number(cores),
            speed: number(speed),
            vendor,
        }),
    }
}
