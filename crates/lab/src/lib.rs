//! Studies: the same policies and planners over many worlds, and what papers said of them.

pub mod check;
pub mod learnt;
pub mod metrics;
pub mod money;
pub mod papers;
pub mod served;
pub mod stats;
pub mod study;
pub mod worlds;
