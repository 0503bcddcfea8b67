//! A store where all files live: tasks read their inputs from it before they compute, one after the
//! other, and write their results to it while their processors go on.

use slackline_model::problem::MeanNetwork;
use slackline_model::{DiskId, FileId, HostId, Procs, TaskId};
use slackline_simulate::Owner;
use std::collections::{BTreeMap, VecDeque};

use crate::backend::OpId;

/// Writes to the store: their tags are files, those of everything else operations.
pub(crate) const WRITES: Owner = Owner(1);

/// Place of the central storage.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Location {
    /// On a host, behind its links.
    Host(HostId),
    /// On a storage, behind the links of its host.
    Disk(DiskId),
    /// At no host: every host reaches it at mean latency and bandwidth, and what is
    /// written is there at once.
    Means(MeanNetwork),
}

/// A task that still reads.
pub(crate) struct Reader {
    pub(crate) task: TaskId,
    pub(crate) procs: Procs,
    /// Files still to read.
    pub(crate) reads: VecDeque<(FileId, f64)>,
    /// Files to write.
    pub(crate) writes: Vec<(FileId, f64)>,
}

/// Writes in progress, and the operations that wait for them.
#[derive(Default)]
pub(crate) struct Writes(BTreeMap<FileId, Vec<OpId>>);

impl Writes {
    /// The file whose write an event of the simulation ends.
    pub(crate) fn file(owner: Owner, tag: u64) -> Option<FileId> {
        (owner == WRITES).then_some(FileId(tag as u32))
    }

    /// A file is on its way.
    pub(crate) fn begin(&mut self, file: FileId) {
        self.0.insert(file, Vec::new());
    }

    /// A file is there, or will never be; gives who has waited for it.
    pub(crate) fn end(&mut self, file: FileId) -> Vec<OpId> {
        self.0.remove(&file).unwrap_or_default()
    }

    /// Lets a reader wait for a file that is on its way; false where it is there.
    pub(crate) fn wait(&mut self, file: FileId, reader: OpId) -> bool {
        self.0.get_mut(&file).map(|waiting| waiting.push(reader)).is_some()
    }
}
