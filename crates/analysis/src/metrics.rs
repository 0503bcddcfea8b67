//! Figures that make runs comparable: length against the critical path, and waste.
//!
//! The normalised schedule length (NSL) of the GTP studies divides by *mean* times, so that it
//! may be below 1; the schedule length ratio (SLR) of the HEFT paper divides by *least* times.
//! Overhead is what the studies call recomputation and retransmission: seconds that processors
//! computed and transfers took for results and copies that the finished run did not use.

use slackline_engine::Outcome;
use slackline_model::trace::{End, Record, UnderWay, Work};
use slackline_model::{EdgeId, FileId, HostId, Platform, Problem, ProcId, TaskId};
use std::collections::HashSet;

/// Figures of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Makespan over the sum of mean times on the critical path (NSL).
    pub nsl: f64,
    /// Makespan over the sum of least times on the chain that is longest in them (SLR).
    pub slr: f64,
    /// Work and transfers that the result did not use.
    pub waste: Waste,
}

/// Work and transfers of a run that its result did not use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waste {
    /// Seconds of computations that were cancelled, failed or were rewound.
    pub computed_seconds: f64,
    /// Seconds of transfers that broke off or whose copy no finished task read, results apart.
    pub moved_seconds: f64,
    /// Bytes of these.
    pub moved_bytes: f64,
}

impl Waste {
    /// Recomputation and retransmission together, seconds.
    pub fn overhead(&self) -> f64 {
        self.computed_seconds + self.moved_seconds
    }
}

impl Metrics {
    /// The figures of a run of the problem's workflow, by its trace.
    pub fn of(problem: &Problem<'_>, outcome: &Outcome) -> Metrics {
        let mut moves = Moves::on(problem.platform());
        outcome.trace.records().iter().for_each(|record| moves.note(record));
        Metrics::with_moves(problem, outcome, moves)
    }

    /// The figures of a run whose transfers were noted as they came.
    pub fn with_moves(problem: &Problem<'_>, outcome: &Outcome, moves: Moves<'_>) -> Metrics {
        let workflow = problem.workflow();
        let least = workflow.critical_path(|t| problem.best_exec(t), |_| 0.0).length;
        let over = |seconds: f64| if seconds > 0.0 { outcome.makespan / seconds } else { 1.0 };
        Metrics {
            nsl: over(mean_critical_path(problem)),
            slr: over(least),
            waste: waste(problem, outcome, moves),
        }
    }
}

/// Sum of the mean times on the path that is longest with communication.
pub fn mean_critical_path(problem: &Problem<'_>) -> f64 {
    let workflow = problem.workflow();
    let path =
        workflow.critical_path(|t| problem.mean_exec(t), |e: EdgeId| problem.mean_edge_transfer(e));
    path.tasks.iter().map(|&t| problem.mean_exec(t)).sum()
}

/// The transfers of a run, noted record by record, so that its trace need not be kept for them.
pub struct Moves<'p> {
    platform: &'p Platform,
    /// Those under way, since their beginning.
    under_way: UnderWay<(f64, CompletedTransfer)>,
    arrived: Vec<CompletedTransfer>,
    /// Seconds of those that broke off.
    broken_off: f64,
}

/// A transfer that was completed.
struct CompletedTransfer {
    file: FileId,
    /// The place of the receiver: hosts with a shared storage are one place.
    place: HostId,
    seconds: f64,
    /// As the workflow states it, and as it was.
    stated: f64,
    bytes: f64,
}

impl CompletedTransfer {
    fn copy(&self) -> (FileId, HostId) {
        (self.file, self.place)
    }
}

impl<'p> Moves<'p> {
    /// None yet.
    pub fn on(platform: &'p Platform) -> Moves<'p> {
        let (under_way, arrived) = (UnderWay::default(), Vec::new());
        Moves { platform, under_way, arrived, broken_off: 0.0 }
    }

    /// Something happened.
    pub fn note(&mut self, record: &Record) {
        let (platform, at) = (self.platform, record.at);
        let begun = |work: Work<'_>| match work {
            Work::Transfer { file, to, bytes, .. } => {
                let place = platform.place_of(to);
                Some((at, CompletedTransfer { file, place, seconds: 0.0, stated: bytes, bytes }))
            }
            Work::Task { .. } => None,
        };
        match self.under_way.note(&record.what, begun) {
            Some(((start, moved), End::Finished)) => {
                let bytes = record.what.weighed().unwrap_or(moved.stated);
                self.arrived.push(CompletedTransfer { seconds: at - start, bytes, ..moved });
            }
            Some(((start, _), _)) => self.broken_off += at - start,
            None => {}
        }
    }
}

fn waste(problem: &Problem<'_>, outcome: &Outcome, moves: Moves<'_>) -> Waste {
    let Moves { mut arrived, broken_off, .. } = moves;
    let mut waste = Waste {
        computed_seconds: outcome.counters.lost_seconds,
        moved_seconds: broken_off,
        moved_bytes: 0.0,
    };
    let read = copies_read(problem, outcome);
    let mut used_bytes = 0.0;
    arrived.sort_by_key(CompletedTransfer::copy); // those of one copy stay in their order
    for transfers in arrived.chunk_by(|a, b| a.copy() == b.copy()) {
        // Of several transfers of a file to a host the last made the copy that was read; blocks
        // of a file that is spread over hosts are less than the file.
        // Results without readers are collected.
        let file = transfers[0].file;
        let used =
            read.contains(&transfers[0].copy()) || outcome.workflow.consumers(file).len() == 0;
        let mut wanted = if used { outcome.workflow.file_bytes(file) } else { -1.0 };
        for moved in transfers.iter().rev() {
            if wanted >= moved.stated * (1.0 - 1e-9) {
                wanted -= moved.stated;
                used_bytes += moved.bytes;
            } else {
                waste.moved_seconds += moved.seconds;
            }
        }
    }
    waste.moved_bytes = (outcome.counters.bytes_moved - used_bytes).max(0.0);
    // What is left is rounding.
    if waste.moved_bytes <= outcome.counters.bytes_moved * 1e-9 {
        waste.moved_bytes = 0.0;
    }
    waste
}

/// Returns the files that finished tasks read, each with the place of the reader.
fn copies_read(problem: &Problem<'_>, outcome: &Outcome) -> HashSet<(FileId, HostId)> {
    let mut read = HashSet::new();
    for (task, placement) in outcome.schedule.placements.iter().enumerate() {
        let Some(placement) = placement else { continue };
        for file in outcome.workflow.inputs(TaskId::new(task)) {
            let place = |p: &ProcId| problem.platform().place_of(problem.host_of(*p));
            read.extend(placement.procs().iter().map(|p| (file, place(p))));
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_engine::{Counters, Ending};
    use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder, RoutingKind};
    use slackline_model::trace::Happening;
    use slackline_model::{Placement, Schedule, Task, Trace, WorkflowBuilder};
    use std::sync::Arc;

    /// a (6 and 12 s) sends 10 B to b (4 and 8 s); 1 B/s between the two hosts.
    #[test]
    fn what_no_finished_task_read_was_in_vain() {
        let mut builder = WorkflowBuilder::new("pair");
        let a = builder.add_task(Task::new("a", 6.0)).unwrap();
        let b = builder.add_task(Task::new("b", 4.0)).unwrap();
        builder.add_edge(a, b, 10.0).unwrap();
        let workflow = builder.build().unwrap();
        let mut builder = PlatformBuilder::new("two");
        let zone = builder.add_zone(None, "all", RoutingKind::Full).unwrap();
        let hosts = [("fast", 1.0), ("slow", 0.5)]
            .map(|(name, speed)| builder.add_host(zone, HostSpec::new(name, speed)).unwrap());
        builder.set_matrix(Matrix::Uniform { bandwidth: 1.0, latency: 0.0 });
        let platform = builder.build().unwrap();
        let problem = Problem::new(&workflow, &platform).unwrap();
        // The file goes to the slow host; b is stopped there after 2 s, and done on the fast one.
        let (file, [fast, slow]) = (workflow.outputs(a).next().unwrap(), hosts);
        let mut trace = Trace::default();
        let to_slow = Happening::TransferStarted { file, from: fast, to: slow, bytes: 10.0 };
        trace.push(6.0, to_slow);
        trace.push(16.0, Happening::TransferFinished { file, from: fast, to: slow, bytes: None });
        trace.push(18.0, Happening::TaskCancelled { task: b });
        let mut schedule = Schedule::start(&problem);
        schedule.place(a, Placement::new(ProcId(0), 0.0, 6.0));
        schedule.place(b, Placement::new(ProcId(0), 18.0, 22.0));
        let counters = Counters { lost_seconds: 2.0, bytes_moved: 10.0, ..Counters::default() };
        let outcome = |schedule: Schedule, trace: Trace| Outcome {
            ending: Ending::Finished,
            makespan: 22.0,
            schedule,
            trace,
            counters,
            workflow: Arc::new(workflow.clone()),
            arrived: Vec::new(),
            part_of: Vec::new(),
            leases: Vec::new(),
            taught: Default::default(),
        };
        let metrics = Metrics::of(&problem, &outcome(schedule.clone(), trace.clone()));
        // Mean times 9 and 6 s, least times 6 and 4 s.
        assert_eq!((metrics.nsl, metrics.slr), (22.0 / 15.0, 2.2));
        let Waste { computed_seconds, moved_seconds, moved_bytes } = metrics.waste;
        assert_eq!((computed_seconds, moved_seconds, moved_bytes), (2.0, 10.0, 10.0));
        assert_eq!(metrics.waste.overhead(), 12.0);
        // Had b been done on the slow host, the transfer would have been of use.
        schedule.place(b, Placement::new(ProcId(1), 18.0, 26.0));
        let metrics = Metrics::of(&problem, &outcome(schedule, trace));
        assert_eq!((metrics.waste.moved_seconds, metrics.waste.moved_bytes), (0.0, 0.0));
    }
}
