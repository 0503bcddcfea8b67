//! The fluid simulator: computations, transfers, disk operations and parallel tasks share
//! resources; the simulator says who gets which rate and what ends when.
//!
//! From the inside out: [`solver`] shares capacities, [`kernel`] lets time pass over the shares,
//! [`simulation`] knows hosts, links and disks under the rules of [`models`], [`graph`] runs
//! activities that wait for each other. Nothing here knows about schedules.

pub mod graph;
pub mod kernel;
pub mod models;
pub mod simulation;
pub mod solver;

pub use graph::{GraphError, GraphRun, JobState};
pub use kernel::ActivityId;
pub use models::{Factor, HostModel, Models, NetworkModel};
pub use simulation::{Cause, Event, Simulation, SimulationError, Step};
pub use slackline_model::activity::{
    Activity, ActivityGraph, DiskAccess, DiskOperation, Exec, ParallelTask, Transfer, amdahl_flops,
};
