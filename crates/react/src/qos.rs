//! `qos`: keeps a plan under budget and deadline.
//!
//! Plans with a method for limits (the planner given if it is one, else DBCS under a deadline and HBCS
//! under a budget alone), and again, as selective rescheduling does, when a task starts later than its
//! slack allows or a host is lost: the rest under what is left of both. Work that was stopped, failed or
//! has to be done again was paid too and lowers the budget of the rest. Several workflows are planned as
//! one, under the sum of their budgets and the latest of their deadlines, where all have them.

use crate::policy::{Decision, Event, Policy, Transfers};
use crate::selective::{Selective, Threshold};
use crate::situation::{Situation, TaskState};
use slackline_model::schedule::Limits;
use slackline_model::{Problem, ProcId, TaskId};
use slackline_schedule::qos::{dbcs, hbcs};
use slackline_schedule::{Family, Planner};
use std::collections::HashMap;

/// See the module's head.
pub struct Qos {
    planner: Planner,
    transfers: Transfers,
    inner: Option<Selective>,
    running: HashMap<TaskId, (Vec<ProcId>, f64)>,
    /// Money for all computation that ended, whatever came of it.
    paid: f64,
}

impl Qos {
    /// Plans with `planner` if it is a method for limits.
    pub fn new(planner: impl Into<Planner>, transfers: Transfers) -> Qos {
        let planner = planner.into();
        Qos { planner, transfers, inner: None, running: HashMap::new(), paid: 0.0 }
    }

    /// Writes down what was computed.
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
                _ => {}
            }
        }
    }

    fn first(&mut self, now: &Situation) -> &mut Selective {
        let limits = limits(now);
        let mut planner = self.planner.clone();
        if planner.algorithm.family != Family::Qos {
            planner.algorithm = match limits.deadline {
                Some(_) => &dbcs::DBCS,
                None => &hbcs::HBCS,
            };
        }
        planner.request.limits = limits;
        self.inner.insert(Selective::new(planner, Threshold::Slack, self.transfers))
    }
}

/// Money per second of some processors.
fn price(now: &Situation, procs: &[ProcId]) -> f64 {
    procs.iter().map(|p| now.platform.host(now.host_of[p.index()]).price).sum()
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

impl Policy for Qos {
    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        self.note(events, now);
        match &mut self.inner {
            Some(inner) => inner.wants(events, now),
            None => true,
        }
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let paid = self.paid;
        match &mut self.inner {
            None => self.first(now).react(events, now, decisions),
            Some(inner) => {
                inner.replan_under(now, decisions, |problem| left(problem, now, paid));
            }
        }
    }
}
