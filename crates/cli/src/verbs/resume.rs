//! `slackline resume`: go on with a run.

use super::run::{self, Outputs};
use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use slackline_core::Failure;
use std::path::PathBuf;

/// Go on with a run that was stopped, killed or cut off
#[derive(Args)]
#[command(after_help = "\
The log is played through engine and policy, which must decide as before; processes of the run that \
are still there are ended, and what was under way begins again. What is done is not done again. Where the run is over and \
tasks failed, these are tried again; where the workflow was edited, its new definition is adopted; where the log is long, \
what is done is kept and the rest planned anew.

Example:
  slackline resume montage.run")]
pub(crate) struct Resume {
    /// The folder of the run
    run: PathBuf,
    /// Go on from the last whole record though the log is damaged in the middle; what follows is kept in a
    /// file beside it
    #[arg(long)]
    force: bool,
    /// Try tasks again that were given up, also where the run is not over yet
    #[arg(long)]
    retry_failed: bool,
    #[command(flatten)]
    outputs: Outputs,
}

impl Resume {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        self.outputs.files(Files::default()).check(output)?;
        run::resume(&self.run, self.force, self.retry_failed, &self.outputs, output)
    }
}
