//! `simulate`: what it says of a run, of several, and of runs that cannot finish.

#![allow(clippy::unwrap_used)]

mod common;

use common::Place;
use serde_json::Value;

/// Four hosts of one core behind a switch.
const NODES: &str = "name = \"nodes\"\n[cluster.node]\ncount = 4\ncores = 1\nspeed = \"2Gf\"\n\
                     bandwidth = \"100Mbps\"\nlatency = \"1ms\"\n";

/// Two hosts lose most of their speed, a third is lost after a minute.
const WORLD: &str = "name = \"busy\"\n\
    [[host]]\nname = \"node-0\"\navailability = [[30, 0.2], [120, 1.0]]\n\
    [[host]]\nname = \"node-1\"\navailability = [[50, 0.5], [150, 0.1]]\n\
    [[host]]\nname = \"node-2\"\ndown = [{ at = 60 }]\n";

/// A place with a Montage of 60 tasks, the hosts and the world.
fn place() -> Place {
    let place = Place::new();
    place.ok("generate workflow montage --tasks 60 --seed 2 -o montage.json");
    place.write("nodes.toml", NODES);
    place.write("world.toml", WORLD);
    place
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn number(value: &Value, member: &str) -> f64 {
    value[member].as_f64().unwrap_or_else(|| panic!("{member} is not a number in {value:#}"))
}

#[test]
fn all_policies_in_one_world() {
    let place = place();
    let line = "simulate montage.json -p nodes.toml --scenario world.toml --compare all";
    let table = place.ok(line);
    assert!(table.lines().all(|l| l.chars().count() <= 80), "{table}");
    for policy in ["static", "gtp/c/r", "sr-spare", "just-in-time", "slackline"] {
        assert!(table.contains(&format!("\n  {policy} ")), "{policy} is missing in\n{table}");
    }
    assert!(table.contains("\n  gtp           unfinished     - "), "{table}");
    let document = json(&place.ok(&format!("{line} --json")));
    assert_eq!(document["schema"], "slackline/simulations/1");
    let runs = document["runs"].as_array().unwrap();
    assert!(runs.len() >= 11);
    for run in runs {
        assert_eq!(run["schema"], "slackline/simulation/1");
        assert_eq!(run["hosts_lost"], 1, "{}", run["policy"]);
        assert_eq!(run["tasks"], 60);
        if run["policy"] == "gtp" || run["policy"] == "gtp/c" {
            // They cannot rewind, and results were lost with the host.
            assert_eq!((&run["finished"], &run["nsl"]), (&false.into(), &Value::Null));
            assert!(run["why"].as_str().unwrap().contains("no copy is left"), "{}", run["why"]);
            continue;
        }
        assert_eq!((&run["finished"], &run["tasks_done"]), (&true.into(), &60.into()), "{run:#}");
        assert!(number(run, "nsl") <= number(run, "slr"), "mean times are not below least times");
        let overhead = number(run, "lost_seconds") + number(run, "resent_seconds");
        assert_eq!(number(run, "overhead_seconds"), overhead);
        assert!(number(run, "resent_bytes") <= number(run, "bytes_moved"));
    }
}

#[test]
fn relative_moments_are_the_same_date_for_every_policy() {
    let place = place();
    place.write("half.toml", "[[host]]\nname = \"node-2\"\ndown = [{ at = \"50%\" }]\n");
    let line = "simulate montage.json -p nodes.toml --json";
    let calm = number(&json(&place.ok(line)), "makespan");
    place.ok(&format!(
        "{line} --scenario half.toml --compare static,just-in-time --trace run.jsonl"
    ));
    for policy in ["static", "just-in-time"] {
        let trace = place.read(&format!("run.{policy}.jsonl"));
        let lost = trace.lines().map(json).find(|r| r["availability"] == 0.0).unwrap();
        assert!((number(&lost, "at") / (calm / 2.0) - 1.0).abs() < 1e-9, "{policy}: {lost}");
    }
}
