//! Zones: the tree of sites, clusters and autonomous systems, each with its own way of finding
//! a route between its members.

use super::cluster::{ClusterSpec, FabricZone};
use super::host::Properties;
use super::shortest::Graph;
use super::star::{Star, StarLeaf};
use super::vivaldi::Vivaldi;
use crate::resources::Amount;
use crate::{HostId, LinkId, RouterId, ZoneId};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// An end point of the routes of a zone: a host, a router, or a zone inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// A host.
    Host(HostId),
    /// A router.
    Router(RouterId),
    /// A zone inside the zone.
    Zone(ZoneId),
}

impl Member {
    /// The host, if it is one.
    pub fn host(self) -> Option<HostId> {
        match self {
            Member::Host(host) => Some(host),
            _ => None,
        }
    }
}

/// A point of the network that forwards and computes nothing.
#[derive(Clone, Debug)]
pub struct NetworkRouter {
    /// Unique among hosts, routers and zones.
    pub name: Arc<str>,
    /// The zone that contains it.
    pub zone: ZoneId,
    /// Vivaldi coordinates, milliseconds.
    pub coordinates: Option<[f64; 3]>,
}

/// The method by which a zone finds routes between its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoutingKind {
    /// No routes: its members cannot communicate.
    None,
    /// Every route is declared.
    Full,
    /// Fewest links over the declared ones, all pairs at once.
    Floyd,
    /// Fewest links over the declared ones, one source at a time.
    Dijkstra,
    /// A private link per host and an optional backbone between them; also the clusters whose routes follow
    /// from their topology (fat tree, torus, dragonfly).
    Star,
    /// Latency from coordinates, bandwidth from the private links of both ends.
    Vivaldi,
}

/// A route as declared between two members of a zone.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredRoute {
    /// Its start.
    pub src: Member,
    /// Its end.
    pub dst: Member,
    /// The node of `src` it leaves from, when `src` is a zone.
    pub gw_src: Option<Member>,
    /// The node of `dst` it arrives at, when `dst` is a zone.
    pub gw_dst: Option<Member>,
    /// The links crossed, in order.
    pub links: Box<[LinkId]>,
    /// Whether the route from `dst` to `src` is the same, reversed.
    pub symmetrical: bool,
}

impl DeclaredRoute {
    /// A symmetrical route between two hosts.
    pub fn between(src: HostId, dst: HostId, links: impl Into<Box<[LinkId]>>) -> DeclaredRoute {
        DeclaredRoute {
            src: Member::Host(src),
            dst: Member::Host(dst),
            gw_src: None,
            gw_dst: None,
            links: links.into(),
            symmetrical: true,
        }
    }
}

/// A declared route used in one of its directions; `index` counts the declared routes of its table.
#[derive(Clone, Copy, Debug)]
pub(super) struct RouteRef {
    pub(super) index: u32,
    pub(super) reversed: bool,
}

/// The declared routes of a zone, found by their ends.
#[derive(Clone, Debug, Default)]
pub(super) struct RouteTable {
    pub(super) declared: Vec<DeclaredRoute>,
    pub(super) by_ends: HashMap<(Member, Member), RouteRef>,
}

impl RouteTable {
    /// Adds a route; `false` if one was declared from `src` to `dst` already. A declared
    /// direction wins over the reverse of a symmetrical route.
    pub(super) fn add(&mut self, route: DeclaredRoute) -> bool {
        let index = self.declared.len() as u32;
        let (src, dst, symmetrical) = (route.src, route.dst, route.symmetrical);
        if let Some(old) = self.by_ends.get(&(src, dst))
            && !old.reversed
        {
            return false;
        }
        self.by_ends.insert((src, dst), RouteRef { index, reversed: false });
        if symmetrical && src != dst {
            self.by_ends.entry((dst, src)).or_insert(RouteRef { index, reversed: true });
        }
        self.declared.push(route);
        true
    }
}

/// The routing of a zone with its tables.
#[derive(Clone, Debug)]
pub(super) enum Routing {
    None,
    Full(RouteTable),
    Floyd(RouteTable, Graph),
    Dijkstra(RouteTable, Graph),
    Star(Star),
    Fabric(Box<FabricZone>),
    Vivaldi(Vivaldi),
}

/// A site, a cluster, an autonomous system: a part of the platform with one routing.
#[derive(Clone, Debug)]
pub struct Zone {
    /// Unique among hosts, routers and zones.
    pub name: Arc<str>,
    /// The zone around it; none for the root.
    pub parent: Option<ZoneId>,
    /// Number of zones around it.
    pub depth: u32,
    /// Further properties in its description.
    pub properties: Option<Arc<Properties>>,
    /// Its hosts share their storage: a file that one of them has, all have.
    pub shared_storage: bool,
    /// Money per GB that leaves it.
    pub transfer_price: f64,
    /// Bytes that the shared storage holds; none: any number.
    pub storage_capacity: Option<f64>,
    /// Named resources that its hosts share.
    pub resources: Vec<(Arc<str>, Amount)>,
    /// The line that described it and the ids of the links that the line created, if it is a
    /// cluster described in one.
    pub cluster: Option<Box<(ClusterSpec, Range<u32>)>>,
    pub(super) routing: Routing,
    pub(super) bypass: RouteTable,
}

impl Zone {
    /// Returns the method by which it finds routes.
    pub fn routing(&self) -> RoutingKind {
        match &self.routing {
            Routing::None => RoutingKind::None,
            Routing::Full(_) => RoutingKind::Full,
            Routing::Floyd(..) => RoutingKind::Floyd,
            Routing::Dijkstra(..) => RoutingKind::Dijkstra,
            Routing::Star(_) | Routing::Fabric(_) => RoutingKind::Star,
            Routing::Vivaldi(_) => RoutingKind::Vivaldi,
        }
    }

    /// The private links of a host of this zone; `rank` is its position among the zone's hosts. None
    /// outside stars and Vivaldi zones.
    pub fn leaf(&self, host: HostId, rank: u32) -> Option<StarLeaf> {
        match &self.routing {
            Routing::Star(star) => star.leaves.get(rank as usize).copied(),
            Routing::Vivaldi(vivaldi) => vivaldi.leaves.get(&Member::Host(host)).copied(),
            _ => None,
        }
    }

    /// The backbone of a star.
    pub fn backbone(&self) -> Option<LinkId> {
        match &self.routing {
            Routing::Star(star) => star.backbone,
            _ => None,
        }
    }

    /// Vivaldi coordinates of a member of this zone, milliseconds.
    pub fn coordinates(&self, member: Member) -> Option<[f64; 3]> {
        match &self.routing {
            Routing::Vivaldi(vivaldi) => vivaldi.coordinates.get(&member).copied(),
            _ => None,
        }
    }

    /// The routes declared between its members, in order of declaration.
    pub fn declared_routes(&self) -> &[DeclaredRoute] {
        match &self.routing {
            Routing::Full(table) | Routing::Floyd(table, _) | Routing::Dijkstra(table, _) => {
                &table.declared
            }
            _ => &[],
        }
    }

    /// Routes declared in this zone that take precedence over its routing; their ends may be at any depth
    /// inside it.
    pub fn bypass_routes(&self) -> &[DeclaredRoute] {
        &self.bypass.declared
    }
}
