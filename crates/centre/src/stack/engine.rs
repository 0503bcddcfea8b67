//! The run of a case: an engine that submits ready tasks, pilots that pull them, and the steps of every
//! attempt. One instant is handled in a fixed order of phases, so that results do not depend on
//! the order in which events are found.

use super::case::{Case, followers};
use super::plan::{Death, Declared, Plan, RunRecord, Start};
use super::sites::{Batch, PassResult};
use super::switches::Switches;
use super::transport::{self, Direction, Transport};
use super::{Attempt, AttemptResult, PilotEnd, PilotLife};
use crate::batch::{JobId, SiteError};
use slackline_model::platform::PlatformError;
use slackline_simulate::SimulationError;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use thiserror::Error;

/// Events so close together, relative to the date, are one instant.
const SIMULTANEOUS: f64 = 1e-11;

/// Error of running a case.
#[derive(Debug, Error)]
pub enum StackError {
    /// The network makes no sense.
    #[error(transparent)]
    Platform(#[from] PlatformError),
    /// A batch system makes no sense.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The simulation refuses or cannot advance.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// Bytes have no way.
    #[error(
        "there is no route between storage `{storage}` and site `{site}`, over which `{file}` has to go"
    )]
    NoRoute {
        /// The storage.
        storage: String,
        /// The site.
        site: String,
        /// The file.
        file: String,
    },
    /// Something is to be injected, but there is nothing.
    #[error("the case has no `record` to inject from")]
    NoRecord,
}

/// The course of a run: dates in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Date at which each task was done.
    pub done: Vec<Option<f64>>,
    /// Tasks that were given up after their last attempt.
    pub failed: Vec<bool>,
    /// Attempts by task.
    pub attempts: Vec<Vec<Attempt>>,
    /// Lives of pilots.
    pub pilots: Vec<PilotLife>,
    /// Finished transfers.
    pub transfers: usize,
    /// Their bytes.
    pub bytes: f64,
    /// Tasks that failed because a storage had no room left for an output, and the storage.
    pub full: Vec<(usize, usize)>,
}

impl Outcome {
    /// Date at which the last task was done; none where not all are.
    pub fn makespan(&self) -> Option<f64> {
        self.done.iter().try_fold(0.0f64, |last, date| Some(last.max((*date)?)))
    }
}

/// Deviation of a run from the definitions, to detect whether its result depends on ties.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Variation {
    /// Pilots are served in the reverse order.
    pub reversed: bool,
    /// Pilots start (or are submitted) later by so many seconds times their place.
    pub shift: f64,
}

/// Runs a case as it declares everything.
pub fn run(case: &Case) -> Result<Outcome, StackError> {
    run_varied(case, None, Variation::default())
}

/// Runs a case with parts injected from its record (if switches are given), and with a variation.
pub fn run_varied(
    case: &Case,
    switches: Option<Switches>,
    variation: Variation,
) -> Result<Outcome, StackError> {
    let declared = Declared::of(case);
    let mut plan = match switches {
        None => Plan::declared(case, &declared),
        Some(switches) => {
            let record = case.record.as_ref().ok_or(StackError::NoRecord)?;
            Plan::switched(case, &declared, record, switches)
        }
    };
    for (k, pilot) in plan.pilots.iter_mut().enumerate() {
        let later = k as f64 * variation.shift;
        match &mut pilot.start {
            Start::At(date) => *date += later,
            Start::Batch => pilot.submit += later,
            Start::Never => {}
        }
    }
    let platform = transport::platform(case, plan.bandwidths)?;
    let transport = Transport::new(&platform, case)?;
    Engine::new(plan, transport, variation.reversed)?.run()
}

/// Whether the dates at which tasks are done stay the same with pilots served in the reverse order
/// and with start dates a microsecond apart.
pub fn is_robust(
    case: &Case,
    switches: Option<Switches>,
    outcome: &Outcome,
) -> Result<bool, StackError> {
    const SHIFT: f64 = 1e-6;
    let tolerance = 1e-4 + SHIFT * 10.0 * case.pilots.len() as f64;
    for variation in [
        Variation { reversed: true, shift: 0.0 },
        Variation { reversed: false, shift: SHIFT },
        Variation { reversed: true, shift: SHIFT },
    ] {
        let other = run_varied(case, switches, variation)?;
        let same = |(a, b): (&Option<f64>, &Option<f64>)| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() <= tolerance,
            (None, None) => true,
            _ => false,
        };
        if !outcome.done.iter().zip(&other.done).all(same) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Event for which the step of an attempt waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A length from the record, or the computation.
    Timed,
    /// The answer of the catalogue about an input.
    LookUp,
    /// A replica of an input.
    Replica,
    /// Bytes.
    Transfer,
    /// The catalogue's confirmation of an output.
    Register,
    /// The death of the pilot.
    Cut,
}

#[derive(Clone, Copy, Debug)]
struct RunningAttempt {
    task: usize,
    /// From 0.
    attempt: usize,
    step: usize,
    step_start: f64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Waiting,
    Idle,
    Busy(RunningAttempt),
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The step of a pilot ends, unless its clock has moved on.
    Step(usize, u64),
    /// A pilot dies.
    Death(usize),
    /// A pilot reaches its walltime.
    Walltime(usize),
    /// A pilot starts.
    Start(usize),
    /// An attempt at a task enters the queue, as recorded.
    Entry(usize),
    /// A pilot has been idle for too long, unless its clock has moved on.
    Leave(usize, u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Timer {
    date: f64,
    due: Due,
}

impl Eq for Timer {}
impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Timer) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timer {
    fn cmp(&self, other: &Timer) -> std::cmp::Ordering {
        self.date.total_cmp(&other.date).then(self.due.cmp(&other.due))
    }
}

#[derive(Clone, Debug, Default)]
struct TaskState {
    /// Producers and predecessors that are not done.
    missing: usize,
    queued: bool,
    over: bool,
}

/// Attempts of each pilot, where placement is injected.
#[derive(Clone, Debug, Default)]
struct Placement {
    /// By pilot: tasks and attempts in order.
    lists: Vec<Vec<(usize, usize)>>,
    next: Vec<usize>,
    /// By task and attempt.
    pilots: HashMap<(usize, usize), usize>,
}

impl Placement {
    fn of(record: &RunRecord) -> Placement {
        let mut lists: Vec<Vec<(f64, usize, usize)>> = vec![Vec::new(); record.pilots.len()];
        let mut pilots = HashMap::new();
        for (task, attempts) in record.attempts.iter().enumerate() {
            for (attempt, ran) in attempts.iter().enumerate() {
                if let Some(pilot) = ran.pilot {
                    lists[pilot].push((ran.start, task, attempt));
                    pilots.insert((task, attempt), pilot);
                }
            }
        }
        for list in &mut lists {
            list.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        }
        let next = vec![0; lists.len()];
        let bare = |list: Vec<(f64, usize, usize)>| {
            list.into_iter().map(|(_, task, attempt)| (task, attempt)).collect()
        };
        Placement { lists: lists.into_iter().map(bare).collect(), next, pilots }
    }
}

struct Engine<'a> {
    plan: Plan<'a>,
    case: &'a Case,
    transport: Transport,
    batches: Vec<Option<Batch<'a>>>,
    reversed: bool,
    now: f64,
    timers: BinaryHeap<Reverse<Timer>>,
    tasks: Vec<TaskState>,
    followers: Vec<Vec<usize>>,
    /// Waiting jobs, first in, first out.
    queue: VecDeque<usize>,
    pilots: Vec<State>,
    /// Changes whenever the state of a pilot does: older timers of it are void.
    clocks: Vec<u64>,
    /// The job of each pilot at its batch system.
    batch_jobs: Vec<Option<JobId>>,
    /// Idle pilots by rank.
    idle: BTreeSet<usize>,
    placement: Option<Placement>,
    /// Idle pilots whose next attempt may have come.
    to_check: BTreeSet<usize>,
    replicas: Vec<Vec<usize>>,
    /// Pilots that wait for a replica of a file.
    wanted: HashMap<usize, Vec<usize>>,
    used: Vec<f64>,
    /// Pilots whose transfer has ended at this instant.
    moved: VecDeque<usize>,
    /// Tasks that enter the queue at this instant.
    entering: BTreeSet<usize>,
    lost: Vec<usize>,
    outcome: Outcome,
}

impl<'a> Engine<'a> {
    fn new(plan: Plan<'a>, transport: Transport, reversed: bool) -> Result<Engine<'a>, SiteError> {
        let case = plan.case;
        let batches = (0..case.sites.len()).map(|site| Batch::new(case, site, &plan.pilots));
        let batches = batches.collect::<Result<_, _>>()?;
        let mut used = vec![0.0; case.storages.len()];
        for file in &case.files {
            file.replicas.iter().for_each(|&storage| used[storage] += file.bytes);
        }
        let count = case.pilots.len();
        let missing = |task: &super::case::Task| task.dependencies.len();
        let state = |missing| TaskState { missing, ..TaskState::default() };
        let life = |plan: &super::plan::PilotPlan| PilotLife {
            submit: plan.submit,
            ..PilotLife::default()
        };
        let mut engine = Engine {
            case,
            transport,
            batches,
            reversed,
            now: 0.0,
            timers: BinaryHeap::new(),
            tasks: case.tasks.iter().map(|task| state(missing(task))).collect(),
            followers: followers(&case.tasks),
            queue: VecDeque::new(),
            pilots: vec![State::Waiting; count],
            clocks: vec![0; count],
            batch_jobs: vec![None; count],
            idle: BTreeSet::new(),
            placement: plan.placement.map(Placement::of),
            to_check: BTreeSet::new(),
            replicas: case.files.iter().map(|file| file.replicas.clone()).collect(),
            wanted: HashMap::new(),
            used,
            moved: VecDeque::new(),
            entering: BTreeSet::new(),
            lost: Vec::new(),
            outcome: Outcome {
                done: vec![None; case.tasks.len()],
                failed: vec![false; case.tasks.len()],
                attempts: vec![Vec::new(); case.tasks.len()],
                pilots: plan.pilots.iter().map(life).collect(),
                ..Outcome::default()
            },
            plan,
        };
        for k in 0..count {
            if let Start::At(date) = engine.plan.pilots[k].start {
                engine.set(date, Due::Start(k));
            }
        }
        for task in 0..case.tasks.len() {
            match engine.recorded_entry(task, 0) {
                Some(date) => engine.set(date, Due::Entry(task)),
                None if engine.tasks[task].missing == 0 => engine.set(0.0, Due::Entry(task)),
                None => {}
            }
        }
        Ok(engine)
    }

    fn run(mut self) -> Result<Outcome, StackError> {
        loop {
            let own = self.timers.peek().map_or(f64::INFINITY, |Reverse(timer)| timer.date);
            let batch = self.batches.iter().flatten().map(Batch::next_date);
            let date = batch.fold(own.min(self.transport.next_date()), f64::min);
            if date == f64::INFINITY {
                break;
            }
            let date = date.max(self.now);
            let horizon = date + SIMULTANEOUS * date.max(1.0);
            let mut ended = Vec::new();
            self.transport.advance(date, horizon, &mut ended)?;
            self.now = date;
            self.instant(ended, horizon)?;
        }
        self.outcome.transfers = self.transport.finished;
        self.outcome.bytes = self.transport.bytes;
        Ok(self.outcome)
    }

    /// Everything that happens at one instant, phase by phase, until nothing more does.
    fn instant(&mut self, mut ended: Vec<usize>, horizon: f64) -> Result<(), StackError> {
        let mut leaving: Vec<(usize, u64)> = Vec::new();
        loop {
            let (mut dying, mut starting) = (Vec::new(), Vec::new());
            while let Some(&Reverse(Timer { due, .. })) =
                self.timers.peek().filter(|Reverse(timer)| timer.date <= horizon)
            {
                self.timers.pop();
                match due {
                    Due::Step(pilot, clock) if self.clocks[pilot] == clock => ended.push(pilot),
                    Due::Step(..) => {}
                    Due::Death(pilot) => dying.push((pilot, PilotEnd::Died)),
                    Due::Walltime(pilot) => dying.push((pilot, PilotEnd::Walltime)),
                    Due::Start(pilot) => starting.push((pilot, None)),
                    Due::Entry(task) => drop(self.entering.insert(task)),
                    Due::Leave(pilot, clock) => leaving.push((pilot, clock)),
                }
            }
            self.in_order(&mut ended, |&pilot| pilot);
            for pilot in ended.drain(..) {
                self.stage_ends(pilot)?;
                self.settle()?;
            }
            self.in_order(&mut dying, |&(pilot, _)| pilot);
            for (pilot, why) in dying {
                self.die(pilot, why)?;
            }
            let mut news = PassResult::default();
            for batch in self.batches.iter_mut().flatten() {
                if batch.is_waiting() || batch.next_date() <= horizon {
                    batch.pass(self.now, horizon, self.case, &mut news);
                }
            }
            for pilot in news.refused {
                self.pilots[pilot] = State::Gone;
                self.outcome.pilots[pilot].why = Some(PilotEnd::Refused);
            }
            starting.extend(news.started.into_iter().map(|(pilot, job)| (pilot, Some(job))));
            self.in_order(&mut starting, |&(pilot, _)| pilot);
            for (pilot, job) in starting {
                self.start(pilot, job);
            }
            for task in std::mem::take(&mut self.entering) {
                self.enter(task);
            }
            for task in std::mem::take(&mut self.lost) {
                self.enter(task);
            }
            self.hand_out()?;
            let is_settled = self.entering.is_empty()
                && self.lost.is_empty()
                && self.timers.peek().is_none_or(|Reverse(timer)| timer.date > horizon)
                && !self
                    .batches
                    .iter()
                    .flatten()
                    .any(|b| b.is_waiting() || b.next_date() <= horizon);
            if !is_settled {
                continue;
            }
            for (pilot, clock) in std::mem::take(&mut leaving) {
                if matches!(self.pilots[pilot], State::Idle) && self.clocks[pilot] == clock {
                    self.leave(pilot, PilotEnd::Idle);
                }
            }
            if !self.batches.iter().flatten().any(Batch::is_waiting) {
                return Ok(());
            }
        }
    }

    fn in_order<T>(&self, list: &mut [T], pilot: impl Fn(&T) -> usize) {
        if self.reversed {
            list.sort_by_key(|entry| Reverse(pilot(entry)));
        } else {
            list.sort_by_key(pilot);
        }
    }

    /// Place of a pilot in the order in which pilots are served; its own inverse.
    fn rank(&self, pilot: usize) -> usize {
        if self.reversed { self.pilots.len() - 1 - pilot } else { pilot }
    }

    fn set(&mut self, date: f64, due: Due) {
        if date < f64::INFINITY {
            self.timers.push(Reverse(Timer { date, due }));
        }
    }

    /// When an attempt at a task enters the queue, if that is injected.
    fn recorded_entry(&self, task: usize, attempt: usize) -> Option<f64> {
        let record = self.plan.entries?;
        record.attempts[task].get(attempt).map(|recorded| recorded.queued)
    }

    fn start(&mut self, pilot: usize, job: Option<JobId>) {
        if !matches!(self.pilots[pilot], State::Waiting) {
            return;
        }
        self.batch_jobs[pilot] = job;
        self.outcome.pilots[pilot].start = Some(self.now);
        match self.plan.pilots[pilot].death {
            Death::Never => {}
            Death::At(date) => self.set(date.max(self.now), Due::Death(pilot)),
            Death::Age(age) => self.set(self.now + age, Due::Death(pilot)),
        }
        if let Some(walltime) = self.case.pilots[pilot].walltime {
            self.set(self.now + walltime, Due::Walltime(pilot));
        }
        self.rest(pilot);
    }

    /// A pilot has no job.
    fn rest(&mut self, pilot: usize) {
        self.pilots[pilot] = State::Idle;
        self.clocks[pilot] += 1;
        let rank = self.rank(pilot);
        if self.placement.is_some() {
            self.to_check.insert(rank);
        } else {
            self.idle.insert(rank);
        }
        self.set(self.now + self.case.idle_timeout, Due::Leave(pilot, self.clocks[pilot]));
    }

    fn leave(&mut self, pilot: usize, why: PilotEnd) {
        self.pilots[pilot] = State::Gone;
        self.clocks[pilot] += 1;
        let rank = self.rank(pilot);
        self.idle.remove(&rank);
        self.to_check.remove(&rank);
        let life = &mut self.outcome.pilots[pilot];
        (life.exit, life.why) = (Some(self.now), Some(why));
        if let (Some(job), Some(batch)) =
            (self.batch_jobs[pilot], &mut self.batches[self.case.pilots[pilot].site])
        {
            batch.pilot_gone(job);
        }
    }

    fn die(&mut self, pilot: usize, why: PilotEnd) -> Result<(), StackError> {
        match self.pilots[pilot] {
            State::Idle => self.leave(pilot, why),
            State::Busy(job) => {
                self.lose(pilot, job)?;
                self.leave(pilot, why);
            }
            State::Waiting | State::Gone => {}
        }
        self.settle()
    }

    /// The attempt of a pilot is lost.
    fn lose(&mut self, pilot: usize, job: RunningAttempt) -> Result<(), StackError> {
        self.transport.cancel(pilot, &mut self.moved)?;
        if job.stage == Stage::Replica {
            let file = self.case.tasks[job.task].inputs[job.step];
            if let Some(waiting) = self.wanted.get_mut(&file) {
                waiting.retain(|other| *other != pilot);
            }
        }
        let attempt = &mut self.outcome.attempts[job.task][job.attempt];
        (attempt.end, attempt.result) = (self.now, Some(AttemptResult::Lost));
        let made = job.attempt + 1;
        if self.case.max_attempts.is_some_and(|most| made >= most) {
            self.outcome.failed[job.task] = true;
            self.finish_task(job.task);
        } else {
            match self.recorded_entry(job.task, made) {
                Some(date) if date > self.now => self.set(date, Due::Entry(job.task)),
                _ => self.lost.push(job.task),
            }
        }
        Ok(())
    }

    /// An output does not fit into its storage, and no attempt to come would fit better: the task has
    /// failed.
    fn give_up(&mut self, pilot: usize, job: RunningAttempt, storage: usize) {
        let attempt = &mut self.outcome.attempts[job.task][job.attempt];
        (attempt.end, attempt.result) = (self.now, Some(AttemptResult::Lost));
        self.outcome.failed[job.task] = true;
        self.outcome.full.push((job.task, storage));
        self.finish_task(job.task);
        self.rest(pilot);
    }

    /// No attempt at a task will come any more.
    fn finish_task(&mut self, task: usize) {
        self.tasks[task].over = true;
        let reversed = self.reversed;
        let count = self.pilots.len();
        if let (Some(placement), Some(record)) = (&self.placement, self.plan.placement) {
            for attempt in 0..record.attempts[task].len() {
                if let Some(&pilot) = placement.pilots.get(&(task, attempt))
                    && matches!(self.pilots[pilot], State::Idle)
                {
                    self.to_check.insert(if reversed { count - 1 - pilot } else { pilot });
                }
            }
        }
    }

    /// A new attempt at a task enters the queue.
    fn enter(&mut self, task: usize) {
        if self.tasks[task].queued || self.tasks[task].over {
            return;
        }
        let attempt = self.outcome.attempts[task].len();
        self.outcome.attempts[task].push(Attempt { queued: self.now, ..Attempt::default() });
        self.tasks[task].queued = true;
        match &self.placement {
            None => self.queue.push_back(task),
            Some(placement) => {
                if let Some(&pilot) = placement.pilots.get(&(task, attempt))
                    && matches!(self.pilots[pilot], State::Idle)
                {
                    let rank = self.rank(pilot);
                    self.to_check.insert(rank);
                }
            }
        }
    }

    /// Idle pilots take jobs.
    fn hand_out(&mut self) -> Result<(), StackError> {
        if self.placement.is_none() {
            while !self.queue.is_empty() {
                let Some(rank) = self.idle.pop_first() else { break };
                let Some(task) = self.queue.pop_front() else { break };
                self.take(self.rank(rank), task)?;
            }
            return Ok(());
        }
        while let Some(rank) = self.to_check.pop_first() {
            let pilot = self.rank(rank);
            if let Some(task) = self.next_placed(pilot) {
                self.take(pilot, task)?;
            }
        }
        Ok(())
    }

    /// The next attempt of an idle pilot by the record, if it has come.
    fn next_placed(&mut self, pilot: usize) -> Option<usize> {
        let placement = self.placement.as_mut()?;
        loop {
            let &(task, attempt) = placement.lists[pilot].get(placement.next[pilot])?;
            let made = self.outcome.attempts[task].len();
            if self.tasks[task].queued && made == attempt + 1 {
                placement.next[pilot] += 1;
                return Some(task);
            }
            // It may still come.
            if !self.tasks[task].over && made <= attempt {
                return None;
            }
            placement.next[pilot] += 1;
        }
    }

    fn take(&mut self, pilot: usize, task: usize) -> Result<(), StackError> {
        self.tasks[task].queued = false;
        let attempts = &mut self.outcome.attempts[task];
        let attempt = attempts.len() - 1;
        (attempts[attempt].pilot, attempts[attempt].start) = (Some(pilot), self.now);
        let job =
            RunningAttempt { task, attempt, step: 0, step_start: self.now, stage: Stage::Timed };
        self.pilots[pilot] = State::Busy(job);
        self.begin_steps(pilot, job)?;
        self.settle()
    }

    /// Transfers that took no time, and what follows from them.
    fn settle(&mut self) -> Result<(), StackError> {
        while let Some(pilot) = self.moved.pop_front() {
            self.stage_ends(pilot)?;
        }
        Ok(())
    }

    fn busy(&mut self, pilot: usize, job: RunningAttempt) {
        self.pilots[pilot] = State::Busy(job);
        self.clocks[pilot] += 1;
    }

    /// Continues an attempt after the event for which its step waited.
    fn stage_ends(&mut self, pilot: usize) -> Result<(), StackError> {
        let State::Busy(job) = self.pilots[pilot] else { return Ok(()) };
        let task = &self.case.tasks[job.task];
        let output = || job.step.checked_sub(task.inputs.len() + 1).map(|k| task.outputs[k]);
        match job.stage {
            Stage::LookUp => return self.choose(pilot, job),
            Stage::Transfer => {
                self.transport.end(pilot, &mut self.moved)?;
                if output().is_some() && self.case.catalogue_latency > 0.0 {
                    self.busy(pilot, RunningAttempt { stage: Stage::Register, ..job });
                    let date = self.now + self.case.catalogue_latency;
                    self.set(date, Due::Step(pilot, self.clocks[pilot]));
                    return Ok(());
                }
            }
            Stage::Timed | Stage::Register | Stage::Replica | Stage::Cut => {}
        }
        if let Some(file) = output() {
            self.register(file, pilot)?;
        }
        self.step_done(pilot, job)
    }

    /// A file has a replica at the storage that a pilot writes to.
    fn register(&mut self, file: usize, pilot: usize) -> Result<(), StackError> {
        let site = &self.case.sites[self.case.pilots[pilot].site];
        let Some(storage) = site.close.or(self.case.default_storage) else { return Ok(()) };
        if !self.replicas[file].contains(&storage) {
            self.replicas[file].push(storage);
        }
        let mut waiting = self.wanted.remove(&file).unwrap_or_default();
        self.in_order(&mut waiting, |&pilot| pilot);
        for other in waiting {
            if let State::Busy(job) = self.pilots[other]
                && job.stage == Stage::Replica
            {
                self.choose(other, job)?;
            }
        }
        Ok(())
    }

    /// The catalogue has answered: a replica is chosen, and its transfer asked for.
    fn choose(&mut self, pilot: usize, job: RunningAttempt) -> Result<(), StackError> {
        let file = self.case.tasks[job.task].inputs[job.step];
        let site = &self.case.sites[self.case.pilots[pilot].site];
        let replicas = &self.replicas[file];
        let preferred = [site.close, self.case.default_storage].into_iter().flatten();
        let found = preferred.into_iter().find(|storage| replicas.contains(storage));
        match found.or(replicas.first().copied()) {
            None => {
                self.busy(pilot, RunningAttempt { stage: Stage::Replica, ..job });
                self.wanted.entry(file).or_default().push(pilot);
                Ok(())
            }
            Some(storage) => self.transfer(pilot, job, (storage, Direction::In), file),
        }
    }

    fn transfer(
        &mut self,
        pilot: usize,
        job: RunningAttempt,
        way: (usize, Direction),
        file: usize,
    ) -> Result<(), StackError> {
        let site = self.case.pilots[pilot].site;
        if !self.case.routes.contains_key(&(way.0, site)) {
            return Err(StackError::NoRoute {
                storage: self.case.storages[way.0].name.clone(),
                site: self.case.sites[site].name.clone(),
                file: self.case.files[file].name.clone(),
            });
        }
        self.busy(pilot, RunningAttempt { stage: Stage::Transfer, ..job });
        let bytes = self.case.files[file].bytes;
        Ok(self.transport.request(pilot, way, bytes, &mut self.moved)?)
    }

    fn step_done(&mut self, pilot: usize, mut job: RunningAttempt) -> Result<(), StackError> {
        self.outcome.attempts[job.task][job.attempt].steps.push(self.now - job.step_start);
        job.step += 1;
        self.begin_steps(pilot, job)
    }

    /// Begins the next step of an attempt, and the ones after it as long as they take no time.
    fn begin_steps(&mut self, pilot: usize, mut job: RunningAttempt) -> Result<(), StackError> {
        let task = &self.case.tasks[job.task];
        loop {
            job.step_start = self.now;
            if job.step > task.inputs.len() + task.outputs.len() {
                return self.complete(pilot, job);
            }
            let is_computation = job.step == task.inputs.len();
            let length = match self.recorded_length(pilot, job, is_computation) {
                Recorded::Cut => {
                    self.busy(pilot, RunningAttempt { stage: Stage::Cut, ..job });
                    return Ok(());
                }
                Recorded::Length(length) => Some(length),
                Recorded::Unknown if is_computation => {
                    Some(task.work / self.plan.speeds[self.case.pilots[pilot].site])
                }
                Recorded::Unknown => None,
            };
            match length {
                Some(length) if length > 0.0 => {
                    self.busy(pilot, RunningAttempt { stage: Stage::Timed, ..job });
                    self.set(self.now + length, Due::Step(pilot, self.clocks[pilot]));
                    return Ok(());
                }
                Some(_) => {
                    if let Some(k) = job.step.checked_sub(task.inputs.len() + 1) {
                        self.busy(pilot, RunningAttempt { stage: Stage::Timed, ..job });
                        self.register(task.outputs[k], pilot)?;
                    }
                    self.outcome.attempts[job.task][job.attempt].steps.push(0.0);
                    job.step += 1;
                }
                None => return self.begin_transfer(pilot, job),
            }
        }
    }

    fn begin_transfer(&mut self, pilot: usize, job: RunningAttempt) -> Result<(), StackError> {
        let task = &self.case.tasks[job.task];
        if job.step < task.inputs.len() {
            if self.case.catalogue_latency > 0.0 {
                self.busy(pilot, RunningAttempt { stage: Stage::LookUp, ..job });
                let date = self.now + self.case.catalogue_latency;
                self.set(date, Due::Step(pilot, self.clocks[pilot]));
                return Ok(());
            }
            return self.choose(pilot, job);
        }
        let file = task.outputs[job.step - task.inputs.len() - 1];
        let site = &self.case.sites[self.case.pilots[pilot].site];
        let Some(storage) = site.close.or(self.case.default_storage) else {
            return self.step_done(pilot, job);
        };
        let bytes = self.case.files[file].bytes;
        let is_new = !self.replicas[file].contains(&storage);
        if is_new
            && self.case.storages[storage].capacity.is_some_and(|c| self.used[storage] + bytes > c)
        {
            self.give_up(pilot, job, storage);
            return Ok(());
        }
        if is_new {
            self.used[storage] += bytes;
        }
        self.transfer(pilot, job, (storage, Direction::Out), file)
    }

    /// All steps of an attempt have ended.
    fn complete(&mut self, pilot: usize, job: RunningAttempt) -> Result<(), StackError> {
        let attempt = &mut self.outcome.attempts[job.task][job.attempt];
        (attempt.end, attempt.result) = (self.now, Some(AttemptResult::Done));
        self.outcome.done[job.task] = Some(self.now);
        self.finish_task(job.task);
        for k in 0..self.followers[job.task].len() {
            let follower = self.followers[job.task][k];
            self.tasks[follower].missing -= 1;
            if self.tasks[follower].missing == 0 && self.recorded_entry(follower, 0).is_none() {
                self.entering.insert(follower);
            }
        }
        self.rest(pilot);
        Ok(())
    }

    /// The length of a step by the record.
    fn recorded_length(&self, pilot: usize, job: RunningAttempt, is_computation: bool) -> Recorded {
        let given = if is_computation { self.plan.application } else { self.plan.transfers };
        let Some(record) = given else { return Recorded::Unknown };
        let attempts = &record.attempts[job.task];
        if let Some(recorded) = attempts.get(job.attempt) {
            if let Some(&length) = recorded.steps.get(job.step) {
                return Recorded::Length(length);
            }
            if self.plan.failures && recorded.pilot == Some(pilot) {
                return Recorded::Cut;
            }
        }
        let other = attempts.iter().find_map(|attempt| attempt.steps.get(job.step));
        other.map_or(Recorded::Unknown, |&length| Recorded::Length(length))
    }
}

/// Entry of a record for a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Recorded {
    Length(f64),
    /// The pilot died in it, and does so again.
    Cut,
    Unknown,
}
