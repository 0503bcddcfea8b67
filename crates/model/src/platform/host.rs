//! Machines: hosts, the classes of identical ones, how they are billed, and their disks.

use super::contents::Contents;
use super::profile::Profile;
use super::storage::DiskModel;
use crate::resources::HostResources;
use crate::{ClassId, HostId, ZoneId};
use std::sync::Arc;

/// Free key/value pairs that a description attaches to an element, in the order written.
pub type Properties = Vec<(String, String)>;

/// A machine: `cores` processors of `speed` each.
#[derive(Clone, Debug)]
pub struct Host {
    /// Unique among hosts, routers and zones.
    pub name: Arc<str>,
    /// Number of cores; a host without any keeps files and computes nothing.
    pub cores: u32,
    /// Peak speed of one core, flop/s.
    pub speed: f64,
    /// Money for one core during one second. A machine leased as a whole costs `cores` times this.
    pub price: f64,
    /// Memory in bytes, if known.
    pub memory: Option<f64>,
    /// Devices, named resources, windows and storage of its own.
    pub resources: Option<Arc<HostResources>>,
    /// Names of its cores, where its description gives them any.
    pub core_names: Option<Arc<[String]>>,
    /// Kind of machine in a workflow's table of run times: the name of a column.
    pub arch: Option<Arc<str>>,
    /// The class of machines identical to this one.
    pub class: ClassId,
    /// The site or cluster that contains it.
    pub zone: ZoneId,
    /// Position among the hosts of its zone.
    pub rank: u32,
    /// Ratio of the peak speed that is available over time.
    pub availability: Option<Arc<Profile>>,
    /// On (> 0) or off over time.
    pub state: Option<Arc<Profile>>,
    /// Further properties in its description.
    pub properties: Option<Arc<Properties>>,
}

impl Host {
    /// The share of the peak it has at a date, 0 where it is off.
    pub fn level_at(&self, date: f64) -> f64 {
        let at = |profile: &Option<Arc<Profile>>| profile.as_ref().and_then(|p| p.value_at(date));
        match at(&self.state) {
            Some(on) if on <= 0.0 => 0.0,
            _ => at(&self.availability).unwrap_or(1.0),
        }
    }

    /// The share of the peak that can be counted on: all of it, or the one level that the
    /// availability keeps for ever.
    pub fn level(&self) -> f64 {
        self.availability.as_ref().and_then(|p| p.constant_value()).unwrap_or(1.0)
    }
}

/// Machines that are identical to a planner: same speed, cores, price, resources, architecture,
/// cluster, billing.
#[derive(Clone, Debug)]
pub struct Class {
    /// Unique among classes; a cluster of one kind of machine gives its own name.
    pub name: Arc<str>,
    /// Cores of each machine.
    pub cores: u32,
    /// Peak speed of one core, flop/s.
    pub speed: f64,
    /// Money for one core during one second.
    pub price: f64,
    /// Memory in bytes, if known.
    pub memory: Option<f64>,
    /// Devices, named resources, windows and storage of each machine.
    pub resources: Option<Arc<HostResources>>,
    /// The site or cluster of these machines.
    pub zone: ZoneId,
    /// The machines, in order of id.
    pub hosts: Vec<HostId>,
    /// `true` when the machines exist only while leased: the class is an entry of a catalogue
    /// and `hosts.len()` the most that can be leased at once.
    pub leasable: bool,
    /// Rule that turns seconds of use into billed time.
    pub billing: Billing,
}

impl Class {
    /// Whether a machine is paid as a whole, from its first use to its last, and not by the task.
    pub fn is_billed_whole(&self) -> bool {
        self.leasable || self.billing.quantum > 0.0 || self.billing.minimum > 0.0
    }
}

/// Rule that turns time on a machine into billed time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Billing {
    /// Billed time is rounded up to a multiple of this many seconds; 0 bills exact time.
    pub quantum: f64,
    /// The least time billed per lease, seconds.
    pub minimum: f64,
    /// Seconds between asking for a machine and having it; not billed.
    pub setup: f64,
}

impl Billing {
    /// Exact time, no minimum, no set-up.
    pub const EXACT: Billing = Billing { quantum: 0.0, minimum: 0.0, setup: 0.0 };

    /// Seconds billed for `seconds` of use. A use that fills its quanta exactly, up to rounding
    /// noise, does not start another one.
    pub fn billed_seconds(&self, seconds: f64) -> f64 {
        let seconds = seconds.max(self.minimum).max(0.0);
        if self.quantum <= 0.0 || seconds == 0.0 {
            return seconds;
        }
        let quanta = seconds / self.quantum;
        let nearest = quanta.round();
        let whole = if crate::approx::eq(quanta, nearest) { nearest } else { quanta.ceil() };
        whole.max(1.0) * self.quantum
    }
}

impl Default for Billing {
    fn default() -> Self {
        Billing::EXACT
    }
}

/// A disk, attached to one host and mounted by any number of them.
#[derive(Clone, Debug)]
pub struct Disk {
    /// Unique among disks of its host.
    pub name: Arc<str>,
    /// The host it is attached to: remote reads cross the network from here.
    pub host: HostId,
    /// Bytes/s of all reads together.
    pub read_bandwidth: f64,
    /// Bytes/s of all writes together.
    pub write_bandwidth: f64,
    /// Bytes/s of reads and writes together, when the connection is narrower than their sum.
    pub connection_bandwidth: Option<f64>,
    /// Bytes it can hold, if known.
    pub capacity: Option<f64>,
    /// Time that operations take beyond the bandwidths.
    pub model: DiskModel,
    /// Files that are on it from the start.
    pub contents: Option<Arc<Contents>>,
    /// Hosts that mount it, with the mount point.
    pub mounts: Vec<(HostId, String)>,
    /// Further properties in its description.
    pub properties: Option<Arc<Properties>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn billing_rounds_up_to_quanta_after_the_minimum() {
        let hourly = Billing { quantum: 3600.0, ..Billing::EXACT };
        assert_eq!(hourly.billed_seconds(0.0), 0.0);
        assert_eq!(hourly.billed_seconds(1.0), 3600.0);
        assert_eq!(hourly.billed_seconds(3600.0), 3600.0);
        // Thirty-six times 100 s summed in doubles is not exactly an hour: still one quantum.
        assert_eq!(hourly.billed_seconds(3_600.000_000_001), 3600.0);
        assert_eq!(hourly.billed_seconds(3600.1), 7200.0);
        let minutes = Billing { quantum: 60.0, minimum: 600.0, setup: 30.0 };
        assert_eq!(minutes.billed_seconds(5.0), 600.0);
        assert_eq!(minutes.billed_seconds(601.0), 660.0);
        assert_eq!(Billing::EXACT.billed_seconds(12.5), 12.5);
    }
}
