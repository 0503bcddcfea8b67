//! Real runs.

pub mod log;
pub mod status;
pub mod text;
