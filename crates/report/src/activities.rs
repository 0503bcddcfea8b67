//! Simulated graphs of placed activities.

use crate::Printer;
use crate::table::{Table, cut};
use slackline_core::activities::ActivitiesReport;
use slackline_model::units::fmt_seconds;

/// A table of activities, and the makespan.
pub fn table(report: &ActivitiesReport, output: &dyn Printer) -> String {
    let mut text = String::new();
    if let Some(name) = &report.name {
        text += &format!("{}\n\n", output.bold(name));
    }
    let mut table = Table::new(&["<activity", ">start", ">finish", "<state"]);
    let date = |date: Option<f64>| date.map_or(String::from("-"), |d| format!("{d:.6}"));
    for row in &report.activities {
        let state = row.state.to_lowercase().replace('_', " ");
        table.row([cut(&row.id, 32), date(row.start), date(row.finish), state]);
    }
    text += &table.render(output.style().width);
    text += &format!(
        "\nmakespan {} ({:.6} s), simulated in {}\n",
        fmt_seconds(report.makespan),
        report.makespan,
        fmt_seconds(report.wall_seconds)
    );
    text
}
