//! Output: results to standard output, messages to standard error.

use crate::interrupt;
use crate::progress::{Bar, while_running};
use crate::verbs::run_view;
use clap::{Args, ValueEnum};
use serde::Serialize;
use slackline_core::run::RecordedFailure as FailedAttempt;
use slackline_core::{Context, Failure, Observer, RunView, bundled as examples};
use slackline_io::FileAccess;
use slackline_model::names::printable_lines;
use slackline_model::{Problem, Schedule};
use slackline_report::terminal::shown;
use slackline_report::{Printer, Style};
use slackline_schedule::Watch;
use std::io::{BufWriter, IsTerminal, Write};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

/// Options that every verb takes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of every verb")]
pub(crate) struct Common {
    /// Print only requested results and errors
    #[arg(short, long, global = true, display_order = 1000, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print more about what is read and done
    #[arg(short, long, global = true, display_order = 1000)]
    pub(crate) verbose: bool,
    /// Refuse files in which something had to be guessed or left out, instead of a warning
    #[arg(long, global = true, display_order = 1000)]
    pub(crate) strict: bool,
    /// Read files that a platform names even where they lie outside its folder
    #[arg(long, global = true, display_order = 1000)]
    pub(crate) allow_outside: bool,
    /// Print the request that the options of plan, simulate and run make, and do nothing else
    #[arg(long, global = true, display_order = 1000)]
    pub(crate) print_request: bool,
    /// When to use colours
    #[arg(long, global = true, display_order = 1000, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    pub(crate) color: When,
}

impl Common {
    /// The files that the command may read: bundled ones too, those outside a platform's folder
    /// where the user allows it.
    pub(crate) fn files(&self) -> FileAccess {
        FileAccess::default().with_bundled(examples::named).allow_outside(self.allow_outside)
    }
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
    /// The files this command line may read and is writing.
    pub(crate) files: FileAccess,
    out: BufWriter<Box<dyn Write>>,
    err: Box<dyn Write>,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    pub(crate) strict: bool,
    pub(crate) print_request: bool,
    pub(crate) colour: bool,
    colour_errors: bool,
    pub(crate) width: usize,
    /// Columns of tables whose values are never cut where a program may read them.
    pub(crate) table_width: usize,
    /// Standard output belongs to a file that was asked for.
    stdout_taken: bool,
    /// Progress bar of a long simulated run.
    bar: Option<Bar>,
}

impl Output {
    /// Colours and widths are those of the process's own streams.
    pub(crate) fn new(
        common: &Common,
        files: FileAccess,
        out: Box<dyn Write>,
        err: Box<dyn Write>,
    ) -> Output {
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
            files,
            out: BufWriter::new(out),
            err,
            quiet: common.quiet,
            verbose: common.verbose,
            strict: common.strict,
            print_request: common.print_request,
            colour: wanted(std::io::stdout().is_terminal()),
            colour_errors: wanted(std::io::stderr().is_terminal()),
            width: width(),
            table_width: if std::io::stdout().is_terminal() { width() } else { UNCUT },
            stdout_taken: false,
            bar: None,
        }
    }

    /// Context for requests; their explanations are read unless `brief`.
    pub(crate) fn context(&mut self, brief: bool) -> Context<'_> {
        let (files, strict) = (self.files.clone(), self.strict);
        Context { files, strict, brief, observer: self }
    }

    /// A file that was asked for goes to standard output: what is said to people does not.
    pub(crate) fn leave_stdout(&mut self) {
        self.stdout_taken = true;
        self.colour = self.colour_errors;
    }

    /// Writes a result.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        let text = shown(text, self.colour);
        if self.stdout_taken {
            return Ok(self.err.write_all(text.as_bytes())?);
        }
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
        if let Failure::Interrupted { message, .. } = failure {
            self.aside("stopped", "33", message);
        }
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
        let text = printable_lines(text);
        let _ = if self.colour_errors {
            writeln!(self.err, "\x1b[{style}m{what}:\x1b[0m {text}")
        } else {
            writeln!(self.err, "{what}: {text}")
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

impl Printer for Output {
    fn style(&self) -> Style {
        let Output { width, table_width, colour, quiet, .. } = *self;
        Style { width, table_width, colour, quiet }
    }

    fn files(&self) -> &FileAccess {
        &self.files
    }

    fn context(&mut self, brief: bool) -> Context<'_> {
        Output::context(self, brief)
    }

    fn stream(&mut self) -> &mut dyn Write {
        Output::stream(self)
    }

    fn text(&mut self, text: &str) -> Result<(), Failure> {
        Output::text(self, text)
    }

    fn note(&mut self, text: &str) {
        Output::note(self, text);
    }

    fn warning(&mut self, text: &str) {
        Output::warning(self, text);
    }
}

impl Observer for Output {
    fn note(&mut self, text: &str) {
        Output::note(self, text);
    }

    fn detail(&mut self, text: &str) {
        Output::detail(self, text);
    }

    fn warning(&mut self, text: &str) {
        Output::warning(self, text);
    }

    fn listen(&mut self) -> Arc<AtomicBool> {
        interrupt::listen()
    }

    fn ignore(&mut self) {
        interrupt::ignore();
    }

    fn interrupted_code(&self) -> u8 {
        interrupt::exit_code()
    }

    fn search(&mut self, what: &str, watch: Option<&Watch>, work: &mut dyn FnMut()) {
        while_running(what, self.quiet, watch, work);
    }

    fn progress(&mut self, what: &str, done: usize, total: usize) {
        if !self.quiet {
            self.bar.get_or_insert_with(|| Bar::new(false)).show(what, done, total);
        }
    }

    fn progress_finished(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish();
        }
    }

    fn view<'a>(
        &mut self,
        problem: &'a Problem<'a>,
        planned: &'a Schedule,
        failures: Receiver<FailedAttempt>,
    ) -> Option<Box<dyn RunView + 'a>> {
        Some(Box::new(run_view::View::new(problem, planned, failures, self.quiet)))
    }
}

/// A stream that keeps what is written, for who runs the command in process.
#[derive(Clone, Debug, Default)]
pub struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    /// Text written so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// As many columns as there are.
const UNCUT: usize = 1_000_000;

/// Columns to fill: the terminal's, `COLUMNS`, or 80.
fn width() -> usize {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let stated = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let width = if std::io::stdout().is_terminal() { terminal.or(stated) } else { stated };
    width.unwrap_or(80).clamp(40, 400)
}
