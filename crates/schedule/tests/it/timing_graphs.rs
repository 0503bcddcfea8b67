//! The timing graphs are the ones other tools were measured on, and plans of them are as long as an independent
//! implementation computes.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use crate::layered;

use slackline_model::Problem;
use slackline_schedule::{Request, registry};

#[test]
fn checksums_of_the_generator() {
    let sums = [
        (100, 203, 5293.658, 10014.284),
        (1000, 2399, 48706.549, 118785.947),
        (5000, 12163, 248056.260, 609999.291),
        (10000, 24608, 494648.501, 1244968.759),
    ];
    for (tasks, edges, costs, data) in sums {
        let w = layered::workflow(tasks, 1);
        assert_eq!(w.edge_count(), edges);
        assert!(
            (w.total_work() - costs).abs() < 1e-3 && (w.total_edge_bytes() - data).abs() < 1e-3
        );
    }
    for (procs, sum) in [(16, 39.87), (64, 159.67), (256, 642.26)] {
        let speeds: f64 = layered::platform(procs, 1).hosts().iter().map(|h| h.speed).sum();
        assert!((speeds - sum).abs() < 1e-9);
    }
}

fn check(tasks: usize, procs: usize, wanted: &[(&str, f64)]) {
    let (workflow, platform) = (layered::workflow(tasks, 1), layered::platform(procs, 1));
    let problem = Problem::new(&workflow, &platform).unwrap();
    for &(name, makespan) in wanted {
        let plan = registry::find(name).unwrap().plan;
        let given = plan(&problem, &Request::default()).unwrap().makespan();
        assert!((given - makespan).abs() < 1e-6, "{name} on {tasks} x {procs}: {given}");
    }
}

#[test]
fn makespans_on_a_thousand_tasks() {
    let sixteen = [
        ("heft", 1541.9147585),
        ("cpop", 1642.4829120),
        ("peft", 1712.3877008),
        ("lookahead", 1596.2561304),
        ("dls", 1586.2405528),
        ("dls-median", 1572.0313625),
        ("hcpt", 1537.6952486),
        ("hps", 1584.8125563),
        ("pets", 1589.2967680),
        ("bil", 1774.0281321),
        ("minmin", 1755.7262796),
        ("maxmin", 2142.4505455),
        ("sufferage", 1689.3640581),
        ("minmin-batch", 1613.6048929),
        ("maxmin-batch", 2240.1787628),
    ];
    check(1000, 16, &sixteen);
    check(1000, 64, &[("heft", 1403.9181890), ("peft", 1444.5165548)]);
}

#[test]
fn makespan_on_ten_thousand_tasks() {
    check(10_000, 16, &[("heft", 12408.7658940)]);
}
