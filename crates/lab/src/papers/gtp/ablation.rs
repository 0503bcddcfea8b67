//! Conditions that the thesis leaves open but that decide the ranking: the duration of changes, the window in
//! which inputs are fetched, the sharing of links.

use super::runs::Family::F2;
use super::runs::Method::{Gtp, GtpC, Heft};
use super::runs::{Run, Runs, Setting};
use crate::papers::report::Findings;
use crate::papers::{Cell, Table, Unit};
use crate::worlds::Links;
use slackline_analysis::statistics::Estimate;

pub(super) fn findings(runs: &Runs) -> Findings {
    Findings { claims: Vec::new(), tables: vec![persistence(runs), links(runs)] }
}

fn base() -> Setting {
    F2.at(10, 300, 90)
}

/// NSL of HEFT, then what GTP and GTP/c make of it.
fn row(runs: &Runs, setting: Setting, window: Option<u32>) -> Vec<Cell> {
    let run = |method| Run { window, ..Run::window(method, 1) };
    let heft = runs.nsl(setting, run(Heft));
    let mut cells = vec![Cell::exact(Estimate::mean(&heft).value, Unit::Number(3))];
    for method in [Gtp, GtpC] {
        let excess = Estimate::excess(&runs.nsl(setting, run(method)), &heft);
        cells.push(Cell::Figure(excess, Unit::Percent(1)));
    }
    cells
}

fn label(window: Option<u32>) -> Cell {
    window.map_or("PUSH".to_string(), |w| format!("PULL {w}")).into()
}

fn persistence(runs: &Runs) -> Table {
    let title = format!(
        "F2, {}: HEFT's NSL and what GTP changes of it, by persistence m and window w",
        runs.name(base())
    );
    let mut table = Table::new(title, &["m", "transfers", "HEFT", "GTP to HEFT", "GTP/c to HEFT"]);
    for persistence in [30, 10, 3, 1] {
        for window in [Some(1), Some(2), Some(8), None] {
            let setting = Setting { persistence, ..base() };
            let m = f64::from(persistence) / 10.0;
            let mut cells: Vec<Cell> = vec![format!("{m}").into(), label(window)];
            cells.extend(row(runs, setting, window));
            table.rows.push(cells);
        }
    }
    table
}

fn links(runs: &Runs) -> Table {
    let title = format!("F2, {}: the same by how links are shared, m = 3", runs.name(base()));
    let mut table =
        Table::new(title, &["links", "transfers", "HEFT", "GTP to HEFT", "GTP/c to HEFT"]);
    let all = [
        ("one at a time", Links::Fifo),
        ("equal shares", Links::Shared),
        ("no contention", Links::Free),
    ];
    for (name, links) in all {
        for window in [Some(1), None] {
            let mut cells: Vec<Cell> = vec![name.into(), label(window)];
            cells.extend(row(runs, Setting { links, ..base() }, window));
            table.rows.push(cells);
        }
    }
    table
}
