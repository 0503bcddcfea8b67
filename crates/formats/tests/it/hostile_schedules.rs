//! Bad schedules: for any input, the answer is a schedule whose numbers can be validated, or an error with a
//! description.
#![allow(clippy::unwrap_used)] // tests

use proptest::prelude::*;
use slackline_formats::{instance, schedule_json};
use slackline_model::Problem;
use slackline_model::schedule::{Limits, Summary, validate};

const WORLD: &str = r#"{"name": "two", "tasks": [{"id": "a", "cost": 6}, {"id": "b", "cost": 4}],
    "edges": [{"from": "a", "to": "b", "data": 10}],
    "processors": [{"id": "p", "speed": 1}, {"id": "q", "speed": 2}], "bandwidth": 5}"#;

const GOOD: &str = r#"{"makespan": 12, "schedule": [
    {"task": "a", "processor": "p", "start": 0, "finish": 6},
    {"task": "b", "processor": "q", "start": 8, "finish": 10}],
  "transfers": [{"from": "a", "to": "b", "source": "p", "target": "q", "start": 6, "finish": 8}],
  "leases": [{"host": "q", "from": 0, "to": 10}]}"#;

/// Reads, and lets the validator and the summary see what was read.
fn feed(text: &str) {
    let world = instance::read(WORLD).unwrap();
    let problem = Problem::new(&world.workflow, &world.platform).unwrap();
    match schedule_json::read(text, &problem) {
        Ok(schedule) => {
            let broken = validate(&problem, &schedule, &Limits::default());
            let complete = schedule.placements.iter().all(Option::is_some);
            assert!(complete || !broken.is_empty(), "a hole that nobody sees: {text}");
            if broken.is_empty() {
                assert!(Summary::of(&problem, &schedule).makespan.is_finite());
            }
        }
        Err(error) => assert!(!error.message.is_empty(), "an error without words"),
    }
}

#[test]
fn the_unbroken_one_is_valid() {
    let world = instance::read(WORLD).unwrap();
    let problem = Problem::new(&world.workflow, &world.platform).unwrap();
    let schedule = schedule_json::read(GOOD, &problem).unwrap();
    assert_eq!(validate(&problem, &schedule, &Limits::default()), []);
}

#[test]
fn every_cut_and_every_odd_number_is_survived() {
    for cut in 0..GOOD.len() {
        feed(&GOOD[..cut]);
    }
    for number in ["-1", "1e308", "-1e308", "1e999", "NaN", "null", "\"6\"", "[]", "-0", "0.1e-320"]
    {
        for place in ["\"start\": 0", "\"finish\": 6", "\"to\": 10", "\"finish\": 8"] {
            let key = place.split(' ').next().unwrap();
            feed(&GOOD.replacen(place, &format!("{key} {number}"), 1));
        }
    }
    let list =
        r#"{"schedule": [{"task": "a", "processors": ["p", "p"], "start": 0, "finish": 6}]}"#;
    feed(list);
    feed(&"[".repeat(100_000));
    feed(&format!("{{\"schedule\": {}", "[".repeat(100_000)));
}

proptest! {
    #![proptest_config(slackline_testkit::cases(500))]

    #[test]
    fn damage_is_survived(
        at in 0..GOOD.len(),
        length in 0usize..12,
        with in prop_oneof![
            "[ -~]{0,8}",
            Just("{".to_string()),
            Just("]".to_string()),
            Just("1e400".to_string()),
            Just("\u{0}".to_string()),
        ],
    ) {
        let end = (at + length).min(GOOD.len());
        feed(&format!("{}{with}{}", &GOOD[..at], &GOOD[end..]));
    }

    #[test]
    fn noise_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        feed(&String::from_utf8_lossy(&bytes));
    }
}
