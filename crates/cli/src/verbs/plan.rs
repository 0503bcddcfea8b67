//! `slackline plan`: a workflow and a platform in, a schedule out.

use crate::failure::Failure;
use crate::input::{Sources, World, check_output, format_parser};
use crate::output::Output;
use crate::search::{SearchOptions, interrupted};
use crate::table::{Table, count};
use clap::Args;
use serde::Serialize;
use slackline_formats::{Format, ScheduleFormat, schedule_file, source};
use slackline_model::schedule::{Limits, Summary, validate};
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_model::{Problem, Schedule};
use slackline_schedule::robust::{Robustness, RunTimeError, robustness};
use slackline_schedule::{Algorithm, PlanError, Settings, bounds, exact, registry};
use slackline_view::Chart;
use slackline_view::gantt::{self, SvgOptions, TerminalOptions};
use std::path::PathBuf;
use std::time::Instant;

/// Plan a workflow on a platform: when and where every task runs
#[derive(Args)]
#[command(after_help = "\
With several algorithms the plans are compared and the shortest is shown and written. Ctrl-C ends a
search with the best plan it has.

Examples:
  slackline plan montage.json --platform two-site-grid.toml --gantt plan.svg
  slackline plan montage.json --platform two-site-grid.toml --algorithm best,heft,peft --robust
  slackline plan --instance instance.json --algorithm heft --json")]
pub(crate) struct Plan {
    /// The workflow
    #[arg(required_unless_present = "instance")]
    workflow: Option<PathBuf>,
    /// The platform to plan on; a bundled cluster if left out
    #[arg(short, long, value_name = "FILE")]
    platform: Option<PathBuf>,
    /// A file with both workflow and processors
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workflow", "platform", "from"])]
    instance: Option<PathBuf>,
    /// Planners, separated by commas, or `all`; see `slackline algorithms`
    #[arg(
        short,
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "heft",
        value_parser = planner_name,
    )]
    algorithm: Vec<String>,
    /// Format of the workflow, where it is not recognised
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    from: Option<Format>,
    /// Draw the plan into this SVG file
    #[arg(short, long, value_name = "FILE.svg")]
    gantt: Option<PathBuf>,
    /// Write the schedule to this file: .json, .csv or .jed (Jedule)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw transfers between hosts into the SVG too
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
    #[command(flatten)]
    search: SearchOptions,
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
            let names = registry::ALL.iter().map(|a| a.name);
            let close = names.min_by_key(|name| edits(name, &text.to_ascii_lowercase()));
            let hint = close.map_or(String::new(), |name| format!("; did you mean '{name}'?"));
            Err(format!("there is no such planner{hint} `slackline algorithms` lists them all"))
        }
    }
}

/// Letters to insert, drop or change to get from one word to another (Levenshtein).
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &b) in to.iter().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

/// A plan and how it came about.
struct Planned {
    algorithm: &'static Algorithm,
    schedule: Schedule,
    summary: Summary,
    robustness: Option<Robustness>,
    wall_seconds: f64,
}

impl Plan {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        check_output(&self.gantt)?;
        check_output(&self.output)?;
        if let Some(path) = &self.output {
            ScheduleFormat::for_output(path)?;
        }
        let sources = Sources {
            workflow: self.workflow.as_deref(),
            from: self.from,
            platform: self.platform.as_deref(),
            instance: self.instance.as_deref(),
        };
        let world = World::read(&sources, output)?;
        let problem = world.problem()?;
        let (plans, lower_bound) = self.plans(&problem, output)?;
        let best = best(&plans);
        if let Some(path) = &self.output {
            schedule_file::write_schedule(path, &problem, &best.schedule)?;
        }
        if let Some(path) = &self.gantt {
            let mut chart = chart(&problem, best, lower_bound);
            if self.transfers {
                chart = chart.with_transfers(&problem, &best.schedule);
            }
            let svg = gantt::svg(&chart.without_idle_hosts(), &SvgOptions::default());
            source::write_whole(path, |out| out.write_all(svg.as_bytes()))?;
        }
        if self.json {
            return match plans.as_slice() {
                [one] => output.json(&Document::new(&problem, one, lower_bound)),
                many => output.json(&Documents {
                    schema: "slackline/plans/1",
                    plans: many.iter().map(|p| Document::new(&problem, p, lower_bound)).collect(),
                }),
            };
        }
        self.tell(&problem, &plans, lower_bound, output)
    }

    /// One plan per algorithm, and the best bound. With several, those that cannot plan this are
    /// passed over.
    fn plans(
        &self,
        problem: &Problem<'_>,
        output: &mut Output,
    ) -> Result<(Vec<Planned>, f64), Failure> {
        let chosen = self.chosen();
        let settings = self.search.settings()?;
        let mut bound = bounds::lower_bound(problem);
        let mut plans = Vec::new();
        for &algorithm in &chosen {
            if interrupted(&settings) && !plans.is_empty() {
                break;
            }
            let begin = Instant::now();
            let result = plan(algorithm, problem, &settings, &mut bound);
            let wall_seconds = begin.elapsed().as_secs_f64();
            let schedule = match result {
                Ok(schedule) => schedule,
                Err(error) if chosen.len() > 1 => {
                    output.warning(&format!("{}: {error}", algorithm.name));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if let Some(violation) = validate(problem, &schedule, &Limits::default()).first() {
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
            plans.push(Planned { algorithm, schedule, summary, robustness, wall_seconds });
        }
        if interrupted(&settings) {
            output.warning("interrupted: this is the best plan so far");
        }
        match plans.is_empty() {
            true => Err(Failure::work("none of the chosen algorithms can plan this")),
            false => Ok((plans, bound)),
        }
    }

    fn chosen(&self) -> Vec<&'static Algorithm> {
        let mut chosen: Vec<&'static Algorithm> = Vec::new();
        for name in &self.algorithm {
            let named: Vec<&'static Algorithm> = match name.as_str() {
                ALL_PLANNERS => registry::ALL.iter().collect(),
                name => registry::find(name).into_iter().collect(),
            };
            for algorithm in named {
                if chosen.iter().all(|c| c.name != algorithm.name) {
                    chosen.push(algorithm);
                }
            }
        }
        chosen
    }

    fn tell(
        &self,
        problem: &Problem<'_>,
        plans: &[Planned],
        lower_bound: f64,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let best = best(plans);
        if plans.len() > 1 {
            let headline = format!("{} plans of {}", plans.len(), place(problem));
            output.say(&format!("{}\n\n", output.bold(&headline)))?;
            output.say(&comparison(problem, plans, lower_bound, output.width))?;
            output.say(&format!(
                "\n{}\n\n",
                output.bold(&format!("The plan of {}", best.algorithm.name))
            ))?;
        } else {
            let headline = format!("{}, planned by {}", place(problem), best.algorithm.name);
            output.say(&format!("{}\n\n", output.bold(&headline)))?;
            output.say(&summary(problem, best, lower_bound, output.width))?;
            output.say("\n")?;
        }
        let options = TerminalOptions {
            width: output.width,
            colour: output.colour,
            ..TerminalOptions::default()
        };
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

/// Plans; `exact` also raises the bound.
fn plan(
    algorithm: &Algorithm,
    problem: &Problem<'_>,
    settings: &Settings,
    bound: &mut f64,
) -> Result<Schedule, PlanError> {
    if algorithm.name != exact::EXACT.name {
        return (algorithm.plan)(problem, settings);
    }
    let solved = exact::solve(problem, settings)?;
    *bound = bound.max(solved.bound);
    Ok(solved.schedule)
}

/// The shortest plan; of equal ones the first.
fn best(plans: &[Planned]) -> &Planned {
    let shorter = |a: &Planned, b: &Planned| {
        slackline_model::approx::lt(b.summary.makespan, a.summary.makespan)
    };
    plans.iter().skip(1).fold(&plans[0], |best, plan| if shorter(best, plan) { plan } else { best })
}

/// Which workflow on which platform.
fn place(problem: &Problem<'_>) -> String {
    let (workflow, platform) = (problem.workflow(), problem.platform());
    let name = |name: &str, what: &str| match name {
        "" => format!("a {what}"),
        name => name.to_string(),
    };
    let machines = match (platform.hosts().len(), problem.procs()) {
        (hosts, procs) if hosts == procs => count(hosts, "processor"),
        (hosts, procs) => format!("{}, {}", count(hosts, "host"), count(procs, "core")),
    };
    format!(
        "{} ({}) on {} ({machines})",
        name(workflow.name(), "workflow"),
        count(workflow.len(), "task"),
        name(platform.name(), "platform"),
    )
}

fn chart(problem: &Problem<'_>, plan: &Planned, lower_bound: f64) -> Chart {
    let mut chart = Chart::of_schedule(problem, &plan.schedule).with_bound(lower_bound);
    chart.title = place(problem);
    chart.facts = vec![
        format!("planned by {}", plan.algorithm.name),
        gap(plan.summary.makespan, lower_bound),
        format!("speed-up {}", three_digits(plan.summary.speedup)),
        format!("utilisation {:.0} %", 100.0 * plan.summary.utilisation),
        format!("{} moved", fmt_bytes(plan.summary.bytes_moved)),
    ];
    chart
}

/// How far a makespan is from the best possible.
fn gap(makespan: f64, lower_bound: f64) -> String {
    let above = above_bound(makespan, lower_bound);
    match above {
        a if a < 0.0005 => "the best possible".to_string(),
        a if a < 0.1 => format!("at most {:.1} % above the best possible", 100.0 * a),
        a if a.is_finite() => format!("at most {:.0} % above the best possible", 100.0 * a),
        _ => "no lower bound".to_string(),
    }
}

fn above_bound(makespan: f64, lower_bound: f64) -> f64 {
    if slackline_model::approx::le(makespan, lower_bound) {
        0.0
    } else {
        makespan / lower_bound - 1.0
    }
}

fn summary(problem: &Problem<'_>, plan: &Planned, lower_bound: f64, width: usize) -> String {
    let summary = &plan.summary;
    let mut table = Table::new(&["<", "<", "<"]);
    let mut row = |name: &str, value: String, remark: String| {
        table.row([name.to_string(), value, remark]);
    };
    row("makespan", fmt_seconds(summary.makespan), plain_seconds(summary.makespan));
    row("lower bound", fmt_seconds(lower_bound), gap(summary.makespan, lower_bound));
    row("speed-up", three_digits(summary.speedup), "over the fastest single processor".into());
    let used = format!("of the {} processors used", summary.used_procs);
    row("utilisation", format!("{:.0} %", 100.0 * summary.utilisation), used);
    if priced(problem) {
        row("cost", three_digits(summary.cost), String::new());
    }
    row("data moved", fmt_bytes(summary.bytes_moved), "between hosts".into());
    if let Some(spread) = &plan.robustness {
        row("with errors", fmt_seconds(spread.mean), "mean makespan".into());
        row("", fmt_seconds(spread.p95), "not exceeded in 95 % of the samples".into());
        row("slack", fmt_seconds(spread.slack), "mean delay of a task that does no harm".into());
    }
    table.render(width)
}

/// Makespans above a minute or two also in plain seconds.
fn plain_seconds(seconds: f64) -> String {
    if seconds < 99.95 { String::new() } else { format!("{seconds:.1} s") }
}

fn comparison(problem: &Problem<'_>, plans: &[Planned], lower_bound: f64, width: usize) -> String {
    let mut headings = vec!["<algorithm", ">makespan", ">to best", ">above bound", ">planned in"];
    let (priced, spread) = (priced(problem), plans.iter().any(|p| p.robustness.is_some()));
    if priced {
        headings.push(">cost");
    }
    // Both together are more than a terminal holds.
    match spread {
        true => headings.extend([">mean", ">p95", ">slack"]),
        false => headings.extend([">used", ">moved"]),
    }
    let mut table = Table::new(&headings);
    let mut sorted: Vec<&Planned> = plans.iter().collect();
    sorted.sort_by(|a, b| a.summary.makespan.total_cmp(&b.summary.makespan));
    let shortest = sorted.first().map_or(0.0, |p| p.summary.makespan);
    for plan in sorted {
        let summary = &plan.summary;
        let mut cells = vec![
            plan.algorithm.name.to_string(),
            fmt_seconds(summary.makespan),
            format!("{:.3}", if shortest > 0.0 { summary.makespan / shortest } else { 1.0 }),
            format!("{:.1} %", 100.0 * above_bound(summary.makespan, lower_bound)),
            fmt_seconds(plan.wall_seconds),
        ];
        if priced {
            cells.push(three_digits(summary.cost));
        }
        match &plan.robustness {
            Some(spread) => {
                cells.extend([spread.mean, spread.p95, spread.slack].map(fmt_seconds));
            }
            None => {
                cells.push(format!("{:.0} %", 100.0 * summary.utilisation));
                cells.push(fmt_bytes(summary.bytes_moved));
            }
        }
        table.row(cells);
    }
    table.render(width)
}

fn priced(problem: &Problem<'_>) -> bool {
    problem.platform().hosts().iter().any(|host| host.price > 0.0)
}

/// Three significant digits, without an exponent where people would not expect one.
fn three_digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.2}"),
        _ => format!("{value:.2e}"),
    }
}

/// The JSON document of several plans.
#[derive(Serialize)]
struct Documents<'a> {
    schema: &'static str,
    plans: Vec<Document<'a>>,
}

/// The JSON document of a plan.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    algorithm: &'static str,
    workflow: &'a str,
    platform: &'a str,
    tasks: usize,
    processors: usize,
    makespan: f64,
    lower_bound: f64,
    speedup: f64,
    utilisation: f64,
    used_processors: usize,
    cost: f64,
    bytes_moved: f64,
    wall_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    robustness: Option<Spread>,
    schedule: Vec<Row<'a>>,
}

/// The makespan when run times are off.
#[derive(Serialize)]
struct Spread {
    mean: f64,
    p95: f64,
    worst: f64,
    slack: f64,
}

#[derive(Serialize)]
struct Row<'a> {
    task: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    processor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    processors: Vec<String>,
    start: f64,
    finish: f64,
}

impl<'a> Document<'a> {
    fn new(problem: &Problem<'a>, plan: &Planned, lower_bound: f64) -> Document<'a> {
        let workflow = problem.workflow();
        let row = |task| {
            let placement = plan.schedule.placement(task)?;
            let names = || placement.procs().iter().map(|&p| problem.proc_name(p));
            let wide = placement.procs().len() > 1;
            Some(Row {
                task: workflow.task_name(task),
                processor: if wide { None } else { names().next() },
                processors: if wide { names().collect() } else { Vec::new() },
                start: placement.start,
                finish: placement.finish,
            })
        };
        Document {
            schema: "slackline/plan/1",
            algorithm: plan.algorithm.name,
            workflow: workflow.name(),
            platform: problem.platform().name(),
            tasks: problem.tasks(),
            processors: problem.procs(),
            makespan: plan.summary.makespan,
            lower_bound,
            speedup: plan.summary.speedup,
            utilisation: plan.summary.utilisation,
            used_processors: plan.summary.used_procs,
            cost: plan.summary.cost,
            bytes_moved: plan.summary.bytes_moved,
            wall_seconds: plan.wall_seconds,
            robustness: plan.robustness.map(|r| Spread {
                mean: r.mean,
                p95: r.p95,
                worst: r.worst,
                slack: r.slack,
            }),
            schedule: workflow.tasks().filter_map(row).collect(),
        }
    }
}
