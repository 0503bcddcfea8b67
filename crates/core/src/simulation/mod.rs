//! Simulated runs: from a request to runs of one or more policies, and their report.

mod decisions;
mod replications;
mod report;
mod setup;
mod stream;
mod sweep;

pub use decisions::compare_decisions;
pub use replications::{PolicyOver, ReplicatedRun, Replication, ReplicationsReport};
pub use report::{OwnerReport, SimulationReport, SimulationReports, WorkflowReport};
pub use sweep::Sweep;

use crate::choices::{ChoicesRunReport, ForecastReport, outcomes, read_outcomes};
use crate::context::{Context, Silent};
use crate::details_json::check_needs;
use crate::failure::{Failure, no_plan};
use crate::input::{Loaded, Past, read_scenario};
use crate::interval::MakespanInterval;
use crate::methods::{ALL_POLICIES, check_parameters, check_results, policies_of, settle_period};
use crate::planner_options::unheeded;
use crate::recorded;
use crate::request::{CompareRequest, SimulateRequest, SimulationSetup};
use serde::Serialize;
use setup::Stage;
use slackline_analysis::cost::Money;
use slackline_analysis::metrics::Metrics;
use slackline_analysis::overheads::delayed;
use slackline_analysis::plan_check::Check;
use slackline_analysis::workflow_metrics::{Beside, Served, beside, served};
use slackline_engine::{Coming, DecisionLog, Ending, Outcome, Undecided};
use slackline_formats::schedule_file;
use slackline_io::{AtomicFile, FileAccess};
use slackline_model::control::{Chances, draw_course};
use slackline_model::parameter::{self, Given};
use slackline_model::scenario::Scenario;
use slackline_model::schedule::{Detail, Limits, validate};
use slackline_model::{Problem, Schedule, Workflow};
use slackline_react::StaticPlan;
use slackline_react::registry::{Entry, Options};
use slackline_schedule::qos::pareto::Point;
use slackline_schedule::{Capability, Planner};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Records of runs kept in addition to their figures.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// A file to which the trace is written during a run; with several runs one file each ([`own_name`]).
    pub trace: Option<PathBuf>,
    /// The log of what policies were notified of and decided.
    pub decisions: bool,
    /// Task by task, what was done where.
    pub work: bool,
    /// Whether the data of the JSON report are kept.
    pub report: bool,
}

/// One run and what drove it.
pub struct Ran {
    /// The policy.
    pub name: String,
    /// Parameters of policy and planner that were given.
    pub set: Given,
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Its figures.
    pub metrics: Metrics,
    /// Its bill.
    pub money: Money,
    /// Limits of the single workflow.
    pub limits: Limits,
    /// Metrics of each of several workflows.
    pub served: Vec<Served>,
    /// Metrics relative to the other policies.
    pub beside: Option<Beside>,
    /// The first plan.
    pub planned: Arc<Schedule>,
    /// Events and decisions of the policy.
    pub log: DecisionLog,
    /// Seconds that the simulation took.
    pub wall_seconds: f64,
    /// Further members of the policy's report.
    pub told: Vec<(&'static str, Detail)>,
    /// Causes of the difference to the plan.
    pub check: Option<Check>,
    /// It was done on real machines.
    pub real: bool,
    /// Makespan of the run that the workflow was recorded from, in seconds.
    pub recorded: Option<f64>,
    /// Bounds of the makespan, where the workflow is a recorded run and no scenario is named.
    pub interval: Option<MakespanInterval>,
    /// Outcomes of decisions as `DECISION=OUTCOME`, for a workflow with choices and loops.
    pub outcomes: Vec<String>,
    /// Its trace, where one was written during the run.
    pub trace: Option<AtomicFile>,
}

impl Ran {
    /// A run of one workflow and what its first plan promised.
    pub fn of(
        name: String,
        outcome: Outcome,
        metrics: Metrics,
        money: Money,
        planned: Schedule,
    ) -> Ran {
        let planned = Arc::new(planned);
        Ran {
            name,
            set: Given::new(),
            outcome,
            metrics,
            money,
            limits: Limits::default(),
            served: Vec::new(),
            beside: None,
            planned,
            log: DecisionLog::default(),
            wall_seconds: 0.0,
            told: Vec::new(),
            check: None,
            real: false,
            recorded: None,
            interval: None,
            outcomes: Vec::new(),
            trace: None,
        }
    }

    /// Whether the run of one workflow kept to its limits, where it has any.
    pub fn keeps_limits(&self) -> Option<bool> {
        let Limits { budget, deadline } = self.limits;
        let limited = budget.is_some() || deadline.is_some();
        let point = Point { makespan: self.outcome.makespan, cost: self.money.total };
        limited.then(|| self.unfinished().is_none() && point.excess(&self.limits) == 0.0)
    }

    /// The workflows of each owner, where any has one.
    pub fn by_owner(&self) -> Vec<(&str, Vec<&Served>)> {
        let mut owners: Vec<(&str, Vec<&Served>)> = Vec::new();
        for (arrived, served) in self.outcome.arrived.iter().zip(&self.served) {
            let owner = arrived.terms.owner.as_str();
            match owners.iter_mut().find(|(o, _)| *o == owner) {
                Some((_, all)) => all.push(served),
                None => owners.push((owner, vec![served])),
            }
        }
        owners.retain(|_| self.outcome.arrived.iter().any(|a| !a.terms.owner.is_empty()));
        owners
    }

    /// The workflows that were given up, and why the first of them was.
    pub fn abandoned(&self) -> Option<(Vec<&str>, &str)> {
        let given_up = || self.outcome.arrived.iter().filter(|a| a.abandoned.is_some());
        let why = given_up().next()?.abandoned.as_deref()?;
        Some((given_up().map(|a| a.name.as_str()).collect(), why))
    }

    /// Adds what this run differs by from its plan, given what the plan comes to undisturbed.
    pub fn explain(&mut self, undisturbed: Option<Check>) {
        self.check = undisturbed.map(|check| {
            let simulated = self.outcome.makespan;
            let levels = simulated - (check.simulated - check.levels);
            Check { simulated, levels, ..check }
        });
    }

    /// Puts the dates of plan and run off by a wait; charts and traces count from the first task's.
    pub fn delay(&mut self, wait: f64) {
        if wait == 0.0 {
            return;
        }
        self.outcome.schedule = delayed(std::mem::take(&mut self.outcome.schedule), wait);
        self.outcome.makespan += wait;
        self.planned = Arc::new(delayed(Schedule::clone(&self.planned), wait));
    }

    /// Reason why it did not finish.
    pub fn unfinished(&self) -> Option<&str> {
        match &self.outcome.ending {
            Ending::Finished => None,
            Ending::CannotFinish(why) => Some(why),
        }
    }
}

/// A request with what it names.
#[derive(Clone, Debug)]
pub struct SimulationInput {
    /// The policies that are run.
    pub policies: Vec<String>,
    /// Everything else.
    pub setup: SimulationSetup,
    /// Workflow and platform.
    pub loaded: Loaded,
    pub(crate) scenario: Scenario,
    arrivals: Vec<Coming>,
    /// Template of the workflow, which is one course of it.
    undecided: Option<Undecided>,
}

/// Runs of one or more policies under the same conditions.
pub struct Simulations<'p> {
    /// The problem.
    pub problem: &'p Problem<'p>,
    /// One for each policy; at least one.
    pub runs: Vec<Ran>,
    stage: Stage<'p>,
    /// Seconds before the first task.
    wait: f64,
}

/// The report of a request for simulated runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SimulationAnswer {
    /// Of one run.
    Run(Box<SimulationReport>),
    /// Of one run for each policy.
    Runs(SimulationReports),
    /// Of several replications.
    Replications(ReplicationsReport),
    /// Of one run of a workflow with choices and loops on leased machines.
    Course(Box<ChoicesRunReport>),
    /// Of many.
    Forecast(Box<ForecastReport>),
}

impl SimulateRequest {
    /// Carries the request out. A run that cannot finish is not an error; the report contains the reason.
    pub fn report(self, context: &mut Context<'_>) -> Result<SimulationAnswer, Failure> {
        self.setup.report(vec![self.policy], context)
    }
}

impl CompareRequest {
    /// Carries the request out. Runs that cannot finish are not an error; the report contains the reasons.
    pub fn report(self, context: &mut Context<'_>) -> Result<SimulationAnswer, Failure> {
        if self.policies.is_empty() {
            return Err(Failure::input("policies: none is named"));
        }
        self.setup.report(self.policies, context)
    }
}

impl SimulationSetup {
    /// Whether several replications are wanted.
    pub fn is_replicated(&self) -> bool {
        let of_scenarios = |path: &Path| {
            path.is_dir() && recorded::engine_of(path, &FileAccess::default()).is_none()
        };
        self.replications.is_some() || self.scenario.as_deref().is_some_and(of_scenarios)
    }

    fn report(
        self,
        policies: Vec<String>,
        context: &mut Context<'_>,
    ) -> Result<SimulationAnswer, Failure> {
        if let Some(input) = self.choices(&policies, context)? {
            let problem = input.problem()?;
            let planned = input.plan(&problem)?;
            return Ok(input.report(&planned, &input.simulate(&planned, context)?));
        }
        if self.is_replicated() {
            let report = self.replicate(&policies, context)?;
            return Ok(SimulationAnswer::Replications(report));
        }
        let input = self.read(policies, context)?;
        let problem = input.problem()?;
        let outputs = Outputs { report: true, ..Outputs::default() };
        let mut simulated = input.simulate(&problem, &outputs, context)?;
        simulated.delay(&input);
        simulated.report()
    }

    /// Reads what the request names.
    pub fn read(
        self,
        policies: Vec<String>,
        context: &mut Context<'_>,
    ) -> Result<SimulationInput, Failure> {
        self.check()?;
        let mut scenario = match &self.scenario {
            Some(path) => read_scenario(&context.files, path)?,
            None => Scenario::default(),
        };
        let (mut loaded, arrivals) = stream::read(&self, &scenario, context)?;
        if scenario.arrivals.is_empty() {
            scenario.measured = loaded.measured.take();
        }
        let input =
            SimulationInput { policies, setup: self, loaded, scenario, arrivals, undecided: None };
        if input.loaded.workflow.control().is_some() { input.unfolded(context) } else { Ok(input) }
    }
}

/// Most attempts at finding the order in which a run releases the tasks of its course.
pub(crate) const MOST_ORDERS: usize = 8;

impl SimulationInput {
    /// One course of a workflow with choices and loops: the policy sees only what decisions have released.
    fn unfolded(self, context: &mut Context<'_>) -> Result<SimulationInput, Failure> {
        let template = self.loaded.workflow.clone();
        let Some(control) = template.control() else { return Ok(self) };
        let setup = &self.setup;
        let unheard = [
            ("--compare", self.policies.len() > 1 || self.policies == [ALL_POLICIES]),
            ("--schedule", setup.schedule.is_some()),
            ("--alone", setup.alone),
            ("--arrivals", !self.arrivals.is_empty()),
            ("--runs", setup.is_replicated()),
        ];
        if let Some((option, _)) = unheard.iter().find(|(_, given)| *given) {
            let message = format!(
                "{option}: a workflow with choices and loops runs under one policy and one scenario at a time"
            );
            return Err(Failure::input(message)
                .with_help("every policy meets the same decisions at the same --seed and --run"));
        }
        let given = read_outcomes(&context.files, setup.choices.as_deref(), control)?;
        let (seed, run) = (setup.seed.unwrap_or_default(), setup.run.unwrap_or_default());
        let chances = Chances { seed, run, given };
        let (mut course, _) =
            draw_course(&template, &mut chances.clone()).map_err(Failure::input)?;
        let undecided = Undecided::new(template.clone(), chances);
        let mut silent = Silent;
        let mut quiet = Context::new(context.files.clone(), &mut silent);
        quiet.brief = true;
        // Tasks are numbered as they become known, which depends on the run: it is repeated until the course is
        // numbered as the run numbers it.
        for _ in 0..MOST_ORDERS {
            let loaded = Loaded { workflow: course, ..self.loaded.clone() };
            let input =
                SimulationInput { loaded, undecided: Some(undecided.clone()), ..self.clone() };
            {
                let problem = input.problem()?;
                input.simulate(&problem, &Outputs::default(), &mut quiet)?;
            }
            match undecided.last().released {
                Some(released) if !same_order(&released, &input.loaded.workflow) => {
                    course = released;
                }
                _ => return Ok(input),
            }
        }
        Err(Failure::work("the order in which decisions fall depends on how tasks are numbered")
            .with_help("this is a bug: please report it with the input"))
    }
}

/// Whether both have the same tasks under the same numbers.
pub(crate) fn same_order(one: &Workflow, other: &Workflow) -> bool {
    let names = |w: &Workflow, task| w.task_name(task).to_string();
    one.len() == other.len() && one.tasks().all(|t| names(one, t) == names(other, t))
}

impl SimulationInput {
    /// The planning problem.
    pub fn problem(&self) -> Result<Problem<'_>, Failure> {
        self.loaded.problem(&self.setup.models)
    }

    /// Lets every policy run.
    pub fn simulate<'p>(
        &'p self,
        problem: &'p Problem<'p>,
        outputs: &Outputs,
        context: &mut Context<'_>,
    ) -> Result<Simulations<'p>, Failure> {
        let setup = &self.setup;
        if setup.alone && self.arrivals.is_empty() {
            let message = "--alone compares workflows that arrive with themselves; none arrives";
            return Err(Failure::input(message).with_help("--arrivals FILE says who does"));
        }
        let (scenario, arrivals) = (self.scenario.clone(), self.arrivals.clone());
        let mut stage = Stage::new(
            setup,
            &self.loaded,
            problem,
            scenario,
            arrivals,
            (outputs, &self.policies),
        )?;
        stage.undecided = self.undecided.clone();
        let trace = outputs.trace.as_deref();
        let mut runs = runs(setup, &self.policies, trace, &mut stage, context)?;
        if runs.len() > 1 && runs.iter().all(|r| !r.served.is_empty()) {
            let all: Vec<Vec<Served>> = runs.iter().map(|r| r.served.clone()).collect();
            for (ran, beside) in runs.iter_mut().zip(beside(&all)) {
                ran.beside = Some(beside);
            }
        }
        if let [one] = runs.as_mut_slice()
            && one.unfinished().is_none()
            && !context.brief
        {
            one.explain(stage.check(one, context));
        }
        if let Some(Undecided { template, .. }) = &self.undecided
            && let (Some(control), Some(last)) = (template.control(), &self.undecided)
        {
            runs.iter_mut().for_each(|ran| ran.outcomes = outcomes(control, &last.last().taken));
        }
        Ok(Simulations { problem, runs, stage, wait: setup.overheads.wait() })
    }
}

impl Simulations<'_> {
    /// Puts the dates of all runs off by the wait before the first task, once charts and traces are written, which
    /// count from it.
    pub fn delay(&mut self, input: &SimulationInput) {
        for ran in &mut self.runs {
            ran.delay(self.wait);
            ran.recorded = Past::makespan(input.loaded.past.as_ref());
            let is_plain = input.setup.scenario.is_none() && input.arrivals.is_empty();
            if let Some(basis) = input.loaded.basis.as_ref().filter(|_| is_plain)
                && ran.unfinished().is_none()
            {
                let ends = (ran.outcome.makespan, self.wait);
                ran.interval = Some(basis.interval(self.problem, &ran.outcome.schedule, ends));
            }
        }
    }

    /// The scenario of all runs; dates that were parts of a makespan are settled.
    pub fn scenario(&self) -> &Scenario {
        &self.stage.scenario
    }

    /// The report of the run, or of all of them.
    pub fn report(&self) -> Result<SimulationAnswer, Failure> {
        let lower_bound = self.stage.lower_bound()? + self.wait;
        let report = |ran: &Ran| SimulationReport::new(self.problem, ran, lower_bound);
        Ok(match self.runs.as_slice() {
            [one] => SimulationAnswer::Run(Box::new(report(one))),
            many => SimulationAnswer::Runs(SimulationReports {
                schema: "slackline/simulations/1",
                runs: many.iter().map(report).collect(),
            }),
        })
    }

    /// Fails where the run cannot finish or gave up a workflow, and where none of several runs can finish.
    pub fn verdict(&self) -> Result<(), Failure> {
        let runs = &self.runs;
        if let [ran] = runs.as_slice()
            && ran.unfinished().is_none()
            && let Some((names, why)) = ran.abandoned()
        {
            let which = names.iter().map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ");
            return Err(Failure::work(format!("{} gave up {which}: {why}", ran.name)));
        }
        // A comparison has done its work where at least one policy has.
        match runs.iter().map(|r| (r, r.unfinished())).collect::<Vec<_>>()[..] {
            [(one, Some(why))] => Err(Failure::work(format!("{} cannot finish: {why}", one.name))),
            [(_, Some(why)), ref rest @ ..] if rest.iter().all(|(_, w)| w.is_some()) => {
                Err(Failure::work(format!("none of these policies can finish: {why}")))
            }
            _ => Ok(()),
        }
    }
}

/// `run.svg` of one run, `run.gtp-c.svg` of one among several.
pub fn own_name(path: &Path, policy: &str, only: bool) -> PathBuf {
    if only {
        return path.to_path_buf();
    }
    let policy = policy.replace('/', "-");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    match path.extension() {
        Some(end) => path.with_file_name(format!("{stem}.{policy}.{}", end.to_string_lossy())),
        None => path.with_file_name(format!("{stem}.{policy}")),
    }
}

/// The runs that were asked for: a given schedule, one policy, or several.
fn runs(
    setup: &SimulationSetup,
    policies: &[String],
    trace: Option<&Path>,
    stage: &mut Stage<'_>,
    context: &mut Context<'_>,
) -> Result<Vec<Ran>, Failure> {
    let (transfers, given) = (stage.transfers, setup.given());
    let mut options = Options {
        transfers,
        given: given.clone(),
        seed: setup.seed.unwrap_or_default(),
        ..Options::new(stage.planner.clone())
    };
    let names: Vec<&str> = policies.iter().map(String::as_str).collect();
    let limits = setup.limits.limits();
    let Planner { algorithm, request } = &stage.planner;
    check_needs(algorithm.name, algorithm.needs, stage.problem, &request.limits)?;
    let entries = policies_of(&names, stage.problem, &limits)?;
    check_parameters(&entries, &options)?;
    let lots = stage.undecided.is_some()
        || algorithm.capabilities().contains(&Capability::Seed)
        || entries.iter().any(|e| e.is_randomised());
    if setup.seed.is_some() && !lots {
        return Err(unheeded(Capability::Seed));
    }
    check_results(&given, stage.problem)?;
    if !names.contains(&ALL_POLICIES) {
        for entry in &entries {
            entry.policy(&options)?.check(stage.problem)?;
        }
    }
    if let Some(path) = &setup.schedule {
        let schedule = match recorded::engine_of(path, &context.files) {
            Some(_) => recorded::schedule(path, stage.problem, context)?,
            None => schedule_file::read_schedule(&context.files, path, stage.problem)?,
        };
        if let Some(violation) = validate(stage.problem, &schedule, &Limits::default()).first() {
            context.warning(&format!("{}: {violation}", path.display()));
        }
        stage.settle_moments(&schedule, context)?;
        let planner = stage.planner.clone();
        let policy = StaticPlan::of_schedule(schedule.clone(), planner, stage.transfers);
        let schedule = Arc::new(schedule);
        return Ok(vec![stage.run("schedule", Box::new(policy), schedule, trace, context)?]);
    }
    let told = stage.known_problem()?;
    let platform = setup.input.platform.as_deref();
    let planned = stage.planner.plan(&told).map_err(|e| no_plan(e, &told, platform))?;
    stage.settle_moments(&planned, context)?;
    let planned = Arc::new(planned);
    settle_period(&mut options, &planned)?;
    let run = |entry: &&'static Entry| {
        let trace = trace.map(|p| own_name(p, entry.name, entries.len() == 1));
        let policy = entry.policy(&options)?;
        let mut ran = stage.run(entry.name, policy, planned.clone(), trace.as_deref(), context)?;
        if setup.alone {
            let make = || Ok(entry.policy(&options)?);
            let alone = stage.alone(&ran.outcome, &make, context)?;
            ran.served = served(stage.problem, &ran.outcome, &alone);
        }
        let parameters = [entry.parameters, stage.planner.algorithm.parameters].concat();
        let set = parameter::own(&given, &parameters).cloned().collect();
        Ok(Ran { set, ..ran })
    };
    entries.iter().map(run).collect()
}
