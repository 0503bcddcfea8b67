//! The state of hosts, links and disks during a simulation, and the profiles that change it.

use super::SimulationError;
use crate::kernel::{ConstraintId, Kernel};
use crate::models::Models;
use slackline_model::platform::{DiskModel, Platform, Profile, ProfileCursor, Sharing};
use slackline_model::{DiskId, HostId, LinkId};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(super) struct HostState {
    pub(super) constraint: ConstraintId,
    /// Flop/s of one core now.
    pub(super) speed: f64,
    pub(super) on: bool,
    /// Whether it runs one activity at a time.
    pub(super) sequential: bool,
    /// Cores that are busy because of incoming transfers.
    pub(super) receiving: u32,
}

#[derive(Clone, Debug)]
pub(super) struct LinkState {
    /// None for a fatpipe that never changes: it is a bound of each flow, and no change has to find its flows.
    pub(super) constraint: Option<ConstraintId>,
    pub(super) shared: bool,
    /// Bytes/s now.
    pub(super) bandwidth: f64,
    /// Seconds now.
    pub(super) latency: f64,
    pub(super) on: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct DiskState {
    pub(super) read: ConstraintId,
    pub(super) write: ConstraintId,
    pub(super) connection: Option<ConstraintId>,
    /// Durations are drawn: its sides are not shared.
    pub(super) drawn: bool,
}

/// The resource that a constraint of the kernel represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    Host(HostId),
    Link(LinkId),
    Disk(DiskId),
}

/// The quantity that a profile changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    HostSpeed(HostId),
    HostState(HostId),
    LinkBandwidth(LinkId),
    LinkLatency(LinkId),
    LinkState(LinkId),
}

/// Hosts, links and disks as they are now.
#[derive(Clone, Debug)]
pub(super) struct Resources {
    pub(super) hosts: Vec<HostState>,
    pub(super) links: Vec<LinkState>,
    pub(super) disks: Vec<DiskState>,
    /// Per constraint of the kernel: its resource.
    pub(super) owners: Vec<Holder>,
    /// Whether any link can be off, or have another bandwidth or latency than nominal.
    pub(super) links_change: bool,
}

impl Resources {
    pub(super) fn new(
        platform: &Platform,
        models: &Models,
        kernel: &mut Kernel,
    ) -> Result<Resources, SimulationError> {
        let mut owners = Vec::with_capacity(platform.hosts().len() + platform.links().len());
        let mut hosts = Vec::with_capacity(platform.hosts().len());
        for (k, host) in platform.hosts().iter().enumerate() {
            owners.push(Holder::Host(HostId::new(k)));
            hosts.push(HostState {
                constraint: kernel.add_constraint(f64::from(host.cores) * host.speed)?,
                speed: host.speed,
                on: true,
                sequential: false,
                receiving: 0,
            });
        }
        let factor = models.link_factor();
        let mut links = Vec::with_capacity(platform.links().len());
        let mut links_change = false;
        for (k, link) in platform.links().iter().enumerate() {
            let changes = link.bandwidth_profile.is_some()
                || link.latency_profile.is_some()
                || link.state.is_some();
            links_change |= changes;
            let shared = link.sharing == Sharing::Shared;
            let constraint = if shared || changes {
                let capacity = if shared { factor * link.bandwidth } else { f64::INFINITY };
                owners.push(Holder::Link(LinkId::new(k)));
                Some(kernel.add_constraint(capacity)?)
            } else {
                None
            };
            let (bandwidth, latency) = (link.bandwidth, link.latency);
            links.push(LinkState { constraint, shared, bandwidth, latency, on: true });
        }
        let mut disks = Vec::with_capacity(platform.disks().len());
        for (k, disk) in platform.disks().iter().enumerate() {
            let mut add = |steps: &[f64]| {
                owners.push(Holder::Disk(DiskId::new(k)));
                match steps {
                    [capacity] => kernel.add_constraint(*capacity),
                    _ => kernel.add_stepped_constraint(steps),
                }
            };
            let (read, write) = match &disk.model {
                DiskModel::Concurrency { read, write } => (add(read)?, add(write)?),
                _ => (add(&[disk.read_bandwidth])?, add(&[disk.write_bandwidth])?),
            };
            disks.push(DiskState {
                read,
                write,
                connection: disk.connection_bandwidth.map(|rate| add(&[rate])).transpose()?,
                drawn: matches!(disk.model, DiskModel::Stochastic { .. }),
            });
        }
        Ok(Resources { hosts, links, disks, owners, links_change })
    }

    /// Flop/s of the cores of a host that are free for executions.
    pub(super) fn host_capacity(&self, platform: &Platform, host: HostId) -> f64 {
        let state = &self.hosts[host.index()];
        let cores = platform.host(host).cores.saturating_sub(state.receiving);
        f64::from(cores) * state.speed
    }
}

/// The next event of one profile.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Upcoming {
    date: f64,
    value: f64,
    player: u32,
}

impl Eq for Upcoming {}
impl PartialOrd for Upcoming {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Upcoming {
    fn cmp(&self, other: &Self) -> Ordering {
        self.date.total_cmp(&other.date).then(self.player.cmp(&other.player))
    }
}

/// All profiles of a platform, played in order of date.
#[derive(Clone, Debug)]
pub(super) struct Profiles {
    players: Vec<(Subject, Arc<Profile>, ProfileCursor)>,
    heap: BinaryHeap<Reverse<Upcoming>>,
    /// Seconds after which every profile has ended or repeated at least once.
    pub(super) horizon: f64,
}

impl Profiles {
    pub(super) fn new(platform: &Platform) -> Self {
        let mut profiles = Profiles { players: Vec::new(), heap: BinaryHeap::new(), horizon: 0.0 };
        for (k, host) in platform.hosts().iter().enumerate() {
            profiles.add(Subject::HostSpeed(HostId::new(k)), host.availability.as_ref());
            profiles.add(Subject::HostState(HostId::new(k)), host.state.as_ref());
        }
        for (k, link) in platform.links().iter().enumerate() {
            profiles.add(Subject::LinkBandwidth(LinkId::new(k)), link.bandwidth_profile.as_ref());
            profiles.add(Subject::LinkLatency(LinkId::new(k)), link.latency_profile.as_ref());
            profiles.add(Subject::LinkState(LinkId::new(k)), link.state.as_ref());
        }
        profiles.restart();
        profiles
    }

    fn add(&mut self, subject: Subject, profile: Option<&Arc<Profile>>) {
        if let Some(profile) = profile {
            let last = profile.events().last().map_or(0.0, |event| event.date);
            self.horizon = self.horizon.max(profile.period().unwrap_or(last)).max(last);
            self.players.push((subject, Arc::clone(profile), ProfileCursor::default()));
        }
    }

    /// Returns all profiles to their start.
    pub(super) fn restart(&mut self) {
        self.heap.clear();
        for player in 0..self.players.len() {
            self.players[player].2 = ProfileCursor::default();
            self.advance(player as u32);
        }
    }

    /// Date of the next change; infinite when there is none.
    #[inline]
    pub(super) fn next_date(&self) -> f64 {
        self.heap.peek().map_or(f64::INFINITY, |next| next.0.date)
    }

    /// Returns the quantities that will still change, each with whether its profile ends (does not repeat).
    pub(super) fn upcoming(&self) -> impl Iterator<Item = (Subject, bool)> + '_ {
        self.heap.iter().map(|Reverse(next)| {
            let (subject, profile, _) = &self.players[next.player as usize];
            (*subject, profile.period().is_none())
        })
    }

    /// Takes the next change with a date of at most `horizon`, in order of date; equal dates in the order of hosts before
    /// links.
    pub(super) fn pop(&mut self, horizon: f64) -> Option<(Subject, f64)> {
        if self.next_date() > horizon {
            return None;
        }
        let Reverse(Upcoming { value, player, .. }) = self.heap.pop()?;
        self.advance(player);
        Some((self.players[player as usize].0, value))
    }

    fn advance(&mut self, player: u32) {
        let (_, profile, cursor) = &mut self.players[player as usize];
        if let Some(event) = profile.next_event(cursor) {
            self.heap.push(Reverse(Upcoming { date: event.date, value: event.value, player }));
        }
    }
}
