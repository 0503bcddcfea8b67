//! Help, tables and errors as a terminal of 80 columns shows them, kept in `snapshots/`: a change of a word is seen in
//! the change of a file. `UPDATE_EXPECT=1 cargo test -p slackline --test it snapshots` writes the files again.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Place;
use slackline_testkit::snapshot::assert_snapshot;
use std::fmt::Write;
use std::path::Path;

fn compare(name: &str, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots");
    assert_snapshot(&folder.join(name), text);
}

/// Command lines with what they print, as a session of a shell.
fn session(place: &Place, lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let done = place.run(line);
        write!(text, "$ slackline {line}\n{}{}", done.out, done.err).unwrap();
        if done.code != Some(0) {
            writeln!(text, "[exit code {}]", done.code.unwrap()).unwrap();
        }
        text.push('\n');
    }
    text
}

/// Names of the commands that a help lists.
fn listed(help: &str) -> Vec<String> {
    let Some((_, after)) = help.split_once("Commands:\n") else { return Vec::new() };
    let begins = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let commands = after.split("Options:").next().unwrap_or(after);
    let name = |line: &str| line.split_whitespace().next().unwrap_or_default().to_string();
    commands.lines().filter(begins).map(name).filter(|name| name != "help").collect()
}

#[test]
fn help() {
    let place = Place::new();
    let mut verbs = vec![String::new()];
    while let Some(verb) = verbs.pop() {
        let help = place.ok(format!("{verb} --help").trim());
        verbs.extend(listed(&help).iter().map(|name| format!("{verb} {name}").trim().to_string()));
        let name = if verb.is_empty() { "slackline".to_string() } else { verb.replace(' ', "-") };
        compare(&format!("help/{name}.txt"), &help);
    }
}

#[test]
fn tables() {
    let place = Place::new();
    let two_hosts = "--platform examples/platforms/small-cluster.toml";
    let lines = [
        "algorithms",
        "algorithms slackline",
        "reproduce",
        "show examples/workflows/gauss.dot",
        "show examples/platforms/small-cluster.toml",
        "show examples/platforms/two-site-grid.toml",
        &format!("plan examples/workflows/gauss.dot {two_hosts} --algorithm heft"),
        &format!("plan examples/workflows/gauss.dot {two_hosts} --algorithm heft,cpop,peft"),
        &format!("simulate examples/workflows/gauss.dot {two_hosts} --policy slackline"),
        &format!("simulate examples/workflows/gauss.dot {two_hosts} --compare static,slackline"),
    ];
    compare("tables.txt", &session(&place, &lines));
}

#[test]
fn errors() {
    let place = Place::new();
    place.write("cycle.dot", "digraph { a [size=\"1\"]; b [size=\"1\"]; a -> b; b -> a }");
    place.write("broken.toml", "[task.a]\nseconds = \"1 parsec\"\n");
    place.write("unknown.toml", "[task.a]\nsecons = 1\n");
    place.write("platform.toml", "[host.a]\ncores = 0\n");
    place.write("half.json", "{\"schema\": ");
    place.write("request.json", "{\"schema\": \"slackline/plan-request/1\", \"wokflow\": \"a\"}");
    let lines = [
        "nonsense",
        "plan",
        "plan nowhere.json",
        "plan cycle.dot",
        "plan broken.toml",
        "plan unknown.toml",
        "plan half.json",
        "plan examples",
        "plan examples/workflows/gauss.dot --algorithm hefft",
        "plan examples/workflows/gauss.dot --algorithm heft --seed 3",
        "plan examples/workflows/gauss.dot --platform platform.toml",
        "plan examples/workflows/gauss.dot --platform nowhere.toml",
        "plan examples/workflows/gauss.dot --nonsense",
        "plan examples/workflows/gauss.dot --set x=1",
        "plan examples/workflows/gauss.dot --deadline soon",
        "show examples/workflows/gauss.dot --from dott",
        "simulate examples/workflows/gauss.dot --policy slacklin",
        "simulate examples/workflows/gauss.dot --scenario nowhere.toml",
        "simulate examples/workflows/gauss.dot --runs 0",
        "run nowhere.toml",
        "resume nowhere",
        "status nowhere",
        "reproduce nothing",
        "generate nothing",
        "convert examples/workflows/gauss.dot -o out.nothing",
        "--request request.json",
    ];
    compare("errors.txt", &session(&place, &lines));
}
