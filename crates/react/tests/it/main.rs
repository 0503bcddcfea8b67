//! The integration tests of this crate, as one binary.

mod common;
mod gtp_examples;
mod selective_examples;
mod slackline;
