//! One workflow on priced machines, under a budget, a deadline or both.
//!
//! Methods that place one task after the other (`hbcs`, `dbcs`, `bheft`, `greedytime-cd`, `cheapest`, `dca`,
//! `moheft`) price an offer at its addition to the bill: the exact seconds of the task, or where machines are
//! billed by the quantum, with a minimum or leased, the additional cost of the machine. `loss` and `gain` make
//! as many moves as the bill allows, `three-step` fills quanta. The others price tasks at exact seconds; the
//! final cost of a plan is always computed by [`slackline_model::schedule::cost`]. A budget is for the whole
//! plan, including tasks already done in it. A missing budget or deadline does not restrict the plan. Every
//! method always gives a plan; the validator decides whether it keeps the limits.
//!
//! The shared steps: [`Prices`] has the cost of a task on each kind of machine, `Course` the order of the
//! tasks, and `Course::place` lets a method choose among the `Offer`s of all processors.

mod beam;
mod choice;
mod genome;
mod moves;
pub mod pareto;
mod paths;
mod prices;

pub mod bcsc;
pub mod bheft;
pub mod cheapest;
pub mod critical_greedy;
pub mod dbcs;
pub mod dca;
pub mod deadline_mdp;
pub mod ga_qos;
pub mod gain;
pub mod greedytime_cd;
pub mod hbcs;
pub mod loss;
pub mod moheft;
pub mod nsga2;
pub mod pcp;
pub mod portfolio;
pub mod scalestar;
pub mod three_step;
pub mod within_limits;

#[cfg(test)]
mod tests;

pub use prices::{Prices, exact_cost, least_cost};

use crate::list::{Partial, ReadyList, Slot, heft, ranks};
use crate::registry::{Algorithm, PlanError, Request};
use slackline_model::{Problem, Schedule, TaskId};

/// The methods that take little more time than HEFT.
pub const FAST: &[Algorithm] = &[
    cheapest::CHEAPEST,
    hbcs::HBCS,
    dbcs::DBCS,
    bheft::BHEFT,
    loss::LOSS1,
    loss::LOSS3,
    gain::GAIN1,
    gain::GAIN3,
    greedytime_cd::GREEDYTIME_CD,
    three_step::THREE_STEP,
];

/// A slot and what the task costs there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Offer {
    slot: Slot,
    cost: f64,
}

/// Common starting point of all methods: prices, the order of the tasks, the remaining money.
pub(crate) struct Course<'a, 'p> {
    problem: &'a Problem<'p>,
    prices: Prices<'a, 'p>,
    /// Unfinished tasks by falling upward rank, parents first.
    order: Vec<TaskId>,
    /// The budget without what finished and running tasks cost.
    money: f64,
    deadline: f64,
    /// Least cost of the tasks from each position of the order on; one longer than the order.
    least_from: Vec<f64>,
}

impl<'a, 'p> Course<'a, 'p> {
    pub(crate) fn new(problem: &'a Problem<'p>, request: &Request) -> Self {
        let prices = Prices::new(problem);
        let rank = ranks::upward(problem);
        let mut ready = ReadyList::new(problem, &rank);
        let order: Vec<TaskId> = std::iter::from_fn(|| ready.pop()).collect();
        let least_from = sums_from(&order, |task| prices.least(task));
        let most = || order.iter().map(|&t| prices.most(t)).sum();
        let money = request.limits.budget.map_or_else(most, |budget| budget - prices.spent());
        let deadline = request.limits.deadline.unwrap_or(f64::INFINITY);
        Course { problem, prices, order, money, deadline, least_from }
    }

    /// Not even the cheapest plan can be paid.
    pub(crate) fn too_poor(&self) -> bool {
        !slackline_model::schedule::affordable(self.least_from[0], self.money)
    }

    /// Addition of a schedule's unfinished tasks to the bill.
    pub(crate) fn bill_of(&self, schedule: &Schedule) -> f64 {
        match self.prices.is_exact() {
            true => self.price_of(schedule),
            false => self.prices.of_plan(schedule) - self.prices.spent(),
        }
    }

    /// Cost of a schedule's unfinished tasks, at exact seconds.
    pub(crate) fn price_of(&self, schedule: &Schedule) -> f64 {
        let cost = |&task: &TaskId| {
            let placement = schedule.placement(task)?;
            Some(self.prices.cost_on(task, placement.proc()))
        };
        self.order.iter().filter_map(cost).sum()
    }

    /// HEFT's plan, and whether it can be paid.
    pub(crate) fn heft(&self) -> Result<(Schedule, bool), PlanError> {
        let schedule = heft::by_rank(self.problem, &ranks::upward(self.problem))?;
        let paid = slackline_model::schedule::affordable(self.bill_of(&schedule), self.money);
        Ok((schedule, paid))
    }

    /// Places the tasks in order. `choose` gets the position of a task, the task and its offers,
    /// at least one, by rising processor; it gives the position of the offer to take.
    pub(crate) fn place(
        &self,
        mut choose: impl FnMut(usize, TaskId, &[Offer]) -> usize,
    ) -> Result<Schedule, PlanError> {
        let mut partial = Partial::new(self.problem);
        let (mut offers, mut usage) = (Vec::new(), self.prices.usage());
        for (at, &task) in self.order.iter().enumerate() {
            self.prices.offers(&mut partial, task, &usage, &mut offers)?;
            let slot = offers[choose(at, task, &offers)].slot;
            partial.place(task, slot);
            usage.add(&partial, task);
        }
        Ok(partial.into_schedule())
    }
}

/// Per position of an order the sum of a figure over the tasks from there on, and 0 at the end.
pub(crate) fn sums_from(order: &[TaskId], figure: impl Fn(TaskId) -> f64) -> Vec<f64> {
    let mut sums = vec![0.0; order.len() + 1];
    for (at, &task) in order.iter().enumerate().rev() {
        sums[at] = sums[at + 1] + figure(task);
    }
    sums
}
