//! A run on changed platforms.

use crate::Printer;
use crate::compare::text::number;
use crate::plan::text::{bounds, interval_remark};
use crate::table::Table;
use slackline_core::Failure;
use slackline_core::what_if::{WhatIfChange, WhatIfReport, WhatIfRun};
use slackline_model::units::fmt_seconds;

/// Prints a table of changes, and which of them helps most.
pub fn show(report: &WhatIfReport, output: &mut dyn Printer) -> Result<(), Failure> {
    let title = format!("{} on {}, {}", report.workflow, report.platform, report.policy);
    output.say(&format!("{}\n\n", output.bold(&title)))?;
    let is_priced = report.base.cost.is_some();
    let several = report.base.mean_turnaround.is_some();
    let mut headings = vec!["<", ">makespan"];
    let interval = report.base.interval;
    if interval.is_some() {
        headings.push(">interval");
    }
    headings.push(">change");
    if several {
        headings.push(">turnaround");
    }
    headings.extend([">cores", ">used", ">utilisation"]);
    if is_priced {
        headings.extend([">cost", ">more", ">saved per money"]);
    }
    let mut table = Table::new(&headings).sparing(&["used", "turnaround"]);
    let mut row = |name: &str, run: &WhatIfRun, change: Option<&WhatIfChange>| {
        let time = |seconds: Option<f64>| seconds.map_or("-".to_string(), fmt_seconds);
        let mut cells = vec![name.to_string(), time(run.makespan)];
        if interval.is_some() {
            cells.push(run.interval.as_ref().map_or(String::new(), bounds));
        }
        cells.push(match change.and_then(|c| c.ratio) {
            Some(ratio) => percent(ratio),
            None => String::new(),
        });
        if several {
            cells.push(time(run.mean_turnaround));
        }
        cells.extend([
            run.cores.to_string(),
            run.used_processors.to_string(),
            format!("{:.0} %", run.utilisation * 100.0),
        ]);
        if is_priced {
            let money = |money: Option<f64>| money.map_or(String::new(), number);
            cells.push(money(run.cost));
            cells.push(money(change.and_then(|c| c.extra_cost)));
            let gain = change.and_then(|c| c.saved_per_money);
            cells.push(gain.map_or(String::new(), fmt_seconds));
        }
        table.row(cells);
    };
    row("as it is", &report.base, None);
    for change in &report.changes {
        row(&change.change, &change.run, Some(change));
    }
    output.say(&table.render(output.style().width))?;
    for change in report.changes.iter().filter(|c| !c.run.finished) {
        let why = change.run.why.as_deref().unwrap_or_default();
        output.say(&format!("\n  {} cannot finish: {why}\n", change.change))?;
    }
    if let Some(interval) = &interval {
        output.say(&format!("\n  Interval: {}.\n", interval_remark(interval)))?;
    }
    output.say(&answer(report))
}

/// A change of a makespan in per cent.
fn percent(ratio: f64) -> String {
    let share = (ratio - 1.0) * 100.0;
    if share.abs() < 5e-7 { "none".to_string() } else { format!("{share:+.1} %") }
}

/// The answer in a sentence or two.
fn answer(report: &WhatIfReport) -> String {
    let ratio = |change: &&WhatIfChange| change.ratio.unwrap_or(f64::INFINITY);
    let Some(was) = report.base.makespan else { return String::new() };
    let best = report.changes.iter().filter(|c| c.ratio.is_some());
    // Of equal ones the first.
    let best = best.min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let Some(best) = best else { return String::new() };
    if ratio(&best) >= 1.0 - 1e-9 {
        return "\n  None of these changes makes the run shorter.\n".to_string();
    }
    let is = best.run.makespan.unwrap_or(was);
    let mut text = format!(
        "\n  {} helps most: {} instead of {}.\n",
        best.change,
        fmt_seconds(is),
        fmt_seconds(was)
    );
    let value = |change: &&WhatIfChange| change.saved_per_money;
    let worth = report.changes.iter().filter(|c| value(c).is_some());
    let worth =
        worth.max_by(|a, b| value(a).partial_cmp(&value(b)).unwrap_or(std::cmp::Ordering::Equal));
    if let Some(change) = worth.filter(|change| change.change != best.change) {
        text += &format!("  {} saves most per unit of money.\n", change.change);
    }
    let longer: Vec<&str> = report
        .changes
        .iter()
        .filter(|c| c.ratio.is_some_and(|ratio| ratio > 1.0 + 1e-9))
        .map(|c| c.change.as_str())
        .collect();
    if !longer.is_empty() {
        text += &format!(
            "  Longer with {}: plans are heuristic, and another plan is followed there.\n",
            longer.join("; ")
        );
    }
    text
}
