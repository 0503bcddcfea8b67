//! Planning time on layered random graphs: `cargo bench -p slackline-schedule`.
//! Give a filter such as `heft` to run a part; the largest cases take minutes in all.

#[path = "../tests/it/layered/mod.rs"]
mod layered;

use divan::counter::ItemsCount;
use slackline_formats::platform_toml;
use slackline_generate::Seed;
use slackline_generate::registry::{self as generators, Family};
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::schedule::{Limits, cost};
use slackline_model::{Platform, Problem, SpeedUp, Task, Workflow, WorkflowBuilder, WorkflowError};
use slackline_schedule::qos::least_cost;
use slackline_schedule::{Request, registry};

fn main() {
    divan::main();
}

fn bench(bencher: divan::Bencher<'_, '_>, name: &str, tasks: usize, procs: usize) {
    let (workflow, platform) = (layered::workflow(tasks, 1), layered::platform(procs, 1));
    #[allow(clippy::expect_used)] // the generator makes whole problems
    let problem = Problem::new(&workflow, &platform).expect("a problem");
    #[allow(clippy::expect_used)] // the names below are registered
    let plan = registry::find(name).expect("a planner").plan;
    // What the stated complexity counts: dependencies times processors.
    let evaluations = ItemsCount::new(workflow.edge_count() * procs);
    bencher.counter(evaluations).bench(|| plan(&problem, &Request::default()));
}

/// Linear in the graph for a fixed machine.
#[divan::bench(args = [1000, 10_000, 100_000, 1_000_000], max_time = 10)]
fn heft_16(bencher: divan::Bencher<'_, '_>, tasks: usize) {
    bench(bencher, "heft", tasks, 16);
}

#[divan::bench(args = [1000, 10_000, 100_000], max_time = 10)]
fn heft_64(bencher: divan::Bencher<'_, '_>, tasks: usize) {
    bench(bencher, "heft", tasks, 64);
}

#[divan::bench(args = ["heft", "peft", "cpop"], max_time = 10)]
fn hundred_thousand_by_256(bencher: divan::Bencher<'_, '_>, name: &str) {
    bench(bencher, name, 100_000, 256);
}

#[divan::bench(args = ["dls", "lookahead", "bil", "minmin", "maxmin", "sufferage", "fcp", "flb"], max_time = 10)]
fn five_thousand_by_64(bencher: divan::Bencher<'_, '_>, name: &str) {
    bench(bencher, name, 5000, 64);
}

/// The layered graph where every task holds 1 to 8 units of memory.
fn with_memory(tasks: usize) -> Result<Workflow, WorkflowError> {
    let graph = layered::workflow(tasks, 1);
    let mut b = WorkflowBuilder::new("memory");
    for task in graph.tasks() {
        let drawn = (task.index() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61;
        b.add_task(Task { memory: (drawn + 1) as f64 * 1e6, ..graph.task(task) })?;
    }
    for edge in graph.edges() {
        let (from, to) = graph.edge_ends(edge);
        b.add_edge(from, to, graph.edge_bytes(edge))?;
    }
    b.build()
}

/// On 16 hosts of 4 cores, which say nothing of their memory (0 units) or have 16 or 8 units of it: four tasks hold 18
/// on average. The goal is twice the time without.
#[divan::bench(
    args = [
        ("heft", 10_000, 0), ("heft", 10_000, 16), ("heft", 10_000, 8),
        ("peft", 10_000, 0), ("peft", 10_000, 16), ("peft", 10_000, 8),
        ("dls", 10_000, 0), ("dls", 10_000, 16), ("dls", 10_000, 8),
        ("minmin", 10_000, 0), ("minmin", 10_000, 16), ("minmin", 10_000, 8),
        ("heft", 100_000, 0), ("heft", 100_000, 16), ("heft", 100_000, 8),
    ],
    max_time = 10,
)]
#[allow(clippy::expect_used)] // the generator makes whole problems
fn shared_memory(bencher: divan::Bencher<'_, '_>, (name, tasks, units): (&str, usize, u32)) {
    let workflow = with_memory(tasks).expect("a graph");
    let mut b = PlatformBuilder::new("hosts of four cores");
    b.set_matrix(Matrix::uniform(Some(2.0), 0.0));
    let root = b.root().expect("a zone");
    for host in 0..16u32 {
        let speed = 1.0 + f64::from(host * 7 % 16) / 5.0;
        let memory = (units > 0).then_some(f64::from(units) * 1e6);
        let spec = HostSpec::new(format!("h{host}"), speed);
        b.add_host(root, HostSpec { cores: 4, memory, ..spec }).expect("a host");
    }
    let platform = b.build().expect("a platform");
    let problem = Problem::new(&workflow, &platform).expect("a problem");
    let plan = registry::find(name).expect("a planner").plan;
    bencher.bench(|| plan(&problem, &Request::default()));
}

/// Near linear in the graph, whatever the machine.
#[divan::bench(args = [(10_000, 16), (10_000, 256), (100_000, 16), (100_000, 256)], max_time = 10)]
fn fcp(bencher: divan::Bencher<'_, '_>, (tasks, procs): (usize, usize)) {
    bench(bencher, "fcp", tasks, procs);
}

/// Montage of 5,000 tasks on the bundled grid.
#[allow(clippy::expect_used)] // the generator makes whole workflows, the example is one
fn montage_on_grid() -> (Workflow, Platform) {
    let montage = generators::find(Family::Workflow, "montage").expect("a generator");
    let given = [("tasks".to_string(), "5000".to_string())];
    let values = montage.settings(&given).expect("values");
    let workflow = montage.workflow(&values, Seed::new(1)).expect("a workflow");
    let grid = include_str!("../../../examples/platforms/two-site-grid.toml");
    (workflow, platform_toml::parse(grid).expect("a platform"))
}

/// Planning time with inputs that leave the origin in turn, compared with inputs everywhere.
#[divan::bench(args = [
    ("heft", "everywhere"), ("heft", "origin"), ("peft", "everywhere"), ("peft", "origin"),
    ("dls", "everywhere"), ("dls", "origin"), ("best", "everywhere"), ("best", "origin"),
], max_time = 10)]
fn montage_five_thousand(bencher: divan::Bencher<'_, '_>, (name, inputs): (&str, &str)) {
    let (workflow, platform) = montage_on_grid();
    #[allow(clippy::expect_used)] // every host fits every task
    let problem = Problem::new(&workflow, &platform).expect("a problem");
    let problem = if inputs == "origin" { problem } else { problem.without_staging() };
    #[allow(clippy::expect_used)] // the names above are registered
    let plan = registry::find(name).expect("a planner").plan;
    bencher.bench(|| plan(&problem, &Request::default()));
}

/// Methods for limits beside HEFT, on machines priced by the law a (1 + a) / 2: half way between the
/// cheapest plan and HEFT's, with a deadline of twice its makespan.
fn bench_limited(bencher: divan::Bencher<'_, '_>, name: &str, tasks: usize, procs: usize) {
    let law = |speed: f64| (speed / 4.0) * (1.0 + speed / 4.0) / 2.0;
    let workflow = layered::workflow(tasks, 1);
    let platform = layered::priced_platform(procs, 1, law);
    #[allow(clippy::expect_used)] // the generator makes whole problems
    let problem = Problem::new(&workflow, &platform).expect("a problem");
    #[allow(clippy::expect_used)] // the names below are registered
    let plan = |name: &str| registry::find(name).expect("a planner").plan;
    #[allow(clippy::expect_used)] // every machine fits every task
    let heft = plan("heft")(&problem, &Request::default()).expect("a plan");
    let (least, most) = (least_cost(&problem), cost(&problem, &heft));
    let limits =
        Limits { budget: Some((least + most) / 2.0), deadline: Some(2.0 * heft.makespan()) };
    let request = Request { limits, ..Request::default() };
    let evaluations = ItemsCount::new(workflow.edge_count() * procs);
    bencher.counter(evaluations).bench(|| plan(name)(&problem, &request));
}

#[divan::bench(args = ["heft", "hbcs", "dbcs", "bheft", "loss1", "gain1"], max_time = 10)]
fn limited_ten_thousand_by_64(bencher: divan::Bencher<'_, '_>, name: &str) {
    bench_limited(bencher, name, 10_000, 64);
}

#[divan::bench(args = ["heft", "hbcs", "dbcs"], max_time = 10)]
fn limited_hundred_thousand_by_64(bencher: divan::Bencher<'_, '_>, name: &str) {
    bench_limited(bencher, name, 100_000, 64);
}

#[divan::bench(args = registry::ALL.iter().map(|a| a.name), max_time = 2)]
fn thousand_by_32(bencher: divan::Bencher<'_, '_>, name: &str) {
    bench(bencher, name, 1000, 32);
}

/// The layered graph with moldable tasks of a serial tenth.
fn moldable(tasks: usize) -> Result<Workflow, WorkflowError> {
    let graph = layered::workflow(tasks, 1);
    let mut b = WorkflowBuilder::new("moldable");
    for task in graph.tasks() {
        let speedup = SpeedUp::Amdahl { serial: 0.1 };
        b.add_task(Task { speedup, max_width: u32::MAX, spread: true, ..graph.task(task) })?;
    }
    for edge in graph.edges() {
        let (from, to) = graph.edge_ends(edge);
        b.add_edge(from, to, graph.edge_bytes(edge))?;
    }
    b.build()
}

/// Widths and sets of processors on one cluster, beside HEFT, which keeps every task narrow.
#[divan::bench(
    args = [
        ("heft", 1000, 1000), ("cpa", 1000, 1000), ("cpa", 1000, 250), ("cpa", 250, 1000),
        ("hcpa", 1000, 1000), ("mheft", 1000, 250), ("bicpa-m", 1000, 250), ("bicpa-m", 1000, 1000),
    ],
    sample_count = 1,
)]
#[allow(clippy::expect_used)] // the generator makes whole problems
fn one_cluster(bencher: divan::Bencher<'_, '_>, (name, tasks, procs): (&str, usize, usize)) {
    let mut b = PlatformBuilder::new("cluster");
    b.set_matrix(Matrix::uniform(Some(1.0e9), 1e-4));
    let root = b.root().expect("a zone");
    for h in 0..procs {
        b.add_host(root, HostSpec::new(format!("h{h}"), 1.0e9)).expect("a host");
    }
    let (workflow, platform) = (moldable(tasks).expect("a graph"), b.build().expect("a cluster"));
    let problem = Problem::new(&workflow, &platform).expect("a problem");
    let plan = registry::find(name).expect("a planner").plan;
    bencher.bench(|| plan(&problem, &Request::default()));
}
