//! `do_plan`: the rest of the work on a Gantt chart of hosts and links.

use super::queues::{Item, Lane, Phase, Queues};
use super::{Choices, Outputs, Subset, Sweep};
use crate::policy::Decision;
use crate::situation::{Situation, TaskState};
use slackline_model::problem::{Problem, View};
use slackline_model::rng::{Stream, stream};
use slackline_model::{FileId, ProcId, TaskId};
use slackline_schedule::sweep::{
    Chart, Cluster, Ground, Limit, STREAM, capacities, draw_some, fill, kinds,
};
use std::collections::HashSet;

/// A plan that is being made: what has been placed so far waits until it is due.
pub(super) struct Pending {
    pub(super) due: f64,
    tasks: Vec<(TaskId, ProcId)>,
    /// The line and the transfer.
    transfers: Vec<(usize, Item)>,
}

impl Sweep {
    /// Makes a plan and fills the queues from it.
    pub(super) fn do_plan(&mut self, now: &Situation, decisions: &mut Vec<Decision>) {
        let Some(queues) = &mut self.queues else { return };
        queues.make_again(now, decisions);
        let availability = self.levels.hosts(now);
        let network = now.view.network.clone();
        let view = View { availability, network };
        let problem = match Problem::as_seen(&now.workflow, &now.platform, view) {
            Ok(problem) => problem,
            Err(error) => return decisions.push(Decision::GiveUp(error.to_string())),
        };
        let clusters = queues.clusters.iter().enumerate().map(|(index, cluster)| {
            let (latency, bandwidth) = self.levels.link(now, index, cluster, queues.origin);
            Cluster { latency, bandwidth, ..cluster.clone() }
        });
        let clusters: Vec<Cluster> = clusters.collect();
        let is_dark = |&c: &usize| {
            clusters[c].bandwidth <= 0.0 && now.living_host(clusters[c].gate).is_some()
        };
        self.dark = (0..clusters.len()).filter(is_dark).collect();
        let has_started = |task: TaskId| queues.has_started(task);
        let mut ground = Ground::new(
            &now.workflow,
            clusters,
            kinds(&problem),
            |task| !has_started(task),
            |task, kind| problem.exec(task, kind),
        );
        ground.capacity = capacities(&now.platform, &ground.clusters);
        ground.ways = self.levels.ways(now, queues);
        ground.now = now.now;
        ground.until_computed = self.choices.until_computed;
        if now.inputs_everywhere() {
            ground.leave_inputs();
        }
        queues.expect_outputs(&mut ground, now, self.choices.outputs);
        let mean = || mean_seconds(&ground, now);
        let interval = self.calendar.plan_next(now.now, queues, mean);
        let mut draws = stream(self.choices.seed, STREAM, self.plans);
        self.plans += 1;
        let mut chart = Chart::new(&ground);
        queues.preload(&mut chart, &ground, now, &self.choices);
        let alive = |p: &&ProcId| now.is_alive(now.host_of[p.index()]);
        let hosts = ground.clusters.iter().flat_map(|c| &c.procs).filter(alive).count();
        let limit = Limit {
            tasks: self.choices.quota.saturating_mul(hosts),
            until: now.now + interval + self.choices.delta.unwrap_or(interval),
        };
        let open = queues.considered(now, &self.choices, limit.tasks, &mut draws);
        let kept = chart.computations.len();
        fill(&mut chart, &ground, &open, &self.choices.heuristic, limit, &mut draws);
        let made = queues.fill_queues(&chart, kept, now.now + now.decision_seconds);
        if made.due > now.now {
            self.pending = Some(made);
        } else {
            queues.adopt(made, now);
            queues.sort_lanes();
        }
        let planned = chart.computations.len() - kept;
        self.calendar.record(&chart, queues, now, planned);
    }
}

/// Mean run time over some tasks and the first usable processor of every cluster.
fn mean_seconds(ground: &Ground<'_>, now: &Situation) -> f64 {
    const SAMPLE: usize = 1000;
    let (mut sum, mut count) = (0.0, 0.0f64);
    for task in now.workflow.tasks().take(SAMPLE) {
        for proc in ground.clusters.iter().filter_map(|c| c.procs.first()) {
            let seconds = ground.seconds(task, *proc);
            if seconds.is_finite() {
                sum += seconds;
                count += 1.0;
            }
        }
    }
    sum / count.max(1.0)
}

impl Queues {
    /// Tasks whose results cannot be fetched: their cluster is gone, or has lost them.
    fn stuck_results<'b>(&'b self, now: &'b Situation) -> impl Iterator<Item = TaskId> + 'b {
        let stuck = |&(&file, &(_, cluster)): &(&FileId, &(TaskId, usize))| {
            let gate = self.clusters[cluster].gate;
            now.living_host(gate).is_none() || !now.has(file, gate)
        };
        self.unsent.iter().filter(stuck).map(|(_, &(task, _))| task)
    }

    pub(super) fn has_stuck_results(&self, now: &Situation) -> bool {
        self.stuck_results(now).next().is_some()
    }

    /// Results that cannot be fetched from where they lie are made again.
    fn make_again(&mut self, now: &Situation, decisions: &mut Vec<Decision>) {
        let mut tasks: Vec<TaskId> = self.stuck_results(now).collect();
        tasks.sort_unstable();
        tasks.dedup();
        if tasks.is_empty() {
            return;
        }
        self.unsent.retain(|_, (task, _)| tasks.binary_search(task).is_err());
        for lane in &mut self.lanes {
            let again = |item: &Item| item.is_output && tasks.binary_search(&item.task).is_ok();
            lane.moving.take_if(|(item, _)| again(item));
        }
        tasks.iter().for_each(|&task| self.set_phase(task, Phase::Open));
        decisions.push(Decision::Rewind(tasks));
    }

    /// Sets expected sizes of unknown outputs.
    fn expect_outputs(&self, ground: &mut Ground<'_>, now: &Situation, outputs: Outputs) {
        if outputs == Outputs::Known || self.seen.is_empty() {
            return;
        }
        let count = self.seen.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| self.seen.iter().map(of).sum::<f64>() / count;
        let (mean_in, mean_out) = (mean(|s| s.0), mean(|s| s.1));
        // The straight line of least squares; flat where all inputs weigh the same.
        let spread: f64 = self.seen.iter().map(|s| (s.0 - mean_in).powi(2)).sum();
        let together: f64 = self.seen.iter().map(|s| (s.0 - mean_in) * (s.1 - mean_out)).sum();
        let slope = match outputs {
            Outputs::Regression if spread > 0.0 => together / spread,
            _ => 0.0,
        };
        for task in now.workflow.tasks().filter(|&t| self.phase[t.index()] != Phase::Done) {
            let read: f64 = now.workflow.inputs(task).map(|f| now.workflow.file_bytes(f)).sum();
            for file in now.workflow.outputs(task) {
                ground.expect_bytes(file, (mean_out + slope * (read - mean_in)).max(0.0));
            }
        }
    }

    /// Enters running work, existing files and kept queues into the chart first.
    fn preload(
        &mut self,
        chart: &mut Chart<'_>,
        ground: &Ground<'_>,
        now: &Situation,
        choices: &Choices,
    ) {
        let ends = |since: f64, seconds: f64, share: Option<f64>| match share {
            Some(done) if choices.by_progress => now.now + seconds * (1.0 - done),
            _ if now.now < since + seconds => since + seconds,
            _ => now.now + choices.overdue,
        };
        for (line, lane) in self.lanes.iter().enumerate() {
            let there = lane.there.iter().filter(|&&file| ground.is_used(file));
            there.for_each(|&file| chart.bring(line, file, now.now)); // in any order
            let Some((item, since)) = lane.moving else { continue };
            let cluster = item.cluster;
            let between = |source| {
                let ways = ground.ways.between.iter();
                ways.filter(move |b| b.from == source && b.to == cluster).map(|b| b.way).next()
            };
            let bytes = ground.bytes(item.file);
            let seconds = match (item.is_output, item.from.and_then(between)) {
                (true, _) => ground.way_back(cluster).seconds(bytes),
                (false, Some(way)) => way.seconds(bytes),
                (false, None) => ground.transfer_seconds(item.file, cluster),
            };
            let to = if item.is_output { self.target } else { Some(ground.clusters[cluster].gate) };
            let share = to.and_then(|to| now.copy(item.file, to)).map(|copy| copy.fraction);
            let end = if seconds.is_finite() { ends(since, seconds, share) } else { now.now };
            chart.block_link(line, now.now, end);
            if !item.is_output {
                chart.bring(cluster, item.file, end);
            }
        }
        let mut waiting: Vec<(FileId, (TaskId, usize))> =
            self.unsent.iter().map(|(&file, &from)| (file, from)).collect();
        waiting.sort_unstable();
        for (file, (task, cluster)) in waiting {
            let it = |lane: &Lane| lane.moving.is_some_and(|(item, _)| item.file == file);
            let moves = self.lanes.iter().any(it);
            if !moves {
                chart.send_back(file, task, cluster, now.now);
            }
        }
        for proc in (0..self.columns.len()).map(ProcId::new) {
            if !now.is_alive(now.host_of[proc.index()]) {
                chart.block_proc(proc, f64::INFINITY);
            }
            let Some(cluster) = self.cluster_of[proc.index()].map(|c| c as usize) else { continue };
            if let Some((task, since)) = self.columns[proc.index()].running {
                let progress = match now.task(task) {
                    TaskState::Running { .. } => Some(now.progress[task.index()]),
                    _ => None,
                };
                let end = ends(since, ground.seconds(task, proc), progress);
                chart.block_proc(proc, end);
                chart.reserve_outputs(task, cluster, end);
            }
        }
        self.keep_first(chart, now, choices.keep);
    }

    /// Cuts the queues short; what is kept stays where it is.
    fn keep_first(&mut self, chart: &mut Chart<'_>, now: &Situation, keep: usize) {
        for proc in (0..self.columns.len()).map(ProcId::new) {
            let cluster = self.cluster_of[proc.index()].map(|c| c as usize);
            let mut queue = std::mem::take(&mut self.columns[proc.index()].queue);
            let rest = queue.split_off(queue.len().min(keep));
            for task in rest {
                self.set_phase(task, Phase::Open);
            }
            for task in queue {
                let usable = |&c: &usize| {
                    now.is_alive(now.host_of[proc.index()]) && chart.can_place(task, c)
                };
                match cluster.filter(usable) {
                    Some(cluster) => chart.place(task, cluster, proc),
                    None => self.set_phase(task, Phase::Open),
                }
            }
        }
    }

    /// The tasks that this plan considers.
    fn considered(
        &self,
        now: &Situation,
        choices: &Choices,
        most: usize,
        draws: &mut Stream,
    ) -> Vec<TaskId> {
        let is_open = |t: &TaskId| self.phase[t.index()] == Phase::Open;
        let mut open: Vec<TaskId> = now.workflow.tasks().filter(is_open).collect();
        if open.len() <= most {
            return open;
        }
        match choices.subset {
            Subset::All => {}
            Subset::Random => {
                draw_some(&mut open, most, draws);
                open.sort_unstable();
            }
            Subset::Shared => {
                // Tasks around the largest shared input come first, and among them those of the
                // next one.
                let workflow = &now.workflow;
                let shared = |t: TaskId| {
                    let files = workflow.inputs(t).filter(|&f| workflow.consumers(f).len() > 1);
                    let bytes = |f: &FileId| workflow.file_bytes(*f);
                    files.max_by(|a, b| bytes(a).total_cmp(&bytes(b)).then(b.cmp(a)))
                };
                let key = |t: TaskId| shared(t).map(|f| (workflow.file_bytes(f), f));
                open.sort_by(|&a, &b| match (key(a), key(b)) {
                    (Some(x), Some(y)) => y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)).then(a.cmp(&b)),
                    (x, y) => y.is_some().cmp(&x.is_some()).then(a.cmp(&b)),
                });
                open.truncate(most);
                open.sort_unstable();
            }
        }
        open
    }

    /// The columns of a chart become queues: those of what was kept at once, the others when the plan is
    /// made.
    fn fill_queues(&mut self, chart: &Chart<'_>, kept: usize, due: f64) -> Pending {
        for computation in &chart.computations[..kept] {
            self.columns[computation.proc.index()].queue.push_back(computation.task);
        }
        for lane in &mut self.lanes {
            lane.queue.clear();
        }
        let placed = &chart.computations[kept..];
        let new: HashSet<TaskId> = placed.iter().map(|c| c.task).collect();
        let mut pending = Pending { due, tasks: Vec::new(), transfers: Vec::new() };
        pending.tasks.extend(placed.iter().map(|c| (c.task, c.proc)));
        for t in &chart.transfers {
            let (is_output, planned) = (t.is_output, t.start);
            let (file, task, cluster, from) = (t.file, t.task, t.cluster, t.from);
            let item = Item { file, task, is_output, cluster, from, planned };
            if new.contains(&task) {
                pending.transfers.push((t.line, item))
            } else {
                self.lanes[t.line].queue.push(item)
            }
        }
        self.sort_lanes();
        pending.transfers.sort_by(|a, b| a.1.planned.total_cmp(&b.1.planned));
        pending
    }

    fn sort_lanes(&mut self) {
        for lane in &mut self.lanes {
            lane.queue.sort_by(|a, b| a.planned.total_cmp(&b.planned));
        }
    }

    /// Appends the tasks placed by a plan to the queues, except those that have begun meanwhile or can no longer begin.
    pub(super) fn adopt(&mut self, made: Pending, now: &Situation) {
        let mut taken: HashSet<TaskId> = HashSet::with_capacity(made.tasks.len());
        for (task, proc) in made.tasks {
            let open = self.phase[task.index()] == Phase::Open;
            if open && now.is_alive(now.host_of[proc.index()]) {
                self.columns[proc.index()].queue.push_back(task);
                self.set_phase(task, Phase::Queued);
                taken.insert(task);
            }
        }
        for (line, item) in made.transfers {
            // An input may be for several of them.
            if !item.is_output || taken.contains(&item.task) {
                self.lanes[line].queue.push(item);
            }
        }
    }
}
