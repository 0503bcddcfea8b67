//! Locations of inputs, charges of the network, and the reports of `plan` and `simulate`.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Place;
use serde_json::Value;

/// 10 GB lie on `user-0`, which is a little slower than `m-0`.
const BIG_INPUT: &str = "name = \"big input\"\n[files]\nbig = \"10GB\"\n[task.a]\ntime = \"10s\"\n\
    inputs = [\"big\"]\n";
const STAGED: &str = "name = \"staged\"\norigin = \"user-0\"\n\
    [cluster.user]\ncount = 1\nspeed = \"0.9Gf\"\nbandwidth = \"125MBps\"\nlatency = \"100us\"\n\
    [cluster.m]\ncount = 1\nspeed = \"1Gf\"\nbandwidth = \"125MBps\"\nlatency = \"100us\"\n";

fn place() -> Place {
    let place = Place::new();
    place.write("big.toml", BIG_INPUT);
    place.write("staged.toml", STAGED);
    place
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("no {name} in {value}"))
}

#[test]
fn work_goes_to_large_inputs() {
    let place = place();
    let plans = json(&place.ok("plan big.toml -p staged.toml --algorithm all --json"));
    let careless = ["met", "cpop", "olb", "round-robin", "random"];
    for plan in plans["plans"].as_array().unwrap() {
        let (name, makespan) = (plan["algorithm"].as_str().unwrap(), number(plan, "makespan"));
        // By the input at 0.9 Gf, or 82.5 s of transfer before 10 s of work.
        let stays = (makespan - 10.0 / 0.9).abs() < 1e-9;
        assert!(stays || (careless.contains(&name) && (makespan - 92.5).abs() < 0.05), "{plan}");
        assert!((number(plan, "simulated") - makespan).abs() < 1e-9 * makespan, "{plan}");
        assert!(number(plan, "lower_bound") <= makespan * (1.0 + 1e-9));
    }
    let runs = json(&place.ok("simulate big.toml -p staged.toml --compare all --json"));
    for run in runs["runs"].as_array().unwrap() {
        let policy = run["policy"].as_str().unwrap();
        // These two look at turns and idle power only; sweeps want one link per cluster.
        let blind = ["work-queue", "rep"].contains(&policy) || policy.starts_with("sweep-");
        let plans = !blind;
        assert!(!plans || (number(run, "makespan") - 10.0 / 0.9).abs() < 1e-6, "{run}");
    }
}

#[test]
fn inputs_lie_where_they_are_said_to() {
    let place = place();
    let plan =
        |extra: &str| json(&place.ok(&format!("plan big.toml -p staged.toml --json {extra}")));
    assert_eq!(number(&plan("--inputs everywhere"), "makespan"), 10.0);
    assert!(number(&plan("--inputs origin"), "makespan") > 11.0);
    assert!(plan("--no-check").get("simulated").is_none());
    let error =
        place.fails(2, "plan big.toml -p examples/platforms/small-cluster.toml --inputs origin");
    assert!(error.contains("small cluster") && error.contains("names no origin"), "{error}");
    place.write("nobody.toml", STAGED.replace("user-0", "nobody"));
    let error = place.fails(2, "plan big.toml -p nobody.toml");
    assert!(error.contains("nobody"), "{error}");
}

#[test]
fn plans_count_with_the_network_as_it_is_simulated() {
    let place = place();
    place.write(
        "pair.toml",
        "[task.a]\ntime = \"1s\"\noutputs = [\"f\"]\n[task.b]\ntime = \"1s\"\ninputs = [\"f\"]\n\
         memory = \"2GB\"\n[files]\nf = \"1kB\"\n",
    );
    // `b` fits the second host only, and so `f` crosses 20 ms of links.
    place.write(
        "far.toml",
        "[host.near]\nspeed = \"10Gf\"\nmemory = \"1GB\"\nlatency = \"10ms\"\n\
         [host.far]\nspeed = \"1Gf\"\nmemory = \"4GB\"\nlatency = \"10ms\"\n",
    );
    for (config, factor) in [("", 13.01), ("--config network/model:CM02", 1.0)] {
        let line = format!("plan pair.toml -p far.toml --json {config}");
        let plan = json(&place.ok(&line));
        let (planned, simulated) = (number(&plan, "makespan"), number(&plan, "simulated"));
        assert!((planned - simulated).abs() < 1e-9, "{plan}");
        assert!((planned - (0.1 + factor * 0.02 + 1.0)).abs() < 1e-3, "{plan}");
    }
}

#[test]
fn a_cluster_that_shares_its_storage_holds_one_copy() {
    let place = place();
    place.write(
        "two.toml",
        "[files]\nf = \"1GB\"\n[task.a]\ntime = \"100s\"\ninputs = [\"f\"]\n\
         [task.b]\ntime = \"100s\"\ninputs = [\"f\"]\n",
    );
    let platform = |shared: bool| {
        format!(
            "origin = \"user\"\n[host.user]\nspeed = \"1Mf\"\n\
             [cluster.c]\ncount = 2\nspeed = \"1Gf\"\nshared-storage = {shared}\n"
        )
    };
    for (shared, bytes) in [(true, 1e9), (false, 2e9)] {
        place.write("grid.toml", platform(shared));
        place.ok("convert grid.toml grid.xml");
        for file in ["grid.toml", "grid.xml"] {
            let plan = json(&place.ok(&format!("plan two.toml -p {file} --json")));
            assert_eq!(number(&plan, "bytes_moved"), bytes, "{plan}");
            assert_eq!(plan["transfers"].as_array().unwrap().len() as f64, bytes / 1e9);
            let run = json(&place.ok(&format!("simulate two.toml -p {file} --json")));
            assert_eq!(number(&run, "bytes_moved"), bytes, "{run}");
        }
    }
}

/// Money per GB that leaves a cluster or a site, in plans and runs alike.
#[test]
fn data_that_leaves_a_priced_place_costs_money() {
    let place = place();
    place.write(
        "two.toml",
        "[files]\nf = \"1GB\"\n[task.a]\ntime = \"100s\"\noutputs = [\"f\"]\n\
         [task.b]\ntime = \"10s\"\ninputs = [\"f\"]\nmemory = \"2GB\"\n",
    );
    let platform = |site: &str, cluster: &str| {
        format!(
            "[site.north]\ntransfer-price = {site}\n[site.south]\n\
             [cluster.small]\nsite = \"north\"\ncount = 1\nspeed = \"2Gf\"\nmemory = \"1GB\"\n\
             transfer-price = {cluster}\n\
             [cluster.big]\nsite = \"south\"\ncount = 1\nspeed = \"1Gf\"\nmemory = \"4GB\"\n\
             price = 0.01\ntransfer-price = 9\n"
        )
    };
    place.write("grid.toml", platform("0.02", "0.05"));
    place.ok("convert grid.toml grid.xml");
    place.ok("convert grid.xml again.toml");
    for file in ["grid.toml", "grid.xml", "again.toml"] {
        let plan = json(&place.ok(&format!("plan two.toml -p {file} --json --budget 1")));
        // Ten seconds of the large machine, and one GB out of the cluster and out of its site.
        assert!((number(&plan, "cost") - 0.17).abs() < 1e-12, "{plan}");
        let run = json(&place.ok(&format!("simulate two.toml -p {file} --json")));
        assert!((number(&run, "cost") - 0.17).abs() < 1e-12, "{run}");
    }
    for bad in ["-1", "nan", "inf"] {
        place.write("bad.toml", platform(bad, "0"));
        let said = place.fails(2, "plan two.toml -p bad.toml");
        assert!(said.contains("north") && said.contains("transfer price"), "{said}");
    }
}

#[test]
fn the_bound_of_a_run_holds_for_what_really_happened() {
    let place = place();
    // The estimate says 10 s, the task takes 2.
    place.write("quick.toml", "[[actual]]\ntask = \"a\"\nseconds = 2\n");
    let line = "simulate big.toml -p staged.toml --inputs everywhere --scenario quick.toml --json";
    let run = json(&place.ok(line));
    assert!((number(&run, "makespan") - 2.0).abs() < 1e-9, "{run}");
    assert!(number(&run, "lower_bound") <= 2.0 + 1e-9, "{run}");
}

#[test]
fn levels_that_never_change_count_in_plans() {
    let place = place();
    place.ok("generate platform sweep-grid --clusters 1:50 -o half.toml");
    let plan = json(&place.ok("plan big.toml -p half.toml --inputs everywhere --json"));
    // The one host that computes is half there: 20 s for 10.
    for end in ["makespan", "simulated", "lower_bound"] {
        assert!((number(&plan, end) - 20.0).abs() < 1e-9, "{plan}");
    }
}
