//! Descriptions that a builder takes: hosts and links before they have an id.

use super::host::{Billing, Properties};
use super::link::Sharing;
use super::profile::Profile;
use crate::resources::HostResources;
use std::sync::Arc;

/// A host to add; [`HostSpec::new`] gives one core, free, always on.
#[derive(Clone, Debug)]
pub struct HostSpec {
    /// Unique among hosts, routers and zones.
    pub name: String,
    /// Peak speed of one core, flop/s.
    pub speed: f64,
    /// Number of cores; 0 for a host that only keeps files.
    pub cores: u32,
    /// Money for one core during one second.
    pub price: f64,
    /// Memory in bytes, if known.
    pub memory: Option<f64>,
    /// Devices, named resources, windows and storage of its own.
    pub resources: HostResources,
    /// Names of its cores, as many as there are, or none.
    pub core_names: Vec<String>,
    /// The column of a workflow's table of run times that holds for it.
    pub arch: Option<String>,
    /// Name of its class of identical machines; if absent, that of the zone where all its hosts are
    /// identical, else of the first host of the class.
    pub class: Option<String>,
    /// Exists only while leased.
    pub leasable: bool,
    /// Billing of its use; the platform's billing if absent.
    pub billing: Option<Billing>,
    /// Fraction of the peak speed over time; all of it if absent.
    pub availability: Option<Arc<Profile>>,
    /// On (> 0) or off over time.
    pub state: Option<Arc<Profile>>,
    /// Further properties in its description.
    pub properties: Option<Arc<Properties>>,
}

impl HostSpec {
    /// A host of one core.
    pub fn new(name: impl Into<String>, speed: f64) -> Self {
        HostSpec {
            name: name.into(),
            speed,
            cores: 1,
            price: 0.0,
            memory: None,
            resources: HostResources::default(),
            core_names: Vec::new(),
            arch: None,
            class: None,
            leasable: false,
            billing: None,
            availability: None,
            state: None,
            properties: None,
        }
    }
}

/// A link to add; [`LinkSpec::new`] gives a shared one.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Unique among links.
    pub name: String,
    /// Bytes/s.
    pub bandwidth: f64,
    /// Seconds.
    pub latency: f64,
    /// How concurrent flows share its bandwidth.
    pub sharing: Sharing,
    /// Two links, `..._UP` and `..._DOWN`, one for each direction.
    pub split_duplex: bool,
    /// Bytes/s over time.
    pub bandwidth_profile: Option<Arc<Profile>>,
    /// Seconds over time.
    pub latency_profile: Option<Arc<Profile>>,
    /// On (> 0) or off over time.
    pub state: Option<Arc<Profile>>,
    /// Further properties in its description.
    pub properties: Option<Arc<Properties>>,
}

impl LinkSpec {
    /// A shared link.
    pub fn new(name: impl Into<String>, bandwidth: f64, latency: f64) -> Self {
        LinkSpec {
            name: name.into(),
            bandwidth,
            latency,
            sharing: Sharing::Shared,
            split_duplex: false,
            bandwidth_profile: None,
            latency_profile: None,
            state: None,
            properties: None,
        }
    }
}

/// Levels of a link over time, in absolute units; each is constant if absent.
#[derive(Clone, Debug, Default)]
pub struct LinkProfiles {
    /// Bytes/s over time.
    pub bandwidth: Option<Arc<Profile>>,
    /// Seconds over time.
    pub latency: Option<Arc<Profile>>,
    /// On (> 0) or off over time.
    pub state: Option<Arc<Profile>>,
}
