//! Contention of transfers on the links that they cross.
//!
//! On shared links ([`Links`]), every link gives the transfers that cross it equal parts, and a transfer
//! advances at the pace of the link that was narrowest for it when it began: max-min fairness except for the
//! capacity that a transfer leaves unused elsewhere. All transfers held back by the same link advance alike, so
//! each link keeps one clock for them, and a change costs the links of a route, not the transfers on it. Where
//! links serve one transfer at a time ([`Turns`]), a transfer waits until all links of its route are free.
//! O(route log transfers) each.
//!
//! Forecasts follow transfers as they are on a platform; a planner that places tasks one by one,
//! not by date, reserves links in turn.

use slackline_model::platform::{Contention, Network, Platform, RouteCache, RouteId, Sharing};
use slackline_model::{HostId, LinkId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A date that can be ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Date(pub f64);

impl Eq for Date {}

impl PartialOrd for Date {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Date {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Links that serve one transfer after the other.
#[derive(Clone, Debug)]
pub struct Turns {
    /// Until when each is taken.
    free: Vec<f64>,
    /// Dates changed by the present trial, with the trial's number.
    tried: Vec<(u32, f64)>,
    trial: u32,
}

impl Turns {
    /// All links of a platform are free from a date on.
    pub fn new(platform: &Platform, now: f64) -> Turns {
        let links = platform.links().len();
        Turns { free: vec![now; links], tried: vec![(0, 0.0); links], trial: 1 }
    }

    /// Discards tentative transfers that were not kept.
    pub fn try_anew(&mut self) {
        self.trial += 1;
    }

    /// When a transfer may begin that is ready at a date, as far as what was kept decides.
    pub fn soonest(&self, (routes, route): (&RouteCache, RouteId), ready: f64) -> f64 {
        let links = routes.get(route).links.iter();
        links.map(|link| self.free[link.index()]).fold(ready, f64::max)
    }

    /// When a transfer may begin that is ready at a date and keeps every link of its way busy for
    /// `busy` seconds, less where the link is wider than the narrowest; `keep` makes it last beyond
    /// the present trial.
    pub fn take(
        &mut self,
        (routes, route): (&RouteCache, RouteId),
        ready: f64,
        busy: f64,
        keep: bool,
    ) -> f64 {
        let mut start = ready;
        for link in routes.get(route).links {
            let free = match self.tried[link.index()] {
                (trial, free) if trial == self.trial => free,
                _ => self.free[link.index()],
            };
            start = start.max(free);
        }
        for (link, part) in routes.loads(route) {
            let until = start + busy * part;
            self.tried[link.index()] = (self.trial, until);
            if keep {
                self.free[link.index()] = until;
            }
        }
        start
    }
}

/// One transfer on its way.
#[derive(Clone, Copy)]
struct Flow {
    route: RouteId,
    /// Seconds between its last byte leaving and arriving.
    latency: f64,
    /// Caller's number of the transfer.
    what: u32,
}

#[derive(Default)]
struct Link {
    shared: bool,
    /// Transfers that cross it.
    crossing: u32,
    /// Seconds of service that each of them has had, up to `at`.
    served: f64,
    at: f64,
    /// The transfers that it holds back, by the service after which they end.
    held: BinaryHeap<Reverse<(Date, u32)>>,
}

impl Link {
    fn advance(&mut self, now: f64) {
        if self.crossing > 0 {
            self.served += (now - self.at) / f64::from(self.crossing);
        }
        self.at = now;
    }
}

/// Outcome of beginning a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Begun {
    /// It arrives then.
    Arrives(f64),
    /// It shares links: see [`Links::announced`].
    Shares,
    /// There is no way.
    Never,
}

/// Memory kept between uses of the links of one platform: routes, and buffers.
#[derive(Default)]
pub struct Known {
    /// The routes found so far.
    pub routes: RouteCache,
    links: Vec<Link>,
    flows: Vec<Flow>,
}

/// All links of a platform, and what becomes of transfers that meet on them.
pub struct Links<'a> {
    platform: &'a Platform,
    contention: Contention,
    known: &'a mut Known,
    turns: Turns,
    /// When the next transfer that a link holds back ends now, infinite if there is none: what was announced of
    /// it before is outdated.
    pub announced: Vec<(f64, LinkId)>,
}

impl<'a> Links<'a> {
    /// Nothing is on its way yet.
    pub fn new(
        platform: &'a Platform,
        contention: Contention,
        known: &'a mut Known,
        now: f64,
    ) -> Self {
        known.flows.clear();
        known.links.resize_with(platform.links().len(), Link::default);
        for (state, link) in known.links.iter_mut().zip(platform.links()) {
            let mut held = std::mem::take(&mut state.held);
            held.clear();
            let shared = link.sharing == Sharing::Shared;
            *state = Link { shared, crossing: 0, served: 0.0, at: now, held };
        }
        let (turns, announced) = (Turns::new(platform, now), Vec::new());
        Links { platform, contention, known, turns, announced }
    }

    /// A transfer that takes `latency` and, alone, `alone` seconds more.
    pub fn begin(
        &mut self,
        what: u32,
        (from, to): (HostId, HostId),
        (latency, alone): (f64, f64),
        now: f64,
    ) -> Begun {
        if !(latency + alone).is_finite() {
            return Begun::Never;
        }
        let zones = matches!(self.platform.network(), Network::Zones);
        if !zones || self.contention == Contention::Free {
            return Begun::Arrives(now + latency + alone);
        }
        let Known { routes, links, flows } = &mut *self.known;
        let Ok(route) = routes.route_id(self.platform, from, to) else { return Begun::Never };
        if self.contention == Contention::InTurn {
            let start = self.turns.take((routes, route), now, alone, true);
            return Begun::Arrives(start + latency + alone);
        }
        let flow = flows.len() as u32;
        let mut held_by: Option<(f64, f64, LinkId)> = None;
        for (link, part) in routes.loads(route) {
            let state = &mut links[link.index()];
            if !state.shared {
                continue;
            }
            let service = alone * part;
            state.advance(now);
            state.crossing += 1;
            let seconds = service * f64::from(state.crossing);
            if held_by.is_none_or(|(most, ..)| seconds > most) {
                held_by = Some((seconds, service, link));
            }
        }
        let Some((_, service, link)) = held_by else {
            return Begun::Arrives(now + latency + alone);
        };
        flows.push(Flow { route, latency, what });
        let state = &mut links[link.index()];
        state.held.push(Reverse((Date(state.served + service), flow)));
        self.announce(route);
        Begun::Shares
    }

    /// Announces the new end of the next transfers on the links of a route.
    fn announce(&mut self, route: RouteId) {
        for &link in self.known.routes.get(route).links {
            let state = &self.known.links[link.index()];
            let Some(Reverse((Date(service), _))) = state.held.peek() else { continue };
            let rest = (service - state.served).max(0.0) * f64::from(state.crossing);
            self.announced.push((state.at + rest, link));
        }
    }

    /// The transfer that ends at the date that was last announced of a link, who asked for it and when it
    /// arrives.
    pub fn end(&mut self, link: LinkId, now: f64) -> Option<(u32, f64)> {
        let Known { routes, links, flows } = &mut *self.known;
        let held = &mut links[link.index()].held;
        let Reverse((_, flow)) = held.pop()?;
        if held.is_empty() {
            self.announced.push((f64::INFINITY, link));
        }
        let Flow { route, latency, what } = flows[flow as usize];
        for &link in routes.get(route).links {
            let state = &mut links[link.index()];
            if state.shared {
                state.advance(now);
                state.crossing -= 1;
            }
        }
        // The link itself may have others that end now.
        self.announce(route);
        Some((what, now + latency))
    }
}
