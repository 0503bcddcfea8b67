//! Parts of random problems that several property tests draw.

#![allow(dead_code)] // each user takes a part
#![allow(clippy::unwrap_used)] // a panic is how a test fails

use rand::RngExt;
use slackline_model::platform::{
    ClusterSharing, ClusterSpec, DeclaredRoute, HostSpec, LinkShape, LinkSpec, Member,
    PlatformBuilder, RoutingKind, Sharing,
};
use slackline_model::problem::State;
use slackline_model::rng::{Stream, stream};
use slackline_model::{Platform, Problem, Schedule, Task, TaskId, Workflow, WorkflowBuilder};

/// Edges between tasks, from each to some that come after it in `order`: so many of a hundred
/// possible ones. Without bytes they are pure control.
pub(crate) fn edges(
    b: &mut WorkflowBuilder,
    rng: &mut Stream,
    order: &[u32],
    percent: u32,
    mut bytes: impl FnMut(&mut Stream) -> Option<f64>,
) {
    for (i, &from) in order.iter().enumerate() {
        for &to in &order[i + 1..] {
            if rng.random_range(0..100) < percent {
                match bytes(rng) {
                    Some(bytes) => b.add_edge(TaskId(from), TaskId(to), bytes).unwrap(),
                    None => b.add_control(TaskId(from), TaskId(to)).unwrap(),
                }
            }
        }
    }
}

/// Tasks of up to ten seconds, and at least so many quarters of one, that read files of their own and
/// of each other. One dependency in five is pure control; data of no size still has to be sent.
pub(crate) fn with_inputs(seed: u64, tasks: u32, least: u32) -> Workflow {
    let mut rng = stream(seed, "workflow", 0);
    let mut b = WorkflowBuilder::new("w");
    for i in 0..tasks {
        let work = f64::from(rng.random_range(least..40u32)) / 4.0;
        b.add_task(Task::new(format!("t{i}"), work)).unwrap();
    }
    for k in 0..rng.random_range(1..5u32) {
        let file = b.add_file(&format!("in{k}"), f64::from(rng.random_range(0..60u32)) / 2.0);
        let file = file.unwrap();
        for i in 0..tasks {
            if rng.random_range(0..3) == 0 {
                b.reads(TaskId(i), file);
            }
        }
    }
    let order: Vec<u32> = (0..tasks).collect();
    edges(&mut b, &mut rng, &order, 20, |rng| {
        let bytes = f64::from(rng.random_range(0..20u32));
        (rng.random_range(0..5) > 0).then_some(bytes)
    });
    b.build().unwrap()
}

/// Parameters of the clusters beside the user's host.
#[derive(Clone, Copy)]
pub(crate) struct Clusters {
    /// Whether each shares its storage; random if none.
    pub(crate) shared: Option<[bool; 2]>,
    /// Links that every transfer has to itself; else some of them.
    pub(crate) free_of_contention: bool,
}

/// The user's host, which has the inputs, and two clusters, each behind a link.
pub(crate) fn user_and_clusters(seed: u64, kind: Clusters) -> Platform {
    let mut rng = stream(seed, "platform", 0);
    let mut b = PlatformBuilder::new("p");
    let root = b.add_zone(None, "world", RoutingKind::Floyd).unwrap();
    let user = b.add_host(root, HostSpec::new("user", 1.0)).unwrap();
    b.set_origin(user);
    for k in 0..2 {
        let link = LinkShape { bandwidth: f64::from(rng.random_range(1..6u32)), latency: 0.25 };
        let spec = ClusterSpec::flat(format!("c{k}"), rng.random_range(1..4), 1.0, link);
        let speed = f64::from(rng.random_range(1..4u32));
        let cores = if kind.free_of_contention { rng.random_range(1..3) } else { 1 };
        let spec = ClusterSpec {
            host: HostSpec { speed, cores, ..spec.host.clone() },
            router: Some(format!("r{k}")),
            sharing: match kind.free_of_contention {
                true => ClusterSharing::Fatpipe,
                false => spec.sharing,
            },
            ..spec
        };
        let zone = b.add_cluster(Some(root), spec).unwrap();
        if kind.shared.map_or_else(|| rng.random(), |shared| shared[k]) {
            b.share_storage(zone);
        }
        let free = kind.free_of_contention || rng.random();
        let sharing = if free { Sharing::Fatpipe } else { Sharing::Shared };
        let wire = LinkSpec::new(format!("w{k}"), f64::from(rng.random_range(1..4u32)), 0.5);
        let wire = b.add_link(LinkSpec { sharing, ..wire }).unwrap();
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

/// Part of a plan has been executed; some processors are busy or gone, some tasks held back.
pub(crate) fn partly_executed(
    problem: &Problem<'_>,
    plan: &Schedule,
    progress: f64,
    rng: &mut Stream,
) -> State {
    let now = plan.makespan() * progress;
    let begun = |t: TaskId| plan.placement(t).filter(|p| p.start < now).cloned();
    let late = |rng: &mut Stream| match rng.random_range(0..6) {
        0 => now + f64::from(rng.random_range(0..50u32)),
        _ => 0.0,
    };
    let mut available: Vec<f64> = problem.proc_ids().map(|_| late(rng)).collect();
    for gone in &mut available {
        if rng.random_range(0..8) == 0 {
            *gone = f64::INFINITY;
        }
    }
    let workflow = problem.workflow();
    State {
        now,
        fixed: workflow.tasks().map(begun).collect(),
        available,
        release: workflow.tasks().map(|_| late(rng)).collect(),
        ..State::default()
    }
}
