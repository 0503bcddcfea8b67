//! Grid'5000: clusters on sites on a core network, with the published figures. Private links
//! 1.25e8 B/s, backbones, cluster and site links and the core 1.25e9 B/s, all 1e-4 s; cabinet
//! switches 5e-4 s.

use super::clusters::{CORE, ClusterFigures, GRID5000, GRID5000_2007, MACHINES};
use super::selection::{Selector, select};
use crate::draw::Seed;
use crate::error::{Result, bad};
use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::platform::{
    ClusterSpec, DeclaredRoute, LinkShape, LinkSpec, Member, PlatformBuilder, RoutingKind, Sharing,
};
use slackline_model::{Platform, ZoneId};

const PRIVATE: LinkShape = LinkShape { bandwidth: 1.25e8, latency: 1e-4 };
const WIDE: LinkShape = LinkShape { bandwidth: 1.25e9, latency: 1e-4 };
const SWITCH: LinkShape = LinkShape { bandwidth: 1.25e9, latency: 5e-4 };

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::new("year", Kind::Choice(&["2010", "2007"]), "2010", "which published figures"),
    Parameter::new("site", Kind::Text, "auto", "only the clusters of this site"),
    Parameter::new(
        "machine",
        Kind::Text,
        "auto",
        "a machine of the studies: grenoble-9, -15; rennes-even-8, -16; rennes-, sophia-, lille-8, -16, -32",
    )
    .published("8, 16, 32 processors of one site"),
    Parameter::new("nodes", Kind::Text, "auto", "nodes to take, e.g. paradent:3,parapide:1"),
    PRICED,
];

pub(crate) const PRICED: Parameter = Parameter::new(
    "priced",
    Kind::Choice(&["no", "platform", "grid"]),
    "no",
    "price a (1 + a) / 2 per second, a = speed over the fastest of the platform, or of Grid'5000",
)
.published("platform and grid (QoS studies)");

pub(crate) const MULTI: &[Parameter] = &[
    Parameter::new("year", Kind::Choice(&["2010", "2007"]), "2010", "which published figures"),
    Parameter::new("clusters", Kind::Count(1, 8), "4", "clusters to take").published("1, 2, 4, 8"),
    Parameter::new(
        "min-heterogeneity",
        Kind::Number(0.0, 1e6),
        "0",
        "least 100 (fastest / slowest - 1)",
    )
    .published("10 for heterogeneous"),
    Parameter::new(
        "max-heterogeneity",
        Kind::Number(0.0, 1e6),
        "1000",
        "most 100 (fastest / slowest - 1)",
    )
    .published("10 for homogeneous"),
    PRICED,
];

fn table(s: &Values) -> &'static [ClusterFigures] {
    if s.word("year") == "2007" { GRID5000_2007 } else { GRID5000 }
}

fn named(all: &[ClusterFigures], name: &str) -> Result<ClusterFigures> {
    let known = || all.iter().map(|c| c.name).collect::<Vec<_>>().join(", ");
    all.iter()
        .find(|c| c.name == name)
        .copied()
        .ok_or_else(|| bad("nodes", name, format!("no such cluster; there are {}", known())))
}

/// The whole testbed, a site, a machine of the studies, or chosen nodes.
pub(crate) fn grid5000(s: &Values, _: Seed) -> Result<Platform> {
    let all = table(s);
    let mut chosen: Vec<(ClusterFigures, u32)> = all.iter().map(|c| (*c, c.nodes)).collect();
    let mut name = "grid5000".to_string();
    let (site, machine, nodes) = (s.word("site"), s.word("machine"), s.word("nodes"));
    if !site.is_empty() {
        chosen.retain(|(c, _)| c.site == site);
        name = site.to_string();
        if chosen.is_empty() {
            let mut sites: Vec<&str> = all.iter().map(|c| c.site).collect();
            sites.dedup();
            return Err(bad("site", site, format!("the sites are {}", sites.join(", "))));
        }
    }
    if !machine.is_empty() {
        let known = || MACHINES.iter().map(|m| m.0).collect::<Vec<_>>().join(", ");
        let found = MACHINES.iter().find(|m| m.0 == machine);
        let (_, parts) = found
            .ok_or_else(|| bad("machine", machine, format!("the machines are {}", known())))?;
        let part = |&(name, count): &(&str, u32)| Ok((named(GRID5000, name)?, count));
        chosen = parts.iter().map(part).collect::<Result<_>>()?;
        name = machine.to_string();
    }
    if !nodes.is_empty() {
        let part = |text: &str| {
            let wrong = || bad("nodes", text, "write cluster:count");
            let (cluster, count) = text.trim().split_once(':').ok_or_else(wrong)?;
            let figures = named(all, cluster.trim())?;
            let count: u32 = count.trim().parse().map_err(|_| wrong())?;
            if count == 0 || count > figures.nodes {
                let why = format!("the cluster has 1 to {} nodes", figures.nodes);
                return Err(bad("nodes", text, why));
            }
            Ok((figures, count))
        };
        chosen = nodes.split(',').map(part).collect::<Result<_>>()?;
    }
    build(&name, &chosen, s.word("priced"))
}

/// Clusters drawn among those whose heterogeneity is between the bounds.
pub(crate) fn multi_cluster(s: &Values, seed: Seed) -> Result<Platform> {
    let selector = Selector {
        size: s.count("clusters")?,
        heterogeneity: (s.number("min-heterogeneity")?, s.number("max-heterogeneity")?),
        ..Selector::default()
    };
    let all = table(s);
    let found = select(all, &selector);
    let mut draws = seed.draws("multi-cluster");
    let Some(chosen) = draws.pick(&found) else {
        let (low, high) = selector.heterogeneity;
        let why =
            format!("no {} clusters have a heterogeneity from {low} to {high}", selector.size);
        return Err(bad("clusters", selector.size, why));
    };
    let chosen: Vec<(ClusterFigures, u32)> =
        chosen.iter().map(|&i| (all[i], all[i].nodes)).collect();
    let names: Vec<&str> = chosen.iter().map(|(c, _)| c.name).collect();
    // Zones have one name each: that of the whole is not that of its only cluster.
    let name = match names.as_slice() {
        [only] => format!("{only}-alone"),
        several => several.join("-"),
    };
    build(&name, &chosen, s.word("priced"))
}

/// Price per core and second for a speed relative to the fastest.
pub fn price(relative_speed: f64) -> f64 {
    relative_speed * (1.0 + relative_speed) / 2.0
}

/// Puts nodes of clusters together: clusters on their sites, sites on the core.
pub fn build(name: &str, chosen: &[(ClusterFigures, u32)], priced: &str) -> Result<Platform> {
    let fastest = |list: &mut dyn Iterator<Item = f64>| list.fold(0.0f64, f64::max);
    let reference = match priced {
        "platform" => Some(fastest(&mut chosen.iter().map(|(c, _)| c.gflops))),
        "grid" => Some(fastest(&mut GRID5000.iter().map(|c| c.gflops))),
        _ => None,
    };
    let mut b = PlatformBuilder::new(name);
    let root = b.add_zone(None, name, RoutingKind::Floyd)?;
    let mut sites: Vec<&str> = chosen.iter().map(|(c, _)| c.site).collect();
    sites.sort_unstable();
    sites.dedup();
    let mut cities = std::collections::BTreeMap::new();
    if sites.len() > 1 {
        for (a, c) in CORE {
            for city in [a, c] {
                if !cities.contains_key(*city) {
                    cities
                        .insert(*city, Member::Router(b.add_router(root, format!("core-{city}"))?));
                }
            }
            let link = add_link(&mut b, format!("{a}_{c}"), WIDE)?;
            connect(&mut b, root, (cities[a], None), (cities[c], None), &[link])?;
        }
    }
    for site in sites {
        let clusters: Vec<&(ClusterFigures, u32)> =
            chosen.iter().filter(|(c, _)| c.site == site).collect();
        let zone = b.add_zone(Some(root), format!("site-{site}"), RoutingKind::Full)?;
        let gateway = Member::Router(b.add_router(zone, format!("gw-{site}"))?);
        let mut ends = Vec::with_capacity(clusters.len());
        for (figures, count) in clusters {
            let (cluster, router) = add_cluster(&mut b, zone, figures, *count, reference)?;
            let link = add_link(&mut b, format!("link-{}", figures.name), WIDE)?;
            let end = (Member::Zone(cluster), Some(router));
            connect(&mut b, zone, end, (gateway, None), &[link])?;
            for &(other, up) in &ends {
                connect(&mut b, zone, other, end, &[up, link])?;
            }
            ends.push((end, link));
        }
        let city = if site == "orsay" { "paris" } else { site };
        if let Some(&city) = cities.get(city) {
            let link = add_link(&mut b, format!("link-{site}"), WIDE)?;
            connect(&mut b, root, (Member::Zone(zone), Some(gateway)), (city, None), &[link])?;
        }
    }
    Ok(b.build()?)
}

/// A cluster and the router it is reached by.
fn add_cluster(
    b: &mut PlatformBuilder,
    site: ZoneId,
    figures: &ClusterFigures,
    count: u32,
    reference: Option<f64>,
) -> Result<(ZoneId, Member)> {
    let star = |id: String, first: u32, last: u32| {
        let mut spec = ClusterSpec::flat(id, 1, figures.gflops * 1e9, PRIVATE);
        spec.prefix = format!("{}-", figures.name);
        spec.radical = vec![(first, last)];
        spec.backbone = Some((WIDE, Sharing::Shared));
        spec.host.price = reference.map_or(0.0, |fastest| price(figures.gflops / fastest));
        spec
    };
    if figures.cabinets.is_empty() {
        let spec = star(figures.name.to_string(), 1, count);
        let router = spec.router_name();
        let zone = b.add_cluster(Some(site), spec)?;
        return Ok((zone, b.member(&router)?));
    }
    let zone = b.add_zone(Some(site), figures.name, RoutingKind::Full)?;
    let router = Member::Router(b.add_router(zone, format!("{}-router", figures.name))?);
    let switch = add_link(b, format!("switch-{}", figures.name), SWITCH)?;
    let mut first = 1;
    let mut cabinets = Vec::new();
    for (index, &nodes) in figures.cabinets.iter().enumerate() {
        let last = (first + nodes - 1).min(count);
        if last < first {
            break;
        }
        let spec = star(format!("{}-cabinet{}", figures.name, index + 1), first, last);
        let name = spec.router_name();
        let cabinet = Member::Zone(b.add_cluster(Some(zone), spec)?);
        let end = (cabinet, Some(b.member(&name)?));
        connect(b, zone, end, (router, None), &[switch])?;
        for &other in &cabinets {
            connect(b, zone, other, end, &[switch])?;
        }
        cabinets.push(end);
        first += nodes;
    }
    Ok((zone, router))
}

fn add_link(
    b: &mut PlatformBuilder,
    name: String,
    shape: LinkShape,
) -> Result<slackline_model::LinkId> {
    Ok(b.add_link(LinkSpec::new(name, shape.bandwidth, shape.latency))?)
}

/// Declares a route both ways between two ends with their gateways.
pub(crate) fn connect(
    b: &mut PlatformBuilder,
    zone: ZoneId,
    (src, gw_src): (Member, Option<Member>),
    (dst, gw_dst): (Member, Option<Member>),
    links: &[slackline_model::LinkId],
) -> Result<()> {
    let links = links.into();
    Ok(b.add_route(zone, DeclaredRoute { src, dst, gw_src, gw_dst, links, symmetrical: true })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Family;
    use slackline_model::platform::RouteCache;

    fn whole() -> Platform {
        let all: Vec<(ClusterFigures, u32)> = GRID5000.iter().map(|c| (*c, c.nodes)).collect();
        build("grid5000", &all, "no").unwrap()
    }

    #[test]
    fn routes_have_the_published_lengths() {
        let platform = whole();
        assert_eq!(platform.hosts().len(), 1528);
        let mut cache = RouteCache::new();
        for (from, to, links, latency) in [
            ("bordereau-1", "bordereau-2", 3, 3e-4),
            ("bordereau-1", "borderline-1", 6, 6e-4),
            ("graphene-40", "graphene-104", 5, 9e-4),
            ("bordereau-1", "griffon-1", 12, 1.6e-3),
            ("chinqchint-1", "suno-1", 12, 1.2e-3),
        ] {
            let id = |name| platform.host_named(name).unwrap();
            let route = cache.route(&platform, id(from), id(to)).unwrap();
            assert_eq!(route.links.len(), links, "{from} -> {to}");
            assert!((route.latency - latency).abs() < 1e-12, "{from} -> {to}");
            assert_eq!(route.bandwidth(platform.links()), 1.25e8);
        }
    }

    #[test]
    fn one_cluster_alone() {
        let generator = crate::registry::find(Family::Platform, "multi-cluster").unwrap();
        let given = [("clusters".to_string(), "1".to_string())];
        let settings = generator.settings(&given).unwrap();
        let platform = generator.platform(&settings, Seed::new(1)).unwrap();
        assert!(platform.name().ends_with("-alone"), "{}", platform.name());
    }

    #[test]
    fn prices_of_the_qos_study() {
        // Relative to parapide, 30.130 Gflop/s: the source prints two digits.
        let digits = |gflops: f64| (price(gflops / 30.130) * 1e4).round() / 1e4;
        let rennes = [21.496, 12.910, 30.130, 27.391].map(digits);
        assert_eq!(rennes, [0.6112, 0.3060, 1.0, 0.8678]);
        let sophia = [7.7318, 8.9388, 23.530].map(digits);
        assert_eq!(sophia, [0.1612, 0.1923, 0.6954]);
        let lille = [8.9618, 23.531, 22.270].map(digits);
        assert_eq!(lille, [0.1930, 0.6955, 0.6427]);
    }
}
