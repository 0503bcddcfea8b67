//! The integration tests of this crate, as one binary.

mod figures;
mod words;
