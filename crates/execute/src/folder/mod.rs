//! The folder of a run: its log, copies of what it was started with, the stores of the hosts, what
//! tasks said. Two runs never share one.

mod log;
mod names;

pub use log::{Failure, Header, LogError, Note, Recovered, RunLog, notes, read};
pub use names::{component, refuse_names};

use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Where the log of a run lies in its folder.
pub fn log_of(root: &Path) -> PathBuf {
    root.join("log.jsonl")
}

/// What is said of a folder without a log.
const NO_RUN: &str = "there is no run in this folder";

/// Why a folder cannot be used.
#[derive(Debug, Error)]
pub enum FolderError {
    /// There is something in it that is no run, or a run where a new one was to begin.
    #[error("{}: {why}", path.display())]
    Unfit {
        /// Which.
        path: PathBuf,
        /// In words.
        why: String,
    },
    /// Another run holds it.
    #[error("{}: a run is under way in this folder (process {holder})", path.display())]
    Held {
        /// Which.
        path: PathBuf,
        /// By whom.
        holder: String,
    },
    /// The system says no.
    #[error("{}: {error}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> FolderError {
    let path = path.to_path_buf();
    |error| FolderError::Io { path, error }
}

/// A folder that belongs to this process as long as this value lives.
#[derive(Debug)]
pub struct RunFolder {
    root: PathBuf,
    /// Locked; the system lets go of it when the process ends, however that may be.
    _lock: File,
}

impl RunFolder {
    /// A new folder, or an empty one.
    pub fn create(path: &Path) -> Result<RunFolder, FolderError> {
        fs::create_dir_all(path).map_err(at(path))?;
        let folder = RunFolder::hold(path)?;
        let unfit = |why: &str| FolderError::Unfit { path: path.into(), why: why.to_string() };
        if folder.log().exists() {
            return Err(unfit("there is a run in this folder already"));
        }
        let others = fs::read_dir(path).map_err(at(path))?.filter_map(Result::ok);
        if others.filter(|e| e.file_name() != "lock").count() > 0 {
            return Err(unfit("this folder is not empty"));
        }
        for name in ["hosts", "tasks"] {
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
        let folder = RunFolder::hold(path)?;
        for inner in [folder.root.join("hosts"), folder.root.join("tasks")] {
            refuse_links(&inner, 2)?;
        }
        Ok(folder)
    }

    fn hold(path: &Path) -> Result<RunFolder, FolderError> {
        let root = path.canonicalize().map_err(at(path))?;
        let name = root.join("lock");
        let options =
            || File::options().read(true).write(true).create(true).truncate(false).open(&name);
        let mut lock = options().map_err(at(&name))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = lock.read_to_string(&mut holder); // it may be about to say so
                let holder = holder.trim().to_string();
                return Err(FolderError::Held { path: path.into(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(at(&name)(error)),
        }
        lock.set_len(0)
            .and_then(|()| writeln!(lock, "{}", std::process::id()))
            .map_err(at(&name))?;
        Ok(RunFolder { root, _lock: lock })
    }

    /// Where it is.
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

    /// Where the files of a host lie, under their own names.
    pub fn store(&self, host: &str) -> PathBuf {
        self.host(host).join("files")
    }

    /// Where the attempts on a host work.
    pub fn work(&self, host: &str) -> PathBuf {
        self.host(host).join("work")
    }

    /// Makes the folder of a host with all that belongs into it.
    pub fn make_host(&self, name: &str) -> Result<(), String> {
        for folder in [self.store(name), self.work(name)] {
            fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        Ok(())
    }

    /// What an attempt at a task said.
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
