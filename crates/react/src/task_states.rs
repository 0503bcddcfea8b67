//! States of all tasks and figures that follow from them, updated instead of recomputed.

use crate::situation::TaskState;
use slackline_model::{FileId, TaskId, Workflow};
use std::collections::BTreeSet;
use std::ops::Deref;

/// The states of all tasks; [`Situation::set_task`](crate::Situation::set_task) changes them.
#[derive(Clone, Debug, Default)]
pub struct TaskStates {
    states: Vec<TaskState>,
    /// Placed or running.
    begun: BTreeSet<TaskId>,
    done: usize,
    /// Per file: readers that are not done.
    readers: Vec<u32>,
    /// Tasks that are not tried again after their last failure, and all that depend on them.
    cannot_run: BTreeSet<TaskId>,
    /// Tasks that failed and are not tried again before a pause is over.
    await_retry: BTreeSet<TaskId>,
}

impl Deref for TaskStates {
    type Target = [TaskState];

    fn deref(&self) -> &[TaskState] {
        &self.states
    }
}

impl TaskStates {
    /// The states of a workflow in which no task has begun.
    pub(crate) fn new(workflow: &Workflow) -> TaskStates {
        let mut states = TaskStates::default();
        states.states.reserve_exact(workflow.len());
        states.grow(workflow);
        states
    }

    /// Takes in tasks that were not known before.
    pub(crate) fn grow(&mut self, workflow: &Workflow) {
        self.readers.resize(workflow.file_count(), 0);
        for task in (self.states.len()..workflow.len()).map(TaskId::new) {
            self.states.push(TaskState::Waiting);
            for file in workflow.inputs(task) {
                self.readers[file.index()] += 1;
            }
        }
    }

    pub(crate) fn set(&mut self, workflow: &Workflow, task: TaskId, state: TaskState) {
        let begun =
            |s: &TaskState| matches!(s, TaskState::Placed { .. } | TaskState::Running { .. });
        let after = begun(&state);
        let (done, was) = (state.is_done(), self.states[task.index()].is_done());
        let before = begun(&self.states[task.index()]);
        self.states[task.index()] = state;
        if before && !after {
            self.begun.remove(&task);
        } else if after && !before {
            self.begun.insert(task);
        }
        if done != was {
            self.done = if done { self.done + 1 } else { self.done - 1 };
            for file in workflow.inputs(task) {
                let readers = &mut self.readers[file.index()];
                *readers = if done { *readers - 1 } else { *readers + 1 };
            }
        }
    }

    /// Sets whether a task will never run; returns whether that is a change.
    pub fn set_cannot_run(&mut self, task: TaskId, never: bool) -> bool {
        if never { self.cannot_run.insert(task) } else { self.cannot_run.remove(&task) }
    }

    /// Whether a task will never run, because it or one that it depends on was abandoned after its last
    /// failure.
    pub fn cannot_run(&self, task: TaskId) -> bool {
        !self.cannot_run.is_empty() && self.cannot_run.contains(&task)
    }

    /// The tasks that will never run, the lowest first.
    pub fn that_cannot_run(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.cannot_run.iter().copied()
    }

    /// Whether a task failed and the pause before its next attempt is not over.
    pub fn awaits_retry(&self, task: TaskId) -> bool {
        !self.await_retry.is_empty() && self.await_retry.contains(&task)
    }

    /// Ends all pauses before next attempts.
    pub fn end_pauses(&mut self) {
        self.await_retry.clear();
    }

    /// Sets whether a task waits for the pause before its next attempt to be over.
    pub fn set_awaits_retry(&mut self, task: TaskId, waits: bool) {
        if waits {
            self.await_retry.insert(task);
        } else {
            self.await_retry.remove(&task);
        }
    }

    /// Tasks that are placed or run, the lowest first.
    pub fn begun(&self) -> impl DoubleEndedIterator<Item = TaskId> + '_ {
        self.begun.iter().copied()
    }

    /// Number of finished tasks.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Number of unfinished tasks.
    pub fn open(&self) -> usize {
        self.states.len() - self.done
    }

    /// Whether a task that is not done reads a file.
    pub(crate) fn is_read(&self, file: FileId) -> bool {
        self.readers[file.index()] > 0
    }
}
