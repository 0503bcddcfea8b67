//! Requests in the words of engines.

use slackline_analysis::sizing::{Amount, RETRY_FACTOR};
use slackline_core::advice::{Advice, KindAdvice};
use std::fmt::Write as _;

/// Bytes of a mebibyte, which Nextflow and Slurm call a megabyte.
const MIB: f64 = 1024.0 * 1024.0;
/// Bytes of a megabyte in `mem_mb` of Snakemake.
const MB: f64 = 1e6;
/// Bytes of a megabyte in `input.size_mb` of Snakemake.
const SNAKEMAKE_INPUT_MB: f64 = 1024.0 * 1024.0;

/// Engine or batch system that a configuration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A configuration file of Nextflow.
    Nextflow,
    /// A profile of Snakemake.
    Snakemake,
    /// Options of sbatch, a line for each kind of task.
    Slurm,
}

/// Request for a kind: advised, else recorded.
struct Requested {
    memory: Option<Amount>,
    /// Attempts after the first; 0 where the request is the recorded one.
    retries: u32,
    cores: Option<u32>,
    /// Seconds.
    time: Option<f64>,
}

impl Requested {
    fn of(kind: &KindAdvice) -> Requested {
        let advised = kind.memory.as_ref();
        let recorded = kind.recorded_memory.map(|base| Amount { base, per_input: 0.0 });
        let cores = kind.recorded_cores.map(|c| c.ceil().clamp(1.0, 1e6) as u32);
        Requested {
            memory: advised.map(|m| m.request.amount).or(recorded),
            retries: advised.map_or(0, |m| m.request.retries),
            cores: kind.cores.or(cores),
            time: kind.time.as_ref().map(|t| t.limit).or(kind.recorded_time),
        }
    }

    /// Mebibytes of a constant, rounded up.
    fn mebibytes(amount: f64) -> u64 {
        (amount / MIB).ceil().max(1.0) as u64
    }

    fn minutes(seconds: f64) -> u64 {
        (seconds / 60.0).ceil().max(1.0) as u64
    }
}

/// The configuration of a target.
pub fn write(advice: &Advice, target: Target) -> String {
    match target {
        Target::Nextflow => nextflow(advice),
        Target::Snakemake => snakemake(advice),
        Target::Slurm => slurm(advice),
    }
}

fn head(advice: &Advice, comment: &str) -> String {
    format!(
        "{comment} Requests from {} recorded run{}: the first attempt of a task is given too little memory with at most {} %,\n\
         {comment} each further attempt {RETRY_FACTOR} times as much.\n",
        advice.runs,
        if advice.runs == 1 { "" } else { "s" },
        100.0 * advice.risk
    )
}

fn most_retries(advice: &Advice) -> u32 {
    advice.kinds.iter().map(|k| Requested::of(k).retries).max().unwrap_or(0)
}

fn note(text: &mut String, kind: &KindAdvice, indent: &str, comment: &str) {
    for remark in &kind.remarks {
        let _ = writeln!(text, "{indent}{comment} {remark}: the recorded request is kept");
    }
}

fn nextflow(advice: &Advice) -> String {
    let mut text = head(advice, "//");
    text.push_str("process {\n");
    let retries = most_retries(advice);
    if retries > 0 {
        // Killed for lack of memory, or by a batch system.
        text.push_str("    errorStrategy = { task.exitStatus in [104, 134, 137, 139, 140, 143, 247] ? 'retry' : 'finish' }\n");
        let _ = writeln!(text, "    maxRetries = {retries}");
    }
    for kind in &advice.kinds {
        let requested = Requested::of(kind);
        let name = kind.kind.replace('\\', "\\\\").replace('\'', "\\'");
        let _ = writeln!(text, "    withName: '{name}' {{");
        note(&mut text, kind, "        ", "//");
        if let Some(amount) = requested.memory {
            // A configuration does not see the inputs of a process: the largest request seen stands for all.
            let bytes = match &kind.memory {
                Some(memory) if amount.per_input != 0.0 => memory.largest,
                _ => amount.base,
            };
            let mebibytes = Requested::mebibytes(bytes);
            let _ = match requested.retries {
                0 => writeln!(text, "        memory = {mebibytes}.MB"),
                _ => writeln!(
                    text,
                    "        memory = {{ {mebibytes}.MB * 2 ** (task.attempt - 1) }}"
                ),
            };
        }
        if let Some(cores) = requested.cores {
            let _ = writeln!(text, "        cpus = {cores}");
        }
        if let Some(seconds) = requested.time {
            let _ = writeln!(
                text,
                "        time = {{ {}.min * task.attempt }}",
                Requested::minutes(seconds)
            );
        }
        text.push_str("    }\n");
    }
    text.push_str("}\n");
    text
}

fn snakemake(advice: &Advice) -> String {
    let mut text = head(advice, "#");
    let retries = most_retries(advice);
    if retries > 0 {
        let _ = writeln!(text, "retries: {retries}");
    }
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut threads = String::new();
    let mut resources = String::new();
    for kind in &advice.kinds {
        let requested = Requested::of(kind);
        if let Some(cores) = requested.cores {
            let _ = writeln!(threads, "  {}: {cores}", quoted(&kind.kind));
        }
        let mut of_kind = String::new();
        note(&mut of_kind, kind, "    ", "#");
        if let Some(amount) = requested.memory {
            let base = amount.base / MB;
            let grown = match requested.retries {
                0 => String::new(),
                _ => " * 2 ** (attempt - 1)".to_string(),
            };
            let value = match amount.per_input {
                0.0 => format!("{}{grown}", (amount.base / MB).ceil().max(1.0)),
                slope => {
                    let slope = slope * SNAKEMAKE_INPUT_MB / MB;
                    format!("max(1, int({base:.1} + {slope:.6} * input.size_mb) + 1){grown}")
                }
            };
            let _ = writeln!(of_kind, "    mem_mb: {}", quoted(&value));
        }
        if let Some(seconds) = requested.time {
            let minutes = Requested::minutes(seconds);
            let _ = writeln!(of_kind, "    runtime: {}", quoted(&format!("{minutes} * attempt")));
        }
        if of_kind.lines().any(|line| !line.trim_start().starts_with('#')) {
            let _ = write!(resources, "  {}:\n{of_kind}", quoted(&kind.kind));
        }
    }
    if !threads.is_empty() {
        let _ = write!(text, "set-threads:\n{threads}");
    }
    if !resources.is_empty() {
        let _ = write!(text, "set-resources:\n{resources}");
    }
    text
}

fn slurm(advice: &Advice) -> String {
    let mut text = head(advice, "#");
    for kind in &advice.kinds {
        let requested = Requested::of(kind);
        note(&mut text, kind, "", "#");
        let mut options = Vec::new();
        if let Some(cores) = requested.cores {
            options.push(format!("--cpus-per-task={cores}"));
        }
        if let Some(amount) = requested.memory {
            let bytes = match &kind.memory {
                Some(memory) if amount.per_input != 0.0 => memory.largest,
                _ => amount.base,
            };
            let mebibytes = Requested::mebibytes(bytes);
            options.push(format!("--mem={mebibytes}M"));
            if requested.retries > 0 {
                let ladder =
                    (1..=requested.retries).map(|k| format!("{}M", mebibytes << k.min(20)));
                let ladder: Vec<String> = ladder.collect();
                let _ = writeln!(text, "# after OUT_OF_MEMORY: --mem={}", ladder.join(", then "));
            }
        }
        if let Some(seconds) = requested.time {
            let minutes = Requested::minutes(seconds);
            options.push(format!("--time={}:{:02}:00", minutes / 60, minutes % 60));
        }
        if !options.is_empty() {
            let name = serde_json::Value::from(kind.kind.as_str()).to_string();
            let _ = writeln!(text, "sbatch --job-name={name} {}", options.join(" "));
        }
    }
    text
}
