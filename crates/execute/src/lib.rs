//! The engine that turns events into decisions and decisions into operations, and the backends
//! that carry the operations out.
//!
//! [`run`] drives a policy over a [`Backend`] until the workflow is done or cannot be. The
//! simulated backend and those for real machines stand behind the same trait: a policy cannot
//! tell which of them it is driving.

mod backend;
mod engine;
mod execution;
mod journal;
mod log;
mod outcome;
mod simulated;
mod stage;
mod store;
mod supply;
mod usage;

pub use backend::{
    Abilities, Accepted, Backend, BackendError, Computation, Movement, OpError, OpId, Open, Order,
    Outlook, Reached, Report, Signal, What, Work,
};
pub use execution::{Dispatch, Execution, Recording, Settings, run};
pub use journal::{Journal, Journaled, Record, Resumed, Sight, Sink};
pub use log::{Call, DecisionLog, Logged, Repeat};
pub use outcome::{Counters, Ending, Outcome};
pub use simulated::{Reality, Simulated};
pub use slackline_model::problem::Inputs;
pub use stage::{Stage, StageError};
pub use supply::{Arrivals, Coming, Growth, Supply, Unfolding};
pub use usage::Usage;
