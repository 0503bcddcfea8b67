//! Work stealing: a plan is followed, and a processor that has nothing to do takes a ready task that waits elsewhere where
//! it is expected to end sooner. No processor idles beside work that it could do, however wrong the estimates are.
//!
//! A processor has nothing to do while the next task of its queue is not ready. A task waits until those that run or stand before it
//! are done; one that runs longer than it should is taken to need half as long again. Ready tasks
//! are offered by falling upward rank, as [`JustInTime`](crate::JustInTime) does. Tasks of several processors stay where
//! they were planned. O(log v + p) per task that ends, and the tasks before it in its queue for one that is
//! offered. Ties: lower task, lower processor.

use crate::policy::{Decision, Event, Monitoring, Plan, Policy, Transfers};
use crate::ready_dispatch::{self, Ready};
use crate::room::Room;
use crate::situation::{Situation, TaskState};
use crate::static_plan::StaticPlan;
use crate::{Explanation, PlanSimulator};
use slackline_model::schedule::Detail;
use slackline_model::{Problem, ProcId, TaskId, approx};
use slackline_schedule::list::ranks;
use slackline_schedule::{PlanError, Planner};
use std::cell::Cell;

/// Expected remaining time of an overdue task, as a share of the time it has had.
const OVERDUE: f64 = 0.5;

/// Least seconds until tasks that were left where they are are considered again.
const SOON: f64 = 0.05;

/// Most tasks that are left where they are in one evaluation.
const OFFERS: usize = 32;

/// Most tasks of a queue that are considered before one.
const DEPTH: usize = 64;

/// The policy `work-stealing`: a plan, from which idle processors take ready tasks of others.
pub struct WorkStealing {
    /// Policy that makes the plan.
    inner: Box<dyn Policy>,
    /// Whether that wants to see the events that come next.
    wanted: Option<bool>,
    /// Whether it plans once, and knows nothing of wake-ups.
    calm: bool,
    queues: Queues,
    rank: Vec<f64>,
    ready: Ready,
}

/// The tasks of a plan, processor by processor.
#[derive(Default)]
struct Queues {
    /// By processor; those before the head have begun.
    tasks: Vec<Vec<TaskId>>,
    head: Vec<usize>,
    /// Per task: its processor and place there; none where it has several or is in no queue.
    place: Vec<Option<(ProcId, u32)>>,
}

impl Queues {
    fn follow(&mut self, plan: &Plan, now: &Situation) {
        self.tasks = vec![Vec::new(); now.host_of.len()];
        self.head = vec![0; now.host_of.len()];
        self.place = vec![None; now.tasks.len()];
        for assignment in &plan.assignments {
            for proc in &assignment.procs {
                let queue = &mut self.tasks[proc.index()];
                if let [_] = assignment.procs[..] {
                    self.place[assignment.task.index()] = Some((*proc, queue.len() as u32));
                }
                queue.push(assignment.task);
            }
        }
    }

    /// The next task of a processor that has not begun.
    fn next(&mut self, proc: usize, now: &Situation) -> Option<TaskId> {
        let queue = self.tasks.get(proc)?;
        let head = &mut self.head[proc];
        while let Some(&task) = queue.get(*head) {
            match now.task(task) {
                TaskState::Waiting if !now.tasks.cannot_run(task) => return Some(task),
                // What has begun elsewhere and failed there is found again among the ready ones.
                _ => *head += 1,
            }
        }
        None
    }

    /// Seconds until a task can begin where it was planned, with the seconds for which processors are busy; endless
    /// where that is nowhere.
    fn wait(&self, task: TaskId, now: &Situation, problem: &Problem<'_>, busy: &[f64]) -> f64 {
        let Some((proc, place)) = self.place.get(task.index()).copied().flatten() else {
            return f64::INFINITY;
        };
        if !now.computes(now.host_of[proc.index()]) {
            return f64::INFINITY;
        }
        let (queue, place) = (&self.tasks[proc.index()], place as usize);
        let before = &queue[self.head[proc.index()].min(place)..place];
        let waits = before.iter().take(DEPTH).filter(|t| *now.task(**t) == TaskState::Waiting);
        busy[proc.index()] + waits.map(|t| problem.exec_on(*t, proc)).sum::<f64>()
    }
}

/// Per processor: the seconds until what runs or gathers its inputs there is done.
fn busy_seconds(now: &Situation, problem: &Problem<'_>) -> Vec<f64> {
    let mut busy = vec![0.0f64; now.host_of.len()];
    for task in now.tasks.begun() {
        let state = now.task(task);
        let procs = state.procs().unwrap_or_default();
        let Some(&first) = procs.first() else { continue };
        let whole = problem.exec_wide(task, problem.class_of(first), procs.len() as u32);
        let left = match state {
            TaskState::Running { since, .. } => {
                let elapsed = now.now - since;
                if elapsed < whole { whole - elapsed } else { OVERDUE * elapsed }
            }
            _ => whole,
        };
        for proc in procs {
            busy[proc.index()] = busy[proc.index()].max(left);
        }
    }
    busy
}

impl WorkStealing {
    /// Plans with the given method at the start.
    pub fn new(planner: impl Into<Planner>, transfers: Transfers) -> WorkStealing {
        let inner = Box::new(StaticPlan::new(planner, transfers));
        WorkStealing { calm: true, ..WorkStealing::around(inner) }
    }

    /// Follows the plans of another policy, and does what that decides.
    pub fn around(inner: Box<dyn Policy>) -> WorkStealing {
        WorkStealing {
            inner,
            wanted: None,
            calm: false,
            queues: Queues::default(),
            rank: Vec::new(),
            ready: Ready::default(),
        }
    }

    fn steal(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        if self.ready.is_empty() {
            return Ok(());
        }
        let mut idle = ready_dispatch::idle_procs(now);
        for (proc, idle) in idle.iter_mut().enumerate().filter(|(_, idle)| **idle) {
            // What is next there begins by itself.
            *idle = !self.queues.next(proc, now).is_some_and(|task| now.is_ready(task));
        }
        if !idle.contains(&true) {
            return Ok(());
        }
        let problem = now.seen_problem().map_err(|e| e.to_string())?;
        let busy = busy_seconds(now, &problem);
        let queues = &self.queues;
        let look_again = Cell::new(f64::INFINITY);
        let sooner = |task: TaskId, idle: &[bool], room: Option<&Room>| {
            if now.workflow.width(task).0 != 1 {
                return None;
            }
            let planned = queues.place.get(task.index()).copied().flatten();
            let (seconds, procs) = ready_dispatch::quickest_idle(&problem, now, task, idle, room)?;
            let Some((proc, _)) = planned else { return Some(procs) };
            let wait = queues.wait(task, now, &problem, &busy);
            if approx::lt(seconds, wait + problem.exec_on(task, proc)) {
                return Some(procs);
            }
            // It is expected to begin soon; if it does not, that is another matter.
            look_again.set(look_again.get().min(wait.max(SOON)));
            None
        };
        self.ready.start_some(now, &mut idle, decisions, OFFERS, sooner);
        if self.calm && look_again.get().is_finite() {
            decisions.push(Decision::WakeAt(now.now + look_again.get()));
        }
        Ok(())
    }
}

impl Policy for WorkStealing {
    fn monitoring(&self) -> Monitoring {
        self.inner.monitoring()
    }

    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        let wanted = self.inner.wants(events, now);
        self.wanted = Some(wanted);
        wanted || events.iter().any(ready_dispatch::worth_a_look)
    }

    fn looks_at_progress(&self) -> bool {
        !self.calm && self.inner.looks_at_progress()
    }

    fn keeps_time(&self) -> bool {
        self.inner.keeps_time()
    }

    fn check(&self, problem: &Problem<'_>) -> Result<(), PlanError> {
        self.inner.check(problem)
    }

    fn collects(&self) -> bool {
        self.inner.collects()
    }

    fn report(&self) -> Vec<(&'static str, Detail)> {
        self.inner.report()
    }

    fn equip(&mut self, simulator: Box<dyn PlanSimulator>) {
        self.inner.equip(simulator);
    }

    fn reasons(&mut self) -> Option<Explanation> {
        self.inner.reasons()
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        if events.iter().any(|e| matches!(e, Event::TasksAdded { .. })) {
            self.rank.clear(); // tasks that were known may have more behind them now
        }
        if self.rank.len() != now.tasks.len() {
            match now.nominal_problem() {
                Ok(nominal) => ranks::more_upward(&nominal, &mut self.rank),
                Err(why) => return decisions.push(Decision::GiveUp(why.to_string())),
            }
        }
        // Ranks are not negative: the bits of a higher one are more.
        let key = |rank: f64| !approx::sort_key(rank).to_bits();
        self.ready.update(events, now, |task| key(self.rank[task.index()]));
        let before = decisions.len();
        let wanted = self.wanted.take().unwrap_or_else(|| self.inner.wants(events, now));
        if wanted {
            self.inner.react(events, now, decisions);
        }
        let mut planned = false;
        for decision in &decisions[before..] {
            planned |= !matches!(decision, Decision::WakeAt(_));
            if let Decision::Adopt(plan) = decision {
                self.queues.follow(plan, now);
            }
        }
        // A new plan says itself who is to begin what.
        if !planned && let Err(why) = self.steal(now, decisions) {
            decisions.push(Decision::GiveUp(why));
        }
    }
}
