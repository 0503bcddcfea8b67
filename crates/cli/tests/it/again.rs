//! Runs in a folder that was used before: what is done again after every sort of change, for which reason, and that what
//! is there in the end is what a run in a new folder makes.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::{Place, json};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Two tasks read the user's file, one what both write, one what that writes, and one reads nothing.
const WORKFLOW: &str = r#"
[files]
"in.txt" = "1kB"

[task.count]
command = "grep -c . in.txt > n.txt"
inputs = ["in.txt"]
outputs = ["n.txt"]
time = "1s"

[task.sort]
command = "sort in.txt > s.txt"
inputs = ["in.txt"]
outputs = ["s.txt"]
time = "1s"

[task.join]
command = "cat n.txt s.txt > j.txt"
inputs = ["n.txt", "s.txt"]
outputs = ["j.txt"]
time = "1s"

[task.pack]
command = "gzip -nc j.txt > j.gz"
inputs = ["j.txt"]
outputs = ["j.gz"]
time = "1s"

[task.other]
command = "echo other > o.txt"
outputs = ["o.txt"]
time = "1s"
"#;

const INPUT: &str = "pear\napple\nfig\n";

/// A place with the workflow and its input.
fn written() -> Place {
    let place = Place::new();
    place.write("w.toml", WORKFLOW);
    place.write("in.txt", INPUT);
    make_old(&place, "in.txt");
    place
}

/// The same after one run.
fn first_run() -> Place {
    let place = written();
    let document = place.json("run w.toml -j 2 --json");
    assert_eq!(document["finished"], true);
    assert_eq!(document["redo"], Value::Null);
    place
}

/// Gives a file a time of modification long ago.
fn make_old(place: &Place, name: &str) {
    let file = std::fs::File::open(place.path().join(name)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(1000)).unwrap();
}

/// Tasks and reasons of a document.
fn redo(document: &Value) -> BTreeMap<String, String> {
    let entry = |entry: &Value| {
        let word = |name: &str| entry[name].as_str().unwrap().to_string();
        (word("task"), word("why"))
    };
    document["redo"].as_array().unwrap_or_else(|| panic!("{document}")).iter().map(entry).collect()
}

/// All files of a folder.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            found.insert(name, std::fs::read(&path).unwrap());
        }
    }
    found
}

/// Runs again and compares: reasons that are known before and those of the run, results with those of a new folder.
fn check(place: &Place, what: &str, before: &[(&str, &str)], done: &[(&str, &str)]) {
    let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(task, why)| (task.to_string(), why.to_string())).collect()
    };
    let log = place.read("w.run/log.jsonl");
    let said = place.json("run w.toml -j 2 --dry-run --json");
    assert_eq!(redo(&said), pairs(before), "{what}, rehearsed");
    assert_eq!(place.read("w.run/log.jsonl"), log, "{what}: a rehearsal changes nothing");
    let said = place.json("run w.toml -j 2 --json");
    assert_eq!(said["finished"], true, "{what}");
    assert_eq!(redo(&said), pairs(done), "{what}, run");
    let clean = place.json("run w.toml -j 2 --json --new --folder clean");
    assert_eq!(clean["finished"], true, "{what}");
    let results = files(&place.path().join("w.run/results"));
    assert_eq!(results, files(&place.path().join("clean/results")), "{what}, results");
    std::fs::remove_dir_all(place.path().join("clean")).unwrap();
    // Nothing is left to do, and what was done repeats.
    let said = place.json("run w.toml -j 2 --json");
    assert_eq!(
        (said["redo"].as_array().unwrap().len(), &said["attempts"]),
        (0, &0.into()),
        "{what}"
    );
    place.ok("replay w.run");
}

fn edited(place: &Place, from: &str, to: &str) {
    let text = place.read("w.toml");
    assert!(text.contains(from), "{from}");
    place.write("w.toml", text.replace(from, to));
}

/// The file of a store.
fn stored(place: &Place, name: &str) -> std::path::PathBuf {
    let mut hosts = std::fs::read_dir(place.path().join("w.run/hosts")).unwrap();
    hosts.next().unwrap().unwrap().path().join("files").join(name)
}

/// Replaces a file, also one that is read-only.
fn replaced(path: &Path, content: &str) {
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, content).unwrap();
}

const ALL_FOUR: &[(&str, &str)] = &[
    ("count", "input in.txt changed"),
    ("sort", "input in.txt changed"),
    ("join", "input n.txt changed"),
    ("pack", "input j.txt changed"),
];
const SORT_AND_AFTER: &[(&str, &str)] = &[
    ("sort", "command changed"),
    ("join", "input s.txt changed"),
    ("pack", "input j.txt changed"),
];

#[test]
fn what_did_not_change_is_not_done_again() {
    let place = first_run();
    check(&place, "nothing", &[], &[]);
    let input = std::fs::File::open(place.path().join("in.txt")).unwrap();
    input.set_modified(SystemTime::now()).unwrap();
    check(&place, "time of the input", &[], &[]);
    place.write("w.toml", format!("# a remark\n{}", WORKFLOW.replace("\n\n", "\n\n\n")));
    check(&place, "remark", &[], &[]);
    edited(&place, "time = \"1s\"", "time = \"2s\"");
    check(&place, "estimates", &[], &[]);
    edited(&place, "[task.sort]", "[task.sort]\nkind = \"text\"");
    check(&place, "kind", &[], &[]);
    edited(&place, "[task.sort]", "[task.order]");
    check(&place, "name of a task", &[], &[]);
    let text = place.read("w.toml");
    let (first, last) = text.split_once("[task.other]").unwrap();
    place.write("w.toml", format!("[task.other]{last}\n{first}"));
    check(&place, "order of tasks", &[], &[]);
    let said = place.json("run w.toml -j 1 --json");
    assert_eq!(redo(&said), BTreeMap::new(), "settings");
    edited(&place, "cat n.txt s.txt > j.txt", "cat s.txt n.txt > j.txt");
    std::fs::rename(place.path().join("w.run"), place.path().join("elsewhere")).unwrap();
    std::fs::rename(place.path().join("elsewhere"), place.path().join("w.run")).unwrap();
    check(
        &place,
        "folder moved and one command",
        &[("join", "command changed")],
        &[("join", "command changed"), ("pack", "input j.txt changed")],
    );
}

#[test]
fn commands_and_inputs_that_change_are_followed_as_far_as_contents_change() {
    let place = first_run();
    edited(&place, "sort in.txt", "sort -r in.txt");
    check(&place, "command", &[("sort", "command changed")], SORT_AND_AFTER);
    // What is written is the same: nobody else has to look at it.
    edited(&place, "sort -r in.txt", "sort --reverse in.txt");
    check(&place, "same output", &[("sort", "command changed")], &[("sort", "command changed")]);
    place.write("in.txt", format!("{INPUT}plum\n"));
    check(&place, "content of the input", &ALL_FOUR[..2], ALL_FOUR);
    // Same size, and the same number of lines.
    place.write("in.txt", format!("{INPUT}kiwi\n"));
    let done = [&ALL_FOUR[..2], &[("join", "input s.txt changed"), ALL_FOUR[3]]].concat();
    check(&place, "content of the same size", &ALL_FOUR[..2], &done);
    place.write("more.txt", "more\n");
    edited(&place, "\"in.txt\" = \"1kB\"", "\"in.txt\" = \"1kB\"\n\"more.txt\" = \"1kB\"");
    edited(
        &place,
        "\"in.txt\"]\noutputs = [\"n.txt\"]",
        "\"in.txt\", \"more.txt\"]\noutputs = [\"n.txt\"]",
    );
    check(
        &place,
        "input added",
        &[("count", "input more.txt added")],
        &[("count", "input more.txt added")],
    );
    edited(&place, "\"in.txt\", \"more.txt\"]", "\"in.txt\"]");
    check(&place, "input removed: as it was done before", &[], &[]);
    edited(&place, "grep -c . in.txt > n.txt", "grep -c . in.txt | tee n.txt > extra.txt");
    edited(&place, "outputs = [\"n.txt\"]", "outputs = [\"n.txt\", \"extra.txt\"]");
    check(&place, "output added", &[("count", "command changed")], &[("count", "command changed")]);
    edited(&place, "\"n.txt\", \"extra.txt\"]", "\"n.txt\"]");
    check(&place, "output removed", &[], &[]);
    assert!(!place.path().join("w.run/results/extra.txt").exists());
    edited(&place, "> s.txt", "> t.txt");
    edited(&place, "\"s.txt\"", "\"t.txt\"");
    edited(&place, "cat n.txt s.txt", "cat n.txt t.txt");
    check(
        &place,
        "output renamed",
        &[("sort", "command changed"), ("join", "command changed")],
        &[("sort", "command changed"), ("join", "command changed")],
    );
    // The edit is taken back.
    edited(&place, "t.txt", "s.txt");
    check(&place, "edit taken back", &[], &[]);
}

#[test]
fn outputs_that_are_gone_or_edited_are_made_again() {
    let place = first_run();
    std::fs::remove_file(place.path().join("w.run/results/j.gz")).unwrap();
    let why = [("pack", "output j.gz missing")];
    check(&place, "result deleted", &why, &why);
    replaced(&place.path().join("w.run/results/o.txt"), "mine\n");
    let why = [("other", "output o.txt changed")];
    check(&place, "result edited", &why, &why);
    std::fs::remove_file(stored(&place, "n.txt")).unwrap();
    let why = [("count", "output n.txt missing")];
    check(&place, "output deleted", &why, &why);
    replaced(&stored(&place, "s.txt"), "none\n");
    let why = [("sort", "output s.txt changed")];
    check(&place, "output edited", &why, &why);
    // Only its time is another one.
    let path = stored(&place, "j.txt");
    std::fs::File::open(&path).unwrap().set_modified(SystemTime::now()).unwrap();
    check(&place, "output touched", &[], &[]);
    std::fs::remove_dir_all(place.path().join("w.run/results")).unwrap();
    let why = [("pack", "output j.gz missing"), ("other", "output o.txt missing")];
    check(&place, "results deleted", &why, &why);
    std::fs::remove_dir_all(place.path().join("w.run/hosts")).unwrap();
    std::fs::create_dir(place.path().join("w.run/hosts")).unwrap();
    let said = place.json("run w.toml -j 2 --json");
    assert_eq!(redo(&said).len(), 5, "{said}");
    check(&place, "stores deleted", &[], &[]);
}

#[test]
fn tasks_come_and_go_and_are_asked_for() {
    let place = first_run();
    let added =
        "\n[task.last]\ncommand = \"cp j.gz k.gz\"\ninputs = [\"j.gz\"]\noutputs = [\"k.gz\"]\n";
    place.write("w.toml", format!("{WORKFLOW}{added}time = \"1s\"\n"));
    check(&place, "task added", &[("last", "new")], &[("last", "new")]);
    assert!(!place.path().join("w.run/results/j.gz").exists());
    place.write("w.toml", WORKFLOW);
    check(&place, "task removed", &[], &[]);
    assert!(!place.path().join("w.run/results/k.gz").exists());
    let (rest, _) = WORKFLOW.split_once("[task.other]").unwrap();
    place.write("w.toml", rest);
    check(&place, "independent task removed", &[], &[]);
    assert!(!place.path().join("w.run/results/o.txt").exists());
    place.write("w.toml", WORKFLOW);
    let said = place.json("run w.toml -j 2 --force sort --json");
    assert_eq!(redo(&said), BTreeMap::from([("sort".to_string(), "forced".to_string())]));
    check(&place, "after a forced task", &[], &[]);
    place.write("in.txt", format!("{INPUT}plum\n"));
    let said = place.json("run w.toml -j 2 --only n.txt other --json");
    let why = "input in.txt changed".to_string();
    assert_eq!(redo(&said), BTreeMap::from([("count".to_string(), why)]));
    // Nothing of before the change is shown beside it.
    let shown: BTreeSet<String> = files(&place.path().join("w.run/results")).into_keys().collect();
    assert_eq!(shown, BTreeSet::from(["o.txt".to_string()]));
    let known = [ALL_FOUR[1], ("join", "input n.txt changed")];
    check(&place, "the rest", &known, &[&known[..], &ALL_FOUR[3..]].concat());
    for line in ["run w.toml --force none", "run w.toml --only none --dry-run"] {
        assert!(place.fails(2, line).contains("no such task"), "{line}");
    }
    place.ok("run w.toml -j 2 --new");
    assert!(place.path().join("w-2.run/log.jsonl").exists());
}

#[test]
fn failures_are_tried_again_alone() {
    let place = first_run();
    edited(
        &place,
        "gzip -nc j.txt > j.gz",
        "test -e ../../../../../fixed && gzip -nc j.txt > j.gz",
    );
    let line = "run w.toml -j 2 --retries 0 --json";
    let done = place.run(line);
    assert_eq!(done.code, Some(1), "{}", done.err);
    assert_eq!(redo(&json(&done.out)).into_keys().collect::<Vec<_>>(), ["pack"]);
    assert!(!place.path().join("w.run/results/j.gz").exists(), "that of another definition");
    let done = place.run(line);
    assert_eq!((done.code, redo(&json(&done.out))["pack"].as_str()), (Some(1), "failed before"));
    let done = place.run("resume w.run --json");
    assert_eq!((done.code, redo(&json(&done.out))["pack"].as_str()), (Some(1), "failed before"));
    place.write("fixed", "");
    let said = place.json("resume w.run --json");
    assert_eq!(redo(&said), BTreeMap::from([("pack".into(), "failed before".into())]));
    assert_eq!(said["up_to_date"], 4);
    check(&place, "after a failure", &[], &[]);
    // A resumed run takes an edited workflow, and says so.
    edited(&place, "test -e ../../../../../fixed && ", "");
    let said = place.json("resume w.run --json");
    assert_eq!(redo(&said), BTreeMap::new(), "the first run did the same with the same content");
    edited(&place, "gzip -nc j.txt", "gzip -nc9 j.txt");
    let said = place.json("resume w.run --json");
    assert_eq!(redo(&said), BTreeMap::from([("pack".into(), "command changed".into())]));
    assert!(place.read("w.run/log.jsonl").contains("\"changes\":[\"workflow changed\"]"));
    // One that fails ends the run, or only what depends on it.
    let slow = "sleep 0.7; echo other > o.txt";
    edited(&place, "echo other > o.txt", slow);
    edited(&place, "sort in.txt > s.txt", "exit 3");
    let done = place.run("run w.toml -j 2 --retries 0 --fail-fast --json");
    assert_eq!((done.code, &json(&done.out)["tasks_done"]), (Some(1), &0.into()), "{}", done.out);
    let repeated = place.run("replay w.run");
    assert_eq!(repeated.code, Some(1), "{}", repeated.err);
    assert!(repeated.out.contains("0 of 4 tasks done"), "{}", repeated.out);
    let done = place.run("run w.toml -j 2 --retries 0 --keep-going --json");
    assert_eq!((done.code, &json(&done.out)["tasks_done"]), (Some(1), &1.into()), "{}", done.out);
    edited(&place, "exit 3", "sort in.txt > s.txt");
    let said = place.json("run w.toml -j 2 --json");
    assert_eq!(said["attempts"], 0, "sort is what it was: {said}");
}

/// A log without the last records that begin with a word, and all after them.
fn cut_before(place: &Place, word: &str) {
    let log = place.read("w.run/log.jsonl");
    let at = log.rfind(word).unwrap();
    let at = log[..at].rfind('\n').unwrap() + 1;
    place.write("w.run/log.jsonl", &log[..at]);
}

#[test]
fn a_run_that_was_cut_off_goes_on_under_the_same_and_under_another_definition() {
    let place = first_run();
    // The output has its name, and the log has nothing of it yet.
    cut_before(&place, "\"made\":{\"name\":\"pack\"");
    place.ok("run w.toml -j 2");
    check(&place, "output without a record", &[], &[]);
    cut_before(&place, "\"made\":{\"name\":\"pack\"");
    edited(&place, "sort in.txt", "sort -r in.txt");
    let said = place.json("run w.toml -j 2 --json");
    assert_eq!(redo(&said).into_keys().collect::<Vec<_>>(), ["join", "pack", "sort"]);
    check(&place, "another definition after that", &[], &[]);
    // The record of what was made is there, and that the engine knew of it is not.
    let log = place.read("w.run/log.jsonl");
    let at = log.rfind("\"made\":{\"name\":\"pack\"").unwrap();
    let end = at + log[at..].find('\n').unwrap() + 1;
    place.write("w.run/log.jsonl", &log[..end]);
    edited(&place, "echo other", "echo  other");
    let said = place.json("run w.toml -j 2 --json");
    assert_eq!(redo(&said).into_keys().collect::<Vec<_>>(), ["other"]);
    // A record that is torn.
    let log = place.read("w.run/log.jsonl");
    place.write("w.run/log.jsonl", &log[..log.len() - 7]);
    place.ok("run w.toml -j 2");
    check(&place, "torn", &[], &[]);
}

const PAGE: &str = include_str!("../../../../docs/run.md");

/// Situations of the table of the page, and what is done again in them.
fn situations() -> Vec<(&'static str, &'static str)> {
    let (_, table) = PAGE.split_once("| situation |").unwrap();
    let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
    cells.map(|cells| (cells[0], cells[3])).collect()
}

/// Brings a place that was run once into a situation.
fn change(place: &Place, situation: &str) {
    let touched = |path: &Path| {
        std::fs::File::open(path).unwrap().set_modified(SystemTime::now()).unwrap();
    };
    let result = |name: &str| place.path().join("w.run/results").join(name);
    let removed = |path: std::path::PathBuf| std::fs::remove_file(path).unwrap();
    let added = |text: &str| drop(place.write("w.toml", place.read("w.toml") + text));
    let reversed = || edited(place, "sort in.txt", "sort -r in.txt");
    let inputs = |from: &str, to: &str| {
        edited(place, &format!("inputs = [{from}]"), &format!("inputs = [{to}]"));
    };
    match situation {
        "nothing changed" => {}
        "command of a task" => reversed(),
        "command, same output" => edited(place, "sort in.txt", "sort --stable in.txt"),
        "words of a command, same output" => edited(place, "echo other", "echo 'other'"),
        "command of a first task" => edited(place, "echo other", "echo others"),
        "command of a last task" => edited(place, "gzip -nc", "gzip -n1c"),
        "parameter of a command" => edited(place, "sort in.txt", "sort -k 1r in.txt"),
        "environment of all tasks" => added("[defaults]\nenv = { VARIABLE = \"two\" }\n"),
        "two commands" => {
            reversed();
            edited(place, "gzip -nc", "gzip -n9c");
        }
        "input content" => drop(place.write("in.txt", format!("{INPUT}plum\n"))),
        "input content of the same size" => {
            drop(place.write("in.txt", INPUT.replace("fig", "fit") + "one\n"));
        }
        "input and a command" => {
            place.write("in.txt", format!("{INPUT}kiwi\n"));
            reversed();
        }
        "time of the input only" => touched(&place.path().join("in.txt")),
        "input added" => {
            place.write("more.txt", "x\n");
            edited(place, "\"in.txt\" = \"1kB\"", "\"in.txt\" = \"1kB\"\n\"more.txt\" = \"1kB\"");
            inputs(
                "\"in.txt\"]\noutputs = [\"n.txt\"",
                "\"in.txt\", \"more.txt\"]\noutputs = [\"n.txt\"",
            );
        }
        "input removed" => {
            edited(place, "cat n.txt s.txt", "cat n.txt");
            inputs("\"n.txt\", \"s.txt\"", "\"n.txt\"");
        }
        "order of inputs" => inputs("\"n.txt\", \"s.txt\"", "\"s.txt\", \"n.txt\""),
        "output added" => {
            edited(place, "in.txt > n.txt", "in.txt | tee n.txt > x.txt");
            edited(place, "outputs = [\"n.txt\"]", "outputs = [\"n.txt\", \"x.txt\"]");
        }
        "output renamed" => {
            edited(place, "in.txt > s.txt", "in.txt > t.txt");
            edited(place, "\"s.txt\"", "\"t.txt\"");
            edited(place, "cat n.txt s.txt", "cat n.txt t.txt");
        }
        "final output deleted" => removed(result("j.gz")),
        "output between tasks deleted" => removed(stored(place, "n.txt")),
        "final output edited" => replaced(&result("j.gz"), "mine\n"),
        "output between tasks edited" => replaced(&stored(place, "s.txt"), "mine\n"),
        "time of an output only" => touched(&stored(place, "n.txt")),
        "all final outputs deleted" => {
            ["j.gz", "o.txt"].into_iter().for_each(|name| removed(result(name)))
        }
        "all outputs between tasks deleted" => {
            ["n.txt", "s.txt", "j.txt"].into_iter().for_each(|name| removed(stored(place, name)));
        }
        "command changed and output deleted" => {
            reversed();
            removed(stored(place, "n.txt"));
        }
        "task added" => added(
            "[task.last]\ncommand = \"cp j.gz k.gz\"\ninputs = [\"j.gz\"]\noutputs = [\"k.gz\"]\n",
        ),
        "task removed" => {
            drop(place.write("w.toml", WORKFLOW.split_once("[task.other]").unwrap().0));
        }
        "task added in the middle" => {
            change(place, "input removed");
            added(
                "[task.more]\ncommand = \"cat s.txt > m.txt\"\ninputs = [\"s.txt\"]\noutputs = [\"m.txt\"]\n",
            );
        }
        "task renamed" => edited(place, "[task.sort]", "[task.order]"),
        "order of tasks" => {
            let (first, last) = WORKFLOW.split_once("[task.other]").unwrap();
            place.write("w.toml", format!("[task.other]{last}\n{first}"));
        }
        "estimate" => edited(place, "time = \"1s\"", "time = \"5s\""),
        "remarks and blank lines" => {
            drop(place.write("w.toml", format!("# a remark\n\n{WORKFLOW}")));
        }
        other => panic!("no test of '{other}'"),
    }
}

/// Tasks that a line in a folder of a place does again.
fn redone(place: &Place, folder: &str) -> Vec<String> {
    let done = place.run_words_in(folder, &["run", "w.toml", "-j", "2", "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    redo(&json(&done.out)).into_keys().collect()
}

/// Tasks whose processes the last engine of a run has started.
fn begun(place: &Place) -> Vec<String> {
    let log = place.read("w.run/log.jsonl");
    let (_, last) = log.rsplit_once("\"driven\"").unwrap();
    let started = last.lines().filter(|line| line.contains("\"process\":{\"task\""));
    started.map(|line| json(line)["note"]["process"]["name"].as_str().unwrap().into()).collect()
}

#[test]
fn situations_of_the_page_redo_what_it_says() {
    let rows = situations();
    assert!(rows.len() >= 30, "{rows:?}");
    for (situation, expected) in rows {
        let found = match situation {
            "folder moved" => {
                let place = first_run();
                std::fs::create_dir(place.path().join("moved")).unwrap();
                for name in ["w.toml", "in.txt", "w.run"] {
                    let to = place.path().join("moved").join(name);
                    std::fs::rename(place.path().join(name), to).unwrap();
                }
                redone(&place, "moved")
            }
            "failure fixed" => {
                let place = written();
                edited(&place, "gzip -nc j.txt > j.gz", "false");
                assert_eq!(place.run("run w.toml -j 2 --retries 0").code, Some(1));
                edited(&place, "\"false\"", "\"gzip -nc j.txt > j.gz\"");
                redone(&place, "")
            }
            "killed between output and record" => {
                let place = first_run();
                edited(&place, "echo other", "echo others");
                place.ok("run w.toml -j 2");
                cut_before(&place, "\"made\":{\"name\":\"other\"");
                place.ok("run w.toml -j 2");
                begun(&place)
            }
            "two runs at once" => {
                let place = first_run();
                edited(&place, "echo other > o.txt", "sleep 2; echo other > o.txt");
                let mut child = place.spawn("run w.toml -j 2");
                let defined = || place.read("w.run/log.jsonl").contains("\"definition\"");
                common::runs::wait_for("the definition", defined);
                assert!(place.fails(2, "run w.toml -j 2").contains("is under way"));
                assert!(child.wait().unwrap().success());
                check(&place, "after two runs at once", &[], &[]);
                vec!["the second is refused".to_string()]
            }
            _ => {
                let place = first_run();
                change(&place, situation);
                redone(&place, "")
            }
        };
        let found = if found.is_empty() { "nothing".to_string() } else { found.join(", ") };
        assert_eq!(found, expected, "{situation}");
    }
}

#[test]
fn what_cannot_be_done_changes_nothing() {
    let place = first_run();
    let before = (place.read("w.run/log.jsonl"), files(&place.path().join("w.run/results")));
    let unchanged = |what: &str| {
        let now = (place.read("w.run/log.jsonl"), files(&place.path().join("w.run/results")));
        assert_eq!(now, before, "{what}");
    };
    place.write("w.toml", format!("{WORKFLOW}\n[task.bad\n"));
    assert!(place.fails(2, "run w.toml").contains("w.toml:"));
    unchanged("no TOML");
    place.write(
        "w.toml",
        format!("{WORKFLOW}\n[task.twice]\ncommand = \"true\"\noutputs = [\"j.gz\"]\n"),
    );
    place.fails(2, "run w.toml");
    unchanged("two producers");
    place.write("w.toml", WORKFLOW.replace("sort in.txt", "sort  in.txt"));
    place.fails(2, "run w.toml --policy none");
    unchanged("no such policy");
    std::fs::rename(place.path().join("in.txt"), place.path().join("away")).unwrap();
    assert!(place.fails(2, "run w.toml").contains("in.txt"));
    unchanged("no input");
    std::fs::rename(place.path().join("away"), place.path().join("in.txt")).unwrap();
    std::fs::create_dir(place.path().join("other")).unwrap();
    place.write("other/v.toml", WORKFLOW);
    place.write("other/in.txt", INPUT);
    assert!(place.fails(2, "run other/v.toml --folder w.run").contains("is a run of"));
    unchanged("another workflow");
    assert!(place.fails(2, "run w.run").contains("slackline resume w.run"));
    // A log of a version that knows more.
    let log = place.read("w.run/log.jsonl");
    place.write("w.run/log.jsonl", log.replacen("slackline/run/1", "slackline/run/2", 1));
    place.fails(2, "run w.toml");
    place.write("w.run/log.jsonl", log);
    unchanged("a newer version");
}

#[test]
fn files_between_tasks_go_where_only_results_are_kept() {
    let place = written();
    place.ok("run w.toml -j 2 --keep results");
    let left: Vec<String> = files(stored(&place, "").as_path()).into_keys().collect();
    assert_eq!(left, ["j.gz", "o.txt"]);
    let again =
        |line: &str| redo(&place.json(&format!("run w.toml -j 2 --keep results --json {line}")));
    assert_eq!(again(""), BTreeMap::new());
    edited(&place, "gzip -nc", "gzip -n9c");
    let known = again("--dry-run");
    assert_eq!(known["pack"], "command changed");
    assert_eq!(known["join"], "output j.txt was deleted, and pack reads it");
    assert_eq!(known["sort"], "output s.txt was deleted, and join reads it");
    assert_eq!(again("").len(), 4);
    assert_eq!(again(""), BTreeMap::new());
    place.ok("replay w.run");
}

#[test]
fn what_a_folder_need_not_keep_is_removed() {
    let place = first_run();
    edited(&place, "gzip -nc j.txt > j.gz", "echo rest > rest; exit 3");
    edited(&place, "echo other > o.txt", "echo others > p.txt");
    edited(&place, "\"o.txt\"", "\"p.txt\"");
    assert_eq!(place.run("run w.toml -j 2 --retries 0").code, Some(1));
    let rest = place.path().join("w.run/tasks/pack/2/work/rest");
    assert!(rest.exists() && stored(&place, "o.txt").exists());
    assert_eq!(place.json("clean w.run --failed --json")["files"], 2);
    assert!(!rest.exists() && stored(&place, "o.txt").exists());
    place.ok("clean w.run");
    assert!(!stored(&place, "o.txt").exists() && stored(&place, "j.txt").exists());
    edited(&place, "echo rest > rest; exit 3", "gzip -nc j.txt > j.gz");
    // The record of the first run is still right: its output was not touched.
    check(&place, "after cleaning", &[], &[]);
    place.ok("clean w.run --all");
    assert!(!place.path().join("w.run").exists() && place.path().join("in.txt").exists());
    std::fs::create_dir(place.path().join("mine")).unwrap();
    place.write("mine/file", "");
    place.fails(2, "clean mine --all");
    assert!(place.path().join("mine/file").exists());
}

#[test]
fn surroundings_are_set_up_and_part_of_what_a_task_is() {
    let place = Place::new();
    let engine = place.path().join("apptainer");
    // It records its command line and runs the command.
    place.write(
        "apptainer",
        "#!/bin/sh\necho \"$@\" >> \"${0%/*}/line\"\n[ \"$1\" = exec ] && shift 6\nexec \"$@\"\n",
    );
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&engine, std::fs::Permissions::from_mode(0o755)).unwrap();
    place.write("tools.sif", "");
    for folder in ["env/bin", "env/etc/conda/activate.d"] {
        std::fs::create_dir_all(place.path().join(folder)).unwrap();
    }
    place.write("env/etc/conda/activate.d/a.sh", "export FROM_CONDA=yes\n");
    place.write("lib.sh", "word=brought\n");
    let workflow = r#"
[defaults]
time = "1s"
env = { ALL = "all", OWN = "default" }

[task.inside]
command = "echo $OWN > inside"
container = { image = "tools.sif", engine = "ENGINE" }
env = { OWN = "own" }
outputs = ["inside"]

[task.active]
command = "echo $FROM_CONDA $ALL $OWN ${CONDA_PREFIX##*/} > active"
conda = "./env"
outputs = ["active"]

[task.bash]
command = "false | true; . ./lib.sh; echo $word > bash"
shell = "/bin/sh -e"
workdir-files = ["lib.sh"]
outputs = ["bash"]

[task.limited]
command = "test -e ../../../../../go || sleep 9; echo > limited"
time-limit = "200ms"
retries = 1
temp = true
outputs = ["limited"]

[task.after]
command = "cp limited after"
inputs = ["limited"]
outputs = ["after"]
"#
    .replace("ENGINE", "apptainer");
    place.write("w.toml", &workflow);
    let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap());
    let run = |line: &str| {
        let done = std::process::Command::new(env!("CARGO_BIN_EXE_slackline"))
            .args(line.split_whitespace())
            .current_dir(place.path())
            .env("PATH", &path)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    let (code, out, err) = run("run w.toml -j 2 --json");
    assert_eq!(code, Some(1), "{err}");
    let document = json(&out);
    let failures = document["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert!(failures.iter().all(|failure| failure["task"] == "limited"));
    let shown = |name: &str| place.read(&format!("w.run/results/{name}"));
    assert_eq!(shown("inside"), "own\n");
    assert_eq!(shown("active"), "yes all default env\n");
    assert_eq!(shown("bash"), "brought\n");
    let line = place.read("line");
    assert!(line.starts_with("exec --bind /") && line.contains("tools.sif /bin/sh -c"), "{line}");
    place.write("go", "");
    let (code, out, err) = run("run w.toml -j 2 --json");
    assert_eq!(code, Some(0), "{err}");
    let known: BTreeMap<String, String> = BTreeMap::from([
        ("limited".into(), "failed before".into()),
        ("after".into(), "new".into()),
    ]);
    assert_eq!(redo(&json(&out)), known);
    assert!(!stored(&place, "limited").exists(), "it is temporary");
    place.write("w.toml", workflow.replace("OWN = \"own\"", "OWN = \"other\""));
    let (_, out, _) = run("run w.toml -j 2 --json");
    assert_eq!(redo(&json(&out)), BTreeMap::from([("inside".into(), "env changed".into())]));
    place.write("lib.sh", "word=changed\n");
    let (_, out, _) = run("run w.toml -j 2 --json");
    assert_eq!(redo(&json(&out)), BTreeMap::from([("bash".into(), "input lib.sh changed".into())]));
    // What is missing is told before anything starts.
    for (from, to, said) in [
        ("tools.sif", "none.sif", "none.sif"),
        ("\"apptainer\"", "\"podman\"", "podman"),
        ("./env", "./no-env", "no conda environment ./no-env"),
        ("./env", "no-env", "no conda environment no-env"),
    ] {
        place.write("w.toml", workflow.replace(from, to));
        if said == "podman"
            && run("--version").0 == Some(0)
            && Path::new("/usr/bin/podman").exists()
        {
            continue;
        }
        let (code, _, err) = run("run w.toml --new --folder missing");
        assert!(code == Some(2) && err.contains(said), "{to}: {code:?} {err}");
        assert!(!place.path().join("missing").exists());
    }
    for (from, to) in [
        ("OWN = \"own\"", "SLACKLINE_TASK = \"x\""),
        ("\"apptainer\"", "\"none\""),
        ("temp = true", "temp = [\"none\"]"),
        ("shell = \"/bin/sh -e\"", "shell = \"\""),
    ] {
        place.write("w.toml", workflow.replace(from, to));
        assert!(place.fails(2, "show w.toml").contains("w.toml:"), "{to}");
    }
}

#[test]
fn the_first_run_is_the_estimate_of_the_second() {
    let place = Place::new();
    let mut workflow = String::new();
    for task in 0..6 {
        let seconds = if task % 2 == 0 { "0.3" } else { "0.1" };
        workflow += &format!(
            "[task.t{task}]\nkind = \"k{}\"\ncommand = \"sleep {seconds}; head -c 5000 /dev/zero > o{task}\"\noutputs = [\"o{task}\"]\ntime = \"5s\"\n",
            task % 2
        );
    }
    place.write("w.toml", &workflow);
    let first = place.json("run w.toml -j 2 --json");
    let stated = place.json("run w.toml -j 2 --new --dry-run --json --no-history");
    assert!(stated["makespan"].as_f64().unwrap() > 14.0);
    let done = place.run("run w.toml -j 2 --new --dry-run --json");
    assert!(done.err.contains("w.run"), "{}", done.err);
    let said = json(&done.out)["makespan"].as_f64().unwrap();
    let was = first["makespan"].as_f64().unwrap();
    assert!((said / was - 1.0).abs() < 0.25, "{said} {was}");
    // A task that was never run is taken for one of its kind.
    place.write("w.toml", format!("{workflow}[task.more]\nkind = \"k0\"\ncommand = \"true\"\n"));
    let plan = place.json("plan w.toml --json");
    assert!(plan["makespan"].as_f64().unwrap() < 2.0, "{plan}");
    assert_eq!(place.json("run w.toml -j 2 --json")["finished"], true);
    place.ok("replay w.run");
    place.ok("calibrate w.run -o c");
    place.ok("diff w.run w.run");
}

/// The short form of what `ci/long/again.py kill` does two hundred times.
#[test]
fn engines_that_are_killed_between_edits_leave_what_a_clean_run_makes() {
    let place = first_run();
    let slow = WORKFLOW.replace("command = \"", "command = \"sleep 0.05; ");
    let edits = [
        slow.clone(),
        slow.replace("sort in.txt", "sort -r in.txt"),
        slow.replace("gzip -nc", "gzip -n1c"),
        slow.replace("[task.other]", "[task.another]"),
        slow.replace("echo other", "echo others"),
    ];
    for number in 0..10usize {
        place.write("w.toml", &edits[number * 3 % edits.len()]);
        if number % 4 == 2 {
            place.write("in.txt", format!("{INPUT}{number}\n"));
        }
        let line = if number % 3 == 1 { "resume w.run" } else { "run w.toml -j 2" };
        let mut child = place.spawn(line);
        std::thread::sleep(Duration::from_millis(40 + 53 * (number as u64 * 7 % 10)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    place.ok("run w.toml -j 2");
    check(&place, "after ten kills", &[], &[]);
}

#[test]
fn parameters_and_environments_belong_to_the_tasks_that_use_them() {
    let place = written();
    let text = WORKFLOW.replace("sort in.txt", "sort -k {key} in.txt");
    place.write("w.toml", format!("[params]\nkey = 1\n{text}"));
    place.ok("run w.toml -j 2");
    check(&place, "a parameter as it was", &[], &[]);
    let said = place.json("run w.toml -j 2 --param key=1,1r --json");
    assert_eq!(redo(&said).into_keys().collect::<Vec<_>>(), ["join", "pack", "sort"]);
    edited(&place, "key = 1", "key = 2");
    let done = redo(&place.json("run w.toml -j 2 --json"));
    assert_eq!(done["sort"], "command changed");
    assert!(!done.contains_key("count") && !done.contains_key("other"), "{done:?}");
    place.write("w.toml", format!("{}[defaults]\nenv = {{ A = 1 }}\n", place.read("w.toml")));
    let done = redo(&place.json("run w.toml -j 2 --json"));
    assert_eq!(done.len(), 5, "{done:?}");
    assert!(done.values().all(|why| why == "env changed"), "{done:?}");
    check(&place, "an environment as it was", &[], &[]);
}

#[test]
fn a_task_that_still_runs_is_not_edited_away() {
    let place = first_run();
    edited(&place, "echo other > o.txt", "sleep 60; echo other > o.txt");
    let mut child = place.spawn("run w.toml -j 2");
    let begun = || {
        let log = place.read("w.run/log.jsonl");
        let (_, last) = log.rsplit_once("\"definition\"").unwrap_or_default();
        last.contains("\"process\"")
    };
    common::runs::wait_for("the task", begun);
    child.kill().unwrap();
    child.wait().unwrap();
    let text = place.read("w.toml");
    let (rest, _) = text.split_once("[task.other]").unwrap();
    place.write("w.toml", rest);
    let log = place.read("w.run/log.jsonl");
    let said = place.fails(2, "run w.toml -j 2");
    assert!(said.contains("w.toml: task 'other'") && said.contains("still runs"), "{said}");
    assert_eq!(place.read("w.run/log.jsonl"), log);
    assert!(place.path().join("w.run/results/j.gz").exists(), "nothing is deleted");
    let stopped = place.json("stop w.run --json");
    // The shell, and what it may have started by then.
    assert!(stopped["ended_processes"].as_u64().unwrap() >= 1, "{stopped}");
    place.ok("run w.toml -j 2");
    check(&place, "without the task", &[], &[]);
}

/// Who continues with a long log reads a snapshot of what was done before its last run. The log has all of it: a snapshot
/// that is damaged, or not of this log, is left alone, and the same comes of it.
#[test]
fn snapshots_of_long_logs_change_nothing() {
    let place = Place::new();
    let gate = place.path().join("gate");
    let tasks = 320;
    let mut workflow = String::new();
    for task in 0..tasks {
        workflow += &format!(
            "[task.t{task}]\ncommand = \"echo {task} > f{task}\"\noutputs = [\"f{task}\"]\ntime = \"1ms\"\n"
        );
    }
    workflow += &format!(
        "[task.sum]\ncommand = \"test -e {} && cat f0 f{} > sum\"\ninputs = [\"f0\", \"f{}\"]\noutputs = [\"sum\"]\n\
         time = \"1ms\"\nretries = 0\n",
        gate.display(),
        tasks - 1,
        tasks - 1
    );
    place.write("w.toml", workflow);
    place.fails(1, "run w.toml -j 2");
    let (log, snapshot) =
        (place.path().join("w.run/log.jsonl"), place.path().join("w.run/snapshot"));
    assert!(!snapshot.exists());
    // The run begins again, for the task that failed.
    place.fails(1, "resume w.run");
    let kept = std::fs::read(&snapshot).unwrap();
    let begun = std::fs::read(&log).unwrap();
    assert!(place.read("w.run/log.jsonl").lines().count() > 1000);
    std::fs::write(gate, "").unwrap();
    let mut damaged = kept.clone();
    damaged[kept.len() / 2] ^= 1;
    let shorter = &kept[..kept.len() / 2];
    for variant in [&kept[..], &damaged, shorter, b"", b"{}\n"] {
        std::fs::write(&snapshot, variant).unwrap();
        std::fs::write(&log, &begun).unwrap();
        let said = place.json("resume w.run --json");
        assert_eq!(said["finished"], true);
        assert_eq!(said["up_to_date"], tasks);
        assert_eq!(redo(&said), [("sum".to_string(), "failed before".to_string())].into());
        assert_eq!(place.read("w.run/results/sum"), format!("0\n{}\n", tasks - 1));
        let again = place.json("run w.toml -j 2 --json");
        assert_eq!((&again["attempts"], &again["up_to_date"]), (&0.into(), &(tasks + 1).into()));
        place.ok("replay w.run");
    }
    // A log that was cut back since does not have the run that the snapshot ends with.
    std::fs::write(&snapshot, &kept).unwrap();
    let cut: Vec<&[u8]> = begun.split_inclusive(|byte| *byte == b'\n').take(200).collect();
    std::fs::write(&log, cut.concat()).unwrap();
    let said = place.json("resume w.run --json");
    assert_eq!((&said["finished"], &said["tasks"]), (&true.into(), &(tasks + 1).into()));
}

/// What tasks used is no demand: plans are what they were, and it is said where it could be too much.
#[cfg(target_os = "linux")]
#[test]
fn measured_peaks_of_memory_warn_and_change_no_plan() {
    let place = Place::new();
    let fill = "dd if=/dev/zero of=/dev/null bs=60M count=2 2> /dev/null; sleep 0.4";
    let task = |name: &str, more: &str| {
        format!("[task.{name}]\nkind = \"fill\"\ncommand = \"{fill}\"\ntime = \"1s\"\n{more}")
    };
    let workflow = task("a", "") + &task("b", "") + &task("c", "memory = \"900MB\"\n");
    place.write("w.toml", &workflow);
    let host = |memory: &str| {
        format!("name = \"p\"\n[host.h]\nspeed = \"1Gf\"\ncores = 2\nmemory = \"{memory}\"\n")
    };
    place.write("p.toml", host("1GB"));
    let run = "run w.toml --platform p.toml --enforce off --json";
    assert_eq!(json(&place.ok(run))["finished"], true);
    assert!(place.read("w.run/log.jsonl").contains("\"peak\":"));
    // Two of 63 MB fit beside each other into 1 GB.
    let plan = |place: &Place, line: &str| {
        let done = place.run(&format!("{line} w.toml --platform p.toml"));
        assert_eq!(done.code, Some(0), "{}", done.err);
        done.err
    };
    assert!(!plan(&place, "plan").contains("of memory"));
    place.write("p.toml", host("100MB"));
    place.write("w.toml", workflow.replace("900MB", "20MB"));
    for verb in ["plan", "simulate", "run --dry-run --new"] {
        let said = plan(&place, verb);
        let over = "tasks of kind 'fill' used up to";
        assert!(said.contains(over) && said.contains("against 20 MB declared"), "{verb}: {said}");
        assert!(said.contains("without a declared demand"), "{verb}: {said}");
        assert!(said.contains("of the 100 MB of 'h'"), "{verb}: {said}");
    }
    assert!(!plan(&place, "plan --no-history").contains("of memory"));
    // Both run at once, as without a history.
    let planned = |line: &str| json(&place.ok(line))["schedule"].as_array().unwrap().len();
    let line = "plan w.toml --platform p.toml --json";
    assert_eq!(planned(line), planned(&format!("{line} --no-history")));
    let starts = json(&place.ok(line))["schedule"].as_array().unwrap().clone();
    let at_once = starts.iter().filter(|row| row["start"] == 0.0).count();
    assert_eq!(at_once, 2, "{starts:?}");
}

/// The name of a definition stands for its tasks; inputs that are new are no changed ones.
#[test]
fn samples_are_added_and_asked_for_by_their_definition() {
    let place = Place::new();
    let task = |name: &str, from: &str| {
        format!(
            "[task.{name}]\nforeach = \"s\"\ncommand = \"cat {{inputs}} > {{outputs}}\"\n\
             inputs = [\"{{s}}.{from}\"]\noutputs = [\"{{s}}.{name}\"]\ntime = \"1ms\"\n"
        )
    };
    let text = task("one", "txt") + &task("two", "one");
    place.write(
        "w.toml",
        format!("[samples]\nfile = \"s.csv\"\n[files]\n\"{{s}}.txt\" = \"1kB\"\n{text}"),
    );
    let samples = |number: usize| {
        let names: Vec<String> = (0..number).map(|sample| format!("S{sample}")).collect();
        names.iter().for_each(|name| drop(place.write(&format!("{name}.txt"), name)));
        place.write("s.csv", format!("s\n{}\n", names.join("\n")));
    };
    samples(2);
    place.ok("run w.toml -j 2");
    let known = |line: &str| redo(&place.json(&format!("run w.toml -j 2 {line} --json")));
    assert_eq!(
        known("--dry-run --force two").into_keys().collect::<Vec<_>>(),
        ["two.S0", "two.S1"]
    );
    samples(9);
    place.write("S0.txt", "changed");
    assert_eq!(known("--only one").len(), 8);
    let log = place.read("w.run/log.jsonl");
    let (_, changes) = log.rsplit_once("\"changes\":[").unwrap();
    let (changes, _) = changes.split_once(']').unwrap();
    let inputs = "\"input S0.txt changed\",\"input S2.txt added\",\"input S3.txt added\",\"input S4.txt added\",\
                  \"input S5.txt added\",\"input S6.txt added\",\"2 more inputs added\"";
    assert!(changes.ends_with(inputs), "{changes}");
}
