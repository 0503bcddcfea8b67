//! DMHEFT (Hunold, Rauber, Suter, 2008): moldable tasks that appear at run time, on clusters.
//!
//! At every end of a task the ready ones are taken by precedence level, then by falling amount
//! of work. A cluster offers a task its fair share of the idle processors, in proportion to the
//! work of the ready tasks not yet placed; the cluster with the least execution time plus longest
//! transfer from a parent wins, and there processors that a parent used are preferred. A task is postponed if
//! starting a little later on the processors that will be free by then ends it clearly sooner.
//!
//! ReP (Hunold, Rauber, Rünger, HeteroPar 2007) is what it grew from: it takes the cluster with most idle power,
//! ignores transfers and never waits.
//!
//! A cluster is a class of machines of the platform; tasks that spread may span its hosts, others
//! see each host as a cluster of its own.
//! O(ready x processors) per call. Ties: lower task, lower cluster, lower processor.

use crate::policy::{Decision, Event, Policy};
use crate::ready_dispatch;
use crate::room::{self, Room};
use crate::situation::{Situation, TaskState};
use slackline_model::workflow::Shape;
use slackline_model::{ClassId, HostId, Problem, ProcId, TaskId, approx};
use std::collections::BTreeMap;

/// When a task had better wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Postponing {
    /// Latest start, as a share of the task's time now (f_max).
    pub latest: f64,
    /// By when it must then end, as a share of its time now (f_imp).
    pub improved: f64,
    /// Share of the processors free then that it may count on (f_p).
    pub share: f64,
}

impl Default for Postponing {
    fn default() -> Self {
        Postponing { latest: 0.2, improved: 0.8, share: 0.4 }
    }
}

impl Postponing {
    /// Whether to wait: the task takes `seconds(width)`, `idle` processors are free now and
    /// `then(date)` will be free a while from now.
    pub fn pays(
        &self,
        idle: usize,
        seconds: impl Fn(usize) -> f64,
        then: impl Fn(f64) -> usize,
    ) -> bool {
        let now = seconds(idle);
        let latest = self.latest * now;
        let width = (self.share * then(latest) as f64).floor() as usize;
        width > 0 && !approx::lt(self.improved * now, latest + seconds(width))
    }
}

/// Order of ready tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queue {
    /// The lowest precedence level, then the most work.
    #[default]
    Level,
    /// The most work, then the lowest level.
    Work,
}

/// The policy; see the module's head.
#[derive(Clone, Debug)]
pub struct Dmheft {
    /// When a task had better wait; never if `None`.
    pub postponing: Option<Postponing>,
    /// Order of ready tasks.
    pub queue: Queue,
    /// Transfers from parents count when a cluster is chosen; else the one with most idle power.
    pub transfers: bool,
}

impl Default for Dmheft {
    fn default() -> Self {
        Dmheft::new()
    }
}

impl Dmheft {
    /// The policy with the published parameters.
    pub fn new() -> Dmheft {
        let postponing = Some(Postponing::default());
        Dmheft { postponing, queue: Queue::Level, transfers: true }
    }

    /// ReP.
    pub fn rep() -> Dmheft {
        Dmheft { postponing: None, queue: Queue::Work, transfers: false }
    }

    fn assign(&self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let problem = now.problem().map_err(|e| e.to_string())?;
        let mut idle = ready_dispatch::idle_procs(now);
        let levels = Shape::of(&now.workflow).level;
        let cost = |t: TaskId| now.workflow.work(t);
        let mut ready: Vec<TaskId> = now.workflow.tasks().filter(|&t| now.is_ready(t)).collect();
        ready.sort_by(|&a, &b| {
            let level = |t: TaskId| levels[t.index()];
            let (levels, works) = (level(a).cmp(&level(b)), cost(b).total_cmp(&cost(a)));
            let order = match self.queue {
                Queue::Level => levels.then(works),
                Queue::Work => works.then(levels),
            };
            order.then(a.cmp(&b))
        });
        let mut waiting: f64 = ready.iter().map(|&t| cost(t)).sum();
        let busy_until = ends(&problem, now);
        let mut room = Room::of(now);
        for task in ready {
            let share = if waiting > 0.0 { cost(task) / waiting } else { 1.0 };
            let chosen = self.choose(&problem, now, task, share, &idle);
            waiting -= cost(task);
            let Some(chosen) = chosen else { continue };
            if !room::allows(room.as_ref(), now, task, &chosen) {
                continue;
            }
            if self.waits(&problem, now, task, &chosen, &idle, &busy_until) {
                continue;
            }
            if let Some(room) = &mut room {
                room.take(now, task, &chosen);
            }
            for proc in &chosen {
                idle[proc.index()] = false;
            }
            decisions.push(Decision::Start { task, procs: chosen.into() });
        }
        Ok(())
    }

    /// The processors of the best cluster.
    fn choose(
        &self,
        problem: &Problem<'_>,
        now: &Situation,
        task: TaskId,
        share: f64,
        idle: &[bool],
    ) -> Option<Vec<ProcId>> {
        let (least, most) = now.workflow.width(task);
        let mut best: Option<(f64, Vec<ProcId>)> = None;
        for (_, mut free) in idle_clusters(now, task, idle) {
            let idle_power = free.len() as f64 / problem.exec_on(task, free[0]);
            let fair = (free.len() as f64 * share).round() as usize;
            let width = fair.clamp(least as usize, most as usize).max(1);
            if free.len() < width {
                continue;
            }
            // Stable: among equals the lower processor.
            free.sort_by_key(|p| !used_by_a_parent(now, task, *p));
            free.truncate(width);
            free.sort_unstable();
            let seconds = problem.exec_wide(task, problem.class_of(free[0]), width as u32);
            // Smaller is better.
            let worth = if self.transfers {
                seconds + longest_transfer(problem, now, task, &free)
            } else {
                -idle_power
            };
            let better = best.as_ref().is_none_or(|(b, _)| approx::lt(worth, *b));
            if seconds.is_finite() && worth < f64::INFINITY && better {
                best = Some((worth, free));
            }
        }
        best.map(|(_, procs)| procs)
    }

    fn waits(
        &self,
        problem: &Problem<'_>,
        now: &Situation,
        task: TaskId,
        chosen: &[ProcId],
        idle: &[bool],
        busy_until: &[f64],
    ) -> bool {
        let Some(postponing) = self.postponing else { return false };
        // If nothing ran, no event would call the policy again.
        if !now.tasks.iter().any(|t| matches!(t, TaskState::Running { .. })) {
            return false;
        }
        let home = cluster(now, task, chosen[0]);
        let of_cluster =
            || (0..idle.len()).map(ProcId::new).filter(move |p| cluster(now, task, *p) == home);
        let free = of_cluster().filter(|p| idle[p.index()]).count();
        let most = now.workflow.width(task).1 as usize;
        let seconds = |width: usize| {
            problem.exec_wide(task, problem.class_of(chosen[0]), width.min(most) as u32)
        };
        let then = |later: f64| {
            let by = now.now + later;
            of_cluster().filter(|p| idle[p.index()] || busy_until[p.index()] <= by).count()
        };
        postponing.pays(free, seconds, then)
    }
}

/// The processors that a task may use together: a class of machines, and of it one host if the
/// task does not spread.
type Cluster = (ClassId, Option<HostId>);

fn cluster(now: &Situation, task: TaskId, proc: ProcId) -> Cluster {
    let host = now.host_of[proc.index()];
    (now.platform.host(host).class, (!now.workflow.spreads(task)).then_some(host))
}

/// The idle processors of every cluster that has some.
fn idle_clusters(now: &Situation, task: TaskId, idle: &[bool]) -> BTreeMap<Cluster, Vec<ProcId>> {
    let mut clusters: BTreeMap<Cluster, Vec<ProcId>> = BTreeMap::new();
    for proc in (0..idle.len()).filter(|&p| idle[p]).map(ProcId::new) {
        clusters.entry(cluster(now, task, proc)).or_default().push(proc);
    }
    clusters
}

fn used_by_a_parent(now: &Situation, task: TaskId, proc: ProcId) -> bool {
    let mut parents = now.workflow.predecessors(task);
    parents.any(|(p, _)| now.task(p).procs().is_some_and(|procs| procs.contains(&proc)))
}

fn longest_transfer(problem: &Problem<'_>, now: &Situation, task: TaskId, procs: &[ProcId]) -> f64 {
    let mut longest = 0.0f64;
    for (parent, edge) in now.workflow.predecessors(task) {
        let TaskState::Done(placement) = now.task(parent) else { return f64::INFINITY };
        longest = longest.max(problem.edge_transfer(edge, placement.procs(), procs));
    }
    let staged = problem.staged_inputs(task).iter();
    let arrivals = staged.map(|&file| problem.arrival_at(file, procs) - now.now);
    arrivals.fold(longest, f64::max)
}

/// Per processor: when what runs there is expected to end; infinite where nothing is known.
fn ends(problem: &Problem<'_>, now: &Situation) -> Vec<f64> {
    let mut ends = vec![f64::INFINITY; now.host_of.len()];
    for task in now.workflow.tasks() {
        if let TaskState::Running { procs, .. } = now.task(task)
            && let Some(placement) = problem.state().fixed(task)
        {
            for proc in procs {
                ends[proc.index()] = placement.finish;
            }
        }
    }
    ends
}

impl Policy for Dmheft {
    fn wants(&mut self, events: &[Event], _now: &Situation) -> bool {
        events.iter().any(ready_dispatch::worth_a_look)
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        ready_dispatch::when_idle(events, now, decisions, |now, decisions| {
            self.assign(now, decisions)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_waits_only_for_a_clear_gain() {
        // Serial share 0.1, one second on one processor, two idle: 0.55 s now, so it would start
        // by 0.11 and must end by 0.44.
        let seconds = |width: usize| 0.1 + 0.9 / width as f64;
        let pays = |later: usize| Postponing::default().pays(2, seconds, |_| later);
        assert!(pays(20)); // on 8: 0.11 + 0.2125
        assert!(!pays(5)); // on 2: 0.11 + 0.55
        assert!(!pays(2)); // on none
    }
}
