//! Workflows of many samples, and looking at runs: status, log, report, stop, runs without a terminal.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common::{Place, json, runs};
use serde_json::Value;

const PIPELINE: &str = r#"
name = "count"
[samples]
file = "samples.csv"
[params]
word = "a"
up = ".."
[defaults]
seconds = 0.05
[files]
"{sample}.txt" = "1kB"
[task.count]
foreach = "sample"
command = "grep -c {word} {inputs} > {outputs}"
inputs = ["{sample}.txt"]
outputs = ["{sample}.count"]
[task.sum]
command = "cat {inputs} | awk '{ n += $1 } END { print n }' > {outputs}"
inputs = ["{sample}.count"]
outputs = ["sum"]
"#;

fn samples() -> Place {
    let place = Place::new();
    place.write("w.toml", PIPELINE);
    place.write("samples.csv", "sample,group\nS1,x\nS2,x\nit's 3,y\n");
    for name in ["S1", "S2", "it's 3"] {
        place.write(&format!("{name}.txt"), "a b\nb\nab\n");
    }
    place
}

/// Waits until the status of a run is as wanted.
fn wait_for(place: &Place, folder: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut status = Value::Null;
    runs::wait_for("the status", || {
        let done = place.run(&format!("status {folder} --json"));
        if done.code == Some(0) {
            status = json(&done.out);
        }
        wanted(&status)
    });
    status
}

#[test]
fn samples_expand_run_and_are_shown() {
    let place = samples();
    let shown = place.ok("show w.toml");
    assert!(shown.contains("written as 2 tasks, samples of samples.csv, 3 rows"), "{shown}");
    assert!(shown.contains("word = a") && shown.contains("count.S1"), "{shown}");
    let facts = place.json("show w.toml --json --param word=b");
    assert_eq!(facts["tasks"], 4);
    assert_eq!(facts["definition"]["tasks"][0]["foreach"][0], "sample");
    assert_eq!(facts["definition"]["params"][0]["given"], true);
    place.ok("run w.toml --folder r");
    assert_eq!(place.read("r/results/sum"), "6\n");
    place.ok("run w.toml --folder q --param word=b");
    assert_eq!(place.read("q/results/sum"), "9\n");
    // The folder needs neither sheet nor parameters.
    place.ok("replay q");
    std::fs::remove_file(place.path().join("samples.csv")).unwrap();
    place.ok("resume q");
    let error = place.fails(2, "show w.toml");
    assert!(error.contains("w.toml:4:") && error.contains("samples.csv"), "{error}");
}

#[test]
fn bad_definitions_start_nothing() {
    let place = samples();
    let error = place.fails(2, "run w.toml --param wird=b --folder r");
    assert!(error.contains("--param wird") && error.contains("did you mean 'word'?"), "{error}");
    for (from, to, says) in [
        ("{inputs} > {outputs}\"\ninputs", "{smaple}\"\ninputs", "unknown placeholder {smaple}"),
        ("foreach = \"sample\"", "foreach = \"smaple\"", "no column 'smaple'"),
        ("[\"{sample}.count\"]\n[task.sum]", "[\"same\"]\n[task.sum]", "same"),
        (
            "[\"{sample}.count\"]\n[task.sum]",
            "[\"{up}/{sample}\"]\n[task.sum]",
            "leaves its folder",
        ),
    ] {
        let text = PIPELINE.replacen(from, to, 1);
        assert_ne!(text, PIPELINE, "{from}");
        place.write("bad.toml", text);
        let error = place.fails(2, "run bad.toml --folder r");
        assert!(error.contains("bad.toml") && error.contains(says), "{error}");
    }
    place.write("samples.csv", "sample,sample\nS1,x\n");
    let error = place.fails(2, "run w.toml --folder r");
    assert!(error.contains("samples.csv:1:"), "{error}");
    assert!(!place.path().join("r").exists());
}

const FAILING: &str = r#"
name = "mixed"
[task.good]
command = "echo one > good; echo said >&2"
outputs = ["good"]
memory = "100MB"
[task.bad]
command = "cat good; echo first >&2; echo last words >&2; exit 7"
inputs = ["good"]
outputs = ["bad"]
[task.after]
command = "cat bad"
inputs = ["bad"]
"#;

#[test]
fn a_failed_run_is_told() {
    let place = Place::new();
    place.write("w.toml", FAILING);
    let note = "printf '%s %s/%s' $SLACKLINE_STATE $SLACKLINE_TASKS_DONE $SLACKLINE_TASKS > told";
    let words = ["run", "w.toml", "--folder", "r", "--retries", "1", "--notify", note];
    assert_eq!(place.run_words(&words).code, Some(1));
    assert_eq!(place.read("told"), "failed 1/3");
    let status = place.json("status r --json");
    assert_eq!(status["schema"], "slackline/status/1");
    assert_eq!(status["state"], "failed");
    assert_eq!((&status["tasks"], &status["tasks_done"]), (&Value::from(3), &Value::from(1)));
    assert_eq!(status["tasks_failed"], 1);
    assert_eq!(status["failures"][0]["exit"], 7);
    assert_eq!(status["failures"][0]["last_line"], "last words");
    assert!(place.ok("status r").contains("'bad' was given up: exit code 7"));
    let log = place.json("log r --json");
    let attempts = log["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 3);
    assert_eq!(attempts[0]["memory"], 100_000_000);
    assert_eq!((&attempts[2]["attempt"], &attempts[2]["exit"]), (&Value::from(2), &Value::from(7)));
    let text = place.ok("log r bad");
    assert!(
        text.contains("first") && text.contains("last words") && text.contains("exit code 7"),
        "{text}"
    );
    assert!(place.ok("log r good").contains("said"));
    assert_eq!(place.json("log r --failed --json")["attempts"].as_array().unwrap().len(), 2);
    assert!(place.fails(2, "log r bod").contains("did you mean 'bad'?"));
    assert!(place.fails(2, "status nowhere").contains("nowhere"));
    let shown = place.ok("show r");
    assert!(shown.contains("failed") && shown.contains("slackline log r"), "{shown}");
    assert!(place.ok("explain r").contains("repeated after failure"));
    place.ok("advise r");
    place.ok("report r -o page.html");
    let page = place.read("page.html");
    for part in
        ["last words", "Failures", "What decided the makespan", "slackline run", "exit code 7"]
    {
        assert!(page.contains(part), "{part}");
    }
    is_self_contained(&page);
}

/// A page asks for nothing and carries nothing out.
fn is_self_contained(page: &str) {
    assert!(page.starts_with("<!doctype html>") && page.len() < 2_000_000);
    for word in ["<script", "http-equiv", "<iframe", "@import"] {
        assert!(!page.contains(word), "{word}");
    }
    // Parts of a picture may name each other.
    assert!(page.split("url(").skip(1).all(|rest| rest.starts_with(['#', '%'])));
    let addresses = page.split("src=\"").skip(1).chain(page.split("href=\"").skip(1));
    for address in addresses {
        assert!(address.starts_with("data:"), "{}", &address[..40.min(address.len())]);
    }
}

const LONG: &str = r#"
name = "long"
[defaults]
seconds = 0.3
[samples]
n = [1, 2, 3, 4]
[task.quick]
foreach = "n"
command = "sleep 0.1"
[task.slow]
command = "echo $$ > pid; sleep 1000"
after = ["quick"]
"#;

#[test]
fn a_run_without_a_terminal_is_watched_and_stopped() {
    let place = Place::new();
    place.write("w.toml", LONG);
    let text = place.ok("run w.toml --folder r --detach --notify touch${IFS}over");
    assert!(text.contains("slackline status r"), "{text}");
    let status = wait_for(&place, "r", |status| status["state"] == "running");
    assert!(status["process"]["pid"].is_u64());
    let is_at_last = |status: &Value| status["tasks_done"] == 4 && status["tasks_running"] == 1;
    let status = wait_for(&place, "r", is_at_last);
    assert_eq!(status["running"][0]["task"], "slow");
    let end = &status["expected_end"];
    assert!(end["p10"].as_f64() <= end["p90"].as_f64() && end["p50"].is_number(), "{status}");
    // Nobody else can drive it, and nobody's looking disturbs it.
    place.fails(2, "resume r");
    place.ok("report r -o live.html");
    is_self_contained(&place.read("live.html"));
    let stopped = place.json("stop r --json");
    assert_eq!(
        (&stopped["was"], &stopped["state"]),
        (&Value::from("running"), &Value::from("stopped"))
    );
    assert_eq!(place.json("status r --json")["why"], "its user stopped it");
    assert!(place.ok("stop r").contains("was not running"));
    assert!(place.path().join("r/engine.log").is_file());
    runs::wait_for("what was to be told", || place.path().join("over").exists());
    // What is wrong is said at once, and leaves nothing.
    place.write("bad.toml", "[task.a]\nseconds = 1\n");
    place.fails(2, "run bad.toml --folder b --detach");
    assert!(!place.path().join("b").exists());
}

#[test]
fn what_a_killed_engine_left_is_ended() {
    let place = Place::new();
    place.write("w.toml", LONG);
    place.ok("run w.toml --folder r --detach");
    let status = wait_for(&place, "r", |status| status["running"][0]["task"] == "slow");
    let pid = status["process"]["pid"].as_u64().unwrap();
    std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    let status = wait_for(&place, "r", |status| status["state"] == "stopped");
    assert_eq!(status["why"], "its engine is gone without ending it");
    let stopped = place.json("stop r --json");
    assert!(stopped["ended_processes"].as_u64().unwrap() >= 1, "{stopped}");
    assert_eq!(place.json("stop r --json")["ended_processes"], 0);
}
