//! The course of a real run as its log tells it: attempts with dates, hosts, resources and outcomes. Nothing is
//! replayed, so that a run can be inspected while a process drives it, under any policy.

use crate::context::Context;
use crate::failure::Failure;
use crate::input;
use crate::run::{again, settings};
use slackline_analysis::calibration::first_estimates;
use slackline_engine::{Note, OpError, OpId, Record, SignalKind, Work};
use slackline_import::{
    Attempt, Engine, Figure, HostRecord, Outcome, RecordedRun, TaskRecord, Transfer,
};
use slackline_machines::attempt::STDERR;
use slackline_machines::folder::{self, DrivingProcess, Header};
use slackline_model::{FileId, HostId, Platform, ProcId, TaskId, Workflow};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Most bytes of the output of an attempt that are read for its last lines.
const TAIL: u64 = 8192;

/// State of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptState {
    /// It was asked for and waits for its place.
    Waiting,
    /// It runs, as far as is known.
    Running,
    /// With its outputs.
    Done,
    /// Without them.
    Failed,
    /// The policy gave it up.
    Cancelled,
    /// Its host or its engine went away under it.
    Interrupted,
}

/// One attempt at a task. Dates are seconds during which a process drove the run.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptHistory {
    /// Its number at the task, from 1.
    pub number: u32,
    /// Its host.
    pub host: HostId,
    /// Processors it holds.
    pub procs: Vec<ProcId>,
    /// Bytes of memory that it was granted.
    pub memory: Option<u64>,
    /// Number of devices that it was granted.
    pub devices: usize,
    /// Date at which it was asked for.
    pub begun: f64,
    /// Date at which its process began, where it did.
    pub started: Option<f64>,
    /// Date at which it ended, where it did.
    pub ended: Option<f64>,
    /// Its state.
    pub state: AttemptState,
    /// Exit code of its process.
    pub exit: Option<i32>,
    /// Why it failed, or was broken off.
    pub reason: Option<String>,
    /// Whether it failed for lack of memory.
    pub out_of_memory: bool,
    /// Last lines that it wrote, where it failed.
    pub last_lines: Vec<String>,
    /// Processor seconds.
    pub cpu_seconds: Option<f64>,
    /// Most memory that it had, bytes.
    pub peak_memory: Option<u64>,
}

impl AttemptHistory {
    /// Seconds from its process's begin (its request, where none is known) to its end, or to a date.
    pub fn seconds(&self, now: f64) -> f64 {
        (self.ended.unwrap_or(now) - self.started.unwrap_or(self.begun)).max(0.0)
    }

    /// Whether it is under way.
    pub fn is_open(&self) -> bool {
        matches!(self.state, AttemptState::Waiting | AttemptState::Running)
    }
}

/// A task with its attempts.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskHistory {
    /// Its name.
    pub name: String,
    /// Its kind; empty where it has none.
    pub kind: String,
    /// Its attempts, in order.
    pub attempts: Vec<AttemptHistory>,
}

impl TaskHistory {
    /// Whether an attempt has made its outputs, and the last one that ended did.
    pub fn is_done(&self) -> bool {
        self.attempts.last().is_some_and(|attempt| attempt.state == AttemptState::Done)
    }
}

/// A copy of a file from host to host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CopyHistory {
    /// The file.
    pub file: FileId,
    /// The host it leaves.
    pub from: HostId,
    /// The host it reaches.
    pub to: HostId,
    /// Bytes, as estimated.
    pub bytes: f64,
    /// Begin.
    pub begun: f64,
    /// End, where it has one.
    pub ended: Option<f64>,
}

/// The course of a run.
pub struct RunHistory {
    /// Its folder.
    pub path: PathBuf,
    /// The settings it was started with.
    pub header: Header,
    /// The workflow, with first estimates of tasks that state none.
    pub workflow: Workflow,
    /// The platform.
    pub platform: Platform,
    /// Tasks by number; more than the workflow has where choices and loops released some.
    pub tasks: Vec<TaskHistory>,
    /// Copies of files.
    pub copies: Vec<CopyHistory>,
    /// Dates at which a process began to drive it, each with seconds since 1970.
    pub drives: Vec<(f64, f64)>,
    /// Whether all tasks were done in the end, and the date of that, where the run is over.
    pub over: Option<(bool, f64)>,
    /// Whether its user stopped it last.
    pub stopped: bool,
    /// The date of the last record.
    pub last: f64,
    /// Defect at the end of the log, if there is one.
    pub torn: Option<String>,
    /// The process that drives it.
    pub driver: Option<DrivingProcess>,
    /// Per host the spans in which it was there; open where it still is.
    pub presence: Vec<Vec<(f64, Option<f64>)>>,
    hosts_of: Vec<HostId>,
    /// Sizes of files as tasks wrote them.
    sizes: HashMap<FileId, f64>,
}

impl RunHistory {
    /// Reads the folder of a run.
    pub fn read(path: &Path, context: &mut Context<'_>) -> Result<RunHistory, Failure> {
        // Before the log: a run that ends between the two is seen as driven, and over.
        let driver = DrivingProcess::of(path);
        let recovered = folder::read(path).map_err(Failure::input)?;
        let header = recovered.header;
        let (request, _) = settings::of_header(&header)?;
        let platform = input::read_platform(&path.join(&header.platform), context)?;
        let copy = path.join(&header.workflow);
        let mut document =
            slackline_formats::read_workflow(&context.files, &copy, request.input.format)?;
        if let (Some(speed), Some(format)) = (request.input.reference_speed, request.input.format) {
            document = document.at_reference_speed(format, speed).map_err(|e| e.in_file(&copy))?;
        }
        let mut workflow = first_estimates(document.workflow);
        if let Some(part) = again::part(&header, &workflow)? {
            workflow = part;
        }
        // Where everything was up to date there was nothing to do.
        let is_empty = header.part.as_ref().is_some_and(|part| {
            part.redo.is_empty() && part.perhaps.is_empty() && workflow.control().is_none()
        });
        let tasks = workflow.tasks().map(|task| TaskHistory {
            name: workflow.task_name(task).to_string(),
            kind: workflow.kind_name(workflow.kind(task)).to_string(),
            attempts: Vec::new(),
        });
        let hosts_of = platform.host_of_procs().collect();
        let platform_hosts = platform.hosts().len();
        let mut history = RunHistory {
            path: path.to_path_buf(),
            tasks: tasks.filter(|_| !is_empty).collect(),
            header,
            workflow,
            platform,
            copies: Vec::new(),
            drives: Vec::new(),
            over: None,
            stopped: false,
            last: 0.0,
            // The last line of a log that is being written may be half there.
            torn: recovered.torn.filter(|_| driver.is_none() || recovered.follow > 0),
            driver,
            presence: vec![vec![(0.0, None)]; platform_hosts],
            hosts_of,
            sizes: HashMap::new(),
        };
        let mut open = HashMap::new();
        for (at, record) in &recovered.records {
            history.last = history.last.max(*at);
            history.add(*at, record, &mut open);
        }
        Ok(history)
    }

    /// The task of a number, made where choices and loops released it.
    fn task(&mut self, task: TaskId) -> &mut TaskHistory {
        while self.tasks.len() <= task.index() {
            let name = format!("#{}", self.tasks.len());
            self.tasks.push(TaskHistory { name, kind: String::new(), attempts: Vec::new() });
        }
        &mut self.tasks[task.index()]
    }

    /// Gives a task the name that a record states.
    fn named(&mut self, task: TaskId, name: &str) -> &mut TaskHistory {
        if self.task(task).name != name {
            let kind = self.kind_of(name);
            let found = self.task(task);
            found.name = name.to_string();
            found.kind = kind;
        }
        self.task(task)
    }

    /// The kind of a task of this name, or of the one that it is an instance of.
    fn kind_of(&self, name: &str) -> String {
        let last = name.rsplit('/').next().unwrap_or(name);
        let plain = last.split('#').next().unwrap_or(last);
        let mut tasks = self.workflow.tasks();
        let found = tasks.find(|&t| [name, plain].contains(&self.workflow.task_name(t)));
        found.map_or(String::new(), |t| self.workflow.kind_name(self.workflow.kind(t)).to_string())
    }

    fn add(&mut self, at: f64, record: &Record, open: &mut HashMap<OpId, Opened>) {
        match record {
            Record::Begin { op, work: Work::Compute { task, procs, memory, devices, .. } } => {
                let procs: Vec<ProcId> = procs.iter().copied().collect();
                let host = procs.first().and_then(|p| self.hosts_of.get(p.index())).copied();
                let host = host.unwrap_or(HostId(0));
                let found = self.task(*task);
                let number = found.attempts.last().map_or(1, |attempt| attempt.number + 1);
                found.attempts.push(AttemptHistory {
                    number,
                    host,
                    procs,
                    memory: *memory,
                    devices: devices.len(),
                    begun: at,
                    started: None,
                    ended: None,
                    state: AttemptState::Running,
                    exit: None,
                    reason: None,
                    out_of_memory: false,
                    last_lines: Vec::new(),
                    cpu_seconds: None,
                    peak_memory: None,
                });
                let place = found.attempts.len() - 1;
                open.insert(*op, Opened { copies: 0..0, attempt: Some((*task, place)) });
                open.insert(LAST, Opened { copies: 0..0, attempt: Some((*task, place)) });
            }
            Record::Begin { op, work: Work::Move { file, blocks, .. } } => {
                let first = self.copies.len();
                self.copies.extend(blocks.iter().filter(|block| block.moves()).map(|block| {
                    let (from, to, bytes) = (block.from, block.to, block.bytes);
                    CopyHistory { file: *file, from, to, bytes, begun: at, ended: None }
                }));
                open.insert(*op, Opened { copies: first..self.copies.len(), attempt: None });
                open.remove(&LAST);
            }
            Record::Begin { .. } => {
                open.remove(&LAST);
            }
            Record::Accepted => {
                if let Some(attempt) = open.get(&LAST).and_then(|o| o.attempt) {
                    self.attempt(attempt).state = AttemptState::Waiting;
                }
            }
            Record::Refused(_) => {
                // Nothing was attempted.
                if let Some(Opened { attempt: Some((task, _)), .. }) = open.remove(&LAST) {
                    self.task(task).attempts.pop();
                }
            }
            Record::Next { signals, .. } => {
                for signal in signals {
                    self.hear(signal.at, &signal.what, open);
                }
            }
            Record::Note(note) => self.hear_note(at, note),
            _ => {}
        }
    }

    fn attempt(&mut self, (task, place): (TaskId, usize)) -> &mut AttemptHistory {
        &mut self.tasks[task.index()].attempts[place]
    }

    fn hear(&mut self, at: f64, what: &SignalKind, open: &mut HashMap<OpId, Opened>) {
        if let SignalKind::Running(op) = what
            && let Some(attempt) = open.get(op).and_then(|o| o.attempt)
        {
            let attempt = self.attempt(attempt);
            attempt.state = AttemptState::Running;
            attempt.started.get_or_insert(at);
            return;
        }
        match what {
            SignalKind::HostLost { host, .. } => {
                let spans = self.presence.get_mut(host.index());
                let last = spans.and_then(|spans| spans.last_mut());
                if let Some(last) = last.filter(|last| last.1.is_none()) {
                    last.1 = Some(at);
                }
            }
            SignalKind::HostBack(host) => {
                if let Some(spans) = self.presence.get_mut(host.index())
                    && spans.last().is_none_or(|last| last.1.is_some())
                {
                    spans.push((at, None));
                }
            }
            SignalKind::Done(_, report) => self.sizes.extend(report.sizes.iter().copied()),
            _ => {}
        }
        let Some(opened) = what.ends().and_then(|op| open.remove(&op)) else { return };
        for copy in &mut self.copies[opened.copies.clone()] {
            copy.ended = Some(at);
        }
        let Some(place) = opened.attempt else { return };
        if place.1 >= self.tasks[place.0.index()].attempts.len() {
            return;
        }
        let attempt = self.attempt(place);
        attempt.ended = Some(at);
        match what {
            SignalKind::Done(_, report) => {
                attempt.state = AttemptState::Done;
                attempt.exit = report.exit_code;
                attempt.cpu_seconds = report.cpu_seconds;
                attempt.peak_memory = report.peak_memory;
                attempt.reason = None;
                if let (Some(seconds), Some(noted)) = (report.seconds, attempt.started) {
                    // The time of its process, whenever begin and end were noted.
                    let begin = noted.min(at - seconds).max(attempt.begun);
                    attempt.started = Some(begin);
                    attempt.ended = Some((begin + seconds).min(at));
                }
            }
            SignalKind::Failed(_, error) => {
                attempt.state = match error {
                    OpError::Lost { .. } | OpError::NotNow(_) => AttemptState::Interrupted,
                    _ => AttemptState::Failed,
                };
                if let OpError::Memory { peak, .. } = error {
                    attempt.out_of_memory = true;
                    attempt.peak_memory = *peak;
                }
                attempt.reason.get_or_insert_with(|| error.to_string());
            }
            _ => attempt.state = AttemptState::Cancelled,
        }
    }

    fn hear_note(&mut self, at: f64, note: &Note) {
        match note {
            Note::Driven { since, .. } => {
                self.drives.push((at, *since));
                (self.over, self.stopped) = (None, false);
                // Whoever drove it before is gone, and what was under way with it, unless its end is told later.
                for attempt in self.tasks.iter_mut().flat_map(|task| &mut task.attempts) {
                    if attempt.is_open() {
                        attempt.state = AttemptState::Interrupted;
                        attempt.ended = Some(at);
                        attempt.reason = Some("the engine was stopped".to_string());
                    }
                }
            }
            Note::Process { task, name, attempt, .. } => {
                let found = self.named(*task, name);
                if let Some(last) = found.attempts.last_mut() {
                    last.number = *attempt;
                    last.started = Some(at);
                    last.state = AttemptState::Running;
                }
            }
            Note::Failure(failure) => {
                let found = self.named(failure.task, &failure.name);
                if let Some(last) = found.attempts.last_mut() {
                    last.number = failure.attempt;
                    last.exit = failure.exit;
                    last.reason = Some(failure.reason.clone());
                    last.last_lines.clone_from(&failure.last_lines);
                }
            }
            Note::Reused { task, name } => {
                self.named(*task, name);
            }
            Note::Stopped => self.stopped = true,
            Note::Over { finished, makespan } => self.over = Some((*finished, *makespan)),
            #[allow(unreachable_patterns)] // notes that say nothing of attempts
            _ => {}
        }
    }

    /// Whether a process drives it.
    pub fn is_driven(&self) -> bool {
        self.driver.is_some()
    }

    /// Seconds of driving until now: those of the last record, and those since where it continues.
    pub fn now(&self, seconds_since_1970: f64) -> f64 {
        match (self.drives.last(), self.is_driven() && self.over.is_none()) {
            (Some((at, since)), true) => (at + seconds_since_1970 - since).max(self.last),
            _ => self.last,
        }
    }

    /// Seconds since 1970 of a date.
    pub fn clock(&self, date: f64) -> f64 {
        let drive = self.drives.iter().rev().find(|(at, _)| *at <= date).or(self.drives.first());
        drive.map_or(self.header.began + date, |(at, since)| since + date - at)
    }

    /// Number of tasks that were up to date when the run began.
    pub fn up_to_date(&self) -> usize {
        let part = self.header.part.as_ref().filter(|_| self.workflow.control().is_none());
        part.map_or(0, |part| part.up_to_date)
    }

    /// Number of tasks that are done.
    pub fn done(&self) -> usize {
        self.tasks.iter().filter(|task| task.is_done()).count()
    }

    /// Number of cores of every host.
    pub fn cores(&self) -> Vec<u32> {
        self.platform.hosts().iter().map(|host| host.cores).collect()
    }

    /// Path of what an attempt wrote to its standard error, where it wrote anything.
    pub fn stderr(&self, task: &str, attempt: u32) -> Option<PathBuf> {
        let place = self.path.join("tasks").join(folder::component(task));
        let path = place.join(attempt.to_string()).join(STDERR);
        path.is_file().then_some(path)
    }

    /// Last lines of what an attempt wrote to its standard error.
    pub fn last_lines(&self, task: &str, attempt: &AttemptHistory, most: usize) -> Vec<String> {
        let tail = self.stderr(task, attempt.number).and_then(|path| tail(&path).ok());
        let lines: Vec<String> = match tail {
            Some(text) => text.lines().map(str::to_string).collect(),
            None => attempt.last_lines.clone(),
        };
        lines[lines.len().saturating_sub(most)..].to_vec()
    }

    /// The run in the form of recorded runs of any engine, for what explains and advises.
    pub fn recorded(&self) -> RecordedRun {
        let mut run = RecordedRun::of(Engine::Slackline);
        run.name = self.workflow.name().to_string();
        run.version = Some(self.header.version.clone());
        run.zero = self.header.began;
        run.began = Figure::measured(0.0);
        run.ended = self.over.and_then(|(_, end)| Figure::measured(end));
        for host in self.platform.hosts() {
            run.hosts.push(HostRecord {
                name: host.name.to_string(),
                cores: Figure::measured(f64::from(host.cores)),
                memory: host.memory.and_then(Figure::measured),
            });
        }
        let known = self.workflow.control().is_none();
        let limit = self.time_limit();
        for (index, task) in self.tasks.iter().enumerate() {
            let id = TaskId(index as u32);
            let is_known = known && index < self.workflow.len();
            let mut record = TaskRecord {
                name: task.name.clone(),
                kind: task.kind.clone(),
                time_limit: limit.and_then(Figure::measured),
                ..TaskRecord::default()
            };
            if is_known {
                let named = |file: &FileId| !self.workflow.file_name(*file).is_empty();
                let files: Vec<FileId> = self.workflow.inputs(id).filter(named).collect();
                record.inputs =
                    files.into_iter().map(|f| run.file(self.workflow.file_name(f))).collect();
                let files: Vec<FileId> = self.workflow.outputs(id).filter(named).collect();
                record.outputs =
                    files.into_iter().map(|f| run.file(self.workflow.file_name(f))).collect();
                let before = self.workflow.predecessors(id);
                record.after =
                    before.map(|(t, _)| (t.index(), slackline_import::Origin::Measured)).collect();
                let width = self.workflow.width(id).0;
                record.cores = Figure::measured(f64::from(width));
                let memory = self.workflow.memory_at(id, width);
                record.memory = (memory > 0.0).then_some(memory).and_then(Figure::measured);
            }
            record.attempts =
                task.attempts.iter().map(|attempt| self.attempt_record(attempt)).collect();
            run.tasks.push(record);
        }
        if known {
            for file in self.workflow.files() {
                let name = self.workflow.file_name(file);
                if !name.is_empty() {
                    let index = run.file(name);
                    run.files[index].bytes = match self.sizes.get(&file) {
                        Some(bytes) => Figure::measured(*bytes),
                        None => Figure::derived(self.workflow.file_bytes(file)),
                    };
                }
            }
            run.transfers = self.transfers();
        }
        run
    }

    fn attempt_record(&self, attempt: &AttemptHistory) -> Attempt {
        let waited = attempt.started.is_some_and(|at| at > attempt.begun);
        Attempt {
            submitted: waited.then_some(attempt.begun).and_then(Figure::measured),
            start: Figure::measured(attempt.started.unwrap_or(attempt.begun)),
            end: attempt.ended.or(Some(self.last)).and_then(Figure::measured),
            host: Some(attempt.host.index()),
            cores: Figure::measured(attempt.procs.len() as f64),
            outcome: match attempt.state {
                AttemptState::Done => Outcome::Completed,
                AttemptState::Failed if attempt.out_of_memory => Outcome::OutOfMemory,
                AttemptState::Failed => Outcome::Failed,
                AttemptState::Cancelled | AttemptState::Interrupted => Outcome::Cancelled,
                AttemptState::Waiting | AttemptState::Running => Outcome::Open,
            },
            exit: attempt.exit.map(i64::from),
            peak_memory: attempt.peak_memory.and_then(|bytes| Figure::measured(bytes as f64)),
            cpu: attempt.cpu_seconds.and_then(Figure::measured),
            ..Attempt::default()
        }
    }

    /// Copies, each of the tasks that waited for it.
    fn transfers(&self) -> Vec<Transfer> {
        let mut transfers = Vec::new();
        let place = |host: HostId| self.platform.place_of(host);
        for copy in &self.copies {
            let Some(end) = copy.ended else { continue };
            if copy.file.index() >= self.workflow.file_count() {
                continue;
            }
            for task in self.workflow.consumers(copy.file) {
                let ran = self.tasks[task.index()].attempts.last();
                let waited = ran.is_some_and(|a| place(a.host) == place(copy.to) && a.begun >= end);
                if waited {
                    transfers.push(Transfer {
                        task: task.index(),
                        from: copy.from.index(),
                        to: copy.to.index(),
                        bytes: Some(copy.bytes),
                        start: copy.begun,
                        end,
                    });
                }
            }
        }
        transfers
    }

    /// The time limit of attempts, seconds.
    pub fn time_limit(&self) -> Option<f64> {
        settings::of_header(&self.header).ok().and_then(|(request, _)| request.execution.time_limit)
    }
}

/// The number under which the operation that was begun last is found.
const LAST: OpId = OpId(u64::MAX);

/// An operation that has not ended.
struct Opened {
    copies: std::ops::Range<usize>,
    attempt: Option<(TaskId, usize)>,
}

/// The end of a file as text.
fn tail(path: &Path) -> std::io::Result<String> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // The first line may be cut.
    Ok(match text.split_once('\n') {
        Some((_, rest)) if from > 0 => rest.to_string(),
        _ => text,
    })
}
