//! Plans: from a request to schedules, checked by the simulator, and their report.

mod front;
mod report;
mod scale;

pub use front::{FrontPlan, FrontReport};
pub use report::{Limited, PlanReport, PlanReports, Spread, staging};
pub use scale::{End, Scale, alternatives, three_digits};

use crate::choices::ChoicesPlanReport;
use crate::context::Context;
use crate::details_json::check_needs;
use crate::failure::{Failure, no_plan};
use crate::input::{Loaded, Past};
use crate::interval::MakespanInterval;
use crate::plan_check;
use crate::planner_options::{self, interrupted};
use crate::request::PlanRequest;
use serde::Serialize;
use slackline_analysis::overheads::delayed;
use slackline_analysis::plan_check::Check;
use slackline_model::nearest::did_you_mean;
use slackline_model::parameter::{self, Given};
use slackline_model::schedule::{Limits, Summary, Violation, validate};
use slackline_model::{Problem, Schedule};
use slackline_schedule::qos::pareto::{self, Aim, Point};
use slackline_schedule::qos::within_limits::WITHIN_LIMITS;
use slackline_schedule::registry::Need;
use slackline_schedule::robust::{Robustness, RunTimeError, robustness};
use slackline_schedule::{Algorithm, PlanError, Request, bounds, registry};
use std::sync::Arc;
use std::time::Instant;

/// Stands for every planner of the registry.
pub const ALL_PLANNERS: &str = "all";

/// Returns the name of the planner with this spelling, or `all`.
pub fn planner_name(text: &str) -> Result<String, String> {
    if text.eq_ignore_ascii_case(ALL_PLANNERS) {
        return Ok(ALL_PLANNERS.to_string());
    }
    match registry::find(text) {
        Some(algorithm) => Ok(algorithm.name.to_string()),
        None if slackline_schedule::nondet::Method::find(text).is_some() => Ok(text.to_lowercase()),
        None => {
            let hint = did_you_mean(text, registry::names());
            Err(format!("there is no such planner{hint}; `slackline algorithms` lists them all"))
        }
    }
}

/// A plan and how it came about.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The planner.
    pub algorithm: &'static Algorithm,
    /// The plan.
    pub schedule: Schedule,
    /// Its figures.
    pub summary: Summary,
    /// Spread of the makespan under inexact run times, where samples were requested.
    pub robustness: Option<Robustness>,
    /// Result of simulating the plan.
    pub check: Option<Check>,
    /// Bounds of the makespan, where the workflow is a recorded run.
    pub interval: Option<MakespanInterval>,
    /// Deadline and budget that it misses.
    pub missed: Vec<Violation>,
    /// Criterion among plans within the limits.
    pub aim: Aim,
    /// Seconds that planning took.
    pub wall_seconds: f64,
}

impl Planned {
    /// When it ends: as simulated, where that is known.
    pub fn end(&self) -> f64 {
        self.check.map_or(self.summary.makespan, |check| check.simulated)
    }

    /// Puts all dates off by a wait.
    fn delay(&mut self, problem: &Problem<'_>, wait: f64, limits: &Limits) {
        if wait == 0.0 {
            return;
        }
        self.schedule = delayed(std::mem::take(&mut self.schedule), wait);
        scale::delay_alternatives(&mut self.schedule.details, wait);
        self.summary.makespan += wait;
        if let Some(check) = &mut self.check {
            check.planned += wait;
            check.simulated += wait;
        }
        let of_limit =
            |v: &Violation| matches!(v, Violation::Deadline { .. } | Violation::Budget { .. });
        self.missed =
            validate(problem, &self.schedule, limits).into_iter().filter(of_limit).collect();
    }
}

/// A request with what it names.
#[derive(Clone, Debug)]
pub struct PlanInput {
    /// The request.
    pub request: PlanRequest,
    /// Workflows and platform.
    pub loaded: Loaded,
    /// Parameters of planners.
    given: Given,
}

/// Plans of one problem.
#[derive(Clone, Debug)]
pub struct Plans<'p> {
    /// The problem.
    pub problem: &'p Problem<'p>,
    /// One for each planner, in the order asked for; at least one.
    pub plans: Vec<Planned>,
    /// No run ends before this date.
    pub lower_bound: f64,
    /// Limits for the plans.
    pub limits: Limits,
    /// The ends between which limits make sense, where there are any.
    pub scale: Option<Scale>,
    /// Index of the best plan.
    best: usize,
    /// Whether one plan is wanted, whatever was tried.
    is_one_wanted: bool,
    given: &'p Given,
    /// Seconds of the run that the workflow was recorded from.
    pub recorded_makespan: Option<f64>,
}

/// The report of a plan request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PlanAnswer {
    /// Of one plan.
    Plan(Box<PlanReport>),
    /// Of one plan for each planner.
    Plans(PlanReports),
    /// Of time against cost.
    Front(FrontReport),
    /// Of a workflow with choices and loops.
    Choices(Box<ChoicesPlanReport>),
}

impl PlanRequest {
    /// Reads what the request names.
    pub fn read(mut self, context: &mut Context<'_>) -> Result<PlanInput, Failure> {
        self.check()?;
        for name in &mut self.planners {
            *name = planner_name(name)
                .map_err(|why| Failure::input(format!("planners: '{name}': {why}")))?;
        }
        let mut loaded = self.input.read_all(&self.input.workflows, context)?;
        self.overheads.apply(&mut loaded);
        self.limits.check_prices(&loaded.platform, [])?;
        let mut given = self.parameters.0.clone();
        let named = |name: &String| name == WITHIN_LIMITS.name || name == ALL_PLANNERS;
        if self.planners.is_empty() || self.planners.iter().any(named) {
            given.extend(self.limits.given());
        }
        Ok(PlanInput { request: self, loaded, given })
    }

    /// Carries the request out. Limits that no plan keeps are not an error; the report states which are missed.
    pub fn report(self, context: &mut Context<'_>) -> Result<PlanAnswer, Failure> {
        if let Some(input) = self.choices(context)? {
            return Ok(input.plan(&input.problem()?)?.report());
        }
        let input = self.read(context)?;
        let problem = input.problem()?;
        if input.request.front {
            return Ok(PlanAnswer::Front(input.front(&problem, context)?));
        }
        Ok(input.plans(&problem, context)?.report())
    }
}

impl PlanInput {
    /// The planning problem.
    pub fn problem(&self) -> Result<Problem<'_>, Failure> {
        let (request, loaded) = (&self.request, &self.loaded);
        let problem = loaded.problem(&request.models)?;
        if request.front || !request.models.models(&loaded.platform, &loaded.workflow)?.charge_local
        {
            return Ok(problem);
        }
        let chosen = self.chosen(&problem)?;
        if let Some(other) = chosen.iter().find(|a| !a.needs.contains(&Need::Moldable)) {
            let message = "--config ptask/charge-local: data that stay on a host are free to";
            let message = format!("{message} {}", other.name);
            let help = "slackline algorithms lists the methods for moldable tasks";
            return Err(Failure::input(message).with_help(help));
        }
        loaded.moldable_problem(&request.models)
    }

    /// Plans with every planner that was asked for.
    pub fn plans<'p>(
        &'p self,
        problem: &'p Problem<'p>,
        context: &mut Context<'_>,
    ) -> Result<Plans<'p>, Failure> {
        let (mut plans, bound) = self.planned(problem, context)?;
        let lower_bound = self.bound_of_runs(bound)?;
        // One plan is written as it is, whatever becomes of it.
        if (!context.brief || plans.len() > 1) && self.checks(problem) {
            let ground = plan_check::ground(&self.loaded, &self.request.models)?;
            for plan in &mut plans {
                plan.check = plan_check::follow(&ground, problem, &plan.schedule, None, context);
            }
        }
        let limits = self.request.limits.limits();
        let wait = self.request.overheads.wait();
        let lower_bound = lower_bound + wait;
        plans.iter_mut().for_each(|plan| plan.delay(problem, wait, &limits));
        if let Some(basis) = &self.loaded.basis {
            for plan in &mut plans {
                let ends = (plan.end(), wait);
                plan.interval = Some(basis.interval(problem, &plan.schedule, ends));
            }
        }
        let scale =
            if is_limited(&limits) { Some(Scale::of(problem, &plans, wait)?) } else { None };
        Ok(Plans {
            best: best(&plans, &limits, self.request.limits.aim()),
            problem,
            plans,
            lower_bound,
            limits,
            scale,
            is_one_wanted: self.request.planners.is_empty(),
            given: &self.given,
            recorded_makespan: Past::makespan(self.loaded.past.as_ref()),
        })
    }

    fn search_request(&self, limits: Limits, context: &mut Context<'_>) -> Request {
        planner_options::request(&self.request.search, limits, &self.given, context)
    }

    /// A bound of plans where levels are steady; where they change, one of runs at their best levels.
    fn bound_of_runs(&self, bound: f64) -> Result<f64, Failure> {
        let Loaded { workflow, platform, .. } = &self.loaded;
        if platform.steady().is_none() {
            return Ok(bound);
        }
        let charges = self.request.models.models(platform, workflow)?.charges();
        let inputs = self.request.models.inputs(platform)?;
        let runs = slackline_analysis::plan_check::lower_bound(
            workflow, platform, &charges, inputs, true,
        )?;
        Ok(bound.min(runs))
    }

    /// One plan per algorithm, and the best bound. With several, those that cannot plan this are
    /// passed over.
    fn planned(
        &self,
        problem: &Problem<'_>,
        context: &mut Context<'_>,
    ) -> Result<(Vec<Planned>, f64), Failure> {
        let chosen = self.chosen(problem)?;
        let settings = self
            .search_request(self.request.overheads.within(self.request.limits.limits()), context);
        self.check_options(&chosen)?;
        let mut bound = bounds::lower_bound(problem);
        let mut plans = Vec::new();
        let mut unable: Vec<(String, Vec<&str>)> = Vec::new();
        for (index, &algorithm) in chosen.iter().enumerate() {
            if interrupted(&settings) && !plans.is_empty() {
                break;
            }
            let begin = Instant::now();
            let what = match chosen.len() {
                1 => algorithm.name.to_string(),
                several => format!("{} ({} of {several})", algorithm.name, index + 1),
            };
            let settings = Request { watch: Some(Arc::default()), ..settings.clone() };
            let mut result = None;
            context.observer.search(&what, settings.watch.as_deref(), &mut || {
                result = Some(registry::run(algorithm, problem, &settings, bound));
            });
            let wall_seconds = begin.elapsed().as_secs_f64();
            let result =
                result.unwrap_or_else(|| registry::run(algorithm, problem, &settings, bound));
            let schedule = match result {
                Ok(certified) => {
                    bound = certified.lower_bound;
                    certified.schedule
                }
                Err(PlanError::Unsupported { why, .. }) if chosen.len() > 1 => {
                    match unable.iter_mut().find(|(other, _)| *other == why) {
                        Some((_, names)) => names.push(algorithm.name),
                        None => unable.push((why, vec![algorithm.name])),
                    }
                    continue;
                }
                Err(error) if chosen.len() > 1 => {
                    context.warning(&format!("{}: {error}", algorithm.name));
                    continue;
                }
                Err(error) => {
                    return Err(no_plan(error, problem, self.request.input.platform.as_deref()));
                }
            };
            let (missed, broken): (Vec<Violation>, Vec<Violation>) =
                validate(problem, &schedule, &settings.limits).into_iter().partition(|v| {
                    matches!(v, Violation::Deadline { .. } | Violation::Budget { .. })
                });
            if let Some(violation) = broken.first() {
                let name = algorithm.name;
                return Err(Failure::work(format!("{name} made an invalid schedule: {violation}"))
                    .with_help("this is a bug of the planner: please report it with the input"));
            }
            let summary = Summary::of(problem, &schedule);
            let robustness = self.request.robust.map(|largest| {
                let error = RunTimeError { largest, ..RunTimeError::default() };
                robustness(problem, &schedule, error, &settings)
            });
            context.detail(&format!("{} planned in {wall_seconds:.6} s", algorithm.name));
            plans.push(Planned {
                algorithm,
                schedule,
                summary,
                robustness,
                check: None,
                interval: None,
                missed,
                aim: self.request.limits.aim(),
                wall_seconds,
            });
        }
        for (why, names) in unable {
            context.warning(&format!("{} cannot plan this: {why}", shortened(&names)));
        }
        context.observer.ignore();
        if interrupted(&settings) {
            context.warning("interrupted: this is the best plan so far");
        }
        if plans.is_empty() {
            Err(Failure::work("none of the chosen algorithms can plan this"))
        } else {
            Ok((plans, bound))
        }
    }

    /// Fails where something is given that none of the planners has, or that one cannot take.
    fn check_options(&self, chosen: &[&Algorithm]) -> Result<(), Failure> {
        let given = &self.given;
        parameter::check_known(given, chosen.iter().map(|a| (a.name, a.parameters)))?;
        planner_options::check(&self.request.search, chosen, self.request.robust.is_some())?;
        let request = Request { given: given.clone(), ..Request::default() };
        for algorithm in chosen {
            algorithm.values(&request)?;
        }
        Ok(())
    }

    /// Whether the simulator follows the plans.
    fn checks(&self, problem: &Problem<'_>) -> bool {
        // What arrives later is followed by simulate.
        let arrives = problem.state().release.iter().any(|&date| date > 0.0);
        self.request.check && !arrives && problem.tasks() <= plan_check::MOST_TASKS
    }

    /// The planners to try: those asked for, else the usual one, under limits that for them.
    fn chosen(&self, problem: &Problem<'_>) -> Result<Vec<&'static Algorithm>, Failure> {
        let limits = self.request.limits.limits();
        if !self.request.planners.is_empty() {
            let named = planners_named(&self.request.planners, problem, &limits)?;
            return named.iter().try_for_each(|a| check_single(a, problem)).map(|()| named);
        }
        Ok(vec![registry::usual_within(problem, &limits)])
    }
}

impl Plans<'_> {
    /// The shortest plan that keeps to the limits, else the one that breaks them least.
    pub fn best(&self) -> &Planned {
        &self.plans[self.best]
    }

    /// The report: of the best plan where no planner was named, else of all.
    pub fn report(&self) -> PlanAnswer {
        let of = |plan| {
            let limited = (&self.limits, self.scale);
            let past = self.recorded_makespan;
            PlanReport::new(self.problem, plan, self.lower_bound, limited, self.given, past)
        };
        match self.plans.as_slice() {
            _ if self.is_one_wanted => PlanAnswer::Plan(Box::new(of(self.best()))),
            [one] => PlanAnswer::Plan(Box::new(of(one))),
            many => PlanAnswer::Plans(PlanReports {
                schema: "slackline/plans/1",
                plans: many.iter().map(of).collect(),
            }),
        }
    }

    /// Fails where the best plan misses a limit.
    pub fn verdict(&self) -> Result<(), Failure> {
        let missed = &self.best().missed;
        if missed.is_empty() {
            return Ok(());
        }
        let missed: Vec<String> = missed.iter().map(Violation::to_string).collect();
        let advice = self.scale.map(|scale| scale.advice(&self.limits, self.lower_bound));
        Err(Failure::work(missed.join("; ")).with_help(advice.unwrap_or_default()))
    }
}

/// Returns the planners with these names; `all` expands to those whose needs are met.
fn planners_named(
    names: &[String],
    problem: &Problem<'_>,
    limits: &Limits,
) -> Result<Vec<&'static Algorithm>, Failure> {
    let mut chosen: Vec<&'static Algorithm> = Vec::new();
    for name in names {
        let named: Vec<&'static Algorithm> = match name.as_str() {
            ALL_PLANNERS => {
                let able = |a: &&Algorithm| a.lacks(problem, limits).is_none();
                let fits = |a: &&Algorithm| check_single(a, problem).is_ok();
                registry::ALL.iter().filter(able).filter(fits).collect()
            }
            name => registry::find(name).into_iter().collect(),
        };
        if name != ALL_PLANNERS {
            for algorithm in &named {
                check_needs(algorithm.name, algorithm.needs, problem, limits)?;
            }
        }
        for algorithm in named {
            if chosen.iter().all(|c| c.name != algorithm.name) {
                chosen.push(algorithm);
            }
        }
    }
    Ok(chosen)
}

/// Fails where a method that plans one workflow was given several.
fn check_single(algorithm: &Algorithm, problem: &Problem<'_>) -> Result<(), Failure> {
    let count = problem.workflow().members().len();
    if count < 2 || algorithm.needs.contains(&Need::Several) {
        return Ok(());
    }
    let message = format!("{} plans one workflow, {count} are given", algorithm.name);
    Err(Failure::input(message)
        .with_help("family several of `slackline algorithms` does, e.g. fairness-finish or mags"))
}

/// Whether a plan has something to keep.
pub fn is_limited(limits: &Limits) -> bool {
    limits.budget.is_some() || limits.deadline.is_some()
}

/// The fastest or cheapest plan that keeps to the limits, else the one that breaks them least; of equal
/// ones the first.
fn best(plans: &[Planned], limits: &Limits, aim: Aim) -> usize {
    // Limits are kept by plans; without any, what counts is when the run ends.
    let end = |plan: &Planned| if is_limited(limits) { plan.summary.makespan } else { plan.end() };
    let point = |plan: &Planned| Point { makespan: end(plan), cost: plan.summary.cost };
    let points: Vec<Point> = plans.iter().map(point).collect();
    pareto::best_for(&points, limits, aim)
}

/// The first names of a list.
fn shortened(names: &[&str]) -> String {
    const SHOWN: usize = 3;
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..SHOWN].join(", ")),
    }
}
