//! Telling traces from other files, and those that can be read from those that cannot.

/// Schema in the first line of a trace that can be read.
const SCHEMA: &str = "\"slackline/trace/1\"";

/// Whether a text is a trace that can be read.
pub fn recognise(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.trim_start().starts_with('{') && first.contains(SCHEMA)
}

/// The name of a form of traces that is only written, where the text is one.
pub fn one_way(text: &str) -> Option<&'static str> {
    let start = text.trim_start();
    if start.starts_with("%EventDef") {
        return Some("a Pajé trace");
    }
    let chrome = start.starts_with('{') && start.contains("\"traceEvents\"");
    chrome.then_some("a Chrome trace")
}
