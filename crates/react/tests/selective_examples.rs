//! The worked example of selective rescheduling: fixture F1 of nine tasks on three machines.

#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

mod common;

use common::{platform, workflow};
use slackline_model::{Platform, Problem, ProcId, TaskId, Workflow};
use slackline_react::selective::{Spare, Trigger, run_offline};
use slackline_schedule::registry::find;

fn f1() -> (Workflow, Platform) {
    let times: [&[f64]; 9] = [
        &[13.0, 10.0, 11.0],
        &[9.0, 11.0, 16.0],
        &[13.0, 18.0, 10.0],
        &[7.0, 4.0, 9.0],
        &[9.0, 12.0, 15.0],
        &[12.0, 14.0, 10.0],
        &[10.0, 16.0, 10.0],
        &[11.0, 10.0, 6.0],
        &[13.0, 10.0, 10.0],
    ];
    let edges = [
        (0, 1, 3.0),
        (0, 2, 9.0),
        (0, 3, 9.0),
        (0, 4, 5.0),
        (1, 5, 3.0),
        (1, 7, 11.0),
        (2, 6, 13.0),
        (3, 6, 6.0),
        (3, 7, 8.0),
        (4, 7, 4.0),
        (5, 8, 9.0),
        (6, 8, 8.0),
        (7, 8, 6.0),
    ];
    // Time per data unit: m0-m1 1.5, m1-m2 1, m0-m2 2.
    let per_unit = |a: usize, b: usize| match a + b {
        1 => 1.5,
        2 => 2.0,
        _ => 1.0,
    };
    (workflow(&times, &edges), platform(3, move |a, b| 1.0 / per_unit(a, b)))
}

#[test]
fn spare_times_and_slack() {
    let (w, p) = f1();
    let problem = Problem::new(&w, &p).unwrap();
    let plan = (find("heft").unwrap().plan)(&problem, &Default::default()).unwrap();
    assert!((plan.makespan() - 67.5).abs() < 1e-9);
    let spare = Spare::of(&problem, &plan);
    let min_spare = [0.0, 0.0, 6.0, 0.0, 5.0, 6.0, 7.5, 0.0, 0.0];
    let slack = [0.0, 0.0, 13.5, 7.5, 5.0, 6.0, 7.5, 0.0, 0.0];
    for task in 0..9 {
        assert!((spare.min_spare[task] - min_spare[task]).abs() < 1e-9, "MinSpare of {task}");
        assert!((spare.slack[task] - slack[task]).abs() < 1e-9, "Slack of {task}");
    }
}

/// Runs with task `late` really taking `seconds`, the rest as estimated.
fn run(trigger: Trigger, late: u32, seconds: f64) -> (f64, usize) {
    let (w, p) = f1();
    let problem = Problem::new(&w, &p).unwrap();
    let actual = |task: TaskId, proc: ProcId| {
        if task == TaskId(late) { seconds } else { problem.exec_on(task, proc) }
    };
    let outcome = run_offline(&problem, find("heft").unwrap(), trigger, actual).unwrap();
    (outcome.schedule.makespan(), outcome.reschedulings)
}

#[test]
fn a_late_task_is_caught_before_its_dependents() {
    // Task 1 takes 12 instead of 9: task 7 would start 3 late with no slack.
    assert_eq!(run(Trigger::Never, 1, 12.0), (70.5, 0));
    assert_eq!(run(Trigger::Slack, 1, 12.0), (68.0, 1));
    assert_eq!(run(Trigger::Spare, 1, 12.0), (68.0, 1));
}

#[test]
fn what_the_slack_swallows_changes_nothing() {
    for trigger in [Trigger::Never, Trigger::Slack, Trigger::Spare] {
        assert_eq!(run(trigger, 3, 10.0), (67.5, 0), "{trigger:?}");
    }
}

#[test]
fn exact_estimates_never_trigger() {
    let (w, p) = f1();
    let problem = Problem::new(&w, &p).unwrap();
    let actual = |task: TaskId, proc: ProcId| problem.exec_on(task, proc);
    for trigger in [Trigger::Slack, Trigger::Spare, Trigger::Always] {
        let outcome = run_offline(&problem, find("heft").unwrap(), trigger, actual).unwrap();
        assert!((outcome.schedule.makespan() - 67.5).abs() < 1e-9);
        let wanted = if trigger == Trigger::Always { 8 } else { 0 };
        assert_eq!(outcome.reschedulings, wanted, "{trigger:?}");
    }
}
