//! The clusters of Grid'5000: nodes and measured speeds as published.

/// A cluster of equal nodes at a site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterFigures {
    /// Site.
    pub site: &'static str,
    /// Cluster.
    pub name: &'static str,
    /// Nodes.
    pub nodes: u32,
    /// Gflop/s of a node.
    pub gflops: f64,
    /// Nodes of each cabinet, which has a switch of its own; empty where one switch connects all nodes.
    pub cabinets: &'static [u32],
}

const fn cluster(
    site: &'static str,
    name: &'static str,
    nodes: u32,
    gflops: f64,
) -> ClusterFigures {
    ClusterFigures { site, name, nodes, gflops, cabinets: &[] }
}

/// The public description of about 2010: 9 sites, 25 clusters, 1,528 nodes.
pub const GRID5000: &[ClusterFigures] = &[
    cluster("bordeaux", "bordeplage", 51, 5.2297),
    cluster("bordeaux", "bordereau", 93, 8.8925),
    cluster("bordeaux", "borderline", 10, 13.357),
    cluster("grenoble", "adonis", 12, 23.681),
    cluster("grenoble", "edel", 72, 23.492),
    cluster("grenoble", "genepi", 34, 21.175),
    cluster("lille", "chicon", 26, 8.9618),
    cluster("lille", "chimint", 20, 23.531),
    cluster("lille", "chinqchint", 46, 22.270),
    cluster("lille", "chirloute", 8, 24.473),
    cluster("lyon", "capricorne", 56, 4.7233),
    cluster("lyon", "sagittaire", 79, 5.6693),
    ClusterFigures { cabinets: &[39, 35, 30, 40], ..cluster("nancy", "graphene", 144, 16.673) },
    ClusterFigures { cabinets: &[32, 28, 32], ..cluster("nancy", "griffon", 92, 20.678) },
    ClusterFigures {
        cabinets: &[36, 36, 36, 36, 36, 24, 36, 36, 22, 6, 6],
        ..cluster("orsay", "gdx", 310, 4.7153)
    },
    cluster("orsay", "netgdx", 30, 4.7144),
    cluster("rennes", "paradent", 64, 21.496),
    cluster("rennes", "paramount", 33, 12.910),
    cluster("rennes", "parapide", 25, 30.130),
    cluster("rennes", "parapluie", 40, 27.391),
    cluster("sophia", "helios", 56, 7.7318),
    cluster("sophia", "sol", 50, 8.9388),
    cluster("sophia", "suno", 45, 23.530),
    cluster("toulouse", "pastel", 80, 9.5674),
    cluster("toulouse", "violette", 52, 5.1143),
];

/// Eleven clusters of 2007, from which the compendium of configurations in [`selection`](super::selection) was
/// made; papers print no others.
pub const GRID5000_2007: &[ClusterFigures] = &[
    cluster("lille", "chuque", 53, 3.647),
    cluster("lille", "chti", 20, 4.311),
    cluster("lille", "chicon", 26, 4.384),
    cluster("nancy", "grillon", 47, 3.379),
    cluster("nancy", "grelon", 120, 3.185),
    cluster("rennes", "parasol", 64, 3.573),
    cluster("rennes", "paravent", 99, 3.364),
    cluster("rennes", "paraquad", 66, 4.603),
    cluster("sophia", "azur", 74, 3.258),
    cluster("sophia", "helios", 56, 3.675),
    cluster("sophia", "sol", 50, 4.389),
];

/// The core network: cities joined by 1.25 GB/s links; orsay attaches to paris.
pub(crate) const CORE: &[(&str, &str)] = &[
    ("lille", "paris"),
    ("paris", "nancy"),
    ("paris", "rennes"),
    ("paris", "lyon"),
    ("bordeaux", "lyon"),
    ("lyon", "grenoble"),
    ("lyon", "marseille"),
    ("marseille", "sophia"),
    ("marseille", "toulouse"),
];

/// The heterogeneous machines of the list-scheduling, QoS and multi-workflow studies: nodes of
/// each cluster of one site.
pub(crate) const MACHINES: &[(&str, &[(&str, u32)])] = &[
    ("grenoble-9", &[("adonis", 3), ("edel", 3), ("genepi", 3)]),
    ("grenoble-15", &[("adonis", 5), ("edel", 5), ("genepi", 5)]),
    ("rennes-even-8", &[("paradent", 2), ("paramount", 2), ("parapide", 2), ("parapluie", 2)]),
    ("rennes-even-16", &[("paradent", 4), ("paramount", 4), ("parapide", 4), ("parapluie", 4)]),
    ("rennes-8", &[("paradent", 3), ("paramount", 2), ("parapide", 1), ("parapluie", 2)]),
    ("rennes-16", &[("paradent", 7), ("paramount", 3), ("parapide", 2), ("parapluie", 4)]),
    ("rennes-32", &[("paradent", 13), ("paramount", 6), ("parapide", 4), ("parapluie", 9)]),
    ("sophia-8", &[("helios", 3), ("sol", 3), ("suno", 2)]),
    ("sophia-16", &[("helios", 6), ("sol", 5), ("suno", 5)]),
    ("sophia-32", &[("helios", 12), ("sol", 10), ("suno", 10)]),
    ("lille-8", &[("chicon", 2), ("chimint", 2), ("chinqchint", 4)]),
    ("lille-16", &[("chicon", 4), ("chimint", 4), ("chinqchint", 8)]),
    ("lille-32", &[("chicon", 9), ("chimint", 7), ("chinqchint", 16)]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_add_up() {
        let nodes: u32 = GRID5000.iter().map(|c| c.nodes).sum();
        assert_eq!((GRID5000.len(), nodes), (25, 1528));
        for c in GRID5000.iter().filter(|c| !c.cabinets.is_empty()) {
            assert_eq!(c.cabinets.iter().sum::<u32>(), c.nodes, "{}", c.name);
        }
        // The fastest of 2007 is about 45 % faster than the slowest.
        let speeds = GRID5000_2007.iter().map(|c| c.gflops);
        let (low, high) = speeds.fold((f64::MAX, 0.0f64), |(l, h), s| (l.min(s), h.max(s)));
        assert!((high / low - 1.445).abs() < 1e-3);
        for (name, parts) in MACHINES {
            let size: u32 = name.rsplit('-').next().unwrap().parse().unwrap();
            assert_eq!(parts.iter().map(|p| p.1).sum::<u32>(), size, "{name}");
        }
    }
}
