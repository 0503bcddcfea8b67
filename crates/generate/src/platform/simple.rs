//! Plain platforms: one cluster, abstract processors, priced clouds, grids for sweeps.

use super::grid5000::connect;
use crate::draw::Seed;
use crate::error::{Result, bad};
use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::platform::{
    Billing, ClusterSpec, HostSpec, LinkShape, LinkSpec, Matrix, Member, PlatformBuilder, Profile,
    RoutingKind, Sharing, StarLeaf,
};
use slackline_model::units::Quantity;
use slackline_model::{LinkId, Platform};
use std::sync::Arc;

const BANDWIDTH: Kind = Kind::Quantity(Quantity::Bandwidth);
const LATENCY: Kind = Kind::Quantity(Quantity::Duration);

pub(crate) const CLUSTER: &[Parameter] = &[
    Parameter::new("hosts", Kind::Count(1, 1_000_000), "16", "number of hosts"),
    Parameter::new("cores", Kind::Count(1, 100_000), "1", "cores of a host"),
    Parameter::new(
        "speed",
        Kind::Quantity(Quantity::Speed),
        "10Gf",
        "speed of a core; of the slowest",
    ),
    Parameter::new(
        "heterogeneity",
        Kind::Number(0.0, 1e6),
        "0",
        "100 (fastest / slowest - 1); speeds are uniform between",
    ),
    Parameter::new("bandwidth", BANDWIDTH, "125MBps", "of each host's link"),
    Parameter::new("latency", LATENCY, "100us", "of each host's link"),
    Parameter::new(
        "backbone",
        BANDWIDTH,
        "auto",
        "between all hosts; auto: a switch that never fills",
    ),
];

/// One cluster around a switch.
pub(crate) fn cluster(s: &Values, seed: Seed) -> Result<Platform> {
    let link = LinkShape { bandwidth: s.number("bandwidth")?, latency: s.number("latency")? };
    let (count, speed) = (s.count("hosts")?, s.number("speed")?);
    let spread = s.number("heterogeneity")? / 100.0;
    let cores = u32::try_from(s.count("cores")?).unwrap_or(u32::MAX);
    let backbone = s.maybe_number("backbone");
    let mut b = PlatformBuilder::new(format!("cluster-{count}"));
    if spread == 0.0 {
        let mut spec = ClusterSpec::flat("cluster", count as u32, speed, link);
        spec.host.cores = cores;
        spec.backbone = backbone
            .map(|bandwidth| (LinkShape { bandwidth, latency: link.latency }, Sharing::Shared));
        b.add_cluster(None, spec)?;
        return Ok(b.build()?);
    }
    let zone = b.add_zone(None, "cluster", RoutingKind::Star)?;
    let mut draws = seed.draws("cluster/speeds");
    for index in 0..count {
        let speed = speed * draws.uniform(1.0, 1.0 + spread);
        let name = format!("cluster-{index}");
        let spec =
            HostSpec { cores, class: Some(name.clone()), ..HostSpec::new(name.clone(), speed) };
        let host = b.add_host(zone, spec)?;
        let wire =
            LinkSpec { split_duplex: true, ..LinkSpec::new(name, link.bandwidth, link.latency) };
        let up = b.add_link(wire)?;
        let leaf = StarLeaf { up: Some(up), down: Some(LinkId(up.0 + 1)), ..StarLeaf::default() };
        b.set_leaf(host, leaf)?;
    }
    if let Some(bandwidth) = backbone {
        let link = b.add_link(LinkSpec::new("backbone", bandwidth, link.latency))?;
        b.set_backbone(zone, link)?;
    }
    Ok(b.build()?)
}

pub(crate) const PROCESSORS: &[Parameter] = &[
    Parameter::new(
        "processors",
        Kind::Count(1, 100_000),
        "4",
        "hosts p1, p2, ...: the columns of a workflow's table of seconds",
    )
    .published("4, 8, 16, 32, 64 (PEFT); 5, 10, 20 (GTP); 3 to 8 (SR)"),
    Parameter::new("speed", Kind::Quantity(Quantity::Speed), "1Gf", "of every processor"),
    Parameter::new("bandwidth", BANDWIDTH, "125MBps", "between any two")
        .published("1Bps: data units are seconds"),
    Parameter::new("latency", LATENCY, "0s", "between any two"),
    Parameter::new(
        "link-spread",
        Kind::Number(0.0, 0.99),
        "0",
        "time per byte is U[1 - s, 1 + s] times the mean, the same both ways",
    )
    .published("0.5 (SR)"),
];

/// Fully connected processors without contention.
pub(crate) fn processors(s: &Values, seed: Seed) -> Result<Platform> {
    let count = s.count("processors")?;
    let (bandwidth, latency) = (s.number("bandwidth")?, s.number("latency")?);
    let spread = s.number("link-spread")?;
    if spread > 0.0 && count > 5000 {
        return Err(bad("processors", count, "a table of links is made for 5000 at most"));
    }
    let mut b = PlatformBuilder::new(format!("processors-{count}"));
    let root = b.root()?;
    for index in 1..=count {
        let name = format!("p{index}");
        let spec =
            HostSpec { class: Some(name.clone()), ..HostSpec::new(name, s.number("speed")?) };
        b.add_host(root, spec)?;
    }
    if bandwidth <= 0.0 {
        return Err(bad("bandwidth", bandwidth, "it must be more than 0"));
    }
    if spread == 0.0 {
        b.set_matrix(Matrix::uniform(Some(bandwidth), latency));
        return Ok(b.build()?);
    }
    let mut draws = seed.draws("processors/links");
    let mut table = vec![bandwidth; count * count];
    for a in 0..count {
        for c in a + 1..count {
            let rate = bandwidth / draws.uniform(1.0 - spread, 1.0 + spread);
            table[a * count + c] = rate;
            table[c * count + a] = rate;
        }
    }
    b.set_matrix(Matrix::Dense {
        hosts: count,
        bandwidth: table.into(),
        latency: vec![latency; count * count].into(),
    });
    Ok(b.build()?)
}

pub(crate) const CLOUD: &[Parameter] = &[
    Parameter::new(
        "catalogue",
        Kind::Choice(&["ec2-2014", "ec2-2020"]),
        "ec2-2014",
        "instance types, prices and billing: by the hour, or by the second after a minute",
    ),
    Parameter::new("limit", Kind::Count(1, 100_000), "20", "most instances of a type")
        .published("20"),
    Parameter::new("boot", LATENCY, "60s", "from asking for an instance to having it"),
    Parameter::new("bandwidth", BANDWIDTH, "125MBps", "of each instance's link"),
    Parameter::new("latency", LATENCY, "500us", "of each instance's link"),
];

/// Name, cores, Gflop/s of a core, GiB, US dollars per hour (on demand, Linux, Virginia).
type Instance = (&'static str, u32, f64, f64, f64);

/// Price list of April 2014; an EC2 compute unit (ECU) is taken as 4.4 Gflop/s (Ostermann et al. 2010).
const EC2_2014: &[Instance] = &[
    ("m3.medium", 1, 13.2, 3.75, 0.070),
    ("m3.large", 2, 14.3, 7.5, 0.140),
    ("m3.xlarge", 4, 14.3, 15.0, 0.280),
    ("m3.2xlarge", 8, 14.3, 30.0, 0.560),
    ("c3.large", 2, 15.4, 3.75, 0.105),
    ("c3.xlarge", 4, 15.4, 7.5, 0.210),
    ("c3.2xlarge", 8, 15.4, 15.0, 0.420),
    ("c3.4xlarge", 16, 15.125, 30.0, 0.840),
    ("c3.8xlarge", 32, 14.85, 60.0, 1.680),
];

/// Price list of 2020, which states no speeds: 20 Gflop/s for the general and memory types (m5, r5) and 24 for the
/// compute types (c5) are assumed.
const EC2_2020: &[Instance] = &[
    ("m5.large", 2, 20.0, 8.0, 0.096),
    ("m5.xlarge", 4, 20.0, 16.0, 0.192),
    ("m5.2xlarge", 8, 20.0, 32.0, 0.384),
    ("m5.4xlarge", 16, 20.0, 64.0, 0.768),
    ("c5.large", 2, 24.0, 4.0, 0.085),
    ("c5.xlarge", 4, 24.0, 8.0, 0.170),
    ("c5.2xlarge", 8, 24.0, 16.0, 0.340),
    ("c5.4xlarge", 16, 24.0, 32.0, 0.680),
    ("r5.large", 2, 20.0, 16.0, 0.126),
    ("r5.xlarge", 4, 20.0, 32.0, 0.252),
];

/// Machines that exist while leased, by type, with prices and a billing quantum: one hour in 2014, one second and at
/// least a minute in 2020.
pub(crate) fn cloud(s: &Values, _: Seed) -> Result<Platform> {
    let setup = s.number("boot")?;
    let (catalogue, billing) = match s.word("catalogue") {
        "ec2-2020" => (EC2_2020, Billing { quantum: 1.0, minimum: 60.0, setup }),
        _ => (EC2_2014, Billing { quantum: 3600.0, minimum: 0.0, setup }),
    };
    let mut b = PlatformBuilder::new(s.word("catalogue"));
    let root = b.add_zone(None, "cloud", RoutingKind::Star)?;
    b.set_billing(billing);
    for &(name, cores, gflops, memory, dollars) in catalogue {
        for index in 1..=s.count("limit")? {
            let mut spec = HostSpec::new(format!("{name}-{index}"), gflops * 1e9);
            spec.cores = cores;
            spec.memory = Some(memory * 1024f64.powi(3));
            spec.price = dollars / 3600.0 / f64::from(cores);
            spec.class = Some(name.to_string());
            spec.leasable = true;
            let wire = LinkSpec {
                split_duplex: true,
                ..LinkSpec::new(spec.name.clone(), s.number("bandwidth")?, s.number("latency")?)
            };
            let host = b.add_host(root, spec)?;
            let up = b.add_link(wire)?;
            let leaf =
                StarLeaf { up: Some(up), down: Some(LinkId(up.0 + 1)), ..StarLeaf::default() };
            b.set_leaf(host, leaf)?;
        }
    }
    Ok(b.build()?)
}

pub(crate) const SWEEP_GRID: &[Parameter] = &[
    Parameter::new(
        "clusters",
        Kind::Text,
        "4:100,6:70,12:30",
        "hosts:percent of CPU available, per cluster",
    )
    .published("4:100,6:70,12:30"),
    Parameter::new(
        "random",
        Kind::Count(0, 10_000),
        "0",
        "instead: this many clusters of 2 to 12 hosts, 30 to 100 % available",
    ),
    Parameter::new("speed", Kind::Quantity(Quantity::Speed), "1Gf", "of a host")
        .published("all alike"),
    Parameter::new("bandwidth", BANDWIDTH, "10kBps", "from the origin to each cluster")
        .published("10 kB/s"),
    Parameter::new("latency", LATENCY, "0s", "from the origin to each cluster"),
];

/// Clusters reached from one origin, which only keeps files, by a link each that serves one
/// transfer at a time. The hosts of a cluster share their storage: inside it nothing is transferred.
pub(crate) fn sweep_grid(s: &Values, seed: Seed) -> Result<Platform> {
    let mut draws = seed.draws("sweep-grid");
    let clusters: Vec<(usize, f64)> = match s.count("random")? {
        0 => {
            let one = |text: &str| {
                let wrong = || bad("clusters", text, "write hosts:percent, e.g. 6:70");
                let (hosts, percent) = text.trim().split_once(':').ok_or_else(wrong)?;
                let hosts = hosts.trim().parse::<usize>().map_err(|_| wrong())?;
                let percent = percent.trim().parse::<f64>().map_err(|_| wrong())?;
                let fine = hosts > 0 && hosts <= 1_000_000 && percent > 0.0 && percent <= 100.0;
                if fine { Ok((hosts, percent / 100.0)) } else { Err(wrong()) }
            };
            s.word("clusters").split(',').map(one).collect::<Result<_>>()?
        }
        count => (0..count).map(|_| (draws.between(2, 12), draws.uniform(0.3, 1.0))).collect(),
    };
    let mut b = PlatformBuilder::new("sweep-grid");
    let root = b.add_zone(None, "sweep-grid", RoutingKind::Floyd)?;
    let speed = s.number("speed")?;
    let origin = b.add_host(root, HostSpec { cores: 0, ..HostSpec::new("origin", speed) })?;
    b.set_origin(origin);
    b.set_fifo();
    for (index, (hosts, available)) in clusters.into_iter().enumerate() {
        let number = index + 1;
        let zone = b.add_zone(Some(root), format!("cluster{number}"), RoutingKind::Star)?;
        b.share_storage(zone);
        let gateway = Member::Router(b.add_router(zone, format!("gw{number}"))?);
        let availability = match available {
            1.0 => None,
            share => Some(Arc::new(Profile::constant(share)?)),
        };
        for host in 1..=hosts {
            let name = format!("host{number}.{host}");
            b.add_host(
                zone,
                HostSpec { availability: availability.clone(), ..HostSpec::new(name, speed) },
            )?;
        }
        let (bandwidth, latency) = (s.number("bandwidth")?, s.number("latency")?);
        let link = b.add_link(LinkSpec::new(format!("link{number}"), bandwidth, latency))?;
        connect(
            &mut b,
            root,
            (Member::Host(origin), None),
            (Member::Zone(zone), Some(gateway)),
            &[link],
        )?;
    }
    Ok(b.build()?)
}
