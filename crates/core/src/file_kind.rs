//! Recognition of a file's contents, for errors about files given in the wrong place.

use crate::failure::Failure;
use slackline_formats::scenario::parse_scenario;
use slackline_formats::{CUT, Fault, Format, FormatError, PlatformFormat, schedule_file};
use slackline_io::FileAccess;
use std::path::Path;

/// The contents expected of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A workflow.
    Workflow,
    /// A platform.
    Platform,
    /// A scenario.
    Scenario,
}

/// Names of our schemas with a schedule. They are checked first, because such documents may resemble other formats.
const WITH_SCHEDULE: [&str; 5] = ["schedule", "plan", "plans", "simulation", "simulations"];

/// Whether a text holds a schedule.
pub fn holds_schedule(text: &str) -> bool {
    let ours = schema(text).is_some_and(|name| {
        let mut parts = name.split('/').skip(1);
        parts.next().is_some_and(|name| WITH_SCHEDULE.contains(&name))
    });
    ours || schedule_file::is_schedule(text)
}

/// Number of characters at the beginning of a document in which its schema is searched.
const HEAD: usize = 400;

/// Returns the schema that a text states, where it is one of ours.
pub fn schema(text: &str) -> Option<String> {
    let start = text.trim_start();
    if !start.starts_with('{') {
        return None;
    }
    let head: String = start.chars().take(HEAD).collect();
    let (_, rest) = head.split_once("\"schema\"")?;
    let name = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let (name, _) = name.split_once('"')?;
    name.starts_with("slackline/").then(|| name.to_string())
}

/// A more helpful error than that of the reader, where possible: the file is empty, of another kind, or cut off.
pub fn explain(error: FormatError, files: &FileAccess, path: &Path, wanted: Wanted) -> Failure {
    let text = files.read_text(path).unwrap_or_default();
    let file = path.display();
    if text.trim().is_empty() && error.fault == Fault::Input && path.is_file() {
        return Failure::input(format!("{file}: the file is empty"));
    }
    // Help is given for contents that are not wanted here.
    let kind = if PlatformFormat::recognise(None, &text).is_some() {
        (Wanted::Platform, "a platform", "give it with --platform")
    } else if holds_schedule(&text) {
        (
            Wanted::Scenario, // not wanted by any caller of this function
            "a schedule",
            "`slackline simulate --schedule` follows it, `show` draws it",
        )
    } else if Format::all().any(|format| format.recognises(&text)) {
        (Wanted::Workflow, "a workflow", "name it without an option")
    } else if !text.trim().is_empty() && parse_scenario(&text).is_ok() {
        (Wanted::Scenario, "a scenario", "give it with --scenario to simulate")
    } else {
        return error.into();
    };
    match kind {
        (kind, _, _) if kind == wanted => cut(error, &text),
        (_, what, help) => Failure::input(format!("{file}: this is {what}")).with_help(help),
    }
}

/// Adds a hint that a document with unclosed tags was probably cut off; errors of the JSON reader contain it
/// already.
fn cut(error: FormatError, text: &str) -> Failure {
    let text = text.trim();
    if text.starts_with('<') && !text.ends_with('>') && error.help.is_none() {
        Failure::from(error).with_help(CUT)
    } else {
        error.into()
    }
}
