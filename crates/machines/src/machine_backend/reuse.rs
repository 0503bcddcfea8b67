//! Tasks that are not done again because what an earlier attempt made is what they would make.

use super::MachineBackend;
use super::files::named;
use crate::attempt::{Completed, Stamp, Version};
use crate::folder::Note;
use crate::up_to_date::{Answer, Content, Kept, Stores, TaskFacts, bring, content_of, show_result};
use slackline_engine::{Made, MadeFile, Record, Report};
use slackline_model::{FileId, HostId, TaskId};
use std::collections::BTreeSet;
use std::path::Path;

/// The version that a file which was made has to have.
fn version_of(file: &MadeFile) -> Option<Version> {
    let stamp = Stamp { bytes: file.bytes, modified: file.modified? };
    let checksum = (!file.content.contains('@')).then(|| file.content.clone());
    Some(Version { stamp, checksum })
}

impl MachineBackend<'_> {
    /// Files of tasks that are up to date have to be what they were.
    pub(super) fn know_what_was_brought(&mut self) {
        let platform = self.platform();
        let places: BTreeSet<HostId> =
            platform.host_ids().map(|host| platform.place_of(host)).collect();
        let workflow = self.problem.workflow();
        for file in workflow.files().filter(|file| workflow.producer(*file).is_none()) {
            let kept = self.options.reuse.brought.get(workflow.file_name(file));
            if let Some(version) = kept.and_then(|kept| version_of(&kept.file)) {
                self.versions.extend(places.iter().map(|place| ((file, *place), version.clone())));
            }
        }
    }

    /// The content of a file that a task reads, as far as it is known.
    fn content(&self, name: &str, file: Option<FileId>) -> Option<&str> {
        let reuse = &self.options.reuse;
        if let Some(made) = self.contents.get(name) {
            return Some(made);
        }
        if let Some(kept) = reuse.brought.get(name) {
            return Some(&kept.file.content);
        }
        match file.and_then(|file| self.workflow().producer(file)) {
            Some(producer) => reuse.history.content(self.workflow().task_name(producer), name),
            None => reuse.given.get(name).map(String::as_str),
        }
    }

    /// A note for which nothing waits; a run whose log cannot be kept is ended by its engine.
    fn keep(&self, note: Note) {
        let _ = self.events.log.append(self.events.clock.now(), &Record::Note(note));
    }

    /// Names of the inputs of a task and their contents.
    fn input_contents(&self, task: TaskId) -> Vec<(String, Option<String>)> {
        let workflow = self.workflow();
        let files = super::files::reads(workflow, task).into_iter().map(|(file, _)| file);
        files
            .filter(|file| !workflow.file_name(*file).is_empty())
            .map(|file| {
                let name = workflow.file_name(file);
                (name.to_string(), self.content(name, Some(file)).map(str::to_string))
            })
            .collect()
    }

    /// The report of a task that is up to date: what it wrote is in the store of a host then. Otherwise the reason why it
    /// is done is noted.
    pub(super) fn reuse(&mut self, task: TaskId, host: HostId) -> Option<Report> {
        if !self.options.reuse.again || !self.begun.insert(task) {
            return None;
        }
        let name = self.workflow().task_name(task).to_string();
        let stated = self.problem.workflow().task_name(self.stated(task));
        let reuse = &self.options.reuse;
        let why = if reuse.may_keep(&name) && (!reuse.all || reuse.may_keep(stated)) {
            let facts = TaskFacts::of(self.workflow(), task);
            let inputs = self.input_contents(task);
            let stores = Stores::of(self.folder.root(), self.options.reuse.results.clone());
            let content = |name: &str| {
                let found = inputs.iter().find(|(of, _)| of == name);
                found.and_then(|(_, content)| content.as_deref()).map_or(Content::Open, Content::Is)
            };
            match self.options.reuse.history.judge(&facts, content, &stores) {
                Answer::UpToDate(made) => match self.take_over(task, host, &made, &stores) {
                    Ok(report) => return Some(report),
                    Err(why) => why,
                },
                Answer::Perhaps(_) => "an input is made again".to_string(),
                Answer::Redo(why) => why.to_string(),
            }
        } else {
            let known = reuse.redo.get(&name).or_else(|| reuse.redo.get(stated)).cloned();
            known.unwrap_or_else(|| "new".to_string())
        };
        self.keep(Note::Redo { name, why });
        None
    }

    fn take_over(
        &mut self,
        task: TaskId,
        host: HostId,
        made: &Made,
        stores: &Stores,
    ) -> Result<Report, String> {
        let place = self.platform().place_of(host);
        let workflow = self.workflow();
        let files: Vec<FileId> = named(workflow, workflow.outputs(task)).collect();
        let name = workflow.task_name(task).to_string();
        let mut report = Report { exit_code: made.exit, ..Report::default() };
        let mut taken = Vec::with_capacity(files.len());
        for file in files {
            let name = self.workflow().file_name(file);
            let output = made.outputs.iter().find(|output| output.name == name);
            let kept = output.and_then(|output| {
                let path = stores.path(&made.host, output)?;
                Some(Kept { path, file: output.clone() })
            });
            let kept = kept.ok_or_else(|| format!("output {name} missing"))?;
            let stored = self.stored(file, host);
            bring(&kept, &stored).map_err(|e| format!("output {name} cannot be brought: {e}"))?;
            report.sizes.push((file, kept.file.bytes as f64));
            if !kept.file.content.contains('@') {
                report.checksums.push((file, kept.file.content.clone()));
            }
            taken.push((file, kept.file, stored));
        }
        let mut shown = Vec::new();
        for (file, output, stored) in taken {
            if let Some(version) = version_of(&output) {
                self.versions.insert((file, place), version);
            }
            if self.show(&output.name, &stored) {
                shown.push(output.name.clone());
            }
            self.contents.insert(output.name, output.content);
        }
        let at = self.host_name(place);
        if made.name != name || made.host != at {
            let host = at.to_string();
            self.keep(Note::Made(Made { name: name.clone(), host, ..made.clone() }));
        }
        if !shown.is_empty() {
            self.keep(Note::Shown(shown));
        }
        self.keep(Note::Reused { task, name });
        Ok(report)
    }

    /// Shows a file in the folder of results, where it belongs there; whether it is there then. Otherwise it is shown
    /// when the run is over.
    fn show(&self, name: &str, stored: &Path) -> bool {
        self.options.reuse.results.contains(name) && show_result(&self.folder, stored, name).is_ok()
    }

    /// Keeps what a task was done with and what it wrote: its outputs have their names.
    pub(super) fn note_made(&mut self, task: TaskId, host: HostId, done: &Completed) {
        let place = self.platform().place_of(host);
        let facts = TaskFacts::of(self.workflow(), task);
        let contents = self.input_contents(task).into_iter();
        // What is not known is not what anything else is.
        let unknown = || format!("@{}-{}", self.options.run, self.options.drive);
        let inputs =
            contents.map(|(name, content)| (name, content.unwrap_or_else(unknown))).collect();
        let mut outputs = Vec::new();
        let files: Vec<FileId> = named(self.workflow(), self.workflow().outputs(task)).collect();
        for (file, written) in files.into_iter().zip(&done.written) {
            let name = self.workflow().file_name(file).to_string();
            let shown = self.show(&name, &self.stored(file, host));
            let stamp =
                Stamp { bytes: written.bytes, modified: written.modified.unwrap_or_default() };
            let content = content_of(written.checksum.as_deref(), stamp);
            self.contents.insert(name.clone(), content.clone());
            let (bytes, modified) = (written.bytes, written.modified);
            outputs.push(MadeFile { name, bytes, content, modified, shown });
        }
        let TaskFacts { name, command, env, .. } = facts;
        let kind = self.workflow().kind_name(self.workflow().kind(task)).to_string();
        let seconds = self.at_reference_speed(task, host, done.usage.seconds);
        let (host, exit) = (self.host_name(place).to_string(), done.usage.exit);
        let peak = done.usage.peak_memory;
        let made = Made { name, host, command, env, inputs, outputs, exit, kind, seconds, peak };
        self.keep(Note::Made(made));
    }

    /// Temporary files that no task will read any more are deleted once what is done is durable.
    pub(super) fn doom_temporary(&mut self, task: TaskId) {
        self.done.insert(task);
        if self.options.temporary.is_empty() {
            return;
        }
        let (problem, grown) = (self.problem, self.grown.clone());
        let workflow = grown.as_deref().unwrap_or_else(|| problem.workflow());
        // With choices and loops, the readers of a file are unknown.
        if workflow.is_unfolded() {
            return;
        }
        let temporary = |file: &FileId| {
            self.options.temporary.contains(workflow.file_name(*file))
                && workflow.consumers(*file).all(|reader| self.done.contains(&reader))
        };
        let files: Vec<FileId> = workflow.inputs(task).filter(temporary).collect();
        let platform = self.platform();
        let places: BTreeSet<HostId> = platform.host_ids().map(|h| platform.place_of(h)).collect();
        for file in files {
            let held = |place: &&HostId| self.versions.contains_key(&(file, **place));
            let held: Vec<HostId> = places.iter().filter(held).copied().collect();
            self.doomed.extend(held.into_iter().map(|place| (file, place)));
        }
    }

    /// Seconds that a task would have taken at the reference speed, where it took so many on a host on one core, or as
    /// many as it has at least.
    fn at_reference_speed(&self, task: TaskId, host: HostId, seconds: f64) -> Option<f64> {
        let workflow = self.workflow();
        if workflow.cost_table().is_some() || seconds <= 0.0 {
            return None;
        }
        let speed = self.platform().host(host).speed;
        let width = self.widths.get(&task).copied().unwrap_or(1);
        let gain = workflow.speedup(task).factor(width);
        let share = speed / workflow.reference_speed() / gain;
        let seconds = seconds * share;
        (seconds.is_finite() && seconds > 0.0).then_some(seconds)
    }

    /// Notes files of which the last copy is about to be deleted.
    pub(super) fn note_deleted(&mut self) {
        let gone: BTreeSet<(FileId, HostId)> = self
            .doomed
            .iter()
            .map(|(file, host)| (*file, self.platform().place_of(*host)))
            .collect();
        let files: BTreeSet<FileId> = gone.iter().map(|(file, _)| *file).collect();
        let mut held: BTreeSet<FileId> = BTreeSet::new();
        held.extend(self.versions.keys().filter(|kept| !gone.contains(*kept)).map(|(f, _)| *f));
        let names: Vec<String> = files
            .difference(&held)
            .filter(|file| self.workflow().producer(**file).is_some())
            .map(|file| self.workflow().file_name(*file).to_string())
            .collect();
        if !names.is_empty() {
            self.keep(Note::Deleted(names));
        }
    }
}
