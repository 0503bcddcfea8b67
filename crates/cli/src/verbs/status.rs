//! `slackline status`: the state of a real run, also while it is under way.

use crate::output::Output;
use clap::Args;
use slackline_core::Failure;
use slackline_core::run::clock::now;
use slackline_core::run::history::RunHistory;
use slackline_report::run::status::{next_step, tell};
use std::path::PathBuf;

/// Show the state of a run: what is done, what runs, when it is expected to end
#[derive(Args)]
#[command(after_help = "\
The log is read and nothing is changed, so that a run can be looked at from any shell. The expected end is a band: \
8 of 10 draws of the rest, made from the times seen so far, end in it.

Examples:
  slackline status montage.run
  slackline status montage.run --json")]
pub(crate) struct Status {
    /// The folder of the run
    run: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Status {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let history = RunHistory::read(&self.run, &mut output.context(false))?;
        let status = history.status(now());
        if self.json {
            return output.json(&status);
        }
        output.text(&(tell(&status, output) + &next_step(&status)))?;
        if let Some(torn) = &history.torn {
            output.warning(&format!("the log is read up to its last whole record: {torn}"));
        }
        Ok(())
    }
}
