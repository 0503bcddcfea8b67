//! WfCommons WfFormat, JSON of recorded and synthetic workflows: versions 1.3 to 1.6 are read,
//! 1.6 is written.
//!
//! Up to 1.4 everything of a task is together in `workflow.tasks`, tasks refer to each other by name, and files
//! are listed inside the tasks; 1.3 has other names and units for some numbers. From 1.5 on
//! `workflow.specification` (tasks, files) and `workflow.execution` (run times, machines) are apart, tasks
//! refer to each other by id; 1.6 adds optional metrics.
//!
//! | model | up to 1.4 | from 1.5 |
//! |---|---|---|
//! | task name | `name` (with `_id` where names repeat) | `id` |
//! | kind | `category`, else `name` without its number | `name`, without its number where it is the id |
//! | seconds at the reference speed | `runtime`, `runtimeInSeconds` | `runtimeInSeconds` |
//! | width (rigid) | `cores` | `coreCount`, rounded up |
//! | memory | `memory` (kB in 1.3), `memoryInBytes` | `memoryInBytes` |
//!
//! Units of 1.3: in the schema `size`, `bytesRead` and `bytesWritten` are kB, but the programs that wrote such
//! files wrote bytes for sizes, and bytes read and written in kB only outside Pegasus. The project's own
//! migration reads them so, and so do we.
//!
//! An unknown version is an error, except a later 1.x whose structure is that of 1.5. The data of a run
//! (machines, makespan, per-task measurements) are kept in [`Recorded`](crate::Recorded) and written again;
//! properties that are in no schema are not. A writer must give `makespanInSeconds` and `executedAt` with run
//! times: where there was no run we write 0 and the year 1970, and take these two together for "no run" when
//! reading.
//!
//! Ids may only hold `0-9 a-z A-Z _ . # : / -`: other characters are written as `_`.

mod read;
mod schema;
mod write;

use crate::detect::Codec;

pub use read::read;
pub use write::write;

pub(crate) const CODEC: Codec = Codec {
    name: "wfformat",
    about: "WfCommons WfFormat 1.3 to 1.6 (JSON)",
    extensions: &["json", "wfformat.json"],
    comments: None,
    recognise: |text| {
        text.trim_start().starts_with('{')
            && (text.contains("\"schemaVersion\"") || text.contains("\"specification\""))
            && text.contains("\"workflow\"")
    },
    read: |text, _| read(text),
    write: Some(write),
};

/// The versions that are read.
const VERSIONS: [&str; 4] = ["1.3", "1.4", "1.5", "1.6"];

/// Written as the start of a run that never was.
const NO_RUN: &str = "1970-01-01T00:00:00+00:00";

#[cfg(test)]
mod tests;
