//! The planners against makespans computed independently in exact rational arithmetic.
//!
//! `fixtures/makespans.jsonl` has one line per instance (5 to 300 tasks on 2 to 16 processors;
//! related, unrelated and random machines; uniform, uneven, one-way and free networks): the
//! instance, the makespan of each method, and what is known of the optimum. The first two
//! instances are the worked examples of the HEFT and PEFT papers. The tie rules are ours (lower
//! task, then lower processor), and ties within 1e-9 are ties, so every number must be met.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use serde_json::Value;
use slackline_formats::instance;
use slackline_model::Problem;
use slackline_model::schedule::{Limits, validate};
use slackline_schedule::{Request, registry};

#[test]
fn every_method_gives_the_independent_makespan() {
    let mut compared = 0;
    for line in include_str!("../fixtures/makespans.jsonl").lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let name = line["instance"]["name"].as_str().unwrap();
        let instance = instance::read(&line["instance"].to_string()).unwrap();
        let problem = Problem::new(&instance.workflow, &instance.platform).unwrap();
        let optimum = line["optimum"]["lower_bound"].as_f64().unwrap_or(0.0);
        for (method, wanted) in line["makespans"].as_object().unwrap() {
            let wanted = wanted.as_f64().unwrap();
            let algorithm = registry::find(method).unwrap_or_else(|| panic!("no {method}"));
            let schedule = algorithm.plan(&problem, &Request::default()).unwrap();
            assert_eq!(validate(&problem, &schedule, &Limits::default()), [], "{method} on {name}");
            let makespan = schedule.makespan();
            let deviation = (makespan - wanted).abs() / wanted;
            assert!(deviation <= 1e-9, "{method} on {name}: {makespan}, not {wanted}");
            assert!(makespan >= optimum * (1.0 - 1e-9), "{method} on {name} beats the optimum");
            compared += 1;
        }
    }
    assert_eq!(compared, 72 * 15 + 24 * 8);
}
