//! The literal selective rescheduler: a sweep that knows real finish times out of order. For
//! studies and for the published figures; a running system uses the causal policy.

use super::Spare;
use slackline_model::problem::State;
use slackline_model::{Placement, Problem, ProcId, Schedule, TaskId, approx};
use slackline_schedule::{Algorithm, PlanError, Request};

/// When to plan again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Never: keep mapping and order of the first plan.
    Never,
    /// Before every task but the first.
    Always,
    /// A start is later than the task's slack.
    Slack,
    /// A start is later than the task's least spare time.
    Spare,
}

/// Real course of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct OfflineRun {
    /// Real placements.
    pub schedule: Schedule,
    /// Number of re-plannings.
    pub reschedulings: usize,
    /// The tasks before which that happened.
    pub before: Vec<TaskId>,
}

/// Executes a workflow whose tasks really take `actual(task, processor)` seconds.
pub fn run_offline(
    problem: &Problem<'_>,
    planner: &Algorithm,
    trigger: Trigger,
    actual: impl Fn(TaskId, ProcId) -> f64,
) -> Result<OfflineRun, PlanError> {
    let settings = Request::default();
    let tasks = problem.tasks();
    let mut plan = planner.plan(problem, &settings)?;
    let mut spare = Spare::of(problem, &plan);
    let mut done: Vec<Option<Placement>> = vec![None; tasks];
    let mut free = vec![0.0f64; problem.procs()];
    let mut outcome =
        OfflineRun { schedule: Schedule::default(), reschedulings: 0, before: Vec::new() };
    for step in 0..tasks {
        let Some(mut task) = first_unexecuted(&plan, &done) else { break };
        let real = real_start(problem, &plan, &done, &free, task);
        if step > 0 && trigger.fires(task, &plan, &spare, real) {
            plan = replan(problem, planner, &done, &free)?;
            spare = Spare::of(problem, &plan);
            outcome.reschedulings += 1;
            outcome.before.push(task);
            match first_unexecuted(&plan, &done) {
                Some(first) => task = first,
                None => break,
            }
        }
        let Some(planned) = plan.placement(task) else { break };
        let start = real_start(problem, &plan, &done, &free, task);
        let finish = start + actual(task, planned.proc());
        for proc in planned.procs() {
            free[proc.index()] = finish;
        }
        done[task.index()] = Some(Placement::wide(planned.procs(), start, finish));
    }
    outcome.schedule.placements = done;
    Ok(outcome)
}

/// Smallest planned start, then finish, then index, among the tasks not executed.
fn first_unexecuted(plan: &Schedule, done: &[Option<Placement>]) -> Option<TaskId> {
    let open = (0..done.len()).map(TaskId::new).filter(|t| done[t.index()].is_none());
    open.filter_map(|t| plan.placement(t).map(|p| (p.start, p.finish, t)))
        .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)))
        .map(|(_, _, t)| t)
}

/// When a task would really start at its planned processors.
fn real_start(
    problem: &Problem<'_>,
    plan: &Schedule,
    done: &[Option<Placement>],
    free: &[f64],
    task: TaskId,
) -> f64 {
    let Some(planned) = plan.placement(task) else { return 0.0 };
    let idle = planned.procs().iter().map(|p| free[p.index()]).fold(0.0, f64::max);
    let arrivals = problem.workflow().predecessors(task).filter_map(|(parent, edge)| {
        let source = done[parent.index()].as_ref()?;
        Some(source.finish + problem.edge_transfer(edge, source.procs(), planned.procs()))
    });
    let inputs = problem.staged_inputs(task).iter();
    let staged = inputs.map(|&file| problem.arrival_at(file, planned.procs()));
    arrivals.chain(staged).fold(idle, f64::max)
}

impl Trigger {
    /// Whether a task that would really start at `real` makes the rest be planned again. A delay
    /// equal to what is allowed does not.
    pub fn fires(self, task: TaskId, plan: &Schedule, spare: &Spare, real: f64) -> bool {
        let planned = plan.placement(task).map_or(0.0, |p| p.start);
        let beyond = |threshold: f64| approx::gt(real, planned + threshold);
        match self {
            Trigger::Never => false,
            Trigger::Always => true,
            Trigger::Slack => beyond(spare.slack[task.index()]),
            Trigger::Spare => beyond(spare.min_spare[task.index()]),
        }
    }
}

fn replan(
    problem: &Problem<'_>,
    planner: &Algorithm,
    done: &[Option<Placement>],
    free: &[f64],
) -> Result<Schedule, PlanError> {
    let state = State { fixed: done.to_vec(), available: free.to_vec(), ..problem.state().clone() };
    let rest = problem.clone().with_state(state).map_err(|e| PlanError::Unsupported {
        algorithm: "selective rescheduling",
        why: e.to_string(),
    })?;
    planner.plan(&rest, &Request::default())
}
