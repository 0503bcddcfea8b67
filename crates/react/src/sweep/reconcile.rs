//! Changes made outside the policy: tasks that begin or end without it, and queues that lack what others wait for after
//! a loss.

use super::queues::{Item, Phase, Queues};
use crate::situation::{Situation, TaskState};
use slackline_model::{FileId, TaskId};
use std::collections::HashSet;

impl Queues {
    /// After something has gone: all that queued tasks and results wait for is on its way or queued.
    pub(super) fn mend(&mut self, now: &Situation) {
        if !std::mem::take(&mut self.disturbed) {
            return;
        }
        let known = self
            .lanes
            .iter()
            .flat_map(|lane| lane.queue.iter().chain(lane.moving.as_ref().map(|(item, _)| item)));
        let mut known: HashSet<(usize, FileId)> = known.map(|i| (i.cluster, i.file)).collect();
        for cluster in 0..self.clusters.len() {
            let gate = self.clusters[cluster].gate;
            let procs = &self.clusters[cluster].procs;
            let queued = procs.iter().flat_map(|p| self.columns[p.index()].queue.iter().copied());
            let reads = |task: TaskId| now.workflow.inputs(task).map(move |file| (task, file));
            let missing: Vec<(TaskId, FileId)> = queued
                .flat_map(reads)
                .filter(|&(_, file)| !now.has(file, gate) && known.insert((cluster, file)))
                .collect();
            for (task, file) in missing {
                let (is_output, from, planned) = (false, None, now.now);
                let item = Item { file, task, is_output, cluster, from, planned };
                self.lanes[cluster].queue.insert(0, item);
            }
        }
        let mut unsent: Vec<(FileId, TaskId, usize)> =
            self.unsent.iter().map(|(&file, &(task, cluster))| (file, task, cluster)).collect();
        unsent.sort_unstable();
        for (file, task, cluster) in unsent {
            self.queue_output(file, task, cluster, now);
        }
    }

    /// A result that no queue knows of, because its task began without a plan, is sent too.
    pub(super) fn queue_output(
        &mut self,
        file: FileId,
        task: TaskId,
        cluster: usize,
        now: &Situation,
    ) {
        let line = self.ways.back.get(cluster).map_or(Some(cluster), |way| way.line);
        let Some(line) = line else { return };
        let it = |item: &Item| item.is_output && item.file == file;
        let lane = &mut self.lanes[line];
        if !lane.queue.iter().any(it) && !lane.moving.as_ref().is_some_and(|(item, _)| it(item)) {
            let (is_output, from, planned) = (true, None, now.now);
            lane.queue.push(Item { file, task, is_output, cluster, from, planned });
        }
    }

    /// A task that failed with its host may begin again by itself when that is back.
    pub(super) fn started(&mut self, task: TaskId, now: &Situation) {
        let TaskState::Running { procs, since } = now.task(task) else { return };
        let Some(&proc) = procs.first() else { return };
        let known = self.columns[proc.index()].running.is_some_and(|(known, _)| known == task);
        if known {
            return;
        }
        self.leave_queues(task);
        self.set_phase(task, Phase::Running);
        self.columns[proc.index()].running.get_or_insert((task, *since));
    }

    /// A task is in no queue and on no processor any more; nor is what it was to write.
    pub(super) fn leave_queues(&mut self, task: TaskId) {
        for lane in &mut self.lanes {
            lane.queue.retain(|item| !(item.is_output && item.task == task));
        }
        for column in &mut self.columns {
            column.queue.retain(|&queued| queued != task);
            column.running.take_if(|(running, _)| *running == task);
        }
    }
}
