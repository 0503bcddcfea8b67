//! Section 5.5 of the thesis: copies left behind by migrations.

use super::runs::Family::F2;
use super::runs::Method::{DlsSr, Gtp, GtpC, Heft};
use super::runs::{Run, Runs};
use super::{beats, ratio};
use crate::papers::report::Findings;
use crate::papers::{Cell, Claim, Rule, Table, Unit};
use slackline_analysis::statistics::Estimate;

const CELLS: [(usize, usize, u32); 3] = [(5, 300, 30), (10, 300, 20), (10, 1000, 30)];

pub(super) fn findings(runs: &Runs) -> Findings {
    Findings {
        claims: vec![how_many(runs), faster(runs), more_moves(runs)],
        tables: vec![table(runs)],
    }
}

fn how_many(runs: &Runs) -> Claim {
    let mut claim = Claim::new(
        "5.6a",
        "F2: copies are 5 to 20 % of all transfers, 10 to 19 % of them are used, 74 % of the edges cross a link",
    );
    let copies = Run::of(GtpC);
    let published = [((5, 300, 30), "7 %", "12 %"), ((10, 1000, 30), "14.9 %", "16.3 %")];
    for ((p, n, z), made, used) in published {
        let setting = F2.at(p, n, z);
        let of = |pick: fn(&super::Measured) -> f64| runs.get(setting, copies, pick);
        claim.check(
            format!("{} copies to transfers", runs.name(setting)),
            made,
            (Estimate::ratio(&of(|m| m.copies), &of(|m| m.edges)), Unit::Percent(1)),
            Rule::Between(0.05, 0.2),
        );
        claim.check(
            format!("{} used of copies", runs.name(setting)),
            used,
            (Estimate::ratio(&of(|m| m.copies_used), &of(|m| m.copies)), Unit::Percent(1)),
            Rule::Between(0.1, 0.19),
        );
    }
    let setting = F2.at(10, 1000, 30);
    let of = |pick: fn(&super::Measured) -> f64| runs.get(setting, copies, pick);
    claim.check(
        format!("{} edges that cross a link", runs.name(setting)),
        "74.2 %",
        (Estimate::ratio(&of(|m| m.crossed), &of(|m| m.edges)), Unit::Percent(1)),
        Rule::Between(0.6, 0.9),
    );
    claim.remark(
        "A copy is a complete input left behind when its consumer migrates; only placed tasks have gathered \
         anything, one per processor with a window of one.",
    )
}

fn faster(runs: &Runs) -> Claim {
    let mut claim =
        Claim::new("5.6b", "F2: GTP/c is up to 16 % below HEFT, 6 % below GTP, 9 % below DLS/sr");
    let setting = F2.at(10, 1000, 30);
    for (method, published) in [(Heft, "up to -16 %"), (Gtp, "up to -6 %"), (DlsSr, "up to -9 %")] {
        beats(&mut claim, runs, setting, (Run::of(GtpC), Run::of(method)), published);
    }
    beats(&mut claim, runs, F2.at(10, 300, 20), (Run::of(GtpC), Run::of(Gtp)), "up to -3 %");
    claim.unless_it_holds(
        "Copies attract transfers to links whose queues the costing does not see; with few placed tasks \
         there is little to re-use.",
    )
}

fn more_moves(runs: &Runs) -> Claim {
    let mut claim = Claim::new(
        "5.6c",
        "F2, SCE(10,300,20): GTP/c migrates more tasks (4 %) at less overhead (3 %)",
    );
    let setting = F2.at(10, 300, 20);
    let pair = (Run::of(GtpC), Run::of(Gtp));
    claim.check(
        format!("{} migrated, GTP/c to GTP", runs.name(setting)),
        "1.04x",
        ratio(runs, setting, pair, |m| m.migrations),
        Rule::Above(1.0),
    );
    claim.check(
        format!("{} overhead, GTP/c to GTP", runs.name(setting)),
        "0.97x",
        ratio(runs, setting, pair, |m| m.overhead),
        Rule::Below(1.0),
    );
    claim
}

fn table(runs: &Runs) -> Table {
    let mut table = Table::new(
        "F2: copies of GTP/c",
        &["setting", "edges", "crossed", "copies", "share", "used", "of copies"],
    );
    for (p, n, z) in CELLS {
        let setting = F2.at(p, n, z);
        let of = |pick: fn(&super::Measured) -> f64| runs.get(setting, Run::of(GtpC), pick);
        let mean = |pick: fn(&super::Measured) -> f64| {
            Cell::exact(Estimate::mean(&of(pick)).value, Unit::Number(0))
        };
        let share = |a: fn(&super::Measured) -> f64, b: fn(&super::Measured) -> f64| {
            Cell::exact(Estimate::ratio(&of(a), &of(b)).value, Unit::Percent(1))
        };
        table.rows.push(vec![
            runs.name(setting).into(),
            mean(|m| m.edges),
            mean(|m| m.crossed),
            mean(|m| m.copies),
            share(|m| m.copies, |m| m.edges),
            mean(|m| m.copies_used),
            share(|m| m.copies_used, |m| m.copies),
        ]);
    }
    table
}
