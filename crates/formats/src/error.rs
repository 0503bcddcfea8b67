//! Errors of the JSON and TOML readers as ours.

pub use slackline_io::{CUT, Fault, FormatError, Place, Result};

/// The error of the JSON reader as ours: its place apart from its text.
pub(crate) fn json_error(error: serde_json::Error) -> FormatError {
    // No character was there to be read.
    if error.is_eof() && error.column() == 0 && error.line() <= 1 {
        return FormatError::new("the file is empty");
    }
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(text, _)| text);
    let message = &in_plain_words(message);
    let ours = match error.line() {
        0 => FormatError::new(message),
        line => FormatError::at(line, error.column().max(1), message),
    };
    if error.is_eof() { ours.with_help(CUT) } else { ours.with_nearest_key() }
}

/// Rewrites the expectations of readers without the names of Rust's types.
fn in_plain_words(message: &str) -> String {
    const WORDS: [(&str, &str); 13] = [
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected usize", "expected a whole number, 0 or more"),
        ("expected i32", "expected a whole number"),
        ("expected i64", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("expected a boolean", "expected true or false"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected a table of names and values"),
        ("invalid type: map", "invalid type: table"),
        ("invalid type: sequence", "invalid type: list"),
    ];
    let mut plain = message.to_string();
    for (theirs, ours) in WORDS {
        // Only whole words: `expected u8` is no part of another type's name.
        if let Some(at) = plain.find(theirs) {
            let next = plain[at + theirs.len()..].chars().next();
            if !next.is_some_and(char::is_alphanumeric) {
                plain.replace_range(at..at + theirs.len(), ours);
            }
        }
    }
    plain
}

/// The error of the TOML reader as ours.
pub(crate) fn toml_error(text: &str, error: &toml::de::Error) -> FormatError {
    let message = in_plain_words(error.message());
    let Some(span) = error.span() else { return FormatError::new(message).with_nearest_key() };
    let is_unnamed = message == "invalid type: list, expected a table of names and values";
    let error = FormatError::at_offset(text, span.start, message);
    let table = text.get(span.start..).and_then(|rest| rest.strip_prefix("[["));
    match table.and_then(|rest| rest.split_once("]]")) {
        Some((name, _)) if is_unnamed => error.with_help(format!("write [{name}.NAME] for each")),
        _ => error.with_nearest_key(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_with_names_are_no_list() {
        #[derive(serde::Deserialize)]
        struct File {
            #[allow(dead_code)] // read for its form alone
            task: std::collections::BTreeMap<String, u32>,
        }
        let text = "\n[[task]]\na = 1\n";
        let error = toml_error(text, &toml::from_str::<File>(text).err().unwrap());
        let said = "invalid type: list, expected a table of names and values";
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(error.help.as_deref(), Some("write [task.NAME] for each"));
    }
}
