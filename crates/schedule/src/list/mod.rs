//! List scheduling: rank the tasks, take them one by one, give each the processor that suits it
//! best. The shared steps live here once; every published method is a module of its own.

pub mod heft;
mod partial;
pub mod ranks;
mod ready;
mod timeline;

pub use partial::{Partial, Slot};
pub use ready::ReadyList;
pub use timeline::Timeline;
