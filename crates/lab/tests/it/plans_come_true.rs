//! Plans against the simulator: exact where transfers cannot meet, close where they do.

#![allow(clippy::unwrap_used)]

use crate::random;

use proptest::prelude::*;
use rand::RngExt;
use random::Clusters;
use slackline_analysis::plan_check::{Check, CheckSetup};
use slackline_formats::FileAccess;
use slackline_formats::{instance, read_platform, read_workflow};
use slackline_model::platform::{
    ClusterSharing, ClusterSpec, HostSpec, LinkShape, Matrix, PlatformBuilder,
};
use slackline_model::problem::Inputs;
use slackline_model::rng::stream;
use slackline_model::{Platform, Problem, SpeedUp, Task, Workflow, WorkflowBuilder};
use slackline_schedule::{Algorithm, Family, Need, Request, registry};
use slackline_simulate::Models;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Hosts with plain bandwidths between them, the first of which has the inputs.
fn joined_pairwise(seed: u64) -> Platform {
    let mut rng = stream(seed, "platform", 0);
    let mut b = PlatformBuilder::new("p");
    let root = b.root().unwrap();
    let user = b.add_host(root, HostSpec::new("user", 1.0)).unwrap();
    b.set_origin(user);
    for k in 0..3 {
        let (cores, speed) = (rng.random_range(1..3), f64::from(rng.random_range(1..4u32)));
        b.add_host(root, HostSpec { cores, ..HostSpec::new(format!("h{k}"), speed) }).unwrap();
    }
    b.set_matrix(Matrix::uniform(Some(f64::from(rng.random_range(1..5u32))), 0.5));
    b.build().unwrap()
}

/// Equal machines, between which nothing is shared.
fn equal_machines(seed: u64, matrix: bool) -> Platform {
    let mut rng = stream(seed, "platform", 0);
    let mut b = PlatformBuilder::new("p");
    let (hosts, cores) = (rng.random_range(2..7), rng.random_range(1..3));
    let bandwidth = f64::from(rng.random_range(1..5u32));
    if matrix {
        let root = b.root().unwrap();
        for k in 0..hosts {
            b.add_host(root, HostSpec { cores, ..HostSpec::new(format!("h{k}"), 1.0) }).unwrap();
        }
        b.set_matrix(Matrix::uniform(Some(bandwidth), 0.5));
    } else {
        let link = LinkShape { bandwidth, latency: 0.25 };
        let spec = ClusterSpec::flat("c", hosts, 1.0, link);
        let host = HostSpec { cores, ..spec.host.clone() };
        let sharing = ClusterSharing::Fatpipe;
        b.add_cluster(None, ClusterSpec { host, sharing, ..spec }).unwrap();
    }
    b.build().unwrap()
}

/// Moldable tasks over several hosts.
fn moldable(seed: u64, tasks: u32) -> Workflow {
    let mut rng = stream(seed, "workflow", 0);
    let mut b = WorkflowBuilder::new("w");
    for i in 0..tasks {
        let work = f64::from(rng.random_range(1..80u32)) / 4.0;
        let speedup = SpeedUp::Amdahl { serial: f64::from(rng.random_range(0..5u32)) / 10.0 };
        let task = Task { speedup, spread: true, ..Task::new(format!("t{i}"), work) };
        b.add_task(Task { max_width: u32::MAX, ..task }).unwrap();
    }
    let order: Vec<u32> = (0..tasks).collect();
    random::edges(&mut b, &mut rng, &order, 30, |rng| Some(f64::from(rng.random_range(1..40u32))));
    b.build().unwrap()
}

proptest! {
    #![proptest_config(slackline_testkit::cases(40))]

    /// Every plan comes true, inputs from the origin included, if transfers cannot meet.
    #[test]
    fn without_contention_plans_come_true(
        seed in any::<u64>(),
        tasks in 1u32..12,
        model in 0usize..4,
    ) {
        let name = ["LV08", "CM02", "SMPI", "matrix"][model];
        let clusters = Clusters { shared: None, free_of_contention: true };
        let platform = Arc::new(match name {
            "matrix" => joined_pairwise(seed),
            _ => random::user_and_clusters(seed, clusters),
        });
        let workflow = Arc::new(random::with_inputs(seed, tasks, 1));
        let models = Models::preset(name).unwrap();
        let inputs = Inputs::of(&platform);
        let problem =
            Problem::charged(&workflow, &platform, &models.charges(), inputs).unwrap();
        let ground =
            CheckSetup { workflow: workflow.clone(), platform: platform.clone(), models, inputs, until: f64::INFINITY };
        let settings = Request { iterations: Some(40), ..Request::seeded(7) };
        for algorithm in registry::ALL.iter().filter(|a| a.needs.is_empty()) {
            let plan = algorithm.plan(&problem, &settings).unwrap();
            let (planned, run) = (plan.makespan(), ground.follow(&plan).unwrap());
            let near = (planned - run).abs() <= 1e-9 * planned.max(1.0);
            prop_assert!(near, "{} under {name}: planned {planned}, run {run}", algorithm.name);
        }
    }

    /// The same for tasks over several hosts: plan and run redistribute the same blocks.
    #[test]
    fn without_contention_wide_plans_come_true(
        seed in any::<u64>(),
        tasks in 1u32..12,
        matrix in any::<bool>(),
    ) {
        let platform = Arc::new(equal_machines(seed, matrix));
        let workflow = Arc::new(moldable(seed, tasks));
        let models = Models::parallel_tasks();
        let inputs = Inputs::of(&platform);
        let problem =
            Problem::charged(&workflow, &platform, &models.charges(), inputs).unwrap();
        let ground =
            CheckSetup { workflow: workflow.clone(), platform: platform.clone(), models, inputs, until: f64::INFINITY };
        let one_graph = |a: &&Algorithm| !a.needs.contains(&Need::Several);
        let all = registry::ALL.iter().filter(|a| a.family == Family::Moldable);
        for algorithm in all.filter(one_graph) {
            let plan = algorithm.plan(&problem, &Request::default()).unwrap();
            let (planned, run) = (plan.makespan(), ground.follow(&plan).unwrap());
            let near = (planned - run).abs() <= 1e-9 * planned.max(1.0);
            prop_assert!(near, "{}: planned {planned}, run {run}", algorithm.name);
        }
    }
}

fn examples(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(kind);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn check(workflow: Workflow, platform: Platform) -> Check {
    let (workflow, platform) = (Arc::new(workflow), Arc::new(platform));
    let models = Models::default();
    let inputs = Inputs::of(&platform);
    let problem = Problem::charged(&workflow, &platform, &models.charges(), inputs).unwrap();
    let heft = registry::find("heft").unwrap();
    let plan = heft.plan(&problem, &Request::default()).unwrap();
    let ground = CheckSetup {
        workflow: workflow.clone(),
        platform: platform.clone(),
        models,
        inputs,
        until: f64::INFINITY,
    };
    ground.check(&problem, &plan, None).unwrap()
}

/// Every bundled workflow on every bundled platform: nine in ten of the plans come true within a
/// fifth, none promises less than half of its run, and the parts of the difference are all of it.
#[test]
fn bundled_plans_come_true() {
    let mut found: Vec<(String, Check)> = Vec::new();
    for file in examples("workflows") {
        let name = file.file_name().unwrap().to_string_lossy().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        if let Ok(own) = instance::read(&text) {
            found.push((name, check(own.workflow, own.platform)));
            continue;
        }
        for on in examples("platforms") {
            let workflow = read_workflow(&FileAccess::default(), &file, None).unwrap().workflow;
            if workflow.control().is_some() {
                continue; // it has no plan as a whole
            }
            let platform = read_platform(&FileAccess::default(), &on, None).unwrap();
            // Some demand devices or resources that only some platforms have.
            let can_run = Problem::new(&workflow, &platform).is_ok_and(|problem| {
                registry::find("heft").unwrap().plan(&problem, &Request::default()).is_ok()
            });
            if !can_run {
                continue;
            }
            let pair = format!("{name} on {}", on.file_name().unwrap().to_string_lossy());
            found.push((pair, check(workflow, platform)));
        }
    }
    let told = found
        .iter()
        .map(|(pair, c)| format!("{pair}: {:.4} planned, {:.4} run\n", c.planned, c.simulated))
        .collect::<String>();
    assert!(found.len() >= 15, "{told}");
    let near = |c: &Check| (c.simulated / c.planned - 1.0).abs() < 0.2;
    let close = found.iter().filter(|(_, c)| near(c)).count();
    assert!(close * 10 >= found.len() * 9, "{close} of {} are close:\n{told}", found.len());
    for (pair, c) in &found {
        assert!(c.simulated < 2.0 * c.planned, "{pair}: {c:?}");
        let parts = c.sharing + c.staging + c.levels;
        let whole = c.simulated - c.planned;
        assert!((parts - whole).abs() <= 1e-9 * c.simulated, "{pair}: {c:?}");
    }
}
