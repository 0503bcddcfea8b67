//! A list pass that accounts for contention: HEFT's placement with links that serve one transfer after the
//! other, in the manner of Sinnen's edge scheduling without insertion.
//!
//! Unfinished tasks by falling rank; each goes to the host where it ends first when its inputs
//! queue behind what the tasks placed before have put on the links ([`Turns`]). Inputs come from
//! their nearest copy. In the middle of a run, a task that is placed or runs stays unless another
//! host ends it earlier by a share of its own mean time. O(e h) route lookups for h hosts. Ties:
//! where the task is, then the lowest host, then the processor that is free first, then the lowest.
//!
//! As a planner of its own it gives its placement the dates that all planners give, without contention, so that
//! plans can be compared; its benefit shows when they are run. Where a task is wider than every host, or an
//! input is only on a host that is gone, HEFT plans.

use crate::links::Turns;
use crate::list::{ReadyList, heft, ranks};
use crate::registry::{Algorithm, Basis, Family, PlanError, Request};
use crate::retime;
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::platform::{Network, RouteCache};
use slackline_model::{FileId, HostId, Placement, Problem, ProcId, Schedule, TaskId, approx};
use std::collections::HashMap;

/// Registry entry.
pub const CONTENDED: Algorithm = Algorithm {
    name: "contended",
    family: Family::List,
    basis: Basis::Own,
    about: "falling upward rank, least finish time when transfers queue on links",
    source: "Slackline; edge scheduling after Sinnen, Sousa, IEEE TPDS 16(6), 2005",
    complexity: "O(e p)",
    parameters: &[OCCUPATION],
    needs: &[],
    plan,
};

const OCCUPATION: Parameter = Parameter::new(
    "occupation",
    Kind::Number(0.0, 1.0),
    "1",
    "share of its time for which a transfer keeps others off its links",
);

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let occupation = CONTENDED.values(request)?.number(OCCUPATION.name)?;
    let workflow = problem.workflow();
    let hosts = problem.platform().host_ids();
    let widest = hosts.map(|h| problem.procs_of(h).len()).max().unwrap_or(0);
    let spans = |t: TaskId| workflow.spreads(t) && workflow.width(t).0 as usize > widest;
    let rank = ranks::upward(problem);
    if workflow.tasks().any(spans) {
        return heft::by_rank(problem, &rank);
    }
    let mut ready = ReadyList::new(problem, &rank);
    let mut routes = RouteCache::new();
    let weights = Weights { hysteresis: 0.0, occupation };
    let mut pass = Pass::new(problem, &mut routes, weights, &|_| None);
    let mut schedule = Schedule::start(problem);
    while let Some(task) = ready.pop() {
        let Some(placement) = pass.place(task) else { return heft::by_rank(problem, &rank) };
        schedule.place(task, placement);
    }
    Ok(retime::retimed(problem, &schedule))
}

/// Weights of the pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// A placed task moves for at least this multiple of its mean time.
    pub hysteresis: f64,
    /// Share of its time for which a transfer keeps others off its links: below 1 because ranks
    /// are not dates, and a link reserved in order of rank is idle in between.
    pub occupation: f64,
}

/// Place of a task in the middle of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seat<'a> {
    /// Its processors.
    pub procs: &'a [ProcId],
    /// The part of it that is left, if it computes there.
    pub left: Option<f64>,
}

/// Lookup of the present places of tasks.
pub type Seats<'a> = dyn Fn(TaskId) -> Option<Seat<'a>> + 'a;

/// Places tasks in the given order, which must be topological, those that run included; what can
/// run nowhere is left out. Dates count contention.
pub fn assign<'a>(
    problem: &'a Problem<'_>,
    routes: &'a mut RouteCache,
    order: &[TaskId],
    weights: Weights,
    seats: &'a Seats<'a>,
) -> Vec<(TaskId, Placement)> {
    let mut pass = Pass::new(problem, routes, weights, seats);
    order.iter().filter_map(|&task| Some((task, pass.place(task)?))).collect()
}

/// An input: when it can leave, from where; from its nearest copy where it exists.
#[derive(Clone, Copy)]
struct Input {
    ready: f64,
    from: Option<HostId>,
    file: FileId,
    bytes: f64,
    /// Others read it too.
    shared: bool,
}

/// Host and dates at which a task could run.
#[derive(Clone, Copy)]
struct Offer {
    host: HostId,
    start: f64,
    finish: f64,
}

/// Start and run time of a task on a host if its inputs were there.
#[derive(Clone, Copy)]
struct Room {
    start: f64,
    seconds: f64,
    /// It runs there, and has its inputs.
    runs: bool,
}

struct Pass<'a, 'p> {
    problem: &'a Problem<'p>,
    routes: &'a mut RouteCache,
    weights: Weights,
    seats: &'a Seats<'a>,
    now: f64,
    /// When each processor is free of what was placed so far, and the first of each host.
    free: Vec<f64>,
    first_free: Vec<f64>,
    /// Per task: end and host, once placed.
    finish: Vec<f64>,
    host: Vec<Option<HostId>>,
    turns: Turns,
    /// Arrival of files with several readers at places that will have them.
    shared: HashMap<(FileId, HostId), f64>,
    /// Of the task to be placed: what it needs, when its parents are done, its times on the classes of
    /// processors, and what each host has for it.
    inputs: Vec<Input>,
    parents: f64,
    times: Vec<f64>,
    rooms: Vec<Room>,
}

impl<'a, 'p> Pass<'a, 'p> {
    fn new(
        problem: &'a Problem<'p>,
        routes: &'a mut RouteCache,
        weights: Weights,
        seats: &'a Seats<'a>,
    ) -> Self {
        let now = problem.state().now;
        let mut pass = Pass {
            problem,
            routes,
            weights,
            seats,
            now,
            free: problem.proc_ids().map(|p| problem.available_from(p)).collect(),
            first_free: Vec::new(),
            finish: vec![now; problem.tasks()],
            host: vec![None; problem.tasks()],
            turns: Turns::new(problem.platform(), now),
            shared: HashMap::new(),
            inputs: Vec::new(),
            parents: now,
            times: Vec::new(),
            rooms: Vec::new(),
        };
        let hosts = problem.platform().host_ids();
        pass.first_free = hosts.map(|host| pass.first_free_of(host)).collect();
        for task in problem.workflow().tasks() {
            let fixed = problem.state().fixed(task);
            let Some(placement) = fixed.filter(|p| p.finish > now) else { continue };
            pass.occupy(placement.procs(), placement.finish);
            pass.finish[task.index()] = placement.finish;
            pass.host[task.index()] = Some(problem.host_of(placement.proc()));
        }
        pass
    }

    /// Whether a task has begun and is not done.
    fn runs(&self, task: TaskId) -> bool {
        self.problem.state().fixed(task).is_some_and(|p| p.finish > self.now)
    }

    /// Collects the inputs of a task and its room on each host; returns its present host.
    fn consider(&mut self, task: TaskId) -> Option<HostId> {
        self.gather(task);
        let seat = (self.seats)(task);
        let own = seat.and_then(|s| s.procs.first()).map(|&p| self.problem.host_of(p));
        let problem = self.problem;
        problem.exec_row(task, &mut self.times);
        let width = problem.workflow().width(task).0 as usize;
        let floor = problem.release(task).max(self.parents);
        let mut rooms = std::mem::take(&mut self.rooms);
        rooms.clear();
        let hosts = problem.platform().host_ids();
        rooms.extend(hosts.map(|host| self.room(host, width, floor)));
        if let (Some(own), Some(left)) = (own, seat.and_then(|s| s.left)) {
            let room = &mut rooms[own.index()];
            let start = self.now.max(problem.release(task));
            *room = Room { start, seconds: room.seconds * left, runs: true };
        }
        self.rooms = rooms;
        own
    }

    fn place(&mut self, task: TaskId) -> Option<Placement> {
        let own = self.consider(task);
        let stay = own.and_then(|host| self.offer(host, f64::INFINITY));
        // Where it does not end before this it does not go.
        let margin = self.weights.hysteresis * self.problem.mean_exec(task);
        let limit = stay.map_or(f64::INFINITY, |stay| stay.finish - margin);
        let other = self.best_other(own, limit);
        let other = other.filter(|o| stay.is_none_or(|stay| approx::lt(o.finish, stay.finish)));
        let chosen = other.or(stay)?;
        let procs = match (self.seats)(task) {
            Some(Seat { procs, left: Some(_) }) if Some(chosen.host) == own => procs.to_vec(),
            _ => self.free_first(task, chosen.host),
        };
        self.arrival(chosen.host, true, f64::INFINITY);
        self.occupy(&procs, chosen.finish);
        self.finish[task.index()] = chosen.finish;
        self.host[task.index()] = Some(chosen.host);
        Some(Placement::wide(&procs, chosen.start, chosen.finish))
    }

    /// Returns the host other than the present one on which the task ends first, if by the limit; of equals the
    /// lowest host.
    fn best_other(&mut self, own: Option<HostId>, limit: f64) -> Option<Offer> {
        let platform = self.problem.platform();
        let hosts = || platform.host_ids().filter(|&host| Some(host) != own);
        let ends = |pass: &Self, host: HostId| {
            let Room { start, seconds, .. } = pass.rooms[host.index()];
            start + seconds
        };
        let first = hosts().min_by(|&a, &b| ends(self, a).total_cmp(&ends(self, b)))?;
        if ends(self, first) > limit {
            return None;
        }
        // The most promising host sets the bar for the others.
        let mut best = self.offer(first, limit);
        for host in hosts().filter(|&host| host != first) {
            let bar = best.map_or(limit, |best| best.finish);
            if approx::lt(bar, ends(self, host)) || approx::lt(bar, self.soonest_end(host)) {
                continue;
            }
            let Some(offer) = self.offer(host, bar) else { continue };
            let comes_first = |b: Offer| host < b.host && !approx::lt(b.finish, offer.finish);
            if approx::lt(offer.finish, bar) || best.is_none_or(comes_first) {
                best = Some(offer);
            }
        }
        best.filter(|best| best.finish <= limit)
    }

    /// When the task to be placed would end on a host where it does not run, if its last input had the links
    /// to itself.
    fn soonest_end(&mut self, host: HostId) -> f64 {
        let (problem, platform) = (self.problem, self.problem.platform());
        let Room { start, seconds, .. } = self.rooms[host.index()];
        let arrives = match self.inputs.last() {
            // Where storage is shared a file may have come to a neighbour sooner.
            Some(&Input { ready, from: Some(from), bytes, shared, .. })
                if from != host && !platform.shares_storage() =>
            {
                let in_turn = matches!(platform.network(), Network::Zones) && !shared;
                let route = in_turn.then(|| self.routes.route_id(platform, from, host).ok());
                let leaves = match route.flatten() {
                    Some(route) => self.turns.soonest((&*self.routes, route), ready),
                    None => ready,
                };
                leaves + problem.transfer(bytes, from, host)
            }
            Some(input) => input.ready,
            None => start,
        };
        start.max(arrives) + seconds
    }

    /// Collects the inputs of a task that are not everywhere, in the order in which they can leave.
    fn gather(&mut self, task: TaskId) {
        let (workflow, state) = (self.problem.workflow(), self.problem.state());
        let parents = workflow.predecessors(task).map(|(p, _)| self.finish[p.index()]);
        self.parents = parents.fold(self.now, f64::max);
        self.inputs.clear();
        for file in workflow.inputs(task) {
            let (bytes, shared) = (workflow.file_bytes(file), workflow.consumers(file).len() > 1);
            let input = match workflow.producer(file) {
                None if !state.inputs_listed => continue,
                Some(p) if state.fixed(p).is_none() || self.runs(p) => {
                    let from = self.host[p.index()];
                    let ready = if from.is_some() { self.finish[p.index()] } else { f64::INFINITY };
                    Input { ready, from, file, bytes, shared }
                }
                _ => Input { ready: self.now, from: None, file, bytes, shared },
            };
            self.inputs.push(input);
        }
        self.inputs.sort_by(|a, b| a.ready.total_cmp(&b.ready).then(a.file.cmp(&b.file)));
    }

    /// Computes the room on a host for the task to be placed, with this width and not before a date.
    fn room(&self, host: HostId, width: usize, floor: f64) -> Room {
        let procs = self.problem.procs_of(host);
        if procs.is_empty() {
            return Room { start: f64::INFINITY, seconds: 0.0, runs: false };
        }
        let seconds = self.times[self.problem.class_of(ProcId(procs.start))];
        let free = match width {
            1 => self.first_free[host.index()],
            _ => {
                let mut free: Vec<f64> = self.free_of(host).collect();
                free.sort_by(f64::total_cmp);
                free.get(width - 1).copied().unwrap_or(f64::INFINITY)
            }
        };
        Room { start: free.max(floor), seconds, runs: false }
    }

    /// When the task to be placed would end on a host, unless that is clearly after the limit.
    fn offer(&mut self, host: HostId, limit: f64) -> Option<Offer> {
        let limit = limit + 2.0 * approx::tolerance(limit, limit);
        let Room { start, seconds, runs } = self.rooms[host.index()];
        let start = match runs {
            true => start,
            false => start.max(self.arrival(host, false, limit - seconds)),
        };
        let finish = start + seconds;
        finish.is_finite().then_some(Offer { host, start, finish })
    }

    fn free_of(&self, host: HostId) -> impl Iterator<Item = f64> + '_ {
        self.problem.procs_of(host).map(|p| self.free[p as usize])
    }

    fn first_free_of(&self, host: HostId) -> f64 {
        self.free_of(host).fold(f64::INFINITY, f64::min)
    }

    /// Some processors are taken until a date.
    fn occupy(&mut self, procs: &[ProcId], until: f64) {
        for &proc in procs {
            let free = &mut self.free[proc.index()];
            *free = free.max(until);
            let host = self.problem.host_of(proc);
            self.first_free[host.index()] = self.first_free_of(host);
        }
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

    /// When the gathered inputs are on a host, infinite if they are not by the limit; `keep` leaves their
    /// transfers on the links.
    fn arrival(&mut self, host: HostId, keep: bool, limit: f64) -> f64 {
        let platform = self.problem.platform();
        let mut latest = self.parents;
        self.turns.try_anew();
        let place = platform.place_of(host);
        for index in 0..self.inputs.len() {
            let Input { ready, from, file, bytes, shared } = self.inputs[index];
            if shared && let Some(&known) = self.shared.get(&(file, place)) {
                latest = latest.max(known);
                continue;
            }
            let arrives = match from {
                Some(from) if platform.place_of(from) == place => ready,
                Some(from) => self.send(bytes, from, host, ready, keep),
                None if ready.is_infinite() => ready,
                None => self.fetch(file, bytes, host, keep),
            };
            if shared && keep {
                self.shared.insert((file, place), arrives);
            }
            latest = latest.max(arrives);
            if latest > limit {
                return f64::INFINITY;
            }
        }
        latest
    }

    /// When a file that exists is on a host: at once, when what is on its way has come, or from
    /// the nearest copy.
    fn fetch(&mut self, file: FileId, bytes: f64, to: HostId, keep: bool) -> f64 {
        let (problem, now) = (self.problem, self.now);
        let place = |host| problem.platform().place_of(host);
        let producer = problem.workflow().producer(file).and_then(|p| problem.state().fixed(p));
        let made = producer.map(|p| p.proc()).filter(|&p| problem.available_from(p).is_finite());
        let made = made.map(|p| (problem.host_of(p), now));
        let copies = problem.state().copies_of(file).iter().map(|c| (c.host, c.at.max(now)));
        let copies = copies.chain(made);
        let here = copies.clone().filter(|(host, _)| place(*host) == place(to));
        if let Some(at) = here.map(|(_, at)| at).reduce(f64::min) {
            return at;
        }
        let seconds = |from| problem.transfer(bytes, from, to);
        let nearest = copies
            .filter(|(_, at)| *at <= now)
            .map(|(host, _)| host)
            .min_by(|&a, &b| seconds(a).total_cmp(&seconds(b)).then(a.cmp(&b)));
        nearest.map_or(f64::INFINITY, |from| self.send(bytes, from, to, now, keep))
    }

    /// When a file arrives that leaves in turn with what the links of its route already carry.
    fn send(&mut self, bytes: f64, from: HostId, to: HostId, ready: f64, keep: bool) -> f64 {
        let (problem, platform) = (self.problem, self.problem.platform());
        let (latency, seconds) = problem.network().transfer_times(bytes, from, to);
        if !matches!(platform.network(), Network::Zones) || !seconds.is_finite() {
            return ready + seconds;
        }
        let Ok(route) = self.routes.route_id(platform, from, to) else { return f64::INFINITY };
        let busy = (seconds - latency) * self.weights.occupation;
        self.turns.take((&*self.routes, route), ready, busy, keep) + seconds
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slackline_model::platform::{
        DeclaredRoute, HostSpec, LinkSpec, PlatformBuilder, RoutingKind,
    };
    use slackline_model::schedule::{Limits, validate};
    use slackline_model::{LinkId, Platform, Task, WorkflowBuilder};

    /// Three machines and two of twice the speed behind links of their own, that meet in one.
    fn star() -> Platform {
        let mut b = PlatformBuilder::new("star");
        let zone = b.add_zone(None, "all", RoutingKind::Full).unwrap();
        let middle = b.add_link(LinkSpec::new("middle", 3.0, 0.1)).unwrap();
        let ends: Vec<(HostId, LinkId)> = [1.0, 1.0, 1.0, 2.0, 2.0]
            .iter()
            .enumerate()
            .map(|(i, &speed)| {
                let host = b.add_host(zone, HostSpec::new(format!("h{i}"), speed)).unwrap();
                (host, b.add_link(LinkSpec::new(format!("l{i}"), 2.0, 0.1)).unwrap())
            })
            .collect();
        for (i, from) in ends.iter().enumerate() {
            for to in &ends[i + 1..] {
                let way = DeclaredRoute::between(from.0, to.0, [from.1, middle, to.1]);
                b.add_route(zone, way).unwrap();
            }
        }
        b.build().unwrap()
    }

    proptest! {
        /// Hosts are left out that cannot be best: what is chosen is as good as if all were tried, and a task that
        /// is placed goes elsewhere if, and only if, that pays.
        #[test]
        fn the_best_host_is_not_left_out(
            works in proptest::collection::vec(0.0..20.0, 10),
            edges in proptest::collection::vec((0u32..10, 0u32..10, 0.0..20.0), 0..20),
            places in proptest::collection::vec(proptest::option::of(0u32..5), 10),
            hysteresis in 0.0..1.0,
        ) {
            let platform = star();
            let mut b = WorkflowBuilder::new("random");
            for (i, &work) in works.iter().enumerate() {
                b.add_task(Task::new(format!("t{i}"), work)).unwrap();
            }
            let mut seen = std::collections::BTreeSet::new();
            for &(from, to, bytes) in edges.iter().filter(|e| e.0 < e.1) {
                if seen.insert((from, to)) {
                    b.add_edge(TaskId(from), TaskId(to), bytes).unwrap();
                }
            }
            let workflow = b.build().unwrap();
            let problem = Problem::new(&workflow, &platform).unwrap();
            let procs: Vec<[ProcId; 1]> = (0..5).map(|p| [ProcId(p)]).collect();
            let seats = |task: TaskId| {
                places[task.index()].map(|p| Seat { procs: &procs[p as usize], left: None })
            };
            let mut routes = RouteCache::new();
            let weights = Weights { hysteresis, occupation: 1.0 };
            let mut pass = Pass::new(&problem, &mut routes, weights, &seats);
            for task in workflow.tasks() {
                let own = pass.consider(task);
                let offers: Vec<Offer> =
                    platform.host_ids().filter_map(|h| pass.offer(h, f64::INFINITY)).collect();
                let ends = |host| offers.iter().find(|o| o.host == host).map(|o| o.finish);
                let least = offers.iter().map(|o| o.finish).fold(f64::INFINITY, f64::min);
                let margin = hysteresis * problem.mean_exec(task);
                let placed = pass.place(task).unwrap();
                match own.filter(|&own| problem.host_of(placed.proc()) == own) {
                    Some(own) => prop_assert!(ends(own).unwrap() <= least + margin + 1e-6),
                    None => prop_assert!(approx::eq(placed.finish, least)),
                }
                if let Some(stays) = own.and_then(ends) {
                    prop_assert!(placed.finish <= stays);
                }
            }
        }
    }

    /// A task sends 10 bytes to each of three others, over one link of a byte per second that joins
    /// a slow machine and two that are twice as fast.
    #[test]
    fn transfers_that_share_a_link_wait_for_each_other() {
        let mut b = PlatformBuilder::new("one link");
        let zone = b.add_zone(None, "all", RoutingKind::Full).unwrap();
        let hosts: Vec<HostId> = [1.0, 2.0, 2.0]
            .iter()
            .enumerate()
            .map(|(i, &speed)| b.add_host(zone, HostSpec::new(format!("h{i}"), speed)).unwrap())
            .collect();
        let link = b.add_link(LinkSpec::new("l", 1.0, 0.0)).unwrap();
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            b.add_route(zone, DeclaredRoute::between(hosts[i], hosts[j], [link])).unwrap();
        }
        let platform = b.build().unwrap();
        let mut w = WorkflowBuilder::new("fork");
        for (name, work) in [("a", 1.0), ("b", 30.0), ("c", 30.0), ("d", 30.0)] {
            w.add_task(Task::new(name, work)).unwrap();
        }
        for child in 1..4 {
            w.add_edge(TaskId(0), TaskId(child), 10.0).unwrap();
        }
        let workflow = w.build().unwrap();
        let problem = Problem::new(&workflow, &platform).unwrap();
        let mut routes = RouteCache::new();
        let weights = Weights { hysteresis: 0.0, occupation: 1.0 };
        let order: Vec<TaskId> = workflow.tasks().collect();
        let placed = assign(&problem, &mut routes, &order, weights, &|_| None);
        let ends: Vec<f64> = placed.iter().map(|(_, p)| p.finish).collect();
        // The first task on a fast machine: 0.5 s. One of the others stays with it (15 s), the
        // next is sent (10 s, then 15 s), the last would wait for the link and stays too.
        assert_eq!(ends, [0.5, 15.5, 25.5, 30.5]);
        let schedule = plan(&problem, &Request::default()).unwrap();
        let broken = validate(&problem, &schedule, &Limits::default());
        assert!(broken.is_empty(), "{broken:?}");
        assert!(schedule.makespan() <= 30.5);
    }
}
