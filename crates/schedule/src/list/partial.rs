//! A schedule in the making: when a task's data reaches each host, where it could start and
//! end, and the placing of it.

use super::Timeline;
use super::search::Idle;
use super::timeline::later;
use super::wide::Spans;
use crate::pools::{PoolUse, Refusals, Takes};
use slackline_model::problem::Staging;
use slackline_model::{EdgeId, HostId, Placement, Problem, ProcId, Schedule, TaskId, approx};

/// Processor and dates at which a task could run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slot {
    /// The processor; for wide tasks, the first processor of the host.
    pub proc: ProcId,
    /// Begin.
    pub start: f64,
    /// End.
    pub finish: f64,
}

impl Slot {
    /// Whether the task can run there at all.
    #[inline]
    pub fn possible(&self) -> bool {
        self.finish.is_finite()
    }
}

/// A schedule in the making over a problem.
#[derive(Clone)]
pub struct Partial<'a, 'p> {
    pub(super) problem: &'a Problem<'p>,
    pub(super) schedule: Schedule,
    pub(super) timelines: Vec<Timeline>,
    /// Per task: end and host, for the loops over parents.
    pub(super) finish: Vec<f64>,
    pub(super) host: Vec<u32>,
    /// Tasks with an input on several hosts: arrival needs the general rule. Empty where there are none.
    general: Vec<bool>,
    /// Clusters whose hosts are too narrow for some task; none where there are none.
    pub(super) spans: Option<Spans>,
    /// Inputs that leave the origin in turn; none where they are everywhere.
    staging: Option<Staging<'a, 'p>>,
    /// Use of limited pools over time; none where cores alone decide.
    pub(super) pools: Option<Box<PoolUse>>,
    /// Stretches without a start for a class of demands; none without pools of hosts.
    pub(super) refusals: Option<Box<Refusals>>,
    pub(super) idle: Vec<Idle>,
    pub(super) ready: Vec<f64>,
    /// When data from parents in other groups reaches each network group.
    outside: Vec<f64>,
    groups: Vec<GroupReady>,
    pub(super) row: Vec<f64>,
    /// By host: when a task in search could begin there, where that depends on pools.
    pub(super) promises: Vec<f64>,
}

pub(super) const UNPLACED: u32 = u32::MAX;

/// When data from parents inside a network group reaches its hosts: the latest arrival over the network,
/// the host it comes from, and the latest from any other host of the group.
#[derive(Clone, Copy)]
struct GroupReady {
    inside: f64,
    from: u32,
    inside_others: f64,
}

impl GroupReady {
    const NONE: GroupReady = GroupReady { inside: 0.0, from: UNPLACED, inside_others: 0.0 };

    /// Arrival over the network from a parent on another host of the group.
    #[inline]
    fn add_inside(&mut self, arrival: f64, host: u32) {
        if host == self.from {
            self.inside = self.inside.max(arrival);
        } else if arrival > self.inside {
            self.inside_others = self.inside;
            (self.inside, self.from) = (arrival, host);
        } else {
            self.inside_others = self.inside_others.max(arrival);
        }
    }
}

impl<'a, 'p> Partial<'a, 'p> {
    /// A partial schedule with only the tasks that are done or running in the problem; tasks may be inserted
    /// into the gaps between others.
    pub fn new(problem: &'a Problem<'p>) -> Self {
        let least = shortest_times(problem);
        Self::with_gaps(problem, |class| least[class])
    }

    /// A partial schedule without insertion: a task starts after all others on its processor.
    pub fn appending(problem: &'a Problem<'p>) -> Self {
        Self::with_gaps(problem, |_| f64::INFINITY)
    }

    /// Gaps shorter than `least(class)` are not kept.
    fn with_gaps(problem: &'a Problem<'p>, least: impl Fn(usize) -> f64) -> Self {
        let timelines = problem
            .proc_ids()
            .map(|p| Timeline::new(problem.available_from(p), least(problem.class_of(p))))
            .collect();
        let groups = problem.network().groups;
        let mut partial = Partial {
            problem,
            schedule: Schedule { placements: vec![None; problem.tasks()], ..Schedule::default() },
            timelines,
            finish: vec![0.0; problem.tasks()],
            host: vec![UNPLACED; problem.tasks()],
            general: Vec::new(),
            spans: Spans::new(problem),
            staging: Staging::new(problem),
            pools: PoolUse::with_running(problem).map(Box::new),
            refusals: None,
            idle: problem.platform().host_ids().map(|host| Idle::of(problem, host)).collect(),
            ready: vec![0.0; problem.platform().hosts().len()],
            outside: vec![0.0; groups],
            groups: vec![GroupReady::NONE; groups],
            row: Vec::new(),
            promises: Vec::new(),
        };
        partial.mark_general();
        partial.place_fixed();
        problem.platform().host_ids().for_each(|host| partial.renew_idle(host));
        let pools = partial.pools.as_ref();
        partial.refusals = pools.and_then(|pools| Refusals::new(problem, pools)).map(Box::new);
        partial
    }

    /// Places running tasks on their processors; finished ones only determine the location of their data.
    fn place_fixed(&mut self) {
        let (problem, now) = (self.problem, self.problem.state().now);
        let mut running: Vec<(f64, TaskId)> = Vec::new();
        for task in problem.workflow().tasks() {
            let Some(placement) = problem.state().fixed(task) else { continue };
            if placement.finish > now {
                running.push((placement.start, task));
            }
            self.record(task, placement.clone());
            // Transfers that have not begun cannot begin in the past.
            let finish = &mut self.finish[task.index()];
            *finish = finish.max(now);
        }
        running.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (_, task) in running {
            let Some(placement) = problem.state().fixed(task) else { continue };
            for proc in placement.procs() {
                let line = &mut self.timelines[proc.index()];
                if placement.finish > line.tail() {
                    line.occupy(line.tail(), placement.finish);
                }
            }
        }
    }

    /// Marks the readers of data that was copied, and of tasks that span hosts.
    fn mark_general(&mut self) {
        let (problem, workflow) = (self.problem, self.problem.workflow());
        let copied = problem.state().copies.iter().map(|copy| copy.file);
        let mut readers: Vec<TaskId> = copied
            .filter(|&file| workflow.producer(file).is_some())
            .flat_map(|file| workflow.consumers(file))
            .collect();
        for task in workflow.tasks() {
            let procs = problem.state().fixed(task).map_or(&[][..], Placement::procs);
            let may_span = |spans: &Spans| spans.may_span(problem, task);
            if procs.len() > 1 && problem.hosts_of(procs).len() > 1
                || self.spans.as_ref().is_some_and(may_span)
            {
                readers.extend(workflow.successors(task).map(|(child, _)| child));
            }
        }
        if !readers.is_empty() {
            self.general = vec![false; problem.tasks()];
            for task in readers {
                self.general[task.index()] = true;
            }
        }
    }

    fn renew_idle(&mut self, host: HostId) {
        let procs = self.problem.procs_of(host);
        let lines = &self.timelines[procs.start as usize..procs.end as usize];
        self.idle[host.index()].renew(lines);
    }

    /// Whether inputs leave the origin in turn.
    pub(super) fn has_staging(&self) -> bool {
        self.staging.is_some()
    }

    fn is_general(&self, task: TaskId) -> bool {
        !self.general.is_empty() && self.general[task.index()]
    }

    fn record(&mut self, task: TaskId, placement: Placement) {
        self.finish[task.index()] = placement.finish;
        self.host[task.index()] = self.problem.host_of(placement.proc()).0;
        self.schedule.place(task, placement);
    }

    /// The problem being planned.
    pub fn problem(&self) -> &'a Problem<'p> {
        self.problem
    }

    /// End of a placed task.
    #[inline]
    pub fn finish_of(&self, task: TaskId) -> f64 {
        self.finish[task.index()]
    }

    /// Host of a placed task.
    #[inline]
    pub fn host_of(&self, task: TaskId) -> Option<HostId> {
        let host = self.host[task.index()];
        (host != UNPLACED).then_some(HostId(host))
    }

    /// Processors and dates of a placed task.
    pub fn placement(&self, task: TaskId) -> Option<&Placement> {
        self.schedule.placement(task)
    }

    /// The idle time of a processor.
    #[inline]
    pub fn timeline(&self, proc: ProcId) -> &Timeline {
        &self.timelines[proc.index()]
    }

    /// When the data of all placed parents is on each host (the papers' DRT), and not before the
    /// task's release. Parents not yet placed are left out.
    pub fn data_ready(&mut self, task: TaskId) -> &[f64] {
        let release = self.problem.release(task);
        if self.is_general(task) {
            self.general_ready(task, release);
        } else {
            self.network_ready(task, release);
            self.local_ready(task);
        }
        if let Some(staging) = &mut self.staging
            && !self.problem.staged_inputs(task).is_empty()
        {
            for (ready, &staged) in self.ready.iter_mut().zip(staging.ready(task)) {
                *ready = later(*ready, staged);
            }
        }
        &self.ready
    }

    /// Arrival on every host as if all data came over the network from other hosts.
    fn network_ready(&mut self, task: TaskId, release: f64) {
        let network = self.problem.network();
        let workflow = self.problem.workflow();
        let release = release.max(self.controlled(task));
        self.outside.fill(release);
        self.groups.fill(GroupReady::NONE);
        for (parent, edge) in workflow.predecessors(task) {
            let host = self.host[parent.index()];
            if host == UNPLACED || workflow.is_control(edge) {
                continue;
            }
            let finish = self.finish[parent.index()];
            let payload = workflow.edge_payload(edge);
            let own = network.group_of[host as usize] as usize;
            let row = network.band(payload.largest) + own * network.groups;
            let inside = finish + network.seconds_at(row + own, payload);
            self.groups[own].add_inside(inside, host);
            if network.groups > 1 {
                let before = self.outside[own];
                network.each_in_row(row, payload, self.outside.iter_mut(), |outside, seconds| {
                    *outside = later(finish + seconds, *outside);
                });
                self.outside[own] = before;
            }
        }
        for (ready, &group) in self.ready.iter_mut().zip(&network.group_of) {
            *ready = later(self.outside[group as usize], self.groups[group as usize].inside);
        }
    }

    /// When the last of the placed parents ends that send no data.
    fn controlled(&self, task: TaskId) -> f64 {
        let workflow = self.problem.workflow();
        if !workflow.has_controls() {
            return 0.0;
        }
        let controls = workflow.predecessors(task).filter(|&(parent, edge)| {
            self.host[parent.index()] != UNPLACED && workflow.is_control(edge)
        });
        controls.map(|(parent, _)| self.finish[parent.index()]).fold(0.0, f64::max)
    }

    /// A host that ran a parent has that parent's data at once.
    fn local_ready(&mut self, task: TaskId) {
        let network = self.problem.network();
        let workflow = self.problem.workflow();
        for (parent, _) in workflow.predecessors(task) {
            let host = self.host[parent.index()];
            if host != UNPLACED {
                let at = network.group_of[host as usize] as usize;
                let group = &self.groups[at];
                let others = if group.from == host { group.inside_others } else { group.inside };
                self.ready[host as usize] = later(self.outside[at], others);
            }
        }
        for (parent, _) in workflow.predecessors(task) {
            let host = self.host[parent.index()];
            if host != UNPLACED {
                let ready = &mut self.ready[host as usize];
                *ready = ready.max(self.finish[parent.index()]);
            }
        }
    }

    /// The parent-by-parent form for data on several hosts.
    fn general_ready(&mut self, task: TaskId, release: f64) {
        let (problem, workflow) = (self.problem, self.problem.workflow());
        let mut ready = std::mem::take(&mut self.ready);
        ready.fill(release);
        for (parent, edge) in workflow.predecessors(task) {
            let Some(from) = self.host_of(parent) else { continue };
            let copied = |file| !problem.state().copies_of(file).is_empty();
            let alone = self.schedule.placement(parent).is_some_and(|p| p.procs().len() == 1);
            if alone && !workflow.edge_files(edge).any(copied) {
                let (finish, payload) = (self.finish[parent.index()], workflow.edge_payload(edge));
                for (host, ready) in ready.iter_mut().enumerate() {
                    let seconds = problem.payload_transfer(payload, from, HostId::new(host));
                    *ready = ready.max(finish + seconds);
                }
            } else if let Some(placement) = self.schedule.placement(parent) {
                let (finish, procs) = (self.finish[parent.index()], placement.procs());
                problem.edge_arrivals(edge, finish, procs, |host, arrival| {
                    let ready = &mut ready[host.index()];
                    *ready = later(arrival, *ready);
                });
            }
        }
        self.ready = ready;
    }

    /// When the data of all placed parents is on one host.
    fn arrival(&self, task: TaskId, host: HostId) -> f64 {
        let mut latest = 0.0f64;
        for (parent, edge) in self.problem.workflow().predecessors(task) {
            if self.host[parent.index()] != UNPLACED {
                latest = latest.max(self.edge_arrival(parent, edge, host));
            }
        }
        latest
    }

    /// When the data of one placed parent is on a host.
    #[inline]
    pub fn edge_arrival(&self, parent: TaskId, edge: EdgeId, host: HostId) -> f64 {
        let problem = self.problem;
        let finish = self.finish[parent.index()];
        if problem.workflow().is_control(edge) {
            return finish;
        }
        let payload = problem.workflow().edge_payload(edge);
        let from = HostId(self.host[parent.index()]);
        let simple = self.general.is_empty();
        let Some(placement) = self.schedule.placement(parent).filter(|_| !simple) else {
            return finish + problem.payload_transfer(payload, from, host);
        };
        let target = [ProcId(problem.procs_of(host).start)];
        problem.edge_arrival(edge, finish, placement.procs(), &target)
    }

    /// The slot of a task on one processor (a wide task: on its host), in time linear in its parents;
    /// [`Slot::possible`] is false if there is none.
    pub fn slot_on(&self, task: TaskId, proc: ProcId) -> Slot {
        self.slot_after(task, proc, self.ready_on(task, proc))
    }

    /// The slot of earliest finish on the processors of one host; of equal ones the lowest processor.
    pub(crate) fn slot_on_host(&self, task: TaskId, host: HostId) -> Option<Slot> {
        let problem = self.problem;
        let procs = problem.procs_of(host).map(ProcId);
        let first = procs.clone().next()?;
        let ready = self.ready_on(task, first);
        if problem.workflow().width(task).0 > 1 {
            return Some(self.slot_after(task, first, ready)).filter(Slot::possible);
        }
        let seconds = problem.exec_on(task, first);
        if seconds.is_infinite() || ready.is_infinite() {
            return None;
        }
        let mut takes = Takes::default();
        let mut from = ready;
        if let Some(pools) = &self.pools {
            pools.takes(problem, task, (host, 1, 1), &mut takes);
            from = pools.earliest(&takes, ready, seconds, |_| true);
        }
        let mut best: Option<Slot> = None;
        while from.is_finite() {
            let start = |proc: ProcId| self.timelines[proc.index()].earliest(from, seconds);
            best = procs
                .clone()
                .map(|proc| Slot { proc, start: start(proc), finish: start(proc) + seconds })
                .reduce(|a, b| if approx::lt(b.start, a.start) { b } else { a });
            let (Some(slot), Some(pools)) = (best, &self.pools) else { break };
            let room = pools.earliest(&takes, slot.start, seconds, |_| true);
            if room <= slot.start {
                break;
            }
            (from, best) = (room, None);
        }
        best.filter(Slot::possible)
    }

    /// When a task's data is on the host of one processor.
    pub(super) fn ready_on(&self, task: TaskId, proc: ProcId) -> f64 {
        let host = self.problem.host_of(proc);
        let ready = self.problem.release(task).max(self.arrival(task, host));
        self.staging.as_ref().map_or(ready, |staging| ready.max(staging.ready_on(task, host)))
    }

    /// The slot of the task whose data-ready times were looked up last.
    pub(super) fn known_slot(&self, task: TaskId, proc: ProcId) -> Slot {
        self.slot_after(task, proc, self.ready[self.problem.host_of(proc).index()])
    }

    /// The slot when the date its data is there is known.
    pub(super) fn slot_after(&self, task: TaskId, proc: ProcId, ready: f64) -> Slot {
        let earliest = |line: &Timeline, _: ProcId, ready, seconds| line.earliest(ready, seconds);
        self.slot_by(task, proc, ready, earliest)
    }

    /// The slot whose start is computed by `earliest(timeline, processor, ready, seconds)`.
    pub(super) fn slot_by(
        &self,
        task: TaskId,
        proc: ProcId,
        ready: f64,
        earliest: impl Fn(&Timeline, ProcId, f64, f64) -> f64,
    ) -> Slot {
        let problem = self.problem;
        let seconds = problem.exec_on(task, proc);
        let width = problem.workflow().width(task).0;
        if seconds.is_infinite() || ready.is_infinite() {
            return Slot { proc, start: f64::INFINITY, finish: f64::INFINITY };
        }
        let start = if width == 1 {
            let line = &self.timelines[proc.index()];
            match &self.pools {
                None => earliest(line, proc, ready, seconds),
                Some(pools) => {
                    let mut takes = Takes::default();
                    pools.takes(problem, task, (problem.host_of(proc), 1, 1), &mut takes);
                    beside(pools, &takes, (ready, seconds), |from| {
                        earliest(line, proc, from, seconds)
                    })
                }
            }
        } else {
            self.earliest_wide(task, problem.host_of(proc), (ready, seconds), &earliest)
        };
        Slot { proc, start, finish: start + seconds }
    }

    /// Puts a task into a slot, or as soon after it as its inputs are there: those of tasks placed
    /// since the slot was found go before them.
    pub fn place(&mut self, task: TaskId, slot: Slot) {
        let slot = self.send_inputs(task, slot);
        if self.problem.workflow().width(task).0 == 1 {
            self.timelines[slot.proc.index()].occupy(slot.start, slot.finish);
            self.renew_idle(self.problem.host_of(slot.proc));
            self.hold(task, &Placement::new(slot.proc, slot.start, slot.finish));
            return self.record(task, Placement::new(slot.proc, slot.start, slot.finish));
        }
        let procs =
            self.procs_in(task, slot, |line, _, start, seconds| line.earliest(start, seconds));
        for proc in &procs {
            self.timelines[proc.index()].occupy(slot.start, slot.finish);
        }
        for host in self.problem.hosts_of(&procs) {
            self.renew_idle(host);
        }
        let placement = Placement::wide(&procs, slot.start, slot.finish);
        self.hold(task, &placement);
        self.record(task, placement);
    }

    /// A placed task holds what it demands of limited pools.
    fn hold(&mut self, task: TaskId, placement: &Placement) {
        if let Some(pools) = &mut self.pools {
            pools.hold(self.problem, task, placement);
            if let Some(refusals) = &mut self.refusals {
                refusals.placed(self.problem, pools, task, placement);
            }
        }
    }

    fn send_inputs(&mut self, task: TaskId, slot: Slot) -> Slot {
        let Some(staging) = &mut self.staging else { return slot };
        // What goes to several hosts leaves by none of the lanes that are kept.
        let spans = self.spans.as_ref();
        let host = self.problem.host_of(slot.proc);
        if self.problem.staged_inputs(task).is_empty()
            || spans.is_some_and(|spans| spans.over(self.problem, task, host).is_some())
        {
            return slot;
        }
        let ready = staging.send(task, host);
        if approx::lt(slot.start, ready) { self.slot_after(task, slot.proc, ready) } else { slot }
    }

    /// The finished schedule.
    pub fn into_schedule(mut self) -> Schedule {
        if let Some(staging) = self.staging {
            self.schedule.transfers.extend(staging.into_transfers());
        }
        self.schedule
    }
}

/// The earliest date at which both processors and pools have room; `earliest` computes it for processors, from
/// a date on.
pub(super) fn beside(
    pools: &PoolUse,
    takes: &Takes,
    (ready, seconds): (f64, f64),
    earliest: impl Fn(f64) -> f64,
) -> f64 {
    let mut from = ready;
    loop {
        let start = earliest(from);
        if start.is_infinite() {
            return start;
        }
        let room = pools.earliest(takes, start, seconds, |_| true);
        // Each iteration moves to a later end of some task, so this ends.
        if room <= start || room.is_infinite() {
            return room;
        }
        from = room;
    }
}

/// Least execution time of any task per cost class.
fn shortest_times(problem: &Problem<'_>) -> Vec<f64> {
    let mut least = vec![f64::INFINITY; problem.classes()];
    let mut row = Vec::new();
    let open = |t: &TaskId| problem.state().fixed(*t).is_none();
    for task in problem.workflow().tasks().filter(open) {
        for (least, &seconds) in least.iter_mut().zip(problem.exec_row(task, &mut row)) {
            *least = least.min(seconds);
        }
    }
    least
}
