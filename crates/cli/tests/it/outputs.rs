//! What tasks leave: folders as outputs, results in a folder of the user, defaults of kinds.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::Place;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// One task makes a folder that two read; one of these makes a folder that is a result.
const FOLDERS: &str = r#"
[task.index]
command = "mkdir -p i/inner i/empty; echo a > i/inner/a; echo b > i/b; ln -s inner/a i/link"
outputs = ["i"]
time = "1s"

[task.count]
command = "find i | wc -l > n; cat i/link >> n; rm i/b"
inputs = ["i"]
outputs = ["n"]
time = "1s"

[task.pages]
command = "mkdir -p out/html; cp i/b i/inner/a out/html; : > out/done"
inputs = ["i"]
outputs = ["out/html", "out/done"]
time = "1s"
"#;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn redone(place: &Place) -> BTreeSet<String> {
    let document = json(&place.ok("run w.toml -j 2 --json"));
    assert_eq!(document["finished"], true);
    let redo = document["redo"].as_array().unwrap();
    redo.iter()
        .map(|r| format!("{}: {}", r["task"].as_str().unwrap(), r["why"].as_str().unwrap()))
        .collect()
}

fn of(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| word.to_string()).collect()
}

#[test]
fn folders_are_outputs_and_inputs() {
    let place = Place::new();
    place.write("w.toml", FOLDERS);
    place.ok("run w.toml -j 2");
    assert_eq!(place.read("w.run/results/n").trim(), "6\na");
    assert_eq!(place.read("w.run/results/out/html/a"), "a\n");
    assert!(!place.path().join("w.run/results/i").exists());
    assert_eq!(redone(&place), of(&[]));
    // What is edited, added or missing in a folder is made again.
    place.write("w.run/results/out/html/b", "mine");
    assert_eq!(redone(&place), of(&["pages: output out/html changed"]));
    place.write("w.run/results/out/html/c", "mine");
    assert_eq!(redone(&place), of(&["pages: output out/html changed"]));
    assert!(!place.path().join("w.run/results/out/html/c").exists());
    std::fs::remove_dir_all(place.path().join("w.run/results/out/html")).unwrap();
    assert_eq!(redone(&place), of(&["pages: output out/html missing"]));
    assert_eq!(place.read("w.run/results/out/html/b"), "b\n");
    // The same content, whatever its dates: nothing after it is done again.
    place.write("w.toml", FOLDERS.replace("mkdir -p i/inner", "mkdir -p  i/inner"));
    assert_eq!(redone(&place), of(&["index: command changed"]));
    place.write("w.toml", FOLDERS.replace("echo b", "echo B"));
    assert_eq!(
        redone(&place),
        of(&["index: command changed", "count: input i changed", "pages: input i changed"])
    );
    assert_eq!(place.read("w.run/results/out/html/b"), "B\n");
    place.ok("replay w.run");
    // A result that becomes a file, and is a folder again.
    let file = FOLDERS
        .replace("mkdir -p out/html; cp i/b i/inner/a out/html", "mkdir out; cp i/b out/html");
    place.write("w.toml", file);
    // What `count` reads is what it once read, and what it wrote then is there.
    assert_eq!(redone(&place), of(&["index: output i changed", "pages: command changed"]));
    assert_eq!(place.read("w.run/results/out/html"), "b\n");
    place.write("w.toml", FOLDERS);
    place.ok("run w.toml -j 2");
    assert_eq!(place.read("w.run/results/out/html/a"), "a\n");
    // A link out of the folder is no output.
    place.write("w.toml", FOLDERS.replace("ln -s inner/a", "ln -s /etc/passwd"));
    let said = place.fails(1, "run w.toml -j 2 --retries 0 --new --folder bad");
    assert!(said.contains("link: a link that leaves the folder"), "{said}");
}

#[test]
fn results_go_where_the_user_wants_them() {
    let place = Place::new();
    place.write("w.toml", FOLDERS);
    let listed = || -> BTreeSet<String> {
        let manifest = json(&place.read("out/manifest.json"));
        assert_eq!(manifest["schema"], "slackline/run-results/1");
        let files = manifest["files"].as_array().unwrap().clone();
        let text = |file: &Value, of: &str| file[of].as_str().unwrap().to_string();
        files.iter().map(|f| format!("{} {}", text(f, "name"), text(f, "task"))).collect()
    };
    let all = of(&["n count", "out/done pages", "out/html/a pages", "out/html/b pages"]);
    place.ok("run w.toml -j 2 --results out");
    assert_eq!(listed(), all);
    assert_eq!(place.read("out/out/html/a"), "a\n");
    // The user's own files stay, and what is no result any more goes.
    place.write("out/mine", "mine");
    place.write("w.toml", FOLDERS.replace(", \"out/done\"]", "]"));
    place.ok("run w.toml -j 2 --results out");
    assert_eq!(listed(), of(&["n count", "out/html/a pages", "out/html/b pages"]));
    assert!(!place.path().join("out/out/done").exists());
    assert_eq!(place.read("out/mine"), "mine");
    // With nothing to do they are put there all the same; copies are files of their own.
    std::fs::remove_dir_all(place.path().join("out")).unwrap();
    let said = place.ok("run w.toml -j 2 --results out --results-as copy");
    assert!(said.contains("Nothing to do"), "{said}");
    let mut text = place.read("out/n");
    text.push_str("more\n");
    place.write("out/n", &text);
    assert!(place.ok("run w.toml -j 2").contains("Nothing to do"));
    assert!(!place.read("w.run/results/n").contains("more"));
    place.ok("run w.toml -j 2 --results out --results-as copy");
    assert!(!place.read("out/n").contains("more"));
    // Nothing of the user's is replaced, and nothing is done before that is known.
    for (file, option) in [("other/n", "other"), ("other/out/html", "other")] {
        let _ = std::fs::remove_dir_all(place.path().join("other"));
        std::fs::create_dir_all(place.path().join(file).parent().unwrap()).unwrap();
        place.write(file, "mine");
        let said = place.fails(2, &format!("run w.toml --new --folder no --results {option}"));
        assert!(said.contains("no run has put it there"), "{said}");
        assert_eq!(place.read(file), "mine");
        assert!(!place.path().join("no").exists());
    }
    place.write("other/manifest.json", "{}");
    for folder in ["other", "w.run/results", "w.toml"] {
        place.fails(2, &format!("run w.toml --results {folder}"));
    }
    place.write("v.toml", "[task.b]\ncommand = \"echo > b\"\noutputs = [\"b\"]\ntime = \"1s\"\n");
    let said = place.fails(2, "run v.toml -j 1 --results out");
    assert!(said.contains("w.toml are there"), "{said}");
    assert!(!Path::new(&place.path().join("v.run")).exists());
}

#[test]
fn kinds_have_defaults_of_their_own() {
    let place = Place::new();
    let text = r#"
[defaults]
time = "3s"
env = { A = "all", B = "all", C = "all" }

[kind.fit]
time = "7s"
env = { B = "kind", C = "kind" }
retries = 0

[task.a]
kind = "fit"
command = "echo $A $B $C > a"
env = { C = "own" }
outputs = ["a"]

[task.b]
command = "echo $A $B $C > b"
outputs = ["b"]
"#;
    place.write("w.toml", text);
    place.ok("run w.toml -j 1");
    assert_eq!(place.read("w.run/results/a"), "all kind own\n");
    assert_eq!(place.read("w.run/results/b"), "all all all\n");
    let plan = json(&place.ok("run w.toml -j 1 --new --no-history --dry-run --json"));
    assert_eq!(plan["makespan"], 10.0, "{plan}");
    place.write("w.toml", text.replace("echo $A $B $C > a", "exit 3"));
    let failed = place.run("run w.toml -j 1 --json");
    assert_eq!(json(&failed.out)["failures"].as_array().unwrap().len(), 1);
    for (from, to) in [
        ("retries = 0", "results = []"),
        ("retries = 0", "kind = \"x\""),
        ("retries = 0", "retry = 0"),
    ] {
        place.write("w.toml", text.replace(from, to));
        assert!(place.fails(2, "show w.toml").contains("w.toml:"), "{to}");
    }
    place.write("w.toml", text.replace("[kind.fit]", "[kind.fitt]"));
    assert!(place.run("show w.toml").err.contains("no task is of kind 'fitt'"));
    // Several nodes are for batch jobs.
    place.write("w.toml", text.replace("retries = 0", "nodes = 2"));
    let said = place.fails(2, "run w.toml --new --folder no");
    assert!(said.contains("takes several nodes") && said.contains("--mode job"), "{said}");
}
