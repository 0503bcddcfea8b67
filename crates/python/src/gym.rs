//! Runs that an agent steps through: the engine works on a thread of its own and waits at every decision.

use crate::errors::{bad_input, input, refused};
use crate::platform::{Platform_, Scenario_};
use crate::workflow::Workflow_;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use slackline_core::engine::{Ending, Recording, Stage};
use slackline_core::model::scenario::Knowledge;
use slackline_core::model::{HostId, Problem, ProcId, TaskId};
use slackline_core::react::{
    Decision, Dispatcher, Event, Policy, ReadyTasks, Situation, TaskState,
};
use slackline_schedule::list::ranks;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// An agent's action.
enum Action {
    Start(TaskId, HostId),
    /// Nothing more is started until something happens.
    Wait,
}

/// The state of a run as shown to an agent.
#[derive(Default)]
struct View {
    time: f64,
    /// Per task: 0 waiting, 1 ready, 2 placed, 3 running, 4 done.
    tasks: Vec<u8>,
    /// Per host: idle processors.
    idle: Vec<f32>,
    /// Per host: share of its speed.
    levels: Vec<f32>,
    /// The last action could not be done.
    invalid: bool,
    /// The run is over: whether all tasks are done, and why not.
    over: Option<(bool, String)>,
}

/// A policy whose decisions are made by an agent.
struct Asking {
    ready: ReadyTasks,
    views: SyncSender<View>,
    actions: Receiver<Action>,
}

impl Asking {
    fn view(&mut self, dispatcher: &Dispatcher<'_>, decisions: &[Decision], invalid: bool) -> View {
        let now = dispatcher.situation();
        let state = |state: &TaskState| match state {
            TaskState::Waiting => 0,
            TaskState::Placed { .. } => 2,
            TaskState::Running { .. } => 3,
            TaskState::Done(_) => 4,
        };
        let mut tasks: Vec<u8> = now.tasks.iter().map(state).collect();
        for task in self.ready.in_order(now) {
            if dispatcher.is_ready(task) {
                tasks[task.index()] = u8::from(dispatcher.has_place(task));
            }
        }
        // What was started at this call is placed.
        for decision in decisions {
            if let Decision::Start { task, .. } = decision {
                tasks[task.index()] = 2;
            }
        }
        let hosts = now.platform.host_ids();
        let idle = hosts.map(|host| dispatcher.idle_on(host) as f32).collect();
        let level = |host: HostId| match now.is_alive(host) {
            true => now.view.availability[host.index()] as f32,
            false => 0.0,
        };
        let levels = now.platform.host_ids().map(level).collect();
        View { time: now.now, tasks, idle, levels, invalid, over: None }
    }
}

impl Policy for Asking {
    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        self.ready.update(events, now);
        events.iter().any(slackline_core::react::frees_or_readies)
    }

    fn looks_at_progress(&self) -> bool {
        false
    }

    fn react(&mut self, _: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let gone = || Decision::GiveUp("the agent is gone".to_string());
        let mut dispatcher = Dispatcher::new(now);
        let lost = dispatcher.lost();
        if !lost.is_empty() {
            dispatcher.rewind(&lost);
            self.ready.update(&[Event::Start], dispatcher.situation());
            decisions.push(Decision::Rewind(lost));
        }
        let mut invalid = false;
        loop {
            let ready = self.ready.in_order(dispatcher.situation());
            let startable =
                |&task: &TaskId| dispatcher.is_ready(task) && dispatcher.has_place(task);
            if dispatcher.idle_procs() == 0 || !ready.iter().any(startable) {
                return;
            }
            let view = self.view(&dispatcher, decisions, invalid);
            if self.views.send(view).is_err() {
                return decisions.push(gone());
            }
            let Ok(action) = self.actions.recv() else { return decisions.push(gone()) };
            invalid = false;
            match action {
                Action::Start(task, host) => match dispatcher.place_on(task, host) {
                    Some(procs) if dispatcher.is_ready(task) => {
                        dispatcher.start(task, &procs);
                        decisions.push(Decision::Start { task, procs: procs.into() });
                    }
                    _ => invalid = true,
                },
                // Where nothing is under way, waiting would never end.
                Action::Wait if decisions.is_empty() && now.tasks.begun().next().is_none() => {
                    invalid = true;
                }
                Action::Wait => return,
            }
        }
    }
}

struct Thread {
    actions: Option<SyncSender<Action>>,
    views: Receiver<View>,
    engine: Option<JoinHandle<()>>,
    over: bool,
}

impl Drop for Thread {
    fn drop(&mut self) {
        // Without the sender the engine ends the run.
        self.actions = None;
        while self.views.try_recv().is_ok() {}
        let (_, nobody) = sync_channel(1);
        self.views = nobody;
        if let Some(engine) = self.engine.take() {
            let _ = engine.join();
        }
    }
}

/// One run, step by step.
#[pyclass(frozen, module = "slackline._native")]
pub(crate) struct Episode {
    thread: Mutex<Thread>,
}

/// Time, states of tasks, idle processors, levels, whether the last action was invalid, and how it ended.
type Seen<'py> = (
    f64,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    bool,
    Option<(bool, String)>,
);

fn floats<'py>(py: Python<'py>, values: &[f32]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    PyBytes::new(py, &bytes)
}

impl Episode {
    fn lock(&self) -> MutexGuard<'_, Thread> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next<'py>(&self, py: Python<'py>, action: Option<Action>) -> PyResult<Seen<'py>> {
        let view = py.detach(|| {
            let mut thread = self.lock();
            if thread.over {
                return Err(refused("this episode is over"));
            }
            if let Some(action) = action {
                let sent = thread.actions.as_ref().map(|actions| actions.send(action));
                if !matches!(sent, Some(Ok(()))) {
                    return Err(refused("this episode is over"));
                }
            }
            let view = thread.views.recv().map_err(|_| refused("this episode is over"))?;
            thread.over = view.over.is_some();
            Ok(view)
        })?;
        let tasks = PyBytes::new(py, &view.tasks);
        let (idle, levels) = (floats(py, &view.idle), floats(py, &view.levels));
        Ok((view.time, tasks, idle, levels, view.invalid, view.over))
    }
}

#[pymethods]
impl Episode {
    #[new]
    #[pyo3(signature = (workflow, platform, scenario = None, repetition = 0))]
    fn new(
        workflow: &Bound<'_, Workflow_>,
        platform: &Bound<'_, Platform_>,
        scenario: Option<&Bound<'_, Scenario_>>,
        repetition: u64,
    ) -> PyResult<Episode> {
        let workflow = Arc::new(workflow.get().frozen()?.workflow().clone());
        let platform = platform.get().platform.clone();
        let mut stage = Stage::new(workflow, platform.clone());
        if let Some(scenario) = scenario {
            let scenario = scenario.get().on(&platform, repetition)?;
            stage = stage.in_scenario(scenario, Knowledge::Estimates).map_err(input)?;
        }
        stage.problem().map_err(input)?;
        let (tell, views) = sync_channel(1);
        let (act, actions) = sync_channel(1);
        let run = move || {
            let mut policy = Asking { ready: ReadyTasks::default(), views: tell.clone(), actions };
            let view = match stage.run_as(&mut policy, Recording::Nothing, None) {
                Ok(outcome) => {
                    let over = match outcome.ending {
                        Ending::Finished => (true, String::new()),
                        Ending::CannotFinish(why) => (false, why),
                    };
                    let placed = |p: &Option<_>| if p.is_some() { 4 } else { 0 };
                    let tasks = outcome.schedule.placements.iter().map(placed).collect();
                    let hosts = stage.platform.hosts();
                    let idle = hosts.iter().map(|host| host.cores as f32).collect();
                    let levels = vec![1.0; hosts.len()];
                    let (time, over) = (outcome.makespan, Some(over));
                    View { time, tasks, idle, levels, invalid: false, over }
                }
                Err(error) => View { over: Some((false, error.to_string())), ..View::default() },
            };
            let _ = tell.send(view);
        };
        let engine = std::thread::Builder::new().name("slackline-episode".to_string()).spawn(run);
        let engine = Some(engine.map_err(|error| bad_input(&error.to_string()))?);
        let thread = Thread { actions: Some(act), views, engine, over: false };
        Ok(Episode { thread: Mutex::new(thread) })
    }

    /// The first decision.
    fn begin<'py>(&self, py: Python<'py>) -> PyResult<Seen<'py>> {
        self.next(py, None)
    }

    /// Starts a task on a host, or waits where there is none; returns the next decision.
    #[pyo3(signature = (task = None, host = 0))]
    fn step<'py>(&self, py: Python<'py>, task: Option<u32>, host: u32) -> PyResult<Seen<'py>> {
        let action = task.map_or(Action::Wait, |task| Action::Start(TaskId(task), HostId(host)));
        self.next(py, Some(action))
    }

    /// Ends the run where it is.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let mut thread = self.lock();
            let (_, views) = sync_channel(1);
            let ended = Thread { actions: None, views, engine: None, over: true };
            drop(std::mem::replace(&mut *thread, ended));
        });
    }
}

/// Figures of an episode that do not change: upward ranks, mean seconds of tasks, and a date before which no run ends.
#[pyfunction]
pub(crate) fn episode_facts(
    py: Python<'_>,
    workflow: &Bound<'_, Workflow_>,
    platform: &Bound<'_, Platform_>,
) -> PyResult<(Vec<f64>, Vec<f64>, f64)> {
    crate::problem::with_problem(py, workflow, platform, |problem: &Problem<'_>| {
        let mean = problem.workflow().tasks().map(|task| problem.mean_exec(task)).collect();
        let bound = slackline_schedule::bounds::lower_bound(problem);
        (ranks::upward(problem), mean, bound)
    })
}

/// The same run without an agent, for comparisons of cost: ready tasks in order, each to its quickest idle host. Returns the
/// makespan and the number of decisions.
#[pyfunction]
#[pyo3(signature = (workflow, platform, scenario = None))]
pub(crate) fn episode_bare(
    py: Python<'_>,
    workflow: &Bound<'_, Workflow_>,
    platform: &Bound<'_, Platform_>,
    scenario: Option<&Bound<'_, Scenario_>>,
) -> PyResult<(f64, usize)> {
    struct Greedy(ReadyTasks, usize);
    impl Policy for Greedy {
        fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
            self.0.update(events, now);
            events.iter().any(slackline_core::react::frees_or_readies)
        }
        fn looks_at_progress(&self) -> bool {
            false
        }
        fn react(&mut self, _: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
            let mut dispatcher = Dispatcher::new(now);
            for task in self.0.in_order(now) {
                let Ok(Some((_, procs))) = dispatcher.quickest(task) else { continue };
                dispatcher.start(task, &procs);
                self.1 += 1;
                decisions.push(Decision::Start {
                    task,
                    procs: procs.into_iter().collect::<Vec<ProcId>>().into(),
                });
            }
        }
    }
    let workflow = Arc::new(workflow.get().frozen()?.workflow().clone());
    let platform = platform.get().platform.clone();
    let scenario = scenario.map(|s| s.get().on(&platform, 0)).transpose()?;
    py.detach(|| {
        let mut stage = Stage::new(workflow, platform);
        if let Some(scenario) = scenario {
            stage = stage.in_scenario(scenario, Knowledge::Estimates).map_err(input)?;
        }
        let mut policy = Greedy(ReadyTasks::default(), 0);
        let outcome = stage.run_as(&mut policy, Recording::Nothing, None).map_err(input)?;
        Ok((outcome.makespan, policy.1))
    })
}
