//! Chapter 4 of Arabnejad's thesis: fairness dynamic workflow scheduling (FDWS) with queues, against OWM (online workflow
//! management) and RANK_HYBD (hybrid rank), for workflows with a table of run times that arrive as a Poisson process.
//! SLR is the schedule length ratio, CCR the ratio of communication to computation. Part of the study `fdws`.

use super::concurrent::{Method, Stream, Streams, draw, mean_of};
use super::{Cell, Claim, Options, Rule, StudyError, Table, Unit, Watch};
use crate::cell::Recipe;
use slackline_analysis::statistics::Estimate;
use slackline_analysis::workflow_metrics::{Served, Totals};
use slackline_engine::Coming;
use slackline_generate::Seed;
use slackline_generate::streams::{Poisson, Shapes};
use slackline_model::Terms;
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::scenario::When;
use std::sync::Arc;

/// The method under test, then those that it is compared with, the last three being readings of OWM: name in tables,
/// policy, parameters.
const METHODS: [Method; 6] = [
    ("FDWS, queues", "fdws-queues", &[]),
    ("OWM", "owm", &[]),
    ("RANK_HYBD", "rank-hybd", &[]),
    ("OWM, prose", "owm", &[("processor", "prose")]),
    ("OWM, rising", "owm", &[("order", "asc")]),
    ("OWM, all tasks", "owm", &[("pool", "all")]),
];

const SHAPES: Shapes = Shapes {
    fat: &["0.1", "0.4", "0.8"],
    regularity: &["0.2", "0.8"],
    density: &["0.2", "0.8"],
    jump: &["1", "2", "4"],
};

/// Table 8: number of workflows, mean gap in seconds, and improvements of the overall makespan by FDWS over OWM and over
/// RANK_HYBD (negative: FDWS is longer).
const TABLE_8: [(usize, f64, [f64; 2]); 8] = [
    (30, 0.0, [-0.2258, 0.1577]),
    (30, 50.0, [-0.1801, 0.1342]),
    (30, 100.0, [-0.1351, 0.1081]),
    (30, 200.0, [-0.0728, 0.0684]),
    (50, 0.0, [-0.1810, 0.2055]),
    (50, 50.0, [-0.1413, 0.1661]),
    (50, 100.0, [-0.1043, 0.1375]),
    (50, 200.0, [-0.0500, 0.0860]),
];

pub(super) const CHOICES: &str = "Chapter 4: 10 to 60 tasks in steps of 10 with a mean of 100 s; CCR, beta and the number of \
     processors (8, 16 or 32) are drawn for each stream, the source runs them all; gaps are exponential, all \
     come at once where their mean is 0.";

/// Streams of `workflows / fewer` workflows with a mean gap of `gap` seconds.
fn streams_of(options: &Options, workflows: usize, gap: f64, fewer: usize) -> Streams {
    let seed = options.seed;
    let label = format!("{workflows} workflows, mean gap {gap:.0} s");
    let draw = move |member: u64| stream(seed, member, workflows / fewer, gap);
    Streams { label, methods: &METHODS, central: false, draw: Arc::new(draw) }
}

/// One cell for every run of chapter 4.
pub(super) fn cells(options: &Options, (streams, fewer): (usize, usize)) -> Vec<Recipe> {
    let of = |(workflows, gap, _)| streams_of(options, workflows, gap, fewer).cells(streams);
    TABLE_8.into_iter().flat_map(of).collect()
}

/// A figure of the workflows of a run.
type Figure<'f> = &'f dyn Fn(&[Served]) -> f64;

/// Claims and tables of chapter 4, over so many streams with the number of workflows divided by `fewer`.
pub(super) fn chapter_4(
    options: &Options,
    watch: &Watch<'_>,
    (streams, fewer): (usize, usize),
) -> Result<(Vec<Claim>, Vec<Table>), StudyError> {
    let mut sign = Claim::new(
        "4 Table 8",
        "Overall makespan: FDWS is ahead of RANK_HYBD and behind OWM, in every setting",
    );
    let mut size = Claim::new("4 Table 8 size", "The same figures, within 10 points");
    let mut slr = Claim::new("4 SLR", "FDWS has a mean SLR more than 35 % below both");
    let names = METHODS.map(|m| m.0);
    let mut columns = vec!["cell"];
    columns.extend(&names[1..]);
    let mut longer =
        Table::new("Improvement of the overall makespan by FDWS with queues", &columns);
    let mut slower = Table::new("Improvement of the mean SLR by FDWS with queues", &columns);
    for (workflows, gap, published) in TABLE_8 {
        let of = streams_of(options, workflows, gap, fewer);
        let runs = of.run(watch, streams)?;
        let stage = of.label;
        let figures = |method: usize, figure: Figure<'_>| -> Vec<f64> {
            runs.iter().map(|run| figure(&run[method])).collect()
        };
        let gain = |method: usize, figure: Figure<'_>| {
            let ratio = Estimate::ratio(&figures(0, figure), &figures(method, figure));
            Estimate { value: 1.0 - ratio.value, ..ratio }
        };
        let overall: Figure<'_> = &|run: &[Served]| Totals::of(run.iter()).overall_makespan;
        let mean_slr: Figure<'_> = &|run: &[Served]| mean_of(run, |s| s.ttr);
        for (index, published) in published.into_iter().enumerate() {
            let what = format!("{}, {stage}", names[index + 1]);
            let stated = format!("{:.1} %", 100.0 * published);
            let ours = (gain(index + 1, overall), Unit::Percent(1));
            let wanted = if published < 0.0 { Rule::Below(0.0) } else { Rule::Above(0.0) };
            sign.check(what.clone(), &stated, ours, wanted);
            let near = Rule::Between(published - 0.1, published + 0.1);
            size.check(what.clone(), &stated, ours, near);
            let ours = (gain(index + 1, mean_slr), Unit::Percent(1));
            slr.check(what, "> 35 %", ours, Rule::Above(0.35));
        }
        for (table, figure) in [(&mut longer, overall), (&mut slower, mean_slr)] {
            let mut row = vec![Cell::from(stage.clone())];
            let gains = (1..names.len()).map(|m| Cell::Figure(gain(m, figure), Unit::Percent(1)));
            row.extend(gains);
            table.rows.push(row);
        }
    }
    let why = "The gain over OWM in SLR depends on how OWM is read: see the table.";
    Ok((vec![sign, size, slr.unless_it_holds(why)], vec![longer, slower]))
}

/// A stream of workflows of one random setting, with dates of arrival.
fn stream(seed: u64, member: u64, count: usize, gap: f64) -> Result<Stream, StudyError> {
    let drawn = Poisson::draw(count, gap, Seed { seed, member });
    let costs = [
        ("costs", "beta".to_string()),
        ("mean", "100".to_string()),
        ("processors", drawn.processors.to_string()),
        ("beta", drawn.beta.to_string()),
        ("ccr", drawn.ccr.to_string()),
    ];
    let mut builder = PlatformBuilder::new("machines");
    builder.set_matrix(Matrix::uniform(Some(1.25e8), 0.0));
    let root = builder.root().map_err(StudyError::of)?;
    for index in 1..=drawn.processors {
        builder.add_host(root, HostSpec::new(format!("p{index}"), 1e9)).map_err(StudyError::of)?;
    }
    let platform = Arc::new(builder.build().map_err(StudyError::of)?);
    let coming = drawn.coming.iter().enumerate().map(|(index, &(tasks, date))| {
        let number = 1_000_000 + member * 1000 + index as u64;
        let graph = draw(&format!("w{index}"), seed, number, (tasks, tasks), &SHAPES, &costs)?;
        let (workflow, terms) = (Arc::new(graph), Terms::default());
        Ok(Coming { workflow, when: When::At(date), terms })
    });
    let coming = coming.collect::<Result<Vec<_>, StudyError>>()?;
    Ok(Stream { platform, coming })
}
