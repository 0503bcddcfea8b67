//! Differences of a run from a plan, or from another run.

use super::{Recovered, RunSession, read_folder, reused};
use crate::context::Context;
use crate::failure::Failure;
use crate::schema::names;
use serde::Serialize;
use slackline_formats::{schedule_json, trace};
use slackline_model::trace::Happening;
use slackline_model::{Placement, Problem, Schedule, TaskId, Trace, Workflow};
use slackline_view::Chart;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// One of the two that are compared.
struct Side {
    name: String,
    schedule: Schedule,
    trace: Option<Trace>,
}

/// Difference of a group of tasks.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Kind of tasks, or host.
    pub name: String,
    /// Number of tasks.
    pub tasks: usize,
    /// Seconds of computing in the first.
    pub before: f64,
    /// Seconds of computing in the second.
    pub after: f64,
    /// Seconds that the second took longer.
    pub difference: f64,
    /// Median of the second over the first, task by task.
    pub ratio: f64,
}

/// Differences of two runs of a workflow.
#[derive(Serialize)]
pub struct Difference {
    /// Name and version of the document.
    pub schema: &'static str,
    /// The first.
    pub before: String,
    /// The second.
    pub after: String,
    /// Seconds of both.
    pub makespan: [f64; 2],
    /// Seconds of computing of both.
    pub computing: [f64; 2],
    /// Tasks that ran on another host.
    pub moved: usize,
    /// Rows by kind of tasks, the largest difference first.
    pub kinds: Vec<Row>,
    /// Rows by host.
    pub hosts: Vec<Row>,
    /// Causes that explain most of the difference, largest first.
    pub explained: Vec<Cause>,
}

/// A constant that, put right, takes a part of the difference away.
#[derive(Serialize)]
pub struct Cause {
    /// The constant, in words.
    pub what: String,
    /// Seconds of computing by which the two differ, and those that are left with it.
    pub difference: f64,
    /// Seconds that are left with it put right.
    pub left: f64,
}

/// Compares a schedule, a trace or the folder of a run with the folder of a run. With them go the charts of both on one
/// scale of time, where they are `drawn`.
pub fn compare(
    before: &Path,
    after: &Path,
    is_drawn: bool,
    context: &mut Context<'_>,
) -> Result<(Difference, Option<[Chart; 2]>), Failure> {
    let recovered = read_folder(after)?;
    let steering = RunSession::open(after, recovered.header.clone(), context)?;
    let stated = steering.problem()?;
    let (after, whole) = of_run(after, &steering, &stated, recovered)?;
    let problem = steering.problem_of(&whole)?.unwrap_or(stated);
    let before = first(before, &problem, context)?;
    let pairs = both(&problem, &before.schedule, &after.schedule);
    if pairs.is_empty() {
        return Err(Failure::work("no task ran in both: there is nothing to compare"));
    }
    let workflow = problem.workflow();
    let kinds = rows(&pairs, |p| workflow.kind_name(workflow.kind(p.task)).to_string());
    let hosts = rows(&pairs, |p| host_name(&problem, &p.after));
    let explained = causes(&problem, &pairs, &kinds, &hosts);
    let charts = is_drawn.then(|| side_by_side(&problem, &before, &after));
    let host = |p: &Placement| problem.host_of(p.proc());
    let difference = Difference {
        schema: names::DIFFERENCE,
        makespan: [before.schedule.makespan(), after.schedule.makespan()],
        computing: [pairs.iter().map(Pair::was).sum(), pairs.iter().map(Pair::is).sum()],
        moved: pairs.iter().filter(|p| host(&p.before) != host(&p.after)).count(),
        before: before.name,
        after: after.name,
        kinds,
        hosts,
        explained,
    };
    Ok((difference, charts))
}

/// Two charts on the same scale.
fn side_by_side(problem: &Problem<'_>, before: &Side, after: &Side) -> [Chart; 2] {
    let end = before.schedule.makespan().max(after.schedule.makespan());
    [before, after].map(|side| {
        let mut chart = match &side.trace {
            Some(trace) => Chart::of_trace(problem, trace),
            None => Chart::of_schedule(problem, &side.schedule),
        };
        chart.title.clone_from(&side.name);
        chart.span.end = chart.span.end.max(end);
        chart
    })
}

/// The first of the two.
fn first(path: &Path, problem: &Problem<'_>, context: &mut Context<'_>) -> Result<Side, Failure> {
    let name = path.display().to_string();
    if path.is_dir() {
        let recovered = read_folder(path)?;
        let steering = RunSession::open(path, recovered.header.clone(), context)?;
        let own = steering.problem()?;
        let (side, whole) = of_run(path, &steering, &own, recovered)?;
        let own = steering.problem_of(&whole)?.unwrap_or(own);
        return Ok(Side { schedule: renamed(&own, problem, &side.schedule), ..side });
    }
    let text = context.files.read_text(path)?;
    if text.starts_with(&format!("{{\"schema\":\"{}\"", names::TRACE))
        || text.contains(names::TRACE)
    {
        let read = trace::read(&text, problem.workflow(), problem.platform());
        let trace = read.map_err(|e| e.in_file(path))?;
        return Ok(Side { name, schedule: schedule_of(problem, &trace), trace: Some(trace) });
    }
    let read = schedule_json::read(&text, problem);
    let schedule = read.map_err(|e| e.in_file(path))?;
    Ok(Side { name, schedule, trace: None })
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
