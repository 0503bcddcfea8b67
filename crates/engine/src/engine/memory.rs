//! Memory that tasks are granted. One that ran out of it is tried again with more, at once and on the same
//! host if that holds it: with a multiple of what it was granted, or somewhat more than it was seen to use, at
//! most what the largest host has that it fits on. Once it succeeds, tasks of its kind that have not
//! begun demand as much.

use super::Engine;
use crate::backend::{BackendError, OpError};
use slackline_model::resources::whole_up;
use slackline_model::units::fmt_bytes;
use slackline_model::{ProcId, TaskId};
use slackline_react::TaskState;
use std::sync::Arc;

/// Ratio of the memory granted to a task to its observed peak.
const ABOVE_PEAK: f64 = 1.2;

impl Engine<'_, '_> {
    /// Bytes that an attempt on so many cores is granted; none where the task demands none.
    pub(super) fn grant_of_memory(&self, task: TaskId, width: u32) -> Option<u64> {
        let bytes = whole_up(self.situation.workflow.memory_at(task, width));
        (bytes > 0).then_some(bytes)
    }

    /// A task used more memory than it was granted.
    pub(super) fn ran_out_of_memory(
        &mut self,
        task: TaskId,
        procs: &[ProcId],
        (grant, peak): (u64, Option<u64>),
    ) -> Result<(), BackendError> {
        let error = OpError::Memory { grant, peak };
        let times = self.attempts.count(task);
        if times > self.settings.retries {
            return self.abandon_task(task, times, &error);
        }
        let now = &self.situation;
        let width = procs.len() as u32;
        let most = now.pools.most_memory(&now.platform, task, width);
        let most = most.unwrap_or(u64::MAX);
        if grant >= most {
            let most = fmt_bytes(most as f64);
            let why = format!("it needs more than {most}, the largest host has no more");
            return self.abandon_task(task, times, &OpError::Refused(why));
        }
        let multiple = self.settings.memory_factor * grant as f64;
        let above = ABOVE_PEAK * peak.unwrap_or(0) as f64;
        let more = whole_up(multiple.max(above)).min(most);
        self.attempts.grown.insert(task, more);
        self.demand_memory(&[(task, width, more)]);
        self.attempts.moves(task);
        self.go_where_it_fits(task);
        Ok(())
    }

    /// Tasks demand other amounts of memory on so many cores from now on.
    pub(super) fn demand_memory(&mut self, demands: &[(TaskId, u32, u64)]) {
        let now = &mut self.situation;
        let workflow = Arc::make_mut(&mut now.workflow);
        for &(task, width, bytes) in demands {
            workflow.set_memory_at(task, width, bytes as f64);
        }
        now.count_pools();
        self.rebuild_pools();
    }

    /// A task that no longer fits where it waits goes elsewhere.
    fn go_where_it_fits(&mut self, task: TaskId) {
        let fits = |procs: &[ProcId]| {
            procs.iter().all(|p| self.situation.fits(task, self.situation.host_of[p.index()]))
        };
        if self.queues.assigned(task).is_none_or(fits) {
            return;
        }
        if let Some(procs) = self.elsewhere(task) {
            self.queues.jump(task, &procs, &self.situation);
            self.line_up();
        }
    }

    /// A task is done that had run out of memory before: others of its kind that have not begun demand
    /// as much as it was granted in the end.
    pub(super) fn teach_kind_memory(&mut self, task: TaskId) {
        let Some(grant) = self.attempts.grown.remove(&task) else { return };
        let now = &self.situation;
        let workflow = &now.workflow;
        let kind = workflow.kind(task);
        if workflow.kind_name(kind).is_empty() {
            return;
        }
        let waits = |other: &TaskId| {
            workflow.kind(*other) == kind
                && matches!(now.task(*other), TaskState::Waiting)
                && !self.attempts.grown.contains_key(other)
        };
        let demand = |other: TaskId| {
            let width = workflow.width(other).0;
            let own = whole_up(workflow.memory_at(other, width));
            let most = now.pools.most_memory(&now.platform, other, width)?;
            let more = grant.min(most);
            (own > 0 && own < more).then_some((other, width, more))
        };
        let demands: Vec<_> = workflow.tasks().filter(waits).filter_map(demand).collect();
        if demands.is_empty() {
            return;
        }
        self.demand_memory(&demands);
        for (other, ..) in demands {
            self.go_where_it_fits(other);
        }
    }
}
