//! Routes between hosts through the tree of zones, computed on demand and remembered.
//!
//! The algorithm is SimGrid's hierarchical routing: find the deepest zone that holds both ends;
//! a bypass declared there wins; otherwise that zone routes between its two members that hold
//! the ends, and the way from each end to the gateway of its side is a route of its own.
//! Time O(depth x cost of one zone); memory of the platform is the sum of the zones' own tables.

use super::Platform;
use super::error::RouteError;
use super::link::Duplex;
use super::matrix::Matrix;
use super::shortest::{FLOYD_LIMIT, Graph, NOWHERE};
use super::zone::{DeclaredRoute, Member, RouteRef, RouteTable, Routing};
use super::{Link, Network};
use crate::{HostId, LinkId, ZoneId};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Steps after which a search fails: each level of nested zones can double the length of a route.
const STEP_LIMIT: usize = 1_000_000;

/// Predecessor entries kept by one cache (64 MiB) before the trees are dropped.
const TREE_LIMIT: usize = 16 << 20;

/// Hosts up to which a cache has a table of all pairs (256 KiB), which is quicker to look up than a map.
const TABLE_LIMIT: usize = 256;
/// Entry of that table for a pair whose route was not computed yet.
const UNKNOWN: u32 = u32::MAX;

/// The route from a host to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Route<'a> {
    /// Links crossed, in order. Empty (and without latency) from a host to itself where the platform
    /// declares no loopback: the network model then uses its own. Empty with a latency where nothing but
    /// the distance between coordinates is known.
    pub links: &'a [LinkId],
    /// Sum of the nominal latencies (and of distances between coordinates), seconds.
    pub latency: f64,
}

impl Route<'_> {
    /// Nominal bandwidth of the narrowest link, bytes/s; infinite without links.
    pub fn bandwidth(&self, links: &[Link]) -> f64 {
        self.links.iter().map(|l| links[l.index()].bandwidth).fold(f64::INFINITY, f64::min)
    }
}

/// A route remembered by a [`RouteCache`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RouteId(u32);

impl RouteId {
    /// Position among the routes of the cache, from 0 in order of first use.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Routes of one platform found so far. Owned by the caller, so that a platform stays immutable
/// and can be shared between threads. Use one cache for one platform only.
#[derive(Clone, Debug, Default)]
pub struct RouteCache {
    by_ends: HashMap<u64, RouteId, BuildHasherDefault<PairHasher>>,
    /// Ids of routes between the first `side` hosts, row by row.
    table: Vec<u32>,
    side: usize,
    routes: Vec<CachedRoute>,
    links: Vec<LinkId>,
    /// Per entry of `links`: bandwidth of the narrowest link of its route over the link's own, so in (0, 1].
    parts: Vec<f64>,
    trees: HashMap<(ZoneId, u32), Box<[u32]>>,
    tree_entries: usize,
    path: Path,
}

#[derive(Clone, Copy, Debug)]
struct CachedRoute {
    start: usize,
    len: u32,
    latency: f64,
}

impl RouteCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// The route from `src` to `dst`.
    #[inline]
    pub fn route(
        &mut self,
        platform: &Platform,
        src: HostId,
        dst: HostId,
    ) -> Result<Route<'_>, RouteError> {
        let id = self.route_id(platform, src, dst)?;
        Ok(self.get(id))
    }

    /// Finds the route between two hosts, as a small number that stays valid as long as the cache.
    #[inline]
    pub fn route_id(
        &mut self,
        platform: &Platform,
        src: HostId,
        dst: HostId,
    ) -> Result<RouteId, RouteError> {
        if let Some(id) = self.known(src, dst) {
            return Ok(id);
        }
        let id = self.compute(platform, src, dst)?;
        let hosts = platform.hosts().len();
        if self.table.is_empty() && hosts <= TABLE_LIMIT {
            (self.table, self.side) = (vec![UNKNOWN; hosts * hosts], hosts);
        }
        match self.entry(src, dst) {
            Some(at) => self.table[at] = id.0,
            None => {
                self.by_ends.insert(pair(src, dst), id);
            }
        }
        Ok(id)
    }

    /// Index of a pair in the table; none for hosts outside of it.
    #[inline]
    fn entry(&self, src: HostId, dst: HostId) -> Option<usize> {
        let inside = src.index() < self.side && dst.index() < self.side;
        inside.then_some(src.index() * self.side + dst.index())
    }

    /// The route from `src` to `dst`, if it was asked for before.
    #[inline]
    pub fn known(&self, src: HostId, dst: HostId) -> Option<RouteId> {
        match self.entry(src, dst) {
            Some(at) => Some(RouteId(self.table[at])).filter(|id| id.0 != UNKNOWN),
            None => self.by_ends.get(&pair(src, dst)).copied(),
        }
    }

    /// A route asked for before.
    #[inline]
    pub fn get(&self, id: RouteId) -> Route<'_> {
        let CachedRoute { start, len, latency } = self.routes[id.index()];
        Route { links: &self.links[start..start + len as usize], latency }
    }

    /// The links of a route asked for before, each with the fraction of it that a transfer at the bandwidth
    /// of the narrowest takes.
    #[inline]
    pub fn loads(&self, id: RouteId) -> impl ExactSizeIterator<Item = (LinkId, f64)> + '_ {
        let CachedRoute { start, len, .. } = self.routes[id.index()];
        let all = start..start + len as usize;
        self.links[all.clone()].iter().copied().zip(self.parts[all].iter().copied())
    }

    /// Number of routes remembered.
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Whether no route is remembered.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    fn compute(
        &mut self,
        platform: &Platform,
        src: HostId,
        dst: HostId,
    ) -> Result<RouteId, RouteError> {
        let latency = self.find(platform, src, dst)?;
        let start = self.links.len();
        let links = &self.path.links;
        let bandwidth = |link: &LinkId| platform.link(*link).bandwidth;
        let narrowest = Route { links, latency }.bandwidth(platform.links());
        self.links.extend_from_slice(links);
        self.parts.extend(links.iter().map(|link| narrowest / bandwidth(link)));
        let id = RouteId(self.routes.len() as u32);
        self.routes.push(CachedRoute { start, len: self.path.links.len() as u32, latency });
        Ok(id)
    }

    /// The route from `src` to `dst` without remembering it: for callers that need each of many pairs once.
    pub fn route_once(
        &mut self,
        platform: &Platform,
        src: HostId,
        dst: HostId,
    ) -> Result<Route<'_>, RouteError> {
        let latency = self.find(platform, src, dst)?;
        Ok(Route { links: &self.path.links, latency })
    }

    /// Computes a route: leaves its links in `self.path` and returns its latency in seconds.
    fn find(&mut self, platform: &Platform, src: HostId, dst: HostId) -> Result<f64, RouteError> {
        if let Network::Matrix(_) = platform.network() {
            return Err(RouteError::Matrix { platform: platform.name().to_owned() });
        }
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        let ends = (Member::Host(src), Member::Host(dst));
        let found = Search { platform, cache: self, ends }.global(ends.0, ends.1, &mut path);
        let latency =
            path.extra_latency + path.links.iter().map(|&l| platform.link(l).latency).sum::<f64>();
        self.path = path;
        found.map(|()| latency)
    }

    fn dijkstra_tree(&mut self, zone: ZoneId, graph: &Graph, source: u32) -> &[u32] {
        if self.tree_entries > TREE_LIMIT {
            self.trees.clear();
            self.tree_entries = 0;
        }
        let entries = &mut self.tree_entries;
        self.trees.entry((zone, source)).or_insert_with(|| {
            let tree = graph.dijkstra(source);
            *entries += tree.len();
            tree
        })
    }
}

#[inline]
fn pair(src: HostId, dst: HostId) -> u64 {
    (u64::from(src.0) << 32) | u64::from(dst.0)
}

/// A route while it is computed.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    links: Vec<LinkId>,
    /// Seconds of distance between coordinates, which no link accounts for.
    extra_latency: f64,
    /// Work done so far, against [`STEP_LIMIT`].
    steps: usize,
}

impl Path {
    pub(super) fn push(&mut self, link: LinkId) {
        self.links.push(link);
    }

    fn clear(&mut self) {
        self.links.clear();
        self.extra_latency = 0.0;
        self.steps = 0;
    }
}

/// One search for a route.
struct Search<'a> {
    platform: &'a Platform,
    cache: &'a mut RouteCache,
    ends: (Member, Member),
}

/// The nodes at which a route enters and leaves the zones it joins.
type Gateways = (Member, Member);

impl Search<'_> {
    /// Appends the route between two nodes (hosts or routers) anywhere in the platform.
    fn global(&mut self, src: Member, dst: Member, path: &mut Path) -> Result<(), RouteError> {
        path.steps += 1;
        if path.steps + path.links.len() > STEP_LIMIT {
            return Err(RouteError::TooLong {
                src: self.platform.member_name(self.ends.0).to_owned(),
                dst: self.platform.member_name(self.ends.1).to_owned(),
                limit: STEP_LIMIT,
            });
        }
        let (common, from, to) = self.platform.common_zone(src, dst);
        if !self.platform.zone(common).bypass.declared.is_empty()
            && self.bypass(common, src, dst, path)?
        {
            return Ok(());
        }
        if from == src && to == dst {
            return self.local(common, src, dst, path).map(|_| ());
        }
        // The links of the common zone come between those of the two sides: collect them apart.
        let mut middle = Path { steps: path.steps, ..Path::default() };
        let (gw_src, gw_dst) = self.local(common, from, to, &mut middle)?;
        path.steps = middle.steps;
        if src != gw_src {
            self.global(src, gw_src, path)?;
        }
        path.links.append(&mut middle.links);
        path.extra_latency += middle.extra_latency;
        if gw_dst != dst {
            self.global(gw_dst, dst, path)?;
        }
        Ok(())
    }

    /// Appends the links that the routing of `zone` itself has between two of its members, without those
    /// inside the members.
    fn local(
        &mut self,
        zone: ZoneId,
        src: Member,
        dst: Member,
        path: &mut Path,
    ) -> Result<Gateways, RouteError> {
        let platform = self.platform;
        match &platform.zone(zone).routing {
            Routing::Full(table) => {
                if let Some(&route) = table.by_ends.get(&(src, dst)) {
                    return Ok(append(platform, table, route, path));
                }
            }
            Routing::Floyd(table, graph) | Routing::Dijkstra(table, graph) => {
                if let Some(hops) = self.shortest(zone, graph, src, dst) {
                    return self.join(table, &hops, path);
                }
                if let (true, Some(&route)) = (src == dst, table.by_ends.get(&(src, dst))) {
                    return Ok(append(platform, table, route, path));
                }
            }
            Routing::Star(star) => {
                let from = (src, platform.rank(src));
                let to = (dst, platform.rank(dst));
                if star.route(from, to, path) {
                    return Ok((src, dst));
                }
            }
            Routing::Fabric(cluster) => {
                match (src, dst) {
                    (Member::Host(_), Member::Host(_)) => {
                        cluster.route(platform.rank(src), platform.rank(dst), path);
                    }
                    // A router is at no particular switch of the cluster: no link leads to it.
                    _ => path.steps += 1,
                }
                return Ok((src, dst));
            }
            Routing::Vivaldi(vivaldi) => {
                let (from, to) = (vivaldi.gateway(src), vivaldi.gateway(dst));
                // Also from a member to itself: twice its height, over its own links.
                if let Some(distance) = vivaldi.distance(from, to) {
                    let leaf = |member| vivaldi.leaves.get(&member).copied().unwrap_or_default();
                    path.links.extend([leaf(from).up, leaf(to).down].into_iter().flatten());
                    path.extra_latency += distance;
                    return Ok((from, to));
                }
            }
            Routing::None => {}
        }
        if src == dst {
            return Ok((src, dst));
        }
        Err(RouteError::Unroutable {
            src: platform.member_name(self.ends.0).to_owned(),
            dst: platform.member_name(self.ends.1).to_owned(),
            zone: platform.zone(zone).name.to_string(),
            from: platform.member_name(src).to_owned(),
            to: platform.member_name(dst).to_owned(),
        })
    }

    /// The hops of the shortest path, in order; `None` if there is no path or nothing to do.
    fn shortest(
        &mut self,
        zone: ZoneId,
        graph: &Graph,
        src: Member,
        dst: Member,
    ) -> Option<Vec<(Member, Member)>> {
        let (&source, &target) = (graph.node_of.get(&src)?, graph.node_of.get(&dst)?);
        if source == target {
            return None;
        }
        let floyd = matches!(self.platform.zone(zone).routing, Routing::Floyd(..))
            && graph.nodes.len() <= FLOYD_LIMIT;
        let previous =
            if floyd { graph.floyd(source) } else { self.cache.dijkstra_tree(zone, graph, source) };
        let mut hops = Vec::new();
        let mut node = target;
        while node != source {
            let before = previous[node as usize];
            if before == NOWHERE {
                return None;
            }
            hops.push((graph.nodes[before as usize], graph.nodes[node as usize]));
            node = before;
        }
        hops.reverse();
        Some(hops)
    }

    /// Appends hop after hop; where a hop arrives at another gateway of a zone than the next one
    /// leaves from, the way between the two is a route of its own.
    fn join(
        &mut self,
        table: &RouteTable,
        hops: &[(Member, Member)],
        path: &mut Path,
    ) -> Result<Gateways, RouteError> {
        let platform = self.platform;
        let mut first = None;
        let mut arrived = None;
        for hop in hops {
            let route = table.by_ends[hop];
            let (gw_src, _) = gateways(&table.declared[route.index as usize], route.reversed);
            if let Some(here) = arrived
                && here != gw_src
            {
                self.global(here, gw_src, path)?;
            }
            first.get_or_insert(gw_src);
            arrived = Some(append(platform, table, route, path).1);
        }
        let (src, dst) = (hops[0].0, hops[hops.len() - 1].1);
        Ok((first.unwrap_or(src), arrived.unwrap_or(dst)))
    }

    /// Uses a bypass route of `common` if one is declared for the two ends or for zones around
    /// them. Innermost pairs of zones are tried first.
    fn bypass(
        &mut self,
        common: ZoneId,
        src: Member,
        dst: Member,
        path: &mut Path,
    ) -> Result<bool, RouteError> {
        let platform = self.platform;
        let table = &platform.zone(common).bypass;
        let (up, down) = (platform.chain(src, common), platform.chain(dst, common));
        let longest = up.len().max(down.len());
        let pairs = (0..longest).flat_map(|far| {
            let (up, down) = (&up, &down);
            (0..=far).flat_map(move |near| {
                let one = up.get(near).zip(down.get(far));
                let other = up.get(far).zip(down.get(near));
                [one, other].into_iter().flatten().map(|(&s, &d)| (s, d))
            })
        });
        let Some(&route) = pairs.filter_map(|ends| table.by_ends.get(&ends)).next() else {
            return Ok(false);
        };
        let (gw_src, gw_dst) = gateways(&table.declared[route.index as usize], route.reversed);
        if src != gw_src {
            self.global(src, gw_src, path)?;
        }
        append(platform, table, route, path);
        if gw_dst != dst {
            self.global(gw_dst, dst, path)?;
        }
        Ok(true)
    }
}

/// Appends the links of a declared route; reversed, a split-duplex link is crossed by its other
/// half.
fn append(platform: &Platform, table: &RouteTable, route: RouteRef, path: &mut Path) -> Gateways {
    let declared = &table.declared[route.index as usize];
    if route.reversed {
        path.links.extend(declared.links.iter().rev().map(|&l| opposite(platform, l)));
    } else {
        path.links.extend_from_slice(&declared.links);
    }
    gateways(declared, route.reversed)
}

/// The other direction of a link. The halves of a split-duplex link have successive ids, `..._UP` first.
fn opposite(platform: &Platform, link: LinkId) -> LinkId {
    match platform.link(link).duplex {
        Some(Duplex::Up) => LinkId(link.0 + 1),
        Some(Duplex::Down) => LinkId(link.0 - 1),
        None => link,
    }
}

/// The nodes at which a declared route starts and ends: its gateways, or its ends where those are nodes.
fn gateways(declared: &DeclaredRoute, reversed: bool) -> Gateways {
    let src = declared.gw_src.unwrap_or(declared.src);
    let dst = declared.gw_dst.unwrap_or(declared.dst);
    if reversed { (dst, src) } else { (src, dst) }
}

impl Platform {
    /// Contention-free bandwidth (bytes/s, infinite when free) and latency (seconds) from `src`
    /// to `dst`, for either kind of network.
    pub fn bandwidth_latency(
        &self,
        cache: &mut RouteCache,
        src: HostId,
        dst: HostId,
    ) -> Result<(f64, f64), RouteError> {
        match self.network() {
            Network::Matrix(matrix) => {
                Ok((Matrix::bandwidth(matrix, src, dst), matrix.latency(src, dst)))
            }
            Network::Zones => {
                let route = cache.route(self, src, dst)?;
                Ok((route.bandwidth(self.links()), route.latency))
            }
        }
    }

    /// The zone that contains a node or zone; the root for the root itself.
    fn zone_around(&self, member: Member) -> ZoneId {
        match member {
            Member::Host(host) => self.host(host).zone,
            Member::Router(router) => self.router(router).zone,
            Member::Zone(zone) => self.zone(zone).parent.unwrap_or(zone),
        }
    }

    /// Position of a host in its zone. Routers and zones have none: stars know them by the member itself.
    fn rank(&self, member: Member) -> u32 {
        match member {
            Member::Host(host) => self.host(host).rank,
            _ => 0,
        }
    }

    /// The deepest zone that holds both nodes and its members that hold (or are) them.
    fn common_zone(&self, src: Member, dst: Member) -> (ZoneId, Member, Member) {
        let (mut from, mut to) = (src, dst);
        let (mut a, mut b) = (self.zone_around(src), self.zone_around(dst));
        while a != b {
            // Climb on the deeper side; on both when level.
            let (da, db) = (self.zone(a).depth, self.zone(b).depth);
            if da >= db {
                from = Member::Zone(a);
                a = self.zone_around(from);
            }
            if db >= da {
                to = Member::Zone(b);
                b = self.zone_around(to);
            }
        }
        (a, from, to)
    }

    /// The node and the zones around it, innermost first, up to but not including `top`.
    fn chain(&self, node: Member, top: ZoneId) -> Vec<Member> {
        let mut chain = vec![node];
        let mut zone = self.zone_around(node);
        while zone != top {
            chain.push(Member::Zone(zone));
            zone = self.zone_around(Member::Zone(zone));
        }
        chain
    }
}

/// Multiplicative hash (2^64 over the golden ratio) for a pair of ids: the keys are small, dense and trusted.
#[derive(Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{HostSpec, LinkSpec, PlatformBuilder, RoutingKind, StarLeaf};

    fn names(platform: &Platform, cache: &mut RouteCache, src: &str, dst: &str) -> Vec<String> {
        let (src, dst) = (platform.host_named(src).unwrap(), platform.host_named(dst).unwrap());
        let route = cache.route(platform, src, dst).unwrap();
        route.links.iter().map(|&l| platform.link(l).name.to_string()).collect()
    }

    /// Two clusters behind routers, joined by a split-duplex trunk.
    fn two_clusters() -> Platform {
        let mut b = PlatformBuilder::new("two");
        let root = b.add_zone(None, "root", RoutingKind::Full).unwrap();
        let mut gateways = Vec::new();
        for cluster in ["a", "b"] {
            let zone = b.add_zone(Some(root), cluster, RoutingKind::Star).unwrap();
            let backbone = LinkSpec::new(format!("{cluster}_backbone"), 1e9, 1e-3);
            let backbone = b.add_link(backbone).unwrap();
            b.set_backbone(zone, backbone).unwrap();
            for i in 0..3 {
                let host = b.add_host(zone, HostSpec::new(format!("{cluster}{i}"), 1e9)).unwrap();
                let link = LinkSpec::new(format!("{cluster}_link_{i}"), 1e8, 1e-4);
                let up = b.add_link(LinkSpec { split_duplex: true, ..link }).unwrap();
                let down = Some(LinkId(up.0 + 1));
                b.set_leaf(host, StarLeaf { up: Some(up), down, ..StarLeaf::default() }).unwrap();
            }
            let router = b.add_router(zone, format!("{cluster}_router")).unwrap();
            gateways.push((Member::Zone(zone), Member::Router(router)));
        }
        let trunk = LinkSpec::new("trunk", 5e7, 1e-2);
        let trunk = b.add_link(LinkSpec { split_duplex: true, ..trunk }).unwrap();
        b.add_route(
            root,
            DeclaredRoute {
                src: gateways[0].0,
                dst: gateways[1].0,
                gw_src: Some(gateways[0].1),
                gw_dst: Some(gateways[1].1),
                links: [trunk].into(),
                symmetrical: true,
            },
        )
        .unwrap();
        b.build().unwrap()
    }

    #[test]
    fn routes_cross_gateways_and_turn_duplex_links_around() {
        let platform = two_clusters();
        let mut cache = RouteCache::new();
        assert_eq!(
            names(&platform, &mut cache, "a0", "b1"),
            ["a_link_0_UP", "a_backbone", "trunk_UP", "b_backbone", "b_link_1_DOWN"]
        );
        assert_eq!(
            names(&platform, &mut cache, "b1", "a0"),
            ["b_link_1_UP", "b_backbone", "trunk_DOWN", "a_backbone", "a_link_0_DOWN"]
        );
        assert_eq!(
            names(&platform, &mut cache, "a2", "a2"),
            ["a_link_2_UP", "a_backbone", "a_link_2_DOWN"]
        );
        // Two private links, two backbones, the trunk.
        let (src, dst) = (platform.host_named("a0").unwrap(), platform.host_named("b1").unwrap());
        let route = cache.route(&platform, src, dst).unwrap();
        assert!((route.latency - (2e-4 + 2e-3 + 1e-2)).abs() < 1e-15);
        assert_eq!(route.bandwidth(platform.links()), 5e7);
        assert_eq!(cache.len(), 3);
    }

    #[test]
    fn a_flat_cluster_is_one_planning_group() {
        let network = two_clusters().planning_network();
        assert_eq!(network.group_of, [0, 0, 0, 1, 1, 1]);
        assert_eq!(network.bandwidth, [1e8, 5e7, 5e7, 1e8]);
        assert!((network.latency[0] - 1.2e-3).abs() < 1e-15);
        let time = network.transfer_time(5e7, HostId(0), HostId(3));
        assert!((time - 1.0122).abs() < 1e-12);
        assert_eq!(network.transfer_time(5e7, HostId(0), HostId(0)), 0.0);
    }

    #[test]
    fn no_route_is_an_error_that_names_the_zone() {
        let mut b = PlatformBuilder::new("p");
        let root = b.add_zone(None, "void", RoutingKind::Full).unwrap();
        b.add_host(root, HostSpec::new("x", 1.0)).unwrap();
        b.add_host(root, HostSpec::new("y", 1.0)).unwrap();
        let platform = b.build().unwrap();
        let error = RouteCache::new().route(&platform, HostId(0), HostId(1)).unwrap_err();
        assert!(error.to_string().contains("zone \"void\""), "{error}");
        assert_eq!(RouteCache::new().route(&platform, HostId(0), HostId(0)).unwrap().links, []);
        assert_eq!(
            platform.planning_network().transfer_time(0.0, HostId(0), HostId(1)),
            f64::INFINITY
        );
    }
}
