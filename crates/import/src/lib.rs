//! Records that other workflow engines leave behind, as they are: read, repaired where they
//! contradict themselves, and joined into one [`RecordedRun`].
//!
//! [`read`] recognises the engine by content, follows a folder into the places where the engine
//! keeps its records, and joins all artefacts of one run. [`RecordedRun::document`],
//! [`RecordedRun::platform`] and [`RecordedRun::trace`] hand the result to the rest of Slackline;
//! [`RecordedRun::summary`] counts measured, derived, assumed and missing values.
//!
//! **A value is never invented silently: it carries its origin, and every repair is counted by name.**

mod dates;
mod engines;
mod export;
mod record;
mod repair;
mod sources;
mod speeds;
mod summary;
mod waits;

pub use engines::Engine;
pub use record::{
    Attempt, Figure, FileRecord, HostRecord, Origin, Outcome, RecordedRun, TaskRecord, Transfer,
};
pub use speeds::{KindTimes, SpeedRatio};
pub use summary::{Counts, Summary};
pub use waits::StartUp;

use slackline_io::{FileAccess, FormatError, Result};
use std::path::PathBuf;

/// Options of [`read`].
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The engine, where recognition is not wanted.
    pub from: Option<Engine>,
    /// A file with sizes of files that are gone: bytes, white space and path on each line.
    pub sizes: Option<PathBuf>,
    /// Refuses records that need a repair.
    pub strict: bool,
}

/// Reads the records of one run; several paths are joined.
pub fn read(paths: &[PathBuf], options: &Options, files: &FileAccess) -> Result<RecordedRun> {
    // Errors about all records together name the path under which they were searched.
    joined(paths, options, files).map_err(|error| {
        let unplaced = error.file.is_none();
        match paths.first().filter(|_| unplaced) {
            Some(path) => error.in_file(path),
            None => error,
        }
    })
}

fn joined(paths: &[PathBuf], options: &Options, files: &FileAccess) -> Result<RecordedRun> {
    let found = sources::find(paths, options.from, files)?;
    let engine = found.engine;
    let mut run = engines::read(engine, &found, files)?;
    for other in &found.others {
        run.notes.push(format!("there are records of {other}, too: --from {other} takes these"));
    }
    if let Some(path) = &options.sizes {
        sources::apply_sizes(&mut run, path, files)?;
    }
    repair::repair(&mut run)?;
    if options.strict && !run.repairs.is_empty() {
        let told: Vec<String> =
            run.repairs.iter().map(|(name, n)| format!("{name} ({n})")).collect();
        return Err(FormatError::new(format!("the records need repairs: {}", told.join(", ")))
            .with_help("without --strict they are repaired, and import.json counts them"));
    }
    Ok(run)
}

/// Returns the engine whose records a path holds, if [`read`] can read them; they are not read whole.
pub fn recognise(path: &std::path::Path, files: &FileAccess) -> Option<Engine> {
    sources::find(std::slice::from_ref(&path.to_path_buf()), None, files)
        .ok()
        .map(|found| found.engine)
}
