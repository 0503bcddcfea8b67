//! Worked examples: the replay vectors of SimGrid 3.11, and the ring of the SMPI paper.

#![allow(clippy::unwrap_used)]

use crate::common;
use slackline_formats::FileAccess;

use slackline_model::{HostId, Platform};
use slackline_mpi::settings::{ReplaySettings, split_pair};
use slackline_mpi::{Replay, Replayed, Traces};

/// Three hosts that share links: routes of one, six and seven of them.
const THREE: &str = r#"<?xml version='1.0'?>
<platform version="4.1"><zone id="net" routing="Full">
<host id="Tremblay" speed="98.095Mf"/><host id="Jupiter" speed="76.296Mf"/><host id="Fafard" speed="76.296Mf"/>
<link id="9" bandwidth="7.20975MBps" latency="1.461517ms" sharing_policy="SHARED"/>
<link id="4" bandwidth="10.099625MBps" latency="479.78us" sharing_policy="SHARED"/>
<link id="3" bandwidth="34.285625MBps" latency="514.433us" sharing_policy="SHARED"/>
<link id="1" bandwidth="34.285625MBps" latency="514.433us" sharing_policy="SHARED"/>
<link id="2" bandwidth="118.6825MBps" latency="136.931us" sharing_policy="SHARED"/>
<link id="0" bandwidth="41.279125MBps" latency="59.904us" sharing_policy="SHARED"/>
<link id="8" bandwidth="8.158MBps" latency="270.544us" sharing_policy="SHARED"/>
<route src="Tremblay" dst="Jupiter"><link_ctn id="9"/></route>
<route src="Tremblay" dst="Fafard"><link_ctn id="4"/><link_ctn id="3"/><link_ctn id="2"/><link_ctn id="0"/><link_ctn id="1"/><link_ctn id="8"/></route>
<route src="Jupiter" dst="Fafard"><link_ctn id="9"/><link_ctn id="4"/><link_ctn id="3"/><link_ctn id="2"/><link_ctn id="0"/><link_ctn id="1"/><link_ctn id="8"/></route>
</zone></platform>"#;

const RING: &str = r#"<?xml version='1.0'?>
<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="125MBps" lat="50us" bb_bw="2.25GBps" bb_lat="500us"/></platform>"#;

fn platform(text: &str) -> Platform {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("platform.xml");
    std::fs::write(&file, text).unwrap();
    slackline_formats::read_platform(&FileAccess::default(), &file, None).unwrap()
}

fn replay(platform: &Platform, trace: &str, settings: ReplaySettings) -> Replayed {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.tit");
    std::fs::write(&file, trace).unwrap();
    let hosts: Vec<HostId> = platform.host_ids().collect();
    let traces = Traces::open(&[file]).unwrap();
    let mut replay = Replay::new(platform, &hosts, traces, settings).unwrap();
    replay.keep_dates();
    replay.run(&mut ()).unwrap()
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-6 * expected.abs().max(1.0), "{value} is not {expected}");
}

fn old(trace: &str, makespan: f64, dates: &[(usize, usize, f64)]) {
    let outcome = replay(&platform(THREE), trace, ReplaySettings::simgrid_3_11());
    close(outcome.makespan, makespan);
    for &(rank, action, date) in dates {
        close(outcome.dates.as_ref().unwrap()[rank][action], date);
    }
}

#[test]
fn r1_broadcasts_and_a_reduction() {
    let line = |rank: u32, flops: &str| {
        let lines = ["bcast 5e4", "compute F", "bcast 5e4", "compute F", "reduce 5e4 5e8"];
        lines.map(|l| format!("p{rank} {}\n", l.replace('F', flops))).concat()
    };
    let trace = line(0, "5e8") + &line(1, "2e8") + &line(2, "5e8");
    let dates = [(1, 0, 0.015036), (2, 0, 0.015676), (0, 2, 5.097100), (1, 2, 5.112136)];
    old(&trace, 19.691622, &dates);
    old(&trace, 19.691622, &[(2, 2, 6.584775), (0, 4, 18.250974), (1, 4, 14.286929)]);
}

#[test]
fn r2_to_r4_point_to_point() {
    old(
        "p0 send 1 1e6\np0 recv 1 1e6\np0 send 1 1e6\np1 recv 0 1e6\np1 compute 1e9\np1 Isend 0 1e6\np1 Irecv 0 1e6\np1 wait\np2 compute 0\n",
        13.600235,
        &[(0, 0, 0.164463), (1, 1, 13.271310), (0, 1, 13.435773)],
    );
    old(
        "0 send 1 1e7\n0 barrier\n0 compute 98095000\n1 recv 0 1e7\n1 barrier\n1 compute 76296000\n2 barrier\n2 compute 76296000\n",
        2.499434,
        &[(0, 0, 1.491472), (0, 1, 1.495453), (1, 1, 1.498398), (2, 0, 1.499434)],
    );
    old(
        "0 compute 1e9\n0 send 1 1e6\n0 compute 1e9\n0 recv 2 1e6\n1 Irecv 0 1e6\n1 compute 5e8\n1 test\n1 compute 5e8\n1 wait\n1 send 2 1e6\n2 compute 2e9\n2 Irecv 1 1e6\n2 compute 2.5e8\n2 test\n2 compute 2.5e8\n2 wait\n2 Isend 0 1e6\n2 compute 5e8\n",
        39.320541,
        &[(1, 5, 26.401165), (0, 3, 32.920433)],
    );
}

#[test]
fn r5_to_r8_collectives_and_requests() {
    let all = |line: &str| (0..3).map(|rank| format!("{rank} {line}\n")).collect::<String>();
    let trace: String =
        (0..3).map(|r| format!("{r} allReduce 5e4 5e8\n{r} compute 5e8\n")).collect();
    old(&trace, 13.122523, &[(0, 0, 5.112775), (1, 0, 6.568459), (2, 0, 6.569099)]);
    old(&all("allToAll 500 500"), 0.006920, &[(0, 0, 0.004041), (1, 0, 0.006920)]);
    old(
        "0 allToAllV 71 1 40 30 181 1 80 100\n1 allToAllV 121 80 1 40 71 40 1 30\n2 allToAllV 131 100 30 1 71 30 40 1\n",
        0.006936,
        &[(0, 0, 0.003999), (1, 0, 0.006934)],
    );
    old(
        "0 Irecv 1 2000\n0 Irecv 2 3000\n0 waitAll\n1 Isend 0 2000\n1 Isend 2 3000\n1 waitAll\n2 Irecv 1 3000\n2 Isend 0 3000\n2 waitAll\n",
        0.006220,
        &[(0, 2, 0.003787), (1, 2, 0.0), (2, 2, 0.006220)],
    );
}

#[test]
fn the_ring_under_four_models() {
    let mut trace = String::from("0 compute 1e6\n0 send 1 1e6\n0 recv 3 1e6\n");
    for rank in 1..4 {
        let next = (rank + 1) % 4;
        trace +=
            &format!("{rank} recv {} 1e6\n{rank} compute 1e6\n{rank} send {next} 1e6\n", rank - 1);
    }
    let platform = platform(RING);
    let affine = "smpi/lat-factor=1";
    for (changes, expected) in [
        (vec!["network/model=CM02", affine], 0.0384),
        (vec!["network/model=LV08"], 0.068213691),
        (
            vec![
                "smpi/bw-factor=0:0.2758;1024:0.5477;32768:0.9359",
                "smpi/lat-factor=0:1.0056;1024:1.8805;32768:22.7111",
            ],
            0.092698327,
        ),
        (vec![], 0.065962078),
    ] {
        let mut settings = ReplaySettings::simgrid_3_11();
        for change in changes {
            let (key, value) = split_pair(change).unwrap();
            settings.set(&key, &value).unwrap();
        }
        let makespan = replay(&platform, &trace, settings).makespan;
        close(makespan, expected);
    }
}

/// A reduce-scatter of 72,028 doubles in unequal blocks over a fat tree: what SimGrid 3.32 gives.
#[test]
fn unequal_blocks_on_a_fat_tree() {
    let counts: Vec<String> = (9000..9008).map(|count| count.to_string()).collect();
    let line = format!("reducescatter {} 0 0", counts.join(" "));
    let trace: String = (0..8).map(|rank| format!("{rank} {line}\n")).collect();
    let found = common::try_replay(&common::platform("fat-tree"), &trace, &[]).unwrap().makespan;
    assert!((found - 5.887e-3).abs() < 5e-7, "{found}");
}

/// MVAPICH2 gathers up a tree until its communicator has queried the placement of ranks.
#[test]
fn gathers_of_mvapich2_remember() {
    let ends = |before: &str, algorithm: &str| {
        let trace: String =
            (0..8).map(|rank| format!("{rank} {before}\n{rank} gather 100 100\n")).collect();
        let selector = "smpi/coll-selector=mvapich2";
        let mut changes = vec![selector];
        changes.extend((!algorithm.is_empty()).then_some(algorithm));
        common::dates(&trace, &changes)
    };
    for (before, algorithm) in [
        ("barrier", "smpi/gather=ompi_binomial"),
        ("alltoall 10 10", "smpi/gather=ompi_binomial"),
        ("bcast 10", "smpi/gather=ompi_basic_linear"),
        ("allgather 10 10", "smpi/gather=ompi_basic_linear"),
    ] {
        assert_eq!(ends(before, ""), ends(before, algorithm), "{before}");
    }
    let [tree, linear] = ["ompi_binomial", "ompi_basic_linear"]
        .map(|name| ends("barrier", &format!("smpi/gather={name}")));
    assert_ne!(tree, linear);
}

/// Algorithms that find hosts by counting ranks take neighbouring ranks for those of a host, and every rank for a host
/// of its own where hosts have different numbers.
#[test]
fn hosts_are_counted_by_ranks() {
    let platform = common::platform("star");
    let all: Vec<HostId> = platform.host_ids().collect();
    let ends = |placed: &[usize], call: &str, algorithm: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("trace.tit");
        let trace: String = (0..placed.len()).map(|rank| format!("{rank} {call}\n")).collect();
        std::fs::write(&file, trace).unwrap();
        let hosts: Vec<HostId> = placed.iter().map(|&host| all[host]).collect();
        let settings = ReplaySettings::from_pairs(&[split_pair(algorithm).unwrap()]).unwrap();
        let traces = Traces::open(&[file]).unwrap();
        Replay::new(&platform, &hosts, traces, settings).unwrap().run(&mut ()).unwrap().ends
    };
    let uneven = [0, 0, 0, 1, 1, 2, 2, 2, 3];
    for (call, by_rank, plain) in [
        ("bcast 2000", "smpi/bcast=SMP_binomial", "smpi/bcast=binomial_tree"),
        ("allreduce 2000 0", "smpi/allreduce=smp_rdb", "smpi/allreduce=rdb"),
    ] {
        assert_eq!(ends(&uneven, call, by_rank), ends(&uneven, call, plain), "{call}");
        let even = [0, 0, 0, 1, 1, 1];
        assert_ne!(ends(&even, call, by_rank), ends(&even, call, plain));
    }
}

/// A test of what a test has found done takes no time.
#[test]
fn a_request_is_found_done_once() {
    let trace =
        "0 send 1 0 10\n1 irecv 0 0 10\n1 compute 1e6\n1 test 0 1 0\n1 test 0 1 0\n1 wait 0 1 0\n";
    assert_eq!(common::dates(trace, &[])[1], [0.0, 1000.0, 1100.0, 1100.0, 1100.0]);
}
