//! Choices and loops: real runs by what their deciders say, bad luck around decisions, any policy in the simulator.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::Place;
use common::runs::wait_for;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

const EXAMPLE: &str = include_str!("../../../../examples/workflows/assembly.toml");

/// Two bases that could not be read: poor. Two gaps: two passes of polishing.
const POOR: &str = "@r1\nACGTNNACGT\n@r2\nGGATGG\n";

fn assembly(place: &Place, reads: &str) {
    place.write("assembly.toml", EXAMPLE);
    place.write("reads.fq", reads);
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn outcomes(document: &Value) -> Vec<String> {
    let all = document["outcomes"].as_array().unwrap();
    all.iter().map(|o| o.as_str().unwrap().to_string()).collect()
}

/// The decisions in the log of a run, in order: decision, value, outcome.
fn chosen(run: &Path) -> Vec<(String, Value, String)> {
    let log = std::fs::read_to_string(run.join("log.jsonl")).unwrap_or_default();
    let records = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let chose = records.filter_map(|record| Some(record.get("chose")?.clone()));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    chose.map(|c| (text(&c["decision"]), c["value"].clone(), text(&c["outcome"]))).collect()
}

#[test]
fn deciders_say_how_a_real_run_goes_on() {
    let place = Place::new();
    assembly(&place, POOR);
    let run = place.path().join("r");
    let done = json(&place.ok("run assembly.toml -j 2 --folder r --json"));
    assert_eq!(done["finished"], true);
    assert_eq!(outcomes(&done), ["polish#1=again", "polish#2=exit", "quality=poor"]);
    let expected = [
        ("quality".to_string(), Value::from("poor"), "poor".to_string()),
        ("polish#1".to_string(), Value::from(10), "again".to_string()),
        ("polish#2".to_string(), Value::from(0), "exit".to_string()),
    ];
    assert_eq!(chosen(&run), expected);
    let names: Vec<&str> =
        done["schedule"].as_array().unwrap().iter().map(|t| t["task"].as_str().unwrap()).collect();
    for name in ["inspect", "trim", "assemble", "polish#1/improve", "polish#2/check", "annotate"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    assert_eq!(names.len(), 8);
    // Passes are kept apart, and the last one is the result.
    let result = |name: &str| std::fs::read_to_string(run.join("results").join(name)).unwrap();
    assert_eq!(json(&result("report.json")), json(r#"{"gaps": 0, "pass": 2}"#));
    assert_eq!(result("genes.gff").trim(), "14");
    let stored = std::fs::read_dir(run.join("hosts")).unwrap().next().unwrap().unwrap().path();
    let first = std::fs::read_to_string(stored.join("files/polish#1/report.json")).unwrap();
    assert_eq!(json(&first)["gaps"], 1);
    // The log alone tells the same course, without the file that was read.
    std::fs::remove_file(stored.join("files/verdict.json")).unwrap();
    let again = json(&place.ok("replay r --json"));
    assert_eq!(outcomes(&again), outcomes(&done));
    assert_eq!(again["schedule"], done["schedule"]);
    place.ok("resume r");
    assert_eq!(chosen(&run).len(), 3);
    // Tasks that may be spread over hosts keep to one.
    let sites = "run assembly.toml -p four-sites --policy slackline --folder sites --json";
    assert_eq!(outcomes(&json(&place.ok(sites))), outcomes(&done));
    // The other branch reads the user's own file under the name of the trimmed one.
    place.write("reads.fq", "@r1\nACGTACGT\n");
    let good = json(&place.ok("run assembly.toml -j 2 --folder good --json"));
    assert_eq!(outcomes(&good), ["polish#1=exit", "quality=good"]);
    assert_eq!(good["schedule"].as_array().unwrap().len(), 5);
}

#[test]
fn a_run_that_was_killed_takes_the_same_course() {
    let place = Place::new();
    // Six gaps: six passes and eight decisions.
    assembly(&place, "@r1\nANNGGTGGTGGTGGTGGTGG\n");
    let spawn = |line: &str| {
        Command::new(env!("CARGO_BIN_EXE_slackline"))
            .args(line.split_whitespace())
            .current_dir(place.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    place.ok("run assembly.toml -j 2 --folder whole");
    let expected = chosen(&place.path().join("whole"));
    assert_eq!(expected.len(), 7);
    let run = place.path().join("r");
    let mut line = "run assembly.toml -j 2 --folder r";
    for decisions in 1..=6 {
        let mut child = spawn(line);
        wait_for("a decision", || {
            chosen(&run).len() >= decisions || child.try_wait().unwrap().is_some()
        });
        let _ = child.kill();
        child.wait().unwrap();
        line = "resume r";
    }
    place.ok("resume r");
    assert_eq!(chosen(&run), expected, "nothing is decided twice");
    for name in ["genes.gff", "report.json"] {
        let result = |run: &str| place.read(&format!("{run}/results/{name}"));
        assert_eq!(result("r"), result("whole"));
    }
}

#[test]
fn a_log_that_ends_before_a_decision_is_gone_on_with() {
    let place = Place::new();
    assembly(&place, POOR);
    place.ok("run assembly.toml -j 2 --folder r");
    let whole = place.read("r/log.jsonl");
    let expected = chosen(&place.path().join("r"));
    for decisions in 0..expected.len() {
        let cut = format!("cut{decisions}");
        let copied = Command::new("cp").args(["-r", "r", &cut]).current_dir(place.path()).status();
        assert!(copied.unwrap().success());
        let mut seen = 0;
        let before = |line: &&str| {
            let decides = line.contains("\"chose\":");
            seen += usize::from(decides);
            !decides || seen <= decisions
        };
        let kept: String = whole.lines().take_while(before).map(|l| format!("{l}\n")).collect();
        place.write(&format!("{cut}/log.jsonl"), kept);
        // Its task has ended, and nothing is known of the decision: the run is not over.
        let repeated = json(&place.ok(&format!("replay {cut} --json")));
        assert_eq!(repeated["finished"], false, "{decisions}");
        place.ok(&format!("resume {cut}"));
        assert_eq!(chosen(&place.path().join(&cut)), expected);
        let result = |run: &str| place.read(&format!("{run}/results/genes.gff"));
        assert_eq!(result(&cut), result("r"));
        place.ok(&format!("diff r {cut}"));
    }
}

/// A choice between two tasks by what `ask` says.
fn asking(ask: &str, reads: &str, rest: &str) -> String {
    format!(
        r#"
[task.ask]
outputs = ["answer.json"]
command = "{ask}"
[choice.way]
by = "ask"
reads = {reads}
[choice.way.branch.left]
when = ["l", 1]
[choice.way.branch.right]
when = ["r", 2, true]
{rest}
[task.left]
in = "way.left"
command = "true"
[task.right]
in = "way.right"
command = "true"
"#
    )
}

const POINTER: &str = r#"{ file = "answer.json", at = "/way" }"#;

#[test]
fn what_no_branch_lists_ends_the_run_with_what_was_read() {
    let place = Place::new();
    let write = |text: &str| format!("printf '%s' '{}' > answer.json", text.replace('"', "\\\""));
    for (ask, reads, said) in [
        (write(r#"{"way": "up"}"#), POINTER, "reads \"up\" from 'answer.json' of 'ask', at '/way'"),
        (write(r#"{"way": "up"}"#), POINTER, "\"l\" (left), 1 (left), \"r\" (right)"),
        (write(r#"{"other": 1}"#), POINTER, "there is nothing at that place"),
        (write(r#"{"way": [1]}"#), POINTER, "a list from"),
        (write(r#"{"way": null}"#), POINTER, "null from"),
        (write("no json"), POINTER, "it is no JSON"),
        ("head -c 1048577 /dev/zero > answer.json".to_string(), POINTER, "larger than 1 MiB"),
        ("touch answer.json".to_string(), "\"exit-code\"", "reads 0 from the exit code of 'ask'"),
    ] {
        place.write("w.toml", asking(&ask, reads, ""));
        let _ = std::fs::remove_dir_all(place.path().join("r"));
        let error = place.fails(1, "run w.toml -j 1 --folder r");
        assert!(error.contains("decision 'way'") && error.contains(said), "{said}: {error}");
        // It was decided: going on comes to the same.
        let error = place.fails(1, "resume r");
        assert!(error.contains(said), "{error}");
    }
    // Exit codes that are listed are no failures; what is not listed and not 0 is one, as ever.
    place.write("w.toml", asking("touch answer.json; exit 2", "\"exit-code\"", ""));
    let done = json(&place.ok("run w.toml -j 1 --folder two --json"));
    assert_eq!(outcomes(&done), ["way=right"]);
    place.write("w.toml", asking("touch answer.json; exit 3", "\"exit-code\"", ""));
    let error = place.fails(1, "run w.toml -j 1 --folder three --retries 0");
    assert!(error.contains("exit code 3"), "{error}");
    // Everything else goes where `else` says.
    place.write("w.toml", asking(&write(r#"{"way": 7}"#), POINTER, "else = true"));
    let done = json(&place.ok("run w.toml -j 1 --folder else --json"));
    assert_eq!(outcomes(&done), ["way=right"]);
}

#[test]
fn a_loop_ends_at_its_maximum_and_workflows_that_cannot_decide_are_refused() {
    let place = Place::new();
    let endless = r#"
[loop.again]
by = "turn"
reads = "exit-code"
again = 1
stop = 0
iterations = { again = 0.5, max = 3 }
[task.turn]
in = "again"
outputs = ["count"]
command = "echo $SLACKLINE_INSTANCE > count; exit 1"
"#;
    place.write("w.toml", endless);
    let done = place.run("run w.toml -j 1 --folder r --json");
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.contains("decision 'again#3' asks for another pass"), "{}", done.err);
    assert_eq!(outcomes(&json(&done.out)), ["again#1=again", "again#2=again", "again#3=exit"]);
    assert_eq!(place.read("r/results/count"), "again#3/turn\n");
    for (from, to, said) in [
        ("by = \"turn\"\nreads = \"exit-code\"", "", "`by` names the task"),
        ("reads = \"exit-code\"", "", "`reads` says what"),
        ("stop = 0", "", "no value means `stop`"),
    ] {
        place.write("w.toml", endless.replace(from, to));
        let error = place.fails(2, "run w.toml -j 1 --folder x");
        assert!(error.contains("loop 'again'") && error.contains(said), "{error}");
    }
    place.write("w.toml", asking("true", POINTER, "").replace("when = [\"l\", 1]", ""));
    let error = place.fails(2, "run w.toml -j 1 --folder x");
    assert!(error.contains("no value leads to branch 'left'"), "{error}");
    // A fixed number of passes needs nobody to ask.
    let fixed = "[loop.l]\niterations = 3\n[task.t]\nin = \"l\"\ncommand = \"true\"\n";
    place.write("w.toml", fixed);
    let done = json(&place.ok("run w.toml -j 1 --folder fixed --json"));
    assert_eq!(done["tasks_done"], 3);
    place.write("w.toml", fixed.replace("command", "outputs = [\"l#1/x\"]\ncommand"));
    let error = place.fails(2, "run w.toml -j 1 --folder x");
    assert!(error.contains("is for files of that pass"), "{error}");
}

#[test]
fn any_policy_drives_the_same_course_and_outcomes_can_be_given() {
    let place = Place::new();
    assembly(&place, POOR);
    let simulate = |options: &str| {
        json(&place.ok(&format!("simulate assembly.toml -p small-cluster --json {options}")))
    };
    let seed = "--seed 5 --run 3";
    let first = simulate(&format!("--policy static {seed}"));
    for policy in ["just-in-time", "slackline", "work-stealing", "gtp/c", "aheft"] {
        let other = simulate(&format!("--policy {policy} {seed}"));
        assert_eq!(other["finished"], true, "{policy}");
        assert_eq!(outcomes(&other), outcomes(&first), "{policy}");
        assert_eq!(other["tasks_done"], first["tasks_done"], "{policy}");
    }
    // The same decisions on leased machines.
    let leased = json(&place.ok(&format!(
        "simulate assembly.toml -p priced-cloud --policy combined --budget 1 {seed} --json"
    )));
    assert_eq!(outcomes(&leased), outcomes(&first));
    place.write("given.json", r#"{"quality": "poor", "polish#1": "again", "polish#2": "exit"}"#);
    let given = simulate("--policy slackline --choices given.json --trace t.jsonl");
    assert_eq!(outcomes(&given), ["polish#1=again", "polish#2=exit", "quality=poor"]);
    assert!(place.read("t.jsonl").contains("polish#2/check"));
    // A rehearsal draws its decisions, and says which.
    let dry = json(&place.ok("run assembly.toml -p small-cluster --dry-run --seed 5 --json"));
    let drawn = simulate("--policy work-stealing --seed 5");
    assert_eq!(outcomes(&dry), outcomes(&drawn));
}

#[test]
fn what_means_nothing_is_refused_by_name() {
    let place = Place::new();
    assembly(&place, POOR);
    let plan = "plan assembly.toml -p priced-cloud --budget 1";
    for option in [
        "--gantt x.svg",
        "-o x.json",
        "--front x.svg",
        "--robust",
        "--deadline 3h",
        "--seed 1",
        "--no-check",
    ] {
        let error = place.fails(2, &format!("{plan} {option}"));
        let name = option.split(' ').next().unwrap().replace("-o", "--output");
        assert!(error.contains(&name), "{name}: {error}");
    }
    for (given, said) in [
        (r#"{"nobody": "x"}"#, "no choice has the name 'nobody'"),
        (r#"{"quality": "bad"}"#, "no outcome 'bad'"),
        (r#"{"polish#7": "exit"}"#, "at most 6 passes"),
        (r#"{"polish#6": "again"}"#, "at most 6 passes"),
        ("[1]", "expected an object"),
    ] {
        place.write("given.json", given);
        let error = place.fails(2, "simulate assembly.toml --choices given.json");
        assert!(error.contains("given.json") && error.contains(said), "{error}");
    }
    let error = place.fails(2, "convert assembly.toml Makeflow --to makeflow");
    assert!(error.contains("no choices and loops"), "{error}");
    let error = place.fails(2, "convert assembly.toml Makeflow --to makeflow --draw 1");
    assert!(error.contains("other names"), "{error}");
    let error = place.fails(2, "simulate assembly.toml --compare static,slackline");
    assert!(error.contains("--compare"), "{error}");
    let error = place.fails(2, "simulate assembly.toml --policy static --runs 5");
    assert!(error.contains("--runs"), "{error}");
    let error = place.fails(2, "simulate montage --policy static --run 5");
    assert!(error.contains("--run"), "{error}");
}

#[test]
fn requests_give_the_same_plans_and_runs() {
    let place = Place::new();
    assembly(&place, POOR);
    for line in [
        "plan assembly.toml -p priced-cloud -a deferred --set pool=all --budget 1",
        "simulate assembly.toml -p priced-cloud --policy eager --budget 1 --run 2",
        "simulate assembly.toml -p priced-cloud --policy combined --budget 1 --runs 40",
        "simulate assembly.toml -p small-cluster --policy just-in-time --run 4",
    ] {
        let request = place.ok(&format!("{line} --print-request"));
        place.write("request.json", request);
        let strip = |text: String| {
            let mut value = json(&text);
            value.as_object_mut().unwrap().remove("wall_seconds");
            value
        };
        let answer = strip(place.ok("--request request.json --json"));
        assert_eq!(answer, strip(place.ok(&format!("{line} --json"))), "{line}");
    }
}

/// Without choices `deferred` with all machines and the used area is biCPA: several shapes, the fastest candidate.
#[test]
fn without_choices_deferred_gives_the_plan_of_bicpa() {
    let place = Place::new();
    let shapes: [(&[(u32, u32)], usize); 3] = [
        (&[(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (4, 5)], 7),
        (&[(0, 2), (1, 2), (2, 3), (2, 4), (2, 5)], 12),
        (&[(0, 1), (1, 2), (3, 4), (4, 5), (0, 4)], 5),
    ];
    for (k, (edges, count)) in shapes.into_iter().enumerate() {
        let tasks: Vec<_> = (0..6)
            .map(|t| {
                let (cost, alpha) = ((37 * (t + k + 1)) % 101 + 20, 0.03 * (t + 1) as f64);
                serde_json::json!({"id": format!("t{t}"), "cost": cost, "alpha": alpha})
            })
            .collect();
        let edges: Vec<_> = edges
            .iter()
            .map(|(a, b)| serde_json::json!({"from": format!("t{a}"), "to": format!("t{b}")}))
            .collect();
        let machine = |p| serde_json::json!({"id": format!("p{p}"), "cluster": "c", "speed": 1, "price": 1, "leasable": true});
        let processors: Vec<_> = (0..count).map(machine).collect();
        let billing = serde_json::json!({"quantum": 0, "minimum": 0, "setup": 0});
        let instance = serde_json::json!({"name": "ptg", "tasks": tasks, "edges": edges,
            "processors": processors, "billing": billing, "bandwidth": null});
        place.write("ptg.json", instance.to_string());
        let plan =
            |options: &str| json(&place.ok(&format!("plan --instance ptg.json {options} --json")));
        let deferred = plan("--algorithm deferred --budget 1e9 --set pool=all --set area=exact");
        let bicpa = plan("--algorithm bicpa-m");
        let (ours, theirs) =
            (deferred["subworkflows"]["start"]["makespan"].as_f64(), bicpa["makespan"].as_f64());
        assert!((ours.unwrap() - theirs.unwrap()).abs() < 1e-9, "{k}: {ours:?} {theirs:?}");
    }
}

/// A choice by what is in a file, a loop by an exit code, and a task beside both. Each instance that runs adds its name to
/// a list outside of the run.
fn refined(place: &Place, right: &str, passes: u32) -> String {
    let list = place.path().join("done");
    let did = format!("echo $SLACKLINE_INSTANCE >> {}", list.display());
    format!(
        r#"
[files]
"level.txt" = "1kB"
"base.txt" = "1kB"
[task.ask]
inputs = ["level.txt"]
outputs = ["verdict.json"]
command = '''{did}; printf '{{"way": "%s"}}' $(cat level.txt) > verdict.json'''
[choice.way]
by = "ask"
reads = {{ file = "verdict.json", at = "/way" }}
[choice.way.branch.left]
when = "left"
[choice.way.branch.right]
when = "right"
[task.l]
in = "way.left"
inputs = ["base.txt"]
outputs = ["part.txt"]
command = "{did}; (cat base.txt; echo left) > part.txt"
[task.r]
in = "way.right"
inputs = ["base.txt"]
outputs = ["part.txt"]
command = "{did}; (cat base.txt; echo {right}) > part.txt"
[task.side]
inputs = ["base.txt"]
outputs = ["side.txt"]
command = "{did}; wc -c < base.txt > side.txt"
[loop.polish]
by = "check"
reads = "exit-code"
again = 10
stop = 0
iterations = {{ again = 0.5, max = 6 }}
carry = {{ "next.txt" = "part.txt" }}
[task.improve]
in = "polish"
inputs = ["part.txt"]
outputs = ["next.txt"]
command = "{did}; (cat part.txt; echo x) > next.txt"
[task.check]
in = "polish"
inputs = ["next.txt"]
outputs = ["report.txt"]
command = "{did}; grep -c x next.txt > report.txt; if [ $(cat report.txt) -lt {passes} ]; then exit 10; fi"
[task.last]
inputs = ["next.txt", "side.txt"]
outputs = ["last.txt"]
command = "{did}; cat next.txt side.txt > last.txt"
"#
    )
}

/// Runs the workflow in its folder: exactly these instances are done, and the results are those of a new folder.
fn refines(place: &Place, what: &str, options: &str, expected: &[&str]) -> Value {
    place.write("done", "");
    let done = json(&place.ok(&format!("run w.toml -j 2 --json {options}")));
    let list = place.read("done");
    let mut ran: Vec<&str> = list.lines().collect();
    ran.sort_unstable();
    assert_eq!(ran, expected, "{what}");
    let clean = json(&place.ok("run w.toml -j 2 --json --folder clean"));
    if done["schema"] != "slackline/up-to-date/1" {
        assert_eq!(outcomes(&done), outcomes(&clean), "{what}");
        assert_eq!(done["redo"].as_array().map_or(0, Vec::len), expected.len(), "{what}");
    }
    for name in ["last.txt", "report.txt", "verdict.json"] {
        let result =
            |run: &str| std::fs::read(place.path().join(run).join("results").join(name)).ok();
        assert_eq!(result("w.run"), result("clean"), "{what}: {name}");
    }
    std::fs::remove_dir_all(place.path().join("clean")).unwrap();
    done
}

#[test]
fn a_decider_that_says_otherwise_has_another_branch_done_and_nothing_else() {
    let place = Place::new();
    let write = |right: &str, passes: u32| place.write("w.toml", refined(&place, right, passes));
    place.write("level.txt", "left\n");
    place.write("base.txt", "base\n");
    write("right", 2);
    place.ok("run w.toml -j 2");
    let passes = ["polish#1/check", "polish#1/improve", "polish#2/check", "polish#2/improve"];
    let with = |others: &[&'static str]| {
        let mut all = [&passes[..], others].concat();
        all.sort_unstable();
        all
    };
    let same = refines(&place, "nothing changed", "", &[]);
    assert_eq!(
        (&same["schema"], &same["up_to_date"]),
        (&"slackline/up-to-date/1".into(), &8.into())
    );
    // What is known of the course before it is run.
    place.write("level.txt", "right\n");
    let dry = json(&place.ok("run w.toml -j 2 --dry-run --json"));
    let redo: Vec<&str> =
        dry["redo"].as_array().unwrap().iter().map(|r| r["task"].as_str().unwrap()).collect();
    assert_eq!((redo, &dry["up_to_date"]), (vec!["ask"], &1.into()));
    refines(&place, "another branch", "", &with(&["ask", "last", "r"]));
    place.write("level.txt", "right\n\n");
    refines(&place, "the same verdict", "", &["ask"]);
    write("left", 2);
    let done = refines(
        &place,
        "the branch changed",
        "",
        &["last", "polish#1/improve", "polish#2/improve", "r"],
    );
    // What `check` saw of the left branch is what it would see now.
    assert_eq!(done["up_to_date"], 4);
    place.write("level.txt", "left\n");
    refines(&place, "the other branch made the same", "", &["ask"]);
    write("left", 4);
    let dry = json(&place.ok("run w.toml -j 2 --dry-run --json"));
    let redo: Vec<&str> =
        dry["redo"].as_array().unwrap().iter().map(|r| r["task"].as_str().unwrap()).collect();
    assert_eq!(redo, ["polish#1/check"]);
    assert!(outcomes(&dry).contains(&"way=left".to_string()), "{:?}", outcomes(&dry));
    let expected =
        with(&["last", "polish#3/check", "polish#3/improve", "polish#4/check", "polish#4/improve"]);
    let expected: Vec<&str> = expected
        .into_iter()
        .filter(|name| !["polish#1/improve", "polish#2/improve"].contains(name))
        .collect();
    refines(&place, "more passes", "", &expected);
    write("left", 1);
    refines(&place, "fewer passes", "", &["last", "polish#1/check"]);
    refines(&place, "forced", "--force check", &["polish#1/check"]);
    std::fs::remove_file(place.path().join("w.run/results/last.txt")).unwrap();
    refines(&place, "a result that is gone", "", &[]);
    // Values lead elsewhere: nobody is asked again.
    let swapped = place.read("w.toml").replace("when = \"left\"", "when = \"up\"");
    let swapped = swapped.replace("when = \"right\"", "when = \"left\"");
    place.write("w.toml", swapped);
    refines(&place, "other values", "", &[]);
}

#[test]
fn a_pass_that_was_killed_under_another_definition_is_no_unknown_task() {
    let place = Place::new();
    place.write("level.txt", "left\n");
    place.write("base.txt", "base\n");
    let slow = refined(&place, "right", 2).replace("grep -c x", "sleep 30; grep -c x");
    place.write("w.toml", slow);
    let mut child = Command::new(env!("CARGO_BIN_EXE_slackline"))
        .args(["run", "w.toml", "-j", "2"])
        .current_dir(place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let log = place.path().join("w.run/log.jsonl");
    wait_for("the first pass", || {
        std::fs::read_to_string(&log).is_ok_and(|text| text.contains("\"name\":\"polish#1/check\""))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    place.write("w.toml", refined(&place, "right", 2));
    let done = json(&place.ok("run w.toml -j 2 --json"));
    assert_eq!(outcomes(&done), ["polish#1=again", "polish#2=exit", "way=left"]);
    assert_eq!(place.read("w.run/results/report.txt").trim(), "2");
}

/// A workflow without decisions is forecast as well: its runs are all the same.
#[test]
fn workflows_without_decisions_are_forecast() {
    let place = Place::new();
    let line = "simulate fork-join -p priced-cloud --policy deferred --budget 100 --runs 3 --json";
    let said: serde_json::Value = serde_json::from_str(&place.ok(line)).unwrap();
    assert_eq!(said["makespan"]["least"], said["makespan"]["most"], "{said}");
    assert!(said["makespan"]["mean"].as_f64().unwrap() > 0.0);
}
