//! Properties that hold for every registered planner on any problem.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use crate::random;

use proptest::prelude::*;
use rand::{Rng, RngExt};
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::problem::{DataCopy, State};
use slackline_model::rng::{Stream, stream};
use slackline_model::schedule::{Limits, validate};
use slackline_model::workflow::CostTable;
use slackline_model::{
    EdgeId, HostId, Platform, Problem, ProcId, Task, TaskId, Workflow, WorkflowBuilder,
};
use slackline_schedule::aliases::ALIASES;
use slackline_schedule::list::{OptimisticCosts, ranks::Weights};
use slackline_schedule::{Algorithm, Capability, Need, PlanError, Request, registry};
use std::time::Duration;

/// Parameters of a random problem; the rest follows from the seed.
#[derive(Clone, Debug)]
struct ProblemKind {
    seed: u64,
    tasks: usize,
    hosts: usize,
    /// Dependencies per possible pair of tasks, in per cent; 0 leaves single tasks.
    density: u32,
    unrelated: bool,
    /// All costs and data equal.
    equal: bool,
    /// Some tasks take no time, some data have no size.
    zeros: bool,
    /// Hosts of several cores, tasks of several processors, memory limits.
    wide: bool,
    uneven_network: bool,
}

prop_compose! {
    fn kinds()(
        seed in any::<u64>(),
        tasks in 1usize..16,
        hosts in 1usize..5,
        density in 0u32..60,
        flags in any::<[bool; 5]>(),
    ) -> ProblemKind {
        let [unrelated, equal, zeros, wide, uneven_network] = flags;
        ProblemKind { seed, tasks, hosts, density, unrelated, equal, zeros, wide, uneven_network }
    }
}

impl ProblemKind {
    fn amount(&self, rng: &mut Stream) -> f64 {
        if self.zeros && rng.random_range(0..4) == 0 {
            0.0
        } else if self.equal {
            8.0
        } else {
            f64::from(rng.random_range(1..400u32)) / 8.0
        }
    }

    fn platform(&self) -> Platform {
        let mut rng = stream(self.seed, "platform", 0);
        let mut b = PlatformBuilder::new("p");
        let n = self.hosts;
        let bandwidth = |rng: &mut Stream| match rng.random_range(0..6) {
            0 => f64::INFINITY,
            k => f64::from(k),
        };
        if self.uneven_network {
            let bandwidths = (0..n * n).map(|_| bandwidth(&mut rng)).collect();
            let latency = (0..n * n).map(|_| f64::from(rng.random_range(0..3u32))).collect();
            b.set_matrix(Matrix::Dense { hosts: n, bandwidth: bandwidths, latency });
        } else {
            b.set_matrix(Matrix::Uniform { bandwidth: bandwidth(&mut rng), latency: 0.5 });
        }
        let root = b.root().unwrap();
        for h in 0..n {
            // The first host takes every task.
            let cores = if self.wide { if h == 0 { 3 } else { rng.random_range(1..4) } } else { 1 };
            let memory = (self.wide && h > 0).then(|| f64::from(rng.random_range(1..10u32)));
            let speed = if self.equal { 1.0 } else { f64::from(rng.random_range(1..5u32)) };
            b.add_host(root, HostSpec { cores, memory, ..HostSpec::new(format!("h{h}"), speed) })
                .unwrap();
        }
        b.build().unwrap()
    }

    fn workflow(&self) -> Workflow {
        let mut rng = stream(self.seed, "workflow", 0);
        let mut b = WorkflowBuilder::new("w");
        for i in 0..self.tasks {
            let width = if self.wide { rng.random_range(1..4) } else { 1 };
            let memory = if self.wide { f64::from(rng.random_range(0..10u32)) } else { 0.0 };
            let task = Task::new(format!("t{i}"), self.amount(&mut rng));
            b.add_task(Task { min_width: width, max_width: width, memory, ..task }).unwrap();
        }
        // Numbers in no topological order.
        let mut order: Vec<u32> = (0..self.tasks as u32).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, rng.random_range(0..=i));
        }
        random::edges(&mut b, &mut rng, &order, self.density, |rng| Some(self.amount(rng)));
        if self.unrelated {
            let columns = (0..self.hosts).map(|h| format!("h{h}")).collect();
            let seconds = (0..self.tasks * self.hosts).map(|_| self.amount(&mut rng)).collect();
            b.set_cost_table(CostTable { columns, seconds });
        }
        b.build().unwrap()
    }

    /// Part of a random plan has been executed; machines are busy or gone, tasks held back, data
    /// copied.
    fn state(&self, problem: &Problem<'_>, progress: f64) -> State {
        let mut rng = stream(self.seed, "state", 0);
        let planner = registry::find("random").unwrap();
        let request = Request::seeded(rng.next_u64());
        let plan = planner.plan(problem, &request).unwrap();
        let begun = random::partly_executed(problem, &plan, progress, &mut rng);
        let (now, fixed) = (begun.now, &begun.fixed);
        let mut copies = Vec::new();
        let inputs_listed = problem.state().inputs_listed;
        for file in problem.workflow().files() {
            let mut copy = |at| {
                let host = HostId::new(rng.random_range(0..self.hosts));
                copies.push(DataCopy { file, host, at });
            };
            match problem.workflow().producer(file) {
                Some(from) => {
                    if let Some(placement) = &fixed[from.index()]
                        && (file.0 + from.0).is_multiple_of(4)
                    {
                        copy(placement.finish + 1.0);
                    }
                }
                None if inputs_listed => {
                    copy(0.0);
                    copy(now + 2.0);
                }
                None => {}
            }
        }
        State { copies, inputs_listed, ..begun }
    }
}

/// Whether some unfinished task has no host with enough processors left.
fn stuck(problem: &Problem<'_>) -> bool {
    let workflow = problem.workflow();
    let left = |host: HostId| {
        let procs = problem.procs_of(host).map(ProcId);
        procs.filter(|&p| problem.available_from(p).is_finite()).count() as u32
    };
    let runs = |task: TaskId, host: HostId| {
        let first = ProcId(problem.procs_of(host).start);
        problem.exec_on(task, first).is_finite() && left(host) >= workflow.width(task).0
    };
    workflow
        .tasks()
        .filter(|&t| problem.state().fixed(t).is_none())
        .any(|t| !problem.platform().host_ids().any(|h| runs(t, h)))
}

/// A request with few iterations: plans must be valid, not short.
fn brief(seed: u64) -> Request {
    Request { iterations: Some(40), ..Request::seeded(seed) }
}

/// The same request with other values of the members that a method does not use.
fn unheeded(algorithm: &Algorithm, request: &Request) -> Request {
    let heeds = |heed| algorithm.capabilities().contains(&heed);
    Request {
        seed: if heeds(Capability::Seed) { request.seed } else { request.seed + 1 },
        iterations: request.iterations.filter(|_| heeds(Capability::Iterations)),
        time_limit: (!heeds(Capability::TimeLimit)).then_some(Duration::ZERO),
        threads: Some(2),
        ..request.clone()
    }
}

fn check_all(problem: &Problem<'_>) -> Result<(), TestCaseError> {
    check(problem, registry::every())
}

fn check(
    problem: &Problem<'_>,
    algorithms: impl Iterator<Item = &'static Algorithm>,
) -> Result<(), TestCaseError> {
    let request = brief(7);
    for algorithm in algorithms.filter(|a| a.lacks(problem, &request.limits).is_none()) {
        let name = algorithm.name;
        match algorithm.plan(problem, &request) {
            Ok(schedule) => {
                let broken = validate(problem, &schedule, &Limits::default());
                prop_assert!(broken.is_empty(), "{name}: {broken:?}");
                let again = algorithm.plan(problem, &unheeded(algorithm, &request));
                prop_assert_eq!(again, Ok(schedule), "{} plans differently twice", name);
            }
            Err(PlanError::Nowhere { .. }) => prop_assert!(stuck(problem), "{name} gives up"),
            Err(other) => prop_assert!(false, "{name}: {other}"),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(slackline_testkit::cases(150))]

    #[test]
    fn plans_are_valid(kind in kinds()) {
        let (workflow, platform) = (kind.workflow(), kind.platform());
        check_all(&Problem::new(&workflow, &platform).unwrap())?;
    }

    #[test]
    fn plans_of_the_rest_are_valid(kind in kinds(), progress in 0.0f64..1.2) {
        let (workflow, platform) = (kind.workflow(), kind.platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let state = kind.state(&problem, progress);
        check_all(&problem.with_state(state).unwrap())?;
    }

    #[test]
    fn plans_of_several_workflows_are_valid(
        kind in kinds(),
        graphs in 2u64..5,
        progress in 0.0f64..1.2,
    ) {
        let platform = kind.platform();
        let graph = |n| ProblemKind { seed: kind.seed ^ n, ..kind.clone() }.workflow();
        let graphs: Vec<Workflow> = (0..graphs).map(graph).collect();
        let all = Workflow::union("all", &graphs.iter().collect::<Vec<_>>()).unwrap();
        let several = || registry::every().filter(|a| a.needs.contains(&Need::Several));
        let problem = Problem::new(&all, &platform).unwrap();
        check(&problem, several())?;
        let state = kind.state(&problem, progress);
        check(&problem.with_state(state).unwrap(), several())?;
    }

    /// On one processor every order of the tasks takes the sum of their times.
    #[test]
    fn one_processor_takes_the_sum(kind in kinds()) {
        let kind = ProblemKind { hosts: 1, wide: false, ..kind };
        let (workflow, platform) = (kind.workflow(), kind.platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let sum: f64 = workflow.tasks().map(|t| problem.best_exec(t)).sum();
        let fits = |a: &&Algorithm| a.lacks(&problem, &Limits::default()).is_none();
        for algorithm in registry::every().filter(fits) {
            let makespan = algorithm.plan(&problem, &brief(0)).unwrap().makespan();
            prop_assert!((makespan - sum).abs() <= 1e-9 * sum, "{}: {makespan}", algorithm.name);
        }
    }

    /// On a chain the optimistic costs are exact, and the methods that follow them optimal.
    #[test]
    fn chains_are_planned_optimally(kind in kinds()) {
        let kind = ProblemKind { density: 0, wide: false, uneven_network: false, ..kind };
        let mut rng = stream(kind.seed, "chain", 0);
        let mut b = WorkflowBuilder::new("chain");
        let single = kind.workflow();
        for task in single.tasks() {
            b.add_task(single.task(task)).unwrap();
        }
        for i in 1..kind.tasks as u32 {
            b.add_edge(TaskId(i - 1), TaskId(i), kind.amount(&mut rng)).unwrap();
        }
        if let Some(table) = single.cost_table() {
            b.set_cost_table(table.clone());
        }
        let (workflow, platform) = (b.build().unwrap(), kind.platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let costs = OptimisticCosts::new(&problem, Weights::MEAN);
        let entry = costs.row(TaskId(0)).iter().enumerate();
        let least = entry
            .map(|(class, oct)| oct + problem.exec(TaskId(0), class))
            .fold(f64::INFINITY, f64::min);
        for name in ["peft", "bil"] {
            let plan = registry::find(name).unwrap().plan;
            let makespan = plan(&problem, &Request::default()).unwrap().makespan();
            prop_assert!((makespan - least).abs() <= 1e-9 * least, "{name}: {makespan}, {least}");
        }
    }
}

/// The best imaginary levels as Oh and Ha write them, processor by processor.
fn imaginary_levels(problem: &Problem<'_>) -> Vec<Vec<f64>> {
    let workflow = problem.workflow();
    let mut levels = vec![Vec::new(); workflow.len()];
    for &task in workflow.topological_order().iter().rev() {
        let level = |j: ProcId| {
            let child_level = |(child, edge): (TaskId, EdgeId)| {
                let below: &Vec<f64> = &levels[child.index()];
                let sent = problem.mean_transfer(workflow.edge_bytes(edge));
                let elsewhere =
                    problem.proc_ids().filter(|&l| l != j).map(|l| below[l.index()] + sent);
                elsewhere.fold(below[j.index()], f64::min)
            };
            let rest = workflow.successors(task).map(child_level).fold(0.0, f64::max);
            problem.exec_on(task, j) + rest
        };
        levels[task.index()] = problem.proc_ids().map(level).collect();
    }
    levels
}

proptest! {
    #![proptest_config(slackline_testkit::cases(150))]

    /// `OCT + exec = BIL`, and one minimum per edge serves all processors.
    #[test]
    fn optimistic_costs_are_imaginary_levels_without_the_task(kind in kinds()) {
        let (workflow, platform) = (kind.workflow(), kind.platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let costs = OptimisticCosts::new(&problem, Weights::MEAN);
        let levels = imaginary_levels(&problem);
        for task in workflow.tasks() {
            for proc in problem.proc_ids() {
                let level = costs.row(task)[problem.class_of(proc)] + problem.exec_on(task, proc);
                let wanted = levels[task.index()][proc.index()];
                let equal = level == wanted || (level - wanted).abs() <= 1e-9 * wanted;
                prop_assert!(equal, "{task:?} on {proc:?}: {level}, not {wanted}");
            }
        }
    }
}

#[test]
fn names_are_found_and_unique() {
    for algorithm in registry::every() {
        assert_eq!(registry::find(algorithm.name).unwrap().name, algorithm.name);
    }
    assert_eq!(registry::find("HEFT.meantime").unwrap().name, "heft-meantime");
    assert_eq!(registry::find("Min-Min").unwrap().name, "minmin");
    assert_eq!(registry::find("Hybrid.BMCT").unwrap().name, "hybrid-bmct");
    assert!(registry::find("no such").is_none());
}

#[test]
fn aliases_are_methods_with_parameters_set() {
    for alias in ALIASES {
        let method = registry::find(alias.of).unwrap();
        let request = Request::default().preset(alias.set);
        method.values(&request).unwrap();
        for (name, value) in alias.set {
            assert!(method.parameters.iter().any(|p| p.name == *name), "{name}={value}");
        }
        // One graph with dependencies is not for them.
        if method.needs.iter().any(|n| matches!(n, Need::Independent | Need::Several)) {
            continue;
        }
        let (unrelated, uneven_network) = (true, true);
        let (equal, zeros, wide) = (false, false, false);
        let (seed, tasks, hosts, density) = (5, 14, 4, 30);
        let kind = ProblemKind {
            seed,
            tasks,
            hosts,
            density,
            unrelated,
            equal,
            zeros,
            wide,
            uneven_network,
        };
        let (workflow, platform) = (kind.workflow(), kind.platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let plan = alias.algorithm.plan(&problem, &Request::default()).unwrap();
        assert_eq!(plan, method.plan(&problem, &request).unwrap(), "{}", alias.algorithm.name);
    }
}
