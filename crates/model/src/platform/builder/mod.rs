//! Building a platform, element by element; what cannot be right is refused on the spot with
//! the name of the element.

mod reopen;
mod routing;

use super::classes::{ClassWish, classify};
use super::cluster::{CORE_LIMIT, ClusterSpec, PLATFORM_CORE_LIMIT};
use super::error::{PlatformError, not_negative, positive};
use super::host::{Billing, Disk, Host, Properties};
use super::link::{Duplex, Link};
use super::matrix::Matrix;
use super::profile::Profile;
use super::shortest::Graph;
use super::spec::{HostSpec, LinkProfiles, LinkSpec};
use super::star::Star;
use super::vivaldi::Vivaldi;
use super::zone::{Member, NetworkRouter, RouteTable, Routing, RoutingKind, Zone};
use super::{BatchOptions, Network, Platform};
use crate::resources::{Amount, SharedResource, ZoneResource};
use crate::{ClassId, DiskId, HostId, LinkId, RouterId, ZoneId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Zones nested deeper than this are refused.
const DEPTH_LIMIT: u32 = 64;

/// Bytes that a transfer price is for.
const GIGABYTE: f64 = 1e9;

/// Collects the elements of a platform.
#[derive(Clone, Default)]
pub struct PlatformBuilder {
    name: String,
    hosts: Vec<Host>,
    host_class: Vec<ClassWish>,
    links: Vec<Link>,
    disks: Vec<Disk>,
    routers: Vec<NetworkRouter>,
    zones: Vec<Zone>,
    zone_hosts: Vec<u32>,
    matrix: Option<Matrix>,
    billing: Billing,
    origin: Option<HostId>,
    fifo: bool,
    resources: Vec<SharedResource>,
    storage: Option<f64>,
    batch: Option<Arc<BatchOptions>>,
    measured: bool,
    members: HashMap<Arc<str>, Member>,
    link_names: HashMap<Arc<str>, LinkId>,
    disk_names: HashSet<(HostId, Arc<str>)>,
    fat_tree_cables: u32,
    dragonfly_links: u32,
}

impl PlatformBuilder {
    /// An empty platform.
    pub fn new(name: impl Into<String>) -> Self {
        PlatformBuilder { name: name.into(), ..Self::default() }
    }

    /// Makes the network a matrix; the zones then only label the hosts.
    pub fn set_matrix(&mut self, matrix: Matrix) -> &mut Self {
        self.matrix = Some(matrix);
        self
    }

    /// Sets the billing of hosts that state none.
    pub fn set_billing(&mut self, billing: Billing) -> &mut Self {
        self.billing = billing;
        self
    }

    /// Names the host that holds the inputs of workflows.
    pub fn set_origin(&mut self, host: HostId) -> &mut Self {
        self.origin = Some(host);
        self
    }

    /// Links serve one transfer at a time.
    pub fn set_fifo(&mut self) -> &mut Self {
        self.fifo = true;
        self
    }

    /// Latencies and bandwidths are those of whole transfers.
    pub fn set_measured(&mut self) -> &mut Self {
        self.measured = true;
        self
    }

    /// The root zone; made on first use, with no routing, if no zone was added before.
    pub fn root(&mut self) -> Result<ZoneId, PlatformError> {
        if self.zones.is_empty() {
            let name = if self.name.is_empty() { "platform".into() } else { self.name.clone() };
            return self.add_zone(None, name, RoutingKind::None);
        }
        Ok(ZoneId(0))
    }

    /// Adds a zone inside `parent`; the first zone is the root and has none.
    pub fn add_zone(
        &mut self,
        parent: Option<ZoneId>,
        name: impl Into<String>,
        routing: RoutingKind,
    ) -> Result<ZoneId, PlatformError> {
        let name = name.into();
        let depth = match parent {
            None if self.zones.is_empty() => 0,
            None => {
                let message = "a platform has one root zone, every other one is inside a zone";
                return Err(PlatformError::invalid(format!("zone \"{name}\""), message));
            }
            Some(parent) => self.zones[parent.index()].depth + 1,
        };
        if depth > DEPTH_LIMIT {
            let message = format!("zones are nested deeper than {DEPTH_LIMIT}");
            return Err(PlatformError::invalid(format!("zone \"{name}\""), message));
        }
        let id = ZoneId::new(self.zones.len());
        let name = self.claim_member("zone", name, Member::Zone(id))?;
        if let Some(parent) = parent {
            self.number_in_floyd(parent, Member::Zone(id));
        }
        let routing = match routing {
            RoutingKind::None => Routing::None,
            RoutingKind::Full => Routing::Full(RouteTable::default()),
            RoutingKind::Floyd => Routing::Floyd(RouteTable::default(), Graph::default()),
            RoutingKind::Dijkstra => Routing::Dijkstra(RouteTable::default(), Graph::default()),
            RoutingKind::Star => Routing::Star(Star::default()),
            RoutingKind::Vivaldi => Routing::Vivaldi(Vivaldi::default()),
        };
        let bypass = RouteTable::default();
        self.zones.push(Zone {
            name,
            parent,
            depth,
            properties: None,
            shared_storage: false,
            transfer_price: 0.0,
            storage_capacity: None,
            resources: Vec::new(),
            cluster: None,
            routing,
            bypass,
        });
        self.zone_hosts.push(0);
        Ok(id)
    }

    /// Adds a host to a zone.
    pub fn add_host(&mut self, zone: ZoneId, spec: HostSpec) -> Result<HostId, PlatformError> {
        let element = || format!("host \"{}\"", spec.name);
        positive(element, "speed", spec.speed)?;
        not_negative(element, "price", spec.price)?;
        if spec.cores > CORE_LIMIT {
            let message = format!("{} cores; at most {CORE_LIMIT} are possible", spec.cores);
            return Err(PlatformError::invalid(element(), message));
        }
        if let Some(memory) = spec.memory {
            positive(element, "memory", memory)?;
        }
        if let Some(why) = spec.resources.problem() {
            return Err(PlatformError::invalid(element(), why));
        }
        if let Some(billing) = &spec.billing {
            check_billing(element, billing)?;
        }
        let id = HostId::new(self.hosts.len());
        let name = self.claim_member("host", spec.name, Member::Host(id))?;
        self.number_in_floyd(zone, Member::Host(id));
        let rank = self.zone_hosts[zone.index()];
        self.zone_hosts[zone.index()] += 1;
        self.host_class.push((spec.class, spec.leasable, spec.billing));
        self.hosts.push(Host {
            name,
            cores: spec.cores,
            speed: spec.speed,
            price: spec.price,
            memory: spec.memory,
            resources: (!spec.resources.is_empty()).then(|| Arc::new(spec.resources)),
            core_names: (spec.core_names.len() == spec.cores as usize && spec.cores > 0)
                .then(|| spec.core_names.into()),
            arch: spec.arch.map(Into::into),
            class: ClassId(u32::MAX), // given by `build`
            zone,
            rank,
            availability: spec.availability,
            state: spec.state,
            properties: spec.properties,
        });
        Ok(id)
    }

    /// Adds a router to a zone.
    pub fn add_router(
        &mut self,
        zone: ZoneId,
        name: impl Into<String>,
    ) -> Result<RouterId, PlatformError> {
        let id = RouterId::new(self.routers.len());
        let name = self.claim_member("router", name.into(), Member::Router(id))?;
        self.number_in_floyd(zone, Member::Router(id));
        self.routers.push(NetworkRouter { name, zone, coordinates: None });
        Ok(id)
    }

    /// Adds a link; of a split-duplex link the half named `..._UP` is returned and the other
    /// half has the next id.
    pub fn add_link(&mut self, spec: LinkSpec) -> Result<LinkId, PlatformError> {
        let element = || format!("link \"{}\"", spec.name);
        positive(element, "bandwidth", spec.bandwidth)?;
        not_negative(element, "latency", spec.latency)?;
        if let Some(profile) = &spec.bandwidth_profile {
            check_bandwidths(element, profile)?;
        }
        let id = LinkId::new(self.links.len());
        if spec.split_duplex {
            self.push_link(format!("{}_UP", spec.name), &spec, Some(Duplex::Up))?;
            self.push_link(format!("{}_DOWN", spec.name), &spec, Some(Duplex::Down))?;
        } else {
            self.push_link(spec.name.clone(), &spec, None)?;
        }
        Ok(id)
    }

    fn push_link(
        &mut self,
        name: String,
        spec: &LinkSpec,
        duplex: Option<Duplex>,
    ) -> Result<(), PlatformError> {
        let name: Arc<str> = name.into();
        let id = LinkId::new(self.links.len());
        if self.link_names.insert(name.clone(), id).is_some() {
            return Err(PlatformError::Duplicate { kind: "link", name: name.to_string() });
        }
        self.links.push(Link {
            name,
            bandwidth: spec.bandwidth,
            latency: spec.latency,
            sharing: spec.sharing,
            duplex,
            bandwidth_profile: spec.bandwidth_profile.clone(),
            latency_profile: spec.latency_profile.clone(),
            state: spec.state.clone(),
            properties: spec.properties.clone(),
        });
        Ok(())
    }

    /// Adds a disk.
    pub fn add_disk(&mut self, disk: Disk) -> Result<DiskId, PlatformError> {
        let element = || format!("disk \"{}\"", disk.name);
        positive(element, "read bandwidth", disk.read_bandwidth)?;
        positive(element, "write bandwidth", disk.write_bandwidth)?;
        if let Some(value) = disk.connection_bandwidth {
            positive(element, "connection bandwidth", value)?;
        }
        if let Some(value) = disk.capacity {
            positive(element, "capacity", value)?;
        }
        disk.model.check(&disk.name)?;
        if let (Some(contents), Some(capacity)) = (&disk.contents, disk.capacity)
            && contents.used() as f64 > capacity
        {
            let message = format!(
                "its contents of {} bytes are larger than its capacity of {capacity} bytes",
                contents.used()
            );
            return Err(PlatformError::invalid(element(), message));
        }
        if !self.disk_names.insert((disk.host, disk.name.clone())) {
            return Err(PlatformError::Duplicate { kind: "disk", name: disk.name.to_string() });
        }
        let id = DiskId::new(self.disks.len());
        self.disks.push(disk);
        Ok(id)
    }

    /// Attaches free key/value pairs to a zone.
    pub fn set_zone_properties(&mut self, zone: ZoneId, properties: Properties) {
        self.zones[zone.index()].properties = Some(Arc::new(properties));
    }

    /// The hosts in a zone and in the zones inside it share their storage.
    pub fn share_storage(&mut self, zone: ZoneId) {
        self.zones[zone.index()].shared_storage = true;
    }

    /// Sets the price of data that leave a zone, per GB.
    pub fn set_transfer_price(&mut self, zone: ZoneId, price: f64) -> Result<(), PlatformError> {
        let zone = &mut self.zones[zone.index()];
        if !(price >= 0.0 && price.is_finite()) {
            return Err(PlatformError::BadNumber {
                element: format!("\"{}\"", zone.name),
                what: "the transfer price",
                value: price,
                must: "finite and not negative",
            });
        }
        zone.transfer_price = price;
        Ok(())
    }

    /// Per host: the zones around it that take money for what leaves them, with the price of a byte.
    fn tolls(&self) -> Vec<Vec<(ZoneId, f64)>> {
        if self.zones.iter().all(|zone| zone.transfer_price == 0.0) {
            return Vec::new();
        }
        let around = |host: &Host| {
            let mut tolls = Vec::new();
            let mut around = Some(host.zone);
            while let Some(id) = around {
                let zone = &self.zones[id.index()];
                if zone.transfer_price > 0.0 {
                    tolls.push((id, zone.transfer_price / GIGABYTE));
                }
                around = zone.parent;
            }
            tolls
        };
        self.hosts.iter().map(around).collect()
    }

    /// The hosts in a zone share a storage that holds so many bytes.
    pub fn bound_storage(&mut self, zone: ZoneId, bytes: f64) {
        self.zones[zone.index()].shared_storage = true;
        self.zones[zone.index()].storage_capacity = Some(bytes);
    }

    /// The hosts in a zone, and in the zones inside it, share so much of a named resource.
    pub fn share_resources(
        &mut self,
        zone: ZoneId,
        named: Vec<(Arc<str>, Amount)>,
    ) -> Result<(), PlatformError> {
        let zone = &mut self.zones[zone.index()];
        let mut names: Vec<&str> = named.iter().map(|(name, _)| &**name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let message = format!("resource '{}' is listed twice", pair[0]);
            return Err(PlatformError::invalid(format!("\"{}\"", zone.name), message));
        }
        zone.resources = named;
        Ok(())
    }

    /// Returns the shared resources of all zones, each with the hosts in the zone.
    fn zone_resources(&self) -> Vec<ZoneResource> {
        let mut shared = Vec::new();
        for (index, zone) in self.zones.iter().enumerate().filter(|(_, z)| !z.resources.is_empty())
        {
            let inside = |host: &Host| {
                let mut around = Some(host.zone);
                while let Some(id) = around.filter(|id| id.index() != index) {
                    around = self.zones[id.index()].parent;
                }
                around.is_some()
            };
            let hosts = (0..self.hosts.len()).filter(|&h| inside(&self.hosts[h]));
            let hosts: Arc<[HostId]> = hosts.map(HostId::new).collect();
            shared.extend(zone.resources.iter().map(|(name, amount)| ZoneResource {
                name: name.clone(),
                amount: *amount,
                zone: zone.name.clone(),
                hosts: hosts.clone(),
            }));
        }
        shared
    }

    /// All hosts share these.
    pub fn set_resources(&mut self, resources: Vec<SharedResource>) -> &mut Self {
        self.resources = resources;
        self
    }

    /// Batch jobs for its hosts are submitted with these options.
    pub fn set_batch(&mut self, options: BatchOptions) -> &mut Self {
        self.batch = Some(Arc::new(options));
        self
    }

    /// All files of the platform together may take so many bytes.
    pub fn set_storage(&mut self, bytes: f64) -> &mut Self {
        self.storage = Some(bytes);
        self
    }

    /// The place of every host: the outermost zone around it that shares storage.
    fn places(&self) -> Vec<HostId> {
        if !self.zones.iter().any(|zone| zone.shared_storage) {
            return Vec::new();
        }
        let mut first: HashMap<ZoneId, HostId> = HashMap::new();
        let place = |(index, host): (usize, &Host)| {
            let own = HostId::new(index);
            let mut shared = None;
            let mut around = Some(host.zone);
            while let Some(zone) = around {
                if self.zones[zone.index()].shared_storage {
                    shared = Some(zone);
                }
                around = self.zones[zone.index()].parent;
            }
            shared.map_or(own, |zone| *first.entry(zone).or_insert(own))
        };
        self.hosts.iter().enumerate().map(place).collect()
    }

    /// The host, router or zone of that name.
    pub fn member(&self, name: &str) -> Result<Member, PlatformError> {
        let unknown = || PlatformError::Unknown { kind: "host, router or zone", name: name.into() };
        self.members.get(name).copied().ok_or_else(unknown)
    }

    /// The host of that name.
    pub fn host(&self, name: &str) -> Result<HostId, PlatformError> {
        match self.members.get(name) {
            Some(&Member::Host(host)) => Ok(host),
            _ => Err(PlatformError::Unknown { kind: "host", name: name.into() }),
        }
    }

    /// The link of that name.
    pub fn link(&self, name: &str) -> Result<LinkId, PlatformError> {
        let unknown = || PlatformError::Unknown { kind: "link", name: name.into() };
        self.link_names.get(name).copied().ok_or_else(unknown)
    }

    /// Lets the speed of a host follow a profile (ratio of the peak).
    pub fn set_availability(&mut self, host: HostId, profile: Arc<Profile>) {
        self.hosts[host.index()].availability = Some(profile);
    }

    /// Sets the profile that turns a host on and off.
    pub fn set_host_state(&mut self, host: HostId, profile: Arc<Profile>) {
        self.hosts[host.index()].state = Some(profile);
    }

    /// Lets a link, or both halves of a split-duplex one given by its upper half, follow
    /// profiles; those not given stay as they are.
    pub fn set_link_profiles(
        &mut self,
        link: LinkId,
        profiles: LinkProfiles,
    ) -> Result<(), PlatformError> {
        let halves = if self.links[link.index()].duplex == Some(Duplex::Up) { 2 } else { 1 };
        for link in &mut self.links[link.index()..][..halves] {
            if let Some(profile) = &profiles.bandwidth {
                check_bandwidths(|| format!("link \"{}\"", link.name), profile)?;
                link.bandwidth_profile = Some(profile.clone());
            }
            if let Some(profile) = &profiles.latency {
                link.latency_profile = Some(profile.clone());
            }
            if let Some(profile) = &profiles.state {
                link.state = Some(profile.clone());
            }
        }
        Ok(())
    }

    /// Gives a link, both halves of it, another bandwidth or latency.
    pub fn set_link_figures(
        &mut self,
        link: LinkId,
        bandwidth: Option<f64>,
        latency: Option<f64>,
    ) -> Result<(), PlatformError> {
        let halves = if self.links[link.index()].duplex == Some(Duplex::Up) { 2 } else { 1 };
        for link in &mut self.links[link.index()..][..halves] {
            link.bandwidth = bandwidth.unwrap_or(link.bandwidth);
            link.latency = latency.unwrap_or(link.latency);
        }
        Ok(())
    }

    /// Adds a place where a disk is mounted.
    pub fn add_mount(&mut self, disk: DiskId, host: HostId, path: impl Into<String>) {
        self.disks[disk.index()].mounts.push((host, path.into()));
    }

    /// Renames the platform.
    pub fn set_name(&mut self, name: impl Into<String>) -> &mut Self {
        self.name = name.into();
        self
    }

    /// The first disk of that name, on `host` if one is given.
    pub fn disk_named(&self, name: &str, host: Option<HostId>) -> Option<DiskId> {
        let matches =
            |disk: &Disk| &*disk.name == name && host.is_none_or(|host| disk.host == host);
        self.disks.iter().position(matches).map(DiskId::new)
    }

    /// The name of a zone.
    pub fn zone_name(&self, zone: ZoneId) -> &str {
        &self.zones[zone.index()].name
    }

    /// Number of zones so far.
    pub fn zone_count(&self) -> usize {
        self.zones.len()
    }

    /// Number of hosts so far.
    pub fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// Number of links so far.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    pub(super) fn reserve_hosts(&mut self, count: usize) {
        self.hosts.reserve(count);
        self.host_class.reserve(count);
        self.members.reserve(count);
    }

    pub(super) fn remember_cluster(&mut self, zone: ZoneId, spec: ClusterSpec, first_link: u32) {
        let links = first_link..self.links.len() as u32;
        self.zones[zone.index()].cluster = Some(Box::new((spec, links)));
    }

    /// SimGrid numbers these through the whole platform; so do we, to have its names.
    pub(super) fn next_fat_tree_cable(&mut self) -> u32 {
        self.fat_tree_cables += 1;
        self.fat_tree_cables - 1
    }

    pub(super) fn next_dragonfly_link(&mut self) -> u32 {
        self.dragonfly_links += 1;
        self.dragonfly_links - 1
    }

    /// Checks what only the whole can show and gives out the platform.
    pub fn build(mut self) -> Result<Platform, PlatformError> {
        if self.hosts.is_empty() {
            let element = format!("platform \"{}\"", self.name);
            return Err(PlatformError::invalid(element, "it has no host"));
        }
        if self.hosts.iter().all(|host| host.cores == 0) {
            let element = format!("platform \"{}\"", self.name);
            return Err(PlatformError::invalid(element, "no host has a core"));
        }
        let cores: u64 = self.hosts.iter().map(|host| u64::from(host.cores)).sum();
        if cores > PLATFORM_CORE_LIMIT {
            let message = format!("{cores} cores; at most {PLATFORM_CORE_LIMIT} are possible");
            let element = format!("platform \"{}\"", self.name);
            return Err(PlatformError::invalid(element, message));
        }
        check_billing(|| format!("platform \"{}\"", self.name), &self.billing)?;
        let network = match self.matrix.take() {
            Some(matrix) => {
                matrix.check(self.hosts.len())?;
                Network::Matrix(matrix)
            }
            None => Network::Zones,
        };
        self.join_vivaldi_zones();
        let classes = classify(&mut self.hosts, &mut self.host_class, &self.zones, self.billing)?;
        let (place_of, tolls) = (self.places(), self.tolls());
        let zone_resources = self.zone_resources();
        Ok(Platform {
            name: self.name,
            hosts: self.hosts,
            classes,
            links: self.links,
            disks: self.disks,
            routers: self.routers,
            zones: self.zones,
            network,
            origin: self.origin,
            fifo: self.fifo,
            resources: self.resources,
            storage: self.storage,
            batch: self.batch,
            zone_resources,
            measured: self.measured,
            place_of,
            tolls,
            members: self.members,
            link_names: self.link_names,
        })
    }

    fn claim_member(
        &mut self,
        kind: &'static str,
        name: String,
        member: Member,
    ) -> Result<Arc<str>, PlatformError> {
        if name.is_empty() {
            return Err(PlatformError::invalid(kind, "it needs a name"));
        }
        let name: Arc<str> = name.into();
        if self.members.contains_key(&name) {
            return Err(PlatformError::Duplicate { kind, name: name.to_string() });
        }
        self.members.insert(name.clone(), member);
        Ok(name)
    }

    fn member_name(&self, member: Member) -> &str {
        match member {
            Member::Host(host) => &self.hosts[host.index()].name,
            Member::Router(router) => &self.routers[router.index()].name,
            Member::Zone(zone) => &self.zones[zone.index()].name,
        }
    }

    /// Returns the zone that contains a member; none for the root.
    pub fn zone_around(&self, member: Member) -> Option<ZoneId> {
        match member {
            Member::Host(host) => Some(self.hosts[host.index()].zone),
            Member::Router(router) => Some(self.routers[router.index()].zone),
            Member::Zone(zone) => self.zones[zone.index()].parent,
        }
    }
}

fn check_bandwidths(
    element: impl FnOnce() -> String,
    profile: &Profile,
) -> Result<(), PlatformError> {
    match profile.events().iter().find(|event| event.value <= 0.0) {
        Some(event) => positive(element, "bandwidth over time", event.value),
        None => Ok(()),
    }
}

fn check_billing(element: impl Fn() -> String, billing: &Billing) -> Result<(), PlatformError> {
    not_negative(&element, "billing quantum", billing.quantum)?;
    not_negative(&element, "billing minimum", billing.minimum)?;
    not_negative(&element, "set-up time", billing.setup)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::zone::DeclaredRoute;

    #[test]
    fn bad_elements_are_refused_by_name() {
        let mut b = PlatformBuilder::new("p");
        let root = b.root().unwrap();
        b.add_host(root, HostSpec::new("a", 1e9)).unwrap();
        let twice = b.add_host(root, HostSpec::new("a", 1e9)).unwrap_err();
        assert_eq!(twice, PlatformError::Duplicate { kind: "host", name: "a".into() });
        for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = b.add_host(root, HostSpec::new("b", speed)).unwrap_err();
            assert!(error.to_string().starts_with("host \"b\": speed"), "{error}");
        }
        for bandwidth in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(b.add_link(LinkSpec::new("l", bandwidth, 0.0)).is_err());
        }
        assert!(b.add_link(LinkSpec::new("l", 1.0, -1.0)).is_err());
        assert!(b.link("l").is_err());
        assert!(PlatformBuilder::new("empty").build().is_err());
    }

    #[test]
    fn identical_machines_form_a_class() {
        let mut b = PlatformBuilder::new("p");
        let root = b.root().unwrap();
        let east = b.add_zone(Some(root), "east", RoutingKind::None).unwrap();
        for i in 0..4 {
            b.add_host(east, HostSpec::new(format!("e{i}"), 1e9)).unwrap();
        }
        b.add_host(root, HostSpec { cores: 8, ..HostSpec::new("big", 1e9) }).unwrap();
        b.add_host(root, HostSpec::new("small", 1e9)).unwrap();
        b.set_matrix(Matrix::uniform(None, 0.0));
        let platform = b.build().unwrap();
        let names: Vec<&str> = platform.classes().iter().map(|c| &*c.name).collect();
        assert_eq!(names, ["east", "big", "small"]);
        assert_eq!(platform.class(ClassId(0)).hosts.len(), 4);
        assert_eq!(platform.host(HostId(5)).class, ClassId(2));
        assert_eq!(platform.total_cores(), 4 + 8 + 1);
        assert_eq!(platform.planning_network().transfer_time(1e9, HostId(0), HostId(5)), 0.0);
    }

    #[test]
    fn more_cores_than_memory_can_hold_are_refused() {
        let mut b = PlatformBuilder::new("p");
        let root = b.root().unwrap();
        let host = |name: &str, cores| HostSpec { cores, ..HostSpec::new(name, 1e9) };
        let error = b.add_host(root, host("hal", u32::MAX)).unwrap_err().to_string();
        assert_eq!(error, "host \"hal\": 4294967295 cores; at most 1000000 are possible");
        for i in 0..11 {
            b.add_host(root, host(&format!("h{i}"), CORE_LIMIT)).unwrap();
        }
        assert!(b.build().unwrap_err().to_string().contains("11000000 cores"));
    }

    #[test]
    fn a_gateway_outside_its_zone_is_refused() {
        let mut b = PlatformBuilder::new("p");
        let root = b.add_zone(None, "root", RoutingKind::Full).unwrap();
        let west = b.add_zone(Some(root), "west", RoutingKind::Full).unwrap();
        let w = b.add_host(west, HostSpec::new("w", 1e9)).unwrap();
        let r = b.add_router(root, "r").unwrap();
        let route = |gateway| DeclaredRoute {
            src: Member::Zone(west),
            dst: Member::Router(r),
            gw_src: gateway,
            gw_dst: None,
            links: [].into(),
            symmetrical: true,
        };
        assert!(b.add_route(root, route(None)).is_err());
        assert!(b.add_route(root, route(Some(Member::Router(r)))).is_err());
        assert!(b.add_route(root, route(Some(Member::Host(w)))).is_ok());
        assert!(b.add_route(root, route(Some(Member::Host(w)))).is_err(), "declared twice");
    }
}
