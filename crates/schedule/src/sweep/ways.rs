//! Links other than those between the origin and the clusters: those to the host of the results, if it is not
//! the origin, and those from cluster to cluster.

use super::ground::Cluster;
use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::platform::RouteCache;
use slackline_model::{HostId, LinkId, Platform};

/// Whether clusters pass files on to each other.
pub const EXCHANGE: Parameter = Parameter::new(
    "exchange",
    Kind::Switch,
    "no",
    "clusters that a link joins pass inputs on to each other; no: the origin alone sends them",
)
.published("no");

/// Parameter: host to which outputs are sent.
pub const RESULTS: Parameter = Parameter::new(
    "results",
    Kind::Text,
    "auto",
    "host to which outputs are sent; auto: the origin",
)
.published("auto");

/// Connection by which files get from one place to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Way {
    /// The line of a chart on which they queue; none where they are there already.
    pub line: Option<usize>,
    /// Seconds before the first byte.
    pub latency: f64,
    /// Bytes/s; 0 where nothing gets through.
    pub bandwidth: f64,
}

impl Way {
    /// Seconds for which so many bytes hold the link.
    #[inline]
    pub fn seconds(&self, bytes: f64) -> f64 {
        match self.bandwidth > 0.0 {
            true => self.latency + bytes / self.bandwidth,
            false => f64::INFINITY,
        }
    }
}

/// A way from a cluster to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// Cluster that has the file.
    pub from: usize,
    /// Cluster that gets it.
    pub to: usize,
    /// Connection between them.
    pub way: Way,
}

/// Settings for outputs and for files between clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wishes {
    /// The host to which outputs go; none: the origin.
    pub results: Option<String>,
    /// Clusters pass inputs on to each other.
    pub exchange: bool,
}

impl Wishes {
    /// Reads the settings from parameters.
    pub fn read(values: &Values) -> Wishes {
        let results = Some(values.word("results")).filter(|w| !w.is_empty() && *w != "auto");
        Wishes { results: results.map(str::to_string), exchange: values.switch("exchange") }
    }
}

/// All such ways of a platform; see the module's head.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ways {
    /// The links other than those of the clusters; their lines follow those of the clusters.
    pub links: Vec<LinkId>,
    /// Host to which outputs go, where that is not the origin.
    pub results: Option<HostId>,
    /// Per cluster: how outputs get there; empty: to the origin, as inputs come.
    pub back: Vec<Way>,
    /// From cluster to cluster.
    pub between: Vec<Between>,
}

impl Ways {
    /// The ways of a platform that serve these wishes, or what is wrong with where results shall go.
    pub fn of(
        platform: &Platform,
        clusters: &[Cluster],
        wishes: &Wishes,
        date: f64,
    ) -> Result<Ways, String> {
        let mut ways = Ways::default();
        let mut routes = RouteCache::new();
        if let Some(name) = &wishes.results {
            let host = platform.host_named(name);
            let host = host.ok_or_else(|| format!("there is no host '{name}'"))?;
            ways.results = Some(host);
            for cluster in clusters {
                if platform.place_of(host) == platform.place_of(cluster.gate) {
                    let way = Way { line: None, latency: 0.0, bandwidth: f64::INFINITY };
                    ways.back.push(way);
                    continue;
                }
                let route = routes.route_once(platform, cluster.gate, host);
                let links = route.map_or(&[][..], |r| r.links);
                let &[link] = links else {
                    let gate = &platform.host(cluster.gate).name;
                    return Err(format!(
                        "it is {} links away from '{gate}'; a sweep needs one",
                        links.len()
                    ));
                };
                ways.back.push(ways.over(platform, clusters, link, date));
                ways.note(clusters, link);
            }
        }
        if !wishes.exchange {
            return Ok(ways);
        }
        for (from, source) in clusters.iter().enumerate() {
            for (to, target) in clusters.iter().enumerate().filter(|&(to, _)| to != from) {
                let route = routes.route_once(platform, source.gate, target.gate);
                // A way over the origin is no gain on sending from there.
                let Ok(&[link]) = route.map(|r| r.links) else { continue };
                let way = ways.over(platform, clusters, link, date);
                ways.note(clusters, link);
                ways.between.push(Between { from, to, way });
            }
        }
        Ok(ways)
    }

    fn over(&self, platform: &Platform, clusters: &[Cluster], link: LinkId, date: f64) -> Way {
        let (latency, bandwidth) = super::ground::levels(platform, link, date);
        let own = clusters.iter().position(|c| c.link == Some(link));
        let known = self.links.iter().position(|&l| l == link).unwrap_or(self.links.len());
        Way { line: Some(own.unwrap_or(clusters.len() + known)), latency, bandwidth }
    }

    fn note(&mut self, clusters: &[Cluster], link: LinkId) {
        let own = clusters.iter().any(|c| c.link == Some(link));
        if !own && !self.links.contains(&link) {
            self.links.push(link);
        }
    }

    /// Whether everything goes between the origin and the clusters only.
    pub fn is_plain(&self) -> bool {
        self.results.is_none() && self.between.is_empty()
    }
}
