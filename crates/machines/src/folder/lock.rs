//! The lock of a run folder: one process drives a run. Two mechanisms hold together, because neither is
//! enough: `flock` on the file `lock` ends with its process, but on some network file systems it is
//! known to one machine only; the file `holder` is created by an atomic link, which all machines see,
//! but a killed process leaves it behind. It counts as left behind only if it is of this machine.

use super::{FolderError, at};
use crate::attempt::{Process, boot, is_there, process_of};
use crate::private;
use rustix::fs::{Mode, OFlags, openat};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The process that drives a run, and its machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holder {
    /// Host name.
    host: String,
    /// `/etc/machine-id`; empty where there is none.
    #[serde(default)]
    machine: String,
    /// Boot id of the kernel.
    boot: String,
    /// PID namespace of the process.
    #[serde(default)]
    namespace: String,
    #[serde(flatten)]
    process: Process,
}

/// Longest time for which a `flock` may outlive its process: a forked child has it until its exec, which may take a moment
/// on a busy machine.
const INHERITED: Duration = Duration::from_secs(5);

fn line(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim().to_string()).unwrap_or_default()
}

impl Holder {
    /// This process.
    fn own() -> Holder {
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        Holder {
            host: line("/proc/sys/kernel/hostname"),
            machine: line("/etc/machine-id"),
            boot: boot(),
            namespace: namespace.to_string_lossy().into_owned(),
            process: process_of(std::process::id()),
        }
    }

    /// Whether the process is certainly gone. `flocked`: whether the caller holds the `flock` of the folder; false also on
    /// file systems without it.
    fn is_gone(&self, own: &Holder, flocked: bool) -> bool {
        let known = !self.boot.is_empty();
        if known && self.boot == own.boot {
            // One kernel: its `flock` is the same for all processes.
            return flocked || (self.namespace == own.namespace && !is_there(self.process));
        }
        // The same machine has been restarted since. Machines without an id cannot be distinguished.
        known
            && !self.machine.is_empty()
            && (&self.host, &self.machine) == (&own.host, &own.machine)
    }

    fn describe(&self) -> String {
        let Holder { host, process, .. } = self;
        format!("process {} on {host}", process.pid)
    }
}

/// The process that drives a run, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrivingProcess {
    /// Name of its machine.
    pub host: String,
    /// Its number there.
    pub pid: u32,
    /// Whether it runs on this machine, where it can be sent signals.
    pub is_here: bool,
    process: Process,
}

impl DrivingProcess {
    /// The process that holds a folder, unless it is certainly gone.
    pub fn of(root: &Path) -> Option<DrivingProcess> {
        let (holder, own) = (read(&root.join("holder"))?, Holder::own());
        let is_same_boot = !own.boot.is_empty() && holder.boot == own.boot;
        let is_here = is_same_boot && holder.namespace == own.namespace;
        (!holder.is_gone(&own, false)).then_some(DrivingProcess {
            pid: holder.process.pid,
            host: holder.host,
            is_here,
            process: holder.process,
        })
    }

    /// Whether it is still there, as far as this machine can tell.
    pub fn is_there(&self) -> bool {
        !self.is_here || is_there(self.process)
    }

    /// Sends it SIGTERM so that it ends the run in order; `false` where it is on another machine, or gone.
    pub fn terminate(&self) -> bool {
        let number = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        self.is_here
            && is_there(self.process)
            && number.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok())
    }
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    holder: PathBuf,
    own: Holder,
    /// Locked by `flock`, where the file system knows that.
    _file: File,
}

impl Lock {
    /// Takes the lock of a folder.
    pub(super) fn take(root: &Path) -> Result<Lock, FolderError> {
        let (name, holder) = (root.join("lock"), root.join("holder"));
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(rustix::fs::CWD, &name, flags, Mode::RUSR | Mode::WUSR);
        let file = File::from(file.map_err(std::io::Error::from).map_err(at(&name))?);
        let held = |who: Option<Holder>| {
            let who = who.map_or("a process of this machine".to_string(), |h| h.describe());
            FolderError::Held { path: root.into(), holder: who, file: holder.clone() }
        };
        let own = Holder::own();
        let begin = Instant::now();
        let flocked = loop {
            match file.try_lock() {
                Ok(()) => break true,
                Err(TryLockError::WouldBlock) => {
                    let who = read(&holder);
                    let is_gone = who.as_ref().is_some_and(|who| who.is_gone(&own, false));
                    if !is_gone || begin.elapsed() > INHERITED {
                        return Err(held(who));
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
                // The file system knows no such locks.
                Err(TryLockError::Error(_)) => break false,
            }
        };
        for _ in 0..3 {
            match write(root, &holder, &own) {
                Ok(()) => return Ok(Lock { holder, own, _file: file }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(at(&holder)(error)),
            }
            match read(&holder) {
                Some(other) if other.is_gone(&own, flocked) => {
                    let _ = fs::remove_file(&holder); // it may be gone by now
                }
                other => return Err(held(other)),
            }
        }
        Err(held(read(&holder)))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Another process may have taken the folder by force.
        if read(&self.holder).as_ref() == Some(&self.own) {
            let _ = fs::remove_file(&self.holder); // a failure leaves a stale file
        }
    }
}

fn read(path: &Path) -> Option<Holder> {
    serde_json::from_slice(&private::read_file(path).ok()?).ok()
}

/// Creates the file atomically with its content; fails if it exists.
fn write(root: &Path, path: &Path, own: &Holder) -> std::io::Result<()> {
    let part = root.join(format!("holder.{}", private::hex(&private::random::<8>()?)));
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&part)?;
    let written = serde_json::to_vec(own)
        .map_err(std::io::Error::from)
        .and_then(|text| file.write_all(&text))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::hard_link(&part, path));
    let _ = fs::remove_file(&part); // a unique name: a leftover does no harm
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_another_machine_is_never_stale() {
        let own = Holder { machine: "id".to_string(), ..Holder::own() };
        let dead = Process { pid: own.process.pid, started: own.process.started + 1 };
        let here = Holder { process: dead, ..own.clone() };
        let before = Holder { boot: "before".to_string(), ..own.clone() };
        let away = Holder { host: "away".to_string(), ..before.clone() };
        let cloned = Holder { machine: "other".to_string(), ..before.clone() };
        let contained = Holder { namespace: "pid:[1]".to_string(), ..here.clone() };
        for (holder, with, without) in [
            (&own, true, false),
            (&here, true, true),
            (&before, true, true),
            (&away, false, false),
            (&cloned, false, false),
            (&contained, true, false),
        ] {
            assert_eq!(holder.is_gone(&own, true), with, "{holder:?}");
            assert_eq!(holder.is_gone(&own, false), without, "{holder:?}");
        }
        let nameless = Holder { machine: String::new(), ..own };
        let before = Holder { boot: "before".to_string(), ..nameless.clone() };
        assert!(!before.is_gone(&nameless, true));
    }

    #[test]
    fn a_lock_that_a_killed_process_passed_on_is_waited_for() {
        let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let root = folder.path();
        drop(Lock::take(root).unwrap_or_else(|e| panic!("{e}")));
        let own = Holder::own();
        let dead = Process { pid: own.process.pid, started: own.process.started + 1 };
        let gone = Holder { process: dead, ..own };
        write(root, &root.join("holder"), &gone).unwrap_or_else(|e| panic!("{e}"));
        let child = File::open(root.join("lock")).unwrap_or_else(|e| panic!("{e}"));
        child.lock().unwrap_or_else(|e| panic!("{e}"));
        let becomes_another = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            drop(child);
        });
        assert!(Lock::take(root).is_ok());
        let _ = becomes_another.join();
    }

    #[test]
    fn a_lock_names_who_holds_it_and_is_given_back() {
        let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let root = folder.path();
        let take = || Lock::take(root);
        let first = take().unwrap_or_else(|e| panic!("{e}"));
        let error = take().err().map(|e| e.to_string()).unwrap_or_default();
        let own = Holder::own().describe();
        assert!(error.contains(&own) && error.contains("holder"), "{error}");
        drop(first);
        // Another machine, on a file system whose `flock` ends at this one.
        let away = Holder { host: "n17".to_string(), boot: "x".to_string(), ..Holder::own() };
        write(root, &root.join("holder"), &away).unwrap_or_else(|e| panic!("{e}"));
        let error = take().err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains("on n17"), "{error}");
        assert!(write(root, &root.join("holder"), &away).is_err());
        fs::remove_file(root.join("holder")).unwrap_or_else(|e| panic!("{e}"));
        take().unwrap_or_else(|e| panic!("{e}"));
        // A link in its place is not followed.
        let _ = fs::remove_file(root.join("lock"));
        let target = root.join("target");
        std::os::unix::fs::symlink(&target, root.join("lock")).unwrap_or_else(|e| panic!("{e}"));
        assert!(take().is_err() && !target.exists());
    }
}
