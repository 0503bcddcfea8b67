//! This machine as a platform: hosts are folders, their cores slots, transfers copies of files.
//!
//! Nothing blocks the engine: attempts and copies are made by threads of their own and tell how they
//! ended. A host is there as long as its folder is; who takes that away takes the host away.

mod clock;
mod past;
mod workers;

pub use clock::Clock;
pub use past::Past;

use crate::attempt::{
    Attempt, Broken, Completed, Control, Limits, Process, RUN_VARIABLE, checksum, copy_paced,
    end_orphans,
};
use crate::backend::{
    Abilities, Accepted, Backend, BackendError, Computation, Movement, OpError, OpId, Open, Order,
    Outlook, Reached, Report, Signal, What, Work,
};
use crate::folder::{Failure, Note, RunFolder, RunLog};
use crate::journal::Record;
use slackline_model::problem::{Inputs, View};
use slackline_model::{FileId, HostId, Platform, Problem, TaskId, Workflow};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use workers::Workers;

/// Time between two looks at the folders of the hosts.
const LOOK: Duration = Duration::from_millis(500);

/// Longest time without a look at whether the user wants to stop.
const LISTEN: Duration = Duration::from_millis(100);

/// Most copies that are made at once.
const MOVERS: usize = 32;

/// Most progress that is claimed for what has not ended.
const NEARLY: f64 = 0.99;

/// How work is done here.
#[derive(Clone, Debug, Default)]
pub struct LocalOptions {
    /// Transfers take at least the time that the platform says.
    pub throttle: bool,
    /// Tasks keep to the cores of their host, counted through from the first core of the machine.
    pub pin: bool,
    /// Seconds after which an attempt is ended.
    pub time_limit: Option<f64>,
    /// The folder of the workflow, for files that nobody makes.
    pub source: PathBuf,
    /// Names the run among all others.
    pub run: String,
    /// The program that `slackline` stands for in commands.
    pub myself: PathBuf,
}

/// An operation under way.
struct Running {
    control: Control,
    hosts: Vec<HostId>,
    task: Option<TaskId>,
    since: f64,
    /// Seconds it should take.
    expected: f64,
    cancelling: bool,
}

/// How an operation ended, from the thread that did it.
struct Ended {
    op: OpId,
    at: f64,
    how: Result<Report, Trouble>,
}

/// Why it did not come to its end.
enum Trouble {
    Stopped,
    Gone { file: FileId, host: HostId, why: String },
    Error(OpError),
}

/// See the module's head.
pub struct Local<'p> {
    problem: &'p Problem<'p>,
    inputs: Inputs,
    options: LocalOptions,
    folder: Arc<RunFolder>,
    log: Arc<RunLog>,
    clock: Clock,
    /// The date of the last answer; it stands still in between.
    now: f64,
    past: Past,
    running: BTreeMap<OpId, Running>,
    workers: Workers,
    movers: Workers,
    tell: Sender<Ended>,
    told: Receiver<Ended>,
    pending: Vec<Signal>,
    /// Copies to delete once nothing that is not durable relies on them.
    doomed: Vec<(FileId, HostId)>,
    lost: Vec<bool>,
    looked: Instant,
    interrupted: Arc<AtomicBool>,
    /// Who wants to hear of failures as they happen.
    news: Option<Sender<Failure>>,
}

impl<'p> Local<'p> {
    /// A machine that is ready to work; `interrupted` stops it.
    pub fn new(
        problem: &'p Problem<'p>,
        inputs: Inputs,
        options: LocalOptions,
        folder: Arc<RunFolder>,
        log: Arc<RunLog>,
        past: Past,
        interrupted: Arc<AtomicBool>,
    ) -> Local<'p> {
        let (tell, told) = channel();
        let now = past.now;
        let hosts = problem.platform().hosts().len();
        Local {
            problem,
            inputs,
            options,
            folder,
            log,
            clock: Clock::from(now),
            now,
            past,
            running: BTreeMap::new(),
            workers: Workers::up_to(usize::MAX),
            movers: Workers::up_to(MOVERS),
            tell,
            told,
            pending: Vec::new(),
            doomed: Vec::new(),
            lost: vec![false; hosts],
            looked: Instant::now(),
            interrupted,
            news: None,
        }
    }

    /// Failures as they happen.
    pub fn news(&mut self) -> Receiver<Failure> {
        let (tell, told) = channel();
        self.news = Some(tell);
        told
    }

    /// Makes the folders of the hosts, at the beginning of a run.
    pub fn make_hosts(&self) -> Result<(), BackendError> {
        self.platform().host_ids().try_for_each(|host| self.make_host(host))
    }

    fn make_host(&self, host: HostId) -> Result<(), BackendError> {
        let name = self.host_name(host);
        for folder in [self.folder.store(name), self.folder.work(name)] {
            let failed = |e| BackendError(format!("{}: {e}", folder.display()));
            std::fs::create_dir_all(&folder).map_err(failed)?;
        }
        Ok(())
    }

    /// The clock that all dates come from.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    fn workflow(&self) -> &'p Workflow {
        self.problem.workflow()
    }

    fn platform(&self) -> &'p Platform {
        self.problem.platform()
    }

    fn host_name(&self, host: HostId) -> &'p str {
        &self.platform().host(host).name
    }

    /// Where a file lies at a host: in its store, or where the user put it.
    fn place(&self, file: FileId, host: HostId) -> PathBuf {
        let place = self.platform().place_of(host);
        let name = self.workflow().file_name(file);
        let stored = self.folder.store(self.host_name(place)).join(name);
        let given = self.workflow().producer(file).is_none()
            && match self.inputs {
                Inputs::Everywhere => true,
                Inputs::At(origin) => self.platform().place_of(origin) == place,
            };
        if given && !stored.exists() { self.options.source.join(name) } else { stored }
    }

    fn stored(&self, file: FileId, host: HostId) -> PathBuf {
        let place = self.host_name(self.platform().place_of(host));
        self.folder.store(place).join(self.workflow().file_name(file))
    }

    fn absent(&self, hosts: &[HostId]) -> Result<(), OpError> {
        match hosts.iter().find(|h| self.lost[h.index()]) {
            Some(&host) => Err(self.gone(host)),
            None => Ok(()),
        }
    }

    fn gone(&self, host: HostId) -> OpError {
        let why = format!("the folder of host '{}' is gone", self.host_name(host));
        OpError::Lost { host: Some(host), why }
    }

    fn tell(&mut self, at: f64, what: What) {
        self.pending.push(Signal { at, what });
    }

    fn attempt(&self, op: OpId, work: &Computation<'_>, attempt: u32) -> Result<Attempt, OpError> {
        let (workflow, task) = (self.workflow(), work.task);
        let name = workflow.task_name(task);
        let host = self.problem.host_of(work.procs[0]);
        let Some(command) = workflow.command(task) else {
            return Err(OpError::Refused(format!("task '{name}' has no command")));
        };
        let mut argv = vec![command.program.clone()];
        if command.program == "slackline" {
            argv[0] = self.options.myself.to_string_lossy().into_owned();
        }
        argv.extend(command.arguments.iter().cloned());
        let named = |file: &FileId| !workflow.file_name(*file).is_empty();
        let own = |file: FileId| workflow.file_name(file).to_string();
        let inputs = workflow.inputs(task).filter(named);
        let outputs = workflow.outputs(task).filter(named);
        let cores = work.procs.iter().map(|p| p.index()).filter(|_| self.options.pin);
        let width = work.procs.len().to_string();
        let env = [
            (RUN_VARIABLE, self.options.run.as_str()),
            ("SLACKLINE_TASK", name),
            ("SLACKLINE_HOST", self.host_name(host)),
            ("SLACKLINE_ATTEMPT", &attempt.to_string()),
            ("SLACKLINE_CORES", &width),
            ("OMP_NUM_THREADS", &width),
        ];
        Ok(Attempt {
            argv,
            env: env.map(|(name, value)| (name.to_string(), value.to_string())).into(),
            work: self.folder.work(self.host_name(host)).join(op.0.to_string()),
            inputs: inputs.map(|file| (own(file), self.place(file, host))).collect(),
            outputs: outputs.map(|file| (own(file), self.stored(file, host))).collect(),
            captured: self.folder.captured(name, attempt),
            limits: Limits { seconds: self.options.time_limit, cores: cores.collect() },
        })
    }

    /// Ends everything that is under way and waits until it is gone.
    fn stop_all(&mut self) {
        for running in self.running.values() {
            running.control.stop();
        }
        let patience = Instant::now() + Duration::from_secs(30);
        while !self.running.is_empty() && Instant::now() < patience {
            if let Ok(ended) = self.told.recv_timeout(LISTEN) {
                self.running.remove(&ended.op);
            }
        }
        self.running.values().for_each(|running| running.control.kill());
    }

    /// Turns the end of an operation into what the engine is told.
    fn take(&mut self, ended: Ended) {
        let Ended { op, at, how } = ended;
        let Some(running) = self.running.remove(&op) else { return };
        match how {
            Ok(report) => self.tell(at, What::Done(op, report)),
            Err(Trouble::Stopped) if running.cancelling => self.tell(at, What::Cancelled(op)),
            Err(Trouble::Stopped) => {
                let error = OpError::Transient("it was stopped from outside".to_string());
                self.tell(at, What::Failed(op, error));
            }
            Err(Trouble::Gone { file, host, why }) => {
                self.tell(at, What::CopyLost { file, host });
                let error = match running.task {
                    // Nothing is wrong with the task.
                    Some(_) => OpError::Lost { host: None, why },
                    None => OpError::Transient(why),
                };
                self.tell(at, What::Failed(op, error));
            }
            Err(Trouble::Error(error)) => self.tell(at, What::Failed(op, error)),
        }
    }

    /// Looks whether hosts have come or gone.
    fn look_at_hosts(&mut self) {
        self.looked = Instant::now();
        let at = self.clock.now();
        for host in self.platform().host_ids() {
            let there = self.folder.host(self.host_name(host)).is_dir();
            if there != self.lost[host.index()] {
                continue;
            }
            self.lost[host.index()] = !there;
            if there {
                match self.make_host(host) {
                    Ok(()) => self.tell(at, What::HostBack(host)),
                    Err(_) => self.lost[host.index()] = true, // it went again
                }
                continue;
            }
            self.tell(at, What::HostLost { host, keeps_data: false });
            let on_it = self.running.iter().filter(|(_, r)| r.hosts.contains(&host));
            for op in on_it.map(|(op, _)| *op).collect::<Vec<_>>() {
                if let Some(running) = self.running.remove(&op) {
                    running.control.kill();
                }
                let error = self.gone(host);
                self.tell(at, What::Failed(op, error));
            }
        }
    }

    /// Deletes copies: what says that nobody needs them is durable first.
    fn delete_doomed(&mut self) -> Result<(), BackendError> {
        if self.doomed.is_empty() {
            return Ok(());
        }
        self.log.settle().map_err(BackendError)?;
        for (file, host) in std::mem::take(&mut self.doomed) {
            let _ = std::fs::remove_file(self.stored(file, host)); // it may never have been there
        }
        Ok(())
    }

    /// Files that should be there and are not, or are not what they were.
    fn look_for_files(&mut self) {
        let at = self.now;
        for ((file, host), kept) in std::mem::take(&mut self.past.files) {
            if self.lost[host.index()] {
                continue;
            }
            let path = self.stored(file, host);
            let found = std::fs::symlink_metadata(&path);
            let sized = found.is_ok_and(|found| found.is_file() && found.len() == kept.bytes);
            let right = || {
                let known = kept.checksum.as_ref();
                known.is_none_or(|known| checksum(&path).is_ok_and(|found| found == *known))
            };
            if !(sized && right()) {
                self.tell(at, What::CopyLost { file, host });
            }
        }
    }
}

impl Backend for Local<'_> {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    fn now(&self) -> f64 {
        self.now
    }

    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<Accepted, OpError> {
        if self.running.contains_key(&op) {
            return Ok(Accepted::Running);
        }
        let task = work.task;
        let host = self.problem.host_of(work.procs[0]);
        self.absent(&[host])?;
        let number = self.past.attempts.get(&task).copied().unwrap_or(0) + 1;
        let attempt = self.attempt(op, &work, number)?;
        self.past.attempts.insert(task, number);
        let workflow = self.workflow();
        let inputs: Vec<FileId> =
            workflow.inputs(task).filter(|f| !workflow.file_name(*f).is_empty()).collect();
        let outputs: Vec<FileId> =
            workflow.outputs(task).filter(|f| !workflow.file_name(*f).is_empty()).collect();
        let name = workflow.task_name(task).to_string();
        let (control, clock) = (Control::default(), self.clock);
        let (stop, tell, log) = (control.clone(), self.tell.clone(), Arc::clone(&self.log));
        let news = self.news.clone();
        self.workers.submit(Box::new(move || {
            let noted = |note: Note| log.append(clock.now(), &Record::Note(note));
            let mut begun = |process: Process| {
                // A run whose log cannot be kept is ended by its engine.
                let _ = noted(Note::Process {
                    task,
                    name: name.clone(),
                    host,
                    attempt: number,
                    process,
                });
            };
            let how = match attempt.perform(&stop, &mut begun) {
                Ok(done) => Ok(report_of(&outputs, done)),
                Err(Broken::Stopped) => Err(Trouble::Stopped),
                Err(Broken::InputGone { index, name }) => {
                    let why = format!("input '{name}' is gone");
                    Err(Trouble::Gone { file: inputs[index], host, why })
                }
                Err(broken) => {
                    let reason = broken.to_string();
                    let (exit, last_lines) = match &broken {
                        Broken::Failed { exit, last_lines, .. } => (*exit, last_lines.clone()),
                        _ => (None, Vec::new()),
                    };
                    let name = name.clone();
                    let failure =
                        Failure { task, name, attempt: number, host, exit, reason, last_lines };
                    let reason = failure.reason.clone();
                    if let Some(news) = &news {
                        let _ = news.send(failure.clone()); // nobody may listen any more
                    }
                    let _ = noted(Note::Failure(failure));
                    Err(Trouble::Error(match broken {
                        Broken::Impossible(_) => OpError::Refused(reason),
                        _ => OpError::Transient(reason),
                    }))
                }
            };
            let _ = tell.send(Ended { op, at: clock.now(), how }); // nobody may listen any more
        }));
        let class = self.problem.class_of(work.procs[0]);
        let expected = self.problem.exec_wide(task, class, work.procs.len() as u32);
        let (hosts, since) = (vec![host], self.now);
        let task = Some(task);
        let running = Running { control, hosts, task, since, expected, cancelling: false };
        self.running.insert(op, running);
        Ok(Accepted::Running)
    }

    fn transfer(&mut self, op: OpId, movement: Movement<'_>) -> Result<Accepted, OpError> {
        if self.running.contains_key(&op) {
            return Ok(Accepted::Running);
        }
        let Movement { file, blocks, .. } = movement;
        let hosts: Vec<HostId> = blocks.iter().flat_map(|b| [b.from, b.to]).collect();
        self.absent(&hosts)?;
        self.doomed.retain(|(f, host)| *f != file || !hosts.contains(host));
        let network = self.platform().planning_network();
        let seconds =
            |b: &slackline_model::problem::Block| network.transfer_time(b.bytes, b.from, b.to);
        let expected = blocks.iter().map(seconds).fold(0.0, f64::max);
        let real = !self.workflow().file_name(file).is_empty();
        let pace = if self.options.throttle { expected } else { 0.0 };
        let moves: Vec<(HostId, PathBuf, PathBuf, PathBuf)> = blocks
            .iter()
            .map(|b| {
                let part = self.folder.work(self.host_name(b.to)).join(format!("{}.part", op.0));
                (b.from, self.place(file, b.from), self.stored(file, b.to), part)
            })
            .collect();
        let (control, clock) = (Control::default(), self.clock);
        let (stop, tell) = (control.clone(), self.tell.clone());
        let label = self.workflow().file_label(file);
        self.movers.submit(Box::new(move || {
            let begin = Instant::now();
            let mut how = Ok(());
            for (host, from, to, part) in moves.iter().filter(|_| real) {
                let stopped = || stop.is_stopping();
                how = match copy_paced(from, to, part, pace, &stopped) {
                    Ok(_) => Ok(()),
                    Err(_) if stop.is_stopping() => Err(Trouble::Stopped),
                    Err(error) if !from.is_file() => {
                        let why = format!("'{label}' is gone: {error}");
                        Err(Trouble::Gone { file, host: *host, why })
                    }
                    Err(error) => {
                        let why = format!("'{label}' cannot be copied: {error}");
                        Err(Trouble::Error(OpError::Transient(why)))
                    }
                };
                if how.is_err() {
                    break;
                }
            }
            let seconds = Some(begin.elapsed().as_secs_f64());
            let how = how.map(|()| Report { seconds, ..Report::default() });
            let _ = tell.send(Ended { op, at: clock.now(), how }); // nobody may listen any more
        }));
        let (task, since) = (None, self.now);
        let running = Running { control, hosts, task, since, expected, cancelling: false };
        self.running.insert(op, running);
        Ok(Accepted::Running)
    }

    fn cancel(&mut self, op: OpId) -> Result<(), BackendError> {
        if let Some(running) = self.running.get_mut(&op) {
            running.cancelling = true;
            running.control.stop();
        }
        Ok(())
    }

    /// A machine of one's own is there at once.
    fn lease(&mut self, _: OpId, order: Order) -> Result<Accepted, OpError> {
        self.absent(&[order.host])?;
        Ok(Accepted::Running)
    }

    fn release(&mut self, lease: OpId) -> Result<(), BackendError> {
        self.tell(self.now, What::LeaseEnded(lease, None));
        Ok(())
    }

    fn delete(&mut self, file: FileId, host: HostId) -> Result<(), BackendError> {
        if !self.workflow().file_name(file).is_empty() {
            self.doomed.push((file, host));
        }
        Ok(())
    }

    fn reattach(&mut self, open: &[Open], _: u64) -> Result<(), BackendError> {
        end_orphans(&self.options.run, &self.past.processes);
        self.clock = Clock::from(self.past.now); // playing the log took time, too
        self.look_at_hosts();
        self.look_for_files();
        for Open { op, work, cancelling } in open {
            let at = self.now;
            if *cancelling {
                let lease = matches!(work, Work::Lease { .. });
                let over = What::LeaseEnded(*op, None);
                self.tell(at, if lease { over } else { What::Cancelled(*op) });
            } else if let Err(error) = work.begin(*op, self) {
                self.tell(at, What::Failed(*op, error));
            }
        }
        Ok(())
    }

    fn measure(&mut self, ops: &[OpId]) -> Vec<f64> {
        let share = |op: &OpId| {
            let Some(running) = self.running.get(op) else { return 0.0 };
            let elapsed = self.now - running.since;
            if running.expected > 0.0 {
                (elapsed / running.expected).clamp(0.0, NEARLY)
            } else {
                0.0
            }
        };
        ops.iter().map(share).collect()
    }

    fn observe(&mut self, _: &mut View) {}

    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        self.delete_doomed()?;
        loop {
            while let Ok(ended) = self.told.try_recv() {
                self.take(ended);
            }
            if self.looked.elapsed() >= LOOK {
                self.look_at_hosts();
            }
            let now = self.clock.now();
            if !self.pending.is_empty() {
                self.now = now.max(self.now);
                signals.append(&mut self.pending);
                return Ok(Reached::Instant);
            }
            if self.interrupted.load(Ordering::Relaxed) {
                self.stop_all();
                let _ = self.log.append(self.clock.now(), &Record::Note(Note::Stopped));
                return Err(BackendError("stopped".to_string()));
            }
            if now >= until {
                self.now = now.max(self.now);
                return Ok(Reached::Limit);
            }
            if self.running.is_empty() && until == f64::INFINITY && !self.lost.contains(&true) {
                return Ok(Reached::Idle);
            }
            let left = Duration::try_from_secs_f64(until - now).unwrap_or(LISTEN).min(LISTEN);
            match self.told.recv_timeout(left) {
                Ok(ended) => self.take(ended),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(BackendError("nobody works here any more".to_string()));
                }
            }
        }
    }

    fn outlook(&mut self, _: f64) -> Outlook {
        if !(self.running.is_empty() && self.pending.is_empty()) {
            Outlook::Busy
        } else if self.lost.contains(&true) {
            Outlook::Unknown
        } else {
            Outlook::Hopeless
        }
    }
}

/// What an attempt came to, in the terms of the engine.
fn report_of(outputs: &[FileId], done: Completed) -> Report {
    let pairs = || outputs.iter().zip(&done.written);
    Report {
        seconds: Some(done.usage.seconds),
        exit_code: done.usage.exit,
        sizes: pairs().map(|(&file, written)| (file, written.bytes as f64)).collect(),
        checksums: pairs().map(|(&file, written)| (file, written.checksum.clone())).collect(),
        cpu_seconds: Some(done.usage.cpu_seconds),
        peak_memory: done.usage.peak_memory,
    }
}

impl Drop for Local<'_> {
    fn drop(&mut self) {
        for running in self.running.values() {
            running.control.kill();
        }
        self.workers.finish();
        self.movers.finish();
    }
}
