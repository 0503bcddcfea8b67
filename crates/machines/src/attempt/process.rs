//! The process of an attempt, in a process group of its own. When it ends, the rest of its group and all other
//! descendants are ended too, also those in other sessions.

use super::memory::{Enforce, Guard};
use super::{Attempt, AttemptError, Process, STDERR, STDOUT, limits, orphans};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use rustix::time::Timespec;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};
use wait4::Wait4;

/// Time between two checks of limits and stop requests of a process.
const TICK: Duration = Duration::from_millis(200);

/// Bytes by which the kernel may misjudge the memory of a process of several threads.
const INEXACT: u64 = 1 << 20;

/// Time between SIGTERM and SIGKILL to a process group.
const GRACE: Duration = Duration::from_secs(3);

/// Limits of a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall seconds after which it is ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Cores that it is pinned to; empty: any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<usize>,
    /// Bytes of memory for all its processes together; none: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Enforcement of the memory limit.
    #[serde(default)]
    pub enforce: Enforce,
}

/// Resources used by a process, and its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Wall seconds from begin to end.
    pub seconds: f64,
    /// CPU seconds, user and system, with those of waited-for children.
    pub cpu_seconds: f64,
    /// Peak memory in bytes, where known. A forked process inherits the peak of its parent, so that a smaller one cannot
    /// be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory: Option<u64>,
    /// Exit code; none where a signal ended it.
    pub exit: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// It was ended because it reached its time limit.
    #[serde(default)]
    pub overran: bool,
    /// It used more memory than it was granted.
    #[serde(default)]
    pub out_of_memory: bool,
}

impl Usage {
    pub(super) fn succeeded(&self, accepts: &[i32]) -> bool {
        self.exit.is_some_and(|code| code == 0 || accepts.contains(&code))
    }

    pub(super) fn describe_end(&self, limit: Option<f64>) -> String {
        match (self.overran, self.exit, self.signal) {
            (true, ..) => format!("it was not done after {} s", limit.unwrap_or(self.seconds)),
            (_, Some(code), _) => format!("exit code {code}"),
            (_, _, Some(signal)) => format!("ended by signal {signal}"),
            _ => "it ended in an unknown way".to_string(),
        }
    }
}

/// Handle to stop an attempt, shared by the thread that runs it and others.
#[derive(Clone, Default)]
pub struct Control(Arc<Mutex<Life>>);

#[derive(Default)]
struct Life {
    /// The process group, until the process is reaped: afterwards its number may be reused.
    group: Option<Pid>,
    /// Date of the first stop request.
    stopping: Option<Instant>,
}

impl Control {
    /// Sends SIGTERM to the attempt; SIGKILL follows after 3 s.
    pub fn stop(&self) {
        let mut life = self.life();
        if life.stopping.is_none() {
            life.stopping = Some(Instant::now());
            life.signal(Signal::TERM);
        }
    }

    /// Sends SIGKILL to the attempt.
    pub fn kill(&self) {
        let mut life = self.life();
        life.stopping.get_or_insert_with(Instant::now);
        life.signal(Signal::KILL);
    }

    /// Whether it was asked to end.
    pub fn is_stopping(&self) -> bool {
        self.life().stopping.is_some()
    }

    fn life(&self) -> std::sync::MutexGuard<'_, Life> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Life {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal); // it may just have ended
        }
    }
}

/// Read-locked from each fork until its program runs (exec).
static STARTING: RwLock<()> = RwLock::new(());

/// Waits until every process that is being started runs its program. Until then it has copies of all open files of this
/// process, and a file that is open for writing cannot be executed ("text file busy"). To be called between writing a
/// program and starting it.
pub(super) fn wait_for_starts() {
    drop(STARTING.write().unwrap_or_else(PoisonError::into_inner));
}

/// Number of attempts so far for which the system had no process left.
static WITHOUT_ROOM: AtomicUsize = AtomicUsize::new(0);

/// Retries to start a process, and the pause before each.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// Starts a process, pinned to `cores`. At the system's limit of processes (which counts threads too), every other attempt
/// fails at once and so frees its thread for the others, which retry.
fn start(command: &mut Command, cores: &[usize]) -> std::io::Result<Child> {
    let mut tries = 0;
    loop {
        let starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
        let started = pinned(cores, || command.spawn());
        drop(starting);
        match started {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                let leaves =
                    tries == 0 && WITHOUT_ROOM.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
                if leaves || tries == TRIES {
                    crate::attempt_pool::make_room();
                    return Err(error);
                }
                tries += 1;
                std::thread::sleep(PAUSE);
            }
            started => return started,
        }
    }
}

/// Runs the program of an attempt in its folder until it and its group are gone.
pub(super) fn run(
    attempt: &Attempt,
    control: &Control,
    begun: &mut dyn FnMut(Process),
) -> Result<Usage, AttemptError> {
    let [program, arguments @ ..] = attempt.argv.as_slice() else {
        return Err(AttemptError::Impossible("there is nothing to run".to_string()));
    };
    let captured = |name: &str| -> Result<File, AttemptError> {
        let path = attempt.captured.join(name);
        File::create(&path).map_err(|e| super::impossible(&path, &e))
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(attempt.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&attempt.work)
        .stdin(Stdio::null())
        .stdout(captured(STDOUT)?)
        .stderr(captured(STDERR)?)
        .process_group(0);
    let limits = &attempt.limits;
    let mut guard = limits.memory.and_then(|grant| Guard::new(grant, limits.enforce));
    let begin = Instant::now();
    let (child, pid) = {
        let mut life = control.life();
        if life.stopping.is_some() {
            return Err(AttemptError::Stopped);
        }
        let child = start(&mut command, &attempt.limits.cores)
            .map_err(|e| cannot_start(program, &attempt.work, &e))?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        life.group = pid;
        if let (Some(guard), Some(pid)) = (&mut guard, pid) {
            guard.begins(pid);
        }
        pid.into_iter().for_each(limits::restore_open_files);
        (child, pid)
    };
    let process = orphans::process_of(child.id());
    let running = orphans::Running::new(process);
    begun(process);
    let overran = match pid {
        Some(pid) => watch(pid, attempt, control, begin, &mut guard),
        None => false,
    };
    // Until it is reaped, its number and that of its group are not reused.
    let mut life = control.life();
    life.signal(Signal::KILL);
    life.group = None;
    let stopped = life.stopping.is_some() && !overran;
    drop(life);
    running.end_adopted(attempt);
    let seconds = begin.elapsed().as_secs_f64();
    let usage = reap(child, seconds).map_err(|e| AttemptError::Failed {
        why: format!("its end was lost: {e}"),
        exit: None,
        last_lines: Vec::new(),
    })?;
    let (peak, out_of_memory) = guard.map_or((None, false), |guard| guard.end(usage.signal));
    let peak_memory = usage.peak_memory.max(peak);
    let out_of_memory = out_of_memory && !usage.succeeded(&attempt.accepts);
    let usage = Usage { overran, peak_memory, out_of_memory, ..usage };
    // A process that succeeded before the signal reached it counts as done.
    if stopped && !usage.succeeded(&attempt.accepts) {
        Err(AttemptError::Stopped)
    } else {
        Ok(usage)
    }
}

fn cannot_start(program: &str, work: &Path, error: &std::io::Error) -> AttemptError {
    use std::io::ErrorKind::{NotFound, PermissionDenied};
    let why = format!("'{program}' cannot be started: {error}");
    let lasting = match error.kind() {
        NotFound => work.is_dir(),
        PermissionDenied => is_not_executable(program, work),
        _ => !super::is_passing(error),
    };
    if lasting { AttemptError::Impossible(why) } else { super::failed_for_now(why) }
}

/// Whether a program exists and has no execute permission: retries would not help.
fn is_not_executable(program: &str, work: &Path) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found: Vec<u32> = if program.contains('/') {
        vec![work.to_path_buf()]
    } else {
        std::env::split_paths(&path).collect()
    }
    .iter()
    .filter_map(|folder| std::fs::metadata(folder.join(program)).ok())
    .map(|found| if found.is_dir() { 0 } else { found.permissions().mode() })
    .collect();
    !found.is_empty() && found.iter().all(|mode| mode & 0o111 == 0)
}

/// Waits until a process has ended, without reaping it; enforces its limits and stop requests. Returns whether it reached
/// its time limit.
fn watch(
    pid: Pid,
    attempt: &Attempt,
    control: &Control,
    begin: Instant,
    guard: &mut Option<Guard>,
) -> bool {
    let handle = pidfd_open(pid, PidfdFlags::empty());
    let limit = attempt.limits.seconds.filter(|s| s.is_finite()).map(Duration::from_secs_f64);
    let mut overran = false;
    loop {
        let left = limit.filter(|_| !overran).map(|l| l.saturating_sub(begin.elapsed()));
        let tick = left.map_or(TICK, |left| left.min(TICK)).max(Duration::from_millis(1));
        let ended = match &handle {
            Ok(handle) => {
                let timeout = Timespec::try_from(tick).ok();
                let mut polled = [PollFd::new(handle, PollFlags::IN)];
                matches!(poll(&mut polled, timeout.as_ref()), Ok(1..))
            }
            Err(_) => {
                std::thread::sleep(tick.min(Duration::from_millis(5)));
                orphans::has_ended(pid)
            }
        };
        if ended {
            return overran;
        }
        orphans::reap_adopted();
        if !overran && limit.is_some_and(|limit| begin.elapsed() >= limit) {
            overran = true;
            control.stop();
        }
        let exceeded = guard.as_mut().is_some_and(|guard| guard.is_exceeded(pid));
        let life = control.life();
        if exceeded || life.stopping.is_some_and(|since| since.elapsed() >= GRACE) {
            life.signal(Signal::KILL);
        }
    }
}

/// Reaps a process that has ended; returns its resource usage.
fn reap(mut child: Child, seconds: f64) -> std::io::Result<Usage> {
    let ended = child.wait4()?;
    let (status, used): (ExitStatus, _) = (ended.status, ended.rusage);
    // Whatever this process had when it started the other is no more than it has had by now.
    let is_its_own = |&peak: &u64| {
        let exceeds = |own: Option<u64>| own.is_some_and(|own| peak > own + INEXACT);
        exceeds(orphans::peak_memory_of_self(false)) && exceeds(orphans::peak_memory_of_self(true))
    };
    Ok(Usage {
        seconds,
        cpu_seconds: (used.utime + used.stime).as_secs_f64(),
        peak_memory: Some(used.maxrss).filter(is_its_own),
        exit: status.code(),
        signal: status.signal(),
        overran: false,
        out_of_memory: false,
    })
}

/// Calls `act` with this thread pinned to `cores`, which processes started there inherit.
fn pinned<T>(cores: &[usize], act: impl FnOnce() -> T) -> T {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    if cores.is_empty() {
        return act();
    }
    let before = sched_getaffinity(None);
    let mut wanted = CpuSet::new();
    for &core in cores.iter().filter(|&&core| core < CpuSet::MAX_CPU) {
        wanted.set(core);
    }
    // Without the permission the task runs on any core.
    let _ = sched_setaffinity(None, &wanted);
    let done = act();
    if let Ok(before) = before {
        let _ = sched_setaffinity(None, &before);
    }
    done
}
