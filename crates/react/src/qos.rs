//! `qos`: keeps a plan under budget and deadline.
//!
//! Plans with a method for limits (the planner given if it is one, else DBCS under a deadline and HBCS
//! under a budget alone), and reconsiders the plan, as selective rescheduling does, when a task starts
//! later than its slack allows, a host is lost or a lease is late. While the present plan is still
//! expected to keep the limits it stays, with its dates moved, unless it was made when hosts were away
//! that come now because there was none before. Else the rest is planned again, with all
//! machines and with those at hand alone, because another lease may cost more than it brings; of the
//! present plan and the new ones the shortest that keeps the limits is followed; where none does, also of
//! the plans of the other fast methods, or the one that breaks them least. The first plan is chosen like
//! that too, or made by `within-limits`, whose part DBCS or HBCS takes afterwards. Work that was stopped, failed or has to be done again was paid too and lowers the budget of
//! the rest. Several workflows are planned as one, under the sum of their budgets and the latest of their
//! deadlines, where all have them.

use crate::policy::{Decision, Event, Policy, Transfers};
use crate::selective::{Selective, Threshold};
use crate::situation::{Situation, TaskState};
use slackline_model::schedule::{Lease, Limits, cost};
use slackline_model::{HostId, Problem, ProcId, Schedule, TaskId};
use slackline_schedule::qos::pareto::{self, Point};
use slackline_schedule::qos::within_limits::WITHIN_LIMITS;
use slackline_schedule::qos::{FAST, dbcs, hbcs};
use slackline_schedule::{Algorithm, Family, Planner, Request, retime};
use std::collections::HashMap;

/// Part of its set-up time by which a machine may be late.
const GRACE: f64 = 0.01;

/// The policy `qos`: a plan that is kept under a budget and a deadline.
pub struct Qos {
    planner: Planner,
    transfers: Transfers,
    inner: Option<Selective>,
    running: HashMap<TaskId, (Vec<ProcId>, f64)>,
    /// Money for all computation that ended, whatever came of it, on machines that are paid by the task.
    paid: f64,
    /// Machines that the plan counts on, and when it calls them late.
    awaited: Vec<(HostId, f64)>,
}

impl Qos {
    /// Plans with `planner` if it is a method for limits.
    pub fn new(planner: impl Into<Planner>, transfers: Transfers) -> Qos {
        Qos {
            planner: planner.into(),
            transfers,
            inner: None,
            running: HashMap::new(),
            paid: 0.0,
            awaited: Vec::new(),
        }
    }

    /// Writes down what was computed and which machines have come.
    fn note(&mut self, events: &[Event], now: &Situation) {
        for event in events {
            match event {
                Event::TaskStarted(task) => {
                    if let TaskState::Running { procs, since } = now.task(*task) {
                        self.running.insert(*task, (procs.to_vec(), *since));
                    }
                }
                Event::TaskFinished(task) | Event::TaskFailed(task) => {
                    let known = self.running.remove(task);
                    self.paid += match (now.task(*task), known) {
                        (TaskState::Done(p), _) => price(now, p.procs()) * p.seconds(),
                        (_, Some((procs, since))) => price(now, &procs) * (now.now - since),
                        _ => 0.0,
                    };
                }
                Event::LeaseReady(host) => self.awaited.retain(|(h, _)| h != host),
                _ => {}
            }
        }
    }

    fn first(&mut self, now: &Situation) -> &mut Selective {
        let limits = limits(now);
        let mut planner = self.planner.clone();
        if planner.algorithm.family != Family::Qos {
            planner.algorithm = quick(&limits);
        }
        planner.request.limits = limits;
        let planner = match now.nominal_problem() {
            Ok(problem) => ablest(&problem, planner),
            Err(_) => planner,
        };
        self.inner.insert(Selective::new(planner, Threshold::Slack, self.transfers))
    }

    /// Asks to be called when a machine that an adopted plan counts on should be there.
    fn await_leases(&mut self, now: &Situation, decisions: &mut Vec<Decision>) {
        let adopted = decisions.iter().rev().find_map(|d| match d {
            Decision::Adopt(plan) => Some(plan),
            _ => None,
        });
        if let Some(plan) = adopted {
            let grace = |l: &Lease| GRACE * now.platform.class(l.class).billing.setup;
            let coming = plan.leases.iter().filter(|l| l.from > now.now && grace(l) > 0.0);
            self.awaited = coming.map(|l| (l.host, l.from + grace(l))).collect();
        }
        let dates = self.awaited.iter().map(|(_, late)| *late).filter(|&late| late > now.now);
        decisions.extend(dates.reduce(f64::min).map(Decision::WakeAt));
    }

    fn lease_is_late(&self, now: &Situation) -> bool {
        self.awaited.iter().any(|(_, late)| *late <= now.now)
    }
}

/// Money per second of some processors, of those that are paid by the task.
fn price(now: &Situation, procs: &[ProcId]) -> f64 {
    let hosts = procs.iter().map(|p| now.platform.host(now.host_of[p.index()]));
    hosts.filter(|h| !now.platform.class(h.class).is_billed_whole()).map(|h| h.price).sum()
}

/// The default method for limits, and where many plans at once take too long.
fn quick(limits: &Limits) -> &'static Algorithm {
    match limits.deadline {
        Some(_) => &dbcs::DBCS,
        None => &hbcs::HBCS,
    }
}

/// The limits of all workflows together, as dates.
fn limits(now: &Situation) -> Limits {
    let budgets = now.arrived.iter().map(|a| a.terms.limits.budget);
    let dates = now.arrived.iter().map(|a| Some(a.at + a.terms.limits.deadline?));
    Limits { budget: budgets.sum(), deadline: dates.reduce(|a, b| Some(a?.max(b?))).flatten() }
}

/// The budget without what was paid for work that is not part of the plan any more.
fn left(problem: &Problem<'_>, now: &Situation, paid: f64) -> Limits {
    let of = |task: TaskId| {
        let placement = problem.state().fixed(task).filter(|_| now.task(task).is_done())?;
        Some(price(now, placement.procs()) * placement.seconds())
    };
    let kept: f64 = problem.workflow().tasks().filter_map(of).sum();
    let limits = limits(now);
    Limits { budget: limits.budget.map(|budget| budget - (paid - kept).max(0.0)), ..limits }
}

/// Expected time and cost of a plan.
fn point(problem: &Problem<'_>, plan: &Schedule) -> Point {
    Point { makespan: plan.makespan(), cost: cost(problem, plan) }
}

/// The problem without the machines that would have to be leased first; none where that is all the same.
fn at_hand<'p>(problem: &Problem<'p>) -> Option<Problem<'p>> {
    let (platform, mut state) = (problem.platform(), problem.state().clone());
    let open = |h: HostId| state.leases.iter().any(|l| l.host == h && l.is_open());
    let leasable = |h: HostId| platform.class(platform.host(h).class).leasable;
    let missing: Vec<ProcId> = problem
        .proc_ids()
        .filter(|&p| leasable(problem.host_of(p)) && !open(problem.host_of(p)))
        .collect();
    if missing.is_empty() || missing.len() == problem.procs() {
        return None;
    }
    state.available.resize(problem.procs(), state.now);
    missing.iter().for_each(|p| state.available[p.index()] = f64::INFINITY);
    problem.clone().with_state(state).ok()
}

/// The plan for the rest; see the module's head.
fn choose(
    problem: &Problem<'_>,
    present: &Schedule,
    planner: &Planner,
    limits: Limits,
    more_hosts: bool,
) -> Result<Schedule, String> {
    let mut planner = planner.clone();
    planner.request.limits = limits;
    if planner.algorithm.name == WITHIN_LIMITS.name {
        planner.algorithm = quick(&limits);
    }
    let mut plans = Vec::new();
    if retime::makespan(problem, present).is_finite() {
        // Its machines are leased for as long as its tasks take now.
        let kept = Schedule { leases: Vec::new(), ..retime::retimed(problem, present) };
        if !more_hosts && point(problem, &kept).excess(&limits) <= 0.0 {
            return Ok(kept);
        }
        plans.push(kept);
    }
    match planner.plan(problem) {
        Ok(fresh) => plans.push(fresh),
        Err(error) if plans.is_empty() => return Err(error.to_string()),
        Err(_) => {}
    }
    plans.extend(at_hand(problem).and_then(|problem| planner.plan(&problem).ok()));
    if plans.iter().all(|plan| point(problem, plan).excess(&limits) > 0.0) {
        let able = others(problem, &planner);
        plans.extend(able.filter_map(|planner| planner.plan(problem).ok()));
    }
    let points: Vec<Point> = plans.iter().map(|plan| point(problem, plan)).collect();
    Ok(plans.swap_remove(pareto::best(&points, &limits)))
}

/// The fast methods other than a planner's own.
fn others<'a>(
    problem: &'a Problem<'_>,
    planner: &'a Planner,
) -> impl Iterator<Item = Planner> + 'a {
    let request = &planner.request;
    let fits = move |a: &&'static Algorithm| {
        let met = a.needs.iter().all(|need| need.is_met(problem, &request.limits));
        a.name != planner.algorithm.name && met
    };
    // What was set was meant for the planner's own method.
    let told = move || Request { given: Vec::new(), ..request.clone() };
    FAST.iter().filter(fits).map(move |algorithm| Planner { algorithm, request: told() })
}

/// The planner, or the fast method whose first plan keeps the limits where its own does not.
fn ablest(problem: &Problem<'_>, planner: Planner) -> Planner {
    let limits = planner.request.limits;
    let judge = |planner: &Planner| {
        let plan = planner.plan(problem).ok()?;
        Some(point(problem, &plan))
    };
    let mut best = (judge(&planner), planner.clone());
    if best.0.is_some_and(|point| point.excess(&limits) <= 0.0) {
        return planner;
    }
    for other in others(problem, &planner) {
        let Some(new) = judge(&other) else { continue };
        if best.0.is_none_or(|old| new.better_than(old, &limits)) {
            best = (Some(new), other);
        }
    }
    best.1
}

impl Policy for Qos {
    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        self.note(events, now);
        let late = self.lease_is_late(now);
        match &mut self.inner {
            Some(inner) => inner.wants(events, now) || late,
            None => true,
        }
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let paid = self.paid;
        match &mut self.inner {
            None => self.first(now).react(events, now, decisions),
            Some(inner) => {
                let more_hosts = inner.is_helped_by(events);
                inner.replan_with(now, decisions, |problem, present, planner| {
                    choose(problem, present, planner, left(problem, now, paid), more_hosts)
                });
            }
        }
        self.await_leases(now, decisions);
    }
}
