//! Schedules against pools and windows: what is exceeded where and when, and which devices each task
//! gets.

use super::{Placement, Schedule, Violation};
use crate::approx;
use crate::ids::{HostId, TaskId};
use crate::platform::Host;
use crate::problem::{PoolId, Problem, Scope};
use crate::resources::{DeviceKind, Devices};
use crate::workflow::Workflow;
use std::collections::BTreeSet;
use std::collections::HashSet;

/// Amounts that placed tasks hold, with begin and end of each, by pool.
fn holdings(problem: &Problem<'_>, schedule: &Schedule) -> Vec<Vec<(TaskId, f64, f64, u64)>> {
    let pools = problem.pools();
    let mut held = vec![Vec::new(); pools.all().len()];
    if held.is_empty() {
        return held;
    }
    for task in problem.workflow().tasks() {
        let Some(placement) = schedule.placement(task) else { continue };
        // A task of no duration holds nothing.
        if placement.finish > placement.start {
            for (pool, amount) in problem.uses(task, placement.procs()) {
                held[pool as usize].push((task, placement.start, placement.finish, amount));
            }
        }
    }
    held
}

/// Whether no pool and no window is exceeded.
pub fn keeps_pools(problem: &Problem<'_>, schedule: &Schedule) -> bool {
    exceeded(problem, schedule).is_empty() && outside_windows(problem, schedule).is_empty()
}

/// Sets of tasks that together hold more than there is, each with the first date at which it does.
pub(super) fn exceeded(problem: &Problem<'_>, schedule: &Schedule) -> Vec<Violation> {
    let mut found = Vec::new();
    for (pool, mut held) in holdings(problem, schedule).into_iter().enumerate() {
        held.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        found.extend(exceeded_in(problem, pool as PoolId, &held));
    }
    found
}

/// One sweep over the begins of tasks: use rises nowhere else.
fn exceeded_in(
    problem: &Problem<'_>,
    pool: PoolId,
    held: &[(TaskId, f64, f64, u64)],
) -> Vec<Violation> {
    let of = &problem.pools().all()[pool as usize];
    let mut by_end: Vec<usize> = (0..held.len()).collect();
    by_end.sort_by(|&a, &b| held[a].2.total_cmp(&held[b].2));
    let (mut ended, mut sum) = (0, 0u64);
    let mut running: BTreeSet<usize> = BTreeSet::new();
    let mut known: HashSet<Vec<TaskId>> = HashSet::new();
    let mut found = Vec::new();
    let mut next = 0;
    while next < held.len() {
        let date = held[next].1;
        // All that begin at this date, but for rounding.
        while next < held.len() && approx::le(held[next].1, date) {
            running.insert(next);
            sum += held[next].3;
            next += 1;
        }
        while ended < held.len() && approx::le(held[by_end[ended]].2, date) {
            if running.remove(&by_end[ended]) {
                sum -= held[by_end[ended]].3;
            }
            ended += 1;
        }
        if sum <= of.capacity {
            continue;
        }
        let mut tasks: Vec<TaskId> = running.iter().map(|&at| held[at].0).collect();
        tasks.sort_unstable();
        if !known.insert(tasks.clone()) {
            continue;
        }
        let name = |t: &TaskId| format!("'{}'", problem.workflow().task_name(*t));
        found.push(Violation::Pool {
            tasks: tasks.iter().map(name).collect::<Vec<_>>().join(", "),
            pool: of.name.to_string(),
            place: problem.pools().place(pool, problem.platform()),
            at: date,
            sum: of.unit.show(sum),
            capacity: of.unit.show(of.capacity),
        });
    }
    found
}

/// Tasks that run outside the windows of their hosts.
pub(super) fn outside_windows(problem: &Problem<'_>, schedule: &Schedule) -> Vec<Violation> {
    let pools = problem.pools();
    let mut found = Vec::new();
    if !pools.has_windows() {
        return found;
    }
    for task in problem.workflow().tasks() {
        let Some(Placement { start, finish, .. }) = schedule.placement(task) else { continue };
        let Some(placement) = schedule.placement(task) else { continue };
        for host in problem.hosts_of(placement.procs()) {
            let windows = pools.windows(host);
            let inside = |w: &(f64, f64)| approx::le(w.0, *start) && approx::le(*finish, w.1);
            if !windows.is_empty() && !windows.iter().any(inside) {
                let host = problem.platform().host(host).name.to_string();
                let task = problem.workflow().task_name(task).to_string();
                found.push(Violation::Window { task, host, start: *start, finish: *finish });
            }
        }
    }
    found
}

/// Devices of a host that a task demands there: position of the kind and number.
fn demanded(workflow: &Workflow, task: TaskId, host: &Host) -> Vec<(usize, u32)> {
    let Some(own) = host.resources.as_deref() else { return Vec::new() };
    let Some(gpus) = workflow.demand(task).and_then(|d| d.gpus.as_ref()) else {
        return Vec::new();
    };
    match gpus {
        Devices::Any(count) => {
            let holds = |kind: &DeviceKind| kind.capacity() >= u64::from(*count);
            let at = own.gpus.iter().position(holds);
            at.into_iter().map(|at| (at, *count)).collect()
        }
        Devices::Kinds(kinds) => {
            let at = |name: &str| own.gpus.iter().position(|kind| *kind.name == *name);
            kinds.iter().filter_map(|(name, count)| Some((at(name)?, *count))).collect()
        }
    }
}

/// The first id of every kind of devices of a host; ids count through its kinds.
fn first_ids(host: &Host) -> Vec<u32> {
    let kinds = host.resources.iter().flat_map(|own| &own.gpus);
    let mut next = 0;
    kinds
        .map(|kind| {
            next += kind.count;
            next - kind.count
        })
        .collect()
}

/// The devices of one host that are in use.
#[derive(Clone, Debug, Default)]
pub struct DevicesInUse {
    /// Per id: how many tasks hold it.
    held: Vec<u32>,
}

impl DevicesInUse {
    /// Gives a task the lowest ids that are free, as many of each kind as it demands.
    pub fn take(&mut self, workflow: &Workflow, task: TaskId, host: &Host) -> Vec<u32> {
        let first = first_ids(host);
        let kinds: Vec<&DeviceKind> = host.resources.iter().flat_map(|own| &own.gpus).collect();
        let mut ids = Vec::new();
        for (kind, count) in demanded(workflow, task, host) {
            let range = first[kind]..first[kind] + kinds[kind].count;
            self.held.resize(self.held.len().max(range.end as usize), 0);
            for _ in 0..count {
                let free = |id: &u32| self.held[*id as usize] < kinds[kind].slots;
                let Some(id) = range.clone().find(free) else { break };
                self.held[id as usize] += 1;
                ids.push(id);
            }
        }
        ids
    }

    /// The task that held these ids has ended.
    pub fn give_back(&mut self, ids: &[u32]) {
        for &id in ids {
            if let Some(held) = self.held.get_mut(id as usize) {
                *held = held.saturating_sub(1);
            }
        }
    }
}

/// The devices that every task gets, host by host: as the schedule says, else by rising start (equal ones: the lower task first),
/// each the lowest ids that are free. Empty where no task demands any.
pub fn devices(problem: &Problem<'_>, schedule: &Schedule) -> Vec<Vec<u32>> {
    let workflow = problem.workflow();
    if !schedule.devices.is_empty() {
        let mut given = vec![Vec::new(); workflow.len()];
        for (task, ids) in &schedule.devices {
            given[task.index()].clone_from(ids);
        }
        return given;
    }
    let demands = |t: &TaskId| workflow.demand(*t).is_some_and(|d| d.gpus.is_some());
    if !workflow.has_demands() || !workflow.tasks().any(|t| demands(&t)) {
        return Vec::new();
    }
    let mut order: Vec<(TaskId, &Placement)> = workflow
        .tasks()
        .filter(demands)
        .filter_map(|t| Some((t, schedule.placement(t)?)))
        .filter(|(_, p)| p.finish > p.start)
        .collect();
    order.sort_by(|a, b| a.1.start.total_cmp(&b.1.start).then(a.0.cmp(&b.0)));
    let mut in_use = vec![DevicesInUse::default(); problem.platform().hosts().len()];
    let mut given: Vec<Vec<u32>> = vec![Vec::new(); workflow.len()];
    // What has not ended yet, by host.
    let mut held: Vec<(f64, HostId, Vec<u32>)> = Vec::new();
    for (task, placement) in order {
        held.retain(|(finish, host, ids)| {
            let over = approx::le(*finish, placement.start);
            if over {
                in_use[host.index()].give_back(ids);
            }
            !over
        });
        for host in problem.hosts_of(placement.procs()) {
            let ids = in_use[host.index()].take(workflow, task, problem.platform().host(host));
            given[task.index()].extend(&ids);
            held.push((placement.finish, host, ids));
        }
    }
    given
}

/// Returns the errors in the assignment of devices.
pub(super) fn wrong_devices(problem: &Problem<'_>, schedule: &Schedule) -> Vec<Violation> {
    let mut found = Vec::new();
    let workflow = problem.workflow();
    // Per host and id: the tasks that hold it, with their times.
    let mut holders: Vec<Vec<Vec<(TaskId, f64, f64)>>> =
        vec![Vec::new(); problem.platform().hosts().len()];
    for (task, ids) in &schedule.devices {
        let (Some(placement), name) = (schedule.placement(*task), workflow.task_name(*task)) else {
            continue;
        };
        let hosts = problem.hosts_of(placement.procs());
        let mut wrong = |why: String| {
            let (task, ids) = (name.to_string(), format!("{ids:?}"));
            found.push(Violation::Devices { task, ids, why });
        };
        // Ids of a task over several hosts are those of one host after those of another.
        let mut left = ids.as_slice();
        for id in hosts {
            let host = problem.platform().host(id);
            let (first, wanted) = (first_ids(host), demanded(workflow, *task, host));
            let count: u32 = wanted.iter().map(|(_, count)| count).sum();
            let (own, rest) = left.split_at(left.len().min(count as usize));
            left = rest;
            for (kind, count) in wanted {
                let of = &host.resources.iter().flat_map(|own| &own.gpus).nth(kind);
                let range = first[kind]..first[kind] + of.map_or(0, |kind| kind.count);
                let given = own.iter().filter(|id| range.contains(id)).count();
                if given != count as usize {
                    let label = of.map_or("", |kind| &kind.name);
                    wrong(format!("it needs {count} of {label} of '{}'", host.name));
                }
            }
            let lines = &mut holders[id.index()];
            for &device in own.iter().filter(|_| placement.finish > placement.start) {
                lines.resize(lines.len().max(device as usize + 1), Vec::new());
                lines[device as usize].push((*task, placement.start, placement.finish));
            }
        }
        if !left.is_empty() {
            wrong("it needs fewer".to_string());
        }
    }
    for (host, lines) in problem.platform().hosts().iter().zip(&mut holders) {
        let kinds: Vec<&DeviceKind> = host.resources.iter().flat_map(|own| &own.gpus).collect();
        let slots_of = |id: usize| {
            let mut next = 0;
            let kind = kinds.iter().find(|kind| {
                next += kind.count as usize;
                id < next
            });
            kind.map_or(0, |kind| kind.slots)
        };
        for (id, line) in lines.iter_mut().enumerate() {
            line.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            for (at, (task, start, _)) in line.iter().enumerate() {
                let runs = |other: &&(TaskId, f64, f64)| approx::lt(*start, other.2);
                let before = line[..at].iter().filter(runs).count() as u32;
                if before >= slots_of(id).max(1) {
                    let task = workflow.task_name(*task).to_string();
                    let why = format!("device {id} of '{}' is taken at {start}", host.name);
                    found.push(Violation::Devices { task, ids: format!("[{id}]"), why });
                }
            }
        }
    }
    found
}

/// Use of a pool over time: dates at which it changes, and the sum from then on.
pub fn use_over_time(problem: &Problem<'_>, schedule: &Schedule, pool: PoolId) -> Vec<(f64, u64)> {
    let held = holdings(problem, schedule);
    let Some(held) = held.get(pool as usize) else { return Vec::new() };
    let mut changes: Vec<(f64, bool, u64)> = Vec::new();
    for &(_, start, finish, amount) in held {
        changes.push((start, true, amount));
        changes.push((finish, false, amount));
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut sum, mut line) = (0u64, Vec::new());
    for (date, begins, amount) in changes {
        sum = if begins { sum + amount } else { sum.saturating_sub(amount) };
        match line.last_mut() {
            Some((last, level)) if *last == date => *level = sum,
            _ => line.push((date, sum)),
        }
    }
    line
}

/// The pool of that name on a host, or shared by it; for pictures.
pub fn pool_named(problem: &Problem<'_>, name: &str, host: Option<HostId>) -> Vec<PoolId> {
    let named = |(_, pool): &(usize, &crate::problem::Pool)| {
        *pool.name == *name
            && match (&pool.scope, host) {
                (Scope::Host(own), Some(host)) => *own == host,
                _ => true,
            }
    };
    let all = problem.pools().all().iter().enumerate().filter(named);
    all.map(|(id, _)| id as PoolId).collect()
}
