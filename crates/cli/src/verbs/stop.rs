//! `slackline stop`: ends a real run from another shell.

use crate::input::duration;
use crate::output::Output;
use clap::Args;
use slackline_core::Failure;
use slackline_core::run::status::RunState;
use slackline_core::run::stop;
use slackline_report::table::count;
use std::path::PathBuf;
use std::time::Duration;

/// Stop a run: end its tasks and batch jobs, close its log
#[derive(Args)]
#[command(after_help = "\
The process that drives the run is asked to end it in order. Where it is gone, the processes and batch jobs that it \
left are ended. slackline resume continues later.

Example:
  slackline stop montage.run")]
pub(crate) struct Stop {
    /// The folder of the run
    run: PathBuf,
    /// Time to wait for the run to end
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s")]
    patience: f64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Stop {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let patience = Duration::try_from_secs_f64(self.patience).unwrap_or(Duration::MAX);
        let report = stop::stop(&self.run, patience, &mut output.context(true))?;
        if self.json {
            return output.json(&report);
        }
        let folder = self.run.display();
        let mut text = match (report.was, report.state) {
            (RunState::Running, RunState::Finished) => format!("{folder}: finished meanwhile\n"),
            (RunState::Running, _) => {
                format!("{folder}: stopped; slackline resume {folder} continues\n")
            }
            (was, _) => format!("{folder}: was not running ({})\n", was.name()),
        };
        if report.ended_processes > 0 {
            text.push_str(
                &format!("ended {}\n", count(report.ended_processes, "left process"))
                    .replace("processs", "processes"),
            );
        }
        if report.cancelled_jobs > 0 {
            text.push_str(&format!("cancelled {}\n", count(report.cancelled_jobs, "batch job")));
        }
        output.say(&text)
    }
}
