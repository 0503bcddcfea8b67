//! A tape library: drives, mounts, and a scheduler of requests between a disk cache and the tapes.
//!
//! A drive holds at most one tape and a tape is in at most one drive. After mounting the head is at
//! position 0; it winds to a file, reads it and stays at the file's position; before unmounting it is wound
//! back. At one instant what ends comes first, then arrivals, then drives decide: empty ones first,
//! then those with a tape, each by number.

mod case;
mod library;
mod metrics;

pub use case::{Cache, Case, CaseError, LibrarySpec, RequestSpec};
pub use library::{Activity, Busy, Library, Mount, Outcome, Policy, Weights, run};
pub use metrics::{Metrics, Spread, measure};
