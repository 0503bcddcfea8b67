//! GreedyTime-CD: greedy time, cost distribution (Yu, Ramamohanarao, Buyya, 2009).
//!
//! The budget is split over the tasks in proportion to their mean costs; by falling upward rank each
//! takes the processor on which it finishes first within its part and what earlier tasks left of
//! theirs, or the cheapest where there is none. O(e p). Ties: lower cost, lower processor. A tight
//! budget may be exceeded.

use super::{Course, Offer, choice, sums_from};
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use slackline_model::{Problem, Schedule};

/// Registry entry.
pub const GREEDYTIME_CD: Algorithm = Algorithm {
    name: "greedytime-cd",
    family: Family::Qos,
    basis: Basis::Published,
    about: "budget split by mean costs, least finish time within a task's part",
    source: "Yu, Ramamohanarao, Buyya, in: Market-Oriented Grid and Utility Computing, 2009",
    complexity: "O(e p)",
    parameters: &[],
    needs: &[Need::Budget],
    plan,
};

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let course = Course::new(problem, request);
    let mut parts = Parts::new(&course);
    course.place(|at, _, offers| parts.choose(at, offers))
}

/// The parts of the budget.
pub(super) struct Parts {
    /// Per position of the order.
    pub(super) planned: Vec<f64>,
    /// Unused parts of the budget of earlier tasks; below 0 when they took more.
    carried: f64,
}

impl Parts {
    pub(super) fn new(course: &Course<'_, '_>) -> Self {
        let mean: Vec<f64> = course.order.iter().map(|&t| course.prices.mean(t)).collect();
        let all = sums_from(&course.order, |t| course.prices.mean(t))[0];
        let part = |mean: f64| if all > 0.0 { course.money * mean / all } else { 0.0 };
        Parts { planned: mean.into_iter().map(part).collect(), carried: 0.0 }
    }

    /// The most the task at a position may cost.
    pub(super) fn limit(&self, at: usize) -> f64 {
        self.planned[at] + self.carried
    }

    pub(super) fn choose(&mut self, at: usize, offers: &[Offer]) -> usize {
        let chosen = choice::first_within(offers, self.limit(at));
        let chosen = chosen.unwrap_or_else(|| choice::cheapest(offers));
        self.carried += self.planned[at] - offers[chosen].cost;
        chosen
    }
}
