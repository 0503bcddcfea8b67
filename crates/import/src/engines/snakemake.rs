//! Snakemake 8 and 9: one metadata record per output file, joined by job; the logs for threads, resources,
//! retries, hosts and jobs that left no record; benchmarks for memory and processor time; files on disk for
//! sizes. Before a run: the detailed summary, or a graph in one of Snakemake's forms.
//!
//! Records outlive runs, and every call of Snakemake leaves a log, dry ones too. The run is that of the last log
//! with jobs; what earlier runs made was there when it began.

use super::{json, mermaid, unique};
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
    rule: String,
    inputs: Vec<String>,
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
    /// When it ended with its result.
    ended: Option<f64>,
}

impl Logged {
    /// The attempts that failed, as far as they have dates.
    fn failed(&self, offset: f64) -> impl Iterator<Item = (f64, f64)> {
        self.starts
            .iter()
            .zip(&self.failures)
            .map(move |(start, end)| (start - offset, end - offset))
    }
}

#[derive(Debug, Default)]
struct Log {
    version: Option<String>,
    host: Option<String>,
    cores: Option<f64>,
    began: Option<f64>,
    ended: Option<f64>,
    jobs: BTreeMap<u64, Logged>,
    is_dry: bool,
}

impl Log {
    fn by_output(&self) -> HashMap<&str, &Logged> {
        let jobs = self.jobs.values();
        jobs.flat_map(|job| job.outputs.iter().map(move |output| (output.as_str(), job))).collect()
    }
}

pub(crate) fn read(found: &Found, files: &FileAccess) -> Result<RecordedRun> {
    let mut run = RecordedRun::of(Engine::Snakemake);
    let metadata = found.all(Artefact::SnakemakeMetadata);
    let mut logs: Vec<Log> = Vec::new();
    for path in found.all(Artefact::SnakemakeLog) {
        let log = parse_log(&files.read_text(path)?);
        if !log.is_dry && !log.jobs.is_empty() {
            logs.push(log);
        }
    }
    logs.sort_by(|a, b| a.began.unwrap_or(0.0).total_cmp(&b.began.unwrap_or(0.0)));
    if metadata.is_empty() && logs.is_empty() {
        return before(found, files);
    }
    let no_log = Log::default();
    let log = logs.last().unwrap_or(&no_log);
    run.version = log.version.clone();
    let host_name = log.host.clone().unwrap_or_else(|| "localhost".to_string());
    let home = run.host(&host_name);
    run.hosts[home].cores = log.cores.and_then(Figure::measured);
    let base = metadata.first().and_then(|record| base_folder(record));

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
    let by_output: Vec<HashMap<&str, &Logged>> = logs.iter().map(Log::by_output).collect();
    let last = by_output.last();
    let offset = clock_offset(order.iter().filter_map(|(_, records)| {
        let job = records.iter().find_map(|(output, _)| last?.get(output.as_str()))?;
        Some(job.starts.last()? - start_of(records)?)
    }));
    run.began = log.began.and_then(|at| Figure::measured(at - offset));
    run.ended = log.ended.and_then(|at| Figure::measured(at - offset));
    let began = log.began.map_or(f64::NEG_INFINITY, |at| at - offset - LOG_PRECISION);
    let mut earlier = 0;
    let mut taken = HashMap::new();
    for ((rule, _), records) in order {
        let mut task = TaskRecord { kind: rule.clone(), ..TaskRecord::default() };
        let first = &records[0].1;
        // The log of the run that made it: the last that knows the file.
        let known = by_output.iter().rev();
        let logged = known
            .filter_map(|known| records.iter().find_map(|(output, _)| known.get(output.as_str())))
            .copied()
            .next();
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
            for (start, end) in job.failed(offset).filter(|(start, _)| *start >= began) {
                task.attempts.push(Attempt {
                    start: Figure::measured(start),
                    end: Figure::measured(end),
                    outcome: Outcome::Failed,
                    ..attempt.clone()
                });
            }
        }
        let of_task = logged.and_then(|job| job.benchmark.as_deref());
        let of_task =
            of_task.and_then(|path| benchmarks.iter().find(|(known, _)| ends_in(known, path)));
        if let Some((_, rows)) = of_task {
            let most = |column: usize| {
                rows.iter().filter_map(|r| r.figures[column]).max_by(f64::total_cmp)
            };
            attempt.peak_memory = most(0).and_then(|mb| Figure::measured(mb * 1024.0 * 1024.0));
            let total = |column: usize| {
                let values: Vec<f64> = rows.iter().filter_map(|r| r.figures[column]).collect();
                (!values.is_empty()).then(|| values.iter().sum::<f64>())
            };
            attempt.cpu = total(1).and_then(Figure::measured);
            attempt.read = total(2).and_then(|mb| Figure::measured(mb * 1024.0 * 1024.0));
            attempt.written = total(3).and_then(|mb| Figure::measured(mb * 1024.0 * 1024.0));
            if rows.len() > 1 {
                run.repaired("benchmark repeated inside one job: the job's own times count");
            }
        }
        if attempt.start.is_some_and(|start| start.value < began)
            && attempt.outcome == Outcome::Completed
        {
            attempt.took = attempt.seconds().and_then(Figure::measured);
            (attempt.start, attempt.end) = (None, None);
            attempt.outcome = Outcome::Cached;
            earlier += 1;
        }
        task.attempts.push(attempt);
        run.tasks.push(task);
    }
    run.repaired_times(
        "job of an earlier run: its result was there, how long it took is known",
        earlier,
    );
    unrecorded(&mut run, log, offset, home, &mut taken);
    sizes_on_disk(&mut run, base.as_deref());
    // Extended benchmarks name the sizes of inputs, gone or not.
    for file in run.files.iter_mut().filter(|file| file.bytes.is_none()) {
        let known = benchmarks
            .iter()
            .find_map(|(_, rows)| rows.iter().find_map(|row| row.inputs.get(&file.name).copied()));
        file.bytes = known.and_then(|mb| Figure::derived((mb * 1024.0 * 1024.0).round()));
    }
    Ok(run)
}

/// Dates of a log are whole seconds.
const LOG_PRECISION: f64 = 2.0;
/// Steps of time zones, in seconds.
const ZONE_STEP: f64 = 900.0;
/// Largest offset of a time zone.
const MOST_OFFSET: f64 = 14.0 * 3600.0;

/// Seconds by which dates of the log are ahead of those of the records, from jobs that are in both: the log is
/// written in local time without a zone, records count from 1970 in UTC.
fn clock_offset(differences: impl Iterator<Item = f64>) -> f64 {
    let mut differences: Vec<f64> = differences.filter(|d| d.abs() <= MOST_OFFSET + 60.0).collect();
    differences.sort_by(f64::total_cmp);
    let median = differences.get(differences.len() / 2).copied().unwrap_or(0.0);
    (median / ZONE_STEP).round() * ZONE_STEP
}

/// Adds the jobs of the log that left no record: they failed, the run was still going on, or records were deleted.
fn unrecorded(
    run: &mut RecordedRun,
    log: &Log,
    offset: f64,
    home: usize,
    taken: &mut HashMap<String, usize>,
) {
    let producers = run.producers();
    let is_made = |name: &String| run.file_ids.get(name).is_some_and(|&f| producers[f].is_some());
    let jobs: Vec<&Logged> = log
        .jobs
        .values()
        .filter(|job| !job.outputs.is_empty() && !job.outputs.iter().any(is_made))
        .collect();
    let mut open = 0;
    for job in jobs {
        let label = job.wildcards.as_deref().map(short_wildcards);
        let label = label.unwrap_or_else(|| job.outputs[0].clone());
        let mut task = TaskRecord {
            name: unique(taken, format!("{}:{label}", job.rule)),
            kind: job.rule.clone(),
            cores: job.threads.and_then(Figure::measured),
            memory: job.memory.and_then(Figure::measured),
            time_limit: job.minutes.and_then(|m| Figure::measured(m * 60.0)),
            ..TaskRecord::default()
        };
        task.inputs = job.inputs.iter().map(|name| run.file(name)).collect();
        task.outputs = job.outputs.iter().map(|name| run.file(name)).collect();
        let attempt = Attempt {
            host: Some(home),
            cores: task.cores.or(Figure::assumed(1.0)),
            ..Attempt::default()
        };
        for (start, end) in job.failed(offset) {
            task.attempts.push(Attempt {
                start: Figure::measured(start),
                end: Figure::measured(end),
                outcome: Outcome::Failed,
                ..attempt.clone()
            });
        }
        for start in job.starts.iter().skip(job.failures.len()) {
            let mut last = Attempt { start: Figure::measured(start - offset), ..attempt.clone() };
            last.end = job.ended.and_then(|end| Figure::measured(end - offset));
            if last.end.is_none() {
                last.outcome = Outcome::Open;
                open += 1;
            }
            task.attempts.push(last);
        }
        run.tasks.push(task);
    }
    run.repaired_times("open task: the log has no end of a job", open);
}

fn sizes_on_disk(run: &mut RecordedRun, base: Option<&Path>) {
    let Some(base) = base else { return };
    for file in &mut run.files {
        let on_disk = std::fs::metadata(base.join(&file.name)).ok().filter(|m| m.is_file());
        file.bytes = on_disk.and_then(|m| Figure::measured(m.len() as f64));
    }
}

/// Records from before a run, without times: the detailed summary, which has files, else a graph.
fn before(found: &Found, files: &FileAccess) -> Result<RecordedRun> {
    let mut run = RecordedRun::of(Engine::Snakemake);
    if let Some(path) = found.last(Artefact::SnakemakeSummary) {
        let text = files.read_text(path)?;
        if from_summary(&mut run, &text).map_err(|e| e.in_file(path))? {
            sizes_on_disk(&mut run, path.parent());
            return Ok(run);
        }
        run.notes.push("the summary names no inputs: it was made before the run".to_string());
    }
    let mut graph = Graph::default();
    if let Some(path) = found.one(Artefact::SnakemakeD3Dag, "graphs")? {
        graph = d3_graph(&json(files, path)?).map_err(|e| e.in_file(path))?;
    } else {
        // Beside the graph of jobs there may be that of rules, which is smaller.
        for path in found.all(Artefact::SnakemakeGraph) {
            let text = files.read_text(path)?;
            let other = text_graph(&text).map_err(|e| e.in_file(path))?;
            if other.nodes.len() > graph.nodes.len() {
                graph = other;
            }
        }
    }
    if graph.nodes.is_empty() {
        return Err(FormatError::new(
            "logs of dry runs, benchmarks or a summary alone tell no tasks",
        )
        .with_help("name the folder with .snakemake, or write a graph: snakemake --d3dag"));
    }
    let mut ids = HashMap::new();
    let mut taken = HashMap::new();
    for (id, label) in &graph.nodes {
        // `call\nchrom: chr1`
        let (rule, wildcards) = label.split_once('\n').unwrap_or((label, ""));
        let values = wildcards.split('\n').filter_map(|w| Some(w.split_once(": ")?.1));
        let values: Vec<&str> = values.collect();
        let name = if values.is_empty() {
            rule.to_string()
        } else {
            format!("{rule}:{}", values.join("."))
        };
        ids.insert(id.as_str(), run.tasks.len());
        let name = unique(&mut taken, name);
        run.tasks.push(TaskRecord { name, kind: rule.to_string(), ..TaskRecord::default() });
    }
    for (from, to) in &graph.edges {
        let (Some(&from), Some(&to)) = (ids.get(from.as_str()), ids.get(to.as_str())) else {
            let place = format!("edge from {from} to {to}");
            return Err(FormatError::in_path(place, "names a node that is not there"));
        };
        run.tasks[to].after.push((from, crate::record::Origin::Measured));
    }
    Ok(run)
}

/// A graph of jobs: nodes by id with their labels (rule and wildcards on lines of their own), and edges.
#[derive(Default)]
struct Graph {
    nodes: Vec<(String, String)>,
    edges: Vec<(String, String)>,
}

/// `--d3dag`.
fn d3_graph(document: &Value) -> Result<Graph> {
    let fail = |place: String, what: &str| FormatError::in_path(place, what);
    let mut graph = Graph::default();
    for (index, node) in document["nodes"].as_array().into_iter().flatten().enumerate() {
        let id =
            node["id"].as_u64().ok_or_else(|| fail(format!("nodes[{index}].id"), "no number"))?;
        let rule = node["value"]["rule"].as_str().unwrap_or("job");
        let label = node["value"]["label"].as_str().filter(|label| label.starts_with(rule));
        graph.nodes.push((id.to_string(), label.unwrap_or(rule).replace("\\n", "\n")));
    }
    for (index, edge) in document["edges"].as_array().into_iter().flatten().enumerate() {
        let end = |key: &str| {
            let id = edge[key].as_u64().map(|id| id.to_string());
            id.ok_or_else(|| fail(format!("edges[{index}].{key}"), "no number"))
        };
        graph.edges.push((end("u")?, end("v")?));
    }
    Ok(graph)
}

/// `--dag`, as DOT or Mermaid.
fn text_graph(text: &str) -> Result<Graph> {
    let mut graph = Graph::default();
    if let Some(chart) = mermaid::Chart::find(text) {
        for node in chart.nodes {
            // `call - chrom: chr1`, several wildcards behind commas.
            let label = match node.label.split_once(" - ") {
                Some((rule, wildcards)) => format!("{rule}\n{}", wildcards.replace(", ", "\n")),
                None => node.label.to_string(),
            };
            graph.nodes.push((node.id.to_string(), label));
        }
        let edges = chart.edges.into_iter();
        graph.edges = edges.map(|(from, to)| (from.to_string(), to.to_string())).collect();
        return Ok(graph);
    }
    for (index, line) in text.lines().enumerate() {
        let line = line.trim().trim_end_matches(';');
        let is_id = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if let Some((from, to)) = line.split_once("->") {
            graph.edges.push((from.trim().to_string(), to.trim().to_string()));
        } else if let Some((id, attributes)) = line.split_once('[')
            && is_id(id.trim())
        {
            let label = attributes.split_once("label = \"").and_then(|(_, l)| l.split_once('"'));
            let Some((label, _)) = label else {
                return Err(FormatError::at(index + 1, 1, "a node without a label"));
            };
            graph.nodes.push((id.trim().to_string(), label.replace("\\n", "\n")));
        }
    }
    Ok(graph)
}

/// `--detailed-summary`: a line for each output file. Returns whether it names inputs, which it does once a job ran.
fn from_summary(run: &mut RecordedRun, text: &str) -> Result<bool> {
    let mut lines = text.lines().enumerate();
    let header: Vec<&str> = lines.next().map_or(Vec::new(), |(_, l)| l.split('\t').collect());
    let place = |name: &str| {
        let at = header.iter().position(|column| *column == name);
        at.ok_or_else(|| FormatError::at(1, 1, format!("no column '{name}'")))
    };
    let (output, rule) = (place("output_file")?, place("rule")?);
    let (inputs, command) = (place("input-file(s)")?, place("shellcmd")?);
    let mut jobs: HashMap<(&str, &str, &str), usize> = HashMap::new();
    let mut taken = HashMap::new();
    let mut has_inputs = false;
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split('\t').collect();
        if cells.len() < header.len() {
            let message = format!("{} values under {} columns", cells.len(), header.len());
            return Err(FormatError::at(index + 1, 1, message));
        }
        let is_known = |cell: &&str| !cell.is_empty() && *cell != "-";
        let key = (cells[rule], cells[inputs], cells[command]);
        let task = *jobs.entry(key).or_insert_with(|| {
            run.tasks.push(TaskRecord {
                name: unique(&mut taken, format!("{}:{}", cells[rule], cells[output])),
                kind: cells[rule].to_string(),
                command: Some(cells[command]).filter(is_known).map(str::to_string),
                ..TaskRecord::default()
            });
            run.tasks.len() - 1
        });
        let file = run.file(cells[output]);
        run.tasks[task].outputs.push(file);
        if run.tasks[task].inputs.is_empty() && is_known(&cells[inputs]) {
            has_inputs = true;
            for name in cells[inputs].split(',') {
                let file = run.file(name);
                run.tasks[task].inputs.push(file);
            }
        }
    }
    if !has_inputs {
        *run = RecordedRun::of(Engine::Snakemake);
    }
    Ok(has_inputs)
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

/// One repetition of a benchmark.
#[derive(Debug, Default)]
struct Row {
    /// Memory in MB, processor seconds, MB read and written.
    figures: [Option<f64>; 4],
    /// Sizes of inputs in MB, in extended benchmarks.
    inputs: HashMap<String, f64>,
}

const FIGURES: [&str; 4] = ["max_rss", "cpu_time", "io_in", "io_out"];

/// Benchmarks by file: TSV with a row for each repetition, or JSON lines.
fn benchmarks(found: &Found, files: &FileAccess) -> Result<Vec<(PathBuf, Vec<Row>)>> {
    let mut all = Vec::new();
    for path in found.all(Artefact::SnakemakeBenchmark) {
        let text = files.read_text(path)?;
        let is_json = text.trim_start().starts_with('{');
        let rows = if is_json { json_rows(&text, path)? } else { tsv_rows(&text) };
        all.push((path.clone(), rows));
    }
    Ok(all)
}

fn tsv_rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let column = |name: &str| header.iter().position(|c| *c == name);
    let columns = FIGURES.map(column);
    let sizes = column("input_size_mb");
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let figure = |at: Option<usize>| cells.get(at?)?.parse::<f64>().ok().filter(|v| *v >= 0.0);
        let sizes = sizes.and_then(|at| cells.get(at)).copied();
        Row { figures: columns.map(figure), inputs: sizes.map(python_sizes).unwrap_or_default() }
    };
    lines.filter(|l| !l.trim().is_empty()).map(row).collect()
}

/// A dictionary of numbers as Python writes it: `{'data/a.in': 0.28, "it's": 1}`.
fn python_sizes(text: &str) -> HashMap<String, f64> {
    let mut sizes = HashMap::new();
    let mut rest = text.trim().trim_start_matches('{');
    while let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        let mut name = String::new();
        let mut chars = rest[1..].char_indices();
        let end = loop {
            match chars.next() {
                Some((_, '\\')) => name.extend(chars.next().map(|(_, c)| c)),
                Some((at, c)) if c == quote => break Some(at + 2),
                Some((_, c)) => name.push(c),
                None => break None,
            }
        };
        let Some(after) = end.and_then(|end| rest[end..].trim_start().strip_prefix(':')) else {
            break;
        };
        let value = after.split([',', '}']).next().unwrap_or_default();
        if let Ok(size) = value.trim().parse::<f64>() {
            sizes.insert(name, size);
        }
        rest = after[value.len()..].trim_start_matches([',', '}', ' ']);
    }
    sizes
}

fn json_rows(text: &str, path: &Path) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let record: Value = serde_json::from_str(line).map_err(|e| {
            let message = format!("not valid JSON: {e}");
            FormatError::at(index + 1, e.column().max(1), message).in_file(path)
        })?;
        let sizes = record["input_size_mb"].as_object().into_iter().flatten();
        rows.push(Row {
            figures: FIGURES.map(|name| record[name].as_f64().filter(|v| *v >= 0.0)),
            inputs: sizes.filter_map(|(name, mb)| Some((name.clone(), mb.as_f64()?))).collect(),
        });
    }
    Ok(rows)
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
        let ended = known.ended;
        starts.extend(&job.starts);
        *known = Logged { starts, failures, ended, ..job };
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
        log.is_dry |= trimmed.starts_with("This was a dry-run");
        if let Some(id) = trimmed
            .strip_prefix("Finished jobid: ")
            .or_else(|| trimmed.strip_prefix("Finished job "))
            .and_then(leading_number)
        {
            keep(&mut log, &mut block);
            log.jobs.entry(id).or_default().ended = date;
        }
        for word in ["localrule ", "rule ", "checkpoint ", "localcheckpoint "] {
            if let Some(rule) = trimmed.strip_prefix(word).and_then(|r| r.strip_suffix(':')) {
                keep(&mut log, &mut block);
                let starts = date.into_iter().collect();
                let job = Logged { rule: rule.to_string(), starts, ..Logged::default() };
                block = Some((u64::MAX, job));
            }
        }
        if let Some((id, job)) = &mut block
            && line.starts_with(' ')
            && let Some((key, value)) = split
        {
            match key {
                "input" => job.inputs = paths(value),
                "output" => job.outputs = paths(value),
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

/// Paths of a log, without remarks such as `(retrieve from storage)`.
fn paths(text: &str) -> Vec<String> {
    let plain = |path: &str| path.split(" (").next().unwrap_or(path).trim().to_string();
    text.split(", ").map(plain).filter(|path| !path.is_empty()).collect()
}

fn leading_number(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}
