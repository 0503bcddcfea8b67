//! Bandwidths learned during a run, and the same ones in its repetition.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use slackline_engine::{
    Ending, Execution, Journal, Journaled, Outcome, Record, Resumed, RunSnapshot, Settings,
    Simulated,
};
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder, RoutingKind};
use slackline_model::{HostId, Platform, Problem, ProcId, Task, TaskId, Workflow, WorkflowBuilder};
use slackline_react::{Assignment, Decision, Event, Plan, Policy, Situation, Transfers};
use slackline_simulate::Models;
use std::sync::Arc;

const HERE: HostId = HostId(0);
const THERE: HostId = HostId(1);

/// Two hosts and the rate between them.
fn platform(rate: f64) -> Platform {
    let mut builder = PlatformBuilder::new("two");
    let zone = builder.add_zone(None, "z", RoutingKind::Full).unwrap();
    for name in ["here", "there"] {
        builder.add_host(zone, HostSpec::new(name, 1e9)).unwrap();
    }
    let (bandwidth, latency) = (vec![rate; 4].into(), vec![0.1; 4].into());
    builder.set_matrix(Matrix::Dense { hosts: 2, bandwidth, latency });
    builder.build().unwrap()
}

/// Files of different sizes, each made here and read there.
fn workflow() -> Workflow {
    let mut builder = WorkflowBuilder::new("pairs");
    for pair in 0..8u32 {
        builder.add_task(Task::new(format!("make{pair}"), 1e9)).unwrap();
        builder.add_task(Task::new(format!("read{pair}"), 1e9)).unwrap();
        let bytes = 1e6 * f64::from(1 + pair % 4 * 2);
        builder.add_edge(TaskId(2 * pair), TaskId(2 * pair + 1), bytes).unwrap();
    }
    builder.build().unwrap()
}

/// Follows one plan, and keeps how long a transfer was thought to take at every event.
#[derive(Default)]
struct Fixed {
    thought: Vec<f64>,
    changes: usize,
}

impl Policy for Fixed {
    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        self.changes += events.iter().filter(|e| **e == Event::NetworkChanged).count();
        self.thought.push(now.view.network.transfer_time(1e6, HERE, THERE));
        if events.contains(&Event::Start) {
            let place = |t: TaskId| Assignment { task: t, procs: [ProcId(t.0 % 2)].into() };
            let assignments = now.workflow.tasks().map(place).collect();
            let transfers = Transfers::Push;
            decisions.push(Decision::Adopt(Plan { assignments, transfers, ..Plan::default() }));
        }
    }
}

fn run(learning: bool, records: &mut Vec<Record>) -> (Outcome, Fixed) {
    let (stated, real) = (Arc::new(platform(1e7)), platform(1e6));
    let workflow = Arc::new(workflow());
    let problem = Problem::at_peak(&workflow, &real).unwrap();
    let truth = |task: TaskId, procs: &[ProcId]| problem.exec_on(task, procs[0]);
    let models = Models::preset("matrix").unwrap();
    let mut backend = Simulated::new(real.clone(), models, Box::new(truth)).unwrap();
    let mut policy = Fixed::default();
    let settings = Settings { learning, ..Settings::default() };
    let mut most = 0;
    let mut see = |glance: &RunSnapshot<'_>| {
        most = most.max(glance.situation.taught.connections.len());
        assert!(glance.plan.is_some());
    };
    let execution = || Execution { settings, ..Execution::new(workflow.clone(), stated.clone()) };
    let outcome = if records.is_empty() {
        let keep = Box::new(|record: &Record| {
            records.push(record.clone());
            Ok(())
        });
        let watched = Execution { watch: Some(&mut see), ..execution() };
        watched.run(&mut policy, &mut Journaled::new(&mut backend, keep)).unwrap()
    } else {
        let journal = Journal { records: records.clone() };
        let charges = slackline_engine::Backend::charges(&backend);
        execution().run(&mut policy, &mut Resumed::repeat(journal, charges)).unwrap()
    };
    assert_eq!(outcome.ending, Ending::Finished);
    (outcome, policy)
}

#[test]
fn a_network_slower_than_stated_is_found_out() {
    let mut records = Vec::new();
    let (outcome, policy) = run(true, &mut records);
    // 0.2 s by the platform, 1.1 s by what transfers have shown.
    assert!((policy.thought[0] - 0.2).abs() < 1e-9);
    assert!((policy.thought.last().unwrap() - 1.1).abs() < 0.01, "{:?}", policy.thought);
    assert!((1..=3).contains(&policy.changes), "{}", policy.changes);
    let learnt = outcome.taught.connections[&(HERE, THERE)];
    assert!((learnt.value / 1e6 - 1.0).abs() < 0.01 && learnt.samples == 8, "{learnt:?}");
    assert!(learnt.error < 0.01);
    assert_eq!(outcome.taught.connections.len(), 1);
    // All of it follows from what was told.
    let (again, repeated) = run(true, &mut records);
    assert_eq!((again.taught, repeated.thought), (outcome.taught, policy.thought));
}

#[test]
fn who_does_not_want_to_learn_keeps_to_what_is_stated() {
    let (outcome, policy) = run(false, &mut Vec::new());
    assert!(policy.thought.iter().all(|seconds| (seconds - 0.2).abs() < 1e-9));
    assert!(outcome.taught.connections.is_empty() && outcome.taught.kinds.is_empty());
}
