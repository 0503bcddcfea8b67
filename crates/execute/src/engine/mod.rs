//! The engine: keeps the situation, tells the policy what happened, carries out what it decides.

mod decide;
mod dispatch;
mod signals;

pub use dispatch::Dispatch;

use crate::backend::{Backend, BackendError, OpId, Reached, Signal};
use crate::outcome::{Counters, Ending, Outcome};
use dispatch::Queues;
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, Platform, ProcId, Schedule, TaskId, Trace, Workflow};
use slackline_react::{Decision, Event, Policy, Situation, TaskState};
use std::collections::BTreeMap;
use std::sync::Arc;

/// When the policy learns of changes of the platform.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Monitoring {
    /// At once; each change is an event.
    #[default]
    Continuous,
    /// Only when the policy wakes up, as it is then.
    OnWakeUp,
}

/// How a run is carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// When the policy learns of changes.
    pub monitoring: Monitoring,
    /// Which task of a queue may start.
    pub dispatch: Dispatch,
}

/// A transfer or a computation under way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Task(TaskId),
    File { file: FileId, from: HostId, to: HostId },
}

/// Times a policy may be called at one instant because decisions were rejected.
const SECOND_THOUGHTS: usize = 8;

/// Wake-ups in a row without anything moving after which a run is given up.
const PATIENCE: usize = 3;

/// Drives a policy over a backend until all tasks are done or nothing can move any more.
pub fn run(
    workflow: Arc<Workflow>,
    platform: Arc<Platform>,
    policy: &mut dyn Policy,
    backend: &mut dyn Backend,
    settings: Settings,
) -> Result<Outcome, BackendError> {
    let mut engine = Engine::new(workflow, platform, backend, settings);
    let ending = engine.drive(policy)?;
    Ok(engine.outcome(ending))
}

struct Engine<'b> {
    backend: &'b mut dyn Backend,
    settings: Settings,
    situation: Situation,
    queues: Queues,
    ops: BTreeMap<OpId, Op>,
    /// Operation of a running task.
    task_op: Vec<Option<OpId>>,
    /// Operation that brings a file to a host.
    arriving: BTreeMap<(FileId, HostId), OpId>,
    next_op: u64,
    wake_at: f64,
    idle_wakes: usize,
    plans: usize,
    trace: Trace,
    counters: Counters,
    events: Vec<Event>,
    /// Hosts known to be lost.
    lost: Vec<bool>,
    host_of: Vec<HostId>,
    gave_up: Option<String>,
    /// Starts of this instant, told to the policy at the next.
    events_started: Vec<Event>,
}

impl<'b> Engine<'b> {
    fn new(
        workflow: Arc<Workflow>,
        platform: Arc<Platform>,
        backend: &'b mut dyn Backend,
        settings: Settings,
    ) -> Self {
        let host_of: Vec<HostId> = platform
            .host_ids()
            .flat_map(|h| std::iter::repeat_n(h, platform.host(h).cores as usize))
            .collect();
        let tasks = workflow.len();
        Engine {
            backend,
            settings,
            queues: Queues::new(tasks, host_of.len()),
            lost: vec![false; platform.hosts().len()],
            situation: Situation::new(workflow, platform),
            ops: BTreeMap::new(),
            task_op: vec![None; tasks],
            arriving: BTreeMap::new(),
            next_op: 0,
            wake_at: f64::INFINITY,
            idle_wakes: 0,
            plans: 0,
            trace: Trace::default(),
            counters: Counters::default(),
            events: vec![Event::Start],
            host_of,
            gave_up: None,
            events_started: Vec::new(),
        }
    }

    fn drive(&mut self, policy: &mut dyn Policy) -> Result<Ending, BackendError> {
        self.observe();
        let mut signals = Vec::new();
        loop {
            self.consult(policy)?;
            self.dispatch()?;
            if let Some(why) = self.gave_up.take() {
                return Ok(Ending::CannotFinish(why));
            }
            if self.situation.is_finished() {
                return Ok(Ending::Finished);
            }
            let until = self.wake_at;
            if until == f64::INFINITY && !self.backend.moves() {
                return Ok(Ending::CannotFinish(self.who_waits()));
            }
            signals.clear();
            self.events.append(&mut self.events_started);
            let reached = self.backend.next(until, &mut signals)?;
            self.situation.now = self.backend.now();
            for signal in signals.drain(..) {
                self.take_signal(signal)?;
            }
            if self.situation.now >= self.wake_at && reached != Reached::Idle {
                self.wake_up()?;
            } else if reached == Reached::Idle {
                if self.wake_at == f64::INFINITY {
                    return Ok(Ending::CannotFinish(self.who_waits()));
                }
                // Nothing is under way, but the policy wants to be called.
                self.backend.next(self.wake_at, &mut signals)?;
                self.situation.now = self.backend.now().max(self.wake_at);
                self.wake_up()?;
            }
            if self.idle_wakes > PATIENCE {
                return Ok(Ending::CannotFinish(self.who_waits()));
            }
        }
    }

    /// The date the policy asked for has come.
    fn wake_up(&mut self) -> Result<(), BackendError> {
        self.wake_at = f64::INFINITY;
        self.events.push(Event::WakeUp);
        self.idle_wakes = if self.backend.moves() { 0 } else { self.idle_wakes + 1 };
        if self.settings.monitoring == Monitoring::OnWakeUp {
            self.notice_losses()?;
            self.observe();
        }
        Ok(())
    }

    /// Calls the policy with the events of this instant, again while decisions are rejected.
    fn consult(&mut self, policy: &mut dyn Policy) -> Result<(), BackendError> {
        let mut decisions: Vec<Decision> = Vec::new();
        for _ in 0..SECOND_THOUGHTS {
            if self.events.is_empty() {
                return Ok(());
            }
            self.measure_progress();
            let events = std::mem::take(&mut self.events);
            policy.react(&events, &self.situation, &mut decisions);
            for decision in decisions.drain(..) {
                if let Err(why) = self.apply(&decision)? {
                    self.counters.rejected += 1;
                    self.events.push(Event::Rejected { decision: Box::new(decision), why });
                }
            }
        }
        if let Some(Event::Rejected { why, .. }) = self.events.first() {
            self.gave_up = Some(format!("the policy repeats a decision that is refused: {why}"));
        }
        Ok(())
    }

    /// Progress of what is under way, for the policy's eyes.
    fn measure_progress(&mut self) {
        for (&id, &op) in &self.ops {
            let done = self.backend.progress(id);
            match op {
                Op::Task(task) => self.situation.progress[task.index()] = done,
                Op::File { file, to, .. } => {
                    let copies = &mut self.situation.copies[file.index()];
                    if let Some(copy) = copies.iter_mut().find(|c| c.host == to) {
                        // Only completion makes it complete.
                        copy.fraction = done.min(1.0 - 1e-12);
                    }
                }
            }
        }
    }

    fn observe(&mut self) {
        self.backend.observe(&mut self.situation.view);
        for (host, &lost) in self.lost.iter().enumerate() {
            if lost {
                self.situation.view.availability[host] = 0.0;
            }
        }
    }

    fn new_op(&mut self, op: Op) -> OpId {
        let id = OpId(self.next_op);
        self.next_op += 1;
        self.ops.insert(id, op);
        id
    }

    fn log(&mut self, what: Happening) {
        self.trace.push(self.situation.now, what);
    }

    fn host(&self, procs: &[ProcId]) -> HostId {
        procs.first().map_or(HostId(0), |p| self.host_of[p.index()])
    }

    /// Why nothing moves: the first few tasks that wait, and for what.
    fn who_waits(&self) -> String {
        let workflow = &self.situation.workflow;
        let platform = &self.situation.platform;
        let mut reasons = Vec::new();
        let mut waiting = 0;
        for task in workflow.tasks().filter(|&t| !self.situation.task(t).is_done()) {
            waiting += 1;
            if reasons.len() == 3 {
                continue;
            }
            let name = workflow.task_name(task);
            let reason = match self.queues.assigned(task) {
                None => format!("'{name}' has no processor"),
                Some(procs) => {
                    let host = self.host(procs);
                    let host_name = &platform.host(host).name;
                    let missing = workflow.inputs(task).find(|&f| !self.situation.has(f, host));
                    if self.lost[host.index()] || !self.situation.is_alive(host) {
                        format!("'{name}' waits for host '{host_name}', which is gone")
                    } else if let Some(file) = missing {
                        let producer = workflow.producer(file);
                        let made = producer.is_some_and(|p| self.situation.task(p).is_done());
                        let label = workflow.file_label(file);
                        match producer {
                            Some(p) if !made => {
                                format!("'{name}' waits for '{}'", workflow.task_name(p))
                            }
                            _ => format!(
                                "'{name}' on '{host_name}' waits for '{label}', of which no copy is left"
                            ),
                        }
                    } else {
                        format!("'{name}' waits for its turn on '{host_name}'")
                    }
                }
            };
            // What is itself stuck behind another task explains nothing.
            if !reason.contains("waits for '") || reasons.is_empty() {
                reasons.push(reason);
            }
        }
        format!("{waiting} tasks wait: {}", reasons.join("; "))
    }

    fn outcome(self, ending: Ending) -> Outcome {
        let placements = self
            .situation
            .tasks
            .iter()
            .map(|state| match state {
                TaskState::Done(placement) => Some(placement.clone()),
                _ => None,
            })
            .collect();
        let schedule = Schedule { placements, ..Schedule::default() };
        let makespan = match ending {
            Ending::Finished => schedule.makespan(),
            Ending::CannotFinish(_) => self.situation.now,
        };
        Outcome { ending, makespan, schedule, trace: self.trace, counters: self.counters }
    }
}

impl Engine<'_> {
    fn take_signal(&mut self, signal: Signal) -> Result<(), BackendError> {
        match signal {
            Signal::Done(id) => match self.ops.remove(&id) {
                Some(Op::Task(task)) => self.task_done(task),
                Some(Op::File { file, from, to }) => self.file_arrived(file, from, to),
                None => {}
            },
            Signal::Failed { op, why } => match self.ops.remove(&op) {
                Some(Op::Task(task)) => self.task_failed(task, why),
                Some(Op::File { file, from, to }) => self.transfer_failed(file, from, to, why),
                None => {}
            },
            Signal::HostLost(host) => self.host_lost(host)?,
            Signal::HostBack(host) => self.host_back(host),
            Signal::HostChanged(host) => self.host_changed(host)?,
            Signal::NetworkChanged => {
                if self.settings.monitoring == Monitoring::Continuous {
                    self.observe();
                    self.events.push(Event::NetworkChanged);
                }
            }
        }
        Ok(())
    }
}
