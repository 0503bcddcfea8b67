//! How far long work is: a bar with the time left on a terminal, a line now and then elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::Mutex;

/// Parts of a stage after which a line is written where there is no terminal.
const LINES: usize = 4;

/// Shows the stages of one piece of work, one after the other.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// Whether a bar is drawn at all.
    drawn: bool,
    /// Lines instead of a bar.
    plain: bool,
    /// The stage shown last and how many of its lines were written.
    last: Mutex<(String, usize)>,
}

impl Bar {
    /// On standard error; silent when `quiet`.
    pub(crate) fn new(quiet: bool) -> Bar {
        let terminal = std::io::stderr().is_terminal();
        // Drawn only when there is something to say.
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        let template = "{msg:24} {bar:24} {pos}/{len}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let (drawn, plain) = (terminal && !quiet, !terminal && !quiet);
        Bar { bar, drawn, plain, last: Mutex::new((String::new(), 0)) }
    }

    /// `done` of `total` steps of a stage; called from any thread.
    pub(crate) fn show(&self, stage: &str, done: usize, total: usize) {
        // A poisoned lock only means that another thread's line was cut short.
        let mut last = self.last.lock().unwrap_or_else(|e| e.into_inner());
        if last.0 != stage {
            let first = last.0.is_empty();
            *last = (stage.to_string(), 0);
            self.bar.reset();
            self.bar.set_length(total as u64);
            self.bar.set_message(stage.to_string());
            if first && self.drawn {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        }
        self.bar.set_position(self.bar.position().max(done as u64));
        let part = (done * LINES).checked_div(total).unwrap_or(LINES);
        if self.plain && part > last.1 {
            last.1 = part;
            // Nobody reading is no reason to stop the work.
            let _ = writeln!(std::io::stderr(), "{stage}: {done} of {total}");
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
