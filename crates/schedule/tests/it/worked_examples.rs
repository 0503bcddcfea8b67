//! The worked examples of the papers, number by number.
//!
//! A: Arabnejad and Barbosa 2014 (PEFT), figure 1. B: Topcuoglu, Hariri, Wu 2002 (HEFT, CPOP).
//! F1: the nine tasks of Sakellariou and Zhao's selective rescheduling. Tasks are numbered from
//! 0 here, from 1 in A and B of the papers.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use crate::published;

use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::schedule::{Limits, Summary, validate};
use slackline_model::workflow::CostTable;
use slackline_model::{Platform, Problem, Schedule, Task, TaskId, Workflow, WorkflowBuilder};
use slackline_schedule::list::{OptimisticCosts, cpop, hcpt, hps, pets, ranks, ranks::Weights};
use slackline_schedule::{Algorithm, Request, bounds, registry};

struct Example {
    workflow: Workflow,
    platform: Platform,
}

impl Example {
    fn new(costs: &[[f64; 3]], edges: &[(u32, u32, f64)], seconds_per_unit: [[f64; 3]; 3]) -> Self {
        let mut w = WorkflowBuilder::new("example");
        for i in 0..costs.len() {
            w.add_task(Task::new(format!("t{i}"), 1.0)).unwrap();
        }
        for &(from, to, data) in edges {
            w.add_edge(TaskId(from), TaskId(to), data).unwrap();
        }
        let columns = (0..3).map(|p| format!("m{p}")).collect();
        w.set_cost_table(CostTable { columns, seconds: costs.concat() });
        let mut p = PlatformBuilder::new("three");
        let bandwidth = seconds_per_unit.concat().iter().map(|s| 1.0 / s).collect();
        p.set_matrix(Matrix::Dense { hosts: 3, bandwidth, latency: Box::new([0.0; 9]) });
        let root = p.root().unwrap();
        for m in 0..3 {
            p.add_host(root, HostSpec::new(format!("m{m}"), 1.0)).unwrap();
        }
        Example { workflow: w.build().unwrap(), platform: p.build().unwrap() }
    }

    fn problem(&self) -> Problem<'_> {
        Problem::new(&self.workflow, &self.platform).unwrap()
    }

    fn plan(&self, name: &str) -> Schedule {
        let problem = self.problem();
        let algorithm = registry::find(name).unwrap_or_else(|| panic!("no {name}"));
        let schedule = algorithm.plan(&problem, &Request::default()).unwrap();
        assert_eq!(validate(&problem, &schedule, &Limits::default()), [], "{name}");
        schedule
    }

    fn makespan(&self, name: &str) -> f64 {
        self.plan(name).makespan()
    }

    /// Checks `(task, processor, start, finish)` for all tasks.
    fn check(&self, name: &str, wanted: &[(u32, u32, f64, f64)]) {
        let schedule = self.plan(name);
        assert_eq!(wanted.len(), self.workflow.len());
        for &(task, proc, start, finish) in wanted {
            let p = schedule.placement(TaskId(task)).unwrap();
            let given = (p.proc().0, p.start, p.finish);
            let close = (given.1 - start).abs() < 1e-9 && (given.2 - finish).abs() < 1e-9;
            assert!(given.0 == proc && close, "{name}, task {task}: {given:?}");
        }
    }
}

const UNIFORM: [[f64; 3]; 3] = [[1.0; 3]; 3];

fn a() -> Example {
    let (costs, edges) = published::PEFT;
    Example::new(&costs, &edges, UNIFORM)
}

fn b() -> Example {
    let costs = [
        [14., 16., 9.],
        [13., 19., 18.],
        [11., 13., 19.],
        [13., 8., 17.],
        [12., 13., 10.],
        [13., 16., 9.],
        [7., 15., 11.],
        [5., 11., 14.],
        [18., 12., 20.],
        [21., 7., 16.],
    ];
    let edges = [
        (0, 1, 18.),
        (0, 2, 12.),
        (0, 3, 9.),
        (0, 4, 11.),
        (0, 5, 14.),
        (1, 7, 19.),
        (1, 8, 16.),
        (2, 6, 23.),
        (3, 7, 27.),
        (3, 8, 23.),
        (4, 8, 13.),
        (5, 7, 15.),
        (6, 9, 17.),
        (7, 9, 11.),
        (8, 9, 13.),
    ];
    Example::new(&costs, &edges, UNIFORM)
}

fn f1() -> Example {
    let costs = [
        [13., 10., 11.],
        [9., 11., 16.],
        [13., 18., 10.],
        [7., 4., 9.],
        [9., 12., 15.],
        [12., 14., 10.],
        [10., 16., 10.],
        [11., 10., 6.],
        [13., 10., 10.],
    ];
    let edges = [
        (0, 1, 3.),
        (0, 2, 9.),
        (0, 3, 9.),
        (0, 4, 5.),
        (1, 5, 3.),
        (1, 7, 11.),
        (2, 6, 13.),
        (3, 6, 6.),
        (3, 7, 8.),
        (4, 7, 4.),
        (5, 8, 9.),
        (6, 8, 8.),
        (7, 8, 6.),
    ];
    // m0-m1 1.5, m1-m2 1.0, m0-m2 2.0 seconds per unit; mean 1.5.
    Example::new(&costs, &edges, [[1.0, 1.5, 2.0], [1.5, 1.0, 1.0], [2.0, 1.0, 1.0]])
}

/// Agreement to the decimals that are printed.
fn assert_close(given: &[f64], printed: &[f64], decimals: i32, what: &str) {
    let half = 0.5 * 10f64.powi(-decimals) + 1e-9;
    for (i, (g, p)) in given.iter().zip(printed).enumerate() {
        assert!((g - p).abs() <= half, "{what} of task {i}: {g}, printed {p}");
    }
    assert_eq!(given.len(), printed.len());
}

#[test]
fn the_makespans_printed_in_the_papers() {
    let a = a();
    let published =
        [("peft", 122.), ("lookahead", 127.), ("heft", 133.), ("hcpt", 142.), ("pets", 147.)];
    for (name, makespan) in published {
        assert_eq!(a.makespan(name), makespan, "{name}");
    }
    let b = b();
    for (name, makespan) in [("heft", 80.), ("cpop", 86.), ("dls", 91.)] {
        assert_eq!(b.makespan(name), makespan, "{name}");
    }
}

/// Not in the papers: recomputed independently of this code.
#[test]
fn further_makespans_of_both_examples() {
    let a = a();
    let known = [
        ("hps", 143.),
        ("cpop", 167.),
        ("dls", 134.),
        ("bil", 128.),
        ("minmin", 122.),
        ("maxmin", 124.),
        ("lookahead-independent", 127.),
    ];
    for (name, makespan) in known {
        assert_eq!(a.makespan(name), makespan, "{name}");
    }
    let b = b();
    let known = [
        ("peft", 85.),
        ("lookahead", 76.),
        ("lookahead-independent", 81.),
        ("hps", 76.),
        ("pets", 76.),
        ("hcpt", 91.),
        ("bil", 84.),
    ];
    for (name, makespan) in known {
        assert_eq!(b.makespan(name), makespan, "{name}");
    }
}

#[test]
fn table_5_of_the_peft_paper() {
    let a = a();
    let problem = a.problem();
    let costs = OptimisticCosts::new(&problem, Weights::MEAN);
    let table = [
        [64., 68., 86.],
        [42., 39., 42.],
        [27., 41., 43.],
        [42., 39., 50.],
        [28., 37., 28.],
        [42., 39., 44.],
        [13., 16., 22.],
        [13., 16., 33.],
        [13., 16., 20.],
        [0., 0., 0.],
    ];
    for (task, row) in a.workflow.tasks().zip(table) {
        assert_eq!(costs.row(task), row, "{task:?}");
    }
    let rank_oct = [72.7, 41., 37., 43.7, 31., 41.7, 17., 20.7, 16.3, 0.];
    assert_close(&costs.rank(&problem), &rank_oct, 1, "rank_oct");
    let rank_u = [169., 114.3, 102.7, 110., 129.7, 119.3, 52.7, 92., 42.3, 20.7];
    assert_close(&ranks::upward(&problem), &rank_u, 1, "rank_u");
    let rank_d = [0., 43.33, 57.33, 55.33, 39.33, 33.33, 107.33, 73.33, 126.67, 148.33];
    assert_close(&ranks::downward(&problem), &rank_d, 2, "rank_d");
}

/// The last column of table 6: where PEFT puts each task and when it ends.
#[test]
fn table_6_of_the_peft_paper() {
    a().check(
        "peft",
        &[
            (0, 0, 0., 22.),
            (3, 0, 22., 29.),
            (5, 1, 29., 46.),
            (1, 0, 29., 51.),
            (2, 0, 51., 83.),
            (4, 2, 35., 70.),
            (7, 1, 54., 77.),
            (6, 0, 83., 97.),
            (8, 2, 81., 89.),
            (9, 1, 106., 122.),
        ],
    );
}

#[test]
fn lists_and_priorities_of_example_a() {
    let a = a();
    let problem = a.problem();
    let ids = |tasks: Vec<TaskId>| tasks.iter().map(|t| t.0 + 1).collect::<Vec<_>>();

    let (up, down) = (ranks::upward(&problem), ranks::downward(&problem));
    let priority: Vec<f64> = up.iter().zip(&down).map(|(u, d)| u + d).collect();
    assert_eq!(ids(cpop::critical_path(&problem, &priority)), [1, 5, 9, 10]);
    // rank_u of the entry is the length of the critical path.
    assert!((up[0] - priority.iter().copied().fold(0.0, f64::max)).abs() < 1e-9);

    let alst: Vec<f64> = up.iter().map(|u| up[0] - u).collect();
    let printed = [0., 54.67, 66.33, 59., 39.33, 49.67, 116.33, 77., 126.67, 148.33];
    assert_close(&alst, &printed, 2, "ALST");
    let list = hcpt::parents_first(&problem, &down, &alst);
    assert_eq!(ids(list), [1, 5, 2, 4, 9, 6, 8, 3, 7, 10]);

    let mean = Weights::MEAN.exec_of_all(&problem);
    let rank = pets::rank(&problem, &mean, Weights::MEAN);
    assert_eq!(rank, [123., 175., 173., 148., 210., 150., 205., 246., 232., 267.]);
    let cost = hps::link_cost(&problem, Weights::MEAN);
    assert_eq!(cost, [31., 78., 78., 71., 101., 43., 103., 131., 165., 207.]);
}

#[test]
fn schedules_of_example_b() {
    let b = b();
    let problem = b.problem();
    let rank_u = [108., 77., 80., 80., 69., 63.33, 42.67, 35.67, 44.33, 14.67];
    assert_close(&ranks::upward(&problem), &rank_u, 2, "rank_u");
    let rank_d = [0., 31., 25., 22., 24., 27., 62.33, 66.67, 63.67, 93.33];
    assert_close(&ranks::downward(&problem), &rank_d, 2, "rank_d");
    b.check(
        "heft",
        &[
            (1, 0, 27., 40.),
            (7, 0, 57., 62.),
            (3, 1, 18., 26.),
            (5, 1, 26., 42.),
            (8, 1, 56., 68.),
            (9, 1, 73., 80.),
            (0, 2, 0., 9.),
            (2, 2, 9., 28.),
            (4, 2, 28., 38.),
            (6, 2, 38., 49.),
        ],
    );
    b.check(
        "cpop",
        &[
            (2, 0, 28., 39.),
            (6, 0, 39., 46.),
            (0, 1, 0., 16.),
            (1, 1, 16., 35.),
            (4, 1, 35., 48.),
            (8, 1, 65., 77.),
            (9, 1, 79., 86.),
            (3, 2, 25., 42.),
            (5, 2, 42., 51.),
            (7, 2, 54., 68.),
        ],
    );
}

/// SLR (over 75, the critical path of least times) and speed-up (over 205, the fastest single
/// processor) as the PEFT paper defines them.
#[test]
fn metrics_of_example_a() {
    let a = a();
    let problem = a.problem();
    assert_eq!(bounds::critical_path(&problem), 75.);
    for (name, slr) in [("peft", 1.627), ("heft", 1.773), ("hcpt", 1.893), ("pets", 1.960)] {
        assert!((a.makespan(name) / 75. - slr).abs() < 5e-4, "{name}");
    }
    for (name, speedup) in [("peft", 1.680), ("heft", 1.541)] {
        let given = Summary::of(&problem, &a.plan(name)).speedup;
        assert!((given - speedup).abs() < 5e-4, "{name}: {given}");
    }
}

/// `OCT + exec` bounds the optimum from below: 113 for A, 73 for B (proven by search).
#[test]
fn the_optimistic_cost_of_the_entry_bounds_every_schedule() {
    for (example, optimum) in [(a(), 113.), (b(), 73.)] {
        let problem = example.problem();
        let costs = OptimisticCosts::new(&problem, Weights::MEAN);
        let from_entry = costs.row(TaskId(0)).iter().enumerate();
        let bound = from_entry
            .map(|(class, oct)| oct + problem.exec(TaskId(0), class))
            .fold(f64::INFINITY, f64::min);
        assert!(bound <= optimum, "{bound}");
        let fits = |a: &&Algorithm| a.lacks(&problem, &Limits::default()).is_none();
        for algorithm in registry::every().filter(fits) {
            assert!(example.makespan(algorithm.name) >= optimum, "{}", algorithm.name);
        }
    }
}

#[test]
fn f1_heft() {
    let f1 = f1();
    let problem = f1.problem();
    let rank = ranks::upward_by(&problem, Weights::MEAN_TIME);
    let printed = [93.0, 57.5, 68.167, 50.667, 47.0, 36.5, 35.0, 29.0, 11.0];
    assert_close(&rank, &printed, 3, "rank_u");
    let wanted = [
        (0, 1, 0., 10.),
        (1, 0, 14.5, 23.5),
        (2, 1, 10., 28.),
        (3, 2, 19., 28.),
        (4, 0, 23.5, 32.5),
        (5, 2, 29.5, 39.5),
        (6, 1, 34., 50.),
        (7, 2, 45.5, 51.5),
        (8, 1, 57.5, 67.5),
    ];
    f1.check("heft-meantime", &wanted);
    f1.check("heft", &wanted);
}

#[test]
fn f1_dls_with_medians() {
    let f1 = f1();
    let level = ranks::static_level(&f1.problem(), Weights::MEDIAN);
    assert_eq!(level, [44., 33., 33., 27., 32., 22., 20., 20., 10.]);
    f1.check(
        "dls-median",
        &[
            (0, 1, 0., 10.),
            (1, 1, 10., 21.),
            (2, 2, 19., 29.),
            (3, 1, 21., 25.),
            (4, 0, 17.5, 26.5),
            (5, 0, 26.5, 38.5),
            (7, 2, 34.5, 40.5),
            (6, 2, 40.5, 50.5),
            (8, 2, 56.5, 66.5),
        ],
    );
}

#[test]
fn f1_fcp() {
    f1().check(
        "fcp-meantime",
        &[
            (0, 0, 0., 13.),
            (2, 0, 13., 26.),
            (1, 1, 17.5, 28.5),
            (3, 0, 26., 33.),
            (4, 2, 23., 38.),
            (5, 1, 28.5, 42.5),
            (6, 0, 33., 43.),
            (7, 1, 45., 55.),
            (8, 1, 55., 65.),
        ],
    );
}

#[test]
fn f1_lmt() {
    f1().check(
        "lmt",
        &[
            (0, 1, 0., 10.),
            (2, 1, 10., 28.),
            (1, 0, 14.5, 23.5),
            (4, 2, 15., 30.),
            (3, 0, 23.5, 30.5),
            (5, 2, 30., 40.),
            (6, 2, 42.5, 52.5),
            (7, 0, 38., 49.),
            (8, 1, 60.5, 70.5),
        ],
    );
    // Level 1 has four tasks for three machines: 3 and 1 are merged.
    f1().check(
        "lmt-merge",
        &[
            (0, 1, 0., 10.),
            (2, 2, 19., 29.),
            (1, 1, 10., 21.),
            (3, 1, 21., 25.),
            (4, 0, 17.5, 26.5),
            (5, 2, 29., 39.),
            (6, 1, 42., 58.),
            (7, 0, 37.5, 48.5),
            (8, 1, 58., 68.),
        ],
    );
}
