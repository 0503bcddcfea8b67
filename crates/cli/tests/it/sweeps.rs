//! Parameter sweeps through the command: planned and run as an independent implementation of the
//! same heuristics says (`fixtures/sweeps.json`), and the files they come in.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Place;
use serde_json::Value;

/// Writes a sweep of the fixtures as the files of the study.
fn lay_out(place: &Place, sweep: &Value) -> String {
    let name = sweep["name"].as_str().unwrap().to_string();
    let mut grid = String::from("GridDescription 1\n");
    for (index, cluster) in sweep["clusters"].as_array().unwrap().iter().enumerate() {
        let (latency, bandwidth) = (&cluster["latency_ms"], &cluster["bandwidth"]);
        place.write(&format!("net_{bandwidth}_{latency}"), format!("1\n{latency} {bandwidth}\n"));
        grid += &format!("0:ADD_CLUSTER <c{index}> <net_{bandwidth}_{latency}> <0>\n");
        for host in cluster["hosts"].as_array().unwrap() {
            let (host, percent, arch) = (host[0].as_str().unwrap(), &host[1], &host[2]);
            place.write(&format!("cpu_{percent}"), format!("1\n{percent}\n"));
            grid += &format!("0:ADD_HOST <c{index}> <{host}> <cpu_{percent}> <0> <{arch}>\n");
        }
    }
    place.write(&format!("{name}.grid"), grid);
    let list = |values: &Value| {
        let all: Vec<String> = values.as_array().unwrap().iter().map(Value::to_string).collect();
        format!("<{} : {}>", all.len(), all.join(" "))
    };
    let (files, tasks) = (sweep["files"].as_array().unwrap(), sweep["tasks"].as_array().unwrap());
    let mut work = format!("WorkDescription 1 {} {}\n", files.len(), tasks.len());
    for (id, size) in files.iter().enumerate() {
        work += &format!("File: <{id}> <f{id}> <{size}> <{size}>\n");
    }
    for (id, task) in tasks.iter().enumerate() {
        let (reads, writes) = (list(&task["reads"]), list(&task["writes"]));
        let seconds = list(&task["seconds"]);
        work += &format!("Work: <{id}> {reads} {writes} {seconds} {seconds}\n");
    }
    place.write(&format!("{name}.work"), work);
    name
}

fn close(found: &Value, wanted: &Value) -> bool {
    let (found, wanted) = (found.as_f64().unwrap(), wanted.as_f64().unwrap());
    (found - wanted).abs() <= 1e-9 * wanted.abs().max(1e-9)
}

fn check(document: &Value, makespan: &Value, starts: &Value, what: &str) {
    assert!(close(&document["makespan"], makespan), "{what}: {}", document["makespan"]);
    for (task, wanted) in starts.as_array().into_iter().flatten().enumerate() {
        let placed = &document["schedule"][task];
        assert_eq!(placed["task"], task.to_string(), "{what}");
        assert!(close(&placed["start"], wanted), "{what}, task {task}: {placed}");
    }
}

#[test]
fn plans_and_runs_are_as_computed_elsewhere() {
    let place = Place::new();
    let sweeps: Value = serde_json::from_str(include_str!("../fixtures/sweeps.json")).unwrap();
    for sweep in sweeps.as_array().unwrap() {
        let name = lay_out(&place, sweep);
        let files = format!("{name}.work --platform {name}.grid");
        for (method, wanted) in sweep["expected"].as_object().unwrap() {
            let what = format!("{name} {method}");
            let read = |line: &str| -> Value { serde_json::from_str(&place.ok(line)).unwrap() };
            let once = match method.as_str() {
                "h0" => "",
                _ => {
                    "--set quota=100000 --set strategy=s1 --set interval=1000000000 \
                     --set replan-on=never --set steal=no --set link-order=greedy"
                }
            };
            let run = format!("simulate {files} --policy {method} --knows exact --json {once}");
            check(&read(&run), &wanted["run"], &wanted["run_starts"], &format!("{what}, run"));
            if method == "h0" {
                continue;
            }
            let plan = read(&format!("plan {files} --algorithm {method} --json"));
            check(&plan, &wanted["plan"], &wanted["starts"], &what);
            let strict = run.replace("greedy", "strict");
            let nothing = Value::Null;
            check(&read(&strict), &wanted["plan"], &nothing, &format!("{what}, strict"));
        }
    }
}

#[test]
fn a_run_tells_what_crossed_the_links() {
    let place = Place::new();
    let sweeps: Value = serde_json::from_str(include_str!("../fixtures/sweeps.json")).unwrap();
    let name = lay_out(&place, &sweeps[0]);
    let line = format!("simulate {name}.work --platform {name}.grid --policy h4 --json");
    let document: Value = serde_json::from_str(&place.ok(&line)).unwrap();
    let sweep = &document["sweep"];
    assert_eq!(sweep["events"][0]["at"], 0.0);
    assert_eq!(sweep["events"][0]["planned"], 12);
    let bytes: f64 =
        sweep["bytes_by_link"].as_object().unwrap().values().map(|b| b.as_f64().unwrap()).sum();
    assert!(bytes > 0.0 && sweep["replicas"].as_u64().unwrap() > 0, "{sweep}");
    let sent = sweep["replicas"].as_u64().unwrap() + 12;
    assert_eq!(sweep["files_sent"].as_u64().unwrap(), sent, "every output comes back once");
}

#[test]
fn grids_and_applications_are_shown_converted_and_refused() {
    let place = Place::new();
    let sweeps: Value = serde_json::from_str(include_str!("../fixtures/sweeps.json")).unwrap();
    let name = lay_out(&place, &sweeps[2]);
    assert!(place.ok(&format!("show {name}.grid")).contains("h0.0"));
    assert!(place.ok(&format!("show {name}.work")).contains("tasks"));
    place.ok(&format!("convert {name}.grid again.toml"));
    place.ok(&format!("convert {name}.work again.work"));
    let read = |line: &str| -> Value { serde_json::from_str(&place.ok(line)).unwrap() };
    let plan = read(&format!("plan {name}.work --platform {name}.grid --algorithm h9 --json"));
    let again = read("plan again.work --platform again.toml --algorithm h9 --json");
    assert_eq!(plan["schedule"], again["schedule"]);
    assert_eq!(plan["transfers"], again["transfers"]);
    assert!(plan["transfers"][0]["link"].is_string());
    // One architecture more than the application knows.
    let grid = place
        .read(&format!("{name}.grid"))
        .replace("<cpu", "< cpu")
        .replace("<0> <0>\n", "<0> <77>\n");
    place.write("other.grid", grid);
    let line = format!("plan {name}.work --platform other.grid --algorithm h4");
    assert!(place.fails(2, &line).contains("arch77"));
    place.write("gone.grid", "GridDescription 1\n0:ADD_CLUSTER <c> <nowhere> <0>\n");
    let error = place.fails(2, &format!("plan {name}.work --platform gone.grid"));
    assert!(error.contains("gone.grid:2:") && error.contains("'nowhere'"), "{error}");
}

#[test]
fn when_all_clusters_are_gone_it_is_said_who_waits() {
    let place = Place::new();
    let sweeps: Value = serde_json::from_str(include_str!("../fixtures/sweeps.json")).unwrap();
    let name = lay_out(&place, &sweeps[5]);
    let grid = place.read(&format!("{name}.grid")) + "10:REMOVE_CLUSTER <c0>\n";
    place.write("short.grid", grid);
    for policy in ["h0", "h4"] {
        let line = format!("simulate {name}.work --platform short.grid --policy {policy}");
        let error = place.fails(1, &line);
        assert!(error.contains("cannot finish"), "{error}");
        assert!(error.contains("all hosts are gone") && error.contains("not done: '"), "{error}");
    }
}
