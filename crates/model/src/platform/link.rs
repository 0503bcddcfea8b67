//! Network links.

use super::host::Properties;
use super::profile::Profile;
use std::sync::Arc;

/// Whether flows on a link take bandwidth from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// All flows together get the bandwidth.
    Shared,
    /// Each flow alone may reach the bandwidth.
    Fatpipe,
}

/// The direction of one half of a split-duplex link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Duplex {
    /// The half named `..._UP`; its partner has the next id.
    Up,
    /// The half named `..._DOWN`; its partner has the id before.
    Down,
}

/// A link: what a route is made of.
#[derive(Clone, Debug)]
pub struct Link {
    /// Unique among links.
    pub name: Arc<str>,
    /// Bytes/s, without any model's factor.
    pub bandwidth: f64,
    /// Seconds.
    pub latency: f64,
    /// Whether flows share it.
    pub sharing: Sharing,
    /// Set on the halves of a split-duplex link.
    pub duplex: Option<Duplex>,
    /// Bytes/s over time.
    pub bandwidth_profile: Option<Arc<Profile>>,
    /// Seconds over time.
    pub latency_profile: Option<Arc<Profile>>,
    /// On (> 0) or off over time.
    pub state: Option<Arc<Profile>>,
    /// Further properties in its description.
    pub properties: Option<Arc<Properties>>,
}

impl Link {
    /// Bytes/s that can be counted on: the nominal bandwidth, or the one level that its profile
    /// keeps for ever.
    pub fn level(&self) -> f64 {
        let constant = self.bandwidth_profile.as_ref().and_then(|p| p.constant_value());
        constant.unwrap_or(self.bandwidth)
    }
}
