//! Services of a computing centre, each a state machine over the events of a simulation.
//!
//! [`batch`] is a batch system: queue orders, backfilling, and replays of job logs. [`stack`] is the service stack of a
//! production centre with pilots, [`storage`] its files and storages, [`tape`] a tape library behind a disk cache.

pub mod batch;
pub mod stack;
pub mod storage;
pub mod tape;
