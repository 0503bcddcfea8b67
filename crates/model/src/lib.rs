//! The vocabulary of Slackline: what a workflow, a platform, a planning problem, a schedule and
//! a trace are. Nothing here reads files, plans, simulates or draws.

pub mod approx;
pub mod ids;
pub mod names;
pub mod platform;
pub mod rng;
pub mod speedup;
pub mod units;
pub mod workflow;

pub use ids::*;
pub use speedup::SpeedUp;
pub use workflow::{Task, Workflow, WorkflowBuilder, WorkflowError};
