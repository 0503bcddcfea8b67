//! Hosts that somebody serves for a limited time: what takes longer is neither planned nor begun there before the
//! next comes, and others go ahead.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::told::ExtraSignals;
use common::{grid, with_backend, workflow};
use slackline_engine::{Ending, Execution, Journal, Outcome, Record, Signal, SignalKind};
use slackline_model::problem::Stay;
use slackline_model::{HostId, Platform, TaskId, Workflow};
use slackline_react::registry::{self as policies, Options};
use slackline_react::{Policy, Situation};
use slackline_schedule::{Planner, Request, registry};
use std::sync::Arc;

/// One second, then 10 and 30.
fn three_tasks() -> (Workflow, Platform) {
    let w = workflow(&[vec![1.0], vec![10.0], vec![30.0]], &[(0, 1, 0.0), (0, 2, 0.0)]);
    (w, grid(1, &[]))
}

fn policy(name: &str) -> Box<dyn Policy> {
    let entry = policies::ALL.iter().find(|entry| entry.name == name).unwrap();
    entry.policy(&Options::new(Planner::from(registry::find("heft").unwrap()))).unwrap()
}

fn stay(ends: f64) -> Stay {
    Stay { ends, gap: 5.0, whole: 100.0, safety: 1.0 }
}

/// A run on a host that is served as is told.
fn run(name: &str, told: &[(f64, Stay)]) -> Outcome {
    let (w, p) = three_tasks();
    let signal = |&(at, stay): &(f64, Stay)| Signal {
        at,
        what: SignalKind::HostStays { host: HostId(0), stay: Some(stay) },
    };
    with_backend(&w, &p, "fifo", |backend| {
        let mut told = ExtraSignals::new(backend, told.iter().map(signal).collect());
        let execution = Execution::new(Arc::new(w.clone()), Arc::new(p.clone()));
        execution.run(policy(name).as_mut(), &mut told).unwrap()
    })
}

#[test]
fn a_task_longer_than_the_rest_waits_while_others_go_ahead() {
    let names =
        ["static", "just-in-time", "work-queue", "work-stealing", "slackline", "aheft", "gtp/c"];
    for name in names {
        // The long one is first in every order, and 24 s are left; the next comes at 30.
        let outcome = run(name, &[(0.5, stay(25.0)), (30.0, stay(130.0))]);
        assert_eq!(outcome.ending, Ending::Finished, "{name}");
        let start = |task| outcome.schedule.placement(TaskId(task)).unwrap().start;
        assert_eq!((start(1), start(2)), (1.0, 30.0), "{name}");
        assert_eq!(outcome.makespan, 60.0, "{name}");
    }
}

#[test]
fn a_task_that_fits_into_no_time_is_left_to_whoever_serves() {
    let short = Stay { whole: 20.0, ..stay(15.0) };
    for name in ["static", "just-in-time"] {
        // The 30 s begin at once; the 10 s find 9 s left when they are over, and begin at 45.
        assert_eq!(run(name, &[(0.5, short)]).makespan, 55.0, "{name}");
    }
}

#[test]
fn planners_count_on_no_more_time_than_there_is() {
    let (w, p) = three_tasks();
    let mut now = Situation::new(Arc::new(w), Arc::new(p));
    now.set_stay(HostId(0), Some(stay(25.0)));
    for name in ["heft", "peft", "cpop", "minmin", "best", "exact"] {
        let problem = now.nominal_problem().unwrap();
        let request = Request::default();
        let plan = registry::find(name).unwrap().plan(&problem, &request).unwrap();
        assert_eq!(plan.makespan(), 60.0, "{name}");
    }
    now.set_stay(HostId(0), None);
    let problem = now.nominal_problem().unwrap();
    assert_eq!(problem.pools().in_window(HostId(0), 20.0, 500.0), 20.0);
}

/// Signals of journals that were written come back.
#[test]
fn the_journal_keeps_for_how_long_a_host_is_served() {
    let what = SignalKind::HostStays { host: HostId(0), stay: Some(stay(25.0)) };
    let signals = vec![Signal { at: 0.5, what }];
    let record = Record::Next { now: 0.5, reached: slackline_engine::Reached::Instant, signals };
    let mut text = Vec::new();
    Journal::write_record(&mut text, &record).unwrap();
    let read: Record = serde_json::from_slice(&text).unwrap();
    assert_eq!(read, record);
}
