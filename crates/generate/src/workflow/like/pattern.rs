//! The repeating structure of a workflow: what is there once, and what can be there more or
//! less often.
//!
//! A *hub* is a task that has no equal: no other task of its kind, level and order of degree (a
//! split, a gatherer, a last step). Without the hubs the rest falls into components: the chains
//! of a lane, the lanes of a sequence. Growing repeats the rest as a whole; what is left over is
//! a part of it: whole components in proportion to their types, and one component in part,
//! chosen by the same rule inside it. A component that has neither hubs nor components is cut to
//! the first of its entry tasks and all that depends on nothing else; a gatherer of many stays
//! as long as one of its parents does.

use slackline_model::workflow::Shape;
use slackline_model::{TaskId, Workflow};
use std::collections::{BTreeMap, HashMap};

/// A task with more parents than this gathers: it can do with some of them.
const GATHERS: usize = 4;

/// The structure of one workflow.
pub(super) struct Pattern<'a> {
    workflow: &'a Workflow,
    /// Per task: number of its group of equal tasks, by kind, level, orders of magnitude of the
    /// degrees.
    group: Vec<u32>,
    /// Tasks that are there once.
    pub(super) hubs: Vec<TaskId>,
    /// The others.
    pub(super) rest: Vec<TaskId>,
    /// Component of each task of the rest; hubs have none.
    pub(super) component: Vec<Option<u32>>,
}

impl<'a> Pattern<'a> {
    pub(super) fn of(workflow: &'a Workflow, kinds: &[u32]) -> Pattern<'a> {
        let shape = Shape::of(workflow);
        let magnitude = |degree: usize| (degree + 1).ilog2();
        let mut numbers = HashMap::new();
        let mut group = Vec::with_capacity(workflow.len());
        for task in workflow.tasks() {
            let (parents, children) = (workflow.in_degree(task), workflow.out_degree(task));
            let key = (
                kinds[task.index()],
                shape.level[task.index()],
                magnitude(parents),
                magnitude(children),
            );
            let next = numbers.len() as u32;
            group.push(*numbers.entry(key).or_insert(next));
        }
        let all: Vec<TaskId> = workflow.tasks().collect();
        let mut pattern =
            Pattern { workflow, group, hubs: vec![], rest: vec![], component: vec![] };
        let (hubs, rest) = pattern.without_hubs(&all);
        // Nothing repeats: the whole is what can be repeated.
        (pattern.hubs, pattern.rest) = if rest.is_empty() { (vec![], all) } else { (hubs, rest) };
        pattern.component = vec![None; workflow.len()];
        for (number, tasks) in pattern.components(&pattern.rest).iter().enumerate() {
            for task in tasks {
                pattern.component[task.index()] = Some(number as u32);
            }
        }
        pattern
    }

    /// Splits off the tasks that have no equal among `tasks`.
    fn without_hubs(&self, tasks: &[TaskId]) -> (Vec<TaskId>, Vec<TaskId>) {
        let mut count: HashMap<u32, usize> = HashMap::new();
        for task in tasks {
            *count.entry(self.group[task.index()]).or_default() += 1;
        }
        tasks.iter().partition(|task| count[&self.group[task.index()]] == 1)
    }

    /// Connected parts, each in the order of `tasks`, by their first task.
    fn components(&self, tasks: &[TaskId]) -> Vec<Vec<TaskId>> {
        let place: HashMap<TaskId, usize> =
            tasks.iter().enumerate().map(|(i, &t)| (t, i)).collect();
        let mut root: Vec<usize> = (0..tasks.len()).collect();
        fn find(root: &mut [usize], mut i: usize) -> usize {
            while root[i] != i {
                root[i] = root[root[i]];
                i = root[i];
            }
            i
        }
        for (i, &task) in tasks.iter().enumerate() {
            for (child, _) in self.workflow.successors(task) {
                if let Some(&j) = place.get(&child) {
                    let (a, b) = (find(&mut root, i), find(&mut root, j));
                    root[a.max(b)] = a.min(b);
                }
            }
        }
        let mut parts: BTreeMap<usize, Vec<TaskId>> = BTreeMap::new();
        for (i, &task) in tasks.iter().enumerate() {
            parts.entry(find(&mut root, i)).or_default().push(task);
        }
        parts.into_values().collect()
    }

    /// About `budget` of the tasks, with the same structure.
    pub(super) fn part(&self, tasks: &[TaskId], budget: usize) -> Vec<TaskId> {
        if tasks.len() <= budget {
            return tasks.to_vec();
        }
        if budget == 0 {
            return Vec::new();
        }
        let (hubs, rest) = self.without_hubs(tasks);
        let components = self.components(&rest);
        let mut kept = if hubs.is_empty() && components.len() == 1 {
            self.first_entries(tasks, budget)
        } else {
            let mut kept = hubs;
            let left = budget.saturating_sub(kept.len());
            kept.extend(self.some_components(components, left));
            kept
        };
        kept.sort_unstable();
        kept
    }

    /// Components of every type in proportion, then one in part.
    fn some_components(&self, components: Vec<Vec<TaskId>>, budget: usize) -> Vec<TaskId> {
        let total: usize = components.iter().map(Vec::len).sum();
        let share = budget as f64 / total.max(1) as f64;
        let mut types: BTreeMap<Vec<u32>, Vec<Vec<TaskId>>> = BTreeMap::new();
        for component in components {
            let mut signature: Vec<u32> = component.iter().map(|t| self.group[t.index()]).collect();
            signature.sort_unstable();
            signature.dedup();
            types.entry(signature).or_default().push(component);
        }
        let mut kept = Vec::new();
        let mut spare: Option<Vec<TaskId>> = None;
        for members in types.into_values() {
            let wanted = (members.len() as f64 * share).floor() as usize;
            let mut members = members.into_iter();
            for component in members.by_ref().take(wanted) {
                kept.extend(component);
            }
            let next = members.next();
            let larger = next.as_ref().map_or(0, Vec::len) > spare.as_ref().map_or(0, Vec::len);
            if larger {
                spare = next;
            }
        }
        if let Some(spare) = spare {
            kept.extend(self.part(&spare, budget.saturating_sub(kept.len())));
        }
        kept
    }

    /// The first entry tasks and all that depends on them alone, at most `budget`.
    fn first_entries(&self, tasks: &[TaskId], budget: usize) -> Vec<TaskId> {
        let inside: HashMap<TaskId, usize> =
            tasks.iter().enumerate().map(|(i, &t)| (t, i)).collect();
        let parents = |task: TaskId| {
            self.workflow.predecessors(task).filter_map(|(p, _)| inside.get(&p).copied())
        };
        let entries: Vec<TaskId> =
            tasks.iter().copied().filter(|&t| parents(t).next().is_none()).collect();
        let order: Vec<TaskId> = self
            .workflow
            .topological_order()
            .iter()
            .copied()
            .filter(|task| inside.contains_key(task))
            .collect();
        let keep = |count: usize| {
            let mut kept = vec![false; tasks.len()];
            for task in &entries[..count] {
                kept[inside[task]] = true;
            }
            for &task in &order {
                let (mut all, mut some) = (0, 0);
                for parent in parents(task) {
                    all += 1;
                    some += usize::from(kept[parent]);
                }
                if all > 0 && (some == all || (all > GATHERS && some > 0)) {
                    kept[inside[&task]] = true;
                }
            }
            kept
        };
        let size = |count: usize| keep(count).iter().filter(|k| **k).count();
        let (mut low, mut high) = (1, entries.len());
        while low < high {
            let middle = (low + high).div_ceil(2);
            if size(middle) <= budget { low = middle } else { high = middle - 1 }
        }
        let kept = keep(low);
        tasks.iter().enumerate().filter(|(i, _)| kept[*i]).map(|(_, &t)| t).collect()
    }
}
