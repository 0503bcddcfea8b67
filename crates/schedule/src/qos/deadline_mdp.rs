//! Deadline-MDP (Yu, Buyya, Tham, e-Science 2005), from general knowledge.
//!
//! Every task has a part of the deadline: the share that the longest path through it, at least times and
//! mean transfers, has passed when it ends. Tasks with one parent and one child at most form branches; for a
//! branch the kinds of machines of least cost are found that fit its time, by dynamic programming over 200
//! steps of it (the original solves a Markov decision process). Tasks that synchronise branches take the
//! cheapest processor that meets their part. By falling upward rank, each task goes where it finishes first on
//! its kind; one that nothing meets, where it finishes first. O(v + e + 200 v k + e p). Ties: earlier finish,
//! lower processor. Without a deadline: the cheapest plan.

use super::{PricedSlot, QosContext, cheapest, choice};
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use slackline_model::{Problem, Schedule, TaskId, approx};

/// Registry entry.
pub const DEADLINE_MDP: Algorithm = Algorithm {
    name: "deadline-mdp",
    family: Family::Qos,
    basis: Basis::Recalled,
    about: "deadline shared out over branches, each at the least cost that fits",
    source: "Yu, Buyya, Tham, e-Science 2005",
    complexity: "O(v k + e p)",
    parameters: &[],
    needs: &[Need::Deadline],
    plan,
};

/// Steps into which the time of a branch is divided.
const STEPS: usize = 200;

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let course = QosContext::new(problem, request);
    if course.deadline.is_infinite() {
        return cheapest::plan(problem);
    }
    let ends = parts(&course);
    let mut kinds: Vec<Option<usize>> = vec![None; problem.tasks()];
    course.place(|_, task, offers| {
        if is_simple(problem, task) && kinds[task.index()].is_none() {
            let branch = branch_from(problem, task);
            let begin = offers.iter().map(|o| o.slot.start).fold(f64::INFINITY, f64::min);
            let end = branch.last().map_or(begin, |t| ends[t.index()]);
            for (task, kind) in branch.iter().zip(cheapest_kinds(&course, &branch, end - begin)) {
                kinds[task.index()] = Some(kind);
            }
        }
        let on_kind = |o: &PricedSlot| {
            kinds[task.index()].is_none_or(|k| course.prices.kind_of(o.slot.proc) == k)
        };
        choose(offers, ends[task.index()], kinds[task.index()].is_some(), on_kind)
    })
}

/// The latest end that each task should have.
fn parts(course: &QosContext<'_, '_>) -> Vec<f64> {
    let problem = course.problem;
    let workflow = problem.workflow();
    let exec = |t: TaskId| match problem.state().fixed(t) {
        None => problem.best_exec(t),
        Some(_) => 0.0,
    };
    let transfer = |edge| problem.mean_edge_transfer(edge);
    let (above, below) =
        (workflow.top_levels(exec, transfer), workflow.bottom_levels(exec, transfer));
    let now = problem.state().now;
    let part = |t: TaskId| {
        let (passed, all) = (above[t.index()] + exec(t), above[t.index()] + below[t.index()]);
        let share = if all > 0.0 { passed / all } else { 1.0 };
        now + (course.deadline - now).max(0.0) * share
    };
    workflow.tasks().map(part).collect()
}

/// One parent and one child at most.
fn is_simple(problem: &Problem<'_>, task: TaskId) -> bool {
    let workflow = problem.workflow();
    workflow.predecessors(task).count() <= 1 && workflow.successors(task).count() <= 1
}

/// The simple tasks that follow each other from here.
fn branch_from(problem: &Problem<'_>, first: TaskId) -> Vec<TaskId> {
    let mut branch = vec![first];
    let mut next = problem.workflow().successors(first).next();
    while let Some((task, _)) =
        next.filter(|(task, _)| is_simple(problem, *task) && problem.state().fixed(*task).is_none())
    {
        branch.push(task);
        next = problem.workflow().successors(task).next();
    }
    branch
}

/// Kinds of least total cost whose times fit; the fastest ones where nothing fits.
fn cheapest_kinds(course: &QosContext<'_, '_>, branch: &[TaskId], time: f64) -> Vec<usize> {
    let prices = &course.prices;
    let step = time / STEPS as f64;
    // Least cost of the tasks so far within so many steps, and the kind of the last one.
    let mut table: Vec<Vec<(f64, usize)>> = Vec::new();
    let mut before = vec![0.0; STEPS + 1];
    for &task in branch {
        let mut row = vec![(f64::INFINITY, usize::MAX); STEPS + 1];
        for kind in 0..prices.kinds() {
            let (seconds, cost) = (prices.seconds(task, kind), prices.cost(task, kind));
            let steps =
                if step > 0.0 { (seconds / step - approx::EPSILON).ceil() } else { f64::INFINITY };
            if !(0.0..=STEPS as f64).contains(&steps) {
                continue;
            }
            for (at, cell) in row.iter_mut().enumerate().skip(steps as usize) {
                let total = before[at - steps as usize] + cost;
                if approx::lt(total, cell.0) {
                    *cell = (total, kind);
                }
            }
        }
        before = row.iter().map(|cell| cell.0).collect();
        table.push(row);
    }
    let fastest = |task: TaskId| {
        let faster =
            |a, b| if approx::lt(prices.seconds(task, b), prices.seconds(task, a)) { b } else { a };
        (0..prices.kinds()).reduce(faster).unwrap_or(0)
    };
    if before[STEPS].is_infinite() {
        return branch.iter().map(|&task| fastest(task)).collect();
    }
    let (mut at, mut chosen) = (STEPS, Vec::new());
    for (row, &task) in table.iter().zip(branch).rev() {
        let kind = row[at].1;
        let steps = (prices.seconds(task, kind) / step - approx::EPSILON).ceil().max(0.0) as usize;
        at -= steps.min(at);
        chosen.push(kind);
    }
    chosen.reverse();
    chosen
}

/// On a kind of machine the earliest finish; else the cheapest offer in time; else the first to end.
fn choose(
    offers: &[PricedSlot],
    end: f64,
    decided: bool,
    let_in: impl Fn(&PricedSlot) -> bool,
) -> usize {
    let fits = |o: &PricedSlot| let_in(o) && (decided || approx::le(o.slot.finish, end));
    let key = |o: &PricedSlot| if decided { (o.slot.finish, 0.0) } else { (o.cost, o.slot.finish) };
    let less = |a: (f64, f64), b: (f64, f64)| {
        approx::lt(a.0, b.0) || approx::eq(a.0, b.0) && approx::lt(a.1, b.1)
    };
    let all = (0..offers.len()).filter(|&at| fits(&offers[at]));
    let best = all.reduce(|a, b| if less(key(&offers[b]), key(&offers[a])) { b } else { a });
    best.unwrap_or_else(|| choice::first(offers))
}
