//! Published results, run again: what a source states, what comes out here, and a verdict that
//! follows from the numbers by a rule written at the claim.

mod concurrent;
mod deadlines;
mod gtp;
mod lists;
mod markdown;
mod nondet;
mod poisson;
mod policies;
mod ptg;
mod qos;
mod report;
mod selective;
mod simulator;
mod sweep;

pub use report::{Cell, Check, Claim, Judgement, Report, Rule, Table, Unit, Verdict};

use crate::cell::Recipe;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use thiserror::Error;

/// Number of runs of a reproduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// Takes seconds; too few samples for most verdicts.
    Quick,
    /// The size of the runs in the documentation.
    #[default]
    Standard,
    /// The source's own numbers of runs, or more.
    Full,
}

impl Size {
    /// Name to show.
    pub fn name(self) -> &'static str {
        match self {
            Size::Quick => "quick",
            Size::Standard => "standard",
            Size::Full => "full",
        }
    }
}

/// Settings of a reproduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Seed of every draw.
    pub seed: u64,
    /// Number of runs.
    pub size: Size,
    /// Graphs per setting, where the size's own number is not wanted.
    pub graphs: Option<usize>,
}

/// Error of a study.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{0}")]
pub struct StudyError(pub String);

impl StudyError {
    /// From any other error.
    pub(crate) fn of(error: impl std::fmt::Display) -> StudyError {
        StudyError(error.to_string())
    }
}

/// Progress of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The part that runs.
    pub stage: &'a str,
    /// Steps done.
    pub done: usize,
    /// Steps of this part.
    pub total: usize,
}

/// Listener that is notified of a study's progress.
pub struct Watch<'a> {
    tell: &'a (dyn Fn(Progress<'_>) + Sync),
}

impl<'a> Watch<'a> {
    /// Tells this function, from any thread.
    pub fn new(tell: &'a (dyn Fn(Progress<'_>) + Sync)) -> Watch<'a> {
        Watch { tell }
    }

    /// Does the same with all items on the threads of the current pool; the results keep the
    /// order of the items, so that threads do not change what is made of them.
    pub(crate) fn over<T: Sync, R: Send>(
        &self,
        stage: &str,
        items: &[T],
        work: impl Fn(&T) -> Result<R, StudyError> + Sync,
    ) -> Result<Vec<R>, StudyError> {
        let (done, total) = (AtomicUsize::new(0), items.len());
        (self.tell)(Progress { stage, done: 0, total });
        let step = |item: &T| {
            let result = work(item);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            (self.tell)(Progress { stage, done, total });
            result
        };
        items.par_iter().map(step).collect()
    }
}

/// A source that can be run again.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// The name to type.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Authors, place, year.
    pub source: &'static str,
    /// One line on what is checked.
    pub about: &'static str,
    /// Runs it.
    pub run: fn(&Options, &Watch<'_>) -> Result<Report, StudyError>,
    /// Its runs and plans one by one, those included that it makes only after it has seen others.
    pub cells: fn(&Options) -> Result<Vec<Recipe>, StudyError>,
    /// Parts that no command can repeat, with the reason; empty if there are none.
    pub unlisted: &'static str,
}

/// All reproductions, in the order they are shown.
pub const ALL: &[Paper] = &[
    gtp::PAPER,
    selective::PAPER,
    policies::PAPER,
    sweep::PAPER,
    ptg::PAPER,
    qos::HBCS,
    qos::DBCS,
    qos::CLOUD,
    concurrent::FDWS,
    concurrent::BUDGETS,
    deadlines::DEADLINES,
    lists::PEFT,
    lists::METAHEURISTICS,
    simulator::PAPER,
    nondet::PAPER,
];

/// The reproduction of that name.
pub fn find(name: &str) -> Option<&'static Paper> {
    ALL.iter().find(|p| p.name == name)
}
