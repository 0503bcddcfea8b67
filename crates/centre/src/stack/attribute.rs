//! Attribution of error: which component, no longer injected, moves a run how far from its record.

use super::case::Case;
use super::engine::{Outcome, StackError, Variation, is_robust, run_varied};
use super::switches::{Component, Switches};

/// Errors below this are rounding: records are written with twelve digits.
const LEAST_ERROR: f64 = 1e-11;

/// One run with some components injected.
#[derive(Clone, Debug, PartialEq)]
pub struct Attributed {
    /// Components that are injected.
    pub switches: Switches,
    /// The course of the run.
    pub outcome: Outcome,
    /// Makespan less the recorded one, as a part of the recorded one; none where not all is done.
    pub error: Option<f64>,
    /// Whether the dates do not depend on ties.
    pub robust: bool,
}

/// All runs of an attribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribution {
    /// Recorded makespan, in seconds.
    pub recorded: f64,
    /// Every run once, in the order in which the lists below name them first.
    pub runs: Vec<Attributed>,
}

impl Attribution {
    /// The run with these switches.
    pub fn run(&self, switches: Switches) -> Option<&Attributed> {
        self.runs.iter().find(|run| run.switches == switches)
    }

    /// One component free at a time.
    pub fn alone() -> impl Iterator<Item = (Component, Switches)> {
        Component::ALL.into_iter().map(|c| (c, Switches::INJECTED.freeing(c)))
    }

    /// One component injected, all others free.
    pub fn injected_back() -> impl Iterator<Item = (Component, Switches)> {
        Component::ALL.into_iter().map(|c| (c, Switches::FREE.injecting(c)))
    }

    /// Components set free one after the other.
    pub fn cumulative() -> impl Iterator<Item = (Component, Switches)> {
        Component::ALL.into_iter().scan(Switches::INJECTED, |switches, c| {
            *switches = switches.freeing(c);
            Some((c, *switches))
        })
    }

    /// The platform together with what it acts through.
    pub fn with_platform() -> impl Iterator<Item = (Component, Switches)> {
        let platform = Switches::INJECTED.freeing(Component::Platform);
        let through = [Component::Application, Component::Transfers];
        through.into_iter().map(move |c| (c, platform.freeing(c)))
    }
}

/// Runs a case with these switches against its record.
pub fn attribute_one(case: &Case, switches: Switches) -> Result<Attributed, StackError> {
    let recorded = case.record.as_ref().ok_or(StackError::NoRecord)?.makespan;
    let outcome = run_varied(case, Some(switches), Variation::default())?;
    let error = outcome.makespan().map(|makespan| (makespan - recorded) / recorded);
    let error = error.map(|error| if error.abs() < LEAST_ERROR { 0.0 } else { error });
    let robust = is_robust(case, Some(switches), &outcome)?;
    Ok(Attributed { switches, outcome, error, robust })
}

/// Runs a case with everything injected, each component free alone, each injected alone, and set free one
/// after the other.
pub fn attribute(case: &Case) -> Result<Attribution, StackError> {
    let recorded = case.record.as_ref().ok_or(StackError::NoRecord)?.makespan;
    let all = [Switches::INJECTED]
        .into_iter()
        .chain(Attribution::alone().map(|(_, switches)| switches))
        .chain(Attribution::with_platform().map(|(_, switches)| switches))
        .chain(Attribution::cumulative().map(|(_, switches)| switches))
        .chain(Attribution::injected_back().map(|(_, switches)| switches));
    let mut runs: Vec<Attributed> = Vec::new();
    for switches in all {
        if runs.iter().all(|run| run.switches != switches) {
            runs.push(attribute_one(case, switches)?);
        }
    }
    Ok(Attribution { recorded, runs })
}
