//! A run against a plan, or against another run.

use crate::Printer;
use crate::picture::stacked;
use crate::table::{Table, count, kind_name};
use slackline_core::Failure;
use slackline_core::run::difference::Difference;
use slackline_model::units::fmt_seconds;
use slackline_view::Chart;
use slackline_view::gantt::{self, SvgOptions};

/// Prints a difference, and what explains most of it.
pub fn tell(d: &Difference, output: &mut dyn Printer) -> Result<(), Failure> {
    let headline = output.bold(&format!("{} against {}", d.after, d.before));
    output.say(&format!("{headline}\n\n"))?;
    let mut table = Table::new(&["<", ">before", ">after", ">difference"]);
    let percent = |[a, b]: [f64; 2]| {
        if a > 0.0 { format!("{:+.1} %", (b / a - 1.0) * 100.0) } else { String::new() }
    };
    for (name, values) in [("makespan", d.makespan), ("computing", d.computing)] {
        let [a, b] = values;
        table.row([name.to_string(), fmt_seconds(a), fmt_seconds(b), percent(values)]);
    }
    output.text(&table.render(output.style().width))?;
    output.say(&format!("\n  {} ran on another host\n", count(d.moved, "task")))?;
    for (what, rows) in [("kind", &d.kinds), ("host", &d.hosts)] {
        let mut table = Table::new(&[&format!("<{what}"), ">tasks", ">before", ">after", ">ratio"]);
        for row in rows.iter().take(12) {
            let (before, after) = (fmt_seconds(row.before), fmt_seconds(row.after));
            let ratio = format!("{:.3}", row.ratio);
            let name = kind_name(&row.name).to_string();
            table.row([name, row.tasks.to_string(), before, after, ratio]);
        }
        output.text(&format!("\n{}", table.render(output.style().width)))?;
    }
    if !d.explained.is_empty() {
        output.say("\n  what explains most:\n")?;
    }
    for cause in d.explained.iter().take(5) {
        let share = (1.0 - cause.left / cause.difference) * 100.0;
        output.say(&format!("  {share:5.1} %  {}\n", cause.what))?;
    }
    Ok(())
}

/// Two charts, one above the other.
pub fn svg(charts: &[Chart; 2]) -> String {
    stacked(charts.each_ref().map(|chart| gantt::svg(chart, &SvgOptions::default())))
}
