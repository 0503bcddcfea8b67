//! A site put together from logs.

#![allow(clippy::unwrap_used)]

use slackline_formats::batch_log::{self, Wrong};
use slackline_formats::document::{Recorded, RecordedMachine, Run};
use slackline_formats::platform_toml;
use slackline_lab::site_logs::{BandwidthPolicy, SiteLogs};
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
    logs.add_batch_log(&log, "log", "north").unwrap();
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
    let lines: Vec<Option<usize>> =
        lenient.picture(BandwidthPolicy::Max).skipped.iter().map(|s| s.line).collect();
    assert_eq!(lines, [Some(3), Some(4), None, None]);
}
