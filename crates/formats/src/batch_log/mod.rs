//! Logs of batch systems: jobs with their submissions, users, requests and run times.
//!
//! Two formats: the Standard Workload Format of the Parallel Workloads Archive ([`swf`]) and the
//! accounting of Slurm as `sacct --parsable2` prints it ([`sacct`]). Either may be compressed with gzip.
//! [`accounting`] reads everything that the accounting has of each job, in text or JSON.

pub mod accounting;
pub mod listing;
pub mod sacct;
pub mod swf;

use crate::error::{FormatError, Result};
use slackline_io::FileAccess;
use std::collections::HashMap;
use std::path::Path;

/// A job of a log. Dates and durations in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoggedJob {
    /// Number in the log.
    pub number: u64,
    /// Submission date.
    pub submit: f64,
    /// Start in the log, where it is known.
    pub start: Option<f64>,
    /// Requested cores, at least 1.
    pub cores: u64,
    /// Requested time; the run time where the log has none.
    pub limit: f64,
    /// Run time in the log.
    pub run: f64,
    /// Index into [`BatchLog::users`].
    pub user: u32,
    /// Index into [`BatchLog::groups`].
    pub group: u32,
    /// Index into [`BatchLog::queues`].
    pub queue: u32,
}

/// A line that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedLine {
    /// Its number, from 1.
    pub line: usize,
    /// Description of the error.
    pub cause: String,
}

/// Notation of the dates in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateStyle {
    /// Seconds since the beginning of the log.
    #[default]
    Seconds,
    /// `2024-03-31T12:00:00`, without a time zone; held as seconds since 1970.
    Calendar,
}

/// The jobs of a log, ordered by submission date, then number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchLog {
    /// Jobs that ran.
    pub jobs: Vec<LoggedJob>,
    /// Numbers of the jobs that were cancelled before they began, ascending.
    pub cancelled: Vec<u64>,
    /// Numbers of the jobs without an end, ascending.
    pub not_ended: Vec<u64>,
    /// Wrong lines, where those are skipped.
    pub skipped: Vec<SkippedLine>,
    /// Lines whose submission date is below one seen before.
    pub out_of_order: usize,
    /// Cores of the machine, where the log has them.
    pub machine_cores: Option<u64>,
    /// Notation of dates.
    pub dates: DateStyle,
    /// Names of users.
    pub users: Vec<String>,
    /// Names of groups (accounts).
    pub groups: Vec<String>,
    /// Names of queues (partitions).
    pub queues: Vec<String>,
}

impl BatchLog {
    /// Sorts what was collected in the order of the lines.
    fn finish(mut self) -> BatchLog {
        self.jobs.sort_by(|a, b| a.submit.total_cmp(&b.submit).then(a.number.cmp(&b.number)));
        self.cancelled.sort_unstable();
        self.not_ended.sort_unstable();
        self
    }

    /// A date in the style of the log.
    pub fn date_text(&self, date: f64) -> String {
        match self.dates {
            DateStyle::Seconds => format!("{date}"),
            DateStyle::Calendar => sacct::calendar(date),
        }
    }
}

/// Names with numbers in the order of their first appearance.
#[derive(Debug, Default)]
struct Interner {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    last: u32,
}

impl Interner {
    fn number(&mut self, name: &str) -> u32 {
        // Neighbouring lines often belong to one user.
        if self.names.get(self.last as usize).is_some_and(|last| last == name) {
            return self.last;
        }
        self.last = match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                let number = self.names.len() as u32;
                self.names.push(name.to_string());
                self.numbers.insert(name.to_string(), number);
                number
            }
        };
        self.last
    }
}

/// Users, groups and queues of a log under construction.
#[derive(Debug, Default)]
struct Interners {
    users: Interner,
    groups: Interner,
    queues: Interner,
}

/// Treatment of malformed lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The first one is an error.
    Refuse,
    /// Wrong lines are skipped, counted and listed.
    Skip,
}

impl Wrong {
    /// Reports a wrong line: `cause` in the list of skipped ones, with `detail` in the error.
    fn handle(
        self,
        log: &mut BatchLog,
        line: usize,
        cause: &str,
        detail: impl FnOnce() -> String,
    ) -> Result<()> {
        match self {
            Wrong::Refuse => {
                let detail = detail();
                let separator = if detail.is_empty() { "" } else { ": " };
                Err(FormatError::new(format!("{cause}{separator}{detail}"))
                    .on_line(line)
                    .with_help("--lenient skips wrong lines, and lists them"))
            }
            Wrong::Skip => {
                log.skipped.push(SkippedLine { line, cause: cause.to_string() });
                Ok(())
            }
        }
    }
}

/// Reads a log, recognising its format: a header with column names is that of `sacct`.
pub fn read(files: &FileAccess, path: &Path, wrong: Wrong) -> Result<BatchLog> {
    let text = files.read_text(path)?;
    parse(&text, wrong).map_err(|error| error.in_file(path))
}

/// Reads a log from its text; see [`read`].
pub fn parse(text: &str, wrong: Wrong) -> Result<BatchLog> {
    if sacct::is_header(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()) {
        sacct::parse(text, wrong)
    } else {
        swf::parse(text, wrong)
    }
}

#[cfg(test)]
mod tests;
