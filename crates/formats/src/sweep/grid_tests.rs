use super::*;
use slackline_model::{HostId, LinkId};

/// The grid of the report's appendix: clusters 3 to 6 from the start, 3 and 4 go, 1 and 2 come.
fn report() -> String {
    let mut text = String::from("GridDescription 1\n\n# who is there from the start\n");
    for (cluster, offset, hosts) in [
        (3, 5, [("stable_50", 1), ("stable_50", 0)]),
        (4, 12, [("stable_70", 2), ("stable_50", 0)]),
        (5, 13, [("stable_90", 4), ("stable_100", 2)]),
        (6, 12, [("stable_100", 0), ("stable_100", 0)]),
    ] {
        text.push_str(&added(0, cluster, "stable_100Kb", offset, hosts));
    }
    text.push_str("200:REMOVE_CLUSTER <cluster3>\n");
    text.push_str("553:CHANGE_HOST_BEHAVIOR <host4.2> <loaded_2> <4>\n");
    text.push_str(&added(1000, 1, "stable_10Kb", 2, [("stable_70", 4), ("stable_70", 3)]));
    text.push_str(&added(1000, 2, "stable_1Mb", 0, [("stable_50", 4), ("stable_90", 2)]));
    text.push_str("1500:REMOVE_CLUSTER <cluster4>\n");
    text.push_str("1550:CHANGE_CLUSTER_BEHAVIOR <cluster3> <stable_100Kb> <2>\n");
    text
}

fn added(at: u32, cluster: u32, link: &str, offset: u32, hosts: [(&str, u32); 2]) -> String {
    let mut text = format!("{at}:ADD_CLUSTER <cluster{cluster}> <{link}> <{offset}>\n");
    for (arch, (load, offset)) in hosts.into_iter().enumerate() {
        let host = arch + 1;
        text.push_str(&format!(
            "{at}:ADD_HOST <cluster{cluster}> <host{cluster}.{host}> <{load}> <{offset}> <{arch}>\n"
        ));
    }
    text
}

fn behaviour(name: &str) -> Result<String> {
    match name {
        "stable_10Kb" => Ok("1\n0 10000\n".into()),
        "stable_100Kb" => Ok("1\n0 100000\n".into()),
        "stable_1Mb" => Ok("1\n0 1000000\n".into()),
        "loaded_2" => Ok("3\n50\n25\n75\n".into()),
        "slow_ms" => Ok("2\n500 10\n250 20\n".into()),
        "none" => Ok("# not measured yet\n".into()),
        "stalled" => Ok("1 0 0".into()),
        "keen" => Ok("1 120".into()),
        _ => match name.strip_prefix("stable_") {
            Some(percent) => Ok(format!("1\n{percent}\n")),
            None => Err(FormatError::new("no such file or folder")),
        },
    }
}

fn read(text: &str) -> Result<Grid> {
    parse(text, "g", &behaviour)
}

fn host(platform: &Platform, name: &str) -> HostId {
    platform.host_named(name).unwrap()
}

fn is_there(platform: &Platform, host: HostId, at: f64) -> bool {
    let state = platform.host(host).state.as_ref().and_then(|state| state.value_at(at));
    state.is_none_or(|on| on > 0.0)
}

#[test]
fn the_grid_of_the_report_comes_and_goes() {
    let Grid { platform, warnings } = read(&report()).unwrap();
    let there = |at: f64| -> String {
        let clusters = (1..=6).filter(|c| {
            let both = [1, 2].map(|h| host(&platform, &format!("host{c}.{h}")));
            let there = both.map(|h| is_there(&platform, h, at));
            assert_eq!(there[0], there[1]);
            there[0]
        });
        clusters.map(|c| c.to_string()).collect()
    };
    assert_eq!(
        [0.0, 199.9, 200.0, 553.0, 1000.0, 1500.0].map(there),
        ["3456", "3456", "456", "456", "12456", "1256"]
    );
    assert_eq!(platform.total_cores(), 12);
    let origin = platform.origin().unwrap();
    assert_eq!((platform.host(origin).cores, platform.is_fifo()), (0, true));
    // Half speed until 553, then the series from its fifth entry on: 25, 75, 50, 25 ...
    let load = platform.host(host(&platform, "host4.2")).availability.clone().unwrap();
    let levels = [0.0, 552.9, 553.0, 558.0, 563.0, 568.0].map(|at| load.value_at(at).unwrap());
    assert_eq!(levels, [0.5, 0.5, 0.25, 0.75, 0.5, 0.25]);
    assert_eq!(platform.host(host(&platform, "host6.1")).availability, None);
    assert_eq!(platform.host(host(&platform, "host3.2")).arch.as_deref(), Some("arch1"));
    let link = platform.link(platform.link_named("cluster1").unwrap());
    assert_eq!((link.bandwidth, &link.bandwidth_profile), (1e4, &None));
    assert_eq!(link.state.as_ref().unwrap().value_at(999.0), Some(0.0));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("line 25: cluster 'cluster3' is not there at 1550"),
        "{warnings:?}"
    );
}

#[test]
fn latency_and_bandwidth_change_together() {
    let grid =
        "GridDescription 1\n0:ADD_CLUSTER<c><slow_ms><1>\n0:ADD_HOST <c> < h > <stable_40> <0> <0>";
    let platform = read(grid).unwrap().platform;
    let link = platform.link(LinkId(0));
    assert_eq!(link.bandwidth, 20.0);
    let at = |profile: &Option<Arc<Profile>>, date| profile.as_ref().unwrap().value_at(date);
    assert_eq!([0.0, 5.0, 10.0].map(|d| at(&link.bandwidth_profile, d)), [20., 10., 20.].map(Some));
    assert_eq!([0.0, 5.0].map(|d| at(&link.latency_profile, d)), [0.25, 0.5].map(Some));
    let load = &platform.host(host(&platform, "h")).availability;
    assert_eq!(at(load, 1e6), Some(0.4));
}

#[test]
fn a_cluster_comes_back_without_its_hosts() {
    let head = "GridDescription 1\n0:ADD_CLUSTER <c> <stable_1Mb> <0>\n0:ADD_HOST <c> <a> <stable_50> <0> <0>\n\
                0:ADD_HOST <c> <b> <stable_50> <0> <0>\n10:REMOVE_CLUSTER <c>\n";
    let back = format!(
        "{head}20:ADD_CLUSTER <c> <stable_10Kb> <0>\n20:ADD_HOST <c> <b> <stable_70> <0> <0>\n"
    );
    let Grid { platform, warnings } = read(&back).unwrap();
    let there =
        |name: &str| [5.0, 15.0, 25.0].map(|at| is_there(&platform, host(&platform, name), at));
    assert_eq!((there("a"), there("b")), ([true, false, false], [true, false, true]));
    assert!(warnings.is_empty());
    let twice = format!(
        "{head}20:ADD_CLUSTER <c> <stable_1Mb> <0>\n20:ADD_HOST <c> <b> <stable_50> <0> <1>\n"
    );
    assert!(read(&twice).unwrap_err().to_string().contains("as another kind"));
}

#[test]
fn mistakes_are_placed() {
    let head = "GridDescription 1\n0:ADD_CLUSTER <c> <stable_1Mb> <0>\n";
    for (line, message) in [
        (
            "0:ADD_HOST <d> <h> <stable_50> <0> <0>",
            "line 3, column 12: no cluster 'd' has been added",
        ),
        ("0:ADD_HOST <c> <h> <missing> <0> <0>", "behaviour 'missing': no such file"),
        ("0:ADD_HOST <c> <h> <none> <0> <0>", "behaviour 'none': a behaviour without entries"),
        ("0:ADD_HOST <c> <h> <keen> <0> <0>", "120 percent"),
        ("0:ADD_CLUSTER <d> <stalled> <0>", "a bandwidth of 0"),
        ("0:ADD_CLUSTER <d> <stable_50> <0>", "behaviour 'stable_50', line 2: 1 entries"),
        ("0:ADD_HOST <c> <h> <stable_50> <0>", "the architecture is missing"),
        ("0:ADD_HOST <c> <h> <stable_50> <-1> <0>", "no whole number"),
        ("0:REMOVE_HOST <h>", "no host 'h' has been added"),
        ("0:ADD_CLUSTER <c> <stable_1Mb> <0>", "is there already"),
        ("0:EXPLODE <c>", "there is no event 'EXPLODE'"),
        ("noon:REMOVE_CLUSTER <c>", "the date 'noon'"),
        ("REMOVE_CLUSTER <c>", "DATE:EVENT"),
        ("5:REMOVE_CLUSTER <c>\n4:REMOVE_CLUSTER <c>", "line 4, column 1: 4 is before 5"),
        ("5:REMOVE_CLUSTER <c", "never closed"),
        ("5:REMOVE_CLUSTER <c> <c>", "one word too many"),
        ("", "no host is ever added"),
    ] {
        let error = read(&format!("{head}{line}\n")).unwrap_err().to_string();
        assert!(error.contains(message), "{line}: {error}");
    }
    assert!(read("Grid 1").unwrap_err().to_string().contains("does not begin with"));
    assert!(read("").is_err());
}
