//! Mean latency and bandwidth between different hosts.

use crate::platform::{PlanningNetwork, Platform};

/// Means over ordered pairs of processors on different hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanNetwork {
    /// Mean latency, seconds.
    pub latency: f64,
    /// Mean bandwidth, bytes/s; infinite when some pair's is.
    pub bandwidth: f64,
    /// Mean of the seconds per byte: with it, `latency + bytes * seconds_per_byte` is the mean
    /// of the transfer times rather than the time at mean bandwidth.
    pub seconds_per_byte: f64,
    /// Transfers that proceed side by side as fast as one alone: harmonic mean.
    pub streams: f64,
}

impl MeanNetwork {
    /// Transfers take no time.
    pub const FREE: MeanNetwork =
        MeanNetwork { latency: 0.0, bandwidth: f64::INFINITY, seconds_per_byte: 0.0, streams: 1.0 };

    /// The means of the table of a network, by band of sizes, between the hosts of a platform.
    pub fn of(platform: &Platform, network: &PlanningNetwork, band: usize) -> MeanNetwork {
        // Processors per group, and how many of a group's pairs are inside one host.
        let mut procs = vec![0.0f64; network.groups];
        let mut inside = vec![0.0f64; network.groups];
        for (host, &group) in platform.hosts().iter().zip(&network.group_of) {
            let cores = f64::from(host.cores);
            procs[group as usize] += cores;
            inside[group as usize] += cores * cores;
        }
        let (mut pairs, mut latency, mut bandwidth, mut per_byte) = (0.0, 0.0, 0.0, 0.0);
        let mut shared = 0.0;
        for g in 0..network.groups {
            for h in 0..network.groups {
                let count = procs[g] * procs[h] - if g == h { inside[g] } else { 0.0 };
                if count <= 0.0 {
                    continue;
                }
                let at = (band * network.groups + g) * network.groups + h;
                // A pair without a route says nothing about the usual transfer.
                if network.latency[at].is_infinite() {
                    continue;
                }
                pairs += count;
                latency += count * network.latency[at];
                bandwidth += count * network.bandwidth[at];
                per_byte += count / network.bandwidth[at];
                shared += count / network.streams.get(at).copied().unwrap_or(1.0);
            }
        }
        if pairs == 0.0 {
            // One host: nothing ever crosses a network.
            return MeanNetwork::FREE;
        }
        MeanNetwork {
            latency: latency / pairs,
            bandwidth: bandwidth / pairs,
            seconds_per_byte: per_byte / pairs,
            streams: pairs / shared,
        }
    }

    /// Seconds at mean latency and mean bandwidth.
    #[inline]
    pub fn seconds(&self, bytes: f64) -> f64 {
        self.latency + bytes / self.bandwidth
    }

    /// Mean of the transfer times.
    #[inline]
    pub fn mean_seconds(&self, bytes: f64) -> f64 {
        self.latency + bytes * self.seconds_per_byte
    }
}
