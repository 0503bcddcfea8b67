//! Every platform that the documentation and the examples folder show can be loaded, written
//! and loaded again, as TOML and as SimGrid XML.

#![allow(clippy::unwrap_used)] // helpers of tests

use slackline_formats::{platform_toml, simgrid_xml};
use slackline_model::platform::{Network, Platform, RouteCache};
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
        let platform = platform_toml::read(&path).unwrap();
        round_trips(&platform);
        let text = platform_toml::to_string(&platform).unwrap();
        assert!(!text.contains("[zone."), "written in the short form:\n{text}");
        seen += 1;
    }
    assert_eq!(seen, 3);
}
