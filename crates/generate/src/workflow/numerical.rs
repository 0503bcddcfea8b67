//! Task graphs of numerical kernels: Gaussian elimination, fast Fourier transform, Strassen's
//! matrix product, Laplace equation. Only the structure; costs are drawn as for random graphs.

use crate::error::{Result, bad};
use crate::graph::Graph;
use slackline_model::parameter::{Kind, Parameter};

pub(crate) const GAUSS: &[Parameter] = &[Parameter::new(
    "size",
    Kind::Count(2, 30_000),
    "10",
    "matrix size m: (m^2 + m - 2) / 2 tasks",
)
.published("5, 10, 15, 20, 30, 50, 100")];

/// Gaussian elimination of an `m x m` matrix (Amoura et al. 1998): pivots T(k,k), updates
/// T(k,j). (m^2 + m - 2) / 2 tasks, m (m - 1) - 1 edges.
pub fn gauss(m: usize) -> Result<Graph> {
    if m < 2 {
        return Err(bad("size", m, "an elimination needs a 2 x 2 matrix"));
    }
    Graph::check_size("tasks", m.saturating_mul(m + 1) / 2)?;
    let mut graph = Graph::new(format!("gauss-{m}"), &["pivot", "update"]);
    let mut above: Vec<u32> = Vec::new(); // updates of the step before, by column
    for k in 1..m {
        let pivot = graph.add(0, 2 * k - 2);
        if let Some(&column) = above.first() {
            graph.edge(column, pivot); // T(k-1,k) -> T(k,k)
        }
        let updates: Vec<u32> = (k + 1..=m).map(|_| graph.add(1, 2 * k - 1)).collect();
        for (at, &update) in updates.iter().enumerate() {
            if let Some(&column) = above.get(at + 1) {
                graph.edge(column, update); // T(k-1,j) -> T(k,j)
            }
            graph.edge(pivot, update);
        }
        above = updates;
    }
    Ok(graph)
}

pub(crate) const FFT: &[Parameter] = &[Parameter::new(
    "points",
    Kind::Count(2, 1 << 24),
    "16",
    "points n, a power of two: 2 n - 1 recursive calls and n log2 n butterflies",
)
.published("2, 4, 8, 16, 32, 64")];

/// Fast Fourier transform on `n` points: a binary tree of 2 n - 1 recursive calls, then
/// log2 n stages of n butterflies; butterfly (s, i) waits for (s-1, i) and (s-1, i xor 2^(s-1)).
pub fn fft(points: usize) -> Result<Graph> {
    if points < 2 || !points.is_power_of_two() {
        return Err(bad("points", points, "give a power of two, at least 2"));
    }
    let stages = points.ilog2() as usize;
    Graph::check_size("tasks", points.saturating_mul(stages + 2))?;
    let mut graph = Graph::new(format!("fft-{points}"), &["call", "butterfly"]);
    for call in 0..2 * points as u32 - 1 {
        graph.add(0, (call + 1).ilog2() as usize);
        if call > 0 {
            graph.edge((call - 1) / 2, call);
        }
    }
    let mut before = points as u32 - 1; // the leaves
    for stage in 1..=stages {
        let first = graph.nodes.len() as u32;
        for i in 0..points as u32 {
            let task = graph.add(1, stages + stage);
            let other = i ^ (1 << (stage - 1));
            graph.edge(before + i.min(other), task);
            graph.edge(before + i.max(other), task);
        }
        before = first;
    }
    Ok(graph)
}

/// Strassen's product of two 2 x 2 block matrices: ten sums, seven products, eight sums in tree
/// form, so that paths from products to results differ by one addition at most. 25 tasks.
pub fn strassen() -> Result<Graph> {
    let mut graph = Graph::new("strassen", &["sum", "product"]);
    for _ in 0..10 {
        graph.add(0, 0);
    }
    // Products 10..17 and the sums they need; sums in the order A11+A22, B11+B22, A21+A22,
    // B12-B22, B21-B11, A11+A12, A21-A11, B11+B12, A12-A22, B21+B22.
    let products: [&[u32]; 7] = [&[0, 1], &[2], &[3], &[4], &[5], &[6, 7], &[8, 9]];
    for sums in products {
        let product = graph.add(1, 1);
        for &sum in sums {
            graph.edge(sum, product);
        }
    }
    // M1 is task 10 ... M7 is task 16.
    let mut plus = |level: usize, a: u32, b: u32| {
        let sum = graph.add(0, level);
        graph.edge(a.min(b), sum);
        graph.edge(a.max(b), sum);
        sum
    };
    let (m1, m2, m3, m4, m5, m6, m7) = (10, 11, 12, 13, 14, 15, 16);
    let (left, right) = (plus(2, m1, m4), plus(2, m5, m7));
    plus(3, left, right); // C11
    plus(2, m3, m5); // C12
    plus(2, m2, m4); // C21
    let (left, right) = (plus(2, m1, m2), plus(2, m3, m6));
    plus(3, left, right); // C22
    Ok(graph)
}

pub(crate) const LAPLACE: &[Parameter] =
    &[Parameter::new("size", Kind::Count(1, 30_000), "10", "grid size m: m^2 tasks")];

/// Laplace equation on an `m x m` grid (Wu and Gajski 1990): each point waits for its left and
/// upper neighbours. m^2 tasks, 2 m (m - 1) edges.
pub fn laplace(m: usize) -> Result<Graph> {
    if m == 0 {
        return Err(bad("size", m, "a grid needs a point"));
    }
    Graph::check_size("edges", 2 * m.saturating_mul(m))?;
    let mut graph = Graph::new(format!("laplace-{m}"), &["point"]);
    for row in 0..m {
        for column in 0..m {
            let task = graph.add(0, row + column);
            if row > 0 {
                graph.edge(task - m as u32, task);
            }
            if column > 0 {
                graph.edge(task - 1, task);
            }
        }
    }
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauss_counts() {
        let sizes = [5, 10, 15, 20, 30, 50, 100];
        let tasks = [14, 54, 119, 209, 464, 1274, 5049];
        for (m, tasks) in sizes.into_iter().zip(tasks) {
            let graph = gauss(m).unwrap();
            assert_eq!(graph.nodes.len(), tasks);
            assert_eq!(graph.edges.len(), m * (m - 1) - 1);
        }
        // m = 2 by hand: T11 -> T12.
        assert_eq!(gauss(2).unwrap().edges, [(0, 1)]);
        assert!(gauss(1).is_err());
    }

    #[test]
    fn fft_counts_and_all_paths_are_alike() {
        for (points, tasks) in [(2, 5), (4, 15), (8, 39), (16, 95), (32, 223), (64, 511)] {
            let graph = fft(points).unwrap();
            assert_eq!(graph.nodes.len(), tasks);
            // The tree has 2 n - 2 edges, every butterfly two.
            let butterflies = tasks - (2 * points - 1);
            assert_eq!(graph.edges.len(), 2 * points - 2 + 2 * butterflies);
            let level = |t: u32| graph.nodes[t as usize].level;
            assert!(graph.edges.iter().all(|&(a, b)| level(b) == level(a) + 1));
        }
        assert!(fft(12).is_err());
    }

    #[test]
    fn strassen_has_ten_sums_seven_products_eight_sums() {
        let graph = strassen().unwrap();
        assert_eq!(graph.nodes.len(), 25);
        let products: Vec<usize> = (0..25).filter(|&t| graph.nodes[t].kind == 1).collect();
        assert_eq!(products, [10, 11, 12, 13, 14, 15, 16]);
        let exits = (0..25).filter(|&t| graph.edges.iter().all(|e| e.0 != t)).count();
        assert_eq!(exits, 4); // C11, C12, C21, C22
    }

    #[test]
    fn laplace_counts() {
        let graph = laplace(7).unwrap();
        assert_eq!((graph.nodes.len(), graph.edges.len()), (49, 2 * 7 * 6));
    }
}
