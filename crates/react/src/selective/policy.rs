//! Selective rescheduling on a running system: what is late is seen when something happens, what
//! still runs is expected to end when it was estimated to, and plans begin now.
//!
//! At every event the tasks that come next on their processors are looked at. One whose start is
//! now expected later than its threshold allows makes the planner plan the rest again. Running
//! tasks stay where they are.

use super::Spare;
use crate::gtp::rewound_tasks;
use crate::planning;
use crate::policy::{Decision, Event, Plan, Policy, Transfers};
use crate::situation::{Fetch, Situation, TaskState};
use slackline_model::{Problem, Schedule, TaskId};
use slackline_schedule::{Algorithm, Settings};

/// What a start may be late by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// The slack: until the makespan is expected to move.
    Slack,
    /// The least spare time: until a dependent is expected to move.
    Spare,
    /// Nothing: plan again whenever a task ends.
    Always,
}

/// Selective rescheduling over any planner.
pub struct Selective {
    planner: &'static Algorithm,
    threshold: Threshold,
    transfers: Transfers,
    schedule: Schedule,
    limit: Vec<f64>,
    /// Tasks not yet started, by planned start; started ones are skipped lazily.
    orders: Vec<Vec<TaskId>>,
    next: Vec<usize>,
}

impl Selective {
    /// Re-plans with `planner` when a start is later than the threshold.
    pub fn new(planner: &'static Algorithm, threshold: Threshold, transfers: Transfers) -> Self {
        Selective {
            planner,
            threshold,
            transfers,
            schedule: Schedule::default(),
            limit: Vec::new(),
            orders: Vec::new(),
            next: Vec::new(),
        }
    }

    fn begin(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let problem = now.nominal_problem().map_err(|e| e.to_string())?;
        let schedule =
            (self.planner.plan)(&problem, &Settings::default()).map_err(|e| e.to_string())?;
        self.keep(&problem, schedule);
        let plan = Plan::of_schedule(&problem, &self.schedule, self.transfers);
        decisions.push(Decision::Adopt(plan));
        Ok(())
    }

    fn keep(&mut self, problem: &Problem<'_>, schedule: Schedule) {
        let spare = Spare::of(problem, &schedule);
        self.limit = match self.threshold {
            Threshold::Slack => spare.slack,
            Threshold::Spare | Threshold::Always => spare.min_spare,
        };
        self.orders = schedule.orders(problem.procs());
        self.next = vec![0; self.orders.len()];
        self.schedule = schedule;
    }

    fn replan(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let lost = {
            let problem = now.problem().map_err(|e| e.to_string())?;
            rewound_tasks(&problem, now, true)
        };
        let after = planning::rewound(now, &lost);
        if !lost.is_empty() {
            decisions.push(Decision::Rewind(lost));
        }
        let problem = after.problem().map_err(|e| e.to_string())?;
        let schedule =
            (self.planner.plan)(&problem, &Settings::default()).map_err(|e| e.to_string())?;
        let plan = Plan::of_schedule(&problem, &schedule, self.transfers);
        self.keep(&problem, schedule);
        decisions.push(Decision::Adopt(plan));
        Ok(())
    }

    /// Whether some next task is expected to start too late.
    fn is_late(&mut self, now: &Situation) -> Result<bool, String> {
        let problem = now.problem().map_err(|e| e.to_string())?;
        for proc in 0..self.orders.len() {
            let order = &self.orders[proc];
            let unstarted =
                |t: &TaskId| matches!(now.task(*t), TaskState::Waiting | TaskState::Placed { .. });
            while order.get(self.next[proc]).is_some_and(|t| !unstarted(t)) {
                self.next[proc] += 1;
            }
            let Some(&task) = order.get(self.next[proc]) else { continue };
            let Some(planned) = self.schedule.placement(task) else { continue };
            let Some(start) = expected_start(&problem, now, &self.schedule, task) else { continue };
            // The test comes just before a start, as published: what is not due may still catch up.
            if start > now.now {
                continue;
            }
            let delay = start - planned.start;
            if delay > self.limit[task.index()] + 1e-9 * start.abs().max(1.0) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// When a next task can start, as far as its parents have at least started; none otherwise.
fn expected_start(
    problem: &Problem<'_>,
    now: &Situation,
    schedule: &Schedule,
    task: TaskId,
) -> Option<f64> {
    let planned = schedule.placement(task)?;
    let host = problem.host_of(planned.proc());
    let mut start = now.now;
    for other in now.workflow.tasks() {
        if let TaskState::Running { procs, .. } = now.task(other)
            && procs.iter().any(|p| planned.procs().contains(p))
        {
            start = start.max(problem.state().fixed(other)?.finish);
        }
    }
    for (parent, edge) in now.workflow.predecessors(task) {
        let arrival = match now.task(parent) {
            TaskState::Done(placement) => {
                let hosts = problem.hosts_of(placement.procs());
                let fetch = Fetch { startup: 0.0, reuse: true, producer_hosts: &hosts };
                now.now + now.fetch_seconds(edge, host, &fetch)
            }
            TaskState::Running { procs, .. } => {
                let bytes = now.workflow.edge_bytes(edge);
                let moved = problem.transfer_between(bytes, procs, planned.procs());
                problem.state().fixed(parent)?.finish + moved
            }
            _ => return None,
        };
        start = start.max(arrival);
    }
    Some(start)
}

impl Policy for Selective {
    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let lost = events.iter().any(|e| matches!(e, Event::HostLost(_)));
        let ended = events.iter().any(|e| matches!(e, Event::TaskFinished(_)));
        let arrived = events.iter().any(|e| matches!(e, Event::TransferFinished { .. }));
        let outcome = if events.contains(&Event::Start) {
            self.begin(now, decisions)
        } else if lost
            || events.iter().any(Event::is_growth)
            || (ended && self.threshold == Threshold::Always)
        {
            self.replan(now, decisions)
        } else if (ended || arrived) && self.threshold != Threshold::Always {
            match self.is_late(now) {
                Ok(true) => self.replan(now, decisions),
                Ok(false) => Ok(()),
                Err(why) => Err(why),
            }
        } else {
            Ok(())
        };
        if let Err(why) = outcome {
            decisions.push(Decision::GiveUp(why));
        }
    }
}
