//! Static planners: a problem in, a schedule out. Nothing here knows of simulation.
//!
//! [`registry`] lists every planner; the command, the lab, the documentation and the tests all
//! read that one list. Adding a method is one file and one line there.

pub mod bounds;
pub mod list;
pub mod registry;

pub use registry::{Algorithm, Family, PlanError, Settings};
