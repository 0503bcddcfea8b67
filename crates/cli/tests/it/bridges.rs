//! Records of other engines through the command: read where a workflow is, repeated, explained, sized and handed
//! over.

#![allow(clippy::unwrap_used)]

use crate::common::Place;
use serde_json::Value;
use std::fmt::Write as _;

/// A listing of `sacct`: a diamond on two nodes with waits in the queue, a task that fails first, and one on two
/// cores. It begins at 0 s and ends at 47 s.
const SACCT: &str = "JobID|JobName|State|AllocCPUS|ReqCPUS|ReqMem|Submit|Start|End|NodeList|SubmitLine|ExitCode\n\
    1|split|COMPLETED|1|1|100M|2026-01-01T00:00:00|2026-01-01T00:00:03|2026-01-01T00:00:10|n1|sbatch split.sh|0:0\n\
    2|work|FAILED|1|1|100M|2026-01-01T00:00:00|2026-01-01T00:00:12|2026-01-01T00:00:15|n1|sbatch -d afterok:1 work.sh|1:0\n\
    2|work|COMPLETED|1|1|100M|2026-01-01T00:00:15|2026-01-01T00:00:18|2026-01-01T00:00:30|n1|sbatch -d afterok:1 work.sh|0:0\n\
    3|work|COMPLETED|1|1|100M|2026-01-01T00:00:00|2026-01-01T00:00:11|2026-01-01T00:00:25|n2|sbatch -d afterok:1 work.sh|0:0\n\
    4|join|COMPLETED|2|2|200M|2026-01-01T00:00:00|2026-01-01T00:00:37|2026-01-01T00:00:47|n2|sbatch -d afterok:2:3 join.sh|0:0\n";

/// Sixty tasks of a kind with known peaks: 100 MiB and one more for each.
pub(crate) fn history() -> String {
    let mut text =
        "JobID|JobName|State|AllocCPUS|ReqMem|Submit|Start|End|NodeList|MaxRSS|TotalCPU\n"
            .to_string();
    for k in 0..60 {
        let at = format!("2026-01-01T{:02}:{:02}", k / 20, k % 20 * 3);
        let _ =
            writeln!(text, "{}|map|COMPLETED|2|4G|{at}:00|{at}:01|{at}:31|n1||00:30.000", k + 1);
        let _ = writeln!(
            text,
            "{}.batch|batch|COMPLETED|2|||{at}:01|{at}:31|n1|{}K|00:30.000",
            k + 1,
            (100 + k) * 1024
        );
    }
    text
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The records as they lie stand for a workflow, a platform, a plan and the conditions of the run: simulated with
/// all of them the run ends when it did.
#[test]
fn a_recorded_run_is_simulated_as_it_was() {
    let place = Place::new();
    place.write("jobs.txt", SACCT);
    let shown = place.ok("show jobs.txt");
    assert!(shown.contains("4 tasks") || shown.contains("tasks"), "{shown}");
    let makespan = |line: &str| json(&place.ok(line))["makespan"].as_f64().unwrap();
    let again = "simulate jobs.txt --schedule jobs.txt --scenario jobs.txt --json";
    assert_eq!(makespan(again), 47.0);
    // Without its waits and failures: 7 + 14 + 10 on the chain over work:3.
    assert_eq!(makespan("simulate jobs.txt --schedule jobs.txt --json"), 31.0);
    place.ok("import jobs.txt -o run");
    let files = "run/workflow.json -p run/platform.toml --schedule run/plan.json";
    assert_eq!(makespan(&format!("simulate {files} --scenario run/recorded.toml --json")), 47.0);
    let plan = json(&place.ok("plan jobs.txt --json"));
    assert_eq!(plan["makespan"].as_f64(), Some(31.0));
    place.ok("plan jobs.txt -p small-cluster -o elsewhere.json");
    place.ok("convert jobs.txt w.dax");
    let told = place.fails(2, "run jobs.txt");
    assert!(told.contains("records of a run of slurm"), "{told}");
    let told = place.fails(2, "simulate montage -p small-cluster --schedule jobs.txt");
    assert!(told.contains("records of another workflow"), "{told}");
}

/// Times move to the machines of another run by the ratio that was measured, to others by the one that is given.
#[test]
fn times_of_records_move_between_machines() {
    let place = Place::new();
    place.write("here.txt", history());
    place.write("there.txt", history().replace(":31|", ":21|").replace("|n1|", "|n2|"));
    let plan = |line: &str| json(&place.ok(&format!("plan here.txt {line} --json")));
    let makespan = |plan: &Value| plan["makespan"].as_f64().unwrap().round();
    let (own, measured) = (plan(""), plan("-p there.txt"));
    assert_eq!((makespan(&own), makespan(&measured)), (1800.0, 1200.0));
    let factor = measured["interval"]["measured_speed"]["factor"].as_f64().unwrap();
    assert!((factor - 1.5).abs() < 1e-9, "{factor}");
    let given = plan("-p there.txt --speed n2=2");
    assert_eq!(makespan(&given), 900.0);
    let origin = |plan: &Value| plan["interval"]["speeds"].as_str().unwrap().to_string();
    assert_eq!([&own, &measured, &given].map(origin), ["recorded", "measured", "given"]);
    place.ok("import here.txt -o run");
    let files = json(&place.ok("plan run/workflow.json -p run/platform.toml --json"));
    assert_eq!((makespan(&files), origin(&files)), (1800.0, "stated".to_string()));
    let told = place.ok("simulate here.txt -p there.txt");
    assert!(told.contains("interval") && told.contains("90 % of runs"), "{told}");
    let told = place.ok("what-if here.txt -p there.txt speed x2");
    assert!(told.contains("Interval: 90 % of runs"), "{told}");
    let told = place.fails(2, "plan here.txt --speed n3=2");
    assert!(told.contains("there is no host, class or zone 'n3'"), "{told}");
}

/// The shares of an explanation add up, and its picture shows the chain.
#[test]
fn a_recorded_run_is_explained() {
    let place = Place::new();
    place.write("jobs.txt", SACCT);
    let told = json(&place.ok("explain jobs.txt --svg chain.svg --json"));
    let shares: f64 = told["shares"].as_object().unwrap().values().filter_map(Value::as_f64).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{told}");
    assert_eq!(told["makespan"].as_f64(), Some(47.0));
    // join: 10 s, 7 s in the queue; work:2: 12 s, 6 s for its first attempt, 2 s in the queue; split: 7 s, 3 s.
    let seconds = |cause: &str| (47.0 * told["shares"][cause].as_f64().unwrap()).round();
    assert_eq!(
        (seconds("ran"), seconds("repeated after failure"), seconds("in the queue")),
        (29.0, 6.0, 12.0)
    );
    let drawn = place.read("chain.svg");
    assert!(drawn.contains("chain of waits") && drawn.contains("in the queue"));
    place.ok("explain jobs.txt --svg chain.png");
}

#[test]
fn requests_for_the_next_run() {
    let place = Place::new();
    place.write("jobs.txt", history());
    let told = json(&place.ok("advise jobs.txt --json"));
    let kind = &told["kinds"][0];
    let memory = &kind["memory"];
    let mib = 1024.0 * 1024.0;
    assert_eq!(memory["amount"]["base"].as_f64(), Some(159.0 * mib), "{told}");
    assert!((memory["failure"].as_f64().unwrap() - 1.0 / 61.0).abs() < 1e-12);
    // 60 tasks of 30 s held 159 MiB instead of 4 GiB.
    let hours = |name: &str| memory[name].as_f64().unwrap();
    assert!((hours("byte_hours") - 0.5 * 159.0 * mib).abs() < 1.0);
    assert!((hours("recorded_byte_hours") - 0.5 * 4096.0 * mib).abs() < 1.0);
    assert_eq!(kind["cores"].as_u64(), Some(1));
    assert!(place.ok("advise jobs.txt").contains("96 % less"));
    let config = place.ok("advise jobs.txt --to nextflow");
    assert!(
        config.contains("withName: 'map'") && config.contains("159.MB * 2 ** (task.attempt - 1)"),
        "{config}"
    );
    place.ok("advise jobs.txt --to snakemake -o profile.yaml");
    assert!(
        place.read("profile.yaml").contains("mem_mb: \"167 * 2 ** (attempt - 1)\""),
        "{}",
        place.read("profile.yaml")
    );
    assert!(
        place
            .ok("advise jobs.txt --to slurm")
            .contains("--cpus-per-task=1 --mem=159M --time=0:01:00")
    );
    // A smaller risk takes more tasks: the recorded request is kept.
    let kept = place.ok("advise jobs.txt --risk 1% --to slurm");
    assert!(kept.contains("takes 99") && kept.contains("--mem=4096M"), "{kept}");
    place.fails(2, "advise jobs.txt --risk 0");
}

#[test]
fn plans_are_handed_over() {
    let place = Place::new();
    place.ok("generate workflow daggen --tasks 6 --seed 3 --runnable -o w.json");
    place.ok("plan w.json -p small-cluster -o plan.json");
    place.ok("convert plan.json submit.sh --to slurm --workflow w.json -p small-cluster");
    let script = place.read("submit.sh");
    // Equal tasks with the same dependencies are an array.
    let arrays = script.matches("--array=0-1").count();
    assert_eq!(script.matches("--nodelist=").count() + arrays, 6, "{script}");
    assert!(
        script.contains("--dependency=\"afterok:") && script.contains("slackline burn"),
        "{script}"
    );
    place.ok("convert plan.json job.toml --to hq --workflow w.json -p small-cluster");
    let job = place.read("job.toml");
    assert_eq!(job.matches("[[task]]").count(), 6);
    assert!(job.contains("priority = 6") && job.contains("deps = ["), "{job}");
    for target in ["snakemake", "cwl", "makeflow"] {
        place.ok(&format!("convert w.json out.{target} --to {target}"));
    }
    assert_eq!(place.read("out.snakemake").matches("\nrule ").count(), 7);
    let cwl = json(&place.read("out.cwl"));
    assert_eq!(cwl["steps"].as_object().unwrap().len(), 6);
    let told = place.fails(2, "convert w.json out.sh --to slurm");
    assert!(told.contains("takes a plan"), "{told}");
    let told = place.fails(2, "convert examples/workflows/gauss.dot out.cwl --to cwl");
    assert!(told.contains("has no command"), "{told}");
}

/// Records of real engines, repeated as they were: the simulated run ends within 2 % of the recorded one, and the
/// shares of its explanation add up.
#[test]
fn closed_loops_of_real_engines() {
    let place = Place::new();
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/fixtures");
    for engine in ["snakemake", "dask", "parsl", "cwl", "ro-crate", "makeflow"] {
        let path = format!("{fixtures}/{engine}");
        let summary = json(&place.ok(&format!("import {path} --json")));
        let recorded = summary["makespan"].as_f64().unwrap();
        let again =
            json(&place.ok(&format!("simulate {path} --schedule {path} --scenario {path} --json")));
        let ratio = again["makespan"].as_f64().unwrap() / recorded;
        assert!((ratio - 1.0).abs() < 0.02, "{engine}: {ratio}");
        let told = json(&place.ok(&format!("explain {path} --json")));
        let shares: f64 =
            told["shares"].as_object().unwrap().values().filter_map(Value::as_f64).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{engine}: {shares}");
        let repeated = told["repeated"].as_f64().unwrap() / recorded;
        assert!((repeated - 1.0).abs() < 0.05, "{engine}: {repeated}");
    }
}
