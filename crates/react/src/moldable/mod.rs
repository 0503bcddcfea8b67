//! Tasks that can use more or fewer processors, chosen while the workflow runs.

mod dmheft;

pub use dmheft::{Dmheft, Postponing, Queue};
