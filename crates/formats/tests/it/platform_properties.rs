//! Platform readers on broken files, and round trips of random platforms.
#![allow(clippy::unwrap_used)] // helpers of tests

use proptest::prelude::*;
use slackline_formats::{platform_toml, simgrid_xml};
use slackline_model::platform::{
    Billing, ClusterSpec, DeclaredRoute, HostSpec, LinkShape, LinkSpec, Member, Platform,
    PlatformBuilder, Profile, ProfileEvent, RouteCache, RoutingKind,
};
use std::sync::Arc;

const XML: &str = r#"<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<zone id="top" routing="Floyd">
  <zone id="a" routing="Full"><host id="a1" speed="1Gf,2Gf" core="2"><prop id="k" value="v"/>
    <disk id="d" read_bw="1MBps" write_bw="2MBps"/></host><router id="ra"/>
    <link id="l" bandwidth="10MBps" latency="1ms" sharing_policy="SPLITDUPLEX"/>
    <route src="a1" dst="ra"><link_ctn id="l" direction="UP"/></route></zone>
  <cluster id="c" prefix="c" suffix="" radical="0-2,5" speed="1Gf" bw="1GBps" lat="1us" bb_bw="2GBps" bb_lat="0"/>
  <cluster id="t" prefix="t" suffix="" radical="0-5" speed="1Gf" bw="1GBps" lat="1us" topology="TORUS" topo_parameters="3,2"/>
  <link id="x" bandwidth="1GBps" latency="5ms"/>
  <zoneRoute src="a" dst="c" gw_src="ra" gw_dst="cc_router"><link_ctn id="x"/></zoneRoute>
</zone>
<trace id="tr" periodicity="10">0 1
5 0.5</trace>
<trace_connect kind="SPEED" trace="tr" element="a1"/>
</platform>"#;

const TOML: &str = r#"name = "p"
[billing]
quantum = "1h"
[profile.x]
events = [[0, 1.0], [5, 0.5]]
period = "10s"
[site.n]
[site.s]
[link.w]
between = ["n", "s"]
latency = "3ms"
[cluster.c]
site = "n"
count = 3
speed = "1Gf"
price = 0.25
backbone = { bandwidth = "10Gbps" }
[host.h]
site = "s"
cores = 4
speed = "2Gf"
memory = "16GB"
availability = "x"
[[disk]]
name = "d"
host = "h"
read = "1MBps"
write = "1MBps"
"#;

/// Reading must end with a platform or an error; a platform must answer questions.
fn survives(result: slackline_formats::Result<Platform>) {
    match result {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(platform) => {
            let mut cache = RouteCache::new();
            for src in platform.host_ids().take(4) {
                for dst in platform.host_ids().take(4) {
                    let _ = cache.route(&platform, src, dst);
                }
            }
            let network = platform.planning_network();
            assert!(network.latency.iter().all(|seconds| *seconds >= 0.0));
            assert!(network.bandwidth.iter().all(|rate| *rate > 0.0));
        }
    }
}

/// One change to a text: a byte replaced, a piece removed, a piece doubled, a number blown up.
fn mutated(base: &'static str) -> impl Strategy<Value = String> {
    let one = (0..base.len(), 0usize..40, any::<u8>(), 0u8..5);
    proptest::collection::vec(one, 1..4).prop_map(move |changes| {
        let mut bytes = base.as_bytes().to_vec();
        for (at, length, byte, kind) in changes {
            let at = at.min(bytes.len().saturating_sub(1));
            let end = (at + length).min(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                3 => {
                    bytes.splice(at..at, *b"99999");
                }
                _ => bytes.truncate(end),
            }
            if bytes.is_empty() {
                break;
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// A two-level platform: zones of random routing under a random root, joined in a chain.
fn platforms() -> impl Strategy<Value = Platform> {
    let kind =
        prop_oneof![Just(RoutingKind::Full), Just(RoutingKind::Floyd), Just(RoutingKind::Dijkstra)];
    let number = 1e-3..1e12f64;
    let zone = (kind.clone(), 1usize..4, number.clone(), 0.0..1.0f64, any::<bool>(), any::<bool>());
    (kind, proptest::collection::vec(zone, 1..4), 1u32..5, number).prop_map(
        |(root_kind, zones, cluster, speed)| {
            let mut b = PlatformBuilder::new("random & <odd> \"name\"");
            let root = b.add_zone(None, "root", root_kind).unwrap();
            let mut gateways: Vec<(Member, Member)> = Vec::new();
            for (index, (kind, hosts, rate, delay, split, priced)) in zones.into_iter().enumerate()
            {
                let zone = b.add_zone(Some(root), format!("z{index}"), kind).unwrap();
                b.set_transfer_price(zone, if priced { delay } else { 0.0 }).unwrap();
                let router = Member::Router(b.add_router(zone, format!("r{index}")).unwrap());
                for host in 0..hosts {
                    let name = format!("h {index}.{host}");
                    let mut spec = HostSpec::new(&name, rate);
                    if priced {
                        spec.price = delay;
                        spec.memory = Some(rate * 3.0);
                        spec.leasable = true;
                        spec.billing = Some(Billing { quantum: 60.0, minimum: 0.0, setup: delay });
                        let events = vec![
                            ProfileEvent { date: delay, value: 0.1 },
                            ProfileEvent { date: 2.0, value: 1.0 / 3.0 },
                        ];
                        spec.availability = Some(Arc::new(Profile::periodic(events, 7.5).unwrap()));
                    }
                    let host = Member::Host(b.add_host(zone, spec).unwrap());
                    let link = LinkSpec::new(format!("l{index}.{}", &name[2..]), rate, delay);
                    let link = b.add_link(LinkSpec { split_duplex: split, ..link }).unwrap();
                    let route = DeclaredRoute {
                        src: host,
                        dst: router,
                        gw_src: None,
                        gw_dst: None,
                        links: [link].into(),
                        symmetrical: true,
                    };
                    b.add_route(zone, route).unwrap();
                }
                gateways.push((Member::Zone(zone), router));
            }
            let link = LinkShape { bandwidth: 1e9, latency: 1e-5 };
            let spec = ClusterSpec::flat("c", cluster, speed, link);
            let zone = b.add_cluster(Some(root), spec).unwrap();
            b.set_transfer_price(zone, f64::from(cluster)).unwrap();
            gateways.push((Member::Zone(zone), b.member("c-c_router").unwrap()));
            for (index, pair) in gateways.windows(2).enumerate() {
                let link = b.add_link(LinkSpec::new(format!("trunk{index}"), 1e6, 0.01)).unwrap();
                let route = DeclaredRoute {
                    src: pair[0].0,
                    dst: pair[1].0,
                    gw_src: Some(pair[0].1),
                    gw_dst: Some(pair[1].1),
                    links: [link].into(),
                    symmetrical: index % 2 == 0,
                };
                b.add_route(root, route).unwrap();
            }
            b.build().unwrap()
        },
    )
}

/// Facts of a platform about hosts and routes, by name.
fn described(platform: &Platform) -> Vec<String> {
    let mut cache = RouteCache::new();
    let mut lines = vec![platform.name().to_string()];
    for host in platform.hosts() {
        let class = platform.class(host.class);
        lines.push(format!(
            "{} {} {} {} {:?} {} {} {:?} {:?} {:?}",
            host.name,
            host.cores,
            host.speed,
            host.price,
            host.memory,
            class.name,
            class.leasable,
            class.billing,
            host.availability,
            host.state,
        ));
    }
    for src in platform.host_ids() {
        for dst in platform.host_ids() {
            let route = cache.route(platform, src, dst).map(|route| {
                let links = route.links.iter().map(|&l| {
                    let link = platform.link(l);
                    format!("{} {} {:?}", link.name, link.bandwidth, link.sharing)
                });
                (links.collect::<Vec<_>>(), route.latency)
            });
            let ends = (&platform.host(src).name, &platform.host(dst).name);
            let price = platform.transfer_price(src, dst);
            lines.push(format!("{ends:?} {price} {:?}", route.ok()));
        }
    }
    lines.sort();
    lines
}

proptest! {
    #![proptest_config(slackline_testkit::cases(300))]

    #[test]
    fn broken_xml_never_panics(text in mutated(XML)) {
        survives(simgrid_xml::parse(&text));
    }

    #[test]
    fn broken_toml_never_panics(text in mutated(TOML)) {
        survives(platform_toml::parse(&text));
    }

    #[test]
    fn noise_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        survives(simgrid_xml::parse(&text));
        survives(platform_toml::parse(&text));
        let _ = simgrid_xml::parse_trace(&text, None);
    }
}

proptest! {
    #![proptest_config(slackline_testkit::cases(60))]

    #[test]
    fn round_trips_lose_nothing(platform in platforms()) {
        let before = described(&platform);
        let toml = platform_toml::to_string(&platform).unwrap();
        prop_assert_eq!(&described(&platform_toml::parse(&toml).unwrap()), &before);
        let xml = simgrid_xml::to_string(&platform).unwrap();
        prop_assert_eq!(&described(&simgrid_xml::parse(&xml).unwrap()), &before);
    }
}

#[test]
fn the_unbroken_files_load() {
    assert_eq!(simgrid_xml::parse(XML).unwrap().hosts().len(), 11);
    assert_eq!(platform_toml::parse(TOML).unwrap().hosts().len(), 4);
}
