//! A run as its folder describes it: the same for one that begins, one that is resumed and one that is repeated.

use super::settings::{self, Transfers, command_path};
use super::{LogStart, Repetition, again, given_files};
use crate::choices::outcomes;
use crate::context::{Context, RunView};
use crate::details_json::check_needs;
use crate::estimates;
use crate::failure::{Failure, no_plan};
use crate::input::{self, Loaded};
use crate::methods::{check_parameters, check_results, planner, policies_of, settle_period};
use crate::plan_check;
use crate::request::{ExecutionSettings, InputPlace, KeptFiles, ModelSettings, RunRequest};
use crate::simulation::{MOST_ORDERS, Ran, same_order};
use slackline_analysis::calibration::first_estimates;
use slackline_analysis::cost::Money;
use slackline_analysis::metrics::Metrics;
use slackline_analysis::plan_check::{CheckSetup, lower_bound};
use slackline_engine::{
    Backend, BackendError, DecidedCourse, Ending, Execution, Inputs, Oracle, Outcome, Record,
    RecordError, RunSnapshot, Settings as Rules, Stage, Undecided,
};
use slackline_formats::{Format, trace};
use slackline_machines::attempt::{
    Enforce, STDERR, Stamp, adopt_orphans, boot, checksum, raise_open_files, stamped_checksum,
};
use slackline_machines::decide::{DecisionSource, LoggedOracle};
use slackline_machines::folder::{
    self, Failure as Failed, Header, Note, Recovered, RunFolder, RunLog, component as folder_name,
};
use slackline_machines::journaled_run::{self, Repeated, SessionError};
use slackline_machines::local::Local;
use slackline_machines::machine_backend::{
    EventSender, Executor, MachineBackend, MachineOptions, RecoveredState,
};
use slackline_machines::slurm::{Slurm, SlurmOptions};
use slackline_machines::surroundings;
use slackline_machines::up_to_date::{Redo, show_result};
use slackline_model::control::{Chances, Decision, draw_course};
use slackline_model::platform::Charges;
use slackline_model::{FileId, Problem, Schedule, TaskId, Terms, Workflow};
use slackline_react::registry::Options;
use slackline_react::{Policy, WorkStealing};
use slackline_schedule::{Planner, Request};
use slackline_simulate::Models;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A run with all it was started with.
pub struct RunSession {
    /// The first line of the log.
    pub header: Header,
    /// The request.
    pub request: RunRequest,
    /// Workflow and platform; of a workflow with choices and loops its tasks.
    pub loaded: Loaded,
    /// The workflow with its choices and loops, where it has any.
    undecided: Option<Arc<Workflow>>,
    /// The whole workflow, where only a part of it is run; else that which is run.
    pub whole: Arc<Workflow>,
    format: Format,
    inputs: Inputs,
    /// The rules that transfers are predicted by.
    models: Models,
    transfers: Transfers,
    /// State of the user's files that the run reads, where their checksums have been compared.
    stamps: Option<BTreeMap<String, Stamp>>,
}

/// A policy and what its first plan promises.
struct Chosen {
    policy: Box<dyn Policy>,
    planned: Schedule,
}

/// A run that came to an outcome.
pub struct FinishedRun {
    /// The run.
    pub ran: Ran,
    /// Attempts made.
    pub attempts: usize,
    /// Those that failed.
    pub failures: Vec<Failed>,
    /// Tasks that were begun in a folder that was used before, and the reasons; none where the folder was new.
    pub redo: Vec<Redo>,
    /// Number of tasks that were up to date.
    pub up_to_date: usize,
    /// The folder of the run.
    pub folder: Arc<RunFolder>,
}

pub(super) fn seconds_since_1970() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64())
}

/// Returns the path of a copy that a log names; it has to be a regular file in the folder itself.
fn copy(root: &Path, name: &str) -> Result<PathBuf, Failure> {
    let path = root.join(name);
    if Path::new(name).file_name() == Some(OsStr::new(name)) && path.is_file() {
        Ok(path)
    } else {
        Err(Failure::input(format!("{}: no file {name:?} in it", root.display())))
    }
}

/// Returns the memory enforcement that `auto` selects on this machine, else the requested one.
pub(super) fn settled(settings: &ExecutionSettings) -> Result<Enforce, Failure> {
    settings.enforce.settled().map_err(|why| {
        Failure::input(format!("--enforce cgroup: {why}"))
            .with_help("--enforce poll looks at the processes of tasks instead")
    })
}

impl RunSession {
    /// Reads the copies in a folder.
    pub fn open(
        root: &Path,
        header: Header,
        context: &mut Context<'_>,
    ) -> Result<RunSession, Failure> {
        let (request, transfers) = settings::of_header(&header)?;
        for (name, known) in &header.digests {
            let path = copy(root, name)?;
            let found =
                checksum(&path).map_err(|e| Failure::input(format!("{}: {e}", path.display())))?;
            if found != *known {
                let message = format!("{}: is not what the run was started with", path.display());
                return Err(Failure::input(message).with_help("put the copy back as it was"));
            }
        }
        let platform = input::read_platform(&copy(root, &header.platform)?, context)?;
        let Some(format) = request.input.format else {
            return Err(Failure::input(
                "the settings in the log: the workflow's format is missing",
            ));
        };
        let path = copy(root, &header.workflow)?;
        let mut document = input::read_document(&path, Some(format), context)?;
        if let Some(speed) = request.input.reference_speed {
            document = document.at_reference_speed(format, speed).map_err(|e| e.in_file(&path))?;
        }
        let loaded = Loaded::plain(document.workflow, platform);
        let mut session = RunSession::new(header, request, format, loaded)?;
        session.transfers = transfers;
        Ok(session)
    }

    pub(super) fn new(
        header: Header,
        request: RunRequest,
        format: Format,
        mut loaded: Loaded,
    ) -> Result<RunSession, Failure> {
        let mut workflow = Arc::unwrap_or_clone(loaded.workflow);
        if let Some(measured) = &header.estimates {
            workflow = estimates::apply(measured, workflow)?;
        }
        let workflow = first_estimates(workflow);
        loaded.workflow = request.overheads.of(workflow.into(), &loaded.platform);
        let mut undecided = None;
        let whole = loaded.workflow.clone();
        if let Some(part) = again::part(&header, &whole)? {
            loaded.workflow = Arc::new(part);
        }
        if loaded.workflow.control().is_some() {
            // Processes of one host make an attempt: a plan that spreads a task could not be followed.
            let whole = Workflow::clone(&loaded.workflow).on_single_hosts();
            loaded.workflow = Arc::new(whole);
            undecided = Some(loaded.workflow.clone());
            loaded.workflow = Arc::new(Workflow::clone(&loaded.workflow).without_control());
        }
        let inputs = match loaded.platform.origin() {
            Some(origin) if request.inputs != Some(InputPlace::Everywhere) => Inputs::At(origin),
            _ => Inputs::Everywhere,
        };
        let settings = ModelSettings { settings: request.execution.network.clone(), inputs: None };
        let models = settings.models(&loaded.platform, &loaded.workflow)?;
        let transfers = Transfers::Modelled;
        Ok(RunSession {
            header,
            request,
            loaded,
            undecided,
            whole,
            format,
            inputs,
            models,
            transfers,
            stamps: None,
        })
    }

    /// Adds the state of the user's files, whose checksums are known.
    pub(super) fn with_stamps(self, stamps: BTreeMap<String, Stamp>) -> RunSession {
        RunSession { stamps: Some(stamps), ..self }
    }

    /// The place of the workflow's inputs.
    pub(super) fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// The format of the workflow's copy.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the planning problem of the run; for a workflow with choices and loops, of its tasks without
    /// dependencies.
    pub fn problem(&self) -> Result<Problem<'_>, Failure> {
        self.loaded.charged(&self.charges(), self.inputs)
    }

    /// The course that a run of a workflow with choices and loops has taken, as a problem; none of other runs.
    pub fn problem_of<'w>(&'w self, course: &'w Workflow) -> Result<Option<Problem<'w>>, Failure> {
        if self.undecided.is_none() {
            return Ok(None);
        }
        let (platform, charges) = (&self.loaded.platform, self.charges());
        Ok(Some(Problem::charged(course, platform, &charges, self.inputs)?))
    }

    /// Names of the files that are deleted once no task will read them any more.
    fn temporary(&self) -> BTreeSet<String> {
        let workflow = &self.whole;
        let keep = self.request.execution.keep;
        let is_temporary = |file: &FileId| {
            let Some(producer) = workflow.producer(*file).filter(|_| !workflow.is_result(*file))
            else {
                return false;
            };
            let command = workflow.command(producer);
            let temp = command.and_then(|c| Some(&c.surroundings.as_ref()?.temp));
            let name = workflow.file_name(*file);
            keep == KeptFiles::Results || temp.is_some_and(|temp| temp.iter().any(|t| t == name))
        };
        let all = self.undecided.is_none().then(|| workflow.files()).into_iter().flatten();
        let names = all.filter(is_temporary).map(|file| workflow.file_name(file));
        names.filter(|name| !name.is_empty()).map(str::to_string).collect()
    }

    /// Whether it is a run of a workflow with choices and loops.
    pub fn is_undecided(&self) -> bool {
        self.undecided.is_some()
    }

    /// Returns the course of a run with decisions made by an oracle; none for a workflow without choices and
    /// loops.
    fn course<'o>(
        &self,
        oracle: Box<dyn Oracle + 'o>,
    ) -> Result<Option<DecidedCourse<'o>>, Failure> {
        let Some(template) = &self.undecided else { return Ok(None) };
        DecidedCourse::new(template.clone(), oracle).map(Some).map_err(Failure::input)
    }

    /// Returns the part of the workflow known when the run begins.
    fn known_first(&self) -> Result<Arc<Workflow>, Failure> {
        match self.course(Box::new(LoggedOracle::new(&[], None)))? {
            Some(mut course) => course.first().map_err(Failure::input),
            None => Ok(self.loaded.workflow.clone()),
        }
    }

    /// Returns the charges of a lone transfer: the same in plans, rehearsals and throttled copies. Runs of
    /// earlier versions use the values stated in the platform.
    pub fn charges(&self) -> Charges {
        match self.transfers {
            Transfers::Modelled => Charges { local: false, ..self.models.charges() },
            Transfers::Stated => Charges::default(),
        }
    }

    /// Compares the user's files with those that the run was started with.
    fn compare_inputs(&self) -> Result<BTreeMap<String, Stamp>, Failure> {
        let mut stamps = BTreeMap::new();
        for (task, name) in given_files(&self.whole) {
            let path = self.header.inputs.join(name);
            let input = || format!("task '{task}', input {}", path.display());
            let (stamp, found) =
                stamped_checksum(&path).map_err(|e| Failure::input(format!("{}: {e}", input())))?;
            if self.header.input_digests.get(name).is_some_and(|known| *known != found) {
                let message = format!("{}: has changed since the run began", input());
                return Err(Failure::input(message).with_help(
                    "put it back as it was; or slackline run WORKFLOW does again what reads it",
                ));
            }
            stamps.insert(name.to_string(), stamp);
        }
        Ok(stamps)
    }

    /// The plan that the run begins with.
    pub fn planned(&self, problem: &Problem<'_>) -> Result<Schedule, Failure> {
        Ok(self.choose(problem)?.planned)
    }

    fn choose(&self, problem: &Problem<'_>) -> Result<Chosen, Failure> {
        if self.undecided.is_none() {
            return self.choose_for(problem);
        }
        let first = self.known_first()?;
        match self.problem_of(&first)? {
            Some(first) => self.choose_for(&first),
            None => self.choose_for(problem),
        }
    }

    /// Chooses policy and plan for a problem with the part of the workflow known when the run begins.
    fn choose_for(&self, problem: &Problem<'_>) -> Result<Chosen, Failure> {
        let limits = self.request.limits.limits();
        let algorithm = match &self.request.planner {
            Some(name) => planner(name)?,
            None => slackline_schedule::registry::usual_within(problem, &limits),
        };
        let (seed, given) = (self.header.seed, self.request.given());
        let request = Request { seed, given: given.clone(), limits, ..Request::default() };
        let planner = Planner { algorithm, request };
        let mut options = Options { given, seed, ..Options::new(planner.clone()) };
        options.transfers = slackline_react::Transfers::Push;
        check_needs(algorithm.name, algorithm.needs, problem, &limits)?;
        let entries = policies_of(&[self.header.policy.as_str()], problem, &limits)?;
        let [entry] = entries.as_slice() else {
            return Err(Failure::input("a run is steered by one policy"));
        };
        check_parameters(&entries, &options)?;
        check_results(&options.given, problem)?;
        entry.policy(&options)?.check(problem)?;
        let place = self.loaded.place.as_deref();
        let planned = planner.plan(problem).map_err(|e| no_plan(e, problem, place))?;
        settle_period(&mut options, &planned)?;
        let mut policy = entry.policy(&options)?;
        if self.request.execution.stealing == Some(true) {
            policy = Box::new(WorkStealing::around(policy));
        }
        Ok(Chosen { policy, planned })
    }

    fn execution<'r>(&self) -> Execution<'r> {
        let (workflow, platform) = (self.loaded.workflow.clone(), self.loaded.platform.clone());
        Execution {
            settings: Rules {
                retries: self.request.execution.retries,
                fail_fast: self.request.execution.fail_fast,
                memory_factor: self.request.execution.memory_factor,
                learning: self.request.execution.learning,
                ..Rules::default()
            },
            inputs: self.inputs,
            terms: Terms { limits: self.request.limits.limits(), ..Terms::default() },
            ..Execution::new(workflow, platform)
        }
    }

    /// Sets up a simulated run in place of the real one. Its estimates are exact: there is nothing to learn.
    /// The tasks of a course may be in the order of an earlier run.
    fn stage(&self, order: Option<Arc<Workflow>>) -> Result<Stage, Failure> {
        let (mut workflow, platform) = (self.loaded.workflow.clone(), self.loaded.platform.clone());
        let mut undecided = None;
        if let Some(template) = &self.undecided {
            let known = self.header.part.as_ref().map(|part| part.outcomes.clone());
            let given = known.unwrap_or_default();
            let mut chances = Chances { seed: self.header.seed, given, ..Chances::default() };
            undecided = Some(Undecided::new(template.clone(), chances.clone()));
            workflow = match order {
                Some(order) => order,
                None => draw_course(template, &mut chances).map_err(Failure::input)?.0,
            };
        }
        Ok(Stage {
            inputs: self.inputs,
            undecided,
            terms: Terms { limits: self.request.limits.limits(), ..Terms::default() },
            settings: Rules {
                retries: self.request.execution.retries,
                fail_fast: self.request.execution.fail_fast,
                ..Rules::default()
            },
            models: self.models.clone(),
            ..Stage::new(workflow, platform)
        })
    }

    /// Simulates the run with everything as stated in the files, and returns it with a lower bound of its
    /// makespan.
    pub fn rehearse(
        &self,
        problem: &Problem<'_>,
        context: &mut Context<'_>,
    ) -> Result<(Ran, f64), Failure> {
        let clock = Instant::now();
        let mut order = None;
        let mut rounds = 0;
        // Tasks of a course are numbered as they become known, which shows in the run.
        let (stage, outcome, planned, taken) = loop {
            let Chosen { mut policy, planned } = self.choose(problem)?;
            let stage = self.stage(order)?;
            let outcome = stage.run(policy.as_mut())?;
            let last = stage.undecided.as_ref().map(Undecided::last);
            let (released, taken) = last.map_or((None, None), |l| (l.released, Some(l.taken)));
            order = released.filter(|released| !same_order(released, &stage.workflow));
            rounds += 1;
            if order.is_none() || rounds == MOST_ORDERS {
                break (stage, outcome, planned, taken);
            }
        };
        let whole = outcome.workflow.clone();
        let course = self.problem_of(&whole)?;
        let problem = course.as_ref().unwrap_or(problem);
        let mut ran = self.ran(problem, outcome, planned, clock);
        ran.outcomes = self.outcomes(&taken.unwrap_or_default());
        let Stage { workflow, platform, models, inputs, .. } = stage;
        let wait = self.request.overheads.wait();
        let bound = lower_bound(&workflow, &platform, &models.charges(), inputs, true)? + wait;
        let is_planned = self.undecided.is_none();
        if ran.unfinished().is_none() && is_planned && problem.tasks() <= plan_check::MOST_TASKS {
            let ground = CheckSetup { workflow, platform, models, inputs, until: f64::INFINITY };
            ran.explain(plan_check::follow(&ground, problem, &ran.planned, None, context));
        }
        ran.delay(wait);
        Ok((ran, bound))
    }

    /// Describes the enforcement of the memory granted to tasks; none if no task demands memory.
    fn enforcement(&self, problem: &Problem<'_>) -> Result<Option<String>, Failure> {
        let settings = &self.request.execution;
        let workflow = problem.workflow();
        if !workflow.tasks().any(|t| workflow.memory_at(t, workflow.width(t).0) > 0.0) {
            return Ok(None);
        }
        if settings.slurm.is_some() {
            let how = match settings.enforce {
                Enforce::Off => "not enforced",
                _ => "enforced by Slurm and on the nodes",
            };
            return Ok(Some(format!("memory of tasks: {how}")));
        }
        let how = match settled(settings)? {
            Enforce::Off => "not enforced",
            Enforce::Cgroup => "enforced by control groups",
            Enforce::Auto | Enforce::Poll => "enforced by polling, five times a second",
        };
        Ok(Some(format!("memory of tasks: {how}")))
    }

    fn ran(
        &self,
        problem: &Problem<'_>,
        outcome: Outcome,
        planned: Schedule,
        clock: Instant,
    ) -> Ran {
        let (metrics, money) = (Metrics::of(problem, &outcome), Money::of(problem, &outcome));
        let wall_seconds = clock.elapsed().as_secs_f64();
        let (name, set) = (self.header.policy.clone(), self.request.given());
        let limits = self.request.limits.limits();
        Ran { limits, set, wall_seconds, ..Ran::of(name, outcome, metrics, money, planned) }
    }

    /// Drives the run from where its log ends; without a log it begins one.
    pub(super) fn drive(
        &self,
        problem: &Problem<'_>,
        folder: RunFolder,
        log: LogStart,
        records: Vec<(f64, Record)>,
        context: &mut Context<'_>,
    ) -> Result<FinishedRun, Failure> {
        let clock = Instant::now();
        let over = records.iter().any(|(_, r)| matches!(r, Record::Note(Note::Over { .. })));
        let stamps = match &self.stamps {
            Some(stamps) => stamps.clone(),
            None if over => BTreeMap::new(),
            None => self.compare_inputs()?,
        };
        adopt_orphans(); // where the system cannot, groups end all the same
        raise_open_files();
        let Chosen { mut policy, planned } = self.choose(problem)?;
        let log = match log {
            LogStart::Open(log) => log,
            // What is wrong with policy and planner is reported before.
            LogStart::Create => {
                RunLog::create(&folder.log(), &self.header).map_err(Failure::work)?
            }
            LogStart::Define(recovered, history) => {
                let log = RunLog::resume(&folder.log(), &recovered).map_err(Failure::work)?;
                log.define(&self.header).map_err(Failure::work)?;
                // Without it all of the log is read the next time.
                let _ = folder::keep_snapshot(&folder.log(), &recovered, &history);
                log
            }
        };
        let (folder, log) = (Arc::new(folder), Arc::new(log));
        let begun = records.iter().any(|(_, r)| !matches!(r, Record::Note(_) | Record::Chose(_)));
        let past = RecoveredState::of(&records, problem, &boot());
        let date = past.date();
        let driven = Note::Driven { boot: boot(), since: seconds_since_1970() };
        let keep = |at: f64, note: Note| {
            log.append(at, &Record::Note(note)).map_err(|e| self.broken_log(&e))
        };
        keep(date, driven)?;
        let settings = &self.request.execution;
        if let Some(remark) = self.enforcement(problem)? {
            context.note(&remark);
        }
        let reuse = again::reuse(self, problem.platform(), &folder, !begun, &log)?;
        let home = self.header.inputs.clone();
        let options = MachineOptions {
            throttle: settings.throttle,
            charges: self.charges(),
            pin: settings.pin,
            enforce: settings.enforce,
            time_limit: settings.time_limit,
            checksum_limit: settings.checksum_limit,
            scratch: settings.scratch.clone(),
            source: self.header.inputs.clone(),
            stamps,
            run: self.header.id.clone(),
            drive: folder.begin_drive()?,
            myself: command_path()?,
            reuse,
            temporary: self.temporary(),
        };
        let stop = context.observer.listen();
        let (events, inbox) = EventSender::new(Arc::clone(&log), date);
        let (platform, run) = (problem.platform(), self.header.id.clone());
        let left = past.processes().to_vec();
        let f = Arc::clone(&folder);
        let executor: Box<dyn Executor> = match &settings.slurm {
            None => Box::new(Local::new(platform, f, run, left, events.clone())),
            Some(slurm) => {
                let slurm = slurm.options(run, platform, Some(&mut *context))?;
                let needs = surroundings::needs(problem.workflow(), &home);
                let options = SlurmOptions { needs, ..slurm };
                let executor = Slurm::new(platform, f, options, events.clone());
                Box::new(executor.map_err(Failure::work)?)
            }
        };
        let (f, inbox) = (Arc::clone(&folder), (events, inbox));
        let mut backend =
            MachineBackend::new(problem, self.inputs, options, f, inbox, executor, past, stop);
        if !begun {
            backend.open().map_err(Failure::work)?;
        }
        let mut view: Option<Box<dyn RunView + '_>> =
            context.observer.view(problem, &planned, backend.failures());
        let mut see = |glance: &RunSnapshot<'_>| {
            if let Some(view) = &mut view {
                view.see(glance);
            }
        };
        let asked = LoggedOracle::new(
            &records,
            Some(DecisionSource {
                log: Arc::clone(&log),
                folder: Arc::clone(&folder),
                hosts: platform.hosts().iter().map(|host| host.name.to_string()).collect(),
            }),
        );
        let warnings = asked.warnings();
        let mut course = self.course(Box::new(asked))?;
        let mut execution = Execution { watch: Some(&mut see), ..self.execution() };
        if let Some(course) = &mut course {
            execution.workflow = course.first().map_err(Failure::input)?;
            backend.grown(&execution.workflow);
            execution.supply = Some(course);
        }
        let driven = journaled_run::drive(execution, policy.as_mut(), &mut backend, &log, records);
        let taken = course.map(|course| course.course().taken).unwrap_or_default();
        if driven.is_ok() {
            backend.close();
        }
        drop(backend);
        context.observer.ignore();
        view.into_iter().for_each(|view| view.finish());
        warnings.take().iter().for_each(|warning| context.warning(warning));
        let code = context.observer.interrupted_code();
        let outcome = driven.map_err(|error| self.explain(error, folder.root(), code))?;
        let finished = outcome.ending == Ending::Finished;
        let makespan = outcome.makespan;
        keep(makespan, Note::Over { finished, makespan })?;
        log.settle().map_err(|e| self.broken_log(&e))?;
        let whole = outcome.workflow.clone();
        let course = self.problem_of(&whole)?;
        let problem = course.as_ref().unwrap_or(problem);
        self.link_results(problem, &outcome, &folder)?;
        self.publish(context, folder.root())?;
        let mut attempts = 0;
        let (mut failures, mut redo, mut reused) = (Vec::new(), Vec::new(), 0);
        let see = |note| match note {
            Note::Process { .. } => attempts += 1,
            Note::Failure(failure) => failures.push(failure),
            Note::Redo { name, why } => redo.push(Redo { task: name, why }),
            Note::Reused { .. } => reused += 1,
            _ => {}
        };
        folder::notes(&folder.log(), see).map_err(Failure::work)?;
        // Instances are checked as they come.
        let part = self.header.part.as_ref().filter(|_| self.undecided.is_none());
        let up_to_date = part.map_or(0, |part| part.up_to_date) + reused;
        let outcomes = self.outcomes(&taken);
        let ran = Ran { real: true, outcomes, ..self.ran(problem, outcome, planned, clock) };
        Ok(FinishedRun { ran, attempts, failures, redo, up_to_date, folder })
    }

    /// Repeats the run from its log alone.
    pub fn repeat(
        &self,
        problem: &Problem<'_>,
        recovered: Recovered,
    ) -> Result<Repetition, Failure> {
        let clock = Instant::now();
        let Chosen { mut policy, planned } = self.choose(problem)?;
        let records = recovered.records;
        let asked = LoggedOracle::new(&records, None);
        let is_open = asked.is_open();
        let mut course = self.course(Box::new(asked))?;
        let mut execution = self.execution();
        if let Some(course) = &mut course {
            execution.workflow = course.first().map_err(Failure::input)?;
            execution.supply = Some(course);
        }
        let done = journaled_run::repeat(execution, policy.as_mut(), self.charges(), records);
        let taken = course.map(|course| course.course().taken).unwrap_or_default();
        match done {
            Ok(Repeated { outcome, records }) => {
                let outcomes = self.outcomes(&taken);
                // A run that was left between the end of a task and what it decided is not over.
                let outcome = outcome.filter(|_| !is_open.get());
                let whole = outcome.as_ref().map(|o| o.workflow.clone());
                let course = whole.as_ref().map(|whole| self.problem_of(whole)).transpose()?;
                let course = course.flatten();
                let problem = course.as_ref().unwrap_or(problem);
                let ran = outcome.map(|o| self.ran(problem, o, planned, clock));
                let ran = ran.map(|ran| Ran { real: true, outcomes, ..ran });
                Ok(Repetition { ran, records })
            }
            Err(error) => Err(Failure::work(format!("the run does not repeat: {error}"))),
        }
    }

    /// Returns the outcomes of decisions, as `DECISION=OUTCOME`.
    fn outcomes(&self, taken: &[(Decision, u32)]) -> Vec<String> {
        let control = self.undecided.as_ref().and_then(|template| template.control());
        control.map_or_else(Vec::new, |control| outcomes(control, taken))
    }

    fn broken_log(&self, why: &RecordError) -> Failure {
        Failure::work(format!("the log of the run cannot be kept: {why}"))
    }

    fn explain(&self, error: SessionError, root: &Path, code: u8) -> Failure {
        let resume = format!("slackline resume {}", root.display());
        match error {
            SessionError::Departed(why) => {
                let (then, now) = (&self.header.version, env!("CARGO_PKG_VERSION"));
                let policy = &self.header.policy;
                Failure::work(format!("the run departs from its log: {why}")).with_help(format!(
                    "policy '{policy}' of version {now} decides otherwise than that of version {then}, which \
                     began the run; slackline resume --retry-failed {} keeps what is done and plans the rest again",
                    root.display()
                ))
            }
            SessionError::Backend(BackendError::Stopped) => Failure::Interrupted {
                message: format!("the run was stopped; go on with: {resume}"),
                code,
            },
            SessionError::Backend(error) => {
                Failure::work(error).with_help(format!("go on with: {resume}"))
            }
        }
    }

    /// Shows the final results under one roof.
    fn link_results(
        &self,
        problem: &Problem<'_>,
        outcome: &Outcome,
        run_folder: &RunFolder,
    ) -> Result<(), Failure> {
        let (workflow, platform) = (problem.workflow(), problem.platform());
        let results = run_folder.root().join("results");
        let shown = again::results(&self.whole);
        let mut made: BTreeMap<&Path, ()> = BTreeMap::new();
        // Of a file that passes of a loop write the last one is the result: instances are in order of release.
        let mut files: Vec<_> = workflow.files().collect();
        if self.undecided.is_some() {
            files.sort_by_key(|file| workflow.producer(*file));
        }
        for file in files {
            let Some(producer) = workflow.producer(file) else { continue };
            if self.undecided.is_some() && workflow.consumers(file).len() > 0 {
                continue;
            }
            let name = workflow.file_name(file);
            // Others were shown when they were made.
            if self.undecided.is_none()
                && (!shown.contains(name) || results.join(name).symlink_metadata().is_ok())
            {
                continue;
            }
            let Some(placement) = outcome.schedule.placement(producer) else { continue };
            if name.is_empty() {
                continue;
            }
            let host = platform.place_of(problem.host_of(placement.proc()));
            let from = run_folder.store(&platform.host(host).name).join(name);
            let of_task = workflow.unfolded(producer);
            let local = of_task.and_then(|u| u.writes.iter().find(|(of, _)| *of == file));
            let name = local.map_or(name, |(_, local)| local);
            if let Some(parent) = Path::new(name).parent()
                && made.insert(parent, ()).is_none()
            {
                std::fs::create_dir_all(results.join(parent))?;
            }
            // A result that was taken away in the last glance is not there to be shown.
            let _ = show_result(run_folder, &from, name);
        }
        Ok(())
    }
}

impl FinishedRun {
    /// Exit code and messages of an attempt at a task, by its number, in the run folder at `path`.
    pub fn attempt(
        &self,
        problem: &Problem<'_>,
        path: &Path,
        (task, number): (TaskId, u32),
        is_done: bool,
    ) -> trace::Attempt {
        let mut failures = self.failures.iter();
        let failure = failures.find(|f| f.task == task && f.attempt == number);
        let name = folder_name(problem.workflow().task_name(task));
        let stderr = format!("tasks/{name}/{number}/{STDERR}");
        trace::Attempt {
            exit_code: if is_done { Some(0) } else { failure.and_then(|f| f.exit) },
            // Empty ones are not kept.
            stderr: path.join(&stderr).is_file().then_some(stderr),
        }
    }
}
