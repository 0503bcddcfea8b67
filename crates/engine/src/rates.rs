//! What transfers tell of the connection of two places: how fast it is and, where their sizes differ
//! enough, what each begins with. A run learns from it while it goes on, and others afterwards
//! from its log.

use crate::backend::{OpId, Report, What, Work};
use crate::journal::Record;
use slackline_model::median::upper_median;
use slackline_model::platform::{Network, Platform, RouteCache, Sharing};
use slackline_model::problem::Block;
use slackline_model::{HostId, LinkId};
use slackline_react::{Figure, deviation, error_of_median};
use std::collections::{BTreeMap, HashMap};

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
    /// How much.
    pub bytes: f64,
    /// How long it took.
    pub seconds: f64,
}

/// A connection as transfers show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Bytes per second.
    pub bandwidth: Figure,
    /// Seconds that every transfer takes besides, where that can be told.
    pub latency: Option<f64>,
}

impl Rate {
    /// What some transfers show of a connection of stated latency and bandwidth; nothing where they
    /// are too brief to tell.
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

    /// The middle one of the larger ones.
    fn by_medians(shown: &[Passage], (latency, bandwidth): (f64, f64)) -> Option<Rate> {
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
        let bandwidth = Figure::of(large.filter_map(rate))?;
        Some(Rate { bandwidth, latency: None })
    }

    /// Seconds that so many bytes take, with the latency given where none is known.
    pub fn seconds(&self, bytes: f64, latency: f64) -> f64 {
        self.latency.unwrap_or(latency) + bytes / self.bandwidth.value
    }
}

/// How many transfers crossed a link, over time.
#[derive(Clone, Copy, Default)]
struct Crossing {
    under_way: u32,
    at: f64,
    /// Seconds of all of them together.
    passed: f64,
}

impl Crossing {
    fn advance(&mut self, now: f64) {
        self.passed += f64::from(self.under_way) * (now - self.at).max(0.0);
        self.at = self.at.max(now);
    }
}

/// A transfer that is under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Departure {
    pair: Pair,
    at: f64,
    /// The shared links of its way: how much of each it takes at full speed, and what had passed
    /// there before.
    links: Vec<(LinkId, f64, f64)>,
}

impl Departure {
    /// When it began.
    pub fn date(&self) -> f64 {
        self.at
    }
}

/// The transfers under way, and the links that they share.
pub struct Traffic {
    routes: RouteCache,
    crossings: Vec<Crossing>,
}

impl Traffic {
    /// Before anything moves on a platform.
    pub fn new(platform: &Platform) -> Traffic {
        let crossings = vec![Crossing::default(); platform.links().len()];
        Traffic { routes: RouteCache::new(), crossings }
    }

    /// A transfer begins; one of several blocks tells nothing.
    pub fn begin(&mut self, platform: &Platform, blocks: &[Block], now: f64) -> Option<Departure> {
        let [Block { from, to, .. }] = blocks else { return None };
        let pair = (platform.place_of(*from), platform.place_of(*to));
        if pair.0 == pair.1 {
            return None;
        }
        let mut links = Vec::new();
        if matches!(platform.network(), Network::Zones) {
            let route = self.routes.route_once(platform, *from, *to).ok()?;
            let narrowest = route.bandwidth(platform.links());
            for id in route.links {
                let link = platform.link(*id);
                if link.sharing == Sharing::Shared {
                    let crossing = &mut self.crossings[id.index()];
                    crossing.advance(now);
                    crossing.under_way += 1;
                    links.push((*id, narrowest / link.bandwidth, crossing.passed));
                }
            }
        }
        Some(Departure { pair, at: now, links })
    }

    /// It has ended, whatever came of it; gives between which places, and between how many its way was
    /// shared on average.
    pub fn end(&mut self, departure: Departure, now: f64) -> (Pair, f64) {
        let mut together = 1.0f64;
        for (id, takes, before) in departure.links {
            let crossing = &mut self.crossings[id.index()];
            crossing.advance(now);
            crossing.under_way = crossing.under_way.saturating_sub(1);
            let shares = takes * (crossing.passed - before) / (now - departure.at);
            together = if shares.is_finite() { together.max(shares) } else { together };
        }
        (departure.pair, together)
    }
}

impl Passage {
    /// A transfer that was to move so much, shared its way with so many, and of which that was
    /// reported.
    pub fn of(report: &Report, bytes: f64, together: f64) -> Option<Passage> {
        let bytes = report.sizes.first().map_or(bytes, |(_, bytes)| *bytes);
        let seconds = report.seconds? / together;
        (bytes > 0.0 && seconds > 0.0).then_some(Passage { bytes, seconds })
    }
}

/// The transfers of a run, by the places they went between.
pub fn passages(records: &[(f64, Record)], platform: &Platform) -> BTreeMap<Pair, Vec<Passage>> {
    let mut traffic = Traffic::new(platform);
    let mut under_way: HashMap<OpId, (Departure, f64)> = HashMap::new();
    let mut found: BTreeMap<Pair, Vec<Passage>> = BTreeMap::new();
    for (at, record) in records {
        match record {
            Record::Begin { op, work: Work::Move { blocks, .. } } => {
                if let Some(departure) = traffic.begin(platform, blocks, *at) {
                    under_way.insert(*op, (departure, blocks[0].bytes));
                }
            }
            Record::Next { signals, .. } => {
                for signal in signals {
                    let (op, report) = match &signal.what {
                        What::Done(op, report) => (op, Some(report)),
                        What::Failed(op, _) | What::Cancelled(op) => (op, None),
                        _ => continue,
                    };
                    let Some((departure, bytes)) = under_way.remove(op) else { continue };
                    let (pair, together) = traffic.end(departure, signal.at);
                    let passage = report.and_then(|r| Passage::of(r, bytes, together));
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
