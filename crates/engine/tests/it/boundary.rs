//! One policy of each kind through the same door: workflows that arrive, files that are shared,
//! tasks that appear at run time and spread over hosts.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use slackline_engine::{
    Arrivals, Coming, Ending, Execution, Inputs, Outcome, Settings, Simulated, SupplyError,
    Unfolding,
};
use slackline_model::platform::{
    DeclaredRoute, HostSpec, LinkSpec, Matrix, PlatformBuilder, RoutingKind,
};
use slackline_model::scenario::When;
use slackline_model::schedule::Limits;
use slackline_model::trace::Happening;
use slackline_model::{
    HostId, Platform, Problem, ProcId, SpeedUp, Task, TaskId, Terms, Workflow, WorkflowBuilder,
};
use slackline_react::concurrent::{Concurrent, Order, Place, Pool};
use slackline_react::moldable::Dmheft;
use slackline_react::registry::Options;
use slackline_react::{Policy, WorkQueue};
use slackline_schedule::Need;
use slackline_simulate::Models;
use std::sync::Arc;

fn jobs(name: &str, works: &[f64], edges: &[(u32, u32, f64)]) -> Arc<Workflow> {
    let mut b = WorkflowBuilder::new(name);
    for (i, &work) in works.iter().enumerate() {
        b.add_task(Task::new(format!("{}", i + 1), work)).unwrap();
    }
    for &(from, to, seconds) in edges {
        b.add_edge(TaskId(from - 1), TaskId(to - 1), seconds).unwrap();
    }
    Arc::new(b.build().unwrap())
}

/// `A4@P2[8-28]`: what ran where and when, in order of start.
fn story(outcome: &Outcome) -> String {
    let mut runs: Vec<(f64, u32, String)> = Vec::new();
    for task in outcome.workflow.tasks() {
        let p = outcome.schedule.placement(task).unwrap();
        let name = outcome.workflow.task_name(task).replace('/', "");
        let text = format!("{name}@P{}[{}-{}]", p.proc().0 + 1, p.start, p.finish);
        runs.push((p.start, p.proc().0, text));
    }
    runs.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    runs.into_iter().map(|r| r.2).collect::<Vec<_>>().join(" ")
}

#[test]
fn fdws_serves_three_workflows_as_published() {
    let a = jobs(
        "A",
        &[4.0, 8.0, 6.0, 10.0, 4.0],
        &[(1, 2, 2.0), (1, 3, 4.0), (1, 4, 3.0), (2, 5, 2.0), (3, 5, 1.0), (4, 5, 5.0)],
    );
    let b = jobs("B", &[6.0, 4.0, 5.0], &[(1, 2, 2.0), (2, 3, 2.0)]);
    let fork = [(1, 2, 1.0), (1, 3, 1.0), (1, 4, 1.0), (2, 5, 1.0), (3, 5, 1.0), (4, 5, 1.0)];
    let c = jobs("C", &[2.0, 5.0, 5.0, 5.0, 2.0], &fork);
    let mut p = PlatformBuilder::new("three");
    p.set_matrix(Matrix::uniform(Some(1.0), 0.0));
    let root = p.root().unwrap();
    for (name, speed) in [("P1", 0.25), ("P2", 0.5), ("P3", 1.0)] {
        p.add_host(root, HostSpec::new(name, speed)).unwrap();
    }
    let platform = Arc::new(p.build().unwrap());
    let terms = Terms::default;
    let at = |workflow, date| Coming { workflow, when: When::At(date), terms: terms() };
    let mut supply = Arrivals::new(vec![at(a, 0.0), at(b, 0.0), at(c, 10.0)]).unwrap();
    let all = supply.all().unwrap();
    let problem = Problem::new(&all, &platform).unwrap();
    let truth = |task: TaskId, procs: &[ProcId]| problem.exec_on(task, procs[0]);
    let models = Models::preset("matrix").unwrap();
    let mut backend = Simulated::new(platform.clone(), models, Box::new(truth)).unwrap();
    let mut policy = Concurrent::new(Pool::OneEach, Order::Progress, Place::FirstFinish);
    let first = supply.first().unwrap();
    let settings = Settings { anticipated: true, ..Settings::default() };
    let execution = Execution {
        supply: Some(&mut supply),
        settings,
        ..Execution::new(first, platform.clone())
    };
    let outcome = execution.run(&mut policy, &mut backend).unwrap();
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.counters.rejected, 0);
    assert_eq!(
        story(&outcome),
        "B1@P3[0-6] A1@P2[0-8] B2@P3[6-10] A4@P2[8-28] B3@P3[10-15] A2@P1[10-42] A3@P3[15-21] \
         C1@P3[21-23] C2@P3[23-28] C3@P3[28-33] C4@P2[28-38] C5@P3[39-41] A5@P3[44-48]"
    );
    assert_eq!(outcome.finishes(), [48.0, 15.0, 41.0]);
    assert_eq!(outcome.arrived[2].at, 10.0);
}

#[test]
fn a_workflow_arrives_when_half_of_the_one_before_is_done() {
    let chain = |name| jobs(name, &[2.0, 3.0], &[(1, 2, 0.0)]);
    let mut p = PlatformBuilder::new("two");
    p.set_matrix(Matrix::uniform(Some(1.0), 0.0));
    let root = p.root().unwrap();
    for name in ["P1", "P2"] {
        p.add_host(root, HostSpec::new(name, 1.0)).unwrap();
    }
    let platform = Arc::new(p.build().unwrap());
    let coming = |when, deadline| {
        let limits = Limits { deadline, budget: None };
        Coming { workflow: chain("w"), when, terms: Terms { limits, ..Terms::default() } }
    };
    let arrivals = || {
        let second = coming(When::AfterTasks(0.5), Some(8.0));
        let third = coming(When::AfterDeadline(0.5), None);
        Arrivals::new(vec![coming(When::At(0.0), None), second, third]).unwrap()
    };
    let all = arrivals().all().unwrap();
    let problem = Problem::new(&all, &platform).unwrap();
    let truth = |task: TaskId, procs: &[ProcId]| problem.exec_on(task, procs[0]);
    let models = Models::preset("matrix").unwrap();
    let of_graphs = |e: &&slackline_react::registry::Entry| !e.needs.contains(&Need::Independent);
    for entry in slackline_react::registry::ALL.iter().filter(of_graphs) {
        let mut backend =
            Simulated::new(platform.clone(), models.clone(), Box::new(truth)).unwrap();
        let planner = slackline_schedule::registry::find("heft").unwrap();
        let period = slackline_react::gtp::Period::Seconds(1.0);
        let options = Options { period, ..Options::new(planner) };
        let mut policy = entry.policy(&options).unwrap();
        let mut supply = arrivals();
        let first = supply.first().unwrap();
        let execution =
            Execution { supply: Some(&mut supply), ..Execution::new(first, platform.clone()) };
        let outcome = execution.run(policy.as_mut(), &mut backend).unwrap();
        // 2 s: half of the first is done; the second has 8 s, so the third comes 4 s later.
        let dates: Vec<f64> = outcome.arrived.iter().map(|a| a.at).collect();
        assert_eq!(dates, [0.0, 2.0, 6.0], "{}", entry.name);
        assert_eq!(outcome.ending, Ending::Finished, "{}", entry.name);
        // Two processors are enough for everything to run as soon as it can; only GTP's literal
        // costing puts the last one behind a task that runs.
        let ends = match entry.name {
            name if name.starts_with("gtp") => [5.0, 7.0, 12.0],
            // Each has both to itself.
            "exclusive" => [5.0, 10.0, 15.0],
            _ => [5.0, 7.0, 11.0],
        };
        assert_eq!(outcome.finishes(), ends, "{}", entry.name);
    }
}

/// The user's machine and two clusters, each with its own link.
fn sweep_platform() -> Platform {
    let mut b = PlatformBuilder::new("sweep");
    let zone = b.add_zone(None, "all", RoutingKind::Full).unwrap();
    let user = b.add_host(zone, HostSpec::new("user", 1.0)).unwrap();
    b.set_origin(user);
    for (name, cores) in [("c1", 2), ("c2", 1)] {
        let host = b.add_host(zone, HostSpec { cores, ..HostSpec::new(name, 1.0) }).unwrap();
        let link = b.add_link(LinkSpec::new(format!("to-{name}"), 1.0, 0.0)).unwrap();
        b.add_route(zone, DeclaredRoute::between(user, host, [link])).unwrap();
    }
    b.build().unwrap()
}

#[test]
fn a_work_queue_sends_a_shared_file_once_per_cluster() {
    let mut b = WorkflowBuilder::new("sweep");
    let shared = b.add_file("shared", 4.0).unwrap();
    let own = b.add_file("own", 2.0).unwrap();
    for i in 0..3 {
        let task = b.add_task(Task::new(format!("t{i}"), 3.0)).unwrap();
        b.reads(task, shared);
        if i == 2 {
            b.reads(task, own);
        }
        let result = b.add_file(&format!("result{i}"), 1.0).unwrap();
        b.writes(task, result).unwrap();
    }
    let (w, p) = (Arc::new(b.build().unwrap()), Arc::new(sweep_platform()));
    let models = Models::preset("fifo").unwrap();
    let truth = |_: TaskId, _: &[ProcId]| 3.0;
    let mut backend = Simulated::new(p.clone(), models, Box::new(truth)).unwrap();
    let execution = Execution { inputs: Inputs::At(HostId(0)), ..Execution::new(w, p.clone()) };
    let outcome = execution.run(&mut WorkQueue::default(), &mut backend).unwrap();
    assert_eq!(outcome.ending, Ending::Finished);
    // c1: the shared file 0-4, both tasks 4-7, results 7-8 and 8-9 one after the other.
    // c2: the shared file 0-4, its own 4-6, the task 6-9, its result 9-10.
    let start = |t| outcome.schedule.placement(TaskId(t)).unwrap().start;
    assert_eq!([start(0), start(1), start(2)], [4.0, 4.0, 6.0]);
    assert_eq!(outcome.makespan, 10.0);
    assert_eq!((outcome.counters.transfers, outcome.counters.bytes_moved), (6, 13.0));
    assert_eq!(outcome.counters.rejected, 0);
}

fn moldable(name: &str, work: f64) -> Task {
    let speedup = SpeedUp::Amdahl { serial: 0.0 };
    Task { speedup, min_width: 1, max_width: 4, spread: true, ..Task::new(name, work) }
}

#[test]
fn dmheft_places_tasks_that_appear_over_several_hosts() {
    let mut p = PlatformBuilder::new("cluster");
    p.set_matrix(Matrix::uniform(Some(1.0), 0.0));
    let root = p.root().unwrap();
    for i in 0..4 {
        let spec = HostSpec { class: Some("node".into()), ..HostSpec::new(format!("n{i}"), 1.0) };
        p.add_host(root, spec).unwrap();
    }
    let platform = Arc::new(p.build().unwrap());
    let mut b = WorkflowBuilder::new("recursion");
    b.add_task(moldable("root", 8.0)).unwrap();
    let workflow = Arc::new(b.build().unwrap());
    // The end of the root shows that there are two halves.
    let unfold = |ended: TaskId, known: &Workflow| {
        if ended != TaskId(0) {
            return Ok(None);
        }
        let mut more = known.reopen().unwrap();
        for name in ["left", "right"] {
            let half = more.add_task(moldable(name, 4.0)).unwrap();
            more.add_edge(ended, half, 4.0).unwrap();
        }
        more.build().map(Some).map_err(|e| SupplyError::from(e.to_string()))
    };
    let work = [8.0, 4.0, 4.0];
    let truth = |task: TaskId, procs: &[ProcId]| work[task.index()] / procs.len() as f64;
    let models = Models::preset("matrix").unwrap();
    let mut backend = Simulated::new(platform.clone(), models, Box::new(truth)).unwrap();
    let mut supply = Unfolding(unfold);
    let execution =
        Execution { supply: Some(&mut supply), ..Execution::new(workflow, platform.clone()) };
    let mut policy: Box<dyn Policy> = Box::new(Dmheft::new());
    let outcome = execution.run(policy.as_mut(), &mut backend).unwrap();
    assert_eq!(outcome.ending, Ending::Finished);
    let at = |t| outcome.schedule.placement(TaskId(t)).unwrap();
    // Alone, the root takes all four; then each half gets two, and its data, spread in quarters,
    // must become halves: one byte on each way, one second.
    assert_eq!((at(0).procs().len(), at(0).finish), (4, 2.0));
    for (task, procs) in [(1, [0, 1]), (2, [2, 3])] {
        assert_eq!(at(task).procs(), procs.map(ProcId));
        assert_eq!((at(task).start, at(task).finish), (3.0, 5.0));
    }
    let blocks: Vec<(u32, u32, f64)> = outcome
        .trace
        .records()
        .iter()
        .filter_map(|r| match r.what {
            Happening::TransferStarted { from, to, bytes, .. } => Some((from.0, to.0, bytes)),
            _ => None,
        })
        .collect();
    let expected = [(1, 0, 1.0), (2, 1, 1.0), (3, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0), (2, 3, 1.0)];
    assert_eq!(blocks, expected);
    assert_eq!(outcome.counters.transfers, 2);
}

/// Files in a folder and those below it.
fn sources(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn portable_crates_name_no_operating_system() {
    let crates = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let words = ["std::os::", "rustix", "wait4", "libc::", "std::process::", "/proc/"];
    let mut found = Vec::new();
    for name in
        ["model", "schedule", "simulate", "react", "engine", "formats", "generate", "analysis"]
    {
        sources(&crates.join(name).join("src"), &mut found);
    }
    assert!(found.len() > 100, "{}", found.len());
    for path in found {
        let text = std::fs::read_to_string(&path).unwrap();
        let named = words.iter().find(|word| text.contains(**word));
        assert_eq!(named, None, "{}", path.display());
    }
}
