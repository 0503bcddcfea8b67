//! Environment of a request: the files it may use and the observer that is notified while it is carried out.

use slackline_engine::RunSnapshot;
use slackline_io::FileAccess;
use slackline_machines::folder::Failure as FailedAttempt;
use slackline_model::{Problem, Schedule};
use slackline_schedule::Watch;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;

/// The exit code after an interruption by an unknown signal: that of Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Is notified while a request is carried out. Every method has a default that does nothing.
pub trait Observer {
    /// A remark about the work.
    fn note(&mut self, _text: &str) {}

    /// A remark that is only shown in verbose output.
    fn detail(&mut self, _text: &str) {}

    /// Something that the user should check.
    fn warning(&mut self, _text: &str) {}

    /// Begins to listen for the wish that the work ends early; the flag is raised when it comes.
    fn listen(&mut self) -> Arc<AtomicBool> {
        Arc::default()
    }

    /// Ends listening.
    fn ignore(&mut self) {}

    /// The exit code of a command whose work ended because the flag was raised.
    fn interrupted_code(&self) -> u8 {
        INTERRUPTED
    }

    /// Does a piece of work that may take long; `watch` has the best result and the bound of a search.
    fn search(&mut self, _what: &str, _watch: Option<&Watch>, work: &mut dyn FnMut()) {
        work();
    }

    /// Reports that `done` of `total` tasks of a simulated run are done.
    fn progress(&mut self, _what: &str, _done: usize, _total: usize) {}

    /// The simulated run whose progress was reported is over.
    fn progress_finished(&mut self) {}

    /// A view of a real run that is about to begin; `failures` receives every failed attempt.
    fn view<'a>(
        &mut self,
        _problem: &'a Problem<'a>,
        _planned: &'a Schedule,
        _failures: Receiver<FailedAttempt>,
    ) -> Option<Box<dyn RunView + 'a>> {
        None
    }
}

/// Follows a real run.
pub trait RunView {
    /// Observes the present state of the run.
    fn see(&mut self, glance: &RunSnapshot<'_>);

    /// The run is over.
    fn finish(self: Box<Self>);
}

/// An observer that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Files, strictness and observer with which a request is carried out.
pub struct Context<'o> {
    /// The files that may be read and written; the bundled ones ([`crate::bundled`]) among them.
    pub files: FileAccess,
    /// Whether a file in which something had to be guessed or left out is refused, instead of a warning.
    pub strict: bool,
    /// Whether only plans and runs are wanted, without the figures that explain them.
    pub brief: bool,
    /// The observer that is notified.
    pub observer: &'o mut dyn Observer,
}

impl<'o> Context<'o> {
    /// A context that is neither strict nor brief.
    pub fn new(files: FileAccess, observer: &'o mut dyn Observer) -> Context<'o> {
        Context { files, strict: false, brief: false, observer }
    }

    pub(crate) fn note(&mut self, text: &str) {
        self.observer.note(text);
    }

    pub(crate) fn detail(&mut self, text: &str) {
        self.observer.detail(text);
    }

    pub(crate) fn warning(&mut self, text: &str) {
        self.observer.warning(text);
    }
}
