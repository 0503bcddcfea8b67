//! Section 5.8 of the thesis: a processor dies half-way.

use super::runs::Family::F2;
use super::runs::Method::{GtpCR, GtpR};
use super::runs::{Measured, Run, Runs};
use super::{beats, ratio};
use crate::papers::report::Findings;
use crate::papers::{Cell, Claim, Rule, Table, Unit};
use slackline_analysis::statistics::Estimate;

const CELLS: [(usize, usize, u32); 3] = [(5, 100, 30), (10, 300, 30), (10, 500, 30)];

pub(super) fn findings(runs: &Runs) -> Findings {
    Findings { claims: vec![claim(runs)], tables: vec![table(runs)] }
}

/// The counted quantity, its value in the thesis, the function that computes ours.
type Count = (&'static str, &'static str, fn(&Measured) -> f64);

fn claim(runs: &Runs) -> Claim {
    let mut claim = Claim::new(
        "5.9",
        "F2, SCE(10,500,30) and a failure: GTP/c/r is up to 11 % below GTP/r, rewinds fewer levels and tasks",
    );
    let setting = F2.at(10, 500, 30);
    beats(&mut claim, runs, setting, (Run::of(GtpCR), Run::of(GtpR)), "up to -11 %");
    let figures: [Count; 3] = [
        ("levels", "1.058x", |m| m.rewound_levels),
        ("tasks", "1.08x", |m| m.rewound_tasks),
        ("overhead", "1.03x", |m| m.rewound_work),
    ];
    for (what, published, of) in figures {
        claim.check(
            format!("{} rewound {what}, GTP/r to GTP/c/r", runs.name(setting)),
            published,
            ratio(runs, setting, (Run::of(GtpR), Run::of(GtpCR)), of),
            Rule::Above(1.0),
        );
    }
    claim.remark(
        "The failure comes half-way of the same method's run without one, so the two methods are struck in \
         different states. All runs end. From the same state GTP/c/r never rewinds more than GTP/r, which a property \
         test of engine (`any_failure_at_any_moment_is_survived`) compares at every call.",
    )
}

fn table(runs: &Runs) -> Table {
    let mut table = Table::new(
        "F2 with a failure half-way",
        &["setting", "method", "NSL", "NSL added", "levels", "tasks", "work, s"],
    );
    for (p, n, z) in CELLS {
        let setting = F2.at(p, n, z);
        for method in [GtpR, GtpCR] {
            let mean = |of: fn(&Measured) -> f64, digits| {
                let mean = Estimate::mean(&runs.get(setting, Run::of(method), of)).value;
                Cell::exact(mean, Unit::Number(digits))
            };
            table.rows.push(vec![
                runs.name(setting).into(),
                method.name().into(),
                mean(|m| m.nsl, 3),
                mean(|m| m.extra, 3),
                mean(|m| m.rewound_levels, 1),
                mean(|m| m.rewound_tasks, 1),
                mean(|m| m.rewound_work, 1),
            ]);
        }
    }
    table
}
