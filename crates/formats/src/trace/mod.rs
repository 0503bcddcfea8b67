//! Traces of runs: our JSON Lines, read and written; Chrome's trace events (Perfetto and chrome://tracing open
//! them) and Pajé (ViTE, pj_dump), which hold less and are only written. All are written record by record, so
//! that no trace has to be kept in memory for them.

mod chrome;
mod json_lines;
mod kinds;
mod paje;
mod read;

pub use kinds::{one_way, recognise};
pub use read::read;

use crate::error::{FormatError, Result};
use chrome::Chrome;
use json_lines::JsonLines;
use paje::Paje;
use slackline_model::trace::{Record, Work};
use slackline_model::{FileId, HostId, Platform, Procs, TaskId, Trace, Workflow};
use std::io::Write;
use std::path::Path;

/// The forms a trace can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// One JSON object a line (`.jsonl`).
    JsonLines,
    /// Chrome's trace events (`.json`).
    Chrome,
    /// Pajé (`.paje`, `.trace`).
    Paje,
}

impl TraceFormat {
    /// The form that corresponds to a file's extension; JSON Lines if it has none.
    pub fn of_path(path: &Path) -> Result<TraceFormat> {
        let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("json") => Ok(TraceFormat::Chrome),
            Some("paje" | "trace") => Ok(TraceFormat::Paje),
            Some("jsonl") | None => Ok(TraceFormat::JsonLines),
            Some(_) => Err(FormatError::new("the extension does not say which trace to write")
                .with_help("traces are written as .jsonl (ours), .json (Chrome) or .paje")
                .in_file(path)),
        }
    }
}

/// Writes a trace as it grows, whatever becomes of the trace.
pub struct TraceWriter<'a, W> {
    run: Subject<'a>,
    form: Box<dyn Form>,
    out: W,
    /// Error that ended writing.
    failed: Option<std::io::Error>,
}

impl<'a, W: Write> TraceWriter<'a, W> {
    /// Begins the trace of a run of this workflow on this platform.
    pub fn new(
        format: TraceFormat,
        workflow: &'a Workflow,
        platform: &'a Platform,
        out: W,
    ) -> TraceWriter<'a, W> {
        let form: Box<dyn Form> = match format {
            TraceFormat::JsonLines => Box::new(JsonLines),
            TraceFormat::Chrome => Box::<Chrome>::default(),
            TraceFormat::Paje => Box::<Paje>::default(),
        };
        let of_host = |h: HostId| (0..platform.host(h).cores).map(move |core| (h, core));
        let cores = platform.host_ids().flat_map(of_host).collect();
        let run = Subject { workflow, platform, cores, attempts: None };
        let mut writer = TraceWriter { run, form, out, failed: None };
        writer.failed = writer.form.begin(&writer.run, &mut writer.out).err();
        writer
    }

    /// Tells of real attempts at tasks: by task and number from 1, and whether it ended with its result.
    pub fn with_attempts(mut self, attempts: &'a AttemptsOf<'a>) -> TraceWriter<'a, W> {
        self.run.attempts = Some(attempts);
        self
    }

    /// Something happened; dates never go backwards.
    pub fn note(&mut self, record: &Record) {
        if self.failed.is_none() {
            self.failed = self.form.note(&self.run, record, &mut self.out).err();
        }
    }

    /// Nothing more happens. Gives back what was written to, and whether all of it could be.
    pub fn finish(mut self) -> (W, std::io::Result<()>) {
        let done = match self.failed {
            None => self.form.end(&self.run, &mut self.out),
            Some(error) => Err(error),
        };
        (self.out, done)
    }
}

/// Writes a trace that was kept.
pub fn write(
    trace: &Trace,
    format: TraceFormat,
    workflow: &Workflow,
    platform: &Platform,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let mut writer = TraceWriter::new(format, workflow, platform, out);
    trace.records().iter().for_each(|record| writer.note(record));
    writer.finish().1
}

/// Writes the trace of a real run, with information on its attempts.
pub fn write_with_attempts<'a>(
    trace: &Trace,
    format: TraceFormat,
    (workflow, platform): (&'a Workflow, &'a Platform),
    attempts: &'a AttemptsOf<'a>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let mut writer = TraceWriter::new(format, workflow, platform, out).with_attempts(attempts);
    trace.records().iter().for_each(|record| writer.note(record));
    writer.finish().1
}

/// Information on a real attempt at a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// Exit code of its process, where it ended by itself.
    pub exit_code: Option<i32>,
    /// Path of its standard error, in the folder of the run.
    pub stderr: Option<String>,
}

/// Attempts by task and number from 1, and whether they ended with a result.
pub type AttemptsOf<'a> = dyn Fn(TaskId, u32, bool) -> Attempt + 'a;

/// Workflow, platform and attempts that a trace refers to.
struct Subject<'a> {
    workflow: &'a Workflow,
    platform: &'a Platform,
    /// Host and core of every processor.
    cores: Vec<(HostId, u32)>,
    /// Real attempts, where there were any.
    attempts: Option<&'a AttemptsOf<'a>>,
}

/// One form of traces. Records that have to be written later are kept until then, in few bytes.
trait Form {
    fn begin(&mut self, run: &Subject<'_>, out: &mut dyn Write) -> std::io::Result<()>;

    fn note(
        &mut self,
        run: &Subject<'_>,
        record: &Record,
        out: &mut dyn Write,
    ) -> std::io::Result<()>;

    fn end(&mut self, run: &Subject<'_>, out: &mut dyn Write) -> std::io::Result<()>;
}

/// Something under way.
struct Begun {
    start: f64,
    work: Doing,
}

/// Execution or transfer.
enum Doing {
    Task { task: TaskId, procs: Procs },
    Transfer { file: FileId, from: HostId, to: HostId },
}

impl Begun {
    fn at(start: f64, work: Work<'_>) -> Begun {
        let work = match work {
            Work::Task { task, procs } => Doing::Task { task, procs: procs.into() },
            Work::Transfer { file, from, to, .. } => Doing::Transfer { file, from, to },
        };
        Begun { start, work }
    }
}

/// A transfer that came to an end.
struct Moved {
    start: f64,
    finish: f64,
    file: FileId,
    from: HostId,
    to: HostId,
    lost: bool,
}

#[cfg(test)]
mod tests;
