//! `slackline plan`: a workflow and a platform in, a schedule out.

mod document;
mod front;
mod report;
mod scale;

use crate::check;
use crate::failure::{Failure, no_plan};
use crate::input::{LimitOptions, Loaded, OverheadOptions, Past, Sources};
use crate::interrupt;
use crate::model::ModelOptions;
use crate::output::Output;
use crate::picture;
use crate::progress::while_running;
use crate::search::{SearchOptions, interrupted};
use crate::told::{SetOptions, check_needs};
use clap::Args;
use document::{Document, Documents};
pub(in crate::verbs) use report::beside_recorded;
use report::{alternatives, chart, comparison, place, summary, widths, workflows};
use scale::Scale;
use slackline_analysis::overheads::delayed;
use slackline_analysis::plan_check::Check;
use slackline_formats::{ScheduleFormat, schedule_file};
use slackline_model::nearest::did_you_mean;
use slackline_model::parameter;
use slackline_model::schedule::{Limits, Summary, Violation, validate};
use slackline_model::{Problem, Schedule};
use slackline_schedule::qos::pareto::{self, Aim, Point};
use slackline_schedule::qos::within_limits::WITHIN_LIMITS;
use slackline_schedule::registry::Need;
use slackline_schedule::robust::{Robustness, RunTimeError, robustness};
use slackline_schedule::{Algorithm, PlanError, Request, bounds, registry};
use slackline_view::gantt::{self, SvgOptions, TerminalOptions};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Plan a workflow on a platform: when and where every task runs
#[derive(Args)]
#[command(after_help = "\
The simulator follows the plan: the makespan shown is the simulated end, with transfers that share \
links. With several algorithms the plans are compared and the shortest is shown and written. With a budget \
the answer is the fastest plan found that keeps it, with a deadline alone the cheapest that meets it \
(--fastest: the fastest), else the one that breaks the limits least (exit code 1). Ctrl-C ends a search \
with the best plan it has.

Examples:
  slackline plan montage --platform two-site-grid --gantt plan.svg -o plan.json
  slackline plan montage -p two-site-grid --algorithm heft,peft,best --robust
  slackline plan --instance heft-2002 --algorithm heft --json
  slackline plan montage --platform priced-cloud --budget 3 --deadline 2h
  slackline plan montage --platform priced-cloud --front front.svg
  slackline generate platform cluster --hosts 16 -o cluster.toml
  slackline plan gauss fork-join --platform cluster.toml --algorithm mags
  slackline plan montage epigenomics --algorithm share-cp,group")]
pub(crate) struct Plan {
    /// The workflow; several are planned together
    #[arg(required_unless_present = "instance")]
    workflow: Vec<PathBuf>,
    #[command(flatten)]
    sources: Sources,
    /// Planners, separated by commas, or `all`; see `slackline algorithms`. Without it heft, or
    /// for moldable tasks bicpa-m on one cluster and hcpa on several, for several workflows mags
    #[arg(short, long, value_name = "NAME", value_delimiter = ',', value_parser = planner_name)]
    algorithm: Vec<String>,
    /// Most processors of a moldable task
    #[arg(long, value_name = "N")]
    max_width: Option<u32>,
    /// Instead of one plan show time against cost over planners and budgets; draw it into this file
    /// (.svg or .png)
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        conflicts_with_all = ["gantt", "output", "robust", "no_check"],
    )]
    front: Option<Option<PathBuf>>,
    /// Draw the plan into this file (.svg or .png)
    #[arg(short, long, value_name = "FILE")]
    gantt: Option<PathBuf>,
    /// Write the schedule to this file: .json, .csv or .jed (Jedule)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw transfers between hosts into the picture too
    #[arg(long, requires = "gantt")]
    transfers: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
    /// Show how the plan spreads when run times are off by up to ERROR (20 % if left out): mean,
    /// 95th percentile and slack of 1,000 samples
    #[arg(
        long,
        value_name = "ERROR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "20%",
        value_parser = share,
    )]
    robust: Option<f64>,
    /// Do not let the simulator follow the plan
    #[arg(long)]
    no_check: bool,
    #[command(flatten)]
    limits: LimitOptions,
    #[command(flatten)]
    overheads: OverheadOptions,
    #[command(flatten)]
    parameters: SetOptions,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    model: ModelOptions,
}

/// A share such as `20%` or `0.2`, at least 0 and below 1.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text.trim(), 1.0),
    };
    let value: f64 = number.trim().parse().map_err(|_| format!("'{text}' is not a share"))?;
    let value = value * scale;
    let fits = (0.0..1.0).contains(&value);
    fits.then_some(value).ok_or_else(|| format!("{text} is not between 0 % and 100 %"))
}

/// The first names of a list.
fn shortened(names: &[&str]) -> String {
    const SHOWN: usize = 3;
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..SHOWN].join(", ")),
    }
}

/// Stands for every planner of the registry.
const ALL_PLANNERS: &str = "all";

/// A planner by any spelling the registry knows, or `all`.
fn planner_name(text: &str) -> Result<String, String> {
    if text.eq_ignore_ascii_case(ALL_PLANNERS) {
        return Ok(ALL_PLANNERS.to_string());
    }
    match registry::find(text) {
        Some(algorithm) => Ok(algorithm.name.to_string()),
        None => {
            let hint = did_you_mean(text, registry::names());
            Err(format!("there is no such planner{hint} `slackline algorithms` lists them all"))
        }
    }
}

/// A plan and how it came about.
struct Planned {
    algorithm: &'static Algorithm,
    schedule: Schedule,
    summary: Summary,
    robustness: Option<Robustness>,
    /// What the simulator made of it.
    check: Option<Check>,
    /// Deadline and budget that it misses.
    missed: Vec<Violation>,
    /// What counted among plans within the limits.
    aim: Aim,
    wall_seconds: f64,
}

impl Planned {
    /// When it ends: as simulated, where that is known.
    fn end(&self) -> f64 {
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

impl Plan {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        self.sources
            .files()
            .reads_all(&self.workflow)
            .draws("--gantt", self.gantt.as_ref())
            .writes("--output", self.output.as_ref())
            .draws("--front", self.front.as_ref().and_then(Option::as_ref))
            .json(self.json)
            .check(output)?;
        if let Some(path) = &self.output {
            ScheduleFormat::for_output(path)?;
        }
        let mut this = self;
        if let Some(width) = this.max_width {
            this.parameters.set.push(("max-width".to_string(), width.to_string()));
        }
        let named = |name: &String| name == WITHIN_LIMITS.name || name == ALL_PLANNERS;
        if this.algorithm.is_empty() || this.algorithm.iter().any(named) {
            this.parameters.set.extend(this.limits.given());
        }
        this.planned(output)
    }

    fn planned(self, output: &mut Output) -> Result<(), Failure> {
        let mut world = self.sources.read_all(&self.workflow, output)?;
        self.overheads.apply(&mut world);
        self.limits.check(&world.platform, [])?;
        let mut problem = world.problem(&self.model)?;
        if self.front.is_some() {
            return self.front(&problem, output);
        }
        if self.model.models(&world.platform, &world.workflow)?.charge_local {
            let chosen = self.chosen(&problem)?;
            if let Some(other) = chosen.iter().find(|a| !a.needs.contains(&Need::Moldable)) {
                let message = "--config ptask/charge-local: data that stay on a host are free to";
                let message = format!("{message} {}", other.name);
                let help = "slackline algorithms lists the methods for moldable tasks";
                return Err(Failure::input(message).with_help(help));
            }
            problem = world.moldable_problem(&self.model)?;
        }
        let (mut plans, bound) = self.plans(&problem, output)?;
        let lower_bound = self.bound_of_runs(&world, bound)?;
        // One plan is written as it is, whatever becomes of it.
        let is_read = !output.quiet || self.json || self.gantt.is_some() || plans.len() > 1;
        if is_read && self.checks(&problem) {
            let ground = check::ground(&world, &self.model)?;
            for plan in &mut plans {
                plan.check = check::follow(&ground, &problem, &plan.schedule, None, output);
            }
        }
        let wait = self.overheads.wait();
        let lower_bound = lower_bound + wait;
        let limits = self.limits.limits();
        plans.iter_mut().for_each(|plan| plan.delay(&problem, wait, &limits));
        let scale = match limited(&limits) {
            true => Some(Scale::of(&problem, &plans, wait)?),
            false => None,
        };
        let best = best(&plans, &limits, self.limits.aim());
        if let Some(path) = &self.output {
            schedule_file::write_schedule(&output.files, path, &problem, &best.schedule)?;
        }
        if let Some(path) = &self.gantt {
            let mut chart = chart(&problem, best, lower_bound);
            // Where there are too many rows for lines, a strip tells when transfers are under way.
            if self.transfers || chart.rows() > SvgOptions::default().most_rows {
                chart = chart.with_transfers(&problem, &best.schedule);
            }
            let svg = gantt::svg(&chart.without_idle_hosts(), &SvgOptions::default());
            picture::write(&output.files, path, &svg)?;
        }
        if self.json {
            let set = &self.parameters.set;
            let past = Past::makespan(world.past.as_ref());
            let limited = (&limits, scale);
            let document = |plan| Document::new(&problem, plan, lower_bound, limited, set, past);
            match plans.as_slice() {
                // Who named no planner wants one plan.
                _ if self.algorithm.is_empty() => output.json(&document(best))?,
                [one] => output.json(&document(one))?,
                many => output.json(&Documents {
                    schema: "slackline/plans/1",
                    plans: many.iter().map(document).collect(),
                })?,
            }
        } else {
            let recorded = Past::makespan(world.past.as_ref());
            self.tell(&problem, &plans, (lower_bound, recorded), output)?;
            output.say(&Past::told(world.past.as_ref(), output.width))?;
        }
        match best.missed.as_slice() {
            [] => Ok(()),
            missed => {
                let missed: Vec<String> = missed.iter().map(Violation::to_string).collect();
                let advice = scale.map(|scale| scale.advice(&limits, lower_bound));
                Err(Failure::work(missed.join("; ")).with_help(advice.unwrap_or_default()))
            }
        }
    }

    /// A bound of plans where levels are steady; where they change, one of runs at their best levels.
    fn bound_of_runs(&self, world: &Loaded, bound: f64) -> Result<f64, Failure> {
        let Loaded { workflow, platform, .. } = world;
        if platform.steady().is_none() {
            return Ok(bound);
        }
        let charges = self.model.models(platform, workflow)?.charges();
        let inputs = self.model.inputs(platform)?;
        let runs = slackline_analysis::plan_check::lower_bound(
            workflow, platform, &charges, inputs, true,
        )?;
        Ok(bound.min(runs))
    }

    /// One plan per algorithm, and the best bound. With several, those that cannot plan this are
    /// passed over.
    fn plans(
        &self,
        problem: &Problem<'_>,
        output: &mut Output,
    ) -> Result<(Vec<Planned>, f64), Failure> {
        let chosen = self.chosen(problem)?;
        let settings =
            self.search.settings(self.overheads.within(self.limits.limits()), &self.parameters.set);
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
            let result = while_running(&what, output.quiet, settings.watch.as_deref(), || {
                registry::run(algorithm, problem, &settings, bound)
            });
            let wall_seconds = begin.elapsed().as_secs_f64();
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
                    output.warning(&format!("{}: {error}", algorithm.name));
                    continue;
                }
                Err(error) => {
                    return Err(no_plan(error, problem, self.sources.platform.as_deref()));
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
            let robustness = self.robust.map(|largest| {
                let error = RunTimeError { largest, ..RunTimeError::default() };
                robustness(problem, &schedule, error, &settings)
            });
            output.detail(&format!("{} planned in {wall_seconds:.6} s", algorithm.name));
            plans.push(Planned {
                algorithm,
                schedule,
                summary,
                robustness,
                check: None,
                missed,
                aim: self.limits.aim(),
                wall_seconds,
            });
        }
        for (why, names) in unable {
            output.warning(&format!("{} cannot plan this: {why}", shortened(&names)));
        }
        interrupt::ignore();
        if interrupted(&settings) {
            output.warning("interrupted: this is the best plan so far");
        }
        match plans.is_empty() {
            true => Err(Failure::work("none of the chosen algorithms can plan this")),
            false => Ok((plans, bound)),
        }
    }

    /// Fails where something is given that none of the planners has, or that one cannot take.
    fn check_options(&self, chosen: &[&Algorithm]) -> Result<(), Failure> {
        let given = &self.parameters.set;
        parameter::check_known(given, chosen.iter().map(|a| (a.name, a.parameters)))?;
        self.search.check(chosen, self.robust.is_some())?;
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
        !self.no_check && !arrives && problem.tasks() <= check::MOST_TASKS
    }

    /// The planners to try: those asked for, else the usual one, under limits that for them.
    fn chosen(&self, problem: &Problem<'_>) -> Result<Vec<&'static Algorithm>, Failure> {
        let limits = self.limits.limits();
        if !self.algorithm.is_empty() {
            let named = self.named(problem, &limits)?;
            return named.iter().try_for_each(|a| check_single(a, problem)).map(|()| named);
        }
        Ok(vec![registry::usual_within(problem, &limits)])
    }

    /// The planners asked for; those that `all` stands for have all they need.
    fn named(
        &self,
        problem: &Problem<'_>,
        limits: &Limits,
    ) -> Result<Vec<&'static Algorithm>, Failure> {
        let mut chosen: Vec<&'static Algorithm> = Vec::new();
        for name in &self.algorithm {
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

    fn tell(
        &self,
        problem: &Problem<'_>,
        plans: &[Planned],
        (lower_bound, recorded): (f64, Option<f64>),
        output: &mut Output,
    ) -> Result<(), Failure> {
        let limits = self.limits.limits();
        let best = best(plans, &limits, self.limits.aim());
        if plans.len() > 1 {
            let headline = format!("{} plans of {}", plans.len(), place(problem));
            output.say(&format!("{}\n\n", output.bold(&headline)))?;
            output.say(&comparison(problem, plans, lower_bound, output.width))?;
            output.say(&format!(
                "\n{}\n\n",
                output.bold(&format!("The plan of {}", best.algorithm.name))
            ))?;
            if limited(&limits) {
                output.say(&summary(
                    problem,
                    best,
                    (lower_bound, recorded),
                    &limits,
                    output.width,
                ))?;
                output.say("\n")?;
            }
        } else {
            let headline = format!("{}, planned by {}", place(problem), best.algorithm.name);
            output.say(&format!("{}\n\n", output.bold(&headline)))?;
            output.say(&summary(problem, best, (lower_bound, recorded), &limits, output.width))?;
            output.say("\n")?;
        }
        if !self.no_check && problem.tasks() > check::MOST_TASKS {
            let text = "Not checked by simulation: more than 100,000 tasks.\n\n";
            output.say(text)?;
        }
        let options = TerminalOptions {
            width: output.width,
            colour: output.colour,
            ..TerminalOptions::default()
        };
        let widths = widths(problem, best, output.width);
        let workflows = workflows(best, output.width);
        let alternatives = alternatives(best, output.width);
        for table in [alternatives, workflows, widths].iter().filter(|t| !t.is_empty()) {
            output.say(&format!("{table}\n"))?;
        }
        let chart = chart(problem, best, lower_bound).without_idle_hosts();
        output.say(&gantt::terminal(&chart, &options))?;
        let written = [("Chart", &self.gantt), ("Schedule", &self.output)];
        for (index, (what, path)) in
            written.iter().filter_map(|(what, path)| Some((what, path.as_ref()?))).enumerate()
        {
            let gap = if index == 0 { "\n" } else { "" };
            output.say(&format!("{gap}{what} written to {}\n", path.display()))?;
        }
        Ok(())
    }
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

fn limited(limits: &Limits) -> bool {
    limits.budget.is_some() || limits.deadline.is_some()
}

/// The fastest or cheapest plan that keeps to the limits, else the one that breaks them least; of equal
/// ones the first.
fn best<'p>(plans: &'p [Planned], limits: &Limits, aim: Aim) -> &'p Planned {
    // Limits are kept by plans; without any, what counts is when the run ends.
    let end = |plan: &Planned| if limited(limits) { plan.summary.makespan } else { plan.end() };
    let point = |plan: &Planned| Point { makespan: end(plan), cost: plan.summary.cost };
    let points: Vec<Point> = plans.iter().map(point).collect();
    &plans[pareto::best_for(&points, limits, aim)]
}
