//! Sections 5.6 and 5.7 of the thesis: the length of the cycle; PUSH against PULL.

use super::runs::Family::{F2, F3};
use super::runs::Method::{self, DlsSr, Gtp, GtpC, Heft};
use super::runs::{Measured, Run, Runs, Setting};
use super::{about, ratio};
use crate::papers::report::Findings;
use crate::papers::{Cell, Claim, Rule, Table, Unit};
use slackline_analysis::statistics::Estimate;

const CYCLES: [u32; 4] = [1, 3, 10, 30];

pub(super) fn findings(runs: &Runs) -> Findings {
    Findings {
        claims: vec![cycles(runs), static_pull(runs), push_hurts(runs)],
        tables: vec![cycle_table(runs), push_table(runs)],
    }
}

fn cycle_settings() -> [(Setting, [f64; 4]); 2] {
    [
        (F3.at(5, 1000, 0), [19.91, 18.28, 18.57, 18.39]),
        (F3.at(20, 100, 70), [3.07, 4.55, 3.03, 3.30]),
    ]
}

fn cycles(runs: &Runs) -> Claim {
    let mut claim = Claim::new(
        "5.7",
        "F3: no cycle is best everywhere; short ones hurt while nothing changes and help for z of 70 % and more",
    );
    let [still, changing] = cycle_settings().map(|(setting, _)| setting);
    let compare = |setting, one, other| {
        let nsl = |cycle| runs.nsl(setting, Run::cycle(Gtp, cycle));
        (Estimate::excess(&nsl(one), &nsl(other)), Unit::Percent(1))
    };
    claim.check(
        format!("{} cycles of 1 % to 10 %", runs.name(still)),
        "7.2 %",
        compare(still, 1, 10),
        Rule::Above(0.0),
    );
    claim.check(
        format!("{} cycles of 1 % to 30 %", runs.name(changing)),
        "-7.0 %",
        compare(changing, 1, 30),
        Rule::Below(0.0),
    );
    let changing = F3.at(20, 300, 90);
    claim.check(
        format!("{} cycles of 1 % to 30 %", runs.name(changing)),
        "shorter",
        compare(changing, 1, 30),
        Rule::Below(0.0),
    );
    claim.remark(
        "The published 4.55 at cycles of 3 % in SCE(20,100,70) looks like a misprint and is not judged.",
    )
}

fn cycle_table(runs: &Runs) -> Table {
    let mut table = Table::new(
        "F3: NSL of GTP by length of the cycle, published in brackets",
        &["setting", "1 %", "3 %", "10 %", "30 %"],
    );
    for (setting, published) in cycle_settings() {
        let mut row: Vec<Cell> = vec![runs.name(setting).into()];
        for (cycle, published) in CYCLES.into_iter().zip(published) {
            let nsl = Estimate::mean(&runs.nsl(setting, Run::cycle(Gtp, cycle))).value;
            row.push(format!("{nsl:.2} ({published:.2})").into());
        }
        table.rows.push(row);
    }
    let setting = F3.at(20, 300, 90);
    let mut row: Vec<Cell> = vec![runs.name(setting).into()];
    row.extend(CYCLES.map(|cycle| {
        Cell::exact(
            Estimate::mean(&runs.nsl(setting, Run::cycle(Gtp, cycle))).value,
            Unit::Number(2),
        )
    }));
    table.rows.push(row);
    table
}

fn push(
    setting: Setting,
    runs: &Runs,
    method: Method,
    of: fn(&Measured) -> f64,
) -> (Estimate, Unit) {
    ratio(runs, setting, (Run::push(method), Run::of(method)), of)
}

fn static_pull(runs: &Runs) -> Claim {
    let mut claim = Claim::new("5.8a", "F2: static HEFT is better under PULL, by up to 5.5 %");
    for ((n, z), published) in [((500, 40), "4.8 %"), ((1000, 30), "5.5 %")] {
        let setting = F2.at(10, n, z);
        let (pushed, pulled) = (Run::push(Heft), Run::of(Heft));
        claim.check(
            format!("{} HEFT, PUSH to PULL", runs.name(setting)),
            published,
            super::excess(runs, setting, pushed, pulled),
            Rule::Above(0.0),
        );
    }
    claim.unless_it_holds(
        "A plan that is not changed loses nothing by sending early: links that would idle are used. The \
         published advantage of PULL needs urgent transfers to wait behind others that were pushed for later \
         tasks; in the order of the plan they rarely do.",
    )
}

fn push_hurts(runs: &Runs) -> Claim {
    let mut claim = Claim::new(
        "5.8b",
        "F2, z = 10: reactive methods suffer under PUSH, DLS/sr most, then GTP, GTP/c least",
    );
    let setting = F2.at(10, runs.most_pushed, 10);
    for (method, factor) in [(DlsSr, 8.0), (Gtp, 6.5), (GtpC, 2.0)] {
        claim.check(
            format!("{} {}: NSL", runs.name(setting), method.name()),
            &format!("{factor}x"),
            push(setting, runs, method, |m| m.nsl),
            Rule::Above(1.0),
        );
    }
    let nsl = |method| push(setting, runs, method, |m| m.nsl).0.value;
    for (worse, better) in [(DlsSr, Gtp), (Gtp, GtpC)] {
        claim.check(
            format!("suffers more: {} to {}", worse.name(), better.name()),
            "more",
            (Estimate::exact(nsl(worse) / nsl(better)), Unit::Times(2)),
            Rule::Above(1.0),
        );
    }
    let published: [(Method, [f64; 2]); 3] =
        [(DlsSr, [5.0, 7.0]), (Gtp, [7.0, 9.0]), (GtpC, [2.0, 2.5])];
    for (method, [migrated, overhead]) in published {
        claim.check(
            format!("{}: migrated tasks", method.name()),
            &format!("{migrated}x"),
            push(setting, runs, method, |m| m.migrations),
            about(migrated),
        );
        claim.check(
            format!("{}: overhead", method.name()),
            &format!("{overhead}x"),
            push(setting, runs, method, |m| m.overhead),
            about(overhead),
        );
    }
    claim.remark(
        "PUSH to PULL in all rows; NSL by direction, counts within a factor of two. Published for \
         SCE(10,1000,10), which the full size runs; others take half the tasks.",
    )
}

fn push_table(runs: &Runs) -> Table {
    let mut table = Table::new(
        "F2: PUSH to PULL",
        &["setting", "method", "NSL", "remappings", "migrated", "overhead"],
    );
    let reactive = F2.at(10, runs.most_pushed, 10);
    let cells = [F2.at(10, 500, 40), F2.at(10, 1000, 30), reactive];
    for setting in cells {
        for method in [Heft, DlsSr, Gtp, GtpC] {
            if method != Heft && setting != reactive {
                continue;
            }
            let cell = |of: fn(&Measured) -> f64| {
                Cell::exact(push(setting, runs, method, of).0.value, Unit::Times(2))
            };
            table.rows.push(vec![
                runs.name(setting).into(),
                method.name().into(),
                cell(|m| m.nsl),
                cell(|m| m.remappings),
                cell(|m| m.migrations),
                cell(|m| m.overhead),
            ]);
        }
    }
    table
}
