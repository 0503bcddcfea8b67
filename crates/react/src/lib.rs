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
//! assert_eq!(policy.monitoring(), Monitoring::OnWakeUp); // it observes at intervals
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod added;
mod aheft;
pub mod concurrent;
mod data_location;
mod dispatcher;
mod explanation;
mod fetch_time_cache;
pub mod gtp;
mod just_in_time;
mod learned;
pub mod moldable;
mod plan_simulator;
mod policy;
mod qos;
mod ready_dispatch;
pub mod registry;
mod replanning;
mod reservation;
mod room;
pub mod selective;
mod situation;
pub mod slackline;
mod static_plan;
mod sweep;
mod task_states;
mod work_queue;
mod work_stealing;

pub use aheft::Aheft;
pub use data_location::Holders;
pub use dispatcher::{Dispatcher, ReadyTasks, frees_or_readies};
pub use explanation::{Alternative, Explanation};
pub use just_in_time::JustInTime;
pub use learned::{Figure, LearnedFigures, deviation, error_of_median};
pub use plan_simulator::{LevelForecast, PlanSimulator};
pub use policy::{
    Around, Assignment, Decision, Event, Monitoring, Plan, Policy, Source, Transfers,
};
pub use qos::Qos;
pub use situation::{Arrived, Fetch, FileCopy, Situation, TaskState};
pub use slackline::Slackline;
pub use slackline_model::problem::Block;
#[cfg(test)]
use slackline_testkit as common;
pub use static_plan::StaticPlan;
pub use sweep::Sweep;
pub use task_states::TaskStates;
pub use work_queue::WorkQueue;
pub use work_stealing::WorkStealing;
