//! A task over several hosts, and what is redistributed between two such tasks, is one operation.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use slackline_engine::{Backend, Computation, Ending, Execution, OpId, Outcome, Simulated};
use slackline_model::platform::{
    ClusterSpec, DeclaredRoute, HostSpec, LinkShape, LinkSpec, PlatformBuilder, RoutingKind,
    Sharing,
};
use slackline_model::trace::Happening;
use slackline_model::{
    HostId, Placement, Platform, Problem, ProcId, Schedule, SpeedUp, Task, TaskId, Workflow,
    WorkflowBuilder,
};
use slackline_react::selective::{Selective, Threshold};
use slackline_react::{StaticPlan, Transfers};
use slackline_schedule::registry::find;
use slackline_simulate::Models;
use std::sync::Arc;

fn spread(name: &str, work: f64, serial: f64) -> Task {
    let speedup = SpeedUp::Amdahl { serial };
    Task { speedup, max_width: u32::MAX, spread: true, ..Task::new(name, work) }
}

fn chain(first: Task, second: Task, bytes: f64) -> Workflow {
    let mut b = WorkflowBuilder::new("chain");
    b.add_task(first).unwrap();
    b.add_task(second).unwrap();
    b.add_edge(TaskId(0), TaskId(1), bytes).unwrap();
    b.build().unwrap()
}

/// Runs tasks on given processors, one after the other.
fn follow(workflow: &Workflow, platform: &Platform, models: Models, procs: &[&[u32]]) -> Outcome {
    let problem = Problem::at_peak(workflow, platform).unwrap();
    let mut plan = Schedule::start(&problem);
    for (k, procs) in procs.iter().enumerate() {
        let procs: Vec<ProcId> = procs.iter().map(|&p| ProcId(p)).collect();
        plan.place(TaskId::new(k), Placement::wide(&procs, k as f64, k as f64));
    }
    let truth = |task: TaskId, procs: &[ProcId]| {
        problem.exec_wide(task, problem.class_of(procs[0]), procs.len() as u32)
    };
    let mut backend = Simulated::new(platform.clone(), models, Box::new(truth)).unwrap();
    let mut policy = StaticPlan::of_schedule(plan, find("cpa").unwrap(), Transfers::Push);
    let (w, p) = (Arc::new(workflow.clone()), Arc::new(platform.clone()));
    let outcome = Execution::new(w, p).run(&mut policy, &mut backend).unwrap();
    assert_eq!(outcome.ending, Ending::Finished);
    outcome
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// Four hosts of 5 Gflop/s, each behind a link of 125 MB/s for both directions, and a switch that
/// gives everybody its full bandwidth; 100 us each.
fn behind_a_switch() -> Platform {
    let mut b = PlatformBuilder::new("switch");
    let zone = b.add_zone(None, "zone", RoutingKind::Full).unwrap();
    let hosts: Vec<HostId> =
        (0..4).map(|k| b.add_host(zone, HostSpec::new(format!("h{k}"), 5e9)).unwrap()).collect();
    let own: Vec<_> =
        (0..4).map(|k| b.add_link(LinkSpec::new(format!("l{k}"), 125e6, 1e-4)).unwrap()).collect();
    let switch = LinkSpec::new("switch-link", 125e6, 1e-4);
    let switch = b.add_link(LinkSpec { sharing: Sharing::Fatpipe, ..switch }).unwrap();
    for i in 0..4 {
        for j in i + 1..4 {
            let links = [own[i], switch, own[j]];
            b.add_route(zone, DeclaredRoute::between(hosts[i], hosts[j], links)).unwrap();
        }
    }
    b.build().unwrap()
}

/// 0.4e9 flop on each of four hosts; 1.2e8 bytes to three of them, of which 50 MB cross one link;
/// 2e8 flop each.
#[test]
fn a_redistribution_is_one_operation() {
    let work = chain(spread("a", 1e9, 0.2), spread("b", 3e8, 0.5), 1.2e8);
    let procs: [&[u32]; 2] = [&[0, 1, 2, 3], &[0, 1, 2]];
    let models = Models::parallel_tasks().as_of_3_11();
    let outcome = follow(&work, &behind_a_switch(), models, &procs);
    let dates: Vec<(f64, f64)> =
        outcome.schedule.placements.iter().flatten().map(|p| (p.start, p.finish)).collect();
    assert!(close(dates[0].1, 0.08), "{dates:?}");
    assert!(close(dates[1].0, 0.4803) && close(dates[1].1, 0.5203), "{dates:?}");
    // As single flows the blocks end one by one, here with the factors of LV08.
    let flows = follow(&work, &behind_a_switch(), Models::default(), &procs);
    assert!(flows.makespan > outcome.makespan, "{}", flows.makespan);
}

fn cluster(hosts: u32) -> Platform {
    let mut b = PlatformBuilder::new("cluster");
    let link = LinkShape { bandwidth: 10.0, latency: 0.25 };
    b.add_cluster(None, ClusterSpec::flat("c", hosts, 1.0, link)).unwrap();
    b.build().unwrap()
}

/// 15 units from five hosts to three others: rows 3 0 0, 2 1 0, 0 3 0, 0 1 2, 0 0 3.
#[test]
fn five_hosts_hand_over_to_three() {
    let work = chain(spread("a", 5.0, 0.0), spread("b", 3.0, 0.0), 15.0);
    let procs: [&[u32]; 2] = [&[0, 1, 2, 3, 4], &[5, 6, 7]];
    let outcome = follow(&work, &cluster(8), Models::parallel_tasks(), &procs);
    let moved: Vec<(u32, u32, f64)> = outcome
        .trace
        .records()
        .iter()
        .filter_map(|record| match record.what {
            Happening::TransferStarted { from, to, bytes, .. } => Some((from.0, to.0, bytes)),
            _ => None,
        })
        .collect();
    let rows = [(0, 5, 3), (1, 5, 2), (1, 6, 1), (2, 6, 3), (3, 6, 1), (3, 7, 2), (4, 7, 3)];
    assert_eq!(moved, rows.map(|(from, to, bytes)| (from, to, f64::from(bytes))));
    // A second each, 0.5 s of latency once, five units into each of three hosts.
    assert!(close(outcome.makespan, 1.0 + (0.5 + 0.5) + 1.0), "{}", outcome.makespan);
}

/// Data that stay are free, or cross the links of their hosts, by option.
#[test]
fn data_that_stay_may_be_charged() {
    let work = chain(spread("a", 2.0, 0.0), spread("b", 2.0, 0.0), 20.0);
    let charged = || Models { charge_local: true, ..Models::parallel_tasks() };
    // Two hosts each send and receive 10 units over links of 10 a second.
    for (procs, seconds) in [([0u32, 1].as_slice(), 1.0), (&[1], 2.0)] {
        let spent = 4.0 / procs.len() as f64;
        let free = follow(&work, &cluster(3), Models::parallel_tasks(), &[procs, procs]);
        assert!(close(free.makespan, spent), "{}", free.makespan);
        let outcome = follow(&work, &cluster(3), charged(), &[procs, procs]);
        assert!(close(outcome.makespan, spent + 0.5 + seconds), "{}", outcome.makespan);
    }
    // Half of it goes from one host to another, half stays.
    let procs: [&[u32]; 2] = [&[0, 1], &[1]];
    let free = follow(&work, &cluster(3), Models::parallel_tasks(), &procs);
    assert!(close(free.makespan, 1.0 + (0.5 + 1.0) + 2.0), "{}", free.makespan);
    let outcome = follow(&work, &cluster(3), charged(), &procs);
    assert!(close(outcome.makespan, 1.0 + (0.5 + 2.0) + 2.0), "{}", outcome.makespan);
}

/// Data spread over several hosts are present: their producers are not repeated.
#[test]
fn results_of_wide_tasks_are_not_taken_for_lost() {
    let work = chain(spread("a", 4.0, 0.0), spread("b", 4.0, 0.0), 1.0);
    let platform = cluster(4);
    let problem = Problem::at_peak(&work, &platform).unwrap();
    let truth = |task: TaskId, procs: &[ProcId]| {
        problem.exec_wide(task, problem.class_of(procs[0]), procs.len() as u32)
    };
    let models = Models::parallel_tasks();
    let mut backend = Simulated::new(platform.clone(), models, Box::new(truth)).unwrap();
    let planner = find("hcpa").unwrap();
    let mut policy = Selective::new(planner, Threshold::Always, Transfers::Push);
    let (w, p) = (Arc::new(work.clone()), Arc::new(platform.clone()));
    let outcome = Execution::new(w, p).run(&mut policy, &mut backend).unwrap();
    assert_eq!(outcome.ending, Ending::Finished);
    assert!(outcome.schedule.placement(TaskId(0)).unwrap().procs().len() > 1);
    assert_eq!((outcome.counters.rewound, outcome.counters.replannings), (0, 2));
}

/// A wide task goes at the pace of its slowest host, and is as far as that is.
#[test]
fn all_parts_advance_together() {
    let mut b = PlatformBuilder::new("p");
    let zone = b.add_zone(None, "zone", RoutingKind::Full).unwrap();
    for k in 0..2 {
        b.add_host(zone, HostSpec::new(format!("h{k}"), 1.0)).unwrap();
    }
    let platform = b.build().unwrap();
    let mut backend = {
        let seconds = |task: TaskId, _: &[ProcId]| if task.index() == 0 { 4.0 } else { 2.0 };
        Simulated::new(platform.clone(), Models::parallel_tasks(), Box::new(seconds)).unwrap()
    };
    let compute = |task: u32, procs: &'static [ProcId]| Computation {
        task: TaskId(task),
        procs,
        memory: None,
        devices: &[],
        reads: &[],
        writes: &[],
    };
    backend.compute(OpId(0), compute(0, &[ProcId(0), ProcId(1)])).unwrap();
    let mut signals = Vec::new();
    backend.next(1.0, &mut signals).unwrap();
    assert!(close(backend.measure(&[OpId(0)])[0], 0.25));
    // Half of one host goes to another task: all of the wide one slows down.
    backend.compute(OpId(1), compute(1, &[ProcId(1)])).unwrap();
    backend.next(3.0, &mut signals).unwrap();
    assert!(close(backend.measure(&[OpId(0)])[0], 0.5));
}
