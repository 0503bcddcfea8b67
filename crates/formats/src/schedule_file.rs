//! The front door for schedules: the extension of a file says its format.

use crate::error::{FormatError, Result};
use crate::{jedule, schedule_csv, schedule_json, source};
use slackline_model::{Problem, Schedule};
use std::path::Path;

/// A file format for schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScheduleFormat {
    /// Our own JSON.
    Json,
    /// A table, one line per task and processor.
    Csv,
    /// Jedule XML.
    Jedule,
}

impl ScheduleFormat {
    /// The format to write a file in.
    pub fn for_output(path: &Path) -> Result<ScheduleFormat> {
        let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("json") => Ok(ScheduleFormat::Json),
            Some("csv") => Ok(ScheduleFormat::Csv),
            Some("jed") => Ok(ScheduleFormat::Jedule),
            _ if source::is_standard(path) => Ok(ScheduleFormat::Json),
            _ => Err(FormatError::new(
                "the extension of the file does not say which format to write",
            )
            .with_help("schedules are written as .json, .csv or .jed (Jedule)")
            .in_file(path)),
        }
    }
}

/// Whether a text is a schedule of ours.
pub fn is_schedule(text: &str) -> bool {
    let start = text.trim_start();
    start.starts_with('{')
        && text.contains("\"schedule\"")
        && text.contains("\"makespan\"")
        && !crate::Format::ALL.iter().any(|f| f.recognises(text))
}

/// Reads a schedule file of that problem.
pub fn read_schedule(path: &Path, problem: &Problem<'_>) -> Result<Schedule> {
    let text = source::read_text(path)?;
    schedule_json::read(&text, problem).map_err(|e| e.in_file(path))
}

/// Writes a schedule file whole or not at all.
pub fn write_schedule(path: &Path, problem: &Problem<'_>, schedule: &Schedule) -> Result<()> {
    let format = ScheduleFormat::for_output(path)?;
    source::write_whole(path, |out| match format {
        ScheduleFormat::Json => schedule_json::write(problem, schedule, out),
        ScheduleFormat::Csv => Ok(schedule_csv::write(problem, schedule, out)?),
        ScheduleFormat::Jedule => jedule::write(problem, schedule, out),
    })
}
