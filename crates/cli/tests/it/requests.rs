//! Requests: the options, the document that they make and the library give the same bytes; schemas of all documents are
//! those in docs/schema; run folders that were written before folders kept requests are resumed and repeated.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use crate::common;

use common::Place;
use serde_json::Value;
use slackline_core::{AnyRequest, Context, Silent, bundled, schema};
use slackline_io::FileAccess;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The words of at least a hundred commands over plans, simulated runs and rehearsals.
fn commands(folder: &Path) -> Vec<Vec<String>> {
    let file = |name: &str| folder.join(name).display().to_string();
    let runnable = file("examples/workflows/fork-join.toml");
    let (failure, errors) = (file("failure.toml"), file("errors.toml"));
    let mut lines: Vec<String> = Vec::new();
    for workflow in ["montage", "epigenomics", "gauss", "stg-random"] {
        for platform in ["small-cluster", "two-site-grid", "priced-cloud"] {
            for planner in ["heft", "peft", "cpop,dls"] {
                lines.push(format!("plan {workflow} -p {platform} -a {planner}"));
            }
            lines.push(format!("plan {workflow} -p {platform}"));
            lines.push(format!("simulate {workflow} -p {platform}"));
            lines.push(format!("simulate {workflow} -p {platform} --policy just-in-time"));
        }
    }
    for policy in ["static", "aheft", "gtp/c", "always", "work-queue", "slackline"] {
        lines.push(format!(
            "simulate montage -p small-cluster --scenario {failure} --policy {policy}"
        ));
        lines.push(format!("run {runnable} -p two-site-grid --dry-run --policy {policy}"));
    }
    lines.extend(
        [
            "plan montage epigenomics -a share-cp,group",
            "plan --instance heft-2002 -a heft",
            "plan montage -p priced-cloud --deadline 2h --budget 3",
            "plan montage -p priced-cloud --front",
            "plan montage -p two-site-grid --robust=10%",
            "plan montage --config network/model:CM02 --inputs everywhere",
            "plan montage --reference-speed 2Gf --no-check",
            "plan montage -p small-cluster --speed fast-1=2 --no-check",
            "simulate montage -p small-cluster --speed fast-1=2",
            "plan montage -a best --iterations 5 --seed 3 --threads 2",
            "plan gauss -a hcpa --max-width 3",
            "simulate --instance heft-2002",
            "simulate montage --transfers pull:2 --period 0.2 --policy gtp/c",
            "simulate montage --threshold 1 --policy gtp/c --set transfers=pull",
            "simulate montage --monitoring-delay 5s --decision-time 1s --policy aheft --retries 1",
            "simulate montage --knows kinds --data hosts --policy just-in-time --until 10h",
            "simulate montage --compare static,just-in-time,aheft",
            "simulate montage -p priced-cloud --deadline 100s --budget 5 -a peft --policy slackline",
        ]
        .map(str::to_string),
    );
    lines.push(format!("simulate montage -p small-cluster --scenario {errors} --worlds 3"));
    lines.push(format!(
        "simulate montage -p small-cluster --scenario {errors} --worlds 2 --compare static,aheft"
    ));
    lines.push(format!("run {runnable} -p two-site-grid --dry-run -a peft --inputs everywhere"));
    lines.iter().map(|line| line.split_whitespace().map(str::to_string).collect()).collect()
}

/// Exit code and standard output of a command in process, without what depends on the clock.
fn command(words: &[&str]) -> (u8, String) {
    let (out, err) = (slackline::Sink::default(), slackline::Sink::default());
    let words = ["slackline"].iter().chain(words);
    let code = slackline::run(words, out.clone(), err.clone());
    assert!(code < 2, "{}", err.text());
    (code, steady(&out.text()))
}

fn steady(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains("\"wall_seconds\""));
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn files() -> FileAccess {
    FileAccess::default().with_bundled(bundled::named)
}

#[test]
fn options_requests_and_the_library_give_the_same_bytes() {
    let place = Place::new();
    place.ok("generate scenario failure -p small-cluster --seed 2 -o failure.toml");
    place.ok("generate scenario errors -p small-cluster --seed 4 -o errors.toml");
    place.write("examples/workflows/book.txt", "a word\n");
    let path = place.path().join("request.json");
    let request_file = path.display().to_string();
    let commands = commands(place.path());
    assert!(commands.len() >= 100, "{}", commands.len());
    let all = schema::all();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for words in &commands {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (code, by_options) = command(&[&words[..], &["--json"]].concat());
        let (_, request) = command(&[&words[..], &["--print-request"]].concat());
        std::fs::write(&path, &request).unwrap();
        let (again, by_request) = command(&["--request", &request_file, "--json"]);
        assert_eq!((code, &by_options), (again, &by_request), "{words:?}");
        let (_, printed) = command(&["--request", &request_file, "--print-request"]);
        assert_eq!(printed, request, "{words:?}");
        let mut silent = Silent;
        let mut context = Context::new(files(), &mut silent);
        let request = AnyRequest::parse(&request).unwrap();
        let answer = request.report(&mut context).unwrap().to_json().unwrap();
        assert_eq!(steady(&answer), by_options, "{words:?}");
        let document: Value = serde_json::from_str(&answer).unwrap();
        let is_rehearsal = words[0] == "run";
        let described = all.iter().find(|s| {
            Some(s.name) == document["schema"].as_str()
                && is_rehearsal == s.file.contains("rehearsal")
        });
        let described = described.unwrap_or_else(|| panic!("{words:?}: no schema"));
        let members = schema::members(&described.schema);
        check_members(&document, "", &members.keys().map(String::as_str).collect(), &words);
        seen.insert(described.file);
    }
    for file in [
        "plan.json",
        "plans.json",
        "plan-front.json",
        "simulation.json",
        "simulations.json",
        "simulation-worlds.json",
    ] {
        assert!(seen.contains(file), "{file} is not covered");
    }
}

/// Every member of a document is in its schema; details of planners have any name.
fn check_members(at: &Value, path: &str, known: &BTreeSet<&str>, words: &[&str]) {
    const DETAILS: [&str; 2] = ["plan", "sweep"];
    match at {
        Value::Object(object) => {
            for (name, value) in object {
                let own = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let any = format!("{path}.*");
                let is_known = known.contains(own.as_str()) || known.contains(any.as_str());
                let is_detail = words.contains(&DETAILS[0]) && !path.contains("schedule");
                assert!(is_known || is_detail, "{words:?}: {own} is in no schema");
                if is_known {
                    check_members(value, &own, known, words);
                }
            }
        }
        Value::Array(items) => {
            items.iter().for_each(|item| check_members(item, &format!("{path}[]"), known, words));
        }
        _ => {}
    }
}

#[test]
fn requests_with_unknown_members_are_refused_by_name() {
    let place = Place::new();
    let refused = |text: &str, what: &str| {
        place.write("bad.json", text);
        let done = place.run("--request bad.json");
        assert_eq!(done.code, Some(2), "{}", done.err);
        assert!(done.err.contains(what), "{}", done.err);
        assert_eq!(done.out, "");
    };
    let plan = "{\"schema\": \"slackline/plan-request/1\",\n ";
    refused(&format!("{plan}\"planer\": []}}"), "bad.json: 2:9: unknown member `planer`");
    refused(&format!("{plan}\"limits\": {{\"bugdet\": 3}}}}"), "unknown member `bugdet`");
    refused(&format!("{plan}\"planners\": [\"heft\"]}}"), "no workflow is given");
    refused(
        &format!("{plan}\"input\": {{\"workflows\": [\"montage\"]}}, \"planners\": [\"hefft\"]}}"),
        "hefft",
    );
    refused(&format!("{plan}\"search\": {{\"threads\": 0}}}}"), "search.threads");
    refused(&format!("{plan}\"robust\": -1}}"), "robust");
    refused("{}", "schema");
    refused("{\"schema\": \"slackline/trip/1\"}", "slackline/trip/1");
    refused("not json", "bad.json: 1:");
    let simulate = "{\"schema\": \"slackline/simulate-request/1\",";
    refused(&format!("{simulate} \"setup\": {{\"decision_time\": -1}}}}"), "decision_time");
    place.fails(2, "show montage --print-request");
    let done = place.run("plan montage --request bad.json");
    assert_eq!(done.code, Some(2));
}

#[test]
fn permissions_belong_to_a_call() {
    let place = Place::new();
    let folder = place.path().join("inner");
    std::fs::create_dir(&folder).unwrap();
    place.write("speeds.csv", "0 1\n10 0.5\n");
    place.write(
        "inner/platform.xml",
        "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\"><platform version=\"4.1\">\
         <zone id=\"z\" routing=\"Full\"><host id=\"h\" speed=\"1Gf\" availability_file=\"../speeds.csv\"/></zone></platform>",
    );
    let platform = folder.join("platform.xml").display().to_string();
    let run = |allow: &[&str]| {
        let (out, err) = (slackline::Sink::default(), slackline::Sink::default());
        let words = [&["slackline", "plan", "gauss", "--json", "-p", &platform], allow].concat();
        (slackline::run(words, out, err.clone()), err.text())
    };
    let (allowed, why) = run(&["--allow-outside"]);
    assert_eq!(allowed, 0, "{why}");
    let (refused, why) = run(&[]);
    assert_eq!(refused, 2, "{why}");
}

fn schema_folder() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema")).to_path_buf()
}

/// With SLACKLINE_WRITE_SCHEMAS set the files are written, unless that would break readers of the same version.
#[test]
fn schemas_are_the_committed_ones_and_keep_what_they_promised() {
    let write = std::env::var_os("SLACKLINE_WRITE_SCHEMAS").is_some();
    let mut files = BTreeSet::new();
    for document in schema::all() {
        let path = schema_folder().join(document.file);
        let text = serde_json::to_string_pretty(&document.schema).unwrap() + "\n";
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        if let Ok(old) = serde_json::from_str::<Value>(&committed)
            && old["properties"]["schema"]["const"] == document.name
        {
            let breaks = schema::breaks(&old, &document.schema);
            assert!(
                breaks.is_empty(),
                "{}: raise the version of {}: {breaks:?}",
                document.file,
                document.name
            );
        }
        if write {
            std::fs::write(&path, &text).unwrap();
        } else {
            assert_eq!(
                committed, text,
                "{}: run this test with SLACKLINE_WRITE_SCHEMAS=1",
                document.file
            );
        }
        files.insert(document.file.to_string());
    }
    let names = std::fs::read_dir(schema_folder()).unwrap();
    let names: BTreeSet<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, files);
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Members may be added to a document; none changes or goes away.
fn assert_keeps(new: &Value, old: &Value, place: &str) {
    match old {
        Value::Object(members) => {
            for (name, value) in members.iter().filter(|(name, _)| *name != "wall_seconds") {
                assert_keeps(&new[name], value, &format!("{place}.{name}"));
            }
        }
        _ => assert_eq!(new, old, "{place}"),
    }
}

/// Folders of version 0.1.0 from before they kept requests: `finished` is over, `cut` was killed in its last task.
#[test]
fn older_run_folders_are_repeated_and_resumed() {
    let place = Place::new();
    let fixtures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/runs"));
    for name in ["finished", "cut"] {
        let folder = place.path().join(name);
        copy_folder(&fixtures.join(name), &folder);
        // Empty folders are not kept by version control.
        for empty in [
            "tasks",
            "results",
            "hosts/one/work",
            "hosts/two/work",
            "hosts/one/files",
            "hosts/two/files",
        ] {
            std::fs::create_dir_all(folder.join(empty)).unwrap();
        }
    }
    let repeated = place.ok("simulate --replay finished --json");
    let old: Value = serde_json::from_str(&place.read("finished/replay.json")).unwrap();
    assert_keeps(&serde_json::from_str(&repeated).unwrap(), &old, "");
    let repeated = place.ok("simulate --replay cut --json");
    let document: Value = serde_json::from_str(&repeated).unwrap();
    assert_eq!(document["finished"], false);
    let resumed = place.ok("resume cut --json");
    let document: Value = serde_json::from_str(&resumed).unwrap();
    assert_eq!((&document["finished"], &document["tasks_done"]), (&true.into(), &4.into()));
    assert_eq!(place.read("cut/results/d"), "begin\nleft\nbegin\nright\n");
    place.ok("simulate --replay cut");
}
