//! Calibration from real runs and recorded instances.

use crate::Printer;
use crate::table::{Table, kind_name};
use slackline_analysis::calibration::{Learnt, Spread};
use slackline_core::Failure;
use slackline_core::run::calibration::{BlockCounts, Calibration, InstancesCalibration, ends};
use slackline_model::names::printable;
use slackline_model::units::{fmt_rate, fmt_seconds};
use std::path::Path;

/// Prints what was learnt from runs, and where it was written.
pub fn learnt(
    calibration: &Calibration,
    target: &Path,
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    let (overhead, wait) = (&calibration.overhead, &calibration.queue_wait);
    tell_overheads(overhead, wait, output)?;
    for BlockCounts { block, outcomes } in &calibration.decisions {
        let told = outcomes.iter().map(|o| format!("{} {}", printable(&o.outcome), o.times));
        let told: Vec<String> = told.collect();
        output.text(&format!("{}: {}\n", printable(block), told.join(", ")))?;
    }
    tell(&calibration.learnt, target, output)
}

/// Prints overheads fitted to recorded instances.
pub fn fitted(
    calibration: &InstancesCalibration,
    target: &Path,
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    let heads = ["<instance", ">tasks", ">recorded", ">planned", ">overhead"];
    let mut table = Table::new(&heads);
    for run in &calibration.instances {
        table.row([
            run.instance.clone(),
            run.tasks.to_string(),
            fmt_seconds(run.recorded),
            fmt_seconds(run.planned),
            fmt_seconds(run.overhead),
        ]);
    }
    output.text(&table.render(output.style().width))?;
    tell_overheads(&calibration.overhead, &calibration.queue_wait, output)?;
    output.say(&format!("\nWritten: {}\n", target.join("calibration.json").display()))
}

fn tell_overheads(
    overhead: &Spread,
    wait: &Spread,
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    let (overhead, wait) = (fmt_seconds(overhead.median), fmt_seconds(wait.median));
    output.text(&format!(
        "\noverhead per task {overhead}, wait before the first {wait} (medians; --overhead and --queue-wait)\n"
    ))
}

fn tell(learnt: &Learnt, target: &Path, output: &mut dyn Printer) -> Result<(), Failure> {
    let heads =
        ["<kind", ">samples", ">median s", ">deviation", ">start-up s", ">factor", ">deviation"];
    let mut table = Table::new(&heads);
    for kind in &learnt.kinds {
        table.row([
            kind_name(&kind.kind).to_string(),
            kind.seconds.samples.to_string(),
            format!("{:.4}", kind.seconds.median),
            format!("{:.4}", kind.seconds.deviation),
            format!("{:.4}", kind.startup),
            format!("{:.3}", kind.factor.median),
            format!("{:.3}", kind.factor.deviation),
        ]);
    }
    output.text(&table.render(output.style().width))?;
    let mut table = Table::new(&["<host", ">samples", ">level", ">deviation"]);
    for host in &learnt.hosts {
        table.row([
            host.host.clone(),
            host.level.samples.to_string(),
            format!("{:.3}", host.level.median),
            format!("{:.3}", host.level.deviation),
        ]);
    }
    output.text(&format!("\n{}", table.render(output.style().width)))?;
    if !learnt.connections.is_empty() {
        let mut table =
            Table::new(&["<connection", ">samples", ">bandwidth", ">error", ">latency"]);
        for way in &learnt.connections {
            table.row([
                ends(way),
                way.bandwidth.samples.to_string(),
                fmt_rate(way.bandwidth.median),
                format!("{:.1} %", 100.0 * way.error),
                way.latency.map_or("as stated".to_string(), fmt_seconds),
            ]);
        }
        output.text(&format!("\n{}", table.render(output.style().width)))?;
    }
    output.say(&format!("\nWritten: {}\n", target.display()))
}
