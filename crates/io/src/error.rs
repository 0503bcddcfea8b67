//! Errors about files: what is wrong, at which place, in which file.

use slackline_model::nearest::nearest;
use std::fmt;
use std::path::{Path, PathBuf};

/// Message for a file that does not exist; callers compare with it to add a remedy of their own.
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
    /// The place in the file.
    pub place: Place,
    /// The error.
    pub message: String,
    /// A remedy.
    pub help: Option<String>,
    /// The cause: the input, the machine or a closed reader.
    pub fault: Fault,
}

/// The cause of an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// The file, or the name given for it.
    #[default]
    Input,
    /// The machine: the output could not be written (disk full, quota, hardware).
    Machine,
    /// Neither: the reader of the output has closed it.
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

    /// The same error with `outer` put before its path, as the enclosing part of the document sees it. An
    /// error at a line and column stays as it is.
    pub fn under(mut self, outer: impl Fn() -> String) -> FormatError {
        self.place = match self.place {
            Place::Whole => Place::Path(outer()),
            Place::Path(inner) if inner.is_empty() => Place::Path(outer()),
            Place::Path(inner) => Place::Path(format!("{}.{inner}", outer())),
            at => at,
        };
        self
    }

    /// The same error, where the text that was read is one line of a document: the column stays, or is 1.
    pub fn on_line(mut self, line: usize) -> FormatError {
        let column = match self.place {
            Place::At { column, .. } => column,
            _ => 1,
        };
        self.place = Place::At { line, column };
        self
    }

    /// The same error, with the key that was probably meant as its help where serde reports an unknown field.
    pub fn with_nearest_key(self) -> FormatError {
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
    /// The message of the system without Rust's `(os error 2)`.
    fn from(error: std::io::Error) -> FormatError {
        match error.kind() {
            std::io::ErrorKind::NotFound => FormatError::new(NO_SUCH_FILE),
            std::io::ErrorKind::PermissionDenied => FormatError::new("permission denied"),
            std::io::ErrorKind::BrokenPipe => {
                FormatError { fault: Fault::ReaderGone, ..FormatError::new(error) }
            }
            _ => FormatError::new(error),
        }
    }
}

/// Advice about a document that stops before its end.
pub const CUT: &str = "the file ends in the middle: was it cut, or still being written?";

/// The result of readers and writers.
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
}
