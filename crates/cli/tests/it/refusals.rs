//! Runs whose jobs a batch system refuses: stand-ins for Slurm's commands say what Slurm
//! would. The real one is asked in `slurm.rs`.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::{Done, Place};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const NODES: &str = "name = \"nodes\"\n[network]\nbandwidth = \"1Gbps\"\nlatency = \"1ms\"\n\
    [host.n1]\nspeed = \"1Gf\"\n[host.n2]\nspeed = \"1Gf\"\n[host.n3]\nspeed = \"1Gf\"\n\
    [host.n4]\nspeed = \"1Gf\"\ncores = 8\n[host.n5]\nspeed = \"1Gf\"\ncores = 8\n";

/// Long enough for a loaded machine, and much less than for ever.
const LONG: Duration = Duration::from_secs(60);

/// A cluster whose commands are these shell scripts.
struct Stand {
    place: Place,
}

impl Stand {
    fn new(commands: &[(&str, &str)]) -> Stand {
        let place = Place::new();
        std::fs::create_dir(place.path().join("bin")).unwrap();
        for (name, script) in commands {
            let path = place.write(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        place.write("nodes.toml", NODES);
        place.write("w.toml", "[task.t]\ncommand = [\"true\"]\ntime = \"1s\"\n");
        Stand { place }
    }

    /// Runs the workflow; a run that hangs is ended, and fails the test.
    fn run(&self, options: &str) -> Done {
        let begin = Instant::now();
        let open = |name| std::fs::File::create(self.place.path().join(name)).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_slackline"))
            .args("run w.toml --on slurm --listen 127.0.0.1 --folder r".split(' '))
            .args(options.split_whitespace())
            .current_dir(self.place.path())
            .env("PATH", format!("{}:/usr/bin:/bin", self.place.path().join("bin").display()))
            .env("PLACE", self.place.path())
            .stdout(Stdio::from(open("out")))
            .stderr(Stdio::from(open("err")))
            .spawn()
            .unwrap();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if begin.elapsed() > LONG => {
                    child.kill().unwrap();
                    panic!("it hangs: {}", self.place.read("err"));
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let (out, err) = (self.place.read("out"), self.place.read("err"));
        Done { code: status.code(), out, err }
    }

    fn began(&self) -> bool {
        self.place.path().join("r").exists()
    }
}

const SINFO: &str = "for n in 1 2 3; do echo \"n$n|idle|1|main*|1|(null)|(null)\"; done\n\
                     for n in 4 5; do echo \"n$n|idle|8|main*|1|(null)|(null)\"; done";
const SQUEUE: &str = "cat \"$PLACE/queue\" 2> /dev/null || true";

#[test]
fn a_run_without_a_platform_or_a_batch_system_does_not_begin() {
    let stand = Stand::new(&[]);
    let done = stand.run("");
    assert_eq!(done.code, Some(2), "{}", done.err);
    assert!(done.err.contains("--platform") && done.err.contains("platform detect"));
    let stand = Stand::new(&[("sbatch", "exit 0")]);
    std::fs::remove_file(stand.place.path().join("bin/sbatch")).unwrap();
    std::fs::create_dir(stand.place.path().join("bin/sbatch")).unwrap(); // hides any other
    let nowhere = Command::new(env!("CARGO_BIN_EXE_slackline"))
        .args("run w.toml --on slurm --platform nodes.toml --folder r".split(' '))
        .current_dir(stand.place.path())
        .env("PATH", stand.place.path().join("bin"))
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&nowhere.stderr);
    assert_eq!(nowhere.status.code(), Some(1), "{err}");
    assert!(err.contains("sbatch cannot be started"), "{err}");
    assert!(!stand.began());
}

/// Every kind of host is asked about once, with the words that its job would have.
#[test]
fn what_slurm_says_is_told_before_the_run_begins() {
    let sbatch = "echo \"$*\" >> \"$PLACE/asked\"\n\
        case \"$*\" in *cpus-per-task=8*) ;; *) exit 0;; esac\n\
        echo 'sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified' >&2\n\
        exit 1";
    let stand = Stand::new(&[("sbatch", sbatch), ("sinfo", SINFO)]);
    let done = stand.run("--platform nodes.toml --sbatch=--account=nobody");
    assert_eq!(done.code, Some(1), "{}", done.err);
    let said = "host 'n4' (8 cores): sbatch: Batch job submission failed: Invalid account or account/partition";
    assert!(done.err.contains(said), "{}", done.err);
    assert!(!stand.began());
    let asked = stand.place.read("asked");
    let lines: Vec<&str> = asked.lines().collect();
    assert_eq!(lines.len(), 2, "{asked}");
    for (line, own) in lines
        .iter()
        .zip([["--cpus-per-task=1", "--nodelist=n1"], ["--cpus-per-task=8", "--nodelist=n4"]])
    {
        let words = ["--test-only", "--nodes=1", "--no-requeue", "--account=nobody"];
        assert!(words.iter().chain(&own).all(|word| line.contains(word)), "{line}");
    }
}

/// A node that is drained is no reason not to begin: one that is too small is.
#[test]
fn nodes_that_are_away_are_waited_for_unless_they_are_too_small() {
    let sbatch =
        "echo 'allocation failure: Requested node configuration is not available' >&2\nexit 1";
    let sinfo = SINFO.replace("idle|1", "drain|1");
    let sinfo = sinfo.replace("idle|8", "down*|4");
    let stand = Stand::new(&[("sbatch", sbatch), ("sinfo", &sinfo)]);
    let done = stand.run("--platform nodes.toml");
    assert_eq!(done.code, Some(1), "{}", done.err);
    assert!(done.err.contains("'n4' (8 cores, of which the node has 4)"), "{}", done.err);
    assert!(!done.err.contains("'n1' (1 core"), "{}", done.err);
}

#[test]
fn a_run_ends_when_every_job_is_refused_later() {
    let sbatch = "case \"$*\" in *test-only*) exit 0;; esac\n\
        echo 'sbatch: error: Batch job submission failed: Invalid qos specification' >&2; exit 1";
    let stand = Stand::new(&[("sbatch", sbatch), ("sinfo", SINFO), ("squeue", SQUEUE)]);
    let done = stand.run("--platform nodes.toml");
    assert_eq!(done.code, Some(1), "{}", done.err);
    assert!(done.err.contains("submission failed: Invalid qos specification"), "{}", done.err);
    assert!(done.err.contains("slackline resume"), "{}", done.err);
}

/// Slurm takes some jobs that it never begins.
#[test]
fn a_run_ends_when_every_job_waits_for_ever() {
    let sbatch = "case \"$*\" in *test-only*) exit 0;; esac\n\
        n=$(cat \"$PLACE/last\" 2> /dev/null || echo 0); n=$((n + 1)); echo $n > \"$PLACE/last\"\n\
        for word; do case $word in --job-name=*) echo \"$n|PENDING|${word#*=}|BadConstraints\" >> \"$PLACE/queue\";; esac; done\n\
        echo $n";
    let scancel = "echo \"$2\" >> \"$PLACE/cancelled\"";
    let commands = [("sbatch", sbatch), ("sinfo", SINFO), ("squeue", SQUEUE), ("scancel", scancel)];
    let stand = Stand::new(&commands);
    let done = stand.run("--platform nodes.toml");
    assert_eq!(done.code, Some(1), "{}", done.err);
    assert!(done.err.contains("would wait for ever (BadConstraints)"), "{}", done.err);
    let cancelled = stand.place.read("cancelled");
    let mut jobs: Vec<&str> = cancelled.lines().collect();
    jobs.sort_unstable();
    jobs.dedup();
    assert_eq!(jobs, ["1", "2", "3", "4", "5"]);
}

/// Jobs run as processes of this machine, and end after some seconds as Slurm ends them.
fn jobs_of(seconds: u32) -> Stand {
    let sbatch = "case \"$*\" in *test-only*) exit 0;; esac\n\
        n=$(cat \"$PLACE/last\" 2> /dev/null || echo 0); n=$((n + 1)); echo $n > \"$PLACE/last\"\n\
        for word; do case $word in --job-name=*) echo \"${word#*=}\" > \"$PLACE/name$n\";; esac; done\n\
        cat > \"$PLACE/job$n\"; now=$(date +%s)\n\
        export SLURM_JOB_START_TIME=$now SLURM_JOB_END_TIME=$((now + LIMIT))\n\
        (sh \"$PLACE/job$n\" & job=$!; (sleep LIMIT; kill -TERM $job) & wait $job; kill $!\n\
        touch \"$PLACE/over$n\") > \"$PLACE/said$n\" 2>&1 < /dev/null &\n\
        echo $n";
    let squeue = "for job in \"$PLACE\"/name*; do n=${job##*name}; state=RUNNING\n\
        [ ! -e \"$PLACE/over$n\" ] || state=TIMEOUT; echo \"$n|$state|$(cat \"$job\")|None\"; done";
    let sbatch = sbatch.replace("LIMIT", &seconds.to_string());
    let commands =
        [("sbatch", sbatch.as_str()), ("sinfo", SINFO), ("squeue", squeue), ("scancel", "exit 0")];
    let stand = Stand::new(&commands);
    stand.place.write("one.toml", "name = \"one\"\n[host.n1]\nspeed = \"1Gf\"\n");
    stand
}

/// Names of tasks in the order in which they became processes.
fn begun(stand: &Stand) -> Vec<String> {
    let log = stand.place.read("r/log.jsonl");
    let records = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let names = records.filter_map(|r| Some(r["note"]["process"]["name"].as_str()?.to_string()));
    names.collect()
}

#[test]
fn a_task_that_fits_into_no_pilot_is_refused_and_others_go_on() {
    let stand = jobs_of(8);
    let tasks = "[task.long]\ncommand = [\"sleep\", \"60\"]\ntime = \"1min\"\n\
                 [task.short]\ncommand = [\"true\"]\ntime = \"1s\"\n";
    stand.place.write("w.toml", tasks);
    let done = stand.run("--platform one.toml");
    assert_eq!(done.code, Some(1), "{}", done.err);
    let said = ["it takes 60 s as estimated, and batch jobs for 'n1' have", "it fits into none"];
    assert!(said.iter().all(|words| done.err.contains(words)), "{}", done.err);
    assert_eq!(begun(&stand), ["short"]);
    assert!(done.err.contains("127.0.0.1, which no other machine can reach"), "{}", done.err);
}

#[test]
fn a_task_waits_for_a_pilot_with_more_time_and_others_go_ahead() {
    // A tenth of the time is kept free: 9 to 10.8 s are left for tasks. With something to spare the long one takes 10,
    // and all the time there is must do.
    let stand = jobs_of(12);
    let tasks = "[task.first]\ncommand = [\"sleep\", \"3\"]\ntime = \"1s\"\n\
                 [task.long]\ncommand = [\"true\"]\ntime = \"8s\"\nafter = [\"first\"]\n\
                 [task.short]\ncommand = [\"true\"]\ntime = \"1s\"\nafter = [\"first\"]\n";
    stand.place.write("w.toml", tasks);
    let done = stand.run("--platform one.toml");
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(begun(&stand), ["first", "short", "long"]);
    assert_eq!(stand.place.read("last").trim(), "2", "a second pilot, and no third");
}

#[test]
fn a_task_that_outlasts_its_pilot_is_not_begun_for_ever() {
    let stand = jobs_of(4);
    let task = "[task.endless]\ncommand = [\"sleep\", \"60\"]\ntime = \"1s\"\n";
    stand.place.write("w.toml", task);
    let done = stand.run("--platform one.toml");
    assert_eq!(done.code, Some(1), "{}", done.err);
    assert!(done.err.contains("it was not done after"), "{}", done.err);
    assert_eq!(begun(&stand), ["endless"]);
}

#[test]
fn only_the_given_ports_are_listened_at() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let commands = [("sbatch", "exit 0"), ("sinfo", SINFO), ("squeue", SQUEUE)];
    let stand = Stand::new(&commands);
    let done = stand.run(&format!("--platform nodes.toml --ports {port}-{port}"));
    assert_eq!(done.code, Some(1), "{}", done.err);
    assert!(done.err.contains(&format!("no port of {port}-{port} is free")), "{}", done.err);
    let wrong = stand.run("--platform nodes.toml --ports 7-3");
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
}
