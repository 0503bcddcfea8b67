//! A platform with other bandwidths and latencies, everything else as it was.

use super::{Duplex, Matrix, Network, Platform, PlatformError};
use crate::LinkId;
use std::collections::BTreeMap;

/// Bandwidth in bytes/s and latency in seconds.
pub type Figures = (f64, f64);

impl Platform {
    /// The platform with other bandwidths and latencies of some links, constant over time; both halves of
    /// a split-duplex link get those of the half that is named.
    pub fn with_link_figures(mut self, figures: &BTreeMap<LinkId, Figures>) -> Platform {
        for (&id, &(bandwidth, latency)) in figures {
            let partner = match self.links[id.index()].duplex {
                Some(Duplex::Up) => Some(id.index() + 1),
                Some(Duplex::Down) => Some(id.index() - 1),
                None => None,
            };
            for index in [Some(id.index()), partner].into_iter().flatten() {
                let link = &mut self.links[index];
                (link.bandwidth, link.latency) = (bandwidth, latency);
                (link.bandwidth_profile, link.latency_profile) = (None, None);
            }
        }
        self
    }

    /// The platform with latencies and bandwidths as those of whole transfers.
    pub fn measured(mut self) -> Platform {
        self.measured = true;
        self
    }

    /// The platform with another matrix.
    pub fn with_matrix(mut self, matrix: Matrix) -> Result<Platform, PlatformError> {
        matrix.check(self.hosts.len())?;
        self.network = Network::Matrix(matrix);
        Ok(self)
    }
}
