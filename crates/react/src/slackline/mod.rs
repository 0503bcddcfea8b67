//! Our own policy.
//!
//! What the published ones miss, and what this one does about it:
//!
//! - *Predictions ignore contention.* Every candidate plan, the present one included, is judged by
//!   a forecast in which transfers share links ([`forecast`]), and one way of making plans
//!   counts with such queues while it places tasks (`contended`).
//! - *Tasks migrate for tiny gains.* A new plan is taken only if it promises a clear gain over
//!   keeping the present one; inside it a placed task moves only for a good part of its own time.
//!   What begins after the next look is not decided before it.
//! - *Passing dips are chased.* From the changes seen so far it estimates how long a level lasts,
//!   plans with the levels to expect over the rest of the run, and judges plans by forecasts in
//!   which present levels last that long and then give way to the mean (`outlook`).
//! - *A forecast is one future.* What looks better by forecast is followed to its end, as is what is
//!   under way, under several draws of what levels may do next, by whatever whoever runs the policy
//!   has handed in for that (`trials`). A new plan has to pay on average and may lose next to
//!   nothing under any draw. Without such help, and where a run is too large for it, forecasts with
//!   several lifetimes of the present levels stand for the draws.
//! - *A clever first plan is luck.* It begins with what `static` would follow unless another plan
//!   is clearly better, under the levels seen and when they have passed.
//! - *Copies are left unused.* Any complete copy is a source, the nearest first.
//! - *The window is fixed.* How far ahead inputs travel is chosen with the plan.
//! - *The period is fixed.* While nothing changes and nothing is late, looks become rarer. A task
//!   that ends later than its forecast and its slack allow calls for a look at once.
//! - *Finished work is sacred.* Where fetching a result takes longer than making it again nearer
//!   to its readers, plans that rewind its task are tried too.
//! - *Others share the platform.* With several workflows open, plans are made and judged for the time
//!   that each is in the system for its size (`several`).
//! - *Failures.* What is needed and gone is rewound and re-planned at once, from surviving copies.
//!
//! Deterministic. Ties: the candidate that comes first, and the present plan before all others.
//! A look costs a few plans and about ten forecasts, each cut short where it cannot win, and
//! roll-outs as long as the effort lasts.

mod contended;
pub mod forecast;
mod ground;
mod links;
mod outlook;
mod plans;
mod several;
mod trials;

use crate::foresight::{Course, Foresight};
use crate::gtp::rewound_tasks;
use crate::planning;
use crate::policy::{Decision, Event, Plan, Policy, Transfers};
use crate::reasons::Reasons;
use crate::selective::Spare;
use crate::situation::{Situation, TaskState};
use forecast::{Forecast, Forecaster, Future};
use ground::{Ground, Levels};
use outlook::Outlook;
use plans::worth_redoing;
use slackline_model::problem::View;
use slackline_model::{Placement, ProcId, Schedule, TaskId, approx};
use slackline_schedule::list::ranks;
use trials::{Choice, Margin, Trials};

/// Gain, as a share of the remaining time, below which the present plan is kept where forecasts
/// alone have to tell.
const WORTH_IT: f64 = 0.08;

/// What a forecast must promise to be rolled out, and what roll-outs must show.
const PROMISING: f64 = 0.03;
const MOVING: Margin = Margin { gain: 0.03, doubt: 1.0, loss: TAIL };

/// The same for the first plan, against what `static` would follow.
const FIRST_GAIN: f64 = 0.05;
const FIRST: Margin = Margin { gain: FIRST_GAIN, doubt: 0.0, loss: TAIL };

/// Gains below this share are none: what was tried first stays.
const NEAR_TIE: f64 = 0.005;

/// Levels seen at the start are taken to last for this share of the run.
const FIRST_LASTS: f64 = 0.5;

/// A placed task moves for at least this multiple of its mean time.
const HYSTERESIS: f64 = 0.5;

/// How soon present levels may pass, in their mean lifetimes: the middle of each third of the
/// exponential law.
const PASSES: [f64; 3] = [0.18, 0.69, 1.79];

/// In none of these, nor in the tail of the draws, may a new plan end later than the present one
/// by more than this share of the remaining time.
const TAIL: f64 = 0.01;

/// Draws of what may come, at most and at least, and alternatives that are rolled out.
const DRAWS: usize = 6;
const FEWEST_DRAWS: usize = 3;
const SHORTLIST: usize = 3;

/// Draws go on for this many times the time that the present plan is expected to take, and
/// roll-outs are given up after twice that.
const HORIZON: f64 = 2.0;

/// What begins only after this many times between looks is decided then.
const URGENT: f64 = 1.0;

/// Looks per makespan while things change.
const LOOKS: f64 = 10.0;

/// How much longer than that the time between looks may grow.
const RARELY: f64 = 3.0;

/// A task is late beyond its slack and this share of the remaining time.
const LATE: f64 = 0.03;

/// Share of the remaining time over which levels are averaged.
const AHEAD: f64 = 0.5;

/// How much of their time transfers keep links to themselves when a plan is made.
const OCCUPATIONS: [f64; 2] = [1.0, 0.4];

/// How far ahead inputs may travel.
const WINDOWS: [Transfers; 4] = [
    Transfers::Push,
    Transfers::Pull { window: 6 },
    Transfers::Pull { window: 2 },
    Transfers::Pull { window: 1 },
];

/// The policy; see the module's head.
pub struct Slackline {
    forecaster: Forecaster,
    trials: Trials,
    outlook: Outlook,
    rank: Vec<f64>,
    /// What `static` would follow.
    first: Option<Plan>,
    plan: Plan,
    planned: Vec<Option<ProcId>>,
    /// Per task: when it should have ended at the latest, by forecast and slack.
    due: Vec<f64>,
    /// The forecast end of the present plan.
    end: f64,
    /// Seconds between looks: while things change, and now.
    least_period: f64,
    period: f64,
    last_look: f64,
    /// The first plan has been made.
    begun: bool,
    /// There was no plan when one was needed last.
    stranded: bool,
    /// Tasks whose run times have been compared with what was expected.
    compared: Vec<bool>,
    /// What was weighed at the last call.
    reasons: Option<Reasons>,
}

impl Default for Slackline {
    fn default() -> Self {
        Slackline::with_effort(Slackline::EFFORT)
    }
}

impl Slackline {
    /// Tasks that roll-outs follow in all, unless told otherwise.
    pub const EFFORT: usize = 50_000;

    /// The policy with a bound on the work of its roll-outs: tasks that they may follow, in all; less
    /// where there are many.
    pub fn with_effort(effort: usize) -> Slackline {
        Slackline {
            forecaster: Forecaster::default(),
            trials: Trials::with_effort(effort),
            outlook: Outlook::default(),
            rank: Vec::new(),
            first: None,
            plan: Plan::default(),
            planned: Vec::new(),
            due: Vec::new(),
            end: 0.0,
            least_period: 0.0,
            period: 0.0,
            last_look: 0.0,
            begun: false,
            stranded: false,
            compared: Vec::new(),
            reasons: None,
        }
    }

    fn begin(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        self.rank_tasks(now)?;
        self.trials.begin(now.tasks.len());
        let problem = now.problem().map_err(|e| e.to_string())?;
        let plain = self.plain(now);
        let length = plain.as_ref().map_or(0.0, |(_, makespan)| *makespan);
        let levels = Levels::at_first(now, now.now + FIRST_LASTS * length);
        let prospect = levels.prospect(now)?;
        let ground = prospect.ground(&problem, now);
        let best = self.first_choice(&ground, plain.map(|(plan, _)| plan), &levels)?;
        self.begun = true;
        let peak = View {
            availability: vec![1.0; now.view.availability.len()],
            network: now.peak_network.regrouped(&now.view.network),
        };
        self.outlook.begin(peak, &now.view, now.now);
        let seconds = best.forecast.makespan - now.now;
        self.least_period = (seconds / LOOKS).max(f64::MIN_POSITIVE);
        self.period = self.least_period;
        self.last_look = now.now;
        self.adopt(&ground, best, decisions);
        Ok(())
    }

    /// What `static` would follow, with the window that suits it, unless another plan is clearly
    /// better.
    fn first_choice(
        &mut self,
        ground: &Ground<'_, '_>,
        plain: Option<Plan>,
        levels: &Levels,
    ) -> Result<Choice, String> {
        let now = ground.now;
        let mut best = None;
        if let Some(plan) = &plain {
            self.try_windows(ground, ("static", plan), &WINDOWS, f64::INFINITY, &mut best);
        }
        self.first = plain;
        let made = self.first_plans(ground);
        let followed = best.as_ref().map_or(f64::INFINITY, |b: &Choice| b.forecast.makespan);
        let limit = now.now + (followed - now.now) * (1.0 - FIRST_GAIN);
        let mut others: Vec<Choice> = Vec::new();
        for (origin, plan) in &made {
            let mut other = None;
            self.try_windows(ground, (origin, plan), &WINDOWS, limit, &mut other);
            others.extend(other);
        }
        sort(&mut others);
        let Some(best) = best else {
            return others.into_iter().next().ok_or("no planner finds a plan".to_string());
        };
        let courses = first_courses(now, levels, followed - now.now);
        self.weigh("the run begins", ground, best, others, &courses, FIRST)
            .ok_or_else(|| "no planner finds a plan".to_string())
    }

    /// Upward ranks, at the start and when work has come in.
    fn rank_tasks(&mut self, now: &Situation) -> Result<(), String> {
        self.rank = ranks::upward(&now.nominal_problem().map_err(|e| e.to_string())?);
        self.planned.resize(now.tasks.len(), None);
        self.due.resize(now.tasks.len(), f64::INFINITY);
        Ok(())
    }

    /// Forecasts a plan with each window and keeps the best choice; what does not end before
    /// `limit` is no choice.
    fn try_windows(
        &mut self,
        ground: &Ground<'_, '_>,
        (origin, plan): (&'static str, &Plan),
        windows: &[Transfers],
        limit: f64,
        best: &mut Option<Choice>,
    ) {
        for &transfers in windows {
            let limit = best.as_ref().map_or(limit, |b| {
                ground.now.now + (b.forecast.makespan - ground.now.now) * (1.0 - NEAR_TIE)
            });
            let plan = Plan { transfers, ..plan.clone() };
            let forecast = self.forecaster.follow(&ground.future, &plan, limit);
            if forecast.makespan.is_finite() && approx::lt(forecast.makespan, limit) {
                *best = Some(Choice::new(origin, plan, forecast));
            }
        }
    }

    /// What to follow: `kept`, or one of the others, the best by forecast first; nothing where
    /// `kept` leads nowhere and there is no other.
    fn weigh(
        &mut self,
        cause: &str,
        ground: &Ground<'_, '_>,
        mut kept: Choice,
        mut others: Vec<Choice>,
        courses: &[Course],
        margin: Margin,
    ) -> Option<Choice> {
        let now = ground.now;
        let hopeless = kept.forecast.makespan.is_infinite();
        others.truncate(SHORTLIST);
        let first = others.first().map_or(0.0, |o| o.forecast.makespan);
        let length = if hopeless { first } else { kept.forecast.makespan } - now.now;
        let affords = self.trials.affords(now, others.len() + usize::from(!hopeless));
        let enough = courses.len().min(FEWEST_DRAWS);
        let (taken, why) = if others.is_empty() {
            (None, "nothing better in sight")
        } else if hopeless && others.len() == 1 {
            (Some(0), "the only way")
        } else if enough > 0 && affords >= enough && {
            let courses = &courses[..courses.len().min(affords)];
            let mut all: Vec<&mut Choice> = others.iter_mut().collect();
            if !hopeless {
                all.insert(0, &mut kept);
            }
            self.trials.follow(now, &mut all, courses, 2.0 * HORIZON * length)
        } {
            match hopeless {
                true => (trials::shortest(&others), "the shortest in roll-outs"),
                false => match trials::best(&kept, &others, margin) {
                    Some(best) => (Some(best), "shorter in roll-outs"),
                    None => (None, "no clear gain in roll-outs"),
                },
            }
        } else {
            let holds = hopeless || self.holds(ground, &kept.plan, &others[0], now);
            if holds { (Some(0), "shorter by forecast") } else { (None, "may not last") }
        };
        let mut alternatives = vec![kept.told(&self.planned, now.now)];
        alternatives.extend(others.iter().map(|o| o.told(&self.planned, now.now)));
        let index = taken.map_or(0, |at| at + 1);
        let (cause, why) = (cause.to_string(), why.to_string());
        self.reasons = Some(Reasons { cause, alternatives, taken: index, why });
        match taken {
            Some(at) => Some(others.swap_remove(at)),
            None => (!hopeless).then_some(kept),
        }
    }

    fn adopt(&mut self, ground: &Ground<'_, '_>, choice: Choice, decisions: &mut Vec<Decision>) {
        let Choice { mut plan, forecast, rewind, .. } = choice;
        // Inputs keep their order; what lies on several hosts comes from the quickest.
        plan.sources.extend(planning::quickest_sources(ground.now, &plan));
        self.planned.fill(None);
        for assignment in &plan.assignments {
            self.planned[assignment.task.index()] = assignment.procs.first().copied();
        }
        self.expect(ground, &plan, &forecast);
        self.plan = plan.clone();
        if !rewind.is_empty() {
            decisions.push(Decision::Rewind(rewind));
        }
        decisions.push(Decision::Adopt(plan));
    }

    /// Notes what the forecast of the plan to follow says of every task.
    fn expect(&mut self, ground: &Ground<'_, '_>, plan: &Plan, forecast: &Forecast) {
        let mut schedule = Schedule::start(ground.problem);
        for assignment in &plan.assignments {
            let (start, finish) = forecast.times[assignment.task.index()];
            schedule.place(assignment.task, Placement::wide(&assignment.procs, start, finish));
        }
        let slack = Spare::of(ground.problem, &schedule).slack;
        let ends = forecast.times.iter().map(|(_, finish)| finish);
        self.due = ends.zip(slack).map(|(finish, slack)| finish + slack).collect();
        self.end = forecast.makespan;
    }

    /// Whether a task that is still not done, or only now, should have been long ago.
    fn is_late(&self, task: TaskId, now: &Situation) -> bool {
        let patience = LATE * (self.end - now.now).max(0.0);
        self.due.get(task.index()).is_some_and(|due| now.now > due + patience)
    }

    /// The windows next to the present one.
    fn other_windows(&self) -> Vec<Transfers> {
        let at = WINDOWS.iter().position(|w| *w == self.plan.transfers).unwrap_or(0);
        let near = at.saturating_sub(1)..WINDOWS.len().min(at + 2);
        near.filter(|&index| index != at).map(|index| WINDOWS[index]).collect()
    }

    /// The situation with the levels to expect and some tasks not done after all.
    fn expected(&self, now: &Situation, rewound: &[TaskId]) -> Situation {
        let mut after = planning::rewound(now, rewound).into_owned();
        after.view = self.outlook.expect(&now.view, AHEAD * (self.end - now.now));
        after
    }

    /// What levels to judge plans by.
    fn levels(&self, now: &Situation) -> Levels {
        let lasts = self.outlook.lifetime();
        let later = lasts.is_finite().then(|| (now.now + lasts, self.outlook.settled(&now.view)));
        Levels { seen: now.view.clone(), later }
    }

    /// Draws of what may come, as far as anything is seen to change.
    fn courses(&self, now: &Situation, length: f64) -> Vec<Course> {
        let draws = if self.outlook.varies() { DRAWS } else { 1 };
        let until = now.now + HORIZON * length;
        (0..draws).map(|draw| self.outlook.course(now, until, draw as u64)).collect()
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
        if several::are_open(now) {
            return self.share(now, forced || self.stranded, decisions);
        }
        let lost = match forced || self.stranded {
            true => rewound_tasks(now, true),
            false => Vec::new(),
        };
        let after = self.expected(now, &lost);
        let problem = after.problem().map_err(|e| e.to_string())?;
        let prospect = self.levels(now).prospect(now)?;
        let ground = prospect.ground(&problem, &after);
        let present = self.present(&after);
        let kept = self.forecaster.follow(&ground.future, &present, f64::INFINITY);
        let rolls = self.trials.affords(now, SHORTLIST) >= FEWEST_DRAWS;
        let promising = if rolls { PROMISING } else { WORTH_IT };
        let limit = now.now + (kept.makespan - now.now) * (1.0 - promising);
        let mut found = self.search(&ground, &present, limit);
        found.iter_mut().for_each(|choice| choice.rewind.clone_from(&lost));
        if lost.is_empty() {
            self.try_rewinding(&ground, limit, &mut found)?;
        }
        let free = forced || kept.makespan.is_infinite();
        found.retain(|choice| free || self.is_urgent(choice, &kept, now));
        let length = match found.first() {
            Some(first) if kept.makespan.is_infinite() => first.forecast.makespan - now.now,
            _ => kept.makespan - now.now,
        };
        let courses = match rolls && !found.is_empty() {
            true => self.courses(now, length),
            false => Vec::new(),
        };
        let keep = Choice { rewind: lost.clone(), ..Choice::new("as it is", present, kept) };
        // Roll-outs begin from what is, not from what is expected on average.
        let judged = Ground { now, ..ground };
        let choice = self.weigh(cause, &judged, keep, found, &courses, MOVING);
        // Nothing is rewound for a plan that there is not.
        let choice = choice.ok_or("there is no plan now")?;
        let kept = choice.origin == "as it is";
        if kept && lost.is_empty() {
            self.expect(&ground, &choice.plan, &choice.forecast);
        } else if choice.rewind.len() > lost.len() {
            let after = self.expected(now, &choice.rewind);
            let problem = after.problem().map_err(|e| e.to_string())?;
            self.adopt(&prospect.ground(&problem, &after), choice, decisions);
        } else {
            self.adopt(&ground, choice, decisions);
        }
        Ok(())
    }

    /// Whether a choice changes anything before the next look: what begins only later is better
    /// decided then, when more is known.
    fn is_urgent(&self, choice: &Choice, kept: &Forecast, now: &Situation) -> bool {
        if !choice.rewind.is_empty() || choice.plan.transfers != self.plan.transfers {
            return true;
        }
        let soon = now.now + URGENT * self.least_period;
        choice.plan.assignments.iter().any(|a| {
            let begins = |f: &Forecast| f.times[a.task.index()].0;
            self.planned[a.task.index()] != a.procs.first().copied()
                && begins(kept).min(begins(&choice.forecast)) < soon
        })
    }

    /// Whether a choice is better than the present plan however soon present levels pass: clearly
    /// in the mean, and never much worse.
    fn holds(
        &mut self,
        ground: &Ground<'_, '_>,
        present: &Plan,
        choice: &Choice,
        now: &Situation,
    ) -> bool {
        let Some((date, later)) = ground.future.later else { return true };
        if !choice.rewind.is_empty() {
            return true;
        }
        let (mut sum, mut kept_sum) = (0.0, 0.0);
        for share in PASSES {
            let passes = now.now + share * (date - now.now);
            let future = Future { later: Some((passes, later)), ..ground.future };
            let end = self.forecaster.follow(&future, &choice.plan, f64::INFINITY).makespan;
            let kept = self.forecaster.follow(&future, present, f64::INFINITY).makespan;
            if end - now.now > (kept - now.now) * (1.0 + TAIL) {
                return false;
            }
            sum += end - now.now;
            kept_sum += kept - now.now;
        }
        sum < kept_sum * (1.0 - WORTH_IT)
    }

    /// Results that were thought lost are back: whether to take them instead of what has been
    /// begun anew of them.
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
        let ground = prospect.ground(&problem, &as_it_is);
        let kept = self.forecaster.follow(&ground.future, &present, f64::INFINITY);
        let mut after = self.expected(now, &[]);
        for task in &back {
            if let Some(placement) = now.restorable(*task) {
                after.set_task(*task, TaskState::Done(placement.clone()));
                after.progress[task.index()] = 1.0;
            }
        }
        let problem = after.problem().map_err(|e| e.to_string())?;
        let ground = prospect.ground(&problem, &after);
        let present = self.present(&after);
        let mut best = None;
        let windows = [present.transfers];
        self.try_windows(&ground, ("restored", &present), &windows, kept.makespan, &mut best);
        let limit = best.as_ref().map_or(kept.makespan, |b: &Choice| b.forecast.makespan);
        let best = self.search(&ground, &present, limit).into_iter().next().or(best);
        let Some(choice) = best else { return Ok(false) };
        decisions.push(Decision::Restore(back));
        self.adopt(&ground, choice, decisions);
        Ok(true)
    }

    /// What a change of the platform calls for.
    fn respond(
        &mut self,
        cause: &str,
        now: &Situation,
        decisions: &mut Vec<Decision>,
    ) -> Result<(), String> {
        self.outlook.look(&now.view, now.now);
        self.last_look = now.now;
        if self.try_restoring(now, decisions)? {
            return Ok(());
        }
        self.reconsider(cause, now, true, decisions)
    }

    /// Whether a host has come to stand still, or to move again.
    fn flips(&self, event: &Event, now: &Situation) -> bool {
        let Event::HostChanged(host) = *event else { return false };
        self.outlook.level(host).is_some_and(|seen| (seen > 0.0) != now.computes(host))
    }

    /// Plans that end before `limit`, the best first: the present placement with other windows, the
    /// candidates with the present one, and the best of these with others.
    fn search(&mut self, ground: &Ground<'_, '_>, present: &Plan, limit: f64) -> Vec<Choice> {
        let others = self.other_windows();
        let mut kept = None;
        self.try_windows(ground, ("as it is", present), &others, limit, &mut kept);
        let mut found: Vec<Choice> = Vec::new();
        for (origin, plan) in self.candidates(ground) {
            let mut choice = None;
            self.try_windows(ground, (origin, &plan), &[plan.transfers], limit, &mut choice);
            found.extend(choice);
        }
        sort(&mut found);
        if let Some(first) = found.first() {
            let (origin, plan) = (first.origin, first.plan.clone());
            let mut other = None;
            let seconds = first.forecast.makespan - ground.now.now;
            let limit = ground.now.now + seconds * (1.0 - NEAR_TIE);
            self.try_windows(ground, (origin, &plan), &others, limit, &mut other);
            found.extend(other);
        }
        found.extend(kept.map(|choice| Choice { origin: "another window", ..choice }));
        sort(&mut found);
        found
    }

    /// Plans in which a result is made again rather than fetched, one task at a time.
    fn try_rewinding(
        &mut self,
        ground: &Ground<'_, '_>,
        limit: f64,
        found: &mut Vec<Choice>,
    ) -> Result<(), String> {
        for task in worth_redoing(ground, WORTH_IT * (self.end - ground.now.now)) {
            let after = planning::rewound(ground.now, &[task]);
            let problem = after.problem().map_err(|e| e.to_string())?;
            let future = Future { now: &after, ..ground.future };
            let again = Ground { problem: &problem, now: &after, future };
            let plan = self.contended(&again, OCCUPATIONS[0]);
            let mut choice = None;
            self.try_windows(&again, ("rewound", &plan), &[plan.transfers], limit, &mut choice);
            found.extend(choice.map(|choice| Choice { rewind: vec![task], ..choice }));
        }
        sort(found);
        Ok(())
    }

    /// Learns from tasks that are done how far run times are from estimates, as long as levels
    /// do not explain them.
    fn compare(&mut self, now: &Situation) -> Result<(), String> {
        if self.outlook.lifetime().is_finite() {
            return Ok(());
        }
        self.compared.resize(now.tasks.len(), false);
        let problem = now.seen_problem().map_err(|e| e.to_string())?;
        for task in now.workflow.tasks() {
            if let TaskState::Done(placement) = now.task(task)
                && !std::mem::replace(&mut self.compared[task.index()], true)
            {
                let (first, width) = (placement.proc(), placement.procs().len() as u32);
                let seconds = problem.exec_wide(task, problem.class_of(first), width);
                if seconds > 0.0 && seconds.is_finite() {
                    self.outlook.ran(placement.seconds() / seconds);
                }
            }
        }
        Ok(())
    }

    /// Looks only if something has changed or is late; otherwise waits longer for the next time.
    fn look(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let changed = self.outlook.look(&now.view, now.now);
        let open = now.workflow.tasks().filter(|&t| !now.task(t).is_done());
        let late = open.into_iter().any(|t| self.is_late(t, now));
        self.last_look = now.now;
        if changed || late {
            self.period = self.least_period;
            self.compare(now)?;
            let cause = if changed { "levels changed" } else { "a task is late" };
            return self.reconsider(cause, now, false, decisions);
        }
        self.period = (self.period * 1.5).min(RARELY * self.least_period);
        Ok(())
    }
}

/// By forecast end; of those that end alike, most likely because they are, what was tried first.
fn sort(choices: &mut Vec<Choice>) {
    let key = |c: &Choice| approx::sort_key(c.forecast.makespan);
    choices.sort_by(|a, b| key(a).total_cmp(&key(b)));
    choices.dedup_by(|b, a| approx::eq(a.forecast.makespan, b.forecast.makespan));
}

/// Draws of what may become of the levels of the start, if they differ.
fn first_courses(now: &Situation, levels: &Levels, length: f64) -> Vec<Course> {
    let Some((date, _)) = &levels.later else { return vec![Course::lasting(now)] };
    let (mean, until) = (date - now.now, now.now + HORIZON * length);
    (0..DRAWS).map(|draw| Outlook::first_course(now, mean, until, draw as u64)).collect()
}

impl Policy for Slackline {
    fn equip(&mut self, foresight: Box<dyn Foresight>) {
        self.trials.equip(foresight);
    }

    fn reasons(&mut self) -> Option<Reasons> {
        self.reasons.take()
    }

    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        let rested = now.now - self.last_look > 0.25 * self.least_period;
        events.iter().any(|event| match event {
            Event::Start | Event::WakeUp | Event::HostBack(_) => true,
            Event::TaskFinished(task) if rested && self.is_late(*task, now) => true,
            other => {
                planning::is_loss(other)
                    || other.is_growth()
                    || self.flips(other, now)
                    || (self.stranded && planning::may_help(other))
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
        let changed = |e: &Event| {
            planning::is_loss(e) || matches!(e, Event::HostBack(_)) || self.flips(e, now)
        };
        let outcome = if !self.begun {
            self.begin(now, decisions).and_then(|()| match several::are_open(now) {
                true => {
                    decisions.clear();
                    self.share(now, true, decisions)
                }
                false => Ok(()),
            })
        } else if grown || self.stranded || events.iter().any(changed) {
            let known = if grown { self.rank_tasks(now) } else { Ok(()) };
            let cause =
                if grown { "work has come in" } else { "a host came, went or stands still" };
            known.and_then(|()| self.respond(cause, now, decisions))
        } else {
            self.look(now, decisions)
        };
        self.stranded = outcome.is_err();
        if now.tasks.iter().all(TaskState::is_done) {
            return;
        }
        if self.begun && self.period > 0.0 {
            decisions.push(Decision::WakeAt(now.now + self.period));
        }
    }
}
