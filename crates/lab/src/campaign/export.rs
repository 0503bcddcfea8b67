//! The results of a campaign as tables.

use super::case::METRICS;
use super::store::{Store, StoreError};
use crate::compare::Level;
use slackline_formats::csv::{Csv, quoted};
use std::collections::HashMap;
use std::io::{self, Write};

impl Store {
    /// The results as a table: factors, kind, repetition, method, status, reason, measures. Sorted by
    /// factors, repetition and method, so that the bytes do not depend on the order of the runs.
    pub fn table(&self) -> Result<Csv, StoreError> {
        let fixed = ["kind", "repetition", "method", "status", "why"];
        let columns: Vec<&str> =
            self.columns().iter().map(String::as_str).chain(fixed).chain(METRICS).collect();
        self.read(&columns)
    }

    /// The results with one measure only.
    pub fn table_of(&self, metric: &str) -> Result<Csv, StoreError> {
        let fixed = ["kind", "repetition", "method", "status"];
        let columns: Vec<&str> =
            self.columns().iter().map(String::as_str).chain(fixed).chain([metric]).collect();
        self.read(&columns)
    }

    fn read(&self, columns: &[&str]) -> Result<Csv, StoreError> {
        let head = columns.iter().map(|c| c.to_string()).collect();
        let fault = |error: slackline_formats::FormatError| StoreError::Machine {
            file: self.file().to_path_buf(),
            message: error.to_string(),
        };
        let mut csv = Csv::with_head(head).map_err(fault)?;
        let mut line = 1;
        let mut wrong = None;
        self.each_row(columns, |cells| {
            line += 1;
            if let Err(error) = csv.push(line, cells) {
                wrong = Some(error);
            }
        })?;
        wrong.map_or(Ok(csv), |error| Err(fault(error)))
    }
}

/// The order of rows by factors, kind, repetition and method.
fn order(csv: &Csv) -> Vec<usize> {
    let end = csv.head.iter().position(|name| name == "method").unwrap_or(0);
    let ranks: Vec<Vec<u32>> = csv.columns[..=end]
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let texts = column.texts.iter().map(String::as_str);
            let levels = if at == end {
                texts.map(|text| Level::Text(text.to_string())).collect()
            } else {
                Level::of_texts(texts)
            };
            let mut sorted: Vec<&Level> = levels.iter().collect();
            sorted.sort();
            let place: HashMap<&Level, u32> = sorted.into_iter().zip(0..).collect();
            let rank: Vec<u32> = levels.iter().map(|level| place[level]).collect();
            column.cells.iter().map(|&cell| rank[cell as usize]).collect()
        })
        .collect();
    let mut rows: Vec<usize> = (0..csv.len()).collect();
    rows.sort_by(|&a, &b| {
        let keys = ranks.iter().map(|rank| rank[a].cmp(&rank[b]));
        keys.fold(std::cmp::Ordering::Equal, |so_far, next| so_far.then(next))
    });
    rows
}

/// Writes a table of results as comma-separated values.
pub fn write_csv(csv: &Csv, out: &mut dyn Write) -> io::Result<()> {
    let head: Vec<_> = csv.head.iter().map(|name| quoted(name)).collect();
    writeln!(out, "{}", head.join(","))?;
    for row in order(csv) {
        for (at, column) in csv.columns.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(out, "{comma}{}", quoted(column.text(row)))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes finished runs as records, `method:platform:workflow:makespan:…`, fields separated by colons.
/// A measure that a run does not have is left empty.
pub fn write_records(csv: &Csv, out: &mut dyn Write) -> io::Result<()> {
    let column = |name: &str| csv.head.iter().position(|head| head == name);
    let clean = |text: &str| text.replace([':', '\n'], "_");
    let status = column("status");
    for row in order(csv) {
        if status.is_some_and(|at| csv.columns[at].text(row) != "done") {
            continue;
        }
        let cell = |name: &str| column(name).map_or("", |at| csv.columns[at].text(row));
        let mut work = vec![clean(cell("workflow"))];
        for (at, name) in csv.head.iter().enumerate().skip(1) {
            if name == "kind" {
                break;
            }
            let value = csv.columns[at].text(row);
            if !["platform", "scenario"].contains(&name.as_str()) && !value.is_empty() {
                work.push(format!("{}={}", clean(name), clean(value)));
            }
        }
        let scenario = cell("scenario");
        if !scenario.is_empty() {
            work.push(clean(scenario));
        }
        work.push(cell("repetition").to_string());
        let mut fields = vec![clean(cell("method")), clean(cell("platform")), work.join(",")];
        fields.extend(METRICS.iter().map(|metric| cell(metric).to_string()));
        writeln!(out, "{}", fields.join(":"))?;
    }
    Ok(())
}
