//! Workflow generators: shapes, and applications with their own costs.

pub(crate) mod application;
pub mod daggen;
pub mod layered;
pub mod like;
pub mod nondeterministic;
pub mod numerical;
pub mod regular;
pub mod runnable;
pub mod stg;
pub mod sweep;
