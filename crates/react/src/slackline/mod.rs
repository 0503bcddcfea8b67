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
//!   which present levels last that long and then give way to the mean (`outlook`). A new plan has
//!   to pay in the mean over several lifetimes and may lose next to nothing in any of them.
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
//! A look costs a few plans and about ten forecasts, each cut short where it cannot win.

mod contended;
pub mod forecast;
mod links;
mod outlook;
mod several;

use crate::gtp::estimate::{Costing, estimate};
use crate::gtp::rewound_tasks;
use crate::planning;
use crate::policy::{Assignment, Decision, Event, Plan, Policy, Transfers};
use crate::selective::Spare;
use crate::situation::{Situation, TaskState};
use contended::Weights;
use forecast::{Forecast, Forecaster, Future};
use outlook::Outlook;
use slackline_model::problem::View;
use slackline_model::{Placement, Problem, ProcId, Schedule, TaskId, approx};
use slackline_schedule::list::ranks;
use slackline_schedule::{Request, registry};

/// Gain, as a share of the remaining time, below which the present plan is kept.
const WORTH_IT: f64 = 0.08;

/// The same for the first plan, against what `static` would follow.
const FIRST_GAIN: f64 = 0.05;

/// Gains below this share are none: what was tried first stays.
const NEAR_TIE: f64 = 0.005;

/// Levels seen at the start are taken to last for this share of the run.
const FIRST_LASTS: f64 = 0.5;

/// A placed task moves for at least this multiple of its mean time.
const HYSTERESIS: f64 = 0.5;

/// How soon present levels may pass, in their mean lifetimes: the middle of each third of the
/// exponential law.
const PASSES: [f64; 3] = [0.18, 0.69, 1.79];

/// In none of these may a new plan end later than the present one by more than this share of the
/// remaining time.
const TAIL: f64 = 0.01;

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

/// Finished tasks that one look considers rewinding.
const REWINDS: usize = 2;

/// Planners of the first plan.
const FIRST: [&str; 3] = ["heft", "peft", "dls"];

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
#[derive(Default)]
pub struct Slackline {
    forecaster: Forecaster,
    outlook: Outlook,
    rank: Vec<f64>,
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
}

/// The best plan so far, and what has to be rewound for it.
struct Choice {
    plan: Plan,
    forecast: Forecast,
    rewind: Vec<TaskId>,
}

/// A situation at the levels to plan with, with its problem, and what is expected to come.
#[derive(Clone, Copy)]
struct Ground<'a, 'p> {
    problem: &'a Problem<'p>,
    now: &'a Situation,
    future: Future<'a, 'p>,
}

/// Levels as they are and as they will be after a date.
struct Levels {
    seen: View,
    later: Option<(f64, View)>,
}

/// The problems of the levels, without state.
struct Prospect<'p> {
    seen: Problem<'p>,
    later: Option<(f64, Problem<'p>)>,
}

impl Levels {
    fn prospect<'p>(&self, now: &'p Situation) -> Result<Prospect<'p>, String> {
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
    fn ground<'a>(&'a self, problem: &'a Problem<'p>, now: &'a Situation) -> Ground<'a, 'p> {
        let later = self.later.as_ref().map(|(date, problem)| (*date, problem));
        Ground { problem, now, future: Future { problem: &self.seen, now, later } }
    }
}

impl Slackline {
    fn begin(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        self.rank_tasks(now)?;
        let problem = now.problem().map_err(|e| e.to_string())?;
        let plain = self.plain(now);
        let length = plain.as_ref().map_or(0.0, |(_, makespan)| *makespan);
        let prospect = first_levels(now, now.now + FIRST_LASTS * length).prospect(now)?;
        let ground = prospect.ground(&problem, now);
        let mut best = None;
        if let Some((plan, _)) = &plain {
            self.try_windows(&ground, plan, &WINDOWS, f64::INFINITY, &mut best);
        }
        let mut plans: Vec<Plan> = Vec::new();
        for name in FIRST {
            if let Some(planner) = registry::find(name)
                && let Ok(schedule) = (planner.plan)(&problem, &Request::default())
            {
                plans.push(Plan::of_schedule(&problem, &schedule, WINDOWS[0]));
            }
        }
        plans.extend(OCCUPATIONS.map(|occupation| self.contended(&ground, occupation)));
        let followed = best.as_ref().map_or(f64::INFINITY, |b: &Choice| b.forecast.makespan);
        let limit = now.now + (followed - now.now) * (1.0 - FIRST_GAIN);
        let mut other = None;
        for plan in plans {
            self.try_windows(&ground, &plan, &WINDOWS, limit, &mut other);
        }
        if let (Some(choice), Some(plain)) = (&other, &best)
            && !self.holds(&ground, &plain.plan, choice, now)
        {
            other = None;
        }
        let best: Choice = other.or(best).ok_or("no planner finds a plan")?;
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

    /// What `static` would follow, and its planned length.
    fn plain(&self, now: &Situation) -> Option<(Plan, f64)> {
        let problem = now.nominal_problem().ok()?;
        let schedule = (registry::usual(&problem).plan)(&problem, &Request::default()).ok()?;
        let plan = Plan::of_schedule(&problem, &schedule, WINDOWS[0]);
        Some((plan, schedule.makespan()))
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
        plan: &Plan,
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
                *best = Some(Choice { plan, forecast, rewind: Vec::new() });
            }
        }
    }

    fn adopt(&mut self, ground: &Ground<'_, '_>, choice: Choice, decisions: &mut Vec<Decision>) {
        let Choice { mut plan, forecast, rewind } = choice;
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

    /// The present plan without what is done meanwhile.
    fn present(&self, now: &Situation) -> Plan {
        let open = |a: &&Assignment| !now.task(a.task).is_done();
        let assignments = self.plan.assignments.iter().filter(open).cloned().collect();
        let (sources, transfers) = (self.plan.sources.clone(), self.plan.transfers);
        Plan { assignments, sources, transfers, ..Plan::default() }
    }

    /// The windows next to the present one.
    fn other_windows(&self) -> Vec<Transfers> {
        let at = WINDOWS.iter().position(|w| *w == self.plan.transfers).unwrap_or(0);
        let near = at.saturating_sub(1)..WINDOWS.len().min(at + 2);
        near.filter(|&index| index != at).map(|index| WINDOWS[index]).collect()
    }

    /// Unfinished tasks by falling rank.
    fn contended(&mut self, ground: &Ground<'_, '_>, occupation: f64) -> Plan {
        let weights = Weights { hysteresis: HYSTERESIS, occupation };
        let order = planning::by_falling_rank(ground.now, &self.rank);
        let routes = &mut self.forecaster.routes;
        let assignments = contended::assign(ground.problem, ground.now, routes, &order, weights);
        Plan { assignments, transfers: self.plan.transfers, ..Plan::default() }
    }

    /// Plans worth a forecast: placed with contention in mind, placed by GTP's costs with copies
    /// and hysteresis, and HEFT's plan of the rest.
    fn candidates(&mut self, ground: &Ground<'_, '_>) -> Vec<Plan> {
        let Ground { problem, now, .. } = *ground;
        let mut plans: Vec<Plan> =
            OCCUPATIONS.map(|occupation| self.contended(ground, occupation)).into();
        let order = planning::by_falling_rank(now, &self.rank);
        let costing = Costing {
            reuse_copies: true,
            running_blocks: true,
            hysteresis: HYSTERESIS,
            startup: 0.0,
        };
        let result = estimate(problem, now, &order, &self.planned, costing);
        let placed = order.iter().filter(|t| !result.procs[t.index()].is_empty());
        let assignments = placed
            .map(|&task| Assignment { task, procs: result.procs[task.index()].clone() })
            .collect();
        let transfers = self.plan.transfers;
        plans.push(Plan { assignments, transfers, ..Plan::default() });
        if let Some(heft) = registry::find("heft")
            && let Ok(schedule) = (heft.plan)(problem, &Request::default())
        {
            plans.push(Plan::of_schedule(problem, &schedule, transfers));
        }
        plans
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

    /// Looks for a plan that is clearly better than the present one, or for any where the present
    /// one leads nowhere.
    fn reconsider(
        &mut self,
        now: &Situation,
        forced: bool,
        decisions: &mut Vec<Decision>,
    ) -> Result<(), String> {
        if several::are_open(now) {
            return self.share(now, forced || self.stranded, decisions);
        }
        let lost = match forced || self.stranded {
            true => {
                let problem = now.problem().map_err(|e| e.to_string())?;
                rewound_tasks(&problem, now, true)
            }
            false => Vec::new(),
        };
        let after = self.expected(now, &lost);
        let problem = after.problem().map_err(|e| e.to_string())?;
        let prospect = self.levels(now).prospect(now)?;
        let ground = prospect.ground(&problem, &after);
        let present = self.present(&after);
        let kept = self.forecaster.follow(&ground.future, &present, f64::INFINITY);
        let limit = now.now + (kept.makespan - now.now) * (1.0 - WORTH_IT);
        let mut best = self.search(&ground, &present, limit);
        if let Some(choice) = &mut best {
            choice.rewind = lost.clone();
        }
        if lost.is_empty() {
            self.try_rewinding(&ground, limit, &mut best)?;
        }
        let best = best.filter(|choice| {
            let free = forced || kept.makespan.is_infinite();
            (free || self.is_urgent(choice, &kept, now))
                && (kept.makespan.is_infinite() || self.holds(&ground, &present, choice, now))
        });
        match best {
            Some(choice) if choice.rewind.len() > lost.len() => {
                let after = self.expected(now, &choice.rewind);
                let problem = after.problem().map_err(|e| e.to_string())?;
                self.adopt(&prospect.ground(&problem, &after), choice, decisions);
            }
            Some(choice) => self.adopt(&ground, choice, decisions),
            // Nothing is rewound for a plan that there is not.
            None if kept.makespan.is_infinite() => {
                return Err("there is no plan now".to_string());
            }
            None if !lost.is_empty() => {
                let choice = Choice { plan: present, forecast: kept, rewind: lost };
                self.adopt(&ground, choice, decisions);
            }
            None => self.expect(&ground, &present, &kept),
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
        self.try_windows(&ground, &present, &[present.transfers], kept.makespan, &mut best);
        let limit = best.as_ref().map_or(kept.makespan, |b: &Choice| b.forecast.makespan);
        let best = self.search(&ground, &present, limit).or(best);
        let Some(choice) = best else { return Ok(false) };
        decisions.push(Decision::Restore(back));
        self.adopt(&ground, choice, decisions);
        Ok(true)
    }

    /// What a change of the platform calls for.
    fn respond(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        self.outlook.look(&now.view, now.now);
        self.last_look = now.now;
        if self.try_restoring(now, decisions)? {
            return Ok(());
        }
        self.reconsider(now, true, decisions)
    }

    /// Whether a host has come to stand still, or to move again.
    fn flips(&self, event: &Event, now: &Situation) -> bool {
        let Event::HostChanged(host) = *event else { return false };
        self.outlook.level(host).is_some_and(|seen| (seen > 0.0) != now.computes(host))
    }

    /// The best plan that ends before `limit`: the present placement with other windows, then the
    /// candidates with the present one, then the best of these with others.
    fn search(&mut self, ground: &Ground<'_, '_>, present: &Plan, limit: f64) -> Option<Choice> {
        let others = self.other_windows();
        let mut best = None;
        self.try_windows(ground, present, &others, limit, &mut best);
        let mut found: Option<Choice> = None;
        for plan in self.candidates(ground) {
            let limit = best.as_ref().map_or(limit, |b| b.forecast.makespan);
            self.try_windows(ground, &plan, &[plan.transfers], limit, &mut found);
        }
        let Some(found) = found else { return best };
        let plan = found.plan.clone();
        best = Some(found);
        self.try_windows(ground, &plan, &others, limit, &mut best);
        best
    }

    /// Plans in which a result is made again rather than fetched, one task at a time.
    fn try_rewinding(
        &mut self,
        ground: &Ground<'_, '_>,
        limit: f64,
        best: &mut Option<Choice>,
    ) -> Result<(), String> {
        for task in worth_redoing(ground, WORTH_IT * (self.end - ground.now.now)) {
            let after = planning::rewound(ground.now, &[task]);
            let problem = after.problem().map_err(|e| e.to_string())?;
            let future = Future { now: &after, ..ground.future };
            let again = Ground { problem: &problem, now: &after, future };
            let plan = self.contended(&again, OCCUPATIONS[0]);
            let limit = best.as_ref().map_or(limit, |b| b.forecast.makespan);
            let mut found = None;
            self.try_windows(&again, &plan, &[plan.transfers], limit, &mut found);
            if let Some(found) = found {
                *best = Some(Choice { rewind: vec![task], ..found });
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
            return self.reconsider(now, false, decisions);
        }
        self.period = (self.period * 1.5).min(RARELY * self.least_period);
        Ok(())
    }
}

/// The levels of the start: as seen until a date, then the mean of all hosts and all pairs.
fn first_levels(now: &Situation, until: f64) -> Levels {
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

/// Finished tasks whose results take longer to fetch than to make again somewhere else, by more
/// than `gain`; the greatest gains first.
fn worth_redoing(ground: &Ground<'_, '_>, gain: f64) -> Vec<TaskId> {
    let Ground { problem, now, .. } = *ground;
    let mut found: Vec<(f64, TaskId)> = Vec::new();
    for task in now.workflow.tasks() {
        let TaskState::Done(placement) = now.task(task) else { continue };
        let from = problem.host_of(placement.proc());
        // Bytes that only the host of the task has and that somebody still waits for.
        let pending = now.workflow.outputs(task).filter(|&file| {
            let alone = now.holders(file).all(|h| h == from);
            let mut readers = now.workflow.consumers(file);
            alone
                && readers
                    .any(|t| matches!(now.task(t), TaskState::Waiting | TaskState::Placed { .. }))
        });
        let bytes = pending.map(|f| now.workflow.file_bytes(f)).fold(0.0, f64::max);
        if bytes <= 0.0 || now.workflow.width(task).0 > 1 {
            continue;
        }
        let saved = |host| {
            let fetch = now.workflow.inputs(task).map(|file| {
                let near = now.holders(file).map(|h| {
                    now.view.network.transfer_time(now.workflow.file_bytes(file), h, host)
                });
                if now.has(file, host) { 0.0 } else { near.fold(f64::INFINITY, f64::min) }
            });
            let first = ProcId(problem.procs_of(host).start);
            let again = fetch.fold(0.0, f64::max) + problem.exec_on(task, first);
            now.view.network.transfer_time(bytes, from, host) - again
        };
        let hosts = problem.platform().host_ids().filter(|&h| h != from && now.is_alive(h));
        let most = hosts.map(saved).fold(f64::NEG_INFINITY, f64::max);
        if most > gain {
            found.push((most, task));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    found.into_iter().take(REWINDS).map(|(_, task)| task).collect()
}

impl Policy for Slackline {
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
            known.and_then(|()| self.respond(now, decisions))
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
