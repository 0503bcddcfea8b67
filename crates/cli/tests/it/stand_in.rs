//! Runs on a stand-in for Slurm's commands: scripts that start jobs on this machine, and end them as a cluster would.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::Place;
use common::runs::wait_for;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Jobs are folders with the words they were submitted with, their script, and their state. They wait for `WAIT`
/// seconds and last for at most `LIMIT`. One whose task says that it has too little memory is ended as a whole, as by a
/// kernel, and is then out of memory; so is one that says another state, which it is in then.
const SBATCH: &str = r#"#!/bin/sh
case " $* " in *" --test-only "*) exit 0 ;; esac
n=1; while ! mkdir "$JOBS/$n" 2> /dev/null; do n=$((n + 1)); done
job=$JOBS/$n
printf '%s\n' "$@" > "$job/words"
cat > "$job/script"
date +%s.%N > "$job/submitted"
echo PENDING > "$job/state"
end_all() {
    for p in /proc/[0-9]*; do
        tr '\0' '\n' 2> /dev/null < "$p/environ" | grep -qx "STAND_IN_JOB=$job" && kill -9 "${p#/proc/}"
    done
    date +%s.%N > "$job/ended"
}
(
    sleep "${WAIT:-0}"
    test "$(cat "$job/state")" = PENDING || exit
    echo RUNNING > "$job/state"
    export STAND_IN_JOB="$job"
    end=
    if test -n "$LIMIT"; then
        export SLURM_JOB_START_TIME=$(date +%s)
        end=$((SLURM_JOB_START_TIME + LIMIT))
        export SLURM_JOB_END_TIME=$end
    fi
    setsid sh "$job/script" > /dev/null 2>&1 &
    unset STAND_IN_JOB
    while test "$(cat "$job/state")" = RUNNING; do
        if test -e "$job/short"; then
            end_all
            echo "$(cat "$job/short" | grep . || echo OUT_OF_MEMORY)" > "$job/state"
        elif test -n "$end" && test "$(date +%s)" -ge "$end"; then
            end_all
            echo TIMEOUT > "$job/state"
        fi
        kill -0 $! 2> /dev/null || { test -e "$job/short" || test -e "$job/ended" || { end_all; echo COMPLETED > "$job/state"; }; }
        sleep 0.05
    done
    test -e "$job/ended" || end_all
) > /dev/null 2>&1 &
echo "$n"
"#;

const SQUEUE: &str = r#"#!/bin/sh
case $* in *"%A %j"*) sep=' ' ;; *) sep='|' ;; esac
for job in "$JOBS"/*; do
    test -e "$job/state" || continue
    name=$(sed -n 's/^--job-name=//p' "$job/words")
    if test "$sep" = ' '; then
        case $(cat "$job/state") in PENDING|RUNNING) echo "${job##*/} $name" ;; esac
    else
        echo "${job##*/}|$(cat "$job/state")|$name|None"
    fi
done
"#;

const SCANCEL: &str = r#"#!/bin/sh
for n; do test -e "$JOBS/$n/state" && echo CANCELLED > "$JOBS/$n/state"; done
exit 0
"#;

/// The stand-in in a folder of its own, with a platform of one host.
struct StandIn {
    place: Place,
    /// Seconds that jobs wait, and that they last at most.
    wait: &'static str,
    limit: &'static str,
}

impl StandIn {
    fn new(workflow: &str, sinfo: &str) -> StandIn {
        let place = Place::new();
        let programs = place.path().join("bin");
        std::fs::create_dir(&programs).unwrap();
        std::fs::create_dir(place.path().join("jobs")).unwrap();
        let scripts =
            [("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL), ("sinfo", sinfo)];
        for (name, text) in scripts {
            let path = programs.join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        place.write("p.toml", "name = \"p\"\n[host.n1]\nspeed = \"1Gf\"\nmemory = \"1GB\"\n");
        place.write("w.toml", workflow);
        StandIn { place, wait: "0", limit: "" }
    }

    fn slackline(&self, line: &str) -> Command {
        let programs = self.place.path().join("bin");
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_slackline"));
        command
            .args(line.split_whitespace())
            .current_dir(self.place.path())
            .env("PATH", path)
            .env("JOBS", self.place.path().join("jobs"))
            .env("WAIT", self.wait)
            .env("LIMIT", self.limit);
        command
    }

    /// The document of a run or of one that is resumed.
    fn run(&self, line: &str) -> Value {
        let done = self.slackline(line).output().unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
        let document: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(document["finished"], true);
        document
    }

    /// A file of a job, once it is there and has something in it.
    fn of_job(&self, job: u32, file: &str) -> Option<String> {
        let path = self.place.path().join(format!("jobs/{job}/{file}"));
        std::fs::read_to_string(path).ok().filter(|text| !text.is_empty())
    }

    fn words(&self, job: u32) -> String {
        self.of_job(job, "words").unwrap_or_default()
    }

    fn date(&self, job: u32, file: &str) -> f64 {
        self.of_job(job, file).unwrap().trim().parse().unwrap()
    }

    /// Jobs that wait or run.
    fn alive(&self) -> Vec<u32> {
        let alive = |job: &u32| {
            let state = self.of_job(*job, "state").unwrap_or_default();
            ["PENDING", "RUNNING"].contains(&state.trim())
        };
        (1..50).filter(alive).collect()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.place.path().join("r/log.jsonl")).unwrap_or_default()
    }
}

/// Every task a job, and a run that says what its jobs have said soon.
const JOBS: &str = "run w.toml --platform p.toml --on slurm --mode job --listen 127.0.0.1 \
                    --squeue-interval 200ms --folder r --json";

/// Pilots.
const PILOTS: &str = "run w.toml --platform p.toml --on slurm --listen 127.0.0.1 \
                      --squeue-interval 200ms --folder r --json";

/// A run of a workflow on the stand-in, every task a job: its document, and a function that gives the words of a job.
fn run(workflow: &str, sinfo: &str) -> (Value, impl Fn(u32) -> String) {
    let cluster = StandIn::new(workflow, sinfo);
    let document = cluster.run(JOBS);
    // The folder lives as long as what looks into it.
    (document, move |job: u32| cluster.words(job))
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

/// The words of jobs of a kind, and of pilots.
#[test]
fn options_of_the_platform_are_words_of_jobs() {
    let task = "[task.a]\nkind = \"fast\"\ncommand = \"true\"\ntime = \"1s\"\nmemory = \"20MB\"\n";
    for (line, partition) in [(JOBS, "gpu"), (PILOTS, "long")] {
        let cluster = StandIn::new(task, "#!/bin/sh\n");
        let platform = cluster.place.read("p.toml");
        let table = "[slurm]\npartition = \"long\"\naccount = \"p1\"\nqos = \"high\"\nconstraint = \"ssd\"\n\
                     [slurm.kind.fast]\npartition = \"gpu\"\n";
        cluster.place.write("p.toml", platform + table);
        cluster.run(line);
        let words = cluster.words(1);
        for word in
            ["--account=p1", "--qos=high", "--constraint=ssd", &format!("--partition={partition}")]
        {
            assert!(words.lines().any(|own| own == word), "{word}: {words}");
        }
    }
}

/// What a batch job asked for after one was too short is known to an engine that resumes, whether the next one ended
/// before, or while it drives the run.
#[test]
fn a_doubled_time_outlives_the_engine() {
    for ends_before in [true, false] {
        // The first ends at once, the second when it is told.
        let command = "test -e $JOBS/3 && exit 0; test -e $JOBS/2 && until test -e $JOBS/go; do sleep 0.1; done; \
                       echo TIMEOUT > $STAND_IN_JOB/short; sleep 600";
        let workflow = format!("[task.a]\ncommand = \"{command}\"\ntime = \"1000s\"\n");
        let cluster = StandIn::new(&workflow, "#!/bin/sh\n");
        let mut child = cluster.slackline(JOBS).stdout(Stdio::null()).spawn().unwrap();
        wait_for("the second attempt", || cluster.log().matches("\"process\"").count() == 2);
        child.kill().unwrap();
        child.wait().unwrap();
        let go = || std::fs::write(cluster.place.path().join("jobs/go"), "").unwrap();
        let document = if ends_before {
            go();
            wait_for("its end", || {
                cluster.of_job(2, "state").is_some_and(|state| state.contains("TIMEOUT"))
            });
            cluster.run("resume r --json")
        } else {
            std::thread::scope(|scope| {
                let resumed = scope.spawn(|| cluster.run("resume r --json"));
                wait_for("another engine", || cluster.log().matches("\"driven\"").count() == 2);
                std::thread::sleep(Duration::from_secs(3)); // the pilot calls it
                go();
                resumed.join().unwrap()
            })
        };
        assert_eq!(document["finished"], true);
        // 1.5 times the estimate, twice that, and twice again where the engine saw the end.
        let minutes = [25, 50, if ends_before { 50 } else { 100 }];
        for (job, minutes) in (1..).zip(minutes) {
            assert!(
                cluster.words(job).contains(&format!("--time={minutes}\n")),
                "{ends_before}: {}",
                cluster.words(job)
            );
        }
        // A run that is repeated from its log decides the same.
        cluster.place.ok("replay r");
    }
}

/// A pilot of 20 s keeps 2 s free. After 8 s a task that would take 12 s does not begin in it, others do, and it begins
/// with the next.
#[test]
fn a_task_longer_than_the_rest_of_a_pilot_waits_for_the_next() {
    let task = |name: &str, seconds: u32, more: &str| {
        format!("[task.{name}]\ncommand = \"sleep {seconds}\"\ntime = \"{seconds}s\"\n{more}")
    };
    let workflow = task("first", 8, "")
        + &task("long", 12, "after = [\"first\"]\n")
        + &task("short", 2, "after = [\"first\"]\n");
    for policy in ["static", "just-in-time", "slackline"] {
        let mut cluster = StandIn::new(&workflow, "#!/bin/sh\n");
        cluster.limit = "20";
        let document = cluster.run(&format!("{PILOTS} --policy {policy}"));
        assert_eq!(document["failures"].as_array().unwrap().len(), 0, "{policy}: {document}");
        assert!(cluster.log().contains("host-stays"), "{policy}");
        let row = |name: &str| {
            let rows = document["schedule"].as_array().unwrap();
            rows.iter().find(|row| row["task"] == name).unwrap()["start"].as_f64().unwrap()
        };
        assert!(row("short") < row("long"), "{policy}: {document}");
        // The first pilot was ended when it had nothing more to do, and a second brought.
        assert!(cluster.of_job(2, "words").is_some() && cluster.of_job(3, "words").is_none());
        wait_for("the end of all jobs", || cluster.alive().is_empty());
        cluster.place.ok("replay r");
    }
}

/// Twelve tasks of two seconds, for which pilots of 20 s that wait for 5 s in the queue have too little time.
fn many() -> StandIn {
    let task = |n| format!("[task.t{n}]\ncommand = \"sleep 2\"\ntime = \"2s\"\n");
    let mut cluster = StandIn::new(&(0..12).map(task).collect::<String>(), "#!/bin/sh\n");
    (cluster.wait, cluster.limit) = ("5", "20");
    cluster
}

#[test]
fn the_next_pilot_is_asked_for_before_this_one_ends() {
    let cluster = many();
    let document = cluster.run(PILOTS);
    assert_eq!(document["failures"].as_array().unwrap().len(), 0, "{document}");
    let (asked, ended) = (cluster.date(2, "submitted"), cluster.date(1, "ended"));
    assert!(asked + 1.5 < ended, "asked for at {asked}, the first ended at {ended}");
    // There is no work for a third.
    assert!(cluster.of_job(3, "words").is_none(), "{}", cluster.words(3));
    wait_for("the end of all jobs", || cluster.alive().is_empty());
    cluster.place.ok("replay r");
}

/// The engine is killed while one pilot works and the next waits: both serve the one that resumes. `stop` leaves none.
#[test]
fn resume_and_stop_know_the_next_pilot() {
    let cluster = many();
    let mut child = cluster.slackline(PILOTS).stdout(Stdio::null()).spawn().unwrap();
    wait_for("the next pilot", || cluster.alive() == [1, 2]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(cluster.alive(), [1, 2]);
    let document = cluster.run("resume r --json");
    assert_eq!(document["tasks"], 12);
    assert!(cluster.of_job(3, "words").is_none(), "{}", cluster.words(3));
    wait_for("the end of all jobs", || cluster.alive().is_empty());
    cluster.place.ok("replay r");

    let cluster = many();
    let detached = PILOTS.replace("--json", "--detach");
    assert!(cluster.slackline(&detached).output().unwrap().status.success());
    wait_for("the next pilot", || cluster.of_job(2, "words").is_some());
    let stopped = cluster.slackline("stop r --json").output().unwrap();
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    wait_for("the end of all jobs", || cluster.alive().is_empty());
}
