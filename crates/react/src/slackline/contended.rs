//! A list pass that knows that transfers meet: HEFT's placement with links that serve one
//! transfer after the other, in the manner of Sinnen's edge scheduling without insertion.
//!
//! Unfinished tasks by falling rank; each goes to the host where it ends first when its inputs
//! queue behind what the tasks placed before have put on the links. A task that is placed or
//! runs stays unless another host ends it earlier by a share of its own mean time. Tasks that can
//! run nowhere are left out. O(e h) route lookups for h hosts. Ties: where the task is, then the
//! lowest host, then the processor that is free first, then the lowest.

use crate::policy::Assignment;
use crate::situation::{Situation, TaskState};
use slackline_model::platform::{Network, RouteCache};
use slackline_model::{FileId, HostId, Problem, ProcId, TaskId, approx};
use std::collections::HashMap;

/// How the pass weighs things.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weights {
    /// A placed task moves for at least this multiple of its mean time.
    pub(super) hysteresis: f64,
    /// Share of its time for which a transfer keeps others off its links: below 1 because ranks
    /// are not dates, and a link reserved in order of rank is idle in between.
    pub(super) occupation: f64,
}

/// Places the unfinished tasks in the given order, which must be topological.
pub(super) fn assign(
    problem: &Problem<'_>,
    now: &Situation,
    routes: &mut RouteCache,
    order: &[TaskId],
    weights: Weights,
) -> Vec<Assignment> {
    let mut pass = Pass::new(problem, now, routes, weights);
    order.iter().filter_map(|&task| pass.place(task)).collect()
}

/// An input: when it can leave, from where; nowhere while it is still on its way.
#[derive(Clone, Copy)]
struct Input {
    ready: f64,
    from: Option<HostId>,
    file: FileId,
}

/// Where and when a task could run.
#[derive(Clone, Copy)]
struct Offer {
    host: HostId,
    finish: f64,
}

struct Pass<'a, 'p> {
    problem: &'a Problem<'p>,
    now: &'a Situation,
    routes: &'a mut RouteCache,
    weights: Weights,
    /// When each processor is free of what was placed so far.
    free: Vec<f64>,
    /// Per task: end and host, once placed.
    finish: Vec<f64>,
    host: Vec<Option<HostId>>,
    /// When each link has served what it was given so far; and the same while an offer is
    /// computed, valid where the stamp is that of the offer.
    link_free: Vec<f64>,
    trial: Vec<(u32, f64)>,
    stamp: u32,
    /// Arrival of files with several readers on hosts that will have them.
    shared: HashMap<(FileId, HostId), f64>,
    inputs: Vec<Input>,
}

impl<'a, 'p> Pass<'a, 'p> {
    fn new(
        problem: &'a Problem<'p>,
        now: &'a Situation,
        routes: &'a mut RouteCache,
        weights: Weights,
    ) -> Self {
        let links = problem.platform().links().len();
        let mut pass = Pass {
            problem,
            now,
            routes,
            weights,
            free: vec![now.now; problem.procs()],
            finish: vec![now.now; problem.tasks()],
            host: vec![None; problem.tasks()],
            link_free: vec![now.now; links],
            trial: vec![(0, 0.0); links],
            stamp: 0,
            shared: HashMap::new(),
            inputs: Vec::new(),
        };
        for task in problem.workflow().tasks() {
            if let TaskState::Running { procs, .. } = now.task(task) {
                let finish = now.now + pass.work(task, now.host(procs));
                procs.iter().for_each(|p| pass.free[p.index()] = finish);
            }
        }
        pass
    }

    /// Remaining seconds of a task if it computes on a host.
    fn work(&self, task: TaskId, host: HostId) -> f64 {
        let first = ProcId(self.problem.procs_of(host).start);
        let whole = self.problem.exec_on(task, first);
        match self.now.task(task) {
            TaskState::Running { procs, .. } if self.now.host(procs) == host => {
                whole * (1.0 - self.now.progress[task.index()])
            }
            _ => whole,
        }
    }

    fn place(&mut self, task: TaskId) -> Option<Assignment> {
        self.gather(task);
        let state = self.now.task(task);
        let own = state.procs().map(|procs| self.now.host(procs));
        let stay = own.and_then(|host| self.offer(task, host, f64::INFINITY));
        let mut best = stay;
        for host in self.problem.platform().host_ids().filter(|&h| Some(h) != own) {
            let limit = best.map_or(f64::INFINITY, |b| b.finish);
            if let Some(offer) = self.offer(task, host, limit) {
                best = Some(offer);
            }
        }
        let margin = self.weights.hysteresis * self.problem.mean_exec(task);
        let chosen = match (stay, best?) {
            (Some(stay), best) if stay.finish - best.finish < margin => stay,
            (_, best) => best,
        };
        let procs = match state {
            TaskState::Running { procs, .. } if Some(chosen.host) == own => procs.clone(),
            _ => self.free_first(task, chosen.host).into(),
        };
        self.arrival(task, chosen.host, true);
        for proc in &procs {
            let free = &mut self.free[proc.index()];
            *free = free.max(chosen.finish);
        }
        self.finish[task.index()] = chosen.finish;
        self.host[task.index()] = Some(chosen.host);
        Some(Assignment { task, procs })
    }

    /// What a task needs that is not everywhere, in the order it can leave.
    fn gather(&mut self, task: TaskId) {
        let workflow = self.problem.workflow();
        self.inputs.clear();
        for file in workflow.inputs(task) {
            let producer = workflow.producer(file);
            let input = match producer {
                None if self.now.inputs_everywhere() => continue,
                Some(p) if !self.now.task(p).is_done() => {
                    let from = self.host[p.index()];
                    let ready = if from.is_some() { self.finish[p.index()] } else { f64::INFINITY };
                    Input { ready, from, file }
                }
                _ => Input { ready: self.now.now, from: None, file },
            };
            self.inputs.push(input);
        }
        self.inputs.sort_by(|a, b| a.ready.total_cmp(&b.ready).then(a.file.cmp(&b.file)));
    }

    /// When a task would end on a host, if before the limit.
    fn offer(&mut self, task: TaskId, host: HostId, limit: f64) -> Option<Offer> {
        let width = self.problem.workflow().width(task).0 as usize;
        let running = matches!(self.now.task(task), TaskState::Running { procs, .. }
            if self.now.host(procs) == host);
        let work = self.work(task, host);
        let free = match width {
            _ if running => self.now.now,
            1 => self.free_of(host).fold(f64::INFINITY, f64::min),
            _ => {
                let mut free: Vec<f64> = self.free_of(host).collect();
                free.sort_by(f64::total_cmp);
                *free.get(width - 1)?
            }
        };
        let soonest = free + work;
        if !self.now.is_alive(host) || !soonest.is_finite() || !approx::lt(soonest, limit) {
            return None;
        }
        let start = if running { free } else { free.max(self.arrival(task, host, false)) };
        let finish = start + work;
        (finish.is_finite() && approx::lt(finish, limit)).then_some(Offer { host, finish })
    }

    fn free_of(&self, host: HostId) -> impl Iterator<Item = f64> + '_ {
        self.problem.procs_of(host).map(|p| self.free[p as usize])
    }

    /// The processors of a host that are free first, as many as the task needs, in order.
    fn free_first(&self, task: TaskId, host: HostId) -> Vec<ProcId> {
        let width = self.problem.workflow().width(task).0 as usize;
        let mut procs: Vec<ProcId> = self.problem.procs_of(host).map(ProcId).collect();
        procs.sort_by(|a, b| self.free[a.index()].total_cmp(&self.free[b.index()]).then(a.cmp(b)));
        procs.truncate(width);
        procs.sort_unstable();
        procs
    }

    /// When the gathered inputs are on a host; `commit` leaves their transfers on the links.
    fn arrival(&mut self, task: TaskId, host: HostId, commit: bool) -> f64 {
        let workflow = self.problem.workflow();
        let parents = workflow.predecessors(task).map(|(p, _)| self.finish[p.index()]);
        let mut latest = parents.fold(self.now.now, f64::max);
        self.stamp += 1;
        for index in 0..self.inputs.len() {
            let Input { ready, from, file } = self.inputs[index];
            let shared = workflow.consumers(file).len() > 1;
            let place = self.now.place_of(host);
            if shared && let Some(&known) = self.shared.get(&(file, place)) {
                latest = latest.max(known);
                continue;
            }
            let arrives = match from {
                Some(from) if self.now.place_of(from) == place => ready,
                Some(from) => self.send(file, from, host, ready, commit),
                None if ready.is_infinite() => ready,
                None => self.fetch(file, host, commit),
            };
            if shared && commit {
                self.shared.insert((file, place), arrives);
            }
            latest = latest.max(arrives);
        }
        latest
    }

    /// When a file that exists is on a host: at once, when what is on its way has come, or from
    /// the nearest holder.
    fn fetch(&mut self, file: FileId, to: HostId, commit: bool) -> f64 {
        if self.now.has(file, to) {
            return self.now.now;
        }
        let bytes = self.now.workflow.file_bytes(file);
        let network = &self.now.view.network;
        if let Some(copy) = self.now.copy(file, to)
            && let Some(from) = copy.from.as_ref().and_then(|holders| holders.host())
        {
            return self.now.now + network.transfer_time(bytes, from, to) * (1.0 - copy.fraction);
        }
        let seconds = |from| network.transfer_time(bytes, from, to);
        let nearest = self
            .now
            .holders(file)
            .min_by(|&a, &b| seconds(a).total_cmp(&seconds(b)).then(a.cmp(&b)));
        nearest.map_or(f64::INFINITY, |from| self.send(file, from, to, self.now.now, commit))
    }

    /// When a file arrives that leaves in turn with what the links of its route already carry.
    fn send(&mut self, file: FileId, from: HostId, to: HostId, ready: f64, commit: bool) -> f64 {
        let bytes = self.now.workflow.file_bytes(file);
        let network = &self.now.view.network;
        let seconds = network.transfer_time(bytes, from, to);
        let platform = self.problem.platform();
        if !matches!(platform.network(), Network::Zones) || !seconds.is_finite() {
            return ready + seconds;
        }
        let Ok(route) = self.routes.route(platform, from, to) else { return f64::INFINITY };
        let stamp = self.stamp;
        let mut start = ready;
        for link in route.links {
            let (when, free) = self.trial[link.index()];
            let free = if when == stamp { free } else { self.link_free[link.index()] };
            start = start.max(free);
        }
        let nominal = route.bandwidth(platform.links());
        let held = (seconds - network.transfer_time(0.0, from, to)) * self.weights.occupation;
        for link in route.links {
            let until = start + held * (nominal / platform.link(*link).bandwidth);
            self.trial[link.index()] = (stamp, until);
            if commit {
                self.link_free[link.index()] = until;
            }
        }
        start + seconds
    }
}
