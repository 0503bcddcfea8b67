//! Static planners: a problem in, a schedule out. Nothing here knows of simulation.
//!
//! [`registry`] lists every planner; the command, the lab, the documentation and the tests all
//! read that one list. Adding a method is one file and one line there.

pub mod aliases;
pub mod best;
pub mod bounds;
mod budget;
mod compact;
pub mod exact;
pub mod heeds;
pub mod list;
pub mod meta;
pub mod moldable;
pub mod qos;
pub mod registry;
pub mod retime;
pub mod robust;
pub mod several;
pub mod sweep;

pub use heeds::Heed;
pub use registry::{Algorithm, Certified, Family, Need, PlanError, Planner, Request};
