//! Data brought to, written and kept in a cluster never exceed its storage, under any policy.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use slackline_engine::{Ending, Recording, RunSnapshot, Stage};
use slackline_model::platform::{
    DeclaredRoute, HostSpec, LinkSpec, Member, PlatformBuilder, RoutingKind,
};
use slackline_model::{HostId, Platform, Task, Workflow, WorkflowBuilder};
use slackline_react::registry::{self, Options};
use slackline_react::{Situation, TaskState};
use slackline_simulate::{Models, NetworkModel};
use std::sync::Arc;

/// Independent tasks: which of four files each reads, bytes of the files, and what each cluster holds
/// in addition to the largest task, in bytes.
#[derive(Clone, Debug)]
struct Case {
    reads: Vec<Vec<usize>>,
    bytes: Vec<u32>,
    spare: [u32; 2],
}

/// Bytes of an output.
const OUTPUT: f64 = 10.0;

fn cases() -> impl Strategy<Value = Case> {
    let reads = prop::collection::vec(prop::collection::btree_set(0..4usize, 1..3), 1..14);
    let bytes = prop::collection::vec(20..120u32, 4);
    (reads, bytes, [0..150u32, 0..150u32]).prop_map(|(reads, bytes, spare)| Case {
        reads: reads.into_iter().map(|r| r.into_iter().collect()).collect(),
        bytes,
        spare,
    })
}

fn workflow(case: &Case) -> Workflow {
    let mut b = WorkflowBuilder::new("sweep");
    let files: Vec<_> =
        (0..4).map(|i| b.add_file(&format!("f{i}"), f64::from(case.bytes[i])).unwrap()).collect();
    for (index, reads) in case.reads.iter().enumerate() {
        let task = b.add_task(Task::new(format!("t{index}"), 20.0)).unwrap();
        for &file in reads {
            b.reads(task, files[file]);
        }
        let output = b.add_file(&format!("o{index}"), OUTPUT).unwrap();
        b.writes(task, output).unwrap();
    }
    b.build().unwrap()
}

/// The most that a task of the case needs at once.
fn largest(case: &Case) -> f64 {
    let needs = |reads: &Vec<usize>| reads.iter().map(|&f| f64::from(case.bytes[f])).sum::<f64>();
    case.reads.iter().map(needs).fold(0.0, f64::max) + OUTPUT
}

/// Two clusters of two hosts, each behind a link to the origin.
fn platform(case: &Case) -> Platform {
    let mut b = PlatformBuilder::new("grid");
    let root = b.add_zone(None, "grid", RoutingKind::Floyd).unwrap();
    let origin = b.add_host(root, HostSpec { cores: 0, ..HostSpec::new("origin", 1.0) }).unwrap();
    b.set_origin(origin);
    b.set_fifo();
    for (index, &spare) in case.spare.iter().enumerate() {
        let zone = b.add_zone(Some(root), format!("c{index}"), RoutingKind::Star).unwrap();
        b.bound_storage(zone, largest(case) + f64::from(spare));
        let gateway = Member::Router(b.add_router(zone, format!("gw{index}")).unwrap());
        for host in 0..2 {
            b.add_host(zone, HostSpec::new(format!("h{index}.{host}"), 1.0)).unwrap();
        }
        let link = b.add_link(LinkSpec::new(format!("l{index}"), 10.0, 0.0)).unwrap();
        let route = DeclaredRoute {
            src: Member::Host(origin),
            dst: Member::Zone(zone),
            gw_src: None,
            gw_dst: Some(gateway),
            links: [link][..].into(),
            symmetrical: true,
        };
        b.add_route(root, route).unwrap();
    }
    b.build().unwrap()
}

/// Bytes that lie at a place, come there or are being written there, each file once.
fn taken(now: &Situation, place: HostId) -> f64 {
    let workflow = &now.workflow;
    let at = |procs: &[slackline_model::ProcId]| now.holders_of(procs).is(place);
    let is_there = |f: &slackline_model::FileId| {
        let written = workflow.producer(*f).is_some_and(|task| match now.task(task) {
            TaskState::Running { procs, .. } => at(procs),
            _ => false,
        });
        written || now.copies[f.index()].iter().any(|c| c.holders.is(place))
    };
    workflow.files().filter(is_there).map(|f| workflow.file_bytes(f)).sum()
}

/// The first storage that overflows under a policy, and the ending of the run.
fn overflow(case: &Case, name: &str, set: &[(&str, &str)]) -> (Option<String>, Ending) {
    let (workflow, platform) = (Arc::new(workflow(case)), Arc::new(platform(case)));
    let planner = slackline_schedule::registry::find("heft").unwrap();
    let given = set.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let options = Options { given, ..Options::new(planner) };
    let mut policy = registry::find(name).unwrap().policy(&options).unwrap();
    let stage = Stage {
        models: Models { network: NetworkModel::Fifo, ..Models::default() },
        ..Stage::new(workflow, platform.clone())
    };
    let bounded: Vec<(HostId, f64)> =
        platform.host_ids().filter_map(|h| Some((h, platform.storage_of(h)?))).collect();
    let mut broken = None;
    let mut watch = |glance: &RunSnapshot<'_>| {
        let now = glance.situation;
        for &(host, capacity) in &bounded {
            let taken = taken(now, now.place_of(host));
            if taken > capacity + 1e-9 && broken.is_none() {
                broken = Some(format!("{taken} of {capacity} at {}", now.now));
            }
        }
    };
    let outcome = stage.run_as(policy.as_mut(), Recording::Nothing, Some(&mut watch)).unwrap();
    (broken, outcome.ending)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..slackline_testkit::cases(64) })]

    #[test]
    fn no_storage_holds_more_than_it_can(case in cases()) {
        for name in ["work-queue", "h1", "h4", "h9", "static", "just-in-time", "gtp", "slackline"] {
            prop_assert_eq!(overflow(&case, name, &[]).0, None, "{}", name);
        }
    }

    /// Every cluster holds the largest task: one after the other all can be done.
    #[test]
    fn sweeps_end_however_tight_the_storage_is(case in cases(), tight in any::<bool>(), way in 0usize..6) {
        let spare = if tight { [0, 0] } else { case.spare };
        let case = Case { spare, ..case };
        let set: &[(&str, &str)] = [
            &[][..],
            &[("link-order", "strict")],
            &[("link-order", "hybrid"), ("strategy", "s2")],
            &[("keep", "0"), ("quota", "1"), ("steal", "no")],
            &[("keep", "3"), ("interval", "5")],
            &[("subset", "shared"), ("interval", "7"), ("quota", "1")],
        ][way];
        for name in ["h1", "h2", "h3", "h4", "h8", "h9", "xs"] {
            prop_assert_eq!(overflow(&case, name, set), (None, Ending::Finished), "{}", name);
        }
    }
}
