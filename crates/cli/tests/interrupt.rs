//! Ctrl-C while a file is written: the command ends as a shell expects, nothing is left behind.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn an_interrupted_write_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("w.json"), "old").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_slackline"))
        .args(["generate", "workflow", "layered", "--tasks", "400000", "-o", "w.json"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let files = || std::fs::read_dir(folder.path()).unwrap().count();
    let patience = Instant::now() + Duration::from_secs(120);
    while files() < 2 && child.try_wait().unwrap().is_none() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(5));
    }
    let was_writing = files() == 2;
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let code = child.wait().unwrap().code();
    assert!(was_writing, "the temporary file was never seen");
    assert_eq!(code, Some(130));
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("w.json")).unwrap(), "old");
}
