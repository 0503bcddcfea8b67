//! Workflow generators: shapes, and applications with their own costs.

pub mod daggen;
pub mod layered;
pub mod numerical;
pub mod regular;
pub mod stg;
