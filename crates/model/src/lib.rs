//! The vocabulary of Slackline: what a workflow, a platform, a planning problem, a schedule and
//! a trace are. Nothing here reads files, plans, simulates or draws.

pub mod approx;
pub mod ids;

pub use ids::*;
