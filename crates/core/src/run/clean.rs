//! Removing what a run folder need not keep.

use super::run_session::RunSession;
use crate::context::Context;
use crate::failure::Failure;
use schemars::JsonSchema;
use serde::Serialize;
use slackline_engine::Record;
use slackline_machines::folder::{self, Note, RunFolder};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Parts of a run folder that are removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Folders of failed attempts.
    pub failed: bool,
    /// Remains of interrupted attempts, files that were brought, and those of tasks that the workflow has no more.
    pub temporary: bool,
    /// The whole folder, with its results.
    pub all: bool,
}

/// The report of a removal: the JSON document `slackline/clean/1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CleanReport {
    /// `slackline/clean/1`.
    pub schema: &'static str,
    /// The folder of the run.
    pub folder: String,
    /// Number of files that were removed.
    pub files: usize,
    /// Their bytes; those that remain under another name count, too.
    pub bytes: u64,
}

/// Files that were removed.
#[derive(Default)]
struct Removed {
    files: usize,
    bytes: u64,
}

impl Removed {
    /// Removes a file or link, or a folder with all in it; no link is followed.
    fn remove(&mut self, path: &Path) -> Result<(), Failure> {
        let failed = |e: std::io::Error| Failure::work(format!("{}: {e}", path.display()));
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        if !found.is_dir() {
            self.files += 1;
            self.bytes += found.len();
            return fs::remove_file(path).map_err(failed);
        }
        for entry in entries(path) {
            self.remove(&entry)?;
        }
        fs::remove_dir(path).map_err(failed)
    }

    /// Removes all in a folder.
    fn empty(&mut self, folder: &Path) -> Result<(), Failure> {
        entries(folder).into_iter().try_for_each(|entry| self.remove(&entry))
    }

    /// Removes the files of a store that are not to be kept.
    fn sweep(
        &mut self,
        store: &Path,
        inner: &Path,
        kept: &BTreeSet<PathBuf>,
    ) -> Result<(), Failure> {
        for path in entries(&store.join(inner)) {
            let name = inner.join(path.file_name().unwrap_or_default());
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
            if is_folder {
                self.sweep(store, &name, kept)?;
                let _ = fs::remove_dir(&path); // it may have files that are kept
            } else if !kept.contains(&name) {
                self.remove(&path)?;
            }
        }
        Ok(())
    }
}

/// The paths in a folder, in order; none where there is no such folder, or it is a link.
fn entries(folder: &Path) -> Vec<PathBuf> {
    if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths
}

/// Removes parts of the folder of a run without an engine process.
pub fn clean(path: &Path, parts: Parts, context: &mut Context<'_>) -> Result<CleanReport, Failure> {
    let held = RunFolder::open(path)?;
    let recovered = folder::read(held.root()).map_err(Failure::input)?;
    let mut removed = Removed::default();
    let root = held.root().to_path_buf();
    if parts.failed {
        for task in entries(&root.join("tasks")) {
            for attempt in entries(&task) {
                removed.remove(&attempt.join("work"))?;
            }
        }
    }
    if parts.temporary {
        let is_over =
            |(_, record): &(f64, Record)| matches!(record, Record::Note(Note::Over { .. }));
        let over = recovered.records.iter().any(is_over);
        let session = RunSession::open(&root, recovered.header, context)?;
        let whole = &session.whole;
        let made = whole.files().filter(|file| whole.producer(*file).is_some());
        let kept: BTreeSet<PathBuf> =
            made.map(|file| PathBuf::from(whole.file_name(file))).collect();
        for host in entries(&root.join("hosts")) {
            removed.empty(&host.join("work"))?;
            removed.empty(&host.join("made"))?;
            removed.empty(&host.join("given"))?;
            // A run to be resumed may need copies of the user's files, and has names of its own in loops.
            if over && !session.is_undecided() {
                removed.sweep(&host.join("files"), Path::new(""), &kept)?;
            }
        }
    }
    if parts.all {
        // The log goes last: what is left of a folder that could not be removed is still one of a run.
        let log = held.log();
        for entry in entries(&root) {
            if entry != log {
                removed.remove(&entry)?;
            }
        }
        removed.remove(&log)?;
        drop(held);
        let _ = fs::remove_dir(&root); // a new lock may have been made
    }
    Ok(CleanReport {
        schema: "slackline/clean/1",
        folder: path.display().to_string(),
        files: removed.files,
        bytes: removed.bytes,
    })
}
