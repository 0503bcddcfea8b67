//! The integration tests of this crate, as one binary.

mod golden;
mod solver;
mod vectors;
