//! Tasks of several processors in a schedule in the making: on one host, or, where that is too
//! narrow for a task that may spread, on several hosts of one cluster, a class of equal machines.

use super::Timeline;
use super::partial::{Partial, Slot, UNPLACED, beside};
use crate::pools::Takes;
use slackline_model::{EdgeId, HostId, Placement, Problem, ProcId, TaskId};
use std::collections::HashMap;

/// The clusters of a problem in which some task is wider than a host.
#[derive(Clone)]
pub(super) struct Spans {
    /// By host.
    cluster_of: Vec<u32>,
    clusters: Vec<Vec<ProcId>>,
    /// Cores of the smallest host.
    narrowest: usize,
}

impl Spans {
    /// None where every host has room for every task that may spread.
    pub(super) fn new(problem: &Problem<'_>) -> Option<Spans> {
        let hosts = problem.platform().host_ids();
        let narrowest = hosts.map(|h| problem.procs_of(h).len()).filter(|&n| n > 0).min()?;
        let mut spans = Spans { cluster_of: Vec::new(), clusters: Vec::new(), narrowest };
        if !problem.workflow().tasks().any(|t| spans.may_span(problem, t)) {
            return None;
        }
        let mut known = HashMap::new();
        for host in problem.platform().host_ids() {
            let procs = problem.procs_of(host).map(ProcId);
            let cost = procs.clone().next().map(|p| problem.class_of(p));
            let key = (problem.platform().host(host).class, cost);
            let cluster = *known.entry(key).or_insert(spans.clusters.len());
            if cluster == spans.clusters.len() {
                spans.clusters.push(Vec::new());
            }
            spans.clusters[cluster].extend(procs);
            spans.cluster_of.push(cluster as u32);
        }
        Some(spans)
    }

    /// Whether some host is too narrow for a task that may span several.
    pub(super) fn may_span(&self, problem: &Problem<'_>, task: TaskId) -> bool {
        let workflow = problem.workflow();
        workflow.spreads(task)
            && (workflow.width(task).0 as usize > self.narrowest || !fits_everywhere(problem, task))
    }

    /// The processors among which a task has its own where this host alone is too narrow for it.
    pub(super) fn over(
        &self,
        problem: &Problem<'_>,
        task: TaskId,
        host: HostId,
    ) -> Option<&[ProcId]> {
        let workflow = problem.workflow();
        let narrow = workflow.width(task).0 as usize > problem.procs_of(host).len()
            || !problem.pools().fits(workflow, problem.platform(), task, host);
        let cluster = self.cluster_of[host.index()] as usize;
        (narrow && self.may_span(problem, task)).then(|| self.clusters[cluster].as_slice())
    }
}

/// Whether every computing host alone has room for a task in its empty pools.
fn fits_everywhere(problem: &Problem<'_>, task: TaskId) -> bool {
    let (workflow, platform) = (problem.workflow(), problem.platform());
    let width = workflow.width(task).0;
    let mut hosts = platform.host_ids().filter(|&h| !problem.procs_of(h).is_empty());
    !problem.has_pools() || hosts.all(|h| problem.pools().fit(workflow, task, (h, width, width)))
}

/// By host: a number for those whose slots change when something is placed on one of them; all of a
/// cluster where tasks span hosts.
pub(super) fn neighbourhoods(problem: &Problem<'_>) -> Vec<u32> {
    match Spans::new(problem) {
        Some(spans) => spans.cluster_of,
        None => (0..problem.platform().hosts().len() as u32).collect(),
    }
}

impl<'a, 'p> Partial<'a, 'p> {
    /// The hosts that represent the places of a wide task: every host with room for it, and one for each
    /// cluster whose hosts are too narrow.
    pub(super) fn anchors(&self, task: TaskId) -> impl Iterator<Item = HostId> + use<'_, 'a, 'p> {
        let first = move |host: &HostId| match self.cluster(task, *host) {
            Some(procs) => procs.first() == Some(&ProcId(self.problem.procs_of(*host).start)),
            None => true,
        };
        let computes = |host: &HostId| !self.problem.procs_of(*host).is_empty();
        self.problem.platform().host_ids().filter(computes).filter(first)
    }

    /// The processors of a cluster among which a task takes its own, where a host alone is too
    /// narrow for it.
    pub(super) fn cluster(&self, task: TaskId, host: HostId) -> Option<&[ProcId]> {
        self.spans.as_ref()?.over(self.problem, task, host)
    }

    /// Earliest time at which as many processors of a host as a task needs are idle together, for
    /// one that is `(ready, seconds)`; or of its cluster, with its data there.
    pub(super) fn earliest_wide(
        &self,
        task: TaskId,
        host: HostId,
        (ready, seconds): (f64, f64),
        earliest: &impl Fn(&Timeline, ProcId, f64, f64) -> f64,
    ) -> f64 {
        let width = self.problem.workflow().width(task).0 as usize;
        let Some(cluster) = self.cluster(task, host) else {
            let procs = self.problem.procs_of(host).map(ProcId);
            let Some(pools) = &self.pools else {
                return self.together(procs, width, (ready, seconds), earliest);
            };
            let mut takes = Takes::default();
            pools.takes(self.problem, task, (host, width as u32, width as u32), &mut takes);
            return beside(pools, &takes, (ready, seconds), |from| {
                self.together(procs.clone(), width, (from, seconds), earliest)
            });
        };
        let parents = self.problem.workflow().predecessors(task);
        let mut from =
            parents.map(|(p, _)| self.finish[p.index()]).fold(self.problem.release(task), f64::max);
        // Other processors may be idle by the time the data is there: no set is tried twice.
        loop {
            let procs = cluster.iter().copied();
            let start = self.together(procs.clone(), width, (from, seconds), earliest);
            if start.is_infinite() {
                return start;
            }
            let chosen = self.chosen(task, procs, (start, seconds), earliest);
            if chosen.len() < width {
                // Too few of the idle ones have room in their pools: others may have, later.
                from = self.next_opening(task, cluster, start);
                if from.is_infinite() {
                    return from;
                }
                continue;
            }
            let there = self.arrival_at(task, &chosen);
            if there <= start {
                return start;
            }
            from = there;
        }
    }

    /// Earliest time at which so many of some processors are idle together.
    fn together(
        &self,
        procs: impl Iterator<Item = ProcId> + Clone,
        width: usize,
        (ready, seconds): (f64, f64),
        earliest: &impl Fn(&Timeline, ProcId, f64, f64) -> f64,
    ) -> f64 {
        let mut start = ready;
        let mut starts: Vec<f64> = Vec::new();
        loop {
            let from = |p: ProcId| earliest(&self.timelines[p.index()], p, start, seconds);
            starts.clear();
            starts.extend(procs.clone().map(from));
            starts.sort_by(f64::total_cmp);
            let Some(&together) = starts.get(width - 1) else { return f64::INFINITY };
            // Each pass moves to a later gap of some processor, so this ends.
            if together <= start || together.is_infinite() {
                return together;
            }
            start = together;
        }
    }

    /// The lowest of some processors that are idle from a date on.
    fn idle_at(
        &self,
        procs: impl Iterator<Item = ProcId>,
        width: usize,
        (start, seconds): (f64, f64),
        earliest: &impl Fn(&Timeline, ProcId, f64, f64) -> f64,
    ) -> Vec<ProcId> {
        let idle = |p: &ProcId| earliest(&self.timelines[p.index()], *p, start, seconds) <= start;
        procs.filter(idle).take(width).collect()
    }

    /// The lowest of the idle processors of a cluster on whose hosts a task has room in all pools.
    fn chosen(
        &self,
        task: TaskId,
        procs: impl Iterator<Item = ProcId> + Clone,
        (start, seconds): (f64, f64),
        earliest: &impl Fn(&Timeline, ProcId, f64, f64) -> f64,
    ) -> Vec<ProcId> {
        let width = self.problem.workflow().width(task).0;
        let Some(pools) = &self.pools else {
            return self.idle_at(procs, width as usize, (start, seconds), earliest);
        };
        let mut chosen: Vec<ProcId> = Vec::new();
        let mut takes = Takes::default();
        // The host at hand, how many of its processors are chosen, and whether it is full.
        let (mut last, mut own, mut full) = (None, 0, false);
        for proc in procs {
            let host = self.problem.host_of(proc);
            if last != Some(host) {
                (last, own, full) = (Some(host), 0, false);
            }
            let line = &self.timelines[proc.index()];
            if full || earliest(line, proc, start, seconds) > start {
                continue;
            }
            pools.takes(self.problem, task, (host, own + 1, width), &mut takes);
            full = !pools.fits(&takes, start, seconds);
            if !full {
                own += 1;
                chosen.push(proc);
                if chosen.len() == width as usize {
                    break;
                }
            }
        }
        chosen
    }

    /// The first date after this one at which a processor of a cluster becomes idle or a task releases part of
    /// a pool of its hosts.
    fn next_opening(&self, task: TaskId, cluster: &[ProcId], after: f64) -> f64 {
        let Some(pools) = &self.pools else { return f64::INFINITY };
        let lines = cluster.iter().map(|proc| self.timelines[proc.index()].next_idle(after));
        let mut next = lines.fold(f64::INFINITY, f64::min);
        let width = self.problem.workflow().width(task).0;
        let mut takes = Takes::default();
        for host in self.problem.hosts_of(cluster) {
            pools.takes(self.problem, task, (host, 1, width), &mut takes);
            next = next.min(pools.next_change(&takes, after));
        }
        next
    }

    /// When the data of all placed parents and the inputs of a task are at some processors.
    fn arrival_at(&self, task: TaskId, procs: &[ProcId]) -> f64 {
        let problem = self.problem;
        let inputs = problem.staged_inputs(task).iter().map(|&f| problem.arrival_at(f, procs));
        let placed = |(parent, edge): (TaskId, EdgeId)| {
            let (host, finish) = (self.host[parent.index()], self.finish[parent.index()]);
            if host == UNPLACED {
                return 0.0;
            }
            let on_trial = [ProcId(problem.procs_of(HostId(host)).start)];
            let placement = self.schedule.placement(parent);
            let from = placement.map_or(&on_trial[..], Placement::procs);
            problem.edge_arrival(edge, finish, from, procs)
        };
        problem.workflow().predecessors(task).map(placed).chain(inputs).fold(0.0, f64::max)
    }

    /// The processors a task would take in a slot: the lowest idle ones of the host, or of its
    /// cluster.
    pub(super) fn procs_in(
        &self,
        task: TaskId,
        slot: Slot,
        earliest: impl Fn(&Timeline, ProcId, f64, f64) -> f64,
    ) -> Vec<ProcId> {
        let host = self.problem.host_of(slot.proc);
        let when = (slot.start, slot.finish - slot.start);
        let width = self.problem.workflow().width(task).0 as usize;
        match self.cluster(task, host) {
            Some(procs) => self.chosen(task, procs.iter().copied(), when, &earliest),
            None => {
                let procs = self.problem.procs_of(host).map(ProcId);
                self.idle_at(procs, width, when, &earliest)
            }
        }
    }
}
