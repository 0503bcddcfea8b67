//! The integration tests of this crate, as one binary.

mod gtp_examples;
mod selective_examples;
mod slackline;

use slackline_testkit as common;
