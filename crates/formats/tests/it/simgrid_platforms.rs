//! SimGrid XML: routes as SimGrid 3.32 computes them (the expected links and latencies of the
//! topologies were printed by it), the older syntax, and errors with a place.
#![allow(clippy::unwrap_used)] // helpers of tests

use slackline_formats::{Place, simgrid_xml};
use slackline_model::platform::{Platform, RouteCache, Sharing};

fn platform(body: &str) -> Platform {
    simgrid_xml::parse(&format!("<platform version=\"4.1\">{body}</platform>")).unwrap()
}

/// A cluster `c` of hosts `n0`, `n1`, ... of 125 MB/s and 50 us.
fn cluster(radical: &str, rest: &str) -> Platform {
    platform(&format!(
        "<zone id=\"world\" routing=\"Full\"><cluster id=\"c\" prefix=\"n\" suffix=\"\" \
         radical=\"{radical}\" speed=\"1Gf\" bw=\"125MBps\" lat=\"50us\" {rest}/></zone>"
    ))
}

/// Checks a route against a line `src dst latency link ...`; order of links does not count.
fn check(platform: &Platform, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let host = |name: &str| platform.host_named(name).unwrap();
    let mut cache = RouteCache::new();
    let route = cache.route(platform, host(words[0]), host(words[1])).unwrap();
    let mut links: Vec<&str> = route.links.iter().map(|&l| &*platform.link(l).name).collect();
    let mut expected = words[3..].to_vec();
    links.sort_unstable();
    expected.sort_unstable();
    assert_eq!(links, expected, "{line}");
    assert!((route.latency - words[2].parse::<f64>().unwrap()).abs() < 1e-12, "{line}");
}

#[test]
fn torus_routes() {
    let torus =
        cluster("0-19", "topology=\"TORUS\" topo_parameters=\"4,5\" limiter_link=\"200MBps\"");
    for line in [
        "n0 n7 1e-4 c_link_0_limiter c_link_from_3_to_0_DOWN c_link_3_limiter \
         c_link_from_3_to_7_UP c_link_7_limiter",
        "n11 n16 1.5e-4 c_link_11_limiter c_link_from_11_to_8_UP c_link_8_limiter \
         c_link_from_8_to_12_UP c_link_12_limiter c_link_from_12_to_16_UP c_link_16_limiter",
        "n13 n10 1e-4 c_link_13_limiter c_link_from_13_to_14_UP c_link_14_limiter \
         c_link_from_10_to_14_DOWN c_link_10_limiter",
    ] {
        check(&torus, line);
    }
    let shared =
        cluster("0-29", "topology=\"TORUS\" topo_parameters=\"2,3,5\" sharing_policy=\"SHARED\"");
    check(&shared, "n1 n28 1.5e-4 c_link_from_0_to_1 c_link_from_4_to_0 c_link_from_28_to_4");
}

#[test]
fn fat_tree_routes() {
    let tree = cluster("0-15", "topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\"");
    for line in [
        "n0 n1 1e-4 link_from_0_31_0_UP link_from_1_31_1_DOWN",
        "n0 n10 2e-4 link_from_0_31_0_UP link_from_31_27_17_UP link_from_29_27_24_DOWN \
         link_from_10_29_10_DOWN",
        "n1 n10 2e-4 link_from_1_31_1_UP link_from_31_27_17_UP link_from_29_27_25_DOWN \
         link_from_10_29_10_DOWN",
    ] {
        check(&tree, line);
    }
    let tree = cluster(
        "0-23",
        "topology=\"FAT_TREE\" topo_parameters=\"3;4,3,2;1,2,3;1,2,1\" limiter_link=\"200MBps\"",
    );
    for line in [
        "n0 n0 1e-4 c_link_0_limiter link_from_0_47_0_UP c_link_47_limiter link_from_0_47_0_DOWN \
         c_link_0_limiter",
        "n0 n12 3e-4 c_link_0_limiter link_from_0_47_0_UP c_link_47_limiter link_from_47_41_24_UP \
         c_link_41_limiter link_from_41_37_48_UP link_from_39_37_54_DOWN c_link_37_limiter \
         link_from_44_39_37_DOWN c_link_39_limiter link_from_12_44_12_DOWN c_link_44_limiter \
         c_link_12_limiter",
    ] {
        check(&tree, line);
    }
}

#[test]
fn dragonfly_routes() {
    let fly = cluster("0-47", "topology=\"DRAGONFLY\" topo_parameters=\"2,4;3,3;4,2;2\"");
    for line in [
        "n0 n24 2e-4 local_link_from_router_0_to_node_0_0_UP \
         green_link_in_chassis_0_between_routers_0_and_1_48_UP \
         blue_link_between_group_0_and_1_routers_1_and_12_108_UP \
         local_link_from_router_12_to_node_0_24_DOWN",
        "n10 n45 3e-4 local_link_from_router_5_to_node_0_10_UP \
         black_link_in_group_0_between_chassis_0_and_1_blade_1_85_DOWN \
         blue_link_between_group_0_and_1_routers_1_and_12_108_UP \
         green_link_in_chassis_0_between_routers_0_and_2_67_UP \
         black_link_in_group_1_between_chassis_0_and_2_blade_2_102_UP \
         local_link_from_router_22_to_node_1_45_DOWN",
    ] {
        check(&fly, line);
    }
    let bandwidth = |name: &str| fly.link(fly.link_named(name).unwrap()).bandwidth;
    // Four parallel blue links, three black, two green.
    assert_eq!(bandwidth("blue_link_between_group_0_and_1_routers_1_and_12_108_UP"), 5e8);
    assert_eq!(bandwidth("black_link_in_group_0_between_chassis_0_and_1_blade_0_84_UP"), 3.75e8);
    assert_eq!(bandwidth("green_link_in_chassis_0_between_routers_0_and_1_48_UP"), 2.5e8);
}

#[test]
fn flat_clusters_with_limiter_loopback_and_backbone() {
    let flat = cluster(
        "7-14",
        "limiter_link=\"150MBps\" loopback_bw=\"1GBps\" loopback_lat=\"1us\" bb_bw=\"200MBps\" \
         bb_lat=\"2ms\" bb_sharing_policy=\"FATPIPE\"",
    );
    check(&flat, "n7 n7 1e-6 c_link_7_loopback");
    check(
        &flat,
        "n7 n9 2.1e-3 c_link_7_limiter c_link_7_UP c_backbone c_link_9_DOWN c_link_9_limiter",
    );
    let backbone = flat.link(flat.link_named("c_backbone").unwrap());
    assert_eq!((backbone.bandwidth, backbone.sharing), (2e8, Sharing::Fatpipe));
    let plain = cluster("0-3", "sharing_policy=\"SHARED\"");
    check(&plain, "n1 n1 5e-5 c_link_1");
    check(&plain, "n0 n1 1e-4 c_link_0 c_link_1");
}

/// Sites on a core of routers, with the numbers of the Grid'5000 description: private and
/// cluster links and backbones of 1e-4 s, a cabinet switch of 5e-4 s.
const GRID: &str = r#"
<zone id="grid" routing="Floyd">
  <zone id="core" routing="Floyd">
    <router id="west"/><router id="middle"/><router id="hub"/><router id="east"/>
    <link id="west_middle" bandwidth="1.25GBps" latency="100us"/>
    <link id="middle_hub" bandwidth="1.25GBps" latency="100us"/>
    <link id="hub_east" bandwidth="1.25GBps" latency="100us"/>
    <route src="west" dst="middle"><link_ctn id="west_middle"/></route>
    <route src="middle" dst="hub"><link_ctn id="middle_hub"/></route>
    <route src="hub" dst="east"><link_ctn id="hub_east"/></route>
  </zone>
  <zone id="site_west" routing="Full">
    <cluster id="oak" prefix="oak-" suffix="" radical="1-93" speed="8.8925Gf" bw="125MBps"
             lat="100us" bb_bw="1.25GBps" bb_lat="100us"/>
    <cluster id="elm" prefix="elm-" suffix="" radical="1-10" speed="13.357Gf" bw="125MBps"
             lat="100us" bb_bw="1.25GBps" bb_lat="100us"/>
    <zone id="gate_west" routing="Full"><router id="gw_west"/></zone>
    <link id="link_oak" bandwidth="1.25GBps" latency="100us"/>
    <link id="link_elm" bandwidth="1.25GBps" latency="100us"/>
    <zoneRoute src="oak" dst="elm" gw_src="oak-oak_router" gw_dst="elm-elm_router">
      <link_ctn id="link_oak"/><link_ctn id="link_elm"/></zoneRoute>
    <zoneRoute src="oak" dst="gate_west" gw_src="oak-oak_router" gw_dst="gw_west">
      <link_ctn id="link_oak"/></zoneRoute>
    <zoneRoute src="elm" dst="gate_west" gw_src="elm-elm_router" gw_dst="gw_west">
      <link_ctn id="link_elm"/></zoneRoute>
  </zone>
  <zone id="site_east" routing="Full">
    <zone id="ash" routing="Full">
      <cluster id="ash_a" prefix="ash-" suffix="" radical="1-39" speed="16.673Gf" bw="125MBps"
               lat="100us" bb_bw="1.25GBps" bb_lat="100us"/>
      <cluster id="ash_b" prefix="ash-" suffix="" radical="40-74" speed="16.673Gf" bw="125MBps"
               lat="100us" bb_bw="1.25GBps" bb_lat="100us"/>
      <zone id="gate_ash" routing="Full"><router id="gw_ash"/></zone>
      <link id="switch_ash" bandwidth="1.25GBps" latency="500us"/>
      <zoneRoute src="ash_a" dst="ash_b" gw_src="ash-ash_a_router" gw_dst="ash-ash_b_router">
        <link_ctn id="switch_ash"/></zoneRoute>
      <zoneRoute src="ash_a" dst="gate_ash" gw_src="ash-ash_a_router" gw_dst="gw_ash">
        <link_ctn id="switch_ash"/></zoneRoute>
      <zoneRoute src="ash_b" dst="gate_ash" gw_src="ash-ash_b_router" gw_dst="gw_ash">
        <link_ctn id="switch_ash"/></zoneRoute>
    </zone>
    <zone id="gate_east" routing="Full"><router id="gw_east"/></zone>
    <link id="link_ash" bandwidth="1.25GBps" latency="100us"/>
    <zoneRoute src="ash" dst="gate_east" gw_src="gw_ash" gw_dst="gw_east">
      <link_ctn id="link_ash"/></zoneRoute>
  </zone>
  <link id="up_west" bandwidth="1.25GBps" latency="100us"/>
  <link id="up_east" bandwidth="1.25GBps" latency="100us"/>
  <zoneRoute src="site_west" dst="core" gw_src="gw_west" gw_dst="west">
    <link_ctn id="up_west"/></zoneRoute>
  <zoneRoute src="site_east" dst="core" gw_src="gw_east" gw_dst="east">
    <link_ctn id="up_east"/></zoneRoute>
</zone>"#;

#[test]
fn routes_through_sites_cabinets_and_a_core() {
    let grid = platform(GRID);
    // As the published vectors: 3 links and 3e-4 s in a cluster, 6 and 6e-4 s in a site, 5 and
    // 9e-4 s between cabinets, 12 links and 1.6e-3 s from cluster to cabinet of another site.
    for line in [
        "oak-1 oak-2 3e-4 oak_link_1_UP oak_backbone oak_link_2_DOWN",
        "oak-1 elm-1 6e-4 oak_link_1_UP oak_backbone link_oak link_elm elm_backbone elm_link_1_DOWN",
        "ash-40 ash-39 9e-4 ash_b_link_40_UP ash_b_backbone switch_ash ash_a_backbone \
         ash_a_link_39_DOWN",
        "oak-1 ash-1 1.6e-3 oak_link_1_UP oak_backbone link_oak up_west west_middle middle_hub \
         hub_east up_east link_ash switch_ash ash_a_backbone ash_a_link_1_DOWN",
    ] {
        check(&grid, line);
        assert!(line.contains("UP"));
    }
    let network = grid.planning_network();
    assert_eq!(network.groups, 4, "one per cluster or cabinet");
    assert!(network.bandwidth.iter().all(|&bandwidth| bandwidth == 1.25e8));
}

#[test]
fn bypass_routes_win_one_way() {
    let p = platform(
        r#"<zone id="top" routing="Dijkstra">
  <zone id="a" routing="Full"><host id="a1" speed="1Gf"/><host id="a2" speed="1Gf"/>
    <link id="la" bandwidth="1GBps" latency="1ms"/>
    <route src="a1" dst="a2"><link_ctn id="la"/></route></zone>
  <zone id="b" routing="Full"><host id="b1" speed="1Gf"/></zone>
  <link id="far" bandwidth="1GBps" latency="9ms"/><link id="near" bandwidth="1GBps" latency="2ms"/>
  <zoneRoute src="a" dst="b" gw_src="a1" gw_dst="b1"><link_ctn id="far"/></zoneRoute>
  <bypassZoneRoute src="a" dst="b" gw_src="a1" gw_dst="b1"><link_ctn id="near"/></bypassZoneRoute>
</zone>"#,
    );
    check(&p, "a2 b1 3e-3 la near");
    check(&p, "b1 a2 1e-2 far la");
}

#[test]
fn vivaldi_peers_are_as_far_as_their_coordinates() {
    let p = simgrid_xml::parse(
        r#"<platform version="3"><AS id="AS0" routing="Vivaldi">
  <peer id="p1" coordinates="25.5 9.4 1.4" power="1.5Gf" lat="500us" bw_in="2.25GBps" bw_out="2.25GBps"/>
  <peer id="p2" coordinates="-12.7 -9.9 2.1" power="730Mf" lat="500us" bw_in="2.25GBps" bw_out="2.25GBps"/>
</AS></platform>"#,
    )
    .unwrap();
    let mut cache = RouteCache::new();
    let hosts: Vec<_> = p.host_ids().collect();
    let route = cache.route(&p, hosts[0], hosts[1]).unwrap();
    // sqrt(38.2^2 + 19.3^2) = 42.798715 ms, heights 1.4 and 2.1 ms, two links of 0.5 ms.
    assert!((route.latency - 0.047_298_715).abs() < 1e-9);
    assert_eq!(route.links.len(), 2);
}

#[test]
fn the_older_syntax_means_the_same() {
    let p = simgrid_xml::parse(
        r#"<?xml version="1.0"?><!DOCTYPE platform SYSTEM "http://simgrid.gforge.inria.fr/simgrid.dtd">
<platform version="3"><AS id="AS0" routing="Full">
  <storage_type id="hdd" model="linear_no_lat" size="500GB" content_type="txt_unix" content="c.txt">
    <model_prop id="Bwrite" value="50Mbps"/><model_prop id="Bread" value="100Mbps"/>
    <model_prop id="Bconnection" value="125Mbps"/></storage_type>
  <storage id="Disk1" typeId="hdd"/>
  <host id="alice" power="1000000000" core="2" availability="0.5"><mount id="Disk1" name="/home"/></host>
  <host id="bob" power="1Gf" state="OFF"/>
  <link id="l" bandwidth="125000000" latency="0.0001" sharing_policy="FULLDUPLEX"/>
  <route src="alice" dst="bob"><link_ctn id="l" direction="UP"/></route>
</AS>
<trace id="t" periodicity="10.0">0 1
5 0.5</trace>
<trace_connect kind="POWER" trace="t" element="bob"/>
</platform>"#,
    )
    .unwrap();
    check(&p, "alice bob 1e-4 l_UP");
    check(&p, "bob alice 1e-4 l_DOWN");
    let (alice, bob) = (&p.hosts()[0], &p.hosts()[1]);
    assert_eq!((alice.speed, alice.cores), (1e9, 2));
    assert_eq!(alice.availability.as_ref().unwrap().value_at(0.0), Some(0.5));
    assert_eq!(bob.state.as_ref().unwrap().value_at(0.0), Some(0.0));
    assert_eq!(bob.availability.as_ref().unwrap().period(), Some(10.0));
    let disk = &p.disks()[0];
    // 100 and 50 Mbit/s, 500 GB.
    assert_eq!((disk.read_bandwidth, disk.write_bandwidth), (1.25e7, 6.25e6));
    assert_eq!((disk.connection_bandwidth, disk.capacity), (Some(1.5625e7), Some(5e11)));
    assert_eq!(disk.mounts[0].1, "/home");
}

#[test]
fn errors_say_where_and_why() {
    let cases = [
        ("<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Fool\"/></platform>", 2, "routing"),
        (
            "<platform version=\"4.1\">\n\n<zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gx\"/></zone></platform>",
            3,
            "Gx",
        ),
        (
            "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n<host id=\"a\" sped=\"1Gf\"/></zone></platform>",
            2,
            "sped",
        ),
        (
            "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n<host id=\"a\" speed=\"0f\"/></zone></platform>",
            2,
            "speed",
        ),
        (
            "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/>\n<host id=\"a\" speed=\"1Gf\"/></zone></platform>",
            2,
            "twice",
        ),
        (
            "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/>\n<route src=\"a\" dst=\"b\"/></zone></platform>",
            2,
            "\"b\"",
        ),
        (
            "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/>\n<link id=\"l\" bandwidth=\"-1Bps\" latency=\"0\"/></zone></platform>",
            2,
            "bandwidth",
        ),
        ("<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Full\">", 2, "cut off"),
        ("<platform version=\"4.1\">\n<zone id=\"&lol;\" routing=\"Full\"/></platform>", 2, "lol"),
        (
            "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n<cluster id=\"c\" prefix=\"\" suffix=\"\" radical=\"0-4294967295\" speed=\"1f\" bw=\"1Bps\" lat=\"0\"/></zone></platform>",
            2,
            "hosts",
        ),
    ];
    for (text, line, word) in cases {
        let error = simgrid_xml::parse(text).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert!(matches!(error.place, Place::At { line: at, .. } if at == line), "{error}");
    }
    let deep =
        format!("<platform version=\"4.1\">{}", "<zone id=\"z\" routing=\"Full\">".repeat(1000));
    assert!(simgrid_xml::parse(&deep).is_err());
}

/// A storage of every model, with contents, in both formats; the second file has the same storages as the first.
#[test]
fn storages_convert_both_ways() {
    const TOML: &str = r#"
[host.a]
speed = "1Gf"
[host.b]
speed = "1Gf"
[[disk]]
name = "plain"
host = "a"
read = "100MBps"
write = "50MBps"
connection = "125MBps"
capacity = "1GB"
content = "files.txt"
mounts = [["a", "/home"], ["b", "/data"]]
[[disk]]
name = "late"
host = "a"
read = "100MBps"
write = "50MBps"
model = { kind = "affine", read-latency = "5ms", write-latency = "7ms" }
[[disk]]
name = "bay"
host = "a"
stock = "disk-bay"
read = "1GBps"
[[disk]]
name = "sized"
host = "b"
read = "80MBps"
write = "40MBps"
[disk.model]
kind = "piecewise"
segments = [
  { from = "0B", read = "10MBps", write = "5MBps", read-latency = "1ms", write-latency = "2ms" },
  { from = "1MB", read = "80MBps", write = "40MBps", read-latency = "0s", write-latency = "0s" },
]
[[disk]]
name = "crowded"
host = "b"
read = "100MBps"
write = "20MBps"
model = { kind = "concurrency", read = ["100MBps", "60MBps"], write = ["20MBps"] }
[[disk]]
name = "tape"
host = "b"
read = "100MBps"
write = "100MBps"
model = { kind = "stochastic", read = { distribution = "lognormal", mu = 3.0, sigma = 0.5 }, write = 60.0, stream = "tape", seed = 4 }
"#;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("files.txt"), "/b 10\n/a b 20\n").unwrap();
    std::fs::write(path("p.toml"), TOML).unwrap();
    let files = slackline_formats::FileAccess::default();
    let read = |name: &str| slackline_formats::read_platform(&files, &path(name), None);
    let first = read("p.toml").unwrap();
    assert_eq!(first.disks()[0].contents.as_ref().unwrap().size("/a b"), Some(20));
    for (from, to) in [("p.toml", "p.xml"), ("p.xml", "again.toml")] {
        let platform = read(from).unwrap();
        slackline_formats::write_platform(&files, &path(to), &platform, None).unwrap();
        let again = read(to).unwrap();
        for (disk, other) in first.disks().iter().zip(again.disks()) {
            assert_eq!((&disk.model, &disk.contents), (&other.model, &other.contents), "{to}");
            assert_eq!(
                (disk.capacity, disk.read_bandwidth),
                (other.capacity, other.read_bandwidth)
            );
            assert_eq!(disk.mounts, other.mounts, "{to}");
            // What the XML says in properties is not said twice.
            assert_eq!(disk.properties, other.properties, "{to}");
        }
        assert!(again.hosts().iter().all(|host| host.properties.is_none()), "{to}");
        let text = std::fs::read_to_string(path(to)).unwrap();
        let mut disks = text.lines().filter(|l| l.contains("<disk") || l.contains("connection"));
        assert!(disks.all(|line| !line.contains("bps\"")), "{text}");
    }
    // An error of the list is named by its own file and line, whichever platform names it.
    std::fs::write(path("files.txt"), "/a 1\n/b x\n").unwrap();
    for name in ["p.toml", "p.xml"] {
        let error = slackline_formats::read_platform(&Default::default(), &path(name), None);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("files.txt:2:1: the size of `/b`"), "{error}");
    }
    // Larger than the storage; a path twice.
    for (list, cause) in [("/a 2000000000", "larger than its capacity"), ("/a 1\n/a 2", "twice")] {
        std::fs::write(path("files.txt"), list).unwrap();
        let error = slackline_formats::read_platform(&Default::default(), &path("p.toml"), None);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(cause), "{error}");
    }
}

#[test]
fn storages_in_bits_are_warned_of() {
    let xml = r#"<platform version="3"><AS id="AS0" routing="Full">
<storage_type id="hdd" model="linear_no_lat" size="500GB">
 <model_prop id="BWRITE" value="50MBps"/><model_prop id="Bread" value="100Mbps"/></storage_type>
<storage id="Disk1" typeId="hdd"/><host id="alice" power="1Gf"><mount id="Disk1" name="/home"/></host>
</AS></platform>"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.xml");
    std::fs::write(&path, xml).unwrap();
    let (platform, warnings) =
        slackline_formats::platform::read_with_warnings(&Default::default(), &path, None).unwrap();
    assert_eq!(
        (platform.disks()[0].read_bandwidth, platform.disks()[0].write_bandwidth),
        (12.5e6, 50e6)
    );
    assert!(
        warnings.len() == 1 && warnings[0].contains("line 3") && warnings[0].contains("12500000"),
        "{warnings:?}"
    );
}
