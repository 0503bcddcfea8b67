//! Worked examples with numbers that can be followed by hand.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use slackline_formats::simgrid_xml;
use slackline_model::platform::{
    DeclaredRoute, Disk, DiskModel, HostSpec, LinkSpec, Member, PlatformBuilder, Profile,
    ProfileEvent, RoutingKind,
};
use slackline_model::problem::{Block, blocks};
use slackline_model::{DiskId, HostId, Platform};
use slackline_simulate::{
    Activity, DiskAccess, DiskOperation, Event, Exec, GraphRun, JobState, Models, NetworkModel,
    ParallelTask, Simulation, SimulationError, Step, Transfer, amdahl_flops,
};
use std::sync::Arc;

fn platform(body: &str) -> Platform {
    let text = format!(
        "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\
         <platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">{body}</zone></platform>"
    );
    simgrid_xml::parse(&text).unwrap()
}

/// Hosts of the given speeds, every pair of them joined by the same one link.
fn pair(link: &str) -> Platform {
    platform(&format!(
        r#"<host id="p1" speed="1Gf"/><host id="p2" speed="2Gf"/><link id="l" {link}/>
           <route src="p1" dst="p2"><link_ctn id="l"/></route>"#
    ))
}

/// Four hosts with a private link each around a fat pipe.
fn switch() -> Platform {
    let mut body =
        String::from(r#"<link id="s" bandwidth="2Bps" latency="1s" sharing_policy="FATPIPE"/>"#);
    for k in 0..4 {
        body += &format!(
            r#"<host id="h{k}" speed="1f"/><link id="l{k}" bandwidth="1Bps" latency="0.5s"/>"#
        );
    }
    for i in 0..4 {
        for j in i + 1..4 {
            body += &format!(
                r#"<route src="h{i}" dst="h{j}"><link_ctn id="l{i}"/><link_ctn id="s"/><link_ctn id="l{j}"/></route>"#
            );
        }
    }
    platform(&body)
}

/// Ends of activities all started at 0, in order of starting.
fn ends(platform: &Platform, models: Models, activities: &[Activity]) -> Vec<f64> {
    let mut simulation = Simulation::new(platform.clone(), models).unwrap();
    for (k, activity) in activities.iter().enumerate() {
        simulation.start(activity.clone(), k as u64).unwrap();
    }
    let mut ends = vec![f64::NAN; activities.len()];
    while simulation.step(f64::INFINITY).unwrap() == Step::Instant {
        for event in simulation.events() {
            if let Event::Done { tag, .. } = *event {
                ends[tag as usize] = simulation.clock();
            }
        }
    }
    ends
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * b.abs().max(1e-3), "{found:?} against {expected:?}");
    }
}

fn comm(src: u32, dst: u32, bytes: f64) -> Activity {
    Transfer::new(HostId(src), HostId(dst), bytes).into()
}

fn exec(host: u32, flops: f64) -> Activity {
    Exec::new(HostId(host), flops).into()
}

/// Bytes row by row, from the host of the row to that of the column.
fn ptask(hosts: &[u32], flops: Vec<f64>, bytes: Vec<f64>) -> Activity {
    let hosts: Vec<HostId> = hosts.iter().map(|&h| HostId(h)).collect();
    let pairs = hosts.iter().flat_map(|&from| hosts.iter().map(move |&to| (from, to)));
    let blocks = pairs.zip(bytes).map(|((from, to), bytes)| Block { from, to, bytes }).collect();
    ParallelTask { hosts, flops, blocks, rate: f64::INFINITY }.into()
}

fn l07() -> Models {
    Models::parallel_tasks().as_of_3_11()
}

#[test]
fn point_to_point_times() {
    // Latency 1e-4 s, 125 MB/s; e.g. LV08, 1 byte: 13.01e-4 + 1 / (0.97 * 1.25e8).
    let platform = pair(r#"bandwidth="125MBps" latency="100us""#);
    let models = [
        Models::cm02().as_of_3_11(),
        Models::lv08().as_of_3_11(),
        Models::smpi_three_segments().as_of_3_11(),
        Models::smpi().as_of_3_11(),
    ];
    #[rustfmt::skip]
    let table = [
        (1.0, [1.000080e-4, 1.301008e-3, 1.005890e-4, 2.014769e-4]),
        (1000.0, [1.080000e-4, 1.309247e-3, 1.295665e-4, 2.184227e-4]),
        (1024.0, [1.081920e-4, 1.309445e-3, 1.302627e-4, 2.189841e-4]),
        (1025.0, [1.082000e-4, 1.309454e-3, 2.030217e-4, 2.190075e-4]),
        (10000.0, [1.800000e-4, 1.383474e-3, 3.341154e-4, 3.955179e-4]),
        (65472.0, [6.237760e-4, 1.840975e-3, 2.830760e-3, 1.099385e-3]),
        (65473.0, [6.237840e-4, 1.840984e-3, 2.830768e-3, 1.721166e-3]),
        (1e6, [8.100000e-3, 9.548423e-3, 1.081903e-2, 9.668720e-3]),
        (4e6, [3.210000e-2, 3.429069e-2, 3.646280e-2, 3.518180e-2]),
    ];
    for (bytes, row) in table {
        for (models, expected) in models.iter().zip(row) {
            let found = ends(&platform, models.clone(), &[comm(0, 1, bytes)])[0];
            assert!((found - expected).abs() < 1e-6 * expected, "{bytes}: {found} {expected}");
        }
    }
}

/// Computations c1 and c2 on p1 (1 Gf), c3 and c4 on p2 (2 Gf), and the transfers t1..t4 between
/// them; t2 waits for c1 or for c2.
struct FourTasks {
    c: [u32; 4],
    t: [u32; 4],
}

impl FourTasks {
    fn of(run: &mut GraphRun, t2_after_c2: bool) -> FourTasks {
        let mut four = || [(); 4].map(|()| run.add());
        let (c, t) = (four(), four());
        let source = if t2_after_c2 { c[1] } else { c[0] };
        for (earlier, later) in [
            (c[0], t[0]),
            (t[0], c[1]),
            (source, t[1]),
            (t[1], c[2]),
            (c[1], t[2]),
            (t[2], c[3]),
            (c[2], t[3]),
            (t[3], c[3]),
        ] {
            run.order(earlier, later).unwrap();
        }
        FourTasks { c, t }
    }

    /// t1 and t4 stay local.
    fn place(&self, run: &mut GraphRun, bytes: [f64; 4]) {
        let work = [exec(0, 50e9), exec(0, 100e9), exec(1, 200e9), exec(1, 80e9)];
        for (job, activity) in self.c.into_iter().zip(work) {
            run.place(job, activity).unwrap();
        }
        let ends = [(0, 0), (0, 1), (0, 1), (1, 1)];
        for ((job, (from, to)), bytes) in self.t.into_iter().zip(ends).zip(bytes) {
            run.place(job, comm(from, to, bytes)).unwrap();
        }
    }
}

#[test]
fn four_tasks_on_two_hosts() {
    // Loopback 15 us + 1000/498e6.
    let platform = pair(r#"bandwidth="125MBps" latency="100us""#);
    let mut run = GraphRun::new(Simulation::new(platform.clone(), l07()).unwrap());
    let tasks = FourTasks::of(&mut run, false);
    let ([c1, c2, c3, c4], [t1, t2, t3, t4]) = (tasks.c, tasks.t);
    assert_eq!(run.state(c1), JobState::Schedulable);
    assert_eq!(run.state(c2), JobState::NotScheduled);
    tasks.place(&mut run, [1e3, 1e4, 2e5, 2e5]);
    run.simulate(100.0).unwrap();
    assert_eq!([c1, t1, t2].map(|j| run.state(j)), [JobState::Done; 3]);
    assert_eq!([c2, c3].map(|j| run.state(j)), [JobState::Running; 2]);
    run.watch(t4, JobState::Done);
    let changed = run.simulate(f64::INFINITY).unwrap();
    assert_eq!(changed.last(), Some(&(t4, JobState::Done)));
    assert_eq!(run.state(c4), JobState::Scheduled);
    run.simulate(f64::INFINITY).unwrap();
    let finishes: Vec<f64> =
        [c1, t1, t2, c2, c3, t3, t4, c4].iter().map(|&j| run.finish(j).unwrap()).collect();
    let expected =
        [50.0, 50.000017, 50.000180, 150.000017, 150.000180, 150.001717, 150.000597, 190.001717];
    for (a, b) in finishes.iter().zip(expected) {
        assert!((a - b).abs() < 1e-6, "{finishes:?}");
    }
}

/// End of the last task for given amounts of t1..t4.
fn end_of_four_tasks(bytes: [f64; 4], t2_after_c2: bool) -> f64 {
    let platform = pair(r#"bandwidth="125MBps" latency="100us""#);
    let mut run = GraphRun::new(Simulation::new(platform.clone(), l07()).unwrap());
    let tasks = FourTasks::of(&mut run, t2_after_c2);
    tasks.place(&mut run, bytes);
    run.simulate(f64::INFINITY).unwrap();
    run.finish(tasks.c[3]).unwrap()
}

#[test]
fn the_listings_of_the_four_tasks() {
    // Amounts of the untyped listing, of the typed one, and as its comments mean them; each with
    // the intended dependencies and with those printed (t2 after c2).
    for (bytes, intended, printed) in [
        ([1e3, 1e4, 2e5, 2e5], 190.001717, 290.000694),
        ([125.0, 1250.0, 2500.0, 2500.0], 190.000135, 290.000155),
        ([125.0, 1250.0, 25e3, 25e3], 190.000315, 290.000200),
    ] {
        let found = [false, true].map(|t2_after_c2| end_of_four_tasks(bytes, t2_after_c2));
        for (found, expected) in found.into_iter().zip([intended, printed]) {
            assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
        }
    }
}

#[test]
fn a_bulk_synchronous_step_over_five_links() {
    // 5e6 bytes cross the narrowest link one way or the other: 0.070615 + 5e6 / 472125.
    let mut body =
        String::from(r#"<host id="a" speed="137.333Mf"/><host id="b" speed="137.333Mf"/>"#);
    let mut route = String::new();
    for (k, (bandwidth, latency)) in
        [(1e9, 0.02), (472_125.0, 0.02), (1e9, 0.02), (2e9, 0.01), (1e9, 0.000615)]
            .into_iter()
            .enumerate()
    {
        body += &format!(r#"<link id="l{k}" bandwidth="{bandwidth}Bps" latency="{latency}s"/>"#);
        route += &format!(r#"<link_ctn id="l{k}"/>"#);
    }
    let platform = platform(&format!(r#"{body}<route src="a" dst="b">{route}</route>"#));
    let step = || ptask(&[0, 1], vec![2e6, 1e6], vec![0.0, 2e6, 3e6, 0.0]);
    let mut run = GraphRun::new(Simulation::new(platform.clone(), l07()).unwrap());
    let (first, second) = (run.add(), run.add());
    run.order(first, second).unwrap();
    run.place(first, step()).unwrap();
    run.place(second, step()).unwrap();
    run.simulate(f64::INFINITY).unwrap();
    assert!((run.finish(first).unwrap() - 10.661030).abs() < 1e-6);
    assert!((run.finish(second).unwrap() - 21.322061).abs() < 1e-6);
}

#[test]
fn speeds_and_bandwidth_change_under_a_chain() {
    let course = |events: &[(f64, f64)]| {
        let events = events.iter().map(|&(date, value)| ProfileEvent { date, value }).collect();
        Some(Arc::new(Profile::once(events).unwrap()))
    };
    let mut b = PlatformBuilder::new("tremblay and jupiter");
    let zone = b.add_zone(None, "z", RoutingKind::Full).unwrap();
    let of_t = course(&[(0.0, 1.0), (1.0, 0.5), (4.0, 1.0)]);
    let of_j = course(&[(0.0, 0.5), (2.0, 1.0)]);
    let t = b.add_host(zone, HostSpec { availability: of_t, ..HostSpec::new("T", 25e6) }).unwrap();
    let j = b.add_host(zone, HostSpec { availability: of_j, ..HostSpec::new("J", 25e6) }).unwrap();
    let bandwidth_profile = course(&[(2.0, 62.5e6), (4.0, 31.25e6)]);
    let link =
        b.add_link(LinkSpec { bandwidth_profile, ..LinkSpec::new("l", 125e6, 1e-4) }).unwrap();
    let (src, dst) = (Member::Host(t), Member::Host(j));
    let links = [link].into();
    let route = DeclaredRoute { src, dst, gw_src: None, gw_dst: None, links, symmetrical: true };
    b.add_route(zone, route).unwrap();
    let platform = b.build().unwrap();
    let mut run = GraphRun::new(Simulation::new(platform.clone(), l07()).unwrap());
    let chain = [
        (exec(0, 25e6), 1.0),
        (comm(0, 1, 125e6), 2.0002),
        (exec(1, 25e6), 3.0002),
        (comm(1, 0, 62.5e6), 4.0006),
        (exec(0, 25e6), 5.0006),
        (comm(0, 1, 31.25e6), 6.0007),
        (exec(1, 25e6), 7.0007),
    ];
    let jobs: Vec<u32> = chain.iter().map(|_| run.add()).collect();
    for pair in jobs.windows(2) {
        run.order(pair[0], pair[1]).unwrap();
    }
    for (&job, (activity, _)) in jobs.iter().zip(&chain) {
        run.place(job, activity.clone()).unwrap();
    }
    run.simulate(f64::INFINITY).unwrap();
    for (&job, (_, expected)) in jobs.iter().zip(&chain) {
        let found = run.finish(job).unwrap();
        assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
    }
}

#[test]
fn parallel_transfers_share_bytes() {
    // L1: 0.5 s + 1 byte at 1 B/s; two at once take 2 s, whatever their directions.
    let shared = pair(r#"bandwidth="1Bps" latency="500ms""#);
    let two = |d: (u32, u32)| [comm(0, 1, 1.0), comm(d.0, d.1, 1.0)];
    assert_eq!(ends(&shared, l07(), &[comm(0, 1, 1.0)]), [1.5]);
    assert_eq!(ends(&shared, l07(), &two((0, 1))), [2.5, 2.5]);
    assert_eq!(ends(&shared, l07(), &two((1, 0))), [2.5, 2.5]);
    // L2: a fat pipe is not shared.
    let fat = pair(r#"bandwidth="1Bps" latency="500ms" sharing_policy="FATPIPE""#);
    assert_eq!(ends(&fat, l07(), &two((1, 0))), [1.5, 1.5]);
    // L4: window 20000, latency 10000 s: 1 byte needs at most one window.
    let far = pair(r#"bandwidth="2Bps" latency="10000s""#);
    let models = Models { tcp_gamma: 20000.0, ..l07() };
    let three = [comm(0, 1, 1.0), comm(0, 1, 1.0), comm(0, 1, 1.0)];
    close(&ends(&far, models, &three), &[10001.5; 3], 1e-9);
}

#[test]
fn parallel_tasks_around_a_switch() {
    let platform = switch();
    // L3: 0.5 + 1 + 0.5 s of latency, then 1 byte at 1 B/s; two of them share the private links.
    assert_eq!(ends(&platform, l07(), &[comm(0, 1, 1.0)]), [3.0]);
    assert_eq!(ends(&platform, l07(), &[comm(0, 1, 1.0), comm(1, 0, 1.0)]), [4.0, 4.0]);
    // L7: disjoint pairs do not meet: the switch is a fat pipe.
    assert_eq!(ends(&platform, l07(), &[comm(0, 1, 1.0), comm(2, 3, 1.0)]), [3.0, 3.0]);
    // L5: in an all-to-all of 1 byte each private link carries 3 out and 3 in: 2 + 6.
    let mut all = vec![1.0; 16];
    (0..4).for_each(|k| all[k * 5] = 0.0);
    assert_eq!(ends(&platform, l07(), &[ptask(&[0, 1, 2, 3], vec![], all)]), [8.0]);
    // L6: scattering 1, 2, 3 bytes takes 6 bytes off the first link.
    let mut scatter = vec![0.0; 16];
    scatter[1..4].copy_from_slice(&[1.0, 2.0, 3.0]);
    assert_eq!(ends(&platform, l07(), &[ptask(&[0, 1, 2, 3], vec![], scatter)]), [8.0]);
    // L8: as slow as the slowest host.
    assert_eq!(ends(&platform, l07(), &[ptask(&[0, 1], vec![1.0, 1.0], vec![])]), [1.0]);
    // No work at all ends at once.
    assert_eq!(ends(&platform, l07(), &[ptask(&[0, 1], vec![], vec![])]), [0.0]);
}

/// Two clusters of five hosts (1 and 5 Gf) behind a slow link.
fn two_clusters() -> Platform {
    let mut body = String::new();
    for k in 0..10 {
        let speed = if k < 5 { 1 } else { 5 };
        body += &format!(
            r#"<host id="c{k}" speed="{speed}Gf"/><link id="l{k}" bandwidth="125MBps" latency="100us"/>"#
        );
    }
    for (id, bandwidth, latency, policy) in [
        (10, "125MBps", "100us", "FATPIPE"),
        (11, "125MBps", "100us", "FATPIPE"),
        (12, "1250MBps", "100us", "SHARED"),
        (13, "1250MBps", "100us", "SHARED"),
        (14, "1250MBps", "50ms", "SHARED"),
    ] {
        body += &format!(
            r#"<link id="l{id}" bandwidth="{bandwidth}" latency="{latency}" sharing_policy="{policy}"/>"#
        );
    }
    for i in 0..10 {
        for j in i + 1..10 {
            let middle: &[u32] = match (i < 5, j < 5) {
                (true, true) => &[10],
                (false, false) => &[11],
                _ => &[10, 12, 14, 13, 11],
            };
            let links: String = std::iter::once(&i)
                .chain(middle)
                .chain([&j])
                .map(|l| format!(r#"<link_ctn id="l{l}"/>"#))
                .collect();
            body += &format!(r#"<route src="c{i}" dst="c{j}">{links}</route>"#);
        }
    }
    platform(&body)
}

fn all_to_all(width: usize, bytes: f64) -> Vec<f64> {
    (0..width * width).map(|k| if k / width == k % width { 0.0 } else { bytes }).collect()
}

#[test]
fn a_workflow_of_parallel_tasks() {
    let platform = two_clusters();
    let first: Vec<u32> = (0..5).collect();
    let second: Vec<u32> = (5..10).collect();
    let mut across = vec![0.0; 100];
    (0..5).for_each(|i| across[i * 10 + i + 5] = 1.25e6);
    let everyone: Vec<u32> = (0..10).collect();
    let mut run = GraphRun::new(Simulation::new(platform.clone(), l07()).unwrap());
    let mut last = None;
    let mut chain = Vec::new();
    for activity in [
        ptask(&[0, 1], vec![], vec![]),
        comm(0, 1, 12.5e6),
        ptask(&first, vec![1e9; 5], vec![]),
        ptask(&first, vec![], all_to_all(5, 312_500.0)),
        ptask(&first, vec![1e9; 5], all_to_all(5, 312_500.0)),
        ptask(&everyone, vec![], across),
        ptask(&second, vec![1e8; 5], all_to_all(5, 625_000.0)),
        exec(9, 5e9),
    ] {
        let job = run.add();
        if let Some(before) = last.replace(job) {
            run.order(before, job).unwrap();
        }
        run.place(job, activity).unwrap();
        chain.push(job);
    }
    let p2 = run.add();
    run.order(chain[0], p2).unwrap();
    run.place(p2, comm(0, 2, 1.25e6)).unwrap();
    run.simulate(f64::INFINITY).unwrap();
    // The last transfer but one is held by its window: 2 * 0.0506 * 1.25e6 / 4194304 + 0.0506.
    let ends: Vec<f64> = chain.iter().map(|&j| run.finish(j).unwrap()).collect();
    let expected = [0.0, 0.1103, 1.1103, 1.1306, 2.1309, 2.21166, 2.25196, 3.25196];
    for (a, b) in ends.iter().zip(expected) {
        assert!((a - b).abs() < 1e-5, "{ends:?}");
    }
    assert!((run.finish(p2).unwrap() - 0.0203).abs() < 1e-9);
}

#[test]
fn moldable_computations_and_a_redistribution() {
    // 0.4e9 flop each at 5e9; 1.2e8 bytes from 4 to 3 hosts, of which 50 MB cross one link;
    // (0.5 + 0.5 / 3) * 3e8 = 2e8 flop each.
    let platform = two_clusters();
    let hosts = [5, 6, 7, 8];
    let ids = hosts.map(HostId);
    let blocks: Vec<Block> = blocks(&ids, &ids[..3], 1.2e8).collect();
    let moved = ParallelTask { hosts: vec![], flops: vec![], blocks, rate: f64::INFINITY };
    let mut run = GraphRun::new(Simulation::new(platform.clone(), l07()).unwrap());
    let jobs: Vec<u32> = [
        ptask(&hosts, amdahl_flops(1e9, 0.2, 4), vec![]),
        moved.into(),
        ptask(&hosts[..3], amdahl_flops(3e8, 0.5, 3), vec![]),
    ]
    .into_iter()
    .map(|activity| {
        let job = run.add();
        if job > 0 {
            run.order(job - 1, job).unwrap();
        }
        run.place(job, activity).unwrap();
        job
    })
    .collect();
    run.simulate(f64::INFINITY).unwrap();
    let ends: Vec<f64> = jobs.iter().map(|&j| run.finish(j).unwrap()).collect();
    close(&ends, &[0.08, 0.4803, 0.5203], 1e-9);
}

#[test]
fn sequential_hosts_and_rates() {
    // L12: 1e7 bytes inside a cluster: 3e-4 + 0.08; at most 6.25 tasks per second: 3e-4 + 0.16.
    let platform = two_clusters();
    assert!((ends(&platform, l07(), &[comm(5, 6, 1e7)])[0] - 0.0803).abs() < 1e-9);
    let slow = ParallelTask {
        hosts: vec![HostId(5), HostId(6)],
        flops: vec![],
        blocks: vec![Block { from: HostId(5), to: HostId(6), bytes: 1e7 }],
        rate: 6.25,
    };
    assert!((ends(&platform, l07(), &[slow.into()])[0] - 0.1603).abs() < 1e-9);
    // L13: A 2e10 flop on 5; B 5 -> 6 after A; C 1e10 on 6 after B shares 6 with D 1e11.
    let simulation = Simulation::new(platform.clone(), l07()).unwrap();
    let mut run = GraphRun::new(simulation);
    run.simulation_mut().set_sequential(HostId(5));
    let jobs: Vec<u32> = (0..4).map(|_| run.add()).collect();
    run.order(jobs[0], jobs[1]).unwrap();
    run.order(jobs[1], jobs[2]).unwrap();
    for (&job, activity) in
        jobs.iter().zip([exec(5, 2e10), comm(5, 6, 2e8), exec(6, 1e10), exec(6, 1e11)])
    {
        run.place(job, activity).unwrap();
    }
    run.simulate(f64::INFINITY).unwrap();
    let ends: Vec<f64> = jobs.iter().map(|&j| run.finish(j).unwrap()).collect();
    close(&ends, &[4.0, 5.6003, 9.6003, 22.0], 1e-9);
    // Two executions on a sequential host come one after the other.
    let mut simulation = Simulation::new(platform.clone(), Models::default()).unwrap();
    simulation.set_sequential(HostId(0));
    simulation.start(Exec::new(HostId(0), 1e9), 0).unwrap();
    simulation.start(Exec::new(HostId(0), 1e9), 1).unwrap();
    let mut dates = Vec::new();
    while simulation.step(f64::INFINITY).unwrap() == Step::Instant {
        dates.push(simulation.clock());
    }
    assert_eq!(dates, [1.0, 2.0]);
}

#[test]
fn failed_work_starts_again_from_the_beginning() {
    // L15: off at 10; what remains is everything; 2e10 flop on a 5e8 host take 40 s.
    let platform = platform(
        r#"<trace id="t" periodicity="-1">10 0
11 1
</trace><host id="a" speed="1Gf"/><host id="b" speed="500Mf"/>
           <trace_connect kind="HOST_AVAIL" trace="t" element="a"/>"#,
    );
    let mut run = GraphRun::new(Simulation::new(platform.clone(), l07()).unwrap());
    let job = run.add();
    run.place(job, exec(0, 2e10)).unwrap();
    run.watch(job, JobState::Failed);
    run.simulate(f64::INFINITY).unwrap();
    assert_eq!(run.finish(job), Some(10.0));
    run.place(job, exec(1, 2e10)).unwrap();
    run.simulate(f64::INFINITY).unwrap();
    assert_eq!((run.start(job), run.finish(job)), (Some(10.0), Some(50.0)));
}

/// A disk of 100 / 50 MB/s behind a connection of 125 MB/s, on `a`; `b` is a link away.
fn disk_platform(bandwidth: f64) -> Platform {
    let mut builder = PlatformBuilder::new("disks");
    let zone = builder.add_zone(None, "z", RoutingKind::Full).unwrap();
    let [a, b] = ["a", "b"].map(|name| builder.add_host(zone, HostSpec::new(name, 1e9)).unwrap());
    let link = builder.add_link(LinkSpec::new("l", bandwidth, 0.01)).unwrap();
    let route = DeclaredRoute::between(a, b, [link]);
    builder.add_route(zone, route).unwrap();
    let disk = Disk {
        name: "d".into(),
        host: a,
        read_bandwidth: 100e6,
        write_bandwidth: 50e6,
        connection_bandwidth: Some(125e6),
        capacity: None,
        model: DiskModel::default(),
        contents: None,
        mounts: Vec::new(),
        properties: None,
    };
    builder.add_disk(disk).unwrap();
    builder.build().unwrap()
}

fn io(access: DiskAccess, bytes: f64, client: u32) -> Activity {
    DiskOperation { disk: DiskId(0), access, bytes, client: HostId(client) }.into()
}

#[test]
fn reads_and_writes_share_a_disk() {
    let platform = disk_platform(1e9);
    // W2: the write runs at 50 until 10 s; the read at 75, then 100: 10 + 250/100.
    let found = ends(
        &platform,
        Models::cm02(),
        &[io(DiskAccess::Read, 1e9, 0), io(DiskAccess::Write, 0.5e9, 0)],
    );
    close(&found, &[12.5, 10.0], 1e-9);
    assert_eq!(ends(&platform, Models::cm02(), &[io(DiskAccess::Read, 1e9, 0)]), [10.0]);
}

#[test]
fn a_remote_read_crosses_disk_and_network() {
    let models = Models { cross_traffic: false, ..Models::cm02() };
    // The disk is the narrower one: 0.01 + 1e9 / 100e6.
    let found = ends(&disk_platform(1e9), models.clone(), &[io(DiskAccess::Read, 1e9, 1)]);
    close(&found, &[10.01], 1e-9);
    // The link is: 0.01 + 1e9 / 20e6.
    let found = ends(&disk_platform(20e6), models, &[io(DiskAccess::Read, 1e9, 1)]);
    close(&found, &[50.01], 1e-9);
}

#[test]
fn the_fifo_model_lets_one_transfer_at_a_time_through() {
    let platform = pair(r#"bandwidth="100MBps" latency="1s""#);
    let models = Models::preset("fifo").unwrap();
    let three = [comm(0, 1, 1e8), comm(1, 0, 1e8), comm(0, 1, 2e8)];
    assert_eq!(ends(&platform, models, &three), [2.0, 4.0, 7.0]);
    // Without contention all run at once.
    let matrix = Models::preset("matrix").unwrap();
    assert_eq!(matrix.network, NetworkModel::Matrix);
    assert_eq!(ends(&platform, matrix, &three), [2.0, 2.0, 3.0]);
}

#[test]
fn receiving_may_keep_a_core_busy() {
    // 1 s of transfer during which the only core computes nothing.
    let platform = pair(r#"bandwidth="100MBps" latency="0s""#);
    let models = Models { receiving_occupies_core: true, cross_traffic: false, ..Models::cm02() };
    let both = [exec(1, 4e9), comm(0, 1, 1e8)];
    close(&ends(&platform, models, &both), &[3.0, 1.0], 1e-12);
}

#[test]
fn cancel_suspend_and_remaining() {
    let platform = pair(r#"bandwidth="100MBps" latency="0s""#);
    let mut simulation = Simulation::new(platform.clone(), Models::cm02()).unwrap();
    let a = simulation.start(Exec::new(HostId(0), 4e9), 0).unwrap();
    let b = simulation.start(Exec::new(HostId(0), 4e9), 1).unwrap();
    assert_eq!(simulation.step(2.0).unwrap(), Step::Limit);
    assert_eq!((simulation.remaining(a), simulation.rate(a)), (Some(3e9), Some(0.5e9)));
    simulation.suspend(b);
    assert_eq!(simulation.step(4.0).unwrap(), Step::Limit);
    assert_eq!((simulation.remaining(a), simulation.remaining(b)), (Some(1e9), Some(3e9)));
    simulation.resume(b);
    assert!(simulation.cancel(a).unwrap());
    assert!(!simulation.cancel(a).unwrap());
    assert_eq!(simulation.remaining(a), None);
    assert_eq!(simulation.step(f64::INFINITY).unwrap(), Step::Instant);
    assert_eq!(simulation.clock(), 7.0);
    assert_eq!(simulation.step(f64::INFINITY).unwrap(), Step::Idle);
}

#[test]
fn nothing_hangs_and_nothing_panics() {
    let platform = platform(
        r#"<trace id="t" periodicity="5">1 0
</trace><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
           <trace_connect kind="SPEED" trace="t" element="a"/>"#,
    );
    let mut simulation = Simulation::new(platform.clone(), Models::default()).unwrap();
    // Without a route.
    assert!(matches!(
        simulation.start(Transfer::new(HostId(0), HostId(1), 1.0), 0),
        Err(SimulationError::NoRoute(_))
    ));
    for activity in [exec(0, f64::NAN), exec(0, -1.0), Activity::Sleep(f64::NAN)] {
        assert!(simulation.start(activity, 0).is_err());
    }
    let unbounded = Exec { bound: f64::NAN, ..Exec::new(HostId(0), 1.0) };
    assert!(simulation.start(unbounded, 0).is_err());
    // The host never gets its speed back: the error names each activity and what it waits for.
    simulation.start(Exec::new(HostId(0), 5e9), 0).unwrap();
    let mut stalled = None;
    for _ in 0..100 {
        match simulation.step(f64::INFINITY) {
            Ok(_) => {}
            Err(error) => {
                stalled = Some(error.to_string());
                break;
            }
        }
    }
    let message = stalled.unwrap();
    assert!(message.contains("execution of 5000000000 flop on `a`"), "{message}");
}

#[test]
fn repeated_runs_are_identical() {
    let platform = two_clusters();
    let activities: Vec<Activity> = (0..40)
        .map(|k| match k % 4 {
            0 => exec(k % 10, 1e9 + f64::from(k) * 1e7),
            _ => comm(k % 10, (k * 7 + 3) % 10, 1e6 * f64::from(k + 1)),
        })
        .collect();
    let first = ends(&platform, Models::default(), &activities);
    let second = ends(&platform, Models::default(), &activities);
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
}

/// Two hosts and a link of 1 byte/s whose bandwidth and state follow the given courses.
fn changing_pair(bandwidth: &[(f64, f64)], state: &[(f64, f64)]) -> Platform {
    let profile = |course: &[(f64, f64)]| {
        let events = course.iter().map(|&(date, value)| ProfileEvent { date, value }).collect();
        (!course.is_empty()).then(|| Arc::new(Profile::once(events).unwrap()))
    };
    let mut b = PlatformBuilder::new("pair");
    let zone = b.add_zone(None, "z", RoutingKind::Full).unwrap();
    let hosts = ["p1", "p2"].map(|name| b.add_host(zone, HostSpec::new(name, 1.0)).unwrap());
    let (bandwidth_profile, state) = (profile(bandwidth), profile(state));
    let link = LinkSpec { bandwidth_profile, state, ..LinkSpec::new("l", 1.0, 0.0) };
    let link = b.add_link(link).unwrap();
    b.add_route(zone, DeclaredRoute::between(hosts[0], hosts[1], [link])).unwrap();
    b.build().unwrap()
}

#[test]
fn lone_transfers_feel_their_link_change() {
    let transfer: Activity = Transfer::new(HostId(0), HostId(1), 8.0).into();
    let both = [transfer.clone(), transfer.clone()];
    let slower = changing_pair(&[(5.0, 0.5)], &[]);
    let broken = changing_pair(&[], &[(5.0, 0.0)]);
    // Five bytes by 5, the other three at half the rate by 11; the next in the queue all of its
    // own at half the rate by 27.
    for (model, expected) in [("matrix", [11.0, 11.0]), ("fifo", [11.0, 27.0])] {
        let models = Models::preset(model).unwrap();
        assert_eq!(ends(&slower, models.clone(), &both), expected, "{model}");
        let mut simulation = Simulation::new(broken.clone(), models).unwrap();
        for tag in 0..2 {
            simulation.start(transfer.clone(), tag).unwrap();
        }
        simulation.step(f64::INFINITY).unwrap();
        let failed = simulation.events().iter().filter(|e| matches!(e, Event::Failed { .. }));
        assert_eq!((simulation.clock(), failed.count()), (5.0, 2), "{model}");
    }
}

/// Ends or failures of activities started at 0: when, and whether done.
fn outcomes(platform: &Platform, activities: &[Activity]) -> Vec<(f64, bool)> {
    let models = Models { cross_traffic: false, ..Models::cm02() };
    let mut simulation = Simulation::new(platform.clone(), models).unwrap();
    for (k, activity) in activities.iter().enumerate() {
        simulation.start(activity.clone(), k as u64).unwrap();
    }
    let mut outcomes = vec![(f64::NAN, false); activities.len()];
    while simulation.step(f64::INFINITY).unwrap() == Step::Instant {
        for event in simulation.events() {
            match *event {
                Event::Done { tag, .. } => outcomes[tag as usize] = (simulation.clock(), true),
                Event::Failed { tag, .. } => outcomes[tag as usize] = (simulation.clock(), false),
                _ => {}
            }
        }
    }
    outcomes
}

#[test]
fn what_ends_as_its_host_or_link_goes_off_fails() {
    // Host `b` is away from 2 to 4, the link to `c` from 3 on; changes come before ends.
    let platform = platform(
        r#"<trace id="t" periodicity="-1">2 0
4 1
</trace><trace id="u" periodicity="-1">3 0
</trace><host id="a" speed="1Gf"/><host id="b" speed="1Gf" core="2"/><host id="c" speed="1Gf"/>
           <link id="l" bandwidth="10MBps" latency="100ms"/><link id="m" bandwidth="10MBps" latency="0"/>
           <route src="a" dst="b"><link_ctn id="l"/></route><route src="a" dst="c"><link_ctn id="m"/></route>
           <trace_connect kind="HOST_AVAIL" trace="t" element="b"/>
           <trace_connect kind="LINK_AVAIL" trace="u" element="m"/>"#,
    );
    let found = outcomes(
        &platform,
        &[
            exec(1, 2e9),         // to 2, on the host that goes
            exec(1, 1.9e9),       // to 1.9
            comm(0, 1, 19e6),     // 0.1 + 1.9, to the host that goes
            exec(0, 2e9),         // to 2, elsewhere
            Activity::Sleep(2.0), // needs no host
            comm(0, 2, 30e6),     // to 3, over the link that goes
            exec(0, 1e9),         // shares host `a`: to 2
        ],
    );
    let expected =
        [(2.0, false), (1.9, true), (2.0, false), (3.0, true), (2.0, true), (3.0, false)];
    assert_eq!(found[..6], expected);
    assert_eq!(found[6], (2.0, true));
}

#[test]
fn disks_of_simgrid_share_the_larger_bandwidth() {
    let disk = |more: &str| {
        let host = format!(
            r#"<host id="a" speed="1Gf"><disk id="d" read_bw="100MBps" write_bw="40MBps">{more}</disk></host>"#
        );
        ends(
            &platform(&host),
            Models::default(),
            &[io(DiskAccess::Read, 1e8, 0), io(DiskAccess::Write, 4e7, 0)],
        )
    };
    // 60 MB of the read beside the write, then the other 40 alone.
    close(&disk(""), &[1.4, 1.0], 1e-9);
    close(&disk(r#"<prop id="connection_bw" value="140MBps"/>"#), &[1.0, 1.0], 1e-9);
}

fn vivaldi(members: &str) -> Platform {
    let text = format!(
        "<?xml version='1.0'?><platform version=\"4.1\"><zone id=\"v\" routing=\"Vivaldi\">{members}</zone></platform>"
    );
    simgrid_xml::parse(&text).unwrap()
}

#[test]
fn without_links_there_is_nothing_but_the_distance() {
    // Five apart in the plane, heights 40 and 55: 100 ms, whatever the size and the window.
    let platform = vivaldi(
        r#"<host id="a" speed="1Gf" coordinates="0 0 40"/><host id="b" speed="1Gf" coordinates="3 4 55"/>"#,
    );
    close(&ends(&platform, Models::cm02(), &[comm(0, 1, 1e7), comm(0, 1, 0.0)]), &[0.1, 0.1], 1e-9);
    close(&ends(&platform, Models::lv08(), &[comm(1, 0, 1e9)]), &[1.301], 1e-9);
    // A plan counts with the same.
    let charged = platform.charged_network(&Models::cm02().charges());
    assert_eq!(charged.bandwidth[1], f64::INFINITY);
    // To itself: twice the height.
    close(&ends(&platform, Models::cm02(), &[comm(0, 0, 1e7)]), &[0.08], 1e-9);
}

#[test]
fn a_peer_sends_to_itself_over_its_own_links() {
    let platform = vivaldi(
        r#"<peer id="p" speed="1Gf" bw_in="12MBps" bw_out="4MBps" coordinates="48 -32 0.9"/>"#,
    );
    // Latency 2 x 0.9 ms; 4 MB/s of the link out, less acknowledgements.
    let expected = 13.01 * 1.8e-3 + 70_578.0 * 1.05 / (0.97 * 4e6);
    close(&ends(&platform, Models::lv08(), &[comm(0, 0, 70_578.0)]), &[expected], 1e-9);
}

#[test]
fn infiniband_slows_down_flows_that_share_an_adapter() {
    let mut body =
        String::from(r#"<link id="l" bandwidth="100MBps" latency="0" sharing_policy="FATPIPE"/>"#);
    for k in 0..4 {
        body += &format!(r#"<host id="h{k}" speed="1Gf"/>"#);
        for j in 0..k {
            body += &format!(r#"<route src="h{j}" dst="h{k}"><link_ctn id="l"/></route>"#);
        }
    }
    let platform = platform(&body);
    let ib = Models::preset("IB").unwrap();
    let alone = 1e6 / (0.940694 * 1e8);
    close(&ends(&platform, ib.clone(), &[comm(0, 1, 1e6)]), &[alone], 1e-9);
    // Two leave one host: 2 x 0.925 each. Three enter one: 3 x 0.965.
    let out = ends(&platform, ib.clone(), &[comm(0, 1, 1e6), comm(0, 2, 1e6)]);
    close(&out, &[1.85 * alone; 2], 1e-9);
    let into = [comm(0, 3, 1e6), comm(1, 3, 1e6), comm(2, 3, 1e6)];
    close(&ends(&platform, ib.clone(), &into), &[2.895 * alone; 3], 1e-9);
    // Without the penalties nothing is shared.
    close(&ends(&platform, Models::smpi(), &into), &[alone; 3], 1e-9);
    // Once one of two has left, the other is as fast as alone: half a megabyte at 1 / 1.85.
    let after = ends(&platform, ib, &[comm(0, 1, 5e5), comm(0, 2, 1e6)]);
    close(&after, &[0.925 * alone, (0.925 + 0.5) * alone], 1e-9);
}

#[test]
fn constant_transfers_take_as_long_as_they_are_told() {
    // There is not even a route from `a` to `b`.
    let platform = platform(r#"<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>"#);
    let mut models = Models::preset("Constant").unwrap();
    let three = [comm(0, 1, 1e12), comm(0, 1, 0.0), comm(1, 1, 1.0)];
    assert_eq!(ends(&platform, models.clone(), &three), [1.0; 3]);
    models.set("network/latency-factor", "0.25").unwrap();
    assert_eq!(ends(&platform, models.clone(), &three), [0.25; 3]);
    let charged = platform.charged_network(&models.charges());
    assert_eq!((charged.latency[1], charged.bandwidth[1]), (0.25, f64::INFINITY));
}

#[test]
fn platforms_that_change_for_ever_are_given_up() {
    let platform = platform(
        r#"<trace id="t" periodicity="1">0.5 0.5
0.75 1
</trace><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
           <trace_connect kind="SPEED" trace="t" element="b"/>"#,
    );
    let mut run = GraphRun::new(Simulation::new(platform.clone(), Models::default()).unwrap());
    for activity in [exec(0, 1e9), exec(0, 1e18)] {
        let job = run.add();
        run.place(job, activity).unwrap();
    }
    run.give_up_after(1000);
    let error = run.simulate(f64::INFINITY).unwrap_err().to_string();
    assert!(error.contains("changed 1001 times and 1 activity has not ended"), "{error}");
    assert_eq!(run.state(0), JobState::Done);
}
