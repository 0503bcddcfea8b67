//! Loads every file named on the command line and prints a summary of its content and the time that took; with
//! `--via FORMAT` also writes it in that format, reads it again and compares.
//!
//! ```text
//! cargo run --release -p slackline-formats --example load_all -- --via dax files/*.json
//! ```
#![allow(clippy::print_stdout)]

#[path = "../tests/it/common/facts.rs"]
mod facts;

use facts::facts;
use slackline_formats::FileAccess;
use slackline_formats::{Document, Format, parse_workflow};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let mut via: Option<Format> = None;
    let mut failures = 0;
    let mut arguments = std::env::args().skip(1);
    println!("{:>8} {:>8} {:>8} {:>9}  file", "tasks", "files", "edges", "ms");
    while let Some(argument) = arguments.next() {
        if argument == "--via" {
            via = arguments.next().and_then(|name| name.parse().ok());
            continue;
        }
        if let Err(message) = load(Path::new(&argument), via) {
            println!("{message}");
            failures += 1;
        }
    }
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn load(path: &Path, via: Option<Format>) -> Result<(), String> {
    let start = Instant::now();
    let text = FileAccess::default().read_text(path).map_err(|e| e.to_string())?;
    let document =
        parse_workflow(&text, Some(path), None).map_err(|e| e.in_file(path).to_string())?;
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    let w = &document.workflow;
    let (tasks, files, edges) = (w.len(), w.file_count(), w.edge_count());
    println!("{tasks:>8} {files:>8} {edges:>8} {milliseconds:>9.2}  {}", path.display());
    for warning in &document.warnings {
        println!("    {warning}");
    }
    let Some(format) = via else { return Ok(()) };
    let same = Format::detect(Some(path), &text).map_err(|e| e.to_string())?;
    let there = through(&document, format)?;
    // Formats that can only be read end the journey there.
    let back = if same.can_write() { through(&there, same)? } else { there };
    if facts(&document) == facts(&back) {
        return Ok(());
    }
    Err(format!("{}: differs after {format} and back", path.display()))
}

fn through(document: &Document, format: Format) -> Result<Document, String> {
    let mut bytes = Vec::new();
    format.write(document, &mut bytes).map_err(|e| e.to_string())?;
    let text = String::from_utf8(bytes).map_err(|e| e.to_string())?;
    format.read(&text).map_err(|e| format!("{format}: {e}"))
}
