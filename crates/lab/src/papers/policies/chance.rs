//! Size of chance effects: our policy against the best of five equally good ones. These are the policy itself,
//! given run times with errors of at most 1 %, so that some of its decisions differ. A goal against the best of
//! five other policies can be compared with it.

use super::super::{Cell, Options, Report, StudyError, Table, Unit, Watch};
use super::realistic_cases::{behind, decided, geometric, shapes};
use crate::cell::policy;
use crate::realistic_cases::{CONDITIONS, RealisticCase, told_wrong};
use slackline_engine::Stage;
use slackline_react::Transfers;

/// Number of variants of our policy, and errors of the run times given to them.
const EQUALS: u64 = 5;
const WRONG: f64 = 0.01;

/// Makespans in one replication: our policy's, and its equals'.
struct Case {
    conditions: usize,
    ours: f64,
    equals: Vec<f64>,
}

fn end(stage: Stage) -> Result<f64, StudyError> {
    decided(stage, policy("slackline")?, Transfers::Push).end()
}

fn case(shape: &RealisticCase, seed: u64) -> Result<Case, StudyError> {
    let stage = shape.stages(seed)?.stage;
    let equals = (1..=EQUALS).map(|draw| end(told_wrong(&stage, WRONG, draw)?));
    let equals = equals.collect::<Result<_, StudyError>>()?;
    Ok(Case { conditions: shape.conditions, ours: end(stage)?, equals })
}

/// Adds a table to a report, over the first seed of every cell.
pub(super) fn add(
    report: &mut Report,
    options: &Options,
    watch: &Watch<'_>,
) -> Result<(), StudyError> {
    let cases = watch.over("chance", &shapes(options), |shape| case(shape, options.seed))?;
    let columns =
        ["world", "over the best of five equals", "> 2 % behind it", "> 2 % behind one equal"];
    let mut table = Table::new("Real shapes, how far chance goes", &columns);
    let mut row = |name: &str, keep: &dyn Fn(&Case) -> bool| {
        let kept = || cases.iter().filter(|c| keep(c));
        if kept().next().is_none() {
            return;
        }
        let least = |c: &Case| c.equals.iter().copied().fold(f64::INFINITY, f64::min);
        let best: Vec<f64> = kept().map(|c| c.ours / least(c)).collect();
        let each: Vec<f64> = kept().flat_map(|c| c.equals.iter().map(|end| c.ours / end)).collect();
        table.rows.push(vec![
            Cell::from(name),
            Cell::exact(geometric(&best), Unit::Number(3)),
            Cell::exact(behind(&best), Unit::Percent(1)),
            Cell::exact(behind(&each), Unit::Percent(1)),
        ]);
    };
    for (at, conditions) in CONDITIONS.iter().enumerate() {
        row(conditions.name, &|c| c.conditions == at);
    }
    row("all", &|_| true);
    report.choices.push(format!(
        "How far chance goes: `slackline` over the best of {EQUALS} copies that are given run times up to 1 % \
         wrong, first seed of every cell."
    ));
    report.findings.tables.push(table);
    Ok(())
}
