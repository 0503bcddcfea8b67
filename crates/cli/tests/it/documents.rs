//! Every `slackline` command that README.md and docs/*.md show is run, in the order shown, in a
//! folder with the bundled examples. Blocks of `console` or `sh` are read; lines may start with
//! `$ ` and end in a backslash. `cargo run --release --` counts as `slackline`. What is indented or
//! within a sentence, where it would take hours or files that are not there, is at least understood.

#![allow(clippy::unwrap_used)]

use crate::common;

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
        // The other lines of a console are output.
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

/// Runs the commands of a page in the order shown; returns their number.
fn run_commands(page: &str) -> usize {
    let file = root().join(page);
    let text = std::fs::read_to_string(&file).unwrap();
    let place = Place::new();
    let mut run = 0;
    for line in commands(&text) {
        let Some(mut words) = arguments(&line) else { continue };
        // `> FILE` keeps what was printed, as a shell would.
        let target = words.iter().position(|w| w == ">").map(|at| words.split_off(at)[1].clone());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let done = place.run_words(&words);
        assert_eq!(done.code, Some(0), "{page}: {line}\n{}{}", done.out, done.err);
        if let Some(target) = target {
            place.write(&target, done.out);
        }
        run += 1;
    }
    run
}

/// A test for each page with commands, so that all cores are used and a failure names its page.
macro_rules! pages {
    ($($name:ident $page:literal)*) => {
        const PAGES: &[&str] = &[$($page),*];
        mod page {
            $(
                #[test]
                fn $name() {
                    assert!(super::run_commands($page) > 0, "{}: no commands", $page);
                }
            )*
        }
    };
}

pages! {
    readme "README.md"
    budgets "docs/budgets.md"
    centre "docs/centre.md"
    choices "docs/choices.md"
    generators "docs/generators.md"
    json "docs/json.md"
    policies "docs/policies.md"
    reproductions "docs/reproductions.md"
    requests "docs/requests.md"
    resources "docs/resources.md"
    tutorial "docs/tutorial.md"
}

#[test]
fn every_page_with_commands_has_a_test() {
    for file in documents() {
        let page = file.strip_prefix(root()).unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let has_commands = commands(&text).iter().any(|line| arguments(line).is_some());
        assert_eq!(has_commands, PAGES.contains(&page), "list {page} under `pages!`, or strike it");
    }
}

#[test]
fn blocks_are_read_as_written() {
    let text = "```sh\n$ slackline plan a \\\n  --json > b.json # why\ncargo build\n```\n```toml\nslackline x\n```\n";
    let lines = commands(text);
    assert_eq!(lines.len(), 2);
    assert_eq!(arguments(&lines[0]).unwrap(), ["plan", "a", "--json", ">", "b.json"]);
    assert_eq!(arguments(&lines[1]), None);
}

/// The output that README.md shows under a command is the command's.
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

/// Commands outside of blocks: indented lines, and what is between backquotes in a paragraph.
fn mentioned(text: &str) -> Vec<String> {
    let (mut found, mut plain) = (Vec::new(), String::new());
    let mut inside = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            found.extend(line.strip_prefix("    ").map(str::to_string));
            plain.push_str(line);
            plain.push(if line.is_empty() { '\n' } else { ' ' });
        }
    }
    for paragraph in plain.lines() {
        found.extend(paragraph.split('`').skip(1).step_by(2).map(str::to_string));
    }
    found.retain(|line| line.starts_with("slackline ") || line.starts_with("cargo "));
    found
}

/// The words of a command that is only mentioned: of `a|b` the first, without a comment and dots.
fn words_of(line: &str) -> Vec<String> {
    let line = line.split(" #").next().unwrap_or(line);
    let first = |word: &str| {
        let word = word.split('|').next().unwrap_or(word).trim_end_matches('…');
        match word {
            "KIND" => "layered".to_string(),
            "NAME" => "peft".to_string(),
            "X" => "heft".to_string(),
            word => word.to_string(),
        }
    };
    line.split_whitespace().skip(1).map(first).collect()
}

/// Whether what cargo is asked for is there.
fn cargo_has(words: &[String]) -> bool {
    let after = |name: &str| {
        let at = words.iter().position(|w| w == name)?;
        words.get(at + 1)
    };
    let Some(package) = after("-p") else { return true };
    let name =
        if package == "slackline" { "cli" } else { package.trim_start_matches("slackline-") };
    let folder = root().join("crates").join(name);
    let example = after("--example").map(|name| folder.join("examples").join(format!("{name}.rs")));
    match words[0].as_str() {
        "bench" => folder.join("benches").is_dir(),
        _ => folder.join("Cargo.toml").is_file() && example.is_none_or(|file| file.is_file()),
    }
}

#[test]
fn commands_that_are_only_mentioned_are_understood() {
    let place = Place::new();
    let studies = place.ok("reproduce");
    let reports = std::fs::read_dir(root().join("docs/reproductions")).unwrap();
    let mut files = documents();
    files.extend(
        reports
            .map(|entry| entry.unwrap().path())
            .filter(|p| p.extension().is_some_and(|e| e == "md")),
    );
    let mut seen = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for line in mentioned(&text) {
            seen += 1;
            let shown = file.display();
            let mut words = words_of(&line);
            if line.starts_with("cargo ") {
                assert!(cargo_has(&words), "{shown}: {line}");
                continue;
            }
            if let ["reproduce", study, ..] =
                &words.iter().map(String::as_str).collect::<Vec<_>>()[..]
            {
                assert!(studies.contains(study), "{shown}: {line}");
            }
            // Help is given once all before it is understood.
            words.push("--help".to_string());
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let done = place.run_words(&words);
            assert_eq!(done.code, Some(0), "{shown}: {line}\n{}", done.err);
        }
    }
    assert!(seen > 30, "only {seen} commands are mentioned");
    let done = place.run_words(&["plan", "a", "--nonsense", "--help"]);
    assert_eq!(done.code, Some(2));
}
