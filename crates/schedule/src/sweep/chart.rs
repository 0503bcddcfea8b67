//! The Gantt chart of a parameter sweep: one column per processor and per link.
//!
//! A task on a processor is the transfers of its missing inputs over the link of the cluster, one
//! after the other in the order of [`Ground::inputs`], each in the first gap that is long enough;
//! then its computation, behind whatever the processor does already; then its outputs, in the first
//! gaps of the link after that. A file that is at the cluster, or on its way there, is not sent
//! again.

use super::ground::Ground;
use crate::list::Timeline;
use slackline_model::{FileId, ProcId, TaskId, approx};
use std::collections::HashMap;

/// A computation in the chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Computation {
    /// Which task.
    pub task: TaskId,
    /// Where.
    pub proc: ProcId,
    /// Begin.
    pub start: f64,
    /// End.
    pub finish: f64,
}

/// A transfer in the chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Which file.
    pub file: FileId,
    /// The task that needs or makes it.
    pub task: TaskId,
    /// Over the link of this cluster.
    pub cluster: usize,
    /// An output on its way back, not an input on its way there.
    pub is_output: bool,
    /// Begin.
    pub start: f64,
    /// End.
    pub finish: f64,
}

/// The best that a cluster has for a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Offer {
    /// When the task would be complete; infinite where it cannot be done.
    pub completion: f64,
    /// On which processor.
    pub proc: ProcId,
    /// When it would be complete on the best of the other processors of the cluster.
    pub second: f64,
}

impl Offer {
    /// Nowhere in the cluster.
    const NONE: Offer = Offer { completion: f64::INFINITY, proc: ProcId(0), second: f64::INFINITY };

    /// Whether the task can be done at all.
    pub(super) fn possible(&self) -> bool {
        self.completion.is_finite()
    }
}

/// The link of a cluster and what has been brought over it.
#[derive(Clone)]
struct Lane {
    line: Timeline,
    arrivals: HashMap<FileId, f64>,
    /// Until when other things have been said to keep it busy.
    blocked: f64,
}

/// The chart; see the module's head.
#[derive(Clone)]
pub struct Chart<'g> {
    ground: &'g Ground<'g>,
    lanes: Vec<Lane>,
    /// Per processor: from when on it is free.
    free: Vec<f64>,
    /// Per processor: until when other things have been said to keep it busy.
    blocked: Vec<f64>,
    /// Per processor: when the last computation that was put there begins.
    last_start: Vec<f64>,
    /// Computations, in the order in which they were chosen.
    pub computations: Vec<Computation>,
    /// Transfers, in the order in which they were reserved.
    pub transfers: Vec<Transfer>,
}

/// Where transfers of one task would lie.
#[derive(Default)]
pub(super) struct Scratch(Vec<(FileId, f64, f64)>);

impl<'g> Chart<'g> {
    /// An empty chart from now on.
    pub fn new(ground: &'g Ground<'g>) -> Chart<'g> {
        let lane = |cluster: usize| Lane {
            line: Timeline::new(ground.now, ground.shortest_transfer(cluster)),
            arrivals: HashMap::new(),
            blocked: ground.now,
        };
        let procs = ground.procs;
        Chart {
            ground,
            lanes: (0..ground.clusters.len()).map(lane).collect(),
            free: vec![ground.now; procs],
            blocked: vec![ground.now; procs],
            last_start: vec![f64::NEG_INFINITY; procs],
            computations: Vec::new(),
            transfers: Vec::new(),
        }
    }

    /// A processor has other things to do until then; for ever where it is gone.
    pub fn block_proc(&mut self, proc: ProcId, until: f64) {
        let free = &mut self.free[proc.index()];
        *free = free.max(until);
        self.blocked[proc.index()] = *free;
    }

    /// The link of a cluster has other things to do.
    pub fn block_link(&mut self, cluster: usize, start: f64, finish: f64) {
        if finish > start {
            let lane = &mut self.lanes[cluster];
            lane.line.occupy(start, finish);
            lane.blocked = lane.blocked.max(finish);
        }
    }

    /// A file is, or will be, at a cluster.
    pub fn bring(&mut self, cluster: usize, file: FileId, at: f64) {
        let arrival = self.lanes[cluster].arrivals.entry(file).or_insert(at);
        *arrival = arrival.min(at);
    }

    /// Until when other things than this chart keep a processor busy.
    pub fn blocked_until(&self, proc: ProcId) -> f64 {
        self.blocked[proc.index()]
    }

    /// The same of the link of a cluster.
    pub fn link_blocked_until(&self, cluster: usize) -> f64 {
        self.lanes[cluster].blocked
    }

    /// Whether every processor that can be used has a computation that begins after that date.
    pub fn is_filled_to(&self, date: f64) -> bool {
        self.ground
            .clusters
            .iter()
            .flat_map(|c| &c.procs)
            .all(|p| self.free[p.index()] == f64::INFINITY || self.last_start[p.index()] > date)
    }

    /// When the inputs of a task would be at a cluster; `scratch` gets the transfers that takes.
    fn gather(&self, task: TaskId, cluster: usize, scratch: &mut Scratch) -> f64 {
        let lane = &self.lanes[cluster];
        scratch.0.clear();
        let mut ready = self.ground.release(task);
        for &file in self.ground.inputs(task) {
            if let Some(&at) = lane.arrivals.get(&file) {
                ready = ready.max(at);
                continue;
            }
            let seconds = self.ground.transfer_seconds(file, cluster);
            if seconds == f64::INFINITY {
                return f64::INFINITY;
            }
            let start = first_fit(&lane.line, &scratch.0, self.ground.now, seconds);
            scratch.0.push((file, start, start + seconds));
            ready = ready.max(start + seconds);
        }
        ready
    }

    /// When the last output of a task would be back if it were computed at `finish`, and until when
    /// it could be computed for that.
    fn return_outputs(&self, task: TaskId, cluster: usize, finish: f64) -> (f64, f64) {
        let line = &self.lanes[cluster].line;
        match self.ground.outputs(task) {
            [] => (finish, finish),
            &[file] => {
                let seconds = self.ground.transfer_seconds(file, cluster);
                let start = line.earliest(finish, seconds);
                (start + seconds, start)
            }
            several => {
                let (mut taken, mut done) = (Vec::new(), finish);
                for &file in several {
                    let seconds = self.ground.transfer_seconds(file, cluster);
                    let start = first_fit(line, &taken, finish, seconds);
                    taken.push((file, start, start + seconds));
                    done = done.max(start + seconds);
                }
                (done, finish)
            }
        }
    }

    /// The best processor of a cluster for a task, as if it were placed next. Ties: the first.
    pub(super) fn offer(&self, task: TaskId, cluster: usize, scratch: &mut Scratch) -> Offer {
        let ready = self.gather(task, cluster, scratch);
        if ready == f64::INFINITY {
            return Offer::NONE;
        }
        let finish_on =
            |proc: ProcId| self.free[proc.index()].max(ready) + self.ground.seconds(task, proc);
        let procs = &self.ground.clusters[cluster].procs;
        let least = procs.iter().map(|&p| finish_on(p)).fold(f64::INFINITY, f64::min);
        if least == f64::INFINITY {
            return Offer::NONE;
        }
        // The later a computation ends, the later its output is back, but not always: those that
        // end before the same gap of the link are equal.
        let back = |finish: f64| match self.ground.until_computed {
            true => (finish, finish),
            false => self.return_outputs(task, cluster, finish),
        };
        let (completion, latest) = back(least);
        if completion == f64::INFINITY {
            return Offer::NONE;
        }
        let several = !self.ground.until_computed && self.ground.outputs(task).len() > 1;
        let as_good = |proc: ProcId| {
            let finish = finish_on(proc);
            approx::le(finish, latest) || (several && approx::eq(back(finish).0, completion))
        };
        let proc = procs.iter().copied().find(|&p| as_good(p)).unwrap_or(procs[0]);
        let others = procs.iter().filter(|&&p| p != proc).map(|&p| finish_on(p));
        let next = others.fold(f64::INFINITY, f64::min);
        let second = if next == f64::INFINITY { next } else { back(next).0 };
        Offer { completion, proc, second }
    }

    /// Completion of a task on one processor, as if it were placed next.
    pub fn completion(&self, task: TaskId, cluster: usize, proc: ProcId) -> f64 {
        let ready = self.gather(task, cluster, &mut Scratch::default());
        let finish = self.free[proc.index()].max(ready) + self.ground.seconds(task, proc);
        if finish == f64::INFINITY || self.ground.until_computed {
            return finish;
        }
        self.return_outputs(task, cluster, finish).0
    }

    /// Puts a task on a processor of a cluster and reserves all it needs.
    pub fn place(&mut self, task: TaskId, cluster: usize, proc: ProcId) {
        let mut scratch = Scratch::default();
        let ready = self.gather(task, cluster, &mut scratch);
        let lane = &mut self.lanes[cluster];
        for (file, start, finish) in scratch.0 {
            lane.line.occupy(start, finish);
            lane.arrivals.insert(file, finish);
            self.transfers.push(Transfer { file, task, cluster, is_output: false, start, finish });
        }
        let start = self.free[proc.index()].max(ready);
        let finish = start + self.ground.seconds(task, proc);
        self.free[proc.index()] = finish;
        self.last_start[proc.index()] = start;
        self.computations.push(Computation { task, proc, start, finish });
        self.reserve_outputs(task, cluster, finish);
    }

    /// Reserves the way back of the outputs of a task that is computed at `finish`.
    pub fn reserve_outputs(&mut self, task: TaskId, cluster: usize, finish: f64) {
        let ground = self.ground;
        for &file in ground.outputs(task) {
            self.send_back(file, task, cluster, finish);
        }
    }

    /// Reserves the way back of a file that is there at `ready`.
    pub fn send_back(&mut self, file: FileId, task: TaskId, cluster: usize, ready: f64) {
        let seconds = self.ground.transfer_seconds(file, cluster);
        if seconds == f64::INFINITY {
            return; // nobody knows when
        }
        let line = &mut self.lanes[cluster].line;
        let start = line.earliest(ready, seconds);
        line.occupy(start, start + seconds);
        let finish = start + seconds;
        self.transfers.push(Transfer { file, task, cluster, is_output: true, start, finish });
    }
}

/// The first gap of a line that is long enough, beside what a trial has already taken.
fn first_fit(line: &Timeline, taken: &[(FileId, f64, f64)], from: f64, seconds: f64) -> f64 {
    let mut from = from;
    loop {
        let start = line.earliest(from, seconds);
        let in_the_way = |&&(_, a, b): &&(FileId, f64, f64)| {
            approx::lt(start, b) && approx::lt(a, start + seconds)
        };
        match taken.iter().filter(in_the_way).map(|t| t.2).reduce(f64::max) {
            Some(end) => from = end,
            None => return start,
        }
    }
}
