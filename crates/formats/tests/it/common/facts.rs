//! Facts of a workflow that must survive a format.

use slackline_formats::Document;
use std::collections::BTreeSet;

/// Tasks with their work, memory, kind and command; files with their sizes, producers and
/// consumers; dependencies with their bytes: one line each.
pub(crate) fn facts(document: &Document) -> BTreeSet<String> {
    let w = &document.workflow;
    let name = |t| w.task_name(t).to_string();
    let tasks = w.tasks().map(|t| format!("{:?}", w.task(t)));
    let files = w.files().map(|f| {
        let consumers: BTreeSet<_> = w.consumers(f).map(name).collect();
        let producer = w.producer(f).map(name);
        format!("{} {producer:?} {consumers:?} {}", w.file_bytes(f), w.file_name(f))
    });
    let edges = w.edges().map(|e| {
        let (from, to) = w.edge_ends(e);
        format!("{} -> {}: {}", name(from), name(to), w.edge_bytes(e))
    });
    tasks.chain(files).chain(edges).collect()
}
