//! The walk where tasks share more than processors: orders and hosts, decoded by earliest starts beside
//! all pools.
//!
//! A few islands anneal on their own, each from one of the first plans; their number is fixed, so that
//! threads do not change the plan.

use super::ISLANDS;
use crate::budget::Budget;
use crate::list::{Partial, unfinished};
use crate::registry::Request;
use rand::RngExt;
use rayon::prelude::*;
use slackline_model::rng::{self, Stream};
use slackline_model::{HostId, Problem, Schedule, TaskId, approx};

/// Default limit of the effort of a search, in visits of a task or a processor.
const EFFORT: f64 = 2e8;
/// Most changes tried per unfinished task.
const MOST_EACH: u64 = 600;

/// An order of the unfinished tasks, and for each a host, or none: then where it ends first.
#[derive(Clone)]
struct Draft {
    order: Vec<TaskId>,
    host: Vec<Option<HostId>>,
}

impl Draft {
    fn of(problem: &Problem<'_>, schedule: &Schedule) -> Option<Draft> {
        let mut depth = vec![0; problem.tasks()];
        for (at, task) in problem.workflow().topological_order().iter().enumerate() {
            depth[task.index()] = at;
        }
        let mut order: Vec<TaskId> = unfinished(problem).collect();
        let start = |t: TaskId| schedule.placement(t).map_or(0.0, |p| p.start);
        order.sort_by(|&a, &b| {
            start(a).total_cmp(&start(b)).then(depth[a.index()].cmp(&depth[b.index()]))
        });
        let mut host = vec![None; problem.tasks()];
        for &task in &order {
            host[task.index()] = Some(problem.host_of(schedule.placement(task)?.proc()));
        }
        Some(Draft { order, host })
    }

    fn decode(&self, problem: &Problem<'_>) -> Option<Schedule> {
        let mut partial = Partial::new(problem);
        for &task in &self.order {
            let pinned = self.host[task.index()].and_then(|host| partial.slot_on_host(task, host));
            let slot = match pinned {
                Some(slot) => slot,
                None => partial.earliest_finish(task).ok()?,
            };
            partial.place(task, slot);
        }
        Some(partial.into_schedule())
    }

    /// Another place in the order, or another host, for a random task.
    fn change(&mut self, problem: &Problem<'_>, hosts: &[HostId], random: &mut Stream) {
        let n = self.order.len();
        let at = random.random_range(0..n);
        let task = self.order[at];
        match random.random_range(0..4) {
            0 => {
                let host = hosts[random.random_range(0..hosts.len())];
                if problem.fits(task, host) {
                    self.host[task.index()] = Some(host);
                }
            }
            1 => self.host[task.index()] = None,
            _ => {
                let workflow = problem.workflow();
                let parent = |t: TaskId| workflow.predecessors(task).any(|(p, _)| p == t);
                let child = |t: TaskId| workflow.successors(task).any(|(c, _)| c == t);
                let (mut low, mut high) = (at, at);
                while low > 0 && !parent(self.order[low - 1]) {
                    low -= 1;
                }
                while high + 1 < n && !child(self.order[high + 1]) {
                    high += 1;
                }
                let to = random.random_range(low..=high);
                self.order.remove(at);
                self.order.insert(to, task);
            }
        }
    }
}

/// The best plan found from some first plans, no worse than the first of them.
pub(super) fn search(
    problem: &Problem<'_>,
    request: &Request,
    budget: &Budget,
    bound: f64,
    mut plans: Vec<Schedule>,
) -> Schedule {
    plans.sort_by(|a, b| approx::sort_key(a.makespan()).total_cmp(&approx::sort_key(b.makespan())));
    plans.truncate(2);
    let Some(first) = plans.first().cloned() else { return Schedule::default() };
    let drafts: Vec<Draft> = plans.iter().filter_map(|plan| Draft::of(problem, plan)).collect();
    let hosts: Vec<HostId> =
        problem.platform().host_ids().filter(|&h| !problem.procs_of(h).is_empty()).collect();
    let n = drafts.first().map_or(0, |draft| draft.order.len());
    if n < 2 || approx::le(first.makespan(), bound) {
        return first;
    }
    let each = (n * problem.procs() + problem.workflow().edge_count()) as f64;
    let usual = ((EFFORT / each) as u64).min(MOST_EACH * n as u64).max(1);
    let iterations = match (request.iterations, request.time_limit) {
        (Some(iterations), _) => iterations,
        (None, Some(_)) => usual.saturating_mul(64),
        (None, None) => usual,
    };
    let island = |index: usize| {
        let mut random = rng::stream(request.seed, "best/shared", index as u64);
        let mut current = drafts[index / 2 % drafts.len()].clone();
        let mut cost = current.decode(problem).map_or(f64::INFINITY, |plan| plan.makespan());
        let (mut best, scale) = (first.clone(), first.makespan());
        let share = (iterations / ISLANDS as u64).max(1);
        for k in 0..share {
            if budget.is_over() || approx::le(best.makespan(), bound) {
                break;
            }
            let mut next = current.clone();
            next.change(problem, &hosts, &mut random);
            let progress = k as f64 / share as f64;
            let temperature = scale * 0.02 * (0.02f64).powf(progress);
            let luck: f64 = random.random_range(f64::MIN_POSITIVE..1.0);
            let Some(plan) = next.decode(problem) else { continue };
            let end = plan.makespan();
            if end <= cost - temperature * luck.ln() {
                (current, cost) = (next, end);
                if approx::lt(end, best.makespan()) {
                    budget.found(end);
                    best = plan;
                }
            }
        }
        best
    };
    let found: Vec<Schedule> =
        super::in_pool(request.threads, || (0..ISLANDS).into_par_iter().map(island).collect());
    super::shortest(found)
}
