//! How long a search may go on.

use crate::registry::Request;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The limits of a running search: a clock and a flag from outside. Limits on iterations are
/// counted by the searches themselves, since only those repeat exactly.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    until: Option<Instant>,
    stop: Option<Arc<AtomicBool>>,
}

impl Budget {
    /// Starts the clock.
    pub(crate) fn start(request: &Request) -> Budget {
        let until = request.time_limit.and_then(|limit| Instant::now().checked_add(limit));
        Budget { until, stop: request.stop.clone() }
    }

    /// Time is up or someone asked to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
            || self.until.is_some_and(|until| Instant::now() >= until)
    }
}
