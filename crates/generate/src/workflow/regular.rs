//! Regular shapes (chains, fork-joins, trees) and uniformly random edges.

use crate::draw::Seed;
use crate::error::{Result, bad};
use crate::graph::Graph;
use slackline_model::parameter::{Kind, Parameter};

pub(crate) const CHAIN: &[Parameter] = &[
    Parameter::new("tasks", Kind::Count(1, 1 << 30), "10", "tasks of each chain"),
    Parameter::new("chains", Kind::Count(1, 1 << 30), "1", "chains side by side"),
];

/// Independent chains of equal length.
pub fn chains(length: usize, chains: usize) -> Result<Graph> {
    Graph::check_size("tasks", length.saturating_mul(chains))?;
    let mut graph = Graph::new(format!("chain-{length}"), &["link"]);
    for _ in 0..chains {
        for at in 0..length {
            let task = graph.add(0, at);
            if at > 0 {
                graph.edge(task - 1, task);
            }
        }
    }
    Ok(graph)
}

pub(crate) const FORK_JOIN: &[Parameter] = &[
    Parameter::new("width", Kind::Count(1, 1 << 30), "10", "parallel tasks of each stage"),
    Parameter::new("stages", Kind::Count(1, 1 << 30), "1", "fork-joins one after another"),
];

/// Stages of `width` parallel tasks between single tasks: (width + 1) stages + 1 tasks.
pub fn fork_join(width: usize, stages: usize) -> Result<Graph> {
    Graph::check_size("tasks", width.saturating_add(1).saturating_mul(stages))?;
    let mut graph = Graph::new(format!("fork-join-{width}x{stages}"), &["serial", "parallel"]);
    let mut last = graph.add(0, 0);
    for stage in 0..stages {
        let first = graph.nodes.len() as u32;
        for _ in 0..width {
            let task = graph.add(1, 2 * stage + 1);
            graph.edge(last, task);
        }
        let join = graph.add(0, 2 * stage + 2);
        for task in first..join {
            graph.edge(task, join);
        }
        last = join;
    }
    Ok(graph)
}

pub(crate) const TREE: &[Parameter] = &[
    Parameter::new("tasks", Kind::Count(1, 1 << 30), "31", "number of tasks"),
    Parameter::new(
        "arity",
        Kind::Count(1, 1 << 20),
        "2",
        "children (out-tree) or parents (in-tree) of a task",
    ),
];

/// A tree from one root, filled level by level.
pub fn out_tree(tasks: usize, arity: usize) -> Result<Graph> {
    if tasks == 0 || arity == 0 {
        return Err(bad("tasks", tasks, "a tree needs a task, and an arity of at least 1"));
    }
    Graph::check_size("tasks", tasks)?;
    let mut graph = Graph::new(format!("out-tree-{tasks}"), &["node"]);
    graph.add(0, 0);
    for task in 1..tasks as u32 {
        let parent = (task - 1) / arity as u32;
        graph.add(0, graph.nodes[parent as usize].level as usize + 1);
        graph.edge(parent, task);
    }
    Ok(graph)
}

/// A tree into one root: the out-tree reversed.
pub fn in_tree(tasks: usize, arity: usize) -> Result<Graph> {
    let mut graph = out_tree(tasks, arity)?;
    graph.name = format!("in-tree-{tasks}");
    let (last, depth) = (tasks as u32 - 1, graph.levels() as u32 - 1);
    graph.nodes.reverse();
    for node in &mut graph.nodes {
        node.level = depth - node.level;
    }
    graph.edges = graph.edges.iter().rev().map(|&(from, to)| (last - to, last - from)).collect();
    Ok(graph)
}

pub(crate) const RANDOM: &[Parameter] = &[
    Parameter::new("tasks", Kind::Count(1, 1 << 30), "100", "number of tasks"),
    Parameter::new("edges-per-task", Kind::Number(0.0, 1e6), "3", "mean number of edges per task"),
];

/// Edges drawn uniformly among all pairs in index order, without replacement.
pub fn random(tasks: usize, edges_per_task: f64, seed: Seed) -> Result<Graph> {
    if tasks == 0 {
        return Err(bad("tasks", 0, "a workflow needs a task"));
    }
    let pairs = tasks.saturating_mul(tasks - 1) / 2;
    let wanted = ((tasks as f64 * edges_per_task).round() as usize).min(pairs);
    Graph::check_size("edges", wanted)?;
    let mut graph = Graph::new(format!("random-{tasks}"), &["task"]);
    let mut draws = seed.draws("random/edges");
    // Pair number k of the triangle: to = row, from = place in the row. Rejection is quick where few of the pairs
    // are drawn; from a third of them on, Floyd's method needs no repeated draws.
    let chosen = if wanted * 3 > pairs {
        draws.distinct(wanted, pairs)
    } else {
        let mut chosen = std::collections::HashSet::with_capacity(wanted);
        while chosen.len() < wanted {
            chosen.insert(draws.below(pairs));
        }
        let mut chosen: Vec<usize> = chosen.into_iter().collect();
        chosen.sort_unstable();
        chosen
    };
    let mut level = vec![0u32; tasks];
    let (mut to, mut row_start) = (1usize, 0usize);
    for pair in chosen {
        while pair >= row_start + to {
            row_start += to;
            to += 1;
        }
        let from = pair - row_start;
        level[to] = level[to].max(level[from] + 1); // rows come in order: `from` is final
        graph.edges.push((from as u32, to as u32));
    }
    for &level in &level {
        graph.add(0, level as usize);
    }
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let graph = fork_join(4, 2).unwrap();
        assert_eq!((graph.nodes.len(), graph.edges.len()), (11, 16));
        let graph = chains(5, 3).unwrap();
        assert_eq!((graph.nodes.len(), graph.edges.len()), (15, 12));
        let graph = out_tree(7, 2).unwrap();
        assert_eq!(graph.level_sizes(), [1, 2, 4]);
        let graph = in_tree(7, 2).unwrap();
        assert_eq!(graph.level_sizes(), [4, 2, 1]);
        assert!(graph.edges.iter().all(|&(from, to)| from < to));
        assert_eq!(graph.edges.iter().filter(|e| e.1 == 6).count(), 2);
    }

    #[test]
    fn random_draws_each_pair_at_most_once() {
        for per_task in [1.0, 4.0] {
            let graph = random(10, per_task, Seed::new(3)).unwrap();
            assert_eq!(graph.edges.len(), 10 * per_task as usize);
            let distinct: std::collections::HashSet<_> = graph.edges.iter().collect();
            assert_eq!(distinct.len(), graph.edges.len());
            assert!(graph.edges.iter().all(|&(from, to)| from < to && to < 10));
        }
        assert_eq!(random(5, 100.0, Seed::new(3)).unwrap().edges.len(), 10);
    }
}
