//! Bandwidth and latency between two places, estimated from transfers; a latency only where their sizes differ enough.
//! A run learns them while it is under way, and calibration afterwards from its log.

use crate::backend::{OpId, Report, SignalKind, Work};
use crate::journal::Record;
use slackline_model::median::upper_median;
use slackline_model::platform::{Network, PlanningNetwork, Platform, RouteCache, Sharing};
use slackline_model::problem::Block;
use slackline_model::{HostId, LinkId};
use slackline_react::{Figure, deviation, error_of_median};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Seconds and bytes below which a transfer tells more of its beginning and end than of the connection.
const BRIEF: f64 = 0.02;
const SMALL: f64 = 65_536.0;

/// Transfers before sizes are told apart, and how much they have to differ: the largest from the
/// smallest, and two that are compared.
const ENOUGH: usize = 5;
const RANGE: f64 = 4.0;
const APART: f64 = 2.0;

/// Most transfers that are compared with each other.
const COMPARED: usize = 200;

/// Scatter, as a share of the usual time, above which sizes explain nothing.
const SCATTER: f64 = 0.5;

/// From one place to another.
pub type Pair = (HostId, HostId);

/// One transfer, as if it had had its way to itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// Bytes transferred.
    pub bytes: f64,
    /// Seconds taken.
    pub seconds: f64,
}

/// A connection as transfers show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Bytes per second.
    pub bandwidth: Figure,
    /// Fixed overhead of every transfer in seconds, where it can be estimated.
    pub latency: Option<f64>,
}

impl Rate {
    /// Rate shown by transfers over a connection of stated latency and bandwidth; none where they are too short.
    pub fn of(passages: &[Passage], stated: (f64, f64)) -> Option<Rate> {
        let step = passages.len().div_ceil(COMPARED).max(1);
        let shown: Vec<Passage> = passages.iter().step_by(step).copied().collect();
        Rate::by_sizes(&shown).or_else(|| Rate::by_medians(&shown, stated))
    }

    /// The line through transfers of different sizes, by Theil and Sen.
    fn by_sizes(shown: &[Passage]) -> Option<Rate> {
        let sizes = || shown.iter().map(|p| p.bytes);
        let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
        if shown.len() < ENOUGH || most < RANGE * least {
            return None;
        }
        let mut slopes = Vec::new();
        for (index, a) in shown.iter().enumerate() {
            for b in &shown[index + 1..] {
                if a.bytes >= APART * b.bytes || b.bytes >= APART * a.bytes {
                    slopes.push((a.seconds - b.seconds) / (a.bytes - b.bytes));
                }
            }
        }
        let slope = upper_median(&mut slopes).filter(|slope| *slope > 0.0)?;
        let mut rests: Vec<f64> = shown.iter().map(|p| p.seconds - slope * p.bytes).collect();
        let latency = upper_median(&mut rests)?.max(0.0);
        let mut off: Vec<f64> = rests.iter().map(|rest| (rest - latency).abs()).collect();
        let mut usual: Vec<f64> = shown.iter().map(|p| p.seconds).collect();
        let scatter = deviation(&mut off)? / upper_median(&mut usual)?;
        // Where a beginning is most of the time of all of them, little is known of the rest.
        if scatter > SCATTER || slope * (most - least) < latency {
            return None;
        }
        let error = error_of_median(scatter, shown.len());
        let bandwidth = Figure { value: 1.0 / slope, samples: shown.len(), error };
        Some(Rate { bandwidth, latency: Some(latency) })
    }

    /// The middle one of the larger ones. A latency is no longer than what the quickest transfer leaves for it.
    fn by_medians(shown: &[Passage], (stated, bandwidth): (f64, f64)) -> Option<Rate> {
        let left = |p: &Passage| (p.seconds - p.bytes / bandwidth).max(0.0);
        let latency = shown.iter().map(left).fold(stated, f64::min);
        let most = shown.iter().map(|p| p.bytes).fold(0.0, f64::max);
        let rate = |p: &Passage| {
            let plain = p.bytes / p.seconds;
            if p.bytes >= SMALL && p.seconds >= BRIEF.max(2.0 * latency) {
                Some(p.bytes / (p.seconds - latency))
            } else {
                // What was quicker than thought tells something, however brief it was.
                (plain > bandwidth).then_some(plain)
            }
        };
        let large = shown.iter().filter(|p| p.bytes * APART >= most);
        let known = Figure { value: bandwidth, samples: shown.len(), error: 0.0 };
        let bandwidth = Figure::of(large.filter_map(rate));
        if latency < stated {
            Some(Rate { bandwidth: bandwidth.unwrap_or(known), latency: Some(latency) })
        } else {
            Some(Rate { bandwidth: bandwidth?, latency: None })
        }
    }

    /// Seconds that so many bytes take, with the latency given where none is known.
    pub fn seconds(&self, bytes: f64, latency: f64) -> f64 {
        self.latency.unwrap_or(latency) + bytes / self.bandwidth.value
    }
}

/// The traffic of a shared link over time.
#[derive(Clone, Default)]
struct Crossing {
    /// Transfers whose data is on the link.
    flowing: u32,
    at: f64,
    /// By how much of the link a transfer takes at full speed: the seconds that it would have had the link to
    /// itself, all in all.
    alone: Vec<(f64, f64)>,
}

impl Crossing {
    fn advance(&mut self, now: f64) {
        let seconds = (now - self.at).max(0.0);
        for (takes, alone) in &mut self.alone {
            let wanted = *takes * f64::from(self.flowing);
            *alone += if wanted > 1.0 { seconds / wanted } else { seconds };
        }
        self.at = self.at.max(now);
    }

    /// The entry of transfers that take so much of the link.
    fn entry(&mut self, takes: f64) -> usize {
        let found = self.alone.iter().position(|(of, _)| *of == takes);
        found.unwrap_or_else(|| {
            self.alone.push((takes, 0.0));
            self.alone.len() - 1
        })
    }
}

/// A transfer that is under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure {
    number: u64,
    at: f64,
}

impl Departure {
    /// When it began.
    pub fn date(&self) -> f64 {
        self.at
    }
}

/// A transfer under way, with the shared links that it crosses.
struct UnderWay {
    pair: Pair,
    /// When its latency is over and its data begin to flow.
    flows: f64,
    flowing: bool,
    /// Links, the entries of transfers like this one, and what those had when its data began to flow.
    links: Vec<(LinkId, usize, f64)>,
}

/// The transfers under way, and the links that they share.
pub struct Traffic {
    routes: RouteCache,
    crossings: Vec<Crossing>,
    under_way: HashMap<u64, UnderWay>,
    /// Transfers in their latency, by the date at which it ends.
    starting: BTreeSet<(u64, u64)>,
    next: u64,
}

/// Dates in the order of their bits; none is below 0.
fn key(date: f64) -> u64 {
    date.max(0.0).to_bits()
}

impl Traffic {
    /// Before anything moves on a platform.
    pub fn new(platform: &Platform) -> Traffic {
        Traffic {
            routes: RouteCache::new(),
            crossings: vec![Crossing::default(); platform.links().len()],
            under_way: HashMap::new(),
            starting: BTreeSet::new(),
            next: 0,
        }
    }

    /// A transfer begins, on a network that charges such latencies; one of several blocks tells nothing.
    pub fn begin(
        &mut self,
        platform: &Platform,
        network: &PlanningNetwork,
        blocks: &[Block],
        now: f64,
    ) -> Option<Departure> {
        let [Block { from, to, .. }] = blocks else { return None };
        let pair = (platform.place_of(*from), platform.place_of(*to));
        if pair.0 == pair.1 {
            return None;
        }
        self.advance(now);
        let mut links = Vec::new();
        if matches!(platform.network(), Network::Zones) {
            let route = self.routes.route_once(platform, *from, *to).ok()?;
            let narrowest = route.bandwidth(platform.links());
            for id in route.links {
                let link = platform.link(*id);
                if link.sharing == Sharing::Shared {
                    let crossing = &mut self.crossings[id.index()];
                    links.push((*id, crossing.entry(narrowest / link.bandwidth), 0.0));
                }
            }
        }
        let latency = network.latency[network.pair(*from, *to)];
        let flows = if latency.is_finite() { now + latency } else { now };
        let number = self.next;
        self.next += 1;
        self.under_way.insert(number, UnderWay { pair, flows, flowing: false, links });
        self.starting.insert((key(flows), number));
        self.advance(now);
        Some(Departure { number, at: now })
    }

    /// Lets the data of transfers flow whose latency is over.
    fn advance(&mut self, now: f64) {
        while let Some(&(flows, number)) = self.starting.first()
            && flows <= key(now)
        {
            self.starting.pop_first();
            let Some(transfer) = self.under_way.get_mut(&number) else { continue };
            transfer.flowing = true;
            for (id, entry, before) in &mut transfer.links {
                let crossing = &mut self.crossings[id.index()];
                crossing.advance(transfer.flows);
                crossing.flowing += 1;
                *before = crossing.alone[*entry].1;
            }
        }
    }

    /// A transfer has ended, whatever came of it. Returns between which places it was, and how many seconds it
    /// has lost to others.
    pub fn end(&mut self, departure: Departure, now: f64) -> Option<(Pair, f64)> {
        self.advance(now);
        let UnderWay { pair, flows, flowing, links } = self.under_way.remove(&departure.number)?;
        if !flowing {
            self.starting.remove(&(key(flows), departure.number));
            return Some((pair, 0.0));
        }
        let mut lost = 0.0f64;
        for (id, entry, before) in links {
            let crossing = &mut self.crossings[id.index()];
            crossing.advance(now);
            crossing.flowing = crossing.flowing.saturating_sub(1);
            lost = lost.max(now - flows - (crossing.alone[entry].1 - before));
        }
        Some((pair, lost))
    }
}

/// Least part of its time that a transfer has to have had its way to itself, to tell anything.
const ALONE: f64 = 0.02;

impl Passage {
    /// A transfer that was to move so much, lost so many seconds to others, and of which that was reported.
    pub fn of(report: &Report, bytes: f64, lost: f64) -> Option<Passage> {
        let bytes = report.sizes.first().map_or(bytes, |(_, bytes)| *bytes);
        let whole = report.seconds?;
        let seconds = whole - lost;
        let tells = bytes > 0.0 && seconds > ALONE * whole;
        tells.then_some(Passage { bytes, seconds })
    }
}

/// The transfers of a run, by the places they went between, on a network that charges such latencies.
pub fn passages(
    records: &[(f64, Record)],
    platform: &Platform,
    network: &PlanningNetwork,
) -> BTreeMap<Pair, Vec<Passage>> {
    let mut traffic = Traffic::new(platform);
    let mut under_way: HashMap<OpId, (Departure, f64)> = HashMap::new();
    let mut found: BTreeMap<Pair, Vec<Passage>> = BTreeMap::new();
    for (at, record) in records {
        match record {
            Record::Begin { op, work: Work::Move { blocks, .. } } => {
                if let Some(departure) = traffic.begin(platform, network, blocks, *at) {
                    under_way.insert(*op, (departure, blocks[0].bytes));
                }
            }
            Record::Next { signals, .. } => {
                for signal in signals {
                    let (op, report) = match &signal.what {
                        SignalKind::Done(op, report) => (op, Some(report)),
                        SignalKind::Failed(op, _) | SignalKind::Cancelled(op) => (op, None),
                        _ => continue,
                    };
                    let Some((departure, bytes)) = under_way.remove(op) else { continue };
                    let Some((pair, lost)) = traffic.end(departure, signal.at) else { continue };
                    let passage = report.and_then(|r| Passage::of(r, bytes, lost));
                    found.entry(pair).or_default().extend(passage);
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::platform::{
        DeclaredRoute, HostSpec, LinkSpec, PlatformBuilder, RoutingKind,
    };

    fn taking(latency: f64, bandwidth: f64, sizes: &[f64]) -> Vec<Passage> {
        let passage = |&bytes: &f64| Passage { bytes, seconds: latency + bytes / bandwidth };
        sizes.iter().map(passage).collect()
    }

    #[test]
    fn sizes_tell_latency_and_bandwidth_apart() {
        let mut shown = taking(0.5, 1e6, &[1e5, 2e5, 4e5, 1e6, 2e6, 4e6]);
        shown[3].seconds *= 10.0; // one that was disturbed says nothing
        let rate = Rate::of(&shown, (0.0, 1e7)).unwrap();
        assert!((rate.bandwidth.value / 1e6 - 1.0).abs() < 1e-6, "{rate:?}");
        assert!((rate.latency.unwrap() - 0.5).abs() < 1e-6);
        assert_eq!(rate.bandwidth.samples, 6);
    }

    #[test]
    fn alike_sizes_tell_the_bandwidth_at_the_stated_latency() {
        let shown = taking(0.5, 1e6, &[1e6; 4]);
        let rate = Rate::of(&shown, (0.5, 1e7)).unwrap();
        assert!((rate.bandwidth.value / 1e6 - 1.0).abs() < 1e-9);
        assert_eq!((rate.latency, rate.bandwidth.error), (None, 0.0));
    }

    #[test]
    fn a_latency_is_no_longer_than_the_quickest_transfer() {
        let rate = Rate::of(&taking(0.001, 1e9, &[1e3; 4]), (0.5, 1e7)).unwrap();
        assert!((rate.latency.unwrap() - 0.001).abs() < 1e-4);
        let rate = Rate::of(&taking(0.1, 1e6, &[1e6; 4]), (2.0, 1e6)).unwrap();
        assert!((rate.seconds(1e6, 2.0) - 1.1).abs() < 1e-6, "{rate:?}");
    }

    /// Transfers that begin one after the other on one link, as max-min sharing serves them.
    #[test]
    fn what_shares_a_link_tells_how_fast_it_would_be_alone() {
        let mut builder = PlatformBuilder::new("two");
        let zone = builder.add_zone(None, "z", RoutingKind::Full).unwrap();
        let [a, b] = ["a", "b"].map(|n| builder.add_host(zone, HostSpec::new(n, 1e9)).unwrap());
        let link = builder.add_link(LinkSpec::new("l", 1e6, 0.25)).unwrap();
        builder.add_route(zone, DeclaredRoute::between(a, b, [link])).unwrap();
        let platform = builder.build().unwrap();
        let network = platform.planning_network();
        let mut traffic = Traffic::new(&platform);
        let blocks = |bytes: f64| [Block { from: a, to: b, bytes }];
        // The second flows from 1.25 on: 1 MB of the first are there, 2 MB are left of it.
        let first = traffic.begin(&platform, &network, &blocks(3e6), 0.0).unwrap();
        let second = traffic.begin(&platform, &network, &blocks(1e6), 1.0).unwrap();
        let report = |seconds| Report { seconds: Some(seconds), ..Report::default() };
        // Half of the link each until 3.25, when the second is there; the first needs 1 s more.
        let (pair, lost) = traffic.end(second, 3.25).unwrap();
        assert_eq!(pair, (a, b));
        let passage = Passage::of(&report(2.25), 1e6, lost).unwrap();
        assert!((passage.seconds - 1.25).abs() < 1e-9, "{passage:?}");
        let (_, lost) = traffic.end(first, 4.25).unwrap();
        let passage = Passage::of(&report(4.25), 3e6, lost).unwrap();
        assert!((passage.seconds - 3.25).abs() < 1e-9, "{passage:?}");
    }

    #[test]
    fn what_is_brief_tells_only_that_it_was_quicker() {
        let shown = taking(0.0, 1e6, &[1e3; 4]);
        assert_eq!(Rate::of(&shown, (0.0, 1e7)), None);
        assert_eq!(Rate::of(&shown, (0.0, 1e5)).unwrap().bandwidth.value, 1e6);
        // Small ones that were held up beside a large one say nothing.
        let mut shown = taking(0.0, 1e6, &[1e5, 1e2, 1e2, 1e2]);
        shown[1..].iter_mut().for_each(|p| p.seconds = 0.05);
        assert_eq!(Rate::of(&shown, (0.0, 1e7)).unwrap().bandwidth.value, 1e6);
        assert_eq!(Rate::of(&[], (0.0, 1e5)), None);
    }
}
