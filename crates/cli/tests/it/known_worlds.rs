//! Small worlds in which runs went wrong once, and what has to come out of them.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Place;
use serde_json::Value;
use slackline_react::registry;

/// Three tasks of 10 s at 1 Gflop/s, each of which reads 100 MB of the one before.
const CHAIN: &str = "name = \"chain\"\n\
    [files]\n\"a.out\" = \"100MB\"\n\"b.out\" = \"100MB\"\n\"c.out\" = \"1MB\"\n\
    [task.a]\ntime = \"10s\"\noutputs = [\"a.out\"]\n\
    [task.b]\ntime = \"10s\"\ninputs = [\"a.out\"]\noutputs = [\"b.out\"]\n\
    [task.c]\ntime = \"10s\"\ninputs = [\"b.out\"]\noutputs = [\"c.out\"]\n";

const ONE: &str = "name = \"one\"\n[host.fast]\nspeed = \"1Gf\"\n";

const TWO: &str = "name = \"two\"\n[host.fast]\nspeed = \"1Gf\"\n[host.slow]\nspeed = \"0.5Gf\"\n\
    [matrix]\nbandwidth = \"10MBps\"\n";

/// The fast host is away for two seconds and keeps what is on it.
const AWAY: &str =
    "[[host]]\nname = \"fast\"\ndown = [{ at = 15, lasts = 2, keeps_data = true }]\n";

/// Ends of all policies that promise to survive the loss of a host and ask for nothing special, by
/// name.
fn ends(place: &Place, line: &str) -> Vec<(&'static str, f64)> {
    let meant = registry::ALL.iter().filter(|e| e.survives && e.is_general());
    let names: Vec<&str> = meant.map(|e| e.name).collect();
    let text = place.ok(&format!("simulate {line} --json --compare {}", names.join(",")));
    let document: Value = serde_json::from_str(&text).unwrap();
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), names.len());
    let end = |(run, name): (&Value, &'static str)| {
        assert_eq!(run["finished"], true, "{name}: {}", run["why"]);
        (name, run["makespan"].as_f64().unwrap())
    };
    runs.iter().zip(names).map(end).collect()
}

fn of(ends: &[(&str, f64)], name: &str) -> f64 {
    ends.iter().find(|e| e.0 == name).unwrap().1
}

/// All of them end between two dates.
fn within(ends: &[(&str, f64)], least: f64, most: f64) {
    for (name, end) in ends {
        assert!((least - 1e-6..=most + 1e-6).contains(end), "{name} ends at {end}");
    }
}

fn chain(platform: &str, scenario: &str) -> Vec<(&'static str, f64)> {
    let place = Place::new();
    place.write("chain.toml", CHAIN);
    place.write("platform.toml", platform);
    place.write("world.toml", scenario);
    ends(&place, "chain.toml -p platform.toml --scenario world.toml")
}

#[test]
fn the_only_host_comes_back_with_its_data() {
    // b again from 17 s, then c; at most a again as well, seen at the next look.
    let ends = chain(ONE, AWAY);
    within(&ends, 37.0, 48.0);
    assert!((of(&ends, "slackline") - 37.0).abs() < 1e-6);
}

#[test]
fn what_was_begun_elsewhere_is_given_up_for_what_is_back() {
    let ends = chain(TWO, AWAY);
    within(&ends, 37.0, 75.0);
    assert!((of(&ends, "slackline") - 37.0).abs() < 1e-6);
}

#[test]
fn a_host_without_speed_is_not_lost() {
    let ends = chain(TWO, "[[host]]\nname = \"fast\"\navailability = [[15, 0], [25, 1]]\n");
    within(&ends, 40.0, 75.0);
    assert!((of(&ends, "static") - 40.0).abs() < 1e-6);
    assert!(of(&ends, "slackline") <= 45.0 + 1e-6);
}

#[test]
fn a_host_may_come_later() {
    let ends = chain(TWO, "[[host]]\nname = \"fast\"\ndown = [{ at = 0, lasts = 5 }]\n");
    within(&ends, 35.0, 60.0);
}

#[test]
fn all_hosts_may_be_away_for_a_while() {
    let place = Place::new();
    let mut hosts: Vec<String> = (0..4).map(|i| format!("fast-{i}")).collect();
    hosts.extend((0..8).map(|i| format!("slow-{i}")));
    hosts.push("bigmem".to_string());
    let away = |name: &String| {
        let outage = "{ at = 12, lasts = 2, keeps_data = true }";
        format!("[[host]]\nname = \"{name}\"\ndown = [{outage}]\n")
    };
    place.write("world.toml", hosts.iter().map(away).collect::<String>());
    let montage = "examples/workflows/montage.json -p examples/platforms/small-cluster.toml";
    ends(&place, &format!("{montage} --scenario world.toml"));
}

#[test]
fn nobody_starts_a_task_without_the_memory() {
    let place = Place::new();
    let task =
        "[files]\nx = \"1MB\"\n[task.a]\ntime = \"10s\"\nmemory = \"100GB\"\noutputs = [\"x\"]\n";
    place.write("memory.toml", task);
    let ends = ends(&place, "memory.toml -p examples/platforms/small-cluster.toml");
    within(&ends, 10.0 / 2.4, 10.0 / 2.4);
}

#[test]
fn an_old_view_does_not_revive_a_dead_host() {
    let place = Place::new();
    let task = |name: &str| format!("[task.{name}]\ntime = \"40s\"\n");
    place.write("four.toml", ["a", "b", "c", "d"].map(task).concat());
    let pair =
        "[cluster.m]\ncount = 2\nspeed = \"1Gf\"\nbandwidth = \"125MBps\"\nlatency = \"100us\"\n";
    place.write("pair.toml", pair);
    place.write(
        "world.toml",
        "[[host]]\nname = \"m-0\"\ndown = [{ at = 10, lasts = 10 }]\n\
         [[host]]\nname = \"m-1\"\navailability = [[12, 0.9]]\ndown = [{ at = 25 }]\n",
    );
    let line = "four.toml -p pair.toml --scenario world.toml";
    // m-0 is away from 10 to 20 s, which is seen at 25 s; m-1 dies at 25 s.
    for (delay, dynamic) in [("0s", 180.0), ("5s", 185.0)] {
        let ends = ends(&place, &format!("{line} --monitoring-delay {delay}"));
        for name in ["just-in-time", "fdws", "work-queue"] {
            assert!((of(&ends, name) - dynamic).abs() < 1e-6, "{name}: {ends:?}");
        }
        assert!((of(&ends, "static") - 185.0).abs() < 1e-6);
        within(&ends, dynamic, 225.0);
    }
}

#[test]
fn a_restless_bystander_does_not_end_a_run_that_waits() {
    let place = Place::new();
    let task = |name: &str| format!("[task.{name}]\ntime = \"100s\"\nmemory = \"4GB\"\n");
    place.write("needs.toml", ["a", "b"].map(task).concat());
    let hosts = "[host.big]\nspeed = \"1Gf\"\nmemory = \"8GB\"\n\
                 [host.small]\nspeed = \"1Gf\"\nmemory = \"1GB\"\n[matrix]\nbandwidth = \"10MBps\"\n";
    place.write("hosts.toml", hosts);
    place.write(
        "world.toml",
        "[[host]]\nname = \"big\"\navailability = [[50, 0], [9000, 1]]\n\
         [[host]]\nname = \"small\"\navailability = [[0, 0.9], [0.5, 1]]\nperiod = 1\n",
    );
    let ends = ends(&place, "needs.toml -p hosts.toml --scenario world.toml");
    within(&ends, 9150.0, 9150.0);
}
