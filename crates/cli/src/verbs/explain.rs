//! `slackline explain`: what decided the makespan of a recorded run.

use super::import::{records, repaired, without_common};
use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use crate::picture;
use crate::table::{Table, cut, wrap};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use slackline_analysis::waits::{Cause, Change, Link, Step, Steps, by_cause, chain, repeat};
use slackline_import::{Engine, Figure, Origin, RecordedRun};
use slackline_model::Problem;
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_view::Chart;
use slackline_view::chart::{Bar, Category, Group, Look};
use slackline_view::gantt::{self, SvgOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Links of the chain that are shown to people.
const SHOWN: usize = 12;

/// Explain what decided the makespan of a run of another workflow engine
#[derive(Args)]
#[command(after_help = "\
The chain of waits goes from the end of the run back to its begin: what the last task ran, what it waited \
for before that, then the same of the parent that ended last. Its seconds add up to the makespan. 'Waited \
for a slot' means that no host had as many free cores as the task takes; 'in the queue', that it was \
submitted and had room; 'waited for the engine', the rest.

Examples:
  slackline explain .
  slackline explain trace.txt pipeline_dag.dot --svg chain.svg
  slackline explain trace.txt --json")]
pub(crate) struct Explain {
    /// Folders or files with the records of one run
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The engine, where its records are not recognised or several left some
    #[arg(long, value_name = "ENGINE", value_parser = PossibleValuesParser::new(Engine::ALL.map(Engine::name)))]
    from: Option<String>,
    /// Draw the run with the chain marked into this file (.svg or .png)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Explanation {
    schema: &'static str,
    engine: &'static str,
    makespan: f64,
    /// Share of the makespan by cause.
    shares: BTreeMap<&'static str, f64>,
    chain: Vec<Stretch>,
    /// The run repeated as it was, and with less of one cause.
    repeated: f64,
    what_if: WhatIf,
    kinds: Vec<KindUsage>,
}

#[derive(Serialize)]
struct Stretch {
    task: String,
    #[serde(flatten)]
    link: Link,
}

#[derive(Serialize)]
struct WhatIf {
    twice_the_slots: f64,
    no_queue: f64,
    no_failures: f64,
}

/// Requested against used, over the attempts of a kind.
#[derive(Serialize)]
struct KindUsage {
    kind: String,
    tasks: usize,
    seconds: f64,
    failed: usize,
    /// Largest.
    requested_memory: Option<f64>,
    /// Largest.
    used_memory: Option<f64>,
    cores: Option<f64>,
    /// Processor seconds over core seconds.
    used_cores: Option<f64>,
}

impl Explain {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads_all(&self.paths)
            .draws("--svg", self.svg.as_ref())
            .json(self.json)
            .check(output)?;
        let run = records(&self.paths, self.from.as_deref(), None, output)?;
        let Some(steps) = steps(&run) else {
            return Err(Failure::work("the records have no times: there is nothing to explain"));
        };
        let links = chain(&steps);
        let makespan: f64 = links.iter().map(|l| l.to - l.from).sum();
        if makespan <= 0.0 {
            return Err(Failure::work("the run took no time: there is nothing to explain"));
        }
        let sums = by_cause(&links);
        let none = Change::NONE;
        let explanation = Explanation {
            schema: "slackline/explanation/1",
            engine: run.engine.name(),
            makespan,
            shares: sums
                .iter()
                .map(|(cause, seconds)| (cause.name(), seconds / makespan))
                .collect(),
            chain: links
                .iter()
                .map(|link| Stretch { task: run.tasks[link.task].name.clone(), link: *link })
                .collect(),
            repeated: repeat(&steps, none),
            what_if: WhatIf {
                twice_the_slots: repeat(&steps, Change { slots: 2, ..none }),
                no_queue: repeat(&steps, Change { queue: false, ..none }),
                no_failures: repeat(&steps, Change { failures: false, ..none }),
            },
            kinds: kinds(&run),
        };
        if let Some(path) = &self.svg {
            draw(&run, &links, &explanation, path, output)?;
        }
        if self.json {
            return output.json(&explanation);
        }
        let text = describe(&explanation, &sums, output.width);
        output.text(&text)?;
        if !tells_slots(&run) {
            output.say(&wrap(
                "Note: the records name neither cores of tasks nor of hosts. How many tasks ran at once stands for the \
                 slots: what waited for one may count as waiting for the engine.\n",
                0,
                output.width,
            ))?;
        }
        for (repair, times) in &run.repairs {
            output.say(&wrap(&repaired(repair, *times), 0, output.width))?;
        }
        Ok(())
    }
}

/// Whether it is known how many cores there were, or how many tasks took.
fn tells_slots(run: &RecordedRun) -> bool {
    let attempts = || run.tasks.iter().flat_map(|t| &t.attempts);
    let measured = |f: Option<Figure>| f.is_some_and(|f| f.origin != Origin::Assumed);
    attempts().any(|a| measured(a.cores)) || run.hosts.iter().any(|h| measured(h.cores))
}

/// The run as steps, or nothing where no task has times.
fn steps(run: &RecordedRun) -> Option<Steps> {
    let began = run.first_date()?;
    run.last_end()?;
    let parents = run.parents();
    let mut fetches: Vec<Vec<(f64, f64)>> = vec![Vec::new(); run.tasks.len()];
    for transfer in &run.transfers {
        fetches[transfer.task].push((transfer.start, transfer.end));
    }
    let mut all = Vec::with_capacity(run.tasks.len());
    for (index, task) in run.tasks.iter().enumerate() {
        let chosen = task.attempts.iter().rposition(|a| a.outcome.is_success());
        let chosen = chosen.or_else(|| task.attempts.len().checked_sub(1));
        let dates = |a: &slackline_import::Attempt| Some((a.start?.value, a.end?.value));
        let last = chosen.map(|at| &task.attempts[at]);
        all.push(Step {
            parents: parents[index].clone(),
            submitted: task.attempts.first().and_then(|a| a.submitted).map(|f| f.value),
            ran: last.and_then(dates),
            host: last.and_then(|a| a.host).unwrap_or(0),
            cores: last.and_then(|a| a.cores).map_or(1, |c| c.value.ceil().clamp(1.0, 1e6) as u32),
            earlier: task.attempts[..chosen.unwrap_or(0)].iter().filter_map(dates).collect(),
            fetches: std::mem::take(&mut fetches[index]),
        });
    }
    let cores = run.cores().into_iter().map(|(cores, _)| cores).collect();
    Some(Steps { began, steps: all, cores })
}

/// Draws the run by host, tasks of the chain apart from the others, and the chain itself on top.
fn draw(
    run: &RecordedRun,
    links: &[Link],
    explanation: &Explanation,
    path: &Path,
    output: &mut Output,
) -> Result<(), Failure> {
    const OTHER: u16 = 0;
    const ON_CHAIN: u16 = 1;
    let document = run.document()?;
    let platform = run.platform()?;
    let problem = Problem::new(&document.workflow, &platform).map_err(Failure::input)?;
    let mut chart = Chart::of_trace(&problem, &run.trace()).without_idle_hosts();
    let chain: BTreeSet<&str> =
        explanation.chain.iter().filter(|s| s.link.cause == Cause::Ran).map(|s| &*s.task).collect();
    for bar in &mut chart.bars {
        let on_chain = chain.contains(chart.labels.get(bar.label as usize));
        bar.category = if on_chain { ON_CHAIN } else { OTHER };
        bar.rows = bar.rows.start + 1..bar.rows.end + 1;
    }
    let group = Group { name: "chain of waits".to_string(), section: String::new(), rows: 1 };
    chart.groups.insert(0, group);
    chart.ordered = false;
    let mut causes: Vec<Cause> = Vec::new();
    for link in links.iter().filter(|l| l.cause != Cause::Ran) {
        if !causes.contains(&link.cause) {
            causes.push(link.cause);
        }
    }
    causes.sort_unstable();
    for link in links {
        let waited = causes.iter().position(|c| *c == link.cause);
        let label = match link.cause {
            Cause::Ran => run.tasks[link.task].name.clone(),
            cause => format!("{}: {}", run.tasks[link.task].name, cause.name()),
        };
        let label = chart.labels.push(&label) as u32;
        chart.bars.push(Bar {
            rows: 0..1,
            start: link.from,
            finish: link.to,
            category: waited.map_or(ON_CHAIN, |at| at as u16 + 2),
            look: Look::Work,
            label,
        });
    }
    let names = ["other tasks", "tasks of the chain"].into_iter();
    let names: Vec<&str> = names.chain(causes.iter().map(|c| c.name())).collect();
    chart.categories = names
        .into_iter()
        .enumerate()
        .map(|(at, name)| Category {
            name: name.to_string(),
            count: chart.bars.iter().filter(|b| usize::from(b.category) == at).count(),
            rest: at == usize::from(OTHER),
        })
        .collect();
    chart.title = format!("{}, a run of {}", run.name, run.engine);
    chart.facts = explanation
        .shares
        .iter()
        .map(|(cause, share)| format!("{cause} {:.0} %", 100.0 * share))
        .collect();
    let svg = gantt::svg(&chart, &SvgOptions::default());
    picture::write(&output.files, path, &svg)
}

fn kinds(run: &RecordedRun) -> Vec<KindUsage> {
    let mut by_kind: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, task) in run.tasks.iter().enumerate() {
        by_kind.entry(&task.kind).or_default().push(index);
    }
    let largest = |values: Vec<f64>| values.into_iter().max_by(f64::total_cmp);
    let mut kinds: Vec<KindUsage> = by_kind
        .into_iter()
        .map(|(kind, tasks)| {
            let of_kind = || tasks.iter().map(|&t| &run.tasks[t]);
            let attempts = || of_kind().flat_map(|t| &t.attempts);
            let core_seconds = |a: &slackline_import::Attempt| Some(a.seconds()? * a.cores?.value);
            let measured: Vec<(f64, f64)> =
                attempts().filter_map(|a| Some((a.cpu?.value, core_seconds(a)?))).collect();
            let (cpu, held) = measured.iter().fold((0.0, 0.0), |sum, m| (sum.0 + m.0, sum.1 + m.1));
            KindUsage {
                kind: kind.to_string(),
                tasks: tasks.len(),
                seconds: attempts().filter_map(|a| a.seconds()).sum(),
                failed: attempts().filter(|a| !a.outcome.is_success()).count(),
                requested_memory: largest(
                    of_kind().filter_map(|t| Some(t.memory?.value)).collect(),
                ),
                used_memory: largest(
                    attempts().filter_map(|a| Some(a.peak_memory?.value)).collect(),
                ),
                cores: largest(attempts().filter_map(|a| Some(a.cores?.value)).collect()),
                used_cores: (held > 0.0).then(|| cpu / held),
            }
        })
        .collect();
    kinds.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.kind.cmp(&b.kind)));
    kinds
}

fn describe(explanation: &Explanation, sums: &BTreeMap<Cause, f64>, width: usize) -> String {
    let makespan = explanation.makespan;
    let mut text = format!(
        "What decided the {} of this run of {}\n\n",
        fmt_seconds(makespan),
        explanation.engine
    );
    for cause in Cause::ALL {
        if let Some(seconds) = sums.get(&cause) {
            let share = format!("{:.1} %", 100.0 * seconds / makespan);
            text.push_str(&format!(
                "  {share:>7}  {:<23} {}\n",
                cause.name(),
                fmt_seconds(*seconds)
            ));
        }
    }
    text.push_str("\nThe chain, from the begin to the end\n\n");
    let mut table = Table::new(&["from", "seconds", "", "task"]);
    let mut longest: Vec<usize> = (0..explanation.chain.len()).collect();
    longest.sort_by(|&a, &b| {
        let seconds = |i: usize| explanation.chain[i].link.to - explanation.chain[i].link.from;
        seconds(b).total_cmp(&seconds(a))
    });
    longest.truncate(SHOWN);
    longest.sort_unstable();
    for &index in &longest {
        let Stretch { task, link } = &explanation.chain[index];
        table.row([
            fmt_seconds(link.from),
            fmt_seconds(link.to - link.from),
            link.cause.name().to_string(),
            cut(task, 34),
        ]);
    }
    text.push_str(&table.render(width));
    let more = explanation.chain.len() - longest.len();
    if more > 0 {
        text.push_str(&format!("  and {more} shorter stretches (all with --json)\n"));
    }
    let what_if = &explanation.what_if;
    let repeated = explanation.repeated;
    text.push_str(&format!(
        "\nRepeated as it was, the run takes {}; with\n\n",
        fmt_seconds(repeated)
    ));
    for (what, seconds) in [
        ("twice the slots", what_if.twice_the_slots),
        ("no queue", what_if.no_queue),
        ("no failures", what_if.no_failures),
    ] {
        let gain = (100.0 * (repeated - seconds) / repeated).round();
        let told = match gain {
            0.0 => "no change".to_string(),
            gain if gain < 0.0 => format!("{:.0} % more", -gain),
            gain => format!("{gain:.0} % less"),
        };
        text.push_str(&format!("  {what:<16} {:<12} {told}\n", fmt_seconds(seconds)));
    }
    text.push_str("\nRequested and used, by kind\n\n");
    let mut table = Table::new(&["kind", "tasks", "failed", "core use", "memory asked", "used"]);
    let names = without_common(explanation.kinds.iter().map(|kind| kind.kind.as_str()));
    for (kind, name) in explanation.kinds.iter().zip(names).take(SHOWN) {
        let bytes = |value: Option<f64>| value.map_or("-".to_string(), fmt_bytes);
        table.row([
            cut(name, 30),
            kind.tasks.to_string(),
            kind.failed.to_string(),
            kind.used_cores.map_or("-".to_string(), |share| format!("{:.0} %", 100.0 * share)),
            bytes(kind.requested_memory),
            bytes(kind.used_memory),
        ]);
    }
    text.push_str(&table.render(width));
    let more = explanation.kinds.len().saturating_sub(SHOWN);
    if more > 0 {
        text.push_str(&format!("  and {more} more that ran for less time (all with --json)\n"));
    }
    text
}
