//! The optimistic cost table: what is left to do after a task when every descendant gets its
//! best processor and none has to wait for one (Arabnejad, Barbosa, IEEE TPDS 25(3), 2014).
//!
//! `OCT(i, k) = max over children j of min over w of (OCT(j, w) + exec(j, w) + (w = k ? 0 : c))`.
//! The inner minimum is taken once per edge, so that the table costs O(e p) instead of O(e p^2):
//! either the child stays on `k`, or it goes where `OCT + exec` is least and pays the transfer.
//! Processors of one cost class have equal columns; the table keeps one per class. Adding the
//! task's own time gives the best imaginary level of Oh and Ha: `BIL = OCT + exec`.

use super::ranks::Weights;
use slackline_model::{Problem, TaskId};

/// Optimistic remaining times per task and cost class.
pub struct OptimisticCosts {
    classes: usize,
    table: Vec<f64>,
}

impl OptimisticCosts {
    /// The table of a problem, from the exits up.
    pub fn new(problem: &Problem<'_>, weights: Weights) -> Self {
        let workflow = problem.workflow();
        let classes = problem.classes();
        let mut table = vec![0.0f64; workflow.len() * classes];
        // Of the child at hand: time from its start to the end of the workflow, per class.
        let mut level: Vec<f64> = Vec::with_capacity(classes);
        let mut row = Vec::new();
        for &child in workflow.topological_order().iter().rev() {
            let at = child.index() * classes;
            let times = problem.exec_row(child, &mut row);
            level.clear();
            level.extend(table[at..at + classes].iter().zip(times).map(|(oct, exec)| oct + exec));
            let least = level.iter().copied().fold(f64::INFINITY, f64::min);
            for (parent, edge) in workflow.predecessors(child) {
                let elsewhere = least + weights.transfer(problem, edge);
                let at = parent.index() * classes;
                for (cost, &here) in table[at..at + classes].iter_mut().zip(&level) {
                    *cost = cost.max(here.min(elsewhere));
                }
            }
        }
        OptimisticCosts { classes, table }
    }

    /// The costs of a task, per cost class of its processor.
    #[inline]
    pub fn row(&self, task: TaskId) -> &[f64] {
        &self.table[task.index() * self.classes..(task.index() + 1) * self.classes]
    }

    /// Mean over the processors (`rank_oct`).
    pub fn rank(&self, problem: &Problem<'_>) -> Vec<f64> {
        let sizes = problem.class_sizes();
        let procs = problem.procs() as f64;
        let mean = |task| {
            let weighted = self.row(task).iter().zip(sizes).map(|(cost, &n)| cost * f64::from(n));
            weighted.sum::<f64>() / procs
        };
        problem.workflow().tasks().map(mean).collect()
    }
}
