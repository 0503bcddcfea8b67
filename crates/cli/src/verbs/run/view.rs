//! A run under way: on a terminal the tasks of each host, elsewhere a line now and then; failures
//! are told at once.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use slackline_core::RunView;
use slackline_core::run::RecordedFailure as Failure;
use slackline_core::run::clock::Clock;
use slackline_engine::RunSnapshot;
use slackline_model::{Problem, Schedule};
use slackline_report::run::view::Words;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// Time between two pictures on a terminal, and between two lines elsewhere.
const PICTURE: Duration = Duration::from_millis(150);

const LINE: Duration = Duration::from_secs(2);

/// Largest share of time spent on the view.
const SHARE: u32 = 20;

/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;

/// The display of a run under way, on a terminal or as lines.
pub(crate) struct View<'a> {
    words: Words<'a>,
    news: Receiver<Failure>,
    quiet: bool,
    bar: Option<ProgressBar>,
    next: Instant,
}

impl RunView for View<'_> {
    fn see(&mut self, glance: &RunSnapshot<'_>) {
        self.look(glance);
    }

    fn finish(self: Box<Self>) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

impl<'a> View<'a> {
    pub(crate) fn new(
        problem: &'a Problem<'a>,
        planned: &'a Schedule,
        news: Receiver<Failure>,
        quiet: bool,
    ) -> View<'a> {
        let terminal = std::io::stderr().is_terminal() && !quiet;
        let bar = terminal.then(|| {
            let target = ProgressDrawTarget::stderr();
            let bar = ProgressBar::with_draw_target(Some(problem.tasks() as u64), target);
            let style = ProgressStyle::with_template("{bar:20} {pos}/{len}  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let next = Instant::now() + if terminal { PICTURE } else { LINE };
        let clock = if quiet { Clock::default() } else { Clock::local() };
        View { words: Words::new(problem, planned, clock), news, quiet, bar, next }
    }

    fn look(&mut self, glance: &RunSnapshot<'_>) {
        while let Ok(failure) = self.news.try_recv() {
            let text = self.words.failure(&failure);
            match &self.bar {
                _ if self.quiet => {}
                Some(bar) => bar.println(text),
                None => say(&text),
            }
        }
        let begin = Instant::now();
        if self.quiet || begin < self.next {
            return;
        }
        let pause = match &self.bar {
            Some(bar) => {
                bar.set_length(glance.situation.tasks.len() as u64); // choices and loops release more
                bar.set_position(glance.situation.tasks.done() as u64);
                bar.set_message(self.words.picture(glance, columns()));
                PICTURE
            }
            None => {
                say(&self.words.line(glance));
                LINE
            }
        };
        self.next = Instant::now() + pause.max(begin.elapsed() * SHARE);
    }
}

/// Columns of the terminal.
fn columns() -> usize {
    let columns = terminal_size::terminal_size_of(std::io::stderr());
    columns.map_or(COLUMNS, |(width, _)| usize::from(width.0).max(20))
}

/// A line beside the results; nobody reading is no reason to stop the work.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
