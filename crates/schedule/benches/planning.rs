//! Planning time on layered random graphs: `cargo bench -p slackline-schedule`.
//! Give a filter such as `heft` to run a part; the largest cases take minutes in all.

#[path = "../tests/layered/mod.rs"]
mod layered;

use divan::counter::ItemsCount;
use slackline_model::Problem;
use slackline_schedule::{Settings, registry};

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
    bencher.counter(evaluations).bench(|| plan(&problem, &Settings::default()));
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

/// Near linear in the graph, whatever the machine.
#[divan::bench(args = [(10_000, 16), (10_000, 256), (100_000, 16), (100_000, 256)], max_time = 10)]
fn fcp(bencher: divan::Bencher<'_, '_>, (tasks, procs): (usize, usize)) {
    bench(bencher, "fcp", tasks, procs);
}

#[divan::bench(args = registry::ALL.iter().map(|a| a.name), max_time = 2)]
fn thousand_by_32(bencher: divan::Bencher<'_, '_>, name: &str) {
    bench(bencher, name, 1000, 32);
}
