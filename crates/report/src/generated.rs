//! Generated workflows beside those they were learnt from.

use crate::Printer;
use crate::table::Table;
use slackline_core::Failure;
use slackline_generate::workflow::like::Likeness;

/// Reports the likeness of the generated workflow to the one it was learnt from.
pub fn report(likeness: &Likeness, name: &str, output: &mut dyn Printer) -> Result<(), Failure> {
    let heading = output.bold(&format!("Compared with {name}"));
    output.text(&format!("\n{heading}\n"))?;
    let mut table = Table::new(&["<", ">original", ">generated"]);
    let mut row = |what: &str, a: String, b: String| table.row([what.to_string(), a, b]);
    row("tasks", likeness.tasks.0.to_string(), likeness.tasks.1.to_string());
    row("levels", likeness.levels.0.to_string(), likeness.levels.1.to_string());
    let per_task = likeness.edges_per_task;
    row("edges per task", format!("{:.3}", per_task.0), format!("{:.3}", per_task.1));
    for (share, (a, b)) in ["10 %", "50 %", "90 %"].into_iter().zip(likeness.run_times) {
        row(&format!("run time at {share}, s"), format!("{a:.4}"), format!("{b:.4}"));
    }
    output.text(&table.render(output.style().width))?;
    output.text(&format!(
        "  widths differ by {:.1} % of the tasks, run times by {:.1} % (largest gap of the two distributions)\n\n",
        100.0 * likeness.width_distance,
        100.0 * likeness.run_time_distance
    ))?;
    let mut table = Table::new(&["<kind", ">share", ">", ">50 %, s", ">", ">90 %, s", ">"]);
    for kind in &likeness.kinds {
        let percent = |x: f64| format!("{:.1} %", 100.0 * x);
        let [_, (a, b), (c, d)] = kind.run_times;
        let mut cells = vec![kind.kind.clone(), percent(kind.share.0), percent(kind.share.1)];
        cells.extend([a, b, c, d].map(|x| format!("{x:.3}")));
        table.row(cells);
    }
    output.text(&table.render(output.style().width))
}
