//! Every `slackline` command that README.md and docs/*.md show is run, in the order shown, in a
//! folder with the bundled examples. Blocks of `console` or `sh` are read; lines may start with
//! `$ ` and end in a backslash. `cargo run --release --` counts as `slackline`.

#![allow(clippy::unwrap_used)]

mod common;

use common::Place;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn documents() -> Vec<PathBuf> {
    let mut files = vec![root().join("README.md")];
    let docs = std::fs::read_dir(root().join("docs")).into_iter().flatten();
    let is_page = |path: &PathBuf| path.extension().is_some_and(|e| e == "md");
    files.extend(docs.map(|entry| entry.unwrap().path()).filter(is_page));
    files.sort();
    files
}

/// The lines of shell blocks, continued lines joined.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut inside, mut console) = (false, false);
    let mut pending = String::new();
    for line in text.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            inside = !inside && matches!(language.trim(), "console" | "sh");
            console = language.trim() == "console";
            continue;
        }
        if !inside {
            continue;
        }
        let line = line.trim();
        // What a console shows besides is output.
        if console && pending.is_empty() && !line.starts_with("$ ") {
            continue;
        }
        pending.push_str(line.strip_prefix("$ ").unwrap_or(line));
        match pending.strip_suffix('\\') {
            Some(begun) => pending = begun.to_string(),
            None => found.push(std::mem::take(&mut pending)),
        }
    }
    found
}

/// The arguments of a line that calls us.
fn arguments(line: &str) -> Option<Vec<String>> {
    let line = line.split(" #").next().unwrap_or(line);
    let rest =
        ["cargo run --release -- ", "slackline "].iter().find_map(|p| line.strip_prefix(p))?;
    Some(rest.split_whitespace().map(|word| word.trim_matches(['\'', '"']).to_string()).collect())
}

#[test]
fn documented_commands_work() {
    let mut run = 0;
    for file in documents() {
        let text = std::fs::read_to_string(&file).unwrap();
        let place = Place::new();
        for line in commands(&text) {
            let Some(mut words) = arguments(&line) else { continue };
            // `> FILE` keeps what was printed, as a shell would.
            let target =
                words.iter().position(|w| w == ">").map(|at| words.split_off(at)[1].clone());
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let done = place.run_words(&words);
            let shown = file.display();
            assert_eq!(done.code, Some(0), "{shown}: {line}\n{}{}", done.out, done.err);
            if let Some(target) = target {
                place.write(&target, done.out);
            }
            run += 1;
        }
    }
    assert!(run >= 5, "only {run} commands found: did the blocks change their language?");
}

#[test]
fn blocks_are_read_as_written() {
    let text = "```sh\n$ slackline plan a \\\n  --json > b.json # why\ncargo build\n```\n```toml\nslackline x\n```\n";
    let lines = commands(text);
    assert_eq!(lines.len(), 2);
    assert_eq!(arguments(&lines[0]).unwrap(), ["plan", "a", "--json", ">", "b.json"]);
    assert_eq!(arguments(&lines[1]), None);
}

/// What README.md shows under a command is what the command prints.
#[test]
fn shown_output_is_real() {
    let place = Place::new();
    place.ok("examples");
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let mut checked = 0;
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        let Some((line, shown)) =
            block.strip_prefix("$ slackline ").and_then(|b| b.split_once('\n'))
        else {
            continue;
        };
        assert_eq!(place.ok(line), shown, "README.md shows another output of: slackline {line}");
        checked += 1;
    }
    assert!(checked > 0, "README.md shows no output");
}
