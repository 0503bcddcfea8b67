//! `slackline activities`: a graph of placed activities.

use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use slackline_core::Failure;
use slackline_core::activities::simulate;
use slackline_report::activities::table;
use std::path::PathBuf;

/// Simulate a graph of activities that are already placed
#[derive(Args)]
#[command(after_help = "\
Computations, transfers, disk operations, parallel tasks and pauses run where and after what the file says; \
docs/formats.md describes it.

Example:
  slackline activities activities.json --config network/model:CM02")]
pub(crate) struct Activities {
    /// The graph
    #[arg(value_name = "PLAN.json")]
    pub(super) plan: PathBuf,
    /// The platform; the one that the plan names if left out
    #[arg(short, long, value_name = "FILE")]
    pub(super) platform: Option<PathBuf>,
    /// Change a setting of the simulation, e.g. network/model:CM02 or preset:simgrid-3.11
    #[arg(long = "config", value_name = "KEY:VALUE")]
    pub(super) settings: Vec<String>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub(super) json: bool,
}

impl Activities {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads(Some(&self.plan))
            .reads(self.platform.as_ref())
            .json(self.json)
            .check(output)?;
        let settings = crate::model::pairs(&self.settings)?;
        let platform = self.platform.as_deref();
        let report = simulate(&self.plan, platform, &settings, &mut output.context(false))?;
        if self.json {
            return output.json(&report);
        }
        let text = table(&report, output);
        output.text(&text)
    }
}
