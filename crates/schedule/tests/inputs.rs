//! Inputs on the origin, shared storage and charged networks: every planner's plan is valid, no
//! bound lies above it, and files go to a place once.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rand::RngExt;
use slackline_model::platform::{
    Band, Charges, ClusterSpec, HostSpec, LinkShape, LinkSpec, PlatformBuilder, RoutingKind,
    Sharing,
};
use slackline_model::platform::{DeclaredRoute, Member};
use slackline_model::problem::Inputs;
use slackline_model::rng::stream;
use slackline_model::schedule::{Limits, validate};
use slackline_model::{Platform, Problem, Task, TaskId, Workflow, WorkflowBuilder};
use slackline_schedule::{Request, bounds, registry, retime};
use std::collections::HashSet;

/// The user's host and two clusters, each behind a link; `shared` clusters share their storage.
fn platform(seed: u64, shared: [bool; 2]) -> Platform {
    let mut rng = stream(seed, "platform", 0);
    let mut b = PlatformBuilder::new("p");
    let root = b.add_zone(None, "world", RoutingKind::Floyd).unwrap();
    let user = b.add_host(root, HostSpec::new("user", 1.0)).unwrap();
    b.set_origin(user);
    for (k, shares) in shared.into_iter().enumerate() {
        let link = LinkShape { bandwidth: f64::from(rng.random_range(1..6u32)), latency: 0.25 };
        let spec = ClusterSpec::flat(format!("c{k}"), rng.random_range(1..4), 1.0, link);
        let speed = f64::from(rng.random_range(1..4u32));
        let router = Some(format!("r{k}"));
        let host = HostSpec { speed, ..spec.host.clone() };
        let zone = b.add_cluster(Some(root), ClusterSpec { host, router, ..spec }).unwrap();
        if shares {
            b.share_storage(zone);
        }
        let bandwidth = f64::from(rng.random_range(1..4u32));
        let sharing = if rng.random() { Sharing::Shared } else { Sharing::Fatpipe };
        let wire = LinkSpec { sharing, ..LinkSpec::new(format!("w{k}"), bandwidth, 0.5) };
        let wire = b.add_link(wire).unwrap();
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
        let work = f64::from(rng.random_range(0..40u32)) / 4.0;
        b.add_task(Task::new(format!("t{i}"), work)).unwrap();
    }
    for k in 0..rng.random_range(1..5u32) {
        let bytes = f64::from(rng.random_range(0..30u32)) / 2.0;
        let file = b.add_file(&format!("in{k}"), bytes).unwrap();
        for i in 0..tasks {
            if rng.random_range(0..3) == 0 {
                b.reads(TaskId(i), file);
            }
        }
    }
    for i in 0..tasks {
        for j in i + 1..tasks {
            if rng.random_range(0..5) == 0 {
                let bytes = f64::from(rng.random_range(0..20u32));
                match rng.random_range(0..5) {
                    0 => b.add_control(TaskId(i), TaskId(j)).unwrap(),
                    _ => b.add_edge(TaskId(i), TaskId(j), bytes).unwrap(),
                }
            }
        }
    }
    b.build().unwrap()
}

/// Factors by size, a window and acknowledgements.
fn charges(kind: u8) -> Charges {
    let band = |above, latency, bandwidth| Band { above, latency, bandwidth };
    match kind {
        0 => Charges::default(),
        1 => Charges {
            bands: vec![band(f64::NEG_INFINITY, 13.01, 0.97)],
            link_factor: 0.97,
            window: 4.0,
            window_scaled: true,
            acknowledgements: 0.05,
            contention: true,
        },
        _ => Charges {
            bands: vec![
                band(f64::NEG_INFINITY, 1.0, 1.0),
                band(4.0, 3.0, 0.8),
                band(9.0, 5.0, 0.9),
            ],
            ..Charges::default()
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn plans_with_inputs_are_valid_and_above_the_bound(
        seed in any::<u64>(),
        tasks in 1u32..12,
        shared in any::<[bool; 2]>(),
        kind in 0u8..3,
    ) {
        let (workflow, platform) = (workflow(seed, tasks), platform(seed, shared));
        let inputs = Inputs::of(&platform);
        let problem = Problem::charged(&workflow, &platform, &charges(kind), inputs).unwrap();
        let bound = bounds::lower_bound(&problem);
        let request = Request { iterations: Some(40), ..Request::seeded(7) };
        for algorithm in registry::ALL.iter().filter(|a| a.needs.is_empty()) {
            let name = algorithm.name;
            let plan = (algorithm.plan)(&problem, &request).unwrap();
            let broken = validate(&problem, &plan, &Limits::default());
            prop_assert!(broken.is_empty(), "{name}: {broken:?}");
            let makespan = plan.makespan();
            prop_assert!(bound <= makespan * (1.0 + 1e-9), "{name}: {makespan} under {bound}");
            let mut sent = HashSet::new();
            for t in &plan.transfers {
                prop_assert!(sent.insert((t.file, platform.place_of(t.to))), "{name} sends twice");
            }
            // The same order on the same processors is never later than planned.
            let again = retime::retimed(&problem, &plan);
            prop_assert!(again.makespan() <= makespan * (1.0 + 1e-9), "{name}");
            prop_assert!(validate(&problem, &again, &Limits::default()).is_empty(), "{name}");
        }
    }
}
