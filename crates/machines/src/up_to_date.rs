//! Whether a task is up to date, and why not: the one place that answers it, for a run that begins in a folder
//! that was used before, and for a task whose inputs were made again meanwhile.
//!
//! A task is up to date when its command, its declared environment, its inputs (by content) and its outputs are those
//! of a task that was done in the folder, whatever its name was. Records of the log say what was done
//! ([`Made`]); outputs are compared in the stores and in the folder of results, by size and time first, by checksum
//! where these differ.

use crate::attempt::{Stamp, checksum, is_packed, packed_content, unpack};
use crate::decide::read_outcome;
use crate::folder::{Note, RunFolder, component};
use serde::{Deserialize, Serialize};
use slackline_engine::{Ended, Made, MadeFile};
use slackline_model::control::{UnfoldError, Unfolding, Walk};
use slackline_model::workflow::Command;
use slackline_model::{FileId, HostId, TaskId, Workflow};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The reason why a task is done again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing of the kind was done in this folder.
    New,
    /// Attempts were made, and none came to its end.
    NotDone,
    /// All attempts failed.
    Failed,
    /// The user wants it.
    Forced,
    /// Its command is another one.
    Command,
    /// Its declared environment is another one.
    Environment,
    /// An input has other content.
    InputChanged(String),
    /// It reads a file that it did not read before.
    InputAdded(String),
    /// It no longer reads a file.
    InputRemoved(String),
    /// An input cannot be told from others: it is made again.
    InputRemade(String),
    /// An output is not there.
    OutputMissing(String),
    /// An output has other content.
    OutputChanged(String),
    /// It writes a file that it did not write before.
    OutputAdded(String),
    /// An output was deleted after its last reader, and a task reads it now.
    Needed(String, String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::New => f.write_str("new"),
            Why::NotDone => f.write_str("not done yet"),
            Why::Failed => f.write_str("failed before"),
            Why::Forced => f.write_str("forced"),
            Why::Command => f.write_str("command changed"),
            Why::Environment => f.write_str("env changed"),
            Why::InputChanged(name) => write!(f, "input {name} changed"),
            Why::InputAdded(name) => write!(f, "input {name} added"),
            Why::InputRemoved(name) => write!(f, "input {name} removed"),
            Why::InputRemade(name) => write!(f, "input {name} is made again"),
            Why::OutputMissing(name) => write!(f, "output {name} missing"),
            Why::OutputChanged(name) => write!(f, "output {name} changed"),
            Why::OutputAdded(name) => write!(f, "output {name} added"),
            Why::Needed(name, by) => write!(f, "output {name} was deleted, and {by} reads it"),
        }
    }
}

/// A task that is done again, and the reason in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redo {
    /// The task.
    pub task: String,
    /// The reason.
    pub why: String,
}

/// All that makes a task the same as one that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFacts {
    /// Its name.
    pub name: String,
    /// Digest of its command.
    pub command: String,
    /// Digest of its declared environment.
    pub env: String,
    /// Names of the files it reads.
    pub inputs: Vec<String>,
    /// Names of the files it writes.
    pub outputs: Vec<String>,
}

fn digest(words: &[&str]) -> String {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    for word in words {
        hash.update(&(word.len() as u64).to_le_bytes());
        hash.update(word.as_bytes());
    }
    format!("{:016x}", hash.digest())
}

/// Digest of a command.
fn digest_of(command: Option<&Command>) -> String {
    let Some(command) = command else { return String::new() };
    let mut words = vec![command.program.as_str()];
    words.extend(command.arguments.iter().map(String::as_str));
    digest(&words)
}

/// Digest of a declared environment; empty where none is declared.
fn env_digest_of(command: Option<&Command>) -> String {
    let declared = command.and_then(|c| c.surroundings.as_ref()).map(|around| around.declared());
    let declared = declared.unwrap_or_default();
    let words: Vec<&str> = declared.iter().map(String::as_str).collect();
    if words.is_empty() { String::new() } else { digest(&words) }
}

/// Names of files, without those that stand for mere order.
fn names(workflow: &Workflow, files: impl Iterator<Item = FileId>) -> Vec<String> {
    let names = files.map(|file| workflow.file_name(file)).filter(|name| !name.is_empty());
    names.map(str::to_string).collect()
}

impl TaskFacts {
    /// Those of a task of a workflow.
    pub fn of(workflow: &Workflow, task: TaskId) -> TaskFacts {
        let inputs = match workflow.unfolded(task) {
            Some(unfolded) => names(workflow, unfolded.reads.iter().map(|(file, _)| *file)),
            None => names(workflow, workflow.inputs(task)),
        };
        TaskFacts {
            name: workflow.task_name(task).to_string(),
            command: digest_of(workflow.command(task)),
            env: env_digest_of(workflow.command(task)),
            inputs,
            outputs: names(workflow, workflow.outputs(task)),
        }
    }
}

/// The content of a file that a task reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// Known.
    Is(&'a str),
    /// Known when the task that writes it is done.
    Open,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The task was done, and what it wrote is there.
    UpToDate(Arc<Made>),
    /// It was done, and has to be done again only if inputs come out otherwise than they were.
    Perhaps(Arc<Made>),
    /// It has to be done.
    Redo(Why),
}

/// Content of a file without a checksum: another version has another one.
pub fn content_of(checksum: Option<&str>, stamp: Stamp) -> String {
    let (seconds, nanoseconds) = stamp.modified;
    let unnamed = || format!("{}@{seconds}.{nanoseconds:09}", stamp.bytes);
    checksum.map_or_else(unnamed, str::to_string)
}

/// All that was done in a folder, by its log.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Everything that was done, in order.
    made: Vec<Arc<Made>>,
    by_name: HashMap<String, Vec<Arc<Made>>>,
    by_outputs: HashMap<Vec<String>, Vec<Arc<Made>>>,
    /// Most attempts at a task, and tasks whose last attempt failed.
    attempts: BTreeMap<String, u32>,
    failed: BTreeSet<String>,
    /// Files that are in the folder of results, unless the user took them away; files that were deleted.
    shown: HashSet<String>,
    deleted: HashSet<String>,
}

/// A history as a document.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedHistory {
    made: Vec<Made>,
    attempts: BTreeMap<String, u32>,
    failed: BTreeSet<String>,
    shown: BTreeSet<String>,
    deleted: BTreeSet<String>,
}

impl From<&History> for SavedHistory {
    fn from(history: &History) -> SavedHistory {
        SavedHistory {
            made: history.made.iter().map(|made| Made::clone(made)).collect(),
            attempts: history.attempts.clone(),
            failed: history.failed.clone(),
            shown: history.shown.iter().cloned().collect(),
            deleted: history.deleted.iter().cloned().collect(),
        }
    }
}

impl From<SavedHistory> for History {
    fn from(saved: SavedHistory) -> History {
        let mut history = History::default();
        saved.made.into_iter().for_each(|made| history.add(made));
        let SavedHistory { attempts, failed, shown, deleted, .. } = saved;
        let (shown, deleted) = (shown.into_iter().collect(), deleted.into_iter().collect());
        History { attempts, failed, shown, deleted, ..history }
    }
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

impl History {
    /// Takes a note of the log, in its order.
    pub fn hear(&mut self, note: &Note) {
        match note {
            Note::Process { name, attempt, .. } => self.count(name, *attempt),
            Note::Failure(failure) => {
                self.count(&failure.name, failure.attempt);
                self.failed.insert(failure.name.clone());
            }
            Note::Made(made) => self.add(made.clone()),
            Note::Shown(names) => self.shown.extend(names.iter().cloned()),
            Note::Withdrawn(names) => {
                for name in names {
                    self.shown.remove(name);
                }
            }
            Note::Deleted(names) => self.deleted.extend(names.iter().cloned()),
            _ => {}
        }
    }

    fn count(&mut self, name: &str, attempt: u32) {
        let most = self.attempts.entry(name.to_string()).or_default();
        *most = attempt.max(*most);
    }

    /// Adds a task that was done.
    pub fn add(&mut self, made: Made) {
        self.failed.remove(&made.name);
        for file in &made.outputs {
            if file.shown {
                self.shown.insert(file.name.clone());
            }
            self.deleted.remove(&file.name);
        }
        let made = Arc::new(made);
        self.made.push(made.clone());
        let outputs = sorted(made.outputs.iter().map(|file| file.name.clone()));
        self.by_name.entry(made.name.clone()).or_default().push(made.clone());
        if !outputs.is_empty() {
            self.by_outputs.entry(outputs).or_default().push(made);
        }
    }

    /// Most attempts made at each task.
    pub fn attempts(&self) -> &BTreeMap<String, u32> {
        &self.attempts
    }

    /// Whether a file was deleted by the run itself, being needed no more.
    pub fn is_deleted(&self, file: &str) -> bool {
        self.deleted.contains(file)
    }

    /// Whether a task was done, under this name.
    pub fn knows(&self, task: &str) -> bool {
        self.by_name.contains_key(task)
    }

    /// Earlier results that may be of this task: the last of its name first.
    fn candidates<'h>(
        &'h self,
        facts: &TaskFacts,
    ) -> impl Iterator<Item = &'h Arc<Made>> + use<'h> {
        let named = self.by_name.get(&facts.name).map_or(&[][..], Vec::as_slice);
        let outputs = sorted(facts.outputs.iter().cloned());
        let alike = self.by_outputs.get(&outputs).map_or(&[][..], Vec::as_slice);
        named.iter().rev().chain(alike.iter().rev())
    }

    /// Whether a task is up to date.
    pub fn judge<'c>(
        &self,
        facts: &TaskFacts,
        content: impl Fn(&str) -> Content<'c>,
        stores: &Stores,
    ) -> Answer {
        let mut perhaps = None;
        let mut why = None;
        for made in self.candidates(facts) {
            match self.differs(facts, made, &content, stores) {
                Ok(true) => return Answer::UpToDate(made.clone()),
                Ok(false) => perhaps = perhaps.or_else(|| Some(made.clone())),
                Err(found) => why = why.or(Some(found)),
            }
        }
        match (perhaps, why) {
            (Some(made), _) => Answer::Perhaps(made),
            (None, _) if self.failed.contains(&facts.name) => Answer::Redo(Why::Failed),
            (None, Some(why)) => Answer::Redo(why),
            (None, None) if self.attempts.contains_key(&facts.name) => Answer::Redo(Why::NotDone),
            (None, None) => Answer::Redo(Why::New),
        }
    }

    /// A file of a task that is up to date, where it is.
    pub fn found(&self, facts: &TaskFacts, name: &str, stores: &Stores) -> Option<Kept> {
        let same = |made: &&Arc<Made>| made.command == facts.command && made.env == facts.env;
        self.candidates(facts).filter(same).find_map(|made| {
            let file = made.outputs.iter().find(|file| file.name == name)?;
            let path = stores.path(&made.host, file)?;
            Some(Kept { path, file: file.clone() })
        })
    }

    /// The last result of each task, by its name.
    pub fn last(&self) -> impl Iterator<Item = &Made> {
        self.by_name.values().filter_map(|all| all.last()).map(Arc::as_ref)
    }

    /// The content of a file by the task that writes it, as it was done last.
    pub fn content(&self, task: &str, file: &str) -> Option<&str> {
        let made = self.by_name.get(task)?.last()?;
        let file = made.outputs.iter().find(|output| output.name == file)?;
        Some(&file.content)
    }

    /// In what a task differs from one that was done; whether nothing is left open, where it does not.
    fn differs<'c>(
        &self,
        facts: &TaskFacts,
        made: &Made,
        content: &impl Fn(&str) -> Content<'c>,
        stores: &Stores,
    ) -> Result<bool, Why> {
        if facts.command != made.command {
            return Err(Why::Command);
        }
        if facts.env != made.env {
            return Err(Why::Environment);
        }
        let was: HashMap<&str, &str> =
            made.inputs.iter().map(|(name, content)| (name.as_str(), content.as_str())).collect();
        let mut certain = true;
        for name in &facts.inputs {
            let Some(was) = was.get(name.as_str()) else {
                return Err(Why::InputAdded(name.clone()));
            };
            match content(name) {
                Content::Is(now) if now == *was => {}
                Content::Is(_) => return Err(Why::InputChanged(name.clone())),
                Content::Open => certain = false,
            }
        }
        if was.len() > facts.inputs.len() {
            let now: HashSet<&str> = facts.inputs.iter().map(String::as_str).collect();
            if let Some((gone, _)) = made.inputs.iter().find(|(n, _)| !now.contains(n.as_str())) {
                return Err(Why::InputRemoved(gone.clone()));
            }
        }
        for name in &facts.outputs {
            let Some(file) = made.outputs.iter().find(|file| file.name == *name) else {
                return Err(Why::OutputAdded(name.clone()));
            };
            if self.deleted.contains(name) {
                continue;
            }
            match stores.find(&made.host, file) {
                Found::At(_) => {}
                Found::Changed => return Err(Why::OutputChanged(name.clone())),
                Found::Missing => return Err(Why::OutputMissing(name.clone())),
            }
            if self.shown.contains(name) {
                match stores.shown(file) {
                    Shown::Right => {}
                    Shown::Changed => return Err(Why::OutputChanged(name.clone())),
                    Shown::Missing => return Err(Why::OutputMissing(name.clone())),
                }
            }
        }
        Ok(certain)
    }
}

/// A file of a task that is up to date.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// Its path in a store.
    pub path: PathBuf,
    /// The file as it was made.
    pub file: MadeFile,
}

/// Earlier results in the folder that a run may reuse.
#[derive(Clone, Debug, Default)]
pub struct Reuse {
    /// Results of earlier runs.
    pub history: History,
    /// Contents of the user's files, by name.
    pub given: BTreeMap<String, String>,
    /// Names of the files that are shown as results.
    pub results: Arc<BTreeSet<String>>,
    /// Tasks that are not done again where their inputs come out as they were.
    pub perhaps: BTreeSet<String>,
    /// Whether that holds of all tasks but those that are done again for a reason of their own.
    pub all: bool,
    /// Those tasks, and the reasons.
    pub redo: BTreeMap<String, String>,
    /// Whether the folder was used before.
    pub again: bool,
    /// Files of tasks that are up to date and that tasks of the run read.
    pub brought: BTreeMap<String, Kept>,
}

impl Reuse {
    /// Whether a task may be up to date when it is its turn.
    pub fn may_keep(&self, task: &str) -> bool {
        self.perhaps.contains(task) || (self.all && !self.redo.contains_key(task))
    }
}

/// An output in the stores.
enum Found {
    At(PathBuf),
    Changed,
    Missing,
}

/// An output in the folder of results.
enum Shown {
    Right,
    Changed,
    Missing,
}

/// The stores of a run, and its folder of results.
#[derive(Clone, Debug)]
pub struct Stores {
    root: PathBuf,
    hosts: Vec<PathBuf>,
    /// Names of the files that are shown in the folder of results.
    results: Arc<BTreeSet<String>>,
}

/// Whether a file at a path has the content of one that was made; none where there is no file.
fn is_content(path: &Path, file: &MadeFile) -> Option<bool> {
    let found = std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let stamp = Stamp::of(&found);
    if stamp.bytes != file.bytes {
        return Some(false);
    }
    if Some(stamp.modified) == file.modified || content_of(None, stamp) == file.content {
        return Some(true);
    }
    Some(checksum(path).is_ok_and(|found| found == file.content))
}

/// The same of a result, which may be a folder.
fn is_result(path: &Path, file: &MadeFile) -> Option<bool> {
    let is_folder = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    if !is_folder {
        return is_content(path, file);
    }
    let known = !file.content.contains('@');
    let same = |(bytes, found)| bytes == file.bytes && (!known || found == file.content);
    Some(packed_content(path).is_ok_and(same))
}

impl Stores {
    /// Those of a folder; `results` are the files that are shown as results.
    pub fn of(root: &Path, results: Arc<BTreeSet<String>>) -> Stores {
        let hosts = std::fs::read_dir(root.join("hosts")).into_iter().flatten().flatten();
        let mut hosts: Vec<PathBuf> = hosts.map(|entry| entry.path().join("files")).collect();
        hosts.sort_unstable();
        Stores { root: root.to_path_buf(), hosts, results }
    }

    /// A file that was made on a host, or a copy of it at another one.
    fn find(&self, host: &str, file: &MadeFile) -> Found {
        let own = self.root.join("hosts").join(component(host)).join("files").join(&file.name);
        let at_home = is_content(&own, file);
        if at_home == Some(true) {
            return Found::At(own);
        }
        let others = self.hosts.iter().map(|store| store.join(&file.name));
        let mut copies = others.filter(|path| *path != own);
        match copies.find(|path| is_content(path, file) == Some(true)) {
            Some(copy) if at_home.is_none() => Found::At(copy),
            _ if at_home.is_some() => Found::Changed,
            _ => Found::Missing,
        }
    }

    /// The path of a file that was made, where it is what it was.
    pub fn path(&self, host: &str, file: &MadeFile) -> Option<PathBuf> {
        match self.find(host, file) {
            Found::At(path) => Some(path),
            Found::Changed | Found::Missing => None,
        }
    }

    fn shown(&self, file: &MadeFile) -> Shown {
        if !self.results.contains(&file.name) {
            return Shown::Right;
        }
        match is_result(&self.root.join("results").join(&file.name), file) {
            Some(true) => Shown::Right,
            Some(false) => Shown::Changed,
            None => Shown::Missing,
        }
    }
}

/// Tasks of a workflow that have to run in a used folder, with the reasons.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agenda {
    /// Tasks that are done again, in the order of the workflow.
    pub redo: Vec<Redo>,
    /// Tasks that are done again if an input comes out otherwise than it was.
    pub perhaps: Vec<String>,
    /// Tasks that are up to date, and what was done of them.
    pub up_to_date: Vec<Arc<Made>>,
    /// Tasks that were not requested.
    pub left_out: Vec<String>,
}

impl Agenda {
    /// Compares a workflow without choices and loops with what was done. `given` are contents of the user's files,
    /// `forced` tasks that are done in any case, `wanted` those that count.
    pub fn of(
        workflow: &Workflow,
        history: &History,
        given: &BTreeMap<String, String>,
        stores: &Stores,
        forced: impl Fn(TaskId) -> bool,
        wanted: impl Fn(TaskId) -> bool,
    ) -> Agenda {
        let order = workflow.topological_order();
        let facts: Vec<TaskFacts> = workflow.tasks().map(|t| TaskFacts::of(workflow, t)).collect();
        let producer = |file| Some((workflow.file_name(file), workflow.producer(file)?));
        let producers: HashMap<&str, TaskId> = workflow.files().filter_map(producer).collect();
        let mut needed: BTreeMap<TaskId, Why> = BTreeMap::new();
        loop {
            let mut answers: Vec<Answer> = vec![Answer::Redo(Why::New); workflow.len()];
            let mut kept: Vec<Option<Arc<Made>>> = vec![None; workflow.len()];
            for &task in order {
                let content = |name: &str| -> Content<'_> {
                    if let Some(content) = given.get(name) {
                        return Content::Is(content);
                    }
                    let Some(producer) = producers.get(name) else { return Content::Open };
                    let made = kept[producer.index()].as_ref();
                    let file = made.and_then(|m| m.outputs.iter().find(|f| f.name == name));
                    file.map_or(Content::Open, |file| Content::Is(file.content.as_str()))
                };
                let answer = if forced(task) {
                    Answer::Redo(Why::Forced)
                } else if let Some(why) = needed.get(&task) {
                    Answer::Redo(why.clone())
                } else {
                    history.judge(&facts[task.index()], content, stores)
                };
                if let Answer::UpToDate(made) = &answer {
                    kept[task.index()] = Some(made.clone());
                }
                answers[task.index()] = answer;
            }
            // Files that were deleted are made again where some task may have to read them.
            let mut more = false;
            for &task in order.iter().rev().filter(|&&task| wanted(task)) {
                if matches!(answers[task.index()], Answer::UpToDate(_)) {
                    continue;
                }
                for file in workflow.inputs(task) {
                    let name = workflow.file_name(file);
                    if let Some(producer) = workflow.producer(file)
                        && history.is_deleted(name)
                        && !matches!(answers[producer.index()], Answer::Redo(_))
                    {
                        let by = workflow.task_name(task).to_string();
                        let why = Why::Needed(name.to_string(), by);
                        more |= needed.insert(producer, why).is_none();
                    }
                }
            }
            if more {
                continue;
            }
            let mut agenda = Agenda::default();
            for (task, answer) in workflow.tasks().zip(answers) {
                let name = || workflow.task_name(task).to_string();
                match answer {
                    Answer::UpToDate(made) => agenda.up_to_date.push(made),
                    _ if !wanted(task) => agenda.left_out.push(name()),
                    Answer::Perhaps(_) => agenda.perhaps.push(name()),
                    Answer::Redo(why) => {
                        agenda.redo.push(Redo { task: name(), why: why.to_string() });
                    }
                }
            }
            return agenda;
        }
    }

    /// Whether nothing has to be done.
    pub fn is_empty(&self) -> bool {
        self.redo.is_empty() && self.perhaps.is_empty()
    }
}

/// The course of a workflow with choices and loops, as far as what was done in its folder tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownCourse {
    /// What has to be done of it.
    pub agenda: Agenda,
    /// Outcomes of its decisions, by their names.
    pub outcomes: BTreeMap<String, String>,
    /// Whether decisions are to come.
    pub is_open: bool,
    /// Whether all of it is up to date, and its results are in the folder of results.
    pub is_whole: bool,
}

impl KnownCourse {
    /// Follows a workflow as long as the tasks that decide are up to date. `given` are contents of the user's files,
    /// `forced` tasks that are done in any case.
    pub fn of(
        template: &Arc<Workflow>,
        history: &History,
        given: &BTreeMap<String, String>,
        stores: &Stores,
        forced: impl Fn(TaskId) -> bool,
    ) -> Result<KnownCourse, UnfoldError> {
        let control = template.control().ok_or(UnfoldError::Plain)?.clone();
        let mut unfolding = Unfolding::new(template.clone())?;
        let (mut walk, _) = Walk::new(control.clone());
        let mut course = KnownCourse::default();
        let mut answers: Vec<Answer> = Vec::new();
        loop {
            let known = answers.len();
            if walk.instances().len() > known {
                let grown = unfolding.grow(&walk)?;
                judge(&grown, &mut answers, history, given, stores, &forced);
            }
            for (task, answer) in answers.iter().enumerate().skip(known) {
                if matches!(answer, Answer::UpToDate(_)) {
                    walk.end(task as u32);
                }
            }
            let taken = walk.due().into_iter().find_map(|due| {
                let Some(decision) = control.decision_of(&due) else { return Some((due, 0)) };
                let name = control.decider_of(&decision);
                let grown = unfolding.grow(&walk).ok();
                let by = grown.zip(name).and_then(|(w, name)| KeptDecider::of(&w, &answers, &name));
                let path = |_: &Ended, file: &str| {
                    by.as_ref().map_or_else(PathBuf::new, |by| by.path(file, stores))
                };
                let outcome =
                    read_outcome(&control, &decision, by.as_ref().map(|by| &by.ended), &path)
                        .outcome?;
                let number = control.outcome_named(&decision, &outcome).ok()?;
                course.outcomes.insert(decision.name, outcome);
                Some((due, number))
            });
            let Some((due, outcome)) = taken else { break };
            walk.take(&due, outcome);
        }
        let all_done = answers.iter().all(|answer| matches!(answer, Answer::UpToDate(_)));
        // What is to be decided after all that is known.
        (0..answers.len()).for_each(|task| walk.end(task as u32));
        course.is_open = !walk.due().is_empty() || !walk.is_over();
        if walk.instances().is_empty() {
            return Ok(course);
        }
        let grown = unfolding.grow(&walk)?;
        course.is_whole = all_done && !course.is_open && are_shown(&grown, &answers, stores);
        for (task, answer) in grown.tasks().zip(answers) {
            let name = || grown.task_name(task).to_string();
            match answer {
                Answer::UpToDate(made) => course.agenda.up_to_date.push(made),
                Answer::Perhaps(_) => course.agenda.perhaps.push(name()),
                Answer::Redo(why) => {
                    course.agenda.redo.push(Redo { task: name(), why: why.to_string() });
                }
            }
        }
        Ok(course)
    }
}

/// Judges the instances of a course that have not been judged yet.
fn judge(
    grown: &Workflow,
    answers: &mut Vec<Answer>,
    history: &History,
    given: &BTreeMap<String, String>,
    stores: &Stores,
    forced: &impl Fn(TaskId) -> bool,
) {
    let known = answers.len();
    answers.resize(grown.len(), Answer::Redo(Why::New));
    let producer = |file| Some((grown.file_name(file), grown.producer(file)?));
    let producers: HashMap<&str, TaskId> = grown.files().filter_map(producer).collect();
    for &task in grown.topological_order().iter().filter(|task| task.index() >= known) {
        let content = |name: &str| -> Content<'_> {
            if let Some(content) = given.get(name) {
                return Content::Is(content);
            }
            let Some(producer) = producers.get(name) else { return Content::Open };
            let Answer::UpToDate(made) = &answers[producer.index()] else { return Content::Open };
            let file = made.outputs.iter().find(|file| file.name == name);
            file.map_or(Content::Open, |file| Content::Is(file.content.as_str()))
        };
        let stated = grown.unfolded(task).map_or(task, |unfolded| unfolded.of);
        let answer = if forced(stated) {
            Answer::Redo(Why::Forced)
        } else {
            history.judge(&TaskFacts::of(grown, task), content, stores)
        };
        answers[task.index()] = answer;
    }
}

/// A task that decides something and is up to date.
struct KeptDecider {
    ended: Ended,
    made: Arc<Made>,
}

impl KeptDecider {
    /// The instance of a name; none where it is not up to date.
    fn of(grown: &Workflow, answers: &[Answer], name: &str) -> Option<KeptDecider> {
        let task = grown.find_task(name)?;
        let Answer::UpToDate(made) = answers.get(task.index())? else { return None };
        let writes = grown.unfolded(task).map_or(&[][..], |unfolded| &unfolded.writes);
        let output =
            |(file, local): &(FileId, String)| (local.clone(), grown.file_name(*file).to_string());
        let ended = Ended {
            name: name.to_string(),
            exit_code: made.exit,
            place: HostId(0), // outputs are found by what was made
            outputs: writes.iter().map(output).collect(),
        };
        Some(KeptDecider { ended, made: made.clone() })
    }

    /// The place of an output.
    fn path(&self, name: &str, stores: &Stores) -> PathBuf {
        let file = self.made.outputs.iter().find(|file| file.name == name);
        file.and_then(|file| stores.path(&self.made.host, file)).unwrap_or_default()
    }
}

/// Whether the results of a course are in the folder of results: of a file that passes of a loop write, the last one.
fn are_shown(grown: &Workflow, answers: &[Answer], stores: &Stores) -> bool {
    let mut files: Vec<FileId> =
        grown.files().filter(|file| grown.consumers(*file).len() == 0).collect();
    files.sort_by_key(|file| grown.producer(*file));
    let mut results: BTreeMap<&str, &MadeFile> = BTreeMap::new();
    for file in files {
        let name = grown.file_name(file);
        let Some(producer) = grown.producer(file).filter(|_| !name.is_empty()) else { continue };
        let Answer::UpToDate(made) = &answers[producer.index()] else { return false };
        let Some(made) = made.outputs.iter().find(|output| output.name == name) else {
            return false;
        };
        let writes = grown.unfolded(producer).map_or(&[][..], |unfolded| &unfolded.writes);
        let local = writes.iter().find(|(of, _)| *of == file).map_or(name, |(_, local)| local);
        results.insert(local, made);
    }
    let folder = stores.root.join("results");
    results.iter().all(|(name, file)| is_content(&folder.join(name), file) == Some(true))
}

/// Takes what is not up to date, or no result, from the folder of results, and puts results there that are up to date.
/// `withdraw` gets the names of files before any is taken away. Returns the names of those that were put there.
pub fn show_results<E: From<std::io::Error>>(
    folder: &RunFolder,
    results: &BTreeSet<String>,
    right: &BTreeMap<String, Kept>,
    withdraw: impl FnOnce(Vec<String>) -> Result<(), E>,
) -> Result<Vec<String>, E> {
    let root = folder.root().join("results");
    let mut doomed = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&inner)).into_iter().flatten().flatten() {
            let path = inner.join(entry.file_name());
            if path.to_str().is_some_and(|name| right.contains_key(name)) {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else {
                doomed.push(path);
            }
        }
    }
    doomed.sort_unstable();
    let mut names: BTreeSet<String> =
        results.iter().filter(|name| !right.contains_key(*name)).cloned().collect();
    names.extend(doomed.iter().filter_map(|path| path.to_str()).map(str::to_string));
    withdraw(names.into_iter().collect())?;
    for path in doomed {
        let _ = std::fs::remove_file(root.join(&path)); // it may be gone
        let mut inner = path.parent();
        while let Some(folder) = inner.filter(|folder| !folder.as_os_str().is_empty()) {
            if std::fs::remove_dir(root.join(folder)).is_err() {
                break;
            }
            inner = folder.parent();
        }
    }
    for (name, Kept { path, file }) in right {
        if is_result(&root.join(name), file) != Some(true) {
            show_result(folder, path, name)?;
        }
    }
    Ok(right.keys().cloned().collect())
}

/// Shows a file of a store in the folder of results.
pub fn show_result(folder: &RunFolder, path: &Path, name: &str) -> std::io::Result<()> {
    let to = folder.root().join("results").join(name);
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent)?;
    }
    if std::fs::symlink_metadata(&to).is_ok_and(|found| found.is_dir()) {
        std::fs::remove_dir_all(&to)?;
    }
    match std::fs::remove_file(&to) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if is_packed(path)? {
        return unpack(path, &to).map(drop);
    }
    std::fs::hard_link(path, &to)
}

/// Brings a file of a store to another one, where it is not there yet.
pub fn bring(Kept { path: from, file }: &Kept, to: &Path) -> std::io::Result<()> {
    if from == to || is_content(to, file) == Some(true) {
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match std::fs::remove_file(to) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if std::fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let mut part = to.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    std::fs::copy(from, &part)?;
    std::fs::rename(&part, to)
}
