//! Workflows like given ones: the structure of the instance nearest in size is repeated or cut
//! (see `pattern`), run times and file sizes are drawn from laws fitted to all instances, per
//! kind of task and of file (see `fit`).
//!
//! After the idea of WfChef and WfGen (Coleman et al. 2022, WfCommons): find what repeats,
//! repeat it, draw the rest. Time grows with the tasks made and the instances' sizes.

pub mod fit;
mod likeness;
mod pattern;

pub use likeness::{KindLikeness, Likeness};

use crate::draw::{Draws, Seed};
use crate::error::{GenerateError, Result};
use fit::Law;
use pattern::Pattern;
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::{FileId, Task, TaskId, Workflow, WorkflowBuilder};
use std::collections::HashMap;

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::new("tasks", Kind::Count(1, 1 << 28), "1000", "number of tasks, nearly"),
    Parameter::new(
        "fit",
        Kind::Choice(&["auto", "samples"]),
        "auto",
        "laws of run times and sizes: a formula where one fits, or the samples themselves",
    ),
];

/// The kind of a task: its name, with `#` for each run of digits.
pub(crate) fn kind_pattern(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for c in name.chars() {
        if !c.is_ascii_digit() {
            pattern.push(c);
        } else if !pattern.ends_with('#') {
            pattern.push('#');
        }
    }
    pattern
}

/// The role of a file, such as `reads_*fastq` of `reads_17_left.fastq`: its name up to the last separator before
/// the first digit, and its extension. Files of one role have one law of sizes.
fn role(name: &str) -> String {
    let head = &name[..name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len())];
    let cut = if head.len() < name.len() { head.rfind(['-', '_', '.']) } else { None };
    let extension = name.rsplit_once('.').map_or("", |(_, e)| e);
    let extension = if extension.bytes().all(|b| b.is_ascii_alphabetic()) { extension } else { "" };
    format!("{}*{extension}", &head[..cut.map_or(head.len(), |at| at + 1)])
}

/// Laws of run times and file sizes, over all instances.
struct Laws {
    seconds: HashMap<String, Law>,
    bytes: HashMap<(String, String), Law>,
}

impl Laws {
    fn learn(instances: &[Workflow], parametric: bool) -> Laws {
        let mut seconds: HashMap<String, Vec<f64>> = HashMap::new();
        let mut bytes: HashMap<(String, String), Vec<f64>> = HashMap::new();
        for w in instances {
            for task in w.tasks() {
                let kind = kind_pattern(w.kind_name(w.kind(task)));
                seconds.entry(kind).or_default().push(w.reference_seconds(task));
            }
            for file in w.files() {
                bytes.entry(file_key(w, file)).or_default().push(w.file_bytes(file));
            }
        }
        Laws {
            seconds: seconds.into_iter().map(|(k, v)| (k, Law::fit(v, parametric))).collect(),
            // Always the samples: sizes of one role often have few distinct values, which no formula fits.
            bytes: bytes.into_iter().map(|(k, v)| (k, Law::fit(v, false))).collect(),
        }
    }
}

/// Kind of the producer (for inputs of the workflow `>` and the kind of the first consumer) and role of a file.
fn file_key(w: &Workflow, file: FileId) -> (String, String) {
    let kind = |task: TaskId| kind_pattern(w.kind_name(w.kind(task)));
    let owner = match (w.producer(file), w.consumers(file).next()) {
        (Some(producer), _) => kind(producer),
        (None, Some(consumer)) => format!("> {}", kind(consumer)),
        (None, None) => String::new(),
    };
    (owner, role(w.file_name(file)))
}

/// Makes a workflow of about `tasks` tasks like the instances; `parametric` allows formulas as laws of run times,
/// otherwise their samples are drawn from.
pub fn like(
    instances: &[Workflow],
    tasks: usize,
    parametric: bool,
    seed: Seed,
) -> Result<Workflow> {
    let Some(base) = nearest(instances, tasks) else {
        let why = "give at least one workflow to make another like it";
        return Err(GenerateError::Impossible(why.into()));
    };
    let laws = Laws::learn(instances, parametric);
    let mut numbers = HashMap::new();
    let kinds: Vec<u32> = base
        .tasks()
        .map(|t| {
            let next = numbers.len() as u32;
            *numbers.entry(kind_pattern(base.kind_name(base.kind(t)))).or_insert(next)
        })
        .collect();
    let pattern = Pattern::of(base, &kinds);
    let room = tasks.saturating_sub(pattern.hubs.len()).max(1);
    let (whole, over) = (room / pattern.rest.len(), room % pattern.rest.len());
    let partial = pattern.part(&pattern.rest, over);
    Copier::new(base, &laws, &pattern, seed).run(whole, &partial)
}

/// The instance whose size is nearest to `tasks`, by ratio; the larger where two are.
fn nearest(instances: &[Workflow], tasks: usize) -> Option<&Workflow> {
    let far = |w: &&Workflow| (w.len() as f64 / tasks.max(1) as f64).ln().abs();
    instances.iter().min_by(|a, b| far(a).total_cmp(&far(b)).then(b.len().cmp(&a.len())))
}

/// Whether all copies share a file: outputs of hubs, and inputs unless a single component reads them.
fn shares(base: &Workflow, pattern: &Pattern<'_>, is_hub: &[bool], file: FileId) -> bool {
    if let Some(producer) = base.producer(file) {
        return is_hub[producer.index()];
    }
    let mut parts = base.consumers(file).map(|t| pattern.component[t.index()]);
    let first = parts.next().flatten();
    first.is_none() || parts.any(|part| part != first)
}

/// Builds a workflow from copies of a template. Copy 0 keeps the names, those of copy k end in `~k`.
struct Copier<'a> {
    base: &'a Workflow,
    pattern: &'a Pattern<'a>,
    /// Laws of the template's tasks and files, by id.
    seconds_of: Vec<Option<&'a Law>>,
    bytes_of: Vec<Option<&'a Law>>,
    /// Files that all copies share: those of hubs, and inputs that several components read.
    is_shared: Vec<bool>,
    /// Edges without files, which order tasks alone.
    is_bare: Vec<bool>,
    builder: WorkflowBuilder,
    seconds: Draws,
    sizes: Draws,
    is_hub: Vec<bool>,
    /// New ids of the hubs.
    hubs: HashMap<TaskId, TaskId>,
    /// New ids of the shared files.
    shared: HashMap<FileId, FileId>,
}

impl<'a> Copier<'a> {
    fn new(base: &'a Workflow, laws: &'a Laws, pattern: &'a Pattern<'a>, seed: Seed) -> Copier<'a> {
        let mut is_hub = vec![false; base.len()];
        for hub in &pattern.hubs {
            is_hub[hub.index()] = true;
        }
        let kind = |t| kind_pattern(base.kind_name(base.kind(t)));
        let seconds_of = base.tasks().map(|t| laws.seconds.get(&kind(t))).collect();
        let bytes_of = base.files().map(|f| laws.bytes.get(&file_key(base, f))).collect();
        let is_shared = base.files().map(|f| shares(base, pattern, &is_hub, f)).collect();
        let is_bare = base.edges().map(|e| base.edge_files(e).next().is_none()).collect();
        let name = if base.name().is_empty() { "workflow" } else { base.name() };
        let mut builder = WorkflowBuilder::new(format!("like-{name}"));
        builder.set_reference_speed(base.reference_speed());
        Copier {
            base,
            pattern,
            seconds_of,
            bytes_of,
            is_shared,
            is_bare,
            builder,
            seconds: seed.draws("like/seconds"),
            sizes: seed.draws("like/sizes"),
            is_hub,
            hubs: HashMap::new(),
            shared: HashMap::new(),
        }
    }

    fn run(mut self, whole: usize, partial: &[TaskId]) -> Result<Workflow> {
        for &hub in &self.pattern.hubs {
            let id = self.add_task(hub, 0)?;
            self.hubs.insert(hub, id);
        }
        let everything = &self.pattern.rest;
        for copy in 0..=whole {
            let tasks = if copy < whole { everything.as_slice() } else { partial };
            if !tasks.is_empty() {
                self.add_copy(tasks, copy)?;
            }
        }
        self.join_hubs()?;
        Ok(self.builder.build()?)
    }

    fn add_task(&mut self, template: TaskId, copy: usize) -> Result<TaskId> {
        let mut task: Task = self.base.task(template);
        if let Some(law) = self.seconds_of[template.index()] {
            task.work = law.draw(&mut self.seconds) * self.base.reference_speed();
        }
        if copy > 0 {
            task.name = format!("{}~{copy}", task.name);
        }
        task.command = None;
        Ok(self.builder.add_task(task)?)
    }

    fn bytes(&mut self, file: FileId) -> f64 {
        match self.bytes_of[file.index()] {
            Some(law) => law.draw(&mut self.sizes).round(),
            None => self.base.file_bytes(file),
        }
    }

    /// A file that all copies share, added on first use.
    fn shared_file(&mut self, file: FileId) -> Result<FileId> {
        if let Some(&known) = self.shared.get(&file) {
            return Ok(known);
        }
        let bytes = self.bytes(file);
        let id = self.builder.add_file(&self.base.file_label(file), bytes)?;
        if let Some(hub) = self.base.producer(file).and_then(|p| self.hubs.get(&p)) {
            self.builder.writes(*hub, id)?;
        }
        self.shared.insert(file, id);
        Ok(id)
    }

    fn add_copy(&mut self, tasks: &[TaskId], copy: usize) -> Result<()> {
        let mut ids: HashMap<TaskId, TaskId> = HashMap::with_capacity(tasks.len());
        for &task in tasks {
            ids.insert(task, self.add_task(task, copy)?);
        }
        let mut own: HashMap<FileId, FileId> = HashMap::new();
        for &task in tasks {
            for file in self.base.outputs(task) {
                self.copied_file(file, copy, &ids, &mut own)?;
            }
            for file in self.base.inputs(task) {
                // Nothing where its producer was cut away.
                if let Some(id) = self.copied_file(file, copy, &ids, &mut own)? {
                    self.builder.reads(ids[&task], id);
                }
            }
            // Outputs of this copy that hubs read.
            for file in self.base.outputs(task) {
                for consumer in self.base.consumers(file) {
                    if let (Some(&hub), Some(&id)) = (self.hubs.get(&consumer), own.get(&file)) {
                        self.builder.reads(hub, id);
                    }
                }
            }
        }
        self.add_controls(tasks, |copier, task| {
            ids.get(&task).or_else(|| copier.hubs.get(&task)).copied()
        })
    }

    /// The counterpart of `file` in a copy, added on first use; none where its producer is not part of the copy.
    fn copied_file(
        &mut self,
        file: FileId,
        copy: usize,
        ids: &HashMap<TaskId, TaskId>,
        own: &mut HashMap<FileId, FileId>,
    ) -> Result<Option<FileId>> {
        if self.is_shared[file.index()] {
            return self.shared_file(file).map(Some);
        }
        if let Some(&known) = own.get(&file) {
            return Ok(Some(known));
        }
        let producer = match self.base.producer(file) {
            None => None,
            Some(producer) => match ids.get(&producer) {
                Some(&producer) => Some(producer),
                None => return Ok(None),
            },
        };
        let bytes = self.bytes(file);
        let label = self.base.file_label(file);
        let name = if copy > 0 { format!("{label}~{copy}") } else { label };
        let id = self.builder.add_file(&name, bytes)?;
        if let Some(producer) = producer {
            self.builder.writes(producer, id)?;
        }
        own.insert(file, id);
        Ok(Some(id))
    }

    /// Adds dependencies without data between tasks for which `of` has a copy.
    fn add_controls(
        &mut self,
        tasks: &[TaskId],
        of: impl Fn(&Copier<'_>, TaskId) -> Option<TaskId>,
    ) -> Result<()> {
        for &task in tasks {
            let out = self.base.successors(task).map(|(child, edge)| (task, child, edge));
            let hubs_in = self.base.predecessors(task).filter(|(p, _)| self.is_hub[p.index()]);
            let into = hubs_in.map(|(parent, edge)| (parent, task, edge));
            let bare: Vec<(TaskId, TaskId)> = out
                .chain(into)
                .filter(|&(.., edge)| self.is_bare[edge.index()])
                .map(|(from, to, _)| (from, to))
                .collect();
            for (from, to) in bare {
                if let (Some(from), Some(to)) = (of(self, from), of(self, to)) {
                    self.builder.add_control(from, to)?;
                }
            }
        }
        Ok(())
    }

    /// Connects the files that hubs read and write among themselves and from outside.
    fn join_hubs(&mut self) -> Result<()> {
        let hubs = self.pattern.hubs.clone();
        for &hub in &hubs {
            for file in self.base.outputs(hub).collect::<Vec<_>>() {
                self.shared_file(file)?;
            }
            for file in self.base.inputs(hub).collect::<Vec<_>>() {
                if self.is_shared[file.index()] {
                    let id = self.shared_file(file)?;
                    self.builder.reads(self.hubs[&hub], id);
                }
            }
        }
        self.add_controls(&hubs, |copier, task| copier.hubs.get(&task).copied())
    }
}

#[cfg(test)]
mod tests;
