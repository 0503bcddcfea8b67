//! Tasks that fail at every attempt: whatever the policy, they are tried as often as the settings allow, and
//! keep nothing from running that does not depend on them.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::cases;
use common::forward;
use common::world::{World, harsh, plain};
use proptest::prelude::*;
use slackline_engine::{
    Accepted, Arrivals, Backend, BackendError, Coming, Computation, Ending, Execution, OpError,
    OpId, Outcome, Reached, RunSnapshot, Settings, Signal, SignalKind, Simulated,
};
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::scenario::When;
use slackline_model::schedule::Limits;
use slackline_model::trace::Happening;
use slackline_model::{Problem, ProcId, Task, TaskId, Terms, Workflow, WorkflowBuilder};
use slackline_react::gtp::Period;
use slackline_react::registry::{self, Options};
use slackline_react::{Policy, TaskState};
use slackline_schedule::registry::find;
use slackline_schedule::{Need, Planner};
use slackline_simulate::Models;
use std::collections::BTreeMap;
use std::sync::Arc;

/// When a task fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Failure {
    /// Its request is refused at once.
    AtOnce,
    /// It computes first.
    AtTheEnd,
}

/// A backend on which some tasks fail at every attempt.
struct Failing<'b> {
    inner: &'b mut dyn Backend,
    failing: &'b BTreeMap<TaskId, Failure>,
    under_way: BTreeMap<OpId, TaskId>,
    /// Attempts by task.
    attempts: BTreeMap<TaskId, u32>,
}

impl<'b> Failing<'b> {
    fn new(inner: &'b mut dyn Backend, failing: &'b BTreeMap<TaskId, Failure>) -> Failing<'b> {
        Failing { inner, failing, under_way: BTreeMap::new(), attempts: BTreeMap::new() }
    }
}

impl Backend for Failing<'_> {
    forward!(abilities charges now transfer cancel measure delete lease release reattach observe outlook);

    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<Accepted, OpError> {
        *self.attempts.entry(work.task).or_default() += 1;
        match self.failing.get(&work.task) {
            Some(Failure::AtOnce) => return Err(OpError::Transient("it cannot begin".to_string())),
            Some(Failure::AtTheEnd) => _ = self.under_way.insert(op, work.task),
            None => {}
        }
        self.inner.compute(op, work)
    }

    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        let from = signals.len();
        let reached = self.inner.next(until, signals)?;
        for signal in &mut signals[from..] {
            if let SignalKind::Done(op, _) = signal.what
                && self.under_way.contains_key(&op)
            {
                signal.what = SignalKind::Failed(op, OpError::Transient("exit code 1".to_string()));
            }
        }
        Ok(reached)
    }
}

/// Every policy of the registry that takes the workflow.
fn policies(world: &World) -> impl Iterator<Item = (&'static str, Box<dyn Policy>)> {
    let workflow = world.workflow();
    let independent = workflow.edge_count() == 0 && !world.origin;
    let limits = Limits { budget: Some(1e9), deadline: Some(1e9) };
    let mut planner = Planner::from(find("heft").unwrap());
    planner.request.limits = limits;
    let period = Period::Seconds(7.0);
    let options = Options { transfers: world.transfers, period, ..Options::new(planner) };
    let takes = move |e: &&registry::Entry| independent || !e.needs.contains(&Need::Independent);
    registry::ALL.iter().filter(takes).map(move |e| (e.name, e.policy(&options).unwrap()))
}

/// Marks the failing tasks and those that depend on one.
fn blocked(workflow: &Workflow, failing: &BTreeMap<TaskId, Failure>) -> Vec<bool> {
    let first: Vec<TaskId> = failing.keys().copied().collect();
    let mut blocked = workflow.descendants(&first, |_| true);
    first.iter().for_each(|task| blocked[task.index()] = true);
    blocked
}

/// Runs a policy; gives the outcome and how often each task was tried.
fn run(
    world: &World,
    name: &str,
    policy: &mut dyn Policy,
    failing: &BTreeMap<TaskId, Failure>,
) -> (Outcome, BTreeMap<TaskId, u32>) {
    let mut looks = 0;
    let mut watch = |glance: &RunSnapshot<'_>| {
        looks += 1;
        let open: Vec<_> = glance.situation.tasks.iter().map(TaskState::is_done).collect();
        assert!(looks < 5_000, "{name} does not end at {}: {open:?}", glance.situation.now);
    };
    let execution = Execution { watch: Some(&mut watch), ..world.execution() };
    world.with_backend(|backend| {
        let mut backend = Failing::new(backend, failing);
        let outcome = execution.run(policy, &mut backend).unwrap();
        (outcome, backend.attempts)
    })
}

fn check(world: &World, failing: &BTreeMap<TaskId, Failure>) -> Result<(), TestCaseError> {
    let workflow = world.workflow();
    let blocked = blocked(&workflow, failing);
    for (name, mut policy) in policies(world) {
        let (outcome, attempts) = run(world, name, policy.as_mut(), failing);
        let mut stopped: BTreeMap<TaskId, u32> = BTreeMap::new();
        for record in outcome.trace.records() {
            if let Happening::TaskCancelled { task } = record.what {
                *stopped.entry(task).or_default() += 1;
            }
        }
        for (task, &attempts) in attempts.iter().filter(|(task, _)| failing.contains_key(task)) {
            // What a policy stopped to run it elsewhere did not fail.
            let stopped = stopped.get(task).copied().unwrap_or(0);
            let message =
                format!("{name}: {task:?} tried {attempts} times, stopped {stopped} times");
            prop_assert!(attempts <= world.retries + 1 + stopped, "{}", message);
        }
        for task in workflow.tasks() {
            let done = outcome.schedule.placements[task.index()].is_some();
            prop_assert_eq!(
                done,
                !blocked[task.index()],
                "{}: {:?}, {:?}",
                name,
                task,
                &outcome.ending
            );
            // A failing task that depends on no other is tried as often as may be.
            let parents = { workflow.predecessors(task) }.any(|(p, _)| blocked[p.index()]);
            if failing.contains_key(&task) && !parents {
                let enough = attempts.get(&task) >= Some(&(world.retries + 1));
                prop_assert!(
                    enough,
                    "{}: {:?} in {:?}, {:?}",
                    name,
                    task,
                    attempts,
                    &outcome.ending
                );
            }
        }
        match &outcome.ending {
            Ending::Finished => prop_assert!(failing.is_empty(), "{}", name),
            Ending::CannotFinish(why) => {
                prop_assert!(why.contains("was abandoned: it failed"), "{}: {}", name, why);
            }
        }
        let abandoned = |r: &&slackline_model::trace::Record| matches!(&r.what, Happening::TaskAbandoned { task, .. } if failing.contains_key(task));
        let told = outcome.trace.records().iter().filter(abandoned).count();
        prop_assert_eq!(told, outcome.counters.abandoned, "{}", name);
    }
    Ok(())
}

fn failures() -> impl Strategy<Value = Vec<Option<Failure>>> {
    let failure = prop_oneof![
        6 => Just(None),
        1 => Just(Some(Failure::AtOnce)),
        2 => Just(Some(Failure::AtTheEnd)),
    ];
    prop::collection::vec(failure, 14)
}

proptest! {
    #![proptest_config(cases(40))]
    #[test]
    fn what_fails_is_tried_as_often_as_allowed_and_blocks_only_what_needs_it(
        world in prop_oneof![plain(), harsh()],
        failures in failures(),
        retries in 0u32..4,
        independent in prop::bool::weighted(0.3),
    ) {
        let mut world = World { retries, ..world };
        world.outages.iter_mut().for_each(Vec::clear);
        if independent {
            world.edges.clear();
            world.files.clear();
            world.origin = false;
        }
        let tasks = failures.iter().take(world.times.len()).enumerate();
        let failing = tasks.filter_map(|(t, failure)| Some((TaskId::new(t), (*failure)?))).collect();
        check(&world, &failing)?;
    }
}

/// One processor, a task that fails and one that does not.
#[test]
fn a_pause_holds_no_processor() {
    let world = World { retries: 1, ..World::still(vec![vec![1.0], vec![1.0]], &[]) };
    let failing = BTreeMap::from([(TaskId(0), Failure::AtTheEnd)]);
    check(&world, &failing).unwrap();
    for (name, mut policy) in policies(&world) {
        let (outcome, _) = run(&world, name, policy.as_mut(), &failing);
        // Who begins with the task that fails does the other in the pause of a second.
        let started = |r: &slackline_model::trace::Record| match r.what {
            Happening::TaskStarted { task, .. } => Some(task),
            _ => None,
        };
        let order: Vec<TaskId> = outcome.trace.records().iter().filter_map(started).collect();
        let (fails, other) = (TaskId(0), TaskId(1));
        let expected = if order[0] == fails {
            (vec![fails, other, fails], 3.0)
        } else {
            (vec![other, fails, fails], 4.0)
        };
        assert_eq!((order, outcome.makespan), expected, "{name}");
    }
}

/// A workflow with a task that fails, one that waits for it and one that does not; two that follow, the first
/// when nothing of the one before it is left to run.
#[test]
fn a_workflow_with_an_abandoned_task_lets_others_pass() {
    let mut b = PlatformBuilder::new("one");
    b.set_matrix(Matrix::uniform(Some(1.0), 0.0));
    let root = b.root().unwrap();
    b.add_host(root, HostSpec { price: 1.0, ..HostSpec::new("h", 1.0) }).unwrap();
    let platform = Arc::new(b.build().unwrap());
    let graph = |name: &str, works: &[f64], edges: &[(u32, u32)]| {
        let mut b = WorkflowBuilder::new(name);
        for (index, &work) in works.iter().enumerate() {
            b.add_task(Task::new(format!("t{index}"), work)).unwrap();
        }
        edges.iter().for_each(|&(a, c)| b.add_edge(TaskId(a), TaskId(c), 1.0).unwrap());
        Arc::new(b.build().unwrap())
    };
    let limits = Limits { budget: Some(1e6), deadline: Some(1e6) };
    let terms = Terms { limits, ..Terms::default() };
    let failing = BTreeMap::from([(TaskId(0), Failure::AtTheEnd)]);
    let world = World::still(vec![vec![1.0], vec![1.0]], &[(0, 1, 1.0)]);
    for (name, mut policy) in policies(&world) {
        let coming =
            |workflow: Arc<Workflow>, when: When| Coming { workflow, when, terms: terms.clone() };
        let mut supply = Arrivals::new(vec![
            coming(graph("first", &[1.0, 1.0, 2.0], &[(0, 1)]), When::At(0.0)),
            coming(graph("second", &[1.0, 1.0], &[(0, 1)]), When::AfterTasks(1.0)),
            coming(graph("third", &[1.0], &[]), When::At(0.0)),
        ])
        .unwrap();
        let all = supply.all().unwrap();
        let problem = Problem::new(&all, &platform).unwrap();
        let truth = |task: TaskId, procs: &[ProcId]| problem.exec_on(task, procs[0]);
        let models = Models::preset("matrix").unwrap();
        let mut backend = Simulated::new(platform.clone(), models, Box::new(truth)).unwrap();
        let execution = Execution {
            begins: supply.begins(),
            terms: supply.terms(),
            settings: Settings { retries: 2, ..Settings::default() },
            ..Execution::new(supply.first().unwrap(), platform.clone())
        };
        let execution = Execution { supply: Some(&mut supply), ..execution };
        let mut backend = Failing::new(&mut backend, &failing);
        let outcome = execution.run(policy.as_mut(), &mut backend).unwrap();
        let done: Vec<bool> = outcome.schedule.placements.iter().map(Option::is_some).collect();
        assert_eq!(done, [false, false, true, true, true, true], "{name}: {:?}", outcome.ending);
        assert_eq!(backend.attempts[&TaskId(0)], 3, "{name}");
        assert!(matches!(outcome.ending, Ending::CannotFinish(_)), "{name}");
    }
}
