//! Files that a process may have open at once: as many as the system permits for whoever makes attempts, as
//! many as before for what attempts start.

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use std::sync::OnceLock;

/// The limit that this process was started with, where it has been raised.
static BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// Raises the limit of open files of this process to the highest that is permitted. Programs of attempts
/// keep the one that this process was started with: some close, or select on, every number below it.
pub fn raise_open_files() {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    if before.current != before.maximum && setrlimit(Resource::Nofile, raised).is_ok() {
        let _ = BEFORE.set(before); // the first counts
    }
}

/// Gives a process that was just started the limit that this one was started with.
pub(super) fn restore_open_files(pid: Pid) {
    if let Some(before) = BEFORE.get() {
        let _ = prlimit(Some(pid), Resource::Nofile, *before); // it may have ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_for_this_process_only() {
        let before = getrlimit(Resource::Nofile);
        raise_open_files();
        let raised = getrlimit(Resource::Nofile);
        assert_eq!(raised.current, before.maximum);
        let sleeper = std::process::Command::new("sleep").arg("5").spawn();
        let Ok(mut sleeper) = sleeper else { return };
        if let Some(pid) = i32::try_from(sleeper.id()).ok().and_then(Pid::from_raw) {
            restore_open_files(pid);
            let limits = std::fs::read_to_string(format!("/proc/{}/limits", sleeper.id()));
            let limits = limits.unwrap_or_default();
            let line = limits.lines().find(|line| line.starts_with("Max open files"));
            let soft = line.and_then(|line| line.split_whitespace().nth(3)).map(str::to_string);
            assert_eq!(soft, before.current.map(|soft| soft.to_string()));
        }
        let _ = sleeper.kill();
        let _ = sleeper.wait();
    }
}
