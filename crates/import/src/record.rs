//! A recorded run, in terms that all engines have in common.

use crate::engines::Engine;
use std::collections::{BTreeMap, HashMap};

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Contained in the records.
    Measured,
    /// It follows from other values of the records.
    Derived,
    /// Assumed by convention.
    Assumed,
}

/// A number and its origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The number: seconds, bytes or cores.
    pub value: f64,
    /// Origin of the number.
    pub origin: Origin,
}

impl Figure {
    /// A value of the records.
    pub fn measured(value: f64) -> Option<Figure> {
        Figure::of(value, Origin::Measured)
    }

    /// A value that follows from others.
    pub fn derived(value: f64) -> Option<Figure> {
        Figure::of(value, Origin::Derived)
    }

    /// A value of convention.
    pub fn assumed(value: f64) -> Option<Figure> {
        Figure::of(value, Origin::Assumed)
    }

    fn of(value: f64, origin: Origin) -> Option<Figure> {
        value.is_finite().then_some(Figure { value, origin })
    }
}

/// The value of a figure, where there is one.
pub(crate) fn value(figure: Option<Figure>) -> Option<f64> {
    figure.map(|figure| figure.value)
}

/// The way in which an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Outcome {
    /// With its result.
    #[default]
    Completed,
    /// Without one.
    Failed,
    /// Killed at its time limit.
    TimedOut,
    /// Killed for lack of memory.
    OutOfMemory,
    /// Cancelled before or while it ran.
    Cancelled,
    /// Its result was there from an earlier run.
    Cached,
    /// The records end before it does.
    Open,
}

impl Outcome {
    /// Whether the task's result was there afterwards.
    pub fn is_success(self) -> bool {
        matches!(self, Outcome::Completed | Outcome::Cached)
    }
}

/// One execution of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attempt {
    /// When the engine handed it over (to a queue, a worker), in seconds since the epoch.
    pub submitted: Option<Figure>,
    /// When it began to compute.
    pub start: Option<Figure>,
    /// When it ended.
    pub end: Option<Figure>,
    /// Seconds it took in an earlier run, where its result was cached in this one.
    pub took: Option<Figure>,
    /// The host, by position in [`RecordedRun::hosts`].
    pub host: Option<usize>,
    /// Slot that it held on the host (a worker's thread), where the engine names it.
    pub slot: Option<String>,
    /// Cores it held, which may be a fraction.
    pub cores: Option<Figure>,
    /// Its end.
    pub outcome: Outcome,
    /// Exit code.
    pub exit: Option<i64>,
    /// Largest resident memory, in bytes.
    pub peak_memory: Option<Figure>,
    /// Processor time, in seconds.
    pub cpu: Option<Figure>,
    /// Bytes read.
    pub read: Option<Figure>,
    /// Bytes written.
    pub written: Option<Figure>,
}

impl Attempt {
    /// Seconds from start to end, or those of an earlier run.
    pub fn seconds(&self) -> Option<f64> {
        let span = self.end.zip(self.start).map(|(end, start)| end.value - start.value);
        span.or(self.took.map(|took| took.value))
    }
}

/// A task and how it ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskRecord {
    /// Unique name.
    pub name: String,
    /// Rule, process or function it is an instance of.
    pub kind: String,
    /// Command line.
    pub command: Option<String>,
    /// Files read, by position in [`RecordedRun::files`].
    pub inputs: Vec<usize>,
    /// Files written.
    pub outputs: Vec<usize>,
    /// Tasks it waits for beyond those whose files it reads, and whether that is assumed.
    pub after: Vec<(usize, Origin)>,
    /// Cores requested.
    pub cores: Option<Figure>,
    /// Memory requested, in bytes.
    pub memory: Option<Figure>,
    /// Wall time requested, in seconds.
    pub time_limit: Option<Figure>,
    /// Its attempts in order of time.
    pub attempts: Vec<Attempt>,
}

impl TaskRecord {
    /// The attempt whose result counts, else the last.
    pub fn last(&self) -> Option<&Attempt> {
        self.attempts.iter().rev().find(|a| a.outcome.is_success()).or(self.attempts.last())
    }
}

/// A file that tasks pass on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileRecord {
    /// Its path or name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: Option<Figure>,
}

/// A machine that tasks ran on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostRecord {
    /// Its name.
    pub name: String,
    /// Cores, or slots for tasks.
    pub cores: Option<Figure>,
    /// Memory in bytes.
    pub memory: Option<Figure>,
}

/// Data that went from one host to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// The task that waited for it, by position in [`RecordedRun::tasks`].
    pub task: usize,
    /// Source, by position in [`RecordedRun::hosts`].
    pub from: usize,
    /// Destination, by position in [`RecordedRun::hosts`].
    pub to: usize,
    /// Size in bytes.
    pub bytes: Option<f64>,
    /// When it began, in seconds since the epoch.
    pub start: f64,
    /// When it ended.
    pub end: f64,
}

/// One run of a workflow, as its engine recorded it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedRun {
    /// The engine.
    pub engine: Engine,
    /// Its version.
    pub version: Option<String>,
    /// Name of the workflow.
    pub name: String,
    /// Tasks.
    pub tasks: Vec<TaskRecord>,
    /// Files.
    pub files: Vec<FileRecord>,
    /// Hosts.
    pub hosts: Vec<HostRecord>,
    /// Transfers between hosts.
    pub transfers: Vec<Transfer>,
    /// Seconds from 1970 to date 0 of the records: those of runs that count from their own begin.
    pub zero: f64,
    /// When the engine began, in seconds since the epoch.
    pub began: Option<Figure>,
    /// When the engine ended.
    pub ended: Option<Figure>,
    /// Number of repairs by name.
    pub repairs: BTreeMap<String, usize>,
    /// Remarks for a reader.
    pub notes: Vec<String>,
    pub(crate) file_ids: HashMap<String, usize>,
    pub(crate) host_ids: HashMap<String, usize>,
}

impl RecordedRun {
    /// An empty run of an engine.
    pub fn of(engine: Engine) -> RecordedRun {
        RecordedRun { engine, name: engine.name().to_string(), ..RecordedRun::default() }
    }

    /// The position of the file of a name; it is added where it is new.
    pub fn file(&mut self, name: &str) -> usize {
        if let Some(&found) = self.file_ids.get(name) {
            return found;
        }
        self.file_ids.insert(name.to_string(), self.files.len());
        self.files.push(FileRecord { name: name.to_string(), bytes: None });
        self.files.len() - 1
    }

    /// The position of the host of a name; it is added where it is new.
    pub(crate) fn host(&mut self, name: &str) -> usize {
        if let Some(&found) = self.host_ids.get(name) {
            return found;
        }
        self.host_ids.insert(name.to_string(), self.hosts.len());
        self.hosts.push(HostRecord { name: name.to_string(), cores: None, memory: None });
        self.hosts.len() - 1
    }

    /// Counts a repair.
    pub(crate) fn repaired(&mut self, what: &str) {
        self.repaired_times(what, 1);
    }

    /// Counts a repair that was made several times.
    pub(crate) fn repaired_times(&mut self, what: &str, times: usize) {
        if times > 0 {
            *self.repairs.entry(what.to_string()).or_default() += times;
        }
    }

    /// The task that writes each file; of several the first.
    pub fn producers(&self) -> Vec<Option<usize>> {
        let mut producers = vec![None; self.files.len()];
        for (index, task) in self.tasks.iter().enumerate() {
            for &file in &task.outputs {
                producers[file].get_or_insert(index);
            }
        }
        producers
    }

    /// Whether any task may wait for another.
    pub(crate) fn has_edges(&self) -> bool {
        self.tasks.iter().any(|task| !task.inputs.is_empty() || !task.after.is_empty())
    }

    /// The tasks each task waits for, by its files and otherwise: ascending, without duplicates.
    pub fn parents(&self) -> Vec<Vec<usize>> {
        let producers = self.producers();
        let of = |(index, task): (usize, &TaskRecord)| {
            let by_file = task.inputs.iter().filter_map(|&file| producers[file]);
            let mut parents: Vec<usize> = by_file.chain(task.after.iter().map(|a| a.0)).collect();
            parents.retain(|&parent| parent != index);
            parents.sort_unstable();
            parents.dedup();
            parents
        };
        self.tasks.iter().enumerate().map(of).collect()
    }

    /// The first date of the records: the engine's own, or the first submission or start.
    pub fn first_date(&self) -> Option<f64> {
        let dates = self.tasks.iter().flat_map(|t| &t.attempts);
        let dates = dates.flat_map(|a| [a.submitted, a.start]).flatten().map(|f| f.value);
        dates.chain(self.began.map(|f| f.value)).min_by(f64::total_cmp)
    }

    /// The last end of a task.
    pub fn last_end(&self) -> Option<f64> {
        let ends = self.tasks.iter().flat_map(|t| &t.attempts).filter_map(|a| value(a.end));
        ends.max_by(f64::total_cmp)
    }

    /// Seconds from the first date to the last end of a task.
    pub fn makespan(&self) -> Option<f64> {
        Some(self.last_end()? - self.first_date()?)
    }
}
