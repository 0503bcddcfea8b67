//! The engine: keeps the situation, tells the policy what happened, carries out what it decides.

mod decide;
mod dispatch;
mod growth;
mod monitor;
mod signals;
mod staging;
mod transfers;
mod waiting;

use crate::backend::{Abilities, Backend, BackendError, OpId, Reached, Signal};
use crate::execution::{Execution, Settings};
use crate::outcome::{Counters, Ending, Outcome};
use crate::supply::Supply;
use dispatch::Queues;
use monitor::Monitor;
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, ProcId, Schedule, TaskId, Trace};
use slackline_react::{Decision, Event, FileCopy, Monitoring, Policy, Site, Situation, TaskState};
use staging::Staging;
use std::collections::{BTreeMap, BTreeSet};
use transfers::Transfer;

/// A computation, or a block of a transfer, under way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Task(TaskId),
    Block { transfer: u64, from: HostId, to: HostId },
}

/// Times a policy may be called at one instant because decisions were rejected.
const SECOND_THOUGHTS: usize = 8;

/// Wake-ups in a row without anything moving after which a run is given up.
const PATIENCE: usize = 3;

/// Instants in a row at which nothing began or ended after which it is checked whether anything
/// advances at all: the platform may change for ever while the work stands still.
const LONG_PATIENCE: usize = 10_000;

pub(crate) struct Engine<'b, 'r> {
    backend: &'b mut dyn Backend,
    abilities: Abilities,
    settings: Settings,
    /// What the policy wants to be told of the platform.
    monitoring: Monitoring,
    supply: Option<&'r mut dyn Supply>,
    watch: Option<&'r mut dyn FnMut(&Situation)>,
    situation: Situation,
    monitor: Monitor,
    queues: Queues,
    ops: BTreeMap<OpId, Op>,
    next_op: u64,
    /// Operation of a running task.
    task_op: Vec<Option<OpId>>,
    transfers: BTreeMap<u64, Transfer>,
    /// The transfer that brings a file to a site.
    arriving: BTreeMap<(FileId, Site), u64>,
    next_transfer: u64,
    /// Complete inputs that migrating tasks left behind, and whether they have served since.
    left_behind: BTreeMap<(FileId, Site), bool>,
    staging: Staging,
    /// Transfers the policy has asked for; the run waits for those of final results.
    asked: BTreeSet<u64>,
    /// Files that lie on hosts that are off, to be there again when these are back.
    shelved: Vec<(HostId, FileId, FileCopy)>,
    wake_at: f64,
    /// Decisions that are still being made, and when they will have been.
    thinking: Option<(f64, Vec<Decision>)>,
    idle_wakes: usize,
    /// Instants since something began or ended, and how far everything was at the last check.
    quiet: (usize, f64),
    plans: usize,
    trace: Trace,
    counters: Counters,
    events: Vec<Event>,
    /// Starts of this instant, told to the policy at the next.
    events_started: Vec<Event>,
    /// Hosts known to be lost.
    lost: Vec<bool>,
    /// Tasks that are not done.
    open: usize,
    /// Tasks that ended at this instant, for the supply.
    ended: Vec<TaskId>,
    gave_up: Option<String>,
}

impl<'b, 'r> Engine<'b, 'r> {
    pub(crate) fn new(execution: Execution<'r>, backend: &'b mut dyn Backend) -> Self {
        let Execution { workflow, begins, terms, platform, settings, inputs, supply, watch } =
            execution;
        let tasks = workflow.len();
        let mut situation = Situation::charged(workflow, platform, &backend.charges(), inputs);
        situation.anticipated = settings.anticipated;
        situation.central = settings.central;
        situation.arrived[0].at = begins;
        situation.arrived[0].terms = terms;
        let mut engine = Engine {
            abilities: backend.abilities(),
            backend,
            settings,
            monitoring: Monitoring::default(),
            supply,
            watch,
            queues: Queues::new(tasks, situation.host_of.len()),
            lost: vec![false; situation.platform.hosts().len()],
            monitor: Monitor::default(),
            situation,
            ops: BTreeMap::new(),
            next_op: 0,
            task_op: vec![None; tasks],
            transfers: BTreeMap::new(),
            arriving: BTreeMap::new(),
            next_transfer: 0,
            left_behind: BTreeMap::new(),
            staging: Staging::default(),
            asked: BTreeSet::new(),
            shelved: Vec::new(),
            wake_at: f64::INFINITY,
            thinking: None,
            idle_wakes: 0,
            quiet: (0, 0.0),
            plans: 0,
            trace: Trace::default(),
            counters: Counters::default(),
            events: vec![Event::Start],
            events_started: Vec::new(),
            open: tasks,
            ended: Vec::new(),
            gave_up: None,
        };
        engine.lay_out_inputs(0);
        engine
    }

    /// Lets time pass before the first workflow arrives.
    pub(crate) fn wait_until(&mut self, date: f64) -> Result<(), BackendError> {
        let mut signals = Vec::new();
        while self.situation.now < date {
            let reached = self.backend.next(date, &mut signals)?;
            self.situation.now = match reached {
                Reached::Instant => self.backend.now(),
                Reached::Limit | Reached::Idle => self.backend.now().max(date),
            };
            for signal in signals.drain(..) {
                self.take_signal(signal)?;
            }
        }
        Ok(())
    }

    pub(crate) fn drive(&mut self, policy: &mut dyn Policy) -> Result<Ending, BackendError> {
        self.monitoring = policy.monitoring();
        self.observe();
        let mut signals = Vec::new();
        loop {
            if let Err(why) = self.grow() {
                return Ok(Ending::CannotFinish(why));
            }
            self.consult(policy)?;
            self.dispatch()?;
            if let Some(watch) = &mut self.watch {
                watch(&self.situation);
            }
            if let Some(why) = self.gave_up.take() {
                return Ok(Ending::CannotFinish(why));
            }
            if self.is_finished() {
                return Ok(Ending::Finished);
            }
            let until = self.next_date();
            if until == f64::INFINITY && !self.backend.moves() {
                return Ok(Ending::CannotFinish(self.who_waits()));
            }
            self.events.append(&mut self.events_started);
            let reached = self.backend.next(until, &mut signals)?;
            if reached == Reached::Idle {
                if until == f64::INFINITY {
                    return Ok(Ending::CannotFinish(self.who_waits()));
                }
                // Nothing is under way, but something is due.
                self.backend.next(until, &mut signals)?;
            }
            self.situation.now = match reached {
                Reached::Idle => self.backend.now().max(until),
                _ => self.backend.now(),
            };
            for signal in signals.drain(..) {
                self.take_signal(signal)?;
            }
            self.see_what_is_due()?;
            if self.situation.now >= self.wake_at {
                self.wake_up()?;
            }
            if self.idle_wakes > PATIENCE || self.stands_still() {
                return Ok(Ending::CannotFinish(self.who_waits()));
            }
        }
    }

    /// Whether nothing has advanced for a very long time.
    fn stands_still(&mut self) -> bool {
        self.quiet.0 += 1;
        if self.quiet.0 < LONG_PATIENCE {
            return false;
        }
        let far: f64 = self.ops.keys().map(|&op| self.backend.progress(op)).sum();
        let advanced = far > self.quiet.1;
        self.quiet = (0, far);
        !advanced
    }

    fn is_finished(&self) -> bool {
        let more_to_come = self.supply.as_ref().is_some_and(|s| s.next_date() < f64::INFINITY);
        let collecting = self.asked.iter().filter_map(|id| self.transfers.get(id));
        let mut collected = collecting.map(|t| self.situation.workflow.consumers(t.file).len());
        self.open == 0 && !more_to_come && !collected.any(|consumers| consumers == 0)
    }

    /// When the engine itself has something to do, whatever the backend does.
    fn next_date(&self) -> f64 {
        let decided = self.thinking.as_ref().map_or(f64::INFINITY, |(due, _)| *due);
        let arrives = self.supply.as_ref().map_or(f64::INFINITY, |s| s.next_date());
        let staged = self.staging.next_date();
        self.wake_at.min(decided).min(arrives).min(staged).min(self.monitor.next_date())
    }

    /// The date the policy asked for has come.
    fn wake_up(&mut self) -> Result<(), BackendError> {
        self.wake_at = f64::INFINITY;
        self.events.push(Event::WakeUp);
        // The date of the wake-up itself does not count any more.
        let moves = self.next_date() < f64::INFINITY || self.backend.moves();
        self.idle_wakes = if moves { 0 } else { self.idle_wakes + 1 };
        self.look_around()
    }

    /// Calls the policy with the events of this instant, again while decisions are rejected. A
    /// policy that still thinks about the last call is left alone.
    fn consult(&mut self, policy: &mut dyn Policy) -> Result<(), BackendError> {
        if let Some((due, decisions)) = self.thinking.take() {
            if self.situation.now < due {
                self.thinking = Some((due, decisions));
                return Ok(());
            }
            for decision in decisions {
                if let Some(still) = self.what_still_makes_sense(decision) {
                    self.carry_out(still)?;
                }
            }
        }
        for _ in 0..SECOND_THOUGHTS {
            if self.events.is_empty() {
                return Ok(());
            }
            let events = std::mem::take(&mut self.events);
            if !policy.wants(&events, &self.situation) {
                return Ok(());
            }
            self.measure_progress();
            let mut decisions: Vec<Decision> = Vec::new();
            policy.react(&events, &self.situation, &mut decisions);
            if self.settings.decision_seconds > 0.0 && !decisions.is_empty() {
                let due = self.situation.now + self.settings.decision_seconds;
                self.thinking = Some((due, decisions));
                return Ok(());
            }
            for decision in decisions {
                self.carry_out(decision)?;
            }
        }
        if let Some(Event::Rejected { why, .. }) = self.events.first() {
            self.gave_up = Some(format!("the policy repeats a decision that is refused: {why}"));
        }
        Ok(())
    }

    /// Applies a decision or tells the policy which rule it breaks.
    fn carry_out(&mut self, decision: Decision) -> Result<(), BackendError> {
        if let Err(why) = self.apply(&decision)? {
            self.counters.rejected += 1;
            self.events.push(Event::Rejected { decision: Box::new(decision), why });
        }
        Ok(())
    }

    /// Progress of what is under way, for the policy's eyes.
    fn measure_progress(&mut self) {
        for (&id, &op) in &self.ops {
            if let Op::Task(task) = op {
                self.situation.progress[task.index()] = self.backend.progress(id);
            }
        }
        for transfer in self.transfers.values() {
            let copies = &mut self.situation.copies[transfer.file.index()];
            // What was made there meanwhile is complete whatever is still on its way.
            let arriving = |c: &&mut FileCopy| c.site == transfer.to && !c.is_complete();
            if let Some(copy) = copies.iter_mut().find(arriving) {
                // Only completion makes it complete.
                copy.fraction = transfer.fraction(&*self.backend).min(1.0 - 1e-12);
            }
        }
    }

    fn take_signal(&mut self, signal: Signal) -> Result<(), BackendError> {
        if matches!(signal, Signal::Done(_)) {
            self.quiet = (0, 0.0);
            self.idle_wakes = 0; // at this very instant nothing may be under way
        }
        match signal {
            Signal::Done(id) => match self.ops.remove(&id) {
                Some(Op::Task(task)) => self.task_done(task)?,
                Some(Op::Block { transfer, from, to }) => self.block_arrived(transfer, from, to),
                None => {}
            },
            Signal::Failed { op, why } => match self.ops.remove(&op) {
                Some(Op::Task(task)) => self.task_failed(task, why),
                Some(Op::Block { transfer, .. }) => self.transfer_failed(transfer, &why)?,
                None => {}
            },
            Signal::HostLost { host, keeps_data } => self.host_lost(host, keeps_data)?,
            Signal::HostBack(host) => self.host_back(host),
            Signal::HostChanged(host) => self.host_changed(host)?,
            Signal::NetworkChanged => self.network_changed(),
        }
        Ok(())
    }

    fn new_op(&mut self, op: Op) -> OpId {
        let id = OpId(self.next_op);
        self.next_op += 1;
        self.quiet = (0, 0.0);
        self.ops.insert(id, op);
        id
    }

    fn log(&mut self, what: Happening) {
        self.trace.push(self.situation.now, what);
    }

    /// Whether some host of these processors is gone.
    fn are_lost(&self, procs: &[ProcId]) -> bool {
        let gone = |h: HostId| self.lost[h.index()] || !self.situation.is_alive(h);
        procs.iter().any(|p| gone(self.situation.host_of[p.index()]))
    }

    /// A host of a place that is known to be there: the one it is named by, if it is.
    fn living_host(&self, place: HostId) -> Option<HostId> {
        let there = |h: &HostId| !self.lost[h.index()] && self.situation.is_alive(*h);
        if there(&place) || !self.situation.platform.shares_storage() {
            return Some(place).filter(there);
        }
        self.situation.platform.hosts_of_place(place).into_iter().find(there)
    }

    fn is_lost(&self, site: &Site) -> bool {
        site.hosts().iter().any(|&h| self.living_host(h).is_none())
    }

    pub(crate) fn outcome(self, ending: Ending) -> Outcome {
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
            Ending::Finished => self.situation.now.max(schedule.makespan()),
            Ending::CannotFinish(_) => self.situation.now,
        };
        Outcome {
            ending,
            makespan,
            schedule,
            trace: self.trace,
            counters: self.counters,
            workflow: self.situation.workflow,
            arrived: self.situation.arrived,
            part_of: self.situation.part_of,
        }
    }
}
