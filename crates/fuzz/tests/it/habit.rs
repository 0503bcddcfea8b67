//! A short run of the fuzzer, and what was once found.

use slackline_fuzz::{FileKind, Fuzzer};
use std::path::Path;

/// About ten seconds of it; CI runs a minute more (`.ci/run`).
#[test]
fn mutated_files_break_nothing() {
    let tally = Fuzzer::new(20).unwrap().run(800, |_| {});
    let told: Vec<String> =
        tally.findings.iter().map(|f| format!("{}: {}: {}", f.number, f.what, f.line)).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
    // Some get through, most do not.
    assert!(tally.codes[0] > 50 && tally.codes[2] > 100, "{:?}", tally.codes);
}

/// Files of `corpus/` are named by their kind: `workflow-deep-nesting.json`.
#[test]
fn what_was_found_stays_mended() {
    let fuzzer = Fuzzer::new(0).unwrap();
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        let Some(kind) = FileKind::named(&name) else { continue };
        let tally = fuzzer.replay(&std::fs::read(&path).unwrap(), kind, &extension);
        assert!(tally.findings.is_empty(), "{name}: {:?}", tally.findings);
    }
}
