//! Copies that are as slow as a simulation predicts: each takes the latency it is charged and no more than
//! the rate of its way, and those that cross a link share it.

use crate::attempt::Pace;
use slackline_model::HostId;
use slackline_model::platform::{
    Band, Charges, Contention, Network, PlanningNetwork, Platform, RouteCache, Way,
};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Until when each link is taken.
type Links = Arc<Mutex<Vec<Instant>>>;

/// Copies slowed down to the latencies and shared rates that the simulator predicts.
pub(super) struct Throttle {
    network: PlanningNetwork,
    charges: Charges,
    routes: RouteCache,
    links: Links,
}

/// The pace of one copy.
pub(super) struct Trickle {
    /// For messages of more bytes than this: latency, and bytes per second of the whole way.
    bands: Vec<(f64, f64, f64)>,
    /// Links that are shared, and their rates.
    shared: Vec<(usize, f64)>,
    /// Links serve one copy after the other.
    in_turn: bool,
    links: Links,
    begin: Option<Instant>,
    passed: u64,
}

impl Throttle {
    pub(super) fn new(platform: &Platform, charges: &Charges) -> Throttle {
        let links = vec![Instant::now(); platform.links().len()];
        Throttle {
            network: platform.planning_network(),
            charges: charges.clone(),
            routes: RouteCache::new(),
            links: Arc::new(Mutex::new(links)),
        }
    }

    /// The pace from a host to another.
    pub(super) fn pace(&mut self, platform: &Platform, (from, to): (HostId, HostId)) -> Trickle {
        let contention = self.charges.contention_on(platform);
        let zones = matches!(platform.network(), Network::Zones);
        let way = Way::find(platform, &mut self.routes, (from, to), &self.charges);
        let level = |link| platform.link(link).level();
        let mut shared = Vec::new();
        let bands = match way.ok().filter(|_| zones) {
            Some(way) => {
                if contention != Contention::Free {
                    let there = way.links.iter().filter(|step| {
                        step.there && (step.shared || contention == Contention::InTurn)
                    });
                    let usable = |link| self.charges.usable(platform.link(link));
                    shared.extend(
                        there.map(|step| (step.link.index(), usable(step.link) / step.taken)),
                    );
                }
                let band = |band: &Band| {
                    let (latency, rate) = self.charges.of(band, &way, level);
                    (band.above, latency, rate)
                };
                self.charges.bands.iter().map(band).collect()
            }
            // A matrix means what it states.
            None => {
                let at = self.network.pair(from, to);
                vec![(f64::NEG_INFINITY, self.network.latency[at], self.network.bandwidth[at])]
            }
        };
        let (links, in_turn) = (Arc::clone(&self.links), contention == Contention::InTurn);
        Trickle { bands, shared, in_turn, links, begin: None, passed: 0 }
    }
}

impl Trickle {
    /// Latency and rate of a message.
    fn of(&self, bytes: f64) -> (f64, f64) {
        let fit = self.bands.iter().rev().find(|(above, ..)| *above < bytes);
        fit.or(self.bands.first())
            .map_or((0.0, f64::INFINITY), |&(_, latency, rate)| (latency, rate))
    }
}

/// Time that is not endless.
fn after(begin: Instant, seconds: f64) -> Instant {
    let seconds = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    begin.checked_add(seconds.min(Duration::from_secs(1 << 30))).unwrap_or(begin)
}

impl Pace for Trickle {
    fn chunk(&self, size: u64) -> usize {
        let some = (self.of(size as f64).1 * 0.02).clamp(4096.0, (1 << 18) as f64);
        some as usize
    }

    fn due(&mut self, bytes: u64, size: u64) -> Instant {
        let now = Instant::now();
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let free = |links: &[Instant]| self.shared.iter().map(|(link, _)| links[*link]).max();
        let begin = *self.begin.get_or_insert_with(|| {
            let turn = if self.in_turn { free(&links) } else { None };
            let begin = turn.map_or(now, |turn| turn.max(now));
            if self.in_turn {
                for (link, rate) in &self.shared {
                    links[*link] = after(begin, size as f64 / rate);
                }
            }
            begin
        });
        self.passed += bytes;
        let (latency, rate) = self.of(size as f64);
        let mut due = after(begin, latency + self.passed as f64 / rate);
        for (link, rate) in self.shared.iter().filter(|_| !self.in_turn) {
            let free = &mut links[*link];
            *free = after((*free).max(now), bytes as f64 / rate);
            due = due.max(*free);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::platform::{
        DeclaredRoute, HostSpec, LinkSpec, PlatformBuilder, RoutingKind,
    };

    #[test]
    fn copies_over_one_link_share_it_or_take_turns() {
        for fifo in [false, true] {
            let mut builder = PlatformBuilder::new("two");
            let zone = builder.add_zone(None, "z", RoutingKind::Full).unwrap();
            let [a, b] = ["a", "b"].map(|n| builder.add_host(zone, HostSpec::new(n, 1e9)).unwrap());
            let link = builder.add_link(LinkSpec::new("l", 1e6, 0.25)).unwrap();
            builder.add_route(zone, DeclaredRoute::between(a, b, [link])).unwrap();
            if fifo {
                builder.set_fifo();
            }
            let platform = builder.build().unwrap();
            let mut throttle = Throttle::new(&platform, &Charges::default());
            let begin = Instant::now();
            let mut paces = [0, 1].map(|_| throttle.pace(&platform, (a, b)));
            let mut ends = [begin; 2];
            for _ in 0..10 {
                for (pace, end) in paces.iter_mut().zip(&mut ends) {
                    *end = pace.due(100_000, 1_000_000);
                }
            }
            let seconds = ends.map(|end| (end - begin).as_secs_f64());
            // One second each: together, or one after the other and both with a latency.
            let expected = if fifo { [1.25, 2.25] } else { [1.9, 2.0] };
            for (seconds, expected) in seconds.into_iter().zip(expected) {
                assert!((seconds - expected).abs() < 0.1, "{fifo}: {seconds}");
            }
        }
    }
}
