//! Links, routers, clusters and routes.

use super::super::attributes::Attributes;
use super::super::values::{SHARING, cluster_sharing, initial_state, radical, speed, topology};
use super::{Elements, Frame, OpenRoute};
use crate::error::Result;
use slackline_model::LinkId;
use slackline_model::platform::{
    ClusterSharing, ClusterSpec, HostSpec, LinkShape, LinkSpec, Member, Sharing, StarLeaf,
};
use slackline_model::units::Quantity;

impl Elements<'_> {
    pub(super) fn add_router(&mut self, a: &Attributes<'_>) -> Result<Frame> {
        let fail = self.at(a.offset());
        let zone = self.zone_or_root()?;
        let router = self.builder.add_router(zone, a.required(&["id"])?).map_err(&fail)?;
        if let Some(coordinates) = a.coordinates()? {
            self.builder.set_coordinates(Member::Router(router), coordinates).map_err(&fail)?;
        }
        Ok(Frame::Leaf)
    }

    pub(super) fn open_link(&mut self, a: &Attributes<'_>) -> Result<Frame> {
        let bandwidth = a.required_quantity(&["bandwidth"], Quantity::Bandwidth)?;
        let latency = a.quantity(&["latency"], Quantity::Duration)?.unwrap_or(0.0);
        let mut spec = LinkSpec::new(a.required(&["id"])?, bandwidth, latency);
        let sharing = cluster_sharing(a, "sharing_policy", ClusterSharing::Shared)?;
        spec.split_duplex = sharing == ClusterSharing::SplitDuplex;
        if sharing == ClusterSharing::Fatpipe {
            spec.sharing = Sharing::Fatpipe;
        }
        spec.bandwidth_profile = self.trace_file(a, &["bandwidth_file"])?;
        spec.latency_profile = self.trace_file(a, &["latency_file"])?;
        spec.state = match self.trace_file(a, &["state_file"])? {
            Some(profile) => Some(profile),
            None => initial_state(a)?,
        };
        Ok(Frame::Link(Box::new(spec), Vec::new()))
    }

    pub(super) fn add_backbone(&mut self, a: &Attributes<'_>) -> Result<Frame> {
        let bandwidth = a.required_quantity(&["bandwidth"], Quantity::Bandwidth)?;
        let latency = a.quantity(&["latency"], Quantity::Duration)?.unwrap_or(0.0);
        let mut spec = LinkSpec::new(a.required(&["id"])?, bandwidth, latency);
        spec.sharing = a.choice("sharing_policy", &SHARING, Sharing::Shared)?;
        let fail = self.at(a.offset());
        let zone = self.zone_or_root()?;
        let link = self.builder.add_link(spec).map_err(&fail)?;
        self.builder.set_backbone(zone, link).map_err(&fail)?;
        Ok(Frame::Leaf)
    }

    pub(super) fn open_cluster(&mut self, a: &Attributes<'_>) -> Result<Frame> {
        let mut host = HostSpec::new("", speed(a)?);
        host.cores = a.count("core", 1)?;
        host.availability = self.trace_file(a, &["availability_file", "speed_file"])?;
        host.state = self.trace_file(a, &["state_file"])?;
        let shape = |bandwidth: &str, latency: &str| -> Result<Option<LinkShape>> {
            let Some(bandwidth) = a.quantity(&[bandwidth], Quantity::Bandwidth)? else {
                return Ok(None);
            };
            let latency = a.quantity(&[latency], Quantity::Duration)?.unwrap_or(0.0);
            Ok(Some(LinkShape { bandwidth, latency }))
        };
        let link = shape("bw", "lat")?.ok_or_else(|| a.error("the attribute \"bw\" is missing"))?;
        // SimGrid writes "no backbone" and "no loopback" as a bandwidth of 0.
        let given = |shape: Option<LinkShape>| shape.filter(|shape| shape.bandwidth > 0.0);
        let backbone_sharing = a.choice("bb_sharing_policy", &SHARING, Sharing::Shared)?;
        let limiter = a.quantity(&["limiter_link"], Quantity::Bandwidth)?;
        let spec = ClusterSpec {
            id: a.required(&["id"])?.to_string(),
            prefix: a.get(&["prefix"]).unwrap_or_default().to_string(),
            suffix: a.get(&["suffix"]).unwrap_or_default().to_string(),
            radical: radical(a)?,
            host,
            link,
            sharing: cluster_sharing(a, "sharing_policy", ClusterSharing::SplitDuplex)?,
            backbone: given(shape("bb_bw", "bb_lat")?).map(|shape| (shape, backbone_sharing)),
            limiter: limiter.filter(|&bandwidth| bandwidth > 0.0),
            loopback: given(shape("loopback_bw", "loopback_lat")?),
            router: a.get(&["router_id"]).filter(|id| !id.is_empty()).map(str::to_string),
            topology: topology(a)?,
        };
        Ok(Frame::Cluster(Box::new(spec), Vec::new()))
    }

    pub(super) fn add_cabinet(&mut self, a: &Attributes<'_>) -> Result<Frame> {
        let speed = speed(a)?;
        let bandwidth = a.required_quantity(&["bw"], Quantity::Bandwidth)?;
        let latency = a.quantity(&["lat"], Quantity::Duration)?.unwrap_or(0.0);
        let (prefix, suffix) = (a.required(&["prefix"])?, a.required(&["suffix"])?);
        let numbers = radical(a)?;
        let count: u64 = numbers.iter().map(|(a, b)| u64::from(b - a) + 1).sum();
        if count > slackline_model::platform::CLUSTER_LIMIT {
            return Err(a.error(format!("{count} hosts are too many for one cabinet")));
        }
        let fail = self.at(a.offset());
        let zone = self.zone_or_root()?;
        for number in numbers.into_iter().flat_map(|(a, b)| a..=b) {
            let name = format!("{prefix}{number}{suffix}");
            let link = LinkSpec::new(format!("link_{name}"), bandwidth, latency);
            let b = &mut self.builder;
            let host = b.add_host(zone, HostSpec::new(name, speed)).map_err(&fail)?;
            let up = b.add_link(LinkSpec { split_duplex: true, ..link }).map_err(&fail)?;
            let leaf =
                StarLeaf { up: Some(up), down: Some(LinkId(up.0 + 1)), ..StarLeaf::default() };
            b.set_leaf(host, leaf).map_err(&fail)?;
        }
        Ok(Frame::Leaf)
    }

    pub(super) fn open_route(&mut self, element: &str, a: &Attributes<'_>) -> Result<Frame> {
        let own = |name: &str| a.get(&[name]).map(str::to_string);
        let both = [("YES", true), ("yes", true), ("NO", false), ("no", false)];
        Ok(Frame::Route(OpenRoute {
            src: a.required(&["src"])?.to_string(),
            dst: a.required(&["dst"])?.to_string(),
            gateways: (own("gw_src"), own("gw_dst")),
            symmetrical: a.choice("symmetrical", &both, true)?,
            bypass: element.starts_with("bypass"),
            links: Vec::new(),
            zone: Some(self.zone_or_root()?),
            offset: a.offset(),
        }))
    }

    pub(super) fn route_link(&mut self, a: &Attributes<'_>) -> Result<Frame> {
        let directions = [("NONE", None), ("UP", Some(true)), ("DOWN", Some(false))];
        let direction = a.choice("direction", &directions, None)?;
        let name = a.required(&["id"])?.to_string();
        match self.stack.last_mut().map(|(frame, _)| frame) {
            Some(Frame::Route(route)) => route.links.push((name, direction)),
            _ => return Err(a.error("it must stand in a route")),
        }
        Ok(Frame::Leaf)
    }
}
