//! Selective rescheduling (Sakellariou, Zhao, 2004) on a running system: lateness is checked at events, running tasks are
//! expected to end as estimated, and plans begin at the present date.
//!
//! Whenever a task or a transfer ends, the next task of every processor is checked. If one could start now, later than its
//! threshold allows, the planner plans the rest again. Running tasks stay where they are.
//!
//! The time to plan grows with the workflow. Where delays that no plan foresees (transfers that share links) make every
//! plan late, each would be replaced after a few tasks. So the rest of a large workflow is planned again only after a
//! share of its tasks has ended, which bounds the number of plans of a run.

use super::Spare;
use crate::policy::{Decision, Event, Plan, Policy, Transfers};
use crate::replanning::{self, Stranded};
use crate::situation::{Situation, TaskState};
use slackline_model::{Problem, ProcId, Schedule, TaskId, approx};
use slackline_schedule::Planner;

/// Up to so many tasks, the rest of a workflow is planned again whenever a start is late.
const SMALL: usize = 1_000;

/// For a larger workflow, as many tasks have to end between two plans as this share of its tasks beyond `SMALL`.
const LASTS: f64 = 0.1;

/// Tolerated lateness of a start.
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
    planner: Planner,
    threshold: Threshold,
    transfers: Transfers,
    schedule: Schedule,
    /// Per task: tolerated lateness of its start, in seconds.
    limit: Vec<f64>,
    /// Per processor: its tasks by planned start.
    orders: Vec<Vec<TaskId>>,
    /// Per processor: position in its order; moved past started tasks lazily.
    next: Vec<usize>,
    /// Number of finished tasks before the next re-planning because of a delay.
    lasts_until: usize,
    stranded: Stranded,
}

impl Selective {
    /// Re-plans with `planner` when a start is later than the threshold.
    pub fn new(planner: impl Into<Planner>, threshold: Threshold, transfers: Transfers) -> Self {
        Selective {
            planner: planner.into(),
            threshold,
            transfers,
            schedule: Schedule::default(),
            limit: Vec::new(),
            orders: Vec::new(),
            next: Vec::new(),
            lasts_until: 0,
            stranded: Stranded::default(),
        }
    }

    fn begin(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let problem = now.nominal_problem().map_err(|e| e.to_string())?;
        let schedule = self.planner.plan(&problem).map_err(|e| e.to_string())?;
        self.keep(&problem, schedule);
        let plan = Plan::of_schedule(&problem, &self.schedule, self.transfers);
        decisions.push(Decision::Adopt(plan.begun_at(now.now)));
        Ok(())
    }

    /// Takes a schedule over as the plan, with its thresholds and orders.
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

    /// Adopts the plan for the rest that `choose` makes from the problem, the present plan and the planner. Where it fails,
    /// an event that may help ([`Selective::is_helped_by`]) starts another attempt.
    pub(crate) fn replan_with(
        &mut self,
        now: &Situation,
        decisions: &mut Vec<Decision>,
        choose: impl FnOnce(&Problem<'_>, &Schedule, &Planner) -> Result<Schedule, String>,
    ) {
        let planned = self.replan(now, decisions, choose);
        self.stranded.note(&planned, now);
    }

    /// Whether there may be a plan now where there was none, or one with hosts that were away then.
    pub(crate) fn is_helped_by(&self, events: &[Event]) -> bool {
        events.iter().any(|e| self.stranded.is_helped_by(e))
    }

    fn replan(
        &mut self,
        now: &Situation,
        decisions: &mut Vec<Decision>,
        choose: impl FnOnce(&Problem<'_>, &Schedule, &Planner) -> Result<Schedule, String>,
    ) -> Result<(), String> {
        let (lost, problem) = replanning::rest(now)?;
        let schedule = choose(&problem, &self.schedule, &self.planner)?;
        if !lost.is_empty() {
            decisions.push(Decision::Rewind(lost));
        }
        let plan = Plan::of_schedule(&problem, &schedule, self.transfers);
        self.keep(&problem, schedule);
        let many = now.tasks.len().saturating_sub(SMALL);
        self.lasts_until = now.tasks.done() + (many as f64 * LASTS) as usize;
        decisions.push(Decision::Adopt(plan));
        Ok(())
    }

    /// Whether some task could start now, later than planned by more than its threshold. The test
    /// comes just before a start, as published: what is not due may still catch up.
    fn is_late(&mut self, now: &Situation) -> bool {
        (0..self.orders.len()).any(|proc| {
            self.next_on(proc, now)
                .is_some_and(|task| self.too_late(task, now.now) && self.is_due(task, now))
        })
    }

    /// The task that comes next on a processor.
    fn next_on(&mut self, proc: usize, now: &Situation) -> Option<TaskId> {
        let order = &self.orders[proc];
        let unstarted =
            |t: &TaskId| matches!(now.task(*t), TaskState::Waiting | TaskState::Placed { .. });
        while order.get(self.next[proc]).is_some_and(|t| !unstarted(t)) {
            self.next[proc] += 1;
        }
        order.get(self.next[proc]).copied()
    }

    fn too_late(&self, task: TaskId, start: f64) -> bool {
        self.schedule
            .placement(task)
            .is_some_and(|planned| approx::gt(start, planned.start + self.limit[task.index()]))
    }

    /// Whether a next task has its processors and its data.
    fn is_due(&mut self, task: TaskId, now: &Situation) -> bool {
        let Some(planned) = self.schedule.placement(task).cloned() else { return false };
        let holders = now.holders_of(planned.procs());
        let there = |p: &ProcId| now.seconds_to_lease(now.host_of[p.index()]) <= 0.0;
        planned.procs().iter().all(|p| there(p) && self.is_free(p.index(), now))
            && now.workflow.predecessors(task).all(|(p, _)| now.task(p).is_done())
            && now.workflow.inputs(task).all(|f| now.has_at(f, &holders))
    }

    /// Whether what was started last on a processor has ended.
    fn is_free(&mut self, proc: usize, now: &Situation) -> bool {
        self.next_on(proc, now);
        let before = self.next[proc].checked_sub(1).map(|at| self.orders[proc][at]);
        before.is_none_or(|t| !matches!(now.task(t), TaskState::Running { .. }))
    }
}

impl Policy for Selective {
    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        let any = |test: fn(&Event) -> bool| events.iter().any(test);
        let ended = any(|e| matches!(e, Event::TaskFinished(_)));
        let arrived = any(|e| matches!(e, Event::TransferFinished { .. } | Event::LeaseReady(_)));
        let must = any(|e| matches!(e, Event::Start) || replanning::is_loss(e) || e.is_growth());
        must || self.is_helped_by(events)
            || match self.threshold {
                Threshold::Always => ended,
                Threshold::Slack | Threshold::Spare => {
                    let lasted = now.tasks.done() >= self.lasts_until;
                    (ended || arrived) && lasted && self.is_late(now)
                }
            }
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        if events.contains(&Event::Start) {
            if let Err(why) = self.begin(now, decisions) {
                decisions.push(Decision::GiveUp(why));
            }
            if !events.iter().any(replanning::is_loss) {
                return;
            }
        }
        self.replan_with(now, decisions, |problem, _, planner| {
            planner.plan(problem).map_err(|e| e.to_string())
        });
    }
}
