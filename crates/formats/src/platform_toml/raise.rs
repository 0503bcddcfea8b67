//! Raising: from a platform to the tables of a file, the inverse of [`lower`](super::lower). The short form is
//! written where it represents the platform exactly, else the long one.

use super::lower::{BANDWIDTH, LATENCY, UPLINK, WORLD, link_of, router_of};
use super::schema::{
    Bandwidth, BillingTable, Bytes, ClusterTable, DiskBandwidth, DiskTable, DragonflyTable,
    FatTreeTable, File, FollowTable, HostTable, InnerLink, LinkTable, LinksWord, MatrixTable,
    MaybeFree, NetworkTable, OneOrRows, Ordered, ProfileTable, RouteTable, RouterTable,
    RoutingWord, Seconds, SharedEntry, SharingWord, SiteTable, SlurmTable, Speed, ZoneTable,
};
use crate::disk_model::{CONTENT, ModelTable};
use crate::resources::{Entries, Given, GpuCapacity, written};
use slackline_model::platform::{
    BatchOptions, Billing, Class, ClusterSharing, ClusterSpec, DeclaredRoute, Duplex, Host, Link,
    Matrix, Member, Network, Platform, Profile, Properties, RoutingKind, Sharing, Topology, Zone,
};
use slackline_model::resources::HostResources;
use slackline_model::{HostId, LinkId, ZoneId};
use std::collections::HashMap;
use std::sync::Arc;
use toml::Spanned;

/// The long form as text, to compare platforms; the name of the platform does not count.
pub(super) fn long_text(platform: &Platform) -> Option<String> {
    let mut file = long(platform);
    file.name = None;
    toml::to_string(&file).ok()
}

/// The long form: everything by name.
pub(super) fn long(platform: &Platform) -> File {
    let mut raising = Raising::new(platform);
    raising.head();
    let matrix = matches!(platform.network(), Network::Matrix(_));
    for (index, zone) in platform.zones().iter().enumerate() {
        if zone.cluster.is_none() {
            raising.zone(ZoneId::new(index), zone);
        }
    }
    for (index, link) in platform.links().iter().enumerate() {
        if !raising.in_cluster[index] {
            raising.link(link);
        }
    }
    for (index, zone) in platform.zones().iter().enumerate() {
        if let Some(cluster) = &zone.cluster {
            let around = zone.parent.map(|parent| platform.zone(parent).name.to_string());
            let mut table = raising.cluster(ZoneId::new(index), &cluster.0);
            table.zone = around;
            table.router = cluster.0.router.clone();
            raising.file.cluster.push(&*zone.name, table);
        }
    }
    for id in platform.host_ids() {
        let host = platform.host(id);
        if platform.zone(host.zone).cluster.is_none() {
            let mut table = raising.host(id);
            table.zone = Some(platform.zone(host.zone).name.to_string());
            raising.file.host.push(&*host.name, table);
        }
    }
    for router in platform.routers() {
        let zone = platform.zone(router.zone);
        if zone.cluster.is_none() {
            let table =
                RouterTable { zone: zone.name.to_string(), coordinates: router.coordinates };
            raising.file.router.push(&*router.name, table);
        }
    }
    if !matrix {
        for zone in platform.zones() {
            for route in zone.declared_routes() {
                raising.route(zone, route, false);
            }
            for route in zone.bypass_routes() {
                raising.route(zone, route, true);
            }
        }
    }
    raising.disks();
    raising.followers();
    raising.file
}

/// The short form, if the platform has the outline of one; the caller compares.
pub(super) fn short(platform: &Platform) -> Option<File> {
    let mut raising = Raising::new(platform);
    raising.head();
    let root = platform.zone(ZoneId(0));
    if root.cluster.is_some() || (&*root.name != WORLD && raising.file.matrix.is_none()) {
        return None;
    }
    let site_of = |zone: ZoneId| (zone.0 != 0).then(|| platform.zone(zone).name.to_string());
    // The link by which a member is connected to the router around it, whole or its upward half.
    let uplink_of = |name: &str| {
        let link = link_of(name);
        platform.link_named(&link).or_else(|| platform.link_named(&format!("{link}_UP")))
    };
    // The latency of an uplink can only be given for the whole network.
    let mut clusters = platform.zones().iter().filter(|zone| zone.cluster.is_some());
    if let Some(link) = clusters.find_map(|zone| uplink_of(&zone.name)) {
        raising.latency = platform.link(link).latency;
        if raising.latency != LATENCY {
            let latency = Some(Seconds(raising.latency));
            raising.file.network = Some(NetworkTable { latency, ..NetworkTable::default() });
        }
    }
    for (index, zone) in platform.zones().iter().enumerate().skip(1) {
        let id = ZoneId::new(index);
        if let Some(cluster) = &zone.cluster {
            let mut table = raising.cluster(id, &cluster.0);
            table.site = zone.parent.and_then(site_of);
            if let Some(link) = uplink_of(&zone.name) {
                let bandwidth = platform.link(link).bandwidth;
                table.uplink = (bandwidth != UPLINK).then_some(Bandwidth(bandwidth));
            }
            raising.file.cluster.push(&*zone.name, table);
        } else if zone.parent == Some(ZoneId(0)) {
            let link = uplink_of(&zone.name).map(|link| platform.link(link));
            raising.file.site.push(
                &*zone.name,
                SiteTable {
                    shared_storage: zone.shared_storage.then_some(true),
                    transfer_price: unless(zone.transfer_price, 0.0),
                    storage_capacity: zone.storage_capacity.map(Bytes),
                    bandwidth: link.and_then(|l| unless(l.bandwidth, BANDWIDTH)).map(Bandwidth),
                    latency: link.and_then(|l| unless(l.latency, raising.latency)).map(Seconds),
                    shared_resources: written(&zone.resources),
                },
            );
        } else {
            return None;
        }
    }
    for id in platform.host_ids() {
        let host = platform.host(id);
        if platform.zone(host.zone).cluster.is_none() {
            let mut table = raising.host(id);
            table.site = site_of(host.zone);
            if let Some(link) = uplink_of(&host.name).map(|link| platform.link(link)) {
                table.bandwidth = unless(link.bandwidth, BANDWIDTH).map(Bandwidth);
                table.latency = unless(link.latency, raising.latency).map(Seconds);
            }
            raising.file.host.push(&*host.name, table);
        }
    }
    for zone in platform.zones() {
        for route in zone.declared_routes() {
            raising.link_between(zone, route)?;
        }
    }
    raising.disks();
    raising.followers();
    Some(raising.file)
}

/// A value to write: none where it is the default.
fn unless(value: f64, default: f64) -> Option<f64> {
    (value != default).then_some(value)
}

fn ordered(properties: Option<&Arc<Properties>>) -> Ordered<String> {
    let mut list = Ordered::default();
    for (key, value) in properties.into_iter().flat_map(|p| p.iter()) {
        list.push(key, value.clone());
    }
    list
}

struct Raising<'a> {
    platform: &'a Platform,
    file: File,
    /// Per link: whether the table of a cluster stands for it.
    in_cluster: Vec<bool>,
    /// Names of profiles that were written, by address: hosts that share one in memory share it in the file.
    profiles: HashMap<*const Profile, String>,
    /// Billing at the head of the file, the default of all machines.
    billing: Billing,
    /// Default latency of links in seconds.
    latency: f64,
}

impl<'a> Raising<'a> {
    fn new(platform: &'a Platform) -> Self {
        let mut in_cluster = vec![false; platform.links().len()];
        for link in platform.zones().iter().flat_map(|zone| zone.cluster.iter()) {
            for link in link.1.clone() {
                in_cluster[link as usize] = true;
            }
        }
        // Billing that every class has is written once.
        let first = platform.classes().first().map_or(Billing::EXACT, |class| class.billing);
        let common = platform.classes().iter().all(|class| class.billing == first);
        let billing = if common { first } else { Billing::EXACT };
        Raising {
            platform,
            file: File::default(),
            in_cluster,
            profiles: HashMap::new(),
            billing,
            latency: LATENCY,
        }
    }

    /// Name, origin, billing, matrix.
    fn head(&mut self) {
        let platform = self.platform;
        self.file.name = Some(platform.name().to_string());
        self.file.origin = platform.origin().map(|host| platform.host(host).name.to_string());
        let measured = platform.is_measured().then_some(LinksWord::Measured);
        self.file.links = if platform.is_fifo() { Some(LinksWord::Fifo) } else { measured };
        self.file.billing = billing_table(self.billing, Billing::EXACT);
        self.file.storage = platform.storage().map(Bytes);
        let shared = platform.resources().iter().map(|own| {
            let entry = SharedEntry { amount: Given::of(own.amount), slurm: own.slurm };
            (own.name.to_string(), entry)
        });
        self.file.resources = Entries(shared.collect());
        self.file.slurm = platform.batch().map(slurm_table);
        self.file.matrix = match platform.network() {
            Network::Zones => None,
            Network::Matrix(Matrix::Uniform { bandwidth, latency }) => Some(MatrixTable {
                bandwidth: Some(OneOrRows::One(MaybeFree(*bandwidth))),
                latency: Some(OneOrRows::One(Seconds(*latency))),
            }),
            Network::Matrix(matrix) => {
                let hosts = || platform.host_ids();
                // The diagonal has no effect; it is written as the matrix answers for it (free), so that the table is square.
                let rates = |a| hosts().map(move |b| MaybeFree(matrix.bandwidth(a, b))).collect();
                let delays = |a| hosts().map(move |b| Seconds(matrix.latency(a, b))).collect();
                Some(MatrixTable {
                    bandwidth: Some(OneOrRows::Rows(hosts().map(rates).collect())),
                    latency: Some(OneOrRows::Rows(hosts().map(delays).collect())),
                })
            }
        };
    }

    fn zone(&mut self, id: ZoneId, zone: &Zone) {
        let table = ZoneTable {
            parent: zone.parent.map(|parent| self.platform.zone(parent).name.to_string()),
            routing: match zone.routing() {
                RoutingKind::None => RoutingWord::None,
                RoutingKind::Full => RoutingWord::Full,
                RoutingKind::Floyd => RoutingWord::Floyd,
                RoutingKind::Dijkstra => RoutingWord::Dijkstra,
                RoutingKind::Star => RoutingWord::Star,
                RoutingKind::Vivaldi => RoutingWord::Vivaldi,
            },
            backbone: zone.backbone().map(|link| self.platform.link(link).name.to_string()),
            shared_storage: zone.shared_storage.then_some(true),
            transfer_price: unless(zone.transfer_price, 0.0),
            storage_capacity: zone.storage_capacity.map(Bytes),
            shared_resources: written(&zone.resources),
            properties: ordered(zone.properties.as_ref()),
        };
        debug_assert!(self.platform.zone(id).cluster.is_none());
        self.file.zone.push(&*zone.name, table);
    }

    fn link_table(&mut self, link: &Link) -> LinkTable {
        LinkTable {
            between: None,
            bandwidth: unless(link.bandwidth, BANDWIDTH).map(Bandwidth),
            latency: unless(link.latency, self.latency).map(Seconds),
            sharing: match (link.duplex, link.sharing) {
                (Some(_), _) => Some(SharingWord::SplitDuplex),
                (None, Sharing::Fatpipe) => Some(SharingWord::Fatpipe),
                (None, Sharing::Shared) => None,
            },
            bandwidth_profile: self.profile(&link.bandwidth_profile),
            latency_profile: self.profile(&link.latency_profile),
            state: self.profile(&link.state),
            properties: ordered(link.properties.as_ref()),
        }
    }

    fn link(&mut self, link: &Link) {
        if link.duplex == Some(Duplex::Down) {
            return;
        }
        let table = self.link_table(link);
        self.file.link.push(stem(link), table);
    }

    /// A route of the short form as a link with `between`, unless it is a default uplink; none where the
    /// short form cannot represent it.
    fn link_between(&mut self, zone: &Zone, route: &DeclaredRoute) -> Option<()> {
        let platform = self.platform;
        let [link] = route.links[..] else { return None };
        let link = platform.link(link);
        let (src, dst) = (platform.member_name(route.src), platform.member_name(route.dst));
        if dst == router_of(&zone.name) && stem(link) == link_of(src) {
            return Some(());
        }
        let mut table = self.link_table(link);
        table.between = Some((src.to_string(), dst.to_string()));
        table.sharing = match table.sharing {
            Some(SharingWord::SplitDuplex) => None,
            None => Some(SharingWord::Shared),
            other => other,
        };
        self.file.link.push(stem(link), table);
        Some(())
    }

    /// The name of a profile in the file; written on first use.
    fn profile(&mut self, profile: &Option<Arc<Profile>>) -> Option<String> {
        let profile = profile.as_ref()?;
        let next = format!("p{}", self.profiles.len());
        let file = &mut self.file;
        let name = self.profiles.entry(Arc::as_ptr(profile)).or_insert_with(|| {
            file.profile.push(
                &*next,
                ProfileTable {
                    events: profile.events().iter().map(|e| (e.date, e.value)).collect(),
                    period: profile.period().map(Seconds),
                    loop_after: None,
                    repeat_from: repeat_from(profile),
                },
            );
            next
        });
        Some(name.clone())
    }

    /// The name of a class, unless it is the one that the builder would choose: that of its zone or first host.
    fn class_name(&self, class: &Class) -> Option<String> {
        let zone = self.platform.zone(class.zone);
        let first = class.hosts.first().map(|&host| &*self.platform.host(host).name);
        let usual = *class.name == *zone.name || Some(&*class.name) == first;
        (!usual).then(|| class.name.to_string())
    }

    fn host(&mut self, id: HostId) -> HostTable {
        let platform = self.platform;
        let host = platform.host(id);
        let class = platform.class(host.class);
        let leaf = platform.zone(host.zone).leaf(id, host.rank);
        let name = |link: LinkId| platform.link(link).name.to_string();
        let own = host.resources.as_deref();
        HostTable {
            storage: own.and_then(|own| own.storage).map(Bytes),
            windows: windows(own),
            wall_time: own.and_then(|own| own.wall_time).map(Seconds),
            gpus: own.and_then(|own| GpuCapacity::of(&own.gpus)),
            resources: own.map(|own| written(&own.named)).unwrap_or_default(),
            speed: Some(Speed(host.speed)),
            cores: (host.cores != 1).then_some(host.cores),
            memory: host.memory.map(Bytes),
            price: (host.price > 0.0).then_some(host.price),
            arch: host.arch.as_deref().map(str::to_string),
            class: self.class_name(class),
            leasable: class.leasable.then_some(true),
            availability: self.profile(&host.availability),
            state: self.profile(&host.state),
            up: leaf.and_then(|leaf| leaf.up).map(name),
            down: leaf.and_then(|leaf| leaf.down).map(name),
            limiter: leaf.and_then(|leaf| leaf.limiter).map(name),
            loopback: leaf.and_then(|leaf| leaf.loopback).map(name),
            coordinates: platform.zone(host.zone).coordinates(Member::Host(id)),
            billing: billing_table(class.billing, self.billing),
            properties: ordered(host.properties.as_ref()),
            ..HostTable::default()
        }
    }

    /// The profile that all machines of a cluster share.
    fn common_profile(
        &mut self,
        cluster: ZoneId,
        of: impl Fn(&Host) -> &Option<Arc<Profile>>,
    ) -> Option<String> {
        let profile = shared(self.platform, cluster, of)?;
        self.profile(&Some(profile))
    }

    /// Collects the profiles of single machines and links of clusters, which no table of a cluster can contain.
    fn followers(&mut self) {
        let platform = self.platform;
        // Per zone: whether the tables of its hosts or of the cluster have the profile already.
        let is_written = |of: fn(&Host) -> &Option<Arc<Profile>>| -> Vec<bool> {
            let zones = platform.zones().iter().enumerate();
            zones
                .map(|(z, zone)| {
                    zone.cluster.is_none() || shared(platform, ZoneId::new(z), of).is_some()
                })
                .collect()
        };
        let (availability, state) = (is_written(|h| &h.availability), is_written(|h| &h.state));
        for host in platform.hosts() {
            let zone = host.zone.index();
            let own = |written: bool, profile: &Option<Arc<Profile>>| {
                profile.clone().filter(|_| !written)
            };
            let table = FollowTable {
                availability: self.profile(&own(availability[zone], &host.availability)),
                state: self.profile(&own(state[zone], &host.state)),
                host: Some(host.name.to_string()),
                ..FollowTable::default()
            };
            if table.availability.is_some() || table.state.is_some() {
                self.file.follow.push(Spanned::new(0..0, table));
            }
        }
        for (index, link) in platform.links().iter().enumerate() {
            if !self.in_cluster[index] {
                continue;
            }
            // The upward half is written for both.
            let half = link.duplex == Some(Duplex::Down);
            let (rate, delay) = if half { (None, None) } else { self.own_figures(index, link) };
            let table = FollowTable {
                bandwidth: self.profile(&link.bandwidth_profile).or(rate),
                latency: self.profile(&link.latency_profile).or(delay),
                state: self.profile(&link.state),
                link: Some(link.name.to_string()),
                ..FollowTable::default()
            };
            if table.bandwidth.is_some() || table.latency.is_some() || table.state.is_some() {
                self.file.follow.push(Spanned::new(0..0, table));
            }
        }
    }

    /// Bandwidth and latency of a link of a cluster as text, where they differ from those of its cluster.
    fn own_figures(&self, index: usize, link: &Link) -> (Option<String>, Option<String>) {
        let mut clusters = self.platform.zones().iter().filter_map(|zone| zone.cluster.as_ref());
        let Some(cluster) = clusters.find(|cluster| cluster.1.contains(&(index as u32))) else {
            return (None, None);
        };
        let spec = &cluster.0;
        let backbone = spec.backbone.map(|(shape, _)| shape);
        let stated = [Some(spec.link), backbone, spec.loopback];
        let shapes = || stated.iter().flatten();
        let limiter = spec.limiter == Some(link.bandwidth);
        let alike = shapes().any(|s| (s.bandwidth, s.latency) == (link.bandwidth, link.latency));
        if alike || limiter {
            return (None, None);
        }
        (Some(format!("{}Bps", link.bandwidth)), Some(format!("{}s", link.latency)))
    }

    fn cluster(&mut self, id: ZoneId, spec: &ClusterSpec) -> ClusterTable {
        let platform = self.platform;
        // A cluster has at least one host, and all are alike but for their profiles.
        let host: Option<&Host> = platform.hosts().iter().find(|host| host.zone == id);
        let class = host.map(|host| platform.class(host.class));
        let mut table = ClusterTable {
            shared_storage: platform.zone(id).shared_storage.then_some(true),
            transfer_price: unless(platform.zone(id).transfer_price, 0.0),
            storage_capacity: platform.zone(id).storage_capacity.map(Bytes),
            speed: Some(Speed(spec.host.speed)),
            cores: (spec.host.cores != 1).then_some(spec.host.cores),
            memory: spec.host.memory.map(Bytes),
            storage: spec.host.resources.storage.map(Bytes),
            windows: windows(Some(&spec.host.resources)),
            wall_time: spec.host.resources.wall_time.map(Seconds),
            gpus: GpuCapacity::of(&spec.host.resources.gpus),
            resources: written(&spec.host.resources.named),
            shared_resources: written(&platform.zone(id).resources),
            price: (spec.host.price > 0.0).then_some(spec.host.price),
            arch: spec.host.arch.clone(),
            class: class.and_then(|class| self.class_name(class)),
            leasable: spec.host.leasable.then_some(true),
            availability: self.common_profile(id, |host| &host.availability),
            state: self.common_profile(id, |host| &host.state),
            billing: class.and_then(|class| billing_table(class.billing, self.billing)),
            bandwidth: unless(spec.link.bandwidth, BANDWIDTH).map(Bandwidth),
            latency: unless(spec.link.latency, self.latency).map(Seconds),
            limiter: spec.limiter.map(Bandwidth),
            properties: ordered(spec.host.properties.as_ref()),
            ..ClusterTable::default()
        };
        match spec.radical[..] {
            [(0, last)] => table.count = Some(last + 1),
            _ => {
                let ranges = spec.radical.iter().map(|(a, b)| format!("{a}-{b}"));
                table.numbers = Some(ranges.collect::<Vec<_>>().join(","));
            }
        }
        let names = format!("{}{{}}{}", spec.prefix, spec.suffix);
        table.names = (names != format!("{}-{{}}", spec.id)).then_some(names);
        table.sharing = match spec.sharing {
            ClusterSharing::SplitDuplex => None,
            ClusterSharing::Shared => Some(SharingWord::Shared),
            ClusterSharing::Fatpipe => Some(SharingWord::Fatpipe),
        };
        table.backbone = spec.backbone.map(|(shape, sharing)| InnerLink {
            bandwidth: Bandwidth(shape.bandwidth),
            latency: unless(shape.latency, 0.0).map(Seconds),
            sharing: (sharing == Sharing::Fatpipe).then_some(SharingWord::Fatpipe),
        });
        table.loopback = spec.loopback.map(|shape| InnerLink {
            bandwidth: Bandwidth(shape.bandwidth),
            latency: unless(shape.latency, 0.0).map(Seconds),
            sharing: None,
        });
        match &spec.topology {
            Topology::Flat => {}
            Topology::Torus(dimensions) => table.torus = Some(dimensions.clone()),
            Topology::FatTree { children, parents, cables } => {
                table.fat_tree = Some(FatTreeTable {
                    children: children.clone(),
                    parents: parents.clone(),
                    cables: cables.clone(),
                });
            }
            &Topology::Dragonfly { groups, chassis, blades, nodes } => {
                table.dragonfly = Some(DragonflyTable { groups, chassis, blades, nodes });
            }
        }
        table
    }

    fn route(&mut self, zone: &Zone, route: &DeclaredRoute, bypass: bool) {
        let platform = self.platform;
        let name = |member: Member| platform.member_name(member).to_string();
        let links = route.links.iter().map(|&link| platform.link(link).name.to_string());
        let table = RouteTable {
            zone: zone.name.to_string(),
            src: name(route.src),
            dst: name(route.dst),
            src_gateway: route.gw_src.map(name),
            dst_gateway: route.gw_dst.map(name),
            links: links.collect(),
            one_way: (!route.symmetrical && !bypass).then_some(true),
            bypass: bypass.then_some(true),
        };
        self.file.route.push(Spanned::new(0..0, table));
    }

    fn disks(&mut self) {
        let platform = self.platform;
        for disk in platform.disks() {
            let name = |host: HostId| platform.host(host).name.to_string();
            let mut properties = ordered(disk.properties.as_ref());
            let content = properties.0.iter().position(|property| property.name == CONTENT);
            let content = content.map(|at| properties.0.remove(at).table);
            let table = DiskTable {
                name: disk.name.to_string(),
                host: name(disk.host),
                stock: None,
                read: Some(DiskBandwidth(disk.read_bandwidth)),
                write: Some(DiskBandwidth(disk.write_bandwidth)),
                connection: disk.connection_bandwidth.map(DiskBandwidth),
                capacity: disk.capacity.map(Bytes),
                mounts: disk
                    .mounts
                    .iter()
                    .map(|(host, path)| (name(*host), path.clone()))
                    .collect(),
                content,
                model: ModelTable::of(&disk.model),
                properties,
            };
            self.file.disk.push(Spanned::new(0..0, table));
        }
    }
}

fn windows(own: Option<&HostResources>) -> Vec<(Seconds, Seconds)> {
    let windows = own.map_or(&[][..], |own| &own.windows);
    windows.iter().map(|&(from, to)| (Seconds(from), Seconds(to))).collect()
}

/// A split-duplex link whose two directions have different profiles, which no file can represent.
pub(super) fn lopsided(platform: &Platform) -> Option<&Link> {
    let same = |a: &Option<Arc<Profile>>, b: &Option<Arc<Profile>>| match (a, b) {
        (Some(a), Some(b)) => a == b,
        (None, None) => true,
        _ => false,
    };
    let halves = platform.links().windows(2).filter(|w| w[0].duplex == Some(Duplex::Up));
    let mut halves = halves.map(|w| (&w[0], &w[1]));
    let odd = halves.find(|(up, down)| {
        !same(&up.bandwidth_profile, &down.bandwidth_profile)
            || !same(&up.latency_profile, &down.latency_profile)
            || !same(&up.state, &down.state)
    });
    odd.map(|(up, _)| up)
}

/// The profile of all machines of a cluster, if it is one and the same.
fn shared(
    platform: &Platform,
    cluster: ZoneId,
    of: impl Fn(&Host) -> &Option<Arc<Profile>>,
) -> Option<Arc<Profile>> {
    let mut hosts = platform.hosts().iter().filter(|host| host.zone == cluster);
    let first = of(hosts.next()?).clone()?;
    hosts.all(|host| of(host).as_ref().is_some_and(|p| Arc::ptr_eq(p, &first))).then_some(first)
}

/// The date from which a profile repeats; none where it does so from the start, or not at all.
fn repeat_from(profile: &Profile) -> Option<Seconds> {
    (profile.prelude() > 0).then(|| Seconds(profile.events()[profile.prelude()].date))
}

/// The name with which a link was declared: without `_UP` or `_DOWN`.
fn stem(link: &Link) -> &str {
    match link.duplex {
        Some(Duplex::Up) => link.name.strip_suffix("_UP").unwrap_or(&link.name),
        Some(Duplex::Down) => link.name.strip_suffix("_DOWN").unwrap_or(&link.name),
        None => &link.name,
    }
}

fn billing_table(billing: Billing, default: Billing) -> Option<BillingTable> {
    (billing != default).then_some(BillingTable {
        quantum: Some(Seconds(billing.quantum)),
        minimum: unless(billing.minimum, 0.0).map(Seconds),
        setup: unless(billing.setup, 0.0).map(Seconds),
    })
}

/// Options of batch jobs as a table.
fn slurm_table(options: &BatchOptions) -> SlurmTable {
    SlurmTable {
        partition: options.partition.clone(),
        account: options.account.clone(),
        qos: options.qos.clone(),
        constraint: options.constraint.clone(),
        time: options.seconds.map(Seconds),
        sbatch: options.words.clone(),
        kind: options.kinds.iter().map(|(kind, own)| (kind.clone(), slurm_table(own))).collect(),
    }
}
