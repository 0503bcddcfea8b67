//! `slackline reproduce`: the list, a report in all its forms, and names that do not exist.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Place;
use serde_json::Value;

#[test]
fn lists_what_can_be_reproduced() {
    let place = Place::new();
    let shown = place.ok("reproduce");
    assert!(shown.starts_with("gtp\n"), "{shown}");
    let list: Value = serde_json::from_str(&place.ok("reproduce --json")).unwrap();
    assert_eq!(list["schema"], "slackline/reproductions/1");
    assert_eq!(list["reproductions"][0]["name"], "gtp");
}

#[test]
fn a_report_is_shown_written_and_machine_readable() {
    let place = Place::new();
    let line = "reproduce selective-rescheduling --quick --graphs 1 --tables -o report.md";
    let shown = place.ok(line);
    assert!(shown.lines().all(|l| l.chars().count() <= 80), "{shown}");
    for part in ["E1.1", "E2.4", "claims: ", "Report written to report.md"] {
        assert!(shown.contains(part), "{part} is missing in\n{shown}");
    }
    let page = place.read("report.md");
    assert!(page.contains("| what | published | ours | wanted | met |"), "{page}");
    let line = "reproduce selective-rescheduling --quick --graphs 1 --json --threads 2";
    let document: Value = serde_json::from_str(&place.ok(line)).unwrap();
    assert_eq!(document["schema"], "slackline/reproduction/1");
    assert_eq!(document["claims"][0]["id"], "E1.1");
    assert!(document["claims"][0]["verdict"]["word"].is_string());
    assert!(document["timed"]["claims"][0]["checks"][0]["ours"]["value"].is_number());
}

#[test]
fn names_that_do_not_exist_are_refused() {
    let place = Place::new();
    assert!(place.fails(2, "reproduce nothing").contains("selective-rescheduling"));
    place.write("taken", "");
    place.fails(2, "reproduce selective-rescheduling -o taken/report.md");
}
