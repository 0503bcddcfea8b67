//! Connections of places as transfers showed them, and a platform that has them.

use super::Spread;
use serde::Serialize;
use slackline_engine::bandwidth_estimation::{Pair, Passage, Rate};
use slackline_model::platform::{
    Charges, Duplex, Figures, Link, Matrix, Network, PlanningNetwork, PlatformError, RouteCache,
    Sharing,
};
use slackline_model::{HostId, LinkId, Platform};
use slackline_react::Figure;
use std::collections::BTreeMap;

/// Representative size of a transfer, where factors go by size.
const USUAL: f64 = 1e6;

/// One transfer between two places, as if it had had its way to itself.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredTransfer {
    /// Name of the sender's place.
    pub from: String,
    /// Name of the receiver's place.
    pub to: String,
    /// Bytes and seconds.
    pub passage: Passage,
    /// Latency and bandwidth that a transfer was said to be charged.
    pub stated: (f64, f64),
}

/// The connection of two places.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Connection {
    /// Name of the sender's place.
    pub from: String,
    /// Name of the receiver's place.
    pub to: String,
    /// Bytes per second of single transfers; the median is that of the connection, without its latency.
    pub bandwidth: Spread,
    /// Standard error of the bandwidth, as a share of it.
    pub error: f64,
    /// Further seconds of every transfer, where sizes differ enough to show them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<f64>,
}

/// The transfers of a run, with what a network was said to charge for them.
pub fn moved(
    platform: &Platform,
    network: &PlanningNetwork,
    passages: &BTreeMap<Pair, Vec<Passage>>,
) -> Vec<MeasuredTransfer> {
    let name = |host: HostId| platform.host(host).name.to_string();
    let mut all = Vec::new();
    for (&(from, to), passages) in passages {
        let at = network.pair(from, to);
        let stated = (network.latency[at], network.bandwidth[at]);
        let moved = |&passage: &Passage| MeasuredTransfer {
            from: name(from),
            to: name(to),
            passage,
            stated,
        };
        all.extend(passages.iter().map(moved));
    }
    all
}

/// Computes connections from transfers, by the names of places; none from those that are too brief.
pub(super) fn connections(moves: &[MeasuredTransfer]) -> Vec<Connection> {
    let mut pairs: BTreeMap<(&str, &str), Vec<&MeasuredTransfer>> = BTreeMap::new();
    for moved in moves {
        pairs.entry((&moved.from, &moved.to)).or_default().push(moved);
    }
    let connection = |((from, to), moves): ((&str, &str), Vec<&MeasuredTransfer>)| {
        let passages: Vec<Passage> = moves.iter().map(|m| m.passage).collect();
        let Rate { bandwidth, latency } = Rate::of(&passages, moves.last()?.stated)?;
        let rates: Vec<f64> = passages.iter().map(|p| p.bytes / p.seconds).collect();
        let Figure { value: median, samples, error } = bandwidth;
        let spread = Spread { median, samples, ..Spread::of(&rates) };
        let (from, to) = (from.to_string(), to.to_string());
        Some(Connection { from, to, bandwidth: spread, error, latency })
    };
    pairs.into_iter().filter_map(connection).collect()
}

/// A platform whose connections are as they were learnt to be. Pairs of a matrix are what they are; of
/// links, the narrowest of a way are held to account for it: one is as fast as the fastest
/// connection that it holds back. Links mean what they state then: of those that nothing was learnt of, that is what
/// transfers were charged so far.
pub(super) fn applied(
    connections: &[Connection],
    platform: &Platform,
    charges: &Charges,
) -> Result<Platform, PlatformError> {
    let place = |name: &str| platform.host_named(name).map(|host| platform.place_of(host));
    let known: Vec<(Pair, &Connection)> = connections
        .iter()
        .filter_map(|c| Some(((place(&c.from)?, place(&c.to)?), c)))
        .filter(|((from, to), c)| from != to && c.bandwidth.samples >= Figure::SURE)
        .collect();
    if known.is_empty() {
        return Ok(platform.clone());
    }
    match platform.network() {
        Network::Matrix(matrix) => {
            platform.clone().with_matrix(in_matrix(platform, matrix, &known))
        }
        Network::Zones => {
            let charged = as_charged(platform, charges);
            let figures = of_links(&charged, &known);
            Ok(charged.with_link_figures(&figures))
        }
    }
}

/// A platform whose links state what transfers are charged for them.
fn as_charged(platform: &Platform, charges: &Charges) -> Platform {
    let usual = charges.bands.iter().rev().find(|band| band.above < USUAL);
    let latency = usual.map_or(1.0, |band| band.latency);
    let factor = usual.map_or(1.0, |band| band.bandwidth);
    let charged = |(index, link): (usize, &Link)| {
        // What is shared has the factor of all its transfers, what is not that of the message.
        let shared = link.sharing == Sharing::Shared && charges.bands.len() == 1;
        let bandwidth = if shared { charges.usable(link) } else { factor * link.level() };
        (LinkId::new(index), (bandwidth, latency * link.latency))
    };
    let changes = !platform.is_measured() && *charges != Charges::default() && !charges.constant;
    let figures = platform.links().iter().enumerate().filter(|_| changes).map(charged).collect();
    platform.clone().with_link_figures(&figures).measured()
}

fn in_matrix(platform: &Platform, matrix: &Matrix, known: &[(Pair, &Connection)]) -> Matrix {
    let hosts = platform.hosts().len();
    let pairs = || {
        let ids = || (0..hosts).map(HostId::new);
        ids().flat_map(move |a| ids().map(move |b| (a, b)))
    };
    let mut bandwidth: Vec<f64> = pairs().map(|(a, b)| matrix.bandwidth(a, b)).collect();
    let mut latency: Vec<f64> = pairs().map(|(a, b)| matrix.latency(a, b)).collect();
    for ((from, to), connection) in known {
        for a in platform.hosts_of_place(*from) {
            for b in platform.hosts_of_place(*to) {
                let at = a.index() * hosts + b.index();
                bandwidth[at] = rounded(connection.bandwidth.median);
                latency[at] = connection.latency.map_or(latency[at], rounded);
            }
        }
    }
    Matrix::Dense { hosts, bandwidth: bandwidth.into(), latency: latency.into() }
}

/// To four digits: no measurement has more.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

fn of_links(platform: &Platform, known: &[(Pair, &Connection)]) -> BTreeMap<LinkId, Figures> {
    let mut routes = RouteCache::new();
    // Per link: the fastest connection that it holds back, and what it adds to its latency.
    let mut rates: BTreeMap<LinkId, f64> = BTreeMap::new();
    let mut delays: BTreeMap<LinkId, Vec<f64>> = BTreeMap::new();
    for ((from, to), connection) in known {
        let Ok(route) = routes.route_once(platform, *from, *to) else { continue };
        let rate = connection.bandwidth.median;
        let level = |id: &LinkId| platform.link(*id).level();
        // Both halves of a split-duplex link are one.
        let whole = |id: &LinkId| match platform.link(*id).duplex {
            Some(Duplex::Down) => LinkId::new(id.index() - 1),
            _ => *id,
        };
        let narrowest = route.links.iter().map(level).fold(f64::INFINITY, f64::min);
        let narrow = |id: &&LinkId| level(id) <= narrowest * (1.0 + 1e-9);
        // A way that is faster than its links were thought to be shows all of them to be.
        for id in route.links.iter().filter(|id| narrow(id) || level(id) < rate) {
            let fastest = rates.entry(whole(id)).or_insert(0.0);
            *fastest = fastest.max(rate);
        }
        if let Some(latency) = connection.latency {
            let narrow: Vec<&LinkId> = route.links.iter().filter(narrow).collect();
            let share = (latency - route.latency) / narrow.len() as f64;
            narrow.into_iter().for_each(|id| delays.entry(whole(id)).or_default().push(share));
        }
    }
    let figures = |(id, rate): (LinkId, f64)| {
        let link = platform.link(id);
        let delay = delays.get(&id).map_or(0.0, |delays| Spread::of(delays).median);
        (id, (rounded(rate), rounded((link.latency + delay).max(0.0))))
    };
    rates.into_iter().map(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::platform::{
        Band, DeclaredRoute, HostSpec, LinkSpec, PlatformBuilder, RoutingKind,
    };

    fn moves(from: &str, to: &str, latency: f64, bandwidth: f64) -> Vec<MeasuredTransfer> {
        let moved = |&bytes: &f64| MeasuredTransfer {
            from: from.to_string(),
            to: to.to_string(),
            passage: Passage { bytes, seconds: latency + bytes / bandwidth },
            stated: (0.1, 1e7),
        };
        [1e6, 2e6, 3e6, 4e6, 8e6].iter().map(moved).collect()
    }

    /// Three hosts on links of their own behind a fast backbone; the third is slower than stated.
    #[test]
    fn the_link_that_holds_connections_back_is_found() {
        let mut builder = PlatformBuilder::new("three");
        let zone = builder.add_zone(None, "z", RoutingKind::Full).unwrap();
        let names = ["a", "b", "c"];
        let hosts = names.map(|n| builder.add_host(zone, HostSpec::new(n, 1e9)).unwrap());
        let links = names.map(|n| builder.add_link(LinkSpec::new(n, 1e7, 0.05)).unwrap());
        let backbone = builder.add_link(LinkSpec::new("backbone", 1e9, 0.0)).unwrap();
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            let way = [links[i], backbone, links[j]];
            builder.add_route(zone, DeclaredRoute::between(hosts[i], hosts[j], way)).unwrap();
        }
        let platform = builder.build().unwrap();
        let mut all = moves("a", "b", 0.1, 1e7);
        all.extend(moves("a", "c", 0.1, 2e6));
        all.extend(moves("c", "b", 0.1, 2e6));
        let learnt = applied(&connections(&all), &platform, &Charges::default()).unwrap();
        let rate = |id: LinkId| (learnt.link(id).bandwidth / 1e4).round() * 1e4;
        assert_eq!(links.map(rate), [1e7, 1e7, 2e6]);
        assert_eq!(learnt.link(backbone).bandwidth, 1e9);
        assert!(links.iter().all(|id| (learnt.link(*id).latency - 0.05).abs() < 1e-6));
    }

    /// A learnt platform charges what transfers took, whatever model the platform was charged by;
    /// links without transfers keep their charges.
    #[test]
    fn a_learnt_platform_means_what_it_states() {
        let mut builder = PlatformBuilder::new("three");
        let zone = builder.add_zone(None, "z", RoutingKind::Full).unwrap();
        let names = ["a", "b", "c"];
        let hosts = names.map(|n| builder.add_host(zone, HostSpec::new(n, 1e9)).unwrap());
        let links = names.map(|n| builder.add_link(LinkSpec::new(n, 1e7, 0.05)).unwrap());
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            let way = [links[i], links[j]];
            builder.add_route(zone, DeclaredRoute::between(hosts[i], hosts[j], way)).unwrap();
        }
        let platform = builder.build().unwrap();
        let charges = Charges {
            bands: vec![Band { latency: 13.0, ..Charges::STATED }],
            link_factor: 0.5,
            ..Charges::default()
        };
        let learnt =
            applied(&connections(&moves("a", "b", 0.1, 2e6)), &platform, &charges).unwrap();
        assert!(learnt.is_measured());
        let network = learnt.planning_network();
        assert!((network.transfer_time(2e6, hosts[0], hosts[1]) - 1.1).abs() < 1e-3);
        assert_eq!((learnt.link(links[2]).bandwidth, learnt.link(links[2]).latency), (5e6, 0.65));
        // Nothing learnt, nothing changed.
        let same = applied(&[], &platform, &charges).unwrap();
        assert!(!same.is_measured());
    }

    #[test]
    fn a_matrix_says_what_was_seen_of_each_pair() {
        let mut builder = PlatformBuilder::new("two");
        let zone = builder.add_zone(None, "z", RoutingKind::Full).unwrap();
        let [a, b] = ["a", "b"].map(|n| builder.add_host(zone, HostSpec::new(n, 1e9)).unwrap());
        builder.set_matrix(Matrix::uniform(Some(1e7), 0.1));
        let platform = builder.build().unwrap();
        let all = connections(&moves("a", "b", 0.3, 2e6));
        let learnt = applied(&all, &platform, &Charges::default()).unwrap().planning_network();
        assert!((learnt.transfer_time(2e6, a, b) - 1.3).abs() < 1e-6);
        assert_eq!(
            learnt.transfer_time(2e6, b, a),
            platform.planning_network().transfer_time(2e6, b, a)
        );
    }
}
