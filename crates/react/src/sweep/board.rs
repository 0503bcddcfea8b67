//! The queues of hosts and links, what is under way on them, and `do_schedule`: taking work off
//! the queues when somebody is idle.

use super::storage::Storage;
use super::{Choices, LinkOrder};
use crate::holders::Holders;
use crate::policy::{Decision, Event};
use crate::situation::{FileCopy, Situation, TaskState};
use slackline_model::{FileId, HostId, ProcId, TaskId};
use slackline_schedule::sweep::{Cluster, Ways, Wishes, clusters};
use std::collections::{HashMap, HashSet, VecDeque};

/// How far a task is, as the policy knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// In no queue.
    Open,
    /// In the queue of a processor.
    Queued,
    /// Computes.
    Running,
    /// Computed.
    Done,
}

/// A processor: its queue and what it does.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    pub(super) queue: VecDeque<TaskId>,
    pub(super) running: Option<(TaskId, f64)>,
}

/// A transfer that is planned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) file: FileId,
    pub(super) task: TaskId,
    pub(super) is_output: bool,
    /// To or from this cluster.
    pub(super) cluster: usize,
    /// From another cluster, not from the origin.
    pub(super) from: Option<usize>,
    /// When it should begin.
    pub(super) planned: f64,
}

/// A link: its queue and what is under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    pub(super) queue: Vec<Item>,
    pub(super) moving: Option<(Item, f64)>,
    /// Files that are in the storage of the cluster that it leads to.
    pub(super) there: HashSet<FileId>,
}

pub(super) struct Board {
    pub(super) clusters: Vec<Cluster>,
    pub(super) cluster_of: Vec<Option<u32>>,
    pub(super) phase: Vec<Phase>,
    pub(super) columns: Vec<Column>,
    /// The links of the clusters, then the others of `ways`.
    pub(super) lanes: Vec<Lane>,
    /// Per cluster.
    pub(super) stores: Vec<Storage>,
    pub(super) ways: Ways,
    /// Tasks that are computed and have outputs to send back, with where they ran.
    pub(super) unsent: HashMap<FileId, (TaskId, usize)>,
    /// Tasks in no queue.
    pub(super) open: usize,
    /// Where inputs come from.
    pub(super) origin: Option<HostId>,
    /// Where outputs go.
    pub(super) target: Option<HostId>,
    pub(super) steals: usize,
    /// Something has gone or come back: queues may lack what others wait for.
    pub(super) disturbed: bool,
    /// Sizes of inputs and outputs of tasks whose outputs have come back.
    pub(super) seen: Vec<(f64, f64)>,
}

impl Board {
    pub(super) fn new(now: &Situation, wishes: &Wishes) -> Result<Board, String> {
        let workflow = &now.workflow;
        if workflow.edge_count() > 0 {
            return Err("a sweep has no dependencies, this workflow has".into());
        }
        if workflow.tasks().any(|t| workflow.width(t).0 > 1) {
            return Err("the tasks of a sweep take one processor each".into());
        }
        let clusters = clusters(&now.platform, 0.0)?;
        let ways = Ways::of(&now.platform, &clusters, wishes, 0.0)?;
        let store = |c: &Cluster| Storage::new(now.platform.storage_of(c.gate));
        let mut cluster_of = vec![None; now.host_of.len()];
        for (index, cluster) in clusters.iter().enumerate() {
            cluster.procs.iter().for_each(|p| cluster_of[p.index()] = Some(index as u32));
        }
        let mut board = Board {
            lanes: vec![Lane::default(); clusters.len() + ways.links.len()],
            stores: clusters.iter().map(store).collect(),
            columns: vec![Column::default(); now.host_of.len()],
            phase: vec![Phase::Open; workflow.len()],
            open: workflow.len(),
            unsent: HashMap::new(),
            origin: now.platform.origin(),
            target: ways.results.or(now.platform.origin()),
            ways,
            steals: 0,
            disturbed: false,
            seen: Vec::new(),
            cluster_of,
            clusters,
        };
        if !now.inputs_everywhere() {
            for file in workflow.files() {
                for copy in now.copies[file.index()].iter().filter(|c| c.is_complete()) {
                    board.arrived(now, file, &copy.holders);
                }
            }
        }
        Ok(board)
    }

    /// The cluster whose storage it is.
    fn cluster_at(&self, now: &Situation, holders: &Holders) -> Option<usize> {
        let host = holders.host()?;
        self.clusters.iter().position(|c| now.place_of(c.gate) == now.place_of(host))
    }

    fn arrived(&mut self, now: &Situation, file: FileId, holders: &Holders) {
        if let Some(cluster) = self.cluster_at(now, holders) {
            self.lanes[cluster].there.insert(file);
            self.stores[cluster].touch(file, now.now);
        }
    }

    /// Whether a task has been computed or is being.
    pub(super) fn has_started(&self, task: TaskId) -> bool {
        matches!(self.phase[task.index()], Phase::Running | Phase::Done)
    }

    pub(super) fn set_phase(&mut self, task: TaskId, phase: Phase) {
        let old = std::mem::replace(&mut self.phase[task.index()], phase);
        self.open += usize::from(phase == Phase::Open);
        self.open -= usize::from(old == Phase::Open);
    }

    /// Keeps the books.
    pub(super) fn take_note(&mut self, events: &[Event], now: &Situation) {
        self.disturbed = events.iter().any(|event| {
            crate::planning::is_loss(event)
                || matches!(
                    event,
                    Event::TaskFailed(_)
                        | Event::TransferFailed { .. }
                        | Event::HostBack(_)
                        | Event::Rejected { .. }
                )
        });
        for event in events {
            match event {
                Event::WorkflowArrived { .. } | Event::TasksAdded { .. } => {
                    let more = now.workflow.len() - self.phase.len();
                    self.phase.resize(now.workflow.len(), Phase::Open);
                    self.open += more;
                }
                &Event::TaskFinished(task) => self.finished(task, now),
                &Event::TaskFailed(task) => self.failed(task, now),
                &Event::TaskStarted(task) => self.started(task, now),
                &Event::TaskRestored(task) => {
                    self.leave_queues(task);
                    self.finished(task, now);
                }
                Event::TransferFinished { file, to } => self.moved(*file, to, now),
                Event::TransferFailed { file, to } => self.broke_off(*file, to, now),
                Event::CopyLost { file, holders } => {
                    if let Some(cluster) = self.cluster_at(now, holders) {
                        self.lanes[cluster].there.remove(file);
                    }
                }
                &Event::HostLost(host) => self.lost(host, now),
                &Event::HostBack(host) => self.back(host, now),
                Event::Rejected { decision, .. } => self.refused(decision, now),
                _ => {}
            }
        }
    }

    fn finished(&mut self, task: TaskId, now: &Situation) {
        self.set_phase(task, Phase::Done);
        let TaskState::Done(placement) = now.task(task) else { return };
        let column = &mut self.columns[placement.proc().index()];
        if column.running.is_some_and(|(running, _)| running == task) {
            column.running = None;
        }
        let Some(cluster) = self.cluster_of[placement.proc().index()] else { return };
        let Some(target) = self.target else { return };
        for file in now.workflow.outputs(task) {
            let last = now.workflow.consumers(file).len() == 0;
            if now.place_of(self.clusters[cluster as usize].gate) == now.place_of(target) {
                self.lanes[cluster as usize].there.insert(file); // it stays
            } else if last && !now.copy(file, target).is_some_and(FileCopy::is_complete) {
                self.unsent.insert(file, (task, cluster as usize));
                self.queue_output(file, task, cluster as usize, now);
            }
        }
    }

    fn failed(&mut self, task: TaskId, now: &Situation) {
        // It may have been begun again since.
        let again = |c: &Column| c.running.is_some_and(|(t, at)| t == task && at >= now.now);
        let begun = matches!(now.task(task), TaskState::Running { .. } | TaskState::Done(_));
        if !begun && !self.columns.iter().any(again) {
            self.take_back(task);
        }
    }

    /// A task that does not run waits for the next plan.
    fn take_back(&mut self, task: TaskId) {
        for column in &mut self.columns {
            if column.running.is_some_and(|(running, _)| running == task) {
                column.running = None;
            }
        }
        if self.phase[task.index()] != Phase::Queued {
            self.set_phase(task, Phase::Open);
        }
    }

    /// The lane on which a file goes there.
    fn lane_to(&mut self, file: FileId, to: &Holders, now: &Situation) -> Option<&mut Lane> {
        let back = self.target.is_some_and(|target| to.is(now.place_of(target)));
        let sent = self.unsent.get(&file).filter(|_| back).map(|&(_, cluster)| cluster);
        let is_output = sent.is_some();
        let cluster = sent.or_else(|| self.cluster_at(now, to))?;
        let it = |(item, _): &(Item, f64)| {
            item.file == file && item.cluster == cluster && item.is_output == is_output
        };
        self.lanes.iter_mut().find(|lane| lane.moving.as_ref().is_some_and(it))
    }

    fn moved(&mut self, file: FileId, to: &Holders, now: &Situation) {
        if let Some(lane) = self.lane_to(file, to, now) {
            lane.moving.take_if(|(item, _)| item.file == file);
        }
        if let Some((task, cluster)) = self.unsent.remove(&file) {
            if self.stores[cluster].capacity.is_some() {
                self.stores[cluster].delivered.push(file);
            }
            let bytes = |f: FileId| now.workflow.file_bytes(f);
            self.seen.push((now.workflow.inputs(task).map(bytes).sum(), bytes(file)));
        }
        self.arrived(now, file, to);
    }

    fn broke_off(&mut self, file: FileId, to: &Holders, now: &Situation) {
        let Some(lane) = self.lane_to(file, to, now) else { return };
        if let Some((item, _)) = lane.moving.take_if(|(item, _)| item.file == file) {
            lane.queue.insert(0, item);
        }
    }

    /// What a storage kept lies there again.
    fn back(&mut self, host: HostId, now: &Situation) {
        let place = Holders::Host(now.place_of(host));
        for file in now.workflow.files() {
            let complete = |c: &FileCopy| c.holders == place && c.is_complete();
            if now.copies[file.index()].iter().any(complete) {
                self.arrived(now, file, &place);
            }
        }
    }

    /// What was queued or running on a host waits for the next plan.
    fn lost(&mut self, host: HostId, now: &Situation) {
        for proc in (0..self.columns.len()).filter(|&p| now.host_of[p] == host) {
            let column = std::mem::take(&mut self.columns[proc]);
            for task in column.queue.into_iter().chain(column.running.map(|(task, _)| task)) {
                if self.phase[task.index()] != Phase::Done {
                    self.set_phase(task, Phase::Open);
                }
            }
        }
    }

    fn refused(&mut self, decision: &Decision, now: &Situation) {
        match *decision {
            Decision::Start { task, .. } => match now.task(task) {
                TaskState::Running { .. } => {
                    self.leave_queues(task);
                    self.started(task, now);
                }
                TaskState::Done(_) => {
                    self.take_back(task);
                    self.set_phase(task, Phase::Done);
                }
                _ => self.take_back(task),
            },
            Decision::Copy { file, to, .. } => {
                let to = Holders::Host(now.place_of(to));
                if let Some(lane) = self.lane_to(file, &to, now) {
                    lane.moving.take_if(|(item, _)| item.file == file);
                }
            }
            _ => {}
        }
    }

    /// Whether a task could begin in a cluster.
    pub(super) fn is_ready(&self, now: &Situation, task: TaskId, cluster: usize) -> bool {
        let gate = self.clusters[cluster].gate;
        now.workflow.inputs(task).all(|file| now.has(file, gate))
    }

    /// Idle processors begin the first tasks of their queues, or one of a neighbour's.
    pub(super) fn start_tasks(
        &mut self,
        now: &Situation,
        choices: &Choices,
        decisions: &mut Vec<Decision>,
    ) {
        for cluster in 0..self.clusters.len() {
            for at in 0..self.clusters[cluster].procs.len() {
                let proc = self.clusters[cluster].procs[at];
                if !self.is_idle(now, proc) {
                    continue;
                }
                let task = match self.columns[proc.index()].queue.front() {
                    Some(&task) if self.is_ready(now, task, cluster) => {
                        self.columns[proc.index()].queue.pop_front();
                        Some(task)
                    }
                    Some(_) => None, // the host waits
                    None if choices.steal => self.steal(now, cluster),
                    None => None,
                };
                if let Some(task) = task {
                    for file in now.workflow.inputs(task) {
                        self.stores[cluster].touch(file, now.now);
                    }
                    self.set_phase(task, Phase::Running);
                    self.columns[proc.index()].running = Some((task, now.now));
                    decisions.push(Decision::Start { task, procs: [proc].into() });
                }
            }
        }
    }

    fn is_idle(&self, now: &Situation, proc: ProcId) -> bool {
        self.columns[proc.index()].running.is_none() && now.is_alive(now.host_of[proc.index()])
    }

    /// The first ready task of the longest queue of a cluster.
    fn steal(&mut self, now: &Situation, cluster: usize) -> Option<TaskId> {
        let procs = &self.clusters[cluster].procs;
        let ready = |p: ProcId| {
            let queue = &self.columns[p.index()].queue;
            queue.iter().position(|&task| self.is_ready(now, task, cluster))
        };
        let mut best: Option<(usize, ProcId, usize)> = None;
        for &proc in procs {
            let long = self.columns[proc.index()].queue.len();
            if best.is_none_or(|(longest, ..)| long > longest)
                && long > 0
                && let Some(position) = ready(proc)
            {
                best = Some((long, proc, position));
            }
        }
        let (_, from, position) = best?;
        self.steals += 1;
        self.columns[from.index()].queue.remove(position)
    }

    /// An idle host has nothing to do while tasks are in no queue.
    pub(super) fn someone_asks(&self, now: &Situation) -> bool {
        self.open > 0
            && self
                .clusters
                .iter()
                .flat_map(|c| &c.procs)
                .any(|&proc| self.is_idle(now, proc) && self.columns[proc.index()].queue.is_empty())
    }

    /// Idle links begin a transfer of their queues.
    pub(super) fn start_transfers(
        &mut self,
        now: &Situation,
        choices: &Choices,
        decisions: &mut Vec<Decision>,
    ) {
        self.clear_out(now, decisions);
        self.send_from_the_origin(now);
        for line in 0..self.lanes.len() {
            while self.lanes[line].moving.is_none() {
                let Some(position) = self.next_transfer(now, line, choices, decisions) else {
                    break;
                };
                let item = self.lanes[line].queue.remove(position);
                let gate = self.clusters[item.cluster].gate;
                let to = match item.is_output {
                    true => self.target,
                    false => now.living_host(gate),
                };
                // What is dropped at this instant still lies there in the situation.
                let lies = |copy: &FileCopy| {
                    item.is_output
                        || !copy.is_complete()
                        || self.lanes[item.cluster].there.contains(&item.file)
                };
                let Some(to) = to.filter(|&to| !now.copy(item.file, to).is_some_and(lies)) else {
                    continue; // there already, or on its way
                };
                let from = match (item.is_output, item.from) {
                    (true, _) => None,
                    (false, Some(cluster)) => {
                        now.living_host(now.place_of(self.clusters[cluster].gate))
                    }
                    (false, None) => self.origin.filter(|&origin| now.is_alive(origin)),
                };
                self.lanes[line].moving = Some((item, now.now));
                decisions.push(Decision::Copy { file: item.file, from, to });
            }
        }
    }

    /// What another cluster should have passed on, and neither has nor will get, comes from the
    /// origin.
    fn send_from_the_origin(&mut self, now: &Situation) {
        if self.ways.between.is_empty() {
            return;
        }
        for line in 0..self.lanes.len() {
            let queue = std::mem::take(&mut self.lanes[line].queue);
            let (late, rest) = queue.into_iter().partition(|item: &Item| {
                item.from.is_some_and(|source| {
                    let alive = now.living_host(self.clusters[source].gate).is_some();
                    let has = self.lanes[source].there.contains(&item.file);
                    let to_it =
                        |i: &Item| !i.is_output && i.cluster == source && i.file == item.file;
                    let comes = self.lanes.iter().any(|lane| {
                        lane.queue.iter().any(to_it)
                            || lane.moving.as_ref().is_some_and(|(i, _)| to_it(i))
                    });
                    !alive || !(has || comes)
                })
            });
            self.lanes[line].queue = rest;
            let late: Vec<Item> = late;
            for item in late {
                let queue = &mut self.lanes[item.cluster].queue;
                let at = queue.partition_point(|i| i.planned <= item.planned);
                queue.insert(at, Item { from: None, ..item });
            }
        }
    }

    /// Whether the ends of a transfer can be used and its file is where it comes from.
    fn can_go(&self, now: &Situation, item: &Item) -> bool {
        let alive = |cluster: usize| now.living_host(self.clusters[cluster].gate).is_some();
        alive(item.cluster)
            && match item.from {
                _ if item.is_output => {
                    self.unsent.get(&item.file).is_some_and(|&(_, made)| made == item.cluster)
                }
                Some(source) => alive(source) && self.lanes[source].there.contains(&item.file),
                None => true,
            }
    }

    /// Which item of its queue an idle link starts next.
    fn next_transfer(
        &mut self,
        now: &Situation,
        line: usize,
        choices: &Choices,
        decisions: &mut Vec<Decision>,
    ) -> Option<usize> {
        if let Some(position) = self.leaders_next(now, line, decisions) {
            return Some(position);
        }
        for position in 0..self.lanes[line].queue.len() {
            let item = self.lanes[line].queue[position];
            if now.living_host(self.clusters[item.cluster].gate).is_none() {
                continue;
            }
            if self.can_go(now, &item) {
                if item.is_output || self.make_room(now, &item, decisions) {
                    return Some(position);
                }
                continue; // others may go meanwhile, outputs make room
            }
            match choices.link_order {
                LinkOrder::Strict => return None,
                LinkOrder::Greedy => {}
                LinkOrder::Hybrid(wait) => {
                    let soon = item.planned >= now.now && item.planned <= now.now + wait;
                    if soon {
                        // It is looked at again when the output is there, or is late.
                        decisions.push(Decision::WakeAt(item.planned + wait.max(1e-3)));
                        return None;
                    }
                }
            }
        }
        None
    }

    /// Where storage is bounded: the inputs of the leader go before all others.
    fn leaders_next(
        &mut self,
        now: &Situation,
        line: usize,
        decisions: &mut Vec<Decision>,
    ) -> Option<usize> {
        self.stores.iter().find(|store| store.capacity.is_some())?;
        for position in 0..self.lanes[line].queue.len() {
            let item = self.lanes[line].queue[position];
            if item.is_output || self.stores[item.cluster].capacity.is_none() {
                continue;
            }
            let leader = self.leader(now, item.cluster);
            let reads = |task: TaskId| now.workflow.inputs(task).any(|f| f == item.file);
            if leader.is_some_and(reads)
                && self.can_go(now, &item)
                && self.make_room(now, &item, decisions)
            {
                return Some(position);
            }
        }
        None
    }
}
