//! Set-up of simulated runs: true and known run times, the platform and the arriving workflows.

use super::{Outputs, Ran};
use crate::context::{Context, Observer, Silent};
use crate::failure::Failure;
use crate::input::Loaded;
use crate::methods::planner;
use crate::plan_check::{MOST_TASKS, follow};
use crate::request::{DataPlace, Knows, SimulationSetup};
use crate::rules;
use slackline_analysis::cost::Money;
use slackline_analysis::metrics::{Metrics, Moves};
use slackline_analysis::plan_check::{self, Check, CheckSetup};
use slackline_analysis::workflow_metrics::served;
use slackline_engine::{
    Arrivals, Coming, DecisionLog, Inputs, Logged, Outcome, Recording, RunSnapshot, Settings,
    Stage as ReadyStage, StageError, Undecided,
};
use slackline_formats::trace::{TraceFormat, TraceWriter};
use slackline_io::{AtomicFile, FileAccess};
use slackline_model::nearest::nearest;
use slackline_model::parameter::Given;
use slackline_model::platform::{Charges, Network};
use slackline_model::problem::{DataCopy, State};
use slackline_model::scenario::{
    ErrorLaw, Knowledge, KnowledgeError, Scenario, ScenarioError, When, Wrong,
};
use slackline_model::schedule::Limits;
use slackline_model::trace::Record;
use slackline_model::units::fmt_bytes;
use slackline_model::workflow::CostTable;
use slackline_model::{
    DiskId, FileId, HostId, Platform, Problem, Schedule, Terms, Workflow, approx,
};
use slackline_react::registry::transfers;
use slackline_react::{Policy, Situation, StaticPlan, Transfers};
use slackline_schedule::registry::Need;
use slackline_schedule::{Planner, Request};
use slackline_simulate::Models;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time before the first report of progress of a run, and between two.
const SILENT: Duration = Duration::from_secs(2);
const EVERY: Duration = Duration::from_millis(100);

/// Amount of the trace kept in memory; a trace file is written during the run, independently of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TraceDetail {
    /// Every execution and transfer with its dates.
    Work,
    /// Sums only.
    Figures,
}

impl TraceDetail {
    /// Pictures, costs, traffic by link and metrics of several workflows need every execution and transfer.
    fn of(outputs: &Outputs, platform: &Platform, several: bool) -> TraceDetail {
        let billed = platform.is_priced() || platform.has_leasable();
        let by_link = outputs.report && platform.is_fifo();
        if outputs.work || billed || several || by_link {
            TraceDetail::Work
        } else {
            TraceDetail::Figures
        }
    }
}

/// The setup of all runs of a request, from files and options. [`ReadyStage`] is the engine's setup of a single run.
pub(super) struct Stage<'a> {
    pub(super) problem: &'a Problem<'a>,
    /// Workflow and platform at nominal levels, as read.
    pub(super) loaded: &'a Loaded,
    pub(super) scenario: Scenario,
    /// The file of the scenario.
    pub(super) scenario_file: Option<&'a Path>,
    /// All work with run times as planners and policies know them.
    pub(super) known: Arc<Workflow>,
    /// All work and the platform as stated in the files.
    stated: Arc<Workflow>,
    platform: Arc<Platform>,
    /// Workflows and their arrivals, where there are several.
    arrivals: Vec<Coming>,
    /// The workflow with its open decisions, of which the work is one course.
    pub(super) undecided: Option<Undecided>,
    inputs: Inputs,
    /// Copies of inputs on further hosts.
    spread: Vec<(FileId, HostId)>,
    models: Models,
    pub(super) transfers: Transfers,
    /// Plans under the limits given, or else those of all that arrive together.
    pub(super) planner: Planner,
    /// The limits given.
    limits: Limits,
    settings: Settings,
    /// Whether events and decisions of the policy are logged.
    logs: bool,
    wanted: TraceDetail,
}

impl<'a> Stage<'a> {
    pub(super) fn new(
        setup: &'a SimulationSetup,
        loaded: &'a Loaded,
        problem: &'a Problem<'a>,
        scenario: Scenario,
        arrivals: Vec<Coming>,
        (outputs, policies): (&Outputs, &[String]),
    ) -> Result<Stage<'a>, Failure> {
        let inputs = setup.models.inputs(&loaded.platform)?;
        if setup.data == DataPlace::Central
            && setup.storage.is_none()
            && matches!(loaded.platform.network(), Network::Zones)
            && loaded.platform.origin().is_none()
        {
            let message = "--data central: the platform names no host for the store";
            return Err(
                Failure::input(message).with_help("origin = \"HOST\" in the platform names it")
            );
        }
        let given = setup.given();
        let when = given.iter().rfind(|(name, _)| name == "transfers");
        let stated = loaded.workflow.clone();
        setup.limits.check_prices(&loaded.platform, policies.iter().map(String::as_str))?;
        let limits = setup.limits.limits();
        let common = common_limits(&limits, &arrivals);
        let wanted = TraceDetail::of(outputs, &loaded.platform, !arrivals.is_empty());
        let mut stage = Stage {
            problem,
            loaded,
            scenario,
            scenario_file: setup.scenario.as_deref(),
            known: stated.clone(),
            stated,
            platform: loaded.platform.clone(),
            arrivals,
            undecided: None,
            inputs,
            spread: Vec::new(),
            models: setup.models.models(&loaded.platform, &loaded.workflow)?,
            transfers: when.map_or(Ok(Transfers::Push), |(_, text)| transfers(text))?,
            planner: Planner {
                algorithm: match &setup.planner {
                    Some(name) => planner(name)?,
                    None => slackline_schedule::registry::usual_within(problem, &limits),
                },
                request: Request {
                    seed: setup.seed.unwrap_or_default(),
                    given: given.clone(),
                    limits: setup.overheads.within(common),
                    ..Request::default()
                },
            },
            limits,
            settings: Settings {
                monitoring_delay: setup.monitoring_delay,
                decision_seconds: setup.decision_time,
                anticipated: setup.is_anticipated(),
                central: setup.data == DataPlace::Central || setup.storage.is_some(),
                storage: storage(setup, loaded)?,
                retries: setup.retries,
                memory_factor: setup.memory_factor,
                until: setup.until.unwrap_or(f64::INFINITY),
                ..Settings::default()
            },
            logs: setup.explain || outputs.decisions,
            wanted,
        };
        let knowledge = match setup.knows {
            Knows::Exact => Knowledge::Exact,
            Knows::Estimates => Knowledge::Estimates,
            Knows::Kinds => Knowledge::KindMeans,
            Knows::Nothing => Knowledge::Nothing,
        };
        let known = stage.scenario.known(&loaded.workflow, &loaded.platform, knowledge);
        stage.known = known.map_err(|e| stage.cannot_know(e))?;
        let spread = stage.scenario.spread(&loaded.workflow, &loaded.platform);
        stage.spread = spread.map_err(|e| stage.bad_scenario(e))?;
        stage.apply_knowledge_to_parts()?;
        Ok(stage)
    }

    /// Returns the charges for transfers in plans.
    fn charges(&self) -> Charges {
        let local = self.planner.algorithm.needs.contains(&Need::Moldable);
        rules::charges(&self.models, local)
    }

    /// The planning problem with run times as planners know them.
    pub(super) fn known_problem(&self) -> Result<Problem<'_>, Failure> {
        let charges = self.charges();
        let platform = &self.loaded.platform;
        let problem = Problem::charged(&self.known, platform, &charges, self.inputs)?;
        if self.spread.is_empty() || self.inputs == Inputs::Everywhere {
            return Ok(problem);
        }
        let mut state = State::at_start(&self.known, self.inputs);
        let more = self.spread.iter().map(|&(file, host)| DataCopy { file, host, at: 0.0 });
        state.copies.extend(more);
        state.copies.sort_by_key(|copy| copy.file);
        Ok(problem.with_state(state)?)
    }

    /// Returns a lower bound of the makespan in this scenario, under exact knowledge of it.
    pub(super) fn lower_bound(&self) -> Result<f64, Failure> {
        let nominal = &self.loaded.platform;
        let course = self.scenario.on(nominal).map_err(|e| self.bad_scenario(e))?;
        let known = self.scenario.known(&self.loaded.workflow, nominal, Knowledge::Exact);
        let exact = known.map_err(|e| self.cannot_know(e))?;
        let charges = self.charges();
        let errors = &self.scenario.errors;
        let stated = errors.transfer == ErrorLaw::Exact || errors.wrong == Wrong::Estimate;
        let matrix_changes = !course.pairs.is_empty();
        let platform = nominal.in_world(&course);
        let stated = stated && !matrix_changes;
        // Inputs with copies elsewhere need not come from the origin.
        let inputs = if self.spread.is_empty() { self.inputs } else { Inputs::Everywhere };
        Ok(plan_check::lower_bound(&exact, &platform, &charges, inputs, stated)?)
    }

    /// Simulates the plan of a run without its scenario and returns the causes of the difference; none where this would
    /// take too long or is not comparable.
    pub(super) fn check(&self, ran: &Ran, context: &mut Context<'_>) -> Option<Check> {
        let tasks = self.problem.tasks();
        if self.undecided.is_some()
            || !self.arrivals.is_empty()
            || !self.spread.is_empty()
            || tasks > MOST_TASKS
        {
            return None;
        }
        let check_setup = CheckSetup {
            workflow: self.stated.clone(),
            platform: self.platform.clone(),
            models: self.models.clone(),
            inputs: self.inputs,
            until: self.settings.until,
        };
        let known = self.is_undisturbed(ran).then_some(ran.outcome.makespan);
        follow(&check_setup, &self.known_problem().ok()?, &ran.planned, known, context)
    }

    /// Returns whether a run followed its plan without scenario and with default settings, so that simulating
    /// the plan gives the same.
    fn is_undisturbed(&self, ran: &Ran) -> bool {
        let Settings { until, retries, memory_factor, .. } = self.settings;
        let procs = self.problem.procs();
        self.scenario == Scenario::default()
            && Arc::ptr_eq(&self.known, &self.stated)
            && self.settings == Settings { until, retries, memory_factor, ..Settings::default() }
            && self.transfers == Transfers::Push
            && matches!(ran.name.as_str(), "static" | "schedule")
            && ran.set.is_empty()
            && ran.planned.orders(procs) == ran.outcome.schedule.orders(procs)
    }

    /// Gives the workflows that arrive the run times known of all work together.
    fn apply_knowledge_to_parts(&mut self) -> Result<(), Failure> {
        let Some(table) = self.known.cost_table() else { return Ok(()) };
        let width = table.columns.len();
        for (coming, member) in self.arrivals.iter_mut().zip(self.known.members()) {
            let rows = member.tasks.start as usize * width..member.tasks.end as usize * width;
            let (columns, seconds) = (table.columns.clone(), table.seconds[rows].to_vec());
            let mut part = coming.workflow.reopen().map_err(Failure::input)?;
            part.set_cost_table(CostTable { columns, seconds });
            coming.workflow = Arc::new(part.build().map_err(Failure::input)?);
        }
        Ok(())
    }

    /// Converts moments given as a part of the makespan. The makespan is that of the followed plan without
    /// them, so that all policies run under the same scenario.
    pub(super) fn settle_moments(
        &mut self,
        plan: &Schedule,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        if self.scenario.needs_makespan() {
            let mut follow =
                StaticPlan::of_schedule(plan.clone(), self.planner.clone(), self.transfers);
            let calm = self.scenario.without_relative_moments();
            let undisturbed =
                self.once("plan, undisturbed", &calm, &mut follow, Recording::Nothing, context)?;
            self.scenario = self.scenario.at_makespan(undisturbed.makespan);
        }
        Ok(())
    }

    /// Simulates a run under a policy. Its trace goes to a file if one is named; the caller has to commit that file.
    pub(super) fn run(
        &self,
        name: &str,
        mut policy: Box<dyn Policy>,
        planned: Arc<Schedule>,
        trace: Option<&Path>,
        context: &mut Context<'_>,
    ) -> Result<Ran, Failure> {
        let clock = Instant::now();
        let mut writer = trace.map(|path| self.begin_trace(&context.files, path)).transpose()?;
        let mut moves = Moves::on(&self.platform);
        let mut note = |record: &Record| {
            moves.note(record);
            if let Some(writer) = &mut writer {
                writer.note(record);
            }
        };
        let recording = match self.wanted {
            TraceDetail::Work => Recording::KeepWorkAndStream(&mut note),
            TraceDetail::Figures => Recording::Stream(&mut note),
        };
        let (outcome, log) = if self.logs {
            let mut logged = Logged::new(policy.as_mut());
            (self.once(name, &self.scenario, &mut logged, recording, context)?, logged.log)
        } else {
            let outcome = self.once(name, &self.scenario, policy.as_mut(), recording, context)?;
            (outcome, DecisionLog::default())
        };
        let trace = writer.map(|writer| match writer.finish() {
            (file, Ok(())) => Ok(file),
            (file, Err(error)) => Err(file.fail(error)),
        });
        let trace = trace.transpose()?;
        let wall_seconds = clock.elapsed().as_secs_f64();
        let metrics = Metrics::with_moves(self.problem, &outcome, moves);
        let money = Money::of(self.problem, &outcome);
        let served =
            if self.arrivals.is_empty() { Vec::new() } else { served(self.problem, &outcome, &[]) };
        let told = policy.report();
        let (name, set) = (name.to_string(), Given::new());
        let (beside, check) = (None, None);
        let limits = self.limits;
        Ok(Ran {
            name,
            set,
            outcome,
            metrics,
            money,
            limits,
            served,
            beside,
            planned,
            log,
            wall_seconds,
            told,
            check,
            interval: None,
            recorded: None,
            outcomes: Vec::new(),
            real: false,
            trace,
        })
    }

    fn begin_trace(
        &self,
        files: &FileAccess,
        path: &Path,
    ) -> Result<TraceWriter<'_, AtomicFile>, Failure> {
        let (workflow, platform) = (self.problem.workflow(), self.problem.platform());
        let (format, file) = (TraceFormat::of_path(path)?, files.create(path)?);
        Ok(TraceWriter::new(format, workflow, platform, file))
    }

    /// The turnaround of each workflow if it were alone on the platform from its arrival on.
    pub(super) fn alone(
        &self,
        outcome: &Outcome,
        make: &dyn Fn() -> Result<Box<dyn Policy>, Failure>,
        context: &mut Context<'_>,
    ) -> Result<Vec<Option<f64>>, Failure> {
        let mut found = Vec::new();
        for (coming, arrived) in self.arrivals.iter().zip(&outcome.arrived) {
            let only = vec![Coming { when: When::At(arrived.at), ..coming.clone() }];
            let all = Arrivals::new(only.clone()).and_then(|a| a.all()).map_err(Failure::input)?;
            let loaded = Loaded::plain(all, self.loaded.platform.clone());
            let problem = loaded.charged(&self.models.charges(), self.inputs)?;
            let stated = loaded.workflow.clone();
            let by_itself = Stage {
                problem: &problem,
                loaded: &loaded,
                scenario: self.scenario.clone(),
                scenario_file: self.scenario_file,
                known: stated.clone(),
                stated,
                platform: self.platform.clone(),
                arrivals: only,
                undecided: None,
                inputs: self.inputs,
                spread: Vec::new(),
                models: self.models.clone(),
                transfers: self.transfers,
                planner: self.planner.clone(),
                limits: self.limits,
                settings: self.settings,
                logs: false,
                wanted: TraceDetail::Figures,
            };
            let name = format!("{} alone", arrived.name);
            // Copies are named for all workflows together.
            let alone = Scenario { copies: Vec::new(), ..self.scenario.clone() };
            let mut silent = Silent;
            let mut context = Context::new(context.files.clone(), &mut silent);
            let outcome = by_itself.once(
                &name,
                &alone,
                make()?.as_mut(),
                Recording::Nothing,
                &mut context,
            )?;
            let finish = outcome.finishes().first().copied().filter(|f| f.is_finite());
            found.push(finish.map(|f| f - arrived.at));
        }
        Ok(found)
    }

    /// Simulates one run under a scenario; `what` names it in reports of progress.
    fn once(
        &self,
        what: &str,
        scenario: &Scenario,
        policy: &mut dyn Policy,
        recording: Recording<'_>,
        context: &mut Context<'_>,
    ) -> Result<Outcome, Failure> {
        let limits = self.limits;
        let ready = ReadyStage {
            workflow: self.stated.clone(),
            known: self.known.clone(),
            platform: self.platform.clone(),
            scenario: scenario.clone(),
            models: self.models.clone(),
            inputs: self.inputs,
            arrivals: self.arrivals.clone(),
            undecided: self.undecided.clone(),
            terms: Terms { limits, ..Terms::default() },
            settings: self.settings,
        };
        let mut watcher = Watcher::new(what, context.observer);
        let mut see = |snapshot: &RunSnapshot<'_>| watcher.see(snapshot.situation);
        let outcome = ready.run_as(policy, recording, Some(&mut see)).map_err(|e| match e {
            StageError::Scenario(error) => self.bad_scenario(error),
            other => other.into(),
        });
        watcher.finish();
        outcome
    }

    fn cannot_know(&self, error: KnowledgeError) -> Failure {
        match error {
            KnowledgeError::Scenario(error) => self.bad_scenario(error),
            KnowledgeError::Problem(error) => error.into(),
            KnowledgeError::Workflow(error) => Failure::input(error),
        }
    }

    /// Suggests a name similar to an unknown one.
    fn nearest(&self, kind: &str, name: &str) -> String {
        let (workflow, platform) = (&self.loaded.workflow, &self.loaded.platform);
        let (known, where_from): (Vec<&str>, _) = match kind {
            "task" => (workflow.tasks().map(|t| workflow.task_name(t)).collect(), "WORKFLOW"),
            "link" => (platform.links().iter().map(|l| &*l.name).collect(), "PLATFORM"),
            _ => (platform.hosts().iter().map(|h| &*h.name).collect(), "PLATFORM"),
        };
        match nearest(name, known) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("slackline show {where_from} lists the names"),
        }
    }

    /// An error of a scenario, with its file and, for unknown names, similar ones.
    fn bad_scenario(&self, error: ScenarioError) -> Failure {
        let message = match self.scenario_file {
            Some(path) => format!("{}: {error}", path.display()),
            None => error.to_string(),
        };
        let failure = Failure::input(message);
        match error {
            ScenarioError::Unknown { kind, name } => failure.with_help(self.nearest(kind, &name)),
            ScenarioError::UnknownTask { name } => failure.with_help(self.nearest("task", &name)),
            _ => failure,
        }
    }
}

/// Returns the limits for a plan of all workflows: those given, else the sum of the budgets and the latest of
/// the deadlines if all workflows have them.
fn common_limits(given: &Limits, arrivals: &[Coming]) -> Limits {
    let limits = || arrivals.iter().map(|c| c.terms.limits);
    let sum = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
    let latest = |a: Option<f64>, b: Option<f64>| Some(a?.max(b?));
    Limits {
        budget: given.budget.or_else(|| limits().map(|l| l.budget).reduce(sum).flatten()),
        deadline: given.deadline.or_else(|| limits().map(|l| l.deadline).reduce(latest).flatten()),
    }
}

/// Reports the progress of a run that takes long.
struct Watcher<'o> {
    what: &'o str,
    observer: &'o mut dyn Observer,
    next: Instant,
    has_reported: bool,
}

impl<'o> Watcher<'o> {
    fn new(what: &'o str, observer: &'o mut dyn Observer) -> Watcher<'o> {
        Watcher { what, observer, next: Instant::now() + SILENT, has_reported: false }
    }

    fn see(&mut self, now: &Situation) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + EVERY;
        self.has_reported = true;
        let done = now.tasks.iter().filter(|t| t.is_done()).count();
        self.observer.progress(self.what, done, now.tasks.len());
    }

    fn finish(self) {
        if self.has_reported {
            self.observer.progress_finished();
        }
    }
}

/// The storage named by `--data`, with room for all files of the workflow.
fn storage(setup: &SimulationSetup, loaded: &Loaded) -> Result<Option<DiskId>, Failure> {
    let Some(name) = &setup.storage else { return Ok(None) };
    let (workflow, disks) = (&loaded.workflow, loaded.platform.disks());
    if let Some(found) = disks.iter().position(|disk| *disk.name == **name) {
        let disk = &disks[found];
        let taken = disk.contents.as_ref().map_or(0.0, |contents| contents.used() as f64);
        // Files are not removed from it during a run.
        let needed: f64 = workflow.files().map(|file| workflow.file_bytes(file)).sum();
        if let Some(room) = disk.capacity.map(|capacity| capacity - taken)
            && approx::gt(needed, room)
        {
            let (needed, room) = (fmt_bytes(needed), fmt_bytes(room));
            let message = format!(
                "--data {name}: the files of the workflow take {needed}, and there is room for {room}"
            );
            return Err(Failure::work(message));
        }
        return Ok(Some(DiskId::new(found)));
    }
    let known: Vec<&str> = disks.iter().map(|disk| &*disk.name).collect();
    let help = match known.as_slice() {
        [] => "the platform has no storage: hosts or central".to_string(),
        known => format!("hosts, central, or a storage of the platform: {}", known.join(", ")),
    };
    Err(Failure::input(format!("--data {name}: there is no such storage")).with_help(help))
}
