//! Nextflow: the trace with whatever columns it has, in raw or human units; the graph from the process
//! DAG by process name and tag, which makes its edges assumed.

use crate::dates;
use crate::engines::Engine;
use crate::record::{Attempt, Figure, Origin, Outcome, RecordedRun, TaskRecord, value};
use crate::sources::{Artefact, Found};
use slackline_io::{FileAccess, FormatError, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// One line of a trace.
struct Line {
    process: String,
    tag: Option<String>,
    attempt: Attempt,
    number: Option<u32>,
    cores: Option<f64>,
    memory: Option<f64>,
    time: Option<f64>,
    host: Option<String>,
    command: Option<String>,
}

/// Positions of the columns that a trace has.
struct Columns {
    name: Option<usize>,
    process: Option<usize>,
    tag: Option<usize>,
    status: Option<usize>,
    exit: Option<usize>,
    submit: Option<usize>,
    duration: Option<usize>,
    realtime: Option<usize>,
    complete: Option<usize>,
    start: Option<usize>,
    cpu: Option<usize>,
    cpus: Option<usize>,
    peak_rss: Option<usize>,
    rss: Option<usize>,
    rchar: Option<usize>,
    read_bytes: Option<usize>,
    wchar: Option<usize>,
    write_bytes: Option<usize>,
    attempt: Option<usize>,
    memory: Option<usize>,
    time: Option<usize>,
    hostname: Option<usize>,
    script: Option<usize>,
}

impl Columns {
    fn of(column: &impl Fn(&str) -> Option<usize>) -> Columns {
        Columns {
            name: column("name"),
            process: column("process"),
            tag: column("tag"),
            status: column("status"),
            exit: column("exit"),
            submit: column("submit"),
            duration: column("duration"),
            realtime: column("realtime"),
            complete: column("complete"),
            start: column("start"),
            cpu: column("%cpu"),
            cpus: column("cpus"),
            peak_rss: column("peak_rss"),
            rss: column("rss"),
            rchar: column("rchar"),
            read_bytes: column("read_bytes"),
            wchar: column("wchar"),
            write_bytes: column("write_bytes"),
            attempt: column("attempt"),
            memory: column("memory"),
            time: column("time"),
            hostname: column("hostname"),
            script: column("script"),
        }
    }
}

pub(crate) fn read(found: &Found, files: &FileAccess) -> Result<RecordedRun> {
    let mut run = RecordedRun::of(Engine::Nextflow);
    let Some(path) = found.one(Artefact::NextflowTrace, "traces")? else {
        return processes(found, files);
    };
    let text = files.read_text(path)?;
    let lines = parse(&text, &mut run).map_err(|e| e.in_file(path))?;
    // A later line of the same process and tag repeats one that failed.
    let mut failed: HashMap<(String, Option<String>), Vec<usize>> = HashMap::new();
    for line in lines {
        let is_retry = line.number.is_none_or(|number| number > 1);
        let mut attempt = line.attempt;
        attempt.host = line.host.as_deref().map(|name| run.host(name));
        let is_failure = !attempt.outcome.is_success() && attempt.outcome != Outcome::Open;
        let key =
            (is_failure || !failed.is_empty()).then(|| (line.process.clone(), line.tag.clone()));
        let earlier = key.as_ref().and_then(|key| failed.get_mut(key));
        let earlier = earlier.filter(|_| is_retry).and_then(Vec::pop);
        let index = match earlier {
            Some(index) => {
                run.tasks[index].attempts.push(attempt);
                if line.number.is_none() {
                    run.repaired("line of a task that had failed taken for its next attempt");
                }
                index
            }
            None => {
                let kind = line.process.rsplit(':').next().unwrap_or_default().to_string();
                let label = match &line.tag {
                    Some(tag) => format!("{kind}:{tag}"),
                    None => kind.clone(),
                };
                run.tasks.push(TaskRecord {
                    name: label,
                    kind: line.process.clone(),
                    command: line.command,
                    cores: line.cores.and_then(Figure::measured),
                    memory: line.memory.and_then(Figure::measured),
                    time_limit: line.time.and_then(Figure::measured),
                    attempts: vec![attempt],
                    ..TaskRecord::default()
                });
                run.tasks.len() - 1
            }
        };
        if let Some(key) = key.filter(|_| is_failure) {
            failed.entry(key).or_default().push(index);
        }
    }
    if run.hosts.is_empty() {
        let host = run.host("unknown");
        for attempt in run.tasks.iter_mut().flat_map(|t| &mut t.attempts) {
            attempt.host = Some(host);
        }
        run.notes.push("the trace names no hosts: one host stands for all".to_string());
    }
    match found.all(Artefact::NextflowDag) {
        [] => run.notes.push("no process graph: tasks have no edges".to_string()),
        [dag, ..] => {
            let edges = process_edges(&files.read_text(dag)?, dag)?;
            join(&mut run, &edges);
        }
    }
    Ok(run)
}

/// The graph of processes alone, without operators: what is known before a run.
fn processes(found: &Found, files: &FileAccess) -> Result<RecordedRun> {
    let mut run = RecordedRun::of(Engine::Nextflow);
    let Some(path) = found.one(Artefact::NextflowDag, "process graphs")? else {
        return Err(FormatError::new("neither a trace nor a process graph"));
    };
    let edges = process_edges(&files.read_text(path)?, path)?;
    let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
    for name in edges.iter().flat_map(|(from, to)| std::iter::once(from).chain(to)) {
        if !ids.contains_key(name.as_str()) {
            ids.insert(name, run.tasks.len());
            let task =
                TaskRecord { name: name.clone(), kind: name.clone(), ..TaskRecord::default() };
            run.tasks.push(task);
        }
    }
    for (from, to) in &edges {
        for name in to.iter().filter(|name| *name != from) {
            run.tasks[ids[name.as_str()]].after.push((ids[from.as_str()], Origin::Measured));
        }
    }
    run.notes.push(
        "a graph of processes: their tasks are in a trace (nextflow run -with-trace)".to_string(),
    );
    Ok(run)
}

fn parse(text: &str, run: &mut RecordedRun) -> Result<Vec<Line>> {
    let mut rows = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((_, header)) = rows.next() else { return Err(FormatError::new("empty")) };
    let header: Vec<&str> = header.split('\t').map(str::trim).collect();
    let column = |name: &str| header.iter().position(|c| *c == name);
    if column("name").is_none() && column("process").is_none() {
        return Err(FormatError::at(1, 1, "has neither a column 'name' nor 'process'"));
    }
    let at = Columns::of(&column);
    let mut lines = Vec::new();
    let mut cells: Vec<&str> = Vec::with_capacity(header.len());
    let (mut cut, mut open) = (0, 0);
    for (index, row) in rows {
        cells.clear();
        cells.extend(row.split('\t').map(str::trim));
        if cells.len() > header.len() {
            let message = format!("{} values under {} columns", cells.len(), header.len());
            return Err(FormatError::at(index + 1, 1, message));
        }
        if cells.len() < header.len() {
            cut += 1;
            continue;
        }
        // `-` is unknown; `0` of a measurement too.
        let cell =
            |column: Option<usize>| column.map(|i| cells[i]).filter(|c| !c.is_empty() && *c != "-");
        let size = |column: Option<usize>| cell(column).and_then(bytes);
        let span = |column: Option<usize>| cell(column).and_then(seconds);
        let date = |column: Option<usize>| cell(column).and_then(moment);
        let measured = |value: Option<f64>| value.filter(|v| *v > 0.0).and_then(Figure::measured);
        let name = cell(at.name);
        let (process, tag) = match (cell(at.process), name) {
            (Some(process), name) => {
                let tag = cell(at.tag).or_else(|| split_name(name.unwrap_or_default()).1);
                (process.to_string(), tag.map(str::to_string))
            }
            (None, Some(name)) => {
                let (process, tag) = split_name(name);
                (process.to_string(), tag.map(str::to_string))
            }
            (None, None) => return Err(FormatError::at(index + 1, 1, "a task without a name")),
        };
        let tag = tag.filter(|tag| tag != "null");
        let status = cell(at.status).unwrap_or("COMPLETED");
        let exit = cell(at.exit).and_then(|c| c.parse::<i64>().ok());
        let outcome = match status {
            "COMPLETED" => Outcome::Completed,
            "CACHED" => Outcome::Cached,
            "FAILED" if exit == Some(137) || exit == Some(247) => Outcome::OutOfMemory,
            "FAILED" if exit == Some(140) => Outcome::TimedOut,
            "FAILED" => Outcome::Failed,
            "ABORTED" => Outcome::Cancelled,
            "NEW" | "SUBMITTED" | "RUNNING" => Outcome::Open,
            other => {
                return Err(FormatError::at(index + 1, 1, format!("unknown status '{other}'")));
            }
        };
        if outcome == Outcome::Open {
            open += 1;
        }
        let submitted = date(at.submit).and_then(Figure::measured);
        let (duration, real) = (span(at.duration), span(at.realtime));
        let end = date(at.complete).and_then(Figure::measured);
        let end =
            end.or(value(submitted).zip(duration).and_then(|(at, d)| Figure::derived(at + d)));
        let start = date(at.start).and_then(Figure::measured);
        // The computation itself ends when the task does: what came before was waiting and staging.
        let start =
            start.or(value(end).zip(real).and_then(|(end, real)| Figure::derived(end - real)));
        let start = start.or(submitted.map(|at| Figure { origin: Origin::Assumed, ..at }));
        let (start, end, submitted) = match outcome {
            Outcome::Cached => (None, None, None),
            Outcome::Open => (start, None, submitted),
            _ => (start, end, submitted),
        };
        let cpu = cell(at.cpu).and_then(|c| c.trim_end_matches('%').parse::<f64>().ok());
        let cores = cell(at.cpus).and_then(|c| c.parse::<f64>().ok());
        let attempt = Attempt {
            submitted,
            start,
            end,
            cores: cores.and_then(Figure::measured).or(Figure::assumed(1.0)),
            outcome,
            exit,
            peak_memory: measured(size(at.peak_rss).or_else(|| size(at.rss))),
            cpu: cpu.zip(real).and_then(|(percent, s)| Figure::derived(percent / 100.0 * s)),
            read: measured(size(at.rchar).or_else(|| size(at.read_bytes))),
            written: measured(size(at.wchar).or_else(|| size(at.write_bytes))),
            ..Attempt::default()
        };
        lines.push(Line {
            process,
            tag,
            attempt,
            number: cell(at.attempt).and_then(|c| c.parse().ok()),
            cores,
            memory: size(at.memory),
            time: span(at.time),
            host: cell(at.hostname).map(str::to_string),
            command: cell(at.script).map(str::to_string),
        });
    }
    run.repaired_times("cut-off line left out", cut);
    run.repaired_times("open task: the run was still going on", open);
    lines.sort_by(|a, b| {
        let date =
            |line: &Line| value(line.attempt.submitted.or(line.attempt.start)).unwrap_or(f64::MAX);
        date(a).total_cmp(&date(b))
    });
    Ok(lines)
}

/// `PROCESS (tag)`.
fn split_name(name: &str) -> (&str, Option<&str>) {
    match name.strip_suffix(')').and_then(|n| n.split_once(" (")) {
        Some((process, tag)) => (process, Some(tag)),
        None => (name, None),
    }
}

/// `11.3 GB` (of 1024) or bytes.
fn bytes(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, "B"));
    let power = ["B", "KB", "MB", "GB", "TB", "PB"].iter().position(|u| *u == unit)?;
    Some(number.parse::<f64>().ok()? * 1024f64.powi(power as i32))
}

/// `1m 19s` or milliseconds.
fn seconds(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().map(|ms| ms / 1000.0).or_else(|| dates::words(text))
}

/// A date, or milliseconds since the epoch.
fn moment(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().map(|ms| ms / 1000.0).or_else(|| dates::iso(text))
}

/// Edges between processes, through the operators between them, in DOT.
fn process_edges(text: &str, path: &Path) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut labels: HashMap<&str, &str> = HashMap::new();
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim().trim_end_matches(';');
        let (body, attributes) = line.split_once('[').map_or((line, ""), |(b, a)| (b.trim(), a));
        if let Some((from, to)) = body.split_once("->") {
            next.entry(from.trim()).or_default().push(to.trim());
        } else if !attributes.is_empty() {
            let label = attributes
                .split_once("label=\"")
                .map(|(_, rest)| rest.split('"').next().unwrap_or(""));
            if attributes.starts_with("label=")
                && let Some(label) = label.filter(|l| !l.is_empty())
            {
                labels.insert(body, label);
            }
        } else if !(line.is_empty()
            || line.starts_with("digraph")
            || matches!(line, "}" | "{")
            || line.contains('='))
        {
            return Err(FormatError::at(index + 1, 1, "neither a node nor an edge").in_file(path));
        }
    }
    let mut edges: BTreeMap<String, BTreeSet<String>> =
        labels.values().map(|label| (label.to_string(), BTreeSet::new())).collect();
    for (&node, &label) in &labels {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&str> = next.get(node).cloned().unwrap_or_default();
        while let Some(at) = open.pop() {
            if !seen.insert(at) {
                continue;
            }
            match labels.get(at) {
                Some(process) => {
                    edges.entry(label.to_string()).or_default().insert(process.to_string());
                }
                None => open.extend(next.get(at).into_iter().flatten()),
            }
        }
    }
    Ok(edges)
}

/// Whether a process of the trace is one of the graph, whose names lack outer workflows.
fn is_process(traced: &str, drawn: &str) -> bool {
    traced == drawn || traced.strip_suffix(drawn).is_some_and(|outer| outer.ends_with(':'))
}

/// Parents of a task at most, where all tasks of a process come before it.
const MOST_PARENTS: usize = 2000;

/// Joins tasks along the edges of their processes: those with the same tag, else all that had ended
/// before the other was submitted.
fn join(run: &mut RecordedRun, edges: &BTreeMap<String, BTreeSet<String>>) {
    let mut members: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let tags: Vec<Option<String>> =
        run.tasks.iter().map(|t| t.name.split_once(':').map(|(_, tag)| tag.to_string())).collect();
    let drawn: BTreeSet<&String> =
        edges.iter().flat_map(|(from, to)| std::iter::once(from).chain(to)).collect();
    let mut nameless = 0;
    for (index, task) in run.tasks.iter().enumerate() {
        match drawn.iter().filter(|name| is_process(&task.kind, name)).max_by_key(|name| name.len())
        {
            Some(name) => members.entry(name.as_str()).or_default().push(index),
            None => nameless += 1,
        }
    }
    let begun = |index: usize| {
        let attempt = run.tasks[index].attempts.first();
        attempt.and_then(|a| value(a.submitted.or(a.start)))
    };
    let ended = |index: usize| run.tasks[index].last().and_then(|a| value(a.end));
    let mut after: Vec<(usize, usize)> = Vec::new();
    let mut shortened = 0;
    for (from, targets) in edges {
        let Some(parents) = members.get(from.as_str()) else { continue };
        let mut by_tag: HashMap<&str, Vec<usize>> = HashMap::new();
        for &parent in parents {
            if let Some(tag) = &tags[parent] {
                by_tag.entry(tag).or_default().push(parent);
            }
        }
        // By their ends, those without one first.
        let mut by_end = parents.clone();
        let end_of = |p: usize| ended(p).unwrap_or(f64::NEG_INFINITY);
        by_end.sort_by(|&a, &b| end_of(a).total_cmp(&end_of(b)).then(a.cmp(&b)));
        for child in targets.iter().filter_map(|to| members.get(to.as_str())).flatten().copied() {
            // Dates have a precision of a millisecond.
            let begin = begun(child).map_or(f64::INFINITY, |at| at + 1e-3);
            let alike = tags[child].as_deref().and_then(|tag| by_tag.get(tag));
            let before: &[usize] = match alike {
                Some(alike) => alike,
                None => &by_end[..by_end.partition_point(|&p| end_of(p) <= begin)],
            };
            // All to all of many tasks is an edge for each pair: only edges from the last that had ended are
            // kept.
            let before = if before.len() > MOST_PARENTS {
                shortened += 1;
                &before[before.len() - MOST_PARENTS..]
            } else {
                before
            };
            let fits = |parent: &usize| *parent != child && end_of(*parent) <= begin;
            after.extend(before.iter().copied().filter(fits).map(|parent| (parent, child)));
        }
    }
    run.repaired_times("more parents than can be told apart: the last to end count", shortened);
    after.sort_unstable();
    after.dedup();
    for (parent, child) in after {
        run.tasks[child].after.push((parent, Origin::Assumed));
    }
    run.repaired_times("task of a process that is not in the graph", nameless);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_traces() {
        assert_eq!(bytes("11.5 MB"), Some(11.5 * 1024.0 * 1024.0));
        assert_eq!((bytes("2048"), bytes("-")), (Some(2048.0), None));
        assert_eq!((seconds("1m 19s"), seconds("241")), (Some(79.0), Some(0.241)));
        assert_eq!(split_name("A:B (x (1))"), ("A:B", Some("x (1)")));
        assert!(is_process("OUTER:A:B", "A:B") && !is_process("OUTERA:B", "A:B"));
    }
}
