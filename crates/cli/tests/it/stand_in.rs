//! Runs on a stand-in for Slurm's commands: scripts that start jobs on this machine, and end them as a cluster would.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::Place;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Jobs are folders with the words they were submitted with, their script, and their state. One whose task says
/// that it has too little memory is ended as a whole, as by a kernel, and is then out of memory; so is one that says
/// another state, which it is in then.
const SBATCH: &str = r#"#!/bin/sh
case " $* " in *" --test-only "*) exit 0 ;; esac
n=1; while ! mkdir "$JOBS/$n" 2> /dev/null; do n=$((n + 1)); done
job=$JOBS/$n
printf '%s\n' "$@" > "$job/words"
cat > "$job/script"
echo RUNNING > "$job/state"
(
    export STAND_IN_JOB="$job"
    setsid sh "$job/script" > /dev/null 2>&1 &
    unset STAND_IN_JOB
    while test "$(cat "$job/state")" = RUNNING; do
        if test -e "$job/short"; then
            for p in /proc/[0-9]*; do
                tr '\0' '\n' 2> /dev/null < "$p/environ" | grep -qx "STAND_IN_JOB=$job" && kill -9 "${p#/proc/}"
            done
            echo "$(cat "$job/short" | grep . || echo OUT_OF_MEMORY)" > "$job/state"
        fi
        kill -0 $! 2> /dev/null || { test -e "$job/short" || echo COMPLETED > "$job/state"; }
        sleep 0.05
    done
) > /dev/null 2>&1 &
echo "$n"
"#;

const SQUEUE: &str = r#"#!/bin/sh
for job in "$JOBS"/*; do
    test -e "$job/state" || continue
    echo "${job##*/}|$(cat "$job/state")|$(sed -n 's/^--job-name=//p' "$job/words")|None"
done
"#;

const SCANCEL: &str = r#"#!/bin/sh
for n; do test -e "$JOBS/$n/state" && echo CANCELLED > "$JOBS/$n/state"; done
exit 0
"#;

/// A run of a workflow on the stand-in, every task a job: its document, and a function that gives the words of a job.
fn run(workflow: &str, sinfo: &str) -> (Value, impl Fn(u32) -> String) {
    let place = Place::new();
    let (programs, jobs) = (place.path().join("bin"), place.path().join("jobs"));
    std::fs::create_dir(&programs).unwrap();
    std::fs::create_dir(&jobs).unwrap();
    let scripts = [("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL), ("sinfo", sinfo)];
    for (name, text) in scripts {
        let path = programs.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    place.write("p.toml", "name = \"p\"\n[host.n1]\nspeed = \"1Gf\"\nmemory = \"1GB\"\n");
    place.write("w.toml", workflow);
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let line = "run w.toml --platform p.toml --on slurm --mode job --listen 127.0.0.1 \
                --squeue-interval 200ms --folder r --json";
    let done = Command::new(env!("CARGO_BIN_EXE_slackline"))
        .args(line.split_whitespace())
        .current_dir(place.path())
        .env("PATH", path)
        .env("JOBS", &jobs)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(document["finished"], true);
    // The folder lives as long as what looks into it.
    let words = move |job: u32| {
        std::fs::read_to_string(place.path().join(format!("jobs/{job}/words"))).unwrap()
    };
    (document, words)
}

/// Reasons of failures of a run.
fn reasons(document: &Value) -> Vec<&str> {
    let failures = document["failures"].as_array().unwrap();
    failures.iter().map(|failure| failure["reason"].as_str().unwrap()).collect()
}

#[test]
fn a_job_that_ran_out_of_memory_is_submitted_again_with_more() {
    // With less than 60 MB it says so, and waits for its end.
    let command =
        "test $SLACKLINE_MEMORY -gt 60000000 || { touch $STAND_IN_JOB/short; sleep 600; }";
    let workflow = format!("[task.a]\ncommand = \"{command}\"\nmemory = \"32MB\"\ntime = \"1s\"\n");
    let (document, words) = run(&workflow, "#!/bin/sh\n");
    let reasons = reasons(&document);
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert!(reasons[0].contains("ran out of memory: 32 MB were not enough"), "{reasons:?}");
    // In mebibytes, rounded up.
    assert!(words(1).contains("--mem=31M\n") && words(2).contains("--mem=62M\n"), "{}", words(2));
}

#[test]
fn a_job_whose_time_was_over_is_submitted_again_for_longer() {
    // A thousand seconds and half as much again, then twice that; the partition allows 48 minutes.
    let command = "test -e $JOBS/3 || { echo TIMEOUT > $STAND_IN_JOB/short; sleep 600; }";
    let workflow = format!("[task.a]\ncommand = \"{command}\"\ntime = \"1000s\"\n");
    let sinfo = "#!/bin/sh\ncase $* in *%P*) echo 'main*|48:00'; echo 'short|2:00' ;; esac\n";
    let (document, words) = run(&workflow, sinfo);
    let reasons = reasons(&document);
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons.iter().all(|why| why.contains("TIMEOUT")), "{reasons:?}");
    for (job, minutes) in [(1, 25), (2, 48), (3, 48)] {
        assert!(words(job).contains(&format!("--time={minutes}\n")), "{}", words(job));
    }
}
