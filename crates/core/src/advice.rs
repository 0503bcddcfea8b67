//! Requests for tasks of next time, from what recorded tasks used: memory within a risk, cores, time limits.

use serde::Serialize;
use slackline_analysis::sizing::{self, Amount, Request, Sample};
use slackline_analysis::statistics::quantile;
use slackline_import::{Attempt, RecordedRun, TaskRecord};
use std::collections::BTreeMap;

/// Time limits are the longest time seen, this many times.
const TIME_MARGIN: f64 = 1.25;
/// Least time limit in seconds: batch systems count in minutes.
const LEAST_TIME: f64 = 60.0;
/// Requests of memory are rounded up to this many bytes.
const MEMORY_STEP: f64 = 1024.0 * 1024.0;
/// Part of the tasks that use no more cores than are advised.
const CORES_QUANTILE: f64 = 0.95;

/// Requests for the tasks of recorded runs: the JSON document `slackline/advice/1`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// `slackline/advice/1`.
    pub schema: &'static str,
    /// The engine of the runs.
    pub engine: &'static str,
    /// Largest probability that the first attempt of a task fails for lack of memory.
    pub risk: f64,
    /// Number of runs.
    pub runs: usize,
    /// Requests of each kind.
    pub kinds: Vec<KindAdvice>,
}

/// Requests for the tasks of a kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindAdvice {
    /// The kind.
    pub kind: String,
    /// Number of its tasks.
    pub tasks: usize,
    /// Memory to request, where there are tasks enough.
    pub memory: Option<Memory>,
    /// Number of tasks whose memory was measured.
    pub memory_samples: usize,
    /// Largest peak in bytes.
    pub largest_memory: Option<f64>,
    /// Number of tasks whose time is known.
    pub time_samples: usize,
    /// Bytes requested in the records, the largest.
    pub recorded_memory: Option<f64>,
    /// Cores to request, where processor times were measured.
    pub cores: Option<u32>,
    /// Cores requested in the records, the most.
    pub recorded_cores: Option<f64>,
    /// Time limit to request, where there are tasks enough.
    pub time: Option<Time>,
    /// Time limit in the records, seconds, the longest.
    pub recorded_time: Option<f64>,
    /// Reasons for what is not advised.
    pub remarks: Vec<String>,
}

/// Memory to request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Memory {
    /// Number of tasks measured.
    pub samples: usize,
    /// Their largest peak, bytes.
    pub largest: f64,
    /// The request.
    #[serde(flatten)]
    pub request: Request,
    /// Byte-hours of the tasks measured, under the advised requests.
    pub byte_hours: f64,
    /// The same under the recorded requests.
    pub recorded_byte_hours: Option<f64>,
    /// The same under the largest peak and 10 % for every task.
    pub largest_byte_hours: f64,
}

/// A time limit to request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Time {
    /// Number of tasks measured.
    pub samples: usize,
    /// The limit, in seconds.
    pub limit: f64,
    /// Probability that the next task takes longer than any before, which bounds that of reaching the limit.
    pub failure: f64,
}

impl Advice {
    /// Requests of all kinds, from runs of one engine. With probability `risk` at most the first attempt of a task
    /// is granted too little memory.
    pub fn of(runs: &[RecordedRun], risk: f64) -> Advice {
        let mut histories: BTreeMap<String, History> = BTreeMap::new();
        runs.iter().for_each(|run| gather(run, &mut histories));
        let kinds = histories.into_iter().map(|(kind, history)| advise(kind, &history, risk));
        Advice {
            schema: "slackline/advice/1",
            engine: runs.first().map_or("", |run| run.engine.name()),
            risk,
            runs: runs.len(),
            kinds: kinds.collect(),
        }
    }
}

/// The tasks of one kind over all runs.
#[derive(Default)]
struct History {
    tasks: usize,
    samples: Vec<Sample>,
    /// Requested bytes and seconds of the tasks in `samples`.
    requested: Vec<Option<f64>>,
    seconds: Vec<f64>,
    used_cores: Vec<f64>,
    memory: Option<f64>,
    cores: Option<f64>,
    time: Option<f64>,
}

/// Adds the tasks of a run to the history of their kinds.
fn gather(run: &RecordedRun, histories: &mut BTreeMap<String, History>) {
    for task in &run.tasks {
        let history = histories.entry(task.kind.clone()).or_default();
        history.tasks += 1;
        let larger = |known: Option<f64>, value: Option<f64>| match (known, value) {
            (Some(known), Some(value)) => Some(f64::max(known, value)),
            (known, value) => known.or(value),
        };
        history.memory = larger(history.memory, task.memory.map(|f| f.value));
        history.cores = larger(history.cores, task.cores.map(|f| f.value));
        history.time = larger(history.time, task.time_limit.map(|f| f.value));
        // A task that never got what it needed tells only that it needs more.
        let Some(last) = task.last().filter(|a| a.outcome.is_success()) else { continue };
        let Some(seconds) = last.seconds().filter(|s| *s > 0.0) else { continue };
        history.seconds.push(seconds);
        if let Some(cpu) = last.cpu {
            history.used_cores.push(cpu.value / seconds);
        }
        let peaks = task.attempts.iter().filter_map(|a: &Attempt| a.peak_memory);
        if let Some(need) = peaks.map(|f| f.value).max_by(f64::total_cmp) {
            history.samples.push(Sample { need, input: input_bytes(run, task), seconds });
            history.requested.push(task.memory.map(|f| f.value));
        }
    }
}

/// Bytes of all inputs, where all are known.
fn input_bytes(run: &RecordedRun, task: &TaskRecord) -> Option<f64> {
    let sizes = task.inputs.iter().map(|&file| Some(run.files[file].bytes?.value));
    let bytes: f64 = sizes.sum::<Option<f64>>()?;
    (!task.inputs.is_empty()).then_some(bytes)
}

fn advise(kind: String, history: &History, risk: f64) -> KindAdvice {
    let mut remarks = Vec::new();
    let samples = &history.samples;
    let memory = match sizing::request(samples, risk) {
        Ok(request) => Some(memory(samples, &history.requested, request)),
        Err(_) if samples.is_empty() => {
            remarks.push("memory was not measured".to_string());
            None
        }
        Err(few) => {
            let have = tasks(samples.len());
            remarks.push(format!("memory of {have} only: a risk this small takes {}", few.needed));
            None
        }
    };
    let time = history.seconds.iter().copied().max_by(f64::total_cmp).and_then(|longest| {
        let samples = history.seconds.len();
        let failure = 1.0 / (samples + 1) as f64;
        if samples < sizing::needed(risk) {
            let have = tasks(samples);
            let needed = sizing::needed(risk);
            remarks.push(format!("times of {have} only: a risk this small takes {needed}"));
            return None;
        }
        Some(Time { samples, limit: (longest * TIME_MARGIN).max(LEAST_TIME), failure })
    });
    let mut used = history.used_cores.clone();
    used.sort_by(f64::total_cmp);
    let cores = (!used.is_empty()).then(|| {
        // Less than a tenth of a core more is the noise of the measurement.
        (quantile(&used, CORES_QUANTILE) - 0.1).ceil().clamp(1.0, 1e6) as u32
    });
    KindAdvice {
        kind,
        tasks: history.tasks,
        memory,
        memory_samples: samples.len(),
        largest_memory: samples.iter().map(|s| s.need).max_by(f64::total_cmp),
        time_samples: history.seconds.len(),
        recorded_memory: history.memory,
        cores,
        recorded_cores: history.cores,
        time,
        recorded_time: history.time,
        remarks,
    }
}

fn memory(samples: &[Sample], requested: &[Option<f64>], request: Request) -> Memory {
    let largest = samples.iter().map(|s| s.need).fold(0.0, f64::max);
    let base = (request.amount.base / MEMORY_STEP).ceil() * MEMORY_STEP;
    let request = Request { amount: Amount { base, ..request.amount }, ..request };
    let hours = |byte_seconds: f64| byte_seconds / 3600.0;
    let recorded: Option<f64> =
        samples.iter().zip(requested).map(|(s, asked)| asked.map(|bytes| bytes * s.seconds)).sum();
    let cost = sizing::cost(samples, request.amount);
    let all: f64 = samples.iter().map(|s| 1.1 * largest * s.seconds).sum();
    Memory {
        samples: samples.len(),
        largest,
        byte_hours: hours(cost),
        recorded_byte_hours: recorded.map(hours),
        largest_byte_hours: hours(all),
        request: Request { cost, ..request },
    }
}

fn tasks(number: usize) -> String {
    if number == 1 { "1 task".to_string() } else { format!("{number} tasks") }
}
