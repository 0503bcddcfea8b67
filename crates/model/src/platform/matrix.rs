//! A network without links: every pair of hosts has its bandwidth and latency.

use super::error::PlatformError;
use crate::HostId;

/// Bandwidths and latencies between hosts; transfers never disturb each other. A host reaches
/// itself at no cost.
#[derive(Clone, Debug, PartialEq)]
pub enum Matrix {
    /// One bandwidth and one latency for every pair of different hosts.
    Uniform {
        /// Bytes/s; infinite when transfers take no time.
        bandwidth: f64,
        /// Seconds.
        latency: f64,
    },
    /// Row-major tables of `hosts * hosts` entries; the diagonal is ignored.
    Dense {
        /// Rows and columns.
        hosts: usize,
        /// Bytes/s from row to column; infinite when transfers take no time.
        bandwidth: Box<[f64]>,
        /// Seconds from row to column.
        latency: Box<[f64]>,
    },
}

impl Matrix {
    /// One bandwidth (none: transfers take no time beyond the latency) and latency for all pairs.
    pub fn uniform(bandwidth: Option<f64>, latency: f64) -> Self {
        Matrix::Uniform { bandwidth: bandwidth.unwrap_or(f64::INFINITY), latency }
    }

    /// Bytes/s from `src` to `dst`; infinite on the diagonal.
    #[inline]
    pub fn bandwidth(&self, src: HostId, dst: HostId) -> f64 {
        if src == dst {
            return f64::INFINITY;
        }
        match self {
            Matrix::Uniform { bandwidth, .. } => *bandwidth,
            Matrix::Dense { hosts, bandwidth, .. } => bandwidth[src.index() * hosts + dst.index()],
        }
    }

    /// Seconds from `src` to `dst`; zero on the diagonal.
    #[inline]
    pub fn latency(&self, src: HostId, dst: HostId) -> f64 {
        if src == dst {
            return 0.0;
        }
        match self {
            Matrix::Uniform { latency, .. } => *latency,
            Matrix::Dense { hosts, latency, .. } => latency[src.index() * hosts + dst.index()],
        }
    }

    pub(super) fn check(&self, host_count: usize) -> Result<(), PlatformError> {
        let bad = |what, value, must| {
            Err(PlatformError::BadNumber { element: "matrix".into(), what, value, must })
        };
        let check_pair = |bandwidth: f64, latency: f64| {
            if bandwidth.is_nan() || bandwidth <= 0.0 {
                return bad("a bandwidth", bandwidth, "above 0");
            }
            if !(latency >= 0.0 && latency.is_finite()) {
                return bad("a latency", latency, "a finite number of at least 0");
            }
            Ok(())
        };
        match self {
            Matrix::Uniform { bandwidth, latency } => check_pair(*bandwidth, *latency),
            Matrix::Dense { hosts, bandwidth, latency } => {
                let wanted = host_count * host_count;
                if *hosts != host_count || bandwidth.len() != wanted || latency.len() != wanted {
                    return Err(PlatformError::invalid(
                        "matrix",
                        format!("it must have {host_count} rows and columns, one per host"),
                    ));
                }
                for row in 0..host_count {
                    for column in (0..host_count).filter(|&column| column != row) {
                        let at = row * host_count + column;
                        check_pair(bandwidth[at], latency[at])?;
                    }
                }
                Ok(())
            }
        }
    }
}
