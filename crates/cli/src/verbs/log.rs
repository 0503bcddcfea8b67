//! `slackline log`: the attempts of a real run.

use crate::output::Output;
use clap::Args;
use slackline_core::Failure;
use slackline_core::run::clock::now;
use slackline_core::run::history::RunHistory;
use slackline_report::run::log::tell;
use std::path::PathBuf;

/// Show the attempts of a run, or of one task: exit codes, last lines of stderr, resources, hosts
#[derive(Args)]
#[command(after_help = "\
Without a task, what is written of failed attempts is shown; with one, of all its attempts.

Examples:
  slackline log montage.run
  slackline log montage.run --failed
  slackline log montage.run mProject_3")]
pub(crate) struct Log {
    /// The folder of the run
    run: PathBuf,
    /// The task
    task: Option<String>,
    /// Failed attempts only
    #[arg(long)]
    failed: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Log {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let history = RunHistory::read(&self.run, &mut output.context(false))?;
        let mut log = history.log(self.task.as_deref(), now())?;
        if self.failed {
            log.attempts.retain(|attempt| attempt.state == "failed");
        }
        if self.json {
            return output.json(&log);
        }
        let text = tell(&log, self.task.is_some(), output);
        output.text(&text)
    }
}
