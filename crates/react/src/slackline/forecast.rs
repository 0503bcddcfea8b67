//! What a plan would come to if nothing changed any more: a quick forward run of the engine's own
//! rules (queues in order, inputs pulled through a window or pushed) over links that serve
//! transfers in turn. Planners assume that transfers never meet; on a busy network that is wrong
//! by a factor of several, and choosing between plans needs better.
//!
//! Each link is a server with its own rate: a transfer takes its time at the narrowest link and
//! keeps every link of its route busy for its bytes over that link's rate. Where hosts are joined
//! pairwise this is exactly one transfer at a time. O((v + transfers) log v).

use crate::holders::Holders;
use crate::policy::{Plan, Transfers};
use crate::situation::{Situation, TaskState};
use slackline_model::platform::{Network, RouteCache};
use slackline_model::{EdgeId, FileId, HostId, Problem, ProcId, TaskId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Makes forecasts; keeps the routes found so far.
#[derive(Default)]
pub struct Forecaster {
    pub(super) routes: RouteCache,
}

/// What a plan would come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// When the last task would end; infinite when some task never would, or not before the
    /// limit that was given.
    pub makespan: f64,
    /// Per task: begin and end; not before now for what is done or runs.
    pub times: Vec<(f64, f64)>,
}

const NONE: u32 = u32::MAX;

/// A date that can be ordered.
#[derive(Clone, Copy, PartialEq)]
struct Date(f64);

impl Eq for Date {}

impl PartialOrd for Date {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Date {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Task(TaskId),
    /// Entry of the list of copies.
    Copy(u32),
}

/// A file at a place, or on its way there.
#[derive(Clone, Copy)]
struct Copy {
    file: FileId,
    /// The first host of the place.
    host: HostId,
    complete: bool,
    next: u32,
}

struct Run<'a, 'p> {
    problem: &'a Problem<'p>,
    now: &'a Situation,
    routes: &'a mut RouteCache,
    push: bool,
    window: usize,
    clock: f64,
    ends: BinaryHeap<Reverse<(Date, u64, End)>>,
    sequence: u64,
    procs: Vec<&'a [ProcId]>,
    host: Vec<u32>,
    rank: Vec<u32>,
    queue: Vec<VecDeque<TaskId>>,
    busy: Vec<bool>,
    done: Vec<bool>,
    /// Per task: parents not done and inputs not on its host.
    lacks: Vec<u32>,
    asks: Vec<bool>,
    first_copy: Vec<u32>,
    copies: Vec<Copy>,
    /// When each link has served what it was given so far.
    link_free: Vec<f64>,
    left: usize,
    times: Vec<(f64, f64)>,
}

impl Forecaster {
    /// Follows `plan` from now on, at most to the date `limit`.
    pub fn follow(
        &mut self,
        problem: &Problem<'_>,
        now: &Situation,
        plan: &Plan,
        limit: f64,
    ) -> Forecast {
        Run::new(problem, now, &mut self.routes, plan).finish(limit)
    }
}

impl<'a, 'p> Run<'a, 'p> {
    fn new(
        problem: &'a Problem<'p>,
        now: &'a Situation,
        routes: &'a mut RouteCache,
        plan: &'a Plan,
    ) -> Self {
        let workflow = problem.workflow();
        let tasks = workflow.len();
        let (push, window) = match plan.transfers {
            Transfers::Push => (true, usize::MAX),
            Transfers::Pull { window } => (false, window.max(1) as usize),
        };
        let mut run = Run {
            problem,
            now,
            routes,
            push,
            window,
            clock: now.now,
            ends: BinaryHeap::new(),
            sequence: 0,
            procs: vec![&[]; tasks],
            host: vec![NONE; tasks],
            rank: vec![NONE; tasks],
            queue: vec![VecDeque::new(); problem.procs()],
            busy: vec![false; problem.procs()],
            done: vec![false; tasks],
            lacks: vec![0; tasks],
            asks: vec![false; tasks],
            first_copy: vec![NONE; workflow.file_count()],
            copies: Vec::new(),
            link_free: vec![now.now; problem.platform().links().len()],
            left: 0,
            times: vec![(now.now, now.now); tasks],
        };
        run.take_over(plan);
        run
    }

    /// Copies, finished and running tasks as they are; the rest in the queues of the plan.
    fn take_over(&mut self, plan: &'a Plan) {
        let workflow = self.problem.workflow();
        for (rank, assignment) in plan.assignments.iter().enumerate() {
            self.procs[assignment.task.index()] = &assignment.procs;
            self.rank[assignment.task.index()] = rank as u32;
        }
        for task in workflow.tasks() {
            match self.now.task(task) {
                TaskState::Done(placement) => {
                    self.done[task.index()] = true;
                    self.host[task.index()] = self.problem.host_of(placement.proc()).0;
                    continue;
                }
                TaskState::Running { procs, .. }
                    if self.procs[task.index()].is_empty()
                        || self.procs[task.index()] == &procs[..] =>
                {
                    self.procs[task.index()] = procs;
                    let seconds = self.seconds(task) * (1.0 - self.now.progress[task.index()]);
                    self.begin(task, seconds);
                }
                _ => {}
            }
            self.left += 1;
            if let Some(&first) = self.procs[task.index()].first() {
                self.host[task.index()] = self.problem.host_of(first).0;
            }
        }
        for file in workflow.files() {
            for copy in &self.now.copies[file.index()] {
                // Spread copies only come from plans over several hosts, which it never makes.
                let host = copy.holders.host().and_then(|place| self.now.living_host(place));
                let Some(host) = host else { continue };
                if copy.is_complete() {
                    self.add_copy(file, host, true);
                } else if let Some(from) = copy.from.as_ref().and_then(Holders::host)
                    && workflow.consumers(file).any(|c| self.reads_at(c, host))
                {
                    let bytes = workflow.file_bytes(file) * (1.0 - copy.fraction);
                    let entry = self.add_copy(file, host, false);
                    self.send(entry, bytes, from, host);
                }
            }
        }
        for task in workflow.tasks().filter(|t| !self.done[t.index()]) {
            let host = HostId(self.host[task.index()]);
            let parents = workflow.predecessors(task).filter(|(p, _)| !self.done[p.index()]);
            let inputs = workflow.inputs(task).filter(|&f| !self.has(f, host));
            self.lacks[task.index()] = (parents.count() + inputs.count()) as u32;
        }
        for assignment in &plan.assignments {
            let task = assignment.task;
            let running = self.procs[task.index()].first().is_some_and(|p| self.busy[p.index()])
                && matches!(self.now.task(task), TaskState::Running { .. })
                && self.now.task(task).procs() == Some(&assignment.procs[..]);
            if !self.done[task.index()] && !running {
                for proc in &assignment.procs {
                    self.queue[proc.index()].push_back(task);
                }
            }
        }
    }

    fn seconds(&self, task: TaskId) -> f64 {
        let procs = self.procs[task.index()];
        let Some(&first) = procs.first() else { return f64::INFINITY };
        self.problem.exec_wide(task, self.problem.class_of(first), procs.len() as u32)
    }

    fn begin(&mut self, task: TaskId, seconds: f64) {
        for proc in self.procs[task.index()] {
            self.busy[proc.index()] = true;
        }
        self.times[task.index()].0 = self.clock;
        if seconds.is_finite() {
            self.at(self.clock + seconds, End::Task(task));
        }
    }

    fn at(&mut self, date: f64, end: End) {
        self.sequence += 1;
        self.ends.push(Reverse((Date(date), self.sequence, end)));
    }

    fn add_copy(&mut self, file: FileId, host: HostId, complete: bool) -> u32 {
        let entry = self.copies.len() as u32;
        let next = std::mem::replace(&mut self.first_copy[file.index()], entry);
        let host = self.now.place_of(host);
        self.copies.push(Copy { file, host, complete, next });
        entry
    }

    /// Whether a task is planned for the place of a host.
    fn reads_at(&self, task: TaskId, host: HostId) -> bool {
        let own = self.host[task.index()];
        own != NONE && self.now.place_of(HostId(own)) == self.now.place_of(host)
    }

    fn copies_of(&self, file: FileId) -> impl Iterator<Item = &Copy> + '_ {
        let mut at = self.first_copy[file.index()];
        std::iter::from_fn(move || {
            let copy = self.copies.get(at as usize)?;
            at = copy.next;
            Some(copy)
        })
    }

    fn has(&self, file: FileId, host: HostId) -> bool {
        if host.0 == NONE {
            return false;
        }
        let place = self.now.place_of(host);
        (self.now.inputs_everywhere() && self.problem.workflow().producer(file).is_none())
            || self.copies_of(file).any(|c| c.host == place && c.complete)
    }

    /// Occupies the links of the route, in turn with what they were given before.
    fn send(&mut self, entry: u32, bytes: f64, from: HostId, to: HostId) {
        let network = &self.now.view.network;
        let seconds = network.transfer_time(bytes, from, to);
        if !seconds.is_finite() {
            return;
        }
        let mut start = self.clock;
        let platform = self.problem.platform();
        let route = match platform.network() {
            Network::Zones => self.routes.route(platform, from, to).ok(),
            Network::Matrix(_) => None,
        };
        if let Some(route) = route {
            for link in route.links {
                start = start.max(self.link_free[link.index()]);
            }
            // Present over nominal bandwidth of the way, for links wider than the narrowest.
            let nominal = route.bandwidth(platform.links());
            let pure = seconds - network.transfer_time(0.0, from, to);
            for link in route.links {
                let share = nominal / platform.link(*link).bandwidth;
                self.link_free[link.index()] = start + pure * share;
            }
        }
        self.at(start + seconds, End::Copy(entry));
    }

    fn finish(mut self, limit: f64) -> Forecast {
        for proc in 0..self.queue.len() {
            self.move_window(ProcId::new(proc));
        }
        if self.push {
            let mut open: Vec<TaskId> =
                self.problem.workflow().tasks().filter(|t| !self.done[t.index()]).collect();
            open.sort_by_key(|t| (self.rank[t.index()], *t));
            open.into_iter().for_each(|task| self.request(task));
        }
        for proc in 0..self.queue.len() {
            self.start_next(ProcId::new(proc));
        }
        let mut makespan = self.clock;
        while self.left > 0 {
            let next = self.ends.pop().filter(|Reverse((Date(date), ..))| *date <= limit);
            let Some(Reverse((Date(date), _, end))) = next else {
                makespan = f64::INFINITY;
                break;
            };
            self.clock = date;
            match end {
                End::Task(task) => {
                    makespan = date;
                    self.task_ends(task);
                }
                End::Copy(entry) => {
                    self.copies[entry as usize].complete = true;
                    let Copy { file, host, .. } = self.copies[entry as usize];
                    self.now_there(file, host);
                }
            }
        }
        Forecast { makespan, times: self.times }
    }

    fn task_ends(&mut self, task: TaskId) {
        self.left -= 1;
        self.done[task.index()] = true;
        self.times[task.index()].1 = self.clock;
        let workflow = self.problem.workflow();
        let host = HostId(self.host[task.index()]);
        for file in workflow.outputs(task) {
            // A task done again finds its earlier results still there.
            if !self.has(file, host) {
                self.add_copy(file, host, true);
                self.now_there(file, host);
            }
        }
        let procs = self.procs[task.index()];
        for proc in procs {
            self.busy[proc.index()] = false;
        }
        let mut asking: Vec<(u32, TaskId, EdgeId)> = Vec::new();
        for (child, edge) in workflow.successors(task) {
            if !self.done[child.index()] {
                self.lacks[child.index()] = self.lacks[child.index()].saturating_sub(1);
                if self.push || self.asks[child.index()] {
                    asking.push((self.rank[child.index()], child, edge));
                }
            }
        }
        asking.sort_unstable();
        for (_, child, edge) in asking {
            workflow.edge_files(edge).for_each(|file| self.request_file(child, file));
        }
        for &proc in procs {
            self.start_next(proc);
        }
        for (child, _) in workflow.successors(task) {
            self.start_of(child);
        }
    }

    /// A file has come to be on a host.
    fn now_there(&mut self, file: FileId, host: HostId) {
        for consumer in self.problem.workflow().consumers(file) {
            if self.reads_at(consumer, host) && !self.done[consumer.index()] {
                self.lacks[consumer.index()] = self.lacks[consumer.index()].saturating_sub(1);
                self.start_of(consumer);
            }
        }
    }

    /// The tasks that come to stand in the window ask for their inputs.
    fn move_window(&mut self, proc: ProcId) {
        if self.push {
            return;
        }
        for position in 0..self.window.min(self.queue[proc.index()].len()) {
            let task = self.queue[proc.index()][position];
            if !std::mem::replace(&mut self.asks[task.index()], true) {
                self.request(task);
            }
        }
    }

    fn request(&mut self, task: TaskId) {
        let workflow = self.problem.workflow();
        workflow.inputs(task).for_each(|file| self.request_file(task, file));
    }

    /// Brings an input to the host of its reader, unless it is there, on its way or not made yet.
    fn request_file(&mut self, task: TaskId, file: FileId) {
        let host = HostId(self.host[task.index()]);
        if host.0 == NONE
            || (self.now.inputs_everywhere() && self.problem.workflow().producer(file).is_none())
            || self.copies_of(file).any(|c| c.host == self.now.place_of(host))
        {
            return;
        }
        let seconds = |from| self.now.view.network.transfer_time(1.0, from, host);
        let sources = self.copies_of(file).filter(|c| c.complete).map(|c| c.host);
        let nearest = sources.min_by(|&a, &b| seconds(a).total_cmp(&seconds(b)).then(a.cmp(&b)));
        if let Some(from) = nearest {
            let entry = self.add_copy(file, host, false);
            self.send(entry, self.problem.workflow().file_bytes(file), from, host);
        }
    }

    fn start_of(&mut self, task: TaskId) {
        if let Some(&proc) = self.procs[task.index()].first() {
            self.start_next(proc);
        }
    }

    /// Starts the first task of a processor's queue if everything it needs is there.
    fn start_next(&mut self, proc: ProcId) {
        let Some(&task) = self.queue[proc.index()].front() else { return };
        let procs = self.procs[task.index()];
        let host = HostId(self.host[task.index()]);
        let free = procs
            .iter()
            .all(|p| !self.busy[p.index()] && self.queue[p.index()].front() == Some(&task));
        if !free || self.lacks[task.index()] > 0 || !self.now.is_alive(host) {
            return;
        }
        for proc in procs {
            self.queue[proc.index()].pop_front();
        }
        let seconds = self.seconds(task);
        self.begin(task, seconds);
        for &proc in procs {
            self.move_window(proc);
        }
    }
}
