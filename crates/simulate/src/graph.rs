//! Runs of graphs of activities, as in SimDAG: jobs (an activity with its dependencies), states, watch points; no
//! processes.
//!
//! A job may be created without a place and be placed while the simulation runs, so that a
//! scheduler can simulate up to a watch point, react, and continue. Jobs that become ready at one
//! instant start in the order of their numbers.

use crate::kernel::ActivityId;
use crate::simulation::{Event, Simulation, SimulationError, Step};
use slackline_model::activity::{Activity, ActivityGraph, CycleError};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use thiserror::Error;

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobState {
    /// Has no place, and waits for others.
    NotScheduled,
    /// Has no place; all jobs it waits for are done.
    Schedulable,
    /// Has a place, and waits for others or for its date.
    Scheduled,
    /// Started and not ended.
    Running,
    /// Finished.
    Done,
    /// A resource it needs was off, or it was stopped.
    Failed,
}

/// A request the graph cannot fulfil.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GraphError {
    /// The simulation itself refuses.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// Jobs wait for each other in a circle.
    #[error(transparent)]
    Cycle(#[from] CycleError),
    /// A job started and can no longer be changed.
    #[error("job {0} has started: it cannot be {1} any more")]
    Started(u32, &'static str),
    /// The platform has changed more often than [`GraphRun::give_up_after`] allows.
    #[error(
        "given up at {date:.6e} s: the platform has changed {changes} times and {left} {} not ended; \
         is an amount or a date far too large, or a period far too short?",
        if *.left == 1 { "activity has" } else { "activities have" }
    )]
    GivenUp {
        /// The date reached, seconds.
        date: f64,
        /// Number of changes simulated.
        changes: u64,
        /// Jobs that have not ended.
        left: usize,
    },
    /// A date that is not a number of seconds.
    #[error("job {0} cannot start at {1}")]
    BadDate(u32, f64),
}

#[derive(Clone, Debug)]
struct Job {
    activity: Option<Activity>,
    /// Date, in seconds, before which it does not start; negative infinity once it has waited for it.
    not_before: f64,
    /// Number of jobs before it that are not done.
    pending: u32,
    successors: Vec<u32>,
    state: JobState,
    /// Dates in seconds; not a number before they are known.
    start: f64,
    finish: f64,
    handle: Option<ActivityId>,
}

/// A graph of jobs on a simulated platform.
#[derive(Clone, Debug)]
pub struct GraphRun {
    simulation: Simulation,
    jobs: Vec<Job>,
    /// Placed jobs that wait for nothing but their date; entries may be out of date.
    ready: BinaryHeap<Reverse<u32>>,
    watched: BTreeSet<(u32, JobState)>,
    changed: Vec<(u32, JobState)>,
    /// Whether a watch point was reached.
    hit: bool,
    /// Changes of the platform so far, and the most that are allowed.
    changes: u64,
    most_changes: Option<u64>,
}

impl GraphRun {
    /// A run without jobs.
    pub fn new(simulation: Simulation) -> Self {
        GraphRun {
            simulation,
            jobs: Vec::new(),
            ready: BinaryHeap::new(),
            watched: BTreeSet::new(),
            changed: Vec::new(),
            hit: false,
            changes: 0,
            most_changes: None,
        }
    }

    /// All jobs of a placed graph, numbered as there.
    pub fn of(simulation: Simulation, graph: &ActivityGraph) -> Result<Self, GraphError> {
        graph.check_acyclic()?;
        let mut run = GraphRun::new(simulation);
        run.jobs.reserve(graph.len());
        for _ in 0..graph.len() {
            run.add();
        }
        for (later, before) in graph.after.iter().enumerate() {
            for &earlier in before {
                run.order(earlier, later as u32)?;
            }
        }
        for job in 0..graph.len() as u32 {
            run.set_not_before(job, graph.not_before[job as usize])?;
            run.place(job, graph.activities[job as usize].clone())?;
        }
        Ok(run)
    }

    /// The simulation underneath.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// The simulation underneath, to ask for rates and loads.
    pub fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    /// Limits the changes of the platform: after more, [`GraphRun::simulate`] fails.
    pub fn give_up_after(&mut self, changes: u64) {
        self.most_changes = Some(changes);
    }

    /// Adds a job without a place.
    pub fn add(&mut self) -> u32 {
        self.jobs.push(Job {
            activity: None,
            not_before: 0.0,
            pending: 0,
            successors: Vec::new(),
            state: JobState::Schedulable,
            start: f64::NAN,
            finish: f64::NAN,
            handle: None,
        });
        self.jobs.len() as u32 - 1
    }

    /// Makes `later`, which has not started, wait until `earlier` is done.
    pub fn order(&mut self, earlier: u32, later: u32) -> Result<(), GraphError> {
        use JobState::{NotScheduled, Schedulable, Scheduled};
        if !matches!(self.jobs[later as usize].state, NotScheduled | Schedulable | Scheduled) {
            return Err(GraphError::Started(later, "made to wait"));
        }
        if self.jobs[earlier as usize].state != JobState::Done {
            self.jobs[earlier as usize].successors.push(later);
            let waiting = &mut self.jobs[later as usize];
            waiting.pending += 1;
            if waiting.state == Schedulable {
                waiting.state = NotScheduled;
            }
        }
        Ok(())
    }

    /// Keeps a job that has not started from starting before a date.
    pub fn set_not_before(&mut self, job: u32, date: f64) -> Result<(), GraphError> {
        if !date.is_finite() {
            return Err(GraphError::BadDate(job, date));
        }
        self.jobs[job as usize].not_before = date;
        Ok(())
    }

    /// Sets the activity of a job, which includes its place; a failed one starts again from the beginning.
    pub fn place(&mut self, job: u32, activity: impl Into<Activity>) -> Result<(), GraphError> {
        let target = &mut self.jobs[job as usize];
        if matches!(target.state, JobState::Running | JobState::Done) {
            return Err(GraphError::Started(job, "placed"));
        }
        target.activity = Some(activity.into());
        self.change(job, JobState::Scheduled);
        if self.jobs[job as usize].pending == 0 {
            self.ready.push(Reverse(job));
        }
        Ok(())
    }

    /// Removes the activity of a job; one that runs is cancelled and fails.
    pub fn unplace(&mut self, job: u32) -> Result<(), GraphError> {
        let target = &mut self.jobs[job as usize];
        match target.state {
            JobState::Done => return Err(GraphError::Started(job, "taken away")),
            JobState::Running => {
                if let Some(handle) = target.handle.take() {
                    self.simulation.cancel(handle)?;
                }
                self.end(job, JobState::Failed);
            }
            _ => {
                target.activity = None;
                let state = match target.pending {
                    0 => JobState::Schedulable,
                    _ => JobState::NotScheduled,
                };
                self.change(job, state);
            }
        }
        Ok(())
    }

    /// Sets a watch point: [`GraphRun::simulate`] stops when a job enters a state for the first time from now.
    pub fn watch(&mut self, job: u32, state: JobState) {
        self.watched.insert((job, state));
    }

    /// Returns the state of a job.
    pub fn state(&self, job: u32) -> JobState {
        self.jobs[job as usize].state
    }

    /// Returns the date at which a job started, if it did.
    pub fn start(&self, job: u32) -> Option<f64> {
        Some(self.jobs[job as usize].start).filter(|date| date.is_finite())
    }

    /// Returns the date at which a job was done or failed, if it was.
    pub fn finish(&self, job: u32) -> Option<f64> {
        Some(self.jobs[job as usize].finish).filter(|date| date.is_finite())
    }

    /// The activity of a job under way.
    pub fn activity(&self, job: u32) -> Option<ActivityId> {
        self.jobs[job as usize].handle
    }

    /// Number of jobs.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether there are no jobs.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Latest end so far, failures included.
    pub fn makespan(&self) -> f64 {
        self.jobs.iter().map(|job| job.finish).fold(0.0, f64::max)
    }

    /// Simulates up to the date `until` (infinite: to the end) or a watch point; gives the jobs
    /// whose state changed, in order.
    pub fn simulate(&mut self, until: f64) -> Result<Vec<(u32, JobState)>, GraphError> {
        self.changed.clear();
        self.hit = false;
        loop {
            self.start_ready()?;
            if self.hit {
                break;
            }
            if self.simulation.step(until)? != Step::Instant {
                break;
            }
            for k in 0..self.simulation.events().len() {
                match self.simulation.events()[k] {
                    // Odd tags are waits for a date, even ones jobs; see `start_ready`.
                    Event::Done { tag, .. } if tag % 2 == 1 => {
                        self.ready.push(Reverse((tag / 2) as u32));
                    }
                    Event::Done { tag, .. } => self.end((tag / 2) as u32, JobState::Done),
                    Event::Failed { tag, .. } => self.end((tag / 2) as u32, JobState::Failed),
                    _ => self.changes += 1,
                }
            }
            if self.most_changes.is_some_and(|most| self.changes > most) {
                let over = |job: &&Job| !matches!(job.state, JobState::Done | JobState::Failed);
                let left = self.jobs.iter().filter(over).count();
                let (date, changes) = (self.simulation.clock(), self.changes);
                return Err(GraphError::GivenUp { date, changes, left });
            }
        }
        Ok(std::mem::take(&mut self.changed))
    }

    fn start_ready(&mut self) -> Result<(), GraphError> {
        let now = self.simulation.clock();
        while let Some(Reverse(job)) = self.ready.pop() {
            let target = &mut self.jobs[job as usize];
            // It may have been unplaced, made to wait, or started meanwhile.
            if target.state != JobState::Scheduled || target.pending > 0 {
                continue;
            }
            let Some(activity) = target.activity.clone() else { continue };
            if target.not_before > now {
                // Date and clock plus difference may differ in the last digit: the job starts
                // when the wait is over.
                let wait = target.not_before - now;
                target.not_before = f64::NEG_INFINITY;
                self.simulation.start(Activity::Sleep(wait), u64::from(job) * 2 + 1)?;
                continue;
            }
            target.start = now;
            target.finish = f64::NAN;
            target.handle = Some(self.simulation.start(activity, u64::from(job) * 2)?);
            self.change(job, JobState::Running);
        }
        Ok(())
    }

    fn end(&mut self, job: u32, state: JobState) {
        let target = &mut self.jobs[job as usize];
        target.handle = None;
        target.finish = self.simulation.clock();
        self.change(job, state);
        if state != JobState::Done {
            return;
        }
        let successors = std::mem::take(&mut self.jobs[job as usize].successors);
        for later in successors {
            let waiting = &mut self.jobs[later as usize];
            waiting.pending -= 1;
            if waiting.pending == 0 {
                match waiting.state {
                    JobState::Scheduled => self.ready.push(Reverse(later)),
                    JobState::NotScheduled => self.change(later, JobState::Schedulable),
                    _ => {}
                }
            }
        }
    }

    fn change(&mut self, job: u32, state: JobState) {
        if self.jobs[job as usize].state != state {
            self.jobs[job as usize].state = state;
            self.changed.push((job, state));
            self.hit |= self.watched.remove(&(job, state));
        }
    }
}
