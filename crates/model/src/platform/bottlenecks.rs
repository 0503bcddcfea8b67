//! Bounds on data that moves between many hosts at once: the hosts' own links, which add up, and
//! the links that all of them share, which do not.

use super::link::Sharing;
use super::zone::Routing;
use super::{Network, PlanningNetwork, Platform, RouteCache};
use crate::{HostId, LinkId};

/// Between two groups of hosts: how many times wider than the narrowest link of the route are the
/// link of the sender, the narrowest shared link, the link of the receiver, and the narrowest
/// fatpipe, which gives every transfer its full bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Widths {
    source: f64,
    shared: f64,
    target: f64,
    stream: f64,
}

/// For every pair of groups of a [`PlanningNetwork`] which part of its bandwidth hosts share.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottlenecks {
    groups: usize,
    widths: Vec<Widths>,
}

impl Bottlenecks {
    /// Of the bytes that `senders` hosts of group `from` have for `receivers` hosts of group `to`,
    /// the part that is as long under way as all of them: each host carries its share, a shared
    /// link everything, and one that is not shared the largest block.
    pub fn share(
        &self,
        (from, to): (usize, usize),
        (senders, receivers): (usize, usize),
        largest: impl FnOnce() -> f64,
    ) -> f64 {
        let Widths { source, shared, target, stream } = self.widths[from * self.groups + to];
        let own = (1.0 / (senders as f64 * source)).max(1.0 / (receivers as f64 * target));
        let block = if stream.is_finite() { largest() / stream } else { 0.0 };
        own.max(1.0 / shared).max(block)
    }
}

impl Platform {
    /// The shared links behind a planning network. Hosts of a star have links of their own, all
    /// others on their routes are shared; where routes are declared or make up a matrix the
    /// description does not say what is shared, so that every stream counts as having its way to
    /// itself.
    pub fn bottlenecks(&self, network: &PlanningNetwork) -> Bottlenecks {
        let groups = network.groups;
        let mut members: Vec<Vec<HostId>> = vec![Vec::new(); groups];
        for (host, &group) in network.group_of.iter().enumerate() {
            members[group as usize].push(HostId::new(host));
        }
        let mut cache = RouteCache::new();
        let mut widths = Vec::with_capacity(groups * groups);
        for from in &members {
            for to in &members {
                let source = from.first().copied();
                let target = to.iter().copied().find(|&host| Some(host) != source);
                let pair = source.zip(target);
                widths.push(pair.map_or(UNSHARED, |pair| self.widths(&mut cache, pair)));
            }
        }
        Bottlenecks { groups, widths }
    }

    fn widths(&self, cache: &mut RouteCache, (src, dst): (HostId, HostId)) -> Widths {
        if let Network::Matrix(_) = self.network() {
            return UNSHARED;
        }
        let (own_src, own_dst) = (self.own_links(src), self.own_links(dst));
        let Ok(route) = cache.route_once(self, src, dst) else { return UNSHARED };
        let narrowest = route.bandwidth(self.links());
        let mut widths = UNBOUNDED;
        for &link in route.links {
            let wide = self.link(link).bandwidth / narrowest;
            let of = |own: Option<[Option<LinkId>; 3]>| own.map(|own| own.contains(&Some(link)));
            let (of_src, of_dst) = (of(own_src), of(own_dst));
            if self.link(link).sharing == Sharing::Fatpipe {
                widths.stream = widths.stream.min(wide);
                continue;
            }
            if of_src == Some(true) || (of_src.is_none() && of_dst != Some(true)) {
                widths.source = widths.source.min(wide);
            }
            if of_dst == Some(true) || (of_dst.is_none() && of_src != Some(true)) {
                widths.target = widths.target.min(wide);
            }
            if of_src == Some(false) && of_dst == Some(false) {
                widths.shared = widths.shared.min(wide);
            }
        }
        widths
    }

    /// The links that only serve one host; `None` where the routing does not say.
    fn own_links(&self, host: HostId) -> Option<[Option<LinkId>; 3]> {
        let host = self.host(host);
        match &self.zone(host.zone).routing {
            Routing::Star(star) => {
                let leaf = star.leaves.get(host.rank as usize).copied().unwrap_or_default();
                Some([leaf.up, leaf.down, leaf.limiter])
            }
            _ => None,
        }
    }
}

const UNBOUNDED: Widths = Widths {
    source: f64::INFINITY,
    shared: f64::INFINITY,
    target: f64::INFINITY,
    stream: f64::INFINITY,
};

/// Every stream has its way to itself.
const UNSHARED: Widths = Widths { stream: 1.0, ..UNBOUNDED };
