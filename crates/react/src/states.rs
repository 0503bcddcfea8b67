//! How far every task is, and what follows from it, kept up to date instead of looked for.

use crate::situation::TaskState;
use slackline_model::{FileId, TaskId, Workflow};
use std::collections::BTreeSet;
use std::ops::Deref;

/// The states of all tasks; [`Situation::set_task`](crate::Situation::set_task) changes them.
#[derive(Clone, Debug, Default)]
pub struct States {
    states: Vec<TaskState>,
    /// Placed or running.
    begun: BTreeSet<TaskId>,
    done: usize,
    /// Per file: readers that are not done.
    readers: Vec<u32>,
}

impl Deref for States {
    type Target = [TaskState];

    fn deref(&self) -> &[TaskState] {
        &self.states
    }
}

impl States {
    /// The tasks of a workflow that nobody has begun.
    pub(crate) fn new(workflow: &Workflow) -> States {
        let mut states = States::default();
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

    /// Tasks that are placed or run, the lowest first.
    pub fn begun(&self) -> impl DoubleEndedIterator<Item = TaskId> + '_ {
        self.begun.iter().copied()
    }

    /// How many are done.
    pub fn done(&self) -> usize {
        self.done
    }

    /// How many are not.
    pub fn open(&self) -> usize {
        self.states.len() - self.done
    }

    /// Whether a task that is not done reads a file.
    pub(crate) fn is_read(&self, file: FileId) -> bool {
        self.readers[file.index()] > 0
    }
}
