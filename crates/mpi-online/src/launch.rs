//! Starting the ranks of a program, and ending them.

use crate::elf::{self, Mpi};
use crate::library::{NAMES, Unpacked};
use crate::program::{Lane, Running};
use crate::protocol::VARIABLE;
use crate::ring::{SHARED, Shared};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use slackline_model::{HostId, Platform};
use slackline_mpi::{Observer, Replay, ReplayError, ReplaySettings, Replayed};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use thiserror::Error;

/// The way computations of the program count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// Computations take no time.
    None,
    /// Computations take their CPU time on this machine, scaled by its speed over that of the simulated host.
    Measure,
    /// Computations take the time that the program charges.
    Charged,
}

/// A program and the options of its run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program, and its arguments.
    pub command: Vec<OsString>,
    /// The way computations count.
    pub compute: Compute,
    /// Flop/s of a core of this machine; the speed of the simulated host if left out.
    pub host_speed: Option<f64>,
    /// Computations shorter than this many seconds take no time.
    pub threshold: f64,
    /// Whether the trace is kept.
    pub record: bool,
    /// Whether the ranks' standard output goes to standard error.
    pub to_stderr: bool,
}

/// A program that has run.
#[derive(Debug)]
pub struct Finished {
    /// Simulated dates, and other results of the replay.
    pub replayed: Replayed,
    /// The trace of each rank, if it was kept.
    pub record: Option<Vec<Vec<u8>>>,
}

/// The reason why a program could not be run to its end.
#[derive(Debug, Error)]
pub enum OnlineError {
    /// The program cannot be started.
    #[error("{0}")]
    Start(String),
    /// The replay failed.
    #[error(transparent)]
    Run(#[from] ReplayError),
}

// States of a process; the lower half has the exit code or signal.
const ALIVE: u64 = 0;
const EXITED: u64 = 1 << 32;
const KILLED: u64 = 2 << 32;

/// The processes of all ranks.
pub(crate) struct Processes {
    children: Vec<Child>,
    /// Per rank: [`ALIVE`], or [`EXITED`] plus its exit code, or [`KILLED`] plus its signal.
    ends: Arc<Vec<AtomicU64>>,
}

impl Processes {
    fn end(&self, rank: u32) -> u64 {
        self.ends[rank as usize].load(Ordering::Acquire)
    }

    /// The first rank that was killed or exited with an error.
    pub(crate) fn culprit(&self) -> Option<u32> {
        let failed = |end: &AtomicU64| !matches!(end.load(Ordering::Acquire), ALIVE | EXITED);
        self.ends.iter().position(failed).map(|rank| rank as u32)
    }

    /// Whether a rank may still send requests: it lives, and no rank has failed.
    pub(crate) fn may_continue(&self, rank: u32) -> bool {
        self.end(rank) == ALIVE && self.culprit().is_none()
    }

    /// Returns the way in which a rank ended, as text for messages.
    pub(crate) fn describe_end(&self, rank: u32) -> String {
        let end = self.end(rank);
        match end >> 32 {
            1 => format!("exited with code {}", end as u32),
            2 => {
                let signal = end as u32;
                let name = match signal {
                    6 => " (SIGABRT)",
                    7 => " (SIGBUS)",
                    8 => " (SIGFPE)",
                    9 => " (SIGKILL)",
                    11 => " (SIGSEGV)",
                    15 => " (SIGTERM)",
                    _ => "",
                };
                format!("was killed by signal {signal}{name}")
            }
            _ => "did not answer".to_owned(),
        }
    }

    /// Kills the processes that live. None is reaped before this, so that no process id belongs to another process.
    fn kill(&self) {
        for (rank, child) in self.children.iter().enumerate() {
            if self.end(rank as u32) == ALIVE
                && let Some(pid) = Pid::from_raw(child.id() as i32)
            {
                // It may have ended by itself since the check.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// Runs a program with rank r on `hosts[r]`.
pub fn run(
    platform: &Platform,
    hosts: &[HostId],
    settings: ReplaySettings,
    launch: &Launch,
    observer: &mut dyn Observer,
) -> Result<Finished, OnlineError> {
    let start = |e: io::Error| OnlineError::Start(e.to_string());
    let program = find(&launch.command[0])?;
    check(&program)?;
    let library = Unpacked::new().map_err(start)?;
    let ends: Arc<Vec<AtomicU64>> = Arc::new(hosts.iter().map(|_| AtomicU64::new(ALIVE)).collect());
    let mut processes = Processes { children: Vec::new(), ends: Arc::clone(&ends) };
    let mut memories: Vec<(OwnedFd, Arc<Shared>)> = Vec::new();
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    let mut lanes = Vec::new();
    let mut failed = None;
    let out = Arc::new(Mutex::new(if launch.to_stderr {
        File::from(io::stderr().as_fd().try_clone_to_owned().map_err(start)?)
    } else {
        File::from(io::stdout().as_fd().try_clone_to_owned().map_err(start)?)
    }));
    let errors = File::from(io::stderr().as_fd().try_clone_to_owned().map_err(start)?);
    let errors = Arc::new(Mutex::new(errors));
    for (rank, &host) in hosts.iter().enumerate() {
        let host = platform.host(host);
        let begun = memory().map_err(start).and_then(|(fd, shared)| {
            let path = format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd());
            let mode = match launch.compute {
                Compute::None => "none",
                Compute::Measure => "measure",
                Compute::Charged => "charged",
            };
            let (me, size) = (std::process::id(), hosts.len());
            let place = format!("{path} {me} {rank} {size} {mode} {} {}", host.speed, host.name);
            let child = spawn(&program, launch, rank, &place, library.path())?;
            Ok((fd, Arc::new(shared), child))
        });
        match begun {
            Ok((fd, shared, mut child)) => {
                threads.extend(child.stdout.take().map(|from| forward(from, Arc::clone(&out))));
                let from = child.stderr.take();
                threads.extend(from.map(|from| forward(from, Arc::clone(&errors))));
                threads.push(watch(child.id(), rank, Arc::clone(&ends), Arc::clone(&shared)));
                let rate = launch.host_speed.unwrap_or(host.speed);
                lanes.push(Lane::new(shared.reader(false), shared.writer(true), rate));
                memories.push((fd, shared));
                processes.children.push(child);
            }
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    // The files of the library are removed once all ranks have loaded it, or after all have ended.
    let mut library = Some(library);
    let outcome = match failed {
        Some(error) => Err(error),
        None => {
            let started = Box::new(|| drop(library.take()));
            let compute = (launch.compute, launch.threshold);
            let mut running = Running::new(lanes, &processes, compute, launch.record, started);
            let replayed = Replay::live(platform, hosts, &mut running, settings)
                .and_then(|replay| replay.run(observer));
            let record = running.record.take();
            replayed.map(|replayed| Finished { replayed, record }).map_err(OnlineError::Run)
        }
    };
    if outcome.is_err() {
        processes.kill();
    }
    // Ranks may still print and clean up after MPI_Finalize.
    for thread in threads {
        // A thread that panicked has nothing more to forward.
        let _ = thread.join();
    }
    let culprit = processes.culprit();
    for child in &mut processes.children {
        // Reaps it: its end is known already.
        let _ = child.wait();
    }
    for (fd, shared) in memories {
        drop(fd);
        if let Ok(shared) = Arc::try_unwrap(shared) {
            shared.unmap();
        }
    }
    match (outcome, culprit) {
        (Ok(_), Some(rank)) => {
            let end = processes.describe_end(rank);
            let text = format!("rank {rank} {end} after MPI_Finalize");
            Err(ReplayError::Program(text).into())
        }
        (outcome, _) => outcome,
    }
}

/// Memory shared with one rank, reached through a descriptor only: nothing is left when both are gone.
fn memory() -> io::Result<(OwnedFd, Shared)> {
    let fd = memfd_create("slackline-mpi", MemfdFlags::CLOEXEC)?;
    ftruncate(&fd, SHARED as u64)?;
    match Shared::map(fd.as_raw_fd()) {
        Some(shared) => Ok((fd, shared)),
        None => Err(io::Error::last_os_error()),
    }
}

/// The file of a program: as it is named, or found in PATH.
pub fn find(name: &OsString) -> Result<PathBuf, OnlineError> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        if path.is_file() {
            return Ok(path.to_path_buf());
        }
    } else {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        for folder in std::env::split_paths(&folders) {
            let file = folder.join(path);
            if file.is_file() {
                return Ok(file);
            }
        }
    }
    Err(OnlineError::Start(format!("{}: there is no such program", path.display())))
}

/// Refuses a program that would load another MPI.
fn check(program: &Path) -> Result<(), OnlineError> {
    let mpi = elf::mpi_of(program)
        .map_err(|e| OnlineError::Start(format!("{}: {e}", program.display())))?;
    if mpi == Some(Mpi::OpenMpi) {
        return Err(OnlineError::Start(format!(
            "{}: this program is linked with Open MPI, whose binary interface differs; build it with \
             MPICH's mpicc or with `slackline mpicc`",
            program.display()
        )));
    }
    if mpi == Some(Mpi::Mpich) && elf::uses_mpi_f08(program).unwrap_or(false) {
        return Err(OnlineError::Start(format!(
            "{}: this program uses Fortran's module mpi_f08, which is not simulated; `use mpi` and mpif.h are",
            program.display()
        )));
    }
    Ok(())
}

fn spawn(
    program: &Path,
    launch: &Launch,
    rank: usize,
    place: &str,
    library: &Path,
) -> Result<Child, OnlineError> {
    let mut command = Command::new(program);
    command.args(&launch.command[1..]).env(VARIABLE, place);
    let ours = [("LD_PRELOAD", library.join(NAMES[0])), ("LD_LIBRARY_PATH", library.to_path_buf())];
    for (name, first) in ours {
        let old = std::env::var_os(name).unwrap_or_default();
        let mut value = first.into_os_string();
        if !old.is_empty() {
            value.push(":");
            value.push(&old);
        }
        // The rank restores the old value, so that programs it starts are not part of the simulation.
        command.env(name, value).env(format!("SLACKLINE_{name}"), old);
    }
    if rank > 0 {
        command.stdin(Stdio::null());
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    die_with_us(&mut command);
    command.spawn().map_err(|e| OnlineError::Start(format!("{}: {e}", program.display())))
}

/// Makes the kernel kill the process when the thread that starts it ends, so that no rank outlives the simulator.
#[allow(unsafe_code)]
fn die_with_us(command: &mut Command) {
    // SAFETY: between fork and exec the closure makes one system call, which neither allocates nor
    // takes a lock.
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(())
        });
    }
}

/// Records the end of a process in `ends` and wakes the simulation. The process stays a zombie until all are reaped.
fn watch(pid: u32, rank: usize, ends: Arc<Vec<AtomicU64>>, shared: Arc<Shared>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let Some(pid) = Pid::from_raw(pid as i32) else { return };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let end = loop {
            match waitid(WaitId::Pid(pid), options) {
                Ok(Some(status)) => {
                    break match (status.exit_status(), status.terminating_signal()) {
                        (Some(code), _) => EXITED | u64::from(code as u32),
                        (_, Some(signal)) => KILLED | u64::from(signal as u32),
                        _ => KILLED,
                    };
                }
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => break KILLED,
            }
        };
        ends[rank].store(end, Ordering::Release);
        shared.wake_reader();
    })
}

/// Forwards the output of a rank, whole lines at a time, so that lines of ranks do not mix.
fn forward(from: impl Read + Send + 'static, to: Arc<Mutex<File>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            // A closed output does not end the simulation.
            let _ = to.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
            line.clear();
        }
    })
}
