//! A site put together from logs.

#![allow(clippy::unwrap_used)]

use slackline_centre::stack::{self, Case, RecordedHost, RecordedTask, Work};
use slackline_formats::batch_log::{self, Wrong};
use slackline_formats::document::{Recorded, RecordedMachine, Run};
use slackline_formats::platform_toml;
use slackline_lab::site_logs::{BandwidthPolicy, SeenRun, SiteLogs};
use slackline_model::distribution::Distribution;

fn run(date: &str, machines: &[(&str, f64)]) -> Recorded {
    let machine = |&(name, mhz): &(&str, f64)| RecordedMachine {
        name: name.into(),
        cores: Some(4.0),
        speed_mhz: Some(mhz),
        ..RecordedMachine::default()
    };
    let run = Run {
        executed_at: Some(date.into()),
        machines: machines.iter().map(machine).collect(),
        ..Run::default()
    };
    Recorded { run: Some(run), ..Recorded::default() }
}

/// Transfers of 1 MB at these rates, one after the other.
fn trace(rates: &[f64]) -> String {
    let mut text = String::from("{\"schema\": \"slackline/trace/1\"}\n");
    let mut at = 0.0;
    for (k, rate) in rates.iter().enumerate() {
        let ends = format!("\"file\": \"f{k}\", \"from\": \"n-1\", \"to\": \"m-1\"");
        text +=
            &format!("{{\"at\": {at}, \"bytes\": 1e6, \"event\": \"transfer-started\", {ends}}}\n");
        at += 1e6 / rate;
        text += &format!("{{\"at\": {at}, \"event\": \"transfer-finished\", {ends}}}\n");
    }
    text
}

#[test]
fn the_newest_speed_and_the_fastest_transfer_count() {
    let mut logs = SiteLogs::new(false);
    logs.add_run(Some(&run("2024-02-19", &[("n-1", 1800.0), ("n-2", 1810.0)])), "late", "s")
        .unwrap();
    logs.add_run(Some(&run("2024-01-10", &[("n-1", 2000.0), ("m-1", 900.0)])), "early", "s")
        .unwrap();
    logs.add_trace(&trace(&[40e6, 95e6, 60e6]), "trace", "s").unwrap();
    let found = logs.clone().picture(BandwidthPolicy::Max);
    let host = |name: &str| found.hosts.iter().find(|host| host.name == name).unwrap();
    assert_eq!((host("n-1").speed, host("n-1").source.as_str()), (Some(1.8e9), "late"));
    let bandwidth = |policy| logs.clone().picture(policy).links[0].bandwidth;
    assert!((bandwidth(BandwidthPolicy::Max) / 95e6 - 1.0).abs() < 1e-9);
    assert!((bandwidth(BandwidthPolicy::Median) / 60e6 - 1.0).abs() < 1e-9);
    assert!((bandwidth(BandwidthPolicy::Quantile(0.3)) / 40e6 - 1.0).abs() < 1e-9);
    // Both n-hosts are one template; the other cluster is joined by a link.
    let text = found.platform_toml(0.02);
    let platform = platform_toml::parse(&text).unwrap();
    assert_eq!(platform.hosts().len(), 3, "{text}");
    assert!(text.contains("count = 2  # n-1, n-2") && text.contains("late (20240219)"), "{text}");
    assert_eq!(found.platform_toml(0.001).matches("[cluster.").count(), 3);
}

#[test]
fn waits_are_fitted_by_queue() {
    // Waits at the quantiles of an exponential distribution of mean 100.
    let lines: String = (0..200)
        .map(|k| {
            let wait = -100.0 * (1.0 - (f64::from(k) + 0.5) / 200.0).ln();
            format!("{} {} {wait:.3} 10 1 -1 -1 1 10 -1 1 1 1 -1 7 -1 -1 -1\n", k + 1, k)
        })
        .collect();
    let log = batch_log::parse(&lines, Wrong::Refuse).unwrap();
    let mut logs = SiteLogs::new(false);
    logs.add_batch_log(&log, &lines, "log", "north").unwrap();
    let found = logs.picture(BandwidthPolicy::Max);
    let waits = &found.waits[0];
    assert_eq!((waits.queue.as_str(), waits.jobs), ("7", 200));
    let Distribution::Exponential { mean } = waits.fits[0].distribution else {
        panic!("{:?}", waits.fits)
    };
    assert!((mean - 100.0).abs() < 2.0 && waits.fits[0].distance < 0.02, "{waits:?}");
    assert!(found.stack_toml().contains("\"north\" = { distribution = \"exponential\""));
}

#[test]
fn what_is_wrong_is_named_or_passed_over() {
    let backwards = "{}\n{\"at\": 5}\n{\"at\": 4}\nno json\n";
    let error = SiteLogs::new(false).add_trace(backwards, "t", "s").unwrap_err();
    assert!(error.to_string().contains("clock goes back from 5 to 4"), "{error}");
    let mut lenient = SiteLogs::new(true);
    lenient.add_trace(backwards, "t", "s").unwrap();
    lenient.add_run(None, "w", "s").unwrap();
    lenient.add_run(Some(&run("x", &[("n-1", -5.0)])), "r", "s").unwrap();
    // Clocks of two machines: the line of the job is named.
    let text = "1 5 3 10 1 -1 -1 1 10 -1 1 1 1 -1 7 -1 -1 -1\n";
    let mut log = batch_log::parse(text, Wrong::Refuse).unwrap();
    log.jobs[0].start = Some(4.0);
    let error = SiteLogs::new(false).add_batch_log(&log, text, "log", "s").unwrap_err();
    assert!(error.to_string().contains("job 1 starts before"), "{error}");
    lenient.add_batch_log(&log, text, "log", "s").unwrap();
    let lines: Vec<Option<usize>> =
        lenient.picture(BandwidthPolicy::Max).skipped.iter().map(|s| s.line).collect();
    assert_eq!(lines, [Some(3), Some(4), None, None, Some(1)]);
}

/// Two hosts that came after 5 and 9 s, tasks of 8 Gflop that took 4 s each there, 0.5 s after their hosts were free.
fn recorded() -> Case {
    let host = |name: &str, came: f64| RecordedHost {
        name: name.into(),
        speed: 1e9,
        bandwidth: Some(1e8),
        present: vec![(0.0, Some(0.1)), (came, None)],
    };
    let task = |id: &str, host: &str, start: f64, after: Vec<usize>| RecordedTask {
        id: id.into(),
        work: 8e9,
        dependencies: after,
        bytes: 1e6,
        ran: Some((host.into(), start, start + 4.0)),
    };
    let tasks = vec![
        task("a", "n1", 5.5, vec![]),
        task("b", "n2", 9.5, vec![]),
        task("c", "n1", 14.0, vec![0, 1]),
    ];
    stack::case_of_run(tasks, &[host("n1", 5.0), host("n2", 9.0)]).unwrap()
}

#[test]
fn a_recorded_run_becomes_a_stack() {
    let case = recorded();
    // The record comes back, and a free queue wait is the mean of both hosts.
    let all = stack::attribute(&case).unwrap();
    assert_eq!((all.recorded, all.runs[0].error), (18.0, Some(0.0)));
    let alone: Vec<_> = stack::Attribution::alone().map(|(_, s)| all.run(s).unwrap()).collect();
    assert!(alone.iter().all(|run| run.error.is_some()));
    let hosts = [(Some(1.0), None), (Some(1.0), None)];
    let transfers = [("n1".to_string(), "n2".to_string(), 1e6, 0.01)];
    let run = SeenRun {
        case: &case,
        hosts: &hosts,
        transfers: &transfers,
        operations: 6,
        date: "2026-11-19 18:00:00 UTC",
    };
    let mut logs = SiteLogs::new(false);
    logs.add_recorded(&run, "monday.run", "site").unwrap();
    let found = logs.picture(BandwidthPolicy::Median);
    assert_eq!((found.hosts.len(), found.hosts[0].speed), (2, Some(2e9)));
    let cluster = &found.clusters[0];
    assert_eq!((cluster.name.as_str(), cluster.pilots, cluster.tasks), ("n", 2, 3));
    // 0.5 s each before `a`, `b` and `c` (from 13.5 on), less the transfer, over six files.
    assert!((found.overhead.unwrap() - 1.49 / 6.0).abs() < 1e-9, "{:?}", found.overhead);
    let waits = &found.waits[0];
    assert_eq!((waits.queue.as_str(), waits.jobs, waits.mean), ("pilots of n", 2, 7.0));
    assert!(platform_toml::parse(&found.platform_toml(0.02)).is_ok());
    let text = found.stack_toml();
    let work = Work {
        tasks: vec![stack::Task {
            id: "t".into(),
            work: 6e9,
            inputs: vec![0],
            outputs: vec![1],
            dependencies: Vec::new(),
        }],
        files: vec![("x".into(), 1e6), ("y".into(), 2e6)],
    };
    let stacked = Case::parse_stack(&text, work).unwrap();
    assert_eq!((stacked.pilots.len(), stacked.sites[0].speed), (2, 2e9), "{text}");
    // The wait of the first pilot, two round trips, 3 s at 2 Gflop/s, 2 MB at 100 MB/s.
    let outcome = stack::run(&stacked).unwrap();
    let start = outcome.pilots.iter().filter_map(|life| life.start).fold(f64::INFINITY, f64::min);
    let expected = start + 2.0 * stacked.catalogue_latency + 3.0 + 0.02;
    assert!((outcome.makespan().unwrap() - expected).abs() < 1e-6, "{outcome:?}");
    // What a stack says is believed of another run.
    let mut other = recorded();
    other.believe(&stacked, 2.0).unwrap();
    assert_eq!(other.platform_model.as_ref().unwrap().speeds, [2e9, 2e9]);
    assert!((other.catalogue_latency - 2.0 * stacked.catalogue_latency).abs() < 1e-12);
}
