//! The engine that turns events into decisions and decisions into operations, the trait behind which backends carry them
//! out, and the simulated backend. It makes no calls of an operating system.
//!
//! [`run`] drives a policy over a [`Backend`] until the workflow is done or cannot be. The
//! simulated backend and those for real machines (`slackline-machines`) implement the same trait: a policy cannot
//! tell which of them it is driving.
//!
//! ```
//! use slackline_engine::{Ending, Stage};
//! use slackline_generate::registry::{Family, find};
//! use slackline_generate::Seed;
//! use slackline_react::JustInTime;
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (graphs, clusters) = (find(Family::Workflow, "montage")?, find(Family::Platform, "cluster")?);
//! let workflow = graphs.workflow(&graphs.settings(&[])?, Seed::new(1))?;
//! let platform = clusters.platform(&clusters.settings(&[])?, Seed::new(1))?;
//! let stage = Stage::new(Arc::new(workflow), Arc::new(platform));
//! let outcome = stage.run(&mut JustInTime::default())?;
//! assert_eq!(outcome.ending, Ending::Finished);
//! # Ok(()) }
//! ```

mod arrivals;
mod backend;
pub mod bandwidth_estimation;
mod central_storage;
mod choices;
mod decision_log;
mod engine;
mod execution;
mod journal;
mod load;
mod note;
mod outcome;
mod replay_guard;
mod rollout;
mod simulated;
mod simulated_run;
mod utilisation;

pub use arrivals::{ArrivalError, Arrivals, Coming, Growth, Supply, SupplyError, Unfolding};
pub use backend::{
    Abilities, Accepted, Backend, BackendError, Backlog, Computation, Liveness, Movement, OpError,
    OpId, Open, Order, Reached, RecordError, Report, Signal, SignalKind, Work,
};
pub use choices::{CourseRun, DecidedCourse, Ended, Numbers, Oracle, Taken, Undecided};
pub use decision_log::{Call, DecisionLog, Logged, Repeat};
pub use execution::{
    Dispatch, Execution, MEMORY_FACTOR, Recording, RunSnapshot, Settings, Watcher, run,
};
pub use journal::{Journal, JournalError, Journaled, Record, Resumed, Sight, Sink};
pub use load::Load;
pub use note::{Chose, Failure, Made, MadeFile, Note, Process};
pub use outcome::{Counters, Ending, Outcome};
pub use replay_guard::{Checked, Decided, Keep};
pub use rollout::Rollout;
pub use simulated::{Reality, Simulated};
pub use simulated_run::{Stage, StageError, usual_models};
pub use slackline_model::problem::Inputs;
pub use utilisation::Usage;
