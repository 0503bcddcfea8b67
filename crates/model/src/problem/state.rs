//! The state of an execution when the rest is planned.

use super::{Problem, ProblemError};
use crate::ids::{FileId, HostId, TaskId};
use crate::platform::Platform;
use crate::schedule::{Lease, Placement};
use crate::workflow::Workflow;

/// The hosts that hold the inputs of a workflow, the files that no task writes, at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inputs {
    /// On every host.
    #[default]
    Everywhere,
    /// On one host, the user's: they are transferred from there to the hosts that read them.
    At(HostId),
}

impl Inputs {
    /// On the platform's origin, where it names one, else everywhere.
    pub fn of(platform: &Platform) -> Inputs {
        platform.origin().map_or(Inputs::Everywhere, Inputs::At)
    }
}

/// A copy of a file that is, or will be, at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataCopy {
    /// The file.
    pub file: FileId,
    /// A host of the place.
    pub host: HostId,
    /// From when.
    pub at: f64,
}

/// Tasks that are done or running, files that are copied, and earliest starts. Empty vectors mean
/// "nothing".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Nothing new starts before this date.
    pub now: f64,
    /// Per task: where and when it ran or runs; such a task stays as it is. Its parents may be
    /// open again, where their results are lost and others still need them.
    pub fixed: Vec<Option<Placement>>,
    /// Per processor: when it can take new work; infinite for one that is gone.
    pub available: Vec<f64>,
    /// Per task: not to be started before.
    pub release: Vec<f64>,
    /// Copies other than those at finished producers, sorted by file.
    pub copies: Vec<DataCopy>,
    /// The inputs of the workflow are only where `copies` says; otherwise on every host.
    pub inputs_listed: bool,
    /// The leases so far. Open ones run, or are ordered: the machine is usable from their begin. Without
    /// one, a machine that exists only while leased has to be ordered first. The others are over and
    /// have to be paid.
    pub leases: Vec<Lease>,
}

impl State {
    /// The placement of a task that is done or running.
    #[inline]
    pub fn fixed(&self, task: TaskId) -> Option<&Placement> {
        self.fixed.get(task.index())?.as_ref()
    }

    /// Copies of a file other than the one at its producer.
    #[inline]
    pub fn copies_of(&self, file: FileId) -> &[DataCopy] {
        if self.copies.is_empty() {
            return &[];
        }
        let start = self.copies.partition_point(|c| c.file < file);
        let length = self.copies[start..].partition_point(|c| c.file == file);
        &self.copies[start..start + length]
    }

    /// The state before anything is done, with the inputs at the given hosts.
    pub fn at_start(workflow: &Workflow, inputs: Inputs) -> State {
        let Inputs::At(host) = inputs else { return State::default() };
        let unwritten = workflow.files().filter(|&f| workflow.producer(f).is_none());
        let copies = unwritten.map(|file| DataCopy { file, host, at: 0.0 }).collect();
        State { copies, inputs_listed: true, ..State::default() }
    }

    pub(super) fn check(&self, problem: &Problem<'_>) -> Result<(), ProblemError> {
        let bad = |why: String| Err(ProblemError::BadState { why });
        let sizes = [
            ("fixed placements", self.fixed.len(), problem.tasks()),
            ("release dates", self.release.len(), problem.tasks()),
            ("availability dates", self.available.len(), problem.procs()),
        ];
        for (what, given, wanted) in sizes {
            if given != 0 && given != wanted {
                return bad(format!("{given} {what} for {wanted}"));
            }
        }
        let dates = self.release.iter().chain(&self.available);
        if !self.now.is_finite() || self.now < 0.0 || dates.clone().any(|d| d.is_nan()) {
            return bad("a date is not a number".to_string());
        }
        if self.copies.windows(2).any(|pair| pair[0].file > pair[1].file) {
            return bad("copies are not sorted by file".to_string());
        }
        let hosts = problem.platform().hosts().len();
        if let Some(lease) = self.leases.iter().find(|l| l.host.index() >= hosts) {
            return bad(format!("machine {} of {hosts} is leased", lease.host.0));
        }
        if self.leases.iter().any(|l| !l.from.is_finite() || l.to.is_nan()) {
            return bad("a date of a lease is not a number".to_string());
        }
        let workflow = problem.workflow();
        let (hosts, files) = (problem.platform().hosts().len(), workflow.file_count());
        if self.copies.iter().any(|c| c.host.index() >= hosts || c.file.index() >= files) {
            return bad("a copy of an unknown file or at an unknown host".to_string());
        }
        for task in workflow.tasks() {
            let Some(placement) = self.fixed(task) else { continue };
            let name = workflow.task_name(task);
            if placement.procs().iter().any(|p| p.index() >= problem.procs()) {
                return bad(format!("task '{name}' is fixed on an unknown processor"));
            }
        }
        Ok(())
    }
}
