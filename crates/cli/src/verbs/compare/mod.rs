//! `slackline compare`: methods compared by results of runs.

mod regression;
mod report;

use crate::failure::Failure;
use crate::files::Files;
use crate::output::Output;
use clap::{Args, ValueEnum};
use slackline_analysis::statistics::{Scale, Sense};
use slackline_formats::csv::Csv;
use slackline_lab::compare::{Options, compare};
use std::path::{Path, PathBuf};

/// Compare methods by results of runs, with the statistics that a reviewer expects
#[derive(Args)]
#[command(after_help = "\
Results are a table of comma-separated values with a row per run: a column that names the method (method, \
policy, algorithm, heuristic, planner or scheduler), columns of measures, and columns that say in which \
conditions the run took place. Rows that agree in the latter are a block: the methods in it are paired. \
A column 'status' says which runs were done.

Ratios are geometric means of a / b over common blocks with 95 % intervals; p is that of Wilcoxon's signed-rank \
test, corrected over all pairs (Holm); the effect lies between -1 and 1 and is positive where a is better.

Examples:
  slackline compare results.csv --by ccr --metric makespan
  slackline compare results.csv --metric slr --against heft --equal 2%
  slackline compare old.csv new.csv --no-regression --metric makespan,cost --tolerance cost=2%")]
pub(crate) struct Compare {
    /// Results (CSV); two with --no-regression, the old ones first
    #[arg(required = true)]
    files: Vec<PathBuf>,
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
    /// Which direction of the metric is better [default: lower, but higher for speedup and the like]
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

/// What differences are ranked.
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
        Files::default().reads_all(&self.files).json(self.json).check(output)?;
        if self.no_regression {
            return self.regression(output);
        }
        let [path] = self.files.as_slice() else {
            let message = format!("one file of results is compared, not {}", self.files.len());
            return Err(Failure::input(message)
                .with_help("two are compared with --no-regression, the old results first"));
        };
        let csv = read(path, output)?;
        let comparison = compare(&csv, &self.options()?).map_err(|error| error.in_file(path))?;
        if self.json {
            return output.json(&comparison);
        }
        report::tell(&comparison, output)
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

/// Reads a table of results.
fn read(path: &Path, output: &Output) -> Result<Csv, Failure> {
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
