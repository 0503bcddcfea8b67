//! Snakemake 8 and 9: one metadata record per output file, joined by job; the run's log for threads,
//! resources, retries and hosts; benchmarks for memory and processor time; files on disk for sizes.

use super::{json, unique};
use crate::dates;
use crate::engines::Engine;
use crate::record::{Attempt, Figure, Outcome, RecordedRun, TaskRecord};
use crate::sources::{Artefact, Found};
use base64::Engine as _;
use serde_json::Value;
use slackline_io::{FileAccess, FormatError, Result};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// A job of the log.
#[derive(Debug, Default)]
struct Logged {
    outputs: Vec<String>,
    benchmark: Option<String>,
    threads: Option<f64>,
    memory: Option<f64>,
    minutes: Option<f64>,
    wildcards: Option<String>,
    /// When it was started each time.
    starts: Vec<f64>,
    /// When it failed.
    failures: Vec<f64>,
}

#[derive(Debug, Default)]
struct Log {
    version: Option<String>,
    host: Option<String>,
    cores: Option<f64>,
    began: Option<f64>,
    ended: Option<f64>,
    jobs: BTreeMap<u64, Logged>,
}

pub(crate) fn read(found: &Found, files: &FileAccess) -> Result<RecordedRun> {
    let mut run = RecordedRun::of(Engine::Snakemake);
    let metadata = found.all(Artefact::SnakemakeMetadata);
    if metadata.is_empty() {
        return before(found, files);
    }
    if found.all(Artefact::SnakemakeLog).len() > 1 {
        run.notes
            .push("several logs: the last one tells threads, resources and retries".to_string());
    }
    let log = match found.last(Artefact::SnakemakeLog) {
        Some(path) => parse_log(&files.read_text(path)?),
        None => Log::default(),
    };
    run.version = log.version.clone();
    let host_name = log.host.clone().unwrap_or_else(|| "localhost".to_string());
    let home = run.host(&host_name);
    run.hosts[home].cores = log.cores.and_then(Figure::measured);
    run.began = log.began.and_then(Figure::measured);
    run.ended = log.ended.and_then(Figure::measured);
    let base = base_folder(&metadata[0]);

    // Records of one job by its hash; older versions have none.
    let mut jobs: BTreeMap<(String, String), Vec<(String, Value)>> = BTreeMap::new();
    for path in metadata {
        let record = json(files, path)?;
        let output = output_of(path).map_err(|e| e.in_file(path))?;
        let text = |key: &str| record.get(key).map(Value::to_string).unwrap_or_default();
        let hash = match record.get("job_hash") {
            Some(Value::Null) | None => {
                format!("{}{}{}", text("shellcmd"), text("input"), text("log"))
            }
            Some(hash) => hash.to_string(),
        };
        let rule = record.get("rule").and_then(Value::as_str).unwrap_or_default().to_string();
        if rule.is_empty() {
            return Err(FormatError::in_path("rule", "no name of a rule").in_file(path));
        }
        jobs.entry((rule, hash)).or_default().push((output, record));
    }
    let mut order: Vec<_> = jobs.into_iter().collect();
    let start_of = |records: &[(String, Value)]| {
        let starts = records.iter().filter_map(|(_, r)| r.get("starttime")?.as_f64());
        starts.min_by(f64::total_cmp)
    };
    order.sort_by(|a, b| {
        let (x, y) = (start_of(&a.1).unwrap_or(f64::MAX), start_of(&b.1).unwrap_or(f64::MAX));
        x.total_cmp(&y).then_with(|| a.1[0].0.cmp(&b.1[0].0))
    });
    let benchmarks = benchmarks(found, files)?;
    let by_output: HashMap<&str, &Logged> = log
        .jobs
        .values()
        .flat_map(|job| job.outputs.iter().map(move |output| (output.as_str(), job)))
        .collect();
    let mut taken = HashMap::new();
    for ((rule, _), records) in order {
        let mut task = TaskRecord { kind: rule.clone(), ..TaskRecord::default() };
        let first = &records[0].1;
        let logged = records.iter().find_map(|(output, _)| by_output.get(output.as_str()).copied());
        let label = logged.and_then(|job| job.wildcards.as_deref()).map(short_wildcards);
        let label = label.unwrap_or_else(|| records[0].0.clone());
        task.name = unique(&mut taken, format!("{rule}:{label}"));
        task.command = first.get("shellcmd").and_then(Value::as_str).map(str::to_string);
        for name in first.get("input").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = name.as_str() {
                let file = run.file(name);
                task.inputs.push(file);
            }
        }
        for (output, _) in &records {
            let file = run.file(output);
            task.outputs.push(file);
        }
        let mut attempt = Attempt { host: Some(home), ..Attempt::default() };
        attempt.start = start_of(&records).and_then(Figure::measured);
        let ends = records.iter().filter_map(|(_, r)| r.get("endtime")?.as_f64());
        attempt.end = ends.max_by(f64::total_cmp).and_then(Figure::measured);
        let incomplete =
            records.iter().any(|(_, r)| r.get("incomplete") == Some(&Value::Bool(true)));
        if incomplete || attempt.end.is_none() {
            attempt.outcome = Outcome::Open;
            run.repaired("open task: a record has no end");
        }
        attempt.cores = Figure::assumed(1.0);
        if let Some(job) = logged {
            task.cores = job.threads.and_then(Figure::measured);
            attempt.cores = task.cores.or(Figure::assumed(1.0));
            task.memory = job.memory.and_then(Figure::measured);
            task.time_limit = job.minutes.and_then(|m| Figure::measured(m * 60.0));
            for (start, end) in job.starts.iter().zip(&job.failures) {
                task.attempts.push(Attempt {
                    start: Figure::measured(*start),
                    end: Figure::measured(*end),
                    outcome: Outcome::Failed,
                    ..attempt.clone()
                });
            }
        }
        let of_task = logged.and_then(|job| job.benchmark.as_deref());
        let of_task =
            of_task.and_then(|path| benchmarks.iter().find(|(known, _)| ends_in(known, path)));
        if let Some((_, rows)) = of_task {
            let most = |column: usize| rows.iter().filter_map(|r| r[column]).max_by(f64::total_cmp);
            attempt.peak_memory = most(0).and_then(|mb| Figure::measured(mb * 1024.0 * 1024.0));
            let total = |column: usize| {
                let values: Vec<f64> = rows.iter().filter_map(|r| r[column]).collect();
                (!values.is_empty()).then(|| values.iter().sum::<f64>())
            };
            attempt.cpu = total(1).and_then(Figure::measured);
            attempt.read = total(2).and_then(|mb| Figure::measured(mb * 1024.0 * 1024.0));
            attempt.written = total(3).and_then(|mb| Figure::measured(mb * 1024.0 * 1024.0));
            if rows.len() > 1 {
                run.repaired("benchmark repeated inside one job: the job's own times count");
            }
        }
        task.attempts.push(attempt);
        run.tasks.push(task);
    }
    if let Some(base) = base {
        for file in &mut run.files {
            let on_disk = std::fs::metadata(base.join(&file.name));
            file.bytes =
                on_disk.ok().filter(|m| m.is_file()).and_then(|m| Figure::measured(m.len() as f64));
        }
    }
    Ok(run)
}

/// A graph that was asked for before a run: rules and edges, no times.
fn before(found: &Found, files: &FileAccess) -> Result<RecordedRun> {
    let mut run = RecordedRun::of(Engine::Snakemake);
    let Some(path) = found.one(Artefact::SnakemakeD3Dag, "graphs")? else {
        return Err(FormatError::new("a log or benchmarks alone tell no tasks")
            .with_help("name the working folder, which holds .snakemake/metadata"));
    };
    let graph = json(files, path)?;
    let fail = |place: String, what: &str| FormatError::in_path(place, what).in_file(path);
    let mut ids = HashMap::new();
    let mut taken = HashMap::new();
    for (index, node) in graph["nodes"].as_array().into_iter().flatten().enumerate() {
        let id =
            node["id"].as_u64().ok_or_else(|| fail(format!("nodes[{index}].id"), "no number"))?;
        let rule = node["value"]["rule"].as_str().unwrap_or("job").to_string();
        ids.insert(id, run.tasks.len());
        let name = unique(&mut taken, rule.clone());
        run.tasks.push(TaskRecord { name, kind: rule, ..TaskRecord::default() });
    }
    for (index, edge) in graph["edges"].as_array().into_iter().flatten().enumerate() {
        let end = |key: &str| edge[key].as_u64().and_then(|id| ids.get(&id).copied());
        match (end("u"), end("v")) {
            (Some(from), Some(to)) => {
                run.tasks[to].after.push((from, crate::record::Origin::Measured))
            }
            _ => return Err(fail(format!("edges[{index}]"), "names a node that is not there")),
        }
    }
    Ok(run)
}

/// The folder whose `.snakemake/metadata` holds a record.
fn base_folder(record: &Path) -> Option<PathBuf> {
    let metadata = record.ancestors().find(|p| p.file_name().is_some_and(|n| n == "metadata"))?;
    let above = metadata.parent()?;
    let is_hidden = above.file_name().is_some_and(|n| n == ".snakemake");
    Some(if is_hidden { above.parent()?.to_path_buf() } else { above.to_path_buf() })
}

/// The output a record speaks of: the record's name is its path in base64, long ones over several folders.
fn output_of(path: &Path) -> Result<String> {
    let parts: Vec<String> = path.iter().map(|p| p.to_string_lossy().into_owned()).collect();
    let from = parts.iter().rposition(|p| p == "metadata").map_or(parts.len() - 1, |at| at + 1);
    let name: String = parts[from..].iter().map(|p| p.trim_start_matches('@')).collect();
    let engines =
        [&base64::engine::general_purpose::URL_SAFE, &base64::engine::general_purpose::STANDARD];
    let bytes = engines.into_iter().find_map(|engine| engine.decode(name.as_bytes()).ok());
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| FormatError::new("the name of the record is no path in base64"))
}

fn ends_in(path: &Path, tail: &str) -> bool {
    path.ends_with(Path::new(tail))
}

/// `sample=A, lane=2` as `A.2`.
fn short_wildcards(text: &str) -> String {
    let values = text.split(", ").map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    values.collect::<Vec<_>>().join(".")
}

/// Rows of a benchmark: memory in MB, processor seconds, MB read and written.
type Row = [Option<f64>; 4];

fn benchmarks(found: &Found, files: &FileAccess) -> Result<Vec<(PathBuf, Vec<Row>)>> {
    let mut all = Vec::new();
    for path in found.all(Artefact::SnakemakeBenchmark) {
        let text = files.read_text(path)?;
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
        let column = |name: &str| header.iter().position(|c| *c == name);
        let columns = ["max_rss", "cpu_time", "io_in", "io_out"].map(column);
        let mut rows = Vec::new();
        for line in lines.filter(|l| !l.trim().is_empty()) {
            let cells: Vec<&str> = line.split('\t').collect();
            rows.push(columns.map(|at| cells.get(at?)?.parse::<f64>().ok().filter(|v| *v >= 0.0)));
        }
        all.push((path.clone(), rows));
    }
    Ok(all)
}

/// Reads the log of a run: blocks that begin with a date.
fn parse_log(text: &str) -> Log {
    let mut log = Log::default();
    let mut date = None;
    let mut block: Option<(u64, Logged)> = None;
    let mut failing: Option<u64> = None;
    let keep = |log: &mut Log, block: &mut Option<(u64, Logged)>| {
        let Some((id, job)) = block.take() else { return };
        let known = log.jobs.entry(id).or_default();
        let mut starts = std::mem::take(&mut known.starts);
        let failures = std::mem::take(&mut known.failures);
        starts.extend(&job.starts);
        *known = Logged { starts, failures, ..job };
    };
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(inside) = trimmed.strip_prefix('[').and_then(|t| t.strip_suffix(']'))
            && let Some(at) = dates::ctime(inside)
        {
            keep(&mut log, &mut block);
            date = Some(at);
            log.began.get_or_insert(at);
            log.ended = Some(at);
            failing = None;
            continue;
        }
        let split = trimmed.split_once(": ");
        if let Some((key, value)) = split {
            match key {
                "Snakemake version" => log.version = Some(value.to_string()),
                "Host" => drop(log.host.get_or_insert(value.to_string())),
                "Provided cores" => {
                    log.cores = value.split(' ').next().and_then(|v| v.parse().ok())
                }
                "Date" => log.began = dates::iso(value).or(log.began),
                _ => {}
            }
        }
        for word in ["localrule ", "rule ", "checkpoint ", "localcheckpoint "] {
            if trimmed.strip_prefix(word).is_some_and(|r| r.ends_with(':')) {
                keep(&mut log, &mut block);
                let job = Logged { starts: date.into_iter().collect(), ..Logged::default() };
                block = Some((u64::MAX, job));
            }
        }
        if let Some((id, job)) = &mut block
            && line.starts_with(' ')
            && let Some((key, value)) = split
        {
            match key {
                "output" => job.outputs = value.split(", ").map(str::to_string).collect(),
                "jobid" => *id = value.parse().unwrap_or(u64::MAX),
                "benchmark" => job.benchmark = Some(value.to_string()),
                "threads" => job.threads = value.parse().ok(),
                "wildcards" => job.wildcards = Some(value.to_string()),
                "resources" => {
                    for pair in value.split(", ") {
                        match pair.split_once('=') {
                            Some(("mem_mb", mb)) => {
                                job.memory = mb.parse::<f64>().ok().map(|m| m * 1e6)
                            }
                            Some(("runtime", minutes)) => job.minutes = minutes.parse().ok(),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        if trimmed.starts_with("Error in rule ") {
            keep(&mut log, &mut block);
            failing = Some(u64::MAX);
        } else if failing == Some(u64::MAX)
            && let Some(id) = trimmed.strip_prefix("jobid: ").and_then(leading_number)
        {
            failing = Some(id);
            if let Some(at) = date {
                log.jobs.entry(id).or_default().failures.push(at);
            }
        }
    }
    keep(&mut log, &mut block);
    log.jobs.remove(&u64::MAX);
    log
}

fn leading_number(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}
