//! Runs on a stand-in for Slurm's commands: scripts that start jobs on this machine, and end them as a cluster would.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::Place;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Jobs are folders with the words they were submitted with, their script, and their state. One whose task says
/// that it has too little memory is ended as a whole, as by a kernel, and is then out of memory.
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
            echo OUT_OF_MEMORY > "$job/state"
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

#[test]
fn a_job_that_ran_out_of_memory_is_submitted_again_with_more() {
    let place = Place::new();
    let (programs, jobs) = (place.path().join("bin"), place.path().join("jobs"));
    std::fs::create_dir(&programs).unwrap();
    std::fs::create_dir(&jobs).unwrap();
    let scripts = [("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL)];
    let scripts = scripts.into_iter().chain([("sinfo", "#!/bin/sh\n")]);
    for (name, text) in scripts {
        let path = programs.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    place.write("p.toml", "name = \"p\"\n[host.n1]\nspeed = \"1Gf\"\nmemory = \"1GB\"\n");
    // With less than 60 MB it says so, and waits for its end.
    let command =
        "test $SLACKLINE_MEMORY -gt 60000000 || { touch $STAND_IN_JOB/short; sleep 600; }";
    place.write(
        "w.toml",
        format!("[task.a]\ncommand = \"{command}\"\nmemory = \"32MB\"\ntime = \"1s\"\n"),
    );
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
    let failures = document["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 1, "{failures:?}");
    let reason = failures[0]["reason"].as_str().unwrap();
    assert!(reason.contains("ran out of memory: 32 MB were not enough"), "{reason}");
    // In mebibytes, rounded up.
    let words = |job: u32| std::fs::read_to_string(jobs.join(format!("{job}/words"))).unwrap();
    assert!(words(1).contains("--mem=31M\n") && words(2).contains("--mem=62M\n"), "{}", words(2));
}
