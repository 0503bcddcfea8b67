//! Code shared by the applications: tasks of kinds whose run times, and files whose sizes, follow
//! laws with published figures.

use crate::draw::{Draws, Seed};
use crate::error::Result;
use slackline_model::workflow::REFERENCE_SPEED;
use slackline_model::{FileId, Task, TaskId, Workflow, WorkflowBuilder};

/// A log-normal law by mean and deviation, cut at the extremes that were measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    mean: f64,
    deviation: f64,
    least: f64,
    most: f64,
}

/// Mean, deviation, least, most.
pub(super) const fn law(mean: f64, deviation: f64, least: f64, most: f64) -> Law {
    Law { mean, deviation, least, most }
}

/// Always the same.
pub(super) const fn fixed(value: f64) -> Law {
    Law { mean: value, deviation: 0.0, least: value, most: value }
}

impl Law {
    fn draw(&self, draws: &mut Draws) -> f64 {
        // Out of bounds: again, as often as is decent; then the nearest bound.
        let mut value = draws.log_normal(self.mean, self.deviation);
        for _ in 0..16 {
            if (self.least..=self.most).contains(&value) {
                break;
            }
            value = draws.log_normal(self.mean, self.deviation);
        }
        value.clamp(self.least, self.most)
    }
}

/// A kind of task: name and seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskKind {
    pub(super) name: &'static str,
    pub(super) seconds: Law,
}

/// A kind whose run time varies.
pub(super) const fn kind(name: &'static str, seconds: Law) -> TaskKind {
    TaskKind { name, seconds }
}

/// An application being put together.
pub(super) struct App {
    builder: WorkflowBuilder,
    seconds: Draws,
    sizes: Draws,
}

impl App {
    pub(super) fn new(name: &str, seed: Seed) -> App {
        App {
            builder: WorkflowBuilder::new(name),
            seconds: seed.draws("application/seconds"),
            sizes: seed.draws("application/sizes"),
        }
    }

    /// Adds a task; its name is the kind and the number of the task.
    pub(super) fn task(&mut self, kind: &TaskKind) -> Result<TaskId> {
        let seconds = kind.seconds.draw(&mut self.seconds);
        let name = format!("{}_{}", kind.name, self.builder.len() + 1);
        Ok(self.builder.add_task(Task::new(name, seconds * REFERENCE_SPEED).of_kind(kind.name))?)
    }

    /// Adds a file that `task` writes; its name is the task and `label`.
    pub(super) fn output(&mut self, task: TaskId, label: &str, bytes: Law) -> Result<FileId> {
        let name = format!("{}.{label}", self.builder.task_name(task));
        let file = self.builder.add_file(&name, bytes.draw(&mut self.sizes).round())?;
        self.builder.writes(task, file)?;
        Ok(file)
    }

    /// Adds a file that exists from the start.
    pub(super) fn input(&mut self, name: &str, bytes: Law) -> Result<FileId> {
        Ok(self.builder.add_file(name, bytes.draw(&mut self.sizes).round())?)
    }

    /// Adds an input that only `task` reads.
    pub(super) fn own_input(&mut self, task: TaskId, label: &str, bytes: Law) -> Result<()> {
        let name = format!("{}.{label}", self.builder.task_name(task));
        let file = self.input(&name, bytes)?;
        self.builder.reads(task, file);
        Ok(())
    }

    /// `task` reads these files.
    pub(super) fn reads(&mut self, task: TaskId, files: &[FileId]) {
        for &file in files {
            self.builder.reads(task, file);
        }
    }

    /// A task that reads `files` and writes one file.
    pub(super) fn step(
        &mut self,
        kind: &TaskKind,
        files: &[FileId],
        (label, bytes): (&str, Law),
    ) -> Result<FileId> {
        let task = self.task(kind)?;
        self.reads(task, files);
        self.output(task, label, bytes)
    }

    pub(super) fn finish(self) -> Result<Workflow> {
        Ok(self.builder.build()?)
    }
}

/// `total` split over `parts`, as even as whole numbers allow, the larger first.
pub(super) fn split(total: usize, parts: usize) -> impl Iterator<Item = usize> {
    let parts = parts.max(1);
    (0..parts).map(move |part| total / parts + usize::from(part < total % parts))
}
