//! Plans that promise to end sooner than the present one, by forecast.

use super::candidates::{Candidate, worth_redoing};
use super::context::PlanningContext;
use super::forecast::Future;
use super::rollouts::Choice;
use super::{AS_IT_IS, NEAR_TIE, OCCUPATIONS, Slackline, WINDOWS, WORTH_IT};
use crate::policy::{Plan, Transfers};
use crate::replanning;
use slackline_model::approx;

impl Slackline {
    /// Forecasts a plan with each window and keeps the best choice; what does not end before
    /// `limit` is no choice.
    pub(super) fn try_windows(
        &mut self,
        context: &PlanningContext<'_, '_>,
        (origin, plan): (&'static str, &Plan),
        windows: &[Transfers],
        limit: f64,
        best: &mut Option<Choice>,
    ) {
        for &transfers in windows {
            let limit = best.as_ref().map_or(limit, |b| {
                context.now.now + (b.forecast.makespan - context.now.now) * (1.0 - NEAR_TIE)
            });
            let plan = Plan { transfers, ..plan.clone() };
            let forecast = self.forecaster.follow(&context.future, &plan, limit);
            if forecast.makespan.is_finite() && approx::lt(forecast.makespan, limit) {
                *best = Some(Choice::new(origin, plan, forecast));
            }
        }
    }

    /// The windows next to the present one.
    fn other_windows(&self) -> Vec<Transfers> {
        let at = WINDOWS.iter().position(|w| *w == self.plan.transfers).unwrap_or(0);
        let near = at.saturating_sub(1)..WINDOWS.len().min(at + 2);
        near.filter(|&index| index != at).map(|index| WINDOWS[index]).collect()
    }

    /// Plans that end before `limit`, the best first: the present placement with other windows, the
    /// candidates, and some more, with the present one, and the best of these with others.
    pub(super) fn search(
        &mut self,
        context: &PlanningContext<'_, '_>,
        present: &Plan,
        more: Vec<Candidate>,
        limit: f64,
    ) -> Vec<Choice> {
        let others = self.other_windows();
        let mut kept = None;
        self.try_windows(context, (AS_IT_IS, present), &others, limit, &mut kept);
        let mut found: Vec<Choice> = Vec::new();
        for (origin, plan) in self.candidates(context).into_iter().chain(more) {
            let mut choice = None;
            self.try_windows(context, (origin, &plan), &[plan.transfers], limit, &mut choice);
            found.extend(choice);
        }
        sort(&mut found);
        if let Some(first) = found.first() {
            let (origin, plan) = (first.origin, first.plan.clone());
            let mut other = None;
            let seconds = first.forecast.makespan - context.now.now;
            let limit = context.now.now + seconds * (1.0 - NEAR_TIE);
            self.try_windows(context, (origin, &plan), &others, limit, &mut other);
            found.extend(other);
        }
        found.extend(kept.map(|choice| Choice { origin: "another window", ..choice }));
        sort(&mut found);
        found
    }

    /// Plans in which a result is made again rather than fetched, one task at a time.
    pub(super) fn try_rewinding(
        &mut self,
        context: &PlanningContext<'_, '_>,
        limit: f64,
        found: &mut Vec<Choice>,
    ) -> Result<(), String> {
        for task in worth_redoing(context, WORTH_IT * (self.end - context.now.now)) {
            let after = replanning::rewound(context.now, &[task]);
            let problem = after.problem().map_err(|e| e.to_string())?;
            let future = Future { now: &after, ..context.future };
            let again = PlanningContext { problem: &problem, now: &after, future };
            let plan = self.contended(&again, OCCUPATIONS[0]);
            let mut choice = None;
            self.try_windows(&again, ("rewound", &plan), &[plan.transfers], limit, &mut choice);
            found.extend(choice.map(|choice| Choice { rewind: vec![task], ..choice }));
        }
        sort(found);
        Ok(())
    }
}

/// By forecast end; of those that end alike, most likely because they are, what was tried first.
pub(super) fn sort(choices: &mut Vec<Choice>) {
    let key = |c: &Choice| approx::sort_key(c.forecast.makespan);
    choices.sort_by(|a, b| key(a).total_cmp(&key(b)));
    choices.dedup_by(|b, a| approx::eq(a.forecast.makespan, b.forecast.makespan));
}
