//! Words of the code and the documents: names, comments and messages are those of the field, in plain English.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Files below a folder that end so; built, fetched and recorded ones are left out.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    const LEFT_OUT: [&str; 5] = ["target", "fixtures", "corpus", "notebooks", "snapshots"];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !LEFT_OUT.iter().any(|name| path.ends_with(name)) {
                files(&path, ending, found);
            }
        } else if path.to_str().is_some_and(|name| name.ends_with(ending)) {
            found.push(path);
        }
    }
    found.sort();
}

/// Sources of a crate, or of all, with their texts; this file is left out, which lists the words.
fn sources(of: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(&root().join("crates").join(of), ".rs", &mut found);
    found.retain(|path| !path.ends_with("testkit/tests/it/words.rs"));
    found.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

fn documents() -> Vec<(PathBuf, String)> {
    let mut found: Vec<PathBuf> =
        ["README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "SECURITY"]
            .iter()
            .map(|name| root().join(format!("{name}.md")))
            .collect();
    files(&root().join("docs"), ".md", &mut found);
    found.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

/// Lines of texts for which a test holds, as `file:line: text`.
fn lines(texts: &[(PathBuf, String)], holds: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in texts {
        for (number, line) in text.lines().enumerate().filter(|(_, line)| holds(line)) {
            found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
        }
    }
    found
}

fn assert_at_most(most: usize, found: &[String], rule: &str) {
    assert!(found.len() <= most, "{} instead of {most}: {rule}\n{}", found.len(), found.join("\n"));
}

/// Whether a text has a phrase as words of its own, in any case.
fn has_words(text: &str, phrase: &str) -> bool {
    let text = text.to_lowercase();
    let inner = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase).any(|(at, found)| {
        let (before, after) = (&text[..at], &text[at + found.len()..]);
        !before.ends_with(inner) && !after.starts_with(inner)
    })
}

/// The files of Rust and the documents are where the tests look for them.
#[test]
fn everything_is_read() {
    assert!(sources("").len() > 500 && documents().len() > 30);
    assert!(has_words("// Begun anew.", "anew") && !has_words("renewal, anew_lease", "anew"));
}

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    let asks = |line: &str| {
        let line = line.trim_start();
        let text = line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! "));
        let first = text.and_then(|text| text.split(|c: char| !c.is_alphanumeric()).next());
        first.is_some_and(|word| ["What", "How", "Where", "Who", "Whose", "Which"].contains(&word))
    };
    let rule = "say the noun (\"The outcome of an attempt\"), or a verb (\"Returns the outcome\")";
    assert_at_most(40, &lines(&sources(""), asks), rule);
}

/// Phrases that are translated word by word, and what is said instead.
const CALQUES: [(&str, &str); 12] = [
    ("anew", "again"),
    ("besides", "also, in addition to, other than"),
    ("of itself", "by itself"),
    ("in vain", "without effect"),
    ("draws lots", "is randomised"),
    ("stands", "is (\"stands for\" is English)"),
    ("lies", "is"),
    ("goes on", "continues"),
    ("is called", "has the name, is"),
    ("a look", "an evaluation, a query"),
    ("bettered", "improved"),
    ("what came of", "the outcome of"),
];

#[test]
fn nothing_is_translated_word_by_word() {
    let mut texts = sources("");
    texts.extend(documents());
    for (phrase, instead) in CALQUES {
        let told = |line: &str| {
            let line = line.to_lowercase();
            line.contains(phrase) && has_words(&line.replace("stands for", ""), phrase)
        };
        assert_at_most(0, &lines(&texts, told), &format!("\"{phrase}\": say \"{instead}\""));
    }
}

/// Doc comments that only refer to another one: the reader has to look for the noun.
#[test]
fn doc_comments_do_not_only_refer() {
    let refers = |line: &str| {
        let line = line.trim_start();
        let text = line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! ")).unwrap_or("");
        ["See the module's head", "As above.", "See above", "Which.", "See `"]
            .iter()
            .any(|start| text.starts_with(start))
    };
    assert_at_most(0, &lines(&sources(""), refers), "say the noun, the unit or the invariant");
}

/// Crates whose comments were read by an outsider, file by file: machinery is no person there.
const READ: [&str; 21] = [
    "model",
    "io",
    "formats",
    "import",
    "generate",
    "schedule",
    "simulate",
    "mpi",
    "mpi-online",
    "mpi-rank",
    "react",
    "engine",
    "machines",
    "analysis",
    "core",
    "lab",
    "view",
    "centre",
    "python",
    "testkit",
    "fuzz",
];

#[test]
fn machinery_is_no_person_in_comments() {
    const PERSONS: [&str; 8] =
        ["nobody", "somebody", "everybody", "anybody", "oneself", "whom", "looked at", "looks at"];
    for name in READ {
        let is_person = |line: &str| {
            let comment = line.find("//").map_or("", |at| &line[at..]);
            PERSONS.iter().any(|word| has_words(comment, word))
        };
        let rule = "say rank, task, host, caller; checked, evaluated, tried";
        assert_at_most(0, &lines(&sources(&format!("{name}/src")), is_person), rule);
    }
}

/// Names of modules that said nothing to an engineer of the field, in the crates that had them.
const OLD_MODULES: [(&[&str], &str); 6] = [
    (
        &["engine", "machines", "analysis"],
        "supply usage session checked store rates real stage log jobs past workshop waiting growth follow attempts \
         berth hub batch places frames",
    ),
    (
        &["react"],
        "holders idle foresight strangers taught states reasons planning first ground habit plans shadow trials weigh \
         several outlook board mending book fleet",
    ),
    (&["cli"], "told contents search check files placed made stage worlds steering"),
    (&["lab"], "served loads learnt shapes worlds written money"),
    (&["model", "schedule"], "narrows terms beside figures heeds compact links alike columns"),
    (&["view"], "happened planned signs"),
];

#[test]
fn modules_have_names_of_the_field() {
    let mut found = Vec::new();
    for (crates, names) in OLD_MODULES {
        for name in crates {
            for (path, _) in sources(&format!("{name}/src")) {
                let of_folder = path.ends_with("mod.rs").then(|| path.parent()).flatten();
                let module = of_folder.unwrap_or(&path).file_stem().unwrap().to_str().unwrap();
                if names.split_whitespace().any(|old| old == module) {
                    found.push(path.display().to_string());
                }
            }
        }
    }
    assert_at_most(5, &found, "the glossary has the words");
}

/// Names that many types had; another type of that name cannot be found by its name.
const WORN: [&str; 19] = [
    "Document", "Kind", "Job", "Entry", "Way", "Offer", "Course", "Ran", "Moved", "Ground",
    "World", "Made", "Settings", "Record", "Stage", "Past", "Outlook", "Wanted", "Usage",
];

#[test]
fn types_can_be_found_by_their_names() {
    let texts = sources("");
    for name in WORN {
        let defines = |line: &str| {
            if !line.contains(name) {
                return false;
            }
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.any(|word| ["struct", "enum", "trait", "type", "union"].contains(&word))
                && words.find(|word| !word.is_empty()) == Some(name)
        };
        assert_at_most(4, &lines(&texts, defines), &format!("types with the name {name}"));
    }
}

#[test]
fn booleans_are_asked_by_if() {
    let arm = |line: &str| {
        let line = line.trim_start();
        line.starts_with("true =>") || line.starts_with("true if ")
    };
    assert_at_most(5, &lines(&sources(""), arm), "if and else, not match");
}

/// A verb parses, makes a request, hands it to other crates and prints.
#[test]
fn the_command_is_thin() {
    let command = sources("cli/src");
    let length: usize = command.iter().map(|(_, text)| text.lines().count()).sum();
    assert!(
        length < 8_500,
        "{length} lines in crates/cli/src: texts belong to report, the rest to core"
    );
    let outside = |line: &str| line.contains("\"slackline/") || line.contains("slackline_machines");
    assert_at_most(0, &lines(&command, outside), "names of schemas and machines belong to core");
    let streams = ["clap::", "stdout()", "stderr()", "println!"];
    let knows = |line: &str| streams.iter().any(|stream| line.contains(stream));
    assert_at_most(0, &lines(&sources("report/src"), knows), "report prints to a Printer");
}
