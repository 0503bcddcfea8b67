//! Every example that help shows is a command that works, in a folder with a few files of one's own.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Place;

/// All `slackline` lines of a text, without remarks.
fn lines(text: &str) -> Vec<String> {
    let begins = |line: &&str| line.starts_with("  slackline ");
    let without_remark = |line: &str| line.split("  #").next().unwrap_or(line).trim().to_string();
    text.lines().filter(begins).map(without_remark).collect()
}

/// Verbs that begin real work on this machine: their own tests run them.
const REAL: &[&str] = &[
    "mpirun",
    "mpicc",
    "mpi-capture",
    "run",
    "resume",
    "clean",
    "status",
    "log",
    "report",
    "stop",
    "diff",
    "burn",
    "pilot",
];

/// The verbs with a help of their own, as words.
const VERBS: &[&str] = &[
    "examples",
    "plan",
    "show",
    "generate",
    "simulate",
    "activities",
    "validate",
    "convert",
    "algorithms",
    "reproduce",
    "compare",
    "versus",
    "what-if",
    "platform detect",
    "platform from-logs",
    "calibrate mpi",
    "import",
    "explain",
    "advise",
    "replay",
    "centre batch",
    "centre tape",
    "centre storage",
    "generate workload lublin-moldable",
    "centre adopt",
    "centre stack",
    "centre attribute",
    "completions",
    "man",
];

const STREAM: &str = "[[arrival]]\nworkflow = \"examples/workflows/gauss.dot\"\nat = 0\nbudget = 5\ndeadline = 3600\n\
                      [[arrival]]\nworkflow = \"examples/workflows/fork-join.toml\"\nat = 9\nbudget = 5\ndeadline = 3600\n";

const CAMPAIGN: &str = r#"
name = "tiny"
[workflows.random]
generate = "daggen"
tasks = 5
[platforms.flat]
generate = "processors"
[methods]
plan = ["heft", "cpop"]
"#;

/// Results of two methods in six blocks.
fn results(factor: f64) -> String {
    let rows = (0..12).map(|i| {
        let (ccr, method) = ([0.1, 1.0, 5.0][i / 2 % 3], ["heft", "peft"][i % 2]);
        let makespan = factor * (10.0 + i as f64 + ccr);
        format!("{ccr},{},{method},{makespan},{},{}\n", i / 6, makespan / 9.0, makespan * 2.0)
    });
    format!("ccr,repetition,method,makespan,slr,cost\n{}", rows.collect::<String>())
}

#[test]
fn examples_of_help_work() {
    let place = Place::new();
    place.write("stream.toml", STREAM);
    let trace = "0 init\n0 compute 1e9\n0 finalize\n";
    place.write("lu.tit", trace);
    let nextflow = "task_id\tname\tstatus\tsubmit\tduration\trealtime\n\
         1\tALIGN (s1)\tCOMPLETED\t2026-01-01 00:00:00.000\t5s\t4s\n\
         2\tSORT (s1)\tCOMPLETED\t2026-01-01 00:00:06.000\t2s\t1s\n";
    place.write("trace.txt", nextflow);
    place.write(
        "pipeline_dag.dot",
        "digraph \"pipeline_dag\" {\np0 [label=\"ALIGN\"];\np1 [label=\"SORT\"];\np0 -> p1;\n}\n",
    );
    place.write(
        "recorded.json",
        r#"{"name": "r", "schemaVersion": "1.5", "workflow": {"specification": {"tasks": [{"id": "a", "name": "a",
        "parents": [], "children": [], "inputFiles": [], "outputFiles": []}], "files": []}, "execution": {"makespanInSeconds": 5,
        "executedAt": "2024-01-01T00:00:00Z", "tasks": [{"id": "a", "runtimeInSeconds": 5, "machines": ["n1"]}],
        "machines": [{"nodeName": "n1", "cpu": {"coreCount": 2, "speedInMHz": 2000}}]}}}"#,
    );
    place.write("list.txt", "lu.tit\n");
    place.write("short.toml", "[task.t]\nseconds = 0.01\ncommand = \"true\"\n");
    place.ok("run short.toml --folder monday.run -q");
    place.ok("run short.toml --folder tuesday.run -q");
    place.ok("platform from-logs monday.run -o seen.toml --stack monday.toml -q");
    place.write("hosts.txt", "fast-0\n");
    let job = "1 0 5 10 2 -1 -1 2 20 -1 1 1 1 -1 1 -1 -1 -1\n";
    place.write("log.swf", format!("; MaxProcs: 4\n{job}"));
    place.write("log.swf.gz", job); // read by its content
    place.write("site.toml", "[machine]\ncores = 4\n");
    place.write(
        "jobs.txt",
        "JobIDRaw|User|Account|Partition|Submit|Start|End|ElapsedRaw|TimelimitRaw|ReqCPUS|State\n\
         7|ann|g|q|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:02:00|60|5|4|COMPLETED\n",
    );
    place.write(
        "case.json",
        r#"{"library": {"drives": 1, "mount": 1, "unmount": 1, "wind": 1, "rate": 10}, "requests": [
        {"id": "a", "file": "f", "tape": "T", "position": 1, "size": 10, "arrival": 0}]}"#,
    );
    place.write(
        "ops.json",
        r#"{"storages": {"d": {"model": "linear", "read": 100, "write": 50, "host": "h"}},
        "operations": [{"id": "r", "op": "read", "storage": "d", "bytes": 1000}]}"#,
    );
    std::fs::create_dir(place.path().join("traces")).unwrap();
    place.write("traces/0.tit", trace);
    place.write(
        "activities.json",
        r#"{"platform": "examples/platforms/small-cluster.toml", "activities": [
        {"id": "a", "kind": "exec", "host": "fast-0", "flops": 1e9}]}"#,
    );
    let sizes = (0..24).map(|k| 1u64 << k);
    let measured: String = sizes
        .flat_map(|size| {
            let seconds = 1e-4 + size as f64 / 1.25e8;
            ["send", "isend", "recv", "pingpong"].map(|kind| format!("{kind},{size},{seconds}\n"))
        })
        .collect();
    place.write("data.csv", format!("kind,size,seconds\n{measured}"));
    place.write("campaign.toml", CAMPAIGN);
    for (name, factor) in [("results.csv", 1.0), ("old.csv", 1.0), ("new.csv", 0.97)] {
        place.write(name, results(factor));
    }
    let mut seen = Vec::new();
    let mut texts = vec![place.ok("")];
    texts.extend(VERBS.iter().map(|verb| place.ok(&format!("{verb} --help"))));
    for (index, text) in texts.iter().enumerate() {
        let found = lines(text);
        assert!(!found.is_empty(), "no example: {text}");
        for line in found {
            let words: Vec<&str> = line.split_whitespace().skip(1).collect();
            if line.contains("runs/1") {
                for run in ["runs/1", "runs/2"] {
                    std::fs::create_dir_all(place.path().join(run)).unwrap();
                    place.write(&format!("{run}/trace.txt"), nextflow);
                }
            }
            let words = words.split(|w| *w == ">").next().unwrap();
            let done = place.run_words(words);
            assert_eq!(done.code, Some(0), "{line}\n{}{}", done.out, done.err);
            let _ = std::fs::remove_dir_all(place.path().join("runs"));
            seen.push((index, line));
        }
    }
    assert!(seen.len() > 30, "{}", seen.len());
}

#[test]
fn every_verb_is_tried() {
    let place = Place::new();
    let text = place.ok("--help");
    let commands = text.split("Commands:").nth(1).unwrap().split("Options").next().unwrap();
    for line in commands.lines().filter(|l| l.starts_with("  ") && !l.starts_with("   ")) {
        let verb = line.split_whitespace().next().unwrap();
        let tried = VERBS.iter().any(|v| v.split(' ').next() == Some(verb));
        assert!(tried || REAL.contains(&verb), "{verb} is not tried");
    }
}

/// Help fills its lines: one that is broken by hand looks ragged on a narrower terminal.
#[test]
fn help_is_told_in_whole_lines() {
    let place = Place::new();
    assert!(place.ok("").lines().all(|line| line.chars().count() <= 80), "the welcome is wide");
    let verbs = VERBS.iter().chain(REAL.iter().filter(|verb| !["burn", "pilot"].contains(verb)));
    for verb in verbs.chain(&["calibrate", "generate scenario sce"]) {
        let text = place.ok(&format!("{verb} --help"));
        let after = text.rsplit_once("Print more about what is read and done").unwrap().1;
        for lines in after.lines().collect::<Vec<_>>().windows(2) {
            let next = lines[1].split(' ').next().unwrap_or_default();
            let told = |line: &str| !line.is_empty() && !line.starts_with(' ');
            if told(lines[0]) && told(lines[1]) {
                assert!(lines[0].len() + next.len() >= 79, "{verb}: {}", lines[0]);
            }
        }
    }
}

#[test]
fn manual_pages_are_written() {
    let place = Place::new();
    place.ok("man man1");
    let page = place.read("man1/slackline-simulate.1");
    assert!(page.contains(".SH") && page.contains("two\\-site\\-grid"), "{page}");
    assert!(place.path().join("man1/slackline.1").exists());
    assert!(place.path().join("man1/slackline-generate-scenario.1").exists());
}
