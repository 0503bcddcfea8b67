//! The program `slackline`; see the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    slackline::main()
}
