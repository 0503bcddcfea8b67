//! Real runs on folders of this machine: right outputs, bad luck, and going on after it.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::Place;
use common::runs::{
    assert_done_once, assert_right, deliveries, executions, expected, lines, montage, stopped,
    wait_for,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const SITES: &str = "--platform four-sites";

fn spawn(place: &Place, line: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_slackline"))
        .args(line.split_whitespace())
        .current_dir(place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn every_output_is_right_and_the_run_repeats() {
    let place = Place::new();
    montage(&place, 30, "0.002");
    let line =
        format!("run m/montage.json {SITES} --policy slackline --folder r --json --trace t.jsonl");
    let document: Value = serde_json::from_str(&place.ok(&line)).unwrap();
    assert_eq!(document["schema"], "slackline/execution/1");
    assert_eq!(document["finished"], true);
    assert_eq!(document["failures"].as_array().unwrap().len(), 0);
    assert_right(&place.path().join("r"), &expected(&place, "m/montage.json"));
    assert_done_once(&place.path().join("r"), &document);
    assert!(
        place.path().join("r/results/mosaic.jpg").exists()
            || place.path().join("r/results").is_dir()
    );
    // The same decisions, without a machine; the trace is that of the run.
    let again = place.ok("simulate --replay r --json --trace u.jsonl");
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["makespan"], document["makespan"]);
    assert_eq!(again["schedule"], document["schedule"]);
    assert_eq!(place.read("t.jsonl"), place.read("u.jsonl"));
}

#[test]
fn another_policy_than_the_recorded_one_is_caught() {
    let place = Place::new();
    montage(&place, 25, "0.001");
    place.ok(&format!("run m/montage.json {SITES} --policy just-in-time --folder r"));
    let log = place.path().join("r/log.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let (body, _) = first.rsplit_once(",\"crc\":\"").unwrap();
    let body = body.replace("\"just-in-time\"", "\"work-queue\"");
    let crc = crc32(body.as_bytes());
    std::fs::write(&log, format!("{body},\"crc\":\"{crc:08x}\"}}\n{rest}")).unwrap();
    let error = place.fails(1, "simulate --replay r");
    assert!(error.contains("does not repeat"), "{error}");
    // Nor does a run go on like that; what is done is kept under a new plan.
    let text = std::fs::read_to_string(&log).unwrap();
    let left: Vec<&str> = text.lines().collect();
    let left = &left[..left.len() * 2 / 3];
    std::fs::write(&log, format!("{}\n", left.join("\n"))).unwrap();
    let done = left.iter().filter(|line| line.contains("\"made\"")).count();
    let error = place.fails(1, "resume r");
    assert!(error.contains("departs from its log") && error.contains("--retry-failed"), "{error}");
    let said: Value = serde_json::from_str(&place.ok("resume r --retry-failed --json")).unwrap();
    assert_eq!((&said["finished"], &said["policy"]), (&true.into(), &"work-queue".into()));
    assert_eq!(said["up_to_date"].as_u64(), Some(done as u64));
    assert_right(&place.path().join("r"), &expected(&place, "m/montage.json"));
}

/// CRC-32 (IEEE), bit by bit: an independent check of the log's form.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[test]
fn runs_with_failures_repeat_under_policies_of_every_kind() {
    let place = Place::new();
    let once = place.path().join("once").display().to_string();
    let mut text = String::new();
    for task in 0..12 {
        let after = match task {
            0 => String::new(),
            n => format!("inputs = [\"f{}\"]\n", (n - 1) / 3),
        };
        // Every fifth fails at its first attempt.
        let fail = if task % 5 == 2 {
            format!("mkdir {once}-$POLICY-{task} && exit 3; ")
        } else {
            String::new()
        };
        text += &format!(
            "[task.t{task}]\nkind = \"k{}\"\ncommand = \"{fail}echo {task} > f{task}\"\n{after}outputs = [\"f{task}\"]\ntime = \"{}ms\"\n",
            task % 3,
            30 + 10 * (task % 4)
        );
    }
    for (number, policy) in ["static", "gtp/c/r", "slackline", "fdws"].iter().enumerate() {
        place.write("w.toml", text.replace("$POLICY", &number.to_string()));
        let folder = format!("r{number}");
        let line = format!("run w.toml {SITES} --policy {policy} --folder {folder} --json");
        let document: Value = serde_json::from_str(&place.ok(&line)).unwrap();
        assert_eq!(document["failures"].as_array().unwrap().len(), 2, "{policy}");
        let again = place.ok(&format!("simulate --replay {folder} --json"));
        let again: Value = serde_json::from_str(&again).unwrap();
        assert_eq!(again["schedule"], document["schedule"], "{policy}");
    }
}

#[test]
fn the_first_line_of_the_log_says_what_was_run_and_every_line_is_sealed() {
    let place = Place::new();
    place.write("w.toml", "[task.a]\ncommand = [\"true\"]\ntime = \"1s\"\n");
    place.ok(&format!("run w.toml {SITES} --folder r --seed 7"));
    let text = place.read("r/log.jsonl");
    for (number, line) in text.lines().enumerate() {
        let (body, crc) = line.rsplit_once(",\"crc\":\"").unwrap();
        assert_eq!(crc, format!("{:08x}\"}}", crc32(body.as_bytes())), "line {}", number + 1);
        let record: Value = serde_json::from_str(line).unwrap();
        if number == 0 {
            assert_eq!(record["schema"], "slackline/run/1");
            assert_eq!((&record["policy"], &record["seed"]), (&"work-stealing".into(), &7.into()));
            for member in ["version", "workflow", "platform", "settings", "digests"] {
                assert!(!record[member].is_null(), "{member}");
            }
        } else {
            assert_eq!(record["n"], number);
            assert!(record["at"].is_number());
        }
    }
}

#[test]
fn odd_names_and_arguments_pass_as_they_are() {
    let place = Place::new();
    place.write("in put.txt", "x");
    place.write(
        "w.toml",
        r#"
[files]
"in put.txt" = "1B"

[task."it's \"a\"\n/ task"]
command = ["cp", "in put.txt", "$(touch no) 'q' \"d\"\nline"]
inputs = ["in put.txt"]
outputs = ["$(touch no) 'q' \"d\"\nline"]
time = "1s"

[task."..”"]
command = ["sh", "-c", "cat \"$1\" > 'sub/other'", "sh", "$(touch no) 'q' \"d\"\nline"]
inputs = ["$(touch no) 'q' \"d\"\nline"]
outputs = ["sub/../x"]
time = "1s"
"#,
    );
    let error = place.fails(2, &format!("run w.toml {SITES} --folder r"));
    assert!(error.contains("..”") && error.contains("sub/../x"), "{error}");
    let text = place.read("w.toml").replace("outputs = [\"sub/../x\"]", "outputs = [\"other\"]");
    place.write("w.toml", text.replace("'sub/other'", "other"));
    place.ok(&format!("run w.toml {SITES} --folder r"));
    assert_eq!(place.read("r/results/other"), "x");
    assert!(!place.path().join("no").exists());
}

#[test]
fn what_leaves_the_folder_is_refused_before_anything_starts() {
    let place = Place::new();
    let refused = |name: &str, outputs: &str| {
        let text = format!(
            "[task.made]\ncommand = [\"touch\", \"began\"]\noutputs = [\"{outputs}\"]\ntime = \"1s\"\n"
        );
        place.write("w.toml", text);
        let error = place.fails(2, &format!("run w.toml {SITES} --folder {name}"));
        assert!(error.contains("'made'") && error.contains(outputs), "{error}");
        assert!(!place.path().join(name).exists(), "{name}");
    };
    refused("r1", "../out");
    refused("r2", "/tmp/out");
    refused("r3", "a/../../out");
    std::os::unix::fs::symlink("/etc/hostname", place.path().join("far")).unwrap();
    place.write(
        "w.toml",
        "[files]\nfar = \"1B\"\n[task.reader]\ncommand = [\"cat\", \"far\"]\ninputs = [\"far\"]\ntime = \"1s\"\n",
    );
    let error = place.fails(2, &format!("run w.toml {SITES} --folder r4"));
    assert!(error.contains("'reader'") && error.contains("far"), "{error}");
    // An output that is a link is none.
    place.write(
        "w.toml",
        "[task.linker]\ncommand = [\"ln\", \"-s\", \"/etc/hostname\", \"out\"]\noutputs = [\"out\"]\ntime = \"1s\"\n",
    );
    let error = place.fails(1, &format!("run w.toml {SITES} --folder r5 --retries 0"));
    assert!(error.contains("is a link"), "{error}");
}

#[test]
fn failures_are_told_with_what_the_task_said() {
    let place = Place::new();
    place.write(
        "w.toml",
        r#"
[task.good]
command = ["touch", "g"]
outputs = ["g"]
time = "1s"

[task.bad]
command = "echo some words; echo last words >&2; exit 7"
inputs = ["g"]
outputs = ["b"]
time = "1s"

[task.after]
command = ["true"]
inputs = ["b"]
time = "1s"
"#,
    );
    let done = place.run(&format!("run w.toml {SITES} --folder r --retries 1 --json"));
    assert_eq!(done.code, Some(1), "{}", done.err);
    let document: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(document["finished"], false);
    assert_eq!((&document["tasks_done"], &document["attempts"]), (&1.into(), &3.into()));
    let failures = document["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 2);
    assert_eq!(failures[1]["task"], "bad");
    assert_eq!(failures[1]["attempt"], 2);
    assert_eq!(failures[1]["exit"], 7);
    assert_eq!(failures[1]["reason"], "exit code 7");
    assert_eq!(failures[1]["last_lines"][0], "last words");
    assert_eq!(failures[1]["blocks"], 1);
    // Another host first.
    assert_ne!(failures[0]["host"], failures[1]["host"]);
    assert_eq!(place.read("r/tasks/bad/1/stdout"), "some words\n");
    assert_eq!(place.read("r/tasks/bad/2/stderr"), "last words\n");
}

#[test]
fn what_hangs_forks_and_does_not_listen_is_ended_with_all_it_started() {
    let place = Place::new();
    let pid = place.path().join("pid");
    place.write(
        "w.toml",
        format!(
            "[task.stubborn]\ncommand = '''trap \"\" TERM; (trap \"\" TERM; exec sleep 1000) & echo $! > {}; while :; do sleep 1; done'''\ntime = \"1s\"\n[task.leaves]\ncommand = \"sleep 1000 & echo $! > {}2\"\ntime = \"1s\"\n",
            pid.display(),
            pid.display()
        ),
    );
    let line = format!("run w.toml {SITES} --folder r --retries 0 --time-limit 3s --json");
    let done = place.run(&line);
    assert_eq!(done.code, Some(1), "{}", done.err);
    let document: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(document["tasks_done"], 1, "{document}");
    let reason = document["failures"][0]["reason"].as_str().unwrap();
    assert_eq!(reason, "it was not done after 3 s");
    for file in [pid, place.path().join("pid2")] {
        let pid = std::fs::read_to_string(file).unwrap();
        let gone = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            stat.is_ok_and(|s| s[s.rfind(')').unwrap()..].starts_with(") Z"))
                || !Path::new(&format!("/proc/{}", pid.trim())).exists()
        };
        wait_for("the end of a child", gone);
    }
}

#[test]
fn a_killed_engine_goes_on_and_repeats_nothing_that_was_done() {
    let place = Place::new();
    montage(&place, 40, "0.02");
    let run = place.path().join("r");
    let log = run.join("log.jsonl");
    let mut child =
        spawn(&place, &format!("run m/montage.json {SITES} --policy slackline --folder r"));
    for round in 0..4usize {
        let seen = lines(&log);
        wait_for("more of the log", || {
            lines(&log) > seen + 12 + 9 * round || child.try_wait().unwrap().is_some()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        child = spawn(&place, "resume r");
    }
    assert!(child.wait().unwrap().success());
    let (begun, done) = executions(&run);
    assert!(done.values().all(|&times| times == 1), "{done:?}");
    let again = begun.values().filter(|&&times| times > 1).count();
    // At most what was under way, and what the policy stopped.
    assert!(again <= 4 * 4 + stopped(&run), "{begun:?}");
    assert_right(&run, &expected(&place, "m/montage.json"));
    assert!(place.ok("simulate --replay r").contains("every decision the same"));
}

#[test]
fn a_torn_log_is_cut_back_to_its_last_whole_record() {
    let place = Place::new();
    montage(&place, 25, "0.001");
    place.ok(&format!("run m/montage.json {SITES} --folder r"));
    let log = place.path().join("r/log.jsonl");
    // In the middle of a line, also far back: copies that were needed then have been deleted since.
    for (part, of) in [(4, 5), (1, 2), (1, 4)] {
        let whole = std::fs::read(&log).unwrap();
        let middle = whole.len() * part / of;
        let line = middle + whole[middle..].iter().position(|&b| b == b'\n').unwrap();
        std::fs::write(&log, &whole[..line + 6]).unwrap();
        let done = place.run("resume r");
        assert_eq!(done.code, Some(0), "{part}/{of}: {}", done.err);
        assert!(done.err.contains("is not whole"), "{part}/{of}: {}", done.err);
    }
    // A bit that flipped, a line that is missing, a record of another version: no torn end.
    let cuts: [fn(&mut Vec<u8>); 3] = [
        |bytes| {
            let at = bytes.len() * 9 / 10;
            bytes[at] ^= 4;
        },
        |bytes| {
            let mut lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
            lines.remove(lines.len() / 2);
            *bytes = lines.concat();
        },
        |bytes| {
            let whole = String::from_utf8(bytes.clone()).unwrap();
            let number = whole.lines().count();
            let body = format!("{{\"n\":{number},\"at\":1,\"from-the-future\":null");
            let crc = crc32(body.as_bytes());
            bytes.extend(format!("{body},\"crc\":\"{crc:08x}\"}}\n").bytes());
        },
    ];
    let told = ["is not whole", "does not follow", "this version does not know"];
    for (number, (cut, told)) in cuts.iter().zip(told).enumerate() {
        let mut bytes = std::fs::read(&log).unwrap();
        cut(&mut bytes);
        std::fs::write(&log, &bytes).unwrap();
        let refused = place.fails(2, "resume r");
        assert!(refused.contains(told) && refused.contains("--force"), "{refused}");
        assert_eq!(std::fs::read(&log).unwrap(), bytes, "nothing is touched");
        let done = place.run("resume r --force");
        assert_eq!(done.code, Some(0), "{}", done.err);
        let name = if number == 0 { "damaged".into() } else { format!("damaged-{}", number + 1) };
        assert!(done.err.contains(&format!("log.{name}")), "{}", done.err);
        let kept = std::fs::read(log.with_extension(name)).unwrap();
        assert!(bytes.ends_with(&kept) && !kept.is_empty());
    }
    let bytes = std::fs::read(&log).unwrap();
    assert_right(&place.path().join("r"), &expected(&place, "m/montage.json"));
    // Without its first line nobody knows what it was.
    std::fs::write(&log, &bytes[3..]).unwrap();
    assert!(place.fails(2, "resume r").contains("line 1"));
}

#[test]
fn one_folder_one_run_and_ctrl_c_says_how_to_go_on() {
    let place = Place::new();
    place.write(
        "w.toml",
        "[task.long]\ncommand = \"test -e go || sleep 1000\"\ntime = \"1s\"\n"
            .replace("go", &place.path().join("go").display().to_string()),
    );
    let child = spawn(&place, &format!("run w.toml {SITES} --folder r"));
    let log = place.path().join("r/log.jsonl");
    wait_for("the task", || std::fs::read_to_string(&log).is_ok_and(|t| t.contains("\"process\"")));
    assert!(place.fails(2, "resume r").contains("is under way"));
    assert!(place.fails(2, &format!("run w.toml {SITES} --folder r")).contains("r: "));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(130));
    place.write("go", "");
    place.ok("resume r");
    assert!(place.ok(&format!("run w.toml {SITES} --folder r")).contains("up to date"));
    // It is over: nothing is done again.
    let before = place.read("r/log.jsonl").matches("\"process\"").count();
    place.ok("resume r");
    assert_eq!(place.read("r/log.jsonl").matches("\"process\"").count(), before);
}

/// Tasks that do not listen are ended, too; two signals at once are one request; what is ignored from the
/// beginning stays so.
#[test]
fn signals_end_a_run_in_order() {
    for (signals, code, deaf, word) in [
        (vec!["TERM"], 143, true, "run"),
        (vec!["HUP"], 129, false, "run"),
        (vec!["TERM", "HUP", "TERM"], 143, false, "run"),
        (vec!["HUP", "TERM"], 143, false, "nohup"),
    ] {
        let place = Place::new();
        let go = place.path().join("go");
        let trap = if deaf { "trap '' TERM HUP INT; " } else { "" };
        let wait = format!("{trap}until test -e {}; do sleep 0.05; done", go.display());
        place.write("w.toml", format!("[task.t]\ncommand = \"{wait}\"\ntime = \"1s\"\n"));
        let slackline = env!("CARGO_BIN_EXE_slackline");
        // Whoever started the tests may ignore signals (`nohup`), which children inherit.
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP,INT,TERM");
        if word == "nohup" {
            command.arg("nohup");
        }
        command.arg(slackline);
        let line = format!("run w.toml {SITES} --folder r --trace t.jsonl");
        command.args(line.split_whitespace()).current_dir(place.path());
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = place.path().join("r/log.jsonl");
        let text = || std::fs::read_to_string(&log).unwrap_or_default();
        wait_for("the task", || text().contains("\"process\""));
        let record = text().lines().find(|line| line.contains("\"process\"")).unwrap().to_string();
        for signal in &signals {
            let id = child.id().to_string();
            Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap();
            // Another signal that came first could be taken first.
            std::thread::sleep(Duration::from_millis(50));
        }
        let done = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{signals:?}: {err}");
        assert!(err.contains("slackline resume"), "{signals:?}: {err}");
        assert!(text().contains("\"stopped\""), "{signals:?}: {}", text());
        let record: Value = serde_json::from_str(&record).unwrap();
        let process = record["note"]["process"]["pid"].as_u64();
        let process = process.unwrap_or_else(|| panic!("{record}"));
        let state = std::fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
        assert!(!state.contains("until"), "the task continues: {state}");
        let entries = std::fs::read_dir(place.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(names.into_iter().all(|name| !name.ends_with(".tmp")));
        std::fs::write(go, "").unwrap();
        place.ok("resume r");
    }
}

#[test]
fn a_file_and_a_host_that_go_away_are_survived() {
    let place = Place::new();
    let gate = place.path().join("gate");
    place.write(
        "w.toml",
        format!(
            "[task.first]\ncommand = \"echo 1 > one\"\noutputs = [\"one\"]\ntime = \"1s\"\n[task.wait]\ncommand = \"until test -e {}; do sleep 0.05; done; echo 2 > two\"\noutputs = [\"two\"]\ntime = \"1s\"\n[task.last]\ncommand = \"cat one two > three\"\ninputs = [\"one\", \"two\"]\noutputs = [\"three\"]\ntime = \"1s\"\n",
            gate.display()
        ),
    );
    for (case, whole_host) in [("file", false), ("host", true)] {
        let _ = std::fs::remove_file(&gate);
        // Pulled when needed: only one copy of each file.
        let child = spawn(
            &place,
            &format!("run w.toml {SITES} --policy static --transfers pull --folder {case}"),
        );
        let run = place.path().join(case);
        let holder = || -> Option<PathBuf> {
            let hosts = std::fs::read_dir(run.join("hosts")).ok()?;
            hosts.map(|h| h.unwrap().path()).find(|h| h.join("files/one").exists())
        };
        wait_for("the first file", || {
            holder().is_some()
                && std::fs::read_to_string(run.join("log.jsonl")).unwrap().contains("\"done\"")
        });
        let host = holder().unwrap();
        if whole_host {
            std::fs::rename(&host, place.path().join("away")).unwrap();
            wait_for("news of the loss", || {
                std::fs::read_to_string(run.join("log.jsonl")).unwrap().contains("host-lost")
            });
        } else {
            std::fs::remove_file(host.join("files/one")).unwrap();
        }
        std::fs::write(&gate, "").unwrap();
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{case}");
        let result = std::fs::read_to_string(run.join("results/three")).unwrap();
        assert_eq!(result, "1\n2\n", "{case}");
        assert!(place.ok(&format!("simulate --replay {case}")).contains("every decision the same"));
    }
}

#[test]
fn a_rehearsal_starts_nothing() {
    let place = Place::new();
    montage(&place, 25, "0.01");
    let text = place.ok(&format!("run m/montage.json {SITES} --dry-run"));
    assert!(text.contains("makespan") && text.contains("data moved"), "{text}");
    // All of it: where and when each task runs, and what moves.
    let workflow: Value = serde_json::from_str(&place.read("m/montage.json")).unwrap();
    for task in workflow["workflow"]["specification"]["tasks"].as_array().unwrap() {
        let name = task["name"].as_str().unwrap();
        assert!(text.lines().any(|line| line.trim_start().starts_with(name)), "{name}");
    }
    assert!(text.contains("runs on") && text.contains("moves from"), "{text}");
    assert!(!place.path().join("montage.run").exists());
    place.write("w.toml", "[task.a]\ntime = \"1s\"\n");
    assert!(place.fails(2, &format!("run w.toml {SITES}")).contains("has no command"));
}

#[test]
fn runs_teach_and_are_compared() {
    let place = Place::new();
    montage(&place, 25, "0.002");
    place.ok(&format!("plan m/montage.json {SITES} -o plan.json"));
    place.ok(&format!("simulate m/montage.json {SITES} --trace sim.jsonl"));
    place.ok(&format!("run m/montage.json {SITES} --folder r"));
    for before in ["plan.json", "sim.jsonl", "r"] {
        let text = place.ok(&format!("diff {before} r --json --gantt {before}.svg"));
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["schema"], "slackline/difference/1", "{before}");
        assert!(document["kinds"].as_array().unwrap().len() > 3, "{before}");
        assert_eq!(document["hosts"].as_array().unwrap().len(), 4, "{before}");
        assert!(place.read(&format!("{before}.svg")).matches("<svg").count() == 3);
        let same = document["computing"][0] == document["computing"][1];
        assert_eq!(same, before == "r");
    }
    place.ok("calibrate r -o learnt");
    let learnt: Value = serde_json::from_str(&place.read("learnt/calibration.json")).unwrap();
    assert_eq!(learnt["schema"], "slackline/calibration/1");
    let samples: u64 = learnt["kinds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|k| k["seconds"]["samples"].as_u64().unwrap())
        .sum();
    let (_, done) = executions(&place.path().join("r"));
    assert_eq!(samples, done.len() as u64);
    // What was learnt can be planned and run on.
    place.ok("plan learnt/workflow.json --platform learnt/platform.toml");
}

#[test]
fn tasks_without_estimates_are_spread_all_the_same() {
    let place = Place::new();
    let task = |task: usize| format!("[task.t{task}]\ncommand = [\"sleep\", \"0.1\"]\n");
    place.write("w.toml", (0..8).map(task).collect::<String>());
    for policy in ["static", "slackline"] {
        let line = format!("run w.toml {SITES} --policy {policy} --folder {policy} --json");
        let document: Value = serde_json::from_str(&place.ok(&line)).unwrap();
        let placed = document["schedule"].as_array().unwrap().iter();
        let hosts: std::collections::BTreeSet<_> =
            placed.map(|p| p["processor"].to_string()).collect();
        assert_eq!(hosts.len(), 4, "{policy}");
        // A second each was supposed.
        let kind = &document["learnt"]["kinds"][0];
        assert!(kind["samples"] == 8 && kind["value"].as_f64().unwrap() < 0.9, "{kind}");
        place.ok(&format!("simulate --replay {policy}"));
    }
}

#[test]
fn transfers_teach_how_fast_connections_are() {
    let place = Place::new();
    deliveries(&place);
    let line = "run deliveries.toml --platform delivered.toml --throttle --folder r --json";
    let document: Value = serde_json::from_str(&place.ok(line)).unwrap();
    let learnt = &document["learnt"]["connections"][0];
    assert_eq!((&learnt["from"], &learnt["to"]), (&"store".into(), &"desk".into()));
    assert_eq!(learnt["samples"], 8);
    // 10 MB/s, give or take what a busy machine does to single copies.
    let rate = learnt["value"].as_f64().unwrap();
    assert!((5e6..15e6).contains(&rate), "{learnt}");
    place.ok("simulate --replay r");
    place.ok("calibrate r -o learnt");
    let figures: Value = serde_json::from_str(&place.read("learnt/calibration.json")).unwrap();
    let way = &figures["connections"][0];
    assert_eq!(way["bandwidth"]["median"], learnt["value"]);
    assert!(way["latency"].as_f64().is_none_or(|seconds| seconds < 0.2), "{way}");
    let platform = place.read("learnt/platform.toml");
    assert!(platform.starts_with("# Learnt by slackline calibrate from r (20"), "{platform}");
    assert!(platform.contains("# store to desk: ") && platform.contains(", 8 samples"));
    // What comes back was never seen, and stays as it was stated.
    assert!(platform.contains("\"10MBps\", \"free\""), "{platform}");
    place.ok("simulate learnt/workflow.toml --platform learnt/platform.toml");
}

#[test]
fn a_host_that_slows_down_is_left_by_who_reacts() {
    let place = Place::new();
    // Nothing computes: a loaded machine changes little. The third task on a host in the west and
    // all that follow take twelve times as long.
    let count = place.path().join("west-$POLICY").display().to_string();
    let command = format!(
        "if test $SLACKLINE_HOST = west && echo x >> {count} && test $(wc -l < {count}) -gt 2; then sleep 1.2; else sleep 0.1; fi"
    );
    let mut text = String::new();
    for task in 0..36 {
        text +=
            &format!("[task.t{task}]\nkind = \"nap\"\ncommand = \"{command}\"\ntime = \"100ms\"\n");
    }
    let mut ends = Vec::new();
    for policy in ["static", "slackline"] {
        place.write("w.toml", text.replace("$POLICY", policy));
        let line = format!("run w.toml {SITES} --policy {policy} --folder {policy} --json");
        let document: Value = serde_json::from_str(&place.ok(&line)).unwrap();
        assert_eq!(document["finished"], true);
        ends.push(document["makespan"].as_f64().unwrap());
        place.ok(&format!("simulate --replay {policy}"));
    }
    assert!(ends[1] < 0.9 * ends[0], "{ends:?}");
}

/// Every policy of the registry; all get a task that fails, one that does not, and where they take
/// dependencies, one that waits for the failing one.
#[test]
fn every_policy_ends_its_retries_and_does_what_does_not_fail() {
    let place = Place::new();
    let failing = |name: &str| {
        format!("[task.{name}]\ncommand = \"exit 1\"\noutputs = [\"{name}\"]\ntime = \"1s\"\n")
    };
    let good =
        "[task.good]\ncommand = \"sleep 0.1; echo 1 > y\"\noutputs = [\"y\"]\ntime = \"1s\"\n";
    let after = "[task.after]\ncommand = \"cp bad z\"\ninputs = [\"bad\"]\noutputs = [\"z\"]\ntime = \"1s\"\n";
    let alone = failing("bad") + good + &failing("worse");
    place.write("alone.toml", &alone);
    place.write("after.toml", alone + after);
    place.write("one.toml", "name = \"one\"\n[host.h]\ncores = 1\nspeed = \"1Gf\"\nprice = 1\n");
    let policies: Value = serde_json::from_str(&place.ok("algorithms --json")).unwrap();
    let run = |policy: &Value| {
        let (name, needs) = (policy["name"].as_str().unwrap(), policy["needs"].to_string());
        let workflow = if needs.contains("independent") { "alone" } else { "after" };
        let limits = if needs.contains("budget") || needs.contains("deadline") {
            "--budget 1000 --deadline 1000s"
        } else {
            ""
        };
        let folder = name.replace('/', "-");
        let line = format!(
            "run {workflow}.toml -p one.toml --policy {name} --retries 1 --folder {folder} --json {limits}"
        );
        let done = place.run(&line);
        assert_eq!(done.code, Some(1), "{name}: {}{}", done.out, done.err);
        let document: Value = serde_json::from_str(&done.out).unwrap();
        let failures = document["failures"].as_array().unwrap();
        let of = |task: &str| failures.iter().filter(|f| f["task"] == task).count();
        assert_eq!((of("bad"), of("worse"), failures.len()), (2, 2, 4), "{name}: {failures:?}");
        assert_eq!(place.read(&format!("{folder}/results/y")), "1\n", "{name}");
        assert!(done.err.contains("'bad' was abandoned"), "{name}: {}", done.err);
        assert!(done.err.contains("'worse' was abandoned"), "{name}: {}", done.err);
        // The log repeats.
        let again = place.run(&format!("simulate --replay {folder} --json"));
        let again: Value = serde_json::from_str(&again.out).unwrap();
        assert_eq!(again["makespan"], document["makespan"], "{name}");
        assert_eq!(again["schedule"], document["schedule"], "{name}");
    };
    // Most of the time is pauses.
    let policies = policies["policies"].as_array().unwrap();
    std::thread::scope(|scope| {
        for share in policies.chunks(policies.len().div_ceil(8)) {
            scope.spawn(move || share.iter().for_each(run));
        }
    });
}

#[test]
fn tasks_that_say_nothing_leave_nothing_and_large_outputs_may_lack_checksums() {
    let place = Place::new();
    let task = |name: &str, command: &str, output: &str| {
        format!(
            "[task.{name}]\ncommand = \"{command}\"\noutputs = [\"{output}\"]\ntime = \"10ms\"\n"
        )
    };
    let tasks = [
        task("silent", "echo x > small", "small"),
        task("talks", "echo words; head -c 5000 /dev/zero > large", "large"),
    ];
    place.write("w.toml", format!("[defaults]\nsize = \"1kB\"\n{}", tasks.join("")));
    place.ok("run w.toml --folder r --checksum-limit 1kB");
    assert_eq!(place.read("r/tasks/talks/1/stdout"), "words\n");
    assert!(!place.path().join("r/tasks/talks/1/stderr").exists());
    assert!(!place.path().join("r/tasks/silent").exists());
    // One of the two has a checksum; both have sizes, which is what a resumed run goes by then.
    let sums = |run: &str| place.read(&format!("{run}/log.jsonl")).matches("\"checksums\"").count();
    assert_eq!(sums("r"), 1);
    place.ok("simulate --replay r");
    place.ok("resume r");
    place.ok("run w.toml --folder none --no-checksums");
    assert_eq!(sums("none"), 0);
    place.ok("run w.toml --folder all");
    assert_eq!(sums("all"), 2);
    // Machines say how busy they are.
    assert!(place.read("all/log.jsonl").contains("\"load\":{\"load\":"));
}

/// Without estimates one core gets the long task and two more: the other one takes those over.
#[test]
fn no_core_idles_beside_a_task_that_it_could_do() {
    let place = Place::new();
    let task = |name: &str, seconds: f64| {
        format!(
            "[task.{name}]\ncommand = \"sleep {seconds}; echo > o{name}\"\noutputs = [\"o{name}\"]\n"
        )
    };
    let mut workflow = task("long", 2.0);
    for number in 0..5 {
        workflow += &task(&format!("t{number}"), 0.2);
    }
    place.write("w.toml", workflow);
    place.write("p.toml", "[host.h]\nspeed = \"1Gf\"\ncores = 2\n");
    let ends = |line: &str| -> BTreeMap<String, f64> {
        let document: Value = serde_json::from_str(&place.ok(line)).unwrap();
        let schedule = document["schedule"].as_array().unwrap().iter();
        let end = |entry: &Value| {
            (entry["task"].as_str().unwrap().to_string(), entry["finish"].as_f64().unwrap())
        };
        schedule.map(end).collect()
    };
    for policy in ["", " --policy slackline"] {
        let folder = format!("r{}", policy.len());
        let ends = ends(&format!("run w.toml --platform p.toml --folder {folder} --json{policy}"));
        assert!(ends.iter().all(|(task, end)| task == "long" || *end < ends["long"]), "{ends:?}");
        place.ok(&format!("simulate --replay {folder}"));
    }
    // The plan alone waits.
    let ends = ends("run w.toml --platform p.toml --policy static --folder s --json");
    assert!(ends.values().any(|end| *end > ends["long"] + 0.3), "{ends:?}");
}

/// More slots than cores are warned of, and nothing is said twice.
#[test]
fn a_crowded_machine_is_warned_of_once() {
    let place = Place::new();
    place.write("w.toml", "[task.a]\ncommand = \"true\"\n");
    place.write("p.toml", "[host.h]\ncores = 4000\nspeed = \"1Gf\"\n");
    let said = |line: &str| {
        let done = place.run(line);
        assert_eq!(done.code, Some(0), "{}", done.err);
        done.err
    };
    let crowded = said("run w.toml --platform p.toml --folder a");
    assert_eq!(crowded.matches("the platform has 4000 slots and this machine").count(), 1);
    assert_eq!(crowded.matches("count as no work").count(), 1, "{crowded}");
    place.write("p.toml", "[host.h]\nspeed = \"1Gf\"\n");
    assert!(!said("run w.toml --platform p.toml --folder b").contains("slots"));
}

/// Tasks that ran when the engine was stopped begin again at a date of their own, and the time before counts as lost.
#[test]
fn times_after_an_interruption_are_those_of_attempts() {
    let place = Place::new();
    let workflow = [
        "[files]\ngiven = \"1B\"\n",
        "[task.a]\nkind = \"k\"\ncommand = \"sleep 0.3; cat given > a\"\ninputs = [\"given\"]\noutputs = [\"a\"]\ntime = \"300ms\"\n",
        "[task.b]\nkind = \"k\"\ncommand = \"sleep 1.5; cat a a a > b\"\ninputs = [\"a\"]\noutputs = [\"b\"]\ntime = \"1500ms\"\n",
    ];
    place.write("w.toml", workflow.concat());
    place.write("given", "four");
    place.write("p.toml", "[host.h]\nspeed = \"1Gf\"\n");
    let child = spawn(&place, "run w.toml --platform p.toml --folder r");
    let log = place.path().join("r/log.jsonl");
    wait_for("b", || {
        std::fs::read_to_string(&log).is_ok_and(|text| {
            text.contains("\"name\":\"b\"") || text.matches("\"process\"").count() >= 2
        })
    });
    std::thread::sleep(Duration::from_millis(600));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let mut child = child;
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let document: Value = serde_json::from_str(&place.ok("resume r --json")).unwrap();
    let of = |name: &str, member: &str| {
        let schedule = document["schedule"].as_array().unwrap();
        schedule.iter().find(|e| e["task"] == name).unwrap()[member].as_f64().unwrap()
    };
    let stopped = std::fs::read_to_string(&log).unwrap();
    let stopped: Vec<Value> = stopped.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let stopped = stopped.iter().find(|r| r["note"].to_string().contains("stopped")).unwrap();
    let date = stopped["at"].as_f64().unwrap();
    assert!(of("b", "start") >= date - 1e-6, "{document}");
    assert!(document["lost_seconds"].as_f64().unwrap() > 0.3, "{document}");
    // What is learnt knows nothing of the interruption, has real sizes, and runs where it is.
    place.ok("calibrate r -o learnt");
    let learnt = place.read("learnt/calibration.json");
    let learnt: Value = serde_json::from_str(&learnt).unwrap();
    let most = learnt["kinds"][0]["seconds"]["most"].as_f64().unwrap();
    assert!(most < of("b", "finish") - date + 0.01, "{learnt}");
    // The wait of b until the engine was back is no overhead.
    assert_eq!(learnt["overhead"]["samples"], 1, "{learnt}");
    let written = place.read("learnt/workflow.toml");
    for size in ["\"given\" = \"4B\"", "\"a\" = \"4B\"", "\"b\" = \"12B\""] {
        let plain = size.replacen('"', "", 2);
        assert!(written.contains(size) || written.contains(&plain), "{size}: {written}");
    }
    // The run keeps its own files.
    let error = place.fails(2, "calibrate r -o ./r/");
    assert!(error.contains("is the folder of a run"), "{error}");
    place.ok("run learnt/workflow.toml --platform learnt/platform.toml --folder again");
    assert_eq!(place.read("again/results/b"), "fourfourfour");
    place.ok("simulate --replay r");
}

/// A failed run names every task that failed, where to read on, and what waits for it; later, too.
#[test]
fn a_failed_run_names_every_failed_task() {
    let place = Place::new();
    let mut workflow = String::new();
    for number in 0..12 {
        workflow += &format!(
            "[task.bad{number}]\ncommand = \"echo no luck {number} >&2; exit 3\"\noutputs = [\"o{number}\"]\ntime = \"10ms\"\n"
        );
    }
    workflow += "[task.after]\ncommand = \"cat o3\"\ninputs = [\"o3\"]\ntime = \"10ms\"\n";
    workflow += "[task.good]\ncommand = \"echo > good\"\noutputs = [\"good\"]\ntime = \"10ms\"\n";
    place.write("w.toml", workflow);
    place.write("p.toml", "[host.h]\nspeed = \"1Gf\"\ncores = 4\n");
    let lines = ["run w.toml --platform p.toml --retries 0 --folder r", "resume r"];
    for (attempt, line) in (1..).zip(lines) {
        let done = place.run(line);
        assert_eq!(done.code, Some(1), "{}", done.err);
        for number in 0..12 {
            let path = format!("tasks/bad{number}/{attempt}/stderr");
            assert!(done.out.contains(&path), "{path}: {}", done.out);
        }
        let row = done.out.lines().rfind(|line| line.trim().starts_with("bad3 ")).unwrap();
        assert!(row.ends_with(" 1"), "{row}");
    }
    assert!(place.path().join("r/results/good").exists());
    let done = place.run("resume r --json");
    let document: Value = serde_json::from_str(&done.out).unwrap();
    let failures = document["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 12);
    let read =
        |f: &Value| std::fs::read_to_string(place.path().join(f["stderr"].as_str().unwrap()));
    assert!(failures.iter().all(|f| read(f).unwrap().contains("no luck")));
}

/// Copies are held back by what a simulation charges for them, and what is learnt of them is charged once.
#[test]
fn throttled_copies_take_what_a_simulation_predicts() {
    let place = Place::new();
    place.write(
        "p.toml",
        "[cluster.c]\nnumbers = \"1-2\"\nspeed = \"1Gf\"\nbandwidth = \"10MBps\"\nlatency = \"10ms\"\n",
    );
    let mut workflow = "[task.make]\ncommand = \"for f in 0 1 2 3 4 5 6 7 8 9; do head -c 400000 /dev/zero > f$f; done\"\n".to_string();
    let names: Vec<String> = (0..10).map(|file| format!("f{file}")).collect();
    workflow += &format!("outputs = {names:?}\ntime = \"10ms\"\n[files]\n");
    names.iter().for_each(|name| workflow += &format!("{name} = \"400kB\"\n"));
    for name in &names {
        workflow += &format!(
            "[task.read-{name}]\ncommand = \"sleep 0.3; cat {name} > o{name}\"\ninputs = [\"{name}\"]\noutputs = [\"o{name}\"]\ntime = \"300ms\"\n"
        );
    }
    place.write("w.toml", &workflow);
    let makespan = |line: &str| {
        let document: Value = serde_json::from_str(&place.ok(line)).unwrap();
        document["makespan"].as_f64().unwrap()
    };
    let of = |file: &str, rest: &str| {
        makespan(&format!("run {file} --policy static --no-learning --json {rest}"))
    };
    let usual = of("w.toml", "--platform p.toml --dry-run");
    let plain = of("w.toml", "--platform p.toml --dry-run --config network/model:CM02");
    assert!(usual > plain, "{usual} {plain}");
    let real = of("w.toml", "--platform p.toml --throttle --folder r");
    assert!(real > usual - 0.02, "{real} {usual}");
    place.ok("simulate --replay r");
    place.ok("calibrate r -o learnt");
    let platform = place.read("learnt/platform.toml");
    assert!(platform.contains("links = \"measured\""), "{platform}");
    let again = of("learnt/workflow.toml", "--platform learnt/platform.toml --dry-run");
    assert!(again > usual - 0.05, "{again} {usual}");
}

#[test]
fn traces_tell_of_attempts() {
    let place = Place::new();
    place.write(
        "f.toml",
        "[task.good]\ncommand = \"true\"\ntime = \"1s\"\n[task.bad]\ncommand = \"echo no >&2; exit 3\"\ntime = \"1s\"\n",
    );
    assert_eq!(place.run("run f.toml --retries 1 --trace t.json").code, Some(1));
    let trace: Value = serde_json::from_str(&place.read("t.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let attempts = |name: &str| -> Vec<&Value> {
        let own = |e: &&Value| e["ph"] == "X" && e["name"] == name;
        events.iter().filter(own).map(|e| &e["args"]).collect()
    };
    let good = attempts("good");
    assert_eq!((good.len(), &good[0]["exit_code"]), (1, &Value::from(0)));
    assert!(good[0]["stderr"].is_null(), "empty ones are not kept");
    let bad = attempts("bad");
    assert_eq!(bad.len(), 2, "{bad:?}");
    for (number, attempt) in (1..).zip(bad) {
        assert_eq!(attempt["exit_code"], 3);
        let path = attempt["stderr"].as_str().unwrap();
        assert_eq!(path, format!("tasks/bad/{number}/stderr"));
        assert_eq!(place.read(&format!("f.run/{path}")), "no\n");
    }
}
