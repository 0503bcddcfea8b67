//! `slackline clean`: remove what a run folder need not keep.

use crate::output::Output;
use clap::Args;
use slackline_core::Failure;
use slackline_core::run::{Parts, clean};
use slackline_model::units::fmt_bytes;
use std::path::PathBuf;

/// Remove what a run folder need not keep
#[derive(Args)]
#[command(after_help = "\
Without an option both what failed attempts and what is temporary goes: results, logs of tasks and the files that the next run \
reuses stay. A folder that somebody drives is refused, and nothing outside it is touched.

Examples:
  slackline clean montage.run
  slackline clean montage.run --all")]
pub(crate) struct Clean {
    /// The folder of the run
    run: PathBuf,
    /// Remove folders of failed attempts
    #[arg(long)]
    failed: bool,
    /// Remove what attempts that were broken off left, files that were brought for tasks, and those of tasks that the
    /// workflow has no more
    #[arg(long)]
    temp: bool,
    /// Remove the whole folder, with its results
    #[arg(long, conflicts_with_all = ["failed", "temp"])]
    all: bool,
    /// Print one JSON document instead of a line
    #[arg(long)]
    json: bool,
}

impl Clean {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let none = !(self.failed || self.temp || self.all);
        let parts =
            Parts { failed: self.failed || none, temporary: self.temp || none, all: self.all };
        let report = clean(&self.run, parts, &mut output.context(false))?;
        if self.json {
            return output.json(&report);
        }
        let files = match report.files {
            1 => "1 file".to_string(),
            n => format!("{n} files"),
        };
        let bytes = fmt_bytes(report.bytes as f64);
        output.say(&format!("Removed {files}, {bytes}, of {}.\n", report.folder))
    }
}
