//! On-line policies: events in, decisions out.
//!
//! A [`Policy`] is told what happened and sees the [`Situation`]; it answers with
//! [`Decision`]s. It is deterministic, does no I/O and cannot tell simulation from reality: the
//! engine that drives it lives elsewhere.

mod aheft;
pub mod concurrent;
pub mod gtp;
mod holders;
mod idle;
mod just_in_time;
pub mod moldable;
mod planning;
mod policy;
mod qos;
pub mod registry;
pub mod selective;
mod situation;
pub mod slackline;
mod states;
mod static_plan;
mod sweep;
mod work_queue;

pub use aheft::Aheft;
pub use holders::Holders;
pub use just_in_time::JustInTime;
pub use policy::{Assignment, Decision, Event, Monitoring, Plan, Policy, Source, Transfers};
pub use qos::Qos;
pub use situation::{Arrived, Fetch, FileCopy, Situation, TaskState};
pub use slackline::Slackline;
pub use slackline_model::problem::Block;
pub use states::States;
pub use static_plan::StaticPlan;
pub use sweep::Sweep;
pub use work_queue::WorkQueue;
