//! Writes a platform as SimGrid XML 4.1, in the order that its DTD demands: clusters as one line again, inner
//! zones first, links before their uses, profiles as inline traces at the end.

use super::{own, pools};
use crate::disk_model;
use crate::error::{FormatError, Result};
use quick_xml::escape::escape;
use slackline_io::FileAccess;
use slackline_model::platform::{
    Billing, Class, ClusterSharing, ClusterSpec, DeclaredRoute, Disk, Duplex, Host, Link,
    LinkShape, Matrix, Member, Network, NetworkRouter, Platform, Profile, Properties, RoutingKind,
    Sharing, Topology, Zone,
};
use slackline_model::units::Quantity;
use slackline_model::{HostId, LinkId, RouterId, ZoneId};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Writes the platform to a file, whole or not at all.
pub fn write(files: &FileAccess, platform: &Platform, path: &Path) -> Result<()> {
    let text = to_string(platform).map_err(|error| error.in_file(path))?;
    files.write(path, |out| out.write_all(text.as_bytes()))
}

/// The platform as XML.
pub fn to_string(platform: &Platform) -> Result<String> {
    refuse_preludes(platform)?;
    let mut writer = Writer {
        platform,
        out: String::new(),
        depth: 0,
        children: vec![Vec::new(); platform.zones().len()],
        hosts: vec![Vec::new(); platform.zones().len()],
        routers: vec![Vec::new(); platform.zones().len()],
        links: vec![Vec::new(); platform.zones().len()],
        disks: HashMap::new(),
        remote_disks: HashMap::new(),
        in_cluster: vec![false; platform.links().len()],
    };
    writer.sort_by_zone();
    writer.place_links();
    writer.document()?;
    Ok(writer.out)
}

/// A trace of SimGrid repeats as a whole.
fn refuse_preludes(platform: &Platform) -> Result<()> {
    let hosts = platform.hosts().iter().map(|h| (&h.name, [&h.availability, &h.state, &None]));
    let links = platform.links().iter().map(|l| {
        let profiles = [&l.bandwidth_profile, &l.latency_profile, &l.state];
        (&l.name, profiles)
    });
    for (name, profiles) in hosts.chain(links) {
        if profiles.into_iter().flatten().any(|profile| profile.prelude() > 0) {
            let message = format!("'{name}' follows a profile of which only the end repeats");
            return Err(FormatError::new(message).with_help("write the platform as .toml"));
        }
    }
    Ok(())
}

struct Writer<'a> {
    platform: &'a Platform,
    out: String,
    depth: usize,
    children: Vec<Vec<ZoneId>>,
    hosts: Vec<Vec<HostId>>,
    routers: Vec<Vec<RouterId>>,
    /// By zone, the links that are first used in it: SimGrid requires declaration before use.
    links: Vec<Vec<LinkId>>,
    disks: HashMap<HostId, Vec<&'a Disk>>,
    /// Per host, the properties that mount disks of other hosts.
    remote_disks: HashMap<HostId, Properties>,
    /// Links represented by a cluster line or a backbone element.
    in_cluster: Vec<bool>,
}

/// The attributes of one tag, in order; absent ones are left out.
type Pairs<'a> = &'a [(&'a str, Option<String>)];

fn some(text: impl ToString) -> Option<String> {
    Some(text.to_string())
}

fn bandwidth(value: f64) -> Option<String> {
    some(Quantity::Bandwidth.write(value))
}

/// The bandwidth of a storage in bytes per second: bits are usual for networks and would look like a mistake.
fn disk_bandwidth(value: f64) -> Option<String> {
    some(Quantity::write_in_bytes(value))
}

fn duration(value: f64) -> Option<String> {
    some(Quantity::Duration.write(value))
}

impl Writer<'_> {
    fn sort_by_zone(&mut self) {
        let platform = self.platform;
        for (index, zone) in platform.zones().iter().enumerate() {
            if let Some(parent) = zone.parent {
                self.children[parent.index()].push(ZoneId::new(index));
            }
            let cluster_links = zone.cluster.iter().flat_map(|c| c.1.clone());
            for link in cluster_links.chain(zone.backbone().map(|link| link.0)) {
                self.in_cluster[link as usize] = true;
            }
        }
        for (index, host) in platform.hosts().iter().enumerate() {
            self.hosts[host.zone.index()].push(HostId::new(index));
        }
        for disk in platform.disks() {
            self.disks.entry(disk.host).or_default().push(disk);
            let server = &platform.host(disk.host).name;
            for (host, path) in disk.mounts.iter().filter(|(host, _)| *host != disk.host) {
                let value = format!("{path}:{}:{server}", disk.name);
                let list = self.remote_disks.entry(*host).or_default();
                list.push(("remote_disk".to_string(), value));
            }
        }
        for (index, router) in platform.routers().iter().enumerate() {
            self.routers[router.zone.index()].push(RouterId::new(index));
        }
    }

    /// Gives each link to the first zone, in order of writing, that uses it.
    fn place_links(&mut self) {
        let platform = self.platform;
        let mut placed = self.in_cluster.clone();
        let mut order = Vec::new();
        self.inner_first(ZoneId(0), &mut order);
        for id in order {
            let zone = platform.zone(id);
            let routes = zone.declared_routes().iter().chain(zone.bypass_routes());
            let mut used: Vec<LinkId> = routes.flat_map(|r| r.links.iter().copied()).collect();
            for &host in &self.hosts[id.index()] {
                let leaf = zone.leaf(host, platform.host(host).rank).unwrap_or_default();
                used.extend([leaf.up, leaf.down].into_iter().flatten());
            }
            used.sort_unstable();
            for link in used {
                self.place(link, id, &mut placed);
            }
        }
        for link in 0..platform.links().len() {
            self.place(LinkId::new(link), ZoneId(0), &mut placed);
        }
    }

    /// Both halves of a split-duplex link are declared at once, by the upper one.
    fn place(&mut self, link: LinkId, zone: ZoneId, placed: &mut [bool]) {
        let upper = match self.platform.link(link).duplex {
            Some(Duplex::Down) => LinkId(link.0 - 1),
            _ => link,
        };
        if !std::mem::replace(&mut placed[upper.index()], true) {
            self.links[zone.index()].push(upper);
        }
    }

    fn inner_first(&self, zone: ZoneId, order: &mut Vec<ZoneId>) {
        for &child in &self.children[zone.index()] {
            self.inner_first(child, order);
        }
        order.push(zone);
    }

    fn document(&mut self) -> Result<()> {
        self.out.push_str("<?xml version='1.0'?>\n");
        self.out.push_str("<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n");
        self.open("platform", &[("version", some("4.1"))]);
        match self.platform.network() {
            Network::Zones => self.zone(ZoneId(0))?,
            Network::Matrix(matrix) => self.matrix(matrix)?,
        }
        self.profiles();
        self.close("platform");
        Ok(())
    }

    fn tag(&mut self, name: &str, pairs: Pairs<'_>, end: &str) {
        let _ = write!(self.out, "{:indent$}<{name}", "", indent = 2 * self.depth);
        for (key, value) in pairs {
            if let Some(value) = value {
                let _ = write!(self.out, " {key}=\"{}\"", escape(value.as_str()));
            }
        }
        self.out.push_str(end);
        self.out.push('\n');
    }

    fn empty(&mut self, name: &str, pairs: Pairs<'_>) {
        self.tag(name, pairs, "/>");
    }

    fn open(&mut self, name: &str, pairs: Pairs<'_>) {
        self.tag(name, pairs, ">");
        self.depth += 1;
    }

    fn close(&mut self, name: &str) {
        self.depth -= 1;
        let _ = writeln!(self.out, "{:indent$}</{name}>", "", indent = 2 * self.depth);
    }

    fn properties(&mut self, properties: &Properties) {
        for (key, value) in properties {
            self.empty("prop", &[("id", some(key)), ("value", some(value))]);
        }
    }

    /// An element with properties in it, or an empty one.
    fn with_properties(&mut self, name: &str, pairs: Pairs<'_>, properties: &Properties) {
        if properties.is_empty() {
            return self.empty(name, pairs);
        }
        self.open(name, pairs);
        self.properties(properties);
        self.close(name);
    }

    fn zone(&mut self, id: ZoneId) -> Result<()> {
        let platform = self.platform;
        let zone = platform.zone(id);
        if let Some(cluster) = &zone.cluster {
            return self.cluster(zone, &cluster.0, id);
        }
        let routing = match zone.routing() {
            RoutingKind::None => "None",
            RoutingKind::Full => "Full",
            RoutingKind::Floyd => "Floyd",
            RoutingKind::Dijkstra => "Dijkstra",
            RoutingKind::Star => "Cluster",
            RoutingKind::Vivaldi => "Vivaldi",
        };
        self.open("zone", &[("id", some(&zone.name)), ("routing", some(routing))]);
        let mut properties = zone.properties.as_deref().cloned().unwrap_or_default();
        properties.extend(zone_properties(zone));
        self.properties(&properties);
        if id.0 == 0 {
            self.platform_properties();
        }
        for index in 0..self.children[id.index()].len() {
            self.zone(self.children[id.index()][index])?;
        }
        for index in 0..self.hosts[id.index()].len() {
            let host = self.hosts[id.index()][index];
            self.node(Member::Host(host), |writer| writer.host(host));
        }
        for index in 0..self.routers[id.index()].len() {
            let router = self.routers[id.index()][index];
            let NetworkRouter { name, coordinates: place, .. } = platform.router(router);
            let pairs = [("id", some(name)), ("coordinates", place.map(coordinates))];
            self.node(Member::Router(router), |writer| writer.empty("router", &pairs));
        }
        for index in 0..self.links[id.index()].len() {
            self.link(platform.link(self.links[id.index()][index]));
        }
        self.star_links(id)?;
        for route in zone.declared_routes() {
            self.route(route, false);
        }
        for route in zone.bypass_routes() {
            self.route(route, true);
        }
        self.close("zone");
        Ok(())
    }

    /// SimGrid's zones hold either zones or hosts and routers. Where ours hold both, each host
    /// and router gets a zone of its own, which the reader takes away again.
    fn is_wrapped(&self, node: Member) -> bool {
        let zone = match node {
            Member::Host(host) => self.platform.host(host).zone,
            Member::Router(router) => self.platform.router(router).zone,
            Member::Zone(_) => return false,
        };
        !self.children[zone.index()].is_empty()
            && self.platform.zone(zone).cluster.is_none()
            && !matches!(
                self.platform.zone(zone).routing(),
                RoutingKind::Star | RoutingKind::Vivaldi
            )
    }

    fn node(&mut self, node: Member, write: impl FnOnce(&mut Self)) {
        if !self.is_wrapped(node) {
            return write(self);
        }
        let name = format!("{}{}", own::WRAP, self.platform.member_name(node));
        self.open("zone", &[("id", some(name)), ("routing", some("Full"))]);
        write(self);
        self.close("zone");
    }

    fn platform_properties(&mut self) {
        let name = self.platform.name().to_string();
        let mut list = Vec::new();
        if *name != *self.platform.zone(ZoneId(0)).name {
            list.push((own::NAME.to_string(), name));
        }
        if let Some(origin) = self.platform.origin() {
            let host = self.platform.host(origin).name.to_string();
            list.push((own::ORIGIN.to_string(), host));
        }
        let all = self.platform.resources();
        if !all.is_empty() {
            let named = all.iter().map(|own| (&*own.name, own.amount));
            list.push((own::RESOURCES.to_string(), pools::write_named(named)));
        }
        let licences: Vec<&str> = all.iter().filter(|r| r.slurm).map(|r| &*r.name).collect();
        if !licences.is_empty() {
            list.push((own::LICENCES.to_string(), licences.join(",")));
        }
        if let Some(bytes) = self.platform.storage() {
            list.push((own::STORAGE.to_string(), Quantity::Size.write(bytes)));
        }
        self.properties(&list);
    }

    /// The backbone and private links of a star that was put together by hand.
    fn star_links(&mut self, id: ZoneId) -> Result<()> {
        let zone = self.platform.zone(id);
        if let Some(link) = zone.backbone() {
            let link = self.platform.link(link);
            let sharing = (link.sharing == Sharing::Fatpipe).then(|| "FATPIPE".to_string());
            self.empty(
                "backbone",
                &[
                    ("id", some(&link.name)),
                    ("bandwidth", bandwidth(link.bandwidth)),
                    ("latency", duration(link.latency)),
                    ("sharing_policy", sharing),
                ],
            );
        }
        for index in 0..self.hosts[id.index()].len() {
            let host = self.hosts[id.index()][index];
            let Host { name, rank, .. } = self.platform.host(host);
            let Some(leaf) = zone.leaf(host, *rank) else { continue };
            if leaf.limiter.is_some() || leaf.loopback.is_some() {
                let message = format!("the host \"{name}\" has a limiter or loopback of its own");
                return Err(FormatError::new(message).with_help("only clusters can have them"));
            }
            if let (Some(up), Some(down)) = (leaf.up, leaf.down) {
                let (up, down) = (self.platform.link(up), self.platform.link(down));
                self.empty(
                    "host_link",
                    &[("id", some(name)), ("up", some(&up.name)), ("down", some(&down.name))],
                );
            }
        }
        Ok(())
    }

    fn link(&mut self, link: &Link) {
        let name = match link.duplex {
            None => &*link.name,
            Some(Duplex::Up) => link.name.strip_suffix("_UP").unwrap_or(&link.name),
            Some(Duplex::Down) => return,
        };
        let policy = match (link.duplex, link.sharing) {
            (Some(_), _) => some("SPLITDUPLEX"),
            (None, Sharing::Fatpipe) => some("FATPIPE"),
            (None, Sharing::Shared) => None,
        };
        let properties = link.properties.as_deref().cloned().unwrap_or_default();
        self.with_properties(
            "link",
            &[
                ("id", some(name)),
                ("bandwidth", bandwidth(link.bandwidth)),
                ("latency", duration(link.latency)),
                ("sharing_policy", policy),
            ],
            &properties,
        );
    }

    fn host(&mut self, id: HostId) {
        let host = self.platform.host(id);
        let disks = self.disks.get(&id).cloned().unwrap_or_default();
        let mut properties = host.properties.as_deref().cloned().unwrap_or_default();
        properties.extend(own_properties(self.platform.class(host.class), host, self.platform));
        let place = self.platform.zone(host.zone).coordinates(Member::Host(id)).map(coordinates);
        let pairs = [
            ("id", some(&host.name)),
            ("speed", some(Quantity::Speed.write(host.speed))),
            ("core", (host.cores > 1).then(|| host.cores.to_string())),
            ("coordinates", place),
        ];
        let remote = self.remote_disks.get(&id).cloned().unwrap_or_default();
        properties.extend(remote.into_iter().filter(|p| !host_has(host, p)));
        if disks.is_empty() {
            return self.with_properties("host", &pairs, &properties);
        }
        self.open("host", &pairs);
        self.properties(&properties);
        for disk in disks {
            let mut properties = disk.properties.as_deref().cloned().unwrap_or_default();
            let mut add = |key: &str, value: Option<String>| {
                if let Some(value) = value
                    && !properties.iter().any(|(known, _)| known == key)
                {
                    properties.push((key.to_string(), value));
                }
            };
            add(own::DISK_MODEL, disk_model::to_property(&disk.model));
            add("size", disk.capacity.map(|size| Quantity::Size.write(size)));
            // Without it the larger of the two would hold for both together.
            let (read, write) = (disk.read_bandwidth, disk.write_bandwidth);
            let joint = disk.connection_bandwidth.unwrap_or(read + write);
            add(
                "connection_bw",
                Some(joint).filter(|j| *j != read.max(write)).and_then(disk_bandwidth),
            );
            let own_mount = disk.mounts.iter().find(|(by, _)| *by == id);
            add("mount", own_mount.map(|(_, path)| path.clone()));
            let pairs = [
                ("id", some(&disk.name)),
                ("read_bw", disk_bandwidth(disk.read_bandwidth)),
                ("write_bw", disk_bandwidth(disk.write_bandwidth)),
            ];
            self.with_properties("disk", &pairs, &properties);
        }
        self.close("host");
    }

    fn cluster(&mut self, zone: &Zone, spec: &ClusterSpec, id: ZoneId) -> Result<()> {
        let ranges = spec
            .radical
            .iter()
            .map(|&(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") });
        let policy = match spec.sharing {
            ClusterSharing::SplitDuplex => None,
            ClusterSharing::Shared => some("SHARED"),
            ClusterSharing::Fatpipe => some("FATPIPE"),
        };
        let backbone_policy = match spec.backbone {
            Some((_, Sharing::Fatpipe)) => some("FATPIPE"),
            _ => None,
        };
        let (topology, parameters) = topology(&spec.topology);
        let speed_of = |shape: &LinkShape| bandwidth(shape.bandwidth);
        let delay_of = |shape: &LinkShape| duration(shape.latency);
        let backbone = spec.backbone.as_ref().map(|(shape, _)| shape);
        let mut properties = spec.host.properties.as_deref().cloned().unwrap_or_default();
        if let Some(&first) = self.hosts[id.index()].first() {
            let host = self.platform.host(first);
            let class = self.platform.class(host.class);
            properties.extend(own_properties(class, host, self.platform));
        }
        properties.extend(zone_properties(zone));
        self.with_properties(
            "cluster",
            &[
                ("id", some(&zone.name)),
                ("prefix", some(&spec.prefix)),
                ("suffix", some(&spec.suffix)),
                ("radical", some(ranges.collect::<Vec<_>>().join(","))),
                ("speed", some(Quantity::Speed.write(spec.host.speed))),
                ("core", (spec.host.cores > 1).then(|| spec.host.cores.to_string())),
                ("bw", speed_of(&spec.link)),
                ("lat", delay_of(&spec.link)),
                ("sharing_policy", policy),
                ("topology", topology),
                ("topo_parameters", parameters),
                ("bb_bw", backbone.and_then(speed_of)),
                ("bb_lat", backbone.and_then(delay_of)),
                ("bb_sharing_policy", backbone_policy),
                ("limiter_link", spec.limiter.and_then(bandwidth)),
                ("loopback_bw", spec.loopback.as_ref().and_then(speed_of)),
                ("loopback_lat", spec.loopback.as_ref().and_then(delay_of)),
                ("router_id", spec.router.clone()),
            ],
            &properties,
        );
        Ok(())
    }

    fn route(&mut self, route: &DeclaredRoute, bypass: bool) {
        let is_zone = |end| matches!(end, Member::Zone(_)) || self.is_wrapped(end);
        let zones = is_zone(route.src) || is_zone(route.dst);
        let element = match (zones, bypass) {
            (false, false) => "route",
            (true, false) => "zoneRoute",
            (false, true) => "bypassRoute",
            (true, true) => "bypassZoneRoute",
        };
        // A zone route names both gateways, also that of an end that is a host or router.
        let name = |member: Member| some(self.platform.member_name(member));
        let gateway = |given: Option<Member>, end| match given {
            Some(gateway) => name(gateway),
            None if zones => name(end),
            None => None,
        };
        let end = |member: Member| {
            if self.is_wrapped(member) {
                some(format!("{}{}", own::WRAP, self.platform.member_name(member)))
            } else {
                name(member)
            }
        };
        let pairs = [
            ("src", end(route.src)),
            ("dst", end(route.dst)),
            ("gw_src", gateway(route.gw_src, route.src)),
            ("gw_dst", gateway(route.gw_dst, route.dst)),
            ("symmetrical", (!route.symmetrical && !bypass).then(|| "NO".to_string())),
        ];
        self.open(element, &pairs);
        for &link in &route.links {
            self.link_ctn(link);
        }
        self.close(element);
    }

    fn link_ctn(&mut self, id: LinkId) {
        let link = self.platform.link(id);
        let pairs = match link.duplex {
            // The private links of a cluster are only known by the names of their halves.
            Some(direction) if !self.in_cluster[id.index()] => {
                let (suffix, direction) = match direction {
                    Duplex::Up => ("_UP", "UP"),
                    Duplex::Down => ("_DOWN", "DOWN"),
                };
                let stem = link.name.strip_suffix(suffix).unwrap_or(&link.name);
                [("id", some(stem)), ("direction", some(direction))]
            }
            _ => [("id", some(&link.name)), ("direction", None)],
        };
        self.empty("link_ctn", &pairs);
    }

    /// A matrix becomes fat-pipe links: transfers do not disturb each other.
    fn matrix(&mut self, matrix: &Matrix) -> Result<()> {
        let platform = self.platform;
        let free = || {
            FormatError::new("SimGrid has no link on which transfers take no time")
                .with_help("give the platform a bandwidth, however large")
        };
        if let Some(zone) = platform.zones().iter().find(|zone| !zone.resources.is_empty()) {
            let message = format!("'{}' shares resources among some hosts of a matrix", zone.name);
            return Err(FormatError::new(message)
                .with_help("SimGrid has no zones there: write platform TOML or an instance"));
        }
        let fatpipe = some("FATPIPE");
        let uniform = matches!(matrix, Matrix::Uniform { .. });
        let routing = some(if uniform { "Cluster" } else { "Full" });
        self.open("zone", &[("id", some(&platform.zone(ZoneId(0)).name)), ("routing", routing)]);
        self.platform_properties();
        if let Matrix::Uniform { bandwidth: rate, latency } = matrix {
            if rate.is_infinite() {
                return Err(free());
            }
            self.empty(
                "link",
                &[
                    ("id", some("network")),
                    ("bandwidth", bandwidth(*rate)),
                    ("latency", duration(*latency)),
                    ("sharing_policy", fatpipe.clone()),
                ],
            );
        }
        for host in platform.host_ids() {
            self.host(host);
            if uniform {
                let (name, link) = (some(&platform.host(host).name), some("network"));
                self.empty("host_link", &[("id", name), ("up", link.clone()), ("down", link)]);
            }
        }
        if !uniform {
            let pairs = |a: HostId| platform.host_ids().filter(move |&b| a != b);
            for (a, b) in platform.host_ids().flat_map(|a| pairs(a).map(move |b| (a, b))) {
                let rate = matrix.bandwidth(a, b);
                if rate.is_infinite() {
                    return Err(free());
                }
                let (src, dst) = (&platform.host(a).name, &platform.host(b).name);
                let link = format!("{src} to {dst}");
                self.empty(
                    "link",
                    &[
                        ("id", some(&link)),
                        ("bandwidth", bandwidth(rate)),
                        ("latency", duration(matrix.latency(a, b))),
                        ("sharing_policy", fatpipe.clone()),
                    ],
                );
                let ends = [("src", some(src)), ("dst", some(dst)), ("symmetrical", some("NO"))];
                self.open("route", &ends);
                self.empty("link_ctn", &[("id", some(link))]);
                self.close("route");
            }
        }
        self.close("zone");
        Ok(())
    }

    /// Inline traces, each written once, and who follows them.
    fn profiles(&mut self) {
        let mut names: HashMap<*const Profile, String> = HashMap::new();
        let hosts = self.platform.hosts().iter().flat_map(|host| {
            let name = &host.name;
            [("SPEED", name, &host.availability), ("HOST_AVAIL", name, &host.state)]
        });
        let links = self.platform.links().iter().flat_map(|link| {
            let name = &link.name;
            [
                ("BANDWIDTH", name, &link.bandwidth_profile),
                ("LATENCY", name, &link.latency_profile),
                ("LINK_AVAIL", name, &link.state),
            ]
        });
        let used = hosts.chain(links).filter_map(|(kind, name, p)| Some((kind, name, p.as_ref()?)));
        let used: Vec<(&str, &Arc<str>, &Arc<Profile>)> = used.collect();
        for (kind, element, profile) in used {
            let next = format!("trace{}", names.len());
            let mut new = false;
            let name = names.entry(Arc::as_ptr(profile)).or_insert_with(|| {
                new = true;
                next
            });
            if new {
                let period = profile.period().unwrap_or(-1.0);
                let _ = writeln!(self.out, "  <trace id=\"{name}\" periodicity=\"{period}\">");
                for event in profile.events() {
                    let _ = writeln!(self.out, "{} {}", event.date, event.value);
                }
                self.out.push_str("  </trace>\n");
            }
            let name = name.clone();
            let pairs = [("kind", some(kind)), ("trace", some(name)), ("element", some(element))];
            self.empty("trace_connect", &pairs);
        }
    }
}

fn host_has(host: &Host, property: &(String, String)) -> bool {
    host.properties.as_ref().is_some_and(|list| list.contains(property))
}

fn coordinates([x, y, z]: [f64; 3]) -> String {
    format!("{x} {y} {z}")
}

fn topology(topology: &Topology) -> (Option<String>, Option<String>) {
    let join = |list: &[u32]| list.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    match topology {
        Topology::Flat => (None, None),
        Topology::Torus(dimensions) => (some("TORUS"), Some(join(dimensions))),
        Topology::FatTree { children, parents, cables } => {
            let lists = [join(children), join(parents), join(cables)].join(";");
            (some("FAT_TREE"), Some(format!("{};{lists}", children.len())))
        }
        Topology::Dragonfly { groups, chassis, blades, nodes } => {
            let lists =
                [groups, chassis, blades].map(|&(n, links)| format!("{n},{links}")).join(";");
            (some("DRAGONFLY"), Some(format!("{lists};{nodes}")))
        }
    }
}

/// Properties of a zone without attribute in SimGrid.
fn zone_properties(zone: &Zone) -> Properties {
    let mut list = Vec::new();
    if zone.shared_storage {
        list.push((own::SHARED_STORAGE.to_string(), "true".to_string()));
    }
    if let Some(bytes) = zone.storage_capacity {
        list.push((own::STORAGE_CAPACITY.to_string(), bytes.to_string()));
    }
    if !zone.resources.is_empty() {
        let named = zone.resources.iter().map(|(name, amount)| (&**name, *amount));
        list.push((own::SHARED_RESOURCES.to_string(), pools::write_named(named)));
    }
    if zone.transfer_price > 0.0 {
        list.push((own::TRANSFER_PRICE.to_string(), zone.transfer_price.to_string()));
    }
    list
}

/// Properties of a host without attribute in SimGrid.
fn own_properties(class: &Class, host: &Host, platform: &Platform) -> Properties {
    let mut list = Vec::new();
    let mut add = |key: &str, value: String| list.push((key.to_string(), value));
    if host.price > 0.0 {
        add(own::PRICE, host.price.to_string());
    }
    if let Some(memory) = host.memory {
        add(own::MEMORY, Quantity::Size.write(memory));
    }
    if let Some(resources) = host.resources.as_deref() {
        if !resources.gpus.is_empty() {
            add(own::GPUS, pools::write_gpus(&resources.gpus));
        }
        if !resources.named.is_empty() {
            let named = resources.named.iter().map(|(name, amount)| (&**name, *amount));
            add(own::RESOURCES, pools::write_named(named));
        }
        if !resources.windows.is_empty() {
            add(own::WINDOWS, pools::write_windows(&resources.windows));
        }
        if let Some(bytes) = resources.storage {
            add(own::STORAGE, Quantity::Size.write(bytes));
        }
        if let Some(seconds) = resources.wall_time {
            add(own::WALL_TIME, Quantity::Duration.write(seconds));
        }
    }
    // By default, classes are named after their zone or first host.
    let zone = platform.zone(class.zone);
    let first = class.hosts.first().map(|&first| &*platform.host(first).name);
    if *class.name != *zone.name && Some(&*class.name) != first {
        add(own::CLASS, class.name.to_string());
    }
    if class.leasable {
        add(own::LEASABLE, "true".to_string());
    }
    if class.billing != Billing::EXACT {
        let Billing { quantum, minimum, setup } = class.billing;
        add(own::BILLING, format!("{quantum} {minimum} {setup}"));
    }
    list
}
