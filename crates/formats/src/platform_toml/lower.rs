//! Lowering: from the tables of a file to a platform. Tables are taken in an order in which everything exists
//! before it is named: zones, links, machines, then routes and whatever refers to them.

use super::schema::{
    Bandwidth, BillingTable, Bytes, ClusterTable, DiskBandwidth, DiskTable, File, FollowTable,
    HostTable, InnerLink, LinkTable, LinksWord, MatrixTable, Named, NetworkTable, OneOrRows,
    Ordered, ProfileTable, RouteTable, RoutingWord, Seconds, SharingWord, SlurmTable,
};
use crate::disk_model::{CONTENT, ModelTable, read_contents};
use crate::error::{FormatError, Result};
use crate::resources::{Entries, Given, GpuCapacity, capacities};
use slackline_io::Siblings;
use slackline_model::platform::{
    BatchOptions, Billing, ClusterSharing, ClusterSpec, DeclaredRoute, Disk, DiskModel, HostSpec,
    LinkProfiles, LinkShape, LinkSpec, Matrix, Member, Platform, PlatformBuilder, PlatformError,
    Profile, ProfileEvent, Properties, RoutingKind, Sharing, StarLeaf, StockDisk, Topology,
};
use slackline_model::resources::{HostResources, SharedResource};
use slackline_model::units::Quantity;
use slackline_model::{HostId, LinkId, ZoneId};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use toml::Spanned;

/// Default bandwidth of links: 1 Gbit/s.
pub(super) const BANDWIDTH: f64 = 1.25e8;
/// Default latency of links: 100 us.
pub(super) const LATENCY: f64 = 1e-4;
/// Bandwidth between a cluster and the router around it: 10 Gbit/s.
pub(super) const UPLINK: f64 = 1.25e9;
/// The zone around all others in the short form.
pub(super) const WORLD: &str = "world";

/// The name of the router of a site or of the whole platform.
pub(super) fn router_of(zone: &str) -> String {
    format!("{zone}/router")
}

/// The name of the link between a member of the short form and the router around it.
pub(super) fn link_of(member: &str) -> String {
    format!("{member}/link")
}

pub(super) fn platform(
    text: &str,
    file: File,
    default_name: Option<&str>,
    siblings: Option<Siblings<'_>>,
) -> Result<Platform> {
    let name = file.name.as_deref().or(default_name).unwrap_or("platform");
    let mut lowering = Lowering {
        text,
        siblings,
        builder: PlatformBuilder::new(name),
        profiles: HashMap::new(),
        network: NetworkTable::default(),
        joined: HashSet::new(),
    };
    lowering.lower(file)?;
    lowering.builder.build().map_err(FormatError::new)
}

struct Lowering<'a> {
    text: &'a str,
    /// Files that the platform may name.
    siblings: Option<Siblings<'a>>,
    builder: PlatformBuilder,
    profiles: HashMap<String, Arc<Profile>>,
    network: NetworkTable,
    /// Members that a link names in `between`.
    joined: HashSet<String>,
}

/// Members of machines that clusters and hosts share.
struct Machine<'a> {
    speed: Option<f64>,
    cores: Option<u32>,
    memory: Option<f64>,
    storage: Option<f64>,
    windows: &'a [(Seconds, Seconds)],
    wall_time: Option<Seconds>,
    gpus: &'a Option<GpuCapacity>,
    resources: &'a Entries<Given>,
    price: Option<f64>,
    price_per_hour: Option<f64>,
    arch: &'a Option<String>,
    class: &'a Option<String>,
    leasable: Option<bool>,
    availability: &'a Option<String>,
    state: &'a Option<String>,
    billing: Option<BillingTable>,
    properties: &'a Ordered<String>,
}

/// The tables of hosts and of clusters name these members alike.
macro_rules! machine_of {
    ($table:ident) => {
        Machine {
            speed: $table.speed.map(|s| s.0),
            cores: $table.cores,
            memory: $table.memory.map(|m| m.0),
            storage: $table.storage.map(|s| s.0),
            windows: &$table.windows,
            wall_time: $table.wall_time,
            gpus: &$table.gpus,
            resources: &$table.resources,
            price: $table.price,
            price_per_hour: $table.price_per_hour,
            arch: &$table.arch,
            class: &$table.class,
            leasable: $table.leasable,
            availability: &$table.availability,
            state: &$table.state,
            billing: $table.billing,
            properties: &$table.properties,
        }
    };
}

impl<'a> Lowering<'a> {
    /// Turns errors of the builder into errors at a byte offset of the text.
    fn at(&self, offset: usize) -> impl Fn(PlatformError) -> FormatError + 'a {
        let text = self.text;
        move |error| FormatError::at_offset(text, offset, error)
    }

    fn fail(&self, offset: usize, message: impl std::fmt::Display) -> FormatError {
        FormatError::at_offset(self.text, offset, message)
    }

    fn price_transfers(&mut self, zone: ZoneId, price: Option<f64>, offset: usize) -> Result<()> {
        match price {
            Some(price) => self.builder.set_transfer_price(zone, price).map_err(self.at(offset)),
            None => Ok(()),
        }
    }

    fn lower(&mut self, file: File) -> Result<()> {
        for Named { name, offset, table } in file.profile.0 {
            let profile = profile(&table)
                .map_err(|e| self.fail(offset, format!("profile \"{name}\": {e}")))?;
            self.profiles.insert(name, Arc::new(profile));
        }
        self.network = file.network.unwrap_or_default();
        if let Some(billing) = file.billing {
            self.builder.set_billing(billing_of(billing));
        }
        let ends = file.link.0.iter().filter_map(|link| link.table.between.as_ref());
        self.joined = ends.flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
        if file.zone.is_empty() {
            self.refuse_long_form(&file.router, &file.route)?;
            let world = RoutingKind::Floyd;
            let world = self.builder.add_zone(None, WORLD, world).map_err(FormatError::new)?;
            if file.matrix.is_none() {
                self.builder.add_router(world, router_of(WORLD)).map_err(FormatError::new)?;
            }
        }
        for Named { name, offset, table } in &file.zone.0 {
            let fail = self.at(*offset);
            let parent = table.parent.as_deref().map(|parent| self.zone(parent, *offset));
            let routing = routing(table.routing);
            let parent = parent.transpose()?;
            let zone = self.builder.add_zone(parent, name, routing).map_err(&fail)?;
            if !table.properties.is_empty() {
                self.builder.set_zone_properties(zone, pairs(&table.properties));
            }
            self.store(zone, table.shared_storage, table.storage_capacity, *offset)?;
            self.price_transfers(zone, table.transfer_price, *offset)?;
            self.share(zone, &table.shared_resources, *offset)?;
        }
        for Named { name, offset, table } in &file.site.0 {
            if !file.zone.is_empty() {
                return Err(self.fail(*offset, "sites belong to the short form, zones to the long"));
            }
            let fail = self.at(*offset);
            let zone = self.builder.add_zone(Some(ZoneId(0)), name, RoutingKind::Floyd);
            let zone = zone.map_err(&fail)?;
            self.store(zone, table.shared_storage, table.storage_capacity, *offset)?;
            self.price_transfers(zone, table.transfer_price, *offset)?;
            self.share(zone, &table.shared_resources, *offset)?;
            if file.matrix.is_some() {
                continue;
            }
            self.builder.add_router(zone, router_of(name)).map_err(&fail)?;
            if !self.joined.contains(name) {
                let shape = self.shape(table.bandwidth, table.latency);
                let link = LinkSpec::new(link_of(name), shape.bandwidth, shape.latency);
                self.hang(ZoneId(0), name, link, *offset)?;
            }
        }
        for link in &file.link.0 {
            self.add_link(link)?;
        }
        for cluster in file.cluster.0 {
            self.add_cluster(cluster, file.matrix.is_some(), file.zone.is_empty())?;
        }
        for host in file.host.0 {
            self.add_host(host, file.matrix.is_some(), file.zone.is_empty())?;
        }
        for follow in file.follow {
            self.follow(follow.span().start, follow.into_inner())?;
        }
        for Named { name, offset, table } in &file.router.0 {
            let zone = self.zone(&table.zone, *offset)?;
            let fail = self.at(*offset);
            let router = self.builder.add_router(zone, name).map_err(&fail)?;
            if let Some(coordinates) = table.coordinates {
                let member = Member::Router(router);
                self.builder.set_coordinates(member, coordinates).map_err(&fail)?;
            }
        }
        for Named { offset, table, name } in &file.zone.0 {
            if let Some(backbone) = &table.backbone {
                let fail = self.at(*offset);
                let link = self.builder.link(backbone).map_err(&fail)?;
                let zone = self.zone(name, *offset)?;
                self.builder.set_backbone(zone, link).map_err(&fail)?;
            }
        }
        for link in file.link.0 {
            self.join(&link)?;
        }
        for route in file.route {
            self.add_route(route)?;
        }
        for disk in file.disk {
            self.add_disk(disk)?;
        }
        let shared = file.resources.0.iter().map(|(name, entry)| match entry.amount.capacity() {
            Ok(amount) => {
                Ok(SharedResource { name: name.as_str().into(), amount, slurm: entry.slurm })
            }
            Err(error) => Err(FormatError::in_path(format!("resources.{name}"), error)),
        });
        self.builder.set_resources(shared.collect::<Result<_>>()?);
        if let Some(table) = file.slurm {
            let options = batch_options(table, "slurm")?;
            self.builder.set_batch(options);
        }
        if let Some(Bytes(bytes)) = file.storage {
            self.builder.set_storage(bytes);
        }
        match file.links {
            Some(LinksWord::Fifo) => drop(self.builder.set_fifo()),
            Some(LinksWord::Measured) => drop(self.builder.set_measured()),
            Some(LinksWord::Shared) | None => {}
        }
        if let Some(origin) = &file.origin {
            let unknown = |error| FormatError::in_path("origin", error);
            let host = self.builder.host(origin).map_err(unknown)?;
            self.builder.set_origin(host);
        }
        if let Some(matrix) = file.matrix {
            self.set_matrix(matrix)?;
        }
        Ok(())
    }

    /// Fails where a file without zones (the short form) has routers or routes.
    fn refuse_long_form<T>(
        &self,
        routers: &Ordered<T>,
        routes: &[Spanned<RouteTable>],
    ) -> Result<()> {
        let first_route = routes.first().map(|route| route.span().start);
        match routers.0.first().map(|router| router.offset).or(first_route) {
            None => Ok(()),
            Some(offset) => Err(self.fail(offset, "routers and routes need zones").with_help(
                "add [zone.NAME] tables, or join sites with [link.NAME] between = [...]",
            )),
        }
    }

    fn zone(&self, name: &str, offset: usize) -> Result<ZoneId> {
        match self.builder.member(name) {
            Ok(Member::Zone(zone)) => Ok(zone),
            _ => Err(self.fail(offset, format!("there is no zone or site \"{name}\""))),
        }
    }

    /// The zone of a cluster or host: its site, or the zone it names, or the outermost one.
    fn place(&self, site: &Option<String>, zone: &Option<String>, offset: usize) -> Result<ZoneId> {
        match site.as_ref().or(zone.as_ref()) {
            Some(name) => self.zone(name, offset),
            None => Ok(ZoneId(0)),
        }
    }

    /// The bandwidth and latency of a link: its own, else those of `[network]`, else the defaults.
    fn shape(&self, bandwidth: Option<Bandwidth>, latency: Option<Seconds>) -> LinkShape {
        LinkShape {
            bandwidth: bandwidth.or(self.network.bandwidth).map_or(BANDWIDTH, |b| b.0),
            latency: latency.or(self.network.latency).map_or(LATENCY, |s| s.0),
        }
    }

    /// The named resources that the hosts of a zone share.
    fn share(&mut self, zone: ZoneId, named: &Entries<Given>, offset: usize) -> Result<()> {
        let named = self.amounts("shared-resources", named, offset)?;
        self.builder.share_resources(zone, named).map_err(self.at(offset))
    }

    fn amounts(
        &self,
        key: &str,
        named: &Entries<Given>,
        offset: usize,
    ) -> Result<Vec<(Arc<str>, slackline_model::resources::Amount)>> {
        let refuse = |(name, error)| self.fail(offset, format!("{key}.{name}: {error}"));
        capacities(named).map_err(refuse)
    }

    /// The storage that the hosts of a zone share.
    fn store(
        &mut self,
        zone: ZoneId,
        shared: Option<bool>,
        capacity: Option<Bytes>,
        offset: usize,
    ) -> Result<()> {
        match (shared, capacity) {
            (Some(false), Some(_)) => {
                let message = "storage-capacity bounds a storage that is shared";
                return Err(self.fail(offset, message).with_help("say shared-storage = true"));
            }
            (_, Some(Bytes(bytes))) => self.builder.bound_storage(zone, bytes),
            (Some(true), None) => self.builder.share_storage(zone),
            _ => {}
        }
        Ok(())
    }

    /// Joins a member of a zone to the router of that zone.
    fn hang(&mut self, zone: ZoneId, member: &str, link: LinkSpec, offset: usize) -> Result<()> {
        let fail = self.at(offset);
        let link = self.builder.add_link(link).map_err(&fail)?;
        let router = router_of(self.builder.zone_name(zone));
        let router = self.builder.member(&router).map_err(&fail)?;
        self.route_between(zone, member, router, link, offset)
    }

    fn route_between(
        &mut self,
        zone: ZoneId,
        src: &str,
        dst: Member,
        link: LinkId,
        offset: usize,
    ) -> Result<()> {
        let fail = self.at(offset);
        let src = self.builder.member(src).map_err(&fail)?;
        let route = DeclaredRoute {
            src,
            dst,
            gw_src: self.gateway(src),
            gw_dst: self.gateway(dst),
            links: [link].into(),
            symmetrical: true,
        };
        self.builder.add_route(zone, route).map_err(fail)
    }

    /// The router of a site or cluster of the short form.
    fn gateway(&self, member: Member) -> Option<Member> {
        let Member::Zone(zone) = member else { return None };
        let router = router_of(self.builder.zone_name(zone));
        self.builder.member(&router).ok()
    }

    fn add_link(&mut self, named: &Named<LinkTable>) -> Result<()> {
        let Named { name, offset, table } = named;
        let shape = self.shape(table.bandwidth, table.latency);
        let mut spec = LinkSpec::new(name, shape.bandwidth, shape.latency);
        match table.sharing {
            Some(SharingWord::Fatpipe) => spec.sharing = Sharing::Fatpipe,
            Some(SharingWord::SplitDuplex) => spec.split_duplex = true,
            Some(SharingWord::Shared) => {}
            // A link drawn between two places carries both directions at full speed.
            None => spec.split_duplex = table.between.is_some(),
        }
        spec.bandwidth_profile = self.profile(&table.bandwidth_profile, *offset)?;
        spec.latency_profile = self.profile(&table.latency_profile, *offset)?;
        spec.state = self.profile(&table.state, *offset)?;
        spec.properties = shared(&table.properties);
        self.builder.add_link(spec).map(|_| ()).map_err(self.at(*offset))
    }

    /// The route of a link with `between`, once its ends exist.
    fn join(&mut self, named: &Named<LinkTable>) -> Result<()> {
        let Named { name, offset, table } = named;
        let Some((a, b)) = &table.between else { return Ok(()) };
        let fail = self.at(*offset);
        let link = self.link(name, *offset)?;
        let (src, dst) = (self.builder.member(a), self.builder.member(b));
        let (src, dst) = (src.map_err(&fail)?, dst.map_err(&fail)?);
        let (around, other) = (self.builder.zone_around(src), self.builder.zone_around(dst));
        match around {
            Some(zone) if around == other => self.route_between(zone, a, dst, link, *offset),
            _ => Err(self
                .fail(*offset, format!("\"{a}\" and \"{b}\" are not in the same site"))
                .with_help("join the two sites instead")),
        }
    }

    /// A link by name; of a split-duplex one the upward half.
    fn link(&self, name: &str, offset: usize) -> Result<LinkId> {
        let link = self.builder.link(name);
        let upward = || self.builder.link(&format!("{name}_UP"));
        link.or_else(|error| upward().map_err(|_| error)).map_err(self.at(offset))
    }

    fn profile(&self, name: &Option<String>, offset: usize) -> Result<Option<Arc<Profile>>> {
        let Some(name) = name else { return Ok(None) };
        match self.profiles.get(name) {
            Some(profile) => Ok(Some(profile.clone())),
            None => Err(self.fail(offset, format!("there is no profile \"{name}\""))),
        }
    }

    fn machine(&self, name: &str, offset: usize, machine: Machine<'_>) -> Result<HostSpec> {
        let Some(speed) = machine.speed else {
            return Err(
                self.fail(offset, format!("\"{name}\" needs a speed, e.g. speed = \"2Gf\""))
            );
        };
        let mut spec = HostSpec::new(name, speed);
        spec.cores = machine.cores.unwrap_or(1);
        spec.memory = machine.memory;
        spec.resources = HostResources {
            gpus: machine.gpus.as_ref().map(GpuCapacity::kinds).unwrap_or_default(),
            named: self.amounts("resources", machine.resources, offset)?,
            windows: machine.windows.iter().map(|(from, to)| (from.0, to.0)).collect(),
            storage: machine.storage,
            wall_time: machine.wall_time.map(|seconds| seconds.0),
        };
        spec.price = match (machine.price, machine.price_per_hour) {
            (Some(_), Some(_)) => {
                let message = format!("\"{name}\" has two prices: price or price-per-hour");
                return Err(self.fail(offset, message));
            }
            (Some(price), None) => price,
            // The price of the whole machine, as clouds state it; the platform has that of a core and second.
            (None, Some(hourly)) => hourly / 3600.0 / f64::from(spec.cores.max(1)),
            (None, None) => 0.0,
        };
        spec.arch = machine.arch.clone();
        spec.class = machine.class.clone();
        spec.leasable = machine.leasable.unwrap_or(false);
        spec.availability = self.profile(machine.availability, offset)?;
        spec.state = self.profile(machine.state, offset)?;
        spec.billing = machine.billing.map(billing_of);
        spec.properties = shared(machine.properties);
        Ok(spec)
    }

    /// Adds a machine, and in the `short` form without a `matrix` its link to the router around it.
    fn add_host(&mut self, named: Named<HostTable>, matrix: bool, short: bool) -> Result<()> {
        let Named { name, offset, table } = named;
        let fail = self.at(offset);
        let zone = self.place(&table.site, &table.zone, offset)?;
        let spec = self.machine(&name, offset, machine_of!(table))?;
        let host = self.builder.add_host(zone, spec).map_err(&fail)?;
        if let Some(coordinates) = table.coordinates {
            self.builder.set_coordinates(Member::Host(host), coordinates).map_err(&fail)?;
        }
        let find = |name: &Option<String>| {
            name.as_deref().map(|name| self.builder.link(name)).transpose().map_err(&fail)
        };
        let leaf = StarLeaf {
            up: find(&table.up)?,
            down: find(&table.down)?,
            limiter: find(&table.limiter)?,
            loopback: find(&table.loopback)?,
        };
        if leaf != StarLeaf::default() {
            self.builder.set_leaf(host, leaf).map_err(&fail)?;
        }
        if short && !matrix && !self.joined.contains(&name) {
            let shape = self.shape(table.bandwidth, table.latency);
            let link = LinkSpec::new(link_of(&name), shape.bandwidth, shape.latency);
            self.hang(zone, &name, LinkSpec { split_duplex: true, ..link }, offset)?;
        }
        Ok(())
    }

    /// Adds a cluster, of a `matrix` only its machines, and in the `short` form its uplink.
    fn add_cluster(&mut self, named: Named<ClusterTable>, matrix: bool, short: bool) -> Result<()> {
        let Named { name, offset, table } = named;
        let fail = self.at(offset);
        let zone = self.place(&table.site, &table.zone, offset)?;
        let host = self.machine(&name, offset, machine_of!(table))?;
        let numbers = match (&table.numbers, table.count) {
            (Some(text), None) => numbers(text).ok_or_else(|| {
                self.fail(offset, format!("numbers = \"{text}\" is no list like 1-8,12"))
            })?,
            (None, Some(count)) if count > 0 => vec![(0, count - 1)],
            _ => {
                let message = format!("the cluster \"{name}\" needs a count above 0, or numbers");
                return Err(self.fail(offset, message));
            }
        };
        let pattern = table.names.clone().unwrap_or_else(|| format!("{name}-{{}}"));
        let Some((prefix, suffix)) = pattern.split_once("{}") else {
            let message =
                format!("names = \"{pattern}\" has no {{}} for the number of the machine");
            return Err(self.fail(offset, message));
        };
        let inner = |link: &InnerLink| LinkShape {
            bandwidth: link.bandwidth.0,
            latency: link.latency.map_or(0.0, |s| s.0),
        };
        let spec = ClusterSpec {
            id: name.clone(),
            prefix: prefix.to_string(),
            suffix: suffix.to_string(),
            radical: numbers,
            host,
            link: self.shape(table.bandwidth, table.latency),
            sharing: match table.sharing {
                None | Some(SharingWord::SplitDuplex) => ClusterSharing::SplitDuplex,
                Some(SharingWord::Shared) => ClusterSharing::Shared,
                Some(SharingWord::Fatpipe) => ClusterSharing::Fatpipe,
            },
            backbone: table.backbone.as_ref().map(|link| {
                let fatpipe = link.sharing == Some(SharingWord::Fatpipe);
                (inner(link), if fatpipe { Sharing::Fatpipe } else { Sharing::Shared })
            }),
            limiter: table.limiter.map(|b| b.0),
            loopback: table.loopback.as_ref().map(inner),
            router: if short { Some(router_of(&name)) } else { table.router.clone() },
            topology: topology(&table),
        };
        let of_zones = [
            ("shared-storage", table.shared_storage == Some(true)),
            ("storage-capacity", table.storage_capacity.is_some()),
            ("transfer-price", table.transfer_price.is_some()),
            ("shared-resources", !table.shared_resources.is_empty()),
        ];
        if let Some((key, _)) = of_zones.iter().find(|(_, said)| matrix && *said) {
            let message = "a cluster of a matrix platform is only a list of machines";
            let help = format!("say {key} of a site around it");
            return Err(self.fail(offset, message).with_help(help));
        }
        if matrix {
            // Only the machines count: a matrix has no links.
            return self.add_machines(zone, &spec, offset);
        }
        let cluster = self.builder.add_cluster(Some(zone), spec).map_err(&fail)?;
        self.store(cluster, table.shared_storage, table.storage_capacity, offset)?;
        self.price_transfers(cluster, table.transfer_price, offset)?;
        self.share(cluster, &table.shared_resources, offset)?;
        if short && !self.joined.contains(&name) {
            let bandwidth = table.uplink.or(self.network.uplink).map_or(UPLINK, |b| b.0);
            let latency = self.shape(None, None).latency;
            let link = LinkSpec::new(link_of(&name), bandwidth, latency);
            self.hang(zone, &name, LinkSpec { split_duplex: true, ..link }, offset)?;
        }
        Ok(())
    }

    /// A `[[follow]]` table: profiles of one machine or one link of a cluster. The bandwidth and latency of a link may
    /// also be quantities, for a link unlike the others of its cluster; the name of a profile wins.
    fn follow(&mut self, offset: usize, table: FollowTable) -> Result<()> {
        let fail = self.at(offset);
        let figure = |text: &Option<String>, quantity: Quantity| {
            let text = text.as_ref().filter(|text| !self.profiles.contains_key(*text))?;
            let value = quantity.parse(text).ok()?;
            (value > 0.0 || quantity == Quantity::Duration && value == 0.0).then_some(value)
        };
        let rate = figure(&table.bandwidth, Quantity::Bandwidth);
        let delay = figure(&table.latency, Quantity::Duration);
        if let (Some(link), true) = (&table.link, rate.is_some() || delay.is_some()) {
            let link = self.builder.link(link).map_err(&fail)?;
            self.builder.set_link_figures(link, rate, delay).map_err(&fail)?;
        }
        let profiled = |text: &Option<String>, figure: Option<f64>| match figure {
            Some(_) if table.link.is_some() => None,
            _ => text.clone(),
        };
        let (bandwidth, latency) =
            (profiled(&table.bandwidth, rate), profiled(&table.latency, delay));
        let [availability, bandwidth, latency, state] =
            [&table.availability, &bandwidth, &latency, &table.state]
                .map(|name| self.profile(name, offset));
        let (availability, bandwidth, latency, state) =
            (availability?, bandwidth?, latency?, state?);
        match (&table.host, &table.link) {
            (Some(host), None) if bandwidth.is_none() && latency.is_none() => {
                let host = self.builder.host(host).map_err(&fail)?;
                if let Some(profile) = availability {
                    self.builder.set_availability(host, profile);
                }
                if let Some(profile) = state {
                    self.builder.set_host_state(host, profile);
                }
                Ok(())
            }
            (None, Some(link)) if availability.is_none() => {
                let link = self.builder.link(link).map_err(&fail)?;
                let profiles = LinkProfiles { bandwidth, latency, state };
                self.builder.set_link_profiles(link, profiles).map_err(&fail)
            }
            _ => {
                let message =
                    "a host follows availability and state, a link bandwidth, latency and state";
                Err(self.fail(offset, message))
            }
        }
    }

    /// The machines of a cluster as hosts of a zone without routes.
    fn add_machines(&mut self, parent: ZoneId, spec: &ClusterSpec, offset: usize) -> Result<()> {
        let fail = self.at(offset);
        let count = spec.count();
        if count > 100_000 {
            return Err(self.fail(offset, format!("{count} machines are too many for a matrix")));
        }
        let b = &mut self.builder;
        let zone = b.add_zone(Some(parent), &spec.id, RoutingKind::None).map_err(&fail)?;
        for number in spec.radical.iter().flat_map(|&(a, b)| a..=b) {
            let name = format!("{}{number}{}", spec.prefix, spec.suffix);
            b.add_host(zone, HostSpec { name, ..spec.host.clone() }).map_err(&fail)?;
        }
        Ok(())
    }

    fn add_route(&mut self, spanned: Spanned<RouteTable>) -> Result<()> {
        let offset = spanned.span().start;
        let table = spanned.into_inner();
        let fail = self.at(offset);
        let zone = self.zone(&table.zone, offset)?;
        let member = |name: &str| self.builder.member(name);
        let gateway = |name: &Option<String>| name.as_deref().map(member).transpose();
        let links: Result<Box<[LinkId]>> =
            table.links.iter().map(|name| self.link(name, offset)).collect();
        let route = DeclaredRoute {
            src: member(&table.src).map_err(&fail)?,
            dst: member(&table.dst).map_err(&fail)?,
            gw_src: gateway(&table.src_gateway).map_err(&fail)?,
            gw_dst: gateway(&table.dst_gateway).map_err(&fail)?,
            links: links?,
            symmetrical: !table.one_way.unwrap_or(false),
        };
        if table.bypass.unwrap_or(false) {
            return self.builder.add_bypass(zone, route).map_err(fail);
        }
        self.builder.add_route(zone, route).map_err(fail)
    }

    fn add_disk(&mut self, spanned: Spanned<DiskTable>) -> Result<()> {
        let offset = spanned.span().start;
        let table = spanned.into_inner();
        let fail = self.at(offset);
        let host = self.builder.host(&table.host).map_err(&fail)?;
        let mounts = table
            .mounts
            .into_iter()
            .map(|(host, path)| self.builder.host(&host).map(|host| (host, path)).map_err(&fail));
        let mounts: Result<Vec<(HostId, String)>> = mounts.collect();
        let mut properties = table.properties;
        if let Some(file) = table.content {
            properties.push(CONTENT, file);
        }
        let content = properties.0.iter().find(|property| property.name == CONTENT);
        let contents = match content {
            Some(file) => read_contents(self.siblings, &file.table)?,
            None => None,
        };
        let wrong = |message: String| FormatError::at_offset(self.text, offset, message);
        let stock = table.stock.as_deref().map(StockDisk::named).transpose().map_err(wrong)?;
        let missing = |what: &str| wrong(format!("disk `{}`: there is no `{what}`", table.name));
        let model = table.model.map(ModelTable::model);
        // Bandwidths come from the table, else from its model, else from the stock definition.
        let own = model.as_ref().and_then(DiskModel::bandwidths);
        let bandwidth = |given: Option<DiskBandwidth>, own: Option<f64>, stock: Option<f64>| {
            given.map(|bandwidth| bandwidth.0).or(own).or(stock)
        };
        let of_stock = |of: fn(&StockDisk) -> f64| stock.as_ref().map(of);
        let read = bandwidth(table.read, own.map(|b| b.0), of_stock(|s| s.read_bandwidth));
        let write = bandwidth(table.write, own.map(|b| b.1), of_stock(|s| s.write_bandwidth));
        let connection = stock.as_ref().and_then(|stock| stock.connection_bandwidth);
        let (read, write) =
            (read.ok_or_else(|| missing("read")), write.ok_or_else(|| missing("write")));
        let (read, write) = (read?, write?);
        let disk = Disk {
            name: table.name.into(),
            host,
            read_bandwidth: read,
            write_bandwidth: write,
            connection_bandwidth: table.connection.map(|b| b.0).or(connection),
            capacity: table.capacity.map(|b| b.0),
            model: model.or(stock.map(|stock| stock.model)).unwrap_or_default(),
            contents,
            mounts: mounts?,
            properties: shared(&properties),
        };
        self.builder.add_disk(disk).map(|_| ()).map_err(fail)
    }

    fn set_matrix(&mut self, table: MatrixTable) -> Result<()> {
        let hosts = self.builder.host_count();
        let wrong = || {
            FormatError::new(format!("the matrix must have {hosts} rows and columns, one per host"))
        };
        let free = OneOrRows::One(super::schema::MaybeFree(f64::INFINITY));
        let bandwidth = table.bandwidth.unwrap_or(free);
        let latency = table.latency.unwrap_or(OneOrRows::One(Seconds(0.0)));
        let matrix = match (bandwidth, latency) {
            (OneOrRows::One(bandwidth), OneOrRows::One(latency)) => {
                Matrix::Uniform { bandwidth: bandwidth.0, latency: latency.0 }
            }
            (bandwidth, latency) => Matrix::Dense {
                hosts,
                bandwidth: spread(bandwidth, hosts, |b| b.0).ok_or_else(wrong)?,
                latency: spread(latency, hosts, |s| s.0).ok_or_else(wrong)?,
            },
        };
        self.builder.set_matrix(matrix);
        Ok(())
    }
}

/// A dense table of one value or of rows; `None` if the rows are not square.
fn spread<T>(from: OneOrRows<T>, hosts: usize, get: impl Fn(&T) -> f64) -> Option<Box<[f64]>> {
    match from {
        // Squared only where the other quantity has rows, so the size of the file bounds it.
        OneOrRows::One(value) => Some(vec![get(&value); hosts.checked_mul(hosts)?].into()),
        OneOrRows::Rows(rows) => {
            let square = rows.len() == hosts && rows.iter().all(|row| row.len() == hosts);
            square.then(|| rows.iter().flatten().map(get).collect())
        }
    }
}

fn profile(table: &ProfileTable) -> std::result::Result<Profile, String> {
    let events: Vec<ProfileEvent> =
        table.events.iter().map(|&(date, value)| ProfileEvent { date, value }).collect();
    if let Some(Seconds(from)) = table.repeat_from {
        let (Some(period), None) = (table.period, table.loop_after) else {
            return Err("`repeat-from` needs a period".into());
        };
        let prelude = events.iter().take_while(|event| event.date < from).count();
        return Profile::settling(events, prelude, period.0).map_err(|error| error.to_string());
    }
    let profile = match (table.period, table.loop_after) {
        (None, None) => Profile::once(events),
        (Some(period), None) => Profile::periodic(events, period.0),
        (None, Some(delay)) => Profile::looping(events, delay.0),
        (Some(_), Some(_)) => return Err("it has a period or loops after a while, not both".into()),
    };
    profile.map_err(|error| error.to_string())
}

fn billing_of(table: BillingTable) -> Billing {
    let seconds = |value: Option<Seconds>| value.map_or(0.0, |s| s.0);
    Billing {
        quantum: seconds(table.quantum),
        minimum: seconds(table.minimum),
        setup: seconds(table.setup),
    }
}

fn routing(word: RoutingWord) -> RoutingKind {
    match word {
        RoutingWord::None => RoutingKind::None,
        RoutingWord::Full => RoutingKind::Full,
        RoutingWord::Floyd => RoutingKind::Floyd,
        RoutingWord::Dijkstra => RoutingKind::Dijkstra,
        RoutingWord::Star => RoutingKind::Star,
        RoutingWord::Vivaldi => RoutingKind::Vivaldi,
    }
}

/// The topology of a cluster; torus wins over fat tree over dragonfly. A file with two of them fails later, unless
/// both have as many hosts as the cluster.
fn topology(table: &ClusterTable) -> Topology {
    if let Some(dimensions) = &table.torus {
        return Topology::Torus(dimensions.clone());
    }
    if let Some(tree) = &table.fat_tree {
        return Topology::FatTree {
            children: tree.children.clone(),
            parents: tree.parents.clone(),
            cables: tree.cables.clone(),
        };
    }
    match &table.dragonfly {
        None => Topology::Flat,
        Some(d) => Topology::Dragonfly {
            groups: d.groups,
            chassis: d.chassis,
            blades: d.blades,
            nodes: d.nodes,
        },
    }
}

/// Inclusive ranges of a list such as `1-8,12`; none where it is no such list.
fn numbers(text: &str) -> Option<Vec<(u32, u32)>> {
    text.split(',')
        .map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            (first <= last).then_some((first, last))
        })
        .collect()
}

fn pairs(properties: &Ordered<String>) -> Properties {
    properties.0.iter().map(|named| (named.name.clone(), named.table.clone())).collect()
}

fn shared(properties: &Ordered<String>) -> Option<Arc<Properties>> {
    (!properties.is_empty()).then(|| Arc::new(pairs(properties)))
}

/// Arguments of `sbatch` that must not be given as such: they follow from the demands of tasks and hosts, or have
/// members of their own.
const RESERVED: [(&str, &str); 12] = [
    ("--mem", "memory"),
    ("--mem-per-cpu", "memory"),
    ("--gres", "devices"),
    ("--gpus", "devices"),
    ("--cpus-per-task", "cores"),
    ("--time", "time"),
    ("-t", "time"),
    ("--partition", "partition"),
    ("-p", "partition"),
    ("--account", "account"),
    ("--qos", "qos"),
    ("--constraint", "constraint"),
];

/// Options of batch jobs from `[slurm]` or one of its kinds.
fn batch_options(table: SlurmTable, path: &str) -> Result<BatchOptions> {
    for word in &table.sbatch {
        let name = word.split(['=', ' ']).next().unwrap_or_default();
        let Some((_, why)) = RESERVED.iter().find(|(known, _)| *known == name) else { continue };
        let error = FormatError::in_path(
            format!("{path}.sbatch"),
            format!("'{word}' is asked for already"),
        );
        return Err(error.with_help(match *why {
            "memory" | "devices" | "cores" => {
                format!("the {why} that jobs ask for follow from the demands of tasks and hosts")
            }
            member => format!("write {member} = \"...\" in [{path}]"),
        }));
    }
    let seconds = match table.time {
        Some(Seconds(seconds)) if seconds <= 0.0 => {
            let message = "a job needs some time";
            return Err(FormatError::in_path(format!("{path}.time"), message));
        }
        time => time.map(|Seconds(seconds)| seconds),
    };
    let mut kinds = BTreeMap::new();
    for (kind, own) in table.kind {
        let inner = format!("{path}.kind.{kind}");
        if !own.kind.is_empty() {
            return Err(FormatError::in_path(inner, "a kind has no kinds"));
        }
        kinds.insert(kind, batch_options(own, &inner)?);
    }
    Ok(BatchOptions {
        partition: table.partition,
        account: table.account,
        qos: table.qos,
        constraint: table.constraint,
        seconds,
        words: table.sbatch,
        kinds,
    })
}
