//! Cost of tasks on each kind of machine: the exact seconds they compute, or, for machines that are paid as a
//! whole, the addition to the bill.

use super::Offer;
use crate::list::Partial;
use crate::registry::PlanError;
use slackline_model::schedule::{self, Schedule, in_use};
use slackline_model::{ClassId, HostId, Problem, ProcId, TaskId};
use std::collections::HashMap;

/// Processors that differ neither in time nor in price: the papers' clusters.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// Cost class of the problem.
    class: usize,
    price: f64,
    /// Processors that are not gone.
    usable: u32,
    /// Most of them on one host: wider tasks cannot go there.
    widest: u32,
}

/// Costs of tasks by kind of machine; kinds are numbered by their first processor.
pub struct Prices<'a, 'p> {
    problem: &'a Problem<'p>,
    kinds: Vec<Kind>,
    /// Per processor.
    kind_of: Vec<u32>,
    /// No machine is paid as a whole.
    exact: bool,
}

/// First start and last end of everything on each machine, for machines that are paid as a whole: a task
/// costs there what it adds to the bill. Empty where time is billed exactly.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage(Vec<Option<(f64, f64)>>);

impl Usage {
    /// Counts a placed task.
    pub(super) fn add(&mut self, partial: &Partial<'_, '_>, task: TaskId) {
        if self.0.is_empty() {
            return;
        }
        let Some(placement) = partial.placement(task) else { return };
        for host in partial.problem().hosts_of(placement.procs()) {
            let span = &mut self.0[host.index()];
            *span = Some(widened(*span, (placement.start, placement.finish)));
        }
    }
}

fn widened(span: Option<(f64, f64)>, other: (f64, f64)) -> (f64, f64) {
    span.map_or(other, |(from, to)| (from.min(other.0), to.max(other.1)))
}

impl<'a, 'p> Prices<'a, 'p> {
    /// The prices of a problem's machines.
    pub fn new(problem: &'a Problem<'p>) -> Self {
        let platform = problem.platform();
        let mut known: HashMap<(ClassId, usize), u32> = HashMap::new();
        let (mut kinds, mut kind_of) = (Vec::<Kind>::new(), Vec::new());
        for host in platform.host_ids() {
            let procs = problem.procs_of(host).map(ProcId);
            let usable = procs.clone().filter(|&p| problem.available_from(p).is_finite()).count();
            for proc in procs {
                let class = problem.class_of(proc);
                let kind = *known.entry((platform.host(host).class, class)).or_insert_with(|| {
                    let price = problem.price(proc);
                    kinds.push(Kind { class, price, usable: 0, widest: 0 });
                    kinds.len() as u32 - 1
                });
                kind_of.push(kind);
            }
            if let Some(kind) = kind_of.last().map(|&k| &mut kinds[k as usize]) {
                kind.usable += usable as u32;
                kind.widest = kind.widest.max(usable as u32);
            }
        }
        let exact = !platform.classes().iter().any(|class| class.is_billed_whole());
        Prices { problem, kinds, kind_of, exact }
    }

    /// Whether every machine is paid by the task, at exact seconds.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// The use of machines by what is done or running.
    pub(crate) fn usage(&self) -> Usage {
        if self.exact {
            return Usage::default();
        }
        let fixed = self.problem.state().fixed.iter().flatten();
        Usage(in_use(self.problem, fixed.map(|p| (p.procs(), p.start, p.finish))))
    }

    /// Cost of a plan: at exact seconds where time is billed so, else its bill.
    pub fn of_plan(&self, schedule: &Schedule) -> f64 {
        match self.exact {
            true => exact_cost(self.problem, schedule),
            false => schedule::cost(self.problem, schedule),
        }
    }

    /// Addition of a stretch of computation to the bill of its machine.
    fn surcharge(&self, usage: &Usage, host: HostId, stretch: (f64, f64)) -> f64 {
        let span = usage.0.get(host.index()).copied().flatten();
        let machine = self.problem.platform().host(host);
        let billing = self.problem.platform().class(machine.class).billing;
        let bill = |(from, to): (f64, f64)| {
            billing.billed_seconds(to - from) * machine.price * f64::from(machine.cores)
        };
        bill(widened(span, stretch)) - span.map_or(0.0, bill)
    }

    /// Cost of a task in a slot: its seconds, or what it adds to the bill of its machine.
    #[inline]
    pub(crate) fn offered(
        &self,
        usage: &Usage,
        task: TaskId,
        proc: ProcId,
        slot: (f64, f64),
    ) -> f64 {
        let host = self.problem.host_of(proc);
        let class = self.problem.platform().host(host).class;
        match !self.exact && self.problem.platform().class(class).is_billed_whole() {
            true => self.surcharge(usage, host, slot),
            false => self.cost_on(task, proc),
        }
    }

    /// Number of kinds.
    pub fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// Kind of a processor.
    #[inline]
    pub fn kind_of(&self, proc: ProcId) -> usize {
        self.kind_of[proc.index()] as usize
    }

    /// Seconds of a task on a kind; infinite where it cannot go.
    #[inline]
    pub fn seconds(&self, task: TaskId, kind: usize) -> f64 {
        let kind = &self.kinds[kind];
        match self.problem.workflow().width(task).0 > kind.widest {
            true => f64::INFINITY,
            false => self.problem.exec(task, kind.class),
        }
    }

    /// Cost of a task on a kind; infinite where it cannot go.
    #[inline]
    pub fn cost(&self, task: TaskId, kind: usize) -> f64 {
        let seconds = self.seconds(task, kind);
        match seconds.is_finite() {
            true => seconds * self.kinds[kind].price * self.width(task),
            false => f64::INFINITY,
        }
    }

    /// Cost of a task on a processor.
    pub fn cost_on(&self, task: TaskId, proc: ProcId) -> f64 {
        self.cost(task, self.kind_of(proc))
    }

    fn width(&self, task: TaskId) -> f64 {
        f64::from(self.problem.workflow().width(task).0)
    }

    fn costs(&self, task: TaskId) -> impl Iterator<Item = (f64, u32)> + '_ {
        let cost = move |kind: usize| (self.cost(task, kind), self.kinds[kind].usable);
        (0..self.kinds.len()).map(cost).filter(|(cost, _)| cost.is_finite())
    }

    /// Least cost of a task over all processors; infinite where none can run it.
    pub fn least(&self, task: TaskId) -> f64 {
        self.costs(task).map(|(cost, _)| cost).fold(f64::INFINITY, f64::min)
    }

    /// Largest cost of a task over the processors that can run it.
    pub fn most(&self, task: TaskId) -> f64 {
        self.costs(task).map(|(cost, _)| cost).fold(0.0, f64::max)
    }

    /// Mean cost of a task over the processors that can run it.
    pub fn mean(&self, task: TaskId) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for (cost, usable) in self.costs(task) {
            sum += cost * f64::from(usable);
            count += f64::from(usable);
        }
        if count > 0.0 { sum / count } else { f64::INFINITY }
    }

    /// Cost of the tasks that are done or running.
    pub fn spent(&self) -> f64 {
        self.of_plan(&Schedule::start(self.problem))
    }

    /// Collects the present slots of a task with their costs, by rising processor.
    pub(super) fn offers(
        &self,
        partial: &mut Partial<'_, '_>,
        task: TaskId,
        usage: &Usage,
        offers: &mut Vec<Offer>,
    ) -> Result<(), PlanError> {
        let width = self.width(task);
        offers.clear();
        partial.slots(task, |slot, seconds| {
            let price = self.kinds[self.kind_of[slot.proc.index()] as usize].price;
            let cost = match self.exact {
                true => seconds * price * width,
                false => self.offered(usage, task, slot.proc, (slot.start, slot.finish)),
            };
            offers.push(Offer { slot, cost });
        });
        match offers.is_empty() {
            true => Err(partial.nowhere(task)),
            false => Ok(()),
        }
    }
}

/// Cost of a plan at the exact seconds of its tasks, whatever the billing of its machines.
pub fn exact_cost(problem: &Problem<'_>, schedule: &Schedule) -> f64 {
    let price = |&p: &ProcId| problem.price(p);
    let placed = schedule.placements.iter().flatten();
    placed.map(|p| p.seconds() * p.procs().iter().map(price).sum::<f64>()).sum()
}

/// A lower bound of the cost of any plan, whatever the billing of its machines: at least the computed seconds
/// are billed, and work that was begun is paid.
pub fn least_cost(problem: &Problem<'_>) -> f64 {
    let prices = Prices::new(problem);
    let open = crate::list::unfinished(problem).map(|t| prices.least(t)).sum::<f64>();
    let begun = schedule::cost(problem, &Schedule::start(problem));
    begun.max(exact_cost(problem, &Schedule::start(problem)) + open)
}
