//! Resources that concurrent tasks share in addition to cores, with the arithmetic by hand: plans, proofs, bounds, runs that
//! follow plans, and runs without one.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use proptest::prelude::*;
use slackline_engine::{Ending, Outcome, Stage};
use slackline_formats::instance;
use slackline_model::scenario::ActualMemory;
use slackline_model::schedule::{Limits, devices, keeps_pools, validate};
use slackline_model::{Problem, ProcId, Scenario, Schedule, TaskId};
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
fn small_tasks_pass_a_large_one_twice() {
    // h needs all of the memory; l1 to l6 of 10 s begin in pairs, 10 s apart in turn. Without patience h would
    // be the last: at 35. It is passed at 0 and at 5, and begins when those tasks have ended.
    let task = |id: &str, cost: u32, memory: u32| {
        format!(r#"{{"id": "{id}", "cost": {cost}, "memory": {memory}}}"#)
    };
    let mut tasks = vec![task("s", 5, 10), task("h", 5, 32)];
    tasks.extend((1..7).map(|n| task(&format!("l{n}"), 10, 10)));
    let (tasks, processors) = (tasks.join(", "), cores("m", 2));
    let stage = stage(&format!(
        r#"{{"tasks": [{tasks}], "edges": [], "hosts": [{{"id": "m", "memory": 32}}],
            "processors": [{processors}], "bandwidth": null}}"#
    ));
    let outcome = run(&stage, policy("work-queue").as_mut());
    // s and l1 begin at 0, l2 at 5: h is kept the host at 10, and begins when l2 has ended.
    assert_eq!(outcome.schedule.placement(TaskId(1)).unwrap().start, 15.0);
    assert_eq!(outcome.makespan, 40.0);
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
    for name in ["just-in-time", "static", "work-queue", "work-stealing", "slackline"] {
        let entry = policies::ALL.iter().find(|entry| entry.name == name).unwrap();
        let planner = Planner::from(registry::find("heft").unwrap());
        let mut policy = entry.policy(&Options::new(planner)).unwrap();
        assert_eq!(run(&stage, policy.as_mut()).makespan, 18.0, "{name}");
    }
}

/// Actual memory of tasks, by name, all after half of their time.
fn really(stage: Stage, used: &[(&str, f64)]) -> Stage {
    let one = |&(task, bytes): &(&str, f64)| ActualMemory {
        task: task.to_string(),
        bytes,
        at: ActualMemory::USUALLY_AT,
    };
    let scenario = Scenario { memory: used.iter().map(one).collect(), ..Scenario::default() };
    Stage { scenario, ..stage }
}

/// Hosts of 16 and 64 bytes with a core each.
fn small_and_large(tasks: &str) -> Stage {
    stage(&format!(
        r#"{{"tasks": [{tasks}], "edges": [],
            "hosts": [{{"id": "small", "memory": 16}}, {{"id": "large", "memory": 64}}],
            "processors": [{{"id": "s", "host": "small"}}, {{"id": "l", "host": "large"}}],
            "bandwidth": null}}"#
    ))
}

/// The policy of a name, planning with HEFT.
fn policy(name: &str) -> Box<dyn Policy> {
    let entry = policies::ALL.iter().find(|entry| entry.name == name).unwrap();
    let planner = Planner::from(registry::find("heft").unwrap());
    entry.policy(&Options::new(planner)).unwrap()
}

#[test]
fn what_runs_out_of_memory_is_tried_with_more() {
    // Demand 4, really 21: attempts at 4, 8 and 16 fail after 5 s each, 32 only fits the large host and
    // succeeds: 3 retries.
    let task = r#"{"id": "a", "cost": 10, "memory": 4}"#;
    for name in ["static", "just-in-time", "work-stealing", "slackline", "work-queue"] {
        let stage = really(small_and_large(task), &[("a", 21.0)]);
        let outcome = run(&stage, policy(name).as_mut());
        assert_eq!((outcome.makespan, outcome.counters.failures), (25.0, 3), "{name}");
        let placed = outcome.schedule.placement(TaskId(0)).unwrap();
        assert_eq!(placed.proc(), ProcId(1), "{name}");
    }
}

#[test]
fn more_than_the_largest_host_has_is_not_tried() {
    // 20, 40 and 64 fail.
    let task = r#"{"id": "a", "cost": 10, "memory": 20}"#;
    let stage = really(small_and_large(task), &[("a", 65.0)]);
    let outcome = stage.run(&mut slackline_react::JustInTime::default()).unwrap();
    assert_eq!(outcome.counters.failures, 3);
    let Ending::CannotFinish(why) = outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(why.contains("needs more than 64 B, the largest host has no more"), "{why}");
}

#[test]
fn what_has_enough_memory_or_demands_none_does_not_fail() {
    for memory in [r#", "memory": 21"#, ""] {
        let task = format!(r#"{{"id": "a", "cost": 10{memory}}}"#);
        let stage = really(small_and_large(&task), &[("a", 21.0)]);
        let outcome = run(&stage, &mut slackline_react::JustInTime::default());
        assert_eq!((outcome.counters.failures, outcome.makespan), (0, 10.0));
    }
}

#[test]
fn a_larger_grant_takes_of_the_pool() {
    // Two tasks of 8 of 24 bytes run together; a really needs 17: it fails at 5, and with 16 begins at once
    // beside b. It fails at 10 again, and ends at 20 with 24.
    let task = |id: &str| format!(r#"{{"id": "{id}", "cost": 10, "memory": 8}}"#);
    let (tasks, processors) = (["a", "b"].map(task).join(", "), cores("h", 2));
    for (memory, end) in [(24, 20.0), (23, 25.0)] {
        // With 23 in all it waits for b before it has 16.
        let text = format!(
            r#"{{"tasks": [{tasks}], "edges": [], "hosts": [{{"id": "h", "memory": {memory}}}],
                "processors": [{processors}], "bandwidth": null}}"#
        );
        for name in ["static", "just-in-time", "slackline"] {
            let stage = really(stage(&text), &[("a", 17.0)]);
            let outcome = stage.run(policy(name).as_mut()).unwrap();
            assert_eq!(outcome.ending, Ending::Finished);
            assert_eq!((outcome.counters.failures, outcome.makespan), (2, end), "{name}");
        }
    }
}

/// Random tasks that depend on earlier ones, and hosts on which memory binds: with so much memory, and with twice
/// as much.
fn shared() -> impl Strategy<Value = (String, String)> {
    type One = (u32, u32, usize, bool);
    let task = (1u32..20, 1u32..20, 0usize..8, any::<bool>());
    (prop::collection::vec(task, 2..10), 1usize..3, 20u32..40).prop_map(|(tasks, hosts, memory)| {
        let one = |(at, (cost, memory, _, licensed)): (usize, &One)| {
            let licence = if *licensed { r#", "resources": {"seat": 1}"# } else { "" };
            format!(r#"{{"id": "t{at}", "cost": {cost}, "memory": {memory}{licence}}}"#)
        };
        let edge = |(at, (.., from, _)): (usize, &One)| {
            (*from < at).then(|| format!(r#"{{"from": "t{from}", "to": "t{at}"}}"#))
        };
        let list: Vec<String> = tasks.iter().enumerate().map(one).collect();
        let edges: Vec<String> = tasks.iter().enumerate().filter_map(edge).collect();
        let text = |memory: u32| {
            let host = |h| format!(r#"{{"id": "h{h}", "memory": {memory}}}"#);
            let processors: Vec<String> = (0..hosts).map(|h| cores(&format!("h{h}"), 3)).collect();
            let hosts: Vec<String> = (0..hosts).map(host).collect();
            let (list, edges) = (list.join(", "), edges.join(", "));
            let (hosts, processors) = (hosts.join(", "), processors.join(", "));
            format!(
                r#"{{"tasks": [{list}], "edges": [{edges}], "hosts": [{hosts}],
                    "processors": [{processors}], "resources": {{"seat": 1}}, "bandwidth": null}}"#
            )
        };
        (text(memory), text(2 * memory))
    })
}

proptest! {
    #![proptest_config(slackline_testkit::cases(60))]

    /// Plans are valid, no sooner than their bounds, and followed to the date; optima are the same on any
    /// number of threads, and more memory makes none worse; forecasts of `slackline` know pools.
    #[test]
    fn plans_with_pools_end_when_they_say((text, roomier) in shared()) {
        let first = stage(&text);
        let problem = first.problem().unwrap();
        let bound = bounds::lower_bound(&problem);
        let mut ends: Vec<f64> = Vec::new();
        for name in ["heft", "mh", "peft", "minmin", "dls", "cpop", "best", "sa", "ga", "aco", "tabu"] {
            let algorithm = registry::find(name).unwrap();
            let request = Request { iterations: Some(10), ..Request::seeded(3) };
            let plan = algorithm.plan(&problem, &request).unwrap();
            prop_assert_eq!(validate(&problem, &plan, &Limits::default()), vec![], "{}", name);
            prop_assert!(plan.makespan() >= bound * (1.0 - 1e-9), "{} before the bound", name);
            let makespan = plan.makespan();
            ends.push(makespan);
            let mut policy = StaticPlan::of_schedule(plan, algorithm, Transfers::Push);
            let end = run(&first, &mut policy).makespan;
            prop_assert!((end - makespan).abs() <= 1e-9 * makespan, "{}: {} not {}", name, end, makespan);
        }
        // These begin with the plan of HEFT.
        prop_assert!(ends[7] <= ends[0] * (1.0 + 1e-9) && ends[8] <= ends[0] * (1.0 + 1e-9));
        let threads = |threads| Request { threads: Some(threads), ..Request::default() };
        let solved = exact::solve(&problem, &threads(1)).unwrap();
        let again = exact::solve(&problem, &threads(2)).unwrap();
        prop_assert_eq!(&solved.schedule, &again.schedule);
        let more = stage(&roomier);
        let more = exact::solve(&more.problem().unwrap(), &Request::default()).unwrap();
        if solved.is_optimal() && more.is_optimal() {
            let (less, more) = (solved.schedule.makespan(), more.schedule.makespan());
            prop_assert!(more <= less * (1.0 + 1e-9) && bound <= less * (1.0 + 1e-9));
        }
        // Nothing changes here: plans of `slackline` come out as forecast.
        let end = |name| run(&first, policy(name).as_mut()).makespan;
        prop_assert!(end("slackline") <= end("static") * (1.0 + 1e-9));
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

/// Random tasks with files, and bytes: each writes one, which later tasks may read.
fn chained() -> impl Strategy<Value = (Vec<(u32, u32, Vec<usize>)>, usize)> {
    let task = (1u32..9, 1u32..40, prop::collection::vec(0usize..8, 0..3));
    (prop::collection::vec(task, 3..9), 1usize..4)
}

/// The least room in which the tasks can be done one at a time: over all orders, by sets of finished tasks.
fn least_room(tasks: &[(u32, u32, Vec<usize>)]) -> u32 {
    let n = tasks.len();
    let reads = |task: usize, file: usize| tasks[task].2.iter().any(|&f| f == file && f < task);
    let is_result = |file: usize| !(0..n).any(|task| reads(task, file));
    let live = |set: usize| -> u32 {
        let kept =
            |file: &usize| is_result(*file) || (0..n).any(|t| set >> t & 1 == 0 && reads(t, *file));
        (0..n).filter(|f| set >> f & 1 == 1).filter(kept).map(|f| tasks[f].1).sum()
    };
    let mut least = vec![u32::MAX; 1 << n];
    least[0] = 0;
    for set in 0..1usize << n {
        if least[set] == u32::MAX {
            continue;
        }
        let ready = |t: &usize| (0..n).all(|f| !reads(*t, f) || set >> f & 1 == 1);
        for task in (0..n).filter(|t| set >> t & 1 == 0).filter(ready) {
            let needs = least[set].max(live(set) + tasks[task].1);
            let next = set | 1 << task;
            least[next] = least[next].min(needs);
        }
    }
    least[(1 << n) - 1]
}

proptest! {
    #![proptest_config(slackline_testkit::cases(48))]

    /// Every policy finishes where some order fits one task at a time.
    #[test]
    fn no_run_is_stuck_where_some_order_fits((tasks, cores_each) in chained(), spare in 0u32..30) {
        let room = least_room(&tasks) + spare.saturating_sub(10);
        let (mut list, mut files) = (Vec::new(), Vec::new());
        for (at, (cost, size, _)) in tasks.iter().enumerate() {
            list.push(format!(r#"{{"id": "t{at}", "cost": {cost}}}"#));
            let reads = |t: &usize| tasks[*t].2.iter().any(|&f| f == at && f < *t);
            let to: Vec<String> =
                (0..tasks.len()).filter(reads).map(|t| format!("\"t{t}\"")).collect();
            let to = to.join(", ");
            files.push(format!(r#"{{"id": "f{at}", "size": {size}, "from": "t{at}", "to": [{to}]}}"#));
        }
        let (list, files, processors) = (list.join(", "), files.join(", "), cores("h", cores_each));
        let stage = stage(&format!(
            r#"{{"tasks": [{list}], "files": [{files}], "edges": [], "storage": {room},
                "hosts": [{{"id": "h"}}], "processors": [{processors}], "bandwidth": null}}"#
        ));
        for name in ["just-in-time", "static", "slackline", "work-queue", "work-stealing", "gtp", "aheft"] {
            let outcome = stage.run(policy(name).as_mut()).unwrap();
            prop_assert_eq!(outcome.ending, Ending::Finished, "{} in {}", name, room);
        }
    }
}

/// A random problem with pools of every kind: memory, devices, a licence of the platform, an amount of hosts,
/// windows, and tasks of one or two cores.
fn every_kind(independent: bool) -> impl Strategy<Value = String> {
    type One = (u32, u32, u32, u32, usize);
    let task = (1u32..20, 0u32..20, 1u32..3, 0u32..8, 0usize..8);
    let host = (20u32..40, 0usize..4, any::<bool>());
    let tasks = prop::collection::vec(task, 2..9);
    (tasks, prop::collection::vec(host, 1..4), any::<bool>()).prop_map(move |(tasks, hosts, sends)| {
        let one = |(at, &(cost, memory, width, takes, _)): (usize, &One)| {
            let width = if independent { 1 } else { width };
            let mut text =
                format!(r#"{{"id": "t{at}", "cost": {cost}, "memory": {memory}, "width": [{width}, {width}]"#);
            if takes & 1 != 0 {
                text += r#", "gpus": 1"#;
            }
            text += match takes >> 1 {
                1 => r#", "resources": {"seat": 1}"#,
                2 => r#", "resources": {"disk": 0.7}"#,
                3 => r#", "resources": {"seat": 1, "disk": 0.4}"#,
                _ => "",
            };
            text + "}"
        };
        let edge = |(at, &(cost, .., from)): (usize, &One)| {
            (from < at && !independent)
                .then(|| format!(r#"{{"from": "t{from}", "to": "t{at}", "data": {}}}"#, cost % 5))
        };
        let window = |kind: usize| match kind {
            0 => r#", "windows": [[0, 25], [30, 60], [70, 900]]"#,
            1 => r#", "windows": [[5, 900]]"#,
            _ => "",
        };
        let list: Vec<String> = tasks.iter().enumerate().map(one).collect();
        let edges: Vec<String> = tasks.iter().enumerate().filter_map(edge).collect();
        let (mut machines, mut processors) = (Vec::new(), Vec::new());
        for (at, &(memory, windows, devices)) in hosts.iter().enumerate() {
            let gpus = if devices || at == 0 { r#", "gpus": 1"# } else { "" };
            let windows = window(windows);
            machines.push(format!(
                r#"{{"id": "h{at}", "memory": {memory}, "resources": {{"disk": 1.2}}{gpus}{windows}}}"#
            ));
            processors.push(cores(&format!("h{at}"), 3));
        }
        let (list, edges, machines) = (list.join(", "), edges.join(", "), machines.join(", "));
        let (processors, speed) = (processors.join(", "), if sends { "1" } else { "null" });
        format!(
            r#"{{"tasks": [{list}], "edges": [{edges}], "hosts": [{machines}],
                "processors": [{processors}], "resources": {{"seat": 1}}, "bandwidth": {speed}}}"#
        )
    })
}

/// Whether every task is in a window of its host.
fn keeps_windows(problem: &Problem<'_>, schedule: &Schedule) -> bool {
    schedule.placements.iter().flatten().all(|placement| {
        let windows = problem.pools().windows(problem.host_of(placement.proc()));
        let holds = |&(from, to): &(f64, f64)| {
            from <= placement.start + 1e-9 && placement.finish <= to + 1e-9
        };
        windows.is_empty() || windows.iter().any(holds)
    })
}

proptest! {
    #![proptest_config(config(20))]

    /// No planner of the registry exceeds a pool or leaves a window, or ends before the bound.
    #[test]
    fn every_planner_keeps_every_pool((chained, loose) in (every_kind(false), every_kind(true))) {
        for text in [chained, loose] {
            let stage = stage(&text);
            let problem = stage.problem().unwrap();
            let bound = bounds::lower_bound(&problem);
            let request = Request { iterations: Some(5), ..Request::seeded(1) };
            for algorithm in registry::ALL.iter().filter(|a| a.lacks(&problem, &request.limits).is_none()) {
                let name = algorithm.name;
                let plan = algorithm.plan(&problem, &request);
                let plan = plan.map_err(|why| TestCaseError::fail(format!("{name}: {why} in {text}")))?;
                prop_assert_eq!(validate(&problem, &plan, &Limits::default()), vec![], "{} in {}", name, text);
                prop_assert!(plan.makespan() >= bound * (1.0 - 1e-9), "{} before the bound", name);
            }
        }
    }

    /// No run under a policy of the registry exceeds a pool or leaves a window, and none is left undone.
    #[test]
    fn every_policy_keeps_every_pool((chained, loose) in (every_kind(false), every_kind(true))) {
        for text in [chained, loose] {
            let stage = stage(&text);
            let problem = stage.problem().unwrap();
            let bound = bounds::lower_bound(&problem);
            let planner = Planner::from(registry::find("heft").unwrap());
            let limits = Limits::default();
            let takes = |entry: &&policies::Entry| entry.needs.iter().all(|need| need.is_met(&problem, &limits));
            for entry in policies::ALL.iter().filter(takes) {
                let name = entry.name;
                let mut policy = entry.policy(&Options::new(planner.clone())).unwrap();
                let outcome = stage.run(policy.as_mut()).unwrap();
                prop_assert_eq!(&outcome.ending, &Ending::Finished, "{} in {}", name, text);
                prop_assert_eq!(outcome.counters.rejected, 0, "{} in {}", name, text);
                prop_assert!(keeps_pools(&problem, &outcome.schedule), "{} in {}", name, text);
                prop_assert!(keeps_windows(&problem, &outcome.schedule), "{} in {}", name, text);
                prop_assert!(outcome.makespan >= bound * (1.0 - 1e-9), "{} before the bound", name);
            }
        }
    }
}
