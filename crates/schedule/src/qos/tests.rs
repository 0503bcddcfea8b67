//! Two worked examples number by number: E1 on related machines, E2 on unrelated ones (the graph of
//! figure 1 of the PEFT paper with prices). Tasks are numbered from 0 here.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

#[path = "../../tests/it/published/mod.rs"]
mod published;

use super::*;
use crate::registry::find;
use slackline_model::Platform;
use slackline_model::Task;
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::schedule::{Limits, Summary, Violation, validate};
use slackline_model::workflow::{CostTable, Workflow, WorkflowBuilder};

struct Example {
    workflow: Workflow,
    platform: Platform,
    cheapest: f64,
    heft: f64,
}

impl Example {
    fn new(
        costs: &[[f64; 3]],
        edges: &[(u32, u32, f64)],
        prices: [f64; 3],
        ends: [f64; 2],
    ) -> Self {
        let mut w = WorkflowBuilder::new("example");
        for i in 0..costs.len() {
            w.add_task(Task::new(format!("t{i}"), 1.0)).unwrap();
        }
        for &(from, to, data) in edges {
            w.add_edge(TaskId(from - 1), TaskId(to - 1), data).unwrap();
        }
        let columns = (0..3).map(|p| format!("m{p}")).collect();
        w.set_cost_table(CostTable { columns, seconds: costs.concat() });
        let mut p = PlatformBuilder::new("three");
        p.set_matrix(Matrix::Uniform { bandwidth: 1.0, latency: 0.0 });
        let root = p.root().unwrap();
        for (m, price) in prices.into_iter().enumerate() {
            p.add_host(root, HostSpec { price, ..HostSpec::new(format!("m{m}"), 1.0) }).unwrap();
        }
        let [cheapest, heft] = ends;
        Example { workflow: w.build().unwrap(), platform: p.build().unwrap(), cheapest, heft }
    }

    fn problem(&self) -> Problem<'_> {
        Problem::new(&self.workflow, &self.platform).unwrap()
    }

    /// Plans within limits: makespan, cost, and whether the limits are kept.
    fn plan(&self, name: &str, budget: f64, deadline: Option<f64>) -> (Schedule, f64, f64, bool) {
        let problem = self.problem();
        let limits = Limits { budget: Some(budget), deadline };
        let request = Request { limits, ..Request::default() };
        let schedule = find(name).unwrap().plan(&problem, &request).unwrap();
        let broken = validate(&problem, &schedule, &limits);
        let limit =
            |v: &Violation| matches!(v, Violation::Budget { .. } | Violation::Deadline { .. });
        assert!(broken.iter().all(limit), "{name}: {broken:?}");
        let summary = Summary::of(&problem, &schedule);
        (schedule, summary.makespan, summary.cost, broken.is_empty())
    }

    fn budget(&self, k: f64) -> f64 {
        self.cheapest + k * (self.heft - self.cheapest)
    }

    fn request(&self, budget: f64, deadline: Option<f64>) -> Request {
        Request { limits: Limits { budget: Some(budget), deadline }, ..Request::default() }
    }

    /// Every cell of a table: makespan and cost of five methods by budget.
    fn check_table(&self, rows: &[(f64, [(f64, f64); 5])]) {
        let methods = ["hbcs", "bheft", "loss1", "gain1", "greedytime-cd"];
        for (k, cells) in rows {
            for (name, &(makespan, cost)) in methods.iter().zip(cells) {
                let (_, m, c, kept) = self.plan(name, self.budget(*k), None);
                close(&[m, c], &[makespan, cost], 1e-9, &format!("{name} at k = {k}"));
                assert_eq!(kept, cost <= self.budget(*k) + 1e-9, "{name} at k = {k}");
            }
        }
    }
}

/// Published figures have four digits after the point.
const PRINTED: f64 = 0.000_051;

fn close(given: &[f64], wanted: &[f64], tolerance: f64, what: &str) {
    assert_eq!(given.len(), wanted.len(), "{what}");
    for (g, w) in given.iter().zip(wanted) {
        assert!(g == w || (g - w).abs() <= tolerance, "{what}: {given:?}, not {wanted:?}");
    }
}

fn e1() -> Example {
    let work = [4.0, 8.0, 6.0, 10.0, 4.0];
    let costs = work.map(|w| [4.0 * w, 2.0 * w, w]);
    let edges = [(1, 2, 2.), (1, 3, 4.), (1, 4, 3.), (2, 5, 2.), (3, 5, 1.), (4, 5, 5.)];
    Example::new(&costs, &edges, [0.15625, 0.375, 1.0], [20.0, 30.0])
}

fn e2() -> Example {
    let (costs, edges) = published::PEFT;
    let edges = edges.map(|(from, to, data)| (from + 1, to + 1, data));
    Example::new(&costs, &edges, [0.5, 1.0, 0.3], [74.7, 142.8])
}

/// Positions of the processors that `place` chose, with a figure per step.
fn trace<'c>(
    course: &Course<'c, '_>,
    mut choose: impl FnMut(usize, TaskId, &[Offer]) -> (usize, Vec<f64>),
) -> Vec<(u32, u32, Vec<f64>)> {
    let mut steps = Vec::new();
    course
        .place(|at, task, offers| {
            let (chosen, figures) = choose(at, task, offers);
            steps.push((task.0 + 1, offers[chosen].slot.proc.0 + 1, figures));
            chosen
        })
        .unwrap();
    steps
}

#[test]
fn ends_of_the_scale() {
    for (example, makespans) in [(e1(), [28.0, 128.0]), (e2(), [133.0, 251.0])] {
        let problem = example.problem();
        let (_, makespan, cost, _) = example.plan("heft", 1e9, None);
        close(&[makespan, cost], &[makespans[0], example.heft], 1e-9, "heft");
        let (_, makespan, cost, _) = example.plan("cheapest", 1e9, None);
        close(&[makespan, cost], &[makespans[1], example.cheapest], 1e-9, "cheapest");
        close(&[least_cost(&problem)], &[example.cheapest], 1e-9, "least cost");
    }
    let sum = |figure: fn(&Prices<'_, '_>, TaskId) -> f64, example: &Example| {
        let problem = example.problem();
        let prices = Prices::new(&problem);
        example.workflow.tasks().map(|t| figure(&prices, t)).sum::<f64>()
    };
    for (example, most, mean) in [(e1(), 32.0, 25.3333), (e2(), 205.0, 129.8667)] {
        close(&[sum(|p, t| p.most(t), &example)], &[most], 1e-9, "sum of maxima");
        close(&[sum(|p, t| p.mean(t), &example)], &[mean], PRINTED, "sum of means");
    }
}

#[test]
fn e1_table() {
    e1().check_table(&[
        (0.0, [(128., 20.), (52., 23.), (128., 20.), (128., 20.), (128., 20.)]),
        (0.1, [(116., 21.), (52., 23.), (96., 21.), (116., 21.), (104., 20.75)]),
        (0.25, [(58., 22.5), (52., 23.), (89., 21.5), (67., 22.25), (69., 22.25)]),
        (0.5, [(52., 24.75), (48., 24.), (61., 25.), (63., 25.), (52., 24.5)]),
        (0.75, [(36., 27.5), (48., 25.5), (41., 27.5), (47., 27.), (41., 26.25)]),
        (0.9, [(36., 27.5), (36., 27.5), (31., 29.), (35., 28.5), (36., 27.5)]),
        (1.0, [(28., 30.), (36., 27.5), (28., 30.), (36., 29.5), (31., 29.)]),
    ]);
}

#[test]
fn e2_table() {
    e2().check_table(&[
        (0.0, [(251., 74.7), (149., 87.7), (251., 74.7), (251., 74.7), (251., 74.7)]),
        (0.1, [(205., 81.2), (149., 87.7), (202., 78.6), (207., 78.), (233., 80.4)]),
        (0.25, [(191., 91.5), (149., 87.7), (142., 85.7), (142., 85.7), (190., 83.5)]),
        (0.5, [(151., 99.7), (149., 87.7), (142., 96.7), (148., 106.7), (149., 87.7)]),
        (0.75, [(151., 99.7), (149., 87.7), (141., 119.2), (149., 125.), (139., 115.8)]),
        (0.9, [(135., 121.4), (139., 106.), (141., 119.2), (149., 125.), (136., 108.8)]),
        (1.0, [(133., 142.8), (136., 99.), (133., 142.8), (170., 137.5), (127., 131.9)]),
    ]);
}

#[test]
fn hbcs_worth() {
    const OUT: f64 = f64::NEG_INFINITY;
    let example = e1();
    let problem = example.problem();
    let course = Course::new(&problem, &example.request(example.budget(0.5), None));
    let mut money = hbcs::Money::new(&course);
    let steps = trace(&course, |at, _, offers| {
        let mut figures = vec![money.reserve(at), money.left];
        figures.extend(offers.iter().map(|o| o.slot.finish));
        figures.extend(money.worth(at, offers));
        (money.choose(at, offers), figures)
    });
    let wanted = [
        (1, 2, [17.5, 25., 16., 8., 4., 0.7, 1.1333, 1.]),
        (4, 2, [11.25, 22., 51., 28., 21., 0.5114, 1.1076, 1.]),
        (2, 3, [6.25, 14.5, 42., 44., 18., 0.5080, 0.2874, 1.]),
        (3, 1, [2.5, 6.5, 36., 40., 24., 0.6346, OUT, OUT]),
        (5, 1, [0., 2.75, 52., 45., 41., 0., OUT, OUT]),
    ];
    assert_eq!(steps.len(), wanted.len());
    for ((task, proc, figures), wanted) in steps.iter().zip(&wanted) {
        assert_eq!((*task, *proc), (wanted.0, wanted.1));
        close(figures, &wanted.2, PRINTED, &format!("task {task}"));
    }

    let example = e2();
    let problem = example.problem();
    let course = Course::new(&problem, &example.request(example.budget(0.5), None));
    let mut money = hbcs::Money::new(&course);
    let steps = trace(&course, |at, _, offers| {
        let worth = money.worth(at, offers);
        let chosen = money.choose(at, offers);
        (chosen, vec![worth[chosen]])
    });
    let places: Vec<(u32, u32)> = steps.iter().map(|s| (s.0, s.1)).collect();
    let wanted = [(1, 1), (5, 1), (6, 3), (2, 2), (4, 3), (3, 1), (8, 3), (7, 1), (9, 1), (10, 1)];
    assert_eq!(places, wanted);
    let worth: Vec<f64> = steps.iter().map(|s| s.2[0]).collect();
    close(&worth, &[1.5094, 1., 1.3291, 1., 1., 1., 1.1511, 1., 1., 1.], PRINTED, "worth");
}

#[test]
fn bheft_budgets() {
    let example = e1();
    let problem = example.problem();
    let course = Course::new(&problem, &example.request(25.0, None));
    let mut shares = bheft::Shares::new(&course);
    let steps = trace(&course, |at, _, offers| {
        let (spare, budget) = shares.of(at);
        // The mean runs over the processors that can be chosen: one of them is within it.
        assert!(choice::first_within(offers, budget).is_some());
        (shares.choose(at, offers), vec![spare, budget])
    });
    let wanted = [
        (1, 2, [-0.3333, 3.1667]),
        (4, 2, [-0.1667, 7.9167]),
        (2, 1, [0.25, 6.4444]),
        (3, 2, [1.5833, 5.7]),
        (5, 3, [1.8333, 5.]),
    ];
    for ((task, proc, figures), wanted) in steps.iter().zip(&wanted) {
        assert_eq!((*task, *proc), (wanted.0, wanted.1));
        close(figures, &wanted.2, PRINTED, &format!("task {task}"));
    }
}

#[test]
fn greedytime_cd_limits() {
    let example = e1();
    let problem = example.problem();
    let course = Course::new(&problem, &example.request(25.0, None));
    let mut parts = greedytime_cd::Parts::new(&course);
    let steps = trace(&course, |at, _, offers| {
        let figures = vec![parts.planned[at], parts.limit(at)];
        (parts.choose(at, offers), figures)
    });
    let wanted = [
        (1, 2, [3.125, 3.125]),
        (4, 2, [7.8125, 7.9375]),
        (2, 1, [6.25, 6.6875]),
        (3, 3, [4.6875, 6.375]),
        (5, 2, [3.125, 3.5]),
    ];
    for ((task, proc, figures), wanted) in steps.iter().zip(&wanted) {
        assert_eq!((*task, *proc), (wanted.0, wanted.1));
        close(figures, &wanted.2, PRINTED, &format!("task {task}"));
    }
}

/// Task, kind (both from 1), weight, cost after the move.
type Step = (u32, usize, f64, f64);

fn loss1_moves(example: &Example, budget: f64) -> Vec<Step> {
    let problem = example.problem();
    let course = Course::new(&problem, &example.request(budget, None));
    let (heft, _) = course.heft().unwrap();
    let moves = loss::moves(&course, heft, moves::Version::Task).unwrap();
    let step = |(m, total): &(moves::Move, f64)| (m.task.0 + 1, m.to + 1, m.weight, *total);
    moves.made.iter().map(step).collect()
}

#[test]
fn loss1_moves_tasks_in_the_published_order() {
    let check = |given: Vec<Step>, wanted: &[Step]| {
        assert_eq!(given.len(), wanted.len(), "{given:?}");
        for (g, w) in given.iter().zip(wanted) {
            assert_eq!((g.0, g.1), (w.0, w.1));
            close(&[g.2, g.3], &[w.2, w.3], PRINTED, "weight and cost");
        }
    };
    let wanted = [(1, 2, 4., 29.), (3, 2, 4., 27.5), (4, 2, 4., 25.)];
    check(loss1_moves(&e1(), 25.0), &wanted);
    let wanted =
        [(2, 3, -0.7143, 137.2), (7, 1, -0.6111, 119.2), (1, 1, 0.1, 109.2), (5, 1, 0.16, 96.7)];
    let example = e2();
    check(loss1_moves(&example, example.budget(0.5)), &wanted);
}

#[test]
fn dbcs_quality() {
    const OUT: f64 = f64::NEG_INFINITY;
    let example = e1();
    let problem = example.problem();
    let course = Course::new(&problem, &example.request(26.0, Some(53.0)));
    let mut quality = dbcs::Quality::new(&course, dbcs::Ratio::Current);
    close(&quality.deadlines, &[31., 47., 48., 44., 53.], 1e-9, "deadlines");
    let steps = trace(&course, |at, task, offers| {
        let mut figures = vec![quality.limit(at), quality.weight(at)];
        figures.extend(quality.of(at, task, offers));
        (quality.choose(at, task, offers), figures)
    });
    let wanted = [
        (1, 2, [8.5, 0.7692, 2.0192, 2.4295, 2.25]),
        (4, 2, [11.75, 0.7609, -1.7, 1.0406, 0.7667]),
        (2, 3, [9.25, 0.7258, 0.9181, 0.5993, 1.1154]),
        (3, 1, [5., 0.8333, 1.5833, 1.0556, OUT]),
        (5, 2, [3.75, 0.6667, 0.7576, 1.1717, OUT]),
    ];
    for ((task, proc, figures), wanted) in steps.iter().zip(&wanted) {
        assert_eq!((*task, *proc), (wanted.0, wanted.1));
        close(figures, &wanted.2, PRINTED, &format!("task {task}"));
    }

    let example = e2();
    let problem = example.problem();
    let course = Course::new(&problem, &example.request(113.79, Some(151.6)));
    let mut quality = dbcs::Quality::new(&course, dbcs::Ratio::Current);
    let deadlines = [26.6, 70.6, 99.6, 62.6, 66.6, 68.6, 129.6, 96.6, 131.6, 151.6];
    close(&quality.deadlines, &deadlines, 1e-9, "deadlines");
    let steps = trace(&course, |at, task, offers| {
        let all = quality.of(at, task, offers);
        let chosen = quality.choose(at, task, offers);
        (chosen, vec![all[chosen]])
    });
    let places: Vec<(u32, u32)> = steps.iter().map(|s| (s.0, s.1)).collect();
    let wanted = [(1, 1), (5, 1), (6, 3), (2, 2), (4, 3), (3, 1), (8, 3), (7, 1), (9, 1), (10, 1)];
    assert_eq!(places, wanted);
    let q: Vec<f64> = steps.iter().map(|s| s.2[0]).collect();
    let wanted = [0.9503, 0.8211, 1.1081, 0.85, 0.56, 0.9765, 0.6104, 1.0187, 1.1529, 0.2];
    close(&q, &wanted, PRINTED, "quality");
}

/// `a_D`, `a_B`, makespan, cost and success of DBCS; the limits are between the shortest and the longest
/// critical path and between the least and the largest cost.
#[test]
fn dbcs_grid() {
    let example = e1();
    let wanted = [
        (0.5, 0.5, 45., 25.25, true),
        (0.1, 0.7, 36., 28., false),
        (0.3, 0.7, 36., 27.5, true),
        (0.5, 0.1, 116., 21., false),
        (0.5, 0.3, 52., 23., true),
        (0.7, 0.7, 36., 27.5, true),
    ];
    for (a_d, a_b, makespan, cost, success) in wanted {
        let (budget, deadline) = (20.0 + a_b * 12.0, 26.0 + a_d * 54.0);
        let (_, m, c, kept) = example.plan("dbcs", budget, Some(deadline));
        close(&[m, c], &[makespan, cost], 1e-9, &format!("({a_d}, {a_b})"));
        assert_eq!(kept, success, "({a_d}, {a_b})");
    }
    let (_, makespan, cost, kept) = e2().plan("dbcs", 113.79, Some(151.6));
    close(&[makespan, cost], &[151.0, 99.7], 1e-9, "E2");
    assert!(kept);
}

/// With too little money there is still a plan: the cheapest.
#[test]
fn too_little_money_gives_the_cheapest_plan() {
    let example = e1();
    for name in ["hbcs", "dbcs", "dca", "loss1", "loss2", "loss3", "gain1", "gain2", "gain3"] {
        let (_, makespan, cost, kept) = example.plan(name, 19.0, Some(100.0));
        assert_eq!((makespan, cost, kept), (128.0, 20.0, false), "{name}");
    }
}

/// The dynamic programme sees more plans than one pass does.
#[test]
fn dca_is_not_longer_than_hbcs() {
    for example in [e1(), e2()] {
        for k in [0.0, 0.1, 0.25, 0.5, 0.75, 0.9] {
            let (_, hbcs, ..) = example.plan("hbcs", example.budget(k), None);
            let (_, makespan, cost, kept) = example.plan("dca", example.budget(k), Some(hbcs));
            assert!(kept, "k = {k}: {makespan} {cost}, not {hbcs}");
        }
    }
}

/// Prices by the law a (1 + a) / 2: what a task costs depends on speed alone, and moving it from one
/// speed to another costs the same time per money whatever the task.
#[test]
fn closed_forms_of_the_price_law() {
    let example = e1();
    let problem = example.problem();
    let prices = Prices::new(&problem);
    let shares = [0.25, 0.5, 1.0];
    for task in example.workflow.tasks() {
        let fastest = prices.seconds(task, 2);
        for (kind, a) in shares.into_iter().enumerate() {
            close(&[prices.cost(task, kind)], &[fastest * (1.0 + a) / 2.0], 1e-9, "cost");
            for (other, b) in shares.into_iter().enumerate().filter(|&(o, _)| o != kind) {
                let seconds = prices.seconds(task, other) - prices.seconds(task, kind);
                let money = prices.cost(task, kind) - prices.cost(task, other);
                close(&[seconds / money], &[2.0 / (a * b)], 1e-9, "weight");
            }
        }
    }
}
