//! `slackline simulate WORKFLOW`: a schedule or a policy executed on a simulated platform.

use super::{Simulate, models};
use crate::failure::Failure;
use crate::input::{Sources, World};
use crate::output::Output;
use crate::table::Table;
use serde::Serialize;
use slackline_execute::{Counters, Ending, Monitoring, Outcome, Settings, Simulated, Usage, run};
use slackline_formats::scenario::read_scenario;
use slackline_formats::trace::{TraceFormat, TracedRun};
use slackline_formats::{schedule_json, source};
use slackline_model::scenario::Scenario;
use slackline_model::schedule::{Limits, validate};
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_model::{Platform, Problem, ProcId, Schedule, TaskId};
use slackline_react::gtp::Period;
use slackline_react::registry::{self as policies, Entry, Options};
use slackline_react::{Policy, StaticPlan, Transfers};
use slackline_schedule::{Algorithm, Settings as PlanSettings, bounds, registry};
use slackline_simulate::Models;
use slackline_view::Chart;
use slackline_view::gantt::{self, SvgOptions, TerminalOptions};
use std::sync::Arc;
use std::time::Instant;

/// Steps of the usage lines.
const STEPS: usize = 32;

/// Hosts and links whose usage is shown.
const SHOWN: usize = 5;

/// One run and what drove it.
struct Ran {
    name: String,
    outcome: Outcome,
    /// What the first plan promised.
    planned: Option<Schedule>,
    wall_seconds: f64,
}

/// Everything a run needs.
struct Stage<'a> {
    problem: &'a Problem<'a>,
    /// The platform at its peak, as planners know it.
    world: &'a World,
    scenario: Scenario,
    models: Models,
    transfers: Transfers,
    planner: &'static Algorithm,
    period: f64,
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
    let stage = Stage {
        problem: &problem,
        world: &world,
        scenario: match &args.scenario {
            Some(path) => read_scenario(path)?,
            None => Scenario::default(),
        },
        models: models(&args.settings)?,
        transfers: args.transfers()?,
        planner: planner(args.algorithm.as_deref().unwrap_or("heft"))?,
        period: args.period,
    };
    let runs = runs(args, &stage, output)?;
    if let Some(first) = runs.first() {
        write_files(args, &problem, first)?;
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
        tell(args, &problem, &runs, output)?;
    }
    match runs.iter().find_map(unfinished) {
        Some(why) => Err(Failure::work(why)),
        None => Ok(()),
    }
}

fn unfinished(ran: &Ran) -> Option<String> {
    match &ran.outcome.ending {
        Ending::Finished => None,
        Ending::CannotFinish(why) => Some(format!("{} cannot finish: {why}", ran.name)),
    }
}

fn planner(name: &str) -> Result<&'static Algorithm, Failure> {
    registry::find(name).ok_or_else(|| {
        Failure::input(format!("there is no planner '{name}'"))
            .with_help("slackline algorithms lists them")
    })
}

fn policy(name: &str) -> Result<&'static Entry, Failure> {
    policies::find(name).ok_or_else(|| {
        let names: Vec<&str> = policies::ALL.iter().map(|e| e.name).collect();
        Failure::input(format!("there is no policy '{name}'"))
            .with_help(format!("one of: {}", names.join(", ")))
    })
}

/// The runs that were asked for: a given schedule, one policy, or several.
fn runs(args: &Simulate, stage: &Stage<'_>, output: &mut Output) -> Result<Vec<Ran>, Failure> {
    if let Some(path) = &args.schedule {
        let text = source::read_text(path)?;
        let schedule = schedule_json::read(&text, stage.problem).map_err(|e| e.in_file(path))?;
        if let Some(violation) = validate(stage.problem, &schedule, &Limits::default()).first() {
            output.warning(&format!("{}: {violation}", path.display()));
        }
        let make = || -> Box<dyn Policy> {
            let given = schedule.clone();
            Box::new(StaticPlan::of_schedule(given, stage.planner, stage.transfers))
        };
        let ran = stage.run("schedule", false, &make, Some(schedule.clone()))?;
        return Ok(vec![ran]);
    }
    let mut names: Vec<&str> = args.compare.iter().map(String::as_str).collect();
    if names.is_empty() {
        names.push(args.policy.as_deref().unwrap_or("static"));
    }
    let mut all = Vec::new();
    for name in names {
        let entry = policy(name)?;
        let planned = (stage.planner.plan)(stage.problem, &PlanSettings::default())?;
        let period = Period::Seconds(stage.period * planned.makespan());
        let options = Options { planner: stage.planner, transfers: stage.transfers, period };
        let make = || (entry.make)(&options);
        all.push(stage.run(name, entry.looks, &make, Some(planned))?);
    }
    Ok(all)
}

impl Stage<'_> {
    fn run(
        &self,
        name: &str,
        looks: bool,
        make: &dyn Fn() -> Box<dyn Policy>,
        planned: Option<Schedule>,
    ) -> Result<Ran, Failure> {
        let clock = Instant::now();
        let mut scenario = self.scenario.clone();
        if scenario.needs_makespan() {
            // Moments given as a part of the makespan are those of the same run without them.
            let calm = self.once(&scenario.without_relative_moments(), looks, make)?;
            scenario = scenario.at_makespan(calm.makespan);
        }
        let outcome = self.once(&scenario, looks, make)?;
        let wall_seconds = clock.elapsed().as_secs_f64();
        Ok(Ran { name: name.to_string(), outcome, planned, wall_seconds })
    }

    fn once(
        &self,
        scenario: &Scenario,
        looks: bool,
        make: &dyn Fn() -> Box<dyn Policy>,
    ) -> Result<Outcome, Failure> {
        let nominal = &self.world.platform;
        let course = scenario.on(nominal).map_err(Failure::input)?;
        if !course.pairs.is_empty() {
            return Err(Failure::input("the scenario changes connections of a matrix network")
                .with_help("describe the network by links, which can change"));
        }
        let platform: Platform = nominal.in_world(&course);
        let truth = scenario.truth(&self.world.workflow, nominal).map_err(Failure::input)?;
        let problem = self.problem;
        let seconds = |task: TaskId, procs: &[ProcId]| {
            let first = procs.first().copied().unwrap_or(ProcId(0));
            let stated = problem.exec_wide(task, problem.class_of(first), procs.len() as u32);
            truth.actual_seconds(task, problem.host_of(first), stated)
        };
        let mut backend = Simulated::new(&platform, self.models.clone(), Box::new(seconds))
            .map_err(Failure::work)?;
        let monitoring = if looks { Monitoring::OnWakeUp } else { Monitoring::Continuous };
        let settings = Settings { monitoring, ..Settings::default() };
        let (workflow, known) = (Arc::new(self.world.workflow.clone()), Arc::new(nominal.clone()));
        let mut policy = make();
        run(workflow, known, policy.as_mut(), &mut backend, settings).map_err(Failure::work)
    }
}

fn write_files(args: &Simulate, problem: &Problem<'_>, ran: &Ran) -> Result<(), Failure> {
    if let Some(path) = &args.trace {
        let traced = TracedRun {
            trace: &ran.outcome.trace,
            workflow: problem.workflow(),
            platform: problem.platform(),
        };
        source::write_whole(path, |out| traced.write(TraceFormat::of_path(path), out))?;
    }
    if let Some(path) = &args.gantt {
        let chart = Chart::of_trace(problem, &ran.outcome.trace)
            .with_traced_transfers(problem, &ran.outcome.trace);
        let mut chart = chart;
        chart.title = title(problem, &ran.name);
        let svg = gantt::svg(&chart, &SvgOptions::default());
        source::write_whole(path, |out| out.write_all(svg.as_bytes()))?;
    }
    Ok(())
}

fn title(problem: &Problem<'_>, name: &str) -> String {
    let (workflow, platform) = (problem.workflow().name(), problem.platform().name());
    format!("{workflow} on {platform}, simulated with {name}")
}

fn tell(
    args: &Simulate,
    problem: &Problem<'_>,
    runs: &[Ran],
    output: &mut Output,
) -> Result<(), Failure> {
    if runs.len() > 1 {
        return compare(problem, runs, output);
    }
    let Some(ran) = runs.first() else { return Ok(()) };
    let headline = output.bold(&title(problem, &ran.name));
    output.say(&format!("{headline}\n\n"))?;
    output.say(&summary(problem, ran, output.width))?;
    output.say("\n")?;
    let chart = Chart::of_trace(problem, &ran.outcome.trace);
    let options = TerminalOptions {
        width: output.width,
        colour: output.colour,
        ..TerminalOptions::default()
    };
    output.say(&gantt::terminal(&chart, &options))?;
    output.say(&usage(problem, ran, output.width))?;
    for (what, path) in [("Chart", &args.gantt), ("Trace", &args.trace)] {
        if let Some(path) = path {
            output.say(&format!("\n{what} written to {}\n", path.display()))?;
        }
    }
    Ok(())
}

fn summary(problem: &Problem<'_>, ran: &Ran, width: usize) -> String {
    let outcome = &ran.outcome;
    let Counters { replannings, migrations, rewound, hosts_lost, .. } = outcome.counters;
    let mut table = Table::new(&["<", "<"]);
    let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
    row("makespan", format!("{} ({:.6} s)", fmt_seconds(outcome.makespan), outcome.makespan));
    if let Some(planned) = &ran.planned {
        let promised = planned.makespan();
        let more = (outcome.makespan / promised - 1.0) * 100.0;
        row("planned", format!("{} (simulated {more:+.1} %)", fmt_seconds(promised)));
        row("tasks late", lateness(problem, planned, &outcome.schedule));
    }
    row(
        "data moved",
        format!(
            "{} in {} transfers",
            fmt_bytes(outcome.counters.bytes_moved),
            outcome.counters.transfers
        ),
    );
    if replannings > 0 || migrations > 0 {
        row("re-planned", format!("{replannings} times, {migrations} tasks migrated"));
    }
    if outcome.counters.lost_seconds > 0.0 {
        row("work lost", fmt_seconds(outcome.counters.lost_seconds));
    }
    if hosts_lost > 0 {
        row("hosts lost", format!("{hosts_lost}, {rewound} finished tasks done again"));
    }
    row("simulated in", fmt_seconds(ran.wall_seconds));
    table.render(width)
}

/// How many tasks ended later than planned, and by how much at most.
fn lateness(problem: &Problem<'_>, planned: &Schedule, real: &Schedule) -> String {
    let mut late = 0;
    let mut most = 0.0f64;
    for task in problem.workflow().tasks() {
        if let (Some(plan), Some(real)) = (planned.placement(task), real.placement(task))
            && slackline_model::approx::lt(plan.finish, real.finish)
        {
            late += 1;
            most = most.max(real.finish - plan.finish);
        }
    }
    match late {
        0 => "none".to_string(),
        _ => format!("{late} of {}, by {} at most", problem.tasks(), fmt_seconds(most)),
    }
}

/// The busiest hosts and links over time, as lines of blocks.
fn usage(problem: &Problem<'_>, ran: &Ran, width: usize) -> String {
    let platform = problem.platform();
    let usage = Usage::of(platform, &ran.outcome.trace, STEPS);
    let hosts = platform.hosts().iter().map(|h| h.name.to_string()).zip(&usage.hosts);
    let links = platform.links().iter().map(|l| l.name.to_string()).zip(&usage.links);
    let mut text = String::new();
    for (what, rows) in [("hosts", hosts.collect::<Vec<_>>()), ("links", links.collect())] {
        let mut rows: Vec<(String, &Vec<f64>, f64)> = rows
            .into_iter()
            .map(|(name, steps)| (name, steps, steps.iter().sum::<f64>() / STEPS as f64))
            .filter(|(_, _, mean)| *mean > 0.0)
            .collect();
        rows.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
        if rows.is_empty() {
            continue;
        }
        let mut table = Table::new(&[&format!("<busiest {what}"), ">mean", "<over time"]);
        for (name, steps, mean) in rows.into_iter().take(SHOWN) {
            let name = crate::table::cut(&name, 24);
            table.row([name, format!("{:.0} %", mean * 100.0), blocks(steps)]);
        }
        text += "\n";
        text += &table.render(width);
    }
    text
}

fn blocks(steps: &[f64]) -> String {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    steps.iter().map(|s| LEVELS[(s.clamp(0.0, 1.0) * 8.0).round() as usize]).collect()
}

fn compare(problem: &Problem<'_>, runs: &[Ran], output: &mut Output) -> Result<(), Failure> {
    let best = runs.iter().map(|r| r.outcome.makespan).fold(f64::INFINITY, f64::min);
    let headline = format!("{} policies in the same world", runs.len());
    output.say(&format!("{}\n\n", output.bold(&headline)))?;
    let mut table = Table::new(&[
        "<policy",
        ">makespan",
        ">to best",
        ">moved",
        ">re-planned",
        ">work lost",
        ">data",
    ]);
    let mut sorted: Vec<&Ran> = runs.iter().collect();
    sorted.sort_by(|a, b| a.outcome.makespan.total_cmp(&b.outcome.makespan));
    for ran in sorted {
        let c = &ran.outcome.counters;
        let finished = ran.outcome.ending == Ending::Finished;
        let makespan =
            if finished { fmt_seconds(ran.outcome.makespan) } else { "cannot finish".into() };
        table.row([
            ran.name.clone(),
            makespan,
            format!("{:.3}", ran.outcome.makespan / best),
            c.migrations.to_string(),
            c.replannings.to_string(),
            fmt_seconds(c.lost_seconds),
            fmt_bytes(c.bytes_moved),
        ]);
    }
    let _ = problem;
    output.say(&table.render(output.width))
}

/// The JSON document of several runs.
#[derive(Serialize)]
struct Documents<'a> {
    schema: &'static str,
    runs: &'a [Document<'a>],
}

/// The JSON document of one run.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    policy: &'a str,
    finished: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    makespan: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    planned_makespan: Option<f64>,
    lower_bound: f64,
    replannings: usize,
    remappings: usize,
    migrations: usize,
    rewound: usize,
    hosts_lost: usize,
    failures: usize,
    lost_seconds: f64,
    transfers: usize,
    bytes_moved: f64,
    schedule: Vec<Row<'a>>,
    wall_seconds: f64,
}

#[derive(Serialize)]
struct Row<'a> {
    task: &'a str,
    processor: String,
    start: f64,
    finish: f64,
}

impl<'a> Document<'a> {
    fn new(problem: &'a Problem<'_>, ran: &'a Ran, lower_bound: f64) -> Document<'a> {
        let outcome = &ran.outcome;
        let row = |task: TaskId| {
            let placement = outcome.schedule.placement(task)?;
            Some(Row {
                task: problem.workflow().task_name(task),
                processor: problem.proc_name(placement.proc()),
                start: placement.start,
                finish: placement.finish,
            })
        };
        let why = match &outcome.ending {
            Ending::Finished => None,
            Ending::CannotFinish(why) => Some(why.as_str()),
        };
        let c = &outcome.counters;
        Document {
            schema: "slackline/simulation/1",
            policy: &ran.name,
            finished: why.is_none(),
            why,
            makespan: outcome.makespan,
            planned_makespan: ran.planned.as_ref().map(Schedule::makespan),
            lower_bound,
            replannings: c.replannings,
            remappings: c.remappings,
            migrations: c.migrations,
            rewound: c.rewound,
            hosts_lost: c.hosts_lost,
            failures: c.failures,
            lost_seconds: c.lost_seconds,
            transfers: c.transfers,
            bytes_moved: c.bytes_moved,
            schedule: problem.workflow().tasks().filter_map(row).collect(),
            wall_seconds: ran.wall_seconds,
        }
    }
}
