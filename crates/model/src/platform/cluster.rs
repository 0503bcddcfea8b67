//! Clusters described in one line: expansion of a flat, torus, fat-tree or dragonfly cluster
//! into hosts and links named as SimGrid names them, so that traces and routes can be compared.

use super::dragonfly::Dragonfly;
use super::error::PlatformError;
use super::fat_tree::FatTree;
use super::link::Sharing;
use super::route::Path;
use super::star::StarLeaf;
use super::torus::Torus;
use super::zone::{Routing, RoutingKind};
use super::{HostSpec, LinkSpec, PlatformBuilder};
use crate::{HostId, LinkId, ZoneId};

/// Most hosts of one cluster, more than the largest machines have: a slip of the hand in a range must not
/// fill the memory.
pub const CLUSTER_LIMIT: u64 = 200_000;

/// Most cores of one host, for the same reason.
pub const CORE_LIMIT: u32 = 1_000_000;

/// Most cores of a platform: each is a processor that plans and runs keep account of, in up to 300 bytes.
pub const PLATFORM_CORE_LIMIT: u64 = 2_000_000;

/// The kind of the links inside a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClusterSharing {
    /// One link for each direction.
    SplitDuplex,
    /// One link for both directions, shared.
    Shared,
    /// One link for both directions, not shared.
    Fatpipe,
}

/// The network between the hosts of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A private link per host to one switch.
    Flat,
    /// A torus of these sizes.
    Torus(Vec<u32>),
    /// A fat tree; one entry per level of switches, from the hosts up.
    FatTree {
        /// Nodes below each switch.
        children: Vec<u32>,
        /// Switches above each node.
        parents: Vec<u32>,
        /// Parallel cables between a node and a switch above it.
        cables: Vec<u32>,
    },
    /// A dragonfly: (how many, parallel links between them) of groups, chassis per group and
    /// blades per chassis, then nodes per blade.
    Dragonfly {
        /// Groups and blue links.
        groups: (u32, u32),
        /// Chassis per group and black links.
        chassis: (u32, u32),
        /// Blades per chassis and green links.
        blades: (u32, u32),
        /// Nodes per blade.
        nodes: u32,
    },
}

/// A link all hosts of a cluster have alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkShape {
    /// Bytes/s.
    pub bandwidth: f64,
    /// Seconds.
    pub latency: f64,
}

/// A cluster of identical hosts.
#[derive(Clone, Debug)]
pub struct ClusterSpec {
    /// Name of its zone, and stem of the names of its links.
    pub id: String,
    /// Text before the number in the names of hosts.
    pub prefix: String,
    /// Text after the number in the names of hosts.
    pub suffix: String,
    /// Numbers of the hosts, as ranges with both ends included.
    pub radical: Vec<(u32, u32)>,
    /// Description of each host; the name is not used.
    pub host: HostSpec,
    /// The private link of each host, or every link of a torus, fat tree or dragonfly.
    pub link: LinkShape,
    /// The kind of these links.
    pub sharing: ClusterSharing,
    /// The link between all private links of a flat cluster.
    pub backbone: Option<(LinkShape, Sharing)>,
    /// Bandwidth of a link per host (and switch) that all its flows cross.
    pub limiter: Option<f64>,
    /// The link of a host to itself.
    pub loopback: Option<LinkShape>,
    /// Name of its router; prefix + id + `_router` + suffix if absent.
    pub router: Option<String>,
    /// The network between the hosts.
    pub topology: Topology,
}

impl ClusterSpec {
    /// A flat cluster of `count` hosts named `id-0`, `id-1`, ... with split-duplex links.
    pub fn flat(id: impl Into<String>, count: u32, speed: f64, link: LinkShape) -> Self {
        let id = id.into();
        ClusterSpec {
            prefix: format!("{id}-"),
            suffix: String::new(),
            radical: if count == 0 { vec![] } else { vec![(0, count - 1)] },
            host: HostSpec::new("", speed),
            link,
            sharing: ClusterSharing::SplitDuplex,
            backbone: None,
            limiter: None,
            loopback: None,
            router: None,
            topology: Topology::Flat,
            id,
        }
    }

    /// Number of hosts.
    pub fn count(&self) -> u64 {
        self.radical.iter().map(|&(a, b)| u64::from(b.saturating_sub(a)) + 1).sum()
    }

    fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.radical.iter().flat_map(|&(a, b)| a..=b)
    }

    /// The name its router has.
    pub fn router_name(&self) -> String {
        let default = || format!("{}{}_router{}", self.prefix, self.id, self.suffix);
        self.router.clone().unwrap_or_else(default)
    }

    fn link_spec(&self, name: String) -> LinkSpec {
        LinkSpec {
            split_duplex: self.sharing == ClusterSharing::SplitDuplex,
            sharing: match self.sharing {
                ClusterSharing::Fatpipe => Sharing::Fatpipe,
                _ => Sharing::Shared,
            },
            ..LinkSpec::new(name, self.link.bandwidth, self.link.latency)
        }
    }
}

/// The links of a cluster whose ids follow from numbers: no table.
#[derive(Clone, Debug)]
pub(super) struct Fabric {
    first_link: LinkId,
    split: bool,
    first_limiter: Option<LinkId>,
    first_loopback: Option<LinkId>,
}

impl Fabric {
    pub(super) fn up(&self, link: u32, path: &mut Path) {
        self.either(link, true, path);
    }

    pub(super) fn down(&self, link: u32, path: &mut Path) {
        self.either(link, false, path);
    }

    pub(super) fn either(&self, link: u32, up: bool, path: &mut Path) {
        let offset = if self.split { 2 * link + u32::from(!up) } else { link };
        path.push(LinkId(self.first_link.0 + offset));
    }

    pub(super) fn limiter(&self, node: u32, path: &mut Path) {
        if let Some(first) = self.first_limiter {
            path.push(LinkId(first.0 + node));
        }
    }
}

/// A cluster that is no star.
#[derive(Clone, Debug)]
pub(super) struct FabricZone {
    shape: Shape,
    fabric: Fabric,
}

#[derive(Clone, Debug)]
enum Shape {
    Torus(Torus),
    FatTree(FatTree),
    Dragonfly(Dragonfly),
}

impl FabricZone {
    /// Appends the way between two hosts given by rank.
    pub(super) fn route(&self, src: u32, dst: u32, path: &mut Path) {
        if src == dst
            && let Some(first) = self.fabric.first_loopback
        {
            return path.push(LinkId(first.0 + src));
        }
        match &self.shape {
            Shape::Torus(torus) => torus.route(&self.fabric, src, dst, path),
            Shape::FatTree(tree) => tree.route(&self.fabric, src, dst, path),
            Shape::Dragonfly(dragonfly) => dragonfly.route(&self.fabric, src, dst, path),
        }
    }
}

impl PlatformBuilder {
    /// Adds a cluster: a zone with its hosts, links and router.
    pub fn add_cluster(
        &mut self,
        parent: Option<ZoneId>,
        spec: ClusterSpec,
    ) -> Result<ZoneId, PlatformError> {
        let element = || format!("cluster \"{}\"", spec.id);
        if let Some(&(a, b)) = spec.radical.iter().find(|(a, b)| a > b) {
            let message = format!("the range {a}-{b} of host numbers goes backwards");
            return Err(PlatformError::invalid(element(), message));
        }
        let count = spec.count();
        if count == 0 || count > CLUSTER_LIMIT {
            let message = format!("{count} hosts; it must be 1 to {CLUSTER_LIMIT}");
            return Err(PlatformError::invalid(element(), message));
        }
        let shape = shape(&spec)?;
        let zone = self.add_zone(parent, spec.id.clone(), RoutingKind::Star)?;
        let first_host = HostId::new(self.host_count());
        let first_link = self.link_count() as u32;
        self.reserve_hosts(count as usize);
        for number in spec.numbers() {
            let name = format!("{}{number}{}", spec.prefix, spec.suffix);
            self.add_host(zone, HostSpec { name, ..spec.host.clone() })?;
        }
        self.add_router(zone, spec.router_name())?;
        match shape {
            None => self.add_star_links(zone, first_host, &spec)?,
            Some(shape) => {
                let fabric = self.add_fabric_links(&shape, &spec)?;
                self.set_routing(zone, Routing::Fabric(Box::new(FabricZone { shape, fabric })));
            }
        }
        self.remember_cluster(zone, spec, first_link);
        Ok(zone)
    }

    fn add_star_links(
        &mut self,
        zone: ZoneId,
        first_host: HostId,
        spec: &ClusterSpec,
    ) -> Result<(), PlatformError> {
        for (rank, number) in spec.numbers().enumerate() {
            let up = self.add_link(spec.link_spec(format!("{}_link_{number}", spec.id)))?;
            let split = spec.sharing == ClusterSharing::SplitDuplex;
            let leaf = StarLeaf {
                up: Some(up),
                down: Some(if split { LinkId(up.0 + 1) } else { up }),
                limiter: self.add_limiter(spec, number)?,
                loopback: self.add_loopback(spec, number)?,
            };
            self.set_leaf(HostId(first_host.0 + rank as u32), leaf)?;
        }
        if let Some((shape, sharing)) = spec.backbone {
            let name = format!("{}_backbone", spec.id);
            let link = LinkSpec::new(name, shape.bandwidth, shape.latency);
            let link = self.add_link(LinkSpec { sharing, ..link })?;
            self.set_backbone(zone, link)?;
        }
        Ok(())
    }

    fn add_limiter(
        &mut self,
        spec: &ClusterSpec,
        number: u32,
    ) -> Result<Option<LinkId>, PlatformError> {
        let name = || format!("{}_link_{number}_limiter", spec.id);
        spec.limiter.map(|bw| self.add_link(LinkSpec::new(name(), bw, 0.0))).transpose()
    }

    fn add_loopback(
        &mut self,
        spec: &ClusterSpec,
        number: u32,
    ) -> Result<Option<LinkId>, PlatformError> {
        let link = |shape: LinkShape| LinkSpec {
            sharing: Sharing::Fatpipe,
            ..LinkSpec::new(
                format!("{}_link_{number}_loopback", spec.id),
                shape.bandwidth,
                shape.latency,
            )
        };
        spec.loopback.map(|shape| self.add_link(link(shape))).transpose()
    }

    fn add_fabric_links(
        &mut self,
        shape: &Shape,
        spec: &ClusterSpec,
    ) -> Result<Fabric, PlatformError> {
        let count = spec.count() as u32;
        let mut first_loopback = None;
        for number in spec.numbers() {
            let link = self.add_loopback(spec, number)?;
            first_loopback = first_loopback.or(link);
        }
        // Switches are numbered downwards from twice the number of hosts.
        let switches = match shape {
            Shape::Torus(_) => 0,
            Shape::FatTree(tree) => tree.switches() as u32,
            Shape::Dragonfly(dragonfly) => dragonfly.routers() as u32,
        };
        let switch = |k: u32| 2 * i64::from(count) - 1 - i64::from(k);
        let mut first_limiter = None;
        if let Some(bandwidth) = spec.limiter {
            let numbers = (0..i64::from(count)).chain((0..switches).map(switch));
            for number in numbers {
                let name = format!("{}_link_{number}_limiter", spec.id);
                let link = self.add_link(LinkSpec::new(name, bandwidth, 0.0))?;
                first_limiter.get_or_insert(link);
            }
        }
        let first_link = LinkId::new(self.link_count());
        match shape {
            Shape::Torus(torus) => {
                for rank in 0..count {
                    for j in 0..torus.dimensions.len() {
                        let right = torus.right_of(rank, j);
                        // Dimensions of size 1 join a node to itself; their links are never used.
                        let extra = if right == rank { format!("_dim_{j}") } else { String::new() };
                        let name = format!("{}_link_from_{rank}_to_{right}{extra}", spec.id);
                        self.add_link(spec.link_spec(name))?;
                    }
                }
            }
            Shape::FatTree(tree) => self.add_fat_tree_cables(tree, spec, &switch)?,
            Shape::Dragonfly(dragonfly) => self.add_dragonfly_links(dragonfly, spec)?,
        }
        let split = spec.sharing == ClusterSharing::SplitDuplex;
        Ok(Fabric { first_link, split, first_limiter, first_loopback })
    }

    fn add_fat_tree_cables(
        &mut self,
        tree: &FatTree,
        spec: &ClusterSpec,
        switch: &dyn Fn(u32) -> i64,
    ) -> Result<(), PlatformError> {
        let mut switches_below = 0;
        for level in 0..tree.levels() {
            let width = tree.width(level) as u32;
            let parents_start = if level == 0 { 0 } else { switches_below + width };
            for child in 0..width {
                let mut label = tree.label(level, child);
                for parent in 0..tree.parents[level] {
                    label[level] = parent;
                    let above = parents_start + tree.position(level + 1, &label);
                    let from =
                        if level == 0 { i64::from(child) } else { switch(switches_below + child) };
                    for _ in 0..tree.cables[level] {
                        let serial = self.next_fat_tree_cable();
                        let name = format!("link_from_{from}_{}_{serial}", switch(above));
                        self.add_link(spec.link_spec(name))?;
                    }
                }
            }
            if level > 0 {
                switches_below += width;
            }
        }
        Ok(())
    }

    fn add_dragonfly_links(
        &mut self,
        d: &Dragonfly,
        spec: &ClusterSpec,
    ) -> Result<(), PlatformError> {
        let mut add = |stem: String, parallel: u32| {
            let serial = self.next_dragonfly_link();
            let mut link = spec.link_spec(format!("{stem}_{serial}"));
            link.bandwidth *= f64::from(parallel);
            self.add_link(link)
        };
        for router in 0..d.routers() {
            for node in 0..d.nodes {
                add(format!("local_link_from_router_{router}_to_node_{node}"), 1)?;
            }
        }
        for chassis in 0..d.groups * d.chassis {
            let chassis = chassis % d.chassis;
            for (a, b) in pairs(d.blades) {
                add(
                    format!("green_link_in_chassis_{chassis}_between_routers_{a}_and_{b}"),
                    d.green,
                )?;
            }
        }
        for group in 0..d.groups {
            for (a, b) in pairs(d.chassis) {
                for blade in 0..d.blades {
                    let stem = format!(
                        "black_link_in_group_{group}_between_chassis_{a}_and_{b}_blade_{blade}"
                    );
                    add(stem, d.black)?;
                }
            }
        }
        for (a, b) in pairs(d.groups) {
            let per_group = d.chassis * d.blades;
            let (from, to) = (a * per_group + b, b * per_group + a);
            add(format!("blue_link_between_group_{a}_and_{b}_routers_{from}_and_{to}"), d.blue)?;
        }
        Ok(())
    }
}

/// All pairs (a, b) with a < b < n, in lexicographic order.
fn pairs(n: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..n).flat_map(move |a| (a + 1..n).map(move |b| (a, b)))
}

/// Checks the parameters of a topology against the number of hosts; `None` for a flat cluster.
fn shape(spec: &ClusterSpec) -> Result<Option<Shape>, PlatformError> {
    let fail =
        |message: String| Err(PlatformError::invalid(format!("cluster \"{}\"", spec.id), message));
    let count = spec.count();
    // Products of at most a few parameters below this bound cannot overflow an u64.
    let bad = |n: &u32| *n == 0 || *n > 65_536;
    match &spec.topology {
        Topology::Flat => Ok(None),
        Topology::Torus(dimensions) => {
            if dimensions.is_empty() || dimensions.len() > 8 || dimensions.iter().any(bad) {
                return fail("a torus has 1 to 8 dimensions of 1 to 65536 nodes".into());
            }
            let torus = Torus { dimensions: dimensions.clone().into() };
            let sizes = dimensions.iter().map(|&d| u64::from(d));
            let nodes = sizes.fold(1u64, |product, d| product.saturating_mul(d));
            if nodes != count {
                return fail(format!("a torus of {dimensions:?} has {nodes} nodes, not {count}"));
            }
            debug_assert_eq!(torus.nodes(), count);
            Ok(Some(Shape::Torus(torus)))
        }
        Topology::FatTree { children, parents, cables } => {
            let levels = children.len();
            let all = || children.iter().chain(parents).chain(cables);
            if levels == 0 || levels > 8 || parents.len() != levels || cables.len() != levels {
                return fail(
                    "a fat tree has 1 to 8 levels with children, parents, cables each".into(),
                );
            }
            if all().any(bad) {
                return fail("the parameters of a fat tree are 1 to 65536".into());
            }
            let product = all().fold(1u64, |product, &n| product.saturating_mul(u64::from(n)));
            if product > 1 << 28 {
                return fail("the fat tree has too many cables".into());
            }
            let tree = FatTree {
                children: children.clone().into(),
                parents: parents.clone().into(),
                cables: cables.clone().into(),
            };
            if tree.width(0) != count {
                let room = tree.width(0);
                return fail(format!("the fat tree has room for {room} hosts, not {count}"));
            }
            Ok(Some(Shape::FatTree(tree)))
        }
        &Topology::Dragonfly { groups, chassis, blades, nodes } => {
            let numbers = [groups.0, groups.1, chassis.0, chassis.1, blades.0, blades.1, nodes];
            if numbers.iter().any(|&n| n == 0 || n > 1024) {
                return fail("the parameters of a dragonfly are 1 to 1024".into());
            }
            if groups.0 > blades.0 {
                let message = "a dragonfly needs a blade per group in each chassis to reach them";
                return fail(message.into());
            }
            let dragonfly = Dragonfly {
                groups: groups.0,
                blue: groups.1,
                chassis: chassis.0,
                black: chassis.1,
                blades: blades.0,
                green: blades.1,
                nodes,
            };
            if dragonfly.hosts() != count {
                let room = dragonfly.hosts();
                return fail(format!("the dragonfly has room for {room} hosts, not {count}"));
            }
            Ok(Some(Shape::Dragonfly(dragonfly)))
        }
    }
}
