//! The shape of a workflow before it has costs: tasks on levels, and their dependencies.
//! One shape can be given several costs, as the studies do.

use crate::costs::Costs;
use crate::draw::Seed;
use crate::error::{GenerateError, Result};
use slackline_model::Workflow;

/// Most tasks and edges a generator makes.
pub const LIMIT: usize = 1 << 31;

/// A task without costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Index into the kinds of the graph.
    pub kind: u16,
    /// Level given by the generator; with jumps it may be below the precedence level.
    pub level: u32,
    /// An entry or exit that was added to have only one: no work, no data.
    pub dummy: bool,
}

/// Tasks on levels and their dependencies, without costs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Name of the workflow to come.
    pub name: String,
    /// Names of the kinds of task.
    pub kinds: Vec<&'static str>,
    /// The tasks; a task's name is `t` and its index.
    pub nodes: Vec<Node>,
    /// Parent and child of each edge, without duplicates; the parent has the lower index.
    pub edges: Vec<(u32, u32)>,
}

impl Graph {
    /// An empty graph of that name and one kind of task.
    pub(crate) fn new(name: impl Into<String>, kinds: &[&'static str]) -> Graph {
        Graph { name: name.into(), kinds: kinds.to_vec(), ..Graph::default() }
    }

    /// Adds a task of a kind on a level.
    pub(crate) fn add(&mut self, kind: u16, level: usize) -> u32 {
        self.nodes.push(Node { kind, level: level as u32, dummy: false });
        self.nodes.len() as u32 - 1
    }

    /// Adds `count` tasks of the first kind on a level.
    pub(crate) fn add_level(&mut self, count: usize, level: usize) -> std::ops::Range<u32> {
        let first = self.nodes.len() as u32;
        for _ in 0..count {
            self.add(0, level);
        }
        first..self.nodes.len() as u32
    }

    /// `to` waits for `from`.
    pub(crate) fn edge(&mut self, from: u32, to: u32) {
        debug_assert!(from < to);
        self.edges.push((from, to));
    }

    /// Refuses more tasks than ids can number.
    pub(crate) fn check_size(what: &str, size: usize) -> Result<()> {
        if size < LIMIT {
            return Ok(());
        }
        Err(GenerateError::Impossible(format!("{size} {what} are more than Slackline can hold")))
    }

    /// Number of levels as the generator counted them.
    pub fn levels(&self) -> usize {
        self.nodes.iter().map(|n| n.level as usize + 1).max().unwrap_or(0)
    }

    /// Tasks on each level as the generator counted them.
    pub fn level_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.levels()];
        for node in &self.nodes {
            sizes[node.level as usize] += 1;
        }
        sizes
    }

    /// Gives the shape costs.
    pub fn workflow(&self, costs: &Costs, seed: Seed) -> Result<Workflow> {
        costs.apply(self, seed)
    }

    /// The same graph with one entry before all and one exit after all, both without cost.
    /// Nothing is added where there is one entry or one exit already.
    pub(crate) fn with_single_ends(self) -> Graph {
        let n = self.nodes.len();
        let (mut has_parent, mut has_child) = (vec![false; n], vec![false; n]);
        for &(from, to) in &self.edges {
            has_child[from as usize] = true;
            has_parent[to as usize] = true;
        }
        let without =
            |has: &[bool]| -> Vec<u32> { (0..n as u32).filter(|&t| !has[t as usize]).collect() };
        let (entries, exits) = (without(&has_parent), without(&has_child));
        let mut graph = Graph { nodes: Vec::with_capacity(n + 2), edges: Vec::new(), ..self };
        let kind = graph.kinds.len() as u16;
        graph.kinds.push("dummy");
        let shift = u32::from(entries.len() > 1);
        if shift == 1 {
            graph.nodes.push(Node { kind, level: 0, dummy: true });
            graph.edges.extend(entries.iter().map(|&t| (0, t + 1)));
        }
        let moved = |node: &Node| Node { level: node.level + shift, ..*node };
        graph.nodes.extend(self.nodes.iter().map(moved));
        graph.edges.extend(self.edges.iter().map(|&(a, b)| (a + shift, b + shift)));
        if exits.len() > 1 {
            let (level, last) = (graph.levels() as u32, graph.nodes.len() as u32);
            graph.nodes.push(Node { kind, level, dummy: true });
            graph.edges.extend(exits.iter().map(|&t| (t + shift, last)));
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dummies_join_loose_ends_only_where_needed() {
        let mut graph = Graph::new("g", &["task"]);
        graph.add_level(2, 0);
        graph.add_level(1, 1);
        graph.edge(0, 2);
        graph.edge(1, 2);
        let joined = graph.with_single_ends();
        // A dummy entry before the two entries; one exit was there.
        assert_eq!(joined.nodes.len(), 4);
        assert_eq!(joined.edges, [(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert!(joined.nodes[0].dummy && !joined.nodes[3].dummy);
        assert_eq!(joined.level_sizes(), [1, 2, 1]);
    }
}
