//! The backend that only simulates: operations become activities of the fluid kernel.

use crate::backend::{Backend, BackendError, Computation, Movement, OpId, Reached, Signal};
use slackline_model::activity::{Exec, Transfer};
use slackline_model::platform::{Network, PlanningNetwork, Platform, RouteCache};
use slackline_model::problem::View;
use slackline_model::{HostId, LinkId, ProcId, TaskId};
use slackline_simulate::{ActivityId, Event, Models, Simulation, Step};
use std::collections::BTreeMap;

/// Seconds a task really takes on some processors at their peak.
type Truth<'t> = dyn Fn(TaskId, &[ProcId]) -> f64 + 't;

/// An operation as activities: a wide task keeps one core busy per activity.
struct Operation {
    activities: Vec<ActivityId>,
    left: usize,
    amount: f64,
    /// The ends of a transfer, which stands still while one of them does.
    ends: Option<(HostId, HostId)>,
}

/// Tasks and transfers on a simulated platform.
pub struct Simulated<'p, 't> {
    simulation: Simulation<'p>,
    truth: Box<Truth<'t>>,
    operations: BTreeMap<OpId, Operation>,
    /// Links between the first hosts of every pair of groups, for observing the network.
    group_routes: Vec<Vec<LinkId>>,
    frozen: Vec<bool>,
    network_stale: bool,
}

impl<'p, 't> Simulated<'p, 't> {
    /// A platform at date 0 on which tasks take as long as `truth` says.
    pub fn new(
        platform: &'p Platform,
        models: Models,
        truth: Box<Truth<'t>>,
    ) -> Result<Self, BackendError> {
        let simulation = Simulation::new(platform, models).map_err(failed)?;
        let mut backend = Simulated {
            simulation,
            truth,
            operations: BTreeMap::new(),
            group_routes: Vec::new(),
            frozen: vec![false; platform.hosts().len()],
            network_stale: true,
        };
        for host in platform.host_ids() {
            backend.frozen[host.index()] = backend.simulation.host_speed(host) == 0.0;
        }
        Ok(backend)
    }

    fn stands_still(&self, ends: (HostId, HostId)) -> bool {
        self.frozen[ends.0.index()] || self.frozen[ends.1.index()]
    }

    /// A host without any speed neither sends nor receives.
    fn freeze(&mut self, host: HostId, frozen: bool) {
        if self.frozen[host.index()] == frozen {
            return;
        }
        self.frozen[host.index()] = frozen;
        for operation in self.operations.values() {
            let Some(ends) = operation.ends.filter(|e| e.0 == host || e.1 == host) else {
                continue;
            };
            for &activity in &operation.activities {
                if self.stands_still(ends) {
                    self.simulation.suspend(activity);
                } else {
                    self.simulation.resume(activity);
                }
            }
        }
    }

    fn signal(&mut self, event: Event, signals: &mut Vec<Signal>) {
        match event {
            Event::Done { tag, .. } => {
                let op = OpId(tag);
                let Some(operation) = self.operations.get_mut(&op) else { return };
                operation.left -= 1;
                if operation.left == 0 {
                    self.operations.remove(&op);
                    signals.push(Signal::Done(op));
                }
            }
            Event::Failed { tag, cause, .. } => {
                let op = OpId(tag);
                if self.operations.contains_key(&op) {
                    // The other activities of a wide task end with it.
                    let _ = self.cancel(op);
                    signals.push(Signal::Failed { op, why: format!("{cause:?}") });
                }
            }
            Event::HostSpeed { host, speed } => {
                self.freeze(host, speed == 0.0);
                signals.push(Signal::HostChanged(host));
            }
            Event::HostState { host, on: false } => signals.push(Signal::HostLost(host)),
            Event::HostState { host, on: true } => signals.push(Signal::HostBack(host)),
            Event::LinkBandwidth { .. } | Event::LinkLatency { .. } | Event::LinkState { .. } => {
                self.network_stale = true;
                signals.push(Signal::NetworkChanged);
            }
        }
    }

    /// The links between groups, found once: the first two different hosts stand for the rest.
    fn find_group_routes(&mut self, network: &PlanningNetwork) {
        let platform = self.simulation.platform();
        if !matches!(platform.network(), Network::Zones) {
            return;
        }
        let groups = network.groups;
        let mut members: Vec<Vec<HostId>> = vec![Vec::new(); groups];
        for (host, &group) in network.group_of.iter().enumerate() {
            let members = &mut members[group as usize];
            if members.len() < 2 {
                members.push(HostId::new(host));
            }
        }
        let mut routes = RouteCache::new();
        self.group_routes = vec![Vec::new(); groups * groups];
        for from in 0..groups {
            for to in 0..groups {
                let src = members[from].first();
                let Some((&src, &dst)) = src.zip(members[to].iter().find(|d| Some(*d) != src))
                else {
                    continue;
                };
                if let Ok(route) = routes.route_once(platform, src, dst) {
                    self.group_routes[from * groups + to] = route.links.to_vec();
                }
            }
        }
    }
}

fn failed(error: impl std::fmt::Display) -> BackendError {
    BackendError(error.to_string())
}

impl Backend for Simulated<'_, '_> {
    fn now(&self) -> f64 {
        self.simulation.clock()
    }

    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<(), BackendError> {
        let seconds = (self.truth)(work.task, work.procs);
        let amount = seconds * self.simulation.platform().host(work.host).speed;
        let mut activities = Vec::with_capacity(work.procs.len());
        for _ in work.procs {
            let started = self.simulation.start(Exec::new(work.host, amount), op.0);
            activities.push(started.map_err(failed)?);
        }
        let left = activities.len();
        self.operations.insert(op, Operation { activities, left, amount, ends: None });
        Ok(())
    }

    fn transfer(&mut self, op: OpId, movement: Movement) -> Result<(), BackendError> {
        let Movement { bytes, from, to, .. } = movement;
        let activity =
            self.simulation.start(Transfer::new(from, to, bytes), op.0).map_err(failed)?;
        if self.stands_still((from, to)) {
            self.simulation.suspend(activity);
        }
        let ends = Some((from, to));
        let operation = Operation { activities: vec![activity], left: 1, amount: bytes, ends };
        self.operations.insert(op, operation);
        Ok(())
    }

    fn cancel(&mut self, op: OpId) -> Result<(), BackendError> {
        let Some(operation) = self.operations.remove(&op) else { return Ok(()) };
        for activity in operation.activities {
            self.simulation.cancel(activity).map_err(failed)?;
        }
        Ok(())
    }

    fn progress(&self, op: OpId) -> f64 {
        let Some(operation) = self.operations.get(&op) else { return 0.0 };
        if operation.amount <= 0.0 {
            return 0.0;
        }
        // A wide task is as far as its slowest part.
        let remaining = operation
            .activities
            .iter()
            .filter_map(|&a| self.simulation.remaining(a))
            .fold(0.0, f64::max);
        (1.0 - remaining / operation.amount).clamp(0.0, 1.0)
    }

    fn observe(&mut self, view: &mut View) {
        let platform = self.simulation.platform();
        for host in platform.host_ids() {
            let share = self.simulation.host_speed(host) / platform.host(host).speed;
            let on = self.simulation.host_is_on(host);
            view.availability[host.index()] = if on { share } else { 0.0 };
        }
        if !std::mem::take(&mut self.network_stale) {
            return;
        }
        if self.group_routes.is_empty() {
            self.find_group_routes(&view.network);
        }
        for (pair, links) in self.group_routes.iter().enumerate() {
            if links.is_empty() {
                continue;
            }
            let bandwidth = |&l: &LinkId| {
                if self.simulation.link_is_on(l) { self.simulation.link_bandwidth(l) } else { 0.0 }
            };
            view.network.bandwidth[pair] =
                links.iter().map(bandwidth).fold(f64::INFINITY, f64::min);
        }
    }

    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        let step = self.simulation.step(until).map_err(failed)?;
        for index in 0..self.simulation.events().len() {
            let event = self.simulation.events()[index];
            self.signal(event, signals);
        }
        Ok(match step {
            Step::Instant => Reached::Instant,
            Step::Limit => Reached::Limit,
            Step::Idle => Reached::Idle,
        })
    }

    fn moves(&mut self) -> bool {
        self.simulation.next_date() < f64::INFINITY
    }
}
