//! On-line policies: events in, decisions out.
//!
//! A [`Policy`] is told what happened and sees the [`Situation`]; it answers with
//! [`Decision`]s. It is deterministic, does no I/O and cannot tell simulation from reality: the
//! engine that drives it lives elsewhere.

pub mod gtp;
mod policy;
pub mod selective;
mod situation;

pub use policy::{Assignment, Decision, Event, Plan, Policy, Source, Transfers};
pub use situation::{Fetch, FileCopy, Situation, TaskState};
