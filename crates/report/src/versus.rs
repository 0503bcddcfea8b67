//! Worst problems of one method against another.

use crate::Printer;
use crate::compare::text::number;
use crate::table::Table;
use serde::Serialize;
use slackline_core::Failure;
use slackline_formats::instance;
use slackline_lab::campaign::Method;
use slackline_lab::versus::{Drawn, Found, schedule};
use slackline_model::Problem;
use slackline_view::plot::{Cell, matrix};
use slackline_view::{Chart, gantt};
use std::sync::Arc;

/// Worst problems of two methods.
#[derive(Serialize)]
pub struct VersusDocument<'a> {
    /// Name and version of the document.
    pub schema: &'static str,
    /// One method.
    pub a: &'a str,
    /// The other method.
    pub b: &'a str,
    /// Problems tried.
    pub iterations: u64,
    /// Seed of the search.
    pub seed: u64,
    /// The worst of a against b.
    pub worst: &'a Found,
    /// The worst of b against a.
    pub reverse: &'a Found,
    /// Ratios on drawn problems.
    pub drawn: &'a Drawn,
}

/// Worst ratios of all methods.
#[derive(Serialize)]
pub struct TableDocument {
    /// Name and version of the document.
    pub schema: &'static str,
    /// Methods, of rows and columns.
    pub methods: Vec<String>,
    /// Problems tried per cell.
    pub iterations: u64,
    /// Seed of the search.
    pub seed: u64,
    /// The worst ratio of the row to the column, at least.
    pub ratios: Vec<Vec<Option<f64>>>,
}

/// Both charts, one above the other on the same scale.
pub fn charts(a: &Method, b: &Method, found: &Found) -> Result<String, Failure> {
    let read = instance::read(&found.instance).map_err(Failure::from)?;
    let (workflow, platform) = (Arc::new(read.workflow), Arc::new(read.platform));
    let problem = Problem::new(&workflow, &platform).map_err(Failure::from)?;
    let end = found.a.max(found.b);
    let chart = |method: &Method| {
        let schedule = schedule(method, &workflow, &platform).map_err(Failure::work)?;
        let mut chart = Chart::of_schedule(&problem, &schedule);
        chart.title.clone_from(&method.text);
        chart.span.end = chart.span.end.max(end);
        Ok::<String, Failure>(gantt::svg(&chart, &gantt::SvgOptions::default()))
    };
    Ok(crate::picture::stacked([chart(a)?, chart(b)?]))
}

/// Prints the worst problems of two methods, and drawn ones beside them.
pub fn pair(
    (a, b): (&str, &str),
    (found, reverse, drawn): (&Found, &Found, &Drawn),
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    output.say(&format!(
        "{}\n\n",
        output.bold(&format!("{a} can be at least {:.2} times as long as {b}", found.ratio))
    ))?;
    let mut table = Table::new(&["<", &format!(">{a}"), &format!(">{b}"), ">ratio"]);
    table.row([
        "worst found".into(),
        number(found.a),
        number(found.b),
        format!("{:.3}", found.ratio),
    ]);
    let ratio = format!("{:.3}", 1.0 / reverse.ratio);
    table.row([format!("worst of {b}"), number(reverse.b), number(reverse.a), ratio]);
    output.say(&table.render(output.style().width))?;
    output.say(&format!(
        "\n  On {} drawn problems of the same bounds: {:.3} to {:.3}, median {:.3}, geometric mean {:.3}.\n",
        drawn.n, drawn.least, drawn.most, drawn.median, drawn.geometric
    ))
}

/// Draws worst ratios: rows over columns.
pub fn heat(names: &[String], ratios: &[Vec<Option<f64>>], iterations: u64) -> String {
    let cell = |ratio: &Option<f64>| {
        ratio.map(|r| Cell { shade: -(r.ln() / 1.5), text: format!("≥ {r:.2}") })
    };
    let cells: Vec<Vec<Option<Cell>>> =
        ratios.iter().map(|row| row.iter().map(cell).collect()).collect();
    let note = format!("at least: rows over columns, {} problems tried per cell", iterations);
    matrix("Worst ratios found", &note, names, names, &cells)
}

/// Prints the worst ratio of each method, and that of its best rival.
pub fn table(
    names: &[String],
    ratios: &[Vec<Option<f64>>],
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    let mut table = Table::new(&["<method", ">worst", "<against", ">best rival's worst"]);
    for (r, name) in names.iter().enumerate() {
        let row = ratios[r].iter().enumerate().filter_map(|(c, ratio)| Some((c, (*ratio)?)));
        let Some((against, most)) = row.max_by(|x, y| x.1.total_cmp(&y.1)) else { continue };
        let column = ratios.iter().filter_map(|row| row[r]);
        let rivals = column.fold(0.0, f64::max);
        table.row([
            name.clone(),
            format!("≥ {most:.2}"),
            names[against].clone(),
            format!("≥ {rivals:.2}"),
        ]);
    }
    output.say(&table.render(output.style().width))
}
