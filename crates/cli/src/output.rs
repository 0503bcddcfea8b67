//! Where text goes: results to standard output, everything said about them to standard error.

use crate::failure::Failure;
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};

/// Options that every verb takes.
#[derive(Args, Clone, Debug)]
pub(crate) struct Common {
    /// Say less: only results that were asked for, and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more about what is read and done
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    pub(crate) color: When,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Also into files and pipes
    Always,
    /// Not at all
    Never,
}

/// The two streams and how to use them.
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    pub(crate) colour: bool,
    colour_errors: bool,
    pub(crate) width: usize,
}

impl Output {
    pub(crate) fn new(common: &Common) -> Output {
        let wanted = |terminal: bool| match common.color {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
                terminal && !set("NO_COLOR") && !dumb
            }
        };
        Output {
            out: BufWriter::new(std::io::stdout().lock()),
            quiet: common.quiet,
            verbose: common.verbose,
            colour: wanted(std::io::stdout().is_terminal()),
            colour_errors: wanted(std::io::stderr().is_terminal()),
            width: width(),
        }
    }

    /// Writes a result.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Writes a result that `--quiet` leaves out.
    pub(crate) fn say(&mut self, text: &str) -> Result<(), Failure> {
        if self.quiet { Ok(()) } else { self.text(text) }
    }

    /// Writes one JSON document.
    pub(crate) fn json<T: Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        serde_json::to_writer_pretty(&mut self.out, value)?;
        Ok(self.out.write_all(b"\n")?)
    }

    /// The stream itself, for writers of other crates.
    pub(crate) fn stream(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// Says something about the work, beside the results.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.aside("note", "36", text);
        }
    }

    /// Says something only the curious want to know.
    pub(crate) fn detail(&mut self, text: &str) {
        if self.verbose {
            self.aside("info", "2", text);
        }
    }

    /// Says something the user should look at.
    pub(crate) fn warning(&mut self, text: &str) {
        if !self.quiet {
            self.aside("warning", "33", text);
        }
    }

    /// Says why the work failed and what to try.
    pub(crate) fn report(&mut self, failure: &Failure) {
        if let Failure::Input { message, help } | Failure::Work { message, help } = failure {
            self.aside("error", "1;31", message);
            if let Some(help) = help {
                self.aside("  help", "36", help);
            }
        }
    }

    fn aside(&mut self, what: &str, style: &str, text: &str) {
        // What was printed so far comes first; a reader that is gone misses nothing here.
        let _ = self.out.flush();
        let _ = if self.colour_errors {
            writeln!(std::io::stderr(), "\x1b[{style}m{what}:\x1b[0m {text}")
        } else {
            writeln!(std::io::stderr(), "{what}: {text}")
        };
    }

    /// A headline.
    pub(crate) fn bold(&self, text: &str) -> String {
        if self.colour { format!("\x1b[1m{text}\x1b[0m") } else { text.to_string() }
    }

    /// Makes sure that everything was written.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}

/// Columns to fill: the terminal's, `COLUMNS`, or 80.
fn width() -> usize {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let stated = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let width = if std::io::stdout().is_terminal() { terminal.or(stated) } else { stated };
    width.unwrap_or(80).clamp(40, 400)
}
