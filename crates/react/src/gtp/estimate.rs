//! One pass of GTP's costing: unfinished tasks by falling rank, each to the processor of least
//! estimated finish time, restart costs included (thesis, equations 3.3 to 3.14).
//!
//! A pure function of the situation. Non-insertion: a processor is available after the tasks
//! assigned to it in this pass. Ties: where the task is placed, then where it was planned, then
//! the lowest processor. O(e p) for GTP; GTP/c also scans the copies of each edge.

use crate::data_location::Holders;
use crate::fetch_time_cache::FetchTimeCache;
use crate::situation::{Fetch, Situation, TaskState};
use slackline_model::{EdgeId, HostId, Problem, ProcId, Procs, TaskId, approx};
use std::cmp::Ordering;

/// Choices the thesis leaves open, with its own as default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costing {
    /// Any complete copy of an input may serve (GTP/c).
    pub reuse_copies: bool,
    /// Seconds between asking for data and its first byte (t_s).
    pub startup: f64,
    /// A running task blocks its processor for its remaining time, also against tasks of higher
    /// rank (off in the thesis).
    pub running_blocks: bool,
    /// A placed task moves only if it finishes at least this much earlier, as a multiple of
    /// its mean execution time (0 in the thesis).
    pub hysteresis: f64,
}

/// Result of the pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Per task: its processors; empty only for tasks that can run nowhere.
    pub procs: Vec<Procs>,
    /// Per task: estimated start (EST).
    pub start: Vec<f64>,
    /// Per task: estimated finish (EFT); now for finished tasks.
    pub finish: Vec<f64>,
    /// The largest finish.
    pub makespan: f64,
}

/// A candidate place for a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// First processor.
    pub proc: ProcId,
    /// EST.
    pub start: f64,
    /// EFT.
    pub finish: f64,
}

/// A pass in progress.
pub struct Pass<'a, 'p> {
    problem: &'a Problem<'p>,
    now: &'a Situation,
    costing: Costing,
    estimate: Expected,
    /// When each processor is free of the tasks assigned so far (PA).
    free: Vec<f64>,
    /// The hosts of the processors given to each task.
    hosts: Vec<Holders>,
    /// Previous processors of tasks whose results have to be recomputed; these are no source yet.
    previous: &'a [Option<ProcId>],
    /// Room for what is worked out for one task after the other.
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    data: Vec<f64>,
    candidates: Vec<Candidate>,
}

/// Preference among candidates of equal end: the present processor, the planned one, the lowest.
struct Ties {
    own: Option<ProcId>,
    planned: Option<ProcId>,
}

impl Ties {
    fn of(pass: &Pass<'_, '_>, task: TaskId) -> Ties {
        let own = pass.now.task(task).procs().and_then(|p| p.first().copied());
        Ties { own, planned: pass.previous.get(task.index()).copied().flatten() }
    }

    fn prefer(&self, one: &Candidate, other: &Candidate) -> bool {
        let order =
            |c: &Candidate| (Some(c.proc) != self.own, Some(c.proc) != self.planned, c.proc);
        match approx::cmp(one.finish, other.finish) {
            Ordering::Less => true,
            Ordering::Equal => order(one) < order(other),
            Ordering::Greater => false,
        }
    }
}

/// Runs the pass over the unfinished tasks in the given order.
pub fn estimate(
    problem: &Problem<'_>,
    now: &Situation,
    order: &[TaskId],
    previous: &[Option<ProcId>],
    costing: Costing,
) -> Expected {
    let mut pass = Pass::new(problem, now, previous, costing);
    for &task in order {
        pass.assign(task);
    }
    pass.finish()
}

impl<'a, 'p> Pass<'a, 'p> {
    /// Finished tasks are where they are; all processors are free now.
    pub fn new(
        problem: &'a Problem<'p>,
        now: &'a Situation,
        previous: &'a [Option<ProcId>],
        costing: Costing,
    ) -> Self {
        let tasks = problem.tasks();
        let mut pass = Pass {
            problem,
            now,
            costing,
            estimate: Expected {
                procs: vec![Procs::default(); tasks],
                start: vec![now.now; tasks],
                finish: vec![now.now; tasks],
                makespan: now.now,
            },
            free: vec![now.now; problem.procs()],
            hosts: vec![Holders::of_hosts([]); tasks],
            previous,
            scratch: Scratch::default(),
        };
        for task in problem.workflow().tasks() {
            match now.task(task) {
                TaskState::Done(placement) => {
                    pass.settle(task, placement.procs(), now.now, now.now)
                }
                TaskState::Running { procs, .. } if costing.running_blocks => {
                    let rest = pass.work(task, procs.first().copied().unwrap_or(ProcId(0)));
                    for proc in procs {
                        pass.free[proc.index()] = now.now + rest;
                    }
                }
                _ => {}
            }
        }
        pass
    }

    fn settle(&mut self, task: TaskId, procs: &[ProcId], start: f64, finish: f64) {
        let index = task.index();
        self.hosts[index] = match procs {
            &[one] => Holders::Host(self.problem.host_of(one)),
            _ => Holders::of_hosts(procs.iter().map(|&p| self.problem.host_of(p))),
        };
        self.estimate.procs[index] = procs.into();
        self.estimate.start[index] = start;
        self.estimate.finish[index] = finish;
        self.estimate.makespan = self.estimate.makespan.max(finish);
    }

    /// Remaining seconds of a task if it computes at a processor (W^t).
    fn work(&self, task: TaskId, proc: ProcId) -> f64 {
        let whole = self.problem.exec_on(task, proc);
        match self.now.task(task) {
            TaskState::Running { procs, .. } if procs.first() == Some(&proc) => {
                whole * (1.0 - self.now.progress[task.index()])
            }
            _ => whole,
        }
    }

    /// When the inputs of a task are on each host (DA).
    fn data_at(&self, task: TaskId, latest: &mut Vec<f64>) {
        latest.clear();
        latest.resize(self.problem.platform().hosts().len(), self.now.now);
        for (parent, edge) in self.problem.workflow().predecessors(task) {
            let hosts = self.hosts[parent.index()].hosts();
            let finish = self.estimate.finish[parent.index()];
            if !self.now.task(parent).is_done() {
                let Some(&from) = hosts.first() else { return latest.fill(f64::INFINITY) };
                self.arrive(edge, from, finish, latest);
            } else if let Some(from) = self.only_copy(edge, hosts) {
                self.arrive(edge, from, self.now.now, latest);
            } else {
                let fetch = Fetch {
                    startup: self.costing.startup,
                    reuse: self.costing.reuse_copies,
                    producer_hosts: hosts,
                };
                let files = self.now.workflow.edge_files(edge);
                let mut cache = FetchTimeCache::to(self.now, files);
                for (host, latest) in latest.iter_mut().enumerate() {
                    let seconds = |host| self.now.fetch_seconds(edge, host, &fetch);
                    let seconds = cache.seconds(HostId::new(host), seconds);
                    *latest = latest.max(self.now.now + seconds);
                }
            }
        }
        if !self.problem.staged_inputs(task).is_empty() {
            for (host, latest) in latest.iter_mut().enumerate() {
                let staged = self.problem.staged_arrival(task, HostId::new(host));
                *latest = latest.max(staged);
            }
        } else if matches!(self.now.task(task), TaskState::Running { .. }) {
            // It has its inputs where it runs, and needs them again elsewhere.
            let workflow = self.problem.workflow();
            for file in workflow.inputs(task).filter(|&f| workflow.producer(f).is_none()) {
                for (host, latest) in latest.iter_mut().enumerate() {
                    *latest = latest.max(self.problem.arrival(file, HostId::new(host)));
                }
            }
        }
    }

    /// The only copy of an edge's data, where it was made and never moved: the common case.
    fn only_copy(&self, edge: EdgeId, producer_hosts: &[HostId]) -> Option<HostId> {
        let mut files = self.problem.workflow().edge_files(edge);
        let (Some(file), None) = (files.next(), files.next()) else { return None };
        let [copy] = &self.now.copies[file.index()][..] else { return None };
        let place = copy.holders.host()?;
        let host = *producer_hosts.iter().find(|&&h| self.now.place_of(h) == place)?;
        let made_here = copy.is_complete();
        (made_here && self.now.is_alive(host)).then_some(host)
    }

    /// The data of an edge leaves `from` at `finish` for every host.
    fn arrive(&self, edge: EdgeId, from: HostId, finish: f64, latest: &mut [f64]) {
        let workflow = self.problem.workflow();
        if workflow.is_control(edge) {
            latest.iter_mut().for_each(|latest| *latest = latest.max(finish));
            return;
        }
        let network = self.problem.network();
        let mut times = network.times_from(workflow.edge_payload(edge), from);
        let (leaves, there) = (finish + self.costing.startup, latest[from.index()]);
        if network.groups == 1 {
            let arrives = leaves + times.next().unwrap_or(0.0);
            latest.iter_mut().for_each(|latest| *latest = latest.max(arrives));
        } else {
            for (latest, seconds) in latest.iter_mut().zip(times) {
                *latest = latest.max(leaves + seconds);
            }
        }
        latest[from.index()] = there.max(finish); // it stays where it was made
    }

    /// EST and EFT of a task on every processor that could take it; wide tasks once per host.
    pub fn candidates(&self, task: TaskId) -> Vec<Candidate> {
        let mut scratch = Scratch::default();
        self.find_candidates(task, &mut scratch);
        scratch.candidates
    }

    fn find_candidates(&self, task: TaskId, scratch: &mut Scratch) {
        let Scratch { data, candidates } = scratch;
        let problem = self.problem;
        let width = problem.workflow().width(task).0 as usize;
        let running = match self.now.task(task) {
            TaskState::Running { procs, .. } => procs.first().copied(),
            _ => None,
        };
        self.data_at(task, data);
        candidates.clear();
        for host in problem.platform().host_ids() {
            if !self.now.is_alive(host) {
                continue;
            }
            let procs = problem.procs_of(host);
            // A wide task that runs here stays where it is.
            let stays = running.filter(|p| width > 1 && procs.contains(&p.0));
            for proc in stays.into_iter().chain(procs.clone().map(ProcId)) {
                let (start, work) = if running == Some(proc) {
                    (self.now.now, self.work(task, proc))
                } else {
                    let free = self.free_for(proc, procs.clone(), width);
                    (data[host.index()].max(free), problem.exec_on(task, proc))
                };
                let finish = start + work;
                candidates.push(Candidate { proc, start, finish });
                if width > 1 {
                    break;
                }
            }
        }
    }

    /// Chooses the candidate of least finish time and takes its processor.
    pub fn assign(&mut self, task: TaskId) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let narrow = self.problem.workflow().width(task).0 == 1;
        let chosen = if narrow && self.costing.hysteresis <= 0.0 {
            self.best_of_all(task, &mut scratch.data)
        } else {
            self.find_candidates(task, &mut scratch);
            self.choose(task, &scratch.candidates)
        };
        match chosen {
            Some(chosen) => self.take(task, &chosen),
            None => self.strand(task),
        }
        self.scratch = scratch;
    }

    /// The candidate that would be chosen for a task of one processor, without a list of them: what ends
    /// clearly later than the best so far is passed over.
    fn best_of_all(&self, task: TaskId, data: &mut Vec<f64>) -> Option<Candidate> {
        self.data_at(task, data);
        let problem = self.problem;
        let ties = Ties::of(self, task);
        let running = match self.now.task(task) {
            TaskState::Running { procs, .. } => procs.first().copied(),
            _ => None,
        };
        let mut best: Option<Candidate> = None;
        let mut limit = f64::MAX;
        let (mut class, mut seconds) = (usize::MAX, 0.0);
        for host in problem.platform().host_ids().filter(|&h| self.now.is_alive(h)) {
            for proc in problem.procs_of(host).map(ProcId) {
                if problem.class_of(proc) != class {
                    class = problem.class_of(proc);
                    seconds = problem.exec(task, class);
                }
                let (start, work) = if running == Some(proc) {
                    (self.now.now, self.work(task, proc))
                } else {
                    (data[host.index()].max(self.free[proc.index()]), seconds)
                };
                let finish = start + work;
                if finish > limit {
                    continue;
                }
                let candidate = Candidate { proc, start, finish };
                if best.as_ref().is_none_or(|b| ties.prefer(&candidate, b)) {
                    limit = finish + 4.0 * approx::tolerance(finish, finish);
                    best = Some(candidate);
                }
            }
        }
        best
    }

    /// When a processor, or for wide tasks enough processors of its host, are free.
    fn free_for(&self, proc: ProcId, host: std::ops::Range<u32>, width: usize) -> f64 {
        if width == 1 {
            return self.free[proc.index()];
        }
        let mut free: Vec<f64> = host.map(|p| self.free[p as usize]).collect();
        free.sort_by(f64::total_cmp);
        free.get(width - 1).copied().unwrap_or(f64::INFINITY)
    }

    /// The candidate of least finish time; none where the task can end nowhere.
    pub(super) fn choose(&self, task: TaskId, candidates: &[Candidate]) -> Option<Candidate> {
        let ties = Ties::of(self, task);
        let mut best: Option<&Candidate> = None;
        for candidate in candidates.iter().filter(|c| c.finish.is_finite()) {
            if best.is_none_or(|b| ties.prefer(candidate, b)) {
                best = Some(candidate);
            }
        }
        if self.costing.hysteresis > 0.0
            && let Some(stay) = candidates.iter().find(|c| Some(c.proc) == ties.own)
            && stay.finish.is_finite()
            && let Some(go) = best
        {
            let margin = self.costing.hysteresis * self.problem.mean_exec(task);
            if stay.finish - go.finish < margin {
                best = Some(stay);
            }
        }
        best.cloned()
    }

    /// Moves the candidates of a task that were computed earlier in the pass behind the tasks
    /// that have taken processors since.
    pub(super) fn push_back(&self, task: TaskId, candidates: &mut Vec<Candidate>) {
        if self.problem.workflow().width(task).0 > 1 {
            *candidates = self.candidates(task);
            return;
        }
        let running = match self.now.task(task) {
            TaskState::Running { procs, .. } => procs.first().copied(),
            _ => None,
        };
        for candidate in candidates.iter_mut().filter(|c| Some(c.proc) != running) {
            let wait = (self.free[candidate.proc.index()] - candidate.start).max(0.0);
            candidate.start += wait;
            candidate.finish += wait;
        }
    }

    /// The task can run nowhere.
    pub(super) fn strand(&mut self, task: TaskId) {
        self.settle(task, &[], f64::INFINITY, f64::INFINITY);
    }

    /// Gives the task the processor of a candidate.
    pub(super) fn take(&mut self, task: TaskId, chosen: &Candidate) {
        let width = self.problem.workflow().width(task).0 as usize;
        let running = matches!(self.now.task(task), TaskState::Running { .. });
        let procs: Vec<ProcId> = match self.now.task(task).procs() {
            Some(own) if running && own.first() == Some(&chosen.proc) => own.to_vec(),
            _ if width == 1 => vec![chosen.proc],
            _ => {
                let host = self.problem.host_of(chosen.proc);
                let mut all: Vec<ProcId> = self.problem.procs_of(host).map(ProcId).collect();
                all.sort_by(|a, b| {
                    self.free[a.index()].total_cmp(&self.free[b.index()]).then(a.cmp(b))
                });
                all.truncate(width);
                all.sort_unstable();
                all
            }
        };
        for proc in &procs {
            let free = &mut self.free[proc.index()];
            *free = free.max(chosen.finish);
        }
        self.settle(task, &procs, chosen.start, chosen.finish);
    }

    /// The processors given to a task so far.
    pub(super) fn procs_of(&self, task: TaskId) -> &[ProcId] {
        &self.estimate.procs[task.index()]
    }

    /// Result of the pass.
    pub fn finish(self) -> Expected {
        self.estimate
    }
}
