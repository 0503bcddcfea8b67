//! Our own policy.
//!
//! What the published ones miss, and what this one does about it:
//!
//! - *Predictions ignore contention.* Every candidate, the present plan included, is judged by a
//!   forecast that lets transfers queue on links ([`forecast`]).
//! - *Tasks migrate for tiny gains.* A new plan is taken only if it promises a clear gain over
//!   keeping the present one; inside it a placed task moves only for a good part of its own time.
//! - *Stale information is chased.* Between two looks some resources change. The share that did
//!   tells how long a level lasts; levels are drawn towards their mean accordingly before
//!   anything is planned with them.
//! - *Copies are left unused.* Any complete copy is a source.
//! - *The window is fixed.* How far ahead inputs travel is chosen with the plan.
//! - *Failures.* What is needed and gone is rewound and re-planned at once, from surviving copies.
//!
//! Deterministic. Ties: the candidate that comes first, and the present plan before all others.

pub mod forecast;

use crate::gtp::estimate::{Costing, estimate};
use crate::gtp::rewound_tasks;
use crate::planning;
use crate::policy::{Assignment, Decision, Event, Plan, Policy, Transfers};
use crate::situation::{Situation, TaskState};
use forecast::Forecaster;
use slackline_model::problem::View;
use slackline_model::{HostId, Problem, ProcId, TaskId, approx};
use slackline_schedule::list::ranks;
use slackline_schedule::{Settings, registry};

/// Gain, as a share of the remaining time, below which the present plan is kept.
const WORTH_IT: f64 = 0.02;

/// A placed task moves for at least this multiple of its mean time.
const HYSTERESIS: f64 = 0.5;

/// Looks per makespan while nothing has been seen to change.
const LOOKS: f64 = 10.0;

/// Planners of the first plan; the first is the one to beat.
const FIRST: [&str; 4] = ["heft", "peft", "dls", "cpop"];

/// How far ahead inputs may travel.
const WINDOWS: [Transfers; 4] = [
    Transfers::Pull { window: 1 },
    Transfers::Pull { window: 2 },
    Transfers::Pull { window: 6 },
    Transfers::Push,
];

/// The policy; see the module's head.
#[derive(Default)]
pub struct Slackline {
    forecaster: Forecaster,
    rank: Vec<f64>,
    host_of: Vec<HostId>,
    plan: Plan,
    planned: Vec<Option<ProcId>>,
    period: f64,
    seen: Option<View>,
    /// Share of resources seen to have changed from one look to the next, smoothed.
    churn: f64,
    /// Running means of availability per host and bandwidth per pair.
    mean: Option<View>,
    looks: f64,
}

impl Slackline {
    fn begin(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let problem = now.nominal_problem().map_err(|e| e.to_string())?;
        self.rank = ranks::upward(&problem);
        self.host_of = problem.proc_ids().map(|p| problem.host_of(p)).collect();
        let mut best: Option<(f64, Plan)> = None;
        for name in FIRST {
            let Some(planner) = registry::find(name) else { continue };
            let Ok(schedule) = (planner.plan)(&problem, &Settings::default()) else { continue };
            for transfers in WINDOWS {
                let plan = Plan::of_schedule(&problem, &schedule, transfers);
                let makespan = self.forecaster.makespan(&problem, now, &plan);
                if best.as_ref().is_none_or(|(b, _)| approx::lt(makespan, *b)) {
                    best = Some((makespan, plan));
                }
            }
        }
        let (makespan, plan) = best.ok_or("no planner finds a plan")?;
        self.period = (makespan / LOOKS).max(f64::MIN_POSITIVE);
        self.seen = Some(now.view.clone());
        self.mean = Some(now.view.clone());
        self.looks = 1.0;
        self.keep(now, plan.clone());
        decisions.push(Decision::Adopt(plan));
        Ok(())
    }

    fn keep(&mut self, now: &Situation, plan: Plan) {
        self.planned = vec![None; now.tasks.len()];
        for assignment in &plan.assignments {
            self.planned[assignment.task.index()] = assignment.procs.first().copied();
        }
        self.plan = plan;
    }

    /// Work has come in: ranks are computed again.
    fn learn_new_tasks(&mut self, now: &Situation) -> Result<(), String> {
        self.rank = ranks::upward(&now.nominal_problem().map_err(|e| e.to_string())?);
        self.planned.resize(now.tasks.len(), None);
        Ok(())
    }

    /// Compares this look with the last one.
    fn learn(&mut self, now: &Situation) {
        let (Some(seen), Some(mean)) = (&self.seen, &mut self.mean) else { return };
        let pairs = || {
            let hosts = seen.availability.iter().zip(&now.view.availability);
            hosts.chain(seen.network.bandwidth.iter().zip(&now.view.network.bandwidth))
        };
        let (mut changed, mut all) = (0.0, 0.0);
        for (&before, &after) in pairs().filter(|(b, a)| b.is_finite() && a.is_finite()) {
            all += 1.0;
            changed += f64::from(u8::from(!approx::eq(before, after)));
        }
        if all > 0.0 {
            self.churn += 0.4 * (changed / all - self.churn);
        }
        self.looks += 1.0;
        let blend = |mean: &mut f64, value: f64| {
            if mean.is_finite() && value.is_finite() {
                *mean += (value - *mean) / self.looks;
            }
        };
        for (m, &v) in mean.availability.iter_mut().zip(&now.view.availability) {
            blend(m, v);
        }
        for (m, &v) in mean.network.bandwidth.iter_mut().zip(&now.view.network.bandwidth) {
            blend(m, v);
        }
        self.seen = Some(now.view.clone());
    }

    /// The situation with levels drawn towards what they have been on average, the more the
    /// sooner they are likely to change again. A host that is gone stays gone.
    fn tempered(&self, now: &Situation) -> Situation {
        let mut tempered = now.clone();
        let Some(mean) = &self.mean else { return tempered };
        let trust = (1.0 - self.churn).clamp(0.0, 1.0);
        let draw = |value: &mut f64, mean: f64| {
            if *value > 0.0 && value.is_finite() && mean.is_finite() {
                *value = mean + (*value - mean) * trust;
            }
        };
        for (v, &m) in tempered.view.availability.iter_mut().zip(&mean.availability) {
            draw(v, m);
        }
        for (v, &m) in tempered.view.network.bandwidth.iter_mut().zip(&mean.network.bandwidth) {
            draw(v, m);
        }
        tempered
    }

    /// The present plan without what is done meanwhile.
    fn present(&self, now: &Situation) -> Plan {
        let open = |a: &&Assignment| !now.task(a.task).is_done();
        let assignments = self.plan.assignments.iter().filter(open).cloned().collect();
        Plan { assignments, ..self.plan.clone() }
    }

    fn order(&self, problem: &Problem<'_>, now: &Situation) -> Vec<TaskId> {
        let mut position = vec![0u32; problem.tasks()];
        for (at, t) in problem.workflow().topological_order().iter().enumerate() {
            position[t.index()] = at as u32;
        }
        let mut open: Vec<TaskId> =
            problem.workflow().tasks().filter(|&t| !now.task(t).is_done()).collect();
        let key = |t: TaskId| approx::sort_key(self.rank[t.index()]);
        open.sort_by(|&a, &b| {
            key(b).total_cmp(&key(a)).then(position[a.index()].cmp(&position[b.index()]))
        });
        open
    }

    /// Plans worth a forecast: careful and bold migration, and fresh plans of the rest.
    fn candidates(&self, problem: &Problem<'_>, now: &Situation) -> Vec<Plan> {
        let order = self.order(problem, now);
        let mut plans = Vec::new();
        for hysteresis in [HYSTERESIS, 2.0] {
            let costing =
                Costing { reuse_copies: true, running_blocks: true, hysteresis, startup: 0.0 };
            let result = estimate(problem, now, &order, &self.planned, costing);
            let assignments = order
                .iter()
                .filter(|t| !result.procs[t.index()].is_empty())
                .map(|&task| Assignment { task, procs: result.procs[task.index()].clone() })
                .collect();
            plans.push(Plan { assignments, sources: Vec::new(), transfers: self.plan.transfers });
        }
        if let Some(heft) = registry::find("heft")
            && let Ok(schedule) = (heft.plan)(problem, &Settings::default())
        {
            plans.push(Plan::of_schedule(problem, &schedule, self.plan.transfers));
        }
        plans
    }

    fn reconsider(
        &mut self,
        now: &Situation,
        forced: bool,
        decisions: &mut Vec<Decision>,
    ) -> Result<(), String> {
        let lost = match forced {
            true => {
                let problem = now.problem().map_err(|e| e.to_string())?;
                rewound_tasks(&problem, now, true)
            }
            false => Vec::new(),
        };
        let after = planning::rewound(&self.tempered(now), &lost);
        let problem = after.problem().map_err(|e| e.to_string())?;
        let present = self.present(&after);
        let kept = self.forecaster.makespan(&problem, &after, &present);
        let mut best: Option<(f64, Plan)> = None;
        for plan in self.candidates(&problem, &after) {
            let mut windows = vec![plan.transfers];
            windows.extend(WINDOWS.into_iter().filter(|w| *w != plan.transfers));
            for transfers in windows {
                let mut plan = Plan { transfers, ..plan.clone() };
                plan.sources = planning::quickest_sources(&after, &plan, &self.host_of);
                let makespan = self.forecaster.makespan(&problem, &after, &plan);
                if best.as_ref().is_none_or(|(b, _)| approx::lt(makespan, *b)) {
                    best = Some((makespan, plan));
                }
            }
        }
        let Some((makespan, plan)) = best else { return Ok(()) };
        let worth = kept - makespan > WORTH_IT * (kept - now.now);
        if !lost.is_empty() {
            decisions.push(Decision::Rewind(lost));
        }
        if worth || (kept.is_infinite() && makespan.is_finite()) {
            self.keep(&after, plan.clone());
            decisions.push(Decision::Adopt(plan));
        }
        Ok(())
    }
}

impl Policy for Slackline {
    fn wants(&mut self, events: &[Event], _now: &Situation) -> bool {
        events.iter().any(|e| {
            matches!(e, Event::Start | Event::WakeUp | Event::HostLost(_)) || e.is_growth()
        })
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let lost = events.iter().any(|e| matches!(e, Event::HostLost(_)));
        let outcome = if events.contains(&Event::Start) {
            self.begin(now, decisions)
        } else if events.iter().any(Event::is_growth) {
            self.learn_new_tasks(now).and_then(|()| self.reconsider(now, true, decisions))
        } else if lost || events.contains(&Event::WakeUp) {
            self.learn(now);
            self.reconsider(now, lost, decisions)
        } else {
            return;
        };
        match outcome {
            Ok(()) if now.tasks.iter().all(TaskState::is_done) => {}
            Ok(()) => decisions.push(Decision::WakeAt(now.now + self.period)),
            Err(why) => decisions.push(Decision::GiveUp(why)),
        }
    }
}
