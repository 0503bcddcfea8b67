//! The integration tests of this crate, as one binary.

mod online;
