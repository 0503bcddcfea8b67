//! The backend that only simulates: operations become activities of the fluid kernel.

use crate::backend::{
    Abilities, Backend, BackendError, Computation, Movement, OpId, Reached, Signal,
};
use crate::store::{Location, Reader, Writes};
use slackline_model::activity::{Activity, Exec, Transfer};
use slackline_model::platform::{Charges, Network, PlanningNetwork, Platform, RouteCache, Way};
use slackline_model::problem::{MeanNetwork, View};
use slackline_model::scenario::{HostWorld, World};
use slackline_model::{FileId, HostId, LinkId, ProcId, TaskId, approx};
use slackline_simulate::{ActivityId, Event, Models, Simulation, Step};
use std::collections::BTreeMap;

/// How long tasks really take and how much files really weigh.
pub trait Reality {
    /// Seconds a task takes on some processors at their peak.
    fn seconds(&self, task: TaskId, procs: &[ProcId]) -> f64;

    /// Bytes that move where `stated` are expected to.
    fn bytes(&self, _file: FileId, stated: f64) -> f64 {
        stated
    }
}

impl<F: Fn(TaskId, &[ProcId]) -> f64> Reality for F {
    fn seconds(&self, task: TaskId, procs: &[ProcId]) -> f64 {
        self(task, procs)
    }
}

/// An operation as activities: a wide task keeps one core busy per activity.
struct Operation {
    /// With the amount each began with.
    activities: Vec<(ActivityId, f64)>,
    left: usize,
    /// The ends of a transfer, which stands still while one of them does.
    ends: Option<(HostId, HostId)>,
    /// The task, while it still reads from the store.
    reader: Option<Reader>,
    /// What it writes there in the end.
    writes: Vec<(FileId, f64)>,
    /// From where.
    host: HostId,
}

/// Tasks and transfers on a simulated platform.
pub struct Simulated<'p, 't> {
    simulation: Simulation<'p>,
    reality: Box<dyn Reality + 't>,
    host_of: Vec<HostId>,
    /// Per host: dates at which it goes off and keeps its data.
    kept: Vec<Vec<f64>>,
    operations: BTreeMap<OpId, Operation>,
    /// The way between the first hosts of every pair of groups, for observing the network.
    group_ways: Vec<Way>,
    /// Groups of hosts whose connections change together.
    network: PlanningNetwork,
    charges: Charges,
    frozen: Vec<bool>,
    network_stale: bool,
    /// Where files live, if not on the hosts.
    store: Location,
    writing: Writes,
}

impl<'p, 't> Simulated<'p, 't> {
    /// A platform at date 0 on which tasks take as long as `reality` says.
    pub fn new(
        platform: &'p Platform,
        models: Models,
        reality: Box<dyn Reality + 't>,
    ) -> Result<Self, BackendError> {
        let charges = models.charges();
        let simulation = Simulation::new(platform, models).map_err(failed)?;
        let mut backend = Simulated {
            simulation,
            reality,
            host_of: platform.host_of_procs().collect(),
            kept: Vec::new(),
            operations: BTreeMap::new(),
            group_ways: Vec::new(),
            network: platform.charged_network(&charges),
            charges,
            frozen: vec![false; platform.hosts().len()],
            network_stale: true,
            store: store_of(platform),
            writing: Writes::default(),
        };
        for host in platform.host_ids() {
            backend.frozen[host.index()] = backend.simulation.host_speed(host) == 0.0;
        }
        Ok(backend)
    }

    /// Hosts keep their data over the outages of which the world says so.
    pub fn in_world(mut self, world: &World) -> Self {
        let keeping = |h: &HostWorld| {
            h.outages.iter().filter(|(_, _, keeps)| *keeps).map(|&(from, ..)| from).collect()
        };
        self.kept = world.hosts.iter().map(keeping).collect();
        self
    }

    fn keeps_data(&self, host: HostId) -> bool {
        let now = self.simulation.clock();
        let dates = self.kept.get(host.index());
        dates.is_some_and(|dates| dates.iter().any(|&date| approx::eq(date, now)))
    }

    fn stands_still(&self, ends: (HostId, HostId)) -> bool {
        self.frozen[ends.0.index()] || self.frozen[ends.1.index()]
    }

    /// A host without any speed neither sends nor receives.
    fn freeze(&mut self, host: HostId, frozen: bool) {
        if self.frozen[host.index()] == frozen {
            return;
        }
        self.frozen[host.index()] = frozen;
        for operation in self.operations.values() {
            let Some(ends) = operation.ends.filter(|e| e.0 == host || e.1 == host) else {
                continue;
            };
            for &(activity, _) in &operation.activities {
                if self.stands_still(ends) {
                    self.simulation.suspend(activity);
                } else {
                    self.simulation.resume(activity);
                }
            }
        }
    }

    fn signal(&mut self, event: Event, signals: &mut Vec<Signal>) {
        match event {
            Event::Done { tag, .. } => {
                if let Some(file) = Writes::file(tag) {
                    return self.written(file, signals);
                }
                let op = OpId(tag);
                let Some(operation) = self.operations.get_mut(&op) else { return };
                operation.left -= 1;
                if operation.left > 0 {
                    return;
                }
                if operation.reader.is_some() {
                    return self.read_on(op, signals);
                }
                if let Some(done) = self.operations.remove(&op) {
                    signals.push(Signal::Done(op));
                    self.write_results(&done);
                }
            }
            Event::Failed { tag, cause, .. } => {
                if let Some(file) = Writes::file(tag) {
                    return self.written(file, signals);
                }
                let op = OpId(tag);
                if self.operations.contains_key(&op) {
                    // The other activities of a wide task end with it.
                    let _ = self.cancel(op);
                    signals.push(Signal::Failed { op, why: format!("{cause:?}") });
                }
            }
            Event::HostSpeed { host, speed } => {
                self.freeze(host, speed == 0.0);
                signals.push(Signal::HostChanged(host));
            }
            Event::HostState { host, on: false } => {
                let keeps_data = self.keeps_data(host);
                signals.push(Signal::HostLost { host, keeps_data });
            }
            Event::HostState { host, on: true } => signals.push(Signal::HostBack(host)),
            Event::LinkBandwidth { .. } | Event::LinkLatency { .. } | Event::LinkState { .. } => {
                self.network_stale = true;
                signals.push(Signal::NetworkChanged);
            }
        }
    }

    /// The host of the first of some processors.
    fn host(&self, procs: &[ProcId]) -> HostId {
        procs.first().map_or(HostId(0), |p| self.host_of[p.index()])
    }

    /// A task reads its next input from the store, or computes when it has them all.
    fn read_on(&mut self, op: OpId, signals: &mut Vec<Signal>) {
        if let Err(error) = self.try_read_on(op) {
            self.operations.remove(&op);
            signals.push(Signal::Failed { op, why: error.to_string() });
        }
    }

    fn try_read_on(&mut self, op: OpId) -> Result<(), BackendError> {
        let Some(operation) = self.operations.get_mut(&op) else { return Ok(()) };
        let Some(reader) = &mut operation.reader else { return Ok(()) };
        operation.activities.clear();
        let Some(&(file, stated)) = reader.reads.front() else {
            let Some(Reader { task, procs, writes, .. }) = operation.reader.take() else {
                return Ok(());
            };
            let activities = self.start_computing(op, task, &procs)?;
            let left = activities.len();
            let host = self.host(&procs);
            let computing = Operation { activities, left, ends: None, reader: None, writes, host };
            self.operations.insert(op, computing);
            return Ok(());
        };
        if self.writing.wait(file, op) {
            return Ok(());
        }
        reader.reads.pop_front();
        let bytes = self.reality.bytes(file, stated);
        let to = operation.host;
        let activity = match self.store {
            Location::Host(store) if store != to => Transfer::new(store, to, bytes).into(),
            Location::Host(_) => Activity::Sleep(0.0),
            Location::Means(network) => Activity::Sleep(network.seconds(bytes)),
        };
        let started = self.simulation.start(activity, op.0).map_err(failed)?;
        operation.activities.push((started, bytes));
        operation.left = 1;
        Ok(())
    }

    /// Results travel to the store, where that is a host.
    fn write_results(&mut self, done: &Operation) {
        let Location::Host(store) = self.store else { return };
        for &(file, stated) in &done.writes {
            if done.host == store {
                continue;
            }
            let bytes = self.reality.bytes(file, stated);
            let write = Transfer::new(done.host, store, bytes);
            if self.simulation.start(write, Writes::tag(file)).is_ok() {
                self.writing.begin(file);
            }
        }
    }

    fn written(&mut self, file: FileId, signals: &mut Vec<Signal>) {
        for op in self.writing.end(file) {
            self.read_on(op, signals);
        }
    }

    fn start_computing(
        &mut self,
        op: OpId,
        task: TaskId,
        procs: &[ProcId],
    ) -> Result<Vec<(ActivityId, f64)>, BackendError> {
        let seconds = self.reality.seconds(task, procs);
        let mut activities = Vec::with_capacity(procs.len());
        for proc in procs {
            let host = self.host_of[proc.index()];
            let amount = seconds * self.simulation.platform().host(host).speed;
            let started = self.simulation.start(Exec::new(host, amount), op.0);
            activities.push((started.map_err(failed)?, amount));
        }
        Ok(activities)
    }

    /// The links between groups, found once: the first two different hosts stand for the rest.
    fn find_group_ways(&mut self, network: &PlanningNetwork) {
        let platform = self.simulation.platform();
        if !matches!(platform.network(), Network::Zones) {
            return;
        }
        let groups = network.groups;
        let mut members: Vec<Vec<HostId>> = vec![Vec::new(); groups];
        for (host, &group) in network.group_of.iter().enumerate() {
            let members = &mut members[group as usize];
            if members.len() < 2 {
                members.push(HostId::new(host));
            }
        }
        let mut routes = RouteCache::new();
        self.group_ways = vec![Way::default(); groups * groups];
        for from in 0..groups {
            for to in 0..groups {
                let src = members[from].first();
                let Some((&src, &dst)) = src.zip(members[to].iter().find(|d| Some(*d) != src))
                else {
                    continue;
                };
                let apart = platform.place_of(src) != platform.place_of(dst);
                let way = Way::find(platform, &mut routes, (src, dst), &self.charges);
                if let Some(way) = way.ok().filter(|_| apart) {
                    self.group_ways[from * groups + to] = way;
                }
            }
        }
    }
}

/// The platform's origin, behind its links; where nobody has links, at mean times.
fn store_of(platform: &Platform) -> Location {
    match (platform.network(), platform.origin()) {
        (Network::Zones, Some(origin)) => Location::Host(origin),
        _ => Location::Means(MeanNetwork::of(platform, &platform.planning_network(), 0)),
    }
}

fn failed(error: impl std::fmt::Display) -> BackendError {
    BackendError(error.to_string())
}

impl Backend for Simulated<'_, '_> {
    fn abilities(&self) -> Abilities {
        let anticipates = matches!(self.simulation.platform().network(), Network::Matrix(_));
        Abilities { spans_hosts: true, anticipates, has_store: true }
    }

    fn charges(&self) -> Charges {
        self.charges.clone()
    }

    fn now(&self) -> f64 {
        self.simulation.clock()
    }

    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<(), BackendError> {
        let Computation { task, procs, reads, writes } = work;
        let (writes, host) = (writes.to_vec(), self.host(procs));
        if reads.is_empty() {
            let activities = self.start_computing(op, task, procs)?;
            let left = activities.len();
            let computing = Operation { activities, left, ends: None, reader: None, writes, host };
            self.operations.insert(op, computing);
            return Ok(());
        }
        let reads = reads.iter().copied().collect();
        let reader = Some(Reader { task, procs: procs.into(), reads, writes });
        let reading = Operation {
            activities: Vec::new(),
            left: 0,
            ends: None,
            reader,
            writes: Vec::new(),
            host,
        };
        self.operations.insert(op, reading);
        self.try_read_on(op)
    }

    fn transfer(&mut self, op: OpId, movement: Movement) -> Result<(), BackendError> {
        let Movement { file, bytes, from, to, since } = movement;
        let bytes = self.reality.bytes(file, bytes);
        let now = self.simulation.clock();
        let activity = if since < now {
            // What nobody disturbs ends at a date that is known.
            let arrives = since + self.network.transfer_time(bytes, from, to);
            Activity::Sleep((arrives - now).max(0.0))
        } else {
            Transfer::new(from, to, bytes).into()
        };
        let activity = self.simulation.start(activity, op.0).map_err(failed)?;
        if self.stands_still((from, to)) {
            self.simulation.suspend(activity);
        }
        let ends = Some((from, to));
        self.operations.insert(
            op,
            Operation {
                activities: vec![(activity, bytes)],
                left: 1,
                ends,
                reader: None,
                writes: Vec::new(),
                host: from,
            },
        );
        Ok(())
    }

    fn cancel(&mut self, op: OpId) -> Result<(), BackendError> {
        let Some(operation) = self.operations.remove(&op) else { return Ok(()) };
        for (activity, _) in operation.activities {
            self.simulation.cancel(activity).map_err(failed)?;
        }
        Ok(())
    }

    fn progress(&self, op: OpId) -> f64 {
        let Some(operation) = self.operations.get(&op) else { return 0.0 };
        if operation.reader.is_some() {
            return 0.0; // it does not compute yet
        }
        // A wide task is as far as its slowest part.
        let remaining = |&(activity, amount): &(ActivityId, f64)| {
            let left = self.simulation.remaining(activity)?;
            Some(if amount > 0.0 { left / amount } else { 1.0 })
        };
        let remaining = operation.activities.iter().filter_map(remaining).fold(0.0, f64::max);
        (1.0 - remaining).clamp(0.0, 1.0)
    }

    fn observe(&mut self, view: &mut View) {
        let platform = self.simulation.platform();
        for host in platform.host_ids() {
            let share = self.simulation.host_speed(host) / platform.host(host).speed;
            let on = self.simulation.host_is_on(host);
            view.availability[host.index()] = if on { share } else { 0.0 };
        }
        if view.network.group_of != self.network.group_of {
            // The description at its peak tells fewer hosts apart than the world does.
            view.network = self.network.clone();
            self.network_stale = true;
        }
        if !std::mem::take(&mut self.network_stale) {
            return;
        }
        if self.group_ways.is_empty() {
            self.find_group_ways(&view.network);
        }
        let bandwidth = |l: LinkId| {
            if self.simulation.link_is_on(l) { self.simulation.link_bandwidth(l) } else { 0.0 }
        };
        let pairs = view.network.groups * view.network.groups;
        for (pair, way) in self.group_ways.iter().enumerate() {
            if way.links.is_empty() {
                continue;
            }
            for (index, band) in self.charges.bands.iter().enumerate() {
                let (_, rate) = self.charges.of(band, way, bandwidth);
                view.network.bandwidth[index * pairs + pair] = rate;
            }
        }
    }

    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        // With nothing under way a simulation is over; a run may wait for a host to come back.
        let idle = until == f64::INFINITY && self.simulation.alive() == 0;
        let due = self.simulation.next_date();
        // What ends at the date that is asked for, but for rounding, belongs to its instant.
        let until = match approx::eq(due, until) {
            _ if idle => due,
            true => due.max(until),
            false => until,
        };
        let step = self.simulation.step(until).map_err(failed)?;
        for index in 0..self.simulation.events().len() {
            let event = self.simulation.events()[index];
            self.signal(event, signals);
        }
        Ok(match step {
            Step::Instant => Reached::Instant,
            Step::Limit => Reached::Limit,
            Step::Idle => Reached::Idle,
        })
    }

    fn moves(&mut self) -> bool {
        self.simulation.next_date() < f64::INFINITY
    }
}
