//! Concurrent simulated processes: each is an `async` function on a host, and all run on one thread in a
//! fixed order.
//!
//! An operation begins with the call and ends when it is awaited: `p.compute(1e9).await`
//! blocks, `let work = p.compute(1e9);` runs concurrently. Dropping an operation that has not ended
//! cancels it; so does the end of its process. Processes communicate through mailboxes: a transfer begins when
//! a sender and a receiver are both at one, from the sender's host to the receiver's.
//!
//! ```
//! use slackline_simulate::Models;
//! use slackline_simulate::process::World;
//! use std::path::Path;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let platform = Path::new("../../examples/platforms/four-sites.toml");
//! let platform = slackline_formats::read_platform(&slackline_formats::FileAccess::default(), platform, None)?;
//! let hosts: Vec<_> = platform.host_ids().collect();
//! let mut world = World::new(platform, Models::default())?;
//! world.spawn("worker", hosts[1], |p| async move {
//!     let flops: f64 = p.receive("work").await?;
//!     p.compute(flops).await
//! });
//! world.spawn("master", hosts[0], |p| async move { p.send("work", 1e9, 1e6).await });
//! world.run()?;
//! assert!(world.now() > 0.0);
//! # Ok(()) }
//! ```

mod core;
mod operation;
mod world;

pub use operation::{AnyOperation, FirstOf, Operation, Receiving, Within};
pub use world::{Process, World};

use crate::SimulationError;
use thiserror::Error;

/// The reason why an operation of a process did not end.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Interrupted {
    /// A host it needs went off.
    #[error("a host went off")]
    Host,
    /// The network failed, or the process at the other end is gone.
    #[error("the network or the other side failed")]
    Network,
    /// The limit of [`Process::within`] has passed.
    #[error("the time is over")]
    Timeout,
    /// A process cancelled it.
    #[error("it was cancelled")]
    Cancelled,
}

/// The id of a process. Its number is unique in the world; slots are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId {
    pub(crate) slot: u32,
    pub(crate) number: u64,
}

/// The reason why a world cannot advance.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum WorldError {
    /// The simulation refuses an operation, or cannot advance.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// Processes wait for each other, and nothing will happen any more.
    #[error("deadlock at {date} s: {}", .waiting.join("; "))]
    Deadlock {
        /// The date.
        date: f64,
        /// Each process with what it waits for, the first ones only.
        waiting: Vec<String>,
    },
}
