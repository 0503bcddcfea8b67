//! Layered drawing of a directed graph after Sugiyama, Tagawa and Toda (IEEE Trans. SMC 11(2),
//! 1981): long edges are cut into pieces from level to level, the order inside the levels comes
//! from barycentre sweeps, the positions from least squares under the minimum distances.

use slackline_model::workflow::Shape;
use slackline_model::{TaskId, Workflow};

/// Most points (tasks and bends of edges) laid out.
const MOST_POINTS: usize = 6000;
/// Sweeps down and up; orders settle after a few.
const SWEEPS: usize = 12;

/// A task, or the place where a long edge crosses a level.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) task: Option<TaskId>,
    pub(super) level: usize,
    /// Position, in units of the distance between neighbouring tasks.
    pub(super) x: f64,
    above: Vec<u32>,
    below: Vec<u32>,
}

/// A laid-out graph.
pub(super) struct Layers {
    pub(super) points: Vec<Point>,
    /// Points of each level from left to right.
    pub(super) order: Vec<Vec<u32>>,
    /// Every dependency as the points it passes.
    pub(super) paths: Vec<Vec<u32>>,
}

impl Layers {
    /// Lays out a workflow, unless its long edges make it too large.
    pub(super) fn of(workflow: &Workflow, shape: &Shape) -> Option<Layers> {
        let mut layers = Layers::cut(workflow, shape)?;
        let mut best = (layers.crossings(), layers.order.clone());
        for sweep in 0..SWEEPS {
            layers.sweep(sweep % 2 == 0);
            let crossings = layers.crossings();
            if crossings < best.0 {
                best = (crossings, layers.order.clone());
            }
        }
        layers.order = best.1;
        layers.place();
        Some(layers)
    }

    /// Points and paths, in task order.
    fn cut(workflow: &Workflow, shape: &Shape) -> Option<Layers> {
        let point = |task, level| Point { task, level, x: 0.0, above: vec![], below: vec![] };
        let mut points: Vec<Point> =
            workflow.tasks().map(|t| point(Some(t), shape.level[t.index()] as usize)).collect();
        let mut paths = Vec::with_capacity(workflow.edge_count());
        for edge in workflow.edges() {
            let (from, to) = workflow.edge_ends(edge);
            let mut path = vec![from.0];
            for level in points[from.index()].level + 1..points[to.index()].level {
                path.push(points.len() as u32);
                points.push(point(None, level));
                if points.len() > MOST_POINTS {
                    return None;
                }
            }
            path.push(to.0);
            for pair in path.windows(2) {
                points[pair[0] as usize].below.push(pair[1]);
                points[pair[1] as usize].above.push(pair[0]);
            }
            paths.push(path);
        }
        let mut order = vec![Vec::new(); shape.depth()];
        for (index, point) in points.iter().enumerate() {
            order[point.level].push(index as u32);
        }
        Some(Layers { points, order, paths })
    }

    /// Orders each level by the mean position of the neighbours on the level before it.
    fn sweep(&mut self, down: bool) {
        let depth = self.order.len();
        for step in 1..depth {
            let (level, fixed) =
                if down { (step, step - 1) } else { (depth - 1 - step, depth - step) };
            let mut rank = vec![0.0; self.points.len()];
            for (position, &point) in self.order[fixed].iter().enumerate() {
                rank[point as usize] = position as f64;
            }
            let key = |&point: &u32, position: usize| {
                let point = &self.points[point as usize];
                let neighbours = if down { &point.above } else { &point.below };
                match neighbours.len() {
                    0 => position as f64,
                    n => neighbours.iter().map(|&p| rank[p as usize]).sum::<f64>() / n as f64,
                }
            };
            let mut keyed: Vec<(f64, usize, u32)> = self.order[level]
                .iter()
                .enumerate()
                .map(|(position, point)| (key(point, position), position, *point))
                .collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            self.order[level] = keyed.into_iter().map(|(_, _, point)| point).collect();
        }
    }

    /// Number of pairs of edges that cross between neighbouring levels.
    fn crossings(&self) -> usize {
        let mut rank = vec![0usize; self.points.len()];
        for level in &self.order {
            for (position, &point) in level.iter().enumerate() {
                rank[point as usize] = position;
            }
        }
        let mut total = 0;
        for level in &self.order {
            let mut ends: Vec<usize> = Vec::new();
            for &point in level {
                let mut row: Vec<usize> =
                    self.points[point as usize].below.iter().map(|&p| rank[p as usize]).collect();
                row.sort_unstable();
                ends.extend(row);
            }
            total += inversions(&ends);
        }
        total
    }

    /// Positions: each level as near to its neighbours' means as the distances allow.
    fn place(&mut self) {
        for level in 0..self.order.len() {
            let middle = (self.order[level].len() as f64 - 1.0) / 2.0;
            for (position, &point) in self.order[level].iter().enumerate() {
                self.points[point as usize].x = position as f64 - middle;
            }
        }
        let depth = self.order.len();
        for sweep in 0..SWEEPS * 2 {
            for step in 0..depth {
                let level = if sweep % 2 == 0 { step } else { depth - 1 - step };
                self.settle(level, sweep + 1 < SWEEPS, sweep % 2 == 0);
            }
        }
    }

    fn settle(&mut self, level: usize, one_side: bool, down: bool) {
        let wish = |point: &Point| {
            let sides: [&[u32]; 2] = match (one_side, down) {
                (true, true) => [&point.above, &[]],
                (true, false) => [&[], &point.below],
                _ => [&point.above, &point.below],
            };
            let count = sides[0].len() + sides[1].len();
            let sum: f64 =
                sides.iter().flat_map(|s| s.iter()).map(|&p| self.points[p as usize].x).sum();
            if count == 0 { point.x } else { sum / count as f64 }
        };
        let wishes: Vec<Wish> = self.order[level]
            .iter()
            .map(|&index| {
                let point = &self.points[index as usize];
                // Bends are light to pass but want their edge straight.
                let (size, weight) = if point.task.is_some() { (1.0, 1.0) } else { (0.4, 3.0) };
                Wish { x: wish(point), size, weight }
            })
            .collect();
        for (&index, x) in self.order[level].iter().zip(spread(&wishes)) {
            self.points[index as usize].x = x;
        }
    }
}

/// The preferred position of a point, its size, and the weight of its preference.
struct Wish {
    x: f64,
    size: f64,
    weight: f64,
}

/// Positions in the given order, at least half of both sizes apart, that are nearest to the
/// wishes in least squares: isotonic regression by pooling neighbours that violate.
fn spread(wishes: &[Wish]) -> Vec<f64> {
    let mut offset = 0.0;
    let mut offsets = Vec::with_capacity(wishes.len());
    for (i, wish) in wishes.iter().enumerate() {
        if i > 0 {
            offset += (wishes[i - 1].size + wish.size) / 2.0;
        }
        offsets.push(offset);
    }
    // Pools of (weighted sum, weight, members).
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for (wish, offset) in wishes.iter().zip(&offsets) {
        pools.push(((wish.x - offset) * wish.weight, wish.weight, 1));
        while let [.., a, b] = pools.as_slice()
            && a.0 / a.1 > b.0 / b.1
        {
            let joined = (a.0 + b.0, a.1 + b.1, a.2 + b.2);
            pools.truncate(pools.len() - 2);
            pools.push(joined);
        }
    }
    let bases = pools.iter().flat_map(|&(sum, weight, n)| std::iter::repeat_n(sum / weight, n));
    bases.zip(&offsets).map(|(base, offset)| base + offset).collect()
}

/// Pairs out of order.
fn inversions(values: &[usize]) -> usize {
    let Some(most) = values.iter().max() else { return 0 };
    // Fenwick tree over the values seen so far.
    let mut tree = vec![0usize; most + 2];
    let mut total = 0;
    for (seen, &value) in values.iter().enumerate() {
        let (mut at, mut not_above) = (value + 1, 0);
        while at > 0 {
            not_above += tree[at];
            at &= at - 1;
        }
        total += seen - not_above;
        let mut at = value + 1;
        while at < tree.len() {
            tree[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::{Task, WorkflowBuilder};

    fn build(tasks: usize, edges: &[(u32, u32)]) -> Workflow {
        let mut b = WorkflowBuilder::new("w");
        for i in 0..tasks {
            b.add_task(Task::new(format!("t{i}"), 1.0)).unwrap();
        }
        for &(from, to) in edges {
            b.add_edge(TaskId(from), TaskId(to), 1.0).unwrap();
        }
        b.build().unwrap()
    }

    #[test]
    fn crossings_that_can_go_are_gone() {
        // Three chains whose lower ends are listed in reverse.
        let w = build(6, &[(0, 5), (1, 4), (2, 3)]);
        let layers = Layers::of(&w, &Shape::of(&w)).unwrap();
        assert_eq!(layers.crossings(), 0);
        assert_eq!(inversions(&[2, 1, 0]), 3);
        assert_eq!(inversions(&[0, 0, 1, 1]), 0);
    }

    #[test]
    fn long_edges_bend_once_per_level_and_points_keep_their_distance() {
        let w = build(4, &[(0, 1), (1, 2), (2, 3), (0, 3)]);
        let layers = Layers::of(&w, &Shape::of(&w)).unwrap();
        assert!(layers.paths.iter().any(|p| p.len() == 4), "0 to 3 passes two levels");
        for level in &layers.order {
            for pair in level.windows(2) {
                let (a, b) = (&layers.points[pair[0] as usize], &layers.points[pair[1] as usize]);
                assert!(b.x - a.x >= 0.4 - 1e-9);
            }
        }
    }

    #[test]
    fn wishes_are_met_in_least_squares() {
        let wish = |x| Wish { x, size: 1.0, weight: 1.0 };
        // Both want 0 and must lie 1 apart: half a step to either side.
        assert_eq!(spread(&[wish(0.0), wish(0.0)]), [-0.5, 0.5]);
        assert_eq!(spread(&[wish(0.0), wish(5.0)]), [0.0, 5.0]);
    }
}
