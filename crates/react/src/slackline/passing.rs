//! A plan for levels that pass: tasks by falling rank, each where it would end first while present levels
//! last and after they have given way. What begins soon goes where hosts are quick now, the rest where
//! they will be. Transfers are taken as if they never met. Ties: the lower host, then the processors that
//! are free first. O((v + e) h).

use super::Slackline;
use super::ground::Ground;
use crate::planning;
use crate::policy::{Assignment, Plan};
use crate::situation::{Fetch, TaskState};
use slackline_model::{HostId, Problem, ProcId, TaskId, approx};

struct Pass<'a, 'p> {
    ground: &'a Ground<'a, 'p>,
    /// Per processor: when it is free.
    free: Vec<f64>,
    /// Per task that runs or is placed: when it ends, and where.
    ends: Vec<Option<(f64, HostId)>>,
}

impl Pass<'_, '_> {
    /// When a part of a task that begins at a date is done.
    fn end_of(&self, task: TaskId, procs: &[ProcId], start: f64, part: f64) -> f64 {
        let Some(&first) = procs.first() else { return f64::INFINITY };
        let whole = |problem: &Problem<'_>| {
            problem.exec_wide(task, problem.class_of(first), procs.len() as u32)
        };
        self.ground.future.end_of(start, part, &whole)
    }

    /// When the inputs of a task could be on a host.
    fn inputs_at(&self, task: TaskId, host: HostId) -> f64 {
        let Ground { now, problem, .. } = *self.ground;
        let workflow = &now.workflow;
        let from_parent = |(parent, edge): (TaskId, _)| match self.ends[parent.index()] {
            Some((end, from)) if now.place_of(from) == now.place_of(host) => end,
            Some((end, from)) => {
                let bytes = workflow.edge_files(edge).map(|f| workflow.file_bytes(f));
                end + bytes.map(|b| problem.network().transfer_time(b, from, host)).sum::<f64>()
            }
            None => now.now + now.fetch_seconds(edge, host, &Fetch::ANY),
        };
        let made = workflow.predecessors(task).map(from_parent).fold(now.now, f64::max);
        let own = workflow.inputs(task).filter(|&f| workflow.producer(f).is_none());
        let own: f64 = own.map(|f| now.file_seconds(f, host, &Fetch::ANY)).sum();
        made.max(now.now + own)
    }

    /// Where a task would end first.
    fn place(&self, task: TaskId) -> Option<(f64, Vec<ProcId>)> {
        let Ground { now, problem, .. } = *self.ground;
        let width = now.workflow.width(task).0 as usize;
        let usable = |h: &HostId| now.computes(*h) && now.fits(task, *h) && !now.shuns(task, *h);
        let mut best: Option<(f64, Vec<ProcId>)> = None;
        for host in now.platform.host_ids().filter(usable) {
            let mut procs: Vec<ProcId> = problem.procs_of(host).map(ProcId).collect();
            procs.sort_by(|a, b| self.free[a.index()].total_cmp(&self.free[b.index()]));
            procs.truncate(width);
            let free = procs.iter().map(|p| self.free[p.index()]).fold(now.now, f64::max);
            let leased = now.now + now.seconds_to_lease(host);
            let start = free.max(leased).max(self.inputs_at(task, host));
            let end = self.end_of(task, &procs, start, 1.0);
            if end.is_finite() && best.as_ref().is_none_or(|(least, _)| approx::lt(end, *least)) {
                best = Some((end, procs));
            }
        }
        best
    }

    fn occupy(&mut self, task: TaskId, procs: &[ProcId], end: f64) {
        procs.iter().for_each(|p| self.free[p.index()] = end);
        let host = procs.first().map(|&p| self.ground.problem.host_of(p));
        self.ends[task.index()] = host.map(|host| (end, host));
    }
}

impl Slackline {
    /// See the module's head; nothing where levels last, or where a task fits nowhere.
    pub(super) fn passing(&self, ground: &Ground<'_, '_>) -> Option<Plan> {
        let now = ground.now;
        ground.future.later?;
        let order = planning::by_falling_rank(now, &self.rank);
        let free = vec![now.now; ground.problem.procs()];
        let mut pass = Pass { ground, free, ends: vec![None; now.tasks.len()] };
        for &task in &order {
            if let TaskState::Running { procs, .. } = now.task(task) {
                let left = 1.0 - now.progress[task.index()];
                let end = pass.end_of(task, procs, now.now, left);
                pass.occupy(task, procs, end);
            }
        }
        let mut assignments = Vec::with_capacity(order.len());
        for &task in &order {
            let procs = match now.task(task) {
                TaskState::Running { procs, .. } => procs.to_vec(),
                _ => {
                    let (end, procs) = pass.place(task)?;
                    pass.occupy(task, &procs, end);
                    procs
                }
            };
            assignments.push(Assignment { task, procs: procs.into() });
        }
        Some(Plan { assignments, transfers: self.plan.transfers, ..Plan::default() })
    }
}
