//! Dates that SimGrid 3.32 computes for small traces: every rank's end, to 1e-6.
//!
//! `golden.json` holds traces, settings and ends; `platforms/` the machines, in our own form.

#![allow(clippy::unwrap_used)]

use serde_json::Value;
use slackline_formats::FileAccess;
use slackline_mpi::settings::ReplaySettings;
use slackline_mpi::{Replay, Traces};
use std::path::Path;

const TOLERANCE: f64 = 1e-6;

/// Cases whose dates follow an artefact, and which.
const QUIRKS: [(&str, &str); 2] = [
    ("p2p-probe", "a receive of unknown size polls by computing until the message is there"),
    ("p2p-test-grow", "one counter for all ranks makes failed tests dearer and dearer"),
];

fn pair(key: &str, value: &Value) -> (String, String) {
    (key.to_owned(), value.as_str().unwrap().to_owned())
}

#[test]
fn ends_are_those_of_simgrid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let text = std::fs::read_to_string(folder.join("golden.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let (mut worst, mut count) = ((0.0, String::new()), 0);
    let mut wrong = Vec::new();
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let file = scratch.path().join(format!("{name}.tit"));
        std::fs::write(&file, case["trace"].as_str().unwrap()).unwrap();
        let platform = format!("platforms/{}.toml", case["platform"].as_str().unwrap());
        let platform =
            slackline_formats::read_platform(&FileAccess::default(), &folder.join(platform), None)
                .unwrap();
        let hosts = case["hosts"].as_array().unwrap().iter();
        let hosts: Vec<_> =
            hosts.map(|host| platform.host_named(host.as_str().unwrap()).unwrap()).collect();
        for variant in case["variants"].as_array().unwrap() {
            let label = format!("{name}/{}", variant[0].as_str().unwrap());
            let pairs: Vec<_> = variant[1]
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, value)| pair(key, value))
                .collect();
            let settings = ReplaySettings::from_pairs(&pairs).unwrap();
            let traces = Traces::open(std::slice::from_ref(&file)).unwrap();
            let outcome =
                Replay::new(&platform, &hosts, traces, settings).unwrap().run(&mut ()).unwrap();
            let expected = variant[2].as_array().unwrap().iter().map(|end| end.as_f64().unwrap());
            let deviation = outcome
                .ends
                .iter()
                .zip(expected)
                .map(|(end, expected)| (end - expected).abs() / expected.max(1e-9))
                .fold(0.0, f64::max);
            count += 1;
            match QUIRKS.iter().find(|quirk| quirk.0 == name) {
                Some((_, why)) => println!("{label}: deviation {deviation:.1e}; {why}"),
                None if deviation > worst.0 => worst = (deviation, label.clone()),
                None => {}
            }
            if deviation > TOLERANCE {
                wrong.push(format!("{label}: {deviation:.1e}"));
            }
        }
    }
    println!("{count} variants, worst deviation {:.1e} in {}", worst.0, worst.1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
