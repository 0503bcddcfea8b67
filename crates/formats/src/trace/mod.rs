//! Traces of runs: our JSON Lines, read and written; Chrome's trace events (Perfetto and
//! chrome://tracing open them) and Pajé (ViTE, pj_dump), which hold less and are only written.

mod chrome;
mod json_lines;
mod kinds;
mod paje;
mod read;

pub use kinds::{one_way, recognise};
pub use read::read;

use crate::error::{FormatError, Result};
use slackline_model::trace::{End, Span, Work};
use slackline_model::{HostId, Platform, Trace, Workflow};
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
    /// The form that a file name asks for; JSON Lines where it has no extension.
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

/// A run to write: what happened, to what, on what.
#[derive(Clone, Copy, Debug)]
pub struct TracedRun<'a> {
    /// What happened.
    pub trace: &'a Trace,
    /// The tasks and files.
    pub workflow: &'a Workflow,
    /// The hosts and links.
    pub platform: &'a Platform,
}

impl TracedRun<'_> {
    /// Writes the run in a form.
    pub fn write(&self, format: TraceFormat, out: &mut dyn Write) -> std::io::Result<()> {
        match format {
            TraceFormat::JsonLines => json_lines::write(self, out),
            TraceFormat::Chrome => chrome::write(self, out),
            TraceFormat::Paje => paje::write(self, out),
        }
    }

    /// Host and core of every processor.
    fn cores(&self) -> Vec<(HostId, u32)> {
        let of_host = |h: HostId| (0..self.platform.host(h).cores).map(move |core| (h, core));
        self.platform.host_ids().flat_map(of_host).collect()
    }
}

/// What took time and came to an end, computations first, each in order of the ends.
fn ended(trace: &Trace) -> Vec<Span<'_>> {
    let is_task = |span: &Span<'_>| matches!(span.work, Work::Task { .. });
    let mut spans = trace.spans();
    spans.retain(|span| span.end != End::Open);
    spans.sort_by_key(|span| !is_task(span)); // stable
    spans
}

#[cfg(test)]
mod tests;
