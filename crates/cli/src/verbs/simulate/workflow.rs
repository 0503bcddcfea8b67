//! `slackline simulate WORKFLOW`: a schedule or a policy executed on a simulated platform.

use super::document::{Document, Documents};
use super::{Simulate, models, report};
use crate::failure::Failure;
use crate::input::{Sources, World};
use crate::output::Output;
use crate::progress::Bar;
use slackline_execute::{Ending, Execution, Monitoring, Outcome, Settings, Simulated};
use slackline_formats::scenario::read_scenario;
use slackline_formats::trace::{TraceFormat, TracedRun};
use slackline_formats::{schedule_json, source};
use slackline_lab::metrics::Metrics;
use slackline_model::scenario::{Scenario, ScenarioError};
use slackline_model::schedule::{Limits, validate};
use slackline_model::{Problem, ProcId, Schedule, TaskId};
use slackline_react::gtp::Period;
use slackline_react::registry::{self as policies, Entry, Options};
use slackline_react::{Policy, Situation, StaticPlan, Transfers};
use slackline_schedule::{Algorithm, Settings as PlanSettings, bounds, registry};
use slackline_simulate::Models;
use slackline_view::Chart;
use slackline_view::gantt::{self, SvgOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time after which a run says how far it is, and between two such words.
const SILENT: Duration = Duration::from_secs(2);
const EVERY: Duration = Duration::from_millis(100);

/// One run and what drove it.
pub(super) struct Ran {
    pub(super) name: String,
    pub(super) outcome: Outcome,
    pub(super) metrics: Metrics,
    /// What the first plan promised.
    pub(super) planned: Schedule,
    pub(super) wall_seconds: f64,
}

impl Ran {
    /// Why it did not finish.
    pub(super) fn unfinished(&self) -> Option<&str> {
        match &self.outcome.ending {
            Ending::Finished => None,
            Ending::CannotFinish(why) => Some(why),
        }
    }
}

/// Everything a run needs.
struct Stage<'a> {
    problem: &'a Problem<'a>,
    /// The platform at its peak, as planners know it.
    world: &'a World,
    scenario: Scenario,
    /// Where the scenario comes from.
    scenario_file: Option<&'a Path>,
    models: Models,
    transfers: Transfers,
    planner: &'static Algorithm,
    period: f64,
    quiet: bool,
}

pub(super) fn simulate(args: &Simulate, output: &mut Output) -> Result<(), Failure> {
    let sources = Sources {
        workflow: args.workflow.as_deref(),
        from: args.from,
        platform: args.platform.as_deref(),
        instance: args.instance.as_deref(),
    };
    let world = World::read(&sources, output)?;
    let problem = world.problem()?;
    let mut stage = Stage {
        problem: &problem,
        world: &world,
        scenario: match &args.scenario {
            Some(path) => read_scenario(path)?,
            None => Scenario::default(),
        },
        scenario_file: args.scenario.as_deref(),
        models: models(&args.settings)?,
        transfers: args.transfers()?,
        planner: planner(args.algorithm.as_deref().unwrap_or("heft"))?,
        period: args.period,
        quiet: output.quiet,
    };
    let runs = runs(args, &mut stage, output)?;
    let mut written = Vec::new();
    for ran in &runs {
        let only = runs.len() == 1;
        let names = [&args.gantt, &args.trace].map(|p| p.as_ref().map(|p| own_name(p, ran, only)));
        let [gantt, trace] = &names;
        write_files(&problem, ran, gantt.as_deref(), trace.as_deref())?;
        written.extend(names.into_iter().flatten());
    }
    if args.json {
        let lower_bound = bounds::lower_bound(&problem);
        let documents: Vec<Document<'_>> =
            runs.iter().map(|r| Document::new(&problem, r, lower_bound)).collect();
        match documents.as_slice() {
            [one] => output.json(one)?,
            many => output.json(&Documents { schema: "slackline/simulations/1", runs: many })?,
        }
    } else {
        match runs.as_slice() {
            [one] => report::one(&problem, one, output)?,
            several => report::compare(&problem, several, output)?,
        }
        for path in written {
            output.say(&format!("\nWritten: {}", path.display()))?;
        }
        output.say(if args.gantt.is_some() || args.trace.is_some() { "\n" } else { "" })?;
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

/// `run.svg` of one run, `run.gtp-c.svg` of one among several.
fn own_name(path: &Path, ran: &Ran, only: bool) -> PathBuf {
    if only {
        return path.to_path_buf();
    }
    let policy = ran.name.replace('/', "-");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    match path.extension() {
        Some(end) => path.with_file_name(format!("{stem}.{policy}.{}", end.to_string_lossy())),
        None => path.with_file_name(format!("{stem}.{policy}")),
    }
}

fn planner(name: &str) -> Result<&'static Algorithm, Failure> {
    registry::find(name).ok_or_else(|| {
        Failure::input(format!("there is no planner '{name}'"))
            .with_help("slackline algorithms lists them")
    })
}

/// The policies of a list of names; `all` stands for every one.
fn policies_of(names: &[&str]) -> Result<Vec<&'static Entry>, Failure> {
    let mut entries: Vec<&'static Entry> = Vec::new();
    for &name in names {
        let found: Vec<&'static Entry> = match name {
            "all" => policies::ALL.iter().collect(),
            _ => policies::find(name).into_iter().collect(),
        };
        if found.is_empty() {
            let names: Vec<&str> = policies::ALL.iter().map(|e| e.name).collect();
            return Err(Failure::input(format!("there is no policy '{name}'"))
                .with_help(format!("one of: {}", names.join(", "))));
        }
        for entry in found {
            if entries.iter().all(|e| e.name != entry.name) {
                entries.push(entry);
            }
        }
    }
    Ok(entries)
}

/// The runs that were asked for: a given schedule, one policy, or several.
fn runs(args: &Simulate, stage: &mut Stage<'_>, output: &mut Output) -> Result<Vec<Ran>, Failure> {
    if let Some(path) = &args.schedule {
        let text = source::read_text(path)?;
        let schedule = schedule_json::read(&text, stage.problem).map_err(|e| e.in_file(path))?;
        if let Some(violation) = validate(stage.problem, &schedule, &Limits::default()).first() {
            output.warning(&format!("{}: {violation}", path.display()));
        }
        stage.settle_moments(&schedule)?;
        let make = || -> Box<dyn Policy> {
            let given = schedule.clone();
            Box::new(StaticPlan::of_schedule(given, stage.planner, stage.transfers))
        };
        let ran = stage.run("schedule", false, &make, schedule.clone())?;
        return Ok(vec![ran]);
    }
    let mut names: Vec<&str> = args.compare.iter().map(String::as_str).collect();
    if names.is_empty() {
        names.push(args.policy.as_deref().unwrap_or("static"));
    }
    let entries = policies_of(&names)?;
    let planned = (stage.planner.plan)(stage.problem, &PlanSettings::default())?;
    stage.settle_moments(&planned)?;
    let period = Period::Seconds(stage.period * planned.makespan());
    let options = Options { planner: stage.planner, transfers: stage.transfers, period };
    let run = |entry: &&Entry| {
        stage.run(entry.name, entry.looks, &|| (entry.make)(&options), planned.clone())
    };
    entries.iter().map(run).collect()
}

impl Stage<'_> {
    /// Moments given as a part of the makespan are those of the followed plan without them, for
    /// every policy: they all meet the same world.
    fn settle_moments(&mut self, plan: &Schedule) -> Result<(), Failure> {
        if self.scenario.needs_makespan() {
            let follow = || -> Box<dyn Policy> {
                Box::new(StaticPlan::of_schedule(plan.clone(), self.planner, self.transfers))
            };
            let calm = self.scenario.without_relative_moments();
            let undisturbed = self.once("plan, undisturbed", &calm, false, &follow)?;
            self.scenario = self.scenario.at_makespan(undisturbed.makespan);
        }
        Ok(())
    }

    fn run(
        &self,
        name: &str,
        looks: bool,
        make: &dyn Fn() -> Box<dyn Policy>,
        planned: Schedule,
    ) -> Result<Ran, Failure> {
        let clock = Instant::now();
        let outcome = self.once(name, &self.scenario, looks, make)?;
        let wall_seconds = clock.elapsed().as_secs_f64();
        let metrics = Metrics::of(self.problem, &outcome);
        Ok(Ran { name: name.to_string(), outcome, metrics, planned, wall_seconds })
    }

    fn once(
        &self,
        what: &str,
        scenario: &Scenario,
        looks: bool,
        make: &dyn Fn() -> Box<dyn Policy>,
    ) -> Result<Outcome, Failure> {
        let nominal = &self.world.platform;
        let course = scenario.on(nominal).map_err(|e| self.bad_scenario(e))?;
        if !course.pairs.is_empty() {
            return Err(Failure::input("the scenario changes connections of a matrix network")
                .with_help("describe the network by links, which can change"));
        }
        let platform = nominal.in_world(&course);
        let truth =
            scenario.truth(&self.world.workflow, nominal).map_err(|e| self.bad_scenario(e))?;
        let problem = self.problem;
        let seconds = |task: TaskId, procs: &[ProcId]| {
            let first = procs.first().copied().unwrap_or(ProcId(0));
            let stated = problem.exec_wide(task, problem.class_of(first), procs.len() as u32);
            truth.actual_seconds(task, problem.host_of(first), stated)
        };
        let mut backend = Simulated::new(&platform, self.models.clone(), Box::new(seconds))
            .map_err(Failure::work)?;
        let monitoring = if looks { Monitoring::OnWakeUp } else { Monitoring::Continuous };
        let (workflow, known) = (Arc::new(self.world.workflow.clone()), Arc::new(nominal.clone()));
        let mut watcher = Watcher::new(what, self.quiet);
        let mut see = |now: &Situation| watcher.see(now);
        let execution = Execution {
            settings: Settings { monitoring, ..Settings::default() },
            watch: Some(&mut see),
            ..Execution::new(workflow, known)
        };
        let outcome = execution.run(make().as_mut(), &mut backend).map_err(Failure::work);
        watcher.finish();
        outcome
    }

    /// Says which file names what is not there.
    fn bad_scenario(&self, error: ScenarioError) -> Failure {
        let message = match self.scenario_file {
            Some(path) => format!("{}: {error}", path.display()),
            None => error.to_string(),
        };
        let failure = Failure::input(message);
        match error {
            ScenarioError::Unknown { .. } => {
                failure.with_help("slackline show PLATFORM lists the names")
            }
            ScenarioError::UnknownTask { .. } => {
                failure.with_help("slackline show WORKFLOW lists the names")
            }
            _ => failure,
        }
    }
}

/// Tells how far a run is, where it takes long.
struct Watcher {
    what: String,
    quiet: bool,
    next: Instant,
    bar: Option<Bar>,
}

impl Watcher {
    fn new(what: &str, quiet: bool) -> Watcher {
        Watcher { what: what.to_string(), quiet, next: Instant::now() + SILENT, bar: None }
    }

    fn see(&mut self, now: &Situation) {
        if self.quiet || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + EVERY;
        let done = now.tasks.iter().filter(|t| t.is_done()).count();
        let bar = self.bar.get_or_insert_with(|| Bar::new(false));
        bar.show(&self.what, done, now.tasks.len());
    }

    fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish();
        }
    }
}

fn write_files(
    problem: &Problem<'_>,
    ran: &Ran,
    gantt: Option<&Path>,
    trace: Option<&Path>,
) -> Result<(), Failure> {
    if let Some(path) = trace {
        let traced = TracedRun {
            trace: &ran.outcome.trace,
            workflow: problem.workflow(),
            platform: problem.platform(),
        };
        source::write_whole(path, |out| traced.write(TraceFormat::of_path(path), out))?;
    }
    if let Some(path) = gantt {
        let mut chart = Chart::of_trace(problem, &ran.outcome.trace)
            .with_traced_transfers(problem, &ran.outcome.trace)
            .without_idle_hosts();
        chart.title = report::title(problem, &ran.name);
        chart.facts = report::facts(problem, ran);
        let svg = gantt::svg(&chart, &SvgOptions::default());
        source::write_whole(path, |out| out.write_all(svg.as_bytes()))?;
    }
    Ok(())
}
