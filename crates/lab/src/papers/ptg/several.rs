//! Several graphs at once on one cluster.

use super::{
    Cell, Claim, Estimate, Findings, GRILLON, Method, Recipe, Rule, StudyError, Table, Unit, Watch,
    cell, cluster, method_name, planned, relative,
};
use slackline_engine::{Coming, Stage};
use slackline_model::scenario::When;
use slackline_model::schedule::Detail;
use slackline_model::{Platform, Schedule, Terms, Workflow};
use std::sync::Arc;

const METHODS: [&str; 7] = [
    "selfish",
    "selfish-order",
    "cra-work-weight",
    "cafm-k-shelves",
    "cafm-lptf",
    "mags",
    "cafm-cra-order",
];
const SIZES: [usize; 5] = [2, 4, 6, 8, 10];

/// Figures over all graphs of a batch.
#[derive(Clone, Copy)]
struct Fares {
    makespan: f64,
    /// Sum of ends over sum of times alone.
    scaled: f64,
    /// The largest stretch.
    stretch: f64,
    /// The mean stretch, which one short graph can upset.
    mean_stretch: f64,
}

impl Fares {
    /// Of ends beside times alone.
    fn of(graphs: &[(f64, f64)]) -> Fares {
        let ends = || graphs.iter().map(|(end, _)| *end);
        let stretches = || graphs.iter().map(|(end, alone)| end / alone);
        Fares {
            makespan: ends().fold(0.0, f64::max),
            scaled: ends().sum::<f64>() / graphs.iter().map(|(_, alone)| alone).sum::<f64>(),
            stretch: stretches().fold(0.0, f64::max),
            mean_stretch: stretches().sum::<f64>() / graphs.len() as f64,
        }
    }
}

fn fares(schedule: &Schedule) -> Fares {
    let rows = match schedule.details.iter().find(|d| d.0 == "workflows") {
        Some((_, Detail::List(rows))) => rows.as_slice(),
        _ => &[],
    };
    let number = |row: &Detail, name: &str| match row {
        Detail::Record(parts) => match parts.iter().find(|p| p.0 == name) {
            Some((_, Detail::Number(x))) => *x,
            _ => f64::NAN,
        },
        _ => f64::NAN,
    };
    let pair = |row: &Detail| (number(row, "finish"), number(row, "alone"));
    Fares::of(&rows.iter().map(pair).collect::<Vec<_>>())
}

/// One of the figures.
type Figure = fn(&Fares) -> f64;

/// Graphs that are planned together, two to ten at a time.
fn batches(graphs: &[Arc<Workflow>]) -> Vec<Vec<Arc<Workflow>>> {
    let mut batches = Vec::new();
    let mut left = graphs.iter().cloned();
    for size in SIZES.iter().cycle() {
        let batch: Vec<Arc<Workflow>> = left.by_ref().take(*size).collect();
        if batch.len() < 2 {
            break;
        }
        batches.push(batch);
    }
    batches
}

/// A batch planned by a method.
fn together(
    batch: &[Arc<Workflow>],
    platform: &Arc<Platform>,
    method: Method,
) -> Result<cell::Cell, StudyError> {
    let at_once = |workflow: &Arc<Workflow>| {
        let (workflow, terms) = (workflow.clone(), Terms::default());
        Coming { workflow, when: When::At(0.0), terms }
    };
    let coming = batch.iter().map(at_once).collect();
    let stage = Stage::of_arrivals(coming, platform.clone()).map_err(StudyError::of)?;
    planned(stage, method)
}

/// A method that fills holes, and the same without.
fn with_and_without(name: &'static str) -> [Method; 2] {
    [(name, &[]), (name, &[("backfill", "no")])]
}

/// Every plan.
pub(super) fn cells(graphs: &[Arc<Workflow>]) -> Result<Vec<Recipe>, StudyError> {
    let platform = cluster(GRILLON)?;
    let mut all = Vec::new();
    for (index, batch) in batches(graphs).into_iter().enumerate() {
        for method in METHODS.into_iter().flat_map(with_and_without) {
            let (batch, platform) = (batch.clone(), platform.clone());
            let name = format!("several graphs, batch {index}: {}", method_name(method));
            all.push(Recipe::new(name, move || together(&batch, &platform, method)));
        }
    }
    Ok(all)
}

pub(super) fn findings(
    graphs: &[Arc<Workflow>],
    watch: &Watch<'_>,
) -> Result<Findings, StudyError> {
    let platform = cluster(GRILLON)?;
    let all = watch.over("several graphs", &batches(graphs), |batch| {
        let both = |name: &&'static str| {
            let [with, without] = with_and_without(name);
            let fares = |method| Ok(fares(&together(batch, &platform, method)?.plan()?));
            Ok((fares(with)?, fares(without)?))
        };
        METHODS.iter().map(both).collect::<Result<Vec<(Fares, Fares)>, StudyError>>()
    })?;
    let column = |m: usize, figure: Figure| -> Vec<f64> {
        all.iter().map(|row| figure(&row[m].0)).collect()
    };
    let criteria: [(&str, Figure); 3] = [
        ("makespan", |f| f.makespan),
        ("scaled sum of ends", |f| f.scaled),
        ("largest stretch", |f| f.stretch),
    ];
    let mut order = Claim::new(
        "H7a",
        "SELFISH-ORDER beats CRA-WORK-WEIGHT and CAFM-K-SHELVES in the sum of ends and the largest stretch, and loses in makespan",
    );
    let mut mags = Claim::new("H7b", "MAGS beats SELFISH-ORDER in all three");
    let mut fair = Claim::new(
        "H7c",
        "MAGS is on par with CAFM-K-SHELVES and CRA-WORK-WEIGHT in performance, and clearly fairer",
    );
    for (what, figure) in criteria {
        let over = |a: usize, b: usize| relative(&column(a, figure), &column(b, figure));
        for other in [2, 3] {
            let rule = if what == "makespan" { Rule::Above(0.0) } else { Rule::Below(0.0) };
            let text = format!("selfish-order to {}, {what}", METHODS[other]);
            order.check(text, "", (over(1, other), Unit::Percent(1)), rule);
            let rule = if what == "largest stretch" {
                Rule::Below(0.0)
            } else {
                Rule::Between(-0.15, 0.15)
            };
            let text = format!("mags to {}, {what}", METHODS[other]);
            fair.check(text, "", (over(5, other), Unit::Percent(1)), rule);
        }
        mags.check(
            format!("mags to selfish-order, {what}"),
            "",
            (over(5, 1), Unit::Percent(1)),
            Rule::Below(0.0),
        );
    }
    let mut outdone = Claim::new("CDS10", "CAFM-CRA-ORDER is always outperformed");
    for (what, figure) in criteria {
        for other in [2, 3] {
            let ours = relative(&column(6, figure), &column(other, figure));
            let text = format!("cafm-cra-order to {}, {what}", METHODS[other]);
            outdone.check(text, "", (ours, Unit::Percent(1)), Rule::Above(0.0));
        }
    }
    let mut holes = Claim::new("H7d", "Backfilling helps every method in every criterion");
    for (what, figure) in criteria {
        for (m, name) in METHODS.iter().enumerate() {
            let with: Vec<f64> = all.iter().map(|row| figure(&row[m].0)).collect();
            let without: Vec<f64> = all.iter().map(|row| figure(&row[m].1)).collect();
            let ours: Estimate = relative(&with, &without);
            holes.check(format!("{name}, {what}"), "", (ours, Unit::Percent(1)), Rule::AtMost(0.0));
        }
    }
    let mut table = Table::new(
        "Several graphs on 47 processors",
        &["method", "makespan to selfish", "scaled sum of ends", "largest stretch", "mean stretch"],
    );
    for (m, name) in METHODS.iter().enumerate() {
        table.rows.push(vec![
            Cell::Text(name.to_string()),
            Cell::Figure(
                relative(&column(m, criteria[0].1), &column(0, criteria[0].1)),
                Unit::Percent(1),
            ),
            Cell::mean(&column(m, criteria[1].1), Unit::Number(2)),
            Cell::mean(&column(m, criteria[2].1), Unit::Number(2)),
            Cell::mean(&column(m, |f| f.mean_stretch), Unit::Number(2)),
        ]);
    }
    let claims = vec![order, mags, fair, outdone, holes];
    Ok(Findings { claims, tables: vec![table] })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred jobs of a second and one of a hundredth on a hundred processors: whether the short
    /// one runs before or after another hardly changes the sum of ends, and doubles the mean stretch.
    #[test]
    fn a_short_graph_upsets_the_mean_stretch() {
        let short = 0.01;
        let mut before = vec![(1.0, 1.0); 99];
        before.extend([(1.0 + short, 1.0), (short, short)]);
        let mut after = vec![(1.0, 1.0); 100];
        after.push((1.0 + short, short));
        let [before, after] = [Fares::of(&before), Fares::of(&after)];
        let near = |a: f64, b: f64| assert!((a - b).abs() < 5e-5, "{a}, not {b}");
        near(before.mean_stretch * 101.0, 101.01);
        near(after.mean_stretch * 101.0, 201.0);
        near(before.scaled, 1.0001);
        near(after.scaled, 1.0100);
        // Two hours alone, six beside others.
        near(Fares::of(&[(6.0, 2.0)]).stretch, 3.0);
    }
}
