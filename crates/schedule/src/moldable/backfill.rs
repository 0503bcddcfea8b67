//! Conservative backfilling: tasks of a finished schedule move into earlier holes if no other task has to wait
//! for it.

use super::machines::Machines;
use super::mapping::{edge_arrival, inputs_arrival};
use slackline_model::{Placement, ProcId, Schedule, TaskId, approx};

/// Moves the tasks, in the order given, each to the earliest date at which its parents have ended,
/// their data is there and enough processors of its cluster are free for as long as it takes; the
/// lowest free ones. A task stays where it is if a child would no longer have its data in time.
pub(crate) fn backfill(machines: &Machines<'_, '_>, schedule: &mut Schedule, order: &[TaskId]) {
    let mut busy = Busy::new(machines, schedule);
    for &task in order {
        let Some(old) = schedule.placement(task).cloned() else { continue };
        busy.remove(&old);
        let better = earlier(machines, schedule, &busy, task, &old);
        let placement = better.unwrap_or(old);
        busy.add(&placement);
        schedule.place(task, placement);
    }
}

/// The earliest place of a task that is sooner than the one it has.
fn earlier(
    machines: &Machines<'_, '_>,
    schedule: &Schedule,
    busy: &Busy,
    task: TaskId,
    old: &Placement,
) -> Option<Placement> {
    let problem = machines.problem;
    let workflow = problem.workflow();
    let parents = || {
        let known = |(parent, edge)| Some((schedule.placement(parent)?, edge));
        workflow.predecessors(task).filter_map(known)
    };
    let ready = parents().map(|(p, _)| p.finish).fold(problem.release(task), f64::max);
    let (width, seconds) = (old.procs().len(), old.seconds());
    let pools = pools(machines, task, old);
    let mut dates: Vec<f64> = vec![ready];
    for &proc in pools.iter().flatten() {
        dates.extend(busy.ends(proc).filter(|&end| end > ready && end < old.start));
    }
    dates.sort_by(f64::total_cmp);
    dates.dedup();
    for date in dates.into_iter().filter(|&date| approx::lt(date, old.start)) {
        for pool in &pools {
            let free = |from: f64| move |p: &&ProcId| busy.is_free(**p, from, from + seconds);
            let procs: Vec<ProcId> = pool.iter().filter(free(date)).take(width).copied().collect();
            if procs.len() < width {
                continue;
            }
            let arrival = |(source, edge)| edge_arrival(machines, edge, source, &procs);
            let inputs = inputs_arrival(machines, task, &procs);
            let start = parents().map(arrival).fold(date.max(inputs), f64::max);
            if !approx::lt(start, old.start) || !procs.iter().all(|p| free(start)(&p)) {
                continue;
            }
            let new = Placement::wide(&procs, start, start + seconds);
            let in_time = |(child, edge)| {
                schedule.placement(child).is_none_or(|placed| {
                    let there = edge_arrival(machines, edge, &new, placed.procs());
                    approx::le(there, placed.start)
                })
            };
            if workflow.successors(task).all(in_time) {
                return Some(new);
            }
        }
    }
    None
}

/// The sets of processors of which a task may take any: its cluster, or each host of it.
fn pools(machines: &Machines<'_, '_>, task: TaskId, old: &Placement) -> Vec<Vec<ProcId>> {
    let home = machines.clusters.iter().find(|c| c.procs.binary_search(&old.proc()).is_ok());
    let Some(cluster) = home else { return Vec::new() };
    if machines.problem.workflow().spreads(task) || old.procs().len() == 1 {
        return vec![cluster.procs.clone()];
    }
    let on =
        |host| cluster.procs.iter().copied().filter(move |&p| machines.problem.host_of(p) == host);
    cluster.hosts.iter().map(|&(host, _)| on(host).collect()).collect()
}

/// When processors are busy.
struct Busy {
    /// Per processor: (from, to), sorted; before the first one it may not be there yet.
    spans: Vec<Vec<(f64, f64)>>,
    from: Vec<f64>,
}

impl Busy {
    fn new(machines: &Machines<'_, '_>, schedule: &Schedule) -> Busy {
        let problem = machines.problem;
        let from = problem.proc_ids().map(|p| problem.available_from(p)).collect();
        let mut busy = Busy { spans: vec![Vec::new(); problem.procs()], from };
        for placement in schedule.placements.iter().flatten() {
            busy.add(placement);
        }
        busy
    }

    fn add(&mut self, placement: &Placement) {
        for proc in placement.procs() {
            let spans = &mut self.spans[proc.index()];
            let at = spans.partition_point(|s| *s < (placement.start, placement.finish));
            spans.insert(at, (placement.start, placement.finish));
        }
    }

    fn remove(&mut self, placement: &Placement) {
        for proc in placement.procs() {
            let spans = &mut self.spans[proc.index()];
            if let Some(at) = spans.iter().position(|s| *s == (placement.start, placement.finish)) {
                spans.remove(at);
            }
        }
    }

    fn ends(&self, proc: ProcId) -> impl Iterator<Item = f64> + '_ {
        let from = self.from[proc.index()];
        self.spans[proc.index()].iter().map(|s| s.1).chain([from])
    }

    fn is_free(&self, proc: ProcId, start: f64, finish: f64) -> bool {
        approx::le(self.from[proc.index()], start)
            && self.spans[proc.index()]
                .iter()
                .all(|s| approx::le(s.1, start) || approx::le(finish, s.0) || s.0 == s.1)
    }
}
