//! Operations take their time: flows on a simulation.

use super::case::{Operation, OperationKind};
use slackline_model::DiskId;
use slackline_model::activity::StorageFlow;
use slackline_model::platform::Platform;
use slackline_simulate::{
    DrawnDelays, Event, Factor, Models, Owner, Simulation, SimulationError, Step,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use thiserror::Error;

/// Error of simulating operations.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum StorageError {
    /// The simulation refuses or cannot advance.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// An operation failed.
    #[error("operation `{0}` failed: a host or link it needs is off")]
    Failed(String),
}

/// When an operation began and ended, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dates {
    /// Begin.
    pub start: f64,
    /// End.
    pub finish: f64,
}

/// Network rules without factors, acknowledgements and windows: what flows cost and nothing else.
pub fn plain_models() -> Models {
    Models {
        cross_traffic: false,
        tcp_gamma: f64::INFINITY,
        latency_factor: Factor::Constant(1.0),
        bandwidth_factor: Factor::Constant(1.0),
        ..Models::cm02()
    }
}

/// The flow that an operation is.
fn flow(platform: &Platform, operation: &Operation) -> StorageFlow {
    let (from, to) = operation.kind.ends(|disk: DiskId| platform.disk(disk).host);
    let (read, write) = match operation.kind {
        OperationKind::Read(disk, _) => (Some(disk), None),
        OperationKind::Write(disk, _) => (None, Some(disk)),
        OperationKind::Copy(from, to) => (Some(from), Some(to)),
        OperationKind::Transfer(..) => (None, None),
    };
    let bytes = operation.bytes;
    StorageFlow { read, write, from, to, bytes, delay: 0.0, rate: f64::INFINITY }
}

/// A date that can be ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Date(f64);

impl Eq for Date {}
impl PartialOrd for Date {
    fn partial_cmp(&self, other: &Date) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Date {
    fn cmp(&self, other: &Date) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Operations under way on a simulation that others may use, too.
#[derive(Debug)]
pub struct Operations<'a> {
    operations: &'a [Operation],
    owner: Owner,
    waits: Vec<usize>,
    followers: Vec<Vec<usize>>,
    /// Operations that nothing but their date has held from the start, the next one last.
    dated: Vec<Reverse<(Date, usize)>>,
    /// Operations whose predecessors have ended.
    released: BinaryHeap<Reverse<(Date, usize)>>,
    delays: DrawnDelays,
    dates: Vec<Dates>,
}

impl<'a> Operations<'a> {
    /// Nothing has begun.
    pub fn new(operations: &'a [Operation], owner: Owner) -> Operations<'a> {
        let mut followers: Vec<Vec<usize>> = vec![Vec::new(); operations.len()];
        let mut dated = Vec::new();
        for (k, operation) in operations.iter().enumerate() {
            operation.after.iter().for_each(|&before| followers[before].push(k));
            if operation.after.is_empty() {
                dated.push(Reverse((Date(operation.at), k)));
            }
        }
        dated.sort_unstable();
        Operations {
            operations,
            owner,
            waits: operations.iter().map(|operation| operation.after.len()).collect(),
            followers,
            dated,
            released: BinaryHeap::new(),
            delays: DrawnDelays::default(),
            dates: vec![Dates { start: f64::NAN, finish: f64::NAN }; operations.len()],
        }
    }

    /// The next operation to begin, and its date.
    fn next(&self) -> Option<(Date, usize)> {
        let next = self.dated.last().max(self.released.peek());
        next.map(|&Reverse(next)| next)
    }

    /// When the next operation is due to begin; infinite for never.
    pub fn next_date(&self) -> f64 {
        self.next().map_or(f64::INFINITY, |(date, _)| date.0)
    }

    /// When the operations began and ended.
    pub fn dates(&self) -> &[Dates] {
        &self.dates
    }

    /// Begins what is due.
    pub fn begin(&mut self, simulation: &mut Simulation) -> Result<(), SimulationError> {
        let now = simulation.clock();
        while let Some((date, k)) = self.next().filter(|(date, _)| date.0 <= now) {
            if self.dated.pop_if(|Reverse(next)| *next == (date, k)).is_none() {
                self.released.pop();
            }
            let mut flow = flow(simulation.platform(), &self.operations[k]);
            self.delays.apply(simulation.platform(), &mut flow);
            simulation.start_for(self.owner, flow, k as u64)?;
            // The clock may be behind the date by a rounding error.
            self.dates[k].start = date.0.max(now);
        }
        Ok(())
    }

    /// Books an event of the simulation; those of others are passed over.
    pub fn handle(&mut self, now: f64, event: &Event) -> Result<(), StorageError> {
        let (owner, tag, is_done) = match *event {
            Event::Done { owner, tag, .. } => (owner, tag, true),
            Event::Failed { owner, tag, .. } => (owner, tag, false),
            _ => return Ok(()),
        };
        if owner != self.owner {
            return Ok(());
        }
        let k = tag as usize;
        if !is_done {
            return Err(StorageError::Failed(self.operations[k].id.clone()));
        }
        self.dates[k].finish = now;
        for &follower in &self.followers[k] {
            self.waits[follower] -= 1;
            if self.waits[follower] == 0 {
                let date = self.operations[follower].at.max(now);
                self.released.push(Reverse((Date(date), follower)));
            }
        }
        Ok(())
    }
}

/// Runs operations to their end, alone on a platform.
pub fn run(
    platform: &Platform,
    models: Models,
    operations: &[Operation],
) -> Result<Vec<Dates>, StorageError> {
    let mut simulation = Simulation::new(platform.clone(), models)?;
    let mut all = Operations::new(operations, Owner::default());
    loop {
        all.begin(&mut simulation)?;
        let until = all.next_date();
        let step = simulation.step(until)?;
        for event in simulation.events() {
            all.handle(simulation.clock(), event)?;
        }
        if step == Step::Idle && all.next_date() == f64::INFINITY {
            return Ok(all.dates);
        }
    }
}
