//! Parameter sweeps on random grids that come and go: whatever the policy, every task ends, every
//! output arrives, links serve one transfer at a time, and plans come true in a still world.
#![allow(clippy::unwrap_used)] // a panic is how a test fails

use crate::common;

use common::cases;
use proptest::prelude::*;
use slackline_engine::{Ending, Logged, Outcome, Repeat, Stage};
use slackline_model::platform::{
    DeclaredRoute, HostSpec, LinkSpec, Member, Platform, PlatformBuilder, RoutingKind,
};
use slackline_model::scenario::{HostStory, Moment, Outage, Scenario};
use slackline_model::schedule::{Limits, validate};
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, Problem, Task, Workflow, WorkflowBuilder};
use slackline_react::Policy;
use slackline_react::registry::{self as policies, Options};
use slackline_schedule::{Request, registry as planners};
use slackline_simulate::{Models, NetworkModel};
use std::collections::HashMap;
use std::sync::Arc;

/// A random grid and application.
#[derive(Clone, Debug)]
struct Sweep {
    /// Bandwidth, latency, speeds of hosts.
    clusters: Vec<(f64, f64, Vec<f64>)>,
    shared: Vec<f64>,
    /// Seconds, shared files read, private input, output.
    tasks: Vec<(f64, Vec<usize>, f64, f64)>,
    /// Cluster, from when, how long.
    absences: Vec<(usize, f64, f64)>,
}

fn amount(most: u32) -> impl Strategy<Value = f64> {
    (1..most).prop_map(f64::from)
}

prop_compose! {
    fn sweeps()(
        clusters in prop::collection::vec(
            (amount(20), prop_oneof![Just(0.0), amount(3)], prop::collection::vec(amount(4), 1..4)),
            1..4,
        ),
        shared in prop::collection::vec(amount(200), 1..4),
        tasks in prop::collection::vec(
            (amount(40), prop::collection::vec(0usize..4, 0..3), amount(30), amount(30)),
            1..14,
        ),
        absences in prop::collection::vec((0usize..4, amount(120), amount(40)), 0..4),
    ) -> Sweep {
        Sweep { clusters, shared, tasks, absences }
    }
}

impl Sweep {
    fn platform(&self) -> Platform {
        let mut b = PlatformBuilder::new("grid");
        b.set_fifo();
        let root = b.add_zone(None, "grid", RoutingKind::Floyd).unwrap();
        let origin = b.add_host(root, HostSpec { cores: 0, ..HostSpec::new("origin", 1.0) });
        let origin = origin.unwrap();
        b.set_origin(origin);
        for (c, (bandwidth, latency, speeds)) in self.clusters.iter().enumerate() {
            let zone = b.add_zone(Some(root), format!("c{c}"), RoutingKind::Star).unwrap();
            b.share_storage(zone);
            let gateway = Member::Router(b.add_router(zone, format!("g{c}")).unwrap());
            for (h, &speed) in speeds.iter().enumerate() {
                b.add_host(zone, HostSpec::new(format!("h{c}.{h}"), speed)).unwrap();
            }
            let link = b.add_link(LinkSpec::new(format!("l{c}"), *bandwidth, *latency)).unwrap();
            let route = DeclaredRoute {
                src: Member::Host(origin),
                dst: Member::Zone(zone),
                gw_src: None,
                gw_dst: Some(gateway),
                links: [link].into(),
                symmetrical: true,
            };
            b.add_route(root, route).unwrap();
        }
        b.build().unwrap()
    }

    fn workflow(&self) -> Workflow {
        let mut b = WorkflowBuilder::new("w");
        let shared: Vec<FileId> = (0..self.shared.len())
            .map(|s| b.add_file(&format!("s{s}"), self.shared[s]).unwrap())
            .collect();
        for (t, (seconds, reads, input, output)) in self.tasks.iter().enumerate() {
            let task = b.add_task(Task::new(format!("t{t}"), *seconds)).unwrap();
            for &read in reads {
                b.reads(task, shared[read % shared.len()]);
            }
            let own = b.add_file(&format!("p{t}"), *input).unwrap();
            b.reads(task, own);
            let result = b.add_file(&format!("o{t}"), *output).unwrap();
            b.writes(task, result).unwrap();
        }
        b.build().unwrap()
    }

    /// Whole clusters are away for a while; what they store stays.
    fn scenario(&self) -> Scenario {
        let mut scenario = Scenario::default();
        for (c, (_, _, speeds)) in self.clusters.iter().enumerate() {
            // One after the other.
            let (mut outages, mut free) = (Vec::new(), 0.0);
            for &(_, after, lasts) in self.absences.iter().filter(|a| a.0 == c) {
                let from = Moment::Seconds(free + after);
                outages.push(Outage { from, lasts: Some(lasts), keeps_data: true });
                free += after + lasts;
            }
            for h in 0..speeds.len() {
                let (host, outages) = (format!("h{c}.{h}"), outages.clone());
                scenario.hosts.push(HostStory { host, availability: None, outages });
            }
        }
        scenario
    }

    fn stage(&self, scenario: &Scenario) -> Stage {
        let models = Models { network: NetworkModel::Fifo, ..Models::default() };
        let (workflow, platform) = (Arc::new(self.workflow()), Arc::new(self.platform()));
        Stage { scenario: scenario.clone(), models, ..Stage::new(workflow, platform) }
    }
}

fn policy(name: &str, set: &[(&str, &str)]) -> Box<dyn Policy> {
    let given = set.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let options = Options { given, ..Options::new(planners::find("heft").unwrap()) };
    policies::find(name).unwrap().policy(&options).unwrap()
}

/// Follows a trace; gives how often each input reached each place.
fn follow(
    sweep: &Sweep,
    outcome: &Outcome,
) -> Result<HashMap<(FileId, HostId), usize>, TestCaseError> {
    let (workflow, platform) = (sweep.workflow(), sweep.platform());
    let origin = platform.origin().unwrap();
    prop_assert_eq!(&outcome.ending, &Ending::Finished);
    let mut ended = vec![0i32; workflow.len()];
    let mut arrived: HashMap<(FileId, HostId), usize> = HashMap::new();
    let mut busy: HashMap<HostId, FileId> = HashMap::new();
    for record in outcome.trace.records() {
        let place =
            |from: HostId, to: HostId| platform.place_of(if from == origin { to } else { from });
        match &record.what {
            Happening::TaskFinished { task } | Happening::TaskRestored { task } => {
                ended[task.index()] += 1;
            }
            Happening::TaskRewound { task } => ended[task.index()] -= 1,
            &Happening::TransferStarted { file, from, to, .. } => {
                let before = busy.insert(place(from, to), file);
                prop_assert_eq!(before, None, "two transfers on one link at {}", record.at);
            }
            &Happening::TransferFinished { file, from, to, .. } => {
                busy.remove(&place(from, to));
                *arrived.entry((file, platform.place_of(to))).or_default() += 1;
            }
            &Happening::TransferFailed { from, to, .. } => {
                busy.remove(&place(from, to));
            }
            _ => {}
        }
    }
    prop_assert!(ended.iter().all(|&n| n == 1), "{ended:?}");
    for task in workflow.tasks() {
        for file in workflow.outputs(task) {
            prop_assert!(arrived.contains_key(&(file, origin)), "an output is missing");
        }
    }
    Ok(arrived)
}

fn is_input(sweep: &Sweep, file: FileId) -> bool {
    sweep.workflow().producer(file).is_none()
}

/// The quick cluster is away while its task computes, which is planned on the slow one meanwhile but goes
/// on where it was as soon as the host is back: its result is there, and no other link waits to bring it.
#[test]
fn a_result_is_sent_from_where_it_was_made() {
    let sweep = Sweep {
        clusters: vec![(100.0, 0.0, vec![1.0]), (4.0, 0.0, vec![0.5])],
        shared: vec![1.0],
        tasks: vec![(10.0, vec![], 20.0, 5.0), (60.0, vec![], 1.0, 5.0)],
        absences: vec![(0, 5.0, 2.0)],
    };
    let stage = sweep.stage(&sweep.scenario());
    let outcome = stage.run(policy("h1", &[("replan-on", "both")]).as_mut()).unwrap();
    follow(&sweep, &outcome).unwrap();
    let starts = |r: &&slackline_model::trace::Record| matches!(r.what, Happening::TaskStarted { task, .. } if task.index() == 0);
    let starts: Vec<f64> = outcome.trace.records().iter().filter(starts).map(|r| r.at).collect();
    assert_eq!(starts, [0.2, 7.0]);
}

const POLICIES: [&str; 7] = ["h1", "h2", "h3", "h4", "h8", "h9", "xs"];

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn every_task_ends_and_every_output_arrives(sweep in sweeps(), which in 0usize..7, way in 0usize..5) {
        let set: &[(&str, &str)] = [
            &[][..],
            &[("strategy", "s2"), ("link-order", "hybrid")],
            &[("strategy", "s3"), ("keep", "0"), ("quota", "1")],
            &[("replan-on", "both"), ("steal", "no"), ("forecast", "adaptive")],
            &[("interval", "20"), ("subset", "shared"), ("quota", "1"), ("output", "mean")],
        ][way];
        let stage = sweep.stage(&sweep.scenario());
        let mut first = policy(POLICIES[which], set);
        let mut logged = Logged::new(first.as_mut());
        let outcome = stage.run(&mut logged).unwrap();
        let arrived = follow(&sweep, &outcome)?;
        // What a cluster stores outlasts its absence: no input comes twice.
        let twice = arrived.iter().find(|((file, _), times)| is_input(&sweep, *file) && **times > 1);
        prop_assert!(twice.is_none(), "{twice:?}");
        let log = logged.log;
        let again = stage.run(policy(POLICIES[which], set).as_mut()).unwrap();
        prop_assert_eq!(&outcome.trace, &again.trace);
        let played = stage.run(&mut Repeat::new(log)).unwrap();
        prop_assert_eq!(&outcome.trace, &played.trace);
    }

    /// Results that break off are asked for again, those that are lost with their cluster made again.
    #[test]
    fn a_work_queue_gets_every_result(sweep in sweeps()) {
        let stage = sweep.stage(&sweep.scenario());
        let outcome = stage.run(policy("work-queue", &[]).as_mut()).unwrap();
        prop_assert_eq!(&outcome.ending, &Ending::Finished);
        let (workflow, platform) = (sweep.workflow(), sweep.platform());
        let arrives = |file: FileId| {
            outcome.trace.records().iter().any(|record| match record.what {
                Happening::TransferFinished { file: sent, to, .. } => {
                    sent == file && Some(to) == platform.origin()
                }
                _ => false,
            })
        };
        let missing: Vec<FileId> =
            workflow.files().filter(|&f| !is_input(&sweep, f) && !arrives(f)).collect();
        prop_assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn in_a_still_world_plans_come_true(sweep in sweeps(), which in 0usize..7) {
        let name = POLICIES[which];
        let once = [
            ("quota", "1000"), ("interval", "1e9"), ("replan-on", "never"), ("steal", "no"),
            ("link-order", "strict"),
        ];
        let stage = sweep.stage(&Scenario::default());
        let outcome = stage.run(policy(name, &once).as_mut()).unwrap();
        let arrived = follow(&sweep, &outcome)?;
        prop_assert!(arrived.values().all(|&times| times == 1), "a file crossed twice");
        let (workflow, platform) = (sweep.workflow(), sweep.platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let plan = planners::find(name).unwrap().plan(&problem, &Request::default()).unwrap();
        let broken = validate(&problem, &plan, &Limits::default());
        prop_assert!(broken.is_empty(), "{broken:?}");
        if name != "h8" {
            let (run, planned) = (outcome.makespan, plan.makespan());
            prop_assert!((run - planned).abs() <= 1e-9 * planned, "{run} against {planned}");
        }
    }
}
