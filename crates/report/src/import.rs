//! Records of other engines.

use crate::table::{count, wrap};
use slackline_import::{Counts, Summary};
use slackline_model::units::fmt_seconds;

/// Names of kinds without the outer workflow that all of them share (`W:A`, `W:B:C` as `A`, `B:C`).
pub fn without_common<'t>(kinds: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut names: Vec<&str> = kinds.collect();
    while let Some((outer, _)) = names.first().and_then(|name| name.split_once(':')) {
        let inner: Option<Vec<&str>> = names
            .iter()
            .map(|name| name.strip_prefix(outer)?.strip_prefix(':').filter(|name| !name.is_empty()))
            .collect();
        match inner {
            Some(inner) => names = inner,
            None => break,
        }
    }
    names
}

/// Tells of a repair.
pub fn repaired(repair: &str, times: usize) -> String {
    format!("Repaired {}: {repair}.\n", count(times, "time"))
}

/// The summary for people.
pub fn describe(summary: &Summary, width: usize) -> String {
    let version = summary.version.as_deref().map(|v| format!(" {v}")).unwrap_or_default();
    let mut text = format!("{}: a run of {}{version}\n\n", summary.name, summary.engine);
    let span = summary.makespan.map_or("unknown".to_string(), fmt_seconds);
    text.push_str(&format!("  makespan   {span}\n"));
    if let Some(start_up) = summary.start_up {
        text.push_str(&format!(
            "  start-up   {} before the first task, {} for each other\n",
            fmt_seconds(start_up.before),
            fmt_seconds(start_up.per_task)
        ));
    }
    text.push_str(&format!(
        "  tasks      {}, {}, {}\n",
        count(summary.tasks, "task"),
        count(summary.attempts, "attempt"),
        count(summary.failed_attempts, "of them without a result").replace("results", "result")
    ));
    text.push_str(&format!("  edges      {}\n", summary.edges));
    text.push_str(&format!("  files      {}\n", summary.files));
    text.push_str(&format!("  hosts      {}\n", summary.hosts));
    text.push_str("\n  field              measured  derived  assumed  missing\n");
    for (name, counts) in &summary.fields {
        let Counts { measured, derived, assumed, missing } = counts;
        let name = name.replace('_', " ");
        text.push_str(&format!(
            "  {name:<17} {measured:>9} {derived:>8} {assumed:>8} {missing:>8}\n"
        ));
    }
    for (repair, times) in &summary.repairs {
        text.push_str(&wrap(&repaired(repair, *times), 0, width));
    }
    for note in &summary.notes {
        text.push_str(&wrap(&format!("Note: {note}.\n"), 0, width));
    }
    text
}
