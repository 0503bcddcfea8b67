//! Real machines as a platform: what is the same for this machine and for a cluster. Transfers are
//! copies of files between the stores of hosts; attempts at tasks are made by a [`Executor`].
//!
//! Nothing blocks the engine: attempts and copies are made elsewhere and tell how they ended.

mod clock;
mod executor;
mod files;
mod limits;
mod recovered_state;
mod reuse;
#[cfg(test)]
mod tests;
mod throttle;

pub use clock::Clock;
pub(crate) use executor::ExecutorEvent;
pub use executor::{EventReceiver, EventSender, Executor, HostEvent, Room};
pub use recovered_state::RecoveredState;

use crate::attempt::{
    AttemptError, Completed, Control, Enforce, Pace, Stamp, Version, copy_paced, is_missing,
};
use crate::attempt_pool::{Job, JobResult, Label, Workers};
use crate::folder::{Failure, Note, RunFolder};
use crate::up_to_date::Reuse;
use files::{named, reads};
use slackline_engine::Record;
use slackline_engine::{
    Abilities, Accepted, Backend, BackendError, Backlog, Computation, Liveness, Movement, OpError,
    OpId, Open, Order, Reached, Report, Signal, SignalKind, Work,
};
use slackline_model::platform::Charges;
use slackline_model::problem::{Block, Inputs, Stay, View};
use slackline_model::{FileId, HostId, Platform, Problem, ProcId, TaskId, Workflow};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use throttle::{Throttle, Trickle};

/// Longest time between two checks whether the user wants to stop.
const LISTEN: Duration = Duration::from_millis(100);

/// Time that everything gets to end when the user stops a run.
const FAREWELL: Duration = Duration::from_secs(30);

/// Most copies that are made at once; more of them where most of their time they wait.
const MOVERS: usize = 32;
const THROTTLED: usize = 256;

/// Most progress that is claimed for what has not ended.
const NEARLY: f64 = 0.99;

/// Options of a backend of real machines.
#[derive(Clone, Debug, Default)]
pub struct MachineOptions {
    /// Transfers take at least the time that they are charged.
    pub throttle: bool,
    /// Charges of a lone transfer, for planners and the throttle.
    pub charges: Charges,
    /// Tasks keep to the cores of their host, counted through from the first core of the machine.
    pub pin: bool,
    /// Enforcement of the memory granted to attempts.
    pub enforce: Enforce,
    /// Seconds after which an attempt is ended.
    pub time_limit: Option<f64>,
    /// Bytes beyond which outputs get no checksum.
    pub checksum_limit: Option<u64>,
    /// A folder of every machine where attempts work; the run's own if there is none.
    pub scratch: Option<PathBuf>,
    /// The folder of the workflow, for files that no task writes.
    pub source: PathBuf,
    /// State of those files when the run began or was resumed, by name: one in another state is not
    /// used.
    pub stamps: BTreeMap<String, Stamp>,
    /// Names the run among all others.
    pub run: String,
    /// Number of this drive of the run: attempts of others cannot be taken for its own.
    pub drive: u32,
    /// The program that `slackline` stands for in commands.
    pub myself: PathBuf,
    /// Earlier results in the folder.
    pub reuse: Reuse,
    /// Only files among these are deleted when they are not needed any more.
    pub temporary: BTreeSet<String>,
}

/// An operation under way.
struct Running {
    doing: Doing,
    hosts: Vec<HostId>,
    since: f64,
    /// Seconds it should take.
    expected: f64,
    cancelling: bool,
}

enum Doing {
    /// An attempt at a task, which may still wait for its turn.
    Task {
        task: TaskId,
        waits: bool,
        /// End of the process that makes it, where known.
        ends: f64,
    },
    Copy(Control),
}

/// A copy to make.
struct Copy {
    /// From where.
    host: HostId,
    from: PathBuf,
    /// The state that a file of the user has to be in.
    stamp: Option<Stamp>,
    /// To where.
    target: HostId,
    /// Temporary path until it is accepted.
    part: PathBuf,
    pace: Option<Trickle>,
}

/// A copy that was made.
pub(crate) struct CompletedCopy {
    file: FileId,
    /// Whole copies that have no names yet: their hosts, paths and states.
    copies: Vec<(HostId, PathBuf, Stamp)>,
    /// Known version of the file when the copy began.
    known: Option<Version>,
    seconds: f64,
}

impl CompletedCopy {
    /// Removes copies that do not count.
    fn discard(&self) {
        for (_, part, _) in &self.copies {
            let _ = std::fs::remove_file(part); // it may be gone
        }
    }
}

/// Reason why a copy was not made.
pub(crate) enum CopyError {
    Stopped,
    Gone { file: FileId, host: HostId, why: String },
    Error(OpError),
}

/// A lease from its order to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LeaseState {
    Ordered,
    Ready,
    Released,
}

/// The backend of real machines: dates, copies and locations of files, and attempts by an [`Executor`].
pub struct MachineBackend<'p> {
    /// Of a workflow with choices and loops: that of its tasks, of which those of the run are instances.
    problem: &'p Problem<'p>,
    /// All that is known of such a run.
    grown: Option<Arc<Workflow>>,
    inputs: Inputs,
    options: MachineOptions,
    folder: Arc<RunFolder>,
    events: EventSender,
    inbox: Receiver<ExecutorEvent>,
    executor: Box<dyn Executor + 'p>,
    /// The date of the last answer; it does not move in between.
    now: f64,
    past: RecoveredState,
    running: BTreeMap<OpId, Running>,
    /// Operations of a run that was taken up: they are known, whatever has become of them since.
    taken_up: BTreeSet<OpId>,
    leases: BTreeMap<OpId, LeaseState>,
    /// The last operation that was begun for a task: no other may replace its outputs.
    last: HashMap<TaskId, OpId>,
    /// Number of consecutive attempts at a task that found an input missing.
    without_input: HashMap<TaskId, u32>,
    /// Versions in the stores, by the host that owns the store.
    versions: HashMap<(FileId, HostId), Version>,
    movers: Workers,
    throttle: Option<Throttle>,
    pending: Vec<Signal>,
    /// Copies to delete once nothing that is not durable relies on them.
    doomed: Vec<(FileId, HostId)>,
    /// Hosts that cannot work, and why.
    lost: Vec<Option<String>>,
    interrupted: Arc<AtomicBool>,
    /// Receiver of failures as they happen.
    failures: Option<Sender<Failure>>,
    /// Seconds after which attempts at tasks were cut off by the end of what made them.
    cut_after: BTreeMap<TaskId, f64>,
    /// Hosts that are served for a limited time, as the engine was told.
    stays: BTreeMap<HostId, Stay>,
    /// Contents of files that were made since this engine drives the run, and tasks that it has begun.
    contents: HashMap<String, String>,
    begun: BTreeSet<TaskId>,
    /// Tasks that are done.
    done: BTreeSet<TaskId>,
    /// Cores of the last attempts at tasks.
    widths: HashMap<TaskId, u32>,
}

impl<'p> MachineBackend<'p> {
    /// Machines that are ready to work; `interrupted` stops them.
    #[allow(clippy::too_many_arguments)] // one of each, none belongs to another
    pub fn new(
        problem: &'p Problem<'p>,
        inputs: Inputs,
        options: MachineOptions,
        folder: Arc<RunFolder>,
        (events, inbox): (EventSender, EventReceiver),
        executor: Box<dyn Executor + 'p>,
        past: RecoveredState,
        interrupted: Arc<AtomicBool>,
    ) -> MachineBackend<'p> {
        let lost = |host| past.lost.contains(&host).then(|| "it was lost before".to_string());
        let lost = problem.platform().host_ids().map(lost).collect();
        let throttle =
            options.throttle.then(|| Throttle::new(problem.platform(), &options.charges));
        let mut backend = MachineBackend {
            problem,
            grown: None,
            inputs,
            options,
            folder,
            events,
            inbox: inbox.0,
            executor,
            now: past.now,
            past,
            running: BTreeMap::new(),
            taken_up: BTreeSet::new(),
            leases: BTreeMap::new(),
            last: HashMap::new(),
            without_input: HashMap::new(),
            versions: HashMap::new(),
            movers: Workers::up_to(if throttle.is_some() { THROTTLED } else { MOVERS }),
            throttle,
            pending: Vec::new(),
            doomed: Vec::new(),
            lost,
            interrupted,
            failures: None,
            cut_after: BTreeMap::new(),
            stays: BTreeMap::new(),
            contents: HashMap::new(),
            begun: BTreeSet::new(),
            done: BTreeSet::new(),
            widths: HashMap::new(),
        };
        backend.done = std::mem::take(&mut backend.past.done);
        backend.cut_after = std::mem::take(&mut backend.past.cut_after);
        backend.stays = std::mem::take(&mut backend.past.stays);
        backend.executor.remember(&backend.past.too_short);
        backend.know_what_was_brought();
        backend
    }

    /// Failures as they happen.
    pub fn failures(&mut self) -> Receiver<Failure> {
        let (tell, told) = channel();
        self.failures = Some(tell);
        told
    }

    /// Makes everything ready, at the beginning of a run.
    pub fn open(&mut self) -> Result<(), BackendError> {
        self.executor.open()?;
        self.look()
    }

    /// The run is over, and its log written.
    pub fn close(&mut self) {
        let _ = self.delete_doomed(); // files that stay too long do no harm
        self.executor.heard();
        self.executor.close();
        self.sweep(|_, _| true);
    }

    fn workflow(&self) -> &Workflow {
        self.grown.as_deref().unwrap_or_else(|| self.problem.workflow())
    }

    /// The task as the problem knows it.
    fn stated(&self, task: TaskId) -> TaskId {
        self.workflow().unfolded(task).map_or(task, |unfolded| unfolded.of)
    }

    fn platform(&self) -> &'p Platform {
        self.problem.platform()
    }

    fn host_name(&self, host: HostId) -> &'p str {
        &self.platform().host(host).name
    }

    fn absent(&self, hosts: &[HostId]) -> Result<(), OpError> {
        match hosts.iter().find_map(|h| Some((*h, self.lost[h.index()].as_ref()?))) {
            Some((host, why)) => Err(OpError::Lost { host: Some(host), why: why.clone() }),
            None => Ok(()),
        }
    }

    /// Acceptance of an operation that is known already, and is not begun again.
    fn known(&self, op: OpId) -> Option<Accepted> {
        let waits = match (self.running.get(&op), self.leases.get(&op)) {
            (Some(running), _) => matches!(running.doing, Doing::Task { waits: true, .. }),
            (None, Some(state)) => *state == LeaseState::Ordered,
            (None, None) if self.taken_up.contains(&op) => false,
            (None, None) => return None,
        };
        Some(if waits { Accepted::Waiting } else { Accepted::Running })
    }

    fn tell(&mut self, at: f64, what: SignalKind) {
        self.pending.push(Signal { at, what });
    }

    /// Notes an attempt at a task as under way.
    fn computing(&mut self, op: OpId, task: TaskId, procs: &[ProcId], waits: bool) {
        let host = self.problem.host_of(procs[0]);
        let class = self.problem.class_of(procs[0]);
        let expected = self.problem.exec_wide(self.stated(task), class, procs.len() as u32);
        let ends = self.events.clock.now() + self.executor.room(host).left;
        let (hosts, since, doing) = (vec![host], self.now, Doing::Task { task, waits, ends });
        self.last.insert(task, op);
        self.widths.insert(task, procs.len() as u32);
        let running = Running { doing, hosts, since, expected, cancelling: false };
        self.running.insert(op, running);
    }

    fn stop(&mut self, op: OpId, at_once: bool) {
        match self.running.get(&op).map(|running| &running.doing) {
            Some(Doing::Copy(control)) if at_once => control.kill(),
            Some(Doing::Copy(control)) => control.stop(),
            Some(Doing::Task { .. }) => self.executor.stop(op, at_once),
            None => {}
        }
    }

    /// Ends everything that is under way and waits until it is gone.
    fn stop_all(&mut self) {
        let under_way: Vec<OpId> = self.running.keys().copied().collect();
        under_way.iter().for_each(|op| self.stop(*op, false));
        let patience = Instant::now() + FAREWELL;
        while !self.running.is_empty() && Instant::now() < patience {
            match self.inbox.recv_timeout(LISTEN) {
                Ok(ExecutorEvent::JobEnded(made, _)) => drop(self.running.remove(&made.label.op)),
                Ok(ExecutorEvent::CopyEnded(op, ..)) => drop(self.running.remove(&op)),
                Ok(ExecutorEvent::JobStarted(_) | ExecutorEvent::Wake) | Err(_) => {}
            }
            let mut events = Vec::new();
            let _ = self.executor.look(&mut events); // what is lost will not end
            events.into_iter().for_each(|event| self.host_event(event));
        }
        self.running.keys().copied().collect::<Vec<_>>().iter().for_each(|op| self.stop(*op, true));
        self.executor.close();
    }

    /// Turns an event into signals for the engine.
    fn take(&mut self, event: ExecutorEvent) {
        match event {
            ExecutorEvent::Wake => {}
            ExecutorEvent::JobStarted(op) => {
                if let Some(running) = self.running.get_mut(&op)
                    && let Doing::Task { waits: waits @ true, .. } = &mut running.doing
                {
                    *waits = false;
                    running.since = self.events.clock.now();
                    self.tell(self.events.clock.now(), SignalKind::Running(op));
                }
            }
            ExecutorEvent::JobEnded(made, at) => {
                // Operations that ended while no process drove the run end when it continues.
                let at = at.min(self.events.clock.now());
                // What is told a second time was taken the first, and what was given up does not count.
                match (self.running.remove(&made.label.op), &made.how) {
                    (Some(running), _) => self.made(made, running.cancelling, at),
                    (None, Ok(done)) => self.discard(&done.written),
                    (None, Err(_)) => {}
                }
            }
            ExecutorEvent::CopyEnded(op, at, how) => {
                let Some(running) = self.running.remove(&op) else {
                    return how.iter().for_each(CompletedCopy::discard);
                };
                match how {
                    Ok(moved) if running.cancelling => {
                        moved.discard();
                        self.tell(at, SignalKind::Cancelled(op));
                    }
                    Ok(moved) => match self.accept_copies(&moved) {
                        Ok(bytes) => {
                            let (seconds, sizes) =
                                (Some(moved.seconds), vec![(moved.file, bytes as f64)]);
                            let report = Report { seconds, sizes, ..Report::default() };
                            self.tell(at, SignalKind::Done(op, report));
                        }
                        Err(why) => self.tell(at, SignalKind::Failed(op, OpError::Transient(why))),
                    },
                    Err(CopyError::Stopped) => self.stopped(op, running.cancelling, at),
                    Err(CopyError::Gone { file, host, why }) => {
                        self.tell(at, SignalKind::CopyLost { file, host });
                        self.tell(at, SignalKind::Failed(op, OpError::Transient(why)));
                    }
                    Err(CopyError::Error(error)) => self.tell(at, SignalKind::Failed(op, error)),
                }
            }
        }
    }

    fn stopped(&mut self, op: OpId, asked: bool, at: f64) {
        let error = || OpError::Transient("it was stopped from outside".to_string());
        self.tell(
            at,
            if asked { SignalKind::Cancelled(op) } else { SignalKind::Failed(op, error()) },
        );
    }

    /// Translates the result of an attempt for the engine.
    fn made(&mut self, made: JobResult, cancelling: bool, at: f64) {
        let JobResult { label: Label { op, task, name, host, number }, how } = made;
        if !matches!(how, Err(AttemptError::InputGone { .. })) {
            self.without_input.remove(&task);
        }
        // One result counts: that of the attempt that was begun last.
        let how = match how {
            Ok(done) if self.last.get(&task) != Some(&op) => {
                self.discard(&done.written);
                Err(AttemptError::Stopped)
            }
            Ok(done) => match self.accept(task, host, &done) {
                Ok(()) => Ok(done),
                Err(why) => {
                    self.discard(&done.written);
                    Err(AttemptError::Failed { why, exit: done.usage.exit, last_lines: Vec::new() })
                }
            },
            broken => broken,
        };
        let error = match how {
            Ok(done) => {
                let report = report_of(self.workflow(), task, &done);
                return self.tell(at, SignalKind::Done(op, report));
            }
            Err(AttemptError::Stopped) => return self.stopped(op, cancelling, at),
            Err(AttemptError::InputGone { index, name: input }) => {
                let workflow = self.workflow();
                let file = reads(workflow, task).get(index).map(|(file, _)| *file);
                let why = format!("input '{input}' is gone");
                let made = file.filter(|file| workflow.producer(*file).is_some());
                if let Some(file) = file.filter(|f| made.is_some() || !self.is_given(*f, host)) {
                    self.versions.remove(&(file, self.platform().place_of(host)));
                    self.tell(at, SignalKind::CopyLost { file, host });
                }
                let times = self.without_input.entry(task).or_default();
                *times += 1;
                if *times == 1 && made.is_some() {
                    // Nothing is wrong with the task.
                    OpError::Lost { host: None, why }
                } else {
                    // But it is not to be tried again and again at once.
                    let label = Label { op, task, name, host, number };
                    self.failed(label, at, why, None, Vec::new(), false)
                }
            }
            Err(AttemptError::Memory { grant, peak, last_lines }) => {
                let error = OpError::Memory { grant, peak };
                let label = Label { op, task, name, host, number };
                self.failed(label, at, error.to_string(), None, last_lines, false);
                error
            }
            Err(broken) => {
                let reason = broken.to_string();
                let (exit, last_lines, refused) = match broken {
                    AttemptError::Failed { exit, last_lines, .. } => (exit, last_lines, false),
                    _ => (None, Vec::new(), true),
                };
                let label = Label { op, task, name, host, number };
                self.failed(label, at, reason, exit, last_lines, refused)
            }
        };
        self.tell(at, SignalKind::Failed(op, error));
    }

    /// Tells users of a failed attempt, and returns what the engine is told.
    fn failed(
        &mut self,
        label: Label,
        at: f64,
        reason: String,
        exit: Option<i32>,
        last_lines: Vec<String>,
        refused: bool,
    ) -> OpError {
        let Label { task, name, host, number: attempt, .. } = label;
        let why = reason.clone();
        let failure = Failure { task, name, attempt, host, exit, reason, last_lines };
        if let Some(failures) = &self.failures {
            let _ = failures.send(failure.clone()); // the receiver may have been dropped
        }
        // A run whose log cannot be kept is ended by its engine.
        let _ = self.events.log.append(at, &Record::Note(Note::Failure(failure)));
        if refused { OpError::Refused(why) } else { OpError::Transient(why) }
    }

    /// Looks what has become of hosts and leases.
    fn look(&mut self) -> Result<(), BackendError> {
        let mut events = Vec::new();
        self.executor.look(&mut events)?;
        // Outputs made before an executor went count.
        while let Ok(event) = self.inbox.try_recv() {
            self.take(event);
        }
        events.into_iter().for_each(|event| self.host_event(event));
        Ok(())
    }

    fn host_event(&mut self, event: HostEvent) {
        let at = self.events.clock.now();
        match event {
            HostEvent::Up(host) => {
                if self.lost[host.index()].take().is_some() {
                    self.tell(at, SignalKind::HostBack(host));
                }
            }
            HostEvent::Down { host, keeps_data, why } => {
                if self.lost[host.index()].replace(why.clone()).is_none() {
                    self.tell(at, SignalKind::HostLost { host, keeps_data });
                }
                self.lose(at, |r| r.hosts.contains(&host), Some(host), &why);
            }
            HostEvent::Stays { host, ends, gap, whole, safety } => {
                let now = Instant::now();
                let left = ends.saturating_duration_since(now).as_secs_f64()
                    - now.saturating_duration_since(ends).as_secs_f64();
                let stay = Stay { ends: at + left, gap, whole, safety };
                let known = self.stays.get(&host);
                if known.is_none_or(|known| is_another(known, &stay)) {
                    self.stays.insert(host, stay);
                    self.tell(at, SignalKind::HostStays { host, stay: Some(stay) });
                }
            }
            HostEvent::LeaseReady(lease) => {
                if let Some(state @ LeaseState::Ordered) = self.leases.get_mut(&lease) {
                    *state = LeaseState::Ready;
                    self.tell(at, SignalKind::LeaseReady(lease));
                }
            }
            HostEvent::LeaseEnded { lease, host, error } => {
                if self.leases.remove(&lease).is_some() {
                    let why = error.as_ref().map_or("given back".to_string(), |e| e.to_string());
                    let computes = |r: &Running| matches!(r.doing, Doing::Task { .. });
                    let there = |r: &Running| host.is_some_and(|host| r.hosts.contains(&host));
                    self.lose(at, |r| computes(r) && there(r), None, &why);
                    self.tell(at, SignalKind::LeaseEnded(lease, error));
                }
            }
            HostEvent::JobsLost { ops, why } => {
                for op in ops {
                    self.note_cut(op, at);
                    if self.running.remove(&op).is_some() {
                        let error = OpError::Lost { host: None, why: why.clone() };
                        self.tell(at, SignalKind::Failed(op, error));
                    }
                }
            }
        }
    }

    /// Operations that went with what they used.
    fn lose(&mut self, at: f64, gone: impl Fn(&Running) -> bool, host: Option<HostId>, why: &str) {
        let lost = self.running.iter().filter(|(_, running)| gone(running));
        for op in lost.map(|(op, _)| *op).collect::<Vec<_>>() {
            self.note_cut(op, at);
            self.stop(op, true);
            self.running.remove(&op);
            self.tell(at, SignalKind::Failed(op, OpError::Lost { host, why: why.to_string() }));
        }
    }

    /// Whether something is under way that will be told of.
    fn is_busy(&self) -> bool {
        !self.running.is_empty()
            || !self.pending.is_empty()
            || self.leases.values().any(|state| *state != LeaseState::Ready)
    }
}

impl Backend for MachineBackend<'_> {
    fn abilities(&self) -> Abilities {
        Abilities { guesses: true, ..Abilities::default() }
    }

    fn charges(&self) -> Charges {
        self.options.charges.clone()
    }

    fn now(&self) -> f64 {
        self.now
    }

    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<Accepted, OpError> {
        if let Some(accepted) = self.known(op) {
            return Ok(accepted);
        }
        let task = work.task;
        let host = self.problem.host_of(work.procs[0]);
        self.absent(&[host])?;
        if let Some(report) = self.reuse(task, host) {
            self.doom_temporary(task);
            self.tell(self.events.clock.now(), SignalKind::Done(op, report));
            return Ok(Accepted::Running);
        }
        self.check_time(task, work.procs)?;
        let number = self.next_attempt(task);
        let attempt = self.attempt(op, &work, number)?;
        self.past.attempts.insert(task, number);
        let name = self.workflow().task_name(task).to_string();
        let label = Label { op, task, name, host, number };
        let cores = work.procs.len() as u32;
        let class = self.problem.class_of(work.procs[0]);
        let seconds = self.problem.exec_wide(self.stated(task), class, cores);
        let seconds = Some(seconds).filter(|seconds| seconds.is_finite());
        let accepted = self.executor.begin(Job { label, cores, seconds, attempt });
        self.computing(op, task, work.procs, accepted == Accepted::Waiting);
        Ok(accepted)
    }

    fn transfer(&mut self, op: OpId, movement: Movement<'_>) -> Result<Accepted, OpError> {
        if let Some(accepted) = self.known(op) {
            return Ok(accepted);
        }
        let Movement { file, blocks, .. } = movement;
        let hosts: Vec<HostId> = blocks.iter().flat_map(|b| [b.from, b.to]).collect();
        self.absent(&hosts)?;
        self.doomed.retain(|(f, host)| *f != file || !hosts.contains(host));
        let problem = self.problem;
        let seconds = |b: &Block| problem.transfer(b.bytes, b.from, b.to);
        let expected = blocks.iter().map(seconds).fold(0.0, f64::max);
        let real = !self.workflow().file_name(file).is_empty();
        let platform = self.platform();
        let mut moves: Vec<Copy> = Vec::new();
        for b in blocks.iter().filter(|_| real) {
            let pace = self.throttle.as_mut().map(|t| t.pace(platform, (b.from, b.to)));
            let part = self.folder.work(self.host_name(b.to)).join(format!("{}.part", op.0));
            let (from, own) = self.place(file, b.from);
            let stamp = own.flatten();
            moves.push(Copy { host: b.from, from, stamp, target: b.to, part, pace });
        }
        let known =
            blocks.first().and_then(|b| self.versions.get(&(file, platform.place_of(b.from))));
        let known = known.cloned();
        let control = Control::default();
        let (stop, events) = (control.clone(), self.events.clone());
        let label = self.workflow().file_label(file);
        let submitted = self.movers.submit(Box::new(move || {
            let begin = Instant::now();
            let mut copies = Vec::new();
            let copy = |Copy { host, from, stamp, target, part, mut pace }: Copy| match copy_paced(
                &from,
                &part,
                pace.as_mut().map(|pace| pace as &mut dyn Pace),
                &|| stop.is_stopping(),
                stamp,
            ) {
                Ok(stamp) => {
                    let right =
                        known.as_ref().is_none_or(|k| k.is_in_copy(&from, &part).unwrap_or(true));
                    copies.push((target, part, stamp));
                    if right {
                        return Ok(());
                    }
                    let _ = std::fs::remove_file(&from); // the process that changed it may have done so
                    let why = format!("'{label}' was changed");
                    Err(CopyError::Gone { file, host, why })
                }
                Err(_) if stop.is_stopping() => Err(CopyError::Stopped),
                Err(error) if is_missing(&from) => {
                    let why = format!("'{label}' is gone: {error}");
                    Err(CopyError::Gone { file, host, why })
                }
                Err(error) => {
                    let changed = error.kind() == std::io::ErrorKind::InvalidData;
                    let why = format!("'{label}' cannot be copied: {error}");
                    let transient = OpError::Transient(why.clone());
                    Err(CopyError::Error(if changed { OpError::Refused(why) } else { transient }))
                }
            };
            let how = moves.into_iter().try_for_each(copy);
            let moved =
                CompletedCopy { file, copies, known, seconds: begin.elapsed().as_secs_f64() };
            let how = how.inspect_err(|_| moved.discard()).map(|()| moved);
            events.tell(ExecutorEvent::CopyEnded(op, events.clock.now(), how));
        }));
        if let Err(error) = submitted {
            return Err(OpError::Transient(format!("no thread can be started: {error}")));
        }
        let (since, doing) = (self.now, Doing::Copy(control));
        let running = Running { doing, hosts, since, expected, cancelling: false };
        self.running.insert(op, running);
        Ok(Accepted::Running)
    }

    fn cancel(&mut self, op: OpId) -> Result<(), BackendError> {
        if let Some(running) = self.running.get_mut(&op) {
            running.cancelling = true;
            self.stop(op, false);
        }
        Ok(())
    }

    fn lease(&mut self, op: OpId, order: Order) -> Result<Accepted, OpError> {
        if let Some(accepted) = self.known(op) {
            return Ok(accepted);
        }
        self.absent(&[order.host])?;
        let accepted = self.executor.lease(op, order.host)?;
        let ready = accepted == Accepted::Running;
        self.leases.insert(op, if ready { LeaseState::Ready } else { LeaseState::Ordered });
        Ok(accepted)
    }

    fn release(&mut self, lease: OpId) -> Result<(), BackendError> {
        if let Some(state) = self.leases.get_mut(&lease) {
            *state = LeaseState::Released;
            self.executor.release(lease);
        }
        Ok(())
    }

    fn delete(&mut self, file: FileId, host: HostId) -> Result<(), BackendError> {
        // The last copy of a file stays, unless the user wants it to go: the next run in this folder may need it.
        let name = self.workflow().file_name(file);
        let place = self.platform().place_of(host);
        let mut hosts = self.platform().host_ids();
        let is_elsewhere = |at: HostId| at != place && self.versions.contains_key(&(file, at));
        if !name.is_empty() && (self.options.temporary.contains(name) || hosts.any(is_elsewhere)) {
            self.doomed.push((file, host));
        }
        Ok(())
    }

    fn expect(&mut self, host: HostId, backlog: Backlog) {
        self.executor.expect(host, backlog);
    }

    fn grown(&mut self, workflow: &Arc<Workflow>) {
        self.grown = Some(Arc::clone(workflow));
    }

    fn reattach(&mut self, open: &[Open], _: u64) -> Result<(), BackendError> {
        let mut wanted = Vec::new();
        for Open { op, work, cancelling } in open {
            if let (Work::Compute { task, procs, .. }, false) = (work, cancelling) {
                let name = self.workflow().task_name(*task).to_string();
                let host = self.problem.host_of(procs[0]);
                let number = self.past.attempts.get(task).copied().unwrap_or(0);
                wanted.push(Label { op: *op, task: *task, name, host, number });
            }
        }
        let adopted = self.executor.take_up(&wanted)?;
        self.events.clock.go_on_from(self.past.now); // playing the log took time, too
        // Adopted operations count as under way before their ends are reported.
        for Open { op, work, .. } in open {
            if let Work::Compute { task, procs, .. } = work
                && let Some(label) = adopted.iter().find(|label| label.op == *op)
            {
                let known = self.past.attempts.entry(label.task).or_default();
                *known = label.number.max(*known);
                self.computing(*op, *task, procs, false);
            }
        }
        self.look()?;
        self.look_for_files();
        let drive = self.options.drive;
        self.sweep(|of, op| of != drive && adopted.iter().all(|label| label.op != op));
        let at = self.now;
        for Open { op, work, cancelling } in open {
            match work {
                Work::Lease { .. } if *cancelling => {
                    self.tell(at, SignalKind::LeaseEnded(*op, None))
                }
                _ if *cancelling => self.tell(at, SignalKind::Cancelled(*op)),
                _ if adopted.iter().any(|label| label.op == *op) => {}
                Work::Lease { .. } => match work.begin(*op, self) {
                    // It may not have been told.
                    Ok(Accepted::Running) => self.tell(at, SignalKind::LeaseReady(*op)),
                    Ok(Accepted::Waiting) => {}
                    Err(error) => self.tell(at, SignalKind::LeaseEnded(*op, Some(error))),
                },
                // The attempt ended with its engine; the next one is another one, with dates of its own.
                Work::Compute { .. } => {
                    let why = "it was under way when the engine was stopped".to_string();
                    self.tell(at, SignalKind::Failed(*op, OpError::Lost { host: None, why }));
                }
                work => match work.begin(*op, self) {
                    Ok(_) => {}
                    Err(error) => self.tell(at, SignalKind::Failed(*op, error)),
                },
            }
        }
        self.taken_up = open.iter().map(|open| open.op).collect();
        Ok(())
    }

    fn measure(&mut self, ops: &[OpId]) -> Vec<f64> {
        let share = |op: &OpId| {
            let Some(running) = self.running.get(op) else { return 0.0 };
            let elapsed = self.now - running.since;
            let waits = matches!(running.doing, Doing::Task { waits: true, .. });
            if running.expected > 0.0 && !waits {
                (elapsed / running.expected).clamp(0.0, NEARLY)
            } else {
                0.0
            }
        };
        ops.iter().map(share).collect()
    }

    fn observe(&mut self, _: &mut View) {}

    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        self.executor.heard(); // what was told before is in the log by now
        self.delete_doomed()?;
        loop {
            self.look()?;
            let now = self.events.clock.now();
            if !self.pending.is_empty() {
                self.now = now.max(self.now);
                signals.append(&mut self.pending);
                return Ok(Reached::Instant);
            }
            if self.interrupted.load(Ordering::Relaxed) {
                self.stop_all();
                let _ = self.events.log.append(now, &Record::Note(Note::Stopped));
                return Err(BackendError::Stopped);
            }
            if now >= until {
                self.now = now.max(self.now);
                return Ok(Reached::Limit);
            }
            let lost = self.lost.iter().any(Option::is_some);
            if !self.is_busy() && until == f64::INFINITY && !lost {
                return Ok(Reached::Idle);
            }
            let left = Duration::try_from_secs_f64(until - now).unwrap_or(LISTEN).min(LISTEN);
            match self.inbox.recv_timeout(left) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(BackendError::Machines("nobody works here any more".to_string()));
                }
            }
        }
    }

    fn outlook(&mut self, _: f64) -> Liveness {
        // A run that is being stopped is not over: `next` stops it, and it can be resumed.
        if self.is_busy() || self.interrupted.load(Ordering::Relaxed) {
            Liveness::Busy
        } else if self.lost.iter().any(Option::is_some) {
            self.executor.outlook()
        } else {
            Liveness::Hopeless
        }
    }
}

/// Least seconds by which a date differs from what was told before.
const NEWS: f64 = 1.0;

/// Whether what is known of a host that is served for a limited time has changed.
fn is_another(known: &Stay, stay: &Stay) -> bool {
    (known.ends - stay.ends).abs() > NEWS
        || (known.gap - stay.gap).abs() > NEWS
        || (known.whole - stay.whole).abs() > NEWS
        || known.safety != stay.safety
}

fn report_of(workflow: &Workflow, task: TaskId, done: &Completed) -> Report {
    let outputs: Vec<FileId> = named(workflow, workflow.outputs(task)).collect();
    let pairs = || outputs.iter().zip(&done.written);
    Report {
        seconds: Some(done.usage.seconds),
        exit_code: done.usage.exit,
        sizes: pairs().map(|(&file, written)| (file, written.bytes as f64)).collect(),
        checksums: pairs()
            .filter_map(|(&file, written)| Some((file, written.checksum.clone()?)))
            .collect(),
        cpu_seconds: Some(done.usage.cpu_seconds),
        peak_memory: done.usage.peak_memory,
        load: done.load,
    }
}

impl Drop for MachineBackend<'_> {
    fn drop(&mut self) {
        let copies = self.running.values().filter_map(|running| match &running.doing {
            Doing::Copy(control) => Some(control),
            Doing::Task { .. } => None,
        });
        copies.for_each(Control::kill);
        self.movers.finish();
    }
}
