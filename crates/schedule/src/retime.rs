//! Re-timing of a plan: the same processors, the same order on each of them, every task as soon as its
//! processors are free and its data has arrived. Inputs leave the origin in the planned order, else in the
//! order of their readers. O(v + e) for each set of run times. Where concurrent tasks share pools, these serve
//! in planned order, too: a task takes of a pool when every task that is planned to begin before it and takes
//! of that pool has begun.

use crate::pools::PoolUse;
use slackline_model::problem::{PoolId, Staging};
use slackline_model::{HostId, Placement, Problem, ProcId, Schedule, TaskId};

/// The plan as a graph: what each task waits for, in an order in which it can be walked.
pub struct Retiming {
    steps: Vec<Step>,
    /// `(earlier step, seconds between its end and our start)`, by step.
    waits: Vec<(u32, f64)>,
    /// End of what has already been executed.
    past: f64,
    transfers: Vec<slackline_model::schedule::PlannedTransfer>,
    /// Resources other than processors that tasks share; none where processors alone decide.
    shared: Option<Shared>,
}

/// Amounts that a step takes of pools, and its hosts.
type StepUses = (Vec<(PoolId, u64)>, Vec<HostId>);

/// Pools and windows of a plan.
struct Shared {
    /// Amounts held by running tasks.
    held: PoolUse,
    /// By step: amounts of pools, and the hosts.
    uses: Vec<StepUses>,
}

struct Step {
    task: TaskId,
    /// Not before this date.
    earliest: f64,
    seconds: f64,
    first_wait: u32,
}

/// The plan with the dates that the problem gives it; tasks without a place stay without.
pub fn retimed(problem: &Problem<'_>, schedule: &Schedule) -> Schedule {
    let retiming = Retiming::new(problem, schedule);
    let finish = retiming.finishes(|_, seconds| seconds);
    let mut retimed = schedule.clone();
    // What runs or is done may be elsewhere than the plan had it.
    for (task, fixed) in problem.state().fixed.iter().enumerate() {
        if let Some(placement) = fixed {
            retimed.place(TaskId::new(task), placement.clone());
        }
    }
    for (step, &end) in retiming.steps.iter().zip(&finish) {
        if let Some(placement) = schedule.placement(step.task) {
            let start = end - step.seconds;
            retimed.place(step.task, Placement::wide(placement.procs(), start, end));
        }
    }
    let staged = |t: &slackline_model::schedule::PlannedTransfer| {
        problem.workflow().producer(t.file).is_none()
    };
    retimed.transfers.retain(|t| !staged(t));
    retimed.transfers.extend(retiming.transfers);
    retimed
}

/// End of the last task of a re-timed plan; infinite when some of it is not placed or can no longer run.
pub fn makespan(problem: &Problem<'_>, schedule: &Schedule) -> f64 {
    let open = |&t: &TaskId| problem.state().fixed(t).is_none();
    if problem.workflow().tasks().filter(open).any(|t| schedule.placement(t).is_none()) {
        return f64::INFINITY;
    }
    Retiming::new(problem, schedule).makespan(|seconds| seconds)
}

impl Retiming {
    /// The unfinished tasks that a schedule places.
    pub fn new(problem: &Problem<'_>, schedule: &Schedule) -> Retiming {
        let workflow = problem.workflow();
        let state = problem.state();
        let past = state.fixed.iter().flatten().map(|p| p.finish).fold(0.0, f64::max);
        // By start, equal starts topologically: parents and the task before on a processor come
        // first, tasks without length included.
        let mut depth = vec![0usize; workflow.len()];
        for (position, task) in workflow.topological_order().iter().enumerate() {
            depth[task.index()] = position;
        }
        let mut order: Vec<TaskId> = workflow
            .tasks()
            .filter(|&t| state.fixed(t).is_none() && schedule.placement(t).is_some())
            .collect();
        let start = |t: TaskId| schedule.placement(t).map_or(0.0, |p| p.start);
        order.sort_by(|&a, &b| {
            start(a).total_cmp(&start(b)).then(depth[a.index()].cmp(&depth[b.index()]))
        });
        let mut staging = Staging::new(problem);
        if let Some(staging) = &mut staging {
            staging.follow(&schedule.transfers);
        }
        let held = Held::by_fixed(problem);
        let mut step_of = vec![u32::MAX; workflow.len()];
        let mut last_on = vec![u32::MAX; problem.procs()];
        let mut plan = Retiming {
            steps: Vec::with_capacity(order.len()),
            waits: Vec::new(),
            past,
            transfers: Vec::new(),
            shared: PoolUse::with_running(problem)
                .map(|held| Shared { held, uses: Vec::with_capacity(order.len()) }),
        };
        for (index, &task) in order.iter().enumerate() {
            let Some(placement) = schedule.placement(task) else { continue };
            let first_wait = plan.waits.len() as u32;
            let mut earliest = problem.release(task);
            for (parent, edge) in workflow.predecessors(task) {
                let fixed = state.fixed(parent);
                let Some(source) = fixed.or_else(|| schedule.placement(parent)) else { continue };
                match step_of[parent.index()] {
                    // It has to be done again, after a task that waits for it.
                    u32::MAX if fixed.is_none() => earliest = f64::INFINITY,
                    u32::MAX => {
                        let (finish, procs) = (source.finish, source.procs());
                        let arrival = problem.edge_arrival(edge, finish, procs, placement.procs());
                        earliest = earliest.max(arrival);
                    }
                    step => {
                        let (from, to) = (source.procs(), placement.procs());
                        plan.waits.push((step, problem.edge_transfer(edge, from, to)));
                    }
                }
            }
            if let Some(staging) = &mut staging {
                earliest = earliest.max(staging.send_to(task, placement.procs()));
            }
            let width = placement.procs().len() as u32;
            let class = problem.class_of(placement.proc());
            let seconds = problem.exec_wide(task, class, width);
            for &proc in placement.procs() {
                earliest = earliest.max(problem.available_from(proc));
                let last = &mut last_on[proc.index()];
                if seconds > 0.0 {
                    earliest = earliest.max(held.until(proc, placement.start));
                    if *last != u32::MAX {
                        plan.waits.push((*last, 0.0));
                    }
                    *last = index as u32;
                }
            }
            if let Some(shared) = &mut plan.shared {
                let procs = placement.procs();
                // The others always have room.
                let mut uses = problem.uses(task, procs);
                uses.retain(|(pool, _)| problem.pools().all()[*pool as usize].binds);
                shared.uses.push((uses, problem.hosts_of(procs)));
            }
            step_of[task.index()] = index as u32;
            plan.steps.push(Step { task, earliest, seconds, first_wait });
        }
        plan.transfers = staging.map(Staging::into_transfers).unwrap_or_default();
        plan
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is nothing to time.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    fn waits_of(&self, step: usize) -> &[(u32, f64)] {
        let end = self.steps.get(step + 1).map_or(self.waits.len(), |s| s.first_wait as usize);
        &self.waits[self.steps[step].first_wait as usize..end]
    }

    /// The ends of the tasks when `actual` gives the time of each from its estimate.
    fn finishes(&self, mut actual: impl FnMut(TaskId, f64) -> f64) -> Vec<f64> {
        let mut finish = Vec::with_capacity(self.steps.len());
        let mut shared = self.shared.as_ref().map(|shared| (shared.held.clone(), &shared.uses));
        let mut begun: Vec<f64> = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let mut start = step.earliest;
            for &(before, gap) in self.waits_of(index) {
                start = start.max(finish[before as usize] + gap);
            }
            let seconds = actual(step.task, step.seconds);
            if let Some((held, uses)) = &mut shared {
                let (uses, hosts) = &uses[index];
                for &(pool, _) in uses.iter().filter(|_| seconds > 0.0) {
                    begun.resize(begun.len().max(pool as usize + 1), f64::NEG_INFINITY);
                    start = start.max(begun[pool as usize]);
                }
                start = held.earliest_of(uses, hosts, start, seconds);
                if seconds > 0.0 && start.is_finite() {
                    held.hold_all(uses, start, start + seconds);
                    uses.iter().for_each(|&(pool, _)| begun[pool as usize] = start);
                }
            }
            finish.push(start + seconds);
        }
        finish
    }

    /// End of the last task when `actual` gives the time of each from its estimate.
    pub fn makespan(&self, mut actual: impl FnMut(f64) -> f64) -> f64 {
        self.makespan_by_task(|_, seconds| actual(seconds))
    }

    /// End of the last task when `actual` gives the time of each from the task and its estimate.
    pub fn makespan_by_task(&self, actual: impl FnMut(TaskId, f64) -> f64) -> f64 {
        self.finishes(actual).into_iter().fold(self.past, f64::max)
    }

    /// Mean distance between the earliest and the latest end that keeps the plan's end.
    pub fn mean_slack(&self, planned: f64) -> f64 {
        let count = self.steps.len();
        if count == 0 {
            return 0.0;
        }
        let early = self.finishes(|_, seconds| seconds);
        let mut late = vec![planned; count];
        for index in (0..count).rev() {
            let start = late[index] - self.steps[index].seconds;
            for &(before, gap) in self.waits_of(index) {
                late[before as usize] = late[before as usize].min(start - gap);
            }
        }
        let slack = late.iter().zip(&early).map(|(l, e)| (l - e).max(0.0));
        slack.sum::<f64>() / count as f64
    }
}

/// Until when processors are held by what is done or runs.
struct Held {
    /// By processor: start and finish of what is fixed there; empty where nothing is.
    fixed: Vec<Vec<(f64, f64)>>,
    now: f64,
}

impl Held {
    fn by_fixed(problem: &Problem<'_>) -> Held {
        let state = problem.state();
        let mut fixed = Vec::new();
        for placement in state.fixed.iter().flatten() {
            fixed.resize(problem.procs(), Vec::new());
            for proc in placement.procs() {
                fixed[proc.index()].push((placement.start, placement.finish));
            }
        }
        Held { fixed, now: state.now }
    }

    /// Before which date a task planned for `start` cannot have the processor: what is fixed for
    /// later than both now and that leaves room before it.
    fn until(&self, proc: ProcId, start: f64) -> f64 {
        let fixed = self.fixed.get(proc.index()).map_or(&[][..], Vec::as_slice);
        let before = fixed.iter().filter(|(from, _)| *from <= start.max(self.now));
        before.map(|(_, until)| *until).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
    use slackline_model::problem::State;
    use slackline_model::{Task, WorkflowBuilder};

    /// Two machines, two tasks of 2 s in a row, of which some are done or run at date 10; the plan has
    /// the child before its parent, as where the child ran while the parent had to be done again.
    fn late_parent(fixed: [Option<Placement>; 2]) -> (f64, Schedule) {
        let mut b = PlatformBuilder::new("two");
        b.set_matrix(Matrix::Uniform { bandwidth: 1.0, latency: 0.0 });
        let root = b.root().unwrap();
        for name in ["a", "b"] {
            b.add_host(root, HostSpec::new(name, 1.0)).unwrap();
        }
        let platform = b.build().unwrap();
        let mut b = WorkflowBuilder::new("chain");
        for name in ["parent", "child"] {
            b.add_task(Task::new(name, 2.0)).unwrap();
        }
        b.add_edge(TaskId(0), TaskId(1), 0.0).unwrap();
        let workflow = b.build().unwrap();
        let state = State { now: 10.0, fixed: fixed.to_vec(), ..State::default() };
        let problem = Problem::new(&workflow, &platform).unwrap().with_state(state).unwrap();
        let plan = Schedule {
            placements: vec![
                Some(Placement::new(ProcId(0), 6.0, 8.0)),
                Some(Placement::new(ProcId(0), 4.0, 6.0)),
            ],
            ..Schedule::default()
        };
        (makespan(&problem, &plan), retimed(&problem, &plan))
    }

    #[test]
    fn a_task_behind_one_that_waits_for_it_never_ends() {
        assert_eq!(late_parent([None, None]).0, f64::INFINITY);
    }

    #[test]
    fn what_runs_elsewhere_than_planned_stays_there() {
        let runs = Placement::new(ProcId(1), 9.0, 11.0);
        let (end, plan) = late_parent([None, Some(runs.clone())]);
        assert_eq!(end, 12.0);
        assert_eq!(plan.placement(TaskId(1)), Some(&runs));
        assert_eq!(plan.placement(TaskId(0)), Some(&Placement::new(ProcId(0), 10.0, 12.0)));
    }
}
