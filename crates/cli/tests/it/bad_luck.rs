//! Bad luck of real runs that needs more of the machine than a folder: full disks, clocks that jump,
//! stores that lose what they share.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::Place;
use common::runs::{assert_right, executions, expected, lines, montage, wait_for};
use std::io::Write;
use std::process::{Command, Output, Stdio};

const SLACKLINE: &str = env!("CARGO_BIN_EXE_slackline");

/// Runs a shell script that may mount disks nobody else sees; none where that is not permitted, which
/// is said whatever hides the words of tests.
fn with_disks(place: &Place, script: &str) -> Option<Output> {
    let apart = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-euc", script]);
        command.current_dir(place.path()).env("SLACKLINE", SLACKLINE);
        command.output()
    };
    let may = apart("mkdir probe; mount -t tmpfs none probe");
    if !may.is_ok_and(|done| done.status.success()) {
        let mut stderr = std::io::stderr();
        stderr.write_all(b"no disks can be mounted here: full ones are not tried\n").unwrap();
        return None;
    }
    Some(apart(script).unwrap())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Tasks that write more than there is room for, all at once.
#[test]
fn a_disk_that_is_full_has_room_later() {
    let place = Place::new();
    let mut workflow = String::new();
    for task in 0..4 {
        workflow += &format!(
            "[task.t{task}]\ncommand = \"head -c 3000000 /dev/zero > o{task} && sleep 0.2\"\noutputs = [\"o{task}\"]\ntime = \"200ms\"\n"
        );
    }
    place.write("w.toml", workflow);
    let script = "mkdir disk; mount -t tmpfs -o size=4m none disk; \
        $SLACKLINE run w.toml --platform four-sites --scratch disk --retries 9 --folder r";
    let Some(done) = with_disks(&place, script) else { return };
    let said = text(&done.stderr);
    assert!(done.status.success(), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    let (begun, done) = executions(&place.path().join("r"));
    assert!(done.len() == 4 && begun.values().sum::<usize>() > 4);
    assert_eq!(std::fs::read(place.path().join("r/results/o3")).unwrap().len(), 3_000_000);
    place.ok("simulate --replay r");
}

/// A run whose log finds no room ends, names the command that continues it, and continues.
#[test]
fn a_log_without_room_loses_nothing_that_was_done() {
    let place = Place::new();
    let mut workflow = String::new();
    for task in 0..10 {
        workflow += &format!(
            "[task.t{task}]\ncommand = \"head -c 400000 /dev/zero > o{task} && sleep 0.05\"\noutputs = [\"o{task}\"]\ntime = \"50ms\"\n"
        );
    }
    place.write("w.toml", workflow);
    let script = "mkdir disk; mount -t tmpfs -o size=2m none disk; \
        $SLACKLINE run w.toml --platform four-sites --retries 99 --folder disk/r && exit 9; \
        mount -o remount,size=40m disk; cp disk/r/log.jsonl before; \
        $SLACKLINE resume disk/r; $SLACKLINE simulate --replay disk/r; cp -r disk/r r";
    let Some(done) = with_disks(&place, script) else { return };
    let said = text(&done.stderr);
    assert!(done.status.success(), "{said}");
    let ended = said.contains("go on with: slackline resume");
    assert!(said.contains("No space left on device") && ended, "{said}");
    let (_, done) = executions(&place.path().join("r"));
    assert!(done.len() == 10 && done.values().all(|&times| times == 1), "{done:?}");
    for task in 0..10 {
        let made = std::fs::metadata(place.path().join(format!("r/results/o{task}"))).unwrap();
        assert_eq!(made.len(), 400_000);
    }
}

/// The date of the machine jumps by two days whenever somebody looks at it.
#[test]
fn a_clock_that_jumps_changes_nothing() {
    const JUMPS: &str = "#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    static long calls;
    if (!real) real = dlsym(RTLD_NEXT, \"clock_gettime\");
    int done = real(id, now);
    if (id == CLOCK_REALTIME) now->tv_sec += ++calls % 2 ? 86400 : -86400;
    return done;
}
";
    let place = Place::new();
    place.write("jumps.c", JUMPS);
    let words = ["-shared", "-fPIC", "-o", "jumps.so", "jumps.c", "-ldl"];
    let made = Command::new("cc").args(words).current_dir(place.path()).status();
    assert!(made.unwrap().success());
    montage(&place, 25, "0.02");
    let slackline = |line: &str| {
        let mut command = Command::new(SLACKLINE);
        command.args(line.split(' ')).current_dir(place.path());
        command.env("LD_PRELOAD", place.path().join("jumps.so"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let run = place.path().join("r");
    let line = "run m/montage.json --platform four-sites --policy slackline --folder r";
    let mut child = slackline(line).spawn().unwrap();
    wait_for("some of the log", || lines(&run.join("log.jsonl")) > 30);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(slackline("resume r").status().unwrap().success());
    // It did jump: two drives of a second began two days apart.
    let log = place.read("r/log.jsonl");
    let dates = log.split("\"since\":").skip(1).filter_map(|rest| rest.split(['}', ',']).next());
    let dates: Vec<f64> = dates.filter_map(|date| date.parse().ok()).filter(|d| *d > 1e9).collect();
    let (least, most) = dates.iter().fold((f64::MAX, 0.0f64), |(a, b), d| (d.min(a), d.max(b)));
    let began: f64 =
        log.split("\"began\":").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert!((most - least).max((began - least).abs()) > 100_000.0, "{dates:?} {began}");
    let (_, done) = executions(&run);
    assert!(done.values().all(|&times| times == 1), "{done:?}");
    assert_right(&run, &expected(&place, "m/montage.json"));
    place.ok("simulate --replay r");
}

/// A store that two hosts share loses a file that both have still to read: it is made again.
#[test]
fn a_shared_file_that_is_lost_is_made_again() {
    let place = Place::new();
    let shared = "[cluster.main]\nnumbers = \"1-2\"\nnames = \"n{}\"\nspeed = \"1Gf\"\nshared-storage = true\n";
    place.write("nodes.toml", shared);
    let read = "while ! test -e $GO; do sleep 0.02; done; cat first > ";
    let go = place.path().join("go").display().to_string();
    let mut workflow = String::from(
        "[task.first]\ncommand = \"echo x > first\"\noutputs = [\"first\"]\ntime = \"10ms\"\n",
    );
    // The waiting tasks hold the hosts; those behind them find the file gone.
    for task in 0..2 {
        workflow += &format!(
            "[task.hold{task}]\ncommand = \"{read} h{task}\"\ninputs = [\"first\"]\noutputs = [\"h{task}\"]\ntime = \"100ms\"\n"
        );
        workflow += &format!(
            "[task.late{task}]\ncommand = \"cat first > l{task}\"\ninputs = [\"first\"]\noutputs = [\"l{task}\"]\ntime = \"10ms\"\n"
        );
    }
    place.write("w.toml", workflow.replace("$GO", &go));
    let run = place.path().join("r");
    let mut child = Command::new(SLACKLINE)
        .args("run w.toml --platform nodes.toml --policy static --folder r".split(' '))
        .current_dir(place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = || std::fs::read_to_string(run.join("log.jsonl")).unwrap_or_default();
    wait_for("both hosts to be held", || begun().matches("\"process\"").count() == 3);
    std::fs::remove_file(run.join("hosts/n1/files/first")).unwrap();
    std::fs::write(&go, "").unwrap();
    assert!(child.wait().unwrap().success());
    for name in ["h0", "h1", "l0", "l1"] {
        assert_eq!(place.read(&format!("r/results/{name}")), "x\n");
    }
    let (_, done) = executions(&run);
    assert_eq!(done.get(&0), Some(&2), "the first task is done again: {done:?}");
    assert!(begun().contains("copy-lost"));
    place.ok("simulate --replay r");
}

/// Tasks whose outputs differ each time, on hosts of very different speed that share a store. They do not
/// listen when they are asked to end. All that any attempt ever read goes to a ledger.
fn restless(place: &Place, name: &str) {
    let ledger = place.path().join(format!("{name}.ledger")).display().to_string();
    let (layers, width) = (4, 6);
    let mut workflow = String::new();
    for layer in 0..layers {
        for column in 0..width {
            let mut inputs = Vec::new();
            if layer > 0 {
                inputs = vec![column, (column + 1) % width];
            }
            let inputs: Vec<String> =
                inputs.iter().map(|from| format!("f{}-{from}", layer - 1)).collect();
            let mut command = "trap '' TERM; ".to_string();
            for input in &inputs {
                command += &format!("read line < {input}; echo {input} $line >> {ledger}; ");
            }
            let output = format!("f{layer}-{column}");
            command +=
                "case $SLACKLINE_HOST in n2) sleep 0.4;; n3) sleep 0.2;; *) sleep 0.03;; esac; ";
            command += &format!("echo $SLACKLINE_ATTEMPT $$ $(date +%s.%N) > {output}");
            workflow += &format!(
                "[task.t{layer}-{column}]\nkind = \"nap\"\ncommand = \"{command}\"\ninputs = {inputs:?}\noutputs = [\"{output}\"]\ntime = \"30ms\"\n"
            );
        }
    }
    place.write(&format!("{name}.toml"), workflow);
}

/// Outputs of finished tasks in the log: file numbers and checksums, in order.
fn logged_checksums(run: &std::path::Path) -> Vec<(u64, String)> {
    let text = std::fs::read_to_string(run.join("log.jsonl")).unwrap();
    let mut found = Vec::new();
    for line in text.lines().skip(1) {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        for signal in record["next"]["signals"].as_array().into_iter().flatten() {
            for pair in signal["what"]["done"][1]["checksums"].as_array().into_iter().flatten() {
                found.push((pair[0].as_u64().unwrap(), pair[1].as_str().unwrap().to_string()));
            }
        }
    }
    found
}

/// The engine is killed again and again while policies move tasks to faster hosts and what they stopped
/// ends all the same. Every reader saw the file whose checksum is in the log, once for each file.
/// `SLACKLINE_KILL_CYCLES` says how often it is killed.
#[test]
fn one_result_counts_however_often_the_engine_is_killed() {
    let cycles = std::env::var("SLACKLINE_KILL_CYCLES").ok().and_then(|text| text.parse().ok());
    let cycles: usize = cycles.unwrap_or(5);
    let place = Place::new();
    let nodes = "[cluster.main]\nnumbers = \"1-3\"\nnames = \"n{}\"\nspeed = \"1Gf\"\nshared-storage = true\n";
    place.write("nodes.toml", nodes);
    let policies = ["gtp/c", "slackline", "gtp/c/r", "aheft"];
    let (mut kills, mut runs, mut moved) = (0, 0, 0);
    while kills < cycles {
        let name = format!("w{runs}");
        restless(&place, &name);
        let run = place.path().join(&name);
        let log = run.join("log.jsonl");
        let policy = policies[runs % policies.len()];
        let first =
            format!("run {name}.toml --platform nodes.toml --policy {policy} --folder {name}");
        let resume = format!("resume {name}");
        let mut line = first.as_str();
        loop {
            let mut child = Command::new(SLACKLINE)
                .args(line.split(' '))
                .current_dir(place.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let seen = lines(&log);
            let more = 3 + kills * 7 % 23;
            let mut over = None;
            wait_for("more of the log", || {
                over = child.try_wait().unwrap();
                over.is_some() || (kills < cycles && lines(&log) > seen.max(1) + more)
            });
            if let Some(status) = over {
                assert!(status.success(), "{policy}: {line}");
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
            line = &resume;
        }
        let stored = run.join("hosts/n1/files");
        let logged = logged_checksums(&run);
        let mut files: Vec<u64> = logged.iter().map(|(file, _)| *file).collect();
        files.sort_unstable();
        files.dedup();
        assert_eq!((files.len(), logged.len()), (24, 24), "{policy}: each file is made once");
        let mut known: Vec<&str> = logged.iter().map(|(_, checksum)| checksum.as_str()).collect();
        let mut found: Vec<String> = std::fs::read_dir(&stored)
            .unwrap()
            .map(|entry| {
                slackline_core::machines::attempt::checksum(&entry.unwrap().path()).unwrap()
            })
            .collect();
        known.sort_unstable();
        found.sort_unstable();
        assert_eq!(known, found, "{policy}: what is in the store");
        for seen in place.read(&format!("{name}.ledger")).lines() {
            let (file, content) = seen.split_once(' ').unwrap();
            let kept = std::fs::read_to_string(stored.join(file)).unwrap();
            assert_eq!(content, kept.trim_end(), "{policy}: {file}");
        }
        assert_eq!(std::fs::read_dir(run.join("hosts/n1/made")).unwrap().count(), 0);
        place.ok(&format!("simulate --replay {name}"));
        moved += common::runs::stopped(&run);
        runs += 1;
    }
    let told = format!("{kills} kills in {runs} runs, {moved} attempts stopped\n");
    std::io::stderr().write_all(told.as_bytes()).unwrap();
    assert!(cycles < 50 || moved > 0, "no task was moved");
}

/// Fewer open files than attempts need at once: those that find none are tried again.
#[test]
fn too_few_open_files_are_waited_for() {
    let place = Place::new();
    let mut workflow = String::new();
    for task in 0..24 {
        workflow += &format!(
            "[task.t{task}]\ncommand = \"sleep 0.2; ulimit -Sn > o{task}\"\noutputs = [\"o{task}\"]\ntime = \"200ms\"\n"
        );
    }
    place.write("w.toml", workflow);
    place.write("p.toml", "[host.h]\nspeed = \"1Gf\"\ncores = 24\n");
    let run = |limits: &str, folder: &str| {
        let script = format!(
            "{limits}; exec {SLACKLINE} run w.toml --platform p.toml --retries 6 --folder {folder}"
        );
        let done = Command::new("sh").args(["-c", &script]).current_dir(place.path()).output();
        let done = done.unwrap();
        let said = text(&done.stderr);
        assert!(done.status.success() && !said.contains("panicked"), "{said}");
        place.read(&format!("{folder}/log.jsonl"))
    };
    // Where more are permitted they are used, but not by what tasks start.
    let log = run("ulimit -Sn 24", "raised");
    assert!(!log.contains("\"failure\""), "{log}");
    assert_eq!(place.read("raised/results/o3"), "24\n");
    let log = run("ulimit -n 34", "scarce");
    assert!(log.contains("Too many open files"));
    let (_, done) = executions(&place.path().join("scarce"));
    assert_eq!(done.len(), 24);
}

/// Programs that are inputs are copied while other attempts start.
#[test]
fn programs_that_were_just_copied_can_be_started() {
    let place = Place::new();
    std::fs::copy("/bin/true", place.path().join("program")).unwrap();
    let mut workflow = "[files]\nprogram = \"30kB\"\n".to_string();
    for task in 0..80 {
        workflow += &format!(
            "[task.t{task}]\ncommand = [\"./program\"]\ninputs = [\"program\"]\ntime = \"10ms\"\n"
        );
    }
    place.write("w.toml", workflow);
    place.write("p.toml", "[host.h]\nspeed = \"1Gf\"\ncores = 16\n");
    place.ok("run w.toml --platform p.toml --policy just-in-time --folder r");
    assert!(!place.read("r/log.jsonl").contains("\"failure\""));
}
