//! The integration tests of this crate, as one binary.

mod services;
mod stack;
