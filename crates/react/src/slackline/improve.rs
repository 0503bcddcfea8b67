//! Local search on plans: tasks on the critical path of the forecast are tried on other hosts, one at a time, as long as
//! the forecast makespan falls (first improvement). Planners place a task once and never revise that; this costs most
//! where transfers share links.

use super::Slackline;
use super::context::PlanningContext;
use super::forecast::Forecast;
use super::rollouts::Choice;
use super::search::sort;
use crate::policy::{Assignment, Plan};
use crate::situation::{Situation, TaskState};
use slackline_model::problem::PoolId;
use slackline_model::{HostId, ProcId, approx};

/// Most forecasts for one plan: before the run begins, and at an evaluation.
pub(super) const AT_FIRST: usize = 1_000;
pub(super) const AT_AN_EVALUATION: usize = 300;

/// Most queues that these forecasts build, one per processor and forecast: bounds the time on large platforms.
const QUEUES: usize = 4_000_000;

/// Least gain of a move, as a share of the remaining time.
const GAIN: f64 = 0.001;

impl Slackline {
    /// Adds improved versions of the present plan and of the best other one to `others`, where they end before `limit`;
    /// `most` forecasts each.
    pub(super) fn add_improved(
        &mut self,
        context: &PlanningContext<'_, '_>,
        kept: &Choice,
        most: usize,
        limit: f64,
        others: &mut Vec<Choice>,
    ) {
        let first = others.first().filter(|other| other.rewind == kept.rewind);
        let better: Vec<Choice> = [Some(kept), first]
            .into_iter()
            .flatten()
            .filter_map(|choice| self.improve(context, choice, most))
            .filter(|choice| choice.forecast.makespan < limit)
            .collect();
        others.extend(better);
        sort(others);
    }

    /// A neighbour of a choice, several moves away, that ends sooner by forecast; none where no move helps.
    fn improve(
        &mut self,
        context: &PlanningContext<'_, '_>,
        choice: &Choice,
        most: usize,
    ) -> Option<Choice> {
        let now = context.now;
        // A plan with leases would need other leases after a move.
        if choice.forecast.makespan.is_infinite() || !choice.plan.leases.is_empty() {
            return None;
        }
        let most = most.min(QUEUES / context.problem.procs().max(1));
        let granted = self.rollouts.forecasts(now, most);
        let mut left = granted;
        let mut best: Option<(Plan, Forecast)> = None;
        'better: while left > 0 {
            let (plan, forecast) =
                best.as_ref().map_or((&choice.plan, &choice.forecast), |(p, f)| (p, f));
            let limit = now.now + (forecast.makespan - now.now) * (1.0 - GAIN);
            let mut sorted = by_start(plan, forecast);
            for at in critical_tasks(context, &sorted, forecast) {
                let own = sorted.assignments[at].procs.clone();
                for proc in elsewhere(context, &sorted, forecast, at) {
                    if left == 0 {
                        break 'better;
                    }
                    left -= 1;
                    sorted.assignments[at].procs = [proc].into();
                    let forecast = self.forecaster.follow(&context.future, &sorted, limit);
                    if forecast.makespan < limit {
                        best = Some((sorted, forecast));
                        continue 'better;
                    }
                }
                sorted.assignments[at].procs = own;
            }
            break;
        }
        self.rollouts.pay(now, granted - left);
        let rewind = choice.rewind.clone();
        best.map(|(plan, forecast)| Choice { rewind, ..Choice::new("searched", plan, forecast) })
    }
}

/// The plan with assignments by forecast start, so that a moved task enters another queue at its former start.
fn by_start(plan: &Plan, forecast: &Forecast) -> Plan {
    let mut sorted = plan.clone();
    let start = |a: &Assignment| forecast.times[a.task.index()].0;
    sorted.assignments.sort_by(|a, b| start(a).total_cmp(&start(b)));
    sorted
}

/// Critical path of a forecast, as positions in a plan sorted by start: the task that ends last, the one it waited for
/// longest (parent, previous task of its processors, or holder of a pool), and so on. Tasks that cannot be moved one by
/// one are left out.
fn critical_tasks(
    context: &PlanningContext<'_, '_>,
    plan: &Plan,
    forecast: &Forecast,
) -> Vec<usize> {
    let end = |at: &usize| forecast.times[plan.assignments[*at].task.index()].1;
    let pools = uses_of_pools(context.now, plan);
    let mut place = vec![usize::MAX; forecast.times.len()];
    for (at, assignment) in plan.assignments.iter().enumerate() {
        place[assignment.task.index()] = at;
    }
    let last =
        |places: &mut dyn Iterator<Item = usize>| places.max_by(|a, b| end(a).total_cmp(&end(b)));
    let mut found = Vec::new();
    let mut next = last(&mut (0..plan.assignments.len()));
    while let Some(at) = next {
        found.push(at);
        let Assignment { task, procs } = &plan.assignments[at];
        let shares = |a: &Assignment| a.procs.iter().any(|p| procs.contains(p));
        let before = plan.assignments[..at].iter().rposition(shares);
        let parents = context.problem.workflow().predecessors(*task);
        // Finished tasks have no position; a parent of the same start may come later in the plan.
        let parents = parents.map(|(parent, _)| place[parent.index()]).filter(|&p| p < at);
        // Tasks that released a pool when this one began.
        let start = forecast.times[task.index()].0;
        let gave = (0..at).filter(|&other| {
            let shared = || pools[other].iter().any(|pool| pools[at].contains(pool));
            !pools.is_empty() && approx::eq(end(&other), start) && shared()
        });
        next = last(&mut parents.chain(before).chain(gave));
    }
    found.retain(|&at| is_movable(&plan.assignments[at], context.now));
    found
}

/// By place in a plan: the pools that a task takes of and that can run short; empty where none can.
fn uses_of_pools(now: &Situation, plan: &Plan) -> Vec<Vec<PoolId>> {
    if !now.pools.bind() {
        return Vec::new();
    }
    let binds = |&(pool, _): &(PoolId, u64)| now.pools.all()[pool as usize].binds;
    let uses = |a: &Assignment| {
        now.uses(a.task, &a.procs).into_iter().filter(binds).map(|(pool, _)| pool).collect()
    };
    plan.assignments.iter().map(uses).collect()
}

fn is_movable(assignment: &Assignment, now: &Situation) -> bool {
    assignment.procs.len() == 1
        && matches!(now.task(assignment.task), TaskState::Waiting | TaskState::Placed { .. })
}

/// Candidate processors for a task: of every host the one with the least work while the task runs, ordered by that work
/// plus the run time of the task there. Ties: lower processor.
fn elsewhere(
    context: &PlanningContext<'_, '_>,
    plan: &Plan,
    forecast: &Forecast,
    at: usize,
) -> Vec<ProcId> {
    let Assignment { task, procs } = &plan.assignments[at];
    let problem = context.problem;
    let (start, finish) = forecast.times[task.index()];
    let mut busy = vec![0.0; problem.procs()];
    for other in plan.assignments.iter().filter(|a| a.task != *task) {
        let (from, to) = forecast.times[other.task.index()];
        for proc in &other.procs {
            busy[proc.index()] += (to.min(finish) - from.max(start)).max(0.0);
        }
    }
    let idlest = |host: HostId| {
        let all = problem.procs_of(host).map(ProcId).filter(|proc| !procs.contains(proc));
        all.min_by(|a, b| busy[a.index()].total_cmp(&busy[b.index()]))
    };
    let hosts = problem.platform().host_ids().filter(|&host| context.now.is_alive(host));
    let ends = |proc: ProcId| (busy[proc.index()] + problem.exec_on(*task, proc), proc);
    let mut found: Vec<(f64, ProcId)> = hosts.filter_map(idlest).map(ends).collect();
    found.retain(|(seconds, _)| seconds.is_finite());
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    found.into_iter().map(|(_, proc)| proc).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a broken fixture is a broken test
mod tests {
    use super::super::context::Levels;
    use super::super::rollouts::tests::Blind;
    use super::*;
    use crate::common;
    use crate::policy::Policy;
    use slackline_model::TaskId;
    use std::sync::Arc;

    /// Four tasks of a second each, all planned for the first of three processors.
    fn improved(mut ours: Slackline, first: TaskState) -> Option<Choice> {
        ours.equip(Box::new(Blind(None)));
        let workflow = common::workflow(&[&[1.0; 3][..]; 4], &[]);
        let mut now = Situation::new(Arc::new(workflow), Arc::new(common::platform(3, |_, _| 1.0)));
        now.set_task(TaskId(0), first);
        let levels = Levels { seen: now.view.clone(), later: None };
        let prospect = levels.prospect(&now).unwrap();
        let problem = now.problem().unwrap();
        let context = prospect.context(&problem, &now);
        let queued = |task| Assignment { task: TaskId(task), procs: [ProcId(0)].into() };
        let plan = Plan { assignments: (0..4).map(queued).collect(), ..Plan::default() };
        let forecast = ours.forecaster.follow(&context.future, &plan, f64::INFINITY);
        assert_eq!(forecast.makespan, 4.0);
        ours.improve(&context, &Choice::new("all in a row", plan, forecast), AT_FIRST)
    }

    #[test]
    fn what_waits_in_a_row_is_spread() {
        let better = improved(Slackline::default(), TaskState::Waiting).unwrap();
        assert_eq!(better.forecast.makespan, 2.0);
        let on = |proc| {
            let all = better.plan.assignments.iter();
            all.filter(|a| a.procs[..] == [ProcId(proc)]).count()
        };
        assert_eq!((0..3).map(on).max(), Some(2));
    }

    #[test]
    fn what_runs_stays() {
        let running = TaskState::Running { procs: [ProcId(0)].into(), since: 0.0 };
        let better = improved(Slackline::default(), running).unwrap();
        let first = better.plan.assignments.iter().find(|a| a.task == TaskId(0)).unwrap();
        assert_eq!(first.procs[..], [ProcId(0)]);
        assert_eq!(better.forecast.makespan, 2.0);
    }

    #[test]
    fn nothing_is_tried_without_effort() {
        assert!(improved(Slackline::with_effort(0), TaskState::Waiting).is_none());
    }
}
