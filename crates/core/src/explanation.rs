//! The causes of a run's makespan: the chain of waits, the run with less of one cause, and what its tasks asked for
//! and used.

use crate::failure::Failure;
use serde::Serialize;
use slackline_analysis::waits::{Cause, Change, Link, Step, Steps, by_cause, chain, repeat};
use slackline_import::{Figure, Origin, RecordedRun};
use slackline_model::Problem;
use slackline_view::Chart;
use slackline_view::chart::{Bar, Category, Group, Look};
use std::collections::{BTreeMap, BTreeSet};

/// The causes of a run's makespan: the JSON document `slackline/explanation/1`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// `slackline/explanation/1`.
    pub schema: &'static str,
    /// The engine of the run.
    pub engine: &'static str,
    /// Seconds from the begin to the end of its last task.
    pub makespan: f64,
    /// Share of the makespan by cause.
    pub shares: BTreeMap<&'static str, f64>,
    /// Stretches of the chain, from the begin to the end.
    pub chain: Vec<Stretch>,
    /// Seconds of the run repeated as it was.
    pub repeated: f64,
    /// Seconds with less of one cause.
    pub what_if: LessOfOne,
    /// Requested against used, by kind.
    pub kinds: Vec<KindUsage>,
    /// Seconds of the chain by cause.
    #[serde(skip)]
    pub sums: BTreeMap<Cause, f64>,
}

/// A stretch of the chain of waits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stretch {
    /// Name of the task.
    pub task: String,
    /// Cause, begin and end.
    #[serde(flatten)]
    pub link: Link,
}

/// Makespans of a run with less of one cause, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LessOfOne {
    /// With twice the cores on each host.
    pub twice_the_slots: f64,
    /// Without waits in queues.
    pub no_queue: f64,
    /// Without failed attempts.
    pub no_failures: f64,
}

/// Requested against used, over the attempts of a kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindUsage {
    /// The kind.
    pub kind: String,
    /// Number of its tasks.
    pub tasks: usize,
    /// Seconds of all attempts.
    pub seconds: f64,
    /// Attempts without a result.
    pub failed: usize,
    /// Largest memory requested, bytes.
    pub requested_memory: Option<f64>,
    /// Largest memory used, bytes.
    pub used_memory: Option<f64>,
    /// Most cores of an attempt.
    pub cores: Option<f64>,
    /// Processor seconds over core seconds.
    pub used_cores: Option<f64>,
}

impl Explanation {
    /// The causes of a run's makespan; none where no task has times, or the run took none.
    pub fn of(run: &RecordedRun) -> Option<Explanation> {
        let steps = steps(run)?;
        let links = chain(&steps);
        let makespan: f64 = links.iter().map(|l| l.to - l.from).sum();
        if makespan <= 0.0 {
            return None;
        }
        let sums = by_cause(&links);
        let none = Change::NONE;
        Some(Explanation {
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
            what_if: LessOfOne {
                twice_the_slots: repeat(&steps, Change { slots: 2, ..none }),
                no_queue: repeat(&steps, Change { queue: false, ..none }),
                no_failures: repeat(&steps, Change { failures: false, ..none }),
            },
            kinds: kinds(run),
            sums,
        })
    }
}

/// Whether it is known how many cores there were, or how many tasks took.
pub fn tells_slots(run: &RecordedRun) -> bool {
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

/// Name of the tasks of the chain in charts.
const OF_CHAIN: &str = "tasks of the chain";

/// Colours of causes in the chart of a run, where they occur.
pub fn colours(chart: &Chart) -> BTreeMap<Cause, String> {
    let category = |cause: &Cause| {
        let name = if *cause == Cause::Ran { OF_CHAIN } else { cause.name() };
        chart.categories.iter().position(|category| category.name == name)
    };
    let coloured = |cause: &Cause| Some((*cause, chart.colour(category(cause)?)));
    Cause::ALL.iter().filter_map(coloured).collect()
}

/// The run by host, tasks of the chain apart from the others, and the chain itself on top.
pub fn chart(run: &RecordedRun, explanation: &Explanation) -> Result<Chart, Failure> {
    const OTHER: u16 = 0;
    const ON_CHAIN: u16 = 1;
    let links: Vec<Link> = explanation.chain.iter().map(|stretch| stretch.link).collect();
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
    for link in &links {
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
    let names = ["other tasks", OF_CHAIN].into_iter();
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
    Ok(chart)
}
