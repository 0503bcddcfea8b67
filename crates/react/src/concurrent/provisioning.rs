//! Number of leased machines an ensemble holds (the provisioning of DPDS, recalled).
//!
//! At the start as many are ordered as the budget can hold until the deadline, of the kind on which
//! the work costs least. From then on the fleet is evaluated ten times per billing period: where more
//! than 90 % of its processors are busy while tasks wait, one more machine is ordered, up to the first
//! number and if the budget can hold it until the deadline; where less than 70 % are, half of the idle
//! machines are given back, each before it would begin another period. What is given back frees
//! money for later.

use crate::policy::Decision;
use crate::situation::Situation;
use slackline_model::platform::Billing;
use slackline_model::schedule::{Lease, Limits};
use slackline_model::{ClassId, HostId, Problem, ProcId, TaskId, approx};
use slackline_schedule::PlanError;

/// Shares of busy processors above and below which the fleet grows and shrinks.
const HIGH: f64 = 0.9;
const LOW: f64 = 0.7;

/// Looks per billing period; where time is billed exactly, per the time until the deadline.
const LOOKS: f64 = 10.0;

/// Looks until the deadline at most.
const MOST_LOOKS: f64 = 1000.0;

/// The machines of an ensemble; none where nothing can be leased.
#[derive(Clone, Debug)]
pub(super) struct Provisioning {
    budget: f64,
    deadline: f64,
    class: ClassId,
    billing: Billing,
    /// Money per second of one machine.
    price: f64,
    /// Upper bound of machines held.
    most: usize,
    next_look: f64,
    /// When machines were last ordered, and how many: the situation knows of them afterwards.
    ordered: (f64, usize),
}

/// The tasks that fit neither on a machine, such as is leased, nor on a host that is not leased.
fn misfits<'a>(
    problem: &'a Problem<'_>,
    leased: Option<HostId>,
) -> impl Iterator<Item = TaskId> + 'a {
    let (workflow, platform) = (problem.workflow(), problem.platform());
    let owned = move |host: &HostId| !platform.class(platform.host(*host).class).leasable;
    workflow.tasks().filter(move |&task| {
        let own = platform.host_ids().filter(owned);
        !leased.into_iter().chain(own).any(|host| problem.fits(task, host))
    })
}

/// Fails where no kind of machine fits all tasks that our own hosts do not: a fleet is of one kind.
pub(super) fn check(problem: &Problem<'_>) -> Result<(), PlanError> {
    let kinds = problem.platform().classes().iter().filter(|class| class.leasable);
    let first = kinds.filter_map(|class| class.hosts.first().copied());
    let left: Option<Vec<TaskId>> = first.map(|host| misfits(problem, Some(host)).next()).collect();
    match left.as_deref() {
        Some(&[task, ..]) => {
            let name = problem.workflow().task_name(task);
            let why = format!(
                "machines of one kind are leased, and none fits task '{name}' and all others"
            );
            Err(PlanError::Unsupported { algorithm: "an ensemble", why })
        }
        _ => Ok(()),
    }
}

impl Provisioning {
    /// Chooses the kind of machine and orders the first ones.
    pub(super) fn order(
        problem: &Problem<'_>,
        now: &Situation,
        limits: &Limits,
        decisions: &mut Vec<Decision>,
    ) -> Result<Option<Provisioning>, String> {
        // Hosts that are away for now fit what they fit when they are back.
        let nominal = now.nominal_problem().map_err(|e| e.to_string())?;
        // Of the kinds of which the budget holds a machine, the one that fits what our own hosts do not, and on
        // which the work costs least.
        let mut best: Option<((usize, f64), Provisioning)> = None;
        let classes = problem.platform().classes().iter().enumerate().filter(|(_, c)| c.leasable);
        for (index, class) in classes {
            let Some(&first) = class.hosts.first() else { continue };
            let Some(proc) = problem.procs_of(first).next().map(ProcId) else { continue };
            let fits = |t: &TaskId| problem.fits(*t, first);
            let seconds = now.workflow.tasks().filter(fits).map(|t| problem.exec_on(t, proc));
            let work = seconds.sum::<f64>() * problem.platform().host(first).price;
            let left = misfits(&nominal, Some(first)).count();
            let fleet = Provisioning::of(problem, now, limits, (ClassId::new(index), first));
            let better = best.as_ref().is_none_or(|&((least, cost), _)| {
                left < least || left == least && approx::lt(work, cost)
            });
            if fleet.most > 0 && better {
                best = Some(((left, work), fleet));
            }
        }
        let chosen = best
            .as_ref()
            .and_then(|(_, fleet)| problem.platform().class(fleet.class).hosts.first().copied());
        if let Some(task) = misfits(&nominal, chosen).next() {
            let name = now.workflow.task_name(task);
            return Err(format!("the budget holds no machine that fits '{name}' and all others"));
        }
        let Some((_, mut fleet)) = best else { return Ok(None) };
        let count = fleet.most.min(now.workflow.len());
        decisions.extend((0..count).map(|_| Decision::Lease(fleet.class)));
        fleet.ordered = (now.now, count);
        fleet.next_look = now.now + fleet.billing.setup + fleet.between();
        Ok(Some(fleet))
    }

    /// As many machines of a kind as the budget holds until the deadline.
    fn of(
        problem: &Problem<'_>,
        now: &Situation,
        limits: &Limits,
        (class, host): (ClassId, HostId),
    ) -> Provisioning {
        let (kind, host) = (problem.platform().class(class), problem.platform().host(host));
        let mut fleet = Provisioning {
            budget: limits.budget.unwrap_or(f64::INFINITY),
            deadline: limits.deadline.unwrap_or(f64::INFINITY),
            class,
            billing: kind.billing,
            price: host.price * f64::from(host.cores),
            most: kind.hosts.len(),
            next_look: f64::INFINITY,
            ordered: (now.now, 0),
        };
        let cost = fleet.cost(now.now + fleet.billing.setup, fleet.deadline);
        if cost > 0.0 && fleet.budget.is_finite() {
            let held = (fleet.budget / cost + 1e-9).floor();
            fleet.most = held.clamp(0.0, fleet.most as f64) as usize;
        }
        fleet
    }

    /// Money for one machine from one date to another.
    fn cost(&self, from: f64, to: f64) -> f64 {
        self.billing.billed_seconds(to - from) * self.price
    }

    /// Money for all its machines, those that are open until the deadline.
    pub(super) fn committed(&self, now: &Situation) -> f64 {
        let own = || now.leases.iter().filter(|l| l.class == self.class);
        let known =
            own().map(|l| self.cost(l.from, if l.is_open() { self.deadline } else { l.to }));
        let (date, count) = self.ordered;
        let ready = date + self.billing.setup;
        let coming = if approx::le(now.now, date) {
            count.saturating_sub(own().filter(|l| approx::le(ready, l.from)).count())
        } else {
            0
        };
        known.sum::<f64>() + coming as f64 * self.cost(ready, self.deadline)
    }

    fn period(&self) -> f64 {
        if self.billing.quantum > 0.0 { self.billing.quantum } else { self.deadline }
    }

    fn between(&self) -> f64 {
        (self.period() / LOOKS).max(self.deadline / MOST_LOOKS).max(f64::MIN_POSITIVE)
    }

    /// Date of the next evaluation.
    pub(super) fn next_look(&self) -> f64 {
        self.next_look
    }

    /// Grows or shrinks; `idle` are the processors that got no task, `waits` whether one waits,
    /// `spent` what else was paid.
    pub(super) fn scale(
        &mut self,
        problem: &Problem<'_>,
        now: &Situation,
        (idle, waits, spent): (&[bool], bool, f64),
        decisions: &mut Vec<Decision>,
    ) {
        if approx::lt(now.now, self.next_look) {
            return;
        }
        self.next_look = now.now + self.between();
        let open = || now.leases.iter().filter(|l| l.class == self.class && l.is_open());
        let there: Vec<&Lease> = open().filter(|l| approx::le(l.from, now.now)).collect();
        let procs = |l: &Lease| problem.procs_of(l.host).map(|p| idle[p as usize]);
        let all: usize = there.iter().map(|l| procs(l).count()).sum();
        let unused: usize = there.iter().map(|l| procs(l).filter(|idle| *idle).count()).sum();
        let busy = if all > 0 { (all - unused) as f64 / all as f64 } else { 1.0 };
        if waits && busy > HIGH {
            let another = self.cost(now.now + self.billing.setup, self.deadline);
            let money = spent + self.committed(now) + another;
            let in_time = now.now + self.billing.setup < self.deadline;
            if open().count() < self.most && in_time && approx::le(money, self.budget) {
                decisions.push(Decision::Lease(self.class));
                self.ordered = (now.now, 1);
            }
        } else if busy < LOW {
            let rests = |l: &&&Lease| procs(l).all(|idle| idle);
            let resting: Vec<&&Lease> = there.iter().filter(rests).collect();
            let ends_soon = |l: &&&&Lease| {
                let used = now.now - l.from;
                let paid = self.billing.billed_seconds(used.max(f64::MIN_POSITIVE));
                self.billing.quantum <= 0.0 || paid - used <= self.between()
            };
            let leave = resting.iter().filter(ends_soon).take(resting.len() / 2);
            decisions.extend(leave.map(|l| Decision::Release(l.host)));
        }
    }
}
