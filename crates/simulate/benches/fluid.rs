//! The workloads of `examples/peer_bench.rs`, those on which we are measured against SimGrid, at
//! sizes that take seconds: `cargo bench -p slackline-simulate`. One JSON line each.

#[path = "../examples/peer_bench.rs"]
#[allow(dead_code)] // the example's own main
mod peer_bench;

use peer_bench::{bench_dag, bench_flows};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    for hosts in [64, 1024] {
        for backbone in [false, true] {
            bench_dag(10_000, hosts, backbone, 1)?;
        }
    }
    bench_dag(100_000, 1024, false, 1)?;
    for (flows, completions) in [(100, 20_000), (1_000, 5_000), (10_000, 1_000)] {
        bench_flows(flows, completions, 1)?;
    }
    Ok(())
}
