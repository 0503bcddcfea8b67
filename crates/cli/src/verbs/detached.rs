//! `slackline detached`: the process of a run without a terminal.

use super::run::{Outputs, carry_out, detach};
use crate::output::Output;
use clap::Args;
use slackline_core::Failure;
use slackline_core::request::RunRequest;

/// Drive a run that `run --detach` begins; its request comes from standard input (internal)
#[derive(Args)]
#[command(hide = true)]
pub(crate) struct Detached {
    /// Shell line to carry out when the run is over
    #[arg(long, value_name = "COMMAND")]
    notify: Option<String>,
}

impl Detached {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        detach::leave_terminal()?;
        let request: RunRequest = serde_json::from_reader(std::io::stdin())?;
        carry_out(request, &Outputs::notifying(self.notify), output)
    }
}
