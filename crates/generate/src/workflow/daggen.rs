//! daggen: layered random graphs by width, regularity, density and jump.
//!
//! F. Suter's public generator, re-implemented from its description, with its rounding rules:
//! the perfect width is `floor(n^fat)` (a tiny bonus keeps 25^0.5 at 5 where the original's
//! `exp(0.5 ln 25)` falls to 4), level sizes are truncated after the spread and never below one,
//! the last level is cut. Arabnejad's adaptation draws widths around `fat sqrt(n)`.

use crate::draw::{Draws, Seed};
use crate::error::{Result, bad};
use crate::graph::Graph;
use slackline_model::parameter::{Kind, Parameter, Values};

/// The rule by which `fat` determines the mean width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WidthRule {
    /// The mean width is `n^fat`.
    Power,
    /// The mean width is `fat sqrt(n)` (Arabnejad's adaptation).
    Root,
}

/// A daggen shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Daggen {
    /// Number of tasks.
    pub tasks: usize,
    /// Width.
    pub fat: f64,
    /// Rule for the mean width.
    pub width_rule: WidthRule,
    /// Similarity of the level sizes, 0 to 1.
    pub regularity: f64,
    /// Edges between consecutive levels, 0 to 1.
    pub density: f64,
    /// Most levels an edge spans.
    pub jump: usize,
    /// Adds one entry and one exit without cost where there are several.
    pub single_ends: bool,
}

impl Default for Daggen {
    fn default() -> Daggen {
        Daggen {
            tasks: 100,
            fat: 0.5,
            width_rule: WidthRule::Power,
            regularity: 0.9,
            density: 0.5,
            jump: 1,
            single_ends: false,
        }
    }
}

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::new("tasks", Kind::Count(1, 1 << 30), "100", "number of tasks n")
        .published("10, 20, 25, 50, 100; PEFT 10 to 500"),
    Parameter::new(
        "fat",
        Kind::Number(0.0, 2.0),
        "0.5",
        "width: mean level size n^fat, or fat sqrt(n)",
    )
    .published("0.2, 0.5, 0.8; PEFT 0.1, 0.4, 0.8"),
    Parameter::new(
        "width-rule",
        Kind::Choice(&["power", "root"]),
        "power",
        "n^fat (daggen) or fat sqrt(n) (PEFT)",
    ),
    Parameter::new("regularity", Kind::Number(0.0, 1.0), "0.9", "uniformity of the level sizes")
        .published("0.2, 0.8"),
    Parameter::new("density", Kind::Number(0.0, 1.0), "0.5", "edges between consecutive levels")
        .published("0.2, 0.8"),
    Parameter::new("jump", Kind::Count(1, 1 << 20), "1", "most levels an edge spans")
        .published("1, 2, 4"),
    Parameter::new("single-ends", Kind::Switch, "no", "one entry and one exit without cost"),
];

impl Daggen {
    pub(crate) fn read(s: &Values) -> Result<Daggen> {
        Ok(Daggen {
            tasks: s.count("tasks")?,
            fat: s.number("fat")?,
            width_rule: if s.word("width-rule") == "root" {
                WidthRule::Root
            } else {
                WidthRule::Power
            },
            regularity: s.number("regularity")?,
            density: s.number("density")?,
            jump: s.count("jump")?,
            single_ends: s.switch("single-ends"),
        })
    }

    /// Mean level size before the spread.
    pub fn perfect_width(&self) -> f64 {
        let n = self.tasks as f64;
        match self.width_rule {
            WidthRule::Power => (n.powf(self.fat) + 1e-9).floor().max(1.0),
            WidthRule::Root => (self.fat * n.sqrt()).max(1.0),
        }
    }

    /// Draws the shape.
    pub fn graph(&self, seed: Seed) -> Result<Graph> {
        if self.tasks == 0 {
            return Err(bad("tasks", 0, "a workflow needs a task"));
        }
        Graph::check_size("tasks", self.tasks)?;
        let mut graph = Graph::new(format!("daggen-{}", self.tasks), &["task"]);
        let levels = self.levels(&mut graph, &mut seed.draws("daggen/levels"));
        self.connect(&mut graph, &levels, &mut seed.draws("daggen/edges"));
        Ok(if self.single_ends { graph.with_single_ends() } else { graph })
    }

    /// Adds the tasks and returns the first task of every level, and the end.
    fn levels(&self, graph: &mut Graph, draws: &mut Draws) -> Vec<u32> {
        let perfect = self.perfect_width();
        let latitude = 1.0 - self.regularity;
        let mut first = vec![0];
        while graph.nodes.len() < self.tasks {
            let size = (perfect * (1.0 + draws.uniform(-latitude, latitude))).trunc().max(1.0);
            let size = (size as usize).min(self.tasks - graph.nodes.len());
            let level = first.len() - 1;
            first.push(graph.add_level(size, level).end);
        }
        first
    }

    fn connect(&self, graph: &mut Graph, first: &[u32], draws: &mut Draws) {
        let size = |level: usize| (first[level + 1] - first[level]) as usize;
        let mut parents: Vec<u32> = Vec::new();
        for level in 1..first.len() - 1 {
            for task in first[level]..first[level + 1] {
                let before = size(level - 1);
                let wanted = 1 + draws.uniform(0.0, self.density * before as f64) as usize;
                parents.clear();
                for _ in 0..wanted.min(before) {
                    let back = draws.uniform(1.0, self.jump as f64 + 1.0) as usize;
                    let from = level.saturating_sub(back);
                    let count = size(from);
                    let start = draws.below(count);
                    // Taken already: the next one in that level; all taken: one parent less.
                    let free = (0..count)
                        .map(|step| first[from] + ((start + step) % count) as u32)
                        .find(|parent| !parents.contains(parent));
                    parents.extend(free);
                }
                parents.sort_unstable();
                for &parent in &parents {
                    graph.edge(parent, task);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perfect_widths_of_the_studies() {
        // n^0.2, n^0.5, n^0.8 truncated; 25^0.5 must be 5 and 100^0.5 must be 10.
        let widths = |tasks| {
            [0.2, 0.5, 0.8].map(|fat| Daggen { tasks, fat, ..Daggen::default() }.perfect_width())
        };
        assert_eq!(widths(10), [1.0, 3.0, 6.0]);
        assert_eq!(widths(25), [1.0, 5.0, 13.0]);
        assert_eq!(widths(50), [2.0, 7.0, 22.0]);
        assert_eq!(widths(100), [2.0, 10.0, 39.0]);
        let adapted = Daggen { fat: 0.4, width_rule: WidthRule::Root, ..Daggen::default() };
        assert_eq!(adapted.perfect_width(), 4.0); // 0.4 sqrt(100)
    }

    #[test]
    fn shapes_obey_their_parameters() {
        for (fat, regularity, density, jump) in
            [(0.2, 0.2, 0.2, 1), (0.5, 0.8, 0.8, 2), (0.8, 0.2, 0.8, 4), (0.5, 1.0, 1.0, 1)]
        {
            let shape = Daggen { tasks: 200, fat, regularity, density, jump, ..Daggen::default() };
            let graph = shape.graph(Seed::new(11)).unwrap();
            assert_eq!(graph.nodes.len(), 200);
            let sizes = graph.level_sizes();
            let perfect = shape.perfect_width();
            for &size in &sizes[..sizes.len() - 1] {
                let (low, high) = (perfect * regularity, perfect * (2.0 - regularity));
                assert!(size as f64 >= low.trunc().max(1.0) && size as f64 <= high, "{size}");
            }
            let mut has_parent = [false; 200];
            let mut seen = std::collections::HashSet::new();
            for &(from, to) in &graph.edges {
                let span = graph.nodes[to as usize].level - graph.nodes[from as usize].level;
                assert!(span >= 1 && span as usize <= jump, "an edge spans {span} levels");
                assert!(seen.insert((from, to)), "an edge twice");
                has_parent[to as usize] = true;
            }
            for (task, node) in graph.nodes.iter().enumerate() {
                assert_eq!(has_parent[task], node.level > 0);
            }
        }
    }

    #[test]
    fn full_regularity_makes_equal_levels_and_ends_can_be_joined() {
        let shape = Daggen { tasks: 100, regularity: 1.0, single_ends: true, ..Daggen::default() };
        let graph = shape.graph(Seed::new(5)).unwrap();
        let sizes = graph.level_sizes();
        assert_eq!(sizes, [1, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 1]);
        assert_eq!(graph.nodes.iter().filter(|n| n.dummy).count(), 2);
    }
}
