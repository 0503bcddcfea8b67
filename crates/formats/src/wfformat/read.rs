//! Reading WfFormat: parse by type, then one pass over the tasks.

use super::schema::*;
use super::{NO_RUN, VERSIONS};
use crate::document::{self, Document, Recorded, RecordedMachine, RecordedTask, Run};
use crate::error::{FormatError, Result, json_error};
use crate::flow::{Flow, Use};
use crate::text::{kind_of_name, set_cores};
use crate::times::{Speeds, negative_sizes, negative_times};
use slackline_model::workflow::{self as model, REFERENCE_SPEED};
use slackline_model::{TaskId, WorkflowBuilder};
use std::collections::{HashMap, HashSet};

/// Reads an instance of any known version.
pub fn read(text: &str) -> Result<Document> {
    let instance: Instance<'_> = serde_json::from_str(text).map_err(json_error)?;
    let mut warnings = Vec::new();
    let old = is_old(&instance, &mut warnings)?;
    let Instance { name, description, created_at, wms, runtime_system, author, workflow, .. } =
        instance;
    let system = runtime_system.or(wms);
    let mut reader = Reader {
        builder: WorkflowBuilder::new(name.as_deref().unwrap_or_default()),
        recorded: Recorded {
            description: owned(description),
            created_at: owned(created_at),
            author: author.map(|a| document::Author {
                name: owned(a.name),
                email: owned(a.email),
                institution: owned(a.institution),
                country: owned(a.country),
            }),
            runtime_system: system.map(|s| document::RuntimeSystem {
                name: owned(s.name),
                version: owned(s.version),
                url: owned(s.url),
            }),
            ..Recorded::default()
        },
        flow: Flow::default(),
        seconds: Vec::new(),
        warnings,
        negative_times: 0,
        negative_sizes: 0,
    };
    reader.builder.set_reference_speed(REFERENCE_SPEED);
    if old {
        reader.read_old(workflow)?
    } else {
        reader.read_new(workflow)?
    }
    reader.finish()
}

/// Whether the layout is that of 1.4 and before.
fn is_old(instance: &Instance<'_>, warnings: &mut Vec<String>) -> Result<bool> {
    let at = |message: String| FormatError::in_path("schemaVersion", message);
    let known = VERSIONS.join(", ");
    let (tasks, specification) = (&instance.workflow.tasks, &instance.workflow.specification);
    match instance.schema_version.as_deref() {
        Some(version @ ("1.3" | "1.4")) if tasks.is_none() => {
            Err(missing("workflow", &format!("tasks (the schema is {version})")))
        }
        Some(version @ ("1.5" | "1.6")) if specification.is_none() => {
            Err(missing("workflow", &format!("specification (the schema is {version})")))
        }
        Some("1.3" | "1.4") => Ok(true),
        Some("1.5" | "1.6") => Ok(false),
        Some(later) if later_minor(later) && specification.is_some() => {
            warnings.push(format!("WfFormat {later} is not known ({known} are): read as 1.6"));
            Ok(false)
        }
        Some(other) => Err(at(format!("WfFormat '{other}' is not known"))
            .with_help(format!("the versions that are read: {known}"))),
        None if specification.is_some() || tasks.is_some() => {
            warnings.push("the file does not say its schemaVersion".to_string());
            Ok(specification.is_none())
        }
        None => Err(at("missing".to_string()).with_help(format!("one of {known}"))),
    }
}

fn later_minor(version: &str) -> bool {
    version.strip_prefix("1.").and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|m| m > 6)
}

/// State of the reader.
struct Reader {
    builder: WorkflowBuilder,
    recorded: Recorded,
    flow: Flow,
    /// Seconds of every task.
    seconds: Vec<f64>,
    warnings: Vec<String>,
    negative_times: usize,
    negative_sizes: usize,
}

impl Reader {
    /// `workflow` of 1.5 and later.
    fn read_new(&mut self, body: Body<'_>) -> Result<()> {
        let Some(specification) = body.specification else { return Ok(()) };
        let has_run = body.execution.is_some();
        let (runs, executed) = match body.execution {
            Some(Execution { makespan_in_seconds, executed_at, tasks, machines }) => {
                let run = run(makespan_in_seconds, executed_at, machines, "workflow.execution")?;
                (run, tasks.unwrap_or_default())
            }
            None => (None, Vec::new()),
        };
        self.recorded.run = runs;
        let mut executed = Executed::new(executed)?;
        let mut untimed = 0;
        for (i, task) in specification.tasks.iter().enumerate() {
            let path = || format!("workflow.specification.tasks[{i}]");
            let id = required(&task.id, path, "id")?;
            let past = executed.take(id);
            untimed += usize::from(past.is_none());
            self.add_task(task, id, past).map_err(|e| e.under(path))?;
        }
        executed.finish()?;
        if untimed > 0 && has_run {
            let all = specification.tasks.len();
            self.warnings
                .push(format!("{untimed} of {all} tasks have no run time: their work is 0"));
        } else if untimed > 0 {
            self.warnings.push("no execution is recorded: the work of all tasks is 0".to_string());
        }
        let listed = self.list_files(specification.files.as_deref())?;
        for (i, task) in specification.tasks.iter().enumerate() {
            let id = TaskId::new(i);
            let path =
                |what: &str, k: usize| format!("workflow.specification.tasks[{i}].{what}[{k}]");
            for (k, parent) in task.parents.iter().flatten().enumerate() {
                let parent = self.find(parent, || path("parents", k))?;
                self.declare(parent, id, || path("parents", k))?;
            }
            for (k, child) in task.children.iter().flatten().enumerate() {
                let child = self.find(child, || path("children", k))?;
                self.declare(id, child, || path("children", k))?;
            }
            let mut uses = |files: &Option<Vec<Text<'_>>>, what: &str, how: Use| -> Result<()> {
                for (k, file) in files.iter().flatten().enumerate() {
                    let name = self.flow.name(file)?;
                    if listed.is_some_and(|listed| name as usize >= listed) {
                        let message = format!("'{}' is not among the files", &**file);
                        return Err(FormatError::in_path(path(what, k), message));
                    }
                    self.flow.uses(id, name, how, None);
                }
                Ok(())
            };
            uses(&task.input_files, "inputFiles", Use::Read)?;
            uses(&task.output_files, "outputFiles", Use::Write)?;
        }
        Ok(())
    }

    /// Files of the specification with their sizes; how many there are, or `None` without a list.
    fn list_files(&mut self, files: Option<&[File<'_>]>) -> Result<Option<usize>> {
        let Some(files) = files else { return Ok(None) };
        for (i, file) in files.iter().enumerate() {
            let path = || format!("workflow.specification.files[{i}]");
            let id = required(&file.id, path, "id")?;
            let name = self.flow.name(id)?;
            if (name as usize) < i {
                return Err(FormatError::in_path(path(), format!("two files have the id '{id}'")));
            }
            let bytes = file.size_in_bytes.ok_or_else(|| missing(&path(), "sizeInBytes"))?;
            let bytes = self.size(bytes, || format!("{}.sizeInBytes", path()))?;
            self.flow.size(name, bytes);
        }
        Ok(Some(files.len()))
    }

    fn add_task(
        &mut self,
        task: &Task<'_>,
        id: &str,
        past: Option<ExecutedTask<'_>>,
    ) -> Result<()> {
        let name = task.name.as_deref().unwrap_or(id);
        let derived = if name == id { kind_of_name(name) } else { name };
        let kind = task.category.as_deref().unwrap_or(derived);
        let mut new = model::Task::new(id, 0.0).of_kind(kind);
        let mut record = RecordedTask {
            name: (name != kind).then(|| name.to_string()),
            role: task.role.as_deref().map(str::to_string),
            ..RecordedTask::default()
        };
        if let Some(past) = past {
            let seconds = past.runtime_in_seconds.unwrap_or(0.0);
            let seconds = self.time(seconds, || "runtimeInSeconds".into())?;
            self.seconds.push(seconds);
            new.memory = checked(past.memory_in_bytes.unwrap_or(0.0), || "memoryInBytes".into())?;
            take_cores(&mut new, past.core_count, "coreCount")?;
            new.command = past.command.map(command);
            record.timed = past.runtime_in_seconds.is_some();
            record.executed_at = owned(past.executed_at);
            record.cores = past.core_count;
            record.average_cpu = past.average_cpu;
            record.read_bytes = past.read_bytes;
            record.written_bytes = past.written_bytes;
            record.energy_kwh = past.energy_in_kwh;
            record.average_power_watts = past.average_power_in_w;
            record.priority = past.priority;
            let machines = past.machines.into_iter().flatten().chain(past.machine);
            record.machines = machines.map(|m| m.0.into_owned()).collect();
        } else {
            self.seconds.push(0.0);
        }
        self.builder.add_task(new)?;
        self.recorded.tasks.push(record);
        Ok(())
    }

    /// `workflow` of 1.3 and 1.4.
    fn read_old(&mut self, body: Body<'_>) -> Result<()> {
        let Some(tasks) = body.tasks else { return Ok(()) };
        let makespan = body.makespan_in_seconds.or(body.makespan);
        self.recorded.run = run(makespan, body.executed_at, body.machines, "workflow")?;
        let pegasus = self.recorded.runtime_system.as_ref().and_then(|s| s.name.as_deref());
        let kilo = match pegasus {
            Some(name) if name.to_ascii_lowercase().contains("pegasus") => 1.0,
            _ => 1000.0,
        };
        let repeated = repeated_names(&tasks);
        // What tasks call each other: names first, then ids.
        let mut called: HashMap<&str, TaskId> = HashMap::with_capacity(2 * tasks.len());
        let mut untimed = 0;
        for (i, task) in tasks.iter().enumerate() {
            let path = || format!("workflow.tasks[{i}]");
            let name = required(&task.name, path, "name")?;
            let unique = match task.id.as_deref() {
                Some(id) if repeated.contains(name) => format!("{name}_{id}"),
                _ => name.to_string(),
            };
            untimed += usize::from(task.runtime_in_seconds.or(task.runtime).is_none());
            let id = self.add_old_task(task, unique, kilo).map_err(|e| e.under(path))?;
            if !repeated.contains(name) {
                called.insert(name, id);
            }
        }
        for (i, task) in tasks.iter().enumerate() {
            if let Some(id) = task.id.as_deref() {
                called.entry(id).or_insert(TaskId::new(i));
            }
        }
        if untimed > 0 {
            let all = tasks.len();
            self.warnings
                .push(format!("{untimed} of {all} tasks have no run time: their work is 0"));
        }
        for (i, task) in tasks.iter().enumerate() {
            let id = TaskId::new(i);
            let path = |what: &str, k: usize| format!("workflow.tasks[{i}].{what}[{k}]");
            let find = |name: &str, path: String| {
                called
                    .get(name)
                    .copied()
                    .ok_or_else(|| FormatError::in_path(path, format!("no task is named '{name}'")))
            };
            for (k, parent) in task.parents.iter().flatten().enumerate() {
                let parent = find(parent, path("parents", k))?;
                self.declare(parent, id, || path("parents", k))?;
            }
            for (k, child) in task.children.iter().flatten().enumerate() {
                let child = find(child, path("children", k))?;
                self.declare(id, child, || path("children", k))?;
            }
            for (k, file) in task.files.iter().flatten().enumerate() {
                self.old_file(id, file).map_err(|e| e.under(|| path("files", k)))?;
            }
        }
        Ok(())
    }

    fn add_old_task(&mut self, task: &OldTask<'_>, unique: String, kilo: f64) -> Result<TaskId> {
        let name = task.name.as_deref().unwrap_or_default();
        let kind = task.category.as_deref().unwrap_or_else(|| kind_of_name(name));
        let seconds = task.runtime_in_seconds.or(task.runtime);
        let memory = task.memory_in_bytes.or(task.memory.map(|kb| kb * 1000.0)).unwrap_or(0.0);
        let mut new = model::Task::new(unique, 0.0).of_kind(kind);
        let counted = self.time(seconds.unwrap_or(0.0), || "runtime".into())?;
        self.seconds.push(counted);
        new.memory = checked(memory, || "memory".into())?;
        take_cores(&mut new, task.cores, "cores")?;
        new.command = task.command.as_ref().map(|c| model::Command {
            program: c.program.as_deref().unwrap_or_default().to_string(),
            arguments: c.arguments.iter().flatten().map(|a| a.to_string()).collect(),
            ..model::Command::default()
        });
        let id = self.builder.add_task(new)?;
        self.recorded.tasks.push(RecordedTask {
            name: (name != kind).then(|| name.to_string()),
            role: task.role.as_deref().map(str::to_string),
            timed: seconds.is_some(),
            executed_at: None,
            cores: task.cores,
            average_cpu: task.average_cpu,
            read_bytes: task.read_bytes.or(scaled(task.bytes_read, kilo)),
            written_bytes: task.written_bytes.or(scaled(task.bytes_written, kilo)),
            energy_kwh: task.energy,
            average_power_watts: task.average_power,
            priority: task.priority,
            machines: task.machine.iter().map(|m| m.to_string()).collect(),
        });
        Ok(id)
    }

    fn old_file(&mut self, task: TaskId, file: &OldFile<'_>) -> Result<()> {
        let own = required(&file.name, String::new, "name")?;
        let name = match file.path.as_deref() {
            Some(path) => self.flow.name(&format!("{path}{own}"))?,
            None => self.flow.name(own)?,
        };
        let how = match file.link.as_deref() {
            Some(link) if link.eq_ignore_ascii_case("input") => Use::Read,
            Some(link) if link.eq_ignore_ascii_case("output") => Use::Write,
            Some(link) if link.eq_ignore_ascii_case("inout") => Use::Update,
            Some(other) => {
                let message = format!("the link of a file is input or output, not '{other}'");
                return Err(FormatError::in_path("link", message));
            }
            None => return Err(missing("", "link")),
        };
        let bytes = file.size_in_bytes.or(file.size).ok_or_else(|| missing("", "sizeInBytes"))?;
        let bytes = self.size(bytes, || "sizeInBytes".into())?;
        self.flow.uses(task, name, how, Some(bytes));
        Ok(())
    }

    /// A run time; one below zero counts as 0.
    fn time(&mut self, seconds: f64, path: impl Fn() -> String) -> Result<f64> {
        self.negative_times += usize::from(seconds < 0.0);
        checked(seconds.max(0.0), path)
    }

    /// The size of a file; one below zero counts as 0.
    fn size(&mut self, bytes: f64, path: impl Fn() -> String) -> Result<f64> {
        self.negative_sizes += usize::from(bytes < 0.0);
        checked(bytes.max(0.0), path)
    }

    fn find(&self, name: &str, path: impl Fn() -> String) -> Result<TaskId> {
        let unknown = || FormatError::in_path(path(), format!("no task has the id '{name}'"));
        self.builder.task_id(name).ok_or_else(unknown)
    }

    fn declare(&mut self, from: TaskId, to: TaskId, path: impl Fn() -> String) -> Result<()> {
        if from == to {
            let message = format!("task '{}' depends on itself", self.builder.task_name(to));
            return Err(FormatError::in_path(path(), message));
        }
        self.flow.declare(from, to);
        Ok(())
    }

    fn finish(mut self) -> Result<Document> {
        let (speeds, common) = self.speeds()?;
        self.warnings.extend(negative_times(self.negative_times, "task"));
        self.warnings.extend(negative_sizes(self.negative_sizes));
        self.warnings.extend(self.flow.finish(&mut self.builder)?);
        let workflow = self.builder.build()?;
        let workflow =
            workflow.with_work(common, |_, task| self.seconds[task.index()] * speeds[task.index()]);
        Ok(Document {
            recorded: Some(self.recorded),
            warnings: self.warnings,
            ..Document::new(workflow)
        })
    }
}

impl Reader {
    /// Flop/s at which the seconds of each task count, and the speed they have in common.
    fn speeds(&self) -> Result<(Vec<f64>, f64)> {
        let known = Speeds::of(self.recorded.run.as_ref());
        let mut speeds = Vec::with_capacity(self.recorded.tasks.len());
        for (task, record) in self.recorded.tasks.iter().enumerate() {
            let speed = known.of_task(record).map_err(|machine| {
                let name = self.builder.task_name(TaskId::new(task));
                let message = format!("it ran on '{machine}', which is not among the machines");
                FormatError::in_path(format!("the execution of task '{name}'"), message)
            })?;
            let speed = speed.unwrap_or(REFERENCE_SPEED);
            if !(self.seconds[task] * speed).is_finite() {
                let name = self.builder.task_name(TaskId::new(task));
                let message = format!("{} s at {speed} flop/s is too much", self.seconds[task]);
                return Err(FormatError::in_path(
                    format!("the execution of task '{name}'"),
                    message,
                ));
            }
            speeds.push(speed);
        }
        let common = speeds.first().copied().filter(|first| speeds.iter().all(|s| s == first));
        Ok((speeds, common.unwrap_or(REFERENCE_SPEED)))
    }
}

/// Execution entries by task id. They are mostly in the order of the tasks, so the next one is tried before the
/// table.
struct Executed<'a> {
    tasks: Vec<Option<ExecutedTask<'a>>>,
    by_id: HashMap<String, usize>,
    next: usize,
}

impl<'a> Executed<'a> {
    fn new(tasks: Vec<ExecutedTask<'a>>) -> Result<Executed<'a>> {
        let mut by_id = HashMap::with_capacity(tasks.len());
        for (i, task) in tasks.iter().enumerate() {
            let path = || format!("workflow.execution.tasks[{i}]");
            let id = required(&task.id, path, "id")?;
            if by_id.insert(id.to_string(), i).is_some() {
                return Err(FormatError::in_path(path(), format!("task '{id}' is listed twice")));
            }
        }
        Ok(Executed { tasks: tasks.into_iter().map(Some).collect(), by_id, next: 0 })
    }

    fn take(&mut self, id: &str) -> Option<ExecutedTask<'a>> {
        let is_next =
            |t: &Option<ExecutedTask<'_>>| t.as_ref().is_some_and(|t| t.id.as_deref() == Some(id));
        let at = match self.tasks.get(self.next) {
            Some(task) if is_next(task) => self.next,
            _ => *self.by_id.get(id)?,
        };
        self.next = at + 1;
        self.tasks[at].take()
    }

    /// Entries that no task took are about tasks that do not exist.
    fn finish(self) -> Result<()> {
        let left = self.tasks.iter().enumerate().find_map(|(i, t)| Some((i, t.as_ref()?)));
        match left {
            None => Ok(()),
            Some((i, task)) => {
                let id = task.id.as_deref().unwrap_or_default();
                let message = format!("no task of the specification has the id '{id}'");
                Err(FormatError::in_path(format!("workflow.execution.tasks[{i}].id"), message))
            }
        }
    }
}

/// Names that more than one task has.
fn repeated_names<'a>(tasks: &'a [OldTask<'_>]) -> HashSet<&'a str> {
    let mut seen = HashSet::with_capacity(tasks.len());
    let names = tasks.iter().filter_map(|t| t.name.as_deref());
    names.filter(|&name| !seen.insert(name)).collect()
}

fn run(
    makespan: Option<f64>,
    executed_at: Option<Text<'_>>,
    machines: Option<Vec<Machine<'_>>>,
    path: &str,
) -> Result<Option<Run>> {
    if let Some(seconds) = makespan {
        checked(seconds, || format!("{path}.makespanInSeconds"))?;
    }
    let machines = machines.unwrap_or_default().into_iter().enumerate();
    let machines: Vec<_> = machines
        .map(|(i, m)| machine(m).map_err(|e| e.under(|| format!("{path}.machines[{i}]"))))
        .collect::<Result<_>>()?;
    let placeholder = makespan == Some(0.0) && executed_at.as_deref() == Some(NO_RUN);
    if machines.is_empty() && (placeholder || (makespan.is_none() && executed_at.is_none())) {
        return Ok(None);
    }
    Ok(Some(Run { makespan_seconds: makespan, executed_at: owned(executed_at), machines }))
}

fn machine(m: Machine<'_>) -> Result<RecordedMachine> {
    let name = required(&m.node_name, String::new, "nodeName")?.to_string();
    let cpu = m.cpu.unwrap_or(Cpu {
        count: None,
        core_count: None,
        speed: None,
        speed_in_mhz: None,
        vendor: None,
    });
    let number = |what: &'static str, value: Option<f64>| {
        value.map(|v| checked(v, || what.to_string())).transpose()
    };
    let speed_mhz = number("cpu.speedInMHz", cpu.speed_in_mhz.or(cpu.speed))?;
    if speed_mhz == Some(0.0) {
        return Err(FormatError::in_path("cpu.speedInMHz", "a machine cannot have a speed of 0"));
    }
    Ok(RecordedMachine {
        name,
        system: owned(m.system),
        architecture: owned(m.architecture),
        release: owned(m.release),
        memory_bytes: number("memory", m.memory_in_bytes.or(m.memory.map(|kb| kb * 1000.0)))?,
        cores: number("cpu.coreCount", cpu.core_count.or(cpu.count))?,
        speed_mhz,
        vendor: owned(cpu.vendor),
    })
}

fn command(command: Command<'_>) -> model::Command {
    model::Command {
        program: owned(command.program).unwrap_or_default(),
        arguments: command.arguments.into_iter().flatten().map(|a| a.0.into_owned()).collect(),
        ..model::Command::default()
    }
}

/// A rigid width from a number of cores that may be fractional.
fn take_cores(task: &mut model::Task, cores: Option<f64>, property: &str) -> Result<()> {
    let Some(cores) = cores else { return Ok(()) };
    let width = cores.ceil();
    if !(1.0..=f64::from(u32::MAX)).contains(&width) {
        let message = format!("a task takes at least one core, not {cores}");
        return Err(FormatError::in_path(property, message));
    }
    set_cores(task, width as u32);
    Ok(())
}

/// A measurement in another unit; one that overflows is not worth keeping.
fn scaled(value: Option<f64>, factor: f64) -> Option<f64> {
    value.map(|v| v * factor).filter(|v| v.is_finite())
}

fn checked(value: f64, path: impl Fn() -> String) -> Result<f64> {
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    let message = format!("must be a finite number that is not negative, not {value}");
    Err(FormatError::in_path(path(), message))
}

fn required<'a>(
    value: &'a Option<Text<'_>>,
    path: impl Fn() -> String,
    property: &str,
) -> Result<&'a str> {
    match value.as_deref() {
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(missing(&path(), property)),
    }
}

fn missing(path: &str, property: &str) -> FormatError {
    FormatError::in_path(path, format!("{property} is missing"))
}

fn owned(text: Option<Text<'_>>) -> Option<String> {
    text.map(|t| t.0.into_owned())
}
