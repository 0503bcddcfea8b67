//! Activities on a platform: the kernel with hosts, links and disks instead of bare capacities.
//!
//! A [`Simulation`] is cheap to make (one pass over the platform), takes new activities at any
//! moment and reports, instant by instant, its events: activities that ended or failed, hosts and
//! links that changed. Profiles are played from the platform. When a host goes off, the executions
//! on it, the parallel tasks using it, the operations of its disks and the transfers from or to it
//! fail; when a link goes off, what crosses it. Starting on something that is off fails at once. An
//! activity that would end at the very date at which a resource it needs goes off fails, as in
//! SimGrid: changes of a date come before the ends of that date. Of several ends at one date, those
//! of activities that started first come first; of several changes, hosts come before links, in
//! their order.

mod infiniband;
mod network;
mod queues;
mod resources;
mod shape;

use crate::kernel::{self, ActivityId, Kernel, SIMULTANEOUS, WorkError};
use crate::models::{Models, NetworkModel};
use crate::solver::Use;
use infiniband::Infiniband;
use network::Network;
use queues::Queues;
use resources::{Holder, Profiles, Resources, Subject};
use slackline_model::activity::{Activity, Transfer};
use slackline_model::platform::{Platform, RouteError};
use slackline_model::{HostId, LinkId};
use std::collections::BTreeSet;
use std::sync::Arc;
use thiserror::Error;

/// The reason why a simulation refuses a request or cannot advance.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SimulationError {
    /// An activity with an invalid amount or limit.
    #[error("{activity}: {cause}")]
    BadActivity {
        /// The activity, in words.
        activity: String,
        /// The error in it.
        cause: String,
    },
    /// An invalid capacity.
    #[error("the platform cannot be simulated: {0}")]
    BadPlatform(#[from] WorkError),
    /// No way between two hosts.
    #[error(transparent)]
    NoRoute(#[from] RouteError),
    /// Activities wait for something that never comes.
    #[error("the simulation cannot advance beyond {date} s: {}", .waiting.join("; "))]
    Stalled {
        /// The date after which no activity advances.
        date: f64,
        /// The activities, each with the resource it waits for.
        waiting: Vec<String>,
    },
}

/// The reason why an activity failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A host it needs is off.
    HostOff(HostId),
    /// A link it crosses is off.
    LinkOff(LinkId),
}

/// The part of the program that started an activity: the end is delivered to that owner, with a tag
/// of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub u32);

/// Something that happened at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// An activity is done.
    Done {
        /// The activity; its id is no longer valid.
        activity: ActivityId,
        /// The owner given at its start.
        owner: Owner,
        /// The tag given at its start.
        tag: u64,
    },
    /// An activity failed; its progress is lost.
    Failed {
        /// The activity; its id is no longer valid.
        activity: ActivityId,
        /// The owner given at its start.
        owner: Owner,
        /// The tag given at its start.
        tag: u64,
        /// The reason.
        cause: Cause,
    },
    /// A host has another speed.
    HostSpeed {
        /// The host.
        host: HostId,
        /// Flop/s of one core from now on.
        speed: f64,
    },
    /// A host went on or off.
    HostState {
        /// The host.
        host: HostId,
        /// Whether it is on from now on.
        on: bool,
    },
    /// A link has another bandwidth.
    LinkBandwidth {
        /// The link.
        link: LinkId,
        /// Bytes/s from now on.
        bandwidth: f64,
    },
    /// A link has another latency.
    LinkLatency {
        /// The link.
        link: LinkId,
        /// Seconds from now on.
        latency: f64,
    },
    /// A link went on or off.
    LinkState {
        /// The link.
        link: LinkId,
        /// Whether it is on from now on.
        on: bool,
    },
}

/// The result of one call of [`Simulation::step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An instant at which something happened: see [`Simulation::events`].
    Instant,
    /// The given date; nothing happened up to it.
    Limit,
    /// Nothing is going on (and no date was given).
    Idle,
}

/// An activity under way.
#[derive(Clone, Debug)]
struct Running {
    activity: Activity,
    owner: Owner,
    /// It started on something that is off.
    doomed: Option<Cause>,
    queued: bool,
}

/// An activity that ends at the date at which something it needs goes off.
#[derive(Clone, Copy, Debug)]
struct Spoilt {
    activity: ActivityId,
    owner: Owner,
    tag: u64,
    cause: Cause,
}

/// A platform on which activities take place.
#[derive(Clone, Debug)]
pub struct Simulation {
    platform: Arc<Platform>,
    models: Models,
    kernel: Kernel,
    resources: Resources,
    profiles: Profiles,
    network: Network,
    queues: Queues,
    running: Vec<Running>,
    events: Vec<Event>,
    /// Buffer for the consumption of the activity being started.
    uses: Vec<Use>,
    /// Weight of a disk operation that crosses no link.
    disk_weight: f64,
    /// Since when only profiles have moved.
    becalmed_since: Option<f64>,
    /// Flows under way and their penalties, where the network is InfiniBand.
    infiniband: Option<Infiniband>,
}

impl Simulation {
    /// A simulation at date 0, with nothing going on.
    pub fn new(
        platform: impl Into<Arc<Platform>>,
        models: Models,
    ) -> Result<Self, SimulationError> {
        let platform = platform.into();
        let mut kernel = Kernel::new(models.sharing());
        let resources = Resources::new(&platform, &models, &mut kernel)?;
        let disk_weight = shape::typical_weight(&platform, &models);
        let infiniband = Infiniband::of(&models, &platform);
        let mut simulation = Simulation {
            profiles: Profiles::new(&platform),
            platform,
            models,
            kernel,
            resources,
            network: Network::default(),
            queues: Queues::default(),
            running: Vec::new(),
            events: Vec::new(),
            uses: Vec::new(),
            disk_weight,
            becalmed_since: None,
            infiniband,
        };
        simulation.play_profiles()?;
        simulation.events.clear();
        Ok(simulation)
    }

    /// Goes back to date 0 with nothing going on; keeps the routes found so far.
    pub fn reset(&mut self) -> Result<(), SimulationError> {
        self.kernel = Kernel::new(self.models.sharing());
        let sequential: Vec<bool> = self.resources.hosts.iter().map(|h| h.sequential).collect();
        self.resources = Resources::new(&self.platform, &self.models, &mut self.kernel)?;
        for (host, sequential) in self.resources.hosts.iter_mut().zip(sequential) {
            host.sequential = sequential;
        }
        self.profiles.restart();
        self.queues.clear();
        self.running.clear();
        self.becalmed_since = None;
        self.infiniband = Infiniband::of(&self.models, &self.platform);
        if self.resources.links_change {
            self.network.invalidate();
        }
        self.play_profiles()?;
        self.events.clear();
        Ok(())
    }

    /// The platform.
    pub fn platform(&self) -> &Arc<Platform> {
        &self.platform
    }

    /// The rules in force.
    pub fn models(&self) -> &Models {
        &self.models
    }

    /// The date.
    pub fn clock(&self) -> f64 {
        self.kernel.clock()
    }

    /// Returns the date of the next event, if nothing is started before; infinite for never.
    pub fn next_date(&mut self) -> f64 {
        self.kernel.next_date().min(self.profiles.next_date())
    }

    /// Returns the date at which the next activity ends, if nothing changes before; infinite for
    /// never.
    pub fn next_end(&mut self) -> f64 {
        self.kernel.next_date()
    }

    /// Whether a host or link that is off, or has no capacity, has a change to come. One that
    /// comes round and round counts until all have come round twice since a date.
    pub fn revives(&self, since: f64) -> bool {
        let patient = self.clock() - since <= 2.0 * self.profiles.horizon;
        self.profiles.upcoming().any(|(subject, ends)| {
            let stopped = match subject {
                Subject::HostSpeed(host) => self.host_speed(host) <= 0.0,
                Subject::HostState(host) => !self.host_is_on(host),
                Subject::LinkBandwidth(link) => self.link_bandwidth(link) <= 0.0,
                Subject::LinkState(link) => !self.link_is_on(link),
                Subject::LinkLatency(_) => false,
            };
            stopped && (ends || patient)
        })
    }

    /// Number of activities under way.
    pub fn alive(&self) -> usize {
        self.kernel.alive()
    }

    /// Whether a host is on.
    pub fn host_is_on(&self, host: HostId) -> bool {
        self.resources.hosts[host.index()].on
    }

    /// Flop/s of one core of a host now.
    pub fn host_speed(&self, host: HostId) -> f64 {
        self.resources.hosts[host.index()].speed
    }

    /// Whether a link is on.
    pub fn link_is_on(&self, link: LinkId) -> bool {
        self.resources.links[link.index()].on
    }

    /// Bytes/s of a link now, without any model's factor.
    pub fn link_bandwidth(&self, link: LinkId) -> f64 {
        self.resources.links[link.index()].bandwidth
    }

    /// Flop/s delivered by a host now.
    pub fn host_load(&mut self, host: HostId) -> f64 {
        self.kernel.load(self.resources.hosts[host.index()].constraint)
    }

    /// Bytes/s carried by a shared link now (cross-traffic included).
    pub fn link_load(&mut self, link: LinkId) -> f64 {
        self.resources.links[link.index()].constraint.map_or(0.0, |c| self.kernel.load(c))
    }

    /// Lets a host do one execution (or parallel task) at a time, in order of arrival.
    pub fn set_sequential(&mut self, host: HostId) {
        self.resources.hosts[host.index()].sequential = true;
    }

    /// Starts an activity now; `tag` comes back with the event that ends it.
    pub fn start(
        &mut self,
        activity: impl Into<Activity>,
        tag: u64,
    ) -> Result<ActivityId, SimulationError> {
        self.start_after(0.0, activity, tag)
    }

    /// Starts an activity now for one of several owners: its end comes back with owner and tag.
    /// Everything started otherwise belongs to the default owner.
    pub fn start_for(
        &mut self,
        owner: Owner,
        activity: impl Into<Activity>,
        tag: u64,
    ) -> Result<ActivityId, SimulationError> {
        let id = self.start_after(0.0, activity, tag)?;
        self.running[id.slot()].owner = owner;
        Ok(id)
    }

    /// Announces an activity that starts `delay` seconds from now. What it needs must be on now.
    pub fn start_after(
        &mut self,
        delay: f64,
        activity: impl Into<Activity>,
        tag: u64,
    ) -> Result<ActivityId, SimulationError> {
        let activity = activity.into();
        let mut shape = self.shape(&activity)?;
        shape.latency += delay;
        let bad = |cause: WorkError, platform: &Platform| SimulationError::BadActivity {
            activity: shape::describe(platform, &activity),
            cause: cause.to_string(),
        };
        let started = match shape.doomed {
            Some(_) => self.kernel.sleep(0.0, tag),
            None => self.kernel.start(kernel::Work {
                amount: shape.amount,
                latency: shape.latency,
                weight: shape.weight,
                bound: shape.bound,
                uses: &self.uses,
                tag,
            }),
        };
        let id = started.map_err(|cause| bad(cause, &self.platform))?;
        let needs = match shape.doomed {
            Some(_) => Vec::new(),
            None => self.exclusive_needs(&activity)?,
        };
        let queued = !needs.is_empty();
        if queued && !self.queues.enter(id, needs) {
            self.kernel.suspend(id);
        }
        if shape.doomed.is_none() {
            self.occupy_receiver(&activity, true)?;
        }
        let flow = match activity {
            Activity::Comm(transfer) if shape.doomed.is_none() => Some(transfer),
            _ => None,
        };
        let running = Running { activity, owner: Owner::default(), doomed: shape.doomed, queued };
        match self.running.get_mut(id.slot()) {
            Some(place) => *place = running,
            None => self.running.push(running),
        }
        if let (Some(infiniband), Some(Transfer { src, dst, .. })) = (&mut self.infiniband, flow) {
            let limits = infiniband.begin(id, (src, dst), shape.bound);
            self.apply_limits(limits)?;
        }
        Ok(id)
    }

    /// Ends an activity now, without an event; false when it had ended already.
    pub fn cancel(&mut self, activity: ActivityId) -> Result<bool, SimulationError> {
        if !self.kernel.cancel(activity) {
            return Ok(false);
        }
        self.after_end(activity)?;
        Ok(true)
    }

    /// Upper limit of the rate of a transfer that nothing contends, bytes/s.
    pub fn fastest(&mut self, transfer: Transfer) -> Result<f64, SimulationError> {
        Ok(self.shape(&Activity::Comm(transfer))?.bound)
    }

    /// Gives a transfer another upper limit (bytes/s) from now on; false when it had ended.
    pub fn limit_rate(&mut self, id: ActivityId, limit: f64) -> Result<bool, SimulationError> {
        if !self.kernel.is_alive(id) {
            return Ok(false);
        }
        if let Activity::Comm(transfer) = &mut self.running[id.slot()].activity {
            transfer.rate = limit;
            self.refresh(vec![id])?;
        }
        Ok(true)
    }

    fn apply_limits(&mut self, limits: Vec<(ActivityId, f64)>) -> Result<(), SimulationError> {
        for (id, limit) in limits {
            self.limit_rate(id, limit)?;
        }
        Ok(())
    }

    /// Sets an activity aside: it consumes nothing until resumed. False when it had ended.
    pub fn suspend(&mut self, activity: ActivityId) -> bool {
        self.kernel.suspend(activity)
    }

    /// Resumes a suspended activity. False when it had ended.
    pub fn resume(&mut self, activity: ActivityId) -> bool {
        if self.queues.is_waiting(activity) {
            return true;
        }
        self.kernel.resume(activity)
    }

    /// Returns the remaining work of an activity: flop, bytes, or (parallel tasks) a part between 0
    /// and 1.
    pub fn remaining(&self, activity: ActivityId) -> Option<f64> {
        self.kernel.remaining(activity)
    }

    /// Units per second of an activity now.
    pub fn rate(&mut self, activity: ActivityId) -> Option<f64> {
        self.kernel.rate(activity)
    }

    /// Advances to the next instant at which something happens, or to `until` (infinite: no
    /// limit), whichever comes first.
    pub fn step(&mut self, until: f64) -> Result<Step, SimulationError> {
        self.events.clear();
        loop {
            let change = self.profiles.next_date();
            if change == f64::INFINITY {
                let reached = self.kernel.step(until);
                self.collect_finished(&[])?;
                return match reached {
                    Ok(kernel::Step::Instant) => Ok(Step::Instant),
                    Ok(kernel::Step::Limit) => Ok(Step::Limit),
                    Ok(kernel::Step::Idle) => Ok(Step::Idle),
                    Err(stalled) => Err(self.explain(&stalled)),
                };
            }
            if until == f64::INFINITY && self.kernel.alive() == 0 {
                return Ok(Step::Idle);
            }
            let due = self.kernel.next_date();
            if until == f64::INFINITY {
                self.watch_for_calm(due)?;
            }
            // What ends at the date of a change ends with it, unless the change lets it fail.
            let together = due <= change * (1.0 + SIMULTANEOUS);
            let target = if together { due.min(until) } else { change.min(until) };
            self.kernel.step(target).map_err(|stalled| self.explain(&stalled))?;
            let changes = self.changes_due();
            let spoilt = self.collect_finished(&changes)?;
            for &(subject, value) in &changes {
                self.change(subject, value, &spoilt)?;
            }
            if !self.events.is_empty() {
                return Ok(Step::Instant);
            }
            if self.clock() >= until {
                return Ok(Step::Limit);
            }
        }
    }

    /// Returns the events of the instant reached by the last [`Simulation::step`]: endings in order
    /// of starting, then changes of the platform, each followed by the failures it causes (those
    /// that would have ended now first, each group in order of starting).
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the events of that instant that concern an owner: ends of its own activities,
    /// and all changes of the platform.
    pub fn events_of(&self, owner: Owner) -> impl Iterator<Item = &Event> + '_ {
        self.events.iter().filter(move |event| match event {
            Event::Done { owner: whose, .. } | Event::Failed { owner: whose, .. } => {
                *whose == owner
            }
            _ => true,
        })
    }

    /// Books what has ended; gives those that fail instead, because something they need goes off with
    /// one of the changes of this date.
    fn collect_finished(
        &mut self,
        changes: &[(Subject, f64)],
    ) -> Result<Vec<Spoilt>, SimulationError> {
        let mut spoilt = Vec::new();
        for k in 0..self.kernel.finished().len() {
            let kernel::Finished { activity, tag } = self.kernel.finished()[k];
            let owner = self.running[activity.slot()].owner;
            match (self.running[activity.slot()].doomed, self.spoils(changes, activity)?) {
                (Some(cause), _) => self.events.push(Event::Failed { activity, owner, tag, cause }),
                (None, Some(cause)) => spoilt.push(Spoilt { activity, owner, tag, cause }),
                (None, None) => self.events.push(Event::Done { activity, owner, tag }),
            }
            self.after_end(activity)?;
        }
        Ok(spoilt)
    }

    /// The first of some changes that takes away what an activity needs.
    fn spoils(
        &mut self,
        changes: &[(Subject, f64)],
        activity: ActivityId,
    ) -> Result<Option<Cause>, SimulationError> {
        for &(subject, _) in changes.iter().filter(|(_, value)| *value <= 0.0) {
            match subject {
                Subject::HostState(host)
                    if self.host_is_on(host) && self.needs_host(activity, host) =>
                {
                    return Ok(Some(Cause::HostOff(host)));
                }
                Subject::LinkState(link)
                    if self.link_is_on(link) && self.crosses(activity, link)? =>
                {
                    return Ok(Some(Cause::LinkOff(link)));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Frees what an activity occupied exclusively.
    fn after_end(&mut self, activity: ActivityId) -> Result<(), SimulationError> {
        if self.running[activity.slot()].queued {
            for next in self.queues.leave(activity) {
                self.kernel.resume(next);
            }
        }
        if let Some(infiniband) = &mut self.infiniband {
            let limits = infiniband.end(activity);
            self.apply_limits(limits)?;
        }
        if self.models.receiving_occupies_core && self.running[activity.slot()].doomed.is_none() {
            let ended = self.running[activity.slot()].activity.clone();
            self.occupy_receiver(&ended, false)?;
        }
        Ok(())
    }

    fn occupy_receiver(&mut self, activity: &Activity, busy: bool) -> Result<(), SimulationError> {
        let Activity::Comm(Transfer { src, dst, .. }) = *activity else { return Ok(()) };
        if !self.models.receiving_occupies_core || src == dst {
            return Ok(());
        }
        let state = &mut self.resources.hosts[dst.index()];
        state.receiving = if busy { state.receiving + 1 } else { state.receiving - 1 };
        let constraint = state.constraint;
        let capacity = self.resources.host_capacity(&self.platform, dst);
        Ok(self.kernel.set_capacity(constraint, capacity)?)
    }

    /// Resources an activity uses alone: host h is h, link l comes after all hosts.
    fn exclusive_needs(&mut self, activity: &Activity) -> Result<Vec<u32>, SimulationError> {
        let sequential = |host: &HostId| self.resources.hosts[host.index()].sequential;
        Ok(match activity {
            Activity::Exec(exec) if sequential(&exec.host) => vec![exec.host.0],
            Activity::Ptask(task) => {
                let hosts = task.hosts.iter().filter(|h| sequential(h)).map(|h| h.0);
                hosts.collect::<BTreeSet<u32>>().into_iter().collect()
            }
            Activity::Comm(transfer) if self.models.network == NetworkModel::Fifo => {
                let hosts = self.resources.hosts.len() as u32;
                let links = self.network.links(&self.platform, transfer.src, transfer.dst)?;
                links.iter().map(|link| hosts + link.0).collect()
            }
            _ => Vec::new(),
        })
    }

    /// Applies all changes of the platform that are due.
    fn play_profiles(&mut self) -> Result<(), SimulationError> {
        for (subject, value) in self.changes_due() {
            self.change(subject, value, &[])?;
        }
        Ok(())
    }

    /// The changes of the platform at this date.
    fn changes_due(&mut self) -> Vec<(Subject, f64)> {
        let horizon = self.clock() * (1.0 + SIMULTANEOUS);
        std::iter::from_fn(|| self.profiles.pop(horizon)).collect()
    }

    /// Applies a change; what would have ended and is spoilt by it fails first.
    fn change(
        &mut self,
        subject: Subject,
        value: f64,
        spoilt: &[Spoilt],
    ) -> Result<(), SimulationError> {
        match subject {
            Subject::HostSpeed(host) => {
                let speed = self.platform.host(host).speed * value;
                self.resources.hosts[host.index()].speed = speed;
                let constraint = self.resources.hosts[host.index()].constraint;
                let capacity = self.resources.host_capacity(&self.platform, host);
                self.kernel.set_capacity(constraint, capacity)?;
                self.events.push(Event::HostSpeed { host, speed });
                self.refresh_users(constraint)?;
            }
            Subject::HostState(host) => {
                let on = value > 0.0;
                if std::mem::replace(&mut self.resources.hosts[host.index()].on, on) != on {
                    self.events.push(Event::HostState { host, on });
                    if !on {
                        self.fail_spoilt(Cause::HostOff(host), spoilt);
                        self.fail_if(Cause::HostOff(host), |s, id| s.needs_host(id, host))?;
                    }
                }
            }
            Subject::LinkBandwidth(link) => {
                let factor = self.models.link_factor();
                let state = &mut self.resources.links[link.index()];
                state.bandwidth = value;
                let (constraint, shared) = (state.constraint, state.shared);
                self.network.invalidate();
                self.events.push(Event::LinkBandwidth { link, bandwidth: value });
                if let Some(constraint) = constraint {
                    if shared {
                        self.kernel.set_capacity(constraint, factor * value)?;
                    }
                    self.refresh_users(constraint)?;
                }
                let lone = self.lone_transfers_over(link)?;
                self.refresh(lone)?;
            }
            Subject::LinkLatency(link) => {
                self.resources.links[link.index()].latency = value;
                self.network.invalidate();
                self.events.push(Event::LinkLatency { link, latency: value });
                if let Some(constraint) = self.resources.links[link.index()].constraint {
                    self.refresh_users(constraint)?;
                }
            }
            Subject::LinkState(link) => {
                let on = value > 0.0;
                if std::mem::replace(&mut self.resources.links[link.index()].on, on) != on {
                    self.network.invalidate();
                    self.events.push(Event::LinkState { link, on });
                    let constraint = self.resources.links[link.index()].constraint;
                    if !on {
                        self.fail_spoilt(Cause::LinkOff(link), spoilt);
                        let lone = self.lone_transfers_over(link)?;
                        self.fail_if(Cause::LinkOff(link), |s, id| {
                            let uses = |c: kernel::ConstraintId| {
                                s.kernel.uses(id).any(|used| used.constraint == c.0)
                            };
                            lone.contains(&id) || constraint.is_some_and(uses)
                        })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Fails what would have ended now, but for this cause.
    fn fail_spoilt(&mut self, cause: Cause, spoilt: &[Spoilt]) {
        let hit = spoilt.iter().filter(|spoilt| spoilt.cause == cause);
        let failed =
            |s: &Spoilt| Event::Failed { activity: s.activity, owner: s.owner, tag: s.tag, cause };
        self.events.extend(hit.map(failed));
    }

    /// Fails every activity that meets a condition, in order of starting.
    fn fail_if(
        &mut self,
        cause: Cause,
        hit: impl Fn(&Self, ActivityId) -> bool,
    ) -> Result<(), SimulationError> {
        let mut failing: Vec<(u64, ActivityId, u64)> = self
            .kernel
            .activities()
            .filter(|&(id, _)| hit(self, id))
            .map(|(id, tag)| (self.kernel.sequence(id), id, tag))
            .collect();
        failing.sort_unstable_by_key(|&(sequence, ..)| sequence);
        for (_, activity, tag) in failing {
            self.kernel.cancel(activity);
            self.after_end(activity)?;
            let owner = self.running[activity.slot()].owner;
            self.events.push(Event::Failed { activity, owner, tag, cause });
        }
        Ok(())
    }

    /// A simulation in which nothing has a date any more and only profiles go round is stalled.
    fn watch_for_calm(&mut self, due: f64) -> Result<(), SimulationError> {
        if due < f64::INFINITY || self.kernel.alive() == 0 {
            self.becalmed_since = None;
            return Ok(());
        }
        let since = *self.becalmed_since.get_or_insert(self.clock());
        if self.clock() - since > 2.0 * self.profiles.horizon {
            return Err(self.explain(&self.kernel.stalled()));
        }
        Ok(())
    }

    fn explain(&self, stalled: &kernel::Stalled) -> SimulationError {
        const SHOWN: usize = 10;
        let mut waiting: Vec<String> = Vec::new();
        for &(id, _, holder) in stalled.waiting.iter().take(SHOWN) {
            let activity = shape::describe(&self.platform, &self.running[id.slot()].activity);
            waiting.push(match holder.map(|c| self.resources.owners[c.0 as usize]) {
                _ if self.queues.is_waiting(id) => format!("{activity} waits for its turn"),
                Some(holder) => {
                    format!("{activity} gets nothing from {}", self.holder_name(holder))
                }
                None => format!("{activity} is suspended or has no rate"),
            });
        }
        if stalled.waiting.len() > SHOWN {
            waiting.push(format!("and {} more", stalled.waiting.len() - SHOWN));
        }
        SimulationError::Stalled { date: stalled.date, waiting }
    }

    fn holder_name(&self, holder: Holder) -> String {
        match holder {
            Holder::Host(host) => format!("host `{}`", self.platform.host(host).name),
            Holder::Link(link) => format!("link `{}`", self.platform.link(link).name),
            Holder::Disk(disk) => format!("disk `{}`", self.platform.disk(disk).name),
        }
    }
}
