//! How far an execution has come when the rest is planned.

use super::{Problem, ProblemError};
use crate::ids::{EdgeId, HostId, TaskId};
use crate::schedule::Placement;

/// The data of an edge also lies (or will lie) on another host than its producer's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataCopy {
    /// Whose data.
    pub edge: EdgeId,
    /// Where.
    pub host: HostId,
    /// From when.
    pub at: f64,
}

/// What is already done, running, copied or not yet allowed. Empty vectors mean "nothing".
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
    /// Further copies of data, sorted by edge.
    pub copies: Vec<DataCopy>,
}

impl State {
    /// The placement of a task that is done or running.
    #[inline]
    pub fn fixed(&self, task: TaskId) -> Option<&Placement> {
        self.fixed.get(task.index())?.as_ref()
    }

    /// Copies of an edge's data besides the one at its producer.
    #[inline]
    pub fn copies_of(&self, edge: EdgeId) -> &[DataCopy] {
        if self.copies.is_empty() {
            return &[];
        }
        let start = self.copies.partition_point(|c| c.edge < edge);
        let length = self.copies[start..].partition_point(|c| c.edge == edge);
        &self.copies[start..start + length]
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
        if self.copies.windows(2).any(|pair| pair[0].edge > pair[1].edge) {
            return bad("copies are not sorted by edge".to_string());
        }
        let workflow = problem.workflow();
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
