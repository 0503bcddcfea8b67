//! The fluid simulator: computations, transfers, disk operations and parallel tasks share
//! resources; the simulator computes their rates and the dates at which they end.
//!
//! From the inside out: [`solver`] shares capacities among activities, [`kernel`] advances time at these rates,
//! [`simulation`] adds hosts, links and disks under the rules of [`models`], [`graph`] runs activities that wait for
//! each other, [`process`] runs concurrent `async` functions. Nothing here depends on schedules.
//!
//! Two computations on one core share it:
//!
//! ```
//! use slackline_simulate::{Exec, Models, Simulation, Step};
//! use std::path::Path;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let platform = Path::new("../../examples/platforms/four-sites.toml");
//! let platform = slackline_formats::read_platform(&slackline_formats::FileAccess::default(), platform, None)?;
//! let host = platform.host_ids().next().ok_or("no host")?;
//! let mut simulation = Simulation::new(platform.clone(), Models::default())?;
//! let alone = 1e9 / simulation.host_speed(host);
//! simulation.start(Exec::new(host, 1e9), 0)?;
//! simulation.start(Exec::new(host, 1e9), 1)?;
//! assert_eq!(simulation.step(f64::INFINITY)?, Step::Instant);
//! assert!((simulation.clock() - 2.0 * alone).abs() < 1e-9);
//! # Ok(()) }
//! ```

mod drawn;
pub mod graph;
pub mod kernel;
pub mod models;
pub mod process;
mod ranked;
pub mod simulation;
pub mod solver;

pub use drawn::DrawnDelays;
pub use graph::{GraphError, GraphRun, JobState};
pub use kernel::ActivityId;
pub use models::{Factor, HostModel, Models, NetworkModel, Penalties};
pub use simulation::{Cause, Event, Owner, Simulation, SimulationError, Step};
pub use slackline_model::activity::{
    Activity, ActivityGraph, DiskAccess, DiskOperation, Exec, ParallelTask, StorageFlow, Transfer,
    amdahl_flops,
};
