//! The worked example of selective rescheduling: fixture F1 of nine tasks on three machines.

#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

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
    let plan = find("heft").unwrap().plan(&problem, &Default::default()).unwrap();
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
fn the_run_in_which_task_1_is_late() {
    let (w, p) = f1();
    let problem = Problem::new(&w, &p).unwrap();
    let actual = |task: TaskId, proc: ProcId| {
        if task == TaskId(1) { 12.0 } else { problem.exec_on(task, proc) }
    };
    let outcome = run_offline(&problem, find("heft").unwrap(), Trigger::Slack, actual).unwrap();
    // Tasks 4 and 5 are 3 late, within their slack of 5 and 6; task 7 has none, and with it
    // planned again task 8 moves from m1 to m2.
    let real = [
        (1, 0.0, 10.0),
        (0, 14.5, 26.5),
        (1, 10.0, 28.0),
        (2, 19.0, 28.0),
        (0, 26.5, 35.5),
        (2, 32.5, 42.5),
        (1, 34.0, 50.0),
        (2, 48.5, 54.5),
        (2, 58.0, 68.0),
    ];
    for (task, (proc, start, finish)) in real.into_iter().enumerate() {
        let placement = outcome.schedule.placement(TaskId::new(task)).unwrap();
        let found = (placement.proc().0, placement.start, placement.finish);
        assert_eq!(found, (proc, start, finish), "task {task}");
    }
    assert_eq!(outcome.before, [TaskId(7)]);
}

#[test]
fn the_other_planners_on_the_same_tasks() {
    // (task, machine, start, finish, least spare time, slack), in the order of the sources.
    type Row = (u32, u32, f64, f64, f64, f64);
    let dls: &[Row] = &[
        (0, 1, 0.0, 10.0, 0.0, 0.0),
        (1, 1, 10.0, 21.0, 0.0, 1.0),
        (2, 2, 19.0, 29.0, 5.5, 11.5),
        (3, 1, 21.0, 25.0, 1.5, 7.5),
        (4, 0, 17.5, 26.5, 0.0, 0.0),
        (5, 0, 26.5, 38.5, 0.0, 0.0),
        (7, 2, 34.5, 40.5, 0.0, 6.0),
        (6, 2, 40.5, 50.5, 6.0, 6.0),
        (8, 2, 56.5, 66.5, 0.0, 0.0),
    ];
    let fcp: &[Row] = &[
        (0, 0, 0.0, 13.0, 0.0, 0.0),
        (2, 0, 13.0, 26.0, 0.0, 0.0),
        (1, 1, 17.5, 28.5, 0.0, 2.5),
        (3, 0, 26.0, 33.0, 0.0, 0.0),
        (4, 2, 23.0, 38.0, 3.0, 3.0),
        (5, 1, 28.5, 42.5, 2.5, 2.5),
        (6, 0, 33.0, 43.0, 0.0, 0.0),
        (7, 1, 45.0, 55.0, 0.0, 0.0),
        (8, 1, 55.0, 65.0, 0.0, 0.0),
    ];
    let lmt: &[Row] = &[
        (0, 1, 0.0, 10.0, 0.0, 0.0),
        (2, 1, 10.0, 28.0, 1.5, 1.5),
        (1, 0, 14.5, 23.5, 0.0, 0.0),
        (4, 2, 15.0, 30.0, 0.0, 2.5),
        (3, 0, 23.5, 30.5, 0.0, 0.0),
        (5, 2, 30.0, 40.0, 2.5, 2.5),
        (6, 2, 42.5, 52.5, 0.0, 0.0),
        (7, 0, 38.0, 49.0, 2.5, 2.5),
        (8, 1, 60.5, 70.5, 0.0, 0.0),
    ];
    let merging: &[Row] = &[
        (0, 1, 0.0, 10.0, 0.0, 0.0),
        (2, 2, 19.0, 29.0, 0.0, 0.0),
        (1, 1, 10.0, 21.0, 0.0, 0.5),
        (3, 1, 21.0, 25.0, 0.5, 1.0),
        (4, 0, 17.5, 26.5, 11.0, 11.5),
        (5, 2, 29.0, 39.0, 10.0, 10.0),
        (6, 1, 42.0, 58.0, 0.0, 0.0),
        (7, 0, 37.5, 48.5, 0.5, 0.5),
        (8, 1, 58.0, 68.0, 0.0, 0.0),
    ];
    let (w, p) = f1();
    let problem = Problem::new(&w, &p).unwrap();
    let all = [("dls-median", dls), ("fcp-meantime", fcp), ("lmt", lmt), ("lmt-merge", merging)];
    for (name, rows) in all {
        let plan = find(name).unwrap().plan(&problem, &Default::default()).unwrap();
        let spare = Spare::of(&problem, &plan);
        for &(task, proc, start, finish, least, slack) in rows {
            let placement = plan.placement(TaskId(task)).unwrap();
            let found = (placement.proc().0, placement.start, placement.finish);
            assert_eq!(found, (proc, start, finish), "{name}, task {task}");
            let found = (spare.min_spare[task as usize], spare.slack[task as usize]);
            assert_eq!(found, (least, slack), "{name}, spare time and slack of task {task}");
        }
    }
}

#[test]
fn a_delay_fires_only_beyond_its_threshold() {
    let (w, p) = f1();
    let problem = Problem::new(&w, &p).unwrap();
    let plan = find("heft").unwrap().plan(&problem, &Default::default()).unwrap();
    let spare = Spare::of(&problem, &plan);
    let fires = |trigger: Trigger, task: u32, delay: f64| {
        let start = plan.placement(TaskId(task)).unwrap().start;
        trigger.fires(TaskId(task), &plan, &spare, start + delay)
    };
    // Task 2: least spare time 6, slack 13.5.
    assert!(!fires(Trigger::Spare, 2, 6.0) && fires(Trigger::Spare, 2, 6.5));
    assert!(!fires(Trigger::Slack, 2, 13.5) && fires(Trigger::Slack, 2, 13.6));
    // Task 3: 0 and 7.5.
    assert!(fires(Trigger::Spare, 3, 0.1) && !fires(Trigger::Slack, 3, 7.5));
    // Ahead of the plan nothing fires.
    assert!(!fires(Trigger::Spare, 3, -1.0) && !fires(Trigger::Slack, 0, -1.0));
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
