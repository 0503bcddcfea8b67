//! Plans, and fronts of time against cost.

pub mod front;
pub mod text;
