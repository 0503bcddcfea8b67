//! Receiver of a report.

use serde::Serialize;
use slackline_core::{Context, Failure};
use slackline_io::FileAccess;
use std::io::Write;

/// Looks of what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns to fill.
    pub width: usize,
    /// Columns of tables whose values are never cut where a program may read them.
    pub table_width: usize,
    /// Whether there are colours.
    pub colour: bool,
    /// Whether only results that were asked for are printed.
    pub quiet: bool,
}

/// Receiver of a report: results, and remarks beside them.
pub trait Printer {
    /// Looks of what is printed.
    fn style(&self) -> Style;

    /// Files that may be read and written.
    fn files(&self) -> &FileAccess;

    /// Context for requests and for reading; explanations are left out where it is `brief`.
    fn context(&mut self, brief: bool) -> Context<'_>;

    /// Stream of documents.
    fn stream(&mut self) -> &mut dyn Write;

    /// Prints a result.
    fn text(&mut self, text: &str) -> Result<(), Failure>;

    /// Prints a remark about the work.
    fn note(&mut self, text: &str);

    /// Prints something that should be looked at.
    fn warning(&mut self, text: &str);
}

impl dyn Printer + '_ {
    /// Prints a result that is left out where little is wanted.
    pub fn say(&mut self, text: &str) -> Result<(), Failure> {
        if self.style().quiet { Ok(()) } else { self.text(text) }
    }

    /// Prints one JSON document.
    pub fn json<T: Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        let stream = self.stream();
        serde_json::to_writer_pretty(&mut *stream, value)?;
        Ok(stream.write_all(b"\n")?)
    }

    /// A headline.
    pub fn bold(&self, text: &str) -> String {
        if self.style().colour { format!("\x1b[1m{text}\x1b[0m") } else { text.to_string() }
    }
}
