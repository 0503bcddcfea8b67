//! The workloads on which the simulator is measured against SimGrid, made by the same rules on
//! both sides:
//!
//!     cargo run --release -p slackline-simulate --example peer_bench -- dag N H star|backbone SEED
//!     cargo run --release -p slackline-simulate --example peer_bench -- flows F K SEED
//!
//! One JSON line; `wall_seconds` covers creating the activities and simulating, not building
//! the platform or drawing the graph. LV08 without cross-traffic.

#![allow(clippy::print_stdout, reason = "an example that reports on the terminal")]

use slackline_model::platform::{
    DeclaredRoute, HostSpec, LinkSpec, Member, Platform, PlatformBuilder, PlatformError,
    RoutingKind, StarLeaf,
};
use slackline_model::{HostId, LinkId, ZoneId};
use slackline_simulate::{Event, Exec, Models, Simulation, Step, Transfer};
use std::error::Error;
use std::time::Instant;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2f64.powi(-53)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Layers of tasks; edges by source.
struct Dag {
    flops: Vec<f64>,
    hosts: Vec<u32>,
    /// Number of inputs each task still waits for.
    pending: Vec<u32>,
    first_edge: Vec<u32>,
    /// Target and bytes.
    edges: Vec<(u32, u32)>,
}

fn draw_dag(tasks: usize, hosts: u64, random: &mut Random) -> Dag {
    let width = ((tasks as f64).sqrt().floor() as usize).max(16);
    let mut flops = Vec::with_capacity(tasks);
    let mut placed = Vec::with_capacity(tasks);
    let mut pending = vec![0; tasks];
    let mut first_edge = vec![0u32; tasks + 1];
    let mut drawn: Vec<(u32, u32, u32)> = Vec::new();
    let mut before: Vec<u32> = Vec::new();
    for (task, waits_for) in pending.iter_mut().enumerate() {
        flops.push(5e8 + 1e9 * random.uniform());
        placed.push(random.below(hosts) as u32);
        let layer = task / width;
        if layer == 0 {
            continue;
        }
        before.clear();
        for _ in 0..1 + random.below(5) {
            let source = ((layer - 1) * width) as u32 + random.below(width as u64) as u32;
            let u = random.uniform();
            if !before.contains(&source) {
                before.push(source);
                drawn.push((source, task as u32, (125e6 / 3.0 * (0.5 + u)).floor() as u32));
                first_edge[source as usize + 1] += 1;
                *waits_for += 1;
            }
        }
    }
    for task in 0..tasks {
        first_edge[task + 1] += first_edge[task];
    }
    let mut place = first_edge.clone();
    let mut edges = vec![(0, 0); drawn.len()];
    for (source, target, bytes) in drawn {
        edges[place[source as usize] as usize] = (target, bytes);
        place[source as usize] += 1;
    }
    Dag { flops, hosts: placed, pending, first_edge, edges }
}

fn add_leaf(
    builder: &mut PlatformBuilder,
    zone: ZoneId,
    number: usize,
) -> Result<HostId, PlatformError> {
    let host = builder.add_host(zone, HostSpec::new(format!("h{number}"), 1e9))?;
    let link = LinkSpec { split_duplex: true, ..LinkSpec::new(format!("l{number}"), 125e6, 5e-5) };
    let up = builder.add_link(link)?;
    let leaf = StarLeaf { up: Some(up), down: Some(LinkId(up.0 + 1)), ..StarLeaf::default() };
    builder.set_leaf(host, leaf)?;
    Ok(host)
}

fn flat_platform(hosts: usize, backbone: bool) -> Result<Platform, PlatformError> {
    let mut builder = PlatformBuilder::new("flat");
    let zone = builder.add_zone(None, "cluster", RoutingKind::Star)?;
    for number in 0..hosts {
        add_leaf(&mut builder, zone, number)?;
    }
    if backbone {
        let link = builder.add_link(LinkSpec::new("backbone", 125e6 * hosts as f64 / 4.0, 1e-4))?;
        builder.set_backbone(zone, link)?;
    }
    builder.build()
}

fn two_level_platform() -> Result<Platform, PlatformError> {
    const CLUSTERS: usize = 32;
    let mut builder = PlatformBuilder::new("two levels");
    let root = builder.add_zone(None, "world", RoutingKind::Full)?;
    let mut clusters = Vec::new();
    for c in 0..CLUSTERS {
        let zone = builder.add_zone(Some(root), format!("c{c}"), RoutingKind::Star)?;
        for number in c * 32..(c + 1) * 32 {
            add_leaf(&mut builder, zone, number)?;
        }
        let router = builder.add_router(zone, format!("r{c}"))?;
        let backbone = builder.add_link(LinkSpec::new(format!("bb{c}"), 1.25e9, 1e-4))?;
        builder.set_backbone(zone, backbone)?;
        let link = LinkSpec::new(format!("up{c}"), 1.25e9, 5e-4);
        let uplink = builder.add_link(LinkSpec { split_duplex: true, ..link })?;
        clusters.push((zone, router, uplink));
    }
    for &(src, src_router, up) in &clusters {
        for &(dst, dst_router, down) in &clusters {
            if src != dst {
                builder.add_route(
                    root,
                    DeclaredRoute {
                        src: Member::Zone(src),
                        dst: Member::Zone(dst),
                        gw_src: Some(Member::Router(src_router)),
                        gw_dst: Some(Member::Router(dst_router)),
                        links: [up, LinkId(down.0 + 1)].into(),
                        symmetrical: false,
                    },
                )?;
            }
        }
    }
    builder.build()
}

fn models() -> Models {
    Models { cross_traffic: false, ..Models::lv08() }
}

/// Peak memory of this process.
fn rss_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

/// Processor time of this process so far (other work on the machine does not count).
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.unwrap_or(f64::NAN) / 1e9
}

/// Marks the tag of a transfer; the rest is the task it goes to.
const TRANSFER: u64 = 1 << 32;

pub(crate) fn bench_dag(
    tasks: usize,
    hosts: usize,
    backbone: bool,
    seed: u64,
) -> Result<(), Box<dyn Error>> {
    let platform = flat_platform(hosts, backbone)?;
    let mut dag = draw_dag(tasks, hosts as u64, &mut Random(seed));
    let (clock, cpu) = (Instant::now(), cpu_seconds());
    let mut simulation = Simulation::new(platform.clone(), models())?;
    let mut activities = 0u64;
    let mut ready: Vec<u32> =
        (0..tasks as u32).filter(|&task| dag.pending[task as usize] == 0).collect();
    let mut makespan = 0.0;
    loop {
        for task in ready.drain(..) {
            let exec = Exec::new(HostId(dag.hosts[task as usize]), dag.flops[task as usize]);
            simulation.start(exec, u64::from(task))?;
            activities += 1;
        }
        if simulation.step(f64::INFINITY)? != Step::Instant {
            break;
        }
        makespan = simulation.clock();
        for k in 0..simulation.events().len() {
            let Event::Done { tag, .. } = simulation.events()[k] else { continue };
            if tag >= TRANSFER {
                arrive(&mut dag.pending, &mut ready, (tag - TRANSFER) as u32);
                continue;
            }
            let task = tag as usize;
            let from = dag.hosts[task];
            for e in dag.first_edge[task]..dag.first_edge[task + 1] {
                let (target, bytes) = dag.edges[e as usize];
                let to = dag.hosts[target as usize];
                if to == from {
                    arrive(&mut dag.pending, &mut ready, target);
                } else {
                    let transfer = Transfer::new(HostId(from), HostId(to), f64::from(bytes));
                    simulation.start(transfer, TRANSFER + u64::from(target))?;
                    activities += 1;
                }
            }
        }
    }
    let (wall, cpu) = (clock.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let shape = if backbone { "backbone" } else { "star" };
    println!(
        "{{\"bench\": \"dag\", \"platform\": \"{shape}\", \"tasks\": {tasks}, \"hosts\": {hosts}, \
         \"seed\": {seed}, \"activities\": {activities}, \"makespan\": {makespan:.12}, \
         \"wall_seconds\": {wall:.6}, \"cpu_seconds\": {cpu:.6}, \"activities_per_cpu_second\": {:.0}, \"rss_mib\": {:.1}}}",
        activities as f64 / cpu,
        rss_mib()
    );
    Ok(())
}

fn arrive(pending: &mut [u32], ready: &mut Vec<u32>, task: u32) {
    pending[task as usize] -= 1;
    if pending[task as usize] == 0 {
        ready.push(task);
    }
}

pub(crate) fn bench_flows(flows: usize, completions: u64, seed: u64) -> Result<(), Box<dyn Error>> {
    let platform = two_level_platform()?;
    let mut random = Random(seed);
    let mut draw = || {
        let src = random.below(1024) as u32;
        let mut dst = random.below(1024) as u32;
        if dst == src {
            dst = (dst + 1) % 1024;
        }
        let bytes = 1_000_000 * (1 + random.below(100));
        Transfer::new(HostId(src), HostId(dst), bytes as f64)
    };
    let (clock, cpu) = (Instant::now(), cpu_seconds());
    let mut simulation = Simulation::new(platform.clone(), models())?;
    for _ in 0..flows {
        simulation.start(draw(), 0)?;
    }
    let mut done = 0;
    while done < completions && simulation.step(f64::INFINITY)? == Step::Instant {
        for _ in 0..simulation.events().len() {
            done += 1;
            if done >= completions {
                break;
            }
            simulation.start(draw(), 0)?;
        }
    }
    let (wall, cpu) = (clock.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    println!(
        "{{\"bench\": \"flows\", \"flows\": {flows}, \"completions\": {done}, \"seed\": {seed}, \
         \"activities\": {}, \"end\": {:.12}, \"wall_seconds\": {wall:.6}, \
         \"cpu_seconds\": {cpu:.6}, \"completions_per_cpu_second\": {:.0}, \"rss_mib\": {:.1}}}",
        flows as u64 + done - 1,
        simulation.clock(),
        done as f64 / cpu,
        rss_mib()
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["dag", n, h, shape @ ("star" | "backbone"), seed] => {
            bench_dag(n.parse()?, h.parse()?, shape == "backbone", seed.parse()?)
        }
        ["flows", f, k, seed] => bench_flows(f.parse()?, k.parse()?, seed.parse()?),
        _ => Err("usage: peer_bench dag N H star|backbone SEED | flows F K SEED".into()),
    }
}
