//! Layered random graphs: one by tasks and edges per task, for benchmarks of any size, and the
//! one of the selective-rescheduling study (after Zhao and Sakellariou 2003).

use crate::draw::Seed;
use crate::error::{Result, bad};
use crate::graph::Graph;
use slackline_model::parameter::{Kind, Parameter, Values};

/// Equal levels, a fixed number of parents per task from the level before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layered {
    /// Number of tasks.
    pub tasks: usize,
    /// Tasks per level; `None` for the square root of the number of tasks.
    pub width: Option<usize>,
    /// Mean edges per task of the later levels; each draws one more or less than this fraction
    /// says.
    pub edges_per_task: f64,
}

pub(crate) const LAYERED: &[Parameter] = &[
    Parameter::new("tasks", Kind::Count(1, 1 << 30), "100", "number of tasks"),
    Parameter::new(
        "width",
        Kind::Count(1, 1 << 30),
        "auto",
        "tasks per level; auto: square root of the tasks",
    ),
    Parameter::new(
        "edges-per-task",
        Kind::Number(1.0, 1e6),
        "3",
        "mean parents of a task below the first level",
    ),
];

impl Layered {
    pub(crate) fn read(s: &Values) -> Result<Layered> {
        Ok(Layered {
            tasks: s.count("tasks")?,
            width: s.maybe_count("width"),
            edges_per_task: s.number("edges-per-task")?,
        })
    }

    /// Draws the shape.
    pub fn graph(&self, seed: Seed) -> Result<Graph> {
        if self.tasks == 0 {
            return Err(bad("tasks", 0, "a workflow needs a task"));
        }
        Graph::check_size("edges", (self.tasks as f64 * self.edges_per_task) as usize)?;
        let root = (self.tasks as f64).sqrt().round() as usize;
        let width = self.width.unwrap_or(root).clamp(1, self.tasks);
        let mut graph = Graph::new(format!("layered-{}", self.tasks), &["task"]);
        graph.nodes.reserve(self.tasks);
        let mut draws = seed.draws("layered/edges");
        let mut before = 0..0;
        for level in 0.. {
            let left = self.tasks - graph.nodes.len();
            if left == 0 {
                break;
            }
            let tasks = graph.add_level(width.min(left), level);
            for task in tasks.clone().filter(|_| level > 0) {
                let whole = self.edges_per_task.floor();
                let more = usize::from(draws.chance(self.edges_per_task - whole));
                for parent in draws.distinct(whole as usize + more, before.len()) {
                    graph.edge(before.start + parent as u32, task);
                }
            }
            before = tasks;
        }
        Ok(graph)
    }
}

/// The random graphs of the selective-rescheduling study: entry and exit alone, each level
/// between 2 and half of what is left, each task with 1 to `children` children on the next
/// level and at least one parent on the level before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectiveRescheduling {
    /// Number of tasks, entry and exit included.
    pub tasks: usize,
    /// Most children drawn per task.
    pub children: usize,
}

pub(crate) const SR: &[Parameter] = &[
    Parameter::new(
        "tasks",
        Kind::Count(4, 1 << 30),
        "50",
        "number of tasks, entry and exit included",
    )
    .published("10 to 50; 50 to 100"),
    Parameter::new("children", Kind::Count(1, 1 << 20), "3", "most children drawn per task"),
];

impl SelectiveRescheduling {
    pub(crate) fn read(s: &Values) -> Result<SelectiveRescheduling> {
        Ok(SelectiveRescheduling { tasks: s.count("tasks")?, children: s.count("children")? })
    }

    /// Draws the shape.
    pub fn graph(&self, seed: Seed) -> Result<Graph> {
        if self.tasks < 4 {
            return Err(bad("tasks", self.tasks, "an entry, a level of two and an exit need 4"));
        }
        Graph::check_size("tasks", self.tasks)?;
        let mut sizes = seed.draws("sr/levels");
        let mut graph = Graph::new(format!("sr-{}", self.tasks), &["task"]);
        let mut levels = vec![graph.add_level(1, 0)];
        let mut left = self.tasks - 2;
        while left > 0 {
            let size = match left {
                0..=3 => left,
                // Never leave a single task over.
                _ => match sizes.between(2, (left / 2).max(2)) {
                    size if left - size == 1 => size + 1,
                    size => size,
                },
            };
            levels.push(graph.add_level(size, levels.len()));
            left -= size;
        }
        levels.push(graph.add_level(1, levels.len()));
        let mut draws = seed.draws("sr/edges");
        for pair in levels.windows(2) {
            let (parents, children) = (&pair[0], &pair[1]);
            let mut has_parent = vec![false; children.len()];
            for parent in parents.clone() {
                let count = draws.between(1, self.children.min(children.len()));
                for child in draws.distinct(count, children.len()) {
                    has_parent[child] = true;
                    graph.edge(parent, children.start + child as u32);
                }
            }
            for (child, _) in has_parent.iter().enumerate().filter(|(_, has)| !**has) {
                let parent = parents.start + draws.below(parents.len()) as u32;
                graph.edge(parent, children.start + child as u32);
            }
        }
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layered_has_its_counts() {
        let graph = Layered { tasks: 1000, width: Some(20), edges_per_task: 2.5 }
            .graph(Seed::new(1))
            .unwrap();
        assert_eq!(graph.level_sizes(), [20; 50]);
        let mean = graph.edges.len() as f64 / 980.0;
        assert!((mean - 2.5).abs() < 0.1, "{mean}");
    }

    #[test]
    fn sr_graphs_have_one_entry_one_exit_and_no_loose_task() {
        for member in 0..50 {
            let shape = SelectiveRescheduling { tasks: 10 + member as usize, children: 3 };
            let graph = shape.graph(Seed { seed: 9, member }).unwrap();
            assert_eq!(graph.nodes.len(), 10 + member as usize);
            let sizes = graph.level_sizes();
            assert_eq!((sizes[0], sizes[sizes.len() - 1]), (1, 1));
            assert!(sizes[1..sizes.len() - 1].iter().all(|&s| s >= 2), "{sizes:?}");
            let n = graph.nodes.len() as u32;
            for task in 0..n {
                let parents = graph.edges.iter().filter(|e| e.1 == task).count();
                let children = graph.edges.iter().filter(|e| e.0 == task).count();
                assert_eq!((parents > 0, children > 0), (task > 0, task < n - 1));
            }
            let span =
                |e: &(u32, u32)| graph.nodes[e.1 as usize].level - graph.nodes[e.0 as usize].level;
            assert!(graph.edges.iter().all(|e| span(e) == 1));
        }
    }
}
