//! Forecast of a plan's makespan if nothing changes any more: a quick forward run of the engine's own rules (queues in
//! order, inputs pulled through a window or pushed) over links that transfers share ([`Links`]). Planners assume that
//! transfers never meet; on a busy network that is wrong by a factor of several, and choosing between plans needs
//! better. O((v + transfers) log v). Pools serve in planned order, as in the run (`turns`).
mod turns;

use crate::policy::{Assignment, Plan, Transfers};
use crate::situation::{FileCopy, Situation, TaskState};
use slackline_model::{EdgeId, FileId, HostId, LinkId, Problem, ProcId, TaskId, approx};
use slackline_schedule::contention::{Begun, Date, Known, Links};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::ops::Range;
use turns::Turns;

/// Present state of a run, and the levels expected later.
#[derive(Clone, Copy)]
pub struct Future<'a, 'p> {
    /// The unfinished rest at the levels of now.
    pub problem: &'a Problem<'p>,
    /// Present state.
    pub now: &'a Situation,
    /// From a date on: the same tasks at other levels.
    pub later: Option<(f64, &'a Problem<'p>)>,
}

impl<'a, 'p> Future<'a, 'p> {
    /// Everything stays as it is.
    pub fn lasting(problem: &'a Problem<'p>, now: &'a Situation) -> Self {
        Future { problem, now, later: None }
    }
}

/// When a part of something is done that begins at a date, if the whole takes so many seconds now and so many
/// from another date on.
fn end_of(start: f64, part: f64, seconds: f64, later: Option<(f64, f64)>) -> f64 {
    let end = start + part * seconds;
    match later {
        Some((date, _)) if end <= date => end,
        Some((date, later)) if start < date => {
            let left = part * (1.0 - (date - start) / (end - start));
            date + left * later
        }
        Some((_, later)) => start + part * later,
        None => end,
    }
}

/// Makes forecasts; keeps the routes found so far.
#[derive(Default)]
pub struct Forecaster {
    pub(super) links: Known,
}

/// Forecast of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// When the last task would end; infinite when some task never would, or not before the
    /// limit that was given.
    pub makespan: f64,
    /// Per task: begin and end; not before now for what is done or runs.
    pub times: Vec<(f64, f64)>,
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Task(TaskId),
    /// Entry of the list of copies.
    Copy(u32),
    /// A transfer that a link holds back.
    Transfer(LinkId),
    /// The next input may leave the origin over this link.
    Turn(LinkId),
    /// A leased machine can compute.
    Ready(HostId),
    /// A window opens for a task.
    Opens(TaskId),
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

/// When something happens; what was put on the agenda first comes first.
type When = (Date, u64);

/// When the next transfers end that links hold back: a tournament, because these dates change all the time.
struct Due {
    /// Per link.
    dates: Vec<When>,
    /// Of each pair of links, of pairs, and so on: whose date comes first. The last is at 1.
    first: Vec<u32>,
}

impl Due {
    const NEVER: When = (Date(f64::INFINITY), u64::MAX);

    fn new(links: usize) -> Due {
        let leaves = links.next_power_of_two();
        let mut due = Due { dates: vec![Due::NEVER; leaves], first: vec![0; leaves] };
        (1..leaves).rev().for_each(|at| due.first[at] = due.winner(2 * at));
        due
    }

    /// Winner of a part of the tournament.
    #[inline]
    fn winner(&self, at: usize) -> u32 {
        let leaves = self.dates.len();
        if at < leaves { self.first[at] } else { (at - leaves) as u32 }
    }

    fn set(&mut self, link: LinkId, when: When) {
        self.dates[link.index()] = when;
        let mut at = (self.dates.len() + link.index()) / 2;
        while at > 0 {
            let (a, b) = (self.winner(2 * at), self.winner(2 * at + 1));
            let (x, y) = (self.dates[a as usize], self.dates[b as usize]);
            let first = if y.0.0 < x.0.0 || (y.0 == x.0 && y.1 < x.1) { b } else { a };
            // Where another was first and still is nothing changes further on.
            if std::mem::replace(&mut self.first[at], first) == first && first != link.0 {
                break;
            }
            at /= 2;
        }
    }

    /// The link whose date comes first, and that date.
    #[inline]
    fn first(&self) -> (LinkId, When) {
        let link = self.winner(1);
        (LinkId(link), self.dates[link as usize])
    }
}

/// A task on the way through a forecast.
#[derive(Clone, Copy)]
struct ForecastTask<'a> {
    procs: &'a [ProcId],
    /// Seconds there, at the levels of now and later.
    seconds: (f64, f64),
    /// With a limit: the least time from its end to that of the plan, for any end, and for one at later levels.
    /// levels.
    tail: (f64, f64),
    host: u32,
    /// Its place in the plan.
    rank: u32,
    /// Parents not done and inputs not on its host.
    lacks: u32,
    done: bool,
    asks: bool,
}

impl ForecastTask<'_> {
    const UNKNOWN: ForecastTask<'static> = ForecastTask {
        procs: &[],
        seconds: (f64::INFINITY, f64::INFINITY),
        tail: (0.0, 0.0),
        host: NONE,
        rank: NONE,
        lacks: 0,
        done: false,
        asks: false,
    };
}

/// The tasks that wait for each processor, in order, one processor behind the other.
#[derive(Default)]
struct Queues {
    tasks: Vec<TaskId>,
    /// Per processor: what of these still waits.
    waits: Vec<Range<u32>>,
}

impl Queues {
    fn of(&self, proc: ProcId) -> &[TaskId] {
        let Range { start, end } = self.waits[proc.index()];
        &self.tasks[start as usize..end as usize]
    }

    #[inline]
    fn front(&self, proc: ProcId) -> Option<TaskId> {
        let Range { start, end } = self.waits[proc.index()];
        (start < end).then(|| self.tasks[start as usize])
    }
}

struct Run<'a, 'p> {
    problem: &'a Problem<'p>,
    now: &'a Situation,
    later: Option<(f64, &'a Problem<'p>)>,
    links: Links<'a>,
    push: bool,
    window: usize,
    clock: f64,
    ends: BinaryHeap<Reverse<(When, End)>>,
    due: Due,
    sequence: u64,
    jobs: Vec<ForecastTask<'a>>,
    queues: Queues,
    limit: f64,
    /// The plan cannot end before the limit.
    hopeless: bool,
    busy: Vec<bool>,
    /// Order of tasks in pools; none where processors alone decide.
    turns: Option<Turns>,
    /// Per host: when it can compute, where some have to be leased first.
    ready: Vec<f64>,
    first_copy: Vec<u32>,
    copies: Vec<Copy>,
    /// Inputs that leave the origin in turn under a plan that pushes, per link on which they queue.
    staged: BTreeMap<LinkId, VecDeque<(TaskId, FileId)>>,
    left: usize,
    times: Vec<(f64, f64)>,
    /// Tasks that ask for a finished task's data; empty in between.
    asking: Vec<(u32, TaskId, EdgeId)>,
}

impl Forecaster {
    /// Follows `plan` from now on, at most to the date `limit`.
    pub fn follow(&mut self, future: &Future<'_, '_>, plan: &Plan, limit: f64) -> Forecast {
        Run::new(future, &mut self.links, plan, limit).finish(plan)
    }
}

impl<'a, 'p> Run<'a, 'p> {
    fn new(future: &Future<'a, 'p>, links: &'a mut Known, plan: &'a Plan, limit: f64) -> Self {
        let Future { problem, now, later } = *future;
        let workflow = problem.workflow();
        let tasks = workflow.len();
        let (push, window) = match plan.transfers {
            Transfers::Push => (true, usize::MAX),
            Transfers::Pull { window } => (false, window.max(1) as usize),
        };
        let mut run = Run {
            problem,
            now,
            later,
            links: Links::new(problem.platform(), now.contention, links, now.now),
            push,
            window,
            clock: now.now,
            ends: BinaryHeap::new(),
            due: Due::new(problem.platform().links().len()),
            sequence: 0,
            jobs: vec![ForecastTask::UNKNOWN; tasks],
            queues: Queues::default(),
            limit,
            hopeless: false,
            busy: vec![false; problem.procs()],
            turns: None,
            ready: leased_from(now, plan),
            first_copy: vec![NONE; workflow.file_count()],
            copies: Vec::with_capacity(workflow.file_count()),
            staged: BTreeMap::new(),
            left: 0,
            times: vec![(now.now, now.now); tasks],
            asking: Vec::new(),
        };
        run.take_over(plan);
        run
    }

    /// Copies, finished and running tasks as they are; the rest in the queues of the plan.
    fn take_over(&mut self, plan: &'a Plan) {
        let workflow = self.problem.workflow();
        for (rank, assignment) in plan.assignments.iter().enumerate() {
            let job = &mut self.jobs[assignment.task.index()];
            (job.procs, job.rank) = (&assignment.procs, rank as u32);
        }
        self.turns = Turns::new(self.now, plan, |task| match self.now.task(task) {
            TaskState::Done(_) => &[],
            TaskState::Running { procs, .. } if self.stays(task, procs) => procs,
            _ => self.jobs[task.index()].procs,
        });
        for task in workflow.tasks() {
            let at = task.index();
            let state = self.now.task(task);
            if let TaskState::Done(placement) = state {
                self.jobs[at].done = true;
                self.jobs[at].host = self.problem.host_of(placement.proc()).0;
                continue;
            }
            let running = match state {
                TaskState::Running { procs, .. } => Some(&procs[..]),
                _ => None,
            };
            let goes_on = running.filter(|&procs| self.stays(task, procs));
            let planned = self.jobs[at].procs;
            let procs = goes_on.unwrap_or(planned);
            let seconds = self.seconds_of(task, procs);
            let job = &mut self.jobs[at];
            (job.procs, job.seconds) = (procs, seconds);
            if goes_on.is_some() {
                self.begin(task, 1.0 - self.now.progress[at]);
            }
            self.left += 1;
            if let Some(&first) = procs.first() {
                self.jobs[at].host = self.problem.host_of(first).0;
            }
        }
        let mut under_way = Vec::new();
        for file in workflow.files() {
            for copy in &self.now.copies[file.index()] {
                // What is on several hosts is taken to lie on the first, where tasks over several are
                // taken to read.
                let first = copy.holders.hosts().first();
                let whole = self.now.is_reachable(&copy.holders);
                let host = first.filter(|_| whole).and_then(|&place| self.now.living_host(place));
                let Some(host) = host else { continue };
                if copy.is_complete() {
                    self.add_copy(file, host, true);
                } else if let Some(from) =
                    copy.from.as_ref().and_then(|from| from.hosts().first().copied())
                    && workflow.consumers(file).any(|c| self.reads_at(c, host))
                {
                    under_way.push((file, copy, (from, host)));
                }
            }
        }
        under_way.sort_by_key(|(_, copy, _)| copy.turn);
        for (file, &FileCopy { fraction, .. }, (from, to)) in under_way {
            let bytes = workflow.file_bytes(file) * (1.0 - fraction);
            let entry = self.add_copy(file, to, false);
            // What has begun to arrive has its latency behind it, the rest on average half.
            let latency = if fraction > 0.0 { 0.0 } else { 0.5 };
            self.send(entry, bytes, (from, to), latency);
        }
        for task in workflow.tasks() {
            let ForecastTask { done, host, .. } = self.jobs[task.index()];
            if done {
                continue;
            }
            let host = HostId(host);
            let parents = workflow.predecessors(task).filter(|(p, _)| !self.is_done(*p));
            let inputs = workflow.inputs(task).filter(|&f| !self.has(f, host));
            self.jobs[task.index()].lacks = (parents.count() + inputs.count()) as u32;
        }
        self.fill_queues(plan);
    }

    /// Lets what has not begun wait for its processors.
    fn fill_queues(&mut self, plan: &Plan) {
        let waits = |a: &&Assignment| !self.is_done(a.task) && !self.goes_on(a);
        let waiting: Vec<&Assignment> = plan.assignments.iter().filter(waits).collect();
        let mut lengths = vec![0; self.problem.procs()];
        let seats =
            || waiting.iter().flat_map(|a| a.procs.iter().map(move |p| (p.index(), a.task)));
        seats().for_each(|(proc, _)| lengths[proc] += 1);
        let mut start = 0;
        let empty = lengths.into_iter().map(|length| {
            start += length;
            start - length..start - length
        });
        self.queues.waits = empty.collect();
        self.queues.tasks = vec![TaskId(NONE); start as usize];
        for (proc, task) in seats() {
            let end = &mut self.queues.waits[proc].end;
            self.queues.tasks[*end as usize] = task;
            *end += 1;
        }
    }

    fn is_done(&self, task: TaskId) -> bool {
        self.jobs[task.index()].done
    }

    /// Whether the plan leaves a task that runs where it is.
    fn stays(&self, task: TaskId, procs: &[ProcId]) -> bool {
        let planned = self.jobs[task.index()].procs;
        planned.is_empty() || planned == procs
    }

    /// Whether a task runs where the plan has it.
    fn goes_on(&self, assignment: &Assignment) -> bool {
        let state = self.now.task(assignment.task);
        assignment.procs.first().is_some_and(|p| self.busy[p.index()])
            && matches!(state, TaskState::Running { .. })
            && state.procs() == Some(&assignment.procs[..])
    }

    /// Seconds of a task on its processors, now and later.
    fn seconds_of(&self, task: TaskId, procs: &[ProcId]) -> (f64, f64) {
        // The parts of a task over several hosts wait for the slowest; one whose likes could not hold the
        // task alone has no time of its own.
        let seconds = |problem: &Problem<'_>| {
            let on = |&p: &ProcId| problem.exec_wide(task, problem.class_of(p), procs.len() as u32);
            let slowest = procs.iter().map(on).filter(|s| s.is_finite()).reduce(f64::max);
            slowest.unwrap_or(f64::INFINITY)
        };
        let now = seconds(self.problem);
        (now, self.later.map_or(now, |(_, later)| seconds(later)))
    }

    /// Measures what comes after each task: its children and what is behind it in its queues, as if inputs
    /// took no time. What is ahead of its parents in the plan counts too little.
    fn measure_tails(&mut self, plan: &Plan) {
        let workflow = self.problem.workflow();
        let mut behind = vec![(0.0, 0.0); self.busy.len()];
        let longer = |a: (f64, f64), b: (f64, f64)| (f64::max(a.0, b.0), f64::max(a.1, b.1));
        let with = |run: &Self, task: TaskId| {
            let ForecastTask { seconds: (now, later), tail, .. } = run.jobs[task.index()];
            (now.min(later) + tail.0, later + tail.1)
        };
        for assignment in plan.assignments.iter().rev() {
            let Assignment { task, procs } = assignment;
            if self.is_done(*task) {
                continue;
            }
            let open = workflow.successors(*task).map(|(child, _)| child);
            let open = open.filter(|child| !self.is_done(*child));
            let tail = open.map(|child| with(self, child)).fold((0.0, 0.0), longer);
            let queued = procs.iter().map(|proc| behind[proc.index()]);
            self.jobs[task.index()].tail = queued.fold(tail, longer);
            // Running tasks are not behind others.
            if !self.goes_on(assignment) {
                let all = with(self, *task);
                procs.iter().for_each(|proc| behind[proc.index()] = all);
            }
        }
        let most = behind.into_iter().map(|(least, _)| least).fold(0.0, f64::max);
        self.hopeless = approx::lt(self.limit, self.clock + most);
    }

    fn begin(&mut self, task: TaskId, part: f64) {
        let ForecastTask { procs, seconds: (now, later), tail, .. } = self.jobs[task.index()];
        for proc in procs {
            self.busy[proc.index()] = true;
        }
        self.times[task.index()].0 = self.clock;
        if let Some(turns) = &mut self.turns {
            turns.take(task);
        }
        let later = self.later.map(|(date, _)| (date, later));
        let end = end_of(self.clock, part, now, later);
        let tail = if later.is_some_and(|(date, _)| end >= date) { tail.1 } else { tail.0 };
        self.hopeless |= approx::lt(self.limit, end + tail);
        if end.is_finite() {
            self.at(end, End::Task(task));
        }
    }

    fn at(&mut self, date: f64, end: End) {
        self.sequence += 1;
        self.ends.push(Reverse(((Date(date), self.sequence), end)));
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
        let own = self.jobs[task.index()].host;
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

    /// Lets a transfer begin that has this share of its latency before it.
    fn send(&mut self, entry: u32, bytes: f64, (from, to): (HostId, HostId), ahead: f64) {
        let network = match self.later {
            Some((date, later)) if self.clock >= date => later.network(),
            _ => self.problem.network(),
        };
        let (latency, seconds) = network.transfer_times(bytes, from, to);
        let times = (ahead * latency, seconds - latency);
        match self.links.begin(entry, (from, to), times, self.clock) {
            Begun::Arrives(date) => self.at(date, End::Copy(entry)),
            Begun::Shares => self.hear(),
            Begun::Never => {}
        }
    }

    /// Puts what links have announced on the agenda.
    fn hear(&mut self) {
        while let Some((date, link)) = self.links.announced.pop() {
            self.sequence += 1;
            self.due.set(link, (Date(date), self.sequence));
        }
    }

    /// Next event.
    fn next(&mut self) -> Option<(f64, End)> {
        let (link, when) = self.due.first();
        if self.ends.peek().is_none_or(|Reverse((other, _))| when < *other) {
            return when.0.0.is_finite().then_some((when.0.0, End::Transfer(link)));
        }
        self.ends.pop().map(|Reverse(((Date(date), _), end))| (date, end))
    }

    fn finish(mut self, plan: &Plan) -> Forecast {
        if self.limit.is_finite() {
            self.measure_tails(plan);
        }
        if !self.hopeless {
            self.begin_all(plan);
        }
        let mut makespan = self.clock;
        while self.left > 0 {
            let next = if self.hopeless { None } else { self.next() };
            let Some((date, end)) = next.filter(|(date, _)| *date <= self.limit) else {
                makespan = f64::INFINITY;
                break;
            };
            self.clock = date;
            match end {
                End::Task(task) => {
                    makespan = date;
                    self.task_ends(task);
                }
                End::Turn(lane) => self.next_turn(lane),
                End::Opens(task) => self.start_of(task),
                End::Ready(host) => {
                    let procs = self.problem.procs_of(host).map(ProcId);
                    procs.for_each(|proc| self.start_next(proc));
                }
                End::Transfer(link) => {
                    if let Some((entry, date)) = self.links.end(link, self.clock) {
                        self.at(date, End::Copy(entry));
                        self.hear();
                    }
                }
                End::Copy(entry) => {
                    self.copies[entry as usize].complete = true;
                    let Copy { file, host, .. } = self.copies[entry as usize];
                    self.now_there(file, host);
                }
            }
            self.wake();
        }
        Forecast { makespan, times: self.times }
    }

    /// Starts the transfers and tasks that are under way or ready.
    fn begin_all(&mut self, plan: &Plan) {
        let procs = 0..self.busy.len();
        procs.clone().for_each(|proc| self.move_window(ProcId::new(proc)));
        if self.push {
            self.push_all(plan);
        }
        procs.for_each(|proc| self.start_next(ProcId::new(proc)));
        self.wake();
        for host in 0..self.ready.len() {
            if self.ready[host] > self.clock {
                self.at(self.ready[host], End::Ready(HostId::new(host)));
            }
        }
    }

    /// Sends what exists to those who will read it; inputs leave the origin in the order of the
    /// plan, the next when the link on which they queue has had time for those before.
    fn push_all(&mut self, plan: &Plan) {
        let workflow = self.problem.workflow();
        let mut open: Vec<TaskId> = workflow.tasks().filter(|t| !self.is_done(*t)).collect();
        open.sort_by_key(|t| (self.jobs[t.index()].rank, *t));
        let Some(lanes) = &self.now.lanes else {
            return open.into_iter().for_each(|task| self.request(task));
        };
        let sources = plan.sources.iter().enumerate();
        let order: HashMap<(FileId, HostId), usize> =
            sources.map(|(at, s)| ((s.file, s.to), at)).collect();
        let mut staged: Vec<(usize, LinkId, TaskId, FileId)> = Vec::new();
        for task in open {
            let host = HostId(self.jobs[task.index()].host);
            for file in workflow.inputs(task) {
                let lane = (host.0 != NONE && workflow.producer(file).is_none())
                    .then(|| lanes.lane(host))
                    .flatten();
                match lane {
                    Some(lane) => {
                        let at = order.get(&(file, host)).copied().unwrap_or(usize::MAX);
                        staged.push((at, lane, task, file));
                    }
                    None => self.request_file(task, file),
                }
            }
        }
        staged.sort_by_key(|s| s.0); // stable: the rest in the order of the tasks
        for (_, lane, task, file) in staged {
            self.staged.entry(lane).or_default().push_back((task, file));
        }
        let lanes: Vec<LinkId> = self.staged.keys().copied().collect();
        lanes.into_iter().for_each(|lane| self.next_turn(lane));
    }

    /// Lets inputs leave until the link is busy.
    fn next_turn(&mut self, lane: LinkId) {
        let Some(lanes) = &self.now.lanes else { return };
        while let Some((task, file)) = self.staged.get_mut(&lane).and_then(VecDeque::pop_front) {
            let known = self.copies.len();
            self.request_file(task, file);
            if self.copies.len() > known {
                let seconds = self.problem.workflow().file_bytes(file) / lanes.rate(lane);
                return self.at(self.clock + seconds, End::Turn(lane));
            }
        }
    }

    fn task_ends(&mut self, task: TaskId) {
        self.left -= 1;
        self.times[task.index()].1 = self.clock;
        let workflow = self.problem.workflow();
        let job = &mut self.jobs[task.index()];
        job.done = true;
        let (host, procs) = (HostId(job.host), job.procs);
        for file in workflow.outputs(task) {
            // A task done again finds its earlier results still there.
            if !self.has(file, host) {
                self.add_copy(file, host, true);
                self.now_there(file, host);
            }
        }
        for proc in procs {
            self.busy[proc.index()] = false;
        }
        if let Some(turns) = &mut self.turns {
            turns.give_back(task);
        }
        let mut asking = std::mem::take(&mut self.asking);
        for (child, edge) in workflow.successors(task) {
            let job = &mut self.jobs[child.index()];
            if !job.done {
                job.lacks = job.lacks.saturating_sub(1);
                if self.push || job.asks {
                    asking.push((job.rank, child, edge));
                }
            }
        }
        asking.sort_unstable();
        for (_, child, edge) in asking.drain(..) {
            workflow.edge_files(edge).for_each(|file| self.request_file(child, file));
        }
        self.asking = asking;
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
            if self.reads_at(consumer, host) && !self.is_done(consumer) {
                let lacks = &mut self.jobs[consumer.index()].lacks;
                *lacks = lacks.saturating_sub(1);
                self.start_of(consumer);
            }
        }
    }

    /// The tasks that come to stand in the window ask for their inputs.
    fn move_window(&mut self, proc: ProcId) {
        if self.push {
            return;
        }
        for position in 0..self.window.min(self.queues.of(proc).len()) {
            let task = self.queues.of(proc)[position];
            if !std::mem::replace(&mut self.jobs[task.index()].asks, true) {
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
        let host = HostId(self.jobs[task.index()].host);
        if host.0 == NONE
            || (self.now.inputs_everywhere() && self.problem.workflow().producer(file).is_none())
            || self.copies_of(file).any(|c| c.host == self.now.place_of(host))
        {
            return;
        }
        let seconds = |from| self.problem.network().transfer_time(1.0, from, host);
        let sources = self.copies_of(file).filter(|c| c.complete).map(|c| c.host);
        let nearest = sources.min_by(|&a, &b| seconds(a).total_cmp(&seconds(b)).then(a.cmp(&b)));
        if let Some(from) = nearest {
            let entry = self.add_copy(file, host, false);
            self.send(entry, self.problem.workflow().file_bytes(file), (from, host), 1.0);
        }
    }

    /// Starts the next task of each changed pool if it can start, then those behind it.
    fn wake(&mut self) {
        while let Some(task) = self.turns.as_mut().and_then(|turns| turns.waking.pop()) {
            self.start_of(task);
        }
    }

    /// Whether pools and windows let a task in; else it is asked again when they might.
    fn is_let_in(&mut self, task: TaskId, procs: &[ProcId], seconds: f64) -> bool {
        let Some(turns) = &mut self.turns else { return true };
        if !turns.may_take(task) {
            return false;
        }
        let opens = turns.opens(self.now, procs, self.clock, seconds);
        if approx::gt(opens, self.clock) {
            if opens.is_finite() {
                self.at(opens, End::Opens(task));
            }
            return false;
        }
        true
    }

    fn start_of(&mut self, task: TaskId) {
        if let Some(&proc) = self.jobs[task.index()].procs.first() {
            self.start_next(proc);
        }
    }

    /// Starts the first task of a processor's queue if everything it needs is there.
    fn start_next(&mut self, proc: ProcId) {
        let Some(task) = self.queues.front(proc) else { return };
        let ForecastTask { procs, host, lacks, seconds, .. } = self.jobs[task.index()];
        if lacks > 0 {
            return;
        }
        let host = HostId(host);
        let free = |p: &ProcId| !self.busy[p.index()] && self.queues.front(*p) == Some(task);
        let ready = self.ready.get(host.index()).is_none_or(|&date| date <= self.clock);
        if !ready || !procs.iter().all(free) || !self.now.is_alive(host) {
            return;
        }
        let now = self.later.is_none_or(|(date, _)| self.clock < date);
        if !self.is_let_in(task, procs, if now { seconds.0 } else { seconds.1 }) {
            return;
        }
        for proc in procs {
            self.queues.waits[proc.index()].start += 1;
        }
        self.begin(task, 1.0);
        for &proc in procs {
            self.move_window(proc);
        }
    }
}

/// Per host: when it can compute if this plan is followed; empty where nothing is leased. The first
/// lease of a machine counts: those after it are ordered in time.
fn leased_from(now: &Situation, plan: &Plan) -> Vec<f64> {
    let platform = &now.platform;
    if !platform.has_leasable() {
        return Vec::new();
    }
    let ready = |host: HostId| {
        let soonest = now.now + now.seconds_to_lease(host);
        let open = now.leases.iter().any(|l| l.host == host && l.is_open());
        let planned = plan.leases.iter().filter(|l| l.host == host).map(|l| l.from);
        let first = planned.fold(f64::INFINITY, f64::min);
        if open || first.is_infinite() { soonest } else { soonest.max(first) }
    };
    platform.host_ids().map(ready).collect()
}
