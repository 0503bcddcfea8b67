//! `slackline calibrate RUN…`: platform and workflow as real runs showed them to be.

use crate::output::Output;
use clap::Args;
use slackline_core::Failure;
use slackline_core::run::calibration;
use slackline_report::calibration as report;
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct Runs {
    /// Folders of runs, or recorded instances (WfFormat) to fit overheads to
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// The workflow to give learnt times; that of the last run if left out
    #[arg(long, value_name = "FILE")]
    workflow: Option<PathBuf>,
    /// The folder to write to
    #[arg(short, long, value_name = "DIR", required = true)]
    output: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

impl Runs {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let Some(target) = &self.output else {
            return Err(Failure::input("name a folder with -o"));
        };
        if self.runs.iter().any(|path| path.is_file()) {
            if self.workflow.is_some() {
                let message = "--workflow: recorded instances teach overheads, no run times";
                return Err(Failure::input(message));
            }
            let found =
                calibration::from_instances(&self.runs, target, &mut output.context(false))?;
            return if self.json {
                output.json(&found)
            } else {
                report::fitted(&found, target, output)
            };
        }
        let workflow = self.workflow.as_deref();
        let found =
            calibration::from_runs(&self.runs, workflow, target, &mut output.context(false))?;
        match found {
            Some(found) if self.json => output.json(&found),
            Some(found) => report::learnt(&found, target, output),
            None => Ok(()),
        }
    }
}
