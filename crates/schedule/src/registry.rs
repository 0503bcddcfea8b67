//! Every planner with its name, family and source.

use crate::list;
use slackline_model::{Problem, Schedule};
use thiserror::Error;

/// What a planner may be told besides the problem.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Seed of methods that draw random numbers.
    pub seed: u64,
}

/// Why there is no plan.
#[derive(Clone, Debug, Error, PartialEq)]
#[allow(missing_docs)] // the messages say it
pub enum PlanError {
    #[error("task '{task}' can run nowhere: every processor that fits it is gone")]
    Nowhere { task: String },
    #[error("no plan meets the limits: {why}")]
    Infeasible { why: String },
    #[error("{algorithm} cannot plan this: {why}")]
    Unsupported { algorithm: &'static str, why: String },
}

/// Groups of planners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// List scheduling of one workflow for the shortest makespan.
    List,
}

impl Family {
    /// Name to show.
    pub fn name(self) -> &'static str {
        match self {
            Family::List => "list",
        }
    }
}

/// A planner as the registry knows it.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// The name to type.
    pub name: &'static str,
    /// Its group.
    pub family: Family,
    /// One line on what it does.
    pub about: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Growth with tasks v, dependencies e and processors p.
    pub complexity: &'static str,
    /// Plans the unfinished part of a problem.
    pub plan: fn(&Problem<'_>, &Settings) -> Result<Schedule, PlanError>,
}

/// All planners, in the order they are shown.
pub const ALL: &[Algorithm] = &[list::heft::HEFT];

/// The planner of that name.
pub fn find(name: &str) -> Option<&'static Algorithm> {
    ALL.iter().find(|a| a.name == name)
}
