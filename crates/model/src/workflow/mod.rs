//! A workflow: tasks, the files they read and write, and the dependencies that follow.
//!
//! Stored as flat arrays, adjacency in compressed rows both ways, so that a million tasks fit in
//! a few hundred megabytes and planners walk contiguous memory. Built once by a
//! [`WorkflowBuilder`]; others may join it later ([`Workflow::add_member`]).

mod builder;
mod payload;
mod shape;
mod surroundings;
mod union;

pub use builder::{WorkflowBuilder, WorkflowError};
pub use payload::Payload;
pub use shape::{CriticalPath, Shape};
pub use surroundings::{Container, Surroundings};

use crate::control::Control;
use crate::ids::{EdgeId, FileId, KindId, TaskId};
use crate::names::Names;
use crate::resources::Demand;
use crate::speedup::SpeedUp;
use std::ops::Range;
use std::sync::Arc;

/// Speed at which one second of a format that only knows seconds is worth 1 Gflop.
pub const REFERENCE_SPEED: f64 = 1e9;

/// One task as it is handed to the builder and given back by [`Workflow::task`].
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Unique name.
    pub name: String,
    /// The kind of program, e.g. `mProject`; tasks of a kind share a colour and statistics.
    pub kind: String,
    /// Work in flop on one processor (for rigid tasks: at their width).
    pub work: f64,
    /// Run time as a function of the width.
    pub speedup: SpeedUp,
    /// Fewest processors it can run on.
    pub min_width: u32,
    /// Most processors it can use.
    pub max_width: u32,
    /// Its processors may be on several hosts of one cluster (it passes messages); else all of
    /// them on one host.
    pub spread: bool,
    /// Bytes of memory it needs; 0 when unknown.
    pub memory: f64,
    /// Demands other than cores and fixed memory.
    pub demand: Demand,
    /// The program to execute.
    pub command: Option<Command>,
}

impl Task {
    /// A sequential task of the given name and work (flop).
    pub fn new(name: impl Into<String>, work: f64) -> Task {
        Task {
            name: name.into(),
            kind: String::new(),
            work,
            speedup: SpeedUp::Serial,
            min_width: 1,
            max_width: 1,
            spread: false,
            memory: 0.0,
            demand: Demand::default(),
            command: None,
        }
    }

    /// The same task with a kind.
    pub fn of_kind(mut self, kind: impl Into<String>) -> Task {
        self.kind = kind.into();
        self
    }
}

/// A program and its arguments, passed on as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// The executable.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its environment in real runs, where one is stated.
    pub surroundings: Option<Box<Surroundings>>,
}

/// The shell that runs lines.
const SHELL: &str = "/bin/sh";

impl Command {
    /// A line that a shell is to read.
    pub fn shell(line: impl Into<String>) -> Command {
        let arguments = vec!["-c".to_string(), line.into()];
        Command { program: SHELL.to_string(), arguments, ..Command::default() }
    }

    /// A word that a shell reads back as it is.
    pub fn shell_word(word: &str) -> String {
        format!("'{}'", word.replace('\'', "'\\''"))
    }

    /// The line, where a shell is to read one.
    pub fn shell_line(&self) -> Option<&str> {
        match self.arguments.as_slice() {
            [option, line] if self.program == SHELL && option == "-c" => Some(line),
            _ => None,
        }
    }
}

/// Execution times that no speed explains: seconds of every task on every column, where a
/// column is a machine class or a host, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct CostTable {
    /// Names of classes or hosts.
    pub columns: Vec<String>,
    /// Seconds, row by row: `seconds[task * columns.len() + column]`.
    pub seconds: Vec<f64>,
}

impl CostTable {
    /// The times of one task over the columns.
    pub fn row(&self, task: TaskId) -> &[f64] {
        let width = self.columns.len();
        &self.seconds[task.index() * width..(task.index() + 1) * width]
    }
}

/// One of several workflows that were joined into one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name of the workflow.
    pub name: String,
    /// Its tasks.
    pub tasks: Range<u32>,
}

/// The origin and the files of an instance of a task of a workflow with choices and loops.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfolded {
    /// The task, by its number in the workflow with choices and loops.
    pub of: TaskId,
    /// The enclosing loops with their passes, the innermost last: `outer#2/inner#1`; empty outside of loops.
    pub path: String,
    /// The files that it reads, with the names by which its command knows them.
    pub reads: Vec<(FileId, String)>,
    /// The files that it writes, likewise.
    pub writes: Vec<(FileId, String)>,
    /// Exit codes other than 0 that count as success: those that decide something.
    pub accepts: Arc<[i32]>,
}

impl Unfolded {
    /// The pass of the innermost loop around it, from 1; none outside of loops.
    pub fn pass(&self) -> Option<&str> {
        self.path.rsplit_once('#').map(|(_, pass)| pass)
    }
}

/// Compressed rows: the entries of row `i` are `items[start[i]..start[i + 1]]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rows<T> {
    start: Vec<u32>,
    items: Vec<T>,
}

impl<T> Rows<T> {
    #[inline]
    fn row(&self, index: usize) -> &[T] {
        &self.items[self.range(index)]
    }
    #[inline]
    fn range(&self, index: usize) -> Range<usize> {
        self.start[index] as usize..self.start[index + 1] as usize
    }
}

impl<T: Copy + Default> Rows<T> {
    /// Groups `(row, item)` pairs by row, keeping their order inside a row.
    fn group(rows: usize, pairs: &[(u32, T)]) -> Rows<T> {
        let mut start = vec![0u32; rows + 1];
        for &(row, _) in pairs {
            start[row as usize + 1] += 1;
        }
        for i in 0..rows {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut items = vec![T::default(); pairs.len()];
        for &(row, item) in pairs {
            items[next[row as usize] as usize] = item;
            next[row as usize] += 1;
        }
        Rows { start, items }
    }
}

/// No producer: a workflow input.
const NO_TASK: u32 = u32::MAX;

/// The most that any task asks of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Demands {
    /// Processors.
    pub(crate) width: u32,
    /// Bytes of memory.
    pub(crate) memory: f64,
    /// Some task may be spread over several hosts.
    pub(crate) spreads: bool,
}

impl Demands {
    fn of(
        width: &[(u32, u32)],
        memory: &[f64],
        demand: &[Option<Arc<Demand>>],
        spread: &[bool],
    ) -> Demands {
        let of_cores = |at: usize| match demand.get(at).and_then(Option::as_ref) {
            Some(demand) => f64::from(width[at].0) * demand.memory_per_core,
            None => 0.0,
        };
        let memory = memory.iter().enumerate().map(|(at, fixed)| fixed + of_cores(at));
        Demands {
            width: width.iter().map(|(least, _)| *least).max().unwrap_or(1),
            memory: memory.fold(0.0, f64::max),
            spreads: spread.iter().zip(width).any(|(spread, (_, most))| *spread && *most > 1),
        }
    }

    /// The most of two.
    fn and(self, other: Demands) -> Demands {
        Demands {
            width: self.width.max(other.width),
            memory: self.memory.max(other.memory),
            spreads: self.spreads | other.spreads,
        }
    }
}

/// Tasks, files and dependencies; see the module's head.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    name: String,
    reference_speed: f64,
    task_names: Names,
    kinds: Names,
    kind_of: Vec<u32>,
    work: Vec<f64>,
    speedup: Vec<SpeedUp>,
    width: Vec<(u32, u32)>,
    spread: Vec<bool>,
    memory: Vec<f64>,
    /// Per task; empty where no task demands more than cores and fixed memory.
    demand: Vec<Option<Arc<Demand>>>,
    demands: Demands,
    commands: Vec<Option<Arc<Command>>>,
    file_names: Names,
    file_bytes: Vec<f64>,
    /// Files that are kept although tasks read them; empty where there are none.
    kept: Vec<bool>,
    producer: Vec<u32>,
    consumers: Rows<u32>,
    inputs: Rows<u32>,
    outputs: Rows<u32>,
    successors: Rows<u32>,
    edge_bytes: Vec<f64>,
    /// Size of the largest file of each edge; empty where no edge has several files.
    edge_largest: Vec<f64>,
    edge_source: Vec<u32>,
    edge_files: Rows<u32>,
    /// Some edge has no files.
    has_controls: bool,
    predecessors: Rows<(u32, u32)>,
    order: Vec<TaskId>,
    cost_table: Option<CostTable>,
    members: Vec<Member>,
    control: Option<Arc<Control>>,
    /// Per task, where all are instances of a workflow with choices and loops.
    unfolded: Option<Arc<Vec<Unfolded>>>,
}

impl Workflow {
    /// Its name, possibly empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same workflow under another name.
    pub fn renamed(mut self, name: impl Into<String>) -> Workflow {
        self.name = name.into();
        self
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.work.len()
    }

    /// Never true: the builder refuses a workflow without tasks.
    pub fn is_empty(&self) -> bool {
        self.work.is_empty()
    }

    /// All task ids in index order.
    pub fn tasks(&self) -> impl DoubleEndedIterator<Item = TaskId> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(TaskId)
    }

    /// Flop/s that turn the work of formats which only know seconds back into seconds.
    pub fn reference_speed(&self) -> f64 {
        self.reference_speed
    }

    /// Everything about a task, gathered.
    pub fn task(&self, task: TaskId) -> Task {
        let (min_width, max_width) = self.width(task);
        Task {
            name: self.task_name(task).to_string(),
            kind: self.kind_name(self.kind(task)).to_string(),
            work: self.work(task),
            speedup: self.speedup(task).clone(),
            min_width,
            max_width,
            spread: self.spreads(task),
            memory: self.memory(task),
            demand: self.demand(task).cloned().unwrap_or_default(),
            command: self.command(task).cloned(),
        }
    }

    /// Name of a task.
    pub fn task_name(&self, task: TaskId) -> &str {
        self.task_names.get(task.index())
    }

    /// Looks a task up by name, in linear time; keep a map where many are needed.
    pub fn find_task(&self, name: &str) -> Option<TaskId> {
        self.task_names.iter().position(|n| n == name).map(TaskId::new)
    }

    /// Work in flop.
    #[inline]
    pub fn work(&self, task: TaskId) -> f64 {
        self.work[task.index()]
    }

    /// The same graph with other work, and the reference speed that goes with it.
    pub fn with_work(
        mut self,
        reference_speed: f64,
        work: impl Fn(&Workflow, TaskId) -> f64,
    ) -> Workflow {
        let changed = self.tasks().map(|task| work(&self, task)).collect();
        self.work = changed;
        self.reference_speed = reference_speed;
        self
    }

    /// The same workflow with the execution times of a table, a row per task.
    pub fn with_cost_table(mut self, table: CostTable) -> Workflow {
        debug_assert_eq!(table.seconds.len(), table.columns.len() * self.len());
        self.cost_table = Some(table);
        self
    }

    /// Seconds on a processor of the reference speed.
    pub fn reference_seconds(&self, task: TaskId) -> f64 {
        self.work(task) / self.reference_speed
    }

    /// Run time as a function of the width.
    pub fn speedup(&self, task: TaskId) -> &SpeedUp {
        &self.speedup[task.index()]
    }

    /// Fewest and most processors of a task.
    #[inline]
    pub fn width(&self, task: TaskId) -> (u32, u32) {
        self.width[task.index()]
    }

    /// Whether the processors of a task may be on several hosts of one cluster.
    #[inline]
    pub fn spreads(&self, task: TaskId) -> bool {
        self.spread[task.index()]
    }

    /// Whether some task may be spread over several hosts.
    pub fn has_spread_tasks(&self) -> bool {
        self.demands.spreads
    }

    /// The most that any task asks of a machine.
    pub(crate) fn demands(&self) -> Demands {
        self.demands
    }

    /// Whether some task has a choice of widths.
    pub fn is_moldable(&self) -> bool {
        self.width.iter().any(|(least, most)| least < most)
    }

    /// Bytes of memory, 0 when unknown.
    #[inline]
    pub fn memory(&self, task: TaskId) -> f64 {
        self.memory[task.index()]
    }

    /// Sets the bytes that a task holds on a number of cores.
    pub fn set_memory_at(&mut self, task: TaskId, width: u32, bytes: f64) {
        let of_cores = self.memory_at(task, width) - self.memory(task);
        self.memory[task.index()] = (bytes - of_cores).max(0.0);
        self.demands.memory = self.demands.memory.max(self.memory_at(task, self.width(task).0));
    }

    /// Demands of a task other than cores and fixed memory.
    #[inline]
    pub fn demand(&self, task: TaskId) -> Option<&Demand> {
        self.demand.get(task.index())?.as_deref()
    }

    /// Whether some task demands more than cores and fixed memory.
    #[inline]
    pub fn has_demands(&self) -> bool {
        !self.demand.is_empty()
    }

    /// Bytes of memory that a task holds on a number of cores.
    #[inline]
    pub fn memory_at(&self, task: TaskId, width: u32) -> f64 {
        let fixed = self.memory[task.index()];
        match self.demand(task) {
            Some(demand) => fixed + f64::from(width) * demand.memory_per_core,
            None => fixed,
        }
    }

    /// The program that the task executes, where the workflow names one.
    pub fn command(&self, task: TaskId) -> Option<&Command> {
        self.commands[task.index()].as_deref()
    }

    /// Kind of a task.
    #[inline]
    pub fn kind(&self, task: TaskId) -> KindId {
        KindId(self.kind_of[task.index()])
    }

    /// Number of kinds; one nameless kind where the source knows none.
    pub fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// Name of a kind, possibly empty.
    pub fn kind_name(&self, kind: KindId) -> &str {
        self.kinds.get(kind.index())
    }

    /// Number of files, anonymous ones of weighted edges included.
    pub fn file_count(&self) -> usize {
        self.file_bytes.len()
    }

    /// All file ids.
    pub fn files(&self) -> impl ExactSizeIterator<Item = FileId> + use<> {
        (0..self.file_count() as u32).map(FileId)
    }

    /// Name of a file; empty for the anonymous file of a weighted edge.
    pub fn file_name(&self, file: FileId) -> &str {
        self.file_names.get(file.index())
    }

    /// A name to show and write for any file: its own, or `producer_to_consumer`.
    pub fn file_label(&self, file: FileId) -> String {
        let name = self.file_name(file);
        if !name.is_empty() {
            return name.to_string();
        }
        let end = |task: Option<TaskId>| task.map_or("", |t| self.task_name(t)).to_string();
        let consumer = self.consumers(file).next();
        format!("{}_to_{}", end(self.producer(file)), end(consumer))
    }

    /// Size of a file in bytes.
    #[inline]
    pub fn file_bytes(&self, file: FileId) -> f64 {
        self.file_bytes[file.index()]
    }

    /// Whether a file is kept although tasks read it.
    pub fn is_kept(&self, file: FileId) -> bool {
        self.kept.get(file.index()).copied().unwrap_or(false)
    }

    /// Whether a file is a result: written here, and read by no task, or read but marked as kept.
    pub fn is_result(&self, file: FileId) -> bool {
        self.producer(file).is_some() && (self.is_kept(file) || self.consumers(file).len() == 0)
    }

    /// The task that writes a file; none for inputs of the workflow.
    pub fn producer(&self, file: FileId) -> Option<TaskId> {
        let producer = self.producer[file.index()];
        (producer != NO_TASK).then_some(TaskId(producer))
    }

    /// The tasks that read a file.
    pub fn consumers(&self, file: FileId) -> impl ExactSizeIterator<Item = TaskId> + '_ {
        self.consumers.row(file.index()).iter().map(|&t| TaskId(t))
    }

    /// The files a task reads.
    pub fn inputs(
        &self,
        task: TaskId,
    ) -> impl DoubleEndedIterator<Item = FileId> + ExactSizeIterator + '_ {
        self.inputs.row(task.index()).iter().map(|&f| FileId(f))
    }

    /// The files a task writes.
    pub fn outputs(&self, task: TaskId) -> impl ExactSizeIterator<Item = FileId> + '_ {
        self.outputs.row(task.index()).iter().map(|&f| FileId(f))
    }

    /// Number of dependencies.
    pub fn edge_count(&self) -> usize {
        self.edge_bytes.len()
    }

    /// All edges in order of their source.
    pub fn edges(&self) -> impl ExactSizeIterator<Item = EdgeId> + use<> {
        (0..self.edge_count() as u32).map(EdgeId)
    }

    /// Bytes that flow along an edge; 0 for a pure control dependency.
    #[inline]
    pub fn edge_bytes(&self, edge: EdgeId) -> f64 {
        self.edge_bytes[edge.index()]
    }

    /// The files that flow along an edge, taken together.
    #[inline]
    pub fn edge_payload(&self, edge: EdgeId) -> Payload {
        let total = self.edge_bytes[edge.index()];
        let largest = self.edge_largest.get(edge.index()).copied().unwrap_or(total);
        Payload { total, largest }
    }

    /// Whether some edge consists of several files.
    #[inline]
    pub fn has_multi_file_edges(&self) -> bool {
        !self.edge_largest.is_empty()
    }

    /// Whether an edge is a pure control dependency: nothing moves along it, which takes no time.
    #[inline]
    pub fn is_control(&self, edge: EdgeId) -> bool {
        self.has_controls && self.edge_files.range(edge.index()).is_empty()
    }

    /// Whether some edge is.
    #[inline]
    pub fn has_controls(&self) -> bool {
        self.has_controls
    }

    /// The two ends of an edge.
    #[inline]
    pub fn edge_ends(&self, edge: EdgeId) -> (TaskId, TaskId) {
        (TaskId(self.edge_source[edge.index()]), TaskId(self.successors.items[edge.index()]))
    }

    /// Children of a task with the edges that lead there, in index order.
    #[inline]
    pub fn successors(
        &self,
        task: TaskId,
    ) -> impl DoubleEndedIterator<Item = (TaskId, EdgeId)> + ExactSizeIterator + '_ {
        let range = self.successors.range(task.index());
        let first = range.start as u32;
        self.successors.items[range]
            .iter()
            .enumerate()
            .map(move |(k, &child)| (TaskId(child), EdgeId(first + k as u32)))
    }

    /// Parents of a task with the edges that come from there, in index order.
    #[inline]
    pub fn predecessors(
        &self,
        task: TaskId,
    ) -> impl DoubleEndedIterator<Item = (TaskId, EdgeId)> + ExactSizeIterator + '_ {
        self.predecessors.row(task.index()).iter().map(|&(p, e)| (TaskId(p), EdgeId(e)))
    }

    /// Number of children.
    #[inline]
    pub fn out_degree(&self, task: TaskId) -> usize {
        self.successors.range(task.index()).len()
    }

    /// Number of parents.
    #[inline]
    pub fn in_degree(&self, task: TaskId) -> usize {
        self.predecessors.range(task.index()).len()
    }

    /// The files that make up an edge (none for a pure control dependency).
    #[inline]
    pub fn edge_files(&self, edge: EdgeId) -> impl ExactSizeIterator<Item = FileId> + '_ {
        self.edge_files.row(edge.index()).iter().map(|&f| FileId(f))
    }

    /// Tasks in a topological order: smallest ready index first.
    pub fn topological_order(&self) -> &[TaskId] {
        &self.order
    }

    /// Tasks without parents.
    pub fn entries(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.tasks().filter(|&t| self.in_degree(t) == 0)
    }

    /// Tasks without children.
    pub fn exits(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.tasks().filter(|&t| self.out_degree(t) == 0)
    }

    /// Execution times that no speed explains, where the workflow has them.
    pub fn cost_table(&self) -> Option<&CostTable> {
        self.cost_table.as_ref()
    }

    /// The workflows this one was joined from; empty for a single workflow.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Its choices and loops, where it has any: then the tasks here have no dependencies and no
    /// files of their own, and [`control::Unfolding`](crate::control::Unfolding) makes plain
    /// workflows of it.
    pub fn control(&self) -> Option<&Arc<Control>> {
        self.control.as_ref()
    }

    /// The same tasks under a structure of choices and loops.
    pub fn with_control(mut self, control: Arc<Control>) -> Workflow {
        self.control = Some(control);
        self
    }

    /// Whether its tasks are instances of one with choices and loops; their names say of which task.
    pub fn is_unfolded(&self) -> bool {
        self.unfolded.is_some()
    }

    /// The origin and the files of a task that is an instance of one of a workflow with choices and
    /// loops.
    pub fn unfolded(&self, task: TaskId) -> Option<&Unfolded> {
        self.unfolded.as_ref()?.get(task.index())
    }

    /// The workflow marked as one course of a workflow with choices and loops, given the origin of
    /// each task.
    pub(crate) fn with_unfolded(mut self, instances: Arc<Vec<Unfolded>>) -> Workflow {
        debug_assert_eq!(instances.len(), self.len());
        self.unfolded = Some(instances);
        self
    }

    /// The tasks alone, without choices and loops.
    pub fn without_control(mut self) -> Workflow {
        self.control = None;
        self
    }

    /// The workflow with no task spread over several hosts, although it may be.
    pub fn on_single_hosts(mut self) -> Workflow {
        self.spread.fill(false);
        self.demands.spreads = false;
        self
    }

    /// Several workflows side by side as one; task names get their workflow's name in front.
    /// Cost tables survive when all workflows have the same columns.
    pub fn union(name: &str, parts: &[&Workflow]) -> Result<Workflow, WorkflowError> {
        builder::union(name, parts)
    }

    /// A workflow of some of the tasks: with the files they read or write, and the dependencies between them.
    /// Files that a task left out writes have no producer there. Fails where no task is kept, and for choices and
    /// loops.
    pub fn part(&self, keep: impl Fn(TaskId) -> bool) -> Result<Workflow, WorkflowError> {
        builder::part(self, keep)
    }

    /// A builder that holds everything of this workflow: what is added gets the next ids, what
    /// was there keeps its own.
    pub fn reopen(&self) -> Result<WorkflowBuilder, WorkflowError> {
        builder::reopen(self)
    }
}
