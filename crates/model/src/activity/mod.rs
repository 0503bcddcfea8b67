//! Activities: what takes time on a platform, and graphs of activities that are already placed.

mod graph;

pub use graph::{ActivityGraph, CycleError};

use crate::problem::Block;
use crate::{DiskId, HostId};

/// A computation on one core of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exec {
    /// The host that computes.
    pub host: HostId,
    /// Work, flop.
    pub flops: f64,
    /// Weight of its share of the host; 1 is ordinary.
    pub priority: f64,
    /// Upper limit of its rate, flop/s.
    pub bound: f64,
}

impl Exec {
    /// A computation of ordinary priority.
    pub fn new(host: HostId, flops: f64) -> Self {
        Exec { host, flops, priority: 1.0, bound: f64::INFINITY }
    }
}

/// A transfer between two hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// The sender.
    pub src: HostId,
    /// The receiver.
    pub dst: HostId,
    /// Size, bytes.
    pub bytes: f64,
    /// Upper limit of its rate, bytes/s.
    pub rate: f64,
}

impl Transfer {
    /// A transfer as fast as the network allows.
    pub fn new(src: HostId, dst: HostId, bytes: f64) -> Self {
        Transfer { src, dst, bytes, rate: f64::INFINITY }
    }
}

/// Computations and transfers that advance together (L07).
#[derive(Clone, Debug, PartialEq)]
pub struct ParallelTask {
    /// The hosts that take part.
    pub hosts: Vec<HostId>,
    /// Flop on each host; empty: none.
    pub flops: Vec<f64>,
    /// Data that hosts send to each other.
    pub blocks: Vec<Block>,
    /// Upper limit of its progress, parts of the task per second.
    pub rate: f64,
}

/// The direction of a disk operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskAccess {
    /// Reading from the disk.
    Read,
    /// Writing to the disk.
    Write,
}

/// Reading or writing on a disk, from its own host or from another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskOperation {
    /// The disk read or written.
    pub disk: DiskId,
    /// Reading or writing.
    pub access: DiskAccess,
    /// Size, bytes.
    pub bytes: f64,
    /// The host that reads or writes; another host than the disk's own is reached over the network.
    pub client: HostId,
}

/// Bytes that flow from one host to another, from a disk, to a disk, or both. The latencies of
/// disks and network come first; then it is one flow of weight 1 over all it crosses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StorageFlow {
    /// The disk that is read.
    pub read: Option<DiskId>,
    /// The disk that is written.
    pub write: Option<DiskId>,
    /// Source: the host of the disk that is read, if one is.
    pub from: HostId,
    /// Destination: the host of the disk that is written, if one is.
    pub to: HostId,
    /// Size, bytes.
    pub bytes: f64,
    /// Further seconds before the bytes flow.
    pub delay: f64,
    /// Upper limit of the rate, bytes/s.
    pub rate: f64,
}

/// Something that takes time on a platform.
#[derive(Clone, Debug, PartialEq)]
pub enum Activity {
    /// A computation.
    Exec(Exec),
    /// A transfer.
    Comm(Transfer),
    /// A parallel task; simulated only by a model of parallel tasks.
    Ptask(Box<ParallelTask>),
    /// A disk operation.
    Io(DiskOperation),
    /// Bytes between hosts and storages.
    Storage(StorageFlow),
    /// Time that passes, seconds.
    Sleep(f64),
}

impl From<Exec> for Activity {
    fn from(exec: Exec) -> Self {
        Activity::Exec(exec)
    }
}

impl From<Transfer> for Activity {
    fn from(transfer: Transfer) -> Self {
        Activity::Comm(transfer)
    }
}

impl From<ParallelTask> for Activity {
    fn from(task: ParallelTask) -> Self {
        Activity::Ptask(Box::new(task))
    }
}

impl From<DiskOperation> for Activity {
    fn from(operation: DiskOperation) -> Self {
        Activity::Io(operation)
    }
}

impl From<StorageFlow> for Activity {
    fn from(flow: StorageFlow) -> Self {
        Activity::Storage(flow)
    }
}

/// Flop of each of `width` hosts when `flops` with the serial part `alpha` are spread over them
/// (Amdahl's law).
pub fn amdahl_flops(flops: f64, alpha: f64, width: usize) -> Vec<f64> {
    vec![(alpha + (1.0 - alpha) / width as f64) * flops; width]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amdahl() {
        assert_eq!(amdahl_flops(1e9, 0.2, 4), vec![0.4e9; 4]);
    }
}
