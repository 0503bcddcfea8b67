//! The queues of hosts and links and what is under way on them: what events say is written down here.

use super::storage::Storage;
use crate::data_location::Holders;
use crate::policy::{Decision, Event};
use crate::situation::{FileCopy, Situation, TaskState};
use slackline_model::{FileId, HostId, TaskId};
use slackline_schedule::sweep::{Cluster, Ways, Wishes, clusters};
use std::collections::{HashMap, HashSet, VecDeque};

/// State of a task, as the policy knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// In no queue.
    Open,
    /// In no queue until the pause after a failure is over.
    AwaitsRetry,
    /// In the queue of a processor.
    Queued,
    /// Computes.
    Running,
    /// Computed, or abandoned after its last failure.
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

pub(super) struct Queues {
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
    /// Source of inputs.
    pub(super) origin: Option<HostId>,
    /// Destination of outputs.
    pub(super) target: Option<HostId>,
    pub(super) steals: usize,
    /// Something has gone or come back: queues may lack what others wait for.
    pub(super) disturbed: bool,
    /// Per cluster: something has happened there since idle hosts and links were last checked.
    pub(super) stirred: Vec<bool>,
    /// Sizes of inputs and outputs of tasks whose outputs have come back.
    pub(super) seen: Vec<(f64, f64)>,
}

impl Queues {
    pub(super) fn new(now: &Situation, wishes: &Wishes) -> Result<Queues, String> {
        let workflow = &now.workflow;
        if workflow.edge_count() > 0 {
            return Err("a sweep has no dependencies, this workflow has".into());
        }
        if workflow.tasks().any(|t| workflow.width(t).0 > 1) {
            return Err("the tasks of a sweep take one processor each".into());
        }
        let clusters = clusters(&now.platform, 0.0)?;
        let ways = Ways::of(&now.platform, &clusters, wishes, 0.0);
        let ways = ways.map_err(|why| format!("results: {why}"))?;
        let store = |c: &Cluster| Storage::new(now.platform.storage_of(c.gate));
        let mut cluster_of = vec![None; now.host_of.len()];
        for (index, cluster) in clusters.iter().enumerate() {
            cluster.procs.iter().for_each(|p| cluster_of[p.index()] = Some(index as u32));
        }
        let mut queues = Queues {
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
            stirred: vec![true; clusters.len()],
            seen: Vec::new(),
            cluster_of,
            clusters,
        };
        if !now.inputs_everywhere() {
            for file in workflow.files() {
                for copy in now.copies[file.index()].iter().filter(|c| c.is_complete()) {
                    queues.arrived(now, file, &copy.holders);
                }
            }
        }
        Ok(queues)
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

    /// Notes where something happened; what concerns more than one cluster concerns all.
    fn stir(&mut self, event: &Event, now: &Situation) {
        let place = match event {
            Event::HostChanged(_) if now.pools.has_windows() => None, // its window may open
            Event::HostChanged(_) | Event::NetworkChanged => return,
            Event::TaskStarted(task) | Event::TaskFinished(task) => {
                let procs = now.task(*task).procs().and_then(|procs| procs.first());
                procs.and_then(|proc| self.cluster_of[proc.index()]).map(|c| c as usize)
            }
            Event::TransferFinished { file, to } => match self.unsent.get(file) {
                Some(&(_, cluster)) => Some(cluster),
                None => self.cluster_at(now, to),
            },
            _ => None,
        };
        match place {
            Some(cluster) => self.stirred[cluster] = true,
            None => self.stir_all(),
        }
    }

    pub(super) fn stir_all(&mut self) {
        self.stirred.fill(true);
    }

    /// Keeps the books.
    pub(super) fn take_note(&mut self, events: &[Event], now: &Situation) {
        // What clusters send each other, and room that is made, may set others going.
        if !self.ways.is_plain() || self.is_bounded() {
            self.stir_all();
        }
        events.iter().for_each(|event| self.stir(event, now));
        self.disturbed = events.iter().any(|event| {
            crate::replanning::is_loss(event)
                || matches!(
                    event,
                    Event::TaskFailed(_)
                        | Event::TransferFailed { .. }
                        | Event::HostBack(_)
                        | Event::Rejected { .. }
                )
        });
        self.disturbed |= self.is_bounded();
        self.forget_dropped_copies(now);
        for event in events {
            match event {
                Event::WorkflowArrived { .. } | Event::TasksAdded { .. } => {
                    let more = now.workflow.len() - self.phase.len();
                    self.phase.resize(now.workflow.len(), Phase::Open);
                    self.open += more;
                }
                &Event::TaskFinished(task) => self.finished(task, now),
                &Event::TaskFailed(task) => self.failed(task, now),
                &Event::TaskAbandoned(task) => self.take_back(task, now),
                &Event::RetryDue(task) if self.phase[task.index()] == Phase::AwaitsRetry => {
                    self.set_phase(task, Phase::Open);
                }
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
        let pauses = now.tasks.awaits_retry(task);
        if !begun && (pauses || !self.columns.iter().any(again)) {
            self.take_back(task, now);
        }
    }

    /// A task that does not run waits for the next plan, and for its next attempt to be due; one
    /// that was abandoned for nothing.
    fn take_back(&mut self, task: TaskId, now: &Situation) {
        if now.tasks.cannot_run(task) {
            self.leave_queues(task);
            return self.set_phase(task, Phase::Done);
        }
        if now.tasks.awaits_retry(task) {
            self.leave_queues(task);
            return self.set_phase(task, Phase::AwaitsRetry);
        }
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

    /// Restores the files that a host's storage kept.
    fn back(&mut self, host: HostId, now: &Situation) {
        let place = Holders::Host(now.place_of(host));
        for file in now.workflow.files() {
            let complete = |c: &FileCopy| c.holders == place && c.is_complete();
            if now.copies[file.index()].iter().any(complete) {
                self.arrived(now, file, &place);
            }
        }
    }

    /// Returns the queued and running tasks of a lost host to the next plan.
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
                    self.take_back(task, now);
                    self.set_phase(task, Phase::Done);
                }
                _ => self.take_back(task, now),
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
}
