//! Our own policy.
//!
//! Weaknesses of the published policies, and the answers of this one:
//!
//! - *Predictions ignore contention.* Every candidate plan, the present one included, is judged by
//!   a forecast in which transfers share links ([`forecast`]), and one way of making plans
//!   counts with such queues while it places tasks (`contended`).
//! - *Tasks migrate for tiny gains.* A new plan is taken only if it promises a clear gain over
//!   keeping the present one; inside it a placed task moves only for a part of its own time.
//! - *Passing dips are chased.* From the changes seen so far it estimates for how long a level predicts later ones,
//!   and plans and judges with the levels to expect on average over the rest of the run (`level_model`).
//! - *A forecast is one future.* What looks better by forecast is followed to its end, as is what is
//!   under way, under several draws of what levels may do next, by the simulator that the
//!   caller has handed in (`rollouts`). A new plan has to pay on average and may lose next to
//!   nothing under any draw. Without such help, and where a run is too large for it, forecasts decide.
//! - *Planners never come back to a task.* What holds up the end of a plan is tried elsewhere, by forecast,
//!   as long as that helps (`improve`).
//! - *A clever first plan is luck.* It begins with what `static` would follow unless another plan
//!   is clearly better, under the levels seen and when they have passed.
//! - *A plan is judged as if it would not change.* Rollouts also follow interim policies, which react between two
//!   evaluations; one is adopted where that pays (`interim_policy`).
//! - *Moves that do not pay continue.* A shadow of `static` is simulated through what was seen so far; where
//!   that is ahead, what it followed is never far (`baseline`).
//! - *Copies are left unused.* Any complete copy is a source, the nearest first.
//! - *The window is fixed.* How far ahead inputs travel is chosen with the plan.
//! - *The period is fixed.* While nothing changes and nothing is late, evaluations become rarer. A task
//!   that ends later than its forecast and its slack allow calls for an evaluation at once.
//! - *Finished work is sacred.* Where fetching a result takes longer than making it again nearer
//!   to its readers, plans that rewind its task are tried too.
//! - *Others share the platform.* With several workflows open, plans are made and judged for the time
//!   that each is in the system for its size (`multi_workflow`).
//! - *Failures.* What is needed and gone is rewound and re-planned at once, from surviving copies.
//!
//! Deterministic. Ties: the candidate that comes first, and the present plan before all others.
//! An evaluation costs three plans and about ten forecasts, each cut short where it cannot win, and
//! roll-outs as long as the effort lasts.

mod candidates;
mod context;
mod estimates;
pub mod forecast;
mod history;
mod improve;
mod initial_plan;
mod interim_policy;
mod level_model;
mod multi_workflow;
mod rollouts;
mod search;
mod select;
mod static_baseline;

use crate::explanation::Explanation;
use crate::gtp::rewound_tasks;
use crate::plan_simulator::{LevelForecast, PlanSimulator};
use crate::policy::{Decision, Event, Plan, Policy, Transfers};
use crate::replanning;
use crate::selective::Spare;
use crate::situation::{Situation, TaskState};
use context::{Levels, PlanningContext};
use estimates::Estimates;
use forecast::{Forecast, Forecaster};
use history::History;
use interim_policy::InterimPolicy;
use level_model::LevelModel;
use rollouts::{Choice, Margin, Margins, Rollouts};
use slackline_model::{Placement, Problem, ProcId, Schedule, TaskId};
use slackline_schedule::list::ranks;
use static_baseline::StaticBaseline;

/// Least forecast gain, as a share of the remaining time, for repeating results, for a first plan that cannot be rolled
/// out, and for a plan for several workflows.
const WORTH_IT: f64 = 0.08;

/// Least forecast gain for a roll-out, or for adoption where that is too expensive; and least gain in roll-outs: more
/// where work is lost than where tasks that have not begun change places.
const PROMISING: f64 = 0.03;
const MOVING: Margins = Margins {
    stopping: Margin { gain: 0.03, doubt: 1.0, loss: TAIL },
    gentle: Margin { gain: NEAR_TIE, doubt: 1.0, loss: TAIL },
    back: None,
};

/// The same where the moves of this run have not paid so far: then a near-tie is enough to go back to
/// what `static` followed.
const WARY: Margins = Margins {
    back: Some(Margin { gain: 0.0, doubt: 0.0, loss: TAIL }),
    ..Margins::both(MOVING.stopping)
};

/// The same for the first plan, against what `static` would follow.
const FIRST_GAIN: f64 = 0.05;
const FIRST: Margins = Margins::both(Margin { gain: FIRST_GAIN, doubt: 1.0, loss: TAIL });

/// Gains below this share are none: what was tried first stays.
const NEAR_TIE: f64 = 0.005;

/// Name of plans that `static` would follow, and of the one under way.
const STATIC: &str = "static";
const AS_IT_IS: &str = "as it is";

/// Levels seen at the start are taken to last for about this share of the run.
const FIRST_LASTS: f64 = 0.5;

/// A placed task moves for at least this multiple of its mean time.
const HYSTERESIS: f64 = 0.1;

/// Ends of the starting levels, in mean lifetimes: the middle of each third of the exponential law.
const PASSES: [f64; 3] = [0.18, 0.69, 1.79];

/// In none of these, nor in the tail of the draws, may a new plan end later than the present one
/// by more than this share of the remaining time.
const TAIL: f64 = 0.01;

/// Draws of what may come, at most and at least, and alternatives that are rolled out.
const DRAWS: usize = 12;
const FEWEST_DRAWS: usize = 3;
const SHORTLIST: usize = 3;

/// Draws last this many times the time that the present plan is expected to take, and
/// roll-outs are given up after twice that.
const HORIZON: f64 = 2.0;

/// Evaluations per makespan while things change.
const EVALUATIONS: f64 = 10.0;

/// Factor to which the time between evaluations may grow.
const RARELY: f64 = 3.0;

/// Most evaluations within any time as long as the run has lasted. This counts only where a run takes several times
/// as long as forecast, perhaps thousands of times: evaluations as often as at first would not end.
const EVALUATIONS_SO_FAR: f64 = 4.0 * EVALUATIONS;

/// A task is late beyond its slack and this share of the remaining time.
const LATE: f64 = 0.03;

/// Share of the remaining time over which levels are averaged.
const AHEAD: f64 = 0.5;

/// Shares of their time for which transfers keep links to themselves when a plan is made.
const OCCUPATIONS: [f64; 2] = [1.0, 0.4];

/// Windows for transfers ahead of time.
const WINDOWS: [Transfers; 4] = [
    Transfers::Push,
    Transfers::Pull { window: 6 },
    Transfers::Pull { window: 2 },
    Transfers::Pull { window: 1 },
];

/// The policy; see the module's head.
pub struct Slackline {
    forecaster: Forecaster,
    rollouts: Rollouts,
    level_model: LevelModel,
    history: History,
    baseline: StaticBaseline,
    interim_policy: Option<InterimPolicy>,
    rank: Vec<f64>,
    /// The plan `static` would follow.
    first: Option<Plan>,
    plan: Plan,
    planned: Vec<Option<ProcId>>,
    /// Per task: when it should have ended at the latest, by forecast and slack.
    due: Vec<f64>,
    /// The forecast end of the present plan.
    end: f64,
    /// Seconds between evaluations: while things change, and now.
    least_period: f64,
    period: f64,
    last_evaluation: f64,
    /// When work last came in.
    since: f64,
    /// The first plan has been made.
    begun: bool,
    /// There was no plan when one was needed last.
    stranded: bool,
    estimates: Estimates,
    /// Explanation of the last call.
    reasons: Option<Explanation>,
}

impl Default for Slackline {
    fn default() -> Self {
        Slackline::with_effort(Slackline::EFFORT)
    }
}

impl Slackline {
    /// Tasks that roll-outs follow in all, unless told otherwise.
    pub const EFFORT: usize = 500_000;

    /// The policy with a bound on the work of its roll-outs: tasks that they may follow, in all; less
    /// where there are many.
    pub fn with_effort(effort: usize) -> Slackline {
        Slackline {
            forecaster: Forecaster::default(),
            rollouts: Rollouts::with_effort(effort),
            level_model: LevelModel::default(),
            history: History::default(),
            baseline: StaticBaseline::default(),
            interim_policy: None,
            rank: Vec::new(),
            first: None,
            plan: Plan::default(),
            planned: Vec::new(),
            due: Vec::new(),
            end: 0.0,
            least_period: 0.0,
            period: 0.0,
            last_evaluation: 0.0,
            since: 0.0,
            begun: false,
            stranded: false,
            estimates: Estimates::default(),
            reasons: None,
        }
    }

    /// Upward ranks, at the start and when work has come in.
    fn rank_tasks(&mut self, now: &Situation) -> Result<(), String> {
        self.rank = ranks::upward(&now.nominal_problem().map_err(|e| e.to_string())?);
        self.planned.resize(now.tasks.len(), None);
        self.due.resize(now.tasks.len(), f64::INFINITY);
        Ok(())
    }

    fn adopt(
        &mut self,
        context: &PlanningContext<'_, '_>,
        choice: Choice,
        decisions: &mut Vec<Decision>,
    ) {
        let Choice { mut plan, forecast, rewind, interim_policy, .. } = choice;
        // Inputs keep their order; what is on several hosts comes from the quickest.
        plan.sources.extend(replanning::quickest_sources(context.now, &plan));
        self.expect(context, &plan, &forecast);
        self.interim_policy = interim_policy;
        self.note(plan.clone());
        if !rewind.is_empty() {
            decisions.push(Decision::Rewind(rewind));
        }
        decisions.push(Decision::Adopt(plan));
    }

    /// Notes what is followed from now on.
    fn note(&mut self, plan: Plan) {
        self.planned = places(&plan, self.planned.len());
        self.plan = plan;
    }

    /// Notes what the forecast of the plan to follow says of every task.
    fn expect(&mut self, context: &PlanningContext<'_, '_>, plan: &Plan, forecast: &Forecast) {
        let schedule = schedule_of(context.problem, plan, forecast);
        let slack = Spare::of(context.problem, &schedule).slack;
        let ends = forecast.times.iter().map(|(_, finish)| finish);
        self.due = ends.zip(slack).map(|(finish, slack)| finish + slack).collect();
        self.end = forecast.makespan;
    }

    /// Whether a task that is still not done, or only now, should have been long ago.
    fn is_late(&self, task: TaskId, now: &Situation) -> bool {
        let patience = LATE * (self.end - now.now).max(0.0);
        self.due.get(task.index()).is_some_and(|due| now.now > due + patience)
    }

    /// The situation with the levels to expect and some tasks not done after all.
    fn expected(&self, now: &Situation, rewound: &[TaskId]) -> Situation {
        let mut after = replanning::rewound(now, rewound).into_owned();
        after.view = self.level_model.expect(&now.view, AHEAD * (self.end - now.now));
        after
    }

    /// Levels to judge plans by.
    fn levels(&self, now: &Situation) -> Levels {
        let lasts = self.level_model.lifetime();
        let later =
            lasts.is_finite().then(|| (now.now + lasts, self.level_model.settled(&now.view)));
        Levels { seen: now.view.clone(), later }
    }

    /// Draws of what may come, as far as anything is seen to change.
    fn courses(&self, now: &Situation, length: f64) -> Vec<LevelForecast> {
        let spread = self.estimates.spread();
        let varies = self.level_model.lifetime().is_finite() || spread > 0.0;
        let draws = if varies { DRAWS } else { 1 };
        let until = now.now + HORIZON * length;
        (0..draws)
            .map(|draw| self.level_model.draw_forecast(now, until, draw as u64, spread))
            .collect()
    }

    /// The plan under way; where that leads nowhere, what `static` would follow from here on.
    fn under_way(
        &mut self,
        context: &PlanningContext<'_, '_>,
        seen: &Situation,
        lost: &[TaskId],
    ) -> Choice {
        let present = self.present(context.now);
        let kept = self.forecaster.follow(&context.future, &present, f64::INFINITY);
        let mut choice = Choice::new(AS_IT_IS, present, kept);
        if choice.forecast.makespan.is_finite() {
            let kind = self.interim_policy.as_ref().map(InterimPolicy::kind);
            choice.interim_policy = kind.map(|kind| self.interim_policy(kind, context, &choice));
        } else if let Some(plan) = self.plan_anew(seen) {
            let forecast = self.forecaster.follow(&context.future, &plan, f64::INFINITY);
            self.first = Some(plan.clone());
            self.baseline.begin(seen);
            choice = Choice::new(STATIC, plan, forecast);
        }
        Choice { rewind: lost.to_vec(), ..choice }
    }

    /// Looks for a plan that is clearly better than the present one, or for any where the present
    /// one leads nowhere.
    fn reconsider(
        &mut self,
        cause: &str,
        now: &Situation,
        forced: bool,
        decisions: &mut Vec<Decision>,
    ) -> Result<(), String> {
        if multi_workflow::are_open(now) {
            return self.share(now, forced || self.stranded, decisions);
        }
        let lost = if forced || self.stranded { rewound_tasks(now, true) } else { Vec::new() };
        let after = self.expected(now, &lost);
        let problem = after.problem().map_err(|e| e.to_string())?;
        // Forecasts see the levels that plans are made for.
        let prospect = Levels { seen: after.view.clone(), later: None }.prospect(now)?;
        let context = prospect.context(&problem, &after);
        let keep = self.under_way(&context, &replanning::rewound(now, &lost), &lost);
        let length = keep.forecast.makespan - now.now;
        let rolls = self.rollouts.affords(now, SHORTLIST) >= FEWEST_DRAWS;
        // Where the effort is used up the last verdict on an interim policy is kept.
        let affords_interim =
            self.rollouts.affords(now, SHORTLIST + interim_policy::COST_OF_ALL) >= FEWEST_DRAWS;
        let limit = now.now + length * (1.0 - PROMISING);
        let plans = if self.level_model.lifetime().is_finite() {
            vec![self.plan_as_seen(&replanning::rewound(now, &lost), &context)?]
        } else {
            Vec::new()
        };
        let mut found = self.search(&context, &keep.plan, plans, limit);
        found.iter_mut().for_each(|choice| choice.rewind.clone_from(&lost));
        if lost.is_empty() {
            self.try_rewinding(&context, limit, &mut found)?;
        }
        if rolls {
            self.add_improved(&context, &keep, improve::AT_AN_EVALUATION, limit, &mut found);
        }
        let free = forced || length.is_infinite();
        found.truncate(SHORTLIST);
        let left = !free && self.has_left_static(&after);
        let behind = left && rolls && self.is_behind(now, &keep.plan);
        if left && (behind || !found.is_empty()) {
            let near = now.now + length * (1.0 + PROMISING);
            let limit = if behind { f64::INFINITY } else { near };
            found.extend(self.back_to_static(&context, limit));
        }
        if affords_interim && !free {
            found.extend(self.with_interim_policies(&context, &keep, &found));
        }
        let length = match found.first() {
            Some(first) if length.is_infinite() => first.forecast.makespan - now.now,
            _ => length,
        };
        let courses =
            if rolls && !found.is_empty() { self.courses(now, length) } else { Vec::new() };
        let margins = if behind { WARY } else { MOVING };
        // Roll-outs begin from what is, not from what is expected on average.
        let judged = PlanningContext { now, ..context };
        let choice = self.select(cause, &judged, keep, found, &courses, margins);
        // Nothing is rewound for a plan that there is not.
        let choice = choice.ok_or("there is no plan now")?;
        let kept = choice.origin == AS_IT_IS;
        if kept && lost.is_empty() {
            self.interim_policy = choice.interim_policy;
            self.expect(&context, &choice.plan, &choice.forecast);
        } else if choice.rewind.len() > lost.len() {
            let after = self.expected(now, &choice.rewind);
            let problem = after.problem().map_err(|e| e.to_string())?;
            self.adopt(&prospect.context(&problem, &after), choice, decisions);
        } else {
            self.adopt(&context, choice, decisions);
        }
        Ok(())
    }

    /// Results that were thought lost are back: whether to take them instead of what has been
    /// begun again of them.
    fn try_restoring(
        &mut self,
        now: &Situation,
        decisions: &mut Vec<Decision>,
    ) -> Result<bool, String> {
        let runs = |t: &TaskId| matches!(now.task(*t), TaskState::Running { .. });
        let again = now.earlier.keys().copied().filter(runs);
        let back: Vec<TaskId> = again.filter(|&t| now.restorable(t).is_some()).collect();
        if back.is_empty() {
            return Ok(false);
        }
        let as_it_is = self.expected(now, &[]);
        let problem = as_it_is.problem().map_err(|e| e.to_string())?;
        let prospect = self.levels(now).prospect(now)?;
        let present = self.present(&as_it_is);
        let context = prospect.context(&problem, &as_it_is);
        let kept = self.forecaster.follow(&context.future, &present, f64::INFINITY);
        let mut after = self.expected(now, &[]);
        for task in &back {
            if let Some(placement) = now.restorable(*task) {
                after.set_task(*task, TaskState::Done(placement.clone()));
                after.progress[task.index()] = 1.0;
            }
        }
        let problem = after.problem().map_err(|e| e.to_string())?;
        let context = prospect.context(&problem, &after);
        let present = self.present(&after);
        let mut best = None;
        let windows = [present.transfers];
        self.try_windows(&context, ("restored", &present), &windows, kept.makespan, &mut best);
        let limit = best.as_ref().map_or(kept.makespan, |b: &Choice| b.forecast.makespan);
        let best = self.search(&context, &present, Vec::new(), limit).into_iter().next().or(best);
        let Some(choice) = best else { return Ok(false) };
        decisions.push(Decision::Restore(back));
        self.adopt(&context, choice, decisions);
        Ok(true)
    }

    /// Responds to a change of the platform.
    fn respond(
        &mut self,
        cause: &str,
        now: &Situation,
        decisions: &mut Vec<Decision>,
    ) -> Result<(), String> {
        self.baseline.end();
        self.level_model.observe(&now.view, now.now, &now.taught);
        self.history.note_network(now);
        self.last_evaluation = now.now;
        if self.try_restoring(now, decisions)? {
            return Ok(());
        }
        self.reconsider(cause, now, true, decisions)
    }

    /// Whether a host has come to stand still, or to move again.
    fn flips(&self, event: &Event, now: &Situation) -> bool {
        let Event::HostChanged(host) = *event else { return false };
        self.level_model.level(host).is_some_and(|seen| (seen > 0.0) != now.computes(host))
    }

    /// Reconsiders the plan only if something has changed or is late; otherwise waits longer for the next time.
    fn evaluate(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let bridged =
            self.level_model.bridge_stalls(&now.view).map(|view| Situation { view, ..now.clone() });
        let waits = bridged.is_some();
        let now = bridged.as_ref().unwrap_or(now);
        let changed = self.level_model.observe(&now.view, now.now, &now.taught);
        self.history.note_network(now);
        let open = now.workflow.tasks().filter(|&t| !now.task(t).is_done());
        let late = open.into_iter().any(|t| self.is_late(t, now));
        self.last_evaluation = now.now;
        let wrong = self.estimates.compare(now, &self.history)?;
        if changed || late || wrong {
            self.period = self.least_period;
            let cause = match (changed, late) {
                (true, _) => "levels changed",
                (_, true) => "a task is late",
                _ => "estimates were wrong",
            };
            let corrected = self.estimates.corrected(now, &self.history)?;
            let now = corrected.as_ref().unwrap_or(now);
            return self.reconsider(cause, now, false, decisions);
        }
        self.period = if waits {
            self.least_period
        } else {
            (self.period * 1.5).min(RARELY * self.least_period)
        };
        Ok(())
    }
}

/// Per task: the first of the processors that a plan has for it.
fn places(plan: &Plan, tasks: usize) -> Vec<Option<ProcId>> {
    let mut places = vec![None; tasks];
    for assignment in &plan.assignments {
        places[assignment.task.index()] = assignment.procs.first().copied();
    }
    places
}

/// A plan with the dates of its forecast.
fn schedule_of(problem: &Problem<'_>, plan: &Plan, forecast: &Forecast) -> Schedule {
    let mut schedule = Schedule::start(problem);
    for assignment in &plan.assignments {
        let (start, finish) = forecast.times[assignment.task.index()];
        schedule.place(assignment.task, Placement::wide(&assignment.procs, start, finish));
    }
    schedule
}

impl Policy for Slackline {
    fn equip(&mut self, simulator: Box<dyn PlanSimulator>) {
        self.rollouts.equip(simulator);
    }

    fn reasons(&mut self) -> Option<Explanation> {
        self.reasons.take()
    }

    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        let level_model = &self.level_model;
        self.history.hear(events, now, |host| level_model.is_first(host, &now.taught));
        if self.is_left_to_interim_policy(events, now) {
            return true;
        }
        let rested = now.now - self.last_evaluation > 0.25 * self.least_period;
        events.iter().any(|event| match event {
            Event::Start | Event::WakeUp | Event::HostBack(_) => true,
            Event::TaskFinished(task) if rested && self.is_late(*task, now) => true,
            other => {
                replanning::is_loss(other)
                    || other.is_growth()
                    || self.flips(other, now)
                    || (self.stranded && replanning::may_help(other))
            }
        })
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        if events.contains(&Event::Start) {
            // What can never be planned is known from the start.
            if let Err(error) = now.nominal_problem() {
                return decisions.push(Decision::GiveUp(error.to_string()));
            }
        }
        let grown = events.iter().any(Event::is_growth);
        if grown || !self.begun {
            self.since = now.now;
            self.interim_policy = None; // it has no ranks of the new tasks
        }
        let changed = |e: &Event| {
            replanning::is_loss(e) || matches!(e, Event::HostBack(_)) || self.flips(e, now)
        };
        let outcome = if !self.begun {
            self.begin(now, decisions).and_then(|()| {
                if multi_workflow::are_open(now) {
                    decisions.clear();
                    self.share(now, true, decisions)
                } else {
                    Ok(())
                }
            })
        } else if grown || self.stranded || events.iter().any(changed) {
            let known = if grown { self.rank_tasks(now) } else { Ok(()) };
            let cause = if grown { "work has come in" } else { "a host came, went or is stopped" };
            known.and_then(|()| self.respond(cause, now, decisions))
        } else if self.is_left_to_interim_policy(events, now) {
            return self.react_in_between(events, now, decisions);
        } else {
            self.evaluate(now, decisions)
        };
        self.stranded = outcome.is_err();
        if now.tasks.open() == 0 {
            return;
        }
        if self.begun && self.period > 0.0 {
            let pause = self.period.max((now.now - self.since) / EVALUATIONS_SO_FAR);
            decisions.push(Decision::WakeAt(now.now + pause));
        }
    }
}
