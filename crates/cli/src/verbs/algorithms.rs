//! `slackline algorithms`: the registries of planners and policies, for people and machines.

use crate::output::Output;
use clap::Args;
use slackline_core::Failure;
use slackline_report::algorithms::{asked, described_in_full, document, overview};

/// List the planners and the policies, or describe some of them
#[derive(Args)]
#[command(
    after_help = "Examples:\n  slackline algorithms\n  slackline algorithms peft slackline\n  slackline algorithms --json"
)]
pub(crate) struct Algorithms {
    /// Only these planners and policies
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Describe all of them
    #[arg(long, conflicts_with = "names")]
    all: bool,

    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Algorithms {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let (methods, policies) = asked(&self.names)?;
        if self.json {
            return output.json(&document(methods, policies));
        }
        let text = if self.names.is_empty() && !self.all {
            overview(output)
        } else {
            described_in_full(methods, policies, output)
        };
        output.text(&text)
    }
}
