//! Shape of a graph: levels, width, critical path, tasks reached from others, sums of costs.

use super::Workflow;
use crate::ids::TaskId;

/// The heaviest chain of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct CriticalPath {
    /// Its tasks from entry to exit.
    pub tasks: Vec<TaskId>,
    /// Sum of the weights of its tasks and edges, in the unit of the weights.
    pub length: f64,
}

/// Structural figures of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Level of every task: 0 for entries, else one more than its deepest parent.
    pub level: Vec<u32>,
    /// Number of tasks on each level.
    pub widths: Vec<u32>,
}

impl Shape {
    /// Levels of a workflow.
    pub fn of(workflow: &Workflow) -> Shape {
        let mut level = vec![0u32; workflow.len()];
        for &task in workflow.topological_order() {
            for (child, _) in workflow.successors(task) {
                level[child.index()] = level[child.index()].max(level[task.index()] + 1);
            }
        }
        let depth = level.iter().max().map_or(0, |&deepest| deepest as usize + 1);
        let mut widths = vec![0u32; depth];
        for &l in &level {
            widths[l as usize] += 1;
        }
        Shape { level, widths }
    }

    /// Number of levels.
    pub fn depth(&self) -> usize {
        self.widths.len()
    }

    /// Tasks on the fullest level.
    pub fn width(&self) -> u32 {
        self.widths.iter().copied().max().unwrap_or(0)
    }

    /// Most of the given tasks on one level.
    pub fn width_of(&self, tasks: &[TaskId]) -> u32 {
        let mut widths = vec![0u32; self.depth()];
        for task in tasks {
            widths[self.level[task.index()] as usize] += 1;
        }
        widths.into_iter().max().unwrap_or(0)
    }
}

impl Workflow {
    /// Length of the longest path from each task to an exit, the task's own weight included
    /// (bottom level), for given weights of tasks and edges.
    pub fn bottom_levels(
        &self,
        node: impl Fn(TaskId) -> f64,
        edge: impl Fn(crate::EdgeId) -> f64,
    ) -> Vec<f64> {
        let mut level = vec![0.0f64; self.len()];
        for &task in self.topological_order().iter().rev() {
            let below = self
                .successors(task)
                .map(|(child, e)| edge(e) + level[child.index()])
                .fold(0.0, f64::max);
            level[task.index()] = node(task) + below;
        }
        level
    }

    /// Length of the longest path from an entry to each task, the task's own weight excluded
    /// (top level).
    pub fn top_levels(
        &self,
        node: impl Fn(TaskId) -> f64,
        edge: impl Fn(crate::EdgeId) -> f64,
    ) -> Vec<f64> {
        let mut level = vec![0.0f64; self.len()];
        for &task in self.topological_order() {
            level[task.index()] = self
                .predecessors(task)
                .map(|(parent, e)| level[parent.index()] + node(parent) + edge(e))
                .fold(0.0, f64::max);
        }
        level
    }

    /// The longest chain for given weights; of chains that are equal up to rounding the one through lower
    /// indices.
    pub fn critical_path(
        &self,
        node: impl Fn(TaskId) -> f64,
        edge: impl Fn(crate::EdgeId) -> f64,
    ) -> CriticalPath {
        let below = self.bottom_levels(&node, &edge);
        let longest = |a: TaskId, b: TaskId| {
            if crate::approx::lt(below[a.index()], below[b.index()]) { b } else { a }
        };
        let mut tasks = Vec::new();
        let mut next = self.entries().reduce(longest);
        let length = next.map_or(0.0, |entry| below[entry.index()]);
        while let Some(task) = next {
            tasks.push(task);
            let rest = below[task.index()] - node(task);
            next = self
                .successors(task)
                .find(|&(child, e)| crate::approx::eq(edge(e) + below[child.index()], rest))
                .or_else(|| {
                    // Rounding may hide the exact continuation: take the heaviest child.
                    self.successors(task).max_by(|&(a, ea), &(b, eb)| {
                        (edge(ea) + below[a.index()]).total_cmp(&(edge(eb) + below[b.index()]))
                    })
                })
                .map(|(child, _)| child);
        }
        CriticalPath { tasks, length }
    }

    /// Marks the tasks that can be reached from some of these through tasks for which `counts` holds. A
    /// task for which it does not hold is not marked, and the search does not continue through it; a task
    /// of `of` itself is marked only where another of them leads to it.
    pub fn descendants(&self, of: &[TaskId], counts: impl Fn(TaskId) -> bool) -> Vec<bool> {
        self.reached(of, counts, |task, go| self.successors(task).for_each(|(t, _)| go(t)))
    }

    /// Marks the tasks that come before some of these, by the rule of
    /// [`descendants`](Self::descendants).
    pub fn ancestors(&self, of: &[TaskId], counts: impl Fn(TaskId) -> bool) -> Vec<bool> {
        self.reached(of, counts, |task, go| self.predecessors(task).for_each(|(t, _)| go(t)))
    }

    fn reached(
        &self,
        of: &[TaskId],
        counts: impl Fn(TaskId) -> bool,
        step: impl Fn(TaskId, &mut dyn FnMut(TaskId)),
    ) -> Vec<bool> {
        let mut reached = vec![false; self.len()];
        let mut open = of.to_vec();
        while let Some(task) = open.pop() {
            step(task, &mut |next| {
                if counts(next) && !std::mem::replace(&mut reached[next.index()], true) {
                    open.push(next);
                }
            });
        }
        reached
    }

    /// Sum of all work in flop.
    pub fn total_work(&self) -> f64 {
        self.work.iter().sum()
    }

    /// Sum of the bytes on all edges.
    pub fn total_edge_bytes(&self) -> f64 {
        // Not `sum`, which is -0.0 for a workflow without edges and would be printed so.
        self.edge_bytes.iter().fold(0.0, |sum, bytes| sum + bytes)
    }
}

#[cfg(test)]
mod tests {
    use crate::workflow::{Shape, Task, WorkflowBuilder};
    use crate::{EdgeId, TaskId};

    /// 0 -> 1 -> 3, 0 -> 2 -> 3, 4 alone.
    fn diamond() -> crate::workflow::Workflow {
        let mut b = WorkflowBuilder::new("diamond");
        for (i, work) in [1.0, 5.0, 2.0, 1.0, 3.0].into_iter().enumerate() {
            b.add_task(Task::new(format!("t{i}"), work)).unwrap();
        }
        for (from, to, bytes) in [(0, 1, 1.0), (0, 2, 9.0), (1, 3, 1.0), (2, 3, 1.0)] {
            b.add_edge(TaskId(from), TaskId(to), bytes).unwrap();
        }
        b.build().unwrap()
    }

    #[test]
    fn levels_and_width() {
        let shape = Shape::of(&diamond());
        assert_eq!(shape.level, [0, 1, 1, 2, 0]);
        assert_eq!(shape.widths, [2, 2, 1]);
        assert_eq!((shape.depth(), shape.width()), (3, 2));
    }

    #[test]
    fn what_comes_before_and_after() {
        let w = diamond();
        let marked = |reached: Vec<bool>| -> Vec<usize> {
            reached.iter().enumerate().filter(|(_, r)| **r).map(|(t, _)| t).collect()
        };
        assert_eq!(marked(w.descendants(&[TaskId(0)], |_| true)), [1, 2, 3]);
        assert_eq!(marked(w.ancestors(&[TaskId(3), TaskId(4)], |_| true)), [0, 1, 2]);
        // A task that does not count hides those behind it.
        assert_eq!(marked(w.descendants(&[TaskId(0)], |t| t != TaskId(1))), [2, 3]);
        assert_eq!(marked(w.ancestors(&[TaskId(3)], |t| t == TaskId(0))), []);
    }

    #[test]
    fn critical_path_depends_on_the_weights() {
        let w = diamond();
        let without = w.critical_path(|t| w.work(t), |_| 0.0);
        assert_eq!(without.tasks, [TaskId(0), TaskId(1), TaskId(3)]);
        assert_eq!(without.length, 7.0);
        let with = w.critical_path(|t| w.work(t), |e: EdgeId| w.edge_bytes(e));
        assert_eq!(with.tasks, [TaskId(0), TaskId(2), TaskId(3)]);
        assert_eq!(with.length, 1.0 + 9.0 + 2.0 + 1.0 + 1.0);
        assert_eq!(w.top_levels(|t| w.work(t), |_| 0.0)[3], 6.0);
    }
}
