#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]
use slackline_lab::worlds::{Cell, GtpWorld};
use slackline_react::registry;
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let (name, p, n, g, reps) = (&a[0], a[1].parse().unwrap(), a[2].parse().unwrap(), a[3].parse().unwrap(), a[4].parse::<usize>().unwrap());
    let z: f64 = a.get(5).map_or(0.5, |x| x.parse().unwrap());
    let m: f64 = a.get(6).map_or(3.0, |x| x.parse().unwrap());
    let cell = Cell { processors: p, tasks: n, variability: z, ccr: 0.5, persistence: m, failure: false };
    let world = GtpWorld::new(&cell, g, 1).unwrap();
    for name in name.split(',') {
        let entry = registry::find(name).unwrap();
        let t = std::time::Instant::now();
        let mut o = None;
        for _ in 0..reps { o = Some(world.run(entry).unwrap()); }
        let o = o.unwrap();
        println!("{name:>12} {:.2} ms nsl {:.4} replans {} migr {} transfers {} edges {} trace {}", t.elapsed().as_secs_f64()*1e3/reps as f64, world.nsl(&o), o.counters.replannings, o.counters.migrations, o.counters.transfers, world.workflow.edge_count(), o.trace.records().len());
    }
}
