//! Tasks of several processors in a schedule in the making: on one host, or, where that is too
//! narrow for a task that may spread, on several hosts of one cluster, a class of equal machines.

use super::Timeline;
use super::partial::{Partial, Slot, UNPLACED};
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

    /// Whether some host is too narrow for a task that may lie on several.
    pub(super) fn may_span(&self, problem: &Problem<'_>, task: TaskId) -> bool {
        let workflow = problem.workflow();
        workflow.spreads(task) && workflow.width(task).0 as usize > self.narrowest
    }

    /// The processors among which a task has its own where this host alone is too narrow for it.
    pub(super) fn over(
        &self,
        problem: &Problem<'_>,
        task: TaskId,
        host: HostId,
    ) -> Option<&[ProcId]> {
        let narrow = problem.workflow().width(task).0 as usize > problem.procs_of(host).len();
        let cluster = self.cluster_of[host.index()] as usize;
        (narrow && self.may_span(problem, task)).then(|| self.clusters[cluster].as_slice())
    }
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
    /// The hosts that stand for the places of a wide task: every host with room for it, and one
    /// for each cluster whose hosts are too narrow.
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
            return self.together(procs, width, (ready, seconds), earliest);
        };
        let parents = self.problem.workflow().predecessors(task);
        let mut from =
            parents.map(|(p, _)| self.finish[p.index()]).fold(self.problem.release(task), f64::max);
        // Other processors may be idle by the time the data is there: no set is looked at twice.
        loop {
            let procs = cluster.iter().copied();
            let start = self.together(procs.clone(), width, (from, seconds), earliest);
            if start.is_infinite() {
                return start;
            }
            let chosen = self.idle_at(procs, width, (start, seconds), earliest);
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
            Some(procs) => self.idle_at(procs.iter().copied(), width, when, &earliest),
            None => {
                let procs = self.problem.procs_of(host).map(ProcId);
                self.idle_at(procs, width, when, &earliest)
            }
        }
    }
}
