//! Answers that help: pictures by extension, causes by name, suggestions, replications.

#![allow(clippy::unwrap_used)]

use crate::common;

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
    assert!(one.err.contains("one scenario proves little"), "{}", one.err);
    place.ok("generate scenario load --platform small-cluster --count 3 -o days");
    let many = place.ok(&format!("{line} days --compare static,slackline"));
    assert!(
        many.contains("3 replications") && many.contains("3 of 3") && many.contains('±'),
        "{many}"
    );
    place.write("errors.toml", "[errors]\ncompute = { law = \"uniform\", bound = 0.2 }\n");
    let drawn = place.ok(&format!("{line} errors.toml --runs 4"));
    assert!(drawn.contains("4 replications"), "{drawn}");
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

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// Twelve tasks of half an hour between two short ones: six machine hours, rented by the hour.
fn rented(place: &Place) {
    let mut workflow =
        String::from("[task.first]\ntime = \"60s\"\n[task.last]\ntime = \"60s\"\nafter = [");
    let middle: Vec<String> = (0..12).map(|k| format!("m{k}")).collect();
    workflow += &middle.iter().map(|m| format!("\"{m}\"")).collect::<Vec<_>>().join(", ");
    workflow += "]\n";
    for name in &middle {
        workflow += &format!("[task.{name}]\ntime = \"30min\"\nafter = [\"first\"]\n");
    }
    place.write("w.toml", workflow);
    let kind = |name: &str, count: u32, cores: u32, speed: f64, price: f64| {
        format!(
            "[cluster.{name}]\nleasable = true\ncount = {count}\ncores = {cores}\nspeed = \"{speed}Gf\"\n\
             price-per-hour = {price}\n"
        )
    };
    let head = "[billing]\nquantum = \"1h\"\nsetup = \"60s\"\n";
    let (small, large) = (kind("small", 6, 1, 1.0, 0.1), kind("large", 4, 4, 2.0, 0.6));
    place.write("cloud.toml", format!("{head}{small}{large}"));
    for machines in 1..=4 {
        let large = kind("large", machines, 4, 2.0, 0.6);
        place.write(&format!("large{machines}.toml"), format!("{head}{large}"));
    }
}

#[test]
fn limits_are_answered_by_the_bill() {
    let place = Place::new();
    rented(&place);
    for budget in ["0.6", "0.7", "1.2", "2.4"] {
        let line = format!("plan w.toml -p cloud.toml --budget {budget} --json");
        let plan = json(&place.run(&line).out);
        let of = |plan: &serde_json::Value, name: &str| plan[name].as_f64().unwrap();
        assert!(plan["found_by"].is_string(), "{plan}");
        for machines in 1..=4 {
            let rent = format!("plan w.toml -p large{machines}.toml --algorithm heft --json");
            let rent = json(&place.ok(&rent));
            let beaten = of(&rent, "makespan") < of(&plan, "makespan") - 1e-6
                && of(&rent, "cost") < of(&plan, "cost") - 1e-9;
            assert!(!beaten, "{machines} large machines beat the plan for {budget}");
            let kept = |plan: &serde_json::Value| {
                of(plan, "cost") <= budget.parse::<f64>().unwrap() + 1e-9
            };
            assert!(kept(&plan) || !kept(&rent), "{budget} is kept by {machines} large machines");
        }
        // Simulation follows the same plan.
        let line = format!("simulate w.toml -p cloud.toml --budget {budget} --json");
        let run = json(&place.run(&line).out);
        assert_eq!(run["planned_makespan"], plan["makespan"], "{budget}");
        assert_eq!(run["cost"], plan["cost"], "{budget}");
    }
    let cheap = json(&place.ok("plan w.toml -p cloud.toml --deadline 20h --json"));
    let fast = json(&place.ok("plan w.toml -p cloud.toml --deadline 20h --fastest --json"));
    assert!(cheap["cost"].as_f64() < fast["cost"].as_f64(), "{cheap}");
    assert!(cheap["makespan"].as_f64() > fast["makespan"].as_f64(), "{cheap}");
    assert_eq!(cheap["cheapest"]["cost"], cheap["cost"]);
    assert_eq!(fast["fastest"]["makespan"], fast["makespan"]);
    let told = place.ok("plan w.toml -p cloud.toml --deadline 20h");
    assert!(told.contains("cheapest plan found") && told.contains("--fastest"), "{told}");
}

#[test]
fn senseless_limits_are_refused() {
    let place = Place::new();
    for verb in ["plan", "simulate"] {
        let error = place.fails(2, &format!("{verb} montage -p small-cluster --budget 3"));
        assert!(error.contains("--budget: no machine of 'small cluster' has a price"), "{error}");
        let error = place.fails(2, &format!("{verb} montage -p priced-cloud --deadline -5min"));
        assert!(error.contains("\"-5min\" is no duration"), "{error}");
    }
    place.write("much.toml", "[task.a]\nwork = \"1e300f\"\n");
    let error = place.fails(2, "plan much.toml");
    assert!(error.contains("the work of task 'a' is 1e300 flop"), "{error}");
    let missed = place.run("plan montage -p small-cluster --deadline 1s --algorithm heft");
    assert!(missed.err.contains(" s, after 1 s"), "{}", missed.err);
}

#[test]
fn overheads_and_waits_are_part_of_the_forecast() {
    let place = Place::new();
    place.write("two.toml", "[task.a]\ncommand = \"true\"\ntime = \"10s\"\n[task.b]\ncommand = \"true\"\ntime = \"5s\"\nafter = [\"a\"]\n");
    place.write("p.toml", "[host.h]\nspeed = \"1Gf\"\ncores = 2\n[host.i]\nspeed = \"0.5Gf\"\n");
    let options = "-p p.toml --overhead 2s --queue-wait 1min --json";
    let plan = json(&place.ok(&format!("plan two.toml {options}")));
    assert_eq!((&plan["makespan"], &plan["simulated"]), (&json("79.0"), &json("79.0")));
    assert_eq!(
        (&plan["lower_bound"], &plan["schedule"][0]["start"]),
        (&json("79.0"), &json("60.0"))
    );
    for line in ["simulate two.toml", "run two.toml --dry-run"] {
        let run = json(&place.ok(&format!("{line} {options}")));
        assert_eq!(
            (&run["makespan"], &run["planned_makespan"]),
            (&json("79.0"), &json("79.0")),
            "{line}"
        );
    }
    // The wait counts for deadlines.
    assert_eq!(place.run(&format!("plan two.toml --deadline 70s {options}")).code, Some(1));
    place.fails(2, "plan two.toml -p p.toml --overhead -1s");

    // A recorded run of two tasks in turn on one machine: of 27 s recorded 15 are theirs.
    let record = r#"{"name": "r", "schemaVersion": "1.5", "workflow": {"specification": {"tasks": [
        {"id": "a", "name": "a", "parents": [], "children": ["b"]},
        {"id": "b", "name": "b", "parents": ["a"], "children": []}], "files": []},
        "execution": {"makespanInSeconds": 27, "executedAt": "t", "tasks": [
        {"id": "a", "runtimeInSeconds": 10, "machines": ["m"]},
        {"id": "b", "runtimeInSeconds": 5, "machines": ["m"]}],
        "machines": [{"nodeName": "m", "cpu": {"coreCount": 4, "speedInMHz": 2000}}]}}}"#;
    place.write("r.json", record);
    place.ok("generate platform recorded r.json -o m.toml");
    let told = place.ok("plan r.json -p m.toml");
    assert!(told.contains("recorded     27 s"), "{told}");
    let told = place.ok("simulate r.json -p m.toml");
    assert!(told.contains("recorded      27 s"), "{told}");
    place.ok("calibrate r.json -o learnt");
    let learnt = json(&place.read("learnt/calibration.json"));
    let overhead = learnt["overhead"]["median"].as_f64().unwrap();
    assert!((overhead - 6.0).abs() < 0.01, "{learnt}");
    assert_eq!(learnt["queue_wait"]["median"], 0.0);
    let plan = json(&place.ok("plan r.json -p m.toml --overhead 6s --json"));
    assert_eq!((&plan["makespan"], &plan["recorded_makespan"]), (&json("27.0"), &json("27.0")));
}

#[test]
fn lists_fit_a_screen_and_pipes_get_whole_values() {
    let place = Place::new();
    let list = place.ok("algorithms");
    assert!(list.lines().count() < 40, "{list}");
    for name in ["heft", "within-limits", "mags", "slackline"] {
        assert!(list.contains(name), "{name}");
    }
    let all = place.ok("algorithms --all");
    assert!(all.lines().count() > 200 && all.contains("Topcuoglu"));
    let name = "a-kind-of-task-with-a-name-that-no-terminal-has-the-room-for-beside-its-figures";
    place.write("long.toml", format!("[task.t]\nkind = \"{name}\"\ntime = \"1s\"\n"));
    assert!(place.ok("show long.toml").contains(name));
}

#[test]
fn files_that_other_files_name_are_named_with_them() {
    let place = Place::new();
    place.write("bad.toml", "[task.a]\ntime = \"10 parsecs\"\n");
    place.write("p.toml", "[host.h]\nspeed = \"1Gf\"\n");
    let arrival =
        |file: &str| format!("# who comes\n[[arrival]]\nworkflow = \"{file}\"\nat = \"10min\"\n");
    place.write("stream.toml", arrival("bad.toml"));
    let error = place.fails(2, "simulate --arrivals stream.toml -p p.toml");
    assert!(error.contains("stream.toml:2: arrival[0]: bad.toml:2:"), "{error}");
    place.write("stream.toml", arrival("none.toml"));
    let error = place.fails(2, "simulate --arrivals stream.toml -p p.toml");
    assert!(error.contains("stream.toml:2: arrival[0]: there is no file"), "{error}");
    place.write("stream.toml", arrival("examples/workflows/montage.json"));
    let run = json(&place.ok("simulate --arrivals stream.toml -p small-cluster --json"));
    assert_eq!(run["workflows"][0]["arrived"], 600.0);
    place.write("graph.json", "{\"platform\": \"none.xml\", \"activities\": []}");
    let error = place.fails(2, "activities graph.json");
    assert!(error.contains("graph.json: platform: none.xml: no such file"), "{error}");
    // Only scenarios are suggested where one is wanted.
    place.write("slow-day2.toml", "");
    let error = place.fails(2, "simulate montage --scenario slow-dax");
    assert!(error.contains("did you mean 'slow-day'?"), "{error}");
}

#[test]
fn one_speed_for_this_machine() {
    let place = Place::new();
    place.ok("platform detect --local -o here.toml");
    place.write("w.toml", "[task.a]\ncommand = \"true\"\ntime = \"10s\"\n");
    let plan = json(&place.ok("plan w.toml -p here.toml --json"));
    let run = json(&place.ok("run w.toml --dry-run --json"));
    assert_eq!((&plan["makespan"], &run["planned_makespan"]), (&json("10.0"), &json("10.0")));
    place.write(
        "four.toml",
        (0..4)
            .map(|k| format!("[task.t{k}]\ncommand = \"true\"\ntime = \"10s\"\n"))
            .collect::<String>(),
    );
    for (cores, wanted) in [("1", "40.0"), ("2", "20.0"), ("4", "10.0")] {
        let run = json(&place.ok(&format!("run four.toml -j {cores} --dry-run --json")));
        assert_eq!(run["planned_makespan"], json(wanted), "{cores} cores");
    }
}
