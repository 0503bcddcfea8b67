//! Processors and dates of tasks with given widths: list mapping that gives out whole sets of processors.
//!
//! A processor is free after everything it was given before; holes are not filled (see
//! `backfill`). Of the processors that are free when the parents of a task end those freed last
//! come first, so that long idle ones stay in one piece for wide tasks; then those that are busy,
//! the soonest free first. Ties: lower processor.

use super::machines::Machines;
use crate::compact::availability;
use crate::list::ReadyList;
use crate::registry::PlanError;
use slackline_model::approx::{self, sort_key};
use slackline_model::{EdgeId, HostId, Placement, Problem, ProcId, Schedule, TaskId};

/// Cluster, width and dates at which a task could run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slot {
    pub(crate) cluster: usize,
    /// For tasks that stay on one host: which.
    host: Option<HostId>,
    pub(crate) width: u32,
    pub(crate) start: f64,
    pub(crate) finish: f64,
    /// Some of its processors are busy when the parents have ended.
    waits: bool,
}

impl Slot {
    /// Moves the slot so that it starts no earlier than a date.
    pub(crate) fn not_before(self, date: f64) -> Slot {
        let start = self.start.max(date);
        Slot { start, finish: start + (self.finish - self.start), ..self }
    }
}

/// A schedule in the making.
#[derive(Clone)]
pub(crate) struct Mapper<'m, 'a, 'p> {
    machines: &'m Machines<'a, 'p>,
    pub(crate) schedule: Schedule,
    /// The tasks in the order they were placed.
    pub(crate) placed: Vec<TaskId>,
    available: Vec<f64>,
    /// Per cluster its processors by availability.
    by_availability: Vec<Vec<ProcId>>,
    /// Data move at no cost.
    free_network: bool,
}

impl<'m, 'a, 'p> Mapper<'m, 'a, 'p> {
    /// Nothing placed but what is done or running.
    pub(crate) fn new(machines: &'m Machines<'a, 'p>) -> Self {
        let problem = machines.problem;
        let network = problem.network();
        let mut mapper = Mapper {
            machines,
            schedule: Schedule::start(problem),
            placed: Vec::new(),
            available: availability(problem).0,
            by_availability: machines.clusters.iter().map(|c| c.procs.clone()).collect(),
            free_network: network.latency.iter().all(|&l| l == 0.0)
                && network.bandwidth.iter().all(|b| b.is_infinite()),
        };
        for cluster in 0..machines.clusters.len() {
            mapper.sort(cluster);
        }
        mapper
    }

    /// Number of clusters.
    pub(crate) fn clusters(&self) -> usize {
        self.by_availability.len()
    }

    /// When the first processor of a cluster is free.
    pub(crate) fn idle_from(&self, cluster: usize) -> f64 {
        let first = self.by_availability[cluster].first();
        first.map_or(f64::INFINITY, |p| self.available[p.index()])
    }

    /// No processor is free before a date.
    pub(crate) fn hold_until(&mut self, date: f64) {
        for free in &mut self.available {
            *free = free.max(date);
        }
        (0..self.clusters()).for_each(|cluster| self.sort(cluster));
    }

    fn sort(&mut self, cluster: usize) {
        let available = &self.available;
        // Two sorted runs at most: linear.
        self.by_availability[cluster].sort_by(|a, b| {
            let key = |p: &ProcId| sort_key(available[p.index()]);
            key(a).total_cmp(&key(b)).then(a.cmp(b))
        });
    }

    /// When all parents of a task have ended.
    pub(crate) fn ready(&self, task: TaskId) -> f64 {
        let parents = self.machines.problem.workflow().predecessors(task);
        let ends = parents.filter_map(|(parent, _)| Some(self.schedule.placement(parent)?.finish));
        ends.fold(self.machines.problem.release(task), f64::max)
    }

    /// When the data of all parents is on some processors.
    fn arrival(&self, task: TaskId, ready: f64, procs: &[ProcId]) -> f64 {
        if self.free_network {
            return ready;
        }
        let parents = self.machines.problem.workflow().predecessors(task);
        let arrivals = parents.filter_map(|(parent, edge)| {
            let source = self.schedule.placement(parent)?;
            Some(edge_arrival(self.machines, edge, source, procs))
        });
        arrivals.fold(inputs_arrival(self.machines, task, procs).max(ready), f64::max)
    }

    /// The first `most` processors of a cluster in the order in which a task takes them whose
    /// parents end at `ready`.
    pub(crate) fn sequence(&self, cluster: usize, ready: f64, most: usize) -> Vec<ProcId> {
        in_order(&self.by_availability[cluster], &self.available, ready, most)
    }

    /// The processors of one host in this order.
    fn sequence_on(&self, cluster: usize, host: HostId, ready: f64, most: usize) -> Vec<ProcId> {
        let problem = self.machines.problem;
        let usable = &self.machines.clusters[cluster].procs;
        let mut procs: Vec<ProcId> = problem.procs_of(host).map(ProcId).collect();
        procs.retain(|p| usable.binary_search(p).is_ok());
        procs.sort_by(|a, b| {
            let key = |p: &ProcId| sort_key(self.available[p.index()]);
            key(a).total_cmp(&key(b)).then(a.cmp(b))
        });
        in_order(&procs, &self.available, ready, most)
    }

    /// Calls back with the slots of a task in a cluster from `most` down to its least width, except those for
    /// which `hopeless`, given the earliest possible end, returns true.
    pub(crate) fn slots(
        &self,
        task: TaskId,
        cluster: usize,
        (least, most): (u32, u32),
        hopeless: impl Fn(f64) -> bool,
        mut tell: impl FnMut(Slot),
    ) {
        let ready = self.ready(task);
        let spreads = self.machines.problem.workflow().spreads(task);
        let mut pools: Vec<(Option<HostId>, Vec<ProcId>)> = Vec::new();
        if spreads || least == 1 {
            // A task of one processor takes it anywhere.
            let most = if spreads { most } else { 1 };
            pools.push((None, self.sequence(cluster, ready, most as usize)));
        }
        if !spreads && most > 1 {
            for &(host, cores) in &self.machines.clusters[cluster].hosts {
                if cores > 1 && cores >= least {
                    pools.push((Some(host), self.sequence_on(cluster, host, ready, most as usize)));
                }
            }
        }
        for width in (least..=most).rev() {
            let seconds = self.machines.seconds(task, cluster, width);
            let mut best: Option<Slot> = None;
            for (host, procs) in &pools {
                let Some(procs) = procs.get(..width as usize) else { continue };
                let free = procs.iter().map(|p| self.available[p.index()]).fold(0.0, f64::max);
                if best.is_some_and(|b| b.start <= free) || hopeless(free.max(ready) + seconds) {
                    continue;
                }
                let start = self.arrival(task, ready, procs).max(free);
                let (finish, waits) = (start + seconds, approx::gt(free, ready));
                if best.is_none_or(|b| approx::lt(finish, b.finish)) {
                    best = Some(Slot { cluster, host: *host, width, start, finish, waits });
                }
            }
            best.into_iter().for_each(&mut tell);
        }
    }

    /// The slot of a task of one width in a cluster.
    pub(crate) fn slot(&self, task: TaskId, cluster: usize, width: u32) -> Option<Slot> {
        let mut found = None;
        self.slots(task, cluster, (width, width), |_| false, |slot| found = Some(slot));
        found
    }

    /// The slot; with `packing` narrower where the task would have to wait for processors and a narrower one
    /// starts sooner and ends no later (N'takpé, Suter, Casanova, 2007).
    pub(crate) fn packed(
        &self,
        task: TaskId,
        cluster: usize,
        width: u32,
        packing: bool,
    ) -> Option<Slot> {
        let whole = self.slot(task, cluster, width)?;
        if !packing || !whole.waits {
            return Some(whole);
        }
        let (least, _) = self.machines.widths(task, cluster)?;
        let fits = |slot: &Slot| {
            approx::lt(slot.start, whole.start) && approx::le(slot.finish, whole.finish)
        };
        let narrower = (least..width).filter_map(|k| self.slot(task, cluster, k)).find(fits);
        Some(narrower.unwrap_or(whole))
    }

    /// The processors of a slot.
    pub(crate) fn procs(&self, task: TaskId, slot: &Slot) -> Vec<ProcId> {
        let (ready, width) = (self.ready(task), slot.width as usize);
        match slot.host {
            Some(host) => self.sequence_on(slot.cluster, host, ready, width),
            None => self.sequence(slot.cluster, ready, width),
        }
    }

    /// Puts a task into a slot.
    pub(crate) fn place(&mut self, task: TaskId, slot: Slot) {
        let procs = self.procs(task, &slot);
        self.place_on(task, slot.cluster, &procs, (slot.start, slot.finish));
    }

    /// Puts a task on certain processors of a cluster.
    pub(crate) fn place_on(
        &mut self,
        task: TaskId,
        cluster: usize,
        procs: &[ProcId],
        (start, finish): (f64, f64),
    ) {
        for proc in procs {
            self.available[proc.index()] = finish;
        }
        self.sort(cluster);
        self.schedule.place(task, Placement::wide(procs, start, finish));
        self.placed.push(task);
    }

    /// When a task could start on certain processors.
    pub(crate) fn start_on(&self, task: TaskId, procs: &[ProcId]) -> f64 {
        let free = procs.iter().map(|p| self.available[p.index()]).fold(0.0, f64::max);
        self.arrival(task, self.ready(task), procs).max(free)
    }
}

/// When the staged inputs of a task can be at some processors.
pub(super) fn inputs_arrival(machines: &Machines<'_, '_>, task: TaskId, procs: &[ProcId]) -> f64 {
    let inputs = machines.problem.staged_inputs(task).iter();
    inputs.map(|&file| machines.problem.arrival_at(file, procs)).fold(0.0, f64::max)
}

/// The date at which the data of an edge is at some processors, if its producer runs at `source`.
pub(super) fn edge_arrival(
    machines: &Machines<'_, '_>,
    edge: EdgeId,
    source: &Placement,
    procs: &[ProcId],
) -> f64 {
    machines.problem.edge_arrival(edge, source.finish, source.procs(), procs)
}

/// See [`Mapper::sequence`]; `procs` are sorted by availability.
fn in_order(procs: &[ProcId], available: &[f64], ready: f64, most: usize) -> Vec<ProcId> {
    let at = |p: &ProcId| available[p.index()];
    let free = procs.partition_point(|p| approx::le(at(p), ready));
    let mut chosen = Vec::with_capacity(most.min(procs.len()));
    let mut end = free;
    while end > 0 && chosen.len() < most {
        let key = sort_key(at(&procs[end - 1]));
        let begin = procs[..end].partition_point(|p| sort_key(at(p)) < key);
        chosen.extend_from_slice(&procs[begin..end]);
        end = begin;
    }
    chosen.extend_from_slice(&procs[free..]);
    chosen.truncate(most);
    chosen
}

/// All unfinished tasks by falling priority, parents first.
pub(crate) fn by_priority(problem: &Problem<'_>, priority: &[f64]) -> Vec<TaskId> {
    let mut ready = ReadyList::new(problem, priority);
    std::iter::from_fn(|| ready.pop()).collect()
}

/// Maps tasks in a given order: `choose` finds the slot.
pub(crate) fn map_by<'m, 'a, 'p>(
    machines: &'m Machines<'a, 'p>,
    order: impl IntoIterator<Item = TaskId>,
    mut choose: impl FnMut(&Mapper<'m, 'a, 'p>, TaskId) -> Option<Slot>,
) -> Result<Mapper<'m, 'a, 'p>, PlanError> {
    let mut mapper = Mapper::new(machines);
    for task in order {
        let slot = choose(&mapper, task).filter(|slot| slot.finish.is_finite());
        let Some(slot) = slot else {
            let task = machines.problem.workflow().task_name(task).to_string();
            return Err(PlanError::Nowhere { task });
        };
        mapper.place(task, slot);
    }
    Ok(mapper)
}
