//! Every platform that the documentation and the examples folder show can be loaded, written
//! and loaded again, as TOML and as SimGrid XML.

#![allow(clippy::unwrap_used)] // helpers of tests

use slackline_formats::FileAccess;
use slackline_formats::{platform_toml, simgrid_xml};
use slackline_model::LinkId;
use slackline_model::platform::{
    HostSpec, LinkSpec, Network, Platform, PlatformBuilder, RouteCache, RoutingKind, StarLeaf,
};
use std::path::Path;

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Same hosts and same routes between them, by name.
fn assert_same(a: &Platform, b: &Platform) {
    assert_eq!(a.hosts().len(), b.hosts().len());
    let (mut cache_a, mut cache_b) = (RouteCache::new(), RouteCache::new());
    let step = 1 + a.hosts().len() / 12;
    for (id, host) in a.host_ids().zip(a.hosts()) {
        let other = b.host_named(&host.name).expect("the host is still there");
        let twin = b.host(other);
        assert_eq!((host.cores, host.speed, host.price), (twin.cores, twin.speed, twin.price));
        assert_eq!((host.memory, &host.availability), (twin.memory, &twin.availability));
        assert_eq!(host.state, twin.state);
        let (class, other_class) = (a.class(host.class), b.class(twin.class));
        assert_eq!(class.name, other_class.name);
        assert_eq!((class.leasable, class.billing), (other_class.leasable, other_class.billing));
        if matches!(a.network(), Network::Matrix(_)) || id.index() % step != 0 {
            continue;
        }
        for dst in a.host_ids().step_by(step) {
            let dst_b = b.host_named(&a.host(dst).name).unwrap();
            let names = |p: &Platform, cache: &mut RouteCache, s, d| {
                let route = cache.route(p, s, d).unwrap();
                let links = route.links.iter().map(|&l| p.link(l).name.to_string());
                (links.collect::<Vec<_>>(), route.latency)
            };
            assert_eq!(names(a, &mut cache_a, id, dst), names(b, &mut cache_b, other, dst_b));
        }
    }
}

fn round_trips(platform: &Platform) {
    let text = platform_toml::to_string(platform).unwrap();
    let again = platform_toml::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_same(platform, &again);
    assert_eq!(text, platform_toml::to_string(&again).unwrap(), "writing is stable");
    if let Network::Zones = platform.network() {
        let text = simgrid_xml::to_string(platform).unwrap();
        let again = simgrid_xml::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_same(platform, &again);
        let long = platform_toml::to_string(&again).unwrap();
        assert_same(platform, &platform_toml::parse(&long).unwrap());
    }
}

#[test]
fn documented_platforms_load_with_the_hosts_they_promise() {
    let text = std::fs::read_to_string(repository().join("docs/platforms.md")).unwrap();
    let mut seen = 0;
    for part in text.split("<!-- platform: ").skip(1) {
        let (hosts, rest) = part.split_once(" hosts -->").unwrap();
        let promised: usize = hosts.split('+').map(|n| n.trim().parse::<usize>().unwrap()).sum();
        let toml = rest.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let platform = platform_toml::parse(toml).unwrap_or_else(|e| panic!("{e}\n{toml}"));
        assert_eq!(platform.hosts().len(), promised, "{toml}");
        assert!(platform_toml::recognise(toml));
        round_trips(&platform);
        seen += 1;
    }
    assert_eq!(seen, 8);
}

#[test]
fn example_platforms_load_and_stay_short() {
    let mut seen = 0;
    for entry in std::fs::read_dir(repository().join("examples/platforms")).unwrap() {
        let path = entry.unwrap().path();
        let platform = platform_toml::read(&FileAccess::default(), &path).unwrap();
        round_trips(&platform);
        let text = platform_toml::to_string(&platform).unwrap();
        assert!(!text.contains("[zone."), "written in the short form:\n{text}");
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn single_machines_and_links_of_a_cluster_keep_their_profiles() {
    let xml = r#"<?xml version='1.0'?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
        <platform version="4.1"><cluster id="c" prefix="c-" suffix="" radical="0-2" speed="1Gf"
            bw="1Gbps" lat="1us" limiter_link="2Gbps" loopback_bw="5Gbps" loopback_lat="0"/>
        <trace id="slow" periodicity="20">0 1
        10 0.5</trace><trace id="narrow" periodicity="-1">5 1e6</trace>
        <trace_connect kind="SPEED" trace="slow" element="c-1"/>
        <trace_connect kind="BANDWIDTH" trace="narrow" element="c_link_2"/></platform>"#;
    let platform = simgrid_xml::parse(xml).unwrap();
    let text = platform_toml::to_string(&platform).unwrap();
    let again = platform_toml::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let changes = |platform: &Platform| {
        let hosts = platform.hosts().iter().map(|h| h.availability.is_some()).collect::<Vec<_>>();
        let narrow = platform.links().iter().filter(|l| l.bandwidth_profile.is_some());
        (hosts, narrow.map(|l| l.name.to_string()).collect::<Vec<_>>())
    };
    assert_eq!(changes(&again), changes(&platform), "{text}");
    assert_eq!(changes(&again).0, [false, true, false]);
    assert_eq!(changes(&again).1.len(), 2, "both directions: {text}");
    assert!(text.contains("limiter = ") && text.contains("[cluster.c.loopback]"), "{text}");
    assert_eq!(again.links().len(), platform.links().len());
}

#[test]
fn private_links_of_a_host_are_written() {
    let mut builder = PlatformBuilder::new("star");
    let zone = builder.add_zone(None, "z", RoutingKind::Star).unwrap();
    let host = builder.add_host(zone, HostSpec::new("h", 1e9)).unwrap();
    builder.add_host(zone, HostSpec::new("other", 1e9)).unwrap();
    let links = ["up", "limit", "self"]
        .map(|name| builder.add_link(LinkSpec::new(name, 1e8, 0.0)).unwrap());
    let [up, limiter, loopback] = links.map(Some);
    builder.set_leaf(host, StarLeaf { up, down: up, limiter, loopback }).unwrap();
    let text = platform_toml::to_string(&builder.build().unwrap()).unwrap();
    let again = platform_toml::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let leaf = again.zone(again.host(host).zone).leaf(host, again.host(host).rank).unwrap();
    let name = |link: Option<LinkId>| link.map(|l| again.link(l).name.to_string());
    assert_eq!(name(leaf.limiter).as_deref(), Some("limit"), "{text}");
    assert_eq!(name(leaf.loopback).as_deref(), Some("self"), "{text}");
}

/// A link of a cluster that is not like the others keeps its figures in a file, and measured links their meaning.
#[test]
fn links_that_were_measured_are_written_and_read_again() {
    use slackline_formats::platform_toml;
    let text = "links = \"measured\"\n[cluster.a]\ncount = 3\nspeed = \"1Gf\"\nbandwidth = \"20MBps\"\nlatency = \"5ms\"\n\
                [[follow]]\nlink = \"a_link_1_UP\"\nbandwidth = \"19.4MBps\"\nlatency = \"65ms\"\n";
    let platform = platform_toml::parse(text).unwrap();
    let figures = |platform: &slackline_model::Platform, name: &str| {
        let link = platform.link(platform.link_named(name).unwrap());
        (link.bandwidth, link.latency)
    };
    let written = platform_toml::to_string(&platform).unwrap();
    let again = platform_toml::parse(&written).unwrap();
    for platform in [&platform, &again] {
        assert!(platform.is_measured());
        assert_eq!(figures(platform, "a_link_1_UP"), (19.4e6, 0.065));
        assert_eq!(figures(platform, "a_link_1_DOWN"), (19.4e6, 0.065));
        assert_eq!(figures(platform, "a_link_0_UP"), (20e6, 0.005));
    }
    assert_eq!(platform_toml::to_string(&again).unwrap(), written);
    let bad = text.replace("19.4MBps", "fast");
    assert!(platform_toml::parse(&bad).unwrap_err().to_string().contains("no profile"));
}
