//! The engine that turns events into decisions and decisions into operations, and the backends
//! that carry the operations out.
//!
//! [`run`] drives a policy over a [`Backend`] until the workflow is done or cannot be. The
//! simulated backend and those for real machines stand behind the same trait: a policy cannot
//! tell which of them it is driving.

mod backend;
mod engine;
mod execution;
mod log;
mod outcome;
mod playback;
mod simulated;
mod store;
mod supply;
mod usage;

pub use backend::{Abilities, Backend, BackendError, Computation, Movement, OpId, Reached, Signal};
pub use execution::{Dispatch, Execution, Settings, run};
pub use log::{Call, DecisionLog, Logged, Repeat};
pub use outcome::{Counters, Ending, Outcome};
pub use playback::{Playback, Recorder, Tape};
pub use simulated::{Reality, Simulated};
pub use slackline_model::problem::Inputs;
pub use supply::{Arrivals, Coming, Growth, New, Supply, Unfolding};
pub use usage::Usage;
