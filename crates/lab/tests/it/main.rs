//! The integration tests of this crate, as one binary.

mod adopt;
mod bounds_hold;
mod habits;
mod papers;
mod plans_come_true;
#[path = "../../../schedule/tests/it/random/mod.rs"]
mod random;
