//! Parsl: the monitoring database, opened read-only.

use super::unique;
use crate::dates;
use crate::engines::Engine;
use crate::record::{Attempt, Figure, Origin, Outcome, RecordedRun, TaskRecord};
use crate::sources::{Artefact, Found};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use slackline_io::{FormatError, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(std::time::Duration::from_secs(2))?;
    Ok(connection)
}

/// Whether a database is one of Parsl's monitoring.
pub(crate) fn is_monitoring(path: &Path) -> bool {
    let count = |connection: Connection| {
        connection.query_row(
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('workflow', 'task', 'try')",
            [],
            |row| row.get::<_, i64>(0),
        )
    };
    // A damaged or locked database is worth an error of its own: the reader gives it.
    open(path).and_then(count).map_or(true, |tables| tables == 3)
}

pub(crate) fn read(found: &Found) -> Result<RecordedRun> {
    let Some(path) = found.one(Artefact::ParslDatabase, "databases")? else {
        return Err(FormatError::new("no database"));
    };
    let fail = |e: rusqlite::Error| {
        FormatError::new(format!("cannot be read as a database: {e}")).in_file(path)
    };
    let connection = open(path).map_err(fail)?;
    from_database(&connection, path).map_err(fail)?
}

type Text = Option<String>;

fn from_database(connection: &Connection, path: &Path) -> rusqlite::Result<Result<RecordedRun>> {
    let mut run = RecordedRun::of(Engine::Parsl);
    // A view may compute for ever.
    let odd =
        "SELECT name FROM sqlite_master WHERE type = 'view' OR sql LIKE 'CREATE VIRTUAL%' LIMIT 1";
    if let Some(name) = connection.query_row(odd, [], |row| row.get::<_, String>(0)).optional()? {
        let message = format!("'{name}' is no plain table: Parsl writes no views");
        return Ok(Err(FormatError::new(message).in_file(path)));
    }
    let mut runs = connection.prepare(
        "SELECT run_id, workflow_name, time_began, time_completed, host FROM workflow ORDER BY time_began",
    )?;
    let runs: Vec<(String, Text, Text, Text, Text)> = runs
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let Some((id, name, began, ended, home)) = runs.last() else {
        return Ok(Err(FormatError::new("holds no run").in_file(path)));
    };
    if runs.len() > 1 {
        run.repaired_times("earlier run in the same database left out", runs.len() - 1);
    }
    let date = |text: &Text| text.as_deref().and_then(dates::iso);
    run.name = name.clone().unwrap_or_else(|| "parsl".to_string());
    run.began = date(began).and_then(Figure::measured);
    run.ended = date(ended).and_then(Figure::measured);
    if ended.is_none() {
        run.repaired("run without an end: it was still going on or was killed");
    }

    // A host has as many slots as its managers have workers; older databases do not contain their number.
    let has_workers = {
        let mut columns = connection.prepare("SELECT name FROM pragma_table_info('node')")?;
        let names = columns.query_map([], |row| row.get::<_, String>(0))?;
        let names: Vec<String> = names.collect::<rusqlite::Result<_>>()?;
        ["worker_count", "uid", "timestamp"].iter().all(|c| names.iter().any(|n| n == c))
    };
    let query = if has_workers {
        "SELECT hostname, max(cpu_count), max(total_memory), sum(worker_count), min(since) FROM \
         (SELECT hostname, max(cpu_count) AS cpu_count, max(total_memory) AS total_memory, \
         max(worker_count) AS worker_count, min(timestamp) AS since \
         FROM node WHERE run_id = ?1 GROUP BY hostname, uid) GROUP BY hostname ORDER BY hostname"
    } else {
        "SELECT hostname, max(cpu_count), max(total_memory), NULL, NULL \
         FROM node WHERE run_id = ?1 GROUP BY hostname ORDER BY hostname"
    };
    type Node = (String, Option<f64>, Option<f64>, Option<f64>, Text);
    let mut nodes = connection.prepare(query)?;
    let nodes: Vec<Node> = nodes
        .query_map([id], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut ready: Vec<(usize, f64)> = Vec::new();
    for (name, cores, memory, workers, since) in nodes {
        let host = run.host(&name);
        let slots = workers.filter(|w| *w >= 1.0);
        run.hosts[host].cores = slots.or(cores).and_then(Figure::measured);
        run.hosts[host].memory = memory.and_then(Figure::measured);
        if let (Some(slots), Some(since)) = (slots, date(&since)) {
            ready.extend(std::iter::repeat_n((host, since), slots.min(1e6) as usize));
        }
    }

    let sampled = sampled(connection, id)?;

    let mut states = connection.prepare(
        "SELECT task_id, try_id, task_status_name FROM status WHERE run_id = ?1 ORDER BY timestamp",
    )?;
    let states: HashMap<(i64, i64), String> = states
        .query_map([id], |r| Ok(((r.get(0)?, r.get(1)?), r.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;

    let mut tries = connection.prepare(
        "SELECT task_id, try_id, hostname, task_executor, task_try_time_launched, task_try_time_running, \
         task_try_time_returned, task_fail_history FROM \"try\" WHERE run_id = ?1 ORDER BY task_id, try_id",
    )?;
    let mut attempts: BTreeMap<i64, Vec<Attempt>> = BTreeMap::new();
    let mut rows = tries.query([id])?;
    while let Some(row) = rows.next()? {
        let (task, number): (i64, i64) = (row.get(0)?, row.get(1)?);
        let (host, executor): (Text, Text) = (row.get(2)?, row.get(3)?);
        let (launched, running, returned): (Text, Text, Text) =
            (row.get(4)?, row.get(5)?, row.get(6)?);
        let history: Text = row.get(7)?;
        let (start, end) = (date(&running), date(&returned));
        let has_failed = history.is_some_and(|h| !h.is_empty());
        let state = states.get(&(task, number)).map_or("", String::as_str);
        let outcome = match (end, state) {
            (_, "memo_done") => Outcome::Cached,
            (None, _) => Outcome::Open,
            (Some(_), "failed" | "dep_fail" | "fail_retryable") => Outcome::Failed,
            (Some(_), _) if has_failed => Outcome::Failed,
            _ => Outcome::Completed,
        };
        if outcome == Outcome::Open {
            run.repaired("open task: a try has no end");
        }
        let used = sampled.get(&(task, number)).copied().unwrap_or_default();
        let figure = |i: usize| used[i].filter(|v| *v > 0.0).and_then(Figure::measured);
        let name = host.or_else(|| home.clone()).unwrap_or_else(|| "localhost".to_string());
        let is_known = run.host_ids.contains_key(&name) || start.is_some();
        let attempt = Attempt {
            submitted: date(&launched).and_then(Figure::measured),
            start: start
                .and_then(Figure::measured)
                .or(date(&launched).and_then(Figure::assumed).filter(|_| end.is_some())),
            end: end.and_then(Figure::measured),
            host: is_known.then(|| run.host(&name)),
            slot: executor,
            cores: Figure::assumed(1.0),
            outcome,
            peak_memory: figure(0),
            cpu: figure(1),
            read: figure(2),
            written: figure(3),
            ..Attempt::default()
        };
        attempts.entry(task).or_default().push(attempt);
    }

    let mut tasks = connection.prepare(
        "SELECT task_id, task_depends, task_func_name, task_memoize, task_inputs, task_outputs FROM task \
         WHERE run_id = ?1 ORDER BY task_id",
    )?;
    let mut ids: HashMap<i64, usize> = HashMap::new();
    let mut depends: Vec<(usize, String)> = Vec::new();
    let mut taken = HashMap::new();
    let mut rows = tasks.query([id])?;
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let waits: Text = row.get(1)?;
        let kind: String = row.get(2)?;
        let (inputs, outputs): (Text, Text) = (row.get(4)?, row.get(5)?);
        let index = run.tasks.len();
        ids.insert(number, index);
        depends.push((index, waits.unwrap_or_default()));
        let mut task = TaskRecord {
            name: unique(&mut taken, format!("{kind}:{number}")),
            kind,
            attempts: attempts.remove(&number).unwrap_or_default(),
            ..TaskRecord::default()
        };
        for path in paths(&inputs.unwrap_or_default()) {
            let file = run.file(path);
            task.inputs.push(file);
        }
        for path in paths(&outputs.unwrap_or_default()) {
            let file = run.file(path);
            task.outputs.push(file);
        }
        run.tasks.push(task);
    }
    let producers = run.producers();
    for (index, waits) in depends {
        for word in waits.split(',').map(str::trim).filter(|w| !w.is_empty()) {
            match word.parse().ok().and_then(|number: i64| ids.get(&number).copied()) {
                Some(parent) => {
                    let by_file =
                        run.tasks[index].inputs.iter().any(|&f| producers[f] == Some(parent));
                    if !by_file {
                        run.tasks[index].after.push((parent, Origin::Measured));
                    }
                }
                None => run.repaired("dependency on a task that is not in the database left out"),
            }
        }
    }
    if !ready.is_empty() {
        begin_on_workers(&mut run, ready);
    }
    Ok(Ok(run))
}

/// Starts of tries that Parsl did not monitor: workers take them in the order of their launches, each when it has
/// ended the one before. Without workers a try counts as started when it was launched.
fn begin_on_workers(run: &mut RecordedRun, mut workers: Vec<(usize, f64)>) {
    let mut tries: Vec<(usize, usize)> = Vec::new();
    for (index, task) in run.tasks.iter().enumerate() {
        for (number, attempt) in task.attempts.iter().enumerate() {
            if attempt.end.is_none() {
                continue;
            }
            if attempt.start.is_none_or(|start| start.origin != Origin::Assumed) {
                return; // some were monitored: what is known of the others is too little
            }
            tries.push((index, number));
        }
    }
    let launched = |run: &RecordedRun, (index, number): (usize, usize)| {
        run.tasks[index].attempts[number].submitted.map_or(0.0, |f| f.value)
    };
    tries.sort_by(|&a, &b| launched(run, a).total_cmp(&launched(run, b)).then(a.cmp(&b)));
    for pair in tries {
        let at = launched(run, pair);
        let first = (0..workers.len()).min_by(|&a, &b| workers[a].1.total_cmp(&workers[b].1));
        let Some(first) = first else { return };
        let attempt = &mut run.tasks[pair.0].attempts[pair.1];
        let end = attempt.end.map_or(at, |f| f.value);
        let (host, free) = workers[first];
        attempt.start = Figure::derived(free.max(at).min(end));
        attempt.host = Some(host);
        workers[first].1 = end.max(free);
    }
}

/// The paths in the text of a list of files: `<File at … path=/data/x.fits filename=x.fits>`.
fn paths(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for part in text.split("<File at ").skip(1) {
        let path = part
            .split_once(" path=")
            .map(|(_, rest)| rest.split_once(" filename=").map_or(rest, |(p, _)| p));
        if let Some(path) = path.map(|p| p.trim_end_matches('>')).filter(|p| !found.contains(p)) {
            found.push(path);
        }
    }
    found
}

/// Memory, processor seconds, bytes read and written of each task and try.
type Used = HashMap<(i64, i64), [Option<f64>; 4]>;

/// What was sampled of each try: the largest memory; of processor time and bytes, which count from the start of the
/// worker's process, what they grew by. The first try of a process that runs several counts from its first sample.
fn sampled(connection: &Connection, id: &str) -> rusqlite::Result<Used> {
    let has =
        "SELECT count(*) FROM pragma_table_info('resource') WHERE name = 'psutil_process_pid'";
    let has_processes = connection.query_row(has, [], |r| r.get::<_, i64>(0))? > 0;
    let (process, order) =
        if has_processes { ("r.psutil_process_pid", "r.timestamp") } else { ("NULL", "r.rowid") };
    let mut samples = connection.prepare(&format!(
        "SELECT r.task_id, r.try_id, t.hostname, {process}, r.psutil_process_memory_resident, \
         r.psutil_process_time_user + r.psutil_process_time_system, r.psutil_process_disk_read, \
         r.psutil_process_disk_write FROM resource r LEFT JOIN \"try\" t ON t.run_id = r.run_id AND \
         t.task_id = r.task_id AND t.try_id = r.try_id WHERE r.run_id = ?1 ORDER BY {order}"
    ))?;
    type Sample = ((i64, i64), Option<(Option<String>, i64)>, [Option<f64>; 4]);
    let samples: Vec<Sample> = samples
        .query_map([id], |r| {
            let process = r.get::<_, Option<i64>>(3)?;
            let host: Option<String> = r.get(2)?;
            let values = [r.get(4)?, r.get(5)?, r.get(6)?, r.get(7)?];
            Ok(((r.get(0)?, r.get(1)?), process.map(|process| (host, process)), values))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let mut tries: HashMap<_, BTreeSet<(i64, i64)>> = HashMap::new();
    for (of, process, _) in samples.iter().filter(|sample| sample.1.is_some()) {
        tries.entry(process).or_default().insert(*of);
    }
    let is_shared = |process| tries.get(process).is_some_and(|tries| tries.len() > 1);
    let mut totals: HashMap<_, [Option<f64>; 4]> = HashMap::new();
    let mut before: HashMap<(i64, i64), [Option<f64>; 4]> = HashMap::new();
    let mut used = Used::new();
    for (of, process, values) in &samples {
        let base = *before.entry(*of).or_insert_with(|| match totals.get(process) {
            Some(totals) => *totals,
            None if is_shared(process) => *values,
            None => [None; 4],
        });
        if is_shared(process) {
            totals.insert(process, *values);
        }
        let most = used.entry(*of).or_insert([None; 4]);
        for (at, value) in values.iter().enumerate() {
            // Memory does not add up.
            let own = value.map(|v| if at == 0 { v } else { v - base[at].unwrap_or(0.0) });
            most[at] = match (most[at], own) {
                (Some(most), Some(own)) => Some(f64::max(most, own)),
                (most, own) => most.or(own),
            };
        }
    }
    Ok(used)
}
