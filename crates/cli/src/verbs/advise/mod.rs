//! `slackline advise`: what tasks should request next time.

mod config;

use super::import::{records, without_common};
use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use slackline_analysis::sizing::{self, Amount};
use slackline_core::advice::{Advice, KindAdvice, Memory};
use slackline_import::{Engine, RecordedRun};
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_report::table::{Table, count, cut, wrap};
use std::path::PathBuf;

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

/// Recipient of the requests.
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

impl Advise {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads_all(&self.paths)
            .writes("--output", self.output.as_ref())
            .json(self.json)
            .check(output)?;
        let mut runs: Vec<RecordedRun> = Vec::new();
        for path in &self.paths {
            let paths = std::slice::from_ref(path);
            let run = records(paths, self.from.as_deref(), None, output)?;
            if runs.first().is_some_and(|first| first.engine != run.engine) {
                let message = format!("{}: records of another engine", path.display());
                return Err(Failure::input(message).with_help("advise for each engine on its own"));
            }
            runs.push(run);
        }
        let advice = Advice::of(&runs, self.risk);
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
