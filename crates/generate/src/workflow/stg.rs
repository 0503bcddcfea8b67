//! The four random methods of the Standard Task Graph set (Kasahara et al.), as the GTP study
//! used them: every task pair, or only pairs of different layers, joined with one probability
//! (`sameprob`, `layrprob`), or a mean number of predecessors (`samepred`, `layrpred`).
//!
//! Layers hold 10 tasks on average and any two different layers may be joined. A task draws
//! 0 to 2 k predecessors, capped by the candidates; tasks drawn at random then gain or lose one
//! until the average over the graph is k, as the first tasks have too few candidates.

use crate::draw::{Draws, Seed};
use crate::error::{Result, bad};
use crate::graph::Graph;
use slackline_model::parameter::{Kind, Parameter, Values};

/// The law of the edges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StgEdges {
    /// Each allowed pair with this probability.
    Probability(f64),
    /// This many predecessors on average.
    Predecessors(f64),
}

/// A graph of the Standard Task Graph kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stg {
    /// Tasks without the dummies.
    pub tasks: usize,
    /// Law of the edges.
    pub edges: StgEdges,
    /// Mean number of tasks per layer; `None`: every pair is allowed.
    pub layer: Option<f64>,
    /// Adds the set's entry and exit without cost where there are several.
    pub single_ends: bool,
}

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::new("tasks", Kind::Count(1, 1 << 30), "100", "number of tasks n, without dummies")
        .published("50, 100, 300, 500, 1000"),
    Parameter::new(
        "method",
        Kind::Choice(&["sameprob", "samepred", "layrprob", "layrpred"]),
        "sameprob",
        "pairs by probability or tasks by predecessors; among all tasks or across layers",
    )
    .published("all four"),
    Parameter::new("probability", Kind::Number(0.0, 1.0), "0.1", "sameprob, layrprob: of an edge")
        .published("0.1, 0.2"),
    Parameter::new("predecessors", Kind::Number(0.0, 1e6), "3", "samepred, layrpred: mean number")
        .published("1, 3, 5"),
    Parameter::new(
        "layer",
        Kind::Number(1.0, 1e6),
        "10",
        "layrprob, layrpred: mean tasks per layer",
    )
    .published("10"),
    Parameter::new("single-ends", Kind::Switch, "yes", "one entry and one exit without cost"),
];

impl Stg {
    pub(crate) fn read(s: &Values) -> Result<Stg> {
        let method = s.word("method");
        let edges = if method.ends_with("prob") {
            StgEdges::Probability(s.number("probability")?)
        } else {
            StgEdges::Predecessors(s.number("predecessors")?)
        };
        let layer = s.number("layer")?;
        Ok(Stg {
            tasks: s.count("tasks")?,
            edges,
            layer: method.starts_with("layr").then_some(layer),
            single_ends: s.switch("single-ends"),
        })
    }

    /// Draws the shape.
    pub fn graph(&self, seed: Seed) -> Result<Graph> {
        if self.tasks == 0 {
            return Err(bad("tasks", 0, "a workflow needs a task"));
        }
        if let StgEdges::Probability(p) = self.edges {
            Graph::check_size("edges", (self.tasks as f64 * self.tasks as f64 / 2.0 * p) as usize)?;
        }
        let method = match (self.layer, self.edges) {
            (None, StgEdges::Probability(_)) => "sameprob",
            (None, StgEdges::Predecessors(_)) => "samepred",
            (Some(_), StgEdges::Probability(_)) => "layrprob",
            (Some(_), StgEdges::Predecessors(_)) => "layrpred",
        };
        let mut graph = Graph::new(format!("{method}-{}", self.tasks), &["task"]);
        let sizes = match self.layer {
            None => vec![1; self.tasks],
            Some(mean) => layer_sizes(self.tasks, mean, &mut seed.draws("stg/layers")),
        };
        let mut draws = seed.draws("stg/edges");
        // Tasks of the layers before are the candidates of all tasks of a layer.
        let mut candidates = Vec::with_capacity(self.tasks);
        for (level, &size) in sizes.iter().enumerate() {
            let before = graph.nodes.len();
            graph.add_level(size, level);
            candidates.extend(std::iter::repeat_n(before, size));
        }
        match self.edges {
            StgEdges::Probability(p) => {
                for (task, &before) in candidates.iter().enumerate() {
                    with_probability(before, p, &mut draws, |from| {
                        graph.edges.push((from as u32, task as u32));
                    });
                }
            }
            StgEdges::Predecessors(mean) => {
                let counts = predecessor_counts(&candidates, mean, &mut draws);
                for (task, (&before, &count)) in candidates.iter().zip(&counts).enumerate() {
                    for from in draws.distinct(count, before) {
                        graph.edge(from as u32, task as u32);
                    }
                }
            }
        }
        Ok(if self.single_ends { graph.with_single_ends() } else { graph })
    }
}

/// `n / mean` layers; every task falls into one of them at random, empty ones vanish.
fn layer_sizes(tasks: usize, mean: f64, draws: &mut Draws) -> Vec<usize> {
    let layers = ((tasks as f64 / mean).round() as usize).max(1);
    let mut sizes = vec![0; layers];
    for _ in 0..tasks {
        sizes[draws.below(layers)] += 1;
    }
    sizes.retain(|&size| size > 0);
    sizes
}

/// Predecessors of every task: uniform on 0 to 2 k, then adjusted to k on average.
fn predecessor_counts(candidates: &[usize], mean: f64, draws: &mut Draws) -> Vec<usize> {
    let draw = |&most: &usize| (draws.uniform(0.0, 2.0 * mean + 1.0) as usize).min(most);
    let mut counts: Vec<usize> = candidates.iter().map(draw).collect();
    let possible: usize = candidates.iter().sum();
    let wanted = ((mean * candidates.len() as f64).round() as usize).min(possible);
    let mut total: usize = counts.iter().sum();
    while total != wanted {
        let task = draws.below(counts.len());
        if total < wanted && counts[task] < candidates[task] {
            counts[task] += 1;
            total += 1;
        } else if total > wanted && counts[task] > 0 {
            counts[task] -= 1;
            total -= 1;
        }
    }
    counts
}

/// Calls `take` for each of 0 .. n - 1 with probability `p`, in time of what is taken: the gap
/// to the next one is geometric.
fn with_probability(n: usize, p: f64, draws: &mut Draws, mut take: impl FnMut(usize)) {
    if p <= 0.0 {
        return;
    }
    let log = (1.0 - p).ln(); // minus infinity for p = 1: no gap
    let mut next = 0usize;
    loop {
        let gap = ((1.0 - draws.unit()).ln() / log).floor();
        next = next.saturating_add(if gap.is_finite() { gap as usize } else { 0 });
        if next >= n {
            return;
        }
        take(next);
        next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean edges, dummies not counted, over a dozen graphs per method.
    fn mean_edges(tasks: usize, rounds: u64) -> f64 {
        let mut total = 0usize;
        let mut graphs = 0usize;
        for layer in [None, Some(10.0)] {
            for round in 0..rounds {
                let seed = Seed { seed: 4, member: round };
                let p = [0.1, 0.2][round as usize % 2];
                for edges in [
                    StgEdges::Probability(p),
                    StgEdges::Predecessors([1.0, 3.0, 5.0][round as usize % 3]),
                ] {
                    let stg = Stg { tasks, edges, layer, single_ends: false };
                    total += stg.graph(seed).unwrap().edges.len();
                    graphs += 1;
                }
            }
        }
        total as f64 / graphs as f64
    }

    #[test]
    fn the_gtp_set_has_its_mean_edge_counts() {
        // Expected 158 / 504 / 3763 / 38794 for n = 50, 100, 300, 1000 (published mean: 38749).
        for (tasks, expected, rounds) in
            [(50, 158.0, 60), (100, 504.0, 30), (300, 3763.0, 12), (1000, 38794.0, 6)]
        {
            let mean = mean_edges(tasks, rounds);
            assert!((mean / expected - 1.0).abs() < 0.03, "n = {tasks}: {mean} for {expected}");
        }
    }

    #[test]
    fn layers_never_join_inside_and_certainty_joins_all() {
        let stg = Stg {
            tasks: 60,
            edges: StgEdges::Probability(1.0),
            layer: Some(10.0),
            single_ends: false,
        };
        let graph = stg.graph(Seed::new(1)).unwrap();
        let sizes = graph.level_sizes();
        let pairs: usize = 60 * 59 / 2 - sizes.iter().map(|s| s * (s - 1) / 2).sum::<usize>();
        assert_eq!(graph.edges.len(), pairs);
        let none = Stg { edges: StgEdges::Probability(0.0), ..stg };
        assert!(none.graph(Seed::new(1)).unwrap().edges.is_empty());
    }
}
