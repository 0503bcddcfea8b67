//! Vivaldi routing: members have coordinates, the distance between two is their latency.
//!
//! F. Dabek, R. Cox, F. Kaashoek, R. Morris, "Vivaldi: a decentralized network coordinate
//! system", SIGCOMM 2004: two plane coordinates and a height, all in milliseconds. Hosts also
//! have a private link for each direction, where contention takes place.

use super::star::StarLeaf;
use super::zone::Member;
use crate::ZoneId;
use std::collections::HashMap;

/// Coordinates and private links of the members that have some.
#[derive(Clone, Debug, Default)]
pub(super) struct Vivaldi {
    pub(super) coordinates: HashMap<Member, [f64; 3]>,
    pub(super) leaves: HashMap<Member, StarLeaf>,
    /// The router through which a zone inside is reached; it gives the zone its coordinates.
    pub(super) gateways: HashMap<ZoneId, Member>,
}

impl Vivaldi {
    /// The node that represents a member: the gateway of a zone, else the member.
    pub(super) fn gateway(&self, member: Member) -> Member {
        match member {
            Member::Zone(zone) => self.gateways.get(&zone).copied().unwrap_or(member),
            node => node,
        }
    }

    /// Seconds between two members; `None` if one has no coordinates.
    pub(super) fn distance(&self, a: Member, b: Member) -> Option<f64> {
        let (a, b) = (self.coordinates.get(&a)?, self.coordinates.get(&b)?);
        let plane = (a[0] - b[0]).hypot(a[1] - b[1]);
        Some((plane + a[2].abs() + b[2].abs()) / 1000.0)
    }
}
