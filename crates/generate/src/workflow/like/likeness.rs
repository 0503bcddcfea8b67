//! Similarity of two workflows: levels, widths, degrees, run times.

use super::fit::quantile;
use super::kind_pattern;
use slackline_model::Workflow;
use slackline_model::workflow::Shape;
use std::collections::BTreeMap;

/// Comparison of an original (first of each pair) and a generated workflow (second).
#[derive(Clone, Debug, PartialEq)]
pub struct Likeness {
    /// Numbers of tasks.
    pub tasks: (usize, usize),
    /// Numbers of levels.
    pub levels: (usize, usize),
    /// Shares of the tasks on each level, half the sum of absolute differences: 0 the same, 1
    /// nothing in common. Workflows of different depth are compared level by level.
    pub width_distance: f64,
    /// Edges per task.
    pub edges_per_task: (f64, f64),
    /// Largest difference of the two distributions of run times (Kolmogorov and Smirnov).
    pub run_time_distance: f64,
    /// Run times at 10, 50 and 90 % of the tasks.
    pub run_times: [(f64, f64); 3],
    /// Comparison per kind of task, by name.
    pub kinds: Vec<KindLikeness>,
}

/// Comparison of the tasks of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct KindLikeness {
    /// The kind, with digits as `#`.
    pub kind: String,
    /// Shares of all tasks.
    pub share: (f64, f64),
    /// Run times at 10, 50 and 90 % of its tasks.
    pub run_times: [(f64, f64); 3],
}

impl Likeness {
    /// Compares a generated workflow with an original.
    pub fn of(original: &Workflow, generated: &Workflow) -> Likeness {
        let both = [original, generated];
        let [a, b] = both.map(Shape::of);
        let share = |shape: &Shape, level: usize, w: &Workflow| {
            f64::from(shape.widths.get(level).copied().unwrap_or(0)) / w.len() as f64
        };
        let gap = |level| (share(&a, level, original) - share(&b, level, generated)).abs();
        let depth = a.depth().max(b.depth());
        let [mut times_a, mut times_b] = both.map(|w| {
            let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            for task in w.tasks() {
                let kind = kind_pattern(w.kind_name(w.kind(task)));
                times.entry(kind).or_default().push(w.reference_seconds(task));
            }
            times.values_mut().for_each(|list| list.sort_by(f64::total_cmp));
            times
        });
        let all = |times: &BTreeMap<String, Vec<f64>>| {
            let mut all: Vec<f64> = times.values().flatten().copied().collect();
            all.sort_by(f64::total_cmp);
            all
        };
        let (all_a, all_b) = (all(&times_a), all(&times_b));
        let mut names: Vec<String> = times_a.keys().chain(times_b.keys()).cloned().collect();
        names.sort_unstable();
        names.dedup();
        let kinds = names.into_iter().map(|kind| {
            let (one, two) = (
                times_a.remove(&kind).unwrap_or_default(),
                times_b.remove(&kind).unwrap_or_default(),
            );
            KindLikeness {
                share: (
                    one.len() as f64 / original.len() as f64,
                    two.len() as f64 / generated.len() as f64,
                ),
                run_times: quantiles(&one, &two),
                kind,
            }
        });
        Likeness {
            tasks: (original.len(), generated.len()),
            levels: (a.depth(), b.depth()),
            width_distance: (0..depth).map(gap).sum::<f64>() / 2.0,
            edges_per_task: (
                original.edge_count() as f64 / original.len() as f64,
                generated.edge_count() as f64 / generated.len() as f64,
            ),
            run_time_distance: distance(&all_a, &all_b),
            run_times: quantiles(&all_a, &all_b),
            kinds: kinds.collect(),
        }
    }
}

fn quantiles(a: &[f64], b: &[f64]) -> [(f64, f64); 3] {
    [0.1, 0.5, 0.9].map(|share| (quantile(a, share), quantile(b, share)))
}

/// Kolmogorov and Smirnov's distance of two sorted samples.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let below =
        |list: &[f64], x: f64| list.partition_point(|y| *y <= x) as f64 / list.len().max(1) as f64;
    let gap = |&x: &f64| (below(a, x) - below(b, x)).abs();
    a.iter().chain(b).map(gap).fold(0.0, f64::max)
}
