//! Building of workflows, with checks of names, numbers and cycles.

use super::{
    Command, CostTable, Demands, Member, NO_TASK, Payload, REFERENCE_SPEED, Rows, Task, Unfolded,
    Workflow,
};
use crate::ids::{FileId, TaskId};
use crate::names::UniqueNames;
use crate::resources::{Demand, Devices};
use crate::speedup::SpeedUp;
use crate::units::fmt_number;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use thiserror::Error;

/// The reason why a workflow cannot be built.
#[derive(Clone, Debug, Error, PartialEq)]
#[allow(missing_docs)] // the messages say it
pub enum WorkflowError {
    #[error("the workflow has no tasks")]
    Empty,
    #[error("two tasks are named '{name}'")]
    DuplicateTask { name: String },
    #[error("two files are named '{name}'")]
    DuplicateFile { name: String },
    #[error("file '{file}' is written by both '{first}' and '{second}'")]
    SecondProducer { file: String, first: String, second: String },
    #[error("task '{task}' depends on itself")]
    SelfDependency { task: String },
    #[error("the tasks depend on each other in a circle: {}", cycle_text(.tasks))]
    Cycle { tasks: Vec<String> },
    #[error(
        "the work of task '{task}' is {} flop, for which the fastest machine takes thousands of years",
        fmt_number(*.work)
    )]
    TooMuchWork { task: String, work: f64 },
    #[error("{what} of '{of}' must be a finite number that is not negative, not {value}")]
    BadNumber { what: &'static str, of: String, value: f64 },
    #[error("the width of '{task}' must satisfy 1 <= min <= max, not {min} and {max}")]
    BadWidth { task: String, min: u32, max: u32 },
    #[error("speed-up of '{task}': {why}")]
    BadSpeedUp { task: String, why: String },
    #[error("'{task}' demands {name} twice")]
    RepeatedDemand { task: String, name: String },
    #[error("the cost table: {why}")]
    BadCostTable { why: String },
    #[error(
        "'{workflow}' has choices and loops: it cannot be joined with others before its course is known"
    )]
    Undecided { workflow: String },
    #[error("the workflow is larger than Slackline can hold: {what}")]
    TooLarge { what: &'static str },
}

/// Flop of a task; more are a slip of the pen.
const MOST_WORK: f64 = 1e30;

/// Long circles are cut in the middle: their first and last tasks say enough.
fn cycle_text(tasks: &[String]) -> String {
    const SHOWN: usize = 10;
    let mut shown: Vec<&str> = tasks.iter().take(SHOWN).map(String::as_str).collect();
    let more = format!("({} more)", tasks.len().saturating_sub(SHOWN));
    if tasks.len() > SHOWN {
        shown.push(&more);
    }
    if let Some(first) = tasks.first() {
        shown.push(first);
    }
    shown.join(" -> ")
}

/// Collects tasks, files and dependencies; [`build`](WorkflowBuilder::build) checks the whole.
#[derive(Clone, Debug, Default)]
pub struct WorkflowBuilder {
    name: String,
    reference_speed: Option<f64>,
    task_names: UniqueNames,
    kinds: UniqueNames,
    kind_of: Vec<u32>,
    work: Vec<f64>,
    speedup: Vec<SpeedUp>,
    width: Vec<(u32, u32)>,
    spread: Vec<bool>,
    memory: Vec<f64>,
    demand: Vec<Option<Arc<Demand>>>,
    commands: Vec<Option<Arc<Command>>>,
    file_names: UniqueNames,
    file_bytes: Vec<f64>,
    kept: Vec<bool>,
    producer: Vec<u32>,
    /// (file, task): `task` reads `file`.
    reads: Vec<(u32, u32)>,
    /// (task, file): `task` writes `file`.
    writes: Vec<(u32, u32)>,
    /// (from, to): precedence without data.
    controls: Vec<(u32, u32)>,
    cost_table: Option<CostTable>,
    members: Vec<Member>,
    unfolded: Option<Arc<Vec<Unfolded>>>,
}

impl WorkflowBuilder {
    /// An empty workflow of that name.
    pub fn new(name: impl Into<String>) -> Self {
        WorkflowBuilder { name: name.into(), ..Default::default() }
    }

    /// Renames the workflow.
    pub fn set_name(&mut self, name: impl Into<String>) {
        self.name = name.into();
    }

    /// Sets the speed at which the source's seconds were turned into flop.
    pub fn set_reference_speed(&mut self, flops_per_second: f64) {
        self.reference_speed = Some(flops_per_second);
    }

    /// Number of tasks so far.
    pub fn len(&self) -> usize {
        self.work.len()
    }

    /// Whether there is no task yet.
    pub fn is_empty(&self) -> bool {
        self.work.is_empty()
    }

    /// The task of that name.
    pub fn task_id(&self, name: &str) -> Option<TaskId> {
        self.task_names.position(name).map(TaskId::new)
    }

    /// The file of that name.
    pub fn file_id(&self, name: &str) -> Option<FileId> {
        self.file_names.position(name).map(FileId::new)
    }

    /// Name of a task added before.
    pub fn task_name(&self, task: TaskId) -> &str {
        self.task_names.names().get(task.index())
    }

    /// Name of a file added before; empty where it has none.
    pub fn file_name(&self, file: FileId) -> &str {
        self.file_names.names().get(file.index())
    }

    /// Adds a task.
    pub fn add_task(&mut self, task: Task) -> Result<TaskId, WorkflowError> {
        not_negative("the work", &task.name, task.work)?;
        if task.work > MOST_WORK {
            return Err(WorkflowError::TooMuchWork { task: task.name, work: task.work });
        }
        not_negative("the memory", &task.name, task.memory)?;
        not_negative("the memory per core", &task.name, task.demand.memory_per_core)?;
        check_demand(&task.name, &task.demand)?;
        if task.min_width == 0 || task.min_width > task.max_width {
            let (min, max) = (task.min_width, task.max_width);
            return Err(WorkflowError::BadWidth { task: task.name, min, max });
        }
        if let Some(why) = task.speedup.problem() {
            return Err(WorkflowError::BadSpeedUp { task: task.name, why });
        }
        if self.len() >= NO_TASK as usize - 1 || !self.task_names.names().has_room(task.name.len())
        {
            return Err(WorkflowError::TooLarge { what: "too many tasks, or too long names" });
        }
        let index = self
            .task_names
            .insert(&task.name)
            .map_err(|_| WorkflowError::DuplicateTask { name: task.name.clone() })?;
        let kind = self.kinds.insert(&task.kind).unwrap_or_else(|known| known);
        self.kind_of.push(kind as u32);
        self.work.push(task.work);
        self.speedup.push(task.speedup);
        self.width.push((task.min_width, task.max_width));
        self.spread.push(task.spread);
        self.memory.push(task.memory);
        if !task.demand.is_empty() {
            self.demand.resize(index, None);
            let same = |known: &&Arc<Demand>| ***known == task.demand;
            let last = self.demand.last().and_then(Option::as_ref).filter(same).cloned();
            self.demand.push(Some(last.unwrap_or_else(|| Arc::new(task.demand))));
        }
        self.commands.push(task.command.map(Arc::new));
        Ok(TaskId::new(index))
    }

    /// Adds a named file.
    pub fn add_file(&mut self, name: &str, bytes: f64) -> Result<FileId, WorkflowError> {
        not_negative("the size", name, bytes)?;
        self.file_room(name.len())?;
        let index = self
            .file_names
            .insert(name)
            .map_err(|_| WorkflowError::DuplicateFile { name: name.to_string() })?;
        self.file_bytes.push(bytes);
        self.producer.push(NO_TASK);
        Ok(FileId::new(index))
    }

    /// Gives a file another size.
    pub fn set_file_bytes(&mut self, file: FileId, bytes: f64) -> Result<(), WorkflowError> {
        not_negative("the size", self.file_names.names().get(file.index()), bytes)?;
        self.file_bytes[file.index()] = bytes;
        Ok(())
    }

    /// Keeps a file as a result although tasks read it.
    pub fn keep(&mut self, file: FileId) {
        self.kept.resize(self.file_bytes.len().max(self.kept.len()), false);
        self.kept[file.index()] = true;
    }

    /// `task` writes `file`.
    pub fn writes(&mut self, task: TaskId, file: FileId) -> Result<(), WorkflowError> {
        let producer = self.producer[file.index()];
        if producer == task.0 {
            return Ok(());
        }
        if producer != NO_TASK {
            return Err(WorkflowError::SecondProducer {
                file: self.file_names.names().get(file.index()).to_string(),
                first: self.task_name(TaskId(producer)).to_string(),
                second: self.task_name(task).to_string(),
            });
        }
        self.producer[file.index()] = task.0;
        self.writes.push((task.0, file.0));
        Ok(())
    }

    /// `task` reads `file`. Reading one's own output makes no dependency.
    pub fn reads(&mut self, task: TaskId, file: FileId) {
        self.reads.push((file.0, task.0));
    }

    /// `to` needs `bytes` of `from`: an anonymous file between the two.
    pub fn add_edge(&mut self, from: TaskId, to: TaskId, bytes: f64) -> Result<(), WorkflowError> {
        self.check_distinct(from, to)?;
        if !bytes.is_finite() || bytes < 0.0 {
            let of = format!("{} -> {}", self.task_name(from), self.task_name(to));
            return Err(WorkflowError::BadNumber { what: "the data", of, value: bytes });
        }
        self.file_room(0)?;
        let file = self.file_names.insert_anonymous() as u32;
        self.file_bytes.push(bytes);
        self.producer.push(from.0);
        self.writes.push((from.0, file));
        self.reads.push((file, to.0));
        Ok(())
    }

    /// `to` runs after `from`, without data.
    pub fn add_control(&mut self, from: TaskId, to: TaskId) -> Result<(), WorkflowError> {
        self.check_distinct(from, to)?;
        self.controls.push((from.0, to.0));
        Ok(())
    }

    /// Seconds of every task on every class or host.
    pub fn set_cost_table(&mut self, table: CostTable) {
        self.cost_table = Some(table);
    }

    fn check_distinct(&self, from: TaskId, to: TaskId) -> Result<(), WorkflowError> {
        if from == to {
            return Err(WorkflowError::SelfDependency { task: self.task_name(from).to_string() });
        }
        Ok(())
    }

    fn file_room(&self, name: usize) -> Result<(), WorkflowError> {
        let limit = u32::MAX as usize - 1;
        if self.file_bytes.len() >= limit || !self.file_names.names().has_room(name) {
            return Err(WorkflowError::TooLarge { what: "too many files, or too long names" });
        }
        Ok(())
    }

    /// Checks the whole and freezes it.
    pub fn build(mut self) -> Result<Workflow, WorkflowError> {
        let tasks = self.len();
        if tasks == 0 {
            return Err(WorkflowError::Empty);
        }
        check_cost_table(self.cost_table.as_ref(), tasks)?;
        let reference_speed = self.reference_speed.unwrap_or(REFERENCE_SPEED);
        if !(reference_speed.is_finite() && reference_speed > 0.0) {
            let (what, of) = ("the reference speed", self.name);
            return Err(WorkflowError::BadNumber { what, of, value: reference_speed });
        }
        let files = self.file_bytes.len();
        // A file listed twice among a task's inputs is still one input.
        self.reads.sort_unstable();
        self.reads.dedup();
        let consumers = Rows::group(files, &self.reads);
        let by_task: Vec<(u32, u32)> =
            self.reads.iter().map(|&(file, task)| (task, file)).collect();
        let inputs = Rows::group(tasks, &by_task);
        drop(by_task);
        let outputs = Rows::group(tasks, &self.writes);
        let (successors, edge_bytes) = self.edges(tasks)?;
        drop((std::mem::take(&mut self.reads), std::mem::take(&mut self.writes)));

        let mut edge_source = vec![0u32; edge_bytes.len()];
        for task in 0..tasks {
            edge_source[successors.range(task)].fill(task as u32);
        }
        let incoming: Vec<(u32, (u32, u32))> = successors
            .items
            .iter()
            .enumerate()
            .map(|(edge, &to)| (to, (edge_source[edge], edge as u32)))
            .collect();
        let predecessors = Rows::group(tasks, &incoming);
        drop(incoming);
        let edge_files = files_of_edges(&successors, &outputs, &consumers);
        let edge_largest = largest_of_edges(&edge_files, &self.file_bytes);
        let has_controls = (0..edge_bytes.len()).any(|edge| edge_files.range(edge).is_empty());
        let order = topological_order(&successors, &predecessors).map_err(|cycle| {
            let name = |&t: &u32| self.task_names.names().get(t as usize).to_string();
            WorkflowError::Cycle { tasks: cycle.iter().map(name).collect() }
        })?;
        if !self.demand.is_empty() {
            self.demand.resize(tasks, None);
        }
        if !self.kept.is_empty() {
            self.kept.resize(files, false);
        }
        let demands = Demands::of(&self.width, &self.memory, &self.demand, &self.spread);
        Ok(Workflow {
            demands,
            name: self.name,
            reference_speed,
            task_names: self.task_names.into_names(),
            kinds: self.kinds.into_names(),
            kind_of: exact(self.kind_of),
            work: exact(self.work),
            speedup: exact(self.speedup),
            width: exact(self.width),
            spread: exact(self.spread),
            memory: exact(self.memory),
            demand: exact(self.demand),
            commands: exact(self.commands),
            file_names: self.file_names.into_names(),
            file_bytes: exact(self.file_bytes),
            kept: exact(self.kept),
            producer: exact(self.producer),
            consumers,
            inputs,
            outputs,
            successors,
            edge_bytes,
            edge_largest,
            edge_source,
            edge_files,
            has_controls,
            predecessors,
            order,
            cost_table: self.cost_table,
            members: self.members,
            control: None,
            unfolded: self.unfolded,
        })
    }

    /// Dependencies from files and controls: one edge per pair, bytes added up.
    fn edges(&self, tasks: usize) -> Result<(Rows<u32>, Vec<f64>), WorkflowError> {
        let from_files = self.reads.iter().filter_map(|&(file, to)| {
            let from = self.producer[file as usize];
            (from != NO_TASK && from != to).then(|| (from, to, self.file_bytes[file as usize]))
        });
        let from_controls = self.controls.iter().map(|&(from, to)| (from, to, 0.0));
        let mut pairs: Vec<(u32, u32, f64)> = from_files.chain(from_controls).collect();
        pairs.sort_unstable_by_key(|&(from, to, _)| (from, to));
        pairs.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        if pairs.len() >= u32::MAX as usize {
            return Err(WorkflowError::TooLarge { what: "too many dependencies" });
        }
        let mut start = vec![0u32; tasks + 1];
        for &(from, ..) in &pairs {
            start[from as usize + 1] += 1;
        }
        for i in 0..tasks {
            start[i + 1] += start[i];
        }
        let bytes = pairs.iter().map(|p| p.2).collect();
        Ok((Rows { start, items: pairs.iter().map(|p| p.1).collect() }, bytes))
    }
}

/// The files that make up each edge, in the order the producer writes them.
fn files_of_edges(successors: &Rows<u32>, outputs: &Rows<u32>, consumers: &Rows<u32>) -> Rows<u32> {
    let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(successors.items.len());
    for task in 0..successors.start.len() - 1 {
        let range = successors.range(task);
        let children = &successors.items[range.clone()];
        for &file in outputs.row(task) {
            for consumer in consumers.row(file as usize) {
                if let Ok(at) = children.binary_search(consumer) {
                    pairs.push(((range.start + at) as u32, file));
                }
            }
        }
    }
    Rows::group(successors.items.len(), &pairs)
}

/// The size of the largest file of each edge; empty where no edge has several files.
fn largest_of_edges(edge_files: &Rows<u32>, file_bytes: &[f64]) -> Vec<f64> {
    let edges = 0..edge_files.start.len() - 1;
    if edges.clone().all(|edge| edge_files.range(edge).len() <= 1) {
        return Vec::new();
    }
    let bytes = |file: &u32| file_bytes[*file as usize];
    edges.map(|edge| Payload::of(edge_files.row(edge).iter().map(bytes)).largest).collect()
}

fn not_negative(what: &'static str, of: &str, value: f64) -> Result<(), WorkflowError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(WorkflowError::BadNumber { what, of: of.to_string(), value })
}

/// Without the room that was left for more.
fn exact<T>(mut list: Vec<T>) -> Vec<T> {
    list.shrink_to_fit();
    list
}

fn check_cost_table(table: Option<&CostTable>, tasks: usize) -> Result<(), WorkflowError> {
    let Some(table) = table else { return Ok(()) };
    let bad = |why: String| Err(WorkflowError::BadCostTable { why });
    let columns = table.columns.len();
    if columns == 0 || table.seconds.len() != tasks * columns {
        let entries = table.seconds.len();
        return bad(format!("{entries} entries do not fill {tasks} tasks x {columns} columns"));
    }
    if let Some(at) = table.seconds.iter().position(|s| !(s.is_finite() && *s >= 0.0)) {
        let (row, column) = (at / columns, &table.columns[at % columns]);
        return bad(format!("row {row}, column '{column}': {} seconds", table.seconds[at]));
    }
    Ok(())
}

/// Kahn's algorithm, smallest ready index first; the error is one circle.
fn topological_order(
    successors: &Rows<u32>,
    predecessors: &Rows<(u32, u32)>,
) -> Result<Vec<TaskId>, Vec<u32>> {
    let tasks = successors.start.len() - 1;
    let mut missing: Vec<u32> = (0..tasks).map(|t| predecessors.range(t).len() as u32).collect();
    let mut ready: BinaryHeap<Reverse<u32>> =
        (0..tasks as u32).filter(|&t| missing[t as usize] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(tasks);
    while let Some(Reverse(task)) = ready.pop() {
        order.push(TaskId(task));
        for &child in successors.row(task as usize) {
            missing[child as usize] -= 1;
            if missing[child as usize] == 0 {
                ready.push(Reverse(child));
            }
        }
    }
    if order.len() == tasks { Ok(order) } else { Err(find_cycle(predecessors, &missing)) }
}

/// Walks backwards among the tasks that never became ready until one repeats.
fn find_cycle(predecessors: &Rows<(u32, u32)>, missing: &[u32]) -> Vec<u32> {
    let stuck = |t: u32| missing[t as usize] > 0;
    let Some(mut task) = (0..missing.len() as u32).find(|&t| stuck(t)) else { return Vec::new() };
    let mut seen_at: HashMap<u32, usize> = HashMap::new();
    let mut path = Vec::new();
    loop {
        if let Some(&first) = seen_at.get(&task) {
            let mut cycle = path.split_off(first);
            cycle.reverse();
            return cycle;
        }
        seen_at.insert(task, path.len());
        path.push(task);
        // A stuck task has a stuck parent: that is why it is stuck.
        match predecessors.row(task as usize).iter().find(|&&(p, _)| stuck(p)) {
            Some(&(parent, _)) => task = parent,
            None => return path,
        }
    }
}

/// See [`Workflow::union`].
pub(super) fn union(name: &str, parts: &[&Workflow]) -> Result<Workflow, WorkflowError> {
    let mut builder = WorkflowBuilder::new(name);
    let mut prefixes: HashMap<&str, usize> = HashMap::new();
    for part in parts {
        let copies = prefixes.entry(part.name()).and_modify(|n| *n += 1).or_insert(1);
        let prefix = match (part.name(), *copies) {
            ("", n) => format!("w{n}"),
            (name, 1) => name.to_string(),
            (name, n) => format!("{name}#{n}"),
        };
        let first = builder.len() as u32;
        builder.append(part, &format!("{prefix}/"))?;
        let tasks = first..builder.len() as u32;
        builder.members.push(Member { name: prefix, tasks });
    }
    builder.cost_table = joined_cost_table(parts);
    builder.build()
}

/// A builder that already holds everything of a workflow, under the same ids.
pub(super) fn reopen(workflow: &Workflow) -> Result<WorkflowBuilder, WorkflowError> {
    let mut builder = WorkflowBuilder::new(workflow.name());
    builder.set_reference_speed(workflow.reference_speed());
    builder.append(workflow, "")?;
    builder.members = workflow.members.clone();
    builder.cost_table = workflow.cost_table.clone();
    builder.unfolded = workflow.unfolded.clone();
    Ok(builder)
}

/// The tasks that are kept, with the files they read or write and the dependencies between them, in their order.
pub(super) fn part(
    workflow: &Workflow,
    keep: impl Fn(TaskId) -> bool,
) -> Result<Workflow, WorkflowError> {
    if workflow.control().is_some() {
        return Err(WorkflowError::Undecided { workflow: workflow.name().to_string() });
    }
    let mut builder = WorkflowBuilder::new(workflow.name());
    builder.set_reference_speed(workflow.reference_speed());
    let mut ids: Vec<Option<TaskId>> = vec![None; workflow.len()];
    for task in workflow.tasks().filter(|&task| keep(task)) {
        ids[task.index()] = Some(builder.add_task(workflow.task(task))?);
    }
    for file in workflow.files() {
        let producer = workflow.producer(file).and_then(|task| ids[task.index()]);
        let consumers: Vec<TaskId> =
            workflow.consumers(file).filter_map(|task| ids[task.index()]).collect();
        let name = workflow.file_name(file);
        // What flows without a name from a task that is left out has flown.
        let is_used = producer.is_some() || !(consumers.is_empty() || name.is_empty());
        if !is_used {
            continue;
        }
        let bytes = workflow.file_bytes(file);
        let id = if name.is_empty() {
            builder.file_room(0)?;
            let id = FileId::new(builder.file_names.insert_anonymous());
            builder.file_bytes.push(bytes);
            builder.producer.push(NO_TASK);
            id
        } else {
            builder.add_file(name, bytes)?
        };
        if workflow.is_kept(file) {
            builder.keep(id);
        }
        if let Some(producer) = producer {
            builder.writes(producer, id)?;
        }
        consumers.into_iter().for_each(|consumer| builder.reads(consumer, id));
    }
    for edge in workflow.edges().filter(|&e| workflow.edge_files(e).next().is_none()) {
        let (from, to) = workflow.edge_ends(edge);
        if let (Some(from), Some(to)) = (ids[from.index()], ids[to.index()]) {
            builder.add_control(from, to)?;
        }
    }
    if let Some(table) = workflow.cost_table() {
        let kept = workflow.tasks().filter(|task| ids[task.index()].is_some());
        let seconds = kept.flat_map(|task| table.row(task).iter().copied()).collect();
        builder.set_cost_table(CostTable { columns: table.columns.clone(), seconds });
    }
    builder.build()
}

impl WorkflowBuilder {
    /// Adds all tasks, files and dependencies of a workflow, in their order, names prefixed.
    fn append(&mut self, part: &Workflow, prefix: &str) -> Result<(), WorkflowError> {
        if part.control().is_some() {
            return Err(WorkflowError::Undecided { workflow: part.name().to_string() });
        }
        let offset = self.len() as u32;
        for id in part.tasks() {
            let mut task = part.task(id);
            task.name.insert_str(0, prefix);
            // Works are in flop whatever the reference speed of the part was.
            self.add_task(task)?;
        }
        let shifted = |t: TaskId| TaskId(t.0 + offset);
        for file in part.files() {
            let bytes = part.file_bytes(file);
            let id = match part.file_name(file) {
                "" => {
                    self.file_room(0)?;
                    let id = FileId::new(self.file_names.insert_anonymous());
                    self.file_bytes.push(bytes);
                    self.producer.push(NO_TASK);
                    id
                }
                name => self.add_file(&format!("{prefix}{name}"), bytes)?,
            };
            if part.is_kept(file) {
                self.keep(id);
            }
            if let Some(producer) = part.producer(file) {
                self.writes(shifted(producer), id)?;
            }
            for consumer in part.consumers(file) {
                self.reads(shifted(consumer), id);
            }
        }
        for edge in part.edges().filter(|&e| part.edge_files(e).next().is_none()) {
            let (from, to) = part.edge_ends(edge);
            self.add_control(shifted(from), shifted(to))?;
        }
        Ok(())
    }
}

fn check_demand(task: &str, demand: &Demand) -> Result<(), WorkflowError> {
    let mut names: Vec<String> = demand.named.iter().map(|(name, _)| name.to_string()).collect();
    if let Some(Devices::Kinds(kinds)) = &demand.gpus {
        names.extend(kinds.iter().map(|(kind, _)| format!("gpus:{kind}")));
    }
    names.sort();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => {
            let (task, name) = (task.to_string(), pair[0].clone());
            Err(WorkflowError::RepeatedDemand { task, name })
        }
    }
}

fn joined_cost_table(parts: &[&Workflow]) -> Option<CostTable> {
    let first = parts.first()?.cost_table()?;
    let mut joined = CostTable { columns: first.columns.clone(), seconds: Vec::new() };
    for part in parts {
        let table = part.cost_table().filter(|t| t.columns == joined.columns)?;
        joined.seconds.extend_from_slice(&table.seconds);
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(names: &[&str]) -> WorkflowBuilder {
        let mut b = WorkflowBuilder::new("chain");
        for name in names {
            b.add_task(Task::new(*name, 1e9)).unwrap();
        }
        for i in 1..names.len() {
            b.add_edge(TaskId::new(i - 1), TaskId::new(i), 10.0).unwrap();
        }
        b
    }

    #[test]
    fn a_part_keeps_its_files_and_what_is_left_out_makes_inputs() {
        let mut b = WorkflowBuilder::new("w");
        let [first, middle, last] =
            ["first", "middle", "last"].map(|name| b.add_task(Task::new(name, 1e9)).unwrap());
        let [input, x, y] = ["in", "x", "y"].map(|name| b.add_file(name, 4.0).unwrap());
        b.reads(first, input);
        b.writes(first, x).unwrap();
        b.reads(middle, x);
        b.writes(middle, y).unwrap();
        b.reads(last, y);
        b.add_edge(first, last, 5.0).unwrap();
        b.add_control(middle, last).unwrap();
        let whole = b.build().unwrap();
        let part = whole.part(|task| task != first).unwrap();
        let names: Vec<&str> = part.tasks().map(|task| part.task_name(task)).collect();
        assert_eq!(names, ["middle", "last"]);
        let files: Vec<&str> = part.files().map(|file| part.file_name(file)).collect();
        // An edge without files from a task that is left out becomes no input of the part.
        assert_eq!(files, ["x", "y"]);
        assert_eq!(part.producer(FileId(0)), None);
        assert_eq!(part.producer(FileId(1)), Some(TaskId(0)));
        assert!(part.edges().any(|edge| part.edge_ends(edge) == (TaskId(0), TaskId(1))));
        assert_eq!(whole.part(|_| true).unwrap(), whole);
        assert_eq!(whole.part(|_| false), Err(WorkflowError::Empty));
    }

    #[test]
    fn files_make_edges_and_parallel_files_add_up() {
        let mut b = WorkflowBuilder::new("w");
        let a = b.add_task(Task::new("a", 1.0)).unwrap();
        let c = b.add_task(Task::new("c", 1.0)).unwrap();
        let x = b.add_file("x", 3.0).unwrap();
        let y = b.add_file("y", 4.0).unwrap();
        let input = b.add_file("in", 9.0).unwrap();
        b.writes(a, x).unwrap();
        b.writes(a, y).unwrap();
        b.reads(c, x);
        b.reads(c, y);
        b.reads(c, y);
        b.reads(a, input);
        b.reads(a, x); // in-place update of its own output: no dependency
        b.add_control(a, c).unwrap();
        let w = b.build().unwrap();
        assert_eq!(w.edge_count(), 1);
        assert_eq!(w.edge_bytes(crate::EdgeId(0)), 7.0);
        assert_eq!(w.edge_payload(crate::EdgeId(0)), Payload { total: 7.0, largest: 4.0 });
        assert_eq!(w.edge_ends(crate::EdgeId(0)), (a, c));
        assert_eq!(w.inputs(c).collect::<Vec<_>>(), [x, y]);
        assert_eq!(w.edge_files(crate::EdgeId(0)).collect::<Vec<_>>(), [x, y]);
        assert_eq!(w.producer(input), None);
        assert_eq!(w.predecessors(c).collect::<Vec<_>>(), [(a, crate::EdgeId(0))]);
    }

    #[test]
    fn a_cycle_is_named() {
        let mut b = chain(&["a", "b", "c", "d"]);
        b.add_control(TaskId(3), TaskId(1)).unwrap();
        let error = b.build().unwrap_err();
        let WorkflowError::Cycle { tasks } = &error else { panic!("{error}") };
        let mut sorted = tasks.clone();
        sorted.sort();
        assert_eq!(sorted, ["b", "c", "d"]);
        assert!(error.to_string().contains(" -> "), "{error}");
    }

    #[test]
    fn nonsense_is_refused() {
        let mut b = WorkflowBuilder::new("w");
        b.add_task(Task::new("a", 1.0)).unwrap();
        assert!(matches!(
            b.add_task(Task::new("a", 1.0)),
            Err(WorkflowError::DuplicateTask { .. })
        ));
        assert!(matches!(
            b.add_task(Task::new("n", f64::NAN)),
            Err(WorkflowError::BadNumber { .. })
        ));
        assert!(b.add_file("f", -1.0).is_err());
        assert!(b.add_edge(TaskId(0), TaskId(0), 1.0).is_err());
        let wide = Task { min_width: 3, max_width: 2, ..Task::new("wide", 1.0) };
        assert!(matches!(b.add_task(wide), Err(WorkflowError::BadWidth { .. })));
        assert_eq!(WorkflowBuilder::new("none").build(), Err(WorkflowError::Empty));
    }

    #[test]
    fn a_file_has_one_producer() {
        let mut b = chain(&["a", "b"]);
        let f = b.add_file("f", 1.0).unwrap();
        b.writes(TaskId(0), f).unwrap();
        b.writes(TaskId(0), f).unwrap();
        assert!(matches!(b.writes(TaskId(1), f), Err(WorkflowError::SecondProducer { .. })));
    }

    #[test]
    fn union_keeps_everything_apart() {
        let one = chain(&["a", "b"]).build().unwrap();
        let all = Workflow::union("both", &[&one, &one]).unwrap();
        assert_eq!(all.len(), 4);
        assert_eq!(all.edge_count(), 2);
        assert_eq!(all.members()[1].tasks, 2..4);
        assert_eq!(all.task_name(TaskId(3)), "chain#2/b");
    }

    #[test]
    fn a_reopened_workflow_is_the_same_and_can_grow() {
        let mut b = chain(&["a", "b"]);
        let data = b.add_file("data", 7.0).unwrap();
        b.reads(TaskId(1), data);
        b.add_control(TaskId(0), TaskId(1)).unwrap();
        let old = b.build().unwrap();
        assert_eq!(old.reopen().unwrap().build().unwrap(), old);
        let mut more = old.reopen().unwrap();
        let c = more.add_task(Task::new("c", 3.0)).unwrap();
        more.add_edge(TaskId(1), c, 5.0).unwrap();
        more.reads(c, data);
        let new = more.build().unwrap();
        assert_eq!((new.len(), new.task_name(TaskId(1))), (3, "b"));
        assert_eq!(new.file_name(data), "data");
        assert_eq!(new.predecessors(c).count(), 1);
    }
}
