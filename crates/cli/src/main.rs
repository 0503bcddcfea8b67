//! The `slackline` command: thin, one file per verb.

mod check;
mod contents;
mod detect;
mod examples;
mod failure;
mod files;
mod input;
mod interrupt;
mod model;
mod output;
mod progress;
mod search;
mod table;
mod told;
mod verbs;

use clap::Parser;
use output::Output;
use std::process::ExitCode;

/// Plans, simulates and runs workflows on machines that do not hold still.
#[derive(Parser)]
#[command(
    name = "slackline",
    version,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 fine, 1 the work failed (infeasible, invalid, cannot finish), 2 bad usage or\ninput, 130 interrupted by Ctrl-C."
)]
struct Cli {
    #[command(flatten)]
    common: output::Common,
    #[command(subcommand)]
    verb: Option<verbs::Verb>,
}

const WELCOME: &str = "\
Slackline plans, simulates and runs workflows on machines that do not hold still.

  slackline examples                     write example workflows and platforms to look at
  slackline show WORKFLOW                what is in a file
  slackline plan WORKFLOW --platform P   when and where every task runs, as table and chart
  slackline simulate WORKFLOW            whether the plan holds when links are shared; --scenario
                                         says how machines fail and slow down, --compare who copes
  slackline algorithms                   the planners and policies to choose from

All verbs: slackline --help    One verb: slackline VERB --help
";

fn main() -> ExitCode {
    let cli = Cli::parse();
    interrupt::watch();
    if cli.common.allow_outside {
        slackline_formats::source::permit_outside();
    }
    let mut output = Output::new(&cli.common);
    let done = match cli.verb {
        Some(verb) => verb.run(&mut output),
        None => output.text(WELCOME),
    };
    match done.and_then(|()| output.finish()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.report(&failure);
            failure.exit_code()
        }
    }
}
