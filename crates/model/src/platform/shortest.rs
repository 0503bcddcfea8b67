//! Shortest-path routing inside a zone: the edges are the declared routes, the length of an
//! edge is the number of its links (not its latency).
//!
//! Floyd: R. W. Floyd, "Algorithm 97: Shortest path", CACM 5(6), 1962; all pairs, O(n^3) once,
//! a better path must be strictly shorter, intermediate nodes tried in order of declaration.
//! Dijkstra: E. W. Dijkstra, "A note on two problems in connexion with graphs", 1959; one source
//! at a time, O(e log n); among equally near nodes the one a route mentions first is settled first.
//! A Floyd zone of more than [`FLOYD_LIMIT`] nodes is searched one source at a time as well.

use super::zone::{DeclaredRoute, Member};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::OnceLock;

/// Most nodes for which all pairs are computed at once.
pub(super) const FLOYD_LIMIT: usize = 1024;

/// No predecessor: unreachable, or the source itself.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Adjacency of the members of a zone; nodes are numbered by first mention: in a Floyd zone by
/// their own declaration, in a Dijkstra zone by the first route that names them.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Member>,
    pub(super) node_of: HashMap<Member, u32>,
    /// Per node: neighbour and number of links on the way to it.
    edges: Vec<Vec<(u32, u32)>>,
    all_pairs: OnceLock<Box<[u32]>>,
}

impl Graph {
    /// The number of a member, a new one if it was not mentioned before.
    pub(super) fn node(&mut self, member: Member) -> u32 {
        *self.node_of.entry(member).or_insert_with(|| {
            self.nodes.push(member);
            self.edges.push(Vec::new());
            self.nodes.len() as u32 - 1
        })
    }

    /// Adds the edge(s) of a declared route.
    pub(super) fn add(&mut self, route: &DeclaredRoute) {
        let (src, dst) = (self.node(route.src), self.node(route.dst));
        if src == dst {
            return;
        }
        let length = route.links.len() as u32;
        self.edges[src as usize].push((dst, length));
        if route.symmetrical {
            self.edges[dst as usize].push((src, length));
        }
        self.all_pairs = OnceLock::new();
    }

    /// Predecessors on the shortest paths from `source`, by Floyd's table.
    pub(super) fn floyd(&self, source: u32) -> &[u32] {
        let n = self.nodes.len();
        let table = self.all_pairs.get_or_init(|| self.compute_all_pairs());
        &table[source as usize * n..][..n]
    }

    fn compute_all_pairs(&self) -> Box<[u32]> {
        let n = self.nodes.len();
        let mut cost = vec![u32::MAX; n * n];
        let mut previous = vec![NOWHERE; n * n];
        for (from, edges) in self.edges.iter().enumerate() {
            cost[from * n + from] = 0;
            for &(to, length) in edges {
                let at = from * n + to as usize;
                if length < cost[at] {
                    cost[at] = length;
                    previous[at] = from as u32;
                }
            }
        }
        for via in 0..n {
            for from in 0..n {
                let first = cost[from * n + via];
                if first == u32::MAX || from == via {
                    continue;
                }
                for to in 0..n {
                    let second = cost[via * n + to];
                    if second != u32::MAX && first.saturating_add(second) < cost[from * n + to] {
                        cost[from * n + to] = first + second;
                        previous[from * n + to] = previous[via * n + to];
                    }
                }
            }
        }
        previous.into()
    }

    /// Predecessors on the shortest paths from `source`, by Dijkstra's algorithm.
    pub(super) fn dijkstra(&self, source: u32) -> Box<[u32]> {
        let n = self.nodes.len();
        let mut cost = vec![u32::MAX; n];
        let mut previous = vec![NOWHERE; n];
        let mut heap = BinaryHeap::from([Reverse((0, source))]);
        cost[source as usize] = 0;
        while let Some(Reverse((reached, node))) = heap.pop() {
            if reached > cost[node as usize] {
                continue;
            }
            for &(to, length) in &self.edges[node as usize] {
                let through = reached.saturating_add(length);
                if through < cost[to as usize] {
                    cost[to as usize] = through;
                    previous[to as usize] = node;
                    heap.push(Reverse((through, to)));
                }
            }
        }
        previous.into()
    }
}
