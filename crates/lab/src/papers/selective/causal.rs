//! Cost of causality: the same triggers on the engine, where an end is known when it comes.

use super::performance::POPULATION;
use super::{ALWAYS, Base, Instance, Ran, SLACK, SPARE, STATIC, draw, ran};
use crate::cell::{Recipe, policy};
use crate::papers::{Cell, Claim, Report, Rule, StudyError, Table, Unit, Watch};
use slackline_analysis::statistics::Estimate;

const QUALITIES: [f64; 3] = [0.1, 0.3, 0.5];

/// The literal form's way and the policy that does the same causally.
const PAIRS: [(&str, usize, &str); 4] = [
    ("static", STATIC, "static"),
    ("slack", SLACK, "sr-slack"),
    ("spare", SPARE, "sr-spare"),
    ("always", ALWAYS, "always"),
];

/// Literal and causal makespans and reschedulings.
type Both = [[f64; 2]; 2];

fn both(instance: &Instance, base: &Base, quality: f64) -> Result<Vec<Both>, StudyError> {
    let one = |(_, way, name): &(&str, usize, &str)| {
        let literal = ran(instance, base, *way, quality)?;
        let causal = Ran::of(&instance.causal(policy(name)?, base.planner, quality)?)?;
        Ok([[literal.makespan, causal.makespan], [literal.reschedulings, causal.reschedulings]])
    };
    PAIRS.iter().map(one).collect()
}

/// The planner of all runs on the engine.
fn heft(bases: &[Base]) -> Result<&Base, StudyError> {
    let found = bases.iter().find(|b| b.label == "HEFT");
    found.ok_or_else(|| StudyError("HEFT is missing".to_string()))
}

/// Every run on the engine.
pub(super) fn cells(
    bases: &[Base],
    (seed, graphs): (u64, usize),
) -> Result<Vec<Recipe>, StudyError> {
    let planner = heft(bases)?.planner;
    let mut all = Vec::new();
    for quality in QUALITIES {
        for member in 0..graphs {
            for (_, _, name) in PAIRS {
                let error = Unit::Percent(0).show(quality);
                let of = format!("{}, error {error}, graph {member}: {name}", POPULATION.name);
                all.push(Recipe::new(of, move || {
                    let instance = Instance::draw(&POPULATION, seed, member)?;
                    instance.causal(policy(name)?, planner, quality)
                }));
            }
        }
    }
    Ok(all)
}

pub(super) fn study(
    report: &mut Report,
    bases: &[Base],
    watch: &Watch<'_>,
) -> Result<(), StudyError> {
    let heft = heft(bases)?;
    let instances = draw(POPULATION, report.seed, report.graphs)?;
    let jobs: Vec<_> =
        QUALITIES.iter().flat_map(|q| instances.iter().map(move |i| (*q, i))).collect();
    let runs = watch.over("causal policies", &jobs, |(q, instance)| both(instance, heft, *q))?;
    let mut table = Table::new(
        "HEFT: the literal form against the same triggers on the engine; #R: re-plannings",
        &["error", "way", "literal", "causal", "causality costs", "#R literal", "#R causal"],
    );
    let mut claim = Claim::new(
        "C.1",
        "Rescheduling still pays when ends are known only when they come (implied)",
    );
    let mut same =
        Claim::new("C.2", "Without rescheduling both forms are the same run (our check)");
    for (quality, runs) in QUALITIES.iter().zip(runs.chunks(instances.len().max(1))) {
        let column = |pair: usize, what: usize, form: usize| -> Vec<f64> {
            runs.iter().map(|r| r[pair][what][form]).collect()
        };
        for (pair, (name, _, _)) in PAIRS.into_iter().enumerate() {
            let (literal, causal) = (column(pair, 0, 0), column(pair, 0, 1));
            let costs = Estimate::excess(&causal, &literal);
            let mean = |values: &[f64], unit| Cell::exact(Estimate::mean(values).value, unit);
            table.rows.push(vec![
                Unit::Percent(0).show(*quality).into(),
                name.into(),
                mean(&literal, Unit::Number(1)),
                mean(&causal, Unit::Number(1)),
                Cell::Figure(costs, Unit::Percent(2)),
                mean(&column(pair, 1, 0), Unit::Number(1)),
                mean(&column(pair, 1, 1), Unit::Number(1)),
            ]);
            if pair > 0 {
                claim.check(
                    format!("{name} at {:.0} %: causal to static", quality * 100.0),
                    "below",
                    (Estimate::excess(&causal, &column(0, 0, 1)), Unit::Percent(1)),
                    Rule::AtMost(0.0),
                );
            } else {
                let furthest = literal.iter().zip(&causal).map(|(l, c)| (c / l - 1.0).abs());
                same.check(
                    format!("static at {:.0} %: largest difference", quality * 100.0),
                    "",
                    (Estimate::exact(furthest.fold(0.0, f64::max)), Unit::Percent(3)),
                    Rule::AtMost(1e-9),
                );
            }
        }
    }
    report.findings.claims.extend([claim, same]);
    report.findings.tables.push(table);
    Ok(())
}
