//! Real runs.

pub mod difference;
pub mod log;
pub mod status;
pub mod text;
pub mod view;
