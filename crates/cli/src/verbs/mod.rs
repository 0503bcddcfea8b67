//! One file per verb.

mod algorithms;
mod completions;
mod convert;
mod generate;
mod plan;
mod show;
mod simulate;

use crate::failure::Failure;
use crate::output::Output;
use clap::Subcommand;

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Verb {
    Plan(plan::Plan),
    Simulate(simulate::Simulate),
    Show(show::Show),
    Convert(convert::Convert),
    Generate(generate::Generate),
    Algorithms(algorithms::Algorithms),
    Completions(completions::Completions),
}

impl Verb {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self {
            Verb::Plan(verb) => verb.run(output),
            Verb::Simulate(verb) => verb.run(output),
            Verb::Show(verb) => verb.run(output),
            Verb::Convert(verb) => verb.run(output),
            Verb::Generate(verb) => verb.run(output),
            Verb::Algorithms(verb) => verb.run(output),
            Verb::Completions(verb) => verb.run(output),
        }
    }
}
