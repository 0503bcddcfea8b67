//! One module per file format, with a reader, a writer, or both. Only this crate contains file extensions.
//!
//! The entry point for workflows is [`read_workflow`] and [`write_workflow`]; [`Format`] lists the
//! formats behind it.
//!
//! ```
//! use slackline_formats::Format;
//!
//! let text = "[task.a]\nwork = \"2Gf\"\n\n[task.b]\nwork = \"1Gf\"\nafter = [\"a\"]\n";
//! let workflow = Format::Toml.read(text)?.workflow;
//! assert_eq!((workflow.len(), workflow.edge_count()), (2, 1));
//! # Ok::<(), slackline_formats::FormatError>(())
//! ```

pub mod activities;
pub mod batch_log;
pub mod calendar;
mod contents_db;
mod control;
pub mod csv;
pub mod daggen;
pub mod dax;
pub mod detect;
mod disk_model;
pub mod document;
pub mod dot;
pub mod error;
mod flow;
pub mod hand_over;
pub mod instance;
pub mod jedule;
mod names;
pub mod note;
pub mod pegasus_yaml;
pub mod platform;
pub mod platform_toml;
mod read_options;
mod resources;
mod scan;
pub mod scenario;
pub mod schedule_csv;
pub mod schedule_file;
pub mod schedule_json;
pub mod simgrid_xml;
pub mod stg;
pub mod sweep;
mod text;
pub mod times;
pub mod trace;
pub mod wfformat;
pub mod workflow_toml;
mod xml;

pub use detect::{AddedFormat, Codec, Format, ReadFn, WriteFn};
pub use document::{Document, Recorded};
pub use error::{CUT, Fault, FormatError, Place, Result};
pub use platform::{PlatformFormat, read_platform, write_platform};
pub use read_options::ReadOptions;
pub use schedule_file::{ScheduleFormat, read_schedule, write_schedule};
pub use slackline_io::{FileAccess, is_standard};
pub use times::Times;

use std::path::Path;

/// Reads a workflow file; its format is recognised unless `from` is given.
pub fn read_workflow(files: &FileAccess, path: &Path, from: Option<Format>) -> Result<Document> {
    read_workflow_with(files, path, from, &[])
}

/// Reads a workflow file like [`read_workflow`], with values for the parameters of the workflow. Names that it does
/// not have are ignored: the caller checks them.
pub fn read_workflow_with(
    files: &FileAccess,
    path: &Path,
    from: Option<Format>,
    parameters: &[(String, String)],
) -> Result<Document> {
    let text = files.read_text(path)?;
    let format = match from {
        Some(format) => format,
        None => Format::detect(Some(path), &text).map_err(|e| e.in_file(path))?,
    };
    let siblings = (!is_standard(path)).then(|| files.siblings(path));
    let options = ReadOptions { siblings, parameters };
    format.read_with(&text, &options).map_err(|error| match error.file {
        // The error is in another file, which the workflow names.
        Some(_) => error,
        None => error.in_file(path),
    })
}

/// Reads a workflow from a text; a path only serves to recognise the format.
pub fn parse_workflow(text: &str, path: Option<&Path>, from: Option<Format>) -> Result<Document> {
    match from {
        Some(format) => format.read(text),
        None => Format::detect(path, text)?.read(text),
    }
}

/// Writes a workflow file whole or not at all; its format follows from the extension unless `to` is given.
pub fn write_workflow(
    files: &FileAccess,
    path: &Path,
    document: &Document,
    to: Option<Format>,
) -> Result<()> {
    let format = match to {
        Some(format) => format,
        None => Format::for_output(path)?,
    };
    files.write(path, |out| format.write(document, out))
}
