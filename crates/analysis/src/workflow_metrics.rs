//! Metrics of several workflows that share a platform: per workflow, and in total.
//!
//! Times are in seconds from the arrival of a workflow. The turnaround-time ratio (TTR; schedule length ratio, SLR, in
//! other studies) is the turnaround over the sum of least times on the critical path, which is found with mean times.
//! The stretch is the turnaround over that of the same workflow alone. Further names of the literature: planning success
//! rate (PSR), normalised turnaround time (NTT), improvement of turnaround time (TT_imp). Unfinished workflows count in
//! the success rate only.

use crate::cost::Money;
use schemars::JsonSchema;
use serde::Serialize;
use slackline_engine::Outcome;
use slackline_model::schedule::affordable;
use slackline_model::{Problem, TaskId, approx};
use slackline_schedule::list::ranks;

/// One workflow of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Served {
    /// Start of its first task; none if nothing ran.
    pub start: Option<f64>,
    /// End of its last task; none if one did not end.
    pub finish: Option<f64>,
    /// From arrival to end.
    pub turnaround: Option<f64>,
    /// From the first start to the end.
    pub makespan: Option<f64>,
    /// Turnaround over the least times on the critical path.
    pub ttr: Option<f64>,
    /// Turnaround over that of a run by itself, where that is known.
    pub stretch: Option<f64>,
    /// Money for the processors its tasks held, including wasted work.
    pub cost: f64,
    /// Done, within its deadline and its budget.
    pub success: bool,
}

/// The workflows of a run, in order of arrival. `alone` has the turnaround of each by itself.
pub fn served(problem: &Problem<'_>, outcome: &Outcome, alone: &[Option<f64>]) -> Vec<Served> {
    let parts = outcome.arrived.len();
    let mut found = vec![Served::default(); parts];
    let mut last = vec![0.0f64; parts];
    for (placement, &part) in outcome.schedule.placements.iter().zip(&outcome.part_of) {
        let (one, last) = (&mut found[part as usize], &mut last[part as usize]);
        let Some(placement) = placement else {
            *last = f64::INFINITY;
            continue;
        };
        one.start = Some(one.start.map_or(placement.start, |s| s.min(placement.start)));
        *last = last.max(placement.finish);
    }
    for (one, cost) in found.iter_mut().zip(Money::of(problem, outcome).per_workflow) {
        one.cost = cost;
    }
    let least: Vec<f64> = critical_paths(problem, &outcome.part_of, parts)
        .iter()
        .map(|path| path.iter().map(|&t| problem.best_exec(t)).sum())
        .collect();
    for (index, one) in found.iter_mut().enumerate() {
        let arrived = &outcome.arrived[index];
        one.finish = Some(last[index]).filter(|f| f.is_finite());
        let took = one.finish.map(|f| f - arrived.at);
        one.turnaround = took;
        one.makespan = one.finish.zip(one.start).map(|(finish, start)| finish - start);
        one.ttr = took.filter(|_| least[index] > 0.0).map(|t| t / least[index]);
        let by_itself = alone.get(index).copied().flatten().filter(|&a| a > 0.0);
        one.stretch = took.zip(by_itself).map(|(t, a)| t / a);
        let limits = &arrived.terms.limits;
        one.success = took.is_some_and(|t| limits.deadline.is_none_or(|d| approx::le(t, d)))
            && limits.budget.is_none_or(|b| affordable(one.cost, b));
    }
    found
}

/// Per workflow: the path that is longest in mean times. Ties: the lower task.
fn critical_paths(problem: &Problem<'_>, part_of: &[u32], parts: usize) -> Vec<Vec<TaskId>> {
    let workflow = problem.workflow();
    let rank = ranks::upward(problem);
    let mut head: Vec<Option<TaskId>> = vec![None; parts];
    for (task, &part) in workflow.tasks().zip(part_of) {
        let head = &mut head[part as usize];
        if head.is_none_or(|h| approx::gt(rank[task.index()], rank[h.index()])) {
            *head = Some(task);
        }
    }
    let next = |task: TaskId| {
        let mut best: Option<(f64, TaskId)> = None;
        for (child, edge) in workflow.successors(task) {
            let way = problem.mean_edge_transfer(edge) + rank[child.index()];
            if best.is_none_or(|(b, _)| approx::gt(way, b)) {
                best = Some((way, child));
            }
        }
        best.map(|(_, child)| child)
    };
    head.into_iter().map(|head| std::iter::successors(head, |&t| next(t)).collect()).collect()
}

/// Ranges for deadline (seconds) and budget (money) of a workflow: the least and the greatest time of its critical path,
/// and the least and the greatest cost of all its tasks. With a central store, tasks hold their processors also while
/// they read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Negotiable {
    /// Least and largest deadline.
    pub deadline: (f64, f64),
    /// Least and largest budget.
    pub budget: (f64, f64),
}

impl Negotiable {
    /// The bounds of a workflow on a platform.
    pub fn of(problem: &Problem<'_>, central: bool) -> Negotiable {
        let workflow = problem.workflow();
        let reading = |task: TaskId| -> f64 {
            let bytes = workflow.inputs(task).map(|f| workflow.file_bytes(f));
            if central { bytes.map(|b| problem.mean_transfer(b)).sum() } else { 0.0 }
        };
        let path = critical_paths(problem, &vec![0; workflow.len()], 1).remove(0);
        let time = |exec: &dyn Fn(TaskId) -> f64| path.iter().map(|&t| reading(t) + exec(t)).sum();
        let mut budget = (0.0, 0.0);
        for task in workflow.tasks() {
            let width = f64::from(workflow.width(task).0);
            let cost = |p| (reading(task) + problem.exec_on(task, p)) * problem.price(p) * width;
            let costs = || problem.proc_ids().map(cost).filter(|c: &f64| c.is_finite());
            budget.0 += costs().fold(f64::INFINITY, f64::min);
            budget.1 += costs().fold(0.0, f64::max);
        }
        let deadline = (time(&|t| problem.best_exec(t)), time(&|t| problem.worst_exec(t)));
        Negotiable { deadline, budget }
    }

    /// Returns the point at the fraction `part` of a range.
    pub fn at(bounds: (f64, f64), part: f64) -> f64 {
        bounds.0 + part * (bounds.1 - bounds.0)
    }
}

/// All workflows of a run together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Totals {
    /// End of the last task of all.
    pub overall_makespan: f64,
    /// Mean of the workflows' makespans, and so on.
    pub mean_makespan: Option<f64>,
    /// Mean time from arrival to end.
    pub mean_turnaround: Option<f64>,
    /// Mean TTR.
    pub mean_ttr: Option<f64>,
    /// Mean stretch.
    pub mean_stretch: Option<f64>,
    /// Largest stretch.
    pub max_stretch: Option<f64>,
    /// Sum of turnarounds over the sum of those alone.
    pub scaled_completion: Option<f64>,
    /// Sum of the distances of the stretches from their mean.
    pub unfairness: Option<f64>,
    /// Share of the workflows that were done within deadline and budget, per cent (PSR).
    pub success_rate: f64,
    /// Money of the workflows that were a success.
    pub total_cost: f64,
    /// Money of all.
    pub spent: f64,
}

impl Totals {
    /// Of some workflows of one run.
    pub fn of<'s>(served: impl Iterator<Item = &'s Served> + Clone) -> Totals {
        let mean = |values: Vec<f64>| {
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let stretches: Vec<f64> = served.clone().filter_map(|s| s.stretch).collect();
        let alone = served.clone().filter_map(|s| Some(s.turnaround? / s.stretch?));
        let (alone, together) = (
            alone.sum::<f64>(),
            served
                .clone()
                .filter(|s| s.stretch.is_some())
                .filter_map(|s| s.turnaround)
                .sum::<f64>(),
        );
        let mean_stretch = mean(stretches.clone());
        let count = served.clone().count();
        let successes = served.clone().filter(|s| s.success);
        Totals {
            overall_makespan: served.clone().filter_map(|s| s.finish).fold(0.0, f64::max),
            mean_makespan: mean(served.clone().filter_map(|s| s.makespan).collect()),
            mean_turnaround: mean(served.clone().filter_map(|s| s.turnaround).collect()),
            mean_ttr: mean(served.clone().filter_map(|s| s.ttr).collect()),
            max_stretch: stretches.iter().copied().reduce(f64::max),
            scaled_completion: (alone > 0.0).then(|| together / alone),
            unfairness: mean_stretch.map(|m| stretches.iter().map(|s| (s - m).abs()).sum()),
            mean_stretch,
            success_rate: 100.0 * successes.clone().count() as f64 / count.max(1) as f64,
            // An empty sum of floats is -0, which would be printed.
            total_cost: 0.0 + successes.map(|s| s.cost).sum::<f64>(),
            spent: served.map(|s| s.cost).sum(),
        }
    }
}

/// A policy beside others over the same workflows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Beside {
    /// Per workflow: the least turnaround of all policies over its own; 1 is best (NTT).
    pub ntt: Vec<Option<f64>>,
    /// Share of the workflows it serves first, ties counting for all, per cent.
    pub wins: f64,
    /// Per workflow: how much less than the largest turnaround its own is (TT_imp).
    pub tt_imp: Vec<Option<f64>>,
    /// Its total cost over the largest of all.
    pub profit: Option<f64>,
}

/// Compares policies over the same workflows: one entry per policy.
pub fn beside(runs: &[Vec<Served>]) -> Vec<Beside> {
    let workflows = runs.iter().map(Vec::len).max().unwrap_or(0);
    let took = |run: &[Served], w: usize| run.get(w).and_then(|s| s.turnaround);
    let all = |w: usize| runs.iter().filter_map(move |r| took(r, w));
    let least: Vec<f64> = (0..workflows).map(|w| all(w).fold(f64::INFINITY, f64::min)).collect();
    let most: Vec<f64> = (0..workflows).map(|w| all(w).fold(0.0, f64::max)).collect();
    let costs: Vec<f64> = runs.iter().map(|r| Totals::of(r.iter()).total_cost).collect();
    let largest = costs.iter().copied().fold(0.0, f64::max);
    let over = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 1.0 };
    let one = |(run, cost): (&Vec<Served>, &f64)| {
        let mine: Vec<Option<f64>> = (0..workflows).map(|w| took(run, w)).collect();
        let of_each = || mine.iter().zip(&least).zip(&most).map(|((m, l), h)| (*m, *l, *h));
        let won = of_each().filter(|(m, l, _)| m.is_some_and(|m| approx::le(m, *l))).count();
        Beside {
            ntt: of_each().map(|(m, l, _)| m.map(|m| over(l, m))).collect(),
            wins: 100.0 * won as f64 / workflows.max(1) as f64,
            tt_imp: of_each().map(|(m, _, h)| m.map(|m| 1.0 - over(m, h))).collect(),
            profit: (largest > 0.0).then(|| cost / largest),
        }
    };
    runs.iter().zip(&costs).map(one).collect()
}
