//! Platform generators: published machines and synthetic ones.

pub mod clusters;
pub mod grid5000;
pub mod recorded;
pub mod selection;
pub mod simple;
pub mod simulacrum;
pub mod topology;
