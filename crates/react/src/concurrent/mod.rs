//! Several workflows at once, arriving while others run.

mod fdws;

pub use fdws::Fdws;
