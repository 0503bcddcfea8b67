//! Batch systems: jobs wait in a queue for cores of one machine.
//!
//! A [`Policy`] is an [`Order`] of the queue and a [`Filling`] of the machine. The [`Scheduler`] is
//! the on-line service: jobs are submitted and end, a pass starts those whose turn it is. `replay`
//! drives it with the jobs of a log, [`metrics`] measures the outcome.

mod caps;
pub mod load;
pub mod metrics;
mod policy;
mod profile;
mod replay;
mod scheduler;
pub mod site;
mod usage;

pub use policy::{Filling, Order, Policy, UnknownPolicy};
pub use replay::{Outcome, Replay};
pub use scheduler::{JobId, Refusal, Request, Scheduler};
pub use site::{Accounts, Cap, CapBy, Machine, Power, Site, SiteError};
