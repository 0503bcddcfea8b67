//! A log of a batch system under other policies.

use super::Number;
use crate::Printer;
use crate::table::{Table, count};
use serde::Serialize;
use slackline_centre::batch::metrics::{Metrics, Period};
use slackline_centre::batch::{Machine, Outcome, Replay, metrics};
use slackline_core::Failure;
use slackline_core::schema::names;
use slackline_formats::batch_log::{BatchLog, DateStyle, SkippedLine};
use slackline_model::units::fmt_seconds;
use slackline_view::series::{Line, Panel, Series};
use std::collections::BTreeMap;

/// Results of policies on one log.
#[derive(Serialize)]
pub struct BatchDocument<'a> {
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
pub struct Judged {
    /// Starts and refusals.
    pub outcome: Outcome,
    /// Figures of the whole log.
    pub metrics: Metrics,
    /// The same by period, where that is wanted.
    pub periods: Option<Vec<Period>>,
}

/// Cores held and asked for over time, for a picture.
pub fn load(replay: &Replay<'_>, judged: &[Judged], title: &str) -> Series {
    let mut held = Panel {
        label: "cores held".into(),
        limit: Some(replay.site.machine.cores() as f64),
        lines: Vec::new(),
    };
    let mut waiting = Panel { label: "cores asked for by waiting jobs".into(), ..Panel::default() };
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
    Series {
        title: format!("Load of {title}"),
        facts: vec![count(replay.log.jobs.len(), "job")],
        names: judged.iter().map(|j| j.outcome.policy.name().to_string()).collect(),
        panels: vec![held, waiting],
        span: (begin.min(end), end),
    }
}

/// Prints a table of policies, and one per policy by periods of some name.
pub fn text(
    replay: &Replay<'_>,
    judged: &[Judged],
    by: Option<&str>,
    output: &mut dyn Printer,
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
    let text = table("<policy", &all).render(output.style().width);
    output.text(&text)?;
    if let Some(by) = by {
        for Judged { outcome, periods, .. } in judged {
            output.text(&format!("\n{}\n", output.bold(outcome.policy.name())))?;
            let periods = periods.iter().flatten();
            let named = |period: &'_ Period| match log.dates {
                DateStyle::Seconds => fmt_seconds(period.begin),
                DateStyle::Calendar => log.date_text(period.begin),
            };
            let rows: Vec<(String, &Metrics)> =
                periods.map(|period| (named(period), &period.metrics)).collect();
            let text = table(&format!("<{} from", by), &rows).render(output.style().width);
            output.text(&text)?;
        }
    }
    Ok(())
}

/// Makes the document; lines of the log that were skipped are in it where it `is_lenient`.
pub fn document<'a>(log: &'a BatchLog, is_lenient: bool, judged: Vec<Judged>) -> BatchDocument<'a> {
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
        skipped: is_lenient.then(|| log.skipped.iter().map(skipped).collect()),
        results: results.collect(),
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
