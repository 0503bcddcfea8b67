//! Transfers that meet: what becomes of them on the links they cross.
//!
//! Where links are shared ([`Links`]), every link gives the transfers that cross it equal parts, and a
//! transfer advances at the pace of the link that was narrowest for it when it began: max-min
//! fairness but for what a transfer leaves unused elsewhere. All transfers that one link holds
//! back advance alike, so each link keeps one clock for them, and a change costs the links of a
//! route, not the transfers on it. Where links serve one transfer at a time ([`Turns`]), a transfer
//! waits until all links of its way are free. O(route log transfers) each.
//!
//! Forecasts follow transfers as they are on a platform; a planner that places tasks one by one,
//! not by date, reserves links in turn.

use slackline_model::platform::{Network, Platform, RouteCache, RouteId, Sharing};
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
    /// The same as far as it differs in the present trial, by the trial's number.
    tried: Vec<(u32, f64)>,
    trial: u32,
}

impl Turns {
    /// All links of a platform are free from a date on.
    pub fn new(platform: &Platform, now: f64) -> Turns {
        let links = platform.links().len();
        Turns { free: vec![now; links], tried: vec![(0, 0.0); links], trial: 1 }
    }

    /// What was tried and not kept is forgotten.
    pub fn try_anew(&mut self) {
        self.trial += 1;
    }

    /// When a transfer may begin that is ready at a date and keeps every link of its way busy for
    /// `busy` seconds, less where the link is wider than the narrowest; `keep` makes it last beyond
    /// the present trial.
    pub fn take(
        &mut self,
        (platform, routes, route): (&Platform, &RouteCache, RouteId),
        ready: f64,
        busy: f64,
        keep: bool,
    ) -> f64 {
        let ways = routes.get(route);
        let mut start = ready;
        for link in ways.links {
            let free = match self.tried[link.index()] {
                (trial, free) if trial == self.trial => free,
                _ => self.free[link.index()],
            };
            start = start.max(free);
        }
        let narrowest = ways.bandwidth(platform.links());
        for link in ways.links {
            let until = start + busy * (narrowest / platform.link(*link).bandwidth);
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
    /// Who asked.
    what: u32,
}

#[derive(Clone, Default)]
struct Link {
    /// Transfers that cross it.
    crossing: u32,
    /// Seconds of service that each of them has had, up to `at`.
    served: f64,
    at: f64,
    /// Tells present announcements from outdated ones.
    stamp: u32,
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

/// What a transfer that begins comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Begun {
    /// It arrives then.
    Arrives(f64),
    /// It shares links: look at [`Links::announced`].
    Shares,
    /// There is no way.
    Never,
}

/// All links of a platform, as the platform says that they are shared.
pub struct Links<'a> {
    platform: &'a Platform,
    routes: &'a mut RouteCache,
    links: Vec<Link>,
    turns: Turns,
    flows: Vec<Flow>,
    /// When the next transfer that a link holds back ends, as far as is known: date, link, stamp.
    pub announced: Vec<(f64, LinkId, u32)>,
}

impl<'a> Links<'a> {
    /// Nothing is on its way yet.
    pub fn new(platform: &'a Platform, routes: &'a mut RouteCache, now: f64) -> Self {
        let idle = Link { at: now, ..Link::default() };
        let (links, turns) = (vec![idle; platform.links().len()], Turns::new(platform, now));
        Links { platform, routes, links, turns, flows: Vec::new(), announced: Vec::new() }
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
        if !matches!(self.platform.network(), Network::Zones) {
            return Begun::Arrives(now + latency + alone);
        }
        let Ok(route) = self.routes.route_id(self.platform, from, to) else { return Begun::Never };
        if self.platform.is_fifo() {
            let way = (self.platform, &*self.routes, route);
            return Begun::Arrives(self.turns.take(way, now, alone, true) + latency + alone);
        }
        let flow = self.flows.len() as u32;
        let ways = self.routes.get(route);
        let narrowest = ways.bandwidth(self.platform.links());
        let mut held_by: Option<(f64, f64, LinkId)> = None;
        for &link in ways.links {
            let Sharing::Shared = self.platform.link(link).sharing else { continue };
            let service = alone * (narrowest / self.platform.link(link).bandwidth);
            let state = &mut self.links[link.index()];
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
        self.flows.push(Flow { route, latency, what });
        let state = &mut self.links[link.index()];
        state.held.push(Reverse((Date(state.served + service), flow)));
        self.announce(route);
        Begun::Shares
    }

    /// Says anew when the next transfers of the links of a route end.
    fn announce(&mut self, route: RouteId) {
        for &link in self.routes.get(route).links {
            let state = &mut self.links[link.index()];
            let Some(Reverse((Date(service), _))) = state.held.peek() else { continue };
            state.stamp += 1;
            let rest = (service - state.served).max(0.0) * f64::from(state.crossing);
            self.announced.push((state.at + rest, link, state.stamp));
        }
    }

    /// The transfer that ends at an announced date, who asked for it and when it arrives; none
    /// where the announcement is outdated.
    pub fn end(&mut self, link: LinkId, stamp: u32, now: f64) -> Option<(u32, f64)> {
        let state = &mut self.links[link.index()];
        if state.stamp != stamp {
            return None;
        }
        let Reverse((_, flow)) = state.held.pop()?;
        let Flow { route, latency, what } = self.flows[flow as usize];
        for &link in self.routes.get(route).links {
            if self.platform.link(link).sharing == Sharing::Shared {
                let state = &mut self.links[link.index()];
                state.advance(now);
                state.crossing -= 1;
            }
        }
        // The link itself may have others that end now.
        self.announce(route);
        Some((what, now + latency))
    }
}
