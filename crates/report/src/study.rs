//! Studies: claims, checks and verdicts.

use crate::Printer;
use crate::table::{Table, wrap};
use serde::Serialize;
use slackline_core::{Failure, schema};
use slackline_lab::cell::Recipe;
use slackline_lab::papers;
use slackline_lab::papers::{Claim, Paper, Report, Verdict};
use std::fmt::Write;
use std::path::Path;

/// Prints claims and verdicts; the tables of numbers too if wanted. `written` names the file of the whole report.
pub fn tell(
    with_tables: bool,
    written: Option<&Path>,
    report: &Report,
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    let width = output.style().width;
    let mut text = wrap(report.title, 0, width) + &wrap(report.source, 0, width);
    let _ = writeln!(
        text,
        "seed {}, size {}, {} graphs per setting\n",
        report.seed, report.size, report.graphs
    );
    for claim in report.claims() {
        text += &shown(claim, output);
    }
    text += &wrap(&report.summary(), 0, width);
    let timed = report.timed.iter().flat_map(|f| &f.tables);
    let tables: Vec<_> = report.findings.tables.iter().chain(timed).collect();
    if with_tables {
        for table in tables {
            text += "\n";
            text += &wrap(&table.title, 0, width);
            let align = |k: usize| if k == 0 { '<' } else { '>' };
            let columns = table.columns.iter().enumerate();
            let headings: Vec<String> = columns.map(|(k, c)| format!("{}{c}", align(k))).collect();
            let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
            let mut shown = Table::new(&headings);
            for row in &table.rows {
                shown.row(row.iter().map(|c| c.show()));
            }
            text += &shown.render(width);
        }
    } else if written.is_none() && !tables.is_empty() {
        let more = format!(
            "{} tables of numbers: --tables prints them, -o FILE.md writes the whole report.",
            tables.len()
        );
        text += &wrap(&more, 0, width);
    }
    if let Some(path) = written {
        let _ = writeln!(text, "Report written to {}", path.display());
    }
    output.say(&text)
}

/// A claim, its verdict and its checks.
fn shown(claim: &Claim, output: &dyn Printer) -> String {
    let width = output.style().width;
    let verdict = output.bold(claim.verdict.name());
    let mut text = wrap(&format!("{} {}", claim.id, claim.states), 0, width);
    let _ = match &claim.verdict {
        Verdict::CannotBeChecked { reason } => writeln!(text, "  {verdict}: {reason}"),
        _ => writeln!(text, "  {verdict}"),
    };
    if !claim.checks.is_empty() {
        let mut table = Table::new(&["<", ">published", ">ours", ">wanted", "<met"]);
        for check in &claim.checks {
            table.row([
                check.what.clone(),
                check.published.clone().unwrap_or_default(),
                check.unit.show_estimate(&check.ours),
                check.rule.show(check.unit),
                check.outcome.name().to_string(),
            ]);
        }
        text += &table.render(width);
    }
    if let Some(remark) = &claim.remark {
        text += &wrap(remark, 2, width);
    }
    text + "\n"
}

/// Studies that can be repeated.
#[derive(Serialize)]
pub struct List {
    /// Name and version of the document.
    pub schema: &'static str,
    /// The studies.
    pub reproductions: Vec<StudyEntry>,
}

/// A study.
#[derive(Serialize)]
pub struct StudyEntry {
    /// Name by which it is repeated.
    pub name: &'static str,
    /// Title of the publication.
    pub title: &'static str,
    /// Authors and place.
    pub source: &'static str,
    /// Subject.
    pub about: &'static str,
}

/// A study that was repeated.
#[derive(Serialize)]
pub struct ReproductionDocument<'a> {
    /// Name and version of the document.
    pub schema: &'static str,
    /// Claims, verdicts and tables.
    #[serde(flatten)]
    pub report: &'a Report,
}

/// The cells of a study.
#[derive(Serialize)]
pub struct Cells<'a> {
    /// Name and version of the document.
    pub schema: &'static str,
    /// Name of the study.
    pub study: &'static str,
    /// The cells.
    pub cells: Vec<Listed<'a>>,
    /// Runs that are not listed, in words.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub unlisted: &'static str,
}

/// A cell by its number.
#[derive(Serialize)]
pub struct Listed<'a> {
    /// Number, from 1.
    pub number: usize,
    /// Name.
    pub name: &'a str,
}

/// A cell that was written out.
#[derive(Serialize)]
pub struct Emitted<'a> {
    /// Name and version of the document.
    pub schema: &'static str,
    /// Name of the study.
    pub study: &'static str,
    /// Number of the cell.
    pub number: usize,
    /// Name of the cell.
    pub name: &'a str,
    /// Folder it was written into.
    pub folder: String,
    /// Names of the files.
    pub files: &'a [String],
    /// Words of the command that repeats it.
    pub command: &'a [String],
    /// None where it cannot finish.
    pub makespan: Option<f64>,
}

impl List {
    /// All studies that can be repeated.
    pub fn of_all() -> List {
        let entry = |p: &Paper| StudyEntry {
            name: p.name,
            title: p.title,
            source: p.source,
            about: p.about,
        };
        let reproductions = papers::ALL.iter().map(entry).collect();
        List { schema: schema::names::REPRODUCTIONS, reproductions }
    }
}

/// All studies that can be repeated, in words.
pub fn list(output: &dyn Printer) -> String {
    let mut text = String::new();
    for paper in papers::ALL {
        let _ = writeln!(text, "{}", output.bold(paper.name));
        for line in [paper.title, paper.source, paper.about] {
            text += &wrap(line, 2, output.style().width);
        }
    }
    text
}

impl<'a> Cells<'a> {
    /// The cells of a study, with their numbers.
    pub fn of(paper: &Paper, cells: &'a [Recipe]) -> Cells<'a> {
        let numbered = (1..).zip(cells);
        let cells = numbered.map(|(number, cell)| Listed { number, name: &cell.name });
        Cells {
            schema: schema::names::CELLS,
            study: paper.name,
            cells: cells.collect(),
            unlisted: paper.unlisted,
        }
    }
}

/// The cells of a study, a line each.
pub fn cells_in_words(cells: &[Recipe]) -> String {
    let width = cells.len().to_string().len();
    let mut text = String::new();
    for (number, cell) in (1..).zip(cells) {
        let _ = writeln!(text, "{number:>width$}  {}", cell.name);
    }
    text
}
