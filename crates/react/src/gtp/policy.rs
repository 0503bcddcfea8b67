//! The GTP cycle: an initial HEFT plan, then at every rescheduling point rewind what died, cost
//! the unfinished tasks again and migrate where it seems to pay, however little.

use super::estimate::{Costing, Expected, estimate};
use super::rewind::rewound_tasks;
use crate::policy::{Assignment, Decision, Event, Monitoring, Plan, Policy, Transfers};
use crate::replanning;
use crate::situation::{Situation, TaskState};
use slackline_model::{ProcId, TaskId};
use slackline_schedule::Planner;
use slackline_schedule::list::heft::HEFT;
use slackline_schedule::list::ranks;

/// Moves after which a task that has not begun stays where it is while it can. Without a threshold
/// GTP moves for any gain, and where inputs take longer than a period to come it could do so for
/// ever; published runs have far fewer rescheduling points.
const ENOUGH_MOVES: u32 = 20;

/// Time between rescheduling points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Period {
    /// Seconds.
    Seconds(f64),
    /// A share of the first plan's makespan.
    OfMakespan(f64),
}

/// Member of the family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variant {
    /// Re-use copies left behind by migrations (`/c`).
    pub copies: bool,
    /// Rewind after failures (`/r`).
    pub rewind: bool,
    /// Time between rescheduling points.
    pub period: Period,
    /// When inputs travel.
    pub transfers: Transfers,
    /// Choices of the costing.
    pub costing: Costing,
}

impl Default for Variant {
    fn default() -> Self {
        Variant {
            copies: false,
            rewind: false,
            period: Period::OfMakespan(0.1),
            transfers: Transfers::default(),
            costing: Costing::default(),
        }
    }
}

/// GTP, GTP/c, GTP/r or GTP/c/r.
#[derive(Clone)]
pub struct Gtp {
    variant: Variant,
    planner: Planner,
    period: f64,
    /// Upward rank of every task, computed once.
    rank: Vec<f64>,
    /// Last planned processor of each task.
    planned: Vec<Option<ProcId>>,
    /// Number of moves since then.
    moves: Vec<u32>,
}

impl Gtp {
    /// A member of the family whose first plan comes from `planner` (HEFT in the thesis).
    pub fn new(variant: Variant, planner: impl Into<Planner>) -> Gtp {
        let mut variant = variant;
        variant.costing.reuse_copies = variant.copies;
        let (period, rank, planned, moves) = (f64::INFINITY, Vec::new(), Vec::new(), Vec::new());
        Gtp { variant, planner: planner.into(), period, rank, planned, moves }
    }

    /// A policy that continues from a plan of another; its caller decides when it reschedules.
    pub(crate) fn continuing(
        variant: Variant,
        rank: Vec<f64>,
        planned: Vec<Option<ProcId>>,
    ) -> Gtp {
        Gtp { rank, planned, ..Gtp::new(variant, &HEFT) }
    }

    fn begin(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let problem = now.nominal_problem().map_err(|e| e.to_string())?;
        self.rank = ranks::upward(&problem);
        let schedule = self.planner.plan(&problem).map_err(|e| e.to_string())?;
        self.period = match self.variant.period {
            Period::Seconds(seconds) => seconds,
            Period::OfMakespan(share) => share * schedule.makespan(),
        };
        self.planned =
            now.workflow.tasks().map(|t| schedule.placement(t).map(|p| p.proc())).collect();
        let plan = Plan::of_schedule(&problem, &schedule, self.variant.transfers);
        decisions.push(Decision::Adopt(plan.begun_at(now.now)));
        Ok(())
    }

    /// Work has come in: ranks are computed again, what was planned stays planned.
    fn learn_new_tasks(&mut self, now: &Situation) -> Result<(), String> {
        self.rank = ranks::upward(&now.nominal_problem().map_err(|e| e.to_string())?);
        self.planned.resize(now.tasks.len(), None);
        Ok(())
    }

    /// Carries out a rescheduling point.
    pub(crate) fn reschedule(
        &mut self,
        now: &Situation,
        decisions: &mut Vec<Decision>,
    ) -> Result<(), String> {
        let lost =
            if self.variant.rewind { rewound_tasks(now, self.variant.copies) } else { Vec::new() };
        if lost.is_empty() {
            return self.remap(now, decisions);
        }
        decisions.push(Decision::Rewind(lost.clone()));
        self.remap(&replanning::rewound(now, &lost), decisions)
    }

    fn remap(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let problem = now.problem().map_err(|e| e.to_string())?;
        let order = replanning::by_falling_rank(now, &self.rank);
        let mut result = estimate(&problem, now, &order, &self.planned, self.variant.costing);
        self.hold(now, &order, &mut result);
        if !self.variant.copies {
            forget_gathered_inputs(now, &result, &order, decisions);
        }
        for &task in &order {
            self.planned[task.index()] = result.procs[task.index()].first().copied();
        }
        let assign = |task: TaskId| {
            let procs = std::mem::take(&mut result.procs[task.index()]);
            (!procs.is_empty()).then_some(Assignment { task, procs })
        };
        let assignments = order.into_iter().filter_map(assign).collect();
        let mut plan = Plan { assignments, transfers: self.variant.transfers, ..Plan::default() };
        if self.variant.copies {
            plan.sources = replanning::quickest_sources(now, &plan);
        }
        decisions.push(Decision::Adopt(plan));
        Ok(())
    }
}

impl Gtp {
    /// Counts moves, and takes back those of tasks that have been moved often enough.
    fn hold(&mut self, now: &Situation, order: &[TaskId], result: &mut Expected) {
        self.moves.resize(now.tasks.len(), 0);
        for &task in order {
            let (Some(before), Some(&after)) =
                (self.planned[task.index()], result.procs[task.index()].first())
            else {
                continue;
            };
            if before == after {
                continue;
            }
            let moves = &mut self.moves[task.index()];
            *moves += 1;
            let waits = matches!(now.task(task), TaskState::Waiting | TaskState::Placed { .. });
            let one = result.procs[task.index()].len() == 1;
            if *moves > ENOUGH_MOVES && waits && one && now.computes(now.host(&[before])) {
                result.procs[task.index()] = [before].into();
            }
        }
    }
}

/// Without copies, the inputs that a migrated task had gathered are forgotten: it is fetched again even if
/// the task returns.
pub(super) fn forget_gathered_inputs(
    now: &Situation,
    result: &Expected,
    order: &[TaskId],
    decisions: &mut Vec<Decision>,
) {
    let place = |procs: &[ProcId]| procs.first().map(|p| now.host_of[p.index()]);
    for &task in order {
        let (TaskState::Placed { procs } | TaskState::Running { procs, .. }) = now.task(task)
        else {
            continue;
        };
        let Some(old) = place(procs) else { continue };
        if place(&result.procs[task.index()]) == Some(old) {
            continue;
        }
        for file in now.workflow.inputs(task) {
            let shared = now.workflow.consumers(file).any(|c| c != task);
            let gathered = now.copy(file, old).is_some_and(|c| c.is_complete() && c.from.is_some());
            if gathered && !shared {
                decisions.push(Decision::Drop { file, host: old });
            }
        }
    }
}

impl Policy for Gtp {
    fn monitoring(&self) -> Monitoring {
        Monitoring::OnWakeUp
    }

    fn wants(&mut self, events: &[Event], _now: &Situation) -> bool {
        events.iter().any(|e| matches!(e, Event::Start | Event::WakeUp) || e.is_growth())
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let outcome = if events.contains(&Event::Start) {
            let begun = self.begin(now, decisions);
            if events.iter().any(replanning::is_loss) {
                begun.and_then(|()| self.reschedule(now, decisions))
            } else {
                begun
            }
        } else if events.iter().any(Event::is_growth) {
            self.learn_new_tasks(now).and_then(|()| self.reschedule(now, decisions))
        } else if events.contains(&Event::WakeUp) {
            self.reschedule(now, decisions)
        } else {
            return;
        };
        match outcome {
            Ok(()) => decisions.push(Decision::WakeAt(now.now + self.period)),
            Err(why) => decisions.push(Decision::GiveUp(why)),
        }
    }
}
