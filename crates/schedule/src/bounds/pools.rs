//! Bounds from shared resources other than processors: the total demand for a resource has to fit into its
//! capacity over time, and tasks that each take more than half of a pool run one after another.

use super::interval::Window;
use crate::compact::Compact;
use slackline_model::problem::{PoolId, Pools, Scope};
use slackline_model::{HostId, Problem, TaskId};
use std::collections::BTreeMap;

/// The pools of one resource on one level: on hosts, in zones, or the platform's.
struct Family {
    pools: Vec<PoolId>,
    /// Of all of them together.
    capacity: f64,
}

fn families(pools: &Pools) -> Vec<Family> {
    let mut by_name: BTreeMap<(String, u8), Family> = BTreeMap::new();
    for id in pools.ids() {
        let pool = &pools.all()[id as usize];
        let level = match pool.scope {
            Scope::Host(_) => 0,
            Scope::Zone(_) => 1,
            Scope::Platform => 2,
        };
        let empty = || Family { pools: Vec::new(), capacity: 0.0 };
        let family = by_name.entry((pool.name.to_string(), level)).or_insert_with(empty);
        family.pools.push(id);
        family.capacity += pool.capacity as f64;
    }
    by_name.into_values().filter(|family| family.capacity > 0.0).collect()
}

/// The least that a task takes of a family, wherever it runs and however wide it is.
#[derive(Clone, Copy)]
struct Least {
    amount: f64,
    /// Amount times seconds.
    area: f64,
    seconds: f64,
    /// More than half of the pool it takes from, everywhere.
    alone: bool,
}

impl Least {
    const START: Least =
        Least { amount: f64::INFINITY, area: f64::INFINITY, seconds: f64::INFINITY, alone: true };
}

/// One host of every cost class.
fn hosts(problem: &Problem<'_>) -> Vec<(HostId, usize)> {
    let mut seen = vec![false; problem.classes()];
    let mut list = Vec::new();
    for host in problem.platform().host_ids() {
        if let Some(proc) = problem.procs_of(host).next().map(slackline_model::ProcId) {
            let class = problem.class_of(proc);
            if !std::mem::replace(&mut seen[class], true) {
                list.push((host, class));
            }
        }
    }
    list
}

/// Per task and family (`task * families + family`).
fn least(problem: &Problem<'_>, tasks: &[TaskId], families: &[Family]) -> Vec<Least> {
    let (workflow, pools) = (problem.workflow(), problem.pools());
    let mut family_of = vec![usize::MAX; pools.all().len()];
    for (at, family) in families.iter().enumerate() {
        family.pools.iter().for_each(|&pool| family_of[pool as usize] = at);
    }
    let hosts = hosts(problem);
    let mut all = Vec::with_capacity(tasks.len() * families.len());
    let mut taken = vec![(0.0, false); families.len()];
    for &task in tasks {
        let first = all.len();
        all.resize(first + families.len(), Least::START);
        let (narrowest, widest) = workflow.width(task);
        for &(host, class) in &hosts {
            let cores = problem.procs_of(host).len() as u32;
            // Over several hosts the parts held together are no less than on one.
            let most = match workflow.spreads(task) {
                true => problem.class_sizes()[class],
                false => cores,
            };
            for width in narrowest..=widest.min(most).max(narrowest) {
                let seconds = problem.exec_wide(task, class, width);
                if !seconds.is_finite() {
                    continue;
                }
                taken.fill((0.0, false));
                pools.each_use(workflow, task, (host, width, width), |pool, amount| {
                    let capacity = pools.all()[pool as usize].capacity;
                    if family_of[pool as usize] < families.len() {
                        let alone = amount.saturating_mul(2) > capacity;
                        taken[family_of[pool as usize]] = (amount as f64, alone && width <= cores);
                    }
                });
                for (least, &(amount, alone)) in all[first..].iter_mut().zip(&taken) {
                    least.amount = least.amount.min(amount);
                    least.area = least.area.min(amount * seconds);
                    least.seconds = least.seconds.min(seconds);
                    least.alone &= alone;
                }
            }
        }
        for least in &mut all[first..] {
            if least.seconds.is_infinite() {
                *least = Least { amount: 0.0, area: 0.0, seconds: 0.0, alone: false };
            }
        }
    }
    all
}

fn unfinished(problem: &Problem<'_>) -> Vec<TaskId> {
    super::unfinished(problem).collect()
}

/// Elementary steps that these bounds may take.
const EFFORT: f64 = 5e7;

fn is_too_much(problem: &Problem<'_>) -> bool {
    let workflow = problem.workflow();
    let cores = problem.platform().hosts().iter().map(|h| h.cores).max().unwrap_or(1);
    let all = problem.class_sizes().iter().copied().max().unwrap_or(1);
    let wide = |t: TaskId| {
        let most = if workflow.spreads(t) { all } else { cores };
        f64::from(workflow.width(t).1.min(most).saturating_sub(workflow.width(t).0) + 1)
    };
    let widths: f64 = workflow.tasks().map(wide).sum();
    !problem.has_pools() || widths * problem.classes() as f64 > EFFORT
}

/// All that is demanded of every resource, spread evenly; tasks that exclude each other, one after
/// another.
pub(super) fn area(problem: &Problem<'_>) -> f64 {
    if is_too_much(problem) {
        return 0.0;
    }
    let families = families(problem.pools());
    let tasks = unfinished(problem);
    let least = least(problem, &tasks, &families);
    let mut bound = 0.0f64;
    for (at, family) in families.iter().enumerate() {
        let mine = || least.iter().skip(at).step_by(families.len());
        let area: f64 = mine().map(|least| least.area).sum();
        let alone: f64 = mine().filter(|l| l.alone).map(|least| least.seconds).sum();
        bound = bound.max(area / family.capacity).max(alone / family.pools.len() as f64);
    }
    if bound > 0.0 { problem.state().now + bound } else { 0.0 }
}

/// Sets of tasks that share something, as interval bounds see them: what each needs at least (0: it is
/// none of them), and from when what they share is there.
pub(super) fn groups(problem: &Problem<'_>, compact: &Compact) -> Vec<(Vec<f64>, Vec<f64>)> {
    if is_too_much(problem) {
        return Vec::new();
    }
    let families = families(problem.pools());
    let least = least(problem, &compact.tasks, &families);
    let now = problem.state().now;
    let mut groups = Vec::new();
    for (at, family) in families.iter().enumerate() {
        let mine = || least.iter().skip(at).step_by(families.len());
        if mine().any(|l| l.amount > 0.0) {
            let share = mine().map(|least| least.amount / family.capacity).collect();
            groups.push((share, vec![now]));
        }
        if mine().filter(|l| l.alone).count() > 1 {
            let one = mine().map(|l| if l.alone { 1.0 } else { 0.0 }).collect();
            groups.push((one, vec![now; family.pools.len()]));
        }
    }
    groups
}

/// The windows of the tasks of a group.
pub(super) fn windows(all: &[Window], group: &[f64]) -> Vec<Window> {
    let own = all.iter().zip(group).filter(|(_, share)| **share > 0.0);
    own.map(|(window, &width)| Window { width, ..*window }).collect()
}
