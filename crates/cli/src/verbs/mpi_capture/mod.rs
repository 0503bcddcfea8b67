//! `slackline mpi-capture`: a trace of a real MPI run.

use crate::failure::Failure;
use crate::output::Output;
use clap::{Args, ValueEnum};
use slackline_mpi_online::elf::{self, Mpi};
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

/// Record a trace of a real MPI run, for `slackline replay`
#[derive(Args)]
#[command(after_help = "\
The program runs as it is, under MPICH or Open MPI: a library is loaded before its MPI, which is compiled with \
that MPI's mpicc. What ranks compute between two calls is their CPU time, at --speed flop/s, or the instructions that \
they execute. Receives from anybody are recorded with their real sources, looks that see nothing are left out. \
One-sided communication stops the run: a trace cannot say it.

Example:
  slackline mpi-capture -o trace -- mpiexec -n 4 ./solver input.dat
  slackline replay trace --platform cluster.xml")]
pub(crate) struct MpiCapture {
    /// The folder for the traces of the ranks, new or empty
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// The MPI of the program; found in its file if left out (not where a script starts it)
    #[arg(long, value_enum)]
    mpi: Option<MpiLibrary>,
    /// The compiler of that MPI [default: mpicc.mpich or mpicc.openmpi, else mpicc]
    #[arg(long, value_name = "MPICC")]
    cc: Option<PathBuf>,
    /// Source of computing times
    #[arg(long, value_enum, default_value = "time")]
    count: Count,
    /// Flop/s of a core, for --count time: `slackline calibrate mpi` measures it
    #[arg(long, value_name = "SPEED", default_value = "1Gf")]
    speed: String,
    /// The command that starts the ranks
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum MpiLibrary {
    Mpich,
    OpenMpi,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Count {
    /// CPU time
    Time,
    /// Instructions in user mode, where the system lets them be counted
    Instructions,
}

impl MpiCapture {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let speed = match slackline_model::units::parse_speed(&self.speed) {
            Ok(speed) if speed > 0.0 => speed,
            _ => {
                return Err(Failure::input(format!("--speed: `{}` is no speed", self.speed))
                    .with_help("write a number of flop/s, e.g. 2e9 or 2Gf"));
            }
        };
        let mpi = match self.mpi {
            Some(MpiLibrary::Mpich) => Mpi::Mpich,
            Some(MpiLibrary::OpenMpi) => Mpi::OpenMpi,
            None => self.mpi_of_command()?,
        };
        let folder = self.folder()?;
        let work = tempfile::tempdir()?;
        let library = self.compile(mpi, work.path())?;
        let count = match self.count {
            Count::Time => "time",
            Count::Instructions => "instructions",
        };
        let status = Command::new(&self.command[0])
            .args(&self.command[1..])
            .env("LD_PRELOAD", preload(&library))
            .env("SLACKLINE_CAPTURE", &folder)
            .env("SLACKLINE_CAPTURE_SPEED", speed.to_string())
            .env("SLACKLINE_CAPTURE_LEAST", LEAST)
            .env("SLACKLINE_CAPTURE_COUNT", count)
            .status()
            .map_err(|e| Failure::input(format!("{}: {e}", self.command[0].to_string_lossy())))?;
        let traces = traces(&folder)?;
        if !status.success() {
            let how = match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit code {code}"),
                (_, Some(signal)) => format!("signal {signal}"),
                _ => status.to_string(),
            };
            let message = format!("the run failed ({how}); its traces are not whole");
            return Err(Failure::work(message));
        }
        if traces.is_empty() {
            let message = format!(
                "no rank has written a trace: nothing called {} with the library loaded",
                mpi.name()
            );
            return Err(Failure::work(message)
                .with_help("ranks on other machines need LD_PRELOAD and SLACKLINE_CAPTURE passed on by mpiexec, and a folder that all share"));
        }
        if let Some(broken) = traces.iter().find(|trace| !trace.is_whole) {
            let message =
                format!("{}: the rank has not called MPI_Finalize", broken.path.display());
            return Err(Failure::work(message));
        }
        let actions: usize = traces.iter().map(|trace| trace.actions).sum();
        output.say(&format!(
            "{} of {} recorded in {}\n",
            slackline_report::table::count(actions, "action"),
            slackline_report::table::count(traces.len(), "rank"),
            self.output.display()
        ))
    }

    /// The MPI of the first program of the command that is linked with one.
    fn mpi_of_command(&self) -> Result<Mpi, Failure> {
        let found = self.command.iter().skip(1).find_map(|word| {
            let path = in_path(word)?;
            elf::mpi_of(&path).ok().flatten()
        });
        let own = || elf::mpi_of(&in_path(&self.command[0])?).ok().flatten();
        found.or_else(own).ok_or_else(|| {
            Failure::input("no program of the command is linked with MPICH or Open MPI").with_help(
                "--mpi mpich or --mpi open-mpi says which it is, where a script starts the program",
            )
        })
    }

    /// The folder, new or empty, under a name that holds in other folders.
    fn folder(&self) -> Result<PathBuf, Failure> {
        let fail = |e: std::io::Error| Failure::input(format!("{}: {e}", self.output.display()));
        std::fs::create_dir_all(&self.output).map_err(fail)?;
        if std::fs::read_dir(&self.output).map_err(fail)?.next().is_some() {
            let message = format!("{}: is not empty", self.output.display());
            return Err(Failure::input(message).with_help("traces are written into a new folder"));
        }
        self.output.canonicalize().map_err(fail)
    }

    /// The library for an MPI.
    fn compile(&self, mpi: Mpi, work: &Path) -> Result<PathBuf, Failure> {
        let (source, library) = (work.join("capture.c"), work.join("libslackline-capture.so"));
        std::fs::write(&source, SOURCE)?;
        let named = match mpi {
            Mpi::Mpich => "mpicc.mpich",
            Mpi::OpenMpi => "mpicc.openmpi",
        };
        let compilers = match &self.cc {
            Some(own) => vec![own.clone()],
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
        Err(Failure::input(format!(
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

fn traces(folder: &Path) -> Result<Vec<Trace>, Failure> {
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
