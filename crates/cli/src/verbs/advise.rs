//! `slackline advise`: what tasks should request next time.

use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use slackline_core::advice::Advice;
use slackline_core::recorded::records;
use slackline_import::{Engine, RecordedRun};
use slackline_report::advice::config;
use slackline_report::advice::describe;
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

impl From<Target> for config::Target {
    fn from(target: Target) -> config::Target {
        match target {
            Target::Nextflow => config::Target::Nextflow,
            Target::Snakemake => config::Target::Snakemake,
            Target::Slurm => config::Target::Slurm,
        }
    }
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
            let run = records(
                paths,
                self.from.as_deref().and_then(Engine::named),
                None,
                &mut output.context(false),
            )?;
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
        let text = config::write(&advice, target.into());
        match &self.output {
            Some(path) => {
                output.files.write(path, |out| out.write_all(text.as_bytes()))?;
                output.say(&format!("Written: {}\n", path.display()))
            }
            None => output.text(&text),
        }
    }
}
