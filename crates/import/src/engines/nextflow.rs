//! Nextflow: the trace, with any subset of its columns and with raw or human-readable units, or the execution report,
//! which has every column. The graph comes from the links to inputs in the work folders while these exist, else from the
//! process DAG (DOT or Mermaid) by process name and tag, which makes its edges assumed.

use super::mermaid;
use crate::dates;
use crate::engines::Engine;
use crate::record::{Attempt, Figure, Origin, Outcome, RecordedRun, TaskRecord, value};
use crate::sources::{Artefact, Found};
use serde_json::Value;
use slackline_io::{FileAccess, FormatError, Result};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

/// One line of a trace.
struct Line<'t> {
    folder: Folder<'t>,
    process: &'t str,
    tag: Option<&'t str>,
    attempt: Attempt,
    /// Number of the attempt, from 1.
    number: Option<u32>,
    /// Requested cores, bytes of memory and seconds of wall time.
    cores: Option<f64>,
    memory: Option<f64>,
    time: Option<f64>,
    host: Option<&'t str>,
    command: Option<&'t str>,
    /// Values that are there and cannot be read.
    unread: usize,
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
    hash: Option<usize>,
    workdir: Option<usize>,
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
            hash: column("hash"),
            workdir: column("workdir"),
        }
    }
}

pub(crate) fn read(found: &Found, files: &FileAccess) -> Result<RecordedRun> {
    let mut run = RecordedRun::of(Engine::Nextflow);
    let trace = found.one(Artefact::NextflowTrace, "traces")?;
    let report = found.one(Artefact::NextflowReport, "reports")?;
    let text = trace.map(|path| files.read_text(path)).transpose()?;
    let report_text = report.map(|path| files.read_text(path)).transpose()?;
    let cells: Table;
    let rows: Rows<'_>;
    let mut lines: Box<dyn Iterator<Item = Line<'_>>> =
        match (trace.zip(text.as_deref()), report.zip(report_text.as_deref())) {
            (None, None) => return processes(found, files),
            (None, Some((path, report))) => {
                cells = report_table(report).map_err(|e| e.in_file(path))?;
                Box::new(cells.lines().map_err(|e| e.in_file(path))?.into_iter())
            }
            (Some((path, text)), report) => {
                rows = Rows::of(text, &mut run).map_err(|e| e.in_file(path))?;
                let asks = |line: Line<'_>| line.cores.is_some() && line.memory.is_some();
                match report.filter(|_| !rows.lines().any(asks)) {
                    Some((_, report)) => {
                        cells = report_table(report).unwrap_or_default();
                        let lines = rows.lines().collect();
                        Box::new(prefer_report(lines, &cells, &mut run).into_iter())
                    }
                    None => Box::new(rows.lines()),
                }
            }
        };
    let (mut open, mut unread) = (0, 0);
    run.tasks.reserve(lines.size_hint().1.unwrap_or(0));
    let mut folders = WorkFolders::of(found.roots());
    // A later line of the same process and tag repeats one that failed.
    let mut failed: HashMap<(&str, Option<&str>), Vec<usize>> = HashMap::new();
    for line in lines.by_ref() {
        open += usize::from(line.attempt.outcome == Outcome::Open);
        unread += line.unread;
        let is_retry = line.number.is_none_or(|number| number > 1);
        let mut attempt = line.attempt;
        attempt.host = line.host.map(|name| run.host(name));
        let is_failure = !attempt.outcome.is_success() && attempt.outcome != Outcome::Open;
        let key = (is_failure || !failed.is_empty()).then_some((line.process, line.tag));
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
                let begin = line.process.bytes().rposition(|b| b == b':').map_or(0, |at| at + 1);
                let kind = &line.process[begin..];
                let label = match line.tag {
                    Some(tag) => [kind, ":", tag].concat(),
                    None => kind.to_string(),
                };
                run.tasks.push(TaskRecord {
                    name: label,
                    kind: line.process.to_string(),
                    command: line.command.map(str::to_string),
                    cores: line.cores.and_then(Figure::measured),
                    memory: line.memory.and_then(Figure::measured),
                    time_limit: line.time.and_then(Figure::measured),
                    attempts: vec![attempt],
                    ..TaskRecord::default()
                });
                run.tasks.len() - 1
            }
        };
        folders.push(index, line.folder);
        if let Some(key) = key.filter(|_| is_failure) {
            failed.entry(key).or_default().push(index);
        }
    }
    drop(lines);
    run.repaired_times("open task: the run was still going on", open);
    run.repaired_times("value that cannot be read left out", unread);
    if run.hosts.is_empty() {
        let host = run.host("unknown");
        for attempt in run.tasks.iter_mut().flat_map(|t| &mut t.attempts) {
            attempt.host = Some(host);
        }
        run.notes.push("the trace names no hosts: one host stands for all".to_string());
    }
    let known = staged(&mut run, &folders);
    match found.all(Artefact::NextflowDag) {
        _ if known.iter().all(|known| *known) => {}
        [] => run.notes.push("no process graph: tasks have no edges".to_string()),
        [dag, ..] => {
            let edges = process_edges(&files.read_text(dag)?, dag)?;
            join(&mut run, &edges, &known);
        }
    }
    Ok(run)
}

/// The work folder of an attempt, as the trace names it.
#[derive(Clone, Copy)]
struct Folder<'t> {
    /// Beginning of its name, such as `f5/3daca9`.
    hash: Option<&'t str>,
    path: Option<&'t str>,
}

impl Folder<'_> {
    /// The folder on this machine, if it still exists.
    fn find(&self, roots: &[PathBuf]) -> Option<PathBuf> {
        if let Some(path) = self.path.map(Path::new).filter(|path| path.is_dir()) {
            return Some(path.to_path_buf());
        }
        let (group, begin) = self.hash?.split_once('/')?;
        let is_plain = |part: &str| part.len() >= 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_plain(group) || !is_plain(begin) {
            return None;
        }
        roots.iter().find_map(|root| {
            let group = root.join("work").join(group);
            let entries = std::fs::read_dir(group).ok()?.filter_map(|entry| entry.ok());
            let mut named = entries.filter(|e| e.file_name().to_string_lossy().starts_with(begin));
            named.next().map(|entry| entry.path())
        })
    }
}

/// Number of work folders to look for; where none of these exists, all are taken to be gone.
const FIRST_FOLDERS: usize = 100;
/// Links to inputs in one work folder at most.
const MOST_LINKS: usize = 100_000;

/// The work folders of attempts, as long as any may still exist.
struct WorkFolders<'t, 'r> {
    roots: &'r [PathBuf],
    /// One of them was there.
    is_there: bool,
    /// Paths that were looked for.
    tried: usize,
    /// By attempt: its task and its folder.
    found: Vec<(usize, Folder<'t>)>,
}

impl<'t, 'r> WorkFolders<'t, 'r> {
    fn of(roots: &'r [PathBuf]) -> Self {
        let is_there = roots.iter().any(|root| root.join("work").is_dir());
        WorkFolders { roots, is_there, tried: 0, found: Vec::new() }
    }

    fn push(&mut self, task: usize, folder: Folder<'t>) {
        if !self.is_there && self.tried < FIRST_FOLDERS {
            self.tried += usize::from(folder.path.is_some());
            self.is_there = folder.path.is_some_and(|path| Path::new(path).is_dir());
        }
        if self.is_there || self.tried < FIRST_FOLDERS && folder.path.is_some() {
            self.found.push((task, folder));
        }
    }
}

/// Takes inputs from the links that Nextflow stages into work folders; each points into the folder of the task that
/// made the file. Returns for each task whether its folder was there.
fn staged(run: &mut RecordedRun, folders: &WorkFolders<'_, '_>) -> Vec<bool> {
    let mut known = vec![false; run.tasks.len()];
    if !folders.is_there {
        return known;
    }
    let (folders, roots) = (&folders.found, folders.roots);
    let makers: HashMap<&str, usize> =
        folders.iter().filter_map(|(task, folder)| Some((folder.hash?, *task))).collect();
    // The last attempt with a folder wins.
    for (task, folder) in folders.iter().rev() {
        let task = *task;
        if known[task] {
            continue;
        }
        let Some(folder) = folder.find(roots) else { continue };
        known[task] = true;
        let mut links = Vec::new();
        // Inputs may be staged into a folder of the work folder (`stageAs: 'dir/*'`), not deeper.
        links_in(&folder, 2, &mut links);
        for link in links {
            let Ok(target) = std::fs::read_link(&link) else { continue };
            let bytes = std::fs::metadata(&link).ok().filter(|m| m.is_file()).map(|m| m.len());
            let name = target.to_string_lossy().into_owned();
            let file = run.file(&name);
            run.files[file].bytes = bytes.and_then(|bytes| Figure::measured(bytes as f64));
            run.tasks[task].inputs.push(file);
            let maker = maker_of(&target, &makers).filter(|maker| *maker != task);
            if let Some(maker) = maker.filter(|&maker| !run.tasks[maker].outputs.contains(&file)) {
                run.tasks[maker].outputs.push(file);
            }
        }
    }
    known
}

/// The links in a folder and `depth - 1` levels of folders in it, by name.
fn links_in(folder: &Path, depth: usize, links: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        let Ok(meta) = std::fs::symlink_metadata(&path) else { continue };
        if meta.is_symlink() && links.len() < MOST_LINKS {
            links.push(path);
        } else if meta.is_dir() && depth > 1 {
            links_in(&path, depth - 1, links);
        }
    }
}

/// The task in whose work folder a path is: two components `f5/3daca95df5…`, of which traces show the beginning.
fn maker_of(path: &Path, makers: &HashMap<&str, usize>) -> Option<usize> {
    let parts: Vec<&str> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let shown = |pair: &[&str]| {
        let begin = pair[1].get(..6).filter(|_| pair[0].len() == 2)?;
        makers.get(format!("{}/{begin}", pair[0]).as_str()).copied()
    };
    parts.windows(2).rev().find_map(shown)
}

/// The lines of a report instead of those of a trace that lacks requests of cores and memory, if both are of one run:
/// if they have the same processes and tags.
fn prefer_report<'t>(
    lines: Vec<Line<'t>>,
    report: &'t Table,
    run: &mut RecordedRun,
) -> Vec<Line<'t>> {
    let names = |lines: &[Line<'t>]| {
        let mut names: Vec<_> = lines.iter().map(|line| (line.process, line.tag)).collect();
        names.sort_unstable();
        names
    };
    match report.lines() {
        Ok(full) if names(&full) == names(&lines) => full,
        Ok(full) if !full.is_empty() => {
            run.notes.push("the execution report is of another run than the trace".to_string());
            lines
        }
        _ => {
            run.notes.push("the execution report holds no tasks: the trace counts".to_string());
            lines
        }
    }
}

/// The tasks of a report as a table.
#[derive(Default)]
struct Table {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn lines(&self) -> Result<Vec<Line<'_>>> {
        let place = |name: &str| self.names.iter().position(|known| known == name);
        let columns = Columns::of(&place);
        let mut lines = Vec::with_capacity(self.rows.len());
        for (index, row) in self.rows.iter().enumerate() {
            let line = columns.line(&|column| row[column].as_str());
            lines.push(
                line.map_err(|message| FormatError::in_path(format!("trace[{index}]"), message))?,
            );
        }
        Ok(in_order(lines))
    }
}

/// The tasks in an execution report, which assigns them to `window.data` as a JavaScript literal.
fn report_table(text: &str) -> Result<Table> {
    let literal = text.split_once("window.data").map(|(_, rest)| rest.trim_start());
    let literal = literal.and_then(|rest| rest.strip_prefix('=')).map(plain_json);
    let literal = literal.ok_or_else(|| FormatError::new("is no execution report: no data"))?;
    let data = serde_json::Deserializer::from_str(&literal).into_iter::<Value>().next();
    let data = data.and_then(|data| data.ok()).ok_or_else(|| {
        FormatError::new("the data of the report are not valid JSON: is the file cut off?")
    })?;
    let Some(records) = data["trace"].as_array() else {
        return Err(FormatError::new("the report holds no tasks")
            .with_help("there were more than report.maxTasks: name the trace"));
    };
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for record in records {
        names.extend(record.as_object().into_iter().flat_map(|r| r.keys()).map(String::as_str));
    }
    let cell = |value: &Value| match value {
        Value::String(text) => text.trim().to_string(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let row = |record: &Value| names.iter().map(|name| cell(&record[*name])).collect();
    let rows = records.iter().map(row).collect();
    Ok(Table { rows, names: names.into_iter().map(str::to_string).collect() })
}

/// A JavaScript literal of Nextflow as JSON, which has no escaped apostrophes.
fn plain_json(literal: &str) -> String {
    let mut json = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(at) = rest.find('\\') {
        json.push_str(&rest[..at]);
        let mut escape = rest[at + 1..].chars();
        match escape.next() {
            Some('\'') => json.push('\''),
            Some(other) => {
                json.push('\\');
                json.push(other);
            }
            None => {}
        }
        rest = escape.as_str();
    }
    json.push_str(rest);
    json
}

/// The graph of processes alone, as a run without times: all that is known before the workflow has run.
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

/// The rows of a trace in the order of their dates. What a row holds is read when its turn comes: a million of them
/// would fill the memory otherwise.
struct Rows<'t> {
    text: &'t str,
    columns: Columns,
    width: usize,
    /// Date, and first byte.
    order: Vec<(f64, usize)>,
}

impl<'t> Rows<'t> {
    fn of(text: &'t str, run: &mut RecordedRun) -> Result<Rows<'t>> {
        let (mut number, mut at) = (0, 0);
        let mut cells: Vec<&str> = Vec::new();
        let header: Vec<&str> = loop {
            if at >= text.len() {
                return Err(FormatError::new("empty"));
            }
            let row = split(text, at, &mut cells);
            at += row.len() + 1;
            number += 1;
            if !row.trim().is_empty() {
                break cells.iter().map(|name| name.trim()).collect();
            }
        };
        let column = |name: &str| header.iter().position(|c| *c == name);
        if column("name").is_none() && column("process").is_none() {
            return Err(FormatError::at(1, 1, "has neither a column 'name' nor 'process'"));
        }
        let columns = Columns::of(&column);
        let width = header.len();
        let mut order = Vec::with_capacity(text.len() / 160);
        let mut cut = 0;
        while at < text.len() {
            let begin = at;
            let row = split(text, begin, &mut cells);
            at += row.len() + 1;
            number += 1;
            if row.trim_start().is_empty() {
                continue;
            }
            if cells.len() > width {
                let message = format!("{} values under {width} columns", cells.len());
                return Err(FormatError::at(number, 1, message));
            }
            if cells.len() < width {
                cut += 1;
                continue;
            }
            let date = match columns.submission(&cells) {
                Some(date) => date,
                None => {
                    let line = columns.line(&|column| cells[column]);
                    date_of(&line.map_err(|message| FormatError::at(number, 1, message))?)
                }
            };
            order.push((date, begin));
        }
        run.repaired_times("cut-off line left out", cut);
        if !order.is_sorted_by(|a, b| a.0 <= b.0) {
            order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        Ok(Rows { text, columns, width, order })
    }

    fn lines<'r>(&'r self) -> impl Iterator<Item = Line<'t>> + use<'r, 't> {
        let mut cells: Vec<&str> = Vec::with_capacity(self.width);
        self.order.iter().filter_map(move |&(_, begin)| {
            split(self.text, begin, &mut cells);
            // What cannot be a line was an error before.
            self.columns.line(&|column| cells[column]).ok()
        })
    }
}

/// The row that begins at a byte, without its line end, and its cells between tabs.
fn split<'t>(text: &'t str, begin: usize, cells: &mut Vec<&'t str>) -> &'t str {
    cells.clear();
    let rest = &text[begin..];
    let mut from = 0;
    for at in memchr::memchr2_iter(b'\t', b'\n', rest.as_bytes()) {
        cells.push(&rest[from..at]);
        if rest.as_bytes()[at] == b'\n' {
            return &rest[..at];
        }
        from = at + 1;
    }
    cells.push(&rest[from..]);
    rest
}

/// The date by which lines are ordered.
fn date_of(line: &Line<'_>) -> f64 {
    value(line.attempt.submitted.or(line.attempt.start)).unwrap_or(f64::MAX)
}

/// Lines by date of submission.
fn in_order(mut lines: Vec<Line<'_>>) -> Vec<Line<'_>> {
    lines.sort_by(|a, b| date_of(a).total_cmp(&date_of(b)));
    lines
}

/// The cell without white space around it.
fn trimmed(cell: &str) -> &str {
    let is_plain = |byte: Option<&u8>| byte.is_none_or(|b| b.is_ascii_graphic());
    if is_plain(cell.as_bytes().first()) && is_plain(cell.as_bytes().last()) {
        cell
    } else {
        cell.trim()
    }
}

impl Columns {
    /// The date of submission of a line that surely can be read, where it has one.
    fn submission(&self, cells: &[&str]) -> Option<f64> {
        let cell = |column: Option<usize>| Some(trimmed(cells[column?]));
        let is_named = |cell: Option<&str>| cell.is_some_and(|c| !matches!(c, "" | "-" | "null"));
        let is_usual = matches!(cell(self.status)?, "COMPLETED" | "FAILED" | "ABORTED");
        if !is_usual || !is_named(cell(self.process)) && !is_named(cell(self.name)) {
            return None;
        }
        let date = moment(cell(self.submit).filter(|c| !matches!(*c, "" | "-" | "null"))?);
        date.filter(|date| date.is_finite() && *date >= 0.0)
    }

    /// A line from its cells.
    fn line<'t>(&self, text: &impl Fn(usize) -> &'t str) -> std::result::Result<Line<'t>, String> {
        // `-` is unknown; `0` of a measurement too.
        let cell = |column: Option<usize>| {
            let cell = column.map(|column| trimmed(text(column)));
            cell.filter(|c| !matches!(*c, "" | "-" | "null"))
        };
        let unread = Cell::new(0);
        let read = |column: Option<usize>, reader: fn(&str) -> Option<f64>| {
            let cell = cell(column)?;
            let found = reader(cell).filter(|number| number.is_finite() && *number >= 0.0);
            unread.set(unread.get() + usize::from(found.is_none()));
            found
        };
        let size = |column: Option<usize>| read(column, bytes);
        let span = |column: Option<usize>| read(column, seconds);
        let date = |column: Option<usize>| read(column, moment);
        let measured = |value: Option<f64>| value.filter(|v| *v > 0.0).and_then(Figure::measured);
        let name = cell(self.name);
        let (process, tag) = match (cell(self.process), name) {
            (Some(process), name) => {
                let tag = cell(self.tag).or_else(|| split_name(name.unwrap_or_default()).1);
                (process, tag)
            }
            (None, Some(name)) => {
                let (process, tag) = split_name(name);
                (process, tag)
            }
            (None, None) => return Err("a task without a name".to_string()),
        };
        let tag = tag.filter(|tag| *tag != "null");
        let status = cell(self.status).unwrap_or("COMPLETED");
        let exit = cell(self.exit).and_then(|c| c.parse::<i64>().ok());
        let outcome = match status {
            "COMPLETED" => Outcome::Completed,
            "CACHED" => Outcome::Cached,
            // 128 + SIGKILL, and -9 in one byte: killed by the kernel or a container for lack of memory.
            "FAILED" if exit == Some(137) || exit == Some(247) => Outcome::OutOfMemory,
            // 128 + SIGUSR2, by which batch systems announce the end of the wall time.
            "FAILED" if exit == Some(140) => Outcome::TimedOut,
            "FAILED" => Outcome::Failed,
            "ABORTED" => Outcome::Cancelled,
            "NEW" | "SUBMITTED" | "RUNNING" => Outcome::Open,
            other => {
                return Err(format!("unknown status '{other}'"));
            }
        };
        let submitted = date(self.submit).and_then(Figure::measured);
        let (duration, real) = (span(self.duration), span(self.realtime));
        let end = date(self.complete).and_then(Figure::measured);
        let end =
            end.or(value(submitted).zip(duration).and_then(|(at, d)| Figure::derived(at + d)));
        let start = date(self.start).and_then(Figure::measured);
        // Without a column of starts: the computation is the last `realtime` of the task, after waits and staging.
        let start =
            start.or(value(end).zip(real).and_then(|(end, real)| Figure::derived(end - real)));
        let start = start.or(submitted.map(|at| Figure { origin: Origin::Assumed, ..at }));
        let (start, end, submitted) = match outcome {
            Outcome::Cached => (None, None, None),
            Outcome::Open => (start, None, submitted),
            _ => (start, end, submitted),
        };
        let cpu = cell(self.cpu).and_then(|c| dates::number(c.trim_end_matches('%')));
        let cores = cell(self.cpus).and_then(dates::number);
        let attempt = Attempt {
            submitted,
            start,
            end,
            cores: cores.and_then(Figure::measured).or(Figure::assumed(1.0)),
            outcome,
            exit,
            peak_memory: measured(size(self.peak_rss).or_else(|| size(self.rss))),
            cpu: cpu.zip(real).and_then(|(percent, s)| Figure::derived(percent / 100.0 * s)),
            read: measured(size(self.rchar).or_else(|| size(self.read_bytes))),
            written: measured(size(self.wchar).or_else(|| size(self.write_bytes))),
            took: real.filter(|_| outcome == Outcome::Cached).and_then(Figure::measured),
            ..Attempt::default()
        };
        Ok(Line {
            folder: Folder { hash: cell(self.hash), path: cell(self.workdir) },
            process,
            tag,
            attempt,
            number: cell(self.attempt).and_then(|c| c.parse().ok()),
            cores,
            memory: size(self.memory),
            time: span(self.time),
            host: cell(self.hostname),
            command: cell(self.script),
            unread: unread.get(),
        })
    }
}

/// Splits `PROCESS (tag)`.
fn split_name(name: &str) -> (&str, Option<&str>) {
    let Some(inner) = name.strip_suffix(')') else { return (name, None) };
    match inner.as_bytes().windows(2).position(|pair| pair == b" (") {
        Some(at) => (&inner[..at], Some(&inner[at + 2..])),
        None => (name, None),
    }
}

/// Reads `11.3 GB`, with units of 1024, or a number of bytes.
fn bytes(text: &str) -> Option<f64> {
    let at = text.bytes().position(|b| b == b' ');
    let (number, unit) = at.map_or((text, "B"), |at| (&text[..at], &text[at + 1..]));
    let power = match unit {
        "B" => 0,
        "KB" => 1,
        "MB" => 2,
        "GB" => 3,
        "TB" => 4,
        "PB" => 5,
        _ => return None,
    };
    Some(dates::number(number)? * (1u64 << (10 * power)) as f64)
}

/// Reads `1m 19s`, or a number of milliseconds.
fn seconds(text: &str) -> Option<f64> {
    // What ends in a unit is no number, but `inf` and `nan` are.
    let is_number = text.ends_with(|c: char| c.is_ascii_digit() || "fnyFNY.".contains(c));
    let ms = if is_number { text.parse::<f64>().ok() } else { None };
    ms.map(|ms| ms / 1000.0).or_else(|| dates::words(text))
}

/// Reads a date, or a number of milliseconds since the epoch; gives seconds.
fn moment(text: &str) -> Option<f64> {
    dates::plain(text.as_bytes())
        .or_else(|| text.parse::<f64>().ok().map(|ms| ms / 1000.0))
        .or_else(|| dates::iso(text))
}

/// Edges between processes, through the operators between them, in DOT or Mermaid.
fn process_edges(text: &str, path: &Path) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut labels: HashMap<&str, &str> = HashMap::new();
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    if let Some(chart) = mermaid::Chart::find(text) {
        // Processes are nodes of the shape "stadium", `([name])`; with `dag.verbose` operators are too, in lower case.
        let is_process = |node: &mermaid::Node<'_>| {
            node.shape == "([" && !node.label.starts_with(char::is_lowercase)
        };
        labels.extend(chart.nodes.iter().filter(|n| is_process(n)).map(|n| (n.id, n.label)));
        for (from, to) in chart.edges {
            next.entry(from).or_default().push(to);
        }
        return Ok(through(&labels, &next));
    }
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
    Ok(through(&labels, &next))
}

/// The edges between labelled nodes, through those without a label.
fn through(
    labels: &HashMap<&str, &str>,
    next: &BTreeMap<&str, Vec<&str>>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut edges: BTreeMap<String, BTreeSet<String>> =
        labels.values().map(|label| (label.to_string(), BTreeSet::new())).collect();
    for (&node, &label) in labels {
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
    edges
}

/// Whether a process of the trace is one of the graph: the graph leaves out the names of outer workflows.
fn is_process(traced: &str, drawn: &str) -> bool {
    traced == drawn || traced.strip_suffix(drawn).is_some_and(|outer| outer.ends_with(':'))
}

/// Most parents of a task, where all tasks of a process may come before it.
const MOST_PARENTS: usize = 2000;

/// Joins tasks along the edges of their processes: those with the same tag, else all that had ended
/// before the other was submitted. Those whose inputs are known are left alone.
fn join(run: &mut RecordedRun, edges: &BTreeMap<String, BTreeSet<String>>, known: &[bool]) {
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
        let children = targets.iter().filter_map(|to| members.get(to.as_str())).flatten().copied();
        for child in children.filter(|&child| !known[child]) {
            // Dates are rounded to milliseconds.
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
