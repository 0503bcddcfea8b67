//! Processes that outlived the process that started them. They are known by number and starting time, and
//! by a variable that every process of a run inherits; never by name.
//!
//! A program that makes attempts can also adopt processes whose parents have ended
//! ([`adopt_orphans`]): they become children of it, whatever session they are in, and end with the
//! attempt that they come from.

use super::Attempt;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper,
    waitpid,
};
use slackline_engine::Process;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The variable that says to which run a process belongs.
pub(crate) const RUN_VARIABLE: &str = "SLACKLINE_RUN";

/// The variable that says as which host it was started.
pub(crate) const HOST_VARIABLE: &str = "SLACKLINE_HOST";

/// The variable that says for which task.
pub(crate) const TASK_VARIABLE: &str = "SLACKLINE_TASK";

/// Has the kind of its task, empty where it has none.
pub(crate) const KIND_VARIABLE: &str = "SLACKLINE_KIND";

/// Has the number of nodes of a task over several of them.
pub(crate) const NODES_VARIABLE: &str = "SLACKLINE_NODES";

/// The variable that says for which attempt at it.
pub(crate) const ATTEMPT_VARIABLE: &str = "SLACKLINE_ATTEMPT";

/// Time that processes get to be gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// A process that is there now.
pub(crate) fn process_of(pid: u32) -> Process {
    Process { pid, started: started(pid).unwrap_or(0) }
}

/// Whether a process is still there.
pub fn is_there(process: Process) -> bool {
    started(process.pid) == Some(process.started) && is_alive(process.pid)
}

/// Fields of a process after its name, which may hold any character.
pub(super) fn stat(pid: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(text[text.rfind(')')? + 1..].to_string())
}

/// When a process was started.
fn started(pid: u32) -> Option<u64> {
    stat(pid)?.split_whitespace().nth(19)?.parse().ok()
}

/// Whether a child has ended, without being reaped.
pub(super) fn has_ended(pid: Pid) -> bool {
    let state = stat(pid.as_raw_nonzero().get().unsigned_abs());
    state.is_none_or(|s| matches!(s.split_whitespace().next(), Some("Z" | "X")))
}

/// Most memory this process ever had, as of now or of at most a second ago.
pub(super) fn peak_memory_of_self(now: bool) -> Option<u64> {
    static LAST: Mutex<Option<(Instant, Option<u64>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match *last {
        Some((at, peak)) if !now && at.elapsed() < Duration::from_secs(1) => peak,
        _ => {
            let peak = read_peak_memory();
            *last = Some((Instant::now(), peak));
            peak
        }
    }
}

fn read_peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Boot identifier of the machine.
pub fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|text| text.trim().to_string()).unwrap_or_default()
}

/// Ends what is left of a run: the processes that are given, as far as they are still the same, and
/// every process that belongs to it and has such variables. Gives how many there were.
pub fn end_orphans(run: &str, having: &[(&str, &str)], known: &[Process]) -> usize {
    let own = std::process::id();
    let mut ended = 0;
    let end = Instant::now() + PATIENCE;
    loop {
        let alive = known.iter().filter(|p| p.started != 0 && started(p.pid) == Some(p.started));
        let mut found: Vec<u32> = alive.map(|p| p.pid).filter(|&pid| is_alive(pid)).collect();
        for &pid in &found {
            if let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
        found.extend(belonging(run, having).into_iter().filter(|pid| *pid != own));
        found.sort_unstable();
        found.dedup();
        for &pid in &found {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        ended = ended.max(found.len());
        if found.is_empty() || Instant::now() > end {
            return ended;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|s| !matches!(s.split_whitespace().next(), Some("Z" | "X")))
}

/// Whether this process adopts orphans.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Processes of attempts that are under way. Held while adopted processes are listed and ended: no
/// other thread reaps them, so that their numbers are not reused.
static RUNNING: Mutex<Vec<Process>> = Mutex::new(Vec::new());

/// Children that this process had before it adopted any.
static EARLIER: Mutex<Vec<Process>> = Mutex::new(Vec::new());

/// The children of the first thread of this process: orphans that it has adopted, and what that thread
/// has started itself.
fn children() -> Option<String> {
    let own = getpid().as_raw_nonzero();
    std::fs::read_to_string(format!("/proc/self/task/{own}/children")).ok()
}

/// Has this process adopt what its children leave behind. For programs whose first thread starts no
/// processes while attempts are made: all children of that thread count as orphans of attempts. Says
/// whether the system can do it.
pub fn adopt_orphans() -> bool {
    let known = children();
    let able = known.is_some() && set_child_subreaper(Some(getpid())).is_ok();
    // What a shell started before it became this program is not ours.
    let earlier = known.unwrap_or_default();
    let earlier = earlier.split_whitespace().filter_map(|pid| pid.parse().ok()).map(process_of);
    *EARLIER.lock().unwrap_or_else(PoisonError::into_inner) = earlier.collect();
    ADOPTS.store(able, Ordering::Relaxed);
    able
}

/// Whether this process adopts what its children leave behind, so that nothing outlives its attempt.
pub(super) fn adopts() -> bool {
    ADOPTS.load(Ordering::Relaxed)
}

/// An attempt's process while it is under way.
pub(super) struct Running(Process);

impl Running {
    pub(super) fn new(process: Process) -> Running {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        Running(process)
    }

    /// Ends what the attempt has left behind and waits until it is gone.
    pub(super) fn end_adopted(&self, attempt: &Attempt) {
        end_where(|adopted, running| {
            adopted.group == self.0.pid || comes_from(attempt, self.0, adopted, running)
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = running.iter().position(|process| *process == self.0) {
            running.swap_remove(at);
        }
    }
}

/// Ends everything that was adopted: no attempt is under way any more.
pub(crate) fn end_adopted() {
    end_where(|_, others| others.is_empty());
}

/// Takes note of adopted processes that have ended.
pub(super) fn reap_adopted() {
    if let Ok(running) = RUNNING.try_lock() {
        each_adopted(&running, |_, _| {});
    }
}

/// An adopted process.
struct Adopted {
    pid: u32,
    group: u32,
    started: u64,
}

/// Calls back for every adopted process that has not ended, and takes note of those that have.
fn each_adopted(running: &[Process], mut act: impl FnMut(Pid, &Adopted)) {
    if !adopts() {
        return;
    }
    let listed = children().unwrap_or_default();
    for pid in listed.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()) {
        let earlier = EARLIER.lock().unwrap_or_else(PoisonError::into_inner);
        let own = |process: &Process| process.pid == pid && started(pid) == Some(process.started);
        if running.iter().any(|process| process.pid == pid) || earlier.iter().any(own) {
            continue;
        }
        drop(earlier);
        let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { continue };
        if !matches!(waitpid(Some(number), WaitOptions::NOHANG), Ok(None)) {
            continue;
        }
        let Some(text) = stat(pid) else { continue };
        let field = |at: usize| text.split_whitespace().nth(at)?.parse::<u64>().ok();
        if let (Some(group), Some(started)) = (field(2), field(19)) {
            act(number, &Adopted { pid, group: group as u32, started });
        }
    }
}

/// Ends adopted processes and waits until they, and what they leave, are gone.
fn end_where(ends: impl Fn(&Adopted, &[Process]) -> bool) {
    let end = Instant::now() + PATIENCE;
    let mut pause = Duration::from_micros(200);
    loop {
        let mut found = false;
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        each_adopted(&running, |number, adopted| {
            if ends(adopted, &running) {
                found = true;
                let _ = kill_process(number, Signal::KILL); // it may just have ended
            }
        });
        drop(running);
        if !found || Instant::now() > end {
            return;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Whether a process comes from an attempt: by its variables; where it has dropped those, by the files
/// that it uses; and where these tell nothing, because none of the other attempts that are under way
/// was so when it began.
fn comes_from(attempt: &Attempt, own: Process, adopted: &Adopted, running: &[Process]) -> bool {
    let at = |name: &str| format!("/proc/{}/{name}", adopted.pid);
    let variables = std::fs::read(at("environ")).unwrap_or_default();
    let has = |name: &str, value: Option<&str>| {
        let wanted = format!("{name}={}", value.unwrap_or_default());
        variables.split(|&b| b == 0).any(|v| match value {
            Some(_) => v == wanted.as_bytes(),
            None => v.starts_with(wanted.as_bytes()),
        })
    };
    let ours = [RUN_VARIABLE, TASK_VARIABLE, ATTEMPT_VARIABLE];
    let set = || attempt.env.iter().filter(|(name, _)| ours.contains(&name.as_str()));
    if ours.iter().all(|name| has(name, None)) {
        return set().count() == ours.len() && set().all(|(name, value)| has(name, Some(value)));
    }
    let link = |name: &str| std::fs::read_link(at(name)).unwrap_or_default();
    let inside =
        |path: PathBuf, folder: &Path| !folder.as_os_str().is_empty() && path.starts_with(folder);
    let uses = |folder: &Path| ["cwd", "fd/1", "fd/2"].iter().any(|n| inside(link(n), folder));
    if uses(&attempt.work) || uses(&attempt.captured) {
        return true;
    }
    !running.iter().any(|other| *other != own && other.started <= adopted.started)
}

/// Processes whose surroundings say that they belong to a run, and have such variables.
fn belonging(run: &str, having: &[(&str, &str)]) -> Vec<u32> {
    let all = having.iter().copied().chain([(RUN_VARIABLE, run)]);
    let wanted: Vec<String> = all.map(|(name, value)| format!("{name}={value}")).collect();
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pid = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let belongs = |pid: &u32| {
        let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let has = |wanted: &String| variables.split(|&b| b == 0).any(|v| v == wanted.as_bytes());
        wanted.iter().all(has) && is_alive(*pid)
    };
    all.filter_map(Result::ok).filter_map(pid).filter(belongs).collect()
}
