//! Ctrl-C and other signals while a file is written: the command ends as a shell expects, nothing is left behind.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn an_interrupted_write_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("w.json"), "old").unwrap();
    let line = ["generate", "workflow", "layered", "--tasks", "400000", "-o", "w.json"];
    let left = ended("INT", &line, folder.path(), Duration::from_secs(120), |_| true);
    assert_eq!(left, (Some(130), vec!["w.json".to_string()]));
    assert_eq!(std::fs::read_to_string(folder.path().join("w.json")).unwrap(), "old");
}

/// A run of 30 million changes of a level, which nobody could keep: its first records are on disk
/// long before its last.
#[test]
fn a_trace_is_written_while_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("w.toml", "[task.long]\nwork = \"1Gf\"\n");
    write("p.toml", "[host.a]\nspeed = \"50f\"\n");
    let course = "availability = [[0, 1.0], [0.5, 0.5]]\nperiod = 1.0\n";
    write("s.toml", &format!("[[host]]\nname = \"a\"\n{course}"));
    let line = ["simulate", "w.toml", "-p", "p.toml", "--scenario", "s.toml", "--trace", "t.jsonl"];
    let grows = |file: &Path| std::fs::metadata(file).is_ok_and(|meta| meta.len() > 1 << 16);
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let left = ended(signal, &line, folder.path(), Duration::from_secs(30), grows);
        let names = ["p.toml", "s.toml", "w.toml"].map(str::to_string);
        assert_eq!(left, (Some(code), names.to_vec()), "{signal}");
    }
}

/// Sends a command a signal when a temporary file is in its folder of which that is true; gives its exit
/// code and the names of what is left there.
fn ended(
    signal: &str,
    line: &[&str],
    folder: &Path,
    patience: Duration,
    is_enough: impl Fn(&Path) -> bool,
) -> (Option<i32>, Vec<String>) {
    // Whoever started the tests may ignore signals (`nohup`), which children inherit.
    let mut child = Command::new("env")
        .args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_slackline")])
        .args(line)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let is_writing = || names().iter().any(|n| n.ends_with(".tmp") && is_enough(&folder.join(n)));
    let until = Instant::now() + patience;
    while !is_writing() && child.try_wait().unwrap().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let was_writing = is_writing();
    Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
    let code = child.wait().unwrap().code();
    assert!(was_writing, "the temporary file was never seen");
    (code, names())
}
