//! Answers that help: pictures by extension, causes by name, suggestions, many worlds.

#![allow(clippy::unwrap_used)]

mod common;

use common::Place;

/// Three hosts, one of which nobody can reach.
const CUT_OFF: &str = r#"<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="z" routing="Full">
    <host id="a" speed="1Gf"/>
    <host id="b" speed="1Gf"/>
    <host id="c" speed="1Gf"/>
    <link id="l" bandwidth="1MBps" latency="1ms"/>
    <route src="a" dst="b"><link_ctn id="l"/></route>
  </zone>
</platform>
"#;

#[test]
fn extensions_decide_or_are_refused() {
    let place = Place::new();
    place.ok("plan montage --gantt plan.png");
    place.ok("show montage --svg graph.png");
    place.ok("simulate montage -p small-cluster --gantt run.png");
    for file in ["plan.png", "graph.png", "run.png"] {
        let bytes = std::fs::read(place.path().join(file)).unwrap();
        assert!(bytes.starts_with(b"\x89PNG"), "{file}");
    }
    for line in [
        "plan montage --gantt x.pdf",
        "plan montage --gantt x.txt",
        "plan montage -p priced-cloud --front x.pdf",
        "simulate montage --gantt x.jpg",
        "show montage --svg x.pdf",
    ] {
        let error = place.fails(2, line);
        assert!(error.contains(".svg or .png"), "{line}: {error}");
    }
    assert!(!place.path().join("x.pdf").exists());
    // The same bytes again.
    let first = std::fs::read(place.path().join("plan.png")).unwrap();
    place.ok("plan montage --gantt again.png");
    assert_eq!(std::fs::read(place.path().join("again.png")).unwrap(), first);
}

#[test]
fn the_cause_is_named_with_its_file() {
    let place = Place::new();
    place.write("cut.xml", CUT_OFF);
    for verb in ["plan", "simulate"] {
        let error = place.fails(1, &format!("{verb} montage --platform cut.xml"));
        assert!(error.contains("cut.xml: there is no route from host 'a' to host 'c'"), "{error}");
    }
    place.write("zero.toml", "[host.a]\nspeed = \"0Gf\"\n");
    let error = place.fails(2, "plan montage --platform zero.toml");
    assert!(error.contains("zero.toml") && error.contains("speed is 0"), "{error}");
}

#[test]
fn what_was_probably_meant_is_said() {
    let place = Place::new();
    place.write("bad.toml", "[[host]]\nname = \"fsat-1\"\ndown = [{ at = 3 }]\n");
    place.write("unit.toml", "[host.a]\nspeed = \"3Gf\"\nbandwidth = \"10Gbp\"\n");
    for (line, meant) in [
        ("plan montgae", "did you mean 'montage'?"),
        ("plan examples/workflows/montage.jsn", "did you mean 'examples/workflows/montage.json'?"),
        ("plan montage --platform smal-cluster", "did you mean 'small-cluster'?"),
        ("simulate montage -p small-cluster --scenario bad.toml", "did you mean 'fast-1'?"),
        ("plan montage --platform unit.toml", "did you mean 'Gbps'?"),
    ] {
        let error = place.fails(2, line);
        assert!(error.contains(meant), "{line}: {error}");
    }
    let done = place.run("plan montage --iterations many");
    assert!(done.err.contains("expected a whole number"), "{}", done.err);
}

#[test]
fn one_world_proves_little() {
    let place = Place::new();
    let line = "simulate epigenomics -p small-cluster --scenario";
    let one = place.run(&format!("{line} slow-day"));
    assert!(one.err.contains("one world proves little"), "{}", one.err);
    place.ok("generate scenario load --platform small-cluster --count 3 -o days");
    let many = place.ok(&format!("{line} days --compare static,slackline"));
    assert!(many.contains("3 worlds") && many.contains("3 of 3") && many.contains('±'), "{many}");
    place.write("errors.toml", "[errors]\ncompute = { law = \"uniform\", bound = 0.2 }\n");
    let drawn = place.ok(&format!("{line} errors.toml --worlds 4"));
    assert!(drawn.contains("4 worlds"), "{drawn}");
    for (line, why) in [
        (format!("{line} slow-day --worlds 3"), "nothing in it is drawn"),
        (format!("{line} days --gantt x.svg"), "is of one run"),
        ("simulate montage --worlds 3".to_string(), "needs a scenario"),
    ] {
        let error = place.fails(2, &line);
        assert!(error.contains(why), "{line}: {error}");
    }
}

#[test]
fn the_scale_of_time_is_planned() {
    let place = Place::new();
    let line = "generate scenario sce --platform small-cluster -o world.toml";
    let said = place.run(&format!("{line} --workflow montage"));
    assert!(said.err.contains("--makespan 31.1 s"), "{}", said.err);
    assert!(place.run(line).err.contains("100s is assumed"));
}

#[test]
fn methods_are_told_of_by_name() {
    let place = Place::new();
    let told = place.ok("algorithms PEFT slackline");
    assert!(told.starts_with("list scheduling\n  peft "), "{told}");
    assert!(told.contains("\n  slackline ") && !told.contains("\n  heft "), "{told}");
    // An alias is told of where it belongs, and nothing of policies.
    let told = place.ok("algorithms heft-median");
    assert!(told.contains("  heft ") && !told.contains("policies that"), "{told}");
    let error = place.fails(2, "algorithms peff");
    assert!(error.contains("no planner or policy 'peff'; did you mean 'peft'?"), "{error}");
}

/// One edge of eight files over a link with a long round trip: each file is a flow of its own.
const EIGHT_FILES: &str = r#"
[defaults]
size = "50MB"
[task.a]
seconds = { "p-0" = 1, "p-1" = 1000 }
outputs = ["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"]
[task.b]
seconds = { "p-0" = 1000, "p-1" = 1 }
inputs = ["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"]
outputs = ["z"]
"#;

const TWO_FILES: &str = r#"
[files]
x = "100MB"
y = "100MB"
[task.a]
seconds = { "p-0" = 1, "p-1" = 1000 }
outputs = ["x", "y"]
[task.b]
seconds = { "p-0" = 1000, "p-1" = 1 }
inputs = ["x", "y"]
outputs = ["z"]
"#;

#[test]
fn files_of_one_edge_travel_alike_in_plan_bound_and_run() {
    let place = Place::new();
    place.write("eight.toml", EIGHT_FILES);
    place.write("two.toml", TWO_FILES);
    let cluster = |more: &str| format!("[cluster.p]\ncount = 2\nspeed = \"1Gf\"\n{more}");
    place.write("wan.toml", cluster("bandwidth = \"1Gbps\"\nlatency = \"50ms\"\n"));
    let slow = "bandwidth = \"10MBps\"\nlatency = \"1ms\"\n";
    place.write("fat.toml", cluster(&format!("sharing = \"fatpipe\"\n{slow}")));
    place.write("shared.toml", cluster(slow));
    place.write(
        "matrix.toml",
        "[host.p-0]\nspeed = \"1Gf\"\n[host.p-1]\nspeed = \"1Gf\"\n[matrix]\nlatency = \"1ms\"\n\
         bandwidth = \"10MBps\"\n",
    );
    let json = |line: &str| serde_json::from_str::<serde_json::Value>(&place.ok(line)).unwrap();
    for (workflow, platform, seconds) in [
        ("eight", "wan", 6.6),
        ("two", "matrix", 12.0),
        ("two", "fat", 12.3),
        ("two", "shared", 22.6),
    ] {
        for algorithm in ["heft", "exact"] {
            let line = format!("{workflow}.toml -p {platform}.toml");
            let planned = json(&format!("plan {line} --algorithm {algorithm} --json"));
            let number = |name: &str| planned[name].as_f64().unwrap();
            let simulated = json(&format!("simulate {line} --json"));
            let run = simulated["makespan"].as_f64().unwrap();
            assert!((run - seconds).abs() < 0.05, "{line}: {run}");
            assert!((number("makespan") - run).abs() < 1e-6 * run, "{line}: {planned}");
            assert!((number("lower_bound") - run).abs() < 1e-6 * run, "{line}: {planned}");
            assert_eq!(simulated["lower_bound"], planned["lower_bound"], "{line}");
            let said = place.ok(&format!("plan {line} --algorithm {algorithm}"));
            assert!(!said.contains("sharing links"), "{said}");
        }
    }
}
