//! The integration tests of this crate, as one binary.

mod bad_input;
mod common;
mod extended;
mod files;
mod golden;
mod vectors;
