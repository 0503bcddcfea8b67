//! `slackline advise`: what tasks should request next time.

mod config;

use super::import::{records, without_common};
use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use crate::table::{Table, count, cut, wrap};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use serde::Serialize;
use slackline_analysis::sizing::{self, Amount, Request, Sample};
use slackline_analysis::statistics::quantile;
use slackline_import::{Attempt, Engine, RecordedRun, TaskRecord};
use slackline_model::units::{fmt_bytes, fmt_seconds};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Time limits are the longest time seen, this many times.
const TIME_MARGIN: f64 = 1.25;
/// Least time limit in seconds: batch systems count in minutes.
const LEAST_TIME: f64 = 60.0;
/// Requests of memory are rounded up to this many bytes.
const MEMORY_STEP: f64 = 1024.0 * 1024.0;
/// Part of the tasks that use no more cores than are advised.
const CORES_QUANTILE: f64 = 0.95;

/// Advise what tasks should request next time, from what they used in recorded runs
#[derive(Args)]
#[command(after_help = "\
For every kind of task: the memory of the first attempt, so that it fails for lack of memory with at most the \
probability --risk, doubled with each retry; cores from the processor time; the time limit from the longest \
task. Memory follows the size of the input where that explains it. Where there are too few tasks for the risk \
the recorded request is kept. Each PATH is a run of its own; several are one history.

Examples:
  slackline advise .
  slackline advise runs/1/trace.txt runs/2/trace.txt --risk 1%
  slackline advise trace.txt --to nextflow -o requests.config
  slackline advise . --to snakemake -o profile/config.yaml")]
pub(crate) struct Advise {
    /// Folders or files with records, each of a run
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The engine, where its records are not recognised or several left some
    #[arg(long, value_name = "ENGINE", value_parser = PossibleValuesParser::new(Engine::ALL.map(Engine::name)))]
    from: Option<String>,
    /// Largest probability that the first attempt of a task fails for lack of memory
    #[arg(long, value_name = "PART", value_parser = share, default_value = "2%")]
    risk: f64,
    /// Write the requests as the engine's configuration
    #[arg(long, value_name = "FORMAT")]
    to: Option<Target>,
    /// The file to write; standard output if left out
    #[arg(short, long, value_name = "FILE", requires = "to")]
    output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, conflicts_with = "to")]
    json: bool,
}

/// What takes the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// A configuration file (nextflow run -c FILE)
    Nextflow,
    /// A profile (snakemake --profile FOLDER, or --workflow-profile)
    Snakemake,
    /// Options of sbatch, a line for each kind of task
    Slurm,
}

fn share(text: &str) -> Result<f64, String> {
    let (number, factor) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim(), 0.01),
        None => (text, 1.0),
    };
    let value = number.parse::<f64>().map_err(|_| "expected a part such as 2% or 0.02")? * factor;
    let is_share = (0.0001..=0.5).contains(&value);
    is_share.then_some(value).ok_or_else(|| "expected a part between 0.01% and 50%".to_string())
}

/// The document of `--json`.
#[derive(Serialize)]
struct Advice {
    schema: &'static str,
    engine: &'static str,
    /// Largest probability that the first attempt of a task fails for lack of memory.
    risk: f64,
    runs: usize,
    kinds: Vec<KindAdvice>,
}

/// Advice for tasks of a kind.
#[derive(Serialize)]
struct KindAdvice {
    kind: String,
    tasks: usize,
    memory: Option<Memory>,
    /// Tasks whose memory was measured, and the largest peak in bytes.
    memory_samples: usize,
    largest_memory: Option<f64>,
    /// Tasks whose time is known.
    time_samples: usize,
    /// Bytes requested in the records, the largest.
    recorded_memory: Option<f64>,
    cores: Option<u32>,
    recorded_cores: Option<f64>,
    time: Option<Time>,
    recorded_time: Option<f64>,
    /// Reasons why something is not advised.
    remarks: Vec<String>,
}

#[derive(Serialize)]
struct Memory {
    samples: usize,
    largest: f64,
    #[serde(flatten)]
    request: Request,
    /// Byte-hours of the tasks measured, under the advised requests.
    byte_hours: f64,
    /// The same under the recorded requests.
    recorded_byte_hours: Option<f64>,
    /// The same under the largest peak and 10 % for every task.
    largest_byte_hours: f64,
}

#[derive(Serialize)]
struct Time {
    samples: usize,
    /// The limit, in seconds.
    limit: f64,
    /// Probability that the next task takes longer than any before, which bounds that of reaching the limit.
    failure: f64,
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

impl Advise {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads_all(&self.paths)
            .writes("--output", self.output.as_ref())
            .json(self.json)
            .check(output)?;
        let mut histories: BTreeMap<String, History> = BTreeMap::new();
        let mut engine = None;
        for path in &self.paths {
            let paths = std::slice::from_ref(path);
            let run = records(paths, self.from.as_deref(), None, output)?;
            if *engine.get_or_insert(run.engine) != run.engine {
                let message = format!("{}: records of another engine", path.display());
                return Err(Failure::input(message).with_help("advise for each engine on its own"));
            }
            gather(&run, &mut histories);
        }
        let kinds: Vec<KindAdvice> = histories
            .into_iter()
            .map(|(kind, history)| advise(kind, &history, self.risk))
            .collect();
        let Some(engine) = engine else { return Ok(()) };
        let advice = Advice {
            schema: "slackline/advice/1",
            engine: engine.name(),
            risk: self.risk,
            runs: self.paths.len(),
            kinds,
        };
        let Some(target) = self.to else {
            if self.json {
                return output.json(&advice);
            }
            let text = describe(&advice, output.width);
            return output.text(&text);
        };
        let text = config::write(&advice, target);
        match &self.output {
            Some(path) => {
                output.files.write(path, |out| out.write_all(text.as_bytes()))?;
                output.say(&format!("Written: {}\n", path.display()))
            }
            None => output.text(&text),
        }
    }
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
            let have = count(samples.len(), "task");
            remarks.push(format!("memory of {have} only: a risk this small takes {}", few.needed));
            None
        }
    };
    let time = history.seconds.iter().copied().max_by(f64::total_cmp).and_then(|longest| {
        let samples = history.seconds.len();
        let failure = 1.0 / (samples + 1) as f64;
        if samples < sizing::needed(risk) {
            let have = count(samples, "task");
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

/// `37 MB + 2.2 x input`.
fn amount(amount: Amount) -> String {
    let base = fmt_bytes(amount.base.abs());
    match amount.per_input {
        0.0 => base,
        slope if amount.base < 0.0 => format!("{slope:.2} x input - {base}"),
        slope => format!("{slope:.2} x input + {base}"),
    }
}

/// Hundredths, to the second decimal.
fn percent(part: f64) -> f64 {
    (part * 1e4).round() / 100.0
}

fn describe(advice: &Advice, width: usize) -> String {
    let mut text = format!(
        "What to request next time, so that the first attempt of a task fails for lack of memory with at most {} %\n\n",
        percent(advice.risk)
    );
    let heads =
        ["kind", "tasks", "peak", "request", "recorded", "fails", "retries", "cores", "time"];
    let mut table = Table::new(&heads).sparing(&["retries", "fails"]);
    let names = without_common(advice.kinds.iter().map(|kind| kind.kind.as_str()));
    let bytes = |value: Option<f64>| value.map_or("-".to_string(), fmt_bytes);
    for (kind, name) in advice.kinds.iter().zip(&names) {
        let memory = kind.memory.as_ref();
        table.row([
            cut(name, 30),
            kind.tasks.to_string(),
            bytes(kind.largest_memory),
            memory.map_or("-".to_string(), |m| amount(m.request.amount)),
            bytes(kind.recorded_memory),
            memory.map_or("-".to_string(), |m| format!("{:.1} %", 100.0 * m.request.failure)),
            memory.map_or("-".to_string(), |m| m.request.retries.to_string()),
            kind.cores.map_or("-".to_string(), |cores| cores.to_string()),
            kind.time.as_ref().map_or("-".to_string(), |time| fmt_seconds(time.limit)),
        ]);
    }
    text.push_str(&table.render(width));
    let advised = || advice.kinds.iter().filter_map(|k| k.memory.as_ref());
    if advised().next().is_some() {
        let sum = |of: &dyn Fn(&Memory) -> f64| advised().map(of).sum::<f64>();
        let own = sum(&|m| m.byte_hours);
        let beside = |what: &str, other: f64| {
            let part = 100.0 * (other - own) / other;
            let word = if part < 0.0 { "more" } else { "less" };
            format!("  {:<28} {}h, {:.0} % {word}\n", what, fmt_bytes(other), part.abs())
        };
        text.push_str(&format!(
            "\nMemory over time of these tasks: {}h; beside\n\n",
            fmt_bytes(own)
        ));
        let recorded: Option<f64> = advised().map(|m| m.recorded_byte_hours).sum();
        if let Some(recorded) = recorded.filter(|r| *r > 0.0) {
            text.push_str(&beside("the recorded requests", recorded));
        }
        let largest = sum(&|m| m.largest_byte_hours);
        text.push_str(&beside("the largest peak and 10 %", largest));
        let unsure = advised().filter(|m| m.request.confidence < sizing::CONFIDENCE).count();
        if unsure > 0 {
            let sure = advised().map(|m| m.request.confidence).fold(1.0, f64::min);
            let note = format!(
                "Of {} there are few tasks: the expected failures keep to the risk, but only {:.0} % of histories as short as the shortest lead to requests that do.\n",
                count(unsure, "kind"),
                100.0 * sure
            );
            text.push('\n');
            text.push_str(&wrap(&note, 0, width));
        }
    }
    text.push_str(&not_advised(advice, &names, width));
    text
}

/// The kinds without advice, by reason.
fn not_advised(advice: &Advice, names: &[&str], width: usize) -> String {
    let needed = sizing::needed(advice.risk);
    let list = |of: &dyn Fn(&KindAdvice) -> Option<usize>| {
        let kinds = advice.kinds.iter().zip(names);
        let told = kinds.filter_map(|(kind, name)| Some(format!("{name} ({})", of(kind)?)));
        told.collect::<Vec<_>>()
    };
    let few = |samples: usize| (samples > 0 && samples < needed).then_some(samples);
    let of_memory = |kind: &KindAdvice| few(kind.memory_samples);
    let of_time = |kind: &KindAdvice| few(kind.time_samples);
    let unmeasured = |kind: &KindAdvice| (kind.memory_samples == 0).then_some(kind.tasks);
    let mut text = String::new();
    let risk = percent(advice.risk);
    let parts = [
        (format!("Memory of too few tasks for {risk} %, which takes {needed}"), list(&of_memory)),
        ("Memory was not measured".to_string(), list(&unmeasured)),
        (format!("Times of too few tasks for {risk} %"), list(&of_time)),
    ];
    for (reason, kinds) in parts.iter().filter(|(_, kinds)| !kinds.is_empty()) {
        text.push_str(&wrap(&format!("{reason}: {}.\n", kinds.join(", ")), 2, width));
    }
    if text.is_empty() {
        return text;
    }
    let most = advice.kinds.iter().filter_map(of_memory).max();
    if let Some(most) = most.filter(|&most| most >= 2) {
        // An order statistic of n peaks is exceeded with the probability 1 / (n + 1).
        let least = (100.0 / (most as f64 + 1.0)).ceil();
        let hint = format!(
            "More runs are more tasks (slackline advise RUN…); {most} tasks do for --risk {least}%.\n"
        );
        text.push_str(&wrap(&hint, 2, width));
    }
    format!("\nNot advised (the recorded request is kept)\n\n{text}")
}
