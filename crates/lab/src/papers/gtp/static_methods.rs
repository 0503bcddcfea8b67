//! Sections 5.2 and 5.3 of the thesis: static plans on platforms that are shared.

use super::runs::Family::F3;
use super::runs::Method::{Dls, Heft};
use super::runs::{Run, Runs, Setting};
use super::{about, beats, excess};
use crate::papers::report::Findings;
use crate::papers::{Cell, Claim, Rule, Table, Unit};
use slackline_analysis::statistics::Estimate;

const PROCESSORS: [usize; 3] = [5, 10, 20];
const TASKS: [usize; 5] = [50, 100, 300, 500, 1000];

pub(super) fn findings(runs: &Runs) -> Findings {
    Findings {
        claims: vec![
            heft_or_dls(runs),
            promises(runs),
            gap(runs),
            gap_by_size(runs),
            rises(runs),
            changing(runs),
        ],
        tables: vec![table(runs)],
    }
}

/// Real less promised NSL over promised, of every graph.
fn gaps(runs: &Runs, setting: Setting, run: Run) -> Vec<f64> {
    runs.get(setting, run, |m| m.nsl / m.promised - 1.0)
}

fn heft_or_dls(runs: &Runs) -> Claim {
    let mut claim = Claim::new(
        "5.1a",
        "While nothing changes HEFT beats DLS on 10 and 20 processors, DLS beats HEFT on 5 (F3)",
    );
    let (heft, dls) = (Run::of(Heft), Run::of(Dls));
    beats(&mut claim, runs, F3.at(10, 1000, 0), (heft, dls), "-11 %");
    beats(&mut claim, runs, F3.at(20, 300, 0), (heft, dls), "-16 %");
    let all = TASKS.map(|n| (n, excess(runs, F3.at(5, n, 0), dls, heft).0));
    let best = all.into_iter().reduce(|a, b| if b.1.value < a.1.value { b } else { a });
    if let Some((n, estimate)) = best {
        claim.check(
            format!("{} DLS to HEFT, best n", runs.name(F3.at(5, n, 0))),
            "up to -9 %",
            (estimate, Unit::Percent(1)),
            Rule::Below(0.0),
        );
    }
    claim
}

fn promises(runs: &Runs) -> Claim {
    let mut claim = Claim::new("5.1b", "What HEFT and DLS promise is alike (F3)");
    for processors in PROCESSORS {
        let setting = F3.at(processors, 300, 0);
        let promised = |method| runs.get(setting, Run::of(method), |m| m.promised);
        let ours = Estimate::excess(&promised(Dls), &promised(Heft));
        claim.check(
            format!("{} DLS to HEFT, promised", runs.name(setting)),
            "alike",
            (ours, Unit::Percent(1)),
            Rule::Between(-0.1, 0.1),
        );
    }
    claim
}

fn gap(runs: &Runs) -> Claim {
    let mut claim = Claim::new(
        "5.1c",
        "Even while nothing changes the real NSL exceeds the promised one many times (F3)",
    );
    let published = [(5, Heft, 22.0), (5, Dls, 23.0), (10, Heft, 12.0), (10, Dls, 13.0)];
    for (processors, method, factor) in published {
        let setting = F3.at(processors, 1000, 0);
        let most = gaps(runs, setting, Run::of(method)).into_iter().fold(f64::NAN, f64::max);
        claim.check(
            format!("{} {}: largest gap", runs.name(setting), method.name()),
            &format!("up to {factor}x"),
            (Estimate::exact(most), Unit::Times(1)),
            about(factor),
        );
    }
    claim.remark(
        "The gap of the worst graph, in promised NSLs. It is made by contention: under PULL with a window of \
         one a processor also waits for data it could have had before.",
    )
}

fn gap_by_size(runs: &Runs) -> Claim {
    let mut claim = Claim::new(
        "5.1d",
        "The gap grows with the number of tasks and shrinks with processors (F3)",
    );
    for method in [Heft, Dls] {
        let run = Run::of(method);
        let mean = |setting| Estimate::mean(&gaps(runs, setting, run)).value;
        let growth = mean(F3.at(10, 1000, 0)) / mean(F3.at(10, 100, 0));
        claim.check(
            format!("{}: gap at 1000 to 100 tasks, 10 processors", method.name()),
            "grows",
            (Estimate::exact(growth), Unit::Times(2)),
            Rule::AtLeast(1.0),
        );
        let shrinks = mean(F3.at(20, 1000, 0)) / mean(F3.at(5, 1000, 0));
        claim.check(
            format!("{}: gap on 20 to 5 processors, 1000 tasks", method.name()),
            "shrinks",
            (Estimate::exact(shrinks), Unit::Times(2)),
            Rule::AtMost(1.0),
        );
    }
    claim
}

const LEVELS: [u32; 4] = [0, 30, 60, 90];

fn rises(runs: &Runs) -> Claim {
    let mut claim = Claim::new("5.1e", "Real NSL rises with variability (F3)");
    for method in [Heft, Dls] {
        for pair in LEVELS.windows(2) {
            let nsl = |z| runs.nsl(F3.at(10, 300, z), Run::of(method));
            claim.check(
                format!("{} z = {} to z = {}", method.name(), pair[1], pair[0]),
                "rises",
                (Estimate::excess(&nsl(pair[1]), &nsl(pair[0])), Unit::Percent(1)),
                Rule::AtLeast(0.0),
            );
        }
    }
    claim
}

fn changing(runs: &Runs) -> Claim {
    let mut claim = Claim::new(
        "5.1f",
        "While platforms change HEFT is mostly better than DLS, by up to 20 % (F3)",
    );
    for z in &LEVELS[1..] {
        beats(&mut claim, runs, F3.at(10, 300, *z), (Run::of(Heft), Run::of(Dls)), "up to -20 %");
    }
    claim
}

fn table(runs: &Runs) -> Table {
    let mut table = Table::new(
        "F3, nothing changes: promised and real NSL of static plans",
        &["setting", "HEFT promised", "HEFT", "DLS promised", "DLS", "DLS to HEFT"],
    );
    for processors in PROCESSORS {
        for tasks in TASKS {
            let setting = F3.at(processors, tasks, 0);
            let mut row: Vec<Cell> = vec![runs.name(setting).into()];
            for method in [Heft, Dls] {
                let promised = runs.get(setting, Run::of(method), |m| m.promised);
                let promised = Estimate::mean(&promised).value;
                row.push(Cell::exact(promised, Unit::Number(2)));
                let nsl = Estimate::mean(&runs.nsl(setting, Run::of(method))).value;
                row.push(Cell::exact(nsl, Unit::Number(2)));
            }
            let (excess, unit) = excess(runs, setting, Run::of(Dls), Run::of(Heft));
            row.push(Cell::Figure(excess, unit));
            table.rows.push(row);
        }
    }
    table
}
