//! A workflow on pilots, catalogue, storages and network.

use super::Number;
use crate::Printer;
use crate::table::{Table, count};
use serde::{Serialize, Serializer};
use slackline_centre::stack;
use slackline_centre::stack::{AttemptResult, Case, Outcome, PilotEnd, Validity};
use slackline_core::Failure;
use slackline_core::schema::names;
use slackline_model::names::{Names, printable};
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_view::plot::Point;
use slackline_view::{Bar, Category, Chart, Group, Look, plot};

/// A table that keeps its order.
pub struct Ordered<K, V>(pub Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Ordered<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// A simulated run on a stack.
#[derive(Serialize)]
pub struct StackDocument<'a> {
    schema: &'static str,
    makespan: Option<Number>,
    done: Ordered<&'a str, Number>,
    failed: Vec<&'a str>,
    never_ran: Vec<&'a str>,
    attempts: Ordered<&'a str, Vec<AttemptLine<'a>>>,
    pilots: Ordered<&'a str, PilotLine>,
    transfers: usize,
    bytes: Number,
    robust: bool,
    validity: Validity,
}

#[derive(Serialize)]
struct AttemptLine<'a> {
    queued: Number,
    #[serde(flatten)]
    taken: Option<Taken<'a>>,
}

#[derive(Serialize)]
struct Taken<'a> {
    pilot: &'a str,
    start: Number,
    end: Number,
    result: Option<AttemptResult>,
    steps: Vec<Number>,
}

#[derive(Serialize)]
struct PilotLine {
    submit: Number,
    start: Option<Number>,
    exit: Option<Number>,
    why: Option<PilotEnd>,
}

/// The dates at which tasks are done, in order.
pub fn done<'a>(case: &'a Case, outcome: &Outcome) -> Ordered<&'a str, Number> {
    let all = case.tasks.iter().zip(&outcome.done);
    let mut done: Vec<(&str, f64)> =
        all.filter_map(|(task, date)| Some((task.id.as_str(), (*date)?))).collect();
    done.sort_by(|a, b| a.1.total_cmp(&b.1));
    Ordered(done.into_iter().map(|(id, date)| (id, Number(date))).collect())
}

/// Tasks that have neither been done nor given up.
fn never_ran<'a>(case: &'a Case, outcome: &Outcome) -> Vec<&'a str> {
    let ends = outcome.done.iter().zip(&outcome.failed);
    let all = case.tasks.iter().zip(ends);
    all.filter(|(_, (done, failed))| done.is_none() && !**failed)
        .map(|(t, _)| t.id.as_str())
        .collect()
}

fn failed<'a>(case: &'a Case, outcome: &Outcome) -> Vec<&'a str> {
    let all = case.tasks.iter().zip(&outcome.failed);
    all.filter(|(_, failed)| **failed).map(|(task, _)| task.id.as_str()).collect()
}

/// Makes the document of a run.
pub fn document<'a>(case: &'a Case, outcome: &Outcome, robust: bool) -> StackDocument<'a> {
    let attempts = case.tasks.iter().zip(&outcome.attempts).map(|(task, attempts)| {
        let line = |attempt: &stack::Attempt| AttemptLine {
            queued: Number(attempt.queued),
            taken: attempt.pilot.map(|pilot| Taken {
                pilot: &case.pilots[pilot].id,
                start: Number(attempt.start),
                end: Number(attempt.end),
                result: attempt.result,
                steps: attempt.steps.iter().copied().map(Number).collect(),
            }),
        };
        (task.id.as_str(), attempts.iter().map(line).collect())
    });
    let pilots = case.pilots.iter().zip(&outcome.pilots).map(|(pilot, life)| {
        let line = PilotLine {
            submit: Number(life.submit),
            start: life.start.map(Number),
            exit: life.exit.map(Number),
            why: life.why,
        };
        (pilot.id.as_str(), line)
    });
    StackDocument {
        schema: names::CENTRE_STACK,
        makespan: outcome.makespan().map(Number),
        done: done(case, outcome),
        failed: failed(case, outcome),
        never_ran: never_ran(case, outcome),
        attempts: Ordered(attempts.collect()),
        pilots: Ordered(pilots.collect()),
        transfers: outcome.transfers,
        bytes: Number(outcome.bytes),
        robust,
        validity: Validity::of(case, None),
    }
}

/// Exit 1 where not everything is done, naming what is not and why.
pub fn verdict(case: &Case, outcome: &Outcome) -> Result<(), Failure> {
    if outcome.makespan().is_some() {
        return Ok(());
    }
    let (failed, never) = (failed(case, outcome), never_ran(case, outcome));
    let some = |list: &[&str]| {
        let more = if list.len() > 5 { ", …" } else { "" };
        let names: Vec<_> = list.iter().take(5).map(|name| printable(name)).collect();
        format!("{}{more}", names.join(", "))
    };
    let mut parts = Vec::new();
    if let Some(&(task, storage)) = outcome.full.first() {
        parts.push(format!(
            "storage `{}` has no room for the outputs of task `{}`",
            printable(&case.storages[storage].name),
            printable(&case.tasks[task].id)
        ));
    }
    if !failed.is_empty() {
        parts.push(format!("{} failed: {}", count(failed.len(), "task"), some(&failed)));
    }
    if !never.is_empty() {
        parts.push(format!("{} never done: {}", count(never.len(), "task"), some(&never)));
    }
    let error = Failure::work(format!("the workflow is not finished: {}", parts.join("; ")));
    let waiting = case.tasks.iter().zip(&outcome.attempts);
    let mut waiting = waiting.filter(|(_, a)| a.last().is_some_and(|last| last.pilot.is_none()));
    Err(match waiting.next() {
        Some((task, _)) if failed.is_empty() => error.with_help(format!(
            "no pilot was left for `{}`: add pilots, or let them live longer or wait longer (idle_timeout)",
            printable(&task.id)
        )),
        _ => error,
    })
}

/// Sums over the pilots of a site; seconds.
#[derive(Clone, Debug, Default)]
struct SiteSums {
    pilots: usize,
    started: usize,
    wait: f64,
    /// From start to exit, or to the end of the workflow.
    alive: f64,
    jobs: usize,
    lost: usize,
    held: f64,
    steps: [f64; 3],
}

/// A table by site.
pub fn report(case: &Case, outcome: &Outcome, output: &mut dyn Printer) -> Result<(), Failure> {
    let done = outcome.done.iter().flatten().count();
    let makespan = outcome.makespan().map_or_else(|| "-".to_string(), fmt_seconds);
    output.say(&format!(
        "{done} of {} done, makespan {makespan}; {}, {}\n",
        count(case.tasks.len(), "task"),
        count(outcome.transfers, "transfer"),
        fmt_bytes(outcome.bytes)
    ))?;
    let mut table = Table::new(&[
        "<site",
        ">pilots",
        ">ran",
        ">wait",
        ">jobs",
        ">lost",
        ">stage-in",
        ">computing",
        ">stage-out",
        ">busy",
    ])
    .sparing(&["stage-out", "lost"]);
    let mut sums = vec![SiteSums::default(); case.sites.len()];
    let last = outcome.done.iter().flatten().copied().fold(0.0, f64::max);
    for (pilot, life) in case.pilots.iter().zip(&outcome.pilots) {
        let sum = &mut sums[pilot.site];
        sum.pilots += 1;
        if let Some(start) = life.start {
            sum.started += 1;
            sum.wait += start - life.submit;
            sum.alive += (life.exit.unwrap_or(last).min(last) - start).max(0.0);
        }
    }
    for (task, attempts) in case.tasks.iter().zip(&outcome.attempts) {
        for attempt in attempts {
            let Some(pilot) = attempt.pilot else { continue };
            let sum = &mut sums[case.pilots[pilot].site];
            sum.jobs += 1;
            sum.lost += usize::from(attempt.result == Some(AttemptResult::Lost));
            sum.held += attempt.end - attempt.start;
            for (k, length) in attempt.steps.iter().enumerate() {
                sum.steps[kind(task.inputs.len(), k)] += length;
            }
        }
    }
    for (spec, sum) in case.sites.iter().zip(sums) {
        if sum.pilots == 0 {
            output.warning(&format!(
                "site `{}` has no pilot: nothing runs there",
                printable(&spec.name)
            ));
            continue;
        }
        let [stage_in, computing, stage_out] = sum.steps.map(fmt_seconds);
        table.row([
            printable(&spec.name).into_owned(),
            sum.pilots.to_string(),
            sum.started.to_string(),
            if sum.started > 0 { fmt_seconds(sum.wait / sum.started as f64) } else { "-".into() },
            sum.jobs.to_string(),
            sum.lost.to_string(),
            stage_in,
            computing,
            stage_out,
            if sum.alive > 0.0 {
                format!("{:.0} %", 100.0 * sum.held / sum.alive)
            } else {
                "-".into()
            },
        ]);
    }
    let text = table.render(output.style().width);
    output.text(&text)?;
    output.say(&format!("{}\n", Validity::of(case, None).text()))
}

/// The kind of the step of an attempt: stage-in, computing, stage-out.
fn kind(inputs: usize, step: usize) -> usize {
    usize::from(step >= inputs) + usize::from(step > inputs)
}

/// A row per pilot, a colour per kind of step.
pub fn chart(case: &Case, outcome: &Outcome, title: &str) -> Chart {
    let mut labels = Names::default();
    let mut bars = Vec::new();
    let mut counts = [0; 3];
    let mut last: f64 = 0.0;
    for (task, attempts) in case.tasks.iter().zip(&outcome.attempts) {
        for attempt in attempts {
            let Some(pilot) = attempt.pilot else { continue };
            let row = pilot as u32..pilot as u32 + 1;
            let mut date = attempt.start;
            last = last.max(attempt.end);
            let mut bar = |start: f64, finish: f64, kind: usize, look: Look| {
                counts[kind] += 1;
                let label = labels.len() as u32;
                labels.push(&task.id);
                bars.push(Bar {
                    rows: row.clone(),
                    start,
                    finish,
                    category: kind as u16,
                    look,
                    label,
                });
            };
            for (k, length) in attempt.steps.iter().enumerate() {
                bar(date, date + length, kind(task.inputs.len(), k), Look::Work);
                date += length;
            }
            if attempt.result == Some(AttemptResult::Lost) {
                bar(date, attempt.end, kind(task.inputs.len(), attempt.steps.len()), Look::Failed);
            }
        }
    }
    for (pilot, life) in outcome.pilots.iter().enumerate() {
        let row = pilot as u32..pilot as u32 + 1;
        let start = life.start.unwrap_or(last).min(last);
        let exit = life.exit.unwrap_or(last).min(last);
        for (start, finish) in [(0.0, start), (exit.max(start), last)] {
            if finish > start {
                let label = labels.len() as u32;
                labels.push("");
                bars.push(Bar {
                    rows: row.clone(),
                    start,
                    finish,
                    category: 1,
                    look: Look::Down,
                    label,
                });
            }
        }
    }
    let names = ["stage-in", "computing", "stage-out"];
    let category = |k: usize| Category { name: names[k].to_owned(), count: counts[k], rest: false };
    let group = |pilot: &stack::Pilot| Group {
        name: pilot.id.clone(),
        section: case.sites[pilot.site].name.clone(),
        rows: 1,
    };
    let done = outcome.done.iter().flatten().count();
    Chart {
        title: format!("Pilots of {title}"),
        facts: vec![
            format!("{done} of {} done", count(case.tasks.len(), "task")),
            outcome.makespan().map_or_else(String::new, |m| format!("makespan {}", fmt_seconds(m))),
        ],
        groups: case.pilots.iter().map(group).collect(),
        categories: (0..3).map(category).collect(),
        bars,
        labels,
        span: 0.0..last,
        ..Chart::default()
    }
}

/// Runs of one workflow with different numbers of pilots.
#[derive(Serialize)]
pub struct SaturationDocument {
    /// Name and version of the document.
    pub schema: &'static str,
    /// A run per number.
    pub runs: Vec<SaturationLine>,
}

/// A run with some number of pilots.
#[derive(Serialize)]
pub struct SaturationLine {
    /// Number of pilots.
    pub pilots: u32,
    /// Seconds; none where the workflow is not finished.
    pub makespan: Option<Number>,
    /// Tasks that were done.
    pub done: usize,
    /// Share of the time of pilots in which they held tasks.
    pub used: Option<f64>,
}

impl SaturationLine {
    /// The line of a run with so many pilots.
    pub fn of(pilots: u32, outcome: &Outcome) -> SaturationLine {
        let held: f64 = outcome.attempts.iter().flatten().map(|a| a.end - a.start).sum();
        let makespan = outcome.makespan();
        SaturationLine {
            pilots,
            makespan: makespan.map(Number),
            done: outcome.done.iter().flatten().count(),
            used: makespan.filter(|m| *m > 0.0).map(|m| held / (m * f64::from(pilots))),
        }
    }
}

/// Draws the makespan by number of pilots.
pub fn saturation_svg(runs: &[SaturationLine]) -> String {
    let points = runs.iter().enumerate();
    let points =
        points.filter_map(|(k, run)| Some(Point { x: k as f64, y: run.makespan?.0, band: None }));
    let levels: Vec<String> = runs.iter().map(|run| run.pilots.to_string()).collect();
    let line = plot::Line { name: "makespan".into(), points: points.collect() };
    plot::lines("Makespan by number of pilots", "seconds", "pilots", &levels, &[line])
}

/// Prints a row per number of pilots.
pub fn saturation(runs: &[SaturationLine], output: &mut dyn Printer) -> Result<(), Failure> {
    let mut table = Table::new(&[">pilots", ">makespan", ">done", ">used"]);
    for run in runs {
        table.row([
            run.pilots.to_string(),
            run.makespan.map_or_else(|| "-".into(), |makespan| fmt_seconds(makespan.0)),
            run.done.to_string(),
            run.used.map_or_else(|| "-".into(), |used| format!("{:.0} %", 100.0 * used)),
        ]);
    }
    let text = table.render(output.style().width);
    output.text(&text)
}
