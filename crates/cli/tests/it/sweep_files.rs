//! Locations and routes of the files of parameter sweeps, through the command: laws of
//! slots and levels, inputs that are spread, clusters that pass files on, results that go
//! elsewhere, and storage that does not hold everything.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Place;
use serde_json::Value;

/// Two clusters, `east` with two hosts and `west` with one, each behind a link of 10 kB/s; `more`
/// is put below their tables.
fn grid(east: &str, west: &str, more: &str) -> String {
    format!(
        r#"
name = "grid"
origin = "home"
links = "fifo"
[zone.grid]
routing = "floyd"
[zone.east]
in = "grid"
routing = "star"
shared-storage = true
{east}
[zone.west]
in = "grid"
routing = "star"
shared-storage = true
{west}
[host.home]
zone = "grid"
cores = 0
speed = "1Gf"
[host.e1]
zone = "east"
speed = "1Gf"
[host.e2]
zone = "east"
speed = "1Gf"
[host.w1]
zone = "west"
speed = "1Gf"
[router.er]
zone = "east"
[router.wr]
zone = "west"
[link.le]
bandwidth = "10kBps"
latency = "0s"
[link.lw]
bandwidth = "10kBps"
latency = "0s"
[[route]]
zone = "grid"
src = "home"
dst = "east"
dst-gateway = "er"
links = ["le"]
[[route]]
zone = "grid"
src = "home"
dst = "west"
dst-gateway = "wr"
links = ["lw"]
{more}
"#
    )
}

/// Tasks of 20 s, each with some inputs and an output of 10 kB; files have 100 kB.
fn work(inputs: &[&[usize]]) -> String {
    let files = 1 + inputs.iter().flat_map(|i| i.iter()).max().unwrap();
    let mut text = format!("WorkDescription 1 {} {}\n", files + inputs.len(), inputs.len());
    for file in 0..files {
        text += &format!("File: <{file}> <f{file}> <100000> <100000>\n");
    }
    for task in 0..inputs.len() {
        text += &format!("File: <{}> <o{task}> <10000> <10000>\n", files + task);
    }
    for (task, inputs) in inputs.iter().enumerate() {
        let ids: Vec<String> = inputs.iter().map(usize::to_string).collect();
        let (count, ids) = (ids.len(), ids.join(" "));
        let output = files + task;
        text += &format!("Work: <{task}> <{count} : {ids}> <1 : {output}> <1 : 20> <1 : 20>\n");
    }
    text
}

/// The hosts of [`grid`] have the architecture that [`work`] speaks of.
fn with_arch(grid: String) -> String {
    grid.replace("speed = \"1Gf\"", "speed = \"1Gf\"\narch = \"arch0\"")
}

fn read(place: &Place, line: &str) -> Value {
    serde_json::from_str(&place.ok(line)).unwrap()
}

/// The transfers of a plan: file, link, start and finish.
fn sent(document: &Value) -> Vec<(String, String, f64, f64)> {
    let one = |t: &Value| {
        let text = |key: &str| t[key].as_str().unwrap().to_string();
        let date = |key: &str| t[key].as_f64().unwrap();
        (text("file"), text("link"), date("start"), date("finish"))
    };
    document["transfers"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn slots_are_shared_as_in_the_worked_example() {
    let place = Place::new();
    place.write("net", "1\n0 10000\n");
    place.write("full", "1\n100\n");
    place.write("half", "1\n50\n");
    let hosts = |second: &str| {
        format!(
            "GridDescription 1\n0:ADD_CLUSTER <c> <net> <0>\n\
             0:ADD_HOST <c> <h1> <full> <0> <0>\n0:ADD_HOST <c> <h2> <half> <0> <{second}>\n"
        )
    };
    place.write("g.grid", hosts("0"));
    let text = "WorkDescription 1 5 2\nFile: <0> <S> <100000> <100000>\n\
                File: <1> <pA> <10000> <10000>\nFile: <2> <pB> <10000> <10000>\n\
                File: <3> <oA> <10000> <10000>\nFile: <4> <oB> <10000> <10000>\n\
                Work: <0> <2 : 0 1> <1 : 3> <1 : 20> <1 : 20>\n\
                Work: <1> <2 : 0 2> <1 : 4> <1 : 20> <1 : 20>\n";
    place.write("a.work", text);
    let plan = read(&place, "plan a.work --platform g.grid --algorithm h1 --json");
    assert_eq!(plan["makespan"], 52.0);
    let expected = [
        ("S", 0.0, 10.0),
        ("pA", 10.0, 11.0),
        ("pB", 11.0, 12.0),
        ("oA", 31.0, 32.0),
        ("oB", 51.0, 52.0),
    ];
    let found = sent(&plan);
    assert_eq!(found.len(), expected.len(), "the shared file crosses once");
    for (found, (file, start, finish)) in found.iter().zip(expected) {
        assert_eq!((found.0.as_str(), found.2, found.3), (file, start, finish));
    }
    let run = "simulate a.work --platform g.grid --policy h1 --set link-order=strict \
               --set steal=no --set quota=1000 --set interval=1e9 --json";
    let run = read(&place, run);
    assert_eq!(run["makespan"], 52.0);
    assert_eq!(run["sweep"]["files_sent"], 5);
    // One task alone ends at 32 s; on the slow host only, both hosts end at 52 s and 53 s.
    let alone = text.replace("5 2\n", "5 1\n").lines().take(7).collect::<Vec<_>>().join("\n");
    place.write("one.work", alone);
    let one = read(&place, "plan one.work --platform g.grid --algorithm h1 --json");
    assert_eq!(one["makespan"], 32.0);
    let both = "GridDescription 1\n0:ADD_CLUSTER <c> <net> <0>\n\
                0:ADD_HOST <c> <h1> <full> <0> <0>\n0:ADD_HOST <c> <h2> <half> <0> <1>\n";
    place.write("apart.grid", both);
    let apart = text
        .replace("<1 : 3> <1 : 20> <1 : 20>", "<1 : 3> <2 : 20 9999> <2 : 20 9999>")
        .replace("<1 : 4> <1 : 20> <1 : 20>", "<1 : 4> <2 : 9999 20> <2 : 9999 20>");
    place.write("apart.work", apart);
    let apart = read(&place, "plan apart.work --platform apart.grid --algorithm h1 --json");
    assert_eq!(apart["makespan"], 53.0);
}

#[test]
fn levels_are_integrated() {
    let place = Place::new();
    let work = |bytes: u32, seconds: u32| {
        format!(
            "WorkDescription 1 2 1\nFile: <0> <f> <{bytes}> <{bytes}>\nFile: <1> <o> <0> <0>\n\
             Work: <0> <1 : 0> <1 : 1> <1 : {seconds}> <1 : {seconds}>\n"
        )
    };
    place.write("full", "1\n100\n");
    place.write("swings", "2\n100\n50\n");
    place.write("steady", "1\n0 100000\n");
    for (name, latency) in [("fast", 0), ("late", 500)] {
        place.write(name, format!("2\n{latency} 10000\n{latency} 20000\n"));
    }
    let ends = |net: &str, cpu: &str, bytes: u32, seconds: u32| {
        let grid = format!(
            "GridDescription 1\n0:ADD_CLUSTER <c> <{net}> <0>\n0:ADD_HOST <c> <h> <{cpu}> <0> <0>\n"
        );
        place.write("g.grid", grid);
        place.write("a.work", work(bytes, seconds));
        let run = read(&place, "simulate a.work --platform g.grid --policy h4 --json");
        let task = run["schedule"][0].clone();
        (task["start"].as_f64().unwrap(), task["finish"].as_f64().unwrap())
    };
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    close(ends("fast", "full", 100_000, 1).0, 7.5);
    close(ends("late", "full", 100_000, 1).0, 7.75);
    close(ends("steady", "swings", 0, 12).1, 14.5);
}

#[test]
fn inputs_that_are_spread_need_not_be_sent() {
    let place = Place::new();
    place.write("g.toml", with_arch(grid("", "", "")));
    place.write("a.work", work(&[&[0], &[0], &[1]]));
    let line = "simulate a.work --platform g.toml --policy h1 --json";
    let before = read(&place, line);
    place.write("spread.toml", "[[copy]]\nfile = \"f0\"\nhost = \"e2\"\n");
    let after = read(&place, &format!("{line} --scenario spread.toml"));
    let end = |document: &Value| document["makespan"].as_f64().unwrap();
    assert!(end(&after) < end(&before));
    let replicas = |document: &Value| document["sweep"]["replicas"].as_u64().unwrap();
    assert_eq!((replicas(&before), replicas(&after)), (3, 1));
    for (text, what) in [
        ("[[copy]]\nfile = \"f9\"\nhost = \"e1\"\n", "no file 'f9'"),
        ("[[copy]]\nfile = \"f0\"\nhost = \"x\"\n", "no host 'x'"),
        ("[[copy]]\nfile = \"o0\"\nhost = \"e1\"\n", "a task writes it"),
        (
            "[[copy]]\nfile = \"f0\"\nhost = \"e1\"\n[[copy]]\nfile = \"f0\"\nhost = \"e2\"\n",
            "twice",
        ),
    ] {
        place.write("bad.toml", text);
        let error = place.fails(2, &format!("{line} --scenario bad.toml"));
        assert!(error.contains("bad.toml") && error.contains(what), "{error}");
    }
}

const PASSAGE: &str = r#"
[link.between]
bandwidth = "1MBps"
latency = "0s"
[[route]]
zone = "grid"
src = "east"
dst = "west"
src-gateway = "er"
dst-gateway = "wr"
links = ["between"]
"#;

#[test]
fn clusters_pass_files_on_where_a_link_joins_them() {
    let place = Place::new();
    // The way from the origin to one of them is slow.
    let slow = grid("", "", PASSAGE)
        .replace("[link.lw]\nbandwidth = \"10kBps\"", "[link.lw]\nbandwidth = \"1kBps\"");
    place.write("g.toml", with_arch(slow));
    place.write("a.work", work(&[&[0], &[0], &[0], &[0], &[0], &[0]]));
    let files = "a.work --platform g.toml";
    let plan = |more: &str| {
        read(&place, &format!("plan {files} --algorithm h1 --json --set exchange={more}"))
    };
    let links = |document: &Value| {
        let inputs = sent(document).into_iter().filter(|t| t.0 == "f0");
        inputs.map(|t| t.1).collect::<Vec<_>>()
    };
    let (alone, together) = (plan("no"), plan("yes"));
    assert_eq!(links(&alone), ["le"]);
    // The first cluster gets it from the origin, the other one from there a tenth of a second later.
    assert_eq!(links(&together), ["le", "between"]);
    let crossing = sent(&together).into_iter().find(|t| t.1 == "between").unwrap();
    assert_eq!((crossing.2, crossing.3), (10.0, 10.1));
    for order in ["strict", "greedy", "hybrid"] {
        let line = format!(
            "simulate {files} --policy h1 --json --set exchange=yes --set link-order={order} \
             --set quota=1000 --set interval=1e9 --set steal=no"
        );
        let run = read(&place, &line);
        assert!(run["finished"].as_bool().unwrap());
        assert_eq!(run["sweep"]["bytes_by_link"]["between"], 1e5, "{order}");
        if order == "strict" {
            assert_eq!(run["makespan"], together["makespan"]);
        }
    }
}

#[test]
fn results_go_where_they_are_wanted() {
    let place = Place::new();
    let base = "[host.base]\nzone = \"grid\"\ncores = 0\nspeed = \"1Gf\"\n\
                [link.b]\nbandwidth = \"1MBps\"\nlatency = \"0s\"\n";
    let to = |cluster: &str, gateway: &str| {
        format!(
            "[[route]]\nzone = \"grid\"\nsrc = \"base\"\ndst = \"{cluster}\"\n\
             dst-gateway = \"{gateway}\"\nlinks = [\"b\"]\n"
        )
    };
    let more = format!("{base}{}{}", to("east", "er"), to("west", "wr"));
    place.write("g.toml", with_arch(grid("", "", &more)));
    place.write("a.work", work(&[&[0], &[0], &[1], &[1]]));
    let files = "a.work --platform g.toml";
    let plan = read(&place, &format!("plan {files} --algorithm h4 --json --set results=base"));
    let outputs = || sent(&plan).into_iter().filter(|t| t.0.starts_with('o'));
    assert_eq!(outputs().count(), 4);
    assert!(outputs().all(|t| t.1 == "b"), "{plan}");
    let line = format!(
        "simulate {files} --policy h4 --json --set results=base --set link-order=strict \
         --set quota=1000 --set interval=1e9 --set steal=no"
    );
    let run = read(&place, &line);
    assert_eq!(run["makespan"], plan["makespan"]);
    assert_eq!(run["sweep"]["bytes_by_link"]["b"], 4e4);
    let error = place.fails(2, &line.replace("results=base", "results=nowhere"));
    assert!(error.contains("there is no host 'nowhere'"), "{error}");
    for line in [&line, &format!("plan {files} --algorithm h4 --set results=base")] {
        let error = place.fails(2, &line.replace("results=base", "results=e1"));
        assert!(error.contains("results = e1: it is 2 links away from 'w1'"), "{error}");
    }
    // A host of a cluster: what is made there stays there.
    let run = read(&place, &line.replace("results=base", "results=home"));
    assert!(run["sweep"]["bytes_by_link"]["b"].is_null());
}

#[test]
fn files_make_room_for_others() {
    let place = Place::new();
    // Two files and two outputs fit, three files do not.
    let small = "storage-capacity = \"230kB\"";
    place.write("g.toml", with_arch(grid(small, small, "")));
    let tasks: [&[usize]; 8] = [&[0], &[1], &[2], &[3], &[0], &[1], &[2], &[3]];
    place.write("a.work", work(&tasks));
    for policy in ["h1", "h2", "h3", "h4", "h9", "xs"] {
        for order in ["strict", "greedy", "hybrid"] {
            let line = format!(
                "simulate a.work --platform g.toml --policy {policy} --set link-order={order} \
                 --json --decisions log.jsonl"
            );
            let run = read(&place, &line);
            assert_eq!(run["finished"], true, "{policy} {order}");
            assert_eq!(run["tasks_done"], 8);
        }
    }
    let log = place.read("log.jsonl");
    assert!(log.contains("\"drop\""), "files are dropped");
    // Who knows nothing of storage is kept to it: at no time does more lie there than fits.
    for policy in ["h0", "static", "just-in-time"] {
        let line = format!("simulate a.work --platform g.toml --policy {policy} --json");
        let run = read(&place, &format!("{line} --trace t.jsonl"));
        assert_eq!(run["finished"], true, "{policy}: {}", run["why"]);
        let brought = run["sweep"]["replicas"].as_u64().unwrap();
        assert!(brought >= 4, "{policy}: {brought}");
    }
    // What made room and is needed again comes again: the last task reads two files, between tasks
    // that read one of them.
    let tight = "storage-capacity = \"210kB\"";
    place.write("tight.toml", with_arch(grid(tight, tight, "")));
    let mut tasks: Vec<&[usize]> = vec![&[0]; 9];
    tasks[5] = &[1];
    tasks.push(&[0, 1]);
    place.write("again.work", work(&tasks));
    for policy in ["h0", "h1", "h4", "h9"] {
        let line = format!("simulate again.work --platform tight.toml --policy {policy} --json");
        let run = read(&place, &line);
        assert_eq!(run["finished"], true, "{policy}: {}", run["why"]);
    }
    // A task that fits nowhere.
    place.write("wide.work", work(&[&[0, 1, 2]]));
    let error = place.fails(1, "simulate wide.work --platform g.toml --policy h0");
    assert!(error.contains("has no room for its"), "{error}");
    for line in ["simulate wide.work --policy h4", "plan wide.work --algorithm h4"] {
        let error = place.fails(1, &format!("{line} --platform g.toml"));
        assert!(error.contains("task '0' reads and writes 310 kB"), "{error}");
    }
    // It is written and read again.
    place.ok("convert g.toml again.toml");
    assert!(place.read("again.toml").contains("storage-capacity"));
    place.ok("convert g.toml again.xml");
    assert!(place.read("again.xml").contains("slackline:storage-capacity"));
    place.write(
        "odd.toml",
        grid("shared-storage = false", "", "").replacen(
            "shared-storage = true\nshared-storage = false",
            "shared-storage = false\nstorage-capacity = \"5B\"",
            1,
        ),
    );
    let error = place.fails(2, "show odd.toml");
    assert!(error.contains("storage-capacity"), "{error}");
}

#[test]
fn progress_is_drawn_for_each_policy() {
    let place = Place::new();
    place.write("g.toml", with_arch(grid("", "", "")));
    place.write("a.work", work(&[&[0], &[0], &[1], &[1], &[0], &[0], &[1], &[1]]));
    let out = place.ok("simulate a.work --platform g.toml --policy h4 --progress one.svg");
    assert!(out.contains("25 % at") && out.contains("75 % at"), "{out}");
    assert!(out.contains("Written: one.svg"), "{out}");
    place.ok("simulate a.work --platform g.toml --compare h0,h1,h4 --progress all.svg");
    let curves = |name: &str| place.read(name).matches("stroke-width=\"2\"").count();
    assert_eq!((curves("one.svg"), curves("all.svg")), (1, 3));
}

#[test]
fn what_is_kept_runs_while_a_plan_is_made() {
    let place = Place::new();
    place.write("g.toml", with_arch(grid("", "", "")));
    place.write("a.work", work(&[&[0][..]; 12]));
    let starts = |more: &str| {
        let line = format!(
            "simulate a.work --platform g.toml --policy h1 --set quota=2 --set interval=40s \
             --decision-time 15s --json {more}"
        );
        let run = read(&place, &line);
        assert_eq!((&run["finished"], &run["tasks_done"]), (&true.into(), &12.into()));
        let dates = run["schedule"].as_array().unwrap().iter();
        let dates: Vec<f64> = dates.map(|s| s["start"].as_f64().unwrap()).collect();
        let plans = run["sweep"]["events"].as_array().unwrap().iter();
        let plans: Vec<f64> = plans.map(|e| e["at"].as_f64().unwrap()).collect();
        // Starts between a plan's begin and its end, the first plan aside.
        let during = |at: &&f64| plans[1..].iter().any(|p| **at > *p && **at < p + 15.0);
        (dates.iter().filter(during).count(), dates.iter().copied().fold(f64::MAX, f64::min))
    };
    let (kept, first) = starts("--set keep=2 --decisions log.jsonl");
    assert!(kept > 0, "kept tasks begin while a plan is made");
    assert!(first > 24.9, "the first plan takes its time: {first}");
    assert!(starts("--set keep=0").0 <= kept);
    starts("--set keep=2 --same-decisions log.jsonl");
}
