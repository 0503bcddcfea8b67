//! Platforms: machines and the network between them.
//!
//! A [`Platform`] is built once by a [`PlatformBuilder`] and never changes. Its network is
//! either a [`Matrix`] of bandwidths and latencies or a tree of [`Zone`]s with links; routes
//! through the zones are found on demand by a [`RouteCache`] that the user owns. Planners ask for
//! [`Platform::planning_network`] instead.

mod batch;
mod bottlenecks;
mod builder;
mod change;
mod charges;
mod classes;
mod cluster;
mod contents;
mod dragonfly;
mod error;
mod fat_tree;
mod host;
mod link;
mod matrix;
mod pairwise;
mod planning;
mod profile;
mod rewire;
mod route;
mod shortest;
mod spec;
mod star;
mod storage;
mod torus;
mod vivaldi;
mod zone;

pub use batch::BatchOptions;
pub use bottlenecks::Bottlenecks;
pub use builder::PlatformBuilder;
pub use change::Change;
pub use charges::{Band, Charges, Contention, Way, WayLink};
pub use cluster::{
    CLUSTER_LIMIT, CORE_LIMIT, ClusterSharing, ClusterSpec, LinkShape, PLATFORM_CORE_LIMIT,
    Topology,
};
pub use contents::Contents;
pub use error::{PlatformError, RouteError};
pub use host::{Billing, Class, Disk, Host, Properties};
pub use link::{Duplex, Link, Sharing};
pub use matrix::Matrix;
pub use planning::PlanningNetwork;
pub use profile::{
    LATEST, LEAST_GAP, Profile, ProfileCursor, ProfileError, ProfileEvent, ProfileIter,
};
pub use rewire::Figures;
pub use route::{Route, RouteCache, RouteId};
pub use spec::{HostSpec, LinkProfiles, LinkSpec};
pub use star::StarLeaf;
pub use storage::{DiskModel, DiskSegment, DiskSide, StockDisk};
pub use zone::{DeclaredRoute, Member, NetworkRouter, RoutingKind, Zone};

use crate::resources::{SharedResource, ZoneResource};
use crate::scenario::World;
use crate::{ClassId, DiskId, HostId, LinkId, RouterId, ZoneId};
use std::collections::HashMap;
use std::sync::Arc;

/// The network between hosts.
#[derive(Clone, Debug, PartialEq)]
pub enum Network {
    /// A bandwidth and a latency per pair of hosts; no links.
    Matrix(Matrix),
    /// Links and routes, declared or computed zone by zone.
    Zones,
}

/// Machines and the network between them.
#[derive(Clone, Debug)]
pub struct Platform {
    name: String,
    // Indexed by the ids of their kind.
    hosts: Vec<Host>,
    classes: Vec<Class>,
    links: Vec<Link>,
    disks: Vec<Disk>,
    routers: Vec<NetworkRouter>,
    zones: Vec<Zone>,
    network: Network,
    origin: Option<HostId>,
    fifo: bool,
    resources: Vec<SharedResource>,
    /// Bytes of all files together; none where that is not bounded.
    storage: Option<f64>,
    batch: Option<Arc<BatchOptions>>,
    zone_resources: Vec<ZoneResource>,
    measured: bool,
    /// Per host: the first host of its place; empty where every host is a place of its own.
    place_of: Vec<HostId>,
    /// Per host: the zones around it that charge for data that leave them, with the price of a byte;
    /// empty where none does.
    tolls: Vec<Vec<(ZoneId, f64)>>,
    members: HashMap<Arc<str>, Member>,
    link_names: HashMap<Arc<str>, LinkId>,
}

impl Platform {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All hosts, by id.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Whether anything costs money.
    pub fn is_priced(&self) -> bool {
        self.prices_transfers() || self.hosts.iter().any(|host| host.price > 0.0)
    }

    /// Whether there are machines that have to be leased before they compute.
    pub fn has_leasable(&self) -> bool {
        self.classes().iter().any(|class| class.leasable)
    }

    /// Whether data that leaves some cluster or site costs money.
    pub fn prices_transfers(&self) -> bool {
        !self.tolls.is_empty()
    }

    /// Money per byte that moves between two hosts: the sum of the prices of the zones that it leaves.
    pub fn transfer_price(&self, from: HostId, to: HostId) -> f64 {
        if self.tolls.is_empty() {
            return 0.0;
        }
        let stays = |zone: ZoneId| self.tolls[to.index()].iter().any(|(z, _)| *z == zone);
        self.tolls[from.index()].iter().filter(|(z, _)| !stays(*z)).map(|(_, price)| price).sum()
    }

    /// One host.
    #[inline]
    pub fn host(&self, id: HostId) -> &Host {
        &self.hosts[id.index()]
    }

    /// The host of that name.
    pub fn host_named(&self, name: &str) -> Option<HostId> {
        match self.members.get(name) {
            Some(&Member::Host(host)) => Some(host),
            _ => None,
        }
    }

    /// The ids of all hosts.
    pub fn host_ids(&self) -> impl ExactSizeIterator<Item = HostId> + use<> {
        (0..self.hosts.len() as u32).map(HostId)
    }

    /// All classes of identical machines, by id; numbered by their first host.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// One class.
    #[inline]
    pub fn class(&self, id: ClassId) -> &Class {
        &self.classes[id.index()]
    }

    /// All links, by id.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// One link.
    #[inline]
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// The link of that name; the halves of a split-duplex link are named `..._UP` and `..._DOWN`.
    pub fn link_named(&self, name: &str) -> Option<LinkId> {
        self.link_names.get(name).copied()
    }

    /// All disks, by id.
    pub fn disks(&self) -> &[Disk] {
        &self.disks
    }

    /// One disk.
    #[inline]
    pub fn disk(&self, id: DiskId) -> &Disk {
        &self.disks[id.index()]
    }

    /// All routers, by id.
    pub fn routers(&self) -> &[NetworkRouter] {
        &self.routers
    }

    /// One router.
    #[inline]
    pub fn router(&self, id: RouterId) -> &NetworkRouter {
        &self.routers[id.index()]
    }

    /// All zones, by id; a zone comes after the zone around it, the root first.
    pub fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// One zone.
    #[inline]
    pub fn zone(&self, id: ZoneId) -> &Zone {
        &self.zones[id.index()]
    }

    /// The host, router or zone of that name.
    pub fn member_named(&self, name: &str) -> Option<Member> {
        self.members.get(name).copied()
    }

    /// The name of a host, router or zone.
    pub fn member_name(&self, member: Member) -> &str {
        match member {
            Member::Host(host) => &self.host(host).name,
            Member::Router(router) => &self.router(router).name,
            Member::Zone(zone) => &self.zone(zone).name,
        }
    }

    /// The same platform whose hosts and links have the levels and outages of a scenario. Connections of a
    /// matrix network are no links and do not change; see [`linked_pairwise`](Self::linked_pairwise).
    pub fn in_world(&self, world: &World) -> Platform {
        let mut platform = self.clone().with_host_courses(world);
        for (link, course) in platform.links.iter_mut().zip(&world.links) {
            let absolute = |share: &Arc<Profile>| Arc::new(share.scaled(link.bandwidth));
            link.bandwidth_profile = course.bandwidth.as_ref().map(absolute);
            link.state = course.state.clone();
        }
        platform
    }

    /// The same platform under a scenario, with a link for every connection of its matrix network, so that
    /// connections can change and be busy. Without a matrix the same as [`in_world`](Self::in_world).
    pub fn linked_pairwise(&self, world: &World) -> Result<Platform, PlatformError> {
        match &self.network {
            Network::Matrix(matrix) => {
                let mut linked = pairwise::linked(self, matrix, world)?;
                // The one zone of the copy has none of the properties of the zones it replaces.
                linked.place_of.clone_from(&self.place_of);
                linked.tolls.clone_from(&self.tolls);
                linked.resources.clone_from(&self.resources);
                linked.storage = self.storage;
                linked.batch.clone_from(&self.batch);
                linked.zone_resources.clone_from(&self.zone_resources);
                Ok(linked.with_host_courses(world))
            }
            Network::Zones => Ok(self.in_world(world)),
        }
    }

    /// The same platform with everything at its nominal level and on; none where nothing changes anyway.
    pub fn steady(&self) -> Option<Platform> {
        let changes =
            |p: &Option<Arc<Profile>>| p.as_ref().is_some_and(|p| p.constant_value().is_none());
        let mut platform = self.clone();
        let mut changed = false;
        let mut still = |profile: &mut Option<Arc<Profile>>| {
            if changes(profile) {
                (*profile, changed) = (None, true);
            }
        };
        for host in &mut platform.hosts {
            still(&mut host.availability);
            still(&mut host.state);
        }
        for link in &mut platform.links {
            still(&mut link.bandwidth_profile);
            still(&mut link.latency_profile);
            still(&mut link.state);
        }
        changed.then_some(platform)
    }

    fn with_host_courses(mut self, world: &World) -> Platform {
        for (host, course) in self.hosts.iter_mut().zip(&world.hosts) {
            host.availability = course.availability.clone();
            host.state = course.state.clone();
        }
        self
    }

    /// The network between hosts.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The host that holds the inputs of a workflow at the start, if the description names one.
    pub fn origin(&self) -> Option<HostId> {
        self.origin
    }

    /// Whether a link serves one transfer at a time, for its latency and its size over the
    /// bandwidth, and nothing else takes part of it.
    pub fn is_fifo(&self) -> bool {
        self.fifo
    }

    /// Whether latencies and bandwidths were measured with whole transfers: a lone transfer takes just
    /// these, and no model adds factors, windows or acknowledgements.
    pub fn is_measured(&self) -> bool {
        self.measured
    }

    /// The place for data that a host belongs to, identified by the first of its hosts: the host itself,
    /// or the outermost cluster or site around it whose hosts share their storage. A file that is brought to
    /// a place is there for all its hosts at once, and outlives each of them.
    #[inline]
    pub fn place_of(&self, host: HostId) -> HostId {
        if self.place_of.is_empty() { host } else { self.place_of[host.index()] }
    }

    /// The hosts of a place, given by any of them.
    pub fn hosts_of_place(&self, host: HostId) -> Vec<HostId> {
        if self.place_of.is_empty() {
            return vec![host];
        }
        let place = self.place_of(host);
        self.host_ids().filter(|&h| self.place_of(h) == place).collect()
    }

    /// Capacity in bytes of the storage that a host shares with others; none where it is not bounded or
    /// the host shares none.
    pub fn storage_of(&self, host: HostId) -> Option<f64> {
        let mut found = None;
        let mut around = Some(self.host(host).zone);
        while let Some(zone) = around.map(|id| self.zone(id)) {
            if zone.shared_storage {
                found = zone.storage_capacity; // the outermost wins, as for `place_of`
            }
            around = zone.parent;
        }
        found
    }

    /// Options of the batch jobs through which its hosts are reached.
    pub fn batch(&self) -> Option<&BatchOptions> {
        self.batch.as_deref()
    }

    /// Named resources that all hosts share.
    pub fn resources(&self) -> &[SharedResource] {
        &self.resources
    }

    /// Named resources that the hosts of a zone share, zone by zone.
    pub fn zone_resources(&self) -> &[ZoneResource] {
        &self.zone_resources
    }

    /// Bytes that all files of the platform together may take, if that is bounded.
    pub fn storage(&self) -> Option<f64> {
        self.storage
    }

    /// Whether some place has devices, named resources or windows.
    pub fn has_resources(&self) -> bool {
        !self.resources.is_empty()
            || self.hosts.iter().any(|host| host.resources.is_some())
            || !self.zone_resources.is_empty()
    }

    /// Whether some hosts share their storage.
    pub fn shares_storage(&self) -> bool {
        !self.place_of.is_empty()
    }

    /// The host of every processor, that is of every core, in the order planners number them.
    pub fn host_of_procs(&self) -> impl Iterator<Item = HostId> + '_ {
        let hosts = (0..self.hosts.len()).map(HostId::new);
        hosts.flat_map(|h| std::iter::repeat_n(h, self.host(h).cores as usize))
    }

    /// Number of cores of all hosts together.
    pub fn total_cores(&self) -> u64 {
        self.hosts.iter().map(|host| u64::from(host.cores)).sum()
    }
}
