//! Workflows with choices and loops on leased machines, under a budget: plans of their sub-workflows, runs with these
//! plans, forecasts of many runs. Other policies drive single runs as they drive any ([`crate::simulation`]).

mod report;

pub use report::{
    ASSUMES, ChoicesPlanReport, ChoicesRunReport, Executions, ForecastReport, Head, Intervals,
    Named, PartFacts, PartPlanReport, PlacedInstanceReport, ReleaseReport, outcomes, part_facts,
};

use crate::context::Context;
use crate::failure::Failure;
use crate::input::Loaded;
use crate::plan::PlanAnswer;
use crate::request::{PlanRequest, SimulationSetup};
use crate::simulation::SimulationAnswer;
use rayon::prelude::*;
use serde::Serialize;
use slackline_analysis::forecast::Forecast;
use slackline_io::FileAccess;
use slackline_model::control::{Chances, Control, Given as Outcomes};
use slackline_model::parameter::Given;
use slackline_model::schedule::Limits;
use slackline_model::{Platform, Problem, Workflow};
use slackline_schedule::nondet::{self, Course, Kinds, Method, NondetError, Options, Plan, Run};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A workflow, its structure, and the tasks alone.
#[derive(Clone, Debug)]
pub struct Template {
    /// Its choices and loops.
    pub control: Arc<Control>,
    /// The tasks alone.
    pub tasks: Workflow,
}

impl Template {
    /// Of any workflow; one without choices and loops is a single part.
    pub fn of(workflow: &Workflow) -> Result<Template, Failure> {
        let control = match workflow.control() {
            Some(control) => control.clone(),
            None => Arc::new(Control::of_plain(workflow).map_err(Failure::input)?),
        };
        Ok(Template { control, tasks: workflow.clone().without_control() })
    }
}

/// A workflow that is planned by a method for leased machines, and what is asked for.
#[derive(Clone, Debug)]
pub struct ChoicesInput {
    /// The workflow.
    pub template: Template,
    /// The platform.
    pub platform: Arc<Platform>,
    /// The method and its parameters.
    pub options: Options,
    /// Budget and deadline.
    pub limits: Limits,
    given: Given,
    seed: u64,
    run: u64,
    runs: Option<u32>,
    outcomes: Outcomes,
}

/// Plans of all sub-workflows.
pub struct PlannedChoices<'p> {
    /// The workflow.
    pub template: &'p Template,
    /// The platform.
    pub platform: &'p Platform,
    /// The kinds of machines.
    pub kinds: Kinds<'p>,
    /// The plans.
    pub plan: Plan,
    /// The method and its parameters.
    pub options: &'p Options,
    given: &'p Given,
}

/// Simulated executions of a workflow with choices and loops.
pub enum Simulated {
    /// One run.
    Run(Box<Run>),
    /// Many.
    Forecast(Box<Forecast>),
}

/// Returns whether a file mentions choices or loops, by a text search that is cheaper than parsing. May be true
/// without any.
pub fn may_have_choices(files: &FileAccess, file: &Path) -> bool {
    let words = ["[choice.", "[loop.", "\"choices\"", "\"loops\"", "\"in\""];
    files.read_text(file).is_ok_and(|text| words.iter().any(|word| text.contains(word)))
}

/// Outcomes from a JSON object, checked against the workflow.
pub fn read_outcomes(
    files: &FileAccess,
    path: Option<&Path>,
    control: &Control,
) -> Result<Outcomes, Failure> {
    let Some(path) = path else { return Ok(Outcomes::new()) };
    let text = files.read_text(path)?;
    let fail = |why: String| Failure::input(format!("{}: {why}", path.display()));
    let given: Outcomes = serde_json::from_str(&text).map_err(|e| {
        fail(format!(
            "{e}; expected an object such as {{\"quality\": \"bad\", \"polish#1\": \"again\"}}"
        ))
    })?;
    control.check_given(&given).map_err(|e| fail(e.to_string()))?;
    Ok(given)
}

fn names_of_methods() -> String {
    Method::ALL.map(Method::name).join(", ")
}

/// The method among these names; an error where they are mixed with others, or where the workflow
/// needs one and there is none.
fn method_of(names: &[String], workflow: &Workflow) -> Result<Option<Method>, Failure> {
    let found: Vec<Method> = names.iter().filter_map(|name| Method::find(name)).collect();
    let all = names_of_methods();
    match (found.as_slice(), names.len()) {
        ([one], 1) => Ok(Some(*one)),
        ([], 0) if workflow.control().is_some() => Ok(Some(Method::Combined)),
        ([], _) if workflow.control().is_none() => Ok(None),
        ([], _) => {
            let message = format!(
                "'{}' has choices and loops, which {} cannot plan",
                workflow.name(),
                names.join(", ")
            );
            Err(Failure::input(message).with_help(format!(
                "plan it with {all}, or unfold one course of it: slackline convert FILE out.json --draw 0"
            )))
        }
        _ => Err(Failure::input(format!("{all} are planned one at a time"))
            .with_help("name one of them with --algorithm")),
    }
}

/// The options of a method: what was set, and a budget.
fn options(method: Method, limits: &Limits, given: &Given) -> Result<Options, Failure> {
    let Some(budget) = limits.budget else {
        return Err(Failure::input(format!("{} needs a budget", method.name()))
            .with_help("give one with --budget MONEY"));
    };
    Ok(Options::new(method, budget).with(given)?)
}

fn failure(error: NondetError) -> Failure {
    Failure::input(error)
}

/// Returns the command-line option that corresponds to a member of a request.
fn option_of(member: &str) -> String {
    match member {
        "planner" => "--algorithm".to_string(),
        "replications" => "--runs".to_string(),
        "explain" => "--why".to_string(),
        "models" => "--config and --inputs".to_string(),
        "overheads" => "--overhead and --queue-wait".to_string(),
        "search" => "--seed, --iterations, --time-limit and --threads".to_string(),
        "check" => "--no-check".to_string(),
        "storage" => "--data".to_string(),
        other => format!("--{}", other.replace('_', "-")),
    }
}

/// Refuses members of a request that are not the default and mean nothing here.
fn refuse_rest<T: Serialize>(rest: &T, nothing: &T, method: Method) -> Result<(), Failure> {
    let (rest, nothing) = (serde_json::to_value(rest)?, serde_json::to_value(nothing)?);
    let other = rest
        .as_object()
        .into_iter()
        .flatten()
        .find(|(name, value)| nothing.get(name.as_str()) != Some(value));
    let Some((member, _)) = other else { return Ok(()) };
    let message = format!(
        "{} has no meaning under {}, where every estimate comes true on machines that are leased",
        option_of(member),
        method.name()
    );
    Err(Failure::input(message))
}

impl PlanRequest {
    /// Reads what the request names, where that is planned by a method for leased machines; none where other planners
    /// take it.
    pub fn choices(&self, context: &mut Context<'_>) -> Result<Option<ChoicesInput>, Failure> {
        let file = self.input.instance.as_deref();
        let file = file.or(self.input.workflows.first().map(PathBuf::as_path));
        let named = self.planners.iter().any(|name| Method::find(name).is_some());
        if !named && !file.is_some_and(|file| may_have_choices(&context.files, file)) {
            return Ok(None);
        }
        self.check()?;
        let mut loaded = self.input.read_all(&self.input.workflows, context)?;
        let Some(method) = method_of(&self.planners, &loaded.workflow)? else { return Ok(None) };
        if self.limits.deadline.is_some() {
            let message = format!("--deadline: {} plans under a budget alone", method.name());
            return Err(Failure::input(message).with_help(
                "simulate --runs N --deadline TIME shows how likely a deadline is kept",
            ));
        }
        let mut overheads = self.overheads;
        overheads.task = None;
        let rest = PlanRequest {
            input: Default::default(),
            planners: Vec::new(),
            parameters: Default::default(),
            limits: Default::default(),
            overheads,
            ..self.clone()
        };
        refuse_rest(&rest, &PlanRequest::default(), method)?;
        self.overheads.apply(&mut loaded);
        let limits = self.limits.limits();
        ChoicesInput::new(method, loaded, limits, self.parameters.0.clone()).map(Some)
    }
}

impl SimulationSetup {
    /// Reads what the setup names, where that is simulated under a method for leased machines; none where another policy
    /// drives the run.
    pub fn choices(
        &self,
        policies: &[String],
        context: &mut Context<'_>,
    ) -> Result<Option<ChoicesInput>, Failure> {
        let file = self.input.instance.as_deref();
        let file = file.or(self.input.workflows.first().map(PathBuf::as_path));
        let found: Vec<Method> = policies.iter().filter_map(|name| Method::find(name)).collect();
        let has_choices = file.is_some_and(|file| may_have_choices(&context.files, file));
        let asks = self.run.is_some() || self.runs.is_some() || self.choices.is_some();
        if found.is_empty() && !asks && !has_choices {
            return Ok(None);
        }
        self.check()?;
        let first = self.input.workflows.first().map(PathBuf::as_path);
        let undecided = || -> Result<bool, Failure> {
            let mut silent = crate::context::Silent;
            let mut quiet = Context::new(context.files.clone(), &mut silent);
            Ok(self.input.arrivals.is_none()
                && self.input.read(first, &mut quiet)?.workflow.control().is_some())
        };
        let method = match (found.as_slice(), policies) {
            ([method], [_]) => *method,
            ([], _) => {
                let undecided = undecided()?;
                if let Some(message) = self.out_of_place(undecided) {
                    return Err(message);
                }
                return Ok(None);
            }
            _ => {
                let message = format!("{} are simulated one at a time", names_of_methods());
                return Err(Failure::input(message).with_help(
                    "every policy meets the same decisions at the same --seed and --run",
                ));
            }
        };
        let mut loaded = self.input.read(first, context)?;
        // Without decisions, too: runs on leased machines differ by their draws alone.
        let runs = self.runs.or(self.replications);
        if self.run.is_some() && runs.is_some() {
            return Err(Failure::input("--run is one run, --runs many"));
        }
        let mut overheads = self.overheads;
        overheads.task = None;
        let rest = SimulationSetup {
            input: Default::default(),
            parameters: Default::default(),
            limits: Default::default(),
            overheads,
            seed: None,
            run: None,
            runs: None,
            replications: None,
            choices: None,
            ..self.clone()
        };
        refuse_rest(&rest, &SimulationSetup::default(), method).map_err(|failure| {
            failure.with_help("a policy such as static or slackline takes it")
        })?;
        self.overheads.apply(&mut loaded);
        let (limits, given) = (self.limits.limits(), self.parameters.0.clone());
        let mut input = ChoicesInput::new(method, loaded, limits, given)?;
        let files = &context.files;
        input.outcomes = read_outcomes(files, self.choices.as_deref(), &input.template.control)?;
        input.seed = self.seed.unwrap_or_default();
        input.run = self.run.unwrap_or_default();
        input.runs = runs;
        Ok(Some(input))
    }

    /// Returns the error for options that only apply to forecasts of workflows with choices and loops, where
    /// one was given.
    fn out_of_place(&self, undecided: bool) -> Option<Failure> {
        let options = [
            ("--runs", self.runs.is_some()),
            ("--run", self.run.is_some()),
            ("--choices", self.choices.is_some()),
        ];
        let (option, _) = options.iter().find(|(_, given)| *given)?;
        if !undecided {
            let message =
                format!("{option} is for workflows with choices and loops; this one has none");
            return Some(Failure::input(message));
        }
        self.runs.map(|_| {
            let all = names_of_methods();
            Failure::input(format!("--runs: forecasts are made under {all}, with a budget"))
                .with_help("add --policy combined --budget MONEY; other policies simulate one --run at a time")
        })
    }
}

impl ChoicesInput {
    fn new(
        method: Method,
        loaded: Loaded,
        limits: Limits,
        given: Given,
    ) -> Result<ChoicesInput, Failure> {
        Ok(ChoicesInput {
            options: options(method, &limits, &given)?,
            template: Template::of(&loaded.workflow)?,
            platform: loaded.platform,
            limits,
            given,
            seed: 0,
            run: 0,
            runs: None,
            outcomes: Outcomes::new(),
        })
    }

    /// The problem of the tasks by themselves.
    pub fn problem(&self) -> Result<Problem<'_>, Failure> {
        Ok(nondet::task_times(&self.template.tasks, &self.platform)?)
    }

    /// Seed of the draws.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Plans every sub-workflow under its share of the budget.
    pub fn plan<'p>(&'p self, problem: &'p Problem<'p>) -> Result<PlannedChoices<'p>, Failure> {
        let kinds = Kinds::new(problem);
        let plan = nondet::plan(&self.template.control, &kinds, &self.options).map_err(failure)?;
        Ok(PlannedChoices {
            template: &self.template,
            platform: &self.platform,
            kinds,
            plan,
            options: &self.options,
            given: &self.given,
        })
    }

    /// Simulates the run, or the runs, that were asked for.
    pub fn simulate(
        &self,
        planned: &PlannedChoices<'_>,
        context: &mut Context<'_>,
    ) -> Result<Simulated, Failure> {
        let PlannedChoices { kinds, plan, options, .. } = planned;
        let control = &self.template.control;
        let course = Course::new(control.clone(), kinds, plan).map_err(failure)?;
        let one = |run: u64| {
            let given = self.outcomes.clone();
            course.run(options, &mut Chances { seed: self.seed, run, given })
        };
        if !plan.is_feasible() && !options.adaptive {
            context.warning(
                "the budget does not suffice for every sub-workflow; the cheapest plans are followed",
            );
        }
        let Some(runs) = self.runs else {
            return Ok(Simulated::Run(Box::new(one(self.run).map_err(failure)?)));
        };
        let all: Result<Vec<Run>, _> = (0..u64::from(runs)).into_par_iter().map(one).collect();
        let all = all.map_err(failure)?;
        let names: Vec<&str> = plan.parts.iter().map(|p| p.name.as_str()).collect();
        let deadline = self.limits.deadline;
        let forecast = Forecast::of(control, &all, &names, options.budget, deadline);
        Ok(Simulated::Forecast(Box::new(forecast)))
    }

    /// The report of what was simulated.
    pub fn report(&self, planned: &PlannedChoices<'_>, simulated: &Simulated) -> SimulationAnswer {
        let head = Head::new(planned, self.limits.deadline, self.seed);
        match simulated {
            Simulated::Run(run) => {
                let report = ChoicesRunReport::new(head, self.run, planned, run);
                SimulationAnswer::Course(Box::new(report))
            }
            Simulated::Forecast(forecast) => {
                SimulationAnswer::Forecast(Box::new(ForecastReport::new(head, forecast)))
            }
        }
    }
}

impl PlannedChoices<'_> {
    /// The report of the plan.
    pub fn report(&self) -> PlanAnswer {
        PlanAnswer::Choices(Box::new(ChoicesPlanReport::new(self)))
    }

    /// Fails where a part does not keep to its money.
    pub fn verdict(&self) -> Result<(), Failure> {
        let plan = &self.plan;
        if plan.is_feasible() {
            return Ok(());
        }
        let missed = plan.parts.iter().zip(&plan.plans).filter(|(_, p)| !p.feasible);
        let names: Vec<&str> = missed.map(|(part, _)| part.name.as_str()).collect();
        let least: f64 = plan.shared.planned.iter().zip(&plan.floor).map(|(n, f)| n * f).sum();
        let failure =
            Failure::work(format!("the budget does not suffice for {}", names.join(", ")));
        Err(failure.with_help(format!(
            "running everything one after the other on one machine costs {least:.6} at this confidence"
        )))
    }
}
