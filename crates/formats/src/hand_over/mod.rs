//! Plans and workflows in the words of systems that carry them out: `sbatch` scripts, HyperQueue job files,
//! makeflows, Snakefiles and CWL workflows. They are written, not read again.

mod cwl;
mod hyperqueue;
mod makeflow;
mod slurm;
mod snakemake;

use crate::error::{FormatError, Result};
use slackline_model::workflow::Command;
use slackline_model::{FileId, Problem, Schedule, TaskId, Workflow};
use std::fmt;
use std::str::FromStr;

/// A system to hand over to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A shell script that submits one job for each task, in the order and on the nodes of a plan.
    Slurm,
    /// A job file of HyperQueue.
    HyperQueue,
    /// A makeflow.
    Makeflow,
    /// A Snakefile.
    Snakemake,
    /// A workflow of the Common Workflow Language, 1.2.
    Cwl,
}

impl Target {
    /// Every target.
    pub const ALL: [Target; 5] =
        [Target::Slurm, Target::HyperQueue, Target::Makeflow, Target::Snakemake, Target::Cwl];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Target::Slurm => "slurm",
            Target::HyperQueue => "hq",
            Target::Makeflow => "makeflow",
            Target::Snakemake => "snakemake",
            Target::Cwl => "cwl",
        }
    }

    /// Whether it takes hosts or an order, so that a plan is needed.
    pub fn needs_plan(self) -> bool {
        matches!(self, Target::Slurm | Target::HyperQueue)
    }

    /// Parts of a plan that it cannot represent.
    pub fn drops(self) -> &'static [&'static str] {
        match self {
            Target::Slurm => &[],
            Target::HyperQueue => &["the hosts of tasks"],
            Target::Makeflow => &["the hosts of tasks", "their order beyond dependencies"],
            Target::Snakemake | Target::Cwl => &["the plan"],
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Target, String> {
        Target::ALL
            .into_iter()
            .find(|t| t.name() == name)
            .ok_or_else(|| format!("no target '{name}'"))
    }
}

/// Writes a plan for a target.
pub fn write_plan(target: Target, problem: &Problem<'_>, schedule: &Schedule) -> Result<String> {
    let workflow = problem.workflow();
    if let Some(task) = workflow.tasks().find(|&t| schedule.placement(t).is_none()) {
        let name = workflow.task_name(task);
        return Err(FormatError::new(format!("the plan has no place for task '{name}'")));
    }
    match target {
        Target::Slurm => slurm::write(problem, schedule),
        Target::HyperQueue => hyperqueue::write(problem, schedule),
        _ => write_workflow(target, workflow),
    }
}

/// Writes a workflow for a target that takes no plan.
pub fn write_workflow(target: Target, workflow: &Workflow) -> Result<String> {
    if workflow.control().is_some() {
        return Err(FormatError::new(format!(
            "{target} has no choices and loops that this workflow could be said in"
        ))
        .with_help("unfold one course of it with --draw SEED"));
    }
    // Commands of instances use the file names of the workflow they come from.
    let renamed = |task: TaskId| {
        let all = workflow.unfolded(task).map(|u| u.reads.iter().chain(&u.writes));
        all.into_iter().flatten().any(|(file, name)| workflow.file_name(*file) != name)
    };
    if let Some(task) = workflow.tasks().find(|&task| renamed(task)) {
        let name = workflow.task_name(task);
        return Err(FormatError::new(format!(
            "the command of '{name}' knows its files by other names than this course of the workflow has, and only \
             slackline run gives it those"
        )));
    }
    match target {
        Target::Makeflow => makeflow::write(workflow),
        Target::Snakemake => snakemake::write(workflow),
        Target::Cwl => cwl::write(workflow),
        Target::Slurm | Target::HyperQueue => Err(FormatError::new(format!(
            "{target} takes a plan, not a workflow"
        ))
        .with_help("slackline plan WORKFLOW -o plan.json; slackline convert plan.json OUT --to …")),
    }
}

/// The line of shell that runs a task.
fn shell(workflow: &Workflow, task: TaskId) -> Result<String> {
    let name = workflow.task_name(task);
    let Some(command) = workflow.command(task) else {
        return Err(FormatError::new(format!("task '{name}' has no command")).with_help(
            "the workflow, or the records it was read from, must have the commands; generate --runnable makes some",
        ));
    };
    let line = match command.shell_line() {
        Some(line) => line.to_string(),
        None => {
            let words = std::iter::once(&command.program).chain(&command.arguments);
            words.map(|word| word_of_shell(word)).collect::<Vec<_>>().join(" ")
        }
    };
    if line.contains('\0') {
        return Err(FormatError::new(format!("the command of task '{name}' holds a character 0")));
    }
    Ok(line)
}

/// A word as a shell reads it, quoted only where it has to be.
fn word_of_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    Command::shell_word(word)
}

/// Tasks by their dates in a plan: a later one never has to wait for an earlier one.
fn planned_order(problem: &Problem<'_>, schedule: &Schedule) -> Vec<TaskId> {
    let workflow = problem.workflow();
    let mut place = vec![0usize; workflow.len()];
    for (at, &task) in workflow.topological_order().iter().enumerate() {
        place[task.index()] = at;
    }
    let mut order: Vec<TaskId> = workflow.tasks().collect();
    let start = |task: TaskId| schedule.placement(task).map_or(0.0, |p| p.start);
    order.sort_by(|&a, &b| {
        start(a).total_cmp(&start(b)).then(place[a.index()].cmp(&place[b.index()]))
    });
    order
}

/// Files that go from task to task or are results: those of single edges without a name of their own are not.
fn named_files(
    workflow: &Workflow,
    files: impl Iterator<Item = FileId>,
) -> impl Iterator<Item = &str> {
    files.map(|file| workflow.file_name(file)).filter(|name| !name.is_empty())
}

/// The parents of a task whose results it does not name: only the order holds.
fn silent_parents(workflow: &Workflow, task: TaskId) -> Vec<TaskId> {
    let names_a_file =
        |edge| workflow.edge_files(edge).any(|file| !workflow.file_name(file).is_empty());
    let edges = workflow.predecessors(task);
    edges.filter(|&(_, edge)| !names_a_file(edge)).map(|(parent, _)| parent).collect()
}

/// Mebibytes that a task needs on a number of cores, rounded up; nothing where it states none.
fn mebibytes(workflow: &Workflow, task: TaskId, width: u32) -> Option<u64> {
    let bytes = workflow.memory_at(task, width);
    (bytes > 0.0).then(|| (bytes / (1024.0 * 1024.0)).ceil() as u64)
}

/// A file that represents the end of a task without outputs.
fn marker(task: TaskId) -> String {
    format!(".slackline-done/{}", task.0)
}
