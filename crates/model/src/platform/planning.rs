//! The network as planners see it: contention-free bandwidth and latency between groups of hosts
//! that see the same network.

use super::Profile;
use super::zone::{Member, Routing};
use super::{Charges, Contention, Network, Platform, RouteCache, RouteError, Way};
use crate::problem::Block;
use crate::workflow::Payload;
use crate::{HostId, LinkId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Most groups for which every pair is computed; beyond, the hosts of a zone are taken together.
const GROUP_LIMIT: usize = 1024;

/// Most pairs in the sample for the mean of a group whose hosts do not all see the same network.
const SAMPLES: usize = 64;

/// Estimates between groups of hosts. Sending `b` bytes from a host of group `g` to another host
/// of group `h` takes `latency(g, h) + b / bandwidth(g, h)`; to the same host, no time. Hosts that
/// share their storage are no seconds apart. Where factors depend on sizes there is one table per
/// band of sizes, one behind the other.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanningNetwork {
    /// Group of each host.
    pub group_of: Vec<u32>,
    /// Number of groups.
    pub groups: usize,
    /// Sizes at which the next table begins to count; empty for one table.
    pub thresholds: Vec<f64>,
    /// Seconds, `groups x groups` row-major; entry (g, g) is between two different hosts of the
    /// group. Infinite where there is no route.
    pub latency: Vec<f64>,
    /// Bytes/s, `groups x groups` row-major; infinite where transfers take no time.
    pub bandwidth: Vec<f64>,
    /// Transfers that proceed side by side as fast as one alone, at least 1, for each entry of
    /// `bandwidth`; empty where all share from the second on.
    pub streams: Vec<f64>,
    /// Per group: bytes/s at which data from all other hosts together can enter one of its hosts;
    /// empty where groups were sampled, so that no figure of the network is certain.
    pub inlets: Vec<f64>,
    /// Latency and bandwidth by group for data that stay on a host; empty where that is free.
    pub local: Vec<(f64, f64)>,
}

impl PlanningNetwork {
    /// Offset of the table for messages of a size.
    #[inline]
    pub fn band(&self, bytes: f64) -> usize {
        if self.thresholds.is_empty() {
            return 0;
        }
        self.thresholds.partition_point(|&above| above < bytes) * self.groups * self.groups
    }

    /// Seconds to move `bytes` from `src` to `dst` if nothing else moves.
    #[inline]
    pub fn transfer_time(&self, bytes: f64, src: HostId, dst: HostId) -> f64 {
        if src == dst {
            return self.local_time(bytes, src);
        }
        let at = self.pair(src, dst) + self.band(bytes);
        self.latency[at] + bytes / self.bandwidth[at]
    }

    /// Seconds to move files that leave `src` together, each as a transfer of its own, if nothing
    /// else moves.
    #[inline]
    pub fn payload_time(&self, payload: Payload, src: HostId, dst: HostId) -> f64 {
        if src == dst {
            return self.local_time(payload.total, src);
        }
        self.seconds_at(self.band(payload.largest) + self.pair(src, dst), payload)
    }

    /// Seconds of an entry of the tables, which has to be of the band of the largest file.
    #[inline]
    pub fn seconds_at(&self, at: usize, payload: Payload) -> f64 {
        let bytes = match self.streams.get(at) {
            Some(&streams) => payload.serial_bytes(streams),
            None => payload.total,
        };
        self.latency[at] + bytes / self.bandwidth[at]
    }

    /// Calls back with the seconds of all entries of a row of the tables, beside the items of a list.
    #[inline]
    pub fn each_in_row<T>(
        &self,
        row: usize,
        payload: Payload,
        list: impl Iterator<Item = T>,
        mut found: impl FnMut(T, f64),
    ) {
        let range = row..row + self.groups;
        let pairs = self.latency[range.clone()].iter().zip(&self.bandwidth[range.clone()]);
        match self.streams.get(range) {
            None => {
                for (item, (latency, bandwidth)) in list.zip(pairs) {
                    found(item, latency + payload.total / bandwidth);
                }
            }
            Some(streams) => {
                for (item, ((latency, bandwidth), &streams)) in list.zip(pairs.zip(streams)) {
                    found(item, latency + payload.serial_bytes(streams) / bandwidth);
                }
            }
        }
    }

    /// Seconds to move nothing, and to move `bytes`, in the same way.
    #[inline]
    pub fn transfer_times(&self, bytes: f64, src: HostId, dst: HostId) -> (f64, f64) {
        if src == dst || !self.thresholds.is_empty() {
            return (self.transfer_time(0.0, src, dst), self.transfer_time(bytes, src, dst));
        }
        let at = self.pair(src, dst);
        let (latency, bandwidth) = (self.latency[at], self.bandwidth[at]);
        (latency + 0.0 / bandwidth, latency + bytes / bandwidth)
    }

    /// Per host: seconds to move files there from `src`, if nothing else moves; for `src` itself as to
    /// another host of its group.
    pub fn times_from(&self, payload: Payload, src: HostId) -> impl Iterator<Item = f64> + '_ {
        let row = self.group_of[src.index()] as usize * self.groups + self.band(payload.largest);
        let (mut last, mut seconds) = (u32::MAX, 0.0);
        self.group_of.iter().map(move |&group| {
            if group != last {
                let at = row + group as usize;
                (last, seconds) = (group, self.seconds_at(at, payload));
            }
            seconds
        })
    }

    /// Seconds to move some blocks as one operation, each with its way to itself: all advance
    /// together, after the longest latency.
    pub fn together(&self, blocks: impl Iterator<Item = Block>) -> f64 {
        let (mut latency, mut seconds) = (0.0f64, 0.0f64);
        for Block { from, to, bytes } in blocks {
            let at = self.pair(from, to) + self.band(bytes);
            latency = latency.max(self.latency[at]);
            seconds = seconds.max(bytes / self.bandwidth[at]);
        }
        latency + seconds
    }

    /// Seconds that data which stay on a host are charged.
    fn local_time(&self, bytes: f64, host: HostId) -> f64 {
        if self.local.is_empty() || bytes == 0.0 {
            return 0.0;
        }
        let (latency, bandwidth) = self.local[self.group_of[host.index()] as usize];
        latency + bytes / bandwidth
    }

    /// Bytes/s of a lone message of a size; infinite from a host to itself.
    pub fn rate(&self, bytes: f64, src: HostId, dst: HostId) -> f64 {
        if src == dst {
            f64::INFINITY
        } else {
            self.bandwidth[self.pair(src, dst) + self.band(bytes)]
        }
    }

    /// Index of the entry of two different hosts in the first table.
    #[inline]
    pub fn pair(&self, src: HostId, dst: HostId) -> usize {
        self.group_of[src.index()] as usize * self.groups + self.group_of[dst.index()] as usize
    }

    /// The same network with every group split by a mark of its hosts.
    pub fn told_apart(&self, mark: impl Fn(HostId) -> u32) -> PlanningNetwork {
        let mut groups: HashMap<(u32, u32), u32> = HashMap::new();
        let group_of: Vec<u32> = (0..self.group_of.len())
            .map(|host| {
                let next = groups.len() as u32;
                let key = (self.group_of[host], mark(HostId::new(host)));
                *groups.entry(key).or_insert(next)
            })
            .collect();
        let groups = groups.len();
        let (latency, bandwidth) =
            (vec![0.0; groups * groups], vec![f64::INFINITY; groups * groups]);
        let finer = PlanningNetwork {
            group_of,
            groups,
            thresholds: Vec::new(),
            latency,
            bandwidth,
            streams: Vec::new(),
            inlets: Vec::new(),
            local: Vec::new(),
        };
        self.regrouped(&finer)
    }

    /// The same network by the groups of another, which may be finer.
    pub fn regrouped(&self, like: &PlanningNetwork) -> PlanningNetwork {
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); like.groups];
        for (host, &group) in like.group_of.iter().enumerate() {
            members[group as usize].push(host);
        }
        let mut network = like.clone();
        let tables = self.thresholds.len() + 1;
        network.thresholds.clone_from(&self.thresholds);
        let first = |members: &Vec<usize>| members.first().copied().unwrap_or(0);
        let group = |host: usize| self.group_of[host] as usize;
        if !self.inlets.is_empty() {
            network.inlets = members.iter().map(|m| self.inlets[group(first(m))]).collect();
        }
        if !self.local.is_empty() {
            network.local = members.iter().map(|m| self.local[group(first(m))]).collect();
        }
        network.latency.resize(tables * like.groups * like.groups, 0.0);
        network.bandwidth.resize(tables * like.groups * like.groups, f64::INFINITY);
        let streams = if self.streams.is_empty() { 0 } else { network.bandwidth.len() };
        network.streams.clear();
        network.streams.resize(streams, 1.0);
        for from in 0..like.groups {
            for to in 0..like.groups {
                // Two different hosts stand for their groups; a host alone never sends to itself.
                let Some(&src) = members[from].first() else { continue };
                let Some(&dst) = members[to].iter().find(|&&h| h != src) else { continue };
                let at = self.group_of[src] as usize * self.groups + self.group_of[dst] as usize;
                for table in 0..tables {
                    let (own, other) = (self.groups * self.groups, like.groups * like.groups);
                    let (here, there) = (table * own + at, table * other + from * like.groups + to);
                    network.latency[there] = self.latency[here];
                    network.bandwidth[there] = self.bandwidth[here];
                    if let Some(&streams) = self.streams.get(here) {
                        network.streams[there] = streams;
                    }
                }
            }
        }
        network
    }
}

impl Platform {
    /// The contention-free network: bandwidth of the narrowest link, sum of latencies. All hosts
    /// of a flat cluster with equal links form one group; every other host is its own group
    /// unless there are too many, when the hosts of a zone are one group with the mean latency
    /// and the least bandwidth of a sample of their pairs.
    pub fn planning_network(&self) -> PlanningNetwork {
        self.charged_network(&Charges::default())
    }

    /// The planning network as a network model charges for it. A matrix means what it states.
    pub fn charged_network(&self, charges: &Charges) -> PlanningNetwork {
        if let Network::Matrix(super::Matrix::Uniform { bandwidth, latency }) = self.network()
            && !self.shares_storage()
        {
            return PlanningNetwork {
                thresholds: Vec::new(),
                group_of: vec![0; self.hosts().len()],
                groups: 1,
                latency: vec![*latency],
                bandwidth: vec![*bandwidth],
                streams: vec![f64::INFINITY],
                inlets: vec![f64::INFINITY],
                local: Vec::new(),
            };
        }
        let gateways = self.named_in_routes();
        let mut group_of = self.group_by(|host| {
            // A host that others pass through is nearer to the outside than its neighbours.
            let alone = gateways.contains(&host).then_some(host);
            (self.network_key(host, true), alone)
        });
        let mut exact = true;
        if group_of.iter().max().is_some_and(|&last| last as usize >= GROUP_LIMIT) {
            group_of = self.group_by(|host| self.network_key(host, false));
            exact = false;
        }
        self.between_groups(group_of, exact, charges)
    }

    /// The hosts that serve as gateways or that a route names.
    fn named_in_routes(&self) -> HashSet<HostId> {
        let zones = self.zones().iter();
        let routes = zones.flat_map(|z| z.declared_routes().iter().chain(z.bypass_routes()));
        let nodes = routes.flat_map(|r| [Some(r.src), Some(r.dst), r.gw_src, r.gw_dst]);
        nodes.flatten().filter_map(Member::host).collect()
    }

    /// Hosts with equal keys see the same network.
    fn network_key(&self, id: HostId, fine: bool) -> (u32, [u64; 6]) {
        let host = self.host(id);
        let zone = host.zone.0;
        match &self.zone(host.zone).routing {
            Routing::Star(star) => {
                let leaf = star.leaves.get(host.rank as usize).copied().unwrap_or_default();
                let mut key = [0; 6];
                for (pair, link) in key.chunks_mut(2).zip([leaf.up, leaf.down, leaf.limiter]) {
                    let Some(id) = link else { continue };
                    let link = self.link(id);
                    pair[0] = link.level().to_bits();
                    pair[1] = link.latency.to_bits();
                    // What changes by itself must be seen by itself.
                    let changes = |p: &Arc<Profile>| p.constant_value().is_none();
                    if link.bandwidth_profile.as_ref().is_some_and(changes) || link.state.is_some()
                    {
                        pair[1] = !u64::from(id.0);
                    }
                }
                (zone, key)
            }
            _ if fine => (zone, [1 + u64::from(id.0), 0, 0, 0, 0, 0]),
            _ => (zone, [0; 6]),
        }
    }

    fn group_by<K: std::hash::Hash + Eq>(&self, key: impl Fn(HostId) -> K) -> Vec<u32> {
        let mut groups = HashMap::new();
        (0..self.hosts().len())
            .map(|host| {
                let next = groups.len() as u32;
                *groups.entry(key(HostId::new(host))).or_insert(next)
            })
            .collect()
    }

    fn between_groups(
        &self,
        group_of: Vec<u32>,
        exact: bool,
        charges: &Charges,
    ) -> PlanningNetwork {
        let groups = group_of.iter().max().map_or(0, |&last| last as usize + 1);
        let mut members: Vec<Vec<HostId>> = vec![Vec::new(); groups];
        for (host, &group) in group_of.iter().enumerate() {
            members[group as usize].push(HostId::new(host));
        }
        let matrix = matches!(self.network(), Network::Matrix(_));
        let bands = if matrix { 1 } else { charges.bands.len() };
        let thresholds = charges.bands[1..bands].iter().map(|band| band.above).collect();
        let mut cache = RouteCache::new();
        let mut latency = vec![0.0; bands * groups * groups];
        let mut bandwidth = vec![f64::INFINITY; bands * groups * groups];
        let mut streams = vec![f64::INFINITY; bands * groups * groups];
        let mut inlets = vec![Inlet::Unknown; if exact { groups } else { 0 }];
        for g in 0..groups {
            for h in 0..groups {
                let samples = if exact { 1 } else { SAMPLES };
                let mut count = 0u32;
                for pair in sample_pairs(&members[g], &members[h], samples) {
                    count += 1;
                    let way = self.way(&mut cache, pair, charges);
                    if let Some(inlet) = inlets.get_mut(h) {
                        inlet.narrow(way.as_ref());
                    }
                    self.add_pair(way, pair, charges, |band, seconds, rate, together| {
                        let at = (band * groups + g) * groups + h;
                        latency[at] += seconds;
                        bandwidth[at] = rate.min(bandwidth[at]);
                        streams[at] = streams[at].min(streams_of(rate, together));
                    });
                }
                for band in (0..bands).filter(|_| count > 1) {
                    latency[(band * groups + g) * groups + h] /= f64::from(count);
                }
            }
        }
        // Where every link is shared and a transfer alone takes all of it, nothing has to be kept.
        if streams.iter().all(|&streams| streams == 1.0) {
            streams = Vec::new();
        }
        let local = if charges.local && !matrix {
            members.iter().map(|hosts| self.way_home(&mut cache, hosts, charges)).collect()
        } else {
            Vec::new()
        };
        let inlets = inlets.into_iter().map(|inlet| inlet.rate(self, charges)).collect();
        PlanningNetwork { group_of, groups, thresholds, latency, bandwidth, streams, inlets, local }
    }

    /// The links between two hosts; none where nothing is known to be crossed, because the hosts
    /// share a storage or the network is a matrix.
    fn way(
        &self,
        cache: &mut RouteCache,
        (src, dst): (HostId, HostId),
        charges: &Charges,
    ) -> Option<Result<Way, RouteError>> {
        let zones = matches!(self.network(), Network::Zones);
        let (src, dst) = (self.place_of(src), self.place_of(dst));
        (zones && src != dst).then(|| Way::find(self, cache, (src, dst), charges))
    }

    /// Latency and bandwidth from a host of a group to itself; nothing where there are no links.
    fn way_home(&self, cache: &mut RouteCache, group: &[HostId], charges: &Charges) -> (f64, f64) {
        let Some(&host) = group.first() else { return (0.0, f64::INFINITY) };
        match Way::find(self, cache, (host, host), charges) {
            Ok(way) if !way.links.is_empty() => {
                let band = charges.bands.last().unwrap_or(&Charges::STATED);
                charges.of(band, &way, |link| self.link(link).level())
            }
            _ => (0.0, f64::INFINITY),
        }
    }

    /// Calls back with latency, rate of a lone transfer and rate of all together between a pair,
    /// band by band; infinite latency where there is no route. Hosts that share storage see the
    /// network of the first of them, to which data moves.
    fn add_pair(
        &self,
        way: Option<Result<Way, RouteError>>,
        (src, dst): (HostId, HostId),
        charges: &Charges,
        mut add: impl FnMut(usize, f64, f64, f64),
    ) {
        let (src, dst) = (self.place_of(src), self.place_of(dst));
        if src == dst {
            let matrix = matches!(self.network(), Network::Matrix(_));
            let bands = if matrix { 1 } else { charges.bands.len() };
            let free = f64::INFINITY;
            return (0..bands).for_each(|band| add(band, 0.0, free, free));
        }
        if let Network::Matrix(matrix) = self.network() {
            let (latency, rate) = (matrix.latency(src, dst), matrix.bandwidth(src, dst));
            return add(0, latency, rate, f64::INFINITY);
        }
        let Some(way) = way else { return };
        let level = |link: LinkId| self.link(link).level();
        for (index, band) in charges.bands.iter().enumerate() {
            match &way {
                Ok(way) => {
                    let (seconds, rate) = charges.of(band, way, level);
                    add(index, seconds, rate, charges.together(way, level));
                }
                Err(_) if charges.constant => {
                    add(index, band.latency, f64::INFINITY, f64::INFINITY);
                }
                Err(_) => add(index, f64::INFINITY, f64::INFINITY, f64::INFINITY),
            }
        }
    }
}

/// The shared links that all data crosses on its way to a host, each with the least that one unit
/// of a transfer's rate takes of it.
#[derive(Clone)]
enum Inlet {
    Unknown,
    Links(Vec<(LinkId, f64)>),
}

impl Inlet {
    /// Keeps the links that are on one more way.
    fn narrow(&mut self, way: Option<&Result<Way, RouteError>>) {
        let way = match way {
            Some(Ok(way)) => way,
            // Nothing comes from there.
            Some(Err(_)) => return,
            None => return *self = Inlet::Links(Vec::new()),
        };
        let links = || {
            let shared = way.links.iter().filter(|step| step.shared && step.there);
            shared.map(|step| (step.link, step.taken))
        };
        match self {
            Inlet::Unknown => *self = Inlet::Links(links().collect()),
            Inlet::Links(known) => known.retain_mut(|(link, least)| {
                let same = links().find(|(l, _)| l == link);
                same.is_some_and(|(_, taken)| {
                    *least = least.min(taken);
                    true
                })
            }),
        }
    }

    /// Returns the bandwidth of the narrowest of these links, bytes/s.
    fn rate(self, platform: &Platform, charges: &Charges) -> f64 {
        match self {
            Inlet::Links(links) if charges.contention != Contention::Free => {
                let usable = |link| charges.usable(platform.link(link));
                let rates = links.iter().map(|&(link, taken)| usable(link) / taken);
                rates.fold(f64::INFINITY, f64::min)
            }
            _ => f64::INFINITY,
        }
    }
}

/// Number of transfers that fill what all of them together get.
fn streams_of(rate: f64, together: f64) -> f64 {
    if together.is_finite() { (together / rate).max(1.0) } else { f64::INFINITY }
}

/// Up to `samples` pairs of different hosts, spread over both lists by a fixed rule.
fn sample_pairs<'a>(
    from: &'a [HostId],
    to: &'a [HostId],
    samples: usize,
) -> impl Iterator<Item = (HostId, HostId)> + 'a {
    (0..samples).filter_map(move |k| {
        let src = from[k * from.len() / samples];
        // Shifted by one so that within a group the first pair is of different hosts.
        let dst = to[(k * 7 * to.len() / samples + k + 1) % to.len()];
        let dst = if src == dst { *to.iter().find(|&&host| host != src)? } else { dst };
        Some((src, dst))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarse_network_can_be_told_more_finely() {
        let coarse = PlanningNetwork {
            group_of: vec![0, 0, 1],
            groups: 2,
            thresholds: Vec::new(),
            latency: vec![1.0, 2.0, 3.0, f64::INFINITY],
            bandwidth: vec![10.0, 20.0, 30.0, f64::INFINITY],
            streams: vec![1.0, 2.0, f64::INFINITY, 1.0],
            inlets: vec![8.0, 9.0],
            local: Vec::new(),
        };
        let fine = PlanningNetwork {
            group_of: vec![0, 1, 2],
            groups: 3,
            thresholds: Vec::new(),
            latency: vec![0.0; 9],
            bandwidth: vec![5.0; 9],
            streams: Vec::new(),
            inlets: Vec::new(),
            local: Vec::new(),
        };
        let told = coarse.regrouped(&fine);
        for (src, dst) in [(0, 1), (1, 0), (0, 2), (2, 1)] {
            let (src, dst) = (HostId(src), HostId(dst));
            assert_eq!(told.transfer_time(60.0, src, dst), coarse.transfer_time(60.0, src, dst));
            let files = Payload::of([30.0, 60.0, 60.0]);
            assert_eq!(told.payload_time(files, src, dst), coarse.payload_time(files, src, dst));
        }
        assert_eq!(coarse.regrouped(&coarse), coarse);
        assert_eq!(coarse.told_apart(|host| host.0).group_of, fine.group_of);
        assert_eq!(coarse.told_apart(|_| 7).bandwidth, coarse.bandwidth);
    }
}
