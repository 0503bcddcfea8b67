//! Inputs of the workflow on their way from the origin. Under a plan that pushes they leave in its
//! order and at its pace: the next when the link on which they queue has had time for those before,
//! so that the first readers do not wait for the inputs of the last.

use super::Engine;
use crate::backend::BackendError;
use slackline_model::{FileId, HostId, LinkId, TaskId, approx};
use slackline_react::{Holders, Plan, TaskState, Transfers};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Inputs that wait for their turn.
#[derive(Default)]
pub(super) struct Staging {
    /// Position of each file's transfer to a host in the plan's order.
    order: HashMap<(FileId, HostId), usize>,
    /// Per link on which they queue, none first: what has to be sent.
    waiting: BTreeMap<Option<LinkId>, VecDeque<(FileId, Holders)>>,
    /// When each link will have carried what was sent.
    free: BTreeMap<LinkId, f64>,
    /// Whether the waiting transfers have to be collected again.
    stale: bool,
}

impl Staging {
    /// Takes over the order of a new plan.
    pub(super) fn follow(&mut self, plan: &Plan) {
        let sources = plan.sources.iter().enumerate();
        self.order = sources.map(|(at, s)| ((s.file, s.to), at)).collect();
        self.stale = true;
    }

    /// Something is gone: what was sent may have to be sent again.
    pub(super) fn look_again(&mut self) {
        self.stale = true;
    }

    /// When the next input may leave.
    pub(super) fn next_date(&self) -> f64 {
        let links = self.waiting.keys().flatten();
        links.filter_map(|link| self.free.get(link).copied()).fold(f64::INFINITY, f64::min)
    }
}

impl Engine<'_, '_> {
    /// Sends inputs whose turn it is.
    pub(super) fn stage_inputs(&mut self) -> Result<(), BackendError> {
        let everywhere = self.situation.inputs_everywhere() || self.situation.central;
        if everywhere || self.queues.transfers != Transfers::Push {
            self.staging.waiting.clear();
            return Ok(());
        }
        if std::mem::take(&mut self.staging.stale) {
            self.gather_inputs();
        }
        let mut waiting = std::mem::take(&mut self.staging.waiting);
        for (&lane, queue) in &mut waiting {
            while let Some((file, to)) = queue.front() {
                let (file, to) = (*file, to.clone());
                let there = self.situation.has_at(file, &to);
                let comes = self.movements.arriving.contains_key(&(file, to.clone()));
                if there || comes || self.is_lost(&to) {
                    queue.pop_front();
                    continue;
                }
                let free = lane.and_then(|link| self.staging.free.get(&link)).copied();
                if free.is_some_and(|free| approx::lt(self.situation.now, free)) {
                    break;
                }
                queue.pop_front();
                if self.fetch(file, None, &to)?.is_some()
                    && let (Some(link), Some(lanes)) = (lane, &self.situation.lanes)
                {
                    let seconds = self.situation.workflow.file_bytes(file) / lanes.rate(link);
                    let begin = free.unwrap_or(0.0).max(self.situation.now);
                    self.staging.free.insert(link, begin + seconds);
                }
            }
        }
        waiting.retain(|_, queue| !queue.is_empty());
        self.staging.waiting = waiting;
        Ok(())
    }

    /// The inputs of all planned tasks, in the order of the plan's transfers, then of its tasks.
    fn gather_inputs(&mut self) {
        let workflow = self.situation.workflow.clone();
        let mut wanted: Vec<(usize, FileId, Holders)> = Vec::new();
        for task in self.queues.planned() {
            let Some(procs) = self.queues.assigned(task).filter(|_| self.waits(task)) else {
                continue;
            };
            let to = self.situation.holders_of(procs);
            let host = self.situation.host(procs);
            for file in workflow.inputs(task).filter(|&f| workflow.producer(f).is_none()) {
                let at = self.staging.order.get(&(file, host)).copied().unwrap_or(usize::MAX);
                wanted.push((at, file, to.clone()));
            }
        }
        wanted.sort_by_key(|w| w.0); // stable: the rest in the order of the tasks
        self.staging.waiting.clear();
        for (_, file, to) in wanted {
            let lanes = self.situation.lanes.as_deref();
            let lane = lanes.and_then(|lanes| lanes.lane(*to.hosts().first()?));
            self.staging.waiting.entry(lane).or_default().push_back((file, to));
        }
    }

    fn waits(&self, task: TaskId) -> bool {
        matches!(self.situation.task(task), TaskState::Waiting | TaskState::Placed { .. })
    }
}
