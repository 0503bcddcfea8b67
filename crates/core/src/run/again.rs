//! Runs in a folder that was used before: what is up to date is kept, and what is not is done again, for a reason
//! that the user is told. Which is which is decided by [`up_to_date`]; here are the files that it is asked about.

use super::report::{RedoneTask, RehearsalReport, UpToDateReport};
use super::run_session::RunSession;
use super::{LogStart, OpenRun, RunInput, folder_of, given_files, settings};
use crate::context::Context;
use crate::estimates;
use crate::failure::Failure;
use crate::request::Pairs;
use crate::simulation::{Ran, SimulationReport};
use slackline_engine::{Inputs, Record};
use slackline_formats::platform_toml;
use slackline_machines::attempt::{
    Process, Stamp, boot, checksum_of_bytes, end_orphans, is_there, stamped_checksum,
};
use slackline_machines::folder::{
    self, Definition, Estimates, Header, Note, Recovered, RunFolder, RunLog,
};
use slackline_machines::up_to_date::{
    self, Agenda, History, Kept, KnownCourse, Redo, Reuse, Stores, TaskFacts, show_results,
};
use slackline_model::names::printable;
use slackline_model::nearest::did_you_mean;
use slackline_model::{HostId, Platform, Problem, TaskId, Workflow};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Seconds by which a file has to be older than a checksum of it, for its time of modification to tell whether it was
/// changed since: clocks of file systems are coarse.
const SURELY_OLDER: f64 = 2.0;

/// Result of a request for a run.
pub enum Start {
    /// A run that can be driven.
    Run(Box<OpenRun>),
    /// There is nothing to do.
    UpToDate(UpToDateReport),
}

/// Result of a request for a rehearsal.
pub enum Rehearsal {
    /// A run that can be rehearsed.
    Run(Box<RunSession>),
    /// There is nothing to do.
    UpToDate(UpToDateReport),
}

/// The workflow of the tasks that are run, where these are not all.
pub(super) fn part(header: &Header, whole: &Workflow) -> Result<Option<Workflow>, Failure> {
    let Some(part) = header.part.as_ref().filter(|_| whole.control().is_none()) else {
        return Ok(None);
    };
    let names: BTreeSet<&str> = tasks_of(part).collect();
    if names.is_empty() || names.len() == whole.len() {
        return Ok(None);
    }
    let kept = whole.part(|task| names.contains(whole.task_name(task)));
    Ok(Some(kept.map_err(Failure::input)?))
}

/// The tasks that a run consists of.
fn tasks_of(part: &Definition) -> impl Iterator<Item = &str> {
    part.redo.iter().map(|redo| redo.task.as_str()).chain(part.perhaps.iter().map(String::as_str))
}

/// Names of the files that are shown in the folder of results; of choices and loops that is known in the end.
pub(super) fn results(whole: &Workflow) -> BTreeSet<String> {
    if whole.control().is_some() {
        return BTreeSet::new();
    }
    let names = whole.files().filter(|file| whole.is_result(*file));
    let names = names.map(|file| whole.file_name(file)).filter(|name| !name.is_empty());
    names.map(str::to_string).collect()
}

/// Earlier results in its folder that a run may reuse. Where the run begins, outdated files leave the
/// folder of results.
pub(super) fn reuse(
    session: &RunSession,
    platform: &Platform,
    folder: &RunFolder,
    begins: bool,
    log: &RunLog,
) -> Result<Reuse, Failure> {
    let (header, whole) = (&session.header, &session.whole);
    let history = folder::history(&folder.log()).map_err(Failure::work)?;
    let results = Arc::new(results(whole));
    let given = header.input_digests.clone();
    let mut reuse = Reuse { history, given, results, ..Reuse::default() };
    let Some(part) = &header.part else { return Ok(reuse) };
    reuse.again = true;
    reuse.perhaps = part.perhaps.iter().cloned().collect();
    let pair = |redo: &Redo| (redo.task.clone(), redo.why.clone());
    reuse.redo = part.redo.iter().map(pair).collect();
    reuse.all = session.is_undecided();
    let mut right = BTreeMap::new();
    if !session.is_undecided() {
        right = bring_what_is_up_to_date(session, part, platform, folder, begins, &mut reuse)?;
    }
    if begins {
        // Copies of the user's files may be of what they were.
        for host in platform.hosts() {
            let store = folder.store(&host.name);
            for (_, name) in given_files(whole) {
                let _ = std::fs::remove_file(store.join(name)); // it is seldom there
            }
        }
        let history = &mut reuse.history;
        let mut keep = |note: Note| {
            history.hear(&note);
            let kept = log.append(0.0, &Record::Note(note)).and_then(|()| log.settle());
            kept.map_err(|why| Failure::work(format!("the log of the run cannot be kept: {why}")))
        };
        let shown = show_results(folder, &reuse.results, &right, |names| {
            if names.is_empty() { Ok(()) } else { keep(Note::Withdrawn(names)) }
        })?;
        if !shown.is_empty() {
            keep(Note::Shown(shown))?;
        }
    }
    Ok(reuse)
}

/// Brings files of tasks that are up to date to where tasks of the run expect them, and returns the results among them.
fn bring_what_is_up_to_date(
    session: &RunSession,
    part: &Definition,
    platform: &Platform,
    folder: &RunFolder,
    begins: bool,
    reuse: &mut Reuse,
) -> Result<BTreeMap<String, Kept>, Failure> {
    let whole = &session.whole;
    let stores = Stores::of(folder.root(), reuse.results.clone());
    let run: BTreeSet<&str> = tasks_of(part).collect();
    let left_out: BTreeSet<&str> = part.left_out.iter().map(String::as_str).collect();
    let places: BTreeSet<HostId> = match session.inputs() {
        Inputs::Everywhere => platform.host_ids().map(|h| platform.place_of(h)).collect(),
        Inputs::At(origin) => [platform.place_of(origin)].into(),
    };
    let mut right = BTreeMap::new();
    let mut facts: Option<(TaskId, TaskFacts)> = None;
    for task in whole.tasks() {
        let name = whole.task_name(task);
        if run.contains(name) || left_out.contains(name) {
            continue;
        }
        for file in whole.outputs(task) {
            let name = whole.file_name(file);
            let is_read = whole.consumers(file).any(|reader| run.contains(whole.task_name(reader)));
            let is_result = reuse.results.contains(name);
            if name.is_empty() || !(is_read || is_result) {
                continue;
            }
            if facts.as_ref().is_none_or(|(of, _)| *of != task) {
                facts = Some((task, TaskFacts::of(whole, task)));
            }
            let Some((_, facts)) = &facts else { continue };
            let Some(kept) = reuse.history.found(facts, name, &stores) else {
                if is_read {
                    let message = format!("file '{}' is gone from the run folder", printable(name));
                    return Err(Failure::work(message)
                        .with_help("slackline run makes again what is missing"));
                }
                continue;
            };
            if is_read {
                for place in &places {
                    let host = &platform.host(*place).name;
                    if begins || folder.host(host).is_dir() {
                        up_to_date::bring(&kept, &folder.store(host).join(name))?;
                    }
                }
                reuse.brought.insert(name.to_string(), kept.clone());
            }
            if is_result {
                right.insert(name.to_string(), kept);
            }
        }
    }
    Ok(right)
}

/// The end of the last run in a folder, as its log has it.
struct LastRun {
    /// Whether all tasks were done, where it is over.
    finished: Option<bool>,
    /// Whether the engine ended it: nothing of it is under way.
    is_closed: bool,
    /// Processes that its last engine had started, with the names of their tasks.
    left: Vec<(String, Process)>,
}

impl LastRun {
    fn of(records: &[(f64, Record)]) -> LastRun {
        let mut last = LastRun { finished: None, is_closed: true, left: Vec::new() };
        for (_, record) in records {
            let Record::Note(note) = record else { continue };
            match note {
                Note::Driven { boot: then, .. } => {
                    last.is_closed = false;
                    last.left.clear();
                    if *then != boot() {
                        last.is_closed = true;
                    }
                }
                Note::Process { name, process, .. } => last.left.push((name.clone(), *process)),
                Note::Stopped => last.is_closed = true,
                Note::Over { finished, .. } => {
                    last.is_closed = true;
                    last.finished = Some(*finished);
                }
                _ => {}
            }
        }
        if last.is_closed {
            last.left.clear();
        }
        last.left.retain(|(_, process)| is_there(*process));
        last
    }
}

/// Most records that are lived through when a run continues: a quarter of a second, or half of one in a build for tests.
const MOST_PLAYED: usize = 10_000;

/// The task of a name, or all tasks that a definition with `foreach` of this name stands for.
fn tasks_named(workflow: &Workflow, name: &str) -> Vec<TaskId> {
    if let Some(task) = workflow.find_task(name) {
        return vec![task];
    }
    let is_instance = |task: &TaskId| {
        let rest = workflow.task_name(*task).strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    workflow.tasks().filter(is_instance).collect()
}

/// Inputs that changed or were added, in words; many of them as a number.
fn changed_inputs(then: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let (known, added): (Vec<_>, Vec<_>) = now
        .iter()
        .filter(|(name, now)| then.get(*name) != Some(*now))
        .partition(|(name, _)| then.contains_key(*name));
    let mut told = Vec::new();
    for (inputs, how) in [(known, "changed"), (added, "added")] {
        let named = if inputs.len() > NAMED + 1 { NAMED } else { inputs.len() };
        told.extend(inputs[..named].iter().map(|(name, _)| format!("input {name} {how}")));
        if inputs.len() > named {
            told.push(format!("{} more inputs {how}", inputs.len() - named));
        }
    }
    told
}

/// Inputs of one sort that are named.
const NAMED: usize = 5;

/// The change of a definition that only stands for what was done before.
const LONG: &str =
    "the log is long: what is done is kept as it is there, and the rest is planned again";

/// Whether a run that is not over has so long a log that it continues without being lived through: an engine that is
/// killed again and again shall make headway. On a cluster jobs of the run may go on, which the log alone tells.
pub(super) fn is_long(recovered: &Recovered) -> Result<bool, Failure> {
    if recovered.records.len() <= MOST_PLAYED || ending(&recovered.records).is_some() {
        return Ok(false);
    }
    let (request, _) = settings::of_header(&recovered.header)?;
    Ok(request.execution.slurm.is_none() && request.force.is_empty())
}

/// What is left to do in a folder.
#[derive(Default)]
struct Rest {
    agenda: Agenda,
    /// Outcomes of decisions that are known.
    outcomes: BTreeMap<String, String>,
    /// Whether decisions are to come.
    is_open: bool,
    /// Whether there is nothing to do.
    is_empty: bool,
}

impl Rest {
    fn definition(self, changes: Vec<String>) -> Definition {
        let Rest {
            agenda: Agenda { redo, perhaps, up_to_date, left_out }, outcomes, is_open, ..
        } = self;
        let up_to_date = up_to_date.len();
        Definition { redo, perhaps, up_to_date, left_out, changes, outcomes, is_open }
    }
}

/// The task of a workflow that a process of a run belongs to: names of instances begin with the passes around them.
fn stated(workflow: &Workflow, name: &str) -> Option<TaskId> {
    let mut name = name;
    while let Some((pass, inner)) = name.split_once('/')
        && let Some((block, number)) = pass.rsplit_once('#')
        && number.parse::<u64>().is_ok()
        && let Some(control) = workflow.control()
        && control.loops().iter().any(|spec| spec.name == block)
    {
        name = inner;
    }
    let plain = || workflow.find_task(name.split('#').next()?);
    workflow.find_task(name).or_else(plain)
}

/// Settings that say how a request is carried out, not what comes of it.
fn lasting(settings: &serde_json::Map<String, serde_json::Value>) -> serde_json::Value {
    let mut settings = settings.clone();
    for name in ["folder", "dry_run", "new", "force", "input"] {
        settings.remove(name);
    }
    settings.into()
}

/// Contents and states of the user's files.
type Given = (BTreeMap<String, String>, BTreeMap<String, Stamp>);

impl RunInput {
    /// The run as it is rehearsed in the simulator.
    pub fn rehearsal(self, context: &mut Context<'_>) -> Result<Rehearsal, Failure> {
        let path = folder_of(&self.request);
        let (forced, wanted) = self.selection()?;
        self.check_results(&path)?;
        let mut header = self.header("")?;
        let is_used = !self.request.new && folder::log_of(&path).is_file();
        if is_used || self.is_limited() {
            let (mut history, mut last) = (History::default(), None);
            if is_used {
                history = folder::history(&folder::log_of(&path)).map_err(Failure::input)?;
                last = Some(folder::read(&path).map_err(Failure::input)?.header);
            }
            let (digests, _) = self.given(last.as_ref())?;
            let rest = self.rest(&path, &history, &digests, &forced, &wanted)?;
            if rest.is_empty {
                let up_to_date = rest.agenda.up_to_date.len();
                return Ok(Rehearsal::UpToDate(up_to_date_report(&path, up_to_date)));
            }
            header.estimates = self.estimates_of(&history);
            header.part = Some(rest.definition(Vec::new()));
        } else {
            header.estimates = self.estimates_beside(context);
        }
        self.warn_of_memory(header.estimates.as_ref(), context);
        if header.estimates.is_none() && self.request.input.platform.is_none() {
            context.note(estimates::RELATIVE);
        }
        Ok(Rehearsal::Run(Box::new(self.session_of(header)?)))
    }

    /// Makes the folder of the run, or takes the one that there is.
    pub fn begin(self, context: &mut Context<'_>) -> Result<Start, Failure> {
        self.selection()?;
        let path = folder_of(&self.request);
        self.check_results(&path)?;
        if !self.request.new && folder::log_of(&path).is_file() {
            let held = RunFolder::open(&path)?;
            let recovered = super::recovered(&held, false, context)?;
            self.refuse_another(&recovered.header, &path)?;
            return self.begin_again(path, held, recovered, false, context);
        }
        self.begin_new(&path, context).map(|open| Start::Run(Box::new(open)))
    }

    /// Figures of the runs of the workflow in its usual folder, which is said.
    pub(super) fn estimates_beside(&self, context: &mut Context<'_>) -> Option<Estimates> {
        let workflow = &self.request.input.workflows[0];
        if self.request.input.no_history {
            return None;
        }
        estimates::beside(workflow, &self.document.workflow, context)
    }

    /// Warns of what these say about memory.
    pub(super) fn warn_of_memory(&self, found: Option<&Estimates>, context: &mut Context<'_>) {
        if let Some(found) = found {
            let of = (&self.document.workflow, &self.platform);
            estimates::warn_of_memory(found, of, context);
        }
    }

    /// Those of a folder.
    fn estimates_of(&self, history: &History) -> Option<Estimates> {
        let history = Some(history).filter(|_| !self.request.input.no_history)?;
        estimates::of(history, &self.document.workflow)
    }

    /// Whether not all of the workflow is wanted.
    pub(super) fn is_limited(&self) -> bool {
        !self.request.only.is_empty()
    }

    /// The part of a workflow that is run in a new folder; none where that is all of it.
    pub(super) fn first_part(
        &self,
        path: &Path,
        given: &Given,
    ) -> Result<Option<Definition>, Failure> {
        if !self.is_limited() {
            return Ok(None);
        }
        let (forced, wanted) = self.selection()?;
        let rest = self.rest(path, &History::default(), &given.0, &forced, &wanted)?;
        Ok(Some(rest.definition(Vec::new())))
    }

    /// Tasks that are done in any case, and tasks that count.
    fn selection(&self) -> Result<(Vec<bool>, Vec<bool>), Failure> {
        let workflow = &self.document.workflow;
        let mut forced = vec![false; workflow.len()];
        let task_names = || workflow.tasks().map(|task| workflow.task_name(task));
        let unknown = |option: &str, name: &str, hint: String| {
            let name = printable(name);
            Failure::input(format!("{option} {name}: the workflow has no such task{hint}"))
        };
        for name in &self.request.force {
            let named = tasks_named(workflow, name);
            if named.is_empty() {
                return Err(unknown("--force", name, did_you_mean(name, task_names())));
            }
            named.into_iter().for_each(|task| forced[task.index()] = true);
        }
        if self.request.only.is_empty() {
            return Ok((forced, vec![true; workflow.len()]));
        }
        if workflow.control().is_some() {
            return Err(Failure::input(
                "--only: a workflow with choices or loops is run as a whole",
            ));
        }
        let mut wanted = vec![false; workflow.len()];
        let mut open = Vec::new();
        for name in &self.request.only {
            let named = tasks_named(workflow, name);
            let written = || {
                let mut files = workflow.files();
                let file = files.find(|file| workflow.file_name(*file) == name)?;
                workflow.producer(file)
            };
            let named = if named.is_empty() { written().into_iter().collect() } else { named };
            if named.is_empty() {
                let hint = did_you_mean(name, task_names());
                return Err(unknown("--only", name, format!(", nor one that writes it{hint}")));
            }
            open.extend(named);
        }
        while let Some(task) = open.pop() {
            if !std::mem::replace(&mut wanted[task.index()], true) {
                open.extend(workflow.predecessors(task).map(|(before, _)| before));
            }
        }
        Ok((forced, wanted))
    }

    /// Checksums of the user's files. One whose size and time are those of the last run is not read again.
    pub(super) fn given(&self, last: Option<&Header>) -> Result<Given, Failure> {
        let (mut digests, mut stamps) = (BTreeMap::new(), BTreeMap::new());
        for (task, name) in given_files(&self.document.workflow) {
            let path = self.home.join(name);
            let known = last.and_then(|last| {
                let stamp = *last.input_stamps.get(name)?;
                let found = Stamp::of(&std::fs::metadata(&path).ok()?);
                let modified = stamp.modified.0 as f64;
                let same = found == stamp && modified + SURELY_OLDER < last.began;
                Some((stamp, last.input_digests.get(name).filter(|_| same)?.clone()))
            });
            let (stamp, digest) = match known {
                Some(known) => known,
                None => stamped_checksum(&path).map_err(|e| {
                    Failure::input(format!("task '{task}', input {}: {e}", path.display()))
                })?,
            };
            stamps.insert(name.to_string(), stamp);
            digests.insert(name.to_string(), digest);
        }
        Ok((digests, stamps))
    }

    /// What has to be done in a folder.
    fn rest(
        &self,
        root: &Path,
        history: &History,
        given: &BTreeMap<String, String>,
        forced: &[bool],
        wanted: &[bool],
    ) -> Result<Rest, Failure> {
        let workflow = &self.document.workflow;
        let stores = Stores::of(root, Arc::new(results(workflow)));
        let (is_forced, is_wanted) = (|t: TaskId| forced[t.index()], |t: TaskId| wanted[t.index()]);
        if workflow.control().is_some() {
            let template = Arc::new(workflow.clone());
            let known = KnownCourse::of(&template, history, given, &stores, is_forced);
            let KnownCourse { mut agenda, outcomes, is_open, is_whole } =
                known.map_err(Failure::input)?;
            // Forced tasks behind decisions that are to come.
            for task in workflow.tasks().filter(|task| is_forced(*task)) {
                let (task, why) = (workflow.task_name(task), up_to_date::Why::Forced.to_string());
                if !agenda.redo.iter().any(|redo| redo.task == task) {
                    agenda.redo.push(Redo { task: task.to_string(), why });
                }
            }
            let is_empty = is_whole && agenda.is_empty();
            return Ok(Rest { agenda, outcomes, is_open, is_empty });
        }
        let agenda = Agenda::of(workflow, history, given, &stores, is_forced, is_wanted);
        let is_empty = agenda.is_empty();
        Ok(Rest { agenda, is_empty, ..Rest::default() })
    }

    /// Fails where a folder is that of another workflow.
    fn refuse_another(&self, last: &Header, path: &Path) -> Result<(), Failure> {
        let (Some(then), Some(now)) = (&last.source, self.source()) else { return Ok(()) };
        if *then == now || then.file_name() == now.file_name() || !then.exists() {
            return Ok(());
        }
        let message = format!("{}: this is a run of {}", path.display(), then.display());
        Err(Failure::input(message).with_help("--folder names another folder, --new makes one"))
    }

    /// The file of the workflow, where it is one.
    pub(super) fn source(&self) -> Option<PathBuf> {
        let workflow = &self.request.input.workflows[0];
        workflow.canonicalize().ok().filter(|path| path.is_file())
    }

    /// Differences between the last run in a folder and this one, in words.
    fn changes(&self, last: &Header, texts: &[(&'static str, &str, String); 2]) -> Vec<String> {
        let mut changes = Vec::new();
        for (what, copy, text) in texts {
            let now = checksum_of_bytes(text.as_bytes());
            if last.digests.get(*copy).is_none_or(|then| *then != now) {
                changes.push(format!("{what} changed"));
            }
        }
        let now = settings::to_map(&self.request);
        if now.is_ok_and(|now| lasting(&now) != lasting(&last.settings)) {
            changes.push("settings changed".to_string());
        }
        changes
    }

    /// Continues in a folder, under this definition.
    pub(super) fn begin_again(
        self,
        path: PathBuf,
        held: RunFolder,
        recovered: Recovered,
        retry: bool,
        context: &mut Context<'_>,
    ) -> Result<Start, Failure> {
        let (forced, wanted) = self.selection()?;
        let last = &recovered.header;
        let files = &context.files;
        let texts = [
            ("workflow", last.workflow.as_str(), self.workflow_text(files)?),
            ("platform", last.platform.as_str(), platform_toml::to_string(&self.platform)?),
        ];
        let mut changes = self.changes(last, &texts);
        let is_edited = changes.iter().any(|change| change.starts_with("workflow"));
        let given = self.given(Some(last))?;
        changes.extend(changed_inputs(&last.input_digests, &given.0));
        let state = LastRun::of(&recovered.records);
        let forces = !self.request.force.is_empty() || retry;
        let same_version = last.version == env!("CARGO_PKG_VERSION");
        let history = folder::history(&held.log()).map_err(Failure::work)?;
        let rest = self.rest(held.root(), &history, &given.0, &forced, &wanted)?;
        // What the run that was left counts on may be gone; courses of decisions follow from the log.
        let has_decisions = self.document.workflow.control().is_some();
        let is_whole = has_decisions
            || last.part.as_ref().is_none_or(|part| {
                let run: BTreeSet<&str> =
                    tasks_of(part).chain(part.left_out.iter().map(String::as_str)).collect();
                rest.agenda.redo.iter().all(|redo| run.contains(redo.task.as_str()))
            });
        let is_same = changes.is_empty() && !forces && same_version && is_whole;
        let workflow = &self.document.workflow;
        let is_cut_short = is_long(&recovered)? && workflow.control().is_none();
        if state.finished.is_none() && is_same {
            if !is_cut_short {
                return super::resumed(path, held, recovered, context);
            }
            changes.push(LONG.to_string());
        }
        if let Some((task, process)) =
            state.left.iter().find(|(task, _)| stated(workflow, task).is_none())
        {
            let message = format!(
                "{}: task '{}' of the run in {} still runs (process {}), and the workflow has no such task any more",
                self.request.input.workflows[0].display(),
                printable(task),
                path.display(),
                process.pid
            );
            return Err(
                Failure::input(message).with_help("put the task back, or end the process first")
            );
        }
        if self.request.execution.slurm.is_some() && !state.is_closed {
            let message = format!(
                "{}: pilots of the last run may still work, and the definition changed",
                path.display()
            );
            return Err(Failure::input(message).with_help(format!(
                "slackline resume {} with the old definition, and stop it with Ctrl-C",
                path.display()
            )));
        }
        let is_empty = rest.is_empty;
        let up_to_date = rest.agenda.up_to_date.len();
        if is_empty && (self.is_limited() || (state.finished == Some(true) && !is_edited)) {
            self.publish(held.root(), last, &context.files)?;
            return Ok(Start::UpToDate(up_to_date_report(&path, up_to_date)));
        }
        self.check_machines(context)?;
        if !state.is_closed {
            let left: Vec<Process> = state.left.iter().map(|(_, process)| *process).collect();
            end_orphans(&last.id, &[], &left);
        }
        let mut header = self.header("")?;
        header.id.clone_from(&last.id);
        if header.source.as_ref().is_none_or(|source| source.starts_with(held.root())) {
            header.source.clone_from(&last.source);
        }
        header.estimates = self.estimates_of(&history);
        self.warn_of_memory(header.estimates.as_ref(), context);
        if let Some(estimates) = header.estimates.as_mut().filter(|_| is_cut_short) {
            // Those of tasks that are done would only make the log longer.
            let left: BTreeSet<&str> =
                rest.agenda.redo.iter().map(|redo| redo.task.as_str()).collect();
            estimates.tasks.retain(|task, _| left.contains(task.as_str()));
        }
        header.part = Some(rest.definition(changes));
        (header.input_digests, header.input_stamps) = given;
        let number = recovered.skipped + recovered.earlier.len() + 2;
        let end = self.format.extensions().first().copied().unwrap_or("txt");
        let names = [format!("workflow-{number}.{end}"), format!("platform-{number}.toml")];
        let mut copies = Vec::new();
        for ((_, copy, text), new) in texts.iter().zip(names) {
            let digest = checksum_of_bytes(text.as_bytes());
            let name = if last.digests.get(*copy) == Some(&digest) {
                (*copy).to_string()
            } else {
                context
                    .files
                    .write(&held.root().join(&new), |out| out.write_all(text.as_bytes()))?;
                new
            };
            header.digests.insert(name.clone(), digest);
            copies.push(name);
        }
        header.platform = copies.pop().unwrap_or_default();
        header.workflow = copies.pop().unwrap_or_default();
        let stamps = header.input_stamps.clone();
        let session = RunSession::open(held.root(), header, context)?.with_stamps(stamps);
        if is_empty && workflow.control().is_none() {
            return finish_at_once(&path, &session, &held, &recovered, true, context);
        }
        let log = LogStart::Define(Box::new(recovered), Box::new(history));
        let open = OpenRun { session, path, folder: held, log, records: Vec::new() };
        Ok(Start::Run(Box::new(open)))
    }
}

/// Whether a run consists of no task at all: everything was up to date when it began.
pub(super) fn is_empty(header: &Header, whole: &Workflow) -> bool {
    let none = |part: &Definition| tasks_of(part).next().is_none();
    header.part.as_ref().is_some_and(none) && whole.control().is_none()
}

/// Brings a run to its end that needs nothing to be done; `adopts` where its definition is not in the log yet.
pub(super) fn finish_at_once(
    path: &Path,
    session: &RunSession,
    held: &RunFolder,
    recovered: &Recovered,
    adopts: bool,
    context: &Context<'_>,
) -> Result<Start, Failure> {
    let broken = |why| Failure::work(format!("the log of the run cannot be kept: {why}"));
    if adopts || ending(&recovered.records).is_none() {
        let log = RunLog::resume(&held.log(), recovered).map_err(broken)?;
        if adopts {
            log.define(&session.header).map_err(broken)?;
        }
        reuse(session, &session.loaded.platform, held, true, &log)?;
        let over = Note::Over { finished: true, makespan: 0.0 };
        log.append(0.0, &Record::Note(over)).and_then(|()| log.settle()).map_err(broken)?;
    }
    session.publish(context, held.root())?;
    let up_to_date = session.header.part.as_ref().map_or(0, |part| part.up_to_date);
    Ok(Start::UpToDate(up_to_date_report(path, up_to_date)))
}

fn up_to_date_report(path: &Path, up_to_date: usize) -> UpToDateReport {
    UpToDateReport {
        schema: "slackline/up-to-date/1",
        finished: true,
        folder: path.display().to_string(),
        attempts: 0,
        redo: Vec::new(),
        up_to_date,
    }
}

impl RehearsalReport {
    /// The report of a rehearsal, with a lower bound of its makespan.
    pub fn new(
        session: &RunSession,
        problem: &Problem<'_>,
        ran: &Ran,
        bound: f64,
    ) -> RehearsalReport {
        let run = SimulationReport::new(problem, ran, bound);
        let whole = &session.whole;
        match &session.header.part {
            Some(part) => RehearsalReport {
                run,
                redo: part.redo.iter().map(RedoneTask::from).collect(),
                if_inputs_change: part.perhaps.clone(),
                perhaps: part.perhaps.clone(),
                up_to_date: part.up_to_date,
            },
            None => {
                let new = |task| RedoneTask {
                    task: whole.task_name(task).to_string(),
                    why: up_to_date::Why::New.to_string(),
                };
                let redo = whole.tasks().map(new).collect();
                let (if_inputs_change, perhaps) = (Vec::new(), Vec::new());
                RehearsalReport { run, redo, if_inputs_change, perhaps, up_to_date: 0 }
            }
        }
    }
}

/// Continues in a folder whose run is over and not all of whose tasks are done, or whose workflow was edited.
pub(super) fn adopted(
    path: &Path,
    held: RunFolder,
    recovered: Recovered,
    retry: bool,
    context: &mut Context<'_>,
) -> Result<Start, Failure> {
    let header = &recovered.header;
    let (mut request, _) = settings::of_header(header)?;
    let copy = held.root().join(&header.workflow);
    let source = header.source.clone().filter(|source| source.is_file());
    if source.is_none() {
        request.input.params = Pairs::default(); // the copy has none any more
    }
    request.input.workflows = vec![source.clone().unwrap_or_else(|| copy.clone())];
    request.input.platform = Some(held.root().join(&header.platform));
    request.folder = Some(path.to_path_buf());
    request.force = Vec::new();
    let home = header.inputs.clone();
    let input = match request.clone().read_at(Some(home.clone()), context) {
        // The copy needs no sheets of samples.
        Err(_)
            if source.is_some()
                && (!is_edited(header) || ending(&recovered.records) == Some(true)) =>
        {
            request.input.workflows = vec![copy];
            request.input.params = Pairs::default();
            request.read_at(Some(home), context)?
        }
        read => read?,
    };
    input.begin_again(path.to_path_buf(), held, recovered, retry, context)
}

/// Whether the file that a run's workflow was copied from may be another one now.
pub(super) fn is_edited(header: &Header) -> bool {
    let Some(source) = &header.source else { return false };
    let Ok(text) = std::fs::read(source) else { return false };
    header.digests.get(&header.workflow).is_some_and(|then| *then != checksum_of_bytes(&text))
}

/// Whether a run is over, and whether all of its tasks are done then.
pub(super) fn ending(records: &[(f64, Record)]) -> Option<bool> {
    LastRun::of(records).finished
}
