//! Selective rescheduling (Zhao, Sakellariou, AcrossGrids 2004): re-plan only when a task is
//! later than its spare time or slack allows.

mod offline;
mod policy;
mod spare;

pub use offline::{OfflineRun, Trigger, run_offline};
pub use policy::{Selective, Threshold};
pub use spare::Spare;
