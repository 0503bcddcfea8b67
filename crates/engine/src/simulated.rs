//! The backend that only simulates: operations become activities of the fluid kernel.

use crate::backend::{
    Abilities, Accepted, Backend, BackendError, Computation, Liveness, Movement, OpError, OpId,
    Open, Order, Reached, Report, Signal, SignalKind, Work,
};
use crate::central_storage::{Location, Reader, WRITES, Writes};
use crate::execution::Settings;
use slackline_model::activity::{Activity, Exec, ParallelTask, StorageFlow, Transfer};
use slackline_model::platform::{
    Charges, DiskSide, Network, PlanningNetwork, Platform, RouteCache, Way,
};
use slackline_model::problem::{Block, MeanNetwork, View};
use slackline_model::scenario::{HostWorld, World};
use slackline_model::{DiskId, FileId, HostId, LinkId, ProcId, TaskId, approx};
use slackline_simulate::{
    ActivityId, Cause, DrawnDelays, Event, HostModel, Models, Simulation, SimulationError, Step,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Changes of levels with no end in between after which it is asked how many more there will be.
const IDLE_CHANGES: u64 = 100_000;

/// True run times and file sizes.
pub trait Reality {
    /// Seconds a task takes on some processors at their peak.
    fn seconds(&self, task: TaskId, procs: &[ProcId]) -> f64;

    /// Bytes of memory that a task uses, and the part of its time after which it does; none where that is
    /// not known to be more than it is granted.
    fn memory(&self, _task: TaskId) -> Option<(f64, f64)> {
        None
    }

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

/// An operation as activities: where everything is a parallel task a single one, else one for each
/// core of a wide task or block of a file. What few operations have is boxed: thousands are under way,
/// and a map of larger ones asks for nodes that are slow to allocate.
struct Operation {
    /// With the amount each began with.
    activities: Vec<(ActivityId, f64)>,
    left: u32,
    since: f64,
    hosts: Box<[HostId]>,
    /// Parts that stand for shares of one whole, not for cores that go on together.
    shares: bool,
    store: Option<Box<Traffic>>,
    /// It is a task that runs out of memory: how much it was granted, and after which part of its time.
    short: Option<Box<Short>>,
    /// Bytes moved, where they differ from the stated size.
    weighs: Option<Box<(FileId, f64)>>,
}

/// A grant of memory that is too small.
#[derive(Clone, Copy)]
struct Short {
    grant: u64,
    at: f64,
}

/// Files a task reads from the central storage and writes to it.
struct Traffic {
    /// The task, while it still reads.
    reader: Option<Reader>,
    /// Files written at the end.
    writes: Vec<(FileId, f64)>,
}

impl Operation {
    fn reader(&mut self) -> Option<&mut Reader> {
        self.store.as_mut()?.reader.as_mut()
    }

    /// Writes these in the end.
    fn writing(self, writes: Vec<(FileId, f64)>) -> Operation {
        let store = (!writes.is_empty()).then(|| Box::new(Traffic { reader: None, writes }));
        Operation { store, ..self }
    }
}

/// A machine that was ordered.
struct Rented {
    host: HostId,
    /// Its being set up; none when it is ready.
    setting_up: Option<ActivityId>,
}

/// Tasks and transfers on a simulated platform.
pub struct Simulated<'t> {
    simulation: Simulation,
    reality: Box<dyn Reality + 't>,
    host_of: Vec<HostId>,
    /// Per host: dates at which it goes off and keeps its data.
    kept: Vec<Vec<f64>>,
    operations: BTreeMap<OpId, Operation>,
    rented: BTreeMap<OpId, Rented>,
    /// Machines that were ordered before: the seconds until they are ready.
    ordered: BTreeMap<HostId, f64>,
    /// DerivedShares at the next call, before time continues.
    pending: Vec<Signal>,
    /// Signals of the last call, and their number.
    told: Vec<Signal>,
    answers: u64,
    /// Instants at which only levels changed, since something last ended, and when that was.
    idle_changes: (u64, f64),
    most_changes: f64,
    /// The same, where it has to be told again.
    unheard: Vec<Signal>,
    /// The way between the first hosts of every pair of groups, for observing the network; what was
    /// observed last, and first, by this one or by one that began alike.
    group_ways: Option<Arc<GroupWays>>,
    observed: Arc<Observed>,
    first_observed: Option<Arc<Observed>>,
    /// Groups of hosts whose connections change together.
    network: Arc<PlanningNetwork>,
    charges: Charges,
    /// Place of files, if not the hosts.
    store: Location,
    /// Durations of storages that are drawn.
    delays: DrawnDelays,
    writing: Writes,
}

impl<'t> Simulated<'t> {
    /// A platform at date 0 on which tasks take as long as `reality` says.
    pub fn new(
        platform: impl Into<Arc<Platform>>,
        models: Models,
        reality: Box<dyn Reality + 't>,
    ) -> Result<Self, BackendError> {
        let platform = platform.into();
        let network = platform.charged_network(&models.charges());
        let store = store_of(&platform);
        let backend = Simulated::unseen(platform, models, Arc::new(network), reality)?;
        Ok(Simulated { store, ..backend }.with_absent_hosts())
    }

    /// The same without a store, where the network at its peak is known and no host is off.
    pub(crate) fn unseen(
        platform: impl Into<Arc<Platform>>,
        models: Models,
        network: Arc<PlanningNetwork>,
        reality: Box<dyn Reality + 't>,
    ) -> Result<Self, BackendError> {
        let charges = models.charges();
        let free = MeanNetwork::FREE;
        let store = Location::Means(free); // it is never read
        let platform: Arc<Platform> = platform.into();
        let host_of = platform.host_of_procs().collect();
        let simulation = Simulation::new(platform, models).map_err(failed)?;
        Ok(Simulated {
            simulation,
            reality,
            host_of,
            kept: Vec::new(),
            operations: BTreeMap::new(),
            rented: BTreeMap::new(),
            ordered: BTreeMap::new(),
            pending: Vec::new(),
            told: Vec::new(),
            answers: 0,
            idle_changes: (0, 0.0),
            most_changes: Settings::default().most_changes,
            unheard: Vec::new(),
            group_ways: None,
            observed: Arc::default(),
            first_observed: None,
            network,
            charges,
            store,
            delays: DrawnDelays::default(),
            writing: Writes::default(),
        })
    }

    /// Files live on a storage of the platform.
    pub(crate) fn storing_on(mut self, storage: Option<DiskId>) -> Self {
        if let Some(disk) = storage {
            self.store = Location::Disk(disk);
        }
        self
    }

    /// Gives up where more changes of levels lie ahead before anything ends.
    pub(crate) fn giving_up_after(mut self, changes: f64) -> Self {
        self.most_changes = changes;
        self
    }

    /// Takes over the routes between groups, where they were found before, and the first observation of an earlier rollout.
    pub(crate) fn with_observed(
        mut self,
        ways: Option<Arc<GroupWays>>,
        first: Option<Arc<Observed>>,
    ) -> Self {
        self.group_ways = ways;
        self.first_observed = first;
        self
    }

    /// Network at the first observation, where there was one.
    pub(crate) fn first_observed(&self) -> Option<Arc<Observed>> {
        self.first_observed.clone()
    }

    /// These machines have been ordered before and are ready after so many seconds.
    pub(crate) fn with_ordered(mut self, machines: impl Iterator<Item = (HostId, f64)>) -> Self {
        self.ordered = machines.collect();
        self
    }

    /// Hosts keep their data over the outages of which the world says so.
    pub fn in_world(mut self, world: &World) -> Self {
        let keeping = |h: &HostWorld| {
            h.outages.iter().filter(|(_, _, keeps)| *keeps).map(|&(from, ..)| from).collect()
        };
        self.kept = world.hosts.iter().map(keeping).collect();
        self.with_absent_hosts()
    }

    /// Hosts that are off from the start are the first thing to tell.
    fn with_absent_hosts(mut self) -> Self {
        self.pending.clear();
        for host in self.simulation.platform().host_ids() {
            if !self.simulation.host_is_on(host) {
                let keeps_data = self.keeps_data(host);
                self.tell(SignalKind::HostLost { host, keeps_data });
            }
        }
        self
    }

    fn keeps_data(&self, host: HostId) -> bool {
        let now = self.simulation.clock();
        let dates = self.kept.get(host.index());
        dates.is_some_and(|dates| dates.iter().any(|&date| approx::eq(date, now)))
    }

    fn tell(&mut self, what: SignalKind) {
        self.pending.push(Signal { at: self.simulation.clock(), what });
    }

    /// Gives a run up in which levels would change for ever before anything ends.
    fn count_changes(&mut self) -> Result<(), BackendError> {
        let ends = |e: &Event| matches!(e, Event::Done { .. } | Event::Failed { .. });
        let now = self.simulation.clock();
        if self.simulation.events().iter().any(ends) {
            self.idle_changes = (0, now);
            return Ok(());
        }
        self.idle_changes.0 += u64::from(!self.simulation.events().is_empty());
        let (changes, since) = self.idle_changes;
        if changes == 0 || !changes.is_multiple_of(IDLE_CHANGES) {
            return Ok(());
        }
        let end = self.simulation.next_end();
        let ahead = (end - now) * changes as f64 / (now - since);
        if end == f64::INFINITY || ahead <= self.most_changes {
            return Ok(());
        }
        Err(BackendError::Simulation(format!(
            "nothing would end before {end:.1e} s and {:.0e} changes of levels: is a time or size far too large?",
            self.most_changes
        )))
    }

    fn translate(&mut self, event: Event) -> Result<(), BackendError> {
        match event {
            Event::Done { owner, tag, .. } => {
                if let Some(file) = Writes::file(owner, tag) {
                    return self.written(file);
                }
                let op = OpId(tag);
                if let Some(rented) = self.rented.get_mut(&op) {
                    rented.setting_up = None;
                    self.tell(SignalKind::LeaseReady(op));
                    return Ok(());
                }
                let Some(operation) = self.operations.get_mut(&op) else { return Ok(()) };
                operation.left -= 1;
                if operation.left > 0 {
                    return Ok(());
                }
                if operation.reader().is_some() {
                    return self.read_on(op);
                }
                if let Some(mut done) = self.operations.remove(&op) {
                    if let Some(short) = done.short {
                        let error = OpError::Memory { grant: short.grant, peak: None };
                        self.tell(SignalKind::Failed(op, error));
                        return Ok(());
                    }
                    let seconds = Some(self.simulation.clock() - done.since);
                    let sizes = done.weighs.take().map(|weighs| *weighs).into_iter().collect();
                    self.tell(SignalKind::Done(op, Report { seconds, sizes, ..Report::default() }));
                    self.write_results(&done);
                }
            }
            Event::Failed { owner, tag, cause, .. } => {
                if let Some(file) = Writes::file(owner, tag) {
                    return self.written(file);
                }
                let op = OpId(tag);
                if self.forget(op)? {
                    let error = self.lost(cause);
                    self.tell(SignalKind::Failed(op, error));
                }
            }
            Event::HostSpeed { host, speed } => {
                let availability = speed / self.simulation.platform().host(host).speed;
                self.tell(SignalKind::HostChanged { host, availability });
            }
            Event::HostState { host, on: false } => {
                let of_host = self.operations.iter().filter(|(_, o)| o.hosts.contains(&host));
                let gone: Vec<OpId> = of_host.map(|(&op, _)| op).collect();
                let keeps_data = self.keeps_data(host);
                self.tell(SignalKind::HostLost { host, keeps_data });
                for op in gone {
                    self.forget(op)?;
                    let error = self.lost(Cause::HostOff(host));
                    self.tell(SignalKind::Failed(op, error));
                }
            }
            Event::HostState { host, on: true } => self.tell(SignalKind::HostBack(host)),
            Event::LinkBandwidth { link, .. } | Event::LinkState { link, .. } => {
                let on = self.simulation.link_is_on(link);
                let bandwidth = if on { self.simulation.link_bandwidth(link) } else { 0.0 };
                self.tell(SignalKind::NetworkChanged { link: Some((link, bandwidth)) });
            }
            Event::LinkLatency { .. } => {
                self.tell(SignalKind::NetworkChanged { link: None });
            }
        }
        Ok(())
    }

    fn lost(&self, cause: Cause) -> OpError {
        let platform = self.simulation.platform();
        let (host, why) = match cause {
            Cause::HostOff(host) => {
                (Some(host), format!("host '{}' is off", platform.host(host).name))
            }
            Cause::LinkOff(link) => (None, format!("link '{}' is off", platform.link(link).name)),
        };
        OpError::Lost { host, why }
    }

    /// A host among these that is off.
    fn absent(&self, hosts: &[HostId]) -> Result<(), OpError> {
        match hosts.iter().find(|&&h| !self.simulation.host_is_on(h)) {
            Some(&host) => Err(self.lost(Cause::HostOff(host))),
            None => Ok(()),
        }
    }

    /// A machine among these that is not there now.
    fn unleased(&self, hosts: &[HostId]) -> Result<(), OpError> {
        let platform = self.simulation.platform();
        let ready = |h: HostId| self.rented.values().any(|r| r.host == h && r.setting_up.is_none());
        let needs = |h: HostId| platform.class(platform.host(h).class).leasable;
        match hosts.iter().find(|&&h| needs(h) && !ready(h)) {
            Some(&host) => {
                Err(OpError::Refused(format!("'{}' is not leased", platform.host(host).name)))
            }
            None => Ok(()),
        }
    }

    /// Result of an operation that is requested again.
    fn known(&mut self, op: OpId) -> Option<Result<Accepted, OpError>> {
        let ends = |s: &Signal| s.what.ends() == Some(op);
        if self.operations.contains_key(&op) || self.unheard.iter().any(ends) {
            return Some(Ok(Accepted::Running));
        }
        let at = self.pending.iter().position(|s| s.what.ends() == Some(op))?;
        match &self.pending[at].what {
            SignalKind::Failed(_, error) => {
                let error = error.clone();
                self.pending.remove(at);
                Some(Err(error))
            }
            _ => Some(Ok(Accepted::Running)),
        }
    }

    /// Ends what is left of an operation; false where it had ended.
    fn forget(&mut self, op: OpId) -> Result<bool, BackendError> {
        let Some(operation) = self.operations.remove(&op) else { return Ok(false) };
        for (activity, _) in operation.activities {
            self.simulation.cancel(activity).map_err(failed)?;
        }
        Ok(true)
    }

    fn begin(&mut self, op: OpId, operation: Operation) {
        if operation.left == 0 && operation.short.is_none() {
            self.tell(SignalKind::Done(op, Report::default()));
        } else {
            self.operations.insert(op, operation);
        }
    }

    fn operation(&self, hosts: Vec<HostId>, activities: Vec<(ActivityId, f64)>) -> Operation {
        let (left, since) = (activities.len() as u32, self.simulation.clock());
        let (hosts, shares, store, short, weighs) = (hosts.into(), false, None, None, None);
        Operation { activities, left, since, hosts, shares, store, short, weighs }
    }

    fn start_computing(
        &mut self,
        op: OpId,
        task: TaskId,
        procs: &[ProcId],
        short: Option<&Short>,
    ) -> Result<Vec<(ActivityId, f64)>, SimulationError> {
        let part = short.map_or(1.0, |short| short.at);
        let seconds = self.reality.seconds(task, procs) * part;
        let part = |backend: &Self, proc: &ProcId| {
            let host = backend.host_of[proc.index()];
            (host, seconds * backend.simulation.platform().host(host).speed)
        };
        if self.is_one_activity(procs.len()) {
            let (hosts, flops) = procs.iter().map(|p| part(self, p)).unzip();
            let rate = f64::INFINITY;
            let whole = ParallelTask { hosts, flops, blocks: Vec::new(), rate };
            return Ok(vec![self.start(whole, op)?]);
        }
        let mut activities = Vec::with_capacity(procs.len());
        for proc in procs {
            let (host, flops) = part(self, proc);
            activities.push(self.start(Exec::new(host, flops), op)?);
        }
        Ok(activities)
    }

    /// Starts an activity; gives it with the amount it began with.
    fn start(
        &mut self,
        activity: impl Into<Activity>,
        op: OpId,
    ) -> Result<(ActivityId, f64), SimulationError> {
        let id = self.simulation.start(activity, op.0)?;
        Ok((id, self.simulation.remaining(id).unwrap_or(0.0)))
    }

    /// Whether so many parts advance together as one activity.
    fn is_one_activity(&self, parts: usize) -> bool {
        parts > 1 && self.simulation.models().host == HostModel::ParallelTasks
    }

    /// A task reads its next input from the store, or computes when it has them all.
    fn read_on(&mut self, op: OpId) -> Result<(), BackendError> {
        if let Err(error) = self.try_read_on(op) {
            self.operations.remove(&op);
            self.tell(SignalKind::Failed(op, refused(error)));
        }
        Ok(())
    }

    fn try_read_on(&mut self, op: OpId) -> Result<(), SimulationError> {
        let Some(operation) = self.operations.get_mut(&op) else { return Ok(()) };
        operation.activities.clear();
        let Some(reader) = operation.reader() else { return Ok(()) };
        let Some(&(file, stated)) = reader.reads.front() else {
            let Some(reader) = operation.store.take().and_then(|store| store.reader) else {
                return Ok(());
            };
            let Reader { task, procs, writes, .. } = reader;
            let (since, hosts) = (operation.since, std::mem::take(&mut operation.hosts));
            let short = operation.short.take();
            let activities = self.start_computing(op, task, &procs, short.as_deref())?;
            let computing = self.operation(hosts.into(), activities).writing(writes);
            self.operations.insert(op, Operation { since, short, ..computing });
            return Ok(());
        };
        if self.writing.wait(file, op) {
            return Ok(());
        }
        reader.reads.pop_front();
        let bytes = self.reality.bytes(file, stated);
        let to = operation.hosts.first().copied().unwrap_or(HostId(0));
        let activity = match self.store {
            Location::Host(store) if store != to => Transfer::new(store, to, bytes).into(),
            Location::Host(_) => Activity::Sleep(0.0),
            Location::Disk(disk) => self.storage_flow(disk, DiskSide::Read, to, bytes).into(),
            Location::Means(network) => Activity::Sleep(network.seconds(bytes)),
        };
        let started = self.start(activity, op)?;
        if let Some(operation) = self.operations.get_mut(&op) {
            operation.activities.push(started);
            operation.left = 1;
        }
        Ok(())
    }

    /// Results travel to the store, where that is a host.
    fn write_results(&mut self, done: &Operation) {
        let Some(&host) = done.hosts.first() else { return };
        match self.store {
            Location::Host(store) if store != host => {}
            Location::Disk(_) => {}
            _ => return,
        }
        for &(file, stated) in done.store.iter().flat_map(|store| &store.writes) {
            let bytes = self.reality.bytes(file, stated);
            let write: Activity = match self.store {
                Location::Host(store) => Transfer::new(host, store, bytes).into(),
                Location::Disk(disk) => {
                    self.storage_flow(disk, DiskSide::Write, host, bytes).into()
                }
                Location::Means(_) => continue,
            };
            if self.simulation.start_for(WRITES, write, u64::from(file.0)).is_ok() {
                self.writing.begin(file);
            }
        }
    }

    /// Bytes that a host reads from a storage, or writes to it.
    fn storage_flow(
        &mut self,
        disk: DiskId,
        side: DiskSide,
        host: HostId,
        bytes: f64,
    ) -> StorageFlow {
        let platform = self.simulation.platform();
        let own = platform.disk(disk).host;
        let (read, write, from, to) = match side {
            DiskSide::Read => (Some(disk), None, own, host),
            DiskSide::Write => (None, Some(disk), host, own),
        };
        let mut flow =
            StorageFlow { read, write, from, to, bytes, delay: 0.0, rate: f64::INFINITY };
        self.delays.apply(platform, &mut flow);
        flow
    }

    fn written(&mut self, file: FileId) -> Result<(), BackendError> {
        for op in self.writing.end(file) {
            self.read_on(op)?;
        }
        Ok(())
    }

    fn progress(&self, op: OpId) -> f64 {
        let Some(operation) = self.operations.get(&op) else { return 0.0 };
        if operation.store.as_ref().is_some_and(|store| store.reader.is_some()) {
            return 0.0; // it does not compute yet
        }
        let whole = operation.short.as_ref().map_or(1.0, |short| short.at);
        let rest =
            |&(activity, _): &(ActivityId, f64)| self.simulation.remaining(activity).unwrap_or(0.0);
        let remaining = if operation.shares {
            let all: f64 = operation.activities.iter().map(|(_, amount)| amount).sum();
            let left: f64 = operation.activities.iter().map(rest).sum();
            if all > 0.0 { left / all } else { 1.0 }
        } else {
            // A wide task is as far as its slowest part.
            let part = |a: &(ActivityId, f64)| match self.simulation.remaining(a.0) {
                Some(left) => {
                    if a.1 > 0.0 {
                        left / a.1
                    } else {
                        1.0
                    }
                }
                None => 0.0,
            };
            operation.activities.iter().map(part).fold(0.0, f64::max)
        };
        (1.0 - remaining).clamp(0.0, 1.0) * whole
    }
}

/// Rates of the links that are used, and what pairs of groups have of them, band by band; no number where
/// nothing is between them.
#[derive(Clone, Default)]
pub(crate) struct Observed {
    links: Vec<f64>,
    rates: Vec<f64>,
}

/// The links between every pair of groups, and the pairs that use each of these links.
#[derive(Default)]
pub(crate) struct GroupWays {
    pub(crate) ways: Vec<Way>,
    users: Vec<(LinkId, Vec<u32>)>,
}

impl GroupWays {
    /// The first two different hosts of groups stand for the rest. Nothing where the network has no links.
    pub(crate) fn find(platform: &Platform, network: &PlanningNetwork, charges: &Charges) -> Self {
        if !matches!(platform.network(), Network::Zones) {
            return GroupWays::default();
        }
        let mut members: Vec<Vec<HostId>> = vec![Vec::new(); network.groups];
        for (host, &group) in network.group_of.iter().enumerate() {
            let members = &mut members[group as usize];
            if members.len() < 2 {
                members.push(HostId::new(host));
            }
        }
        let mut routes = RouteCache::new();
        let pairs = (0..network.groups).flat_map(|a| (0..network.groups).map(move |b| (a, b)));
        let way = |(a, b): (usize, usize)| {
            let from = members[a].first().copied()?;
            let to = members[b].iter().copied().find(|&to| to != from)?;
            let (from, to) = (platform.place_of(from), platform.place_of(to));
            Way::find(platform, &mut routes, (from, to), charges).ok().filter(|_| from != to)
        };
        let ways: Vec<Way> = pairs.map(way).map(Option::unwrap_or_default).collect();
        let mut users = vec![Vec::new(); platform.links().len()];
        for (pair, way) in ways.iter().enumerate() {
            way.links.iter().for_each(|step| users[step.link.index()].push(pair as u32));
        }
        let used = users.into_iter().enumerate().filter(|(_, pairs)| !pairs.is_empty());
        let users = used.map(|(link, pairs)| (LinkId::new(link), pairs)).collect();
        GroupWays { ways, users }
    }
}

impl Observed {
    /// Takes over what the links that are used have now.
    fn update(
        &mut self,
        links: Vec<f64>,
        ways: &GroupWays,
        charges: &Charges,
        bandwidth: impl Fn(LinkId) -> f64 + Copy,
    ) {
        let pairs = ways.ways.len();
        let rate = |band, pair: usize| {
            let way = &ways.ways[pair];
            if way.links.is_empty() { f64::NAN } else { charges.of(band, way, bandwidth).1 }
        };
        if self.links.is_empty() {
            let each = |band| (0..pairs).map(move |pair| rate(band, pair));
            self.rates = charges.bands.iter().flat_map(each).collect();
        } else {
            let changed = (0..links.len()).filter(|&at| self.links[at] != links[at]);
            for &pair in changed.flat_map(|at| &ways.users[at].1) {
                for (at, band) in charges.bands.iter().enumerate() {
                    self.rates[at * pairs + pair as usize] = rate(band, pair as usize);
                }
            }
        }
        self.links = links;
    }
}

/// The platform's origin, behind its links; where there are no links, at mean times.
fn store_of(platform: &Platform) -> Location {
    match (platform.network(), platform.origin()) {
        (Network::Zones, Some(origin)) => Location::Host(origin),
        _ => Location::Means(MeanNetwork::of(platform, &platform.planning_network(), 0)),
    }
}

fn failed(error: impl std::fmt::Display) -> BackendError {
    BackendError::Simulation(error.to_string())
}

/// Turns an error of the simulation into a refusal: a retry would not help.
fn refused(error: SimulationError) -> OpError {
    OpError::Refused(error.to_string())
}

impl Backend for Simulated<'_> {
    fn abilities(&self) -> Abilities {
        let anticipates = matches!(self.simulation.platform().network(), Network::Matrix(_));
        Abilities { spans_hosts: true, anticipates, has_store: true, guesses: false }
    }

    fn charges(&self) -> Charges {
        self.charges.clone()
    }

    fn now(&self) -> f64 {
        self.simulation.clock()
    }

    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<Accepted, OpError> {
        if let Some(known) = self.known(op) {
            return known;
        }
        let Computation { task, procs, memory, reads, writes, .. } = work;
        let hosts: Vec<HostId> = procs.iter().map(|p| self.host_of[p.index()]).collect();
        self.absent(&hosts)?;
        self.unleased(&hosts)?;
        let writes = writes.to_vec();
        let used = self.reality.memory(task);
        let too_small = |&(grant, (bytes, _)): &(u64, (f64, f64))| bytes > grant as f64;
        let short = memory.zip(used).filter(too_small);
        let short = short.map(|(grant, (_, at))| Box::new(Short { grant, at }));
        if reads.is_empty() {
            let started = self.start_computing(op, task, procs, short.as_deref());
            let computing = self.operation(hosts, started.map_err(refused)?);
            self.begin(op, Operation { short, ..computing.writing(writes) });
            return Ok(Accepted::Running);
        }
        let reads = reads.iter().copied().collect();
        let reader = Some(Reader { task, procs: procs.into(), reads, writes });
        let store = Some(Box::new(Traffic { reader, writes: Vec::new() }));
        let reading = self.operation(hosts, Vec::new());
        self.operations.insert(op, Operation { store, short, ..reading });
        self.try_read_on(op).map_err(refused)?;
        Ok(Accepted::Running)
    }

    fn transfer(&mut self, op: OpId, movement: Movement<'_>) -> Result<Accepted, OpError> {
        if let Some(known) = self.known(op) {
            return known;
        }
        let Movement { file, blocks, since } = movement;
        let hosts: Vec<HostId> = blocks.iter().flat_map(|b| [b.from, b.to]).collect();
        self.absent(&hosts)?;
        let now = self.simulation.clock();
        let real = |backend: &Self, block: &Block| Block {
            bytes: backend.reality.bytes(file, block.bytes),
            ..*block
        };
        let stated: f64 = blocks.iter().map(|block| block.bytes).sum();
        let weighed: f64 = blocks.iter().map(|block| real(self, block).bytes).sum();
        let weighs = (weighed != stated).then(|| Box::new((file, weighed)));
        let mut activities = Vec::with_capacity(blocks.len());
        if since < now {
            // Without contention the end is known.
            let arrives = since + self.network.together(blocks.iter().map(|b| real(self, b)));
            let rest = Activity::Sleep((arrives - now).max(0.0));
            activities.push(self.start(rest, op).map_err(refused)?);
        } else if self.is_one_activity(blocks.len()) {
            let blocks = blocks.iter().map(|b| real(self, b)).collect();
            let (rate, hosts, flops) = (f64::INFINITY, Vec::new(), Vec::new());
            let whole = ParallelTask { hosts, flops, blocks, rate };
            activities.push(self.start(whole, op).map_err(refused)?);
        } else {
            for block in blocks {
                let Block { from, to, bytes } = real(self, block);
                activities.push(self.start(Transfer::new(from, to, bytes), op).map_err(refused)?);
            }
        }
        let moving = self.operation(hosts, activities);
        self.begin(op, Operation { shares: true, weighs, ..moving });
        Ok(Accepted::Running)
    }

    fn cancel(&mut self, op: OpId) -> Result<(), BackendError> {
        if self.forget(op)? {
            self.tell(SignalKind::Cancelled(op));
        }
        Ok(())
    }

    fn delete(&mut self, _: FileId, _: HostId) -> Result<(), BackendError> {
        Ok(()) // room on disks is not simulated
    }

    fn lease(&mut self, op: OpId, order: Order) -> Result<Accepted, OpError> {
        let answer = |ready: bool| if ready { Accepted::Running } else { Accepted::Waiting };
        if let Some(rented) = self.rented.get(&op) {
            let told = |s: &Signal| s.what == SignalKind::LeaseReady(op);
            return Ok(answer(rented.setting_up.is_none() && !self.pending.iter().any(told)));
        }
        let platform = self.simulation.platform();
        let host = platform.host(order.host);
        let class = platform.class(host.class);
        if !class.leasable || self.rented.values().any(|r| r.host == order.host) {
            return Err(OpError::Refused(format!("'{}' cannot be leased", host.name)));
        }
        let setup = self.ordered.remove(&order.host).unwrap_or(class.billing.setup);
        let setting_up = if setup > 0.0 {
            Some(self.simulation.start(Activity::Sleep(setup), op.0).map_err(refused)?)
        } else {
            None
        };
        self.rented.insert(op, Rented { host: order.host, setting_up });
        Ok(answer(setup <= 0.0))
    }

    fn release(&mut self, lease: OpId) -> Result<(), BackendError> {
        let Some(rented) = self.rented.remove(&lease) else { return Ok(()) };
        if let Some(activity) = rented.setting_up {
            self.simulation.cancel(activity).map_err(failed)?;
        }
        self.tell(SignalKind::LeaseEnded(lease, None));
        Ok(())
    }

    fn reattach(&mut self, open: &[Open], heard: u64) -> Result<(), BackendError> {
        if heard < self.answers {
            self.unheard = std::mem::take(&mut self.told);
        }
        self.answers = heard;
        let unknown = self.operations.keys().filter(|op| open.iter().all(|o| o.op != **op));
        for op in unknown.copied().collect::<Vec<_>>() {
            self.forget(op)?;
        }
        let unknown = self.rented.keys().filter(|op| open.iter().all(|o| o.op != **op));
        for op in unknown.copied().collect::<Vec<_>>() {
            self.release(op)?;
        }
        for Open { op, work, cancelling } in open {
            let told = |s: &Signal| s.what.ends() == Some(*op);
            let known = self.operations.contains_key(op) || self.rented.contains_key(op);
            let lease = matches!(work, Work::Lease { .. });
            match (known, *cancelling) {
                (true, true) if lease => self.release(*op)?,
                (true, true) => self.cancel(*op)?,
                (true, false) => {}
                (false, _) if self.unheard.iter().chain(&self.pending).any(told) => {}
                (false, true) if lease => self.tell(SignalKind::LeaseEnded(*op, None)),
                (false, true) => self.tell(SignalKind::Cancelled(*op)),
                (false, false) => {
                    let begun = work.begin(*op, self);
                    match begun {
                        Err(error) if lease => self.tell(SignalKind::LeaseEnded(*op, Some(error))),
                        Err(error) => self.tell(SignalKind::Failed(*op, error)),
                        Ok(_) => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn measure(&mut self, ops: &[OpId]) -> Vec<f64> {
        ops.iter().map(|&op| self.progress(op)).collect()
    }

    fn observe(&mut self, view: &mut View) {
        let platform = self.simulation.platform();
        for host in platform.host_ids() {
            let share = self.simulation.host_speed(host) / platform.host(host).speed;
            view.availability[host.index()] = share;
        }
        if view.network.group_of != self.network.group_of {
            // The description at its peak tells fewer hosts apart than the world does.
            view.network = (*self.network).clone();
        }
        let (network, charges) = (&view.network, &self.charges);
        let find = || Arc::new(GroupWays::find(platform, network, charges));
        let ways = self.group_ways.get_or_insert_with(find);
        let bandwidth = |l: LinkId| {
            if self.simulation.link_is_on(l) { self.simulation.link_bandwidth(l) } else { 0.0 }
        };
        let links: Vec<f64> = ways.users.iter().map(|&(link, _)| bandwidth(link)).collect();
        if self.observed.links != links {
            let first = self.observed.links.is_empty();
            match &self.first_observed {
                Some(known) if known.links == links => self.observed = known.clone(),
                _ => Arc::make_mut(&mut self.observed).update(links, ways, charges, bandwidth),
            }
            if first {
                self.first_observed = Some(self.observed.clone());
            }
        }
        let seen = view.network.bandwidth.iter_mut().zip(&self.observed.rates);
        seen.filter(|(_, rate)| !rate.is_nan()).for_each(|(seen, rate)| *seen = *rate);
    }

    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        if !self.unheard.is_empty() {
            self.answers += 1;
            self.told = std::mem::take(&mut self.unheard);
            signals.extend_from_slice(&self.told);
            return Ok(Reached::Instant);
        }
        let mut reached = Reached::Instant;
        while self.pending.is_empty() {
            // With nothing under way a simulation is over; a run may wait for a host to come back.
            let date = self.simulation.next_date();
            if date.min(until) == f64::INFINITY {
                reached = Reached::Idle;
                break;
            }
            // What ends at the date that is asked for, but for rounding, belongs to its instant.
            let until = if approx::eq(date, until) { date.max(until) } else { until };
            let step = self.simulation.step(date.min(until)).map_err(failed)?;
            self.count_changes()?;
            for index in 0..self.simulation.events().len() {
                let event = self.simulation.events()[index];
                self.translate(event)?;
            }
            if step != Step::Instant && self.simulation.clock() >= until {
                reached = Reached::Limit;
                break;
            }
        }
        self.answers += 1;
        self.told = std::mem::take(&mut self.pending);
        signals.extend_from_slice(&self.told);
        Ok(reached)
    }

    fn outlook(&mut self, quiet_since: f64) -> Liveness {
        if !(self.unheard.is_empty() && self.pending.is_empty())
            || self.simulation.next_end() < f64::INFINITY
        {
            Liveness::Busy
        } else if self.simulation.revives(quiet_since) {
            Liveness::Revives
        } else {
            Liveness::Hopeless
        }
    }
}
