//! The vocabulary of Slackline: what a workflow, a platform, a planning problem, a schedule and
//! a trace are. Nothing here reads files, plans, simulates or draws.
//!
//! ```
//! use slackline_model::{Task, WorkflowBuilder};
//!
//! let mut workflow = WorkflowBuilder::new("two steps");
//! let first = workflow.add_task(Task::new("a", 2e9))?; // flop
//! let second = workflow.add_task(Task::new("b", 1e9))?;
//! workflow.add_edge(first, second, 1e6)?; // bytes
//! let workflow = workflow.build()?;
//! assert_eq!((workflow.len(), workflow.total_work()), (2, 3e9));
//! # Ok::<(), slackline_model::WorkflowError>(())
//! ```

pub mod activity;
pub mod approx;
pub mod control;
pub mod distribution;
pub mod ids;
pub mod median;
pub mod names;
pub mod nearest;
pub mod parameter;
pub mod platform;
pub mod problem;
pub mod resources;
pub mod rng;
pub mod scenario;
pub mod schedule;
pub mod speedup;
pub mod submission;
pub mod trace;
pub mod units;
pub mod workflow;

pub use activity::{Activity, ActivityGraph};
pub use ids::*;
pub use platform::Platform;
pub use problem::{Problem, ProblemError};
pub use scenario::{Scenario, ScenarioError};
pub use schedule::{Placement, Procs, Schedule};
pub use speedup::SpeedUp;
pub use submission::Terms;
pub use trace::Trace;
pub use workflow::{Payload, Task, Workflow, WorkflowBuilder, WorkflowError};
