//! Plans against the simulator: exact where transfers cannot meet, close where they do.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rand::RngExt;
use slackline_formats::{instance, read_platform, read_workflow};
use slackline_lab::check::{Check, Ground};
use slackline_model::platform::{
    ClusterSharing, ClusterSpec, DeclaredRoute, HostSpec, LinkShape, LinkSpec, Matrix, Member,
    PlatformBuilder, RoutingKind, Sharing,
};
use slackline_model::problem::Inputs;
use slackline_model::rng::stream;
use slackline_model::{Platform, Problem, Task, TaskId, Workflow, WorkflowBuilder};
use slackline_schedule::{Request, registry};
use slackline_simulate::Models;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The user's host and clusters whose links give every transfer their full bandwidth.
fn free_of_contention(seed: u64, matrix: bool) -> Platform {
    let mut rng = stream(seed, "platform", 0);
    let mut b = PlatformBuilder::new("p");
    let root = b.add_zone(None, "world", RoutingKind::Floyd).unwrap();
    let user = b.add_host(root, HostSpec::new("user", 1.0)).unwrap();
    b.set_origin(user);
    let host = |rng: &mut slackline_model::rng::Stream| HostSpec {
        cores: rng.random_range(1..3),
        ..HostSpec::new("h", f64::from(rng.random_range(1..4u32)))
    };
    if matrix {
        for k in 0..3 {
            let spec = host(&mut rng);
            b.add_host(root, HostSpec { name: format!("h{k}"), ..spec }).unwrap();
        }
        b.set_matrix(Matrix::uniform(Some(f64::from(rng.random_range(1..5u32))), 0.5));
        return b.build().unwrap();
    }
    for k in 0..2 {
        let link = LinkShape { bandwidth: f64::from(rng.random_range(1..6u32)), latency: 0.25 };
        let spec = ClusterSpec {
            host: host(&mut rng),
            sharing: ClusterSharing::Fatpipe,
            router: Some(format!("r{k}")),
            ..ClusterSpec::flat(format!("c{k}"), rng.random_range(1..4), 1.0, link)
        };
        let zone = b.add_cluster(Some(root), spec).unwrap();
        if rng.random() {
            b.share_storage(zone);
        }
        let wire = LinkSpec::new(format!("w{k}"), f64::from(rng.random_range(1..4u32)), 0.5);
        let wire = b.add_link(LinkSpec { sharing: Sharing::Fatpipe, ..wire }).unwrap();
        let gateway = b.member(&format!("r{k}")).unwrap();
        let route = DeclaredRoute {
            src: Member::Host(user),
            dst: Member::Zone(zone),
            gw_src: None,
            gw_dst: Some(gateway),
            links: [wire].into(),
            symmetrical: true,
        };
        b.add_route(root, route).unwrap();
    }
    b.build().unwrap()
}

fn workflow(seed: u64, tasks: u32) -> Workflow {
    let mut rng = stream(seed, "workflow", 0);
    let mut b = WorkflowBuilder::new("w");
    for i in 0..tasks {
        let work = f64::from(rng.random_range(1..40u32)) / 4.0;
        b.add_task(Task::new(format!("t{i}"), work)).unwrap();
    }
    for k in 0..rng.random_range(1..5u32) {
        let file = b.add_file(&format!("in{k}"), f64::from(rng.random_range(0..60u32))).unwrap();
        for i in 0..tasks {
            if rng.random_range(0..3) == 0 {
                b.reads(TaskId(i), file);
            }
        }
    }
    for i in 0..tasks {
        for j in i + 1..tasks {
            if rng.random_range(0..5) == 0 {
                // One in five is pure control; data of no size still has to be sent.
                match rng.random_range(0..5) {
                    0 => b.add_control(TaskId(i), TaskId(j)).unwrap(),
                    _ => {
                        let bytes = f64::from(rng.random_range(0..20u32));
                        b.add_edge(TaskId(i), TaskId(j), bytes).unwrap();
                    }
                }
            }
        }
    }
    b.build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Where transfers cannot meet, every plan comes true, inputs from the origin included.
    #[test]
    fn without_contention_plans_come_true(
        seed in any::<u64>(),
        tasks in 1u32..12,
        model in 0usize..4,
    ) {
        let name = ["LV08", "CM02", "SMPI", "matrix"][model];
        let platform = Arc::new(free_of_contention(seed, name == "matrix"));
        let workflow = Arc::new(workflow(seed, tasks));
        let models = Models::preset(name).unwrap();
        let inputs = Inputs::of(&platform);
        let problem =
            Problem::charged(&workflow, &platform, &models.charges(), inputs).unwrap();
        let ground =
            Ground { workflow: workflow.clone(), platform: platform.clone(), models, inputs };
        let settings = Request { iterations: Some(40), ..Request::seeded(7) };
        for algorithm in registry::ALL.iter().filter(|a| a.needs.is_empty()) {
            let plan = (algorithm.plan)(&problem, &settings).unwrap();
            let (planned, run) = (plan.makespan(), ground.follow(&plan).unwrap());
            let near = (planned - run).abs() <= 1e-9 * planned.max(1.0);
            prop_assert!(near, "{} under {name}: planned {planned}, run {run}", algorithm.name);
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
    let plan = (heft.plan)(&problem, &Request::default()).unwrap();
    let ground = Ground { workflow: workflow.clone(), platform: platform.clone(), models, inputs };
    ground.check(&problem, &plan).unwrap()
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
            let workflow = read_workflow(&file, None).unwrap().workflow;
            let platform = read_platform(&on, None).unwrap();
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
