//! Groups of independent tasks in the order of a rank.

use super::ReadyList;
use slackline_model::{Problem, TaskId};

/// Cuts the tasks, by falling rank, into runs in which none depends on another.
pub(super) fn independent(problem: &Problem<'_>, rank: &[f64]) -> Vec<Vec<TaskId>> {
    let mut ready = ReadyList::new(problem, rank);
    runs(problem, std::iter::from_fn(|| ready.pop()))
}

/// Groups of independent tasks in a given order, parents first.
pub(super) fn runs(problem: &Problem<'_>, order: impl Iterator<Item = TaskId>) -> Vec<Vec<TaskId>> {
    let workflow = problem.workflow();
    let mut group_of = vec![usize::MAX; problem.tasks()];
    let mut groups: Vec<Vec<TaskId>> = Vec::new();
    for task in order {
        let current = groups.len().wrapping_sub(1);
        // A task between two dependent tasks in the graph is also between them in the order, so checking
        // parents is enough.
        let depends = workflow.predecessors(task).any(|(p, _)| group_of[p.index()] == current);
        if groups.is_empty() || depends {
            groups.push(Vec::new());
        }
        group_of[task.index()] = groups.len() - 1;
        if let Some(last) = groups.last_mut() {
            last.push(task);
        }
    }
    groups
}
