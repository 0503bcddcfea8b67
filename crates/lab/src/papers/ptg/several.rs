//! Several graphs at once on one cluster.

use super::{
    Cell, Claim, Estimate, Findings, GRILLON, Rule, StudyError, Table, Unit, Watch, cluster, plan,
    relative,
};
use slackline_model::schedule::Detail;
use slackline_model::{Problem, Schedule, Workflow};

const METHODS: [&str; 6] =
    ["selfish", "selfish-order", "cra-work-weight", "cafm-k-shelves", "cafm-lptf", "mags"];
const SIZES: [usize; 5] = [2, 4, 6, 8, 10];

/// How all graphs of a batch fare.
#[derive(Clone, Copy)]
struct Fares {
    makespan: f64,
    /// Sum of ends over sum of times alone.
    scaled: f64,
    stretch: f64,
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
    let sum = |name: &str| rows.iter().map(|row| number(row, name)).sum::<f64>();
    Fares {
        makespan: schedule.makespan(),
        scaled: sum("finish") / sum("alone"),
        stretch: rows.iter().map(|row| number(row, "stretch")).fold(0.0, f64::max),
    }
}

/// One of the figures.
type Figure = fn(&Fares) -> f64;

pub(super) fn findings(graphs: &[Workflow], watch: &Watch<'_>) -> Result<Findings, StudyError> {
    let platform = cluster(GRILLON)?;
    let mut batches: Vec<Vec<&Workflow>> = Vec::new();
    let mut left = graphs.iter();
    for size in SIZES.iter().cycle() {
        let batch: Vec<&Workflow> = left.by_ref().take(*size).collect();
        if batch.len() < 2 {
            break;
        }
        batches.push(batch);
    }
    let all = watch.over("several graphs", &batches, |batch| {
        let joined = Workflow::union("batch", batch).map_err(StudyError::of)?;
        let problem = Problem::new(&joined, &platform).map_err(StudyError::of)?;
        let both = |name: &&str| {
            let with = fares(&plan(&problem, name, &[])?);
            let without = fares(&plan(&problem, name, &[("backfill", "no")])?);
            Ok((with, without))
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
        &["method", "makespan to selfish", "scaled sum of ends", "largest stretch"],
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
        ]);
    }
    let claims = vec![order, mags, fair, holes];
    Ok(Findings { claims, tables: vec![table] })
}
