//! `simulate`: what it says of a run, of several, and of runs that cannot finish.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Place;
use serde_json::Value;

/// Four hosts of one core behind a switch.
const NODES: &str = "name = \"nodes\"\n[cluster.node]\ncount = 4\ncores = 1\nspeed = \"2Gf\"\n\
                     bandwidth = \"100Mbps\"\nlatency = \"1ms\"\n";

/// Two hosts lose most of their speed, a third is lost after a minute.
const WORLD: &str = "name = \"busy\"\n\
    [[host]]\nname = \"node-0\"\navailability = [[30, 0.2], [120, 1.0]]\n\
    [[host]]\nname = \"node-1\"\navailability = [[50, 0.5], [150, 0.1]]\n\
    [[host]]\nname = \"node-2\"\ndown = [{ at = 60 }]\n";

/// A place with a Montage of 60 tasks, the hosts and the world.
fn place() -> Place {
    let place = Place::new();
    place.ok("generate workflow montage --tasks 60 --seed 2 -o montage.json");
    place.write("nodes.toml", NODES);
    place.write("world.toml", WORLD);
    place
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn number(value: &Value, member: &str) -> f64 {
    value[member].as_f64().unwrap_or_else(|| panic!("{member} is not a number in {value:#}"))
}

/// Figures are counted during a run, or taken from the trace where that is kept: they are the same.
#[test]
fn figures_do_not_depend_on_who_keeps_the_trace() {
    let place = place();
    let policies = "static,gtp/c/r,sr-slack,slackline";
    let line = format!(
        "simulate montage.json -p nodes.toml --scenario world.toml --compare {policies} --json"
    );
    let figures = |document: &str| {
        let mut runs = json(document)["runs"].as_array().unwrap().clone();
        runs.iter_mut().for_each(|run| run["wall_seconds"] = Value::Null);
        runs
    };
    let counted = figures(&place.ok(&line));
    assert!(counted.iter().any(|run| number(run, "resent_seconds") > 0.0));
    assert_eq!(counted, figures(&place.ok(&format!("{line} --trace run.jsonl"))));
    assert_eq!(counted, figures(&place.ok(&format!("{line} --gantt run.svg"))));
    assert_eq!(place.ok("simulate montage.json -p nodes.toml --quiet"), "");
}

#[test]
fn all_policies_in_one_world() {
    let place = place();
    let line = "simulate montage.json -p nodes.toml --scenario world.toml --compare all";
    let table = place.ok(line);
    assert!(table.lines().all(|l| l.chars().count() <= 80), "{table}");
    for policy in ["static", "gtp/c/r", "sr-spare", "just-in-time", "slackline"] {
        assert!(table.contains(&format!("\n  {policy} ")), "{policy} is missing in\n{table}");
    }
    let gtp = table.lines().find(|l| l.trim_start().starts_with("gtp ")).unwrap();
    assert!(gtp.split_whitespace().skip(1).take(2).eq(["unfinished", "-"]), "{table}");
    let document = json(&place.ok(&format!("{line} --json")));
    assert_eq!(document["schema"], "slackline/simulations/1");
    let runs = document["runs"].as_array().unwrap();
    assert!(runs.len() >= 11);
    for run in runs {
        assert_eq!(run["schema"], "slackline/simulation/1");
        assert_eq!(run["hosts_lost"], 1, "{}", run["policy"]);
        assert_eq!(run["tasks"], 60);
        if run["policy"] == "gtp" || run["policy"] == "gtp/c" {
            // They cannot rewind, and results were lost with the host.
            assert_eq!((&run["finished"], &run["nsl"]), (&false.into(), &Value::Null));
            assert!(run["why"].as_str().unwrap().contains("no copy is left"), "{}", run["why"]);
            continue;
        }
        assert_eq!((&run["finished"], &run["tasks_done"]), (&true.into(), &60.into()), "{run:#}");
        assert!(number(run, "nsl") <= number(run, "slr"), "mean times are not below least times");
        let overhead = number(run, "lost_seconds") + number(run, "resent_seconds");
        assert_eq!(number(run, "overhead_seconds"), overhead);
        assert!(number(run, "resent_bytes") <= number(run, "bytes_moved"));
    }
}

#[test]
fn relative_moments_are_the_same_date_for_every_policy() {
    let place = place();
    place.write("half.toml", "[[host]]\nname = \"node-2\"\ndown = [{ at = \"50%\" }]\n");
    let line = "simulate montage.json -p nodes.toml --json";
    let calm = number(&json(&place.ok(line)), "makespan");
    place.ok(&format!(
        "{line} --scenario half.toml --compare static,just-in-time --trace run.jsonl"
    ));
    for policy in ["static", "just-in-time"] {
        let trace = place.read(&format!("run.{policy}.jsonl"));
        let lost = trace.lines().map(json).find(|r| r["event"] == "host-lost").unwrap();
        assert!((number(&lost, "at") / (calm / 2.0) - 1.0).abs() < 1e-9, "{policy}: {lost}");
    }
}

/// The same story for all four hosts.
fn every_host(story: &str) -> String {
    (0..4).map(|h| format!("[[host]]\nname = \"node-{h}\"\n{story}\n")).collect()
}

/// Runs a policy through a world in which it cannot finish: it says so, and the trace and the
/// chart show how far it came. Gives what it said.
fn cannot_finish(place: &Place, policy: &str, world: &str) -> String {
    place.write("luck.toml", world);
    let files = "--trace run.jsonl --gantt run.svg";
    let line = format!(
        "simulate montage.json -p nodes.toml --scenario luck.toml --policy {policy} {files}"
    );
    let error = place.fails(1, &line);
    assert!(error.contains(&format!("{policy} cannot finish: ")), "{error}");
    let trace: Vec<Value> = place.read("run.jsonl").lines().map(json).collect();
    assert!(trace.iter().any(|r| r["event"] == "task-finished"), "{policy}: an empty trace");
    let chart = place.read("run.svg");
    assert!(chart.contains("stuck at") && chart.contains("nothing moves any more"), "{policy}");
    for file in ["run.jsonl", "run.svg"] {
        std::fs::remove_file(place.path().join(file)).unwrap();
    }
    error
}

#[test]
fn when_all_hosts_die_nobody_can_finish() {
    let place = place();
    for (policy, why) in [
        ("static", "gone"),
        ("gtp", "all hosts are gone"),
        ("gtp/c/r", "all hosts are gone"),
        ("sr-slack", "gone"),
        ("just-in-time", "all hosts are gone"),
        ("slackline", "all hosts are gone"),
    ] {
        let error = cannot_finish(&place, policy, &every_host("down = [{ at = 40 }]"));
        assert!(error.contains(why), "{policy}: {error}");
    }
    // Also where something else continues for ever.
    let beat = "[[link]]\nname = \"node_link_1_UP\"\nbandwidth = [[0, 0.9], [5, 1]]\nperiod = 10\n";
    for policy in ["static", "gtp/r", "slackline"] {
        cannot_finish(&place, policy, &(every_host("availability = [[40, 0]]") + beat));
    }
    let error = place
        .fails(1, "simulate montage.json -p nodes.toml --scenario luck.toml --compare static,gtp");
    assert!(error.contains("none of these policies can finish"), "{error}");
}

#[test]
fn a_lost_result_stops_who_cannot_rewind() {
    let place = place();
    let lost = "[[host]]\nname = \"node-0\"\ndown = [{ at = 40 }]\n";
    for policy in ["gtp", "gtp/c"] {
        let error = cannot_finish(&place, policy, lost);
        assert!(error.contains("of which no copy is left"), "{error}");
    }
    let line = "simulate montage.json -p nodes.toml --scenario luck.toml --json --policy";
    for policy in ["static", "gtp/r", "gtp/c/r", "slackline"] {
        let run = json(&place.ok(&format!("{line} {policy}")));
        assert_eq!((&run["finished"], &run["hosts_lost"]), (&true.into(), &1.into()));
    }
    // What is on a host that is stopped can be read.
    let frozen = "[[host]]\nname = \"node-0\"\navailability = [[40, 0]]\n";
    let error = cannot_finish(&place, "static", frozen);
    assert!(error.contains("'node-0', which is stopped"), "{error}");
    for policy in ["gtp", "gtp/c", "gtp/r", "gtp/c/r", "slackline"] {
        let run = json(&place.ok(&format!("{line} {policy}")));
        assert_eq!((&run["finished"], &run["hosts_lost"]), (&true.into(), &0.into()), "{policy}");
    }
}

#[test]
fn worlds_that_name_what_is_not_there() {
    let place = place();
    let line = "simulate montage.json -p nodes.toml --scenario odd.toml --trace run.jsonl";
    place.write("odd.toml", "[[host]]\nname = \"nowhere\"\ndown = [{ at = 3 }]\n");
    let error = place.fails(2, line);
    assert!(error.contains("odd.toml: the platform has no host 'nowhere'"), "{error}");
    place.write("odd.toml", "[[link]]\nname = \"wire\"\ndown = [{ at = 3 }]\n");
    assert!(place.fails(2, line).contains("no link 'wire'"));
    place.write("odd.toml", "[[actual]]\ntask = \"zzz\"\nseconds = 3\n");
    assert!(place.fails(2, line).contains("odd.toml: the workflow has no task 'zzz'"));
    assert!(!place.path().join("run.jsonl").exists());
    place.fails(2, "simulate montage.json -p nodes.toml --policy gpt");
    place.fails(2, "simulate montage.json -p nodes.toml --compare static,gpt");
    place.fails(2, "simulate montage.json -p nodes.toml --period 0");
}

#[test]
fn what_is_known_is_a_setting_of_its_own() {
    let place = place();
    place.write(
        "wrong.toml",
        "seed = 3\n[errors]\ncompute = { law = \"log-normal\", sigma = 0.8 }\nwrong = \"estimate\"\n",
    );
    let run = |extra: &str| {
        let line = format!("simulate montage.json -p nodes.toml --json {extra}");
        json(&place.ok(&line))
    };
    let calm = number(&run(""), "makespan");
    // The truth is what the workflow says: whoever knows it exactly is not misled.
    assert_eq!(number(&run("--scenario wrong.toml --knows exact"), "makespan"), calm);
    let told = run("--scenario wrong.toml");
    assert!(number(&told, "makespan") > calm);
    assert!(number(&told, "planned_makespan") != number(&run(""), "planned_makespan"));
    for knows in ["kinds", "nothing"] {
        let run = run(&format!("--scenario wrong.toml --knows {knows}"));
        assert!(number(&run, "makespan") >= number(&run, "lower_bound"), "{knows}");
    }
    // Thinking for ten seconds before the first task starts costs at least these.
    assert!(number(&run("--decision-time 10s"), "makespan") >= calm + 10.0);
    let late = "--scenario world.toml --policy aheft --monitoring-delay";
    assert!(
        number(&run(&format!("{late} 0s")), "makespan")
            != number(&run(&format!("{late} 40s")), "makespan")
    );
}

#[test]
fn decisions_can_be_kept_and_compared() {
    let place = place();
    let line = "simulate montage.json -p nodes.toml --scenario world.toml --policy";
    place.ok(&format!("{line} slackline --decisions first.jsonl"));
    place.ok(&format!("{line} slackline --same-decisions first.jsonl"));
    let text = place.fails(1, &format!("{line} gtp/c/r --same-decisions first.jsonl"));
    assert!(text.contains("decides otherwise than first.jsonl at call 0"), "{text}");
    place.write("broken.jsonl", "{\"schema\":\"slackline/decisions/1\"}\n{\"at\": true}\n");
    let text = place.fails(2, &format!("{line} static --same-decisions broken.jsonl"));
    assert!(text.contains("broken.jsonl: line 2"), "{text}");
}

#[test]
fn workflows_arrive_one_after_the_other() {
    let place = place();
    place.ok("generate workflow montage --tasks 30 --seed 3 -o other.json");
    place.write(
        "arrivals.toml",
        "[[arrival]]\nworkflow = \"montage.json\"\nat = 0\n\
         [[arrival]]\nworkflow = \"other.json\"\nat = 20\n\
         [[arrival]]\nworkflow = \"montage.json\"\nafter_tasks = 1\n",
    );
    let line = "simulate montage.json -p nodes.toml --scenario arrivals.toml";
    for policy in ["static", "gtp/c", "sr-slack", "dls/sr", "slackline", "fdws", "dmheft"] {
        let run = json(&place.ok(&format!("{line} --policy {policy} --json")));
        let workflows = run["workflows"].as_array().unwrap();
        assert_eq!(workflows.len(), 3, "{policy}");
        assert_eq!(number(&workflows[1], "arrived"), 20.0, "{policy}");
        // The last comes when the second is done.
        assert_eq!(number(&workflows[2], "arrived"), number(&workflows[1], "finish"), "{policy}");
        assert_eq!(run["tasks_done"], run["tasks"], "{policy}");
    }
    let text = place.ok(&format!("{line} --policy fdws"));
    assert!(text.contains("arrived") && text.contains("if all came at once"), "{text}");
    place.write("late.toml", "[[arrival]]\nworkflow = \"montage.json\"\nat = 5\n");
    let late = json(&place.ok("simulate montage.json -p nodes.toml --scenario late.toml --json"));
    assert_eq!(number(&late["workflows"][0], "start"), 5.0);
}

#[test]
fn inputs_travel_from_the_origin_of_the_platform() {
    let place = place();
    place.write("origin.toml", format!("origin = \"node-0\"\n{NODES}"));
    let run = |extra: &str| {
        let line = format!("simulate montage.json -p origin.toml --json {extra}");
        json(&place.ok(&line))
    };
    let everywhere = run("--inputs everywhere");
    let from_origin = run("");
    assert!(number(&from_origin, "bytes_moved") > number(&everywhere, "bytes_moved"));
    // Nothing but what is on the origin can start at once.
    let rows = from_origin["schedule"].as_array().unwrap();
    let at_once = rows.iter().filter(|r| number(r, "start") == 0.0);
    assert!(at_once.into_iter().all(|r| r["processor"] == "node-0"));
}

#[test]
fn periods_and_thresholds_steer_the_gtp_family() {
    let place = place();
    place.write(
        "slow.toml",
        "[[host]]\nname = \"node-0\"\navailability = [[15, 0.2], [60, 1.0]]\n\
         [[host]]\nname = \"node-1\"\navailability = [[30, 0.3]]\n",
    );
    let run = |extra: &str| {
        let line = "simulate montage.json -p nodes.toml --scenario slow.toml --policy gtp --json";
        json(&place.ok(&format!("{line} {extra}")))
    };
    assert!(number(&run("--period 5s"), "migrations") > 0.0);
    // Nobody moves for a thousand times the task's own length.
    assert_eq!(number(&run("--period 5s --threshold 1000"), "migrations"), 0.0);
    assert_eq!(number(&run("--period 1000s"), "replannings"), 0.0);
    place.fails(2, "simulate montage.json -p nodes.toml --period soon");
}

#[test]
fn connections_of_a_matrix_change_too() {
    let place = Place::new();
    // Two tasks that had better not be together, 8 bytes apart: 1 + 8 + 1 seconds at best.
    place.write(
        "pair.json",
        r#"{"name": "pair", "tasks": [{"id": "a", "cost": 1}, {"id": "b", "cost": 1}],
            "edges": [{"from": "a", "to": "b", "data": 8}],
            "processors": [{"id": "p1"}, {"id": "p2"}], "exec": [[1, 50], [50, 1]], "bandwidth": 1}"#,
    );
    place.write("slow.toml", "[[link]]\nbetween = [\"p1\", \"p2\"]\nbandwidth = [[5, 0.5]]\n");
    let run = |extra: &str| {
        let line = format!("simulate --instance pair.json --json {extra}");
        number(&json(&place.ok(&line)), "makespan")
    };
    assert_eq!(run(""), 10.0);
    // Four bytes by 5, the other four at half the rate by 13.
    assert_eq!(run("--scenario slow.toml"), 14.0);
    assert_eq!(run("--scenario slow.toml --config network/model:fifo"), 14.0);
    for policy in ["gtp/c", "sr-spare", "aheft", "slackline"] {
        assert_eq!(run(&format!("--scenario slow.toml --policy {policy}")), 14.0, "{policy}");
    }
}

/// Inputs that take longer to come than the time between two looks: tasks that are moved at every
/// look would never begin.
#[test]
fn moving_comes_to_an_end() {
    let place = Place::new();
    place.ok("generate workflow seismology --tasks 101 --seed 1 -o seismology.json");
    for policy in ["gtp", "gtp/c", "gtp/c/r"] {
        let line = "simulate seismology.json -p two-site-grid --json --policy";
        assert_eq!(json(&place.ok(&format!("{line} {policy}")))["finished"], true, "{policy}");
    }
}

/// A run that followed its plan in a still world is its own check: the seconds are those that `plan`
/// finds by following the plan.
#[test]
fn a_run_that_follows_its_plan_is_its_own_check() {
    let place = place();
    for platform in ["nodes.toml", "two-site-grid"] {
        let line = format!("montage.json -p {platform} -a heft --json");
        let followed = json(&place.ok(&format!("plan {line}")));
        let ran = json(&place.ok(&format!("simulate {line}")));
        assert!(followed["difference"].is_object(), "{followed:#}");
        assert_eq!(ran["difference"], followed["difference"], "{platform}");
        assert_eq!(ran["makespan"], followed["simulated"], "{platform}");
        // A policy of its own way is compared with the plan, not with itself.
        let pulled = json(&place.ok(&format!("simulate {line} --transfers pull")));
        let other = number(&pulled, "makespan") - number(&ran, "makespan");
        let levels = number(&pulled["difference"], "levels");
        assert!((levels - other).abs() < 1e-9, "{platform}: {levels} {other}");
    }
}

/// A factor that is set wins over the network model, wherever the two stand.
#[test]
fn the_order_of_settings_does_not_matter() {
    let place = Place::new();
    place.write(
        "pair.toml",
        "name = \"pair\"\n[host.a]\nspeed = \"1Gf\"\n[host.b]\nspeed = \"1Gf\"\n\
         [link.l]\nbetween = [\"a\", \"b\"]\nbandwidth = \"100MBps\"\nlatency = \"3ms\"\n",
    );
    let ends = |config: &str, line: &str| {
        place.write(
            "plan.json",
            format!(
                r#"{{"platform": "pair.toml", "config": {{{config}}}, "activities":
                    [{{"id": "c", "kind": "comm", "src": "a", "dst": "b", "bytes": 1e7}}]}}"#
            ),
        );
        number(
            &json(&place.ok(&format!("simulate --activities plan.json --json {line}"))),
            "makespan",
        )
    };
    let set = r#""network/latency-factor": "3.5", "network/bandwidth-factor": "0.8""#;
    let model = r#""network/model": "LV08""#;
    // 3.5 latencies; 80 MB/s, acknowledgements have the other direction for themselves.
    let expected = 3.5 * 3e-3 + 1e7 / 8e7;
    let factors = "--config network/latency-factor:3.5 --config network/bandwidth-factor:0.8";
    for found in [
        ends(&format!("{model}, {set}"), ""),
        ends(&format!("{set}, {model}"), ""),
        ends(model, factors),
        ends(set, "--config network/model:LV08"),
        ends("", &format!("{factors} --config network/model:LV08")),
    ] {
        assert!((found - expected).abs() < 1e-12, "{found}");
    }
    // The command line wins over the plan, and a preset there over all of it.
    let found = ends(set, "--config network/latency-factor:7");
    assert!((found - expected - 3.5 * 3e-3).abs() < 1e-12, "{found}");
    assert_eq!(ends(set, "--config preset:default"), ends("", ""));
    assert_eq!(ends("", "--config network/model:Constant"), 1.0);
    // A lone transfer pays no penalty.
    assert_eq!(ends("", "--config network/model:IB"), ends("", "--config network/model:SMPI"));
    place.fails(2, "simulate --activities plan.json --config network/model:Konstant");
}

/// A host that changes a thousand times a second for thirty years.
#[test]
fn a_plan_that_would_take_too_long_is_given_up() {
    let place = Place::new();
    place.write(
        "restless.toml",
        "name = \"restless\"\n[profile.flicker]\nevents = [[0, 1], [0.0005, 0.5]]\nperiod = \"1ms\"\n\
         [host.a]\nspeed = \"1Gf\"\navailability = \"flicker\"\n",
    );
    place.write(
        "plan.json",
        r#"{"platform": "restless.toml", "activities": [
            {"id": "short", "kind": "exec", "host": "a", "flops": 1e6},
            {"id": "long", "kind": "exec", "host": "a", "flops": 1e18}]}"#,
    );
    let begin = std::time::Instant::now();
    let error = place.fails(1, "simulate --activities plan.json");
    assert!(error.contains("given up at") && error.contains("1 activity has not ended"), "{error}");
    assert!(error.contains("`long` is under way"), "{error}");
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

/// Plans count with the models of the run: a transfer of constant length, and InfiniBand alone.
#[test]
fn plans_know_constant_transfers_and_infiniband() {
    let place = Place::new();
    place.write("nodes.toml", NODES);
    place.write(
        "fork.toml",
        "name = \"fork\"\n[files]\nx = \"50MB\"\n[task.a]\nwork = \"20Gf\"\noutputs = [\"x\"]\n\
         [task.b]\nwork = \"20Gf\"\ninputs = [\"x\"]\n[task.c]\nwork = \"20Gf\"\ninputs = [\"x\"]\n",
    );
    let run = |model: &str| {
        let line = format!("fork.toml -p nodes.toml --json --config network/model:{model}");
        let planned = json(&place.ok(&format!("plan {line} --algorithm heft")));
        let simulated = json(&place.ok(&format!("simulate {line} --algorithm heft")));
        (number(&planned, "makespan"), number(&simulated, "makespan"))
    };
    // 10 s each; one of the two readers is elsewhere, a second away.
    assert_eq!(run("Constant"), (21.0, 21.0));
    let (planned, simulated) = run("IB");
    assert!(
        (planned - simulated).abs() < 1e-9 * simulated && simulated > 21.0,
        "{planned} {simulated}"
    );
}

/// One second each, and a file of 100 MB that is written at 50 MB/s and read at 100 MB/s: 1 + 2 + 1 + 1.
#[test]
fn files_can_live_on_a_storage() {
    let place = Place::new();
    place.write(
        "w.toml",
        "[task.a]\nwork = \"1Gf\"\noutputs = [\"x\"]\n[task.b]\nwork = \"1Gf\"\ninputs = [\"x\"]\n[files]\nx = \"100MB\"\n",
    );
    place.write(
        "p.toml",
        "[host.only]\nspeed = \"1Gf\"\n[[disk]]\nname = \"raid\"\nhost = \"only\"\nread = \"100MBps\"\nwrite = \"50MBps\"\n",
    );
    let text = place.ok("simulate w.toml -p p.toml --data raid --json");
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let makespan = document["makespan"].as_f64().unwrap();
    assert!((makespan - 5.0).abs() < 1e-9, "{makespan}");
    let error = place.fails(2, "simulate w.toml -p p.toml --data tape");
    let full =
        place.read("p.toml").replace("name = \"raid\"", "name = \"raid\"\ncapacity = \"1B\"");
    place.write("full.toml", full);
    let refused = place.fails(1, "simulate w.toml -p full.toml --data raid");
    assert!(refused.contains("there is room for 1 B"), "{refused}");
    assert!(error.contains("no such storage") && error.contains("raid"), "{error}");
}

/// A log beside which a workflow runs: half the cores of the only host are held from 0 to 10 s.
#[test]
fn workflows_run_beside_recorded_load() {
    let place = Place::new();
    place.write("log.swf", "; MaxProcs: 2\n1 0 0 10 1 -1 -1 1 10 -1 1 1 1 -1 1 -1 -1 -1\n");
    place.write("p.toml", "[host.only]\nspeed = \"1Gf\"\ncores = 2\n");
    place.write("w.toml", "[task.a]\nwork = \"6Gf\"\n");
    place.ok("generate scenario batch-log log.swf -p p.toml -o beside.toml");
    let text = place.ok("simulate w.toml -p p.toml --scenario beside.toml --json");
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    // 5 Gf by 10 s, the sixth at full speed.
    assert!((document["makespan"].as_f64().unwrap() - 11.0).abs() < 1e-6, "{text}");
}

const GRID: &str = r#"
idle_timeout = 600
catalogue_latency = 0.2
default_storage = "store"
[sites.here]
speed = 1e9
[sites.there]
speed = 2e9
bandwidth_in = 5e6
[storages.store]
max_active = 2
[links.wan]
bandwidth = 1e7
[routes]
"store here" = ["wan"]
"store there" = ["wan"]
[model.latency]
here = 5
there = { distribution = "exponential", mean = 60 }
[[pilots]]
id = "p"
site = "here"
count = 3
pacing = 10
[[pilots]]
id = "q"
site = "there"
count = 2
"#;

#[test]
fn workflows_run_on_a_stack_of_services() {
    let place = Place::new();
    place.write("grid.toml", GRID);
    let text = place.ok("simulate montage --stack grid.toml --gantt pilots.svg");
    assert!(text.contains("site") && place.read("pilots.svg").contains("stage-in"), "{text}");
    let first = place.ok("simulate montage --stack grid.toml --json");
    assert_eq!(place.ok("simulate montage --stack grid.toml --json"), first);
    let document: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert!(
        document["makespan"].as_f64().unwrap() > 0.0 && document["pilots"]["p-3"]["submit"] == 20
    );
    // What was simulated is a record, from which everything can be injected.
    let text = place.read("examples/centre/pilot-stack.json");
    let mut case: serde_json::Value = serde_json::from_str(&text).unwrap();
    case["record"] = serde_json::from_str(&place.ok("centre stack pilot-stack --json")).unwrap();
    place.write("again.json", case.to_string());
    let one = place.ok("centre attribute again.json --switch platform=inject --json");
    let document: serde_json::Value = serde_json::from_str(&one).unwrap();
    assert!(document["runs"][0]["error"].as_f64().unwrap().abs() < 1e-9, "{one}");
    // So is the trace of any run.
    place.ok("simulate montage -p two-site-grid --trace run.jsonl");
    let one = place.ok("centre attribute montage --trace run.jsonl -p two-site-grid --switch platform=inject --json");
    let document: serde_json::Value = serde_json::from_str(&one).unwrap();
    assert!(document["runs"][0]["error"].as_f64().unwrap().abs() < 1e-9, "{one}");
    place.fails(2, "centre attribute gauss --trace run.jsonl -p two-site-grid");
    place.fails(2, "simulate montage --stack grid.toml -p small-cluster");
    place.fails(2, "simulate assembly --stack grid.toml");
    place.fails(2, "centre attribute again.json --switch platform=maybe");
    place.write("alone.toml", GRID.replace("count", "walltime = 1\ncount"));
    let said = place.fails(1, "simulate montage --stack alone.toml");
    assert!(said.contains("not finished"), "{said}");
}

#[test]
fn adoption_is_one_page() {
    let place = Place::new();
    let text = place.ok("centre adopt --candidate easy --jobs 150 --replicas 6 -o adopt.html");
    let page = place.read("adopt.html");
    assert!(
        page.contains("easy on 256 cores instead of fcfs") && !page.contains("<script"),
        "{text}"
    );
    place.fails(2, "centre adopt --candidate easy --candidate-cores 512");
    place.fails(2, "centre adopt --candidate easy --tolerance speed=1%");
    place.fails(2, "centre adopt --candidate best");
}

#[test]
fn workloads_are_made_again_from_their_note() {
    let place = Place::new();
    place.ok("generate workload lublin --jobs 50 --cores 64 --load 0.8 --seed 5 -o log.swf");
    let text = place.read("log.swf");
    let note = text.lines().find_map(|line| line.strip_prefix("; Note: slackline ")).unwrap();
    assert_eq!(place.ok(note), text);
    let table = place.ok("centre batch log.swf --policy fcfs,easy --picture load.svg");
    assert!(table.contains("easy") && place.read("load.svg").contains("cores held"), "{table}");
    place.fails(2, "centre batch log.swf --policy best");
    place.fails(2, "centre batch log.swf --cores 0");
    place.fails(2, "generate workload lublin --load 0");
}

/// Every run of a what-if is that of `simulate` on a platform that was written so.
#[test]
fn what_if_is_the_run_on_the_changed_platform() {
    let place = Place::new();
    let platform = |count: u32, cores: u32, speed: &str, bandwidth: &str| {
        format!(
            "name = \"p\"\n[cluster.c]\ncount = {count}\ncores = {cores}\nspeed = \"{speed}\"\nbandwidth = \"{bandwidth}\"\nprice = 0.001\n"
        )
    };
    place.write("p.toml", platform(3, 1, "1Gf", "100MBps"));
    let changed = [
        ("cores x2", platform(3, 2, "1Gf", "100MBps")),
        ("hosts +2", platform(5, 1, "1Gf", "100MBps")),
        ("speed x1.5", platform(3, 1, "1.5Gf", "100MBps")),
        ("bandwidth x10", platform(3, 1, "1Gf", "1GBps")),
    ];
    let names: Vec<&str> = changed.iter().map(|(name, _)| *name).collect();
    let json = |line: &str| -> serde_json::Value { serde_json::from_str(&place.ok(line)).unwrap() };
    let line = format!("what-if montage -p p.toml {} --together --json", names.join(" "));
    let found = json(&line);
    let plain = json("simulate montage -p p.toml --json");
    assert_eq!(found["base"]["makespan"], plain["makespan"]);
    assert_eq!(found["base"]["cost"], plain["cost"]);
    for (at, (name, text)) in changed.iter().enumerate() {
        place.write("changed.toml", text.clone());
        let (change, wanted) =
            (&found["changes"][at], json("simulate montage -p changed.toml --json"));
        assert_eq!(change["change"], *name);
        let (is, was) =
            (change["makespan"].as_f64().unwrap(), wanted["makespan"].as_f64().unwrap());
        // The core that the uplink has in a file is that of the cluster: only links differ in name.
        assert!((is - was).abs() <= 1e-9 * was, "{name}: {is}, not {was}");
        let (is, was) = (change["cost"].as_f64().unwrap(), wanted["cost"].as_f64().unwrap());
        assert!((is - was).abs() <= 1e-9 * was, "{name}: {is}, not {was}");
    }
    assert_eq!(found["changes"][4]["change"], "cores x2, hosts +2, speed x1.5, bandwidth x10");
    assert_eq!(found["changes"][4]["cores"], 10);
    let table = place.ok("what-if montage -p p.toml speed x4 latency x1");
    assert!(table.contains("speed x4 helps most") && table.contains("none"), "{table}");
    for (line, says) in [
        ("what-if montage -p p.toml core x2", "did you mean 'cores'"),
        ("what-if montage -p p.toml speed:d x2", "there is no host, class or zone 'd'"),
        ("what-if", "no workflow is named"),
        ("what-if cores x2", "no workflow is named"),
    ] {
        assert!(place.fails(2, line).contains(says), "{line}");
    }
}
