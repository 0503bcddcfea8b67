//! `slackline diff`: where a run went otherwise than a plan, or than another run.

use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use serde::Serialize;
use slackline_core::run::{Recovered, RunSession, read_folder, reused};
use slackline_core::schema::names;
use slackline_core::{Failure, schema};
use slackline_formats::{schedule_json, trace};
use slackline_model::trace::Happening;
use slackline_model::units::fmt_seconds;
use slackline_model::{Placement, Problem, Schedule, TaskId, Trace, Workflow};
use slackline_report::table::{Table, count, kind_name};
use slackline_view::Chart;
use slackline_view::gantt::{self, SvgOptions};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Compare a run with its plan, a simulation of it, or another run of the same workflow
#[derive(Args)]
#[command(after_help = "\
The first is a schedule (JSON, as written by plan -o), the folder of a run, or a trace (.jsonl, of \
simulate --trace or run --trace); the second is the folder of a run. Positive differences are seconds that \
the second took longer.

Examples:
  slackline diff plan.json montage.run
  slackline diff simulated.jsonl montage.run --gantt both.svg
  slackline diff first.run second.run --json")]
pub(crate) struct Diff {
    /// A schedule, a trace or the folder of a run
    before: PathBuf,
    /// The folder of a run
    after: PathBuf,
    /// Draw both into this SVG file, one above the other on the same scale
    #[arg(short, long, value_name = "FILE.svg")]
    gantt: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

/// One of the two that are compared.
struct Side {
    name: String,
    schedule: Schedule,
    trace: Option<Trace>,
}

/// Difference of a group of tasks.
#[derive(Clone, Debug, Serialize)]
struct Row {
    name: String,
    tasks: usize,
    /// Seconds of computing in the first and in the second.
    before: f64,
    after: f64,
    difference: f64,
    /// Median of the second over the first, task by task.
    ratio: f64,
}

#[derive(Serialize)]
struct DifferenceDocument<'a> {
    schema: &'static str,
    before: &'a str,
    after: &'a str,
    makespan: [f64; 2],
    computing: [f64; 2],
    /// Tasks that ran on another host.
    moved: usize,
    kinds: &'a [Row],
    hosts: &'a [Row],
    /// Causes that explain most of the difference, largest first.
    explained: &'a [Cause],
}

/// A constant that, put right, takes a part of the difference away.
#[derive(Serialize)]
struct Cause {
    what: String,
    /// Seconds of computing by which the two differ, and those that are left with it.
    difference: f64,
    left: f64,
}

impl Diff {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default().draws("--gantt", self.gantt.as_ref()).json(self.json).check(output)?;
        let recovered = read_folder(&self.after)?;
        let steering =
            RunSession::open(&self.after, recovered.header.clone(), &mut output.context(false))?;
        let stated = steering.problem()?;
        let (after, whole) = of_run(&self.after, &steering, &stated, recovered)?;
        let problem = steering.problem_of(&whole)?.unwrap_or(stated);
        let before = self.first(&problem, output)?;
        let pairs = both(&problem, &before.schedule, &after.schedule);
        if pairs.is_empty() {
            return Err(Failure::work("no task ran in both: there is nothing to compare"));
        }
        let workflow = problem.workflow();
        let kinds = rows(&pairs, |p| workflow.kind_name(workflow.kind(p.task)).to_string());
        let hosts = rows(&pairs, |p| host_name(&problem, &p.after));
        let explained = causes(&problem, &pairs, &kinds, &hosts);
        if let Some(path) = &self.gantt {
            let svg = side_by_side(&problem, &before, &after);
            slackline_report::picture::write(&output.files, path, &svg)?;
        }
        let host = |p: &Placement| problem.host_of(p.proc());
        let document = DifferenceDocument {
            schema: schema::names::DIFFERENCE,
            before: &before.name,
            after: &after.name,
            makespan: [before.schedule.makespan(), after.schedule.makespan()],
            computing: [pairs.iter().map(Pair::was).sum(), pairs.iter().map(Pair::is).sum()],
            moved: pairs.iter().filter(|p| host(&p.before) != host(&p.after)).count(),
            kinds: &kinds,
            hosts: &hosts,
            explained: &explained,
        };
        if self.json { output.json(&document) } else { tell(&document, output) }
    }

    fn first(&self, problem: &Problem<'_>, output: &mut Output) -> Result<Side, Failure> {
        let name = self.before.display().to_string();
        if self.before.is_dir() {
            let recovered = read_folder(&self.before)?;
            let steering = RunSession::open(
                &self.before,
                recovered.header.clone(),
                &mut output.context(false),
            )?;
            let own = steering.problem()?;
            let (side, whole) = of_run(&self.before, &steering, &own, recovered)?;
            let own = steering.problem_of(&whole)?.unwrap_or(own);
            return Ok(Side { schedule: renamed(&own, problem, &side.schedule), ..side });
        }
        let text = output.files.read_text(&self.before)?;
        if text.starts_with(&format!("{{\"schema\":\"{}\"", names::TRACE))
            || text.contains(schema::names::TRACE)
        {
            let read = trace::read(&text, problem.workflow(), problem.platform());
            let trace = read.map_err(|e| e.in_file(&self.before))?;
            return Ok(Side { name, schedule: schedule_of(problem, &trace), trace: Some(trace) });
        }
        let read = schedule_json::read(&text, problem);
        let schedule = read.map_err(|e| e.in_file(&self.before))?;
        Ok(Side { name, schedule, trace: None })
    }
}

/// A run, from its log.
fn of_run(
    path: &Path,
    steering: &RunSession,
    problem: &Problem<'_>,
    recovered: Recovered,
) -> Result<(Side, Arc<Workflow>), Failure> {
    let reused = reused(&recovered.records);
    let ran = steering.repeat(problem, recovered)?.ran;
    let Some(mut ran) = ran else {
        let message = format!("{}: this run is not over", path.display());
        let help = format!("go on with it first: slackline resume {}", path.display());
        return Err(Failure::work(message).with_help(help));
    };
    // They took no time.
    for task in reused {
        ran.outcome.schedule.placements[task.index()] = None;
    }
    let whole = ran.outcome.workflow;
    let (schedule, trace) = (ran.outcome.schedule, Some(ran.outcome.trace));
    Ok((Side { name: path.display().to_string(), schedule, trace }, whole))
}

/// The schedule of another run in the numbers of this one, by the names of tasks.
fn renamed(from: &Problem<'_>, to: &Problem<'_>, schedule: &Schedule) -> Schedule {
    let known: BTreeMap<&str, TaskId> =
        to.workflow().tasks().map(|t| (to.workflow().task_name(t), t)).collect();
    let mut placements = vec![None; to.tasks()];
    for task in from.workflow().tasks() {
        let found = known.get(from.workflow().task_name(task));
        if let (Some(&id), Some(placement)) = (found, schedule.placement(task)) {
            placements[id.index()] = Some(placement.clone());
        }
    }
    Schedule { placements, ..Schedule::default() }
}

/// When and where tasks came to their end.
fn schedule_of(problem: &Problem<'_>, trace: &Trace) -> Schedule {
    let mut placements = vec![None; problem.tasks()];
    let mut begun: BTreeMap<TaskId, (f64, &[slackline_model::ProcId])> = BTreeMap::new();
    for record in trace.records() {
        match &record.what {
            Happening::TaskStarted { task, procs } => {
                begun.insert(*task, (record.at, procs));
            }
            Happening::TaskFinished { task } => {
                if let Some((since, procs)) = begun.remove(task) {
                    placements[task.index()] = Some(Placement::wide(procs, since, record.at));
                }
            }
            _ => {}
        }
    }
    Schedule { placements, ..Schedule::default() }
}

/// A task in both.
struct Pair {
    task: TaskId,
    before: Placement,
    after: Placement,
}

impl Pair {
    fn was(&self) -> f64 {
        self.before.seconds()
    }

    fn is(&self) -> f64 {
        self.after.seconds()
    }
}

fn both(problem: &Problem<'_>, before: &Schedule, after: &Schedule) -> Vec<Pair> {
    let pair = |task: TaskId| {
        let (before, after) = (before.placement(task)?.clone(), after.placement(task)?.clone());
        let fits = before.procs().iter().all(|p| p.index() < problem.procs());
        fits.then_some(Pair { task, before, after })
    };
    problem.workflow().tasks().filter_map(pair).collect()
}

fn host_name(problem: &Problem<'_>, placement: &Placement) -> String {
    problem.platform().host(problem.host_of(placement.proc())).name.to_string()
}

/// Differences by a name, the largest first.
fn rows(pairs: &[Pair], name: impl Fn(&Pair) -> String) -> Vec<Row> {
    let mut groups: BTreeMap<String, Vec<&Pair>> = BTreeMap::new();
    for pair in pairs {
        groups.entry(name(pair)).or_default().push(pair);
    }
    let row = |(name, pairs): (String, Vec<&Pair>)| {
        let before: f64 = pairs.iter().map(|p| p.was()).sum();
        let after: f64 = pairs.iter().map(|p| p.is()).sum();
        let ratios: Vec<f64> =
            pairs.iter().filter(|p| p.was() > 0.0).map(|p| p.is() / p.was()).collect();
        let ratio = slackline_analysis::calibration::Spread::of(&ratios).median;
        Row { name, tasks: pairs.len(), before, after, difference: after - before, ratio }
    };
    let mut rows: Vec<Row> = groups.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()));
    rows
}

/// Differences that single constants would explain: the factor of a kind, the level of a host.
fn causes(problem: &Problem<'_>, pairs: &[Pair], kinds: &[Row], hosts: &[Row]) -> Vec<Cause> {
    let workflow = problem.workflow();
    let apart =
        |of: &dyn Fn(&Pair) -> f64| -> f64 { pairs.iter().map(|p| (p.is() - of(p)).abs()).sum() };
    let difference = apart(&Pair::was);
    let mut causes = Vec::new();
    for kind in kinds.iter().filter(|k| k.ratio > 0.0) {
        let right = |p: &Pair| {
            let same = workflow.kind_name(workflow.kind(p.task)) == kind.name;
            p.was() * if same { kind.ratio } else { 1.0 }
        };
        let left = apart(&right);
        let which = match &*kind.name {
            "" => "tasks without a kind".to_string(),
            name => format!("tasks of kind '{name}'"),
        };
        let what = format!("{which} take {:.2} times as long", kind.ratio);
        causes.push(Cause { what, difference, left });
    }
    for host in hosts.iter().filter(|h| h.ratio > 0.0) {
        let right = |p: &Pair| {
            p.was() * if host_name(problem, &p.after) == host.name { host.ratio } else { 1.0 }
        };
        let left = apart(&right);
        let what = format!("host '{}' takes {:.2} times as long", host.name, host.ratio);
        causes.push(Cause { what, difference, left });
    }
    causes.retain(|c| c.left < 0.99 * c.difference);
    causes.sort_by(|a, b| a.left.total_cmp(&b.left));
    causes
}

fn tell(d: &DifferenceDocument<'_>, output: &mut Output) -> Result<(), Failure> {
    let headline = output.bold(&format!("{} against {}", d.after, d.before));
    output.say(&format!("{headline}\n\n"))?;
    let mut table = Table::new(&["<", ">before", ">after", ">difference"]);
    let percent = |[a, b]: [f64; 2]| {
        if a > 0.0 { format!("{:+.1} %", (b / a - 1.0) * 100.0) } else { String::new() }
    };
    for (name, values) in [("makespan", d.makespan), ("computing", d.computing)] {
        let [a, b] = values;
        table.row([name.to_string(), fmt_seconds(a), fmt_seconds(b), percent(values)]);
    }
    output.text(&table.render(output.width))?;
    output.say(&format!("\n  {} ran on another host\n", count(d.moved, "task")))?;
    for (what, rows) in [("kind", d.kinds), ("host", d.hosts)] {
        let mut table = Table::new(&[&format!("<{what}"), ">tasks", ">before", ">after", ">ratio"]);
        for row in rows.iter().take(12) {
            let (before, after) = (fmt_seconds(row.before), fmt_seconds(row.after));
            let ratio = format!("{:.3}", row.ratio);
            let name = kind_name(&row.name).to_string();
            table.row([name, row.tasks.to_string(), before, after, ratio]);
        }
        output.text(&format!("\n{}", table.render(output.width)))?;
    }
    if !d.explained.is_empty() {
        output.say("\n  what explains most:\n")?;
    }
    for cause in d.explained.iter().take(5) {
        let share = (1.0 - cause.left / cause.difference) * 100.0;
        output.say(&format!("  {share:5.1} %  {}\n", cause.what))?;
    }
    Ok(())
}

/// Two charts on the same scale, one above the other.
fn side_by_side(problem: &Problem<'_>, before: &Side, after: &Side) -> String {
    let end = before.schedule.makespan().max(after.schedule.makespan());
    let chart = |side: &Side| {
        let mut chart = match &side.trace {
            Some(trace) => Chart::of_trace(problem, trace),
            None => Chart::of_schedule(problem, &side.schedule),
        };
        chart.title.clone_from(&side.name);
        chart.span.end = chart.span.end.max(end);
        gantt::svg(&chart, &SvgOptions::default())
    };
    stacked([chart(before), chart(after)])
}

/// Two pictures, one above the other.
pub(super) fn stacked(parts: [String; 2]) -> String {
    let size = |svg: &str, name: &str| -> f64 {
        let found =
            svg.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split_once('"'));
        found.and_then(|(text, _)| text.trim_end_matches("px").parse().ok()).unwrap_or(0.0)
    };
    let heights = parts.each_ref().map(|svg| size(svg, "height"));
    let width = parts.iter().map(|svg| size(svg, "width")).fold(0.0, f64::max);
    let height: f64 = heights.iter().sum();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n"
    );
    let mut y = 0.0;
    for (svg, height) in parts.iter().zip(heights) {
        let inner = svg.find("<svg").map_or("", |at| &svg[at..]);
        out.push_str(&format!("<g transform=\"translate(0 {y})\">\n{inner}\n</g>\n"));
        y += height;
    }
    out.push_str("</svg>\n");
    out
}
