//! Progress of long work: a bar with the time left on a terminal, an occasional line elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use slackline_model::units::fmt_seconds;
use slackline_schedule::Watch;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time before the first report on long work, and between two checks.
const PATIENCE: Duration = Duration::from_millis(600);
const LOOK: Duration = Duration::from_millis(150);

/// Runs one of several pieces of work and says on a terminal which it is, for how long it has
/// been going on, and, of a search, the best so far and the bound.
pub(crate) fn while_running<T>(
    what: &str,
    quiet: bool,
    watch: Option<&Watch>,
    work: impl FnOnce() -> T,
) -> T {
    if quiet || !std::io::stderr().is_terminal() {
        return work();
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looker = std::thread::Builder::new();
        let looker = looker.spawn_scoped(scope, || look_on(what, watch, &done));
        let result = work();
        done.store(true, Ordering::Relaxed);
        if let Ok(looker) = looker {
            looker.thread().unpark();
        }
        result
    })
}

fn look_on(what: &str, watch: Option<&Watch>, done: &AtomicBool) {
    let begin = Instant::now();
    let mut line: Option<ProgressBar> = None;
    while !done.load(Ordering::Relaxed) {
        if begin.elapsed() >= PATIENCE {
            let line = line.get_or_insert_with(ProgressBar::new_spinner);
            line.set_message(told(what, begin.elapsed(), watch));
            line.tick();
        }
        std::thread::park_timeout(LOOK);
    }
    if let Some(line) = line {
        line.finish_and_clear();
    }
}

/// `best: 12 s, best so far 80 s, at most 16 % above the bound of 69 s`.
fn told(what: &str, since: Duration, watch: Option<&Watch>) -> String {
    let mut text = format!("{what}: {:.0} s", since.as_secs_f64());
    if let Some(watch) = watch
        && let Some(best) = watch.best()
    {
        text += &format!(", best so far {}", fmt_seconds(best));
        let bound = watch.bound();
        if bound > 0.0 {
            let above = 100.0 * (best / bound - 1.0).max(0.0);
            text += &format!(", at most {above:.1} % above the bound of {}", fmt_seconds(bound));
        }
    }
    text
}

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
        // The next stage may have the name of the last.
        if last.0 != stage || done == 0 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_schedule::{Request, registry};
    use std::sync::Arc;

    #[test]
    fn a_search_tells_its_best_and_its_bound() {
        let text = include_str!("../../../examples/workflows/heft-2002.json");
        let instance = slackline_formats::instance::read(text).unwrap();
        let problem =
            slackline_model::Problem::new(&instance.workflow, &instance.platform).unwrap();
        let watch = Arc::new(Watch::default());
        let request = Request { watch: Some(Arc::clone(&watch)), ..Request::default() };
        let best = registry::find("exact").unwrap();
        let plan = best.plan(&problem, &request).unwrap();
        assert_eq!(watch.best(), Some(plan.makespan()));
        assert!(watch.bound() > 0.0 && watch.bound() <= plan.makespan());
        let line = told("exact", Duration::from_secs(3), Some(&watch));
        assert!(line.starts_with("exact: 3 s, best so far "), "{line}");
        assert_eq!(while_running("x", false, None, || 7), 7);
    }

    #[test]
    fn a_stage_of_the_same_name_begins_anew() {
        let bar = Bar { plain: true, ..Bar::new(true) };
        bar.show("worlds", 4, 4);
        assert_eq!(bar.last.lock().unwrap().1, LINES);
        bar.show("worlds", 0, 8);
        assert_eq!(bar.last.lock().unwrap().1, 0);
    }
}
