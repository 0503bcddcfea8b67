//! `slackline centre batch`: a log of a batch system under other policies.

use super::Number;
use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::{Args, ValueEnum};
use rayon::prelude::*;
use serde::Serialize;
use slackline_centre::batch::metrics::{self, Metrics, Period};
use slackline_centre::batch::{Machine, Outcome, Policy, Replay, Site};
use slackline_core::schema::names;
use slackline_formats::batch_log::{self, BatchLog, DateStyle, SkippedLine, Wrong};
use slackline_model::units::fmt_seconds;
use slackline_report::picture;
use slackline_report::table::{Table, count};
use slackline_view::series::{self, Line, Panel, Series};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Replay the log of a batch system under scheduling policies
#[derive(Args)]
#[command(after_help = "\
LOG is in the Standard Workload Format (.swf), or what `sacct --parsable2` prints; either may be \
compressed with gzip.

A site file (JSON or TOML) has `machine` {cores} or {nodes, cores_per_node} (whole nodes), and \
may have `priorities` {queue: value}, `caps` [{by, name, cores, jobs}], `pledges` {group: value}, \
`window`, `deviation_window` (seconds), `power` {idle, loaded, off, off_after, shutdown, boot}. \
Without --site, --cores or --nodes the machine is the one the log names (MaxProcs).

Examples:
  slackline centre batch log.swf --cores 256 --policy fcfs,easy,conservative
  slackline centre batch log.swf.gz --site site.toml --by week
  slackline centre batch log.swf --cores 256 --policy easy --picture load.svg
  slackline centre batch jobs.txt --nodes 40 --cores-per-node 64 --lenient")]
pub(crate) struct Batch {
    /// The log
    log: PathBuf,
    /// Machine and rules, JSON or TOML
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
    /// Cores of the machine, given to jobs one by one
    #[arg(long, value_name = "N", conflicts_with = "nodes")]
    cores: Option<u64>,
    /// Nodes of the machine, given to jobs as a whole
    #[arg(long, value_name = "N", requires = "cores_per_node")]
    nodes: Option<u64>,
    /// Cores of a node
    #[arg(long, value_name = "K", requires = "nodes")]
    cores_per_node: Option<u64>,
    /// Policies, separated by commas
    #[arg(
        long,
        value_name = "POLICIES",
        value_delimiter = ',',
        default_value = "fcfs,easy,conservative"
    )]
    policy: Vec<Policy>,
    /// Skip wrong lines of the log, and list them
    #[arg(long)]
    lenient: bool,
    /// Add the same measures by period of submission
    #[arg(long, value_name = "PERIOD")]
    by: Option<PeriodLength>,
    /// Draw cores held and waited for over time: .svg or .png
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// Length of a period of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PeriodLength {
    /// Days of 24 hours from the first submission on
    Day,
    /// Weeks from the first submission on
    Week,
    /// 30 days
    Month,
}

impl PeriodLength {
    fn seconds(self) -> f64 {
        86400.0
            * match self {
                PeriodLength::Day => 1.0,
                PeriodLength::Week => 7.0,
                PeriodLength::Month => 30.0,
            }
    }

    fn name(self) -> &'static str {
        match self {
            PeriodLength::Day => "day",
            PeriodLength::Week => "week",
            PeriodLength::Month => "month",
        }
    }
}

#[derive(Serialize)]
struct BatchDocument<'a> {
    schema: &'static str,
    jobs: Vec<u64>,
    cancelled: &'a [u64],
    #[serde(skip_serializing_if = "Option::is_none")]
    not_ended: Option<&'a [u64]>,
    out_of_order: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<Vec<Skipped<'a>>>,
    results: BTreeMap<&'static str, Results>,
}

#[derive(Serialize)]
struct Skipped<'a> {
    line: usize,
    cause: &'a str,
}

#[derive(Serialize)]
struct Results {
    start: Vec<Option<Date>>,
    killed: Vec<u64>,
    refused: BTreeMap<String, String>,
    metrics: Metrics,
    #[serde(skip_serializing_if = "Option::is_none")]
    periods: Option<Vec<Period>>,
}

/// A date as the log writes them.
#[derive(Serialize)]
#[serde(untagged)]
enum Date {
    Seconds(Number),
    Calendar(String),
}

/// Result of a policy.
struct Judged {
    outcome: Outcome,
    metrics: Metrics,
    periods: Option<Vec<Period>>,
}

impl Batch {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads(Some(&self.log))
            .reads(self.site.as_ref())
            .draws("--picture", self.picture.as_ref())
            .json(self.json)
            .check(output)?;
        let wrong = if self.lenient { Wrong::Skip } else { Wrong::Refuse };
        let log = batch_log::read(&output.files, &self.log, wrong)?;
        let site = self.site(&log, output)?;
        let replay = Replay { log: &log, site: &site };
        let mut policies: Vec<Policy> = Vec::new();
        for &policy in &self.policy {
            if !policies.contains(&policy) {
                policies.push(policy);
            }
        }
        let judge = |&policy: &Policy| {
            let outcome = replay.run(policy);
            let metrics = metrics::measure(&replay, &outcome);
            let periods = self.by.map(|by| metrics::by_period(&replay, &outcome, by.seconds()));
            Judged { outcome, metrics, periods }
        };
        let judged: Vec<Judged> = policies.par_iter().map(judge).collect();
        if let Some(path) = &self.picture {
            picture::write(&output.files, path, &series::svg(&self.load(&replay, &judged)))?;
        }
        if self.json {
            output.json(&self.document(&log, judged))
        } else {
            self.text(&replay, &judged, output)
        }
    }

    fn site(&self, log: &BatchLog, output: &Output) -> Result<Site, Failure> {
        let named = match (self.cores, self.nodes.zip(self.cores_per_node)) {
            (Some(cores), _) => Some(Machine::Cores(cores)),
            (None, Some((nodes, cores_per_node))) => Some(Machine::Nodes { nodes, cores_per_node }),
            (None, None) => None,
        };
        if let Some(path) = &self.site {
            let text = output.files.read_text(path)?;
            return Site::parse(&text, named)
                .map_err(|error| Failure::input(format!("{}: {error}", path.display())));
        }
        let Some(machine) = named.or(log.machine_cores.map(Machine::Cores)) else {
            return Err(Failure::input("the log does not say how many cores the machine has")
                .with_help("give --cores N, --nodes N --cores-per-node K, or --site FILE"));
        };
        Site::new(machine).map_err(Failure::input)
    }

    fn document<'a>(&self, log: &'a BatchLog, judged: Vec<Judged>) -> BatchDocument<'a> {
        let date = |date: f64| match log.dates {
            DateStyle::Seconds => Date::Seconds(Number(date)),
            DateStyle::Calendar => Date::Calendar(log.date_text(date)),
        };
        let results = judged.into_iter().map(|Judged { outcome, metrics, periods }| {
            let ran = log.jobs.iter().zip(&outcome.starts);
            let killed = ran.filter(|(job, start)| start.is_some() && job.run > job.limit);
            let killed = killed.map(|(job, _)| job.number).collect();
            let refused = outcome.refused.iter();
            let results = Results {
                start: outcome.starts.iter().map(|start| start.map(date)).collect(),
                killed,
                refused: refused.map(|(job, why)| (job.to_string(), why.to_string())).collect(),
                metrics,
                periods,
            };
            (outcome.policy.name(), results)
        });
        let skipped = |line: &'a SkippedLine| Skipped { line: line.line, cause: &line.cause };
        BatchDocument {
            schema: names::CENTRE_BATCH,
            jobs: log.jobs.iter().map(|job| job.number).collect(),
            cancelled: &log.cancelled,
            not_ended: (log.dates == DateStyle::Calendar).then_some(&log.not_ended),
            out_of_order: log.out_of_order,
            skipped: self.lenient.then(|| log.skipped.iter().map(skipped).collect()),
            results: results.collect(),
        }
    }

    fn text(
        &self,
        replay: &Replay<'_>,
        judged: &[Judged],
        output: &mut Output,
    ) -> Result<(), Failure> {
        let (log, machine) = (replay.log, replay.site.machine);
        let units = match machine {
            Machine::Cores(cores) => count(cores as usize, "core"),
            Machine::Nodes { nodes, cores_per_node } => {
                format!(
                    "{} of {}",
                    count(nodes as usize, "node"),
                    count(cores_per_node as usize, "core")
                )
            }
        };
        output.say(&format!("{} on {units}\n", count(log.jobs.len(), "job")))?;
        for (number, what) in [
            (log.cancelled.len(), "cancelled before they began"),
            (log.not_ended.len(), "without an end, left out"),
            (log.out_of_order, "out of order, sorted"),
        ] {
            if number > 0 {
                output.note(&format!("{number} {what}"));
            }
        }
        if !log.skipped.is_empty() {
            output.warning(&format!("{} skipped", count(log.skipped.len(), "wrong line")));
            for SkippedLine { line, cause } in log.skipped.iter().take(10) {
                output.warning(&format!("line {line}: {cause}"));
            }
        }
        for Judged { outcome, .. } in judged {
            let refused: Vec<String> = outcome.refused.keys().take(5).map(u64::to_string).collect();
            if let Some((_, why)) = outcome.refused.iter().next() {
                let more = if outcome.refused.len() > refused.len() { ", …" } else { "" };
                output.warning(&format!(
                    "{}: {} refused, {why}: {}{more}",
                    outcome.policy,
                    count(outcome.refused.len(), "job"),
                    refused.join(", ")
                ));
            }
        }
        let all: Vec<(String, &Metrics)> =
            judged.iter().map(|j| (j.outcome.policy.name().to_string(), &j.metrics)).collect();
        let text = table("<policy", &all).render(output.width);
        output.text(&text)?;
        if let Some(by) = self.by {
            for Judged { outcome, periods, .. } in judged {
                output.text(&format!("\n{}\n", output.bold(outcome.policy.name())))?;
                let periods = periods.iter().flatten();
                let named = |period: &'_ Period| match log.dates {
                    DateStyle::Seconds => fmt_seconds(period.begin),
                    DateStyle::Calendar => log.date_text(period.begin),
                };
                let rows: Vec<(String, &Metrics)> =
                    periods.map(|period| (named(period), &period.metrics)).collect();
                let text = table(&format!("<{} from", by.name()), &rows).render(output.width);
                output.text(&text)?;
            }
        }
        Ok(())
    }

    fn load(&self, replay: &Replay<'_>, judged: &[Judged]) -> Series {
        let mut held = Panel {
            label: "cores held".into(),
            limit: Some(replay.site.machine.cores() as f64),
            lines: Vec::new(),
        };
        let mut waiting =
            Panel { label: "cores asked for by waiting jobs".into(), ..Panel::default() };
        let (mut begin, mut end) = (f64::INFINITY, 0.0f64);
        for (name, Judged { outcome, .. }) in judged.iter().enumerate() {
            let course = metrics::load(replay, outcome);
            begin = course.first().map_or(begin, |load| load.date.min(begin));
            end = course.last().map_or(end, |load| load.date.max(end));
            let steps = |of: fn(&metrics::Load) -> f64| {
                course.iter().map(|load| (load.date, of(load))).collect()
            };
            held.lines.push(Line { name, steps: steps(|load| load.held) });
            waiting.lines.push(Line { name, steps: steps(|load| load.waiting) });
        }
        let title = self.log.file_name().map_or_else(String::new, |n| n.to_string_lossy().into());
        Series {
            title: format!("Load of {title}"),
            facts: vec![count(replay.log.jobs.len(), "job")],
            names: judged.iter().map(|j| j.outcome.policy.name().to_string()).collect(),
            panels: vec![held, waiting],
            span: (begin.min(end), end),
        }
    }
}

fn table(first: &str, rows: &[(String, &Metrics)]) -> Table {
    let energy = rows.iter().any(|(_, metrics)| metrics.energy.is_some());
    let deviation = rows.iter().any(|(_, metrics)| metrics.pledge_deviation.is_some());
    let mut headings = vec![
        first,
        ">jobs",
        ">killed",
        ">wait",
        ">median",
        ">p95",
        ">slowdown",
        ">turnaround",
        ">used",
    ];
    headings.extend(energy.then_some(">energy"));
    headings.extend(deviation.then_some(">off pledge"));
    let mut table = Table::new(&headings).sparing(&["killed", "median", "turnaround"]);
    let seconds = |value: Option<f64>| value.map_or_else(|| "-".to_string(), fmt_seconds);
    for (name, metrics) in rows {
        let mut cells = vec![
            name.clone(),
            metrics.jobs.to_string(),
            metrics.killed.to_string(),
            seconds(metrics.wait.mean),
            seconds(metrics.wait.median),
            seconds(metrics.wait.p95),
            metrics.bounded_slowdown.mean.map_or_else(|| "-".into(), |value| format!("{value:.2}")),
            seconds(metrics.turnaround.mean),
            metrics.utilisation.map_or_else(|| "-".into(), |part| format!("{:.1} %", 100.0 * part)),
        ];
        if energy {
            cells.push(
                metrics.energy.map_or_else(|| "-".into(), |j| format!("{:.1} kWh", j / 3.6e6)),
            );
        }
        if deviation {
            let whole = metrics.pledge_deviation.and_then(|d| d.mean.or(d.whole));
            cells.push(whole.map_or_else(|| "-".into(), |value| format!("{value:.3}")));
        }
        table.row(cells);
    }
    table
}
