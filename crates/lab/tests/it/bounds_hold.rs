//! Lower bounds against the simulator: no run of any plan or policy ends before them, however the
//! files of an edge travel.

#![allow(clippy::unwrap_used)]

use crate::random;

use proptest::prelude::*;
use rand::RngExt;
use random::Clusters;
use slackline_analysis::plan_check::{self, CheckSetup};
use slackline_engine::{Ending, Recording, Stage};
use slackline_model::platform::{
    ClusterSharing, ClusterSpec, DeclaredRoute, HostSpec, LinkShape, LinkSpec, Matrix,
    PlatformBuilder, RoutingKind, Sharing,
};
use slackline_model::problem::Inputs;
use slackline_model::rng::{Stream, stream};
use slackline_model::schedule::Limits;
use slackline_model::{HostId, Platform, Problem, Task, Terms, Workflow, WorkflowBuilder, ZoneId};
use slackline_react::registry::{self as policies, Options};
use slackline_schedule::{PlanError, Request, bounds, registry};
use slackline_simulate::Models;
use std::sync::Arc;

/// Tasks that hand several files to each other, and read some inputs.
fn several_files(seed: u64, tasks: u32, (flop, byte): (f64, f64)) -> Workflow {
    let mut rng = stream(seed, "workflow", 0);
    let mut b = WorkflowBuilder::new("w");
    let inputs: Vec<_> = (0..rng.random_range(0..4u32))
        .map(|k| b.add_file(&format!("in{k}"), size(&mut rng) * byte).unwrap())
        .collect();
    // Methods for parameter sweeps take only tasks that do not depend on each other.
    let independent = rng.random_range(0..5) == 0;
    let mut written = Vec::new();
    for i in 0..tasks {
        let work = f64::from(rng.random_range(0..20u32)) * flop;
        let task = b.add_task(Task::new(format!("t{i}"), work)).unwrap();
        for &input in &inputs {
            if rng.random_range(0..4) == 0 {
                b.reads(task, input);
            }
        }
        for &(from, file) in written.iter().filter(|_| !independent) {
            if rng.random_range(0..3) == 0 {
                b.reads(task, file);
            } else if rng.random_range(0..20) == 0 {
                b.add_control(from, task).unwrap();
            }
        }
        for k in 0..rng.random_range(1..5u32) {
            let file = b.add_file(&format!("f{i}-{k}"), size(&mut rng) * byte).unwrap();
            b.writes(task, file).unwrap();
            written.push((task, file));
        }
    }
    b.build().unwrap()
}

/// Nothing up to 200 MB.
fn size(rng: &mut Stream) -> f64 {
    match rng.random_range(0..6) {
        0 => 0.0,
        1 => f64::from(rng.random_range(1..100_000u32)),
        _ => f64::from(rng.random_range(1..200u32)) * 1e6,
    }
}

/// Machines of two kinds, the first of which may be the origin of the inputs.
fn hosts(b: &mut PlatformBuilder, zone: ZoneId, rng: &mut Stream) -> Vec<HostId> {
    (0..rng.random_range(2..6u32))
        .map(|k| {
            let (cores, speed) = (rng.random_range(1..3), f64::from(rng.random_range(1..4u32)));
            let spec =
                HostSpec { cores, price: speed, ..HostSpec::new(format!("h{k}"), speed * 1e9) };
            b.add_host(zone, spec).unwrap()
        })
        .collect()
}

const KINDS: [&str; 6] = ["matrix", "fatpipe", "long", "shared", "routes", "clusters"];

fn platform(kind: &str, seed: u64) -> Platform {
    let mut rng = stream(seed, "network", 0);
    let mut b = PlatformBuilder::new(kind);
    let bandwidth = |rng: &mut Stream| f64::from(rng.random_range(1..40u32)) * 5e6;
    let origin = rng.random::<bool>();
    match kind {
        "clusters" => {
            let clusters = Clusters { shared: None, free_of_contention: false };
            return random::user_and_clusters(seed, clusters);
        }
        "matrix" => {
            let root = b.root().unwrap();
            let hosts = hosts(&mut b, root, &mut rng);
            let n = hosts.len();
            let matrix = if rng.random() {
                Matrix::uniform(Some(bandwidth(&mut rng)), 0.01)
            } else {
                Matrix::Dense {
                    hosts: n,
                    bandwidth: (0..n * n).map(|_| bandwidth(&mut rng)).collect(),
                    latency: (0..n * n)
                        .map(|_| f64::from(rng.random_range(0..200u32)) / 1e2)
                        .collect(),
                }
            };
            b.set_matrix(matrix);
            if origin {
                b.set_origin(hosts[0]);
            }
        }
        "routes" => {
            let zone = b.add_zone(None, "all", RoutingKind::Full).unwrap();
            let hosts = hosts(&mut b, zone, &mut rng);
            let links: Vec<_> = (0..5)
                .map(|k| {
                    let latency = f64::from(rng.random_range(0..100u32)) / 1e3;
                    let sharing = if rng.random() { Sharing::Shared } else { Sharing::Fatpipe };
                    let link = LinkSpec::new(format!("l{k}"), bandwidth(&mut rng), latency);
                    b.add_link(LinkSpec { sharing, ..link }).unwrap()
                })
                .collect();
            for (i, &from) in hosts.iter().enumerate() {
                for &to in &hosts[i + 1..] {
                    let way: Vec<_> = (0..rng.random_range(1..4usize))
                        .map(|_| links[rng.random_range(0..links.len())])
                        .collect();
                    b.add_route(zone, DeclaredRoute::between(from, to, way)).unwrap();
                }
            }
            if origin {
                b.set_origin(hosts[0]);
            }
        }
        _ => {
            let latency = if kind == "long" { 0.05 } else { 1e-3 };
            let link = LinkShape { bandwidth: bandwidth(&mut rng), latency };
            let count = rng.random_range(2..6);
            let spec = ClusterSpec::flat("c", count, 1e9, link);
            let sharing = match kind {
                "fatpipe" => ClusterSharing::Fatpipe,
                _ => spec.sharing,
            };
            let backbone = (rng.random::<bool>())
                .then(|| (LinkShape { bandwidth: bandwidth(&mut rng), latency }, Sharing::Shared));
            let host = HostSpec { cores: rng.random_range(1..3), ..spec.host.clone() };
            b.add_cluster(None, ClusterSpec { host, sharing, backbone, ..spec }).unwrap();
        }
    }
    b.build().unwrap()
}

/// Fails with the method that ends before the bound, if any does.
fn beats_the_bound(seed: u64, tasks: u32, kind: &str, model: &str) -> Result<(), String> {
    let platform = Arc::new(platform(kind, seed));
    let units = if kind == "clusters" { (1.0, 1e-7) } else { (1e9, 1.0) };
    let workflow = Arc::new(several_files(seed, tasks, units));
    let models = Models::preset(model).unwrap();
    let inputs = Inputs::of(&platform);
    let charges = models.charges();
    let problem = Problem::charged(&workflow, &platform, &charges, inputs).unwrap();
    let planned = bounds::lower_bound(&problem);
    let simulated = plan_check::lower_bound(&workflow, &platform, &charges, inputs, true).unwrap();
    // Limits that every method can keep, for methods that need some.
    let limits = Limits { budget: Some(1e12), deadline: Some(1e12) };
    let request = Request { iterations: Some(200), limits, ..Request::seeded(7) };
    let proven = registry::run(&slackline_schedule::exact::EXACT, &problem, &request, planned);
    let bound = proven.unwrap().lower_bound.max(simulated);
    let least = bound * (1.0 - 1e-9);
    let (until, models) = (f64::INFINITY, models);
    let ground = CheckSetup {
        workflow: workflow.clone(),
        platform: platform.clone(),
        models: models.clone(),
        inputs,
        until,
    };
    for algorithm in registry::every().filter(|a| a.lacks(&problem, &limits).is_none()) {
        let plan = match algorithm.plan(&problem, &request) {
            Ok(plan) => plan,
            Err(PlanError::Unsupported { .. }) => continue,
            Err(error) => return Err(format!("{}: {error}", algorithm.name)),
        };
        let follow = |plan| ground.follow(plan).map_err(|e| format!("{}: {e}", algorithm.name));
        let run = follow(&plan).inspect_err(|_| eprintln!("{:?}", plan.placements))?;
        if plan.makespan() < planned * (1.0 - 1e-9) || run < least {
            let plan = plan.makespan();
            return Err(format!(
                "{}: plan {plan}, run {run}, bounds {planned} {bound}",
                algorithm.name
            ));
        }
    }
    let heft = registry::find("heft").unwrap();
    let met = |e: &&policies::Entry| e.needs.iter().all(|need| need.is_met(&problem, &limits));
    for entry in policies::ALL.iter().filter(met) {
        let mut policy = entry.policy(&Options::new(heft)).unwrap();
        if let Err(PlanError::Unsupported { .. }) = policy.check(&problem) {
            continue;
        }
        let stage = Stage {
            models: models.clone(),
            inputs,
            terms: Terms { limits, ..Terms::default() },
            ..Stage::new(workflow.clone(), platform.clone())
        };
        let outcome = stage.run_as(&mut *policy, Recording::Nothing, None).unwrap();
        if outcome.ending != Ending::Finished || outcome.makespan < least {
            return Err(format!(
                "{}: {:?} at {}, bound {bound}",
                entry.name, outcome.ending, outcome.makespan
            ));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(slackline_testkit::cases(60))]

    #[test]
    fn nothing_ends_before_the_lower_bound(
        seed in any::<u64>(),
        tasks in 1u32..10,
        kind in 0..KINDS.len(),
        model in 0usize..4,
    ) {
        let (kind, model) = (KINDS[kind], ["LV08", "CM02", "SMPI", "fifo"][model]);
        let model = if kind == "matrix" { "LV08" } else { model };
        let found = beats_the_bound(seed, tasks, kind, model);
        prop_assert!(found.is_ok(), "{kind}, {model}: {}", found.unwrap_err());
    }
}
