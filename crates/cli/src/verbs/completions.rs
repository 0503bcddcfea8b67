//! `slackline completions`: what a shell needs to complete our commands.

use crate::failure::Failure;
use crate::output::Output;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Print the completion script of a shell
#[derive(Args)]
#[command(
    after_help = "Example:\n  slackline completions bash > ~/.local/share/bash-completion/completions/slackline"
)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Cli::command(), "slackline", &mut script);
        Ok(output.stream().write_all(&script)?)
    }
}
