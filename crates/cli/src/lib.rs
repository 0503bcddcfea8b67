//! The `slackline` command as a function: thin, one file per verb. The program only calls
//! [`main`]; whoever wants the command in process calls [`run`].
//!
//! ```
//! let (out, err) = (slackline::Sink::default(), slackline::Sink::default());
//! let words = ["slackline", "plan", "../../examples/workflows/heft-2002.json", "--quiet"];
//! assert_eq!(slackline::run(words, out.clone(), err.clone()), 0);
//! assert_eq!(slackline::run(["slackline", "plan", "no.such.file"], out, err.clone()), 2);
//! assert!(err.text().contains("no.such.file"));
//! ```

mod input;
mod interrupt;
mod model;
mod output;
mod path_check;
mod planner_options;
mod progress;
mod request;
mod set_option;
mod verbs;

/// Errors of verbs are those of the application layer.
mod failure {
    pub(crate) use slackline_core::Failure;
}

use clap::{CommandFactory, FromArgMatches, Parser};
use output::Output;
pub use output::Sink;
use slackline_core::Failure;
use slackline_io::FileAccess;
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Version, commit and target, for `--version`; `-V` prints the version alone.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("SLACKLINE_COMMIT"),
    ", ",
    env!("SLACKLINE_TARGET"),
    ")"
);

/// Plans, simulates and runs workflows on machines that do not hold still.
#[derive(Parser)]
#[command(
    name = "slackline",
    version,
    long_version = LONG_VERSION,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 fine, 1 the work failed (infeasible, invalid, cannot finish), 2 bad usage or \
                  input, 130 ended by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP."
)]
struct Cli {
    #[command(flatten)]
    common: output::Common,
    /// Carry out a request: a JSON document that --print-request shows; - for standard input
    #[arg(long, value_name = "FILE")]
    request: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long, requires = "request")]
    json: bool,
    #[command(subcommand)]
    verb: Option<verbs::Verb>,
}

const WELCOME: &str = "\
Slackline plans, simulates and runs workflows on machines that do not hold
still.

What is in a workflow? When and where would every task run? Does that hold when
links are shared, and when machines slow down? (montage and two-site-grid are
bundled; name your own files instead.)

  slackline show montage
  slackline plan montage --platform two-site-grid
  slackline simulate montage --platform two-site-grid
  slackline generate scenario failure --platform two-site-grid -o bad.toml
  slackline simulate montage -p two-site-grid --scenario bad.toml --compare all

  slackline algorithms    # the planners and policies to choose from
  slackline examples      # the bundled workflows and platforms as files

All verbs: slackline --help    One verb: slackline VERB --help
";

/// The program: its arguments, its streams, and signals.
pub fn main() -> ExitCode {
    ExitCode::from(command(std::env::args_os()))
}

/// The program with these words, its name first: on the streams of the process, with signals watched. Returns the exit
/// code.
pub fn command<W>(words: W) -> u8
where
    W: IntoIterator<Item: Into<OsString>>,
{
    let cli = match Cli::try_parse_from(with_np(words.into_iter().map(Into::into))) {
        Ok(cli) => cli,
        Err(error) => {
            let code = error.exit_code();
            // Help goes to standard output, complaints to standard error; nobody reading is no error.
            let _ = if error.use_stderr() {
                let styled = std::io::stderr().is_terminal();
                std::io::stderr().write_all(complaint(&error, styled).as_bytes())
            } else {
                error.print()
            };
            return u8::try_from(code).unwrap_or(2);
        }
    };
    let files = cli.common.files();
    interrupt::watch(files.clone());
    carry_out(cli, files, Box::new(std::io::stdout().lock()), Box::new(std::io::stderr()))
}

/// Runs a command line, its name first, with these streams; gives the exit code.
pub fn run<W, O, E>(words: W, out: O, mut err: E) -> u8
where
    W: IntoIterator<Item: Into<OsString> + Clone>,
    O: Write + 'static,
    E: Write + 'static,
{
    // Who calls once calls often: verbs, options and all they may be given are laid out once.
    thread_local!(static COMMAND: RefCell<clap::Command> = RefCell::new(Cli::command()));
    let parsed = COMMAND.with_borrow_mut(|command| {
        let words = with_np(words.into_iter().map(Into::into));
        let mut matches = command.try_get_matches_from_mut(words)?;
        Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(command))
    });
    match parsed {
        Ok(cli) => {
            let files = cli.common.files();
            carry_out(cli, files, Box::new(out), Box::new(err))
        }
        Err(error) => {
            let _ = err.write_all(complaint(&error, false).as_bytes());
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    }
}

/// `mpirun -np N` as every MPI has it: an option of two letters behind one dash.
fn with_np(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if let Some(verb) = words.iter().position(|word| word == "mpirun")
        && let Some(option) = words[verb..].iter_mut().find(|word| *word == "-np")
    {
        *option = "--np".into();
    }
    words
}

/// An error of the command line in words of people.
fn complaint(error: &clap::Error, styled: bool) -> String {
    let text = error.render();
    let text = if styled { text.ansi().to_string() } else { text.to_string() };
    text.replace("invalid digit found in string", "expected a whole number")
        .replace("cannot parse integer from empty string", "expected a whole number")
        .replace("number too large to fit in target type", "too large a number")
        .replace("invalid float literal", "expected a number")
}

fn carry_out(cli: Cli, files: FileAccess, out: Box<dyn Write>, err: Box<dyn Write>) -> u8 {
    let mut output = Output::new(&cli.common, files, out, err);
    let done = match (cli.verb, cli.request) {
        (Some(_), Some(_)) => Err(Failure::input("--request takes the place of a verb")
            .with_help("the request's schema says what is done")),
        (Some(verb), None) => verb.run(&mut output),
        (None, Some(path)) => request::carry_out(&path, cli.json, &mut output),
        (None, None) => output.text(WELCOME),
    };
    match done.and_then(|()| output.finish()) {
        Ok(()) => 0,
        Err(failure) => {
            output.report(&failure);
            failure.exit_code()
        }
    }
}
