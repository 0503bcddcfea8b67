//! Simulation of MPI codes on other machines: replay of time-independent traces.
//!
//! A trace contains the computations and messages of every rank, without dates. [`Replay`] carries
//! them out on a simulated platform: [`trace`] reads, [`collectives`] turns each collective into
//! the messages of its algorithm, and the driver behind [`Replay`] matches messages and follows the protocols of an MPI
//! implementation, on the flows of `slackline-simulate`. Nothing below the driver depends on where
//! actions come from.
//!
//! ```
//! use slackline_mpi::{Replay, ReplaySettings, Traces};
//! use std::path::Path;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let trace = folder.path().join("ping.tit");
//! std::fs::write(&trace, "0 init\n0 compute 1e9\n0 finalize\n1 init\n1 compute 2e9\n1 finalize\n")?;
//! let platform = Path::new("../../examples/platforms/small-cluster.toml");
//! let platform = slackline_formats::read_platform(&slackline_formats::FileAccess::default(), platform, None)?;
//! let hosts: Vec<_> = platform.host_ids().collect();
//! let traces = Traces::open(&[trace])?;
//! let replayed = Replay::new(&platform, &hosts, traces, ReplaySettings::default())?.run(&mut ())?;
//! assert!((replayed.ends[1] - 2.0 * replayed.ends[0]).abs() < 1e-9);
//! # Ok(()) }
//! ```

pub mod action;
pub mod calibrate;
pub mod collectives;
mod datatype;
mod places;
mod replay;
pub mod settings;
pub mod timeline;
pub mod trace;

pub use places::read_hosts;
pub use replay::live;
pub use replay::{Explained, Observer, Replay, ReplayError, Replayed};
pub use settings::ReplaySettings;
pub use trace::Traces;
