//! `slackline diff`: where a run went otherwise than a plan, or than another run.

use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use slackline_core::Failure;
use slackline_core::run::difference::compare;
use slackline_report::picture;
use slackline_report::run::difference::{svg, tell};
use std::path::PathBuf;

/// Compare a run with its plan, a simulation of it, or another run of the same workflow
#[derive(Args)]
#[command(after_help = "\
The first is a schedule (JSON, as written by plan -o), the folder of a run, or a trace (.jsonl, of \
simulate --trace or run --trace); the second is the folder of a run. Positive differences are seconds that \
the second took longer.

Examples:
  slackline diff plan.json montage.run
  slackline diff simulated.jsonl montage.run --gantt both.svg
  slackline diff first.run second.run --json")]
pub(crate) struct Diff {
    /// A schedule, a trace or the folder of a run
    before: PathBuf,
    /// The folder of a run
    after: PathBuf,
    /// Draw both into this SVG file, one above the other on the same scale
    #[arg(short, long, value_name = "FILE.svg")]
    gantt: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

impl Diff {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default().draws("--gantt", self.gantt.as_ref()).json(self.json).check(output)?;
        let is_drawn = self.gantt.is_some();
        let (found, charts) =
            compare(&self.before, &self.after, is_drawn, &mut output.context(false))?;
        if let (Some(path), Some(charts)) = (&self.gantt, &charts) {
            picture::write(&output.files, path, &svg(charts))?;
        }
        if self.json { output.json(&found) } else { tell(&found, output) }
    }
}
