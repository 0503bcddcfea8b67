//! The log of a real run.

use crate::Printer;
use crate::table::{Table, count, cut, wrap};
use slackline_core::run::status::{AttemptReport, LogReport};
use slackline_model::names::printable;
use slackline_model::units::{fmt_bytes, fmt_seconds};

/// Attempts as text, with the last lines of those that failed.
pub fn tell(log: &LogReport, one: bool, output: &dyn Printer) -> String {
    if log.attempts.is_empty() {
        return "No attempts.\n".to_string();
    }
    let mut text = String::new();
    let headings = [
        ">begun", "<task", ">no.", "<state", ">exit", ">seconds", "<host", ">cores", ">CPU",
        ">memory", ">of",
    ];
    let mut table = Table::new(&headings).sparing(&["of", "CPU", "cores"]);
    let some = |text: Option<String>| text.unwrap_or_else(|| "-".to_string());
    for attempt in &log.attempts {
        table.row([
            fmt_seconds(attempt.begun),
            cut(&attempt.task, 30),
            attempt.attempt.to_string(),
            attempt.state.to_string(),
            some(attempt.exit.map(|code| code.to_string())),
            fmt_seconds(attempt.seconds),
            cut(&attempt.host, 16),
            attempt.cores.to_string(),
            some(attempt.cpu_seconds.map(fmt_seconds)),
            some(attempt.peak_memory.map(|bytes| fmt_bytes(bytes as f64))),
            some(attempt.memory.map(|bytes| fmt_bytes(bytes as f64))),
        ]);
    }
    text.push_str(&table.render(output.style().table_width));
    for attempt in log.attempts.iter().filter(|a| one || a.state == "failed") {
        text.push_str(&said(attempt, output.style().width));
    }
    if !one {
        let failed = log.attempts.iter().filter(|a| a.state == "failed").count();
        let attempts = count(log.attempts.len(), "attempt");
        text.push_str(&format!("\n{attempts}, {failed} failed; the run is {}\n", log.state.name()));
    }
    text
}

/// The reason of an attempt's end, and its last lines.
fn said(attempt: &AttemptReport, width: usize) -> String {
    let mut text = format!("\n{}, attempt {}: ", printable(&attempt.task), attempt.attempt);
    text.push_str(&match &attempt.reason {
        Some(reason) => printable(reason).into_owned(),
        None => attempt.state.to_string(),
    });
    text.push('\n');
    for line in &attempt.last_lines {
        text.push_str(&wrap(&printable(line), 4, width));
    }
    if let Some(path) = &attempt.stderr {
        text.push_str(&format!("  {}\n", path.display()));
    }
    text
}
