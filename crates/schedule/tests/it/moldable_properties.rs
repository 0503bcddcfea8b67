//! Properties of every moldable planner on any graph and any clusters, partly executed or not.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use crate::random;

use proptest::prelude::*;
use rand::RngExt;
use slackline_formats::platform_toml;
use slackline_model::platform::Charges;
use slackline_model::problem::{State, View};
use slackline_model::rng::stream;
use slackline_model::schedule::{Detail, Limits, validate};
use slackline_model::{
    Platform, Problem, Schedule, SpeedUp, Task, Workflow, WorkflowBuilder, approx,
};
use slackline_schedule::{Family, Need, PlanError, Request, registry};

#[derive(Clone, Debug)]
struct ProblemKind {
    seed: u64,
    tasks: usize,
    clusters: usize,
    density: u32,
    /// Data take time.
    network: bool,
    /// Hosts of several cores, tasks that stay on a host, least widths.
    wide: bool,
    equal: bool,
}

prop_compose! {
    fn kinds()(
        seed in any::<u64>(),
        tasks in 1usize..14,
        clusters in 1usize..4,
        density in 0u32..60,
        flags in any::<[bool; 3]>(),
    ) -> ProblemKind {
        let [network, wide, equal] = flags;
        ProblemKind { seed, tasks, clusters, density, network, wide, equal }
    }
}

impl ProblemKind {
    fn platform(&self) -> Platform {
        let mut rng = stream(self.seed, "platform", 0);
        let mut text = String::from("name = \"p\"\n");
        for c in 0..self.clusters {
            let speed = if self.equal { 1 } else { rng.random_range(1..5u32) };
            let (count, cores) = (rng.random_range(3..8u32), if self.wide { 3 } else { 1 });
            text += &format!(
                "[cluster.c{c}]\ncount = {count}\ncores = {cores}\nspeed = \"{speed}f\"\n\
                 bandwidth = \"20Bps\"\nlatency = \"250ms\"\n\
                 backbone = {{ bandwidth = \"50Bps\", latency = \"500ms\" }}\n"
            );
        }
        platform_toml::parse(&text).unwrap()
    }

    fn workflow(&self) -> Workflow {
        let mut rng = stream(self.seed, "workflow", 0);
        let mut b = WorkflowBuilder::new("w");
        for i in 0..self.tasks {
            let work = if self.equal { 8.0 } else { f64::from(rng.random_range(0..400u32)) / 8.0 };
            let speedup = match rng.random_range(0..4) {
                0 => SpeedUp::Downey { parallelism: 3.0, sigma: 0.5 },
                1 => SpeedUp::Table([1.0, 0.6, 0.5].into()),
                _ => SpeedUp::Amdahl { serial: f64::from(rng.random_range(0..5u32)) / 10.0 },
            };
            let min_width = if self.wide { rng.random_range(1..3) } else { 1 };
            let spread = !self.wide || rng.random_range(0..2) == 0;
            let task = Task { speedup, min_width, spread, ..Task::new(format!("t{i}"), work) };
            b.add_task(Task { max_width: [3, u32::MAX][i % 2], ..task }).unwrap();
        }
        let order: Vec<u32> = (0..self.tasks as u32).collect();
        random::edges(&mut b, &mut rng, &order, self.density, |rng| {
            if self.network { Some(f64::from(rng.random_range(0..100u32))) } else { Some(0.0) }
        });
        b.build().unwrap()
    }

    /// Part of a plan has been executed, some processors are busy or gone, tasks held back.
    fn state(&self, problem: &Problem<'_>, progress: f64) -> State {
        let mut rng = stream(self.seed, "state", 0);
        let plan = registry::find("hcpa").unwrap().plan(problem, &Request::default()).unwrap();
        random::partly_executed(problem, &plan, progress, &mut rng)
    }

    /// Two such graphs at once.
    fn batch(&self) -> Workflow {
        let parts = [self.workflow(), ProblemKind { seed: !self.seed, ..self.clone() }.workflow()];
        Workflow::union("batch", &[&parts[0], &parts[1]]).unwrap()
    }
}

fn check_all(problem: &Problem<'_>) -> Result<(), TestCaseError> {
    let several = problem.workflow().members().len() > 1;
    let moldable = registry::ALL.iter().filter(|a| a.family == Family::Moldable);
    for algorithm in moldable.filter(|a| a.needs.contains(&Need::Several) == several) {
        for packing in ["no", "yes"] {
            let name = algorithm.name;
            let given = ["packing", "backfill"].map(|p| (p.to_string(), packing.to_string()));
            let request = Request { given: given.to_vec(), ..Request::default() };
            match algorithm.plan(problem, &request) {
                Ok(schedule) => {
                    let broken = validate(problem, &schedule, &Limits::default());
                    prop_assert!(broken.is_empty(), "{name}: {broken:?}");
                    let again = algorithm.plan(problem, &request);
                    prop_assert_eq!(again, Ok(schedule), "{} plans differently twice", name);
                }
                Err(PlanError::Unsupported { .. } | PlanError::Nowhere { .. }) => {}
                Err(other) => prop_assert!(false, "{name}: {other}"),
            }
        }
    }
    Ok(())
}

fn plan(problem: &Problem<'_>, name: &str, set: &[(&str, &str)]) -> Schedule {
    let given = set.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let request = Request { given, ..Request::default() };
    registry::find(name).unwrap().plan(problem, &request).unwrap()
}

fn number(schedule: &Schedule, name: &str) -> f64 {
    match schedule.details.iter().find(|d| d.0 == name).unwrap().1 {
        Detail::Number(number) => number,
        _ => panic!("no {name}"),
    }
}

fn work(schedule: &Schedule) -> f64 {
    number(schedule, "work")
}

proptest! {
    #![proptest_config(slackline_testkit::cases(100))]

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

    /// List methods give every task its least width, over several hosts where one is too narrow.
    #[test]
    fn list_methods_keep_the_least_width(kind in kinds(), progress in 0.0f64..1.2) {
        let kind = ProblemKind { wide: false, ..kind };
        let (drawn, platform) = (kind.workflow(), kind.platform());
        let mut b = WorkflowBuilder::new("wide");
        for t in drawn.tasks() {
            b.add_task(Task { min_width: 1 + t.0 % 3, ..drawn.task(t) }).unwrap();
        }
        for edge in drawn.edges() {
            let (from, to) = drawn.edge_ends(edge);
            b.add_edge(from, to, drawn.edge_bytes(edge)).unwrap();
        }
        let workflow = b.build().unwrap();
        let problem = Problem::new(&workflow, &platform).unwrap();
        let state = kind.state(&problem, progress);
        let request = Request { iterations: Some(20), ..Request::default() };
        for problem in [problem.clone(), problem.with_state(state).unwrap()] {
            let list = registry::ALL.iter().filter(|a| a.needs.is_empty());
            for algorithm in list.filter(|a| a.family == Family::List || a.name == "best") {
                let name = algorithm.name;
                let plan = match algorithm.plan(&problem, &request) {
                    Ok(plan) => plan,
                    // Too few processors may be left.
                    Err(PlanError::Nowhere { .. }) => continue,
                    Err(other) => return Err(TestCaseError::fail(format!("{name}: {other}"))),
                };
                let broken = validate(&problem, &plan, &Limits::default());
                prop_assert!(broken.is_empty(), "{name}: {broken:?}");
                for task in workflow.tasks().filter(|&t| problem.state().fixed(t).is_none()) {
                    let width = plan.placement(task).unwrap().procs().len() as u32;
                    prop_assert_eq!(width, workflow.width(task).0, "{}", name);
                }
            }
        }
    }

    /// Every graph ends by (1 + lambda) times the slack times its fair date.
    #[test]
    fn mags_keeps_its_stretch(
        kind in kinds(),
        backward in any::<bool>(),
        lambda in 0.5f64..3.0,
    ) {
        let kind = ProblemKind { clusters: 1, tasks: kind.tasks.min(8), ..kind };
        let (workflow, platform) = (kind.batch(), kind.platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let periods = if backward { "backward" } else { "forward" };
        let set = [("periods", periods), ("lambda", &*lambda.to_string())];
        let plan = plan(&problem, "mags", &set);
        let fair = number(&plan, "slack") * number(&plan, "fair_stretch");
        prop_assert!(approx::le(number(&plan, "guarantee"), (1.0 + lambda) * fair));
        let workflows = &plan.details.iter().find(|d| d.0 == "workflows").unwrap().1;
        let Detail::List(rows) = workflows else { panic!("no workflows") };
        for row in rows {
            let Detail::Record(parts) = row else { panic!("no record") };
            let value = |name| match parts.iter().find(|p| p.0 == name).unwrap().1 {
                Detail::Number(x) => x,
                _ => panic!("no {name}"),
            };
            let (finish, alone) = (value("finish"), value("alone"));
            let latest = (1.0 + lambda) * fair * alone;
            prop_assert!(approx::le(finish, latest), "{finish} after {latest}");
        }
    }

    /// No plan is longer than the stated ratio times the programme's lower bound.
    #[test]
    fn mcgas_keeps_its_ratio(kind in kinds()) {
        let kind = ProblemKind { equal: true, network: false, wide: false, ..kind };
        let mut b = WorkflowBuilder::new("amdahl");
        let (drawn, platform) = (kind.workflow(), kind.platform());
        for t in drawn.tasks() {
            let serial = f64::from(t.0 % 4) / 10.0;
            let speedup = SpeedUp::Amdahl { serial };
            let work = 1.0 + f64::from(t.0 * 7 % 11);
            let task = Task { work, speedup, max_width: u32::MAX, ..drawn.task(t) };
            b.add_task(task).unwrap();
        }
        for edge in drawn.edges() {
            let (from, to) = drawn.edge_ends(edge);
            b.add_edge(from, to, 0.0).unwrap();
        }
        let workflow = b.build().unwrap();
        // Latencies are part of no guarantee.
        let charges = Charges::default();
        let mut network = platform.charged_network(&charges);
        network.latency.fill(0.0);
        network.bandwidth.fill(f64::INFINITY);
        let view = View { availability: Vec::new(), network };
        let problem = Problem::as_seen(&workflow, &platform, view).unwrap();
        let plan = plan(&problem, "mcgas", &[]);
        let most = number(&plan, "guarantee") * number(&plan, "programme");
        prop_assert!(approx::le(plan.makespan(), most), "{} above {most}", plan.makespan());
    }

    #[test]
    fn backfilling_ends_no_task_later(kind in kinds()) {
        let (workflow, platform) = (kind.workflow(), kind.platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        for name in ["hcpa", "mheft", "delta-cts"] {
            let before = plan(&problem, name, &[]);
            let after = plan(&problem, name, &[("backfill", "yes")]);
            for (a, b) in after.placements.iter().flatten().zip(before.placements.iter().flatten())
            {
                prop_assert!(approx::le(a.finish, b.finish), "{name}: {a:?} after {b:?}");
            }
        }
    }

    #[test]
    fn two_criteria_never_lose_to_cpa(kind in kinds()) {
        let kind = ProblemKind { clusters: 1, ..kind };
        let (workflow, platform) = (kind.workflow(), kind.platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let cpa = plan(&problem, "cpa", &[]);
        for name in ["bicpa-m", "bicpa-w", "bicpa-e", "bicpa-s"] {
            let other = plan(&problem, name, &[]);
            prop_assert!(approx::le(other.makespan(), cpa.makespan()), "{name}");
            prop_assert!(approx::le(work(&other), work(&cpa)), "{name}");
        }
    }

    /// The mean use stays within the share unless single processors already exceed it.
    #[test]
    fn shares_are_kept(kind in kinds(), beta in 0.05f64..1.0) {
        let kind = ProblemKind { clusters: 1, wide: false, ..kind };
        let (workflow, platform) = (kind.workflow(), kind.platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        for name in ["scrap", "scrap-max"] {
            let schedule = plan(&problem, name, &[("beta", &beta.to_string())]);
            let path = number(&schedule, "critical_path");
            let used = work(&schedule) / path / problem.procs() as f64;
            let narrow = schedule.placements.iter().flatten().all(|p| p.procs().len() == 1);
            prop_assert!(path == 0.0 || narrow || approx::le(used, beta), "{name}: {used}");
        }
    }
}

proptest! {
    #![proptest_config(slackline_testkit::cases(12))]

    #[test]
    fn plans_of_several_graphs_are_valid(kind in kinds(), progress in 0.0f64..1.2) {
        let kind = ProblemKind { clusters: 1, tasks: kind.tasks.min(8), ..kind };
        let (workflow, platform) = (kind.batch(), kind.platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        check_all(&problem)?;
        let state = kind.state(&problem, progress);
        check_all(&problem.with_state(state).unwrap())?;
    }
}
