//! Dask: the graph by key, the task stream or the performance report, and the scheduler's information on its
//! workers. The size of a task's result is its file; bandwidths are derived from transfers with a source.

use super::json;
use crate::engines::Engine;
use crate::record::{Attempt, Figure, Outcome, RecordedRun, TaskRecord, Transfer};
use crate::sources::{Artefact, Found};
use serde_json::Value;
use slackline_io::{FileAccess, FormatError, Result};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

pub(crate) fn read(found: &Found, files: &FileAccess) -> Result<RecordedRun> {
    let mut run = RecordedRun::of(Engine::Dask);
    let mut keys: HashMap<String, usize> = HashMap::new();
    let mut sizes: HashMap<usize, f64> = HashMap::new();
    match (
        found.one(Artefact::DaskStream, "task streams")?,
        found.one(Artefact::DaskReport, "reports")?,
    ) {
        (Some(path), _) => {
            let stream = json(files, path)?;
            from_stream(&mut run, &stream, &mut keys, &mut sizes).map_err(|e| e.in_file(path))?;
        }
        (None, Some(path)) => {
            let text = files.read_text(path)?;
            from_report(&mut run, &text, &mut keys).map_err(|e| e.in_file(path))?;
        }
        (None, None) => {
            return Err(FormatError::new("a graph without a task stream tells no times"));
        }
    }
    match found.one(Artefact::DaskGraph, "graphs")? {
        Some(path) => {
            let graph = json(files, path)?;
            from_graph(&mut run, &graph, &mut keys, path)?;
        }
        None => run.notes.push("no graph: tasks have no edges".to_string()),
    }
    if let Some(path) = found.last(Artefact::DaskScheduler) {
        let scheduler = json(files, path)?;
        for (address, worker) in scheduler["workers"].as_object().into_iter().flatten() {
            let host = run.host(address);
            run.hosts[host].cores = worker["nthreads"].as_f64().and_then(Figure::measured);
            run.hosts[host].memory = worker["memory_limit"].as_f64().and_then(Figure::measured);
        }
    }
    // The result of each task is a file that its children read.
    let parents: Vec<Vec<usize>> =
        run.tasks.iter().map(|t| t.after.iter().map(|a| a.0).collect()).collect();
    let read: std::collections::BTreeSet<usize> = parents.iter().flatten().copied().collect();
    for index in 0..run.tasks.len() {
        if read.contains(&index) || sizes.contains_key(&index) {
            let name = format!("{}.result", run.tasks[index].name);
            let file = run.file(&name);
            run.files[file].bytes = sizes.get(&index).copied().and_then(Figure::measured);
            run.tasks[index].outputs.push(file);
        }
    }
    for (index, of_task) in parents.into_iter().enumerate() {
        run.tasks[index].after.clear();
        for parent in of_task {
            let file = run.tasks[parent].outputs[0];
            run.tasks[index].inputs.push(file);
        }
    }
    // The stream has no sizes of transfers: one moved the results of all parents that ran at its source.
    let on = |run: &RecordedRun, task: usize| run.tasks[task].last().and_then(|a| a.host);
    let producers = run.producers();
    for at in 0..run.transfers.len() {
        let transfer = run.transfers[at];
        let inputs = run.tasks[transfer.task].inputs.iter();
        let from_there =
            inputs.filter(|&&f| producers[f].and_then(|p| on(&run, p)) == Some(transfer.from));
        let bytes: f64 = from_there.filter_map(|&f| run.files[f].bytes).map(|b| b.value).sum();
        run.transfers[at].bytes = (bytes > 0.0).then_some(bytes);
    }
    Ok(run)
}

/// The kind of a key: `clean` of `clean-26f32121-66c9-…`, `load` of `load-4`.
fn kind_of(key: &str) -> String {
    let key = key.trim_start_matches("('").split('\'').next().unwrap_or(key);
    key.split_once('-').map_or(key, |(kind, _)| kind).to_string()
}

/// The position of the task of a key; it is added where it is new.
fn task_of(run: &mut RecordedRun, keys: &mut HashMap<String, usize>, key: &str) -> usize {
    if let Some(&known) = keys.get(key) {
        return known;
    }
    keys.insert(key.to_string(), run.tasks.len());
    run.tasks.push(TaskRecord {
        name: key.to_string(),
        kind: kind_of(key),
        ..TaskRecord::default()
    });
    run.tasks.len() - 1
}

fn from_stream(
    run: &mut RecordedRun,
    stream: &Value,
    keys: &mut HashMap<String, usize>,
    sizes: &mut HashMap<usize, f64>,
) -> Result<()> {
    let records = stream.as_array().ok_or_else(|| FormatError::new("is no list of records"))?;
    for (index, record) in records.iter().enumerate() {
        let fail = |key: &str| {
            FormatError::in_path(format!("[{index}].{key}"), "missing or of another type")
        };
        let key = record["key"].as_str().ok_or_else(|| fail("key"))?;
        let task = task_of(run, keys, key);
        let worker = record["worker"].as_str().ok_or_else(|| fail("worker"))?;
        let host = run.host(worker);
        let is_ok = record["status"].as_str().unwrap_or("OK") == "OK";
        if let Some(bytes) = record["nbytes"].as_f64().filter(|_| is_ok) {
            sizes.insert(task, bytes);
        }
        let mut attempt = Attempt {
            host: Some(host),
            slot: Some(record["thread"].to_string()),
            cores: Figure::assumed(1.0),
            outcome: if is_ok { Outcome::Completed } else { Outcome::Failed },
            ..Attempt::default()
        };
        for step in record["startstops"].as_array().into_iter().flatten() {
            let date = |key: &str| step[key].as_f64();
            let (Some(start), Some(end)) = (date("start"), date("stop")) else {
                return Err(fail("startstops"));
            };
            match step["action"].as_str().unwrap_or_default() {
                "compute" => {
                    attempt.start = Figure::measured(start);
                    attempt.end = Figure::measured(end);
                }
                "transfer" => {
                    if let Some(source) = step["source"].as_str() {
                        let from = run.host(source);
                        run.transfers.push(Transfer {
                            task,
                            from,
                            to: host,
                            bytes: None,
                            start,
                            end,
                        });
                    }
                }
                _ => {}
            }
        }
        run.tasks[task].attempts.push(attempt);
    }
    Ok(())
}

/// The task stream inside a performance report: a Bokeh document whose data source has the columns.
fn from_report(run: &mut RecordedRun, text: &str, keys: &mut HashMap<String, usize>) -> Result<()> {
    let marker = "<script type=\"application/json\"";
    let body =
        text.split_once(marker).and_then(|(_, rest)| rest.split_once('>')).map(|(_, rest)| rest);
    let body = body.and_then(|rest| rest.split_once("</script>")).map(|(json, _)| json);
    let body =
        body.ok_or_else(|| FormatError::new("is no performance report: it holds no document"))?;
    let document: Value = serde_json::from_str(body.trim())
        .map_err(|e| FormatError::new(format!("the document inside is not valid JSON: {e}")))?;
    let Some(columns) = stream_columns(&document) else {
        return Err(FormatError::new("the report holds no task stream"));
    };
    let column = |name: &str| {
        columns.get(name).ok_or_else(|| FormatError::new(format!("no column '{name}'")))
    };
    let (starts, durations) = (column("start")?, column("duration")?);
    let (names, workers, of) = (column("name")?, column("worker_thread")?, column("key")?);
    for row in 0..starts.len() {
        let cell = |column: &[Value]| column.get(row).cloned().unwrap_or_default();
        let (Some(centre), Some(length)) = (cell(starts).as_f64(), cell(durations).as_f64()) else {
            return Err(FormatError::new(format!("row {row} of the task stream has no times")));
        };
        // In milliseconds; `start` is the middle of the bar.
        let (start, end) = ((centre - length / 2.0) / 1000.0, (centre + length / 2.0) / 1000.0);
        let (key, name, worker) = (cell(of), cell(names), cell(workers));
        let (Some(key), Some(name), Some(worker)) = (key.as_str(), name.as_str(), worker.as_str())
        else {
            return Err(FormatError::new(format!("row {row} of the task stream names no task")));
        };
        if name.starts_with("transfer-")
            || name.starts_with("disk-")
            || name.starts_with("deserialize-")
        {
            continue; // the report does not name the source of a transfer
        }
        let (address, thread) = worker.rsplit_once('-').unwrap_or((worker, ""));
        let task = task_of(run, keys, key);
        let host = run.host(address);
        run.tasks[task].attempts.push(Attempt {
            start: Figure::measured(start),
            end: Figure::measured(end),
            host: Some(host),
            slot: Some(thread.to_string()),
            cores: Figure::assumed(1.0),
            ..Attempt::default()
        });
    }
    Ok(())
}

/// The columns of the first data source that has those of a task stream.
fn stream_columns(value: &Value) -> Option<BTreeMap<String, Vec<Value>>> {
    match value {
        Value::Object(object) => {
            if object.get("name").and_then(Value::as_str) == Some("ColumnDataSource") {
                let entries = &object.get("attributes")?["data"]["entries"];
                let columns: BTreeMap<String, Vec<Value>> = entries
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|e| Some((e[0].as_str()?.to_string(), e[1].as_array()?.clone())))
                    .collect();
                if columns.contains_key("worker_thread") && columns.contains_key("duration") {
                    return Some(columns);
                }
            }
            object.values().find_map(stream_columns)
        }
        Value::Array(values) => values.iter().find_map(stream_columns),
        _ => None,
    }
}

fn from_graph(
    run: &mut RecordedRun,
    graph: &Value,
    keys: &mut HashMap<String, usize>,
    path: &Path,
) -> Result<()> {
    let fail = |place: &str, what: &str| FormatError::in_path(place, what).in_file(path);
    let graph = graph.as_object().ok_or_else(|| fail("", "is no object of keys"))?;
    let known = run.tasks.len();
    for (key, dependencies) in graph {
        let task = task_of(run, keys, key);
        let list = dependencies.as_array().ok_or_else(|| fail(key, "is no list of keys"))?;
        for name in list {
            let name = name.as_str().ok_or_else(|| fail(key, "names a key that is no text"))?;
            if !graph.contains_key(name) {
                return Err(fail(key, &format!("depends on '{name}', which is not in the graph")));
            }
            let parent = task_of(run, keys, name);
            run.tasks[task].after.push((parent, crate::record::Origin::Measured));
        }
    }
    // Fused and trivial keys (data, aliases) never run.
    run.repaired_times("key of the graph that never ran: no time", run.tasks.len() - known);
    Ok(())
}
