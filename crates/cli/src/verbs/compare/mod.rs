//! `slackline compare`: methods compared by results of runs.

mod campaign;
mod regression;

use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::{Args, ValueEnum};
use slackline_analysis::statistics::{Scale, Sense};
use slackline_formats::csv::Csv;
use slackline_lab::campaign::job_array;
use slackline_lab::campaign::{MethodKind, Shard, Store};
use slackline_lab::compare::{Comparison, Options, compare};
use slackline_report::compare::{html, text};
use std::path::{Path, PathBuf};

/// Compare methods by results of runs, with the statistics that a reviewer expects
#[derive(Args)]
#[command(after_help = "\
A campaign is a file that says what is varied and which methods are compared (docs/campaigns.md). Its runs are done on \
all cores and kept in one file; the same command continues where it was stopped.

Results of others are a table of comma-separated values with a row per run: a column that names the method (method, \
policy, algorithm, heuristic, planner or scheduler), columns of measures, and columns that say in which \
conditions the run took place. Rows that agree in the latter are a block: the methods in it are paired. \
A column 'status' says which runs were done.

Ratios are geometric means of a / b over common blocks with 95 % intervals; p is that of Wilcoxon's signed-rank \
test, corrected over all pairs (Holm); the effect is between -1 and 1 and is positive where a is better.

Examples:
  slackline compare campaign.toml --csv runs.csv --report report.html
  slackline compare results.csv --by ccr --metric makespan
  slackline compare results.csv --metric slr --against heft --equal 2%
  slackline compare old.csv new.csv --no-regression --tolerance makespan=2%")]
pub(crate) struct Compare {
    /// A campaign (.toml), results (CSV, or the SQLite file of a campaign), or two of the latter with --no-regression
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// File for the results of a campaign [default: beside the campaign file, .db]
    #[arg(short, long, value_name = "RESULTS.db")]
    output: Option<PathBuf>,
    /// Write the results of a campaign as a table, sorted
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Write the results of a campaign as lines of fields separated by colons
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Write a page with words, pictures and tables, in one file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write the pictures of that page into a folder, each as .svg and .png
    #[arg(long, value_name = "DIR", conflicts_with = "no_regression")]
    figures: Option<PathBuf>,
    /// Write a folder from which the campaign can be run again elsewhere
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// Do a part of a campaign, e.g. 2/8; parts are brought together with compare A.db B.db -o ALL.db
    #[arg(long, value_name = "PART", value_parser = campaign::shard)]
    shard: Option<Shard>,
    /// Have the parts of a campaign done by the batch system of a cluster, as one job array, and bring them together
    #[arg(long, value_name = "SYSTEM", conflicts_with_all = ["shard", "no_regression"])]
    on: Option<System>,
    /// With --on slurm: number of parts
    #[arg(long, value_name = "N", default_value_t = 16, requires = "on", value_parser = clap::value_parser!(u64).range(1..=job_array::MOST_JOBS))]
    jobs: u64,
    /// With --on slurm: an argument for sbatch (repeatable)
    #[arg(long, value_name = "WORD", requires = "on", allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// Threads of a campaign [default: all cores; of each part with --on slurm: 1]
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1024))]
    threads: Option<usize>,
    /// Factors whose levels make groups, e.g. ccr,tasks
    #[arg(long, value_name = "FACTOR,…", value_delimiter = ',')]
    by: Vec<String>,
    /// The measure; several with --no-regression
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', default_value = "makespan")]
    metric: Vec<String>,
    /// The column that names the methods
    #[arg(long, value_name = "COLUMN")]
    method: Option<String>,
    /// Columns to leave out, such as other measures and remarks
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Better direction of the metric [default: lower, but higher for speedup and the like]
    #[arg(long, value_name = "DIRECTION")]
    better: Option<Better>,
    /// Relative difference that counts as equal, e.g. 2%
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0")]
    equal: f64,
    /// Only pairs with this method
    #[arg(long, value_name = "METHOD")]
    against: Option<String>,
    /// Rank differences, or differences of logarithms where sizes differ by orders of magnitude
    #[arg(long, value_name = "SCALE", default_value = "linear")]
    scale: ScaleName,
    /// Columns that name what was drawn: their blocks are averaged before anything is inferred
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    unit: Vec<String>,
    /// Test that the second file is not worse than the first; exit code 1 if it is
    #[arg(long)]
    no_regression: bool,
    /// With --no-regression: a loss that is tolerated, e.g. cost=2% (repeatable)
    #[arg(long, value_name = "METRIC=SHARE", requires = "no_regression")]
    tolerance: Vec<String>,
    /// With --no-regression: only a larger improvement counts as a gain (repeatable)
    #[arg(long, value_name = "METRIC=SHARE", requires = "no_regression")]
    gain: Vec<String>,
    /// With --no-regression: exit code 1 also where the runs do not decide
    #[arg(long, value_name = "VERDICT", requires = "no_regression")]
    require: Option<Require>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

/// A batch system.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum System {
    /// Slurm
    Slurm,
}

/// Better direction of a metric.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Better {
    /// Less is better
    Lower,
    /// More is better
    Higher,
}

impl From<Better> for Sense {
    fn from(better: Better) -> Sense {
        match better {
            Better::Lower => Sense::Lower,
            Better::Higher => Sense::Higher,
        }
    }
}

/// Scale on which differences are ranked.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScaleName {
    /// a - b
    Linear,
    /// ln a - ln b
    Log,
}

/// The verdict that has to be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Require {
    /// Shown not to be worse
    Held,
}

impl Compare {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let mut files = Files::default().reads_all(&self.files).writes("-o", self.output.as_ref());
        for (option, path) in campaign::outputs(&self) {
            files = files.writes(option, path);
        }
        files.json(self.json).check(output)?;
        let is_campaign = self.files.iter().any(|file| campaign::is_campaign(file));
        let is_store = self.files.iter().all(|file| campaign::is_store(file));
        if !is_campaign {
            self.only_of_campaigns(
                "a campaign",
                &[
                    ("--bundle", self.bundle.is_some()),
                    ("--shard", self.shard.is_some()),
                    ("--threads", self.threads.is_some()),
                    ("--on", self.on.is_some()),
                ],
            )?;
        }
        if !is_campaign && !is_store {
            self.only_of_campaigns(
                "a campaign or its results",
                &[
                    ("-o", self.output.is_some()),
                    ("--csv", self.csv.is_some()),
                    ("--records", self.records.is_some()),
                ],
            )?;
        }
        if self.no_regression {
            return self.regression(output);
        }
        if is_campaign {
            let [path] = self.files.as_slice() else {
                return Err(Failure::input("one campaign is carried out at a time"));
            };
            return self.campaign(path, output);
        }
        if is_store {
            return self.results(output);
        }
        let [path] = self.files.as_slice() else {
            let message = format!("one file of results is compared, not {}", self.files.len());
            return Err(Failure::input(message)
                .with_help("two are compared with --no-regression, the old results first"));
        };
        let csv = read(path, output)?;
        let comparison = compare(&csv, &self.options()?).map_err(|error| error.in_file(path))?;
        if let Some(file) = &self.report {
            let about = html::About {
                name: &path.display().to_string(),
                question: "",
                file: "",
                version: campaign::VERSION,
                command: self.command(),
            };
            let kinds = [(MethodKind::Simulate, comparison)];
            let page = html::page_of_results(&about, &kinds);
            output.files.write(file, |out| out.write_all(page.as_bytes()))?;
            let [(_, comparison)] = kinds;
            self.draw("", &comparison, output)?;
            return self.show_one(&comparison, output);
        }
        self.draw("", &comparison, output)?;
        self.show_one(&comparison, output)
    }

    /// Writes the pictures of a comparison, if they are wanted, under names that begin with `prefix`.
    fn draw(&self, prefix: &str, found: &Comparison, output: &Output) -> Result<(), Failure> {
        let Some(folder) = &self.figures else { return Ok(()) };
        let mut names: Vec<String> = Vec::new();
        for (title, svg) in html::pictures(found, usize::MAX) {
            let mut name = prefix.to_string();
            for letter in title.to_lowercase().chars() {
                match letter {
                    letter if letter.is_alphanumeric() || letter == '.' => name.push(letter),
                    _ if name.ends_with('-') => {}
                    _ => name.push('-'),
                }
            }
            // Levels that differ in other signs alone.
            while names.contains(&name) {
                name.push('+');
            }
            for extension in ["svg", "png"] {
                let path = folder.join(format!("{name}.{extension}"));
                slackline_report::picture::write(&output.files, &path, &svg)?;
            }
            names.push(name);
        }
        Ok(())
    }

    /// The command that makes the same page.
    fn command(&self) -> String {
        let mut words: Vec<String> = ["slackline", "compare"].map(str::to_string).to_vec();
        words.extend(self.files.iter().map(|file| file.to_string_lossy().into_owned()));
        let mut option = |name: &str, value: String| words.extend([name.to_string(), value]);
        for (name, list) in [
            ("--by", &self.by),
            ("--metric", &self.metric),
            ("--ignore", &self.ignore),
            ("--unit", &self.unit),
        ] {
            if !list.is_empty() {
                option(name, list.join(","));
            }
        }
        for (name, value) in [("--method", &self.method), ("--against", &self.against)] {
            value.iter().for_each(|value| option(name, value.clone()));
        }
        if let Some(better) = self.better {
            let word = if matches!(better, Better::Higher) { "higher" } else { "lower" };
            option("--better", word.to_string());
        }
        if self.equal > 0.0 {
            option("--equal", self.equal.to_string());
        }
        if matches!(self.scale, ScaleName::Log) {
            option("--scale", "log".to_string());
        }
        if let Some(path) = &self.report {
            option("--report", path.to_string_lossy().into_owned());
        }
        let plain = |c: char| c.is_alphanumeric() || "-_./,=%+:".contains(c);
        let word = |word: &String| {
            if word.chars().all(plain) { word.clone() } else { job_array::quoted(word) }
        };
        words.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    fn show_one(&self, comparison: &Comparison, output: &mut Output) -> Result<(), Failure> {
        if self.json { output.json(comparison) } else { text::tell(comparison, output) }
    }

    /// Refuses options that mean nothing for these files.
    fn only_of_campaigns(&self, what: &str, given: &[(&str, bool)]) -> Result<(), Failure> {
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Failure::input(format!("{option} is for {what}"))),
            None => Ok(()),
        }
    }

    fn options(&self) -> Result<Options, Failure> {
        let [metric] = self.metric.as_slice() else {
            return Err(Failure::input("--metric: one measure is compared at a time")
                .with_help("several are for --no-regression"));
        };
        Ok(Options {
            metric: metric.clone(),
            by: self.by.clone(),
            method: self.method.clone(),
            ignore: self.ignore.clone(),
            better: self.better.map(Sense::from),
            equal: self.equal,
            scale: match self.scale {
                ScaleName::Linear => Scale::Linear,
                ScaleName::Log => Scale::Log,
            },
            against: self.against.clone(),
            unit: self.unit.clone(),
            order: Vec::new(),
        })
    }
}

/// Reads a table of results, from whichever kind of file.
fn read(path: &Path, output: &Output) -> Result<Csv, Failure> {
    if campaign::is_store(path) {
        return Store::open(path).and_then(|store| store.table()).map_err(Failure::from);
    }
    let text = output.files.read_text(path)?;
    Ok(Csv::parse(&text).map_err(|error| error.in_file(path))?)
}

/// A share such as `0.02` or `2%`.
fn share(text: &str) -> Result<f64, String> {
    let (number, divisor) = match text.trim().strip_suffix('%') {
        Some(number) => (number.trim(), 100.0),
        None => (text.trim(), 1.0),
    };
    let value: f64 = number.parse().map_err(|_| "expected a share such as 2%".to_string())?;
    if (0.0..1.0).contains(&(value / divisor)) {
        Ok(value / divisor)
    } else {
        Err("expected a share from 0 to below 100%".to_string())
    }
}
