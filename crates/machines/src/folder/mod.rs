//! The folder of a run: its log, copies of what it was started with, the stores of the hosts, what
//! tasks said. Two runs never share one.

mod lock;
mod log;
mod names;

pub use log::{
    Definition, Estimates, Header, LogError, Recovered, RunLog, Segment, history, keep_snapshot,
    notes, read, read_last, reused,
};
pub use names::{NameError, component, refuse_names};
pub use slackline_engine::{Failure, Note};

use crate::private;
pub use lock::DrivingProcess;
use lock::Lock;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Path of a run's log in its folder.
pub fn log_of(root: &Path) -> PathBuf {
    root.join("log.jsonl")
}

/// File of a run folder that receives what an engine without a terminal writes.
pub const DETACHED_LOG: &str = "engine.log";

/// Message about a folder without a log.
const NO_RUN: &str = "there is no run in this folder";

/// Reason why a folder cannot be used.
#[derive(Debug, Error)]
pub enum FolderError {
    /// There is something in it that is no run, or a run where a new one was to begin.
    #[error("{}: {why}", path.display())]
    Unfit {
        /// The folder.
        path: PathBuf,
        /// In words.
        why: String,
    },
    /// Another run holds it.
    #[error(
        "{}: a run is under way in this folder ({holder}); if that process is certainly gone, remove {}",
        path.display(), file.display()
    )]
    Held {
        /// The folder.
        path: PathBuf,
        /// Process and machine that hold it.
        holder: String,
        /// The file that says so.
        file: PathBuf,
    },
    /// The system says no.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> FolderError {
    let path = path.to_path_buf();
    |error| FolderError::Io { path, error }
}

/// Refuses a folder in which there is a run, or anything else but a lock.
fn refuse_used(path: &Path) -> Result<(), FolderError> {
    let unfit = |why: &str| FolderError::Unfit { path: path.into(), why: why.to_string() };
    if log_of(path).exists() {
        return Err(unfit("there is a run in this folder already"));
    }
    let others = fs::read_dir(path).map_err(at(path))?.filter_map(Result::ok);
    let ours = ["lock", "holder", DETACHED_LOG];
    if others.filter(|e| ours.iter().all(|name| e.file_name() != *name)).count() > 0 {
        return Err(unfit("this folder is not empty"));
    }
    Ok(())
}

/// A folder that belongs to this process as long as this value lives.
#[derive(Debug)]
pub struct RunFolder {
    root: PathBuf,
    _lock: Lock,
}

impl RunFolder {
    /// A new folder, or an empty one.
    pub fn create(path: &Path) -> Result<RunFolder, FolderError> {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(at(parent))?;
        }
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(at(path)(error)),
        }
        let root = path.canonicalize().map_err(at(path))?;
        private::check_owner(&root).map_err(at(path))?;
        // A folder that is refused stays as it is; others may still put something there before it is theirs
        // no more, so that it is checked again.
        refuse_used(path)?;
        if private::is_open_to_writers(&root).map_err(at(path))? {
            fs::set_permissions(&root, fs::Permissions::from_mode(0o700)).map_err(at(path))?;
        }
        let folder = RunFolder::hold(path, root)?;
        refuse_used(path)?;
        for name in ["hosts", "tasks", "results"] {
            let inner = folder.root.join(name);
            fs::create_dir(&inner).map_err(at(&inner))?;
        }
        Ok(folder)
    }

    /// The folder of a run that was begun; no part of it may lead elsewhere.
    pub fn open(path: &Path) -> Result<RunFolder, FolderError> {
        let unfit = |why: String| FolderError::Unfit { path: path.into(), why };
        if !log_of(path).is_file() {
            return Err(unfit(NO_RUN.to_string()));
        }
        let root = path.canonicalize().map_err(at(path))?;
        private::check_owner(&root).map_err(at(path))?;
        if private::is_open_to_writers(&root).map_err(at(path))? {
            let why = "other users can write to this folder, and may have altered the run; \
                       chmod go-w takes that from them";
            return Err(unfit(why.to_string()));
        }
        let folder = RunFolder::hold(path, root)?;
        for inner in [folder.root.join("hosts"), folder.root.join("tasks")] {
            refuse_links(&inner, 2)?;
        }
        Ok(folder)
    }

    fn hold(path: &Path, root: PathBuf) -> Result<RunFolder, FolderError> {
        if let Some(why) = private::replaceable_by_all(&root) {
            return Err(FolderError::Unfit { path: path.into(), why });
        }
        let lock = Lock::take(&root)?;
        Ok(RunFolder { root, _lock: lock })
    }

    /// Root of the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The log.
    pub fn log(&self) -> PathBuf {
        log_of(&self.root)
    }

    /// The folder of a host; a host without one is lost.
    pub fn host(&self, name: &str) -> PathBuf {
        self.root.join("hosts").join(component(name))
    }

    /// Folder of a host's files, under their own names.
    pub fn store(&self, host: &str) -> PathBuf {
        self.host(host).join("files")
    }

    /// Working folder of the attempts on a host.
    pub fn work(&self, host: &str) -> PathBuf {
        self.host(host).join("work")
    }

    /// Folder for outputs of attempts on a host, each under a number of its own, until one is accepted.
    pub fn made(&self, host: &str) -> PathBuf {
        self.host(host).join("made")
    }

    /// Folder of the user's files on a host, each copied there once.
    pub fn given(&self, host: &str) -> PathBuf {
        self.host(host).join("given")
    }

    /// Numbers the drives of a run: returns one that no drive has had before.
    pub fn begin_drive(&self) -> Result<u32, FolderError> {
        let path = self.root.join("drive");
        let last = match fs::read_to_string(&path) {
            Ok(text) => text.trim().parse::<u32>().map_err(|_| FolderError::Unfit {
                path: path.clone(),
                why: "is not the number of a drive".to_string(),
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Err(error) => return Err(at(&path)(error)),
        };
        let part = self.root.join("drive.part");
        let write = || {
            let mut file = File::create(&part)?;
            writeln!(file, "{}", last + 1)?;
            file.sync_all()?;
            fs::rename(&part, &path)
        };
        write().map_err(at(&path))?;
        Ok(last + 1)
    }

    /// Makes the folder of a host with all that belongs into it.
    pub fn make_host(&self, name: &str) -> Result<(), FolderError> {
        for folder in [self.store(name), self.work(name), self.made(name)] {
            fs::create_dir_all(&folder).map_err(at(&folder))?;
        }
        Ok(())
    }

    /// Path of an attempt's captured output.
    pub fn captured(&self, task: &str, attempt: u32) -> PathBuf {
        self.root.join("tasks").join(component(task)).join(attempt.to_string())
    }
}

/// Fails where something in a folder, down to a depth, is a link.
fn refuse_links(folder: &Path, depth: usize) -> Result<(), FolderError> {
    let found = fs::symlink_metadata(folder).map_err(at(folder))?;
    if found.is_symlink() {
        let why = "is a link: nothing of a run may lead elsewhere".to_string();
        return Err(FolderError::Unfit { path: folder.into(), why });
    }
    if depth > 0 && found.is_dir() {
        for entry in fs::read_dir(folder).map_err(at(folder))?.filter_map(Result::ok) {
            refuse_links(&entry.path(), depth - 1)?;
        }
    }
    Ok(())
}
