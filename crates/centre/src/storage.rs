//! Storages: files behind mount points, and the operations that read and write them.
//!
//! [`FileSystem`] keeps locations of files and free space; its operations take no simulated time. [`run`] simulates
//! operations that do: each is one flow over the read or write side of its storages and the links of its route, in the
//! same solver as all other activities.

mod case;
mod files;
mod flows;
pub(crate) mod unique;

pub use case::{Case, CaseError, Operation, OperationKind, Script};
pub use files::{Answer, FileSystem, Handle, Op, Refused, Space};
pub use flows::{Dates, Operations, StorageError, plain_models, run};
