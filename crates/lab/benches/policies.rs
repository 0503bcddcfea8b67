//! Whole runs of policies in cases of the GTP study (CCR 0.5, levels drop by up to half and last three
//! makespans, ten evaluations per makespan): `cargo bench -p slackline-lab`. Give a filter such as `thousand`
//! to run a part. Runs per second are the inverse of the printed times.

use slackline_engine::Recording;
use slackline_lab::worlds::{GtpWorld, Kind, Way};
use slackline_react::registry;

fn main() {
    divan::main();
}

const POLICIES: [&str; 7] =
    ["static", "gtp", "gtp/c", "sr-slack", "sr-spare", "just-in-time", "slackline"];

fn bench(bencher: divan::Bencher<'_, '_>, name: &str, tasks: usize, processors: usize) {
    let kind =
        Kind { processors, tasks, variability: 0.5, ccr: 0.5, persistence: 3.0, failure: false };
    // Three predecessors per task on average; layers of ten.
    const GRAPH: usize = 7;
    #[allow(clippy::expect_used)] // the generator makes whole worlds
    let world = GtpWorld::new(&kind, GRAPH, 1).expect("a world");
    #[allow(clippy::expect_used)] // the names above are registered
    let entry = registry::find(name).expect("a policy");
    #[allow(clippy::expect_used)] // HEFT and the rules of the links are there
    let cell = Way::usual(entry).and_then(|way| world.cell(&way)).expect("a cell");
    bencher.bench(|| cell.run(Recording::KeepWork));
}

#[divan::bench(args = POLICIES, max_time = 3)]
fn hundred_by_5(bencher: divan::Bencher<'_, '_>, name: &str) {
    bench(bencher, name, 100, 5);
}

#[divan::bench(args = POLICIES, max_time = 5)]
fn thousand_by_20(bencher: divan::Bencher<'_, '_>, name: &str) {
    bench(bencher, name, 1000, 20);
}
