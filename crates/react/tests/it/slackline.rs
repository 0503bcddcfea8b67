//! The slackline policy on examples whose numbers can be followed by hand.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::{platform, workflow};
use proptest::prelude::*;
use slackline_model::platform::{
    Billing, ClusterSpec, HostSpec, LinkShape, Matrix, PlatformBuilder,
};
use slackline_model::schedule::Lease;
use slackline_model::{HostId, Placement, ProcId, Task, TaskId, WorkflowBuilder};
use slackline_react::slackline::forecast::{Forecaster, Future};
use slackline_react::{Assignment, Decision, Event, Plan, Policy};
use slackline_react::{FileCopy, Situation, Slackline, TaskState, Transfers};
use std::sync::Arc;

const DIAMOND: [[f64; 3]; 4] = [[3.0, 2.0, 4.0], [1.0, 3.0, 3.0], [1.0, 4.0, 3.0], [2.0, 4.0, 3.0]];
const DATA: [(u32, u32, f64); 4] = [(0, 1, 4.0), (0, 2, 4.0), (1, 3, 2.0), (2, 3, 1.0)];

fn diamond() -> Situation {
    let rows: Vec<&[f64]> = DIAMOND.iter().map(|r| &r[..]).collect();
    Situation::new(Arc::new(workflow(&rows, &DATA)), Arc::new(platform(3, |_, _| 1.0)))
}

fn plan(procs: &[(u32, u32)]) -> Plan {
    let assignments = procs
        .iter()
        .map(|&(task, proc)| Assignment { task: TaskId(task), procs: [ProcId(proc)].into() })
        .collect();
    Plan { assignments, transfers: Transfers::Push, ..Plan::default() }
}

fn forecast(now: &Situation, plan: &Plan) -> f64 {
    let problem = now.problem().unwrap();
    Forecaster::default().follow(&Future::lasting(&problem, now), plan, f64::INFINITY).makespan
}

/// The last example of the GTP thesis: v0 is done on p2 at 2, when p2 falls to 0.4.
fn after_the_fall() -> Situation {
    let mut now = diamond();
    now.now = 2.0;
    now.view.availability[1] = 0.4;
    now.set_task(TaskId(0), TaskState::Done(Placement::new(ProcId(1), 0.0, 2.0)));
    now.progress[0] = 1.0;
    for file in now.workflow.clone().outputs(TaskId(0)) {
        now.copies[file.index()].push(FileCopy::original(HostId(1)));
    }
    now
}

#[test]
fn forecasts_follow_the_engine() {
    // v0 on p2 0-2, v1 on p2 2-5, v2 on p1 6-7, v3 on p1 7-9: HEFT's plan at the start.
    assert_eq!(forecast(&diamond(), &plan(&[(0, 1), (1, 1), (2, 0), (3, 0)])), 9.0);
    let now = after_the_fall();
    // Everything on p1: data of v0 there at 6, v1 6-7, v2 7-8, v3 8-10.
    assert_eq!(forecast(&now, &plan(&[(1, 0), (2, 0), (3, 0)])), 10.0);
    // A limit cuts a forecast short.
    let (problem, late) = (now.problem().unwrap(), plan(&[(1, 0), (2, 0), (3, 0)]));
    let future = Future::lasting(&problem, &now);
    assert_eq!(Forecaster::default().follow(&future, &late, 9.5).makespan, f64::INFINITY);
}

proptest! {
    /// A limit only says which forecasts are of no interest: those that end before it are as without, also in
    /// the middle of a run and where levels will be others.
    #[test]
    fn limits_change_nothing_before_them(
        times in proptest::collection::vec([1.0..20.0, 1.0..20.0, 1.0..20.0], 9),
        edges in proptest::collection::vec((0u32..9, 0u32..9, 0.0..30.0), 0..14),
        procs in proptest::collection::vec(0u32..3, 9),
        (progress, listed_last) in (proptest::option::of(0.0..1.0), any::<bool>()),
        (level, passes) in (0.1..1.0, proptest::option::of(0.0..60.0)),
        (window, share) in (0u32..3, 0.3..1.7),
    ) {
        let rows: Vec<&[f64]> = times.iter().map(|row| &row[..]).collect();
        let mut seen = std::collections::BTreeSet::new();
        let ordered = |&(a, b, data): &(u32, u32, f64)| (a < b).then_some((a, b, data));
        let edges: Vec<_> = edges.iter().filter_map(ordered).filter(|e| seen.insert((e.0, e.1))).collect();
        let mut now = Situation::new(Arc::new(workflow(&rows, &edges)), Arc::new(platform(3, |_, _| 2.0)));
        now.now = 5.0;
        let assigned: Vec<(u32, u32)> = (0..9).zip(procs.iter().copied()).collect();
        let mut plan = plan(&assigned);
        if let Some(progress) = progress {
            let procs = plan.assignments[0].procs.clone();
            now.set_task(TaskId(0), TaskState::Running { procs, since: 0.0 });
            now.progress[0] = progress;
        }
        if listed_last {
            plan.assignments.rotate_left(1); // what runs, or else a task after those that wait for it
        }
        if window > 0 {
            plan.transfers = Transfers::Pull { window };
        }
        let problem = now.problem().unwrap();
        let mut passed = now.clone();
        passed.view.availability = vec![level, 1.0, level];
        let other = passed.problem().unwrap();
        let later = passes.map(|date| (5.0 + date, &other));
        let future = Future { problem: &problem, now: &now, later };
        let whole = Forecaster::default().follow(&future, &plan, f64::INFINITY);
        let end = whole.makespan;
        let limit = if end.is_finite() { 5.0 + (end - 5.0) * share } else { 100.0 };
        let cut = Forecaster::default().follow(&future, &plan, limit);
        prop_assert_eq!(cut.makespan, if end <= limit { end } else { f64::INFINITY });
        prop_assert!(end > limit || cut == whole);
        prop_assert!(end.is_infinite() || Forecaster::default().follow(&future, &plan, end) == whole);
    }
}

/// Two machines that are ready 20 s after they are ordered.
#[test]
fn forecasts_wait_for_leased_machines() {
    let mut b = PlatformBuilder::new("cloud");
    b.set_matrix(Matrix::Uniform { bandwidth: 1.0, latency: 0.0 });
    let root = b.root().unwrap();
    let billing = Some(Billing { quantum: 60.0, minimum: 0.0, setup: 20.0 });
    for name in ["p1", "p2"] {
        let spec = HostSpec { leasable: true, billing, ..HostSpec::new(name, 1.0) };
        b.add_host(root, HostSpec { class: Some("vm".into()), ..spec }).unwrap();
    }
    let rows: [&[f64]; 3] = [&[50.0, 50.0], &[40.0, 40.0], &[30.0, 30.0]];
    let fork = workflow(&rows, &[(0, 1, 0.0), (0, 2, 0.0)]);
    let mut now = Situation::new(Arc::new(fork), Arc::new(b.build().unwrap()));
    let mut plan = plan(&[(0, 0), (1, 0), (2, 1)]);
    // The head from 20 s to 70 s, the tails to 110 s and 100 s.
    assert_eq!(forecast(&now, &plan), 110.0);
    let class = now.platform.host(HostId(0)).class;
    let lease = |host, from, to| Lease { class, host: HostId(host), from, to };
    // The second machine is to come at 90 s only.
    plan.leases.push(lease(1, 90.0, 120.0));
    assert_eq!(forecast(&now, &plan), 120.0);
    // Both are ordered: the first since 15 s, the second was there before.
    now.now = 15.0;
    now.leases = vec![lease(0, 20.0, f64::INFINITY), lease(1, 0.0, f64::INFINITY)];
    assert_eq!(forecast(&now, &plan), 110.0);
}

#[test]
fn finished_work_is_done_again_where_that_pays() {
    let mut policy = Slackline::default();
    let mut decisions = Vec::new();
    policy.react(&[Event::Start], &diamond(), &mut decisions);
    decisions.clear();
    let now = after_the_fall();
    policy.react(&[Event::WakeUp], &now, &mut decisions);
    // v0 again on p1 2-5, v1 5-6, v2 6-7, v3 7-9, instead of 10.
    assert_eq!(decisions[0], Decision::Rewind(vec![TaskId(0)]));
    let Decision::Adopt(plan) = &decisions[1] else { panic!("{decisions:?}") };
    assert!(plan.assignments.iter().all(|a| a.procs[..] == [ProcId(0)]), "{plan:?}");
    let mut rewound = now.clone();
    rewound.set_task(TaskId(0), TaskState::Waiting);
    assert_eq!(forecast(&rewound, plan), 9.0);
}

#[test]
fn nothing_new_calls_for_nothing() {
    let mut policy = Slackline::default();
    let mut decisions = Vec::new();
    policy.react(&[Event::Start], &diamond(), &mut decisions);
    decisions.clear();
    let mut now = diamond();
    now.now = 0.5;
    policy.react(&[Event::WakeUp], &now, &mut decisions);
    assert!(matches!(decisions[..], [Decision::WakeAt(_)]), "{decisions:?}");
    assert!(!policy.wants(&[Event::TaskFinished(TaskId(0))], &now), "in time");
    now.now = 50.0;
    assert!(policy.wants(&[Event::TaskFinished(TaskId(0))], &now), "late");
}

/// A task over two hosts continues as the slower of them does, and what it leaves on both can be read.
#[test]
fn forecasts_follow_tasks_over_several_hosts() {
    let mut b = WorkflowBuilder::new("wide");
    let wide = Task { min_width: 2, max_width: 2, spread: true, ..Task::new("wide", 8.0) };
    let (wide, next) = (b.add_task(wide).unwrap(), b.add_task(Task::new("next", 3.0)).unwrap());
    b.add_edge(wide, next, 0.0).unwrap();
    let workflow = b.build().unwrap();
    let mut b = PlatformBuilder::new("pair");
    let link = LinkShape { bandwidth: 1.0, latency: 0.0 };
    b.add_cluster(None, ClusterSpec::flat("c", 4, 1.0, link)).unwrap();
    let mut now = Situation::new(Arc::new(workflow), Arc::new(b.build().unwrap()));
    let procs: Box<[ProcId]> = [ProcId(0), ProcId(1)].into();
    let both = Assignment { task: wide, procs: [ProcId(0), ProcId(1)].into() };
    let then = Assignment { task: next, procs: [ProcId(0)].into() };
    let plan = |assignments| Plan { assignments, ..plan(&[]) };
    assert_eq!(forecast(&now, &plan(vec![both.clone(), then.clone()])), 11.0);
    for host in [1, 3] {
        now.view.availability[host] = 0.25;
    }
    assert_eq!(forecast(&now, &plan(vec![both, then.clone()])), 4.0 * 8.0 + 3.0);
    now.now = 32.0;
    now.set_task(wide, TaskState::Done(Placement::wide(&procs, 0.0, 32.0)));
    for file in now.workflow.clone().outputs(wide) {
        let holders = now.holders_of(&procs);
        now.copies[file.index()].push(FileCopy::original(holders));
    }
    assert_eq!(forecast(&now, &plan(vec![then])), 35.0);
}

#[test]
fn the_command_has_the_usual_effort() {
    let entry = slackline_react::registry::find("slackline").unwrap();
    let effort = entry.parameters.iter().find(|p| p.name == "effort").unwrap();
    assert_eq!(effort.default.parse(), Ok(Slackline::EFFORT));
}
