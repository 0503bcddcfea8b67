//! HBCS: Heterogeneous Budget Constrained Scheduling (Arabnejad, Barbosa, ISPDC 2014; chapter 6 of
//! Arabnejad's thesis).
//!
//! HEFT's plan where it can be paid. Else by falling upward rank, each task on the processor of
//! largest worth: an early finish, and money saved against the processor that would finish first,
//! weighted by how much of the money left is spoken for. No processor is worth anything that costs
//! more than that first one, or leaves too little for the cheapest processors of all later tasks: so
//! the budget is never exceeded. O(e p), whatever the budget. Ties: earlier finish, lower cost, lower
//! processor. With less money than the cheapest plan costs it gives the cheapest plan.

use super::choice::{self, Span};
use super::{Course, Offer, cheapest};
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use slackline_model::schedule::affordable;
use slackline_model::{Problem, Schedule};

/// Registry entry.
pub const HBCS: Algorithm = Algorithm {
    name: "hbcs",
    family: Family::Qos,
    basis: Basis::Published,
    about: "budget kept, makespan short: worth of a processor from its time and its cost",
    source: "Arabnejad, Barbosa, ISPDC 2014",
    complexity: "O(e p)",
    parameters: &[],
    needs: &[Need::Budget],
    plan,
};

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let course = Course::new(problem, request);
    let (heft, paid) = course.heft()?;
    if paid {
        return Ok(heft);
    }
    if course.too_poor() {
        return cheapest::plan(problem);
    }
    let mut money = Money::new(&course);
    course.place(|at, _, offers| money.choose(at, offers))
}

/// Rest of the budget while tasks are placed.
pub(super) struct Money<'c> {
    /// Not spent yet (RB).
    pub(super) left: f64,
    least_from: &'c [f64],
}

impl<'c> Money<'c> {
    pub(super) fn new(course: &'c Course<'_, '_>) -> Self {
        Money { left: course.money, least_from: &course.least_from }
    }

    /// Least cost of the tasks after a position (RCB).
    pub(super) fn reserve(&self, at: usize) -> f64 {
        self.least_from[at + 1]
    }

    /// The worth of every offer for the task at a position of the order.
    pub(super) fn worth(&self, at: usize, offers: &[Offer]) -> Vec<f64> {
        let reserve = self.reserve(at);
        let best = &offers[choice::first(offers)];
        let (times, costs) = (Span::of(offers, |o| o.slot.finish), Span::of(offers, |o| o.cost));
        let weight = if self.left > 0.0 { reserve / self.left } else { 0.0 };
        let worth = |offer: &Offer| {
            let paid = affordable(offer.cost, best.cost);
            if !paid || !affordable(offer.cost, self.left - reserve) {
                return f64::NEG_INFINITY;
            }
            let time = times.share(times.high - offer.slot.finish);
            costs.share(best.cost - offer.cost) * weight + time
        };
        offers.iter().map(worth).collect()
    }

    pub(super) fn choose(&mut self, at: usize, offers: &[Offer]) -> usize {
        let chosen = choice::largest(offers, &self.worth(at, offers));
        // Only where the cheapest processor is cut off from the task's data.
        let chosen = chosen.unwrap_or_else(|| choice::cheapest(offers));
        self.left -= offers[chosen].cost;
        chosen
    }
}
