//! Services of a computing centre, each a state machine over events of a simulation.
//!
//! [`batch`] is a batch system: an order of the queue, a way to fill the machine, and the outcome of
//! a log under it. [`tape`] is a tape library behind a disk cache.

pub mod batch;
pub mod stack;
pub mod storage;
pub mod tape;
