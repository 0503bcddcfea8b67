//! The front door for schedules: the extension of a file determines its format.

use crate::error::{FormatError, Result};
use crate::{jedule, schedule_csv, schedule_json, trace};
use slackline_io::{FileAccess, is_standard};
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
            _ if is_standard(path) => Ok(ScheduleFormat::Json),
            _ => Err(FormatError::new(
                "the extension of the file does not say which format to write",
            )
            .with_help("schedules are written as .json, .csv or .jed (Jedule)")
            .in_file(path)),
        }
    }
}

/// Whether a text is something of ours that holds a schedule: the file of a plan, the document of
/// plans or of simulated runs, a table, or the trace of a run.
pub fn is_schedule(text: &str) -> bool {
    let start = text.trim_start();
    let json = start.starts_with('{')
        && text.contains("\"schedule\"")
        && text.contains("\"makespan\"")
        && !crate::Format::all().any(|f| f.recognises(text));
    json || schedule_csv::recognise(text) || trace::recognise(text)
}

/// Reads a schedule file of that problem.
pub fn read_schedule(files: &FileAccess, path: &Path, problem: &Problem<'_>) -> Result<Schedule> {
    if let Some(schedule) = files.value::<Schedule>(path) {
        return Ok(Schedule::clone(&schedule));
    }
    let text = files.read_text(path)?;
    let read = if schedule_csv::recognise(&text) {
        schedule_csv::read(&text, problem)
    } else if trace::recognise(&text) {
        let trace = trace::read(&text, problem.workflow(), problem.platform());
        trace.map(|trace| trace.schedule(problem.tasks()))
    } else if let Some(form) = trace::one_way(&text) {
        Err(FormatError::new(format!("{form} holds less than the run did, for viewers only"))
            .with_help("`simulate --trace RUN.jsonl` writes one that can be read again"))
    } else {
        schedule_json::read(&text, problem)
    };
    read.map_err(|e| e.in_file(path))
}

/// Writes a schedule file whole or not at all.
pub fn write_schedule(
    files: &FileAccess,
    path: &Path,
    problem: &Problem<'_>,
    schedule: &Schedule,
) -> Result<()> {
    let format = ScheduleFormat::for_output(path)?;
    files.write(path, |out| match format {
        ScheduleFormat::Json => schedule_json::write(problem, schedule, out),
        ScheduleFormat::Csv => Ok(schedule_csv::write(problem, schedule, out)?),
        ScheduleFormat::Jedule => jedule::write(problem, schedule, out),
    })
}
