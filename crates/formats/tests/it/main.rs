//! The integration tests of this crate, as one binary.

mod bundled_examples;
mod common;
mod conversions;
mod documented_examples;
mod graph_round_trip;
mod hostile;
mod hostile_schedules;
mod platform_examples;
mod platform_properties;
mod simgrid_platforms;
mod wfformat_schema;
