//! The services against worked examples, against naive programs, and against their laws.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use slackline_centre::batch::metrics::{load, measure};
use slackline_centre::batch::{
    Accounts, Machine, Outcome, Policy, Replay, Request, Scheduler, Site,
};
use slackline_centre::storage::{self, Case, FileSystem, Op, Operations};
use slackline_centre::tape;
use slackline_formats::batch_log::{self, BatchLog, LoggedJob, Wrong};
use slackline_model::activity::Exec;
use slackline_model::platform::{HostSpec, PlatformBuilder, RoutingKind};
use slackline_simulate::{Event, Owner, Simulation, Step};
use std::collections::BTreeMap;

/// A log of jobs `(submit, cores, run, limit)`, numbered from 1; users, groups and queues in turn.
fn log(jobs: &[(u32, u64, u32, u32)]) -> BatchLog {
    let names = |count: u32| (0..count).map(|k| k.to_string()).collect();
    let job = |(k, &(submit, cores, run, limit)): (usize, &(u32, u64, u32, u32))| LoggedJob {
        number: k as u64 + 1,
        submit: f64::from(submit),
        start: None,
        cores,
        limit: f64::from(limit),
        run: f64::from(run),
        user: k as u32 % 3,
        group: k as u32 % 2,
        queue: k as u32 % 2,
    };
    let mut jobs: Vec<LoggedJob> = jobs.iter().enumerate().map(job).collect();
    jobs.sort_by(|a, b| a.submit.total_cmp(&b.submit).then(a.number.cmp(&b.number)));
    BatchLog { jobs, users: names(3), groups: names(2), queues: names(2), ..BatchLog::default() }
}

fn starts(log: &BatchLog, cores: u64, policy: &str) -> Vec<f64> {
    let site = Site::new(Machine::Cores(cores)).unwrap();
    let outcome = Replay { log, site: &site }.run(policy.parse().unwrap());
    outcome.starts.into_iter().map(Option::unwrap).collect()
}

#[test]
fn backfilling_fills_what_the_head_leaves() {
    // The head needs 8 of 10 cores at 10: what ends by then, or needs no more than the other two, goes first.
    let jobs = [(0, 6, 10, 10), (1, 8, 10, 10), (2, 4, 100, 100), (3, 4, 7, 7), (4, 2, 5, 5)];
    let log = log(&jobs);
    assert_eq!(starts(&log, 10, "fcfs"), [0.0, 10.0, 20.0, 20.0, 20.0]);
    assert_eq!(starts(&log, 10, "easy"), [0.0, 10.0, 20.0, 3.0, 10.0]);
    assert_eq!(starts(&log, 10, "conservative"), [0.0, 10.0, 20.0, 3.0, 10.0]);
}

#[test]
fn easy_may_delay_whoever_is_not_the_head() {
    let log = log(&[(0, 6, 10, 10), (1, 8, 10, 10), (2, 10, 10, 10), (3, 2, 100, 100)]);
    assert_eq!(starts(&log, 10, "easy"), [0.0, 10.0, 103.0, 3.0]);
    assert_eq!(starts(&log, 10, "conservative"), [0.0, 10.0, 20.0, 30.0]);
}

#[test]
fn promises_move_forward_in_one_round() {
    // At 54 the first job ends early: the third cannot move before the fourth, which then starts at once.
    let log = log(&[(0, 1, 54, 118), (19, 3, 59, 59), (25, 4, 52, 111), (29, 1, 33, 33)]);
    assert_eq!(starts(&log, 4, "conservative"), [0.0, 19.0, 87.0, 54.0]);
    assert_eq!(starts(&log, 4, "easy"), [0.0, 19.0, 78.0, 130.0]);
}

#[test]
fn jobs_without_length_hold_their_cores_for_an_instant() {
    let log = log(&[(0, 4, 10, 10), (1, 4, 0, 0), (2, 4, 5, 5)]);
    for policy in ["fcfs", "easy", "conservative", "sjf"] {
        assert_eq!(starts(&log, 4, policy), [0.0, 10.0, 10.0], "{policy}");
    }
}

#[test]
fn measures_are_those_of_the_arithmetic() {
    // 10 cores: killed at 10, 5 s after a wait of 10, killed after 15 s and a wait of 14.
    let log = log(&[(0, 10, 20, 10), (0, 10, 5, 30), (1, 1, 100, 15)]);
    let text = "[machine]\ncores = 10\n[power]\nidle = 1\nloaded = 3\n[pledges]\n0 = 1\n1 = 1\n";
    let site = Site::parse(text, None).unwrap();
    let replay = Replay { log: &log, site: &site };
    let outcome = replay.run("fcfs".parse().unwrap());
    let metrics = measure(&replay, &outcome);
    assert_eq!((metrics.jobs, metrics.killed, metrics.span), (3, 2, Some(30.0)));
    assert_eq!(
        (metrics.wait.mean, metrics.wait.median, metrics.wait.max),
        (Some(8.0), Some(10.0), Some(14.0))
    );
    assert_eq!(metrics.core_seconds, 165.0);
    assert_eq!(metrics.energy, Some(300.0 + 2.0 * 165.0));
    // Group 0 ran 115 core-seconds, group 1 50; pledged are halves.
    let deviation = metrics.pledge_deviation.unwrap().whole.unwrap();
    assert!((deviation - (115.0 / 165.0 - 0.5)).abs() < 1e-12);
    let load = load(&replay, &outcome);
    assert_eq!(load.last().map(|last| (last.held, last.waiting)), Some((0.0, 0.0)));
}

#[test]
fn idle_units_sleep_and_have_to_be_woken() {
    let log = log(&[(0, 2, 10, 10), (100, 2, 10, 10)]);
    let text = "[machine]\ncores = 2\n[power]\nidle = 1\nloaded = 2\noff_after = 20\nboot = 5\n";
    let site = Site::parse(text, None).unwrap();
    let replay = Replay { log: &log, site: &site };
    let outcome = replay.run("easy".parse().unwrap());
    assert_eq!(outcome.starts, [Some(0.0), Some(105.0)]);
    let metrics = measure(&replay, &outcome);
    assert_eq!(metrics.boots, Some(2));
    // Of 115 s: 25 s loaded (boot included), 20 s idle, 70 s off; two cores.
    assert_eq!(metrics.energy, Some(2.0 * (25.0 * 2.0 + 20.0)));
}

#[test]
fn sites_that_make_no_sense_are_refused() {
    for (text, cause) in [
        ("{}", "no `machine`"),
        (r#"{"machine": {"cores": 0}}"#, "no cores"),
        (r#"{"machine": {"cores": 4, "nodes": 2, "cores_per_node": 2}}"#, "either"),
        (r#"{"machine": {"cores": 4}, "pledges": {"a": -1}}"#, "below 0"),
        (r#"{"machine": {"cores": 4}, "window": 0}"#, "above 0"),
        (r#"{"machine": {"cores": 4}, "caps": [{"by": "user", "name": 1}]}"#, "neither"),
        (r#"{"machine": {"cores": 4}, "surprise": 1}"#, "surprise"),
    ] {
        let error = Site::parse(text, None).unwrap_err().to_string();
        assert!(error.contains(cause), "{error}");
    }
}

/// Conservative backfilling without any cleverness: at every second, with the whole table of cores.
fn naive_conservative(log: &BatchLog, cores: u64) -> Vec<f64> {
    let horizon = 4000usize;
    let jobs = &log.jobs;
    let mut starts: Vec<Option<usize>> = vec![None; jobs.len()];
    let mut promises: Vec<Option<usize>> = vec![None; jobs.len()];
    let length = |k: usize| jobs[k].run.min(jobs[k].limit) as usize;
    let limit = |k: usize| jobs[k].limit as usize;
    let free = |now: usize, starts: &[Option<usize>], promises: &[Option<usize>], but: usize| {
        let mut free = vec![cores as i64; horizon];
        for k in 0..jobs.len() {
            let held = match (starts[k], promises[k]) {
                (Some(start), _) if start + length(k) > now => start..start + limit(k),
                (None, Some(promise)) if k != but => promise..promise + limit(k),
                _ => continue,
            };
            for second in held {
                free[second] -= jobs[k].cores as i64;
            }
        }
        free
    };
    let earliest = |now: usize, free: &[i64], k: usize| {
        (now..).find(|&s| (s..s + limit(k)).all(|t| free[t] >= jobs[k].cores as i64)).unwrap()
    };
    for now in 0.. {
        let ended = (0..jobs.len()).any(|k| starts[k].is_some_and(|s| s + length(k) == now));
        if ended {
            for k in 0..jobs.len() {
                if promises[k].is_some() && starts[k].is_none() {
                    let free = free(now, &starts, &promises, k);
                    promises[k] = Some(earliest(now, &free, k));
                }
            }
        }
        for k in 0..jobs.len() {
            if jobs[k].submit as usize == now {
                let free = free(now, &starts, &promises, k);
                promises[k] = Some(earliest(now, &free, k));
            }
        }
        for k in 0..jobs.len() {
            if promises[k] == Some(now) && starts[k].is_none() {
                starts[k] = Some(now);
            }
        }
        if starts.iter().all(Option::is_some) {
            break;
        }
    }
    starts.into_iter().map(|start| start.unwrap() as f64).collect()
}

/// At no date more cores are held than there are.
fn check_capacity(log: &BatchLog, outcome: &Outcome, cores: u64) {
    let mut changes: Vec<(f64, i64)> = Vec::new();
    for (job, (start, end)) in log.jobs.iter().zip(outcome.starts.iter().zip(&outcome.ends)) {
        let (start, end) = (start.unwrap(), end.unwrap());
        assert!(start >= job.submit);
        changes.extend([(start, job.cores as i64), (end, -(job.cores as i64))]);
    }
    // Cores are given back before they are taken.
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut held = 0;
    for (_, change) in changes {
        held += change;
        assert!(held <= cores as i64);
    }
}

fn jobs(least_run: u32) -> impl Strategy<Value = Vec<(u32, u64, u32, u32)>> {
    let job = (0..120u32, 1..9u64, least_run..40u32, 0..30u32);
    let job = job.prop_map(|(submit, cores, run, more)| (submit, cores, run, run + more));
    prop::collection::vec(job, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..slackline_testkit::cases(150) })]

    #[test]
    fn conservative_is_that_of_a_naive_program(jobs in jobs(1)) {
        let log = log(&jobs);
        prop_assert_eq!(starts(&log, 8, "conservative"), naive_conservative(&log, 8));
    }

    #[test]
    fn no_core_is_used_twice(jobs in jobs(0)) {
        let log = log(&jobs);
        let site = Site::new(Machine::Cores(8)).unwrap();
        for (_, policy) in Policy::ALL {
            let outcome = Replay { log: &log, site: &site }.run(policy);
            // Jobs without length hold their cores at an instant: they are left out of the sum.
            let timed = BatchLog { jobs: log.jobs.clone(), ..BatchLog::default() };
            check_capacity(&timed, &outcome, if jobs.iter().all(|job| job.2 > 0) { 8 } else { u64::MAX / 4 });
        }
    }

    /// Driven by hand: the head's reservation never moves back while it is the head, and no promise ever does.
    #[test]
    fn reservations_and_promises_hold(jobs in jobs(1)) {
        let log = log(&jobs);
        let site = Site::new(Machine::Cores(8)).unwrap();
        let mut scheduler = Scheduler::new(&site, "conservative".parse().unwrap(), &Accounts::default());
        let mut promised: BTreeMap<u32, f64> = BTreeMap::new();
        let mut running: Vec<(f64, slackline_centre::batch::JobId, usize)> = Vec::new();
        let mut ids = Vec::new();
        let mut next = 0;
        loop {
            let end = running.iter().map(|r| r.0).fold(f64::INFINITY, f64::min);
            let submit = log.jobs.get(next).map_or(f64::INFINITY, |job| job.submit);
            let now = end.min(submit).min(scheduler.next_date());
            if now == f64::INFINITY {
                break;
            }
            running.retain(|&(end, job, _)| {
                if end <= now {
                    scheduler.end(now, job);
                }
                end > now
            });
            while let Some(job) = log.jobs.get(next).filter(|job| job.submit <= now) {
                let LoggedJob { number, submit, cores, limit, user, group, queue, .. } = *job;
                let request = Request { number, submit, cores, limit, user, group, queue };
                ids.push(scheduler.submit(request).unwrap());
                next += 1;
            }
            for job in scheduler.pass(now).to_vec() {
                let k = job.0 as usize;
                if let Some(promise) = promised.get(&job.0) {
                    prop_assert!(now <= *promise);
                }
                running.push((now + Replay::length(&log.jobs[k]), job, k));
            }
            for job in &ids {
                if let Some(promise) = scheduler.promise(*job) {
                    let before = promised.insert(job.0, promise);
                    prop_assert!(before.is_none_or(|before| promise <= before));
                }
            }
        }
    }

    /// EASY never delays the reservation of the head: with exact limits it starts when it is promised.
    #[test]
    fn easy_starts_the_head_in_time(jobs in jobs(1)) {
        let jobs: Vec<_> = jobs.into_iter().map(|(s, c, r, _)| (s, c, r, r)).collect();
        let log = log(&jobs);
        let easy = starts(&log, 8, "easy");
        // The head at any date: the first in order that has not started.
        for (k, job) in log.jobs.iter().enumerate() {
            let head_from = (0..k).map(|i| easy[i]).fold(job.submit, f64::max);
            if easy[k] <= head_from {
                continue;
            }
            // What ran when it became the head, by end: the earliest date at which enough is free.
            let mut ends: Vec<(f64, u64)> = (0..log.jobs.len())
                .filter(|&i| i != k && easy[i] < head_from && easy[i] + log.jobs[i].run > head_from
                    || i < k && easy[i] == head_from)
                .map(|i| (easy[i] + log.jobs[i].run, log.jobs[i].cores))
                .collect();
            ends.sort_by(|a, b| a.0.total_cmp(&b.0));
            let held: u64 = ends.iter().map(|end| end.1).sum();
            let mut free = 8 - held.min(8);
            let mut reservation = head_from;
            for (end, cores) in ends {
                if free >= job.cores {
                    break;
                }
                free += cores;
                reservation = end;
            }
            prop_assert!(easy[k] <= reservation, "job {} at {} after {reservation}", job.number, easy[k]);
        }
    }

    /// The order of the lines of a log decides nothing.
    #[test]
    fn lines_may_stand_in_any_order(jobs in jobs(0), turn in 0..40usize) {
        let line = |(k, j): (usize, &(u32, u64, u32, u32))| {
            format!("{} {} -1 {} {} -1 -1 {} {} -1 1 {} {} -1 {} -1 -1 -1\n",
                k + 1, j.0, j.2, j.1, j.1, j.3, k % 3, k % 2, k % 2)
        };
        let mut lines: Vec<String> = jobs.iter().enumerate().map(line).collect();
        let site = Site::new(Machine::Cores(8)).unwrap();
        let read = |text: &str| batch_log::parse(text, Wrong::Refuse).unwrap();
        let first = read(&lines.concat());
        let turn = turn % lines.len();
        lines.rotate_left(turn);
        let second = read(&lines.concat());
        for (_, policy) in Policy::ALL {
            let (a, b) = (Replay { log: &first, site: &site }.run(policy), Replay { log: &second, site: &site }.run(policy));
            prop_assert_eq!(a.starts, b.starts);
        }
    }

    /// Bytes are conserved: used space is the sum of the files, whatever is done.
    #[test]
    fn space_is_what_files_take(ops in prop::collection::vec((0..9u8, 0..5u8, 0..5u8, 0..400u64), 0..60)) {
        let mut files = FileSystem::default();
        let d = files.add_storage("d", Some(1000), [("/a".to_string(), 300)]).unwrap();
        let e = files.add_storage("e", Some(500), []).unwrap();
        files.mount("h", "/d", d);
        files.mount("h", "/e", e);
        let path = |k: u8| format!("/{}/{}", if k < 3 { "d" } else { "e" }, ["a", "b", "c", "a", "b"][k as usize]);
        for (what, from, to, bytes) in ops {
            let (host, path, to) = ("h".to_string(), path(from), path(to));
            let handle = format!("f{from}");
            let op = match what {
                0 | 1 => Op::Open { host, path, handle, create: true },
                2 => Op::Close(handle),
                3 => Op::Seek(handle, bytes),
                4 | 5 => Op::Write(handle, bytes),
                6 => Op::Delete(host, path),
                7 => Op::Copy(host, path, to),
                _ => Op::Move(host, path, to),
            };
            let _ = files.perform(&op);
            let all = files.all_files();
            for (name, space) in files.spaces() {
                let sum: u64 = all[&name].values().sum();
                prop_assert_eq!(space.used, sum);
                let capacity = if name == "d" { 1000 } else { 500 };
                prop_assert!(space.used <= capacity);
            }
        }
    }
}

const STORAGES: &str = r#"{
 "storages": {"d": {"model": "linear", "read": 100, "write": 50, "connection": 125, "host": "h"}},
 "operations": [
  {"id": "r", "op": "read", "storage": "d", "bytes": 1000, "host": "h"},
  {"id": "w", "op": "write", "storage": "d", "bytes": 500, "host": "h"},
  {"id": "c", "op": "copy", "storage": "d", "to": "d", "bytes": 125, "after": ["r", "w"]}]}"#;

fn dates(text: &str) -> Vec<(f64, f64)> {
    let Case::Operations { platform, operations } = Case::parse(text).unwrap() else { panic!() };
    let dates = storage::run(&platform, storage::plain_models(), &operations).unwrap();
    dates.into_iter().map(|dates| (dates.start, dates.finish)).collect()
}

#[test]
fn reads_and_writes_share_a_connection() {
    // The write has 50, the read 75 until 10 s; a copy passes the connection twice: 50 of 62.5 by the write side.
    let dates = dates(STORAGES);
    for ((_, finish), expected) in dates.iter().zip([12.5, 10.0, 15.0]) {
        assert!((finish - expected).abs() < 1e-9, "{dates:?}");
    }
}

#[test]
fn the_number_of_accesses_sets_the_bandwidth() {
    // Alone 100; two at once 60 together: 30 each until the second has its 90, then 100 again.
    let text = r#"{"storages": {"d": {"model": "concurrency", "read": [100, 60], "write": [10], "host": "h"}},
      "operations": [{"id": "a", "op": "read", "storage": "d", "bytes": 290},
                     {"id": "b", "op": "read", "storage": "d", "bytes": 90, "at": 1}]}"#;
    let dates = dates(text);
    assert!((dates[1].1 - 4.0).abs() < 1e-9 && (dates[0].1 - 5.0).abs() < 1e-9, "{dates:?}");
}

#[test]
fn stock_definitions_have_the_values_of_their_table() {
    let text = r#"{"storages": {"d": {"stock": "hard-disk", "host": "h"}},
      "operations": [{"id": "a", "op": "read", "storage": "d", "bytes": 180e6}]}"#;
    assert!((dates(text)[0].1 - 1.009).abs() < 1e-9);
    let error = Case::parse(&text.replace("hard-disk", "floppy")).unwrap_err().to_string();
    assert!(error.contains("`floppy`") && error.contains("disk-bay"), "{error}");
    let error = Case::parse(&text.replace("\"host\"", "\"read\": 5, \"host\"")).unwrap_err();
    assert!(error.to_string().contains("either `stock`"), "{error}");
}

#[test]
fn drawn_durations_of_one_value_are_that_value() {
    let text = r#"{"storages": {"d": {"model": "stochastic", "read": {"distribution": "uniform", "low": 7, "high": 7},
      "write": 3, "host": "h"}}, "operations": [{"id": "a", "op": "read", "storage": "d", "bytes": 290},
      {"id": "b", "op": "write", "storage": "d", "bytes": 0}]}"#;
    assert_eq!(dates(text), [(0.0, 7.0), (0.0, 3.0)]);
}

#[test]
fn storage_cases_that_make_no_sense_are_refused() {
    let with = |from: &str, to: &str| {
        let text = STORAGES.replacen(from, to, 1);
        assert_ne!(text, STORAGES);
        Case::parse(&text).unwrap_err().to_string()
    };
    for (from, to, cause) in [
        (r#""id": "w""#, r#""id": "r""#, "twice"),
        (r#""storage": "d", "bytes": 1000"#, r#""storage": "x", "bytes": 1000"#, "no storage `x`"),
        (r#""bytes": 1000"#, r#""bytes": -1"#, "0 or more"),
        (r#""host": "h"}},"#, r#""host": "h"}, "d": {}},"#, "twice"),
        (r#"["r", "w"]"#, r#"["c"]"#, "waits for itself"),
        (r#"["r", "w"]"#, r#"["z"]"#, "no operation `z`"),
        (r#"1000, "host": "h""#, r#"1000, "host": "g""#, "no host `g`"),
        (r#""read": 100"#, r#""read": 0"#, "read bandwidth"),
    ] {
        let error = with(from, to);
        assert!(error.contains(cause), "{error}");
    }
    for (text, cause) in [
        (
            r#"{"storages": {"d": {"capacity": 5, "files": {"/a": 6}}}, "script": []}"#,
            "larger than",
        ),
        (r#"{"storages": {"d": {"files": {"/a": 6, "/a": 6}}}, "script": []}"#, "twice"),
        (r#"{"storages": {"d": {"files": {"/a": -6}}}, "script": []}"#, "whole number"),
        (r#"{"storages": {"d": {}}, "mounts": {"h": {"/": "e"}}, "script": []}"#, "no storage"),
        (
            r#"{"storages": {"d": {"model": "piecewise", "host": "h", "segments": [
            {"from": 0, "read": 1, "write": 1}, {"from": 0, "read": 1, "write": 1}]}}, "operations": []}"#,
            "overlaps",
        ),
    ] {
        let error = Case::parse(text).unwrap_err().to_string();
        assert!(error.contains(cause), "{error}");
    }
}

#[test]
fn the_longest_mount_point_wins() {
    let text = r#"{"storages": {"d": {"capacity": 100, "files": {"/x": 1, "/sub/y": 2}}, "e": {"files": {"/z": 3}}},
      "mounts": {"h": {"/data": "d", "/data/sub": "e"}}, "script": [
        {"op": "size", "host": "h", "path": "/data/sub/y"}, {"op": "size", "host": "h", "path": "/data/sub/z"},
        {"op": "rename", "host": "h", "path": "/data/x", "to": "/data/sub/x"},
        {"op": "open", "host": "h", "path": "/data/x", "as": "f"}, {"op": "write", "handle": "f", "bytes": 99},
        {"op": "delete", "host": "h", "path": "/data/x"}]}"#;
    let Case::Script(script) = Case::parse(text).unwrap() else { panic!() };
    let mut files = script.files;
    let answers: Vec<String> = script
        .operations
        .iter()
        .map(|op| {
            files.perform(op).map_or_else(|why| why.to_string(), |answer| format!("{answer:?}"))
        })
        .collect();
    let expected =
        ["no such file", "Bytes(3)", "other storage", "Done", "storage full", "file is open"];
    // 99 bytes from the beginning of a file of 1 need 98 more, and 97 are left.
    assert_eq!(answers, expected);
}

const TAPES: &str = r#"{"library": {"drives": 1, "mount": 10, "unmount": 5, "wind": 1, "rate": 10}, "requests": [
  {"id": "x", "file": "x", "tape": "T0", "position": 0, "size": 100, "arrival": 0},
  {"id": "a", "file": "a", "tape": "T1", "position": 0, "size": 100, "arrival": 1},
  {"id": "p", "file": "p", "tape": "T2", "position": 20, "size": 100, "arrival": 2},
  {"id": "q", "file": "q", "tape": "T2", "position": 10, "size": 100, "arrival": 3},
  {"id": "r", "file": "q", "tape": "T2", "position": 10, "size": 100, "arrival": 4}]}"#;

#[test]
fn tapes_are_chosen_by_policy_and_swept() {
    let done = |text: &str, policy: &str| {
        let case = tape::Case::parse(text).unwrap();
        tape::run(&case, policy.parse().unwrap())
    };
    // x is there at 20, the drive empty at 25. Most requests: T2 mounted at 35; q wound to by 45, read by 55, with r;
    // p wound to by 65, read by 75; back 20, unmount 5: 100; T1 mounted at 110, a at 120.
    let most = done(TAPES, "most_requests");
    assert_eq!(most.done, [20.0, 120.0, 75.0, 55.0, 55.0]);
    assert_eq!(most.joined, BTreeMap::from([(4, 3)]));
    assert_eq!(done(TAPES, "oldest_request").done[1], 45.0);
    // A distribution of one value gives the dates of the constant.
    let drawn = TAPES.replace(
        r#""mount": 10"#,
        r#""mount": {"distribution": "normal", "mean": 10, "deviation": 0}"#,
    );
    assert_eq!(done(&drawn, "most_requests"), most);
    let case = tape::Case::parse(TAPES).unwrap();
    let metrics = tape::measure(&case, &most);
    assert_eq!((metrics.mounts, metrics.files_read, metrics.drive_use), (3, 4, Some(1.0)));
}

#[test]
fn tape_cases_that_make_no_sense_are_refused() {
    for (from, to, cause) in [
        (r#""drives": 1"#, r#""drives": 0"#, "no drive"),
        (r#""id": "a""#, r#""id": "x""#, "twice"),
        (r#""rate": 10"#, r#""rate": 0"#, "rate"),
        (r#""size": 100"#, r#""size": -1"#, "size"),
        (r#""mount": 10"#, r#""mount": -1"#, "mount"),
    ] {
        let error = tape::Case::parse(&TAPES.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(cause), "{error}");
    }
}

/// Two services and a stranger on one simulation, with the same tags: each sees its own ends alone, at the dates
/// that it has without the others where it shares nothing with them.
#[test]
fn several_owners_share_a_simulation() {
    let mut builder = PlatformBuilder::new("p");
    let zone = builder.add_zone(None, "z", RoutingKind::Full).unwrap();
    builder.add_host(zone, HostSpec::new("h", 1e9)).unwrap();
    let Case::Operations { platform, operations } = Case::parse(STORAGES).unwrap() else {
        panic!()
    };
    let alone = storage::run(&platform, storage::plain_models(), &operations).unwrap();
    let mut simulation = Simulation::new(platform.clone(), storage::plain_models()).unwrap();
    let mut first = Operations::new(&operations, Owner(1));
    let mut second = Operations::new(&operations[..1], Owner(2));
    let host = platform.host_ids().next().unwrap();
    simulation.start(Exec::new(host, 3.0), 0).unwrap();
    let mut own = 0;
    loop {
        first.begin(&mut simulation).unwrap();
        if simulation.clock() >= 15.0 - 1e-9 {
            second.begin(&mut simulation).unwrap();
        }
        let step = simulation.step(f64::INFINITY).unwrap();
        if step == Step::Idle {
            break;
        }
        let now = simulation.clock();
        let events = simulation.events_of(Owner(1)).copied().collect::<Vec<_>>();
        events.iter().for_each(|event| first.handle(now, event).unwrap());
        let events = simulation.events().to_vec();
        events.iter().for_each(|event| second.handle(now, event).unwrap());
        own += simulation
            .events_of(Owner::default())
            .filter(|e| matches!(e, Event::Done { tag: 0, .. }))
            .count();
    }
    assert_eq!((first.dates(), own), (alone.as_slice(), 1));
    assert!((second.dates()[0].finish - 25.0).abs() < 1e-9, "{:?}", second.dates());
}

/// Figure 3.7 of the source, in the units it is printed in and in bytes: a read of 500 MB beside a write of 250 MB.
#[test]
fn the_published_platform_has_the_dates_of_its_units() {
    const XML: &str = r#"<?xml version="1.0"?>
<platform version="3"><AS id="AS0" routing="Full">
  <storage_type id="single_HDD" model="linear_no_lat" size="500GB" content_type="txt_unix" content="contents.txt">
    <model_prop id="Bwrite" value="50Mbps"/><model_prop id="Bread" value="100Mbps"/>
    <model_prop id="Bconnection" value="125Mbps"/></storage_type>
  <storage id="Disk1" typeId="single_HDD"/>
  <storage id="Disk2" typeId="single_HDD" content_type="txt_unix" content="contents2.txt"/>
  <host id="alice" power="1Gf"><mount id="Disk1" name="/home"/></host>
  <host id="bob" power="1Gf"><mount id="Disk2" name="/home"/></host>
</AS></platform>"#;
    for (text, read, write) in
        [(XML.to_string(), 50.0, 40.0), (XML.replace("Mbps", "MBps"), 6.25, 5.0)]
    {
        let platform = slackline_formats::simgrid_xml::parse(&text).unwrap();
        let (disk, alice) = (slackline_model::DiskId(0), slackline_model::HostId(0));
        assert_eq!((platform.disks().len(), platform.disk(disk).capacity), (2, Some(5e11)));
        let operation = |id: &str, kind, bytes| storage::Operation {
            id: id.into(),
            kind,
            bytes,
            at: 0.0,
            after: Vec::new(),
        };
        let operations = [
            operation("r", storage::OperationKind::Read(disk, alice), 5e8),
            operation("w", storage::OperationKind::Write(disk, alice), 2.5e8),
        ];
        let dates = storage::run(&platform, storage::plain_models(), &operations).unwrap();
        assert!((dates[0].finish - read).abs() < 1e-9 && (dates[1].finish - write).abs() < 1e-9);
        let mut files = FileSystem::of_platform(&platform);
        let open = Op::Open {
            host: "alice".into(),
            path: "/home/a".into(),
            handle: "f".into(),
            create: true,
        };
        files.perform(&open).unwrap();
        files.perform(&Op::Write("f".into(), 10)).unwrap();
        assert_eq!(files.spaces()["Disk1"].used, 10);
    }
}
