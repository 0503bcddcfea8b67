//! Choice among plans.

use super::context::PlanningContext;
use super::forecast::Future;
use super::rollouts::{self, Choice, Margins};
use super::{FEWEST_DRAWS, HORIZON, NEAR_TIE, PASSES, Slackline, TAIL, WORTH_IT};
use crate::explanation::Explanation;
use crate::plan_simulator::LevelForecast;
use crate::policy::Plan;
use crate::situation::Situation;

/// The rollouts of one evaluation take at most one in so many of the followed tasks that are left (but always enough
/// for the fewest draws).
const AT_ONCE: usize = 3;

impl Slackline {
    /// Plan to follow: `kept`, or one of the others, best forecast first; none where `kept` leads nowhere and there is
    /// no other.
    pub(super) fn select(
        &mut self,
        cause: &str,
        context: &PlanningContext<'_, '_>,
        mut kept: Choice,
        mut others: Vec<Choice>,
        courses: &[LevelForecast],
        margins: Margins,
    ) -> Option<Choice> {
        let now = context.now;
        let hopeless = kept.forecast.makespan.is_infinite();
        for other in &mut others {
            other.stops = other.rewind.len() > kept.rewind.len() || other.stops_any(now);
        }
        let first = others.first().map_or(0.0, |o| o.forecast.makespan);
        let length = if hopeless { first } else { kept.forecast.makespan } - now.now;
        let enough = courses.len().min(FEWEST_DRAWS);
        let affords = |ours: &Self, others: &[Choice]| {
            let followed = others.iter().chain((!hopeless).then_some(&kept));
            ours.rollouts.affords(now, followed.map(Choice::cost).sum())
        };
        // What cannot all be followed is left out from the end: first what differs only in its interim policy.
        while others.len() > 1 && affords(self, &others) < enough {
            others.pop();
        }
        let affords = affords(self, &others);
        let (taken, why) = if others.is_empty() {
            (None, "nothing better in sight")
        } else if hopeless && others.len() == 1 {
            (Some(0), "the only way")
        } else if enough > 0 && affords >= enough && {
            let courses = &courses[..courses.len().min((affords / AT_ONCE).max(enough))];
            let limit = 2.0 * HORIZON * length;
            if hopeless {
                self.rollouts.follow(now, &mut others, courses, limit)
            } else {
                self.rollouts.compare(now, (&mut kept, &mut others), courses, limit)
            }
        } {
            if hopeless {
                (rollouts::shortest(&others), "the shortest in roll-outs")
            } else {
                match rollouts::best(&kept, &others, margins, self.estimates.noise()) {
                    Some(best) => (Some(best), "shorter in roll-outs"),
                    None => (None, "no clear gain in roll-outs"),
                }
            }
        } else {
            let gain = kept.forecast.makespan - others[0].forecast.makespan;
            // A forecast does not show the worth of an interim policy.
            let noise = if others[0].stops { self.estimates.noise() } else { 0.0 };
            let clear = gain > noise.max(NEAR_TIE * length);
            let holds = hopeless || clear && self.holds(context, &kept.plan, &others[0], now);
            if holds {
                (Some(0), "shorter by forecast")
            } else {
                (None, "no clear gain by forecast")
            }
        };
        let mut alternatives = vec![kept.told(&self.planned, now.now)];
        alternatives.extend(others.iter().map(|o| o.told(&self.planned, now.now)));
        let index = taken.map_or(0, |at| at + 1);
        let (cause, why) = (cause.to_string(), why.to_string());
        self.reasons = Some(Explanation { cause, alternatives, taken: index, why });
        match taken {
            Some(at) => Some(others.swap_remove(at)),
            None => (!hopeless).then_some(kept),
        }
    }

    /// Whether a choice is better than the present plan however soon present levels pass: clearly
    /// in the mean, and never much worse.
    fn holds(
        &mut self,
        context: &PlanningContext<'_, '_>,
        present: &Plan,
        choice: &Choice,
        now: &Situation,
    ) -> bool {
        let Some((date, later)) = context.future.later else { return true };
        if !choice.rewind.is_empty() {
            return true;
        }
        let (mut sum, mut kept_sum) = (0.0, 0.0);
        for share in PASSES {
            let passes = now.now + share * (date - now.now);
            let future = Future { later: Some((passes, later)), ..context.future };
            let kept = self.forecaster.follow(&future, present, f64::INFINITY).makespan;
            let limit = now.now + (kept - now.now) * (1.0 + TAIL);
            let end = self.forecaster.follow(&future, &choice.plan, limit).makespan;
            if end > limit {
                return false;
            }
            sum += end - now.now;
            kept_sum += kept - now.now;
        }
        sum < kept_sum * (1.0 - WORTH_IT)
    }
}
