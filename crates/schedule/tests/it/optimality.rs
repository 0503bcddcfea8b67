//! Bounds, `exact` and `best` against optima known otherwise.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use proptest::prelude::*;
use rand::RngExt;
use serde_json::Value;
use slackline_formats::instance;
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::problem::State;
use slackline_model::rng::{Stream, stream};
use slackline_model::schedule::{Limits, validate};
use slackline_model::workflow::CostTable;
use slackline_model::{
    HostId, Platform, Problem, ProcId, SpeedUp, Task, TaskId, Workflow, WorkflowBuilder, approx,
};
use slackline_schedule::{Request, bounds, exact, registry};

/// The instances of the fixture whose optimum (or a bound and a best known makespan) is known.
fn known() -> impl Iterator<Item = (Value, f64, f64)> {
    include_str!("../fixtures/makespans.jsonl").lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let best = line["optimum"]["makespan"].as_f64()?;
        let bound = line["optimum"]["lower_bound"].as_f64().unwrap_or(best);
        Some((line["instance"].clone(), bound, best))
    })
}

#[test]
fn small_optima_are_proven_and_bounds_never_exceed_the_best_known() {
    let (mut proven, mut gap, mut cases) = (0, 0.0, 0.0);
    for (value, known_bound, best_known) in known() {
        let name = value["name"].as_str().unwrap();
        let instance = instance::read(&value.to_string()).unwrap();
        let problem = Problem::new(&instance.workflow, &instance.platform).unwrap();
        let bound = bounds::lower_bound(&problem);
        assert!(approx::le(bound, best_known), "{name}: bound {bound}, best known {best_known}");
        let small = instance.workflow.len() <= 12;
        // Enough nodes to prove the small ones; the others end early with what they have.
        let iterations = if small { None } else { Some(3000) };
        let request = Request { iterations, ..Request::default() };
        let solved = exact::solve(&problem, &request).unwrap();
        assert_eq!(validate(&problem, &solved.schedule, &Limits::default()), [], "{name}");
        let makespan = solved.schedule.makespan();
        assert!(approx::le(solved.bound, best_known), "{name}: {} proven", solved.bound);
        assert!(makespan >= known_bound * (1.0 - 1e-9), "{name}: {makespan} beats the optimum");
        assert!(solved.bound >= bound * (1.0 - 1e-12), "{name}: the search lost a bound");
        if small {
            assert!(solved.is_optimal(), "{name}: {} after {} nodes", solved.bound, solved.nodes);
            assert!(approx::eq(makespan, best_known), "{name}: {makespan}, not {best_known}");
            proven += 1;
        }
        let request = Request { iterations: Some(30_000), ..Request::seeded(3) };
        let plan = registry::find("best").unwrap().plan(&problem, &request).unwrap();
        gap += plan.makespan() / best_known - 1.0;
        cases += 1.0;
    }
    assert_eq!(proven, 24);
    assert!(gap / cases <= 0.02, "mean gap {}", gap / cases);
}

#[test]
fn threads_do_not_change_the_plan() {
    let best = registry::find("best").unwrap().plan;
    for (value, _, _) in known().skip(20).take(4) {
        let instance = instance::read(&value.to_string()).unwrap();
        let problem = Problem::new(&instance.workflow, &instance.platform).unwrap();
        let plan = |threads| {
            let request =
                Request { iterations: Some(4000), threads: Some(threads), ..Request::seeded(5) };
            best(&problem, &request).unwrap()
        };
        let one = plan(1);
        assert_eq!(plan(2), one);
        assert_eq!(plan(4), one);
    }
}

#[test]
fn a_raised_flag_ends_a_search_with_a_plan() {
    let (value, _, _) = known().nth(30).unwrap();
    let instance = instance::read(&value.to_string()).unwrap();
    let problem = Problem::new(&instance.workflow, &instance.platform).unwrap();
    let stop = Some(std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true)));
    let request = Request { stop, ..Request::default() };
    let solved = exact::solve(&problem, &request).unwrap();
    assert_eq!(validate(&problem, &solved.schedule, &Limits::default()), []);
    assert!(approx::le(solved.bound, solved.schedule.makespan()));
}

/// A tiny random problem: up to five tasks on up to three hosts of up to two cores.
#[derive(Clone, Debug)]
struct Tiny {
    seed: u64,
    tasks: usize,
    hosts: usize,
    unrelated: bool,
    cores: bool,
    wide: bool,
    zeros: bool,
    uneven: bool,
}

prop_compose! {
    fn tiny()(
        seed in any::<u64>(),
        tasks in 1usize..6,
        hosts in 1usize..4,
        flags in any::<[bool; 5]>(),
    ) -> Tiny {
        let [unrelated, cores, wide, zeros, uneven] = flags;
        Tiny { seed, tasks, hosts, unrelated, cores, wide: wide && cores, zeros, uneven }
    }
}

impl Tiny {
    fn amount(&self, random: &mut Stream) -> f64 {
        if self.zeros && random.random_range(0..5) == 0 {
            return 0.0;
        }
        f64::from(random.random_range(1..20u32))
    }

    fn platform(&self) -> Platform {
        let mut random = stream(self.seed, "platform", 0);
        let mut b = PlatformBuilder::new("p");
        let n = self.hosts;
        let bandwidth = |random: &mut Stream| match random.random_range(0..4) {
            0 => f64::INFINITY,
            k => f64::from(k),
        };
        if self.uneven {
            let bandwidth = (0..n * n).map(|_| bandwidth(&mut random)).collect();
            let latency = (0..n * n).map(|_| f64::from(random.random_range(0..3u32))).collect();
            b.set_matrix(Matrix::Dense { hosts: n, bandwidth, latency });
        } else {
            let latency = f64::from(random.random_range(0..2u32));
            b.set_matrix(Matrix::Uniform { bandwidth: bandwidth(&mut random), latency });
        }
        let root = b.root().unwrap();
        for h in 0..n {
            let cores =
                if self.cores { if h == 0 { 2 } else { random.random_range(1..3) } } else { 1 };
            let speed = f64::from(random.random_range(1..3u32));
            b.add_host(root, HostSpec { cores, ..HostSpec::new(format!("h{h}"), speed) }).unwrap();
        }
        b.build().unwrap()
    }

    fn workflow(&self) -> Workflow {
        let mut random = stream(self.seed, "workflow", 0);
        let mut b = WorkflowBuilder::new("w");
        for i in 0..self.tasks {
            let min_width = if self.wide { random.random_range(1..3) } else { 1 };
            let max_width = if self.wide { random.random_range(min_width..4) } else { 1 };
            let speedup = SpeedUp::Amdahl { serial: 0.2 };
            let task = Task::new(format!("t{i}"), self.amount(&mut random));
            b.add_task(Task { min_width, max_width, speedup, ..task }).unwrap();
        }
        for i in 0..self.tasks as u32 {
            for j in i + 1..self.tasks as u32 {
                if random.random_range(0..100) < 45 {
                    b.add_edge(TaskId(i), TaskId(j), self.amount(&mut random)).unwrap();
                }
            }
        }
        if self.unrelated {
            let columns = (0..self.hosts).map(|h| format!("h{h}")).collect();
            let seconds = (0..self.tasks * self.hosts).map(|_| self.amount(&mut random)).collect();
            b.set_cost_table(CostTable { columns, seconds });
        }
        b.build().unwrap()
    }

    /// Part of HEFT's plan has been executed, a processor may be late, tasks may be held back.
    fn state(&self, problem: &Problem<'_>, progress: f64) -> State {
        let mut random = stream(self.seed, "state", 0);
        let plan = registry::find("heft").unwrap().plan(problem, &Request::default()).unwrap();
        let now = (plan.makespan() * progress).floor();
        let begun = |t: TaskId| plan.placement(t).filter(|p| p.start < now).cloned();
        let mut late = || now + f64::from(random.random_range(0..8u32)).max(3.0) - 3.0;
        State {
            now,
            fixed: problem.workflow().tasks().map(begun).collect(),
            available: problem.proc_ids().map(|_| late()).collect(),
            release: problem.workflow().tasks().map(|_| late()).collect(),
            copies: vec![],
            inputs_listed: false,
            ..State::default()
        }
    }
}

/// Every order and place of the unfinished tasks, without any cleverness.
struct Brute<'a, 'p> {
    problem: &'a Problem<'p>,
    best: f64,
}

#[derive(Clone)]
struct Partial {
    avail: Vec<f64>,
    placed: Vec<Option<(f64, HostId)>>,
}

impl Brute<'_, '_> {
    fn optimum(problem: &Problem<'_>) -> f64 {
        let state = problem.state();
        let mut partial = Partial {
            avail: problem.proc_ids().map(|p| problem.available_from(p)).collect(),
            placed: vec![None; problem.tasks()],
        };
        for task in problem.workflow().tasks() {
            if let Some(fixed) = state.fixed(task) {
                let host = problem.host_of(fixed.proc());
                partial.placed[task.index()] = Some((fixed.finish, host));
                for proc in fixed.procs() {
                    let avail = &mut partial.avail[proc.index()];
                    *avail = avail.max(fixed.finish);
                }
            }
        }
        let mut brute = Brute { problem, best: f64::INFINITY };
        brute.extend(&partial);
        brute.best
    }

    fn extend(&mut self, partial: &Partial) {
        let workflow = self.problem.workflow();
        let mut complete = true;
        for task in workflow.tasks().filter(|t| partial.placed[t.index()].is_none()) {
            complete = false;
            if workflow.predecessors(task).any(|(p, _)| partial.placed[p.index()].is_none()) {
                continue;
            }
            for host in self.problem.platform().host_ids() {
                self.place(partial, task, host);
            }
        }
        if complete {
            let end = partial.placed.iter().flatten().map(|p| p.0).fold(0.0, f64::max);
            self.best = self.best.min(end);
        }
    }

    fn place(&mut self, partial: &Partial, task: TaskId, host: HostId) {
        let workflow = self.problem.workflow();
        let mut ready = self.problem.release(task);
        for (parent, edge) in workflow.predecessors(task) {
            let Some((finish, from)) = partial.placed[parent.index()] else { return };
            let bytes = workflow.edge_bytes(edge);
            let sent = finish.max(self.problem.state().now);
            ready = ready.max(finish).max(sent + self.problem.transfer(bytes, from, host));
        }
        let procs: Vec<usize> = self.problem.procs_of(host).map(|p| p as usize).collect();
        let class = self.problem.class_of(ProcId::new(procs[0]));
        let (least, most) = workflow.width(task);
        for width in least..=most.min(procs.len() as u32) {
            let seconds = self.problem.exec_wide(task, class, width);
            if !seconds.is_finite() {
                continue;
            }
            let mut next = partial.clone();
            let mut cores = procs.clone();
            cores.sort_by(|&a, &b| partial.avail[a].total_cmp(&partial.avail[b]));
            cores.truncate(width as usize);
            // No length: beside whatever runs there.
            let busy = cores.iter().map(|&c| partial.avail[c]).fold(0.0, f64::max);
            let open = |&c: &usize| self.problem.available_from(ProcId::new(c));
            let first = procs.iter().map(open).fold(f64::INFINITY, f64::min);
            let start = if seconds == 0.0 { ready.max(first) } else { ready.max(busy) };
            if seconds > 0.0 {
                cores.iter().for_each(|&c| next.avail[c] = start + seconds);
            }
            next.placed[task.index()] = Some((start + seconds, host));
            self.extend(&next);
        }
    }
}

fn check(problem: &Problem<'_>, rigid: bool) -> Result<(), TestCaseError> {
    let optimum = Brute::optimum(problem);
    let bound = bounds::lower_bound(problem);
    prop_assert!(approx::le(bound, optimum), "bound {bound}, optimum {optimum}");
    let request = Request { iterations: Some(20_000), ..Request::default() };
    let solved = exact::solve(problem, &request).unwrap();
    prop_assert!(approx::le(solved.bound, optimum), "proven {}, optimum {optimum}", solved.bound);
    if rigid {
        let makespan = solved.schedule.makespan();
        prop_assert!(solved.is_optimal() || makespan <= optimum * (1.0 + 1e-9), "not proven");
        prop_assert!(makespan <= optimum * (1.0 + 1e-9), "{makespan}, optimum {optimum}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(slackline_testkit::cases(150))]

    #[test]
    fn exhaustive_search_agrees(tiny in tiny()) {
        let (workflow, platform) = (tiny.workflow(), tiny.platform());
        check(&Problem::new(&workflow, &platform).unwrap(), !tiny.wide)?;
    }

    #[test]
    fn exhaustive_search_of_the_rest_agrees(tiny in tiny(), progress in 0.0f64..1.0) {
        let (workflow, platform) = (tiny.workflow(), tiny.platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let state = tiny.state(&problem, progress);
        // Tasks of no length may start beside running ones, which `exact` leaves out.
        check(&problem.with_state(state).unwrap(), !tiny.wide && !tiny.zeros)?;
    }
}
