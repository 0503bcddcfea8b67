//! Tables as comma-separated values (RFC 4180), or with another separator: a head line, then rows.
//!
//! Cells are kept column by column, every distinct text once, so that a million rows of a few
//! factors stay small.

use slackline_io::{FormatError, Result};
use std::collections::HashMap;

/// A table of text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Csv {
    /// Names of the columns.
    pub head: Vec<String>,
    /// The cells of each column.
    pub columns: Vec<CsvColumn>,
    /// The line on which each row begins.
    pub lines: Vec<usize>,
}

/// One column: a number per row, and the texts that the numbers refer to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CsvColumn {
    /// Distinct texts in order of appearance.
    pub texts: Vec<String>,
    /// The text of each row, as an index.
    pub cells: Vec<u32>,
    known: HashMap<String, u32>,
}

impl CsvColumn {
    /// Adds a cell.
    pub fn push(&mut self, text: &str) {
        // Rows that follow each other share most of their factors.
        if let Some(&last) = self.cells.last()
            && self.texts[last as usize] == text
        {
            self.cells.push(last);
            return;
        }
        let number = match self.known.get(text) {
            Some(&number) => number,
            None => {
                let number = self.texts.len() as u32;
                self.texts.push(text.to_string());
                self.known.insert(text.to_string(), number);
                number
            }
        };
        self.cells.push(number);
    }

    /// The text of a row.
    pub fn text(&self, row: usize) -> &str {
        &self.texts[self.cells[row] as usize]
    }
}

impl Csv {
    /// An empty table with these columns; a name that comes twice is refused.
    pub fn with_head(head: Vec<String>) -> Result<Csv> {
        for (i, name) in head.iter().enumerate() {
            if head[..i].contains(name) {
                return Err(FormatError::at(1, i + 1, format!("column {name} is there twice")));
            }
        }
        let columns = vec![CsvColumn::default(); head.len()];
        Ok(Csv { head, columns, lines: Vec::new() })
    }

    /// Parses a text, with or without byte order mark, lines ended by LF or CRLF. Empty lines are
    /// skipped.
    pub fn parse(text: &str) -> Result<Csv> {
        Csv::parse_separated(text, ',')
    }

    /// The same with another character between cells, such as a tab.
    pub fn parse_separated(text: &str, separator: char) -> Result<Csv> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut records = Records { text, separator, at: 0, line: 1 };
        let mut cells = Vec::new();
        let head = match records.next(&mut cells)? {
            Some(_) => cells.iter().map(|cell| cell.trim().to_string()).collect(),
            None => return Err(FormatError::new("is empty; expected a head line and rows")),
        };
        let mut csv = Csv::with_head(head)?;
        while let Some(line) = records.next(&mut cells)? {
            csv.push(line, &cells)?;
        }
        Ok(csv)
    }

    /// Adds a row.
    pub fn push<S: AsRef<str>>(&mut self, line: usize, cells: &[S]) -> Result<()> {
        let (has, expected) = (cells.len(), self.head.len());
        if has != expected {
            let cells = if has == 1 { "cell" } else { "cells" };
            let message = format!("the row has {has} {cells}, the head {expected}");
            return Err(FormatError::new(message).on_line(line));
        }
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell.as_ref());
        }
        self.lines.push(line);
        Ok(())
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<&CsvColumn> {
        self.head.iter().position(|head| head == name).map(|at| &self.columns[at])
    }
}

/// A cell as it is written: in quotes where a reader would take it for something else.
pub fn quoted(cell: &str) -> std::borrow::Cow<'_, str> {
    let plain = !cell.contains([',', '"', '\n', '\r']) && cell.trim() == cell;
    if plain { cell.into() } else { format!("\"{}\"", cell.replace('"', "\"\"")).into() }
}

/// The records of a text.
struct Records<'a> {
    text: &'a str,
    separator: char,
    at: usize,
    line: usize,
}

impl Records<'_> {
    /// The cells of the next record that is not empty, and its line.
    fn next(&mut self, cells: &mut Vec<String>) -> Result<Option<usize>> {
        loop {
            if self.at >= self.text.len() {
                return Ok(None);
            }
            let line = self.line;
            cells.clear();
            let quoted = self.record(cells)?;
            if quoted || cells.len() > 1 || !cells[0].is_empty() {
                return Ok(Some(line));
            }
        }
    }

    /// Reads one record; true if a cell is in quotes.
    fn record(&mut self, cells: &mut Vec<String>) -> Result<bool> {
        let mut any_quoted = false;
        loop {
            let rest = &self.text[self.at..];
            let cell = if rest.starts_with('"') {
                any_quoted = true;
                self.in_quotes()?
            } else {
                let end = rest.find([self.separator, '\n']).unwrap_or(rest.len());
                self.at += end;
                let plain = &rest[..end];
                let ends_line = !rest[end..].starts_with(self.separator);
                plain.strip_suffix('\r').filter(|_| ends_line).unwrap_or(plain).to_string()
            };
            cells.push(cell);
            let rest = &self.text[self.at..];
            if rest.starts_with(self.separator) {
                self.at += 1;
                continue;
            }
            let ended = ["\r\n", "\n"].iter().find(|end| rest.starts_with(**end));
            match ended {
                Some(end) => {
                    self.at += end.len();
                    self.line += 1;
                }
                None if rest.is_empty() => {}
                None => {
                    let message = "something follows the closing quote of a cell";
                    return Err(FormatError::new(message).on_line(self.line));
                }
            }
            return Ok(any_quoted);
        }
    }

    fn in_quotes(&mut self) -> Result<String> {
        let (first, mut cell) = (self.line, String::new());
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let Some(end) = rest.find('"') else {
                return Err(FormatError::new("a quote is not closed").on_line(first));
            };
            self.line += rest[..end].matches('\n').count();
            cell.push_str(&rest[..end]);
            self.at += end + 1;
            if !rest[end + 1..].starts_with('"') {
                return Ok(cell);
            }
            cell.push('"');
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_line_ends_and_marks() {
        let csv = Csv::parse("\u{feff}a,b\r\n\"x, \"\"y\"\"\nz\",1\r\n\r\n,2").expect("a table");
        assert_eq!(csv.head, ["a", "b"]);
        assert_eq!(csv.columns[0].text(0), "x, \"y\"\nz");
        assert_eq!((csv.columns[0].text(1), csv.columns[1].text(1)), ("", "2"));
        assert_eq!(csv.lines, [2, 5]);
        assert_eq!(quoted("a \"b\""), "\"a \"\"b\"\"\"");
    }

    #[test]
    fn what_is_refused() {
        for (text, says) in [
            ("", "empty"),
            ("a,a\n1,2\n", "twice"),
            ("a,b\n1\n", "has 1 cell, the head 2"),
            ("a\n\"x\n", "not closed"),
            ("a\n\"x\"y\n", "follows"),
        ] {
            let error = Csv::parse(text).expect_err(text).to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
