//! Resources other than cores: demands of tasks, capacities of hosts, zones and platforms.
//!
//! Amounts are whole numbers: bytes, or ten-thousandths of a unit. Demands are rounded up and
//! capacities down, so that sums are exact and do not drift.

use crate::ids::HostId;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// Parts of a unit that amounts of named resources are counted in.
pub const PARTS: f64 = 10_000.0;

/// Largest amount: sums over all tasks of a workflow stay within 64 bits.
const LARGEST: f64 = 1e15;

/// The reason why an amount is refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{what} must be a finite number that is not negative and at most {LARGEST:e}, not {value}")]
pub struct BadAmount {
    /// The quantity.
    pub what: String,
    /// The value given.
    pub value: f64,
}

/// A whole number at or above a value; rounding noise of doubles does not count.
pub fn whole_up(value: f64) -> u64 {
    whole(value, f64::ceil)
}

/// A whole number at or below a value; rounding noise of doubles does not count.
pub fn whole_down(value: f64) -> u64 {
    whole(value, f64::floor)
}

fn whole(value: f64, round: fn(f64) -> f64) -> u64 {
    let nearest = value.round();
    let noise = 1e-6f64.max(4.0 * f64::EPSILON * value.abs());
    let value = if (value - nearest).abs() <= noise { nearest } else { round(value) };
    value.max(0.0) as u64 // saturates
}

/// An exact amount of a named resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Amount {
    /// Ten-thousandths of a unit.
    Parts(u64),
    /// Bytes: the resource is a size.
    Bytes(u64),
}

impl Amount {
    /// Units that a task demands, rounded up.
    pub fn demand(units: f64) -> Result<Amount, BadAmount> {
        checked("an amount", units).map(|units| Amount::Parts(whole_up(units * PARTS)))
    }

    /// Units that a place has, rounded down.
    pub fn capacity(units: f64) -> Result<Amount, BadAmount> {
        checked("an amount", units).map(|units| Amount::Parts(whole_down(units * PARTS)))
    }

    /// Bytes that a task demands, rounded up.
    pub fn demand_bytes(bytes: f64) -> Result<Amount, BadAmount> {
        checked("a size", bytes).map(|bytes| Amount::Bytes(whole_up(bytes)))
    }

    /// Bytes that a place has, rounded down.
    pub fn capacity_bytes(bytes: f64) -> Result<Amount, BadAmount> {
        checked("a size", bytes).map(|bytes| Amount::Bytes(whole_down(bytes)))
    }

    /// Units, or bytes.
    pub fn units(self) -> f64 {
        match self {
            Amount::Parts(parts) => parts as f64 / PARTS,
            Amount::Bytes(bytes) => bytes as f64,
        }
    }

    /// The whole number: ten-thousandths of a unit, or bytes.
    #[inline]
    pub fn whole(self) -> u64 {
        match self {
            Amount::Parts(whole) | Amount::Bytes(whole) => whole,
        }
    }

    /// Units, or bytes.
    pub fn value(self) -> f64 {
        match self {
            Amount::Parts(parts) => parts as f64 / PARTS,
            Amount::Bytes(bytes) => bytes as f64,
        }
    }

    /// Whether it is a size.
    pub fn is_bytes(self) -> bool {
        matches!(self, Amount::Bytes(_))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Parts(_) => write!(f, "{}", self.value()),
            Amount::Bytes(bytes) => write!(f, "{bytes} B"),
        }
    }
}

fn checked(what: &str, value: f64) -> Result<f64, BadAmount> {
    if value.is_finite() && (0.0..=LARGEST).contains(&value) {
        Ok(value)
    } else {
        Err(BadAmount { what: what.to_string(), value })
    }
}

/// Devices that a task demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Devices {
    /// So many of the host's first kind that has as many.
    Any(u32),
    /// So many of each kind.
    Kinds(Vec<(Arc<str>, u32)>),
}

/// Demands of a task other than cores and fixed memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    /// Bytes of memory for every core.
    pub memory_per_core: f64,
    /// Devices.
    pub gpus: Option<Devices>,
    /// Named resources, by name.
    pub named: Vec<(Arc<str>, Amount)>,
}

impl Demand {
    /// Whether nothing is demanded.
    pub fn is_empty(&self) -> bool {
        self.memory_per_core == 0.0 && self.gpus.is_none() && self.named.is_empty()
    }
}

/// Devices of one kind that a host has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceKind {
    /// Name of the kind; empty where the host does not say.
    pub name: Arc<str>,
    /// Number of devices.
    pub count: u32,
    /// Number of tasks that may hold one device at a time.
    pub slots: u32,
    /// Maker, where it decides how tasks see their devices (`amd`).
    pub vendor: Option<Arc<str>>,
}

impl DeviceKind {
    /// Whole devices of a kind.
    pub fn new(name: impl Into<Arc<str>>, count: u32) -> DeviceKind {
        DeviceKind { name: name.into(), count, slots: 1, vendor: None }
    }

    /// Number of tasks with one device each that fit at a time.
    pub fn capacity(&self) -> u64 {
        u64::from(self.count) * u64::from(self.slots)
    }
}

/// Capacities of one host other than cores and memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostResources {
    /// Devices by kind, in the order of their ids.
    pub gpus: Vec<DeviceKind>,
    /// Named resources.
    pub named: Vec<(Arc<str>, Amount)>,
    /// Windows in which tasks may run, by rising date; empty: always.
    pub windows: Vec<(f64, f64)>,
    /// Bytes of its own disk.
    pub storage: Option<f64>,
    /// Seconds that a batch job has there (`--time` of a pilot), where a file says it.
    pub wall_time: Option<f64>,
}

impl HostResources {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.gpus.is_empty()
            && self.named.is_empty()
            && self.windows.is_empty()
            && self.storage.is_none()
            && self.wall_time.is_none()
    }

    /// Returns the contradiction in these capacities, if there is one.
    pub fn problem(&self) -> Option<String> {
        for (at, kind) in self.gpus.iter().enumerate() {
            if self.gpus[..at].iter().any(|other| other.name == kind.name) {
                return Some(format!("devices of kind '{}' are listed twice", kind.name));
            }
            if kind.slots == 0 {
                return Some(format!("a device of kind '{}' needs at least one slot", kind.name));
            }
        }
        let twice = |at: &usize| self.named[..*at].iter().any(|n| n.0 == self.named[*at].0);
        if let Some(at) = (0..self.named.len()).find(twice) {
            return Some(format!("resource '{}' is listed twice", self.named[at].0));
        }
        for &(from, to) in &self.windows {
            if !(from.is_finite() && from >= 0.0 && to > from) {
                return Some(format!(
                    "a window from {from} to {to} is none: it must end after it begins"
                ));
            }
        }
        if let Some(pair) = self.windows.windows(2).find(|pair| pair[1].0 < pair[0].1) {
            let ((a, b), (c, d)) = (pair[0], pair[1]);
            return Some(format!(
                "the windows {a} to {b} and {c} to {d} overlap or are out of order"
            ));
        }
        if let Some(seconds) = self.wall_time.filter(|s| !(s.is_finite() && *s > 0.0)) {
            return Some(format!("wall-time must be finite and more than 0 s, not {seconds} s"));
        }
        match self.storage {
            Some(bytes) if !(bytes.is_finite() && bytes >= 0.0) => {
                Some(format!("storage must be a finite size that is not negative, not {bytes}"))
            }
            _ => None,
        }
    }
}

/// A named resource that the hosts of a zone share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneResource {
    /// Its name.
    pub name: Arc<str>,
    /// Total amount.
    pub amount: Amount,
    /// Name of the zone.
    pub zone: Arc<str>,
    /// The hosts that share it, by rising number.
    pub hosts: Arc<[HostId]>,
}

/// A named resource that all hosts of a platform share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedResource {
    /// Its name.
    pub name: Arc<str>,
    /// Total amount.
    pub amount: Amount,
    /// Slurm knows it as a licence of that name.
    pub slurm: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_round_up_and_capacities_down() {
        assert_eq!(Amount::demand(0.00011).unwrap(), Amount::Parts(2));
        assert_eq!(Amount::capacity(0.00019).unwrap(), Amount::Parts(1));
        // 0.3 and 0.7 are no doubles: noise is no amount.
        assert_eq!(Amount::demand(0.3).unwrap(), Amount::Parts(3000));
        assert_eq!(Amount::capacity(0.7).unwrap(), Amount::Parts(7000));
        assert_eq!(whole_up(1.1 * 1e9), 1_100_000_000);
        assert!(Amount::demand(-1.0).is_err() && Amount::capacity(f64::INFINITY).is_err());
    }

    #[test]
    fn windows_have_to_rise() {
        let with = |windows: &[(f64, f64)]| HostResources {
            windows: windows.to_vec(),
            ..HostResources::default()
        };
        assert_eq!(with(&[(0.0, 5.0), (5.0, 9.0)]).problem(), None);
        assert!(with(&[(0.0, 5.0), (4.0, 9.0)]).problem().is_some());
        assert!(with(&[(5.0, 5.0)]).problem().is_some());
    }
}
