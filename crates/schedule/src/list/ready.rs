//! The tasks whose parents are all placed, by priority.

use slackline_model::approx::sort_key;
use slackline_model::{Problem, TaskId, Workflow};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Counts the parents that hold a task back.
pub struct Readiness<'a> {
    workflow: &'a Workflow,
    missing: Vec<u32>,
}

impl<'a> Readiness<'a> {
    /// The unfinished tasks of a problem; tasks that are done or running count as placed. Also
    /// gives the tasks that are ready at once, in index order.
    pub fn new(problem: &Problem<'a>) -> (Self, Vec<TaskId>) {
        let workflow = problem.workflow();
        let state = problem.state();
        let waiting = |t| state.fixed(t).is_none();
        let missing: Vec<u32> = workflow
            .tasks()
            .map(|t| match waiting(t) {
                true => workflow.predecessors(t).filter(|&(p, _)| waiting(p)).count() as u32,
                // Never let in, even when a parent has to be done again.
                false => u32::MAX,
            })
            .collect();
        let first = workflow.tasks().filter(|&t| missing[t.index()] == 0).collect();
        (Readiness { workflow, missing }, first)
    }

    /// Marks a task as placed and calls back with the children that are now ready, in index order.
    pub fn placed(&mut self, task: TaskId, mut ready: impl FnMut(TaskId)) {
        for (child, _) in self.workflow.successors(task) {
            self.missing[child.index()] -= 1;
            if self.missing[child.index()] == 0 {
                ready(child);
            }
        }
    }
}

/// Hands out tasks by falling priority among those whose parents have been handed out; of equal
/// priorities the lower index first. Unlike a plain sort it cannot put a child before a parent
/// of equal rank.
pub struct ReadyList<'a> {
    readiness: Readiness<'a>,
    priority: &'a [f64],
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
        let (readiness, first) = Readiness::new(problem);
        let entry = |task: TaskId| Entry { key: sort_key(priority[task.index()]), task };
        let heap = first.into_iter().map(entry).collect();
        ReadyList { readiness, priority, heap }
    }

    /// Takes the task of highest priority and lets in the children it was holding back.
    pub fn pop(&mut self) -> Option<TaskId> {
        let task = self.heap.pop()?.task;
        self.readiness.placed(task, |child| {
            let key = sort_key(self.priority[child.index()]);
            self.heap.push(Entry { key, task: child });
        });
        Some(task)
    }
}
