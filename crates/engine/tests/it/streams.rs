//! Properties of every policy for several workflows, over random streams.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use slackline_engine::{
    Arrivals, Coming, Ending, Execution, Logged, Outcome, Repeat, RunSnapshot, Settings, Simulated,
};
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::scenario::When;
use slackline_model::schedule::Limits;
use slackline_model::{
    Platform, Problem, ProcId, Task, TaskId, Terms, Workflow, WorkflowBuilder, approx,
};
use slackline_react::registry::{self, Options};
use slackline_react::{Policy, Situation, TaskState};
use slackline_simulate::Models;
use std::sync::Arc;

/// One workflow of a stream: gap to the one before, works, edges, part of the way to the largest
/// budget, deadline in critical paths.
#[derive(Clone, Debug)]
struct Drawn {
    gap: f64,
    works: Vec<f64>,
    edges: Vec<(usize, usize, f64)>,
    budget: f64,
    deadline: f64,
}

#[derive(Clone, Debug)]
struct Stream {
    workflows: Vec<Drawn>,
    speeds: Vec<f64>,
    anticipated: bool,
    central: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let works = prop::collection::vec(1..20u32, 1..7);
    let edges = prop::collection::vec((0..7usize, 0..7usize, 0..6u32), 0..8);
    (0..15u32, works, edges, 0.0..1.0f64, 0.5..6.0f64).prop_map(
        |(gap, works, edges, budget, deadline)| {
            let n = works.len();
            let mut edges: Vec<_> = edges
                .into_iter()
                .map(|(a, b, d)| (a % n, b % n, f64::from(d)))
                .filter(|(a, b, _)| a < b)
                .collect();
            edges.sort_by_key(|e| (e.0, e.1));
            edges.dedup_by_key(|e| (e.0, e.1));
            let works = works.into_iter().map(f64::from).collect();
            Drawn { gap: f64::from(gap), works, edges, budget, deadline }
        },
    )
}

fn streams() -> impl Strategy<Value = Stream> {
    let speeds = prop::collection::vec(prop::sample::select(vec![0.5, 1.0, 2.0, 4.0]), 1..4);
    (prop::collection::vec(drawn(), 1..5), speeds, any::<bool>(), any::<bool>()).prop_map(
        |(workflows, speeds, anticipated, central)| Stream {
            workflows,
            speeds,
            anticipated: anticipated && !central,
            central,
        },
    )
}

fn platform(speeds: &[f64]) -> Arc<Platform> {
    let mut b = PlatformBuilder::new("some");
    b.set_matrix(Matrix::uniform(Some(1.0), 0.0));
    let root = b.root().unwrap();
    for (i, &speed) in speeds.iter().enumerate() {
        let mut spec = HostSpec::new(format!("p{i}"), speed);
        spec.price = speed * (1.0 + speed) / 2.0;
        b.add_host(root, spec).unwrap();
    }
    Arc::new(b.build().unwrap())
}

fn graph(name: String, drawn: &Drawn) -> Workflow {
    let mut b = WorkflowBuilder::new(name);
    let ids: Vec<TaskId> = (0..drawn.works.len())
        .map(|i| b.add_task(Task::new(format!("t{i}"), drawn.works[i])).unwrap())
        .collect();
    for &(from, to, data) in &drawn.edges {
        b.add_edge(ids[from], ids[to], data).unwrap();
    }
    b.build().unwrap()
}

/// Seconds a task holds a processor.
fn held(problem: &Problem<'_>, task: TaskId, proc: ProcId, central: bool) -> f64 {
    let workflow = problem.workflow();
    let bytes = workflow.inputs(task).map(|f| workflow.file_bytes(f));
    let reading: f64 = bytes.map(|b| problem.mean_transfer(b)).sum();
    problem.exec_on(task, proc) + if central { reading } else { 0.0 }
}

fn coming(stream: &Stream, platform: &Platform) -> Vec<Coming> {
    let mut date = 0.0;
    let one = |(index, drawn): (usize, &Drawn)| {
        let workflow = graph(format!("w{index}"), drawn);
        let problem = Problem::new(&workflow, platform).unwrap();
        let cost = |t: TaskId| {
            problem
                .proc_ids()
                .map(|p| held(&problem, t, p, stream.central) * problem.price(p))
                .collect::<Vec<_>>()
        };
        let least: f64 =
            workflow.tasks().map(|t| cost(t).into_iter().fold(f64::INFINITY, f64::min)).sum();
        let most: f64 = workflow.tasks().map(|t| cost(t).into_iter().fold(0.0, f64::max)).sum();
        let path = workflow.critical_path(|t| problem.mean_exec(t), |_| 0.0).length;
        date += drawn.gap;
        let limits = Limits {
            budget: Some(least + drawn.budget * (most - least)),
            deadline: Some(drawn.deadline * path),
        };
        let terms = Terms { limits, ..Terms::default() };
        Coming { workflow: Arc::new(workflow), when: When::At(date), terms }
    };
    stream.workflows.iter().enumerate().map(one).collect()
}

fn policy(name: &str) -> Box<dyn Policy> {
    let planner = slackline_schedule::registry::find("heft").unwrap();
    registry::find(name).unwrap().policy(&Options::new(planner)).unwrap()
}

/// Runs a policy by name; `watch` hears of every instant after its decisions.
fn run(stream: &Stream, name: &str, watch: &mut dyn FnMut(&Situation)) -> Outcome {
    run_by(stream, policy(name).as_mut(), watch)
}

fn run_by(stream: &Stream, policy: &mut dyn Policy, watch: &mut dyn FnMut(&Situation)) -> Outcome {
    let platform = platform(&stream.speeds);
    let mut supply = Arrivals::new(coming(stream, &platform)).unwrap();
    let all = supply.all().unwrap();
    let problem = Problem::new(&all, &platform).unwrap();
    let truth = |task: TaskId, procs: &[ProcId]| problem.exec_on(task, procs[0]);
    let models = Models::preset("matrix").unwrap();
    let mut backend = Simulated::new(platform.clone(), models, Box::new(truth)).unwrap();
    let mut look = |glance: &RunSnapshot<'_>| watch(glance.situation);
    let execution = Execution {
        begins: supply.begins(),
        terms: supply.terms(),
        settings: Settings {
            anticipated: stream.anticipated,
            central: stream.central,
            ..Settings::default()
        },
        watch: Some(&mut look),
        ..Execution::new(supply.first().unwrap(), platform.clone())
    };
    let execution = Execution { supply: Some(&mut supply), ..execution };
    execution.run(policy, &mut backend).unwrap()
}

/// Policies that leave no processor idle while a task is ready.
const BUSY: [&str; 7] =
    ["rank-hybd", "fdws", "online-minmin", "online-maxmin", "fairness-dynamic", "srpt", "fcfs"];

/// Policies that keep to budgets, whatever they give up.
const THRIFTY: [&str; 11] = [
    "b-rank-hybd1",
    "b-rank-hybd2",
    "b-fdws1",
    "b-fdws2",
    "b-fdws3",
    "b-fdws4",
    "mw-dbs",
    "fdws2-ft",
    "fdws2-q",
    "mw-minmin",
    "mw-maxmin",
];

/// Policies that promise every workflow its end.
const PATIENT: [&str; 10] = [
    "owm",
    "exclusive",
    "fdws-queues",
    "b-rank-hybd1",
    "b-rank-hybd2",
    "b-fdws1",
    "b-fdws2",
    "b-fdws3",
    "b-fdws4",
    "just-in-time",
];

fn is_ready(now: &Situation, task: TaskId) -> bool {
    let parents = now.workflow.predecessors(task);
    matches!(now.task(task), TaskState::Waiting) && { parents }.all(|(p, _)| now.task(p).is_done())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..slackline_testkit::cases(96) })]

    #[test]
    fn nobody_starves_and_nothing_idles(stream in streams()) {
        for policy in BUSY.iter().chain(&PATIENT) {
            let mut idled = None;
            let outcome = run(&stream, policy, &mut |now| {
                let mut busy = vec![false; now.host_of.len()];
                for state in now.tasks.iter().filter(|s| !s.is_done()) {
                    state.procs().into_iter().flatten().for_each(|p| busy[p.index()] = true);
                }
                let waits = now.workflow.tasks().find(|&t| is_ready(now, t));
                if busy.contains(&false) && waits.is_some() && BUSY.contains(policy) {
                    idled = idled.or(Some(now.now));
                }
            });
            prop_assert_eq!(&outcome.ending, &Ending::Finished, "{}", policy);
            prop_assert!(outcome.finishes().iter().all(|f| f.is_finite()), "{}", policy);
            prop_assert_eq!(outcome.counters.rejected, 0, "{}", policy);
            prop_assert_eq!(idled, None, "{}: a processor idles", policy);
            let again = run(&stream, policy, &mut |_| {});
            prop_assert_eq!(format!("{:?}", outcome.schedule), format!("{:?}", again.schedule));
        }
    }

    #[test]
    fn what_was_decided_is_repeated(stream in streams()) {
        for name in BUSY.iter().chain(&PATIENT).chain(&THRIFTY).chain(&["slackline"]) {
            let mut first = policy(name);
            let mut logged = Logged::new(first.as_mut());
            let outcome = run_by(&stream, &mut logged, &mut |_| {});
            let log = logged.log;
            let mut second = policy(name);
            let mut logged = Logged::new(second.as_mut());
            let again = run_by(&stream, &mut logged, &mut |_| {});
            prop_assert_eq!(log.first_difference(&logged.log), None, "{}", name);
            let repeated = run_by(&stream, &mut Repeat::new(log), &mut |_| {});
            for other in [again, repeated] {
                prop_assert_eq!(&outcome.ending, &other.ending, "{}", name);
                prop_assert_eq!(&outcome.schedule.placements, &other.schedule.placements, "{}", name);
                // Who was given up, and why.
                prop_assert_eq!(&outcome.arrived, &other.arrived, "{}", name);
            }
        }
    }

    #[test]
    fn budgets_are_kept_and_the_late_given_up(stream in streams()) {
        let platform = platform(&stream.speeds);
        for policy in THRIFTY {
            let outcome = run(&stream, policy, &mut |_| {});
            prop_assert_eq!(&outcome.ending, &Ending::Finished, "{}", policy);
            let mut spent = vec![0.0; outcome.arrived.len()];
            for (placement, &part) in outcome.schedule.placements.iter().zip(&outcome.part_of) {
                let Some(placement) = placement else { continue };
                let price = platform.host(slackline_model::HostId(placement.proc().0)).price;
                spent[part as usize] += placement.seconds() * price;
            }
            for ((arrived, spent), finish) in outcome.arrived.iter().zip(spent).zip(outcome.finishes()) {
                let budget = arrived.terms.limits.budget.unwrap();
                prop_assert!(approx::le(spent, budget + 1e-9), "{policy}: {spent} of {budget}");
                // Who is not done was given up, and nobody before the deadline.
                prop_assert_eq!(finish.is_infinite(), arrived.abandoned.is_some(), "{}", policy);
            }
        }
    }
}
