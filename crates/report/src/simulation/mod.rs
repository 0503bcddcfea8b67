//! Simulated runs, alone and compared.

pub mod curve;
pub mod picture;
pub mod replications;
pub mod several;
pub mod text;
pub mod why;
