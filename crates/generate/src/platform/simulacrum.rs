//! Synthetic platforms in the manner of SIMULACRUM (Suter et al.): a random network, nodes
//! promoted to hosts or clusters by the first rule that fits them, edges labelled by their
//! length. Nodes that no rule promotes are routers.

use super::grid5000::connect;
use super::topology::{Model, Network};
use crate::draw::{Draws, Seed};
use crate::error::{GenerateError, Result};
use slackline_model::Platform;
use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::platform::{
    ClusterSpec, HostSpec, LinkShape, LinkSpec, Member, PlatformBuilder, RoutingKind, Sharing,
};

/// A value that is fixed (equal ends) or drawn uniformly.
pub type Range = (f64, f64);

/// The nodes to which a rule applies; all its conditions must hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeFilter {
    /// Bounds of the degree.
    pub degree: (usize, usize),
    /// Probability.
    pub chance: f64,
    /// Only while there are fewer hosts than this.
    pub hosts_below: usize,
}

/// Every node.
pub const ANY: NodeFilter =
    NodeFilter { degree: (0, usize::MAX), chance: 1.0, hosts_below: usize::MAX };
/// Nodes of one edge.
pub const LEAF: NodeFilter = NodeFilter { degree: (0, 1), ..ANY };

/// The element that replaces a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Promotion {
    /// One host of a speed, flop/s.
    Host(Range),
    /// A cluster.
    Cluster {
        /// Hosts.
        count: Range,
        /// Flop/s of each.
        speed: Range,
        /// Bytes/s of their links.
        bandwidth: f64,
        /// Seconds of their links.
        latency: f64,
        /// Bytes/s of the backbone.
        backbone: f64,
    },
}

/// The label of an edge: values per unit of length are added to the fixed ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeLabel {
    /// For edges at most this long.
    pub up_to: f64,
    /// Bytes/s.
    pub bandwidth: Range,
    /// Seconds.
    pub latency: Range,
    /// Seconds per unit of length.
    pub latency_per_length: f64,
}

/// A recipe for a platform.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Topology of the nodes.
    pub model: Model,
    /// Number of nodes.
    pub nodes: usize,
    /// First rule that fits promotes.
    pub promoters: Vec<(NodeFilter, Promotion)>,
    /// First label that fits labels.
    pub labels: Vec<EdgeLabel>,
}

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "community",
        Kind::Choice(&["grid", "cloud", "volunteer", "distributed", "networking", "mixed"]),
        "grid",
        "which nodes become hosts or clusters, and how links are labelled",
    )
    .published("the communities of the SIMULACRUM table"),
    Parameter::new(
        "topology",
        Kind::Choice(&[
            "ring",
            "star",
            "line",
            "clique",
            "uniform",
            "exponential",
            "waxman",
            "locality",
            "barabasi-albert",
            "hierarchy",
        ]),
        "auto",
        "model of the network; auto: the community's",
    ),
    Parameter::new("nodes", Kind::Count(1, 20_000), "30", "nodes of the network"),
    Parameter::new("alpha", Kind::Number(0.0, 1.0), "0.4", "probability of an edge at distance 0"),
    Parameter::new(
        "beta",
        Kind::Number(0.0, 10.0),
        "0.15",
        "waxman, hierarchy: reach; locality: probability of a far edge",
    ),
    Parameter::new(
        "radius",
        Kind::Number(0.0, 2.0),
        "0.2",
        "locality: what is near, on a square of side 1",
    ),
    Parameter::new("links", Kind::Count(1, 1000), "2", "barabasi-albert: links of a new node"),
    Parameter::new("domains", Kind::Count(1, 10_000), "5", "hierarchy: number of domains"),
];

impl Recipe {
    pub(crate) fn read(s: &Values) -> Result<Recipe> {
        let (alpha, beta) = (s.number("alpha")?, s.number("beta")?);
        let links = s.count("links")?;
        let community = s.word("community");
        let topology = match (s.word("topology"), community) {
            ("", "networking" | "volunteer" | "cloud") => "barabasi-albert",
            ("", "grid") => "hierarchy",
            ("", _) => "waxman",
            (named, _) => named,
        };
        let model = match topology {
            "ring" => Model::Ring,
            "star" => Model::Star,
            "line" => Model::Line,
            "clique" => Model::Clique,
            "uniform" => Model::Uniform { alpha },
            "exponential" => Model::Exponential { alpha },
            "locality" => Model::Locality { alpha, beta, radius: s.number("radius")? },
            "barabasi-albert" => Model::BarabasiAlbert { links },
            "hierarchy" => Model::Hierarchy { domains: s.count("domains")?, alpha, beta },
            _ => Model::Waxman { alpha, beta },
        };
        let (promoters, labels) = community_rules(community);
        Ok(Recipe { model, nodes: s.count("nodes")?, promoters, labels })
    }

    /// Draws the platform.
    pub fn platform(&self, seed: Seed) -> Result<Platform> {
        let network = Network::draw(self.nodes, self.model, seed)?;
        let mut b = PlatformBuilder::new("simulacrum");
        let routing = if self.nodes <= 200 { RoutingKind::Floyd } else { RoutingKind::Dijkstra };
        let root = b.add_zone(None, "simulacrum", routing)?;
        let mut draws = seed.draws("simulacrum/nodes");
        let degrees = network.degrees();
        let mut ends = Vec::with_capacity(self.nodes);
        for (node, &degree) in degrees.iter().enumerate() {
            let hosts = b.host_count();
            let fits = |filter: &NodeFilter, draws: &mut Draws| {
                (filter.degree.0..=filter.degree.1).contains(&degree)
                    && hosts < filter.hosts_below
                    && draws.chance(filter.chance)
            };
            let rule = self.promoters.iter().find(|(filter, _)| fits(filter, &mut draws));
            let mut value = |(low, high): Range| draws.uniform(low, high);
            ends.push(match rule.map(|(_, promotion)| *promotion) {
                None => (Member::Router(b.add_router(root, format!("r{node}"))?), None),
                Some(Promotion::Host(speed)) => {
                    let spec = HostSpec::new(format!("h{node}"), value(speed));
                    (Member::Host(b.add_host(root, spec)?), None)
                }
                Some(Promotion::Cluster { count, speed, bandwidth, latency, backbone }) => {
                    let count = value(count).round().max(1.0) as u32;
                    let link = LinkShape { bandwidth, latency };
                    let mut spec = ClusterSpec::flat(format!("c{node}"), count, value(speed), link);
                    spec.backbone =
                        Some((LinkShape { bandwidth: backbone, latency }, Sharing::Shared));
                    let router = spec.router_name();
                    let zone = b.add_cluster(Some(root), spec)?;
                    (Member::Zone(zone), Some(b.member(&router)?))
                }
            });
        }
        if b.host_count() == 0 {
            let why = "no node became a host: try more nodes or another seed";
            return Err(GenerateError::Impossible(why.into()));
        }
        let mut draws = seed.draws("simulacrum/links");
        for &(from, to) in &network.edges {
            let length = network.distance(from, to);
            let label = self.labels.iter().find(|label| length <= label.up_to);
            let Some(label) = label.or(self.labels.last()) else { continue };
            let latency = draws.uniform(label.latency.0, label.latency.1);
            let bandwidth = draws.uniform(label.bandwidth.0, label.bandwidth.1);
            let latency = latency + label.latency_per_length * length;
            let link = b.add_link(LinkSpec::new(format!("l{from}-{to}"), bandwidth, latency))?;
            connect(&mut b, root, ends[from], ends[to], &[link])?;
        }
        Ok(b.build()?)
    }
}

/// Promotion and labels of a community.
fn community_rules(community: &str) -> (Vec<(NodeFilter, Promotion)>, Vec<EdgeLabel>) {
    let fast = EdgeLabel {
        up_to: f64::INFINITY,
        bandwidth: (1.25e9, 1.25e9),
        latency: (1e-4, 1e-4),
        latency_per_length: 0.0,
    };
    let distant = EdgeLabel { latency: (5e-4, 5e-4), latency_per_length: 2e-2, ..fast };
    let cluster = |count: Range, speed: Range| Promotion::Cluster {
        count,
        speed,
        bandwidth: 1.25e8,
        latency: 1e-4,
        backbone: 1.25e9,
    };
    match community {
        "networking" => (vec![(ANY, Promotion::Host((1e9, 1e9)))], vec![distant]),
        "distributed" => (vec![(ANY, Promotion::Host((1e9, 1e9)))], vec![fast]),
        "volunteer" => (
            vec![(ANY, Promotion::Host((1e9, 1e10)))],
            vec![EdgeLabel { bandwidth: (1.25e5, 1.25e7), latency: (5e-3, 2e-2), ..distant }],
        ),
        "cloud" => (
            vec![(NodeFilter { chance: 0.3, ..ANY }, cluster((50.0, 500.0), (5e9, 2e10)))],
            vec![EdgeLabel { bandwidth: (1.25e9, 1.25e10), ..distant }],
        ),
        // The example chain: desktops and small clusters at the leaves, servers inside.
        "mixed" => (
            vec![
                (NodeFilter { chance: 0.5, ..LEAF }, Promotion::Host((1e9, 3e9))),
                (LEAF, cluster((4.0, 16.0), (2e9, 6e9))),
                (NodeFilter { degree: (2, 5), ..ANY }, Promotion::Host((1e10, 3e10))),
            ],
            vec![distant],
        ),
        _ => (
            vec![(
                NodeFilter { chance: 0.7, degree: (0, 3), ..ANY },
                cluster((8.0, 128.0), (4e9, 3e10)),
            )],
            vec![
                EdgeLabel { up_to: 0.1, ..fast },
                EdgeLabel { bandwidth: (6.25e8, 1.25e9), ..distant },
            ],
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::HostId;
    use slackline_model::platform::RouteCache;

    #[test]
    fn the_first_rule_that_fits_promotes() {
        let recipe = Recipe {
            model: Model::Star,
            nodes: 11,
            promoters: vec![
                (NodeFilter { hosts_below: 3, ..LEAF }, Promotion::Host((1e9, 1e9))),
                (
                    LEAF,
                    Promotion::Cluster {
                        count: (4.0, 4.0),
                        speed: (2e9, 2e9),
                        bandwidth: 1e8,
                        latency: 1e-4,
                        backbone: 1e9,
                    },
                ),
            ],
            labels: vec![EdgeLabel {
                up_to: 2.0,
                bandwidth: (1e7, 1e7),
                latency: (0.0, 0.0),
                latency_per_length: 0.01,
            }],
        };
        let platform = recipe.platform(Seed::new(1)).unwrap();
        // Ten leaves: three hosts, seven clusters of four; the centre is a router.
        assert_eq!(platform.hosts().len(), 3 + 7 * 4);
        let mut cache = RouteCache::new();
        let route = cache.route(&platform, HostId(0), HostId(1)).unwrap();
        assert_eq!(route.links.len(), 2);
        assert_eq!(route.bandwidth(platform.links()), 1e7);
    }
}
