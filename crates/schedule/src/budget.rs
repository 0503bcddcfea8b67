//! Limits of a search: iterations, time and interruption.

use crate::registry::Request;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Progress of a search, readable from other threads. Reading does not change the plan.
#[derive(Debug)]
pub struct Watch {
    /// Bits of the shortest makespan so far, and of the best lower bound.
    best: AtomicU64,
    bound: AtomicU64,
}

impl Default for Watch {
    fn default() -> Watch {
        let nothing = AtomicU64::new(f64::INFINITY.to_bits());
        Watch { best: nothing, bound: AtomicU64::new(0.0f64.to_bits()) }
    }
}

impl Watch {
    /// The shortest makespan so far, where there is one.
    pub fn best(&self) -> Option<f64> {
        Some(f64::from_bits(self.best.load(Ordering::Relaxed))).filter(|best| best.is_finite())
    }

    /// The best known lower bound of the makespan.
    pub fn bound(&self) -> f64 {
        f64::from_bits(self.bound.load(Ordering::Relaxed))
    }

    // Makespans and bounds are not negative: their bits are ordered as they are.
    fn found(&self, makespan: f64) {
        self.best.fetch_min(makespan.max(0.0).to_bits(), Ordering::Relaxed);
    }

    fn proved(&self, bound: f64) {
        self.bound.fetch_max(bound.max(0.0).to_bits(), Ordering::Relaxed);
    }
}

/// The limits of a running search: a clock and a flag from outside. Limits on iterations are
/// counted by the searches themselves, since only those repeat exactly.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    until: Option<Instant>,
    stop: Option<Arc<AtomicBool>>,
    watch: Option<Arc<Watch>>,
}

impl Budget {
    /// Starts the clock.
    pub(crate) fn start(request: &Request) -> Budget {
        let until = request.time_limit.and_then(|limit| Instant::now().checked_add(limit));
        Budget { until, stop: request.stop.clone(), watch: request.watch.clone() }
    }

    /// Publishes the makespan of a plan that was found.
    pub(crate) fn found(&self, makespan: f64) {
        if let Some(watch) = &self.watch {
            watch.found(makespan);
        }
    }

    /// Publishes a lower bound that was proved.
    pub(crate) fn proved(&self, bound: f64) {
        if let Some(watch) = &self.watch {
            watch.proved(bound);
        }
    }

    /// Time is up or someone asked to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
            || self.until.is_some_and(|until| Instant::now() >= until)
    }
}
