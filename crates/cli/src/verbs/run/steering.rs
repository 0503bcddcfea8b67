//! A run as its folder describes it: the same for one that begins, one that goes on and one that is
//! repeated.

use super::given_files;
use super::settings::Settings;
use super::view::View;
use crate::check;
use crate::failure::{Failure, no_plan};
use crate::input::{self, Loaded};
use crate::interrupt;
use crate::model::ModelOptions;
use crate::output::Output;
use crate::verbs::simulate::workflow::{
    Ran, check_parameters, check_results, planner, policies_of, settle_period,
};
use slackline_analysis::calibration::first_estimates;
use slackline_analysis::cost::Money;
use slackline_analysis::metrics::Metrics;
use slackline_analysis::plan_check::{Ground, lower_bound};
use slackline_engine::{
    Ending, Execution, Glance, Inputs, Outcome, Record, Settings as Rules, Stage,
};
use slackline_formats::Format;
use slackline_machines::attempt::{
    Stamp, adopt_orphans, boot, checksum, raise_open_files, stamped_checksum,
};
use slackline_machines::folder::{Failure as Failed, Header, Note, Recovered, RunFolder, RunLog};
use slackline_machines::local::Local;
use slackline_machines::real::{Desk, Past, Real, RealOptions, Workshop};
use slackline_machines::session::{self, Repeated, SessionError};
use slackline_machines::slurm::Slurm;
use slackline_model::platform::Charges;
use slackline_model::{Problem, Schedule, Terms};
use slackline_react::registry::Options;
use slackline_react::{Policy, WorkStealing};
use slackline_schedule::{Planner, Request};
use slackline_simulate::Models;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A run with all it was started with.
pub(in crate::verbs) struct Steering {
    pub(super) header: Header,
    pub(super) settings: Settings,
    pub(super) loaded: Loaded,
    pub(super) inputs: Inputs,
    /// The rules that transfers are predicted by.
    pub(super) models: Models,
    /// State of the user's files that the run reads, where their checksums have been compared.
    pub(super) stamps: Option<BTreeMap<String, Stamp>>,
}

/// A policy and what its first plan promises.
pub(super) struct Chosen {
    pub(super) policy: Box<dyn Policy>,
    pub(super) planned: Schedule,
}

/// A run that came to an outcome.
pub(super) struct Finished {
    pub(super) ran: Ran,
    /// Attempts made, and those of which nothing came.
    pub(super) attempts: usize,
    pub(super) failures: Vec<Failed>,
    pub(super) folder: Arc<RunFolder>,
}

pub(super) fn seconds_since_1970() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64())
}

/// Where a copy lies that a log names: beside it, whatever the log says.
fn copy(root: &Path, name: &str) -> Result<PathBuf, Failure> {
    let path = root.join(name);
    match Path::new(name).file_name() == Some(OsStr::new(name)) && path.is_file() {
        true => Ok(path),
        false => Err(Failure::input(format!("{}: no file {name:?} in it", root.display()))),
    }
}

impl Steering {
    /// Reads the copies in a folder.
    pub(in crate::verbs) fn of(
        root: &Path,
        header: Header,
        output: &mut Output,
    ) -> Result<Steering, Failure> {
        let settings = Settings::of_map(&header.settings)?;
        for (name, known) in &header.digests {
            let path = copy(root, name)?;
            let found =
                checksum(&path).map_err(|e| Failure::input(format!("{}: {e}", path.display())))?;
            if found != *known {
                let message = format!("{}: is not what the run was started with", path.display());
                return Err(Failure::input(message).with_help("put the copy back as it was"));
            }
        }
        let platform = input::read_platform(&copy(root, &header.platform)?, output)?;
        let format = settings.from.parse::<Format>().map_err(Failure::input)?;
        let path = copy(root, &header.workflow)?;
        let mut document = input::read_document(&path, Some(format), output)?;
        if let Some(speed) = settings.reference_speed {
            document = document.at_reference_speed(format, speed).map_err(|e| e.in_file(&path))?;
        }
        let loaded = Loaded::plain(document.workflow, platform);
        Steering::new(header, settings, loaded)
    }

    pub(super) fn new(
        header: Header,
        settings: Settings,
        mut loaded: Loaded,
    ) -> Result<Steering, Failure> {
        loaded.workflow = first_estimates(Arc::unwrap_or_clone(loaded.workflow)).into();
        let inputs = match loaded.platform.origin() {
            Some(origin) if !settings.inputs_everywhere => Inputs::At(origin),
            _ => Inputs::Everywhere,
        };
        let options = ModelOptions::of(settings.config.as_deref().unwrap_or_default());
        let models = options.models(&loaded.platform, &loaded.workflow)?;
        Ok(Steering { header, settings, loaded, inputs, models, stamps: None })
    }

    /// The format of the workflow's copy.
    pub(in crate::verbs) fn format(&self) -> Result<Format, Failure> {
        self.settings.from.parse::<Format>().map_err(Failure::input)
    }

    /// What is planned and run.
    pub(in crate::verbs) fn problem(&self) -> Result<Problem<'_>, Failure> {
        self.loaded.charged(&self.charges(), self.inputs)
    }

    /// What a lone transfer is charged: the same in plans, rehearsals and throttled copies. Earlier versions
    /// took what the platform states.
    pub(in crate::verbs) fn charges(&self) -> Charges {
        match self.settings.config {
            Some(_) => Charges { local: false, ..self.models.charges() },
            None => Charges::default(),
        }
    }

    /// Compares the user's files with those that the run was started with.
    fn compare_inputs(&self) -> Result<BTreeMap<String, Stamp>, Failure> {
        let mut stamps = BTreeMap::new();
        for (task, name) in given_files(&self.loaded.workflow) {
            let path = self.header.inputs.join(name);
            let input = || format!("task '{task}', input {}", path.display());
            let (stamp, found) =
                stamped_checksum(&path).map_err(|e| Failure::input(format!("{}: {e}", input())))?;
            if self.header.input_digests.get(name).is_some_and(|known| *known != found) {
                let message = format!("{}: has changed since the run began", input());
                return Err(Failure::input(message)
                    .with_help("put it back as it was, or begin a new run in a new folder"));
            }
            stamps.insert(name.to_string(), stamp);
        }
        Ok(stamps)
    }

    pub(super) fn choose(&self, problem: &Problem<'_>) -> Result<Chosen, Failure> {
        let limits = self.settings.limits();
        let algorithm = match &self.settings.algorithm {
            Some(name) => planner(name)?,
            None => slackline_schedule::registry::usual(problem),
        };
        let (seed, given) = (self.header.seed, self.settings.given.clone());
        let request = Request { seed, given: given.clone(), limits, ..Request::default() };
        let planner = Planner { algorithm, request };
        let mut options = Options { given, seed, ..Options::new(planner.clone()) };
        options.transfers = slackline_react::Transfers::Push;
        crate::told::check_needs(algorithm.name, algorithm.needs, problem, &limits)?;
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
        if self.settings.stealing {
            policy = Box::new(WorkStealing::around(policy));
        }
        Ok(Chosen { policy, planned })
    }

    fn execution<'r>(&self) -> Execution<'r> {
        let (workflow, platform) = (self.loaded.workflow.clone(), self.loaded.platform.clone());
        Execution {
            settings: Rules {
                retries: self.settings.retries,
                learning: self.settings.learning,
                ..Rules::default()
            },
            inputs: self.inputs,
            terms: Terms { limits: self.settings.limits(), ..Terms::default() },
            ..Execution::new(workflow, platform)
        }
    }

    /// The simulated run that stands for the real one. Its estimates are exact: there is nothing to learn.
    fn stage(&self) -> Stage {
        let (workflow, platform) = (self.loaded.workflow.clone(), self.loaded.platform.clone());
        Stage {
            inputs: self.inputs,
            terms: Terms { limits: self.settings.limits(), ..Terms::default() },
            settings: Rules { retries: self.settings.retries, ..Rules::default() },
            models: self.models.clone(),
            ..Stage::new(workflow, platform)
        }
    }

    /// What the run would come to if everything were as the files say, and a date before which it cannot end.
    pub(super) fn rehearse(
        &self,
        problem: &Problem<'_>,
        output: &mut Output,
    ) -> Result<(Ran, f64), Failure> {
        let clock = Instant::now();
        let Chosen { mut policy, planned } = self.choose(problem)?;
        let stage = self.stage();
        let outcome = stage.run(policy.as_mut())?;
        let mut ran = self.ran(problem, outcome, planned, clock);
        let Stage { workflow, platform, models, inputs, .. } = stage;
        let bound = lower_bound(&workflow, &platform, &models.charges(), inputs, true)?;
        if ran.unfinished().is_none() && problem.tasks() <= check::MOST_TASKS {
            let ground = Ground { workflow, platform, models, inputs, until: f64::INFINITY };
            ran.explain(check::follow(&ground, problem, &ran.planned, None, output));
        }
        Ok((ran, bound))
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
        let (name, set) = (self.header.policy.clone(), self.settings.given.clone());
        let limits = self.settings.limits();
        Ran { limits, set, wall_seconds, ..Ran::of(name, outcome, metrics, money, planned) }
    }

    /// Drives the run from where its log ends.
    pub(super) fn drive(
        &self,
        problem: &Problem<'_>,
        folder: RunFolder,
        log: RunLog,
        records: Vec<(f64, Record)>,
        output: &mut Output,
    ) -> Result<Finished, Failure> {
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
        let (folder, log) = (Arc::new(folder), Arc::new(log));
        let begun = records.iter().any(|(_, r)| !matches!(r, Record::Note(_)));
        let past = Past::of(&records, problem, &boot());
        let date = past.date();
        let driven = Note::Driven { boot: boot(), since: seconds_since_1970() };
        let keep = |at: f64, note: Note| {
            log.append(at, &Record::Note(note)).map_err(|e| self.broken_log(&e))
        };
        keep(date, driven)?;
        let options = RealOptions {
            throttle: self.settings.throttle,
            charges: self.charges(),
            pin: self.settings.pin,
            time_limit: self.settings.time_limit,
            checksum_limit: self.settings.checksum_limit,
            scratch: self.settings.scratch.clone(),
            source: self.header.inputs.clone(),
            stamps,
            run: self.header.id.clone(),
            drive: folder.begin_drive()?,
            myself: super::settings::own_program()?,
        };
        let stop = interrupt::listen();
        let (desk, mail) = Desk::new(Arc::clone(&log), date);
        let (platform, run) = (problem.platform(), self.header.id.clone());
        let left = past.processes().to_vec();
        let f = Arc::clone(&folder);
        let workshop: Box<dyn Workshop> = match &self.settings.slurm {
            None => Box::new(Local::new(platform, f, run, left, desk.clone())),
            Some(slurm) => {
                let options = slurm.options(run, platform, Some(output))?;
                let workshop = Slurm::new(platform, f, options, desk.clone());
                Box::new(workshop.map_err(Failure::work)?)
            }
        };
        let (f, mail) = (Arc::clone(&folder), (desk, mail));
        let mut backend = Real::new(problem, self.inputs, options, f, mail, workshop, past, stop);
        if !begun {
            backend.open().map_err(Failure::work)?;
        }
        let mut view = View::new(problem, &planned, backend.failures(), output.quiet);
        let mut see = |glance: &Glance<'_>| view.see(glance);
        let execution = Execution { watch: Some(&mut see), ..self.execution() };
        let driven = session::drive(execution, policy.as_mut(), &mut backend, &log, records);
        if driven.is_ok() {
            backend.close();
        }
        drop(backend);
        interrupt::ignore();
        view.finish();
        let outcome = driven.map_err(|error| self.explain(error, folder.root()))?;
        let finished = outcome.ending == Ending::Finished;
        let makespan = outcome.makespan;
        keep(makespan, Note::Over { finished, makespan })?;
        log.settle().map_err(|e| self.broken_log(&e))?;
        self.link_results(problem, &outcome, &folder)?;
        let mut attempts = 0;
        let mut failures = Vec::new();
        let see = |note| match note {
            Note::Process { .. } => attempts += 1,
            Note::Failure(failure) => failures.push(failure),
            _ => {}
        };
        slackline_machines::folder::notes(&folder.log(), see).map_err(Failure::work)?;
        let ran = Ran { real: true, ..self.ran(problem, outcome, planned, clock) };
        Ok(Finished { ran, attempts, failures, folder })
    }

    /// Repeats the run from its log alone.
    pub(in crate::verbs) fn repeat(
        &self,
        problem: &Problem<'_>,
        recovered: Recovered,
    ) -> Result<(Option<Ran>, usize), Failure> {
        let clock = Instant::now();
        let Chosen { mut policy, planned } = self.choose(problem)?;
        let records = recovered.records;
        let done = session::repeat(self.execution(), policy.as_mut(), self.charges(), records);
        match done {
            Ok(Repeated { outcome, records }) => {
                let ran = outcome.map(|o| self.ran(problem, o, planned, clock));
                Ok((ran.map(|ran| Ran { real: true, ..ran }), records))
            }
            Err(error) => Err(Failure::work(format!("the run does not repeat: {error}"))),
        }
    }

    fn broken_log(&self, why: &str) -> Failure {
        Failure::work(format!("the log of the run cannot be kept: {why}"))
    }

    fn explain(&self, error: SessionError, root: &Path) -> Failure {
        let resume = format!("slackline resume {}", root.display());
        match error {
            SessionError::Departed(why) => {
                let (then, now) = (&self.header.version, env!("CARGO_PKG_VERSION"));
                let policy = &self.header.policy;
                Failure::work(format!("the run departs from its log: {why}")).with_help(format!(
                    "policy '{policy}' of version {now} decides otherwise than that of version {then}, which \
                     began the run; what is done still lies in {}",
                    root.display()
                ))
            }
            SessionError::Backend(error) if error.0 == "stopped" => Failure::Interrupted {
                message: format!("the run was stopped; go on with: {resume}"),
                code: interrupt::exit_code(),
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
        folder: &RunFolder,
    ) -> Result<(), Failure> {
        let (workflow, platform) = (problem.workflow(), problem.platform());
        let results = folder.root().join("results");
        let mut made: BTreeMap<&Path, ()> = BTreeMap::new();
        for file in workflow.files() {
            let (Some(producer), 0) = (workflow.producer(file), workflow.consumers(file).len())
            else {
                continue;
            };
            let name = workflow.file_name(file);
            let Some(placement) = outcome.schedule.placement(producer) else { continue };
            if name.is_empty() {
                continue;
            }
            let host = platform.place_of(problem.host_of(placement.proc()));
            let from = folder.store(&platform.host(host).name).join(name);
            let to = results.join(name);
            if let Some(parent) = Path::new(name).parent()
                && made.insert(parent, ()).is_none()
            {
                std::fs::create_dir_all(results.join(parent))?;
            }
            let _ = std::fs::remove_file(&to);
            // A result that was taken away in the last glance is not there to be shown.
            let _ = std::fs::hard_link(&from, &to);
        }
        Ok(())
    }
}
