//! Machines that exist only while leased: ordered in time for the first task that is to run there,
//! given back after the last. Only to compute a machine has to be leased; what is on it can be read
//! and written at any time.

use super::Engine;
use crate::backend::{Accepted, BackendError, OpError, OpId, Order};
use slackline_model::schedule::Lease;
use slackline_model::trace::Happening;
use slackline_model::{ClassId, HostId, Platform, ProcId, approx};
use slackline_react::{Event, Plan};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// State of a leased machine.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LeaseState {
    /// It is always there.
    Owned,
    Absent,
    /// With the date at which the plan expects it to be needed no more.
    Ordered(OpId, f64),
    Ready(OpId, f64),
}

/// When a machine is expected that should be there by some date: one that is late as much later again.
fn expected(due: f64, now: f64) -> f64 {
    due.max(now + (now - due))
}

/// All machines of a platform; empty where none has to be leased.
pub(super) struct Leases {
    tenure: Vec<LeaseState>,
    /// Per host: its processors.
    procs: Vec<Range<u32>>,
    by_op: BTreeMap<OpId, HostId>,
    /// Machines that the policy asked for by itself: kept until it gives them back.
    held: BTreeSet<HostId>,
    /// Per host: leases of the plan that have not been ordered.
    planned: Vec<VecDeque<Lease>>,
    /// Per host: when what is ordered should be there.
    due: Vec<f64>,
    /// Number of times a machine did not come, or went away unasked.
    failures: BTreeMap<HostId, u32>,
}

impl Leases {
    pub(super) fn new(platform: &Platform) -> Leases {
        let leasable = |h: HostId| platform.class(platform.host(h).class).leasable;
        let mut leases = Leases {
            tenure: Vec::new(),
            procs: Vec::new(),
            by_op: BTreeMap::new(),
            held: BTreeSet::new(),
            planned: Vec::new(),
            due: Vec::new(),
            failures: BTreeMap::new(),
        };
        if platform.host_ids().any(leasable) {
            let mut next = 0;
            for host in platform.host_ids() {
                leases.tenure.push(if leasable(host) {
                    LeaseState::Absent
                } else {
                    LeaseState::Owned
                });
                let first = next;
                next += platform.host(host).cores;
                leases.procs.push(first..next);
                leases.planned.push(VecDeque::new());
                leases.due.push(0.0);
            }
        }
        leases
    }

    fn is_empty(&self) -> bool {
        self.tenure.is_empty()
    }

    /// Whether a machine can compute.
    fn is_there(&self, host: HostId) -> bool {
        self.is_empty()
            || matches!(self.tenure[host.index()], LeaseState::Owned | LeaseState::Ready(..))
    }

    fn is_absent(&self, host: HostId) -> bool {
        self.tenure.get(host.index()) == Some(&LeaseState::Absent)
    }

    fn next_of(&self, host: HostId) -> Option<&Lease> {
        self.planned[host.index()].front()
    }

    /// Machines that are there or ordered, with their leases and until when they are expected to serve.
    fn open(&self) -> Vec<(HostId, OpId, f64)> {
        let open = |(host, tenure): (usize, &LeaseState)| match *tenure {
            LeaseState::Ordered(op, until) | LeaseState::Ready(op, until) => {
                Some((HostId::new(host), op, until))
            }
            LeaseState::Owned | LeaseState::Absent => None,
        };
        self.tenure.iter().enumerate().filter_map(open).collect()
    }
}

impl Engine<'_, '_> {
    /// Whether all the machines of some processors can compute.
    pub(super) fn are_there(&self, procs: &[ProcId]) -> bool {
        let there = |p: &ProcId| self.leases.is_there(self.situation.host_of[p.index()]);
        self.leases.is_empty() || procs.iter().all(there)
    }

    /// When a machine has to be ordered, or to be given back before its next lease.
    pub(super) fn next_lease(&self) -> f64 {
        let next = self.leases.planned.iter().filter_map(VecDeque::front);
        let orders = next.map(|l| l.from - self.setup(l.host));
        let ends = self.leases.open().into_iter().filter(|(host, _, until)| {
            *until > self.situation.now && self.leases.next_of(*host).is_some()
        });
        orders.chain(ends.map(|(.., until)| until)).fold(f64::INFINITY, f64::min)
    }

    fn setup(&self, host: HostId) -> f64 {
        let platform = &self.situation.platform;
        platform.class(platform.host(host).class).billing.setup
    }

    /// Whether a task runs or is to run on a machine.
    fn has_work(&self, host: HostId) -> bool {
        self.leases.procs[host.index()].clone().any(|p| self.queues.length(ProcId(p)) > 0)
    }

    /// Takes over the leases of a plan for the machines that it uses.
    pub(super) fn follow_leases(&mut self, plan: &Plan) {
        if self.leases.is_empty() {
            return;
        }
        self.leases.planned.iter_mut().for_each(VecDeque::clear);
        let mut planned: Vec<&Lease> = plan.leases.iter().collect();
        planned.sort_by(|a, b| a.from.total_cmp(&b.from));
        for lease in planned {
            if self.has_work(lease.host) {
                self.leases.planned[lease.host.index()].push_back(lease.clone());
            }
        }
    }

    /// The policy puts a task on processors by itself: it keeps the machines until it gives them back.
    pub(super) fn hold(&mut self, procs: &[ProcId]) {
        if self.leases.is_empty() {
            return;
        }
        for proc in procs {
            let host = self.situation.host_of[proc.index()];
            if self.leases.tenure[host.index()] != LeaseState::Owned {
                self.leases.held.insert(host);
            }
        }
    }

    /// Postpones the expected arrival of ordered machines that are late.
    pub(super) fn expect_leases(&mut self) {
        for lease in self.situation.leases.iter_mut().filter(|l| l.is_open()) {
            let host = lease.host.index();
            if matches!(self.leases.tenure[host], LeaseState::Ordered(..)) {
                lease.from = expected(self.leases.due[host], self.situation.now);
            }
        }
    }

    /// Orders the machines whose time has come: those of the plan when it says so, others as soon as
    /// there is work for them.
    pub(super) fn order_machines(&mut self) -> Result<(), BackendError> {
        if self.leases.is_empty() {
            return Ok(());
        }
        let now = self.situation.now;
        for host in self.situation.platform.clone().host_ids() {
            let due = match self.leases.next_of(host) {
                Some(lease) => {
                    let due = approx::le(lease.from - self.setup(host), now);
                    due.then_some(lease.to)
                }
                None if self.leases.is_absent(host) && self.has_work(host) => Some(f64::INFINITY),
                None => None,
            };
            let Some(until) = due else { continue };
            self.leases.planned[host.index()].pop_front();
            match &mut self.leases.tenure[host.index()] {
                // What runs still, or again, continues.
                LeaseState::Ordered(_, end) | LeaseState::Ready(_, end) => *end = until,
                LeaseState::Owned => {}
                LeaseState::Absent if !self.situation.is_alive(host) => {}
                LeaseState::Absent => self.order(host, until)?,
            }
        }
        Ok(())
    }

    fn order(&mut self, host: HostId, until: f64) -> Result<(), BackendError> {
        let op = OpId(self.operations.next_op);
        self.operations.next_op += 1;
        self.stir();
        let class = self.situation.platform.host(host).class;
        let from = self.situation.now + self.setup(host);
        self.leases.due[host.index()] = from;
        self.situation.leases.push(Lease { class, host, from, to: f64::INFINITY });
        self.leases.tenure[host.index()] = LeaseState::Ordered(op, until);
        self.leases.by_op.insert(op, host);
        let until = until.is_finite().then_some(until);
        match self.backend.lease(op, Order { host, until }) {
            Ok(Accepted::Running) => self.lease_ready(op, self.situation.now),
            Ok(Accepted::Waiting) => {}
            Err(error) => self.lease_ended(op, self.situation.now, Some(&error))?,
        }
        Ok(())
    }

    /// Machines that were leased or ordered before this engine began stay so; the backend knows how
    /// far they are.
    pub(super) fn go_on_leasing(&mut self) -> Result<(), BackendError> {
        let (open, over) = self.situation.leases.drain(..).partition(Lease::is_open);
        self.situation.leases = over;
        let open: Vec<Lease> = open;
        open.iter().try_for_each(|lease| self.order(lease.host, f64::INFINITY))
    }

    /// A machine that was ordered is there.
    pub(super) fn lease_ready(&mut self, op: OpId, at: f64) {
        self.stir();
        let Some(&host) = self.leases.by_op.get(&op) else { return };
        let tenure = &mut self.leases.tenure[host.index()];
        let LeaseState::Ordered(ordered, until) = *tenure else { return };
        if ordered != op {
            return; // an order that was taken back
        }
        *tenure = LeaseState::Ready(op, until);
        if let Some(lease) = self.running_lease(host) {
            lease.from = at;
        }
        self.log(Happening::LeaseReady { host });
        self.instant.events.push(Event::LeaseReady(host));
        let procs: Vec<ProcId> = self.leases.procs[host.index()].clone().map(ProcId).collect();
        self.queues.touch(&procs);
    }

    fn running_lease(&mut self, host: HostId) -> Option<&mut Lease> {
        self.situation.leases.iter_mut().find(|l| l.host == host && l.is_open())
    }

    /// A machine is not there any more; what had to run there still needs another, or the same again.
    pub(super) fn lease_ended(
        &mut self,
        op: OpId,
        at: f64,
        error: Option<&OpError>,
    ) -> Result<(), BackendError> {
        self.stir();
        let Some(host) = self.leases.by_op.remove(&op) else { return Ok(()) };
        let (LeaseState::Ordered(current, _) | LeaseState::Ready(current, _)) =
            self.leases.tenure[host.index()]
        else {
            return self.lease_is_over(host, at);
        };
        if current != op {
            return self.lease_is_over(host, at);
        }
        self.close_lease(host, at);
        self.instant.events.push(Event::LeaseEnded(host));
        let failures = self.leases.failures.entry(host).or_default();
        *failures += 1;
        let hopeless = *failures > self.settings.retries;
        if hopeless || matches!(error, Some(OpError::Refused(_))) {
            return self.host_lost(host, true);
        }
        Ok(())
    }

    /// A machine that was given back is gone: it was paid until then.
    fn lease_is_over(&mut self, host: HostId, at: f64) -> Result<(), BackendError> {
        let mut leases = self.situation.leases.iter_mut().rev();
        if let Some(lease) = leases.find(|l| l.host == host && !l.is_open()) {
            lease.to = lease.to.max(at);
        }
        self.instant.events.push(Event::LeaseEnded(host));
        Ok(())
    }

    /// Notes that a lease is over; what never came is forgotten.
    fn close_lease(&mut self, host: HostId, at: f64) {
        let was_there = matches!(self.leases.tenure[host.index()], LeaseState::Ready(..));
        self.leases.tenure[host.index()] = LeaseState::Absent;
        self.leases.held.remove(&host);
        if was_there {
            self.log(Happening::LeaseEnded { host });
            if let Some(lease) = self.running_lease(host) {
                lease.to = at.max(lease.from);
            }
        } else {
            self.situation.leases.retain(|l| l.host != host || !l.is_open());
        }
    }

    fn give_back(&mut self, host: HostId, op: OpId) -> Result<(), BackendError> {
        self.close_lease(host, self.situation.now);
        self.backend.release(op)
    }

    /// Gives back what has nothing left to do, and what is idle between two leases.
    pub(super) fn give_machines_back(&mut self) -> Result<(), BackendError> {
        if self.leases.is_empty() {
            return Ok(());
        }
        let now = self.situation.now;
        for (host, op, until) in self.leases.open() {
            let mut procs = self.leases.procs[host.index()].clone();
            let idle = procs.all(|p| !self.queues.busy[p as usize]);
            let between = approx::le(until, now) && self.leases.next_of(host).is_some();
            let serves = if between { !idle } else { self.has_work(host) };
            if !serves && !self.leases.held.contains(&host) {
                self.give_back(host, op)?;
            }
        }
        Ok(())
    }

    /// The run is over.
    pub(crate) fn give_all_back(&mut self) -> Result<(), BackendError> {
        for (host, op, _) in self.leases.open() {
            self.give_back(host, op)?;
        }
        Ok(())
    }

    /// Orders a machine of a class that is not there yet.
    pub(super) fn lease_one(&mut self, class: ClassId) -> Result<Result<(), String>, BackendError> {
        let platform = self.situation.platform.clone();
        let Some(class) = platform.classes().get(class.index()) else {
            return Ok(Err("there is no such class of machines".to_string()));
        };
        let free = |h: &&HostId| self.leases.is_absent(**h) && self.situation.is_alive(**h);
        match class.hosts.iter().find(free) {
            None if !class.leasable => Ok(Err(format!("'{}' is not for lease", class.name))),
            None => Ok(Err(format!("no machine of '{}' is left to lease", class.name))),
            Some(&host) => {
                self.leases.held.insert(host);
                self.order(host, f64::INFINITY)?;
                Ok(Ok(()))
            }
        }
    }

    /// Gives a machine back on which nothing is to run any more.
    pub(super) fn release(&mut self, host: HostId) -> Result<Result<(), String>, BackendError> {
        let open = self.leases.open().into_iter().find(|(h, ..)| *h == host);
        let Some((_, op, _)) = open else {
            return Ok(Err("only a machine that is leased can be given back".to_string()));
        };
        if self.has_work(host) {
            let name = &self.situation.platform.host(host).name;
            return Ok(Err(format!("'{name}' still has tasks to run")));
        }
        self.give_back(host, op)?;
        Ok(Ok(()))
    }
}
