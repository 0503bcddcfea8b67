//! Traces of runs, written: our JSON Lines, Chrome's trace events (Perfetto and chrome://tracing
//! open them) and Pajé (ViTE, pj_dump).

mod chrome;
mod json_lines;
mod paje;

use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, Platform, ProcId, TaskId, Trace, Workflow};
use std::collections::HashMap;
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
    /// The form that a file name asks for; JSON Lines where it says nothing else.
    pub fn of_path(path: &Path) -> TraceFormat {
        match path.extension().and_then(|e| e.to_str()) {
            Some("json") => TraceFormat::Chrome,
            Some("paje" | "trace") => TraceFormat::Paje,
            _ => TraceFormat::JsonLines,
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

/// Something that took time, put together from its beginning and its end.
#[derive(Clone, Debug)]
enum Interval {
    Task { task: TaskId, procs: Vec<ProcId>, start: f64, finish: f64, lost: bool },
    Transfer { file: FileId, from: HostId, to: HostId, start: f64, finish: f64, lost: bool },
}

/// Pairs beginnings and ends, in order of the ends; what never ended ends with the trace.
fn intervals(trace: &Trace) -> Vec<Interval> {
    let mut tasks: HashMap<TaskId, (Vec<ProcId>, f64)> = HashMap::new();
    let mut files: HashMap<(FileId, HostId, HostId), f64> = HashMap::new();
    let mut found = Vec::new();
    let mut end_task = |tasks: &mut HashMap<TaskId, (Vec<ProcId>, f64)>, task, finish, lost| {
        if let Some((procs, start)) = tasks.remove(&task) {
            found.push(Interval::Task { task, procs, start, finish, lost });
        }
    };
    let mut moved = Vec::new();
    for record in trace.records() {
        let at = record.at;
        match &record.what {
            Happening::TaskStarted { task, procs } => {
                tasks.insert(*task, (procs.clone(), at));
            }
            Happening::TaskFinished { task } => end_task(&mut tasks, *task, at, false),
            Happening::TaskFailed { task, .. } | Happening::TaskCancelled { task } => {
                end_task(&mut tasks, *task, at, true);
            }
            Happening::TransferStarted { file, from, to, .. } => {
                files.insert((*file, *from, *to), at);
            }
            Happening::TransferFinished { file, from, to }
            | Happening::TransferFailed { file, from, to, .. } => {
                let lost = matches!(record.what, Happening::TransferFailed { .. });
                let (file, from, to) = (*file, *from, *to);
                if let Some(start) = files.remove(&(file, from, to)) {
                    moved.push(Interval::Transfer { file, from, to, start, finish: at, lost });
                }
            }
            _ => {}
        }
    }
    found.extend(moved);
    found
}

#[cfg(test)]
mod tests;
