//! What is wrong with a file, where, and in which file.

use slackline_model::nearest::nearest;
use std::fmt;
use std::path::{Path, PathBuf};

/// What is said of a file that is not there.
pub const NO_SUCH_FILE: &str = "no such file or folder";

/// The place of an error inside a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// The document as a whole.
    #[default]
    Whole,
    /// A line and a column, both counted from 1.
    At {
        /// Line.
        line: usize,
        /// Column, in characters.
        column: usize,
    },
    /// A path inside the document, e.g. `workflow.tasks[3].runtime`.
    Path(String),
}

impl Place {
    /// Line and column of a byte offset.
    pub fn of_offset(text: &str, offset: usize) -> Place {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Place::At {
            line: before.bytes().filter(|&b| b == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// A file that cannot be read or written, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError {
    /// The file, where there is one.
    pub file: Option<PathBuf>,
    /// Where in it.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What to try.
    pub help: Option<String>,
    /// Whose fault it is.
    pub fault: Fault,
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// The file's, or of who named it.
    #[default]
    Input,
    /// The machine's: what was to be written could not be (disk full, quota, hardware).
    Machine,
    /// Nobody's: who read what was written has gone.
    ReaderGone,
}

impl FormatError {
    /// An error about the whole document.
    pub fn new(message: impl fmt::Display) -> FormatError {
        FormatError {
            file: None,
            place: Place::Whole,
            message: message.to_string(),
            help: None,
            fault: Fault::Input,
        }
    }

    /// An error at a line and column.
    pub fn at(line: usize, column: usize, message: impl fmt::Display) -> FormatError {
        FormatError { place: Place::At { line, column }, ..FormatError::new(message) }
    }

    /// An error at a byte offset of the text.
    pub fn at_offset(text: &str, offset: usize, message: impl fmt::Display) -> FormatError {
        FormatError { place: Place::of_offset(text, offset), ..FormatError::new(message) }
    }

    /// An error at a path inside the document.
    pub fn in_path(path: impl Into<String>, message: impl fmt::Display) -> FormatError {
        FormatError { place: Place::Path(path.into()), ..FormatError::new(message) }
    }

    /// The same error in a named file.
    pub fn in_file(mut self, file: &Path) -> FormatError {
        self.file = Some(file.to_path_buf());
        self
    }

    /// The same error with its path seen from further up in the document.
    pub(crate) fn under(mut self, outer: impl Fn() -> String) -> FormatError {
        self.place = match self.place {
            Place::Whole => Place::Path(outer()),
            Place::Path(inner) if inner.is_empty() => Place::Path(outer()),
            Place::Path(inner) => Place::Path(format!("{}.{inner}", outer())),
            at => at,
        };
        self
    }

    /// The same error, where the text that was read is one line of a document.
    pub(crate) fn on_line(mut self, line: usize) -> FormatError {
        let column = match self.place {
            Place::At { column, .. } => column,
            _ => 1,
        };
        self.place = Place::At { line, column };
        self
    }

    /// The same error; a key that nobody knows comes with the nearest one that the reader names.
    pub(crate) fn with_nearest_key(self) -> FormatError {
        let Some((_, rest)) = self.message.split_once("unknown field `") else { return self };
        let words: Vec<&str> = rest.split('`').collect();
        // The words between back ticks: the unknown key, then those expected.
        let known = words.iter().skip(2).step_by(2).copied();
        match nearest(words[0], known) {
            Some(key) => {
                let help = format!("did you mean '{key}'?");
                self.with_help(help)
            }
            None => self,
        }
    }

    /// The same error with advice.
    pub fn with_help(mut self, help: impl Into<String>) -> FormatError {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}", file.display())?;
        }
        match &self.place {
            Place::Whole if self.file.is_some() => write!(f, ": ")?,
            Place::Whole => {}
            Place::At { line, column } if self.file.is_some() => write!(f, ":{line}:{column}: ")?,
            Place::At { line, column } => write!(f, "line {line}, column {column}: ")?,
            Place::Path(path) if self.file.is_some() => write!(f, ": at {path}: ")?,
            Place::Path(path) => write!(f, "at {path}: ")?,
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for FormatError {}

impl From<slackline_model::WorkflowError> for FormatError {
    fn from(error: slackline_model::WorkflowError) -> FormatError {
        FormatError::new(error)
    }
}

impl From<std::io::Error> for FormatError {
    /// The system's words without Rust's decoration.
    fn from(error: std::io::Error) -> FormatError {
        match error.kind() {
            std::io::ErrorKind::NotFound => FormatError::new(NO_SUCH_FILE),
            std::io::ErrorKind::PermissionDenied => FormatError::new("permission denied"),
            _ => FormatError::new(error),
        }
    }
}

/// Advice for who reads a document that stops before its end.
pub const CUT: &str = "the file ends in the middle: was it cut, or still being written?";

/// The error of the JSON reader as ours: its place apart from its text.
pub(crate) fn json_error(error: serde_json::Error) -> FormatError {
    // No character was there to be read.
    if error.is_eof() && error.column() == 0 && error.line() <= 1 {
        return FormatError::new("the file is empty");
    }
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(text, _)| text);
    let message = &in_plain_words(message);
    let ours = match error.line() {
        0 => FormatError::new(message),
        line => FormatError::at(line, error.column().max(1), message),
    };
    if error.is_eof() { ours.with_help(CUT) } else { ours.with_nearest_key() }
}

/// What readers expect, without the names of Rust's types.
fn in_plain_words(message: &str) -> String {
    const WORDS: [(&str, &str); 13] = [
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected usize", "expected a whole number, 0 or more"),
        ("expected i32", "expected a whole number"),
        ("expected i64", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("expected a boolean", "expected true or false"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected a table of names and values"),
        ("invalid type: map", "invalid type: table"),
        ("invalid type: sequence", "invalid type: list"),
    ];
    let mut plain = message.to_string();
    for (theirs, ours) in WORDS {
        // Only whole words: `expected u8` is no part of another type's name.
        if let Some(at) = plain.find(theirs) {
            let next = plain[at + theirs.len()..].chars().next();
            if !next.is_some_and(char::is_alphanumeric) {
                plain.replace_range(at..at + theirs.len(), ours);
            }
        }
    }
    plain
}

/// The error of the TOML reader as ours.
pub(crate) fn toml_error(text: &str, error: &toml::de::Error) -> FormatError {
    let message = in_plain_words(error.message());
    let Some(span) = error.span() else { return FormatError::new(message).with_nearest_key() };
    let is_unnamed = message == "invalid type: list, expected a table of names and values";
    let error = FormatError::at_offset(text, span.start, message);
    let table = text.get(span.start..).and_then(|rest| rest.strip_prefix("[["));
    match table.and_then(|rest| rest.split_once("]]")) {
        Some((name, _)) if is_unnamed => error.with_help(format!("write [{name}.NAME] for each")),
        _ => error.with_nearest_key(),
    }
}

/// What every reader and writer of this crate gives.
pub type Result<T> = std::result::Result<T, FormatError>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_file_place_and_cause() {
        let text = "a\nbé x";
        let error = FormatError::at_offset(text, 6, "no such task").in_file(Path::new("w.dot"));
        assert_eq!(error.to_string(), "w.dot:2:4: no such task");
        let error = FormatError::in_path("tasks[3].work", "negative").in_file(Path::new("w.toml"));
        assert_eq!(error.to_string(), "w.toml: at tasks[3].work: negative");
        let message = "unknown field `prize`, expected one of `id`, `speed`, `price`";
        let error = FormatError::new(message).with_nearest_key();
        assert_eq!(error.help.as_deref(), Some("did you mean 'price'?"));
    }

    #[test]
    fn tables_with_names_are_no_list() {
        #[derive(serde::Deserialize)]
        struct File {
            #[allow(dead_code)] // read for its form alone
            task: std::collections::BTreeMap<String, u32>,
        }
        let text = "\n[[task]]\na = 1\n";
        let error = toml_error(text, &toml::from_str::<File>(text).err().unwrap());
        let said = "invalid type: list, expected a table of names and values";
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(error.help.as_deref(), Some("write [task.NAME] for each"));
    }
}
