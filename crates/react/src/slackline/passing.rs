//! A plan for levels that pass: tasks by falling rank, each where it would end first while present levels
//! last and after they have given way. What begins soon goes where hosts are quick now, the rest where
//! they will be. Transfers are taken as if they never met. Ties: the lower host, then the processors that
//! are free first. O((v + e) h).

use super::Slackline;
use super::forecast::{self, Future};
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
    /// The times of the task to be placed, on the classes of processors of now and of later.
    times: (Vec<f64>, Vec<f64>),
}

impl Pass<'_, '_> {
    /// When a part of a task that begins at a date is done, on some processors like the one.
    fn end_of(&self, task: TaskId, (proc, width): (ProcId, usize), start: f64, part: f64) -> f64 {
        let whole =
            |problem: &Problem<'_>| problem.exec_wide(task, problem.class_of(proc), width as u32);
        self.ground.future.end_of(start, part, &whole)
    }

    /// The processors of a host that are free first.
    fn free_first(&self, host: HostId, width: usize) -> Vec<ProcId> {
        let mut procs: Vec<ProcId> = self.ground.problem.procs_of(host).map(ProcId).collect();
        procs.sort_by(|a, b| self.free[a.index()].total_cmp(&self.free[b.index()]));
        procs.truncate(width);
        procs
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

    /// When the task to be placed would end on a host that it fits, if it begins at a date.
    fn end_on(&self, host: HostId, start: f64) -> f64 {
        let Future { problem, later, .. } = self.ground.future;
        let first = ProcId(problem.procs_of(host).start);
        let later = later.map(|(date, later)| (date, self.times.1[later.class_of(first)]));
        forecast::end_of(start, 1.0, self.times.0[problem.class_of(first)], later)
    }

    /// Where a task would end first.
    fn place(&mut self, task: TaskId) -> Option<(f64, Vec<ProcId>)> {
        let Ground { now, problem, future } = *self.ground;
        future.problem.exec_row(task, &mut self.times.0);
        if let Some((_, later)) = future.later {
            later.exec_row(task, &mut self.times.1);
        }
        let width = now.workflow.width(task).0 as usize;
        let usable = |h: &HostId| now.computes(*h) && now.fits(task, *h) && !now.shuns(task, *h);
        let parents = now.workflow.predecessors(task).filter_map(|(p, _)| self.ends[p.index()]);
        let parents = parents.map(|(end, _)| end).fold(now.now, f64::max);
        // When it could end if its inputs were there, and begin.
        let mut rooms: Vec<(f64, f64, HostId)> = Vec::with_capacity(now.platform.hosts().len());
        for host in now.platform.host_ids().filter(usable) {
            let free = match width {
                1 => problem.procs_of(host).map(|p| self.free[p as usize]).reduce(f64::min),
                _ => self.free_first(host, width).last().map(|p| self.free[p.index()]),
            };
            let leased = now.now + now.seconds_to_lease(host);
            let start = free.unwrap_or(f64::INFINITY).max(leased).max(parents);
            rooms.push((self.end_on(host, start), start, host));
        }
        // What cannot end before the most promising host does is not looked at.
        let end = |start: f64, host| self.end_on(host, start.max(self.inputs_at(task, host)));
        let first = rooms.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let first = first.map_or(f64::INFINITY, |&(_, start, host)| end(start, host));
        let mut best: Option<(f64, HostId)> = None;
        for (soonest, start, host) in rooms {
            let least = best.map_or(f64::INFINITY, |(end, _)| end);
            if approx::lt(soonest, least) && !approx::lt(first, soonest) {
                let end = end(start, host);
                if end.is_finite() && approx::lt(end, least) {
                    best = Some((end, host));
                }
            }
        }
        best.map(|(end, host)| (end, self.free_first(host, width)))
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
        let (ends, times) = (vec![None; now.tasks.len()], Default::default());
        let mut pass = Pass { ground, free, ends, times };
        for &task in &order {
            if let TaskState::Running { procs, .. } = now.task(task) {
                let left = 1.0 - now.progress[task.index()];
                let first = procs.first().map(|&first| (first, procs.len()));
                let end = first.map_or(f64::INFINITY, |on| pass.end_of(task, on, now.now, left));
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
