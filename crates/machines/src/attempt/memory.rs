//! Memory of attempts: what the processes of one use together, and how they are held to what it was granted.
//!
//! If this process may create control groups (cgroup v2 with the memory controller delegated to it), each attempt with
//! a grant has a group of its own, and the kernel ends it as a whole. Otherwise the processes of its process group are
//! polled every fifth of a second.

use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Reason why this process cannot create control groups.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct NoControlGroups(String);

/// Enforcement of the memory granted to attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Enforce {
    /// By the kernel where it can, else by polling.
    #[default]
    Auto,
    /// By a control group of each attempt.
    Cgroup,
    /// By looking at its processes.
    Poll,
    /// Not at all.
    Off,
}

impl Enforce {
    /// All of them by name.
    pub const ALL: [(&'static str, Enforce); 4] = [
        ("auto", Enforce::Auto),
        ("cgroup", Enforce::Cgroup),
        ("poll", Enforce::Poll),
        ("off", Enforce::Off),
    ];

    /// Mode that `auto` stands for on this machine; an error says why control groups are not available.
    pub fn settled(self) -> Result<Enforce, NoControlGroups> {
        match self {
            Enforce::Auto if delegated().is_ok() => Ok(Enforce::Cgroup),
            Enforce::Auto => Ok(Enforce::Poll),
            Enforce::Cgroup => {
                delegated().as_ref().map(|_| self).map_err(|why| NoControlGroups(why.clone()))
            }
            other => Ok(other),
        }
    }
}

/// Share of the grant from which on a kill from outside counts as one for lack of memory.
const NEARLY: f64 = 0.9;

/// Time between two checks of all processes, and the greatest share of time that checking may take.
const LOOK: Duration = Duration::from_millis(150);
const MOST_WORK: u32 = 20;

/// Time for a control group to be empty.
const PATIENCE: Duration = Duration::from_secs(2);

/// Holds one attempt to its grant.
pub(super) struct Guard {
    grant: u64,
    group: Option<Group>,
    polls: bool,
    /// Most that was seen, and what was seen last.
    peak: u64,
    last: u64,
    exceeded: bool,
    /// Processes of this group that the kernel had ended for lack of memory when the attempt began.
    kills: u64,
}

impl Guard {
    /// For a grant of so many bytes; none where it is not enforced.
    pub(super) fn new(grant: u64, enforce: Enforce) -> Option<Guard> {
        let settled = enforce.settled().unwrap_or(Enforce::Poll);
        let group = match (settled, delegated()) {
            (Enforce::Cgroup, Ok(base)) => Group::create(base, grant).ok(),
            _ => None,
        };
        let polls = group.is_none();
        let kills = kills_around();
        let guard = Guard { grant, group, polls, peak: 0, last: 0, exceeded: false, kills };
        (settled != Enforce::Off).then_some(guard)
    }

    /// The first process of the attempt has started.
    pub(super) fn begins(&mut self, pid: Pid) {
        let number = pid.as_raw_nonzero().get().unsigned_abs();
        if self.group.as_ref().is_some_and(|group| group.add(number).is_err()) {
            (self.group, self.polls) = (None, true);
        }
    }

    /// Whether the attempt uses more than it was granted.
    pub(super) fn is_exceeded(&mut self, pid: Pid) -> bool {
        if self.polls && !self.exceeded {
            let group = pid.as_raw_nonzero().get().unsigned_abs();
            self.last = memory_of_group(group, self.grant);
            self.peak = self.peak.max(self.last);
            self.exceeded = self.last > self.grant;
        }
        self.exceeded
    }

    /// The attempt is over, by this signal where it was one: the most it used, as far as that is known, and
    /// whether it ran out of memory.
    pub(super) fn end(mut self, signal: Option<i32>) -> (Option<u64>, bool) {
        if let Some(group) = self.group.take() {
            return (group.peak(), group.kills() > 0);
        }
        let killed = signal == Some(rustix::process::Signal::KILL.as_raw());
        let nearly = self.last as f64 >= NEARLY * self.grant as f64;
        let lack = killed && (nearly || kills_around() > self.kills);
        (Some(self.peak).filter(|peak| *peak > 0), self.exceeded || lack)
    }
}

/// A control group of one attempt.
struct Group(PathBuf);

impl Group {
    /// A new group under one that is delegated to this process.
    fn create(base: &Path, grant: u64) -> std::io::Result<Group> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = base.join(format!("{}{}-{number}", PREFIX, std::process::id()));
        std::fs::create_dir(&path)?;
        let group = Group(path);
        group.write("memory.max", &grant.to_string())?;
        // Systems without swap accounting have no such file.
        let _ = group.write("memory.swap.max", "0");
        group.write("memory.oom.group", "1")?;
        Ok(group)
    }

    fn write(&self, name: &str, text: &str) -> std::io::Result<()> {
        write_to(&self.0.join(name), text)
    }

    /// A process, and all that it starts from now on, belong to the group.
    fn add(&self, pid: u32) -> std::io::Result<()> {
        self.write("cgroup.procs", &pid.to_string())
    }

    /// The most memory it ever used; where the kernel does not keep that, what it uses now.
    fn peak(&self) -> Option<u64> {
        let read =
            |name: &str| std::fs::read_to_string(self.0.join(name)).ok()?.trim().parse().ok();
        read("memory.peak").or_else(|| read("memory.current"))
    }

    /// Number of its processes that were ended for lack of memory.
    fn kills(&self) -> u64 {
        oom_kills(&std::fs::read_to_string(self.0.join("memory.events")).unwrap_or_default())
    }
}

impl Drop for Group {
    /// Removes it as soon as its last process is gone.
    fn drop(&mut self) {
        let end = Instant::now() + PATIENCE;
        while std::fs::remove_dir(&self.0).is_err() && self.0.exists() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Number of processes that the kernel has ended for lack of memory in the control group of this one, such as that of a
/// batch job; 0 where unknown.
fn kills_around() -> u64 {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let file = own.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(":/")?;
        match controllers {
            "" => Some(Path::new("/sys/fs/cgroup").join(path).join("memory.events")),
            "memory" => {
                Some(Path::new("/sys/fs/cgroup/memory").join(path).join("memory.oom_control"))
            }
            _ => None,
        }
        .filter(|file| file.is_file())
    });
    file.map_or(0, |file| oom_kills(&std::fs::read_to_string(file).unwrap_or_default()))
}

fn oom_kills(events: &str) -> u64 {
    let count = |line: &str| line.strip_prefix("oom_kill ")?.trim().parse().ok();
    events.lines().find_map(count).unwrap_or(0)
}

const PREFIX: &str = "slackline-";

/// Writes to a file of the kernel, which is there.
fn write_to(path: &Path, text: &str) -> std::io::Result<()> {
    // Only a folder laid out like one of the kernel's lacks it.
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?
        .write_all(text.as_bytes())
}

/// The control group under which attempts have theirs, or why there is none.
fn delegated() -> &'static Result<PathBuf, String> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = own.lines().find_map(|line| line.strip_prefix("0::/"));
        let own = own.ok_or("this system has no cgroup v2")?;
        let base = Path::new("/sys/fs/cgroup").join(own.trim());
        prepare(&base, std::process::id())?;
        Ok(base)
    })
}

/// Gives the children of a group the memory controller. Groups with children that have it hold no processes
/// themselves: this one goes into a child of its own.
fn prepare(base: &Path, own: u32) -> Result<(), String> {
    let has = |name: &str| {
        let text = std::fs::read_to_string(base.join(name)).unwrap_or_default();
        text.split_whitespace().any(|word| word == "memory")
    };
    if !has("cgroup.controllers") {
        return Err(format!("{}: no memory controller", base.display()));
    }
    let denied = |error: std::io::Error| format!("{}: not delegated: {error}", base.display());
    sweep(base);
    let engine = base.join(format!("{PREFIX}engine-{own}"));
    std::fs::create_dir(&engine).map_err(denied)?;
    if has("cgroup.subtree_control") {
        let _ = std::fs::remove_dir(&engine); // it was a trial
        return Ok(());
    }
    let number = own.to_string();
    let moved = write_to(&engine.join("cgroup.procs"), &number);
    let given = moved.and_then(|()| write_to(&base.join("cgroup.subtree_control"), "+memory"));
    given.map_err(|error| {
        let _ = write_to(&base.join("cgroup.procs"), &number); // as before
        let _ = std::fs::remove_dir(&engine);
        denied(error)
    })
}

/// Removes groups that processes of ours have left which are gone: nothing runs in them.
fn sweep(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        let owner = rest.strip_prefix("engine-").or_else(|| rest.split('-').next());
        let owner = owner.and_then(|pid| pid.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = std::fs::remove_dir(entry.path()); // one that is not empty stays
        }
    }
}

/// All processes by their groups, as of a moment ago.
struct Listing {
    at: Instant,
    took: Duration,
    groups: HashMap<u32, Vec<u32>>,
}

/// The processes of a group.
fn members(group: u32) -> Vec<u32> {
    static LAST: Mutex<Option<Listing>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let stale = |l: &Listing| {
        let old = l.at.elapsed() >= LOOK.max(l.took * MOST_WORK);
        // One that has just begun is not in it yet.
        old || !l.groups.contains_key(&group) && l.at.elapsed() >= l.took * 2
    };
    if last.as_ref().is_none_or(stale) {
        let at = Instant::now();
        let groups = list();
        *last = Some(Listing { at, took: at.elapsed(), groups });
    }
    last.as_ref().and_then(|listing| listing.groups.get(&group).cloned()).unwrap_or_default()
}

fn list() -> HashMap<u32, Vec<u32>> {
    let mut groups: HashMap<u32, Vec<u32>> = HashMap::new();
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let group = || super::orphans::stat(pid)?.split_whitespace().nth(2)?.parse().ok();
        if let Some(group) = group() {
            groups.entry(group).or_default().push(pid);
        }
    }
    groups
}

/// Bytes of memory that the processes of a group use. What several share counts in each of them, unless that
/// would exceed the limit: then each has its part, where the system says it.
fn memory_of_group(group: u32, limit: u64) -> u64 {
    let members = members(group);
    let resident: u64 = members.iter().filter_map(|&pid| resident(pid)).sum();
    if resident <= limit || members.len() < 2 {
        return resident;
    }
    members.iter().filter_map(|&pid| proportional(pid).or_else(|| self::resident(pid))).sum()
}

fn resident(pid: u32) -> Option<u64> {
    kibibytes(&format!("/proc/{pid}/status"), "VmRSS:")
}

fn proportional(pid: u32) -> Option<u64> {
    kibibytes(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

/// Bytes in a line of a file of the kernel.
fn kibibytes(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a broken fixture is a broken test

    use super::*;
    use std::fs::{read_to_string, write};

    /// A folder laid out like a group that is delegated.
    fn base(controllers: &str, enabled: &str) -> tempfile::TempDir {
        let base = tempfile::tempdir().unwrap();
        write(base.path().join("cgroup.controllers"), controllers).unwrap();
        write(base.path().join("cgroup.subtree_control"), enabled).unwrap();
        base
    }

    #[test]
    fn the_engine_makes_room_for_groups_of_attempts() {
        let base = base("cpu memory pids\n", "");
        prepare(base.path(), 4711).unwrap();
        let engine = base.path().join("slackline-engine-4711/cgroup.procs");
        assert_eq!(read_to_string(engine).unwrap(), "4711");
        let given = read_to_string(base.path().join("cgroup.subtree_control")).unwrap();
        assert_eq!(given, "+memory");
    }

    #[test]
    fn without_the_controller_there_are_no_groups() {
        let base = base("cpu pids\n", "");
        let why = prepare(base.path(), 1).unwrap_err();
        assert!(why.contains("no memory controller"), "{why}");
    }

    #[test]
    fn a_group_has_the_grant_and_tells_who_was_ended() {
        let base = base("memory\n", "memory\n");
        prepare(base.path(), std::process::id()).unwrap();
        let group = Group::create(base.path(), 4_000_000).unwrap();
        let read = |name: &str| read_to_string(group.0.join(name)).unwrap();
        assert_eq!((read("memory.max"), read("memory.swap.max")), ("4000000".into(), "0".into()));
        assert_eq!(read("memory.oom.group"), "1");
        group.add(77).unwrap();
        assert_eq!(read("cgroup.procs"), "77");
        assert_eq!((group.peak(), group.kills()), (None, 0));
        write(group.0.join("memory.events"), "low 0\noom 1\noom_kill 2\n").unwrap();
        write(group.0.join("memory.peak"), "4000000\n").unwrap();
        assert_eq!((group.peak(), group.kills()), (Some(4_000_000), 2));
        // The files of a kernel are gone with their group.
        let files = std::fs::read_dir(&group.0).unwrap().flatten();
        files.for_each(|file| std::fs::remove_file(file.path()).unwrap());
        let path = group.0.clone();
        drop(group);
        assert!(!path.exists());
    }

    #[test]
    fn groups_of_processes_that_are_gone_are_removed() {
        let base = base("memory\n", "memory\n");
        let left = base.path().join("slackline-4194305-0"); // more than any process number
        std::fs::create_dir(&left).unwrap();
        let other = base.path().join("somebody-4194305-0");
        std::fs::create_dir(&other).unwrap();
        prepare(base.path(), std::process::id()).unwrap();
        assert!(!left.exists() && other.exists());
    }

    #[test]
    fn a_kill_from_outside_near_the_grant_is_for_lack_of_memory() {
        let guard = |last| {
            let (kills, exceeded) = (kills_around(), false);
            Guard { grant: 100, group: None, polls: true, peak: last, last, exceeded, kills }
        };
        assert_eq!(guard(91).end(Some(9)), (Some(91), true));
        assert_eq!(guard(89).end(Some(9)), (Some(89), false));
        assert_eq!(guard(91).end(Some(15)), (Some(91), false));
    }

    #[test]
    fn this_process_uses_memory() {
        assert!(resident(std::process::id()).unwrap() > 100_000);
        assert!(proportional(std::process::id()).is_none_or(|bytes| bytes > 100_000));
    }
}
