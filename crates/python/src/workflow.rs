//! Workflows, built task by task or read.

use crate::errors::{self, bad_input, input};
use crate::quantity::{bytes, cores, flop, number, seconds};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use slackline_core::formats::{Document, Format};
use slackline_core::input::WorkflowValue;
use slackline_core::model::resources::{Amount, Demand, Devices};
use slackline_core::model::workflow::{Command, CostTable, Shape};
use slackline_core::model::{FileId, SpeedUp, Task, TaskId, Workflow, WorkflowBuilder};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Storage of a frozen workflow.
enum Kept {
    Document(Arc<WorkflowValue>),
    Shared(Arc<Workflow>),
}

/// A frozen workflow with what is derived from it once.
pub(crate) struct Frozen {
    kept: Kept,
    shape: OnceLock<Shape>,
}

impl Frozen {
    fn new(value: WorkflowValue) -> Frozen {
        Frozen { kept: Kept::Document(Arc::new(value)), shape: OnceLock::new() }
    }

    /// The workflow of a run.
    pub(crate) fn shared(workflow: Arc<Workflow>) -> Frozen {
        Frozen { kept: Kept::Shared(workflow), shape: OnceLock::new() }
    }

    pub(crate) fn workflow(&self) -> &Workflow {
        match &self.kept {
            Kept::Document(value) => &value.document.workflow,
            Kept::Shared(workflow) => workflow,
        }
    }

    /// The workflow with the other contents of its file.
    pub(crate) fn value(&self) -> Arc<WorkflowValue> {
        match &self.kept {
            Kept::Document(value) => value.clone(),
            Kept::Shared(workflow) => {
                let document = Document::new(Workflow::clone(workflow));
                Arc::new(WorkflowValue { document, format: Format::Toml })
            }
        }
    }

    pub(crate) fn shape(&self) -> &Shape {
        self.shape.get_or_init(|| Shape::of(self.workflow()))
    }
}

#[derive(Default)]
struct Building {
    builder: WorkflowBuilder,
    /// Files that some task writes, or whose size is known.
    known: HashSet<FileId>,
    written: HashSet<FileId>,
    /// Other files that tasks read: the first reader of each.
    unknown: HashMap<FileId, String>,
}

enum State {
    Building(Box<Building>),
    Frozen(Arc<Frozen>),
}

/// A workflow: tasks, files and dependencies.
#[pyclass(subclass, frozen, name = "Workflow", module = "slackline._native")]
pub(crate) struct Workflow_ {
    name: String,
    /// The file it was read from and still is the same as.
    path: Mutex<Option<String>>,
    state: Mutex<State>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Workflow_ {
    fn with(name: String, path: Option<String>, state: State) -> Workflow_ {
        Workflow_ { name, path: Mutex::new(path), state: Mutex::new(state) }
    }

    pub(crate) fn of_value(value: WorkflowValue, path: Option<String>) -> Workflow_ {
        let name = value.document.workflow.name().to_string();
        Workflow_::with(name, path, State::Frozen(Arc::new(Frozen::new(value))))
    }

    /// A workflow without a file.
    pub(crate) fn of(workflow: Workflow) -> Workflow_ {
        let document = Document::new(workflow);
        Workflow_::of_value(WorkflowValue { document, format: Format::Toml }, None)
    }

    /// The workflow as it is now, checked.
    pub(crate) fn frozen(&self) -> PyResult<Arc<Frozen>> {
        let mut state = lock(&self.state);
        let building = match &mut *state {
            State::Frozen(frozen) => return Ok(frozen.clone()),
            State::Building(building) => building,
        };
        let mut unknown: Vec<FileId> = building.unknown.keys().copied().collect();
        unknown.sort_unstable();
        for file in unknown {
            let (task, name) = (&building.unknown[&file], building.builder.file_name(file));
            // A file of this machine has the size it has.
            let Some(size) = std::fs::metadata(name).ok().filter(std::fs::Metadata::is_file) else {
                let why = format!(
                    "'{task}' reads '{name}', which no task writes and whose size is not given"
                );
                return Err(bad_input(&why));
            };
            building.builder.set_file_bytes(file, size.len() as f64).map_err(input)?;
        }
        let workflow = building.builder.clone().build().map_err(input)?;
        let document = Document::new(workflow);
        let frozen = Arc::new(Frozen::new(WorkflowValue { document, format: Format::Toml }));
        *state = State::Frozen(frozen.clone());
        Ok(frozen)
    }

    /// Changes the workflow, which is no longer that of its file.
    fn change<T>(&self, change: impl FnOnce(&mut Building) -> PyResult<T>) -> PyResult<T> {
        let mut state = lock(&self.state);
        if let State::Frozen(frozen) = &*state {
            let workflow = frozen.workflow();
            let builder = workflow.reopen().map_err(input)?;
            let known = workflow.files().collect();
            let written = workflow.files().filter(|&f| workflow.producer(f).is_some()).collect();
            *lock(&self.path) = None;
            *state = State::Building(Box::new(Building {
                builder,
                known,
                written,
                ..Building::default()
            }));
        }
        match &mut *state {
            State::Building(building) => change(building),
            State::Frozen(_) => Err(errors::refused("the workflow cannot be changed")),
        }
    }

    /// The file that it was read from, where it has not been changed since.
    pub(crate) fn path(&self) -> Option<String> {
        lock(&self.path).clone()
    }
}

impl Building {
    fn file(&mut self, name: &str) -> PyResult<FileId> {
        match self.builder.file_id(name) {
            Some(file) => Ok(file),
            None if name.is_empty() => Err(bad_input("a file needs a name")),
            None => self.builder.add_file(name, 0.0).map_err(input),
        }
    }

    fn size(&mut self, file: FileId, bytes: f64) -> PyResult<()> {
        self.builder.set_file_bytes(file, bytes).map_err(input)?;
        self.known.insert(file);
        self.unknown.remove(&file);
        Ok(())
    }

    /// Reads what a task is connected with, without changing anything; what follows cannot fail.
    fn connections(
        &self,
        task: &str,
        inputs: Option<&Bound<'_, PyAny>>,
        outputs: Option<&Bound<'_, PyAny>>,
        after: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Connections> {
        let mut found = Connections::default();
        if let Some(outputs) = outputs {
            found.outputs = sized_files(outputs, "outputs")?;
        }
        if let Some(inputs) = inputs {
            found.inputs = sized_files(inputs, "inputs")?;
        }
        for (name, _) in &found.outputs {
            let file = self.builder.file_id(name);
            if file.is_some_and(|file| self.written.contains(&file)) {
                let why = format!("file '{name}' is written by another task than '{task}', too");
                return Err(bad_input(&why));
            }
        }
        if let Some(after) = after {
            found.after = self.parents(task, after)?;
        }
        Ok(found)
    }

    /// Tasks that come before one, with bytes where they send data.
    fn parents(
        &self,
        task: &str,
        after: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<(TaskId, Option<f64>)>> {
        let one = |from: &Bound<'_, PyAny>, data: Option<&Bound<'_, PyAny>>| {
            let name = task_name(from)?;
            if name == task {
                return Err(bad_input(&format!("task '{task}' depends on itself")));
            }
            let Some(from) = self.builder.task_id(&name) else {
                return Err(bad_input(&format!("there is no task '{name}' before '{task}'")));
            };
            let data = data.filter(|data| !data.is_none());
            let size = data.map(|data| size_of(data, &name)).transpose()?;
            Ok((from, size))
        };
        if let Ok(table) = after.cast::<PyDict>() {
            return table.iter().map(|(from, data)| one(&from, Some(&data))).collect();
        }
        if after.is_instance_of::<PyString>() || after.cast::<TaskHandle>().is_ok() {
            return Ok(vec![one(after, None)?]);
        }
        let all = after.try_iter().map_err(|_| wrong("after", "tasks or their names", after))?;
        all.map(|from| one(&from?, None)).collect()
    }

    fn connect(&mut self, task: TaskId, connections: Connections) -> PyResult<()> {
        for (name, size) in connections.outputs {
            let file = self.file(&name)?;
            if let Some(size) = size {
                self.size(file, size)?;
            }
            self.known.insert(file);
            self.written.insert(file);
            self.unknown.remove(&file);
            self.builder.writes(task, file).map_err(input)?;
        }
        for (name, size) in connections.inputs {
            let file = self.file(&name)?;
            match size {
                Some(size) => self.size(file, size)?,
                None if !self.known.contains(&file) => {
                    let reader = self.builder.task_name(task).to_string();
                    self.unknown.entry(file).or_insert(reader);
                }
                None => {}
            }
            self.builder.reads(task, file);
        }
        for (from, data) in connections.after {
            match data {
                Some(bytes) => self.builder.add_edge(from, task, bytes),
                None => self.builder.add_control(from, task),
            }
            .map_err(input)?;
        }
        Ok(())
    }
}

/// Files and predecessors of a new task.
#[derive(Default)]
struct Connections {
    inputs: Vec<(String, Option<f64>)>,
    outputs: Vec<(String, Option<f64>)>,
    after: Vec<(TaskId, Option<f64>)>,
}

/// A size that a workflow can have.
fn size_of(size: &Bound<'_, PyAny>, name: &str) -> PyResult<f64> {
    let size = bytes(size, &format!("the size of '{name}'"))?;
    if size.is_finite() && size >= 0.0 {
        Ok(size)
    } else {
        Err(bad_input(&format!("the size of '{name}' cannot be {size}")))
    }
}

/// Names of files: a list of them, one, or a table of their sizes.
fn sized_files(names: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<(String, Option<f64>)>> {
    let text = |name: &Bound<'_, PyAny>| -> PyResult<String> {
        let text: String = name.extract().map_err(|_| wrong(what, "names of files", name))?;
        if text.is_empty() { Err(bad_input("a file needs a name")) } else { Ok(text) }
    };
    if let Ok(table) = names.cast::<PyDict>() {
        let one = |(name, size): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let name = text(&name)?;
            let size = if size.is_none() { None } else { Some(size_of(&size, &name)?) };
            Ok((name, size))
        };
        return table.iter().map(one).collect();
    }
    if names.is_instance_of::<PyString>() {
        return Ok(vec![(text(names)?, None)]);
    }
    let all = names.try_iter().map_err(|_| wrong(what, "names of files", names))?;
    all.map(|name| Ok((text(&name?)?, None))).collect()
}

fn wrong(what: &str, wanted: &str, found: &Bound<'_, PyAny>) -> PyErr {
    bad_input(&format!("{what} must be {wanted}, not {}", found.get_type()))
}

/// The name of a task that is given as a handle or by name.
fn task_name(task: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(handle) = task.cast::<TaskHandle>() {
        return Ok(handle.get().name.clone());
    }
    if let Ok(task) = task.cast::<Task_>() {
        return Ok(task.get().name().to_string());
    }
    task.extract().map_err(|_| wrong("a task", "a task or its name", task))
}

/// Arguments of `task` other than the name; the stub explains each.
struct Given<'a, 'py> {
    seconds: Option<&'a Bound<'py, PyAny>>,
    work: Option<&'a Bound<'py, PyAny>>,
    cores: Option<&'a Bound<'py, PyAny>>,
    memory: Option<&'a Bound<'py, PyAny>>,
    memory_per_core: Option<&'a Bound<'py, PyAny>>,
    gpus: Option<&'a Bound<'py, PyAny>>,
    resources: Option<&'a Bound<'py, PyDict>>,
    alpha: Option<f64>,
    spread: bool,
    kind: Option<String>,
    command: Option<&'a Bound<'py, PyAny>>,
}

impl Given<'_, '_> {
    fn task(self, name: &str, reference: f64) -> PyResult<Task> {
        let work = match (self.seconds, self.work) {
            (Some(_), Some(_)) => {
                return Err(bad_input(&format!("task '{name}' is given both seconds and work")));
            }
            (Some(value), None) => seconds(value, &format!("seconds of '{name}'"))? * reference,
            (None, Some(value)) => flop(value, &format!("work of '{name}'"))?,
            (None, None) => 0.0,
        };
        let mut task = Task::new(name, work);
        if let Some(memory) = self.memory {
            task.memory = bytes(memory, &format!("memory of '{name}'"))?;
        }
        if let Some(value) = self.cores {
            (task.min_width, task.max_width) = cores(value)?;
        }
        match self.alpha {
            Some(serial) => {
                task.speedup = SpeedUp::Amdahl { serial };
                if self.cores.is_none() {
                    task.max_width = u32::MAX;
                }
            }
            None if task.min_width != task.max_width => {
                let why = format!(
                    "'{name}' can take a range of cores but does not say what it gains by them: give alpha"
                );
                return Err(bad_input(&why));
            }
            None => {}
        }
        task.spread = self.spread;
        task.kind = self.kind.unwrap_or_default();
        task.command = self.command.map(command).transpose()?;
        let mut demand = Demand::default();
        if let Some(value) = self.memory_per_core {
            demand.memory_per_core = bytes(value, &format!("memory per core of '{name}'"))?;
        }
        if let Some(value) = self.gpus {
            demand.gpus = Some(gpus(value)?);
        }
        if let Some(table) = self.resources {
            for (resource, value) in table.iter() {
                let resource: String = resource.extract().map_err(input)?;
                let what = format!("{resource} of '{name}'");
                let amount = if value.is_instance_of::<PyString>() {
                    Amount::demand_bytes(bytes(&value, &what)?)
                } else {
                    Amount::demand(number(&value, &what)?)
                };
                demand.named.push((resource.into(), amount.map_err(input)?));
            }
        }
        task.demand = demand;
        Ok(task)
    }
}

/// A line of shell, or a program with its arguments.
fn command(value: &Bound<'_, PyAny>) -> PyResult<Command> {
    if let Ok(line) = value.cast::<PyString>() {
        return Ok(Command::shell(line.to_cow()?));
    }
    let words: Vec<String> = value
        .extract()
        .map_err(|_| wrong("a command", "a line of shell or a list of words", value))?;
    let mut words = words.into_iter();
    let program = words.next().ok_or_else(|| bad_input("a command needs a program"))?;
    Ok(Command { program, arguments: words.collect(), ..Command::default() })
}

fn gpus(value: &Bound<'_, PyAny>) -> PyResult<Devices> {
    if let Ok(table) = value.cast::<PyDict>() {
        let kind = |(kind, n): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<(Arc<str>, u32)> {
            let kind: String = kind.extract().map_err(input)?;
            Ok((kind.into(), n.extract().map_err(input)?))
        };
        return Ok(Devices::Kinds(table.iter().map(kind).collect::<PyResult<_>>()?));
    }
    let wrong = |_| wrong("gpus", "a number, or a table of numbers by kind", value);
    Ok(Devices::Any(value.extract().map_err(wrong)?))
}

/// Numbers of a list, or of the bytes of an array of doubles.
fn doubles(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<f64>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        let chunks = bytes.as_bytes().chunks_exact(8);
        let double = |c: &[u8]| f64::from_le_bytes(c.try_into().unwrap_or_default());
        return Ok(chunks.map(double).collect());
    }
    value.extract().map_err(|error| bad_input(&format!("{what} must be numbers: {error}")))
}

#[pymethods]
impl Workflow_ {
    #[new]
    #[pyo3(signature = (name = ""))]
    fn new(name: &str) -> Workflow_ {
        let builder = WorkflowBuilder::new(name);
        let building = Building { builder, ..Building::default() };
        Workflow_::with(name.to_string(), None, State::Building(Box::new(building)))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn source(&self) -> Option<String> {
        self.path()
    }

    fn __len__(&self) -> usize {
        match &*lock(&self.state) {
            State::Building(building) => building.builder.len(),
            State::Frozen(frozen) => frozen.workflow().len(),
        }
    }

    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (name, *, seconds=None, work=None, inputs=None, outputs=None, after=None, cores=None, memory=None,
        memory_per_core=None, gpus=None, resources=None, alpha=None, spread=false, kind=None, command=None))]
    fn task(
        &self,
        name: &Bound<'_, PyAny>,
        seconds: Option<&Bound<'_, PyAny>>,
        work: Option<&Bound<'_, PyAny>>,
        inputs: Option<&Bound<'_, PyAny>>,
        outputs: Option<&Bound<'_, PyAny>>,
        after: Option<&Bound<'_, PyAny>>,
        cores: Option<&Bound<'_, PyAny>>,
        memory: Option<&Bound<'_, PyAny>>,
        memory_per_core: Option<&Bound<'_, PyAny>>,
        gpus: Option<&Bound<'_, PyAny>>,
        resources: Option<&Bound<'_, PyDict>>,
        alpha: Option<&Bound<'_, PyAny>>,
        spread: bool,
        kind: Option<&Bound<'_, PyAny>>,
        command: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<TaskHandle> {
        let name: String =
            name.extract().map_err(|_| wrong("the name of a task", "a text", name))?;
        if name.is_empty() {
            return Err(bad_input("a task needs a name"));
        }
        let alpha = alpha.map(|a| number(a, &format!("alpha of '{name}'"))).transpose()?;
        let kind =
            kind.map(|k| k.extract().map_err(|_| wrong("a kind", "a text", k))).transpose()?;
        let given = Given {
            seconds,
            work,
            cores,
            memory,
            memory_per_core,
            gpus,
            resources,
            alpha,
            spread,
            kind,
            command,
        };
        self.change(|building| {
            let reference = slackline_core::model::workflow::REFERENCE_SPEED;
            let task = given.task(&name, reference)?;
            // What is refused leaves the workflow as it was.
            let connections = building.connections(&name, inputs, outputs, after)?;
            let id = building.builder.add_task(task).map_err(input)?;
            building.connect(id, connections)?;
            Ok(TaskHandle { name, index: id.0 })
        })
    }

    /// States the size of a file.
    fn file(&self, name: &str, size: &Bound<'_, PyAny>) -> PyResult<()> {
        let size = size_of(size, name)?;
        self.change(|building| {
            let file = building.file(name)?;
            building.size(file, size)
        })
    }

    /// A file is kept although some task reads it.
    fn keep(&self, name: &str) -> PyResult<()> {
        self.change(|building| match building.builder.file_id(name) {
            Some(file) => {
                building.builder.keep(file);
                Ok(())
            }
            None => Err(bad_input(&format!("there is no file '{name}'"))),
        })
    }

    /// Many tasks and dependencies at once: names and work (flop), then positions of tasks in the whole workflow and bytes;
    /// less than no byte is an order without data.
    fn add_many(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        work: &Bound<'_, PyAny>,
        sources: Vec<u32>,
        targets: Vec<u32>,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (work, data) = (doubles(work, "work")?, doubles(data, "data")?);
        if work.len() != names.len()
            || sources.len() != targets.len()
            || data.len() != sources.len()
        {
            let (n, w, s, t, d) =
                (names.len(), work.len(), sources.len(), targets.len(), data.len());
            let why = format!("{n} names and {w} works; {s} sources, {t} targets and {d} sizes");
            return Err(bad_input(&why));
        }
        py.detach(|| {
            self.change(|building| {
                for (name, work) in names.into_iter().zip(work) {
                    building.builder.add_task(Task::new(name, work)).map_err(input)?;
                }
                let tasks = building.builder.len() as u32;
                for ((from, to), bytes) in sources.into_iter().zip(targets).zip(data) {
                    if from >= tasks || to >= tasks {
                        return Err(bad_input(&format!(
                            "dependency {from} -> {to} of {tasks} tasks"
                        )));
                    }
                    let (from, to) = (TaskId(from), TaskId(to));
                    if bytes < 0.0 {
                        building.builder.add_control(from, to)
                    } else {
                        building.builder.add_edge(from, to, bytes)
                    }
                    .map_err(input)?;
                }
                Ok(())
            })
        })
    }

    /// Seconds of every task on every host or class: rows in the order of the tasks.
    fn set_costs(&self, columns: Vec<String>, seconds: &Bound<'_, PyAny>) -> PyResult<()> {
        let seconds = doubles(seconds, "costs")?;
        let mut seen = HashSet::new();
        if let Some(twice) = columns.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(bad_input(&format!("two columns of the costs are named '{twice}'")));
        }
        let (tasks, width) = (self.__len__(), columns.len());
        if seconds.len() != tasks * width {
            let found = seconds.len();
            let why = format!("{found} costs do not fill {tasks} tasks x {width} columns");
            return Err(bad_input(&why));
        }
        if let Some(at) = seconds.iter().position(|s| !(s.is_finite() && *s >= 0.0)) {
            let (row, column) = (at / width, &columns[at % width]);
            let why = format!("costs: row {row}, column '{column}': {} seconds", seconds[at]);
            return Err(bad_input(&why));
        }
        self.change(|building| {
            building.builder.set_cost_table(CostTable { columns, seconds });
            Ok(())
        })
    }

    /// Checks the whole.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.frozen()).map(drop)
    }

    #[getter]
    fn tasks(&self) -> PyResult<Vec<Task_>> {
        let frozen = self.frozen()?;
        Ok(frozen.workflow().tasks().map(|id| Task_::new(&frozen, id)).collect())
    }

    fn find(&self, task: &Bound<'_, PyAny>) -> PyResult<Task_> {
        let frozen = self.frozen()?;
        Ok(Task_::new(&frozen, task_of(task, frozen.workflow())?))
    }

    /// Names and sizes of the files, their writers and whether they are results, as columns.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let frozen = self.frozen()?;
        let workflow = frozen.workflow();
        let all = || workflow.files();
        let columns = PyDict::new(py);
        columns.set_item("file", all().map(|f| workflow.file_label(f)).collect::<Vec<_>>())?;
        columns.set_item("bytes", all().map(|f| workflow.file_bytes(f)).collect::<Vec<_>>())?;
        let producer = |f| workflow.producer(f).map(|t| workflow.task_name(t).to_string());
        columns.set_item("producer", all().map(producer).collect::<Vec<_>>())?;
        let consumers = |f| workflow.consumers(f).len();
        columns.set_item("consumers", all().map(consumers).collect::<Vec<_>>())?;
        columns.set_item("result", all().map(|f| workflow.is_result(f)).collect::<Vec<_>>())?;
        Ok(columns)
    }

    /// Facts of every task, as columns.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let frozen = self.frozen()?;
        let workflow = frozen.workflow();
        let all = || workflow.tasks();
        let columns = PyDict::new(py);
        columns.set_item("task", all().map(|t| workflow.task_name(t)).collect::<Vec<_>>())?;
        let kind = |t| workflow.kind_name(workflow.kind(t));
        columns.set_item("kind", all().map(kind).collect::<Vec<_>>())?;
        columns.set_item("work", all().map(|t| workflow.work(t)).collect::<Vec<_>>())?;
        let seconds = |t| workflow.reference_seconds(t);
        columns.set_item("seconds", all().map(seconds).collect::<Vec<_>>())?;
        columns.set_item("level", frozen.shape().level.clone())?;
        columns.set_item("cores", all().map(|t| workflow.width(t).0).collect::<Vec<_>>())?;
        columns.set_item("memory", all().map(|t| workflow.memory(t)).collect::<Vec<_>>())?;
        columns.set_item("parents", all().map(|t| workflow.in_degree(t)).collect::<Vec<_>>())?;
        columns.set_item("children", all().map(|t| workflow.out_degree(t)).collect::<Vec<_>>())?;
        Ok(columns)
    }

    /// Dependencies as columns: positions of both tasks, bytes, and whether they carry data.
    fn edges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let frozen = self.frozen()?;
        let workflow = frozen.workflow();
        let columns = PyDict::new(py);
        let ends: Vec<(TaskId, TaskId)> = workflow.edges().map(|e| workflow.edge_ends(e)).collect();
        columns.set_item("source", ends.iter().map(|e| e.0.0).collect::<Vec<_>>())?;
        columns.set_item("target", ends.iter().map(|e| e.1.0).collect::<Vec<_>>())?;
        let sizes = workflow.edges().map(|e| workflow.edge_bytes(e));
        columns.set_item("bytes", sizes.collect::<Vec<_>>())?;
        let control = workflow.edges().map(|e| workflow.is_control(e));
        columns.set_item("control", control.collect::<Vec<_>>())?;
        Ok(columns)
    }

    #[getter]
    fn edge_count(&self) -> PyResult<usize> {
        Ok(self.frozen()?.workflow().edge_count())
    }

    /// The file as text in one of the formats that can be written.
    fn to_text(&self, py: Python<'_>, format: &str) -> PyResult<String> {
        let frozen = self.frozen()?;
        let format: Format = format.parse().map_err(input)?;
        py.detach(|| {
            let mut out = Vec::new();
            format.write(&frozen.value().document, &mut out).map_err(input)?;
            slackline_io::decode(out).map_err(input)
        })
    }

    /// Returns the state for pickling: the name and the text of a file.
    fn __getstate__(&self, py: Python<'_>) -> PyResult<(String, Option<String>, String)> {
        if self.__len__() == 0 {
            return Ok((self.name.clone(), None, String::new()));
        }
        let frozen = self.frozen()?;
        let format = match frozen.value().document.recorded {
            Some(_) if frozen.value().format.can_write() => frozen.value().format,
            _ => Format::Toml,
        };
        let text = self.to_text(py, format.name())?;
        Ok((self.name.clone(), self.path(), format!("{}\n{text}", format.name())))
    }

    /// Puts another workflow in place of this one, which has no tasks yet.
    fn assume(&self, other: &Bound<'_, Workflow_>) -> PyResult<()> {
        let other = other.get();
        let state = match &*lock(&other.state) {
            State::Frozen(frozen) => State::Frozen(frozen.clone()),
            State::Building(building) => State::Building(Box::new(Building {
                builder: building.builder.clone(),
                known: building.known.clone(),
                written: building.written.clone(),
                unknown: building.unknown.clone(),
            })),
        };
        let path = other.path();
        *lock(&self.state) = state;
        *lock(&self.path) = path;
        Ok(())
    }

    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        let frozen = self.frozen()?;
        py.detach(|| {
            let workflow = frozen.workflow();
            Ok(match workflow.control() {
                Some(control) => slackline_view::graph::regions_svg(workflow, control),
                None => slackline_view::graph::svg(
                    workflow,
                    &slackline_view::graph::GraphOptions::default(),
                ),
            })
        })
    }
}

/// The id of a task that is given as an object, by name or by position.
pub(crate) fn task_of(task: &Bound<'_, PyAny>, workflow: &Workflow) -> PyResult<TaskId> {
    let unknown = |name: &str| {
        PyKeyError::new_err(format!("there is no task '{name}' in '{}'", workflow.name()))
    };
    if let Ok(task) = task.cast::<Task_>() {
        let task = task.get();
        // Objects of the same workflow need no lookup of names.
        if std::ptr::eq(task.of.workflow(), workflow) {
            return Ok(task.id);
        }
        return workflow.find_task(task.name()).ok_or_else(|| unknown(task.name()));
    }
    if let Ok(handle) = task.cast::<TaskHandle>() {
        let TaskHandle { name, index } = handle.get();
        let id = TaskId(*index);
        if (*index as usize) < workflow.len() && workflow.task_name(id) == name {
            return Ok(id);
        }
        return workflow.find_task(name).ok_or_else(|| unknown(name));
    }
    if let Ok(name) = task.cast::<PyString>() {
        let name = name.to_cow()?;
        return workflow.find_task(&name).ok_or_else(|| unknown(&name));
    }
    match task.extract::<u32>() {
        Ok(index) if (index as usize) < workflow.len() => Ok(TaskId(index)),
        _ => Err(wrong("a task", "a task, its name or its position", task)),
    }
}

/// The answer of `Workflow.task`: a task by name.
#[pyclass(frozen, eq, hash, module = "slackline._native")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct TaskHandle {
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    index: u32,
}

#[pymethods]
impl TaskHandle {
    #[new]
    fn new(name: String, index: u32) -> TaskHandle {
        TaskHandle { name, index }
    }

    fn __repr__(&self) -> String {
        format!("<task {:?}>", self.name)
    }

    fn __str__(&self) -> &str {
        &self.name
    }

    fn __getnewargs__(&self) -> (String, u32) {
        (self.name.clone(), self.index)
    }
}

/// A task of a workflow that is complete.
#[pyclass(frozen, name = "Task", module = "slackline._native")]
#[derive(Clone)]
pub(crate) struct Task_ {
    of: Arc<Frozen>,
    pub(crate) id: TaskId,
}

impl Task_ {
    pub(crate) fn new(of: &Arc<Frozen>, id: TaskId) -> Task_ {
        Task_ { of: of.clone(), id }
    }

    pub(crate) fn of_name(&self) -> &str {
        self.of.workflow().task_name(self.id)
    }

    fn all(&self, ids: impl Iterator<Item = TaskId>) -> Vec<Task_> {
        ids.map(|id| Task_::new(&self.of, id)).collect()
    }

    fn files(&self, files: impl Iterator<Item = FileId>) -> Vec<String> {
        files.map(|file| self.of.workflow().file_label(file)).collect()
    }
}

#[pymethods]
impl Task_ {
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    #[getter]
    fn name(&self) -> &str {
        self.of.workflow().task_name(self.id)
    }

    #[getter]
    fn index(&self) -> u32 {
        self.id.0
    }

    #[getter]
    fn work(&self) -> f64 {
        self.of.workflow().work(self.id)
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.of.workflow().reference_seconds(self.id)
    }

    #[getter]
    fn kind(&self) -> &str {
        self.of.workflow().kind_name(self.of.workflow().kind(self.id))
    }

    #[getter]
    fn level(&self) -> u32 {
        self.of.shape().level[self.id.index()]
    }

    #[getter]
    fn cores(&self) -> u32 {
        self.of.workflow().width(self.id).0
    }

    #[getter]
    fn most_cores(&self) -> u32 {
        self.of.workflow().width(self.id).1
    }

    #[getter]
    fn memory(&self) -> f64 {
        self.of.workflow().memory(self.id)
    }

    #[getter]
    fn command(&self) -> Option<Vec<String>> {
        let command = self.of.workflow().command(self.id)?;
        let mut words = vec![command.program.clone()];
        words.extend(command.arguments.iter().cloned());
        Some(words)
    }

    #[getter]
    fn parents(&self) -> Vec<Task_> {
        self.all(self.of.workflow().predecessors(self.id).map(|(task, _)| task))
    }

    #[getter]
    fn children(&self) -> Vec<Task_> {
        self.all(self.of.workflow().successors(self.id).map(|(task, _)| task))
    }

    #[getter]
    fn inputs(&self) -> Vec<String> {
        self.files(self.of.workflow().inputs(self.id))
    }

    #[getter]
    fn outputs(&self) -> Vec<String> {
        self.files(self.of.workflow().outputs(self.id))
    }

    fn __repr__(&self) -> String {
        format!("<task {:?}>", self.name())
    }

    fn __str__(&self) -> &str {
        self.name()
    }

    fn __hash__(&self) -> u64 {
        u64::from(self.id.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        match other.cast::<Task_>() {
            Ok(other) => {
                let other = other.get();
                self.id == other.id
                    && (Arc::ptr_eq(&self.of, &other.of) || self.name() == other.name())
            }
            Err(_) => false,
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String, u32))> {
        let handle = slf.py().get_type::<TaskHandle>().into_any();
        Ok((handle, (slf.get().name().to_string(), slf.get().id.0)))
    }
}

/// Texts as a list of Python, each object made once.
pub(crate) fn texts<'py>(
    py: Python<'py>,
    names: impl Iterator<Item = String>,
) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, names.collect::<Vec<_>>())
}
