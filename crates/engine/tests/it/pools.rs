//! What concurrent tasks share besides cores, with the arithmetic by hand: plans, proofs, bounds, runs that
//! follow plans, and runs without one.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use slackline_engine::{Ending, Outcome, Stage};
use slackline_formats::instance;
use slackline_model::schedule::{Limits, devices, keeps_pools, validate};
use slackline_model::{Problem, Schedule, TaskId};
use slackline_react::registry::{self as policies, Options};
use slackline_react::{Policy, StaticPlan, Transfers};
use slackline_schedule::{Planner, Request, bounds, exact, registry};
use std::sync::Arc;

fn stage(text: &str) -> Stage {
    let read = instance::read(text).unwrap();
    Stage::new(Arc::new(read.workflow), Arc::new(read.platform))
}

fn plan(problem: &Problem<'_>, name: &str) -> Schedule {
    let plan = registry::find(name).unwrap().plan(problem, &Request::default()).unwrap();
    assert_eq!(validate(problem, &plan, &Limits::default()), [], "{name}");
    plan
}

fn run(stage: &Stage, policy: &mut dyn Policy) -> Outcome {
    let outcome = stage.run(policy).unwrap();
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.counters.rejected, 0);
    let problem = stage.problem().unwrap();
    assert!(keeps_pools(&problem, &outcome.schedule));
    outcome
}

/// A host of so many cores, as its processors are written.
fn cores(host: &str, count: usize) -> String {
    let one = |core| format!(r#"{{"id": "{host}.{core}", "host": "{host}"}}"#);
    (0..count).map(one).collect::<Vec<_>>().join(", ")
}

/// Two tasks of 20 GB on a host of 2 cores and 32 GB: never together.
fn two_large() -> String {
    let processors = cores("h", 2);
    format!(
        r#"{{"tasks": [{{"id": "a", "cost": 10, "memory": 20}}, {{"id": "b", "cost": 8, "memory": 20}}],
            "edges": [], "hosts": [{{"id": "h", "memory": 32}}], "processors": [{processors}],
            "bandwidth": null}}"#
    )
}

#[test]
fn every_planner_takes_18_seconds_for_two_tasks_that_exclude_each_other() {
    let stage = stage(&two_large());
    let problem = stage.problem().unwrap();
    // (10 + 8) x 20 / 32 = 11.25 by area; as each takes more than half, 10 + 8.
    assert_eq!(bounds::lower_bound(&problem), 18.0);
    let request = Request { iterations: Some(20), ..Request::default() };
    for algorithm in registry::ALL.iter().filter(|a| a.lacks(&problem, &request.limits).is_none()) {
        let plan = algorithm.plan(&problem, &request).unwrap();
        assert_eq!(validate(&problem, &plan, &Limits::default()), [], "{}", algorithm.name);
        assert_eq!(plan.makespan(), 18.0, "{}", algorithm.name);
    }
    let solved = exact::solve(&problem, &request).unwrap();
    assert!(solved.is_optimal() && solved.schedule.makespan() == 18.0);
}

#[test]
fn devices_are_counted_and_given_out_by_start() {
    // Two devices; x 4 s, z 10 s, y 5 s, one each. HEFT: z and y first, x after y: 10 s.
    // Min-min: x and y first, z after x: 14 s.
    let task = |id, cost| format!(r#"{{"id": "{id}", "cost": {cost}, "gpus": 1}}"#);
    let tasks = [task("x", 4), task("z", 10), task("y", 5)].join(", ");
    let processors = cores("h", 3);
    let stage = stage(&format!(
        r#"{{"tasks": [{tasks}], "edges": [], "hosts": [{{"id": "h", "gpus": 2}}],
            "processors": [{processors}], "bandwidth": null}}"#
    ));
    let problem = stage.problem().unwrap();
    let heft = plan(&problem, "heft");
    assert_eq!(heft.makespan(), 10.0);
    assert_eq!(devices(&problem, &heft), [vec![1], vec![0], vec![1]]);
    assert_eq!(plan(&problem, "minmin").makespan(), 14.0);
}

#[test]
fn a_licence_of_the_platform_is_held_on_any_host() {
    // a 6 s, b 5 s, c 4 s need the licence, d 9 s does not: 15 s, on whichever of two hosts.
    let licensed =
        |id, cost| format!(r#"{{"id": "{id}", "cost": {cost}, "resources": {{"matlab": 1}}}}"#);
    let tasks = [licensed("a", 6), licensed("b", 5), licensed("c", 4)].join(", ");
    let stage = stage(&format!(
        r#"{{"tasks": [{tasks}, {{"id": "d", "cost": 9}}], "edges": [], "resources": {{"matlab": 1}},
            "processors": [{{"id": "p"}}, {{"id": "q"}}], "bandwidth": null}}"#
    ));
    let problem = stage.problem().unwrap();
    assert_eq!(bounds::lower_bound(&problem), 15.0);
    for name in ["heft", "mh", "peft", "dls", "exact"] {
        assert_eq!(plan(&problem, name).makespan(), 15.0, "{name}");
    }
}

#[test]
fn the_first_that_cannot_begin_reserves() {
    // r 10 s 20 GB, h 9 s 30 GB, l1 8 s, l2 7.5 s, l3 7 s of 10 GB each, 2 cores, 32 GB. At 0 r begins and
    // h reserves 10; l1 ends at 8 and begins; l2 would put h off (10 + 30 > 32): h [10, 19), then the rest.
    let task =
        |id, cost: f64, memory| format!(r#"{{"id": "{id}", "cost": {cost}, "memory": {memory}}}"#);
    let tasks = [
        task("r", 10.0, 20),
        task("h", 9.0, 30),
        task("l1", 8.0, 10),
        task("l2", 7.5, 10),
        task("l3", 7.0, 10),
    ];
    let (tasks, processors) = (tasks.join(", "), cores("m", 2));
    let stage = stage(&format!(
        r#"{{"tasks": [{tasks}], "edges": [], "hosts": [{{"id": "m", "memory": 32}}],
            "processors": [{processors}], "bandwidth": null}}"#
    ));
    let outcome = run(&stage, &mut slackline_react::JustInTime::default());
    assert_eq!(outcome.makespan, 26.5);
    assert_eq!(outcome.schedule.placement(TaskId(1)).unwrap().start, 10.0);
}

#[test]
fn a_plan_is_followed_in_the_order_of_its_pools() {
    // a 10 s 12 GB -> t1 10 s 20 GB -> c 20 s; t2 15 s 20 GB would fit beside a, but then t1 waits until 15.
    let processors = cores("h", 2);
    let stage = stage(&format!(
        r#"{{"tasks": [{{"id": "a", "cost": 10, "memory": 12}}, {{"id": "t1", "cost": 10, "memory": 20}},
                       {{"id": "c", "cost": 20}}, {{"id": "t2", "cost": 15, "memory": 20}}],
            "edges": [{{"from": "a", "to": "t1"}}, {{"from": "t1", "to": "c"}}],
            "hosts": [{{"id": "h", "memory": 32}}], "processors": [{processors}], "bandwidth": null}}"#
    ));
    let problem = stage.problem().unwrap();
    let heft = plan(&problem, "heft");
    assert_eq!(heft.makespan(), 40.0);
    let mut policy =
        StaticPlan::of_schedule(heft.clone(), registry::find("heft").unwrap(), Transfers::Push);
    let outcome = run(&stage, &mut policy);
    assert_eq!(outcome.schedule.placements, heft.placements);
}

#[test]
fn a_window_holds_the_whole_of_a_task() {
    let stage = stage(
        r#"{"tasks": [{"id": "a", "cost": 6}, {"id": "b", "cost": 6}], "edges": [],
            "hosts": [{"id": "h", "windows": [[0, 10], [12, 30]]}],
            "processors": [{"id": "h.0", "host": "h"}], "bandwidth": null}"#,
    );
    let problem = stage.problem().unwrap();
    for name in ["heft", "minmin", "best", "exact"] {
        assert_eq!(plan(&problem, name).makespan(), 18.0, "{name}");
    }
    for name in ["just-in-time", "static"] {
        let entry = policies::ALL.iter().find(|entry| entry.name == name).unwrap();
        let planner = Planner::from(registry::find("heft").unwrap());
        let mut policy = entry.policy(&Options::new(planner)).unwrap();
        assert_eq!(run(&stage, policy.as_mut()).makespan, 18.0, "{name}");
    }
}

#[test]
fn two_chains_finish_in_the_room_of_one() {
    // Two chains that write 14, 10 and 1: the first pair of steps together fills 28, and both second steps
    // need 10 more. One chain after the other takes 14 + 10 and a result of 1.
    let task = |name: &str, cost| format!(r#"{{"id": "{name}", "cost": {cost}}}"#);
    let file = |name: &str, size, to: Option<&str>| {
        let to = to.map_or(String::new(), |to| format!("\"{to}\""));
        format!(r#"{{"id": "f-{name}", "size": {size}, "from": "{name}", "to": [{to}]}}"#)
    };
    let (mut tasks, mut files) = (Vec::new(), Vec::new());
    for (cost, step) in [(3, 0), (2, 1), (1, 2)] {
        for chain in ["a", "b"] {
            let name = format!("{chain}{step}");
            tasks.push(task(&name, cost));
            let next = format!("{chain}{}", step + 1);
            files.push(file(&name, [14, 10, 1][step], (step < 2).then_some(&next)));
        }
    }
    let (tasks, files) = (tasks.join(", "), files.join(", "));
    for count in [1, 2] {
        for capacity in [25, 30, 40] {
            let processors = cores("h", count);
            let stage = stage(&format!(
                r#"{{"tasks": [{tasks}], "files": [{files}], "edges": [], "storage": {capacity},
                    "hosts": [{{"id": "h"}}], "processors": [{processors}], "bandwidth": null}}"#
            ));
            for name in ["just-in-time", "static", "slackline"] {
                let entry = policies::ALL.iter().find(|entry| entry.name == name).unwrap();
                let planner = Planner::from(registry::find("heft").unwrap());
                let mut policy = entry.policy(&Options::new(planner)).unwrap();
                let outcome = stage.run(policy.as_mut()).unwrap();
                let what = format!("{name}, {count} cores, {capacity}");
                assert_eq!(outcome.ending, Ending::Finished, "{what}");
                assert!(outcome.makespan >= if capacity == 40 { 8.0 } else { 11.0 }, "{what}");
            }
        }
    }
}
