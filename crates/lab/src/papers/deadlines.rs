//! Chapter 9 of Arabnejad's thesis: workflows with a deadline and a budget each, files on a store, on
//! the three sites of the source, for random graphs and for the four applications.

use super::concurrent::{Method, Stream, Streams, THESIS, amount, draw, site};
use super::{Cell, Claim, Options, Paper, Report, Rule, StudyError, Table, Unit, Watch};
use slackline_analysis::statistics::Estimate;
use slackline_analysis::workflow_metrics::{Negotiable, Served, Totals, beside};
use slackline_engine::Coming;
use slackline_generate::Seed;
use slackline_generate::streams::{Shapes, application, limits as limits_of};
use slackline_model::scenario::When;
use slackline_model::schedule::Limits;
use slackline_model::{Platform, Problem, Terms, Workflow};
use std::sync::Arc;

/// Registry entry.
pub(super) const DEADLINES: Paper = Paper {
    name: "mw-dbs",
    title: "Concurrent workflows within deadlines and budgets: MW-DBS",
    source: THESIS,
    about: "how many workflows keep to both, and what a provider earns",
    run: deadlines,
    cells: |options| {
        let (streams, fewer) = amount(options);
        let all = settings()?.into_iter();
        Ok(all.flat_map(|s| s.streams(options.seed, 50 / fewer).cells(streams)).collect())
    },
    unlisted: "",
};

const METHODS: [Method; 8] = [
    ("MW-DBS", "mw-dbs", &[]),
    ("FDWS2-FT", "fdws2-ft", &[]),
    ("MIN-MIN*", "mw-minmin", &[]),
    ("MAX-MIN*", "mw-maxmin", &[]),
    ("FDWS2-Q", "fdws2-q", &[]),
    ("MW-DBS, SD/D", "mw-dbs", &[("time", "sd")]),
    ("MW-DBS, remaining", "mw-dbs", &[("time", "remaining")]),
    ("exclusive", "exclusive", &[]),
];

/// The methods that the source compares.
const COMPARED: usize = 4;

const SHAPES: Shapes = Shapes {
    fat: &["0.1", "0.4", "0.8"],
    regularity: &["0.2", "0.8"],
    density: &["0.2", "0.8"],
    jump: &["1", "2", "3", "4"],
};

const APPLICATIONS: [&str; 4] = ["montage", "cybershake", "epigenomics", "inspiral"];

/// A kind of machine: its name, how many of 8 and of 16 it makes up, flop/s, money per second.
type Kind = (&'static str, [usize; 2], f64, f64);

/// Table 13.
const SITES: [(&str, &[Kind]); 3] = [
    (
        "Rennes",
        &[
            ("paradent", [3, 7], 21.496e9, 0.61),
            ("paramount", [2, 3], 12.910e9, 0.31),
            ("parapluie", [2, 4], 27.391e9, 0.87),
            ("parapide", [1, 2], 30.130e9, 1.00),
        ],
    ),
    (
        "Sophia",
        &[
            ("helios", [3, 6], 7.732e9, 0.16),
            ("sol", [3, 5], 8.939e9, 0.19),
            ("suno", [2, 5], 23.530e9, 0.70),
        ],
    ),
    (
        "Lille",
        &[
            ("chicon", [2, 4], 8.962e9, 0.19),
            ("chimint", [2, 4], 23.531e9, 0.70),
            ("chinqchint", [4, 8], 22.270e9, 0.64),
        ],
    ),
];

/// Kinds of arriving workflows.
#[derive(Clone, Copy, PartialEq)]
enum Kinds {
    Random,
    Applications,
}

/// A site of so many processors, what arrives, and after which share of the deadline before.
#[derive(Clone)]
struct Setting {
    label: String,
    platform: Arc<Platform>,
    kinds: Kinds,
    gap: f64,
}

impl Setting {
    fn streams(&self, seed: u64, count: usize) -> Streams {
        let (setting, label) = (self.clone(), self.label.clone());
        let draw = move |member: u64| stream(&setting, seed, member, count);
        Streams { label, methods: &METHODS, central: true, draw: Arc::new(draw) }
    }
}

fn settings() -> Result<Vec<Setting>, StudyError> {
    let mut all = Vec::new();
    for (kinds, what) in [(Kinds::Random, ""), (Kinds::Applications, ", applications")] {
        for (name, machines) in SITES {
            for (size, cpus) in [8, 16].into_iter().enumerate() {
                let kind =
                    |&(name, counts, speed, price): &Kind| (name, counts[size], speed, price);
                let platform = site(&machines.iter().map(kind).collect::<Vec<_>>())?;
                for gap in [0.05, 0.15, 0.30] {
                    let label = format!("{name} {cpus}, gap {:.0} %{what}", 100.0 * gap);
                    let platform = platform.clone();
                    all.push(Setting { label, platform, kinds, gap });
                }
            }
        }
    }
    Ok(all)
}

/// One workflow of a stream.
fn workflow(kinds: Kinds, seed: u64, number: u64, index: usize) -> Result<Workflow, StudyError> {
    let name = format!("w{index}");
    if kinds == Kinds::Random {
        return draw(&name, seed, number, (40, 120), &SHAPES, &[]);
    }
    let made = application(&APPLICATIONS, Seed { seed, member: number }).map_err(StudyError::of)?;
    Ok(made.renamed(name))
}

fn stream(setting: &Setting, seed: u64, member: u64, count: usize) -> Result<Stream, StudyError> {
    let wishes = limits_of(count, Seed { seed, member });
    let coming = wishes.into_iter().enumerate().map(|(index, (time, money))| {
        let graph = workflow(setting.kinds, seed, member * 1000 + index as u64, index)?;
        let problem = Problem::new(&graph, &setting.platform).map_err(StudyError::of)?;
        let bounds = Negotiable::of(&problem, true);
        let limits = Limits {
            deadline: Some(Negotiable::at(bounds.deadline, time)),
            budget: Some(Negotiable::at(bounds.budget, money)),
        };
        let terms = Terms { limits, ..Terms::default() };
        let when = if index == 0 { When::At(0.0) } else { When::AfterDeadline(setting.gap) };
        Ok(Coming { workflow: Arc::new(graph), when, terms })
    });
    let coming = coming.collect::<Result<Vec<_>, StudyError>>()?;
    Ok(Stream { platform: setting.platform.clone(), coming })
}

/// Metrics of the workflows of a setting, by stream and method.
struct Found(Vec<Vec<Vec<Served>>>);

impl Found {
    fn rates(&self, method: usize) -> Vec<f64> {
        let rate = |run: &Vec<Vec<Served>>| Totals::of(run[method].iter()).success_rate / 100.0;
        self.0.iter().map(rate).collect()
    }

    fn profits(&self, method: usize) -> Vec<f64> {
        let profit = |run: &Vec<Vec<Served>>| beside(&run[..COMPARED])[method].profit;
        self.0.iter().map(|run| profit(run).unwrap_or(0.0)).collect()
    }

    /// Difference between the first method and the best of the others that the source compares.
    fn lead(&self, figure: impl Fn(usize) -> Vec<f64>) -> (Estimate, &'static str) {
        let mean = |method: usize| Estimate::mean(&figure(method)).value;
        let better = |a: usize, b: usize| if mean(b) > mean(a) { b } else { a };
        let best = (1..COMPARED).reduce(better).unwrap_or(1);
        (difference(&figure(0), &figure(best)), METHODS[best].0)
    }
}

fn difference(a: &[f64], b: &[f64]) -> Estimate {
    Estimate::mean(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

fn deadlines(options: &Options, watch: &Watch<'_>) -> Result<Report, StudyError> {
    let (streams, fewer) = amount(options);
    let count = 50 / fewer;
    let mut report = Report::new(&DEADLINES, options, streams);
    report.choices = CHOICES.map(String::from).to_vec();
    let mut rate = Claim::new(
        "9 PSR",
        "MW-DBS keeps more workflows within deadline and budget than the others, on all sites",
    );
    let mut profit = Claim::new("9 profit", "MW-DBS earns most, in most cases");
    let mut order = Claim::new("9 order", "MAX-MIN* stays below MIN-MIN*, in most cases");
    let mut real = Claim::new("9 applications", "Fewer applications than random graphs are kept");
    let mut alone =
        Claim::new("9 exclusive", "Processors of its own for each: next to nobody is kept");
    let mut columns = vec!["site, gap"];
    columns.extend(METHODS.map(|m| m.0));
    let mut rates = Table::new("Share of workflows within deadline and budget (PSR)", &columns);
    let mut earned = Table::new("Profit", &columns[..=COMPARED]);
    // Of MW-DBS, by kind of workflow: the rates of all streams.
    let mut kept = [Vec::new(), Vec::new()];
    let mut below = 0.0f64;
    for setting in settings()? {
        let runs = setting.streams(options.seed, count).run(watch, streams)?;
        let (found, label) = (Found(runs), setting.label);
        let (lead, best) = found.lead(|m| found.rates(m));
        let what = format!("lead over {best}, {label}");
        rate.check(what, "best", (lead, Unit::Percent(1)), Rule::Above(0.0));
        let (lead, best) = found.lead(|m| found.profits(m));
        let what = format!("lead over {best}, {label}");
        profit.check(what, "most", (lead, Unit::Percent(1)), Rule::Above(0.0));
        let lead = difference(&found.rates(2), &found.rates(3));
        let what = format!("MIN-MIN* over MAX-MIN*, {label}");
        order.check(what, "above", (lead, Unit::Percent(1)), Rule::AtLeast(0.0));
        kept[usize::from(setting.kinds == Kinds::Applications)].extend(found.rates(0));
        below = found.rates(7).into_iter().fold(below, f64::max);
        let row = |figure: &dyn Fn(usize) -> Vec<f64>, count: usize| {
            let mut row = vec![Cell::from(label.clone())];
            row.extend((0..count).map(|m| Cell::mean(&figure(m), Unit::Percent(1))));
            row
        };
        rates.rows.push(row(&|m| found.rates(m), METHODS.len()));
        earned.rows.push(row(&|m| found.profits(m), COMPARED));
    }
    let less = difference(&kept[0], &kept[1]);
    let what = "random graphs over applications, MW-DBS, all settings";
    real.check(what, "above", (less, Unit::Percent(1)), Rule::Above(0.0));
    let most = (Estimate::exact(below), Unit::Percent(1));
    alone.check("largest share kept in any stream", "near 0", most, Rule::AtMost(0.1));
    report.findings.claims = vec![rate, profit, order, real, alone];
    report.findings.tables = vec![rates, earned];
    Ok(report)
}

const CHOICES: [&str; 4] = [
    "50 workflows: by daggen with 40 to 120 tasks, or Montage, CyberShake, Epigenomics and Inspiral (LIGO) with 30 \
     to 100, mixed; files on a store at mean latency and bandwidth; deadlines and budgets drawn as in the \
     source; workflows are given up when their deadline has passed.",
    "Compared with the best of the three other methods in the mean; intervals are over streams, of which the \
     source has 5000.",
    "Profit: money of the successful workflows over the largest of the four methods in each stream.",
    "Exclusive: two processors for each workflow, first come, first served, planned by HEFT; 10 % counts as near \
     zero.",
];
