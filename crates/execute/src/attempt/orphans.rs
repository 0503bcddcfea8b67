//! Processes that outlived whoever started them. They are known by number and starting time, and
//! by a variable that every process of a run inherits; never by name.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The variable that says to which run a process belongs.
pub(crate) const RUN_VARIABLE: &str = "SLACKLINE_RUN";

/// The variable that says as which host it was started.
pub(crate) const HOST_VARIABLE: &str = "SLACKLINE_HOST";

/// The variable that says for which task.
pub(crate) const TASK_VARIABLE: &str = "SLACKLINE_TASK";

/// Time that processes get to be gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// A process: its number is used again one day, the two together are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it was started, in ticks since the machine was.
    pub started: u64,
}

/// What is said of a process after its name, which may hold anything.
fn stat(pid: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(text[text.rfind(')')? + 1..].to_string())
}

/// When a process was started.
pub(super) fn started(pid: u32) -> Option<u64> {
    stat(pid)?.split_whitespace().nth(19)?.parse().ok()
}

/// Whether a child has ended, though nobody took note of it.
pub(super) fn has_ended(pid: Pid) -> bool {
    let state = stat(pid.as_raw_nonzero().get().unsigned_abs());
    state.is_none_or(|s| matches!(s.split_whitespace().next(), Some("Z" | "X")))
}

/// Most memory this process ever had, as of at most a second ago.
pub(super) fn peak_memory_of_self() -> Option<u64> {
    static LAST: Mutex<Option<(Instant, Option<u64>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match *last {
        Some((at, peak)) if at.elapsed() < Duration::from_secs(1) => peak,
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

/// Which start of the machine this is.
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
