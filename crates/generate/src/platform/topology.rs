//! Random graphs on the unit square, for synthetic networks.
//!
//! Ring, star, line, clique; edge probabilities by distance d of L = sqrt(2): uniform (alpha),
//! exponential (alpha exp(-d / (L - d))), Waxman (alpha exp(-d / (beta L))), locality after
//! Zegura (alpha within the radius, beta beyond); growth by degree after Barabási and Albert; and
//! a hierarchy: domains joined as one graph, each a graph of its own. Where ten draws give no
//! connected graph, the components of the last are joined by the shortest missing edges.

use crate::draw::{Draws, Seed};
use crate::error::{Result, bad};

/// The longest distance of two points on the square.
const DIAMETER: f64 = std::f64::consts::SQRT_2;

/// The law of the links between nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// A circle.
    Ring,
    /// All to the first.
    Star,
    /// A row.
    Line,
    /// All to all.
    Clique,
    /// The same probability for every pair.
    Uniform {
        /// The probability.
        alpha: f64,
    },
    /// Falls with distance to none at the longest.
    Exponential {
        /// Probability at distance 0.
        alpha: f64,
    },
    /// Falls exponentially with distance.
    Waxman {
        /// Probability at distance 0.
        alpha: f64,
        /// Reach, relative to the longest distance.
        beta: f64,
    },
    /// One probability near, another far.
    Locality {
        /// Within the radius.
        alpha: f64,
        /// Beyond it.
        beta: f64,
        /// Largest distance that counts as near.
        radius: f64,
    },
    /// Each new node joins earlier ones by their degree.
    BarabasiAlbert {
        /// Links of a new node.
        links: usize,
    },
    /// A Waxman graph of the first nodes of domains, and a Waxman graph inside each domain; node i is in domain
    /// i mod `domains`.
    Hierarchy {
        /// Number of domains.
        domains: usize,
        /// As for Waxman.
        alpha: f64,
        /// As for Waxman.
        beta: f64,
    },
}

/// Points and edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Places on the unit square.
    pub points: Vec<(f64, f64)>,
    /// Pairs of nodes, the lower first.
    pub edges: Vec<(usize, usize)>,
}

impl Network {
    /// Draws a connected network.
    pub fn draw(nodes: usize, model: Model, seed: Seed) -> Result<Network> {
        if nodes == 0 || nodes > 20_000 {
            return Err(bad("nodes", nodes, "a network has 1 to 20000 nodes"));
        }
        let mut places = seed.draws("topology/places");
        let mut draws = seed.draws("topology/edges");
        let mut network = Network { points: place(nodes, model, &mut places), edges: vec![] };
        for _ in 0..10 {
            network.edges = network.draw_edges(model, &mut draws);
            if network.components().len() == 1 {
                return Ok(network);
            }
        }
        network.join();
        Ok(network)
    }

    /// Distance of two nodes.
    pub fn distance(&self, a: usize, b: usize) -> f64 {
        let ((x, y), (u, v)) = (self.points[a], self.points[b]);
        (x - u).hypot(y - v)
    }

    /// Number of edges at every node.
    pub fn degrees(&self) -> Vec<usize> {
        let mut degrees = vec![0; self.points.len()];
        for &(a, b) in &self.edges {
            degrees[a] += 1;
            degrees[b] += 1;
        }
        degrees
    }

    fn draw_edges(&self, model: Model, draws: &mut Draws) -> Vec<(usize, usize)> {
        let n = self.points.len();
        let pairs = |keep: &mut dyn FnMut(usize, usize) -> bool| {
            let mut edges = Vec::new();
            for a in 0..n {
                edges.extend((a + 1..n).filter(|&b| keep(a, b)).map(|b| (a, b)));
            }
            edges
        };
        match model {
            Model::Line => (1..n).map(|b| (b - 1, b)).collect(),
            Model::Star => (1..n).map(|b| (0, b)).collect(),
            Model::Ring => {
                let mut edges: Vec<_> = (1..n).map(|b| (b - 1, b)).collect();
                if n > 2 {
                    edges.push((0, n - 1));
                }
                edges
            }
            Model::Clique => pairs(&mut |_, _| true),
            Model::Uniform { alpha } => pairs(&mut |_, _| draws.chance(alpha)),
            Model::Exponential { alpha } => pairs(&mut |a, b| {
                let d = self.distance(a, b);
                // The bound only avoids a division by 0 at opposite corners.
                draws.chance(alpha * (-d / (DIAMETER - d).max(1e-9)).exp())
            }),
            Model::Waxman { alpha, beta } => pairs(&mut |a, b| {
                draws.chance(alpha * (-self.distance(a, b) / (beta * DIAMETER)).exp())
            }),
            Model::Locality { alpha, beta, radius } => pairs(&mut |a, b| {
                draws.chance(if self.distance(a, b) < radius { alpha } else { beta })
            }),
            Model::BarabasiAlbert { links } => grow(n, links.max(1), draws),
            Model::Hierarchy { domains, alpha, beta } => {
                let domain = |node: usize| node % domains.max(1);
                let waxman = |d: f64, scale: f64| alpha * (-d / (beta * scale)).exp();
                let mut edges = pairs(&mut |a, b| {
                    // A domain is about 1 / (2 sqrt(domains)) wide.
                    let scale = DIAMETER / (2.0 * (domains as f64).sqrt());
                    domain(a) == domain(b) && draws.chance(waxman(self.distance(a, b), scale))
                });
                let heads = domains.min(n);
                for a in 0..heads {
                    for b in a + 1..heads {
                        if draws.chance(waxman(self.distance(a, b), DIAMETER)) {
                            edges.push((a, b));
                        }
                    }
                }
                edges.sort_unstable();
                edges.dedup();
                edges
            }
        }
    }

    /// Component of every node, as lists of nodes.
    fn components(&self) -> Vec<Vec<usize>> {
        let n = self.points.len();
        let mut near = vec![Vec::new(); n];
        for &(a, b) in &self.edges {
            near[a].push(b);
            near[b].push(a);
        }
        let mut seen = vec![false; n];
        let mut parts = Vec::new();
        for start in 0..n {
            if seen[start] {
                continue;
            }
            seen[start] = true;
            let mut part = vec![start];
            let mut next = 0;
            while let Some(&node) = part.get(next) {
                next += 1;
                for &other in &near[node] {
                    if !seen[other] {
                        seen[other] = true;
                        part.push(other);
                    }
                }
            }
            parts.push(part);
        }
        parts
    }

    /// Joins components until one is left: each time the second one, by the shortest edge to any other.
    fn join(&mut self) {
        loop {
            let mut parts = self.components().into_iter();
            let (Some(first), Some(second)) = (parts.next(), parts.next()) else { return };
            let inside: std::collections::HashSet<usize> = second.iter().copied().collect();
            let outside = (0..self.points.len()).filter(|node| !inside.contains(node));
            let near = |a: usize| {
                let far = |&b: &usize| self.distance(a, b);
                let best = second.iter().copied().min_by(|x, y| far(x).total_cmp(&far(y)));
                best.map(|b| (self.distance(a, b), a.min(b), a.max(b)))
            };
            let shortest = outside.filter_map(near).min_by(|x, y| x.0.total_cmp(&y.0));
            match shortest {
                Some((_, a, b)) => self.edges.push((a, b)),
                None => self.edges.push((first[0], second[0])),
            }
        }
    }
}

fn place(nodes: usize, model: Model, draws: &mut Draws) -> Vec<(f64, f64)> {
    let mut anywhere = || (draws.unit(), draws.unit());
    let Model::Hierarchy { domains, .. } = model else {
        return (0..nodes).map(|_| anywhere()).collect();
    };
    // The first node of a domain is its head, the others are uniform in a square around it.
    let heads: Vec<(f64, f64)> = (0..domains.clamp(1, nodes)).map(|_| anywhere()).collect();
    let width = 0.5 / (heads.len() as f64).sqrt();
    let around = |node: usize| {
        let (x, y) = heads[node % heads.len()];
        if node < heads.len() {
            return (x, y);
        }
        let (dx, dy) = (draws.uniform(-0.5, 0.5) * width, draws.uniform(-0.5, 0.5) * width);
        ((x + dx).clamp(0.0, 1.0), (y + dy).clamp(0.0, 1.0))
    };
    (0..nodes).map(around).collect()
}

/// Barabási and Albert: a new node joins `links` earlier ones with probability by degree.
fn grow(nodes: usize, links: usize, draws: &mut Draws) -> Vec<(usize, usize)> {
    let mut edges = Vec::with_capacity(nodes * links);
    // Every end of every edge, and node 0 once more, which has no edge at first: a uniform draw from the list is a
    // draw by degree.
    let mut ends: Vec<usize> = vec![0];
    for node in 1..nodes {
        let mut chosen = std::collections::BTreeSet::new();
        while chosen.len() < links.min(node) {
            chosen.insert(ends[draws.below(ends.len())]);
        }
        for other in chosen {
            edges.push((other, node));
            ends.push(other);
            ends.push(node);
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_models_are_connected_and_simple() {
        let models = [
            Model::Ring,
            Model::Star,
            Model::Line,
            Model::Clique,
            Model::Uniform { alpha: 0.02 },
            Model::Exponential { alpha: 0.2 },
            Model::Waxman { alpha: 0.4, beta: 0.1 },
            Model::Locality { alpha: 0.5, beta: 0.001, radius: 0.15 },
            Model::BarabasiAlbert { links: 2 },
            Model::Hierarchy { domains: 5, alpha: 0.8, beta: 0.3 },
        ];
        for model in models {
            for nodes in [1, 2, 60] {
                let network = Network::draw(nodes, model, Seed::new(7)).unwrap();
                assert_eq!(network.components().len(), 1, "{model:?}");
                let distinct: std::collections::HashSet<_> = network.edges.iter().collect();
                assert_eq!(distinct.len(), network.edges.len(), "{model:?}");
                assert!(network.edges.iter().all(|&(a, b)| a < b && b < nodes), "{model:?}");
            }
        }
    }

    #[test]
    fn waxman_prefers_short_edges_and_growth_makes_hubs() {
        let waxman = Model::Waxman { alpha: 0.9, beta: 0.1 };
        let network = Network::draw(200, waxman, Seed::new(2)).unwrap();
        let length: f64 = network.edges.iter().map(|&(a, b)| network.distance(a, b)).sum();
        let mean = length / network.edges.len() as f64;
        // The mean distance of two random points of the square is 0.52.
        assert!(mean < 0.3, "{mean}");
        let grown = Network::draw(500, Model::BarabasiAlbert { links: 2 }, Seed::new(2)).unwrap();
        let degrees = grown.degrees();
        assert!(degrees.iter().max().unwrap() > &25, "no hub");
        assert_eq!(degrees.iter().sum::<usize>(), 2 * grown.edges.len());
    }
}
