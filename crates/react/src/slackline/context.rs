//! Planning problem of the unfinished rest, at expected levels.

use super::forecast::Future;
use crate::situation::Situation;
use slackline_model::problem::View;
use slackline_model::{Problem, approx};

/// A situation at the levels to plan with, with its problem, and what is expected to come.
#[derive(Clone, Copy)]
pub(super) struct PlanningContext<'a, 'p> {
    pub(super) problem: &'a Problem<'p>,
    pub(super) now: &'a Situation,
    pub(super) future: Future<'a, 'p>,
}

/// Levels as they are and as they will be after a date.
pub(super) struct Levels {
    pub(super) seen: View,
    pub(super) later: Option<(f64, View)>,
}

/// The problems of the levels, without state.
pub(super) struct Prospect<'p> {
    seen: Problem<'p>,
    later: Option<(f64, Problem<'p>)>,
}

impl Levels {
    /// The levels of the start: as seen until a date, then the mean of all hosts.
    pub(super) fn at_first(now: &Situation, until: f64) -> Levels {
        let seen = now.view.clone();
        let mut later = seen.clone();
        let alive = now.platform.host_ids().filter(|&h| now.is_alive(h));
        let levels: Vec<f64> = alive.map(|h| seen.availability[h.index()]).collect();
        let mean = levels.iter().sum::<f64>() / (levels.len().max(1)) as f64;
        let differ = levels.iter().any(|&level| !approx::eq(level, mean));
        for host in now.platform.host_ids().filter(|&h| now.is_alive(h)) {
            later.availability[host.index()] = mean;
        }
        Levels { seen, later: differ.then_some((until, later)) }
    }

    pub(super) fn prospect<'p>(&self, now: &'p Situation) -> Result<Prospect<'p>, String> {
        let problem = |view: &View| {
            let problem = Problem::as_seen(&now.workflow, &now.platform, view.clone());
            problem.map_err(|e| e.to_string())
        };
        let later = match &self.later {
            Some((date, view)) => Some((*date, problem(view)?)),
            None => None,
        };
        Ok(Prospect { seen: problem(&self.seen)?, later })
    }
}

impl<'p> Prospect<'p> {
    pub(super) fn context<'a>(
        &'a self,
        problem: &'a Problem<'p>,
        now: &'a Situation,
    ) -> PlanningContext<'a, 'p> {
        let later = self.later.as_ref().map(|(date, problem)| (*date, problem));
        PlanningContext { problem, now, future: Future { problem: &self.seen, now, later } }
    }
}
