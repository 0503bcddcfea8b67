//! Real runs in which tasks share memory and devices of this machine: nobody takes more than there is, what uses more
//! than it was granted is tried with more, and nothing of that is lost with the engine.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::Place;
use common::runs::wait_for;
use serde_json::Value;
use std::process::{Command, Stdio};

/// The document of a run, and its log.
fn run(place: &Place, line: &str) -> (Value, String) {
    let document = serde_json::from_str(&place.ok(&format!("{line} --json"))).unwrap();
    (document, place.read("r/log.jsonl"))
}

/// A command that has so many bytes for about so many seconds: the last of a pipe are kept until all are there.
fn uses(bytes: u32, seconds: &str) -> String {
    format!("head -c {bytes} /dev/zero | tail -c {bytes} | (sleep {seconds}; wc -c)")
}

#[test]
fn two_tasks_that_fill_more_than_half_of_the_memory_never_run_together() {
    let place = Place::new();
    let lock = place.path().join("lock").display().to_string();
    let command = format!("mkdir {lock} && sleep 0.3 && rmdir {lock}");
    let task = |name: &str| {
        format!("[task.{name}]\ncommand = \"{command}\"\nmemory = \"600MB\"\ntime = \"1s\"\n")
    };
    place.write("w.toml", ["a", "b"].map(task).concat());
    for policy in ["work-stealing", "just-in-time", "static", "slackline"] {
        let (document, log) =
            run(&place, &format!("run w.toml -j 2 --memory 1GB --policy {policy} --folder r"));
        assert_eq!(document["finished"], true, "{policy}");
        assert_eq!(document["failures"].as_array().unwrap().len(), 0, "{policy}: {log}");
        assert_eq!(log.matches("\"memory\":600000000").count(), 2, "{log}");
        std::fs::remove_dir_all(place.path().join("r")).unwrap();
    }
}

#[test]
fn what_uses_more_memory_than_it_was_granted_is_tried_with_more() {
    let place = Place::new();
    // Three times its demand: twice as much would not do, 1.2 times what was seen does.
    let command = uses(90_000_000, "1.5");
    place.write(
        "w.toml",
        format!("[task.a]\ncommand = \"{command}\"\nmemory = \"30MB\"\ntime = \"2s\"\n"),
    );
    let line = "run w.toml --memory 1GB --enforce poll --folder r";
    let (document, log) = run(&place, line);
    assert_eq!(document["finished"], true);
    // One failure, or two where the first was seen before it had all of its memory: of 30 MB, then of more.
    let failures = document["failures"].as_array().unwrap();
    assert!((1..=2).contains(&failures.len()), "{log}");
    for (at, failure) in failures.iter().enumerate() {
        let reason = failure["reason"].as_str().unwrap();
        assert!(reason.contains("ran out of memory"), "{reason}");
        assert_eq!(reason.contains("of 30 MB"), at == 0, "{reason}");
    }
    assert!(log.contains("\"memory\":{\"grant\":30000000,\"peak\":"), "{log}");
    // The log says what each attempt was granted, and repeats.
    assert_eq!(log.matches("\"memory\":30000000").count(), 1, "{log}");
    let again: Value = serde_json::from_str(&place.ok("simulate --replay r --json")).unwrap();
    assert_eq!(again["makespan"], document["makespan"]);
}

#[test]
fn memory_is_not_limited_where_nobody_wants_that() {
    let place = Place::new();
    let command = uses(60_000_000, "0.6");
    place.write(
        "w.toml",
        format!("[task.a]\ncommand = \"{command}\"\nmemory = \"10MB\"\ntime = \"1s\"\n"),
    );
    let (document, _) = run(&place, "run w.toml --memory 1GB --enforce off --folder r");
    assert_eq!(document["failures"].as_array().unwrap().len(), 0);
}

#[test]
fn tasks_with_a_device_each_see_different_ones() {
    let place = Place::new();
    let here = place.path().display().to_string();
    // Both wait until both are there.
    let seen = |name: &str| {
        format!(
            "[task.{name}]\ncommand = \"touch HERE/{name}-is; while ! test -e HERE/a-is || ! test -e \
             HERE/b-is; do sleep 0.05; done; echo $CUDA_VISIBLE_DEVICES > HERE/{name}-sees\"\n\
             gpus = 1\ntime = \"1s\"\n"
        )
    };
    let none =
        "[task.c]\ncommand = \"echo none$CUDA_VISIBLE_DEVICES > HERE/c-sees\"\ntime = \"1s\"\n";
    let text = [seen("a"), seen("b"), none.to_string()].concat();
    place.write("w.toml", text.replace("HERE", &here));
    let (document, log) = run(&place, "run w.toml -j 3 --gpus 2 --folder r");
    assert_eq!(document["finished"], true);
    let seen = |name: &str| place.read(&format!("{name}-sees")).trim().to_string();
    let mut ids = [seen("a"), seen("b")];
    ids.sort();
    assert_eq!(ids, ["0", "1"]);
    assert_eq!(seen("c"), "none");
    assert!(log.contains("\"devices\":[0]") && log.contains("\"devices\":[1]"), "{log}");
}

#[test]
fn nothing_that_ran_before_a_crash_holds_memory_after_it() {
    let place = Place::new();
    let here = place.path().display().to_string();
    // The first attempt at a runs until it is killed with its engine; b needs the same memory.
    let text = "[task.a]\ncommand = \"test -e HERE/begun || { touch HERE/begun; sleep 600; }\"\n\
                memory = \"600MB\"\ntime = \"1s\"\n\
                [task.b]\ncommand = \"echo b\"\nmemory = \"600MB\"\ntime = \"1s\"\n";
    place.write("w.toml", text.replace("HERE", &here));
    let words = "run w.toml -j 2 --memory 1GB --folder r";
    let mut engine = Command::new(env!("CARGO_BIN_EXE_slackline"))
        .args(words.split_whitespace())
        .current_dir(place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the first attempt", || place.path().join("begun").exists());
    engine.kill().unwrap();
    engine.wait().unwrap();
    let document: Value = serde_json::from_str(&place.ok("resume r --json")).unwrap();
    assert_eq!(document["finished"], true);
    let rows = document["schedule"].as_array().unwrap();
    let date = |row: &Value, name: &str| row[name].as_f64().unwrap();
    let (a, b) = (&rows[0], &rows[1]);
    let apart = date(a, "finish") <= date(b, "start") || date(b, "finish") <= date(a, "start");
    assert!(apart, "{rows:?}");
}

#[test]
fn what_is_wrong_with_memory_is_said_before_anything_runs() {
    let place = Place::new();
    place.write("w.toml", "[task.a]\ncommand = \"true\"\nmemory = \"2GB\"\ntime = \"1s\"\n");
    let error = place.fails(1, "run w.toml --memory 1GB --folder r");
    assert!(error.contains("'a'") && error.contains("memory") && error.contains("2 GB"), "{error}");
    for factor in ["1", "0.5", "inf", "two"] {
        let line = format!("run w.toml --memory-factor {factor} --folder r");
        assert!(place.fails(2, &line).contains("above 1"), "{factor}");
    }
    let error = place.fails(2, "run w.toml --enforce hard --folder r");
    assert!(error.contains("auto, cgroup, poll or off"), "{error}");
    place.fails(2, "run w.toml --memory=-1GB --folder r");
    place.fails(2, "run w.toml --memory 1GB --platform four-sites --folder r");
}

#[test]
fn scenarios_say_what_tasks_really_use() {
    let place = Place::new();
    place.write("w.toml", "[task.a]\ntime = \"10s\"\nmemory = \"4GB\"\n");
    place.write(
        "p.toml",
        "[host.small]\nspeed = \"1Gf\"\nmemory = \"16GB\"\n[host.large]\nspeed = \"1Gf\"\nmemory = \"64GB\"\n",
    );
    place.write("s.toml", "[[actual]]\ntask = \"a\"\nmemory = \"21GB\"\nat = \"20%\"\n");
    let line = "simulate w.toml -p p.toml --scenario s.toml --policy just-in-time --json";
    let document: Value = serde_json::from_str(&place.ok(line)).unwrap();
    // 4, 8 and 16 fail after 2 s each.
    assert_eq!(
        (document["failures"].as_u64(), document["makespan"].as_f64()),
        (Some(3), Some(16.0))
    );
    // Three times as much: 4 and 12 fail.
    let document: Value =
        serde_json::from_str(&place.ok(&format!("{line} --memory-factor 3"))).unwrap();
    assert_eq!(
        (document["failures"].as_u64(), document["makespan"].as_f64()),
        (Some(2), Some(14.0))
    );
    let bad = [
        ("task = \"a\"\nmemory = \"21GB\"\nat = 1.5\n", "a part from 0 to 1"),
        ("task = \"a\"\nat = 0.5\n", "give both"),
        ("task = \"a\"\nmemory = \"21 apples\"\n", "21 apples"),
        ("task = \"x\"\nmemory = 1\n", "no task 'x'"),
        ("task = \"a\"\nmemory = -1\n", "-1"),
    ];
    for (entry, wanted) in bad {
        place.write("s.toml", format!("[[actual]]\n{entry}"));
        let error = place.fails(2, line);
        assert!(error.contains(wanted), "{entry}: {error}");
    }
}
