//! Storages: files behind mount points, and the flows of bytes that reading and writing them are.
//!
//! [`FileSystem`] has the locations of files and the free space; nothing there takes time. [`run`] simulates
//! operations that take time: each is one flow over the sides of its storage and the links of its route, in the
//! same solver as everything else.

mod case;
mod files;
mod flows;
pub(crate) mod unique;

pub use case::{Case, CaseError, Operation, OperationKind, Script};
pub use files::{Answer, FileSystem, Handle, Op, Refused, Space};
pub use flows::{Dates, Operations, StorageError, plain_models, run};
