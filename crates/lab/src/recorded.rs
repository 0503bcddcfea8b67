//! Recorded runs as cases of the stack: run folders, imported runs, records of other engines, traces.

use crate::site_logs::{BandwidthPolicy, LEAST_BYTES, SeenRun, SiteLogs};
use slackline_centre::stack::{self, Case, RecordedHost, RecordedTask};
use slackline_core::run::history::RunHistory;
use slackline_core::run::log_of;
use slackline_core::run::page::utc;
use slackline_core::schema::names;
use slackline_core::{Context, Failure};
use slackline_formats::FileAccess;
use slackline_formats::batch_log::{self, Wrong};
use slackline_import::RecordedRun;
use slackline_model::{Platform, Workflow};
use std::collections::HashMap;
use std::path::Path;

/// A recorded run.
pub struct RecordedCase {
    /// Its hosts as sites, and its record.
    pub case: Case,
    /// Cores and memory of the hosts.
    hosts: Vec<(Option<f64>, Option<f64>)>,
    /// Transfers: names of both hosts, bytes, seconds.
    transfers: Vec<(String, String, f64, f64)>,
    /// Files that tasks read and write, all together.
    operations: usize,
    date: String,
}

impl RecordedCase {
    /// What a picture of the site takes from it.
    pub fn seen(&self) -> SeenRun<'_> {
        SeenRun {
            case: &self.case,
            hosts: &self.hosts,
            transfers: &self.transfers,
            operations: self.operations,
            date: &self.date,
        }
    }

    /// Files that a task reads and writes on average.
    pub fn operations_per_task(&self) -> f64 {
        self.operations as f64 / self.case.tasks.len().max(1) as f64
    }
}

/// Whether a path holds a recorded run: a folder of ours, what `import -o` wrote, records of another engine.
pub fn is_run(path: &Path, files: &FileAccess) -> bool {
    log_of(path).is_file()
        || is_imported(path)
        || slackline_core::recorded::engine_of(path, files).is_some()
}

/// Whether a folder is one that `import -o` wrote.
fn is_imported(path: &Path) -> bool {
    ["trace.jsonl", "workflow.json", "platform.toml"].iter().all(|name| path.join(name).is_file())
}

/// Reads the run under a path. Tasks that were not done are an error, or left out.
pub fn read(
    path: &Path,
    leave_out_undone: bool,
    context: &mut Context<'_>,
) -> Result<RecordedCase, Failure> {
    if log_of(path).is_file() {
        let history = RunHistory::read(path, context)?;
        let nominal = Nominal {
            work: history.workflow.tasks().map(|task| history.workflow.work(task)).collect(),
            speeds: history.platform.hosts().iter().map(|host| host.speed).collect(),
            presence: history.presence.clone(),
        };
        let date = utc(history.clock(0.0));
        return of_run(&history.recorded(), &nominal, date, path, leave_out_undone);
    }
    if is_imported(path) {
        let (workflow, trace) = (path.join("workflow.json"), path.join("trace.jsonl"));
        return of_trace(&workflow, &trace, &path.join("platform.toml"), &context.files);
    }
    let run = slackline_core::recorded::read(path, context)?;
    let date = run.began.map_or_else(String::new, |began| utc(began.value));
    of_run(&run, &Nominal::default(), date, path, leave_out_undone)
}

/// Further facts in a record of our own.
#[derive(Default)]
struct Nominal {
    /// Flop of tasks; recorded seconds at 1 Gflop/s where there is none.
    work: Vec<f64>,
    /// Flop/s of hosts.
    speeds: Vec<f64>,
    /// Spans in which hosts were there.
    presence: Vec<Vec<(f64, Option<f64>)>>,
}

/// Speed at which recorded seconds count where no platform states one.
const REFERENCE: f64 = slackline_model::workflow::REFERENCE_SPEED;

fn of_run(
    run: &RecordedRun,
    nominal: &Nominal,
    date: String,
    path: &Path,
    leave_out_undone: bool,
) -> Result<RecordedCase, Failure> {
    let dates = run.tasks.iter().flat_map(|task| &task.attempts);
    let dates = dates.filter_map(|attempt| attempt.submitted.or(attempt.start));
    let first = dates.map(|date| date.value).fold(f64::INFINITY, f64::min);
    let origin = run.began.map_or(first, |began| began.value.min(first));
    let mut hosts: Vec<RecordedHost> = run
        .hosts
        .iter()
        .enumerate()
        .map(|(k, host)| RecordedHost {
            name: host.name.clone(),
            speed: nominal.speeds.get(k).copied().unwrap_or(REFERENCE),
            bandwidth: None,
            present: nominal.presence.get(k).cloned().unwrap_or_default(),
        })
        .collect();
    let mut facts: Vec<(Option<f64>, Option<f64>)> = run
        .hosts
        .iter()
        .map(|host| (host.cores.map(|f| f.value), host.memory.map(|f| f.value)))
        .collect();
    let mut ran = Vec::with_capacity(run.tasks.len());
    for task in &run.tasks {
        let done = task.last().filter(|attempt| attempt.outcome.is_success());
        let dates = done.and_then(|attempt| attempt.start.zip(attempt.end));
        ran.push(dates.map(|(start, end)| {
            let host = done.and_then(|attempt| attempt.host).unwrap_or(run.hosts.len());
            (host, start.value - origin, end.value - origin)
        }));
    }
    if ran.iter().flatten().any(|(host, ..)| *host == run.hosts.len()) {
        // Some records do not say where tasks ran.
        hosts.push(RecordedHost {
            name: "unnamed".into(),
            speed: REFERENCE,
            bandwidth: None,
            present: Vec::new(),
        });
        facts.push((None, None));
    }
    let transfers: Vec<(usize, usize, f64, f64)> = run
        .transfers
        .iter()
        .filter_map(|moved| Some((moved.from, moved.to, moved.bytes?, moved.end - moved.start)))
        .collect();
    for (k, host) in hosts.iter_mut().enumerate() {
        let to = transfers.iter().filter(|(_, to, ..)| *to == k);
        let rates = rates(to.map(|&(_, _, bytes, seconds)| (bytes, seconds)));
        host.bandwidth = BandwidthPolicy::Median.of(&rates);
    }
    let kept: Vec<usize> =
        (0..run.tasks.len()).filter(|&k| ran[k].is_some() || !leave_out_undone).collect();
    let place: HashMap<usize, usize> = kept.iter().enumerate().map(|(at, &k)| (k, at)).collect();
    let mut writer = HashMap::new();
    for (k, task) in run.tasks.iter().enumerate() {
        task.outputs.iter().for_each(|&file| {
            writer.insert(file, k);
        });
    }
    let bytes = |file: &usize| run.files[*file].bytes.map_or(0.0, |bytes| bytes.value.max(0.0));
    let tasks = kept.iter().map(|&k| {
        let task = &run.tasks[k];
        let producers = task.inputs.iter().filter_map(|file| writer.get(file).copied());
        let before = producers.chain(task.after.iter().map(|(other, _)| *other));
        let mut dependencies: Vec<usize> =
            before.filter(|&other| other != k).filter_map(|k| place.get(&k).copied()).collect();
        dependencies.sort_unstable();
        dependencies.dedup();
        let seconds = ran[k].map_or(0.0, |(_, start, end)| end - start);
        RecordedTask {
            id: task.name.clone(),
            work: nominal.work.get(k).copied().unwrap_or(seconds * REFERENCE),
            dependencies,
            bytes: task.inputs.iter().map(bytes).sum(),
            ran: ran[k].map(|(host, start, end)| (hosts[host].name.clone(), start, end)),
        }
    });
    let tasks: Vec<RecordedTask> = tasks.collect();
    if tasks.is_empty() {
        return Err(Failure::input(format!("{}: no task of the run was done", path.display())));
    }
    let case = stack::case_of_run(tasks, &hosts)
        .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    let name = |host: usize| hosts[host].name.clone();
    Ok(RecordedCase {
        case,
        hosts: facts,
        transfers: transfers.iter().map(|&(a, b, bytes, s)| (name(a), name(b), bytes, s)).collect(),
        operations: kept
            .iter()
            .map(|&k| run.tasks[k].inputs.len() + run.tasks[k].outputs.len())
            .sum(),
        date,
    })
}

/// Bytes per second of the transfers that say something of a bandwidth.
fn rates(transfers: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
    let telling = transfers.filter(|(bytes, seconds)| *bytes >= LEAST_BYTES && *seconds > 0.0);
    telling.map(|(bytes, seconds)| bytes / seconds).collect()
}

/// Events of a trace.
#[derive(Default)]
struct Events {
    /// Host, start and end by task.
    ran: HashMap<String, (String, f64, f64)>,
    /// Transfers: both hosts, bytes, seconds.
    transfers: Vec<(String, String, f64, f64)>,
}

fn events(trace: &Path, files: &FileAccess) -> Result<Events, Failure> {
    let text = files.read_text(trace)?;
    let wrong =
        |line: usize, why: &str| Failure::input(format!("{}:{}: {why}", trace.display(), line + 1));
    let mut found = Events::default();
    let mut begun = HashMap::new();
    let mut moving: HashMap<(String, String), (f64, f64)> = HashMap::new();
    for (k, line) in text.lines().enumerate().skip(1) {
        let value: serde_json::Value =
            serde_json::from_str(line).map_err(|e| wrong(k, &e.to_string()))?;
        let Some(at) = value["at"].as_f64() else { continue };
        let name = |member: &str| value[member].as_str().unwrap_or_default().to_string();
        match value["event"].as_str() {
            Some("task-started") => {
                let host = value["on"]["host"].as_str();
                let host = host.ok_or_else(|| wrong(k, "a task starts nowhere"))?;
                begun.insert(name("task"), (host.to_string(), at));
            }
            Some("task-finished") => {
                let begun = begun.remove(&name("task"));
                let (host, start) =
                    begun.ok_or_else(|| wrong(k, "a task ends that was not begun"))?;
                found.ran.insert(name("task"), (host, start, at));
            }
            Some("transfer-started") => {
                let bytes = value["bytes"].as_f64().unwrap_or(0.0);
                moving.insert((name("file"), name("to")), (at, bytes));
            }
            Some("transfer-finished") => {
                if let Some((start, bytes)) = moving.remove(&(name("file"), name("to"))) {
                    found.transfers.push((name("from"), name("to"), bytes, at - start));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// A run from a workflow, the trace of its run, and the platform.
pub fn of_trace(
    workflow: &Path,
    trace: &Path,
    platform: &Path,
    files: &FileAccess,
) -> Result<RecordedCase, Failure> {
    let workflow = slackline_formats::read_workflow(files, workflow, None)?.workflow;
    let platform = slackline_formats::read_platform(files, platform, None)?;
    let mut events = events(trace, files)?;
    let case = case_of_trace(&workflow, &platform, &mut events)
        .map_err(|error| Failure::input(format!("{}: {error}", trace.display())))?;
    let hosts = platform.hosts().iter();
    Ok(RecordedCase {
        case,
        hosts: hosts.map(|host| (Some(f64::from(host.cores)), host.memory)).collect(),
        transfers: events.transfers,
        operations: workflow
            .tasks()
            .map(|task| workflow.inputs(task).count() + workflow.outputs(task).count())
            .sum(),
        date: String::new(),
    })
}

fn case_of_trace(
    workflow: &Workflow,
    platform: &Platform,
    events: &mut Events,
) -> Result<Case, stack::CaseError> {
    let tasks = workflow.tasks().map(|task| RecordedTask {
        id: workflow.task_name(task).to_string(),
        work: workflow.work(task),
        dependencies: workflow.predecessors(task).map(|(parent, _)| parent.index()).collect(),
        bytes: workflow.inputs(task).map(|file| workflow.file_bytes(file)).sum(),
        ran: events.ran.remove(workflow.task_name(task)),
    });
    let tasks: Vec<RecordedTask> = tasks.collect();
    let hosts = platform.hosts().iter().map(|host| {
        let to = events.transfers.iter().filter(|moved| moved.1 == *host.name);
        let rates = rates(to.map(|moved| (moved.2, moved.3)));
        RecordedHost {
            name: host.name.to_string(),
            speed: host.speed,
            bandwidth: BandwidthPolicy::Median.of(&rates),
            present: Vec::new(),
        }
    });
    let hosts: Vec<RecordedHost> = hosts.collect();
    stack::case_of_run(tasks, &hosts)
}

/// Adds the log under a path, of whichever kind, as one of a site.
pub fn add(
    logs: &mut SiteLogs,
    is_lenient: bool,
    site: &str,
    path: &Path,
    context: &mut Context<'_>,
) -> Result<(), Failure> {
    let source = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    if path.is_dir() {
        let run = read(path, is_lenient, context)?;
        let added = logs.add_recorded(&run.seen(), &source, site);
        return added.map_err(|error| Failure::from(error.in_file(path)));
    }
    let text = context.files.read_text(path)?;
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let fields = first.split_whitespace();
    let is_swf = first.trim_start().starts_with(';')
        || (fields.clone().count() == 18 && fields.clone().all(|f| f.parse::<f64>().is_ok()));
    let added = if first.contains(&format!("\"{}\"", names::TRACE)) {
        logs.add_trace(&text, &source, site)
    } else if is_swf || (first.contains('|') && first.contains("JobID")) {
        let wrong = if is_lenient { Wrong::Skip } else { Wrong::Refuse };
        let log = batch_log::read(&context.files, path, wrong)?;
        logs.add_batch_log(&log, &text, &source, site)
    } else if slackline_core::recorded::engine_of(path, &context.files).is_some() {
        let run = read(path, is_lenient, context)?;
        logs.add_recorded(&run.seen(), &source, site)
    } else {
        let read = slackline_formats::read_workflow(&context.files, path, None)?;
        logs.add_run(read.recorded.as_ref(), &source, site)
    };
    added.map_err(|error| Failure::from(error.in_file(path)))
}
