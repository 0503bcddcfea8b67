//! A run as a plain workflow of its task instances, which grows as decisions fall.

use super::decisions::{Decider, Decision, OutcomeError};
use super::walk::{InstanceId, Source, Walk};
use super::{Control, FileUse, Reads, Value};
use crate::workflow::{CostTable, Unfolded, Workflow, WorkflowBuilder, WorkflowError};
use crate::{FileId, TaskId};
use std::sync::Arc;
use thiserror::Error;

/// The most task instances of one run.
pub const MOST_INSTANCES: usize = 5_000_000;

/// The reason why a course cannot be unfolded.
#[derive(Debug, Error)]
pub enum UnfoldError {
    /// An outcome that a decision does not have.
    #[error(transparent)]
    Outcome(#[from] OutcomeError),
    /// The instances make no workflow.
    #[error(transparent)]
    Workflow(#[from] WorkflowError),
    /// Nothing is left of it.
    #[error("in this course of the workflow no task runs")]
    NoTasks,
    /// Loops that go round too often.
    #[error("this course of the workflow has more than {MOST_INSTANCES} tasks")]
    TooLong,
    /// It has no choices and loops.
    #[error("the workflow has no choices and loops")]
    Plain,
}

/// The instances of a walk as a workflow: instance `i` is task `i`.
#[derive(Clone, Debug)]
pub struct Unfolding {
    template: Arc<Workflow>,
    control: Arc<Control>,
    /// Per task: exit codes other than 0 that count as success.
    accepts: Vec<Arc<[i32]>>,
    instances: Vec<Unfolded>,
    grown: Option<Arc<Workflow>>,
}

/// A file as one instance sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalFile {
    /// The name that its command uses.
    pub local: String,
    /// The name in the unfolded workflow.
    pub file: String,
    /// Whether the instance reads or writes it.
    pub how: FileUse,
}

impl Unfolding {
    /// Of a workflow with choices and loops.
    pub fn new(template: Arc<Workflow>) -> Result<Unfolding, UnfoldError> {
        let control = template.control().ok_or(UnfoldError::Plain)?.clone();
        let accepts = accepted_codes(&control);
        Ok(Unfolding { template, control, accepts, instances: Vec::new(), grown: None })
    }

    /// The workflow with its choices and loops.
    pub fn template(&self) -> &Arc<Workflow> {
        &self.template
    }

    /// The files of an instance.
    pub fn files(&self, walk: &Walk, instance: InstanceId) -> Vec<LocalFile> {
        let task = walk.instances()[instance as usize].task;
        let scope = walk.place_of(instance);
        let files = self.control.file_uses();
        let written = |by: InstanceId, name: &str| format!("{}{name}", walk.path_of(by));
        let mut all = Vec::new();
        for name in files.read_by(task) {
            let file = match walk.source(scope, name) {
                Source::Written(by, name) => written(by, &name),
                Source::Outside(name) => name,
            };
            all.push(LocalFile { local: name.clone(), file, how: FileUse::Read });
        }
        for name in files.written_by(task) {
            let file = written(instance, name);
            all.push(LocalFile { local: name.clone(), file, how: FileUse::Write });
        }
        all
    }

    /// All instances of a walk so far as a workflow; those known before keep their numbers.
    pub fn grow(&mut self, walk: &Walk) -> Result<Arc<Workflow>, UnfoldError> {
        let known = self.grown.as_ref().map_or(0, |w| w.len());
        if let Some(grown) = self.grown.as_ref().filter(|w| w.len() == walk.instances().len()) {
            return Ok(grown.clone());
        }
        if walk.instances().is_empty() {
            return Err(UnfoldError::NoTasks);
        }
        if walk.instances().len() > MOST_INSTANCES {
            return Err(UnfoldError::TooLong);
        }
        let mut builder = match &self.grown {
            Some(grown) => grown.reopen()?,
            None => {
                let mut builder = WorkflowBuilder::new(self.template.name());
                builder.set_reference_speed(self.template.reference_speed());
                builder
            }
        };
        let sizes = self.control.file_uses();
        for instance in &walk.instances()[known..] {
            let mut task = self.template.task(TaskId(instance.task));
            task.name.clone_from(&instance.name);
            builder.add_task(task)?;
        }
        for id in known as u32..walk.instances().len() as u32 {
            let instance = &walk.instances()[id as usize];
            let mut unfolded = Unfolded {
                of: TaskId(instance.task),
                path: walk.path_of(id).trim_end_matches('/').to_string(),
                reads: Vec::new(),
                writes: Vec::new(),
                accepts: self.accepts[instance.task as usize].clone(),
            };
            for LocalFile { local, file, how } in self.files(walk, id) {
                let file = file_of(&mut builder, &file, sizes.bytes(&local))?;
                match how {
                    FileUse::Write => {
                        builder.writes(TaskId(id), file)?;
                        unfolded.writes.push((file, local));
                    }
                    FileUse::Read => {
                        builder.reads(TaskId(id), file);
                        unfolded.reads.push((file, local));
                    }
                }
            }
            self.instances.push(unfolded);
            for &(from, bytes) in &instance.data {
                builder.add_edge(TaskId(from), TaskId(id), bytes)?;
            }
            for &from in &instance.waits {
                if !instance.data.iter().any(|(f, _)| *f == from) {
                    builder.add_control(TaskId(from), TaskId(id))?;
                }
            }
        }
        if let Some(table) = self.template.cost_table() {
            let rows = walk.instances().iter().flat_map(|i| table.row(TaskId(i.task)));
            let (columns, seconds) = (table.columns.clone(), rows.copied().collect());
            builder.set_cost_table(CostTable { columns, seconds });
        }
        let instances = Arc::new(self.instances.clone());
        let grown = Arc::new(builder.build()?.with_unfolded(instances));
        self.grown = Some(grown.clone());
        Ok(grown)
    }
}

/// Per task: the exit codes by which it decides something, other than 0.
fn accepted_codes(control: &Control) -> Vec<Arc<[i32]>> {
    let mut codes: Vec<Vec<i32>> = vec![Vec::new(); control.tasks()];
    let mut add =
        |by: Option<u32>, reads: &Option<Reads>, values: &mut dyn Iterator<Item = &Value>| {
            let (Some(by), Some(Reads::ExitCode)) = (by, reads) else { return };
            for value in values {
                if let Value::Number(number) = value
                    && let code @ 1..=255 = *number as i32
                    && f64::from(code) == *number
                    && !codes[by as usize].contains(&code)
                {
                    codes[by as usize].push(code);
                }
            }
        };
    for choice in control.choices() {
        add(choice.by, &choice.reads, &mut choice.branches.iter().flat_map(|b| &b.when));
    }
    for spec in control.loops() {
        add(spec.by, &spec.reads, &mut spec.again_when.iter().chain(&spec.stop_when));
    }
    codes.into_iter().map(Arc::from).collect()
}

fn file_of(builder: &mut WorkflowBuilder, name: &str, bytes: f64) -> Result<FileId, WorkflowError> {
    match builder.file_id(name) {
        Some(file) => Ok(file),
        None => builder.add_file(name, bytes),
    }
}

/// An unfolded workflow, and how the decisions fell.
pub type DrawnCourse = (Arc<Workflow>, Vec<(Decision, u32)>);

/// A whole course: the unfolded workflow, and how the decisions fell, in the order in which they
/// were taken.
pub fn draw_course(
    template: &Arc<Workflow>,
    decider: &mut dyn Decider,
) -> Result<DrawnCourse, UnfoldError> {
    let mut unfolding = Unfolding::new(template.clone())?;
    let control = unfolding.control.clone();
    let (mut walk, released) = Walk::new(control.clone());
    let mut taken = Vec::new();
    let mut ended = released.instances;
    loop {
        ended.iter().for_each(|&i| walk.end(i));
        let due = walk.due();
        let Some(due) = due.first() else { break };
        let outcome = match control.decision_of(due) {
            Some(decision) => {
                let outcome = decider.decide(&control, &decision)?;
                taken.push((decision, outcome));
                outcome
            }
            None => 0,
        };
        ended = walk.take(due, outcome).instances;
        if walk.instances().len() > MOST_INSTANCES {
            return Err(UnfoldError::TooLong);
        }
    }
    Ok((unfolding.grow(&walk)?, taken))
}
