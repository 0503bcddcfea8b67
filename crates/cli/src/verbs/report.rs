//! `slackline report`: a real run as one page of HTML.

use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use slackline_core::Failure;
use slackline_core::run::clock::now;
use slackline_core::run::history::RunHistory;
use slackline_core::run::page;
use std::path::PathBuf;

/// Write a report of a run as one HTML page that needs neither network nor scripts
#[derive(Args)]
#[command(after_help = "\
The page has the outcome, plan against reality, the Gantt chart with the chain of waits that decided the makespan, \
resources asked for and used, failures with what they wrote last, what to change next time, and the command that \
repeats the run. It can be written while the run is under way.

Example:
  slackline report montage.run -o report.html")]
pub(crate) struct Report {
    /// The folder of the run
    run: PathBuf,
    /// The page to write; - for standard output
    #[arg(short, long, value_name = "FILE.html", default_value = "report.html")]
    output: PathBuf,
}

impl Report {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default().writes("--output", Some(&self.output)).check(output)?;
        let quiet = std::mem::replace(&mut output.quiet, true);
        let made = RunHistory::read(&self.run, &mut output.context(true))
            .and_then(|history| page::html(&history, now(), &mut output.context(true)));
        output.quiet = quiet;
        let page = made?;
        output.files.write(&self.output, |out| out.write_all(page.as_bytes()))?;
        output.say(&format!("Report written to {}\n", self.output.display()))
    }
}
