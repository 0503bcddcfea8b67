//! Roll-outs: alternatives followed to their ends under several draws of what may come, and the
//! verdict on them. What is under way is kept unless another is better on average by a margin and
//! not worse in the tail, the latest third of the draws.

use super::forecast::Forecast;
use super::interim_policy::{self, InterimPolicy};
use super::{FEWEST_DRAWS, STATIC};
use crate::explanation::Alternative;
use crate::plan_simulator::{LevelForecast, PlanSimulator};
use crate::policy::{Assignment, Plan, Policy};
use crate::replanning;
use crate::situation::{Situation, TaskState};
use slackline_model::{ProcId, TaskId};

/// Beyond this many tasks the effort falls with the square of their number.
const LARGE: usize = 100;

/// Part of the gain on average that may be lost in the latest third of the draws, where that is more than
/// the margin allows.
const RISK: f64 = 1.0 / 3.0;

/// Ratio to the plan under way in the first draws above which a candidate is dropped, and multiple of its latest end
/// after which any draw stops.
const CLEARLY: f64 = 1.05;
const HOPELESS: f64 = 2.0;

/// A forecast is that much less work than a roll-out; what they are granted for one plan is at most a sixth
/// of the effort that is left.
const LIGHTER: usize = 6;
const GRANTED: usize = 6;

/// A plan that could be followed, what has to be rewound for it, and what is expected of it.
pub(super) struct Choice {
    /// Origin of the plan.
    pub(super) origin: &'static str,
    pub(super) plan: Plan,
    pub(super) forecast: Forecast,
    pub(super) rewind: Vec<TaskId>,
    /// Seconds to its end under each draw, where it was followed.
    pub(super) followed: Vec<f64>,
    /// Work that is done or under way is lost with it.
    pub(super) stops: bool,
    /// Interim policy before the next evaluation.
    pub(super) interim_policy: Option<InterimPolicy>,
}

impl Choice {
    pub(super) fn new(origin: &'static str, plan: Plan, forecast: Forecast) -> Choice {
        let (rewind, followed) = (Vec::new(), Vec::new());
        Choice { origin, plan, forecast, rewind, followed, stops: false, interim_policy: None }
    }

    /// Whether a task that runs would begin again elsewhere.
    pub(super) fn stops_any(&self, now: &Situation) -> bool {
        let stopped = |a: &Assignment| {
            let runs = matches!(now.task(a.task), TaskState::Running { .. });
            runs && now.task(a.task).procs() != Some(&a.procs[..])
        };
        self.plan.assignments.iter().any(stopped)
    }

    /// The work of a roll-out of it, in those of a plan alone.
    pub(super) fn cost(&self) -> usize {
        if self.interim_policy.is_some() { interim_policy::COST } else { 1 }
    }

    /// Explanation of the candidate, beside a plan under way.
    pub(super) fn told(&self, under_way: &[Option<ProcId>], now: f64) -> Alternative {
        let elsewhere = self.plan.assignments.iter().filter(|a| {
            let before = under_way.get(a.task.index()).copied().flatten();
            before.is_some() && before != a.procs.first().copied()
        });
        let finite = |seconds: f64| seconds.is_finite().then_some(now + seconds);
        let latest = self.followed.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Alternative {
            plan: match &self.interim_policy {
                Some(interim_policy) => {
                    format!("{} + {}", self.origin, interim_policy.kind().name())
                }
                None => self.origin.to_string(),
            },
            transfers: self.plan.transfers,
            moves: elsewhere.count(),
            forecast: finite(self.forecast.makespan - now),
            mean: finite(mean(&self.followed)),
            latest: finite(latest),
        }
    }
}

pub(super) fn mean(seconds: &[f64]) -> f64 {
    seconds.iter().sum::<f64>() / seconds.len() as f64
}

/// Least gain of a plan to be adopted.
#[derive(Clone, Copy)]
pub(super) struct Margin {
    /// Gain on average, as a share of the remaining time, less so many standard errors.
    pub(super) gain: f64,
    pub(super) doubt: f64,
    /// Loss in the latest third of the draws, in the same measure.
    pub(super) loss: f64,
}

/// The same for plans that stop something that runs, or forget what is done, and for those that
/// only place what has not begun: these can be taken back at the next evaluation.
#[derive(Clone, Copy)]
pub(super) struct Margins {
    pub(super) stopping: Margin,
    pub(super) gentle: Margin,
    /// For going back to what `static` followed, where that is another one.
    pub(super) back: Option<Margin>,
}

impl Margins {
    pub(super) const fn both(margin: Margin) -> Margins {
        Margins { stopping: margin, gentle: margin, back: None }
    }
}

/// Roll-outs and the work that may go into them.
#[derive(Default)]
pub(super) struct Rollouts {
    simulator: Option<Box<dyn PlanSimulator>>,
    /// Tasks, and changes of levels, that may still be followed.
    left: usize,
}

impl Rollouts {
    pub(super) fn with_effort(effort: usize) -> Rollouts {
        Rollouts { simulator: None, left: effort }
    }

    /// Sizes the effort to the run before it begins: roll-outs of large runs would cost more than they gain.
    pub(super) fn begin(&mut self, tasks: usize) {
        if tasks > LARGE {
            self.left = (self.left as f64 * (LARGE as f64 / tasks as f64).powi(2)) as usize;
        }
    }

    pub(super) fn equip(&mut self, simulator: Box<dyn PlanSimulator>) {
        self.simulator = Some(simulator);
    }

    /// Number of roll-outs affordable for each of some plans.
    pub(super) fn affords(&self, now: &Situation, plans: usize) -> usize {
        match self.simulator {
            Some(_) => self.left / (plans.max(1) * now.tasks.open().max(1)),
            None => 0,
        }
    }

    /// Number of forecasts affordable to improve one plan, up to `most`.
    pub(super) fn forecasts(&self, now: &Situation, most: usize) -> usize {
        most.min(LIGHTER * self.affords(now, GRANTED))
    }

    /// So many were made.
    pub(super) fn pay(&mut self, now: &Situation, forecasts: usize) {
        self.left = self.left.saturating_sub(forecasts * now.tasks.open() / LIGHTER);
    }

    /// When a plan would end under one course; nothing where it cannot be simulated.
    pub(super) fn ask(
        &mut self,
        now: &Situation,
        plan: &Plan,
        course: &LevelForecast,
        limit: f64,
    ) -> Option<f64> {
        let open = now.tasks.open();
        let simulator = self.simulator.as_mut().filter(|_| self.left >= open)?;
        self.left -= open;
        simulator.follow(now, plan, None, course, limit)
    }

    /// Follows each choice under each course, at most for so many seconds; false where that cannot
    /// be done.
    pub(super) fn follow(
        &mut self,
        now: &Situation,
        choices: &mut [Choice],
        courses: &[LevelForecast],
        limit: f64,
    ) -> bool {
        choices.iter_mut().all(|choice| self.follow_one(now, choice, None, courses, limit))
    }

    /// The same beside what is under way, which is followed first; what is clearly worse is given up.
    pub(super) fn compare(
        &mut self,
        now: &Situation,
        (kept, others): (&mut Choice, &mut [Choice]),
        courses: &[LevelForecast],
        limit: f64,
    ) -> bool {
        self.follow_one(now, kept, None, courses, limit) && {
            let latest = kept.followed.iter().copied().fold(0.0, f64::max);
            let limit = limit.min(HOPELESS * latest);
            let mut others = others.iter_mut();
            others.all(|other| self.follow_one(now, other, Some(&kept.followed), courses, limit))
        }
    }

    fn follow_one(
        &mut self,
        now: &Situation,
        choice: &mut Choice,
        beside: Option<&[f64]>,
        courses: &[LevelForecast],
        limit: f64,
    ) -> bool {
        let Some(simulator) = &mut self.simulator else { return false };
        let after = replanning::rewound(now, &choice.rewind);
        let open = after.tasks.open();
        let used = after.hosts_in_use(&choice.plan);
        for course in courses {
            let mut interim_policy = choice.interim_policy.clone();
            let then =
                interim_policy.as_mut().map(|interim_policy| interim_policy as &mut dyn Policy);
            let end = simulator.follow(&after, &choice.plan, then, course, now.now + limit);
            let thought = interim_policy.map_or(0, |interim_policy| interim_policy.effort());
            self.left = self.left.saturating_sub(open + course.changes_on(&used) / 2 + thought);
            let Some(end) = end else { return false };
            // What did not end in time ended then at the soonest.
            choice.followed.push((end - now.now).min(limit));
            let drawn = choice.followed.len();
            if drawn == FEWEST_DRAWS
                && beside
                    .is_some_and(|kept| mean(&choice.followed) > CLEARLY * mean(&kept[..drawn]))
            {
                choice.followed.clear();
                break;
            }
        }
        true
    }
}

/// The mean of the latest third: what to fear.
fn tail(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    mean(&sorted[sorted.len() - sorted.len().div_ceil(3)..])
}

/// The standard error of a mean.
fn doubt(values: &[f64]) -> f64 {
    let (count, mean) = (values.len() as f64, mean(values));
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    if count > 1.0 { (squares / (count - 1.0) / count).sqrt() } else { 0.0 }
}

/// The best on average of those that are better than `base` by their margin, and where they stop something
/// by more seconds than run times are uncertain by.
pub(super) fn best(
    base: &Choice,
    others: &[Choice],
    margins: Margins,
    noise: f64,
) -> Option<usize> {
    let (kept, feared) = (mean(&base.followed), tail(&base.followed));
    let mut best: Option<(usize, f64)> = None;
    for (index, other) in others.iter().enumerate().filter(|(_, c)| !c.followed.is_empty()) {
        let end = mean(&other.followed);
        let usual = if other.stops { margins.stopping } else { margins.gentle };
        let is_static = other.origin == STATIC && other.interim_policy.is_none();
        let back = margins.back.filter(|_| is_static && !other.stops);
        let margin = back.unwrap_or(usual);
        let gains: Vec<f64> =
            base.followed.iter().zip(&other.followed).map(|(kept, end)| kept - end).collect();
        let gain = mean(&gains);
        let safe = tail(&other.followed) <= feared + (feared * margin.loss).max(RISK * gain);
        let least = (kept * margin.gain).max(if other.stops { noise } else { 0.0 });
        let sure = gain - margin.doubt * doubt(&gains) > least;
        if safe && sure && best.is_none_or(|(_, least)| end < least) {
            best = Some((index, end));
        }
    }
    best.map(|(index, _)| index)
}

/// The best on average of all.
pub(super) fn shortest(choices: &[Choice]) -> Option<usize> {
    let ends = choices.iter().enumerate().filter(|(_, c)| !c.followed.is_empty());
    let ends = ends.map(|(index, c)| (index, mean(&c.followed)));
    ends.reduce(|a, b| if b.1 < a.1 { b } else { a }).map(|(index, _)| index)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::common;
    use std::sync::Arc;

    /// Gives the same answer to everything.
    pub(in super::super) struct Blind(pub(in super::super) Option<f64>);

    impl PlanSimulator for Blind {
        fn follow(
            &mut self,
            _: &Situation,
            _: &Plan,
            _: Option<&mut dyn Policy>,
            _: &LevelForecast,
            _: f64,
        ) -> Option<f64> {
            self.0
        }
    }

    #[test]
    fn what_does_not_end_in_time_ends_then_at_the_soonest() {
        let platform = common::platform(1, |_, _| 1.0);
        let mut now =
            Situation::new(Arc::new(common::workflow(&[&[1.0]], &[])), Arc::new(platform));
        now.now = 3.0;
        let mut rollouts = Rollouts::with_effort(1_000);
        rollouts.equip(Box::new(Blind(Some(f64::INFINITY))));
        let mut choices = [choice("slow", &[], false)];
        assert!(rollouts.follow(&now, &mut choices, &[LevelForecast::lasting(&now)], 7.0));
        assert_eq!(choices[0].followed, [7.0]);
    }

    const MARGIN: Margin = Margin { gain: 0.03, doubt: 1.0, loss: 0.01 };

    fn choice(origin: &'static str, followed: &[f64], stops: bool) -> Choice {
        let forecast = Forecast { makespan: 0.0, times: Vec::new() };
        let choice = Choice::new(origin, Plan::default(), forecast);
        Choice { followed: followed.to_vec(), stops, ..choice }
    }

    fn taken(other: Choice, margins: Margins, noise: f64) -> bool {
        let kept = choice("as it is", &[100.0, 100.0, 100.0], false);
        best(&kept, &[other], margins, noise).is_some()
    }

    #[test]
    fn what_runs_is_stopped_for_more_than_run_times_are_uncertain_by() {
        let ends = [90.0, 90.0, 90.0];
        assert!(taken(choice("other", &ends, true), Margins::both(MARGIN), 9.0));
        assert!(!taken(choice("other", &ends, true), Margins::both(MARGIN), 11.0));
        assert!(taken(choice("other", &ends, false), Margins::both(MARGIN), 11.0));
    }

    #[test]
    fn the_latest_may_lose_a_third_of_what_is_gained() {
        // 20 s are gained on average, less 13 s of doubt; the latest loses 6 s, and then 9 s.
        assert!(taken(choice("other", &[67.0, 67.0, 106.0], false), Margins::both(MARGIN), 0.0));
        assert!(!taken(choice("other", &[67.0, 64.0, 109.0], false), Margins::both(MARGIN), 0.0));
    }

    #[test]
    fn the_way_back_to_static_is_short() {
        let back = Some(Margin { gain: 0.0, doubt: 0.0, loss: 0.01 });
        let wary = Margins { back, ..Margins::both(MARGIN) };
        let ends = [99.9, 99.9, 99.9];
        assert!(taken(choice(STATIC, &ends, false), wary, 0.0));
        assert!(!taken(choice(STATIC, &ends, true), wary, 0.0), "not for what runs");
        assert!(!taken(choice("other", &ends, false), wary, 0.0));
    }
}
