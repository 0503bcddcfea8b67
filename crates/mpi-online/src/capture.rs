//! Traces of real MPI runs, recorded by a library that is loaded before the program's MPI.

use crate::elf::{self, Mpi};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library that records; compiled with the compiler of the program's MPI, whose handles it has to know.
const SOURCE: &str = include_str!("capture.c");

/// Shortest burst of computing that is recorded, seconds.
const LEAST: &str = "1e-6";

/// Reason why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The command, its folder or its MPI cannot be used.
    #[error("{message}")]
    Input {
        /// The reason.
        message: String,
        /// A hint.
        help: Option<String>,
    },
    /// The run failed, or left no whole trace.
    #[error("{message}")]
    Run {
        /// The reason.
        message: String,
        /// A hint.
        help: Option<String>,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] std::io::Error),
}

impl CaptureError {
    fn input(message: impl Into<String>) -> CaptureError {
        CaptureError::Input { message: message.into(), help: None }
    }

    fn work(message: impl Into<String>) -> CaptureError {
        CaptureError::Run { message: message.into(), help: None }
    }

    fn with_help(mut self, text: impl Into<String>) -> CaptureError {
        if let CaptureError::Input { help, .. } | CaptureError::Run { help, .. } = &mut self {
            *help = Some(text.into());
        }
        self
    }
}

/// A run to be recorded.
#[derive(Clone, Debug)]
pub struct Capture<'a> {
    /// The command that starts the ranks; not empty.
    pub command: &'a [OsString],
    /// Folder for the traces, new or empty.
    pub folder: &'a Path,
    /// MPI of the program; found in its file where none is named.
    pub mpi: Option<Mpi>,
    /// Compiler of that MPI.
    pub cc: Option<&'a Path>,
    /// Source of computing times, as the library calls it: `time` or `instructions`.
    pub count: &'a str,
    /// Flop/s of a core.
    pub speed: f64,
}

/// Size of a recorded run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Actions of all ranks.
    pub actions: usize,
    /// Number of ranks.
    pub ranks: usize,
}

impl Capture<'_> {
    /// Runs the command and records it.
    pub fn run(&self) -> Result<Captured, CaptureError> {
        let (speed, count) = (self.speed, self.count);
        let mpi = match self.mpi {
            Some(mpi) => mpi,
            None => self.mpi_of_command()?,
        };
        let folder = self.folder()?;
        let work = tempfile::tempdir()?;
        let library = self.compile(mpi, work.path())?;
        let status = Command::new(&self.command[0])
            .args(&self.command[1..])
            .env("LD_PRELOAD", preload(&library))
            .env("SLACKLINE_CAPTURE", &folder)
            .env("SLACKLINE_CAPTURE_SPEED", speed.to_string())
            .env("SLACKLINE_CAPTURE_LEAST", LEAST)
            .env("SLACKLINE_CAPTURE_COUNT", count)
            .status()
            .map_err(|e| {
                CaptureError::input(format!("{}: {e}", self.command[0].to_string_lossy()))
            })?;
        let traces = traces(&folder)?;
        if !status.success() {
            let how = match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit code {code}"),
                (_, Some(signal)) => format!("signal {signal}"),
                _ => status.to_string(),
            };
            let message = format!("the run failed ({how}); its traces are not whole");
            return Err(CaptureError::work(message));
        }
        if traces.is_empty() {
            let message = format!(
                "no rank has written a trace: nothing called {} with the library loaded",
                mpi.name()
            );
            return Err(CaptureError::work(message)
                .with_help("ranks on other machines need LD_PRELOAD and SLACKLINE_CAPTURE passed on by mpiexec, and a folder that all share"));
        }
        if let Some(broken) = traces.iter().find(|trace| !trace.is_whole) {
            let message =
                format!("{}: the rank has not called MPI_Finalize", broken.path.display());
            return Err(CaptureError::work(message));
        }
        let actions: usize = traces.iter().map(|trace| trace.actions).sum();
        Ok(Captured { actions, ranks: traces.len() })
    }

    /// The MPI of the first program of the command that is linked with one.
    fn mpi_of_command(&self) -> Result<Mpi, CaptureError> {
        let found = self.command.iter().skip(1).find_map(|word| {
            let path = in_path(word)?;
            elf::mpi_of(&path).ok().flatten()
        });
        let own = || elf::mpi_of(&in_path(&self.command[0])?).ok().flatten();
        found.or_else(own).ok_or_else(|| {
            CaptureError::input("no program of the command is linked with MPICH or Open MPI").with_help(
                "--mpi mpich or --mpi open-mpi says which it is, where a script starts the program",
            )
        })
    }

    /// The folder, new or empty, under a name that holds in other folders.
    fn folder(&self) -> Result<PathBuf, CaptureError> {
        let fail =
            |e: std::io::Error| CaptureError::input(format!("{}: {e}", self.folder.display()));
        std::fs::create_dir_all(self.folder).map_err(fail)?;
        if std::fs::read_dir(self.folder).map_err(fail)?.next().is_some() {
            let message = format!("{}: is not empty", self.folder.display());
            return Err(
                CaptureError::input(message).with_help("traces are written into a new folder")
            );
        }
        self.folder.canonicalize().map_err(fail)
    }

    /// The library for an MPI.
    fn compile(&self, mpi: Mpi, work: &Path) -> Result<PathBuf, CaptureError> {
        let (source, library) = (work.join("capture.c"), work.join("libslackline-capture.so"));
        std::fs::write(&source, SOURCE)?;
        let named = match mpi {
            Mpi::Mpich => "mpicc.mpich",
            Mpi::OpenMpi => "mpicc.openmpi",
        };
        let compilers = match self.cc {
            Some(own) => vec![own.to_path_buf()],
            None => vec![PathBuf::from(named), PathBuf::from("mpicc")],
        };
        let mut said = String::new();
        for compiler in compilers {
            let done = Command::new(&compiler)
                .args(["-O2", "-w", "-shared", "-fPIC", "-o"])
                .arg(&library)
                .arg(&source)
                .output();
            match done {
                Ok(done) if done.status.success() => {}
                Ok(done) => {
                    let text = String::from_utf8_lossy(&done.stderr);
                    let line = text.lines().find(|line| line.contains("error")).unwrap_or_default();
                    said = format!("{}: {line}", compiler.display());
                    continue;
                }
                Err(error) => {
                    said = format!("{}: {error}", compiler.display());
                    continue;
                }
            }
            match elf::mpi_of(&library)? {
                Some(found) if found == mpi => return Ok(library),
                found => {
                    let found = found.map_or("no MPI that is known", Mpi::name);
                    said = format!("{} is that of {found}", compiler.display());
                }
            }
        }
        Err(CaptureError::input(format!(
            "the recording library for {} cannot be compiled: {said}",
            mpi.name()
        ))
        .with_help(format!(
            "install the development package of {}, or name its compiler with --cc",
            mpi.name()
        )))
    }
}

/// The library before those that are loaded first already.
fn preload(library: &Path) -> OsString {
    let mut list = library.as_os_str().to_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

/// The file of a word of a command: a path, or a program of PATH.
fn in_path(word: &OsString) -> Option<PathBuf> {
    let path = PathBuf::from(word);
    if path.is_file() {
        return Some(path);
    }
    let named = !word.to_string_lossy().contains('/');
    let folders = std::env::var_os("PATH").filter(|_| named)?;
    std::env::split_paths(&folders).map(|folder| folder.join(&path)).find(|path| path.is_file())
}

/// The trace of a rank.
struct Trace {
    path: PathBuf,
    actions: usize,
    /// It ends as it should.
    is_whole: bool,
}

fn traces(folder: &Path) -> Result<Vec<Trace>, CaptureError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let (mut actions, mut is_whole) = (0, false);
        for line in BufReader::new(File::open(&path)?).lines() {
            let line = line?;
            if !line.starts_with('#') {
                actions += 1;
                is_whole = line.ends_with(" finalize");
            }
        }
        found.push(Trace { path, actions, is_whole });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}
