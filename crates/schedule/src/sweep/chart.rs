//! The Gantt chart of a parameter sweep: one column per processor and per link.
//!
//! A task on a processor is the transfers of its missing inputs over the link of the cluster, one
//! after the other in the order of [`Ground::inputs`], each in the first gap that is long enough;
//! then its computation, behind whatever the processor does already; then its outputs, in the first
//! gaps of the link after that. A file that is at the cluster, or on its way there, is not sent
//! again.

use super::free_times::FreeTimes;
use super::ground::Ground;
use crate::list::Timeline;
use slackline_model::{FileId, ProcId, TaskId, approx};
use std::collections::HashMap;

/// A computation in the chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Computation {
    /// The task.
    pub task: TaskId,
    /// Its processor.
    pub proc: ProcId,
    /// Begin.
    pub start: f64,
    /// End.
    pub finish: f64,
}

/// A transfer in the chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// The file.
    pub file: FileId,
    /// The task that needs or makes it.
    pub task: TaskId,
    /// To or from this cluster.
    pub cluster: usize,
    /// Over this link: that of a cluster, or after those one of [`Ways::links`](super::Ways).
    pub line: usize,
    /// From another cluster, not from the origin.
    pub from: Option<usize>,
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
    /// Per file that several tasks read: when it arrives; infinite where it does not.
    shared: Vec<f64>,
    /// Arrival dates of the other files that are there or on their way. A file brought for a single task is not
    /// needed again in this chart.
    private: HashMap<FileId, f64>,
    /// Date until which activities outside the chart occupy it.
    blocked: f64,
}

/// The chart; see the module's head.
#[derive(Clone)]
pub struct Chart<'g> {
    ground: &'g Ground<'g>,
    lanes: Vec<Lane>,
    columns: FreeTimes,
    /// Per processor: date until which activities outside the chart occupy it.
    blocked: Vec<f64>,
    /// Per processor: when the last computation that was put there begins.
    last_start: Vec<f64>,
    /// Computations, in the order in which they were chosen.
    pub computations: Vec<Computation>,
    /// Transfers, in the order in which they were reserved.
    pub transfers: Vec<Transfer>,
}

/// A transfer that would be made.
#[derive(Clone, Copy)]
struct Trial {
    file: FileId,
    line: usize,
    from: Option<usize>,
    start: f64,
    finish: f64,
}

/// Working memory for the evaluation of one task.
#[derive(Default)]
pub(super) struct Scratch {
    /// Tentative slots of its transfers.
    trials: Vec<Trial>,
    /// Seconds of the task on every kind of processor of a cluster.
    seconds: Vec<f64>,
}

impl<'g> Chart<'g> {
    /// An empty chart from now on.
    pub fn new(ground: &'g Ground<'g>) -> Chart<'g> {
        let least = |line: usize| {
            if line < ground.clusters.len() && ground.ways.is_plain() {
                ground.shortest_transfer(line)
            } else {
                0.0
            }
        };
        let lines = ground.clusters.len() + ground.ways.links.len();
        let lane = |line: usize| Lane {
            line: Timeline::new(ground.now, least(line)),
            shared: if line < ground.clusters.len() {
                vec![f64::INFINITY; ground.shared_count()]
            } else {
                Vec::new()
            },
            private: HashMap::new(),
            blocked: ground.now,
        };
        let procs = ground.procs();
        Chart {
            ground,
            lanes: (0..lines).map(lane).collect(),
            columns: FreeTimes::new(ground),
            blocked: vec![ground.now; procs],
            last_start: vec![f64::NEG_INFINITY; procs],
            computations: Vec::new(),
            transfers: Vec::new(),
        }
    }

    /// A processor has other things to do until then; for ever where it is gone.
    pub fn block_proc(&mut self, proc: ProcId, until: f64) {
        let free = self.columns.free(proc).max(until);
        self.columns.set_free(proc, free);
        self.blocked[proc.index()] = free;
    }

    /// A link has other things to do.
    pub fn block_link(&mut self, line: usize, start: f64, finish: f64) {
        if finish > start {
            let lane = &mut self.lanes[line];
            lane.line.occupy(start, finish);
            lane.blocked = lane.blocked.max(finish);
        }
    }

    /// A file is, or will be, at a cluster.
    pub fn bring(&mut self, cluster: usize, file: FileId, at: f64) {
        let lane = &mut self.lanes[cluster];
        let arrival = match self.ground.shared(file) {
            Some(number) => &mut lane.shared[number],
            None if self.ground.is_used(file) => lane.private.entry(file).or_insert(at),
            None => return,
        };
        *arrival = arrival.min(at);
    }

    /// When a file is at a cluster, where it is or has been planned to be.
    #[inline]
    fn arrival(&self, cluster: usize, file: FileId) -> Option<f64> {
        let lane = &self.lanes[cluster];
        match self.ground.shared(file) {
            Some(number) => Some(lane.shared[number]).filter(|&at| at < f64::INFINITY),
            None if lane.private.is_empty() => None,
            None => lane.private.get(&file).copied(),
        }
    }

    /// Whether a file is anywhere but at the origin.
    pub(super) fn is_spread(&self, file: FileId) -> bool {
        (0..self.ground.clusters.len()).any(|cluster| self.arrival(cluster, file).is_some())
    }

    /// Until when other things than this chart keep a processor busy.
    pub fn blocked_until(&self, proc: ProcId) -> f64 {
        self.blocked[proc.index()]
    }

    /// Date until which activities outside the chart occupy a link.
    pub fn link_blocked_until(&self, line: usize) -> f64 {
        self.lanes[line].blocked
    }

    /// Whether every processor that can be used has a computation that begins after that date.
    pub fn is_filled_to(&self, date: f64) -> bool {
        self.ground
            .clusters
            .iter()
            .flat_map(|c| &c.procs)
            .all(|&p| self.columns.free(p) == f64::INFINITY || self.last_start[p.index()] > date)
    }

    /// When the inputs of a task would be at a cluster; `scratch` gets the transfers that takes.
    fn gather(&self, task: TaskId, cluster: usize, scratch: &mut Scratch) -> f64 {
        scratch.trials.clear();
        if !self.ground.fits(task, cluster) {
            return f64::INFINITY;
        }
        let mut ready = self.ground.release(task);
        for &file in self.ground.inputs(task) {
            if let Some(at) = self.arrival(cluster, file) {
                ready = ready.max(at);
                continue;
            }
            let trial = self.bring_by(file, cluster, &scratch.trials);
            if trial.finish == f64::INFINITY {
                return f64::INFINITY;
            }
            scratch.trials.push(trial);
            ready = ready.max(trial.finish);
        }
        ready
    }

    /// The transfer by which a file would be at a cluster first. Ties: from the origin, then from
    /// the lower cluster.
    fn bring_by(&self, file: FileId, cluster: usize, taken: &[Trial]) -> Trial {
        let fit = |line: usize, from: Option<usize>, ready: f64, seconds: f64| {
            let start = if seconds < f64::INFINITY {
                first_fit(&self.lanes[line].line, line, taken, ready, seconds)
            } else {
                f64::INFINITY
            };
            Trial { file, line, from, start, finish: start + seconds }
        };
        let now = self.ground.now;
        let mut best = fit(cluster, None, now, self.ground.transfer_seconds(file, cluster));
        for between in self.ground.ways.between.iter().filter(|b| b.to == cluster) {
            let Some(there) = self.arrival(between.from, file) else { continue };
            let Some(line) = between.way.line else { continue };
            let seconds = between.way.seconds(self.ground.bytes(file));
            let other = fit(line, Some(between.from), now.max(there), seconds);
            if approx::lt(other.finish, best.finish) {
                best = other;
            }
        }
        best
    }

    /// When the last output of a task would be back if it were computed at `finish`, and until when
    /// it could be computed for that.
    fn return_outputs(&self, task: TaskId, cluster: usize, finish: f64) -> (f64, f64) {
        let way = self.ground.way_back(cluster);
        let Some(number) = way.line else { return (finish, finish) };
        let line = &self.lanes[number].line;
        match self.ground.outputs(task) {
            [] => (finish, finish),
            &[file] => {
                let seconds = way.seconds(self.ground.bytes(file));
                let start = line.earliest(finish, seconds);
                (start + seconds, start)
            }
            several => {
                let (mut taken, mut done) = (Vec::new(), finish);
                for &file in several {
                    let seconds = way.seconds(self.ground.bytes(file));
                    let start = first_fit(line, number, &taken, finish, seconds);
                    let finish = start + seconds;
                    taken.push(Trial { file, line: number, from: None, start, finish });
                    done = done.max(finish);
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
        let groups = self.columns.of(cluster);
        let seconds = groups.iter().map(|group| self.ground.seconds_on(task, group.kind));
        scratch.seconds.clear();
        scratch.seconds.extend(seconds);
        let ends = |free: f64, seconds: f64| free.max(ready) + seconds;
        let kinds = || groups.iter().zip(&scratch.seconds);
        let least = kinds().map(|(g, &s)| ends(g.first_free(), s)).fold(f64::INFINITY, f64::min);
        if least == f64::INFINITY {
            return Offer::NONE;
        }
        // The later a computation ends, the later its output is back, but not always: those that
        // end before the same gap of the link are equal.
        let back = |finish: f64| {
            if self.ground.until_computed {
                (finish, finish)
            } else {
                self.return_outputs(task, cluster, finish)
            }
        };
        let (completion, latest) = back(least);
        if completion == f64::INFINITY {
            return Offer::NONE;
        }
        let several = !self.ground.until_computed && self.ground.outputs(task).len() > 1;
        let first = if several {
            // Nothing is known of which ends are as good.
            kinds()
                .filter_map(|(g, &s)| {
                    let as_good = |&proc: &ProcId| {
                        let finish = ends(self.columns.free(proc), s);
                        approx::le(finish, latest) || approx::eq(back(finish).0, completion)
                    };
                    g.procs.iter().copied().find(as_good)
                })
                .min()
        } else {
            kinds().filter_map(|(g, &s)| g.first(|free| approx::le(ends(free, s), latest))).min()
        };
        let proc = first.unwrap_or(self.ground.clusters[cluster].procs[0]);
        let others = kinds()
            .enumerate()
            .map(|(at, (_, &s))| ends(self.columns.first_besides(cluster, at, proc), s));
        let next = others.fold(f64::INFINITY, f64::min);
        let second = if next == f64::INFINITY { next } else { back(next).0 };
        Offer { completion, proc, second }
    }

    /// Whether the inputs of a task can be got to a cluster.
    pub fn can_place(&self, task: TaskId, cluster: usize) -> bool {
        self.gather(task, cluster, &mut Scratch::default()) < f64::INFINITY
    }

    /// Completion of a task on one processor, as if it were placed next.
    pub fn completion(&self, task: TaskId, cluster: usize, proc: ProcId) -> f64 {
        let ready = self.gather(task, cluster, &mut Scratch::default());
        let finish = self.columns.free(proc).max(ready) + self.ground.seconds(task, proc);
        if finish == f64::INFINITY || self.ground.until_computed {
            return finish;
        }
        self.return_outputs(task, cluster, finish).0
    }

    /// Puts a task on a processor of a cluster and reserves all it needs.
    pub fn place(&mut self, task: TaskId, cluster: usize, proc: ProcId) {
        let mut scratch = Scratch::default();
        let ready = self.gather(task, cluster, &mut scratch);
        for Trial { file, line, from, start, finish } in scratch.trials {
            self.lanes[line].line.occupy(start, finish);
            if let Some(number) = self.ground.shared(file) {
                self.lanes[cluster].shared[number] = finish;
            }
            let is_output = false;
            let transfer = Transfer { file, task, cluster, line, from, is_output, start, finish };
            self.transfers.push(transfer);
        }
        let start = self.columns.free(proc).max(ready);
        let finish = start + self.ground.seconds(task, proc);
        self.columns.set_free(proc, finish);
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
        let way = self.ground.way_back(cluster);
        let seconds = way.seconds(self.ground.bytes(file));
        let Some(line) = way.line else { return }; // it stays
        let timeline = &mut self.lanes[line].line;
        let mut start = f64::INFINITY; // not known
        if seconds < f64::INFINITY && ready < f64::INFINITY {
            start = timeline.earliest(ready, seconds);
            timeline.occupy(start, start + seconds);
        }
        let (from, is_output, finish) = (None, true, start + seconds);
        let transfer = Transfer { file, task, cluster, line, from, is_output, start, finish };
        self.transfers.push(transfer);
    }
}

/// The first gap of a line that is long enough, beside what a trial has already taken.
fn first_fit(line: &Timeline, number: usize, taken: &[Trial], from: f64, seconds: f64) -> f64 {
    let mut from = from;
    loop {
        let start = line.earliest(from, seconds);
        let in_the_way = |t: &&Trial| {
            t.line == number && approx::lt(start, t.finish) && approx::lt(t.start, start + seconds)
        };
        match taken.iter().filter(in_the_way).map(|t| t.finish).reduce(f64::max) {
            Some(end) => from = end,
            None => return start,
        }
    }
}
