//! The engine: keeps the situation, notifies the policy of events, and carries out its decisions.

mod decide;
mod dispatch;
pub(crate) mod fork;
mod learn;
mod leases;
mod levels;
mod memory;
mod monitor;
mod new_work;
mod pools;
mod queues;
mod retry;
mod safe;
mod signals;
mod staging;
mod stall;
mod stays;
mod storage;
mod transfers;

use crate::arrivals::Supply;
use crate::backend::{
    Abilities, Backend, BackendError, Liveness, OpId, Reached, Signal, SignalKind,
};
use crate::execution::{Execution, Recording, RunSnapshot, Settings, Watcher};
use crate::outcome::{Counters, Ending, Outcome};
use crate::rollout::Rollout;
use learn::{Learning, separate_places};
use leases::Leases;
use monitor::Monitor;
use pools::Holdings;
use queues::Queues;
use retry::Attempts;
use slackline_model::trace::{Happening, Record};
use slackline_model::units::fmt_seconds;
use slackline_model::{FileId, HostId, ProcId, Procs, Schedule, TaskId, Trace};
use slackline_react::{
    Decision, Event, FileCopy, Holders, Monitoring, Plan, Policy, Situation, TaskState,
};
use staging::Staging;
use std::collections::{BTreeMap, BTreeSet};
use storage::Stores;
use transfers::Transfer;

/// An operation the backend has not ended.
#[derive(Clone, Debug, PartialEq)]
enum Op {
    Task(TaskId),
    Transfer(u64),
    /// A task that was asked to stop; its processors drain.
    Stopping {
        task: TaskId,
        procs: Procs,
    },
    /// A task whose host was lost. Its result does not count, but its processors drain until the backend reports the end.
    /// Meanwhile the host may be back and the task run again.
    Draining(Procs),
    /// A transfer that was asked to stop.
    Ending,
}

/// Decisions that take effect later: the run charges the policy for its time.
struct PendingDecisions {
    due: f64,
    decisions: Vec<Decision>,
    /// Number of task failures that the policy knew.
    failures: u64,
    /// The last wake-up of the policy had no effect, and only another wake-up has happened since.
    idle: bool,
}

/// Most calls of a policy at one instant, where each time a decision is rejected.
const MOST_CALLS: usize = 8;

/// Progress of tasks and transfers when a copy of a run began; the backend has the rest of them.
#[derive(Default)]
struct Headstart {
    tasks: BTreeMap<TaskId, f64>,
    transfers: BTreeMap<u64, f64>,
}

/// Progress of a whole operation, from that before the copy and the share of the rest that is done since.
fn whole_share(before: Option<&f64>, share: f64) -> f64 {
    let before = before.copied().unwrap_or(0.0);
    before + (1.0 - before) * share
}

/// Operations that the backend has not ended.
struct Operations {
    ops: BTreeMap<OpId, Op>,
    next_op: u64,
    /// Operation of a task that runs or was accepted.
    task_op: Vec<Option<OpId>>,
    headstart: Headstart,
}

/// Transfers, and copies of files outside of the situation.
#[derive(Default)]
struct Movements {
    transfers: BTreeMap<u64, Transfer>,
    /// The transfer that brings a file there.
    arriving: BTreeMap<(FileId, Holders), u64>,
    next_transfer: u64,
    /// Complete inputs that migrating tasks left behind, and whether they have served since.
    left_behind: BTreeMap<(FileId, Holders), bool>,
    /// Further hosts that have inputs from the start.
    spread: Vec<(FileId, HostId)>,
    /// Transfers the policy has asked for; the run waits for those of final results.
    asked: BTreeSet<u64>,
    /// Files on hosts that are off, to be there again when these are back.
    shelved: Vec<(HostId, FileId, FileCopy)>,
}

/// The facts that distinguish a run that cannot finish from one that waits.
struct StallDetector {
    /// Date since which nothing has begun, ended or advanced.
    quiet_since: f64,
    /// The policy has been woken up since with everything up to date, to no effect.
    idle_wakeup: bool,
    /// The policy was woken up before the date it had asked for last, since the work last changed.
    woken_early: bool,
    /// At the last wake-up there was news that the policy has not been notified of yet.
    woken_to_see: bool,
    /// Liveness at the last query of the backend.
    outlook: Liveness,
    /// Calls of policy and backend at the present date.
    rounds: usize,
    /// The most tasks that were ever done at once, and operations that were begun since.
    most_done: usize,
    begun_since: usize,
}

/// The policy's side of the run: its plan, its dates, and decisions that are still being made.
struct Steering {
    /// Observations of the platform that the policy asked for.
    monitoring: Monitoring,
    /// The plan that is followed, for observers.
    followed: Option<Plan>,
    wake_at: f64,
    /// The first date that the policy asked for when it last asked for one; an earlier one may still count.
    asked_to_wake: f64,
    /// Decisions that are still being made.
    thinking: Option<PendingDecisions>,
    /// Failures of tasks that were known to the policy when it made the decisions that are carried out.
    known_failures: u64,
    /// Number of adopted plans.
    plans: usize,
    gave_up: Option<String>,
}

/// Trace and figures of the run.
struct Recorder<'r> {
    recording: Recording<'r>,
    trace: Trace,
    counters: Counters,
}

/// The events of the present instant.
struct Instant {
    events: Vec<Event>,
    /// Starts of this instant; the policy is notified at the next.
    started: Vec<Event>,
    /// Tasks that ended at this instant, for the supply.
    ended: Vec<TaskId>,
    /// Number of tasks that are not done.
    open: usize,
    /// The run is being set up: first observations are not news.
    starting: bool,
}

pub(crate) struct Engine<'b, 'r> {
    backend: &'b mut dyn Backend,
    abilities: Abilities,
    settings: Settings,
    supply: Option<&'r mut dyn Supply>,
    watch: Option<Watcher<'r>>,
    situation: Situation,
    steering: Steering,
    instant: Instant,
    operations: Operations,
    movements: Movements,
    stall: StallDetector,
    recorder: Recorder<'r>,
    monitor: Monitor,
    queues: Queues,
    attempts: Attempts,
    /// Holders of pools.
    holdings: Holdings,
    /// Estimates learnt of kinds and hosts, where that is wanted.
    learning: Option<Learning>,
    staging: Staging,
    stores: Stores,
    leases: Leases,
    /// When the backend was last told how much work is left for hosts that are served for a limited time.
    told_backlogs: f64,
    /// Date up to which stays of hosts were handled.
    saw_stays: f64,
}

impl<'b, 'r> Engine<'b, 'r> {
    pub(crate) fn new(execution: Execution<'r>, backend: &'b mut dyn Backend) -> Self {
        let (workflow, platform) = (execution.workflow.clone(), execution.platform.clone());
        let (charges, settings) = (backend.charges(), execution.settings);
        let mut situation = Situation::charged(workflow, platform, &charges, execution.inputs);
        situation.anticipated = settings.anticipated;
        situation.central = settings.central;
        situation.decision_seconds = settings.decision_seconds;
        situation.arrived[0].at = execution.begins;
        situation.arrived[0].terms = execution.terms.clone();
        if settings.learning {
            separate_places(&mut situation);
        }
        let mut engine = Engine::within(execution, situation, backend);
        engine.lay_out_inputs(0);
        engine
    }

    /// An engine that starts from a situation.
    fn within(
        execution: Execution<'r>,
        situation: Situation,
        backend: &'b mut dyn Backend,
    ) -> Self {
        let Execution { settings, copies, supply, recording, watch, .. } = execution;
        let tasks = situation.workflow.len();
        // Times that no speed explains, and work that is not known yet, are not re-estimated.
        let costed = situation.workflow.cost_table().is_some();
        let learns = settings.learning && supply.is_none() && !costed;
        let leases = Leases::new(&situation.platform);
        let stores = Stores::new(&situation.platform);
        Engine {
            abilities: backend.abilities(),
            backend,
            settings,
            supply,
            watch,
            steering: Steering {
                monitoring: Monitoring::default(),
                followed: None,
                wake_at: f64::INFINITY,
                asked_to_wake: f64::INFINITY,
                thinking: None,
                known_failures: 0,
                plans: 0,
                gave_up: None,
            },
            instant: Instant {
                events: vec![Event::Start],
                started: Vec::new(),
                ended: Vec::new(),
                open: tasks,
                starting: true,
            },
            operations: Operations {
                ops: BTreeMap::new(),
                next_op: 0,
                task_op: vec![None; tasks],
                headstart: Headstart::default(),
            },
            movements: Movements { spread: copies, ..Movements::default() },
            stall: StallDetector {
                quiet_since: 0.0,
                idle_wakeup: false,
                woken_early: false,
                woken_to_see: false,
                outlook: Liveness::Busy,
                rounds: 0,
                most_done: 0,
                begun_since: 0,
            },
            recorder: Recorder {
                recording,
                trace: Trace::default(),
                counters: Counters::default(),
            },
            queues: Queues::new(tasks, situation.host_of.len()),
            attempts: Attempts::default(),
            holdings: Holdings::new(&situation.pools),
            learning: learns.then(|| Learning::new(&situation)),
            monitor: Monitor::new(situation.view.clone()),
            situation,
            staging: Staging::default(),
            stores,
            leases,
            told_backlogs: f64::NEG_INFINITY,
            saw_stays: 0.0,
        }
    }

    /// Advances to the arrival of the first workflow; changes until then are known at its start.
    pub(crate) fn wait_until(&mut self, date: f64) -> Result<(), BackendError> {
        let mut signals = Vec::new();
        loop {
            let reached = self.backend.next(date, &mut signals)?;
            let now = self.backend.now();
            self.situation.now = if reached == Reached::Instant { now } else { now.max(date) };
            self.take_signals(&mut signals)?;
            if reached != Reached::Instant {
                return Ok(());
            }
        }
    }

    pub(crate) fn drive(&mut self, policy: &mut dyn Policy) -> Result<Ending, BackendError> {
        self.observe();
        policy.equip(Box::new(Rollout::new(self.backend.charges())));
        self.steer(policy)
    }

    /// Drives a policy from here on.
    fn steer(&mut self, policy: &mut dyn Policy) -> Result<Ending, BackendError> {
        self.steering.monitoring = policy.monitoring();
        self.instant.starting = false;
        let mut signals = Vec::new();
        loop {
            if let Err(why) = self.grow() {
                return Ok(Ending::CannotFinish(why));
            }
            self.consult(policy)?;
            self.dispatch()?;
            // Events that arose while decisions were carried out belong to this instant.
            while !self.instant.events.is_empty()
                && self.steering.thinking.is_none()
                && self.steering.gave_up.is_none()
            {
                self.stall.rounds += 1;
                if self.is_livelocked() {
                    break;
                }
                if let Err(why) = self.grow() {
                    return Ok(Ending::CannotFinish(why));
                }
                self.consult(policy)?;
                self.dispatch()?;
            }
            if let Some(watch) = &mut self.watch {
                let (situation, counters) = (&self.situation, &self.recorder.counters);
                watch(&RunSnapshot { situation, counters, plan: self.steering.followed.as_ref() });
            }
            if let Some(why) = self.steering.gave_up.take() {
                return Ok(Ending::CannotFinish(why));
            }
            if self.settings.fail_fast && !self.attempts.abandoned.is_empty() {
                return Ok(Ending::CannotFinish(self.describe_stall()));
            }
            if self.is_finished() && !policy.collects() {
                if self.attempts.abandoned.is_empty() {
                    return Ok(Ending::Finished);
                }
                // Earlier results of what was abandoned may still come back with a host.
                if !self.attempts.abandoned.keys().any(|t| self.situation.earlier.contains_key(t)) {
                    return Ok(Ending::CannotFinish(self.describe_stall()));
                }
            }
            if self.situation.now >= self.settings.until {
                let date = fmt_seconds(self.settings.until);
                let why = format!("broken off at {date}; {} tasks are not done", self.instant.open);
                return Ok(Ending::CannotFinish(why));
            }
            if !self.stores.of.is_empty()
                && self.instant.events.is_empty()
                && self.let_one_pass()?
            {
                self.dispatch()?;
            }
            if self.is_stuck() {
                return Ok(Ending::CannotFinish(self.describe_stall()));
            }
            self.instant.events.append(&mut self.instant.started);
            self.tell_backlogs();
            let before = self.situation.now;
            let until = self.next_date();
            let reached = self.backend.next(until, &mut signals)?;
            if reached == Reached::Idle && until == f64::INFINITY {
                return Ok(Ending::CannotFinish(self.describe_stall()));
            }
            let now = self.backend.now();
            self.situation.now = if reached == Reached::Idle { now.max(until) } else { now };
            self.stall.rounds = if self.situation.now > before { 0 } else { self.stall.rounds + 1 };
            self.take_signals(&mut signals)?;
            self.see_what_is_due()?;
            self.see_windows_open();
            self.retry_what_is_due();
            if self.situation.now >= self.steering.wake_at {
                self.wake_up()?;
            }
        }
    }

    fn is_finished(&self) -> bool {
        let more_to_come = self.supply.as_ref().is_some_and(|s| s.next_date() < f64::INFINITY);
        let collecting =
            self.movements.asked.iter().filter_map(|id| self.movements.transfers.get(id));
        let mut collected = collecting.map(|t| self.situation.workflow.consumers(t.file).len());
        self.instant.open == 0 && !more_to_come && !collected.any(|consumers| consumers == 0)
    }

    /// The next date at which the engine has something to do, whatever the backend does.
    fn next_date(&self) -> f64 {
        let patient_until = match self.stall.outlook {
            Liveness::Unknown => self.stall.quiet_since + self.settings.patience,
            _ => f64::INFINITY,
        };
        let decided = self.steering.thinking.as_ref().map_or(f64::INFINITY, |thought| thought.due);
        let asked_for = self.steering.wake_at.min(decided);
        asked_for.min(self.own_date()).min(patient_until).min(self.settings.until)
    }

    /// The next date of the engine itself, without those requested by the policy.
    fn own_date(&self) -> f64 {
        let arrives = self.supply.as_ref().map_or(f64::INFINITY, |s| s.next_date());
        let staged = self.staging.next_date();
        let told = self.monitor.next_date();
        let own = arrives.min(staged).min(told);
        own.min(self.attempts.next_date()).min(self.next_lease()).min(self.next_window())
    }

    /// The date the policy asked for has come.
    fn wake_up(&mut self) -> Result<(), BackendError> {
        self.steering.wake_at = f64::INFINITY;
        self.instant.events.push(Event::WakeUp);
        self.stall.woken_to_see |= self.monitor.gives_hope();
        self.look_around()
    }

    /// Calls the policy with the events of this instant, and again while decisions are rejected. While decisions of the
    /// last call are pending it is not called.
    fn consult(&mut self, policy: &mut dyn Policy) -> Result<(), BackendError> {
        if let Some(thought) = self.steering.thinking.take() {
            if self.situation.now < thought.due {
                self.steering.thinking = Some(thought);
                return Ok(());
            }
            self.steering.known_failures = thought.failures;
            self.forget_dates(&thought.decisions);
            for decision in thought.decisions {
                if let Some(still) = self.still_applicable(decision) {
                    self.carry_out(still)?;
                }
            }
            self.dispatch()?; // so that the next decisions see their effect
        }
        for _ in 0..MOST_CALLS {
            if self.instant.events.is_empty() {
                return Ok(());
            }
            let events = std::mem::take(&mut self.instant.events);
            let mut idle = false;
            if events.contains(&Event::WakeUp) {
                let sees = std::mem::take(&mut self.stall.woken_to_see);
                let hosts = self.situation.platform.host_ids();
                let usable = hosts.map(|h| self.situation.computes(h)).collect();
                self.monitor.looked(usable, self.steering.monitoring);
                // A policy that was woken up before the date it had requested may wait for that date, once.
                let early = self.situation.now < self.steering.asked_to_wake
                    && self.steering.asked_to_wake.is_finite();
                let waits = early && !std::mem::replace(&mut self.stall.woken_early, true);
                let no_news = !sees && !waits;
                let woken_again =
                    std::mem::replace(&mut self.stall.idle_wakeup, no_news) && no_news;
                idle = woken_again && events.iter().all(|e| *e == Event::WakeUp);
            }
            if !policy.wants(&events, &self.situation) {
                return Ok(());
            }
            if policy.looks_at_progress() {
                self.measure_progress();
            }
            let mut decisions: Vec<Decision> = Vec::new();
            policy.react(&events, &self.situation, &mut decisions);
            let failures = self.attempts.failures();
            let waits = self.settings.decision_seconds > 0.0 && !policy.keeps_time();
            if waits && !decisions.is_empty() {
                let due = self.situation.now + self.settings.decision_seconds;
                self.steering.thinking = Some(PendingDecisions { due, decisions, failures, idle });
                return Ok(());
            }
            self.steering.known_failures = failures;
            self.forget_dates(&decisions);
            for decision in decisions {
                self.carry_out(decision)?;
            }
        }
        if let Some(Event::Rejected { why, .. }) = self.instant.events.first() {
            self.steering.gave_up =
                Some(format!("the policy repeats a decision that is refused: {why}"));
        }
        Ok(())
    }

    /// A request to be woken up replaces all earlier requests.
    fn forget_dates(&mut self, decisions: &[Decision]) {
        if decisions.iter().any(|d| matches!(d, Decision::WakeAt(_))) {
            self.steering.asked_to_wake = f64::INFINITY;
        }
    }

    /// Applies a decision, or emits an event with the rule that it breaks.
    fn carry_out(&mut self, decision: Decision) -> Result<(), BackendError> {
        if let Err(why) = self.apply(&decision)? {
            self.recorder.counters.rejected += 1;
            self.instant.events.push(Event::Rejected { decision: Box::new(decision), why });
        }
        Ok(())
    }

    /// Updates the progress of operations in the situation.
    fn measure_progress(&mut self) {
        let ops: Vec<OpId> = self.operations.ops.keys().copied().collect();
        let shares = self.backend.measure(&ops);
        for (op, share) in ops.iter().zip(shares) {
            match self.operations.ops.get(op) {
                Some(&Op::Task(task)) => {
                    let share = self.learnt_share(task).unwrap_or(share);
                    let share = whole_share(self.operations.headstart.tasks.get(&task), share);
                    self.situation.progress[task.index()] = share;
                }
                Some(Op::Transfer(id)) => {
                    let share = self.learned_passed(*id).unwrap_or(share);
                    let share = whole_share(self.operations.headstart.transfers.get(id), share);
                    let Some(transfer) = self.movements.transfers.get(id) else { continue };
                    let copies = &mut self.situation.copies[transfer.file.index()];
                    // What was made there meanwhile is complete whatever is still on its way.
                    let arriving = |c: &&mut FileCopy| c.holders == transfer.to && !c.is_complete();
                    if let Some(copy) = copies.iter_mut().find(arriving) {
                        // Only completion makes it complete.
                        copy.fraction = share.min(1.0 - 1e-12);
                    }
                }
                _ => {}
            }
        }
    }

    /// Done share of one operation.
    fn measure(&mut self, op: OpId) -> f64 {
        self.backend.measure(&[op]).first().copied().unwrap_or(0.0)
    }

    fn take_signals(&mut self, signals: &mut Vec<Signal>) -> Result<(), BackendError> {
        let mut network = false;
        for Signal { at, what } in signals.drain(..) {
            match what {
                SignalKind::Running(op) => self.task_runs(op),
                SignalKind::Done(op, report) => self.op_done(op, at, &report)?,
                SignalKind::Failed(op, error) => self.op_failed(op, &error, at)?,
                SignalKind::Cancelled(op) => self.op_cancelled(op),
                SignalKind::HostLost { host, keeps_data } => {
                    self.host_went(host, keeps_data, at)?
                }
                SignalKind::HostBack(host) => self.host_came(host, at)?,
                SignalKind::LeaseReady(lease) => self.lease_ready(lease, at),
                SignalKind::LeaseEnded(lease, error) => {
                    self.lease_ended(lease, at, error.as_ref())?
                }
                SignalKind::HostChanged { host, availability } => {
                    self.host_changed(host, availability)
                }
                SignalKind::HostStays { host, stay } => self.host_stays(host, stay),
                SignalKind::CopyLost { file, host } => self.copy_gone(file, host),
                SignalKind::NetworkChanged { link } => {
                    network = true;
                    if let Some((link, bandwidth)) = link {
                        self.log(Happening::LinkChanged { link, bandwidth });
                    }
                }
            }
        }
        if network {
            self.network_changed();
        }
        self.expect_leases();
        Ok(())
    }

    fn new_op(&mut self, op: Op) -> OpId {
        let id = OpId(self.operations.next_op);
        self.operations.next_op += 1;
        self.stall.begun_since += 1;
        self.stir();
        self.operations.ops.insert(id, op);
        id
    }

    /// Whether a trace is recorded or streamed.
    fn records(&self) -> bool {
        !matches!(self.recorder.recording, Recording::Nothing)
    }

    fn log(&mut self, what: Happening) {
        let at = self.situation.now;
        let record = Record { at, what };
        if let Recording::Stream(tell) | Recording::KeepWorkAndStream(tell) =
            &mut self.recorder.recording
        {
            tell(&record);
        }
        let kept = match self.recorder.recording {
            Recording::Keep => true,
            Recording::KeepWork | Recording::KeepWorkAndStream(_) => !record.what.is_level(),
            Recording::Nothing | Recording::Stream(_) => false,
        };
        if kept {
            self.recorder.trace.push(record.at, record.what);
        }
    }

    /// Whether some host of these processors is gone.
    fn are_lost(&self, procs: &[ProcId]) -> bool {
        procs.iter().any(|p| !self.situation.is_alive(self.situation.host_of[p.index()]))
    }

    fn is_lost(&self, holders: &Holders) -> bool {
        !self.situation.is_reachable(holders)
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
            trace: self.recorder.trace,
            counters: self.recorder.counters,
            workflow: self.situation.workflow,
            arrived: self.situation.arrived,
            part_of: self.situation.part_of,
            leases: self.situation.leases,
            taught: self.situation.taught,
        }
    }
}
