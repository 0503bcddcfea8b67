//! Reading logs and replaying them, storage operations: `cargo bench -p slackline-centre`.

#![allow(clippy::expect_used)] // what is measured here is made here

use divan::counter::ItemsCount;
use slackline_centre::batch::{Machine, Replay, Site};
use slackline_centre::storage::{self, Case};
use slackline_formats::batch_log::{self, BatchLog, Wrong};
use slackline_generate::Seed;
use slackline_generate::workload::Lublin;
use slackline_model::activity::Activity;
use slackline_model::platform::{HostSpec, PlatformBuilder, RoutingKind};
use slackline_simulate::{Simulation, Step};

fn main() {
    divan::main();
}

const CORES: u64 = 10_000;

fn text(jobs: u64) -> String {
    let model = Lublin { jobs, cores: CORES, load: Some(0.85), ..Lublin::default() };
    model.to_swf(&model.jobs(Seed::new(1)).expect("a workload"), "bench")
}

fn log(jobs: u64) -> BatchLog {
    batch_log::parse(&text(jobs), Wrong::Refuse).expect("a log")
}

#[divan::bench(args = [10_000, 100_000], sample_count = 5)]
fn read(bencher: divan::Bencher<'_, '_>, jobs: u64) {
    let text = text(jobs);
    bencher
        .counter(ItemsCount::new(jobs))
        .bench(|| batch_log::parse(&text, Wrong::Refuse).expect("a log"));
}

#[divan::bench(args = ["fcfs", "easy", "conservative", "sjf-easy", "fair-share-easy"], consts = [10_000, 100_000], sample_count = 1)]
fn replay<const JOBS: u64>(bencher: divan::Bencher<'_, '_>, policy: &str) {
    let log = log(JOBS);
    let site = Site::new(Machine::Cores(CORES)).expect("a site");
    let policy = policy.parse().expect("a policy");
    let replay = Replay { log: &log, site: &site };
    bencher.counter(ItemsCount::new(JOBS)).bench(|| replay.run(policy));
}

/// Reading and replaying a log of 2,000 jobs on 256 cores: what other simulators are compared by.
#[divan::bench(args = ["fcfs", "easy", "conservative"])]
fn read_and_replay_2000(bencher: divan::Bencher<'_, '_>, policy: &str) {
    let model = Lublin { jobs: 2000, load: Some(0.85), ..Lublin::default() };
    let text = model.to_swf(&model.jobs(Seed::new(7)).expect("a workload"), "bench");
    let site = Site::new(Machine::Cores(model.cores)).expect("a site");
    let policy = policy.parse().expect("a policy");
    bencher.counter(ItemsCount::new(2000_u64)).bench(|| {
        let log = batch_log::parse(&text, Wrong::Refuse).expect("a log");
        Replay { log: &log, site: &site }.run(policy)
    });
}

const OPERATIONS: usize = 1_000_000;

/// Reads one after the other on a storage of their own: they contend with nothing.
#[divan::bench(sample_count = 3)]
fn storage_operations(bencher: divan::Bencher<'_, '_>) {
    let disk = r#"{"model": "linear", "read": 100, "write": 50, "host": "h"}"#;
    let mut operations = Vec::with_capacity(OPERATIONS);
    for k in 0..OPERATIONS {
        operations.push(format!(
            r#"{{"id": "{k}", "op": "read", "storage": "d", "bytes": 10, "at": {k}}}"#
        ));
    }
    let text =
        format!(r#"{{"storages": {{"d": {disk}}}, "operations": [{}]}}"#, operations.join(","));
    let case = Case::parse(&text).expect("a case");
    let Case::Operations { platform, operations } = case else { return };
    bencher
        .counter(ItemsCount::new(OPERATIONS))
        .bench(|| storage::run(&platform, storage::plain_models(), &operations).expect("dates"));
}

/// As many activities that do nothing, one after the other.
#[divan::bench(sample_count = 3)]
fn empty_activities(bencher: divan::Bencher<'_, '_>) {
    let mut builder = PlatformBuilder::new("p");
    let zone = builder.add_zone(None, "z", RoutingKind::Full).expect("a zone");
    builder.add_host(zone, HostSpec::new("h", 1e9)).expect("a host");
    let platform = builder.build().expect("a platform");
    bencher.counter(ItemsCount::new(OPERATIONS)).bench(|| {
        let mut simulation =
            Simulation::new(platform.clone(), storage::plain_models()).expect("a simulation");
        for k in 0..OPERATIONS as u64 {
            simulation.start(Activity::Sleep(0.1), k).expect("a start");
            while simulation.step(f64::INFINITY).expect("a step") == Step::Instant {}
            simulation.step((k + 1) as f64).expect("a step");
        }
    });
}
