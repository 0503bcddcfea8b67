//! Campaigns that are killed, divided, brought together, drawn; and results that are refused.

#![allow(clippy::unwrap_used)]

use crate::common::Place;
use serde_json::Value;
use std::process::{Command, Stdio};

/// 12,800 runs, of which none takes long; together they outlast several commits.
const MANY: &str = r#"
name = "killed"
seed = 7
repeat = 800
[workflows.random]
generate = "daggen"
tasks = [10, 20]
ccr = [0.5, 2]
[platforms.flat]
generate = "processors"
processors = [2, 3]
[methods]
plan = ["heft"]
simulate = ["static:peft"]
"#;

#[test]
fn a_campaign_that_is_killed_again_and_again_has_the_same_table() {
    let place = Place::new();
    place.write("c.toml", MANY);
    let begun = std::time::Instant::now();
    place.ok("compare c.toml -o whole.db --csv whole.csv -q");
    let mut whole = begun.elapsed();
    let mut parts = 0;
    // As good as random: multiples of the golden ratio.
    for kill in 1..=20_u32 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_slackline"))
            .args(["compare", "c.toml", "-o", "killed.db", "-q"])
            .current_dir(place.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let part = (f64::from(kill) * 0.618_033_988_75).fract();
        std::thread::sleep(whole.mul_f64(part));
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
        // Results are legible at once, whatever was being written.
        let file = place.path().join("killed.db");
        if file.exists() && std::fs::metadata(&file).unwrap().len() > 0 {
            let done = place.run("compare killed.db --csv part.csv -q");
            let is_empty =
                done.err.contains("there are no runs") || done.err.contains("no file of results");
            assert!(done.code == Some(0) || is_empty, "{} {}", done.out, done.err);
            let rows = if is_empty { 0 } else { place.read("part.csv").lines().count() };
            parts += usize::from(rows > 1 && rows < 12_801);
            // A busy machine is not as fast each time: kills have to come between the first row and the last.
            if rows <= 1 {
                whole = whole.mul_f64(1.5);
            } else if rows == 12_801 && parts == 0 {
                whole = whole.mul_f64(0.7);
                std::fs::remove_file(&file).unwrap();
            }
        } else {
            whole = whole.mul_f64(1.5);
        }
    }
    assert!(parts > 0, "no kill came while runs were done");
    place.ok("compare c.toml -o killed.db --csv killed.csv -q");
    assert!(place.read("killed.csv") == place.read("whole.csv"), "the tables differ");
    // Nothing of a kill is left beside the results.
    let names = std::fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().file_name());
    assert!(names.into_iter().all(|n| !n.to_string_lossy().contains("journal")));
}

const SMALL: &str = r#"
name = "parts"
seed = 1
repeat = 4
[workflows.random]
generate = "daggen"
tasks = [6, 9]
[platforms.flat]
generate = "processors"
processors = [2, 3]
[methods]
plan = ["heft", "peft", "cpop"]
"#;

#[test]
fn results_are_brought_together_without_losing_any() {
    let place = Place::new();
    place.write("c.toml", SMALL);
    place.ok("compare c.toml --shard 1/2 -o 1.db -q");
    place.ok("compare c.toml --shard 2/2 -o 2.db -q");
    place.ok("compare 1.db 2.db -o all.db --csv all.csv");
    // What is there is not replaced.
    assert!(place.fails(2, "compare 1.db 2.db -o all.db").contains("is there already"));
    place.ok("compare all.db 1.db -o more.db --csv again.csv");
    assert_eq!(place.read("again.csv"), place.read("all.csv"));
    // Shards that disagree on a run.
    let change = "UPDATE metrics SET makespan = makespan + 1 WHERE id = 1";
    let other = rusqlite::Connection::open(place.path().join("1.db")).unwrap();
    other.execute(change, []).unwrap();
    drop(other);
    let error = place.fails(2, "compare 1.db all.db -o both.db");
    assert!(error.contains("does not agree with the others on a run of"), "{error}");
    assert!(!place.path().join("both.db").exists());
    // Another schema, and a file that another process writes.
    let other = rusqlite::Connection::open(place.path().join("2.db")).unwrap();
    other.execute("UPDATE about SET value = 'results/9' WHERE name = 'schema'", []).unwrap();
    assert!(place.fails(2, "compare 2.db").contains("results/9"));
    other
        .execute("UPDATE about SET value = 'slackline/results/1' WHERE name = 'schema'", [])
        .unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    for line in ["compare c.toml -o 2.db", "compare 2.db"] {
        assert!(place.fails(2, line).contains("another process"), "{line}");
    }
    other.execute_batch("COMMIT").unwrap();
    // Sections that describe the same runs.
    let twice = format!("{SMALL}\n[platforms.again]\ngenerate = \"processors\"\nprocessors = 3\n");
    place.write("twice.toml", twice.replace("\"parts\"", "\"twice\""));
    let error = place.fails(2, "compare twice.toml");
    assert!(error.contains("the runs would be the same"), "{error}");
}

#[test]
fn pictures_of_a_comparison_are_written_as_files() {
    let place = Place::new();
    place.write("c.toml", SMALL);
    let line = "compare c.toml --by processors --unit workflow --figures f --report r.html -q";
    // A part of the platform has the name of its section in front, a workflow's has not.
    let error = place.fails(2, &line.replace("--by processors", "--by procesors"));
    assert!(error.contains("did you mean 'processors'"), "{error}");
    assert!(place.fails(2, &line.replace("workflow", "work")).contains("--unit: there is no"));
    place.ok(line);
    let mut names: Vec<String> = std::fs::read_dir(place.path().join("f"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 20, "{names:?}");
    for name in [
        "makespan-over-that-of-heft-by-processors",
        "mean-makespan-by-processors",
        "critical-differences-at-processors-2",
    ] {
        assert!(names.contains(&format!("{name}.svg")), "{names:?}");
        assert!(names.contains(&format!("{name}.png")), "{names:?}");
    }
    let page = place.read("r.html");
    let command = "slackline compare c.toml --by processors --metric makespan --unit workflow \
                   --report r.html";
    assert!(page.contains(command), "the command that makes the page again");
    // A unit is one draw of a workflow: its tasks and repetition, over what does not name it.
    let document: Value =
        serde_json::from_str(&place.ok("compare c.toml --unit workflow --json")).unwrap();
    assert_eq!(document["unit"], serde_json::json!(["workflow", "tasks", "repetition"]));
    assert_eq!(document["groups"][0]["n"], 8);
}

/// A minute is enough for far more; the files give the ratios in plans.
#[test]
fn the_worst_found_is_bad_and_the_plans_of_the_file_show_it() {
    let place = Place::new();
    for (a, b, least) in [("heft", "cpop", 2.0), ("peft", "heft", 3.0)] {
        let line = format!("versus {a} {b} --iterations 2400 -o worst.json --gantt g.svg --json");
        let found: Value = serde_json::from_str(&place.ok(&line)).unwrap();
        let ratio = found["worst"]["ratio"].as_f64().unwrap();
        assert!(ratio >= least, "{a} {b}: {ratio}");
        assert_eq!(found["drawn"]["n"], 100);
        assert!(found["reverse"]["ratio"].as_f64().unwrap() >= 1.0);
        let makespan = |planner: &str| {
            let line = format!("plan --instance worst.json -a {planner} --json");
            let plan: Value = serde_json::from_str(&place.ok(&line)).unwrap();
            plan["makespan"].as_f64().unwrap()
        };
        assert_eq!(makespan(a) / makespan(b), ratio, "{a} {b}");
        let chart = place.read("g.svg");
        assert!(chart.contains(a) && chart.contains(b));
    }
}

/// The verdict of a comparison with older results is legible in a narrow terminal.
#[test]
fn what_became_worse_is_named() {
    let place = Place::new();
    let table = |factor: f64| {
        let mut text = "repetition,method,makespan,cost,energy\n".to_string();
        for i in 1..=9_u32 {
            let base = f64::from(10 + i);
            text += &format!(
                "{i},heft,{base},{},{}\n",
                base * factor,
                base * factor.powi(5 - i as i32)
            );
        }
        text
    };
    place.write("old.csv", table(1.0));
    place.write("new.csv", table(1.05));
    let line =
        "compare old.csv new.csv --no-regression --metric makespan,cost,energy --tolerance cost=2%";
    let done = place.run(line);
    assert_eq!(done.code, Some(1), "{}", done.err);
    for part in ["Loss: something became worse.", "Worse: cost.", "decided by these runs: energy."]
    {
        assert!(done.out.contains(part), "{part}: {}", done.out);
    }
    assert!(done.out.contains("Not worse: makespan.") && !done.out.contains('…'), "{}", done.out);
    assert!(done.out.lines().all(|line| line.chars().count() <= 80), "{}", done.out);
}
