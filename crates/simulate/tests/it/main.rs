//! The integration tests of this crate, as one binary.

mod golden;
mod processes;
mod solver;
mod vectors;
