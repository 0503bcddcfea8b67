//! MPI codes on machines one does not have: time-independent traces, replayed.
//!
//! A trace says what every rank computes and sends, without dates. [`Replay`] lets the ranks do
//! it again on a simulated platform: [`trace`] reads, [`collectives`] turns each collective into
//! the messages of its algorithm, and the driver behind [`Replay`] matches messages and follows the protocols of an MPI
//! implementation, on the flows of `slackline-simulate`. Nothing below the driver knows where
//! actions come from.

pub mod action;
pub mod calibrate;
pub mod collectives;
mod datatype;
mod replay;
pub mod settings;
pub mod timeline;
pub mod trace;

pub use replay::{Explained, Observer, Replay, ReplayError, Replayed};
pub use settings::ReplaySettings;
pub use trace::Traces;
