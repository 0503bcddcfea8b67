//! A schedule in the making: when a task's data reaches each host, where it could start and
//! end, and the placing of it.

use super::Timeline;
use crate::registry::PlanError;
use slackline_model::{EdgeId, HostId, Placement, Problem, ProcId, Schedule, TaskId, approx};

/// Where and when a task could run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slot {
    /// The processor; for wide tasks, the first processor of the host.
    pub proc: ProcId,
    /// Begin.
    pub start: f64,
    /// End.
    pub finish: f64,
}

/// A schedule in the making over a problem.
#[derive(Clone)]
pub struct Partial<'a, 'p> {
    problem: &'a Problem<'p>,
    schedule: Schedule,
    timelines: Vec<Timeline>,
    /// Per task: end and host, for the loops over parents.
    finish: Vec<f64>,
    host: Vec<u32>,
    /// Copies of data, or finished tasks that span hosts: arrival needs the general rule.
    general: bool,
    ready: Vec<f64>,
    by_group: Vec<f64>,
    row: Vec<f64>,
}

const UNPLACED: u32 = u32::MAX;

impl<'a, 'p> Partial<'a, 'p> {
    /// Nothing placed but what the problem says is done or running.
    pub fn new(problem: &'a Problem<'p>) -> Self {
        let least = shortest_times(problem);
        let timelines = problem
            .proc_ids()
            .map(|p| Timeline::new(problem.available_from(p), least[problem.class_of(p)]))
            .collect();
        let mut partial = Partial {
            problem,
            schedule: Schedule { placements: vec![None; problem.tasks()], ..Schedule::default() },
            timelines,
            finish: vec![0.0; problem.tasks()],
            host: vec![UNPLACED; problem.tasks()],
            general: !problem.state().copies.is_empty(),
            ready: vec![0.0; problem.platform().hosts().len()],
            by_group: vec![0.0; problem.network().groups],
            row: Vec::new(),
        };
        partial.place_fixed();
        partial
    }

    /// Running tasks hold their processors; finished ones only tell where their data is.
    fn place_fixed(&mut self) {
        let problem = self.problem;
        let mut fixed: Vec<(TaskId, Placement)> = problem
            .workflow()
            .tasks()
            .filter_map(|t| Some((t, problem.state().fixed(t)?.clone())))
            .collect();
        fixed.sort_by(|a, b| a.1.start.total_cmp(&b.1.start).then(a.0.cmp(&b.0)));
        for (task, placement) in fixed {
            for proc in placement.procs() {
                let line = &mut self.timelines[proc.index()];
                if placement.finish > line.tail() {
                    line.occupy(line.tail(), placement.finish);
                }
            }
            self.general |= problem.hosts_of(placement.procs()).len() > 1;
            self.record(task, placement);
            // Transfers that have not begun cannot begin in the past.
            let finish = &mut self.finish[task.index()];
            *finish = finish.max(problem.state().now);
        }
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

    /// The idle time of a processor.
    #[inline]
    pub fn timeline(&self, proc: ProcId) -> &Timeline {
        &self.timelines[proc.index()]
    }

    /// When the data of all placed parents is on each host (the papers' DRT), and not before the
    /// task's release. Parents not yet placed are left out.
    pub fn data_ready(&mut self, task: TaskId) -> &[f64] {
        let release = self.problem.release(task);
        let hosts = self.ready.len();
        if self.general {
            for host in 0..hosts {
                self.ready[host] = release.max(self.arrival(task, HostId::new(host)));
            }
            return &self.ready;
        }
        let network = self.problem.network();
        let workflow = self.problem.workflow();
        let groups = network.groups;
        self.by_group.fill(release);
        for (parent, edge) in workflow.predecessors(task) {
            let from = self.host[parent.index()];
            if from == UNPLACED {
                continue;
            }
            let finish = self.finish[parent.index()];
            let bytes = workflow.edge_bytes(edge);
            let row = network.group_of[from as usize] as usize * groups;
            let latency = &network.latency[row..row + groups];
            let bandwidth = &network.bandwidth[row..row + groups];
            for ((ready, latency), bandwidth) in
                self.by_group.iter_mut().zip(latency).zip(bandwidth)
            {
                *ready = ready.max(finish + (latency + bytes / bandwidth));
            }
        }
        for (ready, &group) in self.ready.iter_mut().zip(&network.group_of) {
            *ready = self.by_group[group as usize];
        }
        // A host that ran a parent has that parent's data at once: look at its parents again.
        let mut previous = UNPLACED;
        for (parent, _) in workflow.predecessors(task) {
            let host = self.host[parent.index()];
            if host != UNPLACED && host != previous {
                previous = host;
                self.ready[host as usize] = release.max(self.arrival(task, HostId(host)));
            }
        }
        &self.ready
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
        let bytes = problem.workflow().edge_bytes(edge);
        let finish = self.finish[parent.index()];
        let from = HostId(self.host[parent.index()]);
        if !self.general {
            return finish + problem.transfer(bytes, from, host);
        }
        let target = [ProcId(problem.procs_of(host).start)];
        let procs = self.schedule.placement(parent).map_or(&[][..], |p| p.procs());
        let direct = finish + problem.transfer_between(bytes, procs, &target);
        problem
            .state()
            .copies_of(edge)
            .iter()
            .map(|c| c.at.max(problem.state().now) + problem.transfer(bytes, c.host, host))
            .fold(direct, f64::min)
    }

    /// The slot of least finish time over all processors, with insertion; of equal ones the
    /// lowest processor.
    pub fn earliest_finish(&mut self, task: TaskId) -> Result<Slot, PlanError> {
        self.best_slot(task, |slot| slot.finish)
    }

    /// The slot that makes `score` least over all processors, with insertion; of equal ones the
    /// lowest processor. `score` must not be below the slot's finish time.
    pub fn best_slot(
        &mut self,
        task: TaskId,
        score: impl Fn(&Slot) -> f64,
    ) -> Result<Slot, PlanError> {
        self.data_ready(task);
        let problem = self.problem;
        let mut row = std::mem::take(&mut self.row);
        let times = problem.exec_row(task, &mut row);
        let width = problem.workflow().width(task).0;
        let mut best: Option<(f64, Slot)> = None;
        let mut proc = 0;
        while proc < problem.procs() {
            let id = ProcId::new(proc);
            let host = problem.host_of(id);
            let seconds = times[problem.class_of(id)];
            let ready = self.ready[host.index()];
            // A wide task takes several processors of a host: look at the host once.
            proc = if width > 1 { problem.procs_of(host).end as usize } else { proc + 1 };
            let least = best.map_or(f64::INFINITY, |(score, _)| score);
            if !approx::lt(ready + seconds, least) {
                continue;
            }
            let start = if width > 1 {
                self.earliest_wide(host, width, ready, seconds)
            } else {
                self.timelines[id.index()].earliest(ready, seconds)
            };
            let slot = Slot { proc: id, start, finish: start + seconds };
            let value = score(&slot);
            if approx::lt(value, least) {
                best = Some((value, slot));
            }
        }
        self.row = row;
        best.map(|(_, slot)| slot).ok_or_else(|| PlanError::Nowhere {
            task: problem.workflow().task_name(task).to_string(),
        })
    }

    /// Earliest time at which `width` processors of a host are idle together.
    fn earliest_wide(&self, host: HostId, width: u32, ready: f64, seconds: f64) -> f64 {
        let lines = self.problem.procs_of(host).map(|p| &self.timelines[p as usize]);
        let mut start = ready;
        let mut starts: Vec<f64> = Vec::new();
        loop {
            starts.clear();
            starts.extend(lines.clone().map(|line| line.earliest(start, seconds)));
            starts.sort_by(f64::total_cmp);
            let Some(&together) = starts.get(width as usize - 1) else { return f64::INFINITY };
            // Each pass moves to a later gap of some processor, so this ends.
            if together <= start || together.is_infinite() {
                return together;
            }
            start = together;
        }
    }

    /// Puts a task into a slot.
    pub fn place(&mut self, task: TaskId, slot: Slot) {
        let width = self.problem.workflow().width(task).0;
        if width == 1 {
            self.timelines[slot.proc.index()].occupy(slot.start, slot.finish);
            return self.record(task, Placement::new(slot.proc, slot.start, slot.finish));
        }
        let host = self.problem.host_of(slot.proc);
        let seconds = slot.finish - slot.start;
        let procs: Vec<ProcId> = self
            .problem
            .procs_of(host)
            .map(ProcId)
            .filter(|p| self.timelines[p.index()].earliest(slot.start, seconds) <= slot.start)
            .take(width as usize)
            .collect();
        for proc in &procs {
            self.timelines[proc.index()].occupy(slot.start, slot.finish);
        }
        self.record(task, Placement::wide(&procs, slot.start, slot.finish));
    }

    /// The finished schedule.
    pub fn into_schedule(self) -> Schedule {
        self.schedule
    }
}

/// Least execution time of any task per cost class.
fn shortest_times(problem: &Problem<'_>) -> Vec<f64> {
    let mut least = vec![f64::INFINITY; problem.classes()];
    let mut row = Vec::new();
    for task in problem.workflow().tasks() {
        for (least, &seconds) in least.iter_mut().zip(problem.exec_row(task, &mut row)) {
            *least = least.min(seconds);
        }
    }
    least
}
