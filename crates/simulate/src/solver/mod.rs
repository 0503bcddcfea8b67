//! Sharing of resources: the rate of every activity.
//!
//! A *system* is made of constraints (a link, a CPU, a disk: something with a capacity) and
//! variables (the rate of one activity), joined by elements (how much of a constraint one unit
//! of rate consumes). Two rules of sharing are offered over the same storage:
//!
//! - [`max_min`]: bounded weighted max-min fairness, re-solved incrementally;
//! - [`fair_bottleneck`]: equal division of what is left in every round, for parallel tasks.
//!
//! [`progressive_filling`] is the textbook max-min algorithm over a whole system: the fallback of the
//! incremental one and the yardstick of its property tests.

pub mod fair_bottleneck;
mod hub;
pub mod max_min;
pub mod progressive_filling;
mod queue;
mod system;

pub use system::{NO_ID, System, Use};
