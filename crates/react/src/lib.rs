//! On-line policies: events in, decisions out.
//!
//! A [`Policy`] is told what happened and sees the [`Situation`]; it answers with
//! [`Decision`]s. It is deterministic, does no I/O and cannot tell simulation from reality: the
//! engine that drives it lives elsewhere.
//!
//! Policies of the literature and our own stand in the [`registry`]:
//!
//! ```
//! use slackline_react::registry::{Options, find};
//! use slackline_react::Monitoring;
//!
//! let entry = find("gtp/c").ok_or("no such policy")?;
//! let planner = slackline_schedule::registry::find("heft").ok_or("no such planner")?;
//! let policy = entry.policy(&Options::new(planner))?;
//! assert_eq!(policy.monitoring(), Monitoring::OnWakeUp); // it looks at intervals
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod added;
mod aheft;
#[cfg(test)]
#[path = "../tests/it/common/mod.rs"]
mod common;
pub mod concurrent;
mod dispatcher;
mod foresight;
pub mod gtp;
mod holders;
mod idle;
mod just_in_time;
pub mod moldable;
mod planning;
mod policy;
mod qos;
mod reasons;
pub mod registry;
mod reservation;
mod room;
pub mod selective;
mod situation;
pub mod slackline;
mod states;
mod static_plan;
mod strangers;
mod sweep;
mod taught;
mod work_queue;
mod work_stealing;

pub use aheft::Aheft;
pub use dispatcher::{Dispatcher, ReadyTasks, frees_or_readies};
pub use foresight::{Course, Foresight};
pub use holders::Holders;
pub use just_in_time::JustInTime;
pub use policy::{
    Around, Assignment, Decision, Event, Monitoring, Plan, Policy, Source, Transfers,
};
pub use qos::Qos;
pub use reasons::{Alternative, Reasons};
pub use situation::{Arrived, Fetch, FileCopy, Situation, TaskState};
pub use slackline::Slackline;
pub use slackline_model::problem::Block;
pub use states::States;
pub use static_plan::StaticPlan;
pub use sweep::Sweep;
pub use taught::{Figure, Taught, deviation, error_of_median};
pub use work_queue::WorkQueue;
pub use work_stealing::WorkStealing;
