//! Identities that hold when estimates are exact.

use super::{ALWAYS, Base, IDEAL, Population, SLACK, SPARE, STATIC, all_ways, draw};
use crate::papers::{Claim, Report, Rule, StudyError, Unit, Watch};
use slackline_analysis::statistics::Estimate;

pub(super) const POPULATION: Population =
    Population { name: "sr/exact", tasks: (50, 100), machines: (3, 8) };

/// A part of the graphs will do.
pub(super) fn graphs(all: usize) -> usize {
    all.min(20)
}

/// Two makespans that differ by more than this share are different.
const SAME: f64 = 1e-9;

pub(super) fn study(
    report: &mut Report,
    bases: &[Base],
    watch: &Watch<'_>,
) -> Result<(), StudyError> {
    let graphs = graphs(report.graphs);
    let instances = draw(POPULATION, report.seed, graphs)?;
    let jobs: Vec<_> = bases.iter().flat_map(|b| instances.iter().map(move |i| (b, i))).collect();
    let runs =
        watch.over("exact estimates", &jobs, |(base, instance)| all_ways(instance, base, 0.0))?;
    let mut alike = Claim::new(
        "Q0.1",
        "With exact estimates `static`, `slack`, `spare` and `ideal` are one and nothing is planned again",
    );
    let mut always =
        Claim::new("Q0.2", "With exact estimates planning again before every task changes nothing");
    for (base, runs) in bases.iter().zip(runs.chunks(graphs.max(1))) {
        let differ = |r: &[super::Ran; 5], way: usize| {
            (r[way].makespan / r[STATIC].makespan - 1.0).abs() > SAME
        };
        let others =
            runs.iter().filter(|r| [IDEAL, SLACK, SPARE].iter().any(|&way| differ(r, way))).count();
        let planned: f64 =
            runs.iter().map(|r| r[SLACK].reschedulings + r[SPARE].reschedulings).sum();
        alike.check(
            format!("{}: differing graphs, re-plannings", base.label),
            "0",
            (Estimate::exact(others as f64 + planned), Unit::Number(0)),
            Rule::AtMost(0.0),
        );
        let moved = runs.iter().filter(|r| differ(r, ALWAYS)).count();
        always.check(
            format!("{}: graphs of {graphs} that differ", base.label),
            "",
            (Estimate::exact(moved as f64), Unit::Number(0)),
            Rule::AtMost(0.0),
        );
    }
    report.findings.claims.extend([
        alike.remark("Not a claim of the paper; it follows from its definitions."),
        always.remark(
            "Not a claim of the paper. FCP's queue of bounded length and the groups of merging LMT \
             depend on which tasks are still open, so planning again after a perfect prefix gives \
             another plan.",
        ),
    ]);
    Ok(())
}
