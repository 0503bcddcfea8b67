//! The tasks whose parents are all placed, by priority.

use slackline_model::approx::sort_key;
use slackline_model::{Problem, TaskId, Workflow};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Hands out tasks by falling priority among those whose parents have been handed out; of equal
/// priorities the lower index first. Unlike a plain sort it cannot put a child before a parent
/// of equal rank.
pub struct ReadyList<'a> {
    workflow: &'a Workflow,
    priority: &'a [f64],
    missing: Vec<u32>,
    heap: BinaryHeap<Entry>,
}

#[derive(PartialEq)]
struct Entry {
    key: f64,
    task: TaskId,
}

impl Eq for Entry {}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.total_cmp(&other.key).then_with(|| other.task.cmp(&self.task))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a> ReadyList<'a> {
    /// The unfinished tasks of a problem; tasks that are done or running count as handed out.
    pub fn new(problem: &Problem<'a>, priority: &'a [f64]) -> Self {
        let workflow = problem.workflow();
        let state = problem.state();
        let missing: Vec<u32> = workflow
            .tasks()
            .map(|t| {
                workflow.predecessors(t).filter(|&(p, _)| state.fixed(p).is_none()).count() as u32
            })
            .collect();
        let mut list = ReadyList { workflow, priority, missing, heap: BinaryHeap::new() };
        for task in workflow.tasks() {
            if list.missing[task.index()] == 0 && state.fixed(task).is_none() {
                list.push(task);
            }
        }
        list
    }

    fn push(&mut self, task: TaskId) {
        self.heap.push(Entry { key: sort_key(self.priority[task.index()]), task });
    }

    /// Takes the task of highest priority and lets in the children it was holding back.
    pub fn pop(&mut self) -> Option<TaskId> {
        let task = self.heap.pop()?.task;
        for (child, _) in self.workflow.successors(task) {
            self.missing[child.index()] -= 1;
            if self.missing[child.index()] == 0 {
                self.push(child);
            }
        }
        Some(task)
    }
}
