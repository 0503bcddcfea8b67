//! Real runs.

pub mod text;
