//! Latencies and rates that a network model charges a lone transfer, from the nominal ones.
//!
//! Planners have to use the factors that a simulator applies, or no plan comes true. The factors
//! may depend on the size of a message, in bands.

use super::{Link, Platform, RouteCache, RouteError, Sharing};
use crate::{HostId, LinkId};

/// The factors for messages of some sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// For messages of more bytes than this, up to the next band's.
    pub above: f64,
    /// Latencies last this many times as long.
    pub latency: f64,
    /// The usable part of the narrowest link.
    pub bandwidth: f64,
}

/// The sharing of a link by transfers that use it at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contention {
    /// Each is as quick as alone.
    Free,
    /// Concurrent transfers share the link.
    #[default]
    Shared,
    /// It serves one after the other.
    InTurn,
}

/// Rules for the time of a lone transfer; the default is the platform's own latencies and
/// bandwidths.
#[derive(Clone, Debug, PartialEq)]
pub struct Charges {
    /// By rising size, the first from below 0; never empty.
    pub bands: Vec<Band>,
    /// The usable part of every shared link, for all its transfers together.
    pub link_factor: f64,
    /// Most bytes under way: a transfer gets one window per round trip.
    pub window: f64,
    /// Whether the bandwidth factor counts for the window too.
    pub window_scaled: bool,
    /// Share of its rate that a transfer takes on the way back.
    pub acknowledgements: f64,
    /// The sharing of links by concurrent transfers.
    pub contention: Contention,
    /// Whether data that stay on a host are charged for the way from the host to itself: over its
    /// own links, where the platform declares no loopback.
    pub local: bool,
    /// Whether every transfer takes as many seconds as its band has for the latency, whatever its way.
    pub constant: bool,
}

impl Charges {
    /// As the platform states it.
    pub const STATED: Band = Band { above: f64::NEG_INFINITY, latency: 1.0, bandwidth: 1.0 };

    /// Latency and rate of a lone message of a band over a way whose links have the given
    /// bandwidths now.
    pub fn of(&self, band: &Band, way: &Way, bandwidth: impl Fn(LinkId) -> f64) -> (f64, f64) {
        if self.constant {
            return (band.latency, f64::INFINITY);
        }
        let mut rate = f64::INFINITY;
        for step in &way.links {
            let link = bandwidth(step.link);
            let alone = if step.shared { self.link_factor * link / step.taken } else { link };
            rate = rate.min(alone);
            // What no transfer shares, and every link where factors go by size, bounds the message.
            if step.there && (!step.shared || self.bands.len() > 1) {
                rate = rate.min(band.bandwidth * link);
            }
        }
        // Where no link is crossed there is nothing but the distance.
        if way.latency > 0.0 && self.window.is_finite() && !way.links.is_empty() {
            let window = self.window / (2.0 * way.latency);
            rate = rate.min(if self.window_scaled { band.bandwidth * window } else { window });
        }
        (band.latency * way.latency, rate)
    }

    /// Bytes/s that all transfers over a way get together; infinite where none disturbs another.
    pub fn together(&self, way: &Way, bandwidth: impl Fn(LinkId) -> f64) -> f64 {
        if self.contention == Contention::Free {
            return f64::INFINITY;
        }
        let shared = way.links.iter().filter(|step| step.shared);
        let rate = |step: &WayLink| self.link_factor * bandwidth(step.link) / step.taken;
        shared.map(rate).fold(f64::INFINITY, f64::min)
    }

    /// Returns the rule for concurrent transfers on the links of a platform, which may impose one
    /// of its own.
    pub fn contention_on(&self, platform: &Platform) -> Contention {
        if platform.is_fifo() { Contention::InTurn } else { self.contention }
    }

    /// Returns the bandwidth that all transfers on a link have together, bytes/s.
    pub fn usable(&self, link: &Link) -> f64 {
        self.link_factor * link.level()
    }
}

impl Default for Charges {
    fn default() -> Self {
        Charges {
            bands: vec![Charges::STATED],
            link_factor: 1.0,
            window: f64::INFINITY,
            window_scaled: false,
            acknowledgements: 0.0,
            contention: Contention::default(),
            local: false,
            constant: false,
        }
    }
}

/// A link on the way of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WayLink {
    /// The link.
    pub link: LinkId,
    /// Whether transfers share it.
    pub shared: bool,
    /// Part of the link's bandwidth that one unit of the transfer's rate takes.
    pub taken: f64,
    /// On the way there; otherwise only on the way back.
    pub there: bool,
}

/// The way of a transfer: the links it uses, there and back, each once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Way {
    /// Sum of the nominal latencies on the way there.
    pub latency: f64,
    /// In the order of the way.
    pub links: Vec<WayLink>,
}

impl Way {
    /// The way from a host to another on a platform with links.
    pub fn find(
        platform: &Platform,
        routes: &mut RouteCache,
        (src, dst): (HostId, HostId),
        charges: &Charges,
    ) -> Result<Way, RouteError> {
        let route = routes.route_once(platform, src, dst)?;
        let mut way = Way { latency: route.latency, links: Vec::with_capacity(route.links.len()) };
        // As stated, a transfer takes a link once however often it crosses it.
        let counts = charges.acknowledgements > 0.0;
        for &link in route.links {
            way.take(platform, link, if counts { 1.0 } else { 0.0 }, true);
        }
        if charges.acknowledgements > 0.0 && src != dst {
            for &link in routes.route_once(platform, dst, src)?.links {
                way.take(platform, link, charges.acknowledgements, false);
            }
        }
        Ok(way)
    }

    fn take(&mut self, platform: &Platform, link: LinkId, taken: f64, there: bool) {
        match self.links.iter_mut().find(|step| step.link == link) {
            Some(step) => step.taken += taken,
            None => {
                let shared = platform.link(link).sharing == Sharing::Shared;
                let taken = if there { 1.0 } else { taken };
                self.links.push(WayLink { link, shared, taken, there });
            }
        }
    }

    /// The narrowest shared link on the way there, of equal ones the nearest to the sender.
    pub fn narrowest_shared(&self, bandwidth: impl Fn(LinkId) -> f64) -> Option<LinkId> {
        let shared = self.links.iter().filter(|step| step.there && step.shared);
        shared.map(|step| step.link).reduce(|a, b| if bandwidth(b) < bandwidth(a) { b } else { a })
    }
}
