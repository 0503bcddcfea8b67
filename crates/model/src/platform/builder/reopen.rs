//! A platform that is there already as a builder: to change it and to add hosts like those it has.

use super::PlatformBuilder;
use crate::platform::error::PlatformError;
use crate::platform::matrix::Matrix;
use crate::platform::star::StarLeaf;
use crate::platform::zone::{DeclaredRoute, Member, Routing};
use crate::platform::{Billing, Disk, HostSpec, Network, Platform};
use crate::{DiskId, HostId, LinkId, ZoneId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl PlatformBuilder {
    /// A builder that has everything of a platform. Clusters lose the line that described them, as
    /// their hosts may cease to be alike.
    pub(in super::super) fn reopen(platform: &Platform) -> PlatformBuilder {
        let wish = |host: &crate::platform::Host| {
            let class = platform.class(host.class);
            (Some(class.name.to_string()), class.leasable, Some(class.billing))
        };
        let mut zone_hosts = vec![0; platform.zones.len()];
        for host in &platform.hosts {
            zone_hosts[host.zone.index()] += 1;
        }
        let mut zones = platform.zones.clone();
        zones.iter_mut().for_each(|zone| zone.cluster = None);
        PlatformBuilder {
            name: platform.name.clone(),
            hosts: platform.hosts.clone(),
            host_class: platform.hosts.iter().map(wish).collect(),
            links: platform.links.clone(),
            disks: platform.disks.clone(),
            routers: platform.routers.clone(),
            zones,
            zone_hosts,
            matrix: match &platform.network {
                Network::Matrix(matrix) => Some(matrix.clone()),
                Network::Zones => None,
            },
            billing: Billing::EXACT,
            origin: platform.origin,
            fifo: platform.fifo,
            resources: platform.resources.clone(),
            storage: platform.storage,
            batch: platform.batch.clone(),
            measured: platform.measured,
            members: platform.members.clone(),
            link_names: platform.link_names.clone(),
            disk_names: platform.disks.iter().map(|d| (d.host, d.name.clone())).collect(),
            // No cluster is added to a platform that is there.
            fat_tree_cables: 0,
            dragonfly_links: 0,
        }
    }

    /// Hosts that differ from the others of their class from now on get a class of their own.
    pub(in super::super) fn part_from_class(&mut self, hosts: &[HostId]) {
        let parted: HashSet<HostId> = hosts.iter().copied().collect();
        let stay = |(at, wish): (usize, &super::ClassWish)| {
            if parted.contains(&HostId::new(at)) { None } else { wish.0.clone() }
        };
        let staying: HashSet<String> =
            self.host_class.iter().enumerate().filter_map(stay).collect();
        for &host in hosts {
            let wish = &mut self.host_class[host.index()];
            wish.0 = wish.0.take().filter(|name| !staying.contains(name));
        }
    }

    /// Adds a host like another: the same machine with the same disks at the same place in the network, reached
    /// over links of its own wherever the other has links that no third host uses.
    pub(in super::super) fn add_like(&mut self, model: HostId) -> Result<HostId, PlatformError> {
        let like = self.hosts[model.index()].clone();
        let (class, leasable, billing) = self.host_class[model.index()].clone();
        let name = self.next_name(&like.name);
        let host = self.add_host(
            like.zone,
            HostSpec {
                cores: like.cores,
                price: like.price,
                memory: like.memory,
                resources: like.resources.as_deref().cloned().unwrap_or_default(),
                arch: like.arch.as_deref().map(str::to_string),
                class,
                leasable,
                billing,
                availability: like.availability.clone(),
                state: like.state.clone(),
                properties: like.properties.clone(),
                ..HostSpec::new(name, like.speed)
            },
        )?;
        self.join_like(model, host, like.zone)?;
        self.equip_like(model, host);
        Ok(host)
    }

    /// The first free name that continues the numbers of another: `node-7` after `node-6`.
    fn next_name(&self, name: &str) -> String {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let (stem, first) = match name[stem.len()..].parse::<u64>() {
            Ok(number) => (stem.to_string(), number + 1),
            Err(_) => (format!("{name}-"), 2),
        };
        let mut numbers = first..;
        loop {
            let name = format!("{stem}{}", numbers.next().unwrap_or_default());
            if !self.members.contains_key(name.as_str()) {
                return name;
            }
        }
    }

    /// Wires a new host like another of its zone.
    fn join_like(
        &mut self,
        model: HostId,
        host: HostId,
        zone: ZoneId,
    ) -> Result<(), PlatformError> {
        if let Some(matrix) = &mut self.matrix {
            *matrix = grown(matrix, model);
            return Ok(());
        }
        let rank = self.hosts[model.index()].rank as usize;
        let leaf = match &self.zones[zone.index()].routing {
            Routing::None => return Ok(()),
            Routing::Star(star) => star.leaves.get(rank).copied().unwrap_or_default(),
            Routing::Vivaldi(vivaldi) => {
                let leaf = vivaldi.leaves.get(&Member::Host(model)).copied();
                if let Some(&at) = vivaldi.coordinates.get(&Member::Host(model)) {
                    self.set_coordinates(Member::Host(host), at)?;
                }
                match leaf {
                    Some(leaf) => leaf,
                    None => return Ok(()),
                }
            }
            Routing::Fabric(_) => {
                let element = format!("cluster \"{}\"", self.zones[zone.index()].name);
                let message = "a torus, fat tree or dragonfly has a fixed number of hosts";
                return Err(PlatformError::invalid(element, message));
            }
            Routing::Full(_) | Routing::Floyd(..) | Routing::Dijkstra(..) => {
                return self.route_like(model, host, zone);
            }
        };
        let mut copies = HashMap::new();
        let mut own = |builder: &mut Self, link: Option<LinkId>| {
            link.map(|link| builder.copied(link, host, &mut copies)).transpose()
        };
        let leaf = StarLeaf {
            up: own(self, leaf.up)?,
            down: own(self, leaf.down)?,
            limiter: own(self, leaf.limiter)?,
            loopback: own(self, leaf.loopback)?,
        };
        self.set_leaf(host, leaf)
    }

    /// Declares for a new host the routes that another has.
    fn route_like(
        &mut self,
        model: HostId,
        host: HostId,
        zone: ZoneId,
    ) -> Result<(), PlatformError> {
        let (old, new) = (Member::Host(model), Member::Host(host));
        let touches = |route: &DeclaredRoute| route.src == old || route.dst == old;
        let mut shared: HashSet<LinkId> = HashSet::new();
        for zone in &self.zones {
            let routes = zone.declared_routes().iter().chain(zone.bypass_routes());
            for route in routes.filter(|route| !touches(route)) {
                shared.extend(route.links.iter().copied());
            }
        }
        let routes: Vec<DeclaredRoute> = self.zones[zone.index()]
            .declared_routes()
            .iter()
            .filter(|r| touches(r))
            .cloned()
            .collect();
        let mut copies = HashMap::new();
        for route in &routes {
            let links = self.own_of(&route.links, host, &shared, &mut copies)?;
            let end = |member: Member| if member == old { new } else { member };
            let (src, dst) = (end(route.src), end(route.dst));
            self.add_route(zone, DeclaredRoute { src, dst, links, ..route.clone() })?;
        }
        let Some(first) = routes.iter().find(|route| route.src != route.dst) else { return Ok(()) };
        // From the old one to the new: out over the links that all routes of the old one share, in
        // over their copies; where there are none, as to its first neighbour.
        let others = || routes.iter().filter(|route| route.src != route.dst);
        let common = |link: &&LinkId| {
            !shared.contains(*link) && others().all(|route| route.links.contains(*link))
        };
        let is_alone = others().count() == 1;
        let out: Vec<LinkId> = first.links.iter().filter(common).copied().collect();
        let links: Box<[LinkId]> = if out.is_empty() || is_alone {
            self.own_of(&first.links, host, &shared, &mut HashMap::new())?
        } else {
            let back = out.iter().rev().map(|link| copies[link]);
            out.iter().copied().chain(back).collect()
        };
        self.add_route(zone, DeclaredRoute::between(model, host, links))
    }

    /// The links of a route with copies of those that only the old host uses.
    fn own_of(
        &mut self,
        links: &[LinkId],
        host: HostId,
        shared: &HashSet<LinkId>,
        copies: &mut HashMap<LinkId, LinkId>,
    ) -> Result<Box<[LinkId]>, PlatformError> {
        let own = |&link: &LinkId| {
            if shared.contains(&link) { Ok(link) } else { self.copied(link, host, copies) }
        };
        links.iter().map(own).collect()
    }

    /// The copy of a link for a host; made on first use, of a split-duplex link both halves.
    fn copied(
        &mut self,
        link: LinkId,
        host: HostId,
        copies: &mut HashMap<LinkId, LinkId>,
    ) -> Result<LinkId, PlatformError> {
        use crate::platform::Duplex;
        if let Some(&copy) = copies.get(&link) {
            return Ok(copy);
        }
        let first = match self.links[link.index()].duplex {
            Some(Duplex::Down) => link.index() - 1,
            _ => link.index(),
        };
        let halves = if self.links[first].duplex.is_some() { 2 } else { 1 };
        for old in first..first + halves {
            let mut copy = self.links[old].clone();
            let id = LinkId::new(self.links.len());
            let stem = format!("{} of {}", copy.name, self.hosts[host.index()].name);
            let mut name: Arc<str> = stem.as_str().into();
            let mut number = 2;
            while self.link_names.contains_key(&name) {
                name = format!("{stem} ({number})").into();
                number += 1;
            }
            copy.name = name.clone();
            self.link_names.insert(name, id);
            self.links.push(copy);
            copies.insert(LinkId::new(old), id);
        }
        Ok(copies[&link])
    }

    /// Gives a new host disks like those that another has for itself, and mounts the others.
    fn equip_like(&mut self, model: HostId, host: HostId) {
        let owned =
            |disk: &&Disk| disk.host == model && disk.mounts.iter().all(|(by, _)| *by == model);
        let own: Vec<Disk> = self.disks.iter().filter(owned).cloned().collect();
        for disk in &mut self.disks {
            if disk.host != model || disk.mounts.iter().any(|(by, _)| *by != model) {
                let places: Vec<String> = disk
                    .mounts
                    .iter()
                    .filter(|(by, _)| *by == model)
                    .map(|m| m.1.clone())
                    .collect();
                disk.mounts.extend(places.into_iter().map(|place| (host, place)));
            }
        }
        for disk in own {
            let mounts = disk.mounts.into_iter().map(|(_, place)| (host, place)).collect();
            self.disk_names.insert((host, disk.name.clone()));
            self.disks.push(Disk { host, mounts, ..disk });
        }
    }

    /// The hosts of that name, class, zone or cluster, in order of id; all where none is named.
    pub(in super::super) fn hosts_called(&self, name: Option<&str>) -> Vec<HostId> {
        let ids = (0..self.hosts.len()).map(HostId::new);
        let Some(name) = name else { return ids.collect() };
        match self.members.get(name) {
            Some(&Member::Host(host)) => vec![host],
            Some(&Member::Zone(zone)) => {
                ids.filter(|&host| self.is_inside(Member::Host(host), zone)).collect()
            }
            _ => {
                let of_class =
                    |host: &HostId| self.host_class[host.index()].0.as_deref() == Some(name);
                ids.filter(of_class).collect()
            }
        }
    }

    /// Changes the machine of a host.
    pub(in super::super) fn host_mut(&mut self, host: HostId) -> &mut crate::platform::Host {
        &mut self.hosts[host.index()]
    }

    /// Changes a link.
    pub(in super::super) fn link_mut(&mut self, link: LinkId) -> &mut crate::platform::Link {
        &mut self.links[link.index()]
    }

    /// Changes a disk.
    pub(in super::super) fn disk_mut(&mut self, disk: DiskId) -> &mut Disk {
        &mut self.disks[disk.index()]
    }

    /// Number of disks so far.
    pub(in super::super) fn disk_count(&self) -> usize {
        self.disks.len()
    }

    /// The matrix of bandwidths and latencies, where the network is one.
    pub(in super::super) fn matrix_mut(&mut self) -> Option<&mut Matrix> {
        self.matrix.as_mut()
    }
}

/// A matrix with one more host that is joined like another; to that one as it is to its nearest neighbour.
fn grown(matrix: &Matrix, model: HostId) -> Matrix {
    let Matrix::Dense { hosts, .. } = matrix else { return matrix.clone() };
    let (hosts, new) = (*hosts, HostId::new(*hosts));
    let ids = || (0..hosts).map(HostId::new).filter(|&other| other != model);
    let nearest = ids().max_by(|&a, &b| {
        let rank = |other| (matrix.bandwidth(model, other), -matrix.latency(model, other));
        let ((wide, near), (wide_b, near_b)) = (rank(a), rank(b));
        // Of equal ones the first.
        wide.total_cmp(&wide_b).then(near.total_cmp(&near_b)).then(b.cmp(&a))
    });
    let pair = |src: HostId, dst: HostId| -> (f64, f64) {
        let old = |id: HostId| if id == new { model } else { id };
        let (src, dst) = match (old(src), old(dst)) {
            (a, b) if a != b => (a, b),
            // The two like ones, or a host with itself.
            (a, _) if src != dst => match nearest {
                Some(other) => (a, other),
                None => return (f64::INFINITY, 0.0),
            },
            _ => return (f64::INFINITY, 0.0),
        };
        (matrix.bandwidth(src, dst), matrix.latency(src, dst))
    };
    let all =
        || (0..=hosts).flat_map(|a| (0..=hosts).map(move |b| (HostId::new(a), HostId::new(b))));
    Matrix::Dense {
        hosts: hosts + 1,
        bandwidth: all().map(|(a, b)| pair(a, b).0).collect(),
        latency: all().map(|(a, b)| pair(a, b).1).collect(),
    }
}
