//! What holds for every moldable planner on any graph and any clusters, partly executed or not.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use proptest::prelude::*;
use rand::RngExt;
use slackline_formats::platform_toml;
use slackline_model::problem::State;
use slackline_model::rng::{Stream, stream};
use slackline_model::schedule::{Detail, Limits, validate};
use slackline_model::{
    Platform, Problem, Schedule, SpeedUp, Task, TaskId, Workflow, WorkflowBuilder, approx,
};
use slackline_schedule::{Family, PlanError, Request, registry};

#[derive(Clone, Debug)]
struct Kind {
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
    ) -> Kind {
        let [network, wide, equal] = flags;
        Kind { seed, tasks, clusters, density, network, wide, equal }
    }
}

impl Kind {
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
        for i in 0..self.tasks as u32 {
            for j in i + 1..self.tasks as u32 {
                if rng.random_range(0..100) < self.density {
                    let bytes =
                        if self.network { f64::from(rng.random_range(0..100u32)) } else { 0.0 };
                    b.add_edge(TaskId(i), TaskId(j), bytes).unwrap();
                }
            }
        }
        b.build().unwrap()
    }

    /// Part of a plan has been executed, some processors are busy or gone, tasks held back.
    fn state(&self, problem: &Problem<'_>, progress: f64) -> State {
        let mut rng = stream(self.seed, "state", 0);
        let plan = (registry::find("hcpa").unwrap().plan)(problem, &Request::default()).unwrap();
        let now = plan.makespan() * progress;
        let begun = |t: TaskId| plan.placement(t).filter(|p| p.start < now).cloned();
        let late = |rng: &mut Stream| match rng.random_range(0..6) {
            0 => now + f64::from(rng.random_range(0..50u32)),
            _ => 0.0,
        };
        let mut available: Vec<f64> = problem.proc_ids().map(|_| late(&mut rng)).collect();
        for gone in &mut available {
            if rng.random_range(0..8) == 0 {
                *gone = f64::INFINITY;
            }
        }
        State {
            now,
            fixed: problem.workflow().tasks().map(begun).collect(),
            available,
            release: problem.workflow().tasks().map(|_| late(&mut rng)).collect(),
            ..State::default()
        }
    }
}

fn check_all(problem: &Problem<'_>) -> Result<(), TestCaseError> {
    let moldable = registry::ALL.iter().filter(|a| a.family == Family::Moldable);
    for algorithm in moldable {
        for packing in ["no", "yes"] {
            let name = algorithm.name;
            let given = ["packing", "backfill"].map(|p| (p.to_string(), packing.to_string()));
            let request = Request { given: given.to_vec(), ..Request::default() };
            match (algorithm.plan)(problem, &request) {
                Ok(schedule) => {
                    let broken = validate(problem, &schedule, &Limits::default());
                    prop_assert!(broken.is_empty(), "{name}: {broken:?}");
                    let again = (algorithm.plan)(problem, &request);
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
    (registry::find(name).unwrap().plan)(problem, &request).unwrap()
}

fn work(schedule: &Schedule) -> f64 {
    match schedule.details.iter().find(|d| d.0 == "work").unwrap().1 {
        Detail::Number(work) => work,
        _ => panic!("no work"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

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
        let kind = Kind { clusters: 1, ..kind };
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
        let kind = Kind { clusters: 1, wide: false, ..kind };
        let (workflow, platform) = (kind.workflow(), kind.platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        for name in ["scrap", "scrap-max"] {
            let schedule = plan(&problem, name, &[("beta", &beta.to_string())]);
            let path = match schedule.details.iter().find(|d| d.0 == "critical_path").unwrap().1 {
                Detail::Number(path) => path,
                _ => panic!("no path"),
            };
            let used = work(&schedule) / path / problem.procs() as f64;
            let narrow = schedule.placements.iter().flatten().all(|p| p.procs().len() == 1);
            prop_assert!(path == 0.0 || narrow || approx::le(used, beta), "{name}: {used}");
        }
    }
}
