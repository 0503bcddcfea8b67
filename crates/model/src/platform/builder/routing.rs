//! Wiring of a platform: routes, private links, backbones, coordinates.

use super::PlatformBuilder;
use crate::platform::error::PlatformError;
use crate::platform::host::Host;
use crate::platform::star::StarLeaf;
use crate::platform::zone::{DeclaredRoute, Member, Routing};
use crate::{HostId, LinkId, ZoneId};

impl PlatformBuilder {
    /// Declares a route between two members of a Full, Floyd or Dijkstra zone.
    pub fn add_route(&mut self, zone: ZoneId, route: DeclaredRoute) -> Result<(), PlatformError> {
        for member in [route.src, route.dst] {
            if self.zone_around(member) != Some(zone) {
                let message = format!("\"{}\" is not in that zone", self.member_name(member));
                return Err(PlatformError::invalid(self.route_element(zone, &route), message));
            }
        }
        self.check_gateways(zone, &route)?;
        let element = self.route_element(zone, &route);
        let added = match &mut self.zones[zone.index()].routing {
            Routing::Full(table) => table.add(route),
            Routing::Floyd(table, graph) | Routing::Dijkstra(table, graph) => {
                let copy = route.clone();
                let added = table.add(route);
                if added {
                    graph.add(&copy);
                }
                added
            }
            _ => {
                let message = "the routing of this zone takes no declared routes";
                return Err(PlatformError::invalid(element, message));
            }
        };
        if added { Ok(()) } else { Err(PlatformError::invalid(element, "it is declared twice")) }
    }

    /// Declares a route that goes before any other between its ends, which are `zone`'s own
    /// members or zones anywhere inside it. One way only.
    pub fn add_bypass(&mut self, zone: ZoneId, route: DeclaredRoute) -> Result<(), PlatformError> {
        for member in [route.src, route.dst] {
            if !self.is_inside(member, zone) {
                let message = format!("\"{}\" is not in that zone", self.member_name(member));
                return Err(PlatformError::invalid(self.route_element(zone, &route), message));
            }
        }
        self.check_gateways(zone, &route)?;
        let element = self.route_element(zone, &route);
        let route = DeclaredRoute { symmetrical: false, ..route };
        if self.zones[zone.index()].bypass.add(route) {
            Ok(())
        } else {
            Err(PlatformError::invalid(element, "the bypass is declared twice"))
        }
    }

    /// Gives a host of a star zone its private links.
    pub fn set_leaf(&mut self, host: HostId, leaf: StarLeaf) -> Result<(), PlatformError> {
        let Host { zone, rank, .. } = self.hosts[host.index()];
        match &mut self.zones[zone.index()].routing {
            Routing::Star(star) => {
                if star.leaves.len() <= rank as usize {
                    star.leaves.resize(rank as usize + 1, StarLeaf::default());
                }
                star.leaves[rank as usize] = leaf;
            }
            Routing::Vivaldi(vivaldi) => {
                vivaldi.leaves.insert(Member::Host(host), leaf);
            }
            _ => {
                let element = format!("host \"{}\"", self.hosts[host.index()].name);
                let message = "its zone is no cluster: hosts have no private links";
                return Err(PlatformError::invalid(element, message));
            }
        }
        Ok(())
    }

    /// Gives a host or router of a Vivaldi zone, or a router that represents the zone around it,
    /// its coordinates (milliseconds).
    pub fn set_coordinates(
        &mut self,
        member: Member,
        coordinates: [f64; 3],
    ) -> Result<(), PlatformError> {
        if let Some(&value) = coordinates.iter().find(|value| !value.is_finite()) {
            let element = format!("\"{}\"", self.member_name(member));
            let (what, must) = ("a coordinate", "a finite number");
            return Err(PlatformError::BadNumber { element, what, value, must });
        }
        if let Member::Router(router) = member {
            self.routers[router.index()].coordinates = Some(coordinates);
        }
        if let Some(zone) = self.zone_around(member)
            && let Routing::Vivaldi(vivaldi) = &mut self.zones[zone.index()].routing
        {
            vivaldi.coordinates.insert(member, coordinates);
        }
        Ok(())
    }

    /// Gives a star zone its backbone.
    pub fn set_backbone(&mut self, zone: ZoneId, link: LinkId) -> Result<(), PlatformError> {
        let zone = &mut self.zones[zone.index()];
        let element = || format!("zone \"{}\"", zone.name);
        match &mut zone.routing {
            Routing::Star(star) if star.backbone.is_none() => {
                star.backbone = Some(link);
                Ok(())
            }
            Routing::Star(_) => Err(PlatformError::invalid(element(), "it has two backbones")),
            _ => Err(PlatformError::invalid(element(), "it is no cluster: it takes no backbone")),
        }
    }

    pub(in super::super) fn set_routing(&mut self, zone: ZoneId, routing: Routing) {
        self.zones[zone.index()].routing = routing;
    }

    /// A zone inside a Vivaldi zone is reached through the router called `router_` and its name.
    pub(super) fn join_vivaldi_zones(&mut self) {
        for index in 1..self.zones.len() {
            let id = ZoneId::new(index);
            let Some(parent) = self.zones[index].parent else { continue };
            let name = format!("router_{}", self.zones[index].name);
            let Some(&Member::Router(router)) = self.members.get(name.as_str()) else { continue };
            if !self.is_inside(Member::Router(router), id) {
                continue;
            }
            let coordinates = self.routers[router.index()].coordinates;
            let Routing::Vivaldi(vivaldi) = &mut self.zones[parent.index()].routing else {
                continue;
            };
            if let Some(coordinates) = coordinates {
                vivaldi.gateways.insert(id, Member::Router(router));
                vivaldi.coordinates.insert(Member::Router(router), coordinates);
            }
        }
    }

    /// The members of a Floyd zone are tried in order of declaration.
    pub(super) fn number_in_floyd(&mut self, zone: ZoneId, member: Member) {
        if let Routing::Floyd(_, graph) = &mut self.zones[zone.index()].routing {
            graph.node(member);
        }
    }

    /// Whether `member` is in `zone` or in a zone inside it.
    pub(super) fn is_inside(&self, member: Member, zone: ZoneId) -> bool {
        let mut around = self.zone_around(member);
        while let Some(here) = around {
            if here == zone {
                return true;
            }
            around = self.zones[here.index()].parent;
        }
        false
    }

    pub(super) fn route_element(&self, zone: ZoneId, route: &DeclaredRoute) -> String {
        format!(
            "route from \"{}\" to \"{}\" in zone \"{}\"",
            self.member_name(route.src),
            self.member_name(route.dst),
            self.zones[zone.index()].name
        )
    }

    /// A gateway must be a node inside its zone: otherwise the search for it would not end.
    pub(super) fn check_gateways(
        &self,
        zone: ZoneId,
        route: &DeclaredRoute,
    ) -> Result<(), PlatformError> {
        for (end, gateway) in [(route.src, route.gw_src), (route.dst, route.gw_dst)] {
            let problem = match (end, gateway) {
                (Member::Zone(inner), Some(gateway)) => {
                    let node = !matches!(gateway, Member::Zone(_));
                    (!node || !self.is_inside(gateway, inner)).then(|| {
                        let (gateway, inner) = (self.member_name(gateway), self.member_name(end));
                        format!("the gateway \"{gateway}\" is no host or router of \"{inner}\"")
                    })
                }
                (Member::Zone(_), None) => {
                    Some(format!("the zone \"{}\" needs a gateway", self.member_name(end)))
                }
                (node, Some(gateway)) => (node != gateway).then(|| {
                    format!("\"{}\" is no zone: it takes no gateway", self.member_name(node))
                }),
                (_, None) => None,
            };
            if let Some(message) = problem {
                return Err(PlatformError::invalid(self.route_element(zone, route), message));
            }
        }
        Ok(())
    }
}
