//! `plan`, `simulate`, `run --dry-run` and the library give the same makespans, bounds and refusals.
#![allow(clippy::unwrap_used)] // a panic is how a test fails

use crate::common;

use common::Place;
use serde_json::Value;
use slackline_core::formats::FileAccess;
use slackline_core::formats::{read_platform, read_workflow};
use slackline_core::react::{JustInTime, Policy, StaticPlan, Transfers};
use slackline_core::schedule::{bounds, registry};
use std::sync::Arc;

/// One task of ten seconds on a host with half of its speed.
const HALF: [&str; 2] = [
    r#"
[task.only]
command = "true"
time = "10s"
"#,
    r#"
[profile.half]
events = [[0, 0.5]]

[host.slow]
speed = "1Gf"
availability = "half"
"#,
];

/// Tasks that read inputs and each other's files, two between the same tasks.
const FILES: &str = r#"
[files]
"in.dat" = "40MB"
"more.dat" = "10MB"
"a.dat" = "30MB"
"b.dat" = "60MB"
"c.dat" = "5MB"

[task.split]
command = "true"
inputs = ["in.dat"]
outputs = ["a.dat", "b.dat"]
time = "4s"

[task.left]
command = "true"
inputs = ["a.dat", "b.dat", "more.dat"]
outputs = ["c.dat"]
time = "7s"

[task.right]
command = "true"
inputs = ["b.dat", "in.dat"]
time = "9s"

[task.after]
command = "true"
inputs = ["more.dat"]
after = ["split"]
time = "3s"

[task.join]
command = "true"
inputs = ["c.dat"]
after = ["right"]
time = "2s"
"#;

const FIFO: &str = r#"
origin = "store"
links = "fifo"

[host.store]
speed = "1Gf"
cores = 0
bandwidth = "100Mbps"
latency = "20ms"

[cluster.near]
count = 2
speed = "1Gf"
shared-storage = true
bandwidth = "80Mbps"

[cluster.far]
count = 3
speed = "2Gf"
shared-storage = true
bandwidth = "40Mbps"
latency = "10ms"
"#;

const MATRIX: &str = r#"
[host.p1]
speed = "1Gf"
[host.p2]
speed = "2Gf"
[host.p3]
speed = "4Gf"

[matrix]
latency = "1ms"
bandwidth = [
  ["free", "10MBps", "5MBps"],
  ["10MBps", "free", "8MBps"],
  ["5MBps", "8MBps", "free"],
]
"#;

const ORIGIN: &str = r#"
origin = "front"

[site.here]
[site.there]

[link.wan]
between = ["here", "there"]
bandwidth = "200Mbps"
latency = "10ms"

[host.front]
site = "here"
speed = "1Gf"

[cluster.quick]
site = "there"
count = 3
cores = 2
speed = "3Gf"
"#;

/// Tasks over several hosts of a cluster.
const SPREAD: [&str; 2] = [
    r#"
[files]
"a.dat" = "30MB"
"b.dat" = "60MB"

[task.first]
command = "true"
outputs = ["a.dat"]
time = "30s"
cores = "1-4"
alpha = 0.1
spread = true

[task.second]
command = "true"
inputs = ["a.dat"]
outputs = ["b.dat"]
time = "40s"
cores = "1-3"
alpha = 0.2
spread = true

[task.third]
command = "true"
inputs = ["a.dat", "b.dat"]
time = "20s"
"#,
    r#"
[cluster.narrow]
count = 4
speed = "1Gf"
"#,
];

const CASES: [(&str, &str, &str); 5] = [
    ("half", HALF[0], HALF[1]),
    ("fifo", FILES, FIFO),
    ("matrix", FILES, MATRIX),
    ("origin", FILES, ORIGIN),
    ("spread", SPREAD[0], SPREAD[1]),
];

fn json(place: &Place, line: &str) -> Value {
    serde_json::from_str(&place.ok(line)).unwrap()
}

fn close(a: &Value, b: f64) -> bool {
    (a.as_f64().unwrap() - b).abs() <= 1e-9 * b.abs()
}

fn place_with(workflow: &str, platform: &str) -> Place {
    let place = Place::new();
    place.write("w.toml", workflow);
    place.write("p.toml", platform);
    place.write("in.dat", "");
    place.write("more.dat", "");
    place
}

/// The planned and simulated makespan, and the lower bound.
fn answers(name: &str, workflow: &str, platform: &str) -> (f64, f64, f64) {
    let place = place_with(workflow, platform);
    let files = "w.toml --platform p.toml --json";
    let plan = json(&place, &format!("plan {files}"));
    let simulated = json(&place, &format!("simulate {files}"));
    let rehearsed = json(&place, &format!("run {files} --dry-run --policy static"));
    let workflow =
        read_workflow(&FileAccess::default(), &place.path().join("w.toml"), None).unwrap().workflow;
    let workflow = Arc::new(workflow);
    let platform = Arc::new(
        read_platform(&FileAccess::default(), &place.path().join("p.toml"), None).unwrap(),
    );
    let problem = slackline_core::problem(&workflow, &platform).unwrap();
    let planner = registry::usual(&problem);
    let planned = slackline_core::plan(&problem, planner.name).unwrap().makespan();
    let bound = bounds::lower_bound(&problem);
    let makespan = |policy: &mut dyn Policy| {
        slackline_core::run(&workflow, &platform, policy).unwrap().makespan
    };
    let ends = makespan(&mut StaticPlan::new(planner, Transfers::Push));
    assert_eq!(plan["algorithm"], planner.name);
    for (answer, value) in [
        (&plan["makespan"], planned),
        (&simulated["planned_makespan"], planned),
        (&rehearsed["planned_makespan"], planned),
        (&plan["simulated"], ends),
        (&simulated["makespan"], ends),
        (&rehearsed["makespan"], ends),
        (&plan["lower_bound"], bound),
        (&simulated["lower_bound"], bound),
        (&rehearsed["lower_bound"], bound),
    ] {
        assert!(
            close(answer, value),
            "{name}: {answer}, {value}\n{plan}\n{simulated}\n{rehearsed}"
        );
    }
    assert_eq!(plan["difference"], simulated["difference"], "{name}");
    assert_eq!(plan["difference"], rehearsed["difference"], "{name}");
    // But for the clock, and what a rehearsal would do, the documents of the two runs are one.
    let timeless = |document: &Value| {
        let mut document = document.clone();
        for own in ["wall_seconds", "redo", "up_to_date"] {
            document.as_object_mut().unwrap().remove(own);
        }
        document
    };
    assert_eq!(timeless(&simulated), timeless(&rehearsed), "{name}");
    let simulated = json(&place, &format!("simulate {files} --policy just-in-time"));
    let rehearsed = json(&place, &format!("run {files} --dry-run --policy just-in-time"));
    assert_eq!(timeless(&simulated), timeless(&rehearsed), "{name}");
    assert!(close(&simulated["makespan"], makespan(&mut JustInTime::default())), "{name}");
    (planned, ends, bound)
}

#[test]
fn all_four_say_the_same() {
    for (name, workflow, platform) in CASES {
        let (planned, ends, bound) = answers(name, workflow, platform);
        assert!(bound > 0.0 && bound <= planned * (1.0 + 1e-9), "{name}: {bound} {planned}");
        assert!(bound <= ends * (1.0 + 1e-9), "{name}: {bound} {ends}");
        if name == "half" {
            assert!((planned - 20.0).abs() < 1e-9 && (ends - 20.0).abs() < 1e-9);
        }
    }
}

/// Levels that rise: a run may end before every plan, and the bound says so.
#[test]
fn rising_levels_lower_the_bound() {
    let [workflow, platform] = HALF;
    let rising = platform.replace("[[0, 0.5]]", "[[0, 0.5], [5, 2]]");
    for platform in [rising.clone(), format!("links = \"fifo\"\n{rising}")] {
        let place = place_with(workflow, &platform);
        let plan = json(&place, "plan w.toml -p p.toml --algorithm heft --json");
        let run = json(&place, "simulate w.toml -p p.toml --json");
        let number = |document: &Value, name: &str| document[name].as_f64().unwrap();
        assert!((number(&run, "makespan") - 8.75).abs() < 1e-9, "{run}");
        assert!(number(&plan, "lower_bound") <= 8.75, "{plan}");
        assert_eq!(plan["lower_bound"], run["lower_bound"]);
    }
}

/// Words and exit code of the command, and the words of the library, must agree.
fn refused(name: &str, workflow: &str, platform: &str, options: &str, code: i32, words: &str) {
    let place = place_with(workflow, platform);
    let line = |verb: &str| format!("{verb} w.toml --platform p.toml {options}");
    let plan = place.run(&line("plan"));
    assert_eq!(plan.code, Some(code), "{name}: {}", plan.err);
    assert!(plan.err.contains(words), "{name}: {}", plan.err);
    for verb in ["simulate", "run --policy static --dry-run"] {
        let done = place.run(&line(verb));
        assert_eq!((done.code, &done.err), (plan.code, &plan.err), "{name}: {verb}");
    }
    let workflow =
        read_workflow(&FileAccess::default(), &place.path().join("w.toml"), None).unwrap().workflow;
    let platform =
        read_platform(&FileAccess::default(), &place.path().join("p.toml"), None).unwrap();
    let planner = options.split_whitespace().last().unwrap_or("heft");
    let planned = slackline_core::problem(&workflow, &platform)
        .and_then(|problem| slackline_core::plan(&problem, planner).map(|plan| plan.makespan()));
    assert_eq!(planned.unwrap_err().to_string(), words, "{name}");
    if options.is_empty() {
        let (workflow, platform) = (Arc::new(workflow), Arc::new(platform));
        let ran = slackline_core::run(&workflow, &platform, &mut JustInTime::default());
        assert_eq!(ran.unwrap_err().to_string(), words, "{name}");
    }
}

#[test]
fn all_four_refuse_in_the_same_words() {
    let large = "[task.big]\ncommand = \"true\"\ntime = \"1s\"\nmemory = \"64GB\"\n";
    let small = "[host.one]\nspeed = \"1Gf\"\nmemory = \"8GB\"\n";
    let words = "task 'big' fits on no host: ";
    let place = place_with(large, small);
    let told = place.run("plan w.toml --platform p.toml").err;
    let line = told.lines().next().unwrap().trim_start_matches("error: ").to_string();
    assert!(line.starts_with(words), "{told}");
    refused("memory", large, small, "", 1, &line);
    let wide = "[task.big]\ncommand = \"true\"\ntime = \"1s\"\ncores = 4\n";
    let told = place_with(wide, small).run("plan w.toml --platform p.toml").err;
    let line = told.lines().next().unwrap().trim_start_matches("error: ").to_string();
    assert!(line.starts_with(words), "{told}");
    refused("width", wide, small, "", 1, &line);
    let needs = "cpa needs moldable tasks";
    refused("needs", HALF[0], HALF[1], "--algorithm cpa", 2, needs);
}

/// A scenario is no business of the command alone.
#[test]
fn the_library_runs_scenarios() {
    let place = place_with(FILES, ORIGIN);
    let scenario = "[[host]]\nname = \"quick-0\"\navailability = [[0, 0.25]]\n";
    let path = place.write("s.toml", scenario);
    let simulated = json(&place, "simulate w.toml --platform p.toml --scenario s.toml --json");
    let workflow = Arc::new(
        read_workflow(&FileAccess::default(), &place.path().join("w.toml"), None).unwrap().workflow,
    );
    let platform = Arc::new(
        read_platform(&FileAccess::default(), &place.path().join("p.toml"), None).unwrap(),
    );
    let scenario =
        slackline_core::formats::scenario::read_scenario(&FileAccess::default(), &path).unwrap();
    let problem = slackline_core::problem(&workflow, &platform).unwrap();
    let mut policy = StaticPlan::new(registry::usual(&problem), Transfers::Push);
    let run = slackline_core::run_in_scenario(&workflow, &platform, &scenario, &mut policy);
    assert!(close(&simulated["makespan"], run.unwrap().makespan), "{simulated}");
}
